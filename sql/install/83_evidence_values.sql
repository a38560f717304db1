-- Evidence about nodes in values and times rather than in words.

--: evidence: a value that is the same on all nodes of good jobs differs on this node
CREATE FUNCTION l4.evidence_drift(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH k AS MATERIALIZED (
        SELECT c.*, l4._usual_ranks(evidence_drift.job_id) AS ranks
        FROM l4._case AS c WHERE c.job_id = evidence_drift.job_id AND c.nodes >= (c.t).min_nodes
    ), once AS MATERIALIZED (
        -- once a rank
        SELECT c.node, c.event_id
        FROM k CROSS JOIN LATERAL l4._event_counts(k.job_id, NULL) AS c WHERE c.occurrences <= k.ranks
    ), asked AS MATERIALIZED (
        SELECT array_agg(x.event_id) AS ids
        FROM (SELECT o.event_id, count(*) AS nodes FROM once AS o GROUP BY o.event_id) AS x
        JOIN k ON x.nodes >= greatest((k.t).min_nodes, (k.t).nearly_all * k.nodes)
    ), here AS MATERIALIZED (
        SELECT s.node, s.event_id, s.slot, min(s.value) AS value
        FROM asked AS a
        CROSS JOIN LATERAL l4._slot_values(evidence_drift.job_id, a.ids) AS s
        JOIN once AS o USING (node, event_id)
        WHERE coalesce(s.mask NOT IN ('date', 'time'), true)
        GROUP BY s.node, s.event_id, s.slot
        HAVING count(*) = 1
    ), said AS MATERIALIZED (
        SELECT h.event_id, h.slot, h.value, count(*) AS nodes FROM here AS h GROUP BY h.event_id, h.slot, h.value
    ), common AS (
        -- most parts of lines differ from node to node
        SELECT DISTINCT ON (s.event_id, s.slot) s.event_id, s.slot, s.value, x.nodes
        FROM (SELECT s.event_id, s.slot, sum(s.nodes)::bigint AS nodes FROM said AS s GROUP BY s.event_id, s.slot
            HAVING count(*) BETWEEN 2 AND 3) AS x
        JOIN k ON x.nodes >= greatest((k.t).min_nodes, (k.t).nearly_all * k.nodes)
        JOIN said AS s ON s.event_id = x.event_id AND s.slot = x.slot
        ORDER BY s.event_id, s.slot, s.nodes DESC, s.value
    ), odd AS (
        SELECT c.event_id, c.slot, c.value AS common_value, c.nodes, count(*) AS nodes_off
        FROM common AS c JOIN here AS h ON h.event_id = c.event_id AND h.slot = c.slot AND h.value <> c.value
        GROUP BY c.event_id, c.slot, c.value, c.nodes
    ), drifted AS MATERIALIZED (
        SELECT o.* FROM odd AS o CROSS JOIN k
        WHERE o.nodes_off <= greatest(1, (k.t).few_nodes * o.nodes)
            AND o.nodes - o.nodes_off >= least((k.t).nearly_all * o.nodes, o.nodes - 1)
    ), ids AS MATERIALIZED (
        SELECT coalesce(array_agg(DISTINCT d.event_id), '{}') AS ids FROM drifted AS d
    ), there AS (
        SELECT b.job_id, v.event_id, v.slot, count(DISTINCT v.value) + max((c.occurrences > k.ranks)::int) AS differing
        FROM k
        CROSS JOIN ids AS i
        CROSS JOIN LATERAL unnest(k.baseline[1:(k.t).value_jobs::int]) AS b(job_id)
        CROSS JOIN LATERAL l4._slot_values(b.job_id, i.ids) AS v
        JOIN l4._event_counts(b.job_id, i.ids) AS c ON c.node = v.node AND c.event_id = v.event_id
        GROUP BY b.job_id, v.event_id, v.slot
    ), confirmed AS (
        SELECT t.event_id, t.slot, count(*) FILTER (WHERE t.differing = 1) AS jobs, bool_or(t.differing > 1) AS differs
        FROM there AS t GROUP BY t.event_id, t.slot
    )
    SELECT DISTINCT ON (h.node) h.node,
        CASE WHEN cardinality(k.baseline) >= (k.t).min_pair THEN 1 ELSE (k.t).weak END::float8,
        'says ' || left(h.value, 60) || ' where ' || (d.nodes - d.nodes_off) || ' others say '
            || left(d.common_value, 60) || ': ' || left(t.template, 120)
    FROM drifted AS d
    JOIN here AS h ON h.event_id = d.event_id AND h.slot = d.slot AND h.value <> d.common_value
    JOIN confirmed AS b ON b.event_id = d.event_id AND b.slot = d.slot
    JOIN l4._event AS t ON t.event_id = d.event_id
    CROSS JOIN k
    WHERE b.jobs >= least((k.t).min_pair, greatest(1, cardinality(k.baseline))) AND NOT b.differs
    ORDER BY h.node, d.nodes DESC, t.template COLLATE "C", d.slot;
END
$$;

-- Durations that lines print about every iteration, after the job turned slow. What grew most is what the nodes spend
-- waiting for each other.
--: steps inside slow iterations, but for waiting: mean of each node, median over nodes, deviation
CREATE FUNCTION l4._slow_steps(k l4._case)
RETURNS TABLE (node text, event_id int, slot int, ms float8, median float8, sigmas float8)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 500
BEGIN ATOMIC
    WITH step AS MATERIALIZED (
        SELECT s.node, l4._survivor(e.event_id, e.merged_into) AS event_id, d.slot,
            sum(d.us_since)::float8 / 1000 / sum(d.n_since)::float8 AS ms,
            sum(d.us_before)::float8 / 1000 / nullif(sum(d.n_before), 0)::float8 AS before_ms
        FROM l4._summary AS s
        -- a node that prints no iterations does not tell when a step was
        CROSS JOIN LATERAL l4._duration_sums(s.durations, s.open_durations,
            CASE WHEN s.last_iteration IS NULL AND k.onset_block IS NOT NULL THEN -1 ELSE k.onset_block END) AS d
        JOIN l4._event AS e USING (event_id)
        WHERE s.job_id = k.job_id
        GROUP BY 1, 2, 3
        HAVING sum(d.n_since) >= greatest((k.t).half * (SELECT count(*) FROM l4._case_iteration AS i
            WHERE i.job_id = k.job_id AND i.done_ts >= k.onset_ts), 1)
    ), normal AS (
        SELECT s.event_id, s.slot, percentile_cont(0.5) WITHIN GROUP (ORDER BY s.ms) AS median,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY s.ms - s.before_ms) AS growth
        FROM step AS s
        GROUP BY s.event_id, s.slot
        HAVING count(*) >= greatest((k.t).min_nodes, (k.t).majority * k.nodes)
    ), spread AS (
        SELECT s.event_id, s.slot, n.median,
            n.growth = max(n.growth) OVER () AND n.growth > (k.t).half * n.median AS waiting,
            greatest((k.t).mad_sigma::float8 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(s.ms - n.median)),
                (k.t).min_spread::float8 * n.median) AS sigma
        FROM step AS s JOIN normal AS n USING (event_id, slot)
        GROUP BY s.event_id, s.slot, n.median, n.growth
    )
    SELECT s.node, s.event_id, s.slot, s.ms, p.median, (s.ms - p.median) / p.sigma
    FROM step AS s JOIN spread AS p USING (event_id, slot)
    WHERE p.sigma > 0 AND NOT coalesce(p.waiting, false);
