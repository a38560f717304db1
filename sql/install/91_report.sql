-- l4.report(): a diagnosis as text, for a person at a terminal: a first screen in plain words, the rest below.
-- An empty section is left out.

--: what a status of a diagnosis means; of PARTIAL, what was missing
CREATE FUNCTION l4._status_words(d l4.diagnosis) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    SELECT CASE d.status WHEN 'HEALTHY' THEN 'nothing deviates'
        WHEN 'NO_BASELINE' THEN 'no successful job to compare with'
        WHEN 'PARTIAL' THEN 'some input was missing: ' || CASE WHEN (d.coverage -> 'lines')::bigint = 0 THEN 'all lines'
            ELSE concat_ws(', ', CASE WHEN cardinality(m.nodes) > 0 THEN 'lines of ' || l4._first_few(m.nodes)
                WHEN m.unseen > 0 THEN format('lines of %s of %s', m.unseen,
                    l4._counted((d.coverage ->> 'nodes_expected')::bigint, 'node')) END,
                'what lies on ' || l4._first_few(m.servers),
                CASE WHEN NOT (d.coverage ->> 'timed')::bool THEN 'times of lines' END,
                CASE WHEN (d.coverage ->> 'truncated')::bool THEN 'how the job ended'
                    WHEN d.symptom = 'none' THEN 'the end of some logs' END) END
        ELSE 'comparison complete' END
    FROM (SELECT ARRAY(SELECT jsonb_array_elements_text(d.coverage -> 'nodes_silent')),
            ARRAY(SELECT jsonb_array_elements_text(d.coverage -> 'servers_missing')),
            (d.coverage -> 'nodes_expected')::int - (d.coverage -> 'nodes_seen')::int) AS m(nodes, servers, unseen));

