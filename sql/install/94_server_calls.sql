-- Calls of functions on other servers, by dblink over the foreign servers of postgres_fdw: all servers work at once,
-- and one that fails or does not answer is a row with its problem.

CREATE FUNCTION l4._server_dblink() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    missing constant text := (SELECT min(w.name) FROM unnest(ARRAY['dblink', 'postgres_fdw']) AS w(name)
        WHERE NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = w.name));
BEGIN
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'extension "%" is not installed in this database', missing
            USING ERRCODE = 'object_not_in_prerequisite_state',
                HINT = format('CREATE EXTENSION %s; it comes with PostgreSQL.', missing);
    END IF;
    RETURN (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'dblink');
END
$$;
COMMENT ON FUNCTION l4._server_dblink() IS 'schema of dblink, quoted; an error where what calls need is missing';

CREATE FUNCTION l4._server_close(servers text[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dblink constant text := l4._server_dblink();
BEGIN
    EXECUTE format('SELECT %1$s.dblink_disconnect(c.name) FROM unnest(%1$s.dblink_get_connections()) AS c(name) '
        'JOIN unnest($1) AS s(name) ON c.name = ''l4 '' || s.name', dblink) USING servers;
END
$$;
COMMENT ON FUNCTION l4._server_close(text[]) IS 'closes the connections to servers';

-- A server that lost its client stops at the next look, where the platform can tell.
CREATE FUNCTION l4._server_send(server text, question text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dblink constant text := l4._server_dblink();
    problem text;
    detail text;
BEGIN
    PERFORM l4._server_close(ARRAY[server]);
    EXECUTE format('SELECT %s.dblink_connect($1, $2)', dblink) USING 'l4 ' || server, server;
    EXECUTE format('SELECT %s.dblink_exec($1, $2)', dblink) USING 'l4 ' || server,
        'SET client_min_messages = error; SET statement_timeout = 0; SET bytea_output = hex; DO ''BEGIN '
        'SET client_connection_check_interval = 5000; EXCEPTION WHEN OTHERS THEN NULL; END''';
    EXECUTE format('SELECT %s.dblink_send_query($1, $2)', dblink) USING 'l4 ' || server, question;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
    RETURN concat_ws(': ', problem, nullif(detail, ''));
END
$$;
COMMENT ON FUNCTION l4._server_send(text, text) IS 'sends a server a statement; NULL, or why it could not';

CREATE FUNCTION l4._server_busy(servers text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result text[];
BEGIN
    EXECUTE format('SELECT array_agg(s.name) FROM unnest($1) AS s(name) WHERE %s.dblink_is_busy(''l4 '' || s.name) = 1',
        l4._server_dblink()) INTO result USING servers;
    RETURN coalesce(result, '{}');
END
$$;
COMMENT ON FUNCTION l4._server_busy(text[]) IS 'those of the servers that have not answered yet';

CREATE FUNCTION l4._server_receive(server text, OUT answers text[], OUT problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    detail text;
BEGIN
    EXECUTE format('SELECT coalesce(array_agg(r.x), ''{}'') FROM %s.dblink_get_result($1) AS r(x text)',
        l4._server_dblink()) INTO answers USING 'l4 ' || server;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
    problem := concat_ws(': ', problem, nullif(detail, ''));
END
$$;
COMMENT ON FUNCTION l4._server_receive(text) IS 'the answer of a server, a text a row, or why there is none';

CREATE FUNCTION l4._server_ask(servers text[], questions text[], patience interval DEFAULT NULL)
RETURNS TABLE (server text, answers text[], problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    problems text[] := '{}';
    busy text[];
    deadline timestamptz;
BEGIN
    FOR i IN 1 .. cardinality(servers) LOOP
        problems[i] := l4._server_send(servers[i], questions[least(i, cardinality(questions))]);
    END LOOP;
    busy := ARRAY(SELECT w.name FROM unnest(servers, problems) AS w(name, problem) WHERE w.problem IS NULL);
    deadline := clock_timestamp() + patience;
    LOOP
        busy := l4._server_busy(busy);
        EXIT WHEN busy = '{}' OR clock_timestamp() > deadline;
        PERFORM pg_sleep(0.002);
    END LOOP;
    FOR i IN 1 .. cardinality(servers) LOOP
        server := servers[i];
        answers := NULL;
        problem := CASE WHEN server = ANY (busy) THEN format('no answer within %s s', extract(epoch FROM patience)::int)
            ELSE problems[i] END;
        IF problem IS NULL THEN
            SELECT r.answers, r.problem INTO answers, problem FROM l4._server_receive(server) AS r;
        END IF;
        RETURN NEXT;
    END LOOP;
    PERFORM l4._server_close(servers);
EXCEPTION WHEN OTHERS OR query_canceled THEN
    PERFORM l4._server_close(servers);
    RAISE;
END
$$;
COMMENT ON FUNCTION l4._server_ask(text[], text[], interval) IS
    'sends each server its statement (the last one to all the rest) and waits for the answers, NULL = as long as it '
    'takes';

CREATE FUNCTION l4._server_active() RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ARRAY(SELECT s.name FROM l4.server s WHERE s.active ORDER BY s.name COLLATE "C");
COMMENT ON FUNCTION l4._server_active() IS 'the servers that are asked';

-- What servers must have in common. Rules keep their ids, which events name; faults are known by their names.
CREATE FUNCTION l4._server_rules(own bool) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN jsonb_build_object(
    'line_format', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.rule_id) FROM l4.line_format r
        WHERE (r.rule_id >= 1000000) = own),
    'stage_rule', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.rule_id) FROM l4.stage_rule r
        WHERE (r.rule_id >= 1000000) = own),
    'iteration_rule', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.rule_id) FROM l4.iteration_rule r
        WHERE (r.rule_id >= 1000000) = own),
    'mask_rule', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.rule_id) FROM l4.mask_rule r
        WHERE (r.rule_id >= 1000000) = own),
    'marker_rule', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.rule_id) FROM l4.marker_rule r
        WHERE (r.rule_id >= 1000000) = own),
    'disabled_rule', (SELECT jsonb_agg(jsonb_build_object('kind', r.kind, 'name', r.name, 'reason', r.reason)
        ORDER BY r.kind, r.name COLLATE "C") FROM l4.disabled_rule r WHERE own));
