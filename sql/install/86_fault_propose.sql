-- What to learn of a diagnosis that is confirmed: an event of the cause, or, where no line says the cause, its form.

-- Text stays, a variable part becomes a run of non-blanks (or, where that does not fit the example, anything), a list
-- one of any length.
--: pattern of a template that matches its example; NULL when there is none that says enough
CREATE FUNCTION l4._propose_signature(template text, example text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    WITH piece AS (
        SELECT p.n, l4._quoted(p.piece) AS text
        FROM regexp_split_to_table(replace(template, '<LIST>', E'\x01'), '(?:<(?:\*|[A-Z][A-Z0-9_]*)>)+')
            WITH ORDINALITY AS p(piece, n)
    ), pattern AS (
        -- wildcards at both ends say nothing
        SELECT w.n, replace(regexp_replace(regexp_replace(string_agg(p.text, w.wild ORDER BY p.n),
            '^(\\S\+|\\S\*\?|\.\*\?|\\s\+|\x01)+', ''), '(\\S\+|\\S\*\?|\.\*\?|\\s\+|\x01)+$', ''),
            E'\x01', '\S+(?:,\s*\S+)*') AS text
        FROM piece AS p CROSS JOIN (VALUES (1, '\S+'), (2, '\S*?'), (3, '.*?')) AS w(n, wild)
        GROUP BY w.n
    )
    SELECT p.text FROM pattern AS p
    WHERE l4.pcre_error(p.text) IS NULL AND l4._signature_usable(p.text::l4.pcre)
      AND l4.pcre_match(example, p.text::l4.pcre)
    ORDER BY p.n LIMIT 1);

