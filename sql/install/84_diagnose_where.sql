-- In which stage and iteration the failure shows.

-- Names of the functions in the first crash reports of a node (of the job: in the first one), outermost first; or of what its lines of code call.
CREATE FUNCTION l4._frames(job_id text, node text, calls bool DEFAULT false) RETURNS TABLE (name text, place bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN calls THEN f.name[1] ELSE regexp_replace(f.name[1], '^.*[.]', '') END, x.event_id::bigint * 100000 + f.place
    FROM (
        SELECT j.event_id, j.example FROM l4._case_event AS e
        JOIN l4._case_count AS c ON c.job_id = e.job_id AND c.event_id = e.event_id
        JOIN l4._job_events(ARRAY[_frames.job_id]) AS j ON j.event_id = e.event_id
        WHERE e.job_id = _frames.job_id AND e.is_new AND e.dropped IS NULL AND NOT e.exit AND (e.terminal OR e.stack)
            AND (_frames.node IS NULL OR c.node = _frames.node
                -- what an attempt to begin anew fails in says little
                AND NOT coalesce(c.first_ts > (SELECT n.terminal_ts FROM l4._case_node AS n WHERE n.job_id = e.job_id AND n.node = c.node) + interval '10 s', false))
        ORDER BY e.stack, e.nodes, c.first_ts, c.first_line_no LIMIT CASE WHEN _frames.node IS NULL THEN 1 ELSE 40 END) AS x
    CROSS JOIN LATERAL regexp_matches(x.example, CASE WHEN calls THEN '([A-Za-z_][A-Za-z0-9_.]*)[(]' ELSE '(?:, in |\mat |\min )([A-Za-z_][A-Za-z0-9_.]*)' END, 'g')
        WITH ORDINALITY AS f(name, place);
END;
COMMENT ON FUNCTION l4._frames(text, text, bool) IS 'functions in the stacks of a node, NULL: in the first of the job; or what their lines of code call';

-- Who is struck in a step trains, whatever lines say; forward steps are done elsewhere as well.
CREATE FUNCTION l4._in_step(job_id text, announced bool) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM l4._frames(_in_step.job_id, NULL) AS f JOIN l4._marker('step') AS r ON l4.pcre_match(f.name, r.signature)
            WHERE announced OR f.name !~* '^_*forward$')
        OR EXISTS (SELECT FROM l4._case AS c
            JOIN l4._case_event AS e ON e.job_id = c.job_id AND e.is_new AND e.dropped IS NULL AND e.terminal AND NOT e.exit AND 2 * e.nodes >= greatest(c.nodes, 2)
            JOIN l4._job_events(ARRAY[_in_step.job_id]) AS j USING (event_id)
            CROSS JOIN LATERAL regexp_matches(j.example, ', in ([A-Za-z_][A-Za-z0-9_]*)', 'g') AS f(name)
            JOIN l4._marker('step') AS r ON l4.pcre_match(f.name[1], r.signature)
            WHERE c.job_id = _in_step.job_id AND f.name[1] !~* '^_*forward$');
END;
COMMENT ON FUNCTION l4._in_step(text, bool) IS 'is the first crash, or one that half of the nodes report, in a function of a training step';

