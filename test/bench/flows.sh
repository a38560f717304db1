#!/bin/bash
# Flow records of three real training jobs, with their truth: what docs/accuracy_flows.md calls real traffic.
#   test/bench/flows.sh FOLDER [normal|trouble|exporters] [STEPS]     then: make score FLOWS=FOLDER
# Needs root (network namespaces), ip, tc, tcpdump, xz and a Python with PyTorch (PYTHON, else python3). Takes three
# minutes with 90 steps, the default. FOLDER needs score.sql and score.py, see test/score/README.md.
# Twelve hosts on one bridge, a gigabit each: 1 to 4 run DistributedDataParallel (job a), 5 to 8 two pipeline stages by two
# replicas (job b), 9 to 11 a sharded optimizer (job c), 12 stores checkpoints. trouble: the link of host 3 is slow for
# 20 s, then a rank of job b is stopped.
# Made are FOLDER/data/KIND{20,20_bare,1000}: metered with an idle time-out of 20 ms, with an inventory and without one,
# and of 1 s; the active time-out is 1 s. A step ends when its last rank has read its clock; in KIND20_packets, where
# its last packet was sent.
set -euo pipefail
folder=$(realpath -m "$1")
kind=${2:-normal}
steps=${3:-90}
here=$(realpath "$(dirname "$0")")
python=${PYTHON:-python3}
net=l4flow$$
raw=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; for n in sw {1..12}; do ip netns del $net$n 2>/dev/null; done; rm -rf "$raw"' EXIT

at() { ip netns exec "$net$1" "${@:2}"; }
limit() { at "$2" tc qdisc "$1" dev eth0 root tbf rate "$3" burst "$4" latency 50ms; }
now() { date +%s%6N; }
# trainer JOB KIND RANK WORLD HOST MASTER STEPS [STORE]: its process is $!
trainer() {
	ip netns exec "$net$5" nice -n -15 "$python" "$here/flow_trainer.py" "$2" "$3" "$4" "10.50.0.$5" "$6" "${@:7}" \
		>"$raw/$1$3.csv" 2>"$raw/$1$3.err" &
	pids+=($!)
}

ip netns add ${net}sw
ip -n ${net}sw link add br0 type bridge
ip -n ${net}sw link set br0 up
if [ "$kind" = exporters ]; then
	export PACE=4
	ip -n ${net}sw link set lo up
	mkdir "$raw/nfcapd"
	chmod -R a+rwX "$raw"
	cat >"$raw/nfacctd.conf" <<-END
		daemonize: false
		nfacctd_ip: 127.0.0.1
		nfacctd_port: 9002
		aggregate: peer_src_ip,src_host,dst_host,src_port,dst_port,proto,timestamp_start,timestamp_end
		plugins: print[all]
		print_output: csv
		print_output_file: $raw/nfacctd.csv
		print_output_file_append: true
		print_refresh_time: 5
	END
	ip netns exec ${net}sw nfcapd -w "$raw/nfcapd" -b 127.0.0.1 -p 9001 >"$raw/nfcapd.log" 2>&1 &
	pids+=($!)
	ip netns exec ${net}sw nfacctd -f "$raw/nfacctd.conf" >"$raw/nfacctd.log" 2>&1 &
	pids+=($!)
	ip netns exec ${net}sw "${GOFLOW2:-goflow2}" -listen netflow://127.0.0.1:9003 -format json -transport file \
		-transport.file "$raw/goflow2.json" >"$raw/goflow2.log" 2>&1 &
	pids+=($!)
	sleep 2
fi
for n in {1..12}; do
	ip netns add $net$n
	ip -n ${net}sw link add p$n type veth peer name eth0 netns $net$n
	ip -n ${net}sw link set p$n master br0 up
	ip -n $net$n addr add 10.50.0.$n/24 dev eth0
	ip -n $net$n link set eth0 up
	ip -n $net$n link set lo up
	limit add $n 1gbit 256kb
	if [ "$kind" = exporters ]; then
		ip netns exec ${net}sw softflowd -i p$n -d -v 10 -A milli -n 127.0.0.1:9001,127.0.0.1:9002,127.0.0.1:9003 \
			-t maxlife=1 -t tcp=1 -t general=1 -t expint=1 -p "$raw/$n.pid" -c "$raw/$n.ctl" "tcp and src 10.50.0.$n" \
			>"$raw/softflowd$n.log" 2>&1 &
	else
		ip netns exec ${net}sw nice -n -15 tcpdump -i p$n -Q in -s 80 -B 16384 -U -w - tcp >"$raw/p$n.pcap" 2>/dev/null &
	fi
	pids+=($!)
