-- Lines and iterations between two times, of some levels, and their numbers by time: what dashboards ask for again
-- and again. The views have the same rows, and of most queries the same conditions (see _window_support); sums by time
-- make no rows here.

--: how many packed lines each event has in each span of so many microseconds
CREATE FUNCTION l4._line_counts(packed bytea, width_us bigint, from_ts timestamptz, to_ts timestamptz)
RETURNS TABLE (started timestamptz, event_id int, lines bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 AS 'MODULE_PATHNAME', 'l4_line_counts';

--: packed iterations and their durations, summed over spans of so many microseconds
CREATE FUNCTION l4._iteration_times(packed bytea, open bytea, width_us bigint, from_ts timestamptz, to_ts timestamptz)
RETURNS TABLE (started timestamptz, iterations bigint, total_ms float8, highest_ms float8)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 AS 'MODULE_PATHNAME', 'l4_iteration_times';

--: length of a span of time; an error for one of months
CREATE FUNCTION l4._microseconds(width interval) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF width IS NULL OR width <= interval '0' OR width > interval '36525 days'
        OR extract(month FROM width) <> 0 OR extract(year FROM width) <> 0 THEN
        RAISE EXCEPTION 'width must be an interval of up to 36525 days, not %', coalesce(width::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN extract(epoch FROM width) * 1000000;
END;
$$;

-- Two that are part of the statement that calls them, so that metrics are made only where somebody asks for them.
--: l4.iteration of a job, of one node or (NULL) of all, started from a time on and before another one (NULL = open)
CREATE FUNCTION l4.iterations(job_id text, from_ts timestamptz DEFAULT NULL, to_ts timestamptz DEFAULT NULL,
    on_node text DEFAULT NULL) RETURNS SETOF l4.iteration
LANGUAGE sql STABLE PARALLEL SAFE COST 1000 ROWS 1000
BEGIN ATOMIC
    SELECT s.job_id, s.node, s.source, u.epoch, u.iteration, u.started, u.duration_ms,
        l4._iteration_metrics(s.iterations, s.open_iterations, u.place)
    FROM l4._summary s
    CROSS JOIN LATERAL l4._iterations_between(s.iterations, s.open_iterations, iterations.from_ts, iterations.to_ts)
        AS u
    WHERE s.job_id = iterations.job_id
        AND (iterations.on_node IS NULL OR s.node = iterations.on_node)
        AND (iterations.to_ts IS NULL OR u.started < iterations.to_ts);
END;

--: l4.event_line of a job, of some levels or (NULL) of all, of one node or (NULL) of all, from a time on and before
--: another one (NULL = open)
CREATE FUNCTION l4.lines(job_id text, levels text[] DEFAULT NULL, from_ts timestamptz DEFAULT NULL,
    to_ts timestamptz DEFAULT NULL, on_node text DEFAULT NULL) RETURNS SETOF l4.event_line
LANGUAGE sql STABLE PARALLEL SAFE COST 1000 ROWS 1000
BEGIN ATOMIC
    WITH wanted AS MATERIALIZED (
        SELECT CASE WHEN lines.levels IS NOT NULL THEN ARRAY(
            SELECT j.event_id
            FROM l4._job_event j JOIN l4._event e ON e.event_id = j.event_id
            WHERE j.job_id = lines.job_id
                AND e.level = ANY (lines.levels)
            ORDER BY 1) END AS ids
    )
    SELECT s.job_id, s.node, s.source, u.line_no, u.line_no - u.back, u.ts, u.rank, e.level,
        l4._survivor(e.event_id, e.merged_into), u.stage, u.iteration
    FROM wanted
    CROSS JOIN l4._chunk s
    CROSS JOIN LATERAL l4._lines_between(s.body, wanted.ids, lines.from_ts, lines.to_ts, s.first_ts, s.last_ts) AS u
    JOIN l4._event e ON e.event_id = u.event_id
    WHERE s.job_id = lines.job_id
        AND (lines.on_node IS NULL OR s.node = lines.on_node)
        AND (lines.to_ts IS NULL OR u.ts < lines.to_ts);
END;

--: how long iterations of a job took on each node, by time: spans of a width, counted from 2000-01-01 UTC
CREATE FUNCTION l4.iteration_times(job_id text, width interval, from_ts timestamptz DEFAULT NULL,
    to_ts timestamptz DEFAULT NULL, on_node text DEFAULT NULL)
RETURNS TABLE (started timestamptz, node text, iterations bigint, mean_ms float8, highest_ms float8)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    span constant bigint := l4._microseconds(width);
BEGIN
    RETURN QUERY
    SELECT u.started, s.node, sum(u.iterations)::bigint,
        sum(u.total_ms ORDER BY s.source, s.part) / sum(u.iterations)::float8, max(u.highest_ms)
    FROM l4._summary AS s
    CROSS JOIN LATERAL l4._iteration_times(s.iterations, s.open_iterations, span, from_ts, to_ts) AS u
    WHERE s.job_id = iteration_times.job_id AND (on_node IS NULL OR s.node = on_node)
    GROUP BY u.started, s.node
    ORDER BY u.started, s.node;
END;
$$;

--: how many lines of each level a job writes, by time: spans of a width, counted from 2000-01-01 UTC
CREATE FUNCTION l4.line_counts(job_id text, width interval, from_ts timestamptz DEFAULT NULL,
    to_ts timestamptz DEFAULT NULL, on_node text DEFAULT NULL)
RETURNS TABLE (started timestamptz, level text, lines bigint)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    span constant bigint := l4._microseconds(width);
BEGIN
    RETURN QUERY
    SELECT u.started, e.level, sum(u.lines)::bigint
    FROM (SELECT x.started, x.event_id, sum(x.lines) AS lines
        FROM l4._chunk AS s
        CROSS JOIN LATERAL l4._line_counts(s.body, span, from_ts, to_ts) AS x
        WHERE s.job_id = line_counts.job_id AND (on_node IS NULL OR s.node = on_node)
            AND (from_ts IS NULL OR s.last_ts >= from_ts) AND (to_ts IS NULL OR s.first_ts < to_ts)
        GROUP BY x.started, x.event_id) AS u
    JOIN l4._event AS e USING (event_id)
    GROUP BY u.started, e.level
    ORDER BY u.started, e.level;
END;
$$;
