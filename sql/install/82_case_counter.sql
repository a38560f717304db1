-- Progress without words: the event that counts up in good jobs tells the iterations of a trainer that no rule knows.

-- Trainers print on the first rank, on the last one, on all, or where the one runs that leads the others.
--: the first and the last stream of a job, by rank and name, and the longest one
CREATE FUNCTION l4._outer_streams(k l4._case, job_id text) RETURNS SETOF int
LANGUAGE sql STABLE PARALLEL SAFE ROWS 3
BEGIN ATOMIC
    SELECT x.stream_id
    FROM (SELECT s.stream_id, row_number() OVER w AS place, count(*) OVER () AS streams,
            row_number() OVER (ORDER BY s.lines + s.tail_lines DESC, s.rank, s.node COLLATE "C", s.source COLLATE "C")
                AS longest
        FROM l4._streams(k, _outer_streams.job_id) AS s WHERE s.lines + s.tail_lines > 0
        WINDOW w AS (ORDER BY s.rank, s.node COLLATE "C", s.source COLLATE "C")) AS x
    WHERE x.place IN (1, x.streams) OR x.longest = 1
    ORDER BY x.place IN (1, x.streams) DESC, x.place;
END;

-- What a launcher puts in front of lines is known only after some of them: until then it is part of the message, and
-- the same lines are another event. So they are with another number of signs in a bar, or another unit of a rate.
--: events of a job (NULL: all) and those that are the same with another label or bar, each with the event without
CREATE FUNCTION l4._labelled(job_id text, events int[]) RETURNS TABLE (event_id int, bare int)
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 ROWS 100 SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
#variable_conflict use_column
BEGIN
    IF array_remove(events, NULL) = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH event AS MATERIALIZED (
        SELECT t.event_id, t.plain
        FROM l4._event AS t
        WHERE t.event_id IN (SELECT l4._survivor(e.event_id, e.merged_into)
            FROM (SELECT j.event_id FROM l4._job_event AS j WHERE j.job_id = _labelled.job_id
                UNION SELECT unnest(events)) AS j
            JOIN l4._event AS e USING (event_id))
            -- what is the same ends alike
            AND (events IS NULL OR split_part(t.plain, ' ', -1) IN (
                SELECT split_part(w.plain, ' ', -1) FROM l4._event AS w WHERE w.event_id = ANY (events)))
    ), cut AS (
        SELECT e.event_id, substr(e.plain, length(c.label) + 1) AS rest
        FROM (SELECT z.* FROM event AS z WHERE z.plain ~ '^(?:\S+ +){0,2}\S*(?:[0-9]|<\*>)\S* ' OFFSET 0) AS e
        CROSS JOIN LATERAL (VALUES (substring(e.plain FROM '^\S+ +')), (substring(e.plain FROM '^(?:\S+ +){2}')),
            (substring(e.plain FROM '^(?:\S+ +){3}'))) AS c(label)
        WHERE c.label ~ '[0-9]|<\*>' AND c.label !~* 'epoch|step|iter|batch|round|update'
    ), same AS MATERIALIZED (
        SELECT e.event_id, min(coalesce(b.event_id, e.event_id)) OVER (PARTITION BY coalesce(b.rest, e.plain)) AS bare
        FROM event AS e
        LEFT JOIN (SELECT c.event_id, min(o.event_id) AS bare, min(c.rest) AS rest
            FROM cut AS c JOIN event AS o ON o.plain = c.rest
            GROUP BY c.event_id) AS b(labelled, event_id, rest) ON b.labelled = e.event_id
    )
    SELECT s.event_id, s.bare FROM same AS s
    WHERE events IS NULL OR s.bare IN (SELECT z.bare FROM same AS z WHERE z.event_id = ANY (events));
END
$$;

