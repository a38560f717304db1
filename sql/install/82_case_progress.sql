-- The progress of a job: its iterations, their durations, and where it turned slow.

-- How many iterations a job was to do, as its first line about an iteration says it ("iteration 3/ 500").
--: iterations that a job was to do, NULL where no line says so
CREATE FUNCTION l4._total_iterations(job_id text) RETURNS int
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (
    WITH line AS MATERIALIZED (
        -- one node tells: the values of a thousand are not read
        SELECT c.event_id, min(c.node COLLATE "C") AS node
        FROM l4._event_counts(_total_iterations.job_id, ARRAY(SELECT t.event_id FROM l4._event AS t
            JOIN l4._job_event AS j ON j.event_id = t.event_id AND j.job_id = _total_iterations.job_id
            JOIN l4.iteration_rule AS r ON r.rule_id = t.iteration_rule AND r.kind = 'done'
                AND strpos(r.signature::text, '<total>') > 0)) AS c
        GROUP BY c.event_id
    )
    -- least() would make a number of none
    SELECT CASE WHEN max(t.total) > 2147483647 THEN 2147483647 ELSE max(t.total)::int END
    FROM (
        SELECT (l4.pcre_captures(l4._fill(e.template, v.slot_values), r.signature) ->> 'total')::numeric AS total
        FROM line AS s
        JOIN l4._values(_total_iterations.job_id, ARRAY(SELECT z.event_id FROM line AS z),
            ARRAY(SELECT DISTINCT z.node FROM line AS z)) AS v ON v.event_id = s.event_id AND v.node = s.node
        JOIN l4._event AS e ON e.event_id = v.event_id
        JOIN l4.iteration_rule AS r ON r.rule_id = e.iteration_rule AND r.kind = 'done'
            AND strpos(r.signature::text, '<total>') > 0) AS t);
END
$$;

-- What a job printed before a time, once a node as in other jobs, it printed again after it; and then what they print
-- once and it had not, with all its nodes: it began anew and got on. Of attempts that all fail the first one tells as
-- much as the last. One node and its clock tell when.
--: when a node of a job went through its start-up again after a time and got on, as these other jobs do not: at least
--: that share of what it had printed
CREATE FUNCTION l4._began_anew(job_id text, node text, ts timestamptz, others text[], share float8) RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 100000 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
    WITH other AS MATERIALIZED (
        SELECT l4._survivor(e.event_id, e.merged_into) AS event_id
        FROM l4._job_event AS o JOIN l4._event AS e USING (event_id)
        WHERE o.job_id = ANY (_began_anew.others) AND o.job_id <> _began_anew.job_id
        GROUP BY 1
        HAVING bool_and(o.occurrences = o.nodes)
    ), once AS MATERIALIZED (
        SELECT c.first_ts, c.last_ts, c.occurrences, x.occurrences >= 2 * x.nodes AS twice, x.nodes
        FROM l4._job_events(ARRAY[_began_anew.job_id]) AS x JOIN other AS o USING (event_id)
        JOIN l4.event_count AS c ON c.job_id = x.job_id AND c.event_id = x.event_id
        WHERE c.job_id = _began_anew.job_id AND c.node = _began_anew.node
    ), start_up AS (
        SELECT max(j.last_ts) FILTER (WHERE j.again) AS again_ts
        FROM (SELECT o.last_ts, o.last_ts > _began_anew.ts AND o.twice AS again
            FROM once AS o WHERE o.first_ts < _began_anew.ts) AS j
        HAVING count(*) FILTER (WHERE j.again) >= greatest(2, _began_anew.share * count(*))
    )
    SELECT s.again_ts FROM start_up AS s
    WHERE (SELECT bool_and(o.occurrences = 1 AND o.nodes = (SELECT max(x.nodes) FROM once AS x))
        FROM once AS o WHERE o.first_ts > s.again_ts));
END;
$$;

