-- Network flows: what their analysis finds. All of it is written anew by each l4.trace_flows().

CREATE TABLE l4.flow_job (
    flow_job text NOT NULL,
    first_ts timestamptz NOT NULL,
    last_ts timestamptz NOT NULL,
    runs int NOT NULL,
    nics int NOT NULL,
    machines int,
    period_ms float8 NOT NULL,
    dp int NOT NULL,
    pp int NOT NULL,
    status text NOT NULL,
    coverage jsonb NOT NULL,
    CONSTRAINT flow_job_pkey PRIMARY KEY (flow_job)
);
COMMENT ON TABLE l4.flow_job IS 'training jobs found in network flows';
COMMENT ON COLUMN l4.flow_job.flow_job IS 'name: when its first run began, in UTC, and its least address';
COMMENT ON COLUMN l4.flow_job.first_ts IS 'start of its first record';
COMMENT ON COLUMN l4.flow_job.last_ts IS 'end of its last record';
COMMENT ON COLUMN l4.flow_job.runs IS 'times that it was started';
COMMENT ON COLUMN l4.flow_job.nics IS 'addresses that took part';
COMMENT ON COLUMN l4.flow_job.machines IS 'machines that took part; NULL without an inventory';
COMMENT ON COLUMN l4.flow_job.period_ms IS 'usual duration of a step';
COMMENT ON COLUMN l4.flow_job.dp IS 'addresses of the largest data parallel group';
COMMENT ON COLUMN l4.flow_job.pp IS 'data parallel groups that pipeline pairs connect: stages';
COMMENT ON COLUMN l4.flow_job.status IS 'SAMPLED, COARSE, PARTIAL, UNSETTLED or OK: the first that holds';
COMMENT ON COLUMN l4.flow_job.coverage IS 'steps found, whether there is an inventory, addresses left out as hubs';

CREATE TABLE l4._flow_step (
    flow_job text NOT NULL,
    run int NOT NULL,
    step int NOT NULL,
    started timestamptz NOT NULL,
    ended timestamptz NOT NULL,
    dp_ms float8 NOT NULL,
    cover float8 NOT NULL,
    reason text,
    CONSTRAINT _flow_step_pkey PRIMARY KEY (flow_job, step)
);
COMMENT ON TABLE l4._flow_step IS 'steps of the jobs found in network flows';

CREATE TABLE l4._flow_member (
    flow_job text NOT NULL,
    run int NOT NULL,
    address inet NOT NULL,
    dp_group int NOT NULL,
    first_ts timestamptz NOT NULL,
    last_ts timestamptz NOT NULL,
    first_step int NOT NULL,
    pp_ms float4[] NOT NULL,
    CONSTRAINT _flow_member_pkey PRIMARY KEY (flow_job, run, address)
);
COMMENT ON TABLE l4._flow_member IS 'addresses of the runs of jobs found in network flows';

CREATE TABLE l4._flow_edge (
    flow_job text NOT NULL,
    a inet NOT NULL,
    b inet NOT NULL,
    kind text NOT NULL,
    records bigint NOT NULL,
    bytes float8 NOT NULL,
    sizes float8[] NOT NULL,
    evidence jsonb NOT NULL,
    CONSTRAINT _flow_edge_pkey PRIMARY KEY (flow_job, a, b)
);
COMMENT ON TABLE l4._flow_edge IS 'pairs of addresses of the jobs found in network flows';

CREATE TABLE l4.flow_issue (
    flow_job text,
    rank int NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    first_ts timestamptz NOT NULL,
    last_ts timestamptz NOT NULL,
    score float8 NOT NULL,
    reasons text[] NOT NULL,
    evidence jsonb NOT NULL
);
COMMENT ON TABLE l4.flow_issue IS 'what was slow or stopped, by network flows';
COMMENT ON COLUMN l4.flow_issue.flow_job IS 'the job; NULL where several are hit';
COMMENT ON COLUMN l4.flow_issue.rank IS 'order in the job: causes first';
COMMENT ON COLUMN l4.flow_issue.kind IS 'slow_step, slow_rank, slow_group, slow_switch or stopped';
COMMENT ON COLUMN l4.flow_issue.subject IS
    'the step, the addresses, the switch; of stopped: who sent nothing more first';
COMMENT ON COLUMN l4.flow_issue.first_ts IS 'begin';
COMMENT ON COLUMN l4.flow_issue.last_ts IS 'end';
COMMENT ON COLUMN l4.flow_issue.score IS 'how much slower than usual, as a share; of stopped: seconds';
COMMENT ON COLUMN l4.flow_issue.reasons IS 'why';
COMMENT ON COLUMN l4.flow_issue.evidence IS 'cause and subject: kind and subject of the issue that explains this one';

