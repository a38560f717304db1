-- Evidence about nodes. Each function is one kind of evidence and reads the case that l4.diagnose() left behind:
-- (node, value, detail); a node without a row has none of it.

--: new events that tell how a process ended, or that somebody was lost or waited for; killed: it had no time to speak
CREATE FUNCTION l4._ends_told(job_id text) RETURNS TABLE (event_id int, ended bool, killed bool, lost bool)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    WITH asked AS MATERIALIZED (
        SELECT e.event_id, e.exit, e.example, row_number() OVER ()::int AS place
        FROM l4._new_events(_ends_told.job_id) AS e
    ), marked AS (
        SELECT m.place, bool_or(m.kind = 'killed') AS killed, bool_or(m.kind = 'lost') AS lost,
            -- who cannot connect was not left waiting by anybody
            bool_or(m.kind = 'timeout') AND NOT bool_or(m.kind = 'not_named') AS waited
        FROM l4._marks(ARRAY(SELECT z.example FROM asked AS z ORDER BY z.place),
            '{killed,lost,timeout,not_named}') AS m
        GROUP BY m.place
    )
    SELECT a.event_id, a.exit OR coalesce(m.killed, false), coalesce(m.killed, false),
        coalesce(m.lost OR m.waited, false)
    FROM asked AS a LEFT JOIN marked AS m USING (place)
    WHERE a.exit OR m.place IS NOT NULL;
END;

-- One text has many statuses: "died from signal 9", of one, and "died from signal 15".
--: who of several says it of another end, of events that tell that a process was killed
CREATE FUNCTION l4._not_killed(job_id text, events int[]) RETURNS TABLE (node text, event_id int)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 10
BEGIN ATOMIC
    SELECT m.node, m.event_id
    FROM (SELECT array_agg(s.node) AS nodes, array_agg(s.event_id) AS events
        FROM l4._case AS k CROSS JOIN l4._shown(_not_killed.job_id) AS s
        WHERE k.job_id = _not_killed.job_id AND s.event_id = ANY (_not_killed.events)
            AND s.nodes BETWEEN 2 AND (k.t).uncommon_nodes) AS x
    CROSS JOIN LATERAL l4._messages(_not_killed.job_id, x.nodes, x.events) AS m
    WHERE NOT l4._marked(m.message, 'killed');
END;

-- A launcher only tells how processes of other nodes ended: each such line names one. Or it is the one node that shares
-- no line with most and reports nothing, or one that has no rank in good jobs, where others have.
--: nodes that are no part of the training, but tell how it ended
CREATE FUNCTION l4._launchers(k l4._case) RETURNS TABLE (node text)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 1
BEGIN ATOMIC
    WITH n AS MATERIALIZED (
        SELECT z.node FROM l4._nodes(k.job_id) AS z WHERE z.lines > 0
    ), shown AS MATERIALIZED (
        SELECT s.node, s.event_id, s.exit FROM l4._shown(k.job_id) AS s WHERE NOT s.stack
    ), told AS (
        SELECT DISTINCT m.node, m.event_id
        FROM l4._mentions(k.job_id, ARRAY(SELECT DISTINCT s.event_id FROM shown AS s WHERE s.exit)) AS m
        WHERE m.kind = 'host' AND m.named_node <> m.node
    ), usual AS (
        SELECT array_agg(j.event_id) AS events FROM l4._job_event AS j
        WHERE j.job_id = k.job_id AND j.nodes >= (k.t).majority * k.nodes
    )
    SELECT s.node FROM shown AS s LEFT JOIN told AS o USING (node, event_id)
    GROUP BY s.node HAVING bool_and(o.event_id IS NOT NULL)
    UNION
    -- counts are read only where somebody reports nothing
    SELECT min(n.node) FROM n
    WHERE CASE WHEN (SELECT u.events FROM usual AS u) IS NULL OR n.node IN (SELECT s.node FROM shown AS s)
        THEN false
        ELSE n.node NOT IN (SELECT c.node
            FROM usual AS u CROSS JOIN LATERAL l4._event_counts(k.job_id, u.events) AS c) END
    HAVING count(*) = 1
    UNION
    SELECT o.node FROM l4._outside(k) AS o(node);
END;

