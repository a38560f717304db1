-- l4.report(): a diagnosis as text, for a person at a terminal. Each section is a function of its own; an empty one is left out.

CREATE FUNCTION l4._report_title(job_id text, width int) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT t.line
	FROM l4.diagnosis AS d
	LEFT JOIN l4.job AS j ON j.job_id = d.job_id
	CROSS JOIN LATERAL (SELECT
		string_agg(format('%s%s', s.node, ' (rank ' || n.rank || ')'), ', ' ORDER BY s.rank) FILTER (WHERE s.is_suspect) AS suspects,
		count(*) FILTER (WHERE s.is_suspect) AS suspect_count
		FROM l4.suspect_node AS s LEFT JOIN l4.job_node AS n ON n.job_id = s.job_id AND n.node = s.node
		WHERE s.job_id = d.job_id AND s.rank <= 5) AS s
	CROSS JOIN LATERAL (SELECT count(*) AS nodes, coalesce(sum(n.lines), 0) AS lines FROM l4._node AS n WHERE n.job_id = d.job_id) AS n
	CROSS JOIN LATERAL (VALUES
		(1, format('l4 report  %s', l4._printable(d.job_id, _report_title.width - 12))),
		(2, repeat('=', _report_title.width)),
		(3, CASE WHEN n.lines = 0 THEN 'NO LOGS' WHEN d.status = 'HEALTHY' THEN 'NOTHING DEVIATES' WHEN coalesce(d.symptom, 'none') = 'none' THEN 'NO FAILURE SEEN' ELSE upper(d.symptom) END
			|| coalesce(' in stage ' || d.stage, '') || coalesce(', iteration ' || d.iteration, '')
			|| CASE WHEN d.symptom = 'none' THEN '' WHEN s.suspects IS NULL THEN '; no node stands out'
				WHEN s.suspect_count > 1 THEN '; suspects ' || l4._printable(s.suspects, 400) ELSE '; suspect ' || l4._printable(s.suspects, 200) END),
		(4, format('status %s; %s; %s wrote %s lines', d.status,
			CASE coalesce(cardinality(d.baseline), 0) WHEN 0 THEN 'compared with no other job'
				WHEN 1 THEN 'compared with 1 successful job' ELSE format('compared with %s successful jobs', cardinality(d.baseline)) END
			|| coalesce(' (settings ' || l4._printable(nullif(j.settings, ''), 60) || ')', ''),
			coalesce(n.nodes || ' of ' || j.expected_nodes || ' nodes', CASE n.nodes WHEN 1 THEN '1 node' ELSE n.nodes || ' nodes' END), to_char(n.lines, 'FM999,999,999,999'))),
		(5, format('diagnosed %s', to_char(d.diagnosed_at, 'YYYY-MM-DD HH24:MI:SS TZ')))) AS p(n, line)
	CROSS JOIN LATERAL l4._wrap(p.line, _report_title.width) WITH ORDINALITY AS t(line, m)
	WHERE d.job_id = _report_title.job_id
	ORDER BY p.n, t.m;
END;
COMMENT ON FUNCTION l4._report_title(text, int) IS 'section of l4.report(): the verdict';

CREATE FUNCTION l4._report_story(job_id text, width int) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT s.line FROM (
		SELECT 1 AS part, 0::bigint AS n, w.m, w.line
		FROM l4.diagnosis AS d
		CROSS JOIN LATERAL l4._block(d.summary, _report_story.width, '  ', '  ') WITH ORDINALITY AS w(line, m)
		WHERE d.job_id = _report_story.job_id
		UNION ALL
		SELECT 2, 0, 0, '' WHERE EXISTS (SELECT FROM l4._report_moments(_report_story.job_id))
		UNION ALL
		SELECT 3, m.n, w.m, w.line
		FROM (SELECT x.ts, x.what, row_number() OVER (ORDER BY x.ts, x.n) AS n, max(x.ts) OVER () - min(x.ts) OVER () > interval '20 hours' AS days
				FROM l4._report_moments(_report_story.job_id) WITH ORDINALITY AS x(ts, kind, node, what, n)) AS m
		CROSS JOIN LATERAL (SELECT '  ' || to_char(m.ts, CASE WHEN m.days THEN 'MM-DD HH24:MI:SS' ELSE 'HH24:MI:SS.MS' END) || '  ') AS h(head)
		CROSS JOIN LATERAL l4._block(m.what, _report_story.width, h.head, repeat(' ', length(h.head))) WITH ORDINALITY AS w(line, m)
	) AS s
	ORDER BY s.part, s.n, s.m;
