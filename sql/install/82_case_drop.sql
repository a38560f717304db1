-- What is no sign of the failure, although it is new, and when the trouble began.

-- Another value of a setting that good jobs echo too.
--: events that echo a setting which good jobs echo too
CREATE FUNCTION l4._settings(k l4._case) RETURNS TABLE (event_id int)
LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    WITH good AS MATERIALIZED (
        SELECT DISTINCT l4._survivor(e.event_id, e.merged_into) AS event_id
        FROM l4._job_event AS j JOIN l4._event AS e USING (event_id) WHERE j.job_id = ANY (k.baseline || k.elsewhere)
    ), setting AS MATERIALIZED (
        SELECT DISTINCT ON (t.event_id) t.event_id, l4.pcre_captures(t.example, r.signature) ->> 'key' AS key
        FROM l4._event AS t
        JOIN l4._marker('config') AS r ON l4.pcre_match(t.example, r.signature)
        WHERE t.merged_into IS NULL AND l4._level(t.level) < (k.t).warning_level
            AND (t.event_id IN (SELECT x.event_id FROM l4._case_event AS x WHERE x.job_id = k.job_id)
                OR t.event_id IN (SELECT g.event_id FROM good AS g))
        ORDER BY t.event_id, r.rule_id DESC
    )
    SELECT s.event_id FROM setting AS s
    WHERE s.key IN (SELECT z.key FROM setting AS z JOIN good AS g USING (event_id));
END;

-- Where each node of a good job reports iterations, one that reports none did not train with the others; without a good
-- job, where most nodes of this one do.
--: nodes that did not train although the job did
CREATE FUNCTION l4._left_out(k l4._case) RETURNS SETOF text
LANGUAGE plpgsql STABLE ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT n.node FROM l4._nodes(k.job_id) AS n
    WHERE n.train_ts IS NULL AND k.iterations >= (k.t).min_iterations
        AND CASE WHEN k.baseline = '{}'
            THEN (SELECT count(z.train_ts) > (k.t).half * count(*) FROM l4._nodes(k.job_id) AS z)
            ELSE (SELECT bool_and(g.last_iteration IS NOT NULL OR g.node IN (
                    SELECT c.node FROM l4._event_counts(k.baseline[1], ARRAY(SELECT l.event_id
                        FROM l4._labelled(k.baseline[1], ARRAY[(k.counter).event_id]) AS l)) AS c))
                FROM l4._node AS g WHERE g.job_id = k.baseline[1]) END;
END;
$$;

-- What was over when the last attempt began, belongs to earlier ones.
--: stages of the last attempt of a job
CREATE FUNCTION l4._stages(k l4._case) RETURNS SETOF l4.stage_span
LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    SELECT s.* FROM l4.stage_span AS s
    WHERE s.job_id = k.job_id AND coalesce(s.last_ts >= k.attempt_ts, true);
END;

-- Events that were over, on every node that has them, when the node had its first iteration done and training went on,
-- or, of a node that did not train, when the node got to a later stage.
--: events that were over before training began
CREATE FUNCTION l4._survived(k l4._case) RETURNS TABLE (event_id int)
LANGUAGE sql STABLE ROWS 100
BEGIN ATOMIC
    WITH stage AS (
        -- training begins once: after an evaluation it goes on
        SELECT z.node, least(max(z.first_ts), min(z.first_ts) FILTER (WHERE z.stage = 'train')) AS ts
        FROM l4._stages(k) AS z
        WHERE z.stage IN ('data', 'model', 'checkpoint_load', 'train') GROUP BY z.node
    ), over AS MATERIALIZED (
        SELECT n.node, CASE WHEN k.iterations >= (k.t).min_iterations
                AND (n.train_ts IS NULL OR n.iterations >= (k.t).min_iterations)
                AND n.node NOT IN (SELECT o FROM l4._left_out(k) AS o)
            THEN coalesce(n.train_ts, k.train_ts) ELSE s.ts - n.clock END AS ts
        FROM l4._nodes(k.job_id) AS n LEFT JOIN stage AS s USING (node)
    )
    SELECT c.event_id
    FROM l4._counts(k.job_id) AS c JOIN over AS o USING (node)
    GROUP BY c.event_id
    HAVING bool_and(coalesce(c.last_ts < o.ts, false));
END;

-- The time of the last iteration but so many.
--: when the last but so many iterations of a job were done
CREATE FUNCTION l4._done_before(k l4._case, back numeric) RETURNS timestamptz
LANGUAGE sql STABLE
RETURN (SELECT i.done_ts FROM l4._case_iteration AS i WHERE i.job_id = k.job_id AND i.place = k.iterations - back + 1);

