-- In which stage and iteration the failure shows.

-- Stage of the functions in a node's stacks, else of the modules and classes that they are in, the user's first: the
-- one that occurs most often, the outermost on ties.
--: stage that the functions in the stacks of a node tell
CREATE FUNCTION l4._frame_stage(k l4._case, node text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT r.stage
    FROM l4._stack_records(k, _frame_stage.node) AS s
    CROSS JOIN LATERAL (
        SELECT f.stack, f.place, f.owner, f.file, f.function FROM l4._stack_frames(s.record) AS f
        UNION ALL
        -- what is not written in Python has no frame: the innermost line calls it
        SELECT 1, 0, NULL, NULL, c.name[1]
        FROM regexp_matches(s.record, ' File "[^\n]*\n[^\n(]*?([[:alpha:]_]\w*)[(][^\n]*\n(?:[^\n]*[~^] *\n)?'
            '(?![^\n]*(?: File "|[~^] *(?:\n|$)))') AS c(name)) AS f
    CROSS JOIN LATERAL (VALUES (1, 'frame', l4._function(f.function)),
        (CASE WHEN f.owner = 'user' THEN 2 ELSE 3 END, 'module', CASE WHEN f.owner IS NOT NULL THEN concat_ws('.',
            regexp_replace(f.file, '^.*[/\\]|[.][^.]*$', '', 'g'), f.function) END)) AS n(place, kind, name)
    JOIN LATERAL l4._marker(n.kind) AS r ON l4.pcre_match(n.name, r.signature)
    WHERE f.owner IS DISTINCT FROM 'stdlib'
    GROUP BY r.stage, n.place
    ORDER BY n.place, count(DISTINCT (s.event_id, f.stack, f.place)) DESC, max(f.place) DESC, r.stage
    LIMIT 1;
END;

--: stage of a node (NULL: of the job) at a time (NULL: at its end)
CREATE FUNCTION l4._stage_at(k l4._case, node text, ts timestamptz) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
    WITH last AS (
        SELECT z.node, z.stage, z.last_ts, z.last_ts - coalesce(n.clock, '0') AS ended,
            z.first_ts - coalesce(n.clock, '0') AS began
        FROM l4._stages(k) AS z
        LEFT JOIN l4._case_clock AS n ON n.job_id = z.job_id AND n.node = z.node
        WHERE (z.node = _stage_at.node OR _stage_at.node IS NULL) AND z.stage <> 'shutdown'
            AND (z.first_ts - coalesce(n.clock, '0') <= _stage_at.ts OR _stage_at.ts IS NULL)
            -- a job that did not get to train failed before, whatever was announced
            AND (z.stage NOT IN ('train', 'eval', 'checkpoint_save') OR k.symptom <> 'launch')
        ORDER BY z.first_ts - coalesce(n.clock, '0') DESC NULLS LAST, z.first_line_no DESC, z.node COLLATE "C"
        LIMIT 1
    )
    SELECT coalesce(
        -- after a line that ends a stage ("checkpoint saved") the next one has begun, although no line says so yet
        CASE WHEN s.ended < _stage_at.ts THEN (
            SELECT min(e.then_stage) FROM l4.event_count AS c JOIN l4._event AS e USING (event_id)
            WHERE c.job_id = k.job_id AND c.node = s.node AND e.then_stage IS NOT NULL AND c.last_ts = s.last_ts
                AND (e.then_stage <> 'train' OR k.symptom <> 'launch')) END,
        -- others' iterations went on since: what it began there was over, although it does not say so
        CASE WHEN s.stage IN ('eval', 'checkpoint_save') AND EXISTS (
            SELECT FROM l4._case_iteration AS i
            WHERE i.job_id = k.job_id AND i.done_ts <= coalesce(_stage_at.ts, i.done_ts)
                AND i.done_ts > s.began + (k.t).half::float8 * coalesce(k.median_ms, 0) * interval '1 ms')
                    THEN 'train' END,
        s.stage)
    FROM last AS s);
