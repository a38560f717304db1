-- Faults recognised by several events together: the rows of fault_condition.

--: conditions in the form of a fault file as rows; raises what is wrong with them
CREATE FUNCTION l4._read_conditions(conditions jsonb, fault_id int) RETURNS SETOF l4.fault_condition
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE ROWS 3
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys constant text[] := ARRAY['step', 'kind', 'signature', 'template', 'min_occurrences', 'min_nodes', 'max_nodes',
        'same_node', 'within', 'silence'];
    defaults constant jsonb := '{"kind": "event", "min_occurrences": 1, "min_nodes": 1, "same_node": false}';
    unknown text;
    last int;
    c l4.fault_condition;
BEGIN
    IF jsonb_typeof(conditions) <> 'array' OR jsonb_path_exists(conditions, '$[*] ? (@.type() != "object")')
       OR NOT jsonb_path_exists(conditions, '$[*] ? (@.step == 1)') THEN
        RAISE EXCEPTION 'conditions must be an array of objects, one of them step 1'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT k.key INTO unknown
    FROM jsonb_array_elements(conditions) AS e(value) CROSS JOIN LATERAL jsonb_object_keys(e.value) AS k(key)
    WHERE k.key <> ALL (keys) ORDER BY 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'unknown key "%" in conditions', unknown
            USING ERRCODE = 'invalid_parameter_value', HINT = format('Keys are %s.', array_to_string(keys, ', '));
    END IF;
    FOR c IN
        SELECT r.* FROM jsonb_array_elements(jsonb_strip_nulls(conditions)) AS e(value)
        CROSS JOIN LATERAL jsonb_populate_record(NULL::l4.fault_condition,
            defaults || e.value || jsonb_build_object('fault_id', _read_conditions.fault_id)) AS r
        ORDER BY r.step
    LOOP
        IF c.step IS NULL OR c.step = last THEN
            RAISE EXCEPTION 'each of the conditions needs a step of its own' USING ERRCODE = 'invalid_parameter_value';
        END IF;
        PERFORM l4._check_condition(c);
        last := c.step;
        RETURN NEXT c;
    END LOOP;
END
$$;

