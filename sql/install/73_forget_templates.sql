-- Templates that only forgotten jobs had.

-- Whatever table names an event by id keeps it: results, fault hits, and what is yet to come.
--: events, merged ones too, that a job or a table of l4 names
CREATE FUNCTION l4._events_in_use() RETURNS int[]
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    ids int[] := ARRAY(SELECT DISTINCT j.event_id FROM l4._job_event j);
    more int[];
    name record;
BEGIN
    FOR name IN
        SELECT c.relname, a.attname, a.atttypid = 'int4[]'::regtype AS is_array
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = 'l4'::regnamespace AND c.relkind = 'r'
          AND c.relname NOT IN ('_event', '_event_slot', '_event_word')
          AND (a.attname IN ('event_id', 'last_event_id') AND a.atttypid = 'int4'::regtype
               OR a.attname = 'events' AND a.atttypid = 'int4[]'::regtype)
    LOOP
        EXECUTE format(
            'SELECT array_agg(DISTINCT e.id) FROM l4.%I t CROSS JOIN LATERAL unnest(%s) AS e(id)', name.relname,
            format(CASE WHEN name.is_array THEN 't.%I' ELSE 'ARRAY[t.%I]' END, name.attname)) INTO more;
        ids := ids || more;
    END LOOP;
    RETURN ARRAY(SELECT DISTINCT e.event_id FROM l4._event e WHERE e.event_id = ANY (ids));
END
$$;

--: frees the templates that no job and no result has any more, and lets the parser learn new words again;
--: max_templates: how many templates it may have from now on; returns how many were freed
CREATE FUNCTION l4.forget_templates(max_templates int DEFAULT NULL) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    kept int[];
    gone int[];
    freed int;
BEGIN
    -- with one snapshot for the whole transaction, what others stored since would be freed under them
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'l4.forget_templates() runs at isolation level read committed only'
            USING ERRCODE = 'invalid_transaction_state',
                DETAIL = 'A snapshot from before does not see which templates other sessions began to use.',
                HINT = 'BEGIN ISOLATION LEVEL READ COMMITTED; SELECT l4.forget_templates(); COMMIT;';
    END IF;
    -- waits for batches that are being stored; those that are read now are read again, see keep_templates() in batch.c
    PERFORM FROM l4._model m FOR UPDATE;
    IF NOT FOUND THEN
        IF max_templates IS NOT NULL THEN
            RAISE EXCEPTION 'there is no parser yet'
                USING ERRCODE = 'object_not_in_prerequisite_state',
                    HINT = 'Ingest some lines first: CALL l4.ingest(...).';
        END IF;
        RETURN 0;
    END IF;
    kept := ARRAY(SELECT DISTINCT l4._survivor(e.event_id, e.merged_into) FROM l4._event e
        WHERE e.event_id = ANY (l4._events_in_use()));
    UPDATE l4._model m
    SET parser = CASE WHEN max_templates IS NULL THEN l4._parser_keep(m.parser, kept)
            ELSE l4._parser_masked(l4._parser_keep(m.parser, kept),
                coalesce(l4._parser_options(m.parser), '{}') || jsonb_build_object('max_templates', max_templates)) END,
        generation = m.generation + 1;
    DELETE FROM l4._job_budget;
    gone := ARRAY(SELECT e.event_id FROM l4._event e
        WHERE NOT EXISTS (SELECT FROM unnest(kept) AS k(id) WHERE k.id = l4._survivor(e.event_id, e.merged_into)));
    freed := (SELECT count(*) FROM l4._event e WHERE e.event_id = ANY (gone) AND e.merged_into IS NULL);
    DELETE FROM l4._event_word w WHERE w.event_id = ANY (gone);
    DELETE FROM l4._event_slot s WHERE s.event_id = ANY (gone);
    DELETE FROM l4._event e WHERE e.event_id = ANY (gone);
    RETURN freed;
END
$$;
