-- Tables of the workflow: jobs, and what ingest keeps of their logs.
-- Only l4.ingest() writes the tables whose names start with "_". Packed columns are read by l4._unpack().

CREATE TABLE l4.job (
    job_id text NOT NULL,
    settings text,
    status text NOT NULL DEFAULT 'running',
    expected_nodes int,
    started_at timestamptz,
    ended_at timestamptz,
    attributes jsonb,
    CONSTRAINT job_pkey PRIMARY KEY (job_id),
    CONSTRAINT job_status_check CHECK (status = ANY (ARRAY['running', 'succeeded', 'failed'])),
    CONSTRAINT job_expected_nodes_check CHECK (expected_nodes > 0 AND expected_nodes <= 1000000)
);
CREATE INDEX job_settings_idx ON l4.job (settings, status);
COMMENT ON TABLE l4.job IS 'the jobs; jobs that may serve each other as baseline share settings';
COMMENT ON COLUMN l4.job.job_id IS 'name of the job, as in the log table';
COMMENT ON COLUMN l4.job.settings IS
    'what jobs must share to be compared: trainer, model, size; NULL = like no other job';
COMMENT ON COLUMN l4.job.status IS
    'running, succeeded or failed; chooses baselines, is never evidence about the job itself';
COMMENT ON COLUMN l4.job.expected_nodes IS 'number of nodes that should write logs, where known; at most a million';
COMMENT ON COLUMN l4.job.started_at IS 'start of the job, where known';
COMMENT ON COLUMN l4.job.ended_at IS 'end of the job, where known';
COMMENT ON COLUMN l4.job.attributes IS 'anything else the user wants to keep';

