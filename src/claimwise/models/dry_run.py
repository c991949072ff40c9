"""What a run would ask of a language model, counted before anything is asked: ``--dry-run``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from claimwise.models.cache import ResponseCache
from claimwise.models.cost import CLAIMS, Usage
from claimwise.models.language import PromptedModel
from claimwise.models.replies import LanguageModel, Reply
from claimwise.prompts import Decoding


def dry_run(model: PromptedModel) -> PromptedModel:
    """The model without asking it anything; ``cache.usage`` counts what it would be asked.

    Prompts are counted in full (an engine that shares prefixes reads less), replies as the longest. Every decomposition by
    the language model gives ``CLAIMS`` claims; what is in the model's cache is not counted. Nothing is stored.

    >>> from claimwise import prompts
    >>> from claimwise.models.replies import RecordedReplies
    >>> dry = dry_run(PromptedModel(RecordedReplies("m", {}), ResponseCache(":memory:")))
    >>> claims = dry.decompose(["It rained."], prompts.load("acueval-decompose-5shot"))[0].claims
    >>> _ = dry.verify(["It rained."], [[claim.text for claim in claims]], prompts.load("acueval-verify-zeroshot"))
    >>> dry.cache.usage.calls
    9
    """
    dry = copy.copy(model)
    dry.language_model, dry.cache = _Counting(model.language_model), _Unwritten(model.cache)
    return dry


class _Unwritten(ResponseCache):
    """A response cache that is read and never written: what is put stays in memory, so that it is counted once."""

    def __init__(self, cache: ResponseCache):
        super().__init__(":memory:")
        self._cache, self.usage = cache, Usage()

    def get(self, keys: Sequence[str], *read: Callable[[Any], Any]) -> dict[str, Any]:
        put = super().get(keys, *read)
        return put | self._cache.get([key for key in keys if key not in put], *read)

    def note(self, model: str, role: str, usage: Usage) -> None:
        self.usage += usage


class _Counting:
    """A language model that answers in another's place without asking it: a list of claims, or equal probabilities.

    No two of its lists are alike, so that the calls which verify their claims are all counted.
    """

    def __init__(self, model: LanguageModel):
        self.name, self.fingerprint = model.name, model.fingerprint
        self.count, self.longest_reply, self.fits = model.count, model.longest_reply, model.fits
        self.tally = Usage()

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``."""
        for index, prompt in enumerate(prompts):
            self.tally += Usage(calls=1, prompt_tokens=self.count(prompt), reply_tokens=self.longest_reply(how))
            if how.choices:
                yield index, Reply(probabilities=(1.0 / len(how.choices),) * len(how.choices))
            else:
                lines = (
                    f"- This is claim number {k} of reply number {self.tally.calls}." for k in range(1, CLAIMS + 1)
                )
                yield index, Reply("\n".join(lines))
