#!/usr/bin/env bash
# test/bench/no_raw.sh [LINES [NODES]]: from files to the report without keeping lines, beside COPY of the same lines into
# a table with a key, and beside l4load that keeps them. Seconds elapsed, processor seconds of the server and of the
# client, ratios to COPY, and the most private memory of a process of the server, looked at five times a second. Makes
# and drops database bench_no_raw; the connection is that of psql, as superuser, on Linux and the server's machine.
set -euo pipefail
lines=${1:-2000000} nodes=${2:-1024}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'kill "$watch" 2>/dev/null || true; psql -qX -d postgres -c "DROP DATABASE IF EXISTS bench_no_raw" 2>/dev/null; rm -rf $scratch' EXIT
export PGOPTIONS='-c client_min_messages=warning' PGDATABASE=bench_no_raw
run() { psql -qXAt -v ON_ERROR_STOP=1 "$@"; }

${CC:-cc} -O2 -o "$scratch/genjob" "$here/genjob.c"
psql -qX -d postgres -c 'DROP DATABASE IF EXISTS bench_no_raw' -c 'CREATE DATABASE bench_no_raw' 2>/dev/null
run -c 'CREATE EXTENSION l4' -c "SELECT l4.create_log_table('copied')" >/dev/null
"$scratch/genjob" -j bad -n "$nodes" -l "$lines" -s 13 -f nic >"$scratch/rows"
mkdir "$scratch/bad"
awk -F '\t' -v d="$scratch/bad" '{gsub(/\\t/, "\t", $7); gsub(/\\\\/, "\\", $7); if (f != d "/" $2 ".log") {close(f); f = d "/" $2 ".log"} print $7 >f}' "$scratch/rows"
master=$(run -c "SELECT pg_read_file('postmaster.pid')" | head -n 1)
watch=''

# Processor seconds of the server's processes that have ended, in hundredths, and the private memory of those that run.
ended() { awk '{print $16 + $17}' "/proc/$master/stat"; }
measure() {
	local what=$1 began cpu user
	shift
	(while sleep 0.2; do awk -v m="$master" '/^PPid/ {p = $2} /^RssAnon/ && p == m {print $2}' /proc/[0-9]*/status 2>/dev/null || true; done) >"$scratch/memory" &
	watch=$!
	began=$(date +%s.%N) cpu=$(ended)
	user=$({ TIMEFORMAT='%U %S'; time "$@" >/dev/null 2>"$scratch/err"; } 2>&1 | awk 'NF == 2 {u = $1 + $2} END {print u}')
	sleep 0.3
	kill "$watch" 2>/dev/null || true
	echo "$what $(echo "$(date +%s.%N) - $began - 0.3" | bc) $(echo "($(ended) - $cpu) / 100" | bc -l) $user $(sort -n "$scratch/memory" | tail -n 1 | awk '{print $1 / 1024}')"
}
{
	measure COPY run -c "\\copy copied FROM $scratch/rows"
	measure no-raw l4load -q --no-raw --report --settings bench --status failed bad "$scratch/bad"
	run -c "SELECT l4.forget_job('bad')" >/dev/null
	measure keeping l4load -q --report --settings bench --status failed bad "$scratch/bad"
} | awk 'BEGIN {print "| | s | to COPY | server, processor s | client | MB |"; print "| --- | --- | --- | --- | --- | --- |"}
	NR == 1 {copy = $2} {printf "| %s | %.1f | %.2f | %.1f | %.1f | %.0f |\n", $1, $2, $2 / copy, $3, $4, $5}'
