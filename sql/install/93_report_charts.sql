-- Charts of l4.report_html(): node scores, iteration times, events by nodes, who names whom.

--: what each kind of evidence adds to the score of the first nodes
CREATE FUNCTION l4._evidence_parts(job_id text)
RETURNS TABLE (rank int, name text, value float8, color bigint)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 50
BEGIN ATOMIC
    SELECT s.rank, e.kind, e.value * e.weight, (dense_rank() OVER (ORDER BY e.kind) - 1) % 8
    FROM l4.suspect_node AS s JOIN l4.evidence AS e USING (job_id, node)
    WHERE s.job_id = _evidence_parts.job_id AND s.rank <= 16 AND s.score > 0 AND e.value * e.weight > 0;
END;

--: picture: score of each suspect node, by kind of evidence
CREATE FUNCTION l4._svg_scores(job_id text, width int) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    WITH node AS (
        SELECT s.rank, s.node, s.score, s.is_suspect, 24 * s.rank AS y, l4._plot_left(_svg_scores.width) AS x,
            (_svg_scores.width - 60 - l4._plot_left(_svg_scores.width)) / max(s.score) OVER () AS unit
        FROM l4.suspect_node AS s WHERE s.job_id = _svg_scores.job_id AND s.rank <= 16 AND s.score > 0
    ), bar AS (
        SELECT p.rank, string_agg(format(
            '<rect class="part%s" x="%s" y="%s" width="%s" height="16"><title>%s %s</title></rect>', p.color,
            l4._at(p.x), p.y - 20, l4._at(greatest(p.width - 0.6, 0.3)), l4._html(p.name),
            round(p.value::numeric, 2)), '' ORDER BY p.x) AS parts
        FROM (SELECT e.*, n.y, n.unit * e.value AS width, n.x + n.unit * (sum(e.value) OVER w - e.value) AS x
            FROM l4._evidence_parts(_svg_scores.job_id) AS e JOIN node AS n USING (rank)
            WINDOW w AS (PARTITION BY e.rank ORDER BY e.value DESC, e.name)) AS p
        GROUP BY p.rank
    )
    SELECT l4._svg('Scores of the nodes',
        string_agg(format('%s: %s', n.node, round(n.score::numeric, 2)), ', ' ORDER BY n.rank), _svg_scores.width,
        24 * count(*)::int + 8, string_agg(concat(
            l4._svg_text(CASE WHEN n.is_suspect THEN 'node suspect' ELSE 'node' END, 'end', n.x - 8, n.y - 8,
                l4._label(n.node, _svg_scores.width)), b.parts,
            l4._svg_text('tick', 'start', n.x + n.unit * n.score + 8, n.y - 8, round(n.score::numeric, 2)::text)), ''
            ORDER BY n.rank))
    FROM node AS n LEFT JOIN bar AS b ON b.rank = n.rank HAVING count(*) > 0);

--: the longest iteration of a node in a column of the picture
CREATE TYPE l4._iteration_column AS (place int, node text, k int, iteration int, ms float8);