-- The first numbers in the variable parts of some events of a job's streams, in the order of their lines, and by how
-- much each differs from the one before. Slots are counted from the last word, as a label in front shifts them.
--: first values of the variable parts of events: as numbers, where they are some, and whether they have a point
CREATE FUNCTION l4._first_numbers(streams int[], events int[])
RETURNS TABLE (stream_id int, event_id int, slot int, number int, occurrences bigint, first_ts timestamptz,
    first_line_no bigint, step bigint, has_point bool)
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 ROWS 500 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF array_remove(events, NULL) = '{}' THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT u.stream_id, u.bare, u.slot, u.number, u.occurrences::bigint, u.first_ts, u.first_line_no,
        u.number::bigint - lag(u.number) OVER w, u.value ~ '^[0-9]+[.][0-9]+([^0-9.]|$)'
    FROM (
        -- another label has values of its own
        SELECT DISTINCT ON (m.stream_id, v.bare, v.slot, v.value) m.stream_id, v.bare, v.slot, v.value, v.number,
            v.first_ts, v.first_line_no,
            CASE WHEN bool_and(v.occurrences IS NOT NULL) OVER same THEN sum(v.occurrences) OVER same END AS occurrences
        FROM (SELECT array_agg(z.event_id) AS events, array_agg(z.bare) AS bare
            FROM l4._stream AS s CROSS JOIN LATERAL l4._labelled(s.job_id, events) AS z
            WHERE s.stream_id = streams[1]) AS l
        CROSS JOIN LATERAL (SELECT l4._packed_ids(l.events) AS ids OFFSET 0) AS i
        CROSS JOIN LATERAL l4._slot_context(i.ids) AS x
        CROSS JOIN l4._summary AS m
        CROSS JOIN LATERAL (
            SELECT z.value, z.occurrences, z.first_ts, z.first_line_no,
                l.bare[array_position(l.events, z.event_id)] AS bare,
                CASE WHEN z.value ~ '^[0-9]{1,9}$' THEN z.value::int END AS number,
                z.slot - max(z.slot / 64) OVER (PARTITION BY z.event_id) * 64 + 65536 AS slot
            FROM l4._unpack_values(m.slots, m.open_slots, m.events, m.open_events, x.merged, x.survivors,
                x.word_events, x.word_slots, x.words, i.ids, NULL, false) AS z) AS v
        WHERE m.stream_id = ANY (streams) AND m.part = 0
        WINDOW same AS (PARTITION BY m.stream_id, v.bare, v.slot, v.value)
        ORDER BY m.stream_id, v.bare, v.slot, v.value, v.first_line_no) AS u
    WINDOW w AS (PARTITION BY u.stream_id, u.bare, u.slot ORDER BY u.first_line_no);
END
$$;

