# shellcheck shell=bash disable=SC2015,SC2016,SC2034,SC2154 # sourced by test/run, which sets and reads what they share
# make growth: one size at a time is doubled five times, and each public step timed. What grows faster than the size
# shows in the last column: log2 of the last two times, 1 for a step that is linear.
#   SIZES="nodes lines"   only these of: lines nodes streams iterations events templates faults jobs
#   DOUBLED=5             how often
growth_sizes="lines=4000 nodes=64 streams=32 iterations=1000 events=250 templates=125 faults=250 jobs=4"

# growth_step SIZE VALUE: prints "what|milliseconds", a line a step
growth_step() {
	local size settings=()
	for size in jobs=2 nodes=4 streams=1 iterations=20 lines=20 events=5 templates=0 faults=0; do
		[ "${size%%=*}" = "$1" ] && size=$1=$2
		settings+=(-v "$size")
	done
	sandbox_psql -c "DROP DATABASE IF EXISTS growth" 2>/dev/null
	as_user createdb -U postgres growth
	sandbox_psql -d growth "${settings[@]}" -f test/bench/growth.sql
}

growth_run() {
	local size name value k doubled=${DOUBLED:-5}
	server_start
	for size in $growth_sizes; do
		name=${size%%=*}
		[[ " ${SIZES:-$name} " == *" $name "* ]] || continue
		value=${size#*=}
		for ((k = 0; k <= doubled; k++)); do
			growth_step "$name" "$value" >"$box/growth.$k" || die "growth of $name to $value failed"
			value=$((value * 2))
		done
		say
		say "milliseconds by $name: ${size#*=}, doubled $doubled times"
		awk -F'|' -v last="$doubled" '
			FNR == 1 {file++}
			NF == 2 {if (file == 1) what[++n] = $1; ms[$1, file] = $2}
			END {
				for (i = 1; i <= n; i++) {
					row = "| " what[i]
					for (k = 1; k <= last + 1; k++) row = row " | " ms[what[i], k]
					a = ms[what[i], last]; b = ms[what[i], last + 1]
					# what takes no time shows none
					printf "%s | %s |\n", row, b < 50 || a <= 0 ? "-" : sprintf("%.2f", log(b / a) / log(2))
				}
			}' $(for ((k = 0; k <= doubled; k++)); do printf '%s ' "$box/growth.$k"; done)
	done
}
