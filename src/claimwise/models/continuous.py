"""Continuous batching of greedy replies: when a reply ends, the next prompt takes its row.

On a CPU, a step of one row takes nearly as long as a step of ten, since all weights are read in both. A batch that waits
for its longest reply would write fewer and fewer tokens a step.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import Cache, DynamicCache, LogitsProcessorList, PreTrainedModel

from claimwise.models.prefix import SharedPrefix, Tokens, tree

#: Options of ``generate`` for the most probable token at every step, whatever else a checkpoint suggests.
GREEDY: dict[str, Any] = {"do_sample": False, "num_beams": 1, "temperature": None, "top_p": None, "top_k": None}


@torch.inference_mode()
def write(
    shared: SharedPrefix,
    prompts: Sequence[Tokens],
    longest_reply: int,
    ended: Callable[[list[int]], bool],
    room: Callable[[int, int], int],
) -> Iterator[tuple[int, list[int]]]:
    """Write the reply to each prompt that a greedy ``generate`` of this prompt alone writes; shared prefixes run once.

    Args:
        shared: runs the model.
        prompts: each prompt's token ids; no prompt is empty.
        longest_reply: the most tokens of a reply.
        ended: whether a reply of these tokens is complete, although it could be longer.
        room: the number of rows to write at once. Its arguments are the length of a row with the longest reply, and how
            many of these tokens all rows share.

    Yields:
        (index of the prompt, tokens of its reply) as replies end.
    """
    if not prompts:
        return
    beginning = shared.beginning(prompts)
    shared_tokens = beginning.get_seq_length()
    batch = _Batch(shared, beginning)
    root = tree(prompts)
    # Prompts about the same document, and the length of their common prefix with the document.
    groups = [(child.members(), child.stop) for child in root.children] + [([i], shared_tokens) for i in root.leaves]
    # The longest come first: if memory does not suffice, this shows early, and later there is room for more rows.
    groups.sort(key=lambda group: -max(len(prompts[i]) for i in group[0]))
    prefix_length = {i: length for members, length in groups for i in members}
    waiting = deque(prefix_length)
    texts = [list(prompt) for prompt in prompts]  # they grow with their replies
    processors: dict[int, LogitsProcessorList] = {}
    rows: list[int] = []  # the index of each row's prompt
    while waiting or rows:
        if waiting:
            length = longest_reply + max(len(prompts[i]) for i in (*waiting, *rows))
            free = max(1, room(length, shared_tokens)) - len(rows)
            new = [waiting.popleft() for _ in range(min(free, len(waiting)))]
            processors |= {i: _logits_processor(shared.model, prompts[i], longest_reply) for i in new}
            # Without the last token of a prompt: the first step reads it.
            batch.add(len(rows), [(texts[i][:-1], prefix_length[i]) for i in new], length)
            rows += new
        logits = batch.step([texts[i] for i in rows])
        for scores, i in zip(logits, rows, strict=True):
            if processors[i]:
                scores[:] = processors[i](torch.tensor([texts[i]], device=scores.device), scores[None])[0]
        for i, token in zip(rows, logits.argmax(-1).tolist(), strict=True):
            texts[i].append(token)
        # Backwards, because the last row takes the place of a row that has ended: by then it has been checked itself.
        for row, i in reversed(list(enumerate(rows))):
            reply = texts[i][len(prompts[i]) :]
            if len(reply) == longest_reply or ended(reply):
                yield i, reply
                last = rows.pop()
                if row < len(rows):
                    rows[row] = last
                    batch.move(len(rows), row)


def goes_in_circles(reply: Tokens) -> bool:
    """Whether a reply ends with the same passage of 8 or more tokens three times: it would go on like that to its limit.

    Of the 192 lists of claims that Qwen2.5-Coder-1.5B wrote about the sample, 36 repeated themselves up to the limit of 256
    tokens, without any further claim.

    >>> goes_in_circles([1, 2, *range(3, 11), *range(3, 11), *range(3, 11)]), goes_in_circles(list(range(30)))
    (True, False)
    """
    return any(
        reply[-length:] == reply[-2 * length : -length] == reply[-3 * length : -2 * length]
        for length in range(8, len(reply) // 3 + 1)
        if reply[-1] == reply[-1 - length]  # a quick test that rules out most lengths
    )


def _logits_processor(model: PreTrainedModel, prompt: Tokens, longest_reply: int) -> LogitsProcessorList:
    """Return what ``generate`` applies to logits before it takes the greatest, such as a checkpoint's repetition penalty."""
    ids = torch.tensor([prompt], device=model.device)
    return model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=longest_reply,
        pad_token_id=0,  # nothing is padded, but ``generate`` warns if it is not set
        custom_generate=lambda model, ids, logits_processor, **_: logits_processor,
        **GREEDY,
    )


