-- l4.diagnose(): puts the evidence together, says what happened where and when, and stores it.

-- The pipeline of a diagnosis: each step writes its own tables of the case and adds what it found about the job as a
-- whole.
--: builds the case of a diagnosis
CREATE FUNCTION l4._case_open(k l4._case) RETURNS l4._case
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM l4._case_forget(k.job_id);
    k.left_out := l4._doubtful(k.baseline, (k.t).reached, (k.t).error_level);
    k.baseline := ARRAY(SELECT b.job_id FROM unnest(k.baseline) WITH ORDINALITY AS b(job_id, place)
        WHERE b.job_id <> ALL (k.left_out) ORDER BY b.place);
    k.attempt_ts := l4._began_files(k, k.job_id);
    k.good_since := ARRAY(SELECT l4._began_files(k, b.job_id)
        FROM unnest(k.baseline) WITH ORDINALITY AS b(job_id, place) ORDER BY b.place);
    k.nodes := (SELECT count(DISTINCT s.node) FROM l4._streams(k, k.job_id) AS s);
    PERFORM l4._case_places(k);
    k := l4._case_counter(k);
    PERFORM l4._case_clocks(k);
    SELECT min(n.first_ts), greatest(max(n.last_ts), (k.parameters ->> 'as_of')::timestamptz) INTO k.first_ts, k.last_ts
    FROM l4._nodes(k.job_id) AS n;
    k := l4._case_progress(k);
    IF k.iterations = 0 THEN
        PERFORM l4._case_lacking(k);
    END IF;
    PERFORM l4._case_events(k);
    PERFORM l4._case_kills(k);
    k := l4._case_drop(k);
    PERFORM l4._case_marks(k);
    k := l4._case_symptom(k);
    INSERT INTO l4._case SELECT k.*;
    PERFORM l4._case_edges(k);
    RETURN k;
END;
$$;

--: drops the case and the answer of an earlier diagnosis
CREATE FUNCTION l4._case_forget(job_id text) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    DELETE FROM l4._case AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_place AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_clock AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_progress AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._counted AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_iteration AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_count AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_event AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_dropped AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_mark AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_end AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4._case_edge AS c WHERE c.job_id = _case_forget.job_id;
    DELETE FROM l4.diagnosis AS x WHERE x.job_id = _case_forget.job_id;
    DELETE FROM l4.suspect_event AS x WHERE x.job_id = _case_forget.job_id;
    DELETE FROM l4.suspect_node AS x WHERE x.job_id = _case_forget.job_id;
    DELETE FROM l4.suspect_iteration AS x WHERE x.job_id = _case_forget.job_id;
    DELETE FROM l4.evidence AS x WHERE x.job_id = _case_forget.job_id;
END;

-- Every kind of evidence about every node; one statement each, so that only one at a time takes memory, and none is
-- planned for nothing.
--: all evidence about the nodes of a job that was diagnosed
CREATE FUNCTION l4.node_evidence(job_id text) RETURNS TABLE (node text, kind text, value float8, detail text)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 100000 ROWS 500 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
    IF EXISTS (SELECT FROM l4._edges(job_id)) THEN
        RETURN QUERY SELECT e.node, 'accused', e.value, e.detail FROM l4.evidence_accused(job_id) AS e;
    END IF;
    RETURN QUERY SELECT e.node, 'unique', e.value, e.detail FROM l4.evidence_unique(job_id) AS e;
    RETURN QUERY SELECT e.node, 'exit', e.value, e.detail FROM l4.evidence_exit(job_id) AS e;
    RETURN QUERY SELECT e.node, 'silent', e.value, e.detail FROM l4.evidence_silent(job_id) AS e;
    RETURN QUERY SELECT e.node, 'lag', e.value, e.detail FROM l4.evidence_lag(job_id) AS e;
    IF EXISTS (SELECT FROM l4._claims(job_id) AS c WHERE c.waits IS NOT NULL) THEN
        RETURN QUERY SELECT e.node, 'edge', e.value, e.detail FROM l4.evidence_edge(job_id) AS e;
    END IF;
    RETURN QUERY SELECT e.node, 'drift', e.value, e.detail FROM l4.evidence_drift(job_id) AS e;
    IF EXISTS (SELECT FROM l4._case AS k WHERE k.job_id = node_evidence.job_id AND k.symptom = 'slow') THEN
        RETURN QUERY SELECT e.node, 'step_time', e.value, e.detail FROM l4.evidence_step_time(job_id) AS e;
        RETURN QUERY SELECT e.node, 'late', e.value, e.detail FROM l4.evidence_late(job_id) AS e;
    END IF;
    IF EXISTS (SELECT FROM l4.flow_issue) THEN
        RETURN QUERY SELECT e.node, 'network', e.value, e.detail FROM l4.evidence_network(job_id) AS e;
    END IF;
END;
$$;

