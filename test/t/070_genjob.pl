# The job generator of the benchmarks: the same options give the same bytes, the size is about what was asked for, faults show.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

my $program = PostgreSQL::Test::Utils::tempdir() . '/genjob';
my $compiler = $ENV{CC} || 'cc';
system($compiler, '-O1', '-Wall', '-Wextra', '-Werror', '-o', $program, 'test/bench/genjob.c') == 0 or BAIL_OUT('genjob does not compile');

sub genjob
{
	my ($out, $err);
	IPC::Run::run([ $program, @_ ], '>', \$out, '2>', \$err);
	return ($out, $err, $? >> 8);
}

my ($first) = genjob('-n', 8, '-l', 20000, '-s', 5);
my ($second) = genjob('-n', 8, '-l', 20000, '-s', 5);
my ($other) = genjob('-n', 8, '-l', 20000, '-s', 6);
ok($first eq $second, 'the same seed gives the same job');
ok($first ne $other, 'another seed another one');
foreach my $fault ('none', 'hang', 'crash', 'oom', 'nic', 'nan', 'slow')
{
	my ($job) = genjob('-n', 8, '-r', 2, '-l', 40000, '-f', $fault, '-b', 3);
	my $lines = ($job =~ tr/\n//);
	cmp_ok(abs($lines - 40000), '<', 4000, "$fault: $lines lines of 40000");
	my %key;
	my $bad = grep { my @c = split /\t/, $_, -1; @c != 7 || $key{"$c[1] $c[2] $c[4]"}++ } split /\n/, $job;
	is($bad, 0, "$fault: seven columns, no key twice");
}
my %sign = (crash => qr/gpu-0003.*Segmentation fault/, oom => qr/gpu-0003.*CUDA out of memory/, nic => qr/gpu-0003.*ACTIVE -> DOWN/,
	nan => qr/loss is nan/, hang => qr/no heartbeat from rank 3 \(gpu-0003\)/, launch => qr/gpu-0003.*Input\/output error/);
foreach my $fault (sort keys %sign)
{
	like((genjob('-n', 8, '-i', 50, '-a', 20, '-f', $fault, '-b', 3))[0], $sign{$fault}, "$fault shows");
	unlike((genjob('-n', 8, '-i', 50))[0], $sign{$fault}, "and not in a job that succeeds");
}
like((genjob('-n', 0))[1], qr/nodes must be between 1 and 9999, not "0"/, 'a number out of range is an error');
like((genjob('-f', 'odd'))[1], qr/unknown fault "odd"/, 'so is an unknown fault');
done_testing();
