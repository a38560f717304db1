# Every SQL example of the README, the tutorial and the reference runs as a role that is no superuser and has the rights that
# docs/reference/rights.md grants to an ingester and a curator.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->append_conf('postgresql.conf', "timezone = 'UTC'");
$node->start;

sub psql
{
	my ($database, $sql, @options) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-X', '-q', '-h', $node->host, '-p', $node->port, '-d', $database, '-v', 'ON_ERROR_STOP=1', '-P', 'pager=off', @options ],
		'<', \$sql, '>', \$out, '2>', \$err);
	return ($?, $out, $err);
}

# the SQL blocks of a document, one text
sub sql_of
{
	my ($file) = @_;
	my $text = slurp_file($file);
	my $sql = join "\n", $text =~ /^```sql\n(.*?)^```$/msg;
	# the extension is there already: that alone needs a superuser
	$sql =~ s/^CREATE EXTENSION l4;$//mg;
	return $sql;
}

my $grants = sql_of('docs/reference/rights.md');
$node->safe_psql('postgres', 'CREATE DATABASE sample');
my ($status, $out, $err) = psql('sample', slurp_file('test/demo.sql'));
is($status, 0, 'the sample jobs are there') or diag($err);
unlink 'l4-report-job-17.html';
$node->safe_psql('postgres', 'CREATE DATABASE empty');
$node->safe_psql('empty', 'CREATE EXTENSION l4');

my $made = 0;
foreach my $template ('empty', 'sample')
{
	# roles belong to the cluster: the second time they are there
	(my $here = $grants) =~ s/^CREATE ROLE.*$//mg if $made++;
	$node->safe_psql($template, ($here // $grants) . ($here ? '' : "\nCREATE ROLE sre LOGIN IN ROLE l4_ingester, l4_curator;")
		. "\nGRANT CREATE ON SCHEMA public TO sre; GRANT SELECT ON ALL TABLES IN SCHEMA public TO sre;");
}
my $database = 0;
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
