"""What follows a verb, in units that may be told or left out: an object, a detail, a noun with its "of"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from claimwise_embedded.clauses_model import Clause
from claimwise_embedded.decomposer_tokens import Token, leans_to_noun, verb_forms

BE = frozenset("is are was were 's 're 'm am be been being".split())


_MUST_STAY = frozenset("NP PR VI TH WH QT VN VG XX PG".split())


KEEP_OF = frozenset(
    "tens number numbers majority lot lots group range series dozens hundreds thousands millions one two three four five "
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

    def versions(self) -> Iterator[tuple[str, list[int]]]:
        """The ways to tell it, by name."""
        if not self.conjuncts:
            yield "core", self.core
        for conjunct in self.conjuncts:
            yield "conjunct", conjunct


def units_of(clause: Clause, tokens: Sequence[Token]) -> list[Unit]:
    """Complements grouped: a verb with its object, a noun with its "of"."""
    units: list[Unit] = []
    for part in clause.comps:
        last = units[-1] if units else None
        first = tokens[part.core[0]].lower
        if (
            last is not None
            and part.kind == "PP"
            and first in ("of", "per")
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
        if part.kind in ("VI", "VG", "VN") and last is not None and last.conjuncts:
            last.core = [*last.core, *part.core]  # "a wife and the first woman to hold the office"
            last.conjuncts[-1] = [*last.conjuncts[-1], *part.core]
            continue
        if part.kind == "VI" and last is not None and last.kind == "PP" and tokens[last.core[0]].lower == "for":
            last.core = [*last.all, *part.core]  # "for the mud to be mapped"
            last.posts, last.conjuncts = [], []
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
        if (
            last is not None
            and last.kind == "RB"
            and part.kind in ("PP", "SB", "TM", "PG", "VI")
            and last.core[-1] + 1 == part.core[0]
            and (
                tokens[last.core[-1]].lower in _QUALIFYING
                or (part.kind == "PP" and tokens[last.core[-1]].lower in _DIRECTIONS)
            )
        ):
            units[-1] = Unit(part.kind, [*last.core, *part.core], list(part.posts), [])
            continue
        if last is not None and part.kind == "PU":
            continue
        if (
            last is not None
            and last.kind == "PP"
            and part.kind in ("VG", "VN")
            and tokens[last.core[0]].lower in ("with", "without")
        ):
            last.core = [*last.all, *part.core]  # "with many people watching"
            last.kind, last.posts, last.conjuncts = part.kind, [], []
            continue
        if (
            last is not None
            and last.kind in ("TM", "NP")
            and part.kind == "RB"
            and first in ("later", "earlier", "ago")
        ):
            last.core = [*last.all, *part.core]
            last.posts = []
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
        if must and lemma(clause, tokens) in _STATES:
            return must  # "got better at school gates"
        return int(f"{lemma(clause, tokens)} {tokens[units[0].core[0]].lower}" in _BOUND_TO)
    if must < len(units) and copula and units[must].kind == "RB" and units[must - 1].all[-1] + 1 == units[must].core[0]:
        must += 1  # "was a step down"
    if (
        must < len(units)
        and copula
        and tokens[units[must - 1].core[-1]].lower in _MEASURES
        and units[must].kind == "PP"
    ):
        must += 1  # "is three shots behind the leader"
    if must == len(units) or units[must - 1].kind not in ("PR", "NP"):
        return must
    if units[must].kind == "PP" and f"{lemma(clause, tokens)} {tokens[units[must].core[0]].lower}" in _OBJECT_BOUND:
        return must + 1  # "put the gain at 12 points"
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


def lemma(clause: Clause, tokens: Sequence[Token]) -> str:
    """The base form of the clause\'s verb, or nothing."""
    for i in reversed(clause.verb):
        if tokens[i].tag not in ("RB", "IN") and tokens[i].lower in verb_forms():
            return verb_forms()[tokens[i].lower][0]
    return ""


def options(units: Sequence[Unit]) -> Iterator[tuple[str, list[int]]]:
    """The obligatory units with one of them in another version."""
    for k, unit in enumerate(units):
        before, after = flat(units[:k], posts=False), flat(units[k + 1 :], posts=False)
        for conjunct in unit.conjuncts:
            yield "conjunct", [*before, *conjunct, *after]
        for post in unit.posts if len(unit.posts) > 1 else ():
            yield "post", [*before, *unit.core, *post, *after]


#: Adverbs of the phrase after them: "probably because ...", "only after ...".
_QUALIFYING = frozenset(
    "perhaps probably possibly maybe chiefly mainly largely mostly partly apparently allegedly reportedly likely "
    "particularly especially notably specifically only just even not almost nearly about shortly soon immediately "
    "exactly right well far then simply primarily long".split()
)


