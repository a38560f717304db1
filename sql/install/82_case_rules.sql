-- What rules say about texts: levels, and marker rules.

--: level as number: 0 none, 1 DEBUG, 2 INFO, 3 WARNING, 4 ERROR, 5 CRITICAL
CREATE FUNCTION l4._level(level text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE level WHEN 'DEBUG' THEN 1 WHEN 'INFO' THEN 2 WHEN 'WARNING' THEN 3 WHEN 'ERROR' THEN 4
    WHEN 'CRITICAL' THEN 5 WHEN 'FATAL' THEN 5 ELSE 0 END;

--: marker rules of a kind that are in force
CREATE FUNCTION l4._marker(kind text) RETURNS SETOF l4.marker_rule
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT r.* FROM l4.marker_rule AS r
    WHERE r.kind = _marker.kind
        AND NOT EXISTS (SELECT FROM l4.disabled_rule AS d WHERE d.kind = 'marker_rule' AND d.name = r.name)
        AND (r.origin <> 'builtin'
            OR NOT EXISTS (SELECT FROM l4.marker_rule AS u WHERE u.name = r.name AND u.origin <> 'builtin'))
    ORDER BY r.rule_id DESC;
END
$$;

--: does a marker rule of the kind match
CREATE FUNCTION l4._marked(message text, kind text) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM l4._marker(_marked.kind) AS r WHERE l4.pcre_match(_marked.message, r.signature));
END;

-- Many texts are matched in one pass.
--: which of the texts, by subscript, marker rules of these kinds match
CREATE FUNCTION l4._marks(texts text[], kinds text[]) RETURNS TABLE (place int, kind text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    SELECT DISTINCT m.line, r.kinds[m.pattern]
    FROM (
        SELECT array_agg(z.signature ORDER BY z.rule_id) AS signatures, array_agg(z.kind ORDER BY z.rule_id) AS kinds
        FROM unnest(_marks.kinds) AS k(kind) CROSS JOIN LATERAL l4._marker(k.kind) AS z) AS r
    CROSS JOIN LATERAL l4._pcre_multimatch(r.signatures, _marks.texts) AS m
    WHERE m.matched;
END;
