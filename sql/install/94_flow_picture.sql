-- Picture of l4.report_html(): the steps seen in network flows, a row a NIC. At most 16 NICs get a row: those that
-- issues name, then one of each data parallel group. Many steps share a column, so that the page stays small.

--: when which NIC of a job was slow or stopped first, alone or behind a switch
CREATE FUNCTION l4._flow_slow(flow_job text)
RETURNS TABLE (address inet, first_ts timestamptz, last_ts timestamptz, what text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    SELECT m.address, i.first_ts, i.last_ts,
        concat_ws(' ', replace(i.kind, '_', ' '), i.subject) || ': ' || array_to_string(i.reasons, '; ')
    FROM l4.flow_job AS j
    JOIN l4.flow_issue AS i ON i.flow_job = j.flow_job
        OR i.flow_job IS NULL AND i.first_ts <= j.last_ts AND i.last_ts >= j.first_ts
    JOIN l4.flow_member AS m ON m.flow_job = j.flow_job
    WHERE j.flow_job = _flow_slow.flow_job AND i.kind <> 'slow_step'
        AND (host(m.address) = ANY (string_to_array(i.subject, ' ')) OR i.kind = 'slow_switch' AND EXISTS (
            SELECT FROM l4.flow_endpoint AS e WHERE e.address = m.address AND e.switch = i.subject));
END;

--: NICs of a job that get a row in its picture
CREATE FUNCTION l4._flow_rows(flow_job text) RETURNS l4._plot_row[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN ARRAY(
    SELECT (row_number() OVER (ORDER BY m.dp_group, m.address), host(m.address),
        coalesce(m.machine || coalesce(':' || m.nic, ''), host(m.address)), m.slow, 1)::l4._plot_row
    FROM (SELECT n.*, row_number() OVER (PARTITION BY n.dp_group ORDER BY n.slow DESC, n.address) AS place
        FROM (SELECT x.*, x.address IN (SELECT s.address FROM l4._flow_slow(_flow_rows.flow_job) AS s) AS slow
            FROM l4.flow_member AS x WHERE x.flow_job = _flow_rows.flow_job) AS n
        ORDER BY n.slow DESC, place, n.dp_group, n.address LIMIT 16) AS m
    ORDER BY m.dp_group, m.address);

-- Steps side by side while they are few; an array of a NIC's values is unpacked once, not once a step.
--: columns of the picture of a job's flows: place, steps in it, shares of pipeline and data parallel time
CREATE FUNCTION l4._flow_columns(p l4._plot)
RETURNS TABLE (line int, k int, steps bigint, x0 float8, x1 float8, pp float8, dp float8)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 1000
BEGIN ATOMIC
    WITH numbered AS (
        SELECT s.run, s.span, s.stint, s.step, s.started, s.ended, s.dp_ms, count(*) OVER () AS total,
            row_number() OVER (ORDER BY s.step) - 1 AS n
        FROM l4._flow_step AS s
        WHERE s.flow_job = (p).job_id AND s.ended > (p).from_ts AND s.started < (p).to_ts
    ), placed AS MATERIALIZED (
        SELECT s.*, (s.n * least(s.total, (p).width / 11) / s.total)::int AS k,
            1000 * extract(epoch FROM s.ended - s.started)::float8 AS ms
        FROM numbered AS s
    ), member AS MATERIALIZED (
        SELECT r.line, m.span, m.stint, m.first_step, m.pp_ms
        FROM unnest((p).rows) AS r
        JOIN l4._flow_member AS m ON m.flow_job = (p).job_id AND host(m.address) = r.node
    ), pipeline AS (
        SELECT m.line, m.first_step + v.n - 1 AS step, v.ms
        FROM member AS m CROSS JOIN unnest(m.pp_ms) WITH ORDINALITY AS v(ms, n)
    )
    SELECT m.line, s.k, count(*), l4._plot_x(p, greatest((p).from_ts, min(s.started))),
        l4._plot_x(p, least((p).to_ts, max(s.ended))),
        coalesce(sum(v.ms), 0) / sum(greatest(s.ms, coalesce(v.ms, 0) + s.dp_ms, 1e-3)),
        sum(s.dp_ms) / sum(greatest(s.ms, coalesce(v.ms, 0) + s.dp_ms, 1e-3))
    FROM member AS m
    JOIN placed AS s ON s.span = m.span AND s.stint = m.stint
    LEFT JOIN pipeline AS v ON v.line = m.line AND v.step = s.step
    GROUP BY m.line, s.run, s.k;
END;

-- A step with a column of its own is divided from left to right, with a gap where there is room; several from top to
-- bottom.
--: bars of computing, pipeline and data parallel time of each NIC
CREATE FUNCTION l4._svg_flow_bars(p l4._plot) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    WITH part AS (
        SELECT c.line, v.class, string_agg(CASE WHEN c.steps = 1
            THEN format('M%s %sh%sv12h-%3$sz', l4._at(c.x0 + w.width * v.low), 10 + 16 * c.line,
                l4._at(w.width * (v.high - v.low)))
            ELSE format('M%s %sh%sv%sh-%3$sz', l4._at(c.x0), l4._at(10 + 16 * c.line + 12 * v.low), l4._at(c.x1 - c.x0),
                l4._at(12 * (v.high - v.low))) END, '' ORDER BY c.x0) AS path
        FROM l4._flow_columns(p) AS c
        CROSS JOIN LATERAL (SELECT c.x1 - c.x0 - CASE WHEN c.x1 - c.x0 > 4 THEN 1 ELSE 0 END AS width) AS w
        CROSS JOIN LATERAL (VALUES ('act1', 0, 1 - c.pp - c.dp), ('part1', 1 - c.pp - c.dp, 1 - c.dp),
            ('part0', 1 - c.dp, 1)) AS v(class, low, high)
        WHERE v.high - v.low > 0.001
        GROUP BY c.line, v.class
    )
    SELECT string_agg(format('<path class="%s" d="%s"/>', r.class, r.path), '' ORDER BY r.line, r.class)
    FROM part AS r);

--: numbers of the steps above a picture, and which of them are slow
CREATE FUNCTION l4._svg_flow_steps(p l4._plot) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    WITH step AS MATERIALIZED (
        SELECT s.step, l4._plot_x(p, s.started) AS x
        FROM l4._flow_step AS s
        WHERE s.flow_job = (p).job_id AND s.started >= (p).from_ts AND s.ended <= (p).to_ts
    ), few AS (
        -- a scalar subquery, which runs once: as a join it may run once a row
        SELECT s.step, s.x, s.x - lag(s.x) OVER (ORDER BY s.x) AS gap
        FROM step AS s
        WHERE s.step % (SELECT greatest(1, l4._nice_step((max(z.step) - min(z.step) + 1)::float8,
            CASE WHEN (p).width > 400 THEN 12 ELSE 5 END))::int FROM step AS z) = 0
    ), slow AS (
        SELECT (array_agg(format('step %s: %s', i.subject, array_to_string(i.reasons, '; ')) ORDER BY i.score DESC))[1]
            AS what, count(*) AS steps, min(v.x0) AS x0, max(v.x1) AS x1
        FROM l4.flow_issue AS i
        CROSS JOIN LATERAL (SELECT i.first_ts, i.last_ts WHERE NOT i.evidence ? 'steps'
            UNION ALL
            SELECT s.started, s.ended FROM jsonb_array_elements(i.evidence->'steps') AS e(step)
            JOIN l4._flow_step AS s ON s.flow_job = (p).job_id AND s.step = e.step::int) AS t(first_ts, last_ts)
        CROSS JOIN LATERAL (SELECT l4._plot_x(p, greatest(t.first_ts, (p).from_ts)),
            l4._plot_x(p, least(t.last_ts, (p).to_ts))) AS v(x0, x1)
        WHERE i.flow_job = (p).job_id AND i.kind = 'slow_step' AND t.last_ts > (p).from_ts AND t.first_ts < (p).to_ts
        GROUP BY floor(v.x0 / 6)
    )
    SELECT concat(l4._svg_text('tick', 'end', l4._plot_left((p).width) - 8, 12, 'step'),
        (SELECT string_agg(l4._svg_text('tick', 'middle', f.x, 12, f.step::text), '' ORDER BY f.x)
         FROM few AS f
         WHERE f.x BETWEEN l4._plot_left((p).width) + 15 AND (p).width - 30 AND coalesce(f.gap > 24, true)),
        (SELECT string_agg(l4._svg_line('slow', s.x0, 19, greatest(s.x1, s.x0 + 2), 19,
            s.what || coalesce(format(' (and %s more)', nullif(s.steps, 1) - 1), '')), '' ORDER BY s.x0)
         FROM slow AS s)));

