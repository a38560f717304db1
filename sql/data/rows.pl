#!/usr/bin/perl
# Shipped rules and faults, from the JSON files beside this script (fragments.json among them):
#   rows.pl FILE.json ...            SQL that inserts the rows; a file of faults lies in faults/, others are named after their table
#   rows.pl --export FILE.json ...   one fault file for l4.import_faults()
# In a pattern ${name} stands for the fragment of that name; a long pattern is an array of pieces. Constraints of the tables check
# values when the extension is created, this script what they cannot see. It needs no module that perl-base lacks.
use strict;
use warnings;

# keys of an object in the order of columns; ! = required
my %columns = (
	fragments => [qw(!name !what !pattern)],
	line_format => [qw(!rule_id !name !framework !priority !signature ts_format !example !source_url)],
	stage_rule => [qw(!rule_id !name !framework !stage then_stage !priority !signature !example !source_url)],
	iteration_rule => [qw(!rule_id !name !framework !kind !priority !signature !example !source_url)],
	marker_rule => [qw(!rule_id !name !kind stage !signature !example source_url)],
	mask_rule => [qw(!rule_id !name !pattern position)],
	faults => [
		qw(!fault_id !name !category !component !severity priority is_effect signature conditions example
		  !root_cause !remedy leads_to !source_url)
	],
	conditions => [qw(!step !kind signature template min_occurrences min_nodes max_nodes same_node within silence)]);
my %default = (
	priority => 50,
	is_effect => 'false',
	leads_to => [],
	position => 'before',
	min_occurrences => 1,
	min_nodes => 1,
	same_node => 'false');
my ($file, $text, %fragment, %rows);

sub fail
{
	my ($row, $problem) = @_;
	my $line = ref $row ? $row->{line} : 1 + substr($text, 0, pos($text) || 0) =~ tr/\n//;
	my $name = ref $row && defined $row->{name} ? " $row->{name}:" : '';
	die +(ref $row ? $row->{file} : $file) . ":$line:$name $problem\n";
}