END;
$$;

-- A job that fails to start in code that no function tells of: what it called there last, such as the class of a
-- dataset, or else the file that it could not read.
--: stage that the calls in the stacks of a node tell, or the file that it failed to read, NULL when they tell none
CREATE FUNCTION l4._called_stage(k l4._case, node text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce((
        SELECT r.stage
        FROM l4._stack_records(k, _called_stage.node) AS s
        CROSS JOIN LATERAL regexp_matches(s.record, '([A-Za-z_][A-Za-z0-9_.]*)[(]', 'g')
            WITH ORDINALITY AS f(name, place)
        JOIN l4._marker('call') AS r ON l4.pcre_match(f.name[1], r.signature)
        ORDER BY s.event_id DESC, f.place DESC, r.stage
        LIMIT 1), (
        SELECT r.stage
        FROM l4._shown(k.job_id) AS s
        JOIN l4._claims(k.job_id) AS j USING (event_id)
        JOIN l4._marker('file') AS r ON l4.pcre_match(j.example, r.signature)
        WHERE s.node = _called_stage.node AND s.terminal AND NOT s.exit
        ORDER BY s.first_ts, s.first_line_no, r.stage
        LIMIT 1));
END;

-- The first line of the start-up of good jobs that the node does not print, where it says that a stage was gone
-- through: the node failed in that stage.
--: stage of the line that good jobs print next after the last one of a node, NULL where it tells none
CREATE FUNCTION l4._missed_stage(k l4._case, node text) RETURNS text
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH usual AS MATERIALIZED (
        SELECT s.event_id, s.before FROM l4._start_up(k) AS s WHERE s.share >= (k.t).nearly_all
    ), start AS MATERIALIZED (
        SELECT u.*, u.event_id IN (
            SELECT c.event_id FROM l4._event_counts(k.job_id, ARRAY(SELECT z.event_id FROM usual AS z)) AS c
            WHERE c.node = _missed_stage.node) AS there
        FROM usual AS u
    )
    SELECT (SELECT t.stage FROM l4._event AS t
        WHERE t.event_id = m.event_id AND t.stage IN ('data', 'model', 'checkpoint_load'))
    FROM start AS m
    WHERE NOT m.there AND EXISTS (SELECT FROM start AS z WHERE z.there AND z.before < m.before)
    ORDER BY m.before, m.event_id LIMIT 1;
END;

-- The files that a node's first crash reports name, read as a module with a function that opens it.
--: stage that the files tell which the crash reports of a node name, NULL when they tell none
CREATE FUNCTION l4._path_stage(k l4._case, node text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT r.stage
    FROM l4._shown(k.job_id) AS s
    JOIN l4._claims(k.job_id) AS j USING (event_id)
    -- places of code are none
    CROSS JOIN LATERAL regexp_replace(j.example, 'File "[^"]*"', '', 'g') AS x(text)
    CROSS JOIN LATERAL regexp_matches(x.text, '(?:^|[[:space:]''"(=:,])/([[:alnum:]_.@+/-]+)', 'g') AS p(path)
    JOIN LATERAL l4._marker('module') AS r
        ON l4.pcre_match(replace(p.path[1], '/', '.') || '.open', r.signature)
    WHERE coalesce(s.node = _path_stage.node, true) AND NOT s.exit
        AND p.path[1] !~ '-packages/|[.](?:py|so|js|java|go|rs|cc?|cpp|cu)$'
        AND (s.terminal OR s.level = 0 OR s.level >= (k.t).error_level)
    ORDER BY s.first_ts, s.first_line_no, r.stage LIMIT 1;
END;

-- Lines that a good job prints after every so many reports of iterations end a phase that no line begins: measured
-- values an evaluation, a file a checkpoint. Where such a line is due, the job was in that phase. The first node that
-- reports iterations tells.
--: stage of a phase of good jobs that a job had come to at a time, where no line begins it; NULL: none
CREATE FUNCTION l4._phase_stage(k l4._case, ts timestamptz) RETURNS text
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH job AS (
        SELECT k.job_id, true AS here, k.attempt_ts AS since
        UNION ALL SELECT k.baseline[1], false, k.good_since[1] WHERE cardinality(k.baseline) > 0
    ), one AS MATERIALIZED (
        SELECT j.job_id, j.here, j.since, r.node, array_agg(r.event_id) AS reports
        FROM job AS j CROSS JOIN LATERAL l4._first_reports(k, j.job_id) AS r
        GROUP BY j.job_id, j.here, j.since, r.node
    ), line AS (
        -- first lines of records: none begins behind its line, and of "=" the planner expects next to none
        SELECT o.here, e.event_id, e.line_no, t.ts, e.event_id = ANY (o.reports) AS report
        FROM one AS o
        JOIN l4.event_line AS e ON e.job_id = o.job_id AND e.node = o.node AND e.line_no <= e.record_line_no
        LEFT JOIN l4._case_clock AS n ON n.job_id = o.job_id AND n.node = o.node
        CROSS JOIN LATERAL (SELECT e.ts - coalesce(n.clock, '0') AS ts) AS t
        WHERE coalesce(t.ts >= o.since, true)
            AND (NOT o.here OR coalesce(t.ts <= _phase_stage.ts + l4._seconds((k.t).same_moment), true))
    ), counted AS MATERIALIZED (
        SELECT l.*, count(*) FILTER (WHERE l.report) OVER w AS reports,
            max(l.ts) FILTER (WHERE l.report) OVER w AS report_ts
        FROM line AS l WINDOW w AS (PARTITION BY l.here ORDER BY l.line_no)
    ), report AS MATERIALIZED (
        SELECT c.reports, c.ts, lead(c.ts) OVER (ORDER BY c.reports) AS next_ts
        FROM counted AS c WHERE NOT c.here AND c.report
    ), usual AS MATERIALIZED (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY r.next_ts - r.ts) AS gap FROM report AS r
    ), ended AS (
        -- The phase begins as much later than a report as the next one comes earlier after it. At the end of an epoch
        -- that is not known.
        SELECT p.event_id, percentile_disc(0.5) WITHIN GROUP (ORDER BY p.ts - p.report_ts) AS after,
            CASE WHEN (k.epochs).length IS NULL THEN
                percentile_disc(0.5) WITHIN GROUP (ORDER BY greatest(u.gap - (p.next_ts - p.ts), '0')) END AS begins,
            mode() WITHIN GROUP (ORDER BY p.reports) AS reports
        FROM (SELECT c.event_id, c.ts, c.report_ts, r.next_ts,
                c.reports - lag(c.reports, 1, 0::bigint) OVER (PARTITION BY c.event_id ORDER BY c.line_no) AS reports
            FROM counted AS c LEFT JOIN report AS r USING (reports) WHERE NOT c.here AND NOT c.report) AS p
        CROSS JOIN usual AS u
        WHERE p.reports > 0
        GROUP BY p.event_id
        -- what comes with every report is part of the iteration
        HAVING count(*) >= (k.t).min_pair AND max(p.reports) >= (k.t).min_pair
            AND max(p.reports) = percentile_disc(1 - (k.t).nearly_all::float8) WITHIN GROUP (ORDER BY p.reports)
    ), due AS (
        SELECT e.after, CASE WHEN t.stage IN ('eval', 'checkpoint_save') THEN t.stage
            WHEN t.example ~ '(?:^|[[:space:]''"(=:,])/[^ ]*/' THEN 'checkpoint_save'
            -- also with a decimal comma, which no three digits follow as in thousands
            WHEN t.example ~ '(?<![0-9:.,])[0-9]+(?:[.]|,(?![0-9]{3}(?![0-9])))[0-9]+(?![0-9:.,])' THEN 'eval'
            END AS stage
        FROM ended AS e JOIN l4._event AS t USING (event_id)
        CROSS JOIN (SELECT max(c.reports) AS reports, max(c.report_ts) AS ts FROM counted AS c WHERE c.here) AS h
        WHERE e.reports = h.reports - coalesce((SELECT max(c.reports) FROM counted AS c
                WHERE c.here AND c.event_id = e.event_id), 0)
            AND coalesce(_phase_stage.ts - h.ts >= (k.t).nearly_all::float8 * least(e.begins, e.after)
                OR least(e.begins, e.after) <= l4._seconds((k.t).first_moment), true)
    )
    SELECT d.stage FROM due AS d
    -- a stage that a line begins is known by that
    WHERE d.stage NOT IN (SELECT t.stage FROM counted AS c JOIN l4._event AS t USING (event_id)
        WHERE NOT c.here AND t.stage IS NOT NULL AND t.then_stage IS NULL)
    ORDER BY d.after LIMIT 1;
END;

--: do nearly all nodes of a good job tell that they come to a stage; true where there is no good job
CREATE FUNCTION l4._all_come_to(k l4._case, stage text) RETURNS bool
LANGUAGE sql STABLE
RETURN (SELECT count(DISTINCT s.node) >= (k.t).nearly_all * (SELECT count(*) FROM l4._node AS n
        WHERE n.job_id = k.baseline[1])
    FROM l4.stage_span AS s WHERE s.job_id = k.baseline[1] AND s.stage = _all_come_to.stage);

-- A node that leaves the others in training, for a stage to which nearly all nodes of a good job come: the last
-- checkpoint.
--: did fewer than half of the nodes of a job that hangs come to a stage after their last iteration
CREATE FUNCTION l4._left_for(k l4._case, stage text) RETURNS bool
LANGUAGE sql STABLE
RETURN k.symptom = 'hang' AND k.iterations > 0 AND _left_for.stage IN ('eval', 'checkpoint_save', 'shutdown') AND (
    SELECT count(DISTINCT s.node) < (k.t).half * k.nodes
    FROM l4.stage_span AS s JOIN l4._nodes(k.job_id) AS n USING (node)
    WHERE s.job_id = k.job_id AND s.stage = _left_for.stage
        AND s.first_ts - n.clock >= coalesce(n.progress_ts, k.progress_ts)) AND l4._all_come_to(k, _left_for.stage);

--: stage in which the failure shows
CREATE FUNCTION l4._stage_of_failure(k l4._case, node text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n record;
    stage text;
BEGIN
    IF k.symptom IN ('none', 'slow') THEN
        RETURN CASE WHEN k.symptom = 'slow' THEN 'train' END;
    END IF;
    SELECT z.lines = 0 AS absent, least(z.terminal_ts, k.terminal_ts) AS ts INTO n
    FROM l4._case_node AS z WHERE z.job_id = k.job_id AND z.node = _stage_of_failure.node;
    -- functions without a query around them would keep their plans, up to 5 MB, to the end of the transaction
    stage := (SELECT l4._frame_stage(k, node));
    IF node IS NOT NULL AND (SELECT l4._left_for(k, coalesce(stage, l4._stage_at(k, node, n.ts)))) THEN
        RETURN 'train';
    ELSIF stage IS NULL AND n.absent THEN
        -- a node that never wrote: what the first of the others waited in
        stage := (SELECT l4._frame_stage(k, NULL));
    END IF;
    IF stage IS NOT NULL THEN
        -- a batch that cannot be read is part of the step that wants it
        RETURN CASE WHEN stage IN ('data', 'model', 'checkpoint_load') AND k.symptom <> 'launch' AND k.iterations > 0
            THEN 'train' ELSE stage END;
    END IF;
    stage := l4._stage_at(k, node, coalesce(n.ts, k.terminal_ts));
    IF stage IS NULL THEN
        stage := l4._stage_at(k, NULL, k.terminal_ts);
        -- what the others came to says little of a node that would have told so itself
        stage := CASE WHEN n.absent IS DISTINCT FROM false OR k.symptom <> 'launch' OR k.baseline = '{}'
            OR NOT l4._all_come_to(k, stage) THEN stage END;
    END IF;
    stage := coalesce(stage, 'init');
    -- what is evaluated before the first iteration belongs to the start
    stage := CASE WHEN stage = 'eval' AND k.iterations = 0 THEN 'init' ELSE stage END;
    -- iterations tell of the training, also where no line announced it
    IF k.symptom <> 'launch' AND stage IN ('init', 'data', 'model', 'checkpoint_load')
        AND (EXISTS (SELECT FROM l4._nodes(k.job_id) AS z WHERE z.in_flight > 0 OR z.last_iteration > 0)
            OR l4._in_step(k, false) OR k.iterations = 0 AND l4._started(k)) THEN
        stage := 'train';
    ELSIF k.symptom = 'launch' AND stage = 'init' THEN
        RETURN coalesce(l4._called_stage(k, node), l4._missed_stage(k, node), l4._path_stage(k, node), stage);
    END IF;
    IF stage IN ('train', 'eval') AND k.iterations > 0 THEN
        stage := CASE WHEN (SELECT l4._path_stage(k, node)) LIKE 'checkpoint%' THEN 'checkpoint_save' ELSE stage END;
    END IF;
    IF stage = 'train' AND k.iterations > 0 THEN
        RETURN coalesce(
            -- of a hang the time tells nothing
            CASE WHEN k.symptom = 'crash'
                THEN (SELECT l4._phase_stage(k, coalesce(n.ts, k.terminal_ts, k.last_ts))) END,
            -- nothing is left to train; with epochs nobody says how many there are to be
            CASE WHEN k.symptom = 'crash' AND (k.epochs).length IS NULL
                    AND (SELECT min(z.last_iteration) > k.total - k.step FROM l4._nodes(k.job_id) AS z)
                THEN 'shutdown' END, stage);
    END IF;
    RETURN stage;
END;
$$;

-- The first report of several iterations that is slower is so by the part of its iterations that are slow.
--: iteration from which on a job is slow whose lines come every so many, and the printed steps around it
CREATE FUNCTION l4._slow_from(k l4._case, OUT iteration int, OUT low int, OUT high int)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT (i.iteration::bigint + 1
            - coalesce(ceil(k.step * least(1, (i.ratio - 1) / nullif(o.ratio - 1, 0))), k.step)::bigint)::int,
        -- what the first report of an epoch took is not known
        coalesce((SELECT max(z.iteration) FROM l4._case_iteration AS z
            WHERE z.job_id = i.job_id AND z.place < i.place AND z.ratio IS NOT NULL), i.iteration - k.step), i.iteration
    FROM l4._case_iteration AS i LEFT JOIN l4._case_iteration AS o
        ON o.job_id = i.job_id AND o.place = i.place + 1 AND o.ratio > i.ratio
    WHERE i.job_id = k.job_id AND i.ratio > (k.t).raised_ratio
        AND i.iteration BETWEEN k.onset_iteration::bigint - k.step AND k.onset_iteration
    ORDER BY i.place LIMIT 1;
END;

-- What lies between two printed steps, low and high, cannot be told closer than by the time that passed.
--: iteration since the start that was in flight when the job was struck, and the printed steps around it
CREATE FUNCTION l4._iteration_of_failure(k l4._case, stage text, node text, OUT iteration int, OUT low int,
    OUT high int)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- wider than the numbers that lines give, which may be the largest there are
    last_done bigint;
    flight bigint;
    prints bool;
    usual bigint;
    back int;
    step constant bigint := k.step;
    since float8;
    third constant timestamptz := l4._done_before(k, (k.t).min_iterations);
BEGIN
    IF k.symptom = 'slow' THEN
        iteration := k.onset_iteration;
        IF step > 1 THEN
            SELECT f.iteration, f.low, f.high INTO iteration, low, high FROM l4._slow_from(k) AS f;
        END IF;
        RETURN;
    ELSIF k.symptom IN ('none', 'launch') OR stage NOT IN ('train', 'eval', 'checkpoint_save') THEN
        RETURN;
    END IF;
    -- of nodes that print at different rhythms the finest count
    SELECT coalesce(max(n.last_iteration) FILTER (WHERE n.fine AND n.node = _iteration_of_failure.node),
            min(n.last_iteration) FILTER (WHERE n.fine)), max(n.in_flight),
        coalesce(bool_or(n.last_iteration IS NOT NULL) FILTER (WHERE n.node = _iteration_of_failure.node), false),
        percentile_disc(0.5) WITHIN GROUP (ORDER BY n.last_iteration) FILTER (WHERE n.fine)
    INTO last_done, flight, prints, usual
    FROM (SELECT z.*, z.iterations >= (k.t).half * max(z.iterations) OVER () AS fine
        FROM l4._nodes(k.job_id) AS z) AS n;
    -- nobody tells of iterations here, nor where the job got through
    IF last_done IS NULL AND coalesce(flight, 0) <= 0
        AND ((k.counter).event_id IS NULL OR (k.counter).uneven)
        AND NOT EXISTS (SELECT FROM l4._stream AS s WHERE s.job_id = ANY (k.baseline) AND s.last_iteration IS NOT NULL)
        AND cardinality(k.baseline) > 0 THEN
        RETURN;
    END IF;
    last_done := coalesce(last_done, 0);
    IF stage IN ('eval', 'checkpoint_save') AND step = 1 THEN
        iteration := nullif(last_done, 0);
        RETURN;
    END IF;
    IF step > 1 THEN
        -- Lines come every so many iterations: what was said to be in flight, else the time since. Where the next line
        -- is overdue, the job was struck anywhere between; what follows an iteration takes time of its own. A node that
        -- lacks the line which most nodes have was in that iteration.
        since := greatest(0, coalesce(
            extract(epoch FROM least(k.terminal_ts, k.last_ts) - k.progress_ts) * 1000 / nullif(k.median_ms, 0), step));
        low := last_done;
        high := least(2147483647, last_done + step);
        iteration := least(2147483647, last_done + CASE
            WHEN usual > last_done THEN least(usual - last_done, step)
            WHEN flight BETWEEN last_done + 1 AND last_done + step THEN flight - last_done
            WHEN stage IN ('eval', 'checkpoint_save') THEN greatest(0, floor(least(since, step))::bigint - 1)
            WHEN since >= step THEN (step + 1) / 2
            ELSE 1 + floor(since)::bigint END);
        RETURN;
    END IF;
    -- the node does not print what it has done: others may have said how far it got
    IF NOT prints AND flight > last_done + 1 AND flight <= last_done + (k.t).max_ahead THEN
        iteration := flight;
        RETURN;
    END IF;
    -- tolerated for a while: warnings on half of the nodes in every iteration up to the end
    SELECT min(i.iteration) INTO back
    FROM l4._claims(k.job_id) AS e
    CROSS JOIN LATERAL (SELECT min(z.iteration) AS iteration FROM l4._case_iteration AS z
        WHERE z.job_id = k.job_id AND z.done_ts >= e.first_ts) AS i
    WHERE NOT e.stack AND NOT e.terminal AND e.level >= (k.t).warning_level AND e.nodes >= (k.t).half * k.nodes
        AND e.last_ts >= third
        AND e.occurrences >= e.nodes * (last_done - i.iteration + 1);
    iteration := least(2147483647, last_done + 1, CASE WHEN k.symptom = 'crash' THEN back END);
END;
$$;
