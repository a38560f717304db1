# Parsers travel byte for byte and are used by parallel workers; damaged bytes and hostile lines do no harm; drain is Drain3.
use strict;
use warnings;
no warnings 'portable';    # 64-bit constants
use Cwd qw(abs_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_parallel_workers_per_gather = 2\nmin_parallel_table_scan_size = 0\nparallel_setup_cost = 0\nparallel_tuple_cost = 0");
$node->start;
my $dir = abs_path(PostgreSQL::Test::Utils::tempdir);
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION l4;
CREATE FUNCTION public.parser_learn(parser l4.parser, tags integer[], messages text[], counts bigint[]) RETURNS l4.parser
LANGUAGE c STRICT AS '$libdir/l4', 'l4_parser_learn_sql';
CREATE TABLE log (k int, line text);
INSERT INTO log SELECT g, CASE g % 4 WHEN 0 THEN 'step ' || g || ' took ' || g * 1.5 || ' ms' WHEN 1 THEN 'rank ' || g % 64 || ' of host-' || g % 8 || ' joined'
	WHEN 2 THEN 'worker ' || translate((g % 97)::text, '0123456789', 'abcdefghij') || ' left the group of the trainer' ELSE 'saved /ckpt/' || g END FROM generate_series(1, 20000) g;
ANALYZE log;
CREATE TABLE kept (id int, p l4.parser);
INSERT INTO kept SELECT 1, l4.parser_train(line ORDER BY k) FROM log;
INSERT INTO kept SELECT 2, l4.parser_train(line, '{"algorithm": "drain", "masks": [], "max_clusters": 50}' ORDER BY k) FROM log;
INSERT INTO kept SELECT 3, l4.parser_train(line, '{"masks": [{"name": "HOST", "pattern": "host-\\\\d"}, "builtin"]}' ORDER BY k) FROM log;
INSERT INTO kept VALUES (4, NULL), (5, l4._parser_new());
});
my $digest = q(SELECT md5(string_agg(id || coalesce(l4.parser_send(p)::text, 'null'), ',' ORDER BY id)) FROM %s);

sub slurp { open(my $fh, '<:raw', $_[0]) or die $!; local $/; my $data = <$fh>; close $fh; return $data; }
sub spew { open(my $fh, '>:raw', $_[0]) or die $!; print $fh $_[1]; close $fh; return; }

# binary and text COPY, storage, dump
my $expected = $node->safe_psql('postgres', sprintf($digest, 'kept'));
$node->safe_psql('postgres', "COPY kept TO '$dir/kept.bin' (FORMAT binary); CREATE TABLE kept_copy (LIKE kept); COPY kept_copy FROM '$dir/kept.bin' (FORMAT binary)");
is($node->safe_psql('postgres', sprintf($digest, 'kept_copy')), $expected, 'binary COPY, byte for byte');
$node->safe_psql('postgres', "COPY kept TO '$dir/kept.txt'; TRUNCATE kept_copy; COPY kept_copy FROM '$dir/kept.txt'");
is($node->safe_psql('postgres', sprintf($digest, 'kept_copy')), $expected, 'text COPY');
for my $storage (qw(external extended main))
{
	$node->safe_psql('postgres', "TRUNCATE kept_copy; ALTER TABLE kept_copy ALTER p SET STORAGE $storage; INSERT INTO kept_copy SELECT id, p::text::l4.parser FROM kept");
	is($node->safe_psql('postgres', sprintf($digest, 'kept_copy')), $expected, "storage $storage");
	is($node->safe_psql('postgres', 'SELECT sum(l4.parser_match(p, line)) FROM kept_copy, log WHERE id = 1'),
		$node->safe_psql('postgres', 'SELECT sum(l4.parser_match(p, line)) FROM kept, log WHERE id = 1'), "the same events, storage $storage");
}
is($node->safe_psql('postgres', q(SELECT count(DISTINCT l4.parser_match(p, 'rank 5 of host-3 joined')) FROM (SELECT p FROM kept WHERE id = 1 UNION ALL SELECT p::text::l4.parser FROM kept WHERE id = 1) s)),
	'1', 'one answer from a stored and a computed parser');
