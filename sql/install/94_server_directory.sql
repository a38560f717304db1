-- The directory: servers are added, kept alike and given jobs.

-- key=value pairs as libpq reads them
--: the pairs of a connection string
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

--: tables of rules that servers have in common; which rows were not shipped
CREATE FUNCTION l4._server_rules(OUT kind text, OUT own text) RETURNS SETOF record
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 6
BEGIN ATOMIC
    SELECT k.kind, CASE k.kind WHEN 'disabled_rule' THEN 'true' ELSE 'r.rule_id >= 1000000' END
    FROM unnest(ARRAY['disabled_rule', 'line_format', 'stage_rule', 'iteration_rule', 'mask_rule', 'marker_rule'])
        WITH ORDINALITY AS k(kind, n) ORDER BY k.n;
END;

-- What servers must have in common, or have of some jobs. Rules keep their ids, which events name; faults are known by
-- their names. Of the rules that were shipped, and of shipped faults, a digest is enough.
--: the shipped or own rules, faults that are not shipped, rows of l4.job, or the model (NULL = none)
CREATE FUNCTION l4._server_part(part text, job_ids text[] DEFAULT '{}') RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET bytea_output = hex
AS $$
DECLARE
    rule record;
    found jsonb;
    result jsonb := '{}';
BEGIN
    IF part = 'faults' THEN
        RETURN (SELECT coalesce(jsonb_agg(f.fault - 'origin' ORDER BY f.fault ->> 'name' COLLATE "C"), '[]')
            FROM jsonb_array_elements(l4.export_faults() -> 'faults') AS f(fault));
    ELSIF part = 'jobs' THEN
        RETURN (SELECT coalesce(jsonb_agg(to_jsonb(j) ORDER BY j.job_id COLLATE "C"), '[]') FROM l4.job AS j
            WHERE j.job_id = ANY (job_ids));
    ELSIF part = 'model' THEN
        RETURN (SELECT jsonb_agg(x) FROM l4.export_model() AS x WHERE EXISTS (SELECT FROM l4._event));
    END IF;
    FOR rule IN SELECT * FROM l4._server_rules() LOOP
        EXECUTE format('SELECT jsonb_agg(to_jsonb(r) ORDER BY to_jsonb(r)) FROM l4.%I AS r WHERE (%s) = $1', rule.kind,
            rule.own) INTO found USING part = 'rules';
        result := result || jsonb_strip_nulls(jsonb_build_object(rule.kind, found));
    END LOOP;
    RETURN result || CASE WHEN part = 'shipped' THEN jsonb_build_object('fault', (SELECT sum(hashtextextended(f::text,
        0)) FROM l4.fault AS f WHERE f.fault_id < 1000000)) ELSE '{}' END;
END
$$;

--: what a server has, to compare with another one; of what was shipped and of jobs a digest
CREATE FUNCTION l4._server_state(job_ids text[] DEFAULT '{}') RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT jsonb_build_object('l4', x.extversion,
        'database', (SELECT c.system_identifier FROM pg_control_system() AS c) || '/'
            || (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()),
        'shipped', md5(x.extversion || l4._server_part('shipped')::text), 'rules', l4._server_part('rules'),
        'faults', l4._server_part('faults'), 'jobs', md5(l4._server_part('jobs', job_ids)::text),
        'events', (SELECT count(*) FROM l4._event),
        'lines', (SELECT coalesce(sum(s.lines + s.tail_lines), 0) FROM l4._stream AS s),
        'all_jobs', (SELECT count(DISTINCT s.job_id) FROM l4._stream AS s))
    FROM pg_extension AS x WHERE x.extname = 'l4';
END;

-- Rules first: they are applied to what is learnt.
--: takes over what another server sends: rules, faults, jobs, model; which servers were absent when a job was
--: collected; what there was of it
CREATE FUNCTION l4._server_take(parts jsonb) RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    rule record;
    wrong record;
