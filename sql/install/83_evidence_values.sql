-- Evidence about nodes in values and times rather than in words.

-- All values of a thousand nodes: by hash, to sort them by node takes twice as long.
CREATE FUNCTION l4.evidence_drift(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET enable_mergejoin = off SET enable_sort = off SET jit = off
BEGIN ATOMIC
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = evidence_drift.job_id AND c.nodes >= 3
    ), per AS (
        SELECT l4._usual_ranks(evidence_drift.job_id) AS ranks
    ), once AS MATERIALIZED (
        -- once a rank
        SELECT c.node, c.event_id FROM k CROSS JOIN per CROSS JOIN LATERAL l4._event_counts(k.job_id, NULL) AS c WHERE c.occurrences <= per.ranks
    ), here AS MATERIALIZED (
        SELECT s.node, s.event_id, s.slot, min(s.value) AS value
        FROM l4._slot_values(evidence_drift.job_id, ARRAY(SELECT o.event_id FROM once AS o GROUP BY o.event_id HAVING count(*) >= greatest(3, 0.8 * (SELECT k.nodes FROM k)))) AS s
        JOIN once AS o USING (node, event_id)
        GROUP BY s.node, s.event_id, s.slot
        HAVING count(*) = 1
    ), common AS (
        SELECT h.event_id, h.slot, l4._common_value(h.value) AS value, count(*) AS nodes
        FROM here AS h GROUP BY h.event_id, h.slot
        HAVING count(*) >= greatest(3, 0.8 * (SELECT k.nodes FROM k)) AND l4._common_value(h.value) IS NOT NULL
    ), odd AS (
        SELECT c.event_id, c.slot, c.value AS common_value, c.nodes,
            min(h.node) AS node, min(h.value) AS value, count(*) AS nodes_off
        FROM common AS c JOIN here AS h ON h.event_id = c.event_id AND h.slot = c.slot AND h.value <> c.value
        GROUP BY c.event_id, c.slot, c.value, c.nodes
    ), drifted AS (
        SELECT o.* FROM odd AS o
        WHERE o.nodes_off <= greatest(1, 0.05 * o.nodes) AND o.nodes - o.nodes_off >= least(0.8 * o.nodes, o.nodes - 1)
    ), baseline AS (
        SELECT z.job_id, z.event_id, z.slot, z.differing
        FROM k
        CROSS JOIN per
        CROSS JOIN LATERAL unnest(k.baseline) WITH ORDINALITY AS b(job_id, place)
        CROSS JOIN LATERAL (
            SELECT b.job_id, v.event_id, v.slot, count(DISTINCT v.value) + max((c.occurrences > per.ranks)::int) AS differing
            FROM l4._slot_values(b.job_id, ARRAY(SELECT DISTINCT d.event_id FROM drifted AS d)) AS v
            JOIN l4._event_counts(b.job_id, ARRAY(SELECT DISTINCT d.event_id FROM drifted AS d)) AS c USING (node, event_id)
            GROUP BY v.event_id, v.slot, per.ranks) AS z
        WHERE b.place <= 5
    )
    SELECT DISTINCT ON (h.node) h.node, CASE WHEN cardinality(k.baseline) >= 2 THEN 1 ELSE 0.5 END::float8,
        'says ' || left(h.value, 60) || ' where ' || (d.nodes - d.nodes_off) || ' others say ' || left(d.common_value, 60) || ': ' || left(t.template, 120)
    FROM drifted AS d
    JOIN here AS h ON h.event_id = d.event_id AND h.slot = d.slot AND h.value <> d.common_value
    JOIN l4._event AS t ON t.event_id = d.event_id
    CROSS JOIN k
    WHERE (SELECT count(*) FROM baseline AS b WHERE b.event_id = d.event_id AND b.slot = d.slot AND b.differing = 1)
            >= least(2, greatest(1, cardinality(k.baseline)))
        AND NOT EXISTS (SELECT FROM baseline AS b WHERE b.event_id = d.event_id AND b.slot = d.slot AND b.differing > 1)
    ORDER BY h.node, d.nodes DESC, t.template COLLATE "C", d.slot;
END;
COMMENT ON FUNCTION l4.evidence_drift(text) IS 'evidence: a value that is the same on all nodes of good jobs differs on this node';

