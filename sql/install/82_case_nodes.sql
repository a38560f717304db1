-- The first step of a case: its nodes, those that wrote and those that should have, and their ranks.

-- Ranks by what nodes report of themselves ("global rank: 5"): a line that nearly all of them print, all with as many
-- different ranks, no rank on two nodes, and none beyond what so many nodes can have. Where lines disagree, most must
-- agree on one; a line about a peer does not count.
--: ranks of the nodes by lines in which each reports its own
CREATE FUNCTION l4._ranks_reported(k l4._case) RETURNS TABLE (node text, ranks int4multirange)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH line AS (
        SELECT v.event_id, v.slot, v.node, v.value::int AS rank
        FROM l4._slot_values(k.job_id, ARRAY(
            SELECT l4._survivor(e.event_id, e.merged_into)
            FROM l4._job_event AS j JOIN l4._event_slot AS z USING (event_id) JOIN l4._event AS e USING (event_id)
            WHERE j.job_id = k.job_id AND z.kind = 'rank')) AS v
        JOIN l4._slot_kind AS s USING (event_id, slot)
        JOIN l4._event AS t USING (event_id)
        WHERE s.kind = 'rank' AND v.value ~ '^[0-9]{1,6}$'
            AND v.node IN (SELECT z.node FROM l4._streams(k, k.job_id) AS z)
            AND t.template !~* ('\m(?:peer|src|dst|source|target|remote|next|prev|previous|left|right|neighbou?r'
                || '|to|from|with|for|by)\M')
    ), reported AS (
        SELECT s.event_id, s.slot, s.node, range_agg(int4range(s.rank, s.rank, '[]')) AS ranks, count(*) AS many,
            max(s.rank) AS highest
        FROM line AS s
        GROUP BY s.event_id, s.slot, s.node
    ), nodes AS (
        SELECT greatest(count(DISTINCT s.node), max(j.expected_nodes)) AS nodes
        FROM l4._streams(k, k.job_id) AS s JOIN l4.job AS j USING (job_id)
    ), plan AS (
        SELECT t.event_id, t.slot, jsonb_object_agg(t.node, t.ranks::text) AS plan
        FROM reported AS t CROSS JOIN nodes AS n
        GROUP BY t.event_id, t.slot, n.nodes
        HAVING count(*) >= greatest((k.t).min_pair, (k.t).nearly_all * n.nodes) AND min(t.many) = max(t.many)
            AND max(t.highest) < min(t.many) * n.nodes
            AND count(*) * min(t.many) = (SELECT count(DISTINCT s.rank) FROM line AS s
                WHERE s.event_id = t.event_id AND s.slot = t.slot)
    ), vote AS (
        SELECT p.plan, count(*) AS lines FROM plan AS p GROUP BY p.plan
    )
    SELECT r.node, r.ranks::int4multirange
    FROM (SELECT v.* FROM vote AS v
        WHERE v.lines > coalesce((SELECT max(o.lines) FROM vote AS o WHERE o.plan <> v.plan), 0)) AS w
    CROSS JOIN LATERAL jsonb_each_text(w.plan) AS r(node, ranks);
END;
$$;

-- The ranks of a node are those that its lines carry, else the inventory's. Where no line carries one and the inventory
-- has none, they are what nodes report of themselves.
--: ranks of the nodes of a job, where they are known
CREATE FUNCTION l4._ranks_of_nodes(k l4._case) RETURNS TABLE (node text, ranks int4multirange)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    WITH carried AS (
        SELECT s.node, range_agg(r.run) AS ranks
        FROM l4._streams(k, k.job_id) AS s
        CROSS JOIN LATERAL (SELECT unnest(s.ranks) AS run
            UNION ALL SELECT int4range(s.rank, s.rank, '[]') WHERE s.rank IS NOT NULL) AS r
        GROUP BY s.node
    ), known AS (
        SELECT n.node, CASE WHEN c.ranks <> '{}' THEN c.ranks
            ELSE int4multirange(int4range(n.rank, n.rank, '[]')) END AS ranks
        FROM l4.job_node AS n LEFT JOIN carried AS c USING (node)
        WHERE n.job_id = k.job_id AND (c.ranks <> '{}' OR n.rank IS NOT NULL)
    )
    SELECT z.node, z.ranks FROM known AS z
    UNION ALL
    SELECT s.node, s.ranks FROM l4._ranks_reported(k) AS s WHERE NOT EXISTS (SELECT FROM known);
END;

