-- The memory: try a pattern on past jobs, confirm a diagnosis as a fault, merge duplicates.

CREATE FUNCTION l4._hit_events(job_id text) RETURNS int[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN ARRAY(
    SELECT DISTINCT l4._survivor(e.event_id, e.merged_into)
    FROM l4._fault_hit AS h JOIN l4._event AS e ON e.event_id = h.event_id
    WHERE h.job_id = _hit_events.job_id AND h.n > -2);
COMMENT ON FUNCTION l4._hit_events(text) IS 'events of a job in which signatures were found when it was last matched';

CREATE FUNCTION l4.test_fault(signature l4.pcre DEFAULT NULL, templates text[] DEFAULT NULL,
    job_ids text[] DEFAULT NULL, conditions jsonb DEFAULT NULL)
RETURNS TABLE (job_id text, status text, node text, line_no bigint, line text, occurrences bigint, captures jsonb,
    gave_up bool)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    steps constant l4.fault_condition[] := ARRAY(SELECT c FROM l4._read_conditions(test_fault.conditions, 0) AS c);
    fit int[];          -- events that a template fits, whatever job has them
    unclear int[];      -- or may fit: given up at a limit
    j record;
BEGIN
    SELECT array_agg(e.event_id) FILTER (WHERE NOT e.gave_up), array_agg(e.event_id) FILTER (WHERE e.gave_up)
    INTO fit, unclear FROM l4._template_events(templates, l4._template_patterns(templates)) AS e;
    FOR j IN
        SELECT t.job_id, t.status FROM l4.job AS t
        WHERE job_ids IS NULL OR t.job_id = ANY (job_ids) ORDER BY t.job_id
    LOOP
        RETURN QUERY
        SELECT j.job_id, j.status, r.* FROM (
            SELECT DISTINCT ON (l.event_id) l.node, l.line_no, split_part(l.line, E'\n', 1), l.occurrences,
                l4.pcre_captures(l.line, test_fault.signature), m.yes IS NULL
            FROM l4._fault_lines(j.job_id) AS l
            CROSS JOIN LATERAL (SELECT l4.pcre_match(l.line, test_fault.signature) AS yes) AS s
            CROSS JOIN LATERAL (SELECT CASE WHEN s.yes OR l.event_id = ANY (fit) THEN true
                WHEN l.event_id = ANY (unclear) OR s.yes IS NULL AND test_fault.signature IS NOT NULL THEN NULL
                ELSE false END AS yes) AS m
            WHERE num_nonnulls(test_fault.signature, templates) > 0 AND m.yes IS NOT FALSE
            ORDER BY l.event_id, m.yes IS NULL, s.yes IS NOT TRUE, l.is_record, l.line_no) AS r(node, line_no)
        ORDER BY r.node, r.line_no;
        -- a statement of its own: together with the one above it would be planned anew for every job
        IF steps <> '{}' THEN
            RETURN QUERY
            SELECT j.job_id, j.status, c.node, c.line_no, split_part(c.line, E'\n', 1), c.occurrences, c.captures,
                c.gave_up
            FROM l4._fault_combinations(j.job_id, l4._hit_events(j.job_id), steps) AS c
            ORDER BY c.node, c.line_no;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION l4.test_fault(l4.pcre, text[], text[], jsonb)
    IS 'what a signature or templates would match in the jobs that l4 knows, one line an event, or in which of them '
       'conditions would hold; nothing is stored';

-- Only what is reached is looked up, name by name: a fault file has many rows to check.
CREATE FUNCTION l4._check_leads_to(name text, leads_to text[]) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE reach(effect, step) AS (
        SELECT u.effect, 1 FROM unnest(_check_leads_to.leads_to) AS u(effect)
        UNION
        SELECT t.effect, r.step + 1
        FROM reach AS r
        CROSS JOIN LATERAL (
            SELECT f.leads_to FROM l4.fault AS f
            WHERE f.name = r.effect
              AND NOT EXISTS (SELECT FROM l4.disabled_rule AS d WHERE d.kind = 'fault' AND d.name = r.effect)
            ORDER BY array_position(ARRAY['user', 'confirmed', 'imported', 'builtin'], f.origin) LIMIT 1) AS f
        CROSS JOIN LATERAL unnest(f.leads_to) AS t(effect)
        WHERE r.effect <> _check_leads_to.name AND r.step < 30
    ), unknown AS (
        SELECT min(u.effect) AS effect FROM unnest(_check_leads_to.leads_to) AS u(effect)
        WHERE NOT EXISTS (SELECT FROM l4.fault AS f WHERE f.name = u.effect)
    )
    SELECT CASE
        WHEN u.effect IS NOT NULL THEN format('leads_to names a fault that does not exist: "%s"', u.effect)
        WHEN EXISTS (SELECT FROM reach AS r WHERE r.effect = _check_leads_to.name)
        THEN format('leads_to makes a cycle: "%s" leads back to "%s"', coalesce((
                SELECT min(e.name) FROM l4._fault_effects(_check_leads_to.leads_to) AS e
                WHERE e.effect = _check_leads_to.name), _check_leads_to.name), _check_leads_to.name) END
    FROM unknown AS u;
END;
COMMENT ON FUNCTION l4._check_leads_to(text, text[]) IS 'what is wrong with leads_to of a fault; NULL = nothing';

CREATE FUNCTION l4._healthy_jobs(job_id text) RETURNS text[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN ARRAY(
    SELECT j.job_id
    FROM l4.job AS j
    WHERE j.job_id <> _healthy_jobs.job_id
      AND (j.status = 'succeeded' OR j.job_id = ANY (
        (SELECT d.baseline FROM l4.diagnosis AS d WHERE d.job_id = _healthy_jobs.job_id)::text[])));
COMMENT ON FUNCTION l4._healthy_jobs(text) IS 'successful jobs and the baseline of the diagnosis of a job';

CREATE FUNCTION l4._healthy_matches(job_id text, signature l4.pcre, templates text[])
RETURNS TABLE (healthy_job text, node text, line_no bigint, line text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT t.job_id, t.node, t.line_no, t.line
    FROM l4.test_fault(signature, templates, l4._healthy_jobs(_healthy_matches.job_id)) AS t
    ORDER BY t.job_id, t.node, t.line_no LIMIT 10;
END;
COMMENT ON FUNCTION l4._healthy_matches(text, l4.pcre, text[])
    IS 'what a pattern matches in successful jobs and in the baseline of a diagnosis, up to ten lines';

-- The job itself must show what it is confirmed to show, and no healthy job may.
CREATE FUNCTION l4._check_pattern(job_id text, name text, signature l4.pcre, templates text[]) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    proof text;
    problem text;
BEGIN
    SELECT t.line INTO proof
    FROM l4.test_fault(_check_pattern.signature, templates, ARRAY[_check_pattern.job_id]) AS t
    WHERE NOT t.gave_up ORDER BY _check_pattern.signature IS NOT NULL AND t.captures IS NULL, t.line_no LIMIT 1;
    IF proof IS NULL THEN
        RAISE EXCEPTION 'the pattern matches no line of job "%"', _check_pattern.job_id
            USING ERRCODE = 'invalid_parameter_value', HINT = 'l4.test_fault() shows what a pattern matches.';
    END IF;
    SELECT string_agg(format('job %s, node %s, line %s: %s', t.healthy_job, t.node, t.line_no, left(t.line, 200)),
        E'\n') INTO problem
    FROM l4._healthy_matches(_check_pattern.job_id, _check_pattern.signature, templates) AS t;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION 'the pattern of fault "%" would match healthy jobs', _check_pattern.name
            USING ERRCODE = 'check_violation', DETAIL = problem, HINT = 'Give a narrower signature, or other events.';
    END IF;
    RETURN CASE WHEN l4.pcre_match(proof, signature) THEN proof END;
END
$$;
COMMENT ON FUNCTION l4._check_pattern(text, text, l4.pcre, text[])
    IS 'the line of the job that a pattern matches; raises when there is none, or one in a healthy job';

CREATE FUNCTION l4._insert_confirmed(f l4.fault) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    id int;
    other text;     -- origin of the fault of this name that counts beside it
    problem text;
BEGIN
    INSERT INTO l4.fault (name, category, component, signature, templates, root_cause, remedy, leads_to, severity,
        example, source_url, origin, source_job, confirmed_by, confirmed_at, priority, is_effect, combined)
    VALUES (f.name, f.category, f.component, f.signature, f.templates, f.root_cause, f.remedy, f.leads_to, f.severity,
        f.example, f.source_url, 'confirmed', f.source_job, session_user, now(), f.priority, f.is_effect, f.combined)
    ON CONFLICT ON CONSTRAINT fault_origin_name_key DO NOTHING
    RETURNING fault_id INTO id;
    IF id IS NULL THEN
        RAISE EXCEPTION 'fault "%" was confirmed before', f.name
            USING ERRCODE = 'unique_violation',
                HINT = 'Choose another name; l4.merge_faults() joins two faults that are the same.';
    END IF;
    other := (SELECT o.origin FROM l4.fault o WHERE o.name = f.name AND o.origin <> 'confirmed'
              ORDER BY array_position(ARRAY['user', 'imported', 'builtin'], o.origin) LIMIT 1);
    problem := CASE
        WHEN EXISTS (SELECT FROM l4.disabled_rule d WHERE d.kind = 'fault' AND d.name = f.name)
            THEN 'is switched off by l4.disabled_rule'
        WHEN other = 'user' THEN 'is hidden by the user fault of this name'
        ELSE 'replaces the ' || other || ' fault of this name' END;
    IF problem IS NOT NULL THEN
        RAISE NOTICE 'fault "%" %', f.name, problem USING HINT = 'l4.active_fault has the faults that are matched.';
    END IF;
    RETURN id;
END
$$;
COMMENT ON FUNCTION l4._insert_confirmed(l4.fault) IS 'stores a confirmed fault';

CREATE FUNCTION l4._holds_only_here(job_id text, conditions l4.fault_condition[]) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM l4._fault_combinations(job_id, l4._hit_events(job_id), conditions) AS c WHERE NOT c.gave_up)
    AND NOT EXISTS (SELECT FROM unnest(l4._healthy_jobs(job_id)) AS h(id)
                    CROSS JOIN LATERAL l4._fault_combinations(h.id, l4._hit_events(h.id), conditions));
COMMENT ON FUNCTION l4._holds_only_here(text, l4.fault_condition[])
    IS 'do conditions hold in a job, and in no healthy one';

-- What the known faults of the job say stands in for what the caller left out; before a match, what ingest found in
-- the events.
CREATE FUNCTION l4._usual_class(job_id text, events int[], INOUT category text, INOUT component text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known record;
BEGIN
    SELECT f.category, f.component INTO known
    FROM l4._fault_hit h JOIN l4.fault f ON f.fault_id = h.fault_id
    WHERE h.job_id = _usual_class.job_id AND h.event_id = ANY (events) AND NOT h.gave_up
    ORDER BY f.is_effect, f.priority DESC, f.fault_id LIMIT 1;
    category := coalesce(_usual_class.category, (
        SELECT f.category FROM l4.fault_match m JOIN l4.fault f ON f.fault_id = m.fault_id
        WHERE m.job_id = _usual_class.job_id
        ORDER BY m.event_id = ANY (events) DESC NULLS LAST, m.rank LIMIT 1), known.category, 'user');
    component := coalesce(_usual_class.component, (
        SELECT f.component FROM l4.fault_match m JOIN l4.fault f ON f.fault_id = m.fault_id
        WHERE m.job_id = _usual_class.job_id AND f.category = _usual_class.category
        ORDER BY m.event_id = ANY (events) DESC NULLS LAST, m.rank LIMIT 1),
        CASE WHEN known.category = _usual_class.category THEN known.component END,
        CASE category WHEN 'hardware' THEN 'node' WHEN 'framework' THEN 'framework'
            WHEN 'platform' THEN 'platform_config' ELSE 'program' END);
END
$$;
COMMENT ON FUNCTION l4._usual_class(text, int[], text, text)
    IS 'category and component of a fault that is confirmed, where not given';

-- The same pattern again: no second fault.
CREATE FUNCTION l4._add_templates(name text, signature l4.pcre, templates text[]) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    old record;
BEGIN
    SELECT f.fault_id, f.name INTO old FROM l4.fault f
    WHERE f.origin <> 'builtin' AND f.name <> _add_templates.name
      AND f.signature OPERATOR(l4.=) _add_templates.signature ORDER BY f.fault_id LIMIT 1;
    IF FOUND THEN
        UPDATE l4.fault f
        SET templates = (SELECT array_agg(DISTINCT t.template ORDER BY t.template)
                         FROM unnest(f.templates || _add_templates.templates) AS t(template))
        WHERE f.fault_id = old.fault_id;
        RAISE NOTICE 'fault "%" has this signature already', old.name
            USING DETAIL = 'The templates were added to it; no second fault was made.';
    END IF;
    RETURN old.fault_id;
END
$$;
COMMENT ON FUNCTION l4._add_templates(text, l4.pcre, text[])
    IS 'adds templates to an own fault that has a signature; NULL = there is none';

CREATE FUNCTION l4._check_confirmed(job_id text, name text, root_cause text, remedy text, events int[], leads_to text[])
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    problem text;
BEGIN
    PERFORM l4._require_job(_check_confirmed.job_id);
    SELECT a.name INTO problem
    FROM (VALUES ('name', _check_confirmed.name), ('root_cause', root_cause), ('remedy', remedy)) AS a(name, value)
    WHERE a.value IS NULL OR a.value !~ '[^[:space:]]' LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '% of a fault must not be empty', problem
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Say what the next one who meets it must know.';
    END IF;
    IF events = '{}' THEN
        RAISE EXCEPTION 'no event to make a pattern of'
            USING ERRCODE = 'invalid_parameter_value',
                HINT = 'Leave events out, or give some of l4.suspect_event or l4.event_count.';
    END IF;
    SELECT coalesce(e.id::text, 'NULL') INTO problem FROM unnest(events) AS e(id)
    WHERE NOT EXISTS (SELECT FROM l4._fault_lines(_check_confirmed.job_id) AS l WHERE l.event_id = e.id)
    ORDER BY e.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'job "%" has no event %', _check_confirmed.job_id, problem
            USING ERRCODE = 'undefined_object', HINT = 'l4.suspect_event and l4.event_count list the events of a job.';
    END IF;
    problem := l4._check_leads_to(_check_confirmed.name, leads_to);
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION 'invalid leads_to of fault "%"', _check_confirmed.name
            USING ERRCODE = 'invalid_parameter_value', DETAIL = problem || '.';
    END IF;
END
$$;
COMMENT ON FUNCTION l4._check_confirmed(text, text, text, text, int[], text[])
    IS 'raises what is wrong with the arguments of confirm_fault()';

-- The form must hold in the job and in no healthy one.
CREATE FUNCTION l4._confirmed_form(job_id text, events int[], signature l4.pcre, OUT form l4.fault_condition[],
    OUT known text)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    form := ARRAY(SELECT h FROM l4._known_form(_confirmed_form.job_id) AS h ORDER BY h.step);
    IF l4._holds_only_here(_confirmed_form.job_id, form) THEN
        known := (SELECT m.fault_name FROM l4.fault_match m WHERE m.job_id = _confirmed_form.job_id AND m.rank = 1);
        RETURN;
    END IF;
    form := ARRAY(SELECT h FROM l4._hang_form(_confirmed_form.job_id, events, signature) AS h ORDER BY h.step);
    IF NOT l4._holds_only_here(_confirmed_form.job_id, form) THEN
        form := '{}';
    END IF;
END
$$;
COMMENT ON FUNCTION l4._confirmed_form(text, int[], l4.pcre)
    IS 'conditions to confirm a diagnosis by, and the known fault that they are of; empty when lines say more';

CREATE FUNCTION l4.confirm_fault(job_id text, name text, root_cause text, remedy text, category text DEFAULT NULL,
    component text DEFAULT NULL, severity text DEFAULT NULL, signature l4.pcre DEFAULT NULL,
    templates text[] DEFAULT NULL, leads_to text[] DEFAULT '{}', events int[] DEFAULT NULL,
    source_url text DEFAULT NULL, is_effect bool DEFAULT false)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    chosen int[] := events;
    form l4.fault_condition[] := '{}';
    known text;     -- the fault whose form it has
    f l4.fault;
    id int;
BEGIN
    PERFORM l4._check_confirmed(confirm_fault.job_id, confirm_fault.name, root_cause, remedy, events, leads_to);
    IF chosen IS NULL AND signature IS NULL AND templates IS NULL THEN
        chosen := l4._pattern_event(confirm_fault.job_id);
    END IF;
    IF chosen IS NOT NULL THEN
        SELECT coalesce(confirm_fault.signature, p.signature), p.templates INTO signature, templates
        FROM l4._event_pattern(confirm_fault.job_id, chosen) AS p;
        IF signature IS NULL AND templates IS NULL THEN
            RAISE EXCEPTION 'event % says too little to make a pattern of', chosen[1]
                USING ERRCODE = 'invalid_parameter_value', HINT = 'Choose other events, or give a signature.';
        END IF;
        IF events IS NULL THEN
            SELECT c.form, c.known INTO form, known
            FROM l4._confirmed_form(confirm_fault.job_id, chosen, confirm_fault.signature) AS c;
        END IF;
    END IF;
    IF known IS NOT NULL THEN
        chosen := NULL;
        RAISE NOTICE 'fault "%" goes by the conditions of fault "%"', confirm_fault.name, known
            USING DETAIL = 'Which nodes show it decides, in whatever words.',
                HINT = 'To go by lines of this job, give events or a signature.';
    END IF;
    IF severity IS NULL AND known IS NULL AND (form <> '{}' OR EXISTS (
        SELECT FROM l4._suspect_kinds(confirm_fault.job_id) AS k
        WHERE k.event_id = ANY (chosen) HAVING bool_and(k.is_effect))) THEN
        severity := 'warning';
        RAISE NOTICE 'fault "%" goes by what other faults lead to as well', confirm_fault.name
            USING DETAIL = 'It is kept as a warning, so that a cause that is found comes before it.',
                HINT = 'Give the signature of a line that only this fault shows, if there is one.';
    END IF;
    f.name := confirm_fault.name;
    f.root_cause := confirm_fault.root_cause;
    f.remedy := confirm_fault.remedy;
    f.signature := confirm_fault.signature;
    f.templates := confirm_fault.templates;
    f.leads_to := coalesce(confirm_fault.leads_to, '{}');
    f.severity := coalesce(confirm_fault.severity, 'error');
    f.source_url := confirm_fault.source_url;
    f.source_job := confirm_fault.job_id;
    f.is_effect := coalesce(confirm_fault.is_effect, false);
    f.combined := form <> '{}';
    f.priority := CASE WHEN f.combined THEN 60 ELSE 50 END;
    SELECT u.category, u.component INTO f.category, f.component
    FROM l4._usual_class(confirm_fault.job_id, chosen, confirm_fault.category, confirm_fault.component) AS u;
    IF f.combined THEN
        f.signature := NULL;
        f.templates := NULL;
        id := l4._insert_confirmed(f);
        INSERT INTO l4.fault_condition
        SELECT id, c.step, c.kind, c.signature, c.template, c.min_occurrences, c.min_nodes, c.max_nodes, c.same_node,
            c.within, c.silence
        FROM unnest(form) AS c;
    ELSE
        f.example := l4._check_pattern(f.source_job, f.name, f.signature, f.templates);
        id := coalesce(l4._add_templates(f.name, f.signature, f.templates), l4._insert_confirmed(f));
    END IF;
    RETURN id;
END
$$;
COMMENT ON FUNCTION l4.confirm_fault(text, text, text, text, text, text, text, l4.pcre, text[], text[], int[], text,
    bool)
    IS 'archives what was diagnosed in a job as a fault; makes a pattern of its suspect events, or of the form of a '
       'hang or of a known combination, unless given; refuses what a healthy job matches';

-- A signature that refers to groups by number comes first, so that they keep theirs; a name may stand in both.
CREATE FUNCTION l4._either_signature(k l4.fault, g l4.fault) RETURNS l4.pcre
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    by_number constant text := '\\[1-9]|\\g|\(\?[0-9R+-]';
    joined text := CASE WHEN g.signature::text ~ by_number THEN format('(?:%s)|(?:%s)', g.signature, k.signature)
        ELSE format('(?:%s)|(?:%s)', k.signature, g.signature) END;
BEGIN
    IF l4.pcre_error(joined) IS NOT NULL THEN
        joined := '(?J)' || joined;
    END IF;
    IF l4.pcre_error(joined) IS NOT NULL OR k.signature::text ~ by_number AND g.signature::text ~ by_number THEN
        RAISE EXCEPTION 'the signatures of faults "%" and "%" do not go together', k.name, g.name
            USING ERRCODE = 'invalid_parameter_value',
                DETAIL = coalesce(l4.pcre_error(joined), 'Both refer to groups by number.'),
                HINT = 'Write one that matches both, and delete the other fault.';
    END IF;
    RETURN joined::l4.pcre;
END
$$;
COMMENT ON FUNCTION l4._either_signature(l4.fault, l4.fault) IS 'signature that matches what either fault matches';

CREATE FUNCTION l4.merge_faults(keep int, gone int) RETURNS int
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    k l4.fault;
    g l4.fault;
BEGIN
    -- in one order, whichever of two sessions keeps which
    PERFORM FROM l4.fault f WHERE f.fault_id IN (keep, gone) ORDER BY f.fault_id FOR UPDATE;
    SELECT * INTO k FROM l4.fault f WHERE f.fault_id = keep;
    SELECT * INTO g FROM l4.fault f WHERE f.fault_id = gone;
    IF k.fault_id IS NULL OR g.fault_id IS NULL THEN
        RAISE EXCEPTION 'fault % does not exist', CASE WHEN k.fault_id IS NULL THEN keep ELSE gone END
            USING ERRCODE = 'undefined_object', HINT = 'l4.fault lists them.';
    END IF;
    IF keep = gone OR k.origin = 'builtin' OR g.origin = 'builtin' OR k.combined <> g.combined OR EXISTS (
        SELECT to_jsonb(c) - '{fault_id,silence}'::text[] FROM l4.fault_condition c
        WHERE c.fault_id IN (keep, gone) GROUP BY 1 HAVING count(*) <> 2) THEN
        RAISE EXCEPTION 'faults "%" and "%" cannot be merged', k.name, g.name
            USING ERRCODE = 'invalid_parameter_value', DETAIL = 'Both must be rows of the user, different ones, '
                'and combinations only if they differ in silence alone.',
                HINT = 'A shipped fault is switched off by a row of l4.disabled_rule.';
    END IF;
    UPDATE l4.fault_condition c
    SET silence = CASE c.max_nodes WHEN 0 THEN greatest(c.silence, o.silence) ELSE least(c.silence, o.silence) END
    FROM l4.fault_condition o
    WHERE c.fault_id = keep AND o.fault_id = gone AND o.step = c.step AND o.silence <> c.silence;
    UPDATE l4.fault f
    SET signature = CASE WHEN k.signature IS NULL THEN g.signature
            WHEN g.signature IS NULL OR g.signature OPERATOR(l4.=) k.signature THEN k.signature
            ELSE l4._either_signature(k, g) END,
        templates = (SELECT array_agg(DISTINCT t.template ORDER BY t.template)
                     FROM unnest(k.templates || g.templates) AS t(template)),
        leads_to = ARRAY(SELECT DISTINCT t.effect FROM unnest(k.leads_to || g.leads_to) AS t(effect)
                         WHERE t.effect NOT IN (k.name, g.name) ORDER BY 1),
        example = coalesce(k.example, g.example)
    WHERE f.fault_id = keep;
    DELETE FROM l4.fault f WHERE f.fault_id = gone;
    UPDATE l4.fault f
    SET leads_to = ARRAY(SELECT DISTINCT CASE t.effect WHEN g.name THEN k.name ELSE t.effect END
                         FROM unnest(f.leads_to) AS t(effect) ORDER BY 1)
    WHERE g.name = ANY (f.leads_to) AND f.fault_id >= 1000000 AND f.fault_id <> keep
      AND NOT EXISTS (SELECT FROM l4.fault o WHERE o.name = g.name);
    UPDATE l4.fault_match m SET fault_id = keep, fault_name = k.name WHERE m.fault_id = gone;
    RETURN keep;
END
$$;
COMMENT ON FUNCTION l4.merge_faults(int, int)
    IS 'joins two of the user''s faults that are the same: the first one then matches what both matched, the second '
       'one is gone';
