-- The lines of a job that signatures are matched against: the first record of every event, line by line; where an event matched, also its
-- other values, so that a number in a variable part (an Xid, an exit code) decides correctly.

CREATE FUNCTION l4._fault_lines(job_id text)
RETURNS TABLE (event_id int, node text, source text, line_no bigint, line text, ts timestamptz, occurrences bigint, is_record bool)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 1000
BEGIN ATOMIC
	SELECT l4._survivor(e.event_id, e.merged_into), j.first_node, j.first_source,
		j.first_line_no OPERATOR(pg_catalog.+) r.n OPERATOR(pg_catalog.-) 1, r.line, j.first_ts, j.occurrences, r.is_record
	FROM l4._job_event j
	JOIN l4._event e ON e.event_id OPERATOR(pg_catalog.=) j.event_id
	CROSS JOIN LATERAL (
		SELECT pg_catalog.rtrim(t.line, E'\r') AS line, t.n, false AS is_record
		FROM pg_catalog.string_to_table(j.example, E'\n') WITH ORDINALITY AS t(line, n)
		UNION ALL
		SELECT j.example, 1, true WHERE pg_catalog.strpos(j.example, E'\n') OPERATOR(pg_catalog.>) 0
		UNION ALL
		-- the message of a record whose kept part ends before it
		SELECT m.line, 1, false
		FROM (SELECT pg_catalog.split_part(e.example, E'\n', 1) AS line) AS m
		WHERE pg_catalog.strpos(j.example, m.line) OPERATOR(pg_catalog.=) 0
		  AND pg_catalog.octet_length(j.example) OPERATOR(pg_catalog.>) 1900) AS r
	WHERE j.job_id OPERATOR(pg_catalog.=) _fault_lines.job_id AND r.line OPERATOR(pg_catalog.<>) '';
END;
COMMENT ON FUNCTION l4._fault_lines(text) IS 'what is matched of each event of a job: the lines of its first record, and a record of several lines as a whole';

CREATE FUNCTION l4._fault_scan(lines text[])
RETURNS TABLE (n int, fault_id int, gave_up bool)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
BEGIN ATOMIC
	WITH f AS MATERIALIZED (
		SELECT pg_catalog.array_agg(a.fault_id ORDER BY a.fault_id) AS ids, pg_catalog.array_agg(a.signature ORDER BY a.fault_id) AS signatures
		FROM l4.active_fault AS a
		WHERE a.signature IS NOT NULL
	)
	SELECT m.line, f.ids[m.pattern], m.matched IS NULL
	FROM f CROSS JOIN LATERAL l4._pcre_multimatch(f.signatures, _fault_scan.lines) AS m;
END;
COMMENT ON FUNCTION l4._fault_scan(text[]) IS 'which active signatures match which of the lines; gave_up: not known, given up at a limit';

-- The value of each variable part is looked for in the example from left to right, so that equal texts are told apart.
CREATE FUNCTION l4._line_variants(job_id text, event_ids int[])
RETURNS TABLE (event_id int, node text, line text, ts timestamptz, occurrences bigint)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
BEGIN ATOMIC
	WITH RECURSIVE shown AS MATERIALIZED (
		SELECT DISTINCT ON (1) l4._survivor(t.event_id, t.merged_into) AS id, j.first_node, m.line
		FROM l4._job_event AS j JOIN l4._event AS t ON t.event_id = j.event_id
		CROSS JOIN LATERAL (SELECT r.line FROM string_to_table(j.example, E'\n') WITH ORDINALITY AS r(line, n)
							-- of a record of several lines the one that holds the message
							ORDER BY strpos(r.line, split_part(t.example, E'\n', 1)) > 0 DESC, r.n LIMIT 1) AS m
		WHERE j.job_id = _line_variants.job_id AND l4._survivor(t.event_id, t.merged_into) = ANY (event_ids)
		ORDER BY 1, j.first_ts, j.event_id
	), said AS MATERIALIZED (
		SELECT v.event_id, v.slot, v.value, min(v.node) AS node, min(v.first_ts) AS ts, coalesce(sum(v.occurrences), 1)::bigint AS occurrences
		FROM l4._slot_values(_line_variants.job_id, _line_variants.event_ids) AS v
		GROUP BY v.event_id, v.slot, v.value
	), part AS MATERIALIZED (
		-- the values that the example itself has
		SELECT s.id, s.line, o.slots, f.slot_values AS first_values
		FROM shown AS s
		JOIN (SELECT v.event_id, array_agg(DISTINCT v.slot ORDER BY v.slot) AS slots FROM said AS v GROUP BY v.event_id) AS o ON o.event_id = s.id
		JOIN l4._values(_line_variants.job_id, _line_variants.event_ids) AS f
			ON f.node = s.first_node AND f.event_id = s.id AND cardinality(f.slot_values) = cardinality(o.slots)
	), step(id, i, place, found) AS (
		SELECT p.id, 0, 1, false FROM part AS p
		UNION ALL
		SELECT s.id, s.i + 1, CASE WHEN w.at > 0 THEN s.place + w.at - 1 + length(w.value) ELSE s.place END, w.at > 0
		FROM step AS s
		JOIN part AS p ON p.id = s.id
		CROSS JOIN LATERAL (SELECT p.first_values[s.i + 1] AS value) AS x
		CROSS JOIN LATERAL (SELECT coalesce(x.value, '') AS value,
			CASE WHEN x.value <> '' THEN strpos(substr(p.line, s.place), x.value) ELSE 0 END AS at) AS w
		WHERE s.i < cardinality(p.slots)
	)
	SELECT p.id, v.node, overlay(p.line PLACING v.value FROM s.place - length(p.first_values[s.i]) FOR length(p.first_values[s.i])), v.ts, v.occurrences
	FROM step AS s
	JOIN part AS p ON p.id = s.id
	JOIN said AS v ON v.event_id = p.id AND v.slot = p.slots[s.i] AND v.value <> p.first_values[s.i]
	WHERE s.found
	ORDER BY p.id, s.i, v.value;
END;
COMMENT ON FUNCTION l4._line_variants(text, int[]) IS 'the example line of each event with one variable part at a time replaced by its other values in the job';
