-- Who names whom: complaints about ranks, hosts and addresses, and where the blame ends up.

CREATE FUNCTION l4._ip_number(address text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN address ~ '^[0-9]{1,3}([.][0-9]{1,3}){3}$'
    THEN split_part(address, '.', 1)::bigint * 16777216 + split_part(address, '.', 2)::bigint * 65536
        + split_part(address, '.', 3)::bigint * 256 + split_part(address, '.', 4)::bigint END;
COMMENT ON FUNCTION l4._ip_number(text) IS 'IPv4 address as a number, NULL for anything else';

-- Whose is an address, or a host name that is no node's name? The inventory knows; else a host name that carries it (ip-10-0-1-7); else the
-- node that alone prints it in a line of the start in which each of three or more nodes prints another one, once. That might be its neighbour's: so
-- it is not believed where a node would complain about itself, nor where two lines disagree. Else addresses that count up with the ranks, from where the complaints fit best: the node named
-- has itself failed or ended by then, and nobody complains about itself.
CREATE FUNCTION l4.address_book(job_id text) RETURNS TABLE (address text, node text, how text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH n AS (
        SELECT z.* FROM l4._case_node AS z WHERE z.job_id = address_book.job_id
    ), said AS (
        SELECT m.node, CASE m.kind WHEN 'host' THEN l4._host_of(m.value) ELSE m.value END AS address, l4._ip_number(m.value) AS number, min(m.first_ts - n.clock) AS ts
        FROM l4._mentions(address_book.job_id, ARRAY(SELECT e.event_id FROM l4._case_event AS e
            WHERE e.job_id = address_book.job_id AND e.is_new AND e.dropped IS NULL AND e.accuses
                AND EXISTS (SELECT FROM l4._slot_kind AS z WHERE z.event_id = e.event_id AND z.kind IN ('address', 'host')))) AS m
        JOIN n ON n.node = m.node
        WHERE m.kind = 'address' OR m.kind = 'host' AND m.named_node IS NULL
        GROUP BY 1, 2, 3
    ), address AS (
        SELECT DISTINCT s.address, s.number FROM said AS s
    ), early AS (
        SELECT s.* FROM said AS s WHERE s.number IS NOT NULL ORDER BY s.ts, s.node, s.address LIMIT 64
    ), inventory AS (
        SELECT a.address, i.node, 'inventory' AS how
        FROM l4.job_node AS i CROSS JOIN LATERAL unnest(i.addresses) AS a(address)
        WHERE i.job_id = address_book.job_id
    ), number AS (
        SELECT n.node, d.part[1] AS digits, length(d.part[2]) = 1 AS joined, d.place
        FROM n CROSS JOIN LATERAL regexp_matches(n.node, '([0-9]+)([^0-9]*)', 'g') WITH ORDINALITY AS d(part, place)
        WHERE EXISTS (SELECT FROM said)
    ), four AS (
        -- four numbers of a name with one character between each two
        SELECT d.node, concat_ws('.', d.digits, lead(d.digits) OVER w, lead(d.digits, 2) OVER w, lead(d.digits, 3) OVER w) AS address,
            d.joined AND lead(d.joined) OVER w AND lead(d.joined, 2) OVER w AND lead(d.digits, 3) OVER w IS NOT NULL AS complete
        FROM number AS d
        WINDOW w AS (PARTITION BY d.node ORDER BY d.place)
    ), spelled AS (
        SELECT s.address, f.node, 'host name' AS how
        FROM address AS s JOIN four AS f USING (address)
        WHERE s.number IS NOT NULL AND f.complete
    ), own AS (
        SELECT v.address, v.node, v.event_id, v.slot
        FROM (
            SELECT f.node, f.event_id, f.slot, l4._host_of(f.value) AS address, count(*) OVER (PARTITION BY f.event_id, f.slot, l4._host_of(f.value)) AS speakers,
                count(*) OVER (PARTITION BY f.event_id, f.slot) AS nodes
            FROM l4._first_said(address_book.job_id, ARRAY(
                SELECT DISTINCT coalesce(t.merged_into, t.event_id)
                FROM l4._job_event AS j JOIN l4._event AS t USING (event_id) JOIN l4._event_slot AS z USING (event_id)
                WHERE j.job_id = address_book.job_id AND z.mask IN ('ip', 'host', 'url') AND EXISTS (SELECT FROM said)
                    AND NOT EXISTS (SELECT FROM l4._case_event AS e
                        WHERE e.job_id = j.job_id AND e.event_id = coalesce(t.merged_into, t.event_id) AND e.is_new AND e.dropped IS NULL))) AS f
            WHERE f.mask IN ('ip', 'host', 'url')) AS v
        WHERE v.speakers = 1 AND v.nodes >= 3
    ), trusted AS (
        SELECT o.event_id, o.slot
        FROM own AS o
        GROUP BY o.event_id, o.slot
        HAVING count(*) >= greatest(3, (SELECT count(DISTINCT c.node) FROM l4._event_counts(address_book.job_id, ARRAY[o.event_id]) AS c))
            AND NOT bool_or(EXISTS (SELECT FROM said AS s WHERE s.node = o.node AND s.address = o.address))
            AND NOT l4._marked((SELECT t.example FROM l4._event AS t WHERE t.event_id = o.event_id), 'not_named')
    ), printed AS (
        SELECT o.address, min(o.node) AS node, 'only printed there' AS how
        FROM own AS o JOIN trusted AS t USING (event_id, slot)
        GROUP BY 1
        HAVING count(DISTINCT o.node) = 1
    ), shift AS (
        SELECT s.number - a.seat AS shift,
            -- of several ranks on a node one may complain about another
            sum(CASE WHEN a.node = s.node THEN CASE WHEN a.ranks = int4multirange(int4range(a.rank, a.rank, '[]')) THEN -3 ELSE 0 END
                WHEN a.lines = 0 OR a.terminal_ts <= s.ts + interval '1 s' THEN 1
                -- perhaps the log ends, not the node
                WHEN a.last_ts <= s.ts + interval '1 s' THEN 0.5 ELSE -2 END) AS votes,
            sum((abs(a.place - b.place) IN (1, (SELECT count(*) FROM n) - 1))::int) AS neighbours
        FROM early AS s
        JOIN n AS b ON b.node = s.node
        JOIN n AS a ON a.seat IS NOT NULL
        GROUP BY 1
    ), span AS (
        SELECT min(s.number) AS low, max(s.number) AS high, count(DISTINCT s.number) AS numbers FROM address AS s WHERE s.number IS NOT NULL
    ), complete AS (
        -- only shifts under which every address that is complained about belongs to a node: the lowest does, the highest does, then all are looked at
        SELECT f.*
        FROM shift AS f
        JOIN (
            SELECT p.shift
            FROM (
                SELECT DISTINCT x.low - a.seat AS shift
                FROM span AS x JOIN n AS a ON a.seat IS NOT NULL
                JOIN n AS b ON b.seat - a.seat = x.high - x.low) AS p
            CROSS JOIN (SELECT DISTINCT s.number FROM address AS s WHERE s.number IS NOT NULL) AS s
            JOIN (SELECT DISTINCT n.seat FROM n) AS r ON r.seat = s.number - p.shift
            GROUP BY p.shift
            HAVING count(*) = (SELECT x.numbers FROM span AS x)) AS c USING (shift)
    ), best AS (
        -- not a guess where another one fits as well
        SELECT c.shift, c.equals FROM (SELECT z.*, count(*) OVER (PARTITION BY z.votes, z.neighbours) AS equals FROM complete AS z) AS c
        WHERE c.votes > 0 ORDER BY c.votes DESC, c.neighbours DESC LIMIT 1
    ), counted AS (
        SELECT s.address, n.node, 'counts up with the ranks' AS how
        FROM address AS s JOIN best AS b ON b.equals = 1 JOIN n ON n.seat = s.number - b.shift
    )
    SELECT DISTINCT ON (u.address) u.address, u.node, u.how
    FROM (SELECT i.*, 1 AS trust FROM inventory AS i UNION ALL SELECT s.*, 2 FROM spelled AS s
        UNION ALL SELECT p.*, 3 FROM printed AS p UNION ALL SELECT c.*, 4 FROM counted AS c) AS u
    ORDER BY u.address, u.trust, u.node;
END;
COMMENT ON FUNCTION l4.address_book(text) IS 'addresses and host names in complaints of a diagnosed job, the nodes they belong to, and how that is known';

CREATE FUNCTION l4._complaints(job_id text) RETURNS TABLE (accuser text, accused text, first_ts timestamptz, events int[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH n AS (
        SELECT z.* FROM l4._case_node AS z WHERE z.job_id = _complaints.job_id
    ), seated AS MATERIALIZED (
        SELECT r.rank::bigint, r.node FROM l4._case_rank AS r WHERE r.job_id = _complaints.job_id
    ), loud AS (
        SELECT e.event_id FROM l4._case_event AS e
        WHERE e.job_id = _complaints.job_id AND e.is_new AND e.accuses AND e.dropped IS NULL
    ), spoken AS (
        -- the first line of each event on each node, as it was
        SELECT v.node, v.event_id, l4._fill(t.template, v.slot_values) AS line
        FROM l4._values(_complaints.job_id, ARRAY(SELECT l.event_id FROM loud AS l)) AS v
        JOIN l4._event AS t ON t.event_id = v.event_id
    ), self AS MATERIALIZED (
        -- Ranks of a sub-group: the line says "rank 1" of a node whose rank is 5.
        SELECT f.node, f.event_id, n.rank - max(x.rank) AS shift
        FROM spoken AS f
        JOIN n ON n.node = f.node
        JOIN l4._marker('self') AS r ON l4.pcre_match(f.line, r.signature)
        CROSS JOIN LATERAL (SELECT l4.pcre_captures(f.line, r.signature) AS groups) AS g
        CROSS JOIN LATERAL (SELECT substring(coalesce(g.groups ->> 'rank', g.groups ->> 'rank2') FROM '^[0-9]{1,9}$')::int AS rank) AS x
        -- of several ranks on a node it cannot be told which one speaks, unless it says so
        WHERE n.ranks = int4multirange(int4range(n.rank, n.rank, '[]'))
        GROUP BY f.node, f.event_id, n.rank
    ), word AS (
        -- names of nodes that are more than one variable part: job-7f3a-worker-12
        SELECT DISTINCT f.node, f.event_id, a.node AS accused
        FROM spoken AS f
        CROSS JOIN LATERAL regexp_split_to_table(f.line, '[^A-Za-z0-9_.-]+') AS w(word)
        JOIN n AS a ON a.node = rtrim(w.word, '.-')
        WHERE w.word <> ''
    ), heard AS (
        SELECT m.node, m.event_id, m.kind, m.value, m.named_node, m.first_ts - n.clock AS first_ts
        FROM l4._mentions(_complaints.job_id, ARRAY(SELECT l.event_id FROM loud AS l)) AS m
        JOIN n ON n.node = m.node
    ), said AS (
        -- not what was said in an earlier attempt
        SELECT h.* FROM heard AS h
        JOIN l4._case AS c ON c.job_id = _complaints.job_id
        JOIN l4._case_count AS x ON x.job_id = c.job_id AND x.event_id = h.event_id AND x.node = h.node
        WHERE c.attempt_ts IS NULL OR h.first_ts >= c.attempt_ts
            OR NOT EXISTS (SELECT FROM heard AS o WHERE o.node = h.node AND o.event_id = h.event_id AND o.kind = h.kind AND o.first_ts >= c.attempt_ts)
    ), ranked AS (
        SELECT s.*, f.shift, s.value::int + coalesce(f.shift, 0) AS rank
        FROM said AS s
        LEFT JOIN self AS f ON f.node = s.node AND f.event_id = s.event_id AND f.shift <> 0
        WHERE s.kind = 'rank' AND s.value ~ '^[0-9]{1,9}$'
    ), named AS (
        -- each way to name a node is a join of its own: a thousand names and a thousand nodes are hashed, not compared one by one
        SELECT s.node, s.named_node AS accused, s.first_ts, s.event_id
        FROM ranked AS s JOIN n AS a ON a.node = s.named_node
        WHERE s.shift IS NULL
        UNION ALL
        SELECT s.node, a.node, s.first_ts, s.event_id
        FROM ranked AS s JOIN seated AS a ON a.rank = s.rank
        WHERE s.shift IS NOT NULL OR s.named_node IS NULL
        UNION ALL
        SELECT s.node, a.node, s.first_ts, s.event_id
        FROM said AS s JOIN n AS a ON a.node = coalesce(s.named_node, s.value)
        WHERE s.kind = 'host'
        UNION ALL
        SELECT s.node, a.node, s.first_ts, s.event_id
        FROM said AS s JOIN n AS a ON split_part(a.node, '.', 1) = split_part(s.value, '.', 1)
        WHERE s.kind = 'host'
        UNION ALL
        SELECT w.node, w.accused, c.first_ts, w.event_id
        FROM word AS w
        JOIN l4._case_count AS c ON c.job_id = _complaints.job_id AND c.event_id = w.event_id AND c.node = w.node
        UNION ALL
        SELECT s.node, b.node, s.first_ts, s.event_id
        FROM said AS s JOIN l4.address_book(_complaints.job_id) AS b ON b.address = CASE s.kind WHEN 'host' THEN l4._host_of(s.value) ELSE s.value END
        WHERE s.kind = 'address' OR s.kind = 'host' AND s.named_node IS NULL
        UNION ALL
        -- a list with one number for each rank: those that differ from most
        SELECT s.node, a.node, s.first_ts, s.event_id
        FROM said AS s
        CROSS JOIN LATERAL (SELECT regexp_split_to_array(btrim(s.value, '[](){} '), '\s*,\s*') AS items) AS l
        CROSS JOIN LATERAL (SELECT i.item, count(*) AS times FROM unnest(l.items) AS i(item) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1) AS c
        CROSS JOIN LATERAL unnest(l.items) WITH ORDINALITY AS i(item, place)
        JOIN seated AS a ON a.rank = i.place - 1
        WHERE s.kind = 'list' AND cardinality(l.items) = (SELECT max(z.rank) + 1 FROM seated AS z)
            AND c.times >= 0.6 * cardinality(l.items) AND i.item <> c.item
    ), meant AS (
        SELECT d.node, d.accused, d.first_ts, d.event_id FROM named AS d
        UNION ALL
        -- somebody else is meant, although it cannot be told who
        SELECT s.node, '', s.first_ts, s.event_id
        FROM said AS s
        WHERE s.kind IN ('rank', 'host', 'address') AND s.named_node IS NULL
            AND NOT EXISTS (SELECT FROM named AS d WHERE d.node = s.node AND d.event_id = s.event_id)
    )
    SELECT d.node, d.accused, min(d.first_ts), array_agg(DISTINCT d.event_id)
    FROM meant AS d
    WHERE d.node <> d.accused
    GROUP BY d.node, d.accused;
END;
COMMENT ON FUNCTION l4._complaints(text) IS 'who names whom in new lines, and when first; accused is empty where it cannot be told who is meant';

-- Blame that flows through the graph: each accuser has its weight, keeps a share, and passes the rest along its edges in equal parts; it
-- stays where no edge leaves. Edges come in order of time; one that would close a cycle is left out.
CREATE FUNCTION l4._blame(accusers int[], accused int[], weights float8[], keeps float8[]) RETURNS float8[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'l4_blame';
COMMENT ON FUNCTION l4._blame(int[], int[], float8[], float8[]) IS 'blame of each node: edges in order of time by node number from 1; of each node its own weight and the share that it keeps';

CREATE FUNCTION l4._case_edges(job_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    k l4._case;
BEGIN
    SELECT * INTO STRICT k FROM l4._case AS c WHERE c.job_id = _case_edges.job_id;
    -- Complaints about a node that fails like others do are about a victim, once the first failure was reported.
    INSERT INTO l4._case_edge (job_id, accuser, accused, first_ts, weight, events)
    WITH complaint AS MATERIALIZED (SELECT z.* FROM l4._complaints(k.job_id) AS z)
    SELECT k.job_id, c.accuser, c.accused, c.first_ts,
        CASE WHEN v.node IS NULL THEN 0 WHEN v.is_victim AND c.first_ts >= k.terminal_ts
            -- who was killed is none, whatever the other processes of its node say
            AND NOT c.events && ARRAY(SELECT x.event_id FROM (SELECT DISTINCT unnest(z.events) AS event_id FROM complaint AS z) AS x
                WHERE l4._tells_killed(k.job_id, x.event_id)) THEN 0.1 ELSE 1 END, c.events
    FROM complaint AS c
    LEFT JOIN l4._case_node AS v ON v.job_id = k.job_id AND v.node = c.accused;
    -- an accuser that has better to say is not heard about victims
    UPDATE l4._case_edge AS e SET weight = 0
    WHERE e.job_id = k.job_id AND e.weight > 0 AND e.weight < 1
        AND EXISTS (SELECT FROM l4._case_edge AS o WHERE o.job_id = e.job_id AND o.accuser = e.accuser AND o.weight = 1);
    -- of two that name each other, the one that is named more often is a reporter: it is heard, the other is not
    UPDATE l4._case_edge AS e SET weight = 0
    FROM l4._case_edge AS o
    WHERE e.job_id = k.job_id AND o.job_id = k.job_id AND o.accuser = e.accused AND o.accused = e.accuser AND o.weight > 0
        AND (SELECT sum(a.weight) FROM l4._case_edge AS a WHERE a.job_id = k.job_id AND a.accused = e.accused)
            > (SELECT sum(a.weight) FROM l4._case_edge AS a WHERE a.job_id = k.job_id AND a.accused = o.accused);
    -- so is, round three corners, one that most nodes name
    WITH named AS MATERIALIZED (
        SELECT a.accused AS node, count(*) AS accusers FROM l4._case_edge AS a WHERE a.job_id = k.job_id AND a.weight > 0 GROUP BY a.accused
    ), few AS MATERIALIZED (
        SELECT a.accuser, a.accused FROM (SELECT z.*, count(*) OVER (PARTITION BY z.accuser) AS names FROM l4._case_edge AS z WHERE z.job_id = k.job_id AND z.weight > 0) AS a
        WHERE a.names <= 8
    )
    UPDATE l4._case_edge AS e SET weight = 0
    FROM named AS r
    JOIN few AS o ON o.accuser = r.node
    JOIN few AS p ON p.accuser = o.accused
    WHERE e.job_id = k.job_id AND e.weight > 0 AND e.accused = r.node AND e.accuser = p.accused AND 2 * r.accusers >= k.nodes
        AND r.accusers > (SELECT max(n.accusers) FROM named AS n WHERE n.node IN (o.accused, p.accused));
END;
$$;
COMMENT ON FUNCTION l4._case_edges(text) IS 'working set: complaints that count';

CREATE FUNCTION l4.evidence_accused(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE SET enable_nestloop = off SET jit = off
BEGIN ATOMIC
    WITH k AS (
        SELECT c.* FROM l4._case AS c WHERE c.job_id = evidence_accused.job_id
    ), n AS (
        SELECT z.node, z.new_ts, row_number() OVER (ORDER BY z.place, z.node)::int AS number
        FROM l4._case_node AS z WHERE z.job_id = evidence_accused.job_id
    ), edge AS (
        SELECT e.*,
            row_number() OVER (PARTITION BY e.accuser ORDER BY e.first_ts, e.accused COLLATE "C") AS place
        FROM l4._case_edge AS e WHERE e.job_id = evidence_accused.job_id AND e.weight > 0
    ), crier AS (
        -- who names half of the others is the odd one itself, unless they had failed by then
        SELECT e.accuser FROM edge AS e CROSS JOIN k WHERE e.weight = 1 GROUP BY e.accuser, k.nodes HAVING count(*) >= greatest(3, k.nodes / 2)
    ), kept AS (
        SELECT e.* FROM edge AS e WHERE e.place <= 8 AND NOT EXISTS (SELECT FROM crier AS c WHERE c.accuser = e.accuser)
    ), own AS (
        SELECT u.node FROM l4.evidence_unique(evidence_accused.job_id) AS u WHERE u.value >= 1
    ), accuser AS (
        SELECT e.accuser AS node, max(e.weight) AS weight, min(e.first_ts) AS first_ts FROM kept AS e GROUP BY e.accuser
    ), named AS (
        SELECT e.accused AS node, count(*) AS accusers, (array_agg(e.events[1] ORDER BY e.weight DESC, e.first_ts, e.events[1]))[1] AS event_id
        FROM edge AS e GROUP BY e.accused
    ), weighed AS (
        SELECT n.number, n.node,
            coalesce(a.weight, 0) + CASE WHEN n.node IN (SELECT c.accuser FROM crier AS c) THEN k.nodes / 2.0 ELSE 0 END AS weight,
            CASE WHEN n.node NOT IN (SELECT o.node FROM own AS o) OR n.new_ts >= a.first_ts THEN 0
                WHEN (SELECT count(*) FROM own) = 1 THEN 1 ELSE 0.7 END AS keep
        FROM n LEFT JOIN accuser AS a USING (node) CROSS JOIN k
    ), numbered AS (
        SELECT array_agg(a.number ORDER BY e.first_ts, a.number, d.number) AS accusers, array_agg(d.number ORDER BY e.first_ts, a.number, d.number) AS accused
        FROM kept AS e JOIN n AS a ON a.node = e.accuser JOIN n AS d ON d.node = e.accused
    ), blamed AS (
        SELECT w.node, b.blame, sum(b.blame) OVER () AS total
        FROM (SELECT l4._blame(
                (SELECT coalesce(z.accusers, '{}') FROM numbered AS z), (SELECT coalesce(z.accused, '{}') FROM numbered AS z),
                (SELECT array_agg(x.weight::float8 ORDER BY x.number) FROM weighed AS x),
                (SELECT array_agg(x.keep::float8 ORDER BY x.number) FROM weighed AS x)) AS blame) AS z
        CROSS JOIN LATERAL unnest(z.blame) WITH ORDINALITY AS b(blame, number)
        JOIN weighed AS w ON w.number = b.number
    )
    SELECT b.node, b.blame / greatest(b.total, 1.5),
        CASE WHEN b.node IN (SELECT c.accuser FROM crier AS c) THEN 'complains about half of the others'
            WHEN f.accusers > 0 THEN 'named by ' || f.accusers || CASE WHEN f.accusers = 1 THEN ' node: ' ELSE ' nodes: ' END || left(t.template, 120)
            ELSE 'deviates before it complains about others' END
    FROM blamed AS b
    LEFT JOIN named AS f USING (node)
    LEFT JOIN l4._event AS t ON t.event_id = f.event_id
    WHERE b.blame > 0;
END;
COMMENT ON FUNCTION l4.evidence_accused(text) IS 'evidence: the share of the blame that the others'' complaints leave with this node';
