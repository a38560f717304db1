-- Diagnosing again what has not changed costs nothing: a number that changes with whatever a diagnosis reads.

--: succeeded jobs of other settings, the latest hundred; none where the baseline is given
CREATE FUNCTION l4._elsewhere(job_id text, baseline text[], jobs text[], parameters jsonb) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    -- jobs of other settings tell what is harmless, unless the caller says what to compare with
    SELECT CASE WHEN _elsewhere.baseline IS NULL AND (parameters ->> 'elsewhere')::bool THEN (
        SELECT coalesce(array_agg(j.job_id ORDER BY j.job_id COLLATE "C"), '{}')
        FROM (
            SELECT j.job_id FROM l4.job AS j
            WHERE j.status = 'succeeded' AND j.job_id <> _elsewhere.job_id AND j.job_id <> ALL (jobs)
            ORDER BY j.ended_at DESC NULLS LAST, j.job_id COLLATE "C" DESC
            LIMIT (parameters -> 'max_elsewhere')::bigint) AS j)
        ELSE '{}' END;
END;

-- Calls below are queries: a function of SQL without one around it keeps its plan, 0.6 MB, to the end of the
-- transaction.
--: case, asked: what to compare with, and a state that changes with whatever a diagnosis reads
CREATE FUNCTION l4._case_asked(job_id text, baseline text[], parameters jsonb, asked jsonb) RETURNS l4._case
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET DateStyle = ISO SET TimeZone = UTC
AS $$
DECLARE
    k l4._case;
    near text[];
BEGIN
    k.job_id := _case_asked.job_id;
    k.parameters := parameters;
    k.t := jsonb_populate_record(NULL::l4._thresholds, parameters);
    k.baseline := (SELECT l4._baseline(k.job_id, _case_asked.baseline, (k.t).max_baseline::int));
    k.elsewhere := (SELECT l4._elsewhere(k.job_id, _case_asked.baseline, k.baseline, parameters));
    near := k.job_id || k.baseline;
    k.state := md5(ROW(parameters || asked, k.baseline, k.elsewhere, l4._without_baseline(k.job_id),
        (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'l4'),
        (SELECT ROW(j.expected_nodes, j.status = 'failed',
                j.status = 'succeeded' OR l4._silent(j.job_id, (k.t).silent_seconds::float8))
            FROM l4.job AS j WHERE j.job_id = k.job_id),
        ARRAY(SELECT a.server FROM l4._job_absent AS a WHERE a.job_id = k.job_id ORDER BY 1),
        (SELECT sum(hash_record_extended(ROW(s.stream_id, s.lines, s.tail_lines, s.units, s.last_ts), 0))
            FROM l4._stream AS s WHERE s.job_id = ANY (near)),
        (SELECT sum(hash_record_extended(p, 0)) FROM l4._job_pack AS p WHERE p.job_id = ANY (near || k.elsewhere)),
        (SELECT sum(hash_record_extended(ROW(n.job_id, n.node, n.rank, n.addresses), 0))
            FROM l4.job_node AS n WHERE n.job_id = ANY (near)),
        (SELECT sum(hash_record_extended(ROW(e.event_id, e.merged_into), 0))
            FROM l4._event AS e WHERE e.merged_into IS NOT NULL),
        (SELECT sum(hash_record_extended(r, 0)) FROM l4.marker_rule AS r),
        (SELECT sum(hash_record_extended(ROW(r.rule_id, r.kind), 0)) FROM l4.iteration_rule AS r),
        (SELECT sum(hash_record_extended(r, 0)) FROM l4.disabled_rule AS r),
        l4._network_state(k.job_id),
        (SELECT sum(hash_record_extended(f, 0)) FROM l4.fault AS f),
        (SELECT sum(hash_record_extended(c, 0)) FROM l4.fault_condition AS c))::text);
    RETURN k;
END;
$$;
