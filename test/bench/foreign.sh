#!/bin/bash
# test/bench/foreign.sh [LINES]: three jobs of that many lines in all, read from a local table and from three servers by
# foreign partitions whose parent is indexed: processor seconds of the reader, the ratio, and what differs. Databases
# foreign_* stand for servers, see databases.sh.
set -e
. "$(dirname "$0")/databases.sh"
lines=${1:-2000000}
PGOPTIONS="$PGOPTIONS -c max_parallel_workers=0"
table='(job_id text NOT NULL, node text NOT NULL, source text NOT NULL, rank int, line_no bigint NOT NULL, ts timestamptz, line text'
counts='SELECT c.job_id, c.node, e.level, e.template, c.occurrences, c.last_line_no FROM l4.event_count c JOIN l4._event e USING (event_id)'

begin foreign local home 1 2 3
for d in local home; do run foreign_$d -c 'CREATE EXTENSION l4'; done
reach=$(reach 'host %L, port %L')
run foreign_local -c "CREATE TABLE logs $table, PRIMARY KEY (job_id, node, source, line_no))"
run foreign_home -c 'CREATE EXTENSION postgres_fdw' -c "CREATE TABLE logs $table) PARTITION BY LIST (job_id)" \
	-c 'CREATE INDEX ON logs (job_id, node, source, line_no)'
for n in 1 2 3; do
	run foreign_$n -c "CREATE TABLE logs $table, PRIMARY KEY (job_id, node, source, line_no))"
	genjob -j job-$n -n 16 -l $((lines / 3)) -s $n >"$scratch/lines"
	for d in $n local; do run foreign_$d -c 'COPY logs FROM STDIN' <"$scratch/lines"; done
	run foreign_home -c "CREATE SERVER s$n FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($reach, dbname 'foreign_$n', fetch_size '1000')" \
		-c "CREATE USER MAPPING FOR CURRENT_USER SERVER s$n" \
		-c "CREATE FOREIGN TABLE logs_$n PARTITION OF logs FOR VALUES IN ('job-$n') SERVER s$n OPTIONS (table_name 'logs')"
done
for d in 1 2 3 local; do run foreign_$d -c 'VACUUM ANALYZE logs'; done
for turn in 1 2 3; do
	for d in local home; do
		run foreign_$d -c "SELECT count(l4.forget_job(job_id)) FROM l4.job" >/dev/null
		run foreign_$d -c "$ticks" -c "CALL l4.ingest('logs')" -c "$ticks" >"$scratch/$d"
	done
	paste -d ' ' "$scratch/local" "$scratch/home" | awk '{n++; l[n] = $1; h[n] = $2} END {
		printf "processor of the reader: local %.2f s, foreign partitions %.2f s, %.2f times\n", (l[2] - l[1]) / 100, (h[2] - h[1]) / 100, (h[2] - h[1]) / (l[2] - l[1])}'
done
for d in local home; do run foreign_$d -c "COPY ($counts) TO STDOUT" | LC_ALL=C sort >"$scratch/$d"; done
echo "counts of events: $(wc -l <"$scratch/local") rows, $(LC_ALL=C comm -3 "$scratch/local" "$scratch/home" | wc -l) different"