--: evidence: new events that only this node, or few nodes, show
CREATE FUNCTION l4.evidence_unique(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = evidence_unique.job_id
    ), shown AS MATERIALIZED (
        SELECT s.alike, s.event_id, s.node, s.first_ts,
            s.level >= (k.t).warning_level OR s.terminal OR s.exit AS significant, s.first_ts <= n.last_ts AS dated,
            -- nobody knows whether good jobs show it, and this one went on
            cardinality(k.baseline || k.elsewhere) = 0 AND s.level < (k.t).error_level AND NOT s.terminal AND NOT s.exit
                AND coalesce(s.last_ts < n.progress_ts, false) AS outlived
        FROM k
        CROSS JOIN l4._shown(evidence_unique.job_id) AS s
        JOIN l4._nodes(evidence_unique.job_id) AS n USING (node)
        JOIN l4._event AS t USING (event_id)
        -- a progress report sets nobody apart, whatever is glued to it
        LEFT JOIN l4.iteration_rule AS r ON r.rule_id = t.iteration_rule AND r.kind = 'done'
        WHERE NOT s.stack AND r.rule_id IS NULL AND s.node NOT IN (SELECT l.node
            FROM l4._case AS c CROSS JOIN LATERAL l4._launchers(c) AS l WHERE c.job_id = evidence_unique.job_id)
    ), alike AS (SELECT s.alike, count(DISTINCT s.node) AS nodes FROM shown AS s GROUP BY s.alike
    ), named AS MATERIALIZED (
        SELECT a.accuser AS node, x.event_id, a.first_ts, a.weight
        FROM l4._edges(evidence_unique.job_id) AS a CROSS JOIN LATERAL unnest(a.events) AS x(event_id)
    ), report AS MATERIALIZED (
        SELECT r.* FROM l4._ends_told(evidence_unique.job_id) AS r
    ), told AS MATERIALIZED (
        SELECT o.* FROM l4._not_killed(evidence_unique.job_id,
            ARRAY(SELECT r.event_id FROM report AS r WHERE r.killed)) AS o
    ), mentioned AS MATERIALIZED (
        SELECT m.* FROM l4._mentions(evidence_unique.job_id,
            ARRAY(SELECT r.event_id FROM report AS r WHERE r.ended)) AS m
    ), of_itself AS (
        SELECT DISTINCT m.node, m.event_id FROM mentioned AS m WHERE m.named_node = m.node
    ), beside AS (
        -- what is said with it or right after it, but of its own process
        SELECT DISTINCT s.node, s.event_id
        FROM shown AS s
        JOIN named AS a ON a.node = s.node AND a.weight > 0
        CROSS JOIN k
        LEFT JOIN of_itself AS i ON i.node = s.node AND i.event_id = s.event_id
        WHERE s.first_ts >= a.first_ts AND s.first_ts < a.first_ts + l4._seconds((k.t).same_moment) AND i.node IS NULL
    ), naming AS (
        -- what names others is not held against its writer
        SELECT a.node, a.event_id FROM named AS a UNION SELECT b.node, b.event_id FROM beside AS b
        -- nor is how processes of other nodes ended
        UNION SELECT m.node, m.event_id FROM mentioned AS m WHERE m.kind = 'host' AND m.named_node <> m.node
    ), rated AS (
        SELECT s.node, s.event_id, s.first_ts, f.nodes,
            CASE WHEN f.nodes <= greatest(1, least((k.t).rare_share * k.nodes, (k.t).rare_nodes)) THEN 1.0
                WHEN f.nodes <= least((k.t).uncommon_share * k.nodes, (k.t).uncommon_nodes) THEN (k.t).weak END
            * CASE WHEN s.dated AND s.first_ts > k.terminal_ts + l4._seconds((k.t).late_seconds) THEN (k.t).faint
                ELSE 1 END
            * CASE WHEN s.significant THEN 1 ELSE (k.t).weak END * CASE WHEN s.outlived THEN (k.t).weak ELSE 1 END
            -- that processes ended is no news, and who lost somebody, or waited for it, is not who was lost
            * CASE WHEN r.ended AND NOT (r.killed AND o.node IS NULL) OR r.lost THEN (k.t).faint ELSE 1 END AS value
        FROM shown AS s
        JOIN alike AS f ON f.alike = s.alike
        CROSS JOIN k
        LEFT JOIN report AS r ON r.event_id = s.event_id
        LEFT JOIN told AS o ON o.node = s.node AND o.event_id = s.event_id
        LEFT JOIN naming AS a ON a.node = s.node AND a.event_id = s.event_id
        WHERE a.node IS NULL
    ), first AS MATERIALIZED (
        SELECT DISTINCT ON (r.node) r.node, r.event_id, r.value, r.nodes
        FROM rated AS r
        JOIN l4._event AS t USING (event_id)
        WHERE r.value > 0
        ORDER BY r.node, r.value DESC, r.first_ts, t.template COLLATE "C"
    )
    SELECT f.node, f.value::float8,
        CASE WHEN f.nodes = 1 THEN 'only on this node: ' ELSE 'only on ' || f.nodes || ' nodes: ' END
            || left(m.message, 160)
    FROM first AS f
    JOIN l4._messages(evidence_unique.job_id, ARRAY(SELECT f.node FROM first AS f ORDER BY f.node),
        ARRAY(SELECT f.event_id FROM first AS f ORDER BY f.node)) AS m USING (node, event_id);
