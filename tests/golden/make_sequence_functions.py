#!/usr/bin/python3
"""Writes functions_*.safetensors beside this file: PyTorch's values and gradients of the functions
in autograd/functions.h, losses.h, recurrent.h and attention.h that move entries, convolve over time,
measure losses and run over sequences, as golden_cases.py tells. Run by hand; needs PyTorch (Debian:
python3-torch).
"""
import torch
import torch.nn.functional as F
from torch import tensor

from golden_cases import (DOUBLE, LENGTHS, beyond, SINGLE, d, inf, nan, padded, r, s, write_all, zeroed)


def reverse(x):
    result = torch.zeros_like(x)
    for b, length in enumerate(LENGTHS):
        column = torch.cat([x[:length, b].flip(0), result[length:, b]])[:, None]
        result = torch.cat([result[:, :b], column, result[:, b + 1:]], 1)
    return torch.exp(result) * x


def slices(x):
    return x.narrow(0, 0, 2) * x.narrow(0, 1, 2) * x[2:]


def movement():
    exp = torch.exp
    odd = d([[1, nan, inf], [-inf, -0.0, 2]])
    single = odd.float()
    cube, steps = odd.reshape(1, 2, 3), torch.cat([odd, odd * nan]).reshape(4, 3, 1)
    index = tensor([[3, 3, 3], [0, 1, 2]])
    return {
        "reshape": (lambda x: exp(x.reshape(3, 2)), r(2, 3), r(6), r(1, 6, dtype=SINGLE), odd),
        "reshape -1": (lambda x: exp(x.reshape(3, -1)), r(2, 3, 2), r(3, 0)),
        "permute": (lambda x: exp(x.permute(2, 0, 1)), r(2, 3, 4), r(0, 1, 2), cube, single[None]),
        "transpose": (lambda x: exp(x.transpose(0, 2)), r(2, 3, 4), r(2, 0, 1), cube, single[None]),
        "concat": (lambda a, b: exp(torch.cat([a, b, a], 1)), (r(2, 3), r(2, 1)), (r(2, 0), r(2, 1)),
                   (r(0, 1), r(0, 2)), (odd, r(2, 1)), (single, single[:, :1])),
        "stack": (lambda a, b: exp(torch.stack([a, b], 1)), (r(2, 3), r(2, 3)), (r(0), r(0)), (r(1), r(1)),
                  (odd, r(2, 3)), (single, single)),
        "split": (lambda x: x.chunk(2, 1)[0] * exp(x.chunk(2, 1)[1]), r(2, 4), r(0, 2), r(1, 2),
                  d([[nan, inf, 1, -inf]]), s([[1, 2]])),
        "split sizes": (lambda x: x.split([1, 0, 3])[0] * exp(x.split([1, 0, 3])[2]), r(4, 2), r(4, 1)),
        "slice": (lambda x: exp(x[:, 1:-1]), r(3, 4), r(0, 3), r(1, 2), odd, single),
        "slice twice": (slices, r(4), d([nan, 1, inf, 2])),
        "select": (lambda x: exp(x.select(0, -1)), r(3, 4), r(1, 1), r(2, 0), odd, single),
        "squeeze": (lambda x: exp(x.squeeze()), r(1, 2, 1, 3), r(1, 0), r(1, 1), cube, single[None]),
        "squeeze axis": (lambda x: exp(x.squeeze(-1)), r(1, 2, 1), r(0, 1)),
        "unsqueeze": (lambda x: exp(x.unsqueeze(1)), r(2, 3), r(0), r(1), odd, single),
        "flip": (lambda x: exp(x.flip(0, -1)) * x, r(2, 3, 2), r(0, 2), r(1, 1), odd, single),
        "pad": (lambda x: exp(F.pad(x, (2, 0, 0, 0, 1, 2), value=0.5)), r(2, 1, 3), r(0, 2, 1), r(1, 1, 0),
                cube, single[None]),
        "gather": (lambda x: exp(x.gather(1, index)), r(3, 4), r(2, 5)),
        "gather of ids": (lambda x, i: exp(x.gather(1, i.long())), (r(2, 3), r(2, 0)), (r(0, 3), r(0, 2)),
                          (r(1, 1), d([[0, 0]])),
                          (odd, d([[1, 2, 1], [0, 0, 1]])), (r(2, 3), r(0, 3)), (single, s([[1], [0]]))),
        "scatter_add": (lambda x, y: exp(x.scatter_add(0, tensor([[2, 2], [2, 0]]), y[:2, :2])),
                        (r(3, 2), r(3, 3))),
        "scatter_add of ids": (lambda x, y, i: exp(x.scatter_add(0, i.long(), y[:i.shape[0], :i.shape[1]])),
                               (r(2, 3), r(2, 0), r(2, 0)), (r(2, 0), r(1, 0), r(1, 0)),
                               (r(1, 1), r(2, 1), d([[0], [0]])), (odd, -odd, d([[1, 0, 0], [1, 1, 0]])),
                               (single, single, s([[1], [1]]))),
        "unslice": (lambda x: exp(F.pad(x, (2, 1))), r(2, 2)),
        "unslice of rows": (lambda x: exp(F.pad(x, (2, 1))), r(0, 2), r(2, 0), r(1, 1), odd, single),
        "rows": (lambda x: exp(F.embedding(tensor([2, 0, 2]), x)), r(4, 3), r(3, 0), r(3, 1, dtype=SINGLE),
                 odd.T.contiguous()),
        "scatter_rows": (lambda x: exp(torch.zeros(3, 2, dtype=DOUBLE).index_add(0, tensor([1, 1, 0]), x)),
                         r(3, 2)),
        "scatter_rows of ids": (lambda x, i: exp(x.new_zeros(3, x.shape[-1]).index_add(0, i.long().flatten(), x.flatten(0, -2))),
                                (r(0, 2), r(0)), (r(2, 0, 2), r(2, 0)), (r(1, 1), d([2])), (odd, d([1, 1])),
                                (single, s([0, 2]))),
        "masked_fill": (lambda x: exp(x.masked_fill(padded(x), 1)), r(4, 3, 2), r(4, 3, 0), steps,
                        single.repeat(2, 1)[..., None]),
        "reverse": (reverse, r(4, 3, 2), r(4, 3, 0), r(4, 3, 1)),
        "reverse full": (lambda x: exp(x.flip(0)) * x, r(0, 2), r(2, 0, 1), r(1, 1), odd, single),
    }