END;
COMMENT ON FUNCTION l4._report_story(text, int) IS 'section of l4.report(): what happened, in the order of time';

CREATE FUNCTION l4._report_suspects(job_id text, width int) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	-- suspects, and the next ones for comparison: at least three, at most eight
	WITH listed AS (
		SELECT s.rank, s.node, round(s.score::numeric, 2)::text AS score, s.score / nullif(max(s.score) OVER (), 0) AS part, s.is_suspect, s.reasons,
			coalesce(n.rank::text, '-') AS node_rank, greatest(4, least(24, max(length(s.node)) OVER ())) AS name_width,
			greatest(4, max(length(n.rank::text)) OVER ()) AS rank_width, greatest(6, max(length(round(s.score::numeric, 2)::text)) OVER ()) AS score_width,
			(SELECT count(*) FROM l4.suspect_node AS x WHERE x.job_id = s.job_id) AS listed
		FROM l4.suspect_node AS s LEFT JOIN l4.job_node AS n ON n.job_id = s.job_id AND n.node = s.node
		WHERE s.job_id = _report_suspects.job_id AND s.rank <= 8 AND (s.is_suspect OR s.rank <= 3 AND s.score > 0)
	), shown AS (
		-- where little room is left beside a name, reasons go below it
		SELECT l.*, _report_suspects.width - 24 - l.name_width - l.rank_width - l.score_width < 30 AS narrow FROM listed AS l
	)
	SELECT r.line FROM (
		SELECT 0 AS part, 0 AS n, 0::bigint AS m,
			format('    #  %s  %s  %s%s', rpad('node', max(name_width)), lpad('rank', max(rank_width)), rpad('score', max(score_width)),
				CASE WHEN NOT bool_or(narrow) THEN repeat(' ', 14) || 'why' END) AS line FROM shown HAVING count(*) > 0
		UNION ALL
		SELECT 1, s.rank, w.m, w.line
		FROM shown AS s
		CROSS JOIN LATERAL (SELECT format('  %s %s  %s  %s  %s %s  ', CASE WHEN s.is_suspect THEN '>' ELSE ' ' END, s.rank,
			rpad(l4._short_name(s.node, s.name_width), s.name_width), lpad(s.node_rank, s.rank_width),
			lpad(s.score, s.score_width), rpad(repeat('#', round(10 * s.part)::int), 10))) AS h(head)
		CROSS JOIN LATERAL (SELECT CASE WHEN s.narrow THEN repeat(' ', 7) ELSE repeat(' ', length(h.head)) END) AS i(indent)
		CROSS JOIN LATERAL (
			SELECT h.head AS line, 0::bigint AS m WHERE s.narrow
			UNION ALL
			SELECT b.line, b.m FROM l4._block(coalesce(nullif(array_to_string(s.reasons, '; '), ''), '-'), _report_suspects.width,
				CASE WHEN s.narrow THEN i.indent ELSE h.head END, i.indent) WITH ORDINALITY AS b(line, m)) AS w
		UNION ALL
		SELECT 2, 0, 0, format('       %s more in l4.suspect_node', max(listed) - count(*)) FROM shown HAVING max(listed) > count(*)
	) AS r
	ORDER BY r.part, r.n, r.m;
END;
COMMENT ON FUNCTION l4._report_suspects(text, int) IS 'section of l4.report(): which nodes, and why';

