-- Storing what scan results hold, and the procedure.

-- Pack scan results onto what is stored of their streams, and add up the events of their jobs. A stream has at most
-- one scan result in a batch. Always by index, row by row: of tables that nobody has analyzed yet the planner would
-- scan all for each row.
CREATE FUNCTION l4._ingest_store(pieces l4._ingest_piece[], learnt bytea) RETURNS bigint
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off
AS 'MODULE_PATHNAME', 'l4_ingest_store';
COMMENT ON FUNCTION l4._ingest_store(l4._ingest_piece[], bytea) IS
    'stores the scan results that are kept; returns their lines';

CREATE FUNCTION l4._range_count(ranges anymultirange) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_range_count';
COMMENT ON FUNCTION l4._range_count(anymultirange) IS 'number of ranges';

CREATE FUNCTION l4._ingest_lock(jobs text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- one session at a time for a job; the locks end with the transaction
    PERFORM pg_advisory_xact_lock(27700, q.hash)
        FROM (SELECT DISTINCT hashtext(j) AS hash FROM unnest(jobs) j ORDER BY 1) q;
    RETURN ARRAY(SELECT j.job_id FROM l4.job j WHERE j.job_id = ANY (jobs) ORDER BY j.job_id FOR KEY SHARE);
END
$$;
COMMENT ON FUNCTION l4._ingest_lock(text[]) IS
    'waits until no other session reads logs of these jobs; returns those that were not removed meanwhile';

-- A batch, first half: choose, lock, scan, learn. What was learnt may be committed by itself, so that nobody waits to
-- learn until this batch is stored; the second half looks whether others have read the same streams between the two.
CREATE FUNCTION l4._ingest_read_batch(relation text, src record, batch_lines int, work l4._ingest_work[],
                                      OUT streams int, OUT jobs text[], OUT pieces l4._ingest_piece[], OUT empty bool[],
                                      OUT learnt bool, OUT events bytea, OUT generation int)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    chosen l4._ingest_piece[];
    full_at int;
BEGIN
    learnt := false;
    events := '';
    -- a piece counts as 128 lines at least
    streams := batch_lines / 128 + 64;
    chosen := l4._ingest_choose(work, batch_lines, streams);
    IF chosen IS NULL OR EXISTS (SELECT FROM unnest(work[1:streams]) w
                                 WHERE NOT EXISTS (SELECT FROM l4._stream s WHERE s.stream_id = w.stream_id)) THEN
        RAISE EXCEPTION 'a job was removed while its logs were read' USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Call l4.ingest() again: it goes on with what there is.';
    END IF;
    jobs := l4._ingest_lock(ARRAY(SELECT DISTINCT s.job_id FROM unnest(chosen) c JOIN l4._stream s USING (stream_id)));
    -- another session may have read these pieces meanwhile: start where the stream is now
    SELECT array_agg(ROW(q.number, q.item, q.stream_id, q.late, q.has_null, q.from_line, q.to_line, q.next_line_no,
                         q.units)::l4._ingest_piece ORDER BY q.number)
    INTO pieces
    FROM (SELECT row_number() OVER (ORDER BY c.item)::int AS number, c.item, c.stream_id, c.late, c.has_null, c.to_line,
                 CASE WHEN c.late THEN c.from_line ELSE greatest(c.from_line, s.next_line_no) END AS from_line,
                 s.next_line_no, s.units
          FROM unnest(chosen) AS c JOIN l4._stream s USING (stream_id)
          WHERE CASE WHEN c.late THEN NOT int8range(c.from_line, c.to_line, '[]') && s.seen
                     ELSE s.next_line_no IS NULL OR s.next_line_no <= c.to_line END) q;
    IF pieces IS NULL THEN
        RETURN;
    END IF;
    PERFORM l4._model_masks();
    SELECT m.generation INTO generation FROM l4._model m;
    PERFORM l4._ingest_scan_pieces(relation, src, pieces);
    SELECT c.full_at, c.unknown > 0, c.empty INTO full_at, learnt, empty FROM l4._ingest_check() c;
    -- a scan result that ended early goes on before those after it are learnt: they are read again
    IF full_at IS NOT NULL THEN
        pieces := pieces[1:full_at];
    END IF;
    IF learnt THEN
        events := l4._ingest_learn_results(cardinality(pieces));
    END IF;
END
$$;
COMMENT ON FUNCTION l4._ingest_read_batch(text, record, int, l4._ingest_work[]) IS
    'reads one batch and learns what is new in it';

-- The second half: store. What is left to do comes back: only the streams that the batch was chosen from are looked at;
-- those that were read come after all others of their job.
CREATE FUNCTION l4._ingest_store_batch(relation text, src record, call_id int, batch record,
    INOUT work l4._ingest_work[],
                                       OUT stored text[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    stored_lines bigint := 0;
    same bool := false;
    rest l4._ingest_work[] := work[batch.streams + 1:];
    front l4._ingest_work[];
    back l4._ingest_work[];
    upto int;
BEGIN
    IF batch.pieces IS NOT NULL THEN
        stored := CASE WHEN batch.learnt THEN l4._ingest_lock(batch.jobs) ELSE batch.jobs END;
        SELECT bool_and(s.units IS NOT DISTINCT FROM p.units AND s.next_line_no IS NOT DISTINCT FROM p.next_line_no)
            INTO same
        FROM unnest(batch.pieces) AS p LEFT JOIN l4._stream s USING (stream_id);
        -- nobody forgets templates until this is stored
        SELECT same AND m.generation = batch.generation INTO same FROM l4._model m FOR KEY SHARE;
    END IF;
    IF same THEN
        stored_lines := l4._ingest_store(batch.pieces, batch.events);
        -- a piece without lines: the numbers have a gap, reading goes on behind it
        IF true = ANY (batch.empty) THEN
            EXECUTE format(
                'UPDATE l4._stream s SET step = least(s.step * 4, 1125899906842624), next_line_no = coalesce('
                '(SELECT min(l.line_no)::bigint FROM %s l WHERE %s AND l.line_no > p.to_line), p.to_line) '
                'FROM unnest($1) AS p WHERE s.stream_id = p.stream_id AND ($2)[p.number] AND NOT p.late',
                relation, l4._ingest_key(src.has_job, src.has_source, src.has_source AND true = ANY (
                    ARRAY(SELECT p.has_null FROM unnest(batch.pieces) AS p)), 's'))
            USING batch.pieces, batch.empty;
        END IF;
    END IF;
    UPDATE l4._ingest g SET lines = g.lines + stored_lines, updated_at = clock_timestamp()
    WHERE g.ingest_id = call_id;
    EXECUTE format(
        'WITH left_over AS (SELECT t.n, t.job, t.stream_id, t.late, r.lo, r.hi, t.has_null, '
        '$3 AND NOT t.late AND p.item IS NOT NULL AS turned '
        'FROM unnest($1) WITH ORDINALITY AS t(job, stream_id, late, lo, hi, has_null, n) '
        'LEFT JOIN unnest($2) AS p ON p.item = t.n LEFT JOIN l4._stream s ON s.stream_id = t.stream_id '
        'CROSS JOIN LATERAL (SELECT t.lo, t.hi WHERE NOT t.late '
        'AND (s.next_line_no IS NULL OR t.hi >= greatest(upper(s.seen), upper(s.tail), s.next_line_no)) '
        'UNION ALL SELECT g.lo, g.hi FROM (%s) g WHERE t.late) r) '
        'SELECT array_agg(ROW(l.job, l.stream_id, l.late, l.lo, l.hi, l.has_null)::l4._ingest_work ORDER BY l.n, l.lo) '
        'FILTER (WHERE NOT l.turned), '
        'array_agg(ROW(l.job, l.stream_id, l.late, l.lo, l.hi, l.has_null)::l4._ingest_work ORDER BY l.n, l.lo) '
        'FILTER (WHERE l.turned) FROM left_over l',
        l4._ingest_gaps(relation, src, 't.has_null', 't.lo', 't.hi'))
    INTO front, back USING work[1:batch.streams], batch.pieces, same;
    work := front || rest;
    IF back IS NOT NULL THEN
        upto := (SELECT count(*) FROM unnest(work) AS w WHERE w.job <= back[1].job);
        work := work[1:upto] || back || work[upto + 1:];
    END IF;
    IF NOT same THEN
        stored := NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION l4._ingest_store_batch(text, record, int, record, l4._ingest_work[]) IS
    'stores a batch that was read; returns what is left to read, and the jobs that got lines';

-- A call's row in _ingest; those of earlier calls for the same relation and job go.
CREATE FUNCTION l4._ingest_begin(relation text, job_id text) RETURNS int
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    DELETE FROM l4._ingest i WHERE i.logs = relation AND i.job_id IS NOT DISTINCT FROM _ingest_begin.job_id
    AND (i.ended_at IS NOT NULL OR NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = i.pid
        AND a.pid <> pg_backend_pid()));
    INSERT INTO l4._ingest (logs, job_id, pid, started_at, updated_at)
        VALUES (relation, job_id, pg_backend_pid(), clock_timestamp(), clock_timestamp())
    RETURNING ingest_id
$$;
COMMENT ON FUNCTION l4._ingest_begin(text, text) IS 'notes that a call begins';

CREATE FUNCTION l4._ingest_expect(ingest_id int, work l4._ingest_work[]) RETURNS bool
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE l4._ingest i
    SET total = n.lines
    FROM (SELECT least(coalesce(sum(w.hi::numeric - CASE WHEN w.late THEN w.lo
        ELSE coalesce(s.next_line_no, w.lo) END + 1), 0),
                       9223372036854775807)::bigint AS lines,
                 coalesce(bool_and(s.next_line_no IS NOT NULL), false) AS known
          FROM unnest(work) AS w LEFT JOIN l4._stream s USING (stream_id)) n
    WHERE i.ingest_id = _ingest_expect.ingest_id
    RETURNING n.known AND n.lines <= 65536
$$;
COMMENT ON FUNCTION l4._ingest_expect(int, l4._ingest_work[]) IS
    'notes how many lines a call is to read; are they a few more of streams that were read before';

CREATE FUNCTION l4._ingest_end(ingest_id int) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE l4._ingest i SET ended_at = clock_timestamp(), updated_at = clock_timestamp()
        WHERE i.ingest_id = _ingest_end.ingest_id
$$;
COMMENT ON FUNCTION l4._ingest_end(int) IS 'notes that a call has ended';

-- A job of which nothing was ever read: the name was mistyped, or its lines are elsewhere.
CREATE FUNCTION l4._ingest_seen(logs regclass, job_id text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM l4._stream s WHERE s.job_id = _ingest_seen.job_id) THEN
        RAISE WARNING '% has no lines of job "%"', logs, job_id
            USING HINT = coalesce('Did you mean "' || l4._near_job(job_id) || '"?',
                'The column job_id must have this value, letter for letter.');
    END IF;
END
$$;
COMMENT ON FUNCTION l4._ingest_seen(regclass, text) IS 'warns of a job that is limited to and has no lines';

CREATE PROCEDURE l4.ingest(logs regclass, job_id text DEFAULT NULL, commit bool DEFAULT true,
    batch_lines int DEFAULT 1000000)
LANGUAGE plpgsql
AS $$
-- No SET clause: a procedure that commits cannot have one. Every name here is qualified.
#variable_conflict use_variable
DECLARE
    src record;
    relation text;
    call_id int;
    work l4._ingest_work[];
    batch record;
    stored text[];
    part int;
BEGIN
    IF logs IS NULL THEN
        RAISE EXCEPTION 'logs must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF commit IS NULL OR batch_lines IS NULL THEN
        RAISE EXCEPTION 'commit and batch_lines must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF batch_lines OPERATOR(pg_catalog.<) 1 OR batch_lines OPERATOR(pg_catalog.>) 100000000 THEN
        RAISE EXCEPTION 'batch_lines must be between 1 and 100000000, not %', batch_lines
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF commit AND NOT l4._can_commit() THEN
        RAISE EXCEPTION 'l4.ingest() cannot commit inside a transaction block' USING ERRCODE = 'active_sql_transaction',
            HINT = 'Call it outside of a transaction block, or with commit => false.';
    END IF;
    -- each transaction sees what others stored before it: whatever the default, none can fail for what they do
    IF commit THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
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
    work := l4._ingest_list(relation, src, job_id);
    -- small batches first, but where little can be new: most of what has to be learnt is in them, and what needs no
    -- learning is packed by the workers
    part := CASE WHEN l4._ingest_expect(call_id, work) THEN 1 ELSE 16 END;
    WHILE pg_catalog.cardinality(work) OPERATOR(pg_catalog.>) 0 LOOP
        IF commit THEN
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
        SELECT * INTO batch
        FROM l4._ingest_read_batch(relation, src, greatest(batch_lines OPERATOR(pg_catalog./) part, 1), work);
        IF commit AND batch.learnt THEN
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
        SELECT b.work, b.stored INTO work, stored FROM l4._ingest_store_batch(relation, src, call_id, batch, work) b;
        IF stored IS NOT NULL THEN
            PERFORM l4._watch_faults(stored);
        END IF;
        part := CASE WHEN part OPERATOR(pg_catalog.=) 16 THEN 8 ELSE 1 END;
    END LOOP;
    PERFORM l4._ingest_end(call_id);
    IF job_id IS NOT NULL THEN
        PERFORM l4._ingest_seen(logs, job_id);
    END IF;
    IF relation OPERATOR(pg_catalog.=) 'pg_temp.l4_ingest_rows' THEN
        DROP TABLE pg_temp.l4_ingest_rows;
    END IF;
    IF commit THEN
        COMMIT;
    END IF;
END
$$;
COMMENT ON PROCEDURE l4.ingest(regclass, text, bool, int) IS
    'reads the new lines of a relation: job_id, node, line, and where there are any source, rank, line_no, ts';