-- Durations of the iterations of at most 16 nodes (the most suspect first), in at most 330 columns. Found once for all
-- pictures of a page.
--: longest iteration of each node in each column of the picture
CREATE FUNCTION l4._iteration_columns(job_id text) RETURNS l4._iteration_column[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN ARRAY(
    WITH chosen AS (
        SELECT n.place, n.node FROM l4._report_nodes(_iteration_columns.job_id) AS n
        JOIN l4._reporter AS x ON x.job_id = _iteration_columns.job_id AND x.node = n.node
            AND x.last_iteration IS NOT NULL
        ORDER BY n.place LIMIT 16
    ), timed AS (
        -- an iteration without a printed time took what passed since the one before
        SELECT i.node, i.epoch, i.iteration, avg(coalesce(i.duration_ms, i.gap_ms)) AS ms
        FROM (SELECT t.node, t.epoch, t.iteration, t.duration_ms,
                1000 * extract(epoch FROM t.ended - lag(t.ended) OVER w)::float8
                    / nullif(t.iteration - lag(t.iteration) OVER w, 0) AS gap_ms
            FROM l4._reported AS t
            WHERE t.job_id = _iteration_columns.job_id AND t.node = ANY (ARRAY(SELECT c.node FROM chosen AS c))
            WINDOW w AS (PARTITION BY t.node, t.source, t.epoch ORDER BY t.iteration, t.ended)) AS i
        GROUP BY i.node, i.epoch, i.iteration
    ), counted AS (
        SELECT t.*, dense_rank() OVER (ORDER BY t.epoch, t.iteration) - 1 AS n FROM timed AS t WHERE t.ms > 0
    ), totalled AS (
        -- a window: joined with its own maximum the plan for few rows is quadratic for many
        SELECT t.*, max(t.n) OVER () + 1 AS total FROM counted AS t
    )
    SELECT (f.place, f.node, f.k, f.iteration, f.ms)::l4._iteration_column
    FROM (SELECT c.place, c.node, (t.n * least(t.total, 330) / t.total)::int AS k, max(t.iteration) AS iteration,
            max(t.ms) AS ms
        FROM chosen AS c JOIN totalled AS t USING (node)
        GROUP BY 1, 2, 3) AS f);

--: picture: time of each iteration, all nodes and the most suspect ones
CREATE FUNCTION l4._svg_iterations(job_id text, width int, columns l4._iteration_column[]) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    WITH cell AS MATERIALIZED (
        -- in a narrow picture fewer columns
        SELECT c.place, c.node, c.k * least(t.n, _svg_iterations.width * 330 / 1160) / t.n AS k,
            max(c.iteration) AS iteration, max(c.ms) AS ms
        FROM unnest(_svg_iterations.columns) AS c
        CROSS JOIN (SELECT max(u.k) + 1 AS n FROM unnest(_svg_iterations.columns) AS u) AS t
        GROUP BY 1, 2, 3
    ), scale AS (
        SELECT max(c.k) + 1 AS columns, min(c.ms) * 0.9 AS low, max(c.ms) * 1.05 AS high,
            max(c.ms) > 8 * percentile_cont(0.5) WITHIN GROUP (ORDER BY c.ms) AS logarithmic,
            count(DISTINCT c.node) AS nodes, l4._plot_left(_svg_iterations.width) AS x0,
            _svg_iterations.width - 20 AS x1
        FROM cell AS c HAVING count(*) > 1
    ), point AS (
        SELECT c.*, s.x0 + (s.x1 - s.x0) * (c.k + 0.5) / s.columns AS x,
            226 - 210 * CASE WHEN s.logarithmic THEN ln(c.ms / s.low) / ln(s.high / s.low) ELSE c.ms / s.high END AS y
        FROM cell AS c CROSS JOIN scale AS s
    ), middle AS (
        SELECT p.k, p.x, percentile_cont(0.5) WITHIN GROUP (ORDER BY p.y) AS y, min(p.y) AS y_min, max(p.y) AS y_max,
            max(p.iteration)::bigint AS iteration, lag(max(p.iteration)::bigint) OVER (ORDER BY p.k) AS before
        FROM point AS p GROUP BY p.k, p.x
    ), apart AS (
        -- of a job that began anew the way that it went
        SELECT greatest(1, l4._nice_step(sum(greatest(1, m.iteration - m.before))::float8,
            (max(s.x1 - s.x0) / 100)::int))::bigint AS step
        FROM middle AS m CROSS JOIN scale AS s
    ), level AS (
        SELECT v.ms, 226 - 210 * CASE WHEN s.logarithmic THEN ln(v.ms / s.low) / ln(s.high / s.low)
            ELSE v.ms / s.high END AS y
        FROM scale AS s
        CROSS JOIN LATERAL (
            SELECT power(10::float8, e) * m.times AS ms
            FROM generate_series(-1, 8) AS e CROSS JOIN unnest(ARRAY[1, 2, 5]) AS m(times)
            WHERE s.logarithmic AND power(10::float8, e) * m.times BETWEEN s.low AND s.high
            UNION ALL
            SELECT n * l4._nice_step(s.high, 4)
            FROM generate_series(0, 5) AS n WHERE NOT s.logarithmic AND n * l4._nice_step(s.high, 4) <= s.high) AS v
    )
    SELECT l4._svg('Time of the iterations',
        format('%s nodes; the band is from the fastest to the slowest, the line their median.', s.nodes),
        _svg_iterations.width, 250, concat(
        (SELECT string_agg(l4._svg_line('grid', s.x0, l.y, s.x1, l.y, NULL)
            || l4._svg_text('tick', 'end', s.x0 - 8, l.y + 4, l4._milliseconds(l.ms)), '' ORDER BY l.ms)
         FROM level AS l),
        (SELECT string_agg(l4._svg_text('tick', 'middle', m.x, 244, (m.iteration / a.step * a.step)::text), ''
                ORDER BY m.x)
         FROM middle AS m CROSS JOIN apart AS a
         WHERE m.iteration / a.step > coalesce(m.before, m.iteration - 1) / a.step),
        (SELECT format('<polygon class="band" points="%s %s"/>',
            string_agg(format('%s,%s', l4._at(m.x), l4._at(m.y_min)), ' ' ORDER BY m.k),
            string_agg(format('%s,%s', l4._at(m.x), l4._at(m.y_max)), ' ' ORDER BY m.k DESC))
         FROM middle AS m WHERE s.nodes > 1),
        (SELECT string_agg(format('<polyline class="line%s" points="%s"><title>%s</title></polyline>', q.place,
            q.points, l4._html(q.node)), '' ORDER BY q.place DESC)
         FROM (SELECT p.place, p.node,
                string_agg(format('%s,%s', l4._at(p.x), l4._at(p.y)), ' ' ORDER BY p.k) AS points
            FROM point AS p WHERE p.place <= 3 GROUP BY p.place, p.node) AS q),
        (SELECT format('<polyline class="median" points="%s"/>',
            string_agg(format('%s,%s', l4._at(m.x), l4._at(m.y)), ' ' ORDER BY m.k)) FROM middle AS m),
        -- the iteration of the failure: where the last one before it is, or behind it
        (SELECT l4._svg_line('moment-event', v.x, 10, v.x, 226, 'iteration of the failure')
         FROM l4.diagnosis AS d
         LEFT JOIN l4._case AS c USING (job_id)
         CROSS JOIN LATERAL (SELECT coalesce(l4._since_start(c.epochs, d.epoch,
            (d.coverage ->> 'iteration_in_epoch')::int), d.iteration)) AS f(iteration)
         CROSS JOIN LATERAL (SELECT least(s.x1, max(m.x) + CASE WHEN max(m.iteration) < f.iteration
                THEN (s.x1 - s.x0) / (2.0 * s.columns) ELSE 0 END)
            FROM middle AS m WHERE m.iteration <= f.iteration) AS v(x)
         WHERE d.job_id = _svg_iterations.job_id AND v.x IS NOT NULL)))
    FROM scale AS s);

