-- Storing what units hold, and the procedure.

-- Pack units onto what is stored of their streams. A stream has at most one unit in a batch.
CREATE FUNCTION l4._ingest_store(ids int[], late bool[], units bytea[], to_line bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    stored bigint;
    mark_events int[];
    mark_stages text[];
    mark_thens text[];
BEGIN
    SELECT array_agg(e.event_id), array_agg(e.stage), array_agg(e.then_stage) INTO mark_events, mark_stages, mark_thens
    FROM l4._event e WHERE e.stage IS NOT NULL;
    WITH u AS MATERIALIZED (
        SELECT t.id AS stream_id, t.late, t.to_line, i.*, q.*, s.job_id, s.node, s.source, c.chunk_no AS open_chunk_no, g.part AS grow_part
        FROM unnest(ids, late, units, to_line) AS t(id, late, unit, to_line)
        JOIN l4._stream s ON s.stream_id = t.id
        LEFT JOIN l4._chunk c ON c.stream_id = s.stream_id AND c.chunk_no = s.next_chunk_no - 1 AND c.lines < 16384
        LEFT JOIN l4._summary m ON m.stream_id = s.stream_id AND m.part = 0
        LEFT JOIN LATERAL (SELECT x.* FROM l4._summary x WHERE x.stream_id = s.stream_id AND x.part >= 2 ORDER BY x.part DESC LIMIT 1) g0 ON true
        CROSS JOIN LATERAL (SELECT CASE WHEN coalesce(octet_length(g0.durations), 0) + coalesce(octet_length(g0.iterations), 0)
                                          + coalesce(octet_length(g0.activity), 0) + coalesce(octet_length(g0.sequences), 0) < 131072
                                        THEN coalesce(g0.part, 2) ELSE g0.part + 1 END AS part) g
        CROSS JOIN LATERAL l4._ingest_unit(t.unit) i
        CROSS JOIN LATERAL l4._ingest_pack(t.unit, t.late, s.pack_carry, c.body, m.events, m.slots,
            CASE WHEN g.part = g0.part THEN g0.durations END, CASE WHEN g.part = g0.part THEN g0.iterations END,
            m.stages, CASE WHEN g.part = g0.part THEN g0.activity END, CASE WHEN g.part = g0.part THEN g0.sequences END,
            mark_events, mark_stages, mark_thens) q
        WHERE t.unit IS NOT NULL
    ), chunks AS (
        INSERT INTO l4._chunk AS c (stream_id, chunk_no, lines, first_line_no, last_line_no, first_ts, last_ts, body)
        SELECT u.stream_id, coalesce(u.open_chunk_no, s.next_chunk_no) + x.n - 1, x.lines, x.first_line_no, x.last_line_no, x.first_ts, x.last_ts, x.body
        FROM u JOIN l4._stream s ON s.stream_id = u.stream_id
        CROSS JOIN LATERAL unnest(u.chunk_lines, u.chunk_first, u.chunk_last, u.chunk_first_ts, u.chunk_last_ts, u.chunk_body)
            WITH ORDINALITY AS x(lines, first_line_no, last_line_no, first_ts, last_ts, body, n)
        UNION ALL
        SELECT u.stream_id, -1, u.open_lines, u.open_first, u.open_last, u.open_first_ts, u.open_last_ts, u.open_body
        FROM u WHERE u.open_body IS NOT NULL AND NOT u.late
        ON CONFLICT ON CONSTRAINT _chunk_pkey DO UPDATE
        SET lines = excluded.lines, first_line_no = excluded.first_line_no, last_line_no = excluded.last_line_no,
            first_ts = excluded.first_ts, last_ts = excluded.last_ts, body = excluded.body
    ), no_open_chunk AS (
        DELETE FROM l4._chunk c USING u WHERE c.stream_id = u.stream_id AND c.chunk_no = -1 AND u.open_body IS NULL AND NOT u.late
    ), summaries AS (
        INSERT INTO l4._summary AS m (stream_id, part, events, slots, stages, durations, iterations, activity, sequences)
        SELECT u.stream_id, 0, u.new_events, u.new_slots, u.new_stages, NULL, NULL, NULL, NULL FROM u
        UNION ALL
        SELECT u.stream_id, u.grow_part, NULL, NULL, NULL, u.new_durations, u.new_iterations, u.new_activity, u.new_sequences FROM u
        WHERE coalesce(u.new_durations, u.new_iterations, u.new_activity, u.new_sequences) IS NOT NULL
        UNION ALL
        SELECT u.stream_id, 1, CASE WHEN u.open_lines > 0 THEN u.open_events END, CASE WHEN u.open_lines > 0 THEN u.open_slots END,
               u.open_stages, u.open_durations, u.open_iterations, u.open_activity, u.open_sequences
        FROM u WHERE NOT u.late AND (u.open_lines > 0 OR u.open_sequences IS NOT NULL)
        ON CONFLICT ON CONSTRAINT _summary_pkey DO UPDATE
        SET events = excluded.events, slots = excluded.slots, stages = excluded.stages, durations = excluded.durations,
            iterations = excluded.iterations, activity = excluded.activity, sequences = excluded.sequences
    ), no_open_summary AS (
        DELETE FROM l4._summary m USING u
        WHERE m.stream_id = u.stream_id AND m.part = 1 AND NOT u.late AND NOT coalesce(u.open_lines > 0, false) AND u.open_sequences IS NULL
    ), streams AS (
        UPDATE l4._stream s
        SET lines = s.lines + u.lines, unparsed = s.unparsed + u.unparsed,
            seen = CASE WHEN v.sparse THEN int8multirange(int8range(lower(v.seen), upper(v.seen))) ELSE v.seen END, sparse = v.sparse,
            tail = CASE WHEN u.late THEN s.tail ELSE l4._ranges(u.tail) END,
            tail_lines = CASE WHEN u.late THEN s.tail_lines ELSE coalesce(u.open_lines, 0) END,
            next_line_no = CASE WHEN u.late THEN s.next_line_no ELSE u.next_line_no END,
            step = CASE WHEN NOT u.late AND NOT u."full" AND u.lines < (u.to_line - coalesce(s.next_line_no, u.to_line)) / 8 THEN least(s.step * 4, 1125899906842624) ELSE s.step END,
            units = s.units + 1,
            next_chunk_no = coalesce(u.open_chunk_no, s.next_chunk_no) + cardinality(u.chunk_lines),
            carry = CASE WHEN u.late THEN s.carry ELSE u.carry END, pack_carry = CASE WHEN u.late THEN s.pack_carry ELSE u.new_carry END,
            first_ts = least(s.first_ts, u.first_ts), last_ts = greatest(s.last_ts, u.last_ts),
            last_event_id = CASE WHEN u.late AND s.last_event_id IS NOT NULL THEN s.last_event_id ELSE coalesce(u.last_event_id, s.last_event_id) END,
            last_iteration = CASE WHEN u.late THEN s.last_iteration ELSE u.last_iteration END,
            max_in_flight = greatest(s.max_in_flight, u.max_in_flight),
            ranks = s.ranks + r.ranks, rank = least(s.rank, (SELECT min(k) FROM unnest(u.ranks) k))
        FROM u
        CROSS JOIN LATERAL (SELECT coalesce(range_agg(int4range(k, k, '[]')), '{}') AS ranks FROM unnest(u.ranks) k) r
        CROSS JOIN LATERAL l4._ranges(u.seen) AS w(seen)
        JOIN l4._stream o ON o.stream_id = u.stream_id
        CROSS JOIN LATERAL (SELECT o.seen + w.seen AS seen,
                                   o.sparse OR (SELECT count(*) FROM unnest(o.seen + w.seen)) > 1000 AS sparse) v
        WHERE s.stream_id = u.stream_id
        RETURNING s.job_id, s.node, s.rank
    ), nodes AS (
        UPDATE l4.job_node n SET rank = r.rank
        FROM (SELECT z.job_id, z.node, min(z.rank) AS rank FROM streams z GROUP BY 1, 2) r
        WHERE n.job_id = r.job_id AND n.node = r.node AND n.rank IS NULL AND r.rank IS NOT NULL
    ), examples AS (
        INSERT INTO l4._job_event AS j (job_id, event_id, occurrences, nodes, first_ts, last_ts, first_node, first_source, first_line_no, example)
        SELECT DISTINCT ON (u.job_id, x.event_id) u.job_id, x.event_id, 0, 0, x.ts, x.ts, u.node, u.source, x.line_no, x.example
        FROM u CROSS JOIN LATERAL unnest(u.example_event, u.example_line, u.example_ts, u.example_text) AS x(event_id, line_no, ts, example)
        ORDER BY u.job_id, x.event_id, x.ts, u.node, u.source, x.line_no
        ON CONFLICT ON CONSTRAINT _job_event_pkey DO UPDATE
        SET first_ts = excluded.first_ts, first_node = excluded.first_node, first_source = excluded.first_source,
            first_line_no = excluded.first_line_no, example = excluded.example
        WHERE (coalesce(excluded.first_ts, 'infinity'), excluded.first_node, excluded.first_source, excluded.first_line_no)
            < (coalesce(j.first_ts, 'infinity'), j.first_node, j.first_source, j.first_line_no)
    )
    SELECT sum(u.lines + coalesce(u.open_lines, 0)) INTO stored FROM u;
    RETURN coalesce(stored, 0);
END
$$;
COMMENT ON FUNCTION l4._ingest_store(int[], bool[], bytea[], bigint[]) IS 'stores units; returns their lines';

CREATE FUNCTION l4._ingest_roll_up(jobs text[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    WITH c AS MATERIALIZED (
        SELECT s.job_id, u.event_id, sum(u.occurrences)::bigint AS occurrences, count(DISTINCT s.node)::int AS nodes,
               min(u.first_ts) AS first_ts, max(u.last_ts) AS last_ts
        FROM l4._stream s
        JOIN l4._summary m ON m.stream_id = s.stream_id AND m.part < 2
        CROSS JOIN LATERAL l4._unpack(m.events) AS u(event_id int, occurrences bigint, first_ts timestamptz, last_ts timestamptz,
                                                     first_line_no bigint, last_line_no bigint)
        WHERE s.job_id = ANY (jobs)
        GROUP BY 1, 2
    ), gone AS (
        DELETE FROM l4._job_event j WHERE j.job_id = ANY (jobs)
        AND NOT EXISTS (SELECT FROM c WHERE c.job_id = j.job_id AND c.event_id = j.event_id)
    )
    UPDATE l4._job_event j SET occurrences = c.occurrences, nodes = c.nodes, first_ts = c.first_ts, last_ts = c.last_ts
    FROM c WHERE j.job_id = c.job_id AND j.event_id = c.event_id
      AND (j.occurrences, j.nodes, j.first_ts, j.last_ts) IS DISTINCT FROM (c.occurrences, c.nodes, c.first_ts, c.last_ts);
END
$$;
COMMENT ON FUNCTION l4._ingest_roll_up(text[]) IS 'counts of jobs from the counts of their streams';

-- One batch: choose, lock, scan, learn, store. What is left to do comes back.
CREATE FUNCTION l4._ingest_batch(relation text, src record, batch_lines int, ingest_id int,
                                 INOUT ids int[], INOUT late bool[], INOUT lo bigint[], INOUT hi bigint[], INOUT nulls bool[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    items int[];
    first_line bigint[];
    last_line bigint[];
    p record;
    found bytea[];
    full_at int;
    unknown bigint;
    stored bigint;
BEGIN
    SELECT * INTO items, first_line, last_line FROM l4._ingest_choose(ids, late, lo, hi, nulls, batch_lines);
    IF items IS NULL OR (SELECT count(*) FROM l4._stream s WHERE s.stream_id = ANY (ids)) < (SELECT count(DISTINCT i) FROM unnest(ids) i) THEN
        RAISE EXCEPTION 'a job was removed while its logs were read' USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Call l4.ingest() again: it goes on with what there is.';
    END IF;
    -- one session at a time for a job; the lock ends with the batch
    PERFORM pg_advisory_xact_lock(27700, q.hash)
    FROM (SELECT DISTINCT hashtext(s.job_id) AS hash FROM unnest(items) i JOIN l4._stream s ON s.stream_id = ids[i] ORDER BY 1) q;
    PERFORM FROM l4.job j WHERE j.job_id IN (SELECT s.job_id FROM unnest(items) i JOIN l4._stream s ON s.stream_id = ids[i]) ORDER BY j.job_id FOR KEY SHARE;
    -- another session may have read these pieces meanwhile: start where the stream is now
    SELECT array_agg(q.stream_id ORDER BY q.n) AS ids, array_agg(q.has_null ORDER BY q.n) AS nulls, array_agg(q.late ORDER BY q.n) AS late,
           array_agg(q.from_line ORDER BY q.n) AS from_line, array_agg(q.last ORDER BY q.n) AS to_line
    INTO p
    FROM (SELECT t.n, s.stream_id, nulls[t.i] AS has_null, late[t.i] AS late, t.last,
                 CASE WHEN late[t.i] THEN t.first ELSE greatest(t.first, s.next_line_no) END AS from_line
          FROM unnest(items, first_line, last_line) WITH ORDINALITY AS t(i, first, last, n)
          JOIN l4._stream s ON s.stream_id = ids[t.i]
          WHERE CASE WHEN late[t.i] THEN NOT int8range(t.first, t.last, '[]') <@ s.seen ELSE s.next_line_no IS NULL OR s.next_line_no <= t.last END) q;
    stored := 0;
    IF p.ids IS NOT NULL THEN
        INSERT INTO l4._model (parser) VALUES (l4._parser_new()) ON CONFLICT DO NOTHING;
        found := l4._ingest_scan_pieces(relation, src, p.ids, p.nulls, p.late, p.from_line, p.to_line);
        SELECT min(t.n) FILTER (WHERE i."full"), sum(i.unknown) INTO full_at, unknown
        FROM unnest(found) WITH ORDINALITY AS t(unit, n) CROSS JOIN LATERAL l4._ingest_unit(t.unit) i;
        -- a unit that ended early goes on before those after it are learnt: they are read again
        IF full_at IS NOT NULL THEN
            found := found[1:full_at];
            p.ids := p.ids[1:full_at];
            p.late := p.late[1:full_at];
            p.to_line := p.to_line[1:full_at];
        END IF;
        IF unknown > 0 THEN
            SELECT l.units INTO found FROM l4._ingest_learn_units(found) l;
        END IF;
        stored := l4._ingest_store(p.ids, p.late, found, p.to_line);
        -- a piece without lines: the numbers have a gap, reading goes on behind it
        IF array_position(found, NULL) IS NOT NULL THEN
            EXECUTE format('UPDATE l4._stream s SET next_line_no = coalesce((SELECT min(l.line_no)::bigint FROM %s l WHERE %s AND l.line_no > t.to_line), t.to_line), '
                           'step = least(s.step * 4, 1125899906842624) '
                           'FROM unnest($1, $2, $3, $4) AS t(id, late, to_line, empty) WHERE s.stream_id = t.id AND t.empty AND NOT t.late',
                           relation, l4._ingest_key(src.has_job, src.has_source, src.has_source AND true = ANY (p.nulls), 's'))
            USING p.ids, p.late, p.to_line, ARRAY(SELECT f.unit IS NULL FROM unnest(found) WITH ORDINALITY AS f(unit, n) ORDER BY f.n);
        END IF;
        PERFORM l4._ingest_roll_up(ARRAY(SELECT DISTINCT s.job_id FROM l4._stream s WHERE s.stream_id = ANY (p.ids)));
    END IF;
    UPDATE l4._ingest g SET lines = g.lines + stored, updated_at = clock_timestamp() WHERE g.ingest_id = _ingest_batch.ingest_id;
    SELECT array_agg(t.id ORDER BY t.n), array_agg(t.late ORDER BY t.n), array_agg(t.lo ORDER BY t.n), array_agg(t.hi ORDER BY t.n), array_agg(t.has_null ORDER BY t.n)
    INTO ids, late, lo, hi, nulls
    FROM (SELECT t.*, CASE WHEN t.late THEN t.lo ELSE greatest(t.lo, s.next_line_no) END AS first, s.seen, s.tail, s.next_line_no
          FROM unnest(ids, late, lo, hi, nulls) WITH ORDINALITY AS t(id, late, lo, hi, has_null, n)
          LEFT JOIN l4._stream s ON s.stream_id = t.id) t
    WHERE CASE WHEN t.late THEN NOT (full_at IS NULL AND t.n = ANY (items) OR int8range(t.lo, t.hi, '[]') <@ t.seen)
               ELSE t.next_line_no IS NULL OR t.hi >= greatest(upper(t.seen), upper(t.tail), t.next_line_no) END;
END
$$;
COMMENT ON FUNCTION l4._ingest_batch(text, record, int, int, int[], bool[], bigint[], bigint[], bool[]) IS 'reads one batch; returns what is left to read';

-- A call's row in _ingest; those of earlier calls for the same relation and job go.
CREATE FUNCTION l4._ingest_begin(relation text, job_id text) RETURNS int
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    DELETE FROM l4._ingest i WHERE i.logs = relation AND i.job_id IS NOT DISTINCT FROM _ingest_begin.job_id
    AND (i.ended_at IS NOT NULL OR NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = i.pid AND a.pid <> pg_backend_pid()));
    INSERT INTO l4._ingest (logs, job_id, pid, started_at, updated_at) VALUES (relation, job_id, pg_backend_pid(), clock_timestamp(), clock_timestamp())
    RETURNING ingest_id
$$;
COMMENT ON FUNCTION l4._ingest_begin(text, text) IS 'notes that a call begins';

CREATE FUNCTION l4._ingest_expect(ingest_id int, ids int[], late bool[], lo bigint[], hi bigint[]) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE l4._ingest i
    SET total = (SELECT least(coalesce(sum(t.hi::numeric - CASE WHEN t.late THEN t.lo ELSE coalesce(s.next_line_no, t.lo) END + 1), 0), 9223372036854775807)::bigint
                 FROM unnest(ids, late, lo, hi) AS t(id, late, lo, hi) LEFT JOIN l4._stream s ON s.stream_id = t.id)
    WHERE i.ingest_id = _ingest_expect.ingest_id
$$;
COMMENT ON FUNCTION l4._ingest_expect(int, int[], bool[], bigint[], bigint[]) IS 'notes how many lines a call is to read';

CREATE FUNCTION l4._ingest_end(ingest_id int) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE l4._ingest i SET ended_at = clock_timestamp(), updated_at = clock_timestamp() WHERE i.ingest_id = _ingest_end.ingest_id
$$;
COMMENT ON FUNCTION l4._ingest_end(int) IS 'notes that a call has ended';

CREATE PROCEDURE l4.ingest(logs regclass, job_id text DEFAULT NULL, commit bool DEFAULT true, batch_lines int DEFAULT 500000)
LANGUAGE plpgsql
AS $$
-- No SET clause: a procedure that commits cannot have one. Every name here is qualified.
#variable_conflict use_variable
DECLARE
    src record;
    relation text;
    call_id int;
    w record;
BEGIN
    IF logs IS NULL THEN
        RAISE EXCEPTION 'logs must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF commit IS NULL OR batch_lines IS NULL THEN
        RAISE EXCEPTION 'commit and batch_lines must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF batch_lines OPERATOR(pg_catalog.<) 1 OR batch_lines OPERATOR(pg_catalog.>) 100000000 THEN
        RAISE EXCEPTION 'batch_lines must be between 1 and 100000000, not %', batch_lines USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF commit AND NOT l4._can_commit() THEN
        RAISE EXCEPTION 'l4.ingest() cannot commit inside a transaction block' USING ERRCODE = 'active_sql_transaction',
            HINT = 'Call it outside of a transaction block, or with commit => false.';
    END IF;
    SELECT * INTO src FROM l4._ingest_source(logs, job_id);
    SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) INTO relation
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    WHERE c.oid OPERATOR(pg_catalog.=) logs;
    call_id := l4._ingest_begin(relation, job_id);
    IF NOT src.indexed THEN
        PERFORM l4._ingest_copy(relation, src, job_id);
        relation := 'pg_temp.l4_ingest_rows';
        src := l4._ingest_source('pg_temp.l4_ingest_rows'::pg_catalog.regclass, NULL);
    END IF;
    SELECT * INTO w FROM l4._ingest_list(relation, src.has_job, src.has_source, job_id);
    PERFORM l4._ingest_expect(call_id, w.ids, w.late, w.lo, w.hi);
    WHILE w.ids IS NOT NULL LOOP
        IF commit THEN
            COMMIT;
        END IF;
        SELECT * INTO w FROM l4._ingest_batch(relation, src, batch_lines, call_id, w.ids, w.late, w.lo, w.hi, w.nulls);
    END LOOP;
    PERFORM l4._ingest_end(call_id);
    IF relation OPERATOR(pg_catalog.=) 'pg_temp.l4_ingest_rows' THEN
        DROP TABLE pg_temp.l4_ingest_rows;
    END IF;
    IF commit THEN
        COMMIT;
    END IF;
END
$$;
COMMENT ON PROCEDURE l4.ingest(regclass, text, bool, int) IS 'reads the new lines of a relation: job_id, node, line, and where there are any source, rank, line_no, ts';
