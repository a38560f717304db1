-- What a person reads about a job found in network flows.

--: what network flows say about a job, for people
CREATE FUNCTION l4.flow_report(flow_job text) RETURNS SETOF text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE ROWS 30 SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
    j l4.flow_job;
    issues bigint;
BEGIN
    SELECT * INTO j FROM l4.flow_job AS f WHERE f.flow_job = flow_report.flow_job;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'flow job "%" does not exist', flow_report.flow_job USING ERRCODE = 'no_data_found',
            HINT = 'SELECT * FROM l4.flow_job lists them.';
    END IF;
    RETURN NEXT format('Job %s, seen in network flows (%s)', j.flow_job, j.status);
    RETURN NEXT format('  %s to %s UTC', to_char(j.first_ts, 'YYYY-MM-DD HH24:MI:SS'), to_char(j.last_ts, 'HH24:MI:SS'))
        || CASE WHEN j.runs > 1 THEN format(', started %s times', j.runs) ELSE '' END;
    RETURN NEXT format('  %s NICs', j.nics) || coalesce(' on ' || j.machines || ' machines', '')
        || format(', up to %s in a data parallel group, %s %s', j.dp, j.pp,
                  CASE j.pp WHEN 1 THEN 'stage' ELSE 'stages' END);
    RETURN QUERY SELECT format('  %s pairs: %s, %s GB', p.pairs, p.kind, round((p.bytes / 1e9)::numeric, 1))
        FROM (SELECT p.kind, count(*) AS pairs, sum(p.bytes) AS bytes FROM l4.flow_pair AS p
              WHERE p.flow_job = j.flow_job GROUP BY p.kind) AS p
        ORDER BY p.bytes DESC, p.kind;
    RETURN QUERY SELECT CASE count(*) WHEN 0 THEN '  no steps found' ELSE format(
            '  %s steps, usually %s ms; the longest %s ms', count(*), round(j.period_ms::numeric, 1),
            round((max(s.duration_ms) FILTER (WHERE s.step > 0))::numeric, 1)) END
        FROM l4.flow_step AS s WHERE s.flow_job = j.flow_job;
    RETURN QUERY SELECT format('  the same as job %s of the logs (%s of %s NICs)', m.job_id, m.shared, j.nics)
        FROM l4.flow_job_match AS m WHERE m.flow_job = j.flow_job ORDER BY m.shared DESC, m.job_id;
    issues := (SELECT count(*) FROM l4.flow_issue AS i WHERE i.flow_job = j.flow_job);
    RETURN NEXT CASE WHEN issues = 0 THEN 'No issues' ELSE 'Issues' END;
    RETURN QUERY SELECT format('  %s. %s %s, %s to %s: %s', i.rank, replace(i.kind, '_', ' '), i.subject,
            to_char(i.first_ts, 'HH24:MI:SS.MS'), to_char(i.last_ts, 'HH24:MI:SS.MS'), array_to_string(i.reasons, '; '))
            || coalesce(' (by ' || replace(i.evidence ->> 'cause', '_', ' ')
                || ' ' || (i.evidence ->> 'subject') || ')', '')
        FROM l4.flow_issue AS i WHERE i.flow_job = j.flow_job ORDER BY i.rank LIMIT 10;
    IF issues > 10 THEN
        RETURN NEXT format('  and %s more', issues - 10);
    END IF;
    RETURN QUERY SELECT format('Several jobs: %s %s, %s to %s: %s', replace(i.kind, '_', ' '), i.subject,
            to_char(i.first_ts, 'HH24:MI:SS'), to_char(i.last_ts, 'HH24:MI:SS'), array_to_string(i.reasons, '; '))
        FROM l4.flow_issue AS i
        WHERE i.flow_job IS NULL AND i.first_ts <= j.last_ts AND i.last_ts >= j.first_ts ORDER BY i.rank;
END
$$;

-- Of the jobs found in flows those that ran mostly on the addresses or machines of a job of the logs.
--: report: the jobs found in network flows that are the job
CREATE FUNCTION l4._report_flow_jobs(job_id text, OUT flow_job text, OUT place bigint) RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT m.flow_job, row_number() OVER (ORDER BY m.share DESC, m.flow_job)
    FROM l4.flow_job_match AS m WHERE m.job_id = _report_flow_jobs.job_id AND m.share >= 0.5 ORDER BY 2 LIMIT 3;
END;

--: report: what network flows say about the job
CREATE FUNCTION l4._report_network(job_id text) RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 30
BEGIN ATOMIC
    SELECT CASE WHEN r.place = 1 THEN '  ' ELSE '    ' END || ltrim(r.line)
    FROM l4._report_flow_jobs(_report_network.job_id) AS x
    CROSS JOIN LATERAL l4.flow_report(x.flow_job) WITH ORDINALITY AS r(line, place)
    ORDER BY x.place, r.place;
END;

--: page: what network flows say about the job
CREATE FUNCTION l4._html_network(job_id text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT concat((SELECT string_agg(l4._html_flow(x.flow_job), '' ORDER BY x.place)
            FROM l4._report_flow_jobs(_html_network.job_id) AS x),
        '<pre>' || string_agg(l4._html(l4._printable(r.line, 500)), E'\n' ORDER BY r.place) || '</pre>')
    FROM l4._report_network(_html_network.job_id) WITH ORDINALITY AS r(line, place));
