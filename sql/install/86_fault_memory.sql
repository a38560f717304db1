-- The memory: try a pattern on past jobs, confirm a diagnosis as a fault, merge duplicates.

CREATE FUNCTION l4.test_fault(signature l4.pcre DEFAULT NULL, templates text[] DEFAULT NULL, job_ids text[] DEFAULT NULL)
RETURNS TABLE (job_id text, status text, node text, line_no bigint, line text, occurrences bigint, captures jsonb, gave_up bool)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 100
BEGIN ATOMIC
	WITH template AS MATERIALIZED (
		SELECT t.* FROM ROWS FROM (pg_catalog.unnest(test_fault.templates), pg_catalog.unnest(l4._template_patterns(test_fault.templates))) AS t(template, pattern)
	), by_template AS MATERIALIZED (
		-- told by the event, once for all jobs
		SELECT e.event_id, pg_catalog.bool_or(m.yes) IS TRUE AS yes
		FROM l4._event AS e CROSS JOIN template AS t
		CROSS JOIN LATERAL (SELECT e.template OPERATOR(pg_catalog.=) t.template OR l4.pcre_match(e.example, t.pattern) AS yes) AS m
		WHERE m.yes IS NOT FALSE
		GROUP BY e.event_id
	)
	SELECT DISTINCT ON (j.job_id, l.event_id) j.job_id, j.status, l.node, l.line_no, pg_catalog.split_part(l.line, E'\n', 1), l.occurrences,
		l4.pcre_captures(l.line, test_fault.signature), m.yes IS NULL
	FROM l4.job AS j
	CROSS JOIN LATERAL l4._fault_lines(j.job_id) AS l
	LEFT JOIN by_template AS t ON t.event_id OPERATOR(pg_catalog.=) l.event_id
	CROSS JOIN LATERAL (SELECT l4.pcre_match(l.line, test_fault.signature) AS yes) AS s
	CROSS JOIN LATERAL (SELECT CASE WHEN s.yes OR t.yes THEN true
							WHEN NOT t.yes OR (s.yes IS NULL AND test_fault.signature IS NOT NULL) THEN NULL ELSE false END AS yes) AS m
	WHERE (test_fault.job_ids IS NULL OR j.job_id OPERATOR(pg_catalog.=) ANY (test_fault.job_ids))
	  AND pg_catalog.num_nonnulls(test_fault.signature, test_fault.templates) OPERATOR(pg_catalog.>) 0
	  AND m.yes IS NOT FALSE
	ORDER BY j.job_id, l.event_id, m.yes IS NULL, s.yes IS NOT TRUE, l.is_record, l.line_no;
END;
COMMENT ON FUNCTION l4.test_fault(l4.pcre, text[], text[]) IS 'what a signature or templates would match in the jobs that l4 knows: one line an event; nothing is stored';

-- Literal text stays, a variable part becomes a run of non-blanks (or, where that does not fit the example, anything), a list one of any
-- length.
CREATE FUNCTION l4._propose_signature(template text, example text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
	WITH piece AS (
		SELECT pg_catalog.regexp_replace(pg_catalog.regexp_replace(p.piece, '([][\\.^$|()?*+{}#-])', '\\\1', 'g'), '\s+', '\\s+', 'g') AS text, p.n
		FROM pg_catalog.regexp_split_to_table(pg_catalog.replace(template, '<LIST>', E'\x01'), '(?:<(?:\*|[A-Z][A-Z0-9_]*)>)+') WITH ORDINALITY AS p(piece, n)
	), pattern AS (
		SELECT w.n, pg_catalog.replace(pg_catalog.regexp_replace(pg_catalog.regexp_replace(pg_catalog.string_agg(p.text, w.wild ORDER BY p.n),
			'^(\\S\+|\\S\*\?|\.\*\?|\\s\+|\x01)+', ''), '(\\S\+|\\S\*\?|\.\*\?|\\s\+|\x01)+$', ''), E'\x01', '\S+(?:,\s*\S+)*') AS text
		FROM piece AS p CROSS JOIN (VALUES (1, '\S+'), (2, '\S*?'), (3, '.*?')) AS w(n, wild)
		GROUP BY w.n
	)
	SELECT p.text FROM pattern AS p
	WHERE l4.pcre_error(p.text) IS NULL AND l4._signature_usable(p.text::l4.pcre) AND l4.pcre_match(example, p.text::l4.pcre)
	ORDER BY p.n LIMIT 1);
