"""A model that compares words and learned nothing: the floor under every other one, and a second opinion beside it.

It plays all roles without a prompt's help: claims are sentences, support is the share of a statement's content words
that the document has, and a revision drops what the feedback names.
"""

import math
from collections.abc import Sequence

from claimwise import text
from claimwise.models.base import (
    Claim,
    Critique,
    Decomposition,
    Feedback,
    Judgement,
    Source,
    Text,
    Texts,
    Verdict,
    needs_language_model,
)
from claimwise.prompts import Prompt
from claimwise.reasons import Reason
from claimwise.words import FUNCTION_WORDS, stem

#: Share of content words in the document at which a statement is as likely supported as not. Chosen on the
#: validation part of the sample's cited summaries.
EVEN = 0.75
_POWER = math.log(0.5) / math.log(EVEN)


def content(statement: str) -> list[str]:
    """Stems of a statement's words without function words, each once.

    >>> content("The bills fell in both arms.")
    ['bill', 'fell', 'arm']
    """
    words = (word for word in text.words(statement) if word not in FUNCTION_WORDS)
    return list(dict.fromkeys(stem(word) for word in words))


class LexicalModel:
    """Word overlap in every role."""

    name = "lexical"
    fingerprint = f"lexical-1:{EVEN}"

    def decompose(self, passages: Texts, prompt: Prompt) -> list[Decomposition]:
        """See ``Model.decompose``: the sentences."""
        return [
            Decomposition(tuple(Claim(span.text, span.start, span.end) for span in text.sentences(passage)))
            for passage in passages
        ]

    def verify(
        self, documents: Texts, claims: Sequence[Texts], prompt: Prompt, extras: Texts | None = None
    ) -> list[list[Verdict]]:
        """See ``Model.verify``; the evidence is the sentence that has most of the claim's words."""
        if reason := needs_language_model(prompt):
            return [[Verdict(math.nan, reason)] * len(group) for group in claims]
        results = []
        for document, group in zip(documents, claims, strict=True):
            lines = [set(content(span.text)) for span in text.sentences(document)]
            results.append([_verdict(content(claim), lines) for claim in group])
        return results

    def judge(self, documents: Texts, summaries: Texts, prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``: the whole summary as one statement."""
        verdicts = self.verify(documents, [[summary] for summary in summaries], prompt)
        return [Judgement(verdict.support, verdict.reason) for [verdict] in verdicts]

    def critique(self, documents: Texts, statements: Texts, prompt: Prompt) -> list[Critique]:
        """See ``Model.critique``: the words that the document does not have."""
        results = []
        for document, statement, judged in zip(
            documents, statements, self.judge(documents, statements, prompt), strict=True
        ):
            new = set(content(statement)) - set(content(document))
            unknown = [word for word in text.words(statement) if stem(word) in new]
            comment = f"Not in the document: {', '.join(dict.fromkeys(unknown))}." if unknown else "Nothing is new."
            results.append(Critique(comment, judged.score, reason=judged.reason))
        return results

    def revise(self, documents: Texts, summaries: Texts, feedback: Sequence[Feedback], prompt: Prompt) -> list[Text]:
        """See ``Model.revise``: drops the sentences that the feedback names, unless that would leave none."""
        results = []
        for summary, told in zip(summaries, feedback, strict=True):
            kept = [span.text for span in text.sentences(summary) if span.text not in told.unsupported]
            results.append(Text(" ".join(kept) if kept else summary))
        return results

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Texts, prompt: Prompt) -> list[Text]:
        """See ``Model.summarise``: of each source the sentence that shares most words with the question."""
        results = []
        for group, question in zip(sources, questions, strict=True):
            wanted = set(content(question))
            lines = []
            for source in group:
                spans = [span.text for span in text.sentences(source.text)]
                if spans:
                    best = max(spans, key=lambda line: len(wanted & set(content(line))))
                    lines.append(f"{source.reference} reports: {best}")
            results.append(Text(" ".join(lines)) if lines else Text(None, "no source has text"))
        return results


def _verdict(wanted: Sequence[str], lines: Sequence[set[str]]) -> Verdict:
    if not wanted:
        return Verdict(math.nan, Reason.NO_CONTENT_WORDS)
    known = set().union(*lines)
    share = sum(word in known for word in wanted) / len(wanted)
    shared = [len(line.intersection(wanted)) for line in lines]
    return Verdict(share**_POWER, None, (shared.index(max(shared)),) if shared else ())
