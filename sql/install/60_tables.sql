-- Tables of the workflow: jobs, and what ingest keeps of their logs.
-- Only l4.ingest() writes the tables whose names start with "_". Packed columns are read by l4._unpack().

--: the jobs; jobs that may serve each other as baseline share settings
CREATE TABLE l4.job (
    job_id text PRIMARY KEY, --: name of the job, as in the log table
    settings text,           --: what jobs must share to be compared: trainer, model, size; NULL = like no other job
    --: running, succeeded or failed; chooses baselines, is never evidence about the job itself
    status text NOT NULL DEFAULT 'running' CHECK (status = ANY (ARRAY['running', 'succeeded', 'failed'])),
    expected_nodes int,      --: number of nodes that should write logs, where known; at most a million
    started_at timestamptz,  --: start of the job, where known
    ended_at timestamptz,    --: end of the job, where known
    attributes jsonb,        --: anything else the user wants to keep
    CONSTRAINT job_expected_nodes_check CHECK (expected_nodes > 0 AND expected_nodes <= 1000000)
);
CREATE INDEX job_settings_idx ON l4.job (settings, status);

--: the nodes of a job: from an inventory, else learnt at ingest
CREATE TABLE l4.job_node (
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    node text NOT NULL, --: name of the node, as in the log table
    rank int,           --: rank of the node, 0 to 99,999,999; with several ranks on it, the lowest
    addresses text[],   --: addresses and other names by which lines may mean the node
    attributes jsonb,   --: anything else the user wants to keep
    CONSTRAINT job_node_pkey PRIMARY KEY (job_id, node),
    CONSTRAINT job_node_rank_check CHECK (rank >= 0 AND rank <= 99999999)
);

--: the parser of the workflow: one row, locked by whoever learns
CREATE TABLE l4._model (
    id bool PRIMARY KEY DEFAULT true CHECK (id),
    parser l4.parser NOT NULL,        --: what was learnt so far
    generation int NOT NULL DEFAULT 0 --: how often templates were forgotten: what was read before is not stored after
);

--: the events: a template under a level. Rules are applied once, when an event is learnt
CREATE TABLE l4._event (
    event_id int PRIMARY KEY,              --: id, never reused
    merged_into int,                       --: the surviving event where this one was merged into another, else NULL
    level text,                            --: DEBUG, INFO, WARNING, ERROR or CRITICAL; NULL where lines carry none
    template text NOT NULL,                --: message with its variable parts as <*>
    example text NOT NULL,                 --: message of the first record; of a long one 2 kB of beginning and end
    example_record text NOT NULL,          --: lines of the first record; of a long one 2 kB of beginning and end
    stage text,                            --: stage that a line of this event marks, by stage_rule; NULL = none
    then_stage text,                       --: stage of the lines that follow, where it differs
    iteration_rule int,                    --: iteration_rule that reads the event; NULL = none
    is_stack bool NOT NULL DEFAULT false,  --: lines of a stack that stand alone: no message of their own
    is_coarse bool NOT NULL DEFAULT false, --: a coarse template, of lines beyond the bounds of the parser
    --: template without bars and units of rates
    plain text GENERATED ALWAYS AS (ltrim(regexp_replace(template,
        '(?:^| )[^[:alnum:]<> ]+(?= |$)|(<\*>)/[a-z]+(?![[:alnum:]/.])', '\1', 'g'))) STORED
);
CREATE INDEX _event_merged_into_idx ON l4._event (merged_into) WHERE merged_into IS NOT NULL;

--: what the variable parts of an event mean
CREATE TABLE l4._event_slot (
    event_id int NOT NULL,
    --: the variable part: its place among the delimiters of the message, so that it stays the same when a template
    --: grows
    slot int NOT NULL,
    mask text NOT NULL, --: mask of its first value
    kind text,          --: rank, host, address, own, exit, device or list, by _mention_rule; NULL = none of them
    CONSTRAINT _event_slot_pkey PRIMARY KEY (event_id, slot)
);

