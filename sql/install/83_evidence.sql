-- Evidence about nodes. Each function is one kind of evidence and reads the working set that l4.diagnose() left behind:
-- (node, value, detail); a node without a row has none of it.

CREATE FUNCTION l4.evidence_unique(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = evidence_unique.job_id
    ), shown AS (
        SELECT e.family, e.event_id, c.node, c.first_ts, e.level >= 3 OR e.terminal OR e.exit AS loud,
            -- nobody knows whether good jobs show it, and this one went on
            cardinality(k.baseline || k.elsewhere) = 0 AND e.level < 4 AND NOT e.terminal AND NOT e.exit AND coalesce(c.last_ts < n.progress_ts, false) AS outlived,
            n.is_victim AND n.terminal_ts <= c.first_ts AS failed
        FROM k
        JOIN l4._case_event AS e USING (job_id)
        JOIN l4._case_count AS c USING (job_id, event_id)
        JOIN l4._case_node AS n USING (job_id, node)
        JOIN l4._event AS t USING (event_id)
        -- a progress report sets nobody apart, whatever is glued to it
        WHERE e.job_id = evidence_unique.job_id AND e.is_new AND e.dropped IS NULL AND NOT e.stack
            AND NOT EXISTS (SELECT FROM l4.iteration_rule AS r WHERE r.rule_id = t.iteration_rule AND r.kind = 'done')
    ), family AS (
        SELECT s.family, count(DISTINCT s.node) AS nodes FROM shown AS s GROUP BY s.family
    ), named AS (
        SELECT a.accuser AS node, x.event_id, a.first_ts, a.weight
        FROM l4._case_edge AS a CROSS JOIN LATERAL unnest(a.events) AS x(event_id)
        WHERE a.job_id = evidence_unique.job_id
    ), report AS MATERIALIZED (
        -- how a process ended: told once an event, not once a node
        SELECT z.* FROM (SELECT e.event_id, e.exit, l4._marked(t.example, 'killed') AS killed FROM l4._case_event AS e JOIN l4._event AS t USING (event_id)
            WHERE e.job_id = evidence_unique.job_id AND e.is_new) AS z
        WHERE z.exit OR z.killed
    ), of_itself AS MATERIALIZED (
        SELECT m.node, m.event_id FROM l4._mentions(evidence_unique.job_id, ARRAY(SELECT r.event_id FROM report AS r)) AS m WHERE m.named_node = m.node
    ), own AS (
        -- what names others is not held against its writer, nor how the process ended that is named beside, but for its own
        SELECT s.* FROM shown AS s
        WHERE NOT EXISTS (SELECT FROM named AS a WHERE a.node = s.node AND a.event_id = s.event_id)
            AND NOT EXISTS (SELECT FROM named AS a JOIN report AS r ON r.event_id = s.event_id
                WHERE a.node = s.node AND a.weight > 0 AND abs(extract(epoch FROM a.first_ts - s.first_ts)) < 1
                    AND NOT EXISTS (SELECT FROM of_itself AS i WHERE i.node = s.node AND i.event_id = s.event_id))
    ), rated AS (
        SELECT o.node, o.event_id, o.first_ts, f.nodes,
            CASE WHEN f.nodes <= greatest(1, least(k.nodes / 8, 8)) THEN 1.0 WHEN f.nodes <= least(k.nodes / 4, 16) THEN 0.5 END
            * CASE WHEN o.first_ts > k.terminal_ts + (k.parameters ->> 'late_seconds')::float8 * interval '1 s' THEN 0.25 ELSE 1 END
            * CASE WHEN o.loud THEN 1 ELSE 0.5 END * CASE WHEN o.outlived THEN 0.5 ELSE 1 END
            -- that it ended then is no news
            * CASE WHEN o.failed AND EXISTS (SELECT FROM report AS r WHERE r.event_id = o.event_id AND NOT r.killed) THEN 0.5 ELSE 1 END AS value
        FROM own AS o
        JOIN family AS f ON f.family = o.family
        CROSS JOIN k
    )
    SELECT DISTINCT ON (r.node) r.node, r.value::float8,
        CASE WHEN r.nodes = 1 THEN 'only on this node: ' ELSE 'only on ' || r.nodes || ' nodes: ' END || left(t.template, 160)
    FROM rated AS r
    JOIN l4._event AS t USING (event_id)
    WHERE r.value > 0
    ORDER BY r.node, r.value DESC, r.first_ts, t.template COLLATE "C";
