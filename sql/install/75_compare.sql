-- Cross-job comparison: which events of a job are new, more, fewer or gone against jobs that went well.

--: the ingested jobs among those given, else the latest succeeded jobs with the settings of the job
CREATE FUNCTION l4._baseline(job_id text, baseline text[], at_most int DEFAULT 50) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN _baseline.baseline IS NOT NULL THEN (
        SELECT coalesce(array_agg(DISTINCT b.job_id COLLATE "C" ORDER BY b.job_id COLLATE "C"), '{}')
        FROM unnest(_baseline.baseline) AS b(job_id)
        WHERE b.job_id <> _baseline.job_id
            AND EXISTS (SELECT FROM l4._job_event AS e WHERE e.job_id = b.job_id))
    ELSE (
        SELECT coalesce(array_agg(g.job_id ORDER BY g.job_id COLLATE "C"), '{}')
        FROM (
            SELECT g.job_id
            FROM l4.job AS j
            JOIN l4.job AS g ON g.settings = j.settings
            WHERE j.job_id = _baseline.job_id
                AND g.job_id <> j.job_id
                AND g.status = 'succeeded'
                AND EXISTS (SELECT FROM l4._job_event AS e WHERE e.job_id = g.job_id)
            ORDER BY g.ended_at DESC NULLS LAST, g.job_id COLLATE "C" DESC
            LIMIT at_most) AS g)
    END;
END;