--: is a job known to have failed
CREATE FUNCTION l4._has_failed(job_id text) RETURNS bool
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN EXISTS (SELECT FROM l4.job AS j WHERE j.job_id = _has_failed.job_id AND j.status = 'failed');

-- With few good jobs the job's own past is what good jobs look like; with none, a line below a warning must say that
-- something is wrong, come for the first time while the job stands still, or be the last word of a node of a job that
-- is known to have failed.
--: events that are no sign of the failure where few good jobs are known
CREATE FUNCTION l4._own_past(k l4._case) RETURNS TABLE (event_id int, reason text)
LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF cardinality(k.baseline || k.elsewhere) >= (k.t).min_baseline THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH event AS MATERIALIZED (
        SELECT e.*, t.stage, t.example AS text, row_number() OVER ()::int AS place
        FROM l4._new_events(k.job_id) AS e JOIN l4._event AS t USING (event_id)
    ), went_on AS MATERIALIZED (
        SELECT least(k.onset_ts, (SELECT i.done_ts FROM l4._case_iteration AS i
            WHERE i.job_id = k.job_id
                AND i.nodes > (SELECT (k.t).half * max(z.nodes) FROM l4._case_iteration AS z WHERE z.job_id = k.job_id)
            ORDER BY i.place DESC OFFSET (k.t).min_past::bigint - 1 LIMIT 1)) AS ts
    ), still AS MATERIALIZED (
        SELECT k.reported_ts + (k.t).still_iterations::float8 * k.median_ms * interval '1 ms' AS from_ts,
            min(e.first_ts) AS to_ts
        FROM event AS e WHERE e.terminal OR e.exit
    ), last_word AS MATERIALIZED (
        SELECT DISTINCT n.last_event_id AS event_id FROM l4._node AS n
        WHERE n.job_id = k.job_id AND l4._has_failed(k.job_id)
    )
    SELECT e.event_id, 'the job went on' FROM event AS e CROSS JOIN went_on AS w
    WHERE e.last_ts < w.ts AND NOT (e.terminal AND EXISTS (SELECT FROM l4._counts(k.job_id) AS c
        WHERE c.event_id = e.event_id AND c.node IN (SELECT o FROM l4._left_out(k) AS o)))
    UNION ALL
    SELECT e.event_id, 'says nothing bad'
    FROM event AS e
    CROSS JOIN still AS s
    LEFT JOIN l4._marks(ARRAY(SELECT z.text FROM event AS z ORDER BY z.place), '{trouble}') AS m ON m.place = e.place
    WHERE cardinality(k.baseline || k.elsewhere) = 0 AND e.level < (k.t).warning_level AND NOT e.terminal
        AND NOT e.stack
        AND m.place IS NULL
        AND NOT coalesce(k.iterations >= (k.t).min_past AND e.stage IS NULL AND e.first_ts > s.from_ts
            AND e.first_ts < s.to_ts, false)
        AND NOT (e.level = 0 AND e.occurrences = e.nodes
            AND e.event_id IN (SELECT w.event_id FROM last_word AS w))
        AND e.event_id NOT IN (SELECT x FROM l4._new_status(k.job_id, '{}') AS x);
END;
$$;

-- A job that did not start: what its processes say below a warning is the start-up that others get through.
--: case, dropped: start-up is no sign of a failure to start
CREATE FUNCTION l4._drop_startup(k l4._case) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    INSERT INTO l4._case_dropped (job_id, event_id, reason)
    SELECT k.job_id, e.event_id, 'start-up' FROM l4._claims(k.job_id) AS e
    WHERE e.level > 0 AND e.level < (k.t).warning_level AND NOT e.terminal AND NOT e.exit;
END;

