#!/bin/bash
# test/bench/servers_load.sh [LINES]: 30 jobs of that many lines each, of six settings, read on one server and placed on
# three, beginning with the same templates: processor seconds of the session that reads on each, the least of three
# turns, and how many times as much three servers of one core each read as one. Databases load_* stand for servers, see
# databases.sh.
set -e
. "$(dirname "$0")/databases.sh"
lines=${1:-100000}
PGOPTIONS="$PGOPTIONS -c max_parallel_workers=0"

begin load one home 1 2 3
for d in $names; do run load_$d -c 'CREATE EXTENSION l4' -c "SELECT l4.create_log_table('logs')" >/dev/null; done
run load_home -c 'CREATE EXTENSION dblink' -c 'CREATE EXTENSION postgres_fdw'
reach=$(reach 'host=%s port=%s user=%s')
for n in 1 2 3; do run load_home -c "SELECT l4.add_server('$n', '$reach dbname=load_$n')" >/dev/null; done
genjob -j first -n 2 -l 4000 | run load_one -c 'COPY logs FROM STDIN' -c "CALL l4.ingest('logs')"
run load_one -c "COPY (SELECT l4.export_model()) TO STDOUT" >"$scratch/model"
for n in 1 2 3; do
	run load_$n -c 'CREATE TABLE part (p bytea)' -c '\copy part FROM '"$scratch/model" -c 'SELECT l4.import_model(array_agg(p)) FROM part' >/dev/null
done
for j in $(seq 1 30); do
	server=$(run load_home -c "SELECT l4.place('job-$j', 'settings-$((j % 6))')")
	genjob -j job-$j -n 8 -l "$lines" -s "$j" >"$scratch/lines"
	for d in one "$server"; do run load_$d -c 'COPY logs FROM STDIN' <"$scratch/lines"; done
done
for d in one 1 2 3; do run load_$d -c 'VACUUM ANALYZE logs'; done
for turn in 1 2 3; do
	for d in one 1 2 3; do
		run load_$d -c "SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id <> 'first'" >/dev/null
		echo "$d $(run load_$d -c "$ticks" -c "CALL l4.ingest('logs')" -c "$ticks" -c "SELECT count(*) FROM l4.job WHERE job_id <> 'first'" | tr '\n' ' ')"
	done
done | awk '{s = ($3 - $2) / 100; jobs[$1] = $4; if (!($1 in least) || s < least[$1]) least[$1] = s}
	END {for (d in least) {printf "server %s: %d jobs, %.2f s of processor\n", d, jobs[d], least[d]; if (d != "one" && least[d] > most) most = least[d]}
	printf "three servers read %.2f times as much as one\n", least["one"] / most}'