END
$$;

-- Who was killed, as exactly one other node's complaint tells. A launcher that ends all when one failed may say so of
-- each.
--: the one node on which a process was killed, as others report
CREATE FUNCTION l4._killed(job_id text) RETURNS TABLE (node text, accuser text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 1
BEGIN ATOMIC
    SELECT min(a.accused), min(a.accuser)
    FROM l4._edges(_killed.job_id) AS a
    WHERE a.weight > 0
        AND a.events && ARRAY(SELECT e.event_id FROM l4._new_events(_killed.job_id) AS e WHERE e.kills)
    HAVING count(DISTINCT a.accused) = 1;
END;

-- Who died by a signal that leaves no time, before any other node ended or reported a crash. A launcher that kills all
-- that is left does so at one time, and later.
--: the node that was killed first, of those that report how they ended
CREATE FUNCTION l4._struck(job_id text, reporting text[]) RETURNS TABLE (node text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 1
BEGIN ATOMIC
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = _struck.job_id
    ), ending AS MATERIALIZED (
        SELECT DISTINCT ON (s.node) s.node, s.event_id, s.first_ts
        FROM l4._shown(_struck.job_id) AS s
        WHERE s.exit AND s.node = ANY (_struck.reporting)
        ORDER BY s.node, s.first_ts, s.event_id
    ), early AS MATERIALIZED (
        SELECT e.*, e.first_ts = min(e.first_ts) OVER () AS is_first
        FROM ending AS e CROSS JOIN k
        WHERE e.first_ts < (SELECT min(z.first_ts) FROM ending AS z) + l4._seconds((k.t).same_moment)
        ORDER BY e.first_ts, e.node COLLATE "C" LIMIT (SELECT (k.t).uncommon_nodes FROM k)
    )
    SELECT min(e.node)
    FROM early AS e
    JOIN l4._messages(_struck.job_id, ARRAY(SELECT z.node FROM early AS z ORDER BY z.node),
        ARRAY(SELECT z.event_id FROM early AS z ORDER BY z.node)) AS m USING (node, event_id)
    CROSS JOIN k
    WHERE l4._marked(m.message, 'killed')
    HAVING count(*) = 1 AND bool_and(e.is_first AND e.first_ts <= k.terminal_ts) AND (SELECT count(*) FROM ending) > 1;
END;

--: evidence: processes ended with another status than on most nodes, or were killed, as another node says
CREATE FUNCTION l4.evidence_exit(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = evidence_exit.job_id
    ), status AS MATERIALIZED (
        SELECT DISTINCT v.node, v.value
        FROM l4._slot_values(evidence_exit.job_id, ARRAY(SELECT e.event_id FROM l4._case_event AS e
            WHERE e.job_id = evidence_exit.job_id AND e.is_new AND EXISTS (SELECT FROM l4._slot_kind AS z
                WHERE z.event_id = e.event_id AND z.kind = 'exit'))) AS v
        JOIN l4._slot_kind AS z USING (event_id, slot)
        WHERE z.kind = 'exit' AND v.node NOT IN (SELECT l.node
            FROM l4._case AS c CROSS JOIN LATERAL l4._launchers(c) AS l WHERE c.job_id = evidence_exit.job_id)
    ), common AS MATERIALIZED (
        SELECT s.value, count(*) AS nodes, (SELECT count(DISTINCT z.node) FROM status AS z) AS reporting
        FROM status AS s GROUP BY s.value ORDER BY 2 DESC, s.value COLLATE "C" LIMIT 1
    ), killed AS MATERIALIZED (
        SELECT z.* FROM l4._killed(evidence_exit.job_id) AS z
    ), struck AS MATERIALIZED (
        -- whatever another status says is then a consequence
        SELECT r.node FROM l4._struck(evidence_exit.job_id, ARRAY(SELECT z.node FROM status AS z)) AS r
    )
    SELECT r.node, 1::float8, 'was killed before any other node ended' FROM struck AS r
    WHERE r.node NOT IN (SELECT z.node FROM killed AS z)
    UNION ALL
    SELECT z.node, 1::float8, 'was killed, as ' || z.accuser || ' says' FROM killed AS z
    UNION ALL
    SELECT s.node, 1, format('exit status %s (%s on most nodes)',
        string_agg(s.value, ', ' ORDER BY s.value COLLATE "C") FILTER (WHERE s.value <> c.value), min(c.value))
    FROM k CROSS JOIN common AS c CROSS JOIN status AS s
    WHERE c.reporting >= (k.t).min_nodes AND c.nodes >= (k.t).majority * c.reporting
        AND s.node NOT IN (SELECT z.node FROM killed AS z) AND NOT EXISTS (SELECT FROM struck)
    GROUP BY s.node
    -- of several processes on a node one may have ended like those of other nodes, but for the only node that differs
    HAVING bool_and(s.value <> c.value) OR bool_or(s.value <> c.value)
        AND (SELECT count(DISTINCT z.node) FROM status AS z WHERE z.value <> (SELECT o.value FROM common AS o)) = 1;
END;

--: ranks that most nodes of a job have
CREATE FUNCTION l4._usual_ranks(job_id text) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1000
BEGIN ATOMIC
    SELECT greatest(mode() WITHIN GROUP (ORDER BY r.ranks), 1)
    FROM (SELECT count(*) AS ranks FROM l4._ranks(_usual_ranks.job_id) AS z GROUP BY z.node) AS r;
END;

-- Who may fall silent: each node that wrote and, where nodes have several ranks, each rank, as what one does not say
-- another of its node may say. Reports are near-duplicate groups: who waits to send does not miss that others wait to
-- receive. A launcher, which only tells how processes of other nodes ended, or the one node that shares no line with
-- most and reports nothing, has none to make (NULL).
--: nodes, and the ranks of nodes that have several: what they report, and whether they wrote during a stall, and before
--: it
CREATE FUNCTION l4._speakers(k l4._case)
RETURNS TABLE (node text, rank int, reports int[], last_ts timestamptz, wrote bool, before bool)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 500
BEGIN ATOMIC
    WITH n AS MATERIALIZED (
        SELECT z.* FROM l4._nodes(k.job_id) AS z WHERE z.lines > 0
    ), ranked AS MATERIALIZED (
        SELECT r.* FROM l4._several_ranks(k.job_id) AS r JOIN n USING (node)
    ), shown AS MATERIALIZED (
        SELECT s.node, s.alike, s.event_id, s.exit, s.first_ts FROM l4._shown(k.job_id) AS s WHERE NOT s.stack
    ), launcher AS (
        SELECT l.node FROM l4._launchers(k) AS l
    ), stall AS MATERIALIZED (
        -- between the last iteration and the first crash report, or the end; and in the training before, for as long
        SELECT x.*, x.to_ts IS NOT NULL AS stalled, least(x.from_ts, (SELECT min(s.first_ts) FROM shown AS s)) AS since
        FROM (SELECT max(e.ts - l4._seconds((k.t).same_moment)) AS to_ts,
                greatest(max(k.progress_ts - (e.ts - k.progress_ts)),
                    CASE WHEN k.iterations >= (k.t).min_iterations THEN k.train_ts END) AS from_ts
            FROM (SELECT coalesce(k.terminal_ts, k.last_ts) AS ts) AS e
            WHERE e.ts > k.progress_ts + l4._seconds((k.t).min_stall)) AS x
    ), stream AS (
        SELECT z.node, z.clock, p.* FROM stall AS p CROSS JOIN n AS z
    ), said AS (
        SELECT s.node, u.rank, l4._survivor(t.event_id, t.merged_into) AS event_id, max(u.ts - s.clock) AS last_ts,
            bool_or(u.ts - s.clock >= k.progress_ts AND u.ts - s.clock < s.to_ts) AS wrote,
            bool_or(u.ts - s.clock >= s.from_ts AND u.ts - s.clock < k.progress_ts) AS before
        FROM stream AS s
        JOIN l4._chunk AS c ON c.job_id = k.job_id AND c.node = s.node AND (c.last_ts < s.since + s.clock) IS NOT TRUE
        CROSS JOIN LATERAL l4._lines_between(c.body, NULL, s.since + s.clock, NULL) AS u
        JOIN l4._event AS t ON t.event_id = u.event_id
        WHERE u.rank IS NOT NULL AND EXISTS (SELECT FROM ranked)
        GROUP BY 1, 2, 3
    ), speech AS (
        SELECT s.node, NULL::int AS rank, NULL::int AS alike, NULL::timestamptz AS last_ts,
            l4._wrote_between(m.activity, m.open_activity, k.progress_ts + s.clock, s.to_ts + s.clock) AS wrote,
            l4._wrote_between(m.activity, m.open_activity, s.from_ts + s.clock, k.progress_ts + s.clock) AS before
        FROM stream AS s JOIN l4._summary AS m ON m.job_id = k.job_id AND m.node = s.node
        UNION ALL
        SELECT s.node, NULL, s.alike, NULL, false, false FROM shown AS s
        UNION ALL
        SELECT l.node, l.rank, s.alike, l.last_ts, l.wrote, l.before
        FROM said AS l LEFT JOIN shown AS s USING (node, event_id)
        UNION ALL
        SELECT r.node, r.rank, NULL, NULL, false, false FROM ranked AS r
    )
    SELECT z.node, s.rank, CASE WHEN o.node IS NULL
            THEN coalesce(array_agg(DISTINCT s.alike) FILTER (WHERE s.alike IS NOT NULL), '{}') END,
        CASE WHEN s.rank IS NULL THEN z.last_ts ELSE max(s.last_ts) END,
        CASE WHEN p.stalled THEN coalesce(bool_or(s.wrote), false) END, coalesce(bool_or(s.before), false)
    FROM stall AS p CROSS JOIN n AS z JOIN speech AS s USING (node) LEFT JOIN launcher AS o USING (node)
    GROUP BY z.node, z.last_ts, s.rank, o.node, p.stalled;
END;

-- A silent rank: once or more a rank, on nearly all nodes as often, here less, and nothing else instead.
--: nodes that report less often than others do, by a rank
CREATE FUNCTION l4._silent_ranks(k l4._case) RETURNS TABLE (node text, detail text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    ranks constant bigint := (SELECT l4._usual_ranks(k.job_id));
BEGIN
    IF ranks = 1 THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH counted AS MATERIALIZED (
        SELECT s.node, s.alike, sum(s.occurrences) AS records, bool_or(s.terminal) AS terminal
        FROM l4._shown(k.job_id) AS s
        WHERE NOT s.stack AND NOT s.exit AND (s.level >= (k.t).warning_level OR s.terminal)
        GROUP BY s.node, s.alike
    ), usual AS MATERIALIZED (
        SELECT c.alike, mode() WITHIN GROUP (ORDER BY c.records DESC) AS usual, count(*) AS nodes
        FROM counted AS c GROUP BY c.alike
    ), off AS (
        SELECT c.alike, count(*) AS nodes FROM counted AS c JOIN usual AS u USING (alike)
        WHERE c.records <> u.usual GROUP BY c.alike
    ), instead AS (
        SELECT c.node, sum(c.records) AS records FROM counted AS c JOIN usual AS u USING (alike)
        WHERE c.terminal AND u.nodes < (k.t).majority * k.nodes GROUP BY c.node
    )
    SELECT c.node, 'reports ' || min(c.records) || CASE WHEN min(c.records) = 1 THEN ' time' ELSE ' times' END
        || ' what other nodes report ' || max(u.usual) || ' times: a rank of it is silent'
    FROM counted AS c
    JOIN usual AS u USING (alike)
    LEFT JOIN off AS o USING (alike)
    LEFT JOIN instead AS i ON i.node = c.node
    WHERE c.records < u.usual AND u.usual % ranks = 0 AND u.nodes >= (k.t).majority * k.nodes
        AND u.nodes >= (k.t).min_nodes AND coalesce(o.nodes, 0) <= greatest(1, floor((k.t).rare_share * k.nodes))
        AND u.usual - c.records > coalesce(i.records, 0)
    GROUP BY c.node;
END;
$$;

--: how long after the first node the median node of these jobs begins to write
CREATE FUNCTION l4._usual_delay(jobs text[]) RETURNS interval
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY d.delay)
    FROM (SELECT min(s.first_ts) - min(min(s.first_ts)) OVER (PARTITION BY s.job_id) AS delay
        FROM l4._stream AS s WHERE s.job_id = ANY (jobs) GROUP BY s.job_id, s.node) AS d;
END;

--: evidence: a node that does not say what the others say, falls silent first, or never wrote
CREATE FUNCTION l4.evidence_silent(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH job AS MATERIALIZED (
        SELECT c AS k FROM l4._case AS c WHERE c.job_id = evidence_silent.job_id AND c.symptom <> 'slow'
    ), k AS MATERIALIZED (
        SELECT (job.k).* FROM job
    ), absent AS MATERIALIZED (
        SELECT z.node, count(*) OVER () AS nodes FROM l4._nodes(evidence_silent.job_id) AS z WHERE z.lines = 0
    ), speaker AS MATERIALIZED (
        SELECT s.* FROM job CROSS JOIN LATERAL l4._quiet(job.k) AS s
    ), size AS MATERIALIZED (
        SELECT s.what, 'most ' || s.what || 's' AS most,
            min((k.t).majority) * count(*) AS majority,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY s.last_ts) AS median_ts,
            count(*) FILTER (WHERE s.reports IS DISTINCT FROM '{}') AS reporting,
            count(*) FILTER (WHERE s.wrote) AS writing
        FROM speaker AS s CROSS JOIN k GROUP BY s.what
    ), common AS (
        SELECT e.what, array_agg(e.alike) AS reports
        FROM (SELECT s.what, a.alike FROM speaker AS s CROSS JOIN LATERAL unnest(s.reports) AS a(alike)
            JOIN size AS z USING (what) GROUP BY s.what, a.alike, z.majority HAVING count(*) >= z.majority) AS e
        GROUP BY e.what
    ), missing AS (
        SELECT s.node, s.rank, z.most, z.median_ts - s.last_ts AS early,
            (SELECT avg((a.alike <> ALL (s.reports))::int) FROM unnest(c.reports) AS a(alike))::float8 AS share,
            coalesce(s.last_ts < k.terminal_ts AND s.last_ts < z.median_ts - l4._seconds((k.t).same_moment),
                s.rank IS NOT NULL AND s.last_ts IS NULL AND z.median_ts IS NOT NULL) AS ends_early
        FROM speaker AS s JOIN size AS z USING (what) JOIN common AS c USING (what) CROSS JOIN k
        WHERE s.mute OR s.reports <> '{}'
    ), rated AS (
        -- where the others trained together it took part, and its log was not collected; nor is it odd before nodes of
        -- good jobs begin to write
        SELECT z.node, NULL::int AS rank,
            CASE WHEN k.symptom = 'launch'
                    AND NOT coalesce(k.last_ts - k.first_ts < l4._usual_delay(k.baseline), false)
                THEN (k.t).absent_value ELSE (k.t).faint END AS value,
            'expected, but never wrote a line' AS detail
        FROM absent AS z CROSS JOIN k WHERE z.nodes <= k.nodes
        UNION ALL
        SELECT m.node, m.rank, m.share * CASE WHEN m.ends_early THEN 1 ELSE (k.t).weak END,
            round(100 * m.share)::int || ' % of what ' || m.most || ' report is missing here'
            || CASE WHEN m.ends_early THEN coalesce('; its log ends '
                || round(extract(epoch FROM m.early)::numeric, 1) || ' s before the others', '') ELSE '' END
        FROM missing AS m CROSS JOIN k
        -- who names another has better to say
        WHERE CASE WHEN m.rank IS NULL THEN m.ends_early OR m.node NOT IN (SELECT a.accuser
            FROM l4._edges(evidence_silent.job_id) AS a WHERE a.weight > 0) ELSE m.share = 1 END
        UNION ALL
        SELECT s.node, s.rank, 1, 'reports nothing, while ' || z.most || ' do'
        FROM speaker AS s JOIN size AS z USING (what)
        WHERE s.mute AND z.reporting >= z.majority
        UNION ALL
        SELECT u.node, NULL, 1, u.detail FROM job CROSS JOIN LATERAL l4._silent_ranks(job.k) AS u
        UNION ALL
        SELECT u.node, NULL, 1, u.detail FROM job CROSS JOIN LATERAL l4._unsaid(job.k) AS u
        UNION ALL
        SELECT s.node, s.rank, 1, CASE WHEN k.terminal_ts IS NULL THEN 'wrote nothing since the last iteration'
            ELSE 'wrote nothing between the last iteration and the first error' END
        FROM speaker AS s JOIN size AS z USING (what) CROSS JOIN k
        WHERE s.idle AND z.writing >= z.majority
    ), summed AS (
        -- the strongest, and a quarter of what else there is: of two silent nodes the one that is silent in more ways
        SELECT r.node, r.rank,
            (1 - min((k.t).faint)) * max(r.value) + min((k.t).faint) * sum(r.value ORDER BY r.value) AS value,
            (array_agg(r.detail ORDER BY r.value DESC, r.detail COLLATE "C"))[1] AS detail
        FROM rated AS r CROSS JOIN k
        WHERE r.value > 0
        GROUP BY r.node, r.rank
    )
    SELECT DISTINCT ON (s.node) s.node, s.value::float8, coalesce('rank ' || s.rank || ': ', '') || s.detail
    FROM summed AS s
    ORDER BY s.node, s.value DESC, s.rank NULLS FIRST;
END
$$;

--: evidence: a node whose last iteration is behind that of most nodes, or, in a hang, a line that others wrote once
--: more
CREATE FUNCTION l4.evidence_lag(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 10
BEGIN ATOMIC
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = evidence_lag.job_id
    ), n AS MATERIALIZED (
        SELECT z.node, z.last_iteration FROM l4._case_progress AS z
        WHERE z.job_id = evidence_lag.job_id AND z.last_iteration IS NOT NULL
    ), middle AS (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n.last_iteration) AS median, count(*) AS nodes FROM n
    ), behind AS (
        SELECT n.node, n.last_iteration, m.median, m.nodes, count(*) OVER () AS nodes_behind
        FROM n CROSS JOIN middle AS m WHERE n.last_iteration < m.median
    ), fewer AS MATERIALIZED (
        -- In a hang, lines that one node has less often than the others, which have them equally often. Other failures
        -- cut nodes off while they write.
        SELECT c.event_id, (array_agg(c.node ORDER BY c.occurrences))[1] AS node, min(c.occurrences) AS times,
            max(c.occurrences) AS usual
        FROM k CROSS JOIN LATERAL l4._event_counts(k.job_id, NULL) AS c
        WHERE k.symptom = 'hang'
        GROUP BY c.event_id
        HAVING count(*) >= greatest(min((k.t).min_nodes), min((k.t).majority * k.nodes))
            AND min(c.occurrences) < max(c.occurrences)
            AND sum(c.occurrences) = max(c.occurrences) * (count(*) - 1) + min(c.occurrences)
    ), even AS (
        SELECT c.event_id, b.job_id, min(c.occurrences) = max(c.occurrences) AS even
        FROM k
        CROSS JOIN LATERAL unnest(k.baseline[1:(k.t).value_jobs::int]) AS b(job_id)
        CROSS JOIN LATERAL l4._event_counts(b.job_id, ARRAY(SELECT f.event_id FROM fewer AS f)) AS c
        GROUP BY c.event_id, b.job_id
    ), short AS (
        SELECT DISTINCT ON (f.node) f.node, f.times, f.usual, t.template
        FROM fewer AS f JOIN l4._event AS t USING (event_id)
        WHERE (SELECT bool_and(e.even) FROM even AS e WHERE e.event_id = f.event_id)
        ORDER BY f.node, f.usual DESC, t.template COLLATE "C"
    )
    SELECT b.node, 1.0::float8, 'stopped at iteration ' || b.last_iteration || ', most nodes at ' || b.median
    FROM behind AS b CROSS JOIN k
    WHERE b.nodes_behind <= greatest(1, floor((k.t).uncommon_share * b.nodes))
    UNION ALL
    SELECT s.node, 1, format('wrote %s times what the others wrote %s times: %s', s.times, s.usual,
        left(s.template, 120))
    FROM short AS s
    WHERE NOT EXISTS (SELECT FROM behind) AND (SELECT count(*) FROM short) = 1;
