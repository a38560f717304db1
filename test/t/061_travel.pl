# Jobs that travel: exported, imported, merged. A job that was put together is the one that was read in one place.
use strict;
use warnings;
use lib 'test/lib';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SameRows;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "timezone = 'UTC'");
$node->start;

# what must be the same, by names and texts instead of numbers
my @rows = (
	q{SELECT c.job_id, c.node, e.level, e.template, c.occurrences, c.first_ts, c.last_ts, c.first_line_no, c.last_line_no
		FROM l4.event_count c JOIN l4._event e USING (event_id)},
	q{SELECT j.job_id, e.level, e.template, j.occurrences, j.nodes, j.first_ts, j.last_ts, j.first_node, j.first_source, j.first_line_no, j.example
		FROM l4._job_event j JOIN l4._event e USING (event_id)},
	q{SELECT l.job_id, l.node, l.source, l.line_no, l.record_line_no, l.ts, l.rank, l.level, e.template, l.stage, l.iteration
		FROM l4.event_line l JOIN l4._event e USING (event_id)},
	q{SELECT j.job_id, v.node, e.template, v.slot, v.mask, v.value, v.occurrences FROM l4.job j, l4._slot_values(j.job_id, NULL) v JOIN l4._event e USING (event_id)},
	q{SELECT job_id, node, rank, addresses FROM l4.job_node},
	q{SELECT job_id, settings, status, expected_nodes FROM l4.job},
	q{SELECT job_id, node, source, lines, tail_lines, seen, tail, next_line_no, ranks, first_ts, last_ts, last_iteration FROM l4._stream},
	q{SELECT i.* FROM l4.iteration i},
	q{SELECT d.job_id, d.symptom, d.stage, d.iteration, d.summary FROM l4.diagnosis d},
	q{SELECT s.job_id, s.rank, s.node, s.score, s.reasons FROM l4.suspect_node s});

# to create the extension takes longer than to copy a database that has it
$node->safe_psql('postgres', 'CREATE DATABASE clean');
$node->safe_psql('clean', 'CREATE EXTENSION l4');

sub database
{
	my ($name) = @_;
	$node->safe_psql('postgres', $_) foreach "DROP DATABASE IF EXISTS $name", "CREATE DATABASE $name TEMPLATE clean";
	return;
}

# rows of a query on one database into table part of another one
sub send_rows
{
	my ($from, $to, $query) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$from-$to";
	$node->safe_psql($to, 'DROP TABLE IF EXISTS part; CREATE TABLE part (part bytea)');
	$node->safe_psql($from, "COPY ($query) TO '$file' (FORMAT binary)");
	$node->safe_psql($to, "COPY part FROM '$file' (FORMAT binary)");
	return;
}

sub take_job
{
	my ($from, $to, $arguments) = @_;
	send_rows($from, $to, "SELECT l4.export_job($arguments)");
	return $node->safe_psql($to, 'SELECT * FROM l4.import_job((SELECT array_agg(part ORDER BY part) FROM part))');
}

sub take_model
{
	my ($from, $to) = @_;
	send_rows($from, $to, 'SELECT l4.export_model()');
	return $node->safe_psql($to, 'SELECT l4.import_model((SELECT array_agg(part) FROM part))');
}

# a good job and a failed one of six nodes; words vary by node, so that templates grow
my $lines = q{
	SELECT job, 'n' || n AS node, s AS source, n AS rank, i::bigint AS line_no, '2026-03-01 10:00:00+00'::timestamptz + i * interval '1 s' AS ts,
		CASE WHEN job = 'bad' AND i > 150 THEN CASE WHEN n = 2 THEN 'ERROR: the disk of this node is gone' ELSE 'ERROR: waiting for rank 2 timed out' END
			WHEN i % 5 = 0 THEN format('iteration %s/60 | elapsed time per iteration (ms): 1000.%s | lm loss: 2.5E+00', i / 5, i % 7)
			WHEN i % 5 = 1 THEN format('loader of shard %s opened with policy %s', i % 4, (ARRAY['eager', 'lazy', 'direct', 'mapped', 'cached', 'plain'])[n + 1])
			WHEN i % 5 = 2 THEN format('[WARNING] storage: attempt %s of peer node%s was slow', i % 3, n)
			WHEN i % 5 = 3 AND i % 4 = 0 THEN E'Traceback (most recent call last):'
			ELSE format('worker %s took buffer %s of %s', n, i % 9, (ARRAY['alpha', 'beta', 'gamma'])[i % 3 + 1]) END AS line
	FROM unnest(ARRAY['good', 'bad']) AS job, generate_series(0, 5) AS n, unnest(ARRAY['', 'err']) AS s, generate_series(1, 200) AS i
	WHERE s = '' OR i < 30};

