"""Candidate claims of a clause: the bare fact, and the fact with each detail, as the annotators of ROSE write.

A candidate is a list of pieces, token indices or inserted words, with what distinguishes it from its
siblings (``traits``), which the selector weighs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from claimwise.models.embedded import decomposer_names as names
from claimwise.models.embedded.clauses import Clause, Parse, Part
from claimwise.models.embedded.decomposer_references import Resolution
from claimwise.models.embedded.decomposer_tokens import Token, leans_to_noun, tagger, verb_forms

Piece = int | str

#: What stands under these is not asserted without them: they are never dropped.
_CONDITIONS = frozenset("if unless provided".split())
_BE = frozenset("is are was were 's 're 'm am be been being".split())
_MUST_STAY = frozenset("NP PR VI TH WH QT VN VG XX PG".split())
_KEEP_OF = frozenset(
    "number numbers majority lot lots group range series dozens hundreds thousands millions one two three four five "
    "some many most none all couple kind type sort half part parts pair piece bottle set team members member "
    "rest any each several".split()
)


@dataclass(slots=True)
class Candidate:
    """A possible claim of one sentence; ``kept`` are the token indices it uses."""

    pieces: list[Piece]
    kind: str
    traits: dict[str, float] = field(default_factory=dict)

    @property
    def kept(self) -> list[int]:
        return [p for p in self.pieces if isinstance(p, int)]


def of_parse(parsed: Parse, missing: str | None, resolution: Resolution | None = None) -> Iterator[Candidate]:
    """All candidates of a parsed sentence."""
    tokens = parsed.tokens
    whole = list(range(len(tokens)))
    while whole and tokens[whole[-1]].lower in (".", "!"):
        whole.pop()
    parts = len(parsed.clauses) + sum(len(c.reported) for c in parsed.clauses) + len(parsed.appositions)
    told = [part for c in parsed.clauses for part in (*c.comps, c.subject) if part is not None]
    traits = {
        f"parts-{min(parts, 4)}": 1.0,
        "splits": float(any(part.conjuncts for part in told)),
        "opens": float(any(c.pre for c in parsed.clauses)),
        "details": float(min(3, sum(part.kind in ("PP", "TM", "SB", "VI") for part in told))),
    }
    yield Candidate(list(whole), "sentence", traits)
    for clause in parsed.clauses:
        yield from of_clause(clause, tokens, missing)
    for name, description in parsed.appositions:
        yield from apposition(name, description, tokens)
    yield from titles(tokens)
    yield from verbless(parsed)
    if resolution is not None:
        yield from described(resolution, tokens)


def of_clause(clause: Clause, tokens: Sequence[Token], missing: str | None) -> Iterator[Candidate]:
    """The bare fact of a clause, its details one at a time, its prefixes and the whole of it."""
    if clause.kind == "fragment":
        yield Candidate([i for part in clause.comps for i in part.core], "fragment")
        return
    if clause.subject is not None and clause.kind == "main":
        yield from origin(clause.subject, tokens)
    if clause.subject is None:
        subjects: list[tuple[list[Piece], str]] = [([missing], "restored") if missing else ([], "none")]
    else:
        subjects = list(_subjects(clause.subject, tokens))
    verb = _verb(clause, tokens, plural=clause.subject is not None and _plural(clause.subject, tokens))
    if verb is None:
        return
    units = _units(clause, tokens)
    condition = [u for u in units if u.kind == "SB" and tokens[u.core[0]].lower in _CONDITIONS]
    units = [u for u in units if u not in condition]
    conditional = [i for u in condition for i in u.all]
    opening = [i for pre in clause.pre if tokens[pre[0]].lower in _CONDITIONS for i in pre]
    must = _obligatory(clause, units, tokens)
    frame: list[Piece] = list(clause.frame)
    if clause.reported:
        for who, which in subjects[:1] if len(subjects) < 3 else subjects:
            lead = [*frame, *who, *verb]
            that = next((i for part in clause.comps for i in part.core[:1] if tokens[i].lower == "that"), None)
            before = [i for unit in units[: max(0, len(units) - 1)] if unit.kind != "TH" for i in unit.core]
            head = [*lead, *before] + ([that] if that is not None else [])
            for inner in clause.reported:
                for found in of_clause(inner, tokens, missing):
                    yield Candidate(
                        [*head, *found.pieces],
                        f"reported-{found.kind}" if which == "core" else "reported-other",
                        {**found.traits, "reported": 1.0},
                    )
        return
    seen: set[tuple] = set()

    def emit(pieces: list[Piece], kind: str, **traits: float) -> Iterator[Candidate]:
        if conditional and kind != "full":
            return  # what hangs on the condition cannot be told: only the whole clause is safe
        pieces = [*opening, *pieces, *conditional]
        key = tuple(pieces)
        if key not in seen:
            seen.add(key)
            yield Candidate([*frame, *pieces], kind, {clause.kind: 1.0, **traits})

    n = len(units)
    verb_lemma = _lemma(clause, tokens)
    if clause.kind != "reported" and not clause.frame:
        yield from belongings(units, verb_lemma, tokens, past=any(tokens[i].tag == "VD" for i in clause.verb))
    for who, which in subjects:
        lead = [*who, *(_singular(verb, tokens) if which == "conjunct" else verb)]
        base: list[Piece] = [*lead, *_flat(units[:must])]
        bare = [*lead, *_flat(units[:must], posts=False)]
        trait = {f"subject-{which}": 1.0}
        if must or n == 0 or units[0].kind in ("PP", "RB", "SB", "TM"):
            if not any(unit.conjuncts for unit in units[:must]):
                yield from emit(bare, "bare", **trait)
            yield from emit(base, "base", **trait)
        for option in _options(units[:must], tokens, rigid=_lemma(clause, tokens) in _OBJECT_AND_MORE):
            yield from emit([*lead, *option[1]], option[0], **trait)
        for j in range(must, n):
            unit = units[j]
            lean = _noun_lean(units, j, verb_lemma, tokens)
            if j > must and lean > _NOUN_OWNS:
                yield from emit([*bare, *units[j - 1].core, *unit.core], "owned", **trait, place=j - must)
                continue
            trait = {**trait, "lean": max(-1.0, min(1.0, lean / 4))}
            for name, version in unit.versions(tokens):
                yield from emit(
                    [*bare, *version],
                    "detail",
                    **trait,
                    **{f"version-{name}": 1.0, "place": j - must, f"unit-{unit.kind}": 1.0},
                )
            if unit.posts:
                yield from emit([*bare, *unit.all], "detail", **trait, **{"version-full": 1.0, "place": j - must})
            if j > must:
                yield from emit([*base, *_flat(units[must : j + 1])], "prefix", **trait, length=j + 1 - must)
                yield from emit([*bare, *units[j - 1].core, *unit.core], "pair", **trait, place=j - must)
        full = [*lead, *_flat(units)]
        yield from emit(full, "full", **trait, units=n)
        for pre in clause.pre:
            if tokens[pre[0]].lower in _CONDITIONS:
                continue
            yield from emit([*pre, *bare], "pre", **trait)
            yield from emit([*pre, *full], "pre-full", **trait)


def write(pieces: Sequence[Piece], tokens: Sequence[Token], resolution: Resolution) -> str:
    """The text of a candidate: words as the summary spaces them, each pronoun that would come before its name
    in this claim replaced by the name.
    """
    out = ""
    previous = -1
    named: list[object] = []
    fresh: list[object] = []
    for piece in pieces:
        if isinstance(piece, str):
            word, glued = piece, False
            if resolution.missing is not None and piece == resolution.missing.text:
                named.append(resolution.missing)
            previous = -1
        else:
            word = tokens[piece].text
            glued = previous >= 0 and tokens[previous].end == tokens[piece].start and piece == previous + 1
            replaced = resolution.replaced.get(piece)
            if piece in resolution.hidden and any(resolution.hidden[piece] is e for e in fresh):
                continue
            if replaced is not None:
                entity, text = replaced
                if not any(entity is e for e in named):
                    word = text
                    fresh.append(entity)
                named.append(entity)
            elif piece in resolution.named:
                named.append(resolution.named[piece])
            if piece == 0 and out and word == tokens[0].text and _is_common(tokens, resolution):
                word = tokens[0].lower
            previous = piece
            if not glued and (word in _CLOSING or tokens[piece].tag == "PO" or tokens[piece].lower in _CLITICS):
                glued = bool(out)
        out += word if glued or not out else " " + word
    out = out.strip().removesuffix(" -").strip(" ,;:")
    return out[:1].upper() + out[1:]


def _is_common(tokens: Sequence[Token], resolution: Resolution) -> bool:
    """Whether the first word of a sentence has its capital only from standing there."""
    first = tokens[0]
    return (
        0 not in resolution.named
        and not first.text[1:2].isupper()
        and (first.tag != "X" or tagger().knows(first.lower))
        and first.lower != "i"
    )


_CLOSING = frozenset(",;:)%")
_CLITICS = frozenset("n't 's 're 've 'll 'd 'm".split())


# -- parts ---------------------------------------------------------------------------------------------


def _subjects(part: Part, tokens: Sequence[Token]) -> Iterator[tuple[list[Piece], str]]:
    core = list(part.core)
    if (
        part.posts
        and not part.conjuncts
        and tokens[part.posts[0][0]].lower == "of"
        and tokens[core[-1]].lower in _KEEP_OF
    ):
        part = Part(part.kind, [*core, *part.posts[0]], part.posts[1:])
        core = list(part.core)
    restrictive = [post for post in part.posts if tokens[post[0]].lower not in (",", "(")]
    if part.conjuncts and not restrictive:
        for conjunct in part.conjuncts:
            yield list(conjunct), "conjunct"
    yield core, "core"
    if restrictive:
        yield [*core, *(i for post in restrictive for i in post)], "full"
    short = stripped(part.core, tokens)
    if short != part.core:
        yield list(short), "stripped"


def _verb(clause: Clause, tokens: Sequence[Token], *, plural: bool) -> list[Piece] | None:
    """The verb group as a statement needs it: a participle gets its auxiliary, ", saying" a tense; None where
    that cannot be told.
    """
    verb: list[Piece] = [*clause.auxiliary, *clause.verb]
    if clause.kind not in ("participial", "gerund") or clause.auxiliary:
        return verb
    at = next((k for k, i in enumerate(clause.verb) if tokens[i].tag in ("VG", "VN", "BN")), 0)
    first = tokens[clause.verb[at]]
    past = not clause.governor or any(
        tokens[i].tag in ("VD", "HV", "BN") or tokens[i].lower in ("was", "were") for i in clause.governor
    )
    if first.tag == "VN":
        return [
            ("were" if plural else "was") if past or clause.kind == "gerund" else ("are" if plural else "is"),
            *verb,
        ]
    if not clause.governor:
        return ["are" if plural else "is", *verb]
    if first.lower in ("being", "having"):
        word = {"being": ("were" if plural else "was"), "having": "had"}[first.lower]
        return [*clause.verb[:at], word, *clause.verb[at + 1 :]] if len(clause.verb) > at + 1 else None
    forms = verb_forms().get(first.lower)
    if forms is None or any(tokens[i].tag == "MD" for i in clause.governor):
        return None
    if past or clause.kind == "gerund":
        word = forms[2]
    else:
        word = forms[0] if plural else forms[1]
    return [*clause.verb[:at], word, *clause.verb[at + 1 :]]


_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does", "'re": "is", "'ve": "has"}


def _singular(verb: list[Piece], tokens: Sequence[Token]) -> list[Piece]:
    """The verb group of "A and B are ..." as told of A alone."""
    for k, piece in enumerate(verb):
        lower = tokens[piece].lower if isinstance(piece, int) else piece
        if lower in _SINGULAR:
            return [*verb[:k], _SINGULAR[lower], *verb[k + 1 :]]
        if isinstance(piece, int) and tokens[piece].tag == "VZ":
            forms = verb_forms().get(lower)
            return [*verb[:k], forms[1], *verb[k + 1 :]] if forms and forms[0] == lower else verb
        if isinstance(piece, int) and tokens[piece].tag != "RB":
            break
    return verb


def _plural(part: Part, tokens: Sequence[Token]) -> bool:
    last = tokens[part.core[-1]].lower
    return (
        bool(part.conjuncts)
        or last in ("people", "men", "women", "police", "children", "they", "we", "you")
        or (last.endswith("s") and not last.endswith(("ss", "us", "is")))
    )


@dataclass(slots=True)
class _Unit:
    kind: str
    core: list[int]
    posts: list[list[int]]
    conjuncts: list[list[int]]

    @property
    def all(self) -> list[int]:
        return [*self.core, *(i for post in self.posts for i in post)]

    def versions(self, tokens: Sequence[Token]) -> Iterator[tuple[str, list[int]]]:
        if not self.conjuncts:
            yield "core", self.core
        for conjunct in self.conjuncts:
            yield "conjunct", conjunct
        short = stripped(self.core, tokens)
        if short != self.core:
            yield "stripped", short


def _units(clause: Clause, tokens: Sequence[Token]) -> list[_Unit]:
    """Complements grouped: a verb with its object, a noun with its "of"."""
    units: list[_Unit] = []
    for part in clause.comps:
        last = units[-1] if units else None
        first = tokens[part.core[0]].lower
        if (
            last is not None
            and part.kind == "PP"
            and first == "of"
            and last.kind in ("NP", "PP", "VI", "VG", "PG", "VN")
        ):
            if tokens[last.core[-1]].lower in _KEEP_OF or last.conjuncts:
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
        if part.kind == "VI" and last is not None and tokens[last.core[-1]].lower in _TO_NOUNS and not last.posts:
            last.core = [*last.core, *part.core]
            last.kind = "VI"
            continue
        if last is not None and last.kind in ("VI",) and part.kind in ("VI",) and not last.posts:
            last.core = [*last.core, *part.core]
            continue
        if last is not None and part.kind == "PU":
            continue
        units.append(_Unit(part.kind, list(part.core), list(part.posts), list(part.conjuncts)))
    return units


def _obligatory(clause: Clause, units: list[_Unit], tokens: Sequence[Token]) -> int:
    """How many of the units the verb cannot do without."""
    if not units:
        return 0
    copula = all(tokens[i].lower in _BE or tokens[i].tag in ("MD", "NG", "RB", "HV") for i in clause.verb)
    must = 0
    while must < len(units) and units[must].kind == "RB":
        must += 1
    if must < len(units) and (copula or units[must].kind in _MUST_STAY):
        must += 1
    elif must < len(units):
        return 0
    if must < len(units) and units[must - 1].kind in ("PR", "NP") and units[must].kind in ("VI", "NP", "TH", "WH"):
        # "told him to go", "gave her a ring"
        if units[must].kind != "NP" or units[must - 1].kind == "PR" or _lemma(clause, tokens) in _TWO_OBJECTS:
            must += 1
    return must


def _flat(units: Sequence[_Unit], *, posts: bool = True) -> list[int]:
    return [i for unit in units for i in (unit.all if posts else unit.core)]


_TWO_OBJECTS = frozenset(
    "give tell send show offer ask bring buy teach lend owe pay award hand grant promise wish cost deny name".split()
)
#: Verbs whose object is followed by what it becomes: nothing of it can be dropped.
_OBJECT_AND_MORE = frozenset("make keep leave call name find consider get turn render declare label drive".split())


def _lemma(clause: Clause, tokens: Sequence[Token]) -> str:
    forms = verb_forms().get(tokens[clause.verb[-1]].lower)
    return forms[0] if forms else ""


def _options(units: Sequence[_Unit], tokens: Sequence[Token], *, rigid: bool) -> Iterator[tuple[str, list[int]]]:
    """The obligatory units with one of them in another version."""
    for k, unit in enumerate(units):
        before, after = _flat(units[:k], posts=False), _flat(units[k + 1 :], posts=False)
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
    if any(tokens[i].lower in _WEIGHTY for i in dropped):
        return at
    lead = at[:k]
    kept = tokens[at[first]].text
    if lead and tokens[lead[-1]].lower in ("a", "an"):
        article = "an" if kept[:1].lower() in "aeiou" else "a"
        if article != tokens[lead[-1]].lower:
            return at
    return [*lead, *at[first:]]


#: Nouns whose "to" belongs to them.
_TO_NOUNS = frozenset(
    "refusal attempt attempts plan plans decision bid chance right ability way ways opportunity effort efforts request "
    "move desire order orders time need offer threat failure willingness able likely certain ready due set keen happy "
    "unable willing eager determined difficult easy hard impossible free about reluctant".split()
)
#: Heads that mean nothing without their number, and modifiers that change what is said when dropped.
_MEASURES = frozenset(
    "euros pounds dollars euro pound dollar years year months month weeks week days day hours hour minutes minute times "
    "time miles mile metres meters points per cent percent people goals games degrees place world".split()
)
_WEIGHTY = frozenset(
    "former alleged suspected fake would-be potential possible failed attempted few fewer no first second third last "
    "next only same other more less most least least-known proposed planned future unborn".split()
)
_AMOUNT = re.compile(r"[$£€]|.*\d.*[a-z%]")


#: From this lean on, a detail is the noun's alone and is not told of the verb.
_NOUN_OWNS = 1.5


def _noun_lean(units: Sequence[_Unit], j: int, verb: str, tokens: Sequence[Token]) -> float:
    """Lean of the prepositional unit j towards the noun right before it; 0 where there is none."""
    if j == 0 or units[j].kind != "PP":
        return 0.0
    before = units[j - 1].all[-1]
    if before + 1 != units[j].core[0] or tokens[before].tag != "X" or tokens[before].text[:1].isupper():
        return 0.0
    return leans_to_noun(tokens[before].lower, verb, tokens[units[j].core[0]].lower)


def belongings(units: Sequence[_Unit], verb: str, tokens: Sequence[Token], *, past: bool) -> Iterator[Candidate]:
    """ "won an award for his work" -> "The award was for his work", where the noun owns the phrase."""
    for j in range(1, len(units)):
        if units[j].kind != "PP" or tokens[units[j].core[0]].lower not in _BELONGING:
            continue
        if _noun_lean(units, j, verb, tokens) <= _NOUN_OWNS:
            continue
        noun = [i for i in units[j - 1].all if tokens[i].tag in ("DT", "PS", "X", "CD", "PO")]
        while noun and tokens[noun[-1]].tag != "X":
            noun.pop()
        start = len(noun) - 1
        while start > 0 and noun[start - 1] + 1 == noun[start]:
            start -= 1
        noun = noun[start:]
        if not noun or any(tokens[i].lower in ("no", "any") for i in noun):
            continue
        plural = _plural(Part("NP", noun), tokens)
        be = ("were" if plural else "was") if past else ("are" if plural else "is")
        lead: list[Piece] = [*noun]
        if tokens[noun[0]].lower in ("a", "an", "another", "some"):
            lead = ["the", *noun[1:]]
        elif tokens[noun[0]].tag == "X" and not tokens[noun[0]].text[:1].isupper():
            lead = ["the", *noun]
        yield Candidate([*lead, be, *units[j].core], "belonging", {f"place-{units[j - 1].kind}": 1.0})


_BELONGING = frozenset("for from against between over about in at on with under".split())


# -- what noun phrases say -----------------------------------------------------------------------------


_PEOPLE = names.MALE_NOUNS | names.FEMALE_NOUNS | names.PERSON_NOUNS | names.ROLES
_HONORIFICS = frozenset("mr mrs ms miss dr sir dame lord lady prof madam pope st".split())
_UNIQUE = frozenset(
    "chairman captain president coach manager boss leader chief minister mayor wife husband head ceo founder owner "
    "director secretary mother father king queen prince princess director-general spokesman spokeswoman".split()
)


def apposition(name: list[int], description: list[int], tokens: Sequence[Token]) -> Iterator[Candidate]:
    """ "David Gold, the chairman" -> "David Gold is the chairman"; "Kendall, 19" -> "Kendall is 19 years old"."""
    who: list[Piece] = list(name)
    capitals = [i for i in name if tokens[i].text[:1].isupper()]
    if len(name) > len(capitals) > 0 and name[-1] in capitals and tokens[name[0]].text[:1].islower():
        who = list(range(capitals[0], name[-1] + 1))
    first = tokens[description[0]]
    if len(description) == 1 and first.lower.isdigit():
        if tokens[who[-1]].tag == "X":
            yield Candidate([*who, "are" if _plural(Part("NP", who), tokens) else "is", description[0]], "age")
        return
    if tokens[description[0]].tag in ("DT", "PS", "X", "CD") and not (
        tokens[name[0]].tag == "CD" or (first.text[:1].isupper() and first.tag == "X")
    ):
        be = "are" if _plural(Part("NP", name), tokens) else "is"
        yield Candidate([*who, be, *description], "apposition")


def origin(part: Part, tokens: Sequence[Token]) -> Iterator[Candidate]:
    """ "Carlos Morales from Phoenix held ..." -> "Carlos Morales is from Phoenix"."""
    for post in part.posts[:1]:
        if (
            tokens[post[0]].lower in ("from", "with", "in", "at", "near", "under", "against")
            and len(post) > 1
            and post[0] == part.core[-1] + 1
        ):
            yield Candidate([*part.core, "are" if _plural(part, tokens) else "is", *post], "origin")


def titles(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """ "West Ham chairman David Gold" -> "David Gold is the West Ham chairman"; "19-year-old Kendall"."""
    n = len(tokens)
    for i in range(n - 1):
        a, b = tokens[i], tokens[i + 1]
        age = a.lower.removesuffix("-year-old")
        if (
            age != a.lower
            and age.isdigit()
            and b.tag == "X"
            and b.text.islower()
            and i
            and tokens[i - 1].tag in ("PS", "DT")
        ):
            j = i + 1
            while j + 1 < n and tokens[j + 1].tag == "X" and tokens[j + 1].text.islower():
                j += 1
            yield Candidate(["the", *range(i + 1, j + 1), "is", age, "years old"], "age")
            continue
        common = a.text[:1].islower() or a.text[:1].isdigit() or (i == 0 and a.lower in _PEOPLE)
        if a.tag not in ("X", "CD") or b.tag != "X" or not b.text[:1].isupper() or not common:
            continue
        j = i + 1
        while j < n and tokens[j].tag == "X" and tokens[j].text[:1].isupper():
            j += 1
        if j < n and (tokens[j].tag in ("X", "PO") or j - i > 4):
            continue
        name = list(range(i + 1, j))
        if age != a.lower and age.isdigit():
            yield Candidate([*name, "is", age, "years old"], "age")
            continue
        k = i
        while k > 0 and tokens[k - 1].tag in ("X", "CD", "PO", "DT") and tokens[k].tag != "DT":
            k -= 1
        title = list(range(k, i + 1))
        if a.tag != "X" or len(name) > 3 or len(title) > 5 or not a.lower.replace("-", "").isalpha():
            continue
        known = b.lower in names.MALE or b.lower in names.FEMALE
        if not (
            a.lower in _PEOPLE
            or a.lower.endswith(("ist", "ian", "man", "woman", "eer"))
            or (known and len(name) > 1 and a.lower.endswith(("er", "or", "ent", "ant", "end", "oss", "mate", "ar")))
        ):
            continue
        if (k > 0 and tokens[k - 1].tag == "PS") or a.lower in _HONORIFICS:
            continue
        article: list[Piece] = []
        if tokens[k].tag != "DT":
            article = ["the" if a.lower in _UNIQUE else "an" if tokens[k].lower[0] in "aeiou" else "a"]
        yield Candidate([*name, "is", *article, *title], "title")


def described(resolution: Resolution, tokens: Sequence[Token]) -> Iterator[Candidate]:
    """ "The 22-year-old has ..." of Paul Pogba -> "Paul Pogba is 22 years old"; "The striker" -> "is the striker"."""
    if resolution.described is None:
        return
    at, entity = resolution.described
    age = tokens[at[-1]].lower.removesuffix("-year-old")
    if age.isdigit():
        yield Candidate([entity.text, "is", age, "years old", *at[:0]], "described-age")
    elif tokens[at[0]].tag == "DT" and tokens[at[0]].start == tokens[0].start:
        yield Candidate([entity.text, "is", "the", *at[1:]], "described")


def verbless(parsed: Parse) -> Iterator[Candidate]:
    """Headlines that leave out the verb: "Moores under pressure" -> "Moores is under pressure"."""
    tokens = parsed.tokens
    for clause in parsed.clauses:
        if clause.kind != "main" or not clause.verb or clause.auxiliary or clause.subject is None:
            continue
        first = tokens[clause.verb[0]]
        if first.tag == "VN" and clause.subject.kind == "NP" and not clause.subject_missing:
            plural = _plural(clause.subject, tokens)
            be = ("are" if plural else "is") if first.lower == "set" else ("were" if plural else "was")
            rest = [i for part in clause.comps for i in part.core]
            yield Candidate([*clause.subject.core, be, *clause.verb, *rest], "passive")
