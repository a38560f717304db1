-- Many patterns over a line in one pass: pcre_first, pcre_all, pcre_scan, and the bulk form.
\set VERBOSITY default
CREATE TEMP TABLE pattern (id int PRIMARY KEY, p l4.pcre);
INSERT INTO pattern VALUES
    (1, 'NVRM: Xid \(.*\): 79\b'), (2, 'NVRM: Xid \(.*\): (13|31)\b'), (3, '(?i)cuda error: (out of memory|illegal)'),
    (4, 'ECC|ecc error'), (5, 'rank (?<rank>\d+)'), (6, '^$'), (7, '(a+)+$'), (8, '\d{4}'), (9, 'nan'), (10, 'É\w+é');
CREATE TEMP TABLE line (no int PRIMARY KEY, l text);
INSERT INTO line VALUES
    (1, 'NVRM: Xid (PCI:0000:3b:00): 79, pid=1'), (2, 'NVRM: Xid (PCI:0000:04:00): 31, pid=10554'),
        (3, 'CUDA ERROR: Out Of Memory on rank 3'),
    (4, 'ecc error'), (5, ''), (6, repeat('a', 40) || '!'), (7, 'loss is NaN'), (8, 'loss=nan'), (9, 'un État privé'),
        (10, 'cuda error: illegal'),
    (11, NULL), (12, 'E'), (13, 'EC'), (14, 'ECC'),
        (15, 'cuda error: out of memory (cause: di' || U&'\017F' || U&'\212A' || ')');
SELECT no, l4.pcre_first(l, ids, patterns), l4.pcre_all(l, ids, patterns)
FROM line, (SELECT array_agg(id ORDER BY id) AS ids, array_agg(p ORDER BY id) AS patterns FROM pattern) AS p
    ORDER BY no;
SELECT no, s.* FROM line, (SELECT array_agg(id ORDER BY id) AS ids, array_agg(p ORDER BY id) AS patterns
        FROM pattern) AS p,
    l4.pcre_scan(l, ids, patterns) AS s ORDER BY no, id;
SELECT * FROM l4._pcre_multimatch('{Xid,"^.$","(a+)+$"}', ARRAY['Xid 79', NULL, repeat('a', 40) || '!', 'x', ''])
    ORDER BY 1, 2;
-- none, and no line
SELECT l4.pcre_first('x', '{}', '{}') IS NULL AS none, l4.pcre_all('x', '{}', '{}') AS empty,
    l4.pcre_all(NULL, '{1}', '{x}') IS NULL AS null_line;
-- ids are the caller's: any order, the first that matches
SELECT l4.pcre_first('abc', '{9,-3,9}', '{x,b,a}'), l4.pcre_all('abc', '{9,-3,9}', '{x,b,a}');
-- arrays that change from row to row
SELECT l4.pcre_first('abc', ARRAY[n], ARRAY[chr(96 + n)::l4.pcre]) FROM generate_series(1, 5) AS n;
-- from a table, stored out of line; both libraries have the same size
CREATE TEMP TABLE library (no int, ids int[], patterns l4.pcre[]);
ALTER TABLE library ALTER ids SET STORAGE EXTERNAL, ALTER patterns SET STORAGE EXTERNAL;
INSERT INTO library
SELECT no, array_agg(n ORDER BY n), array_agg(('code ' || no || n || '\b')::l4.pcre ORDER BY n)
    FROM generate_series(1, 2) AS no, generate_series(1000, 1999) AS n GROUP BY no;
SELECT l.t, b.no, l4.pcre_first(l.t, b.ids, b.patterns)
    FROM (VALUES (1, 'code 11000'), (2, 'code 21999')) AS l(k, t), library AS b ORDER BY l.k, b.no;
SELECT b.no, l.t, l4.pcre_first(l.t, b.ids, b.patterns)
    FROM (VALUES (1, 'code 11000'), (2, 'code 21999')) AS l(k, t), library AS b ORDER BY b.no, l.k;
-- in expressions of PL/pgSQL, where the same parameter has another value in each call
CREATE FUNCTION pg_temp.first_of_each(line text) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE
    ids int[] := '{0}';
    patterns l4.pcre[] := '{x}';
BEGIN
    FOR i IN 1..5 LOOP
        ids[1] := i;
        patterns[1] := chr(96 + i);
        RETURN NEXT l4.pcre_first(line, ids, patterns);
    END LOOP;
END $$;
SELECT * FROM pg_temp.first_of_each('ac');