# One JSON value. An object remembers its file and line.
sub value
{
	if ($text =~ /\G\s*\{/gc)
	{
		my %object = (file => $file, line => 1 + substr($text, 0, pos $text) =~ tr/\n//);
		for (my $n = 0; $text !~ /\G\s*\}/gc; $n++)
		{
			$text =~ /\G\s*,/gc || fail(undef, 'expected , or }') if $n > 0;
			$text =~ /\G\s*"(\w+)"\s*:/gc || fail(undef, 'expected a key and a colon');
			my $key = $1;
			fail(undef, "key \"$key\" again") if exists $object{$key};
			$object{$key} = value();
		}
		return \%object;
	}
	if ($text =~ /\G\s*\[/gc)
	{
		my @array;
		while ($text !~ /\G\s*\]/gc)
		{
			$text =~ /\G\s*,/gc || fail(undef, 'expected , or ]') if @array;
			push @array, value();
		}
		return \@array;
	}
	if ($text =~ /\G\s*"((?:[^"\\\n]|\\["\\nt])*+)"/gc)
	{
		my %escape = (n => "\n", t => "\t", '"' => '"', '\\' => '\\');
		return $1 =~ s/\\(.)/$escape{$1}/gr;
	}
	return $1 if $text =~ /\G\s*(-?\d+|true|false)\b/gc;
	fail(undef, 'expected a value; a string has one line, is ASCII, and has the escapes \" \\\\ \n \t');
}

sub read_file
{
	($file) = @_;
	open my $in, '<', $file or die "$file: $!\n";
	$text = do { local $/; <$in> };
	fail(undef, 'not ASCII') if $text =~ /\G.*?[^\t\n\x20-\x7e]/gcs;
	my $value = value();
	fail(undef, 'expected the end of the file') if $text !~ /\G\s*\z/gc;
	$value = $value->{faults} if ref $value eq 'HASH';
	my $table = $file =~ m{faults/\w+\.json$} ? 'faults' : $file =~ m{(\w+)\.json$} ? $1 : '';
	fail(undef, 'not an array of rows, or no table of this name') if ref $value ne 'ARRAY' || !$columns{$table};
	push @{ $rows{$table} }, @$value;
}

# Known keys only, and all that are required; patterns in full.
sub complete_row
{
	my ($table, $row) = @_;
	die "$file: a row is no object\n" if ref $row ne 'HASH';
	my %known = (file => 0, line => 0, map { s/^!//r => scalar(/^!/) } @{ $columns{$table} });
	for my $key (sort keys %known)
	{
		fail($row, "no key \"$key\"") if $known{$key} && !defined $row->{$key};
	}
	for my $key (sort keys %$row)
	{
		fail($row, "unknown key \"$key\"") if !exists $known{$key};
		next if $key !~ /^(?:signature|pattern)$/;
		$row->{$key} = join '', @{ $row->{$key} } if ref $row->{$key};
		1 while $row->{$key} =~ s/\$\{(\w+)\}/$fragment{$1} \/\/ fail($row, "no fragment \"$1\"")/ge;
	}
	complete_row('conditions', $_) for @{ $row->{conditions} // [] };
}

# Ids below 1,000,000, each once; each name once; a thousand of rule ids for one framework; nothing leads to a fault that is not there.
sub check_table
{
	my ($table) = @_;
	my (%id, %name, %framework);
	for my $row (@{ $rows{$table} })
	{
		my $id = $row->{ $table eq 'faults' ? 'fault_id' : 'rule_id' };
		fail($row, "id $id is not from 1 to 999999") if $id !~ /^\d{1,6}$/ || $id == 0;
		fail($row, "id $id is that of $id{$id}") if $id{$id};
		fail($row, 'this name is there already') if $name{ $row->{name} }++;
		$id{$id} = $row->{name};
		next if !defined $row->{framework};
		my $owner = $framework{ int($id / 1000) } //= $row->{framework};
		fail($row, "id $id is in the range of $owner") if $owner ne $row->{framework};
	}
	for my $row (@{ $rows{$table} })
	{
		fail($row, "leads to \"$_\", which is no fault") for grep { !$name{$_} } @{ $row->{leads_to} // [] };
	}
}

sub literal
{
	my ($value) = @_;
	return 'NULL' if !defined $value;
	$value = '{' . join(',', @$value) . '}' if ref $value;
	$value =~ s/'/''/g;
	return "'$value'" if $value !~ /[\\\n\t]/;
	my %escape = ("\n" => '\n', "\t" => '\t', '\\' => '\\\\');
	return "E'" . $value =~ s/([\\\n\t])/$escape{$1}/gr . "'";
}

sub print_insert
{
	my ($to, $table, $extra, @rows) = @_;
	my @names = grep { $_ ne 'conditions' } map { s/^!//r } @{ $columns{$table} };
	print "INSERT INTO l4.$to (" . join(', ', @names, @$extra) . ") VALUES\n", join(
		",\n",
		map {
			my $row = $_;
			'(' . join(', ', map { literal($row->{$_} // $default{$_}) } @names, @$extra) . ')'
		} @rows) . ";\n";
}

sub print_sql
{
	print "-- Shipped rules and faults, made by sql/data/rows.pl.\n";
	for my $table (grep { $_ ne 'faults' } sort keys %rows)
	{
		my @sorted = sort { $a->{rule_id} <=> $b->{rule_id} } @{ $rows{$table} };
		print_insert($table, $table, ['origin'], map { +{ %$_, origin => 'builtin' } } @sorted);
	}
	my @faults = sort { $a->{fault_id} <=> $b->{fault_id} } @{ $rows{faults} };
	print_insert('fault', 'faults', [ 'origin', 'combined' ],
		map { +{ %$_, origin => 'builtin', combined => $_->{conditions} ? 'true' : 'false' } } @faults);
	print_insert('fault_condition', 'conditions', ['fault_id'],
		map { my $fault = $_; map { +{ %$_, fault_id => $fault->{fault_id} } } @{ $fault->{conditions} // [] } } @faults);
}

sub json
{
	my ($table, $value) = @_;
	return '[' . join(', ', map { json($table, $_) } @$value) . ']' if ref $value eq 'ARRAY';
	if (ref $value)
	{
		my @keys = grep { defined $value->{$_} && $_ ne 'fault_id' } map { s/^!//r } @{ $columns{$table} };
		return '{' . join(', ', map { "\"$_\": " . json($_, $value->{$_}) } @keys) . '}';
	}
	return $value if $value =~ /^(?:-?\d+|true|false)$/;
	my %escape = ("\n" => '\n', "\t" => '\t', '\\' => '\\\\', '"' => '\"');
	return '"' . $value =~ s/(["\\\n\t])/$escape{$1}/gr . '"';
}

my $export = @ARGV && $ARGV[0] eq '--export' && shift @ARGV;
read_file($_) for @ARGV;
for my $row (@{ delete $rows{fragments} // [] })
{
	complete_row('fragments', $row);
	$fragment{ $row->{name} } = $row->{pattern};
}
for my $table (sort keys %rows)
{
	complete_row($table, $_) for @{ $rows{$table} };
	check_table($table) if !$export;
}
if ($export)
{
	print qq({"format": "l4 faults", "version": 1, "faults": [\n), join(",\n", map { json('faults', $_) } @{ $rows{faults} }), "\n]}\n";
}
else
{
	print_sql();
}
