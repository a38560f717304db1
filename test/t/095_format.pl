# Files keep the rules of form that test/format checks.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

is(`perl test/format`, '', 'no file breaks a rule of form');
is($?, 0, 'the check runs');
done_testing();
