-- Flow steps beside the iterations that logs report.

-- The clocks differ by a constant, and the report comes a while after the step's last record. Of a periodic job many
-- constants fit: candidates are the medians where each report belongs to the k-th step before or behind it, from the
-- last one or the nearest one. Few long steps tell them apart; where none does, the shortest delay is taken.
--: seconds from the end of a flow step to the report of its iteration, clocks included
CREATE FUNCTION l4._flow_delay(flow_job text, reports timestamptz[]) RETURNS float8
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 100000
BEGIN ATOMIC
    WITH job AS (
        SELECT f.period_ms / 1000 AS period FROM l4.flow_job AS f WHERE f.flow_job = _flow_delay.flow_job
    ), moment AS (
        SELECT s.step, extract(epoch FROM s.ended)::float8 AS at, s.ended, NULL::timestamptz AS report
        FROM l4._flow_step AS s WHERE s.flow_job = _flow_delay.flow_job
        UNION ALL
        SELECT NULL, extract(epoch FROM r.report)::float8 + b.base * j.period, NULL, r.report
        FROM job AS j CROSS JOIN unnest(_flow_delay.reports) AS r(report) CROSS JOIN (VALUES (0), (0.5)) AS b(base)
    ), placed AS (
        SELECT m.report, m.at, max(m.step) OVER (ORDER BY m.at, m.step) AS step FROM moment AS m
    ), paired AS (
        SELECT k.k, p.report, extract(epoch FROM p.report - s.ended)::float8 AS delay,
            p.at > extract(epoch FROM p.report)::float8 AS nearest
        FROM placed AS p
        CROSS JOIN generate_series(-20, 20) AS k(k)
        LEFT JOIN l4._flow_step AS s ON s.flow_job = _flow_delay.flow_job AND s.step = p.step + k.k
        WHERE p.report IS NOT NULL
    ), candidate AS (
        SELECT p.k, p.nearest, percentile_cont(0.5) WITHIN GROUP (ORDER BY p.delay) AS delay
        FROM paired AS p GROUP BY p.k, p.nearest
    )
    SELECT c.delay
    FROM candidate AS c JOIN paired AS p USING (k, nearest) CROSS JOIN job AS j
    WHERE c.delay IS NOT NULL
    GROUP BY c.k, c.nearest, c.delay, j.period
    ORDER BY sum(coalesce(least(abs(p.delay - c.delay) / j.period, 0.5), 0.5))
        + 0.1 * abs(c.delay / j.period - 0.25), c.delay
    LIMIT 1;
END;

--: which step seen in network flows is which iteration that the job's log reports, and by how much they lie apart
CREATE FUNCTION l4.flow_iterations(job_id text)
RETURNS TABLE (flow_job text, step int, epoch int, iteration int, ended timestamptz, reported timestamptz,
    delay_ms float8, apart_ms float8)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 100000 ROWS 1000 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    job record;  -- nearly always the only one
BEGIN
    FOR job IN SELECT m.flow_job, f.period_ms / 1000 AS period
        FROM l4.flow_job_match AS m JOIN l4.flow_job AS f USING (flow_job)
        WHERE m.job_id = flow_iterations.job_id AND m.share >= 0.5
        ORDER BY m.flow_job LOOP
        RETURN QUERY
        WITH reported AS MATERIALIZED (
            -- of the nodes' reports the median; an iteration that comes again long after is another one
            SELECT i.epoch, i.iteration, percentile_disc(0.5) WITHIN GROUP (ORDER BY i.ts) AS ts
            FROM (SELECT z.*, count(*) FILTER (WHERE z.again) OVER (PARTITION BY z.epoch, z.iteration ORDER BY z.ts)
                    AS turn
                FROM (SELECT u.*, u.ts - lag(u.ts) OVER (PARTITION BY u.epoch, u.iteration ORDER BY u.ts)
                        > interval '1 minute' AS again
                    FROM (SELECT i.epoch, i.iteration, i.started + coalesce(i.duration_ms, 0) * interval '1 ms' AS ts
                        FROM l4.iteration AS i WHERE i.job_id = flow_iterations.job_id) AS u
                    WHERE u.ts IS NOT NULL) AS z) AS i
            GROUP BY i.epoch, i.iteration, i.turn
        ), delayed AS MATERIALIZED (
            -- a few hundred tell the delay
            SELECT l4._flow_delay(job.flow_job, array_agg(r.ts ORDER BY r.ts)) AS delay
            FROM (SELECT r.ts, row_number() OVER (ORDER BY r.ts) AS n, count(*) OVER () AS total
                FROM reported AS r) AS r
            WHERE r.n % greatest(1, r.total / 300) = 0
        ), moment AS (
            SELECT s.step, s.ended AS at, NULL::int AS epoch, NULL::int AS iteration, NULL::timestamptz AS ts
            FROM l4._flow_step AS s WHERE s.flow_job = job.flow_job
            UNION ALL
            SELECT NULL, r.ts + (job.period / 2 - d.delay) * interval '1 second', r.epoch, r.iteration, r.ts
            FROM delayed AS d CROSS JOIN reported AS r
        ), placed AS (
            SELECT m.epoch, m.iteration, m.ts, max(m.step) OVER (ORDER BY m.at, m.step) AS step FROM moment AS m
        ), matched AS (
            SELECT s.step, p.epoch, p.iteration, s.ended, p.ts, d.delay,
                extract(epoch FROM p.ts - s.ended)::float8 - d.delay AS apart
            FROM placed AS p
            CROSS JOIN delayed AS d
            JOIN l4._flow_step AS s ON s.flow_job = job.flow_job AND s.step = p.step
            WHERE p.ts IS NOT NULL
        )
        SELECT DISTINCT ON (m.step) job.flow_job, m.step, m.epoch, m.iteration, m.ended, m.ts, 1000 * m.delay,
            1000 * m.apart
        FROM matched AS m WHERE abs(m.apart) <= job.period / 2
        ORDER BY m.step, abs(m.apart), m.iteration;
    END LOOP;
END;
$$;
