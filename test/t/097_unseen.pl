# Trainers that no rule knew when their jobs were made: what is right stays right. docs/accuracy.md has the figures.
use strict;
use warnings;
use Cwd qw(getcwd);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# at least: F1 of events, jobs with the right symptom, stage, iteration and category, healthy jobs (all)
my %least = (
	'chainer-hydra' => [ .97, .93, .87, .81, .68 ],
	'elixir-make' => [ .97, .94, .76, .90, .58 ],
	'flower-circus' => [ .75, .94, .89, .94, .63 ],
	'gloo-srun' => [ .98, .95, .91, .88, .83 ],
	'go-journal' => [ .90, .83, .66, .69, .80 ],
	'java-compose' => [ .99, .91, .65, .73, .78 ],
	'jax-honcho' => [ .99, .85, .80, .86, .80 ],
	'lightgbm' => [ .99, .87, .75, .77, .81 ],
	'mpirun' => [ .90, .71, .78, .70, .70 ],
	'mxnet' => [ .95, .68, .57, .54, .94 ],
	'node-pm2' => [ .97, .66, .57, .39, .90 ],
	'olmo-kubectl' => [ .99, .93, .86, .89, .73 ],
	'paddle-launch' => [ .80, .99, .83, .74, .65 ],
	'perl-tai64n' => [ .99, .99, .99, .99, .53 ],
	'rust-supervisord' => [ .98, .91, .75, .83, .83 ],
	'skorch-parallel' => [ .95, .94, .87, .94, .75 ],
	'torchrun' => [ .95, .85, .85, .72, .78, .83 ],
	'xgboost-dask' => [ .85, .73, .47, .81, .52 ],
	'xgboost-pssh' => [ .95, .99, .99, .99, .92 ]);
foreach my $set (sort keys %least)
{
	$node->safe_psql('postgres', qq(CREATE DATABASE "$set"));
	my $folder = getcwd() . "/test/data/unseen/$set";
	my ($out, $err);
	IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr($set), '-v', "dir=$folder",
		'-v', q(arguments=, options => '{"silent_seconds":60}'), '-f', 'test/score/corpus.sql' ], '>', \$out, '2>', \$err)
		or die $err;
	my ($f1) = $out =~ /^l4\|\d+\|[\d.]+\|[\d.]+\|[\d.]+\|([\d.]+)\|/m;
	my ($stage, $symptom, $iteration, $category) =
		$out =~ /^\d+\|([\d.]+)\|([\d.]+)\|[\d.]*\|([\d.]+)\|[\d.]*\|([\d.]+)\|[\d.]*\|[\d.]*$/m;
	my ($healthy) = $out =~ /^[3-6]\|([\d.]+)\|[\d.]+\|[\d.]+$/m;
	cmp_ok($f1 // 0, '>=', $least{$set}[0], "$set: events that tell of the failure");
	cmp_ok($symptom // 0, '>=', $least{$set}[1], "$set: symptoms");
	cmp_ok($stage // 0, '>=', $least{$set}[2], "$set: stages");
	cmp_ok($iteration // 0, '>=', $least{$set}[3], "$set: iterations");
	cmp_ok($category // 0, '>=', $least{$set}[4], "$set: categories");
	cmp_ok($healthy // 0, '>=', $least{$set}[5] // 1, "$set: healthy jobs are called healthy") or diag($out);
}
done_testing();
