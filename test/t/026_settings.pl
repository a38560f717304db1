# The settings of a session and of a server change neither what is stored of a job nor what is said of it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use lib 'test/lib';
use SameRows;

my $node = PostgreSQL::Test::Cluster->new('settings');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
# statistics are what each case says
$node->append_conf('postgresql.conf', "timezone = 'UTC'\nautovacuum = off\nfsync = off");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE loaded');
$node->safe_psql('loaded', q{
	CREATE EXTENSION l4;
	SELECT l4.create_log_table('logs');
	COPY logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc %s/job-12.csv.gz' CSV HEADER;
	COPY logs (job_id, node, rank, line_no, ts, line) FROM PROGRAM 'gzip -dc %s/job-17.csv.gz' CSV HEADER;
	DELETE FROM logs WHERE node > 'node05';
	INSERT INTO l4.job (job_id, settings, status) VALUES ('job-12', 'lm', 'succeeded'), ('job-17', 'lm', 'failed')}
	=~ s/%s/require Cwd; Cwd::getcwd() . '\/test\/data'/ger);

my @tables = (
	map { "SELECT to_jsonb(t) - 'diagnosed_at' - 'matched_at' - 'updated_at' AS r FROM l4.$_ AS t" }
	  qw(diagnosis suspect_node suspect_event suspect_iteration fault_match template event_count event_line iteration stage_span
	  job_node _event_slot _job_event));

# in which cases times are told in another zone
my @cases = (
	[ 'the default', '' ],
	[ 'no JIT, little memory', '-c jit=off -c work_mem=64kB -c maintenance_work_mem=1MB' ],
	[ 'generic plans, no workers', '-c plan_cache_mode=force_generic_plan -c max_parallel_workers_per_gather=0' ],
	[ 'workers everywhere, another search path',
		'-c max_parallel_workers_per_gather=8 -c parallel_setup_cost=0 -c parallel_tuple_cost=0 -c min_parallel_table_scan_size=0 '
		  . '-c search_path=pg_temp,public' ],
	[ 'another zone', '-c TimeZone=Asia/Kathmandu -c default_transaction_isolation=repeatable\ read' ],
	[ 'other forms of times and numbers, serializable',
		'-c DateStyle=SQL,DMY -c IntervalStyle=iso_8601 -c extra_float_digits=-10 -c bytea_output=escape '
		  . '-c default_transaction_isolation=serializable -c plan_cache_mode=force_custom_plan' ]);
my $said;
for my $n (0 .. $#cases)
{
	my ($name, $options) = @{ $cases[$n] };
	my $database = "case_$n";
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE loaded");
	# each statement in a session of its own, as a pool may hand them out
	local $ENV{PGOPTIONS} = "$options -c client_min_messages=warning";
	$node->safe_psql($database, q{CALL l4.ingest('public.logs')});
	$node->safe_psql($database, q{SELECT FROM l4.diagnose('job-17')});
	my $report = $node->safe_psql($database, q{SELECT r FROM l4.report('job-17') AS r WHERE r NOT LIKE 'diagnosed %'});
	$ENV{PGOPTIONS} = '';
	$said = $report if $n == 0;
	same_rows([ $node, $database ], [ $node, 'case_0' ], "$name: the same is stored", @tables) if $n > 0;
	same_text($report, $said, "$name: the same is said") if $n > 0 && $name ne 'another zone';
	$node->safe_psql('postgres', "DROP DATABASE $database") if $n > 0;
}
like($said, qr/^HANG in stage train/m, 'and it is right');
$node->stop;
done_testing();
