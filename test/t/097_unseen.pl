# Trainers that no rule knew when their jobs were made: what is right stays right. docs/accuracy.md has the figures.
# Every third set, in the order of their names; UNSEEN=all reads all of them, as .ci/run does.
use strict;
use warnings;
use Cwd qw(getcwd);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# at least: F1 of events, faulty nodes named first, jobs with the right symptom, stage, iteration and category, healthy
# jobs (all)
my %least = (
	'accelerate-loguru' => [ .99, .91, .99, .88, .99, .88 ],
	'chainer-hydra' => [ .99, .78, .93, .93, .90, .74 ],
	'composer-stern' => [ .99, .92, .99, .99, .99, .99, .5 ],
	'elixir-make' => [ .98, .86, .94, .82, .90, .76 ],
	'flower-circus' => [ .84, .94, .99, .94, .99, .89 ],
	'gloo-srun' => [ .98, .89, .99, .95, .99, .95 ],
	'forge-determined' => [ .95, .68, .99, .99, .99, .70 ],
	'go-journal' => [ .93, .92, .88, .94, .84, .88 ],
	'grpo-logcli' => [ .98, .87, .85, .82, .86, .85 ],
	'hf-lightning' => [ .94, .64, .99, .85, .87, .76, .8 ],
	'java-compose' => [ .99, .87, .95, .95, .94, .91 ],
	'jax-honcho' => [ .99, .87, .90, .90, .86, .90 ],
	'lightgbm' => [ .99, .84, .99, .87, .99, .99 ],
	'mlx-clush' => [ .99, .80, .87, .87, .81, .79 ],
	'mpirun' => [ .96, .83, .92, .92, .99, .92 ],
	'mxnet' => [ .95, .79, .94, .94, .99, .99 ],
	'node-pm2' => [ .99, .82, .99, .99, .86, .99 ],
	'olmo-kubectl' => [ .99, .76, .99, .93, .99, .79 ],
	'paddle-launch' => [ .85, .90, .99, .83, .74, .91 ],
	'perl-tai64n' => [ .99, .84, .99, .99, .99, .73 ],
	'quill-pals' => [ .98, .61, .93, .99, .99, .93 ],
	'ray-core' => [ .94, .68, .95, .85, .99, .90, .5 ],
	'ruby-jax' => [ .98, .88, .99, .95, .94, .81 ],
	'rust-supervisord' => [ .98, .99, .91, .91, .83, .83 ],
	'sb3-taktuk' => [ .98, .63, .78, .84, .87, .71 ],
	'skorch-parallel' => [ .98, .99, .99, .93, .99, .93 ],
	'sockeye-slurm' => [ .97, .84, .99, .91, .81, .77 ],
	'tensorflow-tasks' => [ .99, .91, .86, .79, .99, .99 ],
	'torchrun' => [ .99, .90, .99, .99, .81, .99, .83 ],
	'torchtune-sky' => [ .98, .83, .84, .61, .74, .53 ],
	'xgboost-dask' => [ .91, .59, .78, .57, .99, .94 ],
	'xgboost-pssh' => [ .95, .99, .99, .99, .99, .99 ]);
my @sets = sort keys %least;
@sets = @sets[ grep { $_ % 3 == 0 } 0 .. $#sets ] if ($ENV{UNSEEN} // '') ne 'all';
$node->safe_psql('postgres', 'CREATE DATABASE empty');
$node->safe_psql('empty', 'CREATE EXTENSION l4');
foreach my $set (@sets)
{
	$node->safe_psql('postgres', qq(CREATE DATABASE "$set" TEMPLATE empty));
	my $folder = getcwd() . "/test/data/unseen/$set";
	my ($out, $err);
	IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr($set), '-v', "dir=$folder",
		'-v', q(arguments=, options => '{"silent_seconds":60}'), '-f', 'test/score/corpus.sql' ], '>', \$out, '2>', \$err)
		or die $err;
	my ($f1) = $out =~ /^l4\|\d+\|[\d.]+\|[\d.]+\|[\d.]+\|([\d.]+)\|/m;
	my ($first) = $out =~ /^l4\|\d+\|([\d.]+)\|[\d.]+\|[\d.]+\|[\d.]+$/m;
	my ($stage, $symptom, $iteration, $category) =
		$out =~ /^\d+\|([\d.]+)\|([\d.]+)\|[\d.-]+\|([\d.]+)\|[\d.]+\|([\d.]+)\|[\d.]+\|[\d.]+$/m;
	my ($healthy) = $out =~ /^[3-6]\|([\d.]+)\|[\d.]+\|[\d.]+$/m;
	cmp_ok($f1 // 0, '>=', $least{$set}[0], "$set: events that tell of the failure");
	cmp_ok($first // 0, '>=', $least{$set}[1], "$set: faulty nodes named first");
	cmp_ok($symptom // 0, '>=', $least{$set}[2], "$set: symptoms");
	cmp_ok($stage // 0, '>=', $least{$set}[3], "$set: stages");
	cmp_ok($iteration // 0, '>=', $least{$set}[4], "$set: iterations");
	cmp_ok($category // 0, '>=', $least{$set}[5], "$set: categories");
	cmp_ok($healthy // 0, '>=', $least{$set}[6] // 1, "$set: healthy jobs are called healthy") or diag($out);
}
done_testing();
