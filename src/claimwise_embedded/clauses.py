"""Clauses of a parse: subject, verb, the complements that the verb needs, and those that may be added."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from spacy.tokens import Token

from claimwise.words import PEOPLE
from claimwise_embedded.decomposer_parsing import (
    FINITE,
    NOUNS,
    REPORTING,
    SUBJECTS,
    VERBS,
    Phrase,
    aside,
    base_form,
    be,
    noun_phrase,
    picked,
    plural,
    subject_of,
    subtree,
    verb_forms,
)
from claimwise_embedded.evidence import WORD_LISTS

#: A token's index, or a word to insert.
Piece = int | str

#: Openings of conditional clauses. A claim never drops such a clause.
_CONDITIONS = frozenset("if unless provided until whether once".split())
#: Openings of clauses that are facts of their own.
_ASSERTING = frozenset("because although though while whereas as after when since where".split())
#: Verbs of consequences: in ", leaving fans without trains" the whole clause left them, not its subject.
_CONSEQUENCES = frozenset("leave cause make prompt force result spark mean lead allow raise bring give trigger".split())
#: Openings that name the source or the certainty of a statement. A claim never drops them.
_SOURCES = frozenset("according allegedly reportedly apparently".split())
#: Nouns that need the words after them: "three shots behind the leader".
_MEASURES = frozenset(
    "shot point second euro pound dollar year month week day hour minute time mile metre meter percent goal game "
    "degree place".split()
)
#: Nouns that are no object of their relative clause: in "the moment he fell" he did not fall the moment.
_OCCASIONS = frozenset("moment time day week month year night way reason place extent fact".split())
_NOMINAL = frozenset(("dobj", "attr", "oprd", "dative", "nsubj", "nsubjpass", "npadvmod"))
_OBJECTS = frozenset(("dobj", "attr", "oprd", "dative", "acomp"))
_NEEDED = _OBJECTS | {"ccomp", "nsubj", "nsubjpass", "pcomp"}
_WHEN_AND_WHERE = frozenset(
    "in on at after before during since until by near amid despite within throughout over following alongside "
    "without as because between across outside inside behind beside around through along".split()
)
_BE = frozenset("be is are was were been being am 's 're 'm".split())
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")


class Subject(NamedTuple):
    """A way to name a subject. ``form`` says which: its ``core``, the ``full`` phrase, one ``conjunct`` of several ..."""

    pieces: list[Piece]
    form: str


class Source(NamedTuple):
    """The attribution of a clause: the words before it ("Lee said that") or after it (", Lee said")."""

    before: Sequence[Piece] = ()
    after: Sequence[Piece] = ()


@dataclass(slots=True)
class Unit:
    """A complement of a verb. ``kind`` is its dependency."""

    kind: str
    phrase: Phrase
    conditional: bool = False


@dataclass(slots=True)
class Clause:
    """A verb with its subject and complements.

    ``subjects`` are ways to name the subject. ``verbs`` are the verb and its auxiliaries. A claim always has the ``required``
    complements and may have the ``optional`` ones and the ``openings``, the phrases before the subject.
    """

    head: Token
    kind: str
    subjects: list[Subject]
    verbs: list[Piece]
    required: list[Unit]
    optional: list[Unit]
    openings: list[list[int]]
    source: Source
    only_reports: bool = False  # its statement is in the clauses that it reports

    @property
    def units(self) -> list[Unit]:
        """All complements, the required ones first."""
        return [*self.required, *self.optional]


def clauses(root: Token, missing: str | None) -> Iterator[Clause]:
    """The clauses of a sentence whose subject is known, each with its attribution.

    Args:
        root: head of the sentence.
        missing: the subject if the sentence does not name one.
    """
    if root.pos_ in VERBS:
        restored = [Subject([missing], "restored")] if missing else []
        yield from _clause(root, "main", restored, Source(), False)
    else:
        yield from _relative_clauses(root, Source())


def _clause(
    head: Token,
    kind: str,
    inherited: list[Subject],
    source: Source,
    many: bool,
    also: Sequence[Unit] = (),
) -> Iterator[Clause]:
    """A verb's clause, then the clauses below it.

    ``inherited`` are the subjects if the verb has none of its own, and ``many`` says whether they are plural. ``also`` are
    complements from outside the clause.
    """
    subject = subject_of(head)
    subjects = inherited
    has_whose = subject is not None and any(c.tag_ == "WP$" for c in subject.children)
    if subject is not None and not _relative(subject) and not has_whose:
        subjects = list(_subjects(subject))
        many = plural(subject)
    verbs = _verb_group(head, kind, many)
    required, optional, openings = _complements(head, subject)
    required += also
    complete = bool(subjects) and verbs is not None
    reported = next((c for c in head.children if c.dep_ == "ccomp"), None)
    splits = reported is not None and _asserted(reported) and subject_of(reported) is not None
    two_statements = splits and reported.i < head.i and base_form(head) not in REPORTING  # and no attribution
    # If a reported clause before the verb is no statement, the rest of the clause says nothing.
    if complete and (splits or reported is None or reported.i > head.i):
        only_reports = splits and not two_statements
        yield Clause(head, kind, subjects, verbs, required, optional, openings, source, only_reports)
    elif kind == "main" and not subjects and head.tag_ == "VBN" and not _auxiliaries(head):
        return
    if two_statements:
        yield from _clause(reported, "main", [], source, False)
    elif splits and complete:
        speaker = [*subjects[0].pieces, *verbs]
        speaker += [i for unit in required if unit.kind == "dative" for i in unit.phrase.core]
        if reported.i > head.i:
            mark = [c.i for c in reported.children if c.dep_ == "mark"]
            objects = [unit for unit in required if unit.kind in ("dobj", "prep")]
            before = [i for unit in objects for i in unit.phrase.core if i < reported.i]
            source_of_reported = Source([*source.before, *speaker, *before, *mark], source.after)
        else:
            source_of_reported = Source(source.before, [",", *speaker, *source.after])
        yield from _clause(reported, "reported", [], source_of_reported, False)
    conditional = any(unit.conditional for unit in required)
    for child in head.children:
        if child.dep_ == "conj" and child.pos_ in VERBS and not conditional:
            if any(c.lower_ in ("or", "nor") for c in head.children):
                continue
            shared = kind if kind in ("relative", "reported", "participial") else "shared"
            yield from _clause(child, shared, subjects, source, many)
        elif child.dep_ == "advcl" and complete:
            yield from _adverbial(child, subjects, source, many)
        elif child.dep_ in ("prep", "pcomp", "agent", "xcomp", "acomp", *_OBJECTS, *SUBJECTS) and not conditional:
            yield from _relative_clauses(child, source)


def _adverbial(child: Token, subjects: list[Subject], source: Source, many: bool) -> Iterator[Clause]:
    """An adverbial clause if it is a fact of its own: it has a subject, or is a participle of the main subject."""
    marks = [c.lower_ for c in child.children if c.dep_ in ("mark", "advmod") and c.tag_ in ("IN", "WRB")]
    if subject_of(child) is not None:
        hedged = any(c.dep_ == "advmod" and c.tag_ == "RB" and c.i < child.i for c in child.children)
        if marks and all(mark in _ASSERTING for mark in marks) and not hedged:
            yield from _clause(child, "subordinate", [], source, False)
    elif base_form(child) in _CONSEQUENCES:
        return
    elif child.tag_ in ("VBG", "VBN") and not marks and not any(c.dep_ == "aux" for c in child.children):
        yield from _clause(child, "gerund" if child.tag_ == "VBG" else "participial", subjects[:1], source, many)


def _relative_clauses(token: Token, source: Source) -> Iterator[Clause]:
    """The relative clauses and participles of the nouns in a phrase, each a fact of its own about its noun."""
    for child in token.children:
        relative = token.pos_ in ("NOUN", "PROPN") and child.dep_ in ("relcl", "acl") and child.pos_ in VERBS
        if relative and not picked(token):
            yield from _about_noun(child, token, source)
        elif child.dep_ in ("prep", "pobj", "dobj", "appos", "conj", "attr", "pcomp", "xcomp"):
            yield from _relative_clauses(child, source)


def _about_noun(head: Token, noun: Token, source: Source) -> Iterator[Clause]:
    """The clause of a relative clause's or participle's verb, with the noun as subject, owner or object."""
    plural_verb = head.tag_ == "VBP" or any(c.lower_ in ("have", "are", "were") for c in _auxiliaries(head))
    if plural_verb and noun.tag_ in ("NN", "NNP"):  # "the plight of girls who are ...": the girls
        noun = next((t for t in noun.subtree if t.tag_ == "NNS" and t.i < head.i), noun)
    if any(c.lower_ == "who" for c in head.children) and noun.lower_ not in PEOPLE:
        # "a boy with a form of cancer who ...": the boy
        noun = next((t for t in noun.ancestors if t.lower_ in PEOPLE and noun.dep_ == "pobj"), noun)
    bare = noun.tag_ == "NNS" and not any(c.dep_ in ("det", "poss", "nummod") for c in noun.lefts)
    if bare and noun.dep_ in SUBJECTS and not aside(head):
        return  # "employees who travel must be paid" does not say that employees travel
    core = _referent(noun)
    many = noun.tag_ == "NNS" or noun.lower_ in ("people", "police")
    relative = next((c for c in head.children if _relative(c)), None)
    subject = subject_of(head)
    if head.dep_ == "acl":
        speaks = head.tag_ == "VBG" and base_form(head) in REPORTING  # the sentence's subject says it, not the noun
        if head.tag_ in ("VBN", "VBG") and not speaks and subject is None:
            yield from _clause(head, "participial", [Subject(core, "noun")], source, many)
        return
    if relative is not None and relative.dep_ in ("nsubj", "nsubjpass"):
        yield from _clause(head, "relative", [Subject(core, "noun")], source, many)
        return
    if subject is None:
        return
    whose = next((c for c in subject.children if c.tag_ == "WP$"), None)
    if whose is not None:
        owned = [i for i in noun_phrase(subject).core if i != whose.i]
        yield from _clause(head, "relative", [Subject([*core, "'s", *owned], "noun")], source, plural(subject))
    elif (
        noun.lower_ not in _OCCASIONS
        and (relative is None or relative.dep_ == "dobj")
        and not any(
            c.dep_ in ("dobj", "attr", "ccomp", "xcomp", "acomp", "advmod", "prep") and c != relative
            for c in head.children
        )
    ):
        yield from _clause(head, "relative", [], source, False, [Unit("antecedent", Phrase(core))])


def _referent(noun: Token) -> list[int]:
    """The words for what a noun refers to: "Lee is a lawyer who ..." and "Lee, a lawyer who ..." are about Lee."""
    if noun.dep_ == "appos" and noun.head.pos_ in ("NOUN", "PROPN"):
        return _single(noun.head)
    if noun.dep_ == "attr" and any(c.lower_ in ("a", "an") for c in noun.lefts):
        subject = next((c for c in noun.head.children if c.dep_ == "nsubj" and not _relative(c)), None)
        if subject is not None and subject.i < noun.i:
            return noun_phrase(subject).core
    return _single(noun)


def _single(noun: Token) -> list[int]:
    """A noun's own words, without nouns joined to it."""
    phrase = noun_phrase(noun)
    own = next((c for c in phrase.conjuncts if noun.i in c), phrase.core)
    return [i for i in own if isinstance(i, int)]