sub read_lines
{
	my ($database, $where) = @_;
	$node->safe_psql($database, "SELECT l4.create_log_table('logs')") if $node->safe_psql($database, "SELECT to_regclass('logs') IS NULL") eq 't';
	$node->safe_psql($database, "INSERT INTO logs (job_id, node, source, rank, line_no, ts, line) SELECT * FROM ($lines) AS l WHERE $where");
	$node->safe_psql($database, q{INSERT INTO l4.job (job_id, settings, status) VALUES ('good', 's', 'succeeded'), ('bad', 's', 'failed') ON CONFLICT DO NOTHING});
	$node->safe_psql($database, "CALL l4.ingest('logs')");
	return;
}

sub diagnosed
{
	my ($database, $options) = (@_, '{}');
	$node->safe_psql($database, "SELECT FROM l4.diagnose('bad', options => '$options')");
	return $database;
}

database($_) foreach qw(whole one two three home apart late);
read_lines('whole', 'true');
diagnosed('whole');

# to a server that knows nothing, whole, and once more
like(take_job('whole', 'home', "'good'"), qr/^good\|12\|0\|[1-9]/, 'a job is imported');
like(take_job('whole', 'home', "'bad'"), qr/^bad\|12\|0\|/, 'and another one');
same_rows([ $node, diagnosed('home') ], [ $node, 'whole' ], 'they are the same', @rows);
my $before = $node->safe_psql('home', 'SELECT md5(string_agg(p::text, chr(10) ORDER BY pack_id, part)) FROM l4._pack p');
is(take_job('whole', 'home', "'bad'"), 'bad|0|12|0', 'a second import changes nothing');
is($node->safe_psql('home', 'SELECT md5(string_agg(p::text, chr(10) ORDER BY pack_id, part)) FROM l4._pack p'), $before, 'not a byte');

# nodes apart: the same model on all servers; then none
foreach my $seeded (1, 0)
{
	my @parts = qw(one two three);
	my $to = $seeded ? 'home' : 'apart';
	if ($seeded)
	{
		database('home');
		take_model('whole', $_) foreach @parts, 'home';
	}
	else
	{
		database($_) foreach @parts;
	}
	read_lines($parts[$_], "substr(node, 2)::int % 3 = $_") foreach 0 .. 2;
	foreach my $job ('good', 'bad')
	{
		is((split /\|/, take_job($_, $to, "'$job'"))[1], 4, "nodes of $job on $_ are imported") foreach @parts;
	}
	is($node->safe_psql($to, 'SELECT count(*) FROM l4._event'), $node->safe_psql('whole', 'SELECT count(*) FROM l4._event'), 'no event is new') if $seeded;
	same_rows([ $node, diagnosed($to) ], [ $node, 'whole' ], $seeded ? 'with one model they make the whole' : 'without one, too', @rows);
}

# of one server nodes alone, and lines that come afterwards
take_model('one', 'late');
read_lines('late', 'line_no <= 77');
take_job('late', 'late', "'bad'");
database('two');
is((split /\|/, take_job('late', 'two', "'bad', nodes => '{n1,n2}'"))[1], 4, 'some nodes are imported');
is((split /\|/, take_job('late', 'two', "'bad'"))[1], 8, 'then the others');
take_job('late', 'two', "'good'");
read_lines('two', 'true');
same_rows([ $node, diagnosed('two') ], [ $node, 'whole' ], 'reading goes on where the sender stopped', @rows);
like(take_job('late', 'two', "'bad'"), qr/^bad\|0\|12\|/, 'what was read further stays');
like(take_job('two', 'late', "'bad'"), qr/^bad\|6\|6\|/, 'and takes the place of what was not');
take_job('two', 'late', "'good'");
same_rows([ $node, diagnosed('late') ], [ $node, 'whole' ], 'wholly', @rows);

