-- Network flows: what their analysis finds, span by span, and what SQL makes of all spans.

--: training jobs found in network flows
CREATE TABLE l4.flow_job (
    flow_job text PRIMARY KEY, --: name: when its first run began, in UTC, and its least address
    first_ts timestamptz NOT NULL,
    last_ts timestamptz NOT NULL,
    runs int NOT NULL,         --: times that it was started
    nics int NOT NULL,         --: addresses that took part
    machines int,              --: machines that took part; NULL without an inventory
    period_ms float8,          --: usual duration of a step; NULL where none was found
    dp int NOT NULL,           --: addresses of the largest data parallel group
    pp int NOT NULL,           --: data parallel groups that pipeline pairs connect: stages
    status text NOT NULL,      --: SAMPLED, COARSE, PARTIAL, UNSETTLED or OK: the first that holds
    coverage jsonb NOT NULL    --: steps found, whether there is an inventory, addresses left out as hubs
);

--: what of a job without an interruption lies in a span of flows; flow_job, run and steps before are known last;
--: hidden: another span of the block has it
CREATE TABLE l4._flow_stint (
    span bigint NOT NULL,
    stint int NOT NULL,
    first_ts timestamptz NOT NULL,
    last_ts timestamptz NOT NULL,
    period_ms float8 NOT NULL,
    usual_ms float8 NOT NULL,
    steps int NOT NULL,
    nics inet[] NOT NULL,
    sizes float8[] NOT NULL,
    weights float8[] NOT NULL,
    dp int NOT NULL,
    pp int NOT NULL,
    hubs int NOT NULL,
    sampled bool NOT NULL,
    coarse bool NOT NULL,
    gaps bool NOT NULL,
    bytes float8 NOT NULL,
    stopped float8,
    silent text,
    hidden bool NOT NULL DEFAULT false,
    flow_job text,
    run int,
    before int,
    CONSTRAINT _flow_stint_pkey PRIMARY KEY (span, stint)
);
CREATE INDEX _flow_stint_job ON l4._flow_stint (flow_job);

--: steps that end in a span of flows
CREATE TABLE l4._flow_stint_step (
    span bigint NOT NULL,
    stint int NOT NULL,
    n int NOT NULL,
    started timestamptz NOT NULL,
    ended timestamptz NOT NULL,
    dp_ms float8 NOT NULL,
    cover float8 NOT NULL,
    reason text,
    CONSTRAINT _flow_stint_step_pkey PRIMARY KEY (span, stint, n)
);

--: addresses of stints; pp_ms: of each step
CREATE TABLE l4._flow_stint_nic (
    span bigint NOT NULL,
    stint int NOT NULL,
    address inet NOT NULL,
    dp_group int NOT NULL,
    pp_ms float4[] NOT NULL,
    CONSTRAINT _flow_stint_nic_pkey PRIMARY KEY (span, stint, address)
);

--: pairs of addresses of stints
CREATE TABLE l4._flow_stint_pair (
    span bigint NOT NULL,
    stint int NOT NULL,
    a inet NOT NULL,
    b inet NOT NULL,
    kind text NOT NULL,
    records bigint NOT NULL,
    bytes float8 NOT NULL,
    sizes float8[] NOT NULL,
    evidence jsonb NOT NULL,
    CONSTRAINT _flow_stint_pair_pkey PRIMARY KEY (span, stint, a, b)
);

--: what was slow in a span of flows; stint NULL: of several jobs; subject of a slow step: its n
CREATE TABLE l4._flow_stint_issue (
    span bigint NOT NULL,
    stint int,
    kind text NOT NULL,
    subject text NOT NULL,
    first_ts timestamptz NOT NULL,
    last_ts timestamptz NOT NULL,
    score float8 NOT NULL,
    reason text NOT NULL,
    evidence jsonb NOT NULL
);
CREATE INDEX _flow_stint_issue_span ON l4._flow_stint_issue (span);

