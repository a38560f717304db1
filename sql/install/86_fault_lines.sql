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
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	e record;
	first_values text[];
	slots int[];
	place int;
	i int;
BEGIN
	FOR e IN
		SELECT DISTINCT ON (1) l4._survivor(t.event_id, t.merged_into) AS id, j.first_node, m.line
		FROM l4._job_event j JOIN l4._event t ON t.event_id = j.event_id
		CROSS JOIN LATERAL (SELECT r.line FROM string_to_table(j.example, E'\n') WITH ORDINALITY AS r(line, n)
							-- of a record of several lines the one that holds the message
							ORDER BY strpos(r.line, split_part(t.example, E'\n', 1)) > 0 DESC, r.n LIMIT 1) AS m
		WHERE j.job_id = _line_variants.job_id AND l4._survivor(t.event_id, t.merged_into) = ANY (event_ids)
		ORDER BY 1, j.first_ts, j.event_id
	LOOP
		SELECT f.slot_values INTO first_values FROM l4._first_values f
		WHERE f.job_id = _line_variants.job_id AND f.node = e.first_node AND f.event_id = e.id;
		SELECT array_agg(DISTINCT v.slot ORDER BY v.slot) INTO slots FROM l4._slot_value v
		WHERE v.job_id = _line_variants.job_id AND v.event_id = e.id;
		CONTINUE WHEN cardinality(first_values) IS DISTINCT FROM cardinality(slots);
		place := 1;
		FOR i IN 1 .. coalesce(cardinality(slots), 0) LOOP
			CONTINUE WHEN first_values[i] IS NULL OR first_values[i] = '' OR strpos(substr(e.line, place), first_values[i]) = 0;
			place := place + strpos(substr(e.line, place), first_values[i]) - 1;
			RETURN QUERY
				SELECT e.id, min(v.node), overlay(e.line PLACING v.value FROM place FOR length(first_values[i])), min(v.first_ts),
					coalesce(sum(v.occurrences), 1)::bigint
				FROM l4._slot_value v
				WHERE v.job_id = _line_variants.job_id AND v.event_id = e.id AND v.slot = slots[i] AND v.value <> first_values[i]
				GROUP BY v.value;
			place := place + length(first_values[i]);
		END LOOP;
	END LOOP;
END
$$;
COMMENT ON FUNCTION l4._line_variants(text, int[]) IS 'the example line of each event with one variable part at a time replaced by its other values in the job';