CREATE FUNCTION l4._report_proof(job_id text, width int) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	WITH shown AS (
		SELECT e.* FROM l4.suspect_event AS e WHERE e.job_id = _report_proof.job_id AND e.rank <= 10
	)
	SELECT r.line FROM (
		SELECT e.rank AS n, 1 AS part, 0::bigint AS k, 0::bigint AS m,
			format('  %s  %s:%s%s  %s on %s  (event %s, score %s)', lpad(e.rank::text, 2), l4._short_name(e.example_node, 40), e.example_line_no,
				coalesce('  ' || to_char(e.first_ts, 'HH24:MI:SS.MS'), ''),
				CASE e.occurrences WHEN 1 THEN 'once' ELSE e.occurrences || ' times' END,
				CASE e.nodes WHEN 1 THEN '1 node' ELSE e.nodes || ' nodes' END,
				e.event_id, round(e.score::numeric, 2)) AS line
		FROM shown AS e
		UNION ALL
		SELECT e.rank, 2, l.k, w.m, w.line
		FROM shown AS e
		CROSS JOIN LATERAL unnest(l4._excerpt(e.example_line)) WITH ORDINALITY AS l(line, k)
		CROSS JOIN LATERAL l4._block(l4._printable(l.line, 3 * (_report_proof.width - 8)), _report_proof.width, '      | ', '      |   ')
			WITH ORDINALITY AS w(line, m)
		UNION ALL
		SELECT e.rank, 3, 0, w.m, w.line
		FROM shown AS e
		CROSS JOIN LATERAL l4._block(array_to_string(e.reasons, '; '), _report_proof.width, '      why: ', '           ') WITH ORDINALITY AS w(line, m)
		UNION ALL
		SELECT 1000000, 4, 0, 0, format('      %s more in l4.suspect_event', count(*) - 10)
		FROM l4.suspect_event AS e WHERE e.job_id = _report_proof.job_id HAVING count(*) > 10
	) AS r
	ORDER BY r.n, r.part, r.k, r.m;
END;
COMMENT ON FUNCTION l4._report_proof(text, int) IS 'section of l4.report(): the lines that tell the failure, with reasons';

CREATE FUNCTION l4._report_iterations(job_id text, width int) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT r.line FROM (
		SELECT 1 AS part, -l.iteration AS n, w.m, w.line
		FROM (SELECT n.last_iteration AS iteration, count(*) AS nodes, string_agg(n.node, ', ' ORDER BY n.rank, n.node) AS names,
				row_number() OVER (ORDER BY n.last_iteration DESC) AS turn
			FROM l4._node AS n WHERE n.job_id = _report_iterations.job_id AND n.last_iteration IS NOT NULL
			GROUP BY n.last_iteration) AS l
		CROSS JOIN LATERAL l4._block(format('last iteration reported: %s by %s', l.iteration,
				CASE l.nodes WHEN 1 THEN l.names ELSE l.nodes || ' nodes' || CASE WHEN l.nodes <= 4 THEN ' (' || l.names || ')' ELSE '' END END),
			_report_iterations.width, '  ', '    ') WITH ORDINALITY AS w(line, m)
		WHERE l.turn <= 4
		UNION ALL
		SELECT 2, s.rank, w.m, w.line
		FROM l4.suspect_iteration AS s
		CROSS JOIN LATERAL l4._block(format('iteration %s%s: %s%s', s.iteration, coalesce(' on ' || s.node, ''),
				coalesce(array_to_string(s.reasons, '; '), 'deviates'),
				CASE WHEN s.distance IS NULL OR s.sigma IS NULL OR array_to_string(s.reasons, ' ') ~ 'sigma' THEN ''
					ELSE format(' (distance %s, %s sigma)', round(s.distance::numeric, 1), round(s.sigma::numeric, 1)) END),
			_report_iterations.width, '  ', '    ') WITH ORDINALITY AS w(line, m)
		WHERE s.job_id = _report_iterations.job_id AND s.rank <= 5
	) AS r
	ORDER BY r.part, r.n, r.m;
END;
COMMENT ON FUNCTION l4._report_iterations(text, int) IS 'section of l4.report(): how far training came, and which iterations deviate';

