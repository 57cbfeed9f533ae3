#!/usr/bin/python3
"""The workloads of workload.h in PyTorch: the peer of bench_seq2seq, as fast as PyTorch allows.

Keys, target embeddings and logits are computed for all time steps at once. The variants differ in
the decoder: `eager` steps a GRUCell; `split` multiplies the embeddings' part of its input for all
time steps at once when training; `script` is eager compiled by TorchScript.
"""
import argparse
import os
import resource
import statistics
import time
from typing import List, Tuple

SIZES = {  # batch, time, embedding, hidden, vocabulary
    "single": (1, 10, 64, 64, 32),
    "tiny": (32, 10, 64, 64, 32),
    "small": (64, 20, 128, 256, 1000),
    "medium": (64, 30, 256, 512, 8000),
    "long": (16, 100, 128, 256, 1000),
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--variant", choices=("eager", "split", "script"), default="eager")
    parser.add_argument("--decode", type=int, metavar="BATCH",
                        help="greedy decoding instead of training")
    parser.add_argument("--seconds", type=float, default=8)
    return parser.parse_args()


arguments = parse_arguments()
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # read when the libraries load
    os.environ[variable] = str(arguments.threads)

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Decoder(nn.Module):
    def __init__(self, embedding: int, hidden: int, vocabulary: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.first_state = nn.Linear(hidden, hidden)
        self.keys = nn.Linear(2 * hidden, hidden, bias=False)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.cell = nn.GRUCell(embedding + 2 * hidden, hidden)
        self.logits = nn.Linear(3 * hidden + embedding, vocabulary)

    def context(self, state: Tensor, keys: Tensor, annotations: Tensor) -> Tensor:
        """state [B, H], keys [B, S, H], annotations [B, S, 2H] -> [B, 2H]"""
        hidden = torch.tanh(keys + self.query(state)[:, None])
        weights = torch.softmax(self.score(hidden), 1)
        return torch.bmm(weights.transpose(1, 2), annotations).squeeze(1)

    def forward(self, annotations: Tensor, backward_state: Tensor, words: Tensor) -> Tensor:
        """annotations [B, S, 2H], backward_state [B, H], words [T, B] -> logits [T, B, V]"""
        state = torch.tanh(self.first_state(backward_state))
        keys = self.keys(annotations)
        embedded = self.embedding(words)
        states: List[Tensor] = []
        contexts: List[Tensor] = []
        for word in embedded.unbind(0):
            context = self.context(state, keys, annotations)
            state = self.cell(torch.cat((word, context), 1), state)
            contexts.append(context)
            states.append(state)
        return self.logits(torch.cat((torch.stack(states), torch.stack(contexts), embedded), 2))

    @torch.jit.export
    def greedy(self, annotations: Tensor, backward_state: Tensor, steps: int) -> Tensor:
        state = torch.tanh(self.first_state(backward_state))
        keys = self.keys(annotations)
        word = torch.zeros(annotations.shape[0], dtype=torch.long)
        words: List[Tensor] = []
        for _ in range(steps):
            embedded = self.embedding(word)
            context = self.context(state, keys, annotations)
            state = self.cell(torch.cat((embedded, context), 1), state)
            word = self.logits(torch.cat((state, context, embedded), 1)).argmax(1)
            words.append(word)
        return torch.stack(words)


class SplitDecoder(Decoder):
    def forward(self, annotations, backward_state, words):
        state = torch.tanh(self.first_state(backward_state))
        keys = self.keys(annotations)
        embedded = self.embedding(words)
        cell = self.cell
        of_word, of_context = cell.weight_ih.split((embedded.shape[2], annotations.shape[2]), 1)
        of_context = of_context.t().contiguous()
        states, contexts = [], []
        for from_word in F.linear(embedded, of_word, cell.bias_ih).unbind(0):
            context = self.context(state, keys, annotations)
            x_r, x_z, x_n = torch.addmm(from_word, context, of_context).chunk(3, 1)
            h_r, h_z, h_n = F.linear(state, cell.weight_hh, cell.bias_hh).chunk(3, 1)
            n = torch.tanh(torch.addcmul(x_n, torch.sigmoid(x_r + h_r), h_n))
            state = torch.lerp(n, state, torch.sigmoid(x_z + h_z))
            contexts.append(context)
            states.append(state)
        return self.logits(torch.cat((torch.stack(states), torch.stack(contexts), embedded), 2))


class Model(nn.Module):
    def __init__(self, variant: str, embedding: int, hidden: int, vocabulary: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.encoder = nn.GRU(embedding, hidden, bidirectional=True)
        decoder = (SplitDecoder if variant == "split" else Decoder)(embedding, hidden, vocabulary)
        self.decoder = torch.jit.script(decoder) if variant == "script" else decoder

    def encode(self, source: Tensor) -> Tuple[Tensor, Tensor]:
        """source [S, B] -> annotations [B, S, 2H], the backward state at the first word [B, H]"""
        annotations, _ = self.encoder(self.embedding(source))
        hidden = annotations.shape[2] // 2
        return annotations.transpose(0, 1).contiguous(), annotations[0, :, hidden:]

    def forward(self, source, words):
        return self.decoder(*self.encode(source), words)

    def greedy(self, source, steps):
        return self.decoder.greedy(*self.encode(source), steps)


def training_step(model, batch, time_steps, vocabulary):
    optimizer = torch.optim.Adam(model.parameters())
    source = torch.randint(1, vocabulary, (time_steps, batch))
    labels = torch.randint(1, vocabulary, (time_steps, batch))
    words = F.pad(labels[:-1], (0, 0, 1, 0))

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(source, words).flatten(0, 1), labels.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def median_time(f):
    """Of calls that fill the seconds asked for, at least 5, after some that do not count."""
    warm = time.perf_counter() + min(1.0, arguments.seconds / 4)
    for run in range(1000):
        f()
        if run >= 3 and time.perf_counter() > warm:  # TorchScript compiles at its second call
            break
    times = []
    end = time.perf_counter() + arguments.seconds
    while len(times) < 5 or time.perf_counter() < end:
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main():
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    batch, steps, embedding, hidden, vocabulary = SIZES[arguments.size]
    model = Model(arguments.variant, embedding, hidden, vocabulary)
    line = f"variant={arguments.variant} size={arguments.size}"
    if arguments.decode:
        batch = arguments.decode
        line = f"torch-decode {line} batch={batch}"
        source = torch.randint(1, vocabulary, (steps, batch))
        model.eval()
        with torch.inference_mode():
            seconds = median_time(lambda: model.greedy(source, steps))
    else:
        line = f"torch {line}"
        seconds = median_time(training_step(model, batch, steps, vocabulary))
    unit = "ms" if arguments.decode else "step_ms"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{line} threads={arguments.threads} tokens_per_s={batch * steps / seconds:.1f} "
          f"{unit}={seconds * 1e3:.3f} peak_mb={peak:.0f}")


main()
