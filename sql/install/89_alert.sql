-- Alerts: what diagnoses say now, compared with what somebody was told. Nothing runs in the background.

--: alerts that were taken and are not over; no foreign key: that a job is forgotten ends its alerts, and is told
CREATE TABLE l4._alert_told (
    job_id text NOT NULL,
    node text NOT NULL,           --: the suspect node; empty = the job itself
    symptom text NOT NULL,        --: symptom of the job at that time
    told_at timestamptz NOT NULL, --: when it was taken
    CONSTRAINT _alert_told_pkey PRIMARY KEY (job_id, node)
);

--: jobs whose diagnosis says that something is wrong, and their suspect nodes: new, open (told before) or over
--.node the suspect node; NULL = the job itself
--.symptom launch, crash, hang or slow: of the job now; where it is over, as it was told
--.state new: nobody was told, or another symptom of the job; open: told; over: told, and the last diagnosis says so no
--: more, the job succeeded or was forgotten
--.what summary of the diagnosis, of a node the reasons; NULL where it is over
--.diagnosed_at time of the diagnosis; NULL where it is over
--.told_at when take_alerts() handed it out; NULL = not yet
CREATE VIEW l4.alert AS
WITH found AS (
    SELECT d.job_id, '' AS node, d.symptom, d.summary AS what, d.diagnosed_at
    FROM l4.diagnosis d
    UNION ALL
    SELECT d.job_id, s.node, d.symptom, array_to_string(s.reasons, '; '), d.diagnosed_at
    FROM l4.diagnosis d JOIN l4.suspect_node s ON s.job_id = d.job_id
    WHERE s.is_suspect
), failing AS (
    SELECT f.*
    FROM found f JOIN l4.job j ON j.job_id = f.job_id
    WHERE f.symptom <> 'none' AND j.status <> 'succeeded'
)
SELECT COALESCE(f.job_id, t.job_id) AS job_id, NULLIF(COALESCE(f.node, t.node), '') AS node,
    COALESCE(f.symptom, t.symptom) AS symptom,
    CASE WHEN f.job_id IS NULL THEN 'over'
        WHEN t.job_id IS NULL OR f.node = '' AND f.symptom <> t.symptom THEN 'new'
        ELSE 'open' END AS state,
    f.what, f.diagnosed_at, t.told_at
FROM failing f
FULL JOIN l4._alert_told t ON t.job_id = f.job_id AND t.node = f.node;

--: alerts that are new or over since the call before, each once; after a rollback they come again
CREATE FUNCTION l4.take_alerts() RETURNS SETOF l4.alert
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- one at a time: the next one finds what this one has told
    LOCK TABLE l4._alert_told IN SHARE ROW EXCLUSIVE MODE;
    RETURN QUERY
    WITH taken AS MATERIALIZED (
        SELECT a.* FROM l4.alert AS a WHERE a.state <> 'open'
    ), told AS (
        INSERT INTO l4._alert_told AS t (job_id, node, symptom, told_at)
        SELECT a.job_id, coalesce(a.node, ''), a.symptom, now() FROM taken AS a WHERE a.state = 'new'
        ON CONFLICT (job_id, node) DO UPDATE SET symptom = excluded.symptom, told_at = excluded.told_at
    ), ended AS (
        DELETE FROM l4._alert_told AS t USING taken AS a
        WHERE a.state = 'over' AND t.job_id = a.job_id AND t.node = coalesce(a.node, '')
    )
    SELECT a.* FROM taken AS a ORDER BY a.job_id COLLATE "C", a.node COLLATE "C" NULLS FIRST;
END;
$$;
