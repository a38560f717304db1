"""Writes real traffic of training: one rank, by PyTorch over gloo. test/bench/flows.sh starts them.

flow_trainer.py KIND RANK WORLD ADDRESS MASTER:PORT STEPS [STORE]

KIND ddp: DistributedDataParallel; rank 0 sends a checkpoint to STORE every 20 steps. KIND pp: two pipeline stages of
WORLD / 2 replicas each, four micro-batches forward and back, then all-reduce in the stage. KIND zero: three
micro-batches, all-reduce in buckets, then each rank sends its part of the parameters to all. A sleep stands for the
accelerator, PACE times as long as usual. Prints "address,step,end of its last collective in microseconds" for each step."""
import os
import random
import socket
import sys
import time

kind, rank, world, address, master, steps = sys.argv[1:7]
store = sys.argv[7] if len(sys.argv) > 7 else None
rank, world, steps = int(rank), int(world), int(steps)
host, port = master.split(':')
os.environ.update(MASTER_ADDR=host, MASTER_PORT=port, GLOO_SOCKET_IFNAME='eth0', OMP_NUM_THREADS='1')
import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group('gloo', rank=rank, world_size=world)
jitter = random.Random(7)       # the same on all ranks
pace = float(os.environ.get('PACE', 1))


def done(step):
    print('%s,%d,%d' % (address, step, time.time() * 1e6), flush=True)


def train_ddp():
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=4)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for step in range(steps):
        time.sleep(pace * (0.7 + 0.05 * jitter.random()))
        loss = net(torch.randn(8, 1024)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        done(step)
        optimizer.step()
        if store and rank == 0 and step % 20 == 19:
            with socket.create_connection((store, 9000)) as s:
                s.sendall(bytes(6_000_000))


def train_pp():
    replicas = world // 2
    stage = rank // replicas
    groups = [dist.new_group([s * replicas + r for r in range(replicas)]) for s in range(2)]
    activation = torch.randn(256, 1024)
    gradients = [torch.randn(1024 * 1024) for _ in range(2)]
    peer = rank + replicas if stage == 0 else rank - replicas

    def pass_on(sender, seconds):
        for _ in range(4):
            if stage == sender:
                time.sleep(pace * (seconds + 0.005 * jitter.random()))
                dist.send(activation, peer)
            else:
                dist.recv(activation, peer)
                time.sleep(pace * seconds)

    for step in range(steps):
        pass_on(0, 0.06)
        pass_on(1, 0.09)
        for gradient in gradients:
            dist.all_reduce(gradient, group=groups[stage])
        done(step)
        time.sleep(pace * 0.03)


def train_zero():
    buckets = [torch.randn(768 * 1024) for _ in range(3)]
    part = torch.randn(2304 * 1024 // world)
    for step in range(steps):
        for _ in range(3):
            time.sleep(pace * (0.15 + 0.02 * jitter.random()))
        for bucket in buckets:
            time.sleep(pace * 0.01)
            dist.all_reduce(bucket)
        time.sleep(pace * 0.02)
        dist.all_gather([torch.empty_like(part) for _ in range(world)], part)
        done(step)


{'ddp': train_ddp, 'pp': train_pp, 'zero': train_zero}[kind]()
time.sleep(1)
