#!/usr/bin/env bash
# tap.sh FILE: a TAP test in the tree ../tree.$slot, since each run empties its logs. What it prints comes in one piece,
# with the end of its log if it failed.
set -uo pipefail
out=$TMPDIR/tap.$slot status=0
{
	make -s -C "../tree.$slot" installcheck PGUSER=postgres REGRESS= ISOLATION= PROVE_FLAGS="--verbose --timer" PROVE_TESTS="$1" ||
		{ status=1 && tail -n 40 "../tree.$slot"/tmp_check/log/regress_log_*; }
} >"$out" 2>&1
flock "$TMPDIR" cat "$out"
exit "$status"
