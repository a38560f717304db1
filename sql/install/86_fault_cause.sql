-- What kind of failure it was: by the cause that a line states, else by who failed and how.

-- What a line states. A catch-all says that something failed and sets nothing; an effect is no cause.
--: causes that lines of a job state; is_sure: one text with one meaning, on a suspect if there is one, and on most
--: nodes unless it is hardware or platform; is_known: no catch-all; is_form: which nodes show it decides; is_few: most
--: nodes do not show it; by_suspect: NULL where nobody is suspect
CREATE FUNCTION l4._stated_causes(k l4._case)
RETURNS TABLE (rank int, event_id int, nodes int, name text, category text, component text, words text, is_sure bool,
    is_known bool, is_form bool, is_few bool, by_suspect bool)
LANGUAGE sql STABLE ROWS 5
BEGIN ATOMIC
    SELECT m.rank, m.event_id, e.nodes, m.fault_name, f.category, f.component,
        format('%s: %s', m.fault_name, rtrim(f.root_cause, ' .')),
        f.severity IN ('error', 'fatal') AND f.priority >= 46 AND NOT f.combined AND s.by_suspect IS NOT FALSE
            AND (e.nodes >= (k.t).majority * k.nodes OR f.category IN ('hardware', 'platform') AND s.by_suspect),
        NOT l4._is_catch_all(f.priority), f.combined, e.nodes < (k.t).majority * k.nodes, s.by_suspect
    FROM l4.fault_match AS m
    JOIN l4.fault AS f USING (fault_id)
    LEFT JOIN l4._job_events(ARRAY[k.job_id]) AS e USING (event_id)
    CROSS JOIN LATERAL (SELECT bool_or(n.node = m.node) AS by_suspect
        FROM l4.suspect_node AS n WHERE n.job_id = k.job_id AND n.is_suspect) AS s
    WHERE m.job_id = k.job_id AND m.is_suspect AND NOT m.is_effect
      AND NOT (f.severity IN ('info', 'warning') AND (f.combined OR l4._is_catch_all(f.priority)));
END;

-- The last thing that a process says before it is reported to have ended tells of it, whatever its level.
--: does the event come right before a report of how a process ended, or end the log of a node that tells none
CREATE FUNCTION l4._last_words(k l4._case, event_id int) RETURNS bool
LANGUAGE sql STABLE
RETURN EXISTS (
    SELECT FROM l4._shown(k.job_id) AS s JOIN l4._shown(k.job_id) AS x ON x.node = s.node AND x.exit
    WHERE s.event_id = _last_words.event_id AND NOT s.exit
      AND x.first_line_no - s.first_line_no BETWEEN 1 AND (k.t).beside_lines
      -- what a crash handler prints tells less than the signal
      AND NOT EXISTS (SELECT FROM l4._shown(k.job_id) AS z JOIN l4._claims(k.job_id) AS j USING (event_id)
        WHERE z.node = s.node AND NOT z.exit AND l4._marked(j.example, 'killed')))
    -- or, where nobody reports a crash in words that are known, it is the last that a node writes
    OR k.terminal_ts IS NULL AND k.symptom IN ('crash', 'launch') AND EXISTS (
        SELECT FROM l4._shown(k.job_id) AS s JOIN l4._nodes(k.job_id) AS n ON n.node = s.node AND n.last_ts = s.last_ts
        WHERE s.event_id = _last_words.event_id);

