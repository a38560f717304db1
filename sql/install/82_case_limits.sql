-- What cannot be taken as it is: clocks that are off, and good jobs that were none.

-- A clock is off when a node's lines begin and end much earlier or later than those of most nodes and the iterations, which nodes finish
-- together, are shifted by as much. Without iterations both shifts must agree within a fifth, and be a minute at least. All times in the
-- working set are by the clock of most nodes.
CREATE FUNCTION l4._case_clocks(job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    shifted text[];
BEGIN
    WITH middle AS (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n.first_ts) AS first_ts, percentile_disc(0.5) WITHIN GROUP (ORDER BY n.last_ts) AS last_ts
        FROM l4._case_node AS n WHERE n.job_id = _case_clocks.job_id AND n.lines > 0
    ), shift AS (
        SELECT n.node, n.first_ts - m.first_ts AS first, n.last_ts - m.last_ts AS last
        FROM l4._case_node AS n CROSS JOIN middle AS m
        WHERE n.job_id = _case_clocks.job_id AND n.lines > 0
    ), marked AS (
        UPDATE l4._case_node AS n
        SET clock = CASE WHEN abs(extract(epoch FROM s.first - s.last)) <= 0.2 * abs(extract(epoch FROM s.first)) AND abs(extract(epoch FROM s.first)) >= 60
            THEN CASE WHEN s.first > interval '0' THEN least(s.first, s.last) ELSE greatest(s.first, s.last) END ELSE interval '0' END
        FROM shift AS s
        WHERE n.job_id = _case_clocks.job_id AND n.node = s.node
            AND (s.first >= interval '2 s' AND s.last >= interval '2 s' OR s.first <= interval '-2 s' AND s.last <= interval '-2 s')
        RETURNING n.node)
    SELECT array_agg(m.node) INTO shifted FROM marked AS m;
    IF shifted IS NULL THEN
        RETURN;
    END IF;
    WITH done AS MATERIALIZED (
        SELECT i.node, i.epoch, i.iteration, i.ended FROM l4._iteration AS i WHERE i.job_id = _case_clocks.job_id AND i.ended IS NOT NULL
    ), middle AS (
        SELECT d.epoch, d.iteration, percentile_disc(0.5) WITHIN GROUP (ORDER BY d.ended) AS ended FROM done AS d
        WHERE d.node <> ALL (shifted) GROUP BY d.epoch, d.iteration
    ), shift AS (
        SELECT d.node, percentile_disc(0.5) WITHIN GROUP (ORDER BY d.ended - m.ended) AS shift
        FROM done AS d JOIN middle AS m ON m.epoch IS NOT DISTINCT FROM d.epoch AND m.iteration = d.iteration
        WHERE d.node = ANY (shifted)
        GROUP BY d.node HAVING count(*) >= 5
    )
    UPDATE l4._case_node AS n SET clock = CASE WHEN abs(extract(epoch FROM s.shift)) >= 2 THEN s.shift ELSE interval '0' END
    FROM shift AS s WHERE n.job_id = _case_clocks.job_id AND n.node = s.node;

    UPDATE l4._case_node AS n SET first_ts = n.first_ts - n.clock, last_ts = n.last_ts - n.clock
    WHERE n.job_id = _case_clocks.job_id AND n.clock <> interval '0';
    UPDATE l4._case AS c SET first_ts = n.first_ts, last_ts = greatest(n.last_ts, (c.parameters ->> 'as_of')::timestamptz)
    FROM (SELECT min(z.first_ts) AS first_ts, max(z.last_ts) AS last_ts FROM l4._case_node AS z WHERE z.job_id = _case_clocks.job_id) AS n
    WHERE c.job_id = _case_clocks.job_id;
END;
$$;
COMMENT ON FUNCTION l4._case_clocks(text) IS 'working set: by how much the clock of each node is off';

-- A "succeeded" job that stopped short of the iterations that it was to do (where that is not known, that the others do), and reports a crash
-- that no job which got through reports, was a failure: as a baseline it would hide the very lines that matter.
CREATE FUNCTION l4._doubtful(jobs text[]) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH reached AS (
        SELECT b.job_id, coalesce(max(n.last_iteration), 0) AS iteration
        FROM unnest(_doubtful.jobs) AS b(job_id) JOIN l4._stream AS n ON n.job_id = b.job_id
        GROUP BY b.job_id
    ), short AS (
        SELECT r.job_id FROM reached AS r
        WHERE r.iteration < coalesce(0.95 * l4._total_iterations(r.job_id) - 1, (SELECT max(o.iteration) FROM reached AS o))
    ), crash AS (
        SELECT e.event_id
        FROM l4._event AS e
        WHERE e.merged_into IS NULL AND NOT e.is_stack AND l4._level(e.level) NOT IN (1, 2, 3)
            AND e.event_id IN (SELECT j.event_id FROM l4._job_event AS j WHERE j.job_id IN (SELECT s.job_id FROM short AS s))
            AND e.event_id NOT IN (SELECT j.event_id FROM l4._job_event AS j
                WHERE j.job_id = ANY (_doubtful.jobs) AND j.job_id NOT IN (SELECT s.job_id FROM short AS s))
            AND l4._marked(e.example, 'terminal')
    )
    SELECT coalesce(array_agg(s.job_id ORDER BY s.job_id), '{}') FROM short AS s
    WHERE EXISTS (SELECT FROM l4._job_event AS j JOIN crash USING (event_id) WHERE j.job_id = s.job_id);
END;
COMMENT ON FUNCTION l4._doubtful(text[]) IS 'which of these good jobs look like failures';