--: what was slow or stopped, by network flows
CREATE TABLE l4.flow_issue (
    flow_job text,                 --: the job; NULL where several are hit
    rank int NOT NULL,             --: order in the job: causes first
    kind text NOT NULL,            --: slow_step, slow_rank, slow_group, slow_switch or stopped
    subject text NOT NULL,         --: the step, the addresses, the switch; of stopped: who sent nothing more first
    first_ts timestamptz NOT NULL, --: begin
    last_ts timestamptz NOT NULL,  --: end
    score float8 NOT NULL,         --: how much slower than usual, as a share; of stopped: seconds
    reasons text[] NOT NULL,       --: why
    evidence jsonb NOT NULL        --: cause and subject: kind and subject of the issue that explains this one
);

--: steps of the jobs found in network flows
CREATE VIEW l4._flow_step AS
SELECT s.flow_job, s.run, s.span, s.stint, s.before OPERATOR(pg_catalog.+) t.n AS step, t.started, t.ended, t.dp_ms,
    t.cover, t.reason
FROM l4._flow_stint AS s
JOIN l4._flow_stint_step AS t ON t.span OPERATOR(pg_catalog.=) s.span AND t.stint OPERATOR(pg_catalog.=) s.stint
WHERE s.flow_job IS NOT NULL;

--: addresses of the jobs found in network flows, of each span a row
CREATE VIEW l4._flow_member AS
SELECT s.flow_job, s.run, s.span, s.stint, n.address, n.dp_group, s.first_ts, s.last_ts, s.before AS first_step, n.pp_ms
FROM l4._flow_stint AS s
JOIN l4._flow_stint_nic AS n ON n.span OPERATOR(pg_catalog.=) s.span AND n.stint OPERATOR(pg_catalog.=) s.stint
WHERE s.flow_job IS NOT NULL;

--: addresses of each job found in network flows
--.dp_group number of its data parallel group; 0 = none
--.first_ts begin of the first run that it is in
--.last_ts end of the last run that it is in
CREATE VIEW l4.flow_member AS
SELECT m.flow_job, m.address, e.machine, e.nic, (pg_catalog.array_agg(m.dp_group ORDER BY m.first_step, m.span))[1]
    AS dp_group, pg_catalog.min(m.first_ts) AS first_ts, pg_catalog.max(m.last_ts) AS last_ts
FROM l4._flow_member AS m
LEFT JOIN l4.flow_endpoint AS e ON e.address OPERATOR(pg_catalog.=) m.address
GROUP BY m.flow_job, m.address, e.machine, e.nic;

--: pairs of addresses of each job, and what they exchange
--.a the lesser address
--.b the greater address
--.kind dp, pp, ep, cp (data, pipeline, expert, context parallel) or other
--.records flow records
--.bytes bytes, with sampling multiplied
--.sizes sizes of its records: up to eight, those with most bytes first
--.evidence shares: greater direction, simultaneous, main size; records a step
CREATE VIEW l4.flow_pair AS
SELECT DISTINCT ON (s.flow_job, p.a, p.b) s.flow_job, p.a, p.b, p.kind,
    (pg_catalog.sum(p.records) OVER w)::bigint AS records, pg_catalog.sum(p.bytes) OVER w AS bytes, p.sizes, p.evidence
FROM l4._flow_stint AS s
JOIN l4._flow_stint_pair AS p ON p.span OPERATOR(pg_catalog.=) s.span AND p.stint OPERATOR(pg_catalog.=) s.stint
WHERE s.flow_job IS NOT NULL
WINDOW w AS (PARTITION BY s.flow_job, p.a, p.b)
ORDER BY s.flow_job, p.a, p.b, p.bytes DESC, p.span;

--: training steps of each job found in network flows
--.step number from 0; goes on where the job is started again
--.started end of the step before; of the first of a run its first record
--.ended end of the last data parallel record
--.duration_ms duration
--.dp_ms time with data parallel records, of the group that had most
--.cover share of the data parallel groups whose end was seen
--.reason what is unusual; NULL = nothing
CREATE VIEW l4.flow_step AS
SELECT s.flow_job, s.step, s.started, s.ended,
    (EXTRACT(epoch FROM s.ended OPERATOR(pg_catalog.-) s.started) OPERATOR(pg_catalog.*) 1000)::float8 AS duration_ms,
    s.dp_ms, s.cover, s.reason
FROM l4._flow_step AS s;

