-- Diagnosing again what has not changed costs nothing: a number that changes with whatever a diagnosis reads.

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
COMMENT ON FUNCTION l4._elsewhere(text, text[], text[], jsonb) IS
    'succeeded jobs of other settings, the latest hundred; none where the baseline is given';

CREATE FUNCTION l4._diagnosis_state(job_id text, baseline text[], parameters jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET DateStyle = ISO SET TimeZone = UTC
AS $$
DECLARE
    jobs constant text[] := l4._baseline(_diagnosis_state.job_id, _diagnosis_state.baseline,
        (parameters -> 'max_baseline')::int);
    others constant text[] := l4._elsewhere(_diagnosis_state.job_id, _diagnosis_state.baseline, jobs, parameters);
    near constant text[] := _diagnosis_state.job_id || jobs;
BEGIN
    RETURN md5(ROW(parameters, jobs, others, l4._without_baseline(_diagnosis_state.job_id),
        (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'l4'),
        (SELECT ROW(j.expected_nodes, j.status = 'failed',
                j.status = 'succeeded' OR l4._silent(j.job_id, (parameters -> 'silent_seconds')::float8))
            FROM l4.job AS j WHERE j.job_id = _diagnosis_state.job_id),
        ARRAY(SELECT a.server FROM l4._job_absent AS a WHERE a.job_id = _diagnosis_state.job_id ORDER BY 1),
        (SELECT sum(hash_record_extended(ROW(s.stream_id, s.lines, s.tail_lines, s.units, s.last_ts), 0))
            FROM l4._stream AS s WHERE s.job_id = ANY (near)),
        (SELECT sum(hash_record_extended(ROW(e.job_id, e.event_id, e.occurrences, e.nodes, e.first_ts, e.last_ts), 0))
            FROM l4._job_event AS e WHERE e.job_id = ANY (near || others)),
        (SELECT sum(hash_record_extended(ROW(n.job_id, n.node, n.rank, n.addresses), 0))
            FROM l4.job_node AS n WHERE n.job_id = ANY (near)),
        (SELECT sum(hash_record_extended(ROW(e.event_id, e.merged_into), 0))
            FROM l4._event AS e WHERE e.merged_into IS NOT NULL),
        (SELECT sum(hash_record_extended(r, 0)) FROM l4.marker_rule AS r),
        (SELECT sum(hash_record_extended(r, 0)) FROM l4.disabled_rule AS r),
        l4._network_state(_diagnosis_state.job_id),
        (SELECT sum(hash_record_extended(f, 0)) FROM l4.fault AS f),
        (SELECT sum(hash_record_extended(c, 0)) FROM l4.fault_condition AS c))::text);
END;
$$;
COMMENT ON FUNCTION l4._diagnosis_state(text, text[], jsonb) IS 'changes with whatever a diagnosis reads';
