#!/bin/bash
# test/bench/jit.sh [LINES [NODES [ROUNDS]]]: each public function and view on a made job, with jit off and on in turn,
# each call the first of a session: milliseconds of the fastest of so many rounds, and their ratio. Bytes of the page of
# report_html. Flows are those of the tutorial; calls of servers run in a directory of one server, which has the job.
# Makes and drops databases bench_jit and bench_jit_home; the connection is that of psql over a socket, as superuser.
# ONLY=report: calls of this name alone; ONLY=none: the page alone.
set -e
lines=${1:-1000000} nodes=${2:-64} rounds=${3:-5}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
drop() { psql -qX -d postgres -c 'DROP DATABASE IF EXISTS bench_jit' -c 'DROP DATABASE IF EXISTS bench_jit_home' 2>/dev/null; }
trap 'drop; rm -rf $scratch' EXIT
run() { psql -qXAt -v ON_ERROR_STOP=1 -d "${database:-bench_jit}" "$@"; }

job() { "$scratch/genjob" -n "$nodes" "$@" | run -c 'COPY logs FROM STDIN'; }
${CC:-cc} -O2 -o "$scratch/genjob" "$here/genjob.c"
drop
psql -qX -d postgres -c 'CREATE DATABASE bench_jit' -c 'CREATE DATABASE bench_jit_home'
run -c 'CREATE EXTENSION l4' -c "SELECT l4.create_log_table('logs')" >/dev/null
job -j ok-1 -l $((lines / 10)) -s 11
job -j ok-2 -l $((lines / 10)) -s 12
job -j bad -l "$lines" -s 13 -f nic
run -c 'VACUUM ANALYZE logs'
run -c "INSERT INTO l4.job (job_id, settings, status, expected_nodes)
	SELECT j, 'bench', CASE j WHEN 'bad' THEN 'running' ELSE 'succeeded' END, $nodes FROM unnest('{ok-1,ok-2,bad}'::text[]) AS j"
PGOPTIONS='-c client_min_messages=warning' run -c "CALL l4.ingest('logs')"
run -c "SELECT count(*) FROM l4.diagnose('bad')" >/dev/null
run -c "SELECT l4.create_flow_table('flows')" \
	-c 'CREATE TABLE seen (ip_src inet, ip_dst inet, port_src int, packets bigint, bytes bigint, timestamp_start timestamptz,
		timestamp_end timestamptz)' -c "\\copy seen FROM PROGRAM 'gzip -dc $here/../data/flows.csv.gz' CSV HEADER" \
	-c "INSERT INTO flows (ip_src, ip_dst, port_src, packets, bytes, timestamp_start, timestamp_end) TABLE seen" \
	-c "CALL l4.trace_flows('flows')" >/dev/null
server=$(run -c "SELECT format('host=%s port=%s user=%s dbname=bench_jit',
	split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_user)")
database=bench_jit_home run -c 'CREATE EXTENSION l4' -c 'CREATE EXTENSION dblink' -c 'CREATE EXTENSION postgres_fdw' \
	-c "SELECT l4.add_server('one', '$server')" -c 'SELECT count(*) FROM l4.sync()' >/dev/null
run -c "SELECT 'report_html of $nodes nodes: ' || octet_length(l4.report_html('bad')) || ' bytes'"

