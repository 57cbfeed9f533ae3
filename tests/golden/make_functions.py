#!/usr/bin/python3
"""Writes functions_*.safetensors beside this file: PyTorch's values and gradients of the functions
in autograd/functions.h. Run by hand; needs PyTorch (Debian: python3-torch).

"softplus/0/output" is the value of the callable "softplus" (a row of tests/golden_rows.cpp or
tests/function_rows_*.cpp, which computes the same) for the tensors "softplus/0/input0" and so on; a
differentiable one also has a "projection" and "grad0", the gradients of
sum(output * projection).
"""
import math
import pathlib
import re

import torch
import torch.nn.functional as F
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
    mask = d([[1, 0, 1], [0, 0, -2]]) != 0
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
        "where": (
            lambda a, b: torch.square(torch.where(mask, a, b)),
            (r(2, 3), r(3)),
            (d([[1, nan, inf]]), d([[nan], [2]])),
        ),
    }


def comparisons():
    table = {}
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
    table["argmax"] = (lambda v: torch.argmax(v.detach(), -1), x, r(2, 1), r(3, 4, dtype=SINGLE))
    table["argmax of axis 0"] = (lambda v: torch.argmax(v.detach(), 0), x, r(2, 1, 3))
    table["topk"] = (lambda v: torch.square(torch.topk(v, 3).values), r(2, 5), x, r(0, 4))
    table["topk of axis 0"] = (lambda v: torch.square(torch.topk(v, 2, 0).values), r(5, 2), r(2, 2))
    table["topk indices"] = (lambda v: torch.topk(v.detach(), 3).indices, r(2, 5), r(3, dtype=SINGLE))
    table["one_hot"] = (lambda v: F.one_hot(v.detach().long(), 4), d([[0, 3], [2, 2]]), r(0, 2))
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
        "variance rows": (lambda x: x.var(-1), r(2, 3, 4), r(3, 4, dtype=SINGLE), ties, specials, *outer_empty),
        "variance biased": (lambda x: x.var((0, 1), unbiased=False, keepdim=True), *columns),
        "standard_deviation rows": (lambda x: x.std(-1), r(2, 3, 4), r(3, 4, dtype=SINGLE), specials, ties),
        "norm rows": (lambda x: torch.linalg.vector_norm(x, dim=-1), *columns, with_zeros, *outer_empty, specials, ties, extremes),
        "norm all": (torch.linalg.vector_norm, *columns),
        "logsumexp rows": (lambda x: x.logsumexp(-1), *columns, *outer_empty, extremes, specials),
        "logsumexp kept": (lambda x: x.logsumexp((0, 1), keepdim=True), *columns, r(0, 0, 2)),
        "cumsum": (lambda x: torch.square(x.cumsum(1)), r(2, 3, 2), r(2, 0), r(0, 2), specials, r(3, 4, dtype=SINGLE)),
        "cumsum from the end": (lambda x: torch.square(x.flip(-1).cumsum(-1).flip(-1)), r(2, 4), r(2, 1)),
        "sum_to": (lambda x: torch.square(x.sum_to_size(3)), r(2, 3), r(4, 1, 3), r(0, 3)),
        "expand": (lambda x: torch.exp(x.expand(3, 2, 4)), r(2, 1), r(), r(1, 1, 4)),
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
        "dot": (lambda a, b: torch.square(torch.dot(a, b)), (r(4), r(4)), (r(0), r(0)), (r(1), r(1))),
        "outer": (torch.outer, (r(3), r(2)), (r(0), r(2)), (r(1), r(1)), (d([inf, 0, nan]), d([1, -2]))),
        "linear": (lambda x, w: torch.tanh(F.linear(x, w)), (r(2, 2, 3), r(4, 3)), (r(0, 3), r(1, 3)), (r(2, 3, dtype=SINGLE), r(4, 3, dtype=SINGLE))),
        "linear bias": (lambda x, w, b: torch.tanh(F.linear(x, w, b)), (r(2, 3), r(4, 3), r(4)), (r(3), r(1, 3), r(1))),
    }


LENGTHS = [3, 0, 1]