--: the answer in a line: symptom, and its stage, iteration and suspects
CREATE FUNCTION l4._verdict(job_id text, OUT head text, OUT rest text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT h.head, CASE WHEN h.head <> d.symptom THEN ''
        ELSE concat(' in stage ' || d.stage, ', ' || l4._iteration_words(d),
            CASE s.total WHEN 0 THEN '; no node stands out' WHEN 1 THEN '; suspect ' ELSE '; suspects ' END, s.nodes,
            CASE WHEN s.total > 5 THEN format(' and %s more', s.total - 5) END) END
    FROM l4.diagnosis AS d
    CROSS JOIN LATERAL (SELECT CASE WHEN (d.coverage ->> 'lines')::bigint = 0 THEN 'no logs'
        WHEN d.status = 'HEALTHY' THEN 'nothing deviates' WHEN d.symptom = 'none' THEN 'no failure seen'
        ELSE d.symptom END) AS h(head)
    CROSS JOIN LATERAL (
        SELECT string_agg(l4._short_name(s.node, 60) || coalesce(' (rank ' || n.rank || ')', ''), ', '
            ORDER BY s.rank) FILTER (WHERE s.rank <= 5) AS nodes, count(*) AS total
        FROM l4.suspect_node AS s LEFT JOIN l4.job_node AS n ON n.job_id = s.job_id AND n.node = s.node
        WHERE s.job_id = d.job_id AND s.is_suspect) AS s
    WHERE d.job_id = _verdict.job_id;
END;

-- What the program or all nodes did may be plain although no node stands out.
--: how sure a diagnosis is: of the first suspect, else of the cause
CREATE FUNCTION l4._how_sure(d l4.diagnosis) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce((
    SELECT format('%s: %s scores %s%s', CASE
            WHEN s.score >= t.certain_score AND s.score >= t.certain_ratio * coalesce(n.score, 0) THEN 'certain'
            WHEN s.score >= t.likely_score THEN 'likely' ELSE 'weak' END,
        l4._short_name(s.node, 40), round(s.score::numeric, 1),
        coalesce(', the next node ' || round(n.score::numeric, 1), ' and is the only node'))
    FROM l4.suspect_node AS s
    CROSS JOIN LATERAL jsonb_populate_record(NULL::l4._thresholds, l4.diagnose_defaults() || d.parameters) AS t
    LEFT JOIN l4.suspect_node AS n ON n.job_id = s.job_id AND n.rank = 2
    WHERE s.job_id = d.job_id AND s.rank = 1 AND s.is_suspect),
    CASE WHEN d.confidence IN ('certain', 'likely') THEN d.confidence || ' of the cause; no node stands out' END,
    'weak: no node stands out');

--: first screen of a report: what, where, since when, how sure, the cause, what to do now, proof, what was seen
CREATE FUNCTION l4._report_brief(job_id text) RETURNS TABLE (label text, value text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 12
BEGIN ATOMIC
    WITH failed AS (
        SELECT d.* FROM l4.diagnosis AS d WHERE d.job_id = _report_brief.job_id AND d.symptom <> 'none'
    ), suspect AS (
        SELECT s.rank, s.node, s.reasons FROM l4.suspect_node AS s JOIN failed AS d USING (job_id)
        WHERE s.rank <= 3 AND (s.is_suspect OR s.rank = 1 AND s.score > 0)
    )
    SELECT b.label, b.value FROM (
        SELECT 1 AS turn, 0 AS n, 'what' AS label, substring(d.summary FROM '^.+?\.(?=\s|$)') AS value
        FROM l4.diagnosis AS d WHERE d.job_id = _report_brief.job_id
        UNION ALL
        SELECT 2, s.rank, CASE s.rank WHEN 1 THEN 'where' ELSE '' END,
            concat(l4._short_name(s.node, 60), ': ' || l4._in_words(s.reasons[1:3]))
        FROM suspect AS s
        UNION ALL
        SELECT 2, 0, 'where', 'no node stands out' FROM failed WHERE NOT EXISTS (SELECT FROM suspect)
        UNION ALL
        SELECT 3, 0, 'since', coalesce((SELECT to_char(m.ts, 'YYYY-MM-DD HH24:MI:SS TZ, ') || m.what
            FROM l4._report_moments(_report_brief.job_id) WITH ORDINALITY AS m(ts, kind, node, what, place, n)
            LEFT JOIN suspect AS s USING (node) LEFT JOIN l4._case AS k ON k.job_id = d.job_id
            -- with nothing to compare with, what the job went on after may be usual
            WHERE m.kind IN ('event', 'onset', 'silence', 'iteration')
            ORDER BY m.kind = 'iteration', cardinality(d.baseline) = 0
                AND d.symptom <> 'slow' AND m.ts < k.progress_ts,
                -- of one second the most telling: it is all that is shown
                date_trunc('second', m.ts), s.rank, m.place, m.n LIMIT 1),
            'not known' || CASE WHEN (d.coverage ->> 'timed')::bool THEN '' ELSE ': the lines carry no times' END)
        FROM failed AS d
        UNION ALL
        SELECT 4, 0, 'how sure', l4._how_sure(d)
        FROM failed AS d
        UNION ALL
        SELECT 5, 0, 'cause', format('%s (%s)', d.cause,
            coalesce(nullif(concat_ws(', ', d.category, d.component, d.confidence), ''), 'category not known'))
        FROM failed AS d WHERE d.cause IS NOT NULL
        UNION ALL
        -- the remedy of the fault that the cause names: another one, of what only says that something failed, is vague
        SELECT 6, 0, 'do now', coalesce((SELECT f.remedy FROM l4.fault_match AS m JOIN l4.fault AS f USING (fault_id)
                WHERE m.job_id = d.job_id AND starts_with(d.cause, f.name || ': ') ORDER BY m.rank LIMIT 1),
            (SELECT 'Rule out: ' || string_agg(format('(%s) %s', a.n, a.words), '; ' ORDER BY a.n)
                FROM unnest(d.alternatives) WITH ORDINALITY AS a(words, n)),
            'Read the lines below: they are in none of the jobs that went well.')
        FROM failed AS d
        UNION ALL
        SELECT 7, e.rank, CASE e.rank WHEN 1 THEN 'proof' ELSE '' END,
            format('%s:%s  %s', l4._short_name(e.example_node, 40), e.example_line_no,
                l4._suspect_words(e))
        FROM l4.suspect_event AS e JOIN failed AS d USING (job_id) WHERE e.rank <= 3
        UNION ALL
        SELECT 8, 0, 'seen', format('%s%s%s; %s wrote %s', l4._status_words(d),
            CASE WHEN d.status = 'NO_BASELINE' THEN '' WHEN cardinality(d.baseline) = 0
                THEN '; compared with no other job'
                ELSE '; compared with ' || l4._counted(cardinality(d.baseline), 'successful job') END,
            ' (settings ' || l4._printable(nullif(j.settings, ''), 60) || coalesce((
                SELECT '; ' || l4._printable(substring(x.words FROM '[(](did you mean ".*"[?])[)]: what is normal'), 90)
                FROM jsonb_array_elements_text(d.coverage -> 'limits') AS x(words)
                WHERE x.words LIKE 'no baseline job has%'), '') || ')',
            coalesce(n.nodes || ' of ' || l4._counted(j.expected_nodes, 'node'), l4._counted(n.nodes, 'node')),
            l4._counted(n.lines, 'line'))
        FROM l4.diagnosis AS d
        LEFT JOIN l4.job AS j USING (job_id)
        CROSS JOIN LATERAL (SELECT count(*) AS nodes, coalesce(sum(x.lines), 0)::bigint AS lines
            FROM l4._node AS x WHERE x.job_id = d.job_id) AS n
        WHERE d.job_id = _report_brief.job_id
    ) AS b
    ORDER BY b.turn, b.n;
END;

-- A paragraph of a section: the prefixes of its first line and of the others (NULL = blanks), and the words, which are
-- wrapped; without words the first one is a line that stands as it is.
--: a paragraph of l4.report(): prefix of its first line, of the others, words
CREATE TYPE l4._paragraph AS (first text, rest text, words text);

--: section of l4.report(): what happened, in the order of time
CREATE FUNCTION l4._report_story(job_id text) RETURNS SETOF l4._paragraph
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT '  ' || to_char(m.ts, CASE WHEN m.days THEN 'MM-DD HH24:MI:SS' ELSE 'HH24:MI:SS.MS' END) || '  ', NULL,
        m.what
    FROM (SELECT x.ts, x.what, x.n, max(x.ts) OVER () - min(x.ts) OVER () > interval '20 hours' AS days
        FROM l4._report_moments(_report_story.job_id) WITH ORDINALITY AS x(ts, kind, node, what, place, n)) AS m
    ORDER BY m.n;
END;

--: section of l4.report(): which nodes, and why
CREATE FUNCTION l4._report_suspects(job_id text, width int) RETURNS SETOF l4._paragraph
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    -- suspects, and the next ones for comparison: at least three, at most eight
    WITH listed AS (
        SELECT s.rank, s.node, round(s.score::numeric, 2)::text AS score, s.is_suspect,
            s.score / nullif(max(s.score) OVER (), 0) AS part, coalesce(n.rank::text, '-') AS node_rank,
            coalesce(nullif(l4._in_words(s.reasons), ''), '-') AS reasons,
            (SELECT count(*) FROM l4.suspect_node AS x WHERE x.job_id = s.job_id) AS listed
        FROM l4.suspect_node AS s LEFT JOIN l4.job_node AS n ON n.job_id = s.job_id AND n.node = s.node
        WHERE s.job_id = _report_suspects.job_id AND s.rank <= 8 AND (s.is_suspect OR s.rank <= 3 AND s.score > 0)
    ), fitted AS (
        SELECT greatest(4, least(24, max(length(l.node)))) AS name, greatest(4, max(length(l.node_rank))) AS rank,
            greatest(6, max(length(l.score))) AS score FROM listed AS l HAVING count(*) > 0
    ), shown AS (
        -- where little room is left beside a name, reasons go below it
        SELECT l.*, f.*, _report_suspects.width - 24 - f.name - f.rank - f.score < 30 AS narrow
        FROM listed AS l(place, node, points, is_suspect, part, node_rank, reasons, listed) CROSS JOIN fitted AS f
    )
    SELECT r.first, NULL, r.words FROM (
        SELECT 0 AS part, 0 AS n, 0 AS m, format('    #  %s  %s  %s%s', rpad('node', s.name), lpad('rank', s.rank),
            rpad('score', s.score), CASE WHEN NOT s.narrow THEN repeat(' ', 14) || 'why' END) AS first, NULL AS words
        FROM shown AS s WHERE s.place = 1
        UNION ALL
        SELECT 1, s.place, w.m, w.first, w.words
        FROM shown AS s
        CROSS JOIN LATERAL (VALUES
            (1, format('  %s %s  %s  %s  %s %s  ', CASE WHEN s.is_suspect THEN '>' ELSE ' ' END, s.place,
                rpad(l4._short_name(s.node, s.name), s.name), lpad(s.node_rank, s.rank), lpad(s.points, s.score),
                rpad(repeat('#', round(10 * s.part)::int), 10)), CASE WHEN NOT s.narrow THEN s.reasons END),
            (2, repeat(' ', 7), CASE WHEN s.narrow THEN s.reasons END)) AS w(m, first, words)
        WHERE w.m = 1 OR w.words IS NOT NULL
        UNION ALL
        SELECT 2, 0, 0, format('       %s more in l4.suspect_node', max(s.listed) - count(*)), NULL
        FROM shown AS s HAVING max(s.listed) > count(*)
    ) AS r
    ORDER BY r.part, r.n, r.m;
END;

-- One row a fault, at its best rank; what it leads to is the first few names and a count.
--: known faults of a job as a report shows them
CREATE FUNCTION l4._report_known(job_id text)
RETURNS TABLE (place bigint, name text, kind text, root_cause text, remedy text, effects text, source_job text,
    source_url text, node text, line_no bigint, line text, occurrences numeric)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT row_number() OVER (ORDER BY m.place), f.name, concat_ws(', ', f.category, f.component, f.severity),
        f.root_cause, f.remedy, nullif(concat(array_to_string(f.leads_to[1:4], ', '),
            CASE WHEN cardinality(f.leads_to) > 4 THEN format(' and %s more', cardinality(f.leads_to) - 4) END), ''),
        f.source_job, nullif(f.source_url, ''), m.node, m.line_no, m.line, m.occurrences
    FROM (SELECT x.fault_id, min(x.rank) AS place, sum(x.occurrences) AS occurrences,
            (array_agg(x.node ORDER BY x.rank))[1] AS node, (array_agg(x.line_no ORDER BY x.rank))[1] AS line_no,
            (array_agg(x.line ORDER BY x.rank))[1] AS line
        FROM l4.fault_match AS x WHERE x.job_id = _report_known.job_id GROUP BY x.fault_id) AS m
    JOIN l4.fault AS f USING (fault_id)
    ORDER BY 1;
END;

--: section of l4.report(): known faults whose signature occurs in the job
CREATE FUNCTION l4._report_faults(job_id text) RETURNS SETOF l4._paragraph
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    -- the first three in full, the others by name
    WITH shown AS (
        SELECT f.* FROM l4._report_known(_report_faults.job_id) AS f
    )
    SELECT r.first, NULL, r.words FROM (
        SELECT s.place, 0 AS part, format('  %s  %s  (%s)%s', s.place, l4._printable(s.name, 60), s.kind,
            coalesce(format('  at %s:%s', l4._short_name(s.node, 40), s.line_no), '')) AS first, NULL AS words
        FROM shown AS s WHERE s.place <= 8
        UNION ALL
        SELECT s.place, p.part, '     ' || rpad(p.label, 10), p.words
        FROM shown AS s
        CROSS JOIN LATERAL (VALUES (1, 'cause:', s.root_cause), (2, 'remedy:', s.remedy), (3, 'leads to:', s.effects),
            (4, 'known:', 'confirmed in ' || l4._printable(s.source_job, 60))) AS p(part, label, words)
        WHERE s.place <= 3 AND p.words <> ''
        UNION ALL
        SELECT s.place, 5, '     see:      ' || l4._printable(s.source_url, 400), NULL
        FROM shown AS s WHERE s.place <= 3 AND s.source_url IS NOT NULL
        UNION ALL
        SELECT NULL, 6, format('     %s more in l4.fault_match', count(*) - 8), NULL FROM shown HAVING count(*) > 8
    ) AS r
    ORDER BY r.place, r.part;
END;

--: section of l4.report(): the lines that tell the failure, with reasons
CREATE FUNCTION l4._report_proof(job_id text, width int) RETURNS SETOF l4._paragraph
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH shown AS (
        SELECT e.* FROM l4.suspect_event AS e WHERE e.job_id = _report_proof.job_id AND e.rank <= 10
    )
    SELECT r.first, r.rest, r.words FROM (
        SELECT e.rank AS n, 1 AS part, 0::bigint AS k, format('  %s  %s:%s%s  %s  (event %s, score %s)',
            lpad(e.rank::text, 2), l4._short_name(e.example_node, 40), e.example_line_no,
            coalesce('  ' || to_char(e.first_ts, 'HH24:MI:SS.MS'), ''), l4._how_often(e.occurrences, e.nodes),
            e.event_id, round(e.score::numeric, 2)) AS first, NULL AS rest, NULL AS words
        FROM shown AS e
        UNION ALL
        SELECT e.rank, 2, l.k, '      | ', '      |   ', l4._printable(l.line, 3 * (_report_proof.width - 8))
        FROM shown AS e CROSS JOIN LATERAL unnest(l4._excerpt(e.example_line)) WITH ORDINALITY AS l(line, k)
        UNION ALL
        SELECT e.rank, 3, 0, '      why: ', NULL, l4._in_words(e.reasons) FROM shown AS e WHERE e.reasons <> '{}'
        UNION ALL
        SELECT NULL, 4, 0, format('      %s more in l4.suspect_event', count(*) - 10), NULL, NULL
        FROM l4.suspect_event AS e WHERE e.job_id = _report_proof.job_id HAVING count(*) > 10
    ) AS r
    ORDER BY r.n, r.part, r.k;
END;

--: section of l4.report(): how far training came, and which iterations deviate
CREATE FUNCTION l4._report_iterations(job_id text) RETURNS SETOF l4._paragraph
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT '  ', '    ', r.words FROM (
        SELECT 1 AS part, row_number() OVER (ORDER BY l.iteration DESC) AS n,
            format('last iteration reported: %s by %s', l.iteration,
                CASE WHEN l.nodes = 1 THEN l.names WHEN l.nodes <= 4 THEN format('%s nodes (%s)', l.nodes, l.names)
                    ELSE l.nodes || ' nodes' END) AS words
        FROM (SELECT n.last_iteration AS iteration, count(*) AS nodes,
                array_to_string((array_agg(n.node ORDER BY n.rank, n.node))[1:4], ', ') AS names
            FROM l4._reporter AS n WHERE n.job_id = _report_iterations.job_id AND n.last_iteration IS NOT NULL
            GROUP BY n.last_iteration ORDER BY n.last_iteration DESC LIMIT 4) AS l
        UNION ALL
        SELECT 2, s.rank, format('iteration %s%s: %s%s', s.iteration, ' on ' || s.node,
            coalesce(l4._in_words(s.reasons), 'deviates'),
            CASE WHEN s.distance IS NOT NULL AND s.sigma IS NOT NULL AND array_to_string(s.reasons, ' ') !~ 'sigma'
                THEN format(' (distance %s, %s sigma)', round(s.distance::numeric, 1), round(s.sigma::numeric, 1)) END)
        FROM l4.suspect_iteration AS s
        WHERE s.job_id = _report_iterations.job_id AND s.rank <= 5
    ) AS r
    WHERE r.words <> ''
    ORDER BY r.part, r.n;
END;

--: what the diagnosis could see and what it missed, in words
CREATE FUNCTION l4._coverage_rows(job_id text) RETURNS TABLE (name text, words text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    SELECT replace(c.key, '_', ' '), l4._printable(v.words, 2000)
    FROM l4.diagnosis AS d
    CROSS JOIN LATERAL jsonb_each(d.coverage) AS c(key, value)
    CROSS JOIN LATERAL (SELECT CASE jsonb_typeof(c.value)
        WHEN 'array' THEN (SELECT string_agg(x.v, ', ' ORDER BY x.n)
            FROM jsonb_array_elements_text(c.value) WITH ORDINALITY AS x(v, n))
        WHEN 'object' THEN (SELECT string_agg(x.k || ' ' || x.v, ', ' ORDER BY x.k)
            FROM jsonb_each_text(c.value) AS x(k, v))
        ELSE CASE WHEN c.key IN ('first_ts', 'last_ts')
            THEN to_char((c.value #>> '{}')::timestamptz, 'YYYY-MM-DD HH24:MI:SS.MS TZ')
            ELSE c.value #>> '{}' END END) AS v(words)
    WHERE d.job_id = _coverage_rows.job_id AND v.words <> ''
    ORDER BY c.key;
END;

--: quote_literal() without control characters, so that it can be copied
CREATE FUNCTION l4._literal(value text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN _literal.value = l4._printable(_literal.value, 8000) THEN quote_literal(_literal.value)
    ELSE (SELECT format('E''%s''', string_agg(CASE WHEN c.char <> l4._printable(c.char, 8000)
            THEN '\u' || lpad(to_hex(ascii(c.char)), 4, '0') ELSE replace(replace(c.char, '\', '\\'), '''', '''''') END,
            '' ORDER BY c.n))
        FROM regexp_split_to_table(_literal.value, '') WITH ORDINALITY AS c(char, n)) END;

--: section of l4.report(): statements to go on with
CREATE FUNCTION l4._report_next(job_id text) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT '  ' || q.line
    FROM l4.diagnosis AS d
    CROSS JOIN LATERAL (SELECT l4._literal(d.job_id),
        coalesce((d.coverage ->> 'lines')::bigint, 0), cardinality(d.baseline) > 0) AS j(id, lines, compared)
    LEFT JOIN l4.suspect_event AS e ON e.job_id = d.job_id AND e.rank = 1
    CROSS JOIN LATERAL (VALUES
        (1, e.rank = 1, format('SELECT * FROM l4.suspect_event WHERE job_id = %s ORDER BY rank;', j.id)),
        (2, e.rank = 1, format('SELECT * FROM l4.event_lines(%s, %s) LIMIT 20;', j.id, e.event_id)),
        (3, e.rank = 1, format('SELECT * FROM l4.event_parameters(%s, %s);', j.id, e.event_id)),
        (4, j.compared AND j.lines > 0, format('SELECT * FROM l4.compare(%s) WHERE verdict <> ''same'';', j.id)),
        (5, j.lines = 0, format('CALL l4.ingest(''...'', job_id => %s);', j.id)),
        (6, NOT j.compared, 'UPDATE l4.job SET settings = ''...'', status = ''succeeded'' WHERE job_id = ''...'';'
            || '  -- a baseline'),
        (7, d.symptom <> 'none' AND e.rank = 1,
            format('SELECT l4.confirm_fault(%s, name => ''...'', root_cause => ''...'', remedy => ''...'');', j.id))
    ) AS q(n, holds, line)
    WHERE d.job_id = _report_next.job_id AND q.holds
    ORDER BY q.n;
END;

--: raises an error when there is nothing to report on
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

--: paragraphs below a title, wrapped; nothing where there are none
CREATE FUNCTION l4._section(title text, paragraphs l4._paragraph[], width int) RETURNS SETOF text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.line FROM (
        SELECT 0::bigint AS n, t.n AS m, t.line
        FROM unnest(ARRAY['', nullif(_section.title, '')]) WITH ORDINALITY AS t(line, n)
        WHERE cardinality(_section.paragraphs) > 0 AND t.line IS NOT NULL
        UNION ALL
        -- statements and addresses stay whole, so that they can be copied
        SELECT p.n, w.m, rtrim(coalesce(CASE WHEN w.m = 1 THEN s.first ELSE s.rest END || w.line, p.first))
        FROM unnest(_section.paragraphs) WITH ORDINALITY AS p(first, rest, words, n)
        CROSS JOIN LATERAL (SELECT substring(p.first FROM '^ *')) AS i(indent)
        CROSS JOIN LATERAL (SELECT CASE WHEN p.words IS NULL THEN i.indent ELSE p.first END, coalesce(p.rest,
            CASE WHEN p.words IS NULL THEN i.indent || '    ' END, repeat(' ', length(p.first)))) AS s(first, rest)
        LEFT JOIN LATERAL l4._wrap(coalesce(p.words, p.first), _section.width - length(s.rest))
            WITH ORDINALITY AS w(line, m)
            ON p.words IS NOT NULL
                OR length(p.first) > _section.width AND p.first !~ '^ +(?:see: |SELECT |UPDATE |CALL )'
    ) AS s
    ORDER BY s.n, s.m;
END;

--: the diagnosis of a job as text for a terminal of the given width
CREATE FUNCTION l4.report(job_id text, width int DEFAULT 100) RETURNS SETOF text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- a section's functions take these two
    j constant text := report.job_id;
    w constant int := report.width;
BEGIN
    IF w NOT BETWEEN 60 AND 240 THEN
        RAISE EXCEPTION 'width must be between 60 and 240, not %', w USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM l4._require_diagnosis(j);
    RETURN NEXT 'l4 report  ' || l4._printable(j, w - 12);
    RETURN NEXT repeat('=', w);
    RETURN QUERY SELECT l4._wrap(upper(v.head) || v.rest, w) FROM l4._verdict(j) AS v;
    RETURN QUERY SELECT format('diagnosed %s', to_char(d.diagnosed_at, 'YYYY-MM-DD HH24:MI:SS TZ'))
        FROM l4.diagnosis AS d WHERE d.job_id = j;
    -- two or three lines a row, so that the whole fits a screen
    RETURN QUERY SELECT l4._section('', ARRAY(
        SELECT ('  ' || rpad(b.label, 10), NULL, l4._printable(b.value,
            (w - 12) * CASE WHEN b.label IN ('proof', '') THEN 1 ELSE 3 END))::l4._paragraph
        FROM l4._report_brief(j) WITH ORDINALITY AS b(label, value, n) WHERE b.value <> '' ORDER BY b.n), w);
    RETURN QUERY SELECT l4._section('WHAT HAPPENED', ARRAY(SELECT p FROM l4._report_story(j) AS p), w);
    RETURN QUERY SELECT l4._section('NODES', ARRAY(SELECT p FROM l4._report_suspects(j, w) AS p), w);
    RETURN QUERY SELECT l4._section('KNOWN FAULTS', ARRAY(SELECT p FROM l4._report_faults(j) AS p), w);
    RETURN QUERY SELECT l4._section('PROOF', ARRAY(SELECT p FROM l4._report_proof(j, w) AS p), w);
    RETURN QUERY SELECT l4._section('ITERATIONS', ARRAY(SELECT p FROM l4._report_iterations(j) AS p), w);
    RETURN QUERY SELECT l4._section('NETWORK', ARRAY(
        SELECT (x, NULL, NULL)::l4._paragraph FROM l4._report_network(j) AS x), w);
    RETURN QUERY SELECT l4._section('WHAT THE DIAGNOSIS SAW', ARRAY(
        SELECT ('  ', '    ', c.name || ': ' || l4._printable(c.words, 600))::l4._paragraph
        FROM l4._coverage_rows(j) AS c ORDER BY c.name), w);
    RETURN QUERY SELECT l4._section('GO ON WITH', ARRAY(
        SELECT (x, NULL, NULL)::l4._paragraph FROM l4._report_next(j) AS x), w);
END;
$$;
