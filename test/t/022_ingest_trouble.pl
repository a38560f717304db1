# Reading logs on a full disk, under cancels at any moment, and while jobs are removed: the next call goes on from a true state.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use lib 'test/lib';
use SameRows;
use IPC::Run qw(start finish);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--wal-segsize=1', '--encoding=UTF8', '--no-locale' ]);
# the largest file of the server has to be one of ingest: no vacuum, and few checkpoints with segments of 1 MB
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_wal_size = 1GB\n");
$node->start;

# times are random, so that they take room
my $make = q{
CREATE EXTENSION l4;
SELECT l4.create_log_table('logs');
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'job-' || j, 'node-' || n, i, '2000-01-01'::timestamptz + make_interval(secs => hashint8(i * 100 + n) + 0.000001 * (hashint8(i * 99 - n) % 1000000)), CASE
    WHEN i % 50 = 0 THEN format('2026-01-01 00:00:00,000 [INFO] training: iteration %s/ 1000 | elapsed time per iteration (ms): %s.5 | lm loss: 2.5', i / 50, i % 7)
    ELSE format('step %s of phase %s took %s ms', i, 'p' || i % 40, i % 13) END
FROM generate_series(1, 4) j, generate_series(1, 4) n, generate_series(1, 10000) i;
};
my $counts = q{SELECT count(*), count(DISTINCT (job_id, node, line_no)) FROM l4.event_line};
my @kept = ((map { "SELECT * FROM l4.$_ WHERE job_id <= 'job-4'" } 'event_line', 'event_count', 'iteration'), q{
	SELECT j.job_id, l4._survivor(e.event_id, e.merged_into), sum(j.occurrences), min(j.first_ts), max(j.last_ts),
		(array_agg((j.first_node, j.first_source, j.first_line_no, j.example)::text
			ORDER BY j.example_ts, j.first_node COLLATE "C", j.first_source COLLATE "C", j.first_line_no))[1]
	FROM l4._job_event j JOIN l4._event e USING (event_id) WHERE j.job_id <= 'job-4' GROUP BY 1, 2});

sub fresh
{
	my ($db) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE filled");
	return;
}

$node->safe_psql('postgres', 'CREATE DATABASE filled');
$node->safe_psql('filled', $make);
$node->safe_psql('filled', 'VACUUM (FREEZE, ANALYZE)');

fresh('whole');
$node->safe_psql('whole', q{CALL l4.ingest('logs', batch_lines => 10000)});
my $lines = 4 * 4 * 10000;
is($node->safe_psql('whole', $counts), "$lines|$lines", 'every line once');

# A disk that is full for what ingest writes: the server may not make a file longer than the longest there is.
fresh('no_room');
$node->safe_psql('no_room', q{INSERT INTO logs SELECT replace(job_id, 'job', 'job-5'), node, source, rank, line_no, ts, line FROM logs});
$node->safe_psql('no_room', 'VACUUM (FREEZE, ANALYZE)');
$node->safe_psql('no_room', 'CHECKPOINT');
my $longest = $node->safe_psql('no_room', q{SELECT max(pg_relation_size(oid)) FROM pg_class WHERE relnamespace <> 'public'::regnamespace AND relkind IN ('r', 'i', 't')});
my $stored = 2 * $node->safe_psql('whole', q{SELECT max(greatest(pg_relation_size(c.oid), pg_relation_size(c.reltoastrelid))) FROM pg_class c WHERE c.oid IN ('l4._pack_chunk'::regclass, 'l4._pack'::regclass)});
# the server itself needs files of a megabyte
my $limit = ($longest < 1048576 ? 1024 : int($longest / 1024)) + 64;
SKIP:
{
	skip "what ingest stores ($stored) is not more than a file may hold ($limit kB)", 5 if $stored < 1100 * $limit;
	$node->stop;
	my ($data, $log) = ($node->data_dir, $node->logfile);
	system('bash', '-c', "ulimit -f $limit && exec pg_ctl -w -s -D '$data' -l '$log.full' start") == 0 or die 'the server does not start';
	my ($out, $err);
	my $status = $node->psql('no_room', q{CALL l4.ingest('logs', batch_lines => 10000)}, stdout => \$out, stderr => \$err);
	isnt($status, 0, 'ingest fails when a file cannot grow');
	like($err, qr/could not (?:extend|write)/, 'and says so');
	system('pg_ctl', '-w', '-s', '-m', 'fast', '-D', $data, 'stop');
	$node->start;
	my ($all, $different) = split /\|/, $node->safe_psql('no_room', $counts);
	ok($all > 0 && $all < 2 * $lines && $all == $different, "what was committed before stays: $all lines");
	is($node->safe_psql('no_room', q{CALL l4.ingest('logs', batch_lines => 10000); SELECT count(*) FROM l4.event_line}), 2 * $lines, 'with room again, it goes on');
	same_rows([ $node, 'no_room' ], [ $node, 'whole' ], 'to the same result', @kept);
}