END;
COMMENT ON FUNCTION l4.evidence_unique(text) IS 'evidence: new events that only this node, or few nodes, show';

CREATE FUNCTION l4.evidence_exit(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH status AS (
        SELECT DISTINCT v.node, v.value
        FROM l4._slot_values(evidence_exit.job_id, ARRAY(SELECT e.event_id FROM l4._case_event AS e
            WHERE e.job_id = evidence_exit.job_id AND e.is_new AND EXISTS (SELECT FROM l4._slot_kind AS z WHERE z.event_id = e.event_id AND z.kind = 'exit'))) AS v
        JOIN l4._slot_kind AS z USING (event_id, slot)
        WHERE z.kind = 'exit'
    ), common AS (
        SELECT s.value, count(*) AS nodes, (SELECT count(DISTINCT z.node) FROM status AS z) AS reporting
        FROM status AS s GROUP BY s.value ORDER BY 2 DESC, 1 LIMIT 1
    ), accused AS (
        SELECT a.accused AS node, a.accuser, x.event_id
        FROM l4._case_edge AS a CROSS JOIN LATERAL unnest(a.events) AS x(event_id)
        WHERE a.job_id = evidence_exit.job_id AND a.weight > 0
    ), telling AS MATERIALIZED (
        -- asked once an event, which thousands of nodes may write
        SELECT e.event_id FROM (SELECT DISTINCT a.event_id FROM accused AS a) AS e WHERE l4._tells_killed(evidence_exit.job_id, e.event_id)
    ), killed AS (
        SELECT a.node, min(a.accuser) AS accuser FROM accused AS a JOIN telling AS t USING (event_id) GROUP BY a.node
    )
    -- a launcher that ends all when one failed may say so of each
    SELECT k.node, 1, 'was killed, as ' || k.accuser || ' says' FROM killed AS k WHERE (SELECT count(*) FROM killed AS o) = 1
    UNION ALL
    SELECT s.node, CASE WHEN bool_or(s.also_common) THEN 0.5 ELSE 1 END::float8, 'exit status ' || string_agg(s.value, ', ' ORDER BY s.value) || ', ' || min(c.value) || ' on ' || min(c.nodes) || ' other nodes'
    FROM (
        SELECT z.*, count(*) OVER (PARTITION BY z.value) AS nodes, EXISTS (SELECT FROM status AS o JOIN common AS m ON m.value = o.value WHERE o.node = z.node) AS also_common
        FROM status AS z) AS s
    CROSS JOIN common AS c
    -- of several processes on a node one may have ended like those of other nodes
    WHERE c.reporting >= 3 AND c.nodes >= 0.6 * c.reporting AND s.value <> c.value AND (NOT s.also_common OR s.nodes = 1)
        AND ((SELECT count(*) FROM killed AS o) <> 1 OR s.node NOT IN (SELECT k.node FROM killed AS k))
    GROUP BY s.node;
END;
COMMENT ON FUNCTION l4.evidence_exit(text) IS 'evidence: processes ended with another status than on most nodes, or were killed, as another node says';

CREATE FUNCTION l4._usual_ranks(job_id text) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT greatest(mode() WITHIN GROUP (ORDER BY r.ranks), 1)
    FROM (SELECT count(*) AS ranks FROM l4._case_rank AS z WHERE z.job_id = _usual_ranks.job_id GROUP BY z.node) AS r;
END;
COMMENT ON FUNCTION l4._usual_ranks(text) IS 'ranks that most nodes of a job have';

CREATE FUNCTION l4.evidence_silent(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = evidence_silent.job_id AND c.symptom <> 'slow'
    ), n AS (
        SELECT z.* FROM l4._case_node AS z JOIN k USING (job_id)
    ), ends AS MATERIALIZED (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY z.last_ts) AS median FROM n AS z WHERE z.lines > 0
    ), shown AS (
        -- who waits to send does not miss that others wait to receive
        SELECT DISTINCT c.node, e.family
        FROM k JOIN l4._case_event AS e USING (job_id) JOIN l4._case_count AS c USING (job_id, event_id)
        WHERE e.is_new AND e.dropped IS NULL AND NOT e.stack
    ), common AS (
        SELECT s.family FROM shown AS s CROSS JOIN k GROUP BY s.family, k.nodes HAVING count(*) >= 0.6 * k.nodes
    ), missing AS (
        SELECT z.node, 1 - count(c.node)::float8 / nullif((SELECT count(*) FROM common), 0) AS share
        FROM n AS z
        LEFT JOIN (SELECT s.node FROM shown AS s JOIN common USING (family)) AS c ON c.node = z.node
        WHERE z.lines > 0
        GROUP BY z.node
    ), counted AS (
        -- once or more a rank, on nearly all nodes as often
        SELECT c.node, e.family, sum(c.occurrences) AS records, bool_or(e.terminal) AS terminal
        FROM k JOIN l4._case_event AS e USING (job_id) JOIN l4._case_count AS c USING (job_id, event_id)
        WHERE e.is_new AND e.dropped IS NULL AND NOT e.stack AND NOT e.exit AND (e.level >= 3 OR e.terminal)
        GROUP BY c.node, e.family
    ), usual AS (
        SELECT c.family, mode() WITHIN GROUP (ORDER BY c.records DESC) AS usual, count(*) AS nodes FROM counted AS c GROUP BY c.family
    ), partly AS (
        SELECT c.node, min(c.records) AS records, max(u.usual) AS usual
        FROM counted AS c
        JOIN usual AS u USING (family)
        CROSS JOIN k
        CROSS JOIN (SELECT l4._usual_ranks(evidence_silent.job_id) AS ranks) AS p
        WHERE c.records < u.usual AND p.ranks > 1 AND u.usual % p.ranks = 0 AND u.nodes >= 0.6 * k.nodes AND u.nodes >= 3
            AND (SELECT count(*) FROM counted AS o WHERE o.family = c.family AND o.records <> u.usual) <= greatest(1, k.nodes / 8)
            -- and does not report something else instead
            AND u.usual - c.records > (SELECT coalesce(sum(o.records), 0) FROM counted AS o JOIN usual AS z USING (family)
                WHERE o.node = c.node AND o.terminal AND z.nodes < 0.6 * k.nodes)
        GROUP BY c.node
    ), talking AS (
        SELECT DISTINCT s.node
        FROM k
        JOIN l4._stream AS s USING (job_id)
        JOIN l4._summary AS m USING (stream_id)
        JOIN n AS z ON z.node = s.node
        WHERE l4._wrote_between(m.activity, m.open_activity, k.progress_ts + z.clock, coalesce(k.terminal_ts, k.last_ts) + z.clock - interval '1 s')
    ), stall AS (
        SELECT z.node, t.node IS NOT NULL AS wrote
        FROM n AS z CROSS JOIN k
        LEFT JOIN talking AS t ON t.node = z.node
        WHERE z.lines > 0 AND coalesce(k.terminal_ts, k.last_ts) > k.progress_ts + interval '2 s'
    ), usual_delay AS MATERIALIZED (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY d.delay) AS delay
        FROM (SELECT min(s.first_ts) - min(min(s.first_ts)) OVER (PARTITION BY s.job_id) AS delay
            FROM l4._stream AS s JOIN k ON s.job_id = ANY (k.baseline) GROUP BY s.job_id, s.node) AS d
    ), rated AS (
        -- where the others trained together it took part, and its log was not collected; nor is it odd before nodes of good jobs begin to write
        SELECT z.node, CASE WHEN k.symptom = 'launch' AND NOT coalesce(k.last_ts - k.first_ts < g.delay, false) THEN 2.0 ELSE 0.25 END AS value, 'expected, but never wrote a line' AS detail
        FROM n AS z CROSS JOIN k CROSS JOIN usual_delay AS g WHERE z.lines = 0 AND (SELECT count(*) FROM n AS o WHERE o.lines = 0) <= k.nodes
        UNION ALL
        SELECT m.node, m.share * CASE WHEN z.last_ts < k.terminal_ts AND z.last_ts < e.median - interval '1 s' THEN 1 ELSE 0.5 END,
            round(100 * m.share) || ' % of what most nodes report is missing here'
            || CASE WHEN z.last_ts < k.terminal_ts AND z.last_ts < e.median - interval '1 s'
                THEN '; its log ends ' || round(extract(epoch FROM e.median - z.last_ts)::numeric, 1) || ' s before the others' ELSE '' END
        FROM missing AS m JOIN n AS z USING (node) CROSS JOIN k CROSS JOIN ends AS e
        UNION ALL
        SELECT z.node, 1, 'reports nothing, while most nodes do'
        FROM n AS z CROSS JOIN k
        WHERE z.lines > 0 AND z.new_ts IS NULL AND (SELECT count(*) FROM n AS o WHERE o.new_ts IS NOT NULL) >= 0.6 * k.nodes
        UNION ALL
        SELECT u.node, 1, 'reports ' || u.records || CASE WHEN u.records = 1 THEN ' time' ELSE ' times' END || ' what other nodes report ' || u.usual || ' times: a rank of it is silent'
        FROM partly AS u
        UNION ALL
        SELECT s.node, 1, CASE WHEN k.terminal_ts IS NULL THEN 'wrote nothing since the last iteration' ELSE 'wrote nothing between the last iteration and the first error' END
        FROM stall AS s CROSS JOIN k
        WHERE NOT s.wrote AND (SELECT avg(o.wrote::int) FROM stall AS o) >= 0.6
    )
    -- the strongest, and a quarter of what else there is: of two silent nodes the one that is silent in more ways
    SELECT r.node, (0.75 * max(r.value) + 0.25 * sum(r.value))::float8, (array_agg(r.detail ORDER BY r.value DESC, r.detail COLLATE "C"))[1]
    FROM rated AS r
    WHERE r.value > 0
    GROUP BY r.node;
