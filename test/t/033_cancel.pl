# What reads one large value, or a large job, stops soon after it was cancelled, or is done by then.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'no /proc' unless -e '/proc/self/stat';

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION l4;
-- processor time, which other work on the machine does not change
CREATE FUNCTION cpu_seconds() RETURNS float8 LANGUAGE sql AS $f$
	SELECT (f[14]::float8 + f[15]::float8) / 100
	FROM string_to_array(regexp_replace(pg_read_file('/proc/self/stat'), '\(.*\)', 'x'), ' ') AS f
$f$});

# what is made of 20 MB of text
my %large = (
	'event_vector of spaces' => [ q('{' || repeat(' ', 20000000) || '}'), 'v::l4.event_vector' ],
	'event_vector of one number' => [ q('{' || repeat('1', 20000000) || ':1}'), 'v::l4.event_vector' ],
	'event_vector of jsonb' => [ q((SELECT '{' || string_agg(format('"%s": 1', i), ',') || '}' FROM generate_series(1, 100000) AS i)), 'v::jsonb::l4.event_vector' ],
	'event_vector out' => [ q((SELECT l4.event_vector_agg(i)::text FROM generate_series(1, 400000) AS i)), 'length(v::l4.event_vector::text)' ],
	'iforest of one byte' => [ q('\x' || repeat('01', 10000000)), 'v::l4.iforest' ],
	'parse a word' => [ q(repeat('x', 20000000)), 'l4.parse(v)' ],
	'parse numbers' => [ q(repeat('12 ', 6400000)), 'l4.parse(v)' ],
	'parse escapes' => [ q('{"msg":"' || repeat('\n\u0041', 2400000) || '"}'), 'l4.parse(v)' ],
	'parse members' => [ q('{' || repeat('"a":[1,{"b":2}],', 1200000) || '"msg":"x"}'), 'l4.parse(v)' ],
	'parse an array' => [ q('{"a":[' || repeat('1,', 10000000) || '1],"msg":"x"}'), 'l4.parse(v)' ],
	'parse logfmt' => [ q('level=info ' || repeat('a=b ', 4800000) || 'msg=x'), 'l4.parse(v)' ],
	'parse colours' => [ q(repeat(E'\e[31mx', 3200000)), 'l4.parse(v)' ],
	'parse carriage returns' => [ q(repeat(E'20%|#| 1/5 [00:01\r', 1000000) || 'x'), 'l4.parse(v)' ],
	'parse lines' => [ q(E'Traceback (most recent call last):\n' || repeat(E'ValueError: x\n', 1400000)), 'l4.parse(v)' ],
	'mask blanks' => [ q('x' || repeat(' ', 20000000)), 'length(l4.mask(v))' ],
	'mask labels' => [ q(repeat('a-b.c_1/', 2400000)), 'length(l4.mask(v))' ],
	'mask a word' => [ q(repeat('x', 20000000)), 'length(l4.mask(v))' ],
	'mask numbers' => [ q(repeat('1 ', 10000000)), 'length(l4.mask(v))' ],
	'mask addresses' => [ q(repeat('10.0.0.1:8080 /a/b/c.py 0x7f ', 700000)), 'length(l4.mask(v))' ],
	'stack_frames' => [ q(E'Traceback (most recent call last):\n' || repeat(E'  File "a.py", line 5, in f\n    g()\n', 500000) || 'ValueError: x'),
		'(SELECT count(*) FROM l4.stack_frames(v))' ],
	'pcre_match' => [ q(repeat('ab', 10000000)), q(l4.pcre_match(v, '(a|b)*c$')) ]);