--: training steps of each address of a job
--.address the NIC
--.step number of the step
--.started start of the step
--.ended end of the step
--.pp_ms time with pipeline records of this NIC
--.dp_ms time with data parallel records, of the group of the job that had most
--.compute_ms the rest of the step
CREATE VIEW l4.flow_step_nic AS
SELECT m.flow_job, m.address, s.step, s.started, s.ended, t.pp_ms, s.dp_ms,
    GREATEST((EXTRACT(epoch FROM s.ended OPERATOR(pg_catalog.-) s.started) OPERATOR(pg_catalog.*) 1000)::float8
        OPERATOR(pg_catalog.-) s.dp_ms OPERATOR(pg_catalog.-) t.pp_ms, 0) AS compute_ms
FROM l4._flow_member AS m
JOIN l4._flow_step AS s ON s.span OPERATOR(pg_catalog.=) m.span AND s.stint OPERATOR(pg_catalog.=) m.stint
CROSS JOIN LATERAL (SELECT COALESCE(m.pp_ms[s.step OPERATOR(pg_catalog.-) m.first_step OPERATOR(pg_catalog.+) 1], 0)
    ::float8) AS t(pp_ms);

-- A job whose times are not known may be any that its nodes took part in.
--: jobs of l4.job that ran on the addresses or machines of a job found in flows
--.flow_job the job found in flows
--.job_id the job that logs know
--.shared addresses of the former that job_node gives the latter
--.share the same as a share of all addresses of the former
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

--: how many addresses two sets have in common
CREATE FUNCTION l4._flow_shared(a inet[], b inet[]) RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT count(*) FROM (SELECT FROM unnest(a || b) AS u(address) GROUP BY u.address HAVING count(*) = 2) AS x);

-- A job that grows or shrinks has more or fewer replicas of the same stages.
--: do two stints differ in their replicas only?
CREATE FUNCTION l4._flow_same_shape(a l4._flow_stint, b l4._flow_stint) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (a).pp = (b).pp AND (a).dp::bigint * cardinality((b).nics) = (b).dp::bigint * cardinality((a).nics);

-- A link of a ring of n carries (n - 1) / n of what is reduced.
--: byte share of sizes of a stint that another has, too, as they are or of rings of its length
CREATE FUNCTION l4._flow_sizes_shared(a l4._flow_stint, b l4._flow_stint) RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT coalesce(sum(x.weight) FILTER (WHERE EXISTS (
            SELECT FROM unnest((b).sizes) AS o(size)
            CROSS JOIN (VALUES (1), (CASE WHEN l4._flow_same_shape(a, b)
                THEN (1 - 1 / (b).dp::float8) / nullif(1 - 1 / (a).dp::float8, 0) END)) AS r(ring)
            WHERE abs(x.size * r.ring / o.size - 1) <= 0.04)), 0) / sum(x.weight)
        FROM unnest((a).sizes, (a).weights) AS x(size, weight));

-- A stint goes on with one of a span that ends where its own begins, and that it overlaps, on most NICs of the smaller
-- one; else its job started again, where there was one like it.
--: job of a stint, which may be a new one, and its run
CREATE FUNCTION l4._flow_name_stint(s l4._flow_stint, OUT flow_job text, OUT run int)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    least_nic constant inet := (s).nics[1];
    most_nic constant inet := (s).nics[cardinality((s).nics)];
    starts constant timestamptz := l4._flow_span_start((s).span);
    same int;
