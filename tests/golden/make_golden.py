#!/usr/bin/python3
"""Writes the golden values beside this file. Run by hand; needs PyTorch (Debian: python3-torch).

Every file holds inputs, parameters, outputs and gradients of one case. Gradients are those of
sum(output * projection) with a random projection; names follow the tests that read them.
"""
import json
import pathlib
import struct

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

HERE = pathlib.Path(__file__).parent
DTYPES = {torch.float32: "F32", torch.float64: "F64"}


def save(name, tensors, metadata=None):
    header, blocks, offset = {"__metadata__": metadata} if metadata else {}, [], 0
    for key in sorted(tensors):
        tensor = tensors[key].detach().contiguous()
        block = tensor.numpy().astype(tensor.numpy().dtype.newbyteorder("<")).tobytes()
        header[key] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(block)],
        }
        offset += len(block)
        blocks.append(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (HERE / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def floats(*shape, dtype):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def with_gradients(module, inputs, outputs):
    """All of a case: inputs, outputs, projections, parameters and every gradient."""
    projections = {key: torch.randn_like(value) for key, value in outputs.items()}
    sum((value * projections[key]).sum() for key, value in outputs.items()).backward()
    case = {**inputs, **outputs}
    case |= {f"projection.{key}": value for key, value in projections.items()}
    case |= {f"grad.{key}": value.grad for key, value in inputs.items() if value.requires_grad}
    for key, value in module.named_parameters():
        case |= {f"parameter.{key}": value, f"grad.parameter.{key}": value.grad}
    return case


def linear(dtype):
    module = nn.Linear(3, 4, dtype=dtype)
    x = floats(2, 3, 3, dtype=dtype)
    return with_gradients(module, {"x": x}, {"y": module(x)})


def embedding(dtype):
    module = nn.Embedding(5, 3, dtype=dtype)
    ids = torch.tensor([[4, 0, 4], [1, 1, 2]])
    return with_gradients(module, {"ids": ids.to(dtype)}, {"y": module(ids)})


def gru_cell(dtype):
    module = nn.GRUCell(3, 4, dtype=dtype)
    x, h = floats(3, 3, dtype=dtype), floats(3, 4, dtype=dtype)
    return with_gradients(module, {"x": x, "h": h}, {"y": module(x, h)})


def gru(dtype, layers, bidirectional, with_initial):
    lengths = torch.tensor([5, 2, 1, 4])
    module = nn.GRU(3, 4, num_layers=layers, bidirectional=bidirectional, dtype=dtype)
    directions = 2 if bidirectional else 1
    inputs = {"x": floats(5, 4, 3, dtype=dtype)}
    if with_initial:
        inputs["initial"] = floats(layers * directions, 4, 4, dtype=dtype)
    packed = pack_padded_sequence(inputs["x"], lengths, enforce_sorted=False)
    outputs, final = module(packed, inputs.get("initial"))
    # Zeros stand at padded positions; the projection of Regrad's outputs must be masked likewise.
    outputs, _ = pad_packed_sequence(outputs)
    return with_gradients(module, inputs, {"outputs": outputs, "final": final}) | {
        "lengths": lengths.to(dtype)
    }


def losses(dtype):
    logits = floats(3, 4, 6, dtype=dtype)
    labels = torch.tensor([[0, 5, 2, 1], [3, 3, -100, 4], [1, -100, -100, 0]])
    case = {"logits": logits, "labels": labels.to(dtype), "lengths": torch.tensor([3, 2, 1, 3]).to(dtype)}
    for name, smoothing, reduction in (("plain", 0.0, "mean"), ("smoothed", 0.1, "mean"), ("sum", 0.1, "sum")):
        # PyTorch divides by the number of labels that are not ignored, with smoothing, too.
        loss = cross_entropy(
            logits.reshape(-1, 6), labels.reshape(-1), label_smoothing=smoothing, reduction=reduction
        )
        (gradient,) = torch.autograd.grad(loss, logits)
        case |= {f"{name}.loss": loss.reshape(1), f"{name}.grad": gradient}
    return case


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.8, weight_decay=0.1),
    "adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "adam_options": lambda p: torch.optim.Adam(
        p, lr=0.02, betas=(0.7, 0.9), eps=1e-3, weight_decay=0.1
    ),
}


def optimizers(dtype):
    """Five steps from the same start with the same gradients; row t is the value after t steps."""
    start = torch.randn(5, dtype=dtype)
    gradients = torch.randn(5, 5, dtype=dtype) * torch.tensor([1, 1e-6, 1e3, 1, 0], dtype=dtype)
    case = {"start": start, "gradients": gradients}
    for name, make in OPTIMIZERS.items():
        parameter = nn.Parameter(start.clone())
        optimizer = make([parameter])
        trajectory = []
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimizer.step()
            trajectory.append(parameter.detach().clone())
        case[name] = torch.stack(trajectory)
    return case


def attention(dtype):
    """Bahdanau's score with a bias-free hidden layer, and Luong's dot, over uneven lengths."""
    lengths = torch.tensor([4, 2, 1])
    query, annotations = floats(3, 5, dtype=dtype), floats(4, 3, 5, dtype=dtype)
    weights = nn.ParameterDict({
        "query_weight": nn.Parameter(torch.randn(6, 5, dtype=dtype)),
        "key_weight": nn.Parameter(torch.randn(6, 5, dtype=dtype)),
        "v": nn.Parameter(torch.randn(6, dtype=dtype)),
    })
    hidden = torch.tanh(query @ weights["query_weight"].T + annotations @ weights["key_weight"].T)
    scores = {"additive": hidden @ weights["v"], "dot": (query * annotations).sum(2)}
    padded = torch.arange(4)[:, None] >= lengths[None, :]
    outputs = {}
    for name, score in scores.items():
        alignment = torch.softmax(score.masked_fill(padded, -torch.inf), 0)
        outputs[f"{name}.weights"] = alignment.T
        outputs[f"{name}.context"] = (alignment[:, :, None] * annotations).sum(0)
    case = with_gradients(weights, {"query": query, "annotations": annotations}, outputs)
    return case | {"lengths": lengths.to(dtype)}


CASES = {
    "linear": linear,
    "embedding": embedding,
    "gru_cell": gru_cell,
    "gru": lambda dtype: gru(dtype, layers=1, bidirectional=False, with_initial=False),
    "gru_deep": lambda dtype: gru(dtype, layers=2, bidirectional=True, with_initial=True),
    "losses": losses,
    "optimizers": optimizers,
    "attention": attention,
}

if __name__ == "__main__":
    for name, case in CASES.items():
        for dtype, suffix in ((torch.float32, "f32"), (torch.float64, "f64")):
            torch.manual_seed(1)
            save(f"{name}_{suffix}", case(dtype))
