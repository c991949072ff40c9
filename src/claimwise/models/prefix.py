"""Next-token logits of many prompts with shared prefixes; each prefix is computed once.

Prompts are arranged in a tree by their common prefixes (instructions, then a document, then its claims). The keys and
values of a prefix are computed once. All that follows the prefix is packed into one row: a mask lets each token see only
its own prompt, and positions continue from the prefix. The logits are those of one prompt at a time, up to rounding.

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

WORTH = 24  # tokens; a shorter prefix is cheaper to compute again than to share
_SUPPORTED = {"full_attention", "sliding_attention"}
#: Names of options other than ``sliding_window`` that limit attention; the mask here does not support them.
_WINDOW = re.compile(r"(?!.*sliding_window|max_window_layers).*window.*|local_attention")
_KEPT = 2  # instructions whose cache is kept: those of a decomposition and those of a verification


class UnsupportedArchitecture(ValueError):
    """Sharing a prefix would change this model's logits. Its prompts must run one by one or in padded batches."""


@dataclass
class _Row:
    """Segments of prompts packed into one row. A segment continues an earlier one, its parent, or the cache (-1)."""

    ids: list[int] = field(default_factory=list)  # each token's id
    positions: list[int] = field(default_factory=list)  # each token's position in its prompt
    segments: list[int] = field(default_factory=list)  # the number of each token's segment
    parents: list[int] = field(default_factory=list)  # each segment's parent
    ends: dict[int, int] = field(default_factory=dict)  # the index in the row of each prompt's last token

    def add(self, tokens: Tokens, position: int, parent: int = -1) -> int:
        """Add a segment whose first token has this position, and return its number."""
        number = len(self.parents)
        self.parents.append(parent)
        self.ids += tokens
        self.positions += range(position, position + len(tokens))
        self.segments += [number] * len(tokens)
        return number

    def add_tree(self, node: Node, prompts: Sequence[Tokens], parent: int = -1) -> None:
        """Add the tokens of a node and of all nodes below it."""
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
        probe: prompts for a self-check, of several documents with several claims each.
        row_tokens: the most tokens in one packed row; limits the memory of masks and activations.
        chunk_tokens: the most tokens of a prefix that are computed at once. Small chunks take less memory, and compute
            less attention that the mask hides.
        whole_tokens: a document and its claims with at most this many tokens together are one row, without a cache in
            between. Several such documents share a row.

    Raises:
        UnsupportedArchitecture: the model has layers that are neither full nor sliding-window attention, or its logits
            for the probe differ from those of one prompt at a time.
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
        self._kept: dict[tuple[int, ...], DynamicCache] = {}  # caches of instructions, the latest last
        #: May append columns to the logits of a pass; see ``Contradiction.append_columns``.
        self.append_columns: Callable[..., torch.Tensor] = lambda logits, row, ends: logits
        try:
            self._windows = _windows(model)
            # Check both ways: claims that continue a document from a cache, and claims in one row with it.
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
        """Yield (index, logits over the vocabulary after the last token) of every prompt, as they are computed."""
        if not prompts:
            return
        root = tree(prompts)
        if len(prompts) == 1:
            root.stop = 0  # a single prompt shares nothing
        cache = self._root(prompts[root.member][: root.stop], keep=len(root.children) > 1)
        yield from self._below(root, prompts, cache)

    @torch.inference_mode()
    def beginning(self, prompts: Sequence[Tokens]) -> DynamicCache:
        """Return the keys and values of the prompts' common prefix, from which generation continues.

        They are kept for the next call. For one prompt or a short prefix, only what is kept already is returned, which is
        mostly nothing. The prefix never has the last token of a prompt.
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
        """Yield each text's keys and values after a common beginning, layer by layer: (heads, tokens, size).

        Short texts share a pass, in which no text sees another.
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
            first = start
            for text in group:
                end = first + len(text)
                yield [(layer.keys[0, :, first:end], layer.values[0, :, first:end]) for layer in cache.layers]
                first = end

    def _groups(self, texts: Sequence[Tokens]) -> Iterator[list[Tokens]]:
        """Yield the texts in order, in groups that fit in one pass; a group has at least one text."""
        group: list[Tokens] = []
        for text in texts:
            if group and sum(map(len, group)) + len(text) > min(self._chunk_tokens, self._row_tokens):
                yield group
                group = []
            group.append(text)
        if group:
            yield group

    def shrink(self) -> bool:
        """Use half as much memory from now on; return False if that is no longer possible."""
        self._kept.clear()
        self._row_tokens, self._chunk_tokens = self._row_tokens // 2, self._chunk_tokens // 2
        return self._row_tokens >= 64

    def _root(self, tokens: Tokens, keep: bool) -> DynamicCache:
        """Return the keys and values of the prompts' common prefix.

        Instructions are kept for the next call, so they are computed once a run. A single document is not kept, since the
        next call is about another one.
        """
        prefix = tuple(tokens)
        cache = self._longest_kept(prefix)
        kept_tokens = cache.get_seq_length()
        if kept_tokens < len(prefix):
            cache = self.extend(cache, tokens[kept_tokens:])
        if keep and prefix:
            self._kept.pop(prefix, None)
            self._kept[prefix] = cache
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        return cache

    def _longest_kept(self, tokens: tuple[int, ...]) -> DynamicCache:
        """Return the kept cache of the longest prefix of these tokens, or an empty cache."""
        caches = [cache for prefix, cache in self._kept.items() if tokens[: len(prefix)] == prefix]
        return max(caches, key=DynamicCache.get_seq_length, default=DynamicCache())

    def _below(self, node: Node, prompts: Sequence[Tokens], cache: DynamicCache) -> Iterator:
        """Yield the logits of all prompts below a node whose tokens are in the cache.

        Small children share rows; a large child gets its own cache.
        """
        parts = [Node(i, node.stop, node.stop, leaves=[i]) for i in node.leaves]  # nodes without shared tokens
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
        """Return a cache of the given cache's tokens and these; the given cache does not change."""
        cache, position = _share(cache), cache.get_seq_length()
        for start in range(0, len(tokens), self._chunk_tokens):
            row = _Row()
            row.add(tokens[start : start + self._chunk_tokens], position + start)
            self._forward(self.model.base_model, row, cache)
        return cache

    def _run(self, row: _Row, cache: DynamicCache) -> Iterator[tuple[int, torch.Tensor]]:
        ends = torch.tensor(list(row.ends.values()), device=self.model.device)
        output = self._forward(self.model, row, _Ended(cache) if cache.layers else None, logits_to_keep=ends)
        yield from zip(row.ends, self.append_columns(output.logits[0], 0, ends), strict=True)

    def packed(self, groups: Sequence[Sequence[Tokens]]) -> tuple[dict[str, torch.Tensor], list[list[int]]]:
        """Pack each group of prompts into one row without a cache, for training.

        Shorter rows are padded with tokens that no other token sees.

        Returns:
            The model's inputs, and for each group the indices in its row at which its prompts end.
        """
        rows, ends = [], []
        for prompts in groups:
            rows.append(_Row())
            rows[-1].add_tree(tree(prompts), prompts)
            ends.append([rows[-1].ends[prompt] for prompt in range(len(prompts))])
        device, longest = self.model.device, max(len(row.ids) for row in rows)
        ids, positions = torch.zeros(2, len(rows), longest, dtype=torch.long, device=device)
        full = torch.eye(longest, dtype=torch.bool, device=device).repeat(len(rows), 1, 1, 1)
        for number, row in enumerate(rows):
            unpadded = slice(len(row.ids))
            ids[number, unpadded], positions[number, unpadded] = torch.tensor([row.ids, row.positions], device=device)
            full[number, 0, unpadded, unpadded] = self._sees(row)
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
        """Return the mask: each token sees all of the cache, and the tokens before it in its own prompt.

        It is None if plain causal attention, whose kernels are faster, does the same.
        """
        device = self.model.device
        if not past and len(row.parents) == 1 and all(w is None or w >= len(row.ids) for w in self._windows.values()):
            return None
        within_row = self._sees(row)
        full = torch.cat([within_row.new_ones(len(row.ids), past), within_row], 1)[None, None]
        positions = torch.tensor(row.positions, device=device)
        key_positions = torch.cat([torch.arange(past, device=device), positions])
        return self.masks(full, positions[:, None] - key_positions[None, :])

    def _sees(self, row: _Row) -> torch.Tensor:
        """Return which of a row's tokens each of them sees: (tokens, tokens)."""
        sees = torch.eye(len(row.parents), dtype=torch.bool)
        for number, parent in enumerate(row.parents):
            if parent >= 0:
                sees[number] |= sees[parent]
        segments = torch.tensor(row.segments, device=self.model.device)
        return sees.to(self.model.device)[segments[:, None], segments[None, :]].tril_()

    def masks(self, full: torch.Tensor, behind: torch.Tensor) -> torch.Tensor | dict[str, torch.Tensor]:
        """Return the attention mask in the form that the model takes: one mask, or one for each kind of layer.

        Args:
            full: whether a token (row) sees another (column) under full attention.
            behind: how many positions the column is behind the row; sliding windows end there.
        """
        masks = {
            kind: self._typed(full if window is None else full & (behind < window))
            for kind, window in self._windows.items()
        }
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def _typed(self, mask: torch.Tensor) -> torch.Tensor:
        """Return a mask of booleans for sdpa; for eager attention, the values that are added to its scores."""
        if self.model.config._attn_implementation == "sdpa":
            return mask
        dtype = self.model.dtype
        return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, torch.finfo(dtype).min)

    @torch.inference_mode()
    def _check(self, probe: Sequence[Tokens]) -> None:
        """Compare the next token's distribution over the vocabulary with that of one prompt at a time.

        In half precision, rounding alone changes the log-probabilities of rare words by .2 to .4, and the distributions by at
        most .05 (total variation, on checkpoints of 0.1 and 0.5 billion parameters; both ways are equally far from float32).
        A claim that sees another one changes the distributions by .29 or more. A wrong position may change them by less
        (.007 and .12). Single precision, with its limit of a ten-thousandth, detects that.

        Raises:
            UnsupportedArchitecture: they differ by more than rounding.
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
    """Return the window of each kind of the model's attention layers; None for full attention.

    Raises:
        UnsupportedArchitecture: the mask here does not fit this kind of attention.
    """
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    # The self-check would miss such a window if it is longer than the probe, as GPT-Neo's is.
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
    """Return a cache that grows independently of the given one. Tensors are shared, since growing makes new ones.

    Layers keep all tokens even with sliding-window attention, because the mask does the sliding: packed claims all
    continue from the same position, not one after the other.
    """
    shared = DynamicCache()
    shared.layers = [copy.copy(layer) for layer in cache.layers]
    return shared


class _Ended(DynamicCache):
    """A cache in its last use: attention sees the tokens that follow, but they are not kept."""

    def __init__(self, cache: DynamicCache):
        super().__init__()
        self.layers = cache.layers

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args, **kwargs):
        layer = self.layers[layer_idx]
        return torch.cat([layer.keys, key_states], -2), torch.cat([layer.values, value_states], -2)


# -- the tree of prompts -------------------------------------------------------------------------------


@dataclass
class Node:
    """A shared part of prompts: tokens ``start:stop`` of ``prompts[member]``.

    ``children`` are shared parts that continue it; ``leaves`` are the prompts that continue it without further sharing.
    """

    member: int
    start: int
    stop: int
    children: list[Node] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)

    def size(self, prompts: Sequence[Tokens]) -> int:
        """Return the number of tokens in this node and below it."""
        own = self.stop - self.start + sum(len(prompts[i]) - self.stop for i in self.leaves)
        return own + sum(child.size(prompts) for child in self.children)

    def members(self) -> list[int]:
        """Return the indices of the prompts that continue this node, with or without further sharing."""
        return self.leaves + [i for child in self.children for i in child.members()]


def tree(prompts: Sequence[Tokens], worth: int = WORTH) -> Node:
    """Arrange prompts in a tree by their common prefixes.

    Args:
        prompts: each prompt's token ids; no prompt is empty.
        worth: the fewest shared tokens that make a node.

    Returns:
        The root, which may have no tokens. Every prompt is a leaf once, with at least one token that is not in a node.

    >>> root = tree([[1, 2, 3, 4], [1, 2, 3, 5], [1, 9]], worth=2)
    >>> (root.start, root.stop, root.leaves), [(c.start, c.stop, c.leaves) for c in root.children]
    ((0, 1, [2]), [(1, 3, [0, 1])])
    """
    return _node(prompts, sorted(range(len(prompts)), key=lambda i: tuple(prompts[i])), 0, worth)


def _node(prompts: Sequence[Tokens], members: list[int], start: int, worth: int) -> Node:
    first, last = prompts[members[0]], prompts[members[-1]]
    limit = min(len(prompts[i]) for i in members) - 1  # every leaf keeps its last token, whose logits are wanted
    stop = start
    # Prompts are sorted, so a prefix of the first and the last one is a prefix of all.
    while stop < limit and first[stop] == last[stop]:
        stop += 1
    # Prompts with only one more token end here; the others may share more.
    node = Node(members[0], start, stop, leaves=[i for i in members if len(prompts[i]) == stop + 1])
    members = [i for i in members if len(prompts[i]) > stop + 1]
    for _, group in groupby(members, key=lambda i: prompts[i][stop]):
        same_token = list(group)
        if len(same_token) == 1:
            node.leaves += same_token
            continue
        child = _node(prompts, same_token, stop, worth)
        if child.stop - child.start >= worth:
            node.children.append(child)
            continue
        # The child is too short to be worth a node: whatever continues it computes its tokens again.
        node.leaves += child.leaves
        for grandchild in child.children:
            grandchild.start = stop
            node.children.append(grandchild)
    return node
