#!/bin/bash
# What network flows cost: rows a second, seconds of a minute of new rows, bytes a row, memory.
#   [PERIOD=10] test/bench/flows_size.sh [ROWS-IN-MILLIONS...]      1 and 10, if nothing is said; 100 takes 14 GB
# As superuser of the server of PGHOST and PGPORT, in a database l4_flows_size that is made and dropped. The platform is
# made by flows_size.sql: jobs of 64 NICs, 13 rows a step and NIC, a step each PERIOD seconds (1); 256 NICs for 1 million
# rows, 1,024 for 10, 4,096 for 100; with a PERIOD above 1 always 4,096. All rows are read by one call, then ten minutes
# by one each. Seconds are processor time of the backend, user and system: of trace_flows, and of a scan of the new rows,
# which is taken off. Memory is that of the backend without shared buffers and files, at most, above what it has before.
# Each minute reads the minute before it again, too.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
export PGDATABASE=postgres
[ $# -gt 0 ] || set -- 1 10
for m; do
	psql -Xq -c 'SET client_min_messages = warning' -c 'DROP DATABASE IF EXISTS l4_flows_size' -c 'CREATE DATABASE l4_flows_size'
	psql -Xq -d l4_flows_size -v ON_ERROR_STOP=1 -v VERBOSITY=terse -v rows="$m" -v period="${PERIOD:-1}" \
		-v jobs=$((${PERIOD:-1} > 1 || m >= 50 ? 64 : m < 4 ? 4 : 16)) \
		-f "$here/flows_size.sql" 2>&1 | sed -n 's/.*NOTICE:  *//p; /ERROR/p' | grep -v "does not exist\|installing"
	psql -Xq -c 'DROP DATABASE l4_flows_size'
done
