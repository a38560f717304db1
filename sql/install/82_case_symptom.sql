-- How the job ended: did it train, and is it a crash, a hang, slowness or nothing.

--: silence that makes a hang
CREATE FUNCTION l4._patience(k l4._case) RETURNS interval
LANGUAGE sql IMMUTABLE
RETURN least(1e9, greatest((k.t).hang_seconds,
        greatest((k.t).hang_iterations, (k.t).hang_reports * k.step) * coalesce(k.median_ms, 0) / 1000))
    * interval '1 second';

-- Where nodes have several ranks: few that got less far than most.
--: ranks of nodes with several that got less far than most ranks
CREATE FUNCTION l4._ranks_behind(k l4._case) RETURNS TABLE (node text, rank int)
LANGUAGE plpgsql STABLE ROWS 5 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM l4._several_ranks(k.job_id)) THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH ranked AS MATERIALIZED (
        SELECT r.* FROM l4._several_ranks(k.job_id) AS r
    ), got AS (
        SELECT s.node, u.rank, u.at
        FROM l4._summary AS s CROSS JOIN LATERAL l4._last_of_ranks(s.sequences, s.open_sequences) AS u
        WHERE s.job_id = k.job_id
    ), last AS MATERIALIZED (
        SELECT r.node, r.rank, coalesce(max(g.at), 0) AS at
        FROM ranked AS r LEFT JOIN got AS g USING (node, rank) GROUP BY r.node, r.rank
    ), behind AS (
        SELECT l.node, l.rank, count(*) OVER () AS many
        FROM last AS l WHERE l.at < (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY z.at) FROM last AS z)
    )
    SELECT b.node, b.rank FROM behind AS b
    WHERE b.many <= greatest(1, (k.t).uncommon_share * (SELECT count(*) FROM last));
END;
$$;

-- A node ends well with a line that ends a node of a good job, unless that is an iteration before the last one, or when
-- it got to the shutdown after its work without a crash. It went through when that line cannot have come earlier: it is
-- the shutdown, or one that nobody prints before the last part of the job. A node that reported a crash and had no
-- iteration done after it did not end well, whatever orderly words followed; where few nodes print iterations those of
-- the job count. Nor did a node of which a rank is behind, however well its others ended.
--: which nodes ended as nodes of good jobs do
CREATE FUNCTION l4._ends(k l4._case) RETURNS SETOF l4._case_end
LANGUAGE sql STABLE ROWS 500
BEGIN ATOMIC
    WITH counter AS MATERIALIZED (
        SELECT l.event_id FROM l4._labelled(k.job_id, ARRAY[(k.counter).event_id]) AS l
    ), last_ones AS MATERIALIZED (
        SELECT coalesce(array_agg(DISTINCT o.last_event_id), '{}') AS ids,
            min(o.last_iteration) AS done,
            CASE WHEN (k.epochs).length IS NOT NULL THEN min(o.last_iteration) END AS iteration
        FROM l4._good_nodes(k) AS o
    ), parting AS MATERIALIZED (
        SELECT c.node, c.event_id, c.last_ts FROM l4._event_counts(k.job_id, (SELECT l.ids FROM last_ones AS l)) AS c
    ), shutdown AS (
        SELECT s.node, max(s.first_ts) AS ts FROM l4._stages(k) AS s
        WHERE s.stage = 'shutdown' GROUP BY s.node
    ), crash AS (
        SELECT z.node, z.terminal_ts >= coalesce(z.progress_ts,
            CASE WHEN count(z.progress_ts) OVER () < (k.t).half * count(*) OVER () THEN k.reported_ts END,
            '-infinity') AS last
        FROM l4._nodes(k.job_id) AS z
    ), behind AS MATERIALIZED (
        SELECT DISTINCT b.node FROM l4._ranks_behind(k) AS b
    ), ended AS (
        SELECT z.node, b.node IS NULL AS even, z.last_iteration > k.total - k.step AS reached,
            t.event_id = ANY (l.ids)
                -- nor within an epoch before good jobs do
                AND NOT (r.reports AND (coalesce(z.last_iteration <= k.total - k.step, false)
                    OR coalesce((l4._in_epoch(k.epochs, z.last_iteration)).iteration <= l.iteration - k.step, false)))
                -- and it says the same
                AND NOT EXISTS (SELECT FROM l4._case_event AS y
                    WHERE y.job_id = k.job_id AND y.event_id = t.event_id AND y.is_new) AS said,
            z.terminal_ts IS NULL AND coalesce(h.ts - z.clock >= z.progress_ts, false) AS by_stage,
            j.first_ts - coalesce(f.clock, '0')
                > k.last_ts - (k.t).last_part::float8 * (k.last_ts - k.first_ts) AS at_end,
            coalesce(x.last, false) AS crashed
        FROM l4._nodes(k.job_id) AS z
        JOIN crash AS x ON x.node = z.node
        CROSS JOIN last_ones AS l
        LEFT JOIN l4._node AS v ON v.job_id = k.job_id AND v.node = z.node
        -- of a node that did all iterations others may say that it left, and it that they did
        LEFT JOIN LATERAL (SELECT p.event_id FROM parting AS p
            WHERE p.node = z.node AND v.last_event_id <> ALL (l.ids)
                AND z.last_iteration > coalesce(k.total, l.done) - k.step AND p.last_ts - z.clock >= z.progress_ts
            ORDER BY p.last_ts DESC, p.event_id LIMIT 1) AS p ON true
        LEFT JOIN l4._event AS t ON t.event_id = coalesce(p.event_id, v.last_event_id)
        CROSS JOIN LATERAL (SELECT t.iteration_rule IS NOT NULL
            OR t.event_id IN (SELECT c.event_id FROM counter AS c) AS reports) AS r
        LEFT JOIN l4._job_event AS j ON j.job_id = k.job_id AND j.event_id = t.event_id
        LEFT JOIN l4._case_clock AS f ON f.job_id = k.job_id AND f.node = j.first_node
        LEFT JOIN shutdown AS h ON h.node = z.node
        LEFT JOIN behind AS b ON b.node = z.node
    )
    SELECT k.job_id, e.node, e.even AND (coalesce(y.by_line, false) OR e.by_stage),
        e.even AND (e.by_stage OR coalesce(y.by_line AND e.at_end, false)) AND coalesce(e.reached, true)
    FROM ended AS e CROSS JOIN LATERAL (SELECT e.said AND NOT e.crashed AS by_line) AS y;
