"""The verifier: how probable is it that a document supports a claim, and which sentences are the evidence?

``Reader`` retrieves pieces of the document, encodes them and the claim, and measures features. Word checkers (``checker``),
small networks that attend from a claim's words to the document's, give one verdict. Boosted trees read their findings and
evidence features (``features``), and give another. The mean of the two decides (``heads``): trees are better on corpora that
they learned from, checkers on others. A whole summary is read in the same way, as one long claim, and has trees of its own,
which judge it alone.
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
from claimwise_embedded.encoder import LOCK, Encoded, shared_encoder
from claimwise_embedded.evidence import Index, Piece, capitalised, pieces
from claimwise_embedded.features import EncodedClaim, Evidence, measure
from claimwise_embedded.heads import Calibration, Heads

#: Pieces that are read for a claim; and the same if the prompt shows only retrieved passages.
_PIECES, _RETRIEVED_PIECES = 8, 3
#: Documents whose pieces are encoded together: enough to fill batches, few enough to bound memory.
_DOCUMENTS_AT_ONCE = 64
#: Claims whose evidence is kept: prompts, metrics and revisions read the same claims again and again.
_REMEMBERED = 50_000


class _Question(NamedTuple):
    """A claim about a document. ``whole`` is the document and its extra text, of which ``limit`` pieces are read."""

    document: str
    whole: str
    limit: int
    claim: str


class Reader:
    """Turns documents and claims into features.

    Args:
        checkers: word checkers, whose findings go into the evidence. Without checkers (in their training), the evidence has
            their input instead, and no evidence is kept.
    """

    def __init__(self, checkers: Sequence[Checker] = ()) -> None:
        self._encoder = shared_encoder()
        self._checkers = checkers
        self._cache: dict[_Question, Evidence | str] = {}

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
            limit: the most pieces of the document that are read for a claim.
            extras: n further texts with evidence, one for each document.

        Returns:
            For each document and claim its evidence, or the reason why there is none. Evidence ranks
            sentences of the document (``text.sentences``), not of the extra text.
        """
        joined = documents if extras is None else [f"{d}\n{extra}" for d, extra in zip(documents, extras, strict=True)]
        questions = [
            [_Question(document, whole, limit, claim) for claim in own]
            for document, whole, own in zip(documents, joined, claims, strict=True)
        ]
        by_document: dict[tuple[str, str], dict[_Question, None]] = defaultdict(dict)
        for question in chain(*questions):
            by_document[question.document, question.whole][question] = None
        results: dict[_Question, Evidence | str] = {}
        groups = list(by_document.values())
        for start in range(0, len(groups), _DOCUMENTS_AT_ONCE):
            with LOCK:
                results |= self._remembered(groups[start : start + _DOCUMENTS_AT_ONCE])
        return [[results[question] for question in group] for group in questions]

    def _remembered(self, batch: Sequence[Sequence[_Question]]) -> dict[_Question, Evidence | str]:
        """The evidence of several documents' claims; what was not read before is read now."""
        new = dict(self._read_batch([[one for one in group if one not in self._cache] for group in batch]))
        if self._checkers:
            evidence = [item for item in new.values() if not isinstance(item, str)]
            ask(self._checkers, evidence)
            for item in evidence:
                item.reading = None
        self._cache |= new
        results = {question: self._cache[question] for question in chain(*batch)}
        while len(self._cache) > (_REMEMBERED if self._checkers else 0):
            del self._cache[next(iter(self._cache))]
        return results

    def _read_batch(self, groups: Sequence[Sequence[_Question]]) -> Iterator[tuple[_Question, Evidence | str]]:
        """Encode the pieces of several documents and their claims together, then measure each claim. A group is a document."""
        plans = []  # for each document its index, the numbers of the pieces to encode, and its claims
        to_encode: list[Piece] = []
        for group in filter(None, groups):
            index = Index(group[0].whole)
            reason = Reason.CLAIM_WITHOUT_WORDS if index.pieces else Reason.DOCUMENT_WITHOUT_WORDS
            # For each claim its own pieces, and the numbers of the document's pieces that it is read against.
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
        encoded = iter(self._encoder.encode([p.text for p in to_encode], [p.spans for p in to_encode]))
        for index, needed, claims in plans:
            by_number = {number: next(encoded) for number in needed}
            document_stems = index.postings.keys()
            passages = {
                number: Words.of(encoding.words, index.pieces[number].stems, index.names, document_stems)
                for number, encoding in by_number.items()
            }
            for question, (parts, numbers) in claims.items():
                claim = self._claim(parts, [next(encoded) for _ in parts], index)
                evidence = measure(claim, index, {number: by_number[number] for number in numbers})
                own_sentences = len(text.sentences(question.document))
                evidence.ranked = [sentence for sentence in evidence.ranked if sentence < own_sentences]
                words = Words.of(claim.states, claim.stems, claim.names, document_stems, claim.weights)
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
    """Let checkers read the evidence's ``reading``, and store their findings in the evidence."""
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
        """See ``Model.verify``. The prompt's context decides which texts are read, its demonstrations the calibration.

        A document or claim without words gets NaN and a reason. Evidence are the document's sentences that were read,
        best first.
        """
        limit = _RETRIEVED_PIECES if prompt.context == "retrieved" else _PIECES
        read = self.reader.read(documents, claims, limit, extras if prompt.context == "document+extra" else None)
        supports = iter(self._calibrated(prompt)(self._logits("claim", documents, read)).tolist())
        return [
            [Verdict(NAN, e) if isinstance(e, str) else Verdict(next(supports), None, tuple(e.ranked)) for e in items]
            for items in read
        ]

    def score_whole(self, documents: Sequence[str], summaries: Sequence[str]) -> list[Judgement]:
        """Judge each summary as one piece of text, without claims."""
        read = self.reader.read(documents, [[summary] for summary in summaries])
        scores = iter(self.heads.calibrations["whole"](self._logits("whole", documents, read)).tolist())
        return [
            Judgement(NAN, Reason.NO_WORDS if item == Reason.CLAIM_WITHOUT_WORDS else item)
            if isinstance(item, str)
            else Judgement(next(scores))
            for (item,) in read
        ]

    def _logits(self, kind: str, documents: Sequence[str], read: Sequence[Sequence[Evidence | str]]) -> np.ndarray:
        """The log odds of all evidence, in order, by parts that have not seen the documents."""
        evidence: list[Evidence] = []
        folds: list[list[int]] = []
        for document, items in zip(documents, read, strict=True):
            own = [item for item in items if not isinstance(item, str)]
            evidence += own
            folds += [self.heads.unseen_by(document)] * len(own)
        return self.heads.logits(kind, evidence, folds)

    def _calibrated(self, prompt: Prompt) -> Calibration:
        """The shipped calibration, updated by the prompt's labelled demonstrations."""
        labelled = [d for d in prompt.demonstrations if d.claim and d.label is not None]
        passages = [d.passage for d in labelled]
        read = self.reader.read(passages, [[d.claim] for d in labelled])
        labels = [float(d.label) for d, [item] in zip(labelled, read, strict=True) if not isinstance(item, str)]
        return self.heads.calibrations["claim"].updated(self._logits("claim", passages, read), np.array(labels))
