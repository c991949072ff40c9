"""The word checker: a small network in which the words of a claim attend to the words of its passages.

It stands on the encoder's word states, so a document is encoded once whatever is asked about it. Attention is
helped by how words pair (``checker_inputs.pair_features``): the same word, in the same company, near the other
words of the claim. It says of each word whether it is unsupported and of the claim whether it is supported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

from claimwise_embedded.checker_inputs import MARKS, PAIRINGS, Reading, Side, collate, pair_features
from claimwise_embedded.encoder import WIDTH, fast_type
from claimwise_embedded.steady import Linear, linear

_SIZE, _HEADS, _LAYERS, _REACH = 128, 4, 3, 8
#: Share of the values that training leaves out.
_DROP = 0.1
#: Pairs of words in a batch, which bounds memory to about 100 MB.
_PAIRS = 400_000


class _Cross(nn.Module):
    """From claim words to passage words; what was attended to comes back with how it pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.query = Linear(_SIZE, _SIZE)
        self.key_value = Linear(_SIZE, 2 * _SIZE)
        self.pairing = nn.Parameter(torch.randn(_HEADS, PAIRINGS))
        self.out = Linear(_SIZE + _HEADS * PAIRINGS, _SIZE)

    def forward(self, claim, there, pairs, masked_pairs):
        b, n, _ = claim.shape
        query = _split(self.query(claim))
        key, value = map(_split, self.key_value(there).chunk(2, dim=-1))
        weight = torch.cat([self.pairing, torch.full((_HEADS, 1), -1e4)], dim=1)
        bias = (weight @ masked_pairs).view(b, _HEADS, n, -1).float()
        share = ((query @ key.transpose(2, 3) * query.shape[-1] ** -0.5).float() + bias).softmax(3).to(value.dtype)
        seen = (share @ value).transpose(1, 2).reshape(b, n, -1)
        return self.out(torch.cat([seen, (share.transpose(1, 2) @ pairs).reshape(b, n, -1)], dim=2))


class _Self(nn.Module):
    """Among the claim's words, by content and by distance."""

    def __init__(self) -> None:
        super().__init__()
        self.all = Linear(_SIZE, 3 * _SIZE)
        self.out = Linear(_SIZE, _SIZE)
        self.distance = nn.Parameter(torch.zeros(_HEADS, 2 * _REACH + 1))

    def forward(self, claim, real):
        b, n, _ = claim.shape
        query, key, value = map(_split, self.all(claim).chunk(3, dim=-1))
        place = torch.arange(n)
        apart = (place[None] - place[:, None]).clamp(-_REACH, _REACH) + _REACH
        score = (query @ key.transpose(2, 3)).float() * query.shape[-1] ** -0.5 + self.distance[:, apart][None]
        share = score.masked_fill(~real[:, None, None], -1e4).softmax(3).to(value.dtype)
        return self.out((share @ value).transpose(1, 2).reshape(b, n, -1))


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cross, self.own = _Cross(), _Self()
        self.norms = nn.ModuleList(nn.LayerNorm(_SIZE) for _ in range(3))
        self.think = nn.Sequential(Linear(_SIZE, 2 * _SIZE), nn.GELU(), Linear(2 * _SIZE, _SIZE))
        self.drop = nn.Dropout(_DROP)

    def forward(self, claim, there, pairs, masked_pairs, real):
        claim = claim + self.drop(self.cross(self.norms[0](claim), there, pairs, masked_pairs))
        claim = claim + self.drop(self.own(self.norms[1](claim), real))
        return claim + self.drop(self.think(self.norms[2](claim)))