-- errors
SELECT l4.pcre_first('x', '{1,2}', '{x}');
SELECT l4.pcre_first('x', '{{1,2}}', '{x,y}');
SELECT l4.pcre_all('x', '{1,NULL}', '{x,y}');
SELECT l4.pcre_all('x', '{1,2}', '{x,NULL}');
SELECT l4._pcre_multimatch('{x}', '{{a,b},{c,d}}');

-- every pattern on every line gives the same as one by one, for all kinds of syntax and odd lines
CREATE TEMP TABLE odd (id serial, p l4.pcre);
INSERT INTO odd (p) SELECT unnest(ARRAY[
    'a\Q*b\E+c', '\Qab\E*c', 'ab(?#x)*c', 'abc?', 'ab{0}c', 'ab{0,2}cd', 'ab{2}cd', '(?i)disk', '(?i:KISS) of',
        '(?x) ab c # note', '(?x)ab c*d',
    'é*abc', 'abc|', '(abc|def)?xyz', '(?=.*foo)bar', '(?<!x)foo', '(?<=GPU )lost', '[Ee]rror', '[]a]bc', '[^]]abc',
        '[a\]b]cd', 'a\Eb*c', '\x41BC',
    'foo\Kbar', '(?|abc|def)g', '(?<n>abc)\k<n>', '(a)(b)\2\1cd', '(?:ab|cd){2}ef', '(?:ab|cd){0,2}ef', '(?>abc)def',
        'ab{cd', 'a{1}bc', 'a++bcd',
    '(?i)é*ss', '(?-i)ab(?i)CD|EF', '(?:(?i)ab|Cd)e', '(?(?=ab)abc|def)', '\bGPU\b.*\blost\b', 'x*', '', '.',
        '(?1)abc(d)', 'a\Q\E*bc', '[[:alpha:]]bcd',
    '(?:a|bb|ccc|dd)?e(?:ff|gg)', 'ab*+c', '\.cpp:\d+', '\p{Lu}abc', '\N+abc', '(?s).a', '(?i)[ks]x', 'ab\cAc',
        '(?P<x>ab)(?P=x)cd', '(?&y)(?<y>abc)',
    'a(?:b|c)?+d', 'ab??c', 'abc{1,}d', 'abc{0}', '\Qa.b\E', '(?i)\Qk.s\E', '[a-f]bc', '[5-9B]x', 'ab', 'é', '(?:é|ü)x',
        'a{2,3}?b', '(?:){3}abc',
    '(?i)(?:STRASSE|Kelvin)', '\R\x41?', 'ab(?^)c(?i)D', '(?^i:Foo)b', 'abc(*ACCEPT)d', 'ab(?#note)|(?#)cd', 'ab{,2}c',
        'a\h*b', '\Hbc', '\vAB|\Vbcd', '(?x)é +x', '[\Qa]\E]b', '\x{41}BC', '[\x41]BC',
    '[+-\/]bc', '[A-É]bc', '(?i)[^é]ss', '[ab-]c', '(?<n>ab)\k''n''', '(ab)\g{1}', '\pLbc', '\p{^L}b', '\o{101}BC',
        '(?:(?:ab)+)+c', '(?:a|b)*c{20,}|foo', '(?s:.)*foo.', '^.*^foo', '(?i)is\K', '[^\d\s]{4}xyz', '[[:^alpha:]]bc',
        '(?:a\|b)c', 'a\\b', repeat('(', 60) || 'abc' || repeat(')', 60)]::l4.pcre[]);
CREATE TEMP TABLE subject AS
WITH piece AS (
    SELECT ARRAY['ab', 'abc', 'b', 'c', 'cd', 'd', '*b', 'a', 'ef', 'e', 'ff', 'gg', 'foo', 'bar', 'GPU ', 'lost', 'é',
        'É', 'K', 'S', U&'di\017F\212A', U&'\212A',
        'is', 'xyz', '{', 'x', E'\n', 'ABC', 'disk', 'DISK', 'error', ']', '.', 'kiSS of', 'g', '1', '#', 'def', '5',
            'B', '|', E'\\', 'straße', ' '] AS s)
SELECT row_number() OVER ()::int AS no,
    concat(s[1 + (n * 7919 + 11) % 44], s[1 + (n * 104729 + n / 44) % 44], s[1 + (n * 1299709 / 7) % 44],
        s[1 + n / 13 % 44]) AS t
