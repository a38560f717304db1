-- Shipped signatures against training lines of 190 bytes, beside one regular expression of the server over the same
-- warm table.
-- psql -d DATABASE -f test/bench/faults.sql     (needs the extension; leaves nothing behind)
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
CREATE TEMP TABLE bench_line AS
SELECT
    format('[rank%s]: 2026-01-02 03:04:05.%s | INFO | trainer.step | iteration %s/500000 | consumed samples: %s | '
        'elapsed time per iteration (ms): %s.%s | lm loss: 2.%sE+00 | grad norm: 0.%s',
    i % 64, i % 1000, i, i * 1024, 1000 + i % 77, i % 10, i % 100000, i % 1000) AS line
FROM generate_series(1, 1000000) i;
VACUUM ANALYZE bench_line;
SELECT count(*) AS lines, round(avg(length(line))) AS bytes FROM bench_line;
SELECT array_agg(fault_id ORDER BY fault_id) AS ids, array_agg(signature ORDER BY fault_id) AS signatures
    FROM l4.active_fault WHERE signature IS NOT NULL \gset
\timing on
\echo one regular expression
SELECT count(*) FROM bench_line WHERE line ~ 'ECC|ecc error';
\echo all shipped signatures
SELECT count(l4.pcre_first(line, :'ids', :'signatures')) FROM bench_line;
\echo 400 of them
SELECT count(l4.pcre_first(line, (:'ids'::int[])[:400], (:'signatures'::l4.pcre[])[:400])) FROM bench_line;
\echo 100 of them
SELECT count(l4.pcre_first(line, (:'ids'::int[])[:100], (:'signatures'::l4.pcre[])[:100])) FROM bench_line;
