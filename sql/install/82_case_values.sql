-- What events of a job say: the values of their variable parts, and lines made of them.

-- The views unpack all events of a job; these, the rows of the events that are asked for.
--: mentions in some events of a job
CREATE FUNCTION l4._mentions(job_id text, events int[]) RETURNS SETOF l4.mention
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 500
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    WITH kind AS MATERIALIZED (
        SELECT DISTINCT ON (survivor, z.slot) l4._survivor(e.event_id, e.merged_into) AS survivor, z.slot, z.kind
        FROM l4._event_slot AS z JOIN l4._event AS e USING (event_id)
        WHERE z.event_id = ANY (l4._packed_ids(events)) AND z.kind IS NOT NULL
        ORDER BY survivor, z.slot, z.event_id
    )
    SELECT _mentions.job_id, v.node, v.event_id, coalesce(k.kind, 'host'), v.value,
        CASE WHEN k.kind = 'rank' THEN r.node WHEN k.kind IS NULL OR k.kind IN ('host', 'address') THEN n.node END,
        v.occurrences, v.first_ts
    FROM l4._slot_values(_mentions.job_id, events, ARRAY(SELECT z.survivor::bigint << 32 | z.slot FROM kind AS z)) AS v
    LEFT JOIN kind AS k ON k.survivor = v.event_id AND k.slot = v.slot
    LEFT JOIN (SELECT z.name, z.node FROM l4._node_name AS z WHERE z.job_id = _mentions.job_id) AS n
        ON n.name = l4._host_of(v.value)
    LEFT JOIN (SELECT z.rank, z.node FROM l4._rank_node AS z WHERE z.job_id = _mentions.job_id) AS r
        ON r.rank = CASE WHEN k.kind = 'rank' AND v.value ~ '^[0-9]{1,9}$' THEN v.value::int END
    WHERE k.kind IS NOT NULL OR n.node IS NOT NULL;
END;
$$;

--: each variable part of the first record of some events on each node of a job, or on some of its nodes
CREATE FUNCTION l4._first_parameters(job_id text, events int[], nodes text[] DEFAULT '{}')
    RETURNS TABLE (node text, event_id int, slot int, value text, mask text)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 2000
SET search_path = pg_catalog, pg_temp SET work_mem = '64MB'
AS $$
#variable_conflict use_column
DECLARE
    ids constant int[] := l4._packed_ids(events);
BEGIN
    IF cardinality(ids) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT DISTINCT ON (s.node, u.event_id, u.slot) s.node, u.event_id, u.slot, u.value, u.mask
    FROM l4._slot_context(ids) AS x
    CROSS JOIN l4._summary AS s
    CROSS JOIN LATERAL l4._unpack_values(s.slots, s.open_slots, s.events, s.open_events, x.merged, x.survivors,
        x.word_events, x.word_slots, x.words, ids, NULL, true) AS u
    WHERE s.job_id = _first_parameters.job_id AND s.part = 0
        AND (_first_parameters.nodes = '{}' OR s.node = ANY (_first_parameters.nodes))
    ORDER BY s.node, u.event_id, u.slot, u.first_ts, s.source, u.first_line_no;
END;
$$;

--: the same, as one array a record
CREATE FUNCTION l4._values(job_id text, events int[], nodes text[] DEFAULT '{}')
    RETURNS TABLE (node text, event_id int, slot_values text[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 500
BEGIN ATOMIC
    SELECT f.node, f.event_id, array_agg(f.value ORDER BY f.slot)
    FROM l4._first_parameters(_values.job_id, _values.events, _values.nodes) AS f
    GROUP BY f.node, f.event_id;
END;

-- What ingest kept as one value may have several marks in the template, and words around them: "ip-<*>-<*>-<*>-<*>" of
-- a name, "[<*>, <*>]" of a list. A value stands for all of it where it looks like it, else for one mark.
--: the same where names or lists may be one value of several marks
CREATE FUNCTION l4._fill_joined(template text, slot_values text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    -- masks of users have marks of their own: more values than marks tell of them
    mark constant text := CASE WHEN cardinality(slot_values) >= cardinality(string_to_array(template, '<*>'))
        THEN '<(?:\*|[A-Z][A-Z0-9_]*)>' ELSE '<\*>' END;
    pattern constant text := replace('(?<![[:alnum:]_.>-])[[:alpha:]][[:alnum:]_.-]*@(?:[[:alnum:]_.-]*@)*'
        '(?:[[:alnum:]_.-]*[[:alnum:]])?|(?<=[[(])@(?:, ?@)+(?=[])])|@', '@', mark);
    parts constant text[] := regexp_split_to_array(template, pattern);
    answer text := parts[1];
    place int := 1;
    unit text;
    n int;
BEGIN
    FOR unit, n IN SELECT regexp_replace(m.found[1], mark, '<*>', 'g'), m.n
        FROM regexp_matches(template, '(' || pattern || ')', 'g') WITH ORDINALITY AS m(found, n) LOOP
        IF slot_values[place] LIKE replace(regexp_replace(unit, '([\\%_])', '\\\1', 'g'), '<*>', '%') THEN
            answer := answer || slot_values[place];
            place := place + 1;
        ELSE
            FOR k IN 2 .. array_length(string_to_array(unit, '<*>'), 1) LOOP
                unit := overlay(unit PLACING coalesce(slot_values[place], '') FROM strpos(unit, '<*>') FOR 3);
                place := place + 1;
            END LOOP;
            answer := answer || unit;
        END IF;
        answer := answer || parts[n + 1];
    END LOOP;
    RETURN answer;
END;
$$;

-- Text of a template with the values of one occurrence.
--: a template with values for its variable parts
CREATE FUNCTION l4._fill(template text, slot_values text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN template ~ '-\S*<\*>|<\*>\S*-|[[(]<\*>,'
    OR cardinality(slot_values) >= cardinality(string_to_array(template, '<*>'))
        THEN l4._fill_joined(template, slot_values)
    ELSE (SELECT string_agg(p.part || coalesce(slot_values[p.place], ''), '' ORDER BY p.place)
        FROM unnest(string_to_array(template, '<*>')) WITH ORDINALITY AS p(part, place)) END;

-- Pairs of a node and an event, by place in both arrays.
--: what the first records of some events said on some nodes
CREATE FUNCTION l4._messages(job_id text, nodes text[], events int[])
RETURNS TABLE (node text, event_id int, message text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    SELECT p.node, p.event_id, coalesce(l4._fill(t.template, v.slot_values), t.template)
    FROM (SELECT DISTINCT u.* FROM unnest(_messages.nodes, _messages.events) AS u(node, event_id)) AS p
    JOIN l4._event AS t USING (event_id)
    LEFT JOIN l4._values(_messages.job_id, _messages.events, _messages.nodes) AS v USING (node, event_id);
END;

-- Words of a line as names of nodes are spelled.
--: words of a line that may be names
CREATE FUNCTION l4._name_words(line text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    SELECT DISTINCT w.word FROM regexp_split_to_table(line, '[^A-Za-z0-9_.-]+') AS w(word) WHERE w.word <> '';
END;

--: IPv4 address as a number, NULL for anything else
CREATE FUNCTION l4._ip_number(address text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN address ~ '^[0-9]{1,3}([.][0-9]{1,3}){3}$'
    THEN split_part(address, '.', 1)::bigint * 16777216 + split_part(address, '.', 2)::bigint * 65536
        + split_part(address, '.', 3)::bigint * 256 + split_part(address, '.', 4)::bigint END;
