"""A model that only compares words: a baseline for all others, and a second opinion.

It plays all roles and ignores prompts. Claims are sentences, support grows with the share of a statement's content words
that are in the document, and a revision drops the statements that the feedback names.
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

#: The share of content words at which support is 0.5. It was chosen on the validation part of the sample's cited summaries.
EVEN = 0.75
_POWER = math.log(0.5) / math.log(EVEN)


def content(statement: str) -> list[str]:
    """Return the stems of a statement's words, each once, without function words.

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
        """See ``Model.decompose``; the claims are the sentences."""
        return [
            Decomposition(tuple(Claim(span.text, span.start, span.end) for span in text.sentences(passage)))
            for passage in passages
        ]

    def verify(
        self, documents: Texts, claims: Sequence[Texts], prompt: Prompt, extras: Texts | None = None
    ) -> list[list[Verdict]]:
        """See ``Model.verify``; the evidence is the sentence with most of the claim's words."""
        if reason := needs_language_model(prompt):
            return [[Verdict(math.nan, reason)] * len(group) for group in claims]
        results = []
        for document, group in zip(documents, claims, strict=True):
            sentences = [set(content(span.text)) for span in text.sentences(document)]
            results.append([_verdict(content(claim), sentences) for claim in group])
        return results

    def judge(self, documents: Texts, summaries: Texts, prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``; the whole summary is one statement."""
        verdicts = self.verify(documents, [[summary] for summary in summaries], prompt)
        return [Judgement(verdict.support, verdict.reason) for [verdict] in verdicts]

    def critique(self, documents: Texts, statements: Texts, prompt: Prompt) -> list[Critique]:
        """See ``Model.critique``; it lists the words that are not in the document."""
        results = []
        for document, statement, judged in zip(
            documents, statements, self.judge(documents, statements, prompt), strict=True
        ):
            new_stems = set(content(statement)) - set(content(document))
            new = [word for word in text.words(statement) if stem(word) in new_stems]
            comment = f"Not in the document: {', '.join(dict.fromkeys(new))}." if new else "Nothing is new."
            results.append(Critique(comment, judged.score, reason=judged.reason))
        return results

    def revise(self, documents: Texts, summaries: Texts, feedback: Sequence[Feedback], prompt: Prompt) -> list[Text]:
        """See ``Model.revise``; it drops the sentences that the feedback names, unless none would be left."""
        results = []
        for summary, one in zip(summaries, feedback, strict=True):
            kept = [span.text for span in text.sentences(summary) if span.text not in one.unsupported]
            results.append(Text(" ".join(kept) if kept else summary))
        return results

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Texts, prompt: Prompt) -> list[Text]:
        """See ``Model.summarise``; it takes from each source the sentence that shares most words with the question."""
        results = []
        for group, question in zip(sources, questions, strict=True):
            question_stems = set(content(question))
            lines = []
            for source in group:
                sentences = [span.text for span in text.sentences(source.text)]
                if sentences:
                    best = max(sentences, key=lambda sentence: len(question_stems & set(content(sentence))))
                    lines.append(f"{source.reference} reports: {best}")
            results.append(Text(" ".join(lines)) if lines else Text(None, "no source has text"))
        return results


def _verdict(stems: Sequence[str], sentences: Sequence[set[str]]) -> Verdict:
    """Verify a claim with these stems by a document whose sentences have those."""
    if not stems:
        return Verdict(math.nan, Reason.NO_CONTENT_WORDS)
    in_document = set().union(*sentences)
    share = sum(word in in_document for word in stems) / len(stems)
    shared = [len(sentence.intersection(stems)) for sentence in sentences]
    return Verdict(share**_POWER, None, (shared.index(max(shared)),) if shared else ())
