-- The entry point, and the words.

-- Known effects of other faults of the job go below their causes.
--: matches known faults and ranks events that are effects of others lower
CREATE FUNCTION l4._rank_effects(job_id text, weak float8) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM l4.match_faults(_rank_effects.job_id);
    UPDATE l4.suspect_event AS s SET score = s.score * weak, reasons = s.reasons
        || ('effect of ' || array_to_string(m.causes, ', '))
    FROM (
        SELECT f.event_id, array_agg(DISTINCT c.cause ORDER BY c.cause) AS causes
        FROM l4.fault_match AS f CROSS JOIN LATERAL unnest(f.caused_by) AS c(cause)
        WHERE f.job_id = _rank_effects.job_id
            -- what proves the cause as well is no effect of it
            AND NOT EXISTS (SELECT FROM l4.fault_match AS p
                WHERE p.job_id = f.job_id AND p.event_id = f.event_id AND p.fault_name = c.cause)
        GROUP BY f.event_id) AS m
    WHERE s.job_id = _rank_effects.job_id AND s.event_id = m.event_id;
    IF FOUND THEN
        -- by way of negative numbers, as ranks are unique
        UPDATE l4.suspect_event AS s SET rank = -r.rank
        FROM (
            SELECT z.event_id, row_number() OVER (ORDER BY z.score DESC, z.rank) AS rank
            FROM l4.suspect_event AS z WHERE z.job_id = _rank_effects.job_id) AS r
        WHERE s.job_id = _rank_effects.job_id AND s.event_id = r.event_id;
        UPDATE l4.suspect_event AS s SET rank = -s.rank WHERE s.job_id = _rank_effects.job_id;
    END IF;
END;
$$;

-- A time in UTC, whatever the session's time zone is.
--: a time as ISO 8601 in UTC
CREATE FUNCTION l4._utc(ts timestamptz) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN to_jsonb(ts AT TIME ZONE 'UTC') #>> '{}' || '+00:00';

-- What could not be used, in words.
--: what the diagnosis could not use
CREATE FUNCTION l4._limits(k l4._case) RETURNS text[]
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT array_remove(ARRAY[
        CASE WHEN k.nodes > 0 AND NOT k.timed
            THEN 'lines carry no times: hangs, slowness and who was first cannot be seen' END,
        (SELECT 'clocks are off and were set right: ' || l4._first_few(array_agg(
            n.node || ' by ' || round(n.seconds, CASE WHEN abs(n.seconds) < 10 THEN 1 ELSE 0 END) || ' s'
            ORDER BY abs(n.seconds) DESC, n.node COLLATE "C"))
         FROM (SELECT z.node, extract(epoch FROM z.clock)::numeric AS seconds
            FROM l4._case_clock AS z WHERE z.job_id = k.job_id AND z.clock <> interval '0') AS n),
        'baseline jobs that look like failures were left out: ' || l4._first_few(k.left_out),
        CASE WHEN k.nodes > 0 AND cardinality(k.baseline) = 0
            THEN l4._without_baseline(k.job_id) || ': what is normal is judged by the job''s own past' END,
        (SELECT 'logs end early although the job got through: '
            || l4._first_few(array_agg(z.node ORDER BY z.node COLLATE "C"))
         FROM l4._case_end AS z WHERE z.job_id = k.job_id AND k.ended_well AND NOT z.ended_well),
        (SELECT 'the job began anew: only its last attempt was looked at' || coalesce(', without '
            || l4._first_few(array_agg(z.node ORDER BY z.node COLLATE "C") FILTER (WHERE z.node NOT IN (
                SELECT n.node FROM l4._case_place AS n WHERE n.job_id = k.job_id))), '')
         FROM l4._node AS z WHERE z.job_id = k.job_id AND k.attempt_ts IS NOT NULL HAVING count(*) > 0),
        CASE WHEN (k.counter).uneven
            THEN 'the numbers that count iterations in good jobs do not count up here: no iteration is known' END,
        CASE WHEN (k.counter).event_id IS NOT NULL AND (k.counter).slot IS NULL
            THEN 'lines show that training goes on, but none counts iterations: no iteration is known' END,
        CASE WHEN NOT (k.epochs).exact
            THEN 'how many iterations an epoch has is not known: they are counted within their epoch' END,
        (SELECT 'servers are missing: ' || l4._first_few(array_agg(a.server ORDER BY a.server COLLATE "C"))
         FROM l4._job_absent AS a WHERE a.job_id = k.job_id),
        CASE WHEN k.nodes = 1 THEN 'one node only: nothing to compare it with' END,
        (SELECT sum(j.occurrences) || ' records are like no other and have coarse templates'
         FROM l4._job_event AS j JOIN l4._event AS e USING (event_id) WHERE j.job_id = k.job_id AND e.is_coarse)],
        NULL);
