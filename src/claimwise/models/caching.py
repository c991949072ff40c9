"""A model with a cache: each call of a role is looked up before it is computed.

This wrapper is for models that play the roles directly. The calls of language models are cached one level below, by
rendered prompt (see ``language``). Verdicts are cached by claim, so a changed decomposition recomputes only new claims.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from functools import partialmethod
from typing import Any

from claimwise.models.base import Critique, Decomposition, Judgement, Model, Text, Texts, Verdict
from claimwise.models.cache import ResponseCache, cached, call_key, reader
from claimwise.models.cost import Usage
from claimwise.prompts import Prompt


class CachedModel:
    """A model and its cache; equal calls are computed only once, even in later runs."""

    def __init__(self, model: Model, cache: ResponseCache):
        self.model = model
        self.cache = cache
        self.name = model.name
        self.fingerprint = model.fingerprint
        self.words_measured: str = getattr(model, "words_measured", "")

    def _look_up(
        self, role: str, prompt: Prompt, result: type, inputs: Sequence, compute: Callable[[list[int]], list]
    ) -> list:
        keys = [call_key(model=self.fingerprint, role=role, prompt=prompt.fingerprint, input=value) for value in inputs]
        results = cached(
            self.cache,
            keys,
            lambda positions: enumerate(map(asdict, compute(positions))),
            model=self.name,
            role=role,
            read=reader(result),
        )
        self.cache.note(self.name, role, Usage(unparsed=sum(bool(one.reason) for one in results)))
        return results

    def _rows(self, role: str, result: type, *arguments: Any) -> list:
        """Play a role that has one result for each row of its columns, such as documents and summaries."""
        *columns, prompt = arguments

        def compute(positions: list[int]) -> list:
            return getattr(self.model, role)(*[[column[i] for i in positions] for column in columns], prompt)

        rows = zip(*columns, strict=True)
        inputs = [[asdict(value) if is_dataclass(value) else value for value in row] for row in rows]
        return self._look_up(role, prompt, result, inputs, compute)

    decompose = partialmethod(_rows, "decompose", Decomposition)
    judge = partialmethod(_rows, "judge", Judgement)
    critique = partialmethod(_rows, "critique", Critique)
    revise = partialmethod(_rows, "revise", Text)
    summarise = partialmethod(_rows, "summarise", Text)

    def verify(
        self, documents: Texts, claims: Sequence[Texts], prompt: Prompt, extras: Texts | None = None
    ) -> list[list[Verdict]]:
        """See ``Model.verify``."""
        flat = [(i, claim) for i, group in enumerate(claims) for claim in group]
        inputs = [[documents[i], claim, extras[i] if extras is not None else None] for i, claim in flat]

        def compute(positions: list[int]) -> list[Verdict]:
            new_claims: dict[int, list[str]] = {}  # by the index of their document
            for i, claim in (flat[position] for position in positions):
                new_claims.setdefault(i, []).append(claim)
            groups = self.model.verify(
                [documents[i] for i in new_claims],
                list(new_claims.values()),
                prompt,
                [extras[i] for i in new_claims] if extras is not None else None,
            )
            # These are in the order of ``positions``, which rise, and so go through one document after the other.
            return [verdict for group in groups for verdict in group]

        verdicts = iter(self._look_up("verify", prompt, Verdict, inputs, compute))
        return [[next(verdicts) for _ in group] for group in claims]

    def unsupported_words(self, documents: Texts, texts: Texts) -> list[list[tuple[int, int]]]:
        """See ``WordMarker``."""
        role = "unsupported_words"
        pairs = list(zip(documents, texts, strict=True))
        return cached(
            self.cache,
            [call_key(model=self.fingerprint, role=role, input=pair) for pair in pairs],
            lambda new: enumerate(self.model.unsupported_words(*zip(*(pairs[i] for i in new), strict=True))),
            model=self.name,
            role=role,
            read=reader(list[tuple[int, int]]),
        )
