-- Evidence of network flows about the nodes of a job. Its tables come later in the install script, so these functions
-- are in PL/pgSQL. Where no flows were read there is no row, and no diagnosis changes.

--: issues found in network flows that nodes of a case have, up to its failure; covers: it begins before that; caused:
--: another issue explains it
CREATE FUNCTION l4._network_issues(job_id text)
RETURNS TABLE (kind text, subject text, first_ts timestamptz, last_ts timestamptz, score float8, nodes text[],
    covers bool, caused bool)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 5 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM l4.flow_issue) THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH k AS (
        SELECT c.*, l4._seconds((c.t).known_lead) AS lead,
            CASE c.symptom WHEN 'slow' THEN c.onset_ts ELSE coalesce(c.progress_ts, c.terminal_ts, c.last_ts) END AS ts
        FROM l4._case AS c WHERE c.job_id = _network_issues.job_id
    ), member AS MATERIALIZED (
        SELECT DISTINCT m.flow_job, host(m.address) AS address, n.node, e.switch
        FROM l4.flow_job_match AS x
        JOIN l4.flow_member AS m USING (flow_job)
        JOIN l4.job_node AS n ON n.job_id = x.job_id AND (host(m.address) = ANY (n.addresses) OR n.node = m.machine)
        LEFT JOIN l4.flow_endpoint AS e ON e.address = m.address
        WHERE x.job_id = _network_issues.job_id
    )
    SELECT i.kind, i.subject, i.first_ts, i.last_ts, i.score,
        array_agg(DISTINCT m.node COLLATE "C" ORDER BY m.node COLLATE "C"),
        i.first_ts <= k.ts + k.lead OR k.symptom <> 'slow' AND i.first_ts <= coalesce(k.terminal_ts, k.last_ts),
        i.evidence ? 'cause'
    FROM k
    JOIN l4.flow_issue AS i ON i.kind <> 'slow_step' AND i.first_ts <= k.last_ts
        AND i.last_ts >= coalesce(k.attempt_ts, k.first_ts)
    JOIN member AS m ON m.flow_job = coalesce(i.flow_job, m.flow_job)
        AND CASE i.kind WHEN 'slow_switch' THEN m.switch = i.subject
            ELSE m.address = ANY (string_to_array(i.subject, ' ')) END
    WHERE k.symptom <> 'none' AND i.last_ts >= k.ts - k.lead
    GROUP BY i.kind, i.subject, i.first_ts, i.last_ts, i.score, i.evidence, k.symptom, k.ts, k.lead, k.terminal_ts,
        k.last_ts;
END;
$$;

