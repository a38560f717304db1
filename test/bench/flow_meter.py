"""Flow records of captures, as an exporter makes them: flow_meter.py IDLE_MS ACTIVE_MS PCAP... >flows.csv

Reads TCP over IPv4 over Ethernet from pcap files in the byte order of a little-endian machine. A record ends at a
silence of more than IDLE_MS, or when it is ACTIVE_MS old."""
import struct
import sys


def read_packets(paths):
    """Packets in order: microseconds, (source, target, their ports), bytes."""
    packets = []
    for path in paths:
        data = open(path, 'rb').read()
        at = 24
        while at + 16 <= len(data):
            seconds, micros, captured, length = struct.unpack_from('<IIII', data, at)
            frame = data[at + 16:at + 16 + captured]
            at += 16 + captured
            if len(frame) < 38 or len(frame) < captured or frame[12:14] != b'\x08\x00' or frame[23] != 6:
                continue
            ports = struct.unpack_from('>HH', frame, 14 + 4 * (frame[14] & 15))
            packets.append((seconds * 1000000 + micros, (frame[26:30], frame[30:34]) + ports, length - 14))
    packets.sort()
    return packets


def write_records(idle, active, packets):
    open_records = {}
    records = []
    for ts, key, length in packets:
        record = open_records.get(key)
        if record and ts - record[1] <= idle and ts - record[0] <= active:
            record[1:] = ts, record[2] + 1, record[3] + length
        else:
            open_records[key] = record = [ts, ts, 1, length]
            records.append((key, record))
    print('ip_src,ip_dst,port_src,start_us,end_us,packets,bytes,exporter,sampling_rate')
    for (source, target, port, _), record in records:
        print('.'.join(map(str, source)), '.'.join(map(str, target)), port, *record, 'sw0', 1, sep=',')


if __name__ == '__main__':
    write_records(*(int(ms) * 1000 for ms in sys.argv[1:3]), read_packets(sys.argv[3:]))
