"""A local checkpoint as a language model. Replies from the cache need no weights, and not even torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from claimwise.models.cost import Usage
from claimwise.models.options import TransformersOptions
from claimwise.models.replies import Reply
from claimwise.models.weights import fingerprint
from claimwise.prompts import Decoding

if TYPE_CHECKING:
    from claimwise.models.transformers_engine import Engine

_FRAME = 2048  # bytes; no chat template adds so many to a prompt


class TransformersLanguageModel:
    """See ``replies.LanguageModel``; replies are greedy, and do not depend on other prompts, except for rounding.

    Yes and No are read from the logits after the prompt: the probabilities of all single-token spellings of each
    ("Yes", " Yes", "yes", ...) are summed, including those after a separate blank token. Prompts about one document
    share its computation (see ``prefix``). If the architecture does not allow that, a warning says why, and prompts run
    in padded batches.
    """

    def __init__(self, options: TransformersOptions):
        self._options = options
        self.name = Path(options.adapter or options.file or options.model).name.removesuffix(".gguf")
        if options.contradiction:
            self.name += f"-{Path(options.contradiction).stem}"
        self.fingerprint = fingerprint(options)
        self.tally = Usage()
        self._lock = Lock()  # one thread computes at a time: the engine keeps what it has read

    @cached_property
    def engine(self) -> Engine:
        """The engine. It is imported and its weights are loaded at the first use, since both take seconds."""
        from claimwise.models.transformers_engine import Engine

        return Engine(self._options, self.name)

    def count(self, text: str) -> int:
        """Return the number of tokens of a prompt with its chat template."""
        return len(self.engine.checkpoint.encode(text))

    def longest_reply(self, how: Decoding) -> int:
        """See ``LanguageModel``."""
        return 1 if how.choices and all(map(self.engine.checkpoint.spellings, how.choices)) else how.max_tokens

    def fits(self, prompt: str, how: Decoding) -> bool:
        """See ``LanguageModel``; in an encoder-decoder, prompt and reply do not share positions."""
        context = self._options.context or self.engine.checkpoint.context
        # A token is at least a byte, so most prompts certainly fit, without counting tokens or loading weights.
        size = len(((self._options.system or "") + prompt).encode("utf-8", "surrogatepass")) + _FRAME
        if context is None or size + how.max_tokens <= context:
            return True
        return self.count(prompt) <= context - (0 if self.engine.checkpoint.encoder_decoder else how.max_tokens)

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``."""
        with self._lock:
            for index, reply, read, written in self.engine.replies(prompts, how):
                self.tally += Usage(calls=1, prompt_tokens=read, reply_tokens=written)
                yield index, reply