-- A counter that starts over, as one epoch follows another, is a new attempt if the node went through its start-up in
-- between, also where the counter goes on from a checkpoint. One stream of the node with the lowest rank tells, since
-- ranks that write to one log do not report in step.
--: when the last attempt of a job that began anew had its first iteration done, NULL for a job with one attempt
CREATE FUNCTION l4._last_attempt(job_id text, good_jobs text[]) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
    WITH one AS (
        SELECT s.node, s.source, n.clock
        FROM l4._stream AS s JOIN l4._case_node AS n ON n.job_id = s.job_id AND n.node = s.node
        WHERE s.job_id = _last_attempt.job_id AND (s.last_iteration IS NOT NULL
            OR EXISTS (SELECT FROM l4._counted AS z WHERE z.stream_id = s.stream_id))
        ORDER BY n.place, s.node COLLATE "C", s.source COLLATE "C" LIMIT 1
    ), epoch AS (
        SELECT o.node, o.clock, min(i.ended) AS began, lag(max(i.ended)) OVER (ORDER BY i.epoch) AS before
        FROM l4._iteration AS i JOIN one AS o ON o.node = i.node AND o.source = i.source
        WHERE i.job_id = _last_attempt.job_id AND i.ended IS NOT NULL
        GROUP BY o.node, o.clock, i.epoch
    )
    SELECT greatest(max(e.began - e.clock), (
        SELECT min(i.ended - o.clock) FROM one AS o JOIN l4._iteration AS i ON o.node = i.node AND o.source = i.source
        WHERE i.job_id = _last_attempt.job_id AND i.ended > (SELECT l4._began_anew(_last_attempt.job_id,
            (SELECT z.node FROM one AS z), (SELECT min(z.began) FROM epoch AS z), _last_attempt.good_jobs, 0.5))))
    FROM epoch AS e
    WHERE EXISTS (SELECT FROM l4.stage_span AS s WHERE s.job_id = _last_attempt.job_id AND s.node = e.node
        AND s.stage IN ('init', 'model') AND s.first_ts > e.before AND s.first_ts < e.began));
END;
$$;

-- What the first node of a job that reports iterations says about them.
--: events in which the first node of a job that reports iterations does so
CREATE FUNCTION l4._first_reports(k l4._case, job_id text) RETURNS SETOF l4.event_count
LANGUAGE sql STABLE COST 10000 ROWS 2
BEGIN ATOMIC
    WITH report AS MATERIALIZED (
        SELECT c.* FROM l4._event_counts(_first_reports.job_id, ARRAY(
            SELECT j.event_id FROM l4._job_event AS j
            JOIN l4._event AS e USING (event_id)
            JOIN l4._event AS t ON t.event_id = l4._survivor(e.event_id, e.merged_into)
            JOIN l4.iteration_rule AS i ON i.rule_id = t.iteration_rule AND i.kind = 'done'
            WHERE j.job_id = _first_reports.job_id
            UNION SELECT l.event_id FROM l4._labelled(_first_reports.job_id, ARRAY[(k.counter).event_id]) AS l)) AS c
    )
    SELECT r.* FROM report AS r
    WHERE r.node = (SELECT z.node FROM report AS z
        JOIN l4._node AS n ON n.job_id = _first_reports.job_id AND n.node = z.node
        ORDER BY n.rank, z.node COLLATE "C" LIMIT 1);
END;

-- Without good jobs nothing tells whether it ends one.
--: do good jobs print an event after their last iteration, or is none known that prints it
CREATE FUNCTION l4._ends_with(k l4._case, event_id int) RETURNS bool
LANGUAGE sql STABLE COST 100000
RETURN (SELECT coalesce(bool_or(e.last_ts > (SELECT max(r.last_ts) FROM l4._first_reports(k, b.job_id) AS r)), true)
    FROM unnest(k.baseline[1:(k.t).value_jobs::int]) AS b(job_id)
    CROSS JOIN LATERAL l4._labelled(b.job_id, ARRAY[_ends_with.event_id]) AS l
    JOIN l4._job_events(k.baseline[1:(k.t).value_jobs::int]) AS e ON e.job_id = b.job_id AND e.event_id = l.event_id);

-- A job that was started again, into the same files: what a stream prints before its first iteration comes again after
-- it, from the first line on; or where no iteration follows the first line alone, on nearly all nodes. Where it crashed
-- before it is the launcher that tries again, and the first failure tells; that it restarts something is no crash.
--: when a job was started again that had not crashed, by the stream that reports most
CREATE FUNCTION l4._started_again(k l4._case) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stream l4._stream;
    done timestamptz[];
    head int;
    alike bigint;