-- A cell of a matrix: n of the row-th label on a node.
--: a cell of a matrix with one column a node
CREATE TYPE l4._cell AS (line int, node text, n bigint);

-- Columns of the matrices: 32 nodes (on a phone 12), and one for all others where there are more.
--: picture: a matrix with one column a node
CREATE FUNCTION l4._svg_matrix(job_id text, width int, title text, description text, labels text[], cells l4._cell[])
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    WITH frame AS (
        SELECT CASE WHEN _svg_matrix.width > 400 THEN 32 ELSE 12 END AS many,
            CASE WHEN _svg_matrix.width > 400 THEN 320 ELSE 110 END AS x0
    ), named AS MATERIALIZED (
        SELECT n.node, least(n.place, f.many + 1) AS place, n.place > f.many AND n.total > f.many + 1 AS other,
            n.is_suspect
        FROM l4._report_nodes(_svg_matrix.job_id) AS n CROSS JOIN frame AS f
    ), node AS (
        SELECT n.place, min(CASE WHEN n.other THEN 'others' ELSE l4._short_name(n.node, 16) END) AS label,
            bool_or(n.is_suspect AND NOT n.other) AS suspect
        FROM named AS n GROUP BY n.place
    ), grid AS (
        SELECT least(60, (_svg_matrix.width - 40.0 - f.x0) / count(*)) AS width, count(*) AS columns, f.x0
        FROM node CROSS JOIN frame AS f GROUP BY f.x0
    ), shade AS (
        SELECT c.*, greatest(1, ceil(5 * ln(1 + c.n) / ln(1 + max(c.n) OVER ())))::int AS degree
        FROM (SELECT c.line, n.place, sum(c.n) AS n
            FROM unnest(_svg_matrix.cells) AS c(line, node, n) JOIN named AS n ON n.node = c.node
            WHERE c.n > 0 GROUP BY c.line, n.place) AS c
    )
    SELECT l4._svg(_svg_matrix.title, _svg_matrix.description, _svg_matrix.width, 96 + 22 * cardinality(labels), concat(
        (SELECT string_agg(format('<text class="%s" transform="translate(%s,86) rotate(-40)">%s</text>',
            CASE WHEN n.suspect THEN 'node suspect' ELSE 'node' END, round(g.x0 + 4 + (n.place - 0.6) * g.width, 1),
            l4._html(n.label)), '' ORDER BY n.place) FROM node AS n),
        (SELECT string_agg(l4._svg_text('node', 'end', g.x0 - 4, 84 + 22 * l.n,
                l4._printable(l.label, (g.x0 - 8) / 6))
            || l4._svg_line('grid', g.x0, 90 + 22 * l.n, g.x0 + g.columns * g.width, 90 + 22 * l.n, NULL), ''
            ORDER BY l.n)
         FROM unnest(_svg_matrix.labels) WITH ORDINALITY AS l(label, n)),
        (SELECT string_agg(format(
            '<g class="heat%s"><rect x="%s" y="%s" width="%s" height="20"><title>%s, %s: %s</title></rect>%s</g>',
            s.degree, round(g.x0 + (s.place - 1) * g.width + 0.5, 1), 69 + 22 * s.line, round(g.width - 1, 1),
            l4._html(l4._printable(_svg_matrix.labels[s.line], 60)), l4._html(n.label), s.n,
            CASE WHEN g.width >= 22 THEN format('<text x="%s" y="%s" text-anchor="middle">%s</text>',
                round(g.x0 + (s.place - 0.5) * g.width, 1), 83 + 22 * s.line,
                CASE WHEN s.n >= 1000 THEN round(s.n / 1000) || 'k' ELSE s.n::text END) END), ''
            ORDER BY s.line, s.place)
         FROM shade AS s JOIN node AS n ON n.place = s.place)))
    FROM grid AS g WHERE cardinality(_svg_matrix.labels) > 0);

