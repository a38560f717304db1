-- Isolation forest over nodes. A plain forest over all events sees the roles of nodes, not their faults: it is grown on suspicious events alone, as
-- presence (a line that comes a hundred times is no worse than one that comes once), and without what a node says about others.

CREATE FUNCTION l4._node_vectors(job_id text, plain bool) RETURNS TABLE (node text, vector l4.event_vector)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH wanted AS (
        SELECT e.event_id, e.dropped
        FROM l4._case_event AS e
        WHERE e.job_id = _node_vectors.job_id AND e.is_new AND NOT e.stack
    ), suspicious AS (
        SELECT w.event_id FROM wanted AS w
        WHERE _node_vectors.plain OR w.dropped IS NULL OR NOT EXISTS (SELECT FROM wanted AS z WHERE z.dropped IS NULL)
    ), named AS (
        SELECT a.accuser AS node, x.event_id
        FROM l4._case_edge AS a CROSS JOIN LATERAL unnest(a.events) AS x(event_id)
        WHERE a.job_id = _node_vectors.job_id
    )
    SELECT n.node, coalesce(v.vector, '{}'::l4.event_vector)
    FROM l4._case_node AS n
    LEFT JOIN (
        SELECT c.node, l4.event_vector_agg(c.event_id, CASE WHEN _node_vectors.plain THEN c.occurrences ELSE 1 END) AS vector
        FROM l4._case_count AS c
        JOIN suspicious AS s USING (event_id)
        WHERE c.job_id = _node_vectors.job_id
            AND (_node_vectors.plain OR NOT EXISTS (SELECT FROM named AS a WHERE a.node = c.node AND a.event_id = c.event_id))
        GROUP BY c.node) AS v USING (node)
    WHERE n.job_id = _node_vectors.job_id;
END;
COMMENT ON FUNCTION l4._node_vectors(text, bool) IS 'event vectors of the nodes for the isolation forest: suspicious events as presence, or plain: counts of all new events';

CREATE FUNCTION l4.node_forest(job_id text, plain bool DEFAULT false)
RETURNS TABLE (node text, score float8, events int[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH vector AS MATERIALIZED (
        SELECT v.node, v.vector FROM l4._node_vectors(node_forest.job_id, node_forest.plain) AS v
    ), forest AS MATERIALIZED (
        SELECT l4.iforest_train(v.vector) AS forest FROM vector AS v
    )
    SELECT v.node, l4.iforest_score(f.forest, v.vector),
        ARRAY(SELECT x.event_id FROM l4.iforest_explain(f.forest, v.vector) AS x JOIN l4._event AS t USING (event_id)
            WHERE x.contribution > 0 ORDER BY x.contribution DESC, t.template COLLATE "C" LIMIT 20)
    FROM vector AS v CROSS JOIN forest AS f
    WHERE f.forest IS NOT NULL;
END;
COMMENT ON FUNCTION l4.node_forest(text, bool) IS 'isolation forest over the nodes of a diagnosed job: score, and the events that set the node apart; plain: on counts of all new events, as in the paper';

CREATE FUNCTION l4.evidence_forest(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH scored AS MATERIALIZED (
        SELECT f.* FROM l4.node_forest(evidence_forest.job_id) AS f
    ), middle AS MATERIALIZED (
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s.score) AS median FROM scored AS s
    )
    SELECT s.node, least(2 * (s.score - m.median), 1),
        'unlike the other nodes (isolation forest ' || round(s.score::numeric, 2) || ')'
            || coalesce(': ' || left((SELECT t.template FROM l4._event AS t WHERE t.event_id = s.events[1]), 120), '')
    FROM scored AS s CROSS JOIN middle AS m
    WHERE s.score > m.median AND s.score > 0.5;
END;
COMMENT ON FUNCTION l4.evidence_forest(text) IS 'evidence: suspicious events set the node apart in an isolation forest, 1 = the most';
