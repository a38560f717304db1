-- What the memo of scans gives back is what a scan gives: messages of few forms with digits and hexadecimal letters redrawn, in which the
-- same places hold numbers of other lengths, kinds and neighbours. A mask of a user that matches nothing keeps the memo away.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
CREATE TEMP TABLE form AS SELECT k, f FROM unnest(ARRAY[
	'iteration ### of #### took ##.## ms, loss #.###E-##', 'rank# at ##.#.##.###:##### (ipv#) joined, version v#.##.#', 'address ::####:#@@#:##% from #@:##:@@:#%:##:@#',
	'hash @@#@##@#@@##@@# and @#@#@# and @@@@@@@@@@@@ end', 'id @@@@#@##-#@@#-#@@@-@##@-@@#@@##@@#@# is done', 'id (########-####-####-####-############) is done',
	'pointer #x##@@ and #X#### and ##x## and #xzz', 'at ####-##-##T##:##:##.###Z and ####/##/## ##:##:##,### and ##:##', 'slot en# ssh# L## eth#.## p# node-#-## r##-n#-c:j##-u##',
	'"GET /a/b?x=## HTTP/#.#" ### ## "-"', 'file /data/##/x_##.pt:## and C:\a\#.log and ~/r# (#.# GB, ## KiB, ###B)', 'name=a.b##.c@#@##@ x=## y=#.# [#,#,##]',
	'<# sec and <## ms and ##s ##m ###us # h', 'host-##.example.com:## worker-#:#### gpu#.a.b job_##_#-# %#', 'sum e#@#@#@#@#@#@# #e## #e-# -#.# +# ##%',
	'@@#@#@@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@#@# long', 'f@#@#@#@#@#@#@#@#. g @#@#@#@#@#@#@#@#: h =@#@#@#@#@#@#@#', 'bus ####:##:##.# v# ipv#) <########@@@@> x',
	'[req-@@@@@@@@-@@@@-@@@@-@@@@-@@@@@@@@@@@@ pod-@@@@@@@@@@@@] is', 'r#-@@@@@@@@-@@@@-@@@@-@@@@-@@@@@@@@@@@@ r#-@#@@@@@@@@@@@ is', 'a-b#-@@@@@@@@-@@@@-@@@@-@@@@-@@@@@@@@@@@@ is',
	'"GET /v#/@@@@@@@@@@@@@@@@/x-@@@@@@@@-@@@@-@@@@-@@@@-@@@@@@@@@@@@ HTTP/#.#"', 'at /@@@@@@@@-@@@@-@@@@/@#x@@@@@@@@@@@@ and a:/@@@@@@@@@@@@ and /@@@@@@@@@@@@: y',
	'GPU#: eth#.# rank#-@@@@@@@@@@@@ cn###/cn### at @@-@@@@@@@@@@@@', repeat('long #@ ', 63) || '@@###@##', repeat('longer #@ ', 54), '@@@@-@@@@@@@@@@@@ @-@@-@@@-@@@@-@@@@@ @@@@@@@@-@@@@-@@@@-@@@@-@@@@@@@@@@@@-#']) WITH ORDINALITY AS u(f, k);
-- # is a digit, @ a hexadecimal digit or a letter from a to f; each form 400 times, two draws of every second so that entries are hit
CREATE TEMP TABLE message AS
SELECT row_number() OVER (ORDER BY g / 40, k, g) AS n, string_agg(CASE c WHEN '#' THEN (h % 10)::text WHEN '@' THEN substr('0123456789abcdef', 1 + h % 16, 1) ELSE c END, '' ORDER BY i) AS line
FROM (SELECT g, k, i, c, abs(hashint8(g::bigint * 7919 + k * 104729 + i)::bigint)::int % 997 AS h
	FROM form, generate_series(1, 400) AS g, regexp_split_to_table(f, '') WITH ORDINALITY AS t(c, i)) x
GROUP BY g, k;
SELECT count(*) AS messages, count(DISTINCT l4.mask(line)) > 18 AS many_shapes FROM message;
SELECT line, l4.mask(line) AS memo, l4.mask(line, '{"masks": [{"name": "NEVER", "pattern": "(?!)"}, "builtin"]}') AS scan FROM message
WHERE l4.mask(line) <> l4.mask(line, '{"masks": [{"name": "NEVER", "pattern": "(?!)"}, "builtin"]}') ORDER BY n LIMIT 10;
CREATE TEMP TABLE parsers AS SELECT l4.parser_train(line ORDER BY n) AS memo, l4.parser_train(line, '{"masks": [{"name": "NEVER", "pattern": "(?!)"}, "builtin"]}' ORDER BY n) AS scan FROM message;
SELECT (SELECT count(*) FROM l4.parser_templates(memo)) > 18 AS templates,
	(SELECT count(*) FROM (SELECT * FROM l4.parser_templates(memo) EXCEPT SELECT * FROM l4.parser_templates(scan)) x) AS different FROM parsers;
SELECT m.line, a.p AS memo, b.p AS scan
FROM parsers, message m, LATERAL (SELECT array_agg(x::text ORDER BY x.slot) AS p FROM l4.parser_parameters(memo, m.line) x) a,
	LATERAL (SELECT array_agg(x::text ORDER BY x.slot) AS p FROM l4.parser_parameters(scan, m.line) x) b
WHERE a.p IS DISTINCT FROM b.p ORDER BY m.n LIMIT 10;
