# A dump holds all that l4 keeps, shipped rows once: the restored database diagnoses, reports and goes on as the first one.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use lib 'test/lib';
use SameRows;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "timezone = 'UTC'");
$node->start;
my @psql = ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port);
$node->safe_psql('postgres', 'CREATE DATABASE first');
$node->safe_psql('postgres', 'CREATE DATABASE second');
my ($out, $err);
IPC::Run::run([ @psql, '-d', 'first', '-f', 'test/demo.sql' ], '>', \$out, '2>', \$err) or die $err;
unlink 'l4-report-job-17.html';

# a user's own rows of every kind, and a shipped rule switched off
$node->safe_psql('first', q{
	SELECT l4.confirm_fault('job-17', name => 'link_of_node04_down', root_cause => 'cable', remedy => 'replace the cable');
	INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('mine', 'eval', '^my evaluation', 90);
	INSERT INTO l4.disabled_rule (kind, name, reason) SELECT 'stage_rule', name, 'not ours' FROM l4.stage_rule WHERE rule_id < 1000000 ORDER BY rule_id LIMIT 1;
	SELECT l4.diagnose('job-17');
	CREATE ROLE reader;
	GRANT SELECT ON ALL TABLES IN SCHEMA l4 TO reader});

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
command_ok([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-Fc', '-f', $dump, 'first' ], 'pg_dump');
command_ok([ 'pg_restore', '-h', $node->host, '-p', $node->port, '-d', 'second', '--exit-on-error', $dump ], 'pg_restore without an error');

# by several jobs at once it goes in steps, as foreign keys of an extension are there before its rows; into a database of somebody else
$node->safe_psql('postgres', 'CREATE ROLE somebody; CREATE DATABASE third OWNER somebody');
command_ok([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-Fd', '-j', '2', '-f', "$dump.dir", 'first' ], 'pg_dump by two jobs');
foreach my $section ([ 'pre-data' ], [ 'data', '--disable-triggers', '-j', '3' ], [ 'post-data', '-j', '3' ])
{
	my ($name, @options) = @$section;
	command_ok([ 'pg_restore', '-h', $node->host, '-p', $node->port, '-d', 'third', '--exit-on-error', "--section=$name", @options, "$dump.dir" ], "pg_restore of $name");
}

# every table of l4 has the same rows, but for cases, which a diagnosis derives again
my @tables = split /\n/, $node->safe_psql('first', q{
	SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'l4'::regnamespace AND c.relkind = 'r'
		AND c.relname !~ '^_case' ORDER BY 1});
cmp_ok(scalar(@tables), '>', 20, 'there are tables to compare');
same_rows([ $node, $_ ], [ $node, 'first' ], "rows of all tables in $_", map { "SELECT * FROM l4.$_" } @tables) foreach 'second', 'third';

my $answer = q{SELECT string_agg(r, E'\n') FROM l4.report('job-17') AS r WHERE r NOT LIKE 'diagnosed %'};
is($node->safe_psql('second', $answer), $node->safe_psql('first', $answer), 'the report is the same');
is($node->safe_psql('third', "SET ROLE reader; $answer"), $node->safe_psql('first', $answer), 'for whom it was granted to');
$node->safe_psql('second', "SELECT l4.diagnose('job-17')");
is($node->safe_psql('second', $answer), $node->safe_psql('first', $answer), 'diagnosed again, it still is');
my $case = q{SELECT string_agg(n::text, E'\n' ORDER BY n.node) FROM l4._case_node AS n WHERE n.job_id = 'job-17'};
is($node->safe_psql('second', $case), $node->safe_psql('first', $case), 'and its case is the same');

# ingest goes on where it was, and new rows of users get new ids
foreach my $database ('first', 'second')
{
	$node->safe_psql($database, "CALL l4.ingest('logs')");
	$node->safe_psql($database, q{
		INSERT INTO logs (job_id, node, source, line_no, ts, line) SELECT 'job-17', 'node04', source, max(line_no) + 1, max(ts), 'one more line of 7 words, says node04'
		FROM logs WHERE job_id = 'job-17' AND node = 'node04' GROUP BY source});
	$node->safe_psql($database, "CALL l4.ingest('logs')");
}
my $lines = "SELECT count(*), sum(line_no), count(DISTINCT event_id) FROM l4.event_line WHERE job_id = 'job-17'";
is($node->safe_psql('second', $lines), $node->safe_psql('first', $lines), 'one more line is one more line in both');
is($node->safe_psql('second', "SELECT count(*) FROM l4.event_line WHERE job_id = 'job-17'"),
	$node->safe_psql('second', "SELECT count(*) FROM logs WHERE job_id = 'job-17'"), 'none is counted twice');
my $new_rule = "INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('mine too', 'eval', '^more', 90) RETURNING rule_id > 1000000";
is($node->safe_psql('second', $new_rule), 't', 'the next rule of a user gets an id of its own');
$node->stop;
done_testing();
