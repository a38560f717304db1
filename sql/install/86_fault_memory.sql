-- The memory: try a pattern on past jobs, confirm a diagnosis as a fault, merge duplicates.

--: what a signature or templates would match in the jobs that l4 knows, one line an event, or in which of them
--: conditions would hold; nothing is stored
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
    worded int[];       -- events that steps speak of in some job: their values are tried
    first int[];        -- those of step 1; NULL = it has no signature, or only values that no first record has may fit
    j record;
BEGIN
    WITH line AS MATERIALIZED (
        SELECT row_number() OVER () AS place, l4._survivor(e.event_id, e.merged_into) AS event_id, t.line
        FROM l4._job_event AS k JOIN l4._event AS e USING (event_id)
        CROSS JOIN LATERAL unnest(string_to_array(k.example, E'\n') || ARRAY[k.example, e.example]) AS t(line)
        WHERE EXISTS (SELECT FROM unnest(steps) AS c WHERE c.signature IS NOT NULL)
    )
    SELECT array_agg(DISTINCT l.event_id), array_agg(DISTINCT l.event_id) FILTER (WHERE m.pattern = 1)
    INTO worded, first
    FROM l4._pcre_multimatch(
        ARRAY(SELECT c.signature FROM unnest(steps) AS c WHERE c.signature IS NOT NULL ORDER BY c.step),
        (SELECT array_agg(l.line ORDER BY l.place) FROM line AS l)) AS m
    JOIN line AS l ON l.place = m.line;
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
        IF steps <> '{}' AND (first IS NULL OR EXISTS (
            SELECT FROM l4._job_event AS k JOIN l4._event AS e USING (event_id)
            WHERE k.job_id = j.job_id AND l4._survivor(e.event_id, e.merged_into) = ANY (first)))
        THEN
            RETURN QUERY
            SELECT j.job_id, j.status, c.node, c.line_no, split_part(c.line, E'\n', 1), c.occurrences, c.captures,
                c.gave_up
            FROM l4._fault_combinations(j.job_id, steps, worded) AS c
            ORDER BY c.node, c.line_no;
        END IF;
    END LOOP;
END
$$;

-- Only what is reached is looked up, name by name, over up to 30 steps: a fault file has many rows to check.
--: what is wrong with leads_to of a fault, NULL = nothing; is_own_cycle: it leads to itself over own rows alone
CREATE FUNCTION l4._check_leads_to(name text, leads_to text[], OUT problem text, OUT is_own_cycle bool)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE reach(name, effect, is_own, step) AS (
        SELECT u.effect, u.effect, true, 1 FROM unnest(_check_leads_to.leads_to) AS u(effect)
        UNION
        SELECT r.name, t.effect, r.is_own AND l4._is_own(f.fault_id), r.step + 1
        FROM reach AS r
        CROSS JOIN LATERAL (
            SELECT a.fault_id, a.leads_to FROM l4.active_fault AS a WHERE a.name = r.effect LIMIT 1) AS f
        CROSS JOIN LATERAL unnest(f.leads_to) AS t(effect)
        WHERE r.effect <> _check_leads_to.name AND r.step < 30
    )
    SELECT coalesce((
            SELECT format('leads_to names a fault that does not exist: "%s"', min(u.effect))
            FROM unnest(_check_leads_to.leads_to) AS u(effect)
            WHERE NOT EXISTS (SELECT FROM l4.fault AS f WHERE f.name = u.effect) HAVING count(*) > 0),
        CASE WHEN count(*) > 0
            THEN format('leads_to makes a cycle: "%s" leads back to "%s"', min(r.name), min(r.effect)) END),
        coalesce(bool_or(r.is_own), false)
    FROM reach AS r WHERE r.effect = _check_leads_to.name;
END;

-- What a fault is recognised by, and what speaks against it. Kept as a type, as it is learnt in steps.
--: what a diagnosis is recognised by; form: the combination that it follows; failed_jobs: other ones that match;
--: good_lines, other_causes: what must not
CREATE TYPE l4._pattern AS (
    signature l4.pcre,
    templates text[],
    conditions jsonb,
    events int[],
    form text,
    failed_jobs text[],
    good_lines text,
    other_causes text);

