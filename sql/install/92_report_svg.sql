-- Pictures of l4.report_html(): SVG without script, colours by CSS class, so that the page can be light or dark.
-- Each picture is drawn twice: 1160 units wide for a screen or paper, 380 for a phone. At most 16 nodes get a row.

--: text that cannot end or begin markup, neither between tags nor in an attribute
CREATE FUNCTION l4._html(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(replace(replace(replace(replace(
    regexp_replace(_html.value, '[\x01-\x08\x0b-\x1f\x7f' || l4._unseen() || ']', ' ', 'g'),
    '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');

--: a picture with a title and a description for those who do not see it
CREATE FUNCTION l4._svg(title text, description text, width int, height int, body text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format(
    '<svg class="%s" viewBox="0 0 %s %s" role="img" aria-label="%s"><title>%4$s</title><desc>%s</desc>%s</svg>',
    CASE WHEN _svg.width > 400 THEN 'wide' ELSE 'narrow' END, _svg.width, _svg.height, l4._html(_svg.title),
    l4._html(_svg.description), _svg.body);

--: a coordinate to a tenth of a unit
CREATE FUNCTION l4._at(value float8) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(_at.value::numeric, 1);

--: a text of a picture
CREATE FUNCTION l4._svg_text(class text, anchor text, x float8, y float8, value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>', _svg_text.class, _svg_text.anchor,
    l4._at(_svg_text.x), l4._at(_svg_text.y), l4._html(_svg_text.value));

--: a line of a picture
CREATE FUNCTION l4._svg_line(class text, x1 float8, y1 float8, x2 float8, y2 float8, title text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"%s', _svg_line.class, l4._at(_svg_line.x1),
    l4._at(_svg_line.y1), l4._at(_svg_line.x2), l4._at(_svg_line.y2),
    coalesce('><title>' || l4._html(_svg_line.title) || '</title></line>', '/>'));

--: where the plot of a picture begins, right of its labels
CREATE FUNCTION l4._plot_left(width int) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN _plot_left.width > 400 THEN 162 ELSE 110 END;

--: a name as it fits beside the plot of a picture
CREATE FUNCTION l4._label(node text, width int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN l4._short_name(_label.node, CASE WHEN _label.width > 400 THEN 20 ELSE 13 END);

--: distance of the ticks of an axis: 1, 2 or 5 times a power of ten
CREATE FUNCTION l4._nice_step(span float8, ticks int) RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT p.unit * CASE WHEN r.raw <= p.unit THEN 1 WHEN r.raw <= 2 * p.unit THEN 2 WHEN r.raw <= 5 * p.unit THEN 5
        ELSE 10 END
    FROM (SELECT greatest(_nice_step.span, 1e-9) / _nice_step.ticks) AS r(raw),
        LATERAL (SELECT power(10::float8, floor(log(r.raw)))) AS p(unit));

--: distance of the ticks of an axis of time, in seconds
CREATE FUNCTION l4._nice_time_step(seconds float8, ticks int) RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT coalesce((SELECT min(s.step)
        FROM unnest(ARRAY[0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600,
            43200, 86400, 172800]::float8[]) AS s(step)
        WHERE s.step >= w.step), ceil(w.step / 86400) * 86400)
    FROM (SELECT _nice_time_step.seconds / _nice_time_step.ticks) AS w(step));

-- Rows of the timeline: 16 nodes, and one for all others where there are more. Found once for all timelines of a page.
--: the row of a timeline that a node belongs to
CREATE TYPE l4._plot_row AS (line int, node text, label text, suspect bool, nodes int);

--: what a timeline shows: a job, a span of time, how many units wide it is, its rows
CREATE TYPE l4._plot AS (job_id text, from_ts timestamptz, to_ts timestamptz, width int, rows l4._plot_row[]);

--: the row of a timeline that each node of a job belongs to
CREATE FUNCTION l4._plot_rows(job_id text) RETURNS l4._plot_row[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN ARRAY(
    SELECT (least(n.place, 17), n.node, CASE WHEN m.many THEN format('%s more nodes', n.total - 16) ELSE n.node END,
        n.is_suspect AND NOT m.many, CASE WHEN m.many THEN n.total - 16 ELSE 1 END)::l4._plot_row
    FROM l4._report_nodes(_plot_rows.job_id) AS n
    CROSS JOIN LATERAL (SELECT n.place > 16 AND n.total > 17) AS m(many));

--: where a moment lies on the axis of time
CREATE FUNCTION l4._plot_x(p l4._plot, ts timestamptz) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN l4._plot_left((p).width) + ((p).width - 20 - l4._plot_left((p).width))
    * extract(epoch FROM _plot_x.ts - (p).from_ts)::float8
    / greatest(extract(epoch FROM (p).to_ts - (p).from_ts)::float8, 0.001);

-- Where the failure shows first is the middle of the closer look, as long as the logs go on after it.
--: begin and end of a job's logs, and where a closer look begins; NULL where the whole shows it or none failed
CREATE FUNCTION l4._failure_window(job_id text, moments l4._moment[], OUT first_ts timestamptz,
    OUT last_ts timestamptz, OUT zoom_ts timestamptz)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT j.first_ts, j.last_ts, CASE WHEN z.ts > j.first_ts + 0.2 * (j.last_ts - j.first_ts)
        AND EXISTS (SELECT FROM l4.diagnosis AS d WHERE d.job_id = _failure_window.job_id AND d.symptom <> 'none')
        THEN z.ts END
    FROM (SELECT min(n.first_ts) AS first_ts, max(n.last_ts) AS last_ts FROM l4._node AS n
        WHERE n.job_id = _failure_window.job_id) AS j
    CROSS JOIN (SELECT min(m.ts) AS ts FROM unnest(_failure_window.moments) AS m
        WHERE m.kind IN ('event', 'onset', 'iteration', 'silence')) AS f
    CROSS JOIN LATERAL (SELECT f.ts - greatest(j.last_ts - f.ts, interval '1 second') AS ts) AS z;
END;

--: axis of time below a timeline
CREATE FUNCTION l4._svg_time_axis(p l4._plot, bottom float8) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    WITH clock AS (
        -- full hours and days are those of the reader's time zone
        SELECT extract(epoch FROM (p).from_ts)::float8 + z.east AS t0, z.east, s.seconds,
            l4._nice_time_step(s.seconds, CASE WHEN (p).width > 400 THEN 8 ELSE 3 END) AS step
        FROM (SELECT greatest(extract(epoch FROM (p).to_ts - (p).from_ts)::float8, 0.001)) AS s(seconds)
        CROSS JOIN (SELECT extract(timezone FROM (p).from_ts)::float8) AS z(east)
    ), tick AS (
        SELECT c.step, t.ts, l4._plot_x(p, t.ts) AS x
        FROM clock AS c
        CROSS JOIN LATERAL generate_series(ceil(c.t0 / c.step)::bigint, floor((c.t0 + c.seconds) / c.step)::bigint) AS k
        CROSS JOIN LATERAL (SELECT to_timestamp(k * c.step - c.east)) AS t(ts)
    )
    SELECT string_agg(l4._svg_line('grid', t.x, 24, t.x, _svg_time_axis.bottom, NULL)
        || l4._svg_text('tick', CASE WHEN t.x > (p).width - 50 THEN 'end' ELSE 'middle' END, t.x,
            _svg_time_axis.bottom + 14, to_char(t.ts, CASE WHEN t.step < 1 THEN 'HH24:MI:SS.MS'
                WHEN t.step < 60 THEN 'HH24:MI:SS' WHEN t.step < 43200 THEN 'HH24:MI'
                WHEN t.step < 86400 THEN 'MM-DD HH24"h"' ELSE 'MM-DD' END)), '' ORDER BY t.x)
    FROM tick AS t);

--: numbers of the iterations above a timeline, by the node that came farthest
CREATE FUNCTION l4._svg_iteration_axis(p l4._plot) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    WITH farthest AS MATERIALIZED (
        SELECT n.node FROM l4._reporter AS n WHERE n.job_id = (p).job_id AND n.last_iteration IS NOT NULL
        ORDER BY n.last_iteration DESC, n.rank, n.node LIMIT 1
    ), done AS MATERIALIZED (
        SELECT i.iteration::bigint AS iteration, min(i.ended) AS ts
        FROM l4._reported AS i
        WHERE i.job_id = (p).job_id AND i.node = (SELECT f.node FROM farthest AS f)
            AND i.ended BETWEEN (p).from_ts AND (p).to_ts
        GROUP BY i.iteration
    ), apart AS (
        -- some eight numbers, and not closer than a number is wide
        SELECT greatest(1, l4._nice_step((b.n + 1)::float8, 8),
            l4._nice_step(40 * b.n / greatest(b.units, 1), 1))::bigint AS step
        FROM (SELECT max(d.iteration) - min(d.iteration) AS n,
                l4._plot_x(p, max(d.ts)) - l4._plot_x(p, min(d.ts)) AS units FROM done AS d) AS b
    ), few AS MATERIALIZED (
        -- a scalar subquery, which runs once: as a join it may run once a row
        SELECT d.iteration, d.ts FROM done AS d WHERE d.iteration % (SELECT a.step FROM apart AS a) = 0
    ), numbered AS (
        SELECT n.iteration, n.x, n.x - lag(n.x) OVER (ORDER BY n.iteration) AS gap
        FROM (SELECT f.iteration, l4._plot_x(p, f.ts) AS x FROM few AS f) AS n
        -- the first ones would touch the name of the axis
        WHERE n.x > l4._plot_left((p).width) + 15
    )
    SELECT string_agg(l4._svg_text('tick', 'middle', n.x, 12, n.iteration::text)
            || l4._svg_line('tickmark', n.x, 16, n.x, 22, NULL), '' ORDER BY n.x)
        || l4._svg_text('tick', 'end', l4._plot_left((p).width) - 8, 12, 'iteration done')
    FROM numbered AS n WHERE n.gap > 24 OR n.gap IS NULL);

--: how much each node writes, in four degrees
CREATE FUNCTION l4._svg_activity(p l4._plot) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    WITH span AS (
        SELECT greatest(extract(epoch FROM (p).to_ts - (p).from_ts)::float8 / 198, 1) AS width
    ), packed AS (
        SELECT l4._activity_columns(z.activity, z.open_activity, r.line, (p).from_ts, (p).to_ts,
            (SELECT s.width FROM span AS s)) AS bins
        FROM l4._summary AS z
        JOIN unnest((p).rows) AS r ON r.node = z.node
        WHERE z.job_id = (p).job_id
    ), box AS (
        -- of the row of many nodes the mean
        SELECT u.line, u.lines::float8 / CASE WHEN u.line = 17 THEN n.others ELSE 1 END AS lines,
            greatest(l4._plot_left((p).width), l4._plot_x(p, (p).from_ts + u.k * s.width * interval '1 second')) AS x0,
            least((p).width - 20, l4._plot_x(p, (p).from_ts + (u.k + 1) * s.width * interval '1 second')) AS x1
        FROM packed AS b
        CROSS JOIN span AS s
        CROSS JOIN (SELECT max(r.nodes) AS others FROM unnest((p).rows) AS r) AS n
        CROSS JOIN LATERAL l4._unpack(b.bins) AS u(line int, k int, lines bigint)
    ), shade AS (
        SELECT b.*, greatest(1, ceil(4 * ln(1 + b.lines) / ln(1 + max(b.lines) OVER ())))::int AS degree FROM box AS b
    )
    SELECT string_agg(r.path, '' ORDER BY r.line, r.degree)
    FROM (SELECT s.line, s.degree, format('<path class="act%s" d="%s"/>', s.degree, string_agg(format(
            'M%s %sh%sv12h-%3$sz', l4._at(s.x0), 8 + 20 * s.line, l4._at(s.x1 - s.x0)), '' ORDER BY s.x0)) AS path
        FROM shade AS s WHERE s.x1 > s.x0 GROUP BY s.line, s.degree) AS r);

--: stripe of the stages of each node
CREATE FUNCTION l4._svg_stages(p l4._plot) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    WITH box AS (
        SELECT r.line, s.stage, floor(greatest(l4._plot_left((p).width), l4._plot_x(p, s.first_ts))) AS x0,
            max(least((p).width - 20, l4._plot_x(p, s.last_ts))) AS x1
        FROM l4.stage_span AS s
        JOIN unnest((p).rows) AS r ON r.node = s.node AND r.nodes = 1
        WHERE s.job_id = (p).job_id AND s.last_ts >= (p).from_ts AND s.first_ts <= (p).to_ts AND s.stage IS NOT NULL
        GROUP BY r.line, s.stage, 3
    )
    SELECT string_agg(r.path, '' ORDER BY r.line, r.stage <> 'train', r.stage)
    FROM (SELECT b.line, b.stage, format('<path class="stage-%s" d="%s"><title>%1$s</title></path>', l4._html(b.stage),
            string_agg(format('M%s %sh%sv4h-%3$sz', b.x0, 21 + 20 * b.line, l4._at(greatest(b.x1 - b.x0, 1.5))), ''
                ORDER BY b.x0)) AS path
        FROM box AS b GROUP BY b.line, b.stage) AS r);

--: where each suspect event first occurs on each node
CREATE FUNCTION l4._svg_markers(p l4._plot) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    WITH shown AS MATERIALIZED (
        -- few of many: a join may look through them once an event and node
        SELECT r.line, r.node FROM unnest((p).rows) AS r WHERE r.nodes = 1
    ), hit AS (
        SELECT r.line, e.rank, c.node, c.occurrences, c.first_ts, l4._plot_x(p, c.first_ts) AS x,
            least((p).width - 20, l4._plot_x(p, c.last_ts)) AS x_last,
            row_number() OVER (PARTITION BY r.line ORDER BY c.first_ts, e.rank) AS n,
            count(*) OVER (PARTITION BY r.line) AS total
        FROM l4.suspect_event AS e
        JOIN l4._event_counts((p).job_id, ARRAY(SELECT z.event_id FROM l4.suspect_event AS z
            WHERE z.job_id = (p).job_id AND z.rank <= 9)) AS c ON c.event_id = e.event_id
        JOIN shown AS r ON r.node = c.node
        WHERE e.job_id = (p).job_id AND e.rank <= 9 AND c.first_ts BETWEEN (p).from_ts AND (p).to_ts
    ), placed AS (
        -- side by side where they would cover each other: x(i) = max over j <= i of x(j) + 16 (i - j), kept inside
        SELECT h.*, 14 + 20 * h.line AS y, least(16 * h.n + max(h.x - 16 * h.n) OVER (PARTITION BY h.line ORDER BY h.n),
            (p).width - 10 - 16 * (h.total - h.n)) AS x_free
        FROM hit AS h
    )
    SELECT string_agg(format(
        '<g class="mark"><title>%s</title>%s<circle cx="%s" cy="%s" r="6.5"/><text x="%3$s" y="%5$s">%6$s</text></g>',
        l4._html(format('%s on %s at %s, %s', m.rank, m.node, to_char(m.first_ts, 'HH24:MI:SS.MS'),
            l4._counted(m.occurrences, 'time'))),
        CASE WHEN m.x_last > m.x_free + 8 THEN l4._svg_line('lasts', m.x_free, m.y, m.x_last, m.y, NULL) END,
        l4._at(m.x_free), m.y, m.y + 3.5, m.rank), '' ORDER BY m.line, m.n DESC)
    FROM placed AS m);

--: names of the nodes beside a timeline, and where each fell silent
CREATE FUNCTION l4._svg_labels(p l4._plot) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    SELECT string_agg(concat(
        l4._svg_text(CASE WHEN l.suspect THEN 'node suspect' ELSE 'node' END, 'end', l4._plot_left((p).width) - 8,
            18 + 20 * l.line, CASE l.nodes WHEN 1 THEN l4._label(l.label, (p).width) ELSE l.label END),
        CASE WHEN l.last_ts IS NULL THEN
                l4._svg_text('tick', 'start', l4._plot_left((p).width) + 6, 18 + 20 * l.line, 'no log')
            WHEN l.nodes = 1 AND l.last_ts < (p).to_ts - 0.02 * ((p).to_ts - (p).from_ts) THEN
                l4._svg_line('silent', greatest(l4._plot_left((p).width), l4._plot_x(p, l.last_ts)), 14 + 20 * l.line,
                    (p).width - 20, 14 + 20 * l.line,
                    format('%s: no line after %s', l.label, to_char(l.last_ts, 'HH24:MI:SS.MS'))) END), ''
        ORDER BY l.line)
    FROM (SELECT r.line, min(r.label) AS label, bool_or(r.suspect) AS suspect, max(r.nodes) AS nodes,
            max(n.last_ts) AS last_ts
        FROM unnest((p).rows) AS r
        LEFT JOIN l4._node AS n ON n.job_id = (p).job_id AND n.node = r.node
        GROUP BY r.line) AS l);

