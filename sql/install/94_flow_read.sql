-- Network flows: tables, and reading. C reads rows and packs them by pairs of addresses.

--: the accelerator NICs of a platform; where it has rows, flows of other addresses are left out
CREATE TABLE l4.flow_endpoint (
    address inet PRIMARY KEY, --: address of the NIC
    machine text NOT NULL,    --: machine that it is in
    nic int,                  --: its number in the machine
    switch text               --: leaf switch that it is connected to, by its name as exporter
);

--: relations that flows were read from
CREATE TABLE l4._flow_source (
    source text PRIMARY KEY,
    rows_read bigint NOT NULL DEFAULT 0,
    duplicate bigint NOT NULL DEFAULT 0,
    control bigint NOT NULL DEFAULT 0,
    late bigint NOT NULL DEFAULT 0,
    impossible bigint NOT NULL DEFAULT 0,
    future bigint NOT NULL DEFAULT 0,
    unknown bigint NOT NULL DEFAULT 0,
    no_end bigint NOT NULL DEFAULT 0,
    first_ts timestamptz,
    last_ts timestamptz,
    read_to timestamptz NOT NULL DEFAULT '-infinity',
    updated_at timestamptz
);

--: numbers of exporters in packed flows
CREATE TABLE l4._flow_exporter (
    exporter_id int PRIMARY KEY,
    name text NOT NULL
);

--: pairs of addresses that flows were packed of; a < b
CREATE TABLE l4._flow_link (
    pair_id int PRIMARY KEY,
    a inet NOT NULL,
    b inet NOT NULL
);