--: stores evidence and the nodes worth a look
CREATE FUNCTION l4._rank_nodes(k l4._case, top_k int) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    behind constant text[] := l4._behind_switch(k.job_id);
BEGIN
    INSERT INTO l4.evidence (job_id, node, kind, value, weight, detail)
    SELECT k.job_id, e.node, e.kind,
        e.value * CASE WHEN e.kind IN ('step_time', 'late') AND e.node = ANY (behind) THEN (k.t).victim_weight::float8
            ELSE 1 END,
        (k.parameters -> 'weights' ->> e.kind)::float8, e.detail
    FROM l4.node_evidence(k.job_id) AS e
    WHERE e.value > 0;

    INSERT INTO l4.suspect_node (job_id, rank, node, score, is_suspect, iforest_score, reasons, evidence, events)
    WITH scored AS (
        -- in one order, since sums of floating point depend on it
        SELECT e.node, sum(e.value * e.weight ORDER BY e.kind COLLATE "C") AS score,
            array_agg(e.detail ORDER BY e.value * e.weight DESC, e.kind COLLATE "C") AS reasons,
            jsonb_object_agg(e.kind, jsonb_build_object(
                'value', round(e.value::numeric, 3), 'weight', e.weight::numeric, 'detail', e.detail)) AS evidence
        FROM l4.evidence AS e WHERE e.job_id = k.job_id AND e.weight > 0
        GROUP BY e.node
    ), named AS (
        SELECT a.accused AS node, min(a.first_ts) AS first_ts FROM l4._edges(k.job_id) AS a WHERE a.weight > 0
        GROUP BY a.accused
    ), leader AS (
        -- who speaks for all: when it wrote says less about it than about the others
        SELECT j.first_node AS node
        FROM l4._job_events(ARRAY[k.job_id]) AS j LEFT JOIN l4._claims(k.job_id) AS e USING (event_id)
        WHERE j.nodes = 1 AND e.event_id IS NULL
        GROUP BY j.first_node ORDER BY count(*) DESC FETCH FIRST ROW WITH TIES
    ), ranked AS (
        SELECT n.node, coalesce(s.score, 0) AS score, coalesce(s.reasons, '{}') AS reasons,
            coalesce(s.evidence, '{}') AS evidence, max(s.score) OVER () AS best,
            -- who is behind ends last where all get through
            row_number() OVER (ORDER BY coalesce(s.score, 0) DESC, a.first_ts, n.new_ts, d.node IS NOT NULL,
                CASE WHEN k.symptom = 'none' THEN n.last_ts END DESC NULLS LAST, n.last_ts, n.node COLLATE "C") AS rank
        FROM l4._nodes(k.job_id) AS n LEFT JOIN scored AS s ON s.node = n.node LEFT JOIN named AS a ON a.node = n.node
        LEFT JOIN leader AS d ON d.node = n.node
    )
    SELECT k.job_id, r.rank, r.node, r.score,
        k.symptom <> 'none' AND r.score >= (k.t).suspect_score AND r.score >= (k.t).suspect_share * r.best,
        f.score, r.reasons, r.evidence,
        coalesce((SELECT array_agg(s.event_id ORDER BY s.nodes, s.stack, t.template COLLATE "C")
            FROM l4._shown(k.job_id) AS s JOIN l4._event AS t USING (event_id) WHERE s.node = r.node), '{}')
    FROM ranked AS r
    LEFT JOIN l4.node_forest(k.job_id) AS f USING (node)
    WHERE r.rank <= top_k;
END;
$$;

-- Known, but here and now: an event that few good jobs show, mostly on the top suspect, around its failure.
--: known events that are claimed all the same, and why
CREATE FUNCTION l4._claim_known(k l4._case) RETURNS TABLE (event_id int, reason text)
LANGUAGE sql STABLE ROWS 5
BEGIN ATOMIC
    SELECT e.event_id, 'known, but mostly on ' || s.node
        || CASE WHEN k.symptom = 'slow' THEN ' since the job is slow' ELSE ' around its failure' END
    FROM l4.suspect_node AS s
    JOIN l4._case_count AS c ON c.job_id = s.job_id AND c.node = s.node
    JOIN l4._case_event AS e ON e.job_id = c.job_id AND e.event_id = c.event_id
    LEFT JOIN l4._case_mark AS n ON n.job_id = s.job_id AND n.node = s.node
    CROSS JOIN LATERAL (SELECT coalesce(n.terminal_ts, k.terminal_ts) AS ts) AS f
    WHERE s.job_id = k.job_id AND s.rank = 1 AND s.is_suspect
        AND NOT e.is_new AND e.level >= (k.t).warning_level
        AND e.baseline_jobs <= (k.t).half * cardinality(k.baseline) AND cardinality(k.baseline) > 0
        AND c.occurrences > (k.t).half * e.occurrences
        AND CASE WHEN k.symptom = 'slow' THEN c.occurrences >= (k.t).known_repeats AND c.last_ts > k.onset_ts
            ELSE c.last_ts BETWEEN f.ts - l4._seconds((k.t).known_lead) AND f.ts + l4._seconds((k.t).same_moment) END;