END;
COMMENT ON FUNCTION l4.evidence_silent(text) IS 'evidence: a node that does not say what the others say, falls silent first, or never wrote';

CREATE FUNCTION l4.evidence_lag(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH n AS (
        SELECT z.node, z.last_iteration FROM l4._case_node AS z
        WHERE z.job_id = evidence_lag.job_id AND z.last_iteration IS NOT NULL
    ), middle AS MATERIALIZED (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n.last_iteration) AS median, count(*) AS nodes FROM n
    ), behind AS (
        SELECT n.node, n.last_iteration, m.median, m.nodes, count(*) OVER () AS nodes_behind
        FROM n CROSS JOIN middle AS m WHERE n.last_iteration < m.median
    )
    SELECT b.node, 1.0::float8, 'stopped at iteration ' || b.last_iteration || ', most nodes at ' || b.median
    FROM behind AS b
    WHERE b.nodes_behind <= greatest(1, b.nodes / 4);
END;
COMMENT ON FUNCTION l4.evidence_lag(text) IS 'evidence: a node whose last iteration is behind that of most nodes';

CREATE FUNCTION l4.evidence_first(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH n AS (
        SELECT z.node, z.loud_ts, lead(z.loud_ts) OVER (ORDER BY z.loud_ts) AS next_ts, row_number() OVER (ORDER BY z.loud_ts) AS place,
            -- who deviates first by naming others noticed first, no more
            EXISTS (SELECT FROM l4._case_edge AS a WHERE a.job_id = z.job_id AND a.accuser = z.node AND a.first_ts <= z.loud_ts) AS reports
        FROM l4._case_node AS z
        WHERE z.job_id = evidence_first.job_id AND z.loud_ts IS NOT NULL
    )
    SELECT n.node, coalesce(least(extract(epoch FROM n.next_ts - n.loud_ts), 1), 1)::float8,
        coalesce('deviates first, ' || round(extract(epoch FROM n.next_ts - n.loud_ts)::numeric, 2) || ' s before any other node', 'the only node that deviates')
    FROM n
    WHERE n.place = 1 AND NOT n.reports AND (n.next_ts > n.loud_ts OR n.next_ts IS NULL);
END;
COMMENT ON FUNCTION l4.evidence_first(text) IS 'evidence: the node that deviates first, by its lead in seconds, at most 1';

-- Where a ring breaks, the ranks that data no longer reaches wait to receive and those that cannot pass it on wait to send. The two runs meet
-- twice: at the break, and where they end, on a node between two of its ranks or between two nodes. Which is which depends on the direction of
-- the ring. Gloo's rings pass data to the rank before and wait to receive first, but for the one that gathers, which passes it to the rank after
-- and waits to send first, and the barrier, which passes it to the rank after and waits to receive first.
CREATE FUNCTION l4.evidence_edge(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH waiting AS (
        SELECT e.event_id, e.waits FROM l4._case_event AS e
        WHERE e.job_id = evidence_edge.job_id AND e.terminal AND e.dropped IS NULL AND e.waits IS NOT NULL
    ), direction AS (
        SELECT bool_and(l4._marked(j.example, 'ring_up')) AS upwards, bool_and(l4._marked(j.example, 'send_first')) AS send_first
        FROM waiting AS w JOIN l4._job_event AS j USING (event_id)
        WHERE j.job_id = evidence_edge.job_id
    ), failed AS (
        SELECT c.node, sum(c.occurrences)::float8 AS errors
        FROM l4._case_count AS c JOIN l4._case_event AS e USING (job_id, event_id)
        WHERE c.job_id = evidence_edge.job_id AND e.is_new AND e.terminal AND NOT e.exit AND e.dropped IS NULL
        GROUP BY c.node
    ), said AS (
        SELECT c.node, (array_agg(w.waits ORDER BY c.first_ts, c.first_line_no))[1] AS first, count(DISTINCT w.waits) = 2 AS both
        FROM waiting AS w JOIN l4._case_count AS c USING (event_id)
        WHERE c.job_id = evidence_edge.job_id
        GROUP BY c.node
    ), n AS (
        SELECT z.node, z.place, z.terminal_ts IS NULL AS quiet, s.first, coalesce(s.both AND r.ranks > 1, false) AS both, r.ranks, f.errors / r.ranks AS errors
        FROM l4._case_node AS z
        CROSS JOIN LATERAL (SELECT sum(upper(x.span) - lower(x.span)) AS ranks FROM unnest(z.ranks) AS x(span)) AS r
        LEFT JOIN said AS s USING (node)
        LEFT JOIN failed AS f USING (node)
        WHERE z.job_id = evidence_edge.job_id AND z.lines > 0
    ), usual AS (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n.errors) AS errors FROM n WHERE n.first IS NOT NULL
    ), closed AS (
        SELECT w.*, w.ranks > 1 AND w.ranks * (1 - w.errors / u.errors) > 0.99 AS partly_quiet,
            coalesce(lag(w.first) OVER o, last_value(w.first) OVER whole) AS before, coalesce(lag(w.both) OVER o, last_value(w.both) OVER whole) AS before_both,
            coalesce(lead(w.first) OVER o, first_value(w.first) OVER o) AS after, coalesce(lead(w.both) OVER o, first_value(w.both) OVER o) AS after_both
        FROM n AS w CROSS JOIN usual AS u
        WHERE w.first IS NOT NULL
        WINDOW o AS (ORDER BY w.place), whole AS (ORDER BY w.place ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ), split AS (
        -- of a node with both kinds, the neighbours tell which ranks wait for what
        SELECT c.*, CASE WHEN c.both AND NOT c.before_both THEN c.before ELSE c.first END AS low,
            CASE WHEN c.both AND NOT c.after_both THEN c.after ELSE c.first END AS high
        FROM closed AS c
    ), ring AS (
        SELECT s.*, coalesce(lead(s.node) OVER o, first_value(s.node) OVER o) AS next_node, coalesce(lead(s.low) OVER o, first_value(s.low) OVER o) AS next_low,
            coalesce(lead(s.place) OVER o, first_value(s.place) OVER o) AS next_place,
            coalesce(lead(s.partly_quiet) OVER o, first_value(s.partly_quiet) OVER o) AS next_partly_quiet
        FROM split AS s
        WINDOW o AS (ORDER BY s.place)
    ), seam AS (
        SELECT r.node, r.partly_quiet, r.next_node, r.next_partly_quiet, r.place, r.next_place, r.high AS below, r.next_low AS above FROM ring AS r WHERE r.high <> r.next_low
        UNION ALL
        SELECT r.node, r.partly_quiet, r.node, r.partly_quiet, r.place, r.place, r.low, r.high FROM ring AS r WHERE r.low <> r.high
        UNION ALL
        -- the shorter run is within the node
        SELECT r.node, r.partly_quiet, r.node, r.partly_quiet, r.place, r.place, w.below, w.above
        FROM ring AS r CROSS JOIN (VALUES ('send', 'receive'), ('receive', 'send')) AS w(below, above)
        WHERE r.both AND NOT r.before_both AND NOT r.after_both AND r.before = r.after
    ), gap AS (
        -- a node that lost both neighbours reports what it waits for first, so of the two at the break that one is likelier
        SELECT s.*, CASE WHEN (s.below = 'send') = d.upwards THEN 0.6 ELSE 0.4 END AS value,
            CASE WHEN (s.below = 'send') <> d.upwards THEN 0 WHEN (s.below = 'send') = d.send_first THEN 1 ELSE 2 END AS waits_first
        FROM seam AS s CROSS JOIN direction AS d
        WHERE (SELECT count(*) FROM seam) = 2 AND (SELECT count(*) FROM ring) >= 3
    ), rated AS (
        SELECT g.node, CASE WHEN g.partly_quiet THEN g.value * 1.5 ELSE g.value + CASE WHEN g.waits_first = 1 THEN 0.05 ELSE 0 END END AS value,
            CASE WHEN g.partly_quiet THEN 'not all of its ranks report an error, and ' ELSE '' END
                || 'ranks on one side wait to receive, on the other to send: the ring breaks here' AS detail FROM gap AS g
        UNION ALL
        SELECT g.next_node, CASE WHEN g.next_partly_quiet THEN g.value * 1.5 ELSE g.value + CASE WHEN g.waits_first = 2 THEN 0.05 ELSE 0 END END,
            CASE WHEN g.next_partly_quiet THEN 'not all of its ranks report an error, and ' ELSE '' END
                || 'ranks on one side wait to receive, on the other to send: the ring breaks here' FROM gap AS g
        UNION ALL
        SELECT m.node, g.value * 1.5, 'no error of its own, between ranks that wait to receive and ranks that wait to send'
        FROM gap AS g
        JOIN n AS m ON m.first IS NULL AND m.quiet AND g.next_place <> g.place AND CASE WHEN g.next_place > g.place
            THEN m.place > g.place AND m.place < g.next_place ELSE m.place > g.place OR m.place < g.next_place END
    )
    SELECT DISTINCT ON (r.node) r.node, r.value::float8, r.detail
    FROM rated AS r ORDER BY r.node, r.value DESC, r.detail;
END;
COMMENT ON FUNCTION l4.evidence_edge(text) IS 'evidence: the node where ranks that wait to receive meet ranks that wait to send';