BEGIN
    SELECT s.* INTO stream FROM l4._streams(k, k.job_id) AS s
    WHERE (s.last_iteration IS NOT NULL
        OR EXISTS (SELECT FROM l4._counted AS z WHERE z.stream_id = s.stream_id))
    ORDER BY s.lines + s.tail_lines DESC, s.rank, s.node COLLATE "C", s.source COLLATE "C" LIMIT 1;
    done := ARRAY(SELECT i.ended FROM l4._iteration AS i
        WHERE i.job_id = k.job_id AND i.node = stream.node AND i.source = stream.source AND i.ended IS NOT NULL
        ORDER BY i.ended);
    SELECT (array_agg(h.event_id ORDER BY h.place))[1],
        max(h.place) FILTER (WHERE h.again >= (k.t).nearly_all * h.place)
    INTO head, alike
    FROM (
        SELECT e.event_id, e.place, count(*) OVER (ORDER BY e.place) AS again
        FROM (
            SELECT z.*, row_number() OVER (ORDER BY z.first_line_no) AS place
            FROM l4._events_of_stream(stream.stream_id) AS z WHERE z.first_ts <= done[1]) AS e
        WHERE e.first_ts + e.lasts::float8 * interval '1 second' > done[1]) AS h;
    IF alike IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN (
    WITH start AS MATERIALIZED (
        -- after how many iterations it came, and first on any node
        SELECT z.after, min(z.ts) AS ts, count(DISTINCT z.stream_id) AS streams,
            bool_or(z.stream_id = stream.stream_id) AS own
        FROM (SELECT r.stream_id, s.ts, width_bucket(s.ts, done) AS after
            FROM l4._records(k.job_id, head) AS r CROSS JOIN LATERAL unnest(r.times) AS s(ts)) AS z
        GROUP BY z.after
    )
    SELECT max(s.ts) FROM start AS s CROSS JOIN (SELECT l4._first_crash(k) AS ts OFFSET 0) AS c
    WHERE s.own AND s.after > 0 AND coalesce(s.ts < c.ts, true)
        AND (alike >= (k.t).min_iterations OR s.after = cardinality(done)
            AND s.streams >= (k.t).nearly_all * (SELECT z.streams FROM start AS z WHERE z.after = 0)
            AND NOT l4._ends_with(k, head))
    -- what comes again every few iterations begins none
    HAVING (SELECT count(*) FROM start AS x WHERE x.own AND x.after > 0) * (k.t).min_iterations <= cardinality(done));
END
$$;

--: when the first line of a good job came again between its iterations, by the first node that reports any
CREATE FUNCTION l4._good_since(k l4._case, good_job text) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
    SELECT e.first_ts + e.lasts::float8 * interval '1 second'
    FROM (SELECT r.node, min(r.first_ts) AS first_ts, max(r.last_ts) AS last_ts, sum(r.occurrences) AS reports
        FROM l4._first_reports(k, _good_since.good_job) AS r GROUP BY r.node) AS o
    CROSS JOIN LATERAL (SELECT z.* FROM (
            SELECT s.stream_id FROM l4._streams(k, _good_since.good_job) AS s WHERE s.node = o.node
            ORDER BY s.lines + s.tail_lines DESC, s.source COLLATE "C" LIMIT 1) AS s
        CROSS JOIN LATERAL l4._events_of_stream(s.stream_id) AS z
        ORDER BY z.first_line_no LIMIT 1) AS e
    WHERE e.first_ts + e.lasts::float8 * interval '1 second' BETWEEN o.first_ts AND o.last_ts
        -- what comes again every few iterations begins none
        AND e.records * (k.t).min_iterations <= o.reports);
END;
$$;

--: case, attempt: adds when the last attempt began, from which on what counts up is counted anew, and those of good
--: jobs
CREATE FUNCTION l4._case_attempt(k l4._case) RETURNS l4._case
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    low int := 1;
    high int;
