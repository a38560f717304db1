-- Iterations that deviate: in their events (DTW distance to the ten before, three sigma) or in their duration.

--: iterations whose events are more than three standard deviations further from those of the ten before than usual
CREATE FUNCTION l4._deviating_sequences(job_id text)
RETURNS TABLE (node text, epoch int, iteration int, distance float8, sigma float8)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 500
BEGIN ATOMIC
    SELECT DISTINCT ON (s.node, u.epoch, u.iteration) s.node, u.epoch, u.iteration, u.distance, u.sigma
    FROM (
        SELECT l4._deviations(z.sequences, z.open_sequences, z.stream_id, x.merged, x.survivors ORDER BY z.stream_id,
            z.part) AS packed
        FROM l4._slot_context() AS x
        CROSS JOIN l4._summary AS z
        WHERE z.job_id = _deviating_sequences.job_id) AS d
    CROSS JOIN LATERAL l4._unpack(d.packed)
        AS u(stream_id int, epoch int, iteration int, distance float8, sigma float8)
    JOIN l4._stream AS s USING (stream_id)
    ORDER BY s.node, u.epoch, u.iteration, u.distance DESC;
END;

--: which iterations come every so many, on about as many nodes
CREATE FUNCTION l4._periodic(iterations int[], nodes int[]) RETURNS int[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_periodic_iterations';

--: stores the iterations that deviate
CREATE FUNCTION l4._rank_iterations(k l4._case, in_flight int, top_k int) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF (k.counter).event_id IS NOT NULL AND (k.counter).slot IS NULL THEN
        -- no iteration has a number
        RETURN;
    END IF;
    INSERT INTO l4.suspect_iteration (job_id, rank, iteration, node, distance, sigma, reasons)
    WITH sequence AS (
        SELECT DISTINCT ON (d.iteration) d.iteration, d.node, d.distance, d.sigma,
            count(*) OVER (PARTITION BY d.iteration) AS nodes
        FROM (SELECT l4._since_start(k.epochs, z.epoch, z.iteration) AS iteration, z.node, z.distance, z.sigma
            FROM l4._deviating_sequences(k.job_id) AS z) AS d
        ORDER BY d.iteration, d.sigma DESC, d.node COLLATE "C"
    ), routine AS (
        -- what comes every so many iterations (a checkpoint, an evaluation), or deviates in a good job as well, is none
        -- of the failure's
        SELECT unnest(l4._periodic(array_agg(s.iteration ORDER BY s.iteration),
            array_agg(s.nodes::int ORDER BY s.iteration))) AS iteration
        FROM sequence AS s
        UNION SELECT l4._since_start(k.epochs, d.epoch, d.iteration)
        FROM l4._deviating_sequences(k.baseline[1]) AS d
    ), slow AS (
        SELECT i.iteration, max(i.ratio) AS ratio FROM l4._case_iteration AS i
        WHERE i.job_id = k.job_id AND i.ratio > (k.t).slow_ratio AND i.place > 1
        GROUP BY i.iteration
    ), listed AS (
        SELECT iteration, s.node, s.distance, s.sigma, s.nodes, w.ratio, iteration = in_flight AS is_in_flight
        FROM (SELECT q.* FROM sequence AS q
            WHERE q.iteration = in_flight OR q.iteration NOT IN (SELECT r.iteration FROM routine AS r)) AS s
        FULL JOIN slow AS w USING (iteration)
        FULL JOIN (SELECT in_flight AS iteration WHERE in_flight IS NOT NULL) AS f USING (iteration)
    )
    SELECT k.job_id, r.rank,
        CASE WHEN (k.epochs).exact THEN r.iteration ELSE coalesce(e.iteration, r.iteration) END, r.node,
        r.distance, r.sigma, array_remove(ARRAY[
            CASE WHEN r.is_in_flight AND k.symptom = 'slow' THEN 'the job is slow from here on'
                WHEN r.is_in_flight THEN 'in flight when the job was struck' END,
            'other events than in the ten iterations before, on ' || r.nodes
                || CASE WHEN r.nodes = 1 THEN ' node (' ELSE ' nodes (' END || round(r.sigma::numeric, 1) || ' sigma)',
            'takes ' || round(r.ratio::numeric, 1) || ' times the normal duration',
            'epoch ' || e.epoch || ', iteration ' || e.iteration], NULL)
    FROM (
        SELECT l.*, row_number() OVER (ORDER BY coalesce(l.is_in_flight, false) DESC,
            greatest(l.sigma / (k.t).three_sigma, l.ratio / (k.t).slow_ratio) DESC, l.iteration) AS rank
        FROM listed AS l) AS r
    CROSS JOIN LATERAL l4._in_epoch(k.epochs, r.iteration) AS e
    WHERE r.rank <= top_k;
END;
$$;
