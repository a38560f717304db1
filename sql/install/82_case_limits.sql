-- What cannot be taken as it is: clocks that are off, and good jobs that were none.

--: packed (place of the node, ms, before_ms, spread_ms): how late nodes report iterations from the place-th on, and
--: before
CREATE FUNCTION l4._late_reports(job_id text, place int, min_nodes float8, attempt_ts timestamptz) RETURNS bytea
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
    SELECT l4._late_nodes(s.iterations, s.open_iterations, n.place, _late_reports.place, _late_reports.min_nodes,
            (extract(epoch FROM n.clock) * 1000000)::bigint, _late_reports.attempt_ts ORDER BY n.place)
    FROM l4._nodes(_late_reports.job_id) AS n
    JOIN l4._summary AS s ON s.job_id = _late_reports.job_id AND s.node = n.node
    WHERE n.place > 0);
END;
$$;

-- By how much a node's lines are later than those of the median node: of those that each node prints once, up to the
-- first iteration; and of the last of those that all print equally often, in training.
--: seconds by which a node's lines are later than those of the median node: those printed once, the same where they are
--: many, and the last of others, with its spread
CREATE FUNCTION l4._line_shifts(k l4._case)
RETURNS TABLE (node text, began float8, start_shift float8, train_shift float8, train_spread float8)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 500
BEGIN ATOMIC
    WITH job AS (
        SELECT count(*) AS nodes, min(n.first_ts) AS first_ts FROM l4._nodes(k.job_id) AS n WHERE n.lines > 0
    ), line AS (
        SELECT c.node, c.event_id, c.occurrences = 1 AS once,
            extract(epoch FROM c.first_ts - j.first_ts)::float8 AS first,
            extract(epoch FROM c.last_ts - j.first_ts)::float8 AS last
        FROM job AS j CROSS JOIN LATERAL l4._event_counts(k.job_id, NULL) AS c
    ), common AS (
        SELECT s.event_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY s.first) AS first,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY s.last) AS last
        FROM line AS s CROSS JOIN job AS j
        GROUP BY s.event_id, j.nodes
        HAVING count(*) >= (k.t).nearly_all * j.nodes
    ), shift AS (
        SELECT s.node, s.once, CASE WHEN s.once THEN s.first - c.first ELSE s.last - c.last END AS shift
        FROM line AS s JOIN common AS c USING (event_id)
    ), middle AS (
        SELECT s.node, s.once, percentile_cont(0.5) WITHIN GROUP (ORDER BY s.shift) AS shift,
            count(*) >= (k.t).min_shared_lines AS many
        FROM shift AS s GROUP BY s.node, s.once
    ), spread AS (
        SELECT m.node, m.once, m.many, m.shift,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(s.shift - m.shift)) AS spread
        FROM middle AS m JOIN shift AS s USING (node, once)
        GROUP BY m.node, m.once, m.many, m.shift
    )
    SELECT s.node, max(s.shift) FILTER (WHERE s.once), max(s.shift) FILTER (WHERE s.once AND s.many),
        max(s.shift) FILTER (WHERE NOT s.once AND s.many), max(s.spread) FILTER (WHERE NOT s.once AND s.many)
    FROM spread AS s
    GROUP BY s.node;
END;

-- A clock is off when the iterations, which nodes finish together, are earlier or later on a node than on most, and its
-- first lines are so by about as much. Where most nodes print no iterations: when the first lines and the last of
-- others in training agree. Where there are neither: when its log begins and ends earlier or later by as much, and what
-- it prints once as the others do comes so as well. A node that starts late, prints late or falls behind has a good
-- clock: its shift is not the same throughout.
--: case, clocks: writes by how much those of some nodes are off
CREATE FUNCTION l4._case_clocks(k l4._case) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    nodes constant bigint := (SELECT count(*) FROM l4._nodes(k.job_id) AS n WHERE n.lines > 0);
    reports constant bytea := l4._late_reports(k.job_id, 2147483647, (k.t).majority * nodes, NULL);
    most_print bool;
    shifted bigint;
