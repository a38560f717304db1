# Reading logs survives SIGKILL, cancel and company, gives the same whatever the workers, and goes on after dump and restore.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use lib 'test/lib';
use SameRows;
use IPC::Run qw(start finish);
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->start;

my $make = q{
CREATE EXTENSION l4;
\i sql/include/kept.sql
SELECT l4.create_log_table('logs');
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'job-' || j, 'node-' || n, i, '2026-01-01'::timestamptz + make_interval(secs => i), CASE
    WHEN i % 500 = 7 THEN 'Traceback (most recent call last):'
    WHEN i % 500 = 8 THEN '  File "a.py", line 7, in main'
    WHEN i % 500 = 9 THEN 'ValueError: wrong value ' || i
    WHEN i % 10 = 0 THEN format('2026-01-01 00:00:00,000 [INFO] training: iteration %s/ 1000 | elapsed time per iteration (ms): %s.5 | lm loss: 2.5', i / 10, i % 7)
    ELSE format('2026-01-01 00:00:00,000 [DEBUG] step %s of phase %s took %s ms', i, 'p' || i % 40, i % 13) END
FROM generate_series(1, 3) j, generate_series(1, 6) n, generate_series(1, 4000) i;
};
# two tables have the ids that events had when a line was read, which depends on what was learnt by then: those that they became are the same
my @kept = ('SELECT * FROM l4.event_line', 'SELECT * FROM l4.event_count', 'SELECT * FROM l4.iteration',
	'SELECT * FROM l4.job, l4._slot_values(job_id, NULL)', 'SELECT * FROM kept_duration', 'SELECT event_id, template, level FROM l4.template', q{
	SELECT s.job_id, s.node, s.source, s.rank, s.epoch, s.iteration,
		ARRAY(SELECT l4._survivor(e.event_id, e.merged_into) FROM unnest(s.events) WITH ORDINALITY AS u(id, n)
			JOIN l4._event e ON e.event_id = u.id ORDER BY u.n)
	FROM kept_sequence s}, q{
	SELECT j.job_id, l4._survivor(e.event_id, e.merged_into), sum(j.occurrences), min(j.first_ts), max(j.last_ts),
		(array_agg((j.first_node, j.first_source, j.first_line_no, j.example)::text
			ORDER BY j.example_ts, j.first_node COLLATE "C", j.first_source COLLATE "C", j.first_line_no))[1]
	FROM l4._job_event j JOIN l4._event e USING (event_id) GROUP BY 1, 2});

