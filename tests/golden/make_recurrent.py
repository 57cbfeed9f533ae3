#!/usr/bin/python3
"""Writes recurrent_*.safetensors and functions_rnn_lstm.safetensors beside this file. Run by hand;
needs PyTorch (Debian: python3-torch).

recurrent_lstm.safetensors holds nn.LSTM of 1 to 3 layers, one direction and both, over a packed
sequence of uneven lengths: "2/both/outputs" and so on are as make_golden.with_gradients names them.
The other files hold nn.RNN (tanh and relu) and nn.GRU likewise; all hold the cell, under "cell/".
All is in double precision; the test rounds it for f32.
"""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from golden_cases import LENGTHS, beyond, d, inf, nan, r, write, zeroed
from make_golden import floats, save, with_gradients
from make_sequence_functions import lstm_step

INPUTS, HIDDEN, BATCH, TIME = 2, 3, 3, 5
SINGLE = torch.float32
LAYERS = {
    "rnn": (nn.RNN, nn.RNNCell, {}),
    "rnn-relu": (nn.RNN, nn.RNNCell, {"nonlinearity": "relu"}),
    "gru": (nn.GRU, nn.GRUCell, {}),
    "lstm": (nn.LSTM, nn.LSTMCell, {}),
}


def split(state):
    """{"h": h} or {"h": h, "c": c}."""
    return dict(zip("hc", state if isinstance(state, tuple) else (state,)))


def states(kind, *shape, dtype):
    return {name: floats(*shape, dtype=dtype) for name in ("hc" if kind == "lstm" else "h")}


def joined(named):
    values = tuple(named.values())
    return values if len(values) == 2 else values[0]


def layer(kind, dtype, layers, both):
    make, _, options = LAYERS[kind]
    module = make(INPUTS, HIDDEN, num_layers=layers, bidirectional=both, dtype=dtype, **options)
    x = floats(TIME, BATCH, INPUTS, dtype=dtype)
    initial = states(kind, layers * (2 if both else 1), BATCH, HIDDEN, dtype=dtype)
    lengths = torch.tensor([2, 5, 1])
    packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
    outputs, final = module(packed, joined(initial))
    # Zeros stand at padded positions; Regrad's outputs must be masked likewise.
    outputs, _ = pad_packed_sequence(outputs)
    named = {f"final_{name}": value for name, value in split(final).items()}
    case = with_gradients(module, {"x": x, **initial}, {"outputs": outputs, **named})
    return case | {"lengths": lengths.to(dtype)}


def cell(kind, dtype):
    _, make, options = LAYERS[kind]
    module = make(INPUTS, HIDDEN, dtype=dtype, **options)
    x, state = floats(BATCH, INPUTS, dtype=dtype), states(kind, BATCH, HIDDEN, dtype=dtype)
    after = {f"final_{name}": value for name, value in split(module(x, joined(state))).items()}
    return with_gradients(module, {"x": x, **state}, after)


def file_of(kind):
    torch.manual_seed(1)
    cases = {"cell": cell(kind, torch.float64)}
    for layers in (1, 2, 3):
        for both in (False, True):
            name = f"{layers}/{'both' if both else 'forward'}"
            cases[name] = layer(kind, torch.float64, layers, both)
    return {f"{case}/{key}": value for case, values in cases.items() for key, value in values.items()}


def run(step, steps, count):
    """A layer as in function_rows_recurrent.cpp; step(from_input, from_hidden, *state) -> state."""
    def sequence(x, *rest):
        state, (weight, bias) = rest[:count], rest[count:]
        x, outputs = zeroed(x), [None] * 4
        for t in steps:
            after = step(x[t], state[0] @ weight.T + bias, *state)
            keep = (t >= torch.tensor(LENGTHS))[:, None]
            state = tuple(torch.where(keep, old, new) for old, new in zip(state, after))
            outputs[t] = state[0]
        return torch.stack(outputs + list(state[1:]))
    return sequence


def functions():
    plain = lambda f: lambda x, y, *_: (f(x + y),)
    tanh, relu = plain(torch.tanh), plain(torch.relu)
    forward, backward = range(4), range(3, -1, -1)
    gates = ((r(3, 2), r(3, 2)), (r(1, 3), r(1, 3)), (r(0, 3), r(0, 3)),
             (r(2, 5, dtype=SINGLE), r(2, 5, dtype=SINGLE)), (d([[nan, inf, -inf, inf]]), d([[1, 1, 1, -inf]])))
    rnn = (r(4, 3, 2), r(3, 2), r(2, 2), r(2))
    lstm = (r(4, 3, 8), r(3, 2), r(3, 2), r(8, 2), r(8))
    return {
        "rnn_gates": (lambda x, y: torch.tanh(x + y), *gates),
        "rnn_gates relu": (lambda x, y: torch.relu(x + y), *gates),
        "lstm_gates": (lambda x, y, c: torch.stack(lstm_step(x, y, None, c)), (r(3, 8), r(3, 8), r(3, 2)),
                       (r(1, 4), r(1, 4), r(1, 1)), (r(0, 4), r(0, 4), r(0, 1)),
                       tuple(r(2, n, dtype=SINGLE) for n in (8, 8, 2)),
                       (d([[nan, 1, 2, 3], [inf, 1, 2, 3], [1, -inf, -inf, 3], [1, 2, inf, inf]]),
                        r(4, 4), d([[1], [2], [3], [inf]]))),
        "rnn forward": (run(tanh, forward, 1), rnn, (beyond(rnn[0]), *rnn[1:])),
        "rnn backward": (run(tanh, backward, 1), rnn),
        "rnn relu": (run(relu, forward, 1), rnn),
        "lstm forward": (run(lstm_step, forward, 2), lstm, (beyond(lstm[0]), *lstm[1:])),
        "lstm backward": (run(lstm_step, backward, 2), lstm),
    }


if __name__ == "__main__":
    for kind in LAYERS:
        save(f"recurrent_{kind}", file_of(kind))
    torch.manual_seed(1)
    write("rnn_lstm", functions())