-- What says that something failed, but not what kind of failure it is: the best catch-all, else an error in words that
-- no row knows. What no suspect says are the words of its peers; in a hang, what most say is that they wait.
--: what tells of a failure without its kind, on how many nodes, whose code it came from, and whether the first suspect
--: says so; NULL = nothing
CREATE FUNCTION l4._general_cause(k l4._case, OUT words text, OUT nodes int, OUT owner text, OUT by_first bool)
LANGUAGE sql STABLE
BEGIN ATOMIC
    -- a value that is refused comes from who calls
    SELECT concat_ws('; ', coalesce(g.words, format('an error that no known fault explains, "%s"',
            rtrim(left(split_part(l4._own_message(k.job_id, g.event_id, g.node), E'\n', 1), 160)))), o.words),
        g.nodes, CASE WHEN g.refused THEN 'user' ELSE o.owner END,
        EXISTS (SELECT FROM l4._counts(k.job_id) AS c JOIN l4.suspect_node AS n USING (job_id, node)
            WHERE c.event_id = g.event_id AND n.rank = 1)
    FROM (SELECT u.*
        FROM (SELECT c.words, c.nodes, c.event_id, NULL AS node, c.component = 'configuration' AS refused, 1 AS turn,
                c.rank
            FROM l4._stated_causes(k) AS c
            UNION ALL
            SELECT NULL, c.nodes, c.event_id, c.node, false, 2, c.n
            FROM l4._cause_events(k.job_id) WITH ORDINALITY AS c(event_id, is_known, nodes, node, level, terminal, n)
            WHERE NOT c.is_known AND (c.terminal OR c.level >= (k.t).error_level
                OR c.level = 0 AND l4._last_words(k, c.event_id))
            UNION ALL
            -- native code that crashes on most nodes alike is no effect of the others' end
            SELECT format('%s: %s', m.fault_name, rtrim(f.root_cause, ' .')), x.nodes, m.event_id, NULL, false, 3,
                m.rank
            FROM l4.fault_match AS m
            JOIN l4.fault AS f USING (fault_id)
            JOIN l4._job_events(ARRAY[k.job_id]) AS x USING (event_id)
            WHERE m.job_id = k.job_id AND m.is_suspect AND f.is_effect AND f.component = 'framework'
                AND x.nodes >= (k.t).majority * k.nodes
                -- by CASE only of these the example is read
                AND l4._marked(CASE WHEN f.is_effect THEN x.example END, 'killed')
                -- the status with which each ended is a value of the line
                AND NOT EXISTS (SELECT FROM l4._claims(k.job_id) AS c WHERE c.event_id = m.event_id AND c.exit)) AS u
        WHERE NOT (k.symptom = 'hang' AND u.nodes >= (k.t).majority * k.nodes)
          -- who waited, or lost a peer, says nothing of the cause
          AND (u.turn = 3 OR NOT EXISTS (SELECT FROM l4._marks(ARRAY(
            SELECT x.example FROM l4._job_events(ARRAY[k.job_id]) AS x WHERE x.event_id = u.event_id),
            '{killed,timeout,lost}')))
          AND EXISTS (SELECT FROM l4._counts(k.job_id) AS c
            LEFT JOIN l4.suspect_node AS n ON n.job_id = c.job_id AND n.node = c.node AND n.is_suspect
            WHERE c.event_id = u.event_id AND (n.node IS NOT NULL
                OR k.symptom <> 'hang' AND NOT EXISTS (
                    SELECT FROM l4.suspect_node AS z WHERE z.job_id = k.job_id AND z.is_suspect)))
        ORDER BY u.turn, u.rank LIMIT 1) AS g
    LEFT JOIN l4._job_events(ARRAY[k.job_id]) AS j USING (event_id)
    LEFT JOIN LATERAL l4._origin(j.example) AS o ON true;
END;

