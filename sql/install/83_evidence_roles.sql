-- Evidence by roles: trainers and servers of one job do not say the same.

-- Nodes of one role print the same lines, whatever they are called. Good jobs tell which lines are of a role: those
-- that only some nodes have, and in each of these jobs as many as here. What a failure adds or takes away is none.
--: nodes that wrote, and the lines that set their role apart; without a good job all have one role
CREATE FUNCTION l4._roles(k l4._case) RETURNS TABLE (node text, role int[])
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    WITH good AS (
        SELECT k.baseline[1:(k.t).value_jobs::int] AS jobs
    ), usual AS (
        SELECT e.event_id
        FROM good AS g CROSS JOIN LATERAL l4._job_events(k.job_id || g.jobs) AS e
        GROUP BY e.event_id, g.jobs
        HAVING count(*) = cardinality(k.job_id || g.jobs) AND min(e.nodes) = max(e.nodes) AND max(e.nodes) < k.nodes
            AND g.jobs <> '{}'
    )
    SELECT n.node, coalesce(array_agg(c.event_id ORDER BY c.event_id) FILTER (WHERE c.event_id IS NOT NULL), '{}')
    FROM l4._nodes(k.job_id) AS n
    LEFT JOIN l4._event_counts(k.job_id, ARRAY(SELECT u.event_id FROM usual AS u)) AS c USING (node)
    WHERE n.lines > 0
    GROUP BY n.node;
END;

-- Who waits, or has nothing to do, says as little as the others of its role.
--: who may fall silent, and whether it wrote nothing in a stall (idle), or reports nothing (mute), while others of its
--: role do
CREATE FUNCTION l4._quiet(k l4._case)
RETURNS TABLE (node text, rank int, reports int[], last_ts timestamptz, wrote bool, what text, idle bool, mute bool)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 500
BEGIN ATOMIC
    SELECT s.node, s.rank, s.reports, s.last_ts, s.wrote, CASE WHEN s.rank IS NULL THEN 'node' ELSE 'rank' END,
        NOT s.wrote AND s.before
            AND count(*) FILTER (WHERE NOT s.wrote) OVER same - 1 <= (k.t).half * (count(*) OVER same - 1),
        s.reports = '{}'
            AND count(*) FILTER (WHERE s.reports = '{}') OVER same - 1 <= (k.t).half * (count(*) OVER same - 1)
    FROM l4._speakers(k) AS s JOIN l4._roles(k) AS r USING (node)
    WINDOW same AS (PARTITION BY s.rank IS NULL, r.role);
END;

-- In good jobs all nodes of some roles have one line of the end. Who of them lacks it here, while half or more of each
-- of these roles have it, did not get to its end.
--: nodes without a crash report that lack a line with which nodes of their role end, told after the failure
CREATE FUNCTION l4._unsaid(k l4._case) RETURNS TABLE (node text, detail text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    good constant text[] := k.baseline[1:(k.t).value_jobs::int];
BEGIN
    IF cardinality(good) < (k.t).min_pair THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH member AS MATERIALIZED (
        SELECT r.node, r.role, count(*) OVER (PARTITION BY r.role) AS nodes FROM l4._roles(k) AS r
    ), here AS MATERIALIZED (
        SELECT c.event_id, c.node, min(c.first_ts - n.clock) OVER (PARTITION BY c.event_id) AS first_ts
        FROM l4._event_counts(k.job_id, NULL) AS c JOIN l4._nodes(k.job_id) AS n USING (node)
    ), said AS MATERIALIZED (
        SELECT h.event_id, m.role, m.nodes, count(*) AS others
        FROM here AS h JOIN member AS m USING (node)
        WHERE h.first_ts > coalesce(k.terminal_ts, k.progress_ts)
        GROUP BY h.event_id, m.role, m.nodes
    ), last AS (
        SELECT s.event_id, sum(s.nodes) AS nodes, sum(s.others) AS others
        FROM said AS s
        GROUP BY s.event_id HAVING bool_and(s.others >= (k.t).half * s.nodes) AND sum(s.others) < sum(s.nodes)
    ), usual AS (
        SELECT l.event_id, l.others
        FROM last AS l JOIN l4._job_events(good) AS e USING (event_id)
        GROUP BY l.event_id, l.others
        HAVING count(*) = cardinality(good) AND bool_and(e.nodes = l.nodes AND e.occurrences = l.nodes)
    )
    SELECT DISTINCT ON (m.node) m.node,
        'lacks what others of its role said last: ' || left(t.template, 120)
    FROM usual AS u JOIN said AS s USING (event_id) JOIN member AS m USING (role) JOIN l4._event AS t USING (event_id)
    WHERE NOT EXISTS (SELECT FROM here AS h WHERE h.event_id = u.event_id AND h.node = m.node)
        AND m.node NOT IN (SELECT z.node FROM l4._shown(k.job_id) AS z WHERE z.terminal)
    ORDER BY m.node, u.others DESC, t.template COLLATE "C";
END
$$;