END;

-- Do the first crash reports come of waiting? Without times the first of each node count, and none must be another one
-- that only one node has.
--: do the first crash reports say that something was waited for too long
CREATE FUNCTION l4._waited(k l4._case) RETURNS bool
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH report AS (
        SELECT DISTINCT ON (s.node) s.node, s.event_id, s.alike
        FROM l4._shown(k.job_id) AS s
        WHERE s.terminal AND NOT s.exit
            AND (NOT k.timed OR s.first_ts <= k.terminal_ts + l4._seconds((k.t).same_moment))
        ORDER BY s.node, s.first_ts, s.first_line_no
    ), reason AS (
        -- an error that a runtime logs just before the exception of which it is the reason
        SELECT e.event_id FROM l4._claims(k.job_id) AS e
        WHERE e.level >= (k.t).error_level AND NOT e.terminal AND NOT e.exit AND NOT e.stack
            AND e.first_ts BETWEEN k.terminal_ts - l4._seconds((k.t).same_moment) AND k.terminal_ts
    ), asked AS MATERIALIZED (
        SELECT t.event_id, l4._marked(t.example, 'timeout') AS waited
        FROM l4._event AS t
        WHERE t.event_id IN (SELECT r.event_id FROM report AS r UNION SELECT r.event_id FROM reason AS r)
    ), reported AS (
        SELECT r.*, a.waited, count(*) OVER (PARTITION BY r.alike) AS nodes
        FROM report AS r JOIN asked AS a USING (event_id)
    )
    SELECT coalesce(
        (bool_or(s.waited) OR EXISTS (SELECT FROM reason AS r JOIN asked AS a USING (event_id) WHERE a.waited))
            AND (k.timed OR NOT bool_or(NOT s.waited AND s.nodes = 1)), false)
    FROM reported AS s;
END;

