# shellcheck shell=bash disable=SC2015,SC2016,SC2034,SC2154 # sourced by test/run, which sets and reads what they share
# make demo: loads the sample jobs, diagnoses the failed one, prints its report, writes it as an HTML page.

demo_run() {
	local out=${OUT:-$top} page=l4-report-job-17.html
	server_start
	say
	sandbox_psql -f test/demo.sql
	mkdir -p "$out"
	cp "$box/tree/$page" "$out/$page"
	say
	say "The same with pictures: $(cd "$out" && pwd)/$page"
}