--: case, dropped: writes new events that are no sign of the failure, and why; adds when the trouble began
CREATE FUNCTION l4._case_drop(k l4._case) RETURNS l4._case
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    third constant timestamptz := l4._done_before(k, (k.t).min_iterations);
BEGIN
    INSERT INTO l4._case_dropped (job_id, event_id, reason)
    SELECT DISTINCT ON (e.event_id) k.job_id, e.event_id, r.reason
    FROM l4._new_events(k.job_id) AS e
    JOIN (
        SELECT x.event_id, 1 AS place, false AS low, 'an earlier attempt' AS reason FROM l4._new_events(k.job_id) AS x
        WHERE k.attempt_ts IS NOT NULL AND x.event_id NOT IN (SELECT c.event_id FROM l4._counts(k.job_id) AS c)
        UNION ALL
        SELECT s.event_id, 2, true, 'a setting with another value' FROM l4._settings(k) AS s
        UNION ALL
        -- how far the training is, in a form that good jobs do not print: another unit, another width
        SELECT t.event_id, 3, true, 'reports progress'
        FROM l4._event AS t JOIN l4.iteration_rule AS i ON i.rule_id = t.iteration_rule AND i.kind = 'done'
        UNION ALL
        SELECT b.event_id, 3, true, 'reports progress'
        FROM (SELECT array_agg(j.event_id) || (k.counter).event_id AS bars
            FROM l4._job_event AS j JOIN l4._event AS t USING (event_id)
            WHERE j.job_id = ANY (k.baseline[1:(k.t).word_jobs::int])
                AND t.template ~ '[^[:alnum:][:space:]<>*]{4}') AS g
        CROSS JOIN LATERAL l4._labelled(k.job_id, g.bars) AS b
        UNION ALL
        SELECT s.event_id, 4, false, 'over before training began' FROM l4._survived(k) AS s
        UNION ALL
        SELECT p.event_id, 5, false, p.reason FROM l4._own_past(k) AS p
        UNION ALL
        SELECT a, 6, false, 'came all along' FROM l4._all_along(k) AS a
        UNION ALL
        -- the rest of a line or report that was cut: ">", "====", "})"
        SELECT t.event_id, 7, false, 'has no words' FROM l4._event AS t
        WHERE t.event_id IN (SELECT x.event_id FROM l4._new_events(k.job_id) AS x)
            AND t.example ~ '^[[:punct:][:space:]]*$') AS r USING (event_id)
    WHERE (NOT r.low OR e.level < (k.t).warning_level AND NOT e.terminal)
        -- a complaint in the words of a report, after which nothing is reported
        AND NOT (r.place = 3 AND coalesce(e.first_ts > k.reported_ts - l4._seconds((k.t).same_moment), false)
            AND l4._marked((SELECT t.example FROM l4._event AS t WHERE t.event_id = e.event_id), 'trouble'))
    ORDER BY e.event_id, r.place, r.reason DESC;
    -- a crash that a node outlived by some iterations was none: then its last report counts; one without a time comes
    -- with the first that has one
    SELECT coalesce(min(r.ts) FILTER (WHERE s.terminal AND r.ts <= n.last_ts), min(r.ts) FILTER (WHERE s.terminal)),
        least(k.reported_ts, k.onset_ts, min(s.first_ts)
            FILTER (WHERE NOT s.stack AND (s.level >= (k.t).warning_level OR s.terminal)))
    INTO k.terminal_ts, k.trouble_ts
    FROM l4._shown(k.job_id) AS s JOIN l4._nodes(k.job_id) AS n USING (node)
    CROSS JOIN LATERAL (SELECT CASE WHEN s.first_ts < third THEN s.last_ts ELSE s.first_ts END AS ts) AS r;
    k.trouble_ts := least(k.terminal_ts, k.trouble_ts);
    INSERT INTO l4._case_dropped (job_id, event_id, reason)
    SELECT k.job_id, e.event_id, 'routine before the trouble'
    FROM l4._claims(k.job_id) AS e JOIN l4._event AS t USING (event_id)
    WHERE e.level < (k.t).warning_level AND NOT e.terminal
        -- what good jobs do not have is no routine while it comes again, or where it tells of trouble
        AND CASE WHEN k.baseline = '{}' THEN e.first_ts ELSE e.last_ts END
            < k.trouble_ts - l4._seconds((k.t).routine_lead)
        AND (k.baseline = '{}' OR NOT l4._marked(t.example, 'trouble'));
    IF k.iterations = 0 THEN
        PERFORM l4._drop_startup(k);
    END IF;
    RETURN k;
END;
$$;

--: case, marks: writes when nodes first deviated, were significant and reported a crash, and who failed like others
CREATE FUNCTION l4._case_marks(k l4._case) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    INSERT INTO l4._case_mark (job_id, node, new_ts, significant_ts, terminal_ts, is_victim)
    WITH shown AS (
        SELECT s.* FROM l4._shown(k.job_id) AS s WHERE NOT s.stack
    ), failing AS (
        SELECT e.alike, count(DISTINCT c.node) AS nodes
        FROM l4._case_event AS e JOIN l4._case_count AS c USING (job_id, event_id)
        WHERE e.job_id = k.job_id AND e.terminal AND e.alike IS NOT NULL
        GROUP BY e.alike
    )
    SELECT k.job_id, s.node, min(s.first_ts),
        min(s.first_ts) FILTER (WHERE s.level >= (k.t).warning_level OR s.terminal OR s.exit),
        min(s.first_ts) FILTER (WHERE s.terminal AND NOT s.exit),
        coalesce((array_agg(f.nodes ORDER BY s.first_ts, f.nodes)
            FILTER (WHERE s.terminal AND NOT s.exit))[1] > 1, false)
    FROM shown AS s LEFT JOIN failing AS f USING (alike)
    GROUP BY s.node;
END;
