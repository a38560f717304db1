-- What is not a failure, although it is new; when the trouble began; and how the job ended.

CREATE FUNCTION l4._case_drop(job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off SET jit = off
AS $$
DECLARE
    k record;
BEGIN
    SELECT c.*, (SELECT count(*) FROM l4._case_iteration AS i WHERE i.job_id = c.job_id) AS places
    INTO STRICT k FROM l4._case AS c WHERE c.job_id = _case_drop.job_id;

    -- another value of a setting that good jobs echo too
    UPDATE l4._case_event AS e SET dropped = 'a setting with another value'
    FROM (
        WITH setting AS (
            SELECT DISTINCT ON (t.event_id) t.event_id, l4.pcre_captures(t.example, r.signature) ->> 'key' AS key
            FROM l4._event AS t
            JOIN l4._marker('config') AS r ON l4.pcre_match(t.example, r.signature)
            WHERE t.merged_into IS NULL AND l4._level(t.level) < 3
                AND (t.event_id IN (SELECT x.event_id FROM l4._case_event AS x WHERE x.job_id = k.job_id)
                    OR t.event_id IN (SELECT j.event_id FROM l4._job_event AS j WHERE j.job_id = ANY (k.baseline || k.elsewhere)))
            ORDER BY t.event_id, r.rule_id DESC
        )
        SELECT s.event_id
        FROM setting AS s
        WHERE s.key IN (SELECT z.key FROM setting AS z
            JOIN l4._job_event AS j ON j.event_id = z.event_id AND j.job_id = ANY (k.baseline || k.elsewhere))) AS s
    WHERE e.job_id = k.job_id AND e.is_new AND e.level < 3 AND NOT e.terminal AND e.event_id = s.event_id
        AND cardinality(k.baseline || k.elsewhere) > 0;

    -- how far the training is, in a form that good jobs do not print: another unit, another width
    UPDATE l4._case_event AS e SET dropped = 'reports progress'
    FROM l4._event AS t JOIN l4.iteration_rule AS r ON r.rule_id = t.iteration_rule AND r.kind = 'done'
    WHERE e.job_id = k.job_id AND t.event_id = e.event_id AND e.is_new AND e.dropped IS NULL AND e.level < 3 AND NOT e.terminal;

    -- survived: on every node that has it, it was over when the node had its first iteration done and training went on, or, of a node that
    -- did not train, when the node got to a later stage
    WITH reached AS (
        SELECT n.node, n.train_ts, n.iterations, s.ts - n.clock AS stage_ts
        FROM l4._case_node AS n
        LEFT JOIN (SELECT z.node, max(z.first_ts) AS ts FROM l4.stage_span AS z
            WHERE z.job_id = k.job_id AND z.stage IN ('data', 'model', 'checkpoint_load', 'train') GROUP BY z.node) AS s USING (node)
        WHERE n.job_id = k.job_id
    ), survived AS (
        SELECT c.event_id
        FROM l4._case_count AS c
        JOIN reached AS r USING (node)
        WHERE c.job_id = k.job_id
        GROUP BY c.event_id
        HAVING bool_and(coalesce(c.last_ts < CASE WHEN k.places >= 3 AND (r.train_ts IS NULL OR r.iterations >= 3)
            THEN coalesce(r.train_ts, k.train_ts) ELSE r.stage_ts END, false))
    )
    UPDATE l4._case_event AS e SET dropped = 'over before training began'
    FROM survived AS s
    WHERE e.job_id = k.job_id AND e.event_id = s.event_id AND e.is_new AND e.dropped IS NULL;

    -- with few good jobs the job's own past is what good jobs look like: it went on for ten iterations afterwards
    IF cardinality(k.baseline || k.elsewhere) < 3 THEN
        UPDATE l4._case_event AS e SET dropped = 'the job went on'
        WHERE e.job_id = k.job_id AND e.is_new AND e.dropped IS NULL
            AND e.last_ts < least(k.onset_ts, (SELECT i.done_ts FROM l4._case_iteration AS i WHERE i.job_id = k.job_id
                AND i.nodes > (SELECT max(z.nodes) / 2 FROM l4._case_iteration AS z WHERE z.job_id = k.job_id)
                ORDER BY i.place DESC OFFSET 9 LIMIT 1));
    END IF;
    -- with none, a line below a warning must say that something is wrong, or come for the first time while the job stands still
    IF cardinality(k.baseline || k.elsewhere) = 0 THEN
        UPDATE l4._case_event AS e SET dropped = 'says nothing bad'
        FROM l4._event AS t
        WHERE e.job_id = k.job_id AND t.event_id = e.event_id AND e.dropped IS NULL
            AND e.level < 3 AND NOT e.terminal AND NOT e.stack AND NOT l4._marked(t.example, 'trouble')
            AND NOT coalesce(k.places >= 10 AND t.stage IS NULL AND e.first_ts > k.progress_ts + k.median_ms * interval '2 ms'
                AND e.first_ts < (SELECT min(x.first_ts) FROM l4._case_event AS x WHERE x.job_id = k.job_id AND x.is_new AND (x.terminal OR x.exit)), false);
    END IF;
    PERFORM l4._case_trouble(k.job_id);

    -- routine before the trouble
    UPDATE l4._case_event AS e SET dropped = 'routine before the trouble'
    FROM l4._case AS c
    WHERE c.job_id = k.job_id AND e.job_id = k.job_id AND e.is_new AND e.dropped IS NULL
        AND e.level < 3 AND NOT e.terminal AND e.first_ts < c.trouble_ts - interval '50 ms';

    IF NOT k.trained THEN
        PERFORM l4._drop_startup(k.job_id);
    END IF;
END;
$$;
COMMENT ON FUNCTION l4._case_drop(text) IS 'working set: new events that are no sign of the failure, and why';

-- A job that did not start: what its processes say below a warning is the start-up that others get through.
CREATE FUNCTION l4._drop_startup(job_id text) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    UPDATE l4._case_event AS e SET dropped = 'start-up'
    WHERE e.job_id = _drop_startup.job_id AND e.is_new AND e.dropped IS NULL AND e.level IN (1, 2) AND NOT e.terminal AND NOT e.exit;
END;
COMMENT ON FUNCTION l4._drop_startup(text) IS 'working set: start-up is no sign of a failure to start';

CREATE FUNCTION l4._case_trouble(job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- A crash that a node outlived by three iterations was none: then its last report counts.
    UPDATE l4._case AS c SET terminal_ts = (
        SELECT min(CASE WHEN x.first_ts < third.done_ts THEN x.last_ts ELSE x.first_ts END)
        FROM l4._case_event AS e
        JOIN l4._case_count AS x USING (job_id, event_id)
        LEFT JOIN (SELECT i.done_ts FROM l4._case_iteration AS i WHERE i.job_id = _case_trouble.job_id ORDER BY i.place DESC OFFSET 2 LIMIT 1) AS third ON true
        WHERE e.job_id = c.job_id AND e.is_new AND e.terminal AND e.dropped IS NULL)
    WHERE c.job_id = _case_trouble.job_id;
    UPDATE l4._case AS c SET trouble_ts = least(
        c.terminal_ts, c.progress_ts, c.onset_ts,
        (SELECT min(e.first_ts) FROM l4._case_event AS e
         WHERE e.job_id = c.job_id AND e.is_new AND e.dropped IS NULL AND NOT e.stack AND (e.level >= 3 OR e.terminal)))
    WHERE c.job_id = _case_trouble.job_id;
END;
$$;
COMMENT ON FUNCTION l4._case_trouble(text) IS 'working set: when a crash was first reported, and when the trouble began';

-- The working set is young: without statistics a planner picks nested loops, over 100,000 rows of a large job.
CREATE FUNCTION l4._case_marks(job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off SET jit = off
AS $$
BEGIN
    UPDATE l4._case_node AS x SET new_ts = t.new_ts, loud_ts = t.loud_ts, terminal_ts = t.terminal_ts, is_victim = coalesce(t.is_victim, false)
    FROM (
        SELECT c.node, min(c.first_ts) AS new_ts,
            min(c.first_ts) FILTER (WHERE e.level >= 3 OR e.terminal OR e.exit) AS loud_ts,
            min(c.first_ts) FILTER (WHERE e.terminal AND NOT e.exit) AS terminal_ts,
            (array_agg(f.nodes ORDER BY c.first_ts, c.first_line_no) FILTER (WHERE e.terminal AND NOT e.exit))[1] > 1 AS is_victim
        FROM l4._case_event AS e
        JOIN l4._case_count AS c USING (job_id, event_id)
        LEFT JOIN (
            SELECT z.family, count(DISTINCT y.node) AS nodes
            FROM l4._case_event AS z JOIN l4._case_count AS y USING (job_id, event_id)
            WHERE z.job_id = _case_marks.job_id AND z.terminal GROUP BY z.family) AS f ON f.family = e.family
        WHERE e.job_id = _case_marks.job_id AND e.is_new AND e.dropped IS NULL AND NOT e.stack
        GROUP BY c.node) AS t
    WHERE x.job_id = _case_marks.job_id AND x.node = t.node;
END;
$$;
COMMENT ON FUNCTION l4._case_marks(text) IS 'working set: when each node first deviated, was loud and reported a crash, and whether it failed like others';

-- How long nothing may happen before a job counts as hanging; where iterations are printed every so often, at least four of these lines must be due.
CREATE FUNCTION l4._patience(k l4._case) RETURNS interval
LANGUAGE sql IMMUTABLE
RETURN least(1e9, greatest((k.parameters ->> 'hang_seconds')::float8,
    greatest((k.parameters ->> 'hang_iterations')::float8, 4 * k.step::float8) * coalesce(k.median_ms, 0) / 1000)) * interval '1 second';
COMMENT ON FUNCTION l4._patience(l4._case) IS 'silence that makes a hang';

-- A node ends well with a line that ends a node of a good job, unless that is an iteration before the last one, or when it got to the shutdown
-- after its work without a crash. It went through when that line cannot have come earlier: it is the shutdown, or one that nobody
-- prints before the last tenth of the job. Where half of the nodes that print iterations went through, and none reports a crash, the others' logs
-- were cut off, or end with whatever came last.
CREATE FUNCTION l4._case_ends(k l4._case) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off SET jit = off
AS $$
DECLARE
    last_ones constant int[] := (SELECT array_agg(DISTINCT o.last_event_id) FROM l4._node AS o WHERE o.job_id = ANY (k.baseline));
BEGIN
    UPDATE l4._case_node AS x SET ended_well = coalesce(e.by_line, false) OR e.by_stage,
        went_through = (e.by_stage OR coalesce(e.by_line AND e.at_end, false)) AND coalesce(x.last_iteration > k.total - k.step, true)
    FROM (
        SELECT z.node, v.last_event_id = ANY (last_ones) AND NOT (t.iteration_rule IS NOT NULL AND coalesce(z.last_iteration <= k.total - k.step, false))
                -- and it says the same
                AND NOT EXISTS (SELECT FROM l4._case_event AS y WHERE y.job_id = z.job_id AND y.event_id = v.last_event_id AND y.is_new)
                -- or it came, and what was shown of the progress after it
                OR t.iteration_rule IS NOT NULL AND coalesce(z.last_iteration > k.total - k.step AND w.ts >= z.progress_ts - l4._patience(k), false) AS by_line,
            z.terminal_ts IS NULL AND coalesce(h.ts - z.clock >= z.progress_ts, false) AS by_stage,
            j.first_ts > k.last_ts - 0.1 * (k.last_ts - k.first_ts) AS at_end
        FROM l4._case_node AS z
        LEFT JOIN l4._node AS v ON v.job_id = z.job_id AND v.node = z.node
        LEFT JOIN l4._event AS t ON t.event_id = v.last_event_id
        LEFT JOIN l4._job_event AS j ON j.job_id = z.job_id AND j.event_id = v.last_event_id
        LEFT JOIN (SELECT s.node, max(s.first_ts) AS ts FROM l4.stage_span AS s WHERE s.job_id = k.job_id AND s.stage = 'shutdown' GROUP BY s.node) AS h
            ON h.node = z.node
        LEFT JOIN (SELECT c.node, max(c.last_ts) AS ts FROM l4._event_counts(k.job_id, coalesce(last_ones, '{}')) AS c GROUP BY c.node) AS w ON w.node = z.node
        WHERE z.job_id = k.job_id) AS e
    WHERE x.job_id = k.job_id AND x.node = e.node;
END;
$$;
COMMENT ON FUNCTION l4._case_ends(l4._case) IS 'working set: which nodes ended as nodes of good jobs do';

-- Do the first crash reports come of waiting? Without times the first of each node count, and none must be another one that only one node has.
CREATE FUNCTION l4._waited(k l4._case) RETURNS bool
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH report AS (
        SELECT DISTINCT ON (c.node) c.node, e.event_id, e.family
        FROM l4._case_event AS e JOIN l4._case_count AS c USING (job_id, event_id)
        WHERE e.job_id = k.job_id AND e.is_new AND e.terminal AND NOT e.exit AND e.dropped IS NULL AND coalesce(c.first_ts <= k.terminal_ts + interval '1 s', NOT k.timed)
        ORDER BY c.node, c.first_ts, c.first_line_no
    ), reason AS (
        -- an error that a runtime logs just before the exception of which it is the reason
        SELECT e.event_id FROM l4._case_event AS e
        WHERE e.job_id = k.job_id AND e.is_new AND e.level >= 4 AND NOT e.terminal AND NOT e.exit AND NOT e.stack AND e.dropped IS NULL
            AND e.first_ts BETWEEN k.terminal_ts - interval '1 s' AND k.terminal_ts
    ), told AS MATERIALIZED (
        -- once an event, not once a node
        SELECT t.event_id, l4._marked(t.example, 'timeout') AS waited
        FROM l4._event AS t WHERE t.event_id IN (SELECT r.event_id FROM report AS r)
    ), said AS (
        SELECT r.*, t.waited, count(*) OVER (PARTITION BY r.family) AS nodes
        FROM report AS r JOIN told AS t USING (event_id)
    )
    SELECT coalesce((bool_or(s.waited) OR EXISTS (SELECT FROM reason AS r JOIN l4._event AS t USING (event_id) WHERE l4._marked(t.example, 'timeout'))) AND (k.timed OR NOT bool_or(NOT s.waited AND s.nodes = 1)), false) FROM said AS s;
END;
COMMENT ON FUNCTION l4._waited(l4._case) IS 'do the first crash reports say that something was waited for too long';

CREATE FUNCTION l4._case_symptom(job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off SET jit = off
AS $$
DECLARE
    k l4._case;
    n record;
    announced bool;
BEGIN
    SELECT * INTO STRICT k FROM l4._case AS c WHERE c.job_id = _case_symptom.job_id;
    PERFORM l4._case_marks(k.job_id);
    -- without times a crash report is all that there is to tell by
    k.crashed := k.terminal_ts IS NOT NULL OR NOT k.timed
        AND EXISTS (SELECT FROM l4._case_event AS e WHERE e.job_id = k.job_id AND e.is_new AND e.terminal AND e.dropped IS NULL);
    IF NOT k.trained THEN
        -- Announced. But where good jobs tell of their iterations and no line here is about one, by half of the nodes, or the first crash
        -- must be in a step of the training: one node may say that it begins while others still load.
        announced := EXISTS (SELECT FROM l4.stage_span AS s WHERE s.job_id = k.job_id AND s.stage = 'train');
        k.trained := announced
            AND (EXISTS (SELECT FROM l4._case_node AS x WHERE x.job_id = k.job_id AND x.in_flight > 0)
                OR NOT EXISTS (SELECT FROM l4._stream AS s WHERE s.job_id = ANY (k.baseline) AND s.last_iteration IS NOT NULL)
                OR 2 * (SELECT count(DISTINCT c.node) FROM l4._event_counts(k.job_id, ARRAY(SELECT j.event_id FROM l4._job_event AS j
                    JOIN l4._event AS t USING (event_id) WHERE j.job_id = k.job_id AND t.stage = 'train')) AS c) >= k.nodes)
            OR l4._in_step(k.job_id, announced);
    END IF;
    PERFORM l4._case_ends(k);
    SELECT bool_and(x.ended_well) OR NOT k.crashed
            AND 2 * count(*) FILTER (WHERE x.ended_well AND x.went_through AND x.prints) >= greatest(count(*) FILTER (WHERE x.prints), 1) AS ended_well,
        bool_and(x.last_iteration IS NULL OR x.last_iteration > k.total - k.step) AS reached,
        count(x.last_iteration) AS printing
    INTO n
    FROM (SELECT z.*, z.last_iteration IS NOT NULL OR bool_and(z.last_iteration IS NULL) OVER () AS prints FROM l4._case_node AS z WHERE z.job_id = k.job_id) AS x;
    k.ended_well := coalesce(n.ended_well, false);
    -- with nothing to compare with: all iterations done, and neither trouble nor a long silence after the last one
    IF NOT k.ended_well AND cardinality(k.baseline) = 0 AND NOT k.crashed AND n.printing > 0 AND coalesce(n.reached, false)
        AND k.last_ts - k.progress_ts <= l4._patience(k) AND NOT EXISTS (SELECT FROM l4._case_node AS x WHERE x.job_id = k.job_id AND x.loud_ts >= k.progress_ts) THEN
        k.ended_well := true;
        UPDATE l4._case_node AS x SET ended_well = true WHERE x.job_id = k.job_id;
    END IF;
    k.finished := k.ended_well OR n.printing > 0 AND coalesce(n.reached, false);
    -- Last iterations that came after a long silence, with nothing behind them, were written when the processes ended: buffers were flushed.
    IF NOT k.finished THEN
        k.progress_ts := coalesce((
            SELECT i.before_ts
            FROM (SELECT z.done_ts, lag(z.done_ts) OVER (ORDER BY z.place) AS before_ts, z.place
                FROM l4._case_iteration AS z WHERE z.job_id = k.job_id) AS i
            WHERE i.done_ts - i.before_ts > l4._patience(k) AND i.done_ts >= least(k.terminal_ts, k.last_ts) - interval '2 s'
            ORDER BY i.place LIMIT 1), k.progress_ts);
    END IF;
    k.symptom := CASE
        WHEN k.finished AND k.ended_well AND coalesce(k.terminal_ts <= k.progress_ts, true)
            AND coalesce(k.excess, 0) < (k.parameters ->> 'slow_excess')::float8 THEN 'none'
        WHEN (k.finished OR NOT k.crashed) AND k.excess >= (k.parameters ->> 'slow_excess')::float8
            AND coalesce(k.terminal_ts <= k.progress_ts, true) THEN 'slow'
        WHEN NOT k.trained THEN CASE WHEN k.nodes > 0 AND (k.crashed
                OR EXISTS (SELECT FROM l4._case_node AS x WHERE x.job_id = k.job_id AND x.lines = 0)
                OR EXISTS (SELECT FROM l4._case_node AS x WHERE x.job_id = k.job_id AND x.loud_ts IS NOT NULL)) THEN 'launch' ELSE 'none' END
        -- who lost a peer may take its time to say so
        WHEN coalesce(k.terminal_ts, k.last_ts) - k.progress_ts > l4._patience(k) * CASE WHEN k.terminal_ts IS NULL OR l4._waited(k) THEN 1 ELSE 2 END
            OR (NOT k.timed OR k.progress_ts IS NULL) AND l4._waited(k) THEN 'hang'
        WHEN k.crashed THEN 'crash'
        ELSE 'none' END;
    UPDATE l4._case AS c SET trained = k.trained, progress_ts = k.progress_ts, crashed = k.crashed, ended_well = k.ended_well, finished = k.finished, symptom = k.symptom
    WHERE c.job_id = k.job_id;
END;
$$;
COMMENT ON FUNCTION l4._case_symptom(text) IS 'working set: did the job finish, and what is wrong with it';
