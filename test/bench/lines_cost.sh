#!/bin/sh
# test/bench/lines_cost.sh: nanoseconds a line for prefix and record, in styles that trainers and launchers write; the best of ten runs
# over 20,000 lines, processor time of one core. Needs a server on this machine (PGHOST, PGPORT) with l4 installed, and PG_CONFIG.
set -eu
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
${CC:-cc} -O2 -fPIC -shared -I"$(${PG_CONFIG:-pg_config} --includedir-server)" $(pkg-config --cflags libpcre2-8) -Isrc test/bench/lines_cost.c -o "$dir/lines_cost.so"
psql -X -q -v ON_ERROR_STOP=1 -v module="$dir/lines_cost.so" <<'SQL'
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS l4;
LOAD 'l4';
CREATE FUNCTION pg_temp.lines_cost(jsonb, text[], int, boolean) RETURNS float8 LANGUAGE c STRICT AS :'module', 'lines_cost';
CREATE TEMP TABLE style AS
SELECT s.name, array_agg(replace(replace(replace(s.line, '%i', i::text),
	'%t', to_char(timestamp '2025-02-23 10:00:00' + i * interval '37 ms', 'YYYY-MM-DD HH24:MI:SS')), '%m', lpad((i % 1000)::text, 3, '0')) ORDER BY i) AS lines
FROM generate_series(1, 20000) i, (VALUES
	('no prefix', 'iteration        %i/  100000 | consumed samples:      3014320 | elapsed time per iteration (ms): 255.3 | learning rate: 5.994E-05 | lm loss: 2.898812E+00 |'),
	('logger', '%t,%m [INFO] [rank 3] training: iteration        %i/  100000 | consumed samples:      3014320 | elapsed time per iteration (ms): 255.3 | lm loss: 2.898812E+00 |'),
	('launcher, logger', '[default0]:[%t,%m] [INFO] [logging.py:96:log_dist] [Rank 0] step=%i, skipped=25, lr=[0.001], mom=[0.9], loss=2.898812, samples/sec: 621.359, memory: 41.2GB'),
	('collector, launcher, logger', '2025-02-23T16:24:18.101123456Z stderr F [rank3]: [titan] %t,%m - root - INFO - step: %i  loss:  5.9866  grad_norm:  0.5402  memory: 63.36GiB(45.35%)  tps: 829'),
	('JSON', '{"timestamp": "2025-02-23T10:00:00.%mZ", "level": "info", "rank": 3, "logger": "trainer", "message": "step %i loss=2.898812 lr=5.994E-05 step_time_ms=255.3 consumed_samples=3014320"}'),
	('frames', '  File "/usr/lib/python3/dist-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line %i, in wrapper')
) s(name, line) GROUP BY s.name;
SELECT name AS style, length(lines[1]) AS bytes, round(pg_temp.lines_cost(r, lines, 10, false)) AS prefix_ns, round(pg_temp.lines_cost(r, lines, 10, true)) AS with_record_ns
FROM style, (SELECT l4._ruleset() AS r OFFSET 0) x ORDER BY 2;
SQL
