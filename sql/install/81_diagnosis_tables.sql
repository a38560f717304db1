-- Results of l4.diagnose(), and the working set that it leaves behind so that each piece of evidence can be queried.

CREATE TABLE l4.diagnosis (
    job_id text NOT NULL,
    diagnosed_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
    status text NOT NULL,
    symptom text NOT NULL,
    stage text,
    iteration int,
    summary text NOT NULL,
    baseline text[] NOT NULL,
    coverage jsonb NOT NULL,
    parameters jsonb NOT NULL,
    CONSTRAINT diagnosis_pkey PRIMARY KEY (job_id),
    CONSTRAINT diagnosis_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE,
    CONSTRAINT diagnosis_status_check CHECK (status OPERATOR(pg_catalog.=) ANY (ARRAY['HEALTHY', 'PARTIAL', 'NO_BASELINE', 'OK'])),
    CONSTRAINT diagnosis_symptom_check CHECK (symptom OPERATOR(pg_catalog.=) ANY (ARRAY['launch', 'crash', 'hang', 'slow', 'none'])),
    CONSTRAINT diagnosis_stage_check CHECK (stage OPERATOR(pg_catalog.=) ANY (ARRAY['init', 'data', 'model', 'checkpoint_load', 'train', 'eval', 'checkpoint_save', 'shutdown']))
);
COMMENT ON TABLE l4.diagnosis IS 'the last diagnosis of each job';
COMMENT ON COLUMN l4.diagnosis.job_id IS 'the job';
COMMENT ON COLUMN l4.diagnosis.diagnosed_at IS 'when it was made';
COMMENT ON COLUMN l4.diagnosis.status IS 'the first that holds: HEALTHY nothing deviates, PARTIAL input was missing, NO_BASELINE nothing to compare with, OK; coverage has all that hold';
COMMENT ON COLUMN l4.diagnosis.symptom IS 'launch, crash, hang, slow or none';
COMMENT ON COLUMN l4.diagnosis.stage IS 'where the failure shows; NULL = not known';
COMMENT ON COLUMN l4.diagnosis.iteration IS 'iteration in flight when the job was struck, for slow the first slow one; NULL outside training';
COMMENT ON COLUMN l4.diagnosis.summary IS 'two or three sentences for a ticket';
COMMENT ON COLUMN l4.diagnosis.baseline IS 'jobs that it was compared with';
COMMENT ON COLUMN l4.diagnosis.coverage IS 'what there was to look at: nodes, lines, baseline jobs, what was missing';
COMMENT ON COLUMN l4.diagnosis.parameters IS 'method, thresholds and weights that were used';

