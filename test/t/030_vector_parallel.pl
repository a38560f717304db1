# Event vectors and forests are the same from one process and from several, from one partition and from many.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql(
	'postgres', q(
CREATE EXTENSION l4;
CREATE TABLE event AS SELECT i AS id, i % 50 AS node, (i::bigint * i % 997)::int AS event_id, i % 7 AS n FROM generate_series(1, 200000) AS i;
CREATE TABLE event_part (LIKE event) PARTITION BY HASH (id);
CREATE TABLE event_part_0 PARTITION OF event_part FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE event_part_1 PARTITION OF event_part FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE event_part_2 PARTITION OF event_part FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO event_part SELECT * FROM event;
CREATE TABLE vector AS SELECT id / 40 AS node, l4.event_vector_agg(event_id % 60, n) AS v FROM event GROUP BY 1;
INSERT INTO vector SELECT -node, NULL FROM vector LIMIT 5;
ANALYZE;));

my $serial = 'SET max_parallel_workers_per_gather = 0; SET enable_partitionwise_aggregate = off;';
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_indexscan = off;';
my $partitions = "$serial SET enable_partitionwise_aggregate = on;";

# what is asked, of which table, how the plan must look in parallel
my %queries = (
	'event_vector_agg(event_id)' => [ 'SELECT md5(l4.event_vector_agg(event_id)::text) FROM %s', 'event', 'event_part' ],
	'event_vector_agg(event_id, n)' => [ 'SELECT md5(l4.event_vector_agg(event_id, n)::text) FROM %s', 'event', 'event_part' ],
	'event_vector_agg by node' =>
	  [ q(SELECT md5(string_agg(node || v::text, ',' ORDER BY node)) FROM (SELECT node, l4.event_vector_agg(event_id) AS v FROM %s GROUP BY node) AS s), 'event', 'event_part' ],
	'event_vector_sum' => [ 'SELECT md5(l4.event_vector_sum(v)::text) FROM %s', 'vector' ],
	'iforest_train' => [ 'SELECT md5(l4.iforest_send(l4.iforest_train(v))) FROM %s', 'vector' ],
	'iforest_train with options' => [ q(SELECT md5(l4.iforest_send(l4.iforest_train(v, '{"trees": 17, "sample_size": 99, "seed": 5}'))) FROM %s), 'vector' ]);

for my $name (sort keys %queries)
{
	my ($query, $table, $partitioned) = @{ $queries{$name} };
	my $sql = sprintf($query, $table);
	my $expected = $node->safe_psql('postgres', "$serial $sql");
	like($node->safe_psql('postgres', "$parallel EXPLAIN $sql"), qr/Partial (?:Hash|Group)?Aggregate/, "$name: workers aggregate a part each");
	is($node->safe_psql('postgres', "$parallel $sql"), $expected, "$name: the same from workers");
	next unless defined $partitioned;
	my $over_parts = sprintf($query, $partitioned);
	like($node->safe_psql('postgres', "$partitions EXPLAIN $over_parts"), qr/Partial (?:Hash|Group)?Aggregate/, "$name: each partition aggregates its part");
	is($node->safe_psql('postgres', "$partitions $over_parts"), $expected, "$name: the same from partitions");
}

# hash aggregation that spills writes states out and reads them again
my $groups = q(SELECT md5(string_agg(g || v::text, ',' ORDER BY g)) FROM (SELECT id % 20000 AS g, l4.event_vector_agg(event_id, n) AS v FROM event GROUP BY 1) AS s);
is( $node->safe_psql('postgres', "$serial SET enable_sort = off; SET work_mem = '256kB'; SET hash_mem_multiplier = 1; $groups"),
	$node->safe_psql('postgres', "$serial SET enable_hashagg = off; $groups"), 'the same when hash aggregation spills');

# options that differ between workers are noticed when parts are combined, or before
my ($ret, $out, $err) = $node->psql('postgres', "$parallel SELECT l4.iforest_train(v, jsonb_build_object('seed', node % 2)) FROM vector");
like($err, qr/options of iforest_train must be the same in every row/, 'different options are an error in parallel as well');

# a training set beyond the pool is thinned out in the same way however rows come
my $many = q(SELECT md5(l4.iforest_send(l4.iforest_train(l4.event_vector(ARRAY[1, 2, 3], ARRAY[id, id %% 1000, 7]), '{"trees": 5}' %s))), count(*) FROM wide);
$node->safe_psql('postgres', 'CREATE TABLE wide AS SELECT i AS id FROM generate_series(1, 1300000) AS i; ANALYZE wide');
my $one = $node->safe_psql('postgres', "$serial " . sprintf($many, ''));
is($node->safe_psql('postgres', "$serial " . sprintf($many, 'ORDER BY id DESC')), $one, 'a thinned training set is the same for any row order');
is($node->safe_psql('postgres', "$parallel " . sprintf($many, '')), $one, 'and from workers');

$node->stop;
done_testing();
