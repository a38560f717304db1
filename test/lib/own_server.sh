# shellcheck shell=bash disable=SC2034 # sourced by test/fuzz/cuts and test/fuzz/sessions, which use what it sets
# A small private server in the folder $box, with l4 as it is installed for PG_CONFIG. It never flushes: a killed process
# loses nothing of what the kernel has, and recovery need not flush every file there is.
PATH=$("${PG_CONFIG:-pg_config}" --bindir):$PATH
box=$(mktemp -d "${TMPDIR:-/tmp}/cXXXXXX")
export PGHOST=$box PGPORT=5432 PGUSER=postgres PGDATABASE=postgres PGOPTIONS="-c client_min_messages=warning"
trap 'pg_ctl -D "$box/data" -m immediate -s stop || true; rm -rf "$box"' EXIT
run() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

initdb -D "$box/data" -A trust -U postgres --no-sync -E UTF8 --locale=C.UTF-8 >/dev/null
printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$box'" "fsync = off" "shared_buffers = 16MB" \
	"autovacuum = off" >>"$box/data/postgresql.conf"
pg_ctl -D "$box/data" -l "$box/log" -w -s start