def unfold(x, kernel, stride=1, padding=0):
    """[T, B, C] -> [T', B, kernel, C]"""
    around = x.new_zeros(padding, *x.shape[1:])
    x = torch.cat([around, x, around])
    return x.unfold(0, kernel, stride).permute(0, 1, 3, 2)


def convolve(x, w, b=None, stride=1, padding=0):
    return F.conv1d(x.permute(1, 2, 0), w, b, stride, padding).permute(2, 0, 1)


def fold(x):
    """[2, 2, 3, 2] with stride 3 -> [6, 2, 2] and the like: nothing overlaps."""
    return torch.exp(x.permute(0, 2, 1, 3).flatten(0, 1))


def convolution():
    tanh = torch.tanh
    return {
        "unfold": (lambda x: torch.exp(unfold(x, 3, padding=2)), r(4, 2, 3), r(1, 1, 1), r(2, 0, 1),
                   r(1, 2, 0), d([[[nan], [1]], [[inf], [-inf]]]), r(2, 1, 1, dtype=SINGLE)),
        "fold": (fold, r(2, 2, 3, 2)),
        "fold without overlap": (fold,
                                 r(2, 0, 3, 1), r(1, 2, 2, 0), r(1, 1, 1, 1),
                                 d([[[[nan], [1], [-inf]]], [[[inf], [2], [-0.0]]]]),
                                 r(2, 1, 2, 1, dtype=SINGLE)),
        "conv1d": (lambda x, w: tanh(convolve(x, w)), (r(5, 2, 3), r(4, 3, 3)), (r(1, 1, 1), r(1, 1, 1)),
                   (r(5, 2, 3, dtype=SINGLE), r(4, 3, 3, dtype=SINGLE)),
                   (r(5, 0, 3), r(4, 3, 3)),
                   (d([[[1]], [[nan]], [[3]], [[4]], [[inf]]]), d([[[1, -2]], [[0, 1]]]))),
        "conv1d bias": (lambda x, w, b: tanh(convolve(x, w, b, 2, 1)), (r(6, 2, 2), r(3, 2, 3), r(3)),
                        (r(1, 1, 2), r(1, 2, 3), r(1))),
        "conv1d wide stride": (lambda x, w, b: tanh(convolve(x, w, b, 3)), (r(5, 1, 1), r(1, 1, 1), r(1))),
    }


