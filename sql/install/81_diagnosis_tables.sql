-- Results of l4.diagnose(), and the case: what it found on the way, a table a step, for each piece of evidence to read.

--: the last diagnosis of each job
CREATE TABLE l4.diagnosis (
    job_id text PRIMARY KEY REFERENCES l4.job ON DELETE CASCADE,
    diagnosed_at timestamptz NOT NULL DEFAULT pg_catalog.now(), --: when it was made
    --: the first that holds: HEALTHY nothing deviates, PARTIAL input was missing, NO_BASELINE nothing to compare with,
    --: OK; coverage has all that hold
    status text NOT NULL,
    symptom text NOT NULL,     --: launch, crash, hang, slow or none
    stage text,                --: where the failure shows; NULL = not known
    epoch int,                 --: epoch of the iteration; NULL where the job counts none
    --: iteration in flight when the job was struck, for slow the first slow one; counted since the start, or within the
    --: epoch where the length of an epoch is not known; NULL outside training
    iteration int,
    --: where the cause lies: hardware, user, framework or platform; NULL = not known. Never that of an effect
    category text,
    component text,            --: what of it, see l4.fault.component
    cause text,          --: the cause that a line states, or that none does and what is seen instead; NULL = no failure
    confidence text,  --: how sure the category is: certain, likely, weak (no line states it); NULL = category not known
    summary text NOT NULL,     --: two or three sentences for a ticket
    baseline text[] NOT NULL,  --: jobs that it was compared with
    coverage jsonb NOT NULL,   --: what there was to look at: nodes, lines, baseline jobs, what was missing
    parameters jsonb NOT NULL, --: method, thresholds and weights that were used
    --: what else fits: other causes that lines state; where none does, what may be and how to check it
    alternatives text[] NOT NULL DEFAULT '{}',
    CONSTRAINT diagnosis_status_check CHECK (
        status OPERATOR(pg_catalog.=) ANY (ARRAY['HEALTHY', 'PARTIAL', 'NO_BASELINE', 'OK'])),
    CONSTRAINT diagnosis_symptom_check CHECK (
        symptom OPERATOR(pg_catalog.=) ANY (ARRAY['launch', 'crash', 'hang', 'slow', 'none'])),
    CONSTRAINT diagnosis_stage_check CHECK (stage OPERATOR(pg_catalog.=) ANY (ARRAY[
        'init', 'data', 'model', 'checkpoint_load', 'train', 'eval', 'checkpoint_save', 'shutdown'])),
    CONSTRAINT diagnosis_confidence_check CHECK (
        confidence OPERATOR(pg_catalog.=) ANY (ARRAY['certain', 'likely', 'weak']))
);

--: events that indicate the failure, best first
CREATE TABLE l4.suspect_event (
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    rank int NOT NULL,               --: 1 = most telling
    event_id int NOT NULL,
    score float8 NOT NULL,           --: how telling, see docs/diagnosis.md
    reasons text[] NOT NULL,         --: why it is claimed
    nodes int NOT NULL,              --: nodes that have it
    occurrences bigint NOT NULL,     --: records of it
    first_ts timestamptz,            --: first time
    example_node text NOT NULL,      --: node of the example
    example_line_no bigint NOT NULL, --: line number of the example
    example_line text NOT NULL,      --: first record of it in the job; of a long one 2 kB of beginning and end
    CONSTRAINT suspect_event_pkey PRIMARY KEY (job_id, rank),
    CONSTRAINT suspect_event_key UNIQUE (job_id, event_id)
);

--: nodes that are worth a look, best first
CREATE TABLE l4.suspect_node (
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    rank int NOT NULL,        --: 1 = most suspect
    node text NOT NULL,
    score float8 NOT NULL,    --: sum of weight times value of its evidence
    is_suspect bool NOT NULL, --: stands out so far that it is accused
    iforest_score float8,     --: anomaly score of the isolation forest over suspicious events, 0 to 1
    reasons text[] NOT NULL,  --: the evidence in words, heaviest first
    evidence jsonb NOT NULL,  --: kind of evidence: value, weight, detail
    events int[] NOT NULL,    --: its suspect events, those on the fewest nodes first
    CONSTRAINT suspect_node_pkey PRIMARY KEY (job_id, rank),
    CONSTRAINT suspect_node_key UNIQUE (job_id, node)
);

