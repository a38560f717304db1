\set SHOW_CONTEXT never
-- The extension installs into schema l4, made by its own script, and library and catalog agree on the version.
SET client_min_messages = warning;
CREATE SCHEMA l4;
CREATE EXTENSION l4;
DROP SCHEMA l4;
DROP EXTENSION IF EXISTS l4 CASCADE;
CREATE EXTENSION l4;
SELECT extversion = l4.l4_version() AS same_version FROM pg_extension WHERE extname = 'l4';
-- every object of the extension has a comment
SELECT pg_describe_object(d.classid, d.objid, 0) AS without_comment
FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'l4')
  AND d.classid IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_class'::regclass, 'pg_operator'::regclass, 'pg_namespace'::regclass)
  AND obj_description(d.objid, d.classid::regclass::name) IS NULL
  AND NOT EXISTS (SELECT FROM pg_type t WHERE d.classid = 'pg_type'::regclass AND t.oid = d.objid
                  AND (t.typcategory = 'A' OR t.typrelid <> 0))
  AND NOT EXISTS (SELECT FROM pg_class c WHERE d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind NOT IN ('r', 'v', 'm', 'p'))
ORDER BY 1;
-- so has every column of the tables and views that users see
SELECT c.relname, a.attname AS without_comment
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'l4'::regnamespace AND c.relkind IN ('r', 'v', 'm') AND c.relname !~ '^_' AND col_description(c.oid, a.attnum) IS NULL
ORDER BY 1, 2;
-- what dashboards, tests and other programs rely on: columns of tables and views, in this order; more may follow
CREATE TEMP TABLE contract (relation text, columns text);
INSERT INTO contract VALUES
    ('job', 'job_id text, settings text, status text, expected_nodes integer, started_at timestamp with time zone, ended_at timestamp with time zone, attributes jsonb'),
    ('job_node', 'job_id text, node text, rank integer, addresses text[], attributes jsonb'),
    ('template', 'event_id integer, template text, level text, occurrences bigint, jobs integer, first_seen timestamp with time zone, last_seen timestamp with time zone, example text, merged_into integer'),
    ('event_line', 'job_id text, node text, source text, line_no bigint, record_line_no bigint, ts timestamp with time zone, rank integer, level text, event_id integer, stage text, iteration integer'),
    ('event_count', 'job_id text, node text, event_id integer, occurrences bigint, first_ts timestamp with time zone, last_ts timestamp with time zone, first_line_no bigint, last_line_no bigint'),
    ('iteration', 'job_id text, node text, source text, epoch integer, iteration integer, started timestamp with time zone, duration_ms double precision, metrics jsonb'),
    ('stage_span', 'job_id text, node text, stage text, first_ts timestamp with time zone, last_ts timestamp with time zone, first_line_no bigint, last_line_no bigint'),
    ('mention', 'job_id text, node text, event_id integer, kind text, value text, named_node text, occurrences bigint, first_ts timestamp with time zone'),
    ('diagnosis', 'job_id text, diagnosed_at timestamp with time zone, status text, symptom text, stage text, epoch integer, iteration integer, category text, component text, cause text, confidence text, summary text, baseline text[], coverage jsonb, parameters jsonb'),
    ('suspect_event', 'job_id text, rank integer, event_id integer, score double precision, reasons text[], nodes integer, occurrences bigint, first_ts timestamp with time zone, example_node text, example_line_no bigint, example_line text'),
    ('suspect_node', 'job_id text, rank integer, node text, score double precision, is_suspect boolean, iforest_score double precision, reasons text[], evidence jsonb, events integer[]'),
    ('suspect_iteration', 'job_id text, rank integer, iteration integer, node text, distance double precision, sigma double precision, reasons text[]'),
    ('fault_match', 'job_id text, rank integer, fault_id integer, node text, line_no bigint, line text, captures jsonb'),
    ('fault', 'fault_id integer, name text, category text, component text, signature l4.pcre, templates text[], root_cause text, remedy text, leads_to text[], severity text, example text, source_url text, origin text, source_job text, confirmed_by text, confirmed_at timestamp with time zone'),
    ('disabled_rule', 'kind text, name text'),
    ('flow_endpoint', 'address inet, machine text, nic integer, switch text'),
    ('flow_job', 'flow_job text, first_ts timestamp with time zone, last_ts timestamp with time zone, runs integer, nics integer, machines integer, period_ms double precision, dp integer, pp integer, status text, coverage jsonb'),
    ('flow_member', 'flow_job text, address inet, machine text, nic integer, dp_group integer, first_ts timestamp with time zone, last_ts timestamp with time zone'),
    ('flow_pair', 'flow_job text, a inet, b inet, kind text, records bigint, bytes double precision, sizes double precision[], evidence jsonb'),
    ('flow_step', 'flow_job text, step integer, started timestamp with time zone, ended timestamp with time zone, duration_ms double precision, dp_ms double precision, cover double precision, reason text'),
    ('flow_step_nic', 'flow_job text, address inet, step integer, started timestamp with time zone, ended timestamp with time zone, pp_ms double precision, dp_ms double precision, compute_ms double precision'),
    ('flow_issue', 'flow_job text, rank integer, kind text, subject text, first_ts timestamp with time zone, last_ts timestamp with time zone, score double precision, reasons text[], evidence jsonb'),
    ('flow_job_match', 'flow_job text, job_id text, shared integer, share double precision'),
    ('ingest_progress', 'logs text'), ('stage_rule', 'rule_id integer'), ('iteration_rule', 'rule_id integer'), ('line_format', 'rule_id integer'), ('mask_rule', 'rule_id integer');
