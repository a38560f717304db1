-- Reports, shared parts: log text is hostile (control characters, markup), jobs are large, terminals are narrow.
-- Everything here is plain ASCII, so that the script installs into a database of any encoding.

-- Beyond ASCII: the second set of control characters, which terminals obey as well, line separators, and marks that
-- turn the direction of what follows. Code pages of Windows have letters in the place of the first; the encoding of a
-- database never changes.
--: characters beyond ASCII that act on what is shown instead of being shown, for a bracket expression
CREATE FUNCTION l4._unseen() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN getdatabaseencoding() LIKE 'WIN%' THEN ''
    ELSE '\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff' END;

--: one line of text without control characters, cut to a length
CREATE FUNCTION l4._printable(value text, max_length int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT CASE WHEN length(p.line) > _printable.max_length THEN left(p.line, _printable.max_length - 3) || '...'
        ELSE p.line END
    FROM (SELECT regexp_replace(_printable.value, '[\x01-\x1f\x7f' || l4._unseen() || ']+', ' ', 'g')) AS p(line));

-- Names of nodes differ at their ends: llama-70b-worker-0, llama-70b-worker-17.
-- The domain of a host's name goes first: the nodes of a job share it.
--: a name without control characters, shortened by its domain and in its middle
CREATE FUNCTION l4._short_name(name text, max_length int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT CASE WHEN length(h.line) <= _short_name.max_length THEN h.line
        ELSE left(h.line, m.head) || '..' || right(h.line, _short_name.max_length - 2 - m.head) END
    FROM (SELECT l4._printable(_short_name.name, 8000)) AS p(line)
    CROSS JOIN LATERAL (SELECT CASE
        WHEN length(p.line) > _short_name.max_length AND p.line ~ '^[A-Za-z][A-Za-z0-9_-]*\.'
            THEN split_part(p.line, '.', 1)
        ELSE p.line END) AS h(line)
    CROSS JOIN (SELECT (_short_name.max_length - 2) / 3) AS m(head));

--: text broken into lines of a width (at most 250), at blanks where possible
CREATE FUNCTION l4._wrap(value text, width int) RETURNS SETOF text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 5
BEGIN ATOMIC
    SELECT m.part[1]
    FROM regexp_matches(l4._printable(_wrap.value, 8000),
        format('\S.{0,%s}(?=\s|$)|\S{%s}', _wrap.width - 1, _wrap.width), 'g') WITH ORDINALITY AS m(part, n)
    ORDER BY m.n;
END;