--: picture: nodes x time
CREATE FUNCTION l4._svg_timeline(p l4._plot, title text, moments l4._moment[]) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    SELECT l4._svg(_svg_timeline.title,
        format('One row a node, %s rows; stronger means more lines; numbered marks are the suspect events.', f.lines),
        (p).width, f.bottom + 20, concat(l4._svg_time_axis(p, f.bottom), l4._svg_iteration_axis(p), l4._svg_labels(p),
        l4._svg_activity(p), l4._svg_stages(p), (
            SELECT string_agg(l4._svg_line('moment-' || m.kind, l4._plot_x(p, m.ts), 22, l4._plot_x(p, m.ts), f.bottom,
                CASE m.kind WHEN 'event' THEN 'first suspect event' WHEN 'onset' THEN 'first slow iteration'
                    ELSE 'last iteration reported' END), '' ORDER BY m.kind)
            FROM (SELECT x.kind, min(x.ts) AS ts FROM unnest(_svg_timeline.moments) AS x
                WHERE x.kind IN ('iteration', 'event', 'onset') AND x.ts BETWEEN (p).from_ts AND (p).to_ts
                GROUP BY x.kind) AS m), l4._svg_markers(p)))
    FROM (SELECT max(r.line) AS lines, 28 + 20 * max(r.line) AS bottom FROM unnest((p).rows) AS r) AS f
    WHERE f.lines > 0);
