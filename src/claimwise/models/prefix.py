"""Next-token logits of many prompts that begin alike, each shared beginning computed once.

Prompts are arranged in a tree by their common beginnings (instructions, then a document, then its claims).
The keys and values of a beginning are computed once; everything that follows it is packed into one row
over them, with a mask under which a token sees its own prompt only and positions that continue from the
shared beginning. The logits are those of one prompt at a time, up to rounding.

A document of P tokens with n claims of S tokens costs P + nS tokens instead of n(P + S).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import torch
from transformers import DynamicCache, PreTrainedModel

Tokens = Sequence[int]

WORTH = 24  # a shorter shared beginning is cheaper to compute again than to keep apart
_SUPPORTED = {"full_attention", "sliding_attention"}
#: How a configuration may bound attention beside ``sliding_window``: in a way that the mask here does not know.
_WINDOW = re.compile(r"(?!.*sliding_window|max_window_layers).*window.*|local_attention")
_KEPT = 2  # instructions remembered: those of a decomposition and those of a verification


class UnsupportedArchitecture(ValueError):
    """A shared prefix changes this model's logits; prompts have to run one by one or padded."""


@dataclass
class _Row:
    """Segments packed into one row; each is added after the one that it continues (its parent; -1: the cache)."""

    ids: list[int] = field(default_factory=list)  # of each token
    positions: list[int] = field(default_factory=list)  # of each token in its prompt
    segments: list[int] = field(default_factory=list)  # of each token, the number of its segment
    parents: list[int] = field(default_factory=list)  # of each segment
    ends: dict[int, int] = field(default_factory=dict)  # the place of each prompt's last token

    def add(self, tokens: Tokens, position: int, parent: int = -1) -> int:
        """Add a segment whose first token has this position; returns its number."""
        number = len(self.parents)
        self.parents.append(parent)
        self.ids += tokens
        self.positions += range(position, position + len(tokens))
        self.segments += [number] * len(tokens)
        return number

    def add_tree(self, node: Node, prompts: Sequence[Tokens], parent: int = -1) -> None:
        """Add a node's own tokens and all that is below it."""
        if node.stop > node.start:
            parent = self.add(prompts[node.member][node.start : node.stop], node.start, parent)
        for i in node.leaves:
            self.add(prompts[i][node.stop :], node.stop, parent)
            self.ends[i] = len(self.ids) - 1
        for child in node.children:
            self.add_tree(child, prompts, parent)