-- Durations that lines print about every iteration, after the job turned slow. What grew most is what the nodes spend waiting for
-- each other: there the node that waits least is the one that is waited for.
CREATE FUNCTION l4._slow_steps(job_id text) RETURNS TABLE (node text, event_id int, slot int, ms float8, median float8, z float8, waiting bool)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH k AS (
        SELECT c.*, (SELECT count(*) FROM l4._case_iteration AS i WHERE i.job_id = c.job_id AND i.done_ts >= c.onset_ts) AS slow_iterations
        FROM l4._case AS c WHERE c.job_id = _slow_steps.job_id AND c.symptom = 'slow' AND c.nodes >= 3
    ), step AS (
        SELECT s.node, l4._survivor(e.event_id, e.merged_into) AS event_id, d.slot, sum(d.us_since)::float8 / 1000 / sum(d.n_since)::float8 AS ms,
            sum(d.us_before)::float8 / 1000 / nullif(sum(d.n_before), 0)::float8 AS before_ms
        FROM k
        JOIN l4._stream AS s USING (job_id)
        JOIN l4._summary AS m USING (stream_id)
        CROSS JOIN LATERAL l4._duration_sums(m.durations, m.open_durations, k.onset_block) AS d
        JOIN l4._event AS e USING (event_id)
        GROUP BY 1, 2, 3, k.slow_iterations
        HAVING sum(d.n_since) >= greatest(0.5 * k.slow_iterations, 1)
    ), normal AS (
        SELECT s.event_id, s.slot, percentile_cont(0.5) WITHIN GROUP (ORDER BY s.ms) AS median,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY s.ms - s.before_ms) AS growth
        FROM step AS s
        GROUP BY s.event_id, s.slot
        HAVING count(*) >= greatest(3, 0.6 * (SELECT k.nodes FROM k))
    ), spread AS (
        SELECT s.event_id, s.slot, n.median, n.growth = max(n.growth) OVER () AND n.growth > 0.5 * n.median AS waiting,
            greatest(1.5 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(s.ms - n.median)), 0.1 * n.median) AS sigma
        FROM step AS s JOIN normal AS n USING (event_id, slot)
        GROUP BY s.event_id, s.slot, n.median, n.growth
    )
    SELECT s.node, s.event_id, s.slot, s.ms, p.median, (s.ms - p.median) / p.sigma, coalesce(p.waiting, false)
    FROM step AS s JOIN spread AS p USING (event_id, slot)
    WHERE p.sigma > 0;
END;
COMMENT ON FUNCTION l4._slow_steps(text) IS 'steps inside slow iterations: mean of each node, median over nodes, deviation; waiting = nodes wait for each other in it';

