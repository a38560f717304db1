-- Storing what units hold, and the procedure.

-- Pack units onto what is stored of their streams, and add up the events of their jobs. A stream has at most one unit in a batch.
-- Always by index, row by row: of tables that nobody has analyzed yet the planner would scan all for each row.
CREATE FUNCTION l4._ingest_store(ids int[], late bool[], to_line bigint[], learnt bytea) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_material = off SET enable_bitmapscan = off
AS 'MODULE_PATHNAME', 'l4_ingest_store';
COMMENT ON FUNCTION l4._ingest_store(int[], bool[], bigint[], bytea) IS 'stores the units that are kept; returns their lines';

CREATE FUNCTION l4._range_count(ranges anymultirange) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_range_count';
COMMENT ON FUNCTION l4._range_count(anymultirange) IS 'number of ranges';

-- A batch, first half: choose, lock, scan, learn. What was learnt may be committed by itself, so that nobody waits to learn until this
-- batch is stored; the second half looks whether others have read the same streams between the two.
CREATE FUNCTION l4._ingest_read_batch(relation text, src record, batch_lines int, places int[], ids int[], late bool[], lo bigint[], hi bigint[], nulls bool[],
                                      OUT streams int, OUT items int[], OUT turned int[], OUT jobs text[], OUT piece_ids int[], OUT piece_late bool[], OUT piece_nulls bool[],
                                      OUT to_line bigint[], OUT next_line bigint[], OUT turns int[], OUT empty bool[],
                                      OUT full_at int, OUT learnt bool, OUT events bytea)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    first_line bigint[];
    last_line bigint[];
    from_line bigint[];
BEGIN
    learnt := false;
    events := '';
    -- a piece counts as 128 lines at least
    streams := batch_lines / 128 + 64;
    SELECT * INTO items, first_line, last_line FROM l4._ingest_choose(places, ids, late, lo, hi, nulls, batch_lines, streams);
    IF items IS NULL OR EXISTS (SELECT FROM unnest(ids[1:streams]) i WHERE NOT EXISTS (SELECT FROM l4._stream s WHERE s.stream_id = i)) THEN
        RAISE EXCEPTION 'a job was removed while its logs were read' USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Call l4.ingest() again: it goes on with what there is.';
    END IF;
    jobs := ARRAY(SELECT DISTINCT s.job_id FROM unnest(items) i JOIN l4._stream s ON s.stream_id = ids[i]);
    PERFORM l4._ingest_lock(jobs);
    -- another session may have read these pieces meanwhile: start where the stream is now
    SELECT array_agg(q.stream_id ORDER BY q.n), array_agg(q.has_null ORDER BY q.n), array_agg(q.late ORDER BY q.n),
           array_agg(q.from_line ORDER BY q.n), array_agg(q.last ORDER BY q.n), array_agg(q.next_line_no ORDER BY q.n), array_agg(q.units ORDER BY q.n), array_agg(q.i ORDER BY q.n)
    INTO piece_ids, piece_nulls, piece_late, from_line, to_line, next_line, turns, turned
    FROM (SELECT t.n, t.i, s.stream_id, s.next_line_no, s.units, nulls[t.i] AS has_null, late[t.i] AS late, t.last,
                 CASE WHEN late[t.i] THEN t.first ELSE greatest(t.first, s.next_line_no) END AS from_line
          FROM unnest(items, first_line, last_line) WITH ORDINALITY AS t(i, first, last, n)
          JOIN l4._stream s ON s.stream_id = ids[t.i]
          WHERE CASE WHEN late[t.i] THEN NOT int8range(t.first, t.last, '[]') <@ s.seen ELSE s.next_line_no IS NULL OR s.next_line_no <= t.last END) q;
    IF piece_ids IS NULL THEN
        RETURN;
    END IF;
    PERFORM l4._model_masks();
    PERFORM l4._ingest_scan_pieces(relation, src, piece_ids, piece_nulls, piece_late, from_line, to_line);
    SELECT c.full_at, c.unknown > 0, c.empty INTO full_at, learnt, empty FROM l4._ingest_check() c;
    -- a unit that ended early goes on before those after it are learnt: they are read again
    IF full_at IS NOT NULL THEN
        piece_ids := piece_ids[1:full_at];
        piece_late := piece_late[1:full_at];
        to_line := to_line[1:full_at];
        next_line := next_line[1:full_at];
        turns := turns[1:full_at];
        turned := turned[1:full_at];
    END IF;
    IF learnt THEN
        events := l4._ingest_learn_units(cardinality(piece_ids));
    END IF;
