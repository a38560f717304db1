-- Epochs: iterations that begin anew with each of them, and their number since the start.

--: number since the start of an iteration that is numbered within its epoch, at most its last one: a node with more
--: counts as the others do; the same number where iterations do not begin anew
CREATE FUNCTION l4._since_start(epochs l4._epochs, epoch int, iteration int) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (epochs).length IS NULL OR iteration IS NULL THEN iteration
    ELSE least(2147483647, greatest(0, epoch::bigint - (epochs).first) * (epochs).length
        + least(iteration, (epochs).low::bigint + (epochs).length - 1))::int END;

--: epoch, and number within it, of an iteration since the start; NULL where iterations do not begin anew
CREATE FUNCTION l4._in_epoch(epochs l4._epochs, since_start int, OUT epoch int, OUT iteration int)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ROW(CASE WHEN (epochs).length IS NOT NULL THEN least(2147483647,
        (epochs).first::bigint + greatest(0, since_start - (epochs).low) / (epochs).length)::int END,
    CASE WHEN since_start < (epochs).low THEN since_start
        ELSE (epochs).low + (since_start - (epochs).low) % (epochs).length END);

--: an iteration since the start, as the job names it
CREATE FUNCTION l4._iteration_name(epochs l4._epochs, since_start int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT concat('epoch ' || e.epoch || ', ', 'iteration ', coalesce(e.iteration, since_start))
    FROM l4._in_epoch(epochs, since_start) AS e);

-- For reports: what the streams say, counted as the last diagnosis counts.
--: l4._iteration with iterations counted since the start
CREATE VIEW l4._reported AS
SELECT i.job_id, i.node, i.source, i.epoch, l4._since_start(c.epochs, i.epoch, i.iteration) AS iteration, i.ended,
    i.duration_ms
FROM l4._iteration AS i LEFT JOIN l4._case AS c USING (job_id);

--: nodes that wrote, with their last iteration since the start
CREATE VIEW l4._reporter AS
SELECT n.job_id, n.node, n.rank, n.first_ts, n.last_ts, COALESCE(g.last_iteration, n.last_iteration) AS last_iteration
FROM l4._node AS n LEFT JOIN l4._case_progress AS g USING (job_id, node);

-- One stream tells: all nodes of a good job count alike.
--: the first epoch of a job, and whether its iterations begin anew with the next one
CREATE FUNCTION l4._epochs_of_job(job_id text, OUT first int, OUT begin_anew bool)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000
BEGIN ATOMIC
    SELECT min(i.epoch), count(DISTINCT i.iteration) < count(*)
    FROM (SELECT s.stream_id FROM l4._stream AS s
        WHERE s.job_id = _epochs_of_job.job_id AND s.last_iteration IS NOT NULL
        ORDER BY s.rank, s.node COLLATE "C", s.source COLLATE "C" LIMIT 1) AS one
    JOIN l4._summary AS m USING (stream_id)
    CROSS JOIN LATERAL l4._unpack(m.iterations, m.open_iterations) AS i(epoch int, iteration int);
END;

