"""Synthetic errors: a true claim changed in one place, in the ways that summaries go wrong.

Names, numbers, words and phrases are exchanged for others of the same document if possible, so that only the place of a
word, and not the word itself, shows the error. Each edit has the spans of the words that it changed, so that a model can
learn which words a document does not support.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml

from claimwise.words import FUNCTION_WORDS, stem
from claimwise_embedded.evidence import OPPOSED, both_ways

_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][\w’']*(?:[ -][A-Z][\w’']*)*")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w])")
_NUMBER_WORDS = (
    "two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred thousand million".split()
)
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b")
_AUXILIARY = re.compile(r"\b(is|was|are|were|will|has|have|had|can|could|would|should|did|does)\b(?! not)")
_NEGATED = re.compile(r"\b(is|was|are|were|will|has|have|had|can|could|would|should|did|does) not\b")
_WORD = re.compile(r"[^\W\d_]+")
_ENDINGS = ("ing", "ed", "ly", "er", "s")
_HEDGED = (
    (re.compile(r"\b(may|might|could)\b"), "will"),
    (re.compile(r"\b(?:allegedly|reportedly|possibly|probably|perhaps) "), ""),
    (re.compile(r"\bis expected to\b"), "is certain to"),
    (re.compile(r"\b(some|several|many)\b"), "all"),
    (re.compile(r"\b(?:plans|hopes|wants|aims) to\b"), "has decided to"),
    (re.compile(r"\b(?:suggests?|indicates?)\b"), "proves"),
)
_PHRASE = re.compile(
    r" (in|at|on|from|during|after|before|near|since|with|by|for|to|against|about)"
    r"((?: (?:the|a|an|his|her|their|its))?(?: [\w’'-]+){1,4})(?=[.,;:!?]|$| (?:and|but|who|which|that|when|as|while)\b)"
)
#: Lists that are too long for code, by name.
WORD_LISTS = yaml.safe_load(Path(__file__).with_name("word_lists.yaml").read_text(encoding="utf-8"))
#: Word -> its opposites.
OPPOSITES = both_ways(OPPOSED + [tuple(pair.split(":")) for pair in WORD_LISTS["opposites"].split()])
#: Word -> other words of its kind with another meaning: months, units, order, quantity, cause, person.
SWAPS = {word: tuple(w for w in kind.split() if w != word) for kind in WORD_LISTS["kinds"] for word in kind.split()}


class Edit(NamedTuple):
    """An edited claim, the kind of error, and the character spans of the edited words."""

    claim: str
    kind: str
    spans: tuple[tuple[int, int], ...]


def names(passage: str) -> list[str]:
    """Return the capitalised names inside sentences, in order, each once.

    >>> names("On Monday, Ann Lee met Bo Ray in Rome. Rain fell.")
    ['Monday', 'Ann Lee', 'Bo Ray', 'Rome']
    """
    return list(dict.fromkeys(m.group() for m in _NAME.finditer(passage)))


@dataclass(frozen=True)
class Source:
    """The material for edits: a document's names and numbers, its phrases by preposition, and its words by place."""

    names: Sequence[str]
    numbers: Sequence[str]
    phrases: Mapping[str, Sequence[str]]
    words: Mapping[tuple[str, str], Sequence[str]]
    stems: frozenset[str]
    strangers: Sequence[str] = ()

    @classmethod
    def of(cls, document: str, strangers: Sequence[str] = ()) -> Source:
        """Read a document. ``strangers`` are claims of other documents, for errors from outside."""
        phrases: dict[str, list[str]] = defaultdict(list)
        for match in _PHRASE.finditer(document):
            phrases[match.group(1)].append(match.group())
        words: dict[tuple[str, str], list[str]] = defaultdict(list)
        for key, match in _places(document):
            words[key].append(match.group())
        numbers, stems = _NUMBER.findall(document), frozenset(map(stem, _WORD.findall(document)))
        return cls(names(document), numbers, phrases, words, stems, strangers)


def _places(passage: str):
    """Yield the content words in lower case, with the word before and their ending as key.

    Words with the same key can replace each other ("the plan", "the vote"; "to close", "to sell").
    """
    before = ""
    for match in _WORD.finditer(passage):
        word = match.group()
        if word.islower() and len(word) > 2 and word not in FUNCTION_WORDS and before in FUNCTION_WORDS:
            yield (before, next((end for end in _ENDINGS if word.endswith(end)), "")), match
        before = word.lower()


def _put(claim: str, start: int, end: int, new: str, kind: str) -> Edit:
    return Edit(claim[:start] + new + claim[end:], kind, ((start, start + max(len(new), 1)),))


def _mentions(claim: str, source: Source) -> list[tuple[int, str]]:
    """The document's names in the claim, with their places. The claim's first word is a name only if it is one there."""
    own, document_names = dict.fromkeys([*names(claim), *names(f"x {claim}")]), set(source.names)
    return [(claim.index(name), name) for name in own if name in document_names]


def _entity(claim: str, source: Source, rng: random.Random) -> Edit | None:
    mentions = _mentions(claim, source)
    if not mentions:
        return None
    start, old = rng.choice(mentions)
    others = [n for n in source.names if n not in claim and not set(n.split()) & set(claim.split())]
    alike = [n for n in others if len(n.split()) == len(old.split())] or others
    return _put(claim, start, start + len(old), rng.choice(alike), "entity") if alike else None


