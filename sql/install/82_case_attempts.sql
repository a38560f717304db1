-- Attempts that have files of their own, such as of a job that was requeued onto other nodes.

--: when a job first reported a crash: that something is restarted is none
CREATE FUNCTION l4._first_crash(k l4._case) RETURNS timestamptz
LANGUAGE plpgsql STABLE COST 100000 SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    crashes constant int[] := ARRAY(
        SELECT j.event_id FROM l4._job_event AS j JOIN l4._event AS e USING (event_id)
        WHERE j.job_id = k.job_id
            AND (l4._level(e.level) >= (k.t).error_level OR l4._marked(e.example, 'terminal')
                OR l4._marked(e.example, 'exit') AND e.example !~* '\mrestart')
            AND l4._survivor(e.event_id, e.merged_into) NOT IN (
                SELECT g.event_id FROM l4._job_events(k.baseline) AS g));
BEGIN
    RETURN (SELECT min(t.ts)
        FROM unnest(crashes) AS c(event_id) CROSS JOIN LATERAL l4._records(k.job_id, c.event_id) AS r
        CROSS JOIN LATERAL unnest(r.times) AS t(ts));
END
$$;

-- At a moment all streams are over, and nearly all nodes that go on then, most of them nodes of before, print among
-- their first lines what one began with before. Where it crashed before and no node is another, a launcher tried again,
-- and the first failure tells.
--: when the last attempt of a job began, where each attempt has files of its own
CREATE FUNCTION l4._began_files(k l4._case, job_id text) RETURNS timestamptz
LANGUAGE plpgsql STABLE COST 100000 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    gaps timestamptz[];
BEGIN
    gaps := ARRAY(
        SELECT g.first_ts
        FROM (SELECT s.first_ts, max(s.last_ts) OVER (ORDER BY s.first_ts, s.last_ts
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM l4._stream AS s WHERE s.job_id = _began_files.job_id AND s.first_ts IS NOT NULL) AS g
        WHERE g.first_ts > g.before + l4._seconds((k.t).same_moment));
    IF gaps = '{}' THEN
        RETURN NULL;
    END IF;
    RETURN (
    WITH head AS MATERIALIZED (
        SELECT s.node, s.first_ts, h.place, l.bare
        FROM l4._stream AS s
        JOIN l4._summary AS m ON m.stream_id = s.stream_id AND m.part = 0
        CROSS JOIN LATERAL (
            SELECT l4._survivor(e.event_id, e.merged_into) AS event_id,
                row_number() OVER (ORDER BY u.first_line_no) AS place
            FROM l4._unpack(m.events, m.open_events) AS u(event_id int, occurrences bigint, first_ts timestamptz,
                last_ts timestamptz, first_line_no bigint)
            JOIN l4._event AS e ON e.event_id = u.event_id) AS h
        JOIN l4._labelled(_began_files.job_id, NULL) AS l ON l.event_id = h.event_id
        WHERE s.job_id = _began_files.job_id AND h.place <= (k.t).min_iterations
    )
    SELECT max(g.ts)
    FROM unnest(gaps) AS g(ts)
    CROSS JOIN LATERAL (
        SELECT array_agg(DISTINCT h.node) AS nodes, array_agg(h.bare) FILTER (WHERE h.place = 1) AS events
        FROM head AS h WHERE h.first_ts < g.ts) AS o
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT h.node) AS nodes, count(DISTINCT h.node) FILTER (WHERE h.bare = ANY (o.events)) AS alike,
            count(DISTINCT h.node) FILTER (WHERE h.node = ANY (o.nodes)) AS again
        FROM head AS h WHERE h.first_ts >= g.ts) AS z
    WHERE z.alike >= (k.t).nearly_all * z.nodes AND z.again >= (k.t).half * greatest(z.nodes, cardinality(o.nodes))
        AND (z.again < z.nodes OR _began_files.job_id <> k.job_id OR coalesce(g.ts < l4._first_crash(k), true)));
END
$$;

--: streams of a job that went on in its last attempt
CREATE FUNCTION l4._streams(k l4._case, job_id text) RETURNS SETOF l4._stream
LANGUAGE sql STABLE PARALLEL SAFE ROWS 500
BEGIN ATOMIC
    SELECT s.*
    FROM (SELECT CASE WHEN _streams.job_id = k.job_id THEN k.attempt_ts
        ELSE k.good_since[array_position(k.baseline, _streams.job_id)] END AS ts OFFSET 0) AS a
    JOIN l4._stream AS s ON s.job_id = _streams.job_id AND coalesce(s.last_ts >= a.ts, true);
END;

--: nodes of good jobs that wrote in their last attempts
CREATE FUNCTION l4._good_nodes(k l4._case) RETURNS SETOF l4._node
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1000
BEGIN ATOMIC
    SELECT n.* FROM l4._node AS n
    WHERE n.job_id = ANY (k.baseline)
        AND coalesce(n.last_ts >= k.good_since[array_position(k.baseline, n.job_id)], true);
END;