class SharedPrefix:
    """Runs trees of prompts through a decoder.

    Args:
        model: a causal language model, in evaluation mode.
        probe: prompts to try it on, of several documents with several claims each.
        row_tokens: most tokens in one packed row; bounds the memory of masks and activations.
        chunk_tokens: most tokens of a shared beginning computed at once; small chunks take less memory, and under a
            mask do less that it hides.
        whole_tokens: a document and its claims of up to this many tokens together are one row, without a cache
            in between; several such documents share a row.

    Raises:
        UnsupportedArchitecture: the model has layers that are neither full nor sliding-window attention, or
            answers the probe otherwise than one prompt at a time.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        probe: Sequence[Tokens],
        row_tokens: int = 4096,
        chunk_tokens: int = 512,
        whole_tokens: int = 0,
    ):
        self.model = model
        self._row_tokens, self._chunk_tokens = row_tokens, chunk_tokens
        self._kept: dict[tuple[int, ...], DynamicCache] = {}  # instructions, the latest last
        #: What else a pass says at places of a row, in columns beside the logits there: see ``Contradiction.beside``.
        self.beside: Callable[[torch.Tensor, int, torch.Tensor], torch.Tensor] = lambda logits, row, ends: logits
        try:
            self._windows = _windows(model)
            # Both ways are tried: claims continue a document from a cache, or are in one row with it.
            for whole in (0, row_tokens):
                self._whole_tokens = whole
                self._check(probe)
        except (TypeError, ValueError, RuntimeError, AttributeError, IndexError, KeyError) as error:
            raise UnsupportedArchitecture(
                f"{type(model).__name__} cannot share a prefix between prompts: {error}"
            ) from error
        self._whole_tokens = whole_tokens

    @torch.inference_mode()
    def logits(self, prompts: Sequence[Tokens]) -> Iterator[tuple[int, torch.Tensor]]:
        """(index, logits over the vocabulary after the last token) of every prompt, as they are computed."""
        if not prompts:
            return
        root = tree(prompts)
        if len(prompts) == 1:
            root.stop = 0  # nothing is shared
        cache = self._root(prompts[root.member][: root.stop], keep=len(root.children) > 1)
        yield from self._below(root, prompts, cache)

    @torch.inference_mode()
    def beginning(self, prompts: Sequence[Tokens]) -> DynamicCache:
        """Keys and values of what all prompts begin with, for generation to go on from; kept like instructions are.

        Of one prompt, or where little is shared, what is kept of it already, mostly no tokens. The last token of a prompt
        is never among them.
        """
        root = tree(prompts)
        shared = prompts[root.member][: root.stop]
        if len(prompts) > 1 and len(shared) >= WORTH:
            return self._root(shared, keep=True)
        return self._longest_kept(tuple(shared))

    @torch.inference_mode()
    def after(
        self, beginning: DynamicCache, texts: Sequence[Tokens]
    ) -> Iterator[list[tuple[torch.Tensor, torch.Tensor]]]:
        """Keys and values of each text, layer by layer, (heads, tokens, size); each follows the beginning, none another.

        Short texts share a pass.
        """
        start = beginning.get_seq_length()
        for group in self._groups(texts):
            if len(group) == 1:
                cache = self.extend(beginning, group[0])
            else:
                row, cache = _Row(), _share(beginning)
                for text in group:
                    row.add(text, start)
                if row.ids:
                    self._forward(self.model.base_model, row, cache)
            at = start
            for text in group:
                end = at + len(text)
                yield [(layer.keys[0, :, at:end], layer.values[0, :, at:end]) for layer in cache.layers]
                at = end

    def _groups(self, texts: Sequence[Tokens]) -> Iterator[list[Tokens]]:
        """Texts in order, as many at a time as one pass may have tokens, and one at least."""
        group: list[Tokens] = []
        for text in texts:
            if group and sum(map(len, group)) + len(text) > min(self._chunk_tokens, self._row_tokens):
                yield group
                group = []
            group.append(text)
        if group:
            yield group

    def shrink(self) -> bool:
        """Use half as much memory from now on; False where that is no longer possible."""
        self._kept.clear()
        self._row_tokens, self._chunk_tokens = self._row_tokens // 2, self._chunk_tokens // 2
        return self._row_tokens >= 64

    def _root(self, tokens: Tokens, keep: bool) -> DynamicCache:
        """Keys and values of what all prompts share.

        Instructions, which several documents follow, are kept for the next call and so are computed once a run;
        a single document is not, since the next call shows another.
        """
        wanted = tuple(tokens)
        cache = self._longest_kept(wanted)
        known = cache.get_seq_length()
        if known < len(wanted):
            cache = self.extend(cache, tokens[known:])
        if keep and wanted:
            self._kept.pop(wanted, None)
            self._kept[wanted] = cache
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        return cache

    def _longest_kept(self, wanted: tuple[int, ...]) -> DynamicCache:
        """What is kept of the most tokens that these begin with; an empty cache, if nothing is."""
        found = [cache for tokens, cache in self._kept.items() if wanted[: len(tokens)] == tokens]
        return max(found, key=DynamicCache.get_seq_length, default=DynamicCache())

    def _below(self, node: Node, prompts: Sequence[Tokens], cache: DynamicCache) -> Iterator:
        """Logits of all prompts of a node whose tokens are in the cache; a child that is not read whole gets a cache, too."""
        parts = [Node(i, node.stop, node.stop, leaves=[i]) for i in node.leaves]  # of no shared tokens
        large = []
        for child in node.children:
            if child.size(prompts) > min(self._whole_tokens, self._row_tokens):
                large.append(child)
            else:
                parts.append(child)
        row = _Row()
        for part in parts:
            if row.ids and len(row.ids) + part.size(prompts) > self._row_tokens:
                yield from self._run(row, cache)
                row = _Row()
            row.add_tree(part, prompts)
        if row.ids:
            yield from self._run(row, cache)
        for child in large:
            extended = self.extend(cache, prompts[child.member][child.start : child.stop])
            yield from self._below(child, prompts, extended)

    def extend(self, cache: DynamicCache, tokens: Tokens) -> DynamicCache:
        """Keys and values of the given cache's tokens and these; the given one is left as it was."""
        cache, position = _share(cache), cache.get_seq_length()
        for at in range(0, len(tokens), self._chunk_tokens):
            row = _Row()
            row.add(tokens[at : at + self._chunk_tokens], position + at)
            self._forward(self.model.base_model, row, cache)
        return cache

    def _run(self, row: _Row, cache: DynamicCache) -> Iterator[tuple[int, torch.Tensor]]:
        ends = torch.tensor(list(row.ends.values()), device=self.model.device)
        output = self._forward(self.model, row, _Ended(cache) if cache.layers else None, logits_to_keep=ends)
        yield from zip(row.ends, self.beside(output.logits[0], 0, ends), strict=True)

    def packed(self, groups: Sequence[Sequence[Tokens]]) -> tuple[dict[str, torch.Tensor], list[list[int]]]:
        """Each group of prompts as one row without a cache, for training: what the model takes, and for each group where
        its prompts end. Shorter rows are padded with tokens that nothing sees."""
        rows, ends = [], []
        for prompts in groups:
            rows.append(_Row())
            rows[-1].add_tree(tree(prompts), prompts)
            ends.append([rows[-1].ends[prompt] for prompt in range(len(prompts))])
        device, longest = self.model.device, max(len(row.ids) for row in rows)
        ids, positions = torch.zeros(2, len(rows), longest, dtype=torch.long, device=device)
        full = torch.eye(longest, dtype=torch.bool, device=device).repeat(len(rows), 1, 1, 1)
        for number, row in enumerate(rows):
            own = slice(len(row.ids))
            ids[number, own], positions[number, own] = torch.tensor([row.ids, row.positions], device=device)
            full[number, 0, own, own] = self._sees(row)
        behind = positions[:, None, :, None] - positions[:, None, None, :]
        return {"input_ids": ids, "position_ids": positions, "attention_mask": self.masks(full, behind)}, ends

    def _forward(self, module: Callable, row: _Row, cache: DynamicCache | None, **options):
        ids, positions = torch.tensor([[row.ids], [row.positions]], device=self.model.device)
        return module(
            input_ids=ids,
            position_ids=positions,
            attention_mask=self._mask(row, 0 if cache is None else cache.get_seq_length()),
            past_key_values=cache,
            use_cache=cache is not None,
            **options,
        )

    def _mask(self, row: _Row, past: int) -> torch.Tensor | dict[str, torch.Tensor] | None:
        """Which tokens each token sees: all of the cache, and what is before it in its own prompt.

        None (plain causal attention, whose kernels are faster) where that is the same.
        """
        device = self.model.device
        if not past and len(row.parents) == 1 and all(w is None or w >= len(row.ids) for w in self._windows.values()):
            return None
        own = self._sees(row)
        full = torch.cat([own.new_ones(len(row.ids), past), own], 1)[None, None]
        positions = torch.tensor(row.positions, device=device)
        seen = torch.cat([torch.arange(past, device=device), positions])
        return self.masks(full, positions[:, None] - seen[None, :])

    def _sees(self, row: _Row) -> torch.Tensor:
        """Which of a row's tokens each of them sees, (tokens, tokens)."""
        sees = torch.eye(len(row.parents), dtype=torch.bool)
        for number, parent in enumerate(row.parents):
            if parent >= 0:
                sees[number] |= sees[parent]
        segments = torch.tensor(row.segments, device=self.model.device)
        return sees.to(self.model.device)[segments[:, None], segments[None, :]].tril_()

    def masks(self, full: torch.Tensor, behind: torch.Tensor) -> torch.Tensor | dict[str, torch.Tensor]:
        """What the model takes as its mask, of what full attention sees, and how many positions behind a token that is."""
        masks = {
            kind: self._typed(full if window is None else full & (behind < window))
            for kind, window in self._windows.items()
        }
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def _typed(self, mask: torch.Tensor) -> torch.Tensor:
        """Of what is seen, as the model's attention takes it: the same, or what is added to its scores."""
        if self.model.config._attn_implementation == "sdpa":
            return mask
        dtype = self.model.dtype
        return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, torch.finfo(dtype).min)

    @torch.inference_mode()
    def _check(self, probe: Sequence[Tokens]) -> None:
        """Compare with one prompt at a time: what comes next, as a distribution over the vocabulary.

        In half precision the logarithms of rare words' probabilities differ by .2 to .4 from rounding alone, the
        distributions by .05 at most (total variation, on checkpoints of 0.1 and 0.5 billion parameters; either is as far
        from float32), while a claim that sees another moves them by .29 or more. A wrong position may move them by less
        (.007 and .12): in single precision, where the limit is a ten-thousandth, it is seen.
        """
        low = self.model.dtype in (torch.bfloat16, torch.float16)
        packed = dict(self.logits(probe))
        self._kept.clear()
        for i, prompt in enumerate(probe):
            alone = self.model(torch.tensor([prompt], device=self.model.device)).logits[0, -1]
            ours, theirs = packed[i].float(), alone.float()
            difference = (
                (ours.softmax(-1) - theirs.softmax(-1)).abs().sum().item() / 2
                if low
                else (ours.log_softmax(-1) - theirs.log_softmax(-1)).abs().max().item()
            )
            if not difference <= (0.1 if low else 1e-4):
                what = "probabilities" if low else "log-probabilities"
                raise UnsupportedArchitecture(f"its {what} differ by {difference:.2g}")


