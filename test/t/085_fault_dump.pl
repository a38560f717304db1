# Users' faults, their conditions and what was switched off survive dump and restore; the shipped rows come from the new
# installation, whatever it ships, and no row of either collides.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION l4;
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy, leads_to)
VALUES ('mine', 'user', 'program', 'my very own text', 'c', 'r', '{host_oom_kill}'),
       ('host_oom_kill', 'platform', 'resource', 'my own wording of it', 'c', 'r', '{}');
INSERT INTO l4.fault (name, category, component, templates, root_cause, remedy) VALUES ('template', 'user', 'program', '{"worker <*> died"}', 'c', 'r');
INSERT INTO l4.fault (name, category, component, root_cause, remedy, combined) VALUES ('both', 'user', 'program', 'c', 'r', true);
INSERT INTO l4.fault_condition (fault_id, step, signature) SELECT fault_id, s, 'event ' || s || ' happened' FROM l4.fault, generate_series(1, 2) s WHERE name = 'both';
INSERT INTO l4.fault_condition (fault_id, step, kind, silence, max_nodes) SELECT fault_id, 3, 'quiet', interval '1 min', 1 FROM l4.fault WHERE name = 'both'
UNION ALL SELECT fault_id, 4, 'effect', NULL, NULL::int FROM l4.fault WHERE name = 'both';
INSERT INTO l4.disabled_rule (kind, name) VALUES ('fault', 'pcie_aer_any');
INSERT INTO l4.job (job_id, status) VALUES ('j', 'failed');
INSERT INTO l4.fault_match VALUES ('j', 1, 1000000, 'n', 1, 'my very own text', NULL, 'mine', '', 1, '2026-01-05', 1, false, '{}', true);
INSERT INTO l4.fault_given_up VALUES ('j', 1000000, 'mine', 'n', 2, 'a line');
});
my $what = q{
SELECT string_agg(t::text, E'\n' ORDER BY t::text) FROM (
	SELECT 'fault', to_jsonb(f) FROM l4.fault f WHERE fault_id >= 1000000
	UNION ALL SELECT 'condition', to_jsonb(c) FROM l4.fault_condition c
	UNION ALL SELECT 'active', to_jsonb(f) FROM l4.active_fault f WHERE name IN ('host_oom_kill', 'pcie_aer_any')
	UNION ALL SELECT 'match', to_jsonb(m) FROM l4.fault_match m
	UNION ALL SELECT 'given up', to_jsonb(m) FROM l4.fault_given_up m
	UNION ALL SELECT 'shipped', to_jsonb(count(*)) FROM l4.fault WHERE fault_id < 1000000) AS t(a, b)};
my $before = $node->safe_psql('postgres', $what);
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '--file', $dump, '--dbname', $node->connstr('postgres') ], 'dumps');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--file', $dump, '--dbname', $node->connstr('copy') ], 'restores');
is($node->safe_psql('copy', $what), $before, 'the library is the same');
is($node->safe_psql('copy', q{
INSERT INTO l4.fault (name, category, component, signature, root_cause, remedy) VALUES ('next', 'user', 'program', 'some other text', 'c', 'r')
RETURNING fault_id > (SELECT max(fault_id) FROM l4.fault WHERE name <> 'next')}), 't', 'the next id is free');

# a pack that lacks a name and ships one of the user's names: the restore takes the rows and says what is wrong
$node->safe_psql('postgres', q{
CREATE DATABASE other});
$node->safe_psql('other', q{
CREATE EXTENSION l4;
ALTER TABLE l4.fault DISABLE TRIGGER USER;
DELETE FROM l4.fault WHERE name = 'host_oom_kill';
INSERT INTO l4.fault (fault_id, name, category, component, signature, root_cause, remedy, leads_to, origin)
VALUES (999999, 'mine', 'user', 'program', 'shipped under the same name', 'c', 'r', '{}', 'builtin');
ALTER TABLE l4.fault ENABLE TRIGGER USER});
my $data = $node->basedir . '/data.sql';
$node->command_ok([ 'pg_dump', '--file', $data, '--data-only', '--table', 'l4.fault', '--table', 'l4.fault_condition', '--dbname', $node->connstr('postgres') ], 'dumps the rows alone');
$node->command_ok([ 'psql', '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--file', $data, '--dbname', $node->connstr('other') ], 'restores them beside another pack');
is($node->safe_psql('other', q{SELECT origin FROM l4.active_fault WHERE name = 'mine'}), 'user', 'the user\'s row counts');
is($node->safe_psql('other', q{SELECT count(*) FROM l4.fault WHERE fault_id >= 1000000}), '4', 'all rows are there');

$node->stop;
done_testing();
