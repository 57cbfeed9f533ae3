#!/usr/bin/python3
"""Writes functions_*.safetensors beside this file: PyTorch's values and gradients of the functions
in autograd/functions.h that compute, entry by entry or along axes, as golden_cases.py tells. Run by
hand; needs PyTorch (Debian: python3-torch).
"""
import re

import torch
import torch.nn.functional as F
from torch import tensor

from golden_cases import (HERE, LENGTHS, SINGLE, binary, d, inf, nan, r, s, unary, write_all)


def declared(section):
    """PyTorch's functions of the names that a section of autograd/functions.h gives to Var f(x)."""
    header = (HERE / "../../autograd/functions.h").read_text()
    text = header.split(f"// --- {section}\n")[1].split("// ---")[0]
    names = re.findall(r"^Var (\w+)\(const Var& x[,)]", text, re.MULTILINE)
    return {name: getattr(torch, name, None) or getattr(F, name, None) for name in names}


def unaries(section, others):
    named = {name: f for name, f in declared(section).items() if name not in others}
    return {name: unary(f) for name, f in (named | others).items()}


def elementwise():
    return unaries("elementwise", {
        "affine": lambda x: 3 - x * 2 / 5 + 1,
        "clamp": lambda x: torch.exp(torch.clamp(x, -1, 2)),
    })


def activations():
    return unaries("activations", {
        "log_sigmoid": F.logsigmoid,
        # PyTorch's would go over to x from 20 on, which is off by 2e-9.
        "softplus": lambda x: F.softplus(x, threshold=700),
        "leaky_relu 0.3": lambda x: torch.square(F.leaky_relu(x, 0.3)),
        "elu 0.7": lambda x: torch.square(F.elu(x, 0.7)),
    })


def binaries():
    return {
        "add": binary(torch.add),
        "sub": binary(torch.sub),
        "mul": binary(torch.mul),
        "div": binary(torch.div),
        "pow": binary(torch.pow),
        "pow 2.5": unary(lambda x: x**2.5),
        "pow -3": unary(lambda x: x**-3),
        "pow 3 at 0": unary(lambda x: x**3),
        "minimum": binary(torch.minimum),
        "maximum": binary(torch.maximum),
        "minimum of a number": unary(lambda x: torch.square(torch.minimum(x, torch.full_like(x, 0.7)))),
    }


def comparisons():
    mask = d([[1, 0, 1], [0, 0, -2]]) != 0
    table = {
        "where": (
            lambda a, b: torch.square(torch.where(mask, a, b)),
            (r(2, 3), r(3)),
            (d([[1, nan, inf]]), d([[nan], [2]])),
        ),
        "where of a condition": (
            lambda c, a, b: torch.exp(torch.where(c != 0, a, b)),
            (d([[1], [0]]), r(0), r(2, 1)), (r(0, 3), r(1), r(1, 3)), (d([1]), r(1), r(1)),
            (d([0, -0.0, nan, inf, 1]), d([1, nan, 2, -inf, nan]), d([nan, inf, 3, nan, 4])),
            (s([0, 2]), r(2, 2, dtype=SINGLE), r(1, dtype=SINGLE)),
        ),
    }
    for name, f in (("greater", torch.gt), ("greater_equal", torch.ge), ("less", torch.lt),
                    ("less_equal", torch.le), ("equal", torch.eq), ("not_equal", torch.ne)):
        compare = lambda a, b, f=f: f(a.detach(), b.detach())
        table[name] = (
            compare,
            (d([0.0, -0.0, 1, nan, inf, -inf, 2]), d([[0.0], [nan], [inf], [1]])),
            (r(0, 2), r(1)),
            (s([1, 2, 3]), s([3, 2, 1])),
        )
    x = d([[3, 1, 4, 1, 5], [9, 2, 6, nan, 3], [-inf, -inf, -inf, 0, inf]])
    table["argmax"] = (lambda v: torch.argmax(v.detach(), -1), x, r(2, 1), r(3, 4, dtype=SINGLE), r(0, 3))
    table["argmax of axis 0"] = (lambda v: torch.argmax(v.detach(), 0), x, r(2, 1, 3), r(1, 0))
    table["topk"] = (lambda v: torch.square(torch.topk(v, 3).values), r(2, 5), x, r(0, 4), r(1, 3),
                     s([[1, -inf, nan, inf]]))
    table["topk of axis 0"] = (lambda v: torch.square(torch.topk(v, 2, 0).values), r(5, 2), r(2, 2), r(2, 0),
                               r(3, 1))
    table["topk indices"] = (lambda v: torch.topk(v.detach(), 3).indices, r(2, 5), r(3, dtype=SINGLE))
    table["one_hot"] = (lambda v: F.one_hot(v.detach().long(), 4), d([[0, 3], [2, 2]]), r(0, 2), d([[1]]),
                        s([3, 0]))
    return table