CREATE TABLE l4.job_node (
    job_id text NOT NULL,
    node text NOT NULL,
    rank int,
    addresses text[],
    attributes jsonb,
    CONSTRAINT job_node_pkey PRIMARY KEY (job_id, node),
    CONSTRAINT job_node_rank_check CHECK (rank >= 0 AND rank <= 99999999),
    CONSTRAINT job_node_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
COMMENT ON TABLE l4.job_node IS 'the nodes of a job: from an inventory, else learnt at ingest';
COMMENT ON COLUMN l4.job_node.node IS 'name of the node, as in the log table';
COMMENT ON COLUMN l4.job_node.rank IS 'rank of the node, 0 to 99,999,999; with several ranks on it, the lowest';
COMMENT ON COLUMN l4.job_node.addresses IS 'addresses and other names by which lines may mean the node';
COMMENT ON COLUMN l4.job_node.attributes IS 'anything else the user wants to keep';

CREATE TABLE l4._model (
    id bool NOT NULL DEFAULT true,
    parser l4.parser NOT NULL,
    generation int NOT NULL DEFAULT 0,
    CONSTRAINT _model_pkey PRIMARY KEY (id),
    CONSTRAINT _model_id_check CHECK (id)
);
COMMENT ON TABLE l4._model IS 'the parser of the workflow: one row, locked by whoever learns';
COMMENT ON COLUMN l4._model.parser IS 'what was learnt so far';
COMMENT ON COLUMN l4._model.generation IS
    'how often templates were forgotten: what was read before is not stored after';

CREATE TABLE l4._event (
    event_id int NOT NULL,
    merged_into int,
    level text,
    template text NOT NULL,
    example text NOT NULL,
    example_record text NOT NULL,
    stage text,
    then_stage text,
    iteration_rule int,
    is_stack bool NOT NULL DEFAULT false,
    is_coarse bool NOT NULL DEFAULT false,
    plain text GENERATED ALWAYS AS (ltrim(regexp_replace(template,
        '(?:^| )[^[:alnum:]<> ]+(?= |$)|(<\*>)/[a-z]+(?![[:alnum:]/.])', '\1', 'g'))) STORED,
    CONSTRAINT _event_pkey PRIMARY KEY (event_id)
);
CREATE INDEX _event_merged_into_idx ON l4._event (merged_into) WHERE merged_into IS NOT NULL;
COMMENT ON TABLE l4._event IS 'the events: a template under a level. Rules are applied once, when an event is learnt';
COMMENT ON COLUMN l4._event.event_id IS 'id, never reused';
COMMENT ON COLUMN l4._event.merged_into IS 'the surviving event where this one was merged into another, else NULL';
COMMENT ON COLUMN l4._event.level IS 'DEBUG, INFO, WARNING, ERROR or CRITICAL; NULL where lines carry none';
COMMENT ON COLUMN l4._event.template IS 'message with its variable parts as <*>';
COMMENT ON COLUMN l4._event.example IS 'message of the first record; of a long one 2 kB of beginning and end';
COMMENT ON COLUMN l4._event.example_record IS 'lines of the first record; of a long one 2 kB of beginning and end';
COMMENT ON COLUMN l4._event.stage IS 'stage that a line of this event marks, by stage_rule; NULL = none';
COMMENT ON COLUMN l4._event.then_stage IS 'stage of the lines that follow, where it differs';
COMMENT ON COLUMN l4._event.iteration_rule IS 'iteration_rule that reads the event; NULL = none';
COMMENT ON COLUMN l4._event.is_stack IS 'lines of a stack that stand alone: no message of their own';
COMMENT ON COLUMN l4._event.is_coarse IS 'a coarse template, of lines beyond the bounds of the parser';
COMMENT ON COLUMN l4._event.plain IS 'template without bars and units of rates';

CREATE TABLE l4._event_slot (
    event_id int NOT NULL,
    slot int NOT NULL,
    mask text NOT NULL,
    kind text,
    CONSTRAINT _event_slot_pkey PRIMARY KEY (event_id, slot)
);
COMMENT ON TABLE l4._event_slot IS 'what the variable parts of an event mean';
COMMENT ON COLUMN l4._event_slot.slot IS
    'the variable part: its place among the delimiters of the message, so that it stays the same when a template '
    'grows';
COMMENT ON COLUMN l4._event_slot.mask IS 'mask of its first value';
COMMENT ON COLUMN l4._event_slot.kind IS
    'rank, host, address, own, exit, device or list, by _mention_rule; NULL = none of them';

CREATE TABLE l4._event_word (
    event_id int NOT NULL,
    slot int NOT NULL,
    word text NOT NULL,
    CONSTRAINT _event_word_pkey PRIMARY KEY (event_id, slot)
);
COMMENT ON TABLE l4._event_word IS
    'words of the message that made an event, in places that are variable by now: records of the event whose word '
    'was not counted have them';
COMMENT ON COLUMN l4._event_word.slot IS 'the place, as in _event_slot';
COMMENT ON COLUMN l4._event_word.word IS 'the word';

CREATE TABLE l4._job_budget (
    job_id text NOT NULL,
    of_errors bool NOT NULL,
    generation int NOT NULL,
    templates int NOT NULL,
    ordinary int NOT NULL,
    strange int NOT NULL,
    vocabulary int NOT NULL,
    CONSTRAINT _job_budget_pkey PRIMARY KEY (job_id, of_errors),
    CONSTRAINT _job_budget_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
COMMENT ON TABLE l4._job_budget IS 'what a job has taught the parser: no job may fill it';
COMMENT ON COLUMN l4._job_budget.of_errors IS 'of messages of level ERROR and CRITICAL; false: of all others';
COMMENT ON COLUMN l4._job_budget.generation IS 'of the parser: the row says nothing about another one';
COMMENT ON COLUMN l4._job_budget.templates IS 'templates that it made, less those that were merged away';
COMMENT ON COLUMN l4._job_budget.ordinary IS 'messages that it taught and that were not strange';
COMMENT ON COLUMN l4._job_budget.strange IS 'spent on strange ones';
COMMENT ON COLUMN l4._job_budget.vocabulary IS
    'how many words the parser knew when the budget was closed; 0: it is open';

CREATE TABLE l4._job_pack (
    job_id text NOT NULL,
    events bytea NOT NULL,
    CONSTRAINT _job_pack_pkey PRIMARY KEY (job_id)
);
COMMENT ON TABLE l4._job_pack IS 'roll-up of a job; read it by _job_event';
COMMENT ON COLUMN l4._job_pack.events IS 'rows of _job_event, packed';

CREATE TABLE l4._stream (
    stream_id int GENERATED BY DEFAULT AS IDENTITY NOT NULL,
    job_id text NOT NULL,
    node text NOT NULL,
    source text NOT NULL,
    rank int,
    ranks int4multirange NOT NULL DEFAULT '{}',
    lines bigint NOT NULL DEFAULT 0,
    unparsed bigint NOT NULL DEFAULT 0,
    seen int8multirange NOT NULL DEFAULT '{}',
    tail int8multirange NOT NULL DEFAULT '{}',
    next_line_no bigint,
    step bigint NOT NULL DEFAULT 16384,
    sparse bool NOT NULL DEFAULT false,
    next_chunk_no int NOT NULL DEFAULT 0,
    tail_lines int NOT NULL DEFAULT 0,
    units int NOT NULL DEFAULT 0,
    pack_id int,
    member int,
    first_ts timestamptz,
    last_ts timestamptz,
    last_event_id int,
    last_iteration int,
    max_in_flight int,
    timed_line_no bigint,
    CONSTRAINT _stream_pkey PRIMARY KEY (stream_id),
    CONSTRAINT _stream_key UNIQUE (job_id, node, source),
    CONSTRAINT _stream_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
) WITH (fillfactor = 40);   -- each batch updates its rows, and no index
COMMENT ON TABLE l4._stream IS 'a stream of lines: one source of one node of one job, and how far it was read';
COMMENT ON COLUMN l4._stream.source IS 'the source on the node; empty where the relation has none';
COMMENT ON COLUMN l4._stream.rank IS 'rank of its lines; with several, the lowest';
COMMENT ON COLUMN l4._stream.ranks IS 'ranks that its lines carry in their heads';
COMMENT ON COLUMN l4._stream.lines IS 'settled lines';
COMMENT ON COLUMN l4._stream.tail_lines IS 'lines of records that were open when the input ended';
COMMENT ON COLUMN l4._stream.units IS 'pieces that were read: streams of a job take turns';
COMMENT ON COLUMN l4._stream.unparsed IS 'lines whose head fitted no line format';
COMMENT ON COLUMN l4._stream.seen IS 'line numbers that are settled';
COMMENT ON COLUMN l4._stream.tail IS
    'line numbers of records that were open when the input ended: read again when more lines follow';
COMMENT ON COLUMN l4._stream.next_line_no IS 'where reading goes on';
COMMENT ON COLUMN l4._stream.step IS 'line numbers that one piece of the stream spans';
COMMENT ON COLUMN l4._stream.sparse IS 'line numbers have more gaps than are kept: only the highest counts';
COMMENT ON COLUMN l4._stream.next_chunk_no IS 'number of the next chunk';
COMMENT ON COLUMN l4._stream.pack_id IS
    'the pack that holds what is stored of it: one of its own, with the number of the stream, or one that it shares; '
    'NULL before its first lines';
COMMENT ON COLUMN l4._stream.member IS 'number in the pack that it shares; NULL = the pack is its own';
COMMENT ON COLUMN l4._stream.last_event_id IS 'event of the last record';
COMMENT ON COLUMN l4._stream.last_iteration IS 'last iteration that was reported done';
COMMENT ON COLUMN l4._stream.max_in_flight IS 'highest iteration that was mentioned';
COMMENT ON COLUMN l4._stream.timed_line_no IS
    'last line that has a time, its own or that of the column: those behind it have that time; NULL = none has';

-- A pack holds a stream, or several short ones of a job: its values are read by l4._member(). Numbers of packs that
-- are shared are taken from those of streams.
CREATE TABLE l4._pack_chunk (
    pack_id int NOT NULL,
    chunk_no int NOT NULL,
    lines int NOT NULL,
    first_line_no bigint NOT NULL,
    last_line_no bigint NOT NULL,
    first_ts timestamptz,
    last_ts timestamptz,
    body bytea NOT NULL,
    CONSTRAINT _pack_chunk_pkey PRIMARY KEY (pack_id, chunk_no)
);
COMMENT ON TABLE l4._pack_chunk IS
    'packed lines, up to 16,384 a row; chunk -1 holds the records that were open when the input ended; read it by '
    '_chunk';
COMMENT ON COLUMN l4._pack_chunk.chunk_no IS 'order of reading';
COMMENT ON COLUMN l4._pack_chunk.lines IS 'number of lines';
COMMENT ON COLUMN l4._pack_chunk.first_line_no IS 'lowest line number';
COMMENT ON COLUMN l4._pack_chunk.last_line_no IS 'highest line number';
COMMENT ON COLUMN l4._pack_chunk.body IS
    'line_no, distance to the first line of the record, ts, rank, event_id, stage, epoch, iteration';

CREATE TABLE l4._counted (
    job_id text NOT NULL,
    stream_id int NOT NULL,
    iterations bytea NOT NULL,
    CONSTRAINT _counted_pkey PRIMARY KEY (stream_id),
    CONSTRAINT _counted_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
CREATE INDEX _counted_job_id_idx ON l4._counted (job_id);
COMMENT ON TABLE l4._counted IS
    'iterations of streams in whose lines no rule reads any: a diagnosis found the event that counts up';
COMMENT ON COLUMN l4._counted.iterations IS 'as in _pack, without metrics';

CREATE TABLE l4._pack (
    pack_id int NOT NULL,
    part int NOT NULL,
    events bytea,
    slots bytea,
    durations bytea,
    iterations bytea,
    stages bytea,
    activity bytea,
    sequences bytea,
    open_events bytea,
    open_slots bytea,
    open_durations bytea,
    open_iterations bytea,
    open_stages bytea,
    open_activity bytea,
    open_sequences bytea,
    scan_state bytea,
    pack_state bytea,
    CONSTRAINT _pack_pkey PRIMARY KEY (pack_id, part),
    CONSTRAINT _pack_part_check CHECK (part >= 0)
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
COMMENT ON TABLE l4._pack IS
    'what diagnosis reads of streams, and what reading goes on with; most packs have one row, further parts hold '
    'more of what grows with time; read it by _summary. open_...: of records that were open when the input ended, of '
    'sequences also iterations that are going on';
COMMENT ON COLUMN l4._pack.part IS
    '0 has the counts, what is open, and the beginning of what grows with time (durations, iterations, activity, '
    'sequences)';
COMMENT ON COLUMN l4._pack.events IS 'event_id, occurrences, first_ts, last_ts, first_line_no, last_line_no';
COMMENT ON COLUMN l4._pack.slots IS
    'event_id, slot, first_line_no, mask, value, occurrences (0: too many different values, not counted; of the '
    'first one less the number of all records), first_ts; slot -1: records that have the words of another event, '
    'whose number is the value';
COMMENT ON COLUMN l4._pack.durations IS
    'event_id, slot, block of 10 iterations, number, sum in microseconds';
COMMENT ON COLUMN l4._pack.iterations IS 'epoch, iteration, time of the report, duration in milliseconds, metrics';
COMMENT ON COLUMN l4._pack.stages IS 'stage, first_ts, last_ts, first_line_no, last_line_no';
COMMENT ON COLUMN l4._pack.activity IS 'second, lines';
COMMENT ON COLUMN l4._pack.sequences IS 'rank, epoch, iteration, events';
COMMENT ON COLUMN l4._pack.scan_state IS 'state of the reader at next_line_no';
COMMENT ON COLUMN l4._pack.pack_state IS
    'state of the packing at next_line_no: stage, iteration that is going on, records that lines may join';

CREATE TABLE l4._ingest (
    ingest_id int GENERATED BY DEFAULT AS IDENTITY NOT NULL,
    logs text NOT NULL,
    job_id text,
    pid int NOT NULL,
    started_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    ended_at timestamptz,
    lines bigint NOT NULL DEFAULT 0,
    total bigint,
    CONSTRAINT _ingest_pkey PRIMARY KEY (ingest_id)
);
COMMENT ON TABLE l4._ingest IS 'calls of l4.ingest(): the running ones and the last one of each relation and job';
COMMENT ON COLUMN l4._ingest.logs IS 'the relation';
COMMENT ON COLUMN l4._ingest.job_id IS 'the job it was limited to; NULL = all';
COMMENT ON COLUMN l4._ingest.pid IS 'process of the session';
COMMENT ON COLUMN l4._ingest.started_at IS 'start of the call';
COMMENT ON COLUMN l4._ingest.updated_at IS 'end of the last batch';
COMMENT ON COLUMN l4._ingest.ended_at IS 'end of the call; NULL while it runs, and after a crash';
COMMENT ON COLUMN l4._ingest.lines IS 'lines read so far';
COMMENT ON COLUMN l4._ingest.total IS 'lines to read, estimated; NULL = not known';

-- No foreign keys from these tables: to check one costs more than to insert a row. A job's row is locked while its
-- rows are written, and what is deleted takes them along, all in one statement.
CREATE FUNCTION l4._delete_packs() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        TRUNCATE l4._job_pack, l4._pack_chunk, l4._pack;
    ELSIF TG_TABLE_NAME = 'job' THEN
        DELETE FROM l4._job_pack e USING gone g WHERE e.job_id = g.job_id;
    ELSE
        DELETE FROM l4._pack_chunk c USING gone g WHERE c.pack_id = g.pack_id;
        DELETE FROM l4._pack p USING gone g WHERE p.pack_id = g.pack_id;
    END IF;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION l4._delete_packs() FROM PUBLIC;
COMMENT ON FUNCTION l4._delete_packs() IS
    'trigger: what is packed of jobs or streams goes with them, all at once';
CREATE TRIGGER job_delete AFTER DELETE ON l4.job REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION l4._delete_packs();
CREATE TRIGGER _stream_delete AFTER DELETE ON l4._stream REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION l4._delete_packs();
CREATE TRIGGER job_truncate AFTER TRUNCATE ON l4.job FOR EACH STATEMENT EXECUTE FUNCTION l4._delete_packs();

CREATE FUNCTION l4._edit_distance(a text, b text) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'l4_edit_distance';
COMMENT ON FUNCTION l4._edit_distance(text, text) IS
    'insertions, deletions and substitutions of characters between two names; beyond 255 bytes they count as equal';

-- A quarter of a name may be mistyped, and one character of a short one; but job-17 is not job-18 mistyped.
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
COMMENT ON FUNCTION l4._near_name(text, text[]) IS 'the known name that is nearest to one that is not, if any is near';

CREATE FUNCTION l4._near_job(name text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN l4._near_name(name, ARRAY(SELECT j.job_id FROM l4.job AS j));
COMMENT ON FUNCTION l4._near_job(text) IS 'the known job whose name is nearest to one that is not, if any is near';

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
COMMENT ON FUNCTION l4._wrong_status() IS 'says which values a status may have, before the constraint refuses it';
CREATE TRIGGER job_wrong_status BEFORE INSERT OR UPDATE OF status ON l4.job FOR EACH ROW
    WHEN (NEW.status <> ALL (ARRAY['running', 'succeeded', 'failed']))
    EXECUTE FUNCTION l4._wrong_status();

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
COMMENT ON FUNCTION l4._require_job(text) IS 'raises an error for a job that is not in l4.job';

CREATE FUNCTION l4.forget_job(job_id text) RETURNS bool
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    WITH gone AS (DELETE FROM l4.job j WHERE j.job_id = forget_job.job_id RETURNING 1)
    SELECT count(*) > 0 FROM gone;
END;
COMMENT ON FUNCTION l4.forget_job(text) IS 'drops everything that l4 keeps of a job; false when there is no such job';
