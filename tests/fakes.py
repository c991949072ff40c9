"""Models whose answers can be worked out by hand, and models of servers and checkpoints that the tests make."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from claimwise import models, text
from claimwise.models.base import NAN, Claim, Critique, Decomposition, Feedback, Judgement, Source, Text, Verdict
from claimwise.models.cache import ResponseCache
from claimwise.models.cost import Usage
from claimwise.models.language import PromptedModel
from claimwise.models.replies import LanguageModel, Reply
from claimwise.prompts import Decoding, Prompt

#: A claim or summary with this word gets a reply that cannot be read.
MUMBLE = "mumble"


def overlap(statement: str, document: str) -> float:
    """Share of the statement's distinct words that stand in the document."""
    wanted, found = set(text.words(statement)), set(text.words(document))
    return len(wanted & found) / len(wanted) if wanted else 0.0


class FakeModel:
    """Claims are sentences, support is the share of a claim's words that the document has.

    ``calls`` counts inputs by role (claims, for ``verify``), ``batches`` how often a role was asked.
    """

    def __init__(self, fingerprint: str = "fake-1"):
        self.name, self.fingerprint = "fake", fingerprint
        self.calls: Counter[str] = Counter()
        self.batches: Counter[str] = Counter()

    def _count(self, role: str, inputs: Sequence) -> None:
        self.calls[role] += len(inputs)
        self.batches[role] += 1

    def decompose(self, passages: Sequence[str], prompt: Prompt) -> list[Decomposition]:
        self._count("decompose", passages)
        return [
            Decomposition(tuple(Claim(span.text, span.start, span.end) for span in text.sentences(passage)))
            if MUMBLE not in passage
            else Decomposition((), "no bullet in the reply")
            for passage in passages
        ]

    def verify(
        self,
        documents: Sequence[str],
        claims: Sequence[Sequence[str]],
        prompt: Prompt,
        extras: Sequence[str] | None = None,
    ) -> list[list[Verdict]]:
        self._count("verify", [claim for group in claims for claim in group])
        shown = list(documents)
        if prompt.context == "document+extra":
            shown = [f"{document} {extra}" for document, extra in zip(documents, extras, strict=True)]
        return [
            [self._verdict(document, claim) for claim in group] for document, group in zip(shown, claims, strict=True)
        ]

    @staticmethod
    def _verdict(document: str, claim: str) -> Verdict:
        if MUMBLE in claim:
            return Verdict(NAN, "neither Yes nor No in the reply")
        near = [overlap(claim, span.text) for span in text.sentences(document)]
        return Verdict(overlap(claim, document), None, (near.index(max(near)),))

    def judge(self, documents: Sequence[str], summaries: Sequence[str], prompt: Prompt) -> list[Judgement]:
        self._count("judge", summaries)
        return [
            Judgement(NAN, "no rating in the reply") if MUMBLE in summary else Judgement(overlap(summary, document))
            for document, summary in zip(documents, summaries, strict=True)
        ]

    def critique(self, documents: Sequence[str], statements: Sequence[str], prompt: Prompt) -> list[Critique]:
        self._count("critique", statements)
        results = []
        for document, statement in zip(documents, statements, strict=True):
            known = set(text.words(document))
            unknown = [word for word in text.words(statement) if word not in known]
            results.append(Critique("Not in the document: " + " ".join(unknown), float(not unknown)))
        return results

    def revise(
        self, documents: Sequence[str], summaries: Sequence[str], feedback: Sequence[Feedback], prompt: Prompt
    ) -> list[Text]:
        """Drops the sentences that the feedback names; keeps everything for a comment alone."""
        self._count("revise", summaries)
        return [
            Text(None, "empty reply")
            if MUMBLE in summary
            else Text(" ".join(s.text for s in text.sentences(summary) if s.text not in told.unsupported))
            for summary, told in zip(summaries, feedback, strict=True)
        ]

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Sequence[str], prompt: Prompt) -> list[Text]:
        self._count("summarise", questions)
        return [
            Text(" ".join(f"{source.reference}: {text.sentences(source.text)[0].text}" for source in group))
            for group in sources
        ]


class Scripted:
    """A language model that answers by a function of the prompt; one character is one token, two are spent on a reply."""

    name = fingerprint = "scripted"

    def __init__(self, answer: Callable[[str], Reply | str], context: int | None = None, fail_after: int | None = None):
        self.answer, self.context, self.fail_after = answer, context, fail_after
        self.tally, self.asked = Usage(), []

    def replies(self, asked: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        for index in reversed(range(len(asked))):  # any order is allowed
            if self.fail_after is not None and len(self.asked) >= self.fail_after:
                raise ConnectionError("the server is gone")
            self.asked.append(asked[index])
            self.tally += Usage(calls=1, prompt_tokens=10, reply_tokens=2)
            reply = self.answer(asked[index])
            yield index, reply if isinstance(reply, Reply) else Reply(reply)

    def fits(self, prompt: str, how: Decoding) -> bool:
        return self.context is None or self.count(prompt) <= self.context - how.max_tokens

    def count(self, text: str) -> int:
        return len(text)

    def longest_reply(self, how: Decoding) -> int:
        return 1 if how.choices else how.max_tokens


def by_claim(replies: Mapping[str, Reply | str]) -> Callable[[str], Reply | str]:
    """An answer that depends on the claim which a prompt asks about."""
    return lambda prompt: next(reply for claim, reply in replies.items() if f"Statement: {claim}" in prompt)


def prompted(language_model: LanguageModel, cache: ResponseCache | None = None, *more: Any) -> PromptedModel:
    """A model of prompts and parsers, with finished calls in memory where no other place is given."""
    return PromptedModel(language_model, cache or ResponseCache(":memory:"), *more)


def openai_model(cache: ResponseCache | None = None, **options: Any) -> PromptedModel:
    """The model behind an OpenAI-compatible server."""
    return models.load({"kind": "openai", **options}, cache)


def transformers_model(**options: Any) -> PromptedModel:
    """A checkpoint on this machine."""
    return models.load({"kind": "transformers", **options})