CREATE FUNCTION l4._report_faults(job_id text, width int) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	-- one entry a fault, at its best rank
	WITH shown AS (
		SELECT row_number() OVER (ORDER BY min(m.rank)) AS n, f.name, f.category, f.component, f.severity, f.root_cause, f.remedy, f.leads_to,
			f.origin, f.source_job, f.source_url, (array_agg(m.node ORDER BY m.rank))[1] AS node,
			(array_agg(m.line_no ORDER BY m.rank))[1] AS line_no, (array_agg(m.line ORDER BY m.rank))[1] AS line
		FROM l4.fault_match AS m JOIN l4.fault AS f USING (fault_id)
		WHERE m.job_id = _report_faults.job_id
		GROUP BY f.fault_id
	)
	SELECT r.line FROM (
		SELECT s.n, 1 AS part, 0::bigint AS m, format('  %s  %s  (%s)%s', s.n, l4._printable(s.name, 60),
			concat_ws(', ', s.category, s.component, s.severity),
			coalesce(format('  at %s:%s', l4._short_name(s.node, 40), s.line_no), '')) AS line
		FROM shown AS s WHERE s.n <= 5
		UNION ALL
		SELECT s.n, 2, w.m, w.line FROM shown AS s
		CROSS JOIN LATERAL l4._block(s.root_cause, _report_faults.width, '     cause:    ', '               ') WITH ORDINALITY AS w(line, m) WHERE s.n <= 5
		UNION ALL
		SELECT s.n, 3, w.m, w.line FROM shown AS s
		CROSS JOIN LATERAL l4._block(s.remedy, _report_faults.width, '     remedy:   ', '               ') WITH ORDINALITY AS w(line, m) WHERE s.n <= 5
		UNION ALL
		SELECT s.n, 4, w.m, w.line FROM shown AS s
		CROSS JOIN LATERAL l4._block(array_to_string(s.leads_to, ', '), _report_faults.width, '     leads to: ', '               ') WITH ORDINALITY AS w(line, m) WHERE s.n <= 5
		UNION ALL
		SELECT s.n, 5, 0, format('     known:    confirmed in %s', l4._printable(s.source_job, 60)) FROM shown AS s WHERE s.n <= 5 AND s.source_job IS NOT NULL
		UNION ALL
		SELECT s.n, 6, 0, '     see:      ' || l4._printable(s.source_url, 400) FROM shown AS s WHERE s.n <= 5 AND s.source_url <> ''
		UNION ALL
		SELECT 1000000, 7, 0, format('     %s more in l4.fault_match', count(*) - 5) FROM shown HAVING count(*) > 5
	) AS r
	ORDER BY r.n, r.part, r.m;
END;
COMMENT ON FUNCTION l4._report_faults(text, int) IS 'section of l4.report(): known faults whose signature occurs in the job';

