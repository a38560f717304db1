-- Views on what ingest keeps. A merged event shows as the one that it was merged into; counts add up.
-- All start with job_id; a condition on it, and on node, decides which packed values are opened.

--: rows of a packed value
CREATE FUNCTION l4._unpack(packed bytea) RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 100 AS 'MODULE_PATHNAME', 'l4_unpack';

--: rows of two packed values: those of what is settled, those of what is open
CREATE FUNCTION l4._unpack(packed bytea, open bytea) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 AS 'MODULE_PATHNAME', 'l4_unpack';

--: rows of two packed values whose first column is one of the ids
CREATE FUNCTION l4._unpack(packed bytea, open bytea, ids int[]) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 500 ROWS 20 AS 'MODULE_PATHNAME', 'l4_unpack';

--: what a value of a pack holds of a stream, by its number; NULL = the pack is the stream's own
CREATE FUNCTION l4._member(packed bytea, member int) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'l4_member';

-- The planner may ask a function behind these views about a pack and a stream before it compares their ids: CASE
-- keeps pairs apart that do not belong together.
--: what diagnosis reads of a stream, packed; most have one part
CREATE VIEW l4._summary AS
SELECT s.stream_id, s.job_id, s.node, s.source, s.last_iteration, s.timed_line_no, p.part,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.events, s.member) END AS events,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.slots, s.member) END AS slots,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.durations, s.member) END AS durations,
    COALESCE(CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.iterations, s.member) END,
        (SELECT c.iterations FROM l4._counted c WHERE c.stream_id = s.stream_id AND p.part = 0)) AS iterations,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.stages, s.member) END AS stages,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.activity, s.member) END AS activity,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.sequences, s.member) END AS sequences,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.open_events, s.member) END AS open_events,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.open_slots, s.member) END AS open_slots,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.open_durations, s.member) END AS open_durations,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.open_iterations, s.member) END AS open_iterations,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.open_stages, s.member) END AS open_stages,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.open_activity, s.member) END AS open_activity,
    CASE WHEN p.pack_id = s.pack_id THEN l4._member(p.open_sequences, s.member) END AS open_sequences
FROM l4._stream s
JOIN l4._pack p ON p.pack_id = s.pack_id;

--: packed lines of a stream; of a pack that is shared, the bounds are those of all its streams
CREATE VIEW l4._chunk AS
SELECT s.stream_id, s.job_id, s.node, s.source, c.chunk_no, c.first_line_no, c.last_line_no, c.first_ts, c.last_ts,
    CASE WHEN c.pack_id = s.pack_id THEN l4._member(c.body, s.member) END AS body
FROM l4._stream s
JOIN l4._pack_chunk c ON c.pack_id = s.pack_id;

--: planner support: conditions on packed lines and iterations become arguments
CREATE FUNCTION l4._window_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_window_support';

--: packed lines of some events (NULL = of all), from a time and an iteration on and up to another one (NULL = open), of
--: a stage (NULL = of any); first_ts, last_ts: none is before, after it (NULL = not known); columns: of a bit each, the
--: others are NULL
CREATE FUNCTION l4._lines_between(packed bytea, ids int[], from_ts timestamptz, to_ts timestamptz,
    first_ts timestamptz DEFAULT NULL, last_ts timestamptz DEFAULT NULL, from_iteration int DEFAULT NULL,
    to_iteration int DEFAULT NULL, of_stage text DEFAULT NULL, columns int DEFAULT -1)
RETURNS TABLE (line_no bigint, back bigint, ts timestamptz, rank int, event_id int, stage text, iteration int)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 SUPPORT l4._window_support
AS 'MODULE_PATHNAME', 'l4_lines_between';

--: roll-up of a job: one row an event
--.event_id the event; may have been merged since, see _event.merged_into
--.occurrences records of the event in the job
--.nodes nodes that have it
--.first_node node of the example
--.first_source source of the example
--.first_line_no line number of the example
--.example lines of the first record; of a long one 2 kB of beginning and end
--.example_ts time of the example
CREATE VIEW l4._job_event AS
SELECT p.job_id, u.event_id, u.occurrences, u.nodes, u.first_ts, u.last_ts, u.first_node, u.first_source,
    u.first_line_no, u.example, u.example_ts
