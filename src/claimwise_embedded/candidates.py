"""Candidate claims of a sentence: each clause's bare fact, and the fact with each detail, as the annotators of ROSE write.

A candidate is a list of pieces, token indices or inserted words, with what distinguishes it from its siblings
(``traits``), which the selector weighs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spacy.tokens import Doc

from claimwise_embedded.candidate_facts import facts
from claimwise_embedded.candidate_text import Candidate, Piece
from claimwise_embedded.clauses import TIES, Clause, Unit, clauses, singular
from claimwise_embedded.decomposer_parsing import base_form
from claimwise_embedded.decomposer_references import Resolution
from claimwise_embedded.noun_phrases import aside

#: Verbs whose joined subjects act on one another: "Lee and Roy met".
_MUTUAL = frozenset(
    "meet marry divorce agree fight clash collide argue differ share compete separate unite merge".split()
)


def candidates(tokens: Doc, missing: str | None, resolution: Resolution) -> Iterator[Candidate]:
    """All candidates of a parsed sentence; the first is the whole of it."""
    found = [clause for root in tokens if root.dep_ == "ROOT" for clause in clauses(root, missing)]
    whole = list(range(len(tokens)))
    while len(whole) > 1 and (tokens[whole[0]].text in ("*", "-", "•", ",") or _tie(tokens, whole[0])):
        whole.pop(0)
    while whole and tokens[whole[-1]].lower_ in (".", "!"):
        whole.pop()
    units = [unit for clause in found for unit in (*clause.must, *clause.free)]
    traits = {
        f"parts-{min(len(found), 4)}": 1.0,
        "splits": float(any(u.phrase.conjuncts for u in units)),
        "splits-alone": float(len(found) == 1 and any(u.phrase.conjuncts for u in units)),
        "opens": float(any(clause.pre for clause in found)),
        "details": float(min(3, sum(len(clause.free) for clause in found))),
    }
    yield Candidate(whole, "sentence", traits)
    for clause in found:
        if not clause.told:
            yield from _of_clause(clause, tokens)
        elif any(unit.kind == "ccomp" for unit in clause.must):
            parts = [list(unit.phrase.all) for unit in (*clause.must, *clause.free)]
            yield Candidate(_assembled(clause, clause.subjects[-1][0], parts, clause.group), "reporting")
    yield from facts(tokens, resolution)


def _tie(tokens: Doc, i: int) -> bool:
    return tokens[i].lower_ in ("meanwhile", "but", "and") or (
        tokens[i].lower_ in TIES and i + 1 < len(tokens) and tokens[i + 1].text == ","
    )


def _assembled(
    clause: Clause, who: Sequence[Piece], parts: Sequence[list[Piece]], group: Sequence[Piece]
) -> list[Piece]:
    """Attribution, subject, then verb group and complements in the order of the sentence."""
    inserted = [piece for piece in group if isinstance(piece, str)]
    own = [[piece] for piece in group if isinstance(piece, int)]
    gap = [list(unit.phrase.core) for unit in clause.must if unit.kind == "antecedent"]
    rest = [*sorted([*own, *(part for part in parts if part not in gap)], key=_place), *gap]
    flat: list[Piece] = []
    for part in rest:
        flat.extend(piece for piece in part if isinstance(piece, str) or piece not in flat)
    return [*clause.before, *who, *inserted, *flat, *clause.after]


def _place(part: Sequence[Piece]) -> int:
    return next((piece for piece in part if isinstance(piece, int)), -1)


def _of_clause(clause: Clause, tokens: Doc) -> Iterator[Candidate]:
    """The bare fact of a clause, its details one at a time, its prefixes and the whole of it."""
    seen: set[tuple] = set()
    must, free = clause.must, clause.free
    conditional = any(unit.conditional for unit in must)
    reported = "reported-" if clause.before or clause.after else ""

    def emit(pieces: list[Piece], kind: str, **traits: float) -> Iterator[Candidate]:
        key = tuple(pieces)
        if key not in seen:
            seen.add(key)
            yield Candidate(pieces, reported + kind, {clause.kind: 1.0, **traits})

    subjects = _split(clause)
    for who, which in subjects:
        trait = {f"subject-{which}": 1.0}
        group = singular(clause.group, clause.head) if which == "conjunct" else clause.group
        bare = [list(unit.phrase.core) for unit in must]
        base = [list(unit.phrase.all) for unit in must]
        whole = [*base, *(list(unit.phrase.all) for unit in free)]
        if conditional:  # what hangs on the condition cannot be told: only the whole clause is safe
            whole = [*whole, *(list(pre) for pre in clause.pre)]
            yield from emit(_assembled(clause, who, whole, group), "full", **trait, conditional=1.0)
            continue
        if not any(unit.phrase.conjuncts for unit in must):
            yield from emit(_assembled(clause, who, bare, group), "bare", **trait, needs=float(len(must)))
            yield from emit(_assembled(clause, who, base, group), "base", **trait)
        for k, unit in enumerate(must):
            for conjunct in unit.phrase.conjuncts:
                version = [*bare[:k], list(conjunct), *bare[k + 1 :]]
                yield from emit(_assembled(clause, who, version, group), "conjunct", **trait)
            for post in unit.phrase.posts:
                version = [*bare[:k], sorted([*unit.phrase.core, *post]), *bare[k + 1 :]]
                yield from emit(
                    _assembled(clause, who, version, group), "post", **trait, **{f"post-{tokens[post[0]].lower_}": 1.0}
                )
        for j, unit in enumerate(free if which != "conjunct" else []):
            if unit.kind == "advcl" and not _is_detail(unit, tokens):
                continue
            about = {f"unit-{unit.kind}": 1.0, "place": float(j)}
            versions = unit.phrase.conjuncts or [unit.phrase.core]
            for version in versions:
                name = "version-conjunct" if unit.phrase.conjuncts else "version-core"
                told = _assembled(clause, who, [*bare, list(version)], group)
                yield from emit(told, "detail", **trait, **about, **{name: 1.0})
            if unit.phrase.posts and not unit.phrase.conjuncts:
                told = _assembled(clause, who, [*bare, list(unit.phrase.all)], group)
                yield from emit(told, "detail", **trait, **about, **{"version-full": 1.0})
            if j:
                prefix = [*base, *(list(u.phrase.all) for u in free[: j + 1])]
                yield from emit(_assembled(clause, who, prefix, group), "prefix", **trait, length=float(j + 1))
        joins = float(any(unit.phrase.conjuncts for unit in (*must, *free)))
        yield from emit(_assembled(clause, who, whole, group), "full", **trait, units=float(len(free)), joins=joins)
        for pre in clause.pre:
            for parts, kind in ((bare, "pre"), (whole, "pre-full")):
                told = _assembled(clause, who, parts, group)
                told[len(clause.before) : len(clause.before)] = pre
                yield from emit(told, kind, **trait)


def _is_detail(unit: Unit, tokens: Doc) -> bool:
    """Whether a clause under a verb may be told of it alone: ", saying ..." is a fact of its own, or follows from all of
    the sentence, and a clause that nothing introduces was read wrongly.
    """
    first = tokens[unit.phrase.core[0]]
    return not aside(first) and (first.dep_ in ("mark", "aux", "advmod", "prep") or first.tag_ in ("IN", "TO", "WRB"))


def _split(clause: Clause) -> list[tuple[list[Piece], str]]:
    """The subjects, without the single ones where they only do it together."""
    attributes = [unit for unit in clause.must if unit.kind in ("attr", "dobj", "acomp")]
    kin = any(unit.kind == "attr" and clause.head.doc[unit.phrase.core[-1]].tag_ == "NNS" for unit in attributes)
    mutual = not attributes and base_form(clause.head) in _MUTUAL
    words = {t.lower_ for unit in (*clause.must, *clause.free) for t in (clause.head.doc[i] for i in unit.phrase.all)}
    if kin or mutual or words & {"together", "other", "respectively", "another"}:
        return [subject for subject in clause.subjects if subject[1] != "conjunct"]
    return clause.subjects
