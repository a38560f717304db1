# docs/grafana/l4.json: every query of the dashboard runs as a reader, with the macros and variables of Grafana replaced as Grafana does it.
use strict;
use warnings;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
$node->start;

sub psql
{
	my ($sql, @options) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-X', '-qAt', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-v', 'ON_ERROR_STOP=1', @options ],
		'<', \$sql, '>', \$out, '2>', \$err);
	return ($?, $out, $err);
}

my ($status, $out, $err) = psql(slurp_file('test/demo.sql'));
is($status, 0, 'the sample jobs are loaded and diagnosed') or diag($err);
unlink 'l4-report-job-17.html';
# a job that runs, one whose name has quotes, and a role that may only read
my $odd = q{it's "quoted"};
psql(qq{CREATE ROLE dashboard LOGIN;
	SELECT l4.grant_access('dashboard', 'reader');
	INSERT INTO logs (job_id, node, line_no, ts, line) SELECT \$\$$odd\$\$, node, line_no, ts, line FROM logs WHERE job_id = 'job-17';
	CALL l4.ingest('logs');
	SELECT l4.diagnose(\$\$$odd\$\$);
	UPDATE l4.job SET status = 'running' WHERE job_id = \$\$$odd\$\$;});
my ($from, $to) = split /\|/, (psql(q{SELECT to_char(min(first_ts) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	to_char(max(last_ts) AT TIME ZONE 'UTC' + interval '1 s', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') FROM l4.stage_span}))[1];
chomp $to;

my $dashboard = decode_json(slurp_file('docs/grafana/l4.json'));

# Variables first, then macros: an argument of a macro ends at the first parenthesis.
sub expand
{
	my ($sql, %with) = @_;
	my $quoted = sub { join ',', map { (my $v = $_) =~ s/'/''/g; "'$v'" } @_ };
	my %macro = (
		__timeFilter => sub { "$_[0] BETWEEN '$with{from}' AND '$with{to}'" },
		__timeFrom => sub { "'$with{from}'" },
		__timeTo => sub { "'$with{to}'" });
	$sql =~ s/\$\{job:sqlstring\}/$quoted->($with{job})/ge;
	$sql =~ s/\$\{node:sqlstring\}/$quoted->(@{ $with{node} })/ge;
	$sql =~ s/\$__interval_ms\b/$with{interval_ms}/g;
	$sql =~ s/\$(\w+)\(([^)]*)\)/$macro{$1} ? $macro{$1}->($2) : die "macro $1 is not known"/ge;
	unlike($sql, qr/\$/, 'nothing is left to be replaced');
	return $sql;
}

# how many rows a query has, and the names and types of its columns
sub run_query
{
	my ($sql) = @_;
	my ($result, $text, $error) = psql("SET default_transaction_read_only = on;\n$sql\\gdesc\nSELECT count(*) FROM ($sql) AS x;\n",
		'-U', 'dashboard');
	return (undef, {}, $error) if $result;
	my @lines = split /\n/, $text;
	my $rows = pop @lines;
	return ($rows, { map { split /\|/, $_, 2 } @lines }, $error);
}

my (@queries, %ids);
foreach my $panel (@{ $dashboard->{panels} })
{
	ok(!$ids{ $panel->{id} }++, "panel $panel->{id} has a number of its own");
	next if $panel->{type} eq 'row';
	ok($panel->{title} && $panel->{description}, "$panel->{title}: says what it shows");
	push @queries, { name => $panel->{title}, format => $_->{format}, sql => $_->{rawSql} } foreach @{ $panel->{targets} };
}
push @queries, { name => "variable $_->{name}", sql => $_->{query} } foreach grep { $_->{type} eq 'query' } @{ $dashboard->{templating}{list} };
push @queries, { name => "annotation $_->{name}", format => 'annotation', sql => $_->{target}{rawSql} } foreach @{ $dashboard->{annotations}{list} };
cmp_ok(scalar @queries, '>=', 15, 'the dashboard has queries');

my @nodes = split /\n/, (psql(q{SELECT node FROM l4.job_node WHERE job_id = 'job-17' ORDER BY 1}))[1];
my %range = (from => $from, to => $to, interval_ms => 30000);
foreach my $query (@queries)
{
	foreach my $job ('job-17', $odd)
	{
		my ($rows, $type, $error) = run_query(expand($query->{sql}, %range, job => $job, node => \@nodes));
		cmp_ok($rows // 0, '>', 0, "$query->{name}, job $job: has rows") or diag($error);
		next if !$query->{format} || $query->{format} eq 'table';
		is($type->{time}, 'timestamp with time zone', "$query->{name}: has a time");
		is($type->{text}, 'text', "$query->{name}: has a text") if $query->{format} eq 'annotation';
		is($type->{metric}, 'text', "$query->{name}: its series have names") if $query->{format} eq 'time_series';
	}
	my ($rows, undef, $error) = run_query(expand($query->{sql}, %range, interval_ms => 1, job => 'none', node => ['none']));
	ok(defined $rows, "$query->{name}: runs for a job that is not there") or diag($error);
	next if $query->{sql} !~ /\$__time/;
	my %other = (from => '1999-01-01T00:00:00Z', to => '1999-01-02T00:00:00Z', interval_ms => 86400000);
	($rows, undef, $error) = run_query(expand($query->{sql}, %other, job => 'job-17', node => \@nodes));
	is($rows, 0, "$query->{name}: nothing in another time range") or diag($error);
}

# panels do not lie on each other
my %taken;
foreach my $panel (@{ $dashboard->{panels} })
{
	my $at = $panel->{gridPos};
	cmp_ok($at->{x} + $at->{w}, '<=', 24, "$panel->{title}: within the page");
	foreach my $x ($at->{x} .. $at->{x} + $at->{w} - 1)
	{
		$taken{"$x $_"}++ foreach $at->{y} .. $at->{y} + $at->{h} - 1;
	}
}
is(scalar(grep { $_ > 1 } values %taken), 0, 'no panel lies on another one');
done_testing();