SELECT x.relation, x.columns AS expected, h.columns AS found
FROM contract x CROSS JOIN LATERAL (
    SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum) AS columns
    FROM pg_attribute a WHERE a.attrelid = to_regclass('l4.' || x.relation) AND a.attnum > 0 AND NOT a.attisdropped) h
WHERE NOT coalesce(starts_with(h.columns || ',', x.columns || ','), false);
-- and functions: the first arguments in this order, and what they return
TRUNCATE contract;
INSERT INTO contract VALUES
    ('mask', 'text, jsonb > text'), ('parser_train', 'text > l4.parser'), ('parser_train', 'text, jsonb > l4.parser'), ('parser_match', 'l4.parser, text > integer'),
    ('parser_parameters', 'l4.parser, text > TABLE(slot integer, mask text, value text)'), ('parser_templates', 'l4.parser > TABLE(event_id integer, template text, occurrences bigint)'),
    ('event_vector_agg', 'integer > l4.event_vector'), ('event_vector_agg', 'integer, bigint > l4.event_vector'), ('event_vector_sum', 'l4.event_vector > l4.event_vector'),
    ('event_vector_each', 'l4.event_vector > TABLE(event_id integer, n bigint)'), ('iforest_train', 'l4.event_vector > l4.iforest'), ('iforest_train', 'l4.event_vector, jsonb > l4.iforest'),
    ('iforest_score', 'l4.iforest, l4.event_vector > double precision'), ('iforest_explain', 'l4.iforest, l4.event_vector > TABLE(event_id integer, contribution double precision)'),
    ('dtw_distance', 'integer[], integer[], integer > double precision'), ('dtw_distance_numeric', 'double precision[], double precision[], integer > double precision'),
    ('dtw_path', 'integer[], integer[] > TABLE(i integer, j integer, cost double precision)'), ('pcre_match', 'text, l4.pcre, boolean > boolean'), ('pcre_captures', 'text, l4.pcre > jsonb'),
    ('create_flow_table', 'text > regclass'), ('trace_flows', 'regclass, timestamp with time zone, timestamp with time zone, boolean, jsonb > '), ('flow_report', 'text > SETOF text'),
    ('divide_steps', 'double precision[], double precision[], double precision[], jsonb > integer[]'), ('component_agg', 'text, text > jsonb'), ('change_points', 'double precision > double precision[]'),
    ('create_log_table', 'text > regclass'), ('ingest', 'regclass, text, boolean > '), ('event_lines', 'text, integer > SETOF l4.event_line'),
    ('parse', 'text > TABLE(ts timestamp with time zone, level text, rank integer, host text, component text, message text, event_id integer, template text, stage text, iteration integer)'),
    ('event_parameters', 'text, integer > TABLE(slot integer, mask text, value text, occurrences bigint, nodes text[])'),
    ('compare', 'text, text[] > TABLE(event_id integer, template text, occurrences bigint, share double precision, baseline_occurrences bigint, baseline_share double precision, lift double precision, verdict text)'),
    ('diagnose', 'text, text[], text, integer > l4.diagnosis'), ('match_faults', 'text > SETOF l4.fault_match'), ('confirm_fault', 'text, text, text, text > integer'),
    ('test_fault', 'l4.pcre > TABLE('), ('export_faults', ' > jsonb'), ('import_faults', 'jsonb, boolean > TABLE('), ('report', 'text > SETOF text'), ('report_html', 'text > text'), ('forget_job', 'text > boolean');