END;

--: stores the events that indicate the failure
CREATE FUNCTION l4._rank_events(k l4._case) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    top constant text := (SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = k.job_id AND s.rank = 1
        AND s.is_suspect);
BEGIN
    INSERT INTO l4.suspect_event (job_id, rank, event_id, score, reasons, nodes, occurrences, first_ts, example_node,
        example_line_no, example_line)
    WITH claim AS (
        SELECT e.*, NULL::text AS known FROM l4._claims(k.job_id) AS e
        UNION ALL
        SELECT e.*, c.reason FROM l4._claim_known(k) AS c
        JOIN l4._case_event AS e ON e.job_id = k.job_id AND e.event_id = c.event_id
    ), named AS (
        SELECT x.event_id, count(DISTINCT a.accuser) AS accusers
        FROM l4._edges(k.job_id) AS a CROSS JOIN LATERAL unnest(a.events) AS x(event_id)
        WHERE a.accused = top GROUP BY x.event_id
    ), on_top AS (
        SELECT c.event_id FROM l4._case_count AS c WHERE c.job_id = k.job_id AND c.node = top
    ), first AS (
        SELECT min(c.first_ts) AS ts FROM claim AS c WHERE NOT c.stack
    ), rated AS (
        SELECT c.*, t.template, n.event_id IS NOT NULL AS names_top, o.event_id IS NOT NULL AS on_top,
            c.first_ts <= f.ts + l4._seconds((k.t).first_moment) AS is_first
        FROM claim AS c
        JOIN l4._event AS t USING (event_id)
        LEFT JOIN named AS n USING (event_id)
        LEFT JOIN on_top AS o USING (event_id)
        CROSS JOIN first AS f
    ), scored AS (
        SELECT r.*, (CASE WHEN r.stack THEN 0 ELSE 1 END + CASE WHEN r.terminal THEN (k.t).weak ELSE 0 END
            + CASE WHEN r.on_top THEN 1.0 / r.nodes ELSE 0 END + CASE WHEN r.names_top THEN (k.t).weak ELSE 0 END
            + CASE WHEN r.is_first THEN (k.t).weak ELSE 0 END
            + CASE WHEN r.level >= (k.t).error_level THEN (k.t).faint ELSE 0 END
            - CASE WHEN r.exit THEN (k.t).weak + (k.t).faint ELSE 0 END
            - CASE WHEN r.known IS NOT NULL THEN (k.t).weak ELSE 0 END)::float8 AS score
        FROM rated AS r
    )
    SELECT k.job_id, row_number() OVER (ORDER BY s.score DESC, s.first_ts, s.template COLLATE "C", s.event_id),
        s.event_id, s.score, array_remove(ARRAY[
            coalesce(s.known, CASE WHEN cardinality(k.baseline) > 0
                THEN 'in none of ' || cardinality(k.baseline) || ' baseline jobs'
                ELSE 'begins with the trouble (no baseline)' END),
            CASE WHEN s.nodes = 1 THEN 'only on ' || coalesce(a.node, j.first_node)
                ELSE 'on ' || s.nodes || ' of ' || k.nodes || ' nodes' END,
            CASE WHEN s.is_first THEN 'first in the job' END,
            CASE WHEN s.names_top THEN 'names ' || top END,
            CASE WHEN s.exit THEN 'reports how a process ended' WHEN s.terminal THEN 'reports a crash' END,
            CASE WHEN s.stack THEN 'part of a stack' WHEN NOT s.exit THEN (l4._origin(j.example)).words END], NULL),
        s.nodes, s.occurrences, s.first_ts, coalesce(a.node, j.first_node), coalesce(a.first_line_no, j.first_line_no),
        coalesce(a.line, j.example)
    FROM scored AS s
    JOIN l4._job_events(ARRAY[k.job_id]) AS j USING (event_id)
    -- the first record may be one of an earlier attempt, on a node that has it no more
    LEFT JOIN LATERAL (
        SELECT c.node, c.first_line_no, l4._fill(s.template, v.slot_values) AS line
        FROM l4._case_count AS c LEFT JOIN l4._values(k.job_id, ARRAY[s.event_id]) AS v ON v.node = c.node
        WHERE k.attempt_ts IS NOT NULL AND c.job_id = k.job_id AND c.event_id = s.event_id
            AND NOT EXISTS (SELECT FROM l4._case_count AS z
                WHERE z.job_id = k.job_id AND z.event_id = s.event_id AND z.node = j.first_node)
        ORDER BY c.first_ts, c.node COLLATE "C" LIMIT 1) AS a ON true;
END;
$$;
