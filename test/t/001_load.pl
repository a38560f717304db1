# The extension can be created, dropped and created again, and leaves nothing behind.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION l4; DROP EXTENSION l4 CASCADE; CREATE EXTENSION l4');
is($node->safe_psql('postgres', "SELECT extversion = l4.l4_version() FROM pg_extension WHERE extname = 'l4'"),
	't', 'library and catalog agree on the version');
is($node->safe_psql('postgres', "DROP EXTENSION l4 CASCADE; SELECT count(*) FROM pg_namespace WHERE nspname = 'l4'"),
	'0', 'dropping the extension removes its schema');
# the script is plain ASCII: it installs whatever the encoding of the database
foreach my $encoding ('latin1', 'sql_ascii', 'euc_jp')
{
	$node->safe_psql('postgres', "CREATE DATABASE d_$encoding TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
	is($node->safe_psql("d_$encoding", 'CREATE EXTENSION l4; SELECT count(*) FROM pg_extension'), '2', "installs into a database in $encoding");
}
$node->stop;

# A build folder apart from the source (VPATH), which is not built itself: one object and the install script show that
# all folders are made and all parts are found.
my ($source, $build) = map { PostgreSQL::Test::Utils::tempdir() } 1 .. 2;
system_or_bail("tar -cf - --exclude='*.o' --exclude='*.bc' --exclude='l4--*.sql' --exclude='87_rows.sql' Makefile l4.control src sql | tar -xf - -C $source");
my ($version) = slurp_file('l4.control') =~ /^default_version *= *'(.*)'/m;
foreach my $made ('src/base/args.o', "sql/l4--$version.sql")
{
	command_ok([ 'make', '-s', '-C', $build, '-f', "$source/Makefile", "VPATH=$source", $made ], "make $made in a folder of its own");
	ok(-s "$build/$made" && !-e "$source/$made", 'it is there, and only there');
}
done_testing();
