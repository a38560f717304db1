#!/bin/bash
# test/bench/servers_load.sh [LINES]: 30 jobs of that many lines each, of six settings, read on one server and placed on
# three, beginning with the same templates: processor seconds of the session that reads on each, and how many times as
# much three servers of one core each read as one. Databases load_* of the psql connection stand for servers, as
# superuser over a socket; makes and drops them. Linux.
set -e
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lines=${1:-150000}
run() { psql -qXAt -v ON_ERROR_STOP=1 -d "$@"; }
scratch=$(mktemp -d)
names='one home 1 2 3'
drop() { for d in $names; do psql -qX -d postgres -c "DROP DATABASE IF EXISTS load_$d" 2>/dev/null; done; }
trap 'drop; rm -rf $scratch' EXIT
export PGOPTIONS='-c client_min_messages=warning -c max_parallel_workers=0'
ticks="SELECT split_part(s, ' ', 14)::int + split_part(s, ' ', 15)::int FROM pg_read_file('/proc/self/stat') AS s"

drop
${CC:-cc} -O2 -o "$scratch/genjob" "$here/genjob.c"
for d in $names; do
	run postgres -c "CREATE DATABASE load_$d"
	run load_$d -c 'CREATE EXTENSION l4' -c "SELECT l4.create_log_table('logs')" >/dev/null
done
run load_home -c 'CREATE EXTENSION dblink' -c 'CREATE EXTENSION postgres_fdw'
reach=$(run load_home -c "SELECT format('host=%s port=%s user=%s', split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_user)")
for n in 1 2 3; do run load_home -c "SELECT l4.add_server('$n', '$reach dbname=load_$n')" >/dev/null; done
"$scratch/genjob" -j first -n 2 -l 4000 | run load_one -c 'COPY logs FROM STDIN' -c "CALL l4.ingest('logs')"
run load_one -c "COPY (SELECT l4.export_model()) TO STDOUT" >"$scratch/model"
for n in 1 2 3; do
	run load_$n -c 'CREATE TABLE part (p bytea)' -c '\copy part FROM '"$scratch/model" -c 'SELECT l4.import_model(array_agg(p)) FROM part' >/dev/null
done
for j in $(seq 1 30); do
	server=$(run load_home -c "SELECT l4.place('job-$j', 'settings-$((j % 6))')")
	"$scratch/genjob" -j job-$j -n 8 -l "$lines" -s "$j" >"$scratch/lines"
	for d in one "$server"; do run load_$d -c 'COPY logs FROM STDIN' <"$scratch/lines"; done
done
for d in one 1 2 3; do
	run load_$d -c 'VACUUM ANALYZE logs'
	echo "$d $(run load_$d -c "$ticks" -c "CALL l4.ingest('logs')" -c "$ticks" -c "SELECT count(*) FROM l4.job WHERE job_id <> 'first'" | tr '\n' ' ')"
done | awk '{s = ($3 - $2) / 100; printf "server %s: %d jobs, %.2f s of processor\n", $1, $4, s; if ($1 == "one") one = s; else if (s > most) most = s}
	END {printf "three servers read %.2f times as much as one\n", one / most}'