BEGIN
    SELECT p.flow_job, p.run INTO flow_job, run
    FROM (SELECT p.*, l4._flow_shared(p.nics, (s).nics) AS shared FROM l4._flow_stint AS p
          WHERE p.span >= (s).span - 43 AND p.span < (s).span AND l4._flow_span_end(p.span) = starts AND NOT p.hidden
            AND p.nics[1] <= most_nic AND p.nics[cardinality(p.nics)] >= least_nic
            AND p.first_ts <= (s).last_ts AND p.last_ts >= (s).first_ts) AS p
    WHERE p.shared >= 0.6 * least(cardinality(p.nics), cardinality((s).nics))
        AND NOT EXISTS (SELECT FROM l4._flow_stint AS q
            WHERE q.span = (s).span AND q.flow_job = p.flow_job AND q.run = p.run)
    ORDER BY p.shared DESC, p.last_ts DESC, p.span, p.stint LIMIT 1;
    IF FOUND THEN
        RETURN;
    END IF;
    SELECT p.flow_job, p.run + 1 INTO flow_job, run
    FROM l4._flow_stint AS p
    WHERE p.flow_job IS NOT NULL AND p.last_ts <= (s).first_ts
        AND p.nics[1] <= most_nic AND p.nics[cardinality(p.nics)] >= least_nic
        AND NOT EXISTS (SELECT FROM l4._flow_stint AS q WHERE q.flow_job = p.flow_job
            AND (q.span, q.first_ts, q.stint) > (p.span, p.first_ts, p.stint))
        AND l4._flow_shared(p.nics, (s).nics) >= CASE WHEN l4._flow_same_shape(p, s)
            THEN 0.75 * least(cardinality(p.nics), cardinality((s).nics))
            ELSE 0.375 * (cardinality(p.nics) + cardinality((s).nics)) END
        AND l4._flow_sizes_shared(p, s) >= 0.5 AND l4._flow_sizes_shared(s, p) >= 0.5
    ORDER BY p.last_ts DESC, p.flow_job COLLATE "C" LIMIT 1;
    IF FOUND THEN
        RETURN;
    END IF;
    flow_job := format('flow-%s-%s', to_char((s).first_ts AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS'), host(least_nic));
    same := (SELECT count(DISTINCT p.flow_job) FROM l4._flow_stint AS p
             WHERE p.flow_job = _flow_name_stint.flow_job OR starts_with(p.flow_job, _flow_name_stint.flow_job || '-'));
    flow_job := concat(flow_job, '-' || nullif(same, 0) + 1);
    run := 1;
END
$$;

--: numbers the steps of jobs that have no row of their own, and writes it
CREATE FUNCTION l4._flow_write_jobs() RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    WITH fresh AS MATERIALIZED (
        SELECT DISTINCT s.flow_job FROM l4._flow_stint AS s
        WHERE NOT s.hidden AND NOT EXISTS (SELECT FROM l4.flow_job AS j WHERE j.flow_job = s.flow_job)
    ), placed AS (
        SELECT s.span, s.stint,
            sum(s.steps) OVER (PARTITION BY s.flow_job ORDER BY s.span, s.first_ts, s.stint) - s.steps AS before
        FROM l4._flow_stint AS s JOIN fresh AS f ON f.flow_job = s.flow_job
    )
    UPDATE l4._flow_stint AS s SET before = p.before FROM placed AS p
    WHERE s.span = p.span AND s.stint = p.stint AND s.before IS DISTINCT FROM p.before;
    INSERT INTO l4.flow_job (flow_job, first_ts, last_ts, runs, nics, machines, period_ms, dp, pp, status, coverage)
    SELECT s.flow_job, min(s.first_ts), max(s.last_ts), count(DISTINCT s.run), n.nics, n.machines,
        (array_agg(s.usual_ms ORDER BY s.span DESC, s.first_ts DESC, s.stint DESC) FILTER (WHERE s.steps > 0))[1],
        max(s.dp), max(s.pp),
        CASE WHEN bool_or(s.sampled) THEN 'SAMPLED' WHEN bool_or(s.coarse) THEN 'COARSE'
            WHEN bool_or(s.gaps) THEN 'PARTIAL' WHEN sum(s.steps) < 5 THEN 'UNSETTLED' ELSE 'OK' END,
        jsonb_build_object('steps', sum(s.steps), 'inventory', n.machines IS NOT NULL, 'hubs', max(s.hubs))
    FROM l4._flow_stint AS s
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT u.address) AS nics, CASE WHEN EXISTS (SELECT FROM l4.flow_endpoint)
            THEN count(DISTINCT coalesce(e.machine, host(u.address))) END AS machines
        -- mostly all spans have the same
        FROM (SELECT DISTINCT x.nics FROM l4._flow_stint AS x WHERE x.flow_job = s.flow_job) AS x
        CROSS JOIN unnest(x.nics) AS u(address)
        LEFT JOIN l4.flow_endpoint AS e ON e.address = u.address) AS n
    WHERE NOT s.hidden AND NOT EXISTS (SELECT FROM l4.flow_job AS j WHERE j.flow_job = s.flow_job)
    GROUP BY s.flow_job, n.nics, n.machines;
END;

