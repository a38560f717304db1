-- Tables as Fluent Bit, Vector and OpenTelemetry exporters write them, and the views of docs/reference/sources.md over them.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
SET timezone = 'UTC';

-- Fluent Bit inserts three columns by position, with the time of the record
CREATE TABLE fluentbit (tag varchar, time timestamp, data jsonb);
ALTER TABLE fluentbit ADD COLUMN line_no bigint GENERATED ALWAYS AS IDENTITY;
CREATE VIEW fluentbit_lines AS
SELECT data #>> '{kubernetes,labels,training.kubeflow.org/job-name}' AS job_id,
       data #>> '{kubernetes,pod_name}' AS node,
       coalesce(data #>> '{kubernetes,container_name}', tag) AS source,
       (data #>> '{kubernetes,labels,training.kubeflow.org/replica-index}')::int AS rank,
       line_no,
       time AT TIME ZONE 'UTC' AS ts,
       rtrim(coalesce(data ->> 'log', data ->> 'message'), E'\r\n') AS line
FROM fluentbit
WHERE data #> '{kubernetes,labels}' ? 'training.kubeflow.org/job-name';
INSERT INTO fluentbit
SELECT 'kube.var.log.containers.' || pod, to_timestamp(CAST(value ->> 'date' AS float)), value
FROM (SELECT 'fb-worker-' || n % 2 AS pod, jsonb_build_object('date', 1772359200.25 + n, 'log', format(E'step %s done\n', n), 'stream', 'stdout',
          'kubernetes', jsonb_build_object('pod_name', 'fb-worker-' || n % 2, 'container_name', 'trainer',
              'labels', jsonb_build_object('training.kubeflow.org/job-name', 'fb-1', 'training.kubeflow.org/replica-index', (n % 2)::text))) AS value
      FROM generate_series(1, 20) AS n) AS batch
ORDER BY value ->> 'date';
INSERT INTO fluentbit VALUES ('host.syslog', '2026-03-01 10:00:00', '{"message": "of no job"}');
SELECT job_id, node, source, rank, line_no, ts, line FROM fluentbit_lines ORDER BY line_no LIMIT 2;

-- Vector fills the columns by name, and NULL where the event has no such field
CREATE TABLE vector_logs (timestamp timestamptz, message text, host text, file text, kubernetes jsonb, line_no bigint);
CREATE SEQUENCE vector_logs_line_no OWNED BY vector_logs.line_no;
CREATE FUNCTION vector_logs_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.line_no := nextval('vector_logs_line_no');
    RETURN NEW;
END $$;
CREATE TRIGGER number BEFORE INSERT ON vector_logs FOR EACH ROW EXECUTE FUNCTION vector_logs_number();
CREATE VIEW vector_lines AS
SELECT kubernetes #>> '{pod_labels,training.kubeflow.org/job-name}' AS job_id,
       coalesce(kubernetes ->> 'pod_name', host) AS node,
       coalesce(file, kubernetes ->> 'container_name', '') AS source,
       (kubernetes #>> '{pod_labels,training.kubeflow.org/replica-index}')::int AS rank,
       line_no,
       timestamp AS ts,
       message AS line
FROM vector_logs
WHERE kubernetes -> 'pod_labels' ? 'training.kubeflow.org/job-name';
INSERT INTO vector_logs SELECT * FROM jsonb_populate_recordset(NULL::vector_logs,
    (SELECT jsonb_agg(jsonb_build_object('timestamp', to_timestamp(1772359200.5 + n), 'message', format('step %s done', n), 'source_type', 'kubernetes_logs', 'stream', 'stderr',
        'file', format('/var/log/pods/v-worker-%s/trainer/0.log', n % 2), 'host', 'rack-7',
        'kubernetes', jsonb_build_object('pod_name', 'v-worker-' || n % 2, 'container_name', 'trainer',
            'pod_labels', jsonb_build_object('training.kubeflow.org/job-name', 'v-1', 'training.kubeflow.org/replica-index', (n % 2)::text))) ORDER BY n)
     FROM generate_series(1, 20) AS n));
SELECT job_id, node, source, rank, line_no, ts, line FROM vector_lines ORDER BY line_no LIMIT 2;

-- Loki: what logcli prints, loaded as a line a row whatever quotes and backslashes it has
CREATE TABLE loki_export (line_no bigint GENERATED ALWAYS AS IDENTITY, entry jsonb);
CREATE VIEW loki_lines AS
SELECT entry #>> '{labels,job_name}' AS job_id,
       entry #>> '{labels,pod}' AS node,
       coalesce(entry #>> '{labels,container}', '') AS source,
       line_no,
       (entry ->> 'timestamp')::timestamptz AS ts,
       entry ->> 'line' AS line
FROM loki_export;
\copy loki_export (entry) FROM stdin WITH (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')
{"labels":{"container":"trainer","job_name":"lk-1","pod":"lk-worker-0"},"line":"step 1 done, \"quoted\", C:\\path","timestamp":"2026-03-01T10:00:01.25Z"}
{"labels":{"container":"trainer","job_name":"lk-1","pod":"lk-worker-1"},"line":"step 1 done","timestamp":"2026-03-01T10:00:01.5Z"}
{"labels":{"container":"trainer","job_name":"lk-1","pod":"lk-worker-0"},"line":"step 2 done","timestamp":"2026-03-01T10:00:02.25Z"}
\.
SELECT job_id, node, source, line_no, ts, line FROM loki_lines ORDER BY line_no;

-- Filebeat in Elasticsearch: documents come in any order, and may come twice
CREATE TABLE filebeat (hit jsonb);
CREATE VIEW filebeat_lines AS
SELECT doc #>> '{kubernetes,labels,training_kubeflow_org/job-name}' AS job_id,
       coalesce(doc #>> '{kubernetes,pod,name}', doc #>> '{host,name}') AS node,
       coalesce(doc #>> '{log,file,path}', '') AS source,
       (doc #>> '{log,offset}')::bigint AS line_no,
       (doc ->> '@timestamp')::timestamptz AS ts,
       doc ->> 'message' AS line
FROM filebeat CROSS JOIN LATERAL (SELECT hit -> '_source') AS d(doc);
INSERT INTO filebeat
SELECT jsonb_build_object('_index', 'filebeat-8', '_id', n, '_source', jsonb_build_object('@timestamp', to_timestamp(1772359200 + n % 20), 'message', format('step %s done', n % 20),
    'host', jsonb_build_object('name', 'rack-7'), 'log', jsonb_build_object('offset', n % 20 * 14, 'file', jsonb_build_object('path', '/var/log/trainer.log')),
    'kubernetes', jsonb_build_object('labels', jsonb_build_object('training_kubeflow_org/job-name', 'es-1'))))
FROM generate_series(40, 1, -1) AS n;
SELECT job_id, node, source, line_no, ts, line FROM filebeat_lines ORDER BY line_no LIMIT 2;

-- OpenTelemetry, one row a record
CREATE TABLE otel_logs (
    id bigint GENERATED ALWAYS AS IDENTITY, timestamp timestamptz, observed_timestamp timestamptz, severity_text text,
    body text, resource_attributes jsonb, log_attributes jsonb);
CREATE VIEW otel_lines AS
SELECT resource_attributes ->> 'k8s.job.name' AS job_id,
       coalesce(resource_attributes ->> 'k8s.pod.name', resource_attributes ->> 'host.name') AS node,
       coalesce(log_attributes ->> 'log.file.name', resource_attributes ->> 'k8s.container.name', '') AS source,
       (log_attributes ->> 'rank')::int AS rank,
       id AS line_no,
       coalesce(timestamp, observed_timestamp) AS ts,
       body AS line
FROM otel_logs
WHERE resource_attributes ? 'k8s.job.name';
INSERT INTO otel_logs (timestamp, observed_timestamp, severity_text, body, resource_attributes, log_attributes)
SELECT CASE WHEN n % 3 > 0 THEN to_timestamp(1772359200 + n) END, to_timestamp(1772359201 + n), 'INFO', format('step %s done', n),
       jsonb_build_object('k8s.job.name', 'ot-1', 'k8s.pod.name', 'ot-worker-' || n % 2), jsonb_build_object('log.file.name', 'rank.log', 'rank', n % 2)
FROM generate_series(1, 20) AS n;
SELECT job_id, node, source, rank, line_no, ts, line FROM otel_lines ORDER BY line_no LIMIT 3;

-- OpenTelemetry, export requests as JSON
CREATE TABLE otlp_export (id bigint GENERATED ALWAYS AS IDENTITY, request jsonb);
CREATE VIEW otlp_lines AS
SELECT resource.attributes ->> 'k8s.job.name' AS job_id,
       coalesce(resource.attributes ->> 'k8s.pod.name', resource.attributes ->> 'host.name') AS node,
       coalesce(resource.attributes ->> 'k8s.container.name', '') AS source,
       e.id * 1000000 + row_number() OVER (PARTITION BY e.id ORDER BY r.n, s.n, l.n) AS line_no,
       to_timestamp(coalesce(nullif(l.record ->> 'timeUnixNano', '0'), l.record ->> 'observedTimeUnixNano')::numeric / 1e9) AS ts,
       l.record #>> '{body,stringValue}' AS line
FROM otlp_export AS e
CROSS JOIN LATERAL jsonb_array_elements(e.request -> 'resourceLogs') WITH ORDINALITY AS r(logs, n)
CROSS JOIN LATERAL (SELECT jsonb_object_agg(a ->> 'key', a #> '{value,stringValue}') AS attributes
                    FROM jsonb_array_elements(r.logs #> '{resource,attributes}') AS a) AS resource
CROSS JOIN LATERAL jsonb_array_elements(r.logs -> 'scopeLogs') WITH ORDINALITY AS s(scope, n)
CROSS JOIN LATERAL jsonb_array_elements(s.scope -> 'logRecords') WITH ORDINALITY AS l(record, n)
WHERE resource.attributes ? 'k8s.job.name';
INSERT INTO otlp_export (request)
SELECT jsonb_build_object('resourceLogs', jsonb_build_array(jsonb_build_object(
    'resource', jsonb_build_object('attributes', jsonb_build_array(
        jsonb_build_object('key', 'k8s.job.name', 'value', jsonb_build_object('stringValue', 'otlp-1')),
        jsonb_build_object('key', 'k8s.pod.name', 'value', jsonb_build_object('stringValue', 'otlp-worker-' || n)))),
    'scopeLogs', jsonb_build_array(jsonb_build_object('scope', '{}'::jsonb, 'logRecords', (
        SELECT jsonb_agg(jsonb_build_object('timeUnixNano', CASE WHEN k = 1 THEN '0' ELSE (1772359200 + k)::text || '500000000' END,
            'observedTimeUnixNano', (1772359200 + k)::text || '900000000', 'severityText', 'INFO', 'body', jsonb_build_object('stringValue', format('step %s done', k))) ORDER BY k)
        FROM generate_series(1, 10) AS k))))))
FROM generate_series(1, 2) AS n;
SELECT job_id, node, source, line_no, ts, line FROM otlp_lines ORDER BY line_no LIMIT 2;

-- all of them are read, and again when something was added
CALL l4.ingest('fluentbit_lines');
CALL l4.ingest('vector_lines');
CALL l4.ingest('otel_lines');
CALL l4.ingest('otlp_lines');
CALL l4.ingest('loki_lines');
CALL l4.ingest('filebeat_lines');
INSERT INTO vector_logs SELECT * FROM jsonb_populate_recordset(NULL::vector_logs, '[{"timestamp": "2026-03-01T11:00:00Z", "message": "step 21 done",
    "file": "/var/log/pods/v-worker-1/trainer/0.log", "kubernetes": {"pod_name": "v-worker-1", "pod_labels": {"training.kubeflow.org/job-name": "v-1", "training.kubeflow.org/replica-index": "1"}}}]');
CALL l4.ingest('vector_lines');
SELECT job_id, node, sum(occurrences) AS records, min(first_ts) AS first_ts, max(last_ts) AS last_ts
FROM l4.event_count WHERE job_id IN ('fb-1', 'v-1', 'ot-1', 'otlp-1', 'lk-1', 'es-1') GROUP BY job_id, node ORDER BY job_id, node;
-- what collectors write all the time is moved, and read once
SELECT l4.forget_job('fb-1');
SELECT l4.create_log_table('source_logs');
BEGIN;
LOCK TABLE source_logs IN SHARE ROW EXCLUSIVE MODE;
WITH moved AS (
    DELETE FROM fluentbit AS f USING fluentbit_lines AS v WHERE f.line_no = v.line_no RETURNING v.*
)
INSERT INTO source_logs (job_id, node, source, rank, ts, line)
SELECT job_id, node, source, rank, ts, line FROM moved ORDER BY line_no;
COMMIT;
SELECT tag, data FROM fluentbit;
SELECT node, min(line_no), max(line_no), bool_and(line = format('step %s done', line_no)) AS in_order FROM source_logs GROUP BY 1 ORDER BY 1;
CALL l4.ingest('source_logs');
SELECT node, sum(occurrences) AS records FROM l4.event_count WHERE job_id = 'fb-1' GROUP BY node ORDER BY node;
DROP TABLE source_logs;
SELECT l4.forget_job(job_id) FROM l4.job WHERE job_id IN ('fb-1', 'v-1', 'ot-1', 'otlp-1', 'lk-1', 'es-1') ORDER BY job_id;
DROP VIEW fluentbit_lines, vector_lines, otel_lines, otlp_lines, loki_lines, filebeat_lines;
DROP TABLE fluentbit, vector_logs, otel_logs, otlp_export, loki_export, filebeat;
DROP FUNCTION vector_logs_number();
