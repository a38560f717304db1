-- The events of a case: those that no good job shows, or that are significant by their level, and what rules say about
-- them.

-- A known line with a word of trouble that no good job has in its place: "finished (FAILED)" where all others finished
-- (SUCCEEDED).
--: known events with a word of trouble that no good job has there
CREATE FUNCTION l4._new_words(job_id text, good_jobs text[]) RETURNS TABLE (event_id int, words text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    candidates int[];
    bad jsonb;
BEGIN
    candidates := ARRAY(
        SELECT DISTINCT e.event_id FROM l4._job_event AS j JOIN l4._event_slot AS e USING (event_id)
        WHERE j.job_id = _new_words.job_id AND e.mask IN ('word', 'name', 'constant'));
    candidates := candidates || ARRAY(SELECT e.merged_into FROM l4._event AS e
        WHERE e.event_id = ANY (candidates) AND e.merged_into IS NOT NULL);
    WITH here AS (
        SELECT x.*, row_number() OVER ()::int AS place
        FROM (SELECT DISTINCT v.event_id, v.slot, v.value FROM l4._slot_values(_new_words.job_id, candidates) AS v
            WHERE v.mask IN ('word', 'name', 'constant')) AS x
    )
    SELECT jsonb_agg(h), array_agg(DISTINCT h.event_id) INTO bad, candidates
    FROM here AS h
    JOIN (SELECT DISTINCT z.place
        FROM l4._marks(ARRAY(SELECT y.value FROM here AS y ORDER BY y.place), '{trouble,killed}') AS z) AS m
        USING (place);
    IF bad IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH good AS MATERIALIZED (
        SELECT DISTINCT v.event_id, v.slot, v.value
        FROM unnest(good_jobs) AS g(job_id) CROSS JOIN LATERAL l4._slot_values(g.job_id, candidates) AS v
    )
    SELECT b.event_id, string_agg(b.value, ', ' ORDER BY b.value COLLATE "C")
    FROM jsonb_to_recordset(bad) AS b(event_id int, slot int, value text)
    WHERE NOT EXISTS (SELECT FROM good AS g WHERE g.event_id = b.event_id AND g.slot = b.slot AND g.value = b.value)
    GROUP BY b.event_id;
END;
$$;

--: is a value of the template the status with which a process ended
CREATE FUNCTION l4._has_status(template text) RETURNS bool
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN template ~* '\m(?:exit(?:ed|[ _-]?(?:code|status|value))?|code|status|rc|returncode)[ =:(\[]*<\*>';

--: with what status processes ended by some events of a job
CREATE FUNCTION l4._statuses(job_id text, events int[]) RETURNS TABLE (event_id int, value text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT DISTINCT x.event_id, x.value
    FROM (SELECT v.event_id, v.value, dense_rank() OVER (PARTITION BY v.event_id ORDER BY v.slot) AS place
        FROM l4._slot_values(_statuses.job_id, _statuses.events) AS v) AS x
    JOIN (SELECT e.event_id, p.place
        FROM l4._event AS e
        CROSS JOIN LATERAL unnest(string_to_array(e.template, '<*>')) WITH ORDINALITY AS p(words, place)
        WHERE e.event_id = ANY (_statuses.events) AND l4._has_status(p.words || '<*>')) AS s USING (event_id, place)
    WHERE x.value ~ '^-?[0-9]+$';
END;

-- A line with a status behind a word for it that is 0 in good jobs, if there are any, and not here: "stopped (rc=-9)".
--: known events with a status that is 0 in good jobs, and not in this
CREATE FUNCTION l4._new_status(job_id text, good_jobs text[]) RETURNS SETOF int
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    here constant int[] := ARRAY(
        SELECT DISTINCT v.event_id
        FROM l4._statuses(_new_status.job_id, ARRAY(SELECT l4._survivor(e.event_id, e.merged_into)
            FROM l4._job_event AS j JOIN l4._event AS e USING (event_id)
            WHERE j.job_id = _new_status.job_id AND l4._has_status(e.template))) AS v
        WHERE v.value <> '0');
BEGIN
    IF good_jobs = '{}' THEN
        RETURN QUERY SELECT unnest(here);
    ELSIF here <> '{}' THEN
        RETURN QUERY
        SELECT v.event_id FROM unnest(good_jobs) AS g(job_id) CROSS JOIN LATERAL l4._statuses(g.job_id, here) AS v
        GROUP BY v.event_id HAVING bool_and(v.value = '0');
    END IF;
END;
$$;

-- Events whose texts are equal but for one word of so many, exception class aside, are near-duplicates: "... for
-- send" and "... for recv". But "nan" where the other has a number is something else. The oldest near-duplicate of an
-- event is found by hashing the text with one word left out, so the time grows with the words and not with the pairs.
--: of each event the oldest one that is equal but for a word
CREATE FUNCTION l4._near_duplicates(event_ids int[], min_words numeric) RETURNS TABLE (event_id int, oldest int)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 1000
BEGIN ATOMIC
    WITH word AS (
        SELECT t.event_id, cardinality(t.words) AS words, w.place, hashtextextended(w.word, w.place) AS hash,
            w.word LIKE '%<*>%' AS mark, w.word ~* '\m(?:nan|inf)\M' AS nan
        FROM (
            SELECT e.event_id, string_to_array(
                coalesce(nullif(regexp_replace(e.template, '^(?:[[:alnum:]_.]+: )+', ''), ''), '?'), ' ') AS words
            FROM l4._event AS e WHERE e.event_id = ANY (_near_duplicates.event_ids)) AS t
        CROSS JOIN LATERAL unnest(t.words) WITH ORDINALITY AS w(word, place)
    ), rest AS (
        SELECT w.*, sum(w.hash) OVER (PARTITION BY w.event_id) - w.hash AS rest FROM word AS w
    ), candidate AS (
        SELECT r.event_id, min(r.event_id) OVER same AS oldest FROM rest AS r WHERE r.place = 1
        WINDOW same AS (PARTITION BY r.words, r.rest + r.hash)
        UNION ALL
        SELECT r.event_id, CASE
            WHEN r.mark AND r.nan THEN min(r.event_id) FILTER (WHERE NOT r.mark AND NOT r.nan) OVER same
            WHEN r.mark THEN min(r.event_id) FILTER (WHERE NOT r.nan) OVER same
            WHEN r.nan THEN min(r.event_id) FILTER (WHERE NOT r.mark) OVER same
            ELSE min(r.event_id) OVER same END
        FROM rest AS r WHERE r.words >= _near_duplicates.min_words
        WINDOW same AS (PARTITION BY r.words, r.place, r.rest)
    )
    SELECT c.event_id, min(c.oldest) FROM candidate AS c GROUP BY c.event_id;
END;

--: events that are new or of level WARNING and above, as rules see them
CREATE FUNCTION l4._candidates(k l4._case) RETURNS SETOF l4._case_event
LANGUAGE sql STABLE ROWS 200
BEGIN ATOMIC
    WITH known AS (
        SELECT coalesce(e.merged_into, e.event_id) AS event_id,
            count(DISTINCT j.job_id) FILTER (WHERE j.job_id = ANY (k.baseline)) AS jobs
        FROM l4._job_event AS j JOIN l4._event AS e USING (event_id)
        WHERE j.job_id = ANY (k.baseline || k.elsewhere)
        GROUP BY 1
    ), labelled AS MATERIALIZED (
        -- known, although what a launcher puts in front was not yet taken off here, or there
        SELECT l.event_id FROM l4._labelled(k.job_id, ARRAY(SELECT b.event_id FROM known AS b WHERE b.jobs > 0)) AS l
    ), candidate AS MATERIALIZED (
        SELECT j.*, l4._level(e.level) AS level, e.is_stack, e.example AS text, e.example_record AS record,
            CASE WHEN l.event_id IS NULL THEN b.jobs ELSE coalesce(b.jobs, 1) END AS jobs,
            w.words IS NOT NULL OR s.event_id IS NOT NULL AS new_words,
            e.example ~* 'exit' AND j.example <> e.example AND NOT r.before AS other_exit,
            row_number() OVER ()::int AS place
        FROM l4._job_events(ARRAY[k.job_id]) AS j
        JOIN l4._event AS e USING (event_id)
        -- the status that it had first is an earlier attempt's
        CROSS JOIN LATERAL (SELECT coalesce(j.first_ts < k.attempt_ts, false) AS before) AS r
        LEFT JOIN known AS b USING (event_id)
        LEFT JOIN labelled AS l USING (event_id)
        LEFT JOIN l4._new_words(k.job_id, (k.baseline || k.elsewhere)[1:(k.t).word_jobs::int]) AS w USING (event_id)
        LEFT JOIN l4._new_status(k.job_id, nullif(k.baseline[1:(k.t).word_jobs::int], '{}')) AS s(event_id)
            ON s.event_id = j.event_id AND NOT r.before
        WHERE b.event_id IS NULL OR w.words IS NOT NULL OR s.event_id IS NOT NULL
            OR l4._level(e.level) >= (k.t).warning_level
            OR e.example ~* 'exit' AND j.example <> e.example
    ), marked AS (
        SELECT m.place, array_agg(m.kind) AS kinds
        FROM l4._marks(ARRAY(SELECT c.text FROM candidate AS c ORDER BY c.place),
            '{terminal,exit,stack,not_named,send,receive}') AS m
        GROUP BY m.place
    ), bad_here AS (
        SELECT m.place FROM l4._marks(
            ARRAY(SELECT CASE WHEN c.other_exit THEN c.example ELSE '' END FROM candidate AS c ORDER BY c.place),
            '{terminal}') AS m
    ), fact AS (
        SELECT c.*, coalesce(m.kinds, '{}') AS kinds, c.jobs IS NULL OR c.new_words OR x.bad AS is_new, x.bad
        FROM candidate AS c
        LEFT JOIN marked AS m USING (place)
        LEFT JOIN bad_here AS h USING (place)
        -- "exit code 1" where good jobs have "exit code 0"
        CROSS JOIN LATERAL (SELECT c.other_exit AND h.place IS NOT NULL
            AND NOT 'terminal' = ANY (coalesce(m.kinds, '{}')) AS bad) AS x
    )
    SELECT k.job_id, f.event_id, f.level, f.is_new, CASE WHEN f.new_words THEN 0 ELSE coalesce(f.jobs, 0) END::int,
        f.occurrences, f.nodes, f.first_ts, f.last_ts,
        -- whatever the exception is called
        f.is_new AND ('terminal' = ANY (f.kinds) OR f.bad OR strpos(f.record, 'Traceback (most recent call last)') > 0),
        'exit' = ANY (f.kinds),
        f.is_stack OR f.is_new AND (f.level = 0 OR 'terminal' = ANY (f.kinds)) AND 'stack' = ANY (f.kinds),
        f.is_new AND NOT 'not_named' = ANY (f.kinds),
        CASE WHEN 'send' = ANY (f.kinds) THEN 'send' WHEN 'receive' = ANY (f.kinds) THEN 'receive' END,
        NULL::int, false, f.example
    FROM fact AS f
    WHERE f.is_new OR f.level >= (k.t).warning_level;
END;

--: case, events: writes those that are new or of level WARNING and above, and which nodes have them
CREATE FUNCTION l4._case_events(k l4._case) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    candidates constant l4._case_event[] := ARRAY(SELECT c::l4._case_event FROM l4._candidates(k) AS c);
BEGIN
    -- What was over when the last attempt got going belongs to earlier ones; of what came again only the last time is
    -- known to be of this one.
    INSERT INTO l4._case_count (job_id, event_id, node, occurrences, first_ts, last_ts, first_line_no)
    SELECT k.job_id, c.event_id, c.node, c.occurrences,
        CASE WHEN c.first_ts - n.clock < k.attempt_ts THEN c.last_ts ELSE c.first_ts END - n.clock, c.last_ts - n.clock,
        c.first_line_no
    FROM l4._event_counts(k.job_id, ARRAY(SELECT e.event_id FROM unnest(candidates) AS e), true) AS c
    JOIN l4._nodes(k.job_id) AS n USING (node)
    WHERE coalesce(c.last_ts - n.clock >= k.attempt_ts, true);

    INSERT INTO l4._case_event (job_id, event_id, level, is_new, baseline_jobs, occurrences, nodes, first_ts, last_ts,
        terminal, exit, stack, accuses, waits, alike, kills, example)
    WITH place AS (
        SELECT c.event_id, c.node, e.terminal, e.stack, e.exit, c.first_ts, c.last_ts
        FROM l4._counts(k.job_id) AS c JOIN unnest(candidates) AS e USING (event_id)
    ), reporting AS (
        SELECT DISTINCT p.node FROM place AS p WHERE p.terminal AND NOT p.stack AND NOT p.exit
    ), alone AS (
        -- the beginning of a traceback whose end went elsewhere says nothing beside other crash reports
        SELECT DISTINCT p.event_id FROM place AS p LEFT JOIN reporting AS r USING (node)
        WHERE p.stack AND p.terminal AND r.node IS NULL
    ), span AS (
        SELECT p.event_id, count(*) AS nodes, min(p.first_ts) AS first_ts, max(p.last_ts) AS last_ts
        FROM place AS p GROUP BY p.event_id
    ), alike AS (
        SELECT d.event_id, d.oldest FROM l4._near_duplicates(ARRAY(
            SELECT e.event_id FROM unnest(candidates) AS e
            WHERE e.is_new AND (NOT e.stack OR e.event_id IN (SELECT a.event_id FROM alone AS a))),
            (k.t).alike_words) AS d
    )
    SELECT k.job_id, e.event_id, e.level, e.is_new, e.baseline_jobs, e.occurrences, coalesce(s.nodes, e.nodes),
        coalesce(s.first_ts, e.first_ts), coalesce(s.last_ts, e.last_ts),
        -- a part of a stack is no report
        e.terminal AND NOT x.stack, e.exit, x.stack, e.accuses AND NOT x.stack, e.waits, d.oldest,
        false, e.example
    FROM unnest(candidates) AS e
    LEFT JOIN alone AS a USING (event_id)
    LEFT JOIN span AS s USING (event_id)
    LEFT JOIN alike AS d USING (event_id)
    CROSS JOIN LATERAL (SELECT e.stack AND a.event_id IS NULL AS stack) AS x;
END;
$$;

-- What other programs of the machine write, or the job itself since it began: it came in each part of the time until
-- the trouble, on all nodes that have it, and since then no more often than when it came most.
--: new events that came all along, and no more often since the trouble began
CREATE FUNCTION l4._all_along(k l4._case) RETURNS SETOF int
LANGUAGE plpgsql STABLE ROWS 20 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    began constant timestamptz := greatest(k.first_ts, k.attempt_ts);
    until constant timestamptz := least(k.onset_ts, k.reported_ts);
    part constant float8 := extract(epoch FROM until - began) / (k.t).along_parts::float8;
    ids constant int[] := ARRAY(
        SELECT e.event_id FROM l4._new_events(k.job_id) AS e JOIN l4._counts(k.job_id) AS c USING (event_id)
        WHERE NOT e.stack AND NOT e.terminal AND NOT e.exit GROUP BY e.event_id
        HAVING sum(c.occurrences) >= (k.t).along_parts AND bool_and(coalesce(c.first_ts < until, false)
            AND c.node NOT IN (SELECT o FROM l4._left_out(k) AS o)));
BEGIN
    IF ids = '{}' OR part <= 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH node AS (
        -- those with the most records tell: nodes may be thousands
        SELECT c.node, l4._packed_ids(array_agg(c.event_id)) AS ids
        FROM (SELECT z.event_id, z.node, sum(z.occurrences) OVER (PARTITION BY z.event_id
                ORDER BY z.occurrences DESC, z.node COLLATE "C" ROWS UNBOUNDED PRECEDING) - z.occurrences AS more
            FROM l4._counts(k.job_id) AS z WHERE z.event_id = ANY (ids)) AS c
        WHERE c.more < (k.t).along_records
        GROUP BY c.node
    ), record AS (
        SELECT l4._survivor(e.event_id, e.merged_into) AS event_id, u.ts - n.clock AS ts
        FROM node AS w
        JOIN l4._nodes(k.job_id) AS n USING (node)
        JOIN l4._chunk AS c ON c.job_id = k.job_id AND c.node = w.node
        CROSS JOIN LATERAL l4._lines_between(c.body, w.ids, began + n.clock, NULL) AS u
        JOIN l4._event AS e ON e.event_id = u.event_id
        WHERE u.back = 0
    ), counted AS (
        SELECT r.event_id, count(*) AS records,
            CASE WHEN r.ts < until THEN floor(extract(epoch FROM r.ts - began)::float8 / part) END AS place
        FROM record AS r GROUP BY 1, 3
    )
    SELECT c.event_id FROM counted AS c GROUP BY c.event_id
    HAVING count(c.place) >= (k.t).along_parts
        AND coalesce(max(c.records) FILTER (WHERE c.place IS NULL), 0) * part
            <= max(c.records) FILTER (WHERE c.place >= 0)
                * greatest(part, extract(epoch FROM k.last_ts - until)::float8);
END
$$;

-- Who reports that a process was killed, "exited on signal 9 (Killed)", in the line itself or in one beside it in the
-- same report. How a process ended accuses nobody, but for one that was killed elsewhere, which cannot report it:
-- "mpirun noticed that process rank 5 on node gpu07 exited on signal 9 (Killed)".
--: case, events: which report that a process was killed, and which of those how one ended name one other node
CREATE FUNCTION l4._case_kills(k l4._case) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    WITH event AS MATERIALIZED (
        SELECT e.*, row_number() OVER ()::int AS place FROM l4._new_events(k.job_id) AS e
    ), told AS MATERIALIZED (
        SELECT e.event_id, e.nodes, e.first_ts
        FROM l4._marks(ARRAY(SELECT e.example FROM event AS e ORDER BY e.place), '{killed}') AS m
        JOIN event AS e USING (place)
    ), telling AS (
        SELECT t.event_id FROM told AS t
        UNION
        SELECT e.event_id
        FROM told AS t
        JOIN event AS e ON abs(extract(epoch FROM t.first_ts - e.first_ts)) < (k.t).same_moment
        JOIN l4._case_count AS a ON a.job_id = k.job_id AND a.event_id = e.event_id
        JOIN l4._case_count AS b ON b.job_id = k.job_id AND b.event_id = t.event_id AND b.node = a.node
        WHERE t.nodes = 1 AND e.nodes = 1 AND abs(a.first_line_no - b.first_line_no) <= (k.t).beside_lines
    )
    UPDATE l4._case_event AS c SET kills = t.event_id IS NOT NULL,
        accuses = c.accuses AND (NOT c.exit OR t.event_id IS NOT NULL AND 1 = (
            SELECT coalesce(nullif(count(DISTINCT n.node), 0),
                count(DISTINCT w.word) FILTER (WHERE l4._ip_number(w.word) IS NOT NULL))
            FROM l4._name_words(e.example) AS w(word)
            LEFT JOIN l4._case_place AS n ON n.job_id = k.job_id
                AND CASE WHEN l4._ip_number(w.word) IS NULL
                    THEN split_part(n.node, '.', 1) = split_part(w.word, '.', 1) ELSE n.node = w.word END
                AND NOT EXISTS (SELECT FROM l4._case_count AS o
                    WHERE o.job_id = k.job_id AND o.event_id = e.event_id AND o.node = n.node)))
    FROM event AS e LEFT JOIN telling AS t USING (event_id)
    WHERE c.job_id = k.job_id AND c.event_id = e.event_id AND (c.exit OR t.event_id IS NOT NULL);
END;
$$;

--: events of a case in which nodes may name others
CREATE FUNCTION l4._accusing(job_id text) RETURNS SETOF int
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    SELECT e.event_id FROM l4._claims(_accusing.job_id) AS e WHERE e.accuses;
END;