END
$$;
COMMENT ON FUNCTION l4._ingest_read_batch(text, record, int, int[], int[], bool[], bigint[], bigint[], bool[]) IS 'reads one batch and learns what is new in it';

CREATE FUNCTION l4._ingest_lock(jobs text[]) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- one session at a time for a job; the locks end with the transaction
    PERFORM pg_advisory_xact_lock(27700, q.hash) FROM (SELECT DISTINCT hashtext(j) AS hash FROM unnest(jobs) j ORDER BY 1) q;
    PERFORM FROM l4.job j WHERE j.job_id = ANY (jobs) ORDER BY j.job_id FOR KEY SHARE;
END
$$;
COMMENT ON FUNCTION l4._ingest_lock(text[]) IS 'waits until no other session reads logs of these jobs';

-- The second half: store. What is left to do comes back: only the streams that the batch was chosen from are looked at; those that were
-- read come after all others of their job.
CREATE FUNCTION l4._ingest_store_batch(relation text, src record, ingest_id int, batch record,
                                       INOUT jobs int[], INOUT ids int[], INOUT late bool[], INOUT lo bigint[], INOUT hi bigint[], INOUT nulls bool[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    stored bigint := 0;
    same bool := false;
    w record;
    at int;
BEGIN
    IF batch.piece_ids IS NOT NULL THEN
        IF batch.learnt THEN
            PERFORM l4._ingest_lock(batch.jobs);
        END IF;
        SELECT bool_and(s.units IS NOT DISTINCT FROM t.turns AND s.next_line_no IS NOT DISTINCT FROM t.next_line) INTO same
        FROM unnest(batch.piece_ids, batch.turns, batch.next_line) AS t(id, turns, next_line) LEFT JOIN l4._stream s ON s.stream_id = t.id;
    END IF;
    IF same THEN
        stored := l4._ingest_store(batch.piece_ids, batch.piece_late, batch.to_line, batch.events);
        -- a piece without lines: the numbers have a gap, reading goes on behind it
        IF true = ANY (batch.empty) THEN
            EXECUTE format('UPDATE l4._stream s SET next_line_no = coalesce((SELECT min(l.line_no)::bigint FROM %s l WHERE %s AND l.line_no > t.to_line), t.to_line), '
                           'step = least(s.step * 4, 1125899906842624) '
                           'FROM unnest($1, $2, $3, $4) AS t(id, late, to_line, empty) WHERE s.stream_id = t.id AND t.empty AND NOT t.late',
                           relation, l4._ingest_key(src.has_job, src.has_source, src.has_source AND true = ANY (batch.piece_nulls), 's'))
            USING batch.piece_ids, batch.piece_late, batch.to_line, batch.empty;
        END IF;
        PERFORM l4._watch_faults(batch.jobs);
    END IF;
    UPDATE l4._ingest g SET lines = g.lines + stored, updated_at = clock_timestamp() WHERE g.ingest_id = _ingest_store_batch.ingest_id;
    WITH t AS (
        SELECT t.*, same AND NOT t.late AND d.n IS NOT NULL AS turned
        FROM unnest(jobs[1:batch.streams], ids[1:batch.streams], late[1:batch.streams], lo[1:batch.streams], hi[1:batch.streams], nulls[1:batch.streams])
            WITH ORDINALITY AS t(job, id, late, lo, hi, has_null, n)
        LEFT JOIN unnest(batch.turned) AS d(n) ON d.n = t.n
        LEFT JOIN unnest(batch.items) AS i(n) ON i.n = t.n
        LEFT JOIN l4._stream s ON s.stream_id = t.id
        WHERE CASE WHEN t.late THEN NOT (same AND batch.full_at IS NULL AND i.n IS NOT NULL OR int8range(t.lo, t.hi, '[]') <@ s.seen)
                   ELSE s.next_line_no IS NULL OR t.hi >= greatest(upper(s.seen), upper(s.tail), s.next_line_no) END
    ), left_over AS (
        SELECT t.turned, array_agg(t.job ORDER BY t.n) AS jobs, array_agg(t.id ORDER BY t.n) AS ids, array_agg(t.late ORDER BY t.n) AS late,
            array_agg(t.lo ORDER BY t.n) AS lo, array_agg(t.hi ORDER BY t.n) AS hi, array_agg(t.has_null ORDER BY t.n) AS nulls
        FROM t GROUP BY t.turned
    )
    SELECT f.jobs, f.ids, f.late, f.lo, f.hi, f.nulls, b.jobs AS back_jobs, b.ids AS back_ids, b.late AS back_late, b.lo AS back_lo, b.hi AS back_hi, b.nulls AS back_nulls
    INTO w
    FROM (VALUES (1)) AS one LEFT JOIN left_over f ON NOT f.turned LEFT JOIN left_over b ON b.turned;
    jobs := w.jobs || jobs[batch.streams + 1:];
    at := coalesce(width_bucket(w.back_jobs[1], jobs), 0);
    jobs := nullif(jobs[1:at] || w.back_jobs || jobs[at + 1:], '{}');
    ids := w.ids || ids[batch.streams + 1:];
    ids := nullif(ids[1:at] || w.back_ids || ids[at + 1:], '{}');
    late := w.late || late[batch.streams + 1:];
    late := late[1:at] || w.back_late || late[at + 1:];
    lo := w.lo || lo[batch.streams + 1:];
    lo := lo[1:at] || w.back_lo || lo[at + 1:];
    hi := w.hi || hi[batch.streams + 1:];
    hi := hi[1:at] || w.back_hi || hi[at + 1:];
    nulls := w.nulls || nulls[batch.streams + 1:];
    nulls := nulls[1:at] || w.back_nulls || nulls[at + 1:];
END
$$;
COMMENT ON FUNCTION l4._ingest_store_batch(text, record, int, record, int[], int[], bool[], bigint[], bigint[], bool[]) IS 'stores a batch that was read; returns what is left to read';

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

CREATE FUNCTION l4._ingest_expect(ingest_id int, ids int[], late bool[], lo bigint[], hi bigint[]) RETURNS bool
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE l4._ingest i
    SET total = n.lines
    FROM (SELECT least(coalesce(sum(t.hi::numeric - CASE WHEN t.late THEN t.lo ELSE coalesce(s.next_line_no, t.lo) END + 1), 0), 9223372036854775807)::bigint AS lines,
                 coalesce(bool_and(s.next_line_no IS NOT NULL), false) AS known
          FROM unnest(ids, late, lo, hi) AS t(id, late, lo, hi) LEFT JOIN l4._stream s ON s.stream_id = t.id) n
    WHERE i.ingest_id = _ingest_expect.ingest_id
    RETURNING n.known AND n.lines <= 65536
$$;
COMMENT ON FUNCTION l4._ingest_expect(int, int[], bool[], bigint[], bigint[]) IS 'notes how many lines a call is to read; are they a few more of streams that were read before';

CREATE FUNCTION l4._ingest_end(ingest_id int) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE l4._ingest i SET ended_at = clock_timestamp(), updated_at = clock_timestamp() WHERE i.ingest_id = _ingest_end.ingest_id
$$;
COMMENT ON FUNCTION l4._ingest_end(int) IS 'notes that a call has ended';

CREATE PROCEDURE l4.ingest(logs regclass, job_id text DEFAULT NULL, commit bool DEFAULT true, batch_lines int DEFAULT 1000000)
LANGUAGE plpgsql
AS $$
-- No SET clause: a procedure that commits cannot have one. Every name here is qualified.
#variable_conflict use_variable
DECLARE
    src record;
    relation text;
    call_id int;
    w record;
    batch record;
    part int;
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
    -- small batches first, but where little can be new: most of what has to be learnt is in them, and what needs no learning is packed by the workers
    part := CASE WHEN l4._ingest_expect(call_id, w.ids, w.late, w.lo, w.hi) THEN 1 ELSE 16 END;
    WHILE w.ids IS NOT NULL LOOP
        IF commit THEN
            COMMIT;
        END IF;
        SELECT * INTO batch FROM l4._ingest_read_batch(relation, src, greatest(batch_lines OPERATOR(pg_catalog./) part, 1), w.jobs, w.ids, w.late, w.lo, w.hi, w.nulls);
        IF commit AND batch.learnt THEN
            COMMIT;
        END IF;
        SELECT * INTO w FROM l4._ingest_store_batch(relation, src, call_id, batch, w.jobs, w.ids, w.late, w.lo, w.hi, w.nulls);
        part := CASE part WHEN 16 THEN 8 ELSE 1 END;
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