-- What may be learnt, best first: an event in which a cause is known (narrowed by the combination that it proves), the
-- combination that is known, an event that only the suspects have, the form of a hang.
--: what a diagnosis may be recognised by, best first
CREATE FUNCTION l4._learnable(job_id text) RETURNS SETOF l4._pattern
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 5
BEGIN ATOMIC
    WITH known AS MATERIALIZED (
        SELECT m.fault_id, m.fault_name, m.event_id
        FROM l4.fault_match AS m JOIN l4.fault AS f USING (fault_id)
        WHERE m.job_id = _learnable.job_id AND m.rank = 1 AND m.is_suspect AND f.combined
    ), candidate AS (
        SELECT CASE WHEN c.is_known THEN 1 ELSE 3 END AS turn, c.n, ARRAY[c.event_id] AS events,
            p.signature, p.templates, NULL::jsonb AS conditions, f.fault_id, f.fault_name
        FROM l4._cause_events(_learnable.job_id) WITH ORDINALITY
            AS c(event_id, is_known, nodes, node, level, terminal, n)
        CROSS JOIN LATERAL l4._event_pattern(_learnable.job_id, ARRAY[c.event_id]) AS p
        LEFT JOIN known AS f ON c.is_known AND f.event_id = c.event_id AND p.signature IS NOT NULL
        WHERE c.n <= 5 AND num_nonnulls(p.signature, p.templates) > 0
        UNION ALL
        SELECT 2, 0, NULL, NULL, NULL, NULL, f.fault_id, f.fault_name FROM known AS f
        UNION ALL
        SELECT 4, 0, NULL, NULL, NULL, h.conditions, NULL, NULL
        FROM l4._hang_form(_learnable.job_id) AS h(conditions) WHERE h.conditions IS NOT NULL
    )
    SELECT CASE WHEN k.conditions IS NULL THEN c.signature END, CASE WHEN k.conditions IS NULL THEN c.templates END,
        k.conditions, c.events, c.fault_name, NULL::text[], NULL, NULL
    FROM candidate AS c
    -- of a combination its conditions, with the words of this job in step 1 if they say more: another launcher reports
    -- in other words that a process was killed
    CROSS JOIN LATERAL (
        SELECT coalesce(c.conditions, jsonb_agg(jsonb_strip_nulls(to_jsonb(d) - 'fault_id'
            || CASE WHEN d.step = 1 AND c.signature IS NOT NULL
                THEN jsonb_build_object('signature', c.signature, 'template', NULL) ELSE '{}' END) ORDER BY d.step))
        FROM l4.fault_condition AS d WHERE d.fault_id = c.fault_id) AS k(conditions)
    ORDER BY c.turn, c.n;
END;

-- What a caller asks for may match jobs of another cause, with a notice: two causes may well print one line.
--: the pattern that is asked for, or the first that may be learnt and matches no good job and no job of another
--: confirmed cause; raises when there is none
CREATE FUNCTION l4._learn(job_id text, name text, asked l4._pattern) RETURNS l4._pattern
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    is_asked constant bool := num_nonnulls(asked.signature, asked.templates, asked.events) > 0;
    p l4._pattern;
    best l4._pattern;
