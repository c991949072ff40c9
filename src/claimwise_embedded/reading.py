"""Reading claims against documents: retrieve, encode once, measure; shared by the verifier and its training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from claimwise import text
from claimwise.reasons import Reason
from claimwise_embedded.checker import Checker, check
from claimwise_embedded.checker_inputs import Reading, Words
from claimwise_embedded.encoder import Encoded, shared_encoder
from claimwise_embedded.evidence import FUNCTION_STEMS, PIECES_PER_CLAIM, Index, Piece, capitalised, pieces, rarity
from claimwise_embedded.features import Evidence, measure
from claimwise_embedded.features_match import EncodedClaim, Pool

#: Documents whose pieces are encoded in one go: enough to fill batches, few enough to bound memory.
_DOCUMENTS_AT_ONCE = 64
#: Claims whose evidence is kept: prompts, metrics and revisions ask about the same ones again and again.
_REMEMBERED = 50_000


class Reader:
    """Turns (document, claims) into features; holds the encoder, weights of words, and the checkers that it asks.

    Args:
        checkers: word checkers, whose findings go into the evidence.
        keep: leave in the evidence what checkers see, to train them.
    """

    def __init__(self, checkers: Sequence[Checker] = (), *, keep: bool = False) -> None:
        self._encoder = shared_encoder()
        self._checkers, self._keep = checkers, keep
        self._weight = lru_cache(maxsize=200_000)(lambda word: rarity(self._encoder.wordpiece_ids(word)))
        self._known: dict[tuple[str, str, int, str], Evidence | str] = {}

    def read(
        self,
        documents: Sequence[str],
        claims: Sequence[Sequence[str]],
        limit: int = PIECES_PER_CLAIM,
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
        joined = list(documents)
        if extras is not None:
            joined = [f"{document}\n{extra}" for document, extra in zip(documents, extras, strict=True)]
        rows_of: dict[tuple[str, str], list[int]] = {}
        for row, key in enumerate(zip(documents, joined, strict=True)):
            rows_of.setdefault(key, []).append(row)
        results: list[list[Evidence | str]] = [[] for _ in documents]
        groups = list(rows_of.items())
        for start in range(0, len(groups), _DOCUMENTS_AT_ONCE):
            some = groups[start : start + _DOCUMENTS_AT_ONCE]
            wanted = []
            for key, rows in some:
                asked = dict.fromkeys(claim for row in rows for claim in claims[row])
                if new := [claim for claim in asked if (*key, limit, claim) not in self._known]:
                    wanted.append((*key, new))
            read = list(self._read_some(wanted, limit))
            self._check(item for found in read for item in found.values() if not isinstance(item, str))
            for (*key, _), found in zip(wanted, read, strict=True):
                self._known |= {(*key, limit, claim): item for claim, item in found.items()}
            for key, rows in some:
                for row in rows:
                    results[row] = [self._known[*key, limit, claim] for claim in claims[row]]
            while len(self._known) > (0 if self._keep else _REMEMBERED):
                del self._known[next(iter(self._known))]
        return results

    def _read_some(
        self, wanted: Sequence[tuple[str, str, list[str]]], limit: int
    ) -> Iterator[dict[str, Evidence | str]]:
        """Encode the pieces of several documents and their claims together, then measure one by one."""
        plans = []
        to_encode: list[Piece] = []
        for document, joined, claims in wanted:
            index = Index.of(joined)
            parts = {claim: pieces(claim) for claim in claims} if index.pieces else {}
            chosen = {
                claim: sorted(index.retrieve((s for p in found for s in p.stems), limit))
                for claim, found in parts.items()
                if found
            }
            needed = sorted({number for numbers in chosen.values() for number in numbers})
            own = len(text.sentences(document)) if joined != document else None
            plans.append((index, own, parts, chosen, needed))
            to_encode += [index.pieces[number] for number in needed]
            to_encode += [piece for claim in chosen for piece in parts[claim]]
        encoded = iter(self._encoder.encode([p.text for p in to_encode], [p.spans for p in to_encode]))
        for (_, _, claims), (index, own, parts, chosen, needed) in zip(wanted, plans, strict=True):
            by_number = {number: next(encoded) for number in needed}
            found: dict[str, Evidence | str] = {}
            looked_at = self._checkers or self._keep
            known = index.counts.keys()
            passages = {
                number: Words.of(encoding.words, index.pieces[number].stems, index.names, known)
                for number, encoding in (by_number.items() if looked_at else ())
            }
            for claim in chosen:
                ready = self._claim(parts[claim], [next(encoded) for _ in parts[claim]])
                numbers = chosen[claim]
                pool = Pool(numbers, [index.pieces[n] for n in numbers], [by_number[n] for n in numbers])
                evidence = measure(ready, index, pool)
                said = frozenset(ready.stems) - FUNCTION_STEMS
                by_piece = [index.pieces[n].ranked(said) for n in evidence.ranked]
                ranked = dict.fromkeys(
                    [s for some in by_piece for s in some[:1]] + [s for some in by_piece for s in some[1:]]
                )
                evidence.ranked = [s for s in ranked if own is None or s < own]
                if looked_at:
                    names = {stem for stem, name in zip(ready.stems, ready.names, strict=True) if name} | index.names
                    words = Words.of(ready.states, ready.stems, names, known, ready.weights)
                    evidence.reading = Reading(words, tuple(passages[n] for n in numbers))
                found[claim] = evidence
            for claim in claims:
                found.setdefault(claim, Reason.CLAIM_WITHOUT_WORDS if index.pieces else Reason.DOCUMENT_WITHOUT_WORDS)
            yield found

    def _check(self, evidence: Iterable[Evidence]) -> None:
        """Ask the checkers about claims that have something for them to see."""
        items = [item for item in evidence if item.reading is not None] if self._checkers else []
        found = check(self._checkers, [item.reading for item in items])
        for item, (supported, doubts) in zip(items, found, strict=True):
            item.heard(supported, doubts)
            if not self._keep:
                item.reading = None

    def _claim(self, parts: Sequence[Piece], encoded: Sequence[Encoded]) -> EncodedClaim:
        whole = np.sum([e.whole for e in encoded], axis=0)
        names = capitalised(parts)
        stems = [stem for part in parts for stem in part.stems]
        words = [part.text[a:b].lower() for part in parts for a, b in part.spans]
        return EncodedClaim(
            stems,
            np.concatenate([e.words for e in encoded]),
            whole / max(float(np.linalg.norm(whole)), 1e-9),
            np.array([self._weight(word) for word in words]),
            np.array([stem in names for stem in stems]),
        )
