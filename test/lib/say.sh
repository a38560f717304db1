# shellcheck shell=bash disable=SC2015,SC2016,SC2034,SC2154 # sourced by test/run, which sets and reads what they share
# Messages, and long commands with a sign of life.

die() {
	printf 'l4: %s\n' "$*" >&2
	exit 1
}

say() { printf '%s\n' "$*"; }

# quietly TITLE COMMAND...: the output goes to a log and is shown only on failure. Every ten seconds one sign of life.
quietly() {
	local title=$1 log pid start=$SECONDS status=0 shown=0
	shift
	log=$(mktemp "${box:-${TMPDIR:-/tmp}}/l4-log-XXXXXX")
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		if ((SECONDS - start >= shown + 10)); then
			shown=$((SECONDS - start))
			printf '  %s … %d s\n' "$title" "$shown"
		fi
	done
	wait "$pid" || status=$?
	if ((status != 0)); then
		printf '  %s: failed after %d s\n' "$title" $((SECONDS - start))
		tail -n 60 "$log"
		rm -f "$log"
		return "$status"
	fi
	rm -f "$log"
	printf '  %s: %d s\n' "$title" $((SECONDS - start))
}