-- What good jobs print before their first iteration, on how many nodes (the one that leads the others as well), and how
-- often on a node: by each of its ranks.
--: events of the start-up of good jobs, how long before the first iteration the last node prints them, on which share
--: of the nodes, and how often a node does, where these jobs agree
CREATE FUNCTION l4._start_up(k l4._case) RETURNS TABLE (event_id int, before interval, share float8, times float8)
LANGUAGE sql STABLE ROWS 50
BEGIN ATOMIC
    WITH place AS MATERIALIZED (
        -- what came again when a job was started again is known by the first time
        SELECT b.job_id, c.node, l4._survivor(e.event_id, e.merged_into) AS event_id, c.first_ts, c.first_line_no,
            CASE WHEN a.once THEN c.last_ts ELSE c.first_ts END AS last_ts,
            CASE WHEN a.once THEN c.last_line_no ELSE c.first_line_no END AS last_line_no,
            CASE WHEN a.once THEN c.occurrences END AS occurrences,
            r.rule_id IS NOT NULL OR l.event_id IS NOT NULL AS reports
        FROM unnest(k.baseline[1:(k.t).min_pair::int], k.good_since[1:(k.t).min_pair::int]) AS b(job_id, since)
        CROSS JOIN LATERAL l4._event_counts(b.job_id, NULL) AS c
        CROSS JOIN LATERAL (SELECT coalesce(c.last_ts < b.since, true) AS once) AS a
        JOIN l4._event AS e USING (event_id)
        LEFT JOIN l4.iteration_rule AS r ON r.rule_id = e.iteration_rule AND r.kind = 'done'
        LEFT JOIN l4._labelled(b.job_id, ARRAY[(k.counter).event_id]) AS l
            ON l.event_id = l4._survivor(e.event_id, e.merged_into)
    ), done AS MATERIALIZED (
        SELECT p.job_id, p.node, min(p.first_ts) AS ts, min(p.first_line_no) AS line_no
        FROM place AS p WHERE p.reports GROUP BY p.job_id, p.node
    ), event AS (
        -- each node by its own clock; a launcher may show several lines at once: then their order tells
        SELECT p.event_id, p.job_id, count(DISTINCT p.node)::float8 AS nodes, sum(p.occurrences)::float8 AS occurrences,
            max(p.last_ts - coalesce(d.ts, o.ts)) AS before,
            bool_and(p.last_ts < coalesce(d.ts, o.ts) OR p.last_ts = d.ts AND p.last_line_no < d.line_no) AS is_before
        FROM place AS p
        LEFT JOIN done AS d USING (job_id, node)
        JOIN (SELECT z.job_id, min(z.ts) AS ts FROM done AS z GROUP BY z.job_id) AS o USING (job_id)
        GROUP BY p.event_id, p.job_id
    ), good AS MATERIALIZED (
        SELECT p.job_id, count(DISTINCT p.node)::float8 AS nodes FROM place AS p GROUP BY p.job_id
    )
    SELECT e.event_id, max(e.before), min(e.nodes / g.nodes),
        CASE WHEN min(t.times) = max(t.times) THEN min(t.times) END
    FROM event AS e JOIN good AS g USING (job_id) CROSS JOIN LATERAL (SELECT e.occurrences / g.nodes AS times) AS t
    WHERE e.is_before
    GROUP BY e.event_id
    HAVING count(*) = (SELECT count(*) FROM good AS x);
END;

-- Others may announce the training and wait in vain for a node that failed before, or never wrote.
--: did the first node that reports a crash not announce the training, as half of the nodes did, or one never write
CREATE FUNCTION l4._failed_before(k l4._case) RETURNS bool
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH training AS MATERIALIZED (
        SELECT x.node, min(x.first_ts) AS first_ts
        FROM (SELECT s.node, s.first_ts FROM l4._stages(k) AS s WHERE s.stage = 'train'
            UNION ALL
            -- or what each node prints last before its first iteration
            SELECT c.node, c.first_ts
            FROM l4._event_counts(k.job_id, ARRAY(SELECT s.event_id FROM l4._start_up(k) AS s
                WHERE s.share = 1 ORDER BY s.before DESC, s.event_id LIMIT 1)) AS c) AS x
        GROUP BY x.node
    )
    SELECT coalesce((SELECT count(*) >= (k.t).half * k.nodes FROM training AS t) AND (
        SELECT t.first_ts IS NULL OR t.first_ts - n.clock > n.terminal_ts
        FROM l4._nodes(k.job_id) AS n LEFT JOIN training AS t USING (node)
        WHERE n.terminal_ts IS NOT NULL
        ORDER BY n.terminal_ts, n.place LIMIT 1), false)
        OR EXISTS (SELECT FROM l4._nodes(k.job_id) AS n WHERE n.lines = 0);
END;

