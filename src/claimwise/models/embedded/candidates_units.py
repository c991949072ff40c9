"""What follows a verb, in units that may be told or left out: an object, a detail, a noun with its "of"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from claimwise.models.embedded.clauses_model import Clause
from claimwise.models.embedded.decomposer_tokens import Token, leans_to_noun, verb_forms

BE = frozenset("is are was were 's 're 'm am be been being".split())


_MUST_STAY = frozenset("NP PR VI TH WH QT VN VG XX PG".split())


KEEP_OF = frozenset(
    "number numbers majority lot lots group range series dozens hundreds thousands millions one two three four five "
    "some many most none all couple kind type sort half part parts pair piece bottle set team members member "
    "rest any each several".split()
)


@dataclass(slots=True)
class Unit:
    """A complement: ``core``, what may follow it (``posts``), and the versions that "and" joins."""

    kind: str
    core: list[int]
    posts: list[list[int]]
    conjuncts: list[list[int]]

    @property
    def all(self) -> list[int]:
        """Core and posts."""
        return [*self.core, *(i for post in self.posts for i in post)]

    def versions(self, tokens: Sequence[Token]) -> Iterator[tuple[str, list[int]]]:
        """The ways to tell it, by name."""
        if not self.conjuncts:
            yield "core", self.core
        for conjunct in self.conjuncts:
            yield "conjunct", conjunct
        short = stripped(self.core, tokens)
        if short != self.core:
            yield "stripped", short


def units_of(clause: Clause, tokens: Sequence[Token]) -> list[Unit]:
    """Complements grouped: a verb with its object, a noun with its "of"."""
    units: list[Unit] = []
    for part in clause.comps:
        last = units[-1] if units else None
        first = tokens[part.core[0]].lower
        if (
            last is not None
            and part.kind == "PP"
            and first == "of"
            and last.kind in ("NP", "PP", "VI", "VG", "PG", "VN")
        ):
            if tokens[last.core[-1]].lower in KEEP_OF or last.conjuncts:
                last.core = [*last.core, *part.core]
                if last.conjuncts:
                    last.conjuncts[-1] = [*last.conjuncts[-1], *part.core]
            else:
                last.posts.append(part.all)
            continue
        if last is not None and last.kind in ("VI", "VG", "PG", "VN") and part.kind in ("NP", "PR") and not last.posts:
            before = list(last.core)
            last.core = [*before, *part.core]
            last.posts = list(part.posts)
            last.conjuncts = [[*before, *c] for c in part.conjuncts]
            continue
        if (
            last is not None
            and first in ("after", "before")
            and part.kind in ("SB", "PP", "PG")
            and (tokens[last.core[-1]].lower in _STRETCHES)
        ):
            last.core = [*last.core, *part.all]
            last.kind = part.kind
            continue
        if part.kind == "VI" and last is not None and tokens[last.core[-1]].lower in _TO_NOUNS and not last.posts:
            last.core = [*last.core, *part.core]
            last.kind = "VI"
            continue
        if last is not None and last.kind in ("VI",) and part.kind in ("VI",) and not last.posts:
            last.core = [*last.core, *part.core]
            continue
        if len(units) > 1 and part.kind == "PP" and last.kind in ("VI", "PG") and not last.conjuncts:
            last.posts.append(part.all)
            continue
        if last is not None and part.kind == "PU":
            continue
        units.append(Unit(part.kind, list(part.core), list(part.posts), list(part.conjuncts)))
    return units


def copular(clause: Clause, tokens: Sequence[Token]) -> bool:
    """Whether the verb is a form of "be" or "have" alone."""
    return all(tokens[i].lower in BE or tokens[i].tag in ("MD", "NG", "RB", "HV") for i in clause.verb)


def obligatory(clause: Clause, units: list[Unit], tokens: Sequence[Token]) -> int:
    """How many of the units the verb cannot do without."""
    if not units:
        return 0
    copula = copular(clause, tokens)
    must = 0
    while must < len(units) and units[must].kind == "RB":
        must += 1
    if must < len(units) and (copula or units[must].kind in _MUST_STAY):
        must += 1
    elif must < len(units):
        return 0
    if (
        must < len(units)
        and copula
        and tokens[units[must - 1].core[-1]].lower in _MEASURES
        and units[must].kind == "PP"
    ):
        must += 1  # "is three shots behind the leader"
    if must == len(units) or units[must - 1].kind not in ("PR", "NP"):
        return must
    second = units[must].kind in ("VI", "TH", "WH") or (
        units[must].kind == "NP" and (units[must - 1].kind == "PR" or lemma(clause, tokens) in _TWO_OBJECTS)
    )
    return must + second  # "told him to go", "gave her a ring"


def flat(units: Sequence[Unit], *, posts: bool = True) -> list[int]:
    """The tokens of some units in order."""
    return [i for unit in units for i in (unit.all if posts else unit.core)]


_TWO_OBJECTS = frozenset(
    "give tell send show offer ask bring buy teach lend owe pay award hand grant promise wish cost deny name".split()
)


#: Verbs whose object is followed by what it becomes: nothing of it can be dropped.
OBJECT_AND_MORE = frozenset("make keep leave call name find consider get turn render declare label drive".split())


def lemma(clause: Clause, tokens: Sequence[Token]) -> str:
    """The base form of the clause\'s verb, or nothing."""
    forms = verb_forms().get(tokens[clause.verb[-1]].lower)
    return forms[0] if forms else ""


