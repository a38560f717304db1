-- Charts of l4.report_html(): node scores, iteration times, events by nodes, who names whom.

CREATE FUNCTION l4._evidence_parts(evidence jsonb)
RETURNS TABLE (name text, value float8)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT e.key, p.value
	FROM jsonb_each(CASE jsonb_typeof(_evidence_parts.evidence) WHEN 'object' THEN _evidence_parts.evidence ELSE '{}' END) AS e
	CROSS JOIN LATERAL (SELECT CASE jsonb_typeof(e.value) WHEN 'number' THEN (e.value #>> '{}')::float8
		WHEN 'object' THEN (e.value ->> 'value')::float8 * (e.value ->> 'weight')::float8 END) AS p(value)
	WHERE p.value > 0;
END;
COMMENT ON FUNCTION l4._evidence_parts(jsonb) IS 'what each kind of evidence adds to the score of a node: its value times its weight';

CREATE FUNCTION l4._svg_scores(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	WITH node AS (
		SELECT s.rank, s.node, s.score, s.is_suspect, s.evidence, max(s.score) OVER () AS top
		FROM l4.suspect_node AS s WHERE s.job_id = _svg_scores.job_id AND s.rank <= 16 AND s.score > 0
	), part AS (
		SELECT n.rank, e.name, e.value, 150 + 850 * n.score / n.top * (sum(e.value) OVER w - e.value) / sum(e.value) OVER (PARTITION BY n.rank) AS x,
			850 * n.score / n.top * e.value / sum(e.value) OVER (PARTITION BY n.rank) AS width, dense_rank() OVER (ORDER BY e.name) AS color
		FROM node AS n CROSS JOIN LATERAL l4._evidence_parts(n.evidence) AS e
		WINDOW w AS (PARTITION BY n.rank ORDER BY e.value DESC, e.name)
	), bar AS (
		SELECT n.rank, string_agg(format('<rect class="part%s" x="%s" y="%s" width="%s" height="16"><title>%s %s</title></rect>',
			(p.color - 1) % 8, round(p.x::numeric, 1), 4 + 24 * (n.rank - 1), round(greatest(p.width - 0.6, 0.3)::numeric, 1), l4._html(p.name), round(p.value::numeric, 2)), '' ORDER BY p.x) AS parts
		FROM node AS n JOIN part AS p ON p.rank = n.rank GROUP BY n.rank
	)
	SELECT l4._svg('Scores of the nodes', string_agg(format('%s: %s', n.node, round(n.score::numeric, 2)), ', ' ORDER BY n.rank), 24 * count(*)::int + 8,
		string_agg(format('<text class="%s" text-anchor="end" x="142" y="%s">%s</text>%s<text class="tick" x="%s" y="%2$s">%6$s</text>',
			CASE WHEN n.is_suspect THEN 'node suspect' ELSE 'node' END, 16 + 24 * (n.rank - 1), l4._html(l4._short_name(n.node, 20)),
			coalesce(b.parts, format('<rect class="part0" x="150" y="%s" width="%s" height="16"/>', 4 + 24 * (n.rank - 1), round((850 * n.score / n.top)::numeric, 1))),
			round((158 + 850 * n.score / n.top)::numeric, 1), round(n.score::numeric, 2)), '' ORDER BY n.rank))
	FROM node AS n LEFT JOIN bar AS b ON b.rank = n.rank HAVING count(*) > 0);
COMMENT ON FUNCTION l4._svg_scores(text) IS 'picture: score of each suspect node, by kind of evidence';

CREATE FUNCTION l4._score_legend(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT string_agg(format('<li><span class="key part%s"></span>%s</li>', (k.color - 1) % 8, l4._html(replace(k.name, '_', ' '))), '' ORDER BY k.color)
	FROM (SELECT e.name, dense_rank() OVER (ORDER BY e.name) AS color
		FROM l4.suspect_node AS s CROSS JOIN LATERAL l4._evidence_parts(s.evidence) AS e
		WHERE s.job_id = _score_legend.job_id AND s.rank <= 16 AND s.score > 0 GROUP BY e.name) AS k);
COMMENT ON FUNCTION l4._score_legend(text) IS 'what the colours of the node scores mean';

-- Durations of the iterations of at most 16 nodes (the most suspect first), in at most 330 columns.
CREATE FUNCTION l4._iteration_columns(job_id text)
RETURNS TABLE (place int, node text, k int, iteration int, ms float8)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	WITH chosen AS (
		SELECT n.place, n.node FROM l4._report_nodes(_iteration_columns.job_id) AS n
		JOIN l4._node AS x ON x.job_id = _iteration_columns.job_id AND x.node = n.node AND x.last_iteration IS NOT NULL
		ORDER BY n.place LIMIT 16
	), timed AS (
		SELECT c.place, i.node, i.epoch, i.iteration,
			avg(coalesce(i.duration_ms, i.gap_ms)) AS ms
		FROM chosen AS c
		JOIN (SELECT t.node, t.epoch, t.iteration, t.duration_ms, 1000 * extract(epoch FROM t.ended - lag(t.ended) OVER w)::float8
					/ nullif(t.iteration - lag(t.iteration) OVER w, 0) AS gap_ms
				FROM l4._iteration AS t
				WHERE t.job_id = _iteration_columns.job_id AND t.node = ANY (ARRAY(SELECT y.node FROM chosen AS y))
				WINDOW w AS (PARTITION BY t.node, t.source, t.epoch ORDER BY t.iteration, t.ended)) AS i ON i.node = c.node
		GROUP BY c.place, i.node, i.epoch, i.iteration
	), counted AS (
		SELECT t.*, dense_rank() OVER (ORDER BY t.epoch, t.iteration) - 1 AS n FROM timed AS t WHERE t.ms > 0
	)
	SELECT c.place, c.node, (c.n * b.columns / b.total)::int, max(c.iteration), max(c.ms)
	FROM counted AS c CROSS JOIN (SELECT max(n) + 1 AS total, least(max(n) + 1, 330) AS columns FROM counted) AS b
	GROUP BY c.place, c.node, (c.n * b.columns / b.total)::int;
END;
COMMENT ON FUNCTION l4._iteration_columns(text) IS 'longest iteration of each node in each column of the picture';

CREATE FUNCTION l4._svg_iterations(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	WITH cell AS MATERIALIZED (
		SELECT c.place, c.node, c.k, c.iteration, c.ms FROM l4._iteration_columns(_svg_iterations.job_id) AS c
	), scale AS (
		SELECT max(c.k) AS k_max, max(c.ms) > 8 * percentile_cont(0.5) WITHIN GROUP (ORDER BY c.ms) AS logarithmic,
			min(c.ms) * 0.9 AS low, max(c.ms) * 1.05 AS high, count(DISTINCT c.node) AS nodes FROM cell AS c HAVING count(*) > 1
	), point AS (
		SELECT c.place, c.node, c.k, c.iteration, c.ms, 150 + 990 * (c.k + 0.5) / (s.k_max + 1) AS x,
			226 - 210 * CASE WHEN s.logarithmic THEN ln(c.ms / s.low) / ln(s.high / s.low) ELSE c.ms / s.high END AS y
		FROM cell AS c CROSS JOIN scale AS s
	), middle AS (
		SELECT p.k, p.x, percentile_cont(0.5) WITHIN GROUP (ORDER BY p.y) AS y, min(p.y) AS y_min, max(p.y) AS y_max FROM point AS p GROUP BY p.k, p.x
	), level AS (
		SELECT v.ms FROM scale AS s CROSS JOIN LATERAL (
			SELECT u.unit * m.times AS ms FROM (SELECT power(10::float8, e) AS unit FROM generate_series(-1, 8) AS e) AS u CROSS JOIN unnest(ARRAY[1, 2, 5]) AS m(times)
			WHERE s.logarithmic AND u.unit * m.times BETWEEN s.low AND s.high
			UNION ALL
			SELECT n * l4._nice_step(s.high, 4) FROM generate_series(0, 5) AS n WHERE NOT s.logarithmic AND n * l4._nice_step(s.high, 4) <= s.high) AS v
	), wanted AS (
		SELECT d.iteration FROM l4.diagnosis AS d WHERE d.job_id = _svg_iterations.job_id
	)
	SELECT l4._svg('Time of the iterations', format('%s nodes; the band is from the fastest to the slowest of them, the line their median.', s.nodes), 250, concat(
		(SELECT string_agg(format('<line class="grid" x1="150" x2="1140" y1="%s" y2="%1$s"/><text class="tick" text-anchor="end" x="142" y="%s">%s</text>',
			round(l.y::numeric, 1), round((l.y + 4)::numeric, 1), l4._milliseconds(l.ms)), '' ORDER BY l.ms)
		 FROM (SELECT v.ms, 226 - 210 * CASE WHEN s.logarithmic THEN ln(v.ms / s.low) / ln(s.high / s.low) ELSE v.ms / s.high END AS y FROM level AS v) AS l),
		(SELECT string_agg(format('<text class="tick" text-anchor="middle" x="%s" y="244">%s</text>', round(t.x::numeric, 1), t.iteration), '' ORDER BY t.x)
		 FROM (SELECT p.k, p.x, max(p.iteration) AS iteration FROM point AS p GROUP BY p.k, p.x) AS t
		 WHERE t.k % greatest((s.k_max + 1) / 10, 1) = 0),
		(SELECT format('<polygon class="band" points="%s %s"/>', string_agg(format('%s,%s', round(m.x::numeric, 1), round(m.y_min::numeric, 1)), ' ' ORDER BY m.k),
			string_agg(format('%s,%s', round(m.x::numeric, 1), round(m.y_max::numeric, 1)), ' ' ORDER BY m.k DESC)) FROM middle AS m WHERE s.nodes > 1),
		(SELECT string_agg(format('<polyline class="line%s" points="%s"><title>%s</title></polyline>', q.place, q.points, l4._html(q.node)), '' ORDER BY q.place DESC)
		 FROM (SELECT p.place, p.node, string_agg(format('%s,%s', round(p.x::numeric, 1), round(p.y::numeric, 1)), ' ' ORDER BY p.k) AS points
				FROM point AS p WHERE p.place <= 3 GROUP BY p.place, p.node) AS q),
		(SELECT format('<polyline class="median" points="%s"/>', string_agg(format('%s,%s', round(m.x::numeric, 1), round(m.y::numeric, 1)), ' ' ORDER BY m.k)) FROM middle AS m),
		(SELECT format('<line class="moment-event" x1="%s" x2="%1$s" y1="10" y2="226"><title>iteration %s</title></line>', round(least(p.x, 1140)::numeric, 1), max(w.iteration))
		 FROM wanted AS w JOIN LATERAL (SELECT max(x.x) + CASE WHEN max(x.iteration) < w.iteration THEN 495.0 / (s.k_max + 1) ELSE 0 END AS x
			FROM point AS x WHERE x.iteration <= w.iteration) AS p ON p.x IS NOT NULL GROUP BY p.x)))
	FROM scale AS s);
COMMENT ON FUNCTION l4._svg_iterations(text) IS 'picture: time of each iteration, all nodes and the most suspect ones';

-- Columns of the matrices: 32 nodes, and one for all others where there are more.
CREATE FUNCTION l4._svg_matrix(job_id text, title text, description text, labels text[], corner text, cells jsonb) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	WITH named AS MATERIALIZED (
		SELECT n.node, n.place, n.is_suspect, count(*) OVER () AS total FROM l4._report_nodes(_svg_matrix.job_id) AS n
	), node AS (
		SELECT least(n.place, 33) AS place, min(CASE WHEN n.place > 32 AND n.total > 33 THEN 'others' ELSE l4._short_name(n.node, 16) END) AS label,
			bool_or(n.is_suspect AND n.place <= 32) AS suspect
		FROM named AS n
		GROUP BY least(n.place, 33)
	), grid AS (
		SELECT least(60, 800.0 / count(*)) AS width, count(*) AS columns FROM node
	), cell AS (
		SELECT (c.value ->> 'row')::int AS line, least(n.place, 33) AS place, sum((c.value ->> 'n')::numeric) AS n
		FROM jsonb_array_elements(_svg_matrix.cells) AS c JOIN named AS n ON n.node = c.value ->> 'node'
		GROUP BY 1, 2
	), shade AS (
		SELECT c.*, greatest(1, ceil(5 * ln(1 + c.n) / ln(1 + max(c.n) OVER ())))::int AS degree FROM cell AS c WHERE c.n > 0
	)
	SELECT l4._svg(_svg_matrix.title, _svg_matrix.description, 96 + 22 * cardinality(labels), concat(
		format('<text class="tick" x="8" y="82">%s</text>', l4._html(corner)),
		(SELECT string_agg(format('<text class="%s" transform="translate(%s,86) rotate(-40)">%s</text>', CASE WHEN n.suspect THEN 'node suspect' ELSE 'node' END,
			round(324 + (n.place - 0.6) * g.width, 1), l4._html(n.label)), '' ORDER BY n.place) FROM node AS n),
		(SELECT string_agg(format('<text class="node" text-anchor="end" x="316" y="%s">%s<title>%s</title></text><line class="grid" x1="320" x2="%s" y1="%s" y2="%5$s"/>',
			106 + 22 * (l.n - 1), l4._html(l4._printable(l.label, 52)), l4._html(l.label), round(320 + g.columns * g.width, 1), 112 + 22 * (l.n - 1)), '' ORDER BY l.n)
		 FROM unnest(_svg_matrix.labels) WITH ORDINALITY AS l(label, n)),
		(SELECT string_agg(format('<g class="heat%s"><rect x="%s" y="%s" width="%s" height="20"><title>%s, %s: %s</title></rect>%s</g>', s.degree,
			round(320 + (s.place - 1) * g.width + 0.5, 1), 91 + 22 * (s.line - 1), round(g.width - 1, 1),
			l4._html(l4._printable(_svg_matrix.labels[s.line], 120)), l4._html(n.label), s.n,
			CASE WHEN g.width >= 22 THEN format('<text x="%s" y="%s" text-anchor="middle">%s</text>', round(320 + (s.place - 0.5) * g.width, 1), 105 + 22 * (s.line - 1),
				CASE WHEN s.n >= 1000 THEN round(s.n / 1000) || 'k' ELSE s.n::text END) END), '' ORDER BY s.line, s.place)
		 FROM shade AS s JOIN node AS n ON n.place = s.place)))
	FROM grid AS g WHERE g.columns > 0 AND cardinality(_svg_matrix.labels) > 0);
