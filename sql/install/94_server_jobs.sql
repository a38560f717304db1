-- Jobs of the directory: where they go, who reads them, and how the parts of one job come together.

-- Where the parts are large they go some 32 MB at a time.
--: has a server import jobs, a text of bytea[] each; how many streams were new or longer
CREATE FUNCTION l4._server_give(target text, jobs text[]) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    given record;
    told record;
    streams int := 0;
BEGIN
    FOR given IN
        SELECT array_agg(s.parts ORDER BY s.n) AS jobs
        FROM (SELECT j.parts, j.n, sum(length(j.parts)) OVER (ORDER BY j.n) / 64000000 AS turn
            FROM unnest(jobs) WITH ORDINALITY AS j(parts, n) WHERE j.parts <> '{}') AS s
        GROUP BY s.turn ORDER BY s.turn
    LOOP
        told := l4._server_tell(target, format('SELECT sum(i.streams_imported) '
            'FROM pg_catalog.unnest(%L::text[]) AS j(parts) CROSS JOIN LATERAL l4.import_job(j.parts::bytea[]) AS i',
            given.jobs));
        IF told.problem IS NOT NULL THEN
            RAISE EXCEPTION 'server "%" did not take a job', target USING ERRCODE = 'connection_exception',
                DETAIL = told.problem;
        END IF;
        streams := streams + coalesce(told.answers[1]::int, 0);
    END LOOP;
    RETURN streams;
END
$$;