-- How many nodes there are to be: a number that two good jobs of different size print, and that is as many times the
-- nodes in both, as ranks are.
--: nodes that a job is to have by its own lines, where good jobs show which number tells them
CREATE FUNCTION l4._told_nodes(k l4._case) RETURNS int
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN (
    WITH size AS (
        SELECT s.job_id, count(DISTINCT s.node)::int AS nodes
        FROM unnest(k.baseline) AS b(job_id) CROSS JOIN LATERAL l4._streams(k, b.job_id) AS s
        WHERE s.lines + s.tail_lines > 0 GROUP BY s.job_id
    ), good AS (
        SELECT z.job_id, z.nodes
        FROM (SELECT s.*, row_number() OVER (ORDER BY s.nodes, s.job_id COLLATE "C") AS up,
                row_number() OVER (ORDER BY s.nodes DESC, s.job_id COLLATE "C") AS down,
                min(s.nodes) OVER () < max(s.nodes) OVER () AS differ FROM size AS s) AS z
        WHERE z.differ AND (z.up = 1 OR z.down = 1)
    ), number AS (
        SELECT g.job_id, g.nodes, n.event_id, n.slot, min(n.number) AS number
        FROM good AS g
        CROSS JOIN LATERAL l4._first_numbers(ARRAY(SELECT o FROM l4._outer_streams(k, g.job_id) AS o),
            ARRAY(SELECT j.event_id FROM l4._job_event AS j
                WHERE j.job_id = g.job_id AND j.occurrences <= (k.t).min_pair * j.nodes)) AS n
        GROUP BY g.job_id, g.nodes, n.event_id, n.slot
        HAVING min(n.number) = max(n.number) AND min(n.number) % g.nodes = 0 AND min(n.number) > 0
    ), told AS MATERIALIZED (
        SELECT n.event_id, n.slot, min(n.number / n.nodes) AS ranks FROM number AS n
        GROUP BY n.event_id, n.slot
        HAVING count(*) = 2 AND min(n.number / n.nodes) = max(n.number / n.nodes)
            AND min(n.number / n.nodes) <= (k.t).max_ranks
    )
    SELECT CASE WHEN min(n.number / t.ranks) = max(n.number / t.ranks) THEN min(n.number / t.ranks) END
    FROM l4._first_numbers(ARRAY(SELECT o FROM l4._outer_streams(k, k.job_id) AS o),
        ARRAY(SELECT t.event_id FROM told AS t)) AS n
    JOIN told AS t USING (event_id, slot)
    HAVING min(n.number / t.ranks) > (SELECT count(DISTINCT s.node) FROM l4._streams(k, k.job_id) AS s
        WHERE s.lines + s.tail_lines > 0));
END
$$;

