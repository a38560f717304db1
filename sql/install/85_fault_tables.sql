-- The fault library: known failures as rows, what a job matched, and views on both.

-- What a signature must not be: empty, or so general that it matches lines without any content.
--: false for a pattern that matches empty or meaningless lines
CREATE FUNCTION l4._signature_usable(signature l4.pcre) RETURNS bool
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN signature IS NULL OR NOT EXISTS (
    SELECT FROM unnest(ARRAY['', ' ', 'a', '0', '-', 'step 10: loss 2.5', 'iteration 10/ 500 | loss: 2.5E+00 |',
        'INFO ok']) AS t(line)
    WHERE l4.pcre_match(t.line, signature) IS NOT FALSE);

--: a pattern that matches a text, with any blanks where it has some
CREATE FUNCTION l4._quoted(words text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN regexp_replace(regexp_replace(words, '([][\\.^$|()?*+{}#-])', '\\\1', 'g'), '\s+', '\\s+', 'g');

--: the patterns that templates stand for: their variable parts match any text of one line
CREATE FUNCTION l4._template_patterns(templates text[]) RETURNS l4.pcre[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT array_agg(p.pattern::l4.pcre ORDER BY t.n)
    FROM unnest(templates) WITH ORDINALITY AS t(template, n)
    CROSS JOIN LATERAL (
        SELECT '^\s*' || string_agg(l4._quoted(w.words), '.*?' ORDER BY w.n) || '\s*$'
        FROM regexp_split_to_table(t.template, '(?:<(?:\*|[A-Z][A-Z0-9_]*)>)+') WITH ORDINALITY AS w(words, n))
        AS p(pattern));

--: false when a template is missing or has fewer than four letters of its own
CREATE FUNCTION l4._templates_usable(templates text[]) RETURNS bool
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN templates IS NULL OR (cardinality(templates) > 0 AND NOT EXISTS (
    SELECT FROM unnest(templates) AS t(template)
    WHERE t.template IS NULL
       OR length(regexp_replace(t.template, '<(\*|[A-Z][A-Z0-9_]*)>|[^[:alpha:]]', '', 'g')) < 4));

-- Such a row says that something failed, not why: any exception of a class, any error that a program states.
--: is a fault of this priority too general to say what kind of failure it is
CREATE FUNCTION l4._is_catch_all(priority int) RETURNS bool
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN priority < 13;

CREATE SEQUENCE l4.fault_fault_id_seq AS int MINVALUE 1000000 START 1000000;
--: the fault library: known failures, how to recognise them, why they happen and what to do
CREATE TABLE l4.fault (
    fault_id int PRIMARY KEY DEFAULT nextval('l4.fault_fault_id_seq'), --: id; shipped rows are below 1000000
    name text NOT NULL,                    --: short name; of a user's and a shipped row with one name the user's counts
    category text NOT NULL,                 --: where the cause lies: hardware, user, framework or platform
    component text NOT NULL,                --: what of it; one of the list in docs/reference/faults.md
    signature l4.pcre,                      --: matches a line that shows the fault; searched for, not anchored
    templates text[], --: templates of events that show the fault; each, read as a pattern, must match the whole message
    root_cause text NOT NULL,               --: why it happens
    remedy text NOT NULL,                   --: what to do first
    leads_to text[] NOT NULL DEFAULT '{}',  --: names of faults that this one causes, mostly on other nodes
    severity text NOT NULL DEFAULT 'error', --: info, warning, error or fatal
    example text,                           --: a line that the signature matches
    source_url text,                        --: where the line is printed or explained
    origin text NOT NULL DEFAULT 'user',    --: builtin (shipped), user, confirmed (from a diagnosis) or imported
    source_job text,                        --: job whose diagnosis was confirmed
    confirmed_by text,                      --: who confirmed it
    confirmed_at timestamptz,               --: when it was confirmed
    --: 0 to 100: of the matches on one event only those with the highest priority count
    priority int NOT NULL DEFAULT 50,
    is_effect bool NOT NULL DEFAULT false,  --: the line only shows that something else failed; ranked after all causes
    combined bool NOT NULL DEFAULT false,   --: the rows of fault_condition decide, not one line
    --: the patterns that templates stand for; made from them
    template_patterns l4.pcre[] GENERATED ALWAYS AS (l4._template_patterns(templates)) STORED,
    CONSTRAINT fault_origin_name_key UNIQUE (origin, name)
);
ALTER SEQUENCE l4.fault_fault_id_seq OWNED BY l4.fault.fault_id;
CREATE INDEX fault_name_idx ON l4.fault (name);

-- Each row must be usable. The errors name the rule as if each were a constraint of its own.
--: true, or an error that says what is wrong with a fault
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

--: faults recognised by several events together: all steps must hold
CREATE TABLE l4.fault_condition (
    fault_id int NOT NULL REFERENCES l4.fault ON DELETE CASCADE, --: the fault, whose column combined is true
    step int NOT NULL,                     --: 1, 2, 3 and so on; step 1 gives the proof line
    --: event: occurs; absent: does not occur; silence: occurs, then not for some time; effect: a report of a lost peer;
    --: quiet: a node writes nothing for some time while others go on; ends: its log ends so long before the others
    kind text NOT NULL DEFAULT 'event',
    signature l4.pcre,                     --: matches a line of the event
    template text,                         --: or the template of the event
    min_occurrences bigint NOT NULL DEFAULT 1, --: at least so many records on a node for the node to count
    min_nodes int NOT NULL DEFAULT 1,      --: on at least so many nodes; 0, with max_nodes, on no more than that
    max_nodes int,                         --: on at most so many nodes
    same_node bool NOT NULL DEFAULT false, --: counts only on nodes where step 1 holds
    within interval,                     --: at most this long after an occurrence of the step before, and not before it
    --: longest time between two occurrences, or from the last one to the end of the job's log, is at least this; of a
    --: node that is quiet, between two lines
    silence interval,
    CONSTRAINT fault_condition_pkey PRIMARY KEY (fault_id, step)
);

--: true, or an error that says what is wrong with a condition
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
ALTER TABLE l4.fault_condition ADD CONSTRAINT fault_condition_check CHECK (l4._check_condition(fault_condition));

-- A fault that is matched here may be gone tomorrow (another l4), so the name is kept and nothing refers to l4.fault.
--: known faults seen in a job, best first
CREATE TABLE l4.fault_match (
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    rank int NOT NULL,           --: 1 = best
    fault_id int NOT NULL,
    node text NOT NULL,          --: node of the proof line
    line_no bigint NOT NULL,     --: number of the proof line
    line text NOT NULL,          --: the proof line
    captures jsonb,              --: what the signature captured in it: device, rank, error code; "0" is the whole match
    fault_name text NOT NULL,    --: name of the fault when it was matched
    source text NOT NULL,        --: source of the proof line on the node
    event_id int NOT NULL,       --: event of the proof line
    ts timestamptz,              --: first time
    occurrences bigint NOT NULL, --: records of all events that show the fault in the job
    is_effect bool NOT NULL,     --: a consequence: by nature, of another fault that was matched, or of a suspect
    caused_by text[] NOT NULL,   --: faults matched in the job that lead to this one
    --: its event indicates the failure by the diagnosis; without one, it is in no successful job
    is_suspect bool NOT NULL,
    CONSTRAINT fault_match_pkey PRIMARY KEY (job_id, rank)
);
CREATE INDEX fault_match_fault_idx ON l4.fault_match (fault_name);

--: lines on which a signature was given up at a limit: whether it matches is not known
CREATE TABLE l4.fault_given_up (
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    fault_id int NOT NULL,
    fault_name text NOT NULL, --: its name
    node text NOT NULL,       --: node of the line
    line_no bigint NOT NULL,  --: number of the line
    line text NOT NULL        --: the line
);
CREATE INDEX fault_given_up_job_idx ON l4.fault_given_up (job_id);

-- Which of the rows count: not switched off, and of one name the one nearest to the user.
--: the faults that are matched: not in disabled_rule, and of several with one name the user's, confirmed, imported,
--: shipped one
CREATE VIEW l4.active_fault AS
SELECT f.*
FROM l4.fault f
WHERE NOT EXISTS (
    SELECT FROM l4.disabled_rule d WHERE d.kind = 'fault' AND d.name = f.name)
    AND NOT EXISTS (
        SELECT FROM l4.fault n CROSS JOIN (SELECT ARRAY['user', 'confirmed', 'imported', 'builtin'] AS nearest) o
        WHERE n.name = f.name AND n.origin <> 'builtin'
            AND array_position(o.nearest, n.origin) < array_position(o.nearest, f.origin));

--: each fault that was ever matched: how often, when, where last
--.name the fault
--.fault_id its row that counts today; NULL = gone or switched off
--.jobs jobs in which it was matched
--.first_ranks jobs in which it was the best match
--.as_effect jobs in which it was an effect
--.occurrences records in all jobs
--.first_seen first time
--.last_seen last time
--.last_job last job
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

--: matched causes per week (UTC, from Monday), category and component
--.week Monday 00:00 UTC; NULL = no time known
--.jobs jobs with such a fault
--.first_ranks jobs whose best match it is
--.faults different faults
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
