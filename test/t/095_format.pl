# Files keep the rules of form that test/format checks, but for those of test/format.exempt, a list that only shrinks.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Test::More;

my %broken = map { $_ => 1 } split /\n/, `perl test/format`;
is($?, 0, 'the check runs');
my %exempt = map { $_ => 1 } split /\n/, slurp_file('test/format.exempt');
is_deeply([ grep { !$exempt{$_} } sort keys %broken ], [], 'no other file breaks a rule');
is_deeply([ grep { !$broken{$_} } sort keys %exempt ], [], 'who conforms leaves the list: test/format >test/format.exempt');
done_testing();
