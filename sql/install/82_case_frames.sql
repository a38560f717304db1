-- What the stacks of crash reports tell.

-- Names of the functions in the first crash reports of a node (of the job: in the first one), outermost first; or of
-- what its lines of code call.
CREATE FUNCTION l4._frames(k l4._case, node text, calls bool DEFAULT false)
RETURNS TABLE (name text, event_id int, place bigint)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    WITH failed AS (
        SELECT n.node, n.terminal_ts + l4._seconds((k.t).retry_seconds) AS last_ts FROM l4._case_mark AS n
        WHERE n.job_id = k.job_id
    ), report AS (
        SELECT s.event_id
        FROM l4._shown(k.job_id) AS s LEFT JOIN failed AS f ON f.node = s.node
        WHERE NOT s.exit AND (s.terminal OR s.stack)
            AND (_frames.node IS NULL OR s.node = _frames.node
                -- what an attempt to begin anew fails in says little
                AND NOT coalesce(s.first_ts > f.last_ts, false))
        ORDER BY s.stack, s.nodes, s.first_ts, s.first_line_no
        LIMIT CASE WHEN _frames.node IS NULL THEN 1 ELSE (k.t).max_reports::bigint END
    )
    SELECT CASE WHEN calls THEN f.name[1] ELSE regexp_replace(f.name[1], '^.*[.]', '') END, r.event_id, f.place
    FROM report AS r
    JOIN l4._job_events(ARRAY[k.job_id]) AS j USING (event_id)
    CROSS JOIN LATERAL regexp_matches(j.example,
        CASE WHEN calls THEN '([A-Za-z_][A-Za-z0-9_.]*)[(]'
            ELSE '(?:, in |\mat |\min )([A-Za-z_][A-Za-z0-9_.]*)' END,
        'g') WITH ORDINALITY AS f(name, place);
END;
COMMENT ON FUNCTION l4._frames(l4._case, text, bool) IS
    'functions in the stacks of a node, NULL: in the first of the job; or what their lines of code call';

-- Who is struck in a step trains, whatever lines say; forward steps are done elsewhere as well.
CREATE FUNCTION l4._in_step(k l4._case, announced bool) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE COST 10000
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM l4._frames(k, NULL) AS f
            JOIN l4._marker('step') AS r ON l4.pcre_match(f.name, r.signature)
            WHERE announced OR f.name !~* '^_*forward$')
        OR EXISTS (SELECT FROM l4._claims(k.job_id) AS e
            JOIN l4._job_events(ARRAY[k.job_id]) AS j USING (event_id)
            CROSS JOIN LATERAL regexp_matches(j.example, ', in ([A-Za-z_][A-Za-z0-9_]*)', 'g') AS f(name)
            JOIN l4._marker('step') AS r ON l4.pcre_match(f.name[1], r.signature)
            WHERE e.terminal AND NOT e.exit AND e.nodes >= (k.t).half * greatest(k.nodes, (k.t).min_pair)
                AND f.name[1] !~* '^_*forward$');
END;
COMMENT ON FUNCTION l4._in_step(l4._case, bool) IS
    'is the first crash, or one that half of the nodes report, in a function of a training step';