def _subjects(subject: Token) -> Iterator[Subject]:
    if subject.dep_ in ("csubj", "csubjpass"):
        yield Subject(subtree(subject), "clause")
        return
    phrase = noun_phrase(subject)
    for conjunct in phrase.conjuncts:
        yield Subject(conjunct, "conjunct")
    yield Subject(phrase.core, "core")
    if phrase.posts:
        yield Subject(phrase.all, "full")


def _relative(token: Token) -> bool:
    return token.tag_ in ("WDT", "WP") and token.dep_ != "det"


def _asserted(reported: Token) -> bool:
    """Whether a reported clause is a statement: "whether it rained" and "who won" are not."""
    return not any(
        (c.dep_ == "mark" and c.lower_ != "that") or c.tag_ in ("WRB", "WP", "WDT", "WP$")
        for c in reported.subtree
        if c.head == reported or (c.head.head == reported and c.tag_ in ("WP$", "WDT"))
    )


def _auxiliaries(head: Token) -> list[Token]:
    return [c for c in head.children if c.dep_ in ("aux", "auxpass")]


# -- the verb group ------------------------------------------------------------------------------------------------


def _verb_group(head: Token, kind: str, many: bool) -> list[Piece] | None:
    """The verb with its auxiliaries, in the form that a statement needs; None if that form is not known.

    A participle gets its auxiliary, and ", saying" a tense.
    """
    own = [c for c in head.children if c.dep_ in ("aux", "auxpass", "neg", "prt")]
    subject = subject_of(head)
    start = -1 if subject is None else subject.i
    adverbs = (c for c in head.lefts if c.dep_ in ("advmod", "npadvmod") and c.i > start and c.tag_ != "WRB")
    if kind != "participial":
        own += [c for c in adverbs if not aside(c)]
    words: list[Piece] = sorted({i for c in own for i in ([c.i] if c.dep_ != "advmod" else subtree(c))} | {head.i})
    if auxiliaries := _auxiliaries(head):
        return None if all(c.tag_ == "TO" for c in auxiliaries) else words
    if head.dep_ == "conj" and head.tag_ in ("VB", "VBN", "VBG"):
        first = head.head
        shared = sorted(c.i for c in first.children if c.dep_ in ("aux", "auxpass", "neg") and c.i < first.i)
        if shared and first.tag_ == head.tag_:
            return [*shared, *words]
        if head.tag_ == "VBN" and first.tag_ == "VBD":
            return words  # the parser mistook it for a participle: "hit a wall and stopped"
        if kind != "participial":
            return None
    if head.tag_ in FINITE:
        return words
    governor = next((t for t in head.ancestors if t.pos_ in VERBS), head.head)
    past = governor.tag_ == "VBD" or any(c.tag_ == "VBD" for c in _auxiliaries(governor))
    dated = any(_YEAR.fullmatch(t.text) for t in head.subtree)
    if kind == "participial":
        return [be(many=many, past=past or dated), *words]
    if kind == "gerund":
        forms = verb_forms().get(head.lower_)
        if forms is None or head.lower_ in ("being", "having"):
            return None
        word = forms[2] if past else forms[0] if many else forms[1]
        return [word, *(i for i in words if i != head.i)]
    return None


