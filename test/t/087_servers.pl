# Servers side by side: three databases and a directory. Jobs split by node come together, whole jobs are placed and
# diagnosed where they are, and a server that fails is named.
use strict;
use warnings;
use IO::Socket::UNIX;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "timezone = 'UTC'");
$node->start;
plan skip_all => 'dblink and postgres_fdw are not installed'
	if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name IN ('dblink', 'postgres_fdw')") < 2;
my ($host, $port) = ($node->host, $node->port);
my @servers = ('a', q{b'"x}, 'c');
my %database = ('a' => 'db_a', q{b'"x} => 'db_b', 'c' => 'db_c', 'one' => 'one', 'home' => 'home');

sub sql { my ($place, $statement) = @_; return $node->safe_psql($database{$place} // $place, $statement); }
sub fails
{
	my ($place, $statement, $pattern, $name) = @_;
	my ($status, $out, $err) = $node->psql($database{$place} // $place, $statement);
	ok($status != 0 && $err =~ $pattern, $name) or diag("status $status: $err");
	return;
}
sub quoted { (my $text = shift) =~ s/'/''/g; return "'$text'"; }

# jobs: good ones and a failed one of each settings; four nodes, of which one stops
my $lines = q{
	SELECT j AS job_id, 'n' || n AS node, '' AS source, n AS rank, i::bigint AS line_no, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 s' AS ts,
		CASE WHEN j LIKE 'bad%' AND i > 40 THEN CASE WHEN n = 2 THEN 'FATAL: the disk of this node is gone' ELSE 'ERROR: waiting for rank 2 timed out' END
			ELSE format('iteration %s/60 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i, i % 7) END AS line
	FROM unnest(ARRAY['good-1', 'good-2', 'bad-1']) AS j, generate_series(0, 3) AS n, generate_series(1, 60) AS i WHERE j NOT LIKE 'bad%' OR i <= 41};
$node->safe_psql('postgres', "CREATE DATABASE base");
$node->safe_psql('base', "CREATE EXTENSION l4; SELECT l4.create_log_table('logs')");
$node->safe_psql('postgres', "CREATE DATABASE $database{$_} TEMPLATE base") foreach @servers, 'one', 'home';
fails('home', "SELECT l4.add_server('a', 'dbname=db_a')", qr/extension "dblink" is not installed.*HINT:  CREATE EXTENSION dblink/s, 'what is needed is named');
sql('home', 'CREATE EXTENSION dblink; CREATE EXTENSION postgres_fdw');
my $jobs = q{INSERT INTO l4.job (job_id, settings, status) VALUES ('good-1', 's', 'succeeded'), ('good-2', 's', 'succeeded'), ('bad-1', 's', 'failed')};
sql($_, $jobs) foreach 'one', 'home';
sql('one', "INSERT INTO logs (job_id, node, source, rank, line_no, ts, line) $lines; CALL l4.ingest('logs'); SELECT l4.diagnose('bad-1')");

# what cannot be added
my $reach = "host=$host port=$port";
$node->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE base; CREATE DATABASE nothing');
fails('home', "SELECT l4.add_server('x', 'host db7')", qr/conninfo is no list of key=value pairs/, 'no connection string');
fails('home', "SELECT l4.add_server('x', '$reach dbname=nothing')", qr/server "x" has no l4/, 'a database without l4');
fails('home', "SELECT l4.add_server('x', 'host=$host port=1 dbname=db_a')", qr/server "x" does not answer/, 'a wrong port');
$node->safe_psql('other', "UPDATE pg_extension SET extversion = '0.0.9' WHERE extname = 'l4'");
fails('home', "SELECT l4.add_server('x', '$reach dbname=other')", qr/server "x" has version 0.0.9 of l4/, 'another version');
$node->safe_psql('other', "UPDATE pg_extension SET extversion = '0.1.0'; INSERT INTO l4.stage_rule (name, stage, signature) VALUES ('mine', 'eval', '^mine')");
fails('home', "SELECT l4.add_server('x', '$reach dbname=other')", qr/server "x" has rules of its own/, 'other rules');
$node->safe_psql('other', "DELETE FROM l4.stage_rule WHERE name = 'mine'; ALTER TABLE l4.fault DISABLE TRIGGER USER;
	UPDATE l4.fault SET remedy = 'another build' WHERE fault_id = (SELECT min(fault_id) FROM l4.fault)");
fails('home', "SELECT l4.add_server('x', '$reach dbname=other')", qr/server "x" has other rules and faults that came with l4/, 'another build');
$node->safe_psql('other', 'CREATE ROLE stranger LOGIN');
fails('home', "SELECT l4.add_server('x', '$reach dbname=other user=stranger')", qr/server "x" does not say what it has.*permission denied/s, 'a user without rights there');
fails('home', "SELECT l4.add_server('$_', '$reach dbname=db_a')", qr/the name of a server has 1 to 40 bytes, not \d/, 'a name of ' . length($_) . ' bytes') foreach '', 'x' x 41;
is(sql('home', "SELECT count(*) FROM pg_foreign_server"), '0', 'nothing is left of them');

sql('home', sprintf("SELECT l4.add_server(%s, '$reach dbname=%s password=''it\\''s secret''')", quoted($_), $database{$_})) foreach @servers;
fails('home', "SELECT l4.add_server('y', '$reach dbname=db_c')", qr/server "y" is the database of server "c"/, 'one database under two names');
is(sql('home', "SELECT count(*) FROM pg_foreign_server WHERE srvoptions::text LIKE '%secret%'"), '0', 'passwords are in user mappings');
is(sql('home', q{SELECT string_agg(DISTINCT m.umoptions::text, '') FROM pg_user_mappings AS m}), q({"password=it's secret"}), 'as they were given');

# rules, faults, jobs; a fault that another server learnt
sql('home', q{INSERT INTO l4.stage_rule (name, stage, signature) VALUES ('own', 'eval', '^own evaluation'); INSERT INTO l4.disabled_rule (kind, name) VALUES ('fault', 'x')});
my $fault = q{SELECT l4.import_faults('[{"name": "disk_gone", "category": "hardware", "component": "storage", "signature": "disk of this node is gone", "root_cause": "x", "remedy": "replace it"}]')};
sql($_, $fault) foreach 'c', 'one';
is(sql('home', q{SELECT string_agg(concat_ws(' ', server, sent, problem), E'\n') FROM l4.sync()}), qq(a {rules,faults}\nb'"x {rules,faults}\nc {rules}), 'sync sends what differs');
is(sql('home', q{SELECT string_agg(concat_ws(' ', server, sent, problem), E'\n') FROM l4.sync()}), qq(a {}\nb'"x {}\nc {}), 'and nothing twice');
is(sql('a', q{SELECT (SELECT rule_id FROM l4.stage_rule WHERE name = 'own'), (SELECT count(*) FROM l4.fault WHERE name = 'disk_gone')}),
	sql('home', q{SELECT rule_id, 1 FROM l4.stage_rule WHERE name = 'own'}), 'rules keep their ids, faults come from anywhere');
sql('a', "DELETE FROM l4.stage_rule WHERE name = 'own'");
like(sql('home', "SELECT problem FROM l4.sync() WHERE server = 'a'"), qr/its rules were changed there/, 'rules that were changed elsewhere');
sql('a', sprintf("SELECT l4._server_take(%s)", quoted(sql('home', q{SELECT jsonb_build_object('rules', l4._server_part('rules'))}))));

# by job: jobs of the same settings meet, or their digests come along
sql('home', "SELECT l4.place('good-1', 's')");
my %at = (sql('home', 'SELECT string_agg(job_id || chr(9) || server, chr(9)) FROM l4.job_server') =~ /([^\t]+)\t([^\t]+)/g);
sql($at{'good-1'}, "INSERT INTO logs (job_id, node, source, rank, line_no, ts, line) SELECT * FROM ($lines) AS x WHERE job_id = 'good-1'");
like(($node->psql('home', q{CALL l4.ingest_servers('logs')}))[2], qr/NOTICE:  server "\Q$at{'good-1'}\E" has 240 new lines/, 'what is new is told');
like(($node->psql('home', q{CALL l4.ingest_servers('logs', 'god-1')}))[2], qr/no server that answers has lines of job "god-1"\nHINT:  Did you mean "good-1"/, 'a job of which nobody has lines');
is(sql('home', "SELECT server || lines FROM l4.job_server"), "$at{'good-1'}240", 'each server reads its own');
like(sql('home', q{SELECT string_agg(concat_ws(' ', server, sent, problem), ' ') FROM l4.sync()}), qr/\{model\}/, 'servers without templates get them');
foreach my $job ('good-2', 'bad-1')
{
	$at{$job} = sql('home', "SELECT l4.place('$job')");
	is(sql('home', "SELECT l4.place('$job')"), $at{$job}, "$job stays");
	sql($at{$job}, "INSERT INTO logs (job_id, node, source, rank, line_no, ts, line) SELECT * FROM ($lines) AS x WHERE job_id = '$job'");
}
sql('home', q{CALL l4.ingest_servers('logs')});
my $answer = q{SELECT concat_ws('|', d.status, d.symptom, d.stage, d.iteration, d.baseline, d.category, d.summary) FROM %s AS d};
is(sql('home', sprintf($answer, "l4.diagnose_at('bad-1')")), sql('one', sprintf($answer, "l4.diagnose('bad-1')")), 'diagnosed where it is as on one server');
is(sql('home', q{SELECT server || job_id FROM l4.fleet_diagnosis}), "$at{'bad-1'}bad-1", 'a view over all servers');
is(sql('home', q{SELECT node FROM l4.fleet_suspect_node WHERE job_id = 'bad-1' AND rank = 1}), 'n2', 'suspects of all servers');
is(sql('home', q{SELECT fault_name FROM l4.fleet_fault_match WHERE rank = 1}), 'disk_gone', 'and faults');
is(sql('home', q{SELECT category, jobs FROM l4.fleet_fault_trend WHERE category = 'hardware'}), 'hardware|1', 'and trends');

# by node: a second failed job lies on all servers, one of which grew templates of its own
sql($_, "TRUNCATE logs") foreach @servers;
foreach my $i (0 .. 2)
{
	sql($servers[$i], "INSERT INTO logs (job_id, node, source, rank, line_no, ts, line) SELECT 'bad-2', node, source, rank, line_no, ts, line
		FROM ($lines) AS x WHERE job_id = 'bad-1' AND rank % 3 = $i");
}
sql('c', "INSERT INTO logs (job_id, node, source, line_no, line) SELECT 'own', 'n', '', i, 'a line that no other server has ' || i FROM generate_series(1, 9) AS i");
sql('one', "INSERT INTO logs (job_id, node, source, rank, line_no, ts, line) SELECT 'bad-2', node, source, rank, line_no, ts, line FROM ($lines) AS x WHERE job_id = 'bad-1';
	INSERT INTO l4.job (job_id, settings, status) VALUES ('bad-2', 's', 'failed'); CALL l4.ingest('logs')");
sql('home', "INSERT INTO l4.job (job_id, settings, status) VALUES ('bad-2', 's', 'failed'); CALL l4.ingest_servers('logs')");
my $counts = q{SELECT string_agg(concat_ws('|', c.node, t.level, t.template, c.occurrences, c.first_ts, c.last_line_no), E'\n' ORDER BY c.node, t.template) FROM l4.event_count AS c JOIN l4.template AS t USING (event_id) WHERE c.job_id = 'bad-2'};
is(sql('home', sprintf($answer, "l4.diagnose_at('bad-2')")), sql('one', sprintf($answer, "l4.diagnose('bad-2')")), 'a job on three servers as on one');
is(sql('home', "SELECT string_agg(streams::text, ' ') FROM l4.collect('bad-2')"), 4, 'collected here');
is(sql('home', $counts), sql('one', $counts), 'event for event');
is(sql('home', "SELECT count(*) FROM l4.collect('bad-2')"), 0, 'and nothing twice');

# an import that is killed leaves nothing, and the next one completes
sql('home', "SELECT l4.forget_job('bad-2')");
my $locked = $node->background_psql('home');
$locked->query_safe('BEGIN; LOCK TABLE l4._pack IN ACCESS EXCLUSIVE MODE') if $locked->can('query_safe');
SKIP:
{
	skip 'no background session', 2 if !$locked->can('query_safe');
	my $import = $node->background_psql('home', on_error_stop => 0);
	$import->query_until(qr/sent/, "\\echo sent\nSELECT l4.collect('bad-2');\n");
	$node->poll_query_until('home', "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'SELECT l4.collect%' AND wait_event_type = 'Lock'");
	sql('home', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT l4.collect%' AND wait_event_type = 'Lock'");
	$locked->query_safe('COMMIT');
	$locked->quit;
	eval { $import->quit };
	is(sql('home', "SELECT count(*) FROM l4._stream WHERE job_id = 'bad-2'"), 0, 'nothing is left of an import that was killed');
	sql('home', "SELECT l4.collect('bad-2')");
	is(sql('home', $counts), sql('one', $counts), 'the next one completes');
}

# a server that is slow, or whose l4 became another one, is named: nothing is lost or counted twice
is(sql('home', "SELECT FROM (SELECT dblink_connect('slow', 'c')) AS x; SELECT FROM (SELECT dblink_exec('slow', 'BEGIN; LOCK TABLE l4._stream')) AS x;
	SELECT status, coverage -> 'servers_missing' FROM l4.diagnose_at('bad-2')"), 'PARTIAL|["c"]', 'a slow server is not waited for');
sql($_, "INSERT INTO logs (job_id, node, source, rank, line_no, line) VALUES ('bad-2', 'n2', '', 2, 43, 'ERROR: gave up'); CALL l4.ingest('logs')") foreach 'c', 'one';
sql('c', "UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'l4'");
is(sql('home', "SELECT server, problem FROM l4.sync() WHERE problem IS NOT NULL"), 'c|it has another version or build of l4', 'another version is told');
is(sql('home', "SELECT server, streams, problem FROM l4.collect('bad-2')"), 'c||the export is of l4 0.9, and this server has 0.1.0', 'what is newer is not taken');
sql('c', "UPDATE pg_extension SET extversion = '0.1.0' WHERE extname = 'l4'");
is(sql('home', "SELECT server, streams, problem FROM l4.collect('bad-2')"), 'c|1|', 'but once it is as here');
is(sql('home', $counts), sql('one', $counts), 'the job is whole');

# a server that is stopped while it reads is named, the others have read, and the next call reads the rest
foreach ([ 'a', 'n3', 42 ], [ 'c', 'n2', 44 ])
{
	my ($place, $stream, $number) = @$_;
	sql($_, "INSERT INTO logs (job_id, node, source, rank, line_no, line) VALUES ('bad-2', '$stream', '', 3, $number, 'ERROR: gave up')") foreach $place, 'one';
}
sql('one', "CALL l4.ingest('logs')");
my @halves = map { IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr($_->[0]), '-c', $_->[1] ], '<', \undef, '>', \my $told, '2>', $_->[2]) }
	([ 'db_c', 'DO $$ BEGIN LOCK TABLE l4._stream; PERFORM pg_sleep(120); END $$', \my $lock_err ], [ 'home', "CALL l4.ingest_servers('logs')", \my $call_err ]);
$node->poll_query_until('db_c', "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = 'db_c' AND query LIKE 'CALL l4.ingest%' AND wait_event_type = 'Lock'");
$node->safe_psql('db_c', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'db_c' AND query LIKE 'CALL l4.ingest%'");
IPC::Run::finish($halves[1]);
like($call_err, qr/server "c" did not read all.*terminating connection/s, 'a server that was stopped is named');
$node->safe_psql('db_c', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'db_c' AND query LIKE 'DO %'");
IPC::Run::finish($halves[0]);
sql('home', "CALL l4.ingest_servers('logs'); SELECT l4.collect('bad-2')");
is(sql('home', $counts), sql('one', $counts), 'nothing is lost or counted twice');

# a server that does not answer is named, and the others go on
sql('home', "ALTER SERVER c OPTIONS (SET port '1')");
my ($status, $out, $err) = $node->psql('home', "CALL l4.ingest_servers('logs')");
ok($status == 0 && $err =~ /server "c" does not answer/, 'others read on') or diag($err);
is(sql('home', "SELECT answers, problem IS NULL FROM l4.fleet_status() WHERE server IN ('a', 'c') ORDER BY server"), "t|t\nf|f", 'the status tells');
sql('a', "INSERT INTO logs (job_id, node, source, rank, line_no, ts, line) VALUES ('bad-2', 'n0', '', 0, 42, '2026-03-01 10:01:00+00', 'ERROR: gave up'); CALL l4.ingest('logs')");
my $started = time;
is(sql('home', "SELECT status, coverage -> 'servers_missing', summary ~ 'servers are missing: c' FROM l4.diagnose_at('bad-2')"), 'PARTIAL|["c"]|t', 'a diagnosis names it');
cmp_ok(time - $started, '<=', 5, 'within five seconds');
# a call that is cancelled while it waits for a server that takes connections and never speaks
my $mute = IO::Socket::UNIX->new(Type => SOCK_STREAM(), Local => "$host/.s.PGSQL.2", Listen => 5) or die "no socket in $host: $!";
sql('home', "ALTER SERVER c OPTIONS (SET port '2')");
my ($mute_status, $mute_out, $mute_err) = $node->psql('home',
	"SET statement_timeout = '500ms'; SELECT count(*) FROM l4.fleet_status(); RESET statement_timeout; SELECT coalesce(cardinality(dblink_get_connections()), 0)", on_error_stop => 0);
ok($mute_out eq '0' && $mute_err =~ /canceling statement due to statement timeout/, 'a call that is cancelled leaves no connection') or diag("$mute_out $mute_err");
close($mute);
unlink("$host/.s.PGSQL.2");
sql('home', "ALTER SERVER c OPTIONS (SET port '1')");
fails('home', 'SELECT count(*) FROM l4.fleet_diagnosis', qr/could not connect to server "c"/, 'a view says which one it is');
sql('home', "SELECT l4.use_server('c', false)");
is(sql('home', 'SELECT count(*) > 0 FROM l4.fleet_diagnosis'), 't', 'left out, the view has the others');
like(sql('home', "SELECT problem FROM l4.fleet_status() WHERE server = 'c'"), qr/left out/, 'which the status says');
sql('home', "ALTER SERVER c OPTIONS (SET port '$port'); SELECT l4.use_server('c', true)");
is(sql('home', "SELECT status, coverage ? 'servers_missing' FROM l4.diagnose_at('bad-2')"), 'OK|f', 'back again');
fails('home', "SELECT l4.diagnose_at('none')", qr/no server that answers has lines of job "none"/, 'an unknown job');
fails('home', "SELECT l4.use_server('b', false)", qr/server "b" is not known/, 'an unknown server');

# rights: a reader has the views, nobody but the owner adds servers
sql('home', "CREATE ROLE some_reader; SELECT l4.grant_access('some_reader', 'reader'); CREATE ROLE some_curator; SELECT l4.grant_access('some_curator', 'curator')");
is(sql('home', 'SET ROLE some_reader; SELECT count(*) > 0 FROM l4.fleet_diagnosis'), 't', 'a reader reads all servers');
fails('home', "SET ROLE some_reader; SELECT l4.diagnose_at('bad-2')", qr/permission denied/, 'and calls none');
fails('home', "SET ROLE some_curator; SELECT l4.add_server('y', 'dbname=db_a')", qr/permission denied for function add_server/, 'a curator adds none');
fails('home', "SET ROLE some_curator; INSERT INTO l4._fleet_diagnosis SELECT * FROM l4.diagnosis", qr/permission denied/, 'nor writes for others');

# a dump has the directory
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$node->safe_psql('postgres', 'CREATE DATABASE again');
command_ok([ 'pg_dump', '-h', $host, '-p', $port, '-Fc', '-f', $dump, 'home' ], 'pg_dump');
command_ok([ 'pg_restore', '-h', $host, '-p', $port, '-d', 'again', '--exit-on-error', $dump ], 'pg_restore');
my $directory = 'SELECT string_agg(x::text, chr(10) ORDER BY x::text) FROM (SELECT server, job_id, status FROM l4.fleet_diagnosis) AS x';
is($node->safe_psql('again', $directory), sql('home', $directory), 'the restored directory reaches all servers');
sql('home', sprintf('SELECT l4.drop_server(%s)', quoted($_))) foreach @servers;
is(sql('home', 'SELECT (SELECT count(*) FROM l4.server), (SELECT count(*) FROM pg_foreign_server), (SELECT count(*) FROM pg_foreign_table)'), '0|0|0', 'servers go without a trace');
$node->stop;
done_testing();
