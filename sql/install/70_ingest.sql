-- Reading logs: what l4.ingest() is made of. SQL checks the source and lists the streams that have lines to read; C
-- (src/ingest/batch.c) reads them, batch by batch.

--: a call begins: its number, the statements that read lines, the same where sources are NULL, and find gaps, and
--: whether workers may read whatever the planner says of them
CREATE FUNCTION l4._ingest_begin(ingest_id int, batch_lines int, read text, read_null text, gaps text,
    by_workers bool DEFAULT false) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'l4_ingest_begin';

--: lines of a stream wait to be read by a call; in the order in which they are read, jobs one after the other
CREATE FUNCTION l4._ingest_wait(ingest_id int, job_id text, stream_id int, late bool, first_line bigint,
    last_line bigint, has_null bool, known bool, step bigint, lines bigint) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'l4_ingest_wait';

--: first half of a batch: reads lines and learns what is new in them; was there anything, NULL when no lines wait
CREATE FUNCTION l4._ingest_read(ingest_id int) RETURNS bool
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off
AS 'MODULE_PATHNAME', 'l4_ingest_read';

--: second half of a batch: stores what was read; returns the jobs that got lines, NULL when others were faster
CREATE FUNCTION l4._ingest_store(ingest_id int) RETURNS text[]
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'l4_ingest_store';

--: what a call has read: lines, streams, and rows that were not taken as they are: whose number another row has, whose
--: line is NULL, whose time is out of range
CREATE FUNCTION l4._ingest_sum(ingest_id int,
    OUT lines bigint, OUT streams int[], OUT repeated bigint, OUT no_line bigint, OUT bad_time bigint)
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'l4_ingest_sum';

--: may the calling procedure commit here
CREATE FUNCTION l4._can_commit() RETURNS bool
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'l4_can_commit';

--: number of ranges
CREATE FUNCTION l4._range_count(ranges anymultirange) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_range_count';

-- unnest() with a truer estimate: few streams have a gap, hardly any has several
--: the ranges
CREATE FUNCTION l4._ranges(ranges int8multirange) RETURNS SETOF int8range
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE ROWS 1 AS 'multirange_unnest';

--: what a variable part of a message means, by its mask and the words around it; the lowest id counts
CREATE TABLE l4._mention_rule (
    rule_id int PRIMARY KEY, --: order of trial
    kind text NOT NULL,      --: what it means; none = nothing, whatever later rules say
    masks text[],            --: masks of the part; NULL = any
    before text,             --: regular expression on the text before it, caseless; NULL = any
    after text,              --: regular expression on the text after it, caseless; NULL = any
    CONSTRAINT _mention_rule_kind_check CHECK (kind
        OPERATOR(pg_catalog.=) ANY (ARRAY['rank', 'host', 'address', 'own', 'exit', 'device', 'list', 'none']))
);
INSERT INTO l4._mention_rule (rule_id, kind, masks, before, after) VALUES
    (10, 'list', '{list}', NULL, NULL),
    -- the writer's own end of a connection: "10.0.0.1:80->10.0.0.2:90", "local=... remote=..."
    (15, 'own', '{ip,host,url}', NULL, '^\s*-+>'),
    (16, 'own', '{ip,host,url}', '\mlocal(?:[ _-]?addr(?:ess)?)?[\s:=("'']{1,3}(?:\w+://)?$', NULL),
    (20, 'address', '{ip}', NULL, NULL),
    (30, 'none', '{number,id,word}',
     '(?:local|node|group|tensor|pipeline|data|expert|context|virtual|tp|pp|dp|ep|cp|vpp)[ _-]?'
     '(?:parallel[ _-]?)?rank(?:s|\(s\))?\W{0,3}$', NULL),
    (40, 'rank', '{number,id,word}',
     '\m(?:global[ _-]?|world[ _-]?|peer[ _-]?|src[ _-]?|dst[ _-]?|source[ _-]?|target[ _-]?|remote[ _-]?)?'
     'rank(?:s|\(s\))?(?:[ _-]?(?:id|no|num|number))?[\s:=#("''\[]{0,3}$', NULL),
    (41, 'rank', '{number}', '\mrank(?:s|\(s\))[^.;]*(?:\d\s*(?:,|and|or|&)\s*)$', NULL),
    (42, 'rank', '{number}', '\mprocess name:\s*$', NULL),
    (50, 'exit', '{number,hex,word}',
     -- not that of a call: "grpc_status"
     '(?:exit|return|(?<![a-z]_)status)[ _-]?(?:code|status|value)?\s*(?:[:=(]|is|was|of|with)?\s*\(?$', NULL),
    (51, 'exit', '{number}',
     '\m(?:exited|exit|terminated|died|failed|killed)\s+(?:with|by|on)\s+'
     '(?:(?:exit|return|error)\s+)?(?:code|status|signal|value)?\s*[:=]?\s*$', NULL),
    (52, 'exit', '{number}', '\msignal(?:\s+number)?\s*[:=(]?\s*$', NULL),
    (60, 'device', '{number,hex,id,word}',
     '\m(?:gpu|cuda|npu|device|devices|hca|nic|xpu|accelerator|local[ _-]?gpu)'
     '(?:[ _-]?(?:id|no|index|num))?[\s:=#("''\[]{0,3}$', NULL),
    (70, 'host', '{host,url}', NULL, NULL),
    (80, 'host', '{word,id,name}',
     '\m(?:host|hosts|hostname|node|nodes|nodename|machine|server|peer|pod|endpoint|worker[ _-]?node|agent)'
     '(?:[ _-]?(?:name|id|addr|address))?[\s:=("''\[]{0,3}$', NULL);

