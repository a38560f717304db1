# Many regular expressions in one pass give what each gives by itself: random expressions on random lines, the same ones every time.
# PCRE_FUZZ_SEEDS=first-last tries others.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($patterns, $lines) = (120, 140);
our @letters = ('a', 'b', 'c', 'd', 'e', 'k', 's', 'K', 'x', '1', '\\.', '-', ' ', '_', 'ab', 'error', 'GPU', 'lost', 'disk', ':', 'E');
our @words = ('ab', 'error', 'Error', 'c', 'd', 'x', 'GPU', 'k', 's', 'lost', '1', '9', '.', ' ', '-', ':', '_', 'K', 'S', 'disk', 'DISK', 'LOST', "\t", 'a', 'b');
our @classes = ('[abc]', '[^a]', '[a-f]', '[^\\s:]', '\\d', '\\w', '\\s', '\\W', '\\D', '\\S', '.', '[[:alpha:]]', '[k-s]', '[^k]', '[\\d-]', '[a\\-z]', '[]a]',
	'\\h', '\\N', '[\\w.]', '\\x41', '\\p{L}', '[A-Z]', '[-a]', '[a-\\d]', '[\\]x]', '\\R', '\\v');
my @places = ('\\b', '\\B', '^', '$', '\\A', '\\z', '\\Z', '\\K', '\\b', '\\b', '(?m:^)', '(?m:$)', '\\G');
my @groups = ('(', '(?:', '(?:', '(?i:', '(?>', '(?<n%d>', '(?s:', '(?x: ', '(?|', '(?-i:', '(?^:');
my @settings = ('(?i)', '(?#c)', '\\Qa.b\\E', '\\Q\\E', '(?-i)', '(?m)', '(?x)');
my @repeats = ('*', '+', '?', '{2}', '{0,2}', '{1,3}', '{2,}', '{0,400}', '*?', '+?', '??', '++', '*+', '{3,40}', '{0}', '{1}');

sub pick { return $_[int(rand(@_))] }

sub atom
{
	my ($depth) = @_;
	my $kind = rand;
	return pick(@letters) if $kind < 0.5 || $depth <= 0;
	return pick(@classes) if $kind < 0.68;
	return pick(@places) if $kind < 0.76;
	return sprintf(pick(@groups), rand(1e6)) . alternatives($depth - 1) . ')' if $kind < 0.9;
	return pick('(?=', '(?!') . alternatives($depth - 1) . ')' if $kind < 0.95;
	return pick('(?<=', '(?<!') . join('', map { pick(@letters) } 0 .. rand(2)) . ')' if $kind < 0.97;
	return pick(@settings);
}

sub item { return atom($_[0]) . (rand() < 0.3 ? pick(@repeats) : '') }

sub sequence
{
	my ($depth) = @_;
	return join('', map { item($depth) } 0 .. rand(4));
}

sub alternatives
{
	my ($depth) = @_;
	return join('|', map { sequence($depth) } 1 .. pick(1, 1, 1, 2, 3));
}

sub line
{
	my @line = map { pick(@words) } 1 .. rand(15);
	$line[rand(@line)] = "\n" if rand() < 0.05;
	push @line, pick("\n", "\r\n", "\r") if rand() < 0.03;
	return join('', @line);
}