done
at 12 "$python" -c "
import socket
listener = socket.create_server(('10.50.0.12', 9000))
while True:
    source, _ = listener.accept()
    while source.recv(1 << 20):
        pass
" &
pids+=($!)
sleep 1

trainers=()
for r in {0..3}; do trainer a ddp $r 4 $((r + 1)) 10.50.0.1:29500 "$steps" 10.50.0.12; trainers+=($!); done
for r in {0..2}; do trainer c zero $r 3 $((r + 9)) 10.50.0.9:29502 "$steps"; trainers+=($!); done
sleep 3
pipeline=()
for r in {0..3}; do trainer b pp $r 4 $((r + 5)) 10.50.0.5:29501 $((steps + 5)); pipeline+=($!); done
issues=''
if [ "$kind" = trouble ]; then
	sleep 45
	slow=$(now)
	limit change 3 150mbit 64kb
	sleep 20
	issues="a,slow_group,10.50.0.3,$slow,$(now),"
	limit change 3 1gbit 256kb
	sleep 10
	issues+=$'\n'"b,stopped,10.50.0.7,$(now),$(($(now) + 100000000)),"
	kill -STOP "${pipeline[2]}"
	wait "${trainers[@]}"
	kill -KILL "${pipeline[@]}"
else
	wait "${trainers[@]}" "${pipeline[@]}" || { cat "$raw"/*.err >&2; exit 1; }
fi
sleep 1

# steps COMMAND: a step ends when the last of its ranks is done, by times that the command makes of their clocks'
steps() {
	echo job,address,step,start_us,end_us
	for job in a b c; do
		cat "$raw/$job"?.csv | "$@" | awk -F, -v job=$job '{ n[$2]++; rank[$1]; if ($3 > end[$2]) end[$2] = $3 }
			END { for (a in rank) for (s in n) if (n[s] == length(rank) && n[s - 1] == n[s]) printf "%s,%s,%d,%.0f,%.0f\n", job, a, s, end[s - 1], end[s] }' |
			sort -t, -k2,2 -k3,3n
	done
}

if [ "$kind" = exporters ]; then
	out=$folder/exporters
	mkdir -p "$out"
	sleep 10		# the last records expire, and are written
	for n in {1..12}; do softflowctl -c "$raw/$n.ctl" shutdown; done >/dev/null
	sleep 8
	kill "${pids[@]:0:3}"
	sleep 3
	# its csv has whole seconds only
	nfdump -R "$raw/nfcapd" -q -N -o 'fmt:%tsr,%td,%sa,%da,%sp,%dp,%pkt,%byt' | tr -d ' ' >"$out/nfdump.csv"
	cp "$raw"/{nfacctd.csv,goflow2.json} "$out"
	steps cat >"$out/steps.csv"
	exit
fi
for o in 20 20_bare 20_packets 1000; do
	out=$folder/data/$kind$o
	mkdir -p "$out"
	"$python" "$here/flow_meter.py" ${o%_*} 1000 "$raw"/p*.pcap | xz >"$out/flows.csv.xz"
	{ echo job,address; for n in {1..11}; do echo $([ $n -le 4 ] && echo a || { [ $n -le 8 ] && echo b || echo c; }),10.50.0.$n; done; } >"$out/truth_jobs.csv"
	{
		echo job,a,b,kind,all_kinds
		for p in a,1,2,dp a,1,4,dp a,2,3,dp a,3,4,dp b,5,6,dp b,7,8,dp b,5,7,pp b,6,8,pp c,9,10,dp c,9,11,dp c,10,11,dp; do
			IFS=, read -r job a b parallel <<<"$p"
			echo "$job,10.50.0.$a,10.50.0.$b,$parallel,$parallel"
		done
	} >"$out/truth_pairs.csv"
	{ echo job,kind,subject,from_us,to_us,detail; [ -z "$issues" ] || echo "$issues"; } >"$out/truth_issues.csv"
	if [ $o = 20_packets ]; then
		steps "$python" "$here/flow_ends.py" "$raw"/p*.pcap >"$out/truth_steps.csv"
	else
		steps cat >"$out/truth_steps.csv"
	fi
	[ $o = 20_bare ] || { echo address,machine,nic,leaf; for n in {1..11}; do echo 10.50.0.$n,m$n,0,sw0; done; } >"$out/inventory.csv"
done
chmod -R a+rX "$folder"