--: events of a stream, whatever label is in front: how many records, for how many seconds, and between which lines
CREATE FUNCTION l4._events_of_stream(stream_id int)
RETURNS TABLE (event_id int, records numeric, lasts numeric, first_line_no bigint, last_line_no bigint,
    first_ts timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    WITH labelled AS MATERIALIZED (
        SELECT l.event_id, l.bare
        FROM l4._stream AS s CROSS JOIN LATERAL l4._labelled(s.job_id, NULL) AS l
        WHERE s.stream_id = _events_of_stream.stream_id
    )
    SELECT l.bare, sum(u.occurrences), extract(epoch FROM max(u.last_ts) - min(u.first_ts)), min(u.first_line_no),
        max(u.last_line_no), min(u.first_ts)
    FROM l4._summary AS m
    CROSS JOIN LATERAL l4._unpack(m.events, m.open_events) AS u(event_id int, occurrences bigint,
        first_ts timestamptz, last_ts timestamptz, first_line_no bigint, last_line_no bigint)
    JOIN l4._event AS e ON e.event_id = u.event_id
    JOIN labelled AS l ON l.event_id = l4._survivor(e.event_id, e.merged_into)
    WHERE m.stream_id = _events_of_stream.stream_id AND m.part = 0
    GROUP BY l.bare;
END;

-- What counts in a stream: nearly each number is the one before and a step, at steady times, for a good part of the log
-- or beside measured values, but not while the start-up goes on: of the lines that come once before it ends, most come
-- before it begins. Where nothing else counts, two numbers are enough beside measured values if the first one is the
-- step. Best is an event that prints measured values as well, then the first one of those with nearly the most records,
-- as checkpoints come of steps; of its numbers one that grows (one that falls is what is left), the one that changes
-- most often, then the one with most values, then the smallest step, of a range its end. An epoch is a number of the
-- same event that grows by one, and later: between ranks that report one iteration its number does not change. How many
-- there are to be may stand right behind: "12/400". Where nothing counts, an event that prints measured values and
-- recurs like that shows at least that the training goes on. Without times nothing speaks against steady ones, and
-- whole seconds that look equal may be one apart; where the first line of the stream came again the job was started
-- again, and there is no gap. Numbers below that of the nodes may be ranks.
--: the event of a stream that counts iterations, and its first numbers; slot NULL: its records show the progress, but
--: no number counts
CREATE FUNCTION l4._counter_of_stream(k l4._case, stream_id int, events int[])
RETURNS TABLE (event_id int, slot int, epoch_slot int, total_slot int, step bigint, numbers bigint, low int, high int,
    total int, times numeric, first_line_no bigint, last_line_no bigint, measures bool)
LANGUAGE plpgsql STABLE PARALLEL SAFE COST 10000 ROWS 1 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH event AS MATERIALIZED (
        SELECT z.* FROM l4._events_of_stream(_counter_of_stream.stream_id) AS z
    ), number AS MATERIALIZED (
        SELECT n.*, CASE WHEN f.last_line_no NOT BETWEEN lag(n.first_line_no) OVER w AND n.first_line_no
            THEN extract(epoch FROM n.first_ts - lag(n.first_ts) OVER w)::float8 END AS gap
        FROM l4._first_numbers(ARRAY[_counter_of_stream.stream_id], events) AS n
        CROSS JOIN (SELECT e.last_line_no FROM event AS e ORDER BY e.first_line_no LIMIT 1) AS f
        WINDOW w AS (PARTITION BY n.event_id, n.slot ORDER BY n.first_line_no)
    ), series AS MATERIALIZED (
        SELECT n.event_id, n.slot, count(*) AS numbers, min(n.number) AS low, max(n.number) AS high,
            mode() WITHIN GROUP (ORDER BY n.step) AS step,
            CASE WHEN bool_and(n.occurrences IS NOT NULL) THEN sum(n.occurrences) END AS times,
            min(n.first_line_no) AS first_line_no, max(n.first_line_no) AS last_line_no,
            min(n.first_line_no) FILTER (WHERE n.step IS NOT NULL) AS second_line_no,
            min(n.first_ts) FILTER (WHERE n.step IS NOT NULL) - min(n.first_ts) AS first_lasts,
            max(n.first_ts) - min(n.first_ts) AS lasts,
            coalesce((k.t).steady_ratio * greatest(percentile_cont(0.5) WITHIN GROUP (ORDER BY n.gap),
                bool_and(n.first_ts = date_trunc('second', n.first_ts))::int) >= avg(n.gap), true) AS steady
        FROM number AS n WHERE n.number IS NOT NULL
        GROUP BY n.event_id, n.slot
    ), even AS MATERIALIZED (
        SELECT s.*, (SELECT avg((n.step = s.step)::int) FROM number AS n
            WHERE n.event_id = s.event_id AND n.slot = s.slot AND n.step IS NOT NULL) AS share
        FROM series AS s
        WHERE s.numbers >= (k.t).min_pair AND s.step <> 0
    ), steady AS MATERIALIZED (
        SELECT e.*, m.measures
        FROM event AS e
        JOIN l4._stream AS z ON z.stream_id = _counter_of_stream.stream_id
        CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM number AS n
            WHERE n.event_id = e.event_id AND n.has_point)) AS m(measures)
        -- a failed job may hang for long: what comes behind the last record does not count
        WHERE coalesce(m.measures AND e.lasts > (k.t).same_moment
                OR e.lasts >= (k.t).counter_share * CASE WHEN k.baseline = '{}'
                    THEN e.lasts + extract(epoch FROM e.first_ts - z.first_ts)
                    ELSE extract(epoch FROM z.last_ts - z.first_ts) END, true)
            -- what recurs from the first line on, while the start-up goes on, is a sign of life
            AND coalesce((SELECT avg((o.first_line_no > e.first_line_no)::int)
                FROM event AS o WHERE o.records = 1 AND o.first_line_no < e.last_line_no) <= (k.t).half, true)
    ), best AS (
        SELECT e.event_id, c.slot, c.numbers, c.low, c.high, c.step, c.times, c.first_line_no, c.last_line_no,
            c.second_line_no, e.records, e.measures
        FROM steady AS e
        LEFT JOIN even AS c ON c.event_id = e.event_id AND c.share >= (k.t).nearly_all
            AND (c.numbers >= (k.t).min_iterations OR e.measures AND c.low = c.step) AND c.steady
            -- ranks of a stream come in one moment, and again when the next number does
            AND (c.lasts > l4._seconds((k.t).same_moment) OR NOT EXISTS (SELECT FROM even AS o
                WHERE o.event_id = c.event_id AND o.share >= (k.t).nearly_all AND o.second_line_no > c.last_line_no
                    AND o.first_lasts > (k.t).steady_ratio::float8 * c.lasts))
        WHERE CASE WHEN c.event_id IS NULL THEN e.measures AND e.records >= (k.t).min_past
            ELSE e.measures OR c.high > k.nodes END
        ORDER BY c.event_id IS NULL, c.numbers < (k.t).min_iterations, e.measures DESC,
            e.records < (k.t).nearly_all
                * max(e.records) OVER (PARTITION BY c.numbers < (k.t).min_iterations, e.measures),
            e.first_line_no, c.step < 0, (c.last_line_no - c.first_line_no) / greatest(c.numbers - 1, 1),
            -- of "[20-40]" the end is what is done
            c.numbers DESC, abs(c.step), EXISTS (SELECT FROM even AS o WHERE o.event_id = c.event_id
                AND o.slot = c.slot + 1 AND o.slot / 64 = c.slot / 64 AND o.step = c.step
                AND o.low - c.low BETWEEN 1 AND c.step), c.slot LIMIT 1
    )
    SELECT b.event_id, b.slot, o.slot, CASE WHEN r.high IS NOT NULL THEN b.slot + 1 END, b.step, b.numbers, b.low,
        b.high, r.high, b.times, b.first_line_no, b.last_line_no, b.measures
    FROM best AS b
    LEFT JOIN series AS r ON r.event_id = b.event_id AND r.slot = b.slot + 1 AND r.slot / 64 = b.slot / 64
        AND r.numbers = 1 AND r.high >= b.high
    LEFT JOIN LATERAL (
        SELECT s.slot FROM even AS s
        WHERE s.event_id = b.event_id AND s.slot <> b.slot AND s.step = 1 AND s.share = 1
            AND s.numbers * (k.t).min_pair <= b.records AND s.second_line_no > b.second_line_no
        ORDER BY s.numbers, s.slot LIMIT 1) AS o ON true;