END;

-- A ring breaks. The ranks that data no longer reaches wait to receive, and those that cannot pass it on wait to send.
-- The two runs meet twice: at the break, and where they end, on a node between two of its ranks or between two nodes.
-- Which is which depends on the direction of the ring. Gloo's rings pass data to the rank before and wait to receive
-- first, but for the one that gathers, which passes it to the rank after and waits to send first, and the barrier,
-- which passes it to the rank after and waits to receive first.

--: crash reports of ranks that wait to send or to receive
CREATE FUNCTION l4._waiting(k l4._case) RETURNS TABLE (event_id int, waits text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT e.event_id, e.waits FROM l4._claims(k.job_id) AS e WHERE e.terminal AND e.waits IS NOT NULL;
END;

--: where nodes that wait to send first meet nodes that wait to receive first, and how many wait
CREATE FUNCTION l4._ring_breaks(k l4._case)
RETURNS TABLE (node text, next_node text, below text, above text, waiting bigint)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 2
BEGIN ATOMIC
    WITH n AS (
        SELECT c.node, min(z.place) AS place, (array_agg(w.waits ORDER BY c.first_ts, c.first_line_no))[1] AS first
        FROM l4._waiting(k) AS w
        JOIN l4._counts(k.job_id) AS c USING (event_id)
        JOIN l4._nodes(k.job_id) AS z USING (node)
        GROUP BY c.node
    ), ring AS (
        SELECT n.node, coalesce(lead(n.node) OVER o, first_value(n.node) OVER o) AS next_node,
            n.first, coalesce(lead(n.first) OVER o, first_value(n.first) OVER o) AS next_first,
            count(*) OVER () AS waiting
        FROM n WINDOW o AS (ORDER BY n.place)
    )
    SELECT r.node, r.next_node, r.first, r.next_first, r.waiting FROM ring AS r WHERE r.first <> r.next_first;
END;

--: evidence: the node where ranks that wait to receive meet ranks that wait to send
CREATE FUNCTION l4.evidence_edge(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 10
BEGIN ATOMIC
    WITH k AS MATERIALIZED (
        SELECT c AS k, c.t FROM l4._case AS c WHERE c.job_id = evidence_edge.job_id
    ), direction AS (
        SELECT bool_and(l4._marked(j.example, 'ring_up')) AS upwards,
            bool_and(l4._marked(j.example, 'send_first')) AS send_first
        FROM k CROSS JOIN LATERAL l4._waiting(k.k) AS w
        JOIN l4._job_events(ARRAY[evidence_edge.job_id]) AS j USING (event_id)
    ), ring_break AS MATERIALIZED (
        SELECT b.* FROM k CROSS JOIN LATERAL l4._ring_breaks(k.k) AS b
    ), gap AS (
        -- a node that lost both neighbours reports what it waits for first: of the two at the break it is likelier
        SELECT b.*, CASE WHEN (b.below = 'send') = d.upwards THEN (k.t).break_value ELSE (k.t).end_value END AS value,
            (b.below = 'send') = d.upwards AND (b.below = 'send') = d.send_first AS first,
            (b.below = 'send') = d.upwards AND (b.below = 'send') <> d.send_first AS next_first
        FROM ring_break AS b CROSS JOIN direction AS d CROSS JOIN k
        WHERE (SELECT count(*) FROM ring_break) = 2 AND b.waiting >= (k.t).min_nodes
    ), side AS (
        SELECT g.node, g.value, g.first FROM gap AS g UNION ALL SELECT g.next_node, g.value, g.next_first FROM gap AS g
    )
    SELECT s.node, max(CASE WHEN s.first THEN s.value + (k.t).break_bonus ELSE s.value END)::float8,
        'ranks on one side wait to receive, on the other to send: the ring breaks here'
    FROM side AS s CROSS JOIN k
    GROUP BY s.node;
END;
