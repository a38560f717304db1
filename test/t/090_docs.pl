# Every SQL example of the documents runs; where the tutorial prints an output below an example, that is what comes.
# Those of the README, the tutorial and the reference run once more, as a role that is no superuser and has the rights
# that docs/reference/rights.md grants to an ingester and a curator.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "timezone = 'UTC'");
$node->start;
my $port = $node->port;
my $host = $node->host;

sub psql
{
	my ($database, $sql, @options) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-X', '-q', '-h', $host, '-p', $port, '-d', $database, '-v', 'ON_ERROR_STOP=1', '-P', 'pager=off', @options ],
		'<', \$sql, '>', \$out, '2>', \$err);
	return ($?, $out, $err);
}

# For the reference: a database with the sample jobs loaded, ingested and diagnosed, as make demo does it
$node->safe_psql('postgres', 'CREATE DATABASE sample');
my ($status, $out, $err) = psql('sample', slurp_file('test/demo.sql'));
is($status, 0, 'the sample jobs are loaded and diagnosed') or diag($err);
unlink 'l4-report-job-17.html';
$node->safe_psql('postgres', 'CREATE DATABASE empty');
$node->safe_psql('empty', 'CREATE EXTENSION l4');

# the thresholds are those of the function
my $thresholds = $node->safe_psql('empty', q{SELECT string_agg(format('- `%s` %s %s (%s … %s): %s', t.name, t.value, t.unit, t.low, t.high, t.meaning), ' ')
	FROM l4.diagnose_thresholds() AS t});
ok(index(slurp_file('docs/diagnosis.md') =~ s/\s+/ /gr, $thresholds) > 0, 'docs/diagnosis.md has the thresholds') or diag($thresholds);

sub blocks
{
	my ($file) = @_;
	my (@blocks, $block);
	my $n = 0;
	foreach my $line (split /\n/, slurp_file($file), -1)
	{
		$n++;
		if (!$block && $line =~ /^```(\w*)$/) { $block = { language => $1, line => $n, text => '', after => @blocks ? $blocks[-1] : undef }; }
		elsif ($block && $line =~ /^```$/) { $block->{end} = $n; push @blocks, $block; undef $block; }
		elsif ($block) { $block->{text} .= "$line\n"; }
	}
	return @blocks;
}

my $index = slurp_file('docs/reference.md');
foreach my $file (glob('docs/reference/*.md'))
{
	(my $link = $file) =~ s{^docs/}{};
	like($index, qr/\(\Q$link\E\)/, "$file is in the index");
}

my $database = 0;
foreach my $file ('README.md', 'docs/tutorial.md', 'docs/howto.md', 'docs/walkthrough.md', sort glob('docs/reference/*.md'))
{
	my $template = $file =~ m{^docs/(reference/|howto|walkthrough)} ? 'sample' : 'empty';
	my $name = 'd' . ++$database;
	my @blocks = blocks($file);
	next if !grep { $_->{language} eq 'sql' } @blocks;
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE $template");
	# one session a file, since later blocks use what earlier ones made; each begins with psql's own format
	my $script = '';
	foreach my $i (0 .. $#blocks)
	{
		$script .= "\\pset tuples_only off\n\\pset format aligned\n\\echo \@\@block $i\n$blocks[$i]{text}" if $blocks[$i]{language} eq 'sql';
	}
	($status, $out, $err) = psql($name, $script);
	my (undef, %output) = split /^\@\@block (\d+)\n/m, $out, -1;
	is($status, 0, "$file runs") or diag($err);
	foreach my $i (1 .. $#blocks)
	{
		my ($sql, $text) = @blocks[ $i - 1, $i ];
		next if $text->{language} ne 'text' || $sql->{language} ne 'sql' || $text->{line} > $sql->{end} + 2;
		my ($got, $expected) = ($output{ $i - 1 } // '', $text->{text});
		s/[ \t]+$//mg, s/\n+\z/\n/ for $got, $expected;
		is($got, $expected, "$file:$text->{line} is the output (test/fill_docs writes it anew)");
	}
	$node->safe_psql('postgres', "DROP DATABASE $name");
}

# the SQL blocks of a document, one text
sub sql_of
{
	my ($file) = @_;
	my $sql = join "\n", map { $_->{language} eq 'sql' ? $_->{text} : () } blocks($file);
	# the extension is there already: that alone needs a superuser
	$sql =~ s/^CREATE EXTENSION l4;$//mg;
	return $sql;
}

# roles belong to the cluster: they are there since rights.md ran above
(my $grants = sql_of('docs/reference/rights.md')) =~ s/^CREATE ROLE.*$//mg;
$node->safe_psql('postgres', 'CREATE ROLE sre LOGIN IN ROLE l4_ingester, l4_curator');
foreach my $template ('empty', 'sample')
{
	$node->safe_psql($template, "$grants\nGRANT CREATE ON SCHEMA public TO sre; GRANT SELECT ON ALL TABLES IN SCHEMA public TO sre;");
}
foreach my $file ('README.md', 'docs/tutorial.md', sort glob('docs/reference/*.md'))
{
	my $sql = sql_of($file);
	next if $sql eq '' || $file =~ /rights\.md$/;
	my $template = $file =~ m{^docs/reference/} ? 'sample' : 'empty';
	my $name = 'd' . ++$database;
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE $template");
	($status, $out, $err) = psql($name, $sql, '-U', 'sre');
	is($status, 0, "$file runs as an ordinary role") or diag($err);
	$node->safe_psql('postgres', "DROP DATABASE $name");
}
$node->stop;
done_testing();
