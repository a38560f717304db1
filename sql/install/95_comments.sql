-- Comments that follow from what an object is for; one that stands beside its object goes before.

-- Functions that types, operators, operator classes and aggregates are made of.
DO $$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        SELECT format('COMMENT ON FUNCTION %s IS %L', p.oid::regprocedure, string_agg(DISTINCT w.words, ', ' ORDER BY
            w.words))
        FROM (
            SELECT f.oid, f.words || t.typname FROM pg_type AS t CROSS JOIN LATERAL (VALUES
                (t.typinput, 'text input of '), (t.typoutput, 'text output of '), (t.typreceive, 'binary input of '),
                (t.typsend, 'binary output of ')) AS f(oid, words) WHERE t.typnamespace = 'l4'::regnamespace
            UNION ALL
            SELECT o.oprcode, format('implementation of the operator %s', o.oprname) FROM pg_operator AS o
            UNION ALL
            SELECT s.amproc, format('support of %s operator classes', a.amname) FROM pg_amproc AS s
            JOIN pg_opfamily AS f ON f.oid = s.amprocfamily JOIN pg_am AS a ON a.oid = f.opfmethod
            UNION ALL
            SELECT f.oid, f.words || g.aggfnoid::regproc FROM pg_aggregate AS g CROSS JOIN LATERAL (VALUES
                (g.aggtransfn, 'transition of '), (g.aggcombinefn, 'combines parts of '),
                (g.aggserialfn, 'to bytes: a part of '), (g.aggdeserialfn, 'from bytes: a part of '),
                (g.aggfinalfn, 'result of ')) AS f(oid, words)) AS w(oid, words)
        JOIN pg_proc AS p ON p.oid = w.oid
        WHERE p.pronamespace = 'l4'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL
        GROUP BY p.oid
    LOOP
        EXECUTE statement;
    END LOOP;
END;
$$;

-- Columns that mean the same in all tables and views, or in all of rules; and of a view those that have the names of
-- columns that it reads. Views come after what they read.
DO $$
DECLARE
    relation oid;
    statement text;
BEGIN
    FOR relation IN
        SELECT c.oid FROM pg_class AS c WHERE c.relnamespace = 'l4'::regnamespace AND c.relkind IN ('r', 'v') ORDER BY 1
    LOOP
        FOR statement IN
            SELECT format('COMMENT ON COLUMN %s.%I IS %L', relation::regclass, a.attname, coalesce(w.words, r.words))
            FROM pg_attribute AS a
            LEFT JOIN (VALUES
                ('job_id', 'the job', false), ('node', 'the node', false), ('event_id', 'the event', false),
                ('fault_id', 'the fault', false), ('flow_job', 'the job', false),
                ('first_ts', 'time of the first record', false), ('last_ts', 'time of the last record', false),
                ('rule_id', 'below 1,000,000: shipped; from 1,000,000: the user''s', true),
                ('name', 'unique within its origin; a user''s row replaces the shipped one of the same name', true),
                ('framework', 'what prints it', true), ('example', 'a line that it matches', true),
                ('source_url', 'where it is printed or documented', true),
                ('origin', 'builtin, user or imported', true)) AS w(name, words, of_rules)
                ON w.name = a.attname AND (NOT w.of_rules OR EXISTS (
                    SELECT FROM pg_attribute AS i WHERE i.attrelid = relation AND i.attname = 'rule_id'))
            LEFT JOIN LATERAL (
                SELECT col_description(s.attrelid, s.attnum) AS words
                FROM pg_rewrite AS v
                JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = v.oid
                    AND d.refclassid = 'pg_class'::regclass
                JOIN pg_attribute AS s ON s.attrelid = d.refobjid AND s.attnum = d.refobjsubid
                WHERE v.ev_class = relation AND s.attrelid <> relation AND s.attname = a.attname
                    AND col_description(s.attrelid, s.attnum) IS NOT NULL
                ORDER BY s.attrelid DESC LIMIT 1) AS r ON true
            WHERE a.attrelid = relation AND a.attnum > 0 AND coalesce(w.words, r.words) IS NOT NULL
                AND col_description(relation, a.attnum) IS NULL
        LOOP
            EXECUTE statement;
        END LOOP;
    END LOOP;
END;
$$;