def padded(x):
    """[T, B] or, broadcast, [T, B, 1...]: where a position is beyond its length."""
    mask = torch.arange(x.shape[0])[:, None] >= tensor(LENGTHS)[None, :]
    return mask.reshape(x.shape[0], 3, *[1] * (x.dim() - 2))


def reverse(x):
    result = torch.zeros_like(x)
    for b, length in enumerate(LENGTHS):
        result = torch.cat([result[:, :b], torch.cat([x[:length, b].flip(0), result[length:, b]])[:, None], result[:, b + 1:]], 1)
    return torch.exp(result) * x


def slices(x):
    return x.narrow(0, 0, 2) * x.narrow(0, 1, 2) * x[2:]


def movement():
    exp = torch.exp
    index = tensor([[3, 3, 3], [0, 1, 2]])
    return {
        "reshape": (lambda x: exp(x.reshape(3, 2)), r(2, 3), r(6), r(1, 6, dtype=SINGLE)),
        "reshape -1": (lambda x: exp(x.reshape(3, -1)), r(2, 3, 2), r(3, 0)),
        "permute": (lambda x: exp(x.permute(2, 0, 1)), r(2, 3, 4), r(0, 1, 2)),
        "transpose": (lambda x: exp(x.transpose(0, 2)), r(2, 3, 4), r(2, 0, 1)),
        "concat": (lambda a, b: exp(torch.cat([a, b, a], 1)), (r(2, 3), r(2, 1)), (r(2, 0), r(2, 1)), (r(0, 1), r(0, 2))),
        "stack": (lambda a, b: exp(torch.stack([a, b], 1)), (r(2, 3), r(2, 3)), (r(0), r(0))),
        "split": (lambda x: x.chunk(2, 1)[0] * exp(x.chunk(2, 1)[1]), r(2, 4), r(0, 2)),
        "split sizes": (lambda x: x.split([1, 0, 3])[0] * exp(x.split([1, 0, 3])[2]), r(4, 2), r(4, 1)),
        "slice": (lambda x: exp(x[:, 1:-1]), r(3, 4), r(0, 3), r(1, 2)),
        "slice twice": (slices, r(4)),
        "select": (lambda x: exp(x.select(0, -1)), r(3, 4), r(1, 1), r(2, 0)),
        "squeeze": (lambda x: exp(x.squeeze()), r(1, 2, 1, 3), r(1, 0), r(1, 1)),
        "squeeze axis": (lambda x: exp(x.squeeze(-1)), r(1, 2, 1), r(0, 1)),
        "unsqueeze": (lambda x: exp(x.unsqueeze(1)), r(2, 3), r(0)),
        "flip": (lambda x: exp(x.flip(0, -1)) * x, r(2, 3, 2), r(0, 2), r(1, 1)),
        "pad": (lambda x: exp(F.pad(x, (2, 0, 0, 0, 1, 2), value=0.5)), r(2, 1, 3), r(0, 2, 1), r(1, 1, 0)),
        "gather": (lambda x: exp(x.gather(1, index)), r(3, 4), r(2, 5)),
        "scatter_add": (lambda x, y: exp(x.scatter_add(0, tensor([[2, 2], [2, 0]]), y[:2, :2])), (r(3, 2), r(3, 3))),
        "unslice": (lambda x: exp(F.pad(x, (2, 1))), r(2, 2)),
        "rows": (lambda x: exp(F.embedding(tensor([2, 0, 2]), x)), r(4, 3), r(3, 0), r(3, 1, dtype=SINGLE)),
        "scatter_rows": (lambda x: exp(torch.zeros(3, 2, dtype=DOUBLE).index_add(0, tensor([1, 1, 0]), x)), r(3, 2)),
        "masked_fill": (lambda x: exp(x.masked_fill(padded(x), 1)), r(4, 3, 2), r(4, 3, 0)),
        "reverse": (reverse, r(4, 3, 2)),
    }


def unfold(x, kernel, stride=1, padding=0):
    """[T, B, C] -> [T', B, kernel, C]"""
    x = F.pad(x, (0, 0, 0, 0, padding, padding))
    return x.unfold(0, kernel, stride).permute(0, 1, 3, 2)


