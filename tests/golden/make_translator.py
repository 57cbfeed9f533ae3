#!/usr/bin/python3
"""Writes translator.safetensors beside this file: an encoder-decoder of PyTorch's layers, trained
for a moment to reverse words, as a model of the seq2seq program, with its own translations in the
metadata. Run by hand; needs PyTorch (Debian: python3-torch).
"""
import json
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from make_golden import save

LETTERS = "abcdef"
TOKENS = ["<pad>", "<unk>", "<bos>", "<eos>", *LETTERS]
PAD, UNK, BOS, EOS = range(4)
HIDDEN, EMBEDDING = 24, 8
CONFIG = {"task": "reverse", "source-tokens": "chars", "target-tokens": "chars", "hidden": HIDDEN,
          "embedding": EMBEDDING, "dropout": 0.0}


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(TOKENS), EMBEDDING)
        self.gru = nn.GRU(EMBEDDING, HIDDEN, bidirectional=True)

    def forward(self, source, lengths):
        packed = pack_padded_sequence(self.embedding(source), lengths, enforce_sorted=False)
        outputs, final = self.gru(packed)
        return pad_packed_sequence(outputs)[0], final[-1]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        scale = HIDDEN**-0.5
        self.query_weight = nn.Parameter(torch.randn(HIDDEN, HIDDEN) * scale)
        self.key_weight = nn.Parameter(torch.randn(HIDDEN, 2 * HIDDEN) * scale)
        self.v = nn.Parameter(torch.randn(HIDDEN) * scale)

    def forward(self, query, annotations, padded):
        hidden = torch.tanh(query @ self.query_weight.T + annotations @ self.key_weight.T)
        weights = torch.softmax((hidden @ self.v).masked_fill(padded, -torch.inf), 0)
        return (weights[..., None] * annotations).sum(0)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(TOKENS), EMBEDDING)
        self.initial = nn.Linear(HIDDEN, HIDDEN)
        self.attention = Attention()
        self.cell = nn.GRUCell(EMBEDDING + 2 * HIDDEN, HIDDEN)
        self.output = nn.Linear(3 * HIDDEN + EMBEDDING, len(TOKENS))

    def step(self, previous, state, annotations, padded):
        token = self.embedding(previous)
        context = self.attention(state, annotations, padded)
        state = self.cell(torch.cat([token, context], 1), state)
        return self.output(torch.cat([state, context, token], 1)), state


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def start(self, words):
        lengths = torch.tensor([len(word) for word in words])
        source = torch.full((int(lengths.max()), len(words)), PAD)
        for b, word in enumerate(words):
            source[: len(word), b] = torch.tensor([TOKENS.index(letter) for letter in word])
        annotations, backward = self.encoder(source, lengths)
        padded = torch.arange(len(source))[:, None] >= lengths[None, :]
        return torch.tanh(self.decoder.initial(backward)), annotations, padded

    def loss(self, words):
        state, annotations, padded = self.start(words)
        target = torch.full((max(map(len, words)) + 1, len(words)), PAD)
        for b, word in enumerate(words):
            ids = [TOKENS.index(letter) for letter in reversed(word)] + [EOS]
            target[: len(ids), b] = torch.tensor(ids)
        previous, total = torch.full((len(words),), BOS), 0
        for row in target:
            logits, state = self.decoder.step(previous, state, annotations, padded)
            total += nn.functional.cross_entropy(logits, row, ignore_index=PAD, reduction="sum")
            previous = row
        return total / (target != PAD).sum()

    def translate(self, word, limit=20):
        state, annotations, padded = self.start([word])
        previous, letters, log_p = torch.tensor([BOS]), [], 0.0
        for _ in range(limit):
            logits, state = self.decoder.step(previous, state, annotations, padded)
            logits[0, [PAD, UNK, BOS]] = -1e30
            previous = logits.argmax(1)
            log_p += float(logits.log_softmax(1)[0, previous])
            if previous == EOS:
                break
            letters.append(TOKENS[previous])
        return "".join(letters), log_p


def word(rng, longest=7):
    return "".join(rng.choice(LETTERS) for _ in range(rng.randint(1, longest)))


if __name__ == "__main__":
    torch.manual_seed(1)
    rng = random.Random(1)
    model = Model()
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(600):
        loss = model.loss([word(rng) for _ in range(32)])
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()
    model.eval()
    with torch.no_grad():
        sources = [word(rng, 9) for _ in range(40)]
        translations = [model.translate(source) for source in sources]
    right = sum(source[::-1] == translation for source, (translation, _) in zip(sources, translations))
    print(f"loss {loss.item():.4f}, {right} of {len(sources)} right")
    save("translator", model.state_dict(), {
        "format": "regrad seq2seq 1",
        "config": json.dumps(CONFIG),
        "source_vocabulary": json.dumps(TOKENS),
        "target_vocabulary": json.dumps(TOKENS),
        "longest_target": "7",
        "translations": json.dumps([[s, t, p] for s, (t, p) in zip(sources, translations)]),
    })
