-- What each piece of evidence is worth: ranks the nodes anew from the evidence that l4.diagnose() has stored, with one kind left out, with one
-- kind alone, and with the isolation forest's score at some weights. Run it in a database that test/score/corpus.sql has filled:
--   psql -f test/score/ablation.sql
\set ON_ERROR_STOP on
WITH variant AS (
    SELECT 'all' AS variant, 0 AS place, NULL::text AS without, NULL::text AS only, NULL::float8 AS forest
    UNION ALL SELECT 'without ' || k, 1, k, NULL, NULL FROM jsonb_object_keys(l4.diagnose_defaults() -> 'weights') AS k
    UNION ALL SELECT 'only ' || k, 2, NULL, k, NULL FROM jsonb_object_keys(l4.diagnose_defaults() -> 'weights') AS k
    UNION ALL SELECT 'all and forest at weight ' || w, 3, NULL, NULL, w FROM unnest('{0.25,0.5,1,2}'::float8[]) AS w
), scored AS (
    SELECT v.variant, v.place, n.job_id, n.node, n.new_ts, n.last_ts,
        coalesce(sum(e.value * CASE WHEN e.kind = v.without THEN 0 WHEN v.only IS NOT NULL THEN (e.kind = v.only)::int
            ELSE e.weight END), 0)
            + coalesce(v.forest * (SELECT s.iforest_score FROM l4.suspect_node AS s WHERE s.job_id = n.job_id AND s.node = n.node), 0) AS score
    FROM variant AS v
    CROSS JOIN l4._case_node AS n
    LEFT JOIN l4.evidence AS e ON e.job_id = n.job_id AND e.node = n.node
    WHERE n.job_id IN (SELECT t.job_id FROM score.node_truth AS t)
    GROUP BY 1, 2, 3, 4, 5, 6, v.forest
), ranked AS (
    SELECT s.variant, s.place, s.job_id, s.node, row_number() OVER (PARTITION BY s.variant, s.job_id ORDER BY s.score DESC, a.first_ts, s.new_ts, s.last_ts, s.node COLLATE "C") AS rank
    FROM scored AS s
    LEFT JOIN (SELECT x.job_id, x.accused, min(x.first_ts) AS first_ts FROM l4._case_edge AS x GROUP BY 1, 2) AS a ON a.job_id = s.job_id AND a.accused = s.node
)
SELECT r.variant, round(avg((r.rank = 1)::int), 3) AS top1, round(avg((r.rank <= 3)::int), 3) AS top3, round(avg((r.rank <= 8)::int), 3) AS top8
FROM ranked AS r JOIN score.node_truth AS t USING (job_id, node)
GROUP BY r.place, r.variant ORDER BY r.place, r.variant;

-- What the paper's means give alone: the forest over counts of all new events; over counts of all events, each relative to what the same rank
-- prints in good jobs; and the warping distance of the last two iterations' events.
WITH job AS (
    SELECT DISTINCT t.job_id FROM score.node_truth AS t
), role AS (
    SELECT k.job_id, c.event_id, n.rank, avg(c.occurrences)::float8 AS usual
    FROM job JOIN l4._case AS k USING (job_id) CROSS JOIN LATERAL unnest(k.baseline[1:3]) AS b(job_id)
    JOIN l4.event_count AS c ON c.job_id = b.job_id JOIN l4.job_node AS n ON n.job_id = b.job_id AND n.node = c.node
    GROUP BY 1, 2, 3
), relative AS (
    SELECT c.job_id, c.node, l4.event_vector_agg(c.event_id, (100 * c.occurrences / (1 + coalesce(r.usual, 0)))::bigint) AS vector
    FROM job JOIN l4.event_count AS c USING (job_id) JOIN l4._case_node AS n USING (job_id, node)
    LEFT JOIN role AS r ON r.job_id = c.job_id AND r.event_id = c.event_id AND r.rank = n.rank
    GROUP BY 1, 2
), forest AS (
    SELECT r.job_id, l4.iforest_train(r.vector) AS forest FROM relative AS r GROUP BY 1
), scored AS (
    SELECT 'forest over counts of new events' AS means, job.job_id, f.node, f.score FROM job CROSS JOIN LATERAL l4.node_forest(job.job_id, true) AS f
    UNION ALL SELECT 'forest over counts relative to the role', r.job_id, r.node, l4.iforest_score(f.forest, r.vector) FROM relative AS r JOIN forest AS f USING (job_id)
    UNION ALL SELECT 'warping distance of the last iterations', k.job_id, d.node, d.sigma
    FROM job JOIN l4._case AS k USING (job_id) CROSS JOIN LATERAL l4._deviating_sequences(k.job_id) AS d WHERE d.iteration >= k.last_iteration - 1
), ranked AS (
    SELECT s.means, s.job_id, s.node, row_number() OVER (PARTITION BY s.means, s.job_id ORDER BY max(s.score) DESC, s.node COLLATE "C") AS rank
    FROM scored AS s GROUP BY 1, 2, 3
)
SELECT m.means, round(avg(coalesce(r.rank = 1, false)::int), 3) AS top1, round(avg(coalesce(r.rank <= 3, false)::int), 3) AS top3, round(avg(coalesce(r.rank <= 8, false)::int), 3) AS top8
FROM (SELECT DISTINCT x.means FROM ranked AS x) AS m CROSS JOIN score.node_truth AS t LEFT JOIN ranked AS r ON r.means = m.means AND r.job_id = t.job_id AND r.node = t.node
GROUP BY m.means ORDER BY m.means;