BEGIN
    -- where the first ones were not started again no others are looked at
    FOREACH high IN ARRAY ARRAY[(k.t).min_pair, (k.t).value_jobs]::int[] LOOP
        k.good_since := ARRAY(
            SELECT greatest(b.since, CASE WHEN b.place BETWEEN low AND high THEN l4._good_since(k, b.job_id) END)
            FROM unnest(k.baseline, k.good_since) WITH ORDINALITY AS b(job_id, since, place) ORDER BY b.place);
        EXIT WHEN array_remove(k.good_since, NULL) = '{}';
        low := high + 1;
    END LOOP;
    k.attempt_ts := greatest(k.attempt_ts, l4._last_attempt(k.job_id, k.baseline), l4._started_again(k));
    IF k.attempt_ts IS NOT NULL AND (k.counter).event_id IS NOT NULL THEN
        UPDATE l4._counted AS c SET iterations = z.iterations
        FROM l4._count(k.counter, k.t, k.job_id, k.attempt_ts) AS z
        WHERE c.job_id = k.job_id AND c.stream_id = z.stream_id;
    END IF;
    RETURN k;
END;
$$;

-- The longest iteration of good jobs: what recurs there, such as a checkpoint, is no stall.
--: how long the longest iteration of good jobs takes, in milliseconds
CREATE FUNCTION l4._usual_stall(k l4._case) RETURNS float8
LANGUAGE sql STABLE COST 100000
RETURN (SELECT max(i.duration_ms) FROM l4._good_iterations(k) AS i);

--: by how much iterations of a good job take longer than its median on average, the most of all good jobs
CREATE FUNCTION l4._usual_noise(k l4._case) RETURNS float8
LANGUAGE plpgsql STABLE COST 100000 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
    WITH took AS MATERIALIZED (
        SELECT i.job_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY i.duration_ms) AS ms,
            row_number() OVER (PARTITION BY i.job_id ORDER BY i.epoch, i.iteration) AS place
        FROM l4._good_iterations(k) AS i GROUP BY i.job_id, i.epoch, i.iteration
    ), usual AS (
        SELECT t.job_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY t.ms) AS ms FROM took AS t GROUP BY t.job_id
    )
    SELECT max(n.noise)
    FROM (SELECT avg(least(greatest(0, t.ms / u.ms - 1), (k.t).max_excess)) AS noise
        FROM took AS t JOIN usual AS u USING (job_id)
        WHERE t.place > 1 AND u.ms > 0 GROUP BY t.job_id) AS n);
END
$$;

--: do the iterations of a job vary far more than those of any good one
CREATE FUNCTION l4._uneven(k l4._case) RETURNS bool
LANGUAGE sql STABLE COST 100000
RETURN (SELECT n.noise >= (k.t).slow_excess AND n.noise > (k.t).slow_ratio * l4._usual_noise(k)
    FROM (SELECT avg(least(greatest(0, i.ratio - 1), (k.t).max_excess)) AS noise
        FROM l4._case_iteration AS i WHERE i.job_id = k.job_id AND i.place > 1) AS n);

-- The first iteration warms up, one stall does not make a slow job, and noise counts half. But what most iterations of
-- the last part take, has stayed, and stalls after the longest one count in full where good jobs have none so long.
--: by how much iterations take longer than normal on average
CREATE FUNCTION l4._excess(k l4._case) RETURNS float8
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT greatest(x.stalls, (k.t).noise_weight * x.noise,
        CASE WHEN x.late >= (k.t).stayed_ratio THEN (k.t).noise_weight * (x.late - 1) END)
    FROM (
        SELECT sum(CASE WHEN i.longest > 1 AND i.ratio - 1 > (k.t).max_excess
                    AND i.duration_ms > (k.t).raised_ratio * (SELECT l4._usual_stall(k)) THEN i.ratio - 1
                ELSE least(i.ratio - 1, (k.t).max_excess) END)
                FILTER (WHERE i.ratio > (k.t).slow_ratio) / count(*) AS stalls,
            avg(least(greatest(0, i.ratio - 1), (k.t).max_excess)) AS noise,
            percentile_cont((k.t).stayed_quantile::float8) WITHIN GROUP (ORDER BY i.ratio)
                FILTER (WHERE i.back <= greatest((k.t).min_past, (k.t).late_part * i.places)) AS late
        FROM (SELECT z.ratio, z.duration_ms, row_number() OVER (ORDER BY z.place DESC) AS back,
                row_number() OVER (ORDER BY z.ratio DESC, z.place) AS longest, count(*) OVER () AS places
            FROM l4._case_iteration AS z WHERE z.job_id = k.job_id AND z.place > 1) AS i) AS x;