--: words of the message that made an event, in places that are variable by now: records of the event whose word was not
--: counted have them
CREATE TABLE l4._event_word (
    event_id int NOT NULL,
    slot int NOT NULL,  --: the place, as in _event_slot
    word text NOT NULL, --: the word
    CONSTRAINT _event_word_pkey PRIMARY KEY (event_id, slot)
);

--: what a job has taught the parser: no job may fill it
CREATE TABLE l4._job_budget (
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    of_errors bool NOT NULL, --: of messages of level ERROR and CRITICAL; false: of all others
    generation int NOT NULL, --: of the parser: the row says nothing about another one
    templates int NOT NULL,  --: templates that it made, less those that were merged away
    ordinary int NOT NULL,   --: messages that it taught and that were not strange
    strange int NOT NULL,    --: spent on strange ones
    vocabulary int NOT NULL, --: how many words the parser knew when the budget was closed; 0: it is open
    CONSTRAINT _job_budget_pkey PRIMARY KEY (job_id, of_errors)
);

--: roll-up of a job; read it by _job_event
CREATE TABLE l4._job_pack (
    job_id text PRIMARY KEY,
    events bytea NOT NULL --: rows of _job_event, packed
);

--: a stream of lines: one source of one node of one job, and how far it was read
CREATE TABLE l4._stream (
    stream_id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    node text NOT NULL,
    source text NOT NULL,                 --: the source on the node; empty where the relation has none
    rank int,                             --: rank of its lines; with several, the lowest
    ranks int4multirange NOT NULL DEFAULT '{}', --: ranks that its lines carry in their heads
    lines bigint NOT NULL DEFAULT 0,      --: settled lines
    unparsed bigint NOT NULL DEFAULT 0,   --: lines whose head fitted no line format
    seen int8multirange NOT NULL DEFAULT '{}', --: line numbers that are settled
    --: line numbers of records that were open when the input ended: read again when more lines follow
    tail int8multirange NOT NULL DEFAULT '{}',
    next_line_no bigint,                  --: where reading goes on
    step bigint NOT NULL DEFAULT 16384,   --: line numbers that one piece of the stream spans
    sparse bool NOT NULL DEFAULT false,   --: line numbers have more gaps than are kept: only the highest counts
    next_chunk_no int NOT NULL DEFAULT 0, --: number of the next chunk
    tail_lines int NOT NULL DEFAULT 0,    --: lines of records that were open when the input ended
    units int NOT NULL DEFAULT 0,         --: pieces that were read: streams of a job take turns
    --: the pack that holds what is stored of it: one of its own, with the number of the stream, or one that it shares;
    --: NULL before its first lines
    pack_id int,
    member int,                           --: number in the pack that it shares; NULL = the pack is its own
    first_ts timestamptz,
    last_ts timestamptz,
    last_event_id int,                    --: event of the last record
    last_iteration int,                   --: last iteration that was reported done
    max_in_flight int,                    --: highest iteration that was mentioned
    --: last line that has a time, its own or that of the column: those behind it have that time; NULL = none has
    timed_line_no bigint,
    CONSTRAINT _stream_key UNIQUE (job_id, node, source)
) WITH (fillfactor = 40);   -- each batch updates its rows, and no index

-- A pack holds a stream, or several short ones of a job: its values are read by l4._member(). Numbers of packs that
-- are shared are taken from those of streams.
--: packed lines, up to 16,384 a row; chunk -1 holds the records that were open when the input ended; read it by _chunk
CREATE TABLE l4._pack_chunk (
    pack_id int NOT NULL,
    chunk_no int NOT NULL,         --: order of reading
    lines int NOT NULL,            --: number of lines
    first_line_no bigint NOT NULL, --: lowest line number
    last_line_no bigint NOT NULL,  --: highest line number
    first_ts timestamptz,
    last_ts timestamptz,
    --: line_no, distance to the first line of the record, ts, rank, event_id, stage, epoch, iteration
    body bytea NOT NULL,
    CONSTRAINT _pack_chunk_pkey PRIMARY KEY (pack_id, chunk_no)
);