CREATE TABLE l4.suspect_event (
    job_id text NOT NULL,
    rank int NOT NULL,
    event_id int NOT NULL,
    score float8 NOT NULL,
    reasons text[] NOT NULL,
    nodes int NOT NULL,
    occurrences bigint NOT NULL,
    first_ts timestamptz,
    example_node text NOT NULL,
    example_line_no bigint NOT NULL,
    example_line text NOT NULL,
    CONSTRAINT suspect_event_pkey PRIMARY KEY (job_id, rank),
    CONSTRAINT suspect_event_key UNIQUE (job_id, event_id),
    CONSTRAINT suspect_event_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
COMMENT ON TABLE l4.suspect_event IS 'events that indicate the failure, best first';
COMMENT ON COLUMN l4.suspect_event.job_id IS 'the job';
COMMENT ON COLUMN l4.suspect_event.rank IS '1 = most telling';
COMMENT ON COLUMN l4.suspect_event.event_id IS 'the event';
COMMENT ON COLUMN l4.suspect_event.score IS 'how telling, see docs/algorithms.md';
COMMENT ON COLUMN l4.suspect_event.reasons IS 'why it is claimed';
COMMENT ON COLUMN l4.suspect_event.nodes IS 'nodes that have it';
COMMENT ON COLUMN l4.suspect_event.occurrences IS 'records of it';
COMMENT ON COLUMN l4.suspect_event.first_ts IS 'first time';
COMMENT ON COLUMN l4.suspect_event.example_node IS 'node of the example';
COMMENT ON COLUMN l4.suspect_event.example_line_no IS 'line number of the example';
COMMENT ON COLUMN l4.suspect_event.example_line IS 'first record of it in the job; of a long one 2 kB of beginning and end';

CREATE TABLE l4.suspect_node (
    job_id text NOT NULL,
    rank int NOT NULL,
    node text NOT NULL,
    score float8 NOT NULL,
    is_suspect bool NOT NULL,
    iforest_score float8,
    reasons text[] NOT NULL,
    evidence jsonb NOT NULL,
    events int[] NOT NULL,
    CONSTRAINT suspect_node_pkey PRIMARY KEY (job_id, rank),
    CONSTRAINT suspect_node_key UNIQUE (job_id, node),
    CONSTRAINT suspect_node_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
COMMENT ON TABLE l4.suspect_node IS 'nodes that are worth a look, best first';
COMMENT ON COLUMN l4.suspect_node.job_id IS 'the job';
COMMENT ON COLUMN l4.suspect_node.rank IS '1 = most suspect';
COMMENT ON COLUMN l4.suspect_node.node IS 'the node';
COMMENT ON COLUMN l4.suspect_node.score IS 'sum of weight times value of its evidence';
COMMENT ON COLUMN l4.suspect_node.is_suspect IS 'stands out so far that it is accused';
COMMENT ON COLUMN l4.suspect_node.iforest_score IS 'anomaly score of the isolation forest over suspicious events, 0 to 1';
COMMENT ON COLUMN l4.suspect_node.reasons IS 'the evidence in words, heaviest first';
COMMENT ON COLUMN l4.suspect_node.evidence IS 'kind of evidence: value, weight, detail';
COMMENT ON COLUMN l4.suspect_node.events IS 'its suspect events, those on the fewest nodes first';

CREATE TABLE l4.suspect_iteration (
    job_id text NOT NULL,
    rank int NOT NULL,
    iteration int NOT NULL,
    node text,
    distance float8,
    sigma float8,
    reasons text[] NOT NULL,
    CONSTRAINT suspect_iteration_pkey PRIMARY KEY (job_id, rank),
    CONSTRAINT suspect_iteration_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
COMMENT ON TABLE l4.suspect_iteration IS 'iterations that deviate, best first';
COMMENT ON COLUMN l4.suspect_iteration.job_id IS 'the job';
COMMENT ON COLUMN l4.suspect_iteration.rank IS '1 = most telling';
COMMENT ON COLUMN l4.suspect_iteration.iteration IS 'the iteration';
COMMENT ON COLUMN l4.suspect_iteration.node IS 'node on which it deviates most; NULL = on all';
COMMENT ON COLUMN l4.suspect_iteration.distance IS 'mean DTW distance of its events to those of the ten iterations before, on that node';
COMMENT ON COLUMN l4.suspect_iteration.sigma IS 'by how many standard deviations the distance exceeds that of the iterations before';
COMMENT ON COLUMN l4.suspect_iteration.reasons IS 'why it is listed';

CREATE TABLE l4.evidence (
    job_id text NOT NULL,
    node text NOT NULL,
    kind text NOT NULL,
    value float8 NOT NULL,
    weight float8 NOT NULL,
    detail text NOT NULL,
    CONSTRAINT evidence_pkey PRIMARY KEY (job_id, node, kind),
    CONSTRAINT evidence_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
COMMENT ON TABLE l4.evidence IS 'every piece of evidence about every node: the score of a node is the sum of value times weight';
COMMENT ON COLUMN l4.evidence.job_id IS 'the job';
COMMENT ON COLUMN l4.evidence.node IS 'the node';
COMMENT ON COLUMN l4.evidence.kind IS 'kind of evidence, see docs/algorithms.md';
COMMENT ON COLUMN l4.evidence.value IS 'strength, 0 to 1 unless docs/algorithms.md says otherwise';
COMMENT ON COLUMN l4.evidence.weight IS 'weight of the kind, from diagnosis.parameters';
COMMENT ON COLUMN l4.evidence.detail IS 'in words';

CREATE TABLE l4._case (
    job_id text NOT NULL,
    parameters jsonb NOT NULL,
    baseline text[] NOT NULL,
    elsewhere text[] NOT NULL,
    left_out text[] NOT NULL DEFAULT '{}',
    nodes int NOT NULL,
    timed bool NOT NULL,
    first_ts timestamptz,
    last_ts timestamptz,
    total int,
    step int NOT NULL DEFAULT 1,
    trained bool NOT NULL DEFAULT false,
    attempt_ts timestamptz,
    train_ts timestamptz,
    progress_ts timestamptz,
    last_iteration int,
    median_ms float8,
    excess float8,
    onset_iteration int,
    onset_ts timestamptz,
    onset_block int,
    crashed bool NOT NULL DEFAULT false,
    terminal_ts timestamptz,
    trouble_ts timestamptz,
    finished bool NOT NULL DEFAULT false,
    ended_well bool NOT NULL DEFAULT false,
    symptom text,
    state text,
    CONSTRAINT _case_pkey PRIMARY KEY (job_id),
    CONSTRAINT _case_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4.job ON DELETE CASCADE
);
COMMENT ON TABLE l4._case IS 'working set of a diagnosis: what was found about the job as a whole';

CREATE TABLE l4._case_node (
    job_id text NOT NULL,
    node text NOT NULL,
    rank int,
    ranks int4multirange NOT NULL DEFAULT '{}',
    seat int,
    place int NOT NULL,
    lines bigint NOT NULL,
    first_ts timestamptz,
    last_ts timestamptz,
    clock interval NOT NULL DEFAULT '0',
    train_ts timestamptz,
    progress_ts timestamptz,
    iterations int NOT NULL DEFAULT 0,
    last_iteration int,
    in_flight int,
    unparsed bigint NOT NULL DEFAULT 0,
    new_ts timestamptz,
    loud_ts timestamptz,
    terminal_ts timestamptz,
    is_victim bool NOT NULL DEFAULT false,
    ended_well bool NOT NULL DEFAULT false,
    went_through bool NOT NULL DEFAULT false,
    CONSTRAINT _case_node_pkey PRIMARY KEY (job_id, node),
    CONSTRAINT _case_node_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4._case ON DELETE CASCADE
);
COMMENT ON TABLE l4._case_node IS 'working set of a diagnosis: the nodes; lines = 0 for nodes that were expected and never wrote; times are by the clock of most nodes, from which this one differs by clock; seat = number of the node by its ranks, gaps counted';

CREATE VIEW l4._case_rank AS
SELECT n.job_id, r.rank, pg_catalog.min(n.node) AS node
FROM l4._case_node n
CROSS JOIN LATERAL pg_catalog.unnest(n.ranks) AS s(span)
CROSS JOIN LATERAL pg_catalog.generate_series(pg_catalog.lower(s.span), pg_catalog.upper(s.span) OPERATOR(pg_catalog.-) 1) AS r(rank)
GROUP BY 1, 2
HAVING pg_catalog.count(*) OPERATOR(pg_catalog.=) 1;
COMMENT ON VIEW l4._case_rank IS 'working set of a diagnosis: the node of each rank, where it is one node';

CREATE TABLE l4._case_iteration (
    job_id text NOT NULL,
    place int NOT NULL,
    epoch int,
    iteration int NOT NULL,
    nodes int NOT NULL,
    done_ts timestamptz,
    duration_ms float8,
    ratio float8,
    CONSTRAINT _case_iteration_pkey PRIMARY KEY (job_id, place),
    CONSTRAINT _case_iteration_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4._case ON DELETE CASCADE
);
COMMENT ON TABLE l4._case_iteration IS 'working set of a diagnosis: iterations in order; duration is the median over nodes, ratio is against the normal duration';

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
    family int,
    dropped text,
    CONSTRAINT _case_event_pkey PRIMARY KEY (job_id, event_id),
    CONSTRAINT _case_event_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4._case ON DELETE CASCADE
);
COMMENT ON TABLE l4._case_event IS 'working set of a diagnosis: events that are new or loud; dropped says why one is not claimed';

CREATE TABLE l4._case_count (
    job_id text NOT NULL,
    event_id int NOT NULL,
    node text NOT NULL,
    occurrences bigint NOT NULL,
    first_ts timestamptz,
    last_ts timestamptz,
    first_line_no bigint NOT NULL,
    CONSTRAINT _case_count_pkey PRIMARY KEY (job_id, event_id, node),
    CONSTRAINT _case_count_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4._case ON DELETE CASCADE
);
COMMENT ON TABLE l4._case_count IS 'working set of a diagnosis: where the events of _case_event are';

CREATE TABLE l4._case_edge (
    job_id text NOT NULL,
    accuser text NOT NULL,
    accused text NOT NULL,
    first_ts timestamptz,
    weight float8 NOT NULL,
    events int[] NOT NULL,
    CONSTRAINT _case_edge_pkey PRIMARY KEY (job_id, accuser, accused),
    CONSTRAINT _case_edge_job_id_fkey FOREIGN KEY (job_id) REFERENCES l4._case ON DELETE CASCADE
);
COMMENT ON TABLE l4._case_edge IS 'working set of a diagnosis: who names whom, and in which events; weight 0 = not heard';

SELECT pg_catalog.pg_extension_config_dump('l4.diagnosis', '');
SELECT pg_catalog.pg_extension_config_dump('l4.suspect_event', '');
SELECT pg_catalog.pg_extension_config_dump('l4.suspect_node', '');
SELECT pg_catalog.pg_extension_config_dump('l4.suspect_iteration', '');
SELECT pg_catalog.pg_extension_config_dump('l4.evidence', '');
SELECT pg_catalog.pg_extension_config_dump('l4._case', '');
SELECT pg_catalog.pg_extension_config_dump('l4._case_node', '');
SELECT pg_catalog.pg_extension_config_dump('l4._case_iteration', '');
SELECT pg_catalog.pg_extension_config_dump('l4._case_event', '');
SELECT pg_catalog.pg_extension_config_dump('l4._case_count', '');
SELECT pg_catalog.pg_extension_config_dump('l4._case_edge', '');

-- The next job is in no statistics that tell the frequency of those before it: the planner took that for one row and joined thousands
-- of nodes by nested loops. Without any it takes a share of the table as it is now.
ALTER TABLE l4._case ALTER COLUMN job_id SET STATISTICS 0;
ALTER TABLE l4._case_node ALTER COLUMN job_id SET STATISTICS 0;
ALTER TABLE l4._case_iteration ALTER COLUMN job_id SET STATISTICS 0;
ALTER TABLE l4._case_event ALTER COLUMN job_id SET STATISTICS 0;
ALTER TABLE l4._case_count ALTER COLUMN job_id SET STATISTICS 0;
ALTER TABLE l4._case_edge ALTER COLUMN job_id SET STATISTICS 0;