def _number(claim: str, source: Source, rng: random.Random) -> Edit | None:
    matches = list(_NUMBER.finditer(claim))
    if not matches:
        return _number_word(claim, rng)
    match = rng.choice(matches)
    others = [n for n in source.numbers if n not in claim and len(n) == len(match.group())]
    if others and rng.random() < 0.6:
        return _put(claim, *match.span(), rng.choice(others), "number")
    digits = list(match.group())
    place = rng.choice([i for i, d in enumerate(digits) if d.isdigit()])
    digits[place] = rng.choice([d for d in "123456789" if d != digits[place]])
    return _put(claim, *match.span(), "".join(digits), "number")


def _number_word(claim: str, rng: random.Random) -> Edit | None:
    matches = list(_NUMBER_WORD.finditer(claim))
    if not matches:
        return None
    match = rng.choice(matches)
    new = rng.choice([w for w in _NUMBER_WORDS if w != match.group()])
    return _put(claim, *match.span(), new, "number")


def _negation(claim: str, source: Source, rng: random.Random) -> Edit | None:
    match = _NEGATED.search(claim)
    if match:
        return _put(claim, *match.span(), match.group(1), "negation")
    matches = list(_AUXILIARY.finditer(claim))
    if not matches:
        return None
    match = rng.choice(matches)
    word = rng.choice(("not", "not", "never", "no longer"))
    return _put(claim, *match.span(), f"{match.group()} {word}", "negation")


def _exchange(
    table: Mapping[str, Sequence[str]], kind: str, claim: str, source: Source, rng: random.Random
) -> Edit | None:
    choice = exchangeable(claim, table, rng)
    return _put(claim, *choice[0].span(), choice[1], kind) if choice else None


def exchangeable(claim: str, table: Mapping[str, Sequence[str]], rng: random.Random) -> tuple[re.Match, str] | None:
    """Choose a word of the claim that is in the table, and one of the words for it there, with the same capital.

    Returns:
        The place of the old word and the new word, or None if no word is in the table.

    >>> match, new = exchangeable("Up it went.", {"up": ["down"]}, random.Random(0))
    >>> match.group(), new
    ('Up', 'Down')
    """
    matches = [m for m in _WORD.finditer(claim) if m.group().lower() in table]
    if not matches:
        return None
    match = rng.choice(matches)
    new = rng.choice(table[match.group().lower()])
    return match, new.capitalize() if match.group()[0].isupper() else new


def _relation(claim: str, source: Source, rng: random.Random) -> Edit | None:
    mentions = [name for _, name in _mentions(claim, source)]
    if len(mentions) < 2:
        return None
    first, second = sorted(rng.sample(mentions, 2), key=claim.find)
    a, b = claim.find(first), claim.rfind(second)
    if b < a + len(first):
        return None
    edited = claim[:a] + second + claim[a + len(first) : b] + first + claim[b + len(second) :]
    moved = b + len(second) - len(first)
    return Edit(edited, "relation", ((a, a + len(second)), (moved, moved + len(first))))


def _word(claim: str, source: Source, rng: random.Random) -> Edit | None:
    """Replace a common word by one of the document with the same ending and the same function word before it."""
    own = {stem(m.group()) for m in _WORD.finditer(claim)}
    options = [
        _put(claim, *match.span(), new, "word")
        for key, match in _places(claim)
        for new in dict.fromkeys(source.words.get(key, ()))
        if stem(new) not in own
    ]
    return rng.choice(options) if options else None


def _phrase(claim: str, source: Source, rng: random.Random) -> Edit | None:
    """Replace a phrase by one of the document with the same preposition."""
    options = [
        _put(claim, match.start() + 1, match.end(), new[1:], "circumstance")
        for match in _PHRASE.finditer(claim)
        for new in source.phrases.get(match.group(1), ())
        if new not in claim
    ]
    return rng.choice(options) if options else None


def _addition(claim: str, source: Source, rng: random.Random) -> Edit | None:
    """Add a phrase of another document at the end."""
    for _ in range(8):
        matches = list(_PHRASE.finditer(rng.choice(source.strangers))) if source.strangers else []
        new = rng.choice(matches).group() if matches else ""
        if any(stem(w) not in source.stems for w in _WORD.findall(new) if w.lower() not in FUNCTION_WORDS):
            body = claim.rstrip(" .")
            return Edit(f"{body}{new}{claim[len(body) :]}", "addition", ((len(body) + 1, len(body) + len(new)),))
    return None


def _hedge(claim: str, source: Source, rng: random.Random) -> Edit | None:
    matches = [(match, new) for pattern, new in _HEDGED for match in pattern.finditer(claim)]
    options = [_put(claim, *match.span(), new, "overstatement") for match, new in matches]
    return rng.choice(options) if options else None


_Edit = Callable[[str, Source, random.Random], Edit | None]
#: Kinds that few claims allow. Half of the time they are tried first, so that they are not rare.
_RARE: tuple[_Edit, ...] = (
    _number,
    _hedge,
    _relation,
    partial(_exchange, SWAPS, "circumstance"),
    partial(_exchange, OPPOSITES, "opposite"),
)
_COMMON: tuple[_Edit, ...] = (_entity, _negation, _word, _phrase, _addition)


def edits(claim: str, source: Source, count: int, rng: random.Random) -> list[Edit]:
    """Change a supported claim into at most ``count`` claims that the document does not support.

    Each has a different kind of error, chosen at random among those that the claim allows. The same ``rng`` state gives the
    same edits.

    >>> [e.kind for e in edits("Lee was in Rome", Source.of("On Monday Lee was in Rome."), 1, random.Random(3))]
    ['negation']
    """
    rare, common = rng.sample(_RARE, len(_RARE)), rng.sample(_COMMON, len(_COMMON))
    results: list[Edit] = []
    for attempt in rare + common if rng.random() < 0.5 else common + rare:
        edited = attempt(claim, source, rng)
        if edited and edited.claim != claim:
            results.append(edited)
        if len(results) == count:
            break
    return results