BEGIN
    IF asked.events IS NOT NULL THEN
        SELECT coalesce(asked.signature, e.signature), coalesce(asked.templates, e.templates)
        INTO asked.signature, asked.templates FROM l4._event_pattern(_learn.job_id, asked.events) AS e;
        IF num_nonnulls(asked.signature, asked.templates) = 0 THEN
            RAISE EXCEPTION 'event % says too little to make a pattern of', asked.events[1]
                USING ERRCODE = 'invalid_parameter_value', HINT = 'Choose other events, or give a signature.';
        END IF;
    END IF;
    FOR p IN
        SELECT asked.* WHERE is_asked
        UNION ALL SELECT l.* FROM l4._learnable(_learn.job_id) AS l WHERE NOT is_asked
    LOOP
        CONTINUE WHEN NOT EXISTS (
            SELECT FROM l4.test_fault(p.signature, p.templates, ARRAY[_learn.job_id], p.conditions) AS t
            WHERE NOT t.gave_up);
        WITH claim AS MATERIALIZED (
            SELECT t.job_id AS job, t.node, t.line_no, t.line, t.status = 'succeeded' OR EXISTS (
                SELECT FROM l4.diagnosis AS d WHERE d.job_id = _learn.job_id AND t.job_id = ANY (d.baseline)) AS is_good
            FROM l4.test_fault(p.signature, p.templates, ARRAY(
                SELECT j.job_id FROM l4.job AS j WHERE j.job_id <> _learn.job_id), p.conditions) AS t
            WHERE NOT t.gave_up
        ), cause AS (
            -- a fault of yours with another name that was confirmed in the job, or is its best match
            SELECT DISTINCT c.job, f.name
            FROM claim AS c JOIN l4.fault AS f ON l4._is_own(f.fault_id) AND f.name <> _learn.name AND NOT f.is_effect
            WHERE NOT c.is_good AND (f.source_job = c.job OR EXISTS (
                SELECT FROM l4.fault_match AS m WHERE m.job_id = c.job AND m.rank = 1 AND m.fault_id = f.fault_id))
        )
        SELECT ARRAY(SELECT DISTINCT c.job FROM claim AS c WHERE NOT c.is_good ORDER BY 1),
            (SELECT string_agg(
                format('job %s, node %s, line %s: %s', g.job, g.node, g.line_no, left(g.line, 200)), E'\n')
            FROM (SELECT c.* FROM claim AS c WHERE c.is_good ORDER BY c.job, c.node, c.line_no LIMIT 10) AS g),
            (SELECT string_agg(format('job %s: fault "%s"', c.job, c.name), E'\n' ORDER BY c.job, c.name)
            FROM cause AS c)
        INTO p.failed_jobs, p.good_lines, p.other_causes;
        best := CASE WHEN best IS NULL OR num_nonnulls(p.good_lines, p.other_causes) = 0 THEN p ELSE best END;
        EXIT WHEN num_nonnulls(p.good_lines, p.other_causes) = 0;
    END LOOP;
    IF best IS NULL AND is_asked THEN
        RAISE EXCEPTION 'the pattern matches no line of job "%"', _learn.job_id
            USING ERRCODE = 'invalid_parameter_value', HINT = 'l4.test_fault() shows what a pattern matches.';
    ELSIF best IS NULL THEN
        RAISE EXCEPTION 'no suspect event of job "%" says a cause', _learn.job_id
            USING ERRCODE = 'no_data_found',
                DETAIL = 'What is printed only when a peer is lost, or a process has ended, is not learnt.',
                HINT = 'Run l4.diagnose() first, or give events, signature or templates.';
    ELSIF best.good_lines IS NOT NULL THEN
        RAISE EXCEPTION 'the pattern of fault "%" would match healthy jobs', name
            USING ERRCODE = 'check_violation', DETAIL = best.good_lines,
                HINT = 'Give a narrower signature, or other events.';
    ELSIF best.other_causes IS NOT NULL AND NOT is_asked THEN
        RAISE EXCEPTION 'the pattern of fault "%" would match jobs of another cause', name
            USING ERRCODE = 'check_violation',
                DETAIL = concat_ws(E'\n', coalesce(best.signature::text, best.conditions::text), best.other_causes),
                HINT = 'Give the signature of a line that only this fault shows, or its events.';
    ELSIF best.other_causes IS NOT NULL THEN
        RAISE NOTICE 'fault "%" matches jobs of another cause', name
            USING DETAIL = best.other_causes, HINT = 'A narrower signature would tell them apart.';
    END IF;
    RETURN best;
END
$$;

