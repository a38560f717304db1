-- Reading logs: l4.ingest() and what it is made of. C reads lines and packs rows; SQL passes rows in and stores what
-- comes back.

-- A stream that has lines to be read, from lo to hi: those beyond what was read, or late ones that fill a gap.
-- Jobs are numbered in the order in which they are read.
CREATE TYPE l4._ingest_work AS (job int, stream_id int, late bool, lo bigint, hi bigint, has_null bool);
COMMENT ON TYPE l4._ingest_work IS 'lines of a stream that l4.ingest() is to read';

-- A piece of a batch: its number, its place in the list of work, what is read, and where the stream was before.
CREATE TYPE l4._ingest_piece AS (
    number int, item int, stream_id int, late bool, has_null bool, from_line bigint, to_line bigint,
        next_line_no bigint, units int);
COMMENT ON TYPE l4._ingest_piece IS 'lines of a stream that one batch of l4.ingest() reads';

-- Rows are what the planner divides among processes, not the cost of functions: with many rows at little cost one
-- worker is worth it, too.
CREATE FUNCTION l4._ingest_worker(read text, read_null text, rules bigint, pieces l4._ingest_piece[])
RETURNS TABLE (number int, result bytea)
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 1 ROWS 1000 AS 'MODULE_PATHNAME', 'l4_ingest_worker';
COMMENT ON FUNCTION l4._ingest_worker(text, text, bigint, l4._ingest_piece[]) IS
    'scan results: what pieces of streams hold, read by a statement; NULL for a piece without lines';

-- with this a plan that itself gathers from workers, which no worker may run, is never the cheapest
CREATE FUNCTION l4._ingest_workers_may(read text) RETURNS bool
LANGUAGE c STABLE STRICT PARALLEL UNSAFE SET parallel_setup_cost = '1e10' AS 'MODULE_PATHNAME', 'l4_ingest_workers_may';
COMMENT ON FUNCTION l4._ingest_workers_may(text) IS 'may parallel workers run the statement that reads lines';

-- Units are large: they stay in the process, from the statement that reads them until they are stored.
CREATE FUNCTION l4._ingest_hold(query text, results int) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'l4_ingest_hold';
COMMENT ON FUNCTION l4._ingest_hold(text, int) IS 'keeps the scan results that a query brings: number, result';

CREATE FUNCTION l4._ingest_check(OUT full_at int, OUT unknown bigint, OUT empty bool[])
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'l4_ingest_check';
COMMENT ON FUNCTION l4._ingest_check() IS
    'of the scan results that are kept: number of the first that ended early, NULL where none did; up to it: shapes '
    'that the parser does not know, which have no lines';

CREATE FUNCTION l4._ingest_learn(INOUT parser l4.parser, results int, OUT learnt bytea, OUT news bytea)
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE COST 100000 AS 'MODULE_PATHNAME', 'l4_ingest_learn';
COMMENT ON FUNCTION l4._ingest_learn(l4.parser, int) IS
    'the parser with all shapes of the first scan results that are kept; events and words of those that it did not '
    'know, in order; what of them is new';

CREATE FUNCTION l4._ingest_events(parser l4.parser, news bytea, above int)
RETURNS TABLE (event_id int, merged_into int, level text, template text, example text, example_record text,
    iteration_rule int, is_stack bool, is_coarse bool)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_ingest_events';
COMMENT ON FUNCTION l4._ingest_events(l4.parser, bytea, int) IS
    'events of the parser with ids above a number, and their first records';

CREATE FUNCTION l4._ingest_slots(parser l4.parser, news bytea)
RETURNS TABLE (event_id int, slot int, mask text, before text, after text)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_ingest_slots';
COMMENT ON FUNCTION l4._ingest_slots(l4.parser, bytea) IS
    'variable parts of messages whose shapes are new, and the text around them';

CREATE FUNCTION l4._ingest_words(parser l4.parser, event_ids int[], messages text[])
RETURNS TABLE (event_id int, slot int, word text, before text, after text)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'l4_ingest_words';
COMMENT ON FUNCTION l4._ingest_words(l4.parser, int[], text[]) IS
    'words of the messages that made events, in places that are variable by now, and the text around them';