sub quoted { return join(', ', map { (my $text = $_) =~ s/'/''/g; "('$text')" } @_) }

# What each expression says of each line by itself; what the bulk form says, and says again of lines that it knows; what the form for one line
# says, of lines in another order. Where a literal is missing the many do not try, so that they need not give up.
my $query = q{
	WITH one AS MATERIALIZED (
		SELECT m.n, p.id, m.matched FROM p CROSS JOIN LATERAL (SELECT l.n, l4.pcre_match(l.line, p.p) AS matched FROM l) AS m
		WHERE m.matched IS DISTINCT FROM false
	), arrays AS MATERIALIZED (
		SELECT array_agg(p.id ORDER BY p.id) AS ids, array_agg(p.p ORDER BY p.id) AS patterns FROM p
	), bulk AS MATERIALIZED (
		SELECT CASE WHEN m.line > c.lines THEN 'again' ELSE 'bulk' END AS form, (m.line - 1) % c.lines + 1 AS n, m.pattern AS id, m.matched
		FROM arrays AS a, (SELECT count(*)::int AS lines, array_agg(l.line ORDER BY l.n) AS l FROM l) AS c,
			l4._pcre_multimatch(a.patterns, c.l || c.l || c.l || c.l || c.l) AS m
		WHERE m.line <= c.lines OR m.line > 4 * c.lines
	), row AS MATERIALIZED (
		SELECT l.n, m.id, m.matched FROM arrays AS a, (SELECT * FROM l ORDER BY hashint4(n)) AS l, l4.pcre_scan(l.line, a.ids, a.patterns) AS m
	), listed AS (
		SELECT l.n, l4.pcre_all(l.line, a.ids, a.patterns) AS ids, l4.pcre_first(l.line, a.ids, a.patterns) AS first FROM arrays AS a, l
	), difference AS (
		SELECT form, n, id, o.matched AS one, m.matched AS many
		FROM (SELECT * FROM bulk UNION ALL SELECT 'row', * FROM row) AS m
		FULL JOIN (SELECT f.form, o.* FROM one AS o, (VALUES ('bulk'), ('again'), ('row')) AS f(form)) AS o USING (form, n, id)
		WHERE coalesce(o.matched, false) <> coalesce(m.matched, false) OR m.matched IS NULL AND m.n IS NOT NULL AND o.n IS NULL
		UNION ALL
		SELECT 'all', r.n, NULL, NULL, NULL FROM listed AS r
		WHERE r.ids <> ARRAY(SELECT m.id FROM row AS m WHERE m.n = r.n AND m.matched ORDER BY m.id) OR r.first IS DISTINCT FROM r.ids[1]
	)
	SELECT (SELECT count(*) FROM p) > 60, (SELECT count(*) FROM one WHERE matched) > 1000,
		(SELECT string_agg(format('%s: line %s %L, pattern %s %L: alone %s, among many %s', d.form, d.n, l.line, d.id, p.p, d.one, d.many), E'\n')
		FROM (SELECT * FROM difference LIMIT 5) AS d JOIN l USING (n) LEFT JOIN p USING (id))
};

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->start;
my ($from, $to) = split(/-/, $ENV{PCRE_FUZZ_SEEDS} || '1-8');
foreach my $encoding ('UTF8', 'SQL_ASCII', 'LATIN1')
{
	my $name = lc($encoding);
	my @wide = $encoding eq 'UTF8' ? ("\xc5\xbf", "\xe2\x84\xaa") : ();	# characters beyond ASCII that are letters of it in another case
	my @special = ("\xc3\xa9", "\xc3\xbc");
	local @letters = (@letters, $special[0], @wide);
	local @words = (@words, @special, @wide, map { ("lo${_}t", "di${_}k") } @wide[0 .. $#wide - 1]);
	local @classes = (@classes, "[$special[0]a]", "[^$special[0]]");
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
	$node->safe_psql($name, 'CREATE EXTENSION l4');
	foreach my $seed ($from .. ($encoding eq 'UTF8' ? $to : $from + ($to - $from) / 4))
	{
		srand($seed);
		my $setup = "SET client_min_messages = error; SET jit = off; SET client_encoding = " . ($encoding eq 'SQL_ASCII' ? 'sql_ascii' : 'utf8') . ";
			CREATE TEMP TABLE c (text text); INSERT INTO c VALUES " . quoted(map { (rand() < 0.2 ? '(?i)' : '') . alternatives(3) } 1 .. $patterns) . ";
			CREATE TEMP TABLE l (n int GENERATED ALWAYS AS IDENTITY, line text); INSERT INTO l (line) VALUES " . quoted(map { my $line = line(); ($line, $line =~ tr/19/91/r, $line =~ tr/19/27/r) } 1 .. $lines) . ";
			CREATE TEMP TABLE p (id int GENERATED ALWAYS AS IDENTITY, p l4.pcre); INSERT INTO p (p) SELECT c.text::l4.pcre FROM c WHERE l4.pcre_error(c.text) IS NULL;";
		is($node->safe_psql($name, "$setup $query"), 't|t|', "expressions of seed $seed on lines in $encoding");
	}
}
$node->stop;
done_testing();
