# Event vectors and forests travel: binary COPY, dump and restore, storage in and out of line; damaged bytes are noticed.
use strict;
use warnings;
use Cwd qw(abs_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $dir = abs_path(PostgreSQL::Test::Utils::tempdir);
$node->safe_psql(
	'postgres', q(
CREATE EXTENSION l4;
CREATE TABLE vector (id int, v l4.event_vector);
INSERT INTO vector VALUES (1, '{}'), (2, NULL), (3, '{-2147483648:1, 2147483647:9223372036854775807}'), (4, '{1:1, 2:127, 3:128, 4:129, 9:16384}');
INSERT INTO vector SELECT 10 + g, l4.event_vector_agg(e * (g % 5 + 1), abs(e * 7919) % (g * 40 + 1)) FROM generate_series(1, 60) AS g, generate_series(-1500, 1500) AS e GROUP BY g;
CREATE TABLE forest (id int, f l4.iforest);
INSERT INTO forest SELECT 1, l4.iforest_train(v) FROM vector;
INSERT INTO forest SELECT 2, l4.iforest_train(v, '{"trees": 1, "sample_size": 2}') FROM vector WHERE id IN (3, 4);
INSERT INTO forest VALUES (3, NULL);));
my $vectors = q(SELECT md5(string_agg(id || coalesce(l4.event_vector_send(v)::text, 'null'), ',' ORDER BY id)) FROM %s);
my $forests = q(SELECT md5(string_agg(id || coalesce(l4.iforest_send(f)::text, 'null'), ',' ORDER BY id)) FROM %s);

sub slurp { open(my $fh, '<:raw', $_[0]) or die $!; local $/; my $data = <$fh>; close $fh; return $data; }
sub spew { open(my $fh, '>:raw', $_[0]) or die $!; print $fh $_[1]; close $fh; return; }

for my $type ([ 'vector', 'v', $vectors ], [ 'forest', 'f', $forests ])
{
	my ($table, $column, $digest) = @$type;
	my $expected = $node->safe_psql('postgres', sprintf($digest, $table));
	$node->safe_psql('postgres', "COPY $table TO '$dir/$table.bin' (FORMAT binary); CREATE TABLE ${table}_copy (LIKE $table); COPY ${table}_copy FROM '$dir/$table.bin' (FORMAT binary)");
	is($node->safe_psql('postgres', sprintf($digest, "${table}_copy")), $expected, "$table: binary COPY, byte for byte");
	$node->safe_psql('postgres', "COPY $table TO '$dir/$table.txt'; TRUNCATE ${table}_copy; COPY ${table}_copy FROM '$dir/$table.txt'");
	is($node->safe_psql('postgres', sprintf($digest, "${table}_copy")), $expected, "$table: text COPY");
	for my $storage (qw(plain external extended main))
	{
		# what does not fit a page cannot be plain
		my $small = $storage eq 'plain' ? "WHERE pg_column_size($column) < 2000" : '';
		$node->safe_psql('postgres', "TRUNCATE ${table}_copy; ALTER TABLE ${table}_copy ALTER $column SET STORAGE $storage; INSERT INTO ${table}_copy SELECT * FROM $table $small");
		is( $node->safe_psql('postgres', sprintf($digest, "${table}_copy")), $node->safe_psql('postgres', sprintf($digest, "(SELECT * FROM $table $small) AS s")),
			"$table: storage $storage");
	}
}

# a score does not depend on how a forest is stored
is( $node->safe_psql('postgres', q(SELECT count(*), count(DISTINCT l4.iforest_score(f, v)) FROM vector, LATERAL (SELECT f FROM forest WHERE id = 1 UNION ALL
		SELECT f FROM forest_copy WHERE id = 1 UNION ALL SELECT f::text::l4.iforest FROM forest WHERE id = 1) AS s WHERE vector.id = 40)),
	'3|1', 'one score from a stored, a compressed and a computed forest');

# dump and restore
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_dump', '-f', "$dir/dump.sql", '-t', 'vector', '-t', 'forest', $node->connstr('postgres') ], 'dump');
$node->safe_psql('restored', 'CREATE EXTENSION l4');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/dump.sql", $node->connstr('restored') ], 'restore');
is($node->safe_psql('restored', sprintf($vectors, 'vector') . ' UNION ALL ' . sprintf($forests, 'forest')),
	$node->safe_psql('postgres', sprintf($vectors, 'vector') . ' UNION ALL ' . sprintf($forests, 'forest')), 'the same after dump and restore');

# one row in a file of binary COPY: 11 + 4 + 4 bytes, then the number of columns, length and bytes of the value, -1
sub copy_file { my ($value) = @_; return "PGCOPY\n\377\r\n\0" . pack('NN', 0, 0) . pack('n', 1) . pack('N', length $value) . $value . pack('n', 0xffff); }
sub try_binary
{
	my ($table, $value) = @_;
	spew("$dir/one.bin", copy_file($value));
	my ($ret, $out, $err) = $node->psql('postgres', "BEGIN; TRUNCATE $table; COPY $table FROM '$dir/one.bin' (FORMAT binary); SELECT * FROM $table; ROLLBACK;");
	return $err eq '' ? $out : $err;
}
$node->safe_psql('postgres', 'CREATE TABLE one_vector (v l4.event_vector); CREATE TABLE one_forest (f l4.iforest)');
my $good = pack('C N', 1, 2) . pack('N Q>', 3, 1) . pack('N Q>', 17, 42);
like(try_binary('one_vector', $good), qr/\{3:1, 17:42\}/, 'a vector by hand');
my %bad = (
	'version' => [ pack('C N', 2, 0), qr/invalid binary representation of type event_vector.*The version is unknown/s ],
	'number of events' => [ pack('C N', 1, 3) . substr($good, 5), qr/There are fewer events than announced/ ],
	'huge number' => [ pack('C N', 1, 0xffffffff), qr/There are fewer events than announced/ ],
	'order' => [ pack('C N', 1, 2) . pack('N Q>', 17, 1) . pack('N Q>', 3, 1), qr/Event ids must ascend/ ],
	'twice' => [ pack('C N', 1, 2) . pack('N Q>', 3, 1) . pack('N Q>', 3, 1), qr/Event ids must ascend/ ],
	'zero' => [ pack('C N', 1, 1) . pack('N Q>', 3, 0), qr/Counts must be positive/ ],
	'negative' => [ pack('C N', 1, 1) . pack('N Q>', 3, 1 << 63), qr/Counts must be positive/ ],
	'bytes behind' => [ "$good\0", qr/incorrect binary data format/ ],
	'nothing' => [ '', qr/no data left in message/ ]);
like(try_binary('one_vector', $bad{$_}[0]), $bad{$_}[1], "damaged vector: $_") for sort keys %bad;
my $truncated = grep { try_binary('one_vector', substr($good, 0, $_)) =~ /ERROR/ } 0 .. length($good) - 1;
is($truncated, length($good), 'every truncated vector is an error');

my $forest = pack('H*', $node->safe_psql('postgres', q(SELECT encode(l4.iforest_send(f), 'hex') FROM forest WHERE id = 2)));
like(try_binary('one_forest', $forest), qr/^\\x01/m, 'a forest as it was sent');
like(try_binary('one_forest', ''), qr/invalid binary representation of type iforest.*The version is unknown/s, 'no forest');
my $broken = grep { try_binary('one_forest', substr($forest, 0, $_)) =~ /ERROR/ } 0 .. length($forest) - 1;
is($broken, length($forest), 'every truncated forest is an error');
my $changed = grep { my $f = $forest; vec($f, $_, 8) ^= 1; try_binary('one_forest', $f) =~ /ERROR/ } 0 .. length($forest) - 1;
is($changed, length($forest), 'a forest with any byte changed is an error');

$node->stop;
done_testing();