-- Stage of these functions: the one that occurs most often, the outermost on ties.
CREATE FUNCTION l4._frame_stage(job_id text, node text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT r.stage
    FROM l4._frames(_frame_stage.job_id, _frame_stage.node) AS f
    JOIN l4._marker('frame') AS r ON l4.pcre_match(f.name, r.signature)
    GROUP BY r.stage
    ORDER BY count(DISTINCT f.place) DESC, min(f.place % 100000), r.stage
    LIMIT 1;
END;
COMMENT ON FUNCTION l4._frame_stage(text, text) IS 'stage that the functions in the stacks of a node tell, NULL when they tell none';

-- After a line that ends a stage ("checkpoint saved") the next one has begun, although no line says so yet.
CREATE FUNCTION l4._stage_at(job_id text, node text, ts timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(
        CASE WHEN s.last_ts - s.clock < _stage_at.ts THEN (
            SELECT min(e.then_stage) FROM l4.event_count AS c JOIN l4._event AS e USING (event_id)
            WHERE c.job_id = _stage_at.job_id AND c.node = s.node AND e.then_stage IS NOT NULL AND c.last_ts = s.last_ts
                AND (e.then_stage <> 'train' OR EXISTS (SELECT FROM l4._case AS k WHERE k.job_id = c.job_id AND k.symptom <> 'launch'))) END,
        -- others' iterations went on since: what it began there was over, although it does not say so
        CASE WHEN s.stage IN ('eval', 'checkpoint_save') AND EXISTS (
            SELECT FROM l4._case_iteration AS i JOIN l4._case AS k USING (job_id)
            WHERE i.job_id = _stage_at.job_id AND i.done_ts <= coalesce(_stage_at.ts, i.done_ts)
                AND i.done_ts > s.first_ts - s.clock + coalesce(k.median_ms, 0) * interval '0.5 ms') THEN 'train' END,
        s.stage)
    FROM (
        SELECT z.*, n.clock FROM l4.stage_span AS z
        JOIN l4._case_node AS n ON n.job_id = z.job_id AND n.node = z.node
        WHERE z.job_id = _stage_at.job_id AND (z.node = _stage_at.node OR _stage_at.node IS NULL)
            AND (z.first_ts - n.clock <= _stage_at.ts OR _stage_at.ts IS NULL) AND z.stage <> 'shutdown'
            -- a job that did not get to train failed before, whatever was announced
            AND (z.stage NOT IN ('train', 'eval', 'checkpoint_save') OR EXISTS (SELECT FROM l4._case AS c WHERE c.job_id = z.job_id AND c.symptom <> 'launch'))
        ORDER BY z.first_ts - n.clock DESC NULLS LAST, z.first_line_no DESC, z.node
        LIMIT 1) AS s;
END;
COMMENT ON FUNCTION l4._stage_at(text, text, timestamptz) IS 'stage of a node (NULL: of the job) at a time (NULL: at its end)';

-- A job that fails to start in code that no function tells of: what it called there last, such as the class of a dataset, or else the file that it
-- could not read.
CREATE FUNCTION l4._called_stage(job_id text, node text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce((
        SELECT r.stage
        FROM l4._frames(_called_stage.job_id, _called_stage.node, true) AS f
        JOIN l4._marker('call') AS r ON l4.pcre_match(f.name, r.signature)
        ORDER BY f.place DESC, r.stage
        LIMIT 1), (
        SELECT r.stage
        FROM l4._case_event AS e
        JOIN l4._case_count AS c USING (job_id, event_id)
        JOIN l4._job_events(ARRAY[_called_stage.job_id]) AS j USING (event_id)
        JOIN l4._marker('file') AS r ON l4.pcre_match(j.example, r.signature)
        WHERE e.job_id = _called_stage.job_id AND c.node = _called_stage.node AND e.is_new AND e.dropped IS NULL AND e.terminal AND NOT e.exit
        ORDER BY c.first_ts, c.first_line_no, r.stage
        LIMIT 1));
END;
COMMENT ON FUNCTION l4._called_stage(text, text) IS 'stage that the calls in the stacks of a node tell, or the file that it failed to read, NULL when they tell none';

CREATE FUNCTION l4._stage_of_failure(k l4._case, node text) RETURNS text
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE WHEN k.symptom = 'none' THEN NULL WHEN k.symptom = 'slow' THEN 'train'
        ELSE coalesce(l4._frame_stage(k.job_id, _stage_of_failure.node),
            -- a node that never wrote: what the first of the others waited in
            CASE WHEN EXISTS (SELECT FROM l4._case_node AS n WHERE n.job_id = k.job_id AND n.node = _stage_of_failure.node AND n.lines = 0) THEN l4._frame_stage(k.job_id, NULL) END, CASE
            -- iterations tell of the training, also where no line announced it
            WHEN k.symptom <> 'launch' AND s.stage IN ('init', 'data', 'model', 'checkpoint_load')
                AND (EXISTS (SELECT FROM l4._case_node AS n WHERE n.job_id = k.job_id AND (n.in_flight > 0 OR n.last_iteration > 0)) OR l4._in_step(k.job_id, false)) THEN 'train'
            WHEN k.symptom = 'launch' AND s.stage = 'init' THEN coalesce(l4._called_stage(k.job_id, _stage_of_failure.node), s.stage)
            ELSE s.stage END) END
    FROM (SELECT coalesce(l4._stage_at(k.job_id, _stage_of_failure.node, coalesce(
                (SELECT least(n.terminal_ts, k.terminal_ts) FROM l4._case_node AS n WHERE n.job_id = k.job_id AND n.node = _stage_of_failure.node),
                k.terminal_ts)),
            l4._stage_at(k.job_id, NULL, k.terminal_ts), 'init') AS stage) AS s;
END;
COMMENT ON FUNCTION l4._stage_of_failure(l4._case, text) IS 'stage in which the failure shows';

CREATE FUNCTION l4._iteration_of_failure(k l4._case, stage text, node text) RETURNS int
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- wider than the numbers that lines give, which may be the largest there are
    last_done bigint;
    flight bigint;
    prints bool;
    back int;
    step constant bigint := k.step;
    since float8;
BEGIN
    IF k.symptom = 'slow' THEN
        RETURN k.onset_iteration;
    ELSIF k.symptom IN ('none', 'launch') OR stage NOT IN ('train', 'eval', 'checkpoint_save') THEN
        RETURN NULL;
    END IF;
    -- of nodes that print at different rhythms the finest count
    SELECT coalesce(max(n.last_iteration) FILTER (WHERE n.fine AND n.node = _iteration_of_failure.node), min(n.last_iteration) FILTER (WHERE n.fine)), max(n.in_flight),
        coalesce(bool_or(n.last_iteration IS NOT NULL) FILTER (WHERE n.node = _iteration_of_failure.node), false)
    INTO last_done, flight, prints
    FROM (SELECT z.*, 2 * z.iterations >= max(z.iterations) OVER () AS fine FROM l4._case_node AS z WHERE z.job_id = k.job_id) AS n;
    -- nobody tells of iterations here, nor where the job got through
    IF last_done IS NULL AND coalesce(flight, 0) <= 0 AND NOT EXISTS (SELECT FROM l4._stream AS s WHERE s.job_id = ANY (k.baseline) AND s.last_iteration IS NOT NULL)
        AND (cardinality(k.baseline) > 0 OR NOT EXISTS (SELECT FROM l4.stage_span AS s WHERE s.job_id = k.job_id AND s.stage = 'train')) THEN
        RETURN NULL;
    END IF;
    last_done := coalesce(last_done, 0);
    IF stage IN ('eval', 'checkpoint_save') AND step = 1 THEN
        RETURN nullif(last_done, 0);
    END IF;
    IF step > 1 THEN
        -- Lines come every so many iterations: what was said to be in flight, else the time since. Where the next line is overdue, the
        -- job was struck anywhere between; what follows an iteration takes time of its own.
        since := greatest(0, coalesce(extract(epoch FROM least(k.terminal_ts, k.last_ts) - k.progress_ts) * 1000 / nullif(k.median_ms, 0), step));
        RETURN least(2147483647, last_done + CASE WHEN flight BETWEEN last_done + 1 AND last_done + step THEN flight - last_done
            WHEN stage IN ('eval', 'checkpoint_save') THEN greatest(0, floor(least(since, step))::bigint - 1)
            WHEN since >= step THEN (step + 1) / 2
            ELSE 1 + floor(since)::bigint END);
    END IF;
    -- the node does not print what it has done: others may have said how far it got
    IF NOT prints AND flight BETWEEN last_done + 2 AND last_done + 3 THEN
        RETURN flight;
    END IF;
    -- tolerated for a while: warnings on half of the nodes in every iteration up to the end
    SELECT min(i.iteration) INTO back
    FROM l4._case_event AS e
    JOIN l4._case_iteration AS i ON i.job_id = e.job_id AND i.done_ts >= e.first_ts
    WHERE e.job_id = k.job_id AND e.is_new AND e.dropped IS NULL AND NOT e.stack AND NOT e.terminal AND e.level >= 3 AND 2 * e.nodes >= k.nodes
        AND e.last_ts >= (SELECT z.done_ts FROM l4._case_iteration AS z WHERE z.job_id = k.job_id ORDER BY z.place DESC OFFSET 2 LIMIT 1)
        AND e.occurrences >= e.nodes * (last_done - i.iteration + 1);
    RETURN least(2147483647, last_done + 1, CASE WHEN k.symptom = 'crash' THEN back END);
END;
$$;
COMMENT ON FUNCTION l4._iteration_of_failure(l4._case, text, text) IS 'iteration that was in flight when the job was struck';
