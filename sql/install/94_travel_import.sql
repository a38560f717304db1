-- Taking in what another server has exported.

--: the entries of an export, whose rows may come in any order; an error unless they are all there, and whole
CREATE FUNCTION l4._import_entries(parts bytea[]) RETURNS TABLE (kind text, head jsonb, bodies bytea[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10000 ROWS 1000 AS 'MODULE_PATHNAME', 'l4_import_entries';

--: learns messages that made events on another server, in their order; of coarse events the templates, else NULL; the
--: events under which their values are kept here
CREATE FUNCTION l4._learn_events(levels text[], examples text[], records text[], rules int[], stacks bool[],
    coarse text[]) RETURNS int[]
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE COST 10000 SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'l4_learn_events';

--: the words of a message in slots where another message of the same delimiters has something else
CREATE FUNCTION l4._words_unlike(parser l4.parser, message text, other text, OUT slots int[], OUT words text[])
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_words_unlike';

--: rolls a job up from its streams; first records are the earliest of those stored and these
CREATE FUNCTION l4._count_job(job_id text, event_ids int[], nodes text[], sources text[], lines bigint[],
    times timestamptz[], records text[]) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000 SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'l4_count_job';

--: a value of a pack (events, slots, durations, sequences, lines, pack_state) under other numbers of events; of slots,
--: which come with the events of the same streams, some words are counted that went without saying
CREATE FUNCTION l4._renumber(kind text, packed bytea, events bytea, shared bool, ids int[], new_ids int[],
    word_events int[], word_slots int[], words text[]) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_renumber_sql';

--: which events of an export are which here; ids NULL: all have the same number
CREATE TYPE l4._event_map AS (
    ids int[], new_ids int[], word_events int[], word_slots int[], words text[], events_new int);

--: a value of a pack under other numbers
CREATE FUNCTION l4._renumber(kind text, packed bytea, events bytea, shared bool, map l4._event_map) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN map.ids IS NULL THEN packed ELSE l4._renumber(kind, packed, events, shared, map.ids, map.new_ids,
    map.word_events, map.word_slots, map.words) END;

--: the numbers of a version, to compare
CREATE FUNCTION l4._version(version text) RETURNS int[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_catalog.string_to_array(pg_catalog.substring(version, '^\d{1,4}(?:\.\d{1,4})*'), '.')::int[];

--: may an export with this header be taken in
CREATE FUNCTION l4._check_import(head jsonb, what text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    own constant jsonb := l4._export_head(what);
BEGIN
    IF head ->> 'what' IS DISTINCT FROM what THEN
        RAISE EXCEPTION 'this is the export of a %, not of a %', coalesce(head ->> 'what', 'thing'), what
            USING ERRCODE = 'invalid_parameter_value', HINT = 'l4.import_job() takes what l4.export_job() gives, '
                'l4.import_model() what l4.export_model() gives.';
    ELSIF l4._version(head ->> 'l4') > l4._version(own ->> 'l4') IS NOT FALSE THEN
        RAISE EXCEPTION 'the export is of l4 %, and this server has %', coalesce(head ->> 'l4', '?'), own ->> 'l4'
            USING ERRCODE = 'feature_not_supported', HINT = 'Update l4 here: exports of older versions can be read.';
    ELSIF head ->> 'encoding' IS DISTINCT FROM own ->> 'encoding' THEN
        RAISE EXCEPTION 'the export has the encoding %, and this database has %',
            head ->> 'encoding', own ->> 'encoding'
            USING ERRCODE = 'feature_not_supported', HINT = 'Import it into a database of that encoding.';
    ELSIF head -> 'options' IS DISTINCT FROM own -> 'options' THEN
        RAISE EXCEPTION 'the export was made with other options of the parser'
            USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = format('There they are %s, here %s.', head -> 'options', own -> 'options'),
            HINT = 'Templates can only be compared under the same masks: give l4.mask_rule and l4.disabled_rule the '
                'same rows on both servers.';
    END IF;
END;
$$;

-- What is set here stays; what the export knows in addition is taken.
--: adds what an export says of a job to what is known here
CREATE FUNCTION l4._import_job_row(head jsonb) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO l4.job AS j SELECT r.* FROM jsonb_populate_record(NULL::l4.job, head) AS r
    ON CONFLICT ON CONSTRAINT job_pkey DO UPDATE SET settings = coalesce(j.settings, excluded.settings),
        status = CASE j.status WHEN 'running' THEN excluded.status ELSE j.status END,
        expected_nodes = coalesce(j.expected_nodes, excluded.expected_nodes),
        started_at = coalesce(j.started_at, excluded.started_at),
        ended_at = coalesce(j.ended_at, excluded.ended_at), attributes = coalesce(j.attributes, excluded.attributes)
    WHERE j.settings IS NULL AND excluded.settings IS NOT NULL OR j.status = 'running' AND excluded.status <> 'running'
        OR j.expected_nodes IS NULL AND excluded.expected_nodes IS NOT NULL
        OR j.started_at IS NULL AND excluded.started_at IS NOT NULL
        OR j.ended_at IS NULL AND excluded.ended_at IS NOT NULL
        OR j.attributes IS NULL AND excluded.attributes IS NOT NULL
$$;

--: adds what an export says of a node to what is known here
CREATE FUNCTION l4._import_node(job_id text, head jsonb) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO l4.job_node AS n
    SELECT r.* FROM jsonb_populate_record(NULL::l4.job_node, head || jsonb_build_object('job_id', job_id)) AS r
    ON CONFLICT ON CONSTRAINT job_node_pkey DO UPDATE SET rank = coalesce(n.rank, excluded.rank),
        addresses = coalesce(n.addresses, excluded.addresses), attributes = coalesce(n.attributes, excluded.attributes)
    WHERE n.rank IS NULL AND excluded.rank IS NOT NULL OR n.addresses IS NULL AND excluded.addresses IS NOT NULL
        OR n.attributes IS NULL AND excluded.attributes IS NOT NULL
$$;

--: number here of the iteration rule of a name; 0 for NULL
CREATE FUNCTION l4._rule_of(name text) RETURNS int
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    rule int;
BEGIN
    SELECT r.rule_id INTO rule FROM l4._active_iteration_rule AS r WHERE r.name = _rule_of.name;
    IF rule IS NULL AND name IS NOT NULL THEN
        RAISE EXCEPTION 'the export has iterations that were read by rule "%", which is not in force here', name
            USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Give l4.iteration_rule and l4.disabled_rule the same rows on both servers.';
    END IF;
    RETURN coalesce(rule, 0);
END;
$$;

-- An event keeps its number where the same message made the event of that number here. The others are learnt, in their
-- order, as if their messages were read here.
--: which events of an export are which here; unknown ones are learnt
CREATE FUNCTION l4._import_events(events jsonb[]) RETURNS l4._event_map
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    map l4._event_map;
    known int;
    others int[];
    found int[];
BEGIN
    PERFORM FROM l4._model AS m FOR KEY SHARE;
    others := l4._unlike_events(events);
    map.events_new := 0;
    IF others = '{}' THEN
        RETURN map;
    END IF;
    PERFORM FROM l4._model AS m FOR NO KEY UPDATE;
    others := l4._unlike_events(events);
    known := (SELECT count(*) FROM l4._event);
    SELECT l4._learn_events(array_agg(e.level ORDER BY e.event_id), array_agg(e.example ORDER BY e.event_id),
        array_agg(e.example_record ORDER BY e.event_id), array_agg(l4._rule_of(e.rule) ORDER BY e.event_id),
        array_agg(coalesce(e.is_stack, false) ORDER BY e.event_id),
        array_agg(CASE WHEN e.is_coarse THEN e.template END ORDER BY e.event_id)),
        array_agg(e.event_id ORDER BY e.event_id)
    INTO found, others FROM l4._exported_events(events) AS e WHERE e.event_id = ANY (others);
    map.events_new := (SELECT count(*) FROM l4._event) - known;
    SELECT array_agg(e.event_id ORDER BY e.event_id), array_agg(coalesce(o.new_id, e.event_id) ORDER BY e.event_id)
    INTO map.ids, map.new_ids
    FROM l4._exported_events(events) AS e LEFT JOIN unnest(others, found) AS o(event_id, new_id) USING (event_id);
    SELECT array_agg(e.event_id ORDER BY e.event_id, w.slot), array_agg(w.slot ORDER BY e.event_id, w.slot),
        array_agg(w.word ORDER BY e.event_id, w.slot)
    INTO map.word_events, map.word_slots, map.words
    FROM unnest(others, found) AS o(event_id, new_id) JOIN l4._exported_events(events) AS e USING (event_id)
    JOIN l4._event AS x ON x.event_id = o.new_id AND NOT x.is_coarse AND x.example <> e.example
    CROSS JOIN l4._model AS m
    CROSS JOIN LATERAL l4._words_unlike(m.parser, e.example, x.example) AS u
    CROSS JOIN LATERAL unnest(u.slots, u.words) AS w(slot, word);
    RETURN map;
END;
$$;

--: events of an export
CREATE FUNCTION l4._exported_events(events jsonb[])
RETURNS TABLE (event_id int, level text, example text, example_record text, is_stack bool, is_coarse bool,
    template text, rule text, merged_into int, stage text, then_stage text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT r.event_id, r.level, r.example, coalesce(r.example_record, r.example), coalesce(r.is_stack, false),
        coalesce(r.is_coarse, false), r.template, r.rule, r.merged_into, r.stage, r.then_stage
    FROM unnest(events) AS e(head)
    CROSS JOIN LATERAL jsonb_to_record(e.head) AS r(event_id int, level text, example text, example_record text,
        is_stack bool, is_coarse bool, template text, rule text, merged_into int, stage text, then_stage text)
$$;

--: events of an export whose number another event has here, or none: an event is the message that made it
CREATE FUNCTION l4._unlike_events(events jsonb[]) RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(array_agg(e.event_id), '{}') FROM l4._exported_events(events) AS e
    WHERE NOT EXISTS (SELECT FROM l4._event AS x WHERE x.event_id = e.event_id AND x.is_coarse = e.is_coarse
        AND x.level IS NOT DISTINCT FROM e.level
        AND CASE WHEN e.is_coarse THEN x.template = e.template ELSE x.example = e.example END)
$$;

-- How much is kept of a stream: 0 nothing, 1 what a baseline needs, 2 all but the positions of lines, 3 all.
--: how much a pack holds: 0 to 3
CREATE FUNCTION l4._detail(pack_id int) RETURNS int
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN _detail.pack_id IS NULL THEN 0
    WHEN EXISTS (SELECT FROM l4._pack_chunk AS c WHERE c.pack_id = _detail.pack_id) THEN 3
    WHEN EXISTS (SELECT FROM l4._pack AS p
        WHERE p.pack_id = _detail.pack_id AND p.part = 0 AND p.pack_state IS NOT NULL) THEN 2 ELSE 1 END;

--: a pack goes with the last stream that leaves it
CREATE FUNCTION l4._drop_pack(job_id text, pack_id int) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    WITH gone AS (
        SELECT _drop_pack.pack_id WHERE NOT EXISTS (
            SELECT FROM l4._stream AS s WHERE s.job_id = _drop_pack.job_id AND s.pack_id = _drop_pack.pack_id)
    ), chunks AS (
        DELETE FROM l4._pack_chunk AS c USING gone WHERE c.pack_id = gone.pack_id
    )
    DELETE FROM l4._pack AS p USING gone WHERE p.pack_id = gone.pack_id
$$;

-- A stream that was read further takes the place of the one that is there, as far with more detail, and whatever is
-- more than a baseline that of a baseline. Its lines are then in no pack yet.
--: takes in a stream of an export unless the one here is as good; its number, NULL: it is
CREATE FUNCTION l4._import_stream(job_id text, head jsonb, detail int, counted bytea) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    s l4._stream;
    old l4._stream;
    present int;
BEGIN
    s := jsonb_populate_record(NULL::l4._stream, head);
    s.job_id := job_id;
    SELECT o.* INTO old FROM l4._stream AS o WHERE o.job_id = s.job_id AND o.node = s.node AND o.source = s.source
    FOR UPDATE;
    IF FOUND THEN
        present := l4._detail(old.pack_id);
        IF (s.pack_id IS NULL) OR NOT (detail > 1 AND present <= 1 OR (detail > 1 OR present <= 1)
            AND (s.lines + s.tail_lines, detail) > (old.lines + old.tail_lines, present)) THEN
            RETURN NULL;
        END IF;
    END IF;
    s.stream_id := coalesce(old.stream_id, nextval('l4._stream_stream_id_seq'));
    s.pack_id := NULL;
    INSERT INTO l4.job_node (job_id, node) VALUES (s.job_id, s.node) ON CONFLICT DO NOTHING;
    INSERT INTO l4._stream SELECT s.*
    ON CONFLICT ON CONSTRAINT _stream_key DO UPDATE SET (rank, ranks, lines, unparsed, seen, tail, next_line_no, step,
        sparse, next_chunk_no, tail_lines, units, pack_id, member, first_ts, last_ts, last_event_id, last_iteration,
        max_in_flight, timed_line_no) = ROW (excluded.rank, excluded.ranks, excluded.lines, excluded.unparsed,
        excluded.seen, excluded.tail, excluded.next_line_no, excluded.step, excluded.sparse, excluded.next_chunk_no,
        excluded.tail_lines, excluded.units, NULL, excluded.member, excluded.first_ts, excluded.last_ts,
        excluded.last_event_id, excluded.last_iteration, excluded.max_in_flight, excluded.timed_line_no);
    IF old.pack_id IS NOT NULL THEN
        PERFORM l4._drop_pack(s.job_id, old.pack_id);
        DELETE FROM l4._counted AS c WHERE c.stream_id = s.stream_id;
    END IF;
    IF counted IS NOT NULL THEN
        INSERT INTO l4._counted (job_id, stream_id, iterations) VALUES (s.job_id, s.stream_id, counted);
    END IF;
    RETURN s.stream_id;
END;
$$;

--: stores a part of a pack of an export
CREATE FUNCTION l4._import_pack(pack_id int, shared bool, head jsonb, v bytea[], map l4._event_map) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF cardinality(v) <> 16 THEN
        RAISE EXCEPTION 'the export is damaged' USING ERRCODE = 'data_corrupted',
            DETAIL = 'A pack has not as many values as it should.';
    END IF;
    INSERT INTO l4._pack (pack_id, part, events, slots, durations, iterations, stages, activity, sequences, open_events,
        open_slots, open_durations, open_iterations, open_stages, open_activity, open_sequences, scan_state, pack_state)
    VALUES (pack_id, (head ->> 'part')::int, l4._renumber('events', v[1], NULL, shared, map),
        l4._renumber('slots', v[2], v[1], shared, map), l4._renumber('durations', v[3], NULL, shared, map), v[4], v[5],
        v[6], l4._renumber('sequences', v[7], NULL, shared, map), l4._renumber('events', v[8], NULL, shared, map),
        l4._renumber('slots', v[9], v[8], shared, map), l4._renumber('durations', v[10], NULL, shared, map), v[11],
        v[12], v[13], l4._renumber('sequences', v[14], NULL, shared, map), v[15],
        l4._renumber('pack_state', v[16], NULL, shared, map));
END;
$$;

--: stores packed lines of an export
CREATE FUNCTION l4._import_chunk(pack_id int, shared bool, head jsonb, body bytea, map l4._event_map) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO l4._pack_chunk (pack_id, chunk_no, lines, first_line_no, last_line_no, first_ts, last_ts, body)
    SELECT _import_chunk.pack_id, c.chunk_no, c.lines, c.first_line_no, c.last_line_no, c.first_ts, c.last_ts,
        l4._renumber('lines', _import_chunk.body, NULL, shared, map)
    FROM jsonb_populate_record(NULL::l4._pack_chunk, head) AS c
$$;

-- First records of streams that stayed as they are were compared before; a text of theirs may be longer here.
--: counts a job of which streams were taken in, with first records of the export
CREATE FUNCTION l4._import_roll_up(job_id text, packed bytea, taken int[], map l4._event_map) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE l4._stream AS s SET last_event_id = map.new_ids[array_position(map.ids, s.last_event_id)]
    WHERE s.stream_id = ANY (taken) AND map.ids IS NOT NULL;
    PERFORM l4._count_job(_import_roll_up.job_id, coalesce(array_agg(r.new_id), '{}'),
        coalesce(array_agg(r.first_node), '{}'), coalesce(array_agg(r.first_source), '{}'),
        coalesce(array_agg(r.first_line_no), '{}'), coalesce(array_agg(r.example_ts), '{}'),
        coalesce(array_agg(r.example), '{}'))
    FROM (SELECT coalesce(m.new_id, u.event_id) AS new_id, u.*
        FROM l4._unpack(packed) AS u(event_id int, occurrences bigint, nodes int, first_ts timestamptz,
            last_ts timestamptz, first_node text, first_source text, first_line_no bigint, example text,
            example_ts timestamptz)
        LEFT JOIN unnest(map.ids, map.new_ids) AS m(event_id, new_id) USING (event_id)) AS r
    LEFT JOIN l4._stream AS s ON s.job_id = _import_roll_up.job_id AND s.node = r.first_node
        AND s.source = r.first_source
    WHERE s.stream_id IS NULL OR s.stream_id = ANY (taken) OR NOT EXISTS (
        SELECT FROM l4._job_event AS e WHERE e.job_id = _import_roll_up.job_id AND e.event_id = r.new_id);
END;
$$;

--: takes in the rows of l4.export_job(), in any order: streams that are new or were read further take the place of
--: those that are here; what was done
CREATE FUNCTION l4.import_job(parts bytea[])
RETURNS TABLE (job_id text, streams_imported int, streams_kept int, events_new int)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    entry record;
    events jsonb[] := '{}';
    map l4._event_map;
    detail int;
    taken int[] := '{}';
    stream int;
    source_pack int;
    pack int;
    shared bool;
BEGIN
    IF parts IS NULL THEN
        RAISE EXCEPTION 'parts must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    streams_kept := 0;
    FOR entry IN SELECT * FROM l4._import_entries(parts) LOOP
        IF (entry.kind = 'h') <> (job_id IS NULL) THEN
            RAISE EXCEPTION 'the export is damaged' USING ERRCODE = 'data_corrupted',
                DETAIL = 'It does not begin with its header.';
        END IF;
        CASE entry.kind
        WHEN 'h' THEN
            PERFORM l4._model_masks();
            PERFORM l4._check_import(entry.head, 'job');
            job_id := entry.head ->> 'job_id';
            detail := array_position('{baseline,summary,all}', entry.head ->> 'part');
            -- the lock that a batch of l4.ingest() takes
            PERFORM pg_advisory_xact_lock(27700, hashtext(job_id));
        WHEN 'j' THEN
            PERFORM l4._import_job_row(entry.head || jsonb_build_object('job_id', job_id));
        WHEN 'n' THEN
            PERFORM l4._import_node(job_id, entry.head);
        WHEN 'e' THEN
            events := events || entry.head;
        WHEN 's' THEN
            IF source_pack IS DISTINCT FROM (entry.head ->> 'pack_id')::int THEN
                source_pack := (entry.head ->> 'pack_id')::int;
                pack := NULL;
            END IF;
            stream := l4._import_stream(job_id, entry.head, detail, entry.bodies[1]);
            streams_kept := streams_kept + (stream IS NULL)::int;
            CONTINUE WHEN stream IS NULL;
            IF taken = '{}' THEN
                map := l4._import_events(events);
            END IF;
            taken := taken || stream;
            shared := entry.head ? 'member';
            CONTINUE WHEN source_pack IS NULL;
            pack := coalesce(pack, CASE WHEN shared THEN nextval('l4._stream_stream_id_seq') ELSE stream END);
            UPDATE l4._stream AS s SET pack_id = pack WHERE s.stream_id = stream;
        WHEN 'p' THEN
            CONTINUE WHEN pack IS NULL;
            PERFORM l4._import_pack(pack, shared, entry.head, entry.bodies, map);
        WHEN 'c' THEN
            CONTINUE WHEN pack IS NULL;
            PERFORM l4._import_chunk(pack, shared, entry.head, entry.bodies[1], map);
        WHEN 'r' THEN
            CONTINUE WHEN taken = '{}';
            PERFORM l4._import_roll_up(job_id, entry.bodies[1], taken, map);
            PERFORM l4._watch_faults(ARRAY[job_id]);
        END CASE;
    END LOOP;
    streams_imported := cardinality(taken);
    events_new := coalesce(map.events_new, 0);
    RETURN NEXT;
END;
$$;

-- Where each event that is known here has its number there, too, the server takes over what the other one has learnt;
-- else it learns what it does not know, under numbers of its own.
--: takes over what another server has learnt, with its numbers; how many events are new
CREATE FUNCTION l4._adopt_model(parser l4.parser, events jsonb[], slots jsonb[], words jsonb[]) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known constant int := (SELECT count(*) FROM l4._event);
BEGIN
    UPDATE l4._model AS m SET parser = CASE WHEN l4._parser_options(m.parser) ->> 'max_templates' IS NULL
        THEN _adopt_model.parser ELSE l4._parser_masked(_adopt_model.parser, l4._parser_options(m.parser)) END;
    INSERT INTO l4._event AS x (event_id, merged_into, level, template, example, example_record, stage, then_stage,
        iteration_rule, is_stack, is_coarse)
    SELECT e.event_id, e.merged_into, e.level, e.template, e.example, e.example_record, e.stage, e.then_stage,
        nullif(l4._rule_of(e.rule), 0), e.is_stack, e.is_coarse
    FROM l4._exported_events(events) AS e ORDER BY e.event_id
    ON CONFLICT ON CONSTRAINT _event_pkey DO UPDATE SET merged_into = excluded.merged_into,
        template = excluded.template
    WHERE (x.merged_into, x.template) IS DISTINCT FROM (excluded.merged_into, excluded.template);
    INSERT INTO l4._event_slot SELECT r.*
    FROM unnest(slots) AS s(head) CROSS JOIN LATERAL jsonb_populate_record(NULL::l4._event_slot, s.head) AS r
    ON CONFLICT DO NOTHING;
    INSERT INTO l4._event_word SELECT r.*
    FROM unnest(words) AS w(head) CROSS JOIN LATERAL jsonb_populate_record(NULL::l4._event_word, w.head) AS r
    ON CONFLICT DO NOTHING;
    RETURN (SELECT count(*) FROM l4._event) - known;
END;
$$;

--: takes in the rows of l4.export_model(), in any order: with its numbers where all events known here have the same
--: ones there; how many events are new
CREATE FUNCTION l4.import_model(parts bytea[]) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    entry record;
    parser l4.parser;
    events jsonb[] := '{}';
    slots jsonb[] := '{}';
    words jsonb[] := '{}';
BEGIN
    IF parts IS NULL THEN
        RAISE EXCEPTION 'parts must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    FOR entry IN SELECT * FROM l4._import_entries(parts) LOOP
        CASE entry.kind
        WHEN 'h' THEN
            PERFORM l4._model_masks();
            PERFORM l4._check_import(entry.head, 'model');
            PERFORM FROM l4._model AS m FOR NO KEY UPDATE;
        WHEN 'm' THEN
            parser := (entry.head ->> 'parser')::l4.parser;
        WHEN 'e' THEN
            events := events || entry.head;
        WHEN 'v' THEN
            slots := slots || entry.head;
        WHEN 'w' THEN
            words := words || entry.head;
        END CASE;
    END LOOP;
    IF parser IS NULL THEN
        RAISE EXCEPTION 'the export is damaged' USING ERRCODE = 'data_corrupted', DETAIL = 'It has no parser.';
    ELSIF EXISTS (SELECT FROM l4._event AS x WHERE NOT EXISTS (
        SELECT FROM l4._exported_events(events) AS e WHERE e.event_id = x.event_id AND e.is_coarse = x.is_coarse
            AND e.level IS NOT DISTINCT FROM x.level AND e.example = x.example)) THEN
        RETURN (l4._import_events(events)).events_new;
    END IF;
    RETURN l4._adopt_model(parser, events, slots, words);
END;
$$;
