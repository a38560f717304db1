-- Jobs that travel: what l4 keeps of a job, as rows of bytes that another server takes in.
-- An export is a run of entries: h header, j job, n node, e event, s stream, p part of a pack, c chunk, r roll-up;
-- of a model also m parser, v slot, w word.

--: the entries (kind, head, bodies) of a query as rows of at most a megabyte, each with its number and a checksum
CREATE FUNCTION l4._export_rows(entries text) RETURNS SETOF bytea
LANGUAGE c STABLE STRICT PARALLEL UNSAFE COST 10000 ROWS 10 AS 'MODULE_PATHNAME', 'l4_export_rows';

--: a value of a pack for some members (NULL = for all that it has)
CREATE FUNCTION l4._of_members(packed bytea, members int[]) RETURNS bytea
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 500 AS 'MODULE_PATHNAME', 'l4_of_members';

--: what every export begins with
CREATE FUNCTION l4._export_head(what text) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_build_object('what', what, 'l4', x.extversion, 'encoding', getdatabaseencoding(),
        'options', coalesce(l4._parser_options(m.parser), '{}') - 'max_templates')
    FROM pg_extension AS x LEFT JOIN l4._model AS m ON true WHERE x.extname = 'l4'
$$;

-- With an event go all that were merged into it: together they make its template.
--: events that stored values of a job name, and those that are one with them
CREATE FUNCTION l4._events_of_job(job_id text) RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    WITH named AS (
        SELECT j.event_id FROM l4._job_event AS j WHERE j.job_id = _events_of_job.job_id
        UNION
        SELECT u.event_id
        FROM l4._summary AS s
        CROSS JOIN LATERAL l4._unpack(s.slots, s.open_slots) AS u(event_id int)
        WHERE s.job_id = _events_of_job.job_id
    ), kept AS (
        SELECT DISTINCT l4._survivor(e.event_id, e.merged_into) AS event_id
        FROM l4._event AS e JOIN named USING (event_id)
    )
    SELECT coalesce(array_agg(e.event_id ORDER BY e.event_id), '{}')
    FROM l4._event AS e JOIN kept AS k ON k.event_id = l4._survivor(e.event_id, e.merged_into)
$$;

--: what is exported of an event
CREATE FUNCTION l4._event_head(e l4._event) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('event_id', e.event_id, 'level', e.level, 'example', e.example,
        'example_record', nullif(e.example_record, e.example), 'is_stack', nullif(e.is_stack, false),
        'is_coarse', nullif(e.is_coarse, false), 'template', CASE WHEN e.is_coarse THEN e.template END,
        'rule', (SELECT r.name FROM l4.iteration_rule AS r WHERE r.rule_id = e.iteration_rule)))
$$;

-- The packs of a job with the streams that are wanted of each; whole: of what grows with time, too.
--: packs of a job, and members to export (NULL = all): of what is always there, and of iterations and sequences
CREATE FUNCTION l4._export_packs(job_id text, part text, nodes text[])
RETURNS TABLE (pack_id int, members int[], long_members int[], streams int[])
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    WITH stream AS (
        SELECT s.*, nodes IS NULL OR s.node = ANY (nodes) AS wanted FROM l4._stream AS s
        WHERE s.job_id = _export_packs.job_id AND s.pack_id IS NOT NULL
    ), one AS (
        SELECT s.stream_id FROM stream AS s WHERE s.wanted AND s.last_iteration IS NOT NULL
        ORDER BY s.rank, s.node COLLATE "C", s.source COLLATE "C" LIMIT 1
    )
    SELECT p.pack_id, CASE WHEN NOT p.whole THEN p.members END,
        CASE WHEN part <> 'baseline' THEN CASE WHEN NOT p.whole THEN p.members END
            WHEN p.long_streams = 0 THEN '{}' WHEN p.long_members <> '{}' THEN p.long_members END, p.streams
    FROM (SELECT s.pack_id, bool_and(s.wanted) AS whole,
            coalesce(array_agg(s.member) FILTER (WHERE s.wanted AND s.member IS NOT NULL), '{}') AS members,
            coalesce(array_agg(s.member) FILTER (WHERE o.stream_id = s.stream_id AND s.member IS NOT NULL), '{}')
                AS long_members,
            count(*) FILTER (WHERE o.stream_id = s.stream_id) AS long_streams,
            array_agg(s.stream_id ORDER BY s.member) FILTER (WHERE s.wanted) AS streams
        FROM stream AS s LEFT JOIN one AS o ON true
        GROUP BY s.pack_id) AS p
    WHERE p.streams IS NOT NULL
    ORDER BY p.pack_id
