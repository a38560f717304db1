# A hot standby reads all that the primary has read and found; what would write says so. A table of logs that comes by logical replication is a source like any.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use lib 'test/lib';
use SameRows;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 'logical', extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
# a vacuum of the primary may cancel what the standby reads
$primary->append_conf('postgresql.conf', "timezone = 'UTC'\nautovacuum = off");
$primary->start;
$primary->safe_psql('postgres', 'CREATE DATABASE training');
my ($out, $err);
IPC::Run::run([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', $primary->host, '-p', $primary->port, '-d', 'training', '-f', 'test/demo.sql' ], '>', \$out, '2>', \$err)
	or die $err;
unlink 'l4-report-job-17.html';

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->safe_psql('training', "SELECT l4.diagnose('job-17')");
$primary->wait_for_catchup($standby);

# every view, and the functions that read
my $event = $primary->safe_psql('training', "SELECT event_id FROM l4.suspect_event WHERE job_id = 'job-17' AND rank = 1");
my @views = split /\n/, $primary->safe_psql('training', "SELECT viewname FROM pg_views WHERE schemaname = 'l4' ORDER BY 1");
cmp_ok(scalar(@views), '>', 10, 'there are views');
my @functions = ("report('job-17')", "report_html('job-17')", "compare('job-17')", "event_lines('job-17', $event)", "event_parameters('job-17', $event)",
	"parse('2026-03-01 10:00:00 [INFO] [rank 3] step 5')", "test_fault('link state changed')", "export_faults()");
same_rows([ $standby, 'training' ], [ $primary, 'training' ], 'they read on a standby', map { "SELECT x::text FROM l4.$_ AS x" } @views, @functions);
my %write = (
	"CALL l4.ingest('logs')" => 'ingest',
	"SELECT l4.diagnose('job-17')" => 'diagnose',
	"SELECT * FROM l4.match_faults('job-17')" => 'match_faults',
	"SELECT l4.confirm_fault('job-17', name => 'n', root_cause => 'r', remedy => 'r')" => 'confirm_fault',
	q{SELECT l4.import_faults('{"format": "l4 faults", "version": 1, "faults": [{"name": "f", "category": "hardware", "component": "network", "signature": "link down",
		"root_cause": "r", "remedy": "r"}]}')} => 'import_faults',
	"SELECT l4.create_log_table('more')" => 'create_log_table',
	"SELECT l4.forget_job('job-17')" => 'forget_job');
foreach my $statement (sort keys %write)
{
	isnt($standby->psql('training', $statement, stderr => \$err), 0, "$write{$statement} fails on a standby");
	like($err, qr/ERROR:  cannot execute [A-Z ]+ (?:during recovery|in a read-only transaction)/, 'and says why');
}

# logs that come by logical replication, into a server that reads them by itself
my $reader = PostgreSQL::Test::Cluster->new('reader');
$reader->init(allows_streaming => 'logical', extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$reader->append_conf('postgresql.conf', "timezone = 'UTC'");
$reader->start;
$reader->safe_psql('postgres', "CREATE EXTENSION l4; SELECT l4.create_log_table('logs')");
$primary->safe_psql('training', 'CREATE PUBLICATION lines FOR TABLE logs');
$reader->safe_psql('postgres', sprintf(q{CREATE SUBSCRIPTION lines CONNECTION 'host=%s port=%s dbname=training' PUBLICATION lines}, $primary->host, $primary->port));
my $all = $primary->safe_psql('training', 'SELECT count(*) FROM logs');
$reader->poll_query_until('postgres', "SELECT count(*) = $all FROM logs");
$reader->safe_psql('postgres', "CALL l4.ingest('logs')");
my $lines = 'SELECT count(*), count(DISTINCT (job_id, node, source, line_no)) FROM l4.event_line';
is($reader->safe_psql('postgres', $lines), $primary->safe_psql('training', $lines), 'a subscriber reads each line once');
$reader->safe_psql('postgres', 'DROP SUBSCRIPTION lines');
$_->stop foreach $reader, $standby, $primary;
done_testing();
