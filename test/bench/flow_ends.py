"""When the network was done with each step of a job: flow_ends.py PCAP... <CLOCKS.csv >ENDS.csv

Lines are "address,step,microseconds", as the ranks of flow_trainer.py print them when they have read their clocks after
the last collective. That may be long after the last packet where the host is busy. Instead stands the last packet with
data that one of them sent before the last clock was read."""
import bisect
import sys

from flow_meter import read_packets

clocks = [line.split(',') for line in sys.stdin]
ranks = {address for address, _, _ in clocks}
last = {}
for _, step, clock in clocks:
    last[step] = max(last.get(step, 0), int(clock))
sent = [ts for ts, key, length in read_packets(sys.argv[1:])
        if length > 200 and '.'.join(map(str, key[0])) in ranks]    # more than an acknowledgement
for address, step, _ in clocks:
    print(address, step, sent[bisect.bisect(sent, last[step]) - 1], sep=',')
