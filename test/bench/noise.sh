#!/usr/bin/env bash
# What lines without end that are like no other cost: time and memory of reading them, and of what comes after.
#   test/bench/noise.sh [lines ...]         on a server that has l4 installed, as superuser; KINDS picks some kinds
#   NODES=8                                 nodes of the job
# Each row is a database that knows three small jobs, then reads one job of so many lines. Times are in milliseconds of
# the process: of l4.parse(), of reading a small failed job, and of its diagnosis, before and after (the best of nine).
# read_ms is the processor time of the session that reads, without workers, memory_mb its peak, and private_mb that of
# its private memory, looked at ten times a second; bytes_a_line is what l4 keeps of the job. exponent is that of read_ms
# between this number of lines and the one before.
set -euo pipefail
steps=("$@")
[ $# -gt 0 ] || steps=(10000 20000 40000 80000 160000)
IFS='|' read -ra kinds <<<"${KINDS:-first word|last word|all words|lengths|same words|keys|base64|punctuation|prose|ids}"
db=l4_noise_$$
export PGOPTIONS="-c client_min_messages=warning"
rss=$(mktemp)
trap 'rm -f "$rss"; dropdb --if-exists "$db" 2>/dev/null' EXIT
run() { psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$db" "$@"; }

prepare() {
	run <<-'SQL'
		CREATE EXTENSION l4;
		SELECT l4.create_log_table('log') \g /dev/null
		CREATE FUNCTION word(i int, k int) RETURNS text LANGUAGE sql IMMUTABLE
		RETURN translate(substr(md5((i::bigint * 331 + k)::text), 1, 9), '0123456789', 'ghijklmnop');
		CREATE FUNCTION random_int(i int, k int, below int) RETURNS int LANGUAGE sql IMMUTABLE
		RETURN abs(hashint8(i::bigint * 64 + k) % below);
		CREATE FUNCTION line(kind text, i int) RETURNS text LANGUAGE sql IMMUTABLE
		RETURN CASE kind
		    WHEN 'first word' THEN word(i, 1) || ' could not be read from the cache of this node'
		    WHEN 'last word' THEN 'could not read from the cache of this node the file ' || word(i, 1)
		    WHEN 'all words' THEN (SELECT string_agg(word(i, k), ' ') FROM generate_series(1, 12) AS k)
		    WHEN 'lengths' THEN (SELECT string_agg(word(i, k), ' ') FROM generate_series(1, 1 + i % 97) AS k)
		    WHEN 'same words' THEN (SELECT string_agg('item', ' ') FROM generate_series(1, 1 + i % 997) AS k)
		    WHEN 'keys' THEN (SELECT string_agg(word(i, k) || '=' || k * i, ' ') FROM generate_series(1, 6) AS k)
		    WHEN 'base64' THEN translate(encode(decode(md5(i::text) || md5('a' || i) || md5('b' || i), 'hex'), 'base64'), E'\n', '')
		    WHEN 'punctuation' THEN (SELECT string_agg(word(i, k) || substr(':,;=()[]{}|', 1 + random_int(i, k, 11), 1), '')
		        FROM generate_series(1, 10) AS k)
		    WHEN 'ids' THEN 'request ' || md5(i::text) || ' of ' || word(i, 1) || ' is done'
		    WHEN 'prose' THEN (SELECT string_agg(word(random_int(i, k, 3000), 0), ' ')
		        FROM generate_series(1, 5 + random_int(i, 63, 12)) AS k)
		    END;
		-- eight nodes; one of a failed job ends early, with an error
		CREATE PROCEDURE small_job(job text, status text) LANGUAGE plpgsql AS $$
		BEGIN
		    INSERT INTO log (job_id, node, line_no, ts, line)
		    SELECT job, 'n' || n, i, timestamptz '2026-01-01' + i * interval '1 second',
		        CASE WHEN status = 'failed' AND n = 3 AND i = 20 THEN 'ERROR: link ' || job || ' of the ring is down'
		             ELSE 'INFO iteration ' || i || '/100 loss ' || 5.0 / i END
		    FROM generate_series(1, 8) AS n, generate_series(1, 60) AS i
		    WHERE NOT (status = 'failed' AND n = 3 AND i > 20);
		    COMMIT;
		    CALL l4.ingest('log', job_id => job);
		    UPDATE l4.job AS j SET settings = 'small', status = small_job.status WHERE j.job_id = job;
		    COMMIT;
		END $$;
		CREATE FUNCTION processor_ms() RETURNS float8 LANGUAGE sql VOLATILE
		RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6;
		CREATE TABLE used (what text, parse float8, read float8, diagnose float8);
		CREATE PROCEDURE use(what text, turn int) LANGUAGE plpgsql AS $$
		DECLARE
		    began float8;
		    u used;
		BEGIN
		    FOR i IN 1 .. 3 LOOP
		        u := ROW(what, 0, 0, 0);
		        began := processor_ms();
		        PERFORM l4.parse('INFO iteration 5/100 loss 1.5');
		        u.parse := processor_ms() - began;
		        began := processor_ms();
		        CALL small_job(what || turn || i, 'failed');
		        u.read := processor_ms() - began;
		        began := processor_ms();
		        PERFORM l4.diagnose(what || turn || i);
		        u.diagnose := processor_ms() - began;
		        INSERT INTO used SELECT u.*;
		        COMMIT;
		    END LOOP;
		END $$;
		CALL small_job('good-1', 'succeeded');
		CALL small_job('good-2', 'succeeded');
		CALL small_job('good-3', 'succeeded');
		CREATE FUNCTION kept() RETURNS bigint LANGUAGE sql
		RETURN (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class AS c WHERE c.relnamespace = 'l4'::regnamespace);
		CREATE TABLE noise (ms float8, memory_kb int, kept bigint);
	SQL
}

# kind, lines -> one row
measure() {
	local before turn private
	createdb "$db"
	prepare
	for turn in 1 2 3; do run -c "CALL use('before-', $turn)"; done
	run -c "INSERT INTO log (job_id, node, line_no, line) SELECT 'noise', 'n' || i % ${NODES:-8}, i, line('$1', i) FROM generate_series(1, $2) AS i" \
		-c 'VACUUM ANALYZE log'
	before=$(run -c 'SELECT kept()')
	run <<-SQL
		SET max_parallel_workers_per_gather = 0;
		SELECT processor_ms() AS began, pg_backend_pid() AS pid \gset
		\setenv PID :pid
		\! while grep RssAnon "/proc/\$PID/status"; do sleep 0.1; done >"$rss" 2>/dev/null &
		CALL l4.ingest('log', job_id => 'noise');
		INSERT INTO noise
		SELECT processor_ms() - :began, substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+)')::int, kept() - $before;
	SQL
	private=$(awk '$2 > most {most = $2} END {print int(most / 1024)}' "$rss")
	for turn in 1 2 3; do run -c "CALL use('after-', $turn)"; done
	run -F ' ' -c "
		SELECT round(n.ms), n.memory_kb / 1024, $private, round(n.kept / $2.0, 1), (SELECT count(*) FROM l4._event WHERE merged_into IS NULL),
		    (SELECT length(l4.parser_send(parser)) / 1024 FROM l4._model),
		    b.parse, a.parse, b.read, a.read, b.diagnose, a.diagnose
		FROM noise AS n,
		    (SELECT round(min(parse)::numeric, 1) AS parse, round(min(read)) AS read, round(min(diagnose)) AS diagnose
		     FROM used WHERE what = 'before-') AS b,
		    (SELECT round(min(parse)::numeric, 1) AS parse, round(min(read)) AS read, round(min(diagnose)) AS diagnose
		     FROM used WHERE what = 'after-') AS a"
	dropdb "$db"
}

printf '%-12s %8s %8s %8s %9s %10s %12s %9s %9s %13s %13s %15s\n' kind lines read_ms exponent memory_mb private_mb bytes_a_line templates parser_kb \
	parse read_small diagnose
for kind in "${kinds[@]}"; do
	last_ms=0 last_lines=0
	for lines in "${steps[@]}"; do
		row=$(measure "$kind" "$lines")
		read -r ms memory private bytes templates parser pb pa rb ra fb fa <<<"$row"
		exponent=$(awk -v a="$last_ms" -v b="$ms" -v m="$last_lines" -v n="$lines" \
			'BEGIN { if (a > 0) printf "%.2f", log(b / a) / log(n / m); else printf "-" }')
		printf '%-12s %8s %8s %8s %9s %10s %12s %9s %9s %13s %13s %15s\n' "$kind" "$lines" "$ms" "$exponent" "$memory" "$private" "$bytes" \
			"$templates" "$parser" "$pb -> $pa" "$rb -> $ra" "$fb -> $fa"
		last_ms=$ms last_lines=$lines
	done
done
