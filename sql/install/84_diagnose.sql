-- l4.diagnose(): puts the evidence together, says what happened where and when, and stores it.

CREATE FUNCTION l4.diagnose_defaults() RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{
    "slow_ratio": 3, "slow_excess": 0.5, "hang_seconds": 5, "hang_iterations": 20, "late_seconds": 2,
    "suspect_score": 1, "suspect_share": 0.5, "elsewhere": true, "as_of": null,
    "weights": {"accused": 2, "unique": 2, "exit": 2, "silent": 2, "step_time": 2, "named_slow": 2, "late": 2, "waited_for": 1, "lag": 1, "first": 1, "edge": 1,
        "drift": 8, "forest": 0}
}'::jsonb;
COMMENT ON FUNCTION l4.diagnose_defaults() IS 'thresholds and weights of l4.diagnose(): what its argument options may override';

-- The options given, completed and checked.
CREATE FUNCTION l4._diagnose_parameters(options jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    defaults constant jsonb := l4.diagnose_defaults();
    bad text;
BEGIN
    IF jsonb_typeof(options) <> 'object' OR jsonb_typeof(coalesce(options -> 'weights', '{}')) <> 'object' THEN
        RAISE EXCEPTION 'options and options.weights must be objects' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT min(o.key COLLATE "C") INTO bad
    FROM (SELECT a.key FROM jsonb_object_keys(options) AS a(key) WHERE NOT defaults ? a.key
        UNION ALL SELECT 'weights.' || w.key FROM jsonb_object_keys(coalesce(options -> 'weights', '{}')) AS w(key)
        WHERE NOT defaults -> 'weights' ? w.key) AS o;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION 'unknown option "%"', bad
            USING ERRCODE = 'invalid_parameter_value', HINT = 'l4.diagnose_defaults() has them all.';
    END IF;
    SELECT min(o.key COLLATE "C") INTO bad
    FROM (SELECT a.key, a.value FROM jsonb_each(options) AS a WHERE a.key NOT IN ('weights', 'elsewhere', 'as_of')
        UNION ALL SELECT 'weights.' || w.key, w.value FROM jsonb_each(coalesce(options -> 'weights', '{}')) AS w) AS o
    WHERE CASE WHEN jsonb_typeof(o.value) = 'number' THEN o.value::float8 NOT BETWEEN 0 AND 1000000 ELSE true END;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION 'option "%" must be a number between 0 and 1000000', bad USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF coalesce((options ->> 'slow_ratio')::float8, 1) < 1 THEN
        RAISE EXCEPTION 'option "slow_ratio" must be at least 1' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF jsonb_typeof(coalesce(options -> 'elsewhere', 'true')) <> 'boolean' THEN
        RAISE EXCEPTION 'option "elsewhere" must be true or false' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN defaults || options || jsonb_build_object('weights', defaults -> 'weights' || coalesce(options -> 'weights', '{}'));
END;
$$;
COMMENT ON FUNCTION l4._diagnose_parameters(jsonb) IS 'options of l4.diagnose(), checked and completed by the defaults';

CREATE FUNCTION l4._case_open(job_id text, baseline text[], parameters jsonb) RETURNS l4._case
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    k l4._case;
BEGIN
    DELETE FROM l4._case AS c WHERE c.job_id = _case_open.job_id;
    INSERT INTO l4._case (job_id, parameters, baseline, elsewhere, nodes, timed, first_ts, last_ts)
    SELECT _case_open.job_id, parameters, b.jobs,
        l4._elsewhere(_case_open.job_id, _case_open.baseline, b.jobs, parameters),
        n.nodes, n.first_ts IS NOT NULL, n.first_ts, greatest(n.last_ts, (parameters ->> 'as_of')::timestamptz)
    FROM (SELECT count(*)::int AS nodes, min(z.first_ts) AS first_ts, max(z.last_ts) AS last_ts
        FROM l4._node AS z WHERE z.job_id = _case_open.job_id) AS n
    CROSS JOIN (SELECT l4._baseline(_case_open.job_id, _case_open.baseline) AS jobs) AS b;
    PERFORM l4._case_nodes(_case_open.job_id);
    PERFORM l4._case_clocks(_case_open.job_id);
    PERFORM l4._case_iterations(_case_open.job_id);
    UPDATE l4._case AS c
    SET left_out = d.jobs, baseline = array(SELECT b FROM unnest(c.baseline) AS b WHERE b <> ALL (d.jobs))
    FROM (SELECT l4._doubtful(z.baseline) AS jobs FROM l4._case AS z WHERE z.job_id = _case_open.job_id) AS d
    WHERE c.job_id = _case_open.job_id AND cardinality(d.jobs) > 0;
    PERFORM l4._case_events(_case_open.job_id);
    PERFORM l4._case_drop(_case_open.job_id);
    PERFORM l4._case_symptom(_case_open.job_id);
    PERFORM l4._case_edges(_case_open.job_id);
    SELECT * INTO k FROM l4._case AS c WHERE c.job_id = _case_open.job_id;
    RETURN k;
END;
$$;
COMMENT ON FUNCTION l4._case_open(text, text[], jsonb) IS 'builds the working set of a diagnosis';

-- Every kind of evidence about every node.
CREATE FUNCTION l4.node_evidence(job_id text) RETURNS TABLE (node text, kind text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.node, 'accused', e.value, e.detail FROM l4.evidence_accused(job_id) AS e
    UNION ALL SELECT e.node, 'unique', e.value, e.detail FROM l4.evidence_unique(job_id) AS e
    UNION ALL SELECT e.node, 'exit', e.value, e.detail FROM l4.evidence_exit(job_id) AS e
    UNION ALL SELECT e.node, 'silent', e.value, e.detail FROM l4.evidence_silent(job_id) AS e
    UNION ALL SELECT e.node, 'lag', e.value, e.detail FROM l4.evidence_lag(job_id) AS e
    UNION ALL SELECT e.node, 'first', e.value, e.detail FROM l4.evidence_first(job_id) AS e
    UNION ALL SELECT e.node, 'edge', e.value, e.detail FROM l4.evidence_edge(job_id) AS e
    UNION ALL SELECT e.node, 'forest', e.value, e.detail FROM l4.evidence_forest(job_id) AS e
    UNION ALL SELECT e.node, 'drift', e.value, e.detail FROM l4.evidence_drift(job_id) AS e
    UNION ALL SELECT e.node, 'step_time', e.value, e.detail FROM l4.evidence_step_time(job_id) AS e
    UNION ALL SELECT e.node, 'waited_for', e.value, e.detail FROM l4.evidence_waited_for(job_id) AS e
    UNION ALL SELECT e.node, 'late', e.value, e.detail FROM l4.evidence_late(job_id) AS e
    UNION ALL SELECT e.node, 'named_slow', e.value, e.detail FROM l4.evidence_named_slow(job_id) AS e;
END;
COMMENT ON FUNCTION l4.node_evidence(text) IS 'all evidence about the nodes of a job that was diagnosed';

CREATE FUNCTION l4._rank_nodes(k l4._case, top_k int) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off SET jit = off
AS $$
BEGIN
    INSERT INTO l4.evidence (job_id, node, kind, value, weight, detail)
    SELECT k.job_id, e.node, e.kind, e.value, (k.parameters -> 'weights' ->> e.kind)::float8, e.detail
    FROM l4.node_evidence(k.job_id) AS e
    WHERE e.value > 0;

    INSERT INTO l4.suspect_node (job_id, rank, node, score, is_suspect, iforest_score, reasons, evidence, events)
    WITH scored AS (
        SELECT e.node, sum(e.value * e.weight) AS score,
            array_agg(e.detail ORDER BY e.value * e.weight DESC, e.kind) AS reasons,
            jsonb_object_agg(e.kind, jsonb_build_object('value', round(e.value::numeric, 3), 'weight', e.weight, 'detail', e.detail)) AS evidence
        FROM l4.evidence AS e WHERE e.job_id = k.job_id AND e.weight > 0
        GROUP BY e.node
    ), named AS (
        SELECT a.accused AS node, min(a.first_ts) AS first_ts FROM l4._case_edge AS a WHERE a.job_id = k.job_id GROUP BY a.accused
    ), ranked AS (
        SELECT n.node, coalesce(s.score, 0) AS score, coalesce(s.reasons, '{}') AS reasons, coalesce(s.evidence, '{}') AS evidence,
            row_number() OVER (ORDER BY coalesce(s.score, 0) DESC, a.first_ts, n.new_ts, n.last_ts, n.node COLLATE "C") AS rank,
            max(s.score) OVER () AS best
        FROM l4._case_node AS n LEFT JOIN scored AS s ON s.node = n.node LEFT JOIN named AS a ON a.node = n.node
        WHERE n.job_id = k.job_id
    )
    SELECT k.job_id, r.rank, r.node, r.score,
        k.symptom <> 'none' AND r.score >= (k.parameters ->> 'suspect_score')::float8 AND r.score >= (k.parameters ->> 'suspect_share')::float8 * r.best,
        f.score, r.reasons, r.evidence,
        coalesce((SELECT array_agg(e.event_id ORDER BY e.nodes, e.stack, t.template COLLATE "C")
            FROM l4._case_count AS c JOIN l4._case_event AS e USING (job_id, event_id) JOIN l4._event AS t USING (event_id)
            WHERE c.job_id = k.job_id AND c.node = r.node AND e.is_new AND e.dropped IS NULL), '{}')
    FROM ranked AS r
    LEFT JOIN l4.node_forest(k.job_id) AS f USING (node)
    WHERE r.rank <= top_k;
END;
$$;
COMMENT ON FUNCTION l4._rank_nodes(l4._case, int) IS 'stores evidence and the nodes worth a look';

-- Known and loud, but here and now: an event that few good jobs show, mostly on the top suspect, around its failure.
CREATE FUNCTION l4._claim_known(k l4._case) RETURNS TABLE (event_id int, reason text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT e.event_id, CASE WHEN k.symptom = 'slow' THEN 'known, but mostly on ' || s.node || ' since the job is slow'
        ELSE 'known, but mostly on ' || s.node || ' around its failure' END
    FROM l4.suspect_node AS s
    JOIN l4._case_count AS c ON c.job_id = s.job_id AND c.node = s.node
    JOIN l4._case_event AS e ON e.job_id = c.job_id AND e.event_id = c.event_id
    JOIN l4._case_node AS n ON n.job_id = s.job_id AND n.node = s.node
    WHERE s.job_id = k.job_id AND s.rank = 1 AND s.is_suspect
        AND NOT e.is_new AND e.level >= 3 AND 2 * e.baseline_jobs <= cardinality(k.baseline) AND cardinality(k.baseline) > 0
        AND 2 * c.occurrences > e.occurrences
        AND CASE WHEN k.symptom = 'slow' THEN c.occurrences >= 3 AND c.last_ts > k.onset_ts
            ELSE c.last_ts BETWEEN coalesce(n.terminal_ts, k.terminal_ts) - interval '5 s' AND coalesce(n.terminal_ts, k.terminal_ts) + interval '1 s' END;
END;
$$;
COMMENT ON FUNCTION l4._claim_known(l4._case) IS 'known events that are claimed all the same, and why';

CREATE FUNCTION l4._rank_events(k l4._case) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO l4.suspect_event (job_id, rank, event_id, score, reasons, nodes, occurrences, first_ts, example_node, example_line_no, example_line)
    WITH claim AS (
        SELECT e.*, NULL::text AS known FROM l4._case_event AS e WHERE e.job_id = k.job_id AND e.is_new AND e.dropped IS NULL
        UNION ALL
        SELECT e.*, c.reason FROM l4._claim_known(k) AS c JOIN l4._case_event AS e ON e.job_id = k.job_id AND e.event_id = c.event_id
    ), top AS (
        SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = k.job_id AND s.rank = 1 AND s.is_suspect
    ), first AS (
        SELECT min(c.first_ts) AS ts FROM claim AS c WHERE NOT c.stack
    ), rated AS (
        SELECT c.*, t.template,
            (SELECT count(DISTINCT x.accuser) FROM l4._case_edge AS x WHERE x.job_id = k.job_id AND c.event_id = ANY (x.events)
                AND x.accused = (SELECT top.node FROM top)) AS names_top,
            EXISTS (SELECT FROM l4._case_count AS x JOIN top USING (node) WHERE x.job_id = k.job_id AND x.event_id = c.event_id) AS on_top,
            c.first_ts <= f.ts + interval '10 ms' AS is_first
        FROM claim AS c JOIN l4._event AS t USING (event_id) CROSS JOIN first AS f
    ), scored AS (
        SELECT r.*, CASE WHEN r.stack THEN 0 ELSE 1 END + CASE WHEN r.terminal THEN 0.5 ELSE 0 END + CASE WHEN r.on_top THEN 1.0 / r.nodes ELSE 0 END
            + CASE WHEN r.names_top > 0 THEN 0.5 ELSE 0 END + CASE WHEN r.is_first THEN 0.5 ELSE 0 END + CASE WHEN r.level >= 4 THEN 0.25 ELSE 0 END
            - CASE WHEN r.exit THEN 0.75 ELSE 0 END - CASE WHEN r.known IS NOT NULL THEN 0.5 ELSE 0 END AS score
        FROM rated AS r
    )
    SELECT k.job_id, row_number() OVER (ORDER BY s.score DESC, s.first_ts, s.template COLLATE "C", s.event_id), s.event_id, s.score,
        array_remove(ARRAY[
            coalesce(s.known, CASE WHEN cardinality(k.baseline) > 0 THEN 'in none of ' || cardinality(k.baseline) || ' baseline jobs' ELSE 'begins with the trouble (no baseline)' END),
            CASE WHEN s.nodes = 1 THEN 'only on ' || coalesce(a.node, j.first_node) ELSE 'on ' || s.nodes || ' of ' || k.nodes || ' nodes' END,
            CASE WHEN s.is_first THEN 'first in the job' END,
            CASE WHEN s.names_top > 0 THEN 'names ' || (SELECT top.node FROM top) END,
            CASE WHEN s.exit THEN 'reports how a process ended' WHEN s.terminal THEN 'reports a crash' END,
            CASE WHEN s.stack THEN 'part of a stack' END], NULL),
        s.nodes, s.occurrences, s.first_ts, coalesce(a.node, j.first_node), coalesce(a.first_line_no, j.first_line_no), coalesce(a.line, j.example)
    FROM scored AS s
    JOIN l4._job_events(ARRAY[k.job_id]) AS j USING (event_id)
    -- the first record may be one of an earlier attempt, on a node that has it no more
    LEFT JOIN LATERAL (
        SELECT c.node, c.first_line_no, l4._fill(s.template, v.slot_values) AS line
        FROM l4._case_count AS c LEFT JOIN l4._values(k.job_id, ARRAY[s.event_id]) AS v ON v.node = c.node
        WHERE c.job_id = k.job_id AND c.event_id = s.event_id
        ORDER BY c.first_ts, c.node COLLATE "C" LIMIT 1) AS a
        ON k.attempt_ts IS NOT NULL AND NOT EXISTS (SELECT FROM l4._case_count AS z WHERE z.job_id = k.job_id AND z.event_id = s.event_id AND z.node = j.first_node);
END;
$$;
COMMENT ON FUNCTION l4._rank_events(l4._case) IS 'stores the events that indicate the failure';
