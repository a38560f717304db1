-- The paper's steps alone: events that no baseline job shows, isolation forest over their counts on the nodes, DTW over
-- iterations.

--: stores nodes and events as the paper ranks them
CREATE FUNCTION l4._rank_by_paper(k l4._case, top_k int) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO l4.suspect_node (job_id, rank, node, score, is_suspect, iforest_score, reasons, evidence, events)
    SELECT k.job_id, r.rank, r.node, r.score, r.score > (k.t).forest_score AND r.score >= (k.t).forest_share * r.most,
        r.score, ARRAY['isolation forest score ' || round(r.score::numeric, 3)],
        jsonb_build_object('iforest', jsonb_build_object(
            'value', round(r.score::numeric, 3), 'weight', 1, 'detail', 'isolation forest score')),
        r.events
    FROM (
        SELECT f.*, max(f.score) OVER () AS most, row_number() OVER (ORDER BY f.score DESC, f.node COLLATE "C") AS rank
        FROM l4.node_forest(k.job_id, true) AS f) AS r
    WHERE r.rank <= top_k;

    INSERT INTO l4.suspect_event (job_id, rank, event_id, score, reasons, nodes, occurrences, first_ts, example_node,
        example_line_no, example_line)
    SELECT k.job_id, row_number() OVER (ORDER BY c.score DESC, c.template COLLATE "C", c.event_id), c.event_id, c.score,
        ARRAY['in none of ' || cardinality(k.baseline) || ' baseline jobs', 'sets ' || c.node || ' apart'],
        j.nodes, j.occurrences, j.first_ts, j.first_node, j.first_line_no, j.example
    FROM (
        SELECT DISTINCT ON (x.event_id) x.event_id, s.score, s.node, t.template
        FROM l4.suspect_node AS s
        CROSS JOIN LATERAL unnest(s.events) AS x(event_id)
        JOIN l4._event AS t USING (event_id)
        WHERE s.job_id = k.job_id AND s.is_suspect
        ORDER BY x.event_id, s.score DESC, s.rank) AS c
    JOIN l4._job_events(ARRAY[k.job_id]) AS j USING (event_id);
END;
$$;
