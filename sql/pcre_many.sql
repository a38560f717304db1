-- Many patterns over a line in one pass: pcre_first, pcre_all, pcre_scan, and the bulk form.
\set VERBOSITY default
CREATE TEMP TABLE pattern (id int PRIMARY KEY, p l4.pcre);
INSERT INTO pattern VALUES
	(1, 'NVRM: Xid \(.*\): 79\b'), (2, 'NVRM: Xid \(.*\): (13|31)\b'), (3, '(?i)cuda error: (out of memory|illegal)'),
	(4, 'ECC|ecc error'), (5, 'rank (?<rank>\d+)'), (6, '^$'), (7, '(a+)+$'), (8, '\d{4}'), (9, 'nan'), (10, 'É\w+é');
CREATE TEMP TABLE line (no int PRIMARY KEY, l text);
INSERT INTO line VALUES
	(1, 'NVRM: Xid (PCI:0000:3b:00): 79, pid=1'), (2, 'NVRM: Xid (PCI:0000:04:00): 31, pid=10554'), (3, 'CUDA ERROR: Out Of Memory on rank 3'),
	(4, 'ecc error'), (5, ''), (6, repeat('a', 40) || '!'), (7, 'loss is NaN'), (8, 'loss=nan'), (9, 'un État privé'), (10, 'cuda error: illegal'),
	(11, NULL), (12, 'E'), (13, 'EC'), (14, 'ECC'), (15, 'cuda error: out of memory (cause: di' || U&'\017F' || U&'\212A' || ')');
SELECT no, l4.pcre_first(l, ids, patterns), l4.pcre_all(l, ids, patterns)
FROM line, (SELECT array_agg(id ORDER BY id) AS ids, array_agg(p ORDER BY id) AS patterns FROM pattern) AS p ORDER BY no;
SELECT no, s.* FROM line, (SELECT array_agg(id ORDER BY id) AS ids, array_agg(p ORDER BY id) AS patterns FROM pattern) AS p,
	l4.pcre_scan(l, ids, patterns) AS s ORDER BY no, id;
SELECT * FROM l4._pcre_multimatch('{Xid,"^.$","(a+)+$"}', ARRAY['Xid 79', NULL, repeat('a', 40) || '!', 'x', '']) ORDER BY 1, 2;
-- none, and no line
SELECT l4.pcre_first('x', '{}', '{}') IS NULL AS none, l4.pcre_all('x', '{}', '{}') AS empty, l4.pcre_all(NULL, '{1}', '{x}') IS NULL AS null_line;
-- ids are the caller's: any order, the first that matches
SELECT l4.pcre_first('abc', '{9,-3,9}', '{x,b,a}'), l4.pcre_all('abc', '{9,-3,9}', '{x,b,a}');
-- arrays that change from row to row
SELECT l4.pcre_first('abc', ARRAY[n], ARRAY[chr(96 + n)::l4.pcre]) FROM generate_series(1, 5) AS n;

-- errors
SELECT l4.pcre_first('x', '{1,2}', '{x}');
SELECT l4.pcre_first('x', '{{1,2}}', '{x,y}');
SELECT l4.pcre_all('x', '{1,NULL}', '{x,y}');
SELECT l4.pcre_all('x', '{1,2}', '{x,NULL}');
SELECT l4._pcre_multimatch('{x}', '{{a,b},{c,d}}');