END
$$;

-- A number announces an iteration, "[ROUND 7]", where other lines come as often or more often, the first of them before
-- the second number, the last of them after the last one, and none of them ends before it. What it announces takes
-- time: lines that come with it are the rest of a report.
--: events of a stream that tell of each iteration which a number announces, NULL where it reports them
CREATE FUNCTION l4._cycle(k l4._case, stream_id int, counter int, slot int) RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE COST 10000
BEGIN ATOMIC
    WITH event AS MATERIALIZED (
        SELECT z.* FROM l4._events_of_stream(_cycle.stream_id) AS z
    ), number AS (
        SELECT min(n.first_line_no) AS second
        FROM l4._first_numbers(ARRAY[_cycle.stream_id], ARRAY[_cycle.counter]) AS n
        WHERE n.slot = _cycle.slot AND n.step IS NOT NULL
    )
    SELECT array_agg(o.event_id ORDER BY o.event_id) FILTER (WHERE o.within)
    FROM (
        SELECT e.event_id, e.first_line_no > c.first_line_no AND e.first_line_no < n.second
                AND e.last_line_no > c.last_line_no AS within,
            e.first_line_no < c.first_line_no AND e.last_line_no < c.last_line_no AS before,
            extract(epoch FROM e.first_ts - c.first_ts) >= (k.t).half * c.lasts / greatest(c.records - 1, 1) AS later
        FROM event AS c CROSS JOIN number AS n
        JOIN event AS e ON e.event_id <> c.event_id AND e.records >= c.records - 1
        WHERE c.event_id = _cycle.counter) AS o
    HAVING NOT bool_or(o.before) AND coalesce(bool_or(o.later) FILTER (WHERE o.within), true);
