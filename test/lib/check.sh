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

# run_part TITLE MAKE-VARIABLE...: one kind of test; a part that fails without naming a test counts as one failure.
run_part() {
	local title=$1 out=$box/tmp/part.out status=0 before=$failed
	shift
	say
	say "== $title"
	as_user make -s installcheck PGUSER=postgres "$@" 2>&1 | tee "$out" || status=$?
	count_results "$out"
	if ((status != 0)); then
		((failed > before)) || failed=$((failed + 1))
		as_user sh -c '
			for f in regression.diffs output_iso/regression.diffs; do [ ! -s "$f" ] || head -n 200 "$f"; done
			grep -lE "not ok|died|error running|Looks like" tmp_check/log/regress_log_* 2>/dev/null | while read -r f; do echo "-- $f"; tail -n 40 "$f"; done'
	fi
	as_user rm -rf regression.diffs output_iso
}

check_run() {
	local status
	passed=0 failed=0
	server_start
	run_part "SQL regression tests" TAP_TESTS= ISOLATION=
	if [ -d "$box/tree/test/isolation/specs" ]; then
		run_part "isolation tests: concurrent sessions" TAP_TESTS= REGRESS=
	fi
	run_part "TAP tests: servers of their own" REGRESS= ISOLATION= PROVE_FLAGS=--verbose
	say
	say "$passed passed, $failed failed"
	((failed == 0 && passed > 0)) && status=0 || status=1
	exit $status
}