-- every pattern on every line gives the same as one by one, for all kinds of syntax and odd lines
CREATE TEMP TABLE odd (id serial, p l4.pcre);
INSERT INTO odd (p) SELECT unnest(ARRAY[
	'a\Q*b\E+c', '\Qab\E*c', 'ab(?#x)*c', 'abc?', 'ab{0}c', 'ab{0,2}cd', 'ab{2}cd', '(?i)disk', '(?i:KISS) of', '(?x) ab c # note', '(?x)ab c*d',
	'é*abc', 'abc|', '(abc|def)?xyz', '(?=.*foo)bar', '(?<!x)foo', '(?<=GPU )lost', '[Ee]rror', '[]a]bc', '[^]]abc', '[a\]b]cd', 'a\Eb*c', '\x41BC',
	'foo\Kbar', '(?|abc|def)g', '(?<n>abc)\k<n>', '(a)(b)\2\1cd', '(?:ab|cd){2}ef', '(?:ab|cd){0,2}ef', '(?>abc)def', 'ab{cd', 'a{1}bc', 'a++bcd',
	'(?i)é*ss', '(?-i)ab(?i)CD|EF', '(?:(?i)ab|Cd)e', '(?(?=ab)abc|def)', '\bGPU\b.*\blost\b', 'x*', '', '.', '(?1)abc(d)', 'a\Q\E*bc', '[[:alpha:]]bcd',
	'(?:a|bb|ccc|dd)?e(?:ff|gg)', 'ab*+c', '\.cpp:\d+', '\p{Lu}abc', '\N+abc', '(?s).a', '(?i)[ks]x', 'ab\cAc', '(?P<x>ab)(?P=x)cd', '(?&y)(?<y>abc)',
	'a(?:b|c)?+d', 'ab??c', 'abc{1,}d', 'abc{0}', '\Qa.b\E', '(?i)\Qk.s\E', '[a-f]bc', '[5-9B]x', 'ab', 'é', '(?:é|ü)x', 'a{2,3}?b', '(?:){3}abc',
	'(?i)(?:STRASSE|Kelvin)', '\R\x41?', '(?:a\|b)c', 'a\\b', repeat('(', 60) || 'abc' || repeat(')', 60)]::l4.pcre[]);
CREATE TEMP TABLE subject AS
WITH piece AS (
	SELECT ARRAY['ab', 'abc', 'b', 'c', 'cd', 'd', '*b', 'a', 'ef', 'e', 'ff', 'gg', 'foo', 'bar', 'GPU ', 'lost', 'é', 'É', 'K', 'S', U&'di\017F\212A', U&'\212A',
		'is', 'xyz', '{', 'x', E'\n', 'ABC', 'disk', 'DISK', 'error', ']', '.', 'kiSS of', 'g', '1', '#', 'def', '5', 'B', '|', E'\\', 'straße', ' '] AS s)
SELECT row_number() OVER ()::int AS no,
	concat(s[1 + (n * 7919 + 11) % 44], s[1 + (n * 104729 + n / 44) % 44], s[1 + (n * 1299709 / 7) % 44], s[1 + n / 13 % 44]) AS t
FROM piece, generate_series(0, 2999::bigint) AS n;
CREATE TEMP TABLE one_by_one AS
SELECT no, id, l4.pcre_match(t, p) AS matched FROM subject, odd WHERE l4.pcre_match(t, p) IS DISTINCT FROM false;
CREATE TEMP TABLE at_once AS
SELECT line AS no, pattern AS id, matched
FROM l4._pcre_multimatch((SELECT array_agg(p ORDER BY id) FROM odd), (SELECT array_agg(t ORDER BY no) FROM subject));
SELECT count(*) > 10000 AS enough, count(DISTINCT id) > 55 AS most_patterns_match FROM one_by_one;
(TABLE one_by_one EXCEPT TABLE at_once) UNION ALL (TABLE at_once EXCEPT TABLE one_by_one);

-- more patterns with short literals than the SIMD scanner takes, and more grams than the small bitmaps take
CREATE TEMP TABLE word AS
SELECT n AS id, (CASE n % 4 WHEN 0 THEN '' ELSE '(?i)' END || translate(n::text, '0123456789', 'abcdeFGHIJ') ||
	CASE n % 3 WHEN 0 THEN '' ELSE substr(md5(n::text), 1, n % 9) END || '$')::l4.pcre AS p
FROM generate_series(10, 3009) AS n;
CREATE TEMP TABLE sentence AS
SELECT n AS no, md5(n::text) || CASE n % 2 WHEN 0 THEN upper(translate(n::text, '0123456789', 'abcdefghij')) ELSE translate(n::text, '0123456789', 'abcdeFGHIJ') END AS t
FROM generate_series(10, 409) AS n;
WITH found AS (
	SELECT line, pattern FROM l4._pcre_multimatch((SELECT array_agg(p ORDER BY id) FROM word), (SELECT array_agg(t ORDER BY no) FROM sentence)))
SELECT count(*) > 100 AS enough,
	(SELECT count(*) FROM sentence, word WHERE l4.pcre_match(t, p)) = count(*) AS same_count FROM found;