FROM l4._job_pack p
CROSS JOIN LATERAL l4._unpack(p.events) AS u(event_id int, occurrences bigint, nodes int, first_ts timestamptz,
    last_ts timestamptz, first_node text, first_source text, first_line_no bigint, example text,
    example_ts timestamptz);

--: values of the variable parts of events in a stream, under surviving events: of some ids (NULL = all), of those that
--: may name something (of the slots keys, event_id << 32 | slot, or more than a number; NULL = any), or of each slot
--: the first
CREATE FUNCTION l4._unpack_values(slots bytea, open_slots bytea, events bytea, open_events bytea, merged int[],
    survivors int[], word_events int[], word_slots int[], words text[], ids int[], keys bigint[], first bool)
RETURNS TABLE (event_id int, slot int, mask text, value text, occurrences bigint, first_ts timestamptz,
    first_line_no bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 500 ROWS 50 AS 'MODULE_PATHNAME', 'l4_slot_values';

-- A database of many jobs has many more events than one job.
--: one row: what l4._unpack_values() needs to know, besides packed values, of some events as packed (NULL = of all)
CREATE FUNCTION l4._slot_context(ids int[] DEFAULT NULL)
RETURNS TABLE (merged int[], survivors int[], word_events int[], word_slots int[], words text[])
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF ids IS NULL THEN
        ids := ARRAY(SELECT e.event_id FROM l4._event AS e WHERE e.merged_into IS NOT NULL
            UNION SELECT w.event_id FROM l4._event_word AS w);
    END IF;
    RETURN QUERY
    SELECT m.*, w.*
    FROM (SELECT coalesce(array_agg(e.event_id ORDER BY e.event_id), '{}'),
            coalesce(array_agg(e.merged_into ORDER BY e.event_id), '{}')
        FROM l4._event AS e WHERE e.event_id = ANY (ids) AND e.merged_into IS NOT NULL) AS m
    CROSS JOIN (SELECT coalesce(array_agg(w.event_id ORDER BY w.event_id, w.slot), '{}'),
            coalesce(array_agg(w.slot ORDER BY w.event_id, w.slot), '{}'),
            coalesce(array_agg(w.word ORDER BY w.event_id, w.slot), '{}')
        FROM l4._event_word AS w WHERE w.event_id = ANY (ids)) AS w;
END
$$;

--: the event that counts: merged_into where there is one
CREATE FUNCTION l4._survivor(event_id int, merged_into int) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN COALESCE(merged_into, event_id);

--: ids by which packed values may hold some events: of the surviving ones and of those merged into them
CREATE FUNCTION l4._packed_ids(event_ids int[]) RETURNS int[]
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    survivors constant int[] := ARRAY(SELECT DISTINCT l4._survivor(e.event_id, e.merged_into)
        FROM l4._event AS e WHERE e.event_id = ANY (event_ids));
BEGIN
    RETURN ARRAY(SELECT s FROM unnest(survivors) AS s
        UNION ALL SELECT e.event_id FROM l4._event AS e WHERE e.merged_into = ANY (survivors) ORDER BY 1);
END
$$;

--: the events: one row each, with what all jobs count
--.occurrences records of the event in all jobs
--.jobs jobs that have the event
--.first_seen time of the first record
--.last_seen time of the last record
CREATE VIEW l4.template AS
SELECT e.event_id, e.template, e.level, COALESCE(c.occurrences, 0) AS occurrences, COALESCE(c.jobs, 0)::int AS jobs,
    c.first_seen, c.last_seen, e.example, e.merged_into
FROM l4._event e
LEFT JOIN (SELECT l4._survivor(e.event_id, e.merged_into) AS event_id, sum(j.occurrences)::bigint AS occurrences,
        count(DISTINCT j.job_id) AS jobs, min(j.first_ts) AS first_seen, max(j.last_ts) AS last_seen
    FROM l4._job_event j JOIN l4._event e ON e.event_id = j.event_id
    GROUP BY 1) c ON c.event_id = e.event_id;

--: a row for every line; give a job, and a node, level, event or time
--.line_no number of the line in its stream
--.record_line_no number of the first line of its record
--.ts time: the relation's, else the line's own
--.rank rank in the head of the line, else the relation's
--.stage stage of the job on this stream at this line
--.iteration iteration in flight at this line; the line that reports an iteration done belongs to it
CREATE VIEW l4.event_line AS
SELECT s.job_id, s.node, s.source, u.line_no, u.line_no - u.back AS record_line_no, u.ts, u.rank, e.level,
    l4._survivor(e.event_id, e.merged_into) AS event_id, u.stage, u.iteration
FROM l4._chunk s
CROSS JOIN LATERAL l4._lines_between(s.body, NULL, NULL, NULL, s.first_ts, s.last_ts) AS u
JOIN l4._event e ON e.event_id = u.event_id;

--: records of each event on each node
--.occurrences records
--.first_line_no line of the first record; of several sources the lowest number
--.last_line_no line of the last record
CREATE VIEW l4.event_count AS
SELECT s.job_id, s.node, l4._survivor(e.event_id, e.merged_into) AS event_id, sum(u.occurrences)::bigint AS occurrences,
    min(u.first_ts) AS first_ts, max(u.last_ts) AS last_ts, min(u.first_line_no) AS first_line_no,
    max(u.last_line_no) AS last_line_no
FROM l4._summary s
CROSS JOIN LATERAL l4._unpack(s.events, s.open_events) AS u(event_id int, occurrences bigint, first_ts timestamptz,
    last_ts timestamptz, first_line_no bigint, last_line_no bigint)
JOIN l4._event e ON e.event_id = u.event_id
GROUP BY 1, 2, 3;

-- What stands behind the last time of its file, as a traceback in one of stderr, came after all that its node has times
-- for, and in the order of its lines: where a node writes several files, the last time of this one may be long past.
--: time of a record: behind the last line of its stream with a time just after the last one of its node
CREATE FUNCTION l4._time_of(ts timestamptz, line_no bigint, timed_line_no bigint, node_ts timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN line_no <= timed_line_no OR node_ts IS NULL THEN ts
    ELSE node_ts + (line_no - coalesce(timed_line_no, -1)) * interval '1 microsecond' END;

-- With the ids in hand only their rows are unpacked: of a thousand nodes some thousand rows instead of half a million.
--: l4.event_count of some events of a job; NULL = of all; last_words = what has no time is taken for a node's last
CREATE FUNCTION l4._event_counts(job_id text, event_ids int[], last_words bool DEFAULT false)
RETURNS SETOF l4.event_count
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    ids constant int[] := l4._packed_ids(event_ids);
BEGIN
    IF cardinality(ids) = 0 THEN
        RETURN;
    ELSIF ids IS NULL THEN
        RETURN QUERY SELECT c.* FROM l4.event_count AS c WHERE c.job_id = _event_counts.job_id;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT _event_counts.job_id, s.node, e.survivor, sum(u.occurrences)::bigint,
        min(l4._time_of(u.first_ts, u.first_line_no, s.timed_line_no, t.ts)),
        max(l4._time_of(u.last_ts, u.last_line_no, s.timed_line_no, t.ts)),
        min(u.first_line_no), max(u.last_line_no)
    FROM l4._summary AS s
    LEFT JOIN (SELECT z.node, max(z.last_ts) AS ts FROM l4._stream AS z
        WHERE last_words AND z.job_id = _event_counts.job_id GROUP BY z.node) AS t USING (node)
    CROSS JOIN LATERAL l4._unpack(s.events, s.open_events, ids) AS u(event_id int, occurrences bigint,
        first_ts timestamptz, last_ts timestamptz, first_line_no bigint, last_line_no bigint)
    JOIN (SELECT x.event_id, l4._survivor(x.event_id, x.merged_into) AS survivor FROM l4._event AS x
        WHERE x.event_id = ANY (ids)) AS e USING (event_id)
    WHERE s.job_id = _event_counts.job_id
    GROUP BY s.node, e.survivor;
END;
$$;

-- Of the lines of a job only those wanted leave the packed values.
--: the lines of an event in a job, of one node or (NULL) of all
CREATE FUNCTION l4._event_lines(job_id text, event_id int, node text) RETURNS SETOF l4.event_line
LANGUAGE sql STABLE PARALLEL SAFE COST 1000 ROWS 1000
BEGIN ATOMIC
    WITH ids AS MATERIALIZED (
        SELECT l4._packed_ids(ARRAY(SELECT l4._survivor(t.event_id, t.merged_into) FROM l4._event t
            WHERE t.event_id = _event_lines.event_id)) AS ids
    ), streams AS (
        SELECT s.stream_id, s.node, s.source, min(u.first_line_no) AS first_line_no
        FROM ids
        CROSS JOIN l4._summary s
        CROSS JOIN LATERAL l4._unpack(s.events, s.open_events, ids.ids)
            AS u(event_id int, occurrences bigint, first_ts timestamptz, last_ts timestamptz, first_line_no bigint)
        WHERE s.job_id = _event_lines.job_id AND (_event_lines.node IS NULL OR s.node = _event_lines.node)
        GROUP BY 1, 2, 3
    )
    SELECT _event_lines.job_id, s.node, s.source, u.line_no, u.line_no - u.back, u.ts, u.rank, e.level,
        l4._survivor(e.event_id, e.merged_into), u.stage, u.iteration
    FROM streams s
    CROSS JOIN ids
    JOIN l4._chunk c ON c.stream_id = s.stream_id AND c.last_line_no >= s.first_line_no
    CROSS JOIN LATERAL l4._lines_between(c.body, ids.ids, NULL, NULL) AS u
    JOIN l4._event e ON e.event_id = u.event_id
    ORDER BY s.node, s.source, u.line_no;
END;

--: the lines of an event in a job, with all lines of their records
CREATE FUNCTION l4.event_lines(job_id text, event_id int) RETURNS SETOF l4.event_line
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 1000
BEGIN ATOMIC
    SELECT l.* FROM l4._event_lines(event_lines.job_id, event_lines.event_id, NULL) l;
END;

--: metrics of a row of packed iterations, counted from 1: they are made of the rows that a query shows, not of those it
--: looks at
CREATE FUNCTION l4._iteration_metrics(packed bytea, open bytea, place bigint) RETURNS jsonb
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 50 AS 'MODULE_PATHNAME', 'l4_iteration_metrics';

--: packed iterations that started from a time on and up to another one, from a number on and up to another one (NULL =
--: open), and their rows, from 1 on
CREATE FUNCTION l4._iterations_between(packed bytea, open bytea, from_ts timestamptz, to_ts timestamptz,
    from_iteration int DEFAULT NULL, to_iteration int DEFAULT NULL)
RETURNS TABLE (epoch int, iteration int, started timestamptz, duration_ms float8, place bigint)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 1000 SUPPORT l4._window_support
AS 'MODULE_PATHNAME', 'l4_iterations_between';

--: iterations as the streams report them done
--.epoch epoch: as printed, else counted up when the iterations start again
--.iteration number of the iteration
--.started time of the report less the duration, where it is known
--.duration_ms as printed, else the time since the report before, shared by the iterations between
--.metrics other numbers of the report: loss, learning rate and others
CREATE VIEW l4.iteration AS
SELECT s.job_id, s.node, s.source, u.epoch, u.iteration, u.started, u.duration_ms,
    l4._iteration_metrics(s.iterations, s.open_iterations, u.place) AS metrics
FROM l4._summary s
CROSS JOIN LATERAL l4._iterations_between(s.iterations, s.open_iterations, NULL, NULL) AS u;

--: l4.iteration with the time of the report
CREATE VIEW l4._iteration AS
SELECT s.job_id, s.node, s.source, u.epoch, u.iteration, u.ended, u.duration_ms
FROM l4._summary s
CROSS JOIN LATERAL l4._unpack(s.iterations, s.open_iterations)
    AS u(epoch int, iteration int, ended timestamptz, duration_ms float8);

--: stages in the order in which each stream went through them
--.stage init, data, model, checkpoint_load, train, eval, checkpoint_save or shutdown
--.first_line_no first line
--.last_line_no last line
CREATE VIEW l4.stage_span AS
SELECT s.job_id, s.node, u.stage, u.first_ts, u.last_ts, u.first_line_no, u.last_line_no
FROM l4._summary s
CROSS JOIN LATERAL l4._unpack(s.stages, s.open_stages) AS u(stage text, first_ts timestamptz, last_ts timestamptz,
    first_line_no bigint, last_line_no bigint);

--: nodes that wrote lines
CREATE VIEW l4._node AS
SELECT s.job_id, s.node, min(s.rank) AS rank, count(*)::int AS sources, sum(s.lines + s.tail_lines)::bigint AS lines,
    min(s.first_ts) AS first_ts, max(s.last_ts) AS last_ts,
    (array_agg(l4._survivor(e.event_id, e.merged_into) ORDER BY s.last_ts DESC NULLS LAST, s.source))[1]
        AS last_event_id,
    max(s.last_iteration) AS last_iteration, max(s.max_in_flight) AS max_in_flight, sum(s.unparsed)::bigint AS unparsed
FROM l4._stream s
LEFT JOIN l4._event e ON e.event_id = s.last_event_id
GROUP BY 1, 2;

--: values of the variable parts of some events of a job (NULL = of all): the first 32 different ones a stream, event
--: and slot, counted unless there were more; with keys those that may name something, as l4._unpack_values() takes them
CREATE FUNCTION l4._slot_values(job_id text, event_ids int[], keys bigint[] DEFAULT NULL)
RETURNS TABLE (node text, event_id int, slot int, mask text, value text, occurrences bigint, first_ts timestamptz)
LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    ids constant int[] := l4._packed_ids(event_ids);
BEGIN
    IF cardinality(ids) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT s.node, u.event_id, u.slot, min(u.mask), u.value,
        CASE WHEN NOT bool_or(u.occurrences IS NULL) THEN sum(u.occurrences)::bigint END, min(u.first_ts)
    FROM l4._slot_context(ids) AS x
    CROSS JOIN l4._summary AS s
    CROSS JOIN LATERAL l4._unpack_values(s.slots, s.open_slots, s.events, s.open_events, x.merged, x.survivors,
        x.word_events, x.word_slots, x.words, ids, keys, false) AS u
    WHERE s.job_id = _slot_values.job_id AND s.part = 0
    GROUP BY s.node, u.event_id, u.slot, u.value;
END;
$$;

--: lines per node and second; of long streams per 2, 4, 8 and more seconds
CREATE VIEW l4._activity AS
SELECT s.job_id, s.node, u.bucket, sum(u.lines)::bigint AS lines
FROM l4._summary s
CROSS JOIN LATERAL l4._unpack(s.activity, s.open_activity) AS u(bucket timestamptz, lines bigint)
GROUP BY 1, 2, 3;

--: values of the variable parts of an event in a job, and the nodes that have them; occurrences is NULL where a node
--: had more than 32 different values of a slot
CREATE FUNCTION l4.event_parameters(job_id text, event_id int)
RETURNS TABLE (slot int, mask text, value text, occurrences bigint, nodes text[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    SELECT dense_rank() OVER (ORDER BY v.slot)::int, min(v.mask), v.value,
        CASE WHEN NOT bool_or(v.occurrences IS NULL) THEN sum(v.occurrences)::bigint END,
        array_agg(DISTINCT v.node ORDER BY v.node)
    FROM l4._slot_values(event_parameters.job_id, ARRAY(SELECT l4._survivor(t.event_id, t.merged_into) FROM l4._event t
        WHERE t.event_id = event_parameters.event_id)) v
    GROUP BY v.slot, v.value
    ORDER BY 1, 4 DESC NULLS LAST, v.value;
END;

--: a line taken apart, and its event
CREATE FUNCTION l4._parse(parser l4.parser, ruleset jsonb, line text, OUT ts timestamptz, OUT level text, OUT rank int,
    OUT host text, OUT component text, OUT message text, OUT event_id int)
LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'l4_ingest_parse';

--: a line as ingest would read it: head, message, event, the stage that it marks and the iteration that it names;
--: learns nothing
CREATE FUNCTION l4.parse(line text, OUT ts timestamptz, OUT level text, OUT rank int, OUT host text, OUT component text,
    OUT message text, OUT event_id int, OUT template text, OUT stage text, OUT iteration int)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 2000
BEGIN ATOMIC
    SELECT p.ts, p.level, p.rank, p.host, p.component, p.message, p.event_id, e.template,
        COALESCE(CASE WHEN e.event_id IS NULL THEN (SELECT s.stage FROM l4._stage_of(p.message) s) ELSE e.stage END,
            CASE i.kind WHEN 'done' THEN 'train' END),
        CASE WHEN i.iteration > 2147483646 THEN 2147483646 ELSE i.iteration::int END
    FROM (SELECT l4._ruleset() AS ruleset OFFSET 0) r
    CROSS JOIN LATERAL l4._parse((SELECT m.parser FROM l4._model m), r.ruleset, parse.line) p
    CROSS JOIN LATERAL l4._iteration(r.ruleset, p.message) i
    LEFT JOIN l4._event e ON e.event_id = p.event_id;
END;

--: calls of l4.ingest(): the last one of each relation and job
--.job_id the job that the call was limited to; NULL = all
--.state running, done, or interrupted by an error, a cancel or a crash: the next call goes on
--.lines_done new lines read
--.lines_total new lines to read, estimated from line numbers; NULL = not known
--.lines_per_second rate
--.time_left estimate by rate and total
--.coarse_records records of the job, or of all jobs, that have a coarse template since the parser learns no more like
--: them; NULL = none
CREATE VIEW l4.ingest_progress AS
SELECT i.logs, i.job_id, CASE WHEN i.ended_at IS NOT NULL THEN 'done'
        WHEN EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = i.pid AND a.backend_start <= i.started_at)
            THEN 'running'
        ELSE 'interrupted' END AS state,
    i.pid, i.started_at, i.updated_at, i.lines AS lines_done, i.total AS lines_total,
    i.lines / NULLIF(d.seconds, 0) AS lines_per_second,
    CASE WHEN i.ended_at IS NULL
        THEN make_interval(secs => GREATEST(i.total - i.lines, 0) * d.seconds / NULLIF(i.lines, 0)) END AS time_left,
    (SELECT sum(j.occurrences)::bigint FROM l4._job_event j
    WHERE EXISTS (SELECT FROM l4._event e WHERE e.is_coarse)
        AND EXISTS (SELECT FROM l4._event e WHERE e.event_id = j.event_id AND e.is_coarse)
        AND (i.job_id IS NULL OR j.job_id = i.job_id)) AS coarse_records
FROM l4._ingest i
CROSS JOIN LATERAL (SELECT EXTRACT(epoch FROM i.updated_at - i.started_at)::float8) AS d(seconds);

--: name of a table that is to be made, for a statement
CREATE FUNCTION l4._new_table(name text, kind text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    parts text[] := parse_ident(_new_table.name);
BEGIN
    IF cardinality(parts) > 2 THEN
        RAISE EXCEPTION 'invalid name of a % table: "%"', kind, _new_table.name
            USING ERRCODE = 'invalid_name', HINT = 'Give a name, or a schema and a name.';
    END IF;
    RETURN (SELECT string_agg(quote_ident(p.part), '.' ORDER BY p.n)
            FROM unnest(parts) WITH ORDINALITY AS p(part, n));
END
$$;

--: makes a table for log lines with the key that l4.ingest() reads fastest; line_no counts up where it is not given
CREATE FUNCTION l4.create_log_table(name text) RETURNS regclass
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
AS $$
-- No SET search_path: an unqualified name is made where the caller's CREATE TABLE would make it.
DECLARE
    place text := l4._new_table(create_log_table.name, 'log');
BEGIN
    EXECUTE pg_catalog.format('CREATE TABLE %s ('
        'job_id pg_catalog.text NOT NULL, node pg_catalog.text NOT NULL, source pg_catalog.text NOT NULL DEFAULT %L, '
        'rank pg_catalog.int4, line_no pg_catalog.int8 NOT NULL GENERATED BY DEFAULT AS IDENTITY, '
        'ts pg_catalog.timestamptz, line pg_catalog.text NOT NULL, PRIMARY KEY (job_id, node, source, line_no))',
        place, '');
    EXECUTE pg_catalog.format('COMMENT ON TABLE %s IS %L', place, 'log lines for l4.ingest()');
    RETURN place::pg_catalog.regclass;
END
$$;
