-- Pictures of l4.report_html(): SVG without script, colours by CSS class, so that the page can be light or dark.
-- All pictures are 1160 units wide; the plot lies between x = 150 and x = 1140. At most 16 nodes get a row of their own.

CREATE FUNCTION l4._html(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(replace(replace(replace(replace(regexp_replace(_html.value, '[\x01-\x08\x0b-\x1f\x7f' || l4._unseen() || ']', ' ', 'g'),
	'&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');
COMMENT ON FUNCTION l4._html(text) IS 'text that cannot end or begin markup, neither between tags nor in an attribute';

CREATE FUNCTION l4._svg(title text, description text, height int, body text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('<svg viewBox="0 0 1160 %s" role="img" aria-label="%s"><title>%2$s</title><desc>%s</desc>%s</svg>',
	_svg.height, l4._html(_svg.title), l4._html(_svg.description), _svg.body);
COMMENT ON FUNCTION l4._svg(text, text, int, text) IS 'a picture with a title and a description for those who do not see it';

CREATE FUNCTION l4._nice_step(span float8, ticks int) RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT p.unit * CASE WHEN r.raw <= p.unit THEN 1 WHEN r.raw <= 2 * p.unit THEN 2 WHEN r.raw <= 5 * p.unit THEN 5 ELSE 10 END
	FROM (SELECT greatest(_nice_step.span, 1e-9) / _nice_step.ticks) AS r(raw),
		LATERAL (SELECT power(10::float8, floor(log(r.raw)))) AS p(unit));
COMMENT ON FUNCTION l4._nice_step(float8, int) IS 'distance of the ticks of an axis: 1, 2 or 5 times a power of ten';

CREATE FUNCTION l4._nice_time_step(seconds float8, ticks int) RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN coalesce((SELECT min(s.step) FROM unnest(ARRAY[0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
		14400, 21600, 43200, 86400, 172800]::float8[]) AS s(step) WHERE s.step >= _nice_time_step.seconds / _nice_time_step.ticks),
	ceil(_nice_time_step.seconds / _nice_time_step.ticks / 86400) * 86400);
COMMENT ON FUNCTION l4._nice_time_step(float8, int) IS 'distance of the ticks of an axis of time, in seconds';

-- Rows of the timeline: 16 nodes, and one for all others where there are more.
CREATE FUNCTION l4._svg_rows(job_id text)
RETURNS TABLE (line int, node text, label text, suspect bool, nodes bigint)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT least(n.place, 17), n.node,
		CASE WHEN n.place > 16 AND t.total > 17 THEN format('%s more nodes', t.total - 16) ELSE l4._short_name(n.node, 20) END,
		n.is_suspect AND (n.place <= 16 OR t.total = 17), CASE WHEN n.place > 16 AND t.total > 17 THEN t.total - 16 ELSE 1 END
	FROM l4._report_nodes(_svg_rows.job_id) AS n
	CROSS JOIN (SELECT count(*) AS total FROM l4._report_nodes(_svg_rows.job_id)) AS t;
END;
COMMENT ON FUNCTION l4._svg_rows(text) IS 'the row of the picture that each node of a job belongs to';

-- Where the failure shows first: the picture of its surroundings begins shortly before.
CREATE FUNCTION l4._failure_window(job_id text, OUT first_ts timestamptz, OUT last_ts timestamptz, OUT zoom_ts timestamptz)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	SELECT j.first_ts, j.last_ts, CASE WHEN z.ts > j.first_ts + 0.25 * (j.last_ts - j.first_ts)
		AND EXISTS (SELECT FROM l4.diagnosis AS d WHERE d.job_id = _failure_window.job_id AND d.symptom <> 'none') THEN z.ts END
	FROM (SELECT min(n.first_ts) AS first_ts, max(n.last_ts) AS last_ts FROM l4._node AS n WHERE n.job_id = _failure_window.job_id) AS j
	CROSS JOIN LATERAL (SELECT min(m.ts) AS ts FROM l4._report_moments(_failure_window.job_id) AS m
		WHERE m.kind IN ('event', 'onset', 'iteration', 'silence')) AS f
	CROSS JOIN LATERAL (SELECT f.ts - greatest(0.15 * (j.last_ts - f.ts), interval '1 second') AS ts) AS z;
END;
COMMENT ON FUNCTION l4._failure_window(text) IS 'begin and end of a job''s logs, and where to begin a closer look; NULL where the whole job is close enough or nothing failed';

CREATE FUNCTION l4._svg_axis(job_id text, from_ts timestamptz, to_ts timestamptz, bottom float8) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	WITH span AS (
		SELECT extract(epoch FROM from_ts)::float8 AS t0, greatest(extract(epoch FROM to_ts - from_ts)::float8, 0.001) AS seconds
	), clock AS (
		-- full hours and days are those of the reader's time zone
		SELECT s.t0 + z.east AS t0, z.east, s.seconds, l4._nice_time_step(s.seconds, 8) AS step
		FROM span AS s CROSS JOIN LATERAL (SELECT extract(timezone FROM from_ts)::float8) AS z(east)
	), tick AS (
		SELECT c.step, 150 + 990 * (k * c.step - c.t0) / c.seconds AS x, to_timestamp(k * c.step - c.east) AS ts
		FROM clock AS c CROSS JOIN LATERAL generate_series(ceil(c.t0 / c.step)::bigint, floor((c.t0 + c.seconds) / c.step)::bigint) AS k
	), done AS (
		-- iteration numbers by the node that came farthest
		SELECT i.iteration::bigint AS iteration, min(150 + 990 * (extract(epoch FROM i.ended)::float8 - s.t0) / s.seconds) AS x
		FROM l4._iteration AS i CROSS JOIN span AS s
		WHERE i.job_id = _svg_axis.job_id AND i.node = (SELECT n.node FROM l4._node AS n
			WHERE n.job_id = _svg_axis.job_id AND n.last_iteration IS NOT NULL ORDER BY n.last_iteration DESC, n.rank, n.node LIMIT 1)
		GROUP BY i.iteration
	), apart AS (
		-- some eight numbers, and not closer than a number is wide
		SELECT greatest(l4._nice_step((max(v.iteration) - min(v.iteration) + 1)::float8, 8),
			l4._nice_step(40 * (max(v.iteration) - min(v.iteration)) / greatest(max(v.x) - min(v.x), 1), 1), 1)::bigint AS step
		FROM done AS v WHERE v.x BETWEEN 150 AND 1140
	), numbered AS (
		SELECT d.iteration, d.x, d.x - lag(d.x) OVER (ORDER BY d.iteration) AS gap
		-- the first ones would touch the name of the axis
		FROM done AS d CROSS JOIN apart AS a WHERE d.x BETWEEN 165 AND 1140 AND d.iteration % a.step = 0
	)
	SELECT concat(
		(SELECT string_agg(format('<line class="grid" x1="%s" x2="%1$s" y1="24" y2="%s"/><text class="tick" text-anchor="%5$s" x="%1$s" y="%3$s">%4$s</text>',
			round(t.x::numeric, 1), bottom, bottom + 14,
			to_char(t.ts, CASE WHEN t.step < 1 THEN 'HH24:MI:SS.MS' WHEN t.step < 60 THEN 'HH24:MI:SS' WHEN t.step < 43200 THEN 'HH24:MI' WHEN t.step < 86400 THEN 'MM-DD HH24"h"' ELSE 'MM-DD' END),
			CASE WHEN t.x > 1110 THEN 'end' ELSE 'middle' END), '' ORDER BY t.x)
		 FROM tick AS t),
		(SELECT string_agg(format('<text class="tick" text-anchor="middle" x="%s" y="12">%s</text><line class="tickmark" x1="%1$s" x2="%1$s" y1="16" y2="22"/>',
			round(n.x::numeric, 1), n.iteration), '' ORDER BY n.x) || '<text class="tick" text-anchor="end" x="142" y="12">iteration done</text>'
		 FROM numbered AS n WHERE n.gap > 24 OR n.gap IS NULL)));
COMMENT ON FUNCTION l4._svg_axis(text, timestamptz, timestamptz, float8) IS 'axis of time below a timeline, numbers of the iterations above';

CREATE FUNCTION l4._svg_activity(job_id text, from_ts timestamptz, to_ts timestamptz) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	WITH span AS (
		SELECT greatest(extract(epoch FROM to_ts - from_ts)::float8, 0.001) AS seconds
	), bin AS (
		SELECT u.line, p.width, p.seconds, u.k, u.lines::numeric / p.nodes[u.line] AS lines
		FROM (
			SELECT s.seconds, greatest(s.seconds / 198, 1) AS width,
				(SELECT array_agg(y.nodes ORDER BY y.line) FROM (SELECT x.line, max(x.nodes) AS nodes FROM l4._svg_rows(_svg_activity.job_id) AS x GROUP BY x.line) AS y) AS nodes,
				l4._activity_columns(m.activity, m.open_activity, r.line, from_ts, to_ts, greatest(s.seconds / 198, 1)) AS packed
			FROM l4._stream AS z
			JOIN l4._summary AS m ON m.stream_id = z.stream_id
			JOIN l4._svg_rows(_svg_activity.job_id) AS r ON r.node = z.node
			CROSS JOIN span AS s
			WHERE z.job_id = _svg_activity.job_id
			GROUP BY s.seconds) AS p
		CROSS JOIN LATERAL l4._unpack(p.packed) AS u(line int, k int, lines bigint)
	), box AS (
		SELECT b.line, greatest(1, ceil(4 * ln(1 + b.lines::float8) / ln(1 + max(b.lines::float8) OVER ())))::int AS degree,
			greatest(150, 150 + 990 * b.k * b.width / b.seconds) AS x0, least(1140, 150 + 990 * (b.k + 1) * b.width / b.seconds) AS x1
		FROM bin AS b
	)
	SELECT string_agg(p.path, '' ORDER BY p.line, p.degree)
	FROM (SELECT b.line, b.degree, format('<path class="act%s" d="%s"/>', b.degree,
			string_agg(format('M%s %sh%sv12h-%3$sz', round(b.x0::numeric, 1), 28 + 20 * (b.line - 1), round((b.x1 - b.x0)::numeric, 1)), '' ORDER BY b.x0)) AS path
		FROM box AS b WHERE b.x1 > b.x0 GROUP BY b.line, b.degree) AS p);
COMMENT ON FUNCTION l4._svg_activity(text, timestamptz, timestamptz) IS 'how much each node writes, in four degrees';

CREATE FUNCTION l4._svg_stages(job_id text, from_ts timestamptz, to_ts timestamptz) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	WITH box AS (
		SELECT r.line, s.stage, floor(greatest(150, 150 + 990 * extract(epoch FROM s.first_ts - from_ts)::float8 / t.seconds)) AS x0,
			max(least(1140, 150 + 990 * extract(epoch FROM s.last_ts - from_ts)::float8 / t.seconds)) AS x1
		FROM l4.stage_span AS s
		CROSS JOIN (SELECT greatest(extract(epoch FROM to_ts - from_ts)::float8, 0.001) AS seconds) AS t
		JOIN l4._svg_rows(_svg_stages.job_id) AS r ON r.node = s.node AND r.nodes = 1
		WHERE s.job_id = _svg_stages.job_id AND s.last_ts >= from_ts AND s.first_ts <= to_ts AND s.stage IS NOT NULL
		GROUP BY r.line, s.stage, 3
	)
	SELECT string_agg(p.path, '' ORDER BY p.line, p.turn, p.stage)
	FROM (SELECT b.line, b.stage, b.stage <> 'train' AS turn, format('<path class="stage-%s" d="%s"><title>%1$s</title></path>', l4._html(b.stage),
			string_agg(format('M%s %sh%sv4h-%3$sz', b.x0, 41 + 20 * (b.line - 1), round(greatest(b.x1 - b.x0, 1.5)::numeric, 1)), '' ORDER BY b.x0)) AS path
		FROM box AS b GROUP BY b.line, b.stage) AS p);
COMMENT ON FUNCTION l4._svg_stages(text, timestamptz, timestamptz) IS 'stripe of the stages of each node';

CREATE FUNCTION l4._svg_markers(job_id text, from_ts timestamptz, to_ts timestamptz) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	WITH hit AS (
		SELECT r.line, e.rank, e.event_id, c.node, c.occurrences, c.first_ts,
			150 + 990 * extract(epoch FROM c.first_ts - from_ts)::float8 / t.seconds AS x,
			least(1140, 150 + 990 * extract(epoch FROM c.last_ts - from_ts)::float8 / t.seconds) AS x_last
		FROM l4.suspect_event AS e
		CROSS JOIN (SELECT greatest(extract(epoch FROM to_ts - from_ts)::float8, 0.001) AS seconds) AS t
		JOIN l4._event_counts(_svg_markers.job_id, ARRAY(SELECT z.event_id FROM l4.suspect_event AS z
			WHERE z.job_id = _svg_markers.job_id AND z.rank <= 9)) AS c ON c.event_id = e.event_id
		JOIN l4._svg_rows(_svg_markers.job_id) AS r ON r.node = c.node AND r.nodes = 1
		WHERE e.job_id = _svg_markers.job_id AND e.rank <= 9 AND c.first_ts BETWEEN from_ts AND to_ts
	), numbered AS (
		SELECT h.*, row_number() OVER w AS n, count(*) OVER (PARTITION BY h.line) AS total FROM hit AS h
		WINDOW w AS (PARTITION BY h.line ORDER BY h.x, h.rank)
	), placed AS (
		-- side by side where they would cover each other: x(i) = max over j <= i of x(j) + 14 (i - j), kept inside
		SELECT n.*, least(14 * n.n + max(n.x - 14 * n.n) OVER (PARTITION BY n.line ORDER BY n.n), 1146 - 14 * (n.total - n.n)) AS x_free
		FROM numbered AS n
	)
	SELECT string_agg(format('<g class="mark m%s"><title>%s</title>%s<circle cx="%s" cy="%s" r="6.5"/><text x="%4$s" y="%6$s" text-anchor="middle">%1$s</text></g>',
			p.rank, l4._html(format('%s on %s at %s, %s times: %s', p.rank, p.node, to_char(p.first_ts, 'HH24:MI:SS.MS'), p.occurrences, l4._printable(t.template, 200))),
			CASE WHEN p.x_last > p.x_free + 8 THEN format('<line x1="%s" x2="%s" y1="%s" y2="%3$s"/>', round(p.x_free::numeric, 1), round(p.x_last::numeric, 1), 34 + 20 * (p.line - 1)) END,
			round(p.x_free::numeric, 1), 34 + 20 * (p.line - 1), 37.5 + 20 * (p.line - 1)), '' ORDER BY p.line, p.n DESC)
	FROM placed AS p LEFT JOIN l4._event AS t ON t.event_id = p.event_id);
COMMENT ON FUNCTION l4._svg_markers(text, timestamptz, timestamptz) IS 'where each suspect event first occurs on each node';

CREATE FUNCTION l4._svg_timeline(job_id text, from_ts timestamptz, to_ts timestamptz, title text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	WITH span AS (
		SELECT greatest(extract(epoch FROM to_ts - from_ts)::float8, 0.001) AS seconds
	), line AS (
		SELECT r.line, min(r.label) AS label, bool_or(r.suspect) AS suspect, max(n.last_ts) AS last_ts, max(r.nodes) AS nodes
		FROM l4._svg_rows(_svg_timeline.job_id) AS r
		LEFT JOIN l4._node AS n ON n.job_id = _svg_timeline.job_id AND n.node = r.node
		GROUP BY r.line
	), frame AS (
		SELECT count(*)::int AS lines, 28 + 20 * count(*) AS bottom FROM line
	), mark AS (
		SELECT m.kind, min(m.ts) AS ts FROM l4._report_moments(_svg_timeline.job_id) AS m
		WHERE m.kind IN ('iteration', 'event', 'onset') AND m.ts BETWEEN from_ts AND to_ts GROUP BY m.kind
	)
	SELECT l4._svg(title, format('One row a node, %s rows; darker means more lines; numbered marks are the suspect events.', f.lines), (f.bottom + 20)::int, concat(
		l4._svg_axis(_svg_timeline.job_id, from_ts, to_ts, f.bottom),
		(SELECT string_agg(format('<text class="%s" text-anchor="end" x="142" y="%s">%s</text>%s', CASE WHEN l.suspect THEN 'node suspect' ELSE 'node' END,
			38 + 20 * (l.line - 1), l4._html(l.label),
			CASE WHEN l.last_ts < to_ts - make_interval(secs => s.seconds * 0.02) AND l.nodes = 1 THEN
				format('<line class="silent" x1="%s" x2="1140" y1="%s" y2="%2$s"><title>%s: no line after %s</title></line>',
					round(greatest(150, 150 + 990 * extract(epoch FROM l.last_ts - from_ts)::float8 / s.seconds)::numeric, 1), 34 + 20 * (l.line - 1),
					l4._html(l.label), to_char(l.last_ts, 'HH24:MI:SS.MS'))
				WHEN l.last_ts IS NULL THEN format('<text class="tick" x="156" y="%s">no log</text>', 38 + 20 * (l.line - 1)) END), '' ORDER BY l.line)
		 FROM line AS l CROSS JOIN span AS s),
		l4._svg_activity(_svg_timeline.job_id, from_ts, to_ts),
		l4._svg_stages(_svg_timeline.job_id, from_ts, to_ts),
		(SELECT string_agg(format('<line class="moment-%s" x1="%s" x2="%2$s" y1="22" y2="%s"><title>%s</title></line>', m.kind,
			round((150 + 990 * extract(epoch FROM m.ts - from_ts)::float8 / s.seconds)::numeric, 1), f.bottom,
			CASE m.kind WHEN 'event' THEN 'first suspect event' WHEN 'onset' THEN 'first slow iteration' ELSE 'last iteration reported' END), '' ORDER BY m.kind)
		 FROM mark AS m CROSS JOIN span AS s),
		l4._svg_markers(_svg_timeline.job_id, from_ts, to_ts)))
	FROM frame AS f WHERE f.lines > 0);
COMMENT ON FUNCTION l4._svg_timeline(text, timestamptz, timestamptz, text) IS 'picture: nodes x time';
