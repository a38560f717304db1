-- l4.report_html(): one page that needs nothing else. No script at all, and a policy that forbids loading anything.

--: style sheet of l4.report_html()
CREATE FUNCTION l4._html_style() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '
:root{--paper:#fff;--sheet:#f6f7f9;--ink:#1b1f24;--soft:#59636e;--rule:#d5dae0;--bad:#b42318;--good:#1a7f37;
--act:#0b5cad;--heat:#b4530a;
--c0:#0072b2;--c1:#e69f00;--c2:#009e73;--c3:#cc79a7;--c4:#56b4e9;--c5:#d55e00;--c6:#8f7a00;--c7:#7a7f87;
--init:#8a8f98;--data:#56b4e9;--model:#cc79a7;--checkpoint_load:#8f7a00;--train:#009e73;--eval:#0072b2;
--checkpoint_save:#e69f00;--shutdown:#d55e00}
@media screen and (prefers-color-scheme:dark){:root{--paper:#14171b;--sheet:#1d2126;--ink:#e8eaed;--soft:#a2abb5;
--rule:#363c44;--bad:#ff8a7a;--good:#5fd17e;--act:#5aa9f5;--heat:#f0913f;
--c0:#4aa3df;--c1:#f0b429;--c2:#2fc299;--c3:#de9bc0;--c6:#cbb52a;--c7:#a3a9b2;
--init:#a3a9b2;--model:#de9bc0;--checkpoint_load:#cbb52a;--train:#2fc299;--eval:#4aa3df;--checkpoint_save:#f0b429}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);overflow-wrap:anywhere;
font:15px/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
main{max-width:1220px;margin:0 auto;padding:24px 20px 60px}
h1{font-size:26px;line-height:1.25;margin:4px 0 10px}
h2{font-size:18px;margin:36px 0 8px;padding-top:10px;border-top:1px solid var(--rule)}
p{margin:8px 0;max-width:80em}.kicker{color:var(--soft);margin:0}
.verdict{background:var(--sheet);border:1px solid var(--rule);border-left:6px solid var(--bad);border-radius:6px;
padding:16px 20px}
.verdict.healthy{border-left-color:var(--good)}.verdict.open{border-left-color:var(--soft)}
dl.brief{display:grid;grid-template-columns:6em 1fr;gap:4px 12px;margin:0}
dl.brief dt{color:var(--soft)}dl.brief dd{margin:0}.proof{font:12.5px/1.45 ui-monospace,"DejaVu Sans Mono",monospace}
nav ul,ul.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:12px 0;font-size:13px}
a{color:var(--act)}figure{margin:0 0 14px}figcaption,.why{color:var(--soft);font-size:13px;margin:2px 0 0}
svg{display:block;width:100%;height:auto;margin:6px 0 2px;
font:11px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
svg.narrow{display:none}svg.sample{display:inline;width:24px;margin:0 6px 0 0}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th{text-align:left;color:var(--soft);font-size:12px}th,td{padding:6px 10px 6px 0;border-bottom:1px solid var(--rule);
vertical-align:top}th,td.short{white-space:nowrap}
pre{font:12.5px/1.45 ui-monospace,"DejaVu Sans Mono",Consolas,monospace;background:var(--sheet);border-radius:4px;
padding:6px 10px;margin:4px 0;white-space:pre-wrap;overflow-wrap:anywhere}
.bad{color:var(--bad);font-weight:600}details{margin:10px 0}summary{cursor:pointer;color:var(--act)}
article{border-bottom:1px solid var(--rule);padding:8px 0}article h3{font-size:15px;margin:2px 0}
ol.marks{margin:4px 0;padding-left:26px;font-size:13px;columns:2;column-gap:40px}ol.marks li{break-inside:avoid}
ol.marks li::marker{color:var(--bad);font-weight:700}
.key{display:inline-block;width:12px;height:12px;margin-right:6px;border-radius:2px;vertical-align:-1px}
.grid{stroke:var(--rule)}.tickmark{stroke:var(--soft)}.tick{fill:var(--soft)}.node{fill:var(--ink)}
.suspect{fill:var(--bad);font-weight:700}
.act1,.act2,.act3,.act4{fill:var(--act);background:var(--act)}
.act1{opacity:.2}.act2{opacity:.38}.act3{opacity:.6}.act4{opacity:.85}
.silent{stroke:var(--bad);stroke-width:2;stroke-dasharray:2 5}.slow{stroke:var(--bad);stroke-width:3}
.moment-event,.moment-onset{stroke:var(--bad);stroke-width:1.5}
.moment-iteration{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:5 3}
.mark circle{fill:var(--paper);stroke:var(--bad);stroke-width:1.6}
.mark text{fill:var(--bad);font-size:10px;font-weight:700;text-anchor:middle}
.lasts{stroke:var(--bad);stroke-width:1.4;opacity:.55}
.band{fill:var(--soft);opacity:.22}.median{fill:none;stroke:var(--ink);stroke-width:1.6}
.line1,.line2,.line3{fill:none;stroke-width:1.5}.line1{stroke:var(--c5)}.line2{stroke:var(--c0)}.line3{stroke:var(--c2)}
[class^=heat] rect{fill:var(--heat)}[class^=heat] text{fill:var(--ink);font-size:10px}
.heat1 rect{opacity:.16}.heat2 rect{opacity:.3}.heat3 rect{opacity:.48}.heat4 rect{opacity:.7}.heat5 rect{opacity:.95}
.heat4 text,.heat5 text{fill:var(--paper)!important;font-weight:600}
' || (SELECT string_agg(format('.part%s{fill:var(--c%1$s);background:var(--c%1$s)}', n), '' ORDER BY n)
        FROM generate_series(0, 7) AS n)
    || (SELECT string_agg(format('.stage-%s{fill:var(--%1$s);background:var(--%1$s)}', s.stage), '' ORDER BY s.stage)
        FROM unnest(ARRAY['init', 'data', 'model', 'checkpoint_load', 'train', 'eval', 'checkpoint_save', 'shutdown'])
            AS s(stage))
    || '
@media screen and (max-width:640px){main{padding:12px 12px 40px}.verdict{padding:12px}h1{font-size:21px}
svg.wide{display:none}svg.narrow{display:block}ol.marks{columns:1}dl.brief{display:block}dl.brief dt{margin-top:6px}
thead{display:none}table,tbody,tr,td,th{display:block;border:0;padding:1px 0}td:empty{display:none}
tr{border-bottom:1px solid var(--rule);padding:6px 0}td.short{display:inline;margin-right:14px}
td[data-name]::before{content:attr(data-name) " ";color:var(--soft);font-size:12px}}
@media print{nav,details{display:none}main{padding:0}.verdict,article,figure,ol,tr{break-inside:avoid}
h2{break-after:avoid}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}';

--: a picture for wide screens, the same for narrow ones
CREATE FUNCTION l4._html_figure(caption text, wide text, narrow text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN format('<figure><figcaption>%s</figcaption>%s%s</figure>', _html_figure.caption, _html_figure.wide,
    _html_figure.narrow);

--: a row of a table; on a narrow screen each cell shows its column
CREATE FUNCTION l4._html_row(columns text[], cells text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT '<tr>' || string_agg(format('<td%s data-name="%s">%s</td>',
        CASE WHEN length(c.cell) < 30 THEN ' class="short"' END, _html_row.columns[c.n], l4._html(c.cell)), ''
        ORDER BY c.n) || '</tr>'
    FROM unnest(_html_row.cells) WITH ORDINALITY AS c(cell, n));

--: a table; NULL without rows
CREATE FUNCTION l4._html_table(columns text[], body text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT '<table><thead><tr>' || string_agg(format('<th scope="col">%s</th>', c.name), '' ORDER BY c.n)
        || '</tr></thead><tbody>' || _html_table.body || '</tbody></table>'
    FROM unnest(_html_table.columns) WITH ORDINALITY AS c(name, n));

--: what a colour or a kind of line means
CREATE FUNCTION l4._html_key(class text, label text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN _html_key.class ~ '^(part|stage|act)'
    THEN format('<li><span class="key %s"></span>%s</li>', l4._html(_html_key.class), l4._html(_html_key.label))
    ELSE format('<li><svg class="sample" viewBox="0 0 24 8" aria-hidden="true">%s</svg>%s</li>',
        l4._svg_line(_html_key.class, 0, 4, 24, 4, NULL), l4._html(_html_key.label)) END;

--: part of l4.report_html(): the answer, first
CREATE FUNCTION l4._html_verdict(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT format('<section class="verdict%s" id="verdict"><p class="kicker">%s</p><h1>%s</h1><dl class="brief">%s'
            '<dt>diagnosed</dt><dd>%s</dd></dl></section>',
        CASE WHEN d.status = 'HEALTHY' THEN ' healthy' WHEN d.symptom = 'none' THEN ' open' ELSE '' END,
        l4._html(l4._printable('Job ' || d.job_id, 200)),
        (SELECT l4._html(upper(left(v.head, 1)) || substr(v.head, 2) || v.rest) FROM l4._verdict(d.job_id) AS v),
        (SELECT string_agg(format('<dt>%s</dt><dd%s>%s</dd>', b.label,
                CASE WHEN b.part = 'proof' THEN ' class="proof"' END, l4._html(l4._printable(b.value, 500))), ''
                ORDER BY b.n)
            FROM (SELECT x.*, max(nullif(x.label, '')) OVER (PARTITION BY x.block) AS part
                FROM (SELECT r.*, count(nullif(r.label, '')) OVER (ORDER BY r.n) AS block
                    FROM l4._report_brief(d.job_id) WITH ORDINALITY AS r(label, value, n)) AS x) AS b),
        to_char(d.diagnosed_at, 'YYYY-MM-DD HH24:MI:SS TZ'))
    FROM l4.diagnosis AS d
    WHERE d.job_id = _html_verdict.job_id);

--: part of l4.report_html(): nodes x time
CREATE FUNCTION l4._html_timeline(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT CASE WHEN w.first_ts IS NULL THEN '<p>The lines of this job carry no times.</p>' ELSE concat(
        (SELECT string_agg(l4._html_figure(p.title,
                l4._svg_timeline((w.job, p.from_ts, w.last_ts, 1160, w.rows)::l4._plot, p.title, w.moments),
                l4._svg_timeline((w.job, p.from_ts, w.last_ts, 380, w.rows)::l4._plot, p.title, w.moments)), ''
                ORDER BY p.n)
         FROM (VALUES (1, 'Around the failure', w.zoom_ts), (2, 'The whole job', w.first_ts)) AS p(n, title, from_ts)
         WHERE p.from_ts IS NOT NULL),
        '<ul class="legend">', l4._html_key('act2', 'lines (stronger: more)'),
        l4._html_key('silent', 'no more lines'), l4._html_key('moment-iteration', 'last iteration reported'),
        l4._html_key('moment-event', CASE WHEN EXISTS (SELECT FROM l4.diagnosis AS d
            WHERE d.job_id = w.job AND d.symptom = 'slow') THEN 'first slow iteration' ELSE 'first suspect event' END),
        (SELECT string_agg(l4._html_key('stage-' || s.stage, replace(s.stage, '_', ' ')), '' ORDER BY s.ts)
         FROM (SELECT p.stage, min(p.first_ts) AS ts FROM l4.stage_span AS p
            WHERE p.job_id = w.job AND p.stage IS NOT NULL GROUP BY p.stage) AS s), '</ul>',
        (SELECT '<ol class="marks">' || string_agg(format('<li>%s</li>',
                l4._html(l4._printable(l4._suspect_words(e), 200))),
                '' ORDER BY e.rank) || '</ol>'
         FROM l4.suspect_event AS e WHERE e.job_id = w.job AND e.rank <= 9),
        '<details><summary>The same as a list</summary>', (
            SELECT l4._html_table(ARRAY['time', 'what'], string_agg(l4._html_row(ARRAY['time', 'what'],
                ARRAY[to_char(m.ts, 'MM-DD HH24:MI:SS.MS'), l4._printable(m.what, 600)]), '' ORDER BY m.n))
            FROM unnest(w.moments) WITH ORDINALITY AS m(ts, kind, node, what, place, n)), '</details>') END
    FROM (SELECT _html_timeline.job_id AS job, f.*, m.moments, l4._plot_rows(_html_timeline.job_id) AS rows
        FROM (SELECT ARRAY(SELECT m FROM l4._report_moments(_html_timeline.job_id) AS m) AS moments OFFSET 0) AS m
        CROSS JOIN LATERAL l4._failure_window(_html_timeline.job_id, m.moments) AS f OFFSET 0) AS w);

--: part of l4.report_html(): which nodes
CREATE FUNCTION l4._html_nodes(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT concat(
        l4._html_figure('Score of a node: the sum of its evidence', l4._svg_scores(_html_nodes.job_id, 1160),
            l4._svg_scores(_html_nodes.job_id, 380)),
        '<ul class="legend">', (
            SELECT string_agg(DISTINCT l4._html_key('part' || e.color, replace(e.name, '_', ' ')), '')
            FROM l4._evidence_parts(_html_nodes.job_id) AS e), '</ul>',
        l4._html_table(c.columns, string_agg(l4._html_row(c.columns, ARRAY[s.rank::text, l4._short_name(s.node, 100),
            n.rank::text, round(s.score::numeric, 2)::text, round(s.iforest_score::numeric, 3)::text,
            l4._printable(l4._in_words(s.reasons), 1000)]), '' ORDER BY s.rank)),
        (SELECT format('<p class="why">%s more in l4.suspect_node</p>', count(*)) FROM l4.suspect_node AS x
         WHERE x.job_id = _html_nodes.job_id AND (x.rank > 12 OR x.score <= 0 AND NOT x.is_suspect)
         HAVING count(*) > 0))
    FROM l4.suspect_node AS s
    LEFT JOIN l4.job_node AS n ON n.job_id = s.job_id AND n.node = s.node
    CROSS JOIN (SELECT ARRAY['#', 'node', 'rank', 'score', 'isolation forest', 'why']) AS c(columns)
    WHERE s.job_id = _html_nodes.job_id AND s.rank <= 12 AND (s.score > 0 OR s.is_suspect)
    GROUP BY c.columns);

--: part of l4.report_html(): known faults
CREATE FUNCTION l4._html_faults(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    WITH fault AS (
        SELECT f.place, format('<article><h3>%s</h3><p class="why">%s</p>%s%s</article>', l4._html(f.name),
            l4._html(concat(f.kind, format('; %s, first at %s:%s', l4._counted(f.occurrences::bigint, 'time'), f.node,
                f.line_no))),
            '<pre>' || l4._html(l4._printable(f.line, 600)) || '</pre>',
            (SELECT string_agg(format('<p><b>%s</b> %s</p>', p.label, l4._html(p.words)), '' ORDER BY p.n)
             FROM (VALUES (1, 'Cause', f.root_cause), (2, 'Remedy', f.remedy), (3, 'Leads to', f.effects),
                (4, 'Source', f.source_url)) AS p(n, label, words) WHERE p.words <> '')) AS part
        FROM l4._report_known(_html_faults.job_id) AS f WHERE f.place <= 12
    )
    SELECT concat(string_agg(f.part, '' ORDER BY f.place) FILTER (WHERE f.place <= 3),
        format('<details><summary>%s more</summary>', nullif(count(*) FILTER (WHERE f.place > 3), 0))
            || string_agg(f.part, '' ORDER BY f.place) FILTER (WHERE f.place > 3) || '</details>')
    FROM fault AS f);

--: part of l4.report_html(): the lines that tell the failure
CREATE FUNCTION l4._html_proof(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT string_agg(format(
            '<article><h3>%s. %s:%s%s</h3><p class="why">%s; event %s, score %s</p>'
            '<pre>%s</pre><p class="why">%s</p></article>',
            e.rank, l4._html(l4._printable(e.example_node, 100)), e.example_line_no,
            ' at ' || to_char(e.first_ts, 'HH24:MI:SS.MS'), l4._how_often(e.occurrences, e.nodes), e.event_id,
            round(e.score::numeric, 2), l4._html(left(e.example_line, 2000)),
            l4._html(l4._in_words(e.reasons))), '' ORDER BY e.rank)
    FROM l4.suspect_event AS e WHERE e.job_id = _html_proof.job_id AND e.rank <= 20);

--: part of l4.report_html(): iteration times and deviant iterations
CREATE FUNCTION l4._html_iterations(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT concat(
        l4._html_figure('Time of each iteration: band and median of the nodes, and the most suspect nodes; the red '
            'line is the iteration of the failure', l4._svg_iterations(_html_iterations.job_id, 1160, x.columns),
            l4._svg_iterations(_html_iterations.job_id, 380, x.columns)),
        '<ul class="legend">', (SELECT string_agg(l4._html_key('line' || n.place, l4._printable(n.node, 60)), ''
                ORDER BY n.place)
            FROM l4._report_nodes(_html_iterations.job_id) AS n WHERE n.place <= 3), '</ul>',
        (SELECT l4._html_table(c.columns, string_agg(l4._html_row(c.columns, ARRAY[s.rank::text, s.iteration::text,
                l4._short_name(s.node, 100), round(s.distance::numeric, 1)::text, round(s.sigma::numeric, 1)::text,
                l4._in_words(s.reasons)]), '' ORDER BY s.rank))
         FROM l4.suspect_iteration AS s
         CROSS JOIN (SELECT ARRAY['#', 'iteration', 'node', 'distance', 'sigma', 'why']) AS c(columns)
         WHERE s.job_id = _html_iterations.job_id AND s.rank <= 10 GROUP BY c.columns))
    FROM (SELECT l4._iteration_columns(_html_iterations.job_id) AS columns OFFSET 0) AS x
    WHERE EXISTS (SELECT FROM l4._reporter AS n
        WHERE n.job_id = _html_iterations.job_id AND n.last_iteration IS NOT NULL)
        OR EXISTS (SELECT FROM l4.suspect_iteration AS s WHERE s.job_id = _html_iterations.job_id));

--: part of l4.report_html(): events by nodes, names by nodes
CREATE FUNCTION l4._html_events(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN concat(
    l4._html_figure('Which suspect event occurs how often on which node; suspect nodes first',
        l4._svg_heatmap(_html_events.job_id, 1160), l4._svg_heatmap(_html_events.job_id, 380)),
    l4._html_figure('Who names whom: in how many suspect events the row names the column',
        l4._svg_mentions(_html_events.job_id, 1160), l4._svg_mentions(_html_events.job_id, 380)));

--: part of l4.report_html(): what the diagnosis saw and missed
CREATE FUNCTION l4._html_coverage(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT concat((SELECT l4._html_table(ARRAY['what', 'seen'], string_agg(l4._html_row(ARRAY['', ''],
                ARRAY[c.name, c.words]), '' ORDER BY c.name)) FROM l4._coverage_rows(d.job_id) AS c),
        '<details><summary>Baseline and parameters</summary><p>',
        l4._html(coalesce(nullif(array_to_string(d.baseline, ', '), ''), 'no baseline')), '</p><pre>',
        l4._html(jsonb_pretty(d.parameters)), '</pre></details>',
        '<details><summary>Statements to go on with</summary><pre>',
        l4._html(array_to_string(ARRAY(SELECT btrim(l4._report_next(d.job_id))), E'\n')), '</pre></details>')
    FROM l4.diagnosis AS d WHERE d.job_id = _html_coverage.job_id);

--: the diagnosis of a job as one HTML page with pictures: no script, no other files
CREATE FUNCTION l4.report_html(job_id text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    j constant text := report_html.job_id;
    body text;
    menu text;
BEGIN
    PERFORM l4._require_diagnosis(j);
    SELECT string_agg(format('<section id="%s"><h2>%s</h2>%s</section>', s.id, s.title, s.part), '' ORDER BY s.n),
        string_agg(format('<li><a href="#%s">%s</a></li>', s.id, s.title), '' ORDER BY s.n)
    INTO body, menu
    FROM (VALUES (1, 'timeline', 'When', l4._html_timeline(j)), (2, 'nodes', 'Which nodes', l4._html_nodes(j)),
            (3, 'faults', 'Known faults', l4._html_faults(j)), (4, 'proof', 'Proof', l4._html_proof(j)),
            (5, 'events', 'Events by nodes', l4._html_events(j)),
            (6, 'iterations', 'Iterations', l4._html_iterations(j)),
            (7, 'network', 'Network', l4._html_network(j)),
            (8, 'coverage', 'What the diagnosis saw', l4._html_coverage(j))) AS s(n, id, title, part)
    WHERE s.part <> '';
    RETURN concat('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width,initial-scale=1"/>',
        '<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''"/>',
        '<meta name="color-scheme" content="light dark"/><title>l4: ', l4._html(l4._printable(j, 200)),
        '</title><style>', l4._html_style(), '</style></head><body><main>', l4._html_verdict(j),
        '<nav aria-label="Sections"><ul>', menu, '</ul></nav>', body, '</main></body></html>');
END;
$$;
