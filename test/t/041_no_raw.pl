# l4load --no-raw: what l4 has read is the same as with the lines kept, in any pieces, and nothing stays but that.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION l4');
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
$ENV{PGDATABASE} = 'postgres';
chomp(my $bindir = `pg_config --bindir`);
my ($status, $out, $err);

sub l4load
{
	my ($out, $err);
	IPC::Run::run([ "$bindir/l4load", @_ ], '<', \undef, '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

# files that grow in the midst of a record: one a node, and one of all nodes
my ($grown, $joined) = map { PostgreSQL::Test::Utils::tempdir() } 1, 2;
sub grow
{
	foreach my $line (@_)
	{
		append_to_file("$grown/node$_.log", $line =~ s/N/$_/gr . "\n") foreach 0 .. 2;
		append_to_file("$joined/all.log", "node$_: " . $line =~ s/N/$_/gr . "\n") foreach 0 .. 2;
	}
}
grow((map { "2026-03-01 10:00:0$_ info step $_ of 9 took N$_ ms" } 1 .. 9), '2026-03-01 10:00:10 ERROR failed',
	'Traceback (most recent call last):', '  File "a.py", line N, in f');
my @how = ([ 'raw', '--ingest' ], [ 'all', '--no-raw' ], map { [ "by-$_", '--no-raw', '--piece', $_ ] } 1, 7);
my $read = q{SELECT count(*), md5(string_agg(concat_ws('|', l.node, l.source, l.line_no, l.record_line_no, l.ts, l.level, t.template), E'\n'
	ORDER BY l.node, l.line_no)) FROM l4.event_line AS l JOIN l4.template AS t USING (event_id) WHERE l.job_id = };
foreach my $step ('first', 'grown')
{
	foreach ([ 'no-raw', $grown ], [ 'joined', "$joined/all.log", '--line-node', '^(node[0-9]): ' ])
	{
		my ($form, $files, @line_node) = @$_;
		my $same;
		foreach my $call (@how)
		{
			my ($name, @options) = @$call;
			push @options, '--update' if $step eq 'grown' && $name eq 'raw';
			($status, $out, $err) = l4load('-q', @options, @line_node, '--settings', 's', "$form-$name", $files);
			is($status, 0, "$form, $step, $name: done") or diag($err);
			my $rows = $node->safe_psql('postgres', "$read '$form-$name'");
			is($rows, $same //= $rows, "$form, $step, $name: the same is read");
		}
		like($same, $step eq 'first' ? qr/^36\|/ : qr/^45\|/, "$form, $step: all lines");
	}
	grow('RuntimeError: the link is down', '2026-03-01 10:00:11 INFO step 10 of 9', '2026-03-01 10:00:12 INFO bye');
}
is($node->safe_psql('postgres', "SELECT count(*) FROM logs WHERE job_id NOT LIKE '%-raw'"), '0', 'no line is kept');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname LIKE 'l4load%'"), '0', 'nor the table');
($status, $out, $err) = l4load('-q', '--no-raw', '--report', 'no-raw-all', $grown);
like($out, qr/l4 report  no-raw-all/, 'the report needs no lines');
foreach ([ '--no-raw', '--update' ], [ '--piece', '0' ])
{
	($status) = l4load(@$_, 'no-raw-all', $grown);
	is($status, 1, "@$_: wrong usage");
}
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
{
	local $ENV{PGUSER} = 'nobody';
	($status, $out, $err) = l4load('-q', '--no-raw', '--settings', 's', 'no-raw-denied', $grown);
	is($status, 3, 'a role without rights: the database refused');
}
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_class WHERE relname LIKE 'l4load%'"), '0', 'and no table stays');

# A piece is refused, as the role may have one session only: all ends, and the same call goes on when it may have more.
$node->safe_psql('postgres', "CREATE ROLE loader LOGIN; GRANT CREATE ON SCHEMA public TO loader;
	SELECT l4.grant_access('loader', 'ingester')");
foreach my $limit (1, -1)
{
	$node->safe_psql('postgres', "ALTER ROLE loader CONNECTION LIMIT $limit");
	local $ENV{PGUSER} = 'loader';
	($status, $out, $err) = l4load('-q', '--no-raw', '--piece', '7', 'no-raw-loader', $grown);
	is($status, $limit > 0 ? 3 : 0, "limit $limit: the status says whether all was read") or diag($err);
	like($err, qr/too many connections/, "limit $limit: why is said") if $limit > 0;
}
is($node->safe_psql('postgres', "$read 'no-raw-loader'"), $node->safe_psql('postgres', "$read 'no-raw-all'"), 'the same is read');

# files that cannot be read, or not to their end, are named; the rest is read
my $bad = PostgreSQL::Test::Utils::tempdir();
append_to_file("$bad/half.log", join '', map { "step $_ of 900\n" } 1 .. 900);
system('gzip', "$bad/half.log") == 0 or die;
truncate "$bad/half.log.gz", (-s "$bad/half.log.gz") - 12;
append_to_file("$bad/empty.log", '');
append_to_file("$bad/program.log", join('', map { chr($_ * 7 % 256) } 1 .. 9000));
append_to_file("$bad/good.log", "step 1 of 9\nstep 2 of 9\n");
($status, $out, $err) = l4load('-q', '--no-raw', '--report', 'no-raw-bad', $bad);
is($status, 2, 'files that cannot be read to their end');
is(join('', grep { /^l4load/ } split /^/, $err =~ s/\Q$bad\E\///gr), join('', map { "l4load: $_\n" } 'empty.log is empty', 'cannot read half.log.gz to its end; what comes before is loaded',
	'program.log is no text, and is left out'), 'are named, each once');
is($node->safe_psql('postgres', "SELECT node, count(*) > 1 FROM l4.event_line WHERE job_id = 'no-raw-bad' GROUP BY 1 ORDER BY 1"), "good|t\nhalf|t", 'the rest is read');
like($out, qr/l4 report  no-raw-bad/, 'and reported on');

# a file that grows while it is read: the same call reads on
my $growing = PostgreSQL::Test::Utils::tempdir();
append_to_file("$growing/a.log", "step 1 of 9\n" x 300000);
my $writer = IPC::Run::start([ 'sh', '-c', "until test -e $growing/stop; do echo more >> $growing/a.log; sleep 0.02; done" ]);
($status, $out, $err) = l4load('-q', '--no-raw', 'no-raw-growing', $growing);
append_to_file("$growing/stop", '');
$writer->finish;
is($status, 0, 'reads a file that grows');
like($err, qr/a\.log grew while it was read; the same call loads what came since/, 'and says so');
($status, $out, $err) = l4load('-q', '--no-raw', 'no-raw-growing', $growing);
chomp(my $lines = `wc -l < $growing/a.log`);
is($node->safe_psql('postgres', "SELECT count(*), max(line_no) FROM l4.event_line WHERE job_id = 'no-raw-growing'"), "$lines|$lines", 'called again it reads the rest');
$node->stop;
done_testing();
