-- The fault library: known failures as rows, what a job matched, and views on both.

-- What a signature must not be: empty, or so general that it matches lines without any content.
CREATE FUNCTION l4._signature_usable(signature l4.pcre) RETURNS bool
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN signature IS NULL OR NOT EXISTS (
    SELECT FROM unnest(ARRAY['', ' ', 'a', '0', '-', 'step 10: loss 2.5', 'iteration 10/ 500 | loss: 2.5E+00 |',
        'INFO ok']) AS t(line)
    WHERE l4.pcre_match(t.line, signature) IS NOT FALSE);
COMMENT ON FUNCTION l4._signature_usable(l4.pcre) IS 'false for a pattern that matches empty or meaningless lines';

CREATE FUNCTION l4._quoted(words text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN regexp_replace(regexp_replace(words, '([][\\.^$|()?*+{}#-])', '\\\1', 'g'), '\s+', '\\s+', 'g');
COMMENT ON FUNCTION l4._quoted(text) IS 'a pattern that matches a text, with any blanks where it has some';

CREATE FUNCTION l4._template_patterns(templates text[]) RETURNS l4.pcre[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT array_agg(p.pattern::l4.pcre ORDER BY t.n)
    FROM unnest(templates) WITH ORDINALITY AS t(template, n)
    CROSS JOIN LATERAL (
        SELECT '^\s*' || string_agg(l4._quoted(w.words), '.*?' ORDER BY w.n) || '\s*$'
        FROM regexp_split_to_table(t.template, '(?:<(?:\*|[A-Z][A-Z0-9_]*)>)+') WITH ORDINALITY AS w(words, n))
        AS p(pattern));
COMMENT ON FUNCTION l4._template_patterns(text[])
    IS 'the patterns that templates stand for: their variable parts match any text of one line';

CREATE FUNCTION l4._templates_usable(templates text[]) RETURNS bool
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN templates IS NULL OR (cardinality(templates) > 0 AND NOT EXISTS (
    SELECT FROM unnest(templates) AS t(template)
    WHERE t.template IS NULL
       OR length(regexp_replace(t.template, '<(\*|[A-Z][A-Z0-9_]*)>|[^[:alpha:]]', '', 'g')) < 4));
COMMENT ON FUNCTION l4._templates_usable(text[])
    IS 'false when a template is missing or has fewer than four letters of its own';

-- Such a row says that something failed, not why: any exception of a class, any error that a program states.
CREATE FUNCTION l4._is_catch_all(priority int) RETURNS bool
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN priority < 13;
COMMENT ON FUNCTION l4._is_catch_all(int)
    IS 'is a fault of this priority too general to say what kind of failure it is';

CREATE SEQUENCE l4.fault_fault_id_seq AS int MINVALUE 1000000 START 1000000;
CREATE TABLE l4.fault (
    fault_id int NOT NULL DEFAULT nextval('l4.fault_fault_id_seq'),
    name text NOT NULL,
    category text NOT NULL,
    component text NOT NULL,
    signature l4.pcre,
    templates text[],
    root_cause text NOT NULL,
    remedy text NOT NULL,
    leads_to text[] NOT NULL DEFAULT '{}',
    severity text NOT NULL DEFAULT 'error',
    example text,
    source_url text,
    origin text NOT NULL DEFAULT 'user',
    source_job text,
    confirmed_by text,
    confirmed_at timestamptz,
    priority int NOT NULL DEFAULT 50,
    is_effect bool NOT NULL DEFAULT false,
    combined bool NOT NULL DEFAULT false,
    template_patterns l4.pcre[] GENERATED ALWAYS AS (l4._template_patterns(templates)) STORED,
    CONSTRAINT fault_pkey PRIMARY KEY (fault_id),
    CONSTRAINT fault_origin_name_key UNIQUE (origin, name)
);
ALTER SEQUENCE l4.fault_fault_id_seq OWNED BY l4.fault.fault_id;
CREATE INDEX fault_name_idx ON l4.fault (name);
COMMENT ON TABLE l4.fault IS 'the fault library: known failures, how to recognise them, why they happen and what to do';
COMMENT ON COLUMN l4.fault.fault_id IS 'id; shipped rows are below 1000000';
COMMENT ON COLUMN l4.fault.name IS 'short name; of a user''s and a shipped row with one name the user''s counts';
COMMENT ON COLUMN l4.fault.category IS 'where the cause lies: hardware, user, framework or platform';
COMMENT ON COLUMN l4.fault.component IS 'what of it; one of the list in docs/reference/faults.md';
COMMENT ON COLUMN l4.fault.signature IS 'matches a line that shows the fault; searched for, not anchored';
COMMENT ON COLUMN l4.fault.templates
    IS 'templates of events that show the fault; each, read as a pattern, must match the whole message';
COMMENT ON COLUMN l4.fault.root_cause IS 'why it happens';
COMMENT ON COLUMN l4.fault.remedy IS 'what to do first';
COMMENT ON COLUMN l4.fault.leads_to IS 'names of faults that this one causes, mostly on other nodes';
COMMENT ON COLUMN l4.fault.severity IS 'info, warning, error or fatal';
COMMENT ON COLUMN l4.fault.example IS 'a line that the signature matches';
COMMENT ON COLUMN l4.fault.source_url IS 'where the line is printed or explained';
COMMENT ON COLUMN l4.fault.origin IS 'builtin (shipped), user, confirmed (from a diagnosis) or imported';
COMMENT ON COLUMN l4.fault.source_job IS 'job whose diagnosis was confirmed';
COMMENT ON COLUMN l4.fault.confirmed_by IS 'who confirmed it';
COMMENT ON COLUMN l4.fault.confirmed_at IS 'when it was confirmed';
COMMENT ON COLUMN l4.fault.priority
    IS '0 to 100: of the matches on one event only those with the highest priority count';
COMMENT ON COLUMN l4.fault.is_effect IS 'the line only shows that something else failed; ranked after all causes';
COMMENT ON COLUMN l4.fault.combined IS 'the rows of fault_condition decide, not one line';
COMMENT ON COLUMN l4.fault.template_patterns IS 'the patterns that templates stand for; made from them';

-- Each row must be usable. The errors name the rule as if each were a constraint of its own.
CREATE FUNCTION l4._check_fault(f l4.fault) RETURNS bool
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong record;
BEGIN
    SELECT w.* INTO wrong FROM (
        SELECT v.name AS rule, format('%s of fault "%s" cannot be "%s"', v.name, f.name, v.value) AS problem,
            format('It is one of %s.', v.allowed) AS hint
        FROM (VALUES ('category', f.category, 'hardware, user, framework, platform'),
            ('component', f.component, 'accelerator, network, node, storage, configuration, program, data, software, '
                'misoperation, framework, collective, compiler, scheduler, resource, platform_config'),
            ('severity', f.severity, 'info, warning, error, fatal'),
            ('origin', f.origin, 'builtin, user, confirmed, imported')) AS v(name, value, allowed)
        WHERE v.value <> ALL (string_to_array(v.allowed, ', '))
        UNION ALL
        SELECT v.rule, format(v.problem, left(f.name, 200), f.fault_id, f.origin, f.priority), v.hint
        FROM (VALUES
            ('name', f.name !~ '^[[:alnum:]][[:alnum:]_.:/-]{0,199}$', 'a fault cannot be named "%s"',
                'A name has up to 200 letters, digits and _ . : / -, and starts with a letter or digit.'),
            ('id', l4._is_own(f.fault_id) = (f.origin = 'builtin'),
                'fault "%s" with id %s cannot have origin "%s"',
                'Shipped faults, and only they, are builtin and have ids below 1000000.'),
            ('priority', f.priority NOT BETWEEN 0 AND 100, 'priority of fault "%s" cannot be %4$s',
                'It is from 0 to 100.'),
            ('leads_to', f.name = ANY (f.leads_to) OR array_position(f.leads_to, NULL) IS NOT NULL,
                'leads_to of fault "%s" names the fault itself or nothing', 'It lists names of other faults.'),
            ('pattern', f.combined <> (f.signature IS NULL AND f.templates IS NULL),
                'fault "%s" must have a signature or templates, or be combined',
                'A combined fault has neither: rows of l4.fault_condition say what it is recognised by.'),
            ('signature', NOT l4._signature_usable(f.signature),
                'the signature of fault "%s" matches lines that say nothing',
                'Neither an empty line nor one of a healthy step may match: write what only the fault shows.'),
            ('templates', NOT l4._templates_usable(f.templates), 'a template of fault "%s" says too little',
                'A template needs four letters besides its variable parts.'),
            ('example', NOT l4.pcre_match(f.example, f.signature),
                'the signature of fault "%s" does not match its example', 'Give a line that it matches, or none.')
        ) AS v(rule, is_broken, problem, hint)
        WHERE v.is_broken) AS w;
    IF FOUND THEN
        RAISE EXCEPTION '%', wrong.problem
            USING ERRCODE = 'check_violation', CONSTRAINT = format('fault_%s_check', wrong.rule), HINT = wrong.hint;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION l4._check_fault(l4.fault) IS 'true, or an error that says what is wrong with a fault';
ALTER TABLE l4.fault ADD CONSTRAINT fault_check CHECK (l4._check_fault(fault));

CREATE TABLE l4.fault_condition (
    fault_id int NOT NULL,
    step int NOT NULL,
    kind text NOT NULL DEFAULT 'event',
    signature l4.pcre,
    template text,
    min_occurrences bigint NOT NULL DEFAULT 1,
    min_nodes int NOT NULL DEFAULT 1,
    max_nodes int,
    same_node bool NOT NULL DEFAULT false,
    within interval,
    silence interval,
    CONSTRAINT fault_condition_pkey PRIMARY KEY (fault_id, step),
    CONSTRAINT fault_condition_fault_id_fkey FOREIGN KEY (fault_id) REFERENCES l4.fault ON DELETE CASCADE
);
COMMENT ON TABLE l4.fault_condition IS 'faults recognised by several events together: all steps must hold';
COMMENT ON COLUMN l4.fault_condition.fault_id IS 'the fault, whose column combined is true';
COMMENT ON COLUMN l4.fault_condition.step IS '1, 2, 3 and so on; step 1 gives the proof line';
COMMENT ON COLUMN l4.fault_condition.kind
    IS 'event: occurs; absent: does not occur; silence: occurs, then not for some time; effect: a report of a lost '
       'peer; quiet: a node writes nothing for some time while others go on; ends: its log ends so long before the '
       'others';
COMMENT ON COLUMN l4.fault_condition.signature IS 'matches a line of the event';
COMMENT ON COLUMN l4.fault_condition.template IS 'or the template of the event';
COMMENT ON COLUMN l4.fault_condition.min_occurrences IS 'at least so many records on a node for the node to count';
COMMENT ON COLUMN l4.fault_condition.min_nodes IS 'on at least so many nodes; 0, with max_nodes, on no more than that';
COMMENT ON COLUMN l4.fault_condition.max_nodes IS 'on at most so many nodes';
COMMENT ON COLUMN l4.fault_condition.same_node IS 'counts only on nodes where step 1 holds';
COMMENT ON COLUMN l4.fault_condition.within
    IS 'at most this long after an occurrence of the step before, and not before it';
COMMENT ON COLUMN l4.fault_condition.silence
    IS 'longest time between two occurrences, or from the last one to the end of the job''s log, is at least this; of '
       'a node that is quiet, between two lines';

CREATE FUNCTION l4._check_condition(c l4.fault_condition) RETURNS bool
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    problem constant text := CASE
        WHEN c.kind <> ALL (ARRAY['event', 'absent', 'silence', 'effect', 'quiet', 'ends'])
            THEN 'kind is one of event, absent, silence, effect, quiet, ends.'
        WHEN c.step NOT BETWEEN 1 AND 16 THEN 'step is from 1 to 16.'
        WHEN c.kind IN ('effect', 'quiet', 'ends') AND num_nonnulls(c.signature, c.template) > 0
            THEN format('A condition of kind %s has neither signature nor template.', c.kind)
        WHEN c.kind IN ('event', 'absent', 'silence') AND num_nonnulls(c.signature, c.template) <> 1
            THEN format('A condition of kind %s has a signature or a template.', c.kind)
        WHEN NOT l4._signature_usable(c.signature) THEN 'Its signature matches lines that say nothing.'
        WHEN NOT l4._templates_usable(CASE WHEN c.template IS NOT NULL THEN ARRAY[c.template] END)
            THEN 'A template needs four letters besides its variable parts.'
        WHEN (c.kind IN ('silence', 'quiet', 'ends')) <> (c.silence IS NOT NULL) OR c.silence <= '0'
            THEN 'silence is for kinds silence, quiet and ends, and more than 0.'
        WHEN c.within IS NOT NULL AND c.kind NOT IN ('event', 'effect') OR c.within <= '0'
            THEN 'within is for kinds event and effect, and more than 0.'
        WHEN c.step = 1 AND (c.kind IN ('absent', 'quiet', 'ends') OR c.same_node OR c.within IS NOT NULL
            OR c.min_nodes = 0)
            THEN 'Step 1 gives the proof line: it is an event, silence or effect on at least one node, '
            'without same_node and within.'
        WHEN c.min_occurrences < 1 OR c.min_nodes < 0 OR c.max_nodes < c.min_nodes
            OR c.min_nodes = 0 AND c.max_nodes IS NULL
            THEN 'min_occurrences is at least 1, min_nodes too unless max_nodes is given, and max_nodes not below it.'
        END;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION 'a condition with step % cannot be so', c.step
            USING ERRCODE = 'check_violation', HINT = problem;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION l4._check_condition(l4.fault_condition)
    IS 'true, or an error that says what is wrong with a condition';
ALTER TABLE l4.fault_condition ADD CONSTRAINT fault_condition_check CHECK (l4._check_condition(fault_condition));

-- A fault that is matched here may be gone tomorrow (another l4), so the name is kept and nothing refers to l4.fault.
CREATE TABLE l4.fault_match (
    job_id text NOT NULL,
    rank int NOT NULL,
    fault_id int NOT NULL,
    node text NOT NULL,
    line_no bigint NOT NULL,
    line text NOT NULL,
    captures jsonb,
    fault_name text NOT NULL,
    source text NOT NULL,
    event_id int NOT NULL,
    ts timestamptz,
    occurrences bigint NOT NULL,
    is_effect bool NOT NULL,
    caused_by text[] NOT NULL,
    is_suspect bool NOT NULL,
    CONSTRAINT fault_match_pkey PRIMARY KEY (job_id, rank),
    CONSTRAINT fault_match_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
CREATE INDEX fault_match_fault_idx ON l4.fault_match (fault_name);
COMMENT ON TABLE l4.fault_match IS 'known faults seen in a job, best first';
COMMENT ON COLUMN l4.fault_match.rank IS '1 = best';
COMMENT ON COLUMN l4.fault_match.node IS 'node of the proof line';
COMMENT ON COLUMN l4.fault_match.line_no IS 'number of the proof line';
COMMENT ON COLUMN l4.fault_match.line IS 'the proof line';
COMMENT ON COLUMN l4.fault_match.captures
    IS 'what the signature captured in it: device, rank, error code; "0" is the whole match';
COMMENT ON COLUMN l4.fault_match.fault_name IS 'name of the fault when it was matched';
COMMENT ON COLUMN l4.fault_match.source IS 'source of the proof line on the node';
COMMENT ON COLUMN l4.fault_match.event_id IS 'event of the proof line';
COMMENT ON COLUMN l4.fault_match.ts IS 'first time';
COMMENT ON COLUMN l4.fault_match.occurrences IS 'records of all events that show the fault in the job';
COMMENT ON COLUMN l4.fault_match.is_effect IS 'a consequence: by nature, or of another fault that was matched';
COMMENT ON COLUMN l4.fault_match.caused_by IS 'faults matched in the job that lead to this one';
COMMENT ON COLUMN l4.fault_match.is_suspect
    IS 'its event indicates the failure by the diagnosis; without one, it is in no successful job';

CREATE TABLE l4.fault_given_up (
    job_id text NOT NULL,
    fault_id int NOT NULL,
    fault_name text NOT NULL,
    node text NOT NULL,
    line_no bigint NOT NULL,
    line text NOT NULL,
    CONSTRAINT fault_given_up_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
CREATE INDEX fault_given_up_job_idx ON l4.fault_given_up (job_id);
COMMENT ON TABLE l4.fault_given_up
    IS 'lines on which a signature was given up at a limit: whether it matches is not known';
COMMENT ON COLUMN l4.fault_given_up.fault_name IS 'its name';
COMMENT ON COLUMN l4.fault_given_up.node IS 'node of the line';
COMMENT ON COLUMN l4.fault_given_up.line_no IS 'number of the line';
COMMENT ON COLUMN l4.fault_given_up.line IS 'the line';

-- Which of the rows count: not switched off, and of one name the one nearest to the user.
CREATE VIEW l4.active_fault AS
SELECT f.*
FROM l4.fault f
WHERE NOT EXISTS (
    SELECT FROM l4.disabled_rule d WHERE d.kind = 'fault' AND d.name = f.name)
    AND NOT EXISTS (
        SELECT FROM l4.fault n CROSS JOIN (SELECT ARRAY['user', 'confirmed', 'imported', 'builtin'] AS nearest) o
        WHERE n.name = f.name AND n.origin <> 'builtin'
            AND array_position(o.nearest, n.origin) < array_position(o.nearest, f.origin));
COMMENT ON VIEW l4.active_fault
    IS 'the faults that are matched: not in disabled_rule, and of several with one name the user''s, confirmed, '
       'imported, shipped one';

CREATE VIEW l4.fault_history AS
SELECT m.fault_name AS name, f.fault_id, f.category, f.component, f.severity,
    count(*) AS jobs,
    count(*) FILTER (WHERE m.rank = 1) AS first_ranks,
    count(*) FILTER (WHERE m.is_effect) AS as_effect,
    sum(m.occurrences)::bigint AS occurrences,
    min(COALESCE(m.ts, j.started_at)) AS first_seen,
    max(COALESCE(m.ts, j.started_at)) AS last_seen,
    (array_agg(m.job_id ORDER BY COALESCE(m.ts, j.started_at) DESC NULLS LAST, m.job_id))[1] AS last_job
FROM l4.fault_match m
JOIN l4.job j ON j.job_id = m.job_id
LEFT JOIN l4.active_fault f ON f.name = m.fault_name
GROUP BY m.fault_name, f.fault_id, f.category, f.component, f.severity;
COMMENT ON VIEW l4.fault_history IS 'each fault that was ever matched: how often, when, where last';
COMMENT ON COLUMN l4.fault_history.name IS 'the fault';
COMMENT ON COLUMN l4.fault_history.fault_id IS 'its row that counts today; NULL = gone or switched off';
COMMENT ON COLUMN l4.fault_history.jobs IS 'jobs in which it was matched';
COMMENT ON COLUMN l4.fault_history.first_ranks IS 'jobs in which it was the best match';
COMMENT ON COLUMN l4.fault_history.as_effect IS 'jobs in which it was an effect';
COMMENT ON COLUMN l4.fault_history.occurrences IS 'records in all jobs';
COMMENT ON COLUMN l4.fault_history.first_seen IS 'first time';
COMMENT ON COLUMN l4.fault_history.last_seen IS 'last time';
COMMENT ON COLUMN l4.fault_history.last_job IS 'last job';

CREATE VIEW l4.fault_trend AS
SELECT date_trunc('week', COALESCE(m.ts, j.ended_at, j.started_at), 'UTC') AS week, f.category, f.component,
    count(DISTINCT m.job_id) AS jobs,
    count(DISTINCT m.job_id) FILTER (WHERE m.rank = 1) AS first_ranks,
    count(DISTINCT m.fault_name) AS faults
FROM l4.fault_match m
JOIN l4.job j ON j.job_id = m.job_id
JOIN l4.active_fault f ON f.name = m.fault_name
WHERE NOT m.is_effect
GROUP BY 1, 2, 3;
COMMENT ON VIEW l4.fault_trend IS 'matched causes per week (UTC, from Monday), category and component';
COMMENT ON COLUMN l4.fault_trend.week IS 'Monday 00:00 UTC; NULL = no time known';
COMMENT ON COLUMN l4.fault_trend.jobs IS 'jobs with such a fault';
COMMENT ON COLUMN l4.fault_trend.first_ranks IS 'jobs whose best match it is';
COMMENT ON COLUMN l4.fault_trend.faults IS 'different faults';