END;

--: what there was to look at, and what was missing
CREATE FUNCTION l4._coverage(k l4._case) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result jsonb;
    expected int := greatest((SELECT count(*) FROM l4._case_place AS n WHERE n.job_id = k.job_id),
        (SELECT j.expected_nodes FROM l4.job AS j WHERE j.job_id = k.job_id));
    silent text[];
    absent constant text[] := ARRAY(SELECT a.server FROM l4._job_absent AS a
        WHERE a.job_id = k.job_id ORDER BY a.server COLLATE "C");
    states text[];
BEGIN
    silent := ARRAY(SELECT n.node FROM l4._case_place AS n
        WHERE n.job_id = k.job_id AND n.lines = 0 ORDER BY n.node COLLATE "C");
    SELECT jsonb_build_object('nodes_expected', expected, 'nodes_seen', k.nodes, 'nodes_silent', to_jsonb(silent),
        'lines', coalesce(sum(n.lines), 0), 'lines_without_head', coalesce(sum(n.unparsed), 0), 'timed', k.timed,
        'first_ts', l4._utc(k.first_ts), 'last_ts', l4._utc(k.last_ts),
        'iterations', k.iterations, 'total_iterations',
        CASE WHEN k.epochs IS NULL OR (k.epochs).epochs IS NOT NULL THEN k.total END,
        'baseline_jobs', cardinality(k.baseline), 'jobs_of_other_settings', cardinality(k.elsewhere),
        'finished', k.finished, 'truncated', NOT k.ended_well AND NOT k.crashed, 'limits', to_jsonb(l4._limits(k)))
    INTO result
    FROM l4._case_place AS n WHERE n.job_id = k.job_id;
    states := array_remove(ARRAY[
        CASE WHEN k.symptom = 'none' AND k.ended_well THEN 'HEALTHY' END,
        CASE WHEN absent <> '{}' OR k.nodes < expected OR NOT k.timed OR k.nodes = 0
            OR NOT k.ended_well AND NOT k.crashed OR k.ended_well AND EXISTS (SELECT FROM l4._case_end AS n
                WHERE n.job_id = k.job_id AND NOT n.ended_well) THEN 'PARTIAL' END,
        CASE WHEN cardinality(k.baseline) = 0 THEN 'NO_BASELINE' END], NULL);
    RETURN result || jsonb_build_object('states', CASE WHEN cardinality(states) = 0 THEN '["OK"]'
        ELSE to_jsonb(states) END) || CASE WHEN absent = '{}' THEN '{}'
            ELSE jsonb_build_object('servers_missing', absent) END;
END;
$$;