-- How many ranks a node has: the least number by which all ranks of a node fall into one block, different nodes into
-- different ones, and the blocks are no more than the nodes. Or one of less than twice as much by which each node's
-- lowest rank begins a block: not every node shows all its ranks.
--: ranks a node of a job of at most so many nodes; 1 where that cannot be told
CREATE FUNCTION l4._ranks_a_node(t l4._thresholds, places l4._case_place[], nodes bigint) RETURNS int
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    per int;
    least int;
    known bigint;
    widest int;
    u record;
BEGIN
    SELECT count(*) FILTER (WHERE n.ranks <> '{}'), greatest(1, max(upper(n.ranks) - lower(n.ranks))) INTO known, widest
    FROM unnest(places) AS n;
    FOR per IN widest .. t.max_ranks
    LOOP
        EXIT WHEN per >= t.block_ratio * least;
        SELECT count(DISTINCT lower(n.ranks) / per) AS blocks, max(lower(n.ranks) / per) AS last,
            bool_and(lower(n.ranks) / per = (upper(n.ranks) - 1) / per) AS whole,
            bool_and(lower(n.ranks) % per = 0) AS starting
        INTO u
        FROM unnest(places) AS n WHERE n.ranks <> '{}';
        EXIT WHEN u.blocks < floor(t.half * known);
        CONTINUE WHEN NOT u.whole OR u.blocks < known OR u.last >= nodes;
        IF u.starting THEN
            RETURN per;
        END IF;
        least := coalesce(least, per);
    END LOOP;
    RETURN coalesce(least, 1);
END;
$$;

--: did as many nodes write in each of these jobs as were expected
CREATE FUNCTION l4._all_wrote(jobs text[]) RETURNS bool
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT NOT EXISTS (SELECT FROM l4.job AS j WHERE j.job_id = ANY (jobs)
        AND (SELECT count(DISTINCT s.node) FROM l4._stream AS s
            WHERE s.job_id = j.job_id AND s.lines + s.tail_lines > 0) < j.expected_nodes);
END;

-- A name that ends in a number ("node07"): what is before it, the number, and how wide it is written.
--: parts of a name that ends in a number
CREATE FUNCTION l4._counted_name(name text, OUT stem text, OUT digits int, OUT width int)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ROW(regexp_replace(name, '[0-9]+$', ''), substring(name FROM '[0-9]{1,9}$')::int,
    length(substring(name FROM '[0-9]{1,9}$')));

