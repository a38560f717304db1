-- What l4.ingest() asks of the source, and the procedure. The steps pin the search path; the procedure commits, so it
-- cannot.

-- The column may be of any integer type: what is no rank is none.
--: expression for the rank of a line
CREATE FUNCTION l4._ingest_rank() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'CASE WHEN l.rank >= 0 AND l.rank <= 99999999 THEN l.rank::int END';

--: new rows of a relation without a fitting index or without line numbers, as a temporary table that has both
CREATE FUNCTION l4._ingest_copy(relation text, src record, job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    too_long text;
BEGIN
    IF src.has_lines THEN
        RAISE EXCEPTION 'no index of relation "%" leads with job_id, node, source and line_no', relation
            USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'A relation with many lines in a row must be a table of this server that has one.';
    END IF;
    IF to_regclass('pg_temp.l4_ingest_rows') IS NOT NULL THEN
        DROP TABLE pg_temp.l4_ingest_rows;
    END IF;
    EXECUTE format(
        'CREATE TEMP TABLE l4_ingest_rows AS '
        'SELECT r.job_id, r.node, r.source, r.rank, r.line_no, r.ts, r.line FROM ('
        'SELECT %1$s AS job_id, l.node::text AS node, %2$s AS source, %3$s AS rank, %4$s AS line_no, %5$s AS ts, '
            'l.line::text AS line '
        'FROM %6$s l%7$s) r '
        'LEFT JOIN l4._stream s ON s.job_id = r.job_id AND s.node = r.node AND s.source = r.source '
        'WHERE s.stream_id IS NULL OR (r.line_no <@ s.seen OR (s.sparse AND r.line_no < s.next_line_no)) IS NOT TRUE',
        CASE WHEN src.has_job THEN 'l.job_id::text' ELSE quote_literal(job_id) || '::text' END,
        CASE WHEN src.has_source THEN 'coalesce(l.source::text, '''')' ELSE '''''::text' END,
        CASE WHEN src.has_rank THEN l4._ingest_rank() ELSE 'NULL::int' END,
        CASE WHEN src.has_line_no THEN 'l.line_no::bigint'
             ELSE format('row_number() OVER (PARTITION BY %s l.node%s ORDER BY l.tableoid, l.ctid)',
                         CASE WHEN src.has_job THEN 'l.job_id,' ELSE '' END,
                         CASE WHEN src.has_source THEN ', coalesce(l.source::text, '''')' ELSE '' END) END,
        CASE WHEN src.has_ts THEN 'l.ts::timestamptz' ELSE 'NULL::timestamptz' END,
        relation,
        CASE WHEN src.has_job AND job_id IS NOT NULL THEN format(' WHERE l.job_id::text = %L', job_id) ELSE '' END);
    BEGIN
        CREATE INDEX ON pg_temp.l4_ingest_rows (job_id, node, source, line_no);
    EXCEPTION WHEN program_limit_exceeded THEN
        SELECT 'a line of relation "' || relation || '" has a ' || w.name || ' of ' || w.bytes || ' bytes' INTO too_long
        FROM pg_temp.l4_ingest_rows r
        CROSS JOIN LATERAL (VALUES ('job_id', octet_length(r.job_id)), ('node', octet_length(r.node)),
            ('source', octet_length(r.source))) AS w(name, bytes)
        ORDER BY w.bytes DESC LIMIT 1;
        RAISE EXCEPTION '%', too_long USING ERRCODE = 'program_limit_exceeded',
            HINT = 'Names of jobs, nodes and sources are keys: together they should not be longer than 2,000 bytes.';
    END;
    ANALYZE pg_temp.l4_ingest_rows;
END
$$;

-- Condition on all lines of a stream whose source is not NULL, with the stream's row as "s".
--: condition on the lines of a stream
CREATE FUNCTION l4._ingest_key(has_job bool, has_source bool, s text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_catalog.concat(
    CASE WHEN has_job THEN pg_catalog.format('l.job_id = %s.job_id AND ', s) END,
    pg_catalog.format('l.node = %s.node', s),
    CASE WHEN has_source THEN pg_catalog.format(' AND l.source = %s.source', s) END);

-- Condition on some lines of a stream: s names its job, node, source, the first line and the last one. NULL and '' are
-- the same source; where both or NULL occur, has_null is set. Rows that have many lines fit with some of these.
--: condition on some lines of a stream
CREATE FUNCTION l4._ingest_range(src record, has_null bool, s text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN concat(CASE WHEN src.has_job THEN 'l.job_id = ' || s[1] || ' AND ' END, 'l.node = ', s[2], ' AND ',
        CASE WHEN NOT src.has_source THEN '' WHEN has_null THEN 'coalesce(l.source, '''') = '''' AND '
            ELSE 'l.source = ' || s[3] || ' AND ' END,
        CASE WHEN src.has_lines THEN 'l.last_line_no' ELSE 'l.line_no' END, ' >= ', s[4], ' AND l.line_no <= ', s[5]);
END
$$;

-- The statement that reads lines of a stream: $1 job, $2 node, $3 source, $4 first line, $5 last line. Where rows have
-- many lines, it returns the number of each one's last line.
--: statement that reads lines of a stream
CREATE FUNCTION l4._ingest_lines(relation text, src record, has_null bool) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN concat('SELECT l.line_no::bigint, ', CASE WHEN src.has_ts THEN 'l.ts' ELSE 'NULL' END, '::timestamptz, ',
        CASE WHEN src.has_rank THEN l4._ingest_rank() ELSE 'NULL::int' END,
        CASE WHEN src.has_lines THEN ', l.lines, l.last_line_no FROM ' ELSE ', l.line::text FROM ' END, relation,
        ' l WHERE ', l4._ingest_range(src, has_null, '{$1,$2,$3,$4,$5}'), ' ORDER BY l.line_no');
END
$$;

--: what a statement finds in a gap of a stream
CREATE FUNCTION l4._ingest_first(statement text, job_id text, node text, source text, lo bigint, hi bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    first_line bigint;
BEGIN
    EXECUTE statement INTO first_line USING job_id, node, source, lo, hi;
    RETURN first_line;
END
$$;

-- Late lines: gaps (stream_id, job_id, node, source, has_null, lo, hi) of streams, each beginning with its first line
-- that is there. Gaps without lines are left out. Citus cannot look gaps up in a query: there each is a statement of
-- its own, which goes to one shard.
--: query for those gaps that got lines
CREATE FUNCTION l4._ingest_gaps(relation text, src record, gaps text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    g text[] := CASE WHEN src.is_citus THEN '{$1,$2,$3,$4,$5}' ELSE '{g.job_id,g.node,g.source,g.lo,g.hi}' END;
    first_line text := concat('SELECT ', CASE WHEN src.has_lines THEN format('greatest(min(l.line_no), %s)', g[4])
        ELSE 'min(l.line_no)' END, ' FROM ', relation, ' l WHERE ');
    found text := CASE WHEN src.is_citus THEN 'l4._ingest_first(%L, g.job_id, g.node, g.source, g.lo, g.hi)'
        ELSE '(%s)' END;
BEGIN
    RETURN format(
        'SELECT g.stream_id, p.first AS lo, g.hi FROM (%s) g '
        'CROSS JOIN LATERAL (SELECT (CASE WHEN g.has_null THEN %s ELSE %s END)::bigint) p(first) '
        'WHERE p.first IS NOT NULL', gaps, format(found, first_line || l4._ingest_range(src, true, g)),
        format(found, first_line || l4._ingest_range(src, false, g)));
END
$$;

-- Streams of an indexed relation: from key to key by the index, without reading lines.
--: a stream of a relation
CREATE TYPE l4._ingest_found AS (
    job_id text, node text, source text, has_null bool, first_line bigint, last_line bigint);

-- A walk over all shards or foreign partitions would take more than a row of each at a step. So each has a walk of its
-- own; those of the shards of a worker are in one session there. Other servers sort where sorting here is not wanted.
--: the streams that a statement over %s finds in the shards or partitions of a relation, put together
CREATE FUNCTION l4._ingest_find_parts(relation text, is_citus bool, statement text) RETURNS l4._ingest_found[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET enable_sort = off
AS $$
DECLARE
    part record;
    found l4._ingest_found[];
    streams l4._ingest_found[] := '{}';
BEGIN
    FOR part IN EXECUTE CASE WHEN is_citus THEN
            'WITH w AS (SELECT p.nodename, p.nodeport::int, ''SELECT '' || string_agg(format($2, '
            'shard_name(s.logicalrelid, s.shardid)), '' || '') AS walks FROM pg_dist_shard AS s '
            'JOIN pg_dist_shard_placement AS p USING (shardid) WHERE s.logicalrelid = $1 GROUP BY 1, 2) '
            'SELECT r.* FROM (SELECT array_agg(w.nodename) AS names, array_agg(w.nodeport) AS ports, '
            'array_agg(w.walks) AS walks FROM w) AS w '
            'CROSS JOIN LATERAL master_run_on_worker(w.names, w.ports, w.walks, true) AS r'
        ELSE 'SELECT format(''SELECT '' || $2, t.relid::regclass) AS result, true AS success '
            'FROM pg_partition_tree($1) AS t WHERE t.isleaf' END
        USING relation::regclass, format('coalesce((%s), ''{}'')', statement)
    LOOP
        IF NOT part.success THEN
            RAISE EXCEPTION 'the shards of "%" on worker %:% cannot be read', relation, part.node_name, part.node_port
                USING ERRCODE = 'external_routine_exception', DETAIL = part.result;
        ELSIF is_citus THEN
            found := part.result;
        ELSE
            EXECUTE part.result INTO found;
        END IF;
        streams := streams || found;
    END LOOP;
    RETURN (SELECT array_agg(m::l4._ingest_found)
        FROM (SELECT f.job_id, f.node, f.source, bool_or(f.has_null), min(f.first_line), max(f.last_line)
            FROM unnest(streams) AS f GROUP BY 1, 2, 3) AS m);
END
$$;

--: the streams of an indexed relation
CREATE FUNCTION l4._ingest_find(logs text, src record, job_id text, committed bool) RETURNS l4._ingest_found[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- a session of a shard does not see what this transaction wrote; of one job, most shards have nothing
    in_parts bool := src.is_citus AND committed AND job_id IS NULL OR src.has_parts AND EXISTS (SELECT
        FROM pg_partition_tree(logs::regclass) AS t JOIN pg_class AS c ON c.oid = t.relid WHERE c.relkind = 'f');
    relation text := CASE WHEN in_parts THEN '%1$s' ELSE logs END;
    job text := CASE WHEN in_parts THEN replace(job_id, '%', '%%') ELSE job_id END;
    job_is text := CASE WHEN src.has_job AND job_id IS NOT NULL THEN format('l.job_id = %L AND ', job) ELSE '' END;
    job_value text := CASE WHEN src.has_job THEN 'l.job_id::text' ELSE quote_literal(job) || '::text' END;
    -- of one job the node alone: a condition on both would start the search for the next node at the first one
    all_jobs bool := src.has_job AND job_id IS NULL;
    -- in the order of the index the first row of a stream has its first line number
    first_row text := format(
        '%s AS job_id, l.node::text AS node, %s AS source, l.line_no::bigint AS line_no FROM %s l WHERE ',
        job_value, CASE WHEN src.has_source THEN 'l.source::text' ELSE '''''::text' END, relation);
    nodes_of text := concat(job_is, CASE WHEN src.has_job THEN 'l.job_id IS NOT NULL AND ' END, 'l.node IS NOT NULL');
    in_order text := concat(' ORDER BY ', CASE WHEN all_jobs THEN 'l.job_id, ' END, 'l.node',
        CASE WHEN src.has_source THEN ', l.source' END, ', l.line_no LIMIT 1');
    -- other servers take comparisons of columns, but not of rows
    next_node text := format('(SELECT 3 AS turn, %1$s%2$sl.node > k.node%3$s)', first_row,
        CASE WHEN all_jobs THEN 'l.job_id = k.job_id AND ' ELSE job_is END, in_order);
    node_key text := l4._ingest_key(src.has_job, false, 'k');
    next_source text := '';
    -- max() would read a whole stream whose source is NULL: PostgreSQL does not take that for equality
    last_of text := format('(SELECT l.%s FROM %s l WHERE ',
        CASE WHEN src.has_lines THEN 'last_line_no' ELSE 'line_no' END, relation);
    by_number text := concat(' AND l.line_no IS NOT NULL ORDER BY ',
        CASE WHEN src.has_source THEN 'l.source DESC, ' END, 'l.line_no DESC LIMIT 1)::bigint');
    last text := concat(last_of, l4._ingest_key(src.has_job, src.has_source, 'k'), by_number);
    walk text;
    streams l4._ingest_found[];
BEGIN
    IF src.is_citus AND NOT in_parts THEN
        EXECUTE format(
            'WITH m AS MATERIALIZED (SELECT %s AS job_id, l.node::text AS node, %s AS source, %s AS has_null, '
            'min(l.line_no)::bigint AS first_line, max(l.line_no)::bigint AS last_line FROM %s l WHERE %s '
            'GROUP BY 1, 2, 3) SELECT array_agg(m::l4._ingest_found) FROM m WHERE m.last_line IS NOT NULL',
            job_value, CASE WHEN src.has_source THEN 'coalesce(l.source::text, '''')' ELSE '''''::text' END,
            CASE WHEN src.has_source THEN 'bool_or(l.source IS NULL)' ELSE 'false' END, relation, nodes_of)
        INTO streams;
        RETURN streams;
    END IF;
    IF all_jobs THEN
        next_node := format('%s UNION ALL (SELECT 4, %sl.job_id > k.job_id AND l.node IS NOT NULL%s)', next_node,
            first_row, in_order);
    END IF;
    -- NULL comes after the other sources of a node
    IF src.has_source THEN
        next_source := format(
            '(SELECT 1 AS turn, %1$s%2$s AND l.source > k.source%3$s) UNION ALL '
            '(SELECT 2, %1$s%2$s AND k.source IS NOT NULL AND l.source IS NULL%3$s) UNION ALL ',
            first_row, node_key, in_order);
        last := concat('CASE WHEN k.source IS NULL THEN ', last_of, node_key, ' AND l.source IS NULL', by_number,
            ' ELSE ', last, ' END');
    END IF;
    walk := format(
        'WITH RECURSIVE k AS ((SELECT %1$s%2$s%3$s) UNION ALL '
        'SELECT n.job_id, n.node, n.source, n.line_no FROM k CROSS JOIN LATERAL ('
        'SELECT n.* FROM (%4$s%5$s) n ORDER BY n.turn LIMIT 1) n), '
        'm AS MATERIALIZED (SELECT k.job_id, k.node, coalesce(k.source, ''''), bool_or(k.source IS NULL), '
        'min(k.line_no), max(%6$s) AS last_line FROM k GROUP BY 1, 2, 3) '
        'SELECT array_agg(m::l4._ingest_found) FROM m WHERE m.last_line IS NOT NULL',
        first_row, nodes_of, in_order, next_source, next_node, last);
    IF in_parts THEN
        RETURN l4._ingest_find_parts(logs, src.is_citus, walk);
    END IF;
    EXECUTE walk INTO streams;
    RETURN streams;
END
$$;

-- Rows that have no key, as far as they can be found by the index: NULL comes last in it.
--: rows that have no key, in words: without a job, of known jobs without a node, of known streams without a number;
--: NULL where there is nothing at all
CREATE FUNCTION l4._ingest_keyless(relation text, src record, job_id text, streams l4._ingest_found[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_job text := CASE WHEN src.has_job THEN 'l.job_id = s.job_id AND ' ELSE '' END;
    jobs text := '(SELECT DISTINCT f.job_id FROM unnest($1) AS f)';
    found bigint;
    w record;
    result text[] := '{}';
BEGIN
    FOR w IN SELECT a.attname AS name FROM pg_attribute AS a
        WHERE a.attrelid = relation::regclass AND NOT a.attnotnull AND a.attname IN ('job_id', 'node', 'line_no')
            AND NOT (a.attname = 'job_id' AND job_id IS NOT NULL)
        ORDER BY a.attnum
    LOOP
        EXECUTE CASE w.name
            WHEN 'job_id' THEN format('SELECT count(*) FROM %s AS l WHERE l.job_id IS NULL', relation)
            WHEN 'node' THEN format('SELECT count(*) FROM %s AS s JOIN %s AS l ON %sl.node IS NULL', jobs, relation,
                of_job)
            ELSE format('SELECT count(*) FROM unnest($1) AS s JOIN %s AS l ON %s AND l.line_no IS NULL', relation,
                l4._ingest_key(src.has_job, src.has_source, 's')) END
        INTO found USING streams;
        IF found > 0 THEN
            result := result || concat(l4._counted(found, 'row'), ' without ', w.name);
        END IF;
    END LOOP;
    RETURN CASE WHEN streams IS NOT NULL OR result <> '{}' THEN result END;
END
$$;

-- The planner gives foreign partitions to no worker, as a transaction has one connection to each server. But what was
-- committed there a worker sees by a connection of its own.
--: some partitions of a relation are those of other servers, read by postgres_fdw, and others forbid no workers
CREATE FUNCTION l4._ingest_by_workers(relation text) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(bool_or(w.fdwname IS NOT NULL) AND NOT bool_or(c.relrowsecurity)
        AND bool_and(c.relkind IN ('p', 'r') OR w.fdwname = 'postgres_fdw'), false)
    FROM pg_partition_tree(relation::regclass) AS t JOIN pg_class AS c ON c.oid = t.relid
    LEFT JOIN pg_foreign_table AS f ON f.ftrelid = c.oid LEFT JOIN pg_foreign_server AS s ON s.oid = f.ftserver
    LEFT JOIN pg_foreign_data_wrapper AS w ON w.oid = s.srvfdw;
END;

-- Begin a call: how it reads lines, and which wait, job by job, gaps first, then streams that were read less.
--: begins a call, and hands it what there is to read: streams with lines beyond those seen, gaps that got lines;
--: returns what rows cannot be read
CREATE FUNCTION l4._ingest_open(ingest_id int, relation text, src record, job_id text, batch_lines int,
    committed bool) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    streams l4._ingest_found[] := l4._ingest_find(relation, src, job_id, committed);
    late_streams int[];
    late_lines int8range[];
    wrong record;
    added bigint;
BEGIN
    SELECT f.node, CASE WHEN f.first_line < 0 THEN f.first_line ELSE f.last_line END AS line_no INTO wrong
    FROM unnest(streams) AS f WHERE f.first_line < 0 OR f.last_line > 9223372036854773806 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'line_no % of node "%" is out of range', wrong.line_no, wrong.node
            USING ERRCODE = 'numeric_value_out_of_range',
            HINT = 'Line numbers must be between 0 and 9223372036854773806.';
    END IF;
    BEGIN
        INSERT INTO l4.job (job_id) SELECT DISTINCT f.job_id FROM unnest(streams) AS f
        WHERE NOT EXISTS (SELECT FROM l4.job j WHERE j.job_id = f.job_id) ORDER BY 1 ON CONFLICT DO NOTHING;
        INSERT INTO l4.job_node (job_id, node) SELECT DISTINCT f.job_id, f.node FROM unnest(streams) AS f
        WHERE NOT EXISTS (SELECT FROM l4.job_node n WHERE n.job_id = f.job_id AND n.node = f.node)
        ORDER BY 1, 2 ON CONFLICT DO NOTHING;
        INSERT INTO l4._stream (job_id, node, source) SELECT f.job_id, f.node, f.source FROM unnest(streams) AS f
        WHERE NOT EXISTS (SELECT FROM l4._stream s WHERE s.job_id = f.job_id AND s.node = f.node
            AND s.source = f.source)
        ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS added = ROW_COUNT;
    EXCEPTION WHEN foreign_key_violation THEN
        RAISE EXCEPTION 'a job was removed while its logs were read' USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Call l4.ingest() again: it goes on with what there is.';
    END;
    PERFORM l4._ingest_begin(ingest_id, batch_lines, l4._ingest_lines(relation, src, false),
        l4._ingest_lines(relation, src, true),
        format('SELECT g.lo, g.hi FROM (%s) g ORDER BY g.lo', l4._ingest_gaps(relation, src,
            'SELECT s.stream_id, s.job_id, s.node, s.source, $2 AS has_null, lower(u.r) AS lo, upper(u.r) - 1 AS hi '
            'FROM l4._stream s CROSS JOIN LATERAL l4._ranges(int8multirange(int8range($3, $4 + 1)) - s.seen) AS u(r) '
            'WHERE s.stream_id = $1')), committed AND src.has_parts AND l4._ingest_by_workers(relation));
    -- new streams have no gaps
    IF added < cardinality(streams) THEN
        EXECUTE format('SELECT array_agg(g.stream_id), array_agg(int8range(g.lo, g.hi, ''[]'')) FROM (%s) g',
            l4._ingest_gaps(relation, src,
                'SELECT s.stream_id, s.job_id, s.node, s.source, f.has_null, lower(u.r) AS lo, upper(u.r) - 1 AS hi '
                'FROM unnest($1) AS f '
                'JOIN l4._stream s ON s.job_id = f.job_id AND s.node = f.node AND s.source = f.source '
                'CROSS JOIN LATERAL (SELECT r FROM l4._ranges(int8multirange(int8range('
                'least(f.first_line, s.next_line_no), s.next_line_no)) - s.seen) AS r '
                -- of the open records, which are read again
                'UNION ALL SELECT r FROM l4._ranges(int8multirange(int8range(s.next_line_no, '
                'greatest(upper(s.tail), s.next_line_no))) - s.tail) AS r) AS u '
                'WHERE s.next_line_no IS NOT NULL AND NOT s.sparse'))
        INTO late_streams, late_lines USING streams;
    END IF;
    PERFORM l4._ingest_wait(_ingest_open.ingest_id, w.job_id, w.stream_id, w.late, w.lo, w.hi, w.has_null,
        w.next_line_no IS NOT NULL, w.step, w.lines)
    FROM (
        WITH s AS (
            SELECT s.job_id, s.stream_id, s.node, s.source, s.units, s.next_line_no, s.step, s.lines, s.seen, s.tail,
                f.has_null, f.first_line, f.last_line
            FROM unnest(streams) AS f
            JOIN l4._stream s ON s.job_id = f.job_id AND s.node = f.node AND s.source = f.source
        ), g AS (
            SELECT g.stream_id, g.lines, lower(g.lines) >= s.next_line_no AS open
            FROM unnest(late_streams, late_lines) AS g(stream_id, lines) JOIN s ON s.stream_id = g.stream_id)
        SELECT s.*, false AS late, coalesce(s.next_line_no, s.first_line) AS lo, s.last_line AS hi FROM s
        WHERE s.next_line_no IS NULL OR s.last_line >= greatest(upper(s.seen), upper(s.tail), s.next_line_no)
            OR s.stream_id IN (SELECT g.stream_id FROM g WHERE g.open)
        UNION ALL
        SELECT s.*, true, lower(g.lines), upper(g.lines) - 1 FROM g JOIN s ON s.stream_id = g.stream_id WHERE NOT g.open
        ORDER BY job_id, late DESC, units, node, source, lo) AS w;
    RETURN l4._ingest_keyless(relation, src, job_id, streams);
END
$$;

-- A call's row in _ingest; those of earlier calls for the same relation and job go.
--: notes that a call begins
CREATE FUNCTION l4._ingest_note(relation text, job_id text) RETURNS int
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    DELETE FROM l4._ingest i WHERE i.logs = relation AND i.job_id IS NOT DISTINCT FROM _ingest_note.job_id
    AND (i.ended_at IS NOT NULL OR NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = i.pid
        AND a.pid <> pg_backend_pid()));
    INSERT INTO l4._ingest (logs, job_id, pid, started_at, updated_at)
        VALUES (relation, job_id, pg_backend_pid(), clock_timestamp(), clock_timestamp())
    RETURNING ingest_id
$$;

--: notes that a call has ended
CREATE FUNCTION l4._ingest_end(ingest_id int) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE l4._ingest i SET ended_at = clock_timestamp(), updated_at = clock_timestamp()
        WHERE i.ingest_id = _ingest_end.ingest_id
$$;

-- What a call has done, for who made it. SET client_min_messages = warning is the way to be spared.
--: tells what a call has read, and what not and why
CREATE FUNCTION l4._ingest_say(ingest_id int, logs regclass, job_id text, left_out text[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    done record := l4._ingest_sum(_ingest_say.ingest_id);
    among record;
    empty bool;
    said text;
    flaws text;
BEGIN
    SELECT count(DISTINCT s.job_id) AS jobs, count(DISTINCT (s.job_id, s.node)) AS nodes,
        count(*) FILTER (WHERE s.first_ts IS NULL) AS timeless
    INTO among FROM l4._stream AS s WHERE s.stream_id = ANY (done.streams);
    IF done.repeated > 0 THEN
        left_out := left_out || concat(l4._counted(done.repeated, 'row'), ' whose line_no another row has');
    END IF;
    flaws := NULLIF(concat_ws(' ', 'Not read: ' || NULLIF(array_to_string(left_out, ', '), '') || '.',
        'Read as empty: ' || l4._counted(NULLIF(done.no_line, 0), 'row') || ' without line.',
        'Not used: ' || l4._counted(NULLIF(done.bad_time, 0), 'time') || ' before 1990 or after 2199.',
        'Without any time: ' || l4._counted(NULLIF(among.timeless, 0), 'stream') || '.'), '');
    IF done.lines > 0 THEN
        said := concat_ws(', ', 'read ' || l4._counted(done.lines, 'line'), l4._counted(among.nodes, 'node'),
            l4._counted(among.jobs, 'job')) || format(' from "%s"', logs);
    ELSE
        IF left_out IS NULL THEN
            EXECUTE format('SELECT NOT EXISTS (SELECT FROM %s)', logs) INTO empty;
        END IF;
        said := format(CASE WHEN empty THEN '"%s" is empty' ELSE '"%s" has no new lines' END, logs);
    END IF;
    IF done.lines = 0 AND job_id IS NOT NULL
        AND NOT EXISTS (SELECT FROM l4._stream AS s WHERE s.job_id = _ingest_say.job_id) THEN
        -- mistyped, or its lines are elsewhere
        RAISE WARNING '% has no lines of job "%"', logs, job_id
            USING HINT = coalesce('Did you mean "' || l4._near_job(job_id) || '"?',
                'The column job_id must have this value, letter for letter.');
    ELSIF flaws IS NULL THEN
        RAISE NOTICE '%', said;
    ELSE
        RAISE NOTICE '%', said USING DETAIL = flaws;
    END IF;
END
$$;

--: reads the new lines of a relation: job_id, node, line, and where there are any source, rank, line_no, ts
CREATE PROCEDURE l4.ingest(logs regclass, job_id text DEFAULT NULL, commit bool DEFAULT true,
    batch_lines int DEFAULT 1000000)
LANGUAGE plpgsql
AS $$
-- No SET clause: a procedure that commits cannot have one. Every name here is qualified.
#variable_conflict use_variable
DECLARE
    -- qualified: the caller may have a table of this name
    src pg_catalog.record;
    relation text;
    call_id int;
    left_out text[];
    learnt bool;
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
    relation := l4._source_name(logs);
    src := l4._ingest_source(logs, job_id);
    call_id := l4._ingest_note(relation, job_id);
    IF NOT src.indexed THEN
        PERFORM l4._ingest_copy(relation, src, job_id);
        relation := 'pg_temp.l4_ingest_rows';
        src := l4._ingest_source('pg_temp.l4_ingest_rows'::pg_catalog.regclass, NULL);
    END IF;
    left_out := l4._ingest_open(call_id, relation, src, job_id, batch_lines, commit);
    LOOP
        IF commit THEN
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
        learnt := l4._ingest_read(call_id);
        EXIT WHEN learnt IS NULL;
        -- what was learnt is there for others at once: nobody waits to learn until this batch is stored
        IF commit AND learnt THEN
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
        PERFORM l4._watch_faults(l4._ingest_store(call_id));
    END LOOP;
    PERFORM l4._ingest_end(call_id);
    PERFORM l4._ingest_say(call_id, logs, job_id, left_out);
    IF relation OPERATOR(pg_catalog.=) 'pg_temp.l4_ingest_rows' THEN
        DROP TABLE pg_temp.l4_ingest_rows;
    END IF;
    IF commit THEN
        COMMIT;
    END IF;
END
$$;