-- Did a job without iterations train? A stage that is announced is not enough where good jobs report iterations and no
-- line here is about one: half of the nodes must announce it, or the first crash be in a step of the training. One node
-- may say that it begins while others still load.
--: did a job train that reports no iteration
CREATE FUNCTION l4._announced(k l4._case) RETURNS bool
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH job AS (
        SELECT EXISTS (SELECT FROM l4._stages(k) AS s WHERE s.stage = 'train') AS announced,
            k.attempt_ts IS NULL AND EXISTS (SELECT FROM l4._nodes(k.job_id) AS x WHERE x.in_flight > 0) AS in_flight,
            EXISTS (SELECT FROM l4._stream AS s
                WHERE s.job_id = ANY (k.baseline) AND s.last_iteration IS NOT NULL)
                OR (k.counter).event_id IS NOT NULL AS good_jobs_print,
            (SELECT count(DISTINCT c.node) FROM l4._event_counts(k.job_id, ARRAY(
                SELECT j.event_id FROM l4._job_event AS j JOIN l4._event AS t USING (event_id)
                WHERE j.job_id = k.job_id AND t.stage = 'train')) AS c
                WHERE coalesce(c.last_ts >= k.attempt_ts, true)) AS announcing
    )
    SELECT a.announced AND NOT l4._failed_before(k)
            AND (a.in_flight OR NOT a.good_jobs_print OR a.announcing >= (k.t).half * k.nodes)
        OR l4._in_step(k, a.announced)
    FROM job AS a;
END;

-- Was the start-up over? All of it is there, the last of it included: what came next was the first iteration. Of one
-- that is announced something must be told. The last line of all nodes is enough if it comes near the end, as the one
-- that leads may fail before it tells more, but not where other things were loaded than in good jobs. Of good jobs that
-- do not count from the first iteration on the heads may lack: then what few print is no start-up.
--: did a job without an iteration get through the start-up
CREATE FUNCTION l4._started(k l4._case) RETURNS bool
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH event AS MATERIALIZED (
        SELECT l4._survivor(e.event_id, e.merged_into) AS event_id, sum(j.nodes) AS nodes,
            sum(j.occurrences) AS occurrences
        FROM (SELECT x.event_id, x.nodes, x.occurrences FROM l4._job_event AS x
            WHERE x.job_id = k.job_id AND k.attempt_ts IS NULL
            UNION ALL
            SELECT c.event_id, 1, c.occurrences
            FROM l4._event_counts(k.job_id, CASE WHEN k.attempt_ts IS NULL THEN '{}'::int[] END) AS c
            WHERE c.last_ts >= k.attempt_ts) AS j
        JOIN l4._event AS e USING (event_id)
        GROUP BY 1
    ), here AS (
        SELECT s.event_id, s.share, s.before = max(s.before) OVER () AS is_last,
            s.before = max(s.before) FILTER (WHERE s.share >= (k.t).nearly_all) OVER ()
                AND s.before >= max(s.before) OVER () + (k.t).last_part * min(s.before) OVER () AS is_last_of_all,
            -- what few print, as the one that leads, may be on any of them
            coalesce(CASE WHEN s.share < (k.t).nearly_all THEN o.nodes >= 1
                ELSE o.nodes >= (k.t).nearly_all * s.share * k.nodes
                    AND o.occurrences >= (k.t).nearly_all * coalesce(s.times, 0) * k.nodes END, false) AS there
        FROM l4._start_up(k) AS s LEFT JOIN event AS o USING (event_id)
    )
    SELECT CASE WHEN (k.counter).cycle IS NOT NULL
            THEN EXISTS (SELECT FROM event AS e WHERE e.event_id = ANY ((k.counter).cycle))
        ELSE coalesce(avg(h.there::int) >= (k.t).nearly_all
            AND (coalesce((k.counter).low <= abs((k.counter).step), true) OR max(h.share) >= (k.t).nearly_all)
            AND (bool_and(h.there) FILTER (WHERE h.is_last)
                OR bool_and(h.there) FILTER (WHERE h.is_last_of_all) AND NOT EXISTS (
                SELECT FROM event AS e JOIN l4._event AS t USING (event_id)
                WHERE t.stage IN ('data', 'model', 'checkpoint_load')
                    AND e.event_id NOT IN (SELECT z.event_id FROM here AS z))), false) END
    FROM here AS h;
END;