END;

-- The lines and times of the records of an event, a row a stream.
--: lines and times (-infinity: none) of the records of an event in a job, whatever label is in front
CREATE FUNCTION l4._records(job_id text, event_id int)
RETURNS TABLE (stream_id int, lines bigint[], times timestamptz[])
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 500
BEGIN ATOMIC
    SELECT s.stream_id, array_agg(u.line_no ORDER BY u.line_no),
        array_agg(coalesce(u.ts, '-infinity') ORDER BY u.line_no)
    FROM (SELECT l4._packed_ids(ARRAY(SELECT z.event_id
            FROM l4._labelled(_records.job_id, ARRAY[_records.event_id]) AS z)) AS ids OFFSET 0) AS i
    CROSS JOIN l4._chunk AS s
    CROSS JOIN LATERAL l4._lines_between(s.body, i.ids, NULL, NULL) AS u
    WHERE s.job_id = _records.job_id AND u.back = 0
    GROUP BY s.stream_id;
END;

-- The counter of a job: what counts up in its first, last or longest stream. It begins anew where its numbers come
-- more often than there are of them, or more reports than are to be; a number that several ranks of a stream report is
-- one.
--: the event that counts the iterations of a job, NULL: none
CREATE FUNCTION l4._counter_of_job(k l4._case, job_id text) RETURNS l4._counter
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    events constant int[] := ARRAY(SELECT DISTINCT l4._survivor(e.event_id, e.merged_into)
        FROM l4._job_event AS j JOIN l4._event AS e USING (event_id)
        WHERE j.job_id = _counter_of_job.job_id AND j.occurrences >= (k.t).min_pair);
    stream int;
    c record;
    reports numeric;
    copies numeric;
    answer l4._counter;
    uncounted l4._counter;  -- where none of the streams counts
BEGIN
    FOR stream IN SELECT l4._outer_streams(k, _counter_of_job.job_id) LOOP
        SELECT * INTO c FROM l4._counter_of_stream(k, stream, events);
        CONTINUE WHEN c.event_id IS NULL;
        IF c.slot IS NULL THEN
            uncounted.event_id := coalesce(uncounted.event_id, c.event_id);
            CONTINUE;
        END IF;
        answer.event_id := c.event_id;
        SELECT cardinality(r.lines), greatest(1, round((SELECT count(*) FROM unnest(r.lines) AS l(line_no)
            WHERE l.line_no >= c.first_line_no AND l.line_no < c.last_line_no)::numeric / greatest(c.numbers - 1, 1)))
        INTO reports, copies
        FROM l4._records(_counter_of_job.job_id, c.event_id) AS r WHERE r.stream_id = stream;
        answer.slot := c.slot;
        answer.epoch_slot := c.epoch_slot;
        answer.total_slot := c.total_slot;
        answer.step := c.step;
        answer.low := c.low;
        IF c.step < 0 THEN
            -- what is left
            RETURN answer;
        END IF;
        answer.high := CASE WHEN c.times > copies * (c.numbers + 1) THEN c.high
            WHEN reports * c.step > copies * (c.total::bigint + c.step) THEN c.total END;
        answer.cycle := CASE WHEN NOT c.measures AND answer.high IS NULL AND c.epoch_slot IS NULL
            THEN l4._cycle(k, stream, c.event_id, c.slot) END;
        RETURN answer;
    END LOOP;
    RETURN uncounted;
END;
$$;

