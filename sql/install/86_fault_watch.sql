-- Known faults as soon as they are read: each event of a job is matched once, when it turns up, and again only when
-- the library has changed. What is kept here is where a signature matches; match_faults() makes its ranking of it.

--: which events of a job have been matched
CREATE TABLE l4._fault_watch (
    job_id text PRIMARY KEY REFERENCES l4.job ON DELETE CASCADE,
    signatures numeric NOT NULL,   --: what they were matched with: a number that changes with the active faults
    examples numeric NOT NULL,     --: the records that were matched, see _fault_examples()
    events int4multirange NOT NULL --: the events
);

--: where faults match in the first records of the events of a job
CREATE TABLE l4._fault_hit (
    job_id text NOT NULL REFERENCES l4._fault_watch ON DELETE CASCADE,
    event_id int NOT NULL, --: the event; may have been merged since, see _event.merged_into
    n int NOT NULL,        --: line of the record; 0 = the record as a whole, -1 = its message, -2 = by its template
    fault_id int NOT NULL,
    gave_up bool NOT NULL, --: whether it matches is not known: given up at a limit
    CONSTRAINT _fault_hit_pkey PRIMARY KEY (job_id, event_id, n, fault_id)
);

--: a number that changes when the first record of an event of the job does
CREATE FUNCTION l4._fault_examples(job_id text, events int4multirange) RETURNS numeric
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT coalesce(sum(hashtextextended(
        concat_ws(E'\n', e.first_node, e.first_source, e.first_line_no), e.event_id)), 0)
    FROM l4._job_event AS e
    WHERE e.job_id = _fault_examples.job_id AND _fault_examples.events @> e.event_id);

--: matches the events of jobs that have turned up since; all of them when the library has changed
CREATE FUNCTION l4._watch_faults(jobs text[]) RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    library constant record := l4._fault_library();
    stale text[];
    fresh text[];
BEGIN
    -- Where nothing is to be done, nothing is waited for: an ingest that has not committed holds rows of its job.
    jobs := ARRAY(
        SELECT j.job_id FROM unnest(jobs) AS j(job_id) LEFT JOIN l4._fault_watch w ON w.job_id = j.job_id
        WHERE w.signatures IS DISTINCT FROM library.version
           OR EXISTS (SELECT FROM l4._job_event e WHERE e.job_id = j.job_id AND NOT w.events @> e.event_id)
           OR w.examples <> l4._fault_examples(w.job_id, w.events));
    -- A job that is being forgotten is waited for, and left out when it is gone.
    jobs := ARRAY(SELECT j.job_id FROM l4.job j WHERE j.job_id = ANY (jobs) ORDER BY j.job_id FOR KEY SHARE);
    IF jobs = '{}' THEN
        RETURN;
    END IF;
    INSERT INTO l4._fault_watch (job_id, signatures, examples, events)
    SELECT j.job_id, library.version, 0, '{}' FROM unnest(jobs) AS j(job_id) ORDER BY 1 ON CONFLICT DO NOTHING;
    PERFORM FROM l4._fault_watch w WHERE w.job_id = ANY (jobs) ORDER BY w.job_id FOR UPDATE;
    stale := ARRAY(
        SELECT w.job_id FROM l4._fault_watch w
        WHERE w.job_id = ANY (jobs)
          AND (w.signatures <> library.version
            OR w.events <> '{}' AND w.examples <> l4._fault_examples(w.job_id, w.events)));
    DELETE FROM l4._fault_hit h WHERE h.job_id = ANY (stale);
    UPDATE l4._fault_watch w SET signatures = library.version, examples = 0, events = '{}' WHERE w.job_id = ANY (stale);
    WITH line AS MATERIALIZED (
        SELECT row_number() OVER () AS place, w.job_id, l.kept_id, l.n, l.line
        FROM l4._fault_watch w CROSS JOIN LATERAL l4._fault_lines(w.job_id, w.events) AS l
        WHERE w.job_id = ANY (jobs)
    ), event AS (
        SELECT DISTINCT l.job_id, l.kept_id FROM line l
    ), hit AS (
        INSERT INTO l4._fault_hit (job_id, event_id, n, fault_id, gave_up)
        SELECT l.job_id, l.kept_id, l.n, library.ids[s.pattern], s.matched IS NULL
        FROM l4._pcre_multimatch(library.signatures, ARRAY(SELECT l.line FROM line l ORDER BY l.place)) AS s
        JOIN line l ON l.place = s.line
        UNION ALL
        SELECT e.job_id, e.kept_id, -2, t.fault_id, t.gave_up
        FROM l4._fault_template_scan(ARRAY(SELECT e.kept_id FROM event e)) AS t JOIN event e ON e.kept_id = t.event_id
    )
    SELECT array_agg(DISTINCT l.job_id) INTO fresh FROM line l;
    UPDATE l4._fault_watch w SET events = e.events, examples = l4._fault_examples(w.job_id, e.events)
    FROM (SELECT j.job_id, range_agg(int4range(j.event_id, j.event_id, '[]')) AS events
        FROM l4._job_event j WHERE j.job_id = ANY (fresh) GROUP BY 1) AS e
    WHERE w.job_id = e.job_id;
END
$$;

--: known faults in the first records of the events of a job, kept up to date by ingest; match_faults() ranks, combines
--: and tries other values
--.fault_name its name
--.event_id the event that shows it
--.node node of the event's first record
--.source its source
--.line_no number of the line
--.line the line; of a record that matches as a whole its message
--.ts first time
--.occurrences records of the event in the job so far
CREATE VIEW l4.fault_seen AS
SELECT DISTINCT ON (k.job_id, k.fault_id) k.job_id, k.fault_id, k.name AS fault_name, k.category, k.component,
    k.severity, k.is_effect, k.event_id, k.first_node AS node, k.first_source AS source,
    k.first_line_no + greatest(k.n - 1, 0) AS line_no,
    CASE WHEN k.n > 0 THEN split_part(k.record, E'\n', k.n) ELSE split_part(k.message, E'\n', 1) END AS line,
    k.first_ts AS ts, k.occurrences
FROM (SELECT h.job_id, h.fault_id, h.n, f.name, f.category, f.component, f.severity, f.is_effect, f.priority,
        l4._survivor(e.event_id, e.merged_into) AS event_id, j.first_node, j.first_source, j.first_line_no,
        j.example AS record, e.example AS message, j.first_ts, j.occurrences,
        max(f.priority) OVER (PARTITION BY h.job_id, h.event_id) AS top, own.yes AS is_own,
        max(f.priority) OVER (PARTITION BY h.job_id, h.event_id, own.yes) AS own_top
    FROM l4._fault_hit AS h
    JOIN l4.active_fault AS f ON f.fault_id = h.fault_id
    JOIN l4._job_event AS j ON j.job_id = h.job_id AND j.event_id = h.event_id
    JOIN l4._event AS e ON e.event_id = h.event_id
    CROSS JOIN LATERAL (SELECT l4._is_own(f.fault_id) AND f.priority >= 50 AS yes) AS own
    WHERE NOT h.gave_up) AS k
WHERE k.priority = k.top OR k.is_own AND k.priority = k.own_top
ORDER BY k.job_id, k.fault_id, k.first_ts, k.event_id, k.n <= 0, k.n;
