-- What each piece of evidence is worth: ranks the nodes anew from the evidence that l4.diagnose() has stored, with one kind left out, with one
-- kind alone, and with the isolation forest at some weights. Run it in a database that test/score/corpus.sql has filled:
--   psql -f test/score/ablation.sql
\set ON_ERROR_STOP on
WITH variant AS (
    SELECT 'all' AS variant, 0 AS place, NULL::text AS without, NULL::text AS only, NULL::float8 AS forest
    UNION ALL SELECT 'without ' || k, 1, k, NULL, NULL FROM jsonb_object_keys(l4.diagnose_defaults() -> 'weights') AS k WHERE k <> 'forest'
    UNION ALL SELECT 'only ' || k, 2, NULL, k, NULL FROM jsonb_object_keys(l4.diagnose_defaults() -> 'weights') AS k
    UNION ALL SELECT 'all and forest at weight ' || w, 3, NULL, NULL, w FROM unnest('{0.25,0.5,1,2}'::float8[]) AS w
), scored AS (
    SELECT v.variant, v.place, n.job_id, n.node, n.new_ts,
        coalesce(sum(e.value * CASE WHEN e.kind = v.without THEN 0 WHEN v.only IS NOT NULL THEN (e.kind = v.only)::int
            WHEN e.kind = 'forest' THEN coalesce(v.forest, e.weight) ELSE e.weight END), 0) AS score
    FROM variant AS v
    CROSS JOIN l4._case_node AS n
    LEFT JOIN l4.evidence AS e ON e.job_id = n.job_id AND e.node = n.node
    WHERE n.job_id IN (SELECT t.job_id FROM score.node_truth AS t)
    GROUP BY 1, 2, 3, 4, 5
), ranked AS (
    SELECT s.variant, s.place, s.job_id, s.node, row_number() OVER (PARTITION BY s.variant, s.job_id ORDER BY s.score DESC, a.first_ts, s.new_ts, s.node COLLATE "C") AS rank
    FROM scored AS s
    LEFT JOIN (SELECT x.job_id, x.accused, min(x.first_ts) AS first_ts FROM l4._case_edge AS x GROUP BY 1, 2) AS a ON a.job_id = s.job_id AND a.accused = s.node
)
SELECT r.variant, round(avg((r.rank = 1)::int), 3) AS top1, round(avg((r.rank <= 3)::int), 3) AS top3, round(avg((r.rank <= 8)::int), 3) AS top8
FROM ranked AS r JOIN score.node_truth AS t USING (job_id, node)
GROUP BY r.place, r.variant ORDER BY r.place, r.variant;
