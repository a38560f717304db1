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

# run_part TITLE MAKE-VARIABLE...: one kind of test; what failed is shown below.
run_part() {
	local status=0
	say
	say "== $1"
	as_user make -s installcheck PGUSER=postgres "${@:2}" 2>&1 || status=$?
	((status == 0)) || say "== $1: failed"
	return "$status"
}

show_failures() {
	as_user sh -c '
		for f in regression.diffs output_iso/regression.diffs; do [ ! -s "$f" ] || head -n 200 "$f"; done'
}

run_on_server() {
	local status=0
	run_part "SQL regression tests" TAP_TESTS= ISOLATION= || status=1
	run_part "isolation tests: concurrent sessions" TAP_TESTS= REGRESS= || status=1
	return "$status"
}

# Two TAP tests at a time, the last names first: those take longest. They yield to the SQL tests, which take longer still,
# one after the other.
run_taps() {
	local slot
	renice -n 5 -p "$BASHPID" >/dev/null
	for slot in 0 1; do as_user cp -Rp . "../tree.$slot"; done
	say
	say "== TAP tests: servers of their own"
	(cd "$box/tree" && printf '%s\n' test/t/*.pl | sort -r) |
		as_user xargs -P 2 --process-slot-var=slot -I{} test/lib/tap.sh {}
}

check_run() {
	local status=0 taps out=$box/tmp/check.out
	passed=0 failed=0
	server_start
	# the tests with servers of their own meanwhile: they wait a lot, so that two cores have work
	[ "${PARTS:-}" = sql ] || run_taps >"$out.tap" 2>&1 &
	taps=$!
	run_on_server | tee "$out" || status=1
	count_results "$out"
	if [ "${PARTS:-}" != sql ]; then
		tail -n +1 --pid="$taps" -f "$out.tap"
		wait "$taps" || status=1
		count_results "$out.tap"
	fi
	((status == 0)) || show_failures
	# a part that fails without naming a test counts as one failure
	((status == 0 || failed > 0)) || failed=1
	say
	say "$passed passed, $failed failed"
	((failed == 0 && passed > 0)) && status=0 || status=1
	exit $status
}
