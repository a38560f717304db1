# shellcheck shell=bash disable=SC2015,SC2016,SC2034,SC2154 # sourced by test/run, which sets and reads what they share
# make score: diagnoses every job of a labelled corpus and parses labelled logs, and prints how good that is.
#   CORPUS=folder   jobs.csv, labels.csv, iterations.csv, context.csv and logs/*.csv.gz, see test/score/README.md
#   LOGHUB=folder   one CSV a dataset with line_no, content, event_id, template

# said before anything is built
[ -n "${CORPUS:-}${LOGHUB:-}" ] || die "name a folder: make score CORPUS=folder LOGHUB=folder"
for folder in ${CORPUS:+"$CORPUS"} ${LOGHUB:+"$LOGHUB"}; do
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
	sandbox_psql -d score -v dir="$folder" -f "$2"
}

score_run() {
	server_start
	[ -z "${CORPUS:-}" ] || score_part "Diagnosis" test/score/corpus.sql "$CORPUS"
	[ -z "${LOGHUB:-}" ] || score_part "Parser" test/score/loghub.sql "$LOGHUB"
}