CREATE VIEW l4.flow_member AS
SELECT m.flow_job, m.address, e.machine, e.nic, (pg_catalog.array_agg(m.dp_group ORDER BY m.run))[1] AS dp_group,
    pg_catalog.min(m.first_ts) AS first_ts, pg_catalog.max(m.last_ts) AS last_ts
FROM l4._flow_member AS m
LEFT JOIN l4.flow_endpoint AS e ON e.address OPERATOR(pg_catalog.=) m.address
GROUP BY m.flow_job, m.address, e.machine, e.nic;
COMMENT ON VIEW l4.flow_member IS 'addresses of each job found in network flows';
COMMENT ON COLUMN l4.flow_member.flow_job IS 'the job';
COMMENT ON COLUMN l4.flow_member.address IS 'the NIC';
COMMENT ON COLUMN l4.flow_member.machine IS 'machine, by l4.flow_endpoint';
COMMENT ON COLUMN l4.flow_member.nic IS 'number in the machine, by l4.flow_endpoint';
COMMENT ON COLUMN l4.flow_member.dp_group IS 'number of its data parallel group; 0 = none';
COMMENT ON COLUMN l4.flow_member.first_ts IS 'begin of the first run that it is in';
COMMENT ON COLUMN l4.flow_member.last_ts IS 'end of the last run that it is in';

CREATE VIEW l4.flow_pair AS
SELECT p.flow_job, p.a, p.b, p.kind, p.records, p.bytes, p.sizes, p.evidence FROM l4._flow_edge AS p;
COMMENT ON VIEW l4.flow_pair IS 'pairs of addresses of each job, and what they exchange';
COMMENT ON COLUMN l4.flow_pair.flow_job IS 'the job';
COMMENT ON COLUMN l4.flow_pair.a IS 'the lesser address';
COMMENT ON COLUMN l4.flow_pair.b IS 'the greater address';
COMMENT ON COLUMN l4.flow_pair.kind IS 'dp, pp, ep, cp (data, pipeline, expert, context parallel) or other';
COMMENT ON COLUMN l4.flow_pair.records IS 'flow records';
COMMENT ON COLUMN l4.flow_pair.bytes IS 'bytes, with sampling multiplied';
COMMENT ON COLUMN l4.flow_pair.sizes IS 'sizes of its records: up to eight, those with most bytes first';
COMMENT ON COLUMN l4.flow_pair.evidence IS 'shares: greater direction, simultaneous, main size; records a step';

CREATE VIEW l4.flow_step AS
SELECT s.flow_job, s.step, s.started, s.ended,
    (EXTRACT(epoch FROM s.ended OPERATOR(pg_catalog.-) s.started) OPERATOR(pg_catalog.*) 1000)::float8 AS duration_ms,
    s.dp_ms, s.cover, s.reason
FROM l4._flow_step AS s;
COMMENT ON VIEW l4.flow_step IS 'training steps of each job found in network flows';
COMMENT ON COLUMN l4.flow_step.flow_job IS 'the job';
COMMENT ON COLUMN l4.flow_step.step IS 'number from 0; goes on where the job is started again';
COMMENT ON COLUMN l4.flow_step.started IS 'end of the step before; of the first of a run its first record';
COMMENT ON COLUMN l4.flow_step.ended IS 'end of the last data parallel record';
COMMENT ON COLUMN l4.flow_step.duration_ms IS 'duration';
COMMENT ON COLUMN l4.flow_step.dp_ms IS 'time with data parallel records, of the group that had most';
COMMENT ON COLUMN l4.flow_step.cover IS 'share of the data parallel groups whose end was seen';
COMMENT ON COLUMN l4.flow_step.reason IS 'what is unusual; NULL = nothing';

CREATE VIEW l4.flow_step_nic AS
SELECT m.flow_job, m.address, s.step, s.started, s.ended, t.pp_ms, s.dp_ms,
    GREATEST((EXTRACT(epoch FROM s.ended OPERATOR(pg_catalog.-) s.started) OPERATOR(pg_catalog.*) 1000)::float8
        OPERATOR(pg_catalog.-) s.dp_ms OPERATOR(pg_catalog.-) t.pp_ms, 0) AS compute_ms