-- Settings are free text: of a mistyped one there is no other job, and nobody sees why.
--: that a job has no baseline, and why: no settings, or settings that are near to those of jobs that succeeded
CREATE FUNCTION l4._without_baseline(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN j.settings IS NULL THEN 'no baseline job, as the settings of the job are not set'
        WHEN n.near IS NOT NULL
            THEN format('no baseline job has the settings "%s" (did you mean "%s"?)', j.settings, n.near)
        ELSE 'no baseline job' END
    FROM l4.job AS j
    CROSS JOIN LATERAL (SELECT CASE WHEN cardinality(l4._baseline(j.job_id, NULL)) = 0 THEN l4._near_name(j.settings,
        ARRAY(SELECT DISTINCT o.settings FROM l4.job AS o WHERE o.settings <> j.settings AND o.status = 'succeeded'))
        END) AS n(near)
    WHERE j.job_id = _without_baseline.job_id;
END;

--: roll-up of jobs by surviving event
CREATE FUNCTION l4._job_events(job_ids text[])
RETURNS TABLE (job_id text, event_id int, occurrences bigint, nodes int, first_ts timestamptz, last_ts timestamptz,
    first_node text, first_source text, first_line_no bigint, example text)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT DISTINCT ON (e.survivor, j.job_id) j.job_id, e.survivor, (sum(j.occurrences) OVER same)::bigint,
        max(j.nodes) OVER same, min(j.first_ts) OVER same, max(j.last_ts) OVER same,
        j.first_node, j.first_source, j.first_line_no, j.example
    FROM l4._job_event AS j
    JOIN (SELECT x.event_id, l4._survivor(x.event_id, x.merged_into) AS survivor FROM l4._event AS x) AS e
        USING (event_id)
    WHERE j.job_id = ANY (_job_events.job_ids)
    WINDOW same AS (PARTITION BY e.survivor, j.job_id)
    ORDER BY e.survivor, j.job_id, j.first_ts, j.first_node, j.first_line_no;
END
$$;

--: events of a job against those of its baseline: new, more, fewer, gone or same
CREATE FUNCTION l4.compare(job_id text, baseline text[] DEFAULT NULL, min_lift float8 DEFAULT 2, sigma float8 DEFAULT 3)
RETURNS TABLE (event_id int, template text, occurrences bigint, share float8, baseline_occurrences bigint,
    baseline_share float8,
    lift float8, verdict text)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 300 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    jobs text[];
BEGIN
    IF compare.job_id IS NULL OR NOT EXISTS (SELECT FROM l4._job_event AS e WHERE e.job_id = compare.job_id) THEN
        RAISE EXCEPTION 'job "%" has no events', compare.job_id
            USING ERRCODE = 'undefined_object', HINT = 'Ingest its lines first: CALL l4.ingest(...).';
    END IF;
    IF min_lift IS NULL OR NOT min_lift > 1 OR min_lift > 1000 THEN
        RAISE EXCEPTION 'min_lift must be above 1 and at most 1000' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF sigma IS NULL OR NOT sigma >= 0 OR sigma > 100 THEN
        RAISE EXCEPTION 'sigma must be between 0 and 100' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    jobs := l4._baseline(compare.job_id, compare.baseline);
    RETURN QUERY
    WITH here AS (
        SELECT e.event_id, e.occurrences FROM l4._job_events(ARRAY[compare.job_id]) AS e
    ), there AS (
        SELECT e.event_id, sum(e.occurrences)::bigint AS occurrences, count(*) AS jobs
        FROM l4._job_events(jobs) AS e GROUP BY e.event_id
    ), size AS (
        -- Two measures of how much a job has printed: records, and nodes. Start-up events grow with the second alone.
        SELECT (SELECT sum(h.occurrences) FROM here AS h)::float8 AS records,
            (SELECT sum(t.occurrences) FROM there AS t)::float8 AS baseline_records,
            (SELECT count(*) FROM l4._node AS n WHERE n.job_id = compare.job_id)::float8 AS nodes,
            (SELECT count(*) FROM l4._node AS n WHERE n.job_id = ANY (jobs))::float8 AS baseline_nodes
    ), rated AS (
        SELECT coalesce(h.event_id, t.event_id) AS event_id, coalesce(h.occurrences, 0) AS occurrences,
            coalesce(t.occurrences, 0) AS baseline_occurrences, coalesce(t.jobs, 0) AS baseline_jobs,
            s.records, s.baseline_records,
            s.records / nullif(s.baseline_records, 0) AS by_records, s.nodes / nullif(s.baseline_nodes, 0) AS by_nodes
        FROM here AS h FULL JOIN there AS t USING (event_id) CROSS JOIN size AS s
    ), expected AS (
        -- Of the two measures the one that explains the count best; one is added to both sides.
        SELECT r.*, CASE WHEN abs(ln((r.occurrences + 1) / (r.baseline_occurrences * r.by_records + 1)))
                <= abs(ln((r.occurrences + 1) / (r.baseline_occurrences * r.by_nodes + 1)))
            THEN r.baseline_occurrences * r.by_records ELSE r.baseline_occurrences * r.by_nodes END AS expectation
        FROM rated AS r
    )
    SELECT x.event_id, e.template, x.occurrences, x.occurrences / x.records, x.baseline_occurrences,
        x.baseline_occurrences / x.baseline_records,
        CASE WHEN cardinality(jobs) > 0 THEN (x.occurrences + 1) / (x.expectation + 1) END,
        CASE WHEN cardinality(jobs) = 0 THEN 'new'
            WHEN x.baseline_occurrences = 0 THEN 'new'
            WHEN x.occurrences = 0 AND x.baseline_jobs = cardinality(jobs) THEN 'gone'
            WHEN abs(x.occurrences - x.expectation) <= sigma * sqrt(x.expectation + 1) THEN 'same'
            WHEN (x.occurrences + 1) / (x.expectation + 1) >= min_lift THEN 'more'
            WHEN (x.occurrences + 1) / (x.expectation + 1) <= 1 / min_lift THEN 'fewer'
            ELSE 'same' END
    FROM expected AS x
    JOIN l4._event AS e USING (event_id)
    ORDER BY CASE WHEN x.baseline_occurrences = 0 THEN 0 ELSE 1 END,
        abs(ln((x.occurrences + 1) / (coalesce(x.expectation, 0) + 1))) DESC, e.template COLLATE "C", x.event_id;
END;
$$;
