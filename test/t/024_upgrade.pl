# pg_upgrade takes a database with jobs, faults and rules along: the new server diagnoses, reports and goes on as the old one.
# oldinstall=FOLDER: from the server below FOLDER (its bin/ has pg_ctl), which has l4 installed, to the one of pg_config; without it, to the same version.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use lib 'test/lib';
use SameRows;

chomp(my $bindir = `pg_config --bindir`);
plan skip_all => 'pg_upgrade is not installed' if !-x "$bindir/pg_upgrade";

my $oldbindir = $ENV{oldinstall} ? "$ENV{oldinstall}/bin" : $bindir;
my $old = PostgreSQL::Test::Cluster->new('old', $ENV{oldinstall} ? (install_path => $ENV{oldinstall}) : ());
my $new = PostgreSQL::Test::Cluster->new('new');
foreach my $node ($old, $new)
{
	# 18 has checksums unless told otherwise, and both must be alike
	$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C', '--data-checksums' ]);
	$node->append_conf('postgresql.conf', "timezone = 'UTC'");
}
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE training');
my ($out, $err);
IPC::Run::run([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $old->host, '-p', $old->port, '-d', 'training', '-f', 'test/demo.sql' ], '>', \$out, '2>', \$err)
	or die $err;
unlink 'l4-report-job-17.html';
$old->safe_psql('training', q{
	SELECT l4.confirm_fault('job-17', name => 'link_of_node04_down', root_cause => 'cable', remedy => 'replace the cable');
	INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('mine', 'eval', '^my evaluation', 90);
	CREATE TABLE kept AS SELECT l4.parser_train(line ORDER BY line_no) AS p, l4.event_vector_agg(length(line)) AS v, 'step (\d+)'::l4.pcre AS r FROM logs WHERE node = 'node04';
	ALTER TABLE kept ADD COLUMN f l4.iforest;
	UPDATE kept SET f = (SELECT l4.iforest_train(x) FROM (SELECT v AS x FROM kept UNION ALL SELECT '{1:1}') AS s);
	SELECT l4.diagnose('job-17')});

# each row of what must stay, so that a difference is shown by its rows
my $state = q{
	SELECT 'report', r FROM l4.report('job-17') AS r WHERE r NOT LIKE 'diagnosed %';
	SELECT e FROM l4.event_line AS e ORDER BY e::text COLLATE "C";
	SELECT f FROM l4.fault AS f ORDER BY f.fault_id;
	SELECT 'kept', md5(k::text), l4.parser_match(p, 'nothing like it'), l4.iforest_score(f, v), l4.pcre_match('step 3', r) FROM kept AS k;
	SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'l4') AND deptype = 'e'
		-- 17 adds the types of rows and arrays
		AND classid <> 'pg_type'::regclass
	ORDER BY pg_describe_object(classid, objid, objsubid) COLLATE "C"};
my $before = $old->safe_psql('training', $state);
$old->stop;
my $folder = PostgreSQL::Test::Utils::tempdir();
chdir $folder or die;
command_ok([ 'pg_upgrade', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $oldbindir, '-B', $bindir, '-s', $new->host, '-p', $old->port, '-P', $new->port ],
	'pg_upgrade');
$new->start;
same_text($new->safe_psql('training', $state), $before, 'all is as it was');
$new->safe_psql('training', q{
	INSERT INTO logs (job_id, node, source, line_no, ts, line) SELECT 'job-17', 'node04', source, max(line_no) + 1, max(ts), 'one more line of 7 words, says node04'
	FROM logs WHERE job_id = 'job-17' AND node = 'node04' GROUP BY source;
	CALL l4.ingest('logs')});
is($new->safe_psql('training', "SELECT count(*) FROM l4.event_line WHERE job_id = 'job-17'"), $new->safe_psql('training', "SELECT count(*) FROM logs WHERE job_id = 'job-17'"),
	'one more line is one more line');
is($new->safe_psql('training', "INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('mine too', 'eval', '^more', 90) RETURNING rule_id > 1000000"),
	't', 'the next rule of a user gets an id of its own');
$new->stop;
done_testing();
