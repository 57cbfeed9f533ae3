"""What the scripts that write functions_*.safetensors beside this file have in common.

"softplus/0/output" is the value of the callable "softplus" (a row of tests/golden_rows.cpp or
tests/function_rows_*.cpp, which computes the same) for the tensors "softplus/0/input0" and so on; a
differentiable one also has a "projection" and "grad0", the gradients of
sum(output * projection).
"""
import math

import torch
from torch import tensor

from make_golden import HERE, save

DOUBLE, SINGLE = torch.float64, torch.float32
inf, nan = math.inf, math.nan
SPECIAL = [0.0, -0.0, inf, -inf, nan, 1e300, -1e300, 1e-300, -1e-300, 1e-18, -1e-18, 36.0, -36.0,
           745.0, -745.0, 1.0, -1.0]
SINGLE_SPECIAL = [0.0, -0.0, inf, -inf, nan, 1e38, -1e38, 1e-37, -1e-37, 1e-9, -1e-9, 17.0, -17.0,
                  88.0, -100.0, 1.0, -1.0]


def r(*shape, dtype=DOUBLE):
    return torch.randn(shape, dtype=dtype)


def d(values):
    return tensor(values, dtype=DOUBLE)


def s(values):
    return tensor(values, dtype=SINGLE)


def case_of(f, inputs):
    """Output, projection and gradients; the latter only of what is differentiable."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    output = f(*leaves)
    case = {f"input{i}": x for i, x in enumerate(inputs)}
    if not output.requires_grad:
        return case | {"output": output.to(inputs[0].dtype)}
    projection = torch.randn_like(output)
    gradients = torch.autograd.grad(output, leaves, projection, allow_unused=True)
    case |= {"output": output, "projection": projection}
    for i, (x, gradient) in enumerate(zip(leaves, gradients)):
        case[f"grad{i}"] = torch.zeros_like(x) if gradient is None else gradient
    return case


def write(family, table):
    tensors = {}
    for name, (f, *cases) in table.items():
        for i, inputs in enumerate(cases):
            inputs = inputs if isinstance(inputs, tuple) else (inputs,)
            for key, value in case_of(f, inputs).items():
                tensors[f"{name}/{i}/{key}"] = value
    save(f"functions_{family}", tensors)
    size = (HERE / f"functions_{family}.safetensors").stat().st_size
    print(f"{family}: {len(table)} callables, {size} bytes")
    assert size < 60_000


def unary(f):
    singles = torch.cat([r(6, dtype=SINGLE), s(SINGLE_SPECIAL)])
    return f, r(2, 1, 4) * 2, r(0, 3), r(1, 1), d(SPECIAL), singles


def binary(f, scale=1):
    pairs = d([(a, b) for a in (0.0, 2.0, -3.0, inf, -inf, nan) for b in (0.0, -0.0, 2.0, 0.5, -1.0, -inf, nan)])
    return (
        f,
        (r(2, 3) * scale, r(3)),
        (r(2, 1, 3), r(4, 1)),
        (r(), r(1, 2)),
        (r(0, 3), r(1, 3)),
        (r(1), r(2, 0)),
        (r(2, 2, dtype=SINGLE), r(2, 1, dtype=SINGLE)),
        (pairs[:, 0].contiguous(), pairs[:, 1].contiguous()),
        (d([1e300, 1e-300, 1e200]), d([1e300, 1e-300, -1e200])),
    )


LENGTHS = [3, 0, 1]


def padded(x):
    """[T, B] or, broadcast, [T, B, 1...]: where a position is beyond its length."""
    mask = torch.arange(x.shape[0])[:, None] >= tensor(LENGTHS)[None, :]
    return mask.reshape(x.shape[0], 3, *[1] * (x.dim() - 2))


def zeroed(x):
    """x without what is beyond the lengths, which gets no gradient."""
    return x.masked_fill(padded(x), 0)


def beyond(x):
    """x with NaN beyond the lengths."""
    return x.masked_fill(padded(x), nan)


def write_all(families):
    for family in families:
        torch.manual_seed(1)
        write(family.__name__, family())
