# Lines of failed runs: an entry that is no catch-all matches them, with the settled category; lines of good runs match none.
# docs/accuracy.md has the figures of the sets that are not shipped.
use strict;
use warnings;
use Cwd qw(getcwd);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

my $folder = getcwd() . '/test/data/excerpts';
my ($out, $err);
IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-v', "dir=$folder", '-f', 'test/score/excerpts.sql' ], '>', \$out, '2>', \$err)
	or die $err;
my ($named, $category) = $out =~ /^all\|\d+\|[\d.]+\|([\d.]+)\|[\d.]+\|([\d.]+)$/m;
is($named, '0.971', 'all are named but failed assertions') or diag($out);
is($category, '1.000', 'with the settled category') or diag($out);
like($out, qr/^17\|0\|0$/m, 'no line of a good run matches') or diag($out);
done_testing();
