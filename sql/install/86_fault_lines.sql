-- What signatures are matched against: the first record of every event of a job, line by line. Where an event
-- matched, also its other values, so that a number at a variable position (an Xid, an exit code) decides correctly.

--: what is matched of each event of a job, but those known: the lines of its first record (n = 1, 2, ...), a record of
--: several lines as a whole (0), its message if cut off (-1)
CREATE FUNCTION l4._fault_lines(job_id text, known int4multirange DEFAULT '{}')
RETURNS TABLE (event_id int, node text, source text, line_no bigint, line text, ts timestamptz, occurrences bigint,
    is_record bool, kept_id int, n int)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 500
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT l4._survivor(e.event_id, e.merged_into), j.first_node, j.first_source,
        j.first_line_no + greatest(r.n - 1, 0), r.line, j.first_ts, j.occurrences, r.n = 0, j.event_id, r.n
    FROM l4._job_event j
    JOIN l4._event e ON e.event_id = j.event_id
    CROSS JOIN LATERAL (
        SELECT rtrim(t.line, chr(13)) AS line, t.n::int AS n
        FROM unnest(string_to_array(j.example, E'\n')) WITH ORDINALITY AS t(line, n)
        UNION ALL
        SELECT j.example, 0 WHERE strpos(j.example, E'\n') > 0
        UNION ALL
        -- the message of a record of which the beginning and the end are kept, if it stands between them
        SELECT m.line, -1
        FROM (SELECT split_part(e.example, E'\n', 1) AS line) AS m
        WHERE strpos(j.example, m.line) = 0 AND octet_length(j.example) > 1900) AS r
    WHERE j.job_id = _fault_lines.job_id AND r.line <> '' AND NOT _fault_lines.known @> j.event_id;
END
$$;

--: the signatures of the active faults, and a number that changes with them or with templates
CREATE FUNCTION l4._fault_library(OUT version numeric, OUT ids int[], OUT signatures l4.pcre[])
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    SELECT coalesce(sum(hash_record_extended(ROW(a.fault_id, a.signature, a.templates), 0)), 0),
        array_agg(a.fault_id ORDER BY a.fault_id) FILTER (WHERE a.signature IS NOT NULL),
        array_agg(a.signature ORDER BY a.fault_id) FILTER (WHERE a.signature IS NOT NULL)
    INTO version, ids, signatures FROM l4.active_fault AS a;
END
$$;

-- A template fits by its pattern, or because it is the event's own: that may have become more general than the example.
--: which of some events (NULL = all) each template fits; gave_up: not known, given up at a limit
CREATE FUNCTION l4._template_events(templates text[], patterns l4.pcre[], event_ids int[] DEFAULT NULL)
RETURNS TABLE (n int, event_id int, gave_up bool)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    WITH event AS MATERIALIZED (
        SELECT e.event_id, e.template, e.example, row_number() OVER (ORDER BY e.event_id) AS place
        FROM l4._event AS e
        WHERE cardinality(templates) > 0 AND (event_ids IS NULL OR e.event_id = ANY (event_ids))
    )
    SELECT t.n, t.event_id, bool_and(t.gave_up)
    FROM (
        SELECT m.pattern AS n, e.event_id, m.matched IS NULL AS gave_up
        FROM l4._pcre_multimatch(patterns, (SELECT array_agg(e.example ORDER BY e.place) FROM event AS e)) AS m
        JOIN event AS e ON e.place = m.line
        UNION ALL
        SELECT u.n, e.event_id, false
        FROM event AS e JOIN unnest(templates) WITH ORDINALITY AS u(template, n) ON u.template = e.template) AS t
    GROUP BY t.n, t.event_id;
END;

--: which active faults have a template that fits which of the events; gave_up: not known, given up at a limit
CREATE FUNCTION l4._fault_template_scan(event_ids int[])
RETURNS TABLE (event_id int, fault_id int, gave_up bool)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM l4.fault AS a WHERE a.templates <> '{}') THEN
        RETURN QUERY
        WITH f AS MATERIALIZED (
            SELECT array_agg(t.template ORDER BY a.fault_id, t.n) AS templates,
                array_agg(t.pattern ORDER BY a.fault_id, t.n) AS patterns,
                array_agg(a.fault_id ORDER BY a.fault_id, t.n) AS ids
            FROM l4.active_fault AS a
            CROSS JOIN LATERAL ROWS FROM (unnest(a.templates), unnest(a.template_patterns))
                WITH ORDINALITY AS t(template, pattern, n)
        )
        SELECT e.event_id, f.ids[e.n], bool_and(e.gave_up)
        FROM f CROSS JOIN LATERAL l4._template_events(f.templates, f.patterns, _fault_template_scan.event_ids) AS e
        GROUP BY 1, 2;
    END IF;