# parts
database('three');
is((split /\|/, take_job('whole', 'three', "'$_', 'baseline'"))[1], 12, "$_ as a baseline") foreach 'good', 'bad';
is((split /\|/, take_job('whole', 'three', "'bad', 'summary'"))[1], 12, 'a summary takes its place');
is($node->safe_psql('three', 'SELECT count(*) FROM l4.event_line'), '0', 'without lines');
# of lines alone: what came all along
my $without = '{"along_parts": 1000}';
same_rows([ $node, diagnosed('three', $without) ], [ $node, diagnosed('whole', $without) ], 'the diagnosis is the same',
	map { "SELECT x.* FROM ($_) AS x WHERE job_id = 'bad'" } @rows[ 0, 1, 3, 7, 8, 9 ]);
diagnosed('whole');
is((split /\|/, take_job('whole', 'three', "'bad', 'baseline'"))[2], 12, 'a baseline takes the place of nothing else');
is((split /\|/, take_job('whole', 'three', "'bad'"))[1], 12, 'all takes the place of a summary');

# a server whose events are others, under the same numbers
database('other');
$node->safe_psql('other', q{SELECT l4.create_log_table('logs'); INSERT INTO logs (job_id, node, source, line_no, ts, line)
	SELECT 'own', 'n', '', i, now(), CASE i % 4 WHEN 0 THEN 'cache ' || i || ' filled' WHEN 1 THEN 'queue of lane ' || i || ' drained'
		WHEN 2 THEN 'route ' || i || ' chosen over ' || i * 7 ELSE 'token ' || i || ' was refused' END FROM generate_series(1, 80) AS i;
	CALL l4.ingest('logs')});
my $own = "SELECT string_agg(concat_ws('|', e.template, c.occurrences), ',' ORDER BY e.template) FROM l4.event_count AS c JOIN l4.template AS e USING (event_id) WHERE c.job_id = 'own'";
my $own_before = $node->safe_psql('other', $own);
like(take_job('whole', 'other', "'good'"), qr/^good\|12\|0\|[1-9]/, 'it learns events of others');
like(take_job('whole', 'other', "'bad'"), qr/^bad\|12\|0\|\d/, 'of each job');
same_rows([ $node, diagnosed('other') ], [ $node, 'whole' ], 'among events of others it is the same',
	map { "SELECT x.* FROM ($_) AS x WHERE job_id IN ('good', 'bad')" } @rows);
is($node->safe_psql('other', $own), $own_before, 'and so are those');

# as a file, by the commands of the documents
my $file = PostgreSQL::Test::Utils::tempdir() . '/job.l4';
my @psql = ('psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d');
database('two');
command_ok([ @psql, $node->connstr('whole'), '-o', $file, '-c', q{COPY (SELECT l4.export_job('bad')) TO STDOUT (FORMAT binary)} ], 'psql writes a job to a file');
command_like([ @psql, $node->connstr('two'), '-c', 'CREATE TABLE incoming (part bytea)', '-c', "\\copy incoming FROM $file (FORMAT binary)",
	'-c', 'SELECT streams_imported, streams_kept FROM l4.import_job((SELECT array_agg(part) FROM incoming))' ], qr/^12\|0$/m, 'and takes it in from there');

# rights
$node->safe_psql('two', "CREATE ROLE no_one; CREATE ROLE some_reader; SELECT l4.grant_access('some_reader', 'reader'); GRANT SELECT ON incoming TO PUBLIC");
foreach (["SELECT l4.export_job('bad')", 'no_one', 'export'], ['SELECT l4.import_job((SELECT array_agg(part) FROM incoming))', 'some_reader', 'import'])
{
	my ($statement, $role, $what) = @$_;
	my ($status, $out, $err) = $node->psql('two', "SET ROLE $role; $statement");
	ok($status != 0 && $err =~ /permission denied/, "$role may not $what") or diag("status $status: $err");
}
done_testing();
