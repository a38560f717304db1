-- Who names whom: values that mean ranks, hosts and addresses, and the nodes that have them.

-- not STRICT: that would keep it from becoming a part of the query that calls it
--: host of an address: without scheme, brackets, port and path
CREATE FUNCTION l4._host_of(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- most values are bare, or paths, which have no host: no expression runs
RETURN CASE WHEN translate(value, ':/@[(', '') = value OR starts_with(value, '/') THEN value
    ELSE regexp_replace(regexp_replace(value,
    '^(?:[a-z][a-z0-9+.-]*://)?(?:[^/@]*@)?(?:[[(]([^])]*)[])](?::[0-9]+)?|'
    '([^:/]+)(?::[0-9]+)?|([^/:]*:[^/:]*:[^/]*))(?:/.*)?$',
    '\1\2\3', 'i'), '^::ffff:', '', 'i') END;

--: the node of a rank, where it is one node: by the heads of lines, else by the inventory
CREATE VIEW l4._rank_node AS
SELECT r.job_id, r.rank, COALESCE(min(r.node) FILTER (WHERE NOT r.listed), min(r.node)) AS node
FROM (SELECT s.job_id, s.node, k.rank, false AS listed
    FROM l4._stream s
    CROSS JOIN LATERAL unnest(ARRAY(SELECT generate_series(lower(span.ranks), upper(span.ranks) - 1)
        FROM unnest(s.ranks) AS span(ranks))) AS k(rank)
    UNION ALL
    SELECT n.job_id, n.node, n.rank, true FROM l4.job_node n WHERE n.rank IS NOT NULL) r
GROUP BY 1, 2
HAVING COALESCE(NULLIF(count(DISTINCT r.node) FILTER (WHERE NOT r.listed), 0), count(DISTINCT r.node)) = 1;

--: the ranks of a job and their nodes, none where no node has several
CREATE FUNCTION l4._several_ranks(job_id text) RETURNS TABLE (node text, rank int)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 500
BEGIN ATOMIC
    SELECT m.node, m.rank
    FROM (SELECT c.node, c.rank, max(c.ranks) OVER () AS most
        FROM (SELECT r.node, r.rank, count(*) OVER (PARTITION BY r.node) AS ranks
            FROM l4._rank_node AS r WHERE r.job_id = _several_ranks.job_id) AS c) AS m
    WHERE m.most > 1;
END;

--: the node of a host name or address, where it is one node
CREATE VIEW l4._node_name AS
SELECT n.job_id, n.name, min(n.node) AS node
FROM (SELECT j.job_id, j.node, j.node AS name FROM l4.job_node j
    UNION
    SELECT j.job_id, j.node, a.name FROM l4.job_node j CROSS JOIN LATERAL unnest(j.addresses) AS a(name)) n
GROUP BY 1, 2
HAVING count(*) = 1;

--: what the variable parts of the surviving events mean
CREATE VIEW l4._slot_kind AS
SELECT DISTINCT ON (l4._survivor(e.event_id, e.merged_into), k.slot)
    l4._survivor(e.event_id, e.merged_into) AS event_id, k.slot, k.kind
FROM l4._event_slot k JOIN l4._event e ON e.event_id = k.event_id
WHERE k.kind IS NOT NULL
ORDER BY 1, 2, k.event_id;

--: who names whom: ranks, hosts, addresses, exit statuses, devices and lists of numbers in the variable parts of events
--.node the node that writes
--.event_id the event in which it writes
--.kind rank, host, address, own (an address of the node that writes), exit, device or list
--.value as written
--.named_node the node that is meant, where ranks, names or addresses of the job tell
--.occurrences records; NULL = not counted, too many different values
CREATE VIEW l4.mention AS
SELECT v.job_id, v.node, v.event_id, COALESCE(k.kind, 'host') AS kind, v.value,
    CASE WHEN k.kind = 'rank' THEN r.node WHEN k.kind IS NULL OR k.kind IN ('host', 'address') THEN n.node END
        AS named_node,
    CASE WHEN NOT bool_or(v.occurrences IS NULL) THEN sum(v.occurrences)::bigint END AS occurrences,
    min(v.first_ts) AS first_ts
FROM (SELECT s.job_id, s.node, u.event_id, u.slot, u.value, l4._host_of(u.value) AS host, u.occurrences, u.first_ts
    FROM l4._slot_context() x
    CROSS JOIN l4._summary s
    CROSS JOIN LATERAL l4._unpack_values(s.slots, s.open_slots, s.events, s.open_events, x.merged, x.survivors,
        x.word_events, x.word_slots, x.words, NULL,
        ARRAY(SELECT k.event_id::bigint << 32 | k.slot::bigint FROM l4._slot_kind k), false) AS u
    WHERE s.part = 0) v
LEFT JOIN l4._slot_kind k ON k.event_id = v.event_id AND k.slot = v.slot
LEFT JOIN l4._node_name n ON n.job_id = v.job_id AND n.name = v.host
LEFT JOIN l4._rank_node r ON r.job_id = v.job_id
    AND r.rank = CASE WHEN k.kind = 'rank' AND v.value ~ '^[0-9]{1,9}$' THEN v.value::int END
WHERE k.kind IS NOT NULL OR n.node IS NOT NULL
-- few values name something: what does not is not grouped
GROUP BY v.job_id, v.node, v.event_id, v.slot, v.value, k.kind, n.node, r.node;
