#!/usr/bin/env bash
# test/bench/small.sh [LINES [NODES [ROUNDS [JOBS]]]]: what a CALL of l4.ingest() for a small job costs when its events are known,
# in a new session and later in it; what one costs that finds no new lines, by number of nodes; eight sessions at once
# beside one, and how often those wait for locks. Milliseconds of processor time of the session, read from /proc at its
# begin and after each call, the median of so many rounds; no parallel workers. Makes and drops database bench_small; the
# connection is that of psql, as superuser, on Linux.
set -euo pipefail
lines=${1:-3400} nodes=${2:-8} rounds=${3:-9} jobs=${4:-24}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'psql -qX -d postgres -c "DROP DATABASE IF EXISTS bench_small" 2>/dev/null; rm -rf $scratch' EXIT
export PGOPTIONS='-c client_min_messages=warning -c max_parallel_workers=0'
run() { psql -qXAt -v ON_ERROR_STOP=1 -d bench_small "$@"; }
median() { sort -n | awk '{v[NR] = $1} END {printf "%.1f\n", v[int((NR + 1) / 2)]}'; }
job() { "$scratch/genjob" "$@" | run -c 'COPY logs FROM STDIN'; }
# nanoseconds that the session has run
used="SELECT (string_to_array(pg_read_file('/proc/self/schedstat'), ' '))[1]"

${CC:-cc} -O2 -o "$scratch/genjob" "$here/genjob.c"
psql -qX -d postgres -c 'DROP DATABASE IF EXISTS bench_small' -c 'CREATE DATABASE bench_small' 2>/dev/null
run -c 'CREATE EXTENSION l4' -c "SELECT l4.create_log_table('logs')" >/dev/null
for ((n = 1; n <= jobs; n++)); do job -j "small-$n" -n "$nodes" -l "$lines" -s "$n" -f "$( ((n % 3)) && echo none || echo nic)"; done
for n in 64 256 1024; do job -j "wide-$n" -n $n -l $((n * 40)) -s 99; done
run -c 'VACUUM ANALYZE logs' -c "CALL l4.ingest('logs')"

# The statements of one session; prints the milliseconds of each.
session() {
	local statement
	{
		echo "$used;"
		for statement in "$@"; do printf '%s;\n%s;\n' "$statement" "$used"; done
	} | run | grep -E '^[0-9]{6,}$' | awk 'NR > 1 {print ($1 - last) / 1e6} {last = $1}'
}
forget() {
	run -c "SELECT count(l4.forget_job(job_id)) FROM l4.job WHERE job_id LIKE 'small-%'" -c 'VACUUM l4._stream, l4._pack, l4._pack_chunk, l4._job_pack' >/dev/null
}

for ((round = 0; round < rounds; round++)); do
	forget
	session "CALL l4.ingest('logs', 'small-1')" "CALL l4.ingest('logs', 'small-2')" "CALL l4.ingest('logs', 'small-3')" >"$scratch/calls"
	sed -n 1p "$scratch/calls" >>"$scratch/first"
	sed -n 2p "$scratch/calls" >>"$scratch/second"
	sed -n 3p "$scratch/calls" >>"$scratch/third"
	for n in 64 256 1024; do
		session "CALL l4.ingest('logs', 'wide-$n')" "CALL l4.ingest('logs', 'wide-$n')" >"$scratch/calls"
		sed -n 1p "$scratch/calls" >>"$scratch/cold-$n"
		sed -n 2p "$scratch/calls" >>"$scratch/warm-$n"
	done
done
echo "a job of $lines lines and $nodes nodes, events known, ms"
echo "first call of a session: $(median <"$scratch/first")"
echo "second: $(median <"$scratch/second")"
echo "third: $(median <"$scratch/third")"
echo 'no new lines, ms: first call of a session, second'
for n in 64 256 1024; do echo "$n nodes: $(median <"$scratch/cold-$n"), $(median <"$scratch/warm-$n")"; done

# all jobs by one session, then by eight at once, an eighth each: the sum of their times
: >"$scratch/one"
: >"$scratch/eight"
sample="SELECT coalesce(wait_event_type || '/' || wait_event, 'none/') FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'CALL l4.%'"
for ((round = 0; round < rounds; round++)); do
	forget
	calls=()
	for ((n = 1; n <= jobs; n++)); do calls+=("CALL l4.ingest('logs', 'small-$n')"); done
	session "${calls[@]}" | awk '{s += $1} END {print s}' >>"$scratch/one"
	forget
	psql -qXAt -d bench_small <<<"$sample \\watch 0.02" >>"$scratch/samples" 2>/dev/null &
	sampler=$!
	sessions=()
	for ((s = 0; s < 8; s++)); do session "${calls[@]:s * jobs / 8:jobs / 8}" >"$scratch/of-$s" & sessions+=($!); done
	wait "${sessions[@]}"
	kill "$sampler"
	cat "$scratch"/of-* | awk '{s += $1} END {print s}' >>"$scratch/eight"
	forget
	for ((s = 0; s < 8; s++)); do session "${calls[@]:s * jobs / 8:jobs / 8}"; done | awk '{s += $1} END {print s}' >>"$scratch/after"
done
echo "$jobs jobs, ms: one session $(median <"$scratch/one"), eight one after the other $(median <"$scratch/after"), eight at once $(median <"$scratch/eight")"
awk -F / 'NF == 2 {n++; if ($2 == "WALWrite") wal++; else if ($1 ~ /Lock$/) locked++}
	END {printf "samples of eight at once: %d, waiting for locks: %d, for the log to be written: %d\n", n, locked, wal}' "$scratch/samples"
