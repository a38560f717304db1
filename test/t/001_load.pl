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
done_testing();
