-- What to make a pattern of when a diagnosis is confirmed: the most telling event of the job, or the form of a hang.

-- Text stays, a variable part becomes a run of non-blanks (or, where that does not fit the example, anything), a list
-- one of any length.
CREATE FUNCTION l4._propose_signature(template text, example text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    WITH piece AS (
        SELECT p.n, regexp_replace(regexp_replace(p.piece, '([][\\.^$|()?*+{}#-])', '\\\1', 'g'),
            '\s+', '\\s+', 'g') AS text
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
COMMENT ON FUNCTION l4._propose_signature(text, text)
    IS 'pattern of a template that matches its example; NULL when there is none that says enough';

-- A template that was seen once may still hold the name of a node, parts of a path, and a list as many parts as it
-- had then.
CREATE FUNCTION l4._general_template(job_id text, template text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    variable constant text := '<(?:\*|[A-Z][A-Z0-9_]*)>';
    word text;
    answer text := template;
BEGIN
    FOR word IN
        SELECT regexp_replace(w.name, '([][\.^$|()?*+{}])', '\\\1', 'g') || w.number
        FROM (
            SELECT a.name, '' AS number, 1 AS turn
            FROM l4.job_node n CROSS JOIN LATERAL unnest(n.addresses || n.node) AS a(name)
            WHERE n.job_id = _general_template.job_id AND length(a.name) > 1 AND strpos(template, a.name) > 0
            UNION
            -- a name whose number is a variable part already
            SELECT (regexp_match(n.node, '^([[:alpha:]][[:alnum:]_.-]*?)\d+$'))[1], variable, 2
            FROM l4.job_node n
            WHERE n.job_id = _general_template.job_id AND n.node ~ '^[[:alpha:]][[:alnum:]_.-]*\d$') AS w
        ORDER BY w.turn, length(w.name) DESC, w.name
    LOOP
        answer := regexp_replace(answer, '(?<![[:alnum:]_.-])' || word || '(?![[:alnum:]_-])', '<*>', 'g');
    END LOOP;
    answer := regexp_replace(answer, '\[''[^'']*''(?:, ?''[^'']*''){2,}\]', '[<LIST>]', 'g');
    -- what several variable parts make up is a name of something, and no word of it is the message's
    answer := regexp_replace(answer,
        '(?<!\S)(?!\S*[[:alpha:]]{5})\S*' || variable || '[^\s<>]+' || variable || '\S*', '<*>', 'g');
    RETURN regexp_replace(answer, variable || '(?:, ?' || variable || ')+', '<LIST>', 'g');
END
$$;
COMMENT ON FUNCTION l4._general_template(text, text)
    IS 'a template without the names and addresses of the job''s nodes, lists of any length';

-- What each suspect event says of the cause. It only reports a failure elsewhere if the faults found in it are
-- effects, if another job, whose cause is known, shows it too, or if most nodes of a job that hangs report it.
CREATE FUNCTION l4._suspect_kinds(job_id text)
RETURNS TABLE (event_id int, rank int, is_effect bool, is_known bool, at_fault bool, others bigint, best int)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 20
BEGIN ATOMIC
    WITH known AS MATERIALIZED (
        -- by their first records: where a value decides, the pattern of the event would match any value
        SELECT e.event_id, bool_and(e.is_effect OR e.severity IN ('info', 'warning')) AS is_effect
        FROM (SELECT f.severity, l4._survivor(t.event_id, t.merged_into) AS event_id,
                f.is_effect OR coalesce(m.is_effect, false) AS is_effect, f.priority,
                max(f.priority) OVER (PARTITION BY h.event_id) AS top
            FROM l4._fault_hit AS h
            JOIN l4.fault AS f ON f.fault_id = h.fault_id
            JOIN l4._event AS t ON t.event_id = h.event_id
            LEFT JOIN l4.fault_match AS m ON m.job_id = h.job_id AND m.fault_id = h.fault_id
                AND NOT m.caused_by && ARRAY(SELECT c.name FROM l4.fault AS c WHERE c.combined)
            WHERE h.job_id = _suspect_kinds.job_id AND NOT h.gave_up) AS e
        WHERE e.priority = e.top
        GROUP BY e.event_id
    )
    SELECT s.event_id, s.rank, coalesce(k.is_effect, o.of_others OR s.nodes * 2 >= w.nodes_seen, false),
        k.event_id IS NOT NULL,
        EXISTS (SELECT FROM l4.suspect_node AS n
                WHERE n.job_id = s.job_id AND n.node = s.example_node AND n.is_suspect),
        o.jobs,
        (SELECT min(m.rank) FROM l4.fault_match AS m
         WHERE m.job_id = s.job_id AND m.event_id = s.event_id AND NOT m.is_effect)
    FROM l4.suspect_event AS s
    LEFT JOIN known AS k ON k.event_id = s.event_id
    -- in a hang, what most nodes report is that they wait
    LEFT JOIN (SELECT d.job_id, (d.coverage ->> 'nodes_seen')::int AS nodes_seen FROM l4.diagnosis AS d
        WHERE d.symptom = 'hang') AS w ON w.job_id = s.job_id
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs,
            bool_or(NOT m.is_effect AND f.severity IN ('error', 'fatal') AND m.event_id <> s.event_id) AS of_others
        FROM l4.suspect_event AS e
        LEFT JOIN l4.fault_match AS m ON m.job_id = e.job_id AND m.rank = 1
        LEFT JOIN l4.fault AS f ON f.fault_id = m.fault_id
        WHERE e.event_id = s.event_id AND e.job_id <> s.job_id) AS o
    WHERE s.job_id = _suspect_kinds.job_id;
END;
COMMENT ON FUNCTION l4._suspect_kinds(text)
    IS 'suspect events of a job: it only reports a failure elsewhere, a known fault was found in it, a suspect node '
       'wrote it, how many other diagnoses claim it, rank of the best known cause in it';

-- Best first: events in which a known cause was found, by its rank; events of a suspect node; events that the fewest
-- other diagnoses claim. Those that only report a failure elsewhere come last, as the diagnosis ranks them.
CREATE FUNCTION l4._telling_events(job_id text) RETURNS int[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (SELECT array_agg(k.event_id ORDER BY k.is_effect, NOT k.is_effect AND NOT k.is_known,
        CASE WHEN NOT k.is_effect THEN k.best END, NOT k.is_effect AND NOT k.at_fault,
        CASE WHEN NOT k.is_effect THEN k.others END, k.rank)
    FROM l4._suspect_kinds(_telling_events.job_id) AS k);
COMMENT ON FUNCTION l4._telling_events(text)
    IS 'suspect events of a job, first the one that says most about what was particular to it';

-- Where a known cause goes by a value of the event (an exit status), the pattern must keep it.
CREATE FUNCTION l4._decided_template(job_id text, event_id int, template text) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    pattern constant text := '<(?:\*|[A-Z][A-Z0-9_]*)>';
    parts constant text[] := regexp_split_to_array(template, pattern);
    marks text[] := ARRAY(SELECT m.found[1] FROM regexp_matches(template, '(' || pattern || ')', 'g') AS m(found));
    known l4.pcre;
    v record;
BEGIN
    SELECT f.signature INTO known
    FROM l4._fault_hit h JOIN l4.fault f ON f.fault_id = h.fault_id JOIN l4._event t ON t.event_id = h.event_id
    WHERE h.job_id = _decided_template.job_id
      AND l4._survivor(t.event_id, t.merged_into) = _decided_template.event_id
      AND NOT h.gave_up AND NOT f.is_effect AND f.signature IS NOT NULL
    ORDER BY f.priority DESC, f.fault_id LIMIT 1;
    IF known IS NULL THEN
        RETURN template;
    END IF;
    FOR v IN
        SELECT * FROM (
            SELECT l.value, l.is_first, m.yes, dense_rank() OVER (ORDER BY l.slot) AS k,
                bool_or(NOT m.yes OR l.is_first AND NOT m.other) OVER (PARTITION BY l.slot) AS varies
            FROM l4._line_variants(_decided_template.job_id, ARRAY[_decided_template.event_id]) AS l
            -- a job may know one value only: try another with as many digits too, and none where there was some
            CROSS JOIN LATERAL (SELECT l4.pcre_match(l.line, known) IS TRUE AS yes,
                l4.pcre_match(overlay(l.line PLACING translate(l.value, '0123456789', '1234567898')
                    FROM l.place FOR length(l.value)), known) IS TRUE AS other) AS m) AS w
        WHERE w.is_first AND w.yes AND w.varies AND w.k <= cardinality(marks)
    LOOP
        marks[v.k] := v.value;
    END LOOP;
    RETURN (SELECT string_agg(p.text || coalesce(marks[p.n], ''), '' ORDER BY p.n)
            FROM unnest(parts) WITH ORDINALITY AS p(text, n));
END
$$;
COMMENT ON FUNCTION l4._decided_template(text, int, text)
    IS 'a template with the values by which a known cause is recognised in it';

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
COMMENT ON FUNCTION l4._event_pattern(text, int[]) IS 'signature that matches any of some events, and their templates';

-- The first telling event whose pattern no successful job matches; when all do, the first, so that the caller sees
-- why. Where all only report a failure elsewhere, all reports of a lost peer: the next time other nodes may be the
-- first to report it.
CREATE FUNCTION l4._pattern_event(job_id text) RETURNS int[]
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    candidates constant int[] := l4._telling_events(_pattern_event.job_id);
    peers int[];
    p record;
BEGIN
    IF candidates IS NULL THEN
        RAISE EXCEPTION 'no suspect event of job "%" to make a pattern of', _pattern_event.job_id
            USING ERRCODE = 'no_data_found', HINT = 'Run l4.diagnose() first, or give events, signature or templates.';
    END IF;
    WITH report AS (
        SELECT k.event_id, k.rank, array_agg(DISTINCT h.fault_id) AS faults
        FROM (SELECT s.*, bool_and(s.is_effect) OVER () AS all_effects
            FROM l4._suspect_kinds(_pattern_event.job_id) AS s) AS k
        JOIN l4._event t ON l4._survivor(t.event_id, t.merged_into) = k.event_id
        JOIN l4._fault_hit h ON h.job_id = _pattern_event.job_id AND h.event_id = t.event_id AND NOT h.gave_up
        JOIN l4.fault f ON f.fault_id = h.fault_id AND f.is_effect AND f.component IN ('network', 'collective')
            AND f.priority >= 50
        WHERE k.all_effects
        GROUP BY k.event_id, k.rank
    )
    SELECT array_agg(w.event_id ORDER BY w.rank) INTO peers
    FROM report AS w WHERE w.faults = (SELECT b.faults FROM report AS b ORDER BY b.rank LIMIT 1);
    FOR i IN CASE WHEN peers IS NULL THEN 1 ELSE 0 END .. least(cardinality(candidates), 5) LOOP
        SELECT e.events, q.* INTO p
        FROM (SELECT CASE i WHEN 0 THEN peers ELSE ARRAY[candidates[i]] END AS events) AS e
        CROSS JOIN LATERAL l4._event_pattern(_pattern_event.job_id, e.events) AS q;
        IF num_nonnulls(p.signature, p.templates) > 0
           AND NOT EXISTS (SELECT FROM l4._healthy_matches(_pattern_event.job_id, p.signature, p.templates)) THEN
            RETURN p.events;
        END IF;
    END LOOP;
    RETURN ARRAY[candidates[1]];
END
$$;
COMMENT ON FUNCTION l4._pattern_event(text) IS 'the suspect event of a job to make a pattern of';

-- A hang that no node with the fault reports is recognised by its form: others report a lost peer, while one node is
-- silent or, on the contrary, none is. Half of the time that it took leaves room for other time-outs.
CREATE FUNCTION l4._hang_form(job_id text, events int[], signature l4.pcre) RETURNS SETOF l4.fault_condition
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 2
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    shortest constant interval := '2 s';
    c l4.fault_condition;
    silent interval;
    stalled interval;
    speaks bool;    -- of what happened on the node itself
    reports bool;   -- only of what happened elsewhere
BEGIN
    SELECT bool_or(k.at_fault AND NOT k.is_effect), bool_and(k.is_effect) INTO speaks, reports
    FROM l4._suspect_kinds(_hang_form.job_id) AS k WHERE k.event_id = ANY (events);
    IF speaks OR NOT EXISTS (
        SELECT FROM l4.diagnosis d WHERE d.job_id = _hang_form.job_id AND d.symptom = 'hang') THEN
        RETURN;
    END IF;
    SELECT coalesce(k.terminal_ts, k.last_ts) - k.progress_ts INTO stalled
    FROM l4._case k WHERE k.job_id = _hang_form.job_id;
    IF (stalled >= 2 * shortest) IS NOT TRUE THEN
        RETURN;
    END IF;
    SELECT max(s.length) INTO silent
    FROM l4._silences(_hang_form.job_id, stalled / 2) AS s
    JOIN l4.suspect_node n ON n.job_id = _hang_form.job_id AND n.node = s.node
    WHERE n.is_suspect OR n.rank = 1;
    SELECT 0, 1, 'effect', NULL, NULL, 1, 1, NULL, false, NULL, NULL INTO c;
    IF silent IS NULL THEN
        IF signature IS NULL OR NOT reports THEN
            RETURN;
        END IF;
        c.kind := 'event';
        c.signature := _hang_form.signature;
    END IF;
    RETURN NEXT c;
    c.step := 2;
    c.kind := 'quiet';
    c.signature := NULL;
    c.silence := greatest(date_trunc('second', coalesce(silent, stalled) / 2), shortest);
    IF silent IS NULL THEN
        c.min_nodes := 0;
        c.max_nodes := 0;
    ELSIF (SELECT count(DISTINCT s.node) = 1 FROM l4._silences(_hang_form.job_id, c.silence) AS s) THEN
        c.max_nodes := 1;
    END IF;
    RETURN NEXT c;
END
$$;
COMMENT ON FUNCTION l4._hang_form(text, int[], l4.pcre)
    IS 'conditions that recognise a hang by who reports and who is silent; none when an event says what happened, or '
       'the job did not hang';

-- Where the best known cause is a combination, and the words of its event say nothing more (only a value of it
-- decides, or it is an effect by itself), what is confirmed has the same form: another launcher reports in other
-- words that a process was killed.
CREATE FUNCTION l4._known_form(job_id text) RETURNS SETOF l4.fault_condition
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 3
BEGIN ATOMIC
    SELECT c.*
    FROM l4.fault_match AS m
    JOIN l4.fault AS f ON f.fault_id = m.fault_id
    JOIN l4.fault_condition AS c ON c.fault_id = f.fault_id
    WHERE m.job_id = _known_form.job_id AND m.rank = 1 AND m.is_suspect AND f.combined
      AND NOT EXISTS (
        SELECT FROM l4._suspect_kinds(_known_form.job_id) AS k
        JOIN l4._event AS t ON t.event_id = k.event_id
        WHERE k.event_id = m.event_id AND k.is_known AND NOT k.is_effect
          AND l4._decided_template(_known_form.job_id, t.event_id, t.template) = t.template);
END;
COMMENT ON FUNCTION l4._known_form(text)
    IS 'conditions of the best known cause of a job, if that is a combination which says more than its event does';
