"""Clauses of a parse: who does what, what the verb cannot do without, and what may be told beside it."""

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

#: A token's index, or a word that the summary does not have there.
Piece = int | str

#: What stands under these is not asserted without them: they are never dropped.
_CONDITIONS = frozenset("if unless provided until whether once".split())
#: Clauses under these are facts of their own.
_ASSERTING = frozenset("because although though while whereas as after when since where".split())
#: What ", leaving fans without trains" tells of is the whole clause's doing, not its subject's.
_CONSEQUENCES = frozenset("leave cause make prompt force result spark mean lead allow raise bring give trigger".split())
#: What says whose statement it is, or how sure: never dropped.
_SOURCES = frozenset("according allegedly reportedly apparently".split())
#: Heads that mean nothing without what follows: "three shots behind the leader".
_MEASURES = frozenset(
    "shot point second euro pound dollar year month week day hour minute time mile metre meter percent goal game "
    "degree place".split()
)
#: "The moment he fell": he did not fall the moment.
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
    """A way to name a subject; ``form`` says which: its ``core``, the ``full`` phrase, one ``conjunct`` of several ..."""

    pieces: list[Piece]
    form: str


class Source(NamedTuple):
    """Whose statement a clause is, in the words that stand before it ("Lee said that") or after it (", Lee said")."""

    before: Sequence[Piece] = ()
    after: Sequence[Piece] = ()


@dataclass(slots=True)
class Unit:
    """A complement of a verb; ``kind`` is its dependency."""

    kind: str
    phrase: Phrase
    conditional: bool = False


@dataclass(slots=True)
class Clause:
    """A verb with what belongs to it.

    ``subjects`` are ways to name the subject; ``group`` is the verb group, with its auxiliaries; ``must`` and ``free`` are
    the complements that are always told and those that may be; ``pre`` is what stands before the subject.
    """

    head: Token
    kind: str
    subjects: list[Subject]
    group: list[Piece]
    must: list[Unit]
    free: list[Unit]
    pre: list[list[int]]
    source: Source
    told: bool = False  # what it says is told by the clauses that it reports