--: picture: suspect events x nodes
CREATE FUNCTION l4._svg_heatmap(job_id text, width int) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    WITH event AS (
        SELECT e.event_id, row_number() OVER (ORDER BY e.rank)::int AS line,
            format('%s  %s', e.rank, l4._suspect_words(e)) AS label
        FROM l4.suspect_event AS e WHERE e.job_id = _svg_heatmap.job_id AND e.rank <= 20
    )
    SELECT l4._svg_matrix(_svg_heatmap.job_id, _svg_heatmap.width, 'Suspect events by nodes',
        'How often each suspect event occurs on each node.', ARRAY(SELECT e.label FROM event AS e ORDER BY e.line),
        ARRAY(SELECT (e.line, c.node, c.occurrences)::l4._cell
            FROM l4._event_counts(_svg_heatmap.job_id, ARRAY(SELECT x.event_id FROM event AS x)) AS c
            JOIN event AS e USING (event_id))));

--: picture: which nodes are named in the suspect events of which
CREATE FUNCTION l4._svg_mentions(job_id text, width int) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    -- who complains about whom, as the diagnosis heard it; the twelve that name most
    WITH named AS (
        SELECT x.accuser, x.accused, cardinality(ARRAY(SELECT DISTINCT unnest(x.events)))::bigint AS n
        FROM l4._case_edge AS x WHERE x.job_id = _svg_mentions.job_id
    ), who AS (
        SELECT n.accuser, row_number() OVER (ORDER BY sum(n.n) DESC, n.accuser)::int AS line
        FROM named AS n GROUP BY n.accuser ORDER BY 2 LIMIT 12
    )
    SELECT l4._svg_matrix(_svg_mentions.job_id, _svg_mentions.width, 'Who names whom',
        'In how many suspect events a node (row) names another one (column).',
        ARRAY(SELECT l4._short_name(w.accuser, 17) FROM who AS w ORDER BY w.line),
        ARRAY(SELECT (w.line, n.accused, n.n)::l4._cell FROM who AS w JOIN named AS n USING (accuser))));