-- The message of a job's own first record of an event on a node: the event's example may be of another job.
--: message of an event as a node of a job first had it
CREATE FUNCTION l4._own_message(job_id text, event_id int, node text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
    SELECT coalesce((SELECT l4._fill(t.template, v.slot_values)
        FROM l4._values(_own_message.job_id, ARRAY[t.event_id], ARRAY[_own_message.node]) AS v), t.example)
    FROM l4._event AS t WHERE t.event_id = _own_message.event_id;
END;

--: two or three sentences for a ticket
CREATE FUNCTION l4._summary_text(k l4._case, d l4.diagnosis) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    s l4.suspect_node;
    suspects text;
    e record;
    f l4.fault;
    what text;
    who text;
BEGIN
    SELECT string_agg(x.node, ', ' ORDER BY x.rank) INTO suspects
    FROM l4.suspect_node AS x WHERE x.job_id = k.job_id AND x.is_suspect;
    SELECT * INTO s FROM l4.suspect_node AS x WHERE x.job_id = k.job_id AND x.rank = 1;
    SELECT x.example_node, x.nodes, l4._own_message(k.job_id, x.event_id, x.example_node) AS example INTO e
    FROM l4.suspect_event AS x WHERE x.job_id = k.job_id AND x.rank = 1;
    SELECT y.* INTO f FROM l4.fault_match AS x JOIN l4.fault AS y USING (fault_id)
    WHERE x.job_id = k.job_id AND x.rank = 1 AND x.is_suspect AND NOT x.is_effect;
    what := CASE k.symptom
        WHEN 'none' THEN CASE WHEN k.nodes = 0 THEN format('Job %s has no log lines.', k.job_id)
            WHEN k.ended_well THEN format('Job %s looks healthy: %s, %s, nothing deviates.', k.job_id,
                l4._counted(k.nodes, 'node'), l4._counted(k.iterations, 'iteration'))
            ELSE format('Job %s shows no failure so far: the log ends %s and reports no crash.', k.job_id,
                coalesce('after iteration ' || k.last_iteration, 'before training')) END
        WHEN 'launch' THEN format('Job %s failed to start: it got as far as stage %s.', k.job_id, d.stage)
        WHEN 'crash' THEN format('Job %s crashed in stage %s%s.', k.job_id, d.stage,
            coalesce(' at ' || l4._iteration_words(d), ''))
        WHEN 'hang' THEN CASE WHEN l4._stopped(k) AND coalesce(k.last_ts - k.progress_ts <= l4._patience(k), true)
            THEN format('Job %s stopped in stage %s%s without a word: it hung, %s.', k.job_id, d.stage,
                coalesce(' at ' || l4._iteration_words(d), ''),
                CASE WHEN l4._has_failed(k.job_id)
                    THEN 'or was ended from outside' ELSE 'was ended from outside, or its log is cut' END)
            ELSE format('Job %s hung in stage %s%s: no progress%s.', k.job_id, d.stage,
            coalesce(' at ' || l4._iteration_words(d), ''), coalesce(' for '
                || round(extract(epoch FROM coalesce(k.terminal_ts, k.last_ts) - k.progress_ts)::numeric, 1) || ' s',
                ' until its processes gave up waiting')) END
        ELSE format('Job %s is slow%s: iterations take %s times the normal %s on average.', k.job_id,
            coalesce(' from ' || l4._iteration_words(d) || ' on', ''),
            (SELECT round(avg(i.ratio ORDER BY i.place)::numeric, 1) FROM l4._case_iteration AS i
            WHERE i.job_id = k.job_id AND i.done_ts >= k.onset_ts),
            l4._milliseconds((SELECT max(i.duration_ms / i.ratio) FROM l4._case_iteration AS i
                WHERE i.job_id = k.job_id AND i.ratio > 0))) END;
    who := CASE WHEN k.symptom = 'none' THEN NULL
        WHEN suspects IS NULL AND s.score >= (k.t).mention_score AND cardinality(s.reasons) > 0
            THEN format('No node stands out; first to look at: %s (%s).', s.node,
                l4._in_words(s.reasons[1:1]))
        WHEN suspects IS NULL THEN 'No node stands out.'
        ELSE format('Suspect: %s (%s).', suspects, l4._in_words(s.reasons[1:2])) END;
    RETURN concat_ws(' ', what, who,
        CASE WHEN k.symptom <> 'none' AND e.example IS NOT NULL THEN format('Most telling line, %s: %s.',
            CASE WHEN e.nodes = 1 THEN 'only on ' || e.example_node ELSE 'on ' || e.nodes || ' nodes' END,
            rtrim(left(e.example, 300), ' .')) END,
        -- what is shipped can be looked up; what the team found out is said
        CASE WHEN k.symptom <> 'none' AND f.name IS NOT NULL THEN format('Known fault%s: %s%s. Remedy: %s.',
            ', confirmed in ' || f.source_job, f.name,
            CASE WHEN f.fault_id >= 1000000 THEN format(' (%s)', rtrim(left(f.root_cause, 200), ' .')) END,
            rtrim(f.remedy, ' .'))
            WHEN k.symptom <> 'none' THEN upper(left(d.cause, 1)) || substr(d.cause, 2) || '.' END,
        (SELECT 'Note: ' || string_agg(l.words, '; ' ORDER BY l.place) || '.'
        FROM jsonb_array_elements_text(d.coverage -> 'limits') WITH ORDINALITY AS l(words, place)));
END;
$$;

-- Known faults are matched against what the diagnosis claims, so it is stored before and, with what they say, after.
--: stores a diagnosis with the known faults, cause and summary
CREATE FUNCTION l4._concluded(k l4._case, d l4.diagnosis) RETURNS l4.diagnosis
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    d.job_id := k.job_id;
    d.diagnosed_at := now();
    d.symptom := k.symptom;
    d.baseline := k.baseline;
    d.alternatives := '{}';
    d.summary := '';
    INSERT INTO l4.diagnosis SELECT d.*;
    IF d.status <> 'HEALTHY' THEN
        PERFORM l4._rank_effects(k.job_id, (k.t).weak);
    END IF;
    d := l4._network_cause(k, l4._cause(k, d));
    d.summary := l4._summary_text(k, d);
    DELETE FROM l4.diagnosis AS x WHERE x.job_id = d.job_id;
    INSERT INTO l4.diagnosis SELECT d.*;
    RETURN d;
END;
$$;

--: a diagnosis with its epoch and iteration; stores the iterations that deviate
CREATE FUNCTION l4._find_iteration(k l4._case, d l4.diagnosis, node text, top_k int) RETURNS l4.diagnosis
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    low int;
    high int;
BEGIN
    SELECT f.iteration, f.low, f.high INTO d.iteration, low, high
    FROM l4._iteration_of_failure(k, d.stage, node) AS f;
    PERFORM l4._rank_iterations(k, d.iteration, top_k);
    RETURN l4._count_epochs(k, d, low, high);
END;
$$;

-- Nothing is known of a case's rows while they are made: the planner's guesses of thousands are no reason to compile,
-- and plans for each job's own values are no better than those that are kept.
--: says what happened to a job, where and when, and stores it: see diagnosis, suspect_event, suspect_node,
--: suspect_iteration, evidence
CREATE FUNCTION l4.diagnose(job_id text, baseline text[] DEFAULT NULL, method text DEFAULT 'l4', top_k int DEFAULT 8,
    options jsonb DEFAULT '{}') RETURNS l4.diagnosis
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET random_page_cost = 1 SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    k l4._case;
    d l4.diagnosis;
    top text;
BEGIN
    IF method IS NULL OR method NOT IN ('l4', 'paper') THEN
        RAISE EXCEPTION 'method must be "l4" or "paper"' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF top_k IS NULL OR top_k NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION 'top_k must be between 1 and 100000' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- one diagnosis of a job at a time; lines may come in meanwhile
    PERFORM l4._require_job(diagnose.job_id);
    PERFORM FROM l4.job AS j WHERE j.job_id = diagnose.job_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'job "%" was forgotten by another session', diagnose.job_id USING ERRCODE = 'undefined_object';
    END IF;
    k := l4._case_asked(diagnose.job_id, diagnose.baseline, l4._diagnose_parameters(coalesce(options, '{}')),
        jsonb_build_object('method', method, 'top_k', top_k));
    UPDATE l4.diagnosis AS x SET diagnosed_at = now()
    FROM l4._case AS c
    WHERE x.job_id = diagnose.job_id AND c.job_id = diagnose.job_id AND c.state = k.state
    RETURNING x.* INTO d;
    IF FOUND THEN
        RETURN d;
    END IF;
    DELETE FROM l4.fault_match AS x WHERE x.job_id = diagnose.job_id;
    k := l4._case_open(k);
    d.coverage := l4._coverage(k);
    d.status := d.coverage -> 'states' ->> 0;
    IF method = 'paper' THEN
        PERFORM l4._rank_by_paper(k, top_k);
        PERFORM l4._rank_iterations(k, NULL, top_k);
        top := (SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = k.job_id AND s.rank = 1);
        d.stage := l4._stage_at(k, top,
            (SELECT n.significant_ts FROM l4._case_mark AS n WHERE n.job_id = k.job_id AND n.node = top));
        d.iteration := (SELECT i.iteration FROM l4.suspect_iteration AS i WHERE i.job_id = k.job_id AND i.rank = 1);
    ELSIF d.status = 'HEALTHY' THEN
        PERFORM l4._rank_nodes(k, top_k);
        PERFORM l4._rank_iterations(k, NULL, top_k);
    ELSE
        PERFORM l4._rank_nodes(k, top_k);
        top := (SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = k.job_id AND s.rank = 1 AND s.is_suspect);
        d.stage := l4._stage_of_failure(k, top);
        IF k.symptom IN ('crash', 'hang') AND coalesce(k.last_iteration, 0) <= 0
            AND (SELECT l4._frame_stage(k, top)) IN ('init', 'data', 'model', 'checkpoint_load') THEN
            -- training was announced, but what failed belongs to the start
            k.symptom := 'launch';
            PERFORM l4._drop_startup(k);
        END IF;
        PERFORM l4._rank_events(k);
        d := l4._find_iteration(k, d, top, top_k);
    END IF;
    d.parameters := k.parameters || jsonb_build_object('method', method, 'top_k', top_k);
    RETURN l4._concluded(k, d);
END;
$$;
