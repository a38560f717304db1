-- Disables the rules of some frameworks, and the faults that have their name or are printed by their code: -v leave_out=megatron,pytorch
WITH named AS (
    SELECT f.framework FROM unnest(string_to_array(:'leave_out', ',')) AS f(framework)
), left_out AS (
    INSERT INTO l4.disabled_rule (kind, name)
    SELECT DISTINCT r.kind, r.name
    FROM (SELECT 'line_format' AS kind, r.name, r.framework FROM l4.line_format AS r
        UNION ALL SELECT 'stage_rule', r.name, r.framework FROM l4.stage_rule AS r
        UNION ALL SELECT 'iteration_rule', r.name, r.framework FROM l4.iteration_rule AS r
        UNION ALL
        SELECT 'fault', r.name, n.framework FROM l4.fault AS r
        JOIN named AS n ON r.name ~* n.framework OR r.source_url ~* ('://[^/]+/[^#?]*' || n.framework)) AS r
    JOIN named AS n USING (framework)
    ON CONFLICT DO NOTHING
    RETURNING kind
)
SELECT count(*) AS rows_left_out, count(*) FILTER (WHERE kind = 'fault') AS faults FROM left_out HAVING count(*) > 0;