def losses():
    ids = tensor([3, 0, 1])
    uneven = tensor([[1, -100, 2], [2, -100, -100], [4, -100, -100], [-100, -100, -100]])
    entropy = lambda x, **options: F.cross_entropy(zeroed(x).reshape(-1, 5), uneven.reshape(-1), **options)
    likelihood = lambda x, **options: F.nll_loss(zeroed(x).reshape(-1, 5), uneven.reshape(-1), **options)
    weights = d([0.5, 2, 0, 1, 3])
    of_ids = ((r(0, 4), r(0)), (r(1, 1), d([0])), (r(3, 1), d([0, 0, 0])), (d([[1, -inf, 2]]), d([0])),
              (d([[1, -inf, 2]]), d([1])),
              (d([[nan, 1], [1, 2]]), d([1, 0])), (d([[inf, 1], [1, 2]]), d([1, 0])),
              (r(2, 3, dtype=SINGLE), s([2, 0])))
    pairs = ((r(0, 3), r(0, 3)), (r(1, 1), r(1, 1)), (d([inf, 1, -inf, 2]), d([1, 3, 0.5, 2])),
             (d([nan, 1]), d([0, 1])), (r(1, 3, dtype=SINGLE), r(1, 3, dtype=SINGLE)))
    chances = ((r(0, 3), r(0, 3)), (r(1, 1), d([[0.3]])), (d([inf, -inf]), d([0.25, 0.75])),
               (d([inf, -inf, inf, -inf]), d([0, 0, 1, 1])), (d([nan, 1]), d([0, 1])))
    logarithms = ((r(0, 3), r(0, 3)), (r(2, 0), r(2, 0)), (r(2, 1), d([[0.5], [1]])),
                  (d([[nan, -1]]), d([[0.5, 0.5]])), (d([[-inf, -1]]), d([[0.5, 0.5]])),
                  (d([[inf, -1]]), d([[0.5, 0.5]])))
    return {
        "cross_entropy": (lambda x: F.cross_entropy(x, ids), r(3, 4), r(3, 4) * 1000, r(3, 4, dtype=SINGLE)),
        "cross_entropy of ids": (lambda x, i: F.cross_entropy(x, i.long()), *of_ids),
        "cross_entropy of ids, sum": (lambda x, i: F.cross_entropy(x, i.long(), reduction="sum"), *of_ids),
        "cross_entropy of lengths": (lambda x: entropy(x), r(4, 3, 5), beyond(r(4, 3, 5))),
        "cross_entropy of lengths, sum": (lambda x: entropy(x, reduction="sum"), r(4, 3, 5)),
        "cross_entropy of lengths, smoothed": (lambda x: entropy(x, label_smoothing=0.2), r(4, 3, 5)),
        "cross_entropy of lengths, weighted": (lambda x: entropy(x, weight=weights, label_smoothing=0.1),
                                               r(4, 3, 5)),
        "nll": (lambda x: F.nll_loss(x.log_softmax(-1), ids), r(3, 4), r(3, 4, dtype=SINGLE)),
        "nll of ids": (lambda x, i: F.nll_loss(x, i.long()), *of_ids),
        "nll of ids, sum": (lambda x, i: F.nll_loss(x, i.long(), reduction="sum"), *of_ids[:2]),
        "nll of lengths, sum": (lambda x: likelihood(x, reduction="sum"), r(4, 3, 5), beyond(r(4, 3, 5))),
        "nll of lengths, weighted": (lambda x: likelihood(x, weight=weights), r(4, 3, 5)),
        "mse": (F.mse_loss, (r(2, 3), r(2, 3)), (r(), r()), (r(3, dtype=SINGLE), r(3, dtype=SINGLE)),
                (d([inf, 1e200]), d([1, nan])), *pairs[:3]),
        "mse sum": (lambda x, t: F.mse_loss(x, t, reduction="sum"), *pairs),
        "smooth_l1": (lambda x, t: torch.square(F.smooth_l1_loss(x, t)), (r(3, 4) * 2, r(3, 4)),
                      (d([1, 0, 3]), d([0, 0, 2])), *pairs[:1]),
        "smooth_l1 sum": (lambda x, t: F.smooth_l1_loss(x, t, reduction="sum"), *pairs),
        "smooth_l1 beta 0": (lambda x, t: torch.square(F.smooth_l1_loss(x, t, beta=0)), (r(5), r(5))),
        "bce_with_logits": (F.binary_cross_entropy_with_logits, (r(2, 3), torch.rand(2, 3, dtype=DOUBLE)),
                            (d([0, 800, -800, 800, -800]), d([0, 0, 1, 1, 0])),
                            (r(4, dtype=SINGLE), torch.rand(4)), *chances[:1]),
        "bce_with_logits sum": (lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="sum"),
                                *chances),
        "kl_div": (lambda x, t: F.kl_div(x.log_softmax(-1), t, reduction="batchmean"),
                   (r(2, 5), r(2, 5).softmax(-1)),
                   (r(3, 2, dtype=SINGLE), r(3, 2, dtype=SINGLE).softmax(-1))),
        "kl_div of log q": (lambda x, t: F.kl_div(x, t, reduction="batchmean"), *logarithms),
        "kl_div of a sure target": (lambda x: F.kl_div(x, d([[0, 1, 0], [0.5, 0.5, 0]]), reduction="batchmean"),
                                    r(2, 3), d([[-inf, -0.5, -1], [-1, -2, -inf]])),
    }