# a job of many iterations, nodes and new events; and a flow table
$node->safe_psql('postgres', q{
SET client_min_messages = warning;
SELECT l4.create_log_table('logs');
INSERT INTO logs (job_id, node, line_no, ts, line)
SELECT 'j', 'n' || n, i, timestamptz '2026-01-01' + i * interval '1 s', CASE WHEN i % 20 = 0 THEN 'ERROR lost ' || md5((n * i)::text)
	ELSE format('iteration %s/4000 | elapsed time per iteration (ms): 99%s.0 | lm loss: 5.1', i, i % 9) END
FROM generate_series(1, 8) AS n, generate_series(1, 4000) AS i;
CALL l4.ingest('logs');
SELECT l4.diagnose('j');
CREATE TABLE export AS SELECT array(SELECT l4.export_job('j')) AS parts;
SELECT l4.create_flow_table('flows');
INSERT INTO flows (ip_src, ip_dst, port_src, port_dst, ip_proto, packets, bytes, timestamp_start, timestamp_end)
SELECT ('10.0.0.' || 1 + i % 64)::inet, ('10.0.1.' || 1 + i * 7 % 64)::inet, 50000 + i % 4, 4791, 17, 5000, 20000000,
	timestamptz '2026-03-01' + i / 64 * interval '0.1 s', timestamptz '2026-03-01' + i / 64 * interval '0.1 s' + interval '10 ms'
FROM generate_series(0, 80000) AS i;
});
# what is done before, and the call
my $ready = q(CALL l4.ingest('logs'); SELECT l4.diagnose('j'));
my %calls = (
	'ingest' => [ 'DELETE FROM l4.job', q(CALL l4.ingest('logs')) ],
	'diagnose' => [ q(CALL l4.ingest('logs'); DELETE FROM l4.diagnosis), q(SELECT l4.diagnose('j')) ],
	'match_faults' => [ $ready, q(SELECT l4.match_faults('j')) ],
	'test_fault' => [ $ready, q(SELECT l4.test_fault('lost (\w+)')) ],
	'report' => [ $ready, q(SELECT l4.report('j')) ],
	'report_html' => [ $ready, q(SELECT l4.report_html('j')) ],
	'lines' => [ $ready, q(SELECT l4.lines('j')) ],
	'line_counts' => [ $ready, q(SELECT l4.line_counts('j', '1 s')) ],
	'iterations' => [ $ready, q(SELECT l4.iterations('j')) ],
	'iteration_times' => [ $ready, q(SELECT l4.iteration_times('j', '1 s')) ],
	'event_line' => [ $ready, q(SELECT count(*) FROM l4.event_line) ],
	'export_job' => [ $ready, q(SELECT l4.export_job('j')) ],
	'import_job' => [ q(SELECT l4.forget_job('j')), q(SELECT l4.import_job(parts) FROM export) ],
	'forget_templates' => [ 'DELETE FROM l4.job', q(SELECT l4.forget_templates()) ],
	'trace_flows' => [ '', q(CALL l4.trace_flows('flows')) ]);
for my $name (sort keys %large)
{
	my ($value, $call) = @{ $large{$name} };
	$calls{$name} = [ "CREATE TEMP TABLE large AS SELECT ($value)::text AS v; ALTER TABLE large ALTER v SET STORAGE EXTERNAL",
		"SELECT $call FROM large" ];
}

# one after the other, since some go on with what those before them left
for my $name (sort keys %calls)
{
	my ($before, $call) = @{ $calls{$name} };
	my ($out, $error);
	$node->psql('postgres', qq(
		SET client_min_messages = error;
		$before;
		SELECT cpu_seconds() AS began \\gset
		SET statement_timeout = '120ms';
		$call \\g /dev/null
		SET statement_timeout = 0;
		SELECT 'took ' || (cpu_seconds() - :began);), stdout => \$out, stderr => \$error, on_error_stop => 0);
	my ($took) = $out =~ /^took (.*)$/m;
	# done is also to have read a large value to the end and refused it
	like($error, qr/^$|statement timeout|ERROR:  (?:event id of an event_vector is out of range|invalid input syntax for type iforest)/,
		"$name is done or cancelled");
	cmp_ok($took, '<=', 0.32, "$name is cancelled within a fifth of a second");
}

$node->stop;
done_testing();
