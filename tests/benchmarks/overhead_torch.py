#!/usr/bin/python3
"""The same chain as overhead.cpp in PyTorch: the better of eager and scripted, per operation."""
import time

import torch

torch.set_num_threads(1)


def chain_tanh(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    for _ in range(1000):
        z = torch.tanh(z)
    return z


def chain_add(z: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    for _ in range(1000):
        z = z + y
    return z


def nanoseconds_per_operation(chain):
    x = torch.randn(64, requires_grad=True)
    y = torch.randn(64, requires_grad=True)
    times = []
    for run in range(60):
        x.grad = y.grad = None
        begin = time.perf_counter()
        chain(x, y).sum().backward()
        if run >= 15:
            times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2] / 1000 * 1e9


for name, chain in (("tanh", chain_tanh), ("add", chain_add)):
    print(name, round(min(nanoseconds_per_operation(chain), nanoseconds_per_operation(torch.jit.script(chain)))))
