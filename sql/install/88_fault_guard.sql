-- What guards the rows of users. It comes after the shipped rows: a test checks those, not each installation.

ALTER TABLE l4.fault ADD CONSTRAINT fault_check CHECK (l4._check_fault(fault)) NOT VALID;

-- What a CHECK cannot see: names in leads_to.

-- A restore must not fail because a newer l4 lacks a name or, together with the user's rows, makes a cycle: such rows
-- are accepted with a warning and listed in fault_problem. Rows of the user alone must not make a cycle.
--: trigger: no cycles in leads_to
CREATE FUNCTION l4._fault_guard() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong record;
BEGIN
    SELECT * INTO wrong FROM l4._check_leads_to(NEW.name, NEW.leads_to);
    IF wrong.is_own_cycle THEN
        RAISE EXCEPTION 'leads_to of fault "%" makes a cycle', NEW.name
            USING ERRCODE = 'check_violation', HINT = 'A fault cannot cause itself, not even over others.';
    ELSIF wrong.problem IS NOT NULL AND current_setting('client_min_messages') <> 'error' THEN
        RAISE WARNING 'fault "%": %', NEW.name, wrong.problem USING HINT = 'l4.fault_problem lists all of them.';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER fault_guard AFTER INSERT OR UPDATE OF name, leads_to ON l4.fault
    FOR EACH ROW WHEN (NEW.leads_to <> '{}'::text[]) EXECUTE FUNCTION l4._fault_guard();

-- Shipped rows are not dumped, and an update replaces them: what somebody changes in them would be lost without a
-- word. The script of an update switches these triggers off while it replaces rows.
--: trigger: shipped rows stay as they are
CREATE FUNCTION l4._shipped_guard() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'shipped rows of l4.% cannot be %', TG_TABLE_NAME,
        CASE TG_OP WHEN 'INSERT' THEN 'added' WHEN 'UPDATE' THEN 'changed' ELSE 'deleted' END
        USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'Rows with ids below 1000000 come with l4: an update replaces them, and pg_dump leaves them out.',
            HINT = 'A row of yours with the same name takes the place of a shipped one; '
                'a row of l4.disabled_rule switches it off.';
END
$$;

DO $$
DECLARE
    name text;
    id text;
    trigger text;
BEGIN
    FOREACH name IN ARRAY ARRAY['fault', 'fault_condition', 'line_format', 'stage_rule', 'iteration_rule', 'mask_rule',
        'marker_rule']
    LOOP
        id := CASE WHEN name LIKE 'fault%' THEN 'fault_id' ELSE 'rule_id' END;
        FOREACH trigger IN ARRAY ARRAY[
            'shipped_new BEFORE INSERT OR UPDATE ON l4.%1$I FOR EACH ROW '
                'WHEN (NOT l4._is_own(NEW.%2$I))',
            'shipped_old BEFORE UPDATE OR DELETE ON l4.%1$I FOR EACH ROW '
                'WHEN (NOT l4._is_own(OLD.%2$I))',
            'shipped_all BEFORE TRUNCATE ON l4.%1$I FOR EACH STATEMENT']
        LOOP
            EXECUTE format('CREATE TRIGGER ' || trigger || ' EXECUTE FUNCTION l4._shipped_guard()', name, id);
        END LOOP;
    END LOOP;
END
$$;

--: faults that are not as they should be: names in leads_to and disabled_rule, cycles, missing conditions, duplicates
--.fault_id the fault; NULL = there is none
--.name its name
--.origin its origin
--.problem what is wrong
CREATE VIEW l4.fault_problem AS
SELECT f.fault_id, f.name, f.origin, c.problem
FROM l4.fault f
CROSS JOIN LATERAL unnest(f.leads_to) AS t(effect)
CROSS JOIN LATERAL l4._check_leads_to(f.name, ARRAY[t.effect]) AS c
WHERE (t.effect NOT IN (SELECT k.name FROM l4.fault k)
        -- what nobody names, and what leads nowhere, is in no cycle
        OR f.name IN (SELECT unnest(k.leads_to) FROM l4.fault k)
            AND t.effect IN (SELECT k.name FROM l4.fault k WHERE k.leads_to <> '{}'))
    AND c.problem IS NOT NULL
UNION ALL
SELECT f.fault_id, f.name, f.origin, p.problem
FROM l4.fault f
LEFT JOIN (SELECT c.fault_id, min(c.step) AS step FROM l4.fault_condition c GROUP BY 1) AS c USING (fault_id)
CROSS JOIN LATERAL (SELECT CASE
    WHEN f.combined AND c.step IS NULL THEN 'combined, but it has no conditions'
    WHEN NOT f.combined AND c.step IS NOT NULL THEN 'it has conditions, but is not combined: they do not count'
    WHEN f.combined AND c.step > 1 THEN 'the conditions do not start with step 1'
    END AS problem) AS p
WHERE p.problem IS NOT NULL
UNION ALL
SELECT f.fault_id, f.name, f.origin, format('hidden by the %s fault of this name', a.origin)
FROM l4.fault f
JOIN l4.active_fault a ON a.name = f.name AND a.fault_id <> f.fault_id
WHERE f.origin <> 'builtin'
UNION ALL
SELECT f.fault_id, f.name, f.origin, format('same signature as fault "%s"', o.name)
FROM l4.fault f
JOIN l4.fault o ON o.signature OPERATOR(l4.=) f.signature AND o.fault_id < f.fault_id
WHERE o.name <> f.name
UNION ALL
SELECT NULL, d.name, NULL, 'switched off by disabled_rule, but there is no fault of this name'
FROM l4.disabled_rule d
WHERE d.kind = 'fault' AND NOT EXISTS (SELECT FROM l4.fault f WHERE f.name = d.name);
