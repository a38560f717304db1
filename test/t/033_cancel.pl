# A function that reads one large value stops soon after it was cancelled, or is done by then.
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

# what is made of 50 MB of text
my %large = (
	'event_vector of spaces' => [ q('{' || repeat(' ', 50000000) || '}'), 'v::l4.event_vector' ],
	'event_vector of one number' => [ q('{' || repeat('1', 50000000) || ':1}'), 'v::l4.event_vector' ],
	'event_vector of jsonb' => [ q((SELECT '{' || string_agg(format('"%s": 1', i), ',') || '}' FROM generate_series(1, 250000) AS i)), 'v::jsonb::l4.event_vector' ],
	'event_vector out' => [ q((SELECT l4.event_vector_agg(i)::text FROM generate_series(1, 1000000) AS i)), 'length(v::l4.event_vector::text)' ],
	'iforest of one byte' => [ q('\x' || repeat('01', 25000000)), 'v::l4.iforest' ],
	'parse a word' => [ q(repeat('x', 50000000)), 'l4.parse(v)' ],
	'parse numbers' => [ q(repeat('12 ', 16000000)), 'l4.parse(v)' ],
	'parse escapes' => [ q('{"msg":"' || repeat('\n\u0041', 6000000) || '"}'), 'l4.parse(v)' ],
	'parse members' => [ q('{' || repeat('"a":[1,{"b":2}],', 3000000) || '"msg":"x"}'), 'l4.parse(v)' ],
	'parse an array' => [ q('{"a":[' || repeat('1,', 25000000) || '1],"msg":"x"}'), 'l4.parse(v)' ],
	'parse logfmt' => [ q('level=info ' || repeat('a=b ', 12000000) || 'msg=x'), 'l4.parse(v)' ],
	'parse colours' => [ q(repeat(E'\e[31mx', 8000000)), 'l4.parse(v)' ],
	'parse carriage returns' => [ q(repeat(E'20%|#| 1/5 [00:01\r', 2500000) || 'x'), 'l4.parse(v)' ],
	'parse lines' => [ q(E'Traceback (most recent call last):\n' || repeat(E'ValueError: x\n', 3500000)), 'l4.parse(v)' ],
	'mask blanks' => [ q('x' || repeat(' ', 50000000)), 'length(l4.mask(v))' ],
	'mask labels' => [ q(repeat('a-b.c_1/', 6000000)), 'length(l4.mask(v))' ],
	'mask a word' => [ q(repeat('x', 50000000)), 'length(l4.mask(v))' ],
	'mask numbers' => [ q(repeat('1 ', 25000000)), 'length(l4.mask(v))' ],
	'mask addresses' => [ q(repeat('10.0.0.1:8080 /a/b/c.py 0x7f ', 1700000)), 'length(l4.mask(v))' ],
	'pcre_match' => [ q(repeat('ab', 25000000)), q(l4.pcre_match(v, '(a|b)*c$')) ]);

for my $name (sort keys %large)
{
	my ($value, $call) = @{ $large{$name} };
	my $took = $node->safe_psql('postgres', qq(
		CREATE TEMP TABLE large AS SELECT ($value)::text AS v;
		ALTER TABLE large ALTER v SET STORAGE EXTERNAL;
		CREATE FUNCTION pg_temp.took() RETURNS float8 LANGUAGE plpgsql AS \$f\$
		DECLARE
			began float8 := cpu_seconds();
		BEGIN
			PERFORM $call FROM large;
			RETURN 0;
		EXCEPTION
			WHEN query_canceled THEN
				RETURN cpu_seconds() - began;
			WHEN OTHERS THEN
				-- the cancel may come only now
				BEGIN
					RETURN cpu_seconds() - began - 0.3;
				EXCEPTION
					WHEN query_canceled THEN
						RETURN cpu_seconds() - began;
				END;
		END
		\$f\$;
		SET statement_timeout = '300ms';
		SELECT pg_temp.took();));
	cmp_ok($took, '<=', 0.8, "$name is cancelled within half a second");
}

$node->stop;
done_testing();
