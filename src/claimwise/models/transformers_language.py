"""A local checkpoint as a language model. What is remembered needs no weights, and not even torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from claimwise.models.cost import Usage
from claimwise.models.options import TransformersOptions
from claimwise.models.replies import Reply
from claimwise.models.weights import fingerprint
from claimwise.prompts import Decoding

if TYPE_CHECKING:
    from claimwise.models.transformers_engine import Engine

_FRAME = 2048  # bytes that no chat template adds to a prompt


class TransformersLanguageModel:
    """See ``replies.LanguageModel``; replies are greedy, and but for rounding do not depend on what else is asked.

    Yes and No are read from the logits after the prompt: the probabilities of all single-token spellings of each
    ("Yes", " Yes", "yes", ...) are summed, also those after a blank that is a token of its own. The prompts of one
    document share its computation (see ``prefix``); where the architecture does not allow that, a warning says why and
    padded batches are run.
    """

    def __init__(self, options: TransformersOptions):
        self._options = options
        self.name = Path(options.adapter or options.file or options.model).name.removesuffix(".gguf")
        if options.contradiction:
            self.name += f"-{Path(options.contradiction).stem}"
        self.fingerprint = fingerprint(options)
        self.tally = Usage()

    @cached_property
    def engine(self) -> Engine:
        """Imported, and its weights loaded, when something is asked that is not remembered: both take seconds."""
        from claimwise.models.transformers_engine import Engine

        return Engine(self._options, self.name)

    def count(self, text: str) -> int:
        """Tokens of a prompt with its frame."""
        return len(self.engine.checkpoint.encode(text))

    def longest_reply(self, how: Decoding) -> int:
        """See ``LanguageModel``."""
        return 1 if how.choices and all(map(self.engine.checkpoint.spellings, how.choices)) else how.max_tokens

    def fits(self, prompt: str, how: Decoding) -> bool:
        """See ``LanguageModel``; what an encoder reads and what a decoder writes share no positions."""
        context = self._options.context or self.engine.checkpoint.context
        # A token is at least a byte, so most prompts are known to fit before tokens are counted, or weights loaded.
        size = len(((self._options.system or "") + prompt).encode("utf-8", "surrogatepass")) + _FRAME
        if context is None or size + how.max_tokens <= context:
            return True
        return self.count(prompt) <= context - (0 if self.engine.checkpoint.encoder_decoder else how.max_tokens)

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``."""
        for index, reply, read, written in self.engine.replies(prompts, how):
            self.tally += Usage(calls=1, prompt_tokens=read, reply_tokens=written)
            yield index, reply
