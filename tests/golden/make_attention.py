#!/usr/bin/python3
"""Writes functions_attention.safetensors (read as golden_cases.py tells) and
attentions_f64.safetensors beside this file: one step of every score and of every alignment that is
no matter of chance, with gradients. Run by hand; needs PyTorch (Debian: python3-torch).

The formulas are the papers', sentence by sentence, without padding.
"""
import torch
import torch.nn.functional as F
from torch import tensor

from golden_cases import DOUBLE, LENGTHS, SINGLE, d, inf, nan, r, write
from make_golden import save

TIME, BATCH, SIZE, HIDDEN, FILTERS, WIDTH, WINDOW, STEP = 5, 4, 4, 6, 2, 3, 2, 2


def support(excess, x):
    """Where x is above the τ of Σ excess(x - τ) = 1, found by bisection."""
    low, high = x.max() - 2, x.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(x - middle).sum() > 1 else (low, middle)
    return x > high


def sparsemax(x):
    inside = x[support(lambda z: z.clamp(min=0), x.detach())]
    return (x - (inside.sum() - 1) / len(inside)).clamp(min=0)


def entmax(x):
    z = x / 2
    inside = z[support(lambda z: z.clamp(min=0)**2, z.detach())]
    spread = ((inside - inside.mean())**2).sum()
    tau = inside.mean() - torch.sqrt((1 - spread) / len(inside))
    return (z - tau).clamp(min=0)**2


def monotonic(logits, previous):
    weights, arriving = [], 0
    # σ(-x) is 1 - σ(x) without cancellation.
    for p, go_on, before in zip(torch.sigmoid(logits), torch.sigmoid(-logits), previous):
        reach = arriving + before
        weights.append(p * reach)
        arriving = go_on * reach
    return torch.stack(weights)


def by_sentence(f, lengths):
    """f of the valid entries of each row of its arguments [..., B, S], zeros behind them."""
    def g(*xs):
        time = xs[0].shape[-1]
        result = []
        for xs_row in zip(*(x.reshape(-1, time) for x in xs)):
            n = int(lengths[len(result) % len(lengths)])
            y = f(*(x[:n] for x in xs_row)) if n else xs[0].new_zeros(0)
            result.append(F.pad(y, (0, time - n)))
        return torch.stack(result).reshape(xs[0].shape)
    return g


def attention():
    rows = lambda f: lambda x: torch.stack([f(row) for row in x]) if len(x) else x * 1
    uneven = LENGTHS
    some = d([[1, -inf, 0.7], [1000, 999.5, -1e300], [0, 0.9999, 2], [2, 2, 2]])
    inputs = (r(4, 5) / 2, r(2, 1), some, r(3, 7) * 20, r(2, 5, dtype=SINGLE), r(0, 3))
    previous = torch.rand(3, 4, dtype=DOUBLE)
    return {
        "sparsemax": (rows(sparsemax), *inputs),
        "sparsemax lengths": (by_sentence(sparsemax, uneven), r(2, 3, 4) / 2, r(3, 4)),
        "entmax": (rows(entmax), *inputs),
        "entmax lengths": (by_sentence(entmax, uneven), r(2, 3, 4), r(3, 4)),
        "monotonic_alignment": (by_sentence(monotonic, uneven), (r(3, 4), previous),
                                # Farther out PyTorch's derivative of σ, y (1 - y), cancels.
                                (r(3, 4) * 2, previous.clone()),
                                (r(3, 4, dtype=SINGLE), torch.rand(3, 4)),
                                (d([[1, inf, nan, nan], [nan, inf, 1, 2], [-inf, nan, nan, nan]]), previous.clone())),
        "monotonic_alignment full": (lambda x, before: monotonic(x.T, before.T).T if x.numel() else x * before,
                                     (r(0, 3), r(0, 3)), (r(2, 0), r(2, 0)), (r(1, 1), r(1, 1)),
                                     (d([[1, -inf, 2]]), r(1, 3)), (d([[1, nan, 2]]), r(1, 3))),
        "straight_through": (lambda x: x + 3, r(2, 3), r(0, 2), r(1, 1), d([inf, nan, -0.0]),
                             r(3, dtype=SINGLE)),
    }


def cosine(q, h):
    return F.cosine_similarity(q[None], h, -1)