# temporary files may be limited, too: a source without an index is copied
fresh('no_index');
$node->safe_psql('no_index', 'CREATE TABLE heap AS SELECT * FROM logs; DROP TABLE logs');
my ($out, $err);
isnt($node->psql('no_index', q{SET temp_file_limit = 64; SET maintenance_work_mem = '1MB'; SET work_mem = '64kB'; CALL l4.ingest('heap')}, stdout => \$out, stderr => \$err),
	0, 'ingest fails at temp_file_limit');
like($err, qr/temp_file_limit/, 'and says so');
is($node->safe_psql('no_index', q{CALL l4.ingest('heap'); CALL l4.ingest('heap'); SELECT count(*) FROM l4.event_line}), $lines, 'without the limit all lines are read');

# cancelled at any moment, by timeout and by another session, in a transaction of its own and not
fresh('cancelled');
my $cancels = 0;
for my $timeout (5, 10, 20, 40, 60, 80, 120, 160, 200, 260, 350)
{
	my $mode = $timeout % 40 ? 'true' : 'false';
	$node->psql('cancelled', "SET statement_timeout = $timeout; CALL l4.ingest('logs', batch_lines => 1, commit => $mode)", stdout => \$out, stderr => \$err);
	$cancels++ if $err =~ /canceling statement/;
	my ($all, $different) = split /\|/, $node->safe_psql('cancelled', $counts);
	is($all, $different, "after $timeout ms: no line twice ($all lines)") if $all != $different || $timeout == 350;
}
cmp_ok($cancels, '>=', 3, 'calls were cancelled');
$node->safe_psql('cancelled', q{CALL l4.ingest('logs', batch_lines => 10000)});
is($node->safe_psql('cancelled', $counts), "$lines|$lines", 'the last call finds all lines');
is($node->safe_psql('cancelled', q{SELECT sum(occurrences) FROM l4.event_count}), $lines, 'and counts each once');
is($node->safe_psql('cancelled', q{SELECT count(*) FROM l4._stream WHERE tail_lines + lines <> 10000}), '0', 'streams know it');

# jobs are removed while they are read
fresh('removed');
for my $round (1 .. 4)
{
	my ($o, $e) = ('', '');
	my $h = start [ 'psql', '-X', '-d', $node->connstr('removed'), '-c', 'SET client_min_messages = warning', '-c', q{CALL l4.ingest('logs', batch_lines => 1)} ], '<', \'', '>', \$o, '2>', \$e;
	$node->poll_query_until('removed', 'SELECT coalesce(sum(lines), 0) > 0 FROM l4._stream');
	$node->safe_psql('removed', 'SELECT l4.forget_job(job_id) FROM l4.job ORDER BY job_id LIMIT 2');
	finish $h;
	ok($e eq '' || $e =~ /a job was removed while its logs were read\nHINT:/, "round $round: a clear error, or none") or diag($e);
}
$node->safe_psql('removed', q{CALL l4.ingest('logs', batch_lines => 10000)});
is($node->safe_psql('removed', $counts), "$lines|$lines", 'the last call reads what was forgotten');
is($node->safe_psql('removed', q{SELECT count(*) FROM l4._job_event j WHERE NOT EXISTS (SELECT FROM l4.event_count c WHERE c.job_id = j.job_id)}), '0', 'no counts of nothing');
is($node->safe_psql('removed', q{SELECT sum(occurrences) FROM l4._job_event}), $lines, 'the counts of jobs are those of their lines');