def clauses(root: Token, missing: str | None) -> Iterator[Clause]:
    """All clauses of a sentence whose subject is known, each with the attribution that holds for it.

    Args:
        root: head of the sentence.
        missing: who is meant where the sentence names no subject.
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
    """A verb's clause, then those below it.

    ``inherited`` is for a verb that names no subject, ``many`` whether that is several; ``also`` are complements that stand
    outside the clause.
    """
    subject = subject_of(head)
    subjects = inherited
    whose = subject is not None and any(c.tag_ == "WP$" for c in subject.children)
    if subject is not None and not _relative(subject) and not whose:
        subjects = list(_subjects(subject))
        many = plural(subject)
    group = _verb_group(head, kind, many)
    must, free, pre = _complements(head, subject)
    must += also
    known = bool(subjects) and group is not None
    reported = next((c for c in head.children if c.dep_ == "ccomp"), None)
    splits = reported is not None and _asserted(reported) and subject_of(reported) is not None
    beside = splits and reported.i < head.i and base_form(head) not in REPORTING  # two statements, and no attribution
    # Where a report that is no statement stands before the verb, what is left of the clause says nothing.
    if known and (splits or reported is None or reported.i > head.i):
        yield Clause(head, kind, subjects, group, must, free, pre, source, told=splits and not beside)
    elif kind == "main" and not subjects and head.tag_ == "VBN" and not _auxiliaries(head):
        return
    if beside:
        yield from _clause(reported, "main", [], source, False)
    elif splits and known:
        speaker = [*subjects[0].pieces, *group]
        speaker += [i for unit in must if unit.kind == "dative" for i in unit.phrase.core]
        if reported.i > head.i:
            mark = [c.i for c in reported.children if c.dep_ == "mark"]
            spoken = [i for unit in must if unit.kind in ("dobj", "prep") for i in unit.phrase.core if i < reported.i]
            source_of_reported = Source([*source.before, *speaker, *spoken, *mark], source.after)
        else:
            source_of_reported = Source(source.before, [",", *speaker, *source.after])
        yield from _clause(reported, "reported", [], source_of_reported, False)
    conditional = any(unit.conditional for unit in must)
    for child in head.children:
        if child.dep_ == "conj" and child.pos_ in VERBS and not conditional:
            if any(c.lower_ in ("or", "nor") for c in head.children):
                continue
            shared = kind if kind in ("relative", "reported", "participial") else "shared"
            yield from _clause(child, shared, subjects, source, many)
        elif child.dep_ == "advcl" and known:
            yield from _adverbial(child, subjects, source, many)
        elif child.dep_ in ("prep", "pcomp", "agent", "xcomp", "acomp", *_OBJECTS, *SUBJECTS) and not conditional:
            yield from _relative_clauses(child, source)


def _adverbial(child: Token, subjects: list[Subject], source: Source, many: bool) -> Iterator[Clause]:
    """An adverbial clause, where it is a fact of its own: with a subject, or a participle of the main subject."""
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
    """Relative clauses and participles of the nouns in a phrase: what they say of the noun is a fact of its own."""
    for child in token.children:
        told = token.pos_ in ("NOUN", "PROPN") and child.dep_ in ("relcl", "acl") and child.pos_ in VERBS
        if told and not picked(token):
            yield from _told_of_noun(child, token, source)
        elif child.dep_ in ("prep", "pobj", "dobj", "appos", "conj", "attr", "pcomp", "xcomp"):
            yield from _relative_clauses(child, source)


def _told_of_noun(head: Token, noun: Token, source: Source) -> Iterator[Clause]:
    """The clause of a relative clause's or participle's verb, the noun being its subject, owner or object."""
    several = head.tag_ == "VBP" or any(c.lower_ in ("have", "are", "were") for c in _auxiliaries(head))
    if several and noun.tag_ in ("NN", "NNP"):  # "the plight of girls who are ...": the girls
        noun = next((t for t in noun.subtree if t.tag_ == "NNS" and t.i < head.i), noun)
    if any(c.lower_ == "who" for c in head.children) and noun.lower_ not in PEOPLE:
        # "a boy with a form of cancer who ...": the boy
        noun = next((t for t in noun.ancestors if t.lower_ in PEOPLE and noun.dep_ == "pobj"), noun)
    bare = noun.tag_ == "NNS" and not any(c.dep_ in ("det", "poss", "nummod") for c in noun.lefts)
    if bare and noun.dep_ in SUBJECTS and not aside(head):
        return  # "employees who travel must be paid" does not say that employees travel
    core = _meant(noun)
    many = noun.tag_ == "NNS" or noun.lower_ in ("people", "police")
    relative = next((c for c in head.children if _relative(c)), None)
    subject = subject_of(head)
    if head.dep_ == "acl":
        speaks = head.tag_ == "VBG" and base_form(head) in REPORTING  # not the noun, but the subject says it
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
        rest = [i for i in noun_phrase(subject).core if i != whose.i]
        yield from _clause(head, "relative", [Subject([*core, "'s", *rest], "noun")], source, plural(subject))
    elif (
        noun.lower_ not in _OCCASIONS
        and (relative is None or relative.dep_ == "dobj")
        and not any(
            c.dep_ in ("dobj", "attr", "ccomp", "xcomp", "acomp", "advmod", "prep") and c != relative
            for c in head.children
        )
    ):
        yield from _clause(head, "relative", [], source, False, [Unit("antecedent", Phrase(core))])


def _meant(noun: Token) -> list[int]:
    """Who a noun stands for: "Lee is a lawyer who ..." and "Lee, a lawyer who ..." tell of Lee."""
    if noun.dep_ == "appos" and noun.head.pos_ in ("NOUN", "PROPN"):
        return _single(noun.head)
    if noun.dep_ == "attr" and any(c.lower_ in ("a", "an") for c in noun.lefts):
        subject = next((c for c in noun.head.children if c.dep_ == "nsubj" and not _relative(c)), None)
        if subject is not None and subject.i < noun.i:
            return noun_phrase(subject).core
    return _single(noun)


def _single(noun: Token) -> list[int]:
    """A noun's own words, also where others are joined to it."""
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
    """Whether a reported clause is said to be so: "whether it rained" and "who won" are not."""
    return not any(
        (c.dep_ == "mark" and c.lower_ != "that") or c.tag_ in ("WRB", "WP", "WDT", "WP$")
        for c in reported.subtree
        if c.head == reported or (c.head.head == reported and c.tag_ in ("WP$", "WDT"))
    )