END;

-- Where good jobs stall in the same iteration, as for an evaluation that is compiled first, it is measured by theirs.
--: case: the excess, stalls of good jobs left out; writes how slow those iterations are
CREATE FUNCTION l4._case_excess(k l4._case) RETURNS float8
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    excess float8 := (SELECT l4._excess(k));
BEGIN
    IF excess >= (k.t).slow_excess THEN
        UPDATE l4._case_iteration AS i SET ratio = i.duration_ms / u.ms
        FROM (
            SELECT g.epoch, g.iteration, min(g.ms) AS ms
            FROM (SELECT z.epoch, z.iteration, percentile_cont(0.5) WITHIN GROUP (ORDER BY z.duration_ms) AS ms
                FROM l4._good_iterations(k) AS z
                GROUP BY z.job_id, z.epoch, z.iteration) AS g
            GROUP BY g.epoch, g.iteration
            HAVING count(*) >= (k.t).min_pair AND min(g.ms) > (k.t).slow_ratio * k.median_ms) AS u
        WHERE i.job_id = k.job_id AND i.ratio > (k.t).slow_ratio AND i.epoch IS NOT DISTINCT FROM u.epoch
            AND i.iteration = l4._since_start(k.epochs, u.epoch, u.iteration);
        IF FOUND THEN
            excess := l4._excess(k);
        END IF;
    END IF;
    RETURN excess;
END;
$$;

-- A job that is slow from its start, and on all nodes alike, is so only by what good jobs take. Where several ranks
-- report in a stream, reports are compared.
--: how many times longer a job takes for an iteration than the slowest good job, NULL where none tells
CREATE FUNCTION l4._pace(k l4._case) RETURNS float8
LANGUAGE plpgsql STABLE COST 100000 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (
    SELECT least(k.step * k.median_ms / 1000, max(g.seconds) FILTER (WHERE g.own))
        / nullif(max(g.seconds) FILTER (WHERE NOT g.own), 0)
    FROM (SELECT b.job_id = k.job_id AS own, (SELECT extract(epoch FROM max(r.last_ts) - min(r.first_ts))::float8
                / nullif(sum(r.occurrences) - 1, 0)::float8 FROM l4._first_reports(k, b.job_id) AS r) AS seconds
        FROM unnest(k.job_id || k.baseline[1:(k.t).value_jobs::int]) AS b(job_id) OFFSET 0) AS g
    HAVING count(g.seconds) FILTER (WHERE NOT g.own) >= (k.t).min_pair);
END
$$;

-- A job turned slow where a slow iteration is followed by another one soon. Where most of what follows is less slow
-- than that, it turned slow earlier: where most of a few iterations are more than half as slow as the slow ones. A job
-- that only stalls is slow from its first stall on.
--: iteration from which on a job is slow
CREATE FUNCTION l4._onset(k l4._case) RETURNS l4._case_iteration
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    soon constant bigint := (k.t).slow_window;
    raised constant float8 := (
        SELECT least((k.t).slow_ratio, greatest((k.t).raised_ratio,
            (1 + percentile_cont(0.5) WITHIN GROUP (ORDER BY i.ratio)) / 2))
        FROM l4._case_iteration AS i WHERE i.job_id = k.job_id AND i.place > 1 AND i.ratio > (k.t).raised_ratio);
    answer l4._case_iteration;