-- What is printed for the first time after the last printed iteration of the first epoch, and before the second one
-- begins, ends the first one: until then its other iterations were done.
--: iterations of the first epoch after its last printed one, by the time that passed; NULL where nothing tells
CREATE FUNCTION l4._rest_of_epoch(k l4._case, packed bytea) RETURNS float8
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH iteration AS MATERIALIZED (
        SELECT i.*, dense_rank() OVER (ORDER BY i.epoch) AS place
        FROM l4._unpack(packed) AS i(epoch int, iteration int, nodes int, done_ts timestamptz, duration_ms float8)
    ), epoch AS (
        SELECT max(i.done_ts) FILTER (WHERE i.place = 1) AS done_ts,
            min(i.done_ts) FILTER (WHERE i.place = 2) AS next_ts,
            percentile_cont(0.5) WITHIN GROUP (ORDER BY i.duration_ms) FILTER (WHERE i.place = 1) AS ms
        FROM iteration AS i
    )
    SELECT greatest(0, extract(epoch FROM min(f.ts) - e.done_ts) * 1000 / e.ms)
    FROM epoch AS e
    CROSS JOIN (SELECT min(u.first_ts - n.clock) AS ts
        FROM l4._streams(k, k.job_id) AS s JOIN l4._nodes(k.job_id) AS n USING (node)
        JOIN l4._summary AS m ON m.stream_id = s.stream_id AND m.part = 0
        CROSS JOIN LATERAL l4._unpack(m.events, m.open_events)
            AS u(event_id int, occurrences bigint, first_ts timestamptz)
        GROUP BY u.event_id) AS f
    WHERE e.ms > 0 AND f.ts >= e.done_ts - e.ms * interval '1 ms' AND f.ts < e.next_ts
    GROUP BY e.done_ts, e.ms;
END;

-- Iterations begin anew with each epoch when every later epoch begins with the same number, and the first one not
-- before it, or each within the first printed step: trainers print every so many, counted in the epoch or since the
-- start. A job that goes back to a checkpoint begins elsewhere, and one that starts over does so once, which good jobs
-- do not, and prints no epoch. The length is what the lines say it is, else the number of the last iteration: that of
-- all whole epochs, where every iteration is printed, or the last one although it is none of the printed steps; else
-- what follows its last printed iteration tells by its time.
--: how a job counts iterations that begin anew with each epoch; NULL where they go on
CREATE FUNCTION l4._epochs(k l4._case, packed bytea, step int, total int) RETURNS l4._epochs
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    answer l4._epochs;
    good record;
    n record;
    printed bool;
    rest float8;
BEGIN
    SELECT count(*) AS epochs, min(e.epoch) AS first, min(e.low) AS low,
        bool_and(e.low <= e.before) AND max(e.low) FILTER (WHERE e.place > 1) <= greatest(step, min(e.low)) AS anew,
        mode() WITHIN GROUP (ORDER BY e.high) FILTER (WHERE NOT e.is_last) AS high,
        min(e.high) FILTER (WHERE e.place = 1) AS first_high,
        max(e.high) FILTER (WHERE NOT e.is_last) - min(e.high::bigint) FILTER (WHERE NOT e.is_last) AS differ,
        max(e.high) AS most,
        bool_and((e.high::bigint - e.low) % step <> 0) FILTER (WHERE NOT e.is_last) AS last_one
    INTO n
    FROM (
        SELECT i.epoch, i.low, i.high, lag(i.high) OVER w AS before, row_number() OVER w AS place,
            lead(i.epoch) OVER w IS NULL AS is_last
        FROM (
            SELECT u.epoch, min(u.iteration) AS low, max(u.iteration) AS high
            FROM (SELECT z.*, max(z.nodes) OVER () AS most FROM l4._unpack(packed)
                AS z(epoch int, iteration int, nodes int)) AS u
            WHERE u.nodes >= (k.t).half * u.most
            GROUP BY u.epoch) AS i
        WINDOW w AS (ORDER BY i.epoch)) AS e;
    -- passes over the data of an iteration are called epochs as well: all but the last one have one report
    IF n.epochs < 2 OR NOT n.anew OR total > n.high::bigint + step OR n.high = n.low AND n.most > n.high + step THEN
        RETURN NULL;
    END IF;
    SELECT count(*) AS jobs, coalesce(bool_or(o.begin_anew), (k.counter).high IS NOT NULL) AS anew,
        min(o.first) AS first
    INTO good
    FROM unnest(k.baseline[1:(k.t).value_jobs::int]) AS b(job_id) CROSS JOIN LATERAL l4._epochs_of_job(b.job_id) AS o
    WHERE o.first IS NOT NULL;
    -- where no line prints epochs they count from 0
    printed := n.first > 0 OR (k.counter).epoch_slot IS NOT NULL;
    IF n.epochs = 2 AND good.jobs > 0 AND NOT good.anew AND total IS NULL AND NOT printed THEN
        RETURN NULL;
    END IF;
    answer.first := least(n.first, 1, good.first);
    -- of lines every so many, the first is about one of the first so many
    answer.low := CASE WHEN n.low <= step THEN least(n.low, 1) ELSE n.low END;
    answer.exact := n.differ = 0 AND (coalesce(total >= n.high, false)
        OR (step = 1 OR n.last_one) AND (printed OR n.epochs > 2 OR good.anew));
    answer.length := CASE WHEN total >= n.high THEN greatest(total, 1)
        WHEN n.last_one THEN least(2147483647, n.high::bigint - answer.low + 1)
        ELSE least(2147483647, n.high::bigint - n.low + step) END;
    IF NOT answer.exact AND n.differ < step THEN
        rest := l4._rest_of_epoch(k, packed);
        IF rest < (k.t).raised_ratio * step THEN
            answer.exact := true;
            rest := n.first_high::bigint - answer.low + 1 + round(rest);
            IF abs(rest - answer.length) > (k.t).uncommon_share * step THEN
                answer.length := least(2147483647, rest);
            END IF;
        END IF;
    END IF;
    RETURN answer;