_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does", "'re": "is", "'ve": "has"}


def singular(group: Sequence[Piece], head: Token) -> list[Piece]:
    """The verb group of "A and B are ..." in a statement about A alone."""
    out = list(group)
    for k, piece in enumerate(out):
        token = head.doc[piece] if isinstance(piece, int) else None
        lower = token.lower_ if token is not None else piece
        if lower in _SINGULAR:
            out[k] = _SINGULAR[lower]
            return out
        if lower in ("both", "each", "all"):
            del out[k]
            return singular(out, head)
        if token is not None and token.tag_ in ("VBP", "VBZ", "VB") and token.dep_ not in ("aux", "auxpass", "neg"):
            forms = verb_forms().get(lower)
            if forms and forms[0] == lower and k == 0:
                out[k] = forms[1]
        if token is not None and token.tag_ != "RB":
            return out
    return out


# -- complements ---------------------------------------------------------------------------------------------------


def _complements(head: Token, subject: Token | None) -> tuple[list[Unit], list[Unit], list[list[int]]]:
    """A verb's required complements, its optional ones, and the phrases before its subject."""
    required: list[Unit] = []
    optional: list[Unit] = []
    openings: list[list[int]] = []
    start = subject.left_edge.i if subject is not None and subject.i < head.i else head.i
    for child in head.children:
        if child == subject:
            continue
        if child.i < head.i:
            if child.dep_ in ("prep", "npadvmod", "advcl", "advmod") and child.i < start:
                words = subtree(child)
                if _conditional(child) or child.left_edge.lower_ in _SOURCES:
                    required.append(Unit(child.dep_, Phrase(words), _conditional(child)))
                elif not (len(words) == 1 and (child.lower_ in TIES or child.tag_ == "IN")) and child.tag_ != "WRB":
                    openings.append(words)
            continue
        if unit := _unit(child):
            (required if _needed(unit, child, head, required) else optional).append(unit)
    incomplete = not required  # "is"; or "is three shots"
    if required and required[-1].kind == "attr":
        incomplete = head.doc[required[-1].phrase.core[-1]].lower_.rstrip("s") in _MEASURES
    if head.lower_ in _BE and incomplete and optional and optional[0].kind in ("prep", "advmod"):
        required.append(optional.pop(0))
    for child in head.children:
        if child.dep_ == "xcomp" and child.pos_ in VERBS:
            own = [c for c in child.children if c.dep_ in ("aux", "auxpass", "neg", "prt", "mark")]
            own += [c for c in child.lefts if c.dep_ in ("advmod", "nsubj", "nsubjpass", "dobj")]
            words = {child.i, *(i for c in own for i in subtree(c))}
            if any(c.dep_ in ("conj", "cc") for c in child.children):  # alternatives
                required.append(Unit("xcomp", Phrase(sorted({*words, *subtree(child)}))))
                continue
            inner_required, inner_optional, _ = _complements(child, next((c for c in own if c.dep_ in SUBJECTS), None))
            required += [Unit("xcomp", Phrase(sorted(words))), *inner_required]
            optional += inner_optional
    optional.sort(key=lambda unit: unit.phrase.core[0])
    return required, optional, openings