-- Where a parameter decides (an exit code), a step speaks of the nodes that have such a value. Values are tried for the
-- events that some signature matched: for each group of faults that differ in a value the library has one that
-- matches any. tried: only for these.
--: events of which some values fit a step of a combined fault and others do not, and the nodes with values that fit;
--: NULL = none
CREATE FUNCTION l4._condition_values(job_id text, conditions l4.fault_condition[], tried int[] DEFAULT NULL)
RETURNS TABLE (fault_id int, step int, event_id int, nodes text[], line text, ts timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE COST 1000 ROWS 20
BEGIN ATOMIC
    WITH condition AS MATERIALIZED (
        SELECT row_number() OVER (ORDER BY c.fault_id, c.step) AS place, c.fault_id, c.step, c.signature
        FROM unnest(_condition_values.conditions) AS c
        WHERE c.kind NOT IN ('quiet', 'ends') AND c.signature IS NOT NULL
    ), variant AS MATERIALIZED (
        SELECT row_number() OVER () AS n, v.*
        FROM l4._line_variants(_condition_values.job_id, ARRAY(
            SELECT DISTINCT l4._survivor(e.event_id, e.merged_into)
            FROM l4._fault_hit AS h JOIN l4._event AS e ON e.event_id = h.event_id
            WHERE h.job_id = _condition_values.job_id AND h.n > -2
              AND (tried IS NULL OR l4._survivor(e.event_id, e.merged_into) = ANY (tried)))) AS v
    ), match AS MATERIALIZED (
        SELECT m.pattern, m.line
        FROM l4._pcre_multimatch((SELECT array_agg(c.signature ORDER BY c.place) FROM condition AS c),
            (SELECT array_agg(v.line ORDER BY v.n) FROM variant AS v)) AS m
        WHERE m.matched
    ), deciding AS MATERIALIZED (
        -- values that match, in slots of which others do not
        SELECT d.*
        FROM (SELECT c.fault_id, c.step, v.event_id, v.slot, v.nodes, v.line, v.ts, v.all_values,
                count(*) OVER (PARTITION BY c.place, v.event_id, v.slot) AS values
            FROM match AS m
            JOIN condition AS c ON c.place = m.pattern
            JOIN (SELECT z.*, count(*) OVER (PARTITION BY z.event_id, z.slot) AS all_values FROM variant AS z) AS v
                ON v.n = m.line) AS d
        WHERE d.values < d.all_values
    ), node AS (
        SELECT d.fault_id, d.step, d.event_id, t.node, (array_agg(d.line ORDER BY d.ts, d.line))[1] AS line,
            min(d.ts) AS ts, count(DISTINCT d.slot) AS slots
        FROM deciding AS d CROSS JOIN LATERAL unnest(d.nodes) AS t(node)
        GROUP BY d.fault_id, d.step, d.event_id, t.node
    )
    SELECT s.fault_id, s.step, s.event_id, array_agg(n.node ORDER BY n.node) FILTER (WHERE n.node IS NOT NULL),
        min(n.line), min(n.ts)
    FROM (SELECT d.fault_id, d.step, d.event_id, count(DISTINCT d.slot) AS slots
        FROM deciding AS d GROUP BY 1, 2, 3) AS s
    LEFT JOIN node AS n USING (fault_id, step, event_id, slots)
    GROUP BY s.fault_id, s.step, s.event_id;
END;

--: an event that a step of a combined fault fits, and on which nodes; NULL = all
CREATE TYPE l4._condition_event AS (fault_id int, step int, event_id int, nodes text[], line text, ts timestamptz,
    gave_up bool);

--: events of the job that each step of a combined fault speaks of, and on which nodes; NULL = wherever the event occurs
CREATE FUNCTION l4._condition_events(job_id text, conditions l4.fault_condition[], tried int[] DEFAULT NULL)
RETURNS SETOF l4._condition_event
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1000 ROWS 20
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    by_words constant bool := EXISTS (
        SELECT FROM unnest(_condition_events.conditions) AS c
        WHERE c.kind NOT IN ('quiet', 'ends') AND num_nonnulls(c.signature, c.template) > 0);
    -- without words, only what reports others is read: a hang is known by who reports and who is silent
    reports constant int4multirange := (
        SELECT range_agg(int4range(h.event_id, h.event_id, '[]'))
        FROM l4._fault_hit AS h JOIN l4.fault AS f USING (fault_id)
        WHERE h.job_id = _condition_events.job_id AND NOT h.gave_up AND f.is_effect);
    decided constant l4._condition_event[] := CASE WHEN by_words THEN ARRAY(
        SELECT ROW(v.*, false)::l4._condition_event
        FROM l4._condition_values(_condition_events.job_id, _condition_events.conditions, tried) AS v) ELSE '{}' END;
BEGIN
    IF NOT by_words AND reports IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH condition AS MATERIALIZED (
        SELECT row_number() OVER (ORDER BY c.signature IS NULL, c.fault_id, c.step) AS place, c.fault_id, c.step,
            c.kind, c.signature, c.template
        FROM unnest(_condition_events.conditions) AS c
        WHERE c.kind NOT IN ('quiet', 'ends')
    ), line AS MATERIALIZED (
        SELECT row_number() OVER () AS place, l.*
        FROM l4._fault_lines(_condition_events.job_id,
            CASE WHEN by_words THEN '{}' ELSE '{(,)}'::int4multirange - reports END) AS l
    ), lost_peer AS (
        SELECT l.event_id, (array_agg(l.line ORDER BY l.is_record, l.line_no))[1] AS line, min(l.ts) AS ts
        FROM l4._fault_hit AS h
        JOIN l4.fault AS f ON f.fault_id = h.fault_id
        JOIN line AS l ON l.kept_id = h.event_id AND l.n = h.n
        WHERE h.job_id = _condition_events.job_id AND NOT h.gave_up AND f.is_effect
          AND f.component IN ('network', 'collective', 'node')
        GROUP BY l.event_id
    ), whole AS (
        SELECT c.fault_id, c.step, l.event_id, coalesce(bool_or(m.matched), false) AS yes,
            bool_or(m.matched IS NULL) AS unknown,
            (array_agg(l.line ORDER BY l.is_record, l.line_no) FILTER (WHERE m.matched))[1] AS line, min(l.ts) AS ts
        FROM l4._pcre_multimatch(
            (SELECT array_agg(c.signature ORDER BY c.place) FROM condition AS c WHERE c.signature IS NOT NULL),
            (SELECT array_agg(l.line ORDER BY l.place) FROM line AS l)) AS m
        JOIN condition AS c ON c.place = m.pattern
        JOIN line AS l ON l.place = m.line
        GROUP BY c.fault_id, c.step, l.event_id
        UNION ALL
        SELECT c.fault_id, c.step, e.event_id, NOT e.gave_up, e.gave_up, l.line, l.ts
        FROM condition AS c
        CROSS JOIN LATERAL l4._template_events(ARRAY[c.template], l4._template_patterns(ARRAY[c.template]),
            ARRAY(SELECT l.event_id FROM line AS l)) AS e
        CROSS JOIN LATERAL (SELECT l.line, l.ts FROM line AS l WHERE l.event_id = e.event_id
                            ORDER BY l.is_record, l.line_no LIMIT 1) AS l
        WHERE c.template IS NOT NULL
        UNION ALL
        SELECT c.fault_id, c.step, p.event_id, true, false, p.line, p.ts
        FROM condition AS c CROSS JOIN lost_peer AS p
        WHERE c.kind = 'effect'
    )
    SELECT d.* FROM unnest(decided) AS d WHERE d.nodes IS NOT NULL
    UNION ALL
    SELECT w.fault_id, w.step, w.event_id, NULL, w.line, w.ts, NOT w.yes
    FROM whole AS w
    WHERE (w.yes OR w.unknown)
      AND (w.fault_id, w.step, w.event_id) NOT IN (SELECT d.fault_id, d.step, d.event_id FROM unnest(decided) AS d);
END
$$;

-- events: event id -> null, or the nodes that count.
--: node and time of every record of some events
CREATE FUNCTION l4._event_times(job_id text, events jsonb)
RETURNS TABLE (node text, ts timestamptz)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 1000
BEGIN ATOMIC
    SELECT t.node, t.ts
    FROM jsonb_each(_event_times.events) AS e(event_id, nodes)
    CROSS JOIN LATERAL l4.event_lines(_event_times.job_id, e.event_id::int) AS t
    WHERE t.line_no = t.record_line_no AND t.ts IS NOT NULL AND (jsonb_typeof(e.nodes) = 'null' OR e.nodes ? t.node);
END;

--: nodes with at least so many records of some events
CREATE FUNCTION l4._event_nodes(job_id text, events jsonb, min_occurrences bigint) RETURNS text[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN ARRAY(
    SELECT k.node
    FROM l4._event_counts(_event_nodes.job_id,
        ARRAY(SELECT e.id::int FROM jsonb_object_keys(_event_nodes.events) AS e(id))) AS k
    CROSS JOIN LATERAL (SELECT _event_nodes.events -> k.event_id::text AS nodes) AS e
    WHERE jsonb_typeof(e.nodes) = 'null' OR e.nodes ? k.node
    GROUP BY k.node
    HAVING sum(k.occurrences) >= _event_nodes.min_occurrences);

-- Times at which a node wrote nothing while others went on. One whose log ends is compared with the end of most logs.
-- Between two lines of its own, at least half of the others must write in the middle half of the time: when all wait,
-- the last one to write is not quiet. Times are compared by the clock of most nodes.
--: when nodes wrote nothing for at least that long while most others went on; ended: and nothing after it
CREATE FUNCTION l4._silences(job_id text, silence interval)
RETURNS TABLE (node text, since timestamptz, length interval, ended bool)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    WITH node AS MATERIALIZED (
        SELECT n.node, n.last_ts, coalesce(z.clock, '0') AS clock
        FROM l4._node AS n LEFT JOIN l4._case_node AS z ON z.job_id = n.job_id AND z.node = n.node
        WHERE n.job_id = _silences.job_id AND n.last_ts IS NOT NULL
    ), ends AS (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n.last_ts - n.clock) AS ts FROM node AS n
    ), pause AS MATERIALIZED (
        SELECT p.node, p.bucket AS since, p.next - p.bucket AS length
        FROM (SELECT a.node, a.bucket, lead(a.bucket) OVER (PARTITION BY a.node ORDER BY a.bucket) AS next
            FROM l4._activity AS a WHERE a.job_id = _silences.job_id) AS p
        WHERE p.next - p.bucket >= _silences.silence
        ORDER BY 3 DESC, 1, 2 LIMIT 64
    ), clocked AS MATERIALIZED (
        SELECT p.node, p.since, p.length, p.since - n.clock AS ts FROM pause AS p JOIN node AS n ON n.node = p.node
    ), stream AS MATERIALIZED (
        -- taken out of its pack once, not once for each pause
        SELECT s.node, n.clock, s.activity, s.open_activity
        FROM l4._summary AS s
        JOIN node AS n ON n.node = s.node
        WHERE s.job_id = _silences.job_id AND EXISTS (SELECT FROM pause AS p)
    ), others AS (
        SELECT p.node, p.since, p.length, s.node AS other,
            bool_or(l4._wrote_between(s.activity, s.open_activity,
                p.ts + s.clock + p.length * 0.25, p.ts + s.clock + p.length * 0.75)) AS wrote
        FROM clocked AS p JOIN stream AS s ON s.node <> p.node
        GROUP BY p.node, p.since, p.length, s.node
    )
    SELECT n.node, n.last_ts, e.ts - (n.last_ts - n.clock), true
    FROM node AS n CROSS JOIN ends AS e
    WHERE e.ts - (n.last_ts - n.clock) >= _silences.silence
    UNION ALL
    SELECT o.node, o.since, o.length, false
    FROM others AS o
    GROUP BY o.node, o.since, o.length
    HAVING count(*) FILTER (WHERE o.wrote) * 2 >= count(*);
END
$$;

-- One fault: goes through its steps, keeping the nodes on which all steps so far hold (same_node) and the times of
-- the last event step that a following step may refer to. NULL when a step does not hold.
--: nodes on which a combined fault holds and those of each step; NULL when it does not
CREATE FUNCTION l4._combination_nodes(job_id text, conditions l4.fault_condition[], steps jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c l4.fault_condition;
    events jsonb;
    held text[];
    candidates text[];
    at_nodes text[];
    at_times timestamptz[];
    proof jsonb := '{}';
    first_min int;
    first_max int;
BEGIN
    FOR c IN SELECT * FROM unnest(conditions) AS f ORDER BY f.step LOOP
        events := steps -> c.step::text;
        held := '{}';
        IF c.kind IN ('quiet', 'ends') THEN
            -- without times nobody knows who was silent, and alone nobody is
            IF (SELECT count(n.last_ts) < 2 FROM l4._node n WHERE n.job_id = _combination_nodes.job_id) THEN
                RETURN NULL;
            END IF;
            held := ARRAY(SELECT DISTINCT q.node FROM l4._silences(_combination_nodes.job_id, c.silence) AS q
                          WHERE q.ended OR c.kind = 'quiet');
        ELSIF events IS NOT NULL AND c.kind = 'silence' THEN
            held := ARRAY(
                SELECT DISTINCT g.node
                FROM (SELECT t.node, coalesce(lead(t.ts) OVER (PARTITION BY t.node ORDER BY t.ts), e.ts) - t.ts AS gap
                    FROM l4._event_times(_combination_nodes.job_id, events) AS t
                    CROSS JOIN (SELECT max(n.last_ts) AS ts FROM l4._node AS n
                        WHERE n.job_id = _combination_nodes.job_id) AS e) AS g
                WHERE g.gap >= c.silence);
        ELSIF events IS NOT NULL AND c.within IS NOT NULL THEN
            -- the latest time of the step before that is not after this one decides
            SELECT array_agg(q.node), array_agg(q.ts) INTO at_nodes, at_times
            FROM (SELECT u.node, u.ts, u.own, max(u.ts) FILTER (WHERE NOT u.own) OVER (
                    PARTITION BY CASE WHEN c.same_node THEN u.node END
                    ORDER BY u.ts, u.own ROWS UNBOUNDED PRECEDING) AS before
                FROM (SELECT t.node, t.ts, true AS own FROM l4._event_times(_combination_nodes.job_id, events) AS t
                    UNION ALL SELECT p.node, p.ts, false FROM unnest(at_nodes, at_times) AS p(node, ts)) AS u) AS q
            WHERE q.own AND q.ts - q.before <= c.within;
            held := ARRAY(SELECT p.node FROM unnest(at_nodes) AS p(node)
                          GROUP BY p.node HAVING count(*) >= c.min_occurrences);
        ELSIF events IS NOT NULL THEN
            held := l4._event_nodes(_combination_nodes.job_id, events, c.min_occurrences);
            IF EXISTS (SELECT FROM unnest(conditions) AS f WHERE f.step > c.step AND f.within IS NOT NULL) THEN
                SELECT array_agg(t.node), array_agg(t.ts) INTO at_nodes, at_times
                FROM l4._event_times(_combination_nodes.job_id, events) AS t;
            END IF;
        END IF;
        IF c.step = 1 OR candidates IS NULL THEN
            candidates := held;
            first_min := c.min_nodes;
            first_max := c.max_nodes;
        ELSIF c.same_node THEN
            candidates := ARRAY(SELECT n.node FROM unnest(candidates) AS n(node)
                                WHERE (n.node = ANY (held)) = (c.kind <> 'absent'));
        ELSIF c.kind = 'absent' THEN
            IF held <> '{}' THEN
                RETURN NULL;
            END IF;
        ELSIF cardinality(held) < c.min_nodes OR cardinality(held) > c.max_nodes THEN
            RETURN NULL;
        END IF;
        IF cardinality(candidates) < first_min OR cardinality(candidates) > first_max THEN
            RETURN NULL;
        END IF;
        proof := proof || jsonb_build_object(c.step, ARRAY(
            SELECT n.node FROM unnest(held) AS n(node) ORDER BY 1 LIMIT 16));
    END LOOP;
    RETURN jsonb_build_object('nodes', candidates, 'steps', proof);
END
$$;

--: combined faults that hold in a job; node and line are those of step 1
CREATE FUNCTION l4._fault_combinations(job_id text, conditions l4.fault_condition[], tried int[] DEFAULT NULL)
RETURNS TABLE (fault_id int, event_id int, node text, source text, line_no bigint, line text, ts timestamptz,
    occurrences bigint, captures jsonb, gave_up bool)
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    events constant l4._condition_event[] := ARRAY(SELECT e::l4._condition_event
        FROM l4._condition_events(_fault_combinations.job_id, _fault_combinations.conditions, tried) AS e);
BEGIN
    RETURN QUERY
    WITH event AS MATERIALIZED (
        SELECT e.* FROM unnest(events) AS e
    ), fault AS MATERIALIZED (
        -- a step that is wanted and has no event decides without reading times
        SELECT s.fault_id, jsonb_object_agg(s.step, s.events) AS steps
        FROM (SELECT e.fault_id, e.step, jsonb_object_agg(e.event_id, e.nodes) AS events
            FROM event AS e WHERE NOT e.gave_up GROUP BY e.fault_id, e.step) AS s
        GROUP BY s.fault_id
        HAVING NOT EXISTS (SELECT FROM unnest(_fault_combinations.conditions) AS c
                           WHERE c.fault_id = s.fault_id AND c.kind NOT IN ('absent', 'quiet', 'ends')
                             AND c.min_nodes > 0 AND c.step <> ALL (array_agg(s.step)))
    ), held AS MATERIALIZED (
        SELECT f.fault_id, l4._combination_nodes(_fault_combinations.job_id,
            ARRAY(SELECT c FROM unnest(_fault_combinations.conditions) AS c WHERE c.fault_id = f.fault_id),
            f.steps) AS found
        FROM fault AS f
    )
    SELECT h.fault_id, p.*, h.found -> 'steps', false
    FROM held AS h
    CROSS JOIN LATERAL (
        SELECT k.event_id, k.node, coalesce(t.source, j.first_source), coalesce(t.line_no, k.first_line_no), e.line,
            CASE WHEN e.nodes IS NULL THEN k.first_ts ELSE e.ts END, k.occurrences
        FROM event AS e
        CROSS JOIN LATERAL l4._event_counts(_fault_combinations.job_id, ARRAY[e.event_id]) AS k
        JOIN l4._job_events(ARRAY[_fault_combinations.job_id]) AS j ON j.event_id = k.event_id
        LEFT JOIN LATERAL (
            SELECT l.source, l.line_no FROM l4._event_lines(_fault_combinations.job_id, e.event_id, k.node) AS l
            WHERE l.line_no = l.record_line_no
            ORDER BY e.nodes IS NOT NULL AND l.ts IS NOT DISTINCT FROM e.ts DESC, l.source, l.line_no
            LIMIT 1) AS t ON true
        WHERE e.fault_id = h.fault_id AND e.step = 1 AND NOT e.gave_up AND h.found -> 'nodes' ? k.node
          AND (e.nodes IS NULL OR k.node = ANY (e.nodes))
        ORDER BY EXISTS (SELECT FROM l4.suspect_event AS s
                         WHERE s.job_id = _fault_combinations.job_id AND s.event_id = k.event_id) DESC,
            k.first_ts, k.node, k.event_id LIMIT 1) AS p
    WHERE h.found IS NOT NULL
    UNION ALL
    SELECT e.fault_id, l.event_id, l.node, l.source, l.line_no, l.line, l.ts, l.occurrences, NULL, true
    FROM event AS e
    JOIN l4._fault_lines(_fault_combinations.job_id) AS l ON l.event_id = e.event_id
    WHERE e.gave_up;
END
$$;
