-- l4.report_html(): one page that needs nothing else. No script at all, and a policy that forbids loading anything.

CREATE FUNCTION l4._html_style() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '
:root{--paper:#fff;--sheet:#f6f7f9;--ink:#1b1f24;--soft:#59636e;--rule:#d5dae0;--bad:#b42318;--good:#1a7f37;--act:#0b5cad;--heat:#b4530a;
--c0:#0072b2;--c1:#e69f00;--c2:#009e73;--c3:#cc79a7;--c4:#56b4e9;--c5:#d55e00;--c6:#8f7a00;--c7:#7a7f87;
--init:#8a8f98;--data:#56b4e9;--model:#cc79a7;--checkpoint_load:#8f7a00;--train:#009e73;--eval:#0072b2;--checkpoint_save:#e69f00;--shutdown:#d55e00}
@media(prefers-color-scheme:dark){:root{--paper:#14171b;--sheet:#1d2126;--ink:#e8eaed;--soft:#a2abb5;--rule:#363c44;--bad:#ff8a7a;--good:#5fd17e;--act:#5aa9f5;--heat:#f0913f;
--c0:#4aa3df;--c1:#f0b429;--c2:#2fc299;--c3:#de9bc0;--c6:#cbb52a;--c7:#a3a9b2;--init:#a3a9b2;--model:#de9bc0;--checkpoint_load:#cbb52a;--train:#2fc299;--eval:#4aa3df;--checkpoint_save:#f0b429}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;overflow-wrap:break-word}
main{max-width:1220px;margin:0 auto;padding:24px 20px 60px}
h1{font-size:26px;line-height:1.25;margin:4px 0 10px}h2{font-size:18px;margin:36px 0 8px;padding-top:10px;border-top:1px solid var(--rule)}
p{margin:8px 0;max-width:80em}.kicker{color:var(--soft);margin:0}
.verdict{background:var(--sheet);border:1px solid var(--rule);border-left:6px solid var(--bad);border-radius:6px;padding:16px 20px}
.verdict.healthy{border-left-color:var(--good)}.verdict.open{border-left-color:var(--soft)}
dl.facts{display:flex;flex-wrap:wrap;gap:6px 34px;margin:12px 0 0}dl.facts div{min-width:90px}
dl.facts dt{color:var(--soft);font-size:12px}dl.facts dd{margin:0;font-weight:600}
nav ul,ul.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:12px 0;font-size:13px}
a{color:var(--act)}
svg{display:block;width:100%;height:auto;font:11px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;margin:6px 0 2px}
figure{margin:0;overflow-x:auto}figure svg{min-width:820px}figcaption{color:var(--soft);font-size:13px;margin-top:2px}
table{border-collapse:collapse;width:100%;font-size:14px}th{text-align:left;color:var(--soft);font-weight:600;font-size:12px}
th,td{padding:6px 10px 6px 0;border-bottom:1px solid var(--rule);vertical-align:top}td.n,th.n{text-align:right;white-space:nowrap}
.scroll{overflow-x:auto}
pre{font:12.5px/1.45 ui-monospace,"DejaVu Sans Mono",Consolas,monospace;background:var(--sheet);border-radius:4px;padding:6px 10px;margin:4px 0;white-space:pre-wrap;overflow-wrap:anywhere}
.name{min-width:6em;max-width:18em;overflow-wrap:anywhere}.why{color:var(--soft);margin:2px 0 0;font-size:13px}.bad{color:var(--bad);font-weight:600}
details{margin:10px 0}summary{cursor:pointer;color:var(--act)}
article{border-bottom:1px solid var(--rule);padding:8px 0}article h3{font-size:15px;margin:2px 0}
.act1,.act2,.act3,.act4{background:var(--act)}
ol.marks{margin:4px 0;padding-left:26px;font-size:13px;columns:2;column-gap:40px}ol.marks li{break-inside:avoid;overflow-wrap:anywhere}ol.marks li::marker{color:var(--bad);font-weight:700}
.key{display:inline-block;width:12px;height:12px;margin-right:6px;border-radius:2px;vertical-align:-1px}
.grid{stroke:var(--rule);stroke-width:1}.tickmark{stroke:var(--soft)}.tick{fill:var(--soft)}.node{fill:var(--ink)}.suspect{fill:var(--bad);font-weight:700}
.act1,.act2,.act3,.act4{fill:var(--act)}.act1{opacity:.2}.act2{opacity:.38}.act3{opacity:.6}.act4{opacity:.85}
.silent{stroke:var(--bad);stroke-width:2;stroke-dasharray:2 5}
.moment-event,.moment-onset{stroke:var(--bad);stroke-width:1.5}.moment-iteration{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:5 3}
.mark circle{fill:var(--paper);stroke:var(--bad);stroke-width:1.6}.mark text{fill:var(--bad);font-size:10px;font-weight:700}.mark line{stroke:var(--bad);stroke-width:1.4;opacity:.55}
.band{fill:var(--soft);opacity:.22}.median{fill:none;stroke:var(--ink);stroke-width:1.6}
.line1,.line2,.line3{fill:none;stroke-width:1.5}.line1{stroke:var(--c5)}.line2{stroke:var(--c0)}.line3{stroke:var(--c2)}
.heat1 rect,.heat2 rect,.heat3 rect,.heat4 rect,.heat5 rect{fill:var(--heat)}.heat1 rect{opacity:.16}.heat2 rect{opacity:.3}.heat3 rect{opacity:.48}.heat4 rect{opacity:.7}.heat5 rect{opacity:.95}
.heat1 text,.heat2 text,.heat3 text{fill:var(--ink);font-size:10px}.heat4 text,.heat5 text{fill:var(--paper);font-size:10px;font-weight:600}
' || (SELECT string_agg(format('.part%s{fill:var(--c%1$s);background:var(--c%1$s)}', n), '' ORDER BY n) FROM generate_series(0, 7) AS n)
	|| (SELECT string_agg(format('.stage-%s{fill:var(--%1$s);background:var(--%1$s)}', s.stage), '' ORDER BY s.stage)
		FROM unnest(ARRAY['init', 'data', 'model', 'checkpoint_load', 'train', 'eval', 'checkpoint_save', 'shutdown']) AS s(stage))
	|| '@media(max-width:640px){ol.marks{columns:1}td:last-child{min-width:15em}}@media print{nav{display:none}details{display:block}.verdict{break-inside:avoid}}';
COMMENT ON FUNCTION l4._html_style() IS 'style sheet of l4.report_html()';

CREATE FUNCTION l4._html_verdict(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT format('<section class="verdict%s" id="verdict"><p class="kicker">%s</p><h1>%s</h1><p>%s</p><dl class="facts">%s</dl></section>',
		CASE WHEN d.status = 'HEALTHY' THEN ' healthy' WHEN d.symptom = 'none' THEN ' open' ELSE '' END, l4._html(l4._printable('Job ' || d.job_id, 200)),
		l4._html(l4._printable(CASE WHEN n.lines = 0 THEN 'No logs' WHEN d.status = 'HEALTHY' THEN 'Nothing deviates' WHEN coalesce(d.symptom, 'none') = 'none' THEN 'No failure seen'
			ELSE initcap(d.symptom) || coalesce(' in stage ' || d.stage, '') || coalesce(', iteration ' || d.iteration, '')
				|| coalesce(': ' || s.suspects, '; no node stands out') END, 400)),
		l4._html(d.summary),
		concat('<div><dt>Status</dt><dd>', l4._html(d.status), '</dd></div>',
			'<div><dt>Compared with</dt><dd>', CASE coalesce(cardinality(d.baseline), 0) WHEN 0 THEN 'no other job' WHEN 1 THEN '1 successful job'
				ELSE cardinality(d.baseline) || ' successful jobs' END, '</dd></div>',
			'<div><dt>Settings</dt><dd>' || l4._html(l4._printable(j.settings, 100)) || '</dd></div>',
			'<div><dt>Nodes with logs</dt><dd>', n.nodes, ' of ' || j.expected_nodes, '</dd></div>',
			'<div><dt>Lines</dt><dd>', to_char(n.lines, 'FM999,999,999,999'), '</dd></div>',
			'<div><dt>Logs from</dt><dd>' || to_char(n.first_ts, 'YYYY-MM-DD HH24:MI:SS TZ') || '</dd></div>',
			'<div><dt>Length</dt><dd>' || l4._elapsed(extract(epoch FROM n.last_ts - n.first_ts)::float8) || '</dd></div>',
			'<div><dt>Diagnosed</dt><dd>' || to_char(d.diagnosed_at, 'YYYY-MM-DD HH24:MI:SS TZ') || '</dd></div>'))
	FROM l4.diagnosis AS d
	LEFT JOIN l4.job AS j ON j.job_id = d.job_id
	CROSS JOIN LATERAL (SELECT string_agg(x.node, ', ' ORDER BY x.rank) AS suspects FROM l4.suspect_node AS x
		WHERE x.job_id = d.job_id AND x.is_suspect AND x.rank <= 5) AS s
	CROSS JOIN LATERAL (SELECT count(*) AS nodes, coalesce(sum(y.lines), 0) AS lines, min(y.first_ts) AS first_ts, max(y.last_ts) AS last_ts
		FROM l4._node AS y WHERE y.job_id = d.job_id) AS n
	WHERE d.job_id = _html_verdict.job_id);
COMMENT ON FUNCTION l4._html_verdict(text) IS 'part of l4.report_html(): the answer, first';

CREATE FUNCTION l4._html_timeline(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT CASE WHEN w.first_ts IS NULL THEN '<p>The lines of this job carry no times.</p>' ELSE concat(
		'<figure><figcaption>The whole job</figcaption>' || l4._svg_timeline(_html_timeline.job_id, w.first_ts, w.last_ts, 'The whole job, nodes by time') || '</figure>',
		'<figure><figcaption>Around the failure</figcaption>' || l4._svg_timeline(_html_timeline.job_id, w.zoom_ts, w.last_ts, 'Around the failure, nodes by time') || '</figure>',
		'<ul class="legend"><li><span class="key act2"></span>lines (darker: more)</li><li><svg width="30" height="12" viewBox="0 0 30 12" aria-hidden="true" style="display:inline;width:30px;min-width:0;margin:0 6px 0 0"><line class="silent" x1="0" x2="30" y1="6" y2="6"/></svg>no more lines</li>',
		'<li><svg width="8" height="14" viewBox="0 0 8 14" aria-hidden="true" style="display:inline;width:8px;min-width:0;margin:0 6px 0 0"><line class="moment-iteration" x1="4" x2="4" y1="0" y2="14"/></svg>last iteration reported</li>',
		'<li><svg width="8" height="14" viewBox="0 0 8 14" aria-hidden="true" style="display:inline;width:8px;min-width:0;margin:0 6px 0 0"><line class="moment-event" x1="4" x2="4" y1="0" y2="14"/></svg>', CASE WHEN EXISTS (SELECT FROM l4.diagnosis AS d WHERE d.job_id = _html_timeline.job_id AND d.symptom = 'slow') THEN 'first slow iteration' ELSE 'first suspect event' END, '</li>',
		(SELECT string_agg(format('<li><span class="key stage-%s"></span>%s</li>', l4._html(s.stage), l4._html(replace(s.stage, '_', ' '))), '' ORDER BY s.ts)
		 FROM (SELECT p.stage, min(p.first_ts) AS ts FROM l4.stage_span AS p WHERE p.job_id = _html_timeline.job_id AND p.stage IS NOT NULL GROUP BY p.stage) AS s),
		'</ul>', (SELECT '<ol class="marks">' || string_agg(format('<li>%s</li>', l4._html(l4._printable(l4._last_message(e.example_line), 200))), '' ORDER BY e.rank) || '</ol>'
		 FROM l4.suspect_event AS e WHERE e.job_id = _html_timeline.job_id AND e.rank <= 9),
		'<details><summary>The same as a list</summary><div class="scroll"><table><thead><tr><th scope="col">time</th><th scope="col">what</th></tr></thead><tbody>',
		(SELECT string_agg(format('<tr><td class="n">%s</td><td>%s</td></tr>', to_char(m.ts, 'MM-DD HH24:MI:SS.MS'), l4._html(l4._printable(m.what, 600))), '' ORDER BY m.n)
		 FROM l4._report_moments(_html_timeline.job_id) WITH ORDINALITY AS m(ts, kind, node, what, n)),
		'</tbody></table></div></details>') END
	FROM l4._failure_window(_html_timeline.job_id) AS w);
COMMENT ON FUNCTION l4._html_timeline(text) IS 'part of l4.report_html(): nodes x time';

CREATE FUNCTION l4._html_nodes(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT concat(
		'<figure><figcaption>Score of a node: the sum of its evidence</figcaption>' || l4._svg_scores(_html_nodes.job_id) || '</figure>',
		'<ul class="legend">' || l4._score_legend(_html_nodes.job_id) || '</ul>',
		'<div class="scroll"><table><thead><tr><th class="n" scope="col">#</th><th scope="col">node</th><th class="n" scope="col">rank</th><th class="n" scope="col">score</th><th class="n" scope="col">isolation forest</th><th scope="col">why</th></tr></thead><tbody>',
		string_agg(format('<tr><td class="n">%s</td><td%s>%s</td><td class="n">%s</td><td class="n">%s</td><td class="n">%s</td><td>%s</td></tr>', s.rank,
			CASE WHEN s.is_suspect THEN ' class="name bad"' ELSE ' class="name"' END, l4._html(l4._printable(s.node, 100)), n.rank, round(s.score::numeric, 2), round(s.iforest_score::numeric, 3),
			l4._html(l4._printable(array_to_string(s.reasons, '; '), 1000))), '' ORDER BY s.rank),
		'</tbody></table></div>',
		(SELECT format('<p class="why">%s more in l4.suspect_node</p>', count(*)) FROM l4.suspect_node AS x
		 WHERE x.job_id = _html_nodes.job_id AND (x.rank > 12 OR x.score <= 0 AND NOT x.is_suspect) HAVING count(*) > 0))
	FROM l4.suspect_node AS s LEFT JOIN l4.job_node AS n ON n.job_id = s.job_id AND n.node = s.node
	WHERE s.job_id = _html_nodes.job_id AND s.rank <= 12 AND (s.score > 0 OR s.is_suspect)
	HAVING count(*) > 0);
COMMENT ON FUNCTION l4._html_nodes(text) IS 'part of l4.report_html(): which nodes';

CREATE FUNCTION l4._html_faults(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT string_agg(format('<article><h3>%s</h3><p class="why">%s%s</p>%s<dl>%s%s</dl>%s</article>', l4._html(f.name), l4._html(concat_ws(', ', f.category, f.component, f.severity)),
			l4._html(coalesce(format('; %s at %s:%s', CASE f.hits WHEN 1 THEN 'once,' ELSE f.hits || ' times, first' END, f.node, f.line_no), '')),
			coalesce('<pre>' || l4._html(l4._printable(f.line, 600)) || '</pre>', ''),
			coalesce('<dt><b>Cause</b></dt><dd>' || l4._html(f.root_cause) || '</dd>', ''), coalesce('<dt><b>Remedy</b></dt><dd>' || l4._html(f.remedy) || '</dd>', ''),
			coalesce('<p class="why">Source: ' || l4._html(f.source_url) || '</p>', '')), '' ORDER BY f.best)
	FROM (SELECT f.name, f.category, f.component, f.severity, f.root_cause, f.remedy, nullif(f.source_url, '') AS source_url, min(m.rank) AS best, sum(m.occurrences) AS hits,
			(array_agg(m.node ORDER BY m.rank))[1] AS node, (array_agg(m.line_no ORDER BY m.rank))[1] AS line_no, (array_agg(m.line ORDER BY m.rank))[1] AS line
		FROM l4.fault_match AS m JOIN l4.fault AS f USING (fault_id) WHERE m.job_id = _html_faults.job_id
		GROUP BY f.fault_id ORDER BY min(m.rank) LIMIT 8) AS f);
COMMENT ON FUNCTION l4._html_faults(text) IS 'part of l4.report_html(): known faults';

CREATE FUNCTION l4._html_proof(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT string_agg(format('<article><h3>%s. %s:%s%s</h3><p class="why">%s; event %s, score %s</p><pre>%s</pre><p class="why">%s</p></article>',
			e.rank, l4._html(l4._printable(e.example_node, 100)), e.example_line_no, coalesce(' at ' || to_char(e.first_ts, 'HH24:MI:SS.MS'), ''),
			CASE e.occurrences WHEN 1 THEN 'once' ELSE e.occurrences || ' times' END || ' on ' || CASE e.nodes WHEN 1 THEN '1 node' ELSE e.nodes || ' nodes' END,
			e.event_id, round(e.score::numeric, 2), l4._html("left"(e.example_line, 2000)), l4._html(array_to_string(e.reasons, '; '))), '' ORDER BY e.rank)
	FROM l4.suspect_event AS e WHERE e.job_id = _html_proof.job_id AND e.rank <= 20);
COMMENT ON FUNCTION l4._html_proof(text) IS 'part of l4.report_html(): the lines that tell the failure';

CREATE FUNCTION l4._html_iterations(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT nullif(concat(
		'<figure><figcaption>Time of each iteration: band and median of the nodes, and the most suspect nodes; the red line is the iteration of the failure</figcaption>' || l4._svg_iterations(_html_iterations.job_id) || '</figure><ul class="legend">'
			|| (SELECT string_agg(format('<li><svg width="24" height="12" viewBox="0 0 24 12" aria-hidden="true" style="display:inline;width:24px;min-width:0;margin:0 6px 0 0"><line class="line%s" x1="0" x2="24" y1="6" y2="6"/></svg>%s</li>', n.place, l4._html(l4._printable(n.node, 60))), '' ORDER BY n.place)
				FROM l4._report_nodes(_html_iterations.job_id) AS n WHERE n.place <= 3) || '</ul>',
		(SELECT '<div class="scroll"><table><thead><tr><th class="n" scope="col">#</th><th class="n" scope="col">iteration</th><th scope="col">node</th><th class="n" scope="col">distance</th><th class="n" scope="col">sigma</th><th scope="col">why</th></tr></thead><tbody>'
			|| string_agg(format('<tr><td class="n">%s</td><td class="n">%s</td><td>%s</td><td class="n">%s</td><td class="n">%s</td><td>%s</td></tr>', s.rank, s.iteration, l4._html(l4._printable(s.node, 100)),
				round(s.distance::numeric, 1), round(s.sigma::numeric, 1), l4._html(array_to_string(s.reasons, '; '))), '' ORDER BY s.rank) || '</tbody></table></div>'
		 FROM l4.suspect_iteration AS s WHERE s.job_id = _html_iterations.job_id AND s.rank <= 10)), ''));
COMMENT ON FUNCTION l4._html_iterations(text) IS 'part of l4.report_html(): iteration times and deviant iterations';

CREATE FUNCTION l4._html_events(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT nullif(concat('<figure><figcaption>Which suspect event occurs how often on which node; suspect nodes first</figcaption>' || l4._svg_heatmap(_html_events.job_id) || '</figure>',
		'<figure><figcaption>Who names whom: in how many suspect events the row names the column</figcaption>' || l4._svg_mentions(_html_events.job_id) || '</figure>'), ''));
COMMENT ON FUNCTION l4._html_events(text) IS 'part of l4.report_html(): events by nodes, names by nodes';

CREATE FUNCTION l4._html_coverage(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
	SELECT concat('<div class="scroll"><table><tbody>',
		(SELECT string_agg(format('<tr><th scope="row">%s</th><td>%s</td></tr>', l4._html(replace(c.key, '_', ' ')), l4._html(l4._printable(l4._coverage_text(c.value), 2000))), '' ORDER BY c.key)
		 FROM jsonb_each(CASE jsonb_typeof(d.coverage) WHEN 'object' THEN d.coverage ELSE '{}' END) AS c(key, value) WHERE l4._coverage_text(c.value) <> ''),
		'</tbody></table></div><details><summary>Baseline and parameters</summary><p>', l4._html(coalesce(nullif(array_to_string(d.baseline, ', '), ''), 'no baseline')),
		'</p><pre>', l4._html(jsonb_pretty(d.parameters)), '</pre></details>',
		'<details><summary>Statements to go on with</summary><pre>', (SELECT string_agg(l4._html(btrim(n.line)), E'\n' ORDER BY n.k) FROM l4._report_next(d.job_id, 200) WITH ORDINALITY AS n(line, k)), '</pre></details>')
	FROM l4.diagnosis AS d WHERE d.job_id = _html_coverage.job_id);
COMMENT ON FUNCTION l4._html_coverage(text) IS 'part of l4.report_html(): what the diagnosis saw and missed';

CREATE FUNCTION l4.report_html(job_id text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	titles constant text[] := ARRAY['timeline', 'When', 'nodes', 'Which nodes', 'faults', 'Known faults', 'proof', 'Proof',
		'events', 'Events by nodes', 'iterations', 'Iterations', 'coverage', 'What the diagnosis saw'];
	part text;
	body text := '';
	menu text := '';
BEGIN
	PERFORM l4._require_diagnosis(report_html.job_id);
	FOR i IN 1 .. array_length(titles, 1) BY 2 LOOP
		EXECUTE format('SELECT l4._html_%s($1)', titles[i]) INTO part USING report_html.job_id;
		CONTINUE WHEN coalesce(part, '') = '';
		body := body || format('<section id="%s"><h2>%s</h2>%s</section>', titles[i], titles[i + 1], part);
		menu := menu || format('<li><a href="#%s">%s</a></li>', titles[i], titles[i + 1]);
	END LOOP;
	RETURN concat('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width,initial-scale=1"/>',
		'<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''"/>',
		'<meta name="color-scheme" content="light dark"/><title>l4: ', l4._html(l4._printable(report_html.job_id, 200)), '</title><style>', l4._html_style(), '</style></head><body><main>',
		l4._html_verdict(report_html.job_id), '<nav aria-label="Sections"><ul>', menu, '</ul></nav>', body, '</main></body></html>');
END;
$$;
COMMENT ON FUNCTION l4.report_html(text) IS 'the diagnosis of a job as one HTML page with pictures: no script, no other files';