FROM piece, generate_series(0, 2999::bigint) AS n;
CREATE TEMP TABLE one_by_one AS
SELECT no, id, l4.pcre_match(t, p) AS matched FROM subject, odd WHERE l4.pcre_match(t, p) IS DISTINCT FROM false;
CREATE TEMP TABLE at_once AS
SELECT line AS no, pattern AS id, matched
FROM l4._pcre_multimatch((SELECT array_agg(p ORDER BY id) FROM odd), (SELECT array_agg(t ORDER BY no) FROM subject));
SELECT count(*) > 10000 AS enough, count(DISTINCT id) > 55 AS most_patterns_match FROM one_by_one;
(TABLE one_by_one EXCEPT TABLE at_once) UNION ALL (TABLE at_once EXCEPT TABLE one_by_one);

-- without case: that one of two literals is spelled with other characters does not rule a line out, a missing one does
SELECT t, l4.pcre_all(t, '{1,2}', '{"(?i)failure of .* on disk","(?i)disk failure"}')
FROM unnest(ARRAY['Failure of node 3 on DISK', U&'FAILURE of node 3 on di\017F\212A', U&'di\017Fk failure',
    'failure of node 3 on tape', 'disk failures of node 3 on disk']) AS t;

-- a literal of any length is found wherever in a line it stands, to the last byte, and its beginning alone is not
WITH a AS (
    SELECT array_agg(n::int ORDER BY n) AS ids, array_agg((CASE WHEN n > 5 THEN '(?i)' ELSE '' END || upper(w) ||
        '|' || w)::l4.pcre ORDER BY n) AS patterns, array_agg(w ORDER BY n) AS words
    FROM unnest(ARRAY['zq', 'qzw', 'wqzv', 'vwqzx', 'xvwqzk', 'kxvwqzj', 'jkxvwqzgh', 'hjkxvwqzgmnp']) WITH ORDINALITY
        AS w(w, n)),
placed AS (
    SELECT repeat('-', before) || CASE before % 3 WHEN 0 THEN left(w, -1) ELSE w END || repeat('.', behind) AS t
    FROM a, unnest(words) AS w, generate_series(0, 300) AS before,
        unnest(ARRAY[0, 1, 2, 3, 5, 8, 21, 29, 30, 31, 32, 33, 34, 35]) AS behind)
SELECT count(*) AS lines, count(*) FILTER (WHERE cardinality(expected) > 0) > 20000 AS enough,
    count(*) FILTER (WHERE expected <> l4.pcre_all(t, ids, patterns)) AS differences
FROM a, placed, LATERAL (SELECT ARRAY(SELECT n::int FROM unnest(words) WITH ORDINALITY AS w(w, n) WHERE strpos(t, w) > 0
    ORDER BY n) AS expected) AS e;

-- thousands of literals, many of them with the same beginning or of two bytes
CREATE TEMP TABLE word AS
SELECT n AS id, (CASE n % 4 WHEN 0 THEN '' ELSE '(?i)' END || translate(n::text, '0123456789', 'abcdeFGHIJ') ||
    CASE n % 3 WHEN 0 THEN '' ELSE substr(md5(n::text), 1, n % 9) END || '$')::l4.pcre AS p
FROM generate_series(10, 3009) AS n;
CREATE TEMP TABLE sentence AS
SELECT n AS no, md5(n::text) || CASE n % 2 WHEN 0 THEN upper(translate(n::text, '0123456789', 'abcdefghij'))
    ELSE translate(n::text, '0123456789', 'abcdeFGHIJ') END AS t
FROM generate_series(10, 409) AS n;
WITH found AS (
    SELECT line, pattern FROM l4._pcre_multimatch((SELECT array_agg(p ORDER BY id) FROM word),
        (SELECT array_agg(t ORDER BY no) FROM sentence)))
SELECT count(*) > 100 AS enough,
    (SELECT count(*) FROM sentence, word WHERE l4.pcre_match(t, p)) = count(*) AS same_count FROM found;

-- more strings than are kept of a pattern, so that their beginnings are looked for: each is found, and a beginning
-- alone is no match
WITH word AS (SELECT n, 'component' || n || ' gave up waiting for ' || chr(97 + n % 26) || n * 7919 AS w
    FROM generate_series(100, 300) AS n),
p AS (SELECT ARRAY[1, 2] AS ids, ARRAY['(?:' || string_agg(w, '|' ORDER BY n) || ')!|no such thing at all',
    '(?:' || string_agg(reverse(w), '|' ORDER BY n) || ')$']::l4.pcre[] AS patterns FROM word)
