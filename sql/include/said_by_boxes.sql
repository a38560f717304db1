-- What one node says, into the table logs of the search path: box-0 and so on, a millisecond apart.
CREATE TABLE logs (job_id text, node text, source text DEFAULT '', rank int, line_no bigint, ts timestamptz, line text);
CREATE PROCEDURE say(job_id text, node int, at float8, line text)
LANGUAGE sql AS $$
    INSERT INTO logs (job_id, node, line_no, ts, line)
    SELECT say.job_id, 'box-' || say.node,
        (SELECT count(*) + 1 FROM logs AS x WHERE x.job_id = say.job_id AND x.node = 'box-' || say.node),
        '2026-05-01 10:00:00+00'::timestamptz + (say.at + say.node * 0.001) * interval '1 s', say.line
$$;
