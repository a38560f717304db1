# The archive for PGXN: META.json by the rules, and what it names in the archive. test/meta says what is wrong with others.
use strict;
use warnings;
use IO::Uncompress::Unzip;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $shipped = decode_json(slurp_file('META.json'));
command_ok(['test/meta'], 'META.json is right');

sub wrong
{
	my ($why, $change) = @_;
	my $meta = decode_json(slurp_file('META.json'));
	$change->($meta);
	open(my $out, '>', "$dir/META.json") or die $!;
	print $out encode_json($meta);
	close $out;
	my $said;
	ok(!IPC::Run::run([ 'test/meta', "$dir/META.json" ], '>', \$said), "$why: refused");
	like($said, qr/META\.json: \Q$why\E$/m, $why);
}

foreach my $field (qw(name version abstract maintainer license provides meta-spec))
{
	wrong("missing field $field", sub { delete $_[0]{$field} });
}
wrong('unknown field authors', sub { $_[0]{authors} = 'me' });
wrong('name is no term', sub { $_[0]{name} = 'l 4' });
wrong('version is no semantic version', sub { $_[0]{version} = '0.1' });
wrong("version is not that of l4.control, $shipped->{version}", sub { $_[0]{version} = '9.9.9' });
wrong('licence gpl is not known', sub { $_[0]{license} = 'gpl' });
wrong('meta-spec has not version 1.0.0', sub { $_[0]{'meta-spec'}{version} = '2' });
wrong("provides: l4 has not version $shipped->{version}", sub { $_[0]{provides}{l4}{version} = '0.0.9' });
wrong('provides: l4 has no file', sub { delete $_[0]{provides}{l4}{file} });
wrong('provides: file of l4 is not there; make builds it', sub { $_[0]{provides}{l4}{file} = 'sql/l4.sql' });
wrong('provides has no extension l4', sub { $_[0]{provides} = { l5 => $_[0]{provides}{l4} } });
wrong('prereqs: PostgreSQL has no version', sub { $_[0]{prereqs}{runtime}{requires}{PostgreSQL} = '14' });

SKIP:
{
	skip 'git is not installed', 5 if !IPC::Run::run([ 'git', '--version' ], '>', \my $version, '2>', \my $missing);
	# a repository of its own, so that the archive has what the tree has
	local $ENV{GIT_DIR} = "$dir/git";
	local $ENV{GIT_WORK_TREE} = '.';
	local $ENV{GIT_CONFIG_COUNT} = 2;
	local ($ENV{GIT_CONFIG_KEY_0}, $ENV{GIT_CONFIG_VALUE_0}) = ('user.name', 'test');
	local ($ENV{GIT_CONFIG_KEY_1}, $ENV{GIT_CONFIG_VALUE_1}) = ('user.email', 'test@localhost');
	my $said;
	my @dist = ('make', '-s', 'dist', "DIST=$dir/l4.zip");
	ok(IPC::Run::run([ 'sh', '-c', 'git init -q && git add -A && git commit -q -m all && ' . "@dist" ], '>&', \$said), 'make dist') or diag($said);
	my (%has, $status);
	my $zip = IO::Uncompress::Unzip->new("$dir/l4.zip") or die "no archive";
	for ($status = 1; $status > 0; $status = $zip->nextStream())
	{
		local $/;
		$has{ $zip->getHeaderInfo()->{Name} } = $zip->getline() // '';
	}
	my $top = "l4-$shipped->{version}";
	is_deeply(decode_json($has{"$top/META.json"} // '{}'), $shipped, 'META.json is on top');
	is($has{"$top/$shipped->{provides}{l4}{file}"}, slurp_file($shipped->{provides}{l4}{file}), 'what it provides is there');
	is_deeply([ grep { !m{^\Q$top\E/} || /\.o$/ } sort keys %has ], [], 'nothing lies elsewhere, nothing built is in it');
	# not of what is not committed
	$ENV{GIT_WORK_TREE} = $dir;
	ok(!IPC::Run::run([@dist], '>', \$said, '2>', \$said), 'changes must be committed first');
}
done_testing();