COMMENT ON FUNCTION l4._svg_matrix(text, text, text, text[], text, jsonb) IS 'picture: a matrix with one column a node; cells are {"row", "node", "n"}';

CREATE FUNCTION l4._svg_heatmap(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	WITH event AS (
		SELECT e.rank, e.event_id, l4._printable(format('%s  %s', e.rank, t.template), 400) AS label
		FROM l4.suspect_event AS e JOIN l4._event AS t ON t.event_id = e.event_id
		WHERE e.job_id = _svg_heatmap.job_id AND e.rank <= 20
	)
	SELECT l4._svg_matrix(_svg_heatmap.job_id, 'Suspect events by nodes', 'How often each suspect event occurs on each node.',
		(SELECT array_agg(e.label ORDER BY e.rank) FROM event AS e), 'event',
		(SELECT jsonb_agg(jsonb_build_object('row', x.n, 'node', c.node, 'n', c.occurrences))
		 FROM l4._event_counts(_svg_heatmap.job_id, ARRAY(SELECT e.event_id FROM event AS e)) AS c
		 JOIN (SELECT e.event_id, row_number() OVER (ORDER BY e.rank) AS n FROM event AS e) AS x ON x.event_id = c.event_id)));
COMMENT ON FUNCTION l4._svg_heatmap(text) IS 'picture: suspect events x nodes';

CREATE FUNCTION l4._svg_mentions(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	-- who complains about whom, as the diagnosis heard it; the twelve that name most
	WITH named AS (
		SELECT x.accuser AS node, x.accused AS named_node, (SELECT count(DISTINCT e.id) FROM unnest(x.events) AS e(id)) AS n
		FROM l4._case_edge AS x WHERE x.job_id = _svg_mentions.job_id
	), who AS (
		SELECT n.node, row_number() OVER (ORDER BY sum(n.n) DESC, n.node)::int AS line FROM named AS n GROUP BY n.node ORDER BY 2 LIMIT 12
	)
	SELECT l4._svg_matrix(_svg_mentions.job_id, 'Who names whom', 'In how many suspect events a node (row) names another one (column).',
		(SELECT array_agg(w.node ORDER BY w.line) FROM who AS w), 'names',
		(SELECT jsonb_agg(jsonb_build_object('row', w.line, 'node', n.named_node, 'n', n.n)) FROM who AS w JOIN named AS n ON n.node = w.node)));
COMMENT ON FUNCTION l4._svg_mentions(text) IS 'picture: which nodes are named in the suspect events of which';