-- A job stopped where it was started again later, ended inside a step while others went on, or is said to run.
--: where jobs found in flows stopped
CREATE FUNCTION l4._flow_stops()
RETURNS TABLE (flow_job text, subject text, first_ts timestamptz, last_ts timestamptz, reason text)
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    WITH run AS (
        SELECT s.flow_job, max(s.last_ts) AS ended,
            -- a wide span may also see the runs before
            lead((array_agg(s.first_ts ORDER BY s.span))[1]) OVER (PARTITION BY s.flow_job ORDER BY s.run) AS next
        FROM l4._flow_stint AS s WHERE NOT s.hidden GROUP BY s.flow_job, s.run
    ), last AS (
        SELECT DISTINCT ON (s.flow_job) s.flow_job, s.last_ts, s.period_ms, s.before + s.steps AS steps, s.stopped,
            s.silent
        FROM l4._flow_stint AS s WHERE NOT s.hidden
        ORDER BY s.flow_job, s.span DESC, s.first_ts DESC, s.stint DESC
    )
    SELECT r.flow_job, '', r.ended, r.next, format('no flows for %s s, then started again',
        round(extract(epoch FROM r.next - r.ended), 1))
    FROM run AS r WHERE r.next IS NOT NULL
    UNION ALL
    SELECT l.flow_job, coalesce(l.silent, ''), l.last_ts, k.last_ts, CASE WHEN l.stopped IS NULL
        THEN 'flows end, but the job is said to run'
        ELSE format('flows end inside step %s, after %s %% of its records', l.steps, round(100 * l.stopped)) END
    FROM last AS l JOIN (SELECT max(x.last_ts) AS last_ts FROM l4._flow_source AS x) AS k
        ON k.last_ts - l.last_ts > greatest(3, least(0.003 * l.period_ms, 100)) * interval '1 second'
    WHERE l.stopped IS NOT NULL OR l.flow_job IN (SELECT m.flow_job FROM l4.flow_job_match AS m
        JOIN l4.job AS j ON j.job_id = m.job_id WHERE j.status = 'running');
END;

-- A slowdown that lasts becomes the usual duration of a span: then the steps of whole spans are compared with the
-- fastest block of the job till then. More traffic a step is more work, not a slowdown.
--: since when the steps of jobs found in flows take longer
CREATE FUNCTION l4._flow_slow_spans()
RETURNS TABLE (flow_job text, subject text, first_ts timestamptz, last_ts timestamptz, score float8, reason text)
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    WITH stint AS (
        SELECT s.*, l4._flow_block(s.span) AS block FROM l4._flow_stint AS s
        WHERE s.steps >= 5 AND NOT s.coarse AND NOT s.hidden
    ), block AS (
        SELECT s.flow_job, s.block, s.run, min(s.first_ts) AS first_ts, sum(s.bytes) / sum(s.steps) AS bytes,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY s.usual_ms) AS usual_ms
        FROM stint AS s GROUP BY s.flow_job, s.block, s.run
    ), fastest AS (
        SELECT b.*, f.usual_ms AS fastest, f.bytes AS fastest_bytes
        FROM block AS b
        CROSS JOIN LATERAL (SELECT x.usual_ms, x.bytes FROM block AS x
            WHERE x.flow_job = b.flow_job AND (x.block, x.run) <= (b.block, b.run)
            ORDER BY x.usual_ms, x.block, x.run LIMIT 1) AS f
    ), compared AS (
        SELECT s.flow_job, s.span, s.stint, s.first_ts, s.before, s.usual_ms, f.fastest,
            s.usual_ms > 1.1 * f.fastest AND f.bytes <= 1.1 * f.fastest_bytes AS slow
        FROM stint AS s JOIN fastest AS f ON f.flow_job = s.flow_job AND f.block = s.block AND f.run = s.run
    ), numbered AS (
        SELECT c.*, count(*) FILTER (WHERE c.slow IS NOT TRUE) OVER (PARTITION BY c.flow_job
            ORDER BY c.span, c.first_ts, c.stint) AS n
        FROM compared AS c
    )
    SELECT n.flow_job, min(n.before + t.n)::text, min(t.started), max(t.ended), max(n.usual_ms / n.fastest) - 1,
        format('%s ms since step %s, where %s ms were usual', round(max(n.usual_ms)::numeric, 1), min(n.before + t.n),
            round(min(n.fastest)::numeric, 1))
    FROM numbered AS n
    JOIN l4._flow_stint_step AS t ON t.span = n.span AND t.stint = n.stint
    WHERE n.slow AND 1000 * extract(epoch FROM t.ended - t.started)::float8 > (n.usual_ms + n.fastest) / 2
    GROUP BY n.flow_job, n.n;
