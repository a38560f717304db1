#!/bin/bash
# test/bench/travel.sh FOLDER: the labelled corpus in FOLDER, its nodes split over three databases, exported and put
# together in a fourth one, with one model for all and with none; what differs from reading it in one place. Then a job
# of two million lines of 64 nodes: bytes, and seconds of processor and private memory of the session that imports it.
# Makes and drops databases travel_*; the connection is that of psql, as superuser. Linux.
set -e
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
run() { psql -qXAt -v ON_ERROR_STOP=1 -d "$@"; }
scratch=$(mktemp -d)
trap 'for d in whole 1 2 3 home large; do psql -qX -d postgres -c "DROP DATABASE IF EXISTS travel_$d" 2>/dev/null; done; rm -rf $scratch' EXIT

database() {
	psql -qX -d postgres -c "DROP DATABASE IF EXISTS travel_$1" 2>/dev/null
	psql -qX -d postgres -c "CREATE DATABASE travel_$1"
	run travel_$1 -c 'CREATE EXTENSION l4' -c 'CREATE TABLE part (job_id text, part bytea)'
}
jobs='INSERT INTO l4.job (job_id, settings, status, expected_nodes, started_at, ended_at) SELECT job_id, settings, status, nodes, started, ended FROM job ORDER BY 1'
columns='job_id text, settings text, status text, nodes int, started timestamptz, ended timestamptz'
counts='SELECT c.job_id, c.node, e.level, e.template, sum(c.occurrences) FROM l4.event_count c JOIN l4._event e USING (event_id) GROUP BY 1, 2, 3, 4'
answers="SELECT d.job_id, d.symptom, d.stage, d.iteration, d.category, d.cause FROM l4.diagnosis d"
suspects="SELECT s.job_id, s.rank, s.node, s.is_suspect, s.score, s.reasons FROM l4.suspect_node s"
accused="SELECT d.job_id, d.symptom, d.stage, d.iteration, s.node FROM l4.diagnosis d LEFT JOIN l4.suspect_node s ON s.job_id = d.job_id AND s.is_suspect"
diagnose() { run travel_$1 -c "SELECT count(*) FROM l4.job j CROSS JOIN LATERAL l4.diagnose(j.job_id) WHERE j.status = 'failed'" >/dev/null; }
dump() { run travel_$1 -c "COPY ($2) TO STDOUT" | LC_ALL=C sort >$scratch/$1.$3; }
compare() {
	dump home "$2" $3
	echo "$1: $(wc -l <$scratch/whole.$3) rows, $(LC_ALL=C comm -3 $scratch/whole.$3 $scratch/home.$3 | wc -l) different"
}

database whole
run travel_whole -v dir="$folder" -f "$folder/load.sql" >/dev/null
run travel_whole -c "CREATE VIEW job AS SELECT * FROM corpus.job" -c "$jobs" -c "CALL l4.ingest('corpus.line')"
diagnose whole
dump whole "$counts" counts
dump whole "$answers" answers
dump whole "$suspects" suspects
dump whole "$accused" accused
run travel_whole -c "COPY (SELECT job_id, settings, status, nodes, started, ended FROM corpus.job) TO STDOUT" >$scratch/jobs
run travel_whole -c "COPY (SELECT NULL, l4.export_model()) TO STDOUT" >$scratch/model
for part in all summary baseline; do
	echo "$part: $(run travel_whole -c "SELECT round(sum(length(p))::numeric / (SELECT count(*) FROM corpus.line), 2), round(sum(length(p)) / (SELECT count(*) FROM l4.job_node)) FROM l4.job j CROSS JOIN LATERAL l4.export_job(j.job_id, '$part') p" | sed 's/|/ bytes a line, /') a node"
done
run travel_whole -F ' ' -c "SELECT 'jobs of', min(lines), 'to', max(lines), 'lines:', count(*), 'with', round(sum(bytes) / sum(lines), 2), 'bytes a line' FROM (SELECT (SELECT sum(length(p)) FROM l4.export_job(job_id) p) AS bytes, sum(lines + tail_lines) AS lines FROM l4._stream GROUP BY job_id) j GROUP BY width_bucket(lines, ARRAY[600, 1500, 3000, 6000]) ORDER BY min(lines)"
# a row is 27 bytes of front and a zstd frame
echo "all, at the highest level: $(run travel_whole -c "SELECT encode(substr(p, 28), 'hex') FROM l4.job j CROSS JOIN LATERAL l4.export_job(j.job_id) p" |
	while read -r row; do perl -e 'print pack("H*", <STDIN> =~ s/\s//r)' <<<"$row" | zstd -dcq | zstd -19cq | wc -c; done | awk '{s += $1} END {print s}') bytes of $(run travel_whole -c 'SELECT count(*) FROM corpus.line') lines"