--: iterations that deviate, best first
CREATE TABLE l4.suspect_iteration (
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    rank int NOT NULL,       --: 1 = most telling
    iteration int NOT NULL,  --: the iteration
    node text,               --: node on which it deviates most; NULL = on all
    distance float8,         --: mean DTW distance of its events to those of the ten iterations before, on that node
    sigma float8,            --: by how many standard deviations the distance exceeds that of the iterations before
    reasons text[] NOT NULL, --: why it is listed
    CONSTRAINT suspect_iteration_pkey PRIMARY KEY (job_id, rank)
);

--: every piece of evidence about every node: the score of a node is the sum of value times weight
CREATE TABLE l4.evidence (
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    node text NOT NULL,
    kind text NOT NULL,     --: kind of evidence, see docs/diagnosis.md
    value float8 NOT NULL,  --: strength, 0 to 1 unless docs/diagnosis.md says otherwise
    weight float8 NOT NULL, --: weight of the kind, from diagnosis.parameters
    detail text NOT NULL,   --: in words
    CONSTRAINT evidence_pkey PRIMARY KEY (job_id, node, kind)
);

-- The case. Each step of l4._case_open() writes its own table, once. Nothing of it is dumped: what a restored database
-- lacks, the next diagnosis derives again.

--: how iterations that begin anew with each epoch are counted: the first epoch, the first iteration of each, and how
--: many each has; exact = false where the length is not known and the least possible one stands for it; how many epochs
--: there are to be, where that is known
CREATE TYPE l4._epochs AS (first int, low int, length int, exact bool, epochs int);

--: an event that counts iterations: the slots of the number, of the epoch, of how many there are to be; the step, the
--: first number, and the last one of an epoch where numbers begin anew; slot NULL = records show the progress, but no
--: number counts; cycle = events that tell of an iteration, where the number announces it; uneven = in this job they do
--: not count
CREATE TYPE l4._counter AS (event_id int, slot int, epoch_slot int, total_slot int, step int, low int, high int,
    cycle int[], uneven bool);

--: case: what was found about the job as a whole; t = the thresholds; symptom = as its progress tells it
CREATE TABLE l4._case (
    job_id text PRIMARY KEY,
    state text NOT NULL,
    t l4._thresholds NOT NULL,
    parameters jsonb NOT NULL,
    baseline text[] NOT NULL,
    elsewhere text[] NOT NULL,
    left_out text[] NOT NULL,
    nodes int NOT NULL,
    first_ts timestamptz,
    last_ts timestamptz,
    attempt_ts timestamptz,
    good_since timestamptz[],
    iterations int NOT NULL,
    timed bool NOT NULL,
    total int,
    step int NOT NULL,
    counter l4._counter,
    epochs l4._epochs,
    train_ts timestamptz,
    reported_ts timestamptz,
    last_iteration int,
    median_ms float8,
    excess float8,
    onset_iteration int,
    onset_ts timestamptz,
    onset_block int,
    terminal_ts timestamptz,
    trouble_ts timestamptz,
    trained bool NOT NULL,
    crashed bool NOT NULL,
    ended_well bool NOT NULL,
    finished bool NOT NULL,
    progress_ts timestamptz,
    symptom text NOT NULL
);

--: case, nodes: their ranks and their order; lines = 0 for nodes that were expected and never wrote; block = number of
--: the node by its ranks, gaps counted
CREATE TABLE l4._case_place (
    job_id text NOT NULL,
    node text NOT NULL,
    rank int,
    ranks int4multirange NOT NULL,
    block int,
    place int NOT NULL,
    lines bigint NOT NULL,
    first_ts timestamptz,
    last_ts timestamptz,
    in_flight int,
    unparsed bigint NOT NULL,
    CONSTRAINT _case_place_pkey PRIMARY KEY (job_id, node)
);

--: case, clocks: of nodes whose clock is off, by how much
CREATE TABLE l4._case_clock (
    job_id text NOT NULL,
    node text NOT NULL,
    clock interval NOT NULL,
    CONSTRAINT _case_clock_pkey PRIMARY KEY (job_id, node)
);