END;

--: evidence (slow jobs): steps take longer on this node than on the others, in deviations
CREATE FUNCTION l4.evidence_step_time(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    SELECT DISTINCT ON (s.node) s.node, v.value,
        round(s.ms::numeric, 1) || ' ms where the median node takes ' || round(s.median::numeric, 1) || ' ms: '
            || left(t.template, 120)
    FROM l4._case AS k CROSS JOIN LATERAL l4._slow_steps(k) AS s JOIN l4._event AS t USING (event_id)
    -- less than a tenth of an iteration makes none slow
    CROSS JOIN LATERAL (SELECT least(s.sigmas / (k.t).step_sigmas, (k.t).step_cap)
        * least(1, (s.ms - s.median) / ((k.t).min_spread * nullif(k.median_ms, 0))) AS value) AS v
    WHERE k.job_id = evidence_step_time.job_id AND k.symptom = 'slow' AND k.nodes >= (k.t).min_nodes AND s.sigmas > 1
    ORDER BY s.node, v.value DESC, t.template COLLATE "C", s.slot;
END;

-- Where only some nodes print iterations, the last of each of the lines that nearly all nodes have tells who is late,
-- more coarsely.
--: how much later than the median node a node has the last of each line
CREATE FUNCTION l4._late_lines(k l4._case) RETURNS TABLE (node text, ms float8)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 500
BEGIN ATOMIC
    WITH last_line AS (
        SELECT c.node, c.event_id, c.last_ts > k.onset_ts AS slow,
            extract(epoch FROM c.last_ts - k.first_ts)::float8 * 1000 AS ms
        FROM l4._event_counts(k.job_id, NULL) AS c
    ), line AS (
        SELECT l.event_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY l.ms) AS ms
        FROM last_line AS l
        GROUP BY l.event_id
        HAVING count(*) >= (k.t).all_but_few * k.nodes AND (bool_and(l.slow) OR NOT bool_or(l.slow))
    )
    SELECT l.node, avg(l.ms - n.ms ORDER BY l.ms - n.ms) FILTER (WHERE l.slow)
        - coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY l.ms - n.ms) FILTER (WHERE NOT l.slow), 0)
    FROM last_line AS l JOIN line AS n USING (event_id)
    GROUP BY l.node;