# What is undone is undone outside of what is timed.
undone='BEGIN'
forgotten="SELECT l4.forget_job('bad'); INSERT INTO l4.job (job_id, settings, status) VALUES ('bad', 'bench', 'running')"
diagnosed="BEGIN; DELETE FROM l4.diagnosis"
calls=(
	"diagnose|$diagnosed|SELECT count(*) FROM l4.diagnose('bad')"
	"diagnose, nothing new|$undone|SELECT count(*) FROM l4.diagnose('bad')"
	"compare||SELECT count(*) FROM l4.compare('bad')"
	"match_faults|$undone|SELECT count(*) FROM l4.match_faults('bad')"
	"test_fault||SELECT count(*) FROM l4.test_fault('link (?:is )?down')"
	"confirm_fault|$undone|SELECT count(*) FROM l4.confirm_fault('bad', 'bench_link', 'cable', 'replace it')"
	"report||SELECT count(*) FROM l4.report('bad')"
	"report_html||SELECT length(l4.report_html('bad'))"
	"node_evidence||SELECT count(*) FROM l4.node_evidence('bad')"
	"address_book||SELECT count(*) FROM l4.address_book('bad')"
	"event_lines||SELECT count(*) FROM l4.event_lines('bad', (SELECT min(event_id) FROM l4.event_count WHERE job_id = 'bad'))"
	"event_parameters||SELECT count(*) FROM l4.event_parameters('bad', (SELECT min(event_id) FROM l4.event_count WHERE job_id = 'bad'))"
	"iterations||SELECT count(*) FROM l4.iterations('bad')"
	"lines||SELECT count(*) FROM l4.lines('bad', '{ERROR,CRITICAL}')"
	"iteration_times||SELECT count(*) FROM l4.iteration_times('bad', '1 min')"
	"line_counts||SELECT count(*) FROM l4.line_counts('bad', '1 min')"
	"parse||SELECT l4.parse('INFO:data:shard 3, batch 7 read in 2 ms')"
	"export_job||SELECT sum(length(p)) FROM l4.export_job('bad') AS p"
	"import_job|BEGIN; CREATE TEMP TABLE part AS SELECT p FROM l4.export_job('bad') AS p; SELECT l4.forget_job('bad')|SELECT count(*) FROM l4.import_job((SELECT array_agg(p) FROM part))"
	"export_model||SELECT sum(length(p)) FROM l4.export_model() AS p"
	"import_model|BEGIN; CREATE TEMP TABLE part AS SELECT p FROM l4.export_model() AS p|SELECT count(*) FROM l4.import_model((SELECT array_agg(p) FROM part))"
	"trace_flows|BEGIN; SELECT l4.forget_flows('infinity')|CALL l4.trace_flows('flows', commit => false)"
	"flow_report||SELECT count(*) FROM l4.flow_job AS j, l4.flow_report(j.flow_job)"
	"flow_iterations||SELECT count(*) FROM l4.flow_iterations('bad')"
	"view flow_job_match||SELECT count(*) FROM (SELECT * FROM l4.flow_job_match OFFSET 0) AS v"
	"server sync|$undone|SELECT count(*) FROM l4.sync()"
	"server fleet_status||SELECT count(*) FROM l4.fleet_status()"
	"server place|$undone|SELECT l4.place('next', 'bench')"
	"server ingest_servers|$undone|CALL l4.ingest_servers('logs', 'bad')"
	"server diagnose_at|$undone|SELECT count(*) FROM l4.diagnose_at('bad')"
	"server collect|$undone|SELECT count(*) FROM l4.collect('bad')"
	"take_alerts|$undone|SELECT count(*) FROM l4.take_alerts()"
	"view template||SELECT count(*) FROM (SELECT * FROM l4.template OFFSET 0) AS v"
	"view event_line||SELECT count(*) FROM (SELECT * FROM l4.event_line WHERE job_id = 'bad' OFFSET 0) AS v"
	"view event_count||SELECT sum(occurrences) FROM l4.event_count WHERE job_id = 'bad'"
	"view iteration||SELECT avg(duration_ms) FROM l4.iteration WHERE job_id = 'bad'"
	"view stage_span||SELECT count(*) FROM (SELECT * FROM l4.stage_span WHERE job_id = 'bad' OFFSET 0) AS v"
	"view mention||SELECT count(*) FROM (SELECT * FROM l4.mention WHERE job_id = 'bad' OFFSET 0) AS v"
	"view ingest_progress||SELECT count(*) FROM (SELECT * FROM l4.ingest_progress OFFSET 0) AS v"
	"view alert||SELECT count(*) FROM (SELECT * FROM l4.alert OFFSET 0) AS v"
	"view fault_seen||SELECT count(*) FROM (SELECT * FROM l4.fault_seen OFFSET 0) AS v"
	"view fault_trend||SELECT count(*) FROM (SELECT * FROM l4.fault_trend OFFSET 0) AS v"
	"view fault_history||SELECT count(*) FROM (SELECT * FROM l4.fault_history OFFSET 0) AS v"
	"view fault_problem||SELECT count(*) FROM (SELECT * FROM l4.fault_problem OFFSET 0) AS v"
	"ingest|$forgotten|CALL l4.ingest('logs', 'bad')"
)
once() {
	printf '%s;\n\\timing on\n%s;\n' "$2" "$3" | PGOPTIONS="-c jit=$1 -c client_min_messages=warning" run |
		sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | tail -n 1
}
[ "$(run -c 'SELECT pg_jit_available()')" = t ] || echo 'jit is not available here: both columns are without'
echo '| | jit off, ms | on, ms | ratio |'
echo '| --- | --- | --- | --- |'
for call in "${calls[@]}"; do
	IFS='|' read -r what before statement <<<"$call"
	[ "${ONLY:-$what}" = "$what" ] || continue
	database=bench_jit
	[ "$what" = "${what#server }" ] || database=bench_jit_home
	rm -f "$scratch/off" "$scratch/on"
	for ((round = 0; round < rounds; round++)); do
		for jit in off on; do once $jit "$before" "$statement" >>"$scratch/$jit"; done
	done
	off=$(sort -n "$scratch/off" | head -n 1) on=$(sort -n "$scratch/on" | head -n 1)
	awk -v w="$what" -v a="$off" -v b="$on" 'BEGIN {printf "| %s | %.0f | %.0f | %.2f |\n", w, a, b, b / a}'
done