CREATE FUNCTION l4._coverage_text(value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE jsonb_typeof(_coverage_text.value)
	WHEN 'array' THEN (SELECT string_agg(x.v, ', ' ORDER BY x.n) FROM jsonb_array_elements_text(_coverage_text.value) WITH ORDINALITY AS x(v, n))
	WHEN 'object' THEN (SELECT string_agg(x.k || ' ' || x.v, ', ' ORDER BY x.k) FROM jsonb_each_text(_coverage_text.value) AS x(k, v))
	ELSE _coverage_text.value #>> '{}' END;
COMMENT ON FUNCTION l4._coverage_text(jsonb) IS 'a value of diagnosis.coverage as text; NULL when it says nothing';

CREATE FUNCTION l4._report_coverage(job_id text, width int) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT w.line
	FROM l4.diagnosis AS d
	CROSS JOIN LATERAL jsonb_each(CASE jsonb_typeof(d.coverage) WHEN 'object' THEN d.coverage ELSE '{}' END) AS c(key, value)
	CROSS JOIN LATERAL l4._block(replace(c.key, '_', ' ') || ': ' || l4._printable(l4._coverage_text(c.value), 600), _report_coverage.width, '  ', '    ')
		WITH ORDINALITY AS w(line, m)
	WHERE d.job_id = _report_coverage.job_id
	ORDER BY c.key, w.m;
END;
COMMENT ON FUNCTION l4._report_coverage(text, int) IS 'section of l4.report(): what the diagnosis could see, and what it missed';

CREATE FUNCTION l4._report_next(job_id text, width int) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT '  ' || q.line
	FROM l4.diagnosis AS d
	CROSS JOIN LATERAL (SELECT quote_literal(l4._printable(d.job_id, 200))) AS j(id)
	CROSS JOIN LATERAL (SELECT coalesce(sum(x.lines), 0) AS lines FROM l4._node AS x WHERE x.job_id = d.job_id) AS n
	LEFT JOIN LATERAL (SELECT e.event_id FROM l4.suspect_event AS e WHERE e.job_id = d.job_id AND e.rank = 1) AS e ON true
	CROSS JOIN LATERAL (VALUES
		(1, format('SELECT * FROM l4.suspect_event WHERE job_id = %s ORDER BY rank;', j.id)),
		(2, format('SELECT * FROM l4.event_lines(%s, %s) LIMIT 20;', j.id, e.event_id)),
		(3, format('SELECT * FROM l4.event_parameters(%s, %s);', j.id, e.event_id)),
		(4, CASE WHEN cardinality(d.baseline) > 0 AND n.lines > 0 THEN format('SELECT * FROM l4.compare(%s) WHERE verdict <> ''same'';', j.id) END),
		(5, CASE WHEN n.lines = 0 THEN format('CALL l4.ingest(''...'', job_id => %s);', j.id) END),
		(6, CASE WHEN cardinality(d.baseline) = 0
			THEN 'UPDATE l4.job SET settings = ''...'', status = ''succeeded'' WHERE job_id = ''...'';  -- a baseline' END),
		(7, CASE WHEN d.symptom <> 'none' AND e.event_id IS NOT NULL
			THEN format('SELECT l4.confirm_fault(%s, name => ''...'', root_cause => ''...'', remedy => ''...'');', j.id) END)) AS q(n, line)
	WHERE d.job_id = _report_next.job_id AND q.line IS NOT NULL AND (e.event_id IS NOT NULL OR q.n NOT IN (1, 2, 3))
	ORDER BY q.n;
END;
COMMENT ON FUNCTION l4._report_next(text, int) IS 'section of l4.report(): statements to go on with';

CREATE FUNCTION l4._require_diagnosis(job_id text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM l4._require_job(_require_diagnosis.job_id);
	IF NOT EXISTS (SELECT FROM l4.diagnosis AS d WHERE d.job_id = _require_diagnosis.job_id) THEN
		RAISE EXCEPTION 'job "%" has no diagnosis', _require_diagnosis.job_id USING ERRCODE = 'no_data_found',
			HINT = format('Run SELECT l4.diagnose(%L) first.', _require_diagnosis.job_id);
	END IF;
END;
$$;
COMMENT ON FUNCTION l4._require_diagnosis(text) IS 'raises an error when there is nothing to report on';

CREATE FUNCTION l4.report(job_id text, width int DEFAULT 100) RETURNS SETOF text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	sections constant text[] := ARRAY['title', '', 'story', 'WHAT HAPPENED', 'suspects', 'NODES', 'faults', 'KNOWN FAULTS',
		'proof', 'PROOF', 'iterations', 'ITERATIONS', 'coverage', 'WHAT THE DIAGNOSIS SAW', 'next', 'GO ON WITH'];
	lines text[];
BEGIN
	IF report.width NOT BETWEEN 60 AND 240 THEN
		RAISE EXCEPTION 'width must be between 60 and 240, not %', report.width USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM l4._require_diagnosis(report.job_id);
	FOR i IN 1 .. array_length(sections, 1) BY 2 LOOP
		EXECUTE format('SELECT array_agg(f.line ORDER BY f.n) FROM l4._report_%s($1, $2) WITH ORDINALITY AS f(line, n)', sections[i])
			INTO lines USING report.job_id, report.width;
		CONTINUE WHEN lines IS NULL;
		IF sections[i + 1] <> '' THEN
			RETURN NEXT '';
			RETURN NEXT sections[i + 1];
		END IF;
		-- statements and addresses stay whole, so that they can be copied
		RETURN QUERY SELECT rtrim(coalesce(w.line, l.line))
			FROM unnest(lines) WITH ORDINALITY AS l(line, n)
			CROSS JOIN LATERAL (SELECT substring(l.line FROM '^ *')) AS s(indent)
			LEFT JOIN LATERAL l4._block(l.line, report.width, s.indent, s.indent || '    ') WITH ORDINALITY AS w(line, m)
				ON length(l.line) > report.width AND sections[i] <> 'next' AND l.line !~ '^ +see: '
			ORDER BY l.n, w.m;
	END LOOP;
END;
$$;
COMMENT ON FUNCTION l4.report(text, int) IS 'the diagnosis of a job as text for a terminal of the given width';