END
$$;

-- The values of the first record are looked for in the example from left to right, so that equal texts are told
-- apart. All values of the job are read in one pass: they are packed by stream.
--: the example line of each event with one parameter at a time replaced by each of its values in the job, where it
--: stands, and the nodes that have it
CREATE FUNCTION l4._line_variants(job_id text, event_ids int[])
RETURNS TABLE (event_id int, slot int, node text, line text, ts timestamptz, occurrences bigint, nodes text[],
    is_first bool, value text, place int)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    r record;
    last_event int;
    last_slot int;
    start int;  -- where the search for the next value begins: behind the prefix, which has numbers too
    part int;   -- where the value of this slot is; 0 = not found
BEGIN
    FOR r IN
        WITH used AS MATERIALIZED (
            SELECT v.event_id, v.slot, v.value, min(v.node) AS node, array_agg(DISTINCT v.node) AS nodes,
                min(v.first_ts) AS ts, coalesce(sum(v.occurrences), 1)::bigint AS n
            FROM l4._slot_values(_line_variants.job_id, event_ids) v
            GROUP BY v.event_id, v.slot, v.value
        ), example AS MATERIALIZED (
            SELECT DISTINCT ON (1) l4._survivor(t.event_id, t.merged_into) AS id, j.first_node, m.line,
                greatest(strpos(m.line, (regexp_match(t.template, '^[^<]{3,}'))[1]),
                    strpos(m.line, nullif(split_part(t.example, E'\n', 1), '')), 1) AS message
            FROM l4._job_event j JOIN l4._event t ON t.event_id = j.event_id
            -- of a record of several lines the one that holds the message
            CROSS JOIN LATERAL (SELECT s.line
                                FROM unnest(string_to_array(j.example, E'\n')) WITH ORDINALITY AS s(line, n)
                                ORDER BY strpos(s.line, split_part(t.example, E'\n', 1)) > 0 DESC, s.n LIMIT 1) AS m
            WHERE j.job_id = _line_variants.job_id AND l4._survivor(t.event_id, t.merged_into) = ANY (event_ids)
            ORDER BY 1, j.first_ts, j.event_id
        ), slot AS (
            SELECT d.event_id, d.slot, row_number() OVER (PARTITION BY d.event_id ORDER BY d.slot) AS n,
                count(*) OVER (PARTITION BY d.event_id) AS slots
            FROM (SELECT DISTINCT u.event_id, u.slot FROM used u) AS d
        )
        SELECT e.id, e.line, e.message, f.slot_values[s.n] AS first, v.slot, v.value, v.node, v.nodes, v.ts, v.n
        FROM example e
        JOIN l4._values(_line_variants.job_id, event_ids, ARRAY(SELECT DISTINCT x.first_node FROM example x)) f
            ON f.node = e.first_node AND f.event_id = e.id
        JOIN slot s ON s.event_id = e.id AND s.slots = cardinality(f.slot_values)
        JOIN used v ON v.event_id = e.id AND v.slot = s.slot
        ORDER BY e.id, v.slot, v.value
    LOOP
        IF r.id IS DISTINCT FROM last_event THEN
            last_event := r.id;
            last_slot := NULL;
            start := r.message;
        END IF;
        IF r.slot IS DISTINCT FROM last_slot THEN
            last_slot := r.slot;
            part := coalesce(strpos(substr(r.line, start), nullif(r.first, '')), 0);
            IF part > 0 THEN
                part := start + part - 1;
                start := part + length(r.first);
            END IF;
        END IF;
        CONTINUE WHEN part = 0;
        event_id := r.id;
        slot := r.slot;
        node := r.node;
        line := overlay(r.line PLACING r.value FROM part FOR length(r.first));
        ts := r.ts;
        occurrences := r.n;
        nodes := r.nodes;
        is_first := r.value = r.first;
        value := r.value;
        place := part;
        RETURN NEXT;
    END LOOP;
END
$$;
