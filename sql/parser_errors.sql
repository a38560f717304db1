-- What is refused, and how.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE FUNCTION pg_temp.parser_learn(parser l4.parser, tags integer[], messages text[], counts bigint[]) RETURNS l4.parser
LANGUAGE c STRICT AS '$libdir/l4', 'l4_parser_learn_sql';
\set VERBOSITY default
-- options
SELECT l4._parser_new('[]');
SELECT l4._parser_new('{"algoritm": "l4"}');
SELECT l4._parser_new('{"algorithm": "brain"}');
SELECT l4._parser_new('{"algorithm": 7}');
SELECT l4._parser_new('{"distinct_values": 1}');
SELECT l4._parser_new('{"distinct_values": 1001}');
SELECT l4._parser_new('{"distinct_values": 2.5}');
SELECT l4._parser_new('{"distinct_values": "10"}');
SELECT l4._parser_new('{"depth": 4}');
SELECT l4._parser_new('{"algorithm": "drain", "distinct_values": 4}');
SELECT l4._parser_new('{"algorithm": "drain", "depth": 2}');
SELECT l4._parser_new('{"algorithm": "drain", "sim_th": 1.5}');
SELECT l4._parser_new('{"algorithm": "drain", "sim_th": "a"}');
SELECT l4._parser_new('{"algorithm": "drain", "max_children": 0}');
SELECT l4._parser_new('{"algorithm": "drain", "max_clusters": 0}');
SELECT l4._parser_new('{"algorithm": "drain", "extra_delimiters": "_"}');
SELECT l4._parser_new('{"algorithm": "drain", "extra_delimiters": [""]}');
SELECT l4._parser_new(jsonb_build_object('algorithm', 'drain', 'extra_delimiters', (SELECT array_agg('x'::text) FROM generate_series(1, 101))));
SELECT l4._parser_new('{"algorithm": "drain", "parametrize_numeric_tokens": 1}');
SELECT l4._parser_new('{"delimiters": "a"}');
SELECT l4._parser_new('{"delimiters": 1}');
SELECT l4._parser_new('{"masks": {}}');
SELECT l4._parser_new('{"masks": [1]}');
SELECT l4._parser_new('{"masks": ["built-in"]}');
SELECT l4._parser_new('{"masks": ["builtin", "builtin"]}');
SELECT l4._parser_new('{"masks": [{"name": "A"}]}');
SELECT l4._parser_new('{"masks": [{"name": "A", "pattern": "x", "flags": "i"}]}');
SELECT l4._parser_new('{"masks": [{"name": "A B", "pattern": "x"}]}');
SELECT l4._parser_new('{"masks": [{"name": "A", "pattern": "("}]}');
SELECT l4._parser_new(jsonb_build_object('masks', (SELECT jsonb_agg(jsonb_build_object('name', 'A', 'pattern', 'x')) FROM generate_series(1, 101))));
SELECT l4._parser_new(jsonb_build_object('algorithm', 'drain', 'masks', (SELECT jsonb_agg(jsonb_build_object('name', 'A', 'pattern', 'x')) FROM generate_series(1, 1001))));
SELECT l4.mask('x', '{"algorithm": "l4"}');
SELECT l4.mask('x', '{"masks": [{"name": "", "pattern": "x"}]}');
SELECT l4.parser_train(x, CASE x WHEN 'a' THEN '{}'::jsonb ELSE '{"masks": []}' END) FROM unnest(ARRAY['a', 'b']) x;
SELECT l4.parser_train(x, CASE x WHEN 'a' THEN '{}'::jsonb END) FROM unnest(ARRAY['a', 'b']) x;
-- learning
SELECT pg_temp.parser_learn(l4._parser_new(), '{0}', '{a,b}', '{1,1}');
SELECT pg_temp.parser_learn(l4._parser_new(), '{0,NULL}', '{a,b}', '{1,1}');
SELECT pg_temp.parser_learn(l4._parser_new(), '{{0}}', '{a}', '{1}');
SELECT pg_temp.parser_learn(l4._parser_new(), '{-1}', '{a}', '{1}');
SELECT pg_temp.parser_learn(l4._parser_new('{"algorithm": "drain"}'), '{1}', '{a}', '{1}');
-- values
SELECT 'x'::l4.parser;
SELECT 'l4:0'::l4.parser;
SELECT 'l4:0G'::l4.parser;
SELECT 'l4:01'::l4.parser;
SELECT ('l4:02' || repeat('00', 11))::l4.parser;
SELECT ('l4:01' || repeat('00', 11))::l4.parser;
SELECT ('l4:010001' || repeat('00', 9))::l4.parser;
CREATE TABLE parser_good AS SELECT l4.parser_train(x)::text AS t FROM unnest(ARRAY['a b c', 'a b 1', 'd e']) x;
SELECT (left(t, -2))::l4.parser FROM parser_good;
SELECT (t || '00')::l4.parser FROM parser_good;
SELECT overlay(t placing CASE substr(t, 60, 1) WHEN '0' THEN '1' ELSE '0' END from 60)::l4.parser FROM parser_good;
DROP TABLE parser_good;
-- states of parser_train that are none, or not of one parser
SELECT l4._parser_train_final('');
SELECT l4._parser_train_final('\x03');
SELECT l4._parser_train_final('\x02');
SELECT l4._parser_train_final('\x0105');
SELECT l4._parser_train_final('\x0100');
SELECT l4._parser_train_final('\x01') IS NULL AS no_part;
SELECT l4._parser_train_final(l4._parser_train_combine(l4._parser_train_trans(NULL, 'x'), l4._parser_train_trans(NULL, 'x', '{"distinct_values": 9}')));