COMMENT ON FUNCTION l4._propose_signature(text, text) IS 'pattern of a template that matches its example; NULL when there is none that says enough';

-- A template that was seen once may still hold the name of a node, and a list as many parts as it had then.
CREATE FUNCTION l4._general_template(job_id text, template text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
	name text;
	answer text := template;
BEGIN
	FOR name IN
		SELECT a.name FROM l4.job_node n CROSS JOIN LATERAL unnest(n.addresses || n.node) AS a(name)
		WHERE n.job_id = _general_template.job_id AND length(a.name) > 1 AND strpos(template, a.name) > 0
		ORDER BY length(a.name) DESC, a.name
	LOOP
		answer := regexp_replace(answer, '(?<![[:alnum:]_.-])' || regexp_replace(name, '([][\.^$|()?*+{}])', '\\\1', 'g') || '(?![[:alnum:]_-])', '<*>', 'g');
	END LOOP;
	RETURN regexp_replace(answer, '<(?:\*|[A-Z][A-Z0-9_]*)>(?:, ?<(?:\*|[A-Z][A-Z0-9_]*)>)+', '<LIST>', 'g');
END
$$;
COMMENT ON FUNCTION l4._general_template(text, text) IS 'a template without the names and addresses of the job''s nodes, lists of any length';

-- What each suspect event says of the cause. An event only tells of a failure elsewhere if the faults found in it are effects, or if
-- another job, whose cause is known, shows it too.
CREATE FUNCTION l4._suspect_kinds(job_id text)
RETURNS TABLE (event_id int, rank int, is_effect bool, is_known bool, at_fault bool, others bigint)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 20
BEGIN ATOMIC
	WITH known AS MATERIALIZED (
		-- by their first records: where a value decides, the pattern of the event would match any value
		SELECT e.event_id, pg_catalog.bool_and(e.is_effect OR e.severity OPERATOR(pg_catalog.=) ANY (ARRAY['info', 'warning'])) AS is_effect
		FROM (SELECT f.severity, l4._survivor(t.event_id, t.merged_into) AS event_id, f.is_effect OR COALESCE(m.is_effect, false) AS is_effect, f.priority,
				pg_catalog.max(f.priority) OVER (PARTITION BY h.event_id) AS top
			FROM l4._fault_hit AS h
			JOIN l4.fault AS f ON f.fault_id OPERATOR(pg_catalog.=) h.fault_id
			JOIN l4._event AS t ON t.event_id OPERATOR(pg_catalog.=) h.event_id
			LEFT JOIN l4.fault_match AS m ON m.job_id OPERATOR(pg_catalog.=) h.job_id AND m.fault_id OPERATOR(pg_catalog.=) h.fault_id
				AND NOT m.caused_by OPERATOR(pg_catalog.&&) COALESCE((SELECT pg_catalog.array_agg(c.name) FROM l4.fault AS c WHERE c.combined), '{}')
			WHERE h.job_id OPERATOR(pg_catalog.=) _suspect_kinds.job_id AND NOT h.gave_up) AS e
		WHERE e.priority OPERATOR(pg_catalog.=) e.top
		GROUP BY e.event_id
	)
	SELECT s.event_id, s.rank, COALESCE(k.is_effect, o.of_others, false), k.event_id IS NOT NULL,
		EXISTS (SELECT FROM l4.suspect_node AS n WHERE n.job_id OPERATOR(pg_catalog.=) s.job_id AND n.node OPERATOR(pg_catalog.=) s.example_node AND n.is_suspect),
		o.jobs
	FROM l4.suspect_event AS s
	LEFT JOIN known AS k ON k.event_id OPERATOR(pg_catalog.=) s.event_id
	CROSS JOIN LATERAL (
		SELECT pg_catalog.count(*) AS jobs, pg_catalog.bool_or(NOT m.is_effect AND f.severity OPERATOR(pg_catalog.=) ANY (ARRAY['error', 'fatal'])
			AND m.event_id OPERATOR(pg_catalog.<>) s.event_id) AS of_others
		FROM l4.suspect_event AS e
		LEFT JOIN l4.fault_match AS m ON m.job_id OPERATOR(pg_catalog.=) e.job_id AND m.rank OPERATOR(pg_catalog.=) 1
		LEFT JOIN l4.fault AS f ON f.fault_id OPERATOR(pg_catalog.=) m.fault_id
		WHERE e.event_id OPERATOR(pg_catalog.=) s.event_id AND e.job_id OPERATOR(pg_catalog.<>) s.job_id) AS o
	WHERE s.job_id OPERATOR(pg_catalog.=) _suspect_kinds.job_id;
END;
COMMENT ON FUNCTION l4._suspect_kinds(text)
	IS 'suspect events of a job: only tells of a failure elsewhere, a known fault was found in it, a suspect node said it, how many other diagnoses claim it';

-- Which suspect event to make a pattern of, best first: what a known cause was found in, what a suspect node said, what the fewest other
-- diagnoses claim. Lines that only tell of a failure elsewhere come into question when there is nothing else, as the diagnosis ranks them.
CREATE FUNCTION l4._telling_events(job_id text) RETURNS int[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT pg_catalog.array_agg(k.event_id ORDER BY k.is_effect, NOT k.is_effect AND NOT k.is_known,
		NOT k.is_effect AND NOT k.at_fault, CASE WHEN NOT k.is_effect THEN k.others END, k.rank)
	FROM l4._suspect_kinds(_telling_events.job_id) AS k);
COMMENT ON FUNCTION l4._telling_events(text) IS 'suspect events of a job, first the one that says most about what was particular to it';

CREATE FUNCTION l4._check_leads_to(name text, leads_to text[]) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
	SELECT CASE
		WHEN pg_catalog.count(*) FILTER (WHERE NOT t.known) OPERATOR(pg_catalog.>) 0 THEN pg_catalog.format('leads_to names a fault that does not exist: "%s"',
			(pg_catalog.array_agg(t.effect ORDER BY t.effect) FILTER (WHERE NOT t.known))[1])
		WHEN pg_catalog.bool_or(t.back) THEN pg_catalog.format('leads_to makes a cycle: "%s" leads back to "%s"',
			(pg_catalog.array_agg(t.effect ORDER BY t.effect) FILTER (WHERE t.back))[1], _check_leads_to.name) END
	FROM (SELECT u.effect,
			EXISTS (SELECT FROM l4.fault AS f WHERE f.name OPERATOR(pg_catalog.=) u.effect) AS known,
			u.effect OPERATOR(pg_catalog.=) _check_leads_to.name OR EXISTS (SELECT FROM l4._fault_effects(ARRAY[u.effect]) AS r
				WHERE r.effect OPERATOR(pg_catalog.=) _check_leads_to.name) AS back
		FROM pg_catalog.unnest(_check_leads_to.leads_to) AS u(effect)) AS t);