END;

-- Slow steps of a run that take about as long as each other, three at least, are one issue: an evaluation, a checkpoint
-- or a stall, which the network does not tell apart. What is longer than five times the usual is alike. If such ones
-- are as many steps apart they are the job's own pauses, as where a model generates what it learns from next: they, and
-- what comes with each of them, are no issue.
--: slow steps of jobs found in flows; those that are alike are one
CREATE FUNCTION l4._flow_slow_steps()
RETURNS TABLE (flow_job text, subject text, first_ts timestamptz, last_ts timestamptz, score float8, reason text,
    evidence jsonb)
LANGUAGE sql STABLE ROWS 10
BEGIN ATOMIC
    WITH slow AS (
        SELECT s.flow_job, s.run, s.before + i.subject::int AS step, i.first_ts, i.last_ts, i.score, i.reason,
            i.evidence, i.evidence ? 'cause' AS caused
        FROM l4._flow_stint_issue AS i JOIN l4._flow_stint AS s ON s.span = i.span AND s.stint = i.stint
        WHERE i.kind = 'slow_step' AND NOT s.hidden
    ), compared AS (
        SELECT s.*, least(s.score, 4) <= 1.3 * lag(s.score) OVER (PARTITION BY s.flow_job, s.run, s.caused
            ORDER BY s.score, s.step) AS alike
        FROM slow AS s
    ), grouped AS (
        SELECT c.*, count(*) FILTER (WHERE c.alike IS NOT TRUE) OVER (PARTITION BY c.flow_job, c.run, c.caused
            ORDER BY c.score, c.step) AS n
        FROM compared AS c
    ), counted AS (
        SELECT g.*, NOT g.caused AND count(*) OVER w >= 3 AS many,
            g.step - lag(g.step) OVER (w ORDER BY g.step) AS apart
        FROM grouped AS g WINDOW w AS (PARTITION BY g.flow_job, g.run, g.caused, g.n)
    ), issue AS (
        SELECT c.flow_job, c.run, min(c.step) AS step, min(c.first_ts) AS first_ts, max(c.last_ts) AS last_ts,
            max(c.score) AS score, (array_agg(c.reason ORDER BY c.score DESC, c.step))[1] AS reason,
            (array_agg(c.evidence))[1] AS evidence, c.many, array_agg(c.step ORDER BY c.step) AS steps,
            CASE WHEN c.many THEN mode() WITHIN GROUP (ORDER BY c.apart) END AS every, array_agg(c.apart) AS apart
        FROM counted AS c
        GROUP BY c.flow_job, c.run, c.caused, c.n, c.many, CASE WHEN NOT c.many THEN c.step END
    ), regular AS (
        SELECT i.*, 3 * cardinality(array_positions(i.apart, i.every)) >= 2 * (cardinality(i.steps) - 1) AS regular,
            max(i.score) OVER (PARTITION BY i.flow_job, i.run, i.every) > 4 AS pause
        FROM issue AS i
    )
    SELECT r.flow_job, r.step::text, r.first_ts, r.last_ts, r.score,
        concat(r.reason, CASE WHEN r.many THEN format('; %s%s times: an evaluation, a checkpoint or a stall',
            CASE WHEN r.regular THEN format('every %s steps, ', r.every) ELSE '' END, cardinality(r.steps)) END),
        CASE WHEN r.many THEN r.evidence || jsonb_build_object('steps', r.steps) ELSE r.evidence END
    FROM regular AS r WHERE NOT (r.many AND r.regular AND r.pause);
END;