-- The kinds of failure whose cause no line states. words: %1$s stands for the nodes or the line.
--: what may be behind a failure whose cause no line states, and how to check it
CREATE FUNCTION l4._failure_kinds()
RETURNS TABLE (kind text, category text, component text, words text, alternatives text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 18
BEGIN ATOMIC
    SELECT t.* FROM (VALUES
        ('absent', 'platform', 'scheduler', 'no cause is stated: nodes that were expected never wrote a line%1$s',
            ARRAY['the job was not started there: the scheduler''s record of these nodes',
                'it was started and could not write: the launcher''s log on these nodes',
                'its logs were not collected: the collector']),
        ('slow', 'hardware', 'node', 'no cause is stated: %1$s is slower than the other nodes',
            ARRAY['its processor or accelerator runs slower: clocks, temperature, other processes there',
                'its network: error counters and retransmissions of its port', 'its storage: latency of its mounts']),
        ('slow alike', 'hardware', NULL,
            'no cause is stated: the nodes became slow alike, as when one of them, a link or the storage is slow',
            ARRAY['a processor or accelerator runs slower: clocks, temperature, other processes on each node',
                'the network: error counters and retransmissions of the ports', 'the storage: latency of the mounts']),
        ('differs', 'user', 'configuration', 'no cause is stated: %1$s',
            ARRAY['its options, files or version of the program: compare them with those of a node that agrees',
                'another job or an old process answers there: what was started on it and when',
                'the difference does no harm: look at what it printed last, and at what the others wait for']),
        ('alike', 'user', 'program', '%1$s; the nodes failed alike, so what they share is to blame',
            ARRAY['the program, its options or its data: the message and the frames above it',
                'a library that all nodes have: its version in the last good job']),
        ('alike library', 'user', 'software', '%1$s; the nodes failed alike, in a library that they share',
            ARRAY['its version: what the last good job had', 'what the program passes to it: the frame that called']),
        ('alike framework', 'framework', 'framework', '%1$s; the nodes failed alike, in code of the framework',
            ARRAY['the framework: its issues for this message and frame, its version in the last good job',
                'what the program passes to it: the frame that called']),
        ('few', 'user', 'program', '%1$s; on few nodes only, so it may be the node',
            ARRAY['the options, program or data of that node: the message and the frames above it',
                'the node''s own files, mounts and libraries: compare them with those of a node that was well',
                'its hardware: its kernel log']),
        ('few files', 'hardware', 'storage', '%1$s; on few nodes only, while files were read or written',
            ARRAY['the disk, mount or quota of that node: space, errors in its kernel log, how it is mounted',
                'the file itself: compare it with that of a node that was well',
                'the program or its data on that node: the message and the frames above it']),
        ('killed', 'hardware', 'node', 'no cause is stated: a process of %1$s was killed, and said nothing itself',
            ARRAY['its memory ran out: the kernel log of the node, and the limit of the container',
                'the node, its accelerator or a damaged file: signals 4, 7, 8 and 11, and the kernel log',
                'somebody or the scheduler ended it: the scheduler''s record']),
        ('left', 'user', 'program', 'no cause is stated: %1$s ended as in a good job while the others went on',
            ARRAY['its loop was shorter: number of samples and steps a rank',
                'it left by a condition of its own: what it printed last']),
        ('silent', 'hardware', 'node',
            'no cause is stated: %1$s fell silent and the others lost it; node, network or a stopped process',
            ARRAY['the node went down: its console, power and kernel log',
                'its network was cut off: link state and error counters of its port, firewall',
                'its process stood still or was ended: its stack and state, the scheduler''s record']),
        ('apart', 'hardware', 'network',
            'no cause is stated: %1$s lost the others, or they lost it; network, node or a stopped process',
            ARRAY['its network was cut off: link state and error counters of its port, firewall',
                'the node went down: its console, power and kernel log',
                'its process stood still or was ended: its stack and state, the scheduler''s record']),
        ('lost', 'hardware', 'network', 'no cause is stated: nodes lost each other and none of them stands out; the '
                'network between them, or ranks that are out of step',
            ARRAY['links or switches lost packets: error counters of ports and switches',
                'traffic between some nodes is blocked: firewall and routes',
                'the ranks do not call the same collectives: the stacks of their processes']),
        ('stopped', NULL, NULL, 'no cause is stated: the job was told to end before anything failed, "%1$s"',
            ARRAY['somebody or the scheduler ended it: the scheduler''s record, with the reason',
                'a limit of the job was reached: its time and memory against what it asked for']),
        ('ended', NULL, NULL, 'no cause is stated, only how processes ended: "%1$s"',
            ARRAY['memory ran out (signal 9): the kernel log, and the limit of the container',
                'somebody or the scheduler ended it (signals 9 and 15): the scheduler''s record',
                'native code crashed (signals 4, 6, 7, 8 and 11): where, by PYTHONFAULTHANDLER=1 or a core',
                'the program gave up (other statuses): what it printed before']),
        ('still', 'hardware', 'node', 'no cause is stated; node, network, storage or a stopped process',
            ARRAY['a node went down or was cut off: consoles, link states and kernel logs of all nodes',
                'a process stands still: stack and state of each, what it reads or waits for',
                'the ranks do not call the same collectives: the stacks of their processes']),
        ('unmet', 'user', 'configuration', 'no cause is stated: the nodes did not get to train together',
            ARRAY['the addresses, ports and number of nodes that each was given: compare them',
                'a node that waits for another one: the last line of each',
                'a firewall or a name that is not resolved: connect from node to node by hand']),
        ('unknown', NULL, NULL, 'no cause is stated',
            ARRAY['what all nodes share: network, storage, the scheduler''s record of that time',
                'the program: the stacks of its processes when it stands still',
                'a node that wrote nothing of it: its kernel log'])
    ) AS t(kind, category, component, words, alternatives);
END;

-- Where a scheduler's words come before any error, they are no consequence. Who is silent without having been told to
-- end fell silent before.
--: fault whose line says that the job was told to end, before anything failed; NULL: none
CREATE FUNCTION l4._told_to_end(k l4._case, silent text) RETURNS int
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT m.fault_id
    FROM l4.fault_match AS m JOIN l4.fault AS f USING (fault_id) JOIN l4._claims(k.job_id) AS e USING (event_id)
    WHERE m.job_id = k.job_id AND m.is_suspect AND f.is_effect AND f.component = 'scheduler'
      AND e.first_ts = (SELECT min(c.first_ts) FROM l4._claims(k.job_id) AS c
        WHERE c.terminal OR c.exit OR c.level >= (k.t).error_level)
      AND (silent IS NULL OR EXISTS (
        SELECT FROM l4._counts(k.job_id) AS c WHERE c.event_id = m.event_id AND c.node = silent))
    ORDER BY m.rank LIMIT 1;
END;

-- Nobody reports a crash before the scheduler's words, nor later anything but how processes ended.
--: was a job told to end, and nothing else reported
CREATE FUNCTION l4._only_told(k l4._case) RETURNS bool
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT coalesce(bool_and(e.exit OR t.told) AND min(e.first_ts) FILTER (WHERE t.told) = min(e.first_ts), false)
    FROM l4._claims(k.job_id) AS e
    CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM l4.active_fault AS f
        WHERE f.is_effect AND f.component = 'scheduler' AND l4.pcre_match(e.example, f.signature)) AS told) AS t
    WHERE e.terminal;
