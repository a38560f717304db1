# shellcheck shell=bash disable=SC2154 # sourced by test/run, which sets and reads what they share
# make check-all: make check for each of PG_CONFIGS, and a table of how they went.

check_all() {
	local config version line status=0 out table=""
	[ -n "${PG_CONFIGS:-}" ] || die 'name the servers: make check-all PG_CONFIGS="/usr/lib/postgresql/16/bin/pg_config ..."'
	out=$(mktemp "${TMPDIR:-/tmp}/l4-check-XXXXXX")
	for config in $PG_CONFIGS; do
		version=$("$config" --version) || die "$config is no pg_config"
		PG_CONFIG=$config "$here/run" check | tee "$out" || status=1
		line=$(tail -n 1 "$out")
		table+=$(printf '%-40s %s' "$version" "$line")$'\n'
	done
	rm -f "$out"
	say
	printf '%s' "$table"
	exit $status
}