-- Last iterations that came after a long silence, with nothing behind them, were written when the processes ended:
-- buffers were flushed.
--: when the last iteration was done that buffers did not write at the end
CREATE FUNCTION l4._progress_before_flush(k l4._case) RETURNS timestamptz
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce((
        SELECT i.before_ts
        FROM (SELECT z.done_ts, lag(z.done_ts) OVER (ORDER BY z.place) AS before_ts, z.place
            FROM l4._case_iteration AS z WHERE z.job_id = k.job_id) AS i
        WHERE i.done_ts - i.before_ts > l4._patience(k)
            AND i.done_ts >= least(k.terminal_ts, k.last_ts) - l4._seconds((k.t).flush_seconds)
        ORDER BY i.place LIMIT 1), k.reported_ts);
END;

-- Where no line is a crash report: half of the nodes wrote a new line, an error or of no level, and nothing after it.
--: did half of the nodes end with a new error
CREATE FUNCTION l4._gave_up(k l4._case) RETURNS bool
LANGUAGE sql STABLE
RETURN (cardinality(k.baseline) > 0
    OR l4._has_failed(k.job_id) AND coalesce(k.excess, 0) < (k.t).slow_excess) AND (
    SELECT count(DISTINCT n.node) >= (k.t).half * k.nodes
    FROM l4._shown(k.job_id) AS s JOIN l4._nodes(k.job_id) AS n USING (node)
    WHERE (s.level = 0 OR s.level >= (k.t).error_level) AND NOT s.stack
        AND s.last_ts >= n.last_ts - l4._seconds((k.t).same_moment));

-- The clock on the wall is evidence too: nothing came for longer than a time zone can be mistaken.
--: did a job write nothing for so long until now
CREATE FUNCTION l4._silent(job_id text, seconds float8) RETURNS bool
LANGUAGE sql STABLE
RETURN coalesce(now() - (SELECT max(s.last_ts) FROM l4._stream AS s WHERE s.job_id = _silent.job_id)
    > _silent.seconds * interval '1 s', false);

-- A job that is known to have failed, or fell silent and is not known to have succeeded, and whose nodes all stop
-- without a word where good jobs end with some: what ended it left nobody the time to speak, or nobody noticed.
--: did a job stop without a word that failed or fell silent
CREATE FUNCTION l4._stopped(k l4._case) RETURNS bool
LANGUAGE sql STABLE
RETURN NOT k.crashed
    AND (l4._has_failed(k.job_id)
        OR cardinality(k.baseline) > 0 AND (k.parameters ->> 'as_of') IS NULL
            AND EXISTS (SELECT FROM l4.job AS j WHERE j.job_id = k.job_id AND j.status = 'running')
            AND l4._silent(k.job_id, greatest((k.t).silent_seconds, extract(epoch FROM l4._patience(k)))::float8)
            -- not logs of which each was cut elsewhere
            AND (SELECT max(n.last_iteration) - min(n.last_iteration) <= greatest((k.t).max_ahead, k.step)
                FROM l4._nodes(k.job_id) AS n) IS NOT FALSE)
    -- a node that writes at the start alone ends like those of good jobs whenever it does
    AND (SELECT count(*) FILTER (WHERE e.ended_well AND e.went_through) < (k.t).half * count(*)
        FROM l4._case_end AS e WHERE e.job_id = k.job_id);

--: case, symptom: writes how nodes ended; adds whether the job finished, and what is wrong with it
CREATE FUNCTION l4._case_symptom(k l4._case) RETURNS l4._case
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    ends constant l4._case_end[] := ARRAY(SELECT e::l4._case_end FROM l4._ends(k) AS e);
    slow constant bool := coalesce(k.excess, 0) >= (k.t).slow_excess;
    n record;
    patience interval := l4._patience(k);
    all_well bool := false;
    asked l4._case;
    outlived bool;
