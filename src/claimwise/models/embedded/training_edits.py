"""Synthetic errors: a true claim changed in one place, in the ways that summaries go wrong.

Entity, number, negation, opposite, relation (two names exchanged), hedging and out-of-document edits, each
with the words that it changed, so that a model can be taught which words a document does not support.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from claimwise.models.embedded.lexicon import OPPOSITES

_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][\w’']*(?:[ -][A-Z][\w’']*)*")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w])")
_NUMBER_WORDS = (
    "two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred thousand million".split()
)
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b")
_AUXILIARY = re.compile(r"\b(is|was|are|were|will|has|have|had|can|could|would|should|did|does)\b(?! not)")
_NEGATED = re.compile(r"\b(is|was|are|were|will|has|have|had|can|could|would|should|did|does) not\b")
_WORD = re.compile(r"[^\W\d_]+")
_HEDGED = (
    (re.compile(r"\b(may|might|could)\b"), "will"),
    (re.compile(r"\b(?:allegedly|reportedly|possibly|probably|perhaps) "), ""),
    (re.compile(r"\bis expected to\b"), "is certain to"),
    (re.compile(r"\b(some|several|many)\b"), "all"),
)


class Edit(NamedTuple):
    """An edited claim, the kind of error, and the character spans of the edited words."""

    claim: str
    kind: str
    spans: tuple[tuple[int, int], ...]


def names(passage: str) -> list[str]:
    """Capitalised names inside sentences, in order, each once.

    >>> names("On Monday, Ann Lee met Bo Ray in Rome. Rain fell.")
    ['Monday', 'Ann Lee', 'Bo Ray', 'Rome']
    """
    return list(dict.fromkeys(m.group() for m in _NAME.finditer(passage)))


def _put(claim: str, start: int, end: int, new: str, kind: str) -> Edit:
    return Edit(claim[:start] + new + claim[end:], kind, ((start, start + max(len(new), 1)),))


def _mentions(claim: str, document: str) -> list[tuple[int, str]]:
    """Names of the document in the claim: a capital at the claim's start is one only if the document says so."""
    known = set(names(document))
    return [(claim.index(n), n) for n in dict.fromkeys([*names(claim), *names(f"x {claim}")]) if n in known]


def _entity(claim: str, document: str, rng: random.Random) -> Edit | None:
    mentions = _mentions(claim, document)
    if not mentions:
        return None
    start, old = rng.choice(mentions)
    others = [n for n in names(document) if n not in claim and not set(n.split()) & set(claim.split())]
    alike = [n for n in others if len(n.split()) == len(old.split())] or others
    return _put(claim, start, start + len(old), rng.choice(alike), "entity") if alike else None


def _number(claim: str, document: str, rng: random.Random) -> Edit | None:
    found = list(_NUMBER.finditer(claim))
    if not found:
        return _number_word(claim, rng)
    match = rng.choice(found)
    others = [n for n in _NUMBER.findall(document) if n not in claim and len(n) == len(match.group())]
    if others and rng.random() < 0.5:
        new = rng.choice(others)
    else:
        digits = list(match.group())
        place = rng.choice([i for i, d in enumerate(digits) if d.isdigit()])
        digits[place] = rng.choice([d for d in "123456789" if d != digits[place]])
        new = "".join(digits)
    return None if new in document.split() and rng.random() < 0.3 else _put(claim, *match.span(), new, "number")


def _number_word(claim: str, rng: random.Random) -> Edit | None:
    found = list(_NUMBER_WORD.finditer(claim))
    if not found:
        return None
    match = rng.choice(found)
    new = rng.choice([w for w in _NUMBER_WORDS if w != match.group()])
    return _put(claim, *match.span(), new, "number")


def _negation(claim: str, document: str, rng: random.Random) -> Edit | None:
    del document
    match = _NEGATED.search(claim)
    if match:
        return _put(claim, *match.span(), match.group(1), "negation")
    found = list(_AUXILIARY.finditer(claim))
    if not found:
        return None
    match = rng.choice(found)
    return _put(claim, *match.span(), f"{match.group()} not", "negation")


def _opposite(claim: str, document: str, rng: random.Random) -> Edit | None:
    del document
    found = [m for m in _WORD.finditer(claim) if m.group().lower() in OPPOSITES]
    if not found:
        return None
    match = rng.choice(found)
    return _put(claim, *match.span(), rng.choice(OPPOSITES[match.group().lower()]), "opposite")


def _relation(claim: str, document: str, rng: random.Random) -> Edit | None:
    mentions = [name for _, name in _mentions(claim, document)]
    if len(mentions) < 2:
        return None
    first, second = sorted(rng.sample(mentions, 2), key=claim.find)
    a, b = claim.find(first), claim.rfind(second)
    if a < 0 or b < a + len(first):
        return None
    edited = claim[:a] + second + claim[a + len(first) : b] + first + claim[b + len(second) :]
    moved = b + len(second) - len(first)
    return Edit(edited, "relation", ((a, a + len(second)), (moved, moved + len(first))))


def _hedge(claim: str, document: str, rng: random.Random) -> Edit | None:
    del document
    found = [(m, new) for pattern, new in _HEDGED for m in pattern.finditer(claim)]
    if not found:
        return None
    match, new = rng.choice(found)
    return _put(claim, *match.span(), new, "overstatement")


_Edit = Callable[[str, str, random.Random], Edit | None]
#: Kinds that few claims allow come first half of the time, so that they are not rare.
_RARE: tuple[_Edit, ...] = (_number, _hedge, _relation)
_COMMON: tuple[_Edit, ...] = (_entity, _negation, _opposite)


def edit(claim: str, document: str, strangers: Sequence[str], rng: random.Random) -> Edit | None:
    """Change a claim that a document supports into one that it does not.

    Args:
        claim: a supported claim.
        document: its document; replacement names and numbers are taken from it.
        strangers: claims of other documents, for errors from outside.
        rng: source of chance; the same state gives the same edit.

    Returns:
        An edit of a kind chosen at random among those that apply, or None where none does.

    >>> edit("Lee was in Rome", "On Monday Lee was in Rome.", [], random.Random(3)).kind
    'negation'
    """
    rare, common = rng.sample(_RARE, len(_RARE)), rng.sample(_COMMON, len(_COMMON))
    for attempt in rare + common if rng.random() < 0.5 else common + rare:
        edited = attempt(claim, document, rng)
        if edited and edited.claim != claim:
            return edited
    if strangers:
        new = rng.choice(strangers)
        return Edit(new, "out-of-article", ((0, len(new)),))
    return None
