-- Packs of faults as jsonb, to share between databases.

CREATE FUNCTION l4._fault_json(fault_id int) RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT pg_catalog.jsonb_strip_nulls(pg_catalog.to_jsonb(f) OPERATOR(pg_catalog.-) ARRAY['fault_id', 'combined'])
		OPERATOR(pg_catalog.||) COALESCE((SELECT pg_catalog.jsonb_build_object('conditions', pg_catalog.jsonb_agg(
				pg_catalog.jsonb_strip_nulls(pg_catalog.to_jsonb(c) OPERATOR(pg_catalog.-) 'fault_id') ORDER BY c.step))
			FROM l4.fault_condition AS c WHERE c.fault_id OPERATOR(pg_catalog.=) f.fault_id
			HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 0), '{}'::jsonb)
	FROM l4.fault AS f WHERE f.fault_id OPERATOR(pg_catalog.=) _fault_json.fault_id);
COMMENT ON FUNCTION l4._fault_json(int) IS 'one fault with its conditions';

CREATE FUNCTION l4.export_faults(names text[] DEFAULT NULL) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
	SELECT pg_catalog.jsonb_build_object('format', 'l4 faults', 'version', 1, 'faults',
		COALESCE(pg_catalog.jsonb_agg(l4._fault_json(o.fault_id) ORDER BY o.name), '[]'::jsonb))
	FROM (SELECT DISTINCT ON (f.name) f.name, f.fault_id
		FROM l4.fault AS f
		WHERE f.fault_id OPERATOR(pg_catalog.>=) 1000000
		  AND (export_faults.names IS NULL OR f.name OPERATOR(pg_catalog.=) ANY (export_faults.names))
		ORDER BY f.name, pg_catalog.array_position(ARRAY['user', 'confirmed', 'imported'], f.origin)) AS o);
COMMENT ON FUNCTION l4.export_faults(text[]) IS 'the faults that are not shipped, or some of them by name, as jsonb for l4.import_faults(); of several with one name the one that counts';

-- One row of a pack. Constraints and types say what is wrong with it.
CREATE FUNCTION l4._import_fault(row_value jsonb) RETURNS text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET client_min_messages = error		-- leads_to is checked when all rows are there
AS $$
DECLARE
	keys constant text[] := ARRAY['name', 'category', 'component', 'signature', 'templates', 'root_cause', 'remedy', 'leads_to', 'severity', 'example',
		'source_url', 'origin', 'source_job', 'confirmed_by', 'confirmed_at', 'priority', 'is_effect', 'conditions'];
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
	f := jsonb_populate_record(NULL::l4.fault, '{"leads_to": [], "severity": "error", "priority": 50, "is_effect": false}' || row_value);
	old := (SELECT l4._fault_json(o.fault_id) FROM l4.fault o WHERE o.origin = 'imported' AND o.name = f.name);
	INSERT INTO l4.fault AS t (name, category, component, signature, templates, root_cause, remedy, leads_to, severity, example, source_url, origin,
		source_job, confirmed_by, confirmed_at, priority, is_effect, combined)
	VALUES (f.name, f.category, f.component, f.signature, f.templates, f.root_cause, f.remedy, f.leads_to, f.severity, f.example, f.source_url,
		'imported', f.source_job, f.confirmed_by, f.confirmed_at, f.priority, f.is_effect, row_value ? 'conditions')
	ON CONFLICT (origin, name) DO UPDATE SET category = excluded.category, component = excluded.component, signature = excluded.signature,
		templates = excluded.templates, root_cause = excluded.root_cause, remedy = excluded.remedy, leads_to = excluded.leads_to,
		severity = excluded.severity, example = excluded.example, source_url = excluded.source_url, source_job = excluded.source_job,
		confirmed_by = excluded.confirmed_by, confirmed_at = excluded.confirmed_at, priority = excluded.priority,
		is_effect = excluded.is_effect, combined = excluded.combined
	RETURNING t.fault_id INTO id;
	DELETE FROM l4.fault_condition c WHERE c.fault_id = id;
	INSERT INTO l4.fault_condition
	SELECT c.* FROM jsonb_array_elements(coalesce(row_value -> 'conditions', '[]')) AS e(value)
	CROSS JOIN LATERAL jsonb_populate_record(NULL::l4.fault_condition, '{"kind": "event", "min_occurrences": 1, "min_nodes": 1, "same_node": false}'
		|| e.value || jsonb_build_object('fault_id', id)) AS c;
	-- what the user has already, under whatever origin, is not kept twice
	IF EXISTS (SELECT FROM l4.fault o WHERE o.name = f.name AND o.fault_id <> id AND o.fault_id >= 1000000
			   AND l4._fault_json(o.fault_id) - 'origin' = l4._fault_json(id) - 'origin') THEN
		DELETE FROM l4.fault o WHERE o.fault_id = id;
		RETURN 'same';
	END IF;
	RETURN CASE WHEN old IS NULL THEN 'new' WHEN l4._fault_json(id) = old THEN 'same' ELSE 'changed' END;
