# Random calls of the readers of stored bytes, the memos and the patterns, under sanitizers: the same ones every time.
# FUZZ_SECONDS=60, as .ci/run sets it, takes so long. test/fuzz/run takes other seeds, and every SQL function.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $asan = `gcc -print-file-name=libasan.so 2>&1`);
plan skip_all => 'gcc has no libasan here' unless -e $asan;
plan tests => 1;

my $seconds = $ENV{FUZZ_SECONDS} // 6;
my $output = `test/fuzz/run --in-process $seconds 1 2>&1`;
like($output, qr/^\d{4,} calls, 0 errors$/m, 'random calls under sanitizers') or diag($output);