def reductions():
    with_zeros = d([[0, 2, -1, 0.5], [1.5, -0.5, 2, 3], [0, 1, 0, -2]])
    specials = d([[1, inf, 2], [-inf, 3, 0], [inf, -inf, 1], [nan, 1, inf], [-inf, -inf, -inf]])
    extremes = d([[1e300, 1e300, 0], [1e-300, 1e-300, 0], [1e300, -1e200, 1], [700, 800, -900]])
    ties = d([[1, 3, 3], [0, -0.0, 0], [2, 2, 2]])
    columns = (r(2, 3, 4), r(2, 1, 3), r(3, 4, dtype=SINGLE))
    empty = (r(2, 0, 3), r(0, 0))
    outer_empty = (r(0, 3),)
    return {
        "sum all": (lambda x: x.sum(), *columns, *empty, specials),
        "sum rows": (lambda x: x.sum(-1), *columns, *empty, specials, extremes),
        "sum kept": (lambda x: x.sum((0, -1), keepdim=True), *columns, *empty),
        "mean all": (lambda x: x.mean(), *columns, specials),
        "mean rows": (lambda x: x.mean(-1, keepdim=True), *columns, *outer_empty, specials, extremes[1:]),
        "prod all": (lambda x: x.prod(), *columns, *empty, with_zeros, specials),
        "prod rows": (lambda x: x.prod(-1), *columns, with_zeros, *outer_empty, ties),
        "max rows": (lambda x: x.amax(-1), *columns, ties, *outer_empty, specials, extremes),
        "max kept": (lambda x: x.amax((0, 1), keepdim=True), *columns, ties),
        "min rows": (lambda x: x.amin(-1), *columns, ties, *outer_empty, specials, extremes),
        "variance rows": (lambda x: x.var(-1), r(2, 3, 4), r(3, 4, dtype=SINGLE), ties, specials,
                          *outer_empty),
        "variance biased": (lambda x: x.var((0, 1), unbiased=False, keepdim=True), *columns),
        "standard_deviation rows": (lambda x: x.std(-1), r(2, 3, 4), r(3, 4, dtype=SINGLE), specials, ties,
                                    r(0, 3), r(2, 1, 3)),
        "norm rows": (lambda x: torch.linalg.vector_norm(x, dim=-1), *columns, with_zeros, *outer_empty,
                      specials, ties, extremes),
        "norm all": (torch.linalg.vector_norm, *columns),
        "logsumexp rows": (lambda x: x.logsumexp(-1), *columns, *outer_empty, extremes, specials),
        "logsumexp kept": (lambda x: x.logsumexp((0, 1), keepdim=True), *columns, r(0, 0, 2)),
        "cumsum": (lambda x: torch.square(x.cumsum(1)), r(2, 3, 2), r(2, 0), r(0, 2), specials,
                   r(3, 4, dtype=SINGLE)),
        "cumsum from the end": (lambda x: torch.square(x.flip(-1).cumsum(-1).flip(-1)), r(2, 4), r(2, 1)),
        "sum_to": (lambda x: torch.square(x.sum_to_size(3)), r(2, 3), r(4, 1, 3), r(0, 3),
                   d([[1, inf, nan], [2, -inf, 3]]), r(2, 3, dtype=SINGLE)),
        "expand": (lambda x: torch.exp(x.expand(3, 2, 4)), r(2, 1), r(), r(1, 1, 4), d([[nan], [-inf]]),
                   s([-0.0, inf, nan, 1])),
        "expand to nothing": (lambda x: torch.exp(x.expand(3, 0, 2)), r(0, 1), r(1, 2), r(1)),
    }


def linear_algebra():
    T = lambda x: x.transpose(-1, -2)
    return {
        "matmul": (
            torch.matmul, (r(2, 3), r(3, 4)), (r(2, 1, 2, 3), r(4, 3, 2)), (r(3), r(3)), (r(3), r(2, 3, 1)),
            (r(2, 2, 3), r(3)), (r(0, 3), r(3, 2)), (r(2, 0), r(0, 3)), (r(0, 1, 2, 3), r(2, 3, 1)),
            (r(1, 1), r(1, 1)), (r(2, 3, dtype=SINGLE), r(2, 3, 4, dtype=SINGLE)),
            (d([[1, inf], [nan, 0]]), d([[1, 2], [3, -inf]])),
        ),
        "matmul Tn": (lambda a, b: T(a) @ b, (r(3, 2), r(3, 4)), (r(2, 3, 1), r(3, 2))),
        "matmul nT": (lambda a, b: a @ T(b), (r(2, 3), r(4, 3)), (r(0, 2, 3), r(4, 3))),
        "matmul TT": (lambda a, b: T(a) @ T(b), (r(3, 2), r(4, 3)), (r(2, 1, 3, 2), r(2, 4, 3))),
        "dot": (lambda a, b: torch.square(torch.dot(a, b)), (r(4), r(4)), (r(0), r(0)), (r(1), r(1)),
                (d([inf, 1]), d([1, -2])), (d([1, nan]), d([0, 0])),
                (r(3, dtype=SINGLE), r(3, dtype=SINGLE))),
        "outer": (torch.outer, (r(3), r(2)), (r(0), r(2)), (r(1), r(1)), (d([inf, 0, nan]), d([1, -2])),
                  (r(2, dtype=SINGLE), r(3, dtype=SINGLE))),
        "linear": (lambda x, w: torch.tanh(F.linear(x, w)), (r(2, 2, 3), r(4, 3)), (r(0, 3), r(1, 3)),
                   (r(2, 3, dtype=SINGLE), r(4, 3, dtype=SINGLE)),
                   (r(2, 0), r(3, 0)), (r(2, 3), r(0, 3)),
                   (d([[1, inf], [nan, 0], [1, 2]]), d([[1, 2], [0, -inf]]))),
        "linear bias": (lambda x, w, b: torch.tanh(F.linear(x, w, b)), (r(2, 3), r(4, 3), r(4)),
                        (r(3), r(1, 3), r(1)),
                        (r(0, 3), r(2, 3), r(2)), (r(2, 0), r(3, 0), r(3)),
                        (d([[1, 2], [3, 4]]), d([[1, 0], [0, 1], [1, -2]]), d([nan, inf, 1]))),
    }


