"""The embedded reviser and critic: minimal edits, chosen by the verifier; nothing is generated from nothing.

A sentence that is found unsupported is edited in the cheapest way that the verifier accepts: a number or name
replaced by one of its kind from the evidence, a clause dropped, the sentence replaced by its evidence, the
sentence dropped. A summary is never emptied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from claimwise import text
from claimwise.easiness import rouge_l_f1
from claimwise.models.base import Critique, Feedback, Text, Verdict
from claimwise.models.embedded.evidence import FUNCTION_WORDS, stem

#: An edit is taken when its support is at least this; the cut that makes a claim unsupported in ACUEval here.
ACCEPTED = 0.5
#: Edits of one sentence that are put to the verifier.
MOST_CANDIDATES = 40
#: Evidence sentences from which numbers and names are taken.
EVIDENCE_SENTENCES = 3

Verify = Callable[[Sequence[str], Sequence[Sequence[str]]], list[list[Verdict]]]

_BOUNDARY = re.compile(r"(?:[,;:]\s+|\s+(?=(?:and|but|while|which|who|where|after|before|because|although|when)\b))")
_NUMBER = re.compile(r"\d[\d,.:]*\d|\d")
_NAME = re.compile(r"\b[A-Z][\w’'-]*(?:\s+[A-Z][\w’'-]*)*")
_QUOTED = re.compile(r"“([^”]+)”")


def _content(passage: str) -> set[str]:
    return {stem(word) for word in text.words(passage)} - FUNCTION_WORDS


def flagged(sentences: Sequence[text.Span], feedback: Feedback) -> list[int]:
    """The sentences that the feedback is about: those that hold an unsupported claim's words, or that it quotes.

    >>> parts = text.sentences("The mayor resigned. The vote is on Monday.")
    >>> flagged(parts, Feedback(unsupported=("A vote is on Monday",)))
    [1]
    """
    found: set[int] = set()
    for claim in feedback.unsupported:
        wanted = _content(claim)
        shares = [len(wanted & _content(s.text)) / max(len(wanted), 1) for s in sentences]
        if shares and max(shares) > 0:
            found.add(shares.index(max(shares)))
    quotes = _QUOTED.findall(feedback.comment)
    found.update(i for i, s in enumerate(sentences) if any(s.text in quote or quote in s.text for quote in quotes))
    return sorted(found)


def candidates(sentence: str, evidence: Sequence[str]) -> list[str]:
    """Edits of a sentence, each grammatical more often than not: replacements from the evidence, then deletions.

    >>> candidates("The mayor, a lawyer, left in 2019.", ["Mayor Dunn left in 2021."])[0]
    'The mayor, a lawyer, left in 2021.'
    """
    edits = [*_replaced(sentence, evidence), *_shortened(sentence)]
    unique = dict.fromkeys(edit for edit in edits if edit != sentence and len(_content(edit)) > 1)
    return list(unique)[:MOST_CANDIDATES]


def _replaced(sentence: str, evidence: Sequence[str]) -> Iterator[str]:
    source = " ".join(evidence)
    for kind in (_NUMBER, _NAME):
        offered = dict.fromkeys(match.group() for match in kind.finditer(source))
        for match in kind.finditer(sentence):
            if match.group() in source:
                continue
            for other in offered:
                if other not in sentence and other.lower() not in FUNCTION_WORDS:
                    yield sentence[: match.start()] + other + sentence[match.end() :]


def _shortened(sentence: str) -> Iterator[str]:
    end = sentence[-1] if sentence[-1] in ".!?" else ""
    body = sentence[: len(sentence) - len(end)].rstrip()
    cuts = [0, *(match.start() for match in _BOUNDARY.finditer(body)), len(body)]
    for width in range(1, len(cuts) - 1):
        for first in range(len(cuts) - width):
            kept = (body[: cuts[first]] + body[cuts[first + width] :]).strip(" ,;:")
            kept = re.sub(r"^(?:and|but|which|who|where)\s+", "", kept)
            if kept:
                yield kept[0].upper() + kept[1:] + end if sentence[0].isupper() else kept + end


class Reviser:
    """Revises and critiques with a verifier's help.

    Args:
        verify: documents and, for each, statements, to verdicts.
    """

    def __init__(self, verify: Verify):
        self._verify = verify

    def revise(self, documents: Sequence[str], summaries: Sequence[str], feedback: Sequence[Feedback]) -> list[Text]:
        """Edit the sentences that the feedback is about, and no other."""
        parts = [text.sentences(summary) for summary in summaries]
        wanted = [flagged(sentences, told) for sentences, told in zip(parts, feedback, strict=True)]
        evidence = self._evidence(documents, parts, wanted)
        edits = [
            {i: candidates(sentences[i].text, found[i]) for i in at}
            for sentences, at, found in zip(parts, wanted, evidence, strict=True)
        ]
        verdicts = self._verify(documents, [[edit for group in e.values() for edit in group] for e in edits])
        results = []
        for summary, sentences, found, choice, scored in zip(summaries, parts, evidence, edits, verdicts, strict=True):
            support = dict(zip([e for group in choice.values() for e in group], scored, strict=True))
            new = {i: _best(sentences[i].text, group, support, found[i]) for i, group in choice.items()}
            results.append(Text(_rebuilt(summary, sentences, new, found)))
        return results

    def _evidence(
        self, documents: Sequence[str], parts: Sequence[Sequence[text.Span]], wanted: Sequence[Sequence[int]]
    ) -> list[dict[int, list[str]]]:
        """For each flagged sentence the document's sentences nearest to it, best first."""
        verdicts = self._verify(documents, [[s[i].text for i in at] for s, at in zip(parts, wanted, strict=True)])
        results = []
        for document, at, group in zip(documents, wanted, verdicts, strict=True):
            lines = text.sentences(document)
            results.append(
                {i: [lines[j].text for j in v.evidence[:EVIDENCE_SENTENCES]] for i, v in zip(at, group, strict=True)}
            )
        return results

    def correct(self, documents: Sequence[str], claims: Sequence[str], verdicts: Sequence[Verdict]) -> list[Critique]:
        """A critique of each claim: the verifier's verdict and, where it is unsupported, a revised claim.

        Args:
            documents: n texts.
            claims: n claims, sentences that each stand for themselves.
            verdicts: the verifier's on each.
        """
        wrong = [i for i, verdict in enumerate(verdicts) if verdict.support < ACCEPTED]
        edits = self.revise(
            [documents[i] for i in wrong],
            [claims[i] for i in wrong],
            [Feedback(unsupported=(claims[i],)) for i in wrong],
        )
        revised = {i: edit.text for i, edit in zip(wrong, edits, strict=True) if edit.text != claims[i]}
        results = []
        for i, (document, claim, verdict) in enumerate(zip(documents, claims, verdicts, strict=True)):
            if verdict.reason is not None:
                results.append(Critique("", verdict.support, reason=verdict.reason))
            elif verdict.support >= ACCEPTED:
                results.append(Critique("The document supports it.", verdict.support))
            else:
                comment = _critique(document, claim, verdict.support).text
                results.append(Critique(comment, verdict.support, revised.get(i)))
        return results

    def critique(
        self, documents: Sequence[str], statements: Sequence[str], supports: Sequence[float]
    ) -> list[Critique]:
        """Say which sentence of each statement the document bears out least, as a look at the whole would.

        Args:
            documents: n texts.
            statements: n claims, sentences or summaries.
            supports: the judge's score of each statement as a whole.
        """
        return [
            _critique(document, statement, support)
            for document, statement, support in zip(documents, statements, supports, strict=True)
        ]


