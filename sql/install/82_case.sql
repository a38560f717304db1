-- The working set of a diagnosis: what the job did, and which of its events are new or loud.

CREATE FUNCTION l4._level(level text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE level WHEN 'DEBUG' THEN 1 WHEN 'INFO' THEN 2 WHEN 'WARNING' THEN 3 WHEN 'ERROR' THEN 4
    WHEN 'CRITICAL' THEN 5 WHEN 'FATAL' THEN 5 ELSE 0 END;
COMMENT ON FUNCTION l4._level(text) IS 'level as number: 0 none, 1 DEBUG, 2 INFO, 3 WARNING, 4 ERROR, 5 CRITICAL';

CREATE FUNCTION l4._marker(kind text) RETURNS SETOF l4.marker_rule
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
BEGIN ATOMIC
    SELECT r.* FROM l4.marker_rule AS r
    WHERE r.kind = _marker.kind
        AND NOT EXISTS (SELECT FROM l4.disabled_rule AS d
            WHERE d.kind = 'marker_rule' AND d.name = r.name)
        AND (r.origin <> 'builtin' OR NOT EXISTS (SELECT FROM l4.marker_rule AS u WHERE u.name = r.name AND u.origin <> 'builtin'))
    ORDER BY r.rule_id DESC;
END;
COMMENT ON FUNCTION l4._marker(text) IS 'marker rules of a kind in force: not switched off, and of one name the user''s';

CREATE FUNCTION l4._marked(message text, kind text) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM l4._marker(_marked.kind) AS r WHERE l4.pcre_match(_marked.message, r.signature));
END;
COMMENT ON FUNCTION l4._marked(text, text) IS 'does a marker rule of the kind match';

-- Ranks by what nodes say of themselves: a line that four fifths of them print, all with as many different ranks, no rank on two nodes, and none
-- beyond what so many nodes can have ("global rank: 5"). Where lines disagree, most must agree on one; who speaks of its peer is not meant.
CREATE FUNCTION l4._ranks_said(job_id text) RETURNS TABLE (node text, ranks int4multirange)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH said AS (
        SELECT v.event_id, v.slot, v.node, v.value::int AS rank
        FROM l4._slot_values(_ranks_said.job_id, ARRAY(
            SELECT l4._survivor(e.event_id, e.merged_into) FROM l4._job_event AS j JOIN l4._event_slot AS z USING (event_id) JOIN l4._event AS e USING (event_id)
            WHERE j.job_id = _ranks_said.job_id AND z.kind = 'rank')) AS v
        JOIN l4._slot_kind AS k USING (event_id, slot)
        JOIN l4._event AS t USING (event_id)
        WHERE k.kind = 'rank' AND v.value ~ '^[0-9]{1,6}$' AND t.template !~* '\m(?:peer|src|dst|source|target|remote|next|prev|previous|left|right|neighbou?r|to|from|with|for|by)\M'
    ), told AS (
        SELECT s.event_id, s.slot, s.node, range_agg(int4range(s.rank, s.rank, '[]')) AS ranks, count(*) AS many, max(s.rank) AS highest
        FROM said AS s
        GROUP BY s.event_id, s.slot, s.node
    ), nodes AS (
        SELECT greatest(count(DISTINCT s.node), max(j.expected_nodes)) AS nodes
        FROM l4._stream AS s JOIN l4.job AS j USING (job_id) WHERE s.job_id = _ranks_said.job_id
    ), plan AS (
        SELECT t.event_id, t.slot, jsonb_object_agg(t.node, t.ranks::text) AS plan
        FROM told AS t CROSS JOIN nodes AS n
        GROUP BY t.event_id, t.slot, n.nodes
        HAVING count(*) >= greatest(2, 0.8 * n.nodes) AND min(t.many) = max(t.many) AND max(t.highest) < min(t.many) * n.nodes
            AND count(*) * min(t.many) = (SELECT count(DISTINCT s.rank) FROM said AS s WHERE s.event_id = t.event_id AND s.slot = t.slot)
    ), vote AS (
        SELECT p.plan, count(*) AS lines FROM plan AS p GROUP BY p.plan
    )
    SELECT r.node, r.ranks::int4multirange
    FROM (SELECT v.* FROM vote AS v WHERE v.lines > coalesce((SELECT max(o.lines) FROM vote AS o WHERE o.plan <> v.plan), 0)) AS w
    CROSS JOIN LATERAL jsonb_each_text(w.plan) AS r(node, ranks);
END;
COMMENT ON FUNCTION l4._ranks_said(text) IS 'ranks of the nodes by lines in which each tells its own';