$$;

--: entries of streams
CREATE FUNCTION l4._stream_heads(streams int[]) RETURNS TABLE (kind text, head jsonb, bodies bytea[])
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 's', jsonb_strip_nulls(to_jsonb(s) - ARRAY['stream_id', 'job_id']), ARRAY[c.iterations]
    FROM unnest(streams) WITH ORDINALITY AS u(stream_id, place) JOIN l4._stream AS s USING (stream_id)
    LEFT JOIN l4._counted AS c USING (stream_id)
    ORDER BY u.place
$$;

--: entries of a pack without its lines
CREATE FUNCTION l4._pack_entries(pack_id int, part text, members int[], long_members int[])
RETURNS TABLE (kind text, head jsonb, bodies bytea[])
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'p', jsonb_build_object('part', p.part), ARRAY[
        l4._of_members(p.events, members), l4._of_members(p.slots, members),
        CASE WHEN b.full THEN l4._of_members(p.durations, members) END, l4._of_members(p.iterations, long_members),
        l4._of_members(p.stages, members), CASE WHEN b.full THEN l4._of_members(p.activity, members) END,
        l4._of_members(p.sequences, long_members),
        l4._of_members(p.open_events, members), l4._of_members(p.open_slots, members),
        CASE WHEN b.full THEN l4._of_members(p.open_durations, members) END,
        l4._of_members(p.open_iterations, long_members), l4._of_members(p.open_stages, members),
        CASE WHEN b.full THEN l4._of_members(p.open_activity, members) END,
        l4._of_members(p.open_sequences, long_members),
        CASE WHEN b.full THEN l4._of_members(p.scan_state, members) END,
        CASE WHEN b.full THEN l4._of_members(p.pack_state, members) END]
    FROM l4._pack AS p CROSS JOIN LATERAL (SELECT _pack_entries.part <> 'baseline' AS full) AS b
    WHERE p.pack_id = _pack_entries.pack_id
        AND (p.part = 0 OR _pack_entries.part <> 'baseline' OR long_members IS DISTINCT FROM '{}')
    ORDER BY p.part
$$;

