"""The verifier: is a claim supported by its document, how probable is that, and where does it say so?

A claim is read against pieces of its document (``Reader``): retrieved, encoded, measured. Word checkers (``checker``),
small networks that attend from a claim's words to the document's, give a verdict; boosted trees read their findings and
evidence features (``features``) and give another; the mean of the two decides (``heads``). Trees learn how the corpora
are that they see, checkers what holds elsewhere as well. A whole summary is read in the same way, as one long claim, and
judged by trees of its own alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from claimwise import text
from claimwise.models.base import NAN, Judgement, Verdict
from claimwise.prompts import Prompt
from claimwise.reasons import Reason
from claimwise_embedded.checker import Checker, Reading, Words, check
from claimwise_embedded.checksums import WEIGHTS
from claimwise_embedded.encoder import Encoded, shared_encoder
from claimwise_embedded.evidence import FUNCTION_STEMS, Index, Piece, capitalised, pieces
from claimwise_embedded.features import EncodedClaim, Evidence, measure
from claimwise_embedded.heads import Calibration, Heads

#: Pieces a claim may look at; and where the prompt shows only what is retrieved.
_PIECES, _RETRIEVED_PIECES = 8, 3
#: Documents whose pieces are encoded in one go: enough to fill batches, few enough to bound memory.
_DOCUMENTS_AT_ONCE = 64
#: Claims whose evidence is kept: prompts, metrics and revisions ask about the same ones again and again.
_REMEMBERED = 50_000

#: A document, the same with the text behind it, how many pieces of it may be looked at, and a claim.
_Asked = tuple[str, str, int, str]


class Reader:
    """Turns (document, claims) into features; holds the encoder and the checkers that it asks.

    Args:
        checkers: word checkers, whose findings go into the evidence; where there are none yet, what they will see stays in
            it, to train them, and nothing is remembered.
    """

    def __init__(self, checkers: Sequence[Checker] = ()) -> None:
        self._encoder = shared_encoder()
        self._checkers = checkers
        self._known: dict[_Asked, Evidence | str] = {}

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
        asked: dict[tuple[str, str], dict[_Asked, None]] = defaultdict(dict)
        for document, whole, own in zip(documents, joined, claims, strict=True):
            asked[document, whole] |= dict.fromkeys((document, whole, limit, claim) for claim in own)
        found: dict[_Asked, Evidence | str] = {}
        groups = list(asked.values())
        for start in range(0, len(groups), _DOCUMENTS_AT_ONCE):
            some = list(chain(*groups[start : start + _DOCUMENTS_AT_ONCE]))
            new = dict(self._read_some([one for one in some if one not in self._known]))
            if self._checkers:
                evidence = [item for item in new.values() if not isinstance(item, str)]
                ask(self._checkers, evidence)
                for item in evidence:
                    item.reading = None
            self._known |= new
            found |= {one: self._known[one] for one in some}
            while len(self._known) > (_REMEMBERED if self._checkers else 0):
                del self._known[next(iter(self._known))]
        return [
            [found[document, whole, limit, claim] for claim in own]
            for document, whole, own in zip(documents, joined, claims, strict=True)
        ]

    def _read_some(self, asked: Sequence[_Asked]) -> Iterator[tuple[_Asked, Evidence | str]]:
        """Encode the pieces of several documents and their claims together, then measure one by one."""
        plans = []
        to_encode: list[Piece] = []
        for (document, whole, limit), same in groupby(asked, key=itemgetter(0, 1, 2)):
            index = Index(whole)
            parts = {one: pieces(one[3]) if index.pieces else [] for one in same}
            chosen = {
                one: sorted(index.retrieve((s for p in found for s in p.stems), limit))
                for one, found in parts.items()
                if found
            }
            needed = sorted({number for numbers in chosen.values() for number in numbers})
            plans.append((document, index, parts, chosen, needed))
            to_encode += [index.pieces[number] for number in needed]
            to_encode += [piece for one in chosen for piece in parts[one]]
        encoded = iter(self._encoder.encode([p.text for p in to_encode], [p.spans for p in to_encode]))
        for document, index, parts, chosen, needed in plans:
            by_number = {number: next(encoded) for number in needed}
            known, own = index.postings.keys(), len(text.sentences(document))
            passages = {
                number: Words.of(encoding.words, index.pieces[number].stems, index.names, known)
                for number, encoding in by_number.items()
            }
            for one, numbers in chosen.items():
                ready = self._claim(parts[one], [next(encoded) for _ in parts[one]], index)
                evidence = measure(ready, index, {number: by_number[number] for number in numbers})
                said = frozenset(ready.stems) - FUNCTION_STEMS
                by_piece = [index.pieces[n].ranked(said) for n in evidence.ranked]
                ranked = dict.fromkeys(
                    [s for some in by_piece for s in some[:1]] + [s for some in by_piece for s in some[1:]]
                )
                evidence.ranked = [s for s in ranked if s < own]
                words = Words.of(ready.states, ready.stems, ready.names, known, ready.weights)
                evidence.reading = Reading(words, tuple(passages[n] for n in numbers))
                yield one, evidence
            reason = Reason.CLAIM_WITHOUT_WORDS if index.pieces else Reason.DOCUMENT_WITHOUT_WORDS
            yield from ((one, reason) for one in parts if one not in chosen)

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
