"""The verifier: is a claim supported by its document, how probable is that, and where does it say so?

A claim is read against pieces of its document (``Reader``): retrieved, encoded, measured. Word checkers (``checker``),
small networks that attend from a claim's words to the document's, give a verdict; boosted trees read their findings and
evidence features (``features``) and give another; the mean of the two decides (``heads``). Trees learn how the corpora
are that they see, checkers what holds elsewhere as well. A whole summary is read in the same way, as one long claim, and
judged by trees of its own alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from claimwise import text
from claimwise.models.base import NAN, Judgement, Verdict
from claimwise.prompts import Prompt
from claimwise.reasons import Reason
from claimwise_embedded.checker import Checker, Reading, Words, check
from claimwise_embedded.checksums import WEIGHTS
from claimwise_embedded.encoder import Encoded, shared_encoder
from claimwise_embedded.evidence import Index, Piece, capitalised, pieces
from claimwise_embedded.features import EncodedClaim, Evidence, measure
from claimwise_embedded.heads import Calibration, Heads

#: Pieces a claim may look at; and where the prompt shows only what is retrieved.
_PIECES, _RETRIEVED_PIECES = 8, 3
#: Documents whose pieces are encoded in one go: enough to fill batches, few enough to bound memory.
_DOCUMENTS_AT_ONCE = 64
#: Claims whose evidence is kept: prompts, metrics and revisions ask about the same ones again and again.
_REMEMBERED = 50_000


class _Question(NamedTuple):
    """A claim about a document; ``whole`` has the text behind it, too, and of that the claim may look at ``limit`` pieces."""

    document: str
    whole: str
    limit: int
    claim: str


class Reader:
    """Turns (document, claims) into features; holds the encoder and the checkers that it asks.

    Args:
        checkers: word checkers, whose findings go into the evidence; where there are none yet, what they will see stays in
            it, to train them, and nothing is remembered.
    """

    def __init__(self, checkers: Sequence[Checker] = ()) -> None:
        self._encoder = shared_encoder()
        self._checkers = checkers
        self._known: dict[_Question, Evidence | str] = {}

    def read(
        self,
        documents: Sequence[str],
        claims: Sequence[Sequence[str]],
        limit: int = _PIECES,
        extras: Sequence[str] | None = None,
    ) -> list[list[Evidence | str]]:
        """Measure every claim against its document.

        Args:
            documents: n texts; equal ones are read once.
            claims: for each document its claims.
            limit: pieces of the document that a claim may look at.
            extras: n texts that stand behind the documents as further evidence, if any.

        Returns:
            For each document and claim its evidence, or the reason why there is none. Evidence ranks
            sentences of the document (``text.sentences``), not of the extra.
        """
        joined = documents if extras is None else [f"{d}\n{extra}" for d, extra in zip(documents, extras, strict=True)]
        questions = [
            [_Question(document, whole, limit, claim) for claim in own]
            for document, whole, own in zip(documents, joined, claims, strict=True)
        ]
        by_document: dict[tuple[str, str], dict[_Question, None]] = defaultdict(dict)
        for question in chain(*questions):
            by_document[question.document, question.whole][question] = None
        found: dict[_Question, Evidence | str] = {}
        groups = list(by_document.values())
        for start in range(0, len(groups), _DOCUMENTS_AT_ONCE):
            some = groups[start : start + _DOCUMENTS_AT_ONCE]
            new = dict(self._read_some([[one for one in group if one not in self._known] for group in some]))
            if self._checkers:
                evidence = [item for item in new.values() if not isinstance(item, str)]
                ask(self._checkers, evidence)
                for item in evidence:
                    item.reading = None
            self._known |= new
            found |= {question: self._known[question] for question in chain(*some)}
            while len(self._known) > (_REMEMBERED if self._checkers else 0):
                del self._known[next(iter(self._known))]
        return [[found[question] for question in group] for group in questions]

    def _read_some(self, groups: Sequence[Sequence[_Question]]) -> Iterator[tuple[_Question, Evidence | str]]:
        """Encode the pieces of several documents and their claims together, then measure one by one; a group a document."""
        plans = []  # of each document its index, the numbers of the pieces that some claim needs, and the claims
        to_encode: list[Piece] = []
        for group in filter(None, groups):
            index = Index(group[0].whole)
            reason = Reason.CLAIM_WITHOUT_WORDS if index.pieces else Reason.DOCUMENT_WITHOUT_WORDS
            # Of each claim its pieces, and the numbers of the document's that it is read against.
            claims: dict[_Question, tuple[list[Piece], list[int]]] = {}
            for question in group:
                if parts := pieces(question.claim) if index.pieces else []:
                    stems = (stem for piece in parts for stem in piece.stems)
                    claims[question] = parts, sorted(index.retrieve(stems, question.limit))
                else:
                    yield question, reason
            needed = sorted({number for _, numbers in claims.values() for number in numbers})
            plans.append((index, needed, claims))
            to_encode += [index.pieces[number] for number in needed]
            to_encode += [piece for parts, _ in claims.values() for piece in parts]
        # What is encoded comes back in the same order.
        encoded = iter(self._encoder.encode([p.text for p in to_encode], [p.spans for p in to_encode]))
        for index, needed, claims in plans:
            by_number = {number: next(encoded) for number in needed}
            known = index.postings.keys()
            passages = {
                number: Words.of(encoding.words, index.pieces[number].stems, index.names, known)
                for number, encoding in by_number.items()
            }
            for question, (parts, numbers) in claims.items():
                claim = self._claim(parts, [next(encoded) for _ in parts], index)
                evidence = measure(claim, index, {number: by_number[number] for number in numbers})
                own_sentences = len(text.sentences(question.document))
                evidence.ranked = [sentence for sentence in evidence.ranked if sentence < own_sentences]
                words = Words.of(claim.states, claim.stems, claim.names, known, claim.weights)
                evidence.reading = Reading(words, tuple(passages[number] for number in numbers))
                yield question, evidence

    def _claim(self, parts: Sequence[Piece], encoded: Sequence[Encoded], index: Index) -> EncodedClaim:
        whole = np.sum([e.whole for e in encoded], axis=0)
        words = [part.text[a:b].lower() for part in parts for a, b in part.spans]
        return EncodedClaim(
            [stem for part in parts for stem in part.stems],
            np.concatenate([e.words for e in encoded]),
            whole / max(float(np.linalg.norm(whole)), 1e-9),
            np.array([self._encoder.rarity(word) for word in words]),
            capitalised(parts) | index.names,
        )


def ask(checkers: Sequence[Checker], evidence: Sequence[Evidence]) -> None:
    """Put into the evidence what checkers find in its readings."""
    for item, (supported, doubts) in zip(evidence, check(checkers, [item.reading for item in evidence]), strict=True):
        item.supported, item.doubts = supported, doubts[:, item.content]


class Verifier:
    """Verdicts on claims and judgements on whole summaries, batched over documents."""

    def __init__(self, folder: Path = WEIGHTS) -> None:
        self.heads = Heads.read(folder)
        self.reader = Reader(checkers=self.heads.checkers)

    def verify(
        self,
        documents: Sequence[str],
        claims: Sequence[Sequence[str]],
        prompt: Prompt,
        extras: Sequence[str] | None = None,
    ) -> list[list[Verdict]]:
        """See ``Model.verify``. What the prompt shows decides what is looked at, its demonstrations the calibration.

        A document or claim without a word gets NaN and a reason. Evidence are sentences of the document that were
        looked at, best first.
        """
        retrieved = prompt.context == "retrieved"
        shown = extras if prompt.context == "document+extra" else None
        limit = _RETRIEVED_PIECES if retrieved else _PIECES
        found = self.reader.read(documents, claims, limit, shown)
        supports = iter(self._calibrated(prompt)(self._logits("claim", documents, found)).tolist())
        return [
            [Verdict(NAN, e) if isinstance(e, str) else Verdict(next(supports), None, tuple(e.ranked)) for e in items]
            for items in found
        ]

    def score_whole(self, documents: Sequence[str], summaries: Sequence[str]) -> list[Judgement]:
        """Judge each summary as one piece of text, as a holistic judge does; no claims are made."""
        found = self.reader.read(documents, [[summary] for summary in summaries])
        scores = iter(self.heads.calibrations["whole"](self._logits("whole", documents, found)).tolist())
        return [
            Judgement(NAN, Reason.NO_WORDS if item == Reason.CLAIM_WITHOUT_WORDS else item)
            if isinstance(item, str)
            else Judgement(next(scores))
            for (item,) in found
        ]

    def _logits(self, kind: str, documents: Sequence[str], found: Sequence[Sequence[Evidence | str]]) -> np.ndarray:
        """Log odds of all that could be read, in order, by parts that have not seen the documents."""
        read = [
            (item, unseen)
            for document, items in zip(documents, found, strict=True)
            for unseen in [self.heads.unseen_by(document)]
            for item in items
            if not isinstance(item, str)
        ]
        return self.heads.logits(kind, [item for item, _ in read], [unseen for _, unseen in read])

    def _calibrated(self, prompt: Prompt) -> Calibration:
        """The shipped calibration, moved by the prompt's labelled demonstrations."""
        shown = [d for d in prompt.demonstrations if d.claim and d.label is not None]
        passages = [d.passage for d in shown]
        found = self.reader.read(passages, [[d.claim] for d in shown])
        labels = [float(d.label) for d, [item] in zip(shown, found, strict=True) if not isinstance(item, str)]
        return self.heads.calibrations["claim"].updated(self._logits("claim", passages, found), np.array(labels))
