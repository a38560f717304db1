-- Who names whom: values that mean ranks, hosts and addresses, and the nodes that have them.

CREATE FUNCTION l4._host_of(value text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
-- most values are bare: no expression runs
RETURN CASE WHEN pg_catalog.translate(value, ':/@[(', '') OPERATOR(pg_catalog.=) value THEN value
    ELSE pg_catalog.regexp_replace(pg_catalog.regexp_replace(value,
    '^(?:[a-z][a-z0-9+.-]*://)?(?:[^/@]*@)?(?:[[(]([^])]*)[])](?::[0-9]+)?|'
    '([^:/]+)(?::[0-9]+)?|([^/:]*:[^/:]*:[^/]*))(?:/.*)?$',
    '\1\2\3', 'i'), '^::ffff:', '', 'i') END;
COMMENT ON FUNCTION l4._host_of(text) IS 'host of an address: without scheme, brackets, port and path';

CREATE VIEW l4._rank_node AS
SELECT r.job_id, r.rank, COALESCE(pg_catalog.min(r.node) FILTER (WHERE NOT r.listed), pg_catalog.min(r.node)) AS node
FROM (SELECT s.job_id, s.node, k.rank, false AS listed
      FROM l4._stream s
      CROSS JOIN LATERAL pg_catalog.unnest(ARRAY(
          SELECT pg_catalog.generate_series(pg_catalog.lower(span.ranks), pg_catalog.upper(span.ranks)
              OPERATOR(pg_catalog.-) 1)
          FROM pg_catalog.unnest(s.ranks) AS span(ranks))) AS k(rank)
      UNION ALL
      SELECT n.job_id, n.node, n.rank, true
      FROM l4.job_node n
      WHERE n.rank IS NOT NULL) r
GROUP BY 1, 2
HAVING COALESCE(NULLIF(pg_catalog.count(DISTINCT r.node) FILTER (WHERE NOT r.listed), 0),
    pg_catalog.count(DISTINCT r.node)) OPERATOR(pg_catalog.=) 1;
COMMENT ON VIEW l4._rank_node IS
    'the node of a rank, where it is one node: by the heads of lines, else by the inventory';

CREATE VIEW l4._node_name AS
SELECT n.job_id, n.name, pg_catalog.min(n.node) AS node
FROM (SELECT j.job_id, j.node, j.node AS name FROM l4.job_node j
      UNION
      SELECT j.job_id, j.node, a.name FROM l4.job_node j CROSS JOIN LATERAL pg_catalog.unnest(j.addresses) AS a(name)) n
GROUP BY 1, 2
HAVING pg_catalog.count(*) OPERATOR(pg_catalog.=) 1;
COMMENT ON VIEW l4._node_name IS 'the node of a host name or address, where it is one node';

CREATE VIEW l4._slot_kind AS
SELECT DISTINCT ON (l4._survivor(e.event_id, e.merged_into), k.slot) l4._survivor(e.event_id, e.merged_into)
    AS event_id, k.slot, k.kind
FROM l4._event_slot k JOIN l4._event e ON e.event_id OPERATOR(pg_catalog.=) k.event_id
WHERE k.kind IS NOT NULL
ORDER BY 1, 2, k.event_id;
COMMENT ON VIEW l4._slot_kind IS 'what the variable parts of the surviving events mean';

CREATE VIEW l4._slot_key AS
SELECT COALESCE(pg_catalog.array_agg((k.event_id::bigint OPERATOR(pg_catalog.<<) 32)
    OPERATOR(pg_catalog.|) k.slot::bigint), '{}') AS slots
FROM l4._slot_kind k;
COMMENT ON VIEW l4._slot_key IS 'one row: the variable parts that mean something, as l4._unpack_values() takes them';

CREATE VIEW l4.mention AS
SELECT v.job_id, v.node, v.event_id, COALESCE(k.kind, 'host') AS kind, v.value,
       CASE WHEN k.kind OPERATOR(pg_catalog.=) 'rank' THEN r.node WHEN k.kind IS NULL OR k.kind
           OPERATOR(pg_catalog.=) ANY (ARRAY['host', 'address']) THEN n.node END AS named_node,
       v.occurrences, v.first_ts
FROM (SELECT s.job_id, s.node, u.event_id, u.slot, u.value,
             l4._host_of(u.value) AS host,
             CASE WHEN NOT pg_catalog.bool_or(u.occurrences IS NULL) THEN pg_catalog.sum(u.occurrences)::bigint END
                 AS occurrences,
             pg_catalog.min(u.first_ts) AS first_ts
      FROM l4._slot_context x
      CROSS JOIN l4._stream s
      JOIN l4._summary m ON m.stream_id OPERATOR(pg_catalog.=) s.stream_id AND m.part OPERATOR(pg_catalog.=) 0
      CROSS JOIN LATERAL l4._unpack_values(m.slots, m.open_slots, m.events, m.open_events, x.merged, x.survivors,
          x.word_events, x.word_slots, x.words,
                                           NULL, (SELECT k.slots FROM l4._slot_key k), false) AS u
      GROUP BY 1, 2, 3, 4, 5) v
LEFT JOIN l4._slot_kind k ON k.event_id OPERATOR(pg_catalog.=) v.event_id AND k.slot OPERATOR(pg_catalog.=) v.slot
LEFT JOIN l4._node_name n ON n.job_id OPERATOR(pg_catalog.=) v.job_id AND n.name OPERATOR(pg_catalog.=) v.host
LEFT JOIN l4._rank_node r ON r.job_id OPERATOR(pg_catalog.=) v.job_id
     AND r.rank OPERATOR(pg_catalog.=) CASE WHEN k.kind OPERATOR(pg_catalog.=) 'rank' AND v.value
         OPERATOR(pg_catalog.~) '^[0-9]{1,9}$' THEN v.value::int END
WHERE k.kind IS NOT NULL OR n.node IS NOT NULL;
COMMENT ON VIEW l4.mention IS
    'who names whom: ranks, hosts, addresses, exit statuses, devices and lists of numbers in the variable parts of '
    'events';
COMMENT ON COLUMN l4.mention.job_id IS 'the job';
COMMENT ON COLUMN l4.mention.node IS 'the node that writes';
COMMENT ON COLUMN l4.mention.event_id IS 'the event in which it writes';
COMMENT ON COLUMN l4.mention.kind IS
    'rank, host, address, own (an address of the node that writes), exit, device or list';
COMMENT ON COLUMN l4.mention.value IS 'as written';
COMMENT ON COLUMN l4.mention.named_node IS 'the node that is meant, where ranks, names or addresses of the job tell';
COMMENT ON COLUMN l4.mention.occurrences IS 'records; NULL = not counted, too many different values';
COMMENT ON COLUMN l4.mention.first_ts IS 'time of the first record';