BEGIN
    SELECT x.job_id, x.place, x.epoch, x.iteration, x.nodes, x.done_ts, x.duration_ms, x.ratio INTO answer
    FROM (
        SELECT s.*, min(s.place) FILTER (WHERE s.sudden) OVER () AS first_sudden
        FROM (
            SELECT i.*, i.ratio > (k.t).slow_ratio
                    AND count(*) FILTER (WHERE i.ratio > (k.t).slow_ratio) OVER next > 0 AS sudden,
                i.ratio - 1 > (k.t).max_excess AND coalesce(k.excess, 0) >= (k.t).slow_excess AS stalls,
                avg((i.ratio > (k.t).slow_ratio)::int) OVER rest AS slow_share,
                -- not one that is slow by itself, such as with a checkpoint
                i.ratio > raised AND lead(i.ratio) OVER line > raised
                    AND sum((i.ratio > raised)::int) OVER here >= soon AS gradual
            FROM l4._case_iteration AS i WHERE i.job_id = k.job_id AND i.place > 1
            WINDOW line AS (ORDER BY i.place),
                next AS (ORDER BY i.place ROWS BETWEEN 1 FOLLOWING AND soon FOLLOWING),
                here AS (ORDER BY i.place ROWS BETWEEN CURRENT ROW AND soon FOLLOWING),
                rest AS (ORDER BY i.place ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)) AS s) AS x
    WHERE x.place = x.first_sudden OR x.gradual OR x.stalls
    ORDER BY CASE WHEN x.place = x.first_sudden AND x.slow_share >= (k.t).half THEN 1
        WHEN x.gradual THEN 2 WHEN x.place = x.first_sudden THEN 3 ELSE 4 END, x.place
    LIMIT 1;
    RETURN answer;
END;
$$;

-- A job that did not come to a second report prints as good ones do.
--: how many iterations lie between two that good jobs print
CREATE FUNCTION l4._good_step(k l4._case) RETURNS int
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT mode() WITHIN GROUP (ORDER BY g.step)
    FROM (SELECT i.iteration - lag(i.iteration) OVER (PARTITION BY i.job_id, i.epoch ORDER BY i.iteration) AS step
        FROM l4._good_iterations(k) AS i) AS g
    WHERE g.step > 0;
END;

--: iterations of a job since a time (NULL: of the first attempt), and who reported them, as l4._iteration_table()
CREATE FUNCTION l4._job_iterations(job_id text, since timestamptz) RETURNS bytea[]
LANGUAGE sql STABLE COST 100000
BEGIN ATOMIC
    SELECT l4._iteration_table(s.iterations, s.open_iterations, n.place,
        (extract(epoch FROM n.clock) * 1000000)::bigint, _job_iterations.since ORDER BY n.place)
    FROM l4._nodes(_job_iterations.job_id) AS n
    JOIN l4._summary AS s ON s.job_id = _job_iterations.job_id AND s.node = n.node
    WHERE n.place > 0;
END;

-- Iterations in order, with the median over nodes of their durations. The normal duration is the lesser of the median
-- of the first ones and that of all, so that a job that turns slow is measured by its own past. Where numbers go on
-- past what a bar counts to, it counts an epoch: they may end with a whole one, else how many are to be is not known.
--: case, progress: writes iterations and who reports them
CREATE FUNCTION l4._case_progress(k l4._case) RETURNS l4._case
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    packed bytea[];
    onset l4._case_iteration;
    before l4._epochs;
    epochs int;
    took float8;
    pace float8;
