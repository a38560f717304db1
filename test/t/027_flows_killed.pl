# trace_flows survives SIGKILL between and within windows and spans: the next call goes on, and finds what one call finds.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use IPC::Run qw(start finish);
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "timezone = 'UTC'\nrestart_after_crash = on");
$node->start;
# all that is found and all that is packed, without what says when and how
my $answer = q{
	SELECT md5(string_agg(x.row, ' ' ORDER BY x.row COLLATE "C")) FROM (
		SELECT j::text AS row FROM l4.flow_job AS j UNION ALL SELECT m::text FROM l4.flow_member AS m
		UNION ALL SELECT p::text FROM l4.flow_pair AS p UNION ALL SELECT s::text FROM l4.flow_step AS s
		UNION ALL SELECT n::text FROM l4.flow_step_nic AS n UNION ALL SELECT i::text FROM l4.flow_issue AS i
		UNION ALL SELECT sum(c.records)::text FROM l4._flow_chunk AS c
		UNION ALL SELECT concat(q.rows_read, ' ', q.duplicate, ' ', q.late) FROM l4.flow_progress AS q) AS x};
my $made = slurp_file('sql/include/made_flows.sql');
sub fresh
{
	my ($db, $slow_rows) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, qq{
		CREATE EXTENSION l4 CASCADE;
		SELECT l4.create_flow_table('kept');
		SELECT l4.create_flow_table('flows');
		$made
		CALL made_inventory(12);
		CALL made_job(0, 100, 300, period => 5);
		CALL made_job(6, 500, 60, dp => 4, stages => 1, period => 4);
		CALL made_job(6, 1200, 60, dp => 4, stages => 1, period => 4);
		ALTER TABLE flows RENAME TO rows;
		-- some rows take time, and so does writing what was found
		CREATE VIEW flows AS SELECT r.* FROM rows AS r
		WHERE CASE WHEN hashint8(r.bytes + extract(microseconds FROM r.timestamp_start)::bigint) % 100 < $slow_rows
			THEN (SELECT true FROM pg_sleep(0.00002 + 0 * r.bytes)) ELSE true END;
	});
}

fresh('whole', -100);
$node->safe_psql('whole', q{CALL l4.trace_flows('flows', parameters => '{"window_s": 100}')});
my $whole = $node->safe_psql('whole', $answer);
is($node->safe_psql('whole', 'SELECT count(*), sum(runs) FROM l4.flow_job'), '2|3', 'jobs are found');

fresh('killed', -92);
$node->safe_psql('killed', q{
	CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$;
	CREATE TRIGGER slowly AFTER INSERT ON l4._flow_stint FOR EACH ROW EXECUTE FUNCTION slowly();
});
# when to kill: some windows are read; more of them, in the midst of one; the first span is analyzed; a later one
my @moments = (
	q{SELECT count(*) > 0 FROM l4.flow_progress WHERE last_ts > at(400)},
	q{SELECT count(*) > 0 FROM l4.flow_progress WHERE last_ts > at(900)},
	q{SELECT count(*) > 0 FROM l4._flow_span WHERE NOT changed},
	q{SELECT count(*) > 1 FROM l4._flow_span WHERE NOT changed});
my $kills = 0;
for my $moment (@moments)
{
	my ($o, $e) = ('', '');
	my $h = start ['psql', '-X', '-d', $node->connstr('killed'), '-c', q{CALL l4.trace_flows('flows', parameters => '{"window_s": 100}')}],
	  '<', \'', '>', \$o, '2>', \$e;
	$node->poll_query_until('killed', $moment) or last;
	usleep(20_000);
	my $pid = $node->safe_psql('killed', q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL l4.trace_flows%'});
	last if $pid eq '';
	kill 'KILL', $pid;
	eval { finish $h; };
	# the server ends all others, recovers from its log, and comes back
	$node->poll_query_until('killed', 'SELECT true') or last;
	$kills++;
}
is($kills, scalar @moments, 'the server was killed at each moment');
isnt($node->safe_psql('killed', $answer), $whole, 'something is left to do');
$node->safe_psql('killed', q{CALL l4.trace_flows('flows', parameters => '{"window_s": 100}')});
is($node->safe_psql('killed', $answer), $whole, 'the next call finds what one call finds');
$node->stop;
done_testing();