SELECT count(*) AS lines, count(*) FILTER (WHERE l4.pcre_all('x ' || w || '!', ids, patterns) = '{1}') AS whole,
    count(*) FILTER (WHERE l4.pcre_all(reverse(w), ids, patterns) = '{2}') AS reversed,
    count(l4.pcre_first('x ' || left(w, 24) || '!', ids, patterns)) AS beginnings,
        count(l4.pcre_first(reverse(w) || ' ', ids, patterns)) AS followed FROM word, p;

-- patterns that are tried in vain on many lines: an automaton is asked first, the answers stay the same
CREATE TEMP TABLE common AS
SELECT row_number() OVER ()::int AS id, p::l4.pcre AS p
FROM (SELECT replace(v.f, '%s', n::text) AS p
    FROM generate_series(1, 9) AS n, (VALUES ('Error.*\bcode %s\b'), ('(?i)FAILED \w+ %s$'),
        ('^(?!.*ok)(?=.*Error).{0,400}?x%s'), ('\b%s(?:ms|us)\b'), ('[A-F]%s\d*+-'), ('Error|%s failed'),
        ('rank=%s(?!\d)\W+failed'), ('(?m)^%s.*$'), ('%s{2,}\s|é%s?$'), ('(?:rank|Rank)=\d{1,3} [^:]*: %s'),
            ('\Bode %s.'), ('(?<=code )%s(?:\D|$)'), ('failed %s\Z'), ('\A.rror %s'), ('é{1,3}.%s'),
        ('(?:Error|error)(?: \w+){2,4} %s'), ('[^a-z ]{3}%s'), ('(?i)kind %s'), ('s%s\s*é'), ('%s\z'), ('\Gr%s')
        ) AS v(f)) AS s;
CREATE TEMP TABLE worse AS
SELECT n AS no, concat_ws(CASE n % 11 WHEN 0 THEN E'\n' WHEN 1 THEN '' ELSE ' ' END,
    CASE n % 3 WHEN 0 THEN 'Error' WHEN 1 THEN 'error' ELSE 'r' || n % 10 END, 'rank=' || n % 13,
    CASE WHEN n % 5 = 0 THEN 'é' || n % 7 END,
    'failed op ' || n % 17, CASE WHEN n % 4 = 0 THEN 'code ' || n % 12 END,
        CASE n % 7 WHEN 0 THEN 'x' || n % 10 WHEN 1 THEN U&'\212Aind ' || n % 10 WHEN 2 THEN n % 31 || 'ms'
        WHEN 3 THEN 'ok' WHEN 4 THEN 'A' || n % 40 || '-' END,
    CASE WHEN n % 6 = 0 THEN n % 20 || ': s' || n % 10 || ' éé' END) AS t
FROM generate_series(1, 3000) AS n;
CREATE TEMP TABLE common_one_by_one AS
SELECT no, id, l4.pcre_match(t, p) AS matched FROM worse, common WHERE l4.pcre_match(t, p) IS DISTINCT FROM false;
CREATE TEMP TABLE common_at_once AS
SELECT line AS no, pattern AS id, matched
FROM l4._pcre_multimatch((SELECT array_agg(p ORDER BY id) FROM common), (SELECT array_agg(t ORDER BY no) FROM worse));
SELECT count(*) > 20000 AS enough, count(DISTINCT id) > 100 AS most_patterns_match FROM common_one_by_one;
(TABLE common_one_by_one EXCEPT TABLE common_at_once) UNION ALL (TABLE common_at_once EXCEPT TABLE common_one_by_one);

-- lines of which hardly two lead to the same states: the automaton is given up, the answers stay the same
CREATE TEMP TABLE sticky AS
SELECT n AS id, format('%s.*%s.*%s', chr(97 + n % 6), chr(97 + n / 6 % 6), n % 10)::l4.pcre AS p
    FROM generate_series(0, 35) AS n;
CREATE TEMP TABLE noise AS SELECT n AS no, repeat(md5(n::text), 3) || md5((-n)::text) || 'Z' AS t
    FROM generate_series(1, 3000) AS n;
SELECT (SELECT count(*) FROM noise, sticky WHERE l4.pcre_match(t, p)) = count(*) AS same_count
FROM l4._pcre_multimatch((SELECT array_agg(p ORDER BY id) FROM sticky), (SELECT array_agg(t ORDER BY no) FROM noise));

-- lines that lead to more states than there is room for, but seldom
CREATE TEMP TABLE rare AS
SELECT n AS id,
    format('(?:x|y)[vwx][tux]\d|%s.*%s.*[%s-9]\z', chr(97 + n % 6), chr(97 + n / 6 % 6), n % 10)::l4.pcre AS p