--: case, progress: what the nodes report of iterations
CREATE TABLE l4._case_progress (
    job_id text NOT NULL,
    node text NOT NULL,
    train_ts timestamptz,
    progress_ts timestamptz,
    iterations int NOT NULL,
    last_iteration int,
    CONSTRAINT _case_progress_pkey PRIMARY KEY (job_id, node)
);

--: case, progress: iterations in order; duration is the median over nodes, ratio is against the normal duration
CREATE TABLE l4._case_iteration (
    job_id text NOT NULL,
    place int NOT NULL,
    epoch int,
    iteration int NOT NULL,
    nodes int NOT NULL,
    done_ts timestamptz,
    duration_ms float8,
    ratio float8,
    CONSTRAINT _case_iteration_pkey PRIMARY KEY (job_id, place)
);

--: case, events: where the events of _case_event are, in the last attempt
CREATE TABLE l4._case_count (
    job_id text NOT NULL,
    event_id int NOT NULL,
    node text NOT NULL,
    occurrences bigint NOT NULL,
    first_ts timestamptz,
    last_ts timestamptz,
    first_line_no bigint NOT NULL,
    CONSTRAINT _case_count_pkey PRIMARY KEY (job_id, event_id, node)
);

--: case, events: those that are new, or of level WARNING and above; alike = oldest event of its near-duplicate group;
--: kills = it, or one beside it in the same report, tells that a process was killed; example = as in _job_event
CREATE TABLE l4._case_event (
    job_id text NOT NULL,
    event_id int NOT NULL,
    level int NOT NULL,
    is_new bool NOT NULL,
    baseline_jobs int NOT NULL,
    occurrences bigint NOT NULL,
    nodes int NOT NULL,
    first_ts timestamptz,
    last_ts timestamptz,
    terminal bool NOT NULL,
    exit bool NOT NULL,
    stack bool NOT NULL,
    accuses bool NOT NULL,
    waits text,
    alike int,
    kills bool NOT NULL,
    example text NOT NULL,
    CONSTRAINT _case_event_pkey PRIMARY KEY (job_id, event_id)
);

--: case, dropped: new events that are no sign of the failure, and why
CREATE TABLE l4._case_dropped (
    job_id text NOT NULL,
    event_id int NOT NULL,
    reason text NOT NULL,
    CONSTRAINT _case_dropped_pkey PRIMARY KEY (job_id, event_id)
);

--: case, marks: when a node first deviated, was significant and reported a crash, and whether it failed like others
CREATE TABLE l4._case_mark (
    job_id text NOT NULL,
    node text NOT NULL,
    new_ts timestamptz,
    significant_ts timestamptz,
    terminal_ts timestamptz,
    is_victim bool NOT NULL,
    CONSTRAINT _case_mark_pkey PRIMARY KEY (job_id, node)
);

--: case, symptom: which nodes ended as nodes of good jobs do, and which of them cannot have stopped before the end
CREATE TABLE l4._case_end (
    job_id text NOT NULL,
    node text NOT NULL,
    ended_well bool NOT NULL,
    went_through bool NOT NULL,
    CONSTRAINT _case_end_pkey PRIMARY KEY (job_id, node)
);

--: case, accusations: who names whom, and in which events; weight 0 = not heard
CREATE TABLE l4._case_edge (
    job_id text NOT NULL,
    accuser text NOT NULL,
    accused text NOT NULL,
    first_ts timestamptz,
    weight float8 NOT NULL,
    events int[] NOT NULL,
    CONSTRAINT _case_edge_pkey PRIMARY KEY (job_id, accuser, accused)
);

--: case: the nodes, all steps together; times are by the clock of most nodes, from which this one differs by clock
CREATE VIEW l4._case_node AS
SELECT job_id, node, p.rank, p.ranks, p.block, p.place, p.lines, p.first_ts - c.clock AS first_ts,
    p.last_ts - c.clock AS last_ts, c.clock, g.train_ts, g.progress_ts,
    COALESCE(g.iterations, 0) AS iterations, g.last_iteration, p.in_flight, p.unparsed,
    m.new_ts, m.significant_ts, m.terminal_ts,
    COALESCE(m.is_victim, false) AS is_victim, COALESCE(e.ended_well, false) AS ended_well,
    COALESCE(e.went_through, false) AS went_through
