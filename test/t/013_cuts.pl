# Calls of ingest are killed between cuts: a few kills, the same ones every time as far as the clock allows. test/fuzz/cuts takes more.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More tests => 1;

my $output = `test/fuzz/cuts 3 1 2>&1`;
like($output, qr/^3 kills, \d{3,} lines, 0 lost, 0 doubled, 0 other$/m, 'each line once after calls were killed') or diag($output);