FROM generate_series(0, 35) AS n;
CREATE TEMP TABLE long_noise AS
SELECT n AS no, repeat('x', 9000) || md5(n::text) || md5((-n)::text) || CASE n % 25 WHEN 0 THEN '7' ELSE '!' END AS t
    FROM generate_series(1, 500) AS n;
SELECT count(*) > 100 AS enough, (SELECT count(*) FROM long_noise, rare WHERE l4.pcre_match(t, p)) = count(*)
    AS same_count
FROM l4._pcre_multimatch((SELECT array_agg(p ORDER BY id) FROM rare),
    (SELECT array_agg(t ORDER BY no) FROM long_noise));

-- lines that differ in their digits only, of which what was found out once is kept: patterns that tell digits apart,
-- by literals, classes, what stands around, and what is repeated
CREATE TEMP TABLE telling AS
SELECT row_number() OVER ()::int AS id, p::l4.pcre AS p
FROM (SELECT replace(v.f, '%s', n::text) AS p
    FROM generate_series(1, 6) AS n, (VALUES ('code %s\d'), ('rank%s\b.*lost'), ('lost [%s-7]+ of'), ('(?<!%s) of \d'),
        ('code (\d)\1%s?\b'), ('(?i)NODE0%s[^%s]'), ('x%s|lost %s%s')) AS v(f)
    UNION ALL SELECT format('ERR-0%s', n) FROM generate_series(100, 199) AS n) AS s;
CREATE TEMP TABLE numbered AS
SELECT n AS no, CASE n % 5 WHEN 0 THEN format('rank%s lost %s of %s packets, code %s%s', n % 8, n % 97, n % 10, n % 7,
    n % 11) WHEN 1 THEN format('node0%s%s is up x%s', n % 7, n % 3, n % 10)
    WHEN 2 THEN format('step %s of %s done on Node0%s', n, n % 10, n % 13)
        WHEN 3 THEN format('E ERR-0%s at rank%s', 100 + n / 5 % 500, n % 8)
        ELSE format('unlike %s lost %s of 5', md5(n::text), n % 9) END AS t
FROM generate_series(1, 5000) AS n;
CREATE TEMP TABLE telling_one_by_one AS
SELECT no, id, l4.pcre_match(t, p) AS matched FROM numbered, telling WHERE l4.pcre_match(t, p) IS DISTINCT FROM false;
CREATE TEMP TABLE telling_at_once AS
SELECT line AS no, pattern AS id, matched
FROM l4._pcre_multimatch((SELECT array_agg(p ORDER BY id) FROM telling),
    (SELECT array_agg(t ORDER BY no) FROM numbered));
SELECT count(*) > 5000 AS enough, count(DISTINCT id) > 130 AS most_patterns_match FROM telling_one_by_one;
(TABLE telling_one_by_one EXCEPT TABLE telling_at_once)
    UNION ALL (TABLE telling_at_once EXCEPT TABLE telling_one_by_one);

-- all shipped signatures on all shipped examples, each example alone and in a line of a trainer
CREATE TEMP TABLE shipped AS SELECT row_number() OVER (ORDER BY fault_id)::int AS id, signature AS p FROM l4.fault
    WHERE origin = 'builtin' AND signature IS NOT NULL;
CREATE TEMP TABLE example AS
SELECT row_number() OVER (ORDER BY fault_id, k)::int AS no,
    CASE k WHEN 0 THEN example ELSE '2026-01-07 10:11:12,345 [ERROR] [trainer.py:311] rank 7: ' || example ||
    ' host=h12.cluster' END AS t
FROM l4.fault, generate_series(0, 1) AS k WHERE origin = 'builtin' AND example <> '';
CREATE TEMP TABLE shipped_at_once AS
SELECT line AS no, pattern AS id, matched
FROM l4._pcre_multimatch((SELECT array_agg(p ORDER BY id) FROM shipped),
    (SELECT array_agg(t ORDER BY no) FROM example));
CREATE TEMP TABLE shipped_one_by_one AS
SELECT no, id, l4.pcre_match(t, p) AS matched FROM example, shipped WHERE l4.pcre_match(t, p) IS DISTINCT FROM false;
SELECT count(*) > 1000 AS enough FROM shipped_one_by_one;
(TABLE shipped_one_by_one EXCEPT TABLE shipped_at_once)
    UNION ALL (TABLE shipped_at_once EXCEPT TABLE shipped_one_by_one);
