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
$node->stop;
done_testing();
