# shellcheck shell=bash disable=SC2015,SC2016,SC2034,SC2154 # sourced by test/run, which sets and reads what they share
# make check: every test of the project; the last line says how many passed and failed.

# count_results FILE: sets passed and failed from what pg_regress (old and new style) and prove print.
count_results() {
	local ok bad
	ok=$(grep -cE '^ok [0-9]+| \.\.\. ok( |$)' "$1" || true)
	bad=$(grep -cE '^not ok [0-9]+| \.\.\. FAILED' "$1" || true)
	passed=$((passed + ok))
	failed=$((failed + bad))
}

# run_part TITLE FOLDER MAKE-VARIABLE...: one kind of test, in a copy of the tree; what failed is shown below.
run_part() {
	local status=0
	say
	say "== $1"
	as_user make -s -C "$2" installcheck PGUSER=postgres "${@:3}" 2>&1 || status=$?
	((status == 0)) || say "== $1: failed"
	return "$status"
}

show_failures() {
	as_user sh -c '
		for f in regression.diffs output_iso/regression.diffs; do [ ! -s "$f" ] || head -n 200 "$f"; done
		grep -lE "not ok|died|error running|Looks like" ../tree*/tmp_check/log/regress_log_* 2>/dev/null |
			while read -r f; do echo "-- $f"; tail -n 40 "$f"; done'
}

run_on_server() {
	local status=0
	run_part "SQL regression tests" . TAP_TESTS= ISOLATION= || status=1
	run_part "isolation tests: concurrent sessions" . TAP_TESTS= REGRESS= || status=1
	return "$status"
}

# tap_part N: every other TAP test, from the first or the second on, in a tree of its own: each run empties its logs.
tap_part() {
	local tests=()
	mapfile -t tests < <(cd "$box/tree" && printf '%s\n' test/t/*.pl | awk -v n="$1" 'NR % 2 == n % 2')
	as_user cp -Rp . "../tree.$1"
	run_part "TAP tests: servers of their own, part $1" "../tree.$1" REGRESS= ISOLATION= "PROVE_FLAGS=--verbose --timer" \
		"PROVE_TESTS=${tests[*]}"
}

check_run() {
	local status=0 part taps=() out=$box/tmp/check.out
	passed=0 failed=0
	server_start
	# the tests with servers of their own meanwhile: they wait a lot, so that two cores have work
	[ "${PARTS:-}" = sql ] || for part in 1 2; do
		tap_part "$part" >"$out.tap$part" 2>&1 &
		taps+=($!)
	done
	run_on_server | tee "$out" || status=1
	count_results "$out"
	for part in "${!taps[@]}"; do
		tail -n +1 --pid="${taps[part]}" -f "$out.tap$((part + 1))"
		wait "${taps[part]}" || status=1
		count_results "$out.tap$((part + 1))"
	done
	((status == 0)) || show_failures
	# a part that fails without naming a test counts as one failure
	((status == 0 || failed > 0)) || failed=1
	say
	say "$passed passed, $failed failed"
	((failed == 0 && passed > 0)) && status=0 || status=1
	exit $status
}