FROM l4._flow_member AS m
JOIN l4._flow_step AS s ON s.flow_job OPERATOR(pg_catalog.=) m.flow_job AND s.run OPERATOR(pg_catalog.=) m.run
CROSS JOIN LATERAL (SELECT COALESCE(m.pp_ms[s.step OPERATOR(pg_catalog.-) m.first_step OPERATOR(pg_catalog.+) 1], 0)
    ::float8) AS t(pp_ms);
COMMENT ON VIEW l4.flow_step_nic IS 'training steps of each address of a job';
COMMENT ON COLUMN l4.flow_step_nic.flow_job IS 'the job';
COMMENT ON COLUMN l4.flow_step_nic.address IS 'the NIC';
COMMENT ON COLUMN l4.flow_step_nic.step IS 'number of the step';
COMMENT ON COLUMN l4.flow_step_nic.started IS 'start of the step';
COMMENT ON COLUMN l4.flow_step_nic.ended IS 'end of the step';
COMMENT ON COLUMN l4.flow_step_nic.pp_ms IS 'time with pipeline records of this NIC';
COMMENT ON COLUMN l4.flow_step_nic.dp_ms IS 'time with data parallel records, of the group of the job that had most';
COMMENT ON COLUMN l4.flow_step_nic.compute_ms IS 'the rest of the step';

-- A job whose times are not known may be any that its nodes took part in.
CREATE VIEW l4.flow_job_match AS
WITH known AS (
    SELECT n.job_id, u.address FROM l4.job_node AS n CROSS JOIN LATERAL pg_catalog.unnest(n.addresses) AS u(address)
), found AS (
    SELECT m.flow_job, m.address, k.job_id
    FROM l4.flow_member AS m JOIN known AS k ON k.address OPERATOR(pg_catalog.=) pg_catalog.host(m.address)
    UNION
    SELECT m.flow_job, m.address, n.job_id
    FROM l4.flow_member AS m JOIN l4.job_node AS n ON n.node OPERATOR(pg_catalog.=) m.machine
)
SELECT f.flow_job, x.job_id, pg_catalog.count(*)::int AS shared,
    pg_catalog.count(*)::float8 OPERATOR(pg_catalog./) f.nics AS share
FROM found AS x
JOIN l4.flow_job AS f ON f.flow_job OPERATOR(pg_catalog.=) x.flow_job
JOIN l4.job AS j ON j.job_id OPERATOR(pg_catalog.=) x.job_id
WHERE COALESCE(j.started_at OPERATOR(pg_catalog.<=) f.last_ts, true)
    AND COALESCE(j.ended_at OPERATOR(pg_catalog.>=) f.first_ts, true)
GROUP BY f.flow_job, f.nics, x.job_id;
COMMENT ON VIEW l4.flow_job_match IS 'jobs of l4.job that ran on the addresses or machines of a job found in flows';
COMMENT ON COLUMN l4.flow_job_match.flow_job IS 'the job found in flows';
COMMENT ON COLUMN l4.flow_job_match.job_id IS 'the job that logs know';
COMMENT ON COLUMN l4.flow_job_match.shared IS 'addresses of the former that job_node gives the latter';
COMMENT ON COLUMN l4.flow_job_match.share IS 'the same as a share of all addresses of the former';

CREATE FUNCTION l4.forget_flows(before timestamptz DEFAULT 'infinity') RETURNS bigint
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    gone bigint;
BEGIN
    LOCK TABLE l4._flow_chunk IN SHARE ROW EXCLUSIVE MODE;
    WITH c AS (DELETE FROM l4._flow_chunk AS x WHERE x.last_ts < before RETURNING x.records)
    SELECT coalesce(sum(c.records), 0) INTO gone FROM c;
    DELETE FROM l4._flow_link AS k WHERE NOT EXISTS (SELECT FROM l4._flow_chunk AS c WHERE c.pair_id = k.pair_id);
    IF NOT EXISTS (SELECT FROM l4._flow_chunk) THEN
        DELETE FROM l4._flow_exporter;
        DELETE FROM l4._flow_source;
    END IF;
    PERFORM l4._flow_analyze(0);
    RETURN gone;
END;
$$;
COMMENT ON FUNCTION l4.forget_flows(timestamptz) IS
    'drops flow records that were read, packs of them that start before a time, and what was found in them';

SELECT pg_catalog.pg_extension_config_dump('l4.flow_job', '');
SELECT pg_catalog.pg_extension_config_dump('l4._flow_step', '');
SELECT pg_catalog.pg_extension_config_dump('l4._flow_member', '');
SELECT pg_catalog.pg_extension_config_dump('l4._flow_edge', '');
SELECT pg_catalog.pg_extension_config_dump('l4.flow_issue', '');