END
$$;
COMMENT ON FUNCTION l4._import_fault(jsonb) IS 'stores one row of a pack: new, changed or same; raises what is wrong with it';

CREATE FUNCTION l4.import_faults(pack jsonb, dry_run bool DEFAULT false)
RETURNS TABLE (n int, name text, action text, problem text)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	faults jsonb := CASE jsonb_typeof(pack) WHEN 'object' THEN pack -> 'faults' ELSE pack END;
	names text[] := '{}';
	actions text[] := '{}';
	problems text[] := '{}';
	i int;
BEGIN
	IF jsonb_typeof(faults) IS DISTINCT FROM 'array' OR coalesce(pack ->> 'format', 'l4 faults') <> 'l4 faults' OR coalesce(pack ->> 'version', '1') <> '1' THEN
		RAISE EXCEPTION 'not a pack of faults'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Expected {"format": "l4 faults", "version": 1, "faults": [...]}, or the array alone.',
				HINT = 'l4.export_faults() makes one.';
	END IF;
	BEGIN
		FOR i IN 1 .. jsonb_array_length(faults) LOOP
			names[i] := CASE jsonb_typeof(faults -> (i - 1)) WHEN 'object' THEN faults -> (i - 1) ->> 'name' END;
			BEGIN
				IF names[i] = ANY (names[1 : i - 1]) THEN
					RAISE EXCEPTION 'the pack has this name twice' USING ERRCODE = 'unique_violation';
				END IF;
				actions[i] := l4._import_fault(faults -> (i - 1));
				problems[i] := NULL;
			EXCEPTION WHEN OTHERS THEN
				actions[i] := 'error';
				problems[i] := SQLERRM;
			END;
		END LOOP;
		FOR i IN 1 .. cardinality(names) LOOP
			CONTINUE WHEN actions[i] = 'error';
			problems[i] := l4._check_leads_to(names[i], (SELECT f.leads_to FROM l4.fault f WHERE f.origin = 'imported' AND f.name = names[i]));
			IF problems[i] IS NOT NULL THEN
				actions[i] := 'error';
			ELSIF actions[i] <> 'same' THEN
				problems[i] := (
					SELECT format('also matches the healthy job %s, node %s, line %s: %s', t.job_id, t.node, t.line_no, left(t.line, 200))
					FROM l4.fault f CROSS JOIN LATERAL l4.test_fault(f.signature, f.templates,
						(SELECT array_agg(j.job_id) FROM l4.job j WHERE j.status = 'succeeded')) AS t
					WHERE f.origin = 'imported' AND f.name = names[i] AND t.status = 'succeeded' AND NOT f.combined
					ORDER BY t.job_id, t.node, t.line_no LIMIT 1);
			END IF;
		END LOOP;
		IF dry_run OR 'error' = ANY (actions) THEN
			RAISE EXCEPTION 'nothing is kept' USING ERRCODE = 'triggered_action_exception';
		END IF;
	EXCEPTION WHEN triggered_action_exception THEN
		NULL;	-- all changes of this block are undone; the report stays
	END;
	RETURN QUERY SELECT u.n::int, u.name, u.action, u.problem
		FROM unnest(names, actions, problems) WITH ORDINALITY AS u(name, action, problem, n) ORDER BY u.n;
END
$$;
COMMENT ON FUNCTION l4.import_faults(jsonb, bool) IS 'stores a pack of faults and reports each row: new, changed, same or error; with one error, or with dry_run, nothing is stored';