END;

-- Where nodes wait for each other every iteration ends with the slowest. How much later than the median node a node
-- reports an iteration, against how much later it did before the job turned slow: clocks that are off cancel out.
--: slow jobs: how much later than the median node a node is since the job is slow, against before
CREATE FUNCTION l4._lateness(k l4._case) RETURNS TABLE (node text, ms float8, trust numeric)
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 ROWS 500 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM l4._case_iteration AS p
        WHERE p.job_id = k.job_id AND p.nodes >= (k.t).majority * k.nodes AND p.place > 1) THEN
        RETURN QUERY SELECT l.node, l.ms, (k.t).weak FROM l4._late_lines(k) AS l;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT n.node, u.ms, 1.0
    FROM l4._unpack(l4._late_reports(k.job_id,
        (SELECT min(i.place) FROM l4._case_iteration AS i WHERE i.job_id = k.job_id
            AND i.iteration = k.onset_iteration),
        (k.t).majority * k.nodes, k.attempt_ts)) AS u(place int, ms float8, before_ms float8, spread_ms float8)
    JOIN l4._nodes(k.job_id) AS n ON n.place = u.place
    WHERE u.ms IS NOT NULL;
END;
$$;

--: evidence (slow jobs): the node reports what all report later than the others since the job is slow, 1 = the latest
CREATE FUNCTION l4.evidence_late(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    WITH k AS MATERIALIZED (
        SELECT c AS k, c.t, c.median_ms FROM l4._case AS c
        WHERE c.job_id = evidence_late.job_id AND c.symptom = 'slow' AND c.nodes >= (c.t).min_nodes AND c.median_ms > 0
    ), late AS MATERIALIZED (
        SELECT d.* FROM k CROSS JOIN LATERAL l4._lateness(k.k) AS d
    ), spread AS (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(l.ms)) AS mad, max(l.ms) AS most FROM late AS l
    )
    -- less than a tenth of an iteration may be chance
    SELECT l.node, l.trust * l.ms / s.most * least(1, s.most / ((k.t).min_spread * k.median_ms)),
        'reports ' || round(l.ms::numeric, 1) || ' ms later than the median node since the job is slow'
    FROM late AS l CROSS JOIN spread AS s CROSS JOIN k
    WHERE l.ms > (k.t).late_mads * s.mad AND s.most > 0;
END;