BEGIN
    k := l4._case_attempt(k);
    packed := l4._job_iterations(k.job_id, k.attempt_ts);
    SELECT least(percentile_cont(0.5) WITHIN GROUP (ORDER BY i.duration_ms),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY i.duration_ms)
            FILTER (WHERE i.place <= greatest(least((k.t).min_past, ceil((k.t).half * i.places)),
                floor((k.t).normal_part * i.places))))
    INTO k.median_ms
    FROM (
        SELECT z.duration_ms, row_number() OVER (ORDER BY z.epoch, z.iteration) AS place, count(*) OVER () AS places
        FROM l4._unpack(packed[1])
            AS z(epoch int, iteration int, nodes int, done_ts timestamptz, duration_ms float8)) AS i
    WHERE i.duration_ms > 0;
    k.step := coalesce((SELECT mode() WITHIN GROUP (ORDER BY d.step)
        FROM (SELECT i.iteration - lag(i.iteration) OVER (PARTITION BY i.epoch ORDER BY i.iteration) AS step
            FROM l4._unpack(packed[1]) AS i(epoch int, iteration int)) AS d
        WHERE d.step > 0), (SELECT l4._good_step(k)), 1);
    IF packed IS NOT NULL THEN
        SELECT t.total, t.epochs INTO k.total, epochs FROM l4._counter_totals(k) AS t;
        k.total := coalesce(l4._total_iterations(k.job_id), k.total);
        k.epochs := l4._epochs(k, packed[1], k.step, k.total);
        IF k.attempt_ts IS NOT NULL AND (k.epochs).exact IS DISTINCT FROM true THEN
            -- the attempt before may have shown it
            before := l4._epochs(k, (l4._job_iterations(k.job_id, NULL))[1], k.step, k.total);
            k.epochs := CASE WHEN before.exact THEN before ELSE k.epochs END;
        END IF;
        k.epochs.epochs := CASE WHEN k.epochs IS NOT NULL THEN epochs END;
    END IF;
    INSERT INTO l4._case_progress (job_id, node, train_ts, progress_ts, iterations, last_iteration)
    SELECT k.job_id, n.node, i.train_ts, i.progress_ts, i.iterations,
        l4._since_start(k.epochs, i.last_epoch, i.last_iteration)
    FROM l4._unpack(packed[2]) AS i(place int, train_ts timestamptz, progress_ts timestamptz, iterations int,
        last_iteration int, last_epoch int)
    JOIN l4._nodes(k.job_id) AS n USING (place);
    INSERT INTO l4._case_iteration (job_id, place, epoch, iteration, nodes, done_ts, duration_ms, ratio)
    SELECT k.job_id, row_number() OVER (ORDER BY i.epoch, i.iteration), i.epoch,
        l4._since_start(k.epochs, i.epoch, i.iteration), i.nodes, i.done_ts,
        i.duration_ms, CASE WHEN k.median_ms > 0 THEN i.duration_ms / k.median_ms END
    FROM l4._unpack(packed[1]) AS i(epoch int, iteration int, nodes int, done_ts timestamptz, duration_ms float8);
    GET DIAGNOSTICS k.iterations = ROW_COUNT;
    k.timed := k.first_ts IS NOT NULL;
    IF k.iterations = 0 THEN
        RETURN k;
    END IF;
    SELECT min(n.train_ts), max(n.progress_ts) INTO k.train_ts, k.reported_ts FROM l4._nodes(k.job_id) AS n;
    SELECT i.iteration, coalesce(l4._since_start(k.epochs, (k.epochs).first + (k.epochs).epochs - 1, (k.epochs).length),
        l4._since_start(k.epochs, i.epoch, CASE WHEN NOT k.epochs IS NULL OR i.iteration <= k.total THEN k.total
            WHEN i.iteration % nullif(k.total, 0) = 0 THEN i.iteration END))
    INTO k.last_iteration, k.total FROM l4._case_iteration AS i WHERE i.job_id = k.job_id AND i.place = k.iterations;
    k.excess := l4._case_excess(k);
    IF k.iterations >= (k.t).min_past AND k.excess < (k.t).slow_excess THEN
        pace := (SELECT l4._pace(k));  -- a function without a query around it would keep its plan, 4 MB, to the end
        IF pace > (k.t).slow_ratio THEN
            UPDATE l4._case_iteration AS i SET ratio = pace * coalesce(i.ratio, 1) WHERE i.job_id = k.job_id;
            k.excess := l4._excess(k);
            SELECT i.* INTO onset FROM l4._case_iteration AS i WHERE i.job_id = k.job_id AND i.place = 1;
        END IF;
    END IF;
    -- iterations that took longer, as they say, than all lines span: few lines carry times, and the others got those
    took := (SELECT coalesce(sum(i.duration_ms), 0) / 1000 FROM l4._case_iteration AS i WHERE i.job_id = k.job_id);
    k.timed := k.timed AND took <= (k.t).max_overlap * extract(epoch FROM k.last_ts - k.first_ts);
    onset := coalesce(onset, l4._onset(k));
    k.onset_iteration := onset.iteration;
    k.onset_ts := onset.done_ts - coalesce(onset.duration_ms, 0) * interval '1 ms';
    -- durations are kept by the numbers that lines give
    k.onset_block := coalesce((l4._in_epoch(k.epochs, onset.iteration)).iteration, onset.iteration)
        / l4._block_iterations();
    RETURN k;
END;
$$;

--: iterations of which ingest keeps durations together
CREATE FUNCTION l4._block_iterations() RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 10;