--: raises what is wrong with the arguments of confirm_fault()
CREATE FUNCTION l4._check_confirmed(job_id text, name text, root_cause text, remedy text, events int[], leads_to text[])
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong record;
BEGIN
    PERFORM l4._require_job(_check_confirmed.job_id);
    SELECT w.* INTO wrong FROM (
        SELECT format('%s of a fault must not be empty', a.name) AS problem, 'invalid_parameter_value' AS code,
            'Say what the next one who meets it must know.' AS hint
        FROM (VALUES ('name', _check_confirmed.name), ('root_cause', root_cause), ('remedy', remedy)) AS a(name, value)
        WHERE a.value IS NULL OR a.value !~ '[^[:space:]]'
        UNION ALL
        SELECT 'no event to make a pattern of', 'invalid_parameter_value',
            'Leave events out, or give some of l4.suspect_event or l4.event_count.'
        WHERE events = '{}'
        UNION ALL
        (SELECT format('job "%s" has no event %s', _check_confirmed.job_id, coalesce(e.id::text, 'NULL')),
            'undefined_object', 'l4.suspect_event and l4.event_count list the events of a job.'
        FROM unnest(events) AS e(id)
        WHERE NOT EXISTS (SELECT FROM l4._fault_lines(_check_confirmed.job_id) AS l WHERE l.event_id = e.id)
        ORDER BY e.id)
        UNION ALL
        SELECT format('invalid leads_to of fault "%s"', _check_confirmed.name), 'invalid_parameter_value',
            c.problem || '.'
        FROM l4._check_leads_to(_check_confirmed.name, leads_to) AS c WHERE c.problem IS NOT NULL) AS w;
    IF FOUND THEN
        RAISE EXCEPTION '%', wrong.problem USING ERRCODE = wrong.code, HINT = wrong.hint;
    END IF;
END
$$;