-- What the event counts in a job, packed, a row a stream: nearly all nodes that print it must count alike. The last
-- attempt begins with the first number and the first epoch.
--: iterations of the streams of a job as an event counts them, packed; none where nodes count differently
CREATE FUNCTION l4._count(c l4._counter, t l4._thresholds, job_id text, attempt_ts timestamptz)
RETURNS TABLE (stream_id int, iterations bytea)
LANGUAGE plpgsql STABLE COST 10000 ROWS 500 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH number AS MATERIALIZED (
        SELECT n.* FROM l4._first_numbers(ARRAY(SELECT s.stream_id FROM l4._stream AS s
            WHERE s.job_id = _count.job_id), ARRAY[c.event_id]) AS n
        WHERE n.number IS NOT NULL
    ), record AS MATERIALIZED (
        SELECT z.stream_id, z.lines[f.first:] AS lines, z.times[f.first:] AS times
        FROM l4._records(_count.job_id, c.event_id) AS z
        CROSS JOIN (SELECT CASE WHEN c.cycle IS NULL THEN 1 ELSE 2 END AS first) AS f
        WHERE cardinality(z.lines) >= f.first
    ), attempt AS MATERIALIZED (
        SELECT r.stream_id, min(u.line_no) AS line_no
        FROM record AS r CROSS JOIN LATERAL unnest(r.lines, r.times) AS u(line_no, ts)
        WHERE u.ts >= _count.attempt_ts
        GROUP BY r.stream_id
    ), known AS (
        SELECT n.stream_id, array_agg(n.first_line_no ORDER BY n.first_line_no, n.step) AS lines,
            array_agg(CASE WHEN c.step < 0 THEN least(2147483647, n.most::bigint - n.number - c.step)::int
                ELSE n.number END ORDER BY n.first_line_no, n.step) AS numbers,
            coalesce(avg((n.step IN (c.step, 2 * c.step))::int) >= t.nearly_all, true) AS even
        FROM (SELECT z.stream_id, z.first_line_no, z.step, max(z.number) OVER () AS most,
                -- an iteration that begins ends the one before
                CASE WHEN c.cycle IS NOT NULL THEN z.number - c.step ELSE z.number END AS number,
                c.cycle IS NOT NULL
                    AND z.first_line_no = min(z.first_line_no) OVER (PARTITION BY z.stream_id) AS is_first
            FROM number AS z WHERE z.slot = c.slot
            UNION ALL
            SELECT a.stream_id, a.line_no, NULL, 0, CASE WHEN c.step < 0 THEN 0 ELSE c.low END, false
            FROM attempt AS a
            WHERE c.slot IS NOT NULL AND a.line_no NOT IN (SELECT z.first_line_no FROM number AS z
                WHERE z.stream_id = a.stream_id AND z.slot = c.slot)) AS n
        WHERE NOT n.is_first
        GROUP BY n.stream_id
    ), epoch AS (
        SELECT n.stream_id, array_agg(n.first_line_no ORDER BY n.first_line_no) AS lines,
            array_agg(n.number ORDER BY n.first_line_no) AS numbers
        FROM (SELECT z.stream_id, z.first_line_no, z.number FROM number AS z WHERE z.slot = c.epoch_slot
            UNION ALL
            SELECT a.stream_id, a.line_no, min(z.number)
            FROM attempt AS a JOIN number AS z USING (stream_id)
            WHERE z.slot = c.epoch_slot
            GROUP BY a.stream_id, a.line_no
            HAVING NOT bool_or(z.first_line_no = a.line_no)) AS n
        GROUP BY n.stream_id
    )
    SELECT r.stream_id, l4._count_records(r.lines, r.times, coalesce(z.lines, '{}'),
        coalesce(z.numbers, '{}'), coalesce(e.lines, '{}'), coalesce(e.numbers, '{}'), coalesce(abs(c.step), 1),
        coalesce(CASE WHEN c.step < 0 THEN -c.step ELSE c.low END, 1),
        c.high)
    FROM record AS r
    LEFT JOIN known AS z USING (stream_id)
    LEFT JOIN epoch AS e USING (stream_id)
    WHERE c.slot IS NULL OR (SELECT avg(a.even::int) FROM known AS a) >= t.nearly_all;