def _best(sentence: str, edits: Sequence[str], support: dict[str, Verdict], evidence: Sequence[str]) -> str | None:
    """The accepted edit that keeps most of the sentence, else its evidence where that is about the same, else None."""
    accepted = [edit for edit in edits if support[edit].support >= ACCEPTED]
    if accepted:
        return max(accepted, key=lambda edit: (round(rouge_l_f1(sentence, edit), 3), support[edit].support))
    return next((line for line in evidence[:1] if rouge_l_f1(sentence, line) >= ACCEPTED), None)


def _rebuilt(
    summary: str, sentences: Sequence[text.Span], new: dict[int, str | None], evidence: dict[int, list[str]]
) -> str:
    """The summary with its flagged sentences replaced or dropped, the space between the others as it was."""
    if new and len(new) == len(sentences) and all(edit is None for edit in new.values()):
        first = min(new)
        new = new | {first: evidence[first][0] if evidence[first] else sentences[first].text}
    pieces: list[str] = []
    for i, span in enumerate(sentences):
        line = new.get(i, span.text)
        if line is not None:
            gap = summary[sentences[i - 1].end : span.start] if i and pieces else ""
            pieces.append((gap or (" " if pieces else "")) + line)
    return "".join(pieces) if pieces else summary


def _critique(document: str, statement: str, support: float) -> Critique:
    known = _content(document)
    sentences = text.sentences(statement)
    if not sentences:
        return Critique("", support, reason="empty statement")
    missing = [_content(s.text) - known for s in sentences]
    shares = [len(m) / max(len(_content(s.text)), 1) for m, s in zip(missing, sentences, strict=True)]
    worst = shares.index(max(shares))
    quoted = f"“{sentences[worst].text}”"
    if support >= ACCEPTED and not missing[worst]:
        return Critique("The summary is consistent with the article.", support)
    words = [word for word in text.words(sentences[worst].text) if stem(word) in missing[worst]]
    if words:
        return Critique(f"In {quoted}, the article does not mention: {', '.join(dict.fromkeys(words))}.", support)
    return Critique(f"{quoted} puts things together that the article says of different people or events.", support)