def _unit(child: Token) -> Unit | None:
    kind = child.dep_
    if kind in ("prep", "agent") or (kind == "dative" and child.pos_ == "ADP"):
        return Unit(kind, _prepositional(child))
    if kind in _NOMINAL or kind == "acomp":
        noun = kind in _NOMINAL and child.pos_ in NOUNS
        return Unit(kind, noun_phrase(child) if noun else _adjectival(child))
    if kind == "xcomp" and child.pos_ not in VERBS:
        return Unit("acomp", _adjectival(child))
    if kind in ("advmod", "advcl", "ccomp", "pcomp", "acl", "relcl"):
        return Unit(kind, Phrase(subtree(child)), conditional=_conditional(child))
    return None


def _conditional(child: Token) -> bool:
    return child.dep_ == "advcl" and child.left_edge.lower_ in _CONDITIONS


def _needed(unit: Unit, child: Token, head: Token, required: Sequence[Unit]) -> bool:
    """Whether a verb needs a complement; ``required`` are the needed ones before it."""
    if unit.conditional or child.left_edge.lower_ in _SOURCES or unit.kind in _NEEDED:
        return True
    if unit.kind == "prep":
        pair = f"{base_form(head)} {child.lower_}"
        if any(u.kind in ("dobj", "attr", "acomp") for u in required):
            return pair in OBJECT_BOUND
        if pair in BOUND_TO:
            return not any(u.kind == "prep" for u in required)
        passive = any(c.dep_ == "auxpass" for c in head.children) or head.dep_ in ("acl", "advcl")
        dated = any(t.ent_type_ in ("DATE", "TIME") for t in child.subtree)
        if required or passive or dated:
            return False
        return child.lower_ not in _WHEN_AND_WHERE and child.i == head.i + 1
    if unit.kind == "advmod":
        return child.i == head.i + 1 and (
            head.lower_ in _BE or child.lower_ in DIRECTIONS or base_form(head) in _STATES
        )
    return False