-- Jobs of the same settings that got through and lie elsewhere: their digests go to a server that lacks them.
--: gives a server the digests of baseline jobs that it lacks, as far as their servers answer
CREATE FUNCTION l4._server_baselines(job_id text, target text, absent text[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    wanted constant text[] := ARRAY(
        SELECT g.job_id FROM l4.job AS j JOIN l4.job AS g USING (settings)
        WHERE j.job_id = job_id AND g.job_id <> j.job_id AND g.status = 'succeeded'
            AND EXISTS (SELECT FROM l4.job_server AS p WHERE p.job_id = g.job_id)
        ORDER BY g.ended_at DESC NULLS LAST, g.job_id COLLATE "C" DESC LIMIT 50);
    there constant text := 'FROM l4._stream s WHERE s.job_id = j AND s.lines OPERATOR(pg_catalog.+) s.tail_lines > 0';
    told record;
    source record;
BEGIN
    IF wanted = '{}' THEN
        RETURN;
    END IF;
    told := l4._server_tell(target, format('SELECT j FROM pg_catalog.unnest(%L::text[]) AS j WHERE EXISTS (SELECT %s)',
        wanted, there));
    FOR source IN
        SELECT f.server, array_agg(f.job_id ORDER BY f.job_id) AS jobs
        FROM (SELECT DISTINCT ON (p.job_id) CASE WHEN NOT s.here THEN s.name END AS server, p.job_id
            FROM l4.job_server AS p JOIN l4.server AS s ON s.name = p.server
            WHERE p.job_id = ANY (wanted) AND p.job_id <> ALL (told.answers) AND s.active AND s.name <> ALL (absent)
            ORDER BY p.job_id, p.lines DESC NULLS LAST, p.placed_at IS NULL, p.server COLLATE "C") AS f
        WHERE f.server IS DISTINCT FROM target
        GROUP BY f.server
    LOOP
        told := l4._server_tell(source.server, format('SELECT ARRAY(SELECT l4.export_job(j, ''baseline'')) '
            'FROM pg_catalog.unnest(%L::text[]) AS j WHERE EXISTS (SELECT %s)', source.jobs, there));
        PERFORM l4._server_give(target, told.answers);
    END LOOP;
    PERFORM l4._server_tell(target, format('SELECT l4._server_take(%L)',
        jsonb_build_object('jobs', l4._server_part('jobs', wanted)))) WHERE target IS NOT NULL;
END
$$;

-- A job stays where it was put, or where its lines are already. Its lines are not known yet: it counts like the others
-- of its settings.
--: the server that a job's lines should go to: where jobs of its settings are, unless it carries too much
CREATE FUNCTION l4.place(job_id text, settings text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    chosen text;
    is_here bool;
BEGIN
    IF job_id IS NULL THEN
        RAISE EXCEPTION 'job_id must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    ELSIF NOT EXISTS (SELECT FROM l4.server AS s WHERE s.active) THEN
        RAISE EXCEPTION 'there is no server to place jobs on' USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'l4.add_server() adds one.';
    END IF;
    -- one at a time: each looks at what the others carry
    LOCK TABLE l4.job_server IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO l4.job AS j (job_id, settings) VALUES (job_id, settings)
    ON CONFLICT ON CONSTRAINT job_pkey DO UPDATE SET settings = excluded.settings
    WHERE excluded.settings IS NOT NULL AND excluded.settings IS DISTINCT FROM j.settings;
    settings := (SELECT j.settings FROM l4.job AS j WHERE j.job_id = job_id);
    SELECT p.server INTO chosen FROM l4.job_server AS p WHERE p.job_id = job_id
    ORDER BY p.placed_at, p.lines DESC NULLS LAST, p.server COLLATE "C" LIMIT 1;
    IF chosen IS NULL THEN
        chosen := l4._server_choice(settings);
    END IF;
    INSERT INTO l4.job_server AS p (job_id, server, placed_at) VALUES (job_id, chosen, now())
    ON CONFLICT ON CONSTRAINT job_server_pkey DO UPDATE SET placed_at = coalesce(p.placed_at, excluded.placed_at);
    SELECT s.here INTO is_here FROM l4.server AS s WHERE s.name = chosen;
    BEGIN
        PERFORM l4._server_baselines(job_id, CASE WHEN NOT is_here THEN chosen END, '{}');
    EXCEPTION WHEN connection_exception THEN
        RAISE WARNING 'the baselines of job "%" are not on server "%" yet', job_id, chosen
            USING DETAIL = SQLERRM, HINT = 'l4.diagnose_at() will try again.';
    END;
    RETURN chosen;
END
$$;

--: the server with most of the latest succeeded jobs of these settings that stays within 1.5 times the mean of lines,
--: else the one with the fewest
CREATE FUNCTION l4._server_choice(settings text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH placed AS (
        SELECT p.server, p.job_id, j.settings, j.status, j.ended_at,
            coalesce(p.lines, avg(p.lines) OVER (PARTITION BY j.settings), avg(p.lines) OVER (), 1) AS lines
        FROM l4.job_server AS p LEFT JOIN l4.job AS j USING (job_id)
    ), latest AS (
        SELECT p.server, count(*) AS jobs
        FROM (SELECT p.server FROM placed AS p WHERE p.settings = _server_choice.settings AND p.status = 'succeeded'
            ORDER BY p.ended_at DESC NULLS LAST, p.job_id COLLATE "C" DESC LIMIT 50) AS p
        GROUP BY p.server
    ), load AS (
        SELECT s.name, coalesce(sum(p.lines), 0) AS lines,
            count(*) FILTER (WHERE p.settings = _server_choice.settings) AS jobs
        FROM l4.server AS s LEFT JOIN placed AS p ON p.server = s.name
        WHERE s.active GROUP BY s.name
    ), job AS (
        SELECT coalesce(avg(p.lines) FILTER (WHERE p.settings = _server_choice.settings), avg(p.lines), 1) AS lines
        FROM placed AS p
    )
    SELECT l.name
    FROM (SELECT l.*, l.jobs > 0 AND l.lines + j.lines <= 1.5 * (sum(l.lines) OVER () + j.lines) / count(*) OVER ()
            AS fits
        FROM load AS l CROSS JOIN job AS j) AS l
    LEFT JOIN latest AS b ON b.server = l.name
    ORDER BY l.fits DESC, CASE WHEN l.fits THEN coalesce(b.jobs, 0) END DESC, CASE WHEN l.fits THEN l.jobs END DESC,
        l.lines, l.name COLLATE "C"
    LIMIT 1;
END;

--: has each server read its own relation of this name, all at once; a warning names those that did not
CREATE PROCEDURE l4.ingest_servers(logs text, job_id text DEFAULT NULL)
LANGUAGE plpgsql
AS $$
-- No SET clause: a procedure that commits cannot have one. Every name here is qualified.
#variable_conflict use_variable
DECLARE
    servers text[];
    problems text[];
BEGIN
    IF logs IS NULL THEN
        RAISE EXCEPTION 'logs must not be NULL' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    servers := l4._server_asked(job_id);
    problems := l4._server_send(servers,
        ARRAY[pg_catalog.format('CALL l4.ingest(%L::pg_catalog.regclass, %L)', logs, job_id)]);
    LOOP
        -- nothing is held while others work
        IF l4._can_commit() THEN
            COMMIT;
        END IF;
        EXIT WHEN pg_catalog.cardinality(l4._server_busy(servers, problems)) OPERATOR(pg_catalog.=) 0;
        PERFORM pg_catalog.pg_sleep(0.02);
    END LOOP;
    PERFORM l4._server_finish(servers, problems, job_id);
END
$$;

-- Digests of baselines have no chunks: their lines are elsewhere.
--: takes the answers of servers that read, warns of failures and of a job that nobody has, and notes which lines are
--: where
CREATE FUNCTION l4._server_finish(servers text[], problems text[], job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    a record;
    jobs jsonb;
    added bigint;
    found bool := job_id IS NULL;
BEGIN
    FOR a IN SELECT * FROM l4._server_answers(servers, problems, NULL) AS r WHERE r.problem IS NOT NULL LOOP
        RAISE WARNING 'server "%" %', a.server, CASE WHEN problems[array_position(servers, a.server)] IS NULL
            THEN 'did not read all' ELSE 'does not answer' END USING DETAIL = a.problem;
    END LOOP;
    FOR a IN SELECT * FROM l4._server_ask(servers, ARRAY[
        'SELECT coalesce(pg_catalog.jsonb_object_agg(j.job_id, j.lines), ''{}'') FROM (SELECT s.job_id, '
        'pg_catalog.sum(s.lines + s.tail_lines) AS lines FROM l4._stream s '
        'WHERE EXISTS (SELECT FROM l4._pack_chunk c WHERE c.pack_id = s.pack_id) GROUP BY s.job_id) AS j']) AS w
        WHERE w.problem IS NULL
    LOOP
        jobs := a.answers[1];
        found := found OR jobs ? _server_finish.job_id;
        SELECT sum(greatest(j.value::bigint - coalesce(p.lines, 0), 0)) INTO added
        FROM jsonb_each_text(jobs) AS j LEFT JOIN l4.job_server AS p ON p.server = a.server AND p.job_id = j.key;
        RAISE NOTICE 'server "%" has %', a.server, coalesce(l4._counted(nullif(added, 0), 'new line'), 'no new lines');
        DELETE FROM l4.job_server AS p
        WHERE p.server = a.server AND NOT jobs ? p.job_id AND (p.placed_at IS NULL OR p.lines IS NOT NULL);
        INSERT INTO l4.job_server AS p (job_id, server, lines)
        SELECT j.key, a.server, j.value::bigint FROM jsonb_each_text(jobs) AS j ORDER BY j.key
        ON CONFLICT ON CONSTRAINT job_server_pkey DO UPDATE SET lines = excluded.lines
        WHERE p.lines IS DISTINCT FROM excluded.lines;
    END LOOP;
    IF NOT found THEN
        RAISE WARNING 'no server that answers has lines of job "%"', job_id
            USING HINT = coalesce('Did you mean "' || nullif(l4._near_job(job_id), job_id) || '"?',
                'The column job_id must have this value, letter for letter.');
    END IF;
END
$$;

--: the streams of a job wherever they are, without digests; without a node, why a server does not say
CREATE FUNCTION l4._server_streams(job_id text)
RETURNS TABLE (server text, node text, source text, lines bigint, problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    question constant text := format('SELECT coalesce(pg_catalog.jsonb_agg(s), ''[]'') FROM (SELECT s.node, s.source, '
        's.lines + s.tail_lines AS lines FROM l4._stream s WHERE s.job_id = %L AND s.lines + s.tail_lines > 0 '
        'AND EXISTS (SELECT FROM l4._pack_chunk c WHERE c.pack_id = s.pack_id)) AS s', _server_streams.job_id);
BEGIN
    RETURN QUERY
    SELECT a.server, r.node, r.source, r.lines, a.problem
    FROM (SELECT a.* FROM l4._server_ask(ARRAY(SELECT s.name FROM l4.server AS s WHERE s.active AND NOT s.here
            ORDER BY s.name COLLATE "C"), ARRAY[question]) AS a
        UNION ALL SELECT NULL, t.answers, NULL FROM l4._server_tell(NULL, question) AS t) AS a
    LEFT JOIN LATERAL jsonb_to_recordset(a.answers[1]::jsonb) AS r(node text, source text, lines bigint) ON true
    WHERE r.node IS NOT NULL OR a.problem IS NOT NULL
    UNION ALL SELECT s.name, NULL, NULL, NULL, 'left out by use_server()'
    FROM l4.server AS s JOIN l4.job_server AS p ON p.server = s.name
    WHERE NOT s.active AND p.job_id = _server_streams.job_id;
END
$$;

-- Of a stream that several servers have the longest counts. Nodes travel by some eight million lines at a time.
--: brings the streams of a job and its row to one server, and notes there which servers are missing
CREATE FUNCTION l4._server_gather(job_id text, target text, streams jsonb)
RETURNS TABLE (server text, streams_imported int, problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    absent text[] := ARRAY(SELECT s ->> 'server' FROM jsonb_array_elements(streams) AS s WHERE s ->> 'problem' <> '');
    told record;
    part record;
    detail text;
BEGIN
    FOR part IN
        WITH best AS (
            SELECT DISTINCT ON (f.node, f.source) f.server, f.node, f.lines
            FROM jsonb_to_recordset(streams) AS f(server text, node text, source text, lines bigint, problem text)
            WHERE f.problem IS NULL
            ORDER BY f.node, f.source, f.lines DESC, f.server IS DISTINCT FROM target, f.server COLLATE "C"
        )
        SELECT n.server, array_agg(n.node ORDER BY n.node) AS nodes
        FROM (SELECT b.server, b.node, sum(sum(b.lines)) OVER (PARTITION BY b.server ORDER BY b.node) / 8000000 AS turn
            FROM best AS b WHERE b.server IS DISTINCT FROM target GROUP BY b.server, b.node) AS n
        GROUP BY n.server, trunc(n.turn) ORDER BY n.server COLLATE "C", trunc(n.turn)
    LOOP
        server := part.server;
        told := l4._server_tell(server, format('SELECT ARRAY(SELECT l4.export_job(%L, ''all'', %L))',
            job_id, part.nodes));
        problem := told.problem;
        streams_imported := NULL;
        BEGIN
            IF problem IS NULL THEN
                streams_imported := l4._server_give(target, told.answers);
            END IF;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS problem = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
            problem := concat_ws(': ', problem, nullif(detail, ''));
        END;
        absent := absent || CASE WHEN problem IS NOT NULL THEN ARRAY[server] END;
        RETURN NEXT;
    END LOOP;
    PERFORM l4._server_tell(target, format('SELECT l4._server_take(%L)', jsonb_build_object('job_id', job_id, 'absent',
        absent) || CASE WHEN target IS NULL THEN '{}'
            ELSE jsonb_build_object('jobs', l4._server_part('jobs', ARRAY[job_id])) END));
    RETURN QUERY SELECT s ->> 'server', NULL::int, s ->> 'problem' FROM jsonb_array_elements(streams) AS s
        WHERE s ->> 'problem' <> '';
END
$$;

--: brings all streams of a job here that other servers have read further; what came from where, and who does not answer
CREATE FUNCTION l4.collect(job_id text) RETURNS TABLE (server text, streams int, problem text)
LANGUAGE sql VOLATILE PARALLEL UNSAFE STRICT ROWS 10
BEGIN ATOMIC
    SELECT g.server, g.streams_imported, g.problem
    FROM (SELECT coalesce(jsonb_agg(s), '[]') AS streams FROM l4._server_streams(job_id) AS s) AS f
    CROSS JOIN LATERAL l4._server_gather(job_id, NULL, f.streams) AS g;
END;

--: collects a job where it is, with digests of its baselines, and diagnoses it there
CREATE FUNCTION l4.diagnose_at(job_id text) RETURNS l4.diagnosis
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE STRICT SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    streams jsonb;
    absent text[];
    target text;
    told record;
BEGIN
    SELECT coalesce(jsonb_agg(s), '[]'), coalesce(array_agg(s.server) FILTER (WHERE s.problem IS NOT NULL), '{}')
    INTO streams, absent FROM l4._server_streams(job_id) AS s;
    SELECT f.server INTO target
    FROM jsonb_to_recordset(streams) AS f(server text, lines bigint, problem text)
    LEFT JOIN l4.server AS s ON s.name = f.server OR f.server IS NULL AND s.here
    LEFT JOIN l4.job_server AS p ON p.job_id = job_id AND p.server = s.name
    WHERE f.problem IS NULL GROUP BY f.server
    ORDER BY bool_or(p.placed_at IS NOT NULL) DESC, sum(f.lines) DESC, f.server COLLATE "C" LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no server that answers has lines of job "%"', job_id USING ERRCODE = 'undefined_object',
            DETAIL = CASE WHEN absent = '{}' THEN 'All servers answer.'
                ELSE 'These do not: ' || array_to_string(absent, ', ') || '.' END,
            HINT = 'CALL l4.ingest_servers() has the servers read what they have.';
    END IF;
    PERFORM l4._server_gather(job_id, target, streams);
    PERFORM l4._server_baselines(job_id, target, absent);
    told := l4._server_tell(target, format('SELECT pg_catalog.to_jsonb(d) FROM l4.diagnose(%L) AS d', job_id));
    IF told.problem IS NOT NULL THEN
        RAISE EXCEPTION 'server "%" could not diagnose job "%"', target, job_id
            USING ERRCODE = 'external_routine_exception', DETAIL = told.problem;
    END IF;
    RETURN jsonb_populate_record(NULL::l4.diagnosis, told.answers[1]::jsonb);
END
$$;