def masked_losses():
    shown, weight = ~padded(r(4, 3)), d([0.5, 2])
    pairs = (r(4, 3, 2), r(4, 3, 2)), (beyond(r(4, 3, 2)), beyond(r(4, 3, 2)))
    singles = (r(4, 3, 2, dtype=SINGLE), r(4, 3, 2, dtype=SINGLE))
    chances = torch.rand(4, 3, 2, dtype=DOUBLE)
    rows = r(4, 3, 5).softmax(-1)
    divergence = lambda q, p: F.kl_div(q[shown], p[shown], reduction="batchmean")
    return {
        "mse of lengths": (lambda x, t: F.mse_loss(x[shown], t[shown]), *pairs, singles),
        "smooth_l1 of lengths": (lambda x, t: F.smooth_l1_loss(x[shown], t[shown], beta=0.5), *pairs, singles),
        "bce_with_logits of lengths": (
            lambda x, t: F.binary_cross_entropy_with_logits(x[shown], t[shown], pos_weight=weight),
            (r(4, 3, 2), chances), (beyond(r(4, 3, 2)), beyond(chances))),
        "kl_div of lengths": (divergence, (r(4, 3, 5).log_softmax(-1), rows),
                              (beyond(r(4, 3, 5).log_softmax(-1)), beyond(rows))),
    }


def gates(i, h, state):
    (ir, iz, i_n), (hr, hz, hn) = i.chunk(3, -1), h.chunk(3, -1)
    z = torch.sigmoid(iz + hz)
    return (1 - z) * torch.tanh(i_n + torch.sigmoid(ir + hr) * hn) + z * state


def gru(steps):
    def g(x, state, weight, bias):
        x, outputs = zeroed(x), [None] * 4
        for t in steps:
            keep = (t >= tensor(LENGTHS))[:, None]
            state = torch.where(keep, state, gates(x[t], state @ weight.T + bias, state))
            outputs[t] = state
        return torch.stack(outputs)
    return g


def layer(name, x, state, *rest):
    """rnn and gru forwards, lstm backwards, over sequences without padding."""
    cell = {"gru": lambda x, y, h: (gates(x, y, h),), "rnn": lambda x, y, h: (torch.tanh(x + y),),
            "lstm": lstm_step}[name]
    *state, weight, bias = state, *rest
    outputs = []
    for x_t in x.flip(0) if name == "lstm" else x:
        state = cell(x_t, state[0] @ weight.T + bias, *state)
        outputs.append(state[0])
    return torch.stack(outputs[::-1] if name == "lstm" else outputs)


def lstm_step(x, y, h, c):
    i, f, g, o = (x + y).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def layers(blocks):
    """Without sentences, of one step and unit, and with one gate that is NaN and two infinite."""
    states = 2 if blocks == 4 else 1
    sizes = lambda t, b, h: [(t, b, blocks * h)] + [(b, h)] * states + [(blocks * h, h), (blocks * h,)]
    special = [r(*shape) for shape in sizes(2, 3, 2)]
    special[0][0, 0, 0], special[0][0, 1, 0], special[0][1, 2, -1] = nan, inf, -inf
    return (tuple(r(*shape) for shape in sizes(2, 0, 2)), tuple(r(*shape) for shape in sizes(1, 1, 1)),
            tuple(special), tuple(r(*shape, dtype=SINGLE) for shape in sizes(2, 1, 2)))


