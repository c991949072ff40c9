"""A model whose finished calls are remembered: the same six roles, each looked up before it is computed.

Language models are cached below this level, per rendered prompt (see ``language``); this wrapper serves the
models that implement the roles directly. A verification is remembered per claim, so that a changed
decomposition recomputes the new claims only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass

from claimwise.models.base import (
    Critique,
    Decomposition,
    Feedback,
    Judgement,
    Model,
    Source,
    Text,
    Verdict,
)
from claimwise.models.cache import ResponseCache, cached, call_key, reader
from claimwise.models.cost import Usage
from claimwise.prompts import Prompt


class CachedModel:
    """Wraps a model and a cache; equal calls are made once, ever."""

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
            lambda at: enumerate(map(asdict, compute(at))),
            model=self.name,
            role=role,
            read=reader(result),
        )
        self.cache.note(self.name, role, Usage(unparsed=sum(bool(one.reason) for one in results)))
        return results

    def _rows(self, role: str, prompt: Prompt, result: type, *columns: Sequence) -> list:
        """A role that maps row i of its columns to result i."""

        def compute(at: list[int]) -> list:
            return getattr(self.model, role)(*[[column[i] for i in at] for column in columns], prompt)

        inputs = [[_plain(value) for value in row] for row in zip(*columns, strict=True)]
        return self._look_up(role, prompt, result, inputs, compute)

    def decompose(self, passages: Sequence[str], prompt: Prompt) -> list[Decomposition]:
        """See ``Model.decompose``."""
        return self._rows("decompose", prompt, Decomposition, passages)

    def judge(self, documents: Sequence[str], summaries: Sequence[str], prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``."""
        return self._rows("judge", prompt, Judgement, documents, summaries)

    def critique(self, documents: Sequence[str], statements: Sequence[str], prompt: Prompt) -> list[Critique]:
        """See ``Model.critique``."""
        return self._rows("critique", prompt, Critique, documents, statements)

    def revise(
        self, documents: Sequence[str], summaries: Sequence[str], feedback: Sequence[Feedback], prompt: Prompt
    ) -> list[Text]:
        """See ``Model.revise``."""
        return self._rows("revise", prompt, Text, documents, summaries, feedback)

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Sequence[str], prompt: Prompt) -> list[Text]:
        """See ``Model.summarise``."""
        return self._rows("summarise", prompt, Text, sources, questions)

    def verify(
        self,
        documents: Sequence[str],
        claims: Sequence[Sequence[str]],
        prompt: Prompt,
        extras: Sequence[str] | None = None,
    ) -> list[list[Verdict]]:
        """See ``Model.verify``."""
        flat = [(i, claim) for i, group in enumerate(claims) for claim in group]
        inputs = [[documents[i], claim, extras[i] if extras is not None else None] for i, claim in flat]

        def compute(at: list[int]) -> list[Verdict]:
            wanted: dict[int, list[int]] = {}
            for position in at:
                wanted.setdefault(flat[position][0], []).append(position)
            groups = self.model.verify(
                [documents[i] for i in wanted],
                [[flat[p][1] for p in positions] for positions in wanted.values()],
                prompt,
                [extras[i] for i in wanted] if extras is not None else None,
            )
            computed = {
                position: verdict
                for positions, verdicts in zip(wanted.values(), groups, strict=True)
                for position, verdict in zip(positions, verdicts, strict=True)
            }
            return [computed[position] for position in at]

        found = iter(self._look_up("verify", prompt, Verdict, inputs, compute))
        return [[next(found) for _ in group] for group in claims]

    def unsupported_words(self, documents: Sequence[str], texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """See ``WordMarker``."""
        role = "unsupported_words"
        pairs = list(zip(documents, texts, strict=True))
        return cached(
            self.cache,
            [call_key(model=self.fingerprint, role=role, input=pair) for pair in pairs],
            lambda at: enumerate(self.model.unsupported_words(*zip(*(pairs[i] for i in at), strict=True))),
            model=self.name,
            role=role,
            read=reader(list[tuple[int, int]]),
        )


def _plain(value: object) -> object:
    """What json can write, of a role's input: text, feedback, or a list of sources."""
    if is_dataclass(value):
        return asdict(value)
    return value if isinstance(value, str) else [_plain(item) for item in value]
