-- Columns that mean the same wherever no other comment is on them.
DO $$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        SELECT format('COMMENT ON COLUMN l4.%I.%I IS %L', c.relname, a.attname, w.words)
        FROM (VALUES
            ('job_id', 'the job'), ('node', 'the node'), ('event_id', 'the event'), ('fault_id', 'the fault'),
            ('flow_job', 'the job'), ('category', 'category'), ('component', 'component'),
            ('first_ts', 'time of the first record'), ('last_ts', 'time of the last record'),
            ('rule_id', 'below 1,000,000: shipped; from 1,000,000: the user''s'),
            ('origin', 'builtin, user or imported')) AS w(name, words)
        JOIN pg_attribute AS a ON a.attname = w.name
        JOIN pg_class AS c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'l4'::regnamespace AND c.relkind IN ('r', 'v')
            AND col_description(c.oid, a.attnum) IS NULL
    LOOP
        EXECUTE statement;
    END LOOP;
END;
$$;
