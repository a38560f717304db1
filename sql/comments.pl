#!/usr/bin/env perl
# Joins the files of the install script, and writes the COMMENT statements of what they document:
#   --: words       in front of a CREATE statement, or in front of or behind a column of a table
#   --.name words   in front of a CREATE statement: a column of the relation
# Words go on in further lines "--: ".
use strict;
use warnings;

my $list = qr/(\((?:[^()']++|'[^']*+'|(?-1))*+\))/;

sub comment
{
	my ($what, $words) = @_;
	$words =~ s/'/''/g;
	return "COMMENT ON $what IS '$words';\n";
}

foreach my $path (@ARGV)
{
	open(my $in, '<', $path) or die "$path: $!\n";
	my $text = do { local $/; <$in> };
	my ($relation, $comments) = ('', '');
	# pairs of a column and its words; no name: the words are of what comes next
	my @described;
	for (pos($text) = 0; pos($text) < length $text;)
	{
		if ($text =~ /\G *--: (.*)\n/gc)
		{
			push @described, [''] unless @described;
			$described[-1][1] = join ' ', grep { defined } $described[-1][1], $1;
		}
		elsif ($text =~ /\G--\.(\w+) (.*)\n/gc)
		{
			push @described, [$1, $2];
		}
		elsif ($text =~ /\GCREATE (FUNCTION|PROCEDURE|AGGREGATE) ([\w.]+)$list/gc)
		{
			my ($kind, $name, $arguments) = ($1, $2, $3);
			$arguments =~ s/ DEFAULT (?:[^(),']|'[^']*'|$list)+//g;
			$comments .= comment("$kind $name$arguments", $_->[1]) foreach splice @described;
		}
		elsif ($text =~ /\GCREATE (TABLE|VIEW|TYPE) ([\w.]+)/gc)
		{
			$relation = $2;
			$comments .= comment($_->[0] ? "COLUMN $2.$_->[0]" : "$1 $2", $_->[1]) foreach splice @described;
		}
		elsif ($text =~ (@described ? qr/\G    (\w+) .*\n/ : qr/\G    (\w+) .* --: (.*)\n/))
		{
			pos($text) = $+[0];
			$comments .= comment("COLUMN $relation.$1", @described ? (shift @described)->[1] : $2);
		}
		else
		{
			die "$path: \"$described[0][1]\" describes nothing\n" if @described;
			$text =~ /\G.*\n/gc;
		}
	}
	print $text, $comments;
}