COMMENT ON FUNCTION l4._server_rules(bool) IS 'the rules: own ones, or those that were shipped';

CREATE FUNCTION l4._server_faults() RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_agg(f.fault - 'origin' ORDER BY f.fault ->> 'name' COLLATE "C"), '[]')
    FROM jsonb_array_elements(l4.export_faults() -> 'faults') AS f(fault));
COMMENT ON FUNCTION l4._server_faults() IS 'the faults that are not shipped, wherever they came from';

CREATE FUNCTION l4._server_jobs(job_ids text[]) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_agg(to_jsonb(j) ORDER BY j.job_id COLLATE "C"), '[]') FROM l4.job j
    WHERE j.job_id = ANY (job_ids));
COMMENT ON FUNCTION l4._server_jobs(text[]) IS 'rows of l4.job';

CREATE FUNCTION l4._server_state(job_ids text[] DEFAULT '{}') RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_build_object(
        'database', (SELECT c.system_identifier FROM pg_control_system() AS c) || '/' || d.oid,
        'shipped', md5(l4._server_rules(false)::text
            || (SELECT sum(hashtextextended(f::text, 0)) FROM l4.fault AS f WHERE f.fault_id < 1000000)),
        'rules', md5(own.rules::text), 'has_rules', jsonb_strip_nulls(own.rules) <> '{}',
        'faults', md5(l4._server_faults()::text),
        'jobs', md5(l4._server_jobs(job_ids)::text), 'events', (SELECT count(*) FROM l4._event),
        'lines', s.lines, 'all_jobs', s.jobs)
    FROM (SELECT count(DISTINCT s.job_id) AS jobs, coalesce(sum(s.lines + s.tail_lines), 0) AS lines
        FROM l4._stream AS s) AS s
    CROSS JOIN (SELECT l4._server_rules(true) AS rules) AS own
    CROSS JOIN pg_database AS d WHERE d.datname = current_database();
END;
COMMENT ON FUNCTION l4._server_state(text[]) IS 'what a server has, in digests, to compare with another one';

CREATE FUNCTION l4._server_take_rules(rules jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kind text;
BEGIN
    DELETE FROM l4.disabled_rule AS d;
    INSERT INTO l4.disabled_rule (kind, name, reason)
    SELECT r.kind, r.name, r.reason FROM jsonb_to_recordset(nullif(rules -> 'disabled_rule', 'null'))
        AS r(kind text, name text, reason text);
    FOREACH kind IN ARRAY ARRAY['line_format', 'stage_rule', 'iteration_rule', 'mask_rule', 'marker_rule'] LOOP
        EXECUTE format('DELETE FROM l4.%I WHERE rule_id >= 1000000', kind);
        EXECUTE format('INSERT INTO l4.%1$I SELECT r.* FROM jsonb_populate_recordset(NULL::l4.%1$I, $1) AS r', kind)
            USING nullif(rules -> kind, 'null');
        -- a rule that is added here by hand is found as such, and takes no number twice
        EXECUTE format('SELECT setval(%L, greatest(1000000, max(rule_id) + 1), false) FROM l4.%I',
            pg_get_serial_sequence('l4.' || kind, 'rule_id'), kind);
    END LOOP;
END
$$;
COMMENT ON FUNCTION l4._server_take_rules(jsonb) IS 'own rules become these';

CREATE FUNCTION l4._server_take_faults(faults jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong record;
BEGIN
    SELECT i.* INTO wrong
    FROM l4.import_faults(jsonb_build_object('format', 'l4 faults', 'version', 1, 'faults', faults)) AS i
    WHERE i.action = 'error' ORDER BY i.n LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'fault "%": %', wrong.name, wrong.problem USING ERRCODE = 'data_exception';
    END IF;
END
$$;
COMMENT ON FUNCTION l4._server_take_faults(jsonb) IS 'imports faults, all of them or none';

CREATE FUNCTION l4._server_take_jobs(jobs jsonb) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    INSERT INTO l4.job AS t
    SELECT r.* FROM jsonb_populate_recordset(NULL::l4.job, jobs) AS r ORDER BY r.job_id
    ON CONFLICT (job_id) DO UPDATE SET settings = excluded.settings, status = excluded.status,
        expected_nodes = excluded.expected_nodes, started_at = excluded.started_at, ended_at = excluded.ended_at,
        attributes = excluded.attributes
    WHERE t IS DISTINCT FROM excluded;
END;
COMMENT ON FUNCTION l4._server_take_jobs(jsonb) IS 'rows of l4.job become these';
