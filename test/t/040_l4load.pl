# l4load: what it loads, how it names and numbers, and that nothing stays of a load that failed.
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
my $l4load = "$bindir/l4load";
ok(-x $l4load, 'make install puts l4load beside psql');

# what make installs, it takes away
my $stage = PostgreSQL::Test::Utils::tempdir();
for my $verb (qw(install uninstall))
{
	is(system("make -s with_llvm=no DESTDIR=$stage $verb >$stage.log 2>&1"), 0, "make $verb");
	my @files = split /\n/, `find $stage -type f -name '*l4*'`;
	ok($verb eq 'install' ? @files > 3 : !@files, "files of l4 after make $verb") or diag("@files");
}

my $folder = PostgreSQL::Test::Utils::tempdir();
mkdir "$folder/gpu-2";
my $text = "tab\tand back\\slash\r\n2026-03-01 10:00:00 step 1\n\nbad \xff\xf7\x81\xb5\xb1\xf4\x90\x80\x80\xed\xa0\x80 byte, zero \0 byte\nno newline at the end";
append_to_file("$folder/gpu-1.log", $text);
append_to_file("$folder/gpu-2/rank_3.log", $text);
append_to_file("$folder/gpu-4.log", $text);
append_to_file("$folder/notes.txt", "not a log\n");
system('gzip', "$folder/gpu-2/rank_3.log") == 0 or die;
system('zstd', '-q', '--rm', "$folder/gpu-4.log") == 0 or die;

sub l4load
{
	my ($out, $err);
	my $ok = IPC::Run::run([ $l4load, @_ ], '<', \undef, '>', \$out, '2>', \$err);
	return ($? >> 8, $out, $err);
}