for model in one none; do
	database home
	for n in 1 2 3; do
		database $n
		if [ $model = one ]; then
			run travel_$n -c "\\copy part FROM $scratch/model" -c "SELECT l4.import_model(array_agg(part)) FROM part" -c "TRUNCATE part" >/dev/null
		fi
		run travel_$n -c "CREATE TABLE job ($columns)" -c "\\copy job FROM $scratch/jobs" -c "$jobs" -c "CREATE TABLE line (job_id text, node text, rank int, line_no bigint, ts timestamptz, line text)"
		run travel_whole -c "COPY (SELECT l.* FROM corpus.line l JOIN (SELECT job_id, node, row_number() OVER (PARTITION BY job_id ORDER BY node) n FROM l4.job_node) k USING (job_id, node) WHERE k.n % 3 = $n - 1) TO STDOUT" | run travel_$n -c "COPY line FROM STDIN"
		run travel_$n -c 'ALTER TABLE line ADD PRIMARY KEY (job_id, node, line_no)' -c "CALL l4.ingest('line')"
		run travel_$n -c "COPY (SELECT j.job_id, p FROM l4.job j CROSS JOIN LATERAL l4.export_job(j.job_id) p WHERE EXISTS (SELECT FROM l4._stream s WHERE s.job_id = j.job_id)) TO STDOUT" >$scratch/part.$n
	done
	if [ $model = one ]; then
		run travel_home -c "\\copy part FROM $scratch/model" -c "SELECT l4.import_model(array_agg(part)) FROM part" -c "TRUNCATE part" >/dev/null
	fi
	echo "model of $model:"
	for n in 1 2 3; do
		run travel_home -c "TRUNCATE part" -c "\\copy part FROM $scratch/part.$n" -c "SELECT 'streams ' || sum(i.streams_imported) || ', kept ' || sum(i.streams_kept) || ', events new ' || sum(i.events_new) FROM (SELECT job_id, array_agg(part) AS parts FROM part GROUP BY 1 ORDER BY 1) g CROSS JOIN LATERAL l4.import_job(g.parts) i"
	done
	diagnose home
	compare 'counts of events' "$counts" counts
	compare 'diagnoses' "$answers" answers
	compare 'suspects, with score and reasons' "$suspects" suspects
	compare 'symptom, stage, iteration, accused nodes' "$accused" accused
done

# one large job
status="SELECT (split_part(s, ' ', 14)::int + split_part(s, ' ', 15)::int) FROM pg_read_file('/proc/self/stat') AS s"
memory="SELECT substring(s FROM 'RssAnon:\\s*(\\d+)')::int FROM pg_read_file('/proc/self/status') AS s"
import() {
	run travel_home -c "$memory" -c "$status" -c 'SELECT FROM l4.import_job((SELECT array_agg(part) FROM part))' -c "$status" -c "$memory" |
		grep . | tr '\n' ' ' | awk -v what="$1" '{printf "import %s: %.2f s of processor, %d MB more private memory when done\n", what, ($3 - $2) / 100, ($4 - $1) / 1024}'
}
${CC:-cc} -O2 -o $scratch/genjob "$here/genjob.c"
database large
run travel_large -c "SELECT l4.create_log_table('logs')" >/dev/null
$scratch/genjob -j large -n 64 -l 2000000 -f hang -b 5 | run travel_large -c 'COPY logs FROM STDIN' -c "CALL l4.ingest('logs')"
for part in all summary baseline; do
	echo "$part of the large job: $(run travel_large -c "SELECT round(sum(length(p))::numeric / (SELECT sum(lines + tail_lines) FROM l4._stream), 2), round(sum(length(p)) / 64) FROM l4.export_job('large', '$part') p" | awk -F '|' '{print $1 " bytes a line, " $2 " a node"}')"
done
bytes="SELECT sum(length(p)), (SELECT sum(lines + tail_lines) FROM l4._stream) FROM l4.job j CROSS JOIN LATERAL l4.export_job(j.job_id, '%s') p"
for part in all summary; do
	for d in whole large; do run travel_$d -c "$(printf "$bytes" $part)"; done |
		awk -F '|' -v part=$part '{b += $1; l += $2} END {printf "%s of both: %.2f bytes a line\n", part, b / l}'
done
run travel_large -c "COPY (SELECT NULL, l4.export_job('large')) TO STDOUT" >$scratch/large
run travel_large -c 'COPY (SELECT NULL, l4.export_model()) TO STDOUT' >$scratch/model
database home
run travel_home -c "\\copy part FROM $scratch/model" -c 'SELECT l4.import_model(array_agg(part)) FROM part' -c 'TRUNCATE part' -c "\\copy part FROM $scratch/large" >/dev/null
import 'with its numbers'
import 'with nothing new'
database home
run travel_home -c "\\copy part FROM $scratch/large"
run travel_home -c "SELECT l4.create_log_table('own')" -c "INSERT INTO own (job_id, node, line_no, line) SELECT 'own', 'n', i, 'lamp ' || i || ' of the hall burns' FROM generate_series(1, 9) AS i" -c "CALL l4.ingest('own')" >/dev/null
import 'renumbered'