--: picture: NICs x time
CREATE FUNCTION l4._svg_flow(p l4._plot, title text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    SELECT l4._svg(_svg_flow.title, format('One row a NIC, %s rows; red: slow steps above, slow NICs in their rows.',
            f.lines), (p).width, f.bottom + 20, concat(l4._svg_time_axis(p, f.bottom), l4._svg_flow_steps(p), (
            SELECT string_agg(l4._svg_text(CASE WHEN r.suspect THEN 'node suspect' ELSE 'node' END, 'end',
                l4._plot_left((p).width) - 8, 20 + 16 * r.line, l4._label(r.label, (p).width)), '' ORDER BY r.line)
            FROM unnest((p).rows) AS r), l4._svg_flow_bars(p), (
            SELECT string_agg(l4._svg_line('slow', v.x0, 22 + 16 * r.line, greatest(v.x1, v.x0 + 2), 22 + 16 * r.line,
                format('%s: %s', r.label, s.what)), '' ORDER BY r.line, s.first_ts, s.what)
            FROM l4._flow_slow((p).job_id) AS s
            JOIN unnest((p).rows) AS r ON r.node = host(s.address)
            CROSS JOIN LATERAL (SELECT l4._plot_x(p, greatest(s.first_ts, (p).from_ts)),
                l4._plot_x(p, least(s.last_ts, (p).to_ts))) AS v(x0, x1)
            WHERE s.first_ts < (p).to_ts AND s.last_ts > (p).from_ts)))
    FROM (SELECT max(r.line) AS lines, 28 + 16 * max(r.line) AS bottom FROM unnest((p).rows) AS r) AS f
    WHERE f.lines > 0 AND (p).from_ts IS NOT NULL);

