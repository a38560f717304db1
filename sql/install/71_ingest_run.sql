-- The steps of l4.ingest(), and the procedure. The steps pin the search path; the procedure commits, so it cannot.

-- The column may be of any integer type: what is no rank is none.
CREATE FUNCTION l4._ingest_rank() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 'CASE WHEN l.rank >= 0 AND l.rank <= 99999999 THEN l.rank::int END';
COMMENT ON FUNCTION l4._ingest_rank() IS 'expression for the rank of a line';

CREATE FUNCTION l4._ingest_copy(relation text, src record, job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    too_long text;
BEGIN
    IF to_regclass('pg_temp.l4_ingest_rows') IS NOT NULL THEN
        DROP TABLE pg_temp.l4_ingest_rows;
    END IF;
    EXECUTE format(
        'CREATE TEMP TABLE l4_ingest_rows AS '
        'SELECT r.job_id, r.node, r.source, r.rank, r.line_no, r.ts, r.line FROM ('
        'SELECT %1$s AS job_id, l.node::text AS node, %2$s AS source, %3$s AS rank, %4$s AS line_no, %5$s AS ts, '
            'l.line::text AS line '
        'FROM %6$s l WHERE l.node IS NOT NULL%7$s) r '
        'LEFT JOIN l4._stream s ON s.job_id = r.job_id AND s.node = r.node AND s.source = r.source '
        'WHERE r.line_no IS NOT NULL AND (s.stream_id IS NULL OR NOT (r.line_no <@ s.seen OR (s.sparse AND r.line_no '
            '< s.next_line_no)))',
        CASE WHEN src.has_job THEN 'l.job_id::text' ELSE quote_literal(job_id) || '::text' END,
        CASE WHEN src.has_source THEN 'coalesce(l.source::text, '''')' ELSE '''''::text' END,
        CASE WHEN src.has_rank THEN l4._ingest_rank() ELSE 'NULL::int' END,
        CASE WHEN src.has_line_no THEN 'l.line_no::bigint'
             ELSE format('row_number() OVER (PARTITION BY %s l.node%s ORDER BY l.tableoid, l.ctid)',
                         CASE WHEN src.has_job THEN 'l.job_id,' ELSE '' END,
                         CASE WHEN src.has_source THEN ', coalesce(l.source::text, '''')' ELSE '' END) END,
        CASE WHEN src.has_ts THEN 'l.ts::timestamptz' ELSE 'NULL::timestamptz' END,
        relation,
        CASE WHEN src.has_job AND job_id IS NULL THEN ' AND l.job_id IS NOT NULL'
             WHEN src.has_job THEN format(' AND l.job_id::text = %L', job_id) ELSE '' END);
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
COMMENT ON FUNCTION l4._ingest_copy(text, record, text) IS
    'new rows of a relation without a fitting index or without line numbers, as a temporary table that has both';

-- Condition on the lines of a stream, with the stream's row as "s". NULL and '' are the same source; where both or
-- NULL occur, has_null is set.
CREATE FUNCTION l4._ingest_key(has_job bool, has_source bool, has_null bool, s text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_catalog.concat(
    CASE WHEN has_job THEN pg_catalog.format('l.job_id = %s.job_id AND ', s) END,
        pg_catalog.format('l.node = %s.node', s),
    CASE WHEN NOT has_source THEN '' WHEN has_null THEN ' AND coalesce(l.source, '''') = '''''
        ELSE pg_catalog.format(' AND l.source = %s.source', s) END);
COMMENT ON FUNCTION l4._ingest_key(bool, bool, bool, text) IS 'condition on the lines of a stream';

-- The statement that reads lines of a stream: $1 job, $2 node, $3 source, $4 first line, $5 last line.
CREATE FUNCTION l4._ingest_read(relation text, has_job bool, has_source bool, has_rank bool, has_ts bool,
    has_null bool) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_catalog.concat(
    'SELECT l.line_no::bigint, ', CASE WHEN has_ts THEN 'l.ts::timestamptz' ELSE 'NULL::timestamptz' END, ', ',
    CASE WHEN has_rank THEN l4._ingest_rank() ELSE 'NULL::int' END, ', l.line::text FROM ', relation, ' l WHERE ',
    CASE WHEN has_job THEN 'l.job_id = $1 AND ' END, 'l.node = $2 AND ',
    CASE WHEN NOT has_source THEN '' WHEN has_null THEN 'coalesce(l.source, '''') = '''' AND '
        ELSE 'l.source = $3 AND ' END,
    'l.line_no >= $4 AND l.line_no <= $5 ORDER BY l.line_no');
COMMENT ON FUNCTION l4._ingest_read(text, bool, bool, bool, bool, bool) IS 'statement that reads lines of a stream';

-- Late lines: each gap of a stream below the line where reading goes on, from its first line that is there. NULL where
-- the gap has none. The stream's row is "s"; lo and hi bound the gaps.
CREATE FUNCTION l4._ingest_gaps(relation text, src record, has_null text, lo text, hi text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN format(
        'SELECT p.first AS lo, g.hi FROM (SELECT lower(u.r) AS lo, upper(u.r) - 1 AS hi '
        'FROM unnest(int8multirange(int8range(%1$s, %2$s, ''[]'')) - s.seen) AS u(r)) g CROSS JOIN LATERAL (SELECT '
            'CASE WHEN %3$s '
        'THEN (SELECT min(l.line_no) FROM %4$s l WHERE %5$s AND l.line_no >= g.lo AND l.line_no <= g.hi) '
        'ELSE (SELECT min(l.line_no) FROM %4$s l WHERE %6$s AND l.line_no >= g.lo AND l.line_no <= g.hi) '
            'END::bigint) p(first) '
        'WHERE NOT s.sparse AND p.first IS NOT NULL',
        lo, hi, has_null, relation, l4._ingest_key(src.has_job, src.has_source, true, 's'),
        l4._ingest_key(src.has_job, src.has_source, false, 's'));
END
$$;
COMMENT ON FUNCTION l4._ingest_gaps(text, record, text, text, text) IS 'query for the gaps of a stream that got lines';

-- Streams of an indexed relation: from key to key by the index, without reading lines.
CREATE TYPE l4._ingest_found AS (
    job_id text, node text, source text, has_null bool, first_line bigint, last_line bigint);
COMMENT ON TYPE l4._ingest_found IS 'a stream of a relation';

CREATE FUNCTION l4._ingest_find(relation text, src record, job_id text) RETURNS l4._ingest_found[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    job_is text := CASE WHEN src.has_job AND job_id IS NOT NULL THEN format('l.job_id = %L AND ', job_id) ELSE '' END;
    job_value text := CASE WHEN src.has_job THEN 'l.job_id::text' ELSE quote_literal(job_id) || '::text' END;
    -- of one job the node alone: a condition on both would start the search for the next node at the first one
    keys text := CASE WHEN src.has_job AND job_id IS NULL THEN 'l.job_id, l.node' ELSE 'l.node' END;
    -- in the order of the index the first row of a stream has its first line number
    first_row text := format(
        '%s AS job_id, l.node::text AS node, %s AS source, l.line_no::bigint AS line_no FROM %s l WHERE ',
        job_value, CASE WHEN src.has_source THEN 'l.source::text' ELSE '''''::text' END, relation);
    nodes_of text := concat(job_is, CASE WHEN src.has_job THEN 'l.job_id IS NOT NULL AND ' END, 'l.node IS NOT NULL');
    in_order text := concat(' ORDER BY ', keys, CASE WHEN src.has_source THEN ', l.source' END, ', l.line_no LIMIT 1');
    node_key text := l4._ingest_key(src.has_job, false, false, 'k');
    next_source text := '';
    last text := format('(SELECT max(l.line_no) FROM %s l WHERE %s)::bigint',
                        relation, l4._ingest_key(src.has_job, src.has_source, false, 'k'));
    streams l4._ingest_found[];
BEGIN
    -- NULL comes after the other sources of a node
    IF src.has_source THEN
        next_source := format(
            '(SELECT 1 AS turn, %1$s%2$s AND l.source > k.source%3$s) UNION ALL '
            '(SELECT 2, %1$s%2$s AND k.source IS NOT NULL AND l.source IS NULL%3$s) UNION ALL ',
            first_row, node_key, in_order);
        last := format('CASE WHEN k.source IS NULL THEN '
                       '(SELECT max(l.line_no) FROM %s l WHERE %s AND l.source IS NULL)::bigint ELSE %s END',
                       relation, node_key, last);
    END IF;
    EXECUTE format(
        'WITH RECURSIVE k AS ((SELECT %1$s%2$s%3$s) UNION ALL '
        'SELECT n.job_id, n.node, n.source, n.line_no FROM k CROSS JOIN LATERAL ('
        'SELECT n.* FROM (%4$s(SELECT 3 AS turn, %1$s%2$s AND (%5$s) > (%6$s)%3$s)) n ORDER BY n.turn LIMIT 1) n), '
        'm AS MATERIALIZED (SELECT k.job_id, k.node, coalesce(k.source, ''''), bool_or(k.source IS NULL), '
        'min(k.line_no), max(%7$s) AS last_line FROM k GROUP BY 1, 2, 3) '
        'SELECT array_agg(m::l4._ingest_found) FROM m WHERE m.last_line IS NOT NULL',
        first_row, nodes_of, in_order, next_source, keys, replace(keys, 'l.', 'k.'), last)
    INTO streams;
    RETURN streams;
END
$$;
COMMENT ON FUNCTION l4._ingest_find(text, record, text) IS 'the streams of an indexed relation';

-- In the order in which they are read: job by job, gaps first, then streams that were read less.
CREATE FUNCTION l4._ingest_list(relation text, src record, job_id text) RETURNS l4._ingest_work[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    streams l4._ingest_found[] := l4._ingest_find(relation, src, job_id);
    work l4._ingest_work[];
    wrong record;
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
    EXCEPTION WHEN foreign_key_violation THEN
        RAISE EXCEPTION 'a job was removed while its logs were read' USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'Call l4.ingest() again: it goes on with what there is.';
    END;
    EXECUTE format(
        'WITH s AS (SELECT s.*, f.has_null, f.first_line, f.last_line FROM unnest($1) AS f '
        'JOIN l4._stream s ON s.job_id = f.job_id AND s.node = f.node AND s.source = f.source), '
        'w AS (SELECT s.*, false AS late, s.first_line AS lo, s.last_line AS hi FROM s '
        'WHERE s.next_line_no IS NULL OR s.last_line >= greatest(upper(s.seen), upper(s.tail), s.next_line_no) '
        'UNION ALL SELECT s.*, true, g.lo, g.hi FROM s CROSS JOIN LATERAL (%s) g), '
        'j AS (SELECT w.*, dense_rank() OVER (ORDER BY w.job_id)::int AS job FROM w) '
        'SELECT array_agg(ROW(j.job, j.stream_id, j.late, j.lo, j.hi, j.has_null)::l4._ingest_work '
        'ORDER BY j.job, j.late DESC, j.units, j.node, j.source, j.lo) FROM j',
        l4._ingest_gaps(relation, src, 's.has_null', '(-9223372036854775808)::bigint', 's.next_line_no - 1')
        || ' AND s.next_line_no IS NOT NULL')
    INTO work USING streams;
    RETURN work;
END
$$;
COMMENT ON FUNCTION l4._ingest_list(text, record, text) IS
    'what there is to read: streams with lines beyond those seen, and gaps in which lines turned up';

-- Which pieces make the next batch, of the first streams of the list: more would not fit in. A short piece counts as
-- more lines than it has, up to 1024: its dictionary and counts, and what is stored of a short stream, are not much
-- smaller than those of a long one. Streams of a job take turns of one piece each, so that the order in which shapes
-- are learnt does not depend on the size of batches.
CREATE FUNCTION l4._ingest_choose(work l4._ingest_work[], batch_lines int, streams int) RETURNS l4._ingest_piece[]
LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
    WITH w AS (
        SELECT w.n::int, w.late, w.job, w.has_null, s.lines, s.stream_id, w.hi, s.step,
               CASE WHEN w.late THEN w.lo ELSE coalesce(s.next_line_no, w.lo) END AS first
        FROM unnest(work[1:streams]) WITH ORDINALITY AS w(job, stream_id, late, lo, hi, has_null, n)
        JOIN l4._stream s ON s.stream_id = w.stream_id
    ), turn AS (
        SELECT w.*, row_number() OVER (PARTITION BY w.stream_id ORDER BY w.n) AS turn,
               count(*) OVER (PARTITION BY w.job) + coalesce((w.job = (work[streams + 1]).job)::int, 0) AS pending
        FROM w
    ), piece AS (
        SELECT t.*, least(t.hi, t.first::numeric - 1
                          + CASE WHEN t.pending = 1 THEN greatest(t.step, batch_lines) ELSE t.step END)::bigint AS last
        FROM turn t WHERE t.turn = 1
    ), ordered AS (
        SELECT p.*, sum(p.weight) OVER (ORDER BY p.n) - p.weight AS before,
               min(CASE WHEN p.last < p.hi OR p.pending > 1 AND p.late THEN p.job END) OVER () AS unfinished
        FROM (SELECT p.*, greatest(p.count, least(1024, 128 + 4 * (p.count + p.lines))) AS weight
              FROM (SELECT p.*, p.last::numeric - p.first + 1 AS count FROM piece p) p) p
    )
    SELECT array_agg(ROW(NULL, o.n, o.stream_id, o.late, o.has_null, o.first, o.last, NULL, NULL)::l4._ingest_piece
        ORDER BY o.n)
    FROM ordered o
    WHERE o.before < batch_lines AND (o.unfinished IS NULL OR o.job <= o.unfinished)
$$;
COMMENT ON FUNCTION l4._ingest_choose(l4._ingest_work[], int, int) IS 'the pieces of the next batch';

-- Scan pieces in parallel: each branch of the UNION ALL is a share of them, about as many lines as any other.
CREATE FUNCTION l4._ingest_scan_pieces(relation text, src record, pieces l4._ingest_piece[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
SET enable_bitmapscan = off SET enable_sort = off SET parallel_setup_cost = 0 SET parallel_tuple_cost = 0
SET work_mem = '64MB' SET parallel_leader_participation = off
AS $$
DECLARE
    read text := l4._ingest_read(relation, src.has_job, src.has_source, src.has_rank, src.has_ts, false);
    read_null text := l4._ingest_read(relation, src.has_job, src.has_source, src.has_rank, src.has_ts, true);
    rules bigint := jsonb_hash_extended(l4._ruleset(), 0);
    workers int := current_setting('max_parallel_workers_per_gather');
    apart bool := workers > 0 AND l4._ingest_workers_may(read);
    branches text;
BEGIN
    -- what workers send waits until this process takes it, which it does not while it scans a share:
    -- two workers do more without its help, one does not
    IF workers = 1 THEN
        PERFORM set_config('parallel_leader_participation', 'on', true);
    END IF;
    -- the longest pieces first; a share is its part of what is left, so that the last ones are small and all end
    -- together
    SELECT string_agg(b.branch, ' UNION ALL ' ORDER BY b.share) INTO branches
    FROM (SELECT s.share, format('SELECT s.number, s.result FROM l4._ingest_worker(%L, %L, %s, %L) s',
                                 read, read_null, rules, array_agg(s.piece ORDER BY s.number)) AS branch
          FROM (SELECT p.*, CASE WHEN apart
                                 THEN floor(ln(1 - (p.upto - p.weight) / p.total) / ln(1 - 0.5 / workers)) ELSE 0 END
                                     AS share
                FROM (SELECT p.*, sum(p.weight) OVER (ORDER BY p.weight DESC, p.number) AS upto,
                             sum(p.weight) OVER () AS total
                      FROM (SELECT p AS piece, p.number, greatest(p.to_line::float8 - p.from_line, 1024) AS weight
                            FROM unnest(pieces) AS p) p) p) s
          GROUP BY s.share) b;
    -- a function that no worker may run keeps a query where it is, even under force_parallel_mode
    PERFORM l4._ingest_hold('SELECT r.number, r.result FROM (' || branches || ') r'
                            || CASE WHEN apart THEN '' ELSE ' WHERE l4._can_commit() IS NOT NULL' END,
                            cardinality(pieces));
END
$$;
COMMENT ON FUNCTION l4._ingest_scan_pieces(text, record, l4._ingest_piece[]) IS
    'reads pieces: their scan results are kept';

-- Learn the shapes that the parser does not know. The one row of _model is the lock: whoever learns sees what others
-- learnt.
CREATE FUNCTION l4._ingest_learn_results(results int) RETURNS bytea
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    parser l4.parser;
    above int;
    grown int[];
    learnt record;
    ranks int[];
    signatures l4.pcre[];
    stages text[];
    then_stages text[];
BEGIN
    SELECT m.parser INTO parser FROM l4._model m FOR NO KEY UPDATE;
    SELECT coalesce(max(e.event_id), 0) INTO above FROM l4._event e;
    SELECT * INTO learnt FROM l4._ingest_learn(parser, results);
    parser := learnt.parser;
    UPDATE l4._model SET parser = learnt.parser;
    -- what l4._stage_of() says, for many messages in one pass each
    SELECT array_agg(r.rank ORDER BY r.rank), array_agg(r.signature ORDER BY r.rank),
        array_agg(r.stage ORDER BY r.rank), array_agg(r.then_stage ORDER BY r.rank)
    INTO ranks, signatures, stages, then_stages FROM l4._active_stage_rule r;
    INSERT INTO l4._event (event_id, merged_into, level, template, example, example_record, stage, then_stage,
        iteration_rule, is_stack, is_coarse)
    SELECT e.event_id, e.merged_into, e.level, e.template, e.example, e.example_record,
        -- what reports an iteration as done is training, where no rule says otherwise
        coalesce(stages[e.rule], (SELECT 'train' FROM l4.iteration_rule r WHERE r.rule_id = e.iteration_rule
            AND r.kind = 'done')), then_stages[e.rule],
        e.iteration_rule, e.is_stack, e.is_coarse
    FROM (SELECT e.*, l4.pcre_first(e.example, ranks, signatures) AS rule
        FROM l4._ingest_events(parser, learnt.news, above) e OFFSET 0) e;
    WITH grown AS (
        UPDATE l4._event e SET template = p.template, merged_into = p.merged_into
        FROM l4._parser_events(parser) p
        WHERE e.event_id = p.event_id AND e.event_id <= above
          AND (e.template <> p.template OR e.merged_into IS DISTINCT FROM p.merged_into)
        RETURNING e.event_id
    )
    SELECT array_agg(g.event_id) INTO grown FROM grown g;
    -- the words that these events have lost: what was not counted while they were constant
    WITH words AS (
        SELECT w.*, (SELECT nullif(r.kind, 'none') FROM l4._mention_rule r
                     WHERE (r.masks IS NULL OR 'word' = ANY (r.masks)) AND (r.before IS NULL OR w.before ~* r.before)
                         AND (r.after IS NULL OR w.after ~* r.after)
                     ORDER BY r.rule_id LIMIT 1) AS kind
        FROM (SELECT array_agg(e.event_id) AS ids, array_agg(e.example) AS messages FROM l4._event e
            WHERE e.event_id > above OR e.event_id = ANY (grown)) e
        CROSS JOIN LATERAL l4._ingest_words(parser, e.ids, e.messages) w
    ), lost AS (
        INSERT INTO l4._event_word (event_id, slot, word) SELECT w.event_id, w.slot, w.word FROM words w
            ON CONFLICT DO NOTHING
    )
    INSERT INTO l4._event_slot (event_id, slot, mask, kind)
    SELECT DISTINCT ON (1, 2) coalesce(e.merged_into, e.event_id), w.slot, 'word', w.kind FROM words w JOIN l4._event e
        ON e.event_id = w.event_id ORDER BY 1, 2, w.event_id
    ON CONFLICT DO NOTHING;
    INSERT INTO l4._event_slot (event_id, slot, mask, kind)
    SELECT DISTINCT ON (s.event_id, s.slot) s.event_id, s.slot, s.mask,
           (SELECT nullif(r.kind, 'none') FROM l4._mention_rule r
            WHERE (r.masks IS NULL OR s.mask = ANY (r.masks)) AND (r.before IS NULL OR s.before ~* r.before)
                AND (r.after IS NULL OR s.after ~* r.after)
            ORDER BY r.rule_id LIMIT 1)
    FROM l4._ingest_slots(parser, learnt.news) WITH ORDINALITY AS s(event_id, slot, mask, before, after, n)
    WHERE NOT EXISTS (SELECT FROM l4._event_slot x WHERE x.event_id = s.event_id AND x.slot = s.slot)
    ORDER BY s.event_id, s.slot, s.n
    ON CONFLICT DO NOTHING;
    RETURN learnt.learnt;
END
$$;
COMMENT ON FUNCTION l4._ingest_learn_results(int) IS
    'learns the unknown shapes of the first scan results that are kept; returns their events and words, in order';