BEGIN
    -- without times a crash report is all that there is to tell by
    k.crashed := k.terminal_ts IS NOT NULL
        OR NOT k.timed AND EXISTS (SELECT FROM l4._claims(k.job_id) AS e WHERE e.terminal);
    k.trained := k.iterations > 0;
    IF NOT k.trained THEN
        -- before any iteration nothing is left to do with a checkpoint but to load it
        k.trained := l4._announced(k) OR NOT l4._failed_before(k) AND l4._started(k)
            AND l4._path_stage(k, NULL) IS DISTINCT FROM 'checkpoint_load';
    END IF;
    -- where half of the nodes that print iterations went through, and none reports a crash, the others' logs were cut
    -- off, or end with whatever came last
    SELECT bool_and(x.ended_well) OR NOT k.crashed AND count(*)
        FILTER (WHERE x.ended_well AND x.went_through AND x.prints)
            >= (k.t).half * greatest(count(*) FILTER (WHERE x.prints), 1) AS ended_well,
        -- the end of an epoch is not that of the job
        bool_and(x.last_iteration IS NULL OR coalesce(x.last_iteration > k.total - k.step, false))
            AND (k.epochs IS NULL OR (k.epochs).epochs IS NOT NULL) AS reached,
        count(x.last_iteration) AS printing, bool_or(x.significant_ts >= k.reported_ts) AS trouble,
        bool_or(x.significant_ts IS NOT NULL OR x.lines = 0) AS deviates,
        -- behind the last time of each node that reports one
        bool_and(x.terminal_ts > x.last_ts) AS undated
    INTO n
    FROM (SELECT z.significant_ts, z.terminal_ts, z.last_ts, z.last_iteration, z.lines, e.ended_well, e.went_through,
            z.last_iteration IS NOT NULL OR bool_and(z.last_iteration IS NULL) OVER () AS prints
        FROM l4._nodes(k.job_id) AS z JOIN unnest(ends) AS e USING (node)) AS x;
    -- with nothing to compare with: all iterations done, and neither trouble nor a long silence after the last one
    all_well := NOT coalesce(n.ended_well, false) AND cardinality(k.baseline) = 0 AND NOT k.crashed AND n.printing > 0
        AND coalesce(n.reached, false) AND k.last_ts - k.reported_ts <= patience AND NOT coalesce(n.trouble, false);
    INSERT INTO l4._case_end (job_id, node, ended_well, went_through)
    SELECT k.job_id, e.node, e.ended_well OR coalesce(all_well, false), e.went_through FROM unnest(ends) AS e;
    k.ended_well := coalesce(n.ended_well OR all_well, all_well, false);
    k.finished := k.ended_well OR n.printing > 0 AND coalesce(n.reached, false);
    k.crashed := k.crashed OR NOT k.finished AND l4._gave_up(k);
    k.progress_ts := CASE WHEN k.finished THEN k.reported_ts ELSE l4._progress_before_flush(k) END;
    -- where no progress is known a crash was not outlived
    outlived := coalesce(k.terminal_ts <= k.progress_ts, k.terminal_ts IS NULL);
    -- how long the silence before a crash report was that has no time is not known
    asked := k;
    asked.timed := k.timed AND NOT coalesce(n.undated, false);
    k.symptom := CASE
        -- of noise alone a job that got through is slow only where good jobs have none
        WHEN k.finished AND k.ended_well AND outlived AND NOT slow
            THEN CASE WHEN l4._uneven(k) THEN 'slow' ELSE 'none' END
        WHEN slow AND ((k.finished OR NOT k.crashed) AND outlived OR l4._only_told(k)) THEN 'slow'
        WHEN NOT k.trained THEN CASE WHEN k.nodes > 0 AND (k.crashed OR coalesce(n.deviates, false) OR l4._stopped(k))
            THEN 'launch' ELSE 'none' END
        -- that others trained without it is no progress
        WHEN EXISTS (SELECT FROM l4._nodes(k.job_id) AS z JOIN l4._left_out(k) AS o ON o = z.node
            WHERE z.terminal_ts < k.train_ts) THEN 'launch'
        -- who lost a peer may take its time to say so
        WHEN coalesce(k.terminal_ts, k.last_ts) - k.progress_ts > CASE WHEN k.terminal_ts IS NULL THEN patience
            WHEN NOT l4._waited(asked) THEN (k.t).unexplained_patience::float8 * patience
            -- they say so themselves
            ELSE least(patience, greatest(l4._seconds((k.t).hang_seconds),
                (k.t).hang_reports::float8 * k.step * coalesce(k.median_ms, 0) * interval '1 ms')) END
            OR (NOT asked.timed OR k.progress_ts IS NULL) AND l4._waited(asked) THEN 'hang'
        WHEN k.crashed THEN 'crash'
        WHEN NOT k.finished AND l4._stopped(k) THEN 'hang'
        ELSE 'none' END;
    RETURN k;
END;
$$;
