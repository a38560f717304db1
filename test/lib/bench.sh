# shellcheck shell=bash disable=SC2015,SC2016,SC2034,SC2154 # sourced by test/run, which sets and reads what they share
# make bench: what docs/benchmarks.md says, measured again. One job of each size fails; two tenths of its size succeeded.
#   LINES="1000000 20000000"  sizes of the failed job        NODES=64    nodes of it
#   FAULT=nic                 see test/bench/genjob.c        RANKS=1     ranks of a node: more of them, fewer iterations
#   WORKERS=2                 parallel workers of the second ingest
#   PARSER_LINES=1000000      lines made of test/bench/parser_lines.txt for the speed of the parser; LINES= leaves out the jobs
#   LOGHUB=folder             the parser on its raw/<system>.log.gz as well, repeated to LOGHUB_LINES=3000000 lines with other numbers

# timed DATABASE SQL: runs it in one session, sets ms to the time of the last statement.
timed() {
	local out
	out=$(sandbox_psql -d "$1" -At -c '\timing on' -f - <<<"$2") || {
		say "$out"
		die "failed: $2"
	}
	ms=$(sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' <<<"$out" | tail -n 1)
}

value() { sandbox_psql -d "$1" -At -c "$2"; }

# The highest sum of private memory of the process that ingests and its workers, in MB, until stopped: kernels keep no such figure.
# Others of the server are none of its business: autovacuum, which comes by in the longer runs, takes some ten MB.
watch_memory() {
	local postmaster peak=0 sum
	postmaster=$(head -n 1 "$box/data/postmaster.pid")
	while [ -e "$box/tmp/watch" ]; do
		# a process may end while it is looked at
		sum=$({ grep -alsE '\] CALL|parallel worker' /proc/[0-9]*/cmdline | sed 's/cmdline$/status/' | xargs -r cat 2>/dev/null || true; } |
			awk -v top="$postmaster" '/^PPid:/ {mine = $2 == top} /^RssAnon:/ && mine {s += $2} END {print int(s / 1024)}')
		((sum > peak)) && peak=$sum
		printf '%s\n' "$peak" >"$box/tmp/peak"
		sleep 0.2
	done
}

ratio() { awk -v a="$1" -v b="$2" -v f="${3:-%.2f}" 'BEGIN {printf f, (b > 0 ? a / b : 0)}'; }
seconds() { ratio "$1" 1000 "%.2f"; }

# stored DATABASE: bytes of everything l4 keeps, indexes included
stored() {
	value "$1" "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.relnamespace = 'l4'::regnamespace AND c.relkind = 'r'"
}

bench_size() {
	local lines=$1 nodes=$2 db=bench before after copy one two again compare diagnose diagnose2 diagnose3 report html count raw iterations
	local top
	say "  $lines lines, $nodes nodes of ${RANKS:-1} ranks, fault ${FAULT:-nic}"
	value postgres "DROP DATABASE IF EXISTS $db" 2>/dev/null
	as_user createdb -U postgres "$db"
	as_user sh -c "
		tmp/genjob -j ok-1 -n $nodes -r ${RANKS:-1} -l $((lines / 10 + 1)) -s 11 >tmp/ok-1.copy
		tmp/genjob -j ok-2 -n $nodes -r ${RANKS:-1} -l $((lines / 10 + 1)) -s 12 >tmp/ok-2.copy
		tmp/genjob -j bad -n $nodes -r ${RANKS:-1} -l $lines -s 13 -f ${FAULT:-nic} >tmp/bad.copy"
	value "$db" "CREATE EXTENSION l4" >/dev/null
	value "$db" "CREATE TABLE logs (job_id text, node text, source text, rank int, line_no bigint, ts timestamptz, line text,
		PRIMARY KEY (job_id, node, source, line_no))" >/dev/null
	value "$db" "INSERT INTO l4.job (job_id, settings, status, expected_nodes) VALUES ('ok-1', 'bench', 'succeeded', $nodes),
		('ok-2', 'bench', 'succeeded', $nodes), ('bad', 'bench', 'running', $nodes)" >/dev/null
	timed "$db" "COPY logs FROM '$box/tree/tmp/ok-1.copy'; COPY logs FROM '$box/tree/tmp/ok-2.copy'"
	timed "$db" "COPY logs FROM '$box/tree/tmp/bad.copy'"
	copy=$ms
	as_user sh -c 'rm -f tmp/*.copy'
	value "$db" "ANALYZE logs" >/dev/null
	count=$(value "$db" "SELECT count(*) FROM logs WHERE job_id = 'bad'")
	raw=$(value "$db" "SELECT pg_table_size('logs') * $count / (SELECT count(*) FROM logs)")
	say "    COPY $(seconds "$copy") s"
	timed "$db" "CALL l4.ingest('logs', job_id => 'ok-1'); CALL l4.ingest('logs', job_id => 'ok-2')"
	before=$(stored "$db")
	ingest_timed_job "$db" 0
	one=$ms
	say "    ingest, no parallel workers $(seconds "$one") s"
	after=$(stored "$db")
	timed "$db" "SELECT l4.forget_job('bad')"
	value "$db" "INSERT INTO l4.job (job_id, settings, status, expected_nodes) VALUES ('bad', 'bench', 'running', $nodes)" >/dev/null
	ingest_timed_job "$db" "${WORKERS:-2}"
	two=$ms
	say "    ingest, ${WORKERS:-2} workers $(seconds "$two") s"
	timed "$db" "CALL l4.ingest('logs')"
	again=$ms
	timed "$db" "SELECT count(*) FROM l4.compare('bad')"
	compare=$ms
	timed "$db" "SELECT l4.diagnose('bad')"
	diagnose=$ms
	timed "$db" "SELECT l4.diagnose('bad')"
	diagnose2=$ms
	timed "$db" "SELECT count(*) FROM l4.report('bad')"
	report=$ms
	timed "$db" "SELECT length(l4.report_html('bad'))"
	html=$ms
	iterations=$(value "$db" "SELECT count(DISTINCT (epoch, iteration)) FROM l4._iteration WHERE job_id = 'bad'")
	top=$(value "$db" "SELECT symptom || ' ' || coalesce((SELECT node FROM l4.suspect_node WHERE job_id = 'bad' AND rank = 1), '-')
		FROM l4.diagnosis WHERE job_id = 'bad'")
	value "$db" "INSERT INTO logs SELECT job_id, node, source, rank, line_no + 1, ts + interval '1 s', line FROM logs WHERE job_id = 'bad' ORDER BY line_no DESC LIMIT 1"
	value "$db" "CALL l4.ingest('logs', job_id => 'bad')" >/dev/null
	timed "$db" "SELECT l4.diagnose('bad')"
	diagnose3=$ms
	rows+=("| $count | $nodes | $(seconds "$copy") | $(seconds "$one") | $(ratio "$one" "$copy") | $(seconds "$two") | $(ratio "$one" "$two") | $(seconds "$again") | $(ratio $((after - before)) "$count" "%.1f") | $(ratio $(((after - before) * 100)) "$raw" "%.1f") % | $peak_one | $peak |")
	answers+=("| $count | $nodes | $((nodes * ${RANKS:-1})) | $iterations | $(seconds "$compare") | $(seconds "$diagnose") | $(seconds "$diagnose3") | $(seconds "$diagnose2") | $(seconds "$report") | $(seconds "$html") | $top |")
}

# ingest_timed_job DATABASE WORKERS: the failed job; peak is of all processes that read it
ingest_timed_job() {
	local watcher
	: >"$box/tmp/watch"
	watch_memory &
	watcher=$!
	timed "$1" "SET max_parallel_workers_per_gather = $2; CALL l4.ingest('logs', job_id => 'bad')"
	rm -f "$box/tmp/watch"
	wait "$watcher" || true
	peak=$(cat "$box/tmp/peak")
	(($2 > 0)) || peak_one=$peak
}

# parser_part TITLE: the parser on tmp/lines.copy
parser_part() {
	say
	say "== Parser: $1"
	value postgres "DROP DATABASE IF EXISTS bench" 2>/dev/null
	as_user createdb -U postgres bench
	sandbox_psql -d bench -v lines="$box/tree/tmp/lines.copy" -f test/bench/parser.sql
}

# Two Rust crates on some of the same lines, where cargo is there and can fetch them.
crates_part() {
	if command -v cargo >/dev/null &&
		CARGO_TARGET_DIR=$box/crates cargo build -q --release --manifest-path "$box/tree/test/bench/crates/Cargo.toml" 2>/dev/null; then
		head -n 300000 "$box/tree/tmp/lines.copy" | sed 's/\\\(.\)/\1/g' >"$box/lines.txt"
		"$box/crates/release/crates" "$box/lines.txt" 12000
		rm -f "$box/lines.txt"
	else
		say "No comparison with Rust crates: cargo is not there or cannot fetch them"
	fi
}

bench_parser() {
	as_user sh -c '${CC:-cc} -O2 -o tmp/genlines test/bench/genlines.c'
	as_user sh -c "tmp/genlines ${PARSER_LINES:-1000000} test/bench/parser_lines.txt >tmp/lines.copy"
	parser_part "templates of test/bench/parser_lines.txt"
	[ -n "${LOGHUB:-}" ] || return 0
	for system in BGL Thunderbird HDFS Spark OpenStack Hadoop; do
		gzip -dc "$LOGHUB/raw/$system.log.gz" || die "no $LOGHUB/raw/$system.log.gz"
	done | as_user sh -c "tmp/genlines ${LOGHUB_LINES:-3000000} >tmp/lines.copy"
	parser_part "six systems of $LOGHUB"
	crates_part
	rm -f "$box/tree/tmp/lines.copy"
}

bench_run() {
	local size rows=() answers=() peak=0 peak_one=0
	server_start
	as_user sh -c 'mkdir -p tmp && ${CC:-cc} -O2 -o tmp/genjob test/bench/genjob.c'
	bench_parser
	[ -n "${LINES-1000000}" ] || return 0
	say "Measuring (a size of 20 million lines takes some ten minutes and 10 GB below $box)"
	for size in ${LINES-1000000}; do
		bench_size "$size" "${NODES:-64}"
	done
	say
	say "$server_version, $(nproc) cores, $(awk '/^model name/ {sub(/.*: /, ""); print; exit}' /proc/cpuinfo), $(awk '/^MemTotal/ {printf "%d GB", $2 / 1048576}' /proc/meminfo) of memory"
	say
	say "| lines | nodes | COPY s | ingest s | ingest / COPY | with ${WORKERS:-2} workers s | speed-up | nothing new s | bytes a line | of the raw table | peak MB | peak MB with workers |"
	say "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
	printf '%s\n' "${rows[@]}"
	say
	say "| lines | nodes | streams | iterations | compare s | diagnose s | after a new line s | nothing new s | report s | report_html s | found |"
	say "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
	printf '%s\n' "${answers[@]}"
}
