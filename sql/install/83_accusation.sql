-- Who names whom: complaints about ranks, hosts and addresses, and where the blame ends up.

-- Complaints in which an address, or a host name that is no node's name, stands for a node.
--: addresses, and host names that are no node's, in complaints
CREATE FUNCTION l4._named_addresses(job_id text) RETURNS TABLE (node text, address text, number bigint, ts timestamptz)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    SELECT m.node, h.host, l4._ip_number(h.host), min(m.first_ts - n.clock)
    FROM l4._mentions(_named_addresses.job_id, ARRAY(SELECT a.event_id
        FROM l4._accusing(_named_addresses.job_id) AS a(event_id)
        WHERE EXISTS (SELECT FROM l4._slot_kind AS z WHERE z.event_id = a.event_id
            AND z.kind IN ('address', 'host')))) AS m
    JOIN l4._nodes(_named_addresses.job_id) AS n ON n.node = m.node
    CROSS JOIN LATERAL (SELECT l4._host_of(m.value) AS host) AS h
    WHERE m.kind = 'address' OR m.kind = 'host' AND m.named_node IS NULL
    GROUP BY 1, 2, 3;
END;

-- A host name that carries an address (ip-10-0-1-7): four numbers with one character between each two.
--: addresses that names of nodes spell
CREATE FUNCTION l4._spelled_addresses(job_id text) RETURNS TABLE (address text, node text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    WITH number AS (
        SELECT n.node, d.part[1] AS digits, length(d.part[2]) = 1 AS joined, d.place
        FROM l4._nodes(_spelled_addresses.job_id) AS n
        CROSS JOIN LATERAL regexp_matches(n.node, '([0-9]+)([^0-9]*)', 'g') WITH ORDINALITY AS d(part, place)
    ), four AS (
        SELECT d.node,
            concat_ws('.', d.digits, lead(d.digits) OVER w, lead(d.digits, 2) OVER w,
                lead(d.digits, 3) OVER w) AS address,
            d.joined AND lead(d.joined) OVER w AND lead(d.joined, 2) OVER w
                AND lead(d.digits, 3) OVER w IS NOT NULL AS complete
        FROM number AS d
        WINDOW w AS (PARTITION BY d.node ORDER BY d.place)
    )
    SELECT f.address, f.node FROM four AS f WHERE f.complete;
END;

-- An address that one node alone prints, in a line of the start in which each of several nodes prints another one,
-- once. It might be its neighbour's: so the line is not believed where a node would complain about itself, nor where
-- two lines disagree.
--: addresses that one node alone prints
CREATE FUNCTION l4._printed_addresses(k l4._case) RETURNS TABLE (address text, node text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    WITH own AS (
        SELECT v.address, v.node, v.event_id, v.slot
        FROM (
            SELECT f.node, f.event_id, f.slot, l4._host_of(f.value) AS address,
                count(*) OVER (PARTITION BY f.event_id, f.slot, l4._host_of(f.value)) AS speakers,
                count(*) OVER (PARTITION BY f.event_id, f.slot) AS nodes
            FROM l4._first_parameters(k.job_id, ARRAY(
                SELECT DISTINCT l4._survivor(t.event_id, t.merged_into)
                FROM l4._job_event AS j JOIN l4._event AS t USING (event_id) JOIN l4._event_slot AS z USING (event_id)
                WHERE j.job_id = k.job_id AND z.mask IN ('ip', 'host', 'url')
                    AND l4._survivor(t.event_id, t.merged_into) NOT IN (
                        SELECT e.event_id FROM l4._claims(k.job_id) AS e))) AS f
            WHERE f.mask IN ('ip', 'host', 'url')) AS v
        WHERE v.speakers = 1 AND v.nodes >= (k.t).min_nodes
    ), trusted AS (
        SELECT o.event_id, o.slot
        FROM own AS o
        LEFT JOIN l4._named_addresses(k.job_id) AS s ON s.node = o.node AND s.address = o.address
        GROUP BY o.event_id, o.slot
        HAVING count(DISTINCT o.node) >= greatest((k.t).min_nodes, (SELECT count(DISTINCT c.node)
                FROM l4._event_counts(k.job_id, ARRAY[o.event_id]) AS c))
            AND NOT bool_or(s.node IS NOT NULL)
            AND NOT l4._marked((SELECT t.example FROM l4._event AS t WHERE t.event_id = o.event_id), 'not_named')
    )
    SELECT o.address, min(o.node)
    FROM own AS o JOIN trusted AS t USING (event_id, slot)
    GROUP BY 1
    HAVING count(DISTINCT o.node) = 1;
END;

-- Addresses that count up with the ranks, from where the complaints fit best: the node named has itself failed or ended
-- by then, and nobody complains about itself. Not where two assignments fit alike.
--: addresses that count up with the ranks of the nodes
CREATE FUNCTION l4._counted_addresses(k l4._case) RETURNS TABLE (address text, node text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 100
BEGIN ATOMIC
    WITH n AS MATERIALIZED (
        SELECT z.* FROM l4._nodes(k.job_id) AS z
    ), named AS MATERIALIZED (
        SELECT s.* FROM l4._named_addresses(k.job_id) AS s WHERE s.number IS NOT NULL
    ), address AS MATERIALIZED (
        SELECT DISTINCT s.address, s.number FROM named AS s
    ), early AS (
        SELECT s.* FROM named AS s ORDER BY s.ts, s.node, s.address LIMIT (k.t).max_complaints::bigint
    ), shift AS (
        SELECT s.number - a.block AS shift,
            -- of several ranks on a node one may complain about another
            sum(CASE
                WHEN a.node = s.node AND a.ranks = int4multirange(int4range(a.rank, a.rank, '[]'))
                    THEN -(k.t).self_votes
                WHEN a.node = s.node THEN 0
                WHEN a.lines = 0 OR a.terminal_ts <= s.ts + l4._seconds((k.t).same_moment) THEN 1
                -- perhaps the log ends, not the node
                WHEN a.last_ts <= s.ts + l4._seconds((k.t).same_moment) THEN (k.t).weak
                ELSE -(k.t).misfit_votes END) AS votes,
            sum((abs(a.place - b.place) IN (1, (SELECT count(*) FROM n) - 1))::int) AS neighbours
        FROM early AS s
        JOIN n AS b ON b.node = s.node
        JOIN n AS a ON a.block IS NOT NULL
        GROUP BY 1
    ), span AS (
        SELECT min(s.number) AS low, max(s.number) AS high, count(DISTINCT s.number) AS numbers FROM address AS s
    ), complete AS (
        -- only shifts under which every address that is complained about belongs to a node: the lowest does, the
        -- highest does, then all are looked at
        SELECT f.*
        FROM shift AS f
        JOIN (
            SELECT p.shift
            FROM (
                SELECT DISTINCT x.low - a.block AS shift
                FROM span AS x JOIN n AS a ON a.block IS NOT NULL
                JOIN n AS b ON b.block - a.block = x.high - x.low) AS p
            CROSS JOIN (SELECT DISTINCT s.number FROM address AS s) AS s
            JOIN (SELECT DISTINCT n.block FROM n) AS r ON r.block = s.number - p.shift
            GROUP BY p.shift
            HAVING count(*) = (SELECT x.numbers FROM span AS x)) AS c USING (shift)
    ), best AS (
        SELECT c.shift, c.equals
        FROM (SELECT z.*, count(*) OVER (PARTITION BY z.votes, z.neighbours) AS equals FROM complete AS z) AS c
        WHERE c.votes > 0 ORDER BY c.votes DESC, c.neighbours DESC LIMIT 1
    )
    SELECT s.address, n.node FROM address AS s JOIN best AS b ON b.equals = 1 JOIN n ON n.block = s.number - b.shift;
END;

-- Whose is an address, or a host name that is no node's name? The inventory knows; else what is told first of the
-- others.
--: addresses and host names in complaints of a diagnosed job, the nodes they belong to, and how that is known
CREATE FUNCTION l4.address_book(job_id text) RETURNS TABLE (address text, node text, how text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    WITH k AS MATERIALIZED (
        SELECT c AS k FROM l4._case AS c WHERE c.job_id = address_book.job_id
    ), named AS MATERIALIZED (
        SELECT DISTINCT s.address FROM l4._named_addresses(address_book.job_id) AS s
    ), known AS (
        SELECT a.address, i.node, 'inventory' AS how, 1 AS trust
        FROM l4.job_node AS i CROSS JOIN LATERAL unnest(i.addresses) AS a(address)
        WHERE i.job_id = address_book.job_id
        UNION ALL
        SELECT address, s.node, 'host name', 2
        FROM l4._spelled_addresses(address_book.job_id) AS s JOIN named USING (address)
        UNION ALL
        SELECT min(l4._host_of(m.value)), min(m.node), 'its own end of connections', 3
        FROM l4._mentions(address_book.job_id, ARRAY(
            SELECT j.event_id FROM l4._job_events(ARRAY[address_book.job_id]) AS j
            JOIN l4._slot_kind AS z USING (event_id) WHERE z.kind = 'own')) AS m
        WHERE m.kind = 'own' AND EXISTS (SELECT FROM named)
        GROUP BY l4._host_of(m.value)
        HAVING count(DISTINCT m.node) = 1
        UNION ALL
        SELECT p.address, p.node, 'only printed there', 4
        FROM k CROSS JOIN LATERAL l4._printed_addresses(k.k) AS p WHERE EXISTS (SELECT FROM named)
        UNION ALL
        SELECT c.address, c.node, 'counts up with the ranks', 5
        FROM k CROSS JOIN LATERAL l4._counted_addresses(k.k) AS c WHERE EXISTS (SELECT FROM named)
    )
    SELECT DISTINCT ON (u.address) u.address, u.node, u.how FROM known AS u ORDER BY u.address, u.trust, u.node;
END;

-- Ranks of a sub-group: the line says "rank 1" of a node whose rank is 5. Of several ranks on a node it cannot be told
-- which one speaks, unless it says so.
--: which rank speaks, as the line says; lines that say it only
CREATE FUNCTION l4._own_ranks(lines text[]) RETURNS TABLE (line text, rank int)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    SELECT l.line, max(substring(coalesce(g.groups ->> 'rank', g.groups ->> 'rank2') FROM '^[0-9]{1,9}$')::int)
    FROM (SELECT DISTINCT u.line FROM unnest(_own_ranks.lines) AS u(line)) AS l
    CROSS JOIN l4._marker('self') AS r
    CROSS JOIN LATERAL l4.pcre_captures(l.line, r.signature) AS g(groups)
    WHERE l4.pcre_match(l.line, r.signature)
    GROUP BY l.line;
END;

-- Ranks under another name. Where nearly all nodes say "worker 3" of themselves, each with its own rank, "worker 3" in
-- a complaint is that rank.
--: ranks in complaints by a word with which the nodes of a job number themselves
CREATE FUNCTION l4._numbered(k l4._case, accusing int[]) RETURNS TABLE (node text, event_id int, rank bigint)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 10
BEGIN ATOMIC
    WITH word AS MATERIALIZED (
        SELECT e.event_id, p.place, lower(substring(p.words FROM '([[:alpha:]]{4,})[ #]?$')) AS word,
            e.event_id = ANY (_numbered.accusing) AS accuses
        FROM l4._job_events(ARRAY[k.job_id]) AS j
        JOIN l4._event AS e USING (event_id)
        CROSS JOIN LATERAL unnest(string_to_array(e.template, '<*>')) WITH ORDINALITY AS p(words, place)
        WHERE e.event_id = ANY (_numbered.accusing) OR j.nodes >= (k.t).nearly_all * k.nodes
    ), asked AS MATERIALIZED (
        SELECT w.* FROM word AS w WHERE w.word IN (SELECT a.word FROM word AS a WHERE a.accuses)
    ), said AS MATERIALIZED (
        SELECT v.node, v.event_id, v.slot, a.word, a.accuses, v.value::bigint AS rank
        FROM (SELECT f.*, dense_rank() OVER (PARTITION BY f.event_id ORDER BY f.slot) AS place
            FROM l4._first_parameters(k.job_id, ARRAY(SELECT a.event_id FROM asked AS a)) AS f) AS v
        JOIN asked AS a USING (event_id, place)
        WHERE v.value ~ '^[0-9]{1,9}$'
    ), own AS MATERIALIZED (
        SELECT s.word
        FROM said AS s JOIN l4._ranks(k.job_id) AS r ON r.node = s.node AND r.rank = s.rank
        WHERE NOT s.accuses
        GROUP BY s.word, s.event_id, s.slot
        HAVING count(*) >= greatest((k.t).min_pair, (k.t).nearly_all * k.nodes)
    )
    SELECT s.node, s.event_id, s.rank
    FROM said AS s LEFT JOIN l4._slot_kind AS z USING (event_id, slot)
    WHERE s.accuses AND s.word IN (SELECT o.word FROM own AS o) AND z.kind IS NULL;
END;

-- Mentions in some events, by the clock of most nodes, but for those of an earlier attempt, and for ranks that begin
-- anew on each node: several nodes speak of ranks of the first node alone, and so does it itself.
--: mentions in some events of the last attempt of a job
CREATE FUNCTION l4._reported(k l4._case, events int[])
RETURNS TABLE (node text, event_id int, kind text, value text, named_node text, first_ts timestamptz)
LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 500
BEGIN ATOMIC
    WITH said AS MATERIALIZED (
        SELECT h.*
        FROM (
            SELECT m.node, m.event_id, m.kind, m.value, m.named_node, t.first_ts,
                max(t.first_ts) OVER (PARTITION BY m.node, m.event_id, m.kind) AS last_ts
            FROM l4._mentions(k.job_id, _reported.events) AS m
            JOIN l4._nodes(k.job_id) AS n ON n.node = m.node
            CROSS JOIN LATERAL (SELECT m.first_ts - n.clock AS first_ts) AS t) AS h
        JOIN l4._case_count AS c ON c.job_id = k.job_id AND c.event_id = h.event_id AND c.node = h.node
        WHERE k.attempt_ts IS NULL OR h.first_ts >= k.attempt_ts OR NOT coalesce(h.last_ts >= k.attempt_ts, false)
        UNION ALL
        SELECT s.node, s.event_id, 'rank', s.rank::text, NULL, c.first_ts, NULL
        FROM l4._numbered(k, _reported.events) AS s
        JOIN l4._case_count AS c ON c.job_id = k.job_id AND c.event_id = s.event_id AND c.node = s.node
    ), by_node AS (
        SELECT s.event_id
        FROM said AS s
        JOIN l4._ranks(k.job_id) AS r ON r.rank::text = s.value
        CROSS JOIN (SELECT min(z.node) AS node FROM l4._ranks(k.job_id) AS z WHERE z.rank = 0) AS f
        WHERE s.kind = 'rank'
        GROUP BY s.event_id
        HAVING count(DISTINCT s.node) > 1 AND bool_or(s.node = r.node) AND bool_and(r.node = f.node)
    )
    SELECT s.node, s.event_id, s.kind, s.value, s.named_node, s.first_ts
    FROM said AS s
    WHERE (s.kind <> 'rank' OR s.event_id NOT IN (SELECT b.event_id FROM by_node AS b))
        -- a part of a program, not of a network: layers.0.weight
        AND (s.named_node IS NOT NULL OR s.value !~ '^[[:alpha:]].*[.][0-9]+[.][[:alpha:]]');
END;

-- Of a list with one item for each rank those that differ from most.
--: ranks whose item in a list differs from that of most
CREATE FUNCTION l4._odd_ranks(list text, ranks bigint, majority numeric) RETURNS TABLE (rank bigint)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 5
BEGIN ATOMIC
    WITH item AS (
        SELECT i.item, i.place - 1 AS rank
        FROM regexp_split_to_table(btrim(_odd_ranks.list, '[](){} '), '\s*,\s*') WITH ORDINALITY AS i(item, place)
    ), common AS (
        SELECT i.item, count(*) AS times FROM item AS i GROUP BY i.item ORDER BY 2 DESC, 1 LIMIT 1
    )
    SELECT i.rank
    FROM item AS i CROSS JOIN common AS c
    WHERE (SELECT count(*) FROM item) = _odd_ranks.ranks AND c.times >= _odd_ranks.majority * _odd_ranks.ranks
        AND i.item <> c.item;
END;

--: who names whom in new lines, and when first; accused is empty where it cannot be told who is meant
CREATE FUNCTION l4._complaints(job_id text)
RETURNS TABLE (accuser text, accused text, first_ts timestamptz, events int[])
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 500 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH k AS (
        SELECT c AS k, c.t FROM l4._case AS c WHERE c.job_id = _complaints.job_id
    ), n AS MATERIALIZED (
        SELECT z.* FROM l4._nodes(_complaints.job_id) AS z
    ), ranked_node AS MATERIALIZED (
        SELECT r.rank::bigint, r.node FROM l4._ranks(_complaints.job_id) AS r
    ), accusing AS MATERIALIZED (
        SELECT array_agg(a.event_id) AS events FROM l4._accusing(_complaints.job_id) AS a(event_id)
    ), spoken AS MATERIALIZED (
        -- the first line of each event on each node, as it was
        SELECT v.node, v.event_id, l4._fill(t.template, v.slot_values) AS line
        FROM accusing AS a
        CROSS JOIN LATERAL l4._values(_complaints.job_id, a.events) AS v
        JOIN l4._event AS t ON t.event_id = v.event_id
    ), self AS MATERIALIZED (
        SELECT f.node, f.event_id, n.rank - o.rank AS shift
        FROM spoken AS f JOIN n ON n.node = f.node
        JOIN l4._own_ranks(ARRAY(SELECT s.line FROM spoken AS s)) AS o ON o.line = f.line
        WHERE n.ranks = int4multirange(int4range(n.rank, n.rank, '[]'))
    ), reported AS MATERIALIZED (
        SELECT h.*, nullif(f.shift, 0) AS shift
        FROM k CROSS JOIN accusing AS a CROSS JOIN LATERAL l4._reported(k.k, a.events) AS h
        LEFT JOIN self AS f ON f.node = h.node AND f.event_id = h.event_id
    ), ranked AS (
        SELECT s.*, s.value::int + coalesce(s.shift, 0) AS rank
        FROM reported AS s WHERE s.kind = 'rank' AND s.value ~ '^[0-9]{1,9}$'
    ), named AS (
        -- each way to name a node is a join of its own: a thousand names and a thousand nodes are hashed, not compared
        SELECT s.node, s.named_node AS accused, s.first_ts, s.event_id
        FROM ranked AS s JOIN n AS a ON a.node = s.named_node
        WHERE s.shift IS NULL
        UNION ALL
        SELECT s.node, a.node, s.first_ts, s.event_id
        FROM ranked AS s JOIN ranked_node AS a ON a.rank = s.rank
        WHERE s.shift IS NOT NULL OR s.named_node IS NULL
        UNION ALL
        SELECT s.node, a.node, s.first_ts, s.event_id
        FROM reported AS s JOIN n AS a ON a.node = coalesce(s.named_node, s.value) WHERE s.kind = 'host'
        UNION ALL
        SELECT s.node, a.node, s.first_ts, s.event_id
        FROM reported AS s JOIN n AS a ON split_part(a.node, '.', 1) = split_part(s.value, '.', 1)
        WHERE s.kind = 'host'
        UNION ALL
        -- names of nodes that are more than one parameter: job-7f3a-worker-12; a mere number may count anything
        SELECT f.node, a.node, c.first_ts, f.event_id
        FROM spoken AS f
        JOIN l4._case_count AS c ON c.job_id = _complaints.job_id AND c.event_id = f.event_id AND c.node = f.node
        CROSS JOIN LATERAL l4._name_words(f.line) AS w(word)
        JOIN n AS a ON a.node = rtrim(w.word, '.-') AND a.node !~ '^[0-9]+$'
        UNION ALL
        SELECT s.node, b.node, s.first_ts, s.event_id
        FROM reported AS s JOIN l4.address_book(_complaints.job_id) AS b ON b.address = l4._host_of(s.value)
        WHERE s.kind = 'address' OR s.kind = 'host' AND s.named_node IS NULL
        UNION ALL
        SELECT s.node, a.node, s.first_ts, s.event_id
        FROM k CROSS JOIN reported AS s
        CROSS JOIN LATERAL l4._odd_ranks(s.value, (SELECT max(z.rank) + 1 FROM ranked_node AS z), (k.t).majority) AS o
        JOIN ranked_node AS a ON a.rank = o.rank
        WHERE s.kind = 'list'
    ), meant AS (
        SELECT d.node, d.accused, d.first_ts, d.event_id FROM named AS d
        UNION ALL
        -- somebody else is meant, although it cannot be told who
        SELECT s.node, '', s.first_ts, s.event_id
        FROM reported AS s LEFT JOIN (SELECT DISTINCT d.node, d.event_id FROM named AS d) AS d USING (node, event_id)
        WHERE s.kind IN ('rank', 'host', 'address') AND s.named_node IS NULL AND d.node IS NULL
    )
    SELECT d.node, d.accused, min(d.first_ts), array_agg(DISTINCT d.event_id)
    FROM meant AS d
    WHERE d.node <> d.accused
    GROUP BY d.node, d.accused;
END
$$;

-- Blame that flows through the graph: each accuser passes its weight along its edges in equal parts; it stays where no
-- edge leaves. Edges come in order of time; one that would close a cycle is left out.
--: blame of each node: edges in order of time by node number from 1; of each node its own weight
CREATE FUNCTION l4._blame(accusers int[], accused int[], weights float8[]) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_blame';

--: case, accusations: writes who names whom, and which complaints are heard
CREATE FUNCTION l4._case_edges(k l4._case) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO l4._case_edge (job_id, accuser, accused, first_ts, weight, events)
    WITH complaint AS MATERIALIZED (
        SELECT z.* FROM l4._complaints(k.job_id) AS z
    ), kill AS MATERIALIZED (
        SELECT coalesce(array_agg(e.event_id), '{}') AS events FROM l4._new_events(k.job_id) AS e WHERE e.kills
    ), weighed AS (
        -- Complaints about a node that fails like others do are about a victim, once the first failure was reported.
        -- Who was killed is none, whatever the other processes of its node say; but who was killed long after it did
        -- not end when it was told to.
        SELECT c.*, CASE WHEN v.node IS NULL THEN 0
            WHEN c.events && z.events AND c.first_ts > k.terminal_ts + l4._seconds((k.t).late_seconds) THEN 0
            WHEN v.is_victim AND c.first_ts >= k.terminal_ts AND NOT c.events && z.events THEN (k.t).victim_weight
            ELSE 1 END::float8 AS weight
        FROM complaint AS c CROSS JOIN kill AS z LEFT JOIN l4._nodes(k.job_id) AS v ON v.node = c.accused
    ), heard AS (
        -- an accuser that has better to say is not heard about victims
        SELECT w.accuser, w.accused, w.first_ts, w.events,
            CASE WHEN max(w.weight) OVER (PARTITION BY w.accuser) = 1 AND w.weight < 1 THEN 0
                ELSE w.weight END AS weight
        FROM weighed AS w
    ), blamed AS (
        SELECT h.accused AS node, sum(h.weight) AS weight FROM heard AS h GROUP BY h.accused
    ), fair AS MATERIALIZED (
        -- of two that name each other, the one that is named more often is a reporter: it is heard, the other is not
        SELECT h.accuser, h.accused, h.first_ts, h.events, CASE WHEN o.weight > 0 AND a.weight > b.weight THEN 0
            ELSE h.weight END AS weight
        FROM heard AS h
        LEFT JOIN heard AS o ON o.accuser = h.accused AND o.accused = h.accuser
        LEFT JOIN blamed AS a ON a.node = h.accused
        LEFT JOIN blamed AS b ON b.node = h.accuser
    ), named AS (
        SELECT f.accused AS node, count(*) AS accusers FROM fair AS f WHERE f.weight > 0 GROUP BY f.accused
    ), few AS (
        SELECT a.accuser, a.accused
        FROM (SELECT f.*, count(*) OVER (PARTITION BY f.accuser) AS names FROM fair AS f WHERE f.weight > 0) AS a
        WHERE a.names <= (k.t).max_edges
    ), round AS (
        -- so is, round three corners, one that most nodes name
        SELECT DISTINCT p.accused AS accuser, o.accuser AS accused
        FROM few AS o
        JOIN few AS p ON p.accuser = o.accused
        JOIN named AS r ON r.node = o.accuser AND r.accusers >= (k.t).half * k.nodes
        LEFT JOIN named AS x ON x.node = o.accused
        LEFT JOIN named AS y ON y.node = p.accused
        WHERE r.accusers > greatest(x.accusers, y.accusers)
    )
    SELECT k.job_id, f.accuser, f.accused, f.first_ts, CASE WHEN r.accuser IS NOT NULL THEN 0 ELSE f.weight END,
        f.events
    FROM fair AS f LEFT JOIN round AS r ON r.accuser = f.accuser AND r.accused = f.accused;
END
$$;

--: evidence: the share of the blame that the others' complaints leave with this node
CREATE FUNCTION l4.evidence_accused(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 10000 ROWS 100
BEGIN ATOMIC
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = evidence_accused.job_id
    ), n AS MATERIALIZED (
        SELECT z.node, row_number() OVER (ORDER BY z.place, z.node)::int AS number
        FROM l4._nodes(evidence_accused.job_id) AS z
    ), edge AS MATERIALIZED (
        SELECT e.*, row_number() OVER (PARTITION BY e.accuser ORDER BY e.first_ts, e.accused COLLATE "C") AS place
        FROM l4._edges(evidence_accused.job_id) AS e WHERE e.weight > 0
    ), kept AS MATERIALIZED (
        SELECT e.* FROM edge AS e CROSS JOIN k WHERE e.place <= (k.t).max_edges
    ), accuser AS (
        SELECT e.accuser AS node, max(e.weight) AS weight FROM kept AS e GROUP BY e.accuser
    ), named AS (
        SELECT DISTINCT ON (e.accused) e.accused AS node, count(*) OVER (PARTITION BY e.accused) AS accusers,
            e.accuser, e.events[1] AS event_id
        FROM edge AS e
        ORDER BY e.accused, e.weight DESC, e.first_ts, e.events[1], e.accuser COLLATE "C"
    ), numbered AS (
        SELECT coalesce(array_agg(a.number ORDER BY e.first_ts, a.number, d.number), '{}') AS accusers,
            coalesce(array_agg(d.number ORDER BY e.first_ts, a.number, d.number), '{}') AS accused
        FROM kept AS e JOIN n AS a ON a.node = e.accuser JOIN n AS d ON d.node = e.accused
    ), blamed AS (
        SELECT n.node, b.blame, sum(b.blame) OVER (ORDER BY b.number
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS total
        FROM numbered AS z
        CROSS JOIN (SELECT array_agg(coalesce(a.weight, 0)::float8 ORDER BY n.number) AS weights
            FROM n LEFT JOIN accuser AS a USING (node)) AS x
        CROSS JOIN LATERAL unnest(l4._blame(z.accusers, z.accused, x.weights)) WITH ORDINALITY AS b(blame, number)
        JOIN n ON n.number = b.number
    )
    SELECT b.node, b.blame / greatest(b.total, (k.t).min_blame), 'named by ' || f.accusers
        || CASE WHEN f.accusers = 1 THEN ' node: ' ELSE ' nodes: ' END || left(m.message, 120)
    FROM blamed AS b
    CROSS JOIN k
    JOIN named AS f USING (node)
    LEFT JOIN l4._messages(evidence_accused.job_id, ARRAY(SELECT f.accuser FROM named AS f ORDER BY f.node),
        ARRAY(SELECT f.event_id FROM named AS f ORDER BY f.node)) AS m ON m.node = f.accuser AND m.event_id = f.event_id
    WHERE b.blame > 0;
END;