--: the first five of these, and how many there are more; NULL for none
CREATE FUNCTION l4._first_few(names text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN cardinality(names) > 5 THEN array_to_string(names[1:5], ', ') || ' and ' || cardinality(names) - 5
    || ' more'
    WHEN cardinality(names) > 0 THEN array_to_string(names, ', ') END;

--: in words when a link was slow, and how much, by the share of bandwidth that it lacked
CREATE FUNCTION l4._network_times(first_ts timestamptz, last_ts timestamptz, score float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format('from %s to %s UTC', to_char(first_ts AT TIME ZONE 'UTC', 'HH24:MI:SS'),
    to_char(last_ts AT TIME ZONE 'UTC', 'HH24:MI:SS'))
    || coalesce(format(', %s times', round((1 / nullif(1 - score, 0))::numeric, 1)), '');

--: evidence: what network flows say of the node's links, of its ranks, and who sent nothing more first
CREATE FUNCTION l4.evidence_network(job_id text) RETURNS TABLE (node text, value float8, detail text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 5
BEGIN ATOMIC
    SELECT DISTINCT ON (r.node) r.node, r.value::float8, r.detail
    FROM (
        SELECT n.node, i.first_ts,
            CASE WHEN i.kind = 'slow_switch' THEN (k.t).victim_weight WHEN i.kind = 'stopped' THEN 1
                WHEN NOT i.covers OR i.caused THEN (k.t).faint WHEN k.symptom = 'slow' THEN 1
                ELSE (k.t).weak END AS value,
            CASE i.kind
                WHEN 'slow_switch' THEN format('behind slow switch %s', i.subject)
                    || coalesce(' with ' || l4._first_few(array_remove(i.nodes, n.node)), '')
                    || ' (' || l4._network_times(i.first_ts, i.last_ts, i.score) || ')'
                WHEN 'slow_group' THEN format('its link %s was slow %s', i.subject,
                    l4._network_times(i.first_ts, i.last_ts, i.score))
                WHEN 'slow_rank' THEN format('%s %% longer between its sends than its data parallel group %s',
                    round(100 * i.score::numeric), l4._network_times(i.first_ts, i.last_ts, NULL))
                ELSE format('the first to send nothing more, at %s UTC',
                    to_char(i.first_ts AT TIME ZONE 'UTC', 'HH24:MI:SS')) END AS detail
        FROM l4._case AS k
        CROSS JOIN LATERAL l4._network_issues(k.job_id) AS i
        CROSS JOIN LATERAL unnest(i.nodes) AS n(node)
        WHERE k.job_id = evidence_network.job_id) AS r
    ORDER BY r.node, r.value DESC, r.first_ts, r.detail COLLATE "C";
END;

-- Nodes that are slow together behind a slow switch are its victims: that they are slow counts little against them.
--: nodes behind a switch that was slow when the job became so
CREATE FUNCTION l4._behind_switch(job_id text) RETURNS text[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(array_agg(DISTINCT n.node), '{}')
    FROM l4._network_issues(_behind_switch.job_id) AS i CROSS JOIN LATERAL unnest(i.nodes) AS n(node)
    WHERE i.kind = 'slow_switch' AND i.covers AND cardinality(i.nodes) > 1;
END;

-- What network flows give as the cause of a slow job that no line states: a switch before links, links before ranks.
--: a diagnosis with what network flows show as the cause, where no line states one
CREATE FUNCTION l4._network_cause(k l4._case, d l4.diagnosis) RETURNS l4.diagnosis
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    i record;
BEGIN
    IF k.symptom <> 'slow' OR d.confidence IN ('certain', 'likely') THEN
        RETURN d;
    END IF;
    SELECT x.*, l4._network_times(x.first_ts, x.last_ts, CASE WHEN x.kind <> 'slow_rank' THEN x.score END) AS times
    INTO i
    FROM l4._network_issues(k.job_id) AS x
    WHERE x.covers AND NOT x.caused AND x.kind <> 'stopped'
    ORDER BY array_position(ARRAY['slow_switch', 'slow_group', 'slow_rank'], x.kind), x.score DESC, x.subject LIMIT 1;
    IF i IS NULL THEN
        RETURN d;
    END IF;
    d.category := 'hardware';
    d.component := CASE i.kind WHEN 'slow_rank' THEN 'node' ELSE 'network' END;
    d.confidence := 'likely';
    d.cause := format(CASE i.kind
        WHEN 'slow_switch' THEN 'network flows: switch %1$s was slow %2$s; %3$s behind it'
        WHEN 'slow_group' THEN 'network flows: link %1$s of %3$s was slow %2$s'
        ELSE 'network flows: %3$s took longer between sends than its data parallel group %2$s' END,
        i.subject, i.times, l4._first_few(i.nodes));
    d.alternatives := CASE i.kind
        WHEN 'slow_switch' THEN ARRAY['the switch: errors, drops and pauses of its ports, and what else it carries',
            'the cables and transceivers of its uplinks']
        WHEN 'slow_group' THEN ARRAY['the port and its cable: errors, retransmissions, link width and speed',
            'the node: what else uses the link']
        ELSE ARRAY['its accelerators or processors run slower: clocks, temperature, other processes there'] END;
    RETURN d;
END;
$$;

-- Changes with what network flows say of a job.
--: number that changes with the issues that network flows show of a job
CREATE FUNCTION l4._network_state(job_id text) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET DateStyle = ISO
    SET TimeZone = UTC
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM l4.flow_issue) THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT sum(hashtextextended(i::text, 0)) % 9223372036854775807
        FROM l4.flow_job_match AS m JOIN l4.flow_issue AS i ON i.flow_job = m.flow_job OR i.flow_job IS NULL
        WHERE m.job_id = _network_state.job_id);
END;
$$;