def options(units: Sequence[Unit], tokens: Sequence[Token], *, rigid: bool) -> Iterator[tuple[str, list[int]]]:
    """The obligatory units with one of them in another version."""
    for k, unit in enumerate(units):
        before, after = flat(units[:k], posts=False), flat(units[k + 1 :], posts=False)
        for conjunct in unit.conjuncts:
            yield "conjunct", [*before, *conjunct, *after]
        short = unit.core if rigid else stripped(unit.core, tokens)
        if short != unit.core:
            yield "stripped", [*before, *short, *after]
        for post in unit.posts if len(unit.posts) > 1 else ():
            yield "post", [*before, *unit.core, *post, *after]
        if unit.posts and short != unit.core:
            yield "stripped-post", [*before, *short, *(i for p in unit.posts for i in p), *after]


def stripped(at: list[int], tokens: Sequence[Token]) -> list[int]:
    """The last noun phrase of a unit without its modifiers: "200 light recipes" -> "recipes"."""
    j = len(at) - 1
    if (
        j < 1
        or tokens[at[j]].tag not in ("X",)
        or any(tokens[i].lower in ("and", "or", "no", "not", "'", '"', "‘", "’") for i in at)
    ):
        return at
    k = j
    while k > 0 and tokens[at[k - 1]].tag in ("X", "CD", "RB", "VN") and at[k] - at[k - 1] == 1:
        k -= 1
    # Names and compounds stay together: only lower-case modifiers, numbers and hyphenated words go.
    first = j
    while first > k and tokens[at[first - 1]].text[:1].isupper():
        first -= 1
    if tokens[at[j]].text[:1].isupper() and first == k:
        return at
    if first == k:
        return at
    dropped = at[k:first]
    if k and tokens[at[k - 1]].lower in ("than", "least", "most", "up", "to", "about") and tokens[at[k]].tag == "CD":
        return at
    if tokens[at[j]].lower in _MEASURES or any(_AMOUNT.match(tokens[i].lower) for i in dropped):
        return at
    if any(tokens[i].lower in _WEIGHTY or tokens[i].text[:1].isupper() for i in dropped):
        return at
    lead = at[:k]
    kept = tokens[at[first]].text
    if lead and tokens[lead[-1]].lower in ("a", "an"):
        article = "an" if kept[:1].lower() in "aeiou" else "a"
        if article != tokens[lead[-1]].lower:
            return at
    return [*lead, *at[first:]]


_STRETCHES = frozenset("seconds minutes hours days weeks months years moments shortly soon just day week".split())


#: Nouns whose "to" belongs to them.
_TO_NOUNS = frozenset(
    "refusal attempt attempts plan plans decision bid chance right ability way ways opportunity effort efforts request "
    "move desire order orders time need offer threat failure willingness able likely certain ready due set keen happy "
    "unable willing eager determined difficult easy hard impossible free about reluctant".split()
)


#: Heads that mean nothing without their number, and modifiers that change what is said when dropped.
_MEASURES = frozenset(
    "shots points seconds euros pounds dollars euro pound dollar years year months month weeks week days day hours hour minutes minute times "
    "time miles mile metres meters points shots seconds per cent percent people goals games degrees place world".split()
)


_WEIGHTY = frozenset(
    "former alleged suspected fake would-be potential possible failed attempted few fewer no first second third last "
    "next only same other more less most least least-known proposed planned future unborn".split()
)


_AMOUNT = re.compile(r"[$£€]|.*\d.*[a-z%]")


#: From this lean on, a detail is the noun's alone and is not told of the verb.
NOUN_OWNS = 1.5


def noun_lean(units: Sequence[Unit], j: int, verb: str, tokens: Sequence[Token]) -> float:
    """Lean of the prepositional unit j towards the noun right before it; 0 where there is none."""
    if j == 0 or units[j].kind != "PP":
        return 0.0
    before = units[j - 1].all[-1]
    if before + 1 != units[j].core[0] or tokens[before].tag != "X" or tokens[before].text[:1].isupper():
        return 0.0
    return leans_to_noun(tokens[before].lower, verb, tokens[units[j].core[0]].lower)
