-- The directory: servers are added, kept alike and given jobs.

-- key=value pairs as libpq reads them
CREATE FUNCTION l4._server_options(conninfo text) RETURNS TABLE (key text, value text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT ROWS 10
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    pair constant text := '\s*([a-z_]+)\s*=\s*(?:''((?:[^''\\]|\\.)*)''|((?:[^\s''\\]|\\.)+))(?=\s|$)';
BEGIN
    IF regexp_replace(conninfo, pair, '', 'g') !~ '^\s*$' THEN
        -- it may have a password: it is not shown
        RAISE EXCEPTION 'conninfo is no list of key=value pairs' USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Write it as for psql: host=db7 dbname=train user=l4. Values with blanks are put in quotes.';
    END IF;
    RETURN QUERY SELECT m[1], regexp_replace(coalesce(m[2], m[3]), '\\(.)', '\1', 'g')
        FROM regexp_matches(conninfo, pair, 'g') AS m;
END
$$;
COMMENT ON FUNCTION l4._server_options(text) IS 'the pairs of a connection string';

CREATE FUNCTION l4._server_check(name text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a record;
    own constant jsonb := l4._server_state();
    other jsonb;
    version text;
BEGIN
    SELECT * INTO a FROM l4._server_ask(ARRAY[name],
        ARRAY['SELECT e.extversion FROM pg_catalog.pg_extension e WHERE e.extname = ''l4'''], '5 s');
    IF a.problem IS NOT NULL THEN
        RAISE EXCEPTION 'server "%" does not answer', name
            USING ERRCODE = 'sqlclient_unable_to_establish_sqlconnection', DETAIL = a.problem;
    END IF;
    version := a.answers[1];
    IF version IS DISTINCT FROM (SELECT e.extversion FROM pg_extension e WHERE e.extname = 'l4') THEN
        RAISE EXCEPTION 'server "%" has %', name, coalesce('version ' || version || ' of l4', 'no l4')
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = CASE WHEN version IS NULL
                THEN 'CREATE EXTENSION l4 in its database.' ELSE 'All servers must have the same version.' END;
    END IF;
    SELECT * INTO a FROM l4._server_ask(ARRAY[name], ARRAY['SELECT l4._server_state()'], '5 s');
    IF a.problem IS NOT NULL THEN
        RAISE EXCEPTION 'server "%" does not say what it has', name USING ERRCODE = 'insufficient_privilege',
            DETAIL = a.problem, HINT = 'Its user needs the grants of an ingester and of a curator there.';
    END IF;
    other := a.answers[1];
    IF other ->> 'shipped' <> own ->> 'shipped' THEN
        RAISE EXCEPTION 'the rules and faults that came with l4 on server "%" are others', name
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Install the same build of l4 on all servers.';
    ELSIF (other -> 'has_rules')::bool AND other ->> 'rules' <> own ->> 'rules' THEN
        RAISE EXCEPTION 'server "%" has rules of its own', name USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'l4.sync() makes the rules of all servers those of this database.',
            HINT = 'Bring its rules here, or delete them there.';
    END IF;
    RETURN other;
END
$$;
COMMENT ON FUNCTION l4._server_check(text) IS 'state of a server, or an error that says why it cannot be added';

CREATE FUNCTION l4._server_tables(name text) RETURNS TABLE (kind text, child text, parent text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 4
BEGIN ATOMIC
    SELECT k.kind, format('l4.%I', '_fleet_' || k.kind || '@' || _server_tables.name), 'l4._fleet_' || k.kind
    FROM unnest(ARRAY['diagnosis', 'suspect_node', 'fault_match', 'fault_trend']) AS k(kind);
END;
COMMENT ON FUNCTION l4._server_tables(text) IS 'the foreign tables of a server';

CREATE FUNCTION l4.add_server(name text, conninfo text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE STRICT SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    -- what PostgreSQL keeps in user mappings, where others do not see it
    of_user constant text[] := ARRAY['user', 'password', 'sslcert', 'sslkey', 'sslpassword'];
    options text;
    user_options text;
    state jsonb;
    is_here bool;
    t record;
BEGIN
    PERFORM l4._server_dblink();
    IF octet_length(name) NOT BETWEEN 1 AND 40 THEN
        RAISE EXCEPTION 'the name of a server has 1 to 40 bytes, not %', octet_length(name)
            USING ERRCODE = 'invalid_name';
    END IF;
    SELECT string_agg(format('%I %L', o.key, o.value), ', ') FILTER (WHERE o.key <> ALL (of_user)),
        string_agg(format('%I %L', o.key, o.value), ', ') FILTER (WHERE o.key = ANY (of_user))
    INTO options, user_options
    FROM (SELECT DISTINCT ON (p.key) p.key, p.value FROM (
        SELECT g.key, g.value, 1 AS place FROM l4._server_options(conninfo) AS g
        UNION ALL SELECT d.*, 2 FROM (VALUES ('connect_timeout', '3'), ('tcp_user_timeout', '5000'),
            ('fetch_size', '1000'), ('async_capable', 'true'), ('extensions', 'l4')) AS d(key, value)) AS p
        ORDER BY p.key, p.place) AS o;
    EXECUTE format('CREATE SERVER %I FOREIGN DATA WRAPPER postgres_fdw OPTIONS (%s)', name, options);
    EXECUTE format('CREATE USER MAPPING FOR PUBLIC SERVER %I', name) || coalesce(' OPTIONS (' || user_options || ')',
        '');
    state := l4._server_check(name);
    is_here := state -> 'database' = l4._server_state() -> 'database';
    INSERT INTO l4.server (name, here, rules) VALUES (name, is_here, state ->> 'rules');
    FOR t IN SELECT * FROM l4._server_tables(name) WHERE NOT is_here LOOP
        EXECUTE format('CREATE FOREIGN TABLE %s () INHERITS (%s) SERVER %I OPTIONS (schema_name ''l4'', table_name %L)',
            t.child, t.parent, name, t.kind);
    END LOOP;
END
$$;
COMMENT ON FUNCTION l4.add_server(text, text) IS
    'adds a server with an l4 of its own: its foreign server, user mapping and foreign tables';

CREATE FUNCTION l4.use_server(name text, active bool) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE STRICT SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    s l4.server;
    t record;
BEGIN
    SELECT * INTO s FROM l4.server AS x WHERE x.name = name FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'server "%" is not known', name USING ERRCODE = 'undefined_object',
            HINT = coalesce('Did you mean "' || l4._near_name(name, ARRAY(SELECT x.name FROM l4.server AS x)) || '"?',
                'l4.server lists the servers.');
    END IF;
    FOR t IN SELECT * FROM l4._server_tables(name) WHERE NOT s.here AND s.active <> active LOOP
        EXECUTE format('ALTER FOREIGN TABLE %s %s %s', t.child, CASE WHEN active THEN 'INHERIT' ELSE 'NO INHERIT' END,
            t.parent);
    END LOOP;
    UPDATE l4.server AS x SET active = use_server.active WHERE x.name = name;
END
$$;
COMMENT ON FUNCTION l4.use_server(text, bool) IS
    'false: leave a server out of calls and fleet views, until it is back; true: take it in again';

CREATE FUNCTION l4.drop_server(name text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE STRICT SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    t record;
BEGIN
    PERFORM l4.use_server(name, true);      -- an error where it is not known
    FOR t IN SELECT * FROM l4._server_tables(name) LOOP
        EXECUTE format('DROP FOREIGN TABLE IF EXISTS %s', t.child);
    END LOOP;
    EXECUTE format('DROP USER MAPPING IF EXISTS FOR PUBLIC SERVER %I', name);
    EXECUTE format('DROP SERVER IF EXISTS %I', name);
    DELETE FROM l4.server AS x WHERE x.name = name;
END
$$;
COMMENT ON FUNCTION l4.drop_server(text) IS 'takes a server out of the directory; what it has stays there';
REVOKE EXECUTE ON FUNCTION l4.add_server(text, text), l4.use_server(text, bool), l4.drop_server(text) FROM PUBLIC;

CREATE FUNCTION l4._server_states() RETURNS TABLE (server text, state jsonb, problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    servers constant text[] := l4._server_active();
BEGIN
    RETURN QUERY SELECT a.server, a.answers[1]::jsonb, a.problem FROM l4._server_ask(servers, ARRAY(
        SELECT format('SELECT l4._server_state(%L)', ARRAY(SELECT j.job_id FROM l4.job_server j JOIN l4.job USING
            (job_id)
            WHERE j.server = s.name ORDER BY j.job_id))
        FROM unnest(servers) WITH ORDINALITY AS s(name, n) ORDER BY s.n), '5 s') AS a;
END
$$;
COMMENT ON FUNCTION l4._server_states() IS 'what the servers have, or why they do not say';

CREATE FUNCTION l4.fleet_status()
RETURNS TABLE (server text, answers bool, in_step bool, jobs bigint, lines bigint, events bigint, problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    own constant jsonb := l4._server_state();
BEGIN
    RETURN QUERY
    SELECT s.name, a.state IS NOT NULL, ROW(a.state -> 'shipped', a.state -> 'rules', a.state -> 'faults')
            = ROW(own -> 'shipped', own -> 'rules', own -> 'faults'), (a.state -> 'all_jobs')::bigint,
        (a.state -> 'lines')::bigint, (a.state -> 'events')::bigint,
        CASE WHEN s.active THEN a.problem ELSE 'left out by use_server()' END
    FROM l4.server AS s LEFT JOIN l4._server_states() AS a ON a.server = s.name
    ORDER BY s.name COLLATE "C";
END
$$;
COMMENT ON FUNCTION l4.fleet_status() IS
    'whether each server answers, has the rules and faults of this database, and how much it holds';

-- Faults that another server has and this one does not, confirmed where a job was diagnosed, come here first.
CREATE FUNCTION l4._server_fetch_faults(states jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM l4._server_take_faults(f.faults)
    FROM (SELECT jsonb_agg(f.fault) AS faults
        FROM (SELECT DISTINCT ON (f.fault ->> 'name') f.fault
            FROM l4._server_ask(ARRAY(SELECT jsonb_object_keys(states)), ARRAY[
                'SELECT f FROM pg_catalog.jsonb_array_elements(l4.export_faults() -> ''faults'') AS f'], '5 s') AS a
            CROSS JOIN LATERAL (SELECT u.fault::jsonb FROM unnest(a.answers) AS u(fault)) AS f(fault)
            WHERE NOT EXISTS (SELECT FROM l4.fault AS o WHERE o.fault_id >= 1000000 AND o.name = f.fault ->> 'name')
            ORDER BY f.fault ->> 'name', a.server COLLATE "C") AS f) AS f
    WHERE f.faults IS NOT NULL;
END
$$;
COMMENT ON FUNCTION l4._server_fetch_faults(jsonb) IS 'imports the faults of servers that are not known here';

CREATE FUNCTION l4._server_model(states jsonb) RETURNS bytea[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    most text;
BEGIN
    IF EXISTS (SELECT FROM l4._event) THEN
        RETURN ARRAY(SELECT l4.export_model());
    END IF;
    SELECT s.server INTO most FROM jsonb_each(states) AS s(server, state) WHERE (s.state -> 'events')::bigint > 0
    ORDER BY (s.state -> 'events')::bigint DESC, s.server COLLATE "C" LIMIT 1;
    RETURN (SELECT a.answers::bytea[] FROM l4._server_ask(ARRAY[most], ARRAY['SELECT l4.export_model()']) AS a
        WHERE most IS NOT NULL);
END
$$;
COMMENT ON FUNCTION l4._server_model(jsonb) IS
    'the templates of this database, or of the server that has most; NULL = none';

CREATE FUNCTION l4._server_take(model bytea[], rules jsonb, faults jsonb, jobs jsonb) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- rules first: they are applied to what is learnt
    IF rules IS NOT NULL THEN
        PERFORM l4._server_take_rules(rules);
    END IF;
    IF faults IS NOT NULL THEN
        PERFORM l4._server_take_faults(faults);
    END IF;
    IF jobs IS NOT NULL THEN
        PERFORM l4._server_take_jobs(jobs);
    END IF;
    IF model IS NOT NULL THEN
        PERFORM l4.import_model(model);
    END IF;
    RETURN array_remove(ARRAY[CASE WHEN rules IS NOT NULL THEN 'rules' END, CASE WHEN faults IS NOT NULL THEN
        'faults' END,
        CASE WHEN jobs IS NOT NULL THEN 'jobs' END, CASE WHEN model IS NOT NULL THEN 'model' END], NULL);
END
$$;
COMMENT ON FUNCTION l4._server_take(bytea[], jsonb, jsonb, jsonb) IS
    'takes over what another server sends, NULL = nothing of it; what there was of it';

CREATE FUNCTION l4.sync() RETURNS TABLE (server text, sent text[], problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    states jsonb;
    problems jsonb;
    own jsonb;
    model bytea[];
    jobs jsonb;
    asked text[] := '{}';
    questions text[] := '{}';
    s record;
BEGIN
    SELECT coalesce(jsonb_object_agg(a.server, a.state) FILTER (WHERE a.problem IS NULL), '{}'),
        coalesce(jsonb_object_agg(a.server, a.problem), '{}')
    INTO states, problems
    FROM l4._server_states() AS a JOIN l4.server AS h ON h.name = a.server AND NOT h.here;
    PERFORM l4._server_fetch_faults(states);
    own := l4._server_state();
    IF EXISTS (SELECT FROM jsonb_each(states) AS t(name, state) WHERE t.state -> 'events' = '0') THEN
        model := l4._server_model(states);
    END IF;
    FOR s IN
        SELECT p.key AS name, p.value AS problem, states -> p.key AS state, h.rules
        FROM jsonb_each_text(problems) AS p JOIN l4.server AS h ON h.name = p.key ORDER BY p.key COLLATE "C"
    LOOP
        server := s.name;
        problem := CASE WHEN s.problem IS NOT NULL THEN s.problem
            WHEN s.state -> 'shipped' <> own -> 'shipped' THEN 'it has another version or build of l4'
            WHEN s.state -> 'rules' <> own -> 'rules' AND s.state ->> 'rules' <> s.rules
                THEN 'its rules were changed there: change them here, and there back to what they were' END;
        IF problem IS NOT NULL THEN
            RETURN NEXT;
        ELSE
            jobs := l4._server_jobs(ARRAY(SELECT p.job_id FROM l4.job_server AS p WHERE p.server = s.name));
            asked := asked || s.name;
            questions := questions || format('SELECT l4._server_take(%L, %L, %L, %L)',
                CASE WHEN s.state -> 'events' = '0' THEN model END,
                CASE WHEN s.state -> 'rules' <> own -> 'rules' THEN l4._server_rules(true) END,
                CASE WHEN s.state -> 'faults' <> own -> 'faults' THEN l4.export_faults() -> 'faults' END,
                CASE WHEN s.state ->> 'jobs' <> md5(jobs::text) THEN jobs END);
        END IF;
    END LOOP;
    RETURN QUERY
    WITH answer AS MATERIALIZED (
        SELECT a.* FROM l4._server_ask(asked, questions) AS a
    ), noted AS (
        UPDATE l4.server AS h SET rules = own ->> 'rules' FROM answer AS a WHERE a.server = h.name AND a.problem IS NULL
    )
    SELECT a.server, a.answers[1]::text[], a.problem FROM answer AS a;
END
$$;
COMMENT ON FUNCTION l4.sync() IS
    'makes rules, faults and rows of l4.job of the servers those of this database, and gives templates to servers that '
    'have none; what was sent, or the problem';