-- What spans that follow each other found of one subject is one issue.
--: puts the issues of all spans together
CREATE FUNCTION l4._flow_write_issues() RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    DELETE FROM l4.flow_issue;
    WITH found AS (
        SELECT s.flow_job, i.kind, i.subject, i.first_ts, i.last_ts, i.score, i.reason, i.evidence, i.span
        FROM l4._flow_stint_issue AS i LEFT JOIN l4._flow_stint AS s ON s.span = i.span AND s.stint = i.stint
        WHERE s.hidden IS NOT TRUE AND i.kind <> 'slow_step'
    ), begun AS (
        SELECT f.*, (f.first_ts > max(f.last_ts) OVER (PARTITION BY f.flow_job, f.kind, f.subject
            ORDER BY f.first_ts, f.span ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) IS NOT FALSE AS first
        FROM found AS f
    ), numbered AS (
        SELECT b.*, count(*) FILTER (WHERE b.first) OVER (PARTITION BY b.flow_job, b.kind, b.subject
            ORDER BY b.first_ts, b.span) AS n
        FROM begun AS b
    ), issue AS (
        SELECT x.flow_job, x.kind, x.subject, min(x.first_ts) AS first_ts, max(x.last_ts) AS last_ts,
            max(x.score) AS score,
            (array_agg(x.reason ORDER BY x.score DESC, x.span))[1] AS reason,
            (array_agg(x.evidence ORDER BY x.score DESC, x.span))[1] AS evidence
        FROM numbered AS x GROUP BY x.flow_job, x.kind, x.subject, x.n
        UNION ALL
        SELECT s.flow_job, 'slow_step', s.subject, s.first_ts, s.last_ts, s.score, s.reason, s.evidence
        FROM l4._flow_slow_steps() AS s
        UNION ALL
        SELECT s.flow_job, 'stopped', s.subject, s.first_ts, s.last_ts,
            extract(epoch FROM s.last_ts - s.first_ts)::float8, s.reason, '{}'
        FROM l4._flow_stops() AS s
        UNION ALL
        SELECT s.flow_job, 'slow_step', s.subject, s.first_ts, s.last_ts, s.score, s.reason, '{}'
        FROM l4._flow_slow_spans() AS s
    )
    INSERT INTO l4.flow_issue (flow_job, rank, kind, subject, first_ts, last_ts, score, reasons, evidence)
    SELECT i.flow_job, row_number() OVER (PARTITION BY i.flow_job ORDER BY i.evidence ? 'cause',
            array_position('{stopped,slow_switch,slow_group,slow_rank,slow_step}', i.kind), i.score DESC, i.first_ts,
            i.subject COLLATE "C"),
        i.kind, i.subject, i.first_ts, i.last_ts, i.score, ARRAY[i.reason], i.evidence
    FROM issue AS i;
END;

--: puts stints into jobs, and what was found in all spans together
CREATE FUNCTION l4._flow_find_jobs() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
    s l4._flow_stint;
BEGIN
    LOCK TABLE l4._flow_chunk IN SHARE ROW EXCLUSIVE MODE;
    FOR s IN
        SELECT x.* FROM l4._flow_stint AS x WHERE x.flow_job IS NULL AND NOT x.hidden
        ORDER BY x.span, x.first_ts, x.nics[1]
    LOOP
        SELECT n.* INTO s.flow_job, s.run FROM l4._flow_name_stint(s) AS n;
        UPDATE l4._flow_stint AS x SET flow_job = s.flow_job, run = s.run WHERE x.span = s.span AND x.stint = s.stint;
        -- what a job gains changes its row
        DELETE FROM l4.flow_job AS j WHERE j.flow_job = s.flow_job;
    END LOOP;
    PERFORM l4._flow_write_jobs();
    PERFORM l4._flow_write_issues();
END
$$;

--: drops flow records that were read, packs of them that start before a time, and what was found in them
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
    UPDATE l4._flow_span AS p SET changed = true WHERE l4._flow_span_start(p.span) - interval '200 s' < before;
    WHILE l4._flow_analyze() LOOP
    END LOOP;
    IF NOT EXISTS (SELECT FROM l4._flow_chunk) THEN
        PERFORM l4._flow_clear(ARRAY(SELECT p.span FROM l4._flow_span AS p));
        DELETE FROM l4._flow_span;
        DELETE FROM l4._flow_exporter;
        DELETE FROM l4._flow_source;
    END IF;
    PERFORM l4._flow_find_jobs();
    RETURN gone;
END;
$$;
