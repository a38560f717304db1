-- What the stacks of crash reports tell.

--: frames of the stacks in a text, and whose code they are in by its place
CREATE FUNCTION l4._stack_frames(record text)
RETURNS TABLE (stack int, place int, owner text, package text, file text, line int, function text)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 20 AS 'MODULE_PATHNAME', 'l4_stack_frames';

--: frames of the stacks in a text, innermost first (place 1), those of the exception that came first in stack 1; owner:
--: user, framework, library, stdlib or NULL = not known
CREATE FUNCTION l4.stack_frames(record text)
RETURNS TABLE (stack int, place int, owner text, package text, file text, line int, function text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 20
BEGIN ATOMIC
    SELECT f.stack, f.place, CASE WHEN EXISTS (SELECT FROM l4._marker('framework') AS r
            WHERE l4.pcre_match(coalesce(f.package, regexp_replace(f.file, '[^/\\]*$', '')), r.signature))
        AND f.function IS DISTINCT FROM '<module>' THEN 'framework' ELSE f.owner END,
        f.package, f.file, f.line, f.function
    FROM l4._stack_frames(record) AS f;
END;

-- The innermost frame that is neither the language's nor unknown, and if it is not the program's, who called.
--: whose code an exception came from, and the innermost frame in words
CREATE FUNCTION l4._origin(record text, OUT owner text, OUT words text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1000
BEGIN ATOMIC
    WITH frame AS MATERIALIZED (
        SELECT f.stack, f.place, f.owner, f.package,
            concat(regexp_replace(f.file, '^.*[/\\](?:site|dist)-packages[/\\]', ''), ':' || f.line)
                || coalesce(' in ' || f.function, '') AS spot
        FROM l4.stack_frames(record) AS f WHERE f.owner <> 'stdlib'
    )
    SELECT i.owner, format('innermost frame: %s, %s',
        CASE i.owner WHEN 'user' THEN 'the program' ELSE coalesce('package ' || i.package, i.owner) END,
        i.spot) || CASE WHEN i.owner <> 'user' THEN coalesce((
            SELECT ', called from ' || f.spot FROM frame AS f
            WHERE f.stack = i.stack AND f.owner = 'user' ORDER BY f.place LIMIT 1), '') ELSE '' END
    FROM (SELECT * FROM frame AS f ORDER BY f.stack, f.place LIMIT 1) AS i;
END;

-- Crash reports and stacks of a node (of the job: the first one, if there is any one with functions).
--: records with a stack of a node, NULL: the first one of the job
CREATE FUNCTION l4._stack_records(k l4._case, node text) RETURNS TABLE (event_id int, record text)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 5
BEGIN ATOMIC
    WITH claim AS MATERIALIZED (
        SELECT c.event_id, c.example, _stack_records.node IS NULL AND NOT EXISTS (
            SELECT FROM l4._stack_frames(c.example) AS f WHERE f.function <> '') AS bare
        FROM l4._claims(k.job_id) AS c
        WHERE NOT c.exit AND (c.terminal OR c.stack)
    )
    SELECT c.event_id, c.example
    FROM l4._shown(k.job_id) AS s
    JOIN claim AS c USING (event_id)
    LEFT JOIN l4._case_mark AS n ON n.job_id = k.job_id AND n.node = s.node
    WHERE _stack_records.node IS NULL OR s.node = _stack_records.node
        -- what an attempt to begin anew fails in says little
        AND NOT coalesce(s.first_ts > n.terminal_ts + l4._seconds((k.t).retry_seconds), false)
    ORDER BY c.bare, s.stack, s.nodes, s.first_ts, s.first_line_no
    LIMIT CASE WHEN _stack_records.node IS NULL THEN 1 ELSE (k.t).max_reports::bigint END;
END;

--: name of a function without its class or name space
CREATE FUNCTION l4._function(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN regexp_replace(name, '^.*[.:]', '');

-- Who is struck in a step trains, whatever lines say; forward steps are done elsewhere as well. Peers wait in a step
-- for one that fails before: what half of the nodes report tells where nobody reported a crash earlier.
--: is the first crash, or one that half of the nodes report first, in a function of a training step, or does it speak
--: of one
CREATE FUNCTION l4._in_step(k l4._case, announced bool) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE COST 10000
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM (
            SELECT s.event_id, s.record, announced AS any_step FROM l4._stack_records(k, NULL) AS s
            UNION ALL
            SELECT e.event_id, e.example, false FROM l4._claims(k.job_id) AS e
            WHERE e.terminal AND NOT e.exit AND e.nodes >= (k.t).half * greatest(k.nodes, (k.t).min_pair)
                AND coalesce(e.first_ts <= k.terminal_ts, true)) AS s
        JOIN l4._event AS t USING (event_id)
        CROSS JOIN LATERAL (SELECT t.example UNION ALL
            SELECT l4._function(f.function) FROM l4._stack_frames(s.record) AS f) AS n(name)
        JOIN l4._marker('step') AS r ON l4.pcre_match(n.name, r.signature)
        WHERE s.any_step OR n.name !~* '^_*forward$');
END;
