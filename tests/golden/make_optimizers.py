#!/usr/bin/python3
"""Writes optimizer_steps_*.safetensors: ten steps of each optimizer from the same start with the
same gradients; row t is the parameter after t steps. Run by hand; needs PyTorch."""
import torch
from torch import nn

from make_golden import save

OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.05, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.1),
    "nesterov": lambda p: torch.optim.SGD(
        p, lr=0.05, momentum=0.8, weight_decay=0.1, nesterov=True
    ),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=0.5, rho=0.95, weight_decay=0.1),
}

for dtype, suffix in ((torch.float32, "f32"), (torch.float64, "f64")):
    torch.manual_seed(2)
    start = torch.randn(7, dtype=dtype)
    scales = torch.tensor([1, 1e-6, 1e3, 1, 0, 1, 1e-3], dtype=dtype)
    gradients = torch.randn(10, 7, dtype=dtype) * scales
    case = {"start": start, "gradients": gradients}
    for name, make in OPTIMIZERS.items():
        parameter = nn.Parameter(start.clone())
        optimizer = make([parameter])
        rows = []
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimizer.step()
            rows.append(parameter.detach().clone())
        case[name] = torch.stack(rows)
    save(f"optimizer_steps_{suffix}", case)