sub as_whole
{
	my ($database, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	same_rows([ $node, $database ], [ $node, 'whole' ], $name, @kept);
	return;
}

sub fresh
{
	my ($db) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE filled");
	return;
}

$node->safe_psql('postgres', 'CREATE DATABASE filled');
$node->safe_psql('filled', $make);
fresh('whole');
$node->safe_psql('whole', q{SET max_parallel_workers_per_gather = 0; CALL l4.ingest('logs')});
is($node->safe_psql('whole', 'SELECT count(*), count(DISTINCT (job_id, node, line_no)) FROM l4.event_line'),
	'72000|72000', 'every line once');

# workers, batches, physical order
fresh('parallel');
$node->safe_psql('parallel', q{CREATE TABLE t AS SELECT * FROM logs ORDER BY md5(node || line_no); DROP TABLE logs; ALTER TABLE t RENAME TO logs;
	CREATE INDEX ON logs (job_id, node, source, line_no); ANALYZE logs; CALL l4.ingest('logs', batch_lines => 10000)});
as_whole('parallel', 'the same with workers, small batches and rows in another order');
my ($out, $err);
sub scanned_by
{
	my ($relation, $workers, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->psql('parallel', qq{
		SET client_min_messages = debug1;
		SET max_parallel_workers_per_gather = $workers;
		SELECT l4.forget_job(job_id) FROM l4.job;
		CALL l4.ingest('$relation', 'job-1');
	}, stdout => \$out, stderr => \$err);
	my ($most) = sort { $b <=> $a } 0, $err =~ /(\d+) workers scan \d+ pieces/g;
	is($most, $workers, $name);
	return;
}
scanned_by('logs', 1, 'pieces are scanned by a worker beside the leader');
scanned_by('logs', 2, 'pieces are scanned by two workers');
$node->safe_psql('parallel', q{
	CREATE TABLE parts (LIKE logs) PARTITION BY LIST (node);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN ('node-1');
	CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
	INSERT INTO parts SELECT * FROM logs;
	CREATE INDEX ON parts (job_id, node, source, line_no);
	CREATE MATERIALIZED VIEW mat AS SELECT * FROM logs;
	CREATE INDEX ON mat (job_id, node, source, line_no)});
scanned_by($_, 2, "workers may read $_") for ('parts', 'mat');
# even where the planner prefers plans that are parallel themselves
$node->safe_psql('parallel', qq{ALTER DATABASE parallel SET $_}) for ('parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_index_scan_size = 0', 'min_parallel_table_scan_size = 0');
scanned_by($_, 2, "workers may read $_ where parallel plans cost nothing") for ('logs', 'parts');
$node->safe_psql('parallel', 'ALTER DATABASE parallel RESET ALL');
my $guard = q{CREATE OR REPLACE FUNCTION may_see(node text) RETURNS bool LANGUAGE plpgsql PARALLEL %s AS 'BEGIN RETURN true; END'};
$node->safe_psql('parallel', sprintf($guard, 'UNSAFE') . q{; CREATE ROLE reads; SELECT l4.grant_access('reads', 'ingester'); GRANT SELECT ON logs TO reads;
	CREATE POLICY nodes ON logs USING (may_see(node)); ALTER TABLE logs ENABLE ROW LEVEL SECURITY; ALTER ROLE reads LOGIN});
for my $safety ('UNSAFE', 'RESTRICTED', 'SAFE')
{
	$node->safe_psql('parallel', sprintf($guard, $safety));
	$node->psql('parallel', q{SET ROLE reads; SET client_min_messages = debug1; SET max_parallel_workers_per_gather = 2; SELECT l4.forget_job(job_id) FROM l4.job; CALL l4.ingest('logs', 'job-1')},
		stdout => \$out, stderr => \$err);
	is(scalar($err =~ /workers scan/), $safety eq 'SAFE' ? 1 : '', "a policy with a function that is PARALLEL $safety");
}
$node->safe_psql('parallel', 'ALTER TABLE logs DISABLE ROW LEVEL SECURITY; DROP POLICY nodes ON logs; DROP OWNED BY reads; DROP ROLE reads');
$node->psql('parallel', q{SET client_min_messages = debug1; SELECT l4.forget_job(job_id) FROM l4.job; CREATE TEMP TABLE mine AS SELECT * FROM logs; CREATE INDEX ON mine (job_id, node, source, line_no); CALL l4.ingest('mine')},
	stdout => \$out, stderr => \$err);
unlike($err, qr/workers scan/, 'a temporary table is read by the leader alone');
as_whole('parallel', 'with the same outcome');

# cancelled in the middle of a parallel scan, and a worker that is killed takes the server down as any parallel query does
$node->safe_psql('parallel', sprintf($guard, 'SAFE') =~ s/RETURN true/PERFORM pg_sleep(0.01); RETURN true/r . q{;
	CREATE TYPE slow AS (t text); CREATE FUNCTION read_slowly(slow) RETURNS text LANGUAGE plpgsql PARALLEL SAFE AS 'BEGIN PERFORM pg_sleep(0.001); RETURN $1.t; END';
	CREATE CAST (slow AS text) WITH FUNCTION read_slowly(slow);
	CREATE TABLE slow_logs (job_id text, node text, source text, line_no bigint, line slow, PRIMARY KEY (job_id, node, source, line_no));
	INSERT INTO slow_logs SELECT 'slow', node, '', line_no, ROW(line)::slow FROM logs WHERE job_id = 'job-1'});
my $began = time;
$node->psql('parallel', q{SET statement_timeout = 700; CALL l4.ingest('slow_logs')}, stderr => \$err);
like($err, qr/canceling statement due to statement timeout/, 'a call can be cancelled while workers scan');
cmp_ok(time - $began, '<=', 1.5, 'soon');
is($node->safe_psql('parallel', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'}), '0', 'and leaves no worker behind');
$node->safe_psql('parallel', q{INSERT INTO slow_logs SELECT job_id, node, source, 5000 + line_no, line FROM slow_logs});
{
	my ($o, $e) = ('', '');
	my $h = start ['psql', '-X', '-d', $node->connstr('parallel'), '-c', q{CALL l4.ingest('slow_logs')}], '<', \'', '>', \$o, '2>', \$e;
	$node->poll_query_until('parallel', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND query ~ 'slow_logs'});
	my $worker = $node->safe_psql('parallel', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'parallel worker' AND query ~ 'slow_logs' LIMIT 1});
	kill 'KILL', $worker;
	eval { finish $h; };
	like($e, qr/server closed the connection|terminating connection|crash of another server process/, 'a killed worker ends the call as any that reads in parallel');
	my $up = 0;
	for (1 .. 100)
	{
		# no statement is handed over: psql may have gone before it takes one
		$up = system('pg_isready', '-q', '-h', $node->host, '-p', $node->port) == 0 and last;
		select(undef, undef, undef, 0.2);
	}
	ok($up, 'and the server comes back');
}
$node->safe_psql('parallel', q{DROP TABLE slow_logs; SELECT l4.forget_job('slow')});

# SIGKILL in the middle, again and again: the backend first, which would not notice for a while that the server is gone
fresh('killed');
# or it would be done before it is seen to run
$node->safe_psql('killed', q{CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.05); RETURN NULL; END';
	CREATE TRIGGER wait AFTER INSERT OR UPDATE ON l4._stream FOR EACH STATEMENT EXECUTE FUNCTION wait()});
my $kills = 0;
for my $round (1 .. 3)
{
	my $before = $node->safe_psql('killed', 'SELECT coalesce(sum(lines), 0) FROM l4._stream');
	my ($o, $e) = ('', '');
	my $h = start ['psql', '-X', '-d', $node->connstr('killed'), '-c', q{CALL l4.ingest('logs', batch_lines => 1)}],
	  '<', \'', '>', \$o, '2>', \$e;
	$node->poll_query_until('killed', "SELECT coalesce(sum(lines), 0) > $before FROM l4._stream") or last;
	my $pid = $node->safe_psql('killed', q{SELECT pid FROM l4.ingest_progress WHERE state = 'running'});
	last if $pid eq '';
	kill 'KILL', $pid;
	$node->kill9;
	eval { finish $h; };
	# workers and helpers of the dead server hold its memory until they notice
	sleep 2;
	$node->start;
	$kills++;
}
# it may be done before the last round
cmp_ok($kills, '>=', 1, 'the server was killed in mid-ingest');
$node->safe_psql('killed', q{DROP FUNCTION wait CASCADE; CALL l4.ingest('logs')});
as_whole('killed', 'nothing lost, nothing counted twice');

# cancel, and two sessions on the same jobs
fresh('shared');
$node->psql('shared', q{SET statement_timeout = 150; CALL l4.ingest('logs', batch_lines => 1)}, stderr => \$err);
like($err, qr/canceling statement/, 'a call can be cancelled');
my @h = map {
	start ['psql', '-X', '-d', $node->connstr('shared'), '-v', 'ON_ERROR_STOP=1', '-c', q{CALL l4.ingest('logs', batch_lines => 1)}], '<', \''
} 1 .. 2;
ok(finish($h[0]), 'one session ends well');
ok(finish($h[1]), 'the other one, too');
as_whole('shared', 'two sessions count nothing twice');
is($node->safe_psql('shared', q{SELECT count(*) FROM l4.ingest_progress WHERE state = 'running'}), '0', 'no call is left running');

# dump and restore: state and parser go along
my $dump = $node->data_dir . '/../dump.sql';
$node->run_log(['pg_dump', '-d', $node->connstr('whole'), '-f', $dump]);
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(['psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump], 'the dump restores');
as_whole('restored', 'the same after dump and restore');
$node->safe_psql('restored', q{CALL l4.ingest('logs')});
as_whole('restored', 'and nothing to read again');
my $more = q{INSERT INTO logs (job_id, node, line_no, ts, line) VALUES ('job-1', 'node-1', 4001, '2026-01-02', 'something new'), ('job-4', 'n', 1, '2026-01-02', 'something newer');
	CALL l4.ingest('logs')};
$node->safe_psql($_, $more) for ('whole', 'restored');
as_whole('restored', 'new lines get the same events');

# databases that hold any bytes
for my $encoding ('SQL_ASCII', 'LATIN1')
{
	my $db = lc $encoding;
	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
	$node->safe_psql($db, q{CREATE EXTENSION l4; SELECT l4.create_log_table('logs');
		INSERT INTO logs (job_id, node, line_no, line) SELECT 'j', 'n', i, 'byte ' || chr(128 + i % 120) || repeat(chr(200), i * 37) || ' end ' || i FROM generate_series(1, 300) i;
		CALL l4.ingest('logs')});
	is($node->safe_psql($db, 'SELECT count(*) FROM l4.event_line'), '300', "lines of a $encoding database");
	my $examples = q{SELECT string_agg(encode(convert_to(example, getdatabaseencoding()), 'hex'), ' ' ORDER BY first_line_no) FROM l4._job_event WHERE job_id = 'j'};
	my $before = $node->safe_psql($db, $examples);
	$node->safe_psql($db, q{CREATE TABLE part AS SELECT l4.export_job('j') AS part; SELECT l4.forget_job('j'); SELECT l4.import_job((SELECT array_agg(part) FROM part))});
	is($node->safe_psql($db, $examples), $before, "a job of a $encoding database travels");
}
$node->stop;
done_testing();
