-- Calls of functions on other servers, by dblink over the foreign servers of postgres_fdw: all servers work at once,
-- and one that fails or does not answer is a row with its problem. A server that is NULL is this database.

--: schema of dblink, quoted; an error where what calls need is missing
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

--: closes the connections to servers
CREATE FUNCTION l4._server_close(servers text[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    EXECUTE format('SELECT %1$s.dblink_disconnect(c.name) FROM unnest(%1$s.dblink_get_connections()) AS c(name) '
        'JOIN unnest($1) AS s(name) ON c.name = ''l4 '' || s.name', l4._server_dblink()) USING servers;
END
$$;

-- A server that lost its client stops at the next look, where the platform can tell.
--: sends each server its statement, the last one to all the rest; why one could not, or NULL
CREATE FUNCTION l4._server_send(servers text[], questions text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    dblink constant text := l4._server_dblink();
    problems text[] := array_fill(NULL::text, ARRAY[cardinality(servers)]);
    problem text;
    detail text;
BEGIN
    PERFORM l4._server_close(servers);
    FOR i IN 1 .. cardinality(servers) LOOP
        BEGIN
            EXECUTE format('SELECT %s.dblink_connect($1, $2)', dblink) USING 'l4 ' || servers[i], servers[i];
            EXECUTE format('SELECT %s.dblink_exec($1, $2)', dblink) USING 'l4 ' || servers[i],
                'SET client_min_messages = error; SET statement_timeout = 0; SET bytea_output = hex; DO ''BEGIN '
                'SET client_connection_check_interval = 5000; EXCEPTION WHEN OTHERS THEN NULL; END''';
            EXECUTE format('SELECT %s.dblink_send_query($1, $2)', dblink) USING 'l4 ' || servers[i],
                questions[least(i, cardinality(questions))];
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
            problems[i] := concat_ws(': ', problem, nullif(detail, ''));
        END;
    END LOOP;
    RETURN problems;
EXCEPTION WHEN query_canceled THEN
    PERFORM l4._server_close(servers);
    RAISE;
END
$$;

--: those of the servers that took a statement and have not answered yet
CREATE FUNCTION l4._server_busy(servers text[], problems text[]) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result text[];
BEGIN
    EXECUTE format('SELECT array_agg(s.name) FROM unnest($1, $2) AS s(name, problem) '
        'WHERE CASE WHEN s.problem IS NULL THEN %s.dblink_is_busy(''l4 '' || s.name) = 1 END', l4._server_dblink())
    INTO result USING servers, problems;
    RETURN coalesce(result, '{}');
END
$$;

--: waits for the answers to what was sent, a text a row, NULL = as long as it takes; or why there is none
CREATE FUNCTION l4._server_answers(servers text[], problems text[], patience interval)
RETURNS TABLE (server text, answers text[], problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    deadline constant timestamptz := clock_timestamp() + patience;
    busy text[];
    detail text;
BEGIN
    LOOP
        busy := l4._server_busy(servers, problems);
        EXIT WHEN busy = '{}' OR clock_timestamp() > deadline;
        PERFORM pg_sleep(0.002);
    END LOOP;
    FOR i IN 1 .. cardinality(servers) LOOP
        server := servers[i];
        answers := NULL;
        problem := CASE WHEN server = ANY (busy) THEN format('no answer within %s s', extract(epoch FROM patience)::int)
            ELSE problems[i] END;
        BEGIN
            IF problem IS NULL THEN
                EXECUTE format('SELECT coalesce(array_agg(r.x), ''{}'') FROM %s.dblink_get_result($1) AS r(x text)',
                    l4._server_dblink()) INTO answers USING 'l4 ' || server;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
            problem := concat_ws(': ', problem, nullif(detail, ''));
        END;
        RETURN NEXT;
    END LOOP;
    PERFORM l4._server_close(servers);
EXCEPTION WHEN OTHERS OR query_canceled THEN
    PERFORM l4._server_close(servers);
    RAISE;
END
$$;

--: sends servers statements and waits for the answers
CREATE FUNCTION l4._server_ask(servers text[], questions text[], patience interval DEFAULT '5 s')
RETURNS TABLE (server text, answers text[], problem text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT a.* FROM l4._server_answers(servers, l4._server_send(servers, questions), patience) AS a;
END;

--: runs a query on a server, for as long as it takes
CREATE FUNCTION l4._server_tell(target text, question text, OUT answers text[], OUT problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF target IS NULL THEN
        EXECUTE format('SELECT coalesce(array_agg(q.x::text), ''{}'') FROM (%s) AS q(x)', question) INTO answers;
    ELSE
        SELECT a.answers, a.problem INTO answers, problem
        FROM l4._server_ask(ARRAY[target], ARRAY[question], NULL) AS a;
    END IF;
END
$$;