def recurrent():
    scores = lambda q, k, v: (torch.tanh(q + zeroed(k)) @ v).masked_fill(padded(k.sum(-1)), 0).T
    dots = lambda q, k: (q * zeroed(k)).sum(-1).masked_fill(padded(k.sum(-1)), 0).T
    shut = lambda w: zeroed(w.T)
    garbage = r(4, 3, 2)
    garbage[0, 0, 0], garbage[3, 0], garbage[:, 1], garbage[2, 2] = inf, nan, inf, nan
    row = d([[1, nan], [inf, 2], [0, -1]])
    cell = (r(4, 3, 6), r(3, 2), r(6, 2), r(6))
    return {
        "gru_gates": (gates, (r(3, 6), r(3, 6), r(3, 2)), (r(1, 3), r(1, 3), r(1, 1)),
                      (r(0, 3), r(0, 3), r(0, 1)),
                      tuple(r(2, n, dtype=SINGLE) for n in (6, 6, 2)),
                      (d([[nan, 1, 2], [inf, 1, 2], [1, -inf, 3], [1, 2, inf]]), r(4, 3), r(4, 1))),
        "rnn full": (lambda *x: layer("rnn", *x), *layers(1)),
        "lstm full": (lambda *x: layer("lstm", *x), *layers(4)),
        "gru full": (lambda *x: layer("gru", *x), *layers(3)),
        "gru forward": (gru(range(4)), cell, (beyond(cell[0]), *cell[1:])),
        "gru backward": (gru(range(3, -1, -1)), cell),
        "additive_score": (scores, (r(3, 5), r(4, 3, 5), r(5)), (r(3, 1), r(4, 3, 1), r(1)),
                           (r(3, 2), garbage, r(2)), (row, garbage, r(2))),
        "additive_score full": (lambda q, k, v: (torch.tanh(q + k) @ v).T, (r(0, 2), r(3, 0, 2), r(2)),
                                (r(2, 3), r(0, 2, 3), r(3)),
                                (r(1, 1), r(1, 1, 1), r(1)),
                                tuple(r(*n, dtype=SINGLE) for n in ((2, 3), (2, 2, 3), (3,)))),
        "dot_score": (dots, (r(3, 5), r(4, 3, 5)), (r(3, 1), r(4, 3, 1)), (r(3, 0), r(4, 3, 0)),
                      (r(3, 2), garbage), (row, garbage)),
        "dot_score full": (lambda q, k: (q * k).sum(-1).T, (r(0, 2), r(3, 0, 2)), (r(2, 3), r(0, 2, 3)),
                           (r(2, 3, dtype=SINGLE), r(2, 2, 3, dtype=SINGLE))),
        "weighted_sum": (lambda w, x: (shut(w)[..., None] * zeroed(x)).sum(0), (r(3, 4), r(4, 3, 2)),
                         (r(3, 4), r(4, 3, 0)),
                         (r(3, 4), r(4, 3, 1)), (r(3, 4), garbage),
                         (garbage[..., 0].T.contiguous(), r(4, 3, 2))),
        "weighted_sum full": (lambda w, x: (w.T[..., None] * x).sum(0), (r(0, 4), r(4, 0, 2)),
                              (r(2, 0), r(0, 2, 3)), (r(2, 2, dtype=SINGLE), r(2, 2, 3, dtype=SINGLE))),
        "spread": (lambda w, x: shut(w)[..., None] * zeroed(x.expand(4, *x.shape)), (r(3, 4), r(3, 2)),
                   (r(3, 4), r(3, 0)), (r(3, 4), r(3, 1)),
                   (garbage[..., 0].T.contiguous(), r(3, 2)),
                   (r(3, 4), d([[1, nan], [inf, nan], [-inf, 2]]))),
        "spread full": (lambda w, x: w.T[..., None] * x, (r(0, 4), r(0, 2)), (r(2, 0), r(2, 3)),
                        (r(2, 2, dtype=SINGLE), r(2, 3, dtype=SINGLE))),
    }


if __name__ == "__main__":
    write_all([movement, convolution, losses, masked_losses, recurrent])