CREATE FUNCTION l4._can_commit() RETURNS bool
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'l4_can_commit';
COMMENT ON FUNCTION l4._can_commit() IS 'may the calling procedure commit here';

CREATE TABLE l4._mention_rule (
    rule_id int NOT NULL,
    kind text NOT NULL,
    masks text[],
    before text,
    after text,
    CONSTRAINT _mention_rule_pkey PRIMARY KEY (rule_id),
    CONSTRAINT _mention_rule_kind_check CHECK (kind
        OPERATOR(pg_catalog.=) ANY (ARRAY['rank', 'host', 'address', 'exit', 'device', 'list', 'none']))
);
COMMENT ON TABLE l4._mention_rule IS
    'what a variable part of a message means, by its mask and the words around it; the lowest id counts';
COMMENT ON COLUMN l4._mention_rule.rule_id IS 'order of trial';
COMMENT ON COLUMN l4._mention_rule.kind IS 'what it means; none = nothing, whatever later rules say';
COMMENT ON COLUMN l4._mention_rule.masks IS 'masks of the part; NULL = any';
COMMENT ON COLUMN l4._mention_rule.before IS 'regular expression on the text before it, caseless; NULL = any';
COMMENT ON COLUMN l4._mention_rule.after IS 'regular expression on the text after it, caseless; NULL = any';
INSERT INTO l4._mention_rule (rule_id, kind, masks, before, after) VALUES
    (10, 'list', '{list}', NULL, NULL),
    (20, 'address', '{ip}', NULL, NULL),
    (30, 'none', '{number,id,word}',
     '(?:local|node|group|tensor|pipeline|data|expert|context|virtual|tp|pp|dp|ep|cp|vpp)[ _-]?'
     '(?:parallel[ _-]?)?ranks?\W{0,3}$', NULL),
    (40, 'rank', '{number,id,word}',
     '\m(?:global[ _-]?|world[ _-]?|peer[ _-]?|src[ _-]?|dst[ _-]?|source[ _-]?|target[ _-]?|remote[ _-]?)?'
     'ranks?(?:[ _-]?(?:id|no|num|number))?[\s:=#("''\[]{0,3}$', NULL),
    (41, 'rank', '{number}', '\mranks[^.;]*(?:\d\s*(?:,|and|or|&)\s*)$', NULL),
    (42, 'rank', '{number}', '\mprocess name:\s*$', NULL),
    (50, 'exit', '{number,hex,word}',
     '(?:exit|return|status)[ _-]?(?:code|status|value)?\s*(?:[:=(]|is|was|of|with)?\s*\(?$', NULL),
    (51, 'exit', '{number}',
     '\m(?:exited|exit|terminated|died|failed|killed)\s+(?:with|by|on)\s+'
     '(?:exit\s+|return\s+)?(?:code|status|signal|value)?\s*[:=]?\s*$', NULL),
    (52, 'exit', '{number}', '\msignal(?:\s+number)?\s*[:=(]?\s*$', NULL),
    (60, 'device', '{number,hex,id,word}',
     '\m(?:gpu|cuda|npu|device|devices|hca|nic|xpu|accelerator|local[ _-]?gpu)'
     '(?:[ _-]?(?:id|no|index|num))?[\s:=#("''\[]{0,3}$', NULL),
    (70, 'host', '{host,url}', NULL, NULL),
    (80, 'host', '{word,id,name}',
     '\m(?:host|hosts|hostname|node|nodes|nodename|machine|server|peer|pod|endpoint|worker[ _-]?node|agent)'
     '(?:[ _-]?(?:name|id|addr|address))?[\s:=("''\[]{0,3}$', NULL);

-- Which columns a relation has, and whether an index leads with the key.
CREATE FUNCTION l4._ingest_source(logs regclass, job_id text,
    OUT has_job bool, OUT has_source bool, OUT has_rank bool, OUT has_line_no bool, OUT has_ts bool, OUT indexed bool,
        OUT is_table bool)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    missing text;
    kind "char";
    wrong record;
    key text[];
