# The data files of the shipped rules and faults: what sql/data/rows.pl refuses, and that l4.import_faults() reads what it exports.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @shipped = sort glob 'sql/data/faults/*.json';
my $dir = PostgreSQL::Test::Utils::tempdir();
mkdir "$dir/faults";

my %row = (
	fault_id => '1',
	name => '"a"',
	category => '"user"',
	component => '"program"',
	severity => '"error"',
	signature => '"a broken b"',
	example => '"a broken b"',
	root_cause => '"c"',
	remedy => '"r"',
	source_url => '"https://example.org/"');

sub fault
{
	my %with = (%row, @_);
	return '{' . join(",\n", map { "\"$_\": $with{$_}" } grep { defined $with{$_} } sort keys %with) . '}';
}

sub refused
{
	my ($name, $rows, $why) = @_;
	my $file = "$dir/faults/$name.json";
	open my $out, '>', $file or die $!;
	print $out $rows;
	close $out;
	command_fails_like([ 'perl', 'sql/data/rows.pl', 'sql/data/fragments.json', $file ], qr/$name\.json:\d+: .*$why/, $why);
}

refused('twice', '[' . fault() . ', ' . fault(name => '"b"') . ']', 'id 1 is that of a');
refused('name', '[' . fault() . ', ' . fault(fault_id => 2) . ']', 'this name is there already');
refused('range', '[' . fault(fault_id => 1000000) . ']', 'id 1000000 is not from 1 to 999999');
refused('effect', '[' . fault(leads_to => '["nothing"]') . ']', 'leads to "nothing", which is no fault');
refused('key', '[' . fault(colour => '"red"') . ']', 'unknown key "colour"');
refused('missing', '[' . fault(remedy => undef) . ']', 'no key "remedy"');
refused('fragment', '[' . fault(signature => '"${nothing}"') . ']', 'no fragment "nothing"');
refused('comma', '[' . fault() . ' ' . fault() . ']', 'expected , or \]');
refused('escape', '[' . fault(signature => '"a\\d"') . ']', 'expected a value');
refused('ascii', "[" . fault(remedy => "\"\xc3\xa9\"") . ']', 'not ASCII');
refused('rest', '[' . fault() . ']]', 'expected the end of the file');

my ($sql, $error) = run_command([ 'perl', 'sql/data/rows.pl', 'sql/data/fragments.json', glob('sql/data/*_*.json'), @shipped ]);
unlike($sql, qr/[^\n\x20-\x7e]/, 'the rows are plain ASCII');
my ($json) = run_command([ 'perl', 'sql/data/rows.pl', '--export', 'sql/data/fragments.json', @shipped ]);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION l4; CREATE TABLE file (faults jsonb)');
$node->safe_psql('postgres', 'INSERT INTO file VALUES ($json$' . $json . '$json$)');
is( $node->safe_psql('postgres', 'SELECT DISTINCT action, problem FROM file, l4.import_faults(faults)'),
	'new|replaces the shipped fault of this name',
	'all shipped faults can be imported');
is( $node->safe_psql(
		'postgres', q{
SELECT count(*) FROM l4.fault b FULL JOIN (SELECT * FROM l4.fault WHERE origin = 'imported') i USING (name)
WHERE b.origin = 'builtin' AND l4._fault_json(b.fault_id) - 'origin' IS DISTINCT FROM l4._fault_json(i.fault_id) - 'origin'}),
	'0',
	'and are the same rows then');
$node->stop;
done_testing();