BEGIN
    FOR rule IN SELECT * FROM l4._server_rules() WHERE parts ? 'rules' LOOP
        EXECUTE format('DELETE FROM l4.%I AS r WHERE %s', rule.kind, rule.own);
        EXECUTE format('INSERT INTO l4.%1$I SELECT r.* FROM jsonb_populate_recordset(NULL::l4.%1$I, $1) AS r',
            rule.kind) USING parts -> 'rules' -> rule.kind;
        CONTINUE WHEN rule.own = 'true';
        -- a rule that is added here by hand is found as such, and takes no number twice
        EXECUTE format('SELECT setval(%L, greatest(1000000, max(rule_id) + 1), false) FROM l4.%I',
            pg_get_serial_sequence('l4.' || rule.kind, 'rule_id'), rule.kind);
    END LOOP;
    IF parts ? 'faults' THEN
        SELECT i.* INTO wrong FROM l4.import_faults(jsonb_build_object('format', 'l4 faults', 'version', 1, 'faults',
            parts -> 'faults')) AS i WHERE i.action = 'error' ORDER BY i.n LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'fault "%": %', wrong.name, wrong.problem USING ERRCODE = 'data_exception';
        END IF;
    END IF;
    INSERT INTO l4.job AS t
    SELECT r.* FROM jsonb_populate_recordset(NULL::l4.job, parts -> 'jobs') AS r ORDER BY r.job_id
    ON CONFLICT (job_id) DO UPDATE SET settings = excluded.settings, status = excluded.status,
        expected_nodes = excluded.expected_nodes, started_at = excluded.started_at, ended_at = excluded.ended_at,
        attributes = excluded.attributes
    WHERE t IS DISTINCT FROM excluded;
    IF parts ? 'absent' THEN
        DELETE FROM l4._job_absent AS a WHERE a.job_id = parts ->> 'job_id';
        INSERT INTO l4._job_absent (job_id, server) SELECT DISTINCT j.job_id, s.name
        FROM jsonb_array_elements_text(parts -> 'absent') AS s(name) JOIN l4.job AS j ON j.job_id = parts ->> 'job_id';
    END IF;
    IF parts ? 'model' THEN
        PERFORM l4.import_model(ARRAY(SELECT x::bytea FROM jsonb_array_elements_text(parts -> 'model') AS x));
    END IF;
    RETURN ARRAY(SELECT w.part FROM unnest(ARRAY['rules', 'faults', 'jobs', 'model']) WITH ORDINALITY AS w(part, n)
        WHERE parts ? w.part ORDER BY w.n);
END
$$;