BEGIN
    SELECT count(*) >= (k.t).majority * nodes, count(*) FILTER (WHERE abs(u.before_ms) >= 1000 * (k.t).min_clock)
    INTO most_print, shifted
    FROM l4._unpack(reports) AS u(place int, ms float8, before_ms float8, spread_ms float8);
    IF NOT most_print THEN
        SELECT count(*) FILTER (WHERE abs(extract(epoch FROM n.first_ts - m.first_ts)) >= (k.t).min_line_clock)
            INTO shifted
        FROM l4._nodes(k.job_id) AS n
        CROSS JOIN (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY z.first_ts) AS first_ts
            FROM l4._nodes(k.job_id) AS z WHERE z.lines > 0) AS m;
    END IF;
    IF shifted = 0 OR nodes < (k.t).min_nodes THEN
        RETURN;
    END IF;
    INSERT INTO l4._case_clock (job_id, node, clock)
    WITH shift AS MATERIALIZED (
        SELECT n.node, l.began, l.start_shift, l.train_shift, l.train_spread,
            p.before_ms / 1000 AS iteration_shift, p.spread_ms / 1000 AS iteration_spread,
            extract(epoch FROM n.first_ts)::float8 AS first, extract(epoch FROM n.last_ts)::float8 AS last,
            CASE WHEN most_print THEN p.before_ms / 1000 ELSE l.train_shift END AS measured
        FROM l4._nodes(k.job_id) AS n
        LEFT JOIN l4._line_shifts(k) AS l ON l.node = n.node
        LEFT JOIN l4._unpack(reports) AS p(place int, ms float8, before_ms float8, spread_ms float8)
            ON p.place = n.place
        WHERE n.lines > 0
    ), middle AS (
        -- of the nodes of which shifts are known: those are measured from their median
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s.first) AS first,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY s.began) AS began,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY s.last) AS last
        FROM shift AS s WHERE s.measured IS NOT NULL OR NOT EXISTS (SELECT FROM shift AS z WHERE z.measured IS NOT NULL)
    ), clock AS (
        SELECT s.node, CASE
            WHEN most_print AND s.iteration_shift IS NOT NULL THEN CASE WHEN abs(s.iteration_shift) >= (k.t).min_clock
                AND s.iteration_spread <= (k.t).clock_spread * abs(s.iteration_shift)
                AND coalesce(s.start_shift, s.first) / s.iteration_shift
                    BETWEEN (k.t).clock_likeness AND 1 / (k.t).clock_likeness THEN s.iteration_shift END
            WHEN NOT most_print AND s.train_shift IS NOT NULL AND s.start_shift IS NOT NULL THEN
                CASE WHEN abs(s.train_shift) >= (k.t).min_line_clock
                    AND s.train_spread <= (k.t).clock_spread * abs(s.train_shift)
                    AND s.start_shift / s.train_shift
                        BETWEEN (k.t).clock_agreement AND 1 / (k.t).clock_agreement THEN s.train_shift END
            WHEN abs(s.first) >= (k.t).min_log_clock
                AND s.began / s.first BETWEEN (k.t).clock_agreement AND 1 / (k.t).clock_agreement
                AND s.last / s.first BETWEEN (k.t).clock_agreement AND 1 / (k.t).clock_agreement
                THEN CASE WHEN abs(s.last) < abs(s.first) THEN s.last ELSE s.first END END AS seconds
        FROM (SELECT z.node, z.start_shift, z.train_shift, z.train_spread, z.iteration_shift, z.iteration_spread,
                z.first - m.first AS first, z.began - m.began AS began, z.last - m.last AS last
            FROM shift AS z CROSS JOIN middle AS m) AS s
    )
    SELECT k.job_id, c.node, c.seconds * interval '1 second' FROM clock AS c WHERE c.seconds IS NOT NULL;
END;
$$;

-- A "succeeded" job that stopped short of the iterations that it was to do (where that is not known, that the others
-- do), and reports a crash that no job which got through reports, was a failure: as a baseline it would hide the very
-- lines that matter. So would a job that crashed and began anew.
--: which of these good jobs look like failures, or crashed and began anew
CREATE FUNCTION l4._doubtful(jobs text[], reached numeric, error_level numeric) RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
    WITH event AS MATERIALIZED (
        SELECT e.event_id, e.example, row_number() OVER ()::int AS place
        FROM l4._event AS e
        WHERE e.merged_into IS NULL AND NOT e.is_stack AND (l4._level(e.level) = 0 OR l4._level(e.level) >= error_level)
            AND e.event_id IN (SELECT x.event_id FROM l4._job_events(jobs) AS x)
    ), crash AS MATERIALIZED (
        SELECT j.job_id, j.event_id, j.first_node, j.first_ts
        FROM l4._marks(ARRAY(SELECT e.example FROM event AS e ORDER BY e.place), '{terminal}') AS m
        JOIN event AS e USING (place) JOIN l4._job_events(jobs) AS j ON j.event_id = e.event_id
    ), done AS MATERIALIZED (
        SELECT n.job_id, coalesce(max(n.last_iteration), 0) AS iteration
        FROM l4._stream AS n WHERE n.job_id = ANY (jobs) GROUP BY n.job_id
    ), short AS MATERIALIZED (
        SELECT d.job_id, d.iteration < coalesce(reached * l4._total_iterations(d.job_id) - 1,
            (SELECT max(o.iteration) FROM done AS o)) AS short
        FROM done AS d WHERE d.job_id IN (SELECT c.job_id FROM crash AS c)
    )
    SELECT coalesce(array_agg(z.job_id ORDER BY z.job_id COLLATE "C"), '{}')
    FROM (
        SELECT DISTINCT ON (x.job_id) x.*
        FROM (SELECT c.job_id, c.first_node, c.first_ts, s.short,
                bool_and(s.short) OVER same OR count(*) OVER same = 1 AS odd
            FROM crash AS c JOIN short AS s USING (job_id) WINDOW same AS (PARTITION BY c.event_id)) AS x
        WHERE x.odd ORDER BY x.job_id, x.first_ts, x.first_node COLLATE "C") AS z
    -- a part of what it had printed is its start-up
    WHERE z.short OR l4._began_anew(z.job_id, z.first_node, z.first_ts, jobs, 0.2) IS NOT NULL);
END;
$$;