END;
$$;

-- The iteration of the answer, which until here counts since the start.
--: a diagnosis with its epoch, its iteration since the start or within the epoch, and the printed steps around it
CREATE FUNCTION l4._count_epochs(k l4._case, d l4.diagnosis, low int, high int) RETURNS l4.diagnosis
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_epoch record;
BEGIN
    IF (k.counter).event_id IS NOT NULL AND (k.counter).slot IS NULL THEN
        d.iteration := NULL;
    END IF;
    IF d.iteration IS NULL THEN
        RETURN d;
    ELSIF (k.epochs).length IS NOT NULL THEN
        SELECT e.epoch, e.iteration, e.iteration - d.iteration AS less INTO of_epoch
        FROM l4._in_epoch(k.epochs, d.iteration) AS e;
        d.epoch := of_epoch.epoch;
        d.coverage := d.coverage || jsonb_build_object('iteration_in_epoch', of_epoch.iteration);
        IF NOT (k.epochs).exact THEN
            d.iteration := of_epoch.iteration;
            low := low + of_epoch.less;
            high := high + of_epoch.less;
        END IF;
    ELSE
        -- numbers that go on from epoch to epoch; those of a job that started over count no epochs
        SELECT CASE WHEN count(*) = count(DISTINCT i.iteration) AND max(i.epoch) > 0
                AND (k.attempt_ts IS NULL OR min(i.epoch) < max(i.epoch))
            THEN max(i.epoch) FILTER (WHERE i.iteration <= d.iteration) END
        INTO d.epoch
        FROM l4._case_iteration AS i WHERE i.job_id = k.job_id;
    END IF;
    IF high - low > 1 THEN
        d.coverage := d.coverage || jsonb_build_object('iteration_between', jsonb_build_array(low, high));
    END IF;
    RETURN d;
END;
$$;

--: epoch and iteration of a diagnosis in words, and the printed steps that it lies between
CREATE FUNCTION l4._iteration_words(d l4.diagnosis) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN d.iteration IS NOT NULL THEN concat('epoch ' || d.epoch || ', ', 'iteration ',
    coalesce(d.coverage ->> 'iteration_in_epoch', d.iteration::text), ' (' || nullif(concat_ws(', ',
        CASE WHEN (d.coverage -> 'iteration_in_epoch')::int <> d.iteration THEN d.iteration || ' since the start' END,
        'between ' || (d.coverage #>> '{iteration_between,0}') || ' and '
            || (d.coverage #>> '{iteration_between,1}')), '') || ')') END;
