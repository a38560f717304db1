-- Regular expressions: type pcre, match and captures, their limits and errors.
\set VERBOSITY default
SELECT l4.pcre_match('CUDA error: an illegal memory access', 'illegal (memory|instruction)') AS yes,
       l4.pcre_match('all is well', 'illegal (memory|instruction)') AS no,
       l4.pcre_match('XID 79', '(?i)xid') AS inline_caseless,
       l4.pcre_match(NULL, 'x') AS null_line,
       'Xid 79' OPERATOR(l4.=~) '^Xid (\d+)$' AS op,
       l4.pcre_match('', '') AS empty_pattern,
       l4.pcre_match('abc', '') AS empty_in_line;

-- captures: by name, else by number; a group that took no part is null; with equal names the one that matched
SELECT l4.pcre_captures('rank 7 on gpu-12: Xid 79', 'rank (?<rank>\d+)(?: at (\w+))? on (\S+?): Xid (?P<xid>\d+)');
SELECT l4.pcre_captures('nothing here', 'rank (?<rank>\d+)') IS NULL AS no_match;
SELECT l4.pcre_captures('b2', '(?J)(?:a(?<n>\d)|b(?<n>\d))');
SELECT l4.pcre_captures('a b', '\s');

-- a hostile pattern gives up: NULL, or an error on demand
SELECT l4.pcre_match(repeat('a', 40) || 'b', '^(a+)+$') AS gave_up,
       l4.pcre_captures(repeat('a', 40) || 'b', '^(a+)+$') AS gave_up_too,
       repeat('a', 40) || 'b' OPERATOR(l4.=~) '^(a+)+$' AS op_gave_up;
SELECT l4.pcre_match(repeat('a', 40) || 'b', '^(a+)+$', strict => true);
SELECT l4.pcre_match(repeat('a', 40) || 'b', '^(a+)+b$', strict => true) AS fine;

-- other patterns are not disturbed by it
SELECT p, l4.pcre_match(repeat('a', 40) || 'b', p::l4.pcre) FROM unnest(ARRAY['^(a+)+$', 'b$', 'c']) AS p ORDER BY 1;

-- patterns that do not compile: the error shows where
SELECT '(a'::l4.pcre;
SELECT 'ERROR: [a-'::l4.pcre;
SELECT 'überlänge: *+*'::l4.pcre;
SELECT '\C'::l4.pcre;
SELECT repeat('(', 300)::l4.pcre;
SELECT 'a{2,1}'::text::l4.pcre;
SELECT (repeat('x', 1000000))::l4.pcre;
SELECT (repeat('x', 32768))::l4.pcre IS NOT NULL AS longest;
SELECT '(((a{1,999}){1,999}){1,999}'::l4.pcre;
SELECT p, l4.pcre_error(p) FROM unnest(ARRAY['ok', '(a', '[[:nope:]]', 'é(?<1>x)']) AS p;
SELECT l4.pcre_error(repeat('x', 40000));

-- \K moves the start of the match
SELECT l4.pcre_captures('took 12 ms', 'took \K\d+');

-- a long line: searched window by window, with the same answer
SELECT l4.pcre_match(repeat('é-', 30000) || 'needle', 'n(e+)dle$') AS at_end,
       l4.pcre_match(repeat('é-', 30000), '(?<=é)x') AS nowhere,
       l4.pcre_captures(repeat('é-', 30000) || 'ab', '(?<=-)(?<last>a)b') AS lookbehind,
       l4.pcre_match(repeat('x', 100000), '^y|\Gz') AS anchored;
BEGIN;
SET LOCAL statement_timeout = '500ms';
SELECT l4.pcre_match(repeat('ab', 1000000), '[^z]*w[^z]*v');
ROLLBACK;

-- the type: comparison, grouping, order, casts, binary form
CREATE TEMP TABLE p (p l4.pcre PRIMARY KEY);
INSERT INTO p VALUES ('b'), ('a+'), ('B'), ('');
INSERT INTO p VALUES ('b');
INSERT INTO p SELECT 'text \d'::text;
SELECT * FROM p ORDER BY p;
SELECT count(*), count(DISTINCT p) FROM (SELECT p FROM p UNION ALL SELECT p FROM p) AS two;
SELECT p::text || '!' AS as_text FROM p WHERE p OPERATOR(l4.=) 'b';
SELECT 'a'::l4.pcre OPERATOR(l4.<>) 'b' AS ne, 'a'::l4.pcre OPERATOR(l4.<) 'ab' AS lt,
    'b'::l4.pcre OPERATOR(l4.<=) 'a' AS le,
       'b'::l4.pcre OPERATOR(l4.>) 'a' AS gt, 'a'::l4.pcre OPERATOR(l4.>=) 'a' AS ge;
SET enable_mergejoin = off; SET enable_nestloop = off;
SELECT count(*) FROM p AS a JOIN p AS b ON a.p OPERATOR(l4.=) b.p;
RESET enable_mergejoin; RESET enable_nestloop;
SELECT l4.pcre_send('a|b');
CREATE TEMP TABLE q (p l4.pcre);
\copy p TO 'results/pcre.bin' (FORMAT binary)
\copy q FROM 'results/pcre.bin' (FORMAT binary)
SELECT count(*) AS same FROM p, q WHERE l4.pcre_send(p.p) = l4.pcre_send(q.p);
\copy (SELECT '(a'::text) TO 'results/pcre.bin' (FORMAT binary)
\copy q FROM 'results/pcre.bin' (FORMAT binary)

-- many patterns in a nested loop: more than the cache holds, and again
SELECT count(*) FILTER (WHERE l OPERATOR(l4.=~) ('^line ' || n || '$')::l4.pcre)
FROM (SELECT 'line ' || i AS l FROM generate_series(1, 3) i) AS lines, generate_series(1, 2500) AS n;
-- a pattern that forbids the JIT runs without it
SELECT l4.pcre_match('some text', '(*NO_JIT)text'), l4.pcre_match(repeat('a text ', 20000), '(*NO_JIT)texx');