COMMENT ON FUNCTION l4._check_leads_to(text, text[]) IS 'what is wrong with leads_to of a fault; NULL = nothing';

CREATE FUNCTION l4._healthy_matches(job_id text, signature l4.pcre, templates text[])
RETURNS TABLE (healthy_job text, node text, line_no bigint, line text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10
BEGIN ATOMIC
	SELECT t.job_id, t.node, t.line_no, t.line
	FROM l4.test_fault(_healthy_matches.signature, _healthy_matches.templates,
		COALESCE((SELECT pg_catalog.array_agg(j.job_id) FROM l4.job AS j
			WHERE j.job_id OPERATOR(pg_catalog.<>) _healthy_matches.job_id
			  AND (j.status OPERATOR(pg_catalog.=) 'succeeded'
				   OR j.job_id OPERATOR(pg_catalog.=) ANY ((SELECT d.baseline FROM l4.diagnosis AS d
															WHERE d.job_id OPERATOR(pg_catalog.=) _healthy_matches.job_id)::text[]))), '{}')) AS t
	ORDER BY t.job_id, t.node, t.line_no LIMIT 10;
END;
COMMENT ON FUNCTION l4._healthy_matches(text, l4.pcre, text[]) IS 'what a pattern matches in successful jobs and in the baseline of a diagnosis, up to ten lines';

-- The job itself must show what it is confirmed to show, and no healthy job may.
CREATE FUNCTION l4._check_pattern(job_id text, name text, signature l4.pcre, templates text[]) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	proof text;
	problem text;
BEGIN
	SELECT t.line INTO proof FROM l4.test_fault(_check_pattern.signature, _check_pattern.templates, ARRAY[_check_pattern.job_id]) AS t
	WHERE NOT t.gave_up ORDER BY _check_pattern.signature IS NOT NULL AND t.captures IS NULL, t.line_no LIMIT 1;
	IF proof IS NULL THEN
		RAISE EXCEPTION 'the pattern matches no line of job "%"', _check_pattern.job_id
			USING ERRCODE = 'invalid_parameter_value', HINT = 'l4.test_fault() shows what a pattern matches.';
	END IF;
	SELECT string_agg(format('job %s, node %s, line %s: %s', t.healthy_job, t.node, t.line_no, left(t.line, 200)), E'\n') INTO problem
	FROM l4._healthy_matches(_check_pattern.job_id, _check_pattern.signature, _check_pattern.templates) AS t;
	IF problem IS NOT NULL THEN
		RAISE EXCEPTION 'the pattern of fault "%" would match healthy jobs', _check_pattern.name
			USING ERRCODE = 'check_violation', DETAIL = problem, HINT = 'Give a narrower signature, or other events.';
	END IF;
	RETURN CASE WHEN l4.pcre_match(proof, signature) THEN proof END;
END
$$;
COMMENT ON FUNCTION l4._check_pattern(text, text, l4.pcre, text[]) IS 'the line of the job that a pattern matches; raises when there is none, or one in a healthy job';

-- Where a known cause goes by a value of the event (an exit status), the pattern must keep it.
CREATE FUNCTION l4._decided_template(job_id text, event_id int, template text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
	pattern constant text := '<(?:\*|[A-Z][A-Z0-9_]*)>';
	parts constant text[] := regexp_split_to_array(template, pattern);
	marks text[] := ARRAY(SELECT m.found[1] FROM regexp_matches(template, '(' || pattern || ')', 'g') AS m(found));
	known l4.pcre;
	v record;
BEGIN
	SELECT f.signature INTO known
	FROM l4._fault_hit h JOIN l4.fault f ON f.fault_id = h.fault_id JOIN l4._event t ON t.event_id = h.event_id
	WHERE h.job_id = _decided_template.job_id AND l4._survivor(t.event_id, t.merged_into) = _decided_template.event_id
	  AND NOT h.gave_up AND NOT f.is_effect AND f.signature IS NOT NULL
	ORDER BY f.priority DESC, f.fault_id LIMIT 1;
	FOR v IN
		SELECT * FROM (
			SELECT l.value, l.is_first, m.yes, bool_or(NOT m.yes OR l.is_first AND NOT m.other) OVER (PARTITION BY l.slot) AS varies,
				dense_rank() OVER (ORDER BY l.slot) AS k
			FROM l4._line_variants(_decided_template.job_id, ARRAY[_decided_template.event_id]) AS l
			-- a job may know one value only: try another with as many digits too, and none where there was some
			CROSS JOIN LATERAL (SELECT l4.pcre_match(l.line, known) IS TRUE AS yes,
				l4.pcre_match(overlay(l.line PLACING translate(l.value, '0123456789', '1234567898') FROM l.place FOR length(l.value)), known) IS TRUE AS other) AS m) AS w
		WHERE known IS NOT NULL AND w.is_first AND w.yes AND w.varies AND w.k <= cardinality(marks)
	LOOP
		marks[v.k] := v.value;
	END LOOP;
	RETURN (SELECT string_agg(p.text || coalesce(marks[p.n], ''), '' ORDER BY p.n) FROM unnest(parts) WITH ORDINALITY AS p(text, n));
END
$$;
COMMENT ON FUNCTION l4._decided_template(text, int, text) IS 'a template with the values by which a known cause is told in it';

CREATE FUNCTION l4._event_pattern(job_id text, events int[], OUT signature l4.pcre, OUT templates text[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT (pg_catalog.array_agg(s.signature ORDER BY c.n))[1]::l4.pcre,
		pg_catalog.array_agg(g.template ORDER BY c.n) FILTER (WHERE l4._templates_usable(ARRAY[g.template]))
	FROM pg_catalog.unnest(_event_pattern.events) WITH ORDINALITY AS c(id, n)
	JOIN l4._event AS t ON t.event_id OPERATOR(pg_catalog.=) c.id
	CROSS JOIN LATERAL l4._general_template(_event_pattern.job_id, l4._decided_template(_event_pattern.job_id, c.id, t.template)) AS g(template)
	-- the example of the event may be another job's, with another value
	CROSS JOIN LATERAL (SELECT COALESCE(l4._propose_signature(g.template, t.example), (
		SELECT p.signature
		FROM l4._fault_lines(_event_pattern.job_id) AS l CROSS JOIN LATERAL l4._propose_signature(g.template, l.line) AS p(signature)
		WHERE l.event_id OPERATOR(pg_catalog.=) c.id AND NOT l.is_record AND p.signature IS NOT NULL
		ORDER BY l.line_no LIMIT 1)) AS signature) AS s;
END;
COMMENT ON FUNCTION l4._event_pattern(text, int[]) IS 'signature made of the first of some events, templates of all';

-- The first telling event whose pattern no successful job matches; when all do, the first, so that the caller sees why.
CREATE FUNCTION l4._pattern_event(job_id text) RETURNS int[]
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	candidates constant int[] := l4._telling_events(_pattern_event.job_id);
	p record;
	i int;
BEGIN
	IF candidates IS NULL THEN
		RAISE EXCEPTION 'no suspect event of job "%" to make a pattern of', _pattern_event.job_id
			USING ERRCODE = 'no_data_found', HINT = 'Run l4.diagnose() first, or give events, signature or templates.';
	END IF;
	FOR i IN 1 .. least(cardinality(candidates), 5) LOOP
		SELECT * INTO p FROM l4._event_pattern(_pattern_event.job_id, ARRAY[candidates[i]]);
		IF num_nonnulls(p.signature, p.templates) > 0
		   AND NOT EXISTS (SELECT FROM l4._healthy_matches(_pattern_event.job_id, p.signature, p.templates)) THEN
			RETURN ARRAY[candidates[i]];
		END IF;
	END LOOP;
	RETURN ARRAY[candidates[1]];
END
$$;
COMMENT ON FUNCTION l4._pattern_event(text) IS 'the suspect event of a job to make a pattern of';

CREATE FUNCTION l4.confirm_fault(job_id text, name text, root_cause text, remedy text, category text DEFAULT NULL, component text DEFAULT NULL,
	severity text DEFAULT NULL, signature l4.pcre DEFAULT NULL, templates text[] DEFAULT NULL, leads_to text[] DEFAULT '{}',
	events int[] DEFAULT NULL, source_url text DEFAULT NULL, is_effect bool DEFAULT false)
RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	chosen int[] := events;
	proof text;
	problem text;
	known record;
	id int;
BEGIN
	IF NOT EXISTS (SELECT FROM l4.job j WHERE j.job_id = confirm_fault.job_id) THEN
		RAISE EXCEPTION 'job "%" is not known', confirm_fault.job_id
			USING ERRCODE = 'undefined_object', HINT = 'l4.job lists the jobs.';
	END IF;
	IF chosen IS NULL AND signature IS NULL AND templates IS NULL THEN
		chosen := l4._pattern_event(confirm_fault.job_id);
	END IF;
	IF chosen IS NOT NULL THEN
		SELECT e.id::text INTO problem FROM unnest(chosen) AS e(id)
		WHERE NOT EXISTS (SELECT FROM l4._fault_lines(confirm_fault.job_id) AS l WHERE l.event_id = e.id) ORDER BY e.id LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'job "%" has no event %', confirm_fault.job_id, problem
				USING ERRCODE = 'undefined_object', HINT = 'l4.suspect_event and l4.event_count list the events of a job.';
		END IF;
		SELECT coalesce(confirm_fault.signature, p.signature), p.templates INTO signature, templates
		FROM l4._event_pattern(confirm_fault.job_id, chosen) AS p;
		IF signature IS NULL AND templates IS NULL THEN
			RAISE EXCEPTION 'event % says too little to make a pattern of', chosen[1]
				USING ERRCODE = 'invalid_parameter_value', HINT = 'Choose other events, or give a signature.';
		END IF;
	END IF;
	IF severity IS NULL AND EXISTS (SELECT FROM l4._suspect_kinds(confirm_fault.job_id) AS k WHERE k.event_id = ANY (chosen) HAVING bool_and(k.is_effect)) THEN
		severity := 'warning';
		RAISE NOTICE 'fault "%" goes by what other faults lead to as well', confirm_fault.name
			USING DETAIL = 'It is kept as a warning, so that a cause that is found comes before it.',
				HINT = 'Give the signature of a line that only this fault shows, if there is one.';
	END IF;
	proof := l4._check_pattern(confirm_fault.job_id, confirm_fault.name, confirm_fault.signature, confirm_fault.templates);
	problem := l4._check_leads_to(confirm_fault.name, confirm_fault.leads_to);
	IF problem IS NOT NULL THEN
		RAISE EXCEPTION 'invalid leads_to of fault "%"', confirm_fault.name USING ERRCODE = 'invalid_parameter_value', DETAIL = problem || '.';
	END IF;
	-- what the known faults of the job say stands in for what the caller left out; before a match, what ingest found in the events
	SELECT f.category, f.component INTO known
	FROM l4._fault_hit h JOIN l4.fault f ON f.fault_id = h.fault_id
	WHERE h.job_id = confirm_fault.job_id AND h.event_id = ANY (chosen) AND NOT h.gave_up
	ORDER BY f.is_effect, f.priority DESC, f.fault_id LIMIT 1;
	category := coalesce(confirm_fault.category, (
		SELECT f.category FROM l4.fault_match m JOIN l4.fault f ON f.fault_id = m.fault_id
		WHERE m.job_id = confirm_fault.job_id ORDER BY m.event_id = ANY (chosen) DESC NULLS LAST, m.rank LIMIT 1), known.category, 'user');
	component := coalesce(confirm_fault.component, (
		SELECT f.component FROM l4.fault_match m JOIN l4.fault f ON f.fault_id = m.fault_id
		WHERE m.job_id = confirm_fault.job_id AND f.category = confirm_fault.category
		ORDER BY m.event_id = ANY (chosen) DESC NULLS LAST, m.rank LIMIT 1),
		CASE WHEN known.category = confirm_fault.category THEN known.component END,
		CASE category WHEN 'hardware' THEN 'node' WHEN 'framework' THEN 'framework' WHEN 'platform' THEN 'platform_config' ELSE 'program' END);
	SELECT f.fault_id INTO id FROM l4.fault f
	WHERE f.origin <> 'builtin' AND f.name <> confirm_fault.name AND f.signature OPERATOR(l4.=) confirm_fault.signature ORDER BY f.fault_id LIMIT 1;
	IF FOUND THEN
		UPDATE l4.fault f
		SET templates = (SELECT array_agg(DISTINCT t.template ORDER BY t.template) FROM unnest(f.templates || confirm_fault.templates) AS t(template))
		WHERE f.fault_id = id;
		RAISE NOTICE 'fault "%" has this signature already', (SELECT f.name FROM l4.fault f WHERE f.fault_id = id)
			USING DETAIL = 'The templates were added to it; no second fault was made.';
		RETURN id;
	END IF;
	INSERT INTO l4.fault AS f (name, category, component, signature, templates, root_cause, remedy, leads_to, severity, example, source_url, origin,
		source_job, confirmed_by, confirmed_at, is_effect)
	VALUES (confirm_fault.name, confirm_fault.category, confirm_fault.component, confirm_fault.signature, confirm_fault.templates,
		confirm_fault.root_cause, confirm_fault.remedy, confirm_fault.leads_to, coalesce(confirm_fault.severity, 'error'), proof,
		confirm_fault.source_url, 'confirmed', confirm_fault.job_id, session_user, now(), confirm_fault.is_effect)
	ON CONFLICT ON CONSTRAINT fault_origin_name_key DO NOTHING
	RETURNING f.fault_id INTO id;
	IF id IS NULL THEN
		RAISE EXCEPTION 'fault "%" was confirmed before', confirm_fault.name
			USING ERRCODE = 'unique_violation', HINT = 'Choose another name; l4.merge_faults() joins two faults that are the same.';
	END IF;
	RETURN id;
END
$$;
COMMENT ON FUNCTION l4.confirm_fault(text, text, text, text, text, text, text, l4.pcre, text[], text[], int[], text, bool)
	IS 'archives what was diagnosed in a job as a fault; makes signature and templates of its suspect events unless given; refuses what a healthy job matches';

CREATE FUNCTION l4.merge_faults(keep int, gone int) RETURNS int
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	k l4.fault;
	g l4.fault;
BEGIN
	SELECT * INTO k FROM l4.fault f WHERE f.fault_id = keep FOR UPDATE;
	SELECT * INTO g FROM l4.fault f WHERE f.fault_id = gone FOR UPDATE;
	IF k.fault_id IS NULL OR g.fault_id IS NULL THEN
		RAISE EXCEPTION 'fault % does not exist', CASE WHEN k.fault_id IS NULL THEN keep ELSE gone END
			USING ERRCODE = 'undefined_object', HINT = 'l4.fault lists them.';
	END IF;
	IF keep = gone OR k.combined OR g.combined OR k.origin = 'builtin' OR g.origin = 'builtin' THEN
		RAISE EXCEPTION 'faults "%" and "%" cannot be merged', k.name, g.name
			USING ERRCODE = 'invalid_parameter_value', DETAIL = 'Both must be rows of the user, different ones, and neither a combination of events.',
				HINT = 'A shipped fault is switched off by a row of l4.disabled_rule.';
	END IF;
	UPDATE l4.fault f
	SET signature = CASE WHEN k.signature IS NULL THEN g.signature WHEN g.signature IS NULL OR g.signature OPERATOR(l4.=) k.signature THEN k.signature
			ELSE format('(?:%s)|(?:%s)', k.signature::text, g.signature::text)::l4.pcre END,
		templates = (SELECT array_agg(DISTINCT t.template ORDER BY t.template) FROM unnest(k.templates || g.templates) AS t(template)),
		leads_to = (SELECT coalesce(array_agg(DISTINCT t.effect ORDER BY t.effect), '{}') FROM unnest(k.leads_to || g.leads_to) AS t(effect)
					WHERE t.effect NOT IN (k.name, g.name)),
		example = coalesce(k.example, g.example)
	WHERE f.fault_id = keep;
	DELETE FROM l4.fault f WHERE f.fault_id = gone;
	UPDATE l4.fault f
	SET leads_to = (SELECT array_agg(DISTINCT CASE t.effect WHEN g.name THEN k.name ELSE t.effect END) FROM unnest(f.leads_to) AS t(effect))
	WHERE g.name = ANY (f.leads_to) AND f.fault_id >= 1000000 AND f.fault_id <> keep
	  AND NOT EXISTS (SELECT FROM l4.fault o WHERE o.name = g.name);
	UPDATE l4.fault_match m SET fault_id = keep, fault_name = k.name WHERE m.fault_id = gone;
	RETURN keep;
END
$$;
COMMENT ON FUNCTION l4.merge_faults(int, int) IS 'joins two of the user''s faults that are the same: the first one then matches what both matched, the second one is gone';