is($node->safe_psql('postgres', q(SELECT string_agg(l4.parser_match(p, line)::text, ',' ORDER BY id) IS NOT NULL FROM kept, (SELECT line FROM log WHERE k = 8) l WHERE id IN (1, 2, 3))),
	't', 'several parsers at one call site');

# every learnt line has its event: counts by event are the occurrences
for my $id (1 .. 3)
{
	is( $node->safe_psql('postgres', "SELECT count(*) FROM (SELECT l4.parser_match(p, line) AS e, count(*) AS n FROM kept, log WHERE id = $id GROUP BY 1) m FULL JOIN (SELECT event_id, occurrences FROM kept, l4.parser_templates(p) WHERE id = $id) t ON e = event_id WHERE n IS DISTINCT FROM occurrences"),
		'0', "parser $id: occurrences are the matches of the lines learnt");
}

# parallel workers match
like($node->safe_psql('postgres', 'EXPLAIN SELECT sum(l4.parser_match((SELECT p FROM kept WHERE id = 1), line)) FROM log'), qr/Partial Aggregate/, 'workers match');
is($node->safe_psql('postgres', 'SELECT sum(l4.parser_match((SELECT p FROM kept WHERE id = 1), line)) FROM log'),
	$node->safe_psql('postgres', 'SET max_parallel_workers_per_gather = 0; SELECT sum(l4.parser_match((SELECT p FROM kept WHERE id = 1), line)) FROM log'),
	'workers and leader agree');
like($node->safe_psql('postgres', 'EXPLAIN SELECT l4.parser_train(line) FROM log'), qr/^Aggregate/m, 'training is no partial aggregate');

# damaged values: every truncation and many mutations, with the checksum made to fit, are refused or harmless
my $fuzz = q{
CREATE FUNCTION pg_temp.try(value bytea) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM count(*) FROM l4.parser_templates(('l4:' || encode(value, 'hex'))::l4.parser);
	RETURN 'read';
EXCEPTION WHEN invalid_text_representation OR data_corrupted OR invalid_parameter_value OR invalid_regular_expression OR program_limit_exceeded THEN
	RETURN SQLSTATE;
END $$;
CREATE TEMP TABLE good AS SELECT id, l4.parser_send(p) AS b FROM (SELECT 1 AS id, l4.parser_train(x) AS p FROM unnest(ARRAY['a b 1', 'a c 2', 'link eth0 up', 'link eth1 up', 'x (7)']) x
	UNION ALL SELECT 2, l4.parser_train(x, '{"algorithm": "drain", "masks": [], "depth": 5}') FROM unnest(ARRAY['a b 1', 'a c 2', 'd e']) x) s;
};
is( $node->safe_psql('postgres', $fuzz . q{
SELECT count(*) FROM good, generate_series(0, length(b) - 1) AS n WHERE pg_temp.try(substr(b, 1, n)) <> '22P02'}),
	'0', 'every truncated value is refused');
is( $node->safe_psql('postgres', $fuzz . q{
SELECT count(*) FROM good, generate_series(0, length(b) - 1) AS n, generate_series(0, 7) AS bit WHERE pg_temp.try(set_bit(b, n * 8 + bit, 1 - get_bit(b, n * 8 + bit))) = 'read'}),
	'0', 'no value with one bit changed is read');

