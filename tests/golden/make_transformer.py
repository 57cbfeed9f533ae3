#!/usr/bin/python3
"""Writes functions_self_attention.safetensors, multihead_*.safetensors and transformer_*.safetensors
beside this file: what PyTorch's attention computes. Run by hand; needs PyTorch (Debian:
python3-torch).

The functions are as golden_cases.py tells. Of a layer there are the inputs, the state_dict
(parameter.NAME), the outputs at valid positions, and the gradients of sum(output * projection).
"""
import math

import torch
from torch import nn

from golden_cases import DOUBLE, LENGTHS, SINGLE, d, inf, nan, r, write, zeroed as shut
from make_golden import save

def split(x, heads):
    """[T, B, H D] -> [B, H, T, D]"""
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).permute(1, 2, 0, 3)


def join(x):
    return x.permute(2, 0, 1, 3).flatten(2)


def valid(keys):
    """[B, 1, 1, S]: 1 or 0"""
    return (torch.arange(keys)[None, :] < torch.tensor(LENGTHS)[:, None])[:, None, None]


def scores(q, k):
    return (split(q, 2) @ split(shut(k), 2).transpose(-1, -2)).masked_fill(~valid(k.shape[0]), 0)


def weights(heads, causal=False):
    def f(q, k):
        queries, keys = q.shape[0], k.shape[0]
        seen = valid(keys).expand(3, heads, queries, keys)
        if causal:
            seen = seen & (torch.arange(keys) <= torch.arange(queries)[:, None] + keys - queries)
        x = split(q, heads) @ split(shut(k), heads).transpose(-1, -2) / math.sqrt(q.shape[2] / heads)
        x = x.masked_fill(~seen & seen.any(-1, True), -math.inf)
        return x.softmax(-1).masked_fill(~seen, 0)
    return f


def attention(q, k, v):
    w = weights(2, True)(q, k)
    return torch.cat([join(w @ split(shut(v), 2)).reshape(-1), w.reshape(-1)])


def plain(q, k):
    """One head, no padding."""
    return (q.permute(1, 0, 2) @ k.permute(1, 2, 0))[:, None]


def plain_weights(q, k):
    return (plain(q, k) / math.sqrt(q.shape[2])).softmax(-1)


def self_attention():
    garbage = r(4, 3, 2)
    garbage[0, 0, 0], garbage[3, 0], garbage[:, 1], garbage[2, 2] = inf, nan, inf, nan
    query = d([[[1, 2], [nan, 1], [inf, 3]]])
    fulls = ((r(2, 0, 3), r(3, 0, 3)), (r(0, 2, 3), r(3, 2, 3)), (r(2, 2, 3), r(0, 2, 3)),
             (r(1, 1, 1), r(1, 1, 1)),
             (r(2, 2, 3, dtype=SINGLE), r(3, 2, 3, dtype=SINGLE)))
    return {
        "head_scores": (scores, (r(2, 3, 4), r(4, 3, 4)),
                        (r(3, 3, 2, dtype=SINGLE), r(4, 3, 2, dtype=SINGLE)), (r(1, 3, 2), garbage),
                        (query, garbage), (r(0, 3, 2), r(4, 3, 2))),
        "head_scores full": (plain, *fulls),
        "head_weights full": (plain_weights, *fulls),
        "scaled_dot_product_attention full": (lambda q, k, v: join(plain_weights(q, k) @ split(v, 1)),
                                              *((q, k, k.clone()) for q, k in fulls)),
        "head_sums full": (lambda w, v: join(w @ split(v, 1)), (r(0, 1, 2, 3), r(3, 0, 2)),
                           (r(2, 1, 3, 0), r(0, 2, 3)), (r(1, 1, 1, 1), r(1, 1, 1)),
                           (r(2, 1, 2, 3, dtype=SINGLE), r(3, 2, 2, dtype=SINGLE))),
        "head_spread full": (lambda w, x: join(w.transpose(-1, -2) @ split(x, 1)),
                             (r(0, 1, 2, 3), r(2, 0, 2)), (r(2, 1, 3, 0), r(3, 2, 3)),
                             (r(1, 1, 1, 1), r(1, 1, 1)),
                             (r(2, 1, 2, 3, dtype=SINGLE), r(2, 2, 2, dtype=SINGLE))),
        "head_sums": (lambda w, v: join(w.masked_fill(~valid(4), 0) @ split(shut(v), w.shape[1])),
                      (r(3, 2, 2, 4), r(4, 3, 6)), (r(3, 2, 1, 4), r(4, 3, 2)), (r(3, 1, 1, 4), garbage)),
        "head_spread": (lambda w, x: join(w.masked_fill(~valid(4), 0).transpose(-1, -2) @ split(x, w.shape[1])),
                        (r(3, 2, 2, 4), r(2, 3, 4)), (r(3, 1, 1, 4) * d([1, 1, 1, nan]), r(1, 3, 2))),
        "head_weights": (weights(2), (r(2, 3, 4), r(4, 3, 4)),
                         (r(3, 3, 2, dtype=SINGLE), r(4, 3, 2, dtype=SINGLE)), (r(2, 3, 2), garbage)),
        "head_weights causal": (weights(2, True), (r(4, 3, 4), r(4, 3, 4)), (r(1, 3, 2), r(4, 3, 2))),
        "head_weights more queries": (weights(1, True), (r(6, 3, 3), r(4, 3, 3))),
        "scaled_dot_product_attention": (attention, (r(3, 3, 4), r(4, 3, 4), r(4, 3, 6)),
                                         (r(2, 3, 2), garbage, garbage.clone())),
    }


