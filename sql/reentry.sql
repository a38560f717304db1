-- Reading logs from within the statement that reads logs: nothing that the outer call still uses is freed or replaced.
SET client_min_messages = warning;
\pset format unaligned
\pset tuples_only on
CREATE EXTENSION IF NOT EXISTS l4;
CREATE SCHEMA reentry;
SET search_path = reentry;
SELECT l4.create_log_table('reentry.inner_logs');
-- lines of a type of their own: the statement that reads them makes text of them by a function of the user's
CREATE TYPE spoken AS (n int);
CREATE TABLE outer_logs (job_id text, node text, source text, line_no bigint, line spoken, PRIMARY KEY (job_id, node, source, line_no));
CREATE FUNCTION say(line spoken) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF line.n % 100 = 0 THEN
        INSERT INTO reentry.inner_logs (job_id, node, line_no, line) VALUES ('inner', 'n' || line.n, line.n, 'nested line') ON CONFLICT DO NOTHING;
        CALL l4.ingest('reentry.inner_logs', commit => false);
    ELSIF line.n % 40 = 0 THEN
        -- with other rules and other masks, and it fails
        BEGIN
            INSERT INTO l4.mask_rule (name, pattern) VALUES ('reentry', 'line');
            INSERT INTO l4.iteration_rule (name, kind, signature, priority) VALUES ('reentry', 'done', 'turn (?<iter>[0-9]+)', 1);
            INSERT INTO reentry.inner_logs (job_id, node, line_no, line) SELECT 'gone', 'n', i, 'ERROR turn ' || i || repeat(' again', i % 7) FROM generate_series(1, 50) AS i;
            CALL l4.ingest('reentry.inner_logs', commit => false);
            RAISE no_data_found;
        EXCEPTION WHEN no_data_found THEN
            NULL;
        END;
    END IF;
    RETURN 'INFO:root:turn ' || line.n || ' of the outer line' || repeat(' x', line.n % 3);
END
$$;
CREATE CAST (spoken AS text) WITH FUNCTION say(spoken);
INSERT INTO outer_logs SELECT 'outer-' || j, 'n' || n, '', i, ROW(i)::spoken FROM generate_series(1, 2) AS j, generate_series(1, 2) AS n, generate_series(1, 250) AS i;
CALL l4.ingest('outer_logs');
SELECT job_id, node, count(*), count(DISTINCT line_no), count(DISTINCT event_id), count(iteration) FROM l4.event_line WHERE job_id ~ '^(inner$|gone$|outer-)' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT level, template FROM l4.template WHERE template ~ 'outer line|nested line|again' ORDER BY 1, 2;
-- nothing is left to be read, and no call is left behind
CALL l4.ingest('outer_logs');
CALL l4.ingest('inner_logs');
SELECT logs, state, lines_done FROM l4.ingest_progress WHERE logs ~ 'reentry' ORDER BY 1;
DROP SCHEMA reentry CASCADE;
SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id ~ '^(inner$|gone$|outer-)';