# eight sessions, each a job or a node's worth of it, at once
fresh('many');
my @sessions = map
{
	my $job = 'job-' . (1 + $_ % 4);
	start [ 'psql', '-X', '-d', $node->connstr('many'), '-v', 'ON_ERROR_STOP=1', '-c', "CALL l4.ingest('logs', '$job', batch_lines => 4000)" ], '<', \''
} 1 .. 8;
is(scalar(grep { finish $_ } @sessions), 8, 'eight sessions on four jobs end well');
is($node->safe_psql('many', $counts), "$lines|$lines", 'with every line once');
is($node->safe_psql('many', 'SELECT count(*) FROM (SELECT job_id, md5(string_agg((node, line_no, ts, stage, iteration)::text, $$,$$ ORDER BY node, line_no)) FROM l4.event_line GROUP BY 1) x'), '4', 'in four jobs');
is($node->safe_psql('many', q{SELECT count(*) FROM l4.template WHERE merged_into IS NULL}), $node->safe_psql('whole', q{SELECT count(*) FROM l4.template WHERE merged_into IS NULL}),
	'and as many templates as one session learns');
# What a session learns is committed before what it stores: another session learns meanwhile, and what others have read between the two is not read again.
sub held
{
	my ($db, $lock) = @_;
	my ($o, $e) = ('', '');
	my $h = start [ 'psql', '-X', '-d', $node->connstr($db), '-c', "BEGIN; $lock; SELECT pg_sleep(600)" ], '<', \'', '>', \$o, '2>', \$e;
	$node->poll_query_until($db, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'});
	return $h;
}

sub released
{
	my ($db, $h) = @_;
	$node->safe_psql($db, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'});
	finish $h;
	return;
}

sub call
{
	my ($db, $job) = @_;
	my ($o, $e) = ('', '');
	my $h = start [ 'psql', '-X', '-d', $node->connstr($db), '-v', 'ON_ERROR_STOP=1', '-c', "CALL l4.ingest('logs', '$job')" ], '<', \'', '>', \$o, '2>', \$e;
	return $h;
}

sub waits
{
	my ($db, $n, $for) = @_;
	return $node->poll_query_until($db, "SELECT count(*) >= $n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event IN ($for)");
}

fresh('learning');
my $holder = held('learning', 'LOCK TABLE l4._pack_chunk IN SHARE MODE');
my $storing = call('learning', 'job-1');
waits('learning', 1, q{'relation'});
cmp_ok($node->safe_psql('learning', 'SELECT count(*) FROM l4._event'), '>', 0, 'what was learnt can be seen before the batch is stored');
is($node->safe_psql('learning', 'SELECT count(*) FROM (SELECT FROM l4._model FOR NO KEY UPDATE NOWAIT) x'), '1', 'and others may learn');
released('learning', $holder);
ok(finish($storing), 'then it is stored');
$holder = held('learning', 'SELECT FROM l4._model FOR UPDATE');
$node->safe_psql('learning', q{INSERT INTO logs (job_id, node, line_no, line) SELECT 'job-2', 'node-1', 10001, 'a line that nobody has seen before'});
my $first = call('learning', 'job-2');
waits('learning', 1, q{'transactionid', 'tuple'});
my $second = call('learning', 'job-2');
waits('learning', 1, q{'advisory'});
released('learning', $holder);
ok(finish($first) && finish($second), 'two sessions on one job end well, the second having read it between');
is($node->safe_psql('learning', q{SELECT count(*), count(DISTINCT (node, line_no)), (SELECT sum(occurrences) FROM l4._job_event WHERE job_id = 'job-2') FROM l4.event_line WHERE job_id = 'job-2'}), '40001|40001|40001', 'with every line once');
$node->stop;
done_testing();