def convolve(x, w, b=None, stride=1, padding=0):
    return F.conv1d(x.permute(1, 2, 0), w, b, stride, padding).permute(2, 0, 1)


def fold(x):
    """[2, 2, 3, 2] with stride 3 -> [6, 2, 2]: nothing overlaps."""
    return torch.exp(x.permute(0, 2, 1, 3).reshape(6, 2, 2))


def convolution():
    tanh = torch.tanh
    return {
        "unfold": (lambda x: torch.exp(unfold(x, 3, padding=2)), r(4, 2, 3), r(1, 1, 1)),
        "fold": (fold, r(2, 2, 3, 2)),
        "conv1d": (lambda x, w: tanh(convolve(x, w)), (r(5, 2, 3), r(4, 3, 3)), (r(1, 1, 1), r(1, 1, 1)),
                   (r(5, 2, 3, dtype=SINGLE), r(4, 3, 3, dtype=SINGLE))),
        "conv1d bias": (lambda x, w, b: tanh(convolve(x, w, b, 2, 1)), (r(6, 2, 2), r(3, 2, 3), r(3)), (r(1, 1, 2), r(1, 2, 3), r(1))),
        "conv1d wide stride": (lambda x, w, b: tanh(convolve(x, w, b, 3)), (r(5, 1, 1), r(1, 1, 1), r(1))),
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
    norm = lambda x, *p, eps=1e-5: F.layer_norm(x, x.shape[-1:], *p, eps=eps)
    return {
        "softmax": (lambda x: x.softmax(-1), *inputs),
        "log_softmax": (lambda x: x.log_softmax(-1), *inputs),
        "softmax lengths": (over_lengths(torch.softmax, 0), r(2, 3, 4), r(3, 4)),
        "log_softmax lengths": (over_lengths(torch.log_softmax, 0), r(2, 3, 4), r(3, 4)),
        "causal_softmax": (causal(torch.softmax), r(2, 3, 3), r(2, 4), r(1, 1), r(0, 2, 3)),
        "causal_log_softmax": (causal(torch.log_softmax), r(3, 3), r(2, 2, 4)),
        "layer_norm": (norm, r(2, 3, 4), d([[2], [-3]]), r(0, 3), r(3, 4, dtype=SINGLE), d([[2, 2, 2], [100, 100, 101], [nan, 1, 2]])),
        "layer_norm weight": (lambda x, w: norm(x, w, eps=0.1), (r(2, 5), r(5)), (r(0, 2), r(2))),
        "layer_norm weight and bias": (norm, (r(2, 1, 3), r(3), r(3)), (d([[2], [-3]]), r(1), r(1))),
        "cosine_similarity": (
            lambda a, b: F.cosine_similarity(a, b, -1), (r(2, 3), r(2, 3)), (r(2, 1, 3), r(4, 3)), (r(0, 3), r(1, 3)),
            (r(2, 1), r(2, 1)), (r(2, 3, dtype=SINGLE), r(2, 3, dtype=SINGLE)), (d([[3, 4]]), d([[0, 2]]))),
    }


def losses():
    ids = tensor([3, 0, 1])
    uneven = tensor([[1, -100, 2], [2, -100, -100], [4, -100, -100], [-100, -100, -100]])
    entropy = lambda x, **options: F.cross_entropy(x.reshape(-1, 5), uneven.reshape(-1), **options)
    likelihood = lambda x, **options: F.nll_loss(x.reshape(-1, 5), uneven.reshape(-1), **options)
    weights = d([0.5, 2, 0, 1, 3])
    return {
        "cross_entropy": (lambda x: F.cross_entropy(x, ids), r(3, 4), r(3, 4) * 1000, r(3, 4, dtype=SINGLE)),
        "cross_entropy of lengths": (lambda x: entropy(x), r(4, 3, 5)),
        "cross_entropy of lengths, sum": (lambda x: entropy(x, reduction="sum"), r(4, 3, 5)),
        "cross_entropy of lengths, smoothed": (lambda x: entropy(x, label_smoothing=0.2), r(4, 3, 5)),
        "cross_entropy of lengths, weighted": (lambda x: entropy(x, weight=weights, label_smoothing=0.1), r(4, 3, 5)),
        "nll": (lambda x: F.nll_loss(x.log_softmax(-1), ids), r(3, 4), r(3, 4, dtype=SINGLE)),
        "nll of lengths, sum": (lambda x: likelihood(x, reduction="sum"), r(4, 3, 5)),
        "nll of lengths, weighted": (lambda x: likelihood(x, weight=weights), r(4, 3, 5)),
        "mse": (F.mse_loss, (r(2, 3), r(2, 3)), (r(), r()), (r(3, dtype=SINGLE), r(3, dtype=SINGLE)), (d([inf, 1e200]), d([1, nan]))),
        "smooth_l1": (lambda x, t: torch.square(F.smooth_l1_loss(x, t)), (r(3, 4) * 2, r(3, 4)), (d([1, 0, 3]), d([0, 0, 2]))),
        "smooth_l1 beta 0": (lambda x, t: torch.square(F.smooth_l1_loss(x, t, beta=0)), (r(5), r(5))),
        "bce_with_logits": (F.binary_cross_entropy_with_logits, (r(2, 3), torch.rand(2, 3, dtype=DOUBLE)),
                            (d([0, 800, -800, 800, -800]), d([0, 0, 1, 1, 0])),
                            (r(4, dtype=SINGLE), torch.rand(4))),
        "kl_div": (lambda x, t: F.kl_div(x.log_softmax(-1), t, reduction="batchmean"),
                   (r(2, 5), r(2, 5).softmax(-1)), (r(3, 2, dtype=SINGLE), r(3, 2, dtype=SINGLE).softmax(-1))),
        "kl_div of a sure target": (lambda x: F.kl_div(x, d([[0, 1, 0], [0.5, 0.5, 0]]), reduction="batchmean"), r(2, 3), d([[-inf, -0.5, -1], [-1, -2, -inf]])),
    }


def gates(i, h, state):
    (ir, iz, i_n), (hr, hz, hn) = i.chunk(3, -1), h.chunk(3, -1)
    z = torch.sigmoid(iz + hz)
    return (1 - z) * torch.tanh(i_n + torch.sigmoid(ir + hr) * hn) + z * state


def gru(steps):
    def g(x, state, weight, bias):
        outputs = [None] * 4
        for t in steps:
            keep = (t >= tensor(LENGTHS))[:, None]
            state = torch.where(keep, state, gates(x[t], state @ weight.T + bias, state))
            outputs[t] = state
        return torch.stack(outputs)
    return g


def recurrent():
    scores = lambda q, k, v: (torch.tanh(q + k) @ v).masked_fill(padded(k[..., 0]), 0).T
    zeroed = lambda w: w.T.masked_fill(padded(w.T), 0)
    cell = (r(4, 3, 6), r(3, 2), r(6, 2), r(6))
    return {
        "gru_gates": (gates, (r(3, 6), r(3, 6), r(3, 2)), (r(1, 3), r(1, 3), r(1, 1)), (r(0, 3), r(0, 3), r(0, 1)),
                      tuple(r(2, n, dtype=SINGLE) for n in (6, 6, 2))),
        "gru forward": (gru(range(4)), cell),
        "gru backward": (gru(range(3, -1, -1)), cell),
        "additive_score": (scores, (r(3, 5), r(4, 3, 5), r(5)), (r(3, 1), r(4, 3, 1), r(1))),
        "dot_score": (lambda q, k: (q * k).sum(-1).masked_fill(padded(k[..., 0]), 0).T, (r(3, 5), r(4, 3, 5))),
        "weighted_sum": (lambda w, x: (zeroed(w)[..., None] * x).sum(0), (r(3, 4), r(4, 3, 2))),
        "spread": (lambda w, x: zeroed(w)[..., None] * x, (r(3, 4), r(3, 2))),
    }


FAMILIES = [elementwise, activations, binaries, comparisons, reductions, linear_algebra, movement,
            convolution, normalised, losses, recurrent]

if __name__ == "__main__":
    for family in FAMILIES:
        torch.manual_seed(1)
        write(family.__name__, family())