--: a name made of such parts
CREATE FUNCTION l4._count_name(stem text, digits int, width int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN stem || lpad(digits::text, greatest(width, length(digits::text)), '0');

-- Hosts that lines name and that never wrote, with names of the form that those of all nodes have, numbers apart.
--: hosts that lines of a job name and that are called as its nodes are, but wrote nothing, if they are so many
CREATE FUNCTION l4._told_hosts(k l4._case, places l4._case_place[], wanted int) RETURNS text[]
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH node AS MATERIALIZED (
        SELECT s.name, regexp_replace(s.name, '[0-9]+', '0', 'g') AS form, n.node LIKE '%.%' AS whole
        FROM unnest(places) AS n CROSS JOIN LATERAL split_part(n.node, '.', 1) AS s(name) WHERE n.lines > 0
    ), host AS (
        SELECT DISTINCT CASE WHEN f.whole THEN h.host ELSE h.name END AS node
        FROM (SELECT min(n.form) AS form, bool_and(n.whole) AS whole FROM node AS n
            HAVING min(n.form) = max(n.form) AND min(n.form) ~ '[[:alpha:]].*0') AS f
        CROSS JOIN LATERAL (SELECT l4._host_of(v.value) AS host, split_part(l4._host_of(v.value), '.', 1) AS name
            FROM l4._slot_values(k.job_id, ARRAY(SELECT l4._survivor(e.event_id, e.merged_into)
                FROM l4._job_event AS j JOIN l4._event_slot AS z USING (event_id) JOIN l4._event AS e USING (event_id)
                WHERE j.job_id = k.job_id AND z.kind = 'host')) AS v
            JOIN l4._slot_kind AS s USING (event_id, slot)
            WHERE s.kind = 'host') AS h
        WHERE regexp_replace(h.name, '[0-9]+', '0', 'g') = f.form AND h.name NOT IN (SELECT n.name FROM node AS n)
    )
    SELECT array_agg(h.node ORDER BY h.node COLLATE "C") FROM host AS h HAVING count(*) = wanted;
END;

--: nodes that have no rank in good jobs, in which others have: launchers and masters
CREATE FUNCTION l4._outside(k l4._case) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE COST 1000 ROWS 1
BEGIN ATOMIC
    SELECT i.node
    FROM (SELECT z.node, z.rank, count(z.rank) OVER (PARTITION BY z.job_id) AS ranks
        FROM l4.job_node AS z WHERE z.job_id = ANY (k.baseline)) AS i
    GROUP BY i.node
    HAVING count(i.rank) = 0 AND min(i.ranks) >= (k.t).min_nodes AND count(*) >= (k.t).min_pair;
END;

-- Nodes that were expected and never wrote, by their ranks: names that count up with the ranks (node05, node07) name
-- the gap, else the node of this rank in a baseline job that ran on the same nodes does, else what lines name.
--: nodes that never wrote, by their ranks
CREATE FUNCTION l4._missing_ranks(k l4._case, places l4._case_place[], per int, expected int)
    RETURNS SETOF l4._case_place
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH seen AS MATERIALIZED (
        SELECT n.node, n.rank / per AS place, n.rank % per AS rest, c.stem, c.digits, c.width
        FROM unnest(places) AS n CROSS JOIN LATERAL l4._counted_name(n.node) AS c
    ), expect AS (
        SELECT greatest(max(s.place) + 1, expected) AS nodes, count(*) AS known,
            count(*) = count(DISTINCT s.place) AND min(s.place) >= 0
                AND max(s.place) < coalesce(expected, count(*) + greatest(1, floor((k.t).gap_share * count(*))))
                    AS one_each,
            count(DISTINCT s.stem) = 1 AND count(DISTINCT s.digits - s.place) = 1 AND count(s.digits) = count(*)
                AND min(s.digits - s.place) >= 0 AND (count(*) > 1 OR min(s.digits - s.place) <= 1) AS affine,
            min(s.stem) AS stem, min(s.digits - s.place) AS shift, min(s.width) AS width
        FROM seen AS s
    ), alike AS (
        -- jobs that ran on the same nodes, in the same order
        SELECT o.job_id
        FROM l4.job_node AS o JOIN seen AS s ON s.node = o.node AND s.place * per = o.rank CROSS JOIN expect AS e
        WHERE o.job_id = ANY (k.baseline)
        GROUP BY o.job_id, e.known
        HAVING count(*) > (k.t).half * e.known
    ), there AS MATERIALIZED (
        SELECT b.rank, min(b.node COLLATE "C") AS node
        FROM l4.job_node AS b JOIN alike USING (job_id)
        WHERE b.node NOT IN (SELECT s.node FROM seen AS s)
        GROUP BY b.rank
    ), told AS MATERIALIZED (
        SELECT l4._told_hosts(k, places, (e.nodes - e.known)::int) AS hosts FROM expect AS e
    )
    SELECT k.job_id,
        coalesce(CASE WHEN e.affine THEN l4._count_name(e.stem, r.place + e.shift, e.width) END, b.node,
            ((SELECT t.hosts FROM told AS t))[row_number() OVER (ORDER BY r.place)], 'rank ' || r.place * per),
        r.place * per, int4multirange(int4range(r.place * per, (r.place + 1) * per)), NULL::int,
        -1000000 - r.place * per, 0::bigint, NULL::timestamptz, NULL::timestamptz, NULL::int, 0::bigint
    FROM expect AS e
    CROSS JOIN LATERAL generate_series(0, e.nodes - 1) AS r(place)
    LEFT JOIN there AS b ON b.rank = r.place * per
    WHERE e.one_each AND e.known < e.nodes AND r.place NOT IN (SELECT s.place FROM seen AS s WHERE s.place IS NOT NULL)
        -- where some nodes write nothing in good jobs either, that is the way of this trainer
        AND l4._all_wrote(k.baseline);
END;

-- Of good jobs with that many nodes; NULL: of all. A smaller one ran on nodes of the larger ones: where a scheduler
-- chose others each time, nothing is known.
--: nodes that all good jobs ran on, beside those that wrote, where these are nodes of good jobs too
CREATE FUNCTION l4._lacking(k l4._case, wrote text[], expected int) RETURNS text[]
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH good AS MATERIALIZED (
        SELECT array_agg(n.node) AS nodes
        FROM l4._good_nodes(k) AS n WHERE n.lines > 0 GROUP BY n.job_id
        HAVING count(*) = _lacking.expected OR _lacking.expected IS NULL
    )
    SELECT array_agg(n.node ORDER BY n.node COLLATE "C")
        FILTER (WHERE n.jobs = (SELECT count(*) FROM good) AND n.node <> ALL (_lacking.wrote))
    FROM (SELECT u.node, count(*) AS jobs FROM good AS g CROSS JOIN LATERAL unnest(g.nodes) AS u(node)
        GROUP BY u.node) AS n
    HAVING (SELECT count(*) FROM good) >= (k.t).min_pair AND array_agg(n.node) @> _lacking.wrote
        AND NOT EXISTS (SELECT FROM good AS a JOIN good AS b ON NOT (a.nodes @> b.nodes OR a.nodes <@ b.nodes))
        AND cardinality(_lacking.wrote) < (SELECT max(cardinality(g.nodes)) FROM good AS g);
END;

-- Those whose ranks are not known: names that count (worker-0, worker-2) show the gap, if the numbers of those that
-- wrote begin and end as many expected nodes, or begin with 0. A leader beside them has a name of its own. Else it is
-- only known that there are such nodes.
--: nodes that never wrote and whose ranks are not known
CREATE FUNCTION l4._missing_names(k l4._case, places l4._case_place[], expected int) RETURNS SETOF l4._case_place
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH seen AS (
        SELECT n.node, c.stem, c.digits, c.width, count(*) OVER (PARTITION BY c.stem) AS alike,
            count(*) OVER () AS known
        FROM unnest(places) AS n CROSS JOIN LATERAL l4._counted_name(n.node) AS c
    ), span AS (
        SELECT max(s.known) AS known, min(s.digits) AS low, min(s.stem) AS stem,
            min(s.width) AS width,
            count(DISTINCT s.stem) = 1 AND count(DISTINCT s.digits) = count(*) AND (count(*) = max(s.known)
                OR max(s.known) - count(*) = 1 AND min(s.digits) = 0)
                AND (max(s.digits) - min(s.digits) + 1 = expected - max(s.known) + count(*)
                    OR min(s.digits) = 0 AND max(s.digits) < expected - max(s.known) + count(*)) AS counts
        FROM seen AS s WHERE s.alike = (SELECT max(z.alike) FROM seen AS z)
    ), told AS MATERIALIZED (
        SELECT l4._told_hosts(k, places, (expected - s.known)::int) AS hosts FROM span AS s
    )
    SELECT k.job_id,
        CASE WHEN l.nodes IS NOT NULL THEN l.nodes[x.place]
            WHEN s.counts THEN l4._count_name(s.stem, x.digits, s.width)
            ELSE coalesce(((SELECT t.hosts FROM told AS t))[x.place], 'missing node ' || x.place) END,
        NULL::int, '{}'::int4multirange, NULL::int, (-2000000 - x.place)::int, 0::bigint, NULL::timestamptz,
        NULL::timestamptz, NULL::int, 0::bigint
    FROM span AS s
    LEFT JOIN LATERAL (
        SELECT g.nodes
        FROM (VALUES (expected), (NULL)) AS e(nodes)
        CROSS JOIN LATERAL l4._lacking(k, ARRAY(SELECT z.node FROM unnest(places) AS z), e.nodes) AS g(nodes)
        WHERE cardinality(g.nodes) = expected - s.known
        ORDER BY e.nodes LIMIT 1) AS l ON true
    CROSS JOIN LATERAL (
        SELECT d.digits, row_number() OVER (ORDER BY d.digits) AS place
        FROM generate_series(coalesce(s.low, 0), coalesce(s.low, 0) + expected - 1) AS d(digits)
        WHERE NOT s.counts OR NOT EXISTS (SELECT FROM seen AS z WHERE z.stem = s.stem AND z.digits = d.digits)) AS x
    WHERE x.place <= expected - s.known AND s.known >= greatest((k.t).min_pair, floor((k.t).half * expected))
        -- not where some nodes write nothing in good jobs either
        AND l4._all_wrote(k.baseline);
END;

-- "3/4 clients joined", said by those that waited: as many ranks a node as those that joined have.
--: nodes that a job waited for, as a line counts who joined
CREATE FUNCTION l4._said_nodes(k l4._case, wrote int) RETURNS int
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT max(p.counts[2]::int / (p.counts[1]::int / wrote))
    FROM l4._job_event AS j
    CROSS JOIN LATERAL regexp_matches(j.example, '\m([0-9]{1,6}) ?(?:/|(?:out )?of) ?([0-9]{1,6}) '
        '(?:clients?|workers?|nodes?|ranks?|process(?:es)?|peers?|tasks?|members?) (?:have |has )?'
        '(?:joined|arrived|connected|registered)', 'g') AS p(counts)
    WHERE j.job_id = k.job_id AND p.counts[1]::int BETWEEN greatest(1, _said_nodes.wrote) AND p.counts[2]::int - 1
        AND p.counts[1]::int % wrote = 0;
END;

-- "worker 2 of 8", "rank=2 world=8", said by each of itself: no number on two nodes, and equally many a node.
--: nodes that a job has, as each that wrote says which one of how many it is
CREATE FUNCTION l4._counted_nodes(k l4._case, wrote int) RETURNS int
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH part AS MATERIALIZED (
        SELECT e.event_id, p.place
        FROM l4._job_events(ARRAY[k.job_id]) AS j
        JOIN l4._event AS e USING (event_id)
        CROSS JOIN LATERAL unnest(string_to_array(e.template, '<*>')) WITH ORDINALITY AS p(words, place)
        WHERE j.nodes = wrote AND j.occurrences <= (k.t).max_ranks * wrote AND p.place > 1
            AND p.words ~* '^[ ,;]*(/|(out )?of|world([ _]?size)?[ =:]*) ?$'
            -- values of a thousand nodes are not read where the first record has no such number
            AND wrote < (SELECT max(m.numbers[1]::int) FROM regexp_matches(j.example, '[0-9][\s,;]*'
                '(?:/|(?:out )?of|world(?:[ _]?size)?[ =:]*)\s*([0-9]{1,6})(?![0-9])', 'gi') AS m(numbers))
    ), said AS MATERIALIZED (
        SELECT v.event_id, v.node, v.value::int AS number, v.place
        FROM (SELECT z.*, dense_rank() OVER (PARTITION BY z.event_id ORDER BY z.slot) AS place
            FROM l4._slot_values(k.job_id, ARRAY(SELECT p.event_id FROM part AS p)) AS z) AS v
        WHERE v.value ~ '^[0-9]{1,6}$'
    ), number AS (
        SELECT p.event_id, p.place, count(*) / wrote AS ranks
        FROM part AS p JOIN said AS s ON s.event_id = p.event_id AND s.place = p.place - 1
        GROUP BY p.event_id, p.place
        HAVING count(*) = count(DISTINCT s.number) AND count(DISTINCT s.node) = wrote AND count(*) % wrote = 0
    )
    SELECT max(t.nodes)
    FROM (
        SELECT min(s.number) / n.ranks AS nodes
        FROM number AS n JOIN said AS s USING (event_id, place)
        GROUP BY n.event_id, n.place, n.ranks
        HAVING min(s.number) = max(s.number) AND min(s.number) % n.ranks = 0) AS t
    WHERE wrote >= (k.t).min_pair
        AND t.nodes BETWEEN wrote + 1 AND wrote + greatest(1, floor((k.t).gap_share * wrote));
END;

--: case, nodes: writes those that wrote, and those that should have
CREATE FUNCTION l4._case_places(k l4._case) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    expected int;
    outside text[];
    n l4._case_place[];
    wrote int;
    per int;
    blocks int;
    gap int;
BEGIN
    n := ARRAY(
        SELECT ROW(k.job_id, z.node, z.rank, z.ranks, NULL,
            row_number() OVER (ORDER BY z.rank, z.node COLLATE "C"), z.lines, z.first_ts, z.last_ts, z.max_in_flight,
            z.unparsed)::l4._case_place
        FROM (
            SELECT x.*,
                coalesce((SELECT i.rank FROM l4.job_node AS i WHERE i.job_id = k.job_id AND i.node = x.node),
                    lower(r.ranks)) AS rank,
                coalesce(r.ranks, '{}') AS ranks
            FROM (SELECT s.node, sum(s.lines + s.tail_lines) AS lines, min(s.first_ts) AS first_ts,
                    max(s.last_ts) AS last_ts, max(s.max_in_flight) AS max_in_flight, sum(s.unparsed) AS unparsed
                FROM l4._streams(k, k.job_id) AS s GROUP BY s.node) AS x
            LEFT JOIN l4._ranks_of_nodes(k) AS r USING (node)) AS z);
    wrote := cardinality(n);
    outside := ARRAY(SELECT o.node FROM l4._outside(k) AS o(node));
    expected := coalesce((SELECT j.expected_nodes FROM l4.job AS j WHERE j.job_id = k.job_id), l4._told_nodes(k),
        l4._said_nodes(k, wrote), CASE WHEN k.baseline = '{}' THEN l4._counted_nodes(k, wrote) END);
    per := l4._ranks_a_node(k.t, n,
        coalesce(expected, wrote + greatest(1, floor((k.t).gap_share * wrote)))::bigint);
    blocks := greatest(expected, wrote, (SELECT max(upper(z.ranks) - 1) / per + 1 FROM unnest(n) AS z));
    -- one node that tells no rank, and one block of ranks that no node has
    IF wrote >= (k.t).min_nodes AND (SELECT count(*) FROM unnest(n) AS z WHERE z.rank IS NULL) = 1
        AND NOT EXISTS (SELECT FROM unnest(n) AS z WHERE z.rank IS NULL AND z.node = ANY (outside)) THEN
        -- of more blocks than nodes and one several are empty
        SELECT min(g.block) INTO gap
        FROM generate_series(0, least(blocks, wrote + 1) - 1) AS g(block)
        WHERE NOT EXISTS (SELECT FROM unnest(n) AS o WHERE o.rank / per = g.block)
        HAVING count(*) = 1;
    END IF;
    IF gap IS NOT NULL THEN
        n := ARRAY(
            SELECT ROW(z.job_id, z.node, r.rank, r.ranks, NULL, row_number() OVER (ORDER BY r.rank, z.node COLLATE "C"),
                z.lines, z.first_ts, z.last_ts, z.in_flight, z.unparsed)::l4._case_place
            FROM unnest(n) AS z
            CROSS JOIN LATERAL (SELECT coalesce(z.rank, gap * per) AS rank,
                CASE WHEN z.rank IS NULL THEN int4multirange(int4range(gap * per, (gap + 1) * per))
                    ELSE z.ranks END AS ranks) AS r);
    END IF;
    n := n || ARRAY(
        SELECT ROW(i.job_id, i.node, i.rank,
            CASE WHEN i.rank IS NULL THEN '{}' ELSE int4multirange(int4range(i.rank, i.rank + per)) END, NULL,
            -row_number() OVER (ORDER BY i.rank, i.node COLLATE "C"), 0, NULL, NULL, NULL, 0)::l4._case_place
        FROM l4.job_node AS i
        WHERE i.job_id = k.job_id
            AND NOT EXISTS (SELECT FROM l4._stream AS s WHERE s.job_id = k.job_id AND s.node = i.node));
    IF greatest(expected, (SELECT max(z.rank / per) + 1 FROM unnest(n) AS z))
        > (SELECT count(*) FROM unnest(n) AS z WHERE z.node <> ALL (outside)) THEN
        n := n || ARRAY(SELECT m::l4._case_place
            FROM l4._missing_ranks(k, ARRAY(SELECT z FROM unnest(n) AS z WHERE z.node <> ALL (outside)), per,
                expected) AS m
            WHERE m.node NOT IN (SELECT z.node FROM unnest(n) AS z));
        n := n || ARRAY(SELECT m::l4._case_place FROM l4._missing_names(k, n, expected) AS m
            WHERE m.node NOT IN (SELECT z.node FROM unnest(n) AS z));
    END IF;
    INSERT INTO l4._case_place (job_id, node, rank, ranks, block, place, lines, first_ts, last_ts, in_flight, unparsed)
    SELECT z.job_id, z.node, z.rank,
        -- the whole block of ranks is the node's, also those of it that write nothing
        CASE WHEN count(*) OVER same = 1 AND z.ranks <> '{}' AND z.rank IS NOT NULL
            THEN z.ranks + int4multirange(int4range(z.rank / per * per, (z.rank / per + 1) * per)) ELSE z.ranks END,
        z.rank / per, z.place, z.lines, z.first_ts, z.last_ts, z.in_flight, z.unparsed
    FROM unnest(n) AS z
    WINDOW same AS (PARTITION BY z.rank / per);
END;
$$;

-- A job that never got to train and that nobody expected more nodes of.
--: case, nodes: adds those that all good jobs ran on, and that never wrote
CREATE FUNCTION l4._case_lacking(k l4._case) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    WITH there AS (
        SELECT array_agg(z) AS places, array_agg(z.node) AS nodes FROM l4._case_place AS z WHERE z.job_id = k.job_id
        HAVING min(z.lines) > 0
    )
    INSERT INTO l4._case_place
    SELECT m.* FROM there AS t CROSS JOIN LATERAL l4._missing_names(k, t.places,
        cardinality(t.nodes) + cardinality(l4._lacking(k, t.nodes, NULL))) AS m;
END;
