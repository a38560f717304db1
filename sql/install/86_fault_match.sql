-- Which known faults a job shows.

--: a match of a fault with an event, and the line that shows it
CREATE TYPE l4._fault_found AS (fault_id int, event_id int, node text, source text, line_no bigint, line text,
    ts timestamptz, occurrences bigint, captures jsonb, gave_up bool, variant bigint);

--: every match of an active fault with an event of the job, after _watch_faults()
CREATE FUNCTION l4._fault_hits(job_id text) RETURNS SETOF l4._fault_found
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    RETURN QUERY
    WITH line AS MATERIALIZED (
        SELECT l.* FROM l4._fault_lines(_fault_hits.job_id) AS l
    ), hit AS MATERIALIZED (
        SELECT h.fault_id, h.gave_up, f.signature, l.*
        FROM line AS l
        JOIN l4._fault_hit AS h ON h.job_id = _fault_hits.job_id AND h.event_id = l.kept_id AND h.n = l.n
        JOIN l4.fault AS f ON f.fault_id = h.fault_id
    ), variant AS MATERIALIZED (
        SELECT row_number() OVER () AS n, v.*
        FROM l4._line_variants(_fault_hits.job_id, (SELECT array_agg(DISTINCT h.event_id) FROM hit AS h)) AS v
        WHERE NOT v.is_first
    ), matched AS MATERIALIZED (
        SELECT a.ids[s.pattern] AS fault_id, s.line AS n, s.matched IS NULL AS gave_up
        FROM l4._fault_library() AS a
        CROSS JOIN LATERAL l4._pcre_multimatch(a.signatures, ARRAY(SELECT v.line FROM variant AS v ORDER BY v.n)) AS s
        WHERE EXISTS (SELECT FROM variant)
    ), variant_hit AS MATERIALIZED (
        -- a proof line is looked up of those that are left
        SELECT f.fault_id, m.gave_up, f.signature, v.*
        FROM matched AS m JOIN variant AS v USING (n) JOIN l4.fault AS f USING (fault_id)
        WHERE NOT EXISTS (SELECT FROM hit AS h WHERE h.fault_id = f.fault_id AND h.event_id = v.event_id)
    )
    SELECT h.fault_id, h.event_id, h.node, h.source, h.line_no + p.n,
        CASE WHEN h.is_record THEN split_part(h.line, E'\n', p.n + 1) ELSE h.line END,
        h.ts, h.occurrences, c.captures, h.gave_up, 0
    FROM hit AS h
    CROSS JOIN LATERAL l4.pcre_captures(h.line, h.signature) AS c(captures)
    -- the line in which the match ends: of a stack the exception
    CROSS JOIN LATERAL (SELECT greatest(cardinality(string_to_array(left(h.line, strpos(h.line, c.captures ->> '0')
        + length(c.captures ->> '0') - 1), E'\n')) - 1, 0)) AS p(n)
    -- a line by itself is a shorter proof than the record
    WHERE NOT h.is_record OR NOT EXISTS (
        SELECT FROM hit AS l WHERE NOT l.is_record AND l.fault_id = h.fault_id AND l.event_id = h.event_id)
    UNION ALL
    SELECT v.fault_id, v.event_id, v.node, p.source, p.line_no, v.line, v.ts, v.occurrences,
        l4.pcre_captures(v.line, v.signature), v.gave_up, v.n
    FROM variant_hit AS v
    CROSS JOIN LATERAL (SELECT t.source, t.line_no FROM l4._event_lines(_fault_hits.job_id, v.event_id, v.node) AS t
                        WHERE t.line_no = t.record_line_no
                        ORDER BY t.ts IS NOT DISTINCT FROM v.ts DESC, t.source, t.line_no LIMIT 1) AS p
    UNION ALL
    SELECT t.fault_id, l.event_id, l.node, l.source, l.line_no, l.line, l.ts, l.occurrences, NULL, t.gave_up, 0
    FROM l4._fault_template_scan((SELECT array_agg(DISTINCT l.event_id) FROM line AS l)) AS t
    JOIN (SELECT DISTINCT ON (l.event_id) l.*
        FROM line AS l JOIN l4._event AS e ON e.event_id = l.event_id
        WHERE NOT l.is_record
        ORDER BY l.event_id, strpos(l.line, e.example) > 0 DESC, l.n) AS l ON l.event_id = t.event_id;
    RETURN QUERY
    SELECT c.fault_id, c.event_id, c.node, c.source, c.line_no, c.line, c.ts, c.occurrences, c.captures, c.gave_up,
        -1::bigint
    FROM l4._fault_combinations(_fault_hits.job_id, ARRAY(
        SELECT d FROM l4.active_fault AS f JOIN l4.fault_condition AS d USING (fault_id) WHERE f.combined)) AS c;
