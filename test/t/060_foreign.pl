# Foreign tables as sources: raw files through file_fdw, a log table on another server through postgres_fdw.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION l4');
chomp(my $available = $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name IN ('file_fdw', 'postgres_fdw')"));
plan skip_all => 'file_fdw and postgres_fdw are not installed' if $available < 2;

# raw files of two nodes; the program numbers the lines
my $folder = PostgreSQL::Test::Utils::tempdir();
foreach my $n (1, 2)
{
	append_to_file("$folder/gpu-$n.log", join('', map { "2026-03-01 10:00:0$_ [INFO] [rank $n] step $_\tof 5 in \"C:\\temp\"\n" } 1 .. 5));
}
my $number = q(awk '{gsub(/"/, "\"\""); print NR ",\"" $0 "\""}');
$node->safe_psql('postgres', "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw");
foreach my $n (1, 2)
{
	(my $program = "$number $folder/gpu-$n.log") =~ s/'/''/g;
	$node->safe_psql('postgres', "CREATE FOREIGN TABLE gpu_$n (line_no bigint, line text) SERVER files OPTIONS (program '$program', format 'csv')");
}
$node->safe_psql('postgres', q{
	CREATE VIEW job_1 AS SELECT 'job-1' AS job_id, 'gpu-1' AS node, line_no, line FROM gpu_1
	UNION ALL SELECT 'job-1', 'gpu-2', line_no, line FROM gpu_2});
is($node->safe_psql('postgres', 'SELECT line FROM job_1 WHERE line_no = 5 ORDER BY node LIMIT 1'),
	"2026-03-01 10:00:05 [INFO] [rank 1] step 5\tof 5 in \"C:\\temp\"", 'file_fdw gives the lines as they are');
$node->safe_psql('postgres', "CALL l4.ingest('job_1')");
my $lines = "SELECT node, count(*), max(line_no) FROM l4.event_line WHERE job_id = 'job-1' GROUP BY node ORDER BY node";
is($node->safe_psql('postgres', $lines), "gpu-1|5|5\ngpu-2|5|5", 'lines of files are ingested');
append_to_file("$folder/gpu-2.log", "2026-03-01 10:00:06 [ERROR] [rank 2] step 6 failed\n");
$node->safe_psql('postgres', "CALL l4.ingest('job_1')");
is($node->safe_psql('postgres', $lines), "gpu-1|5|5\ngpu-2|6|6", 'a file that grew adds its new lines only');

# a rotated file that is packed: the program unpacks and joins, the numbers go on
SKIP:
{
	skip 'no gzip', 1 if system('gzip --version >/dev/null 2>&1') != 0;
	append_to_file("$folder/gpu-3.log.1", join('', map { "2026-03-01 10:00:0$_ [INFO] step $_ of 5\n" } 1 .. 5));
	system('gzip', "$folder/gpu-3.log.1") == 0 or die;
	append_to_file("$folder/gpu-3.log", "2026-03-01 10:00:09 [INFO] step 9 of 9\n");
	(my $program = "(gzip -dc $folder/gpu-3.log.1.gz; cat $folder/gpu-3.log) | $number") =~ s/'/''/g;
	$node->safe_psql('postgres', "CREATE FOREIGN TABLE gpu_3 (line_no bigint, line text) SERVER files OPTIONS (program '$program', format 'csv');
		CREATE VIEW job_3 AS SELECT 'job-3' AS job_id, 'gpu-3' AS node, line_no, line FROM gpu_3; CALL l4.ingest('job_3')");
	is($node->safe_psql('postgres', "SELECT count(*), max(ts) FROM l4.event_line WHERE job_id = 'job-3'"),
		$node->safe_psql('postgres', "SELECT 6, '2026-03-01 10:00:09'::timestamptz"), 'a packed file and its successor');
}

# another server, with a table that has the index
my $remote = PostgreSQL::Test::Cluster->new('remote');
$remote->init;
$remote->start;
$remote->safe_psql('postgres', q{
	CREATE TABLE logs (job_id text, node text, source text, line_no bigint, ts timestamptz, line text, PRIMARY KEY (job_id, node, source, line_no));
	INSERT INTO logs SELECT 'job-2', 'gpu-' || n, '', i, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 s', format('step %s took %s ms', i, i * n)
	FROM generate_series(1, 3) AS n, generate_series(1, 100) AS i});
my ($host, $port) = ($remote->host, $remote->port);
$node->safe_psql('postgres', qq{
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER remote FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER remote;
	IMPORT FOREIGN SCHEMA public LIMIT TO (logs) FROM SERVER remote INTO public;});
$node->safe_psql('postgres', "CALL l4.ingest('logs')");
is($node->safe_psql('postgres', "SELECT count(*), count(DISTINCT node) FROM l4.event_line WHERE job_id = 'job-2'"), '300|3', 'a table of another server is ingested');
$remote->safe_psql('postgres', "INSERT INTO logs VALUES ('job-2', 'gpu-1', '', 101, now(), 'step 101 took 101 ms')");
$node->safe_psql('postgres', "CALL l4.ingest('logs')");
is($node->safe_psql('postgres', "SELECT count(*) FROM l4.event_line WHERE job_id = 'job-2'"), '301', 'and again, with what is new');

# foreign partitions under an indexed parent: each read by a worker with a connection of its own, unless the
# transaction may have written there
$remote->safe_psql('postgres', q{
	CREATE DATABASE second;
	INSERT INTO logs SELECT 'job-5', 'gpu-' || n, '', i, NULL, format('step %s took %s ms', i, i * n) FROM generate_series(1, 2) AS n, generate_series(1, 9000) AS i});
$remote->safe_psql('second', q{
	CREATE TABLE logs (job_id text, node text, source text, line_no bigint, ts timestamptz, line text, PRIMARY KEY (job_id, node, source, line_no));
	INSERT INTO logs SELECT 'job-6', 'gpu-' || n, '', i, NULL, format('step %s took %s ms', i, i * n) FROM generate_series(1, 2) AS n, generate_series(1, 9000) AS i});
$node->safe_psql('postgres', qq{
	CREATE SERVER second FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'second', fetch_size '1000');
	CREATE USER MAPPING FOR CURRENT_USER SERVER second;
	CREATE TABLE fleet (job_id text, node text, source text, line_no bigint, ts timestamptz, line text) PARTITION BY LIST (job_id);
	CREATE FOREIGN TABLE fleet_5 PARTITION OF fleet FOR VALUES IN ('job-5') SERVER remote OPTIONS (table_name 'logs');
	CREATE FOREIGN TABLE fleet_6 PARTITION OF fleet FOR VALUES IN ('job-6') SERVER second OPTIONS (table_name 'logs');
	CREATE INDEX ON fleet (job_id, node, source, line_no)});
my $counts = q{SELECT string_agg(concat_ws('|', c.job_id, c.node, t.template, c.occurrences, c.last_line_no), E'\n' ORDER BY c.job_id, c.node, t.template)
	FROM l4.event_count AS c JOIN l4.template AS t USING (event_id) WHERE c.job_id IN ('job-5', 'job-6')};
my ($read, undef, $said) = $node->psql('postgres', "SET client_min_messages = debug1; SET max_parallel_workers_per_gather = 2; CALL l4.ingest('fleet')");
ok($read == 0 && $said =~ /[12] workers scan \d+ pieces/, 'workers read foreign partitions') or diag($said);
my $by_workers = $node->safe_psql('postgres', $counts);
like($by_workers, qr/^job-5\|gpu-1\|[^\n]*\|9000\|9000\njob-5\|gpu-2\|.*job-6\|gpu-2\|[^\n]*\|9000\|9000$/s, 'all of them');
$node->safe_psql('postgres', "SELECT l4.forget_job('job-5'), l4.forget_job('job-6')");
($read, undef, $said) = $node->psql('postgres', "SET client_min_messages = debug1; BEGIN; INSERT INTO fleet_5 VALUES ('job-5', 'gpu-3', '', 1, NULL, 'step 1 took 3 ms');
	CALL l4.ingest('fleet', commit => false); COMMIT");
ok($read == 0 && $said !~ /workers scan/, 'this process alone reads what it wrote there itself') or diag($said);
(my $grown = $by_workers) =~ s/(?=^job-6\|gpu-1)/job-5|gpu-3|step <*> took <*> ms|1|1\n/m;
is($node->safe_psql('postgres', $counts), $grown, 'with equal counts');

# a foreign table without line numbers is refused, with a hint
$node->safe_psql('postgres', "CREATE FOREIGN TABLE plain (line text) SERVER files OPTIONS (filename '$folder/gpu-1.log', format 'text', delimiter E'\\x01')");
$node->safe_psql('postgres', "CREATE VIEW unnumbered AS SELECT 'job-4' AS job_id, 'gpu-1' AS node, line FROM plain");
my ($status, $out, $err) = $node->psql('postgres', "CALL l4.ingest('unnumbered')");
isnt($status, 0, 'a view without line_no is refused');
like($err, qr/line_no.*HINT:/s, 'with a hint');
$remote->stop;
$node->stop;
done_testing();