def over_lengths(f, fill):
    """Softmax-like f over the first LENGTHS[b] of [..., 3, S]; zeros elsewhere."""
    def g(x):
        mask = torch.arange(x.shape[-1])[None, :] >= tensor(LENGTHS)[:, None]
        rows = [x[..., b, :] if length else torch.zeros_like(x[..., b, :]) for b, length in enumerate(LENGTHS)]
        full = mask & (tensor(LENGTHS) > 0)[:, None]
        y = f(torch.stack(rows, -2).masked_fill(full, -inf), -1)
        return y.masked_fill(mask, fill)
    return g


def causal(f):
    def g(x):
        queries, keys = x.shape[-2:]
        mask = torch.arange(keys)[None, :] > torch.arange(queries)[:, None] + keys - queries
        return f(x.masked_fill(mask, -inf), -1).masked_fill(mask, 0)
    return g


def normalised():
    specials = d([[1, -inf, 2], [1000, 999, -1e300], [nan, 0, 1], [inf, 0, 1], [-0.0, 0, 1e-300]])
    inputs = (r(2, 5), r(2, 1), r(0, 3), r(2, 0), specials, d([[-inf, -inf]]), r(2, 5, dtype=SINGLE))
    garbage = d([[1, -inf, 2, nan], [nan, inf, nan, nan], [800, nan, inf, nan]])
    squares = (d([[1, nan, nan], [-inf, 2, inf], [1e300, 3, -inf]]), d([[1, 2], [nan, 3]]),
               r(2, 3, dtype=SINGLE))
    norm = lambda x, *p, eps=1e-5: F.layer_norm(x, x.shape[-1:], *p, eps=eps)
    return {
        "softmax": (lambda x: x.softmax(-1), *inputs),
        "log_softmax": (lambda x: x.log_softmax(-1), *inputs),
        "softmax lengths": (over_lengths(torch.softmax, 0), r(2, 3, 4), r(3, 4), r(0, 3, 4), garbage),
        "log_softmax lengths": (over_lengths(torch.log_softmax, 0), r(2, 3, 4), r(3, 4), r(0, 3, 4), garbage),
        "causal_softmax": (causal(torch.softmax), r(2, 3, 3), r(2, 4), r(1, 1), r(0, 2, 3), *squares),
        "causal_log_softmax": (causal(torch.log_softmax), r(3, 3), r(2, 2, 4), r(1, 1), r(0, 2, 3), *squares),
        "layer_norm": (norm, r(2, 3, 4), d([[2], [-3]]), r(0, 3), r(3, 4, dtype=SINGLE),
                       d([[2, 2, 2], [100, 100, 101], [nan, 1, 2]])),
        "layer_norm weight": (lambda x, w: norm(x, w, eps=0.1), (r(2, 5), r(5)), (r(0, 2), r(2)),
                              (d([[1, inf], [3, 2], [1, 2]]), d([1, nan]))),
        "layer_norm weight and bias": (norm, (r(2, 1, 3), r(3), r(3)), (d([[2], [-3]]), r(1), r(1)),
                                       (r(0, 2), r(2), r(2)),
                                       (d([[1, 2], [nan, 1]]), d([inf, 1]), d([1, -inf])),
                                       tuple(r(*shape, dtype=SINGLE) for shape in ((2, 3), (3,), (3,)))),
        "cosine_similarity": (
            lambda a, b: F.cosine_similarity(a, b, -1), (r(2, 3), r(2, 3)), (r(2, 1, 3), r(4, 3)),
            (r(0, 3), r(1, 3)),
            (r(2, 1), r(2, 1)), (r(2, 3, dtype=SINGLE), r(2, 3, dtype=SINGLE)), (d([[3, 4]]), d([[0, 2]])),
            (r(2, 0), r(1, 0)),
            (d([[nan, 1], [inf, 1], [1, 2], [0, -0.0], [1e300, 1e300]]), d([[1, 2], [1, 3], [-inf, 2], [1, 2], [1, 2]]))),
    }


if __name__ == "__main__":
    write_all([elementwise, activations, binaries, comparisons, reductions, linear_algebra, normalised])
