-- psql -v dir=folder -f test/bench/corpus.sql: seconds of COPY into a table with a primary key and of l4.ingest(), for the labelled
-- corpus that `make score` reads. In an empty database, as superuser; the server must be able to read the folder.
\set ON_ERROR_STOP on
\set QUIET on
CREATE EXTENSION IF NOT EXISTS l4;
CREATE TABLE corpus_line (job_id text NOT NULL, node text NOT NULL, rank int, line_no bigint NOT NULL, ts timestamptz NOT NULL, line text NOT NULL);
SELECT format('COPY corpus_line FROM PROGRAM %L WITH (FORMAT csv)', 'for f in "' || :'dir' || '"/logs/*.csv.gz; do zcat "$f" | tail -n +2; done') \gexec
ALTER TABLE corpus_line ADD PRIMARY KEY (job_id, node, line_no);
VACUUM ANALYZE corpus_line;
CREATE TABLE corpus_copy (LIKE corpus_line);
ALTER TABLE corpus_copy ADD PRIMARY KEY (job_id, node, line_no);
SELECT current_setting('data_directory') || '/corpus_line.copy' AS file \gset
COPY corpus_line TO :'file';
INSERT INTO l4.job (job_id) SELECT DISTINCT job_id FROM corpus_line ORDER BY 1;
CHECKPOINT;
\timing on
\echo COPY
COPY corpus_copy FROM :'file';
\echo ingest
CALL l4.ingest('corpus_line');
\timing off
SELECT pg_catalog.round(sum(pg_total_relation_size(c.oid)) / (SELECT count(*) FROM corpus_line), 1) AS bytes_a_line
FROM pg_class c WHERE c.relnamespace = 'l4'::regnamespace AND c.relname IN ('_stream', '_pack', '_pack_chunk', '_job_pack');
\timing on
\echo nothing new
CALL l4.ingest('corpus_line');
\timing off
SELECT count(l4.forget_job(job_id)) AS forgotten FROM l4.job;
\timing on
\echo ingest, the events known
CALL l4.ingest('corpus_line');
\timing off
COPY (SELECT) TO :'file';
DROP TABLE corpus_line, corpus_copy;
