-- Isolation forest over nodes. A plain forest over all events sees the roles of nodes, not their faults: it is grown on
-- the claimed events alone, as presence (a line that comes a hundred times is no worse than one that comes once), and
-- without what names others. It is shown and decides nothing, but for method "paper". A forest draws events by their
-- numbers, and ids depend on what was read before: here events are numbered by their texts.

--: events that are new in the diagnosed job, numbered by template and level, and whether they are claims
CREATE FUNCTION l4._forest_events(job_id text) RETURNS TABLE (event_id int, place int, claimed bool)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 200
BEGIN ATOMIC
    SELECT e.event_id, row_number() OVER (ORDER BY t.template COLLATE "C", t.level COLLATE "C", e.event_id)::int,
        d.event_id IS NULL
    FROM l4._case_event AS e
    JOIN l4._event AS t USING (event_id)
    LEFT JOIN l4._case_dropped AS d USING (job_id, event_id)
    WHERE e.job_id = _forest_events.job_id AND e.is_new AND NOT e.stack;
END;

--: event vectors of the nodes for the isolation forest, by place: claimed events as presence, or plain: counts of all
CREATE FUNCTION l4._node_vectors(job_id text, plain bool) RETURNS TABLE (node text, vector l4.event_vector)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 500
BEGIN ATOMIC
    WITH event AS MATERIALIZED (
        SELECT e.* FROM l4._forest_events(_node_vectors.job_id) AS e
    ), wanted AS (
        SELECT w.event_id, w.place FROM event AS w
        WHERE _node_vectors.plain OR w.claimed OR NOT EXISTS (SELECT FROM event AS z WHERE z.claimed)
    ), named AS (
        SELECT DISTINCT a.accuser AS node, x.event_id
        FROM l4._edges(_node_vectors.job_id) AS a CROSS JOIN LATERAL unnest(a.events) AS x(event_id)
        WHERE NOT _node_vectors.plain
    ), vector AS (
        SELECT c.node,
            l4.event_vector_agg(s.place, CASE WHEN _node_vectors.plain THEN c.occurrences ELSE 1 END) AS vector
        FROM l4._counts(_node_vectors.job_id) AS c
        JOIN wanted AS s USING (event_id)
        LEFT JOIN named AS a ON a.node = c.node AND a.event_id = c.event_id
        WHERE a.node IS NULL
        GROUP BY c.node
    )
    SELECT n.node, coalesce(v.vector, '{}'::l4.event_vector)
    FROM l4._nodes(_node_vectors.job_id) AS n LEFT JOIN vector AS v USING (node);
END;

--: isolation forest over the nodes of a diagnosed job: score, and what sets the node apart; plain: on counts of all new
--: events
CREATE FUNCTION l4.node_forest(job_id text, plain bool DEFAULT false)
RETURNS TABLE (node text, score float8, events int[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH event AS MATERIALIZED (
        SELECT e.* FROM l4._forest_events(node_forest.job_id) AS e
    ), vector AS MATERIALIZED (
        SELECT v.node, v.vector FROM l4._node_vectors(node_forest.job_id, node_forest.plain) AS v
    ), forest AS MATERIALIZED (
        SELECT l4.iforest_train(v.vector) AS forest FROM vector AS v
    )
    SELECT v.node, l4.iforest_score(f.forest, v.vector),
        ARRAY(SELECT e.event_id FROM l4.iforest_explain(f.forest, v.vector) AS x JOIN event AS e ON e.place = x.event_id
            WHERE x.contribution > 0 ORDER BY x.contribution DESC, e.place LIMIT 20)
    FROM vector AS v CROSS JOIN forest AS f
    WHERE f.forest IS NOT NULL;
END;
