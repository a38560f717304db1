#!/bin/bash
# test/bench/servers.sh FOLDER: the jobs of the labelled corpus in FOLDER placed on three databases by settings, in the
# order in which they started, read and diagnosed there: how many baselines the failed ones find, how the lines are
# spread, and what is diagnosed otherwise than in one place. Databases servers_* stand for servers, see databases.sh.
set -e
. "$(dirname "$0")/databases.sh"
folder=$1
line='CREATE TABLE line (job_id text, node text, rank int, line_no bigint, ts timestamptz, line text, PRIMARY KEY (job_id, node, line_no))'
answers="SELECT d.job_id, d.symptom, d.stage, d.iteration, cardinality(d.baseline) AS baselines, (SELECT string_agg(s.node, ' ' ORDER BY s.rank) FROM l4.suspect_node s WHERE s.job_id = d.job_id AND s.is_suspect) AS accused"

begin servers whole home 1 2 3
for d in $names; do run servers_$d -c 'CREATE EXTENSION l4'; done
run servers_whole -v dir="$folder" -f "$folder/load.sql" >/dev/null
run servers_whole -c "INSERT INTO l4.job (job_id, settings, status, expected_nodes, started_at, ended_at) SELECT job_id, settings, status, nodes, started, ended FROM corpus.job" -c "CALL l4.ingest('corpus.line')"
run servers_home -c 'CREATE EXTENSION dblink' -c 'CREATE EXTENSION postgres_fdw'
reach=$(reach 'host=%s port=%s user=%s')
for n in 1 2 3; do
	run servers_$n -c "$line"
	run servers_home -c "SELECT l4.add_server('$n', '$reach dbname=servers_$n')" >/dev/null
done
run servers_home -c 'SELECT count(*) FROM l4.sync()' >/dev/null

# each job when it started, with the others as they were by then
run servers_whole -F ' ' -c "SELECT job_id, settings, status, nodes, started, ended FROM corpus.job ORDER BY started, job_id" |
	sed 's/\([0-9]\) \([0-9][0-9]:\)/\1T\2/g' >$scratch/jobs
while read -r job settings status nodes started ended; do
	server=$(run servers_home -c "SELECT l4.place('$job', '$settings')")
	run servers_whole -c "COPY (SELECT * FROM corpus.line WHERE job_id = '$job') TO STDOUT" | run servers_$server -c 'COPY line FROM STDIN'
	run servers_home -c "CALL l4.ingest_servers('line', '$job')" \
		-c "UPDATE l4.job SET status = '$status', expected_nodes = $nodes, started_at = '$started', ended_at = '$ended' WHERE job_id = '$job'"
done <$scratch/jobs
run servers_home -c 'SELECT count(*) FROM l4.sync()' >/dev/null
run servers_home -c "SELECT 'lines of server ' || server || ': ' || sum(lines) || ', ' || round(sum(lines) / (avg(sum(lines)) OVER ()), 2) || ' of the mean, ' || count(*) || ' jobs' FROM l4.job_server GROUP BY server ORDER BY server"
run servers_whole -c "SELECT count(*) FROM l4.job j CROSS JOIN LATERAL l4.diagnose(j.job_id) WHERE j.status = 'failed'" >/dev/null
run servers_home -c "SELECT count(*) FROM l4.job j CROSS JOIN LATERAL l4.diagnose_at(j.job_id) WHERE j.status = 'failed'" >/dev/null
run servers_whole -c "COPY ($answers FROM l4.diagnosis d) TO STDOUT" | LC_ALL=C sort >$scratch/whole
for n in 1 2 3; do run servers_$n -c "COPY ($answers FROM l4.diagnosis d) TO STDOUT"; done | LC_ALL=C sort >$scratch/servers
echo "failed jobs: $(wc -l <$scratch/whole); baselines found in one place $(awk -F '\t' '{n += $5} END {print n}' $scratch/whole), on three servers $(awk -F '\t' '{n += $5} END {print n}' $scratch/servers)"
echo "symptom, stage, iteration, baselines, accused nodes: $(LC_ALL=C comm -23 $scratch/whole $scratch/servers | wc -l) jobs different"
LC_ALL=C comm -3 $scratch/whole $scratch/servers | head -20