def _windows(model: PreTrainedModel) -> dict[str, int | None]:
    """The model's kinds of attention layers and their windows; one entry where all layers are alike."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    # GPT-Neo's window has a name and a meaning of its own, and is longer than the prompts of the comparison.
    unknown = [name for name, value in config.to_dict().items() if _WINDOW.fullmatch(name) and value]
    if unknown:
        raise UnsupportedArchitecture(
            f"its attention is bounded by {', '.join(unknown)}, which is not known here; expected sliding_window"
        )
    kinds = set(getattr(config, "layer_types", None) or ["full_attention" if window is None else "sliding_attention"])
    if not kinds <= _SUPPORTED or config._attn_implementation not in ("sdpa", "eager"):
        raise UnsupportedArchitecture(
            f"it has {', '.join(sorted(kinds))} with {config._attn_implementation}; expected full or sliding-window "
            "attention with sdpa or eager"
        )
    return {kind: None if kind == "full_attention" else window for kind in sorted(kinds)}


def _share(cache: DynamicCache) -> DynamicCache:
    """A cache that grows apart from the given one: the tensors are shared, since growing makes new ones.

    Its layers keep all tokens even for sliding-window attention, because the mask does the sliding: packed
    claims continue from the same position, not one after the other.
    """
    shared = DynamicCache()
    shared.layers = [copy.copy(layer) for layer in cache.layers]
    return shared


class _Ended(DynamicCache):
    """A cache that is read for the last time: what follows its tokens is shown to attention, and not kept."""

    def __init__(self, cache: DynamicCache):
        super().__init__()
        self.layers = cache.layers

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args, **kwargs):
        known = self.layers[layer_idx]
        return torch.cat([known.keys, key_states], -2), torch.cat([known.values, value_states], -2)


# -- prompts in a tree by their common beginnings ------


@dataclass
class Node:
    """A shared beginning: tokens ``start:stop`` of ``prompts[member]``, what follows it, and who ends after it."""

    member: int
    start: int
    stop: int
    children: list[Node] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)

    def size(self, prompts: Sequence[Tokens]) -> int:
        """Tokens in this node and below it."""
        own = self.stop - self.start + sum(len(prompts[i]) - self.stop for i in self.leaves)
        return own + sum(child.size(prompts) for child in self.children)

    def members(self) -> list[int]:
        """The prompts that end here or below."""
        return self.leaves + [i for child in self.children for i in child.members()]


def tree(prompts: Sequence[Tokens], worth: int = WORTH) -> Node:
    """Arrange prompts by their common beginnings.

    Args:
        prompts: token ids, none empty.
        worth: fewest shared tokens that make a node of their own.

    Returns:
        The root, perhaps of no tokens. Every prompt is a leaf once, with at least one token of its own.

    >>> root = tree([[1, 2, 3, 4], [1, 2, 3, 5], [1, 9]], worth=2)
    >>> (root.start, root.stop, root.leaves), [(c.start, c.stop, c.leaves) for c in root.children]
    ((0, 1, [2]), [(1, 3, [0, 1])])
    """
    return _node(prompts, sorted(range(len(prompts)), key=lambda i: tuple(prompts[i])), 0, worth)


def _node(prompts: Sequence[Tokens], members: list[int], start: int, worth: int) -> Node:
    first, last = prompts[members[0]], prompts[members[-1]]
    most = min(len(prompts[i]) for i in members) - 1  # a leaf keeps one token, whose logits are wanted
    stop = start
    while stop < most and first[stop] == last[stop]:  # what the first and the last of sorted prompts share, all share
        stop += 1
    # A prompt that ends with its next token comes before those that it begins, and leaves the others to go on.
    node = Node(members[0], start, stop, leaves=[i for i in members if len(prompts[i]) == stop + 1])
    members = [i for i in members if len(prompts[i]) > stop + 1]
    for _, alike in groupby(members, key=lambda i: prompts[i][stop]):
        below = list(alike)
        if len(below) == 1:
            node.leaves += below
            continue
        child = _node(prompts, below, stop, worth)
        if child.stop - child.start >= worth:
            node.children.append(child)
            continue
        # Too short to be kept apart: whatever begins with it computes it again.
        node.leaves += child.leaves
        for grandchild in child.children:
            grandchild.start = stop
            node.children.append(grandchild)
    return node