#: Verbs that say nothing without the state after them.
_STATES = frozenset("get become feel look seem remain stay go do keep appear fare stand".split())
#: Verbs that say nothing, or something else, without their preposition.
_BOUND_TO = frozenset(
    f"{row.split(':')[0]} {preposition}"
    for row in """turn:to,into agree:to,on,with amount:to ask:for,about refer:to depend:on consist:of rely:on lead:to
    come:from,into,under,with,to go:to,into,through,on belong:to result:in,from focus:on,upon deal:with look:at,for,like,into,after
    aim:at,for call:for,on apply:for,to account:for contribute:to respond:to relate:to range:from stem:from suffer:from
    benefit:from live:in,with,at,on concentrate:on consist:in,of participate:in engage:in specialise:in specialize:in
    differ:from vary:from derive:from lie:in,with stand:at,for point:to draw:on opt:for object:to adhere:to adapt:to
    remain:in,under,at,on serve:as act:as work:as date:from,to tend:to face:with argue:for,against vote:for,against
    search:for hope:for long:for care:for,about insist:on embark:on feature:in revolve:around centre:on center:on
    hinge:on border:on comply:with cope:with collide:with merge:with tie:with side:with correspond:to,with
    gesture:at hint:at aspire:to resort:to succumb:to yield:to cling:to stick:to,with pay:for attend:to listen:to talk:about,to
    speak:about,to,of think:of,about know:about,of hear:about,of,from learn:about,of dispose:of approve:of accuse:of
    warn:of,about,against complain:about,of worry:about,over put:at,on,in place:on,in,under base:on,in rank:among,as
    compose:of consider:as know:as,for locate:in,at situate:in,at associate:with involve:in dedicate:to commit:to
    intend:for expose:to subject:to attach:to limit:to confine:to devote:to attribute:to end:with,in,at,as,on
    catch:with keep:with deal:with meet:with compare:with,to base:on,in
    fall:into,to,under return:to,from move:to,into,from move:on get:into,to,from run:into,for,from head:to,for,into""".split()
    for preposition in row.split(":")[1].split(",")
)
#: The same with an object before it.
_OBJECT_BOUND = frozenset(
    f"{row.split(':')[0]} {preposition}"
    for row in """put:at,on,in,into,to,under place:on,in,under base:on accuse:of ask:for attribute:to turn:into deprive:of
    rob:of provide:with replace:with,by divide:into compare:with,to prevent:from stop:from keep:from regard:as
    describe:as see:as treat:as view:as name:as credit:with remind:of strip:of clear:of link:to,with""".split()
    for preposition in row.split(":")[1].split(",")
)
#: Directions and the phrase that says where from or to.
_DIRECTIONS = frozenset("away ahead down up out back over off forward along through".split())


_STRETCHES = frozenset("seconds minutes hours days weeks months years moments shortly soon just day week".split())


#: Nouns whose "to" belongs to them.
_TO_NOUNS = frozenset(
    "refusal attempt attempts plan plans decision bid chance right ability way ways opportunity effort efforts request "
    "move desire order orders time need offer threat failure willingness able likely certain ready due set keen happy "
    "unable willing eager determined difficult easy hard impossible free about reluctant".split()
)


#: Heads that mean nothing without their number.
_MEASURES = frozenset(
    "shots points seconds euros pounds dollars euro pound dollar years year months month weeks week days day hours hour minutes minute times "
    "time miles mile metres meters points shots seconds per cent percent people goals games degrees place world".split()
)


def of_verb(unit: Unit, tokens: Sequence[Token]) -> bool:
    """Whether a prepositional phrase tells of the verb whatever noun stands before it: a time, a role, an occasion."""
    return tokens[unit.core[0]].lower in _OF_VERBS or any(
        tokens[i].lower in _CALENDAR or _YEAR.fullmatch(tokens[i].lower) for i in unit.core
    )


_OF_VERBS = frozenset("as after since during until before despite following amid throughout by".split())
_CALENDAR = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december".split()
)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")

#: From this lean on, a detail is the noun's alone and is not told of the verb.
NOUN_OWNS = 1.5
#: Up to this lean, a phrase that follows another phrase may be told of the verb without that one.
SAFE_LEAN = 0.0


def noun_lean(units: Sequence[Unit], j: int, verb: str, tokens: Sequence[Token]) -> float:
    """Lean of the prepositional unit j towards the noun right before it; 0 where there is none."""
    if j == 0 or units[j].kind != "PP":
        return 0.0
    before = units[j - 1].all[-1]
    if before + 1 != units[j].core[0] or tokens[before].tag != "X" or tokens[before].text[:1].isupper():
        return 0.0
    return leans_to_noun(tokens[before].lower, verb, tokens[units[j].core[0]].lower)