def _auxiliaries(head: Token) -> list[Token]:
    return [c for c in head.children if c.dep_ in ("aux", "auxpass")]


# -- the verb group ------------------------------------------------------------------------------------------------


def _verb_group(head: Token, kind: str, many: bool) -> list[Piece] | None:
    """The verb with its auxiliaries as a statement needs it: a participle gets its auxiliary, ", saying" a tense;
    None where that cannot be told.
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
        lent = sorted(c.i for c in first.children if c.dep_ in ("aux", "auxpass", "neg") and c.i < first.i)
        if lent and first.tag_ == head.tag_:
            return [*lent, *words]
        if head.tag_ == "VBN" and first.tag_ == "VBD":
            return words  # taken for a participle: "hit a wall and stopped"
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
    """The verb group of "A and B are ..." as told of A alone."""
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
    """What is told with a verb: what it cannot do without, what it can, and what stands before its subject."""
    must: list[Unit] = []
    free: list[Unit] = []
    pre: list[list[int]] = []
    start = subject.left_edge.i if subject is not None and subject.i < head.i else head.i
    for child in head.children:
        if child == subject:
            continue
        if child.i < head.i:
            if child.dep_ in ("prep", "npadvmod", "advcl", "advmod") and child.i < start:
                words = subtree(child)
                if _conditional(child) or child.left_edge.lower_ in _SOURCES:
                    must.append(Unit(child.dep_, Phrase(words), _conditional(child)))
                elif not (len(words) == 1 and (child.lower_ in TIES or child.tag_ == "IN")) and child.tag_ != "WRB":
                    pre.append(words)
            continue
        if unit := _unit(child):
            (must if _needed(unit, child, head, must) else free).append(unit)
    measured = (
        bool(must) and must[-1].kind == "attr" and head.doc[must[-1].phrase.core[-1]].lower_.rstrip("s") in _MEASURES
    )
    if head.lower_ in _BE and (measured or not must) and free and free[0].kind in ("prep", "advmod"):
        must.append(free.pop(0))
    for child in head.children:
        if child.dep_ == "xcomp" and child.pos_ in VERBS:
            own = [c for c in child.children if c.dep_ in ("aux", "auxpass", "neg", "prt", "mark")]
            own += [c for c in child.lefts if c.dep_ in ("advmod", "nsubj", "nsubjpass", "dobj")]
            words = {child.i, *(i for c in own for i in subtree(c))}
            if any(c.dep_ in ("conj", "cc") for c in child.children):  # alternatives
                must.append(Unit("xcomp", Phrase(sorted({*words, *subtree(child)}))))
                continue
            inner_must, inner_free, _ = _complements(child, next((c for c in own if c.dep_ in SUBJECTS), None))
            must += [Unit("xcomp", Phrase(sorted(words))), *inner_must]
            free += inner_free
    free.sort(key=lambda unit: unit.phrase.core[0])
    return must, free, pre


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


def _needed(unit: Unit, child: Token, head: Token, must: Sequence[Unit]) -> bool:
    """Whether a verb cannot do without a complement; ``must`` are those before it that it cannot do without."""
    if unit.conditional or child.left_edge.lower_ in _SOURCES or unit.kind in _NEEDED:
        return True
    if unit.kind == "prep":
        pair = f"{base_form(head)} {child.lower_}"
        if any(u.kind in ("dobj", "attr", "acomp") for u in must):
            return pair in OBJECT_BOUND
        if pair in BOUND_TO:
            return not any(u.kind == "prep" for u in must)
        passive = any(c.dep_ == "auxpass" for c in head.children) or head.dep_ in ("acl", "advcl")
        dated = any(t.ent_type_ in ("DATE", "TIME") for t in child.subtree)
        return not must and not passive and not dated and child.lower_ not in _WHEN_AND_WHERE and child.i == head.i + 1
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


#: Openings that only tie a sentence to the one before: no part of what it states.
TIES = frozenset(
    "however additionally moreover furthermore meanwhile also besides therefore thus hence consequently overall "
    "finally lastly similarly but and so then".split()
)
#: Verbs that say nothing without the state after them.
_STATES = frozenset("get become feel look seem remain stay go do keep appear fare stand".split())


def _bound(rows: str) -> frozenset[str]:
    """Each verb with each of its prepositions: "agree on" and "agree to" of "agree:on,to"."""
    pairs = (row.split(":") for row in rows.split())
    return frozenset(f"{verb} {preposition}" for verb, prepositions in pairs for preposition in prepositions.split(","))


#: Verbs that say nothing, or something else, without their preposition.
BOUND_TO = _bound(
    """turn:to,into agree:to,on,with amount:to ask:for,about refer:to depend:on consist:of rely:on lead:to
    come:from,into,under,with,to go:to,into,through,on belong:to result:in,from focus:on,upon deal:with look:at,for,like,into,after
    aim:at,for call:for,on apply:for,to account:for contribute:to respond:to relate:to range:from stem:from suffer:from
    benefit:from live:in,with,at,on concentrate:on consist:in,of participate:in engage:in specialise:in specialize:in
    differ:from vary:from derive:from lie:in,with stand:at,for point:to draw:on opt:for object:to adhere:to adapt:to
    remain:in,under,at,on serve:as act:as work:as date:from,to tend:to face:with argue:for,against vote:for,against
    search:for hope:for long:for care:for,about insist:on embark:on feature:in revolve:around centre:on center:on
    hinge:on border:on comply:with cope:with collide:with merge:with tie:with side:with correspond:to,with
    gesture:at hint:at aspire:to resort:to succumb:to yield:to cling:to stick:to,with pay:for attend:to listen:to talk:about,to
    speak:about,to,of think:of,about know:about,of hear:about,of,from learn:about,of dispose:of approve:of accuse:of
    warn:of,about,against complain:about,of worry:about,over put:at,on,in link:with,to place:on,in,under base:on,in rank:among,as
    compose:of consider:as know:as,for locate:in,at situate:in,at associate:with involve:in dedicate:to commit:to
    intend:for expose:to subject:to attach:to limit:to confine:to devote:to attribute:to end:with,in,at,as,on
    catch:with keep:with deal:with meet:with compare:with,to base:on,in
    fall:into,to,under return:to,from move:to,into,from move:on get:into,to,from run:into,for,from head:to,for,into"""
)
#: The same with an object before it.
OBJECT_BOUND = _bound(
    """put:at,on,in,into,to,under place:on,in,under base:on accuse:of ask:for attribute:to turn:into deprive:of
    rob:of provide:with replace:with,by divide:into compare:with,to prevent:from stop:from keep:from regard:as
    describe:as see:as treat:as view:as name:as credit:with remind:of strip:of clear:of link:to,with"""
)
#: Directions and the phrase that says where from or to.
DIRECTIONS = frozenset("away ahead down up out back over off forward along through".split())