--: qualified name of a relation to be read, for a statement; an error unless it has rows
CREATE FUNCTION l4._source_name(source regclass) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    c record;
BEGIN
    SELECT format('%I.%I', n.nspname, t.relname) AS name, t.relkind INTO c
    FROM pg_class AS t JOIN pg_namespace AS n ON n.oid = t.relnamespace WHERE t.oid = source;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'relation with OID % does not exist', source::oid USING ERRCODE = 'undefined_table';
    ELSIF c.relkind NOT IN ('r', 'p', 'v', 'm', 'f') THEN
        RAISE EXCEPTION 'cannot read rows from "%"', source USING ERRCODE = 'wrong_object_type',
            DETAIL = 'It is not a table, view or foreign table.';
    END IF;
    RETURN c.name;
END
$$;

-- Which columns a relation has, and whether an index leads with the key.
--: the columns of a relation that ingest reads; an error that says which is missing
CREATE FUNCTION l4._ingest_source(logs regclass, job_id text,
    OUT has_job bool, OUT has_source bool, OUT has_rank bool, OUT has_line_no bool, OUT has_ts bool, OUT indexed bool,
        OUT has_parts bool, OUT is_citus bool, OUT has_lines bool)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    missing text;
    kind "char" := (SELECT c.relkind FROM pg_class AS c WHERE c.oid = logs);
    types jsonb;
    wrong text;
    key text[];
BEGIN
    types := (SELECT coalesce(jsonb_object_agg(a.attname, a.atttypid::regtype), '{}') FROM pg_attribute a
        WHERE a.attrelid = logs AND a.attnum > 0 AND NOT a.attisdropped);
    has_job := types ? 'job_id';
    has_source := types ? 'source';
    has_rank := types ? 'rank';
    has_line_no := types ? 'line_no';
    has_ts := types ? 'ts';
    -- many lines a row: their text, and the numbers of the first and the last one
    has_lines := types @> '{"lines": "text", "last_line_no": "bigint"}' AND NOT types ? 'line';
    missing := concat_ws(', ', CASE WHEN NOT has_job AND job_id IS NULL THEN '"job_id"' END,
        CASE WHEN NOT types ? 'node' THEN '"node"' END,
        CASE WHEN NOT has_lines AND NOT types ? 'line' THEN '"line"'
            WHEN has_lines AND NOT has_line_no THEN '"line_no"' END);
    IF missing <> '' THEN
        RAISE EXCEPTION 'relation "%" has no column %', logs, missing USING ERRCODE = 'undefined_column',
            HINT = 'l4.ingest() reads the columns job_id, node and line, and where there are any source, rank, '
                'line_no and ts; a view can name them so.';
    END IF;
    wrong := CASE
        WHEN types ->> 'ts' NOT IN ('timestamp with time zone', 'timestamp without time zone', 'date') THEN 'ts'
        WHEN types ->> 'rank' NOT IN ('smallint', 'integer', 'bigint', 'numeric') THEN 'rank'
        WHEN types ->> 'line_no' NOT IN ('smallint', 'integer', 'bigint', 'numeric') THEN 'line_no' END;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'column "%" of relation "%" has type %', wrong, logs, types ->> wrong
            USING ERRCODE = 'datatype_mismatch',
            HINT = CASE wrong WHEN 'ts' THEN 'It must be timestamptz or timestamp; a view can cast it.'
                ELSE 'It must be an integer; a view can cast it.' END;
    END IF;
    has_parts := kind IN ('p', 'f');
    is_citus := false;
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition d WHERE d.logicalrelid = $1)'
            INTO is_citus USING logs;
    END IF;
    IF NOT has_line_no AND kind NOT IN ('r', 'p', 'm') THEN
        RAISE EXCEPTION 'relation "%" has no column "line_no"', logs USING ERRCODE = 'undefined_column',
            DETAIL = 'The rows of a view or foreign table have no lasting order that could number the lines.',
            HINT = 'Add a column line_no, or copy the rows into a table.';
    END IF;
    key := array_remove(ARRAY[CASE WHEN has_job THEN 'job_id' END, 'node', CASE WHEN has_source THEN 'source' END,
        'line_no'], NULL);
    indexed := has_line_no AND NOT (has_lines AND is_citus) AND types ->> 'line_no' <> 'numeric'
        AND coalesce(types ->> 'job_id', 'text') IN ('text', 'character varying')
        AND types ->> 'node' IN ('text', 'character varying')
        AND coalesce(types ->> 'source', 'text') IN ('text', 'character varying')
        AND EXISTS (SELECT FROM pg_index i
            WHERE i.indrelid = logs AND i.indisvalid AND i.indisready AND i.indpred IS NULL
                AND pg_index_column_has_property(i.indexrelid, 1, 'orderable')
                AND ARRAY(SELECT pg_get_indexdef(i.indexrelid, n, false)
                    FROM generate_series(1, cardinality(key)) AS n) = key);
END
$$;
