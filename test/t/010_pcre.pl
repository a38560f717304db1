# Regular expressions in other encodings, under cancel, in parallel workers, and in bounded memory.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION l4');

# bytes that are no UTF-8: patterns work on bytes, nothing is taken for a character unchecked
$node->safe_psql('postgres', "CREATE DATABASE bytes TEMPLATE template0 ENCODING 'sql_ascii' LOCALE 'C'");
$node->safe_psql('bytes', 'CREATE EXTENSION l4');
my $line = "E'GPU \\xff\\xfe\\xc3 lost \\xe2\\x84'";
is($node->safe_psql('bytes', "SELECT l4.pcre_match($line, '(?i)gpu ...? lost'), l4.pcre_match($line, E'\\xff.\\xc3'), l4.pcre_match($line, '^[ -~]+\$')"),
	't|t|f', 'bytes of no encoding match as bytes');
is($node->safe_psql('bytes', "SELECT l4.pcre_error('(*UTF)x') IS NOT NULL"), 't', 'UTF mode is refused where text is not known to be UTF-8');
is($node->safe_psql('bytes', "SELECT l4.pcre_all($line, '{1,2,3}', ARRAY['lost', E'\\xc3 l', '(?i)GPU K']::l4.pcre[])"), '{1,2}', 'many patterns on bytes');
is($node->safe_psql('bytes', "SELECT octet_length(l4.pcre_captures($line, 'GPU (..)')->>'1')"), '2', 'captures of bytes');
is($node->safe_psql('bytes', "SELECT count(*) FROM l4.parser_templates((SELECT l4.parser_train(x, '{\"algorithm\": \"drain\"}') FROM unnest(ARRAY[$line, $line, 'a']) AS x))"),
	'2', 'drain on bytes');
$node->safe_psql('postgres', "CREATE DATABASE euc TEMPLATE template0 ENCODING 'euc_jp' LOCALE 'C'");
$node->safe_psql('euc', 'CREATE EXTENSION l4');
is($node->safe_psql('euc', "SELECT l4.pcre_captures(convert_from('\\xa4a2'::bytea, 'euc_jp') || 'x', '(.)x')"), '{"0": null, "1": null}',
	'a group that cuts a character is null');

# a hostile pattern over a long line hears a cancel
foreach my $call ("l4.pcre_match(repeat('ab', 2000000), '[^z]*w[^z]*v')",
	"l4.pcre_first(repeat('a', 3000000), '{1}', '{\"[^z]*w\"}')",
	"l4.pcre_captures(repeat('x ', 1000000), '(\\w+\\s?)+y')")
{
	my $start = time;
	my ($rc, undef, $stderr) = $node->psql('postgres', "SET statement_timeout = 300; SELECT $call");
	my $took = time - $start;
	ok($took < 5, "returns soon: $call");
	# given up at the limit is an answer too
	like($stderr, qr/statement timeout|^$|gave up/, 'cancelled or answered');
}

# workers give the same answers
$node->safe_psql('postgres', q{
	CREATE TABLE line AS SELECT n, 'node' || n % 64 || ' step ' || n || CASE WHEN n % 1000 = 0 THEN ' Xid ' || n % 97 ELSE ' fine' END AS l FROM generate_series(1, 200000) AS n;
	CREATE TABLE signature AS SELECT n AS id, ('Xid ' || n || '$')::l4.pcre AS p FROM generate_series(1, 97) AS n;
	ANALYZE});
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = ';
my $query = "SELECT count(l4.pcre_first(l, ids, ps)), sum(l4.pcre_first(l, ids, ps)), count(*) FILTER (WHERE l OPERATOR(l4.=~) 'Xid (?:1|2)\\d\\b')
	FROM line, (SELECT array_agg(id ORDER BY id) AS ids, array_agg(p ORDER BY id) AS ps FROM signature) AS s";
my $serial = $node->safe_psql('postgres', "${parallel}0; $query");
like($serial, qr/^\d\d+\|\d+\|\d+$/, 'something matches');
is($node->safe_psql('postgres', "${parallel}3; $query"), $serial, 'same answers with workers');
like($node->safe_psql('postgres', "${parallel}3; EXPLAIN SELECT count(*) FROM line WHERE l OPERATOR(l4.=~) 'Xid'"), qr/Gather/, 'the operator runs in workers');

# memory does not grow with the number of rows, nor with patterns that come and go
SKIP:
{
	skip 'no /proc', 1 unless -e '/proc/self/smaps_rollup';
	$node->safe_psql('postgres', q{CREATE FUNCTION private_kb() RETURNS bigint LANGUAGE sql VOLATILE AS
		$$SELECT sum(m[1]::bigint) FROM regexp_matches(pg_read_file('/proc/self/smaps_rollup'), 'Private_\w+:\s+(\d+)', 'g') AS m$$});
	my $grown = $node->safe_psql('postgres', q{
		SET max_parallel_workers_per_gather = 0;
		SELECT count(*) FROM line WHERE l4.pcre_captures(l, 'step (\d+)') IS NOT NULL;
		SELECT count(l4.pcre_match(l, ('step ' || n % 5000 || '(x)?')::l4.pcre)) FROM line WHERE n <= 20000;
		SELECT private_kb() AS before \gset
		SELECT count(*) FROM line, generate_series(1, 5) WHERE l4.pcre_captures(l, 'step (\d+)') IS NULL;
		SELECT count(l4.pcre_match(l, ('step ' || n % 5000 || '(y)?')::l4.pcre)) FROM line WHERE n <= 40000;
		SELECT count(l4.pcre_all(l, ARRAY[n, 1], ARRAY['step ' || n, 'Xid']::l4.pcre[])) FROM line WHERE n <= 20000;
		SELECT private_kb() - :before});
	$grown =~ s/.*\n//s;
	cmp_ok($grown, '<', 8192, 'memory of a million rows and of patterns that come and go is freed');
}
$node->stop;
done_testing();