-- Steps around the first issue, else the last ones, of a job that has more than 48.
--: span of a closer look at the flows of a job; NULL where the whole shows it
CREATE FUNCTION l4._flow_look(flow_job text, steps int, OUT from_ts timestamptz, OUT to_ts timestamptz, OUT issue bool)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT min(s.started), max(s.ended), bool_or(z.issue)
    FROM (SELECT x.issue IS NOT NULL AS issue, greatest(0, least(x.last + 1, x.issue + _flow_look.steps / 2)
            - _flow_look.steps) AS first
        FROM (SELECT max(s.step) AS last, min(s.step) FILTER (WHERE s.ended > (SELECT i.first_ts FROM l4.flow_issue AS i
                WHERE i.flow_job = _flow_look.flow_job ORDER BY i.rank LIMIT 1)) AS issue
            FROM l4._flow_step AS s WHERE s.flow_job = _flow_look.flow_job
            HAVING count(*) > 48) AS x) AS z
    JOIN l4._flow_step AS s ON s.flow_job = _flow_look.flow_job
        AND s.step BETWEEN z.first AND z.first + _flow_look.steps - 1;
END;

--: page: pictures of a job found in network flows
CREATE FUNCTION l4._html_flow(flow_job text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT concat(
        l4._html_figure(l4._html(w.near),
            l4._svg_flow((w.flow_job, w.from_ts, w.to_ts, 1160, w.rows)::l4._plot, w.near),
            l4._svg_flow((w.flow_job, n.from_ts, n.to_ts, 380, w.rows)::l4._plot, w.near)),
        l4._html_figure(l4._html(w.whole),
            l4._svg_flow((w.flow_job, w.first_ts, w.last_ts, 1160, w.rows)::l4._plot, w.whole),
            l4._svg_flow((w.flow_job, w.first_ts, w.last_ts, 380, w.rows)::l4._plot, w.whole)),
        '<ul class="legend">', l4._html_key('act1', 'computing'), l4._html_key('part1', 'pipeline parallel'),
        l4._html_key('part0', 'data parallel'), l4._html_key('slow', 'slow'), '</ul><p class="why">',
        'Shares of each step, not their order within it.',
        ' ' || nullif(w.nics - cardinality(w.rows), 0) || ' more NICs in l4.flow_step_nic.', '</p>')
    FROM (SELECT j.flow_job, j.nics, j.first_ts, j.last_ts, k.from_ts, k.to_ts, l4._flow_rows(j.flow_job) AS rows,
            format('Steps of %s, %s', j.flow_job, CASE WHEN k.issue THEN 'around the first issue' ELSE 'the last' END)
                AS near, format('Steps of %s', j.flow_job) AS whole
        FROM l4.flow_job AS j CROSS JOIN l4._flow_look(j.flow_job, 32) AS k
        WHERE j.flow_job = _html_flow.flow_job OFFSET 0) AS w
    CROSS JOIN l4._flow_look(w.flow_job, 12) AS n);