--: a line as a terminal leaves it: of a progress bar the last state; a row of dashes is three
CREATE FUNCTION l4._plain(line text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN regexp_replace(regexp_replace(_plain.line, '^.*\r(?=\s*\S)', ''), '([-=_*#~+.|])\1{7,}', '\1\1\1', 'g');

--: the lines of a record that are worth showing: all of a short one, first and last of a long one, no rows of dashes
CREATE FUNCTION l4._excerpt(value text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
-- a record of many lines says most in its first and its last ones: a stack trace ends in the exception
RETURN (
    SELECT CASE WHEN n.lines <= 4 THEN r.lines
        ELSE ARRAY[r.lines[1], format('[... %s lines ...]', n.lines - 3), r.lines[n.lines - 1], r.lines[n.lines]] END
    FROM (SELECT coalesce(array_agg(l4._plain(l.line) ORDER BY l.n), ARRAY[_excerpt.value])
        FROM string_to_table(rtrim(_excerpt.value, E' \n\r\t'), E'\n') WITH ORDINALITY AS l(line, n)
        WHERE l.line ~ '[[:alnum:]]') AS r(lines)
    CROSS JOIN LATERAL (SELECT cardinality(r.lines)) AS n(lines));

--: a number of seconds as a person says it
CREATE FUNCTION l4._elapsed(seconds float8) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT CASE
        WHEN s < 10 THEN round(s::numeric, 1) || ' s'
        WHEN s < 120 THEN round(s::numeric) || ' s'
        WHEN s < 7200 THEN format('%s min %s s', floor(s / 60), floor(s)::bigint % 60)
        WHEN s < 172800 THEN format('%s h %s min', floor(s / 3600), floor(s / 60)::bigint % 60)
        ELSE format('%s d %s h', floor(s / 86400), floor(s / 3600)::bigint % 24) END
    FROM (SELECT _elapsed.seconds) AS e(s));

--: a number of milliseconds as a person says it
CREATE FUNCTION l4._milliseconds(value float8) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN _milliseconds.value < 10 THEN trim_scale(round(_milliseconds.value::numeric, 1)) || ' ms'
    WHEN _milliseconds.value < 1000 THEN round(_milliseconds.value::numeric) || ' ms'
    ELSE l4._elapsed(_milliseconds.value / 1000) END;

--: a number and what it counts: 1 node, 2 nodes
CREATE FUNCTION l4._counted(n bigint, thing text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN to_char(_counted.n, 'FM999,999,999,999') || ' ' || _counted.thing || CASE _counted.n WHEN 1 THEN '' ELSE 's' END;

--: how often and on how many nodes something occurred
CREATE FUNCTION l4._how_often(occurrences bigint, nodes bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE _how_often.occurrences WHEN 1 THEN 'once' ELSE l4._counted(_how_often.occurrences, 'time') END
    || ' on ' || l4._counted(_how_often.nodes, 'node');

-- The line of a record that its event is known by is the exception, wherever a stack trace has it; what a launcher or a
-- collector writes in front of all lines of a stream is gone from it.
--: what a suspect event says, in a line
CREATE FUNCTION l4._suspect_words(e l4.suspect_event) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(nullif(l4._plain(coalesce(
    btrim(split_part(l4._own_message(e.job_id, e.event_id, e.example_node), E'\n', 1)),
    (l4._excerpt(e.example_line))[1])), ''), '(an empty line)');

--: reasons as one sentence; what is left of masks is dots
CREATE FUNCTION l4._in_words(reasons text[]) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT string_agg(l4._printable(replace(r.reason, '<*>', '...'), 200), '; ' ORDER BY r.n)
    FROM unnest(_in_words.reasons) WITH ORDINALITY AS r(reason, n));

-- Which node of the job stands where in a report: suspects first, then the others in the order of their ranks.
--: nodes of a diagnosed job in the order in which a report shows them
CREATE FUNCTION l4._report_nodes(job_id text)
RETURNS TABLE (place int, node text, rank int, is_suspect bool, total int)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    SELECT row_number() OVER (ORDER BY s.rank NULLS LAST, n.rank NULLS LAST, n.node)::int,
        n.node, n.rank, coalesce(s.is_suspect, false), count(*) OVER ()::int
    FROM (SELECT coalesce(a.node, b.node) AS node, coalesce(a.rank, b.rank) AS rank
        FROM (SELECT x.node, x.rank FROM l4._node AS x WHERE x.job_id = _report_nodes.job_id) AS a
        FULL JOIN (SELECT y.node, y.rank FROM l4.job_node AS y WHERE y.job_id = _report_nodes.job_id) AS b
            ON a.node = b.node) AS n
    FULL JOIN (SELECT z.node, z.rank, z.is_suspect FROM l4.suspect_node AS z
        WHERE z.job_id = _report_nodes.job_id) AS s ON s.node = n.node
    ORDER BY 1;
END;

--: when something happened in a job, and what; node: NULL = in the whole job; rank: that of a suspect event or node
CREATE TYPE l4._moment AS (ts timestamptz, kind text, node text, what text, rank int);

-- The story of a job in a few moments, for the report and for the picture.
--: what happened in a job and when: stages, last iteration, first slow one, first telling events, silence, end
CREATE FUNCTION l4._report_moments(job_id text) RETURNS SETOF l4._moment
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    WITH named AS MATERIALIZED (
        SELECT n.node, n.first_ts, n.last_ts, n.last_iteration FROM l4._reporter AS n
        WHERE n.job_id = _report_moments.job_id
    ), job AS (
        SELECT min(n.first_ts) AS first_ts, max(n.last_ts) AS last_ts, count(*) AS nodes,
            max(n.last_iteration) AS last_iteration
        FROM named AS n HAVING count(*) > 0
    )
    SELECT m.ts, m.kind, m.node, m.what, m.rank
    FROM (
        SELECT j.first_ts AS ts, 1 AS turn, 0 AS rank, 'start' AS kind, NULL::text AS node,
            format('first line of the job, %s; %s', to_char(j.first_ts, 'YYYY-MM-DD TZ'),
                CASE j.nodes WHEN 1 THEN '1 node writes' ELSE j.nodes || ' nodes write' END) AS what
        FROM job AS j
        UNION ALL
        SELECT min(s.first_ts), 2, 0, 'stage', NULL, format('stage %s begins', s.stage)
        FROM l4.stage_span AS s WHERE s.job_id = _report_moments.job_id GROUP BY s.stage
        UNION ALL
        SELECT (SELECT max(t.ended) FROM l4._reported AS t WHERE t.job_id = _report_moments.job_id
                AND t.node = i.node AND t.iteration = i.iteration), 3, 0, 'iteration', NULL,
            format('%s is the last one reported (%s of %s)', l4._iteration_name((SELECT c.epochs
                FROM l4._case AS c WHERE c.job_id = _report_moments.job_id), i.iteration), i.nodes,
                l4._counted(i.of_nodes, 'node'))
        FROM (SELECT j.last_iteration AS iteration, min(n.node) FILTER (WHERE n.last_iteration = j.last_iteration)
                AS node, count(*) FILTER (WHERE n.last_iteration = j.last_iteration) AS nodes,
                count(n.last_iteration) AS of_nodes
            FROM job AS j CROSS JOIN named AS n GROUP BY j.last_iteration) AS i
        WHERE i.iteration IS NOT NULL
        UNION ALL
        SELECT c.onset_ts, 4, 0, 'onset', NULL, l4._iteration_words(d) || ': the job is slow from here on'
        FROM l4._case AS c JOIN l4.diagnosis AS d USING (job_id)
        WHERE c.job_id = _report_moments.job_id AND c.symptom = 'slow'
        UNION ALL
        SELECT e.first_ts, 4, e.rank, 'event', e.example_node,
            format('%s: %s%s', e.example_node, l4._printable(l4._suspect_words(e), 160),
                CASE WHEN e.nodes > 1 THEN format(' (first of %s nodes)', e.nodes) ELSE '' END)
        FROM l4.suspect_event AS e
        WHERE e.job_id = _report_moments.job_id AND e.rank <= 8
        UNION ALL
        SELECT n.last_ts, 5, s.rank, 'silence', n.node,
            format('%s: its last line, %s before the job''s last one', n.node,
                l4._elapsed(extract(epoch FROM j.last_ts - n.last_ts)::float8))
        FROM l4.suspect_node AS s
        JOIN named AS n ON n.node = s.node
        CROSS JOIN job AS j
        -- who mostly says little is not silent
        WHERE s.job_id = _report_moments.job_id AND s.rank <= 3 AND s.evidence ?| '{silent,lag}'
            AND n.last_ts < j.last_ts - interval '2 seconds'
        UNION ALL
        SELECT j.last_ts, 6, 0, 'end', NULL, 'last line of the job' FROM job AS j
    ) AS m
    WHERE m.ts IS NOT NULL
    ORDER BY m.ts, m.turn, m.rank, m.what;
END;