-- A template that was seen once may still hold the name of a node, parts of a path, and a list as many parts as it
-- had then. What several variable parts make up is a name of something, and no word of it is the message's.
--: a template without the names and addresses of the job's nodes, lists of any length
CREATE FUNCTION l4._general_template(job_id text, template text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    variable constant text := '<(?:\*|[A-Z][A-Z0-9_]*)>';
    -- names and addresses, and names whose number is a variable part already
    names constant text := (
        SELECT string_agg(DISTINCT regexp_replace(w.name, '([][\.^$|()?*+{}])', '\\\1', 'g') || w.number, '|')
        FROM l4.job_node AS n
        CROSS JOIN LATERAL (
            SELECT a.name, '' AS number FROM unnest(n.addresses || n.node) AS a(name) WHERE length(a.name) > 1
            UNION SELECT (regexp_match(n.node, '^([[:alpha:]][[:alnum:]_.-]*?)\d+$'))[1], variable) AS w
        WHERE n.job_id = _general_template.job_id AND strpos(template, w.name) > 0);
    answer text := template;
BEGIN
    answer := coalesce(regexp_replace(answer, '(?<![[:alnum:]_.-])(?:' || names || ')(?![[:alnum:]_-])', '<*>', 'g'),
        answer);
    answer := regexp_replace(answer, '\[''[^'']*''(?:, ?''[^'']*''){2,}\]', '[<LIST>]', 'g');
    answer := regexp_replace(answer,
        '(?<!\S)(?!\S*[[:alpha:]]{5})\S*' || variable || '[^\s<>]+' || variable || '\S*', '<*>', 'g');
    RETURN regexp_replace(answer, variable || '(?:, ?' || variable || ')+', '<LIST>', 'g');
END
$$;

-- Where a known cause goes by a value of the event (an Xid), the pattern must keep it. A job may know one value only,
-- so another one with as many digits is tried.
--: a template with the values by which a known cause is recognised in it
CREATE FUNCTION l4._decided_template(job_id text, event_id int, template text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    WITH known AS (
        SELECT f.signature
        FROM l4._fault_hit AS h JOIN l4.fault AS f USING (fault_id) JOIN l4._event AS t ON t.event_id = h.event_id
        WHERE h.job_id = _decided_template.job_id AND NOT h.gave_up AND NOT f.is_effect AND f.signature IS NOT NULL
          AND l4._survivor(t.event_id, t.merged_into) = _decided_template.event_id
        ORDER BY f.priority DESC, f.fault_id LIMIT 1
    ), value AS (
        SELECT v.value, dense_rank() OVER (ORDER BY v.slot) AS place, v.is_first,
            bool_or(NOT l4.pcre_match(v.line, k.signature)) OVER w
                OR v.is_first AND NOT l4.pcre_match(overlay(v.line PLACING translate(v.value, '0123456789',
                    '1234567898') FROM v.place FOR length(v.value)), k.signature) AS decides
        FROM known AS k
        CROSS JOIN l4._line_variants(_decided_template.job_id, ARRAY[_decided_template.event_id]) AS v
        WINDOW w AS (PARTITION BY v.slot)
    )
    SELECT string_agg(m.part[1] || coalesce(v.value, m.part[2]), '' ORDER BY m.place)
    FROM regexp_matches(template, '(.*?)(<(?:\*|[A-Z][A-Z0-9_]*)>|$)', 'g') WITH ORDINALITY AS m(part, place)
    LEFT JOIN value AS v ON v.place = m.place AND v.is_first AND v.decides AND m.part[2] <> '');

--: signature that matches any of some events, and their templates
CREATE FUNCTION l4._event_pattern(job_id text, events int[], OUT signature l4.pcre, OUT templates text[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT (CASE WHEN count(s.signature) > 1 THEN string_agg('(?:' || s.signature || ')', '|' ORDER BY c.n)
            ELSE min(s.signature) END)::l4.pcre,
        array_agg(g.template ORDER BY c.n) FILTER (WHERE l4._templates_usable(ARRAY[g.template]))
    FROM unnest(_event_pattern.events) WITH ORDINALITY AS c(id, n)
    JOIN l4._event AS t ON t.event_id = c.id
    CROSS JOIN LATERAL l4._general_template(_event_pattern.job_id,
        l4._decided_template(_event_pattern.job_id, c.id, t.template)) AS g(template)
    -- the example of the event may be another job's, with another value
    CROSS JOIN LATERAL (SELECT coalesce(l4._propose_signature(g.template, t.example), (
        SELECT p.signature
        FROM l4._fault_lines(_event_pattern.job_id) AS l
        CROSS JOIN LATERAL l4._propose_signature(g.template, l.line) AS p(signature)
        WHERE l.event_id = c.id AND NOT l.is_record AND p.signature IS NOT NULL
        ORDER BY l.line_no LIMIT 1)) AS signature) AS s;
END;

-- What only the suspects say, or what the library knows as a cause and no catch-all. Never what is known as an effect,
-- in general or in this job, a report of how a process ended, a line of a stack, nor what the peers of a suspect say:
-- in a hang that no node caused visibly, all are peers.
--: suspect events of a job that may say its cause: first those in which a cause is known, of them those of the suspects
--: alone, then those that the fewest other diagnoses claim
CREATE FUNCTION l4._cause_events(job_id text)
RETURNS TABLE (event_id int, is_known bool, nodes int, node text, level int, terminal bool)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 10
BEGIN ATOMIC
    WITH suspect AS MATERIALIZED (
        SELECT s.node FROM l4.suspect_node AS s WHERE s.job_id = _cause_events.job_id AND s.is_suspect
    ), said AS MATERIALIZED (
        -- without a case, as after a restore, counts are unpacked
        SELECT k.event_id, bool_and(k.node IN (SELECT s.node FROM suspect AS s)) AS by_suspects
        FROM (SELECT c.event_id, c.node FROM l4._case_count AS c WHERE c.job_id = _cause_events.job_id
            UNION ALL
            SELECT c.event_id, c.node
            FROM l4._event_counts(_cause_events.job_id, ARRAY(SELECT e.event_id FROM l4.suspect_event AS e
                WHERE e.job_id = _cause_events.job_id AND NOT EXISTS (
                    SELECT FROM l4._case_count AS c WHERE c.job_id = e.job_id AND c.event_id = e.event_id))) AS c) AS k
        GROUP BY k.event_id
    ), known AS MATERIALIZED (
        SELECT k.event_id, bool_and(k.is_effect) AS is_effect, max(k.priority) AS priority, min(k.rank) AS rank
        FROM (SELECT l4._survivor(t.event_id, t.merged_into) AS event_id, f.priority, m.rank,
                f.is_effect OR coalesce(m.is_effect, false) AS is_effect,
                max(f.priority) OVER (PARTITION BY h.event_id) AS top
            FROM l4._fault_hit AS h
            JOIN l4.fault AS f ON f.fault_id = h.fault_id
            JOIN l4._event AS t ON t.event_id = h.event_id
            -- what a combination leads to is its own line
            LEFT JOIN l4.fault_match AS m ON m.job_id = h.job_id AND m.fault_id = h.fault_id
                AND NOT m.caused_by && ARRAY(SELECT c.name FROM l4.fault AS c WHERE c.combined)
            WHERE h.job_id = _cause_events.job_id AND NOT h.gave_up) AS k
        WHERE k.priority = k.top
        GROUP BY k.event_id
    ), other AS MATERIALIZED (
        SELECT o.event_id, count(*) AS jobs FROM l4.suspect_event AS o WHERE o.job_id <> _cause_events.job_id
        GROUP BY o.event_id
    )
    SELECT e.event_id, k.event_id IS NOT NULL, e.nodes, e.example_node, c.level, c.terminal
    FROM l4.suspect_event AS e
    JOIN said AS w ON w.event_id = e.event_id
    LEFT JOIN known AS k ON k.event_id = e.event_id
    LEFT JOIN l4._case_event AS c ON c.job_id = e.job_id AND c.event_id = e.event_id
    LEFT JOIN l4.diagnosis AS d ON d.job_id = e.job_id
    LEFT JOIN other AS o ON o.event_id = e.event_id
    WHERE e.job_id = _cause_events.job_id AND k.is_effect IS NOT TRUE
      AND (k.event_id IS NOT NULL OR c.stack IS NOT TRUE AND c.exit IS NOT TRUE)
      AND (w.by_suspects OR NOT l4._is_catch_all(k.priority)
        OR NOT EXISTS (SELECT FROM suspect) AND (k.event_id IS NOT NULL OR d.symptom IS DISTINCT FROM 'hang'))
    ORDER BY k.event_id IS NULL, NOT w.by_suspects, k.rank, k.priority DESC, coalesce(o.jobs, 0),
        e.rank;
END;

-- A hang in which no line says the cause: others report a lost peer while a suspect is silent. Half of the time that
-- it took leaves room for other time-outs.
--: conditions that recognise a hang by who reports and who is silent; NULL when no suspect was silent
CREATE FUNCTION l4._hang_form(job_id text) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    shortest constant interval := '2 s';
    stalled constant interval := (
        SELECT coalesce(k.terminal_ts, k.last_ts) - k.progress_ts
        FROM l4._case AS k JOIN l4.diagnosis AS d USING (job_id)
        WHERE k.job_id = _hang_form.job_id AND d.symptom = 'hang');
    silent constant interval := (
        SELECT max(s.length)
        FROM l4._silences(_hang_form.job_id, stalled / 2) AS s
        JOIN l4.suspect_node AS n ON n.job_id = _hang_form.job_id AND n.node = s.node
        WHERE stalled >= 2 * shortest AND (n.is_suspect OR n.rank = 1));
    silence constant interval := greatest(date_trunc('second', silent / 2), shortest);
BEGIN
    RETURN (SELECT jsonb_build_array(jsonb_build_object('step', 1, 'kind', 'effect'), jsonb_strip_nulls(
            jsonb_build_object('step', 2, 'kind', 'quiet', 'silence', silence,
                'max_nodes', CASE count(DISTINCT s.node) WHEN 1 THEN 1 END)))
        FROM l4._silences(_hang_form.job_id, silence) AS s HAVING silent IS NOT NULL);
END
$$;
