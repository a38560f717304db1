# ALTER EXTENSION l4 UPDATE to a made-up next version: afterwards the objects are those of a fresh installation of it, what
# users have stays, and jobs give the answers that they give there.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use lib 'test/lib';
use SameRows;

my ($old) = slurp_file('l4.control') =~ /^default_version = '(.*)'/m;
my $new = '9.9.9';
chomp(my $folder = `pg_config --sharedir`);
$folder .= '/extension';
plan skip_all => "$folder cannot be written" if !-w $folder;
my ($whole, $step) = ("$folder/l4--$new.sql", "$folder/l4--$old--$new.sql");

# the next version: a column, a function, another one changed, rows added, changed and gone
my $script = slurp_file("sql/l4--$old.sql");
my $added = q{
CREATE FUNCTION l4.made_up() RETURNS int LANGUAGE sql RETURN 1;
COMMENT ON FUNCTION l4.made_up() IS 'made up';
COMMENT ON COLUMN l4.job.owner IS 'made up';
};
my $remedy = 'Exchange the cable.';
my $fault = qr/^\('\d+', 'nic_link_state_down',/m;
$script =~ s/^(CREATE TABLE l4\.job \(.*?\n    attributes jsonb,[^\n]*\n)/$1    owner text,\n/ms or die;
$script =~ s/"network": 2\}/"network": 3}/ or die;
$script =~ s/($fault.*?')Look at the port and its counters[^']*'/$1$remedy'/ or die;
$script =~ s/^\('\d+', 'pcie_aer_any',.*\n//m or die;
my ($row) = $script =~ /^(\('\d+', 'sym_c10d_timeout_text',.*\n)/m or die;
$script =~ s/\Q$row\E/$row . $row =~ s{^\('\d+', '\w+'}{('999', 'made_up_fault'}r/e or die;
# what names all columns of the table that gets one more is made anew, beside what changed
my @functions = map { $script =~ /^CREATE (FUNCTION l4\.$_\(.*?^END;\n)/ms or die; "CREATE OR REPLACE $1" } qw(diagnose_defaults);
my ($rows) = $script =~ /^(-- Shipped rules and faults, made by.*?)^-- What guards the rows of users/ms or die;
my @shipped = qw(fault line_format stage_rule iteration_rule mask_rule marker_rule);
my $update = join '', "ALTER TABLE l4.job ADD COLUMN owner text;\n", @functions, $added;
$update .= "ALTER TABLE l4.$_ DISABLE TRIGGER USER;\n" foreach @shipped, 'fault_condition';
$update .= sprintf "DELETE FROM l4.%s WHERE %s < 1000000;\n", $_, $_ eq 'fault' ? 'fault_id' : 'rule_id' foreach @shipped;
$update .= $rows;
$update .= "ALTER TABLE l4.$_ ENABLE TRIGGER USER;\n" foreach @shipped, 'fault_condition';
append_to_file($whole, $script . $added);
append_to_file($step, $update);
END { unlink $whole, $step if defined $step; }

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "timezone = 'UTC'");
$node->start;

# the same jobs, faults and rules in a database of the old version and in one of the new
my ($updated, $fresh) = ([ $node, 'updated' ], [ $node, 'fresh' ]);
my $yours = q{
	SELECT l4.diagnose('job-17');
	SELECT l4.confirm_fault('job-17', name => 'link_of_node04_down', root_cause => 'cable', remedy => 'replace the cable');
	INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('mine', 'eval', '^my evaluation', 90);
	INSERT INTO l4.disabled_rule (kind, name) VALUES ('fault', 'heartbeat_missing_peer'), ('fault', 'pcie_aer_any')};
my $demo = slurp_file('test/demo.sql') =~ s/^\\echo '\[4.*//msr;
foreach my $made ([ 'updated', $old ], [ 'fresh', $new ])
{
	my ($database, $version) = @$made;
	my ($out, $err);
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	IPC::Run::run([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-d', $database, '-f', '-' ],
		'<', \($demo =~ s/^CREATE EXTENSION l4;/CREATE EXTENSION l4 VERSION '$version';/mr), '>', \$out, '2>', \$err) or die $err;
	$node->safe_psql($database, $yours);
}
my @kept = (
	'SELECT * FROM l4.event_line', 'SELECT * FROM l4.event_count', 'SELECT * FROM l4.iteration', 'SELECT * FROM l4.fault_match',
	'SELECT * FROM l4.suspect_event', 'SELECT * FROM l4.suspect_node', 'SELECT * FROM l4.disabled_rule', 'SELECT * FROM l4._model',
	(map { "SELECT * FROM l4.$_ WHERE rule_id >= 1000000" } grep { /rule/ } @shipped), 'SELECT * FROM l4.fault WHERE fault_id >= 1000000',
	'SELECT job_id, settings, status, attributes FROM l4.job');
my %before = map { $_ => $node->safe_psql('updated', "SELECT x::text COLLATE \"C\" FROM ($_) AS x ORDER BY 1") } @kept;
$node->safe_psql('updated', "ALTER EXTENSION l4 UPDATE TO '$new'");
is($node->safe_psql('updated', "SELECT extversion FROM pg_extension WHERE extname = 'l4'"), $new, 'updates');
same_text($node->safe_psql('updated', "SELECT x::text COLLATE \"C\" FROM ($_) AS x ORDER BY 1"), $before{$_}, "stays: $_") foreach @kept;

# objects: what belongs to l4, and how each is defined
my $mine = "FROM pg_depend AS d WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'l4')";
my %objects = (
	'members' => "SELECT pg_describe_object(classid, objid, objsubid), obj_description(objid, classid::regclass::name) $mine",
	'functions' => "SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p WHERE prokind <> 'a' AND EXISTS (SELECT $mine AND classid = 'pg_proc'::regclass AND objid = p.oid)",
	'columns' => "SELECT attrelid::regclass, attname, attnum, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)
		FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attnum > 0 AND attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'l4'::regnamespace)",
	'views' => "SELECT oid::regclass, pg_get_viewdef(oid) FROM pg_class WHERE relnamespace = 'l4'::regnamespace AND relkind = 'v'",
	'constraints' => "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'l4'::regnamespace",
	'indexes' => "SELECT indexdef FROM pg_indexes WHERE schemaname = 'l4'",
	'triggers' => "SELECT pg_get_triggerdef(oid), tgenabled FROM pg_trigger WHERE NOT tgisinternal",
	'what is dumped' => "SELECT c.id::regclass, c.condition FROM pg_extension CROSS JOIN unnest(extconfig, extcondition) AS c(id, condition) WHERE extname = 'l4'",
	'rights' => "SELECT oid::regclass, relacl FROM pg_class WHERE relnamespace = 'l4'::regnamespace UNION ALL SELECT NULL, proacl FROM pg_proc WHERE pronamespace = 'l4'::regnamespace",
	(map { ("rows of $_" => "SELECT * FROM l4.$_") } @shipped));
$objects{'rows of fault'} = "SELECT to_jsonb(f) - 'confirmed_at' FROM l4.fault AS f";
$objects{'rows of fault_condition'} = 'SELECT to_jsonb(c) - \'condition_id\' FROM l4.fault_condition AS c';
same_rows($updated, $fresh, 'objects, rights and shipped rows as freshly installed', @objects{ sort keys %objects });

# answers: a diagnosis of the rows of before, and one after more lines came
my @answers = ("SELECT r FROM l4.report('job-17') AS r WHERE r NOT LIKE 'diagnosed %'", "SELECT length(l4.report_html('job-17'))",
	"SELECT to_jsonb(d) - 'diagnosed_at' FROM l4.diagnosis AS d", "SELECT * FROM l4.suspect_node", "SELECT * FROM l4.compare('job-17')", "SELECT * FROM l4.fault_problem",
	"SELECT * FROM l4.match_faults('job-17')");
foreach my $more (0, 1)
{
	foreach my $database ('updated', 'fresh')
	{
		$node->safe_psql($database, q{
			INSERT INTO logs (job_id, node, source, line_no, ts, line) SELECT 'job-17', 'node04', source, max(line_no) + 1, max(ts), 'one more line of 7 words, says node04'
			FROM logs WHERE job_id = 'job-17' AND node = 'node04' GROUP BY source;
			CALL l4.ingest('logs')}) if $more;
		$node->safe_psql($database, "SELECT l4.diagnose('job-17')");
	}
	same_rows($updated, $fresh, $more ? 'answers after more lines' : 'answers after the update', @answers, 'SELECT * FROM l4.event_line');
}
isnt($node->psql('updated', 'DELETE FROM l4.fault WHERE fault_id < 1000000', stderr => \my $err), 0, 'shipped rows are guarded again');
is($node->safe_psql('updated', "INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('mine too', 'eval', '^more', 90) RETURNING rule_id"),
	$node->safe_psql('fresh', "INSERT INTO l4.stage_rule (name, stage, signature, priority) VALUES ('mine too', 'eval', '^more', 90) RETURNING rule_id"),
	'the next rule of a user gets the id that it gets there');
$node->stop;
done_testing();