SELECT x.relation, x.columns
FROM contract x
WHERE NOT EXISTS (
    SELECT FROM pg_proc p
    CROSS JOIN LATERAL (SELECT coalesce(string_agg(format_type(t.type, NULL), ', ' ORDER BY t.n), '') AS arguments FROM unnest(p.proargtypes) WITH ORDINALITY AS t(type, n)) a
    CROSS JOIN LATERAL (SELECT CASE WHEN p.proargmodes IS NULL OR p.prokind = 'p' THEN coalesce(pg_get_function_result(p.oid), '')
        ELSE 'TABLE(' || (SELECT string_agg(p.proargnames[m.n] || ' ' || format_type(p.proallargtypes[m.n], NULL), ', ' ORDER BY m.n)
                          FROM unnest(p.proargmodes) WITH ORDINALITY AS m(mode, n) WHERE m.mode IN ('o', 't')) || ')' END AS result) r
    WHERE p.pronamespace = 'l4'::regnamespace AND p.proname = x.relation
      AND (a.arguments = split_part(x.columns, ' > ', 1) OR p.pronargdefaults > 0 AND starts_with(a.arguments, split_part(x.columns, ' > ', 1)))
      AND starts_with(r.result, split_part(x.columns, ' > ', 2)));
SELECT o.oprname, count(*) FROM pg_operator o WHERE o.oprnamespace = 'l4'::regnamespace AND o.oprname IN ('+', '=', '=~') GROUP BY 1 ORDER BY 1;
-- no function runs with its owner's rights; each pins its search path, is bound at creation, or is C, but for the one that makes a table in the caller's schema
SELECT p.oid::regprocedure AS not_safe
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = 'l4'::regnamespace
  AND (p.prosecdef OR l.lanname NOT IN ('c', 'internal') AND p.prosqlbody IS NULL AND p.prokind <> 'p'
       AND NOT coalesce(p.proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false) AND p.proname NOT IN ('create_log_table', 'create_flow_table'))
ORDER BY 1;
-- nor does one claim more than what it calls: to change less, or to run in a worker
SELECT p.oid::regprocedure AS claims, q.oid::regprocedure AS calls
FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid JOIN pg_proc q ON d.refclassid = 'pg_proc'::regclass AND q.oid = d.refobjid
WHERE p.pronamespace = 'l4'::regnamespace
  AND (position(p.provolatile IN 'isv') < position(q.provolatile IN 'isv') OR position(p.proparallel IN 'sru') < position(q.proparallel IN 'sru'))
ORDER BY 1;
-- patterns in functions mean the same where backslashes escape
SET standard_conforming_strings = off;
SELECT l4._general_template('none', 'lost <*>, <*>, <*> of them') AS template;
RESET standard_conforming_strings;
SELECT p.oid::regprocedure AS not_pinned
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = 'l4'::regnamespace AND l.lanname = 'plpgsql' AND replace(p.prosrc, $$E'\n'$$, '') ~ '\\'
  AND NOT coalesce(p.proconfig @> ARRAY['standard_conforming_strings=on'], false)
ORDER BY 1;
