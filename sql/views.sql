-- The views on what ingest keeps, before there is anything, and their helpers.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
DROP EXTENSION IF EXISTS l4 CASCADE;  -- before there is anything
CREATE EXTENSION l4;
CREATE SCHEMA views;
SET search_path = views;
SELECT count(*) FROM l4.template;
SELECT count(*) FROM l4.event_line WHERE job_id = 'none';
SELECT count(*) FROM l4.event_lines('none', 1);
SELECT count(*) FROM l4.event_count;
SELECT count(*) FROM l4.event_parameters('none', 1);
SELECT count(*) FROM l4.iteration;
SELECT count(*) FROM l4.stage_span;
SELECT count(*) FROM l4.mention;
SELECT count(*) FROM l4.ingest_progress;
-- job rows state what they mean
INSERT INTO l4.job (job_id) VALUES ('views-1') RETURNING status;
INSERT INTO l4.job (job_id, status) VALUES ('views-2', 'success');
INSERT INTO l4.job (job_id, expected_nodes) VALUES ('views-2', 0);
INSERT INTO l4.job_node (job_id, node) VALUES ('views-2', 'n0');
INSERT INTO l4.job_node (job_id, node, addresses) VALUES ('views-1', 'n0', '{10.0.0.1}'), ('views-1', 'n1', '{10.0.0.2,10.0.0.1}');
-- a name that two nodes have means neither
SELECT name, node FROM l4._node_name WHERE job_id = 'views-1' ORDER BY 1;
SELECT l4.forget_job('views-1'), l4.forget_job('views-1');
SELECT count(*) FROM l4.job_node WHERE job_id = 'views-1';
-- a log table is made where the caller's own CREATE TABLE would make it
SELECT l4.create_log_table('Lines');
SELECT l4.create_log_table('views."my lines"');
SELECT l4.create_log_table('a.b.c');
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
WHERE attrelid = 'views.lines'::regclass AND attnum > 0 ORDER BY attnum;
INSERT INTO lines (job_id, node, line) VALUES ('j', 'n', 'one'), ('j', 'n', 'two') RETURNING source, line_no;
-- hosts of addresses
SELECT l4._host_of(a) FROM unnest('{node07,[node00]:29500,10.0.0.1:80,tcp://10.0.0.1:29500/a,[::ffff:10.0.0.9]:4711,fe80::1}'::text[]) a;
-- packed rows are checked
SELECT * FROM l4._unpack('\x') AS u(a int);
SELECT * FROM l4._unpack('\x03') AS u(a int);
SELECT * FROM l4._unpack('\x02') AS u(a int);
SELECT * FROM l4._unpack('\x0205ff') AS u(a int);
SELECT * FROM l4._unpack('\x02ffffffff7f00') AS u(a int);
SELECT * FROM l4._unpack('\x010100') AS u(a int);
SELECT * FROM l4._unpack('\x01ffffffff7f00') AS u(a int);
SELECT * FROM l4._unpack('\x0102016902020500') AS u(a int);
SELECT * FROM l4._unpack('\x0102016903020500') AS u(a int);
SELECT * FROM l4._unpack('\x01020178020205') AS u(a int);
SELECT * FROM l4._unpack('\x0101017303010500') AS u(a text);
-- numbers in their forms: as they are, with decimal zeros
SELECT * FROM l4._unpack('\x010101730401017800') AS u(a text);
SELECT * FROM l4._unpack('\x01020169020205') AS u(a int);
SELECT * FROM l4._unpack('\x01020169020205') AS u(a text);
SELECT * FROM l4._unpack('\x01020169020205') AS u(a bigint, b int);
SELECT l4._unpack('\x01020169020205');
-- of rows with an id those that are asked for; of values the first
SELECT * FROM l4._unpack('\x01030169030401ff', NULL, '{2,1}') AS u(a int);
SELECT * FROM l4._unpack('\x0103016903040102', NULL, '{3,2,-4}') AS u(a int);
SELECT * FROM l4._unpack('\x0103016903040102', NULL, '{}') AS u(a int);
SELECT * FROM l4._unpack('\x0103016903040102', NULL, '{{1},{2}}') AS u(a int);
SELECT * FROM l4._unpack('\x010101730401017800', NULL, '{1}') AS u(a text);

-- values of slots: packed rows of other columns are refused, and so are lists that do not belong together
SELECT * FROM l4._unpack_values('\x0103016903040102', NULL, NULL, NULL, '{}', '{}', '{}', '{}', '{}', NULL, NULL, false);
SELECT * FROM l4._unpack_values('\x01030569030002026903020102690300000073060101780000007309020231300178000201', NULL, NULL, NULL, '{}', '{}', '{}', '{}', '{}', NULL, NULL, false);
SELECT * FROM l4._unpack_values(NULL, NULL, NULL, NULL, '{1}', '{}', '{}', '{}', '{}', NULL, NULL, false);
SELECT * FROM l4._unpack_values(NULL, NULL, NULL, NULL, '{}', '{}', '{1}', '{1}', '{}', NULL, NULL, false);
SELECT * FROM l4._unpack_values(NULL, NULL, NULL, NULL, '{}', '{}', '{1}', '{1}', '{a}', NULL, NULL, NULL);
DROP SCHEMA views CASCADE;