# the same with a checksum that fits, which only an enemy writes: refused, or a parser that can be used
sub mix { my ($x, $y) = @_; my $p; { use integer; $p = ($x ^ $y) * -7046029254386353131; } $p = unpack('Q', pack('q', $p)); return $p ^ ($p >> 29); }
sub checksum
{
	my ($bytes) = @_;
	my $h = mix(0x2545F4914F6CDD1D, length $bytes);
	my $whole = length($bytes) - length($bytes) % 8;
	$h = mix($h, $_) for unpack('Q<*', substr($bytes, 0, $whole));
	$h = mix($h, unpack('Q<', substr($bytes, $whole) . "\0" x 8));
	{ use integer; $h = $h * -4658895280553007687; }
	$h = unpack('Q', pack('q', $h));
	return $h ^ ($h >> 32);
}
my @good = map { pack 'H*', $_ } split /\n/, $node->safe_psql('postgres', $fuzz . q{SELECT encode(b, 'hex') FROM good ORDER BY id});
is(unpack('Q<', substr($good[0], 4, 8)), checksum(substr($good[0], 12)), 'the checksum is the documented one');
srand(4);
my $script = q{
CREATE FUNCTION pg_temp.use(value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE p l4.parser;
BEGIN
	p := value::l4.parser;
	PERFORM count(*) FROM l4.parser_templates(p);
	PERFORM l4.parser_match(p, x), (SELECT count(*) FROM l4.parser_parameters(p, x)) FROM unnest(ARRAY['a b 1', 'link eth7 up', 'x (9)', 'd e', '']) x;
	p := public.parser_learn(p, '{0,0,0,0}', '{a d 1,a e 2,link eth9 up,new words}', '{1,1,1,1}');
	RETURN 'used';
EXCEPTION WHEN invalid_text_representation OR data_corrupted OR invalid_parameter_value OR invalid_regular_expression OR program_limit_exceeded OR untranslatable_character OR character_not_in_repertoire THEN
	RETURN 'refused';
END $$;
SELECT pg_temp.use(v), count(*) FROM (VALUES };
$script .= join ', ', map {
	my $rest = substr($good[ $_ % 2 ], 12);
	substr($rest, int(rand(length $rest)), 1) = chr(int(rand(256))) for 0 .. int(rand(3));
	"('l4:" . unpack('H*', substr($good[ $_ % 2 ], 0, 4) . pack('Q<', checksum($rest)) . $rest) . "')"
} 1 .. 4000;
my $result = $node->safe_psql('postgres', "$script) AS m (v) GROUP BY 1 ORDER BY 1");
like($result, qr/^refused\|\d+\nused\|\d+$/, 'forged values are refused, or work');

# lines of random bytes, very long lines: linear time, nothing breaks
$node->safe_psql('postgres', q{CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0});
$node->safe_psql(
	'ascii', q{
CREATE EXTENSION l4;
CREATE TABLE noise AS SELECT g AS k, convert_from(string_agg(set_byte('\x00', 0, 1 + (hashint8(g * 1000 + i)::bigint & 2147483647)::int % 255), ''), 'SQL_ASCII') AS line
	FROM generate_series(1, 300) g, generate_series(1, 200) i GROUP BY g;
CREATE TABLE learnt AS SELECT l4.parser_train(line ORDER BY k) AS p FROM noise;});
is($node->safe_psql('ascii', 'SELECT count(*) FROM noise, learnt WHERE l4.parser_match(p, line) IS NULL'), '0', 'random bytes that were learnt are matched');
is($node->safe_psql('ascii', 'SELECT p::text::l4.parser::text = p::text FROM learnt'), 't', 'a parser of random bytes travels');
is($node->safe_psql('ascii', 'SELECT count(*) FROM noise, learnt, l4.parser_parameters(p, line) WHERE value IS NULL'), '0', 'parameters of random bytes');
my @hostile = ("repeat('a', %d)", "repeat('1.', %d / 2) || 'x'", "repeat('a-b.', %d / 4)", "repeat('12:', %d / 3)", "repeat('a1_', %d / 3) || '\@'", "repeat('10.0.0.1,', %d / 9)",
	"repeat('w ', %d / 2)", "repeat('=a.', %d / 3)", "repeat('://', %d / 3)", "repeat('(', %d)", "repeat('<1', %d / 2)", "repeat('Mon ', %d / 4)", "repeat('GET /', %d / 5)", "repeat('-', %d)",
	"repeat(',111', %d / 4) || 'x'");
for my $line (@hostile)
{
	my @took;
	for my $size (250_000, 1_000_000)
	{
		my $sql = sprintf($line, $size);
		my $start = time;
		my $events = $node->safe_psql('postgres', "SELECT l4.parser_match(public.parser_learn(l4._parser_new(), '{0}', ARRAY[$sql], '{1}'), $sql), length(l4.mask($sql)) > 0");
		push @took, time - $start;
		is($events, '1|t', "$size bytes of $line");
	}
	# four times the bytes; a square would take sixteen times as long
	cmp_ok($took[1], '<', 10 * $took[0] + 1, "$line takes linear time");
}

# a long training run ends when it is told to
my ($ret, $out, $err) = $node->psql('postgres', q{SET statement_timeout = '300ms'; SELECT length(l4.parser_train(md5(g::text) || ' ' || md5((g + 1)::text) || repeat(' x', g % 200))::text) FROM generate_series(1, 100000000) g});
like($err, qr/canceling statement due to statement timeout/, 'training can be cancelled');

# algorithm drain against the published implementation, where its results are at hand
SKIP:
{
	my $loghub = $ENV{LOGHUB} // '../shared/loghub';
	skip 'no Drain3 reference at hand (set LOGHUB)', 3 unless -r "$loghub/drain3_reference.csv.gz";
	for my $file (glob "$loghub/*.csv.gz")
	{
		my ($set) = $file =~ m{([^/]+)\.csv\.gz$};
		system("gzip -dc $file > $dir/$set.csv") == 0 or die;
	}
	$node->safe_psql('postgres', q{CREATE TABLE content (dataset text, line_no int, content text); CREATE TABLE one (line_no int, content text, event_id text, template text);
		CREATE TABLE reference (config text, dataset text, line_no int, cluster_id int, template text)});
	for my $file (glob "$dir/*.csv")
	{
		my ($set) = $file =~ m{([^/]+)\.csv$};
		$node->safe_psql('postgres', $set eq 'drain3_reference' ? "COPY reference FROM '$file' CSV HEADER"
			: "TRUNCATE one; COPY one FROM '$file' CSV HEADER; INSERT INTO content SELECT '$set', line_no, content FROM one");
	}
	$node->safe_psql('postgres', q{
CREATE TABLE options (config text, o jsonb);
INSERT INTO options VALUES ('plain', '{"algorithm": "drain", "masks": []}'), ('masked', jsonb_build_object('algorithm', 'drain', 'masks', jsonb_build_array(
	jsonb_build_object('name', 'IP', 'pattern', '((?<=[^A-Za-z0-9])|^)(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})((?=[^A-Za-z0-9])|$)'),
	jsonb_build_object('name', 'HEX', 'pattern', '((?<=[^A-Za-z0-9])|^)(0x[a-f0-9A-F]+)((?=[^A-Za-z0-9])|$)'),
	jsonb_build_object('name', 'NUM', 'pattern', '((?<=[^A-Za-z0-9])|^)([\-\+]?\d+)((?=[^A-Za-z0-9])|$)'))));
CREATE TABLE drained AS SELECT config, dataset, l4.parser_train(content, o ORDER BY line_no) AS p FROM content, options GROUP BY 1, 2;
CREATE TABLE clusters AS SELECT config, dataset, (l4.parser_templates(p)).* FROM drained;});
	is($node->safe_psql('postgres', 'SELECT count(*) FROM reference r LEFT JOIN clusters c ON (r.config, r.dataset, r.cluster_id) = (c.config, c.dataset, c.event_id) WHERE c.template IS DISTINCT FROM r.template'),
		'0', 'drain: the templates of Drain3, line by line');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM clusters c FULL JOIN (SELECT config, dataset, cluster_id, count(*) AS n FROM reference GROUP BY 1, 2, 3) r ON (r.config, r.dataset, r.cluster_id) = (c.config, c.dataset, c.event_id) WHERE n IS DISTINCT FROM occurrences'),
		'0', 'drain: the clusters of Drain3 and their sizes');
	# a line that Drain3 gave two clusters in turn has the last one
	is( $node->safe_psql('postgres', q{SELECT count(*) FROM (SELECT DISTINCT ON (r.config, r.dataset, content) r.config, r.dataset, content, cluster_id FROM reference r JOIN content USING (dataset, line_no) ORDER BY r.config, r.dataset, content, line_no DESC) l
		JOIN drained USING (config, dataset) WHERE l4.parser_match(p, content) IS DISTINCT FROM cluster_id}),
		'0', 'drain: every line has the cluster that Drain3 gave it');
}
$node->stop;
done_testing();