class _Batch(Cache):
    """A cache of rows of different lengths, in which each token's keys and values are at its own position.

    A new prompt overwrites a row that has ended. The mask hides what is left of the old row after the new one's last token.
    So a step copies nothing, unlike a cache that grows by concatenation.
    """

    def __init__(self, shared: SharedPrefix, beginning: DynamicCache):
        super().__init__(layers=[])  # the tensors are in `_layers`
        self._shared, self._beginning = shared, beginning
        self._prefix: tuple[Tokens, DynamicCache] = [], beginning  # the latest one, kept for its next rows
        self._size = 0, 0  # the rows and positions that the tensors have room for
        self._layers: list[list[torch.Tensor]] = []  # each layer's keys and values: (rows, heads, positions, size)
        self._written: tuple[torch.Tensor, int]  # a step's positions, and the length of the longest row

    def add(self, first: int, texts: Sequence[tuple[Tokens, int]], length: int) -> None:
        """Read texts into the rows from ``first`` on.

        Args:
            first: the number of the first row to write.
            texts: each text's tokens, and the length of its prefix. Texts with the same prefix follow each other.
            length: the length that rows may grow to. It never rises from call to call.
        """
        if first + len(texts) > self._size[0]:
            self._size = first + len(texts), length
        row = first
        for prefix, group in groupby(texts, key=lambda text: text[0][: text[1]]):
            if self._prefix[0] != prefix:
                new_tokens = prefix[self._beginning.get_seq_length() :]
                self._prefix = prefix, self._shared.extend(self._beginning, new_tokens)
            cache = self._prefix[1]
            for text_layers in self._shared.after(cache, [text[len(prefix) :] for text, _ in group]):
                for layer, (keys, values) in enumerate(text_layers):
                    if prefix:
                        shared = cache.layers[layer]
                        self._put(layer, row, 0, shared.keys[0], shared.values[0])
                    self._put(layer, row, len(prefix), keys, values)
                row += 1

    def step(self, texts: Sequence[Tokens]) -> torch.Tensor:
        """Read the last token of each row's text, and return the logits after it. The tokens before have been read."""
        model, longest = self._shared.model, max(map(len, texts))
        positions = torch.tensor([len(text) - 1 for text in texts], device=model.device)
        self._written = positions, longest
        behind = positions[:, None, None, None] - torch.arange(longest, device=model.device)
        output = model(
            input_ids=torch.tensor([[text[-1]] for text in texts], device=model.device),
            position_ids=positions[:, None],
            attention_mask=self._shared.masks(behind >= 0, behind),
            past_key_values=self,
            use_cache=True,
        )
        return output.logits[:, -1].float()

    def move(self, row: int, target: int) -> None:
        """Copy a row over another one."""
        for tensor in chain.from_iterable(self._layers):
            tensor[target] = tensor[row]

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args, **kwargs):
        """Write the next token of every row in a layer, and return the keys and values that the rows have so far."""
        positions, longest = self._written
        rows = torch.arange(len(positions))
        tensors = self._layer(layer_idx, key_states[0], value_states[0])
        for tensor, new in zip(tensors, (key_states, value_states), strict=True):
            tensor[rows, :, positions.to(tensor.device)] = new[:, :, 0]
        return tuple(tensor[: len(rows), :, :longest] for tensor in tensors)

    def _put(self, layer: int, row: int, start: int, *keys_and_values: torch.Tensor) -> None:
        """Write a row's keys and values in a layer from a position on; their shape is (heads, tokens, size)."""
        for tensor, new in zip(self._layer(layer, *keys_and_values), keys_and_values, strict=True):
            tensor[row, :, start : start + new.shape[1]] = new

    def _layer(self, layer: int, *keys_and_values: torch.Tensor) -> list[torch.Tensor]:
        """Return a layer's keys and values, with room for all rows; the given ones show their heads and size."""
        rows, length = self._size
        if layer == len(self._layers):
            self._layers.append([new.new_zeros(rows, len(new), length, new.shape[2]) for new in keys_and_values])
        tensors = self._layers[layer]
        if tensors[0].shape[::2] != (rows, length):
            # More rows, and perhaps fewer positions.
            padding = (0, 0, 0, length - tensors[0].shape[2], 0, 0, 0, rows - len(tensors[0]))
            tensors[:] = (pad(tensor, padding) for tensor in tensors)
        return tensors