-- Which ranks a node has: those that its lines carry, else the inventory's. Where no line carries one and the inventory has none,
-- a line that each node prints about itself may tell: "global rank: 5", with another number on each.
CREATE FUNCTION l4._ranks_of_nodes(job_id text) RETURNS TABLE (node text, ranks int4multirange)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH carried AS (
        SELECT s.node, range_agg(r.run) AS ranks
        FROM l4._stream AS s
        CROSS JOIN LATERAL (SELECT unnest(s.ranks) AS run UNION ALL SELECT int4range(s.rank, s.rank, '[]') WHERE s.rank IS NOT NULL) AS r
        WHERE s.job_id = _ranks_of_nodes.job_id
        GROUP BY s.node
    ), known AS (
        SELECT n.node, CASE WHEN c.ranks <> '{}' THEN c.ranks ELSE int4multirange(int4range(n.rank, n.rank, '[]')) END AS ranks
        FROM l4.job_node AS n LEFT JOIN carried AS c USING (node)
        WHERE n.job_id = _ranks_of_nodes.job_id AND (c.ranks <> '{}' OR n.rank IS NOT NULL)
    )
    SELECT k.node, k.ranks FROM known AS k
    UNION ALL
    SELECT s.node, s.ranks FROM l4._ranks_said(_ranks_of_nodes.job_id) AS s WHERE NOT EXISTS (SELECT FROM known);
END;
COMMENT ON FUNCTION l4._ranks_of_nodes(text) IS 'ranks of the nodes of a job, where they are known';

-- How many ranks a node has: the least number by which all ranks of a node fall into one block, different nodes into different ones, and the blocks
-- are no more than the nodes; or one of less than twice as much by which each node's lowest rank begins a block: not every node shows all its ranks.
CREATE FUNCTION l4._ranks_a_node(job_id text, nodes bigint) RETURNS int
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    per int;
    least int;
    known constant bigint := (SELECT count(*) FROM l4._case_node AS n WHERE n.job_id = _ranks_a_node.job_id AND n.ranks <> '{}');
    u record;
BEGIN
    FOR per IN SELECT generate_series(greatest(1, max(upper(n.ranks) - lower(n.ranks))), 64) FROM l4._case_node AS n WHERE n.job_id = _ranks_a_node.job_id
    LOOP
        EXIT WHEN per >= 2 * least;
        SELECT count(DISTINCT lower(n.ranks) / per) AS blocks, max(lower(n.ranks) / per) AS last, bool_and(lower(n.ranks) / per = (upper(n.ranks) - 1) / per) AS whole,
            bool_and(lower(n.ranks) % per = 0) AS starting
        INTO u
        FROM l4._case_node AS n WHERE n.job_id = _ranks_a_node.job_id AND n.ranks <> '{}';
        EXIT WHEN u.blocks < known / 2;
        CONTINUE WHEN NOT u.whole OR u.blocks < known OR u.last >= nodes;
        IF u.starting THEN
            RETURN per;
        END IF;
        least := coalesce(least, per);
    END LOOP;
    RETURN coalesce(least, 1);
END;
$$;
COMMENT ON FUNCTION l4._ranks_a_node(text, bigint) IS 'ranks a node of a job of at most so many nodes; 1 where that cannot be told';

CREATE FUNCTION l4._all_wrote(jobs text[]) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT NOT EXISTS (SELECT FROM l4.job AS j WHERE j.job_id = ANY (jobs)
        AND (SELECT count(DISTINCT s.node) FROM l4._stream AS s WHERE s.job_id = j.job_id AND s.lines + s.tail_lines > 0) < j.expected_nodes);
END;
COMMENT ON FUNCTION l4._all_wrote(text[]) IS 'did as many nodes write in each of these jobs as were expected';

-- Nodes that were expected and never wrote, where ranks do not tell which: names that count (worker-0, worker-2) show the gap, if the numbers of those that
-- wrote begin and end as many expected nodes, or begin with 0. Else it is only known that there are such nodes.
CREATE FUNCTION l4._case_missing(job_id text, expected int) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    INSERT INTO l4._case_node (job_id, node, place, lines)
    WITH seen AS (
        SELECT n.node, regexp_replace(n.node, '[0-9]+$', '') AS stem, substring(n.node FROM '[0-9]{1,9}$')::int AS digits, length(substring(n.node FROM '[0-9]{1,9}$')) AS width
        FROM l4._case_node AS n WHERE n.job_id = _case_missing.job_id
    ), span AS (
        SELECT count(*) AS known, min(s.digits) AS low, min(s.stem) AS stem, min(s.width) AS width,
            count(DISTINCT s.stem) = 1 AND count(DISTINCT s.digits) = count(*) AND (max(s.digits) - min(s.digits) + 1 = expected OR min(s.digits) = 0 AND max(s.digits) < expected) AS counts
        FROM seen AS s
    ), missing AS (
        SELECT CASE WHEN s.counts THEN s.stem || lpad(x.digits::text, greatest(s.width, length(x.digits::text)), '0') ELSE 'missing node ' || x.place END AS node, x.place
        FROM span AS s
        CROSS JOIN LATERAL (
            SELECT d.digits, row_number() OVER (ORDER BY d.digits) AS place
            FROM generate_series(coalesce(s.low, 0), coalesce(s.low, 0) + expected - 1) AS d(digits)
            WHERE NOT s.counts OR NOT EXISTS (SELECT FROM seen AS z WHERE z.digits = d.digits)) AS x
        WHERE x.place <= expected - s.known AND s.known >= greatest(2, expected / 2)
    )
    SELECT _case_missing.job_id, m.node, -2000000 - m.place, 0
    FROM missing AS m
    -- not where some nodes write nothing in good jobs either
    WHERE l4._all_wrote((SELECT c.baseline FROM l4._case AS c WHERE c.job_id = _case_missing.job_id))
    ON CONFLICT DO NOTHING;