--: packed flows of a pair, by time
CREATE TABLE l4._flow_chunk (
    chunk_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    pair_id int NOT NULL,
    records int NOT NULL,
    first_ts timestamptz NOT NULL,
    last_ts timestamptz NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX _flow_chunk_pair ON l4._flow_chunk (pair_id, last_ts, first_ts);
CREATE INDEX _flow_chunk_time ON l4._flow_chunk (last_ts, first_ts);
ALTER TABLE l4._flow_chunk ALTER COLUMN body SET STORAGE EXTERNAL;

-- Long spans see all flows. A job whose steps are short needs less time, where it goes on as it was: it is analyzed by
-- short spans, till one of them does not find it as before. Its long span sees what is left. What that does not find,
-- as its steps take minutes, is looked for by a wide one, which sees most of an hour before.
--
-- A span's number is four times the minute in which it begins, counted from 2000, and its size. Ten minutes are a
-- block, which has 40 numbers.

--: sizes of spans of flows: their length, what is seen before and behind it, the longest steps
CREATE FUNCTION l4._flow_sizes()
RETURNS TABLE (size int, seconds int, before int, behind int, period_ms float8)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    VALUES (0, 600, 200, 200, float8 'infinity'), (1, 120, 60, 60, 12000), (2, 60, 30, 30, 6000),
        (3, 600, 3000, 200, 0);
END;

--: spans that flows lie in or near; what their analysis depended on: begin and end of all flows, inventory, NICs
CREATE TABLE l4._flow_span (
    span bigint PRIMARY KEY,
    changed bool NOT NULL,
    first_ts timestamptz,
    last_ts timestamptz,
    endpoints bigint,
    nics inet[] NOT NULL DEFAULT '{}',   --: whose flows a short span looks at, or a long one does not
    unsure inet[] NOT NULL DEFAULT '{}', --: of these: not found in a job as before
    settled bool NOT NULL DEFAULT false  --: of a long one: the spans of its block look at the right NICs
);

--: number of the span of flows in which a time lies
CREATE FUNCTION l4._flow_span_of(at timestamptz, size int, seconds int) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN floor(extract(epoch FROM at - '2000-01-01 00:00:00+00'::timestamptz) / seconds)::bigint * (seconds / 15) + size;

--: when a span of flows begins
CREATE FUNCTION l4._flow_span_start(span bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN '2000-01-01 00:00:00+00'::timestamptz + (span >> 2) * interval '1 minute';

--: when a span of flows ends
CREATE FUNCTION l4._flow_span_end(span bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT l4._flow_span_start(span) + z.seconds * interval '1 second'
        FROM l4._flow_sizes() AS z WHERE z.size = span & 3);

--: the long span in which a span of flows begins
CREATE FUNCTION l4._flow_block(span bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN l4._flow_span_of(l4._flow_span_start(span), 0, 600);

-- Slices of ten seconds divide the lengths of all spans and what is seen around them. Short spans are begun as needed.
--: notes the spans in which flows that are new are seen
CREATE FUNCTION l4._flow_changed(slices bigint[]) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    INSERT INTO l4._flow_span AS p (span, changed)
    SELECT DISTINCT x.span, true
    FROM unnest(slices) AS s(slice) CROSS JOIN l4._flow_sizes() AS z
    CROSS JOIN LATERAL (SELECT '2000-01-01 00:00:00+00'::timestamptz + 10 * s.slice * interval '1 second' AS at) AS t
    CROSS JOIN generate_series(0, 6) AS n
    CROSS JOIN LATERAL (SELECT l4._flow_span_of(t.at - z.behind * interval '1 second', z.size, z.seconds)
        + n * (z.seconds / 15) AS span) AS x
    WHERE x.span <= l4._flow_span_of(t.at + z.before * interval '1 second', z.size, z.seconds)
        AND (z.size = 0 OR EXISTS (SELECT FROM l4._flow_span AS b WHERE b.span = x.span))
    ON CONFLICT (span) DO UPDATE SET changed = true WHERE NOT p.changed;
END;

--: packs the flows that a statement returns
CREATE FUNCTION l4._flow_read(query text, known_to timestamptz, OUT rows_read bigint, OUT duplicate bigint,
    OUT control bigint, OUT late bigint, OUT impossible bigint, OUT unknown bigint, OUT first_ts timestamptz,
    OUT last_ts timestamptz)
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'l4_flow_read';

--: makes a table for flow records, in columns named as by pmacct
CREATE FUNCTION l4.create_flow_table(name text) RETURNS regclass
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
AS $$
-- No SET search_path: an unqualified name is made where the caller's CREATE TABLE would make it.
DECLARE
    place text := l4._new_table(create_flow_table.name, 'flow');
BEGIN
    EXECUTE pg_catalog.format('CREATE TABLE %s ('
        'ip_src pg_catalog.inet, ip_dst pg_catalog.inet, port_src pg_catalog.int4, port_dst pg_catalog.int4, '
        'ip_proto pg_catalog.int2, packets pg_catalog.int8, bytes pg_catalog.int8, '
        'timestamp_start pg_catalog.timestamptz, timestamp_end pg_catalog.timestamptz, exporter pg_catalog.text, '
        'sampling_rate pg_catalog.int4 DEFAULT 1)', place);
    EXECUTE pg_catalog.format('CREATE INDEX ON %s USING brin (timestamp_end) WITH (autosummarize = on)', place);
    EXECUTE pg_catalog.format('COMMENT ON TABLE %s IS %L', place, 'flow records for l4.trace_flows()');
    RETURN place::pg_catalog.regclass;
END
$$;

-- The columns that a relation lacks are NULL, which the reader takes as unknown.
--: statement that reads flows from a relation, to be limited by WHERE
CREATE FUNCTION l4._flow_query(flows regclass) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    source constant text := l4._source_name(flows);
    missing text;
    columns text;
BEGIN
    SELECT string_agg(format('"%s"', w.name), ', ' ORDER BY w.n) FILTER (WHERE a.attname IS NULL AND w.needed),
        string_agg(CASE WHEN a.attname IS NULL THEN format('NULL::%s', w.type)
            -- whose negative values the reader takes as unknown, too
            WHEN w.type = 'int4' AND a.atttypid NOT IN ('int2'::regtype, 'int4'::regtype)
                THEN format('CASE WHEN f.%1$I BETWEEN 0 AND 2147483647 THEN f.%1$I::int4 END', w.name)
            ELSE format('f.%I::%s', w.name, w.type) END, ', ' ORDER BY w.n)
    INTO missing, columns
    FROM (VALUES (1, 'ip_src', 'inet', true), (2, 'ip_dst', 'inet', true), (3, 'port_src', 'int4', false),
        (4, 'port_dst', 'int4', false), (5, 'ip_proto', 'int4', false), (6, 'packets', 'int8', false),
        (7, 'bytes', 'int8', true), (8, 'timestamp_start', 'timestamptz', true),
        (9, 'timestamp_end', 'timestamptz', true), (10, 'exporter', 'text', false),
        (11, 'sampling_rate', 'int4', false)) AS w(n, name, type, needed)
    LEFT JOIN pg_attribute AS a
        ON a.attrelid = flows AND a.attname = w.name AND a.attnum > 0 AND NOT a.attisdropped;
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'relation "%" has no column %', flows, missing USING ERRCODE = 'undefined_column',
            HINT = 'l4.trace_flows() reads the columns of l4.create_flow_table(); a view can name them so.';
    END IF;
    RETURN format('SELECT %s FROM %s AS f', columns, source);
END
$$;

-- What a call has to read: rows that end from lo to before hi. Without from_ts it goes on where the last call ended,
-- late_s seconds earlier: rows that were read before are known again by their values.
--: what l4.trace_flows() has to read
CREATE FUNCTION l4._flow_begin(flows regclass, from_ts timestamptz, to_ts timestamptz, late_s float8, window_s float8,
    OUT source text, OUT query text, OUT lo timestamptz, OUT hi timestamptz)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    horizon constant timestamptz := now() + interval '1 day';
    upto constant timestamptz := least(to_ts, horizon);
    first_hi timestamptz;
    without_end bigint;
    ahead bigint;
BEGIN
    query := l4._flow_query(flows);
    source := l4._source_name(flows);
    INSERT INTO l4._flow_source AS s (source) VALUES (_flow_begin.source) ON CONFLICT DO NOTHING;
    from_ts := coalesce(from_ts, (SELECT s.read_to - late_s * interval '1 second' FROM l4._flow_source AS s
                                  WHERE s.source = _flow_begin.source));
    -- where it goes on, the first window is read anyway, and mostly has all: no scan is spent on it
    first_hi := least(upto, from_ts + window_s * interval '1 second');
    LOOP
        -- one scan for all that is asked, with as few comparisons of each row as will do
        EXECUTE format('SELECT CASE WHEN min(x.at) < $2 THEN min(x.at) END, '
            'max(x.at) FILTER (WHERE x.at < $2) + interval ''1 us'', '
            'count(*) FILTER (WHERE x.at IS NULL), count(*) FILTER (WHERE x.at >= $3) '
            'FROM (SELECT f.timestamp_end AS at FROM %s AS f) AS x WHERE x.at >= $1 OR x.at IS NULL', source)
        INTO lo, hi, without_end, ahead USING first_hi, upto, horizon;
        EXIT WHEN first_hi <= from_ts OR lo IS NULL;
        first_hi := from_ts;
    END LOOP;
    IF lo IS NULL AND first_hi > from_ts THEN
        lo := from_ts;
        hi := first_hi;
    END IF;
    UPDATE l4._flow_source AS s SET no_end = without_end, future = ahead WHERE s.source = _flow_begin.source;
END
$$;

--: reads the rows that end within a window
CREATE FUNCTION l4._flow_window(source text, query text, lo timestamptz, hi timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    known timestamptz;
BEGIN
    -- two calls at a time would merge into the same chunks
    LOCK TABLE l4._flow_chunk IN SHARE ROW EXCLUSIVE MODE;
    SELECT s.read_to INTO known FROM l4._flow_source AS s WHERE s.source = _flow_window.source;
    UPDATE l4._flow_source AS s
    SET rows_read = s.rows_read + r.rows_read, duplicate = s.duplicate + r.duplicate, control = s.control + r.control,
        late = s.late + r.late, impossible = s.impossible + r.impossible, unknown = s.unknown + r.unknown,
        first_ts = least(s.first_ts, r.first_ts), last_ts = greatest(s.last_ts, r.last_ts),
        read_to = greatest(s.read_to, r.last_ts), updated_at = now()
    FROM l4._flow_read(format('%s WHERE f.timestamp_end >= %L AND f.timestamp_end < %L', query, lo, hi), known) AS r
    WHERE s.source = _flow_window.source;
END
$$;

--: parameters of l4.trace_flows(), checked
CREATE FUNCTION l4._flow_parameters(parameters jsonb, OUT late_s float8, OUT window_s float8, OUT keep_s float8)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_flow_parameters';

--: reads new flow records from a table or view, and finds jobs, kinds of pairs, steps and issues
CREATE PROCEDURE l4.trace_flows(flows regclass, from_ts timestamptz DEFAULT NULL, to_ts timestamptz DEFAULT NULL,
    commit bool DEFAULT true, parameters jsonb DEFAULT '{}')
LANGUAGE plpgsql
AS $$
-- No SET clause: a procedure that commits cannot have one. Every name here is qualified.
#variable_conflict use_variable
DECLARE
    -- qualified: the caller may have a table of this name
    p pg_catalog.record;
    work pg_catalog.record;
    upto timestamptz;
BEGIN
    IF flows IS NULL OR commit IS NULL OR parameters IS NULL THEN
        RAISE EXCEPTION 'flows, commit and parameters must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    ELSIF commit AND NOT l4._can_commit() THEN
        RAISE EXCEPTION 'l4.trace_flows() cannot commit inside a transaction block'
            USING ERRCODE = 'active_sql_transaction',
            HINT = 'Call it outside of a transaction block, or with commit => false.';
    END IF;
    p := l4._flow_parameters(parameters);
    IF commit THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    work := l4._flow_begin(flows, from_ts, to_ts, p.late_s, p.window_s);
    WHILE work.lo OPERATOR(pg_catalog.<) work.hi LOOP
        upto := LEAST(work.hi, work.lo OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => p.window_s));
        PERFORM l4._flow_window(work.source, work.query, work.lo, upto);
        work.lo := upto;
        IF commit THEN
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
    END LOOP;
    IF p.keep_s OPERATOR(pg_catalog.>) 0 THEN
        PERFORM l4._flow_forget(p.keep_s);
    END IF;
    WHILE l4._flow_analyze() LOOP
        IF commit THEN
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
    END LOOP;
    PERFORM l4._flow_find_jobs();
    IF commit THEN
        COMMIT;
    END IF;
END
$$;

--: what l4.trace_flows() read of each relation
--.source the relation
--.rows_read rows read
--.duplicate of these: equal to another one
--.control of these: acknowledgements, short messages, too few sampled packets
--.late of these: end before what an earlier call had read
--.impossible of these: end before start, no bytes, one address, a NULL
--.unknown of these: not between two machines of l4.flow_endpoint
--.no_end rows without timestamp_end: not read
--.future rows that end more than a day ahead of the clock: not read
--.updated_at end of the last window that was read
CREATE VIEW l4.flow_progress AS
SELECT s.source, s.rows_read, s.duplicate, s.control, s.late, s.impossible, s.unknown, s.no_end, s.future, s.first_ts,
    s.last_ts, s.updated_at
FROM l4._flow_source AS s;