--: entries of the export of a job
CREATE FUNCTION l4._job_entries(job_id text, part text, nodes text[])
RETURNS TABLE (kind text, head jsonb, bodies bytea[])
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    pack record;
BEGIN
    RETURN QUERY SELECT 'h', l4._export_head('job') || jsonb_build_object('job_id', _job_entries.job_id, 'part', part,
        'nodes', to_jsonb(nodes)), NULL::bytea[];
    RETURN QUERY SELECT 'j', jsonb_strip_nulls(to_jsonb(j)), NULL::bytea[] FROM l4.job AS j
        WHERE j.job_id = _job_entries.job_id;
    RETURN QUERY SELECT 'n', jsonb_strip_nulls(to_jsonb(n) - 'job_id'), NULL::bytea[] FROM l4.job_node AS n
        WHERE n.job_id = _job_entries.job_id AND (nodes IS NULL OR n.node = ANY (nodes)) ORDER BY n.node COLLATE "C";
    RETURN QUERY SELECT 'e', l4._event_head(e), NULL::bytea[] FROM l4._event AS e
        WHERE e.event_id = ANY (l4._events_of_job(_job_entries.job_id)) ORDER BY e.event_id;
    FOR pack IN SELECT * FROM l4._export_packs(_job_entries.job_id, part, nodes) LOOP
        RETURN QUERY SELECT * FROM l4._stream_heads(pack.streams);
        RETURN QUERY SELECT * FROM l4._pack_entries(pack.pack_id, part, pack.members, pack.long_members);
        IF part = 'all' THEN
            RETURN QUERY SELECT 'c', jsonb_strip_nulls(to_jsonb(c) - ARRAY['pack_id', 'body']),
                ARRAY[l4._of_members(c.body, pack.members)]
                FROM l4._pack_chunk AS c WHERE c.pack_id = pack.pack_id ORDER BY c.chunk_no;
        END IF;
    END LOOP;
    RETURN QUERY SELECT h.* FROM l4._stream_heads(ARRAY(SELECT s.stream_id FROM l4._stream AS s
        WHERE s.job_id = _job_entries.job_id AND s.pack_id IS NULL AND (nodes IS NULL OR s.node = ANY (nodes))
        ORDER BY s.node COLLATE "C", s.source COLLATE "C")) AS h;
    RETURN QUERY SELECT 'r', NULL::jsonb, ARRAY[p.events] FROM l4._job_pack AS p WHERE p.job_id = _job_entries.job_id;
END;
$$;

--: what l4 keeps of a job, as rows of bytes for l4.import_job(): all, summary (without the positions of lines) or
--: baseline (what other jobs compare with), of all nodes or some
CREATE FUNCTION l4.export_job(job_id text, part text DEFAULT 'all', nodes text[] DEFAULT NULL) RETURNS SETOF bytea
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    IF job_id IS NULL OR part IS NULL THEN
        RAISE EXCEPTION 'job_id and part must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    ELSIF part NOT IN ('all', 'summary', 'baseline') THEN
        RAISE EXCEPTION 'unknown part "%"', part USING ERRCODE = 'invalid_parameter_value',
            HINT = 'It is all, summary or baseline.';
    END IF;
    PERFORM l4._require_job(job_id);
    SELECT n.node INTO wrong FROM unnest(nodes) AS n(node) WHERE NOT EXISTS (
        SELECT FROM l4.job_node AS k WHERE k.job_id = export_job.job_id AND k.node = n.node) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'job "%" has no node "%"', job_id, wrong USING ERRCODE = 'undefined_object',
            HINT = 'l4.job_node lists the nodes of jobs.';
    END IF;
    RETURN QUERY SELECT r FROM l4._export_rows(
        format('SELECT * FROM l4._job_entries(%L, %L, %L::text[])', job_id, part, nodes)) AS r;
END;
$$;

--: entries of the export of what was learnt
CREATE FUNCTION l4._model_entries() RETURNS TABLE (kind text, head jsonb, bodies bytea[])
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT 'h', l4._export_head('model'), NULL::bytea[];
    RETURN QUERY SELECT 'm', jsonb_build_object('parser', m.parser::text), NULL::bytea[] FROM l4._model AS m;
    RETURN QUERY SELECT 'e', l4._event_head(e) || jsonb_strip_nulls(jsonb_build_object('merged_into', e.merged_into,
        'template', e.template, 'stage', e.stage, 'then_stage', e.then_stage)), NULL::bytea[]
        FROM l4._event AS e ORDER BY e.event_id;
    RETURN QUERY SELECT 'v', to_jsonb(s), NULL::bytea[] FROM l4._event_slot AS s ORDER BY s.event_id, s.slot;
    RETURN QUERY SELECT 'w', to_jsonb(w), NULL::bytea[] FROM l4._event_word AS w ORDER BY w.event_id, w.slot;
END;
$$;

--: the events and what the parser has learnt, as rows of bytes for l4.import_model(): servers that begin with the same
--: events number them alike
CREATE FUNCTION l4.export_model() RETURNS SETOF bytea
LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
    SELECT r FROM l4._export_rows('SELECT * FROM l4._model_entries()') AS r
$$;