END;

--: the first kind of failure that holds, and the nodes or line it is about
CREATE FUNCTION l4._failure_kind(k l4._case, stage text, OUT kind text, OUT about text, OUT fault_id int)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    absent constant text[] := ARRAY(SELECT n.node FROM l4._case_place AS n
        WHERE n.job_id = k.job_id AND n.lines = 0 ORDER BY n.node COLLATE "C");
    ended constant text := (
        SELECT rtrim(left(split_part(l4._own_message(k.job_id, e.event_id, e.example_node), E'\n', 1), 160))
        FROM l4.suspect_event AS e JOIN l4._case_event AS x USING (job_id, event_id)
        WHERE e.job_id = k.job_id AND x.exit ORDER BY e.rank LIMIT 1);
    general record;
    s record;   -- the first suspect
BEGIN
    SELECT * INTO general FROM l4._general_cause(k);
    SELECT n.node, n.evidence ?| ARRAY['silent', 'lag'] AS is_silent, z.went_through,
        n.evidence #>> '{exit,detail}' LIKE 'was killed%'
            OR l4._marked(n.evidence #>> '{exit,detail}', 'killed') OR EXISTS (
            SELECT FROM l4._shown(k.job_id) AS e JOIN l4._claims(k.job_id) AS j USING (event_id)
            WHERE e.node = n.node AND e.nodes = 1
                AND l4._marked(CASE WHEN e.nodes = 1 THEN j.example END, 'killed')) AS killed,
        CASE WHEN NOT l4._has_status(n.evidence #>> '{drift,detail}')
            THEN concat_ws(' ', n.node, replace(n.evidence #>> '{drift,detail}', '<*>', '...')) END AS differs INTO s
    FROM l4.suspect_node AS n JOIN l4._case_node AS z ON z.job_id = n.job_id AND z.node = n.node
    WHERE n.job_id = k.job_id AND n.rank = 1 AND n.is_suspect;
    fault_id := CASE WHEN k.symptom <> 'hang' THEN l4._told_to_end(k, CASE WHEN s.is_silent THEN s.node END) END;
    kind := CASE
        WHEN k.symptom = 'launch' AND greatest((SELECT j.expected_nodes FROM l4.job AS j WHERE j.job_id = k.job_id),
            k.nodes + cardinality(absent)) > k.nodes THEN 'absent'
        WHEN k.symptom = 'slow' AND s.node IS NOT NULL THEN 'slow'
        WHEN k.symptom = 'slow' THEN 'slow alike'
        WHEN s.differs IS NOT NULL THEN 'differs'
        WHEN fault_id IS NOT NULL THEN 'stopped'
        -- who lost a node says so in many words
        WHEN s.killed AND general.by_first IS NOT TRUE THEN 'killed'
        WHEN general.nodes >= (k.t).majority * k.nodes
            THEN concat_ws(' ', 'alike', CASE WHEN general.owner IN ('library', 'framework') THEN general.owner END)
        WHEN general.words IS NOT NULL
            THEN concat_ws(' ', 'few',
                CASE WHEN stage IN ('data', 'checkpoint_load', 'checkpoint_save') THEN 'files' END)
        WHEN s.went_through THEN 'left'
        WHEN s.is_silent THEN 'silent'
        WHEN s.node IS NOT NULL THEN 'apart'
        WHEN EXISTS (SELECT FROM l4.fault_match AS m JOIN l4.fault AS f USING (fault_id)
            WHERE m.job_id = k.job_id AND m.is_suspect AND f.is_effect
              AND f.component IN ('network', 'collective', 'node'))
            OR k.symptom = 'hang' AND k.crashed OR k.crashed AND (SELECT l4._waited(k)) THEN 'lost'
        WHEN k.symptom = 'hang' THEN 'still'
        WHEN ended IS NOT NULL THEN 'ended'
        WHEN k.symptom = 'launch' THEN 'unmet'
        ELSE 'unknown' END;
    about := CASE WHEN kind = 'absent' THEN coalesce(': ' || l4._first_few(absent), '')
        WHEN kind = 'differs' THEN s.differs
        WHEN general.words IS NOT NULL AND kind ~ '^(alike|few)' THEN general.words
        WHEN kind = 'stopped' THEN (SELECT left(btrim(m.line), 160) FROM l4.fault_match AS m
            WHERE m.job_id = k.job_id AND m.fault_id = _failure_kind.fault_id)
        WHEN kind = 'ended' THEN ended
        WHEN kind = 'killed' THEN s.node
        ELSE l4._first_few(ARRAY(SELECT n.node FROM l4.suspect_node AS n
            WHERE n.job_id = k.job_id AND n.is_suspect ORDER BY n.rank)) END;
END;
$$;

--: a diagnosis with category, component and cause of the failure, how sure that is, and what else fits
CREATE FUNCTION l4._cause(k l4._case, d l4.diagnosis) RETURNS l4.diagnosis
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    best record;
    other record;   -- by who failed and how
    differs bool := false;
BEGIN
    IF k.symptom = 'none' THEN
        RETURN d;
    END IF;
    SELECT * INTO best FROM l4._stated_causes(k) AS c WHERE c.is_known ORDER BY c.rank LIMIT 1;
    IF best IS NULL OR best.component = 'collective' OR k.symptom = 'launch' AND best.by_suspect IS FALSE THEN
        SELECT n.kind, coalesce(z.category, f.category) AS category, coalesce(z.component, f.component) AS component,
            format(f.words, n.about) AS words, f.alternatives INTO other
        FROM l4._failure_kind(k, d.stage) AS n JOIN l4._failure_kinds() AS f USING (kind)
        LEFT JOIN l4.fault AS z ON z.fault_id = n.fault_id AND n.kind = 'stopped';
        differs := other.kind = CASE WHEN best.component = 'collective' THEN 'differs' ELSE 'absent' END;
    END IF;
    -- ranks that are out of step are so because one has other settings; what the others say of a node that never wrote
    -- is an effect
    IF best IS NULL OR differs THEN
        d.category := other.category;
        d.component := other.component;
        -- one node is like itself
        d.cause := CASE k.nodes WHEN 1 THEN split_part(other.words, '; the nodes failed alike', 1) ELSE other.words END;
        d.alternatives := other.alternatives;
        d.confidence := CASE WHEN other.category IS NOT NULL THEN 'weak' END;
        RETURN d;
    END IF;
    -- what is set up wrong fails at the start: what was there and is lost later broke, and a checkpoint was there
    IF (d.stage = 'train' AND d.iteration > 1 OR d.stage IN ('eval', 'checkpoint_save'))
        AND (best.component = 'storage' AND (best.is_form OR best.category = 'user' AND best.is_few)
            OR best.category = 'platform' AND best.component = 'network')
    THEN
        best.category := 'hardware';
    ELSIF d.stage = 'checkpoint_load' AND best.category = 'user' AND best.component = 'storage' THEN
        best.category := 'platform';
    END IF;
    -- ranks that do not fit each other from the first step on were set up otherwise
    IF best.component = 'collective' AND best.category = 'framework' AND coalesce(d.iteration, 0) <= 1 THEN
        best.category := 'user';
        best.component := 'configuration';
    END IF;
    d.category := best.category;
    d.component := best.component;
    d.cause := best.words;
    SELECT coalesce(array_agg(format('%s (%s, %s)', c.name, c.category, c.component) ORDER BY c.rank), '{}'),
        CASE WHEN best.is_sure AND bool_or(c.is_sure AND c.category <> best.category) IS NOT TRUE THEN 'certain'
            ELSE 'likely' END
    INTO d.alternatives, d.confidence
    FROM l4._stated_causes(k) AS c WHERE c.is_known AND c.rank <> best.rank;
    RETURN d;
END;
$$;