def _adjectival(child: Token) -> Phrase:
    joined = [c for c in child.conjuncts if c.pos_ not in VERBS]
    if not joined or any(c.dep_ == "cc" and c.lower_ != "and" for t in (child, *joined) for c in t.children):
        return Phrase(subtree(child))
    parts = []
    for token in (child, *joined):
        drop = {t.i for c in token.children if c.dep_ in ("conj", "cc") for t in c.subtree}
        parts.append([t.i for t in token.subtree if t.i not in drop and t.text != ","])
    return Phrase(subtree(child), [], parts)


def _prepositional(preposition: Token) -> Phrase:
    lead = sorted({preposition.i, *(i for c in preposition.lefts for i in subtree(c))})
    inner = next((c for c in preposition.rights if c.dep_ == "pobj"), None)
    others = [c for c in preposition.rights if c.dep_ != "punct" and c != inner]
    if inner is None or inner.pos_ not in NOUNS or others:
        return Phrase(subtree(preposition))
    phrase = noun_phrase(inner)
    return Phrase(sorted({*lead, *phrase.core}), phrase.posts, [[*lead, *conjunct] for conjunct in phrase.conjuncts])


#: Openings that link a sentence to the one before and add nothing to its statement.
TIES = frozenset(
    "however additionally moreover furthermore meanwhile also besides therefore thus hence consequently overall "
    "finally lastly similarly but and so then".split()
)
#: Verbs that need the adverb after them: "went home".
_STATES = frozenset("get become feel look seem remain stay go do keep appear fare stand".split())


def _bound(name: str) -> frozenset[str]:
    """Each verb of a list with each of its prepositions: "agree:on,to" gives "agree on" and "agree to"."""
    pairs = (row.split(":") for row in WORD_LISTS[name].split())
    return frozenset(f"{verb} {preposition}" for verb, prepositions in pairs for preposition in prepositions.split(","))


#: Verbs with the prepositions that they need; without them they say nothing, or something else.
BOUND_TO = _bound("bound")
#: The same for verbs with an object before the preposition.
OBJECT_BOUND = _bound("object_bound")
#: Adverbs of direction.
DIRECTIONS = frozenset("away ahead down up out back over off forward along through".split())