END;
COMMENT ON FUNCTION l4._case_missing(text, int) IS 'working set: nodes that should have written and whose ranks are not known';

-- Nodes. One that was expected and never wrote is named by the inventory, else by its rank: names that count up with
-- the ranks (node05, node07) name the gap, else the node of this rank in a baseline job does.
CREATE FUNCTION l4._case_nodes(job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_nestloop = off SET jit = off
AS $$
DECLARE
    expected constant int := (SELECT j.expected_nodes FROM l4.job AS j WHERE j.job_id = _case_nodes.job_id);
    wrote bigint;
    per int;
    seats int;
BEGIN
    INSERT INTO l4._case_node (job_id, node, rank, ranks, place, lines, first_ts, last_ts, in_flight, unparsed)
    SELECT _case_nodes.job_id, n.node, coalesce(i.rank, lower(r.ranks)), coalesce(r.ranks, '{}'),
        row_number() OVER (ORDER BY coalesce(i.rank, lower(r.ranks)), n.node COLLATE "C"),
        n.lines, n.first_ts, n.last_ts, n.max_in_flight, n.unparsed
    FROM l4._node AS n
    LEFT JOIN l4.job_node AS i ON i.job_id = n.job_id AND i.node = n.node
    LEFT JOIN l4._ranks_of_nodes(_case_nodes.job_id) AS r ON r.node = n.node
    WHERE n.job_id = _case_nodes.job_id;
    GET DIAGNOSTICS wrote = ROW_COUNT;
    per := l4._ranks_a_node(_case_nodes.job_id, coalesce(expected, wrote + greatest(1, wrote / 4)));
    seats := greatest(expected, wrote, (SELECT max(upper(n.ranks) - 1) / per + 1 FROM l4._case_node AS n WHERE n.job_id = _case_nodes.job_id));

    -- one node that tells no rank, and one block of ranks that no node has
    UPDATE l4._case_node AS n SET rank = f.seat * per, ranks = int4multirange(int4range(f.seat * per, (f.seat + 1) * per)), place = f.seat * 2 + 1
    FROM (
        SELECT min(g.seat) AS seat
        FROM generate_series(0, least(seats, wrote + 1)::int - 1) AS g(seat)   -- of more seats several are empty
        WHERE NOT EXISTS (SELECT FROM l4._case_node AS o WHERE o.job_id = _case_nodes.job_id AND o.rank / per = g.seat)
        HAVING count(*) = 1) AS f
    WHERE n.job_id = _case_nodes.job_id AND n.rank IS NULL AND wrote >= 3
        AND (SELECT count(*) FROM l4._case_node AS o WHERE o.job_id = _case_nodes.job_id AND o.rank IS NULL) = 1;
    IF FOUND THEN
        UPDATE l4._case_node AS n SET place = o.place
        FROM (SELECT z.node, row_number() OVER (ORDER BY z.rank, z.node COLLATE "C") AS place FROM l4._case_node AS z WHERE z.job_id = _case_nodes.job_id) AS o
        WHERE n.job_id = _case_nodes.job_id AND n.node = o.node;
    END IF;

    INSERT INTO l4._case_node (job_id, node, rank, ranks, place, lines)
    SELECT i.job_id, i.node, i.rank, CASE WHEN i.rank IS NULL THEN '{}' ELSE int4multirange(int4range(i.rank, i.rank + per)) END, -row_number() OVER (ORDER BY i.rank, i.node COLLATE "C"), 0
    FROM l4.job_node AS i
    WHERE i.job_id = _case_nodes.job_id
        AND NOT EXISTS (SELECT FROM l4._case_node AS n WHERE n.job_id = i.job_id AND n.node = i.node);

    INSERT INTO l4._case_node (job_id, node, rank, ranks, place, lines)
    WITH seen AS MATERIALIZED (
        SELECT n.node, n.rank / per AS place, n.rank % per AS rest, regexp_replace(n.node, '[0-9]+$', '') AS stem,
            substring(n.node FROM '[0-9]{1,9}$')::int AS digits, length(substring(n.node FROM '[0-9]{1,9}$')) AS width
        FROM l4._case_node AS n
        WHERE n.job_id = _case_nodes.job_id
    ), expect AS (
        SELECT greatest(max(s.place) + 1, expected) AS nodes, count(*) AS known,
            count(*) = count(DISTINCT s.place) AND min(s.place) >= 0
                AND max(s.place) < coalesce(expected, count(*) + greatest(1, count(*) / 4)) AS one_each,
            count(DISTINCT s.stem) = 1 AND count(DISTINCT s.digits - s.place) = 1 AND count(s.digits) = count(*)
                AND min(s.digits - s.place) >= 0 AND (count(*) > 1 OR min(s.digits - s.place) <= 1) AS affine,
            min(s.stem) AS stem, min(s.digits - s.place) AS shift, min(s.width) AS width
        FROM seen AS s
    )
    SELECT _case_nodes.job_id,
        coalesce(CASE WHEN e.affine THEN e.stem || lpad((r.place + e.shift)::text, greatest(e.width, length((r.place + e.shift)::text)), '0') END,
            (SELECT min(b.node COLLATE "C") FROM l4.job_node AS b
             WHERE b.job_id = ANY ((SELECT c.baseline FROM l4._case AS c WHERE c.job_id = _case_nodes.job_id)::text[])
                AND b.rank = r.place * per AND NOT EXISTS (SELECT FROM seen AS s WHERE s.node = b.node)
                -- a job that ran on the same nodes, in the same order
                AND 2 * (SELECT count(*) FROM l4.job_node AS o JOIN seen AS s ON s.node = o.node AND s.place * per = o.rank WHERE o.job_id = b.job_id) > e.known),
            'rank ' || r.place * per),
        r.place * per, int4multirange(int4range(r.place * per, (r.place + 1) * per)), -1000000 - r.place * per, 0
    FROM expect AS e
    CROSS JOIN LATERAL generate_series(0, e.nodes - 1) AS r(place)
    WHERE e.one_each AND e.known < e.nodes AND r.place NOT IN (SELECT s.place FROM seen AS s WHERE s.place IS NOT NULL)
        -- where some nodes write nothing in good jobs either, that is the way of this trainer
        AND l4._all_wrote((SELECT c.baseline FROM l4._case AS c WHERE c.job_id = _case_nodes.job_id))
    ON CONFLICT DO NOTHING;
    -- the whole block of ranks is the node's, also those of it that write nothing
    UPDATE l4._case_node AS n SET seat = n.rank / per,
        ranks = CASE WHEN o.nodes = 1 AND n.ranks <> '{}' THEN n.ranks + int4multirange(int4range(o.seat * per, (o.seat + 1) * per)) ELSE n.ranks END
    FROM (SELECT z.rank / per AS seat, count(*) AS nodes FROM l4._case_node AS z WHERE z.job_id = _case_nodes.job_id AND z.rank IS NOT NULL GROUP BY 1) AS o
    WHERE n.job_id = _case_nodes.job_id AND n.rank / per = o.seat;
    PERFORM l4._case_missing(_case_nodes.job_id, expected);
END;
$$;
COMMENT ON FUNCTION l4._case_nodes(text) IS 'working set: nodes that wrote, and nodes that should have';

-- Iterations in order, with the median over nodes of their durations; the normal duration is the lesser of the median
-- of the first quarter (at least ten) and that of all, so that a job that turns slow is measured by its own past.
CREATE FUNCTION l4._case_iterations(job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    slow constant float8 := (SELECT (c.parameters ->> 'slow_ratio')::float8 FROM l4._case AS c WHERE c.job_id = _case_iterations.job_id);
    normal float8;
    attempt timestamptz;
    packed bytea[];
BEGIN
    SELECT a.began INTO attempt FROM l4._last_attempt(_case_iterations.job_id) AS a;
    UPDATE l4._case AS c SET attempt_ts = attempt WHERE c.job_id = _case_iterations.job_id AND attempt IS NOT NULL;
    SELECT l4._iteration_table(m.iterations, m.open_iterations, n.place, (extract(epoch FROM n.clock) * 1000000)::bigint, attempt ORDER BY n.place) INTO packed
    FROM l4._case_node AS n
    JOIN l4._stream AS s ON s.job_id = n.job_id AND s.node = n.node
    JOIN l4._summary AS m USING (stream_id)
    WHERE n.job_id = _case_iterations.job_id AND n.place > 0;
    UPDATE l4._case_node AS n
    SET train_ts = i.train_ts, progress_ts = i.progress_ts, iterations = i.iterations, last_iteration = i.last_iteration
    FROM l4._unpack(packed[2]) AS i(place int, train_ts timestamptz, progress_ts timestamptz, iterations int, last_iteration int)
    WHERE n.job_id = _case_iterations.job_id AND n.place = i.place;
    SELECT least(percentile_cont(0.5) WITHIN GROUP (ORDER BY i.duration_ms),
            percentile_cont(0.5) WITHIN GROUP (ORDER BY i.duration_ms) FILTER (WHERE i.place <= greatest(10, i.places / 4)))
    INTO normal
    FROM (SELECT z.duration_ms, row_number() OVER (ORDER BY z.epoch, z.iteration) AS place, count(*) OVER () AS places
        FROM l4._unpack(packed[1]) AS z(epoch int, iteration int, nodes int, done_ts timestamptz, duration_ms float8)) AS i
    WHERE i.duration_ms > 0;
    INSERT INTO l4._case_iteration (job_id, place, epoch, iteration, nodes, done_ts, duration_ms, ratio)
    SELECT _case_iterations.job_id, row_number() OVER (ORDER BY i.epoch, i.iteration), i.epoch, i.iteration, i.nodes, i.done_ts, i.duration_ms,
        CASE WHEN normal > 0 THEN i.duration_ms / normal END
    FROM l4._unpack(packed[1]) AS i(epoch int, iteration int, nodes int, done_ts timestamptz, duration_ms float8);
    IF NOT FOUND THEN
        RETURN;
    END IF;

    UPDATE l4._case AS c SET trained = true, median_ms = normal,
        (train_ts, progress_ts) = (SELECT min(n.train_ts), max(n.progress_ts) FROM l4._case_node AS n WHERE n.job_id = c.job_id),
        last_iteration = (SELECT i.iteration FROM l4._case_iteration AS i WHERE i.job_id = c.job_id ORDER BY i.place DESC LIMIT 1),
        -- the first iteration warms up, one stall does not make a slow job, and noise counts half; but what most iterations of the last fifth take, stays
        excess = (SELECT greatest(x.stalls, x.noise, CASE WHEN x.iterations >= 20 AND x.late >= 2 THEN (x.late - 1) / 2 END)
            FROM (
                SELECT count(*) AS iterations, sum(least(i.ratio - 1, 10)) FILTER (WHERE i.ratio > slow) / count(*) AS stalls,
                    avg(least(greatest(0, i.ratio - 1), 10)) / 2 AS noise,
                    percentile_cont(0.25) WITHIN GROUP (ORDER BY i.ratio) FILTER (WHERE i.back <= greatest(10, 0.2 * i.places)) AS late
                FROM (SELECT z.ratio, row_number() OVER (ORDER BY z.place DESC) AS back, count(*) OVER () AS places
                    FROM l4._case_iteration AS z WHERE z.job_id = c.job_id AND z.place > 1) AS i) AS x),
        step = coalesce((SELECT mode() WITHIN GROUP (ORDER BY d.step) FROM (
            SELECT i.iteration - lag(i.iteration) OVER (PARTITION BY i.epoch ORDER BY i.place) AS step
            FROM l4._case_iteration AS i WHERE i.job_id = c.job_id) AS d WHERE d.step > 0), 1),
        total = l4._total_iterations(c.job_id),
        -- iterations that took longer, as they say, than all lines span: few lines carry times, and the others got those
        timed = c.timed AND (SELECT coalesce(sum(i.duration_ms), 0) / 1000 <= 2 * extract(epoch FROM c.last_ts - c.first_ts)
            FROM l4._case_iteration AS i WHERE i.job_id = c.job_id)
    WHERE c.job_id = _case_iterations.job_id;

    -- The job turned slow where a slow iteration is followed by another one within four. Where most of what follows is less slow than that,
    -- it turned slow earlier: where most of five iterations are more than half as slow as the slow ones.
    UPDATE l4._case AS c SET onset_iteration = o.iteration, onset_ts = o.done_ts - o.duration_ms * interval '1 ms',
        onset_block = o.iteration / 10
    FROM (
        WITH ratio AS (
            SELECT i.*, count(*) FILTER (WHERE i.ratio > slow) OVER (ORDER BY i.place ROWS BETWEEN 1 FOLLOWING AND 4 FOLLOWING) AS soon,
                avg((i.ratio > slow)::int) OVER (ORDER BY i.place ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS share
            FROM l4._case_iteration AS i WHERE i.job_id = _case_iterations.job_id AND i.place > 1
        ), sudden AS (
            SELECT r.* FROM ratio AS r WHERE r.ratio > slow AND r.soon > 0 ORDER BY r.place LIMIT 1
        ), level AS (
            SELECT least(slow, greatest(1.5, (1 + percentile_cont(0.5) WITHIN GROUP (ORDER BY r.ratio)) / 2)) AS ratio FROM ratio AS r WHERE r.ratio > 1.5
        ), gradual AS (
            SELECT r.* FROM (
                SELECT z.*, sum((z.ratio > l.ratio)::int) OVER (ORDER BY z.place ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING) AS slower,
                    lead(z.ratio) OVER (ORDER BY z.place) AS next_ratio, l.ratio AS level
                FROM ratio AS z CROSS JOIN level AS l) AS r
            -- not one that is slow by itself, such as with a checkpoint
            WHERE r.ratio > r.level AND r.next_ratio > r.level AND r.slower >= 4 ORDER BY r.place LIMIT 1
        )
        SELECT DISTINCT ON (1) 1, x.iteration, x.done_ts, x.duration_ms
        FROM (SELECT s.iteration, s.done_ts, s.duration_ms, 1 AS choice FROM sudden AS s WHERE s.share >= 0.5
            UNION ALL SELECT g.iteration, g.done_ts, g.duration_ms, 2 FROM gradual AS g
            UNION ALL SELECT s.iteration, s.done_ts, s.duration_ms, 3 FROM sudden AS s) AS x
        ORDER BY 1, x.choice) AS o
    WHERE c.job_id = _case_iterations.job_id;
END;
$$;
COMMENT ON FUNCTION l4._case_iterations(text) IS 'working set: iterations, their durations, where the job turned slow';

-- How many iterations a job was to do, as its first line about an iteration says it ("iteration 3/ 500").
CREATE FUNCTION l4._total_iterations(job_id text) RETURNS int
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH said AS MATERIALIZED (
        -- one node tells: the values of a thousand are not read
        SELECT c.event_id, min(c.node COLLATE "C") AS node
        FROM l4._event_counts(_total_iterations.job_id, ARRAY(SELECT t.event_id FROM l4._event AS t
            JOIN l4._job_event AS j ON j.event_id = t.event_id AND j.job_id = _total_iterations.job_id
            JOIN l4.iteration_rule AS r ON r.rule_id = t.iteration_rule AND r.kind = 'done' AND r.signature::text ~ '<total>')) AS c
        GROUP BY c.event_id
    )
    -- least() would make a number of none
    SELECT CASE WHEN max(t.total) > 2147483647 THEN 2147483647 ELSE max(t.total)::int END
    FROM (
        SELECT (l4.pcre_captures(l4._fill(e.template, v.slot_values), r.signature) ->> 'total')::numeric AS total
        FROM said AS s
        JOIN l4._values(_total_iterations.job_id, ARRAY(SELECT z.event_id FROM said AS z), ARRAY(SELECT DISTINCT z.node FROM said AS z)) AS v
            ON v.event_id = s.event_id AND v.node = s.node
        JOIN l4._event AS e ON e.event_id = v.event_id
        JOIN l4.iteration_rule AS r ON r.rule_id = e.iteration_rule AND r.kind = 'done' AND r.signature::text ~ '<total>') AS t;
END;
COMMENT ON FUNCTION l4._total_iterations(text) IS 'iterations that a job was to do, NULL where no line says so';

-- A counter that starts over, as one epoch follows another, is a new attempt if the node went through its start-up in between. One stream of
-- the node with the lowest rank tells, since ranks that write to one log do not report in step.
CREATE FUNCTION l4._last_attempt(job_id text) RETURNS TABLE (began timestamptz)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH one AS (
        SELECT s.node, s.source, n.clock FROM l4._stream AS s JOIN l4._case_node AS n ON n.job_id = s.job_id AND n.node = s.node
        WHERE s.job_id = _last_attempt.job_id AND s.last_iteration IS NOT NULL
        ORDER BY n.place, s.node COLLATE "C", s.source LIMIT 1
    ), epoch AS (
        SELECT o.node, o.clock, min(i.ended) AS began, lag(max(i.ended)) OVER (ORDER BY i.epoch) AS before
        FROM l4._iteration AS i JOIN one AS o ON o.node = i.node AND o.source = i.source
        WHERE i.job_id = _last_attempt.job_id AND i.ended IS NOT NULL
        GROUP BY o.node, o.clock, i.epoch
    )
    SELECT max(e.began - e.clock) FROM epoch AS e
    WHERE EXISTS (SELECT FROM l4.stage_span AS s WHERE s.job_id = _last_attempt.job_id AND s.node = e.node
        AND s.stage IN ('init', 'model') AND s.first_ts > e.before AND s.first_ts < e.began);
END;
COMMENT ON FUNCTION l4._last_attempt(text) IS 'when the last attempt of a job that began anew had its first iteration done, NULL for a job with one attempt';

-- A known line with a word of trouble that no good job has in its place: "finished (FAILED)" where all others finished (SUCCEEDED).
CREATE FUNCTION l4._new_words(job_id text, good_jobs text[]) RETURNS TABLE (event_id int, words text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    candidates int[];
    bad jsonb;
BEGIN
    candidates := ARRAY(
        SELECT DISTINCT e.event_id FROM l4._job_event AS j JOIN l4._event_slot AS e USING (event_id)
        WHERE j.job_id = _new_words.job_id AND e.mask IN ('word', 'name', 'constant'));
    candidates := candidates || ARRAY(SELECT e.merged_into FROM l4._event AS e WHERE e.event_id = ANY (candidates) AND e.merged_into IS NOT NULL);
    WITH said AS MATERIALIZED (
        SELECT DISTINCT v.event_id, v.slot, v.value FROM l4._slot_values(_new_words.job_id, candidates) AS v
        WHERE v.mask IN ('word', 'name', 'constant')
    )
    SELECT jsonb_agg(s), array_agg(DISTINCT s.event_id) INTO bad, candidates
    FROM said AS s WHERE l4._marked(s.value, 'trouble');
    IF bad IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH good AS MATERIALIZED (
        SELECT DISTINCT v.event_id, v.slot, v.value FROM unnest(good_jobs) AS g(job_id) CROSS JOIN LATERAL l4._slot_values(g.job_id, candidates) AS v
    )
    SELECT b.event_id, string_agg(b.value, ', ' ORDER BY b.value COLLATE "C")
    FROM jsonb_to_recordset(bad) AS b(event_id int, slot int, value text)
    WHERE NOT EXISTS (SELECT FROM good AS g WHERE g.event_id = b.event_id AND g.slot = b.slot AND g.value = b.value)
    GROUP BY b.event_id;
END;
$$;
COMMENT ON FUNCTION l4._new_words(text, text[]) IS 'known events that say a word of trouble here which they never say in good jobs';

-- "exited on signal 9 (Killed)", in the line itself, or in the next one of the report.
CREATE FUNCTION l4._tells_killed(job_id text, event_id int) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT COALESCE(bool_or(l4._marked(j.example, 'killed')), false)
    FROM l4._case_event AS e
    JOIN l4._case_event AS o ON o.job_id = e.job_id AND (o.event_id = e.event_id
        OR e.nodes = 1 AND o.nodes = 1 AND o.is_new AND abs(extract(epoch FROM o.first_ts - e.first_ts)) < 1
            AND EXISTS (SELECT FROM l4._case_count AS a JOIN l4._case_count AS b USING (job_id, node)
                WHERE a.job_id = e.job_id AND a.event_id = e.event_id AND b.event_id = o.event_id AND abs(a.first_line_no - b.first_line_no) <= 4))
    JOIN l4._job_events(ARRAY[_tells_killed.job_id]) AS j ON j.event_id = o.event_id
    WHERE e.job_id = _tells_killed.job_id AND e.event_id = _tells_killed.event_id;
END;
COMMENT ON FUNCTION l4._tells_killed(text, int) IS 'does the event, or one beside it, report that a process was killed';

-- "mpirun noticed that process rank 5 on node gpu07 exited on signal 9 (Killed)", written elsewhere.
CREATE FUNCTION l4._names_killed(job_id text, event_id int) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT l4._tells_killed(_names_killed.job_id, j.event_id) AND 1 = (
        SELECT count(DISTINCT n.node) FROM regexp_split_to_table(j.example, '[^A-Za-z0-9_.-]+') AS w(word)
        JOIN l4._case_node AS n ON n.job_id = _names_killed.job_id AND split_part(n.node, '.', 1) = split_part(w.word, '.', 1)
        WHERE w.word <> '' AND NOT EXISTS (SELECT FROM l4._case_count AS c WHERE c.job_id = n.job_id AND c.event_id = _names_killed.event_id AND c.node = n.node))
    FROM l4._job_events(ARRAY[_names_killed.job_id]) AS j WHERE j.event_id = _names_killed.event_id;
END;
COMMENT ON FUNCTION l4._names_killed(text, int) IS 'does the event report that a process was killed on one other node, by name';

-- Events that no good job shows, or that are loud. Rules are matched against one example an event.
CREATE FUNCTION l4._case_events(job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    k l4._case;
BEGIN
    SELECT * INTO STRICT k FROM l4._case AS c WHERE c.job_id = _case_events.job_id;
    INSERT INTO l4._case_event (job_id, event_id, level, is_new, baseline_jobs, occurrences, nodes, first_ts, last_ts,
        terminal, exit, stack, accuses, waits)
    WITH known AS (
        SELECT coalesce(e.merged_into, e.event_id) AS event_id,
            count(DISTINCT j.job_id) FILTER (WHERE j.job_id = ANY (k.baseline)) AS jobs
        FROM l4._job_event AS j JOIN l4._event AS e USING (event_id)
        WHERE j.job_id = ANY (k.baseline || k.elsewhere)
        GROUP BY 1
    )
    SELECT k.job_id, e.event_id, l4._level(e.level), n.is_new, CASE WHEN w.words IS NULL THEN coalesce(b.jobs, 0) ELSE 0 END,
        j.occurrences, j.nodes, j.first_ts, j.last_ts,
        -- whatever the exception is called
        n.is_new AND (l4._marked(e.example, 'terminal') OR x.bad OR strpos(e.example_record, 'Traceback (most recent call last)') > 0), l4._marked(e.example, 'exit'),
        e.is_stack OR n.is_new AND (l4._level(e.level) = 0 OR l4._marked(e.example, 'terminal')) AND l4._marked(e.example, 'stack'),
        n.is_new AND NOT l4._marked(e.example, 'not_named'),
        CASE WHEN l4._marked(e.example, 'send') THEN 'send' WHEN l4._marked(e.example, 'receive') THEN 'receive' END
    FROM l4._job_events(ARRAY[k.job_id]) AS j
    JOIN l4._event AS e USING (event_id)
    LEFT JOIN known AS b USING (event_id)
    LEFT JOIN l4._new_words(k.job_id, (k.baseline || k.elsewhere)[1:8]) AS w USING (event_id)
    -- "exit code 1" where good jobs have "exit code 0"
    CROSS JOIN LATERAL (SELECT CASE WHEN e.example ~* 'exit' AND j.example <> e.example
            THEN l4._marked(j.example, 'terminal') AND NOT l4._marked(e.example, 'terminal') ELSE false END AS bad) AS x
    CROSS JOIN LATERAL (SELECT b.event_id IS NULL OR w.words IS NOT NULL OR x.bad AS is_new) AS n
    WHERE n.is_new OR l4._level(e.level) >= 3;

    INSERT INTO l4._case_count (job_id, event_id, node, occurrences, first_ts, last_ts, first_line_no)
    SELECT k.job_id, c.event_id, c.node, c.occurrences, c.first_ts - n.clock, c.last_ts - n.clock, c.first_line_no
    FROM l4._event_counts(k.job_id, ARRAY(SELECT e.event_id FROM l4._case_event AS e WHERE e.job_id = k.job_id)) AS c
    JOIN l4._case_node AS n ON n.job_id = k.job_id AND n.node = c.node;
    -- the head of a traceback whose end went elsewhere says nothing beside other crash reports
    UPDATE l4._case_event AS e SET stack = false
    WHERE e.job_id = k.job_id AND e.stack AND e.terminal AND EXISTS (
        SELECT FROM l4._case_count AS c WHERE c.job_id = k.job_id AND c.event_id = e.event_id AND NOT EXISTS (
            SELECT FROM l4._case_event AS o JOIN l4._case_count AS x USING (job_id, event_id)
            WHERE o.job_id = k.job_id AND x.node = c.node AND o.terminal AND NOT o.stack AND NOT o.exit));
    -- A report of an exit accuses nobody: each process tells itself why it ended. But who was killed cannot.
    UPDATE l4._case_event AS e SET terminal = terminal AND NOT stack, accuses = accuses AND NOT stack AND (NOT exit
        OR l4._names_killed(k.job_id, e.event_id))
    WHERE e.job_id = k.job_id AND (e.accuses OR e.terminal);
    IF k.attempt_ts IS NOT NULL THEN
        -- what was over when the last attempt got going belongs to earlier ones; of what came again only the last time is known to be of this one
        DELETE FROM l4._case_count AS c WHERE c.job_id = k.job_id AND c.last_ts < k.attempt_ts;
        UPDATE l4._case_count AS c SET first_ts = c.last_ts WHERE c.job_id = k.job_id AND c.first_ts < k.attempt_ts;
        UPDATE l4._case_event AS e SET dropped = 'an earlier attempt'
        WHERE e.job_id = k.job_id AND NOT EXISTS (SELECT FROM l4._case_count AS c WHERE c.job_id = k.job_id AND c.event_id = e.event_id);
    END IF;
    IF k.attempt_ts IS NOT NULL OR EXISTS (SELECT FROM l4._case_node AS n WHERE n.job_id = k.job_id AND n.clock <> interval '0') THEN
        UPDATE l4._case_event AS e SET nodes = c.nodes, first_ts = c.first_ts, last_ts = c.last_ts
        FROM (SELECT x.event_id, count(*) AS nodes, min(x.first_ts) AS first_ts, max(x.last_ts) AS last_ts FROM l4._case_count AS x
            WHERE x.job_id = k.job_id GROUP BY x.event_id) AS c
        WHERE e.job_id = k.job_id AND e.event_id = c.event_id;
    END IF;
    PERFORM l4._case_families(k.job_id);
END;
$$;
COMMENT ON FUNCTION l4._case_events(text) IS 'working set: events that are new or loud, what rules say about them, and where they are';

-- Events whose texts are equal but for one word of at least five, exception class aside, are near-duplicates: "... for send" and "... for recv".
-- But "nan" where the other has a number is something else. Of each event the oldest near-duplicate is found by hashing the text with one word
-- left out, so the time grows with the words and not with the pairs.
CREATE FUNCTION l4._near_duplicates(event_ids int[]) RETURNS TABLE (event_id int, oldest int)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 1000
BEGIN ATOMIC
    WITH word AS (
        SELECT t.event_id, cardinality(t.words) AS words, w.place, hashtextextended(w.word, w.place) AS hash,
            w.word LIKE '%<*>%' AS mark, w.word ~* '\m(?:nan|inf)\M' AS nan
        FROM (
            SELECT e.event_id, string_to_array(coalesce(nullif(regexp_replace(e.template, '^(?:[[:alnum:]_.]+: )+', ''), ''), '?'), ' ') AS words
            FROM l4._event AS e WHERE e.event_id = ANY (_near_duplicates.event_ids)) AS t
        CROSS JOIN LATERAL unnest(t.words) WITH ORDINALITY AS w(word, place)
    ), rest AS (
        SELECT w.*, sum(w.hash) OVER (PARTITION BY w.event_id) - w.hash AS rest FROM word AS w
    ), candidate AS (
        SELECT r.event_id, min(r.event_id) OVER same AS oldest FROM rest AS r WHERE r.place = 1
        WINDOW same AS (PARTITION BY r.words, r.rest + r.hash)
        UNION ALL
        SELECT r.event_id, CASE
            WHEN r.mark AND r.nan THEN min(r.event_id) FILTER (WHERE NOT r.mark AND NOT r.nan) OVER same
            WHEN r.mark THEN min(r.event_id) FILTER (WHERE NOT r.nan) OVER same
            WHEN r.nan THEN min(r.event_id) FILTER (WHERE NOT r.mark) OVER same
            ELSE min(r.event_id) OVER same END
        FROM rest AS r WHERE r.words >= 5
        WINDOW same AS (PARTITION BY r.words, r.place, r.rest)
    )
    SELECT c.event_id, min(c.oldest) FROM candidate AS c GROUP BY c.event_id;
END;
COMMENT ON FUNCTION l4._near_duplicates(int[]) IS 'of each event the oldest one whose text is equal but for a word';

CREATE FUNCTION l4._case_families(job_id text) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    UPDATE l4._case_event AS e SET family = d.oldest
    FROM l4._near_duplicates(ARRAY(SELECT z.event_id FROM l4._case_event AS z
        WHERE z.job_id = _case_families.job_id AND z.is_new AND NOT z.stack)) AS d
    WHERE e.job_id = _case_families.job_id AND e.event_id = d.event_id;
END;
COMMENT ON FUNCTION l4._case_families(text) IS 'working set: near-duplicate groups of new events';