def _split(states: torch.Tensor) -> torch.Tensor:
    b, n, size = states.shape
    return states.view(b, n, _HEADS, size // _HEADS).transpose(1, 2)


class Checker(nn.Module):
    """0.7 million parameters on top of frozen word states."""

    def __init__(self) -> None:
        super().__init__()
        self.states = Linear(WIDTH, _SIZE)
        self.claim_marks = Linear(MARKS + 1, _SIZE)
        self.there_marks = Linear(MARKS, _SIZE)
        self.there_norm, self.norm = nn.LayerNorm(_SIZE), nn.LayerNorm(_SIZE)
        self.nowhere = nn.Parameter(torch.zeros(_SIZE))
        self.layers = nn.ModuleList(_Layer() for _ in range(_LAYERS))
        self.word = Linear(_SIZE, 1)
        self.pool = Linear(_SIZE, 4)
        self.claim = nn.Sequential(Linear(4 * _SIZE + 3, _SIZE), nn.GELU(), Linear(_SIZE, 1))
        self.drop = nn.Dropout(_DROP)

    def forward(self, claim: Side, there: Side) -> tuple[torch.Tensor, torch.Tensor]:
        """Log odds that claims are supported, (b,), and that their words are not, (b, n)."""
        return self.judge(claim, there, *pairings(claim, there))

    def judge(self, claim: Side, there: Side, pairs, masked_pairs) -> tuple[torch.Tensor, torch.Tensor]:
        """The same with ``pairings`` at hand."""
        mine, theirs = claim.states, there.states
        if self.training:
            kept = ((torch.rand(len(mine), 1, WIDTH) > _DROP) / (1 - _DROP)).to(mine.dtype)
            mine, theirs = mine * kept, theirs * kept
        words = self._project(mine) + self.claim_marks(
            torch.cat([_bits(claim.marks), claim.rarity[..., None] / 3], dim=-1)
        )
        others = self.there_norm(self._project(theirs) + self.there_marks(_bits(there.marks)))
        others = torch.cat([others, self.nowhere.to(others.dtype).expand(len(mine), 1, -1)], dim=1)
        for layer in self.layers:
            words = layer(words, others, pairs, masked_pairs, claim.real)
        words = self.norm(words)
        unsupported = self.word(words)[..., 0].float().masked_fill(~claim.real, -30)
        share = self.pool(words).float().masked_fill(~claim.real[..., None], -1e4).softmax(1)
        pooled = (share.to(words.dtype)[..., None] * words[:, :, None]).sum(1).flatten(1)
        worst = [unsupported.max(1)[0], unsupported.logsumexp(1), F.softplus(unsupported).sum(1)]
        supported = self.claim(torch.cat([self.drop(pooled), torch.stack(worst, 1).to(pooled.dtype)], dim=1))
        return supported[:, 0].float(), unsupported

    def _project(self, states: torch.Tensor) -> torch.Tensor:
        """States come with unit length; weights are made larger here rather than many states."""
        return linear(states, self.states.weight * WIDTH**0.5, self.states.bias)


def pairings(claim: Side, there: Side) -> tuple[torch.Tensor, torch.Tensor]:
    """Pair features with a last column for "nowhere": (b, n, m + 1, PAIRINGS), and (b, PAIRINGS + 1, n (m + 1)) with
    what is padding marked."""
    with torch.no_grad():
        pairs = pair_features(claim, there)
        b, _, n, m = pairs.shape
        padding = (~there.real)[:, None, None, :].expand(b, 1, n, m).float()
        masked = F.pad(torch.cat([pairs, padding], dim=1), (0, 1)).to(torch.bfloat16).view(b, PAIRINGS + 1, -1)
        plain = F.pad(pairs, (0, 1)).permute(0, 2, 3, 1).to(torch.bfloat16).contiguous()
    if fast_type() is not torch.bfloat16:
        return plain.float(), masked.float()
    return plain, masked


def _bits(marks: torch.Tensor) -> torch.Tensor:
    return torch.stack([(marks >> i) & 1 for i in range(MARKS)], dim=-1).float()


def fast():
    """Half precision for multiplications where the CPU has it."""
    return torch.autocast("cpu", torch.bfloat16, enabled=fast_type() is torch.bfloat16)


def check(checkers: Sequence[Checker], readings: Sequence[Reading]) -> list[tuple[np.ndarray, np.ndarray]]:
    """What each of k checkers finds.

    Returns:
        For each reading log odds that it is supported, (k,), and that each of its words is not, (k, n_words); a
        word beyond ``CLAIM_WORDS`` has the mean of the others.
    """
    found: list = [None] * len(readings)
    for batch in _batches(readings):
        claim, there = collate([readings[i] for i in batch], readings[batch[0]].padded)
        with torch.inference_mode(), fast():
            ready = pairings(claim, there)
            results = [checker.judge(claim, there, *ready) for checker in checkers]
        supported = torch.stack([s for s, _ in results]).numpy()
        words = torch.stack([w for _, w in results]).numpy()
        for row, i in enumerate(batch):
            shown, n = readings[i].size[0], len(readings[i].claim.stems)
            mine = words[:, row, :shown]
            if n > shown:
                mine = np.hstack([mine, np.repeat(mine.mean(1, keepdims=True), n - shown, axis=1)])
            found[i] = (supported[:, row], mine)
    return found


def _batches(readings: Sequence[Reading]) -> Iterator[list[int]]:
    """Readings that are padded to one shape, at most ``_PAIRS`` pairs of words: so that no reading's neighbours choose
    how it is padded, which its last digits depend on."""
    shapes = [reading.padded for reading in readings]
    for (mine, theirs), same in groupby(sorted(range(len(readings)), key=shapes.__getitem__), key=shapes.__getitem__):
        group, most = list(same), max(1, _PAIRS // (mine * theirs))
        yield from (group[start : start + most] for start in range(0, len(group), most))


def shipped(checker: Checker) -> Checker:
    """Round a checker as its weights are written, in half precision: what trees learn from is what they will be told."""
    checker.load_state_dict({name: tensor.half().float() for name, tensor in checker.state_dict().items()})
    return checker.eval()


def load(file: Path) -> list[Checker]:
    """The checkers of a weights file, ready for use."""
    tensors = load_file(file)
    checkers = []
    for number in sorted({name.split(".", 1)[0] for name in tensors}, key=int):
        checker = Checker()
        own = {name.split(".", 1)[1]: t.float() for name, t in tensors.items() if name.startswith(f"{number}.")}
        checker.load_state_dict(own)
        checkers.append(checker.eval())
    return checkers
