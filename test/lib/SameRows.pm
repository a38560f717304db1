# Whether statements give the same rows in two databases. Compared by digest, since there may be a million rows; where
# they differ the test prints the first rows that one of the two lacks. To compile a digest takes longer than to run it.
package SameRows;
use strict;
use warnings;
use Exporter 'import';
use Test::More;
our @EXPORT = ('same_rows', 'same_text');

# same_rows([ NODE, DATABASE ], [ NODE, DATABASE as it should be ], NAME, STATEMENT...)
sub same_rows
{
	my ($got, $expected, $name, @statements) = @_;
	my $digests = join ";\n", 'SET jit = off', map { "SELECT count(*), sum(hashtextextended(x::text, 0)::numeric) FROM ($_) AS x" } @statements;
	my ($got_digest, $expected_digest) = map { [ split /\n/, $_->[0]->safe_psql($_->[1], $digests) ] } $got, $expected;
	my @lines;
	foreach my $n (0 .. $#statements)
	{
		next if $got_digest->[$n] eq $expected_digest->[$n];
		my ($here, $there) = map { rows($_, $statements[$n]) } $got, $expected;
		push @lines, "of: $statements[$n]", first_rows('too much: ', $here, $there), first_rows('missing:  ', $there, $here);
	}
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(!@lines, $name) or diag(join "\n", @lines);
	return;
}

# same_text(GOT, EXPECTED, NAME): the same for rows that were read already, a line each; their order counts as well
sub same_text
{
	my ($got, $expected, $name) = @_;
	my ($here, $there) = map { counted(split /\n/) } $got, $expected;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($got eq $expected, $name)
		or diag(join "\n", 'the order differs, or:', first_rows('too much: ', $here, $there), first_rows('missing:  ', $there, $here));
	return;
}

# each row and how often it comes
sub counted
{
	my %n;
	$n{$_}++ foreach @_;
	return \%n;
}

sub rows
{
	my ($place, $statement) = @_;
	return counted(split /\n/, $place->[0]->safe_psql($place->[1], "SELECT quote_literal(x::text) FROM ($statement) AS x"));
}

sub first_rows
{
	my ($title, $some, $other) = @_;
	my @differ = grep { $some->{$_} > ($other->{$_} // 0) } sort keys %$some;
	my $n = @differ < 3 ? @differ : 3;
	return map { $title . substr($_, 0, 500) } @differ[ 0 .. $n - 1 ];
}

1;