SOURCE, TARGET = torch.tensor([5, 2, 4]), torch.tensor([1, 4, 3])


def padding(lengths, time):
    """[B, time]: where a position is padded"""
    return torch.arange(time)[None, :] >= lengths[:, None]


def future(time, dtype):
    return torch.full((time, time), -math.inf, dtype=dtype).triu(1)


def zeroed(x, lengths):
    return x.masked_fill(padding(lengths, x.shape[0]).T[..., None], 0)


def perturbed(module):
    """Norms and biases that are not ones and zeros."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return module


def with_gradients(module, inputs, outputs):
    projections = {key: torch.randn_like(value) for key, value in outputs.items()}
    sum((value * projections[key]).sum() for key, value in outputs.items()).backward()
    case = inputs | outputs
    case |= {f"projection.{key}": value for key, value in projections.items()}
    case |= {f"grad.{key}": value.grad for key, value in inputs.items()}
    for key, value in module.state_dict(keep_vars=True).items():
        case |= {f"parameter.{key}": value, f"grad.parameter.{key}": value.grad}
    return case


def multihead(dtype, kind):
    floats = lambda *shape: torch.randn(*shape, dtype=dtype, requires_grad=True)
    options = {"kdim": 6, "vdim": 5} if kind == "sizes" else {}
    module = perturbed(nn.MultiheadAttention(8, 2, dtype=dtype, **options))
    x = floats(5, 3, 8)
    if kind in ("self", "causal"):
        inputs, arguments = {"x": x}, (x, x, x)
    else:
        key, value = floats(5, 3, options.get("kdim", 8)), floats(5, 3, options.get("vdim", 8))
        inputs, arguments = {"x": x, "key": key, "value": value}, (x, key, value)
    mask = future(5, dtype) if kind == "causal" else None
    y, w = module(*arguments, key_padding_mask=padding(SOURCE, 5), attn_mask=mask,
                  average_attn_weights=False)
    if kind in ("self", "causal"):
        y, w = zeroed(y, SOURCE), w.masked_fill(padding(SOURCE, 5)[:, None, :, None], 0)
    return with_gradients(module, inputs, {"output": y, "weights": w})


def encoder(dtype, norm_first, activation):
    x = torch.randn(5, 3, 8, dtype=dtype, requires_grad=True)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation=activation,
                                       norm_first=norm_first, dtype=dtype)
    module = perturbed(nn.TransformerEncoder(layer, 2, nn.LayerNorm(8, dtype=dtype)))
    y = module(x, src_key_padding_mask=padding(SOURCE, 5))
    return with_gradients(module, {"x": x}, {"output": zeroed(y, SOURCE)})


def decoder(dtype, norm_first, activation):
    x = torch.randn(4, 3, 8, dtype=dtype, requires_grad=True)
    memory = torch.randn(5, 3, 8, dtype=dtype, requires_grad=True)
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, activation=activation,
                                       norm_first=norm_first, dtype=dtype)
    module = perturbed(nn.TransformerDecoder(layer, 2, nn.LayerNorm(8, dtype=dtype)))
    y = module(x, memory, tgt_mask=future(4, dtype), tgt_key_padding_mask=padding(TARGET, 4),
               memory_key_padding_mask=padding(SOURCE, 5))
    return with_gradients(module, {"x": x, "memory": memory}, {"output": zeroed(y, TARGET)})


def cases():
    for kind in ("self", "causal", "cross", "sizes"):
        yield f"multihead_{kind}", lambda dtype, kind=kind: multihead(dtype, kind)
    for name, make in (("encoder", encoder), ("decoder", decoder)):
        for norm_first in (False, True):
            for activation in ("relu", "gelu"):
                key = f"transformer_{name}_{'pre' if norm_first else 'post'}_{activation}"
                yield key, lambda dtype, a=(norm_first, activation), make=make: make(dtype, *a)


if __name__ == "__main__":
    torch.manual_seed(1)
    write("self_attention", self_attention())
    for name, make in cases():
        for suffix, dtype in (("f32", SINGLE), ("f64", DOUBLE)):
            torch.manual_seed(1)
            save(f"{name}_{suffix}", make(dtype))
