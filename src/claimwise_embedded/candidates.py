"""Candidate claims of a clause: the bare fact, and the fact with each detail, as the annotators of ROSE write.

A candidate is a list of pieces, token indices or inserted words, with what distinguishes it from its
siblings (``traits``), which the selector weighs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from claimwise_embedded.candidates_facts import apposition, belongings, described, origin, titles, verbless
from claimwise_embedded.candidates_text import Candidate, Piece, plural
from claimwise_embedded.candidates_units import (
    BE,
    KEEP_OF,
    NOUN_OWNS,
    SAFE_LEAN,
    copular,
    flat,
    lemma,
    noun_lean,
    obligatory,
    of_verb,
    options,
    units_of,
)
from claimwise_embedded.clauses_model import Clause, Parse, Part
from claimwise_embedded.clauses_tags import FINITE
from claimwise_embedded.decomposer_references import Resolution
from claimwise_embedded.decomposer_tokens import Token, verb_forms

#: What stands under these is not asserted without them: they are never dropped.
_CONDITIONS = frozenset("if unless provided".split())
#: Units that a clause may be told with alone; others belong to what stands before them.
_FREE = frozenset(("PP", "TM", "SB", "PG"))
#: Openings that only tie a sentence to the one before: no part of what it states.
_TIES = frozenset(
    "however additionally moreover furthermore meanwhile also besides therefore thus hence consequently overall "
    "finally lastly similarly".split()
)


def of_parse(parsed: Parse, missing: str | None, resolution: Resolution) -> Iterator[Candidate]:
    """All candidates of a parsed sentence."""
    tokens = parsed.tokens
    whole = list(range(len(tokens)))
    while len(whole) > 1 and (tokens[whole[0]].text in ("*", "-", "•", ",") or _tie(tokens, whole[0])):
        whole.pop(0)
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
    doubted = [id(clause.subject) for clause in parsed.clauses if clause.doubtful]
    headline = not any(t.tag in FINITE for t in tokens)
    for clause in parsed.clauses:
        if clause.doubtful or id(clause.subject) in doubted:
            continue
        article = clause.subject is not None and tokens[clause.subject.core[0]].lower in ("a", "an", "the")
        if clause.kind == "main" and not clause.finite and not clause.auxiliary and article and not headline:
            continue  # "a company founded in 1874": no statement
        if clause.kind != "fragment" or headline:
            yield from of_clause(clause, tokens, missing)
    for name, description in parsed.appositions:
        yield from apposition(name, description, tokens)
    yield from titles(tokens)
    yield from verbless(parsed)
    yield from described(resolution, tokens)


def _tie(tokens: Sequence[Token], i: int) -> bool:
    return tokens[i].lower in ("meanwhile", "but", "and") or (
        tokens[i].lower in _TIES and i + 1 < len(tokens) and tokens[i + 1].tag == "CM"
    )


def of_clause(clause: Clause, tokens: Sequence[Token], missing: str | None) -> Iterator[Candidate]:
    """The bare fact of a clause, its details one at a time, its prefixes and the whole of it."""
    if clause.kind == "fragment":
        yield Candidate([i for part in clause.comps for i in part.core], "fragment")
        return
    if clause.subject is not None and clause.kind == "main":
        yield from origin(clause.subject, tokens)
    if clause.subject is None and missing is None and min(clause.verb) > 2:
        return
    if clause.subject is None:
        subjects: list[tuple[list[Piece], str]] = [([missing], "restored") if missing else ([], "none")]
    else:
        subjects = list(_subjects(clause.subject, tokens))
    verb = _verb(clause, tokens, plural=clause.subject is not None and plural(clause.subject, tokens))
    if verb is None:
        return
    units = units_of(clause, tokens)
    condition = [u for u in units if u.kind == "SB" and tokens[u.core[0]].lower in _CONDITIONS]
    units = [u for u in units if u not in condition]
    conditional = [i for u in condition for i in u.all]
    opening = [i for pre in clause.pre if tokens[pre[0]].lower in _CONDITIONS for i in pre]
    must = obligatory(clause, units, tokens)
    frame: list[Piece] = list(clause.frame)
    if clause.reported:
        for who, which in subjects[:1] if len(subjects) < 3 else subjects:
            lead = [*frame, *who, *verb]
            that = next((i for part in clause.comps for i in part.core[:1] if tokens[i].lower == "that"), None)
            before = [i for unit in units[: max(0, len(units) - 1)] if unit.kind != "TH" for i in unit.core]
            head = [*lead, *before] + ([that] if that is not None else [])
            for inner in [] if any(c.doubtful for c in clause.reported) else clause.reported:
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
    verb_lemma = lemma(clause, tokens)
    if clause.kind != "reported" and not clause.frame:
        yield from belongings(units, verb_lemma, tokens, past=any(tokens[i].tag == "VD" for i in clause.verb))
    together = (
        bool(must)
        and units[0].kind == "NP"
        and any(tokens[i].lower in BE for i in clause.verb)
        and copular(clause, tokens)
        and plural(Part("NP", units[0].core), tokens)
    )
    for who, which in subjects:
        if which == "conjunct" and together:
            continue
        lead = [*who, *(_singular(verb, tokens) if which == "conjunct" else verb)]
        base: list[Piece] = [*lead, *flat(units[:must])]
        bare = [*lead, *flat(units[:must], posts=False)]
        trait = {f"subject-{which}": 1.0}
        if must or n == 0 or units[0].kind in ("PP", "RB", "SB", "TM"):
            if not any(unit.conjuncts for unit in units[:must]):
                yield from emit(bare, "bare", **trait)
            yield from emit(base, "base", **trait)
        for option in options(units[:must]):
            yield from emit([*lead, *option[1]], option[0], **trait)
        partial = which == "conjunct" or (which == "core" and len(subjects) > 1)
        for j in range(must, n if not partial else must):
            unit = units[j]
            lean = noun_lean(units, j, verb_lemma, tokens)
            if j > must and lean > NOUN_OWNS:
                yield from emit([*bare, *units[j - 1].core, *unit.core], "owned", **trait, place=j - must)
                continue
            aside = any(tokens[k].tag == "CM" for k in range(clause.verb[-1], unit.core[0] - 1))
            if j > must and (aside or any(u.kind not in ("PP", "TM", "RB") for u in units[must:j])):
                yield from emit([*base, *flat(units[must : j + 1])], "prefix", **trait, length=j + 1 - must)
                continue  # what follows an aside or another verb may belong to it
            if (
                j > must
                and unit.kind == "PP"
                and units[j - 1].kind == "PP"
                and lean > SAFE_LEAN
                and not of_verb(unit, tokens)
            ):
                yield from emit([*base, *flat(units[must : j + 1])], "prefix", **trait, length=j + 1 - must)
                continue
            leaning = {**trait, "lean": max(-1.0, min(1.0, lean / 4))}
            if unit.kind == "SB" and not any(
                tokens[i].tag in FINITE or tokens[i].tag in ("VG", "VN") for i in unit.all
            ):
                continue  # its verb was not found
            for name, version in unit.versions() if unit.kind in _FREE else ():
                yield from emit(
                    [*bare, *version],
                    "detail",
                    **leaning,
                    **{f"version-{name}": 1.0, "place": j - must, f"unit-{unit.kind}": 1.0},
                )
            if unit.posts and unit.kind in _FREE:
                yield from emit([*bare, *unit.all], "detail", **leaning, **{"version-full": 1.0, "place": j - must})
            if j > must:
                yield from emit([*base, *flat(units[must : j + 1])], "prefix", **leaning, length=j + 1 - must)
        full = [*lead, *flat(units)]
        yield from emit(full, "full", **trait, units=n)
        for pre in clause.pre:
            if tokens[pre[0]].lower in _CONDITIONS or (len(pre) == 1 and _tie(tokens, pre[0])):
                continue
            yield from emit([*pre, *bare], "pre", **trait)
            yield from emit([*pre, *full], "pre-full", **trait)


def _subjects(part: Part, tokens: Sequence[Token]) -> Iterator[tuple[list[Piece], str]]:
    core = list(part.core)
    if (
        part.posts
        and not part.conjuncts
        and tokens[part.posts[0][0]].lower == "of"
        and tokens[core[-1]].lower in KEEP_OF
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
    if first.tag in ("VN", "VD"):
        return [
            ("were" if plural else "was") if past or clause.kind == "gerund" else ("are" if plural else "is"),
            *verb,
        ]
    if first.lower == "having" and not clause.governor:
        return None
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
        if isinstance(piece, int) and tokens[piece].tag in ("VZ", "VB"):
            forms = verb_forms().get(lower)
            return [*verb[:k], forms[1], *verb[k + 1 :]] if forms and forms[0] == lower else verb
        if isinstance(piece, int) and tokens[piece].tag != "RB":
            break
    return verb