--: state of a server, or an error that says why it cannot be added
CREATE FUNCTION l4._server_check(name text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    own constant jsonb := l4._server_state();
    a record;
    b record;
    wrong record;
BEGIN
    SELECT * INTO a FROM l4._server_ask(ARRAY[name],
        ARRAY['SELECT e.extversion FROM pg_catalog.pg_extension e WHERE e.extname = ''l4''']);
    SELECT s.answers[1]::jsonb AS state, s.problem INTO b
    FROM l4._server_ask(ARRAY[name], ARRAY['SELECT l4._server_state()']) AS s;
    SELECT w.* INTO wrong FROM (VALUES
        (1, a.problem IS NOT NULL, 'does not answer', a.problem, 'Try the same connection with psql.'),
        (2, a.answers = '{}', 'has no l4', 'Each server has an l4 of its own.', 'CREATE EXTENSION l4 in its database.'),
        (3, a.answers[1] <> own ->> 'l4', format('has version %s of l4', a.answers[1]),
            format('Here it is version %s.', own ->> 'l4'), 'All servers must have the same version.'),
        (4, b.problem IS NOT NULL, 'does not say what it has', b.problem,
            'Its user needs the grants of an ingester and of a curator there.'),
        (5, b.state -> 'shipped' <> own -> 'shipped', 'has other rules and faults that came with l4',
            'Its version is the same.', 'Install the same build of l4 on all servers.'),
        (6, b.state -> 'rules' NOT IN ('{}', own -> 'rules'), 'has rules of its own',
            'l4.sync() makes the rules of all servers those of this database.',
            'Bring its rules here, or delete them there.')) AS w(n, holds, text, detail, hint)
    WHERE w.holds ORDER BY w.n LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'server "%" %', name, wrong.text USING DETAIL = wrong.detail, HINT = wrong.hint,
            ERRCODE = CASE wrong.n WHEN 1 THEN 'sqlclient_unable_to_establish_sqlconnection'
                WHEN 4 THEN 'insufficient_privilege' ELSE 'object_not_in_prerequisite_state' END;
    END IF;
    RETURN b.state;
END
$$;

--: adds a server with an l4 of its own: its foreign server, user mapping and foreign tables
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
    known text;
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
    -- what it has would be counted twice
    SELECT a.server INTO known FROM l4._server_ask(ARRAY(SELECT s.name FROM l4.server AS s WHERE NOT s.here),
        ARRAY['SELECT l4._server_state() -> ''database''']) AS a
    WHERE a.answers[1]::jsonb = state -> 'database' LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'server "%" is the database of server "%"', name, known USING ERRCODE = 'duplicate_object',
            HINT = 'Each server is added once.';
    END IF;
    INSERT INTO l4.server (name, here, rules) VALUES (name, is_here, md5(state ->> 'rules'));
    FOR t IN SELECT * FROM l4._server_tables(name) WHERE NOT is_here LOOP
        EXECUTE format('CREATE FOREIGN TABLE %s () INHERITS (%s) SERVER %I OPTIONS (schema_name ''l4'', table_name %L)',
            t.child, t.parent, name, t.kind);
    END LOOP;
END
$$;

--: false: leave a server out of calls and fleet views, until it is back; true: take it in again
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

--: takes a server out of the directory; what it has stays there
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
REVOKE EXECUTE ON FUNCTION l4.add_server(text, text), l4.use_server(text, bool), l4.drop_server(text) FROM PUBLIC;

--: the servers that are asked: those that a job is on; all where that is not known
CREATE FUNCTION l4._server_asked(job_id text DEFAULT NULL) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (
    SELECT coalesce(array_agg(s.name ORDER BY s.name COLLATE "C") FILTER (WHERE j.server IS NOT NULL),
        array_agg(s.name ORDER BY s.name COLLATE "C"), '{}')
    FROM l4.server AS s
    LEFT JOIN l4.job_server AS j ON j.server = s.name AND j.job_id = _server_asked.job_id
    WHERE s.active);

--: what the servers have, or why they do not say
CREATE FUNCTION l4._server_states() RETURNS TABLE (server text, state jsonb, problem text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT s.name, a.answers[1]::jsonb, CASE WHEN s.active THEN a.problem ELSE 'left out by use_server()' END
    FROM (SELECT array_agg(w.name ORDER BY w.name) AS names, array_agg(format('SELECT l4._server_state(%L)',
            ARRAY(SELECT j.job_id FROM l4.job_server AS j JOIN l4.job USING (job_id) WHERE j.server = w.name))
            ORDER BY w.name) AS questions
        FROM l4.server AS w WHERE w.active HAVING count(*) > 0) AS q
    CROSS JOIN LATERAL l4._server_ask(q.names, q.questions) AS a
    RIGHT JOIN l4.server AS s ON s.name = a.server
    ORDER BY s.name COLLATE "C";
END;

--: whether each server answers, has the rules and faults of this database, and how much it holds
CREATE FUNCTION l4.fleet_status()
RETURNS TABLE (server text, answers bool, in_step bool, jobs bigint, lines bigint, events bigint, problem text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE ROWS 10
BEGIN ATOMIC
    SELECT a.server, a.state IS NOT NULL, ROW(a.state -> 'shipped', a.state -> 'rules', a.state -> 'faults')
            = ROW(o.own -> 'shipped', o.own -> 'rules', o.own -> 'faults'), (a.state -> 'all_jobs')::bigint,
        (a.state -> 'lines')::bigint, (a.state -> 'events')::bigint, a.problem
    FROM l4._server_states() AS a CROSS JOIN l4._server_state() AS o(own);
END;

-- Faults of other servers, confirmed where a job was diagnosed, come here first. The templates of this database, or of
-- the server that has most, go to those that have none.
--: makes rules, faults and rows of l4.job of the servers those of this database, and gives templates to servers that
--: have none; what was sent, or the problem
CREATE FUNCTION l4.sync() RETURNS TABLE (server text, sent text[], problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    states jsonb := (SELECT coalesce(jsonb_agg(to_jsonb(a)), '[]')
        FROM l4._server_states() AS a JOIN l4.server AS h ON h.name = a.server AND h.active AND NOT h.here);
    own jsonb;
    most text;
    model jsonb;
BEGIN
    PERFORM l4._server_take(jsonb_build_object('faults', jsonb_agg(f.fault)))
    FROM (SELECT DISTINCT ON (f.fault ->> 'name') f.fault
        FROM jsonb_to_recordset(states) AS s(server text, state jsonb)
        CROSS JOIN LATERAL jsonb_array_elements(s.state -> 'faults') AS f(fault)
        WHERE NOT EXISTS (SELECT FROM l4.fault AS o WHERE o.fault_id >= 1000000 AND o.name = f.fault ->> 'name')
        ORDER BY f.fault ->> 'name', s.server COLLATE "C") AS f
    HAVING count(*) > 0;
    own := l4._server_state();
    IF jsonb_path_exists(states, '$[*].state.events ? (@ == 0)') THEN
        SELECT s ->> 'server' INTO most FROM jsonb_array_elements(states) AS s
        WHERE own -> 'events' = '0' AND s -> 'state' -> 'events' > '0'
        ORDER BY (s -> 'state' -> 'events')::bigint DESC, s ->> 'server' COLLATE "C" LIMIT 1;
        model := (SELECT t.answers[1] FROM l4._server_tell(most, 'SELECT l4._server_part(''model'')') AS t);
    END IF;
    RETURN QUERY
    WITH plan AS MATERIALIZED (
        SELECT h.name, (SELECT coalesce(jsonb_object_agg(p.part, p.ours), '{}') FROM (VALUES
                ('model', model, s.state -> 'events' = '0' AND model IS NOT NULL),
                ('rules', own -> 'rules', s.state -> 'rules' <> own -> 'rules'),
                ('faults', own -> 'faults', s.state -> 'faults' <> own -> 'faults'),
                ('jobs', j.jobs, s.state ->> 'jobs' <> md5(j.jobs::text))) AS p(part, ours, differs)
                WHERE p.differs) AS parts,
            CASE WHEN s.problem IS NOT NULL THEN s.problem
                WHEN s.state -> 'shipped' <> own -> 'shipped' THEN 'it has another version or build of l4'
                WHEN s.state -> 'rules' <> own -> 'rules' AND md5(s.state ->> 'rules') <> h.rules
                    THEN 'its rules were changed there: change them here, and there back to what they were'
            END AS problem
        FROM jsonb_to_recordset(states) AS s(server text, state jsonb, problem text)
        JOIN l4.server AS h ON h.name = s.server
        CROSS JOIN LATERAL l4._server_part('jobs', ARRAY(SELECT p.job_id FROM l4.job_server AS p
            WHERE p.server = s.server)) AS j(jobs)
    ), answer AS MATERIALIZED (
        SELECT a.* FROM (SELECT array_agg(p.name) AS servers, array_agg(format('SELECT l4._server_take(%L)', p.parts))
            AS questions FROM plan AS p WHERE p.problem IS NULL HAVING count(*) > 0) AS q
        CROSS JOIN LATERAL l4._server_ask(q.servers, q.questions, NULL) AS a
    ), noted AS (
        UPDATE l4.server AS h SET rules = md5(own ->> 'rules')
        FROM answer AS a WHERE a.server = h.name AND a.problem IS NULL
    )
    SELECT p.name, a.answers[1]::text[], coalesce(p.problem, a.problem)
    FROM plan AS p LEFT JOIN answer AS a ON a.server = p.name ORDER BY p.name COLLATE "C";
END
$$;
