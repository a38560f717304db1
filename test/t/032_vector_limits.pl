# Long computations can be cancelled, and memory does not grow with the number of rows.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no /proc' unless -e '/proc/self/status';

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
# what a backend itself takes is measured: no workers, few shared pages, and no compiler, which takes some ten MB
$node->append_conf('postgresql.conf', "max_parallel_workers_per_gather = 0\nshared_buffers = '16MB'\njit = off\n");
$node->start;
$node->safe_psql(
	'postgres', q(
CREATE EXTENSION l4;
CREATE TABLE noisy AS SELECT n AS node, l4.event_vector_agg(e, (hashint8(n * 2000::bigint + e) & 65535)) AS v FROM generate_series(1, 2000) AS n, generate_series(1, 300) AS e GROUP BY n;
CREATE TABLE number AS SELECT i FROM generate_series(1, 2000000) AS i;
CREATE TABLE series AS SELECT array_agg(i % 977 ORDER BY i) AS a, array_agg((i * 31) % 983 ORDER BY i) AS b, array_agg((i % 977)::float8 ORDER BY i) AS x FROM generate_series(1, 400000) AS i;));

# each of these takes far longer than the timeout
my %long = (
	'dtw_distance' => 'SELECT l4.dtw_distance(a, b) FROM series',
	'dtw_distance of 16 bits' => 'SELECT sum(l4.dtw_distance(a[1:32000], b[i:i + 32000])) FROM series, generate_series(1, 10000) AS i',
	'dtw_distance_numeric' => 'SELECT l4.dtw_distance_numeric(x, x) FROM series',
	'dtw_path' => 'SELECT count(*) FROM series, generate_series(1, 1000) AS i, LATERAL (SELECT count(*) FROM l4.dtw_path(a[1:8000], b[i:i + 8000])) AS p',
	'iforest_train' => q(SELECT l4.iforest_train(v, '{"trees": 10000, "sample_size": 419}') FROM noisy, generate_series(1, 20)),
	'iforest_train with a large sample' => q(SELECT l4.iforest_train(v OPERATOR(l4.+) l4.event_vector(ARRAY[500], ARRAY[i]), '{"trees": 60, "sample_size": 65536}') FROM noisy, generate_series(1, 40) AS i));
for my $name (sort keys %long)
{
	my ($out, $err);
	$node->psql('postgres', "SET statement_timeout = '200ms'; $long{$name}; SET statement_timeout = 0; SELECT pg_read_file('/proc/self/stat')",
		stdout => \$out, stderr => \$err, on_error_stop => 0);
	like($err, qr/canceling statement due to statement timeout/, "$name can be cancelled");
	# processor time of the session, which other work on the machine does not change
	my @stat = split ' ', $out =~ s/.*\)//sr;
	cmp_ok($stat[11] + $stat[12], '<', 100, "$name: at once");
}

# the greatest resident size of a backend after a query; the same query on ten times the rows must not need more
sub peak
{
	my ($sql) = @_;
	my $out = $node->safe_psql('postgres', "$sql; SELECT 'peak ' || substring(pg_read_file('/proc/self/status') from 'VmHWM:\\s+(\\d+)')");
	my ($kb) = $out =~ /^peak (\d+)/m;
	return $kb / 1024;
}
my %flat = (
	'event_vector_agg' => 'SELECT l4.event_vector_agg(i % 500, i % 3) FROM rows',
	'event_vector_agg in a window' => 'SELECT max(l4.event_vector_get(w, 3)) FROM (SELECT l4.event_vector_agg(i % 50) OVER (ORDER BY i ROWS 5 PRECEDING) AS w FROM rows) AS s',
	'event_vector_sum' => q(SELECT l4.event_vector_sum(('{' || i % 500 || ':1, 700:2}')::l4.event_vector) FROM rows),
	'vector operators' => q(SELECT sum(v OPERATOR(l4.<->) '{1:1}'), count(v OPERATOR(l4.+) '{1:1}'), max(v::jsonb::l4.event_vector::text) FROM (SELECT l4.event_vector(ARRAY[i], ARRAY[7]) AS v FROM rows) AS s),
	'iforest_train of equal rows' => 'SELECT l4.iforest_info(l4.iforest_train(l4.event_vector(ARRAY[i % 100], ARRAY[i % 7]))) FROM rows',
	'iforest_score' => q(SELECT sum(l4.iforest_score(f, l4.event_vector(ARRAY[i % 300], ARRAY[i]))) FROM (SELECT l4.iforest_train(v, '{"trees": 10}') AS f FROM noisy) AS t, rows),
	'dtw' => 'SELECT sum(l4.dtw_distance(ARRAY[i % 7, 2, 3, 4], ARRAY[1, 2, i % 5])), sum(l4.dtw_distance_numeric(ARRAY[i, 2.5], ARRAY[2])) FROM rows');
for my $name (sort keys %flat)
{
	my ($few, $many) = map { peak("CREATE TEMP VIEW rows AS SELECT i FROM number WHERE i <= $_; SET enable_hashagg = off; $flat{$name}") } (30000, 300000);
	cmp_ok($many, '<', $few + 6, sprintf('%s: memory is flat (%d MB, ten times the rows %d MB)', $name, $few, $many));
}
my $groups = peak('SET enable_hashagg = off; SELECT count(*) FROM (SELECT l4.event_vector_agg(i % 3) FROM number WHERE i <= 600000 GROUP BY i / 3) AS s');
cmp_ok($groups, '<', 150, sprintf('200,000 groups: %d MB', $groups));
my $pool = peak(q(SELECT l4.iforest_info(l4.iforest_train(l4.event_vector(ARRAY[1, 2, 3], ARRAY[i, i, i]), '{"trees": 5}')) FROM number));
cmp_ok($pool, '<', 400, sprintf('a training set of 2,000,000 different vectors: %d MB', $pool));

$node->stop;
done_testing();