END
$$;

-- Of each good job: what rules read of it, else what the event that counts says; what a diagnosis of the good job
-- itself found is another thing.
--: iterations of good jobs, counted as those of the job are
CREATE FUNCTION l4._good_iterations(k l4._case)
RETURNS TABLE (job_id text, epoch int, iteration int, duration_ms float8)
LANGUAGE sql STABLE COST 100000 ROWS 10000
BEGIN ATOMIC
    SELECT b.job_id, u.epoch, u.iteration, u.duration_ms
    FROM unnest(k.baseline[1:(k.t).value_jobs::int], k.good_since[1:(k.t).value_jobs::int]) AS b(job_id, since)
    CROSS JOIN LATERAL (
        SELECT s.iterations, s.open_iterations FROM l4._summary AS s
        WHERE s.job_id = b.job_id AND s.last_iteration IS NOT NULL
        UNION ALL SELECT c.iterations, NULL FROM l4._count(k.counter, k.t, b.job_id, b.since) AS c
        WHERE (k.counter).event_id IS NOT NULL) AS p
    CROSS JOIN LATERAL l4._unpack(p.iterations, p.open_iterations)
        AS u(epoch int, iteration int, ended timestamptz, duration_ms float8)
    WHERE coalesce(u.ended >= b.since, true);
END;

-- Good jobs show what counts; without any the job itself.
--: case, counter: finds the event that counts iterations where no rule reads any, and writes what it counts
CREATE FUNCTION l4._case_counter(k l4._case) RETURNS l4._case
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    good text;
    c l4._counter;
BEGIN
    IF EXISTS (SELECT FROM l4._stream AS s
        WHERE s.job_id = ANY (k.baseline || k.job_id) AND s.last_iteration IS NOT NULL) THEN
        RETURN k;
    END IF;
    FOREACH good IN ARRAY CASE WHEN cardinality(k.baseline) > 0 THEN k.baseline[1:(k.t).value_jobs::int]
        ELSE ARRAY[k.job_id] END LOOP
        c := l4._counter_of_job(k, good);
        EXIT WHEN (c).event_id IS NOT NULL;
    END LOOP;
    IF (c).event_id IS NULL THEN
        RETURN k;
    END IF;
    INSERT INTO l4._counted (job_id, stream_id, iterations)
    SELECT k.job_id, z.stream_id, z.iterations FROM l4._count(c, k.t, k.job_id, NULL) AS z;
    c.uneven := NOT FOUND AND c.cycle IS NULL AND EXISTS (SELECT FROM l4._job_event AS j
        WHERE j.job_id = k.job_id AND j.event_id = ANY (l4._packed_ids(ARRAY(SELECT z.event_id
            FROM l4._labelled(k.job_id, ARRAY[c.event_id]) AS z))));
    k.counter := c;
    RETURN k;
END;
$$;

-- How many there are to be stands right behind a number, the same on all records of the first and the last node.
--: how many iterations an event that counts them says there are to be, of an epoch or in all, and how many epochs
CREATE FUNCTION l4._counter_totals(k l4._case, OUT total int, OUT epochs int)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT max(s.number) FILTER (WHERE s.slot = (k.counter).total_slot),
        max(s.number) FILTER (WHERE s.slot = (k.counter).epoch_slot + 1 AND s.slot / 64 = (k.counter).epoch_slot / 64
            AND s.slot <> (k.counter).slot)
    FROM (
        SELECT n.slot, max(n.number) AS number
        FROM l4._first_numbers(ARRAY(SELECT z FROM l4._outer_streams(k, k.job_id) AS z),
            ARRAY[(k.counter).event_id]) AS n
        GROUP BY n.slot
        HAVING min(n.number) = max(n.number)) AS s;
END;