--: iterations of streams in whose lines no rule reads any: a diagnosis found the event that counts up
CREATE TABLE l4._counted (
    job_id text NOT NULL,
    stream_id int PRIMARY KEY,
    iterations bytea NOT NULL --: as in _pack, without metrics
);
CREATE INDEX _counted_job_id_idx ON l4._counted (job_id);

--: what diagnosis reads of streams, and what reading goes on with; most packs have one row, further parts hold more of
--: what grows with time; read it by _summary. open_...: of records that were open when the input ended, of sequences
--: also iterations that are going on
CREATE TABLE l4._pack (
    pack_id int NOT NULL,
    --: 0 has the counts, what is open, and the beginning of what grows with time (durations, iterations, activity,
    --: sequences)
    part int NOT NULL CHECK (part >= 0),
    events bytea,     --: event_id, occurrences, first_ts, last_ts, first_line_no, last_line_no
    --: event_id, slot, first_line_no, mask, value, occurrences (0: too many different values, not counted; of the first
    --: one less the number of all records), first_ts; slot -1: records that have the words of another event, whose
    --: number is the value
    slots bytea,
    durations bytea,  --: event_id, slot, block of 10 iterations, number, sum in microseconds
    iterations bytea, --: epoch, iteration, time of the report, duration in milliseconds, metrics
    stages bytea,     --: stage, first_ts, last_ts, first_line_no, last_line_no
    activity bytea,   --: second, lines
    sequences bytea,  --: rank, epoch, iteration, events
    open_events bytea,
    open_slots bytea,
    open_durations bytea,
    open_iterations bytea,
    open_stages bytea,
    open_activity bytea,
    open_sequences bytea,
    scan_state bytea, --: state of the reader at next_line_no
    --: state of the packing at next_line_no: stage, iteration that is going on, records that lines may join
    pack_state bytea,
    CONSTRAINT _pack_pkey PRIMARY KEY (pack_id, part)
);
-- packed and compressed where they are made
DO $$
DECLARE
    c record;
BEGIN
    FOR c IN
        SELECT a.attrelid::regclass AS name, a.attname FROM pg_attribute AS a
        WHERE a.attrelid IN ('l4._job_pack'::regclass, 'l4._pack_chunk'::regclass, 'l4._pack'::regclass)
            AND a.atttypid = 'bytea'::regtype
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER %I SET STORAGE EXTERNAL', c.name, c.attname);
    END LOOP;
END
$$;

--: calls of l4.ingest(): the running ones and the last one of each relation and job
CREATE TABLE l4._ingest (
    ingest_id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    logs text NOT NULL,              --: the relation
    job_id text,                     --: the job it was limited to; NULL = all
    pid int NOT NULL,                --: process of the session
    started_at timestamptz NOT NULL, --: start of the call
    updated_at timestamptz NOT NULL, --: end of the last batch
    ended_at timestamptz,            --: end of the call; NULL while it runs, and after a crash
    lines bigint NOT NULL DEFAULT 0, --: lines read so far
    total bigint                     --: lines to read, estimated; NULL = not known
);

