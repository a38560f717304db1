# shellcheck shell=bash disable=SC2015,SC2016,SC2034,SC2154 # sourced by test/run, which sets and reads what they share
# make score: diagnoses every job of a labelled corpus and parses labelled logs, and prints how good that is.
#   CORPUS=folder   jobs.csv, labels.csv, iterations.csv, context.csv and logs/*.csv.gz, see test/score/README.md
#   LEAVE_OUT=names  of the corpus: without the rules and faults of these frameworks, such as megatron,pytorch
#   LOGHUB=folder   one CSV a dataset with line_no, content, event_id, template
#   EXCERPTS=folder  excerpts.csv and lines.csv, see test/score/README.md
#   FLOWS=folder    score.sql, score.py and data/SCENARIO, see test/score/README.md

# said before anything is built
[ -n "${CORPUS:-}${LOGHUB:-}${FLOWS:-}${EXCERPTS:-}" ] ||
	die "name a folder: make score CORPUS=folder LOGHUB=folder FLOWS=folder EXCERPTS=folder"
for folder in ${CORPUS:+"$CORPUS"} ${LOGHUB:+"$LOGHUB"} ${FLOWS:+"$FLOWS"} ${EXCERPTS:+"$EXCERPTS"}; do
	[ -d "$folder" ] || die "$folder is no folder"
done

# readable_folder FOLDER: prints a path of it that the server can read
readable_folder() {
	local folder
	folder=$(cd "$1" && pwd)
	if [ -n "$user" ] && ! runuser -u "$user" -- sh -c 'cd "$1" && [ -r . ] && ! find . ! -readable 2>/dev/null | grep -q .' sh "$folder" 2>/dev/null; then
		rm -rf "$box/input"
		cp -R "$folder" "$box/input"
		chown -R "$user" "$box/input"
		folder=$box/input
	fi
	printf '%s\n' "$folder"
}

# score_part TITLE SCRIPT FOLDER
score_part() {
	local folder
	folder=$(readable_folder "$3")
	say
	say "== $1: $3"
	sandbox_psql -d postgres -c "DROP DATABASE IF EXISTS score" 2>/dev/null
	as_user createdb -U postgres score
	sandbox_psql -d score -v dir="$folder" -v leave_out="${LEAVE_OUT:-}" -f "$2"
}

# score_flows FOLDER: each scenario in a database of its own, as jobs of others would be found as well
score_flows() {
	local folder scenario found
	folder=$(readable_folder "$1")
	say
	say "== Network flows: $1"
	for scenario in "$folder"/data/*/; do
		scenario=$(basename "$scenario")
		found=$box/flows/$scenario
		as_user mkdir -p "$found"
		sandbox_psql -d postgres -c "DROP DATABASE IF EXISTS score" 2>/dev/null
		as_user createdb -U postgres score
		sandbox_psql -d score -c "CREATE EXTENSION l4"
		sandbox_psql -d score -v dir="$folder/data/$scenario" -v out="$found" -f "$folder/score.sql" >/dev/null
	done
	python3 "$folder/score.py" "$folder/data" "$box/flows"
}

score_run() {
	server_start
	[ -z "${CORPUS:-}" ] || score_part "Diagnosis" test/score/corpus.sql "$CORPUS"
	[ -z "${LOGHUB:-}" ] || score_part "Parser" test/score/loghub.sql "$LOGHUB"
	[ -z "${LOGHUB:-}" ] || score_part "Parser in parts" test/score/parts.sql "$LOGHUB"
	[ -z "${FLOWS:-}" ] || score_flows "$FLOWS"
	[ -z "${EXCERPTS:-}" ] || score_part "Excerpts" test/score/excerpts.sql "$EXCERPTS"
}