CREATE FUNCTION l4.evidence_step_time(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT DISTINCT ON (s.node) s.node, least(s.z / 5, 3),
        round(s.ms::numeric, 1) || ' ms where the median node takes ' || round(s.median::numeric, 1) || ' ms: ' || left(t.template, 120)
    FROM l4._slow_steps(evidence_step_time.job_id) AS s JOIN l4._event AS t USING (event_id)
    WHERE s.z > 1 AND NOT s.waiting
    ORDER BY s.node, s.z DESC, t.template COLLATE "C", s.slot;
END;
COMMENT ON FUNCTION l4.evidence_step_time(text) IS 'evidence (slow jobs): steps take longer on this node than on the others, 1 = five deviations, at most 3';

CREATE FUNCTION l4.evidence_waited_for(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT DISTINCT ON (s.node) s.node, least(-s.z / 3, 1),
        'waits ' || round(s.ms::numeric, 1) || ' ms where the median node waits ' || round(s.median::numeric, 1) || ' ms: ' || left(t.template, 120)
    FROM l4._slow_steps(evidence_waited_for.job_id) AS s JOIN l4._event AS t USING (event_id)
    WHERE s.z < -1 AND s.waiting
    ORDER BY s.node, s.z, t.template COLLATE "C", s.slot;
END;
COMMENT ON FUNCTION l4.evidence_waited_for(text) IS 'evidence (slow jobs): the others wait for this node: it waits least in the step that grew most';

CREATE FUNCTION l4.evidence_named_slow(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = evidence_named_slow.job_id AND c.symptom = 'slow' AND c.nodes >= 3
    ), telling AS (
        SELECT DISTINCT z.event_id
        FROM k
        JOIN l4._job_event AS z USING (job_id)
        JOIN l4._event_slot AS t ON t.event_id = z.event_id AND t.kind IN ('rank', 'host')
        WHERE NOT EXISTS (SELECT FROM l4._case_event AS e WHERE e.job_id = z.job_id AND e.event_id = z.event_id AND e.is_new)
    ), named AS (
        SELECT m.event_id, n.node, sum(coalesce(m.occurrences, 33) - (m.first_ts < k.onset_ts)::int)::float8 AS times
        FROM l4._mentions(evidence_named_slow.job_id, ARRAY(SELECT t.event_id FROM telling AS t)) AS m
        CROSS JOIN k
        JOIN l4._case_node AS n ON n.job_id = k.job_id AND n.node = m.named_node
        WHERE m.kind IN ('rank', 'host') AND m.named_node <> m.node
        GROUP BY m.event_id, n.node
    ), before AS (
        SELECT m.event_id, n.rank, sum(coalesce(m.occurrences, 33))::float8 / nullif(sum(sum(coalesce(m.occurrences, 33))) OVER (PARTITION BY m.event_id), 0) AS share
        FROM k
        CROSS JOIN LATERAL unnest(k.baseline[1:5]) AS b(job_id)
        CROSS JOIN LATERAL l4._mentions(b.job_id, ARRAY(SELECT DISTINCT x.event_id FROM named AS x)) AS m
        JOIN l4.job_node AS n ON n.job_id = b.job_id AND n.node = m.named_node
        WHERE m.kind IN ('rank', 'host') AND m.named_node <> m.node
        GROUP BY m.event_id, n.rank
    ), rated AS (
        SELECT x.node, x.event_id, x.times / nullif(sum(x.times) OVER (PARTITION BY x.event_id), 0) AS share,
            coalesce((SELECT b.share FROM before AS b WHERE b.event_id = x.event_id AND b.rank = n.rank), 0) AS normal,
            x.times, sum(x.times) OVER (PARTITION BY x.event_id) AS all_times, count(*) OVER (PARTITION BY x.event_id) AS named_nodes
        FROM named AS x
        JOIN l4._case_node AS n ON n.job_id = evidence_named_slow.job_id AND n.node = x.node
    )
    SELECT DISTINCT ON (r.node) r.node, r.share - r.normal,
        'named in ' || round((100 * r.share)::numeric) || ' % of: ' || left(t.template, 120)
    FROM rated AS r
    JOIN l4._event AS t USING (event_id)
    CROSS JOIN k
    -- more than chance: two deviations of a count that is expected to be spread evenly
    WHERE r.named_nodes > 1 AND r.share - r.normal > 2.0 / k.nodes AND r.times >= r.all_times / k.nodes + 2 * sqrt(r.all_times / k.nodes + 1)
    ORDER BY r.node, r.share - r.normal DESC, t.template COLLATE "C";
END;
COMMENT ON FUNCTION l4.evidence_named_slow(text) IS 'evidence (slow jobs): lines that good jobs print too name this node more often than there';

-- Where nodes wait for each other every iteration ends with the slowest. How much later than the median node a node reports an
-- iteration, against how much later it did before the job turned slow: clocks that are off cancel out. Where only some nodes print
-- iterations, the last of each of the lines that nearly all nodes have tells the same, more coarsely.
CREATE FUNCTION l4._lateness(job_id text) RETURNS TABLE (node text, ms float8, trust float8)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH k AS (
        SELECT c.*, EXISTS (SELECT FROM l4._case_iteration AS p WHERE p.job_id = c.job_id AND p.nodes >= 0.6 * c.nodes AND p.place > 1) AS all_print
        FROM l4._case AS c WHERE c.job_id = _lateness.job_id AND c.symptom = 'slow' AND c.nodes >= 3
    ), last_lines AS (
        SELECT c.node, c.event_id, c.last_ts > k.onset_ts AS slow, extract(epoch FROM c.last_ts - k.first_ts)::float8 * 1000 AS ms,
            bool_and(c.last_ts > k.onset_ts) OVER one AS after, bool_or(c.last_ts > k.onset_ts) OVER one AS touching,
            count(*) OVER one >= 0.9 * k.nodes AS on_all
        FROM k CROSS JOIN LATERAL l4._event_counts(k.job_id, NULL) AS c
        WHERE NOT k.all_print
        WINDOW one AS (PARTITION BY c.event_id)
    ), told AS (
        SELECT l.* FROM last_lines AS l WHERE l.on_all AND (l.after OR NOT l.touching)
    ), normal AS (
        SELECT t.event_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms) AS ms FROM told AS t GROUP BY t.event_id
    )
    SELECT n.node, u.ms, 1.0
    FROM k
    CROSS JOIN LATERAL l4._unpack(l4._late_reports(k.job_id, (SELECT min(i.place) FROM l4._case_iteration AS i
        WHERE i.job_id = k.job_id AND i.iteration = k.onset_iteration), 0.6 * k.nodes)) AS u(place int, ms float8, before_ms float8, spread_ms float8)
    JOIN l4._case_node AS n ON n.job_id = _lateness.job_id AND n.place = u.place
    WHERE k.all_print AND u.ms IS NOT NULL
    UNION ALL
    SELECT t.node, avg(t.ms - n.ms) FILTER (WHERE t.slow) - coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms - n.ms) FILTER (WHERE NOT t.slow), 0), 0.5
    FROM told AS t JOIN normal AS n USING (event_id)
    GROUP BY t.node;
END;
COMMENT ON FUNCTION l4._lateness(text) IS 'slow jobs: how much later than the median node a node reports iterations, or else the last of each line, since the job is slow than before';

CREATE FUNCTION l4.evidence_late(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH late AS (
        SELECT d.* FROM l4._lateness(evidence_late.job_id) AS d
    ), spread AS MATERIALIZED (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(l.ms)) AS mad, max(l.ms) AS most FROM late AS l
    )
    -- less than a tenth of an iteration may be chance
    SELECT l.node, l.trust * l.ms / s.most * least(1, s.most / (0.1 * k.median_ms)), 'reports ' || round(l.ms::numeric, 1) || ' ms later than the median node since the job is slow'
    FROM late AS l CROSS JOIN spread AS s JOIN l4._case AS k ON k.job_id = evidence_late.job_id
    WHERE l.ms > 3 * s.mad AND s.most > 0 AND k.median_ms > 0;
END;
COMMENT ON FUNCTION l4.evidence_late(text) IS 'evidence (slow jobs): the node reports what all report later than the others since the job is slow, 1 = the latest';
