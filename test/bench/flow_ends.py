"""When the network was done with each step of a rank: flow_ends.py PCAP... <CLOCK.csv >ENDS.csv

Lines are "address,step,microseconds", as flow_trainer.py prints them, when a rank read its clock after its last
collective. That may be long after the last packet where the host is busy. Instead of it stands the last packet with
data that the rank itself had sent by then, as captured at its port: what a rank sends is in the order of its program."""
import bisect
import sys

from flow_meter import read_packets

sent = {}
for ts, key, length in read_packets(sys.argv[1:]):
    if length > 200:    # more than an acknowledgement
        sent.setdefault('.'.join(map(str, key[0])), []).append(ts)
for line in sys.stdin:
    address, step, clock = line.split(',')
    print(address, step, sent[address][bisect.bisect(sent[address], int(clock)) - 1], sep=',')