BEGIN
    SELECT c.relkind INTO kind FROM pg_class c WHERE c.oid = logs;
    IF kind IS NULL THEN
        RAISE EXCEPTION 'relation with OID % does not exist', logs::oid USING ERRCODE = 'undefined_table';
    END IF;
    IF kind NOT IN ('r', 'p', 'v', 'm', 'f') THEN
        RAISE EXCEPTION 'cannot ingest from "%"', logs USING ERRCODE = 'wrong_object_type',
            DETAIL = 'It is not a table, view or foreign table.';
    END IF;
    SELECT string_agg(format('"%s"', w.name), ', ' ORDER BY w.n) INTO missing
    FROM unnest(ARRAY['job_id', 'node', 'line']) WITH ORDINALITY AS w(name, n)
    WHERE NOT (w.name = 'job_id' AND _ingest_source.job_id IS NOT NULL)
      AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = logs AND a.attname = w.name AND a.attnum > 0
          AND NOT a.attisdropped);
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'relation "%" has no column %', logs, missing USING ERRCODE = 'undefined_column',
            HINT = 'l4.ingest() reads the columns job_id, node and line, and where there are any source, rank, '
                'line_no and ts; a view can name them so.';
    END IF;
    SELECT a.attname, format_type(a.atttypid, a.atttypmod) AS type INTO wrong
    FROM pg_attribute a
    WHERE a.attrelid = logs AND a.attnum > 0 AND NOT a.attisdropped
      AND ((a.attname = 'ts' AND a.atttypid NOT IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype))
           OR (a.attname IN ('line_no', 'rank') AND a.atttypid NOT IN ('int2'::regtype, 'int4'::regtype,
               'int8'::regtype, 'numeric'::regtype)))
    ORDER BY a.attnum LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'column "%" of relation "%" has type %', wrong.attname, logs, wrong.type
            USING ERRCODE = 'datatype_mismatch',
            HINT = CASE wrong.attname WHEN 'ts' THEN 'It must be timestamptz or timestamp; a view can cast it.'
                ELSE 'It must be an integer; a view can cast it.' END;
    END IF;
    SELECT coalesce(bool_or(a.attname = 'job_id'), false), coalesce(bool_or(a.attname = 'source'), false),
        coalesce(bool_or(a.attname = 'rank'), false),
           coalesce(bool_or(a.attname = 'line_no'), false), coalesce(bool_or(a.attname = 'ts'), false)
    INTO has_job, has_source, has_rank, has_line_no, has_ts
    FROM pg_attribute a WHERE a.attrelid = logs AND a.attnum > 0 AND NOT a.attisdropped;
    is_table := kind IN ('r', 'p', 'm');
    IF NOT has_line_no AND NOT is_table THEN
        RAISE EXCEPTION 'relation "%" has no column "line_no"', logs USING ERRCODE = 'undefined_column',
            DETAIL = 'The rows of a view or foreign table have no lasting order that could number the lines.',
            HINT = 'Add a column line_no, or copy the rows into a table.';
    END IF;
    key := ARRAY(SELECT w.name FROM unnest(ARRAY['job_id', 'node', 'source', 'line_no']) WITH ORDINALITY AS w(name, n)
                 WHERE (w.name <> 'job_id' OR has_job) AND (w.name <> 'source' OR has_source) ORDER BY w.n);
    indexed := has_line_no AND EXISTS (
        SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam
        WHERE i.indrelid = logs AND i.indisvalid AND i.indisready AND am.amname = 'btree' AND i.indpred IS NULL
          AND (SELECT array_agg(a.attname::text ORDER BY k.n)
               FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n) JOIN pg_attribute a ON a.attrelid = logs
                   AND a.attnum = k.attnum
               WHERE k.n <= cardinality(key)) = key)
      AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = logs
          AND a.attname = ANY (ARRAY['job_id', 'node', 'source'])
                      AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid NOT IN ('text'::regtype,
                          'varchar'::regtype))
      AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = logs AND a.attname = 'line_no' AND a.attnum > 0
          AND NOT a.attisdropped
                      AND a.atttypid = 'numeric'::regtype);
END
$$;
COMMENT ON FUNCTION l4._ingest_source(regclass, text) IS
    'the columns of a relation that ingest reads; an error that says which is missing';