def conv(x, filters):
    """[n] -> [n, C]"""
    return F.conv1d(x[None, None], filters, padding=WIDTH // 2)[0].T


# (parameters' shapes, score of q [Q] and h [n, D] with the weights before [n])
SCORES = {
    "content": ({"log_sharpening": ()},
                lambda p, q, h, before: torch.exp(p["log_sharpening"]) * cosine(q, h)),
    "additive": ({"query_weight": (HIDDEN, SIZE), "key_weight": (HIDDEN, SIZE), "v": (HIDDEN,)},
                 lambda p, q, h, before: torch.tanh(q @ p["query_weight"].T + h @ p["key_weight"].T) @ p["v"]),
    "general": ({"weight": (SIZE, SIZE)},
                lambda p, q, h, before: torch.stack([q @ p["weight"] @ k for k in h])),
    "dot": ({}, lambda p, q, h, before: h @ q),
    "scaled-dot": ({}, lambda p, q, h, before: h @ q / SIZE**0.5),
    "location": ({"query_weight": (HIDDEN, SIZE), "key_weight": (HIDDEN, SIZE), "location_weight": (HIDDEN, FILTERS),
                  "filters": (FILTERS, 1, WIDTH), "bias": (HIDDEN,), "v": (HIDDEN,)},
                 lambda p, q, h, before: torch.tanh(
                     q @ p["query_weight"].T + h @ p["key_weight"].T + conv(before, p["filters"]) @ p["location_weight"].T
                     + p["bias"]) @ p["v"]),
}


def windowed(score, centre):
    distance = torch.arange(len(score)) - centre
    return torch.softmax(score.masked_fill(distance.abs() > WINDOW, -inf), 0), distance


def local_m(p, score, q, before):
    return windowed(score, min(STEP, len(score) - 1))[0]


def local_p(p, score, q, before):
    centre = len(score) * torch.sigmoid(p["position_v"] @ torch.tanh(p["position_weight"] @ q))
    weights, distance = windowed(score, centre)
    return weights * torch.exp(-distance**2 / (2 * (WINDOW / 2)**2))


# (parameters' shapes, weights)
ALIGNMENTS = {
    "soft": ({}, lambda p, score, q, before: torch.softmax(score, 0)),
    "sparsemax": ({}, lambda p, score, q, before: sparsemax(score)),
    "entmax": ({}, lambda p, score, q, before: entmax(score)),
    "local-m": ({}, local_m),
    "local-p": ({"position_weight": (HIDDEN, SIZE), "position_v": (HIDDEN,)}, local_p),
    "monotonic": ({"offset": ()}, lambda p, score, q, before: monotonic(score + p["offset"], before)),
    "hard-marginal": ({}, lambda p, score, q, before: torch.softmax(score, 0)),
}


def attend(score, alignment, shared):
    """Everything of one case, its gradients by a random projection of context and weights."""
    (score_shapes, score_of), (shapes, weights_of) = SCORES[score], ALIGNMENTS[alignment]
    parameters = {name: r(*shape).requires_grad_() for name, shape in (score_shapes | shapes).items()}
    leaves = {name: shared[name].clone().requires_grad_() for name in ("query", "annotations", "before")}
    weights, contexts = [], []
    for b, n in enumerate(shared["lengths"].int().tolist()):
        q, h, before = leaves["query"][b], leaves["annotations"][:n, b], leaves["before"][b, :n]
        row = weights_of(parameters, score_of(parameters, q, h, before), q, before) if n else r(0)
        weights.append(F.pad(row, (0, TIME - n)))
        contexts.append(row @ h)
    case = {"weights": torch.stack(weights), "context": torch.stack(contexts)}
    case |= {f"projection.{key}": torch.randn_like(value) for key, value in case.items()}
    loss = sum((case[key] * case[f"projection.{key}"]).sum() for key in ("weights", "context"))
    named = leaves | {f"parameter.{name}": value for name, value in parameters.items()}
    gradients = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
    for (name, value), gradient in zip(named.items(), gradients):
        case[f"grad.{name}"] = torch.zeros_like(value) if gradient is None else gradient
    return case | {f"parameter.{name}": value for name, value in parameters.items()}


def attentions():
    lengths = tensor([5, 0, 3, 1])
    before = by_sentence(lambda x: torch.softmax(x, 0), lengths)(r(BATCH, TIME))
    tensors = {"query": r(BATCH, SIZE), "annotations": r(TIME, BATCH, SIZE), "before": before,
               "step": torch.full((BATCH,), STEP, dtype=DOUBLE), "lengths": lengths.to(DOUBLE)}
    shared = dict(tensors)
    for score, alignment in [(s, "soft") for s in SCORES] + [("general", a) for a in ALIGNMENTS if a != "soft"]:
        for key, value in attend(score, alignment, shared).items():
            tensors[f"{score}/{alignment}/{key}"] = value
    # log Σ_s w_s p_s of each sentence.
    log_p = -torch.rand(TIME, BATCH, dtype=DOUBLE) * 5
    sentences = list(enumerate(lengths.tolist()))
    weights = tensors["general/hard-marginal/weights"]
    likelihoods = [torch.log((weights[b, :n] * torch.exp(log_p[:n, b])).sum()) if n else d(0.0) for b, n in sentences]
    return tensors | {"log_p": log_p, "marginal": torch.stack(likelihoods)}


if __name__ == "__main__":
    torch.manual_seed(1)
    write("attention", attention())
    torch.manual_seed(2)
    save("attentions_f64", attentions())