my ($status, $out, $err) = l4load('job-1', $folder);
is($status, 0, 'loads a folder');
like($err, qr/\[#{40}\] 3 of 3 files, 15 lines, \d+ a second\s*\n$/, 'the progress bar ends at all files');
is($node->safe_psql('postgres', "SELECT node, source, rank, count(*), min(line_no), max(line_no) FROM logs WHERE job_id = 'job-1' GROUP BY 1, 2, 3 ORDER BY 1"),
	"gpu-1|gpu-1.log||5|1|5\ngpu-2|gpu-2/rank_3.log.gz|3|5|1|5\ngpu-4|gpu-4.log.zst||5|1|5", 'plain, gzip and zstd; node, source and rank by the path');
is($node->safe_psql('postgres', "SELECT string_agg(line, '/' ORDER BY line_no) FROM logs WHERE node = 'gpu-4'"),
	"tab\tand back\\slash/2026-03-01 10:00:00 step 1//bad  byte, zero  byte/no newline at the end", 'lines arrive as they are, without bytes that are no text');

($status, $out, $err) = l4load('job-1', $folder);
is($status, 3, 'refuses to load a job twice');
like($err, qr/has lines of job "job-1" already; to add new ones use --update or --append/, 'and says what to do');
($status) = l4load('-q', '--append', '--time', '[0-9]{4}-[0-9-]+ [0-9:]+', 'job-1', $folder);
is($node->safe_psql('postgres', "SELECT max(line_no), max(line_no) FILTER (WHERE ts = '2026-03-01 10:00:00'), count(ts) FROM logs WHERE node = 'gpu-1'"),
	'10|7|1', 'append goes on with the numbers; --time picks the time of a line');

# what Slurm writes: two files of a node are two sources of it
my $slurm = PostgreSQL::Test::Utils::tempdir();
append_to_file("$slurm/$_", "step 1\n") for 'gpu-5.out', 'gpu-5.err', 'a.b.log';
($status) = l4load('-q', 'slurm', $slurm);
is($node->safe_psql('postgres', "SELECT node, source FROM logs WHERE job_id = 'slurm' ORDER BY 1, 2"), "a.b|a.b.log\ngpu-5|gpu-5.err\ngpu-5|gpu-5.out", 'names of nodes have no ending of a log');

($status) = l4load('-q', '-t', 'other', '--first-line', '100', '--glob', '*.txt', '--node', 's/.*/fixed/', '--rank', 's/.*/7/',
	'--settings', 'big', '--status', 'failed', 'job-2', $folder);
is($node->safe_psql('postgres', "SELECT node, source, rank, line_no, line FROM other"), 'fixed|notes.txt|7|100|not a log', 'names and numbers by options, into a new table');
is($node->safe_psql('postgres', "SELECT settings, status FROM l4.job WHERE job_id = 'job-2'"), 'big|failed', 'settings and status are kept');

($status) = l4load('-q', '--ingest', 'job-3', $folder);
is($node->safe_psql('postgres', "SELECT sum(occurrences) > 0 FROM l4.event_count WHERE job_id = 'job-3'"), 't', 'ingests when asked to');

# files that grew, and a new one: only what is new is loaded, however often
append_to_file("$folder/gpu-1.log", "\nline 6\nline 7\n");
append_to_file("$folder/gpu-5.log", "first of a new node\n");
for my $round (1, 2)
{
	($status, $out, $err) = l4load('-q', '--update', 'job-3', $folder);
	is($status, 0, 'updates a job');
	is($node->safe_psql('postgres', "SELECT node, count(*), max(line_no) FROM logs WHERE job_id = 'job-3' GROUP BY 1 ORDER BY 1"),
		"gpu-1|7|7\ngpu-2|5|5\ngpu-4|5|5\ngpu-5|1|1", "only new lines come, call $round");
}
is($node->safe_psql('postgres', "SELECT string_agg(line, '/' ORDER BY line_no) FROM logs WHERE job_id = 'job-3' AND node = 'gpu-1' AND line_no > 4"),
	'no newline at the end/line 6/line 7', 'the right ones');

# names with everything in them, lines of a megabyte, an empty file
my $odd = "$folder/odd names";
mkdir $odd;
mkdir "$odd/it's a \"node\"; \$(touch here)\ttab";
append_to_file("$odd/it's a \"node\"; \$(touch here)\ttab/a b\nc \\n.log", join("\n", 'x' x 1048576, '\\.', '\\N', 'last') . "\n");
append_to_file("$odd/-rf.log", "one\n");
append_to_file("$odd/empty.log", '');
append_to_file("$odd/caf\xe9.log", "two\n");
($status, $out, $err) = l4load('-q', "it's job 5", $odd);
is($status, 0, 'odd names') or diag($err);
is($node->safe_psql('postgres', "SELECT node, length(source), count(*), max(length(line)), max(line) FILTER (WHERE line_no = 2), max(line) FILTER (WHERE line_no = 3) FROM logs WHERE job_id = 'it''s job 5' GROUP BY 1, 2 ORDER BY node COLLATE \"C\""),
	"-rf|7|1|3||\ncaf|7|1|3||\nit's a \"node\"; \$(touch here)\ttab|45|4|1048576|\\.|\\N", 'arrive as they are');

# a database of another encoding
$node->safe_psql('postgres', "CREATE DATABASE latin TEMPLATE template0 ENCODING 'latin1' LOCALE 'C'");
$node->safe_psql('latin', 'CREATE EXTENSION l4');
append_to_file("$odd/utf8.log", "caf\xc3\xa9 \xe2\x82\xac 5\n");
($status, $out, $err) = l4load('-q', '-d', 'latin', '--report', 'job-6', $odd);
is($status, 0, 'loads into LATIN1') or diag($err);
is($node->safe_psql('latin', "SELECT line FROM logs WHERE node = 'utf8'"), 'caf  5', 'what it cannot hold is left out');
like($out, qr/^l4 report  job-6\n/, 'the report comes');
unlink "$odd/utf8.log";

# the database refuses a line in the middle of much
$node->safe_psql('postgres', "CREATE TABLE picky (job_id text, node text, source text, rank int, line_no bigint CHECK (line_no < 1000), ts timestamptz, line text)");
append_to_file("$odd/long.log", join('', map { "line $_ of very many\n" } 1 .. 200000));
($status, $out, $err) = l4load('-q', '-t', 'picky', 'job-7', $odd);
is($status, 3, 'the database refuses a line');
unlike($err, qr/cannot read/, 'and no file is blamed');
is($node->safe_psql('postgres', 'SELECT count(*) FROM picky'), '0', 'nothing is kept');

# files that cannot be read, or not to their end, are named; the rest is loaded
my $bad = PostgreSQL::Test::Utils::tempdir();
my $whole = slurp_file("$folder/gpu-2/rank_3.log.gz");
append_to_file("$bad/half.log.gz", substr($whole, 0, length($whole) - 12));
append_to_file("$bad/stub.log.gz", substr($whole, 0, 5));
append_to_file("$bad/other.log.zst", "this was never compressed\n");
$whole = slurp_file("$folder/gpu-4.log.zst");
append_to_file("$bad/part.log.zst", substr($whole, 0, length($whole) - 3));
append_to_file("$bad/empty.log", '');
append_to_file("$bad/program.log", join('', map { chr($_ * 7 % 256) } 1 .. 9000));
append_to_file("$bad/good.log", "one\ntwo\n");
symlink("$bad/none", "$bad/gone.log");
($status, $out, $err) = l4load('-q', 'job-4', $bad);
is($status, 2, 'a file that cannot be read to its end is an error');
is($err =~ s/\Q$bad\E\///gr, join('', map { "l4load: $_\n" } 'gone.log is a link, and is left out', 'empty.log is empty', 'cannot read half.log.gz to its end; what comes before is loaded',
	'cannot read other.log.zst to its end; what comes before is loaded', 'cannot read part.log.zst to its end; what comes before is loaded',
	'program.log is no text, and is left out', 'cannot read stub.log.gz to its end; what comes before is loaded'), 'the files are named, each once');
is($node->safe_psql('postgres', "SELECT node, count(*) > 0 FROM logs WHERE job_id = 'job-4' GROUP BY 1 ORDER BY 1"), "good|t\nhalf|t\npart|t", 'the rest is loaded');
SKIP:
{
	skip 'root reads everything', 2 if $> == 0;
	append_to_file("$bad/locked.log", "one\n");
	chmod 0, "$bad/locked.log";
	($status, $out, $err) = l4load('-q', 'job-8', $bad);
	is($status, 2, 'a file without permission is an error');
	like($err, qr/^l4load: cannot read \S+locked\.log$/m, 'which names the file');
	# neither can what is in a folder that nobody may look into
	my $shut = PostgreSQL::Test::Utils::tempdir();
	mkdir "$shut/gpu-$_" or die for 1 .. 3;
	append_to_file("$shut/gpu-$_/a.log", "one\n") for 1 .. 3;
	chmod 0111, "$shut/gpu-2";
	chmod 0444, "$shut/gpu-3";
	($status, $out, $err) = l4load('-q', 'job-12', $shut);
	is($status, 2, 'a folder without permission is an error');
	is($err =~ s/\Q$shut\E\///gr, "l4load: cannot read gpu-2\nl4load: cannot read gpu-3\n", 'which names the folders');
	is($node->safe_psql('postgres', "SELECT node FROM logs WHERE job_id = 'job-12'"), 'gpu-1', 'the rest is loaded');
	chmod 0755, "$shut/gpu-2", "$shut/gpu-3";
}

# links are named, or followed where that is wished
my $links = PostgreSQL::Test::Utils::tempdir();
mkdir "$links/$_" or die for 'logs', 'elsewhere';
append_to_file("$links/elsewhere/gpu-1.log", "one\n");
symlink("../elsewhere/gpu-1.log", "$links/logs/gpu-1.log");
symlink("../elsewhere", "$links/logs/gpu-2");
symlink("none", "$links/logs/gpu-3.log");
append_to_file("$links/logs/gpu-4.log", "two\n");
($status, $out, $err) = l4load('-q', 'job-14', "$links/logs");
is($status, 0, 'a link is no error');
is($err, join('', map { "l4load: $links/logs/$_ is a link, and is left out\n" } 'gpu-1.log', 'gpu-2', 'gpu-3.log'), 'but named');
($status, $out, $err) = l4load('-q', '--follow', 'job-15', "$links/logs");
is($node->safe_psql('postgres', "SELECT source FROM logs WHERE job_id = 'job-15' ORDER BY 1"), "gpu-1.log\ngpu-2/gpu-1.log\ngpu-4.log", 'links are followed');
is($err, "l4load: $links/logs/gpu-3.log is a link, and is left out\n", 'one to nothing cannot be');

# a file that somebody empties while it is read: here, whoever reads it first
my $cut = PostgreSQL::Test::Utils::tempdir();
mkdir "$cut/bin" or die;
append_to_file("$cut/bin/zstd", "#!/bin/sh\necho two\ncase \$3 in *b.log.zst) : >\"\$3\" ;; esac\n");
chmod 0755, "$cut/bin/zstd";
append_to_file("$cut/$_", "one\n") for 'a.log', 'b.log.zst';
{
	local $ENV{PATH} = "$cut/bin:$ENV{PATH}";
	($status, $out, $err) = l4load('-q', 'job-13', $cut);
}
is($status, 2, 'a file that is cut is an error');
like($err, qr/^l4load: \S+b\.log\.zst was cut while it was read; what was still there is loaded$/, 'which names the file');
is($node->safe_psql('postgres', "SELECT node, line FROM logs WHERE job_id = 'job-13' ORDER BY node"), "a|one\nb|two", 'what was still there is loaded');

# a file that grows while it is read
my $growing = PostgreSQL::Test::Utils::tempdir();
append_to_file("$growing/a.log", "line\n" x 500000);
my $writer = IPC::Run::start([ 'sh', '-c', "until test -e $growing/stop; do echo more >> $growing/a.log; sleep 0.02; done" ]);
($status, $out, $err) = l4load('-q', 'job-9', $growing);
append_to_file("$growing/stop", '');
$writer->finish;
is($status, 0, 'loads a file that grows');
like($err, qr/a\.log grew while it was read; --update loads what came since/, 'and says so');

# folders of two jobs
my $two = PostgreSQL::Test::Utils::tempdir();
mkdir "$two/$_" for 'first', 'second';
append_to_file("$two/$_/gpu-1.log", "one\n") for 'first', 'second';
($status, $out, $err) = l4load('-q', 'job-10', $two);
is($status, 0, 'loads folders of two jobs as one');
like($err, qr/^l4load: several sub-folders have a file gpu-1\.log; each sub-folder becomes a node of job "job-10"/, 'with a warning');
append_to_file("$growing/slurm-$_.log", "one\n") for 1001, 1002;
($status, $out, $err) = l4load('-q', 'job-11', $growing);
like($err, qr/^l4load: the names of the files speak of several jobs \(slurm-1001 slurm-1002\); all become job "job-11"/, 'the same of names of jobs');

# one file of all nodes
my $one = PostgreSQL::Test::Utils::tempdir();
my $labelled = join '', "starting\n", map { my $i = $_; map { " $_: step $i\n" } 0 .. 2 } 1 .. 40;
append_to_file("$one/slurm-7.out", $labelled . "srun: error: task 2: Killed\n");
($status, $out, $err) = l4load('-q', 'job-16', "$one/slurm-7.out");
is($status, 0, 'loads a file of any name');
is($err, "l4load: the lines of slurm-7.out begin with names, of 3 nodes or ranks: --line-node '^ *([0-9]+): ' is taken; --line-node '' takes all for one node\n", 'and says how it tells its nodes apart');
is($node->safe_psql('postgres', "SELECT count(DISTINCT node) FROM logs WHERE job_id = 'job-16'"), '4', 'does so');
($status, $out, $err) = l4load('-q', '--line-node', '', 'job-16b', "$one/slurm-7.out");
is($err . $node->safe_psql('postgres', "SELECT DISTINCT node FROM logs WHERE job_id = 'job-16b'"), 'slurm-7', 'but for an empty --line-node');
($status, $out, $err) = l4load('-q', '--line-node', '^ *([0-9]+): ', 'job-17', "$one/slurm-7.out");
my $by_node = "SELECT node, rank, source, count(*), min(line_no), max(line_no) FROM logs WHERE job_id = 'job-17' GROUP BY 1, 2, 3 ORDER BY 1";
is($node->safe_psql('postgres', $by_node), join("\n", '0|0|slurm-7.out|40|2|119', '1|1|slurm-7.out|40|3|120', '2|2|slurm-7.out|40|4|121', 'slurm-7||slurm-7.out|2|1|122'),
	'--line-node takes nodes, and ranks, from lines; what has none is of the file');
append_to_file("$one/slurm-7.out", " 1: bye\n");
($status, $out, $err) = l4load('-q', '--update', '--line-node', '^ *([0-9]+): ', 'job-17', $one);
is("$status$err", '0', '--update with it');
like($node->safe_psql('postgres', $by_node), qr/^1\|1\|slurm-7.out\|41\|3\|123$/m, 'takes what came');

# folders as launchers and containers write them: a rotated file, pods, attempts; and what is no log
my $tree = PostgreSQL::Test::Utils::tempdir();
my $pod = 'ml_train-0_3f2a9c1e-0a0b-4c0d-8e0f-000000000001';
foreach my $path ('w1.log', 'w1.log.1', "$pod/main/0.log", 'n1/run_x/attempt_0/3/stdout.log', 'n1/run_x/attempt_1/3/stderr.log')
{
	system('mkdir', '-p', "$tree/" . ($path =~ s/[^\/]*$//r));
	append_to_file("$tree/$path", $text);
}
($status, $out, $err) = l4load('-q', 'job-18', $tree);
like($err, qr/^l4load: there are files of several attempts \(attempt_0 attempt_1\); where the same nodes tried again, the first failure tells/, 'names attempts');
is($node->safe_psql('postgres', "SELECT node, source, rank FROM logs WHERE job_id = 'job-18' AND line_no = 1 ORDER BY 2"),
	join("\n", 'train-0|' . "$pod/main/0.log|", 'n1|n1/run_x/attempt_0/3/stdout.log|3', 'n1|n1/run_x/attempt_1/3/stderr.log|3', 'w1|w1.log|', 'w1|w1.log.1|'),
	'nodes of pods and of rotated files, ranks of attempts');
append_to_file("$tree/export.csv", "timestamp,message\n1,hello\n");
($status, $out, $err) = l4load('-q', 'job-19', "$tree/export.csv");
like($err, qr/^l4load: export.csv looks like a table or a document, not like lines of a log/, 'a table is no log');

foreach my $case (
	[ [], 1, qr/a job and a folder or file are needed/ ],
	[ [ '--nonsense', 'a', 'b' ], 1, qr/unknown option --nonsense/ ],
	[ ['--table'], 1, qr/option --table needs a value/ ],
	[ [ '--status', 'odd', 'a', $folder ], 1, qr/--status must be running, succeeded or failed, not "odd"/ ],
	[ [ '--first-line', 'x', 'a', $folder ], 1, qr/--first-line must be a number, not "x"/ ],
	[ [ '--node', 's/(/', 'a', $folder ], 1, qr/sed does not understand "s\/\(\/"/ ],
	[ [ '--time', '(', 'a', $folder ], 1, qr/perl does not understand "\("/ ],
	[ [ '--line-node', '[', 'a', $folder ], 1, qr/perl does not understand "\["/ ],
	[ [ '', $folder ], 1, qr/the name of the job is empty/ ],
	[ [ 'a', "$folder/none" ], 2, qr/is no folder/ ],
	[ [ '--glob', '*.nothing', 'a', $folder ], 2, qr/no file named \*\.nothing in \S+; there are \d+ \*\.\w+, .*: name yours by --glob$/ ],
	[ [ 'a', PostgreSQL::Test::Utils::tempdir() ], 2, qr/no file named \*\.log \*\.log\.gz \*\.log\.zst \*\.log\.\[0-9\]\* \*\.out .* in \S+$/ ],
	[ [ '--append', '--update', 'a', $folder ], 1, qr/--append and --update exclude each other/ ],
	[ [ '-q', '-d', 'host=/nowhere', 'a', $folder ], 3, qr/connection to server/ ],
	[ [ '-q', '-d', 'dbname=template1', 'a', $folder ], 3, qr/the database has no l4: run CREATE EXTENSION l4 in it/ ],
	[ [ '-q', '-d', 'dbname=nowhere', 'a', $folder ], 3, qr/database "nowhere" does not exist/ ])
{
	my ($args, $expected, $message) = @$case;
	($status, $out, $err) = l4load(@$args);
	is($status, $expected, "exit status of l4load @$args[0 .. ($#$args > 1 ? 1 : $#$args)]");
	like($err, $message, 'its message');
}
SKIP:
{
	skip 'no shellcheck', 1 if system('shellcheck --version >/dev/null 2>&1') != 0;
	my @scripts = ('src/l4load', 'test/run', '.ci/run', glob('test/lib/*.sh test/bench/*.sh'));
	my $said = `shellcheck -x @scripts`;
	is($said, '', 'shellcheck has nothing to say about any script');
}
$node->stop;
done_testing();
