-- Fault files: faults as jsonb, to share between databases.

--: one fault with its conditions
CREATE FUNCTION l4._fault_json(fault_id int) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT jsonb_strip_nulls(to_jsonb(f) - ARRAY['fault_id', 'combined', 'template_patterns'] || jsonb_build_object(
        'conditions', (SELECT jsonb_agg(jsonb_strip_nulls(to_jsonb(c) - 'fault_id') ORDER BY c.step)
                       FROM l4.fault_condition AS c WHERE c.fault_id = f.fault_id)))
    FROM l4.fault AS f WHERE f.fault_id = _fault_json.fault_id);

--: the faults that are not shipped, or some of them by name, as jsonb for l4.import_faults(); of several with one name
--: the one that counts
CREATE FUNCTION l4.export_faults(names text[] DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    unknown text := (SELECT min(coalesce(n.name, '')) FROM unnest(names) AS n(name)
                     WHERE NOT EXISTS (SELECT FROM l4.fault f WHERE f.name = n.name AND l4._is_own(f.fault_id)));
BEGIN
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'fault "%" is not one of yours', unknown
            USING ERRCODE = 'undefined_object', HINT = 'The shipped ones are in every database that has l4.';
    END IF;
    RETURN jsonb_build_object('format', 'l4 faults', 'version', 1, 'faults', ARRAY(
        SELECT l4._fault_json(o.fault_id)
        FROM (SELECT DISTINCT ON (f.name) f.name, f.fault_id
            FROM l4.fault f
            WHERE l4._is_own(f.fault_id) AND (names IS NULL OR f.name = ANY (names))
            ORDER BY f.name, array_position(ARRAY['user', 'confirmed', 'imported'], f.origin)) AS o
        ORDER BY o.name));
END
$$;

-- Constraints and types say what is wrong with it.
--: stores one row of a fault file: new, changed or same; raises what is wrong with it
CREATE FUNCTION l4._import_fault(row_value jsonb) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET client_min_messages = error     -- leads_to is checked when all rows are there
AS $$
DECLARE
    keys constant text[] := ARRAY['name', 'category', 'component', 'signature', 'templates', 'root_cause', 'remedy',
        'leads_to', 'severity', 'example', 'source_url', 'origin', 'source_job', 'confirmed_by', 'confirmed_at',
        'priority', 'is_effect', 'conditions'];
    defaults constant jsonb := '{"leads_to": [], "severity": "error", "priority": 50, "is_effect": false}';
    f l4.fault;
    old jsonb;
    id int;
    unknown text;
BEGIN
    IF jsonb_typeof(row_value) <> 'object' THEN
        RAISE EXCEPTION 'not an object' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT k.key INTO unknown FROM jsonb_object_keys(row_value) AS k(key) WHERE k.key <> ALL (keys) ORDER BY 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'unknown key "%"', unknown USING ERRCODE = 'invalid_parameter_value';
    END IF;
    row_value := jsonb_strip_nulls(row_value);
    f := jsonb_populate_record(NULL::l4.fault, defaults || row_value);
    old := (SELECT l4._fault_json(o.fault_id) FROM l4.fault o WHERE o.origin = 'imported' AND o.name = f.name);
    DELETE FROM l4.fault o WHERE o.origin = 'imported' AND o.name = f.name RETURNING o.fault_id INTO f.fault_id;
    f.origin := 'imported';
    f.combined := row_value ? 'conditions';
    id := l4._store_fault(f, row_value -> 'conditions');
    -- what the user has already, under whatever origin, is not kept twice
    IF EXISTS (SELECT FROM l4.fault o WHERE o.name = f.name AND o.fault_id <> id AND l4._is_own(o.fault_id)
               AND l4._fault_json(o.fault_id) - 'origin' = l4._fault_json(id) - 'origin') THEN
        DELETE FROM l4.fault o WHERE o.fault_id = id;
        RETURN 'same';
    END IF;
    RETURN CASE WHEN old IS NULL THEN 'new' WHEN l4._fault_json(id) = old THEN 'same' ELSE 'changed' END;
END
$$;

-- All imported faults and all healthy jobs in one pass.
--: which imported faults match lines of successful jobs, with the first such line
CREATE FUNCTION l4._import_warnings(names text[])
RETURNS TABLE (name text, warning text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    WITH imported AS MATERIALIZED (
        SELECT f.* FROM l4.fault AS f WHERE f.origin = 'imported' AND f.name = ANY (_import_warnings.names)
    ), template AS MATERIALIZED (
        SELECT array_agg(t.template ORDER BY f.name, t.n) AS templates,
            array_agg(t.pattern ORDER BY f.name, t.n) AS patterns,
            array_agg(f.name ORDER BY f.name, t.n) AS names
        FROM imported AS f
        CROSS JOIN LATERAL ROWS FROM (unnest(f.templates), unnest(f.template_patterns))
            WITH ORDINALITY AS t(template, pattern, n)
    ), line AS MATERIALIZED (
        SELECT j.job_id, l.event_id, l.node, l.line_no, l.line, dense_rank() OVER (ORDER BY l.line) AS place
        FROM l4.job AS j CROSS JOIN LATERAL l4._fault_lines(j.job_id) AS l
        WHERE j.status = 'succeeded'
    ), hit AS (
        SELECT f.names[m.pattern] AS name, l.job_id, l.node, l.line_no, l.line
        FROM (SELECT array_agg(i.name ORDER BY i.name) AS names, array_agg(i.signature ORDER BY i.name) AS signatures
            FROM imported AS i WHERE i.signature IS NOT NULL) AS f
        CROSS JOIN LATERAL l4._pcre_multimatch(f.signatures,
            ARRAY(SELECT DISTINCT l.line FROM line AS l ORDER BY 1)) AS m
        JOIN line AS l ON l.place = m.line
        UNION ALL
        SELECT t.names[e.n], l.job_id, l.node, l.line_no, l.line
        FROM template AS t
        CROSS JOIN LATERAL l4._template_events(t.templates, t.patterns, ARRAY(SELECT l.event_id FROM line AS l)) AS e
        JOIN line AS l ON l.event_id = e.event_id
        UNION ALL
        SELECT f.name, j.job_id, c.node, c.line_no, c.line
        FROM (SELECT array_agg(d) AS conditions
            FROM imported AS f JOIN l4.fault_condition AS d ON d.fault_id = f.fault_id WHERE f.combined) AS t
        JOIN l4.job AS j ON j.status = 'succeeded'
        CROSS JOIN LATERAL l4._fault_combinations(j.job_id, t.conditions) AS c
        JOIN imported AS f ON f.fault_id = c.fault_id
    )
    SELECT DISTINCT ON (h.name) h.name, format('also matches the healthy job %s, node %s, line %s: %s',
        h.job_id, h.node, h.line_no, left(split_part(h.line, E'\n', 1), 200))
    FROM hit AS h
    ORDER BY h.name, h.job_id, h.node, h.line_no, h.line;
END;

--: stores a fault file and reports each row: new, changed, same or error; with one error, or with dry_run, nothing is
--: stored
CREATE FUNCTION l4.import_faults(file jsonb, dry_run bool DEFAULT false)
RETURNS TABLE (n int, name text, action text, problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    faults jsonb := CASE jsonb_typeof(file) WHEN 'object' THEN file -> 'faults' ELSE file END;
    names text[] := '{}';
    actions text[] := '{}';
    problems text[] := '{}';
    r record;
    place text;
    hint text;
BEGIN
    IF jsonb_typeof(faults) IS DISTINCT FROM 'array' OR coalesce(file ->> 'format', 'l4 faults') <> 'l4 faults'
       OR coalesce(file ->> 'version', '1') <> '1' THEN
        RAISE EXCEPTION 'not a fault file'
            USING ERRCODE = 'invalid_parameter_value',
                DETAIL = 'Expected {"format": "l4 faults", "version": 1, "faults": [...]}, or the array alone.',
                HINT = 'l4.export_faults() makes one.';
    END IF;
    IF dry_run IS NULL THEN
        RAISE EXCEPTION 'dry_run must be true or false' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    -- one import at a time: two that have the same names in another order would wait for each other
    LOCK TABLE l4.fault IN SHARE ROW EXCLUSIVE MODE;
    BEGIN
        FOR r IN
            SELECT e.n, e.value, e.name,
                row_number() OVER (PARTITION BY e.name ORDER BY e.n) > 1 AND e.name IS NOT NULL AS again
            FROM (SELECT a.n::int, a.value,
                    CASE jsonb_typeof(a.value) WHEN 'object' THEN a.value ->> 'name' END AS name
                FROM jsonb_array_elements(faults) WITH ORDINALITY AS a(value, n)) AS e
            ORDER BY e.n
        LOOP
            names[r.n] := r.name;
            BEGIN
                IF r.again THEN
                    RAISE EXCEPTION 'the file has this name twice' USING ERRCODE = 'unique_violation';
                END IF;
                actions[r.n] := l4._import_fault(r.value);
            EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
                -- what is wrong with the row; what is wrong with the call (rights, locks, room) ends it
                GET STACKED DIAGNOSTICS place = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
                actions[r.n] := 'error';
                problems[r.n] := concat_ws('. ', SQLERRM,
                    nullif(CASE SQLSTATE WHEN '2201B' THEN place WHEN '23514' THEN hint END, ''));
            END;
        END LOOP;
        FOR r IN
            SELECT u.n::int, u.action, (SELECT c.problem FROM l4._check_leads_to(f.name, f.leads_to) AS c) AS problem,
                coalesce(w.warning, CASE a.origin WHEN 'builtin' THEN 'replaces the shipped fault of this name'
                    ELSE 'hidden by the ' || a.origin || ' fault of this name' END) AS warning
            FROM unnest(names, actions) WITH ORDINALITY AS u(name, action, n)
            JOIN l4.fault f ON f.origin = 'imported' AND f.name = u.name
            LEFT JOIN l4._import_warnings((
                SELECT array_agg(c.name) FROM unnest(names, actions) AS c(name, action)
                WHERE c.action IN ('new', 'changed'))) AS w ON w.name = u.name
            LEFT JOIN LATERAL (SELECT o.origin FROM l4.fault o WHERE o.name = u.name AND o.origin <> 'imported'
                               ORDER BY array_position(ARRAY['user', 'confirmed', 'builtin'], o.origin)
                               LIMIT 1) AS a ON true
            WHERE u.action <> 'error'
        LOOP
            IF r.problem IS NOT NULL THEN
                actions[r.n] := 'error';
                problems[r.n] := r.problem;
            ELSIF r.action <> 'same' THEN
                problems[r.n] := r.warning;
            END IF;
        END LOOP;
        IF dry_run OR 'error' = ANY (actions) THEN
            RAISE EXCEPTION 'nothing is kept' USING ERRCODE = 'triggered_action_exception';
        END IF;
    EXCEPTION WHEN triggered_action_exception THEN
        NULL;   -- all changes of this block are undone; the report stays
    END;
    RETURN QUERY SELECT u.n::int, u.name, u.action, u.problem
        FROM unnest(names, actions, problems) WITH ORDINALITY AS u(name, action, problem, n) ORDER BY u.n;
END
$$;
