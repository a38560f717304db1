-- Rights. The toolkit is for everybody. Who reads, ingests or curates is named by l4.grant_access().
GRANT USAGE ON SCHEMA l4 TO PUBLIC;
GRANT ALL ON SCHEMA l4 TO @extowner@ WITH GRANT OPTION;

-- Private functions that write, or that one step of ingest calls for the next one, are not for PUBLIC.
--: private: routines that only an ingester or a curator may call
CREATE FUNCTION l4._writing_routines() RETURNS SETOF regprocedure
LANGUAGE sql STABLE PARALLEL SAFE ROWS 50
BEGIN ATOMIC
    SELECT p.oid::regprocedure FROM pg_proc AS p
    WHERE p.pronamespace = (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = 'l4')
        AND p.proname LIKE '\_%' AND p.prorettype <> 'trigger'::regtype
        AND (p.provolatile = 'v' OR p.proname LIKE '\_ingest\_%')
    ORDER BY p.proname COLLATE "C", p.oid;
END;

DO $$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN SELECT w FROM l4._writing_routines() AS w LOOP
        EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', routine);
    END LOOP;
END;
$$;

-- pg_dump takes along what cannot be derived again, and of rules and faults the user's rows.
DO $$
DECLARE
    stored record;
BEGIN
    FOR stored IN
        SELECT c.oid::regclass AS name, (
            SELECT format('WHERE l4._is_own(%I)', a.attname)
            FROM pg_attribute AS a JOIN pg_trigger AS t ON t.tgrelid = a.attrelid AND t.tgname = 'shipped_old'
            WHERE a.attrelid = c.oid AND a.attname IN ('fault_id', 'rule_id')) AS own
        FROM pg_class AS c
        WHERE c.relnamespace = 'l4'::regnamespace AND c.relkind IN ('r', 'S')
            AND c.relname !~ '^_(case|counted|fleet|mention_rule)'
        ORDER BY c.oid
    LOOP
        PERFORM pg_extension_config_dump(stored.name, coalesce(stored.own, ''));
    END LOOP;
END;
$$;

--: let a role work with jobs: as reader, as ingester (of jobs) or as curator (of faults and rules)
CREATE FUNCTION l4.grant_access(grantee name, access text) RETURNS void
LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    curated constant name[] := '{fault, fault_condition, stage_rule, iteration_rule, line_format, mask_rule,
        marker_rule, disabled_rule, server}';
    target record;
    routine regprocedure;
BEGIN
    IF access NOT IN ('reader', 'ingester', 'curator') THEN
        RAISE EXCEPTION 'unknown access "%"', access
            USING ERRCODE = 'invalid_parameter_value', HINT = 'It is reader, ingester or curator.';
    ELSIF NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = grantee) THEN
        RAISE EXCEPTION 'role "%" does not exist', grantee USING ERRCODE = 'undefined_object';
    END IF;
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA l4 TO %I', grantee);
    IF access = 'reader' THEN
        RETURN;
    END IF;
    FOR target IN
        SELECT c.relname AS written, s.relname AS sequence
        FROM pg_class AS c
        LEFT JOIN (pg_depend AS d JOIN pg_class AS s ON s.oid = d.objid AND s.relkind = 'S')
            ON d.refobjid = c.oid AND d.classid = 'pg_class'::regclass
        WHERE c.relnamespace = 'l4'::regnamespace AND c.relkind = 'r' AND c.relname <> '_mention_rule'
            AND c.relname !~ '^_fleet_'
            AND (c.relname = ANY (curated)) = (access = 'curator')
    LOOP
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON l4.%I TO %I', target.written, grantee);
        IF target.sequence IS NOT NULL THEN
            EXECUTE format('GRANT USAGE ON SEQUENCE l4.%I TO %I', target.sequence, grantee);
        END IF;
    END LOOP;
    FOR routine IN SELECT w FROM l4._writing_routines() AS w LOOP
        EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %I', routine, grantee);
    END LOOP;
END;
$$;
REVOKE EXECUTE ON FUNCTION l4.grant_access(name, text) FROM PUBLIC;