-- No foreign keys from these tables and those of a case: to check one costs more than to insert a row. A job's row is
-- locked while its rows are written, and what is deleted takes them along, all in one statement.
--: trigger: what is packed of jobs or streams, and a case, goes with them, all at once
CREATE FUNCTION l4._delete_packs() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        TRUNCATE l4._job_pack, l4._pack_chunk, l4._pack, l4._counted, l4._case, l4._case_place, l4._case_clock,
            l4._case_progress, l4._case_iteration, l4._case_count, l4._case_event, l4._case_dropped, l4._case_mark,
            l4._case_end, l4._case_edge;
    ELSIF TG_TABLE_NAME = 'job' THEN
        DELETE FROM l4._job_pack e USING gone g WHERE e.job_id = g.job_id;
        PERFORM l4._case_forget(g.job_id) FROM gone g;
    ELSE
        DELETE FROM l4._pack_chunk c USING gone g WHERE c.pack_id = g.pack_id;
        DELETE FROM l4._pack p USING gone g WHERE p.pack_id = g.pack_id;
    END IF;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION l4._delete_packs() FROM PUBLIC;
CREATE TRIGGER job_delete AFTER DELETE ON l4.job REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION l4._delete_packs();
CREATE TRIGGER _stream_delete AFTER DELETE ON l4._stream REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION l4._delete_packs();
CREATE TRIGGER job_truncate AFTER TRUNCATE ON l4.job FOR EACH STATEMENT EXECUTE FUNCTION l4._delete_packs();

--: insertions, deletions and substitutions of characters between two names; beyond 255 bytes they count as equal
CREATE FUNCTION l4._edit_distance(a text, b text) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'l4_edit_distance';

-- A quarter of a name may be mistyped, and one character of a short one; but job-17 is not job-18 mistyped.
--: the known name that is nearest to one that is not, if any is near
CREATE FUNCTION l4._near_name(name text, names text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT n.known
    FROM (SELECT u.known, l4._edit_distance(lower(u.known), lower(name)) AS distance
        FROM unnest(names) AS u(known)) AS n
    WHERE n.distance <= greatest(1, length(name) / 4)
        AND (n.distance = 0
            OR regexp_replace(lower(n.known), '\d+', '0', 'g') <> regexp_replace(lower(name), '\d+', '0', 'g'))
    ORDER BY n.distance, abs(length(n.known) - length(name)), n.known COLLATE "C"
    LIMIT 1;
END;

--: the known job whose name is nearest to one that is not, if any is near
CREATE FUNCTION l4._near_job(name text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN l4._near_name(name, ARRAY(SELECT j.job_id FROM l4.job AS j));

--: says which values a status may have, before the constraint refuses it
CREATE FUNCTION l4._wrong_status() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'status of job "%" must be running, succeeded or failed, not "%"', NEW.job_id, NEW.status
        USING ERRCODE = 'check_violation', SCHEMA = 'l4', TABLE = 'job', CONSTRAINT = 'job_status_check',
            HINT = coalesce('Did you mean "' || l4._near_name(NEW.status, '{running,succeeded,failed}') || '"?',
                'A job whose end is not known is running.');
END
$$;
REVOKE ALL ON FUNCTION l4._wrong_status() FROM PUBLIC;
CREATE TRIGGER job_wrong_status BEFORE INSERT OR UPDATE OF status ON l4.job FOR EACH ROW
    WHEN (NEW.status <> ALL (ARRAY['running', 'succeeded', 'failed']))
    EXECUTE FUNCTION l4._wrong_status();

--: raises an error for a job that is not in l4.job
CREATE FUNCTION l4._require_job(job_id text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM l4.job j WHERE j.job_id = _require_job.job_id) THEN
        RAISE EXCEPTION 'job "%" is not known', _require_job.job_id
            USING ERRCODE = 'undefined_object', HINT = coalesce(
                'Did you mean "' || l4._near_job(_require_job.job_id) || '"?',
                'l4.job lists the jobs; l4.ingest() adds those it finds in the logs.');
    END IF;
END
$$;

--: drops everything that l4 keeps of a job; false when there is no such job
CREATE FUNCTION l4.forget_job(job_id text) RETURNS bool
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    WITH gone AS (DELETE FROM l4.job j WHERE j.job_id = forget_job.job_id RETURNING 1)
    SELECT count(*) > 0 FROM gone;
END;