END;
$$;

-- Everything that a fault leads to, directly or not. Cycles, which two fault files together may make, do no harm.
--: what faults lead to, directly or not; a fault of a cycle leads to itself
CREATE FUNCTION l4._fault_effects(names text[])
RETURNS TABLE (name text, effect text)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 500 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH RECURSIVE reach(name, effect) AS (
        SELECT n.name, n.name FROM unnest(names) AS n(name)
        UNION
        SELECT r.name, t.effect FROM reach AS r JOIN l4.active_fault AS f ON f.name = r.effect
        CROSS JOIN LATERAL unnest(f.leads_to) AS t(effect)
    )
    SELECT r.name, r.effect FROM reach r;
END
$$;

--: events of a job that tell of its failure by its diagnosis; without one, those that no successful job has
CREATE FUNCTION l4._telling_events(job_id text) RETURNS int[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN CASE
    WHEN EXISTS (SELECT FROM l4.diagnosis AS d WHERE d.job_id = _telling_events.job_id)
    THEN ARRAY(SELECT s.event_id FROM l4.suspect_event AS s WHERE s.job_id = _telling_events.job_id)
    ELSE ARRAY(
        SELECT l4._survivor(e.event_id, t.merged_into)
        FROM l4._job_event AS e JOIN l4._event AS t USING (event_id) WHERE e.job_id = _telling_events.job_id
        EXCEPT SELECT l4._survivor(e.event_id, t.merged_into)
        FROM l4._job_event AS e JOIN l4._event AS t USING (event_id) JOIN l4.job AS j USING (job_id)
        WHERE j.status = 'succeeded' AND j.job_id <> _telling_events.job_id) END;

-- Of effects alone that comes first by which the job was told to end before anything else showed.
-- What others say of a service tells of the suspects.
--: finds the known faults of a job, stores them in fault_match instead of those found before, and returns them, best
--: first
CREATE FUNCTION l4.match_faults(job_id text) RETURNS SETOF l4.fault_match
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE ROWS 20
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    found l4._fault_found[];  -- read first: one statement within the other would take the memory of both
    unclear bigint;
BEGIN
    -- a diagnosis of the job, and its end, take this lock
    PERFORM FROM l4.job AS j WHERE j.job_id = match_faults.job_id FOR NO KEY UPDATE;
    PERFORM l4._require_job(match_faults.job_id);
    PERFORM l4._watch_faults(ARRAY[match_faults.job_id]);
    DELETE FROM l4.fault_match m WHERE m.job_id = match_faults.job_id;
    DELETE FROM l4.fault_given_up g WHERE g.job_id = match_faults.job_id;
    found := ARRAY(SELECT h::l4._fault_found FROM l4._fault_hits(match_faults.job_id) AS h);
    WITH hit AS MATERIALIZED (
        SELECT h.*, f.name, f.component, f.severity, f.priority, f.is_effect, f.combined,
            l4._is_own(f.fault_id) AND f.priority >= 50 AS is_own,
            f.combined AND NOT EXISTS (SELECT FROM l4.fault_condition AS c
                WHERE c.fault_id = f.fault_id AND num_nonnulls(c.signature, c.template) > 0) AS is_form,
            array_position(ARRAY['fatal', 'error', 'warning', 'info'], f.severity) AS place,
            h.node = ANY (nullif(ARRAY(SELECT n.node FROM l4.suspect_node AS n
                WHERE n.job_id = match_faults.job_id AND n.is_suspect), '{}')) AS on_suspect,  -- NULL: there is none
            h.event_id = ANY ((SELECT l4._telling_events(match_faults.job_id))::int[]) AS is_suspect
        FROM unnest(found) AS h JOIN l4.fault AS f ON f.fault_id = h.fault_id
    ), given_up AS (
        INSERT INTO l4.fault_given_up (job_id, fault_id, fault_name, node, line_no, line)
        SELECT match_faults.job_id, h.fault_id, h.name, h.node, h.line_no, h.line FROM hit AS h WHERE h.gave_up
    ), best AS (
        -- specific before generic on one event, where only the user's rows hide the user's; one proof line a fault
        SELECT DISTINCT ON (k.fault_id) k.*, sum(k.occurrences) OVER w::bigint AS total, min(k.ts) OVER w AS first_ts
        FROM (SELECT h.*, max(h.priority) OVER (PARTITION BY h.event_id, h.variant) AS top,
                max(h.priority) OVER (PARTITION BY h.event_id, h.variant, h.is_own) AS own_top
            FROM hit AS h WHERE NOT h.gave_up) AS k
        WHERE k.priority = k.top OR k.is_own AND k.priority = k.own_top WINDOW w AS (PARTITION BY k.fault_id)
        ORDER BY k.fault_id, k.is_suspect DESC, k.on_suspect DESC, k.ts, k.captures IS NULL,
            k.line ~ '^\S*\s*(raise|assert) ', k.node, k.source, k.line_no
    ), reach AS MATERIALIZED (
        SELECT e.* FROM l4._fault_effects((SELECT array_agg(b.name) FROM best AS b)) AS e WHERE e.name <> e.effect
    ), cause AS (
        -- Of two that lead to each other the earlier is the cause. An effect by nature causes only what comes after it,
        -- or other effects, but tells nobody to end before. What shows 10 s later, or tells of no failure, does not.
        SELECT b.fault_id, array_agg(DISTINCT c.name ORDER BY c.name) AS names, bool_and(c.is_effect) AS by_effects
        FROM best AS b JOIN reach AS r ON r.effect = b.name JOIN best AS c ON c.name = r.name
        WHERE (NOT EXISTS (SELECT FROM reach AS back WHERE back.name = b.name AND back.effect = c.name)
            OR (c.ts, c.name) < (b.ts, b.name))
          AND (b.is_effect AND b.component <> 'scheduler' OR NOT c.is_effect OR c.ts < b.ts)
          AND (c.first_ts <= b.first_ts + interval '10 s') IS NOT FALSE AND (c.is_suspect OR NOT b.is_suspect)
        GROUP BY b.fault_id
    ), better AS (
        -- what the user knows of an event or a node goes before what is shipped of it: an error as if it were as severe
        SELECT o.fault_id, min(ARRAY[s.place, -s.priority]) AS weight
        FROM best AS o
        JOIN best AS s ON NOT (s.is_effect OR l4._is_own(s.fault_id)) AND (o.severity = 'error' OR s.place >= o.place)
            AND (s.combined AND s.node = o.node OR EXISTS (
                SELECT FROM hit AS h WHERE h.fault_id = o.fault_id AND h.event_id = s.event_id AND NOT h.gave_up))
        WHERE o.is_own AND NOT EXISTS (SELECT FROM cause AS c WHERE c.fault_id = s.fault_id)
        GROUP BY o.fault_id
    )
    INSERT INTO l4.fault_match SELECT match_faults.job_id,
        row_number() OVER (ORDER BY b.is_suspect DESC, b.follows, b.is_effect OR b.by_effects,
            b.follows AND NOT b.is_effect, (b.is_effect AND b.component = 'scheduler' AND b.is_first) IS TRUE DESC,
            b.weight, b.better DESC, b.on_suspect DESC, b.ts, b.line_no, NOT l4._is_own(b.fault_id), b.name),
        b.fault_id, b.node, b.line_no, b.line, b.captures, b.name, b.source, b.event_id, b.ts, b.total,
        b.follows, coalesce(b.names, '{}'), b.is_suspect
    FROM (SELECT f.*, bool_or(f.is_suspect AND NOT f.follows AND NOT f.is_form AND f.place <= 2) OVER () AS stated,
            f.first_ts = min(f.first_ts) FILTER (WHERE f.is_suspect) OVER () AS is_first
        FROM (SELECT b.*, c.names, c.by_effects, b.is_effect OR c.names IS NOT NULL OR b.on_suspect IS FALSE
                AND b.component = 'platform_config' AND NOT l4._is_catch_all(b.priority) AS follows,
                least(ARRAY[b.place, -b.priority], w.weight) AS weight, w.fault_id IS NOT NULL AS better
            FROM best AS b LEFT JOIN cause AS c USING (fault_id) LEFT JOIN better AS w USING (fault_id)) AS f) AS b
    -- a fault without words of its own is for jobs in which no line states a cause
    WHERE NOT (b.is_form AND b.stated);
    SELECT count(*) INTO unclear FROM l4.fault_given_up g WHERE g.job_id = match_faults.job_id;
    IF unclear > 0 THEN
        RAISE NOTICE '% matches were given up at a limit in job "%"', unclear, match_faults.job_id
            USING HINT = 'l4.fault_given_up has the faults and the lines.';
    END IF;
    RETURN QUERY SELECT m.* FROM l4.fault_match m WHERE m.job_id = match_faults.job_id ORDER BY m.rank;
END
$$;