FROM l4._case_place AS p
LEFT JOIN l4._case_clock AS o USING (job_id, node)
CROSS JOIN LATERAL (SELECT COALESCE(o.clock, '0'::interval) AS clock) AS c
LEFT JOIN l4._case_progress AS g USING (job_id, node)
LEFT JOIN l4._case_mark AS m USING (job_id, node)
LEFT JOIN l4._case_end AS e USING (job_id, node);

-- The planner cannot know how much a case has: the next job is in no statistics. So the case is read through functions
-- that say how many rows are usual, which are enough to join by hash. They are in PL/pgSQL, which keeps their plans for
-- the session.
--: nodes of a case
CREATE FUNCTION l4._nodes(job_id text) RETURNS SETOF l4._case_node
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 500
SET search_path = pg_catalog, pg_temp SET enable_nestloop = off
AS $$
BEGIN
    RETURN QUERY SELECT n.* FROM l4._case_node AS n WHERE n.job_id = _nodes.job_id;
END;
$$;

--: the single ranks of a node
CREATE FUNCTION l4._ranks_in(ranks int4multirange) RETURNS SETOF int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 8
BEGIN ATOMIC
    SELECT generate_series(lower(s.span), upper(s.span) - 1) FROM unnest(_ranks_in.ranks) AS s(span);
END;

--: the node of each rank, where it is one node
CREATE FUNCTION l4._ranks(job_id text) RETURNS TABLE (rank int, node text)
LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 500
BEGIN ATOMIC
    SELECT r.rank, min(n.node)
    FROM l4._case_place AS n CROSS JOIN LATERAL l4._ranks_in(n.ranks) AS r(rank)
    WHERE n.job_id = _ranks.job_id
    GROUP BY r.rank
    HAVING count(*) = 1;
END;

--: new events of a case
CREATE FUNCTION l4._new_events(job_id text) RETURNS SETOF l4._case_event
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT e.* FROM l4._case_event AS e WHERE e.job_id = _new_events.job_id AND e.is_new;
END;
$$;

--: new events of a case that were not dropped
CREATE FUNCTION l4._claims(job_id text) RETURNS SETOF l4._case_event
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT e.* FROM l4._case_event AS e
    WHERE e.job_id = _claims.job_id AND e.is_new AND NOT EXISTS (SELECT FROM l4._case_dropped AS d
        WHERE d.job_id = e.job_id AND d.event_id = e.event_id);
END;
$$;

-- Joined as functions, whose rows are estimated: the tables are filled anew by each diagnosis, so that what is known of
-- their size is of another one, and with none known the join is a loop over all counts for each event.
--: which node shows which of the new events that were not dropped
CREATE FUNCTION l4._shown(job_id text)
RETURNS TABLE (event_id int, node text, occurrences bigint, first_ts timestamptz, last_ts timestamptz,
    first_line_no bigint, level int, nodes int, terminal bool, exit bool, stack bool, alike int)
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 2000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT c.event_id, c.node, c.occurrences, c.first_ts, c.last_ts, c.first_line_no, e.level, e.nodes, e.terminal,
        e.exit, e.stack, e.alike
    FROM l4._claims(_shown.job_id) AS e
    JOIN l4._case_count AS c ON c.job_id = _shown.job_id AND c.event_id = e.event_id;
END
$$;

--: where the events of a case are
CREATE FUNCTION l4._counts(job_id text) RETURNS SETOF l4._case_count
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 2000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT c.* FROM l4._case_count AS c WHERE c.job_id = _counts.job_id;
END;
$$;

--: who names whom in a case
CREATE FUNCTION l4._edges(job_id text) RETURNS SETOF l4._case_edge
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 ROWS 500
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY SELECT a.* FROM l4._case_edge AS a WHERE a.job_id = _edges.job_id;
END;
$$;

--: servers whose streams of a job are missing since it was last collected
CREATE TABLE l4._job_absent (
    job_id text NOT NULL REFERENCES l4.job ON DELETE CASCADE,
    server text NOT NULL, --: the server
    CONSTRAINT _job_absent_pkey PRIMARY KEY (job_id, server)
);