-- What is known of the events stands in for what the caller left out; else the diagnosis, else the best known cause.
--: category and component of a fault that is confirmed, where not given
CREATE FUNCTION l4._usual_class(job_id text, events int[], INOUT category text, INOUT component text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT c.category, coalesce(_usual_class.component, k.component, CASE c.category WHEN 'hardware' THEN 'node'
        WHEN 'framework' THEN 'framework' WHEN 'platform' THEN 'platform_config' ELSE 'program' END)
    FROM (SELECT) AS one
    LEFT JOIN LATERAL (
        SELECT u.category, u.component
        FROM (SELECT f.category, f.component, f.is_effect, f.priority
            FROM l4._fault_hit AS h JOIN l4.fault AS f USING (fault_id)
            WHERE h.job_id = _usual_class.job_id AND h.event_id = ANY (events) AND NOT h.gave_up
            UNION ALL
            SELECT d.category, d.component, true, 0 FROM l4.diagnosis AS d WHERE d.job_id = _usual_class.job_id
            UNION ALL
            SELECT f.category, f.component, true, -m.rank FROM l4.fault_match AS m JOIN l4.fault AS f USING (fault_id)
            WHERE m.job_id = _usual_class.job_id AND NOT m.is_effect) AS u
        WHERE u.category = coalesce(_usual_class.category, u.category)
        ORDER BY u.is_effect, u.priority DESC LIMIT 1) AS k ON true
    CROSS JOIN LATERAL (SELECT coalesce(_usual_class.category, k.category, 'user') AS category) AS c;
END;

--: stores a fault with its conditions; NULL as its id is a new one
CREATE FUNCTION l4._store_fault(f l4.fault, conditions jsonb) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO l4.fault (fault_id, name, category, component, signature, templates, root_cause, remedy, leads_to,
        severity, example, source_url, origin, source_job, confirmed_by, confirmed_at, priority, is_effect, combined)
    VALUES (coalesce(f.fault_id, nextval('l4.fault_fault_id_seq')), f.name, f.category, f.component, f.signature,
        f.templates, f.root_cause, f.remedy, f.leads_to, f.severity, f.example, f.source_url, f.origin, f.source_job,
        f.confirmed_by, f.confirmed_at, f.priority, f.is_effect, f.combined)
    ON CONFLICT ON CONSTRAINT fault_origin_name_key DO NOTHING
    RETURNING fault_id INTO f.fault_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'fault "%" was % before', f.name, f.origin
            USING ERRCODE = 'unique_violation',
                HINT = 'Choose another name; l4.merge_faults() joins two faults that are the same.';
    END IF;
    INSERT INTO l4.fault_condition SELECT c.* FROM l4._read_conditions(conditions, f.fault_id) AS c;
    RETURN f.fault_id;
END
$$;

--: stores a confirmed fault; where an own one has its signature, adds the templates to that
CREATE FUNCTION l4._store_confirmed(f l4.fault, conditions jsonb) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    old record;
BEGIN
    UPDATE l4.fault AS o
    SET templates = (SELECT array_agg(DISTINCT t.template ORDER BY t.template)
                     FROM unnest(o.templates || f.templates) AS t(template))
    WHERE o.fault_id = (SELECT min(s.fault_id) FROM l4.fault AS s
        WHERE s.origin <> 'builtin' AND s.name <> f.name AND s.signature OPERATOR(l4.=) f.signature)
    RETURNING o.fault_id, o.name INTO old;
    IF FOUND THEN
        RAISE NOTICE 'fault "%" has this signature already', old.name
            USING DETAIL = 'The templates were added to it; no second fault was made.';
        RETURN old.fault_id;
    END IF;
    f.fault_id := l4._store_fault(f, conditions);
    IF NOT EXISTS (SELECT FROM l4.active_fault AS a WHERE a.fault_id = f.fault_id) THEN
        RAISE NOTICE 'fault "%" is switched off, or hidden by another of this name', f.name
            USING HINT = 'l4.disabled_rule and l4.fault_problem say which.';
    ELSIF EXISTS (SELECT FROM l4.fault AS o WHERE o.name = f.name AND o.fault_id <> f.fault_id) THEN
        RAISE NOTICE 'fault "%" replaces another of this name', f.name
            USING HINT = 'l4.active_fault has the faults that are matched.';
    END IF;
    RETURN f.fault_id;
END
$$;

--: archives what was diagnosed in a job as a fault; learns its pattern unless given, refuses what a healthy job
--: matches, and says what else it matches
CREATE FUNCTION l4.confirm_fault(job_id text, name text, root_cause text, remedy text, category text DEFAULT NULL,
    component text DEFAULT NULL, severity text DEFAULT NULL, signature l4.pcre DEFAULT NULL,
    templates text[] DEFAULT NULL, leads_to text[] DEFAULT '{}', events int[] DEFAULT NULL,
    source_url text DEFAULT NULL, is_effect bool DEFAULT false)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    p l4._pattern;
    f l4.fault;
    says_cause bool;
BEGIN
    PERFORM l4._check_confirmed(confirm_fault.job_id, confirm_fault.name, root_cause, remedy, events, leads_to);
    p.signature := confirm_fault.signature;
    p.templates := confirm_fault.templates;
    p.events := confirm_fault.events;
    p := l4._learn(confirm_fault.job_id, confirm_fault.name, p);
    says_cause := p.form IS NOT NULL OR p.conditions IS NULL AND (confirm_fault.signature IS NOT NULL
        OR p.events IS NULL OR p.events && ARRAY(SELECT e.event_id FROM l4._cause_events(confirm_fault.job_id) AS e)
        OR NOT EXISTS (SELECT FROM l4.suspect_event AS e WHERE e.job_id = confirm_fault.job_id));
    SELECT k.category, k.component INTO f.category, f.component
    FROM l4._usual_class(confirm_fault.job_id, CASE WHEN p.form IS NULL THEN p.events END,
        confirm_fault.category, confirm_fault.component) AS k;
    f.name := confirm_fault.name;
    f.root_cause := confirm_fault.root_cause;
    f.remedy := confirm_fault.remedy;
    f.signature := p.signature;
    f.templates := p.templates;
    f.leads_to := coalesce(confirm_fault.leads_to, '{}');
    f.severity := coalesce(confirm_fault.severity, CASE WHEN says_cause THEN 'error' ELSE 'warning' END);
    -- the line by itself, and of a progress bar only what came after it
    f.example := (
        SELECT l.line
        FROM l4.test_fault(p.signature, p.templates, ARRAY[confirm_fault.job_id]) AS t
        CROSS JOIN LATERAL (VALUES (regexp_replace(t.line, '^.*\r(?=\s*\S)', '')), (t.line)) AS l(line)
        WHERE NOT t.gave_up AND l4.pcre_match(l.line, p.signature)
        ORDER BY t.line_no, length(l.line) LIMIT 1);
    f.source_url := confirm_fault.source_url;
    f.origin := 'confirmed';
    f.source_job := confirm_fault.job_id;
    f.confirmed_by := session_user;
    f.confirmed_at := now();
    f.is_effect := coalesce(confirm_fault.is_effect, false);
    f.combined := p.conditions IS NOT NULL;
    f.priority := CASE WHEN f.combined THEN 60 ELSE 50 END;
    RAISE NOTICE 'fault "%" goes by %', f.name, CASE WHEN NOT f.combined
            THEN 'a line: ' || coalesce(p.signature::text, array_to_string(p.templates, ' or '))
        WHEN p.form IS NOT NULL THEN format('the nodes that show it, like fault "%s"', p.form)
        ELSE 'who is silent' END
        USING DETAIL = concat_ws(' ', CASE WHEN p.failed_jobs = '{}' THEN 'No other job matches.'
                ELSE format('These match too: %s.', l4._first_few(p.failed_jobs)) END,
            CASE WHEN NOT says_cause THEN 'It is kept as a warning: what says a cause comes before it.' END),
        HINT = 'To go by another line, give its event or a signature; l4.test_fault() shows what that matches.';
    RETURN l4._store_confirmed(f, p.conditions);
END
$$;

--: joins two of the user's faults that are the same: the first one then matches what both matched, the second one is
--: gone
CREATE FUNCTION l4.merge_faults(keep int, gone int) RETURNS int
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    k l4.fault;
    g l4.fault;
    by_number constant text := '\\[1-9]|\\g|\(\?[0-9R+-]';
    either text;
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
    -- a signature that refers to groups by number comes first, so that they keep theirs; a name may stand in both
    either := CASE WHEN g.signature::text ~ by_number THEN format('(?:%s)|(?:%s)', g.signature, k.signature)
        ELSE format('(?:%s)|(?:%s)', k.signature, g.signature) END;
    either := CASE WHEN l4.pcre_error(either) IS NULL THEN '' ELSE '(?J)' END || either;
    IF k.signature OPERATOR(l4.=) g.signature OR num_nonnulls(k.signature, g.signature) < 2 THEN
        either := coalesce(k.signature, g.signature);
    ELSIF l4.pcre_error(either) IS NOT NULL OR k.signature::text ~ by_number AND g.signature::text ~ by_number THEN
        RAISE EXCEPTION 'the signatures of faults "%" and "%" do not go together', k.name, g.name
            USING ERRCODE = 'invalid_parameter_value',
                DETAIL = coalesce(l4.pcre_error(either), 'Both refer to groups by number.'),
                HINT = 'Write one that matches both, and delete the other fault.';
    END IF;
    UPDATE l4.fault_condition c
    SET silence = CASE c.max_nodes WHEN 0 THEN greatest(c.silence, o.silence) ELSE least(c.silence, o.silence) END
    FROM l4.fault_condition o
    WHERE c.fault_id = keep AND o.fault_id = gone AND o.step = c.step AND o.silence <> c.silence;
    UPDATE l4.fault f
    SET signature = either::l4.pcre,
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
    WHERE g.name = ANY (f.leads_to) AND l4._is_own(f.fault_id) AND f.fault_id <> keep
      AND NOT EXISTS (SELECT FROM l4.fault o WHERE o.name = g.name);
    UPDATE l4.fault_match m SET fault_id = keep, fault_name = k.name WHERE m.fault_id = gone;
    RETURN keep;
END
$$;
