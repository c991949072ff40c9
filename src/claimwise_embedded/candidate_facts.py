"""Facts that a summary tells in passing, inside noun phrases: ages, titles, appositions, what belongs to what."""

from __future__ import annotations

from collections.abc import Iterator

from spacy.tokens import Doc, Token

from claimwise.words import PEOPLE
from claimwise_embedded.candidate_text import Candidate, Piece
from claimwise_embedded.decomposer_parsing import is_name
from claimwise_embedded.decomposer_references import Resolution
from claimwise_embedded.noun_phrases import aside, noun_phrase, picked, plural

_HONORIFICS = frozenset("mr mrs ms miss dr sir dame lord lady prof professor madam pope st saint".split())
_UNIQUE = frozenset(
    "chairman captain president coach manager boss leader chief minister mayor wife husband head ceo founder owner "
    "director secretary mother father king queen prince princess director-general spokesman spokeswoman".split()
)
#: Named entities that are no things of their own.
_MEASURES = frozenset("DATE TIME CARDINAL MONEY PERCENT QUANTITY ORDINAL".split())
#: Tokens from the number to the last of "19-year-old".
_AGE = 4
_BELONGING = frozenset("for against between over about in".split())


def facts(tokens: Doc, resolution: Resolution) -> Iterator[Candidate]:
    """All of a sentence's."""
    for token in tokens:
        if token.dep_ == "appos" or (
            token.dep_ == "nummod" and token.head.ent_type_ == "PERSON" and token.i > token.head.i
        ):
            yield from _apposition(token.head, token)
        if is_name(token) and token.dep_ != "compound":
            yield from _title(token)
        if token.pos_ == "NOUN":
            yield from _age(token)
        if token.dep_ in ("dobj", "attr", "nsubj", "nsubjpass"):
            yield from _belonging(token)
    yield from _described(tokens, resolution)


def _be(noun: Token, *, past: bool = False) -> str:
    many = plural(noun)
    return ("were" if many else "was") if past else ("are" if many else "is")


def _apposition(name: Token, description: Token) -> Iterator[Candidate]:
    """ "David Gold, the chairman" -> "David Gold is the chairman"; "Kendall, 19" -> "Kendall is 19"."""

    def who() -> list[int]:  # late: in a line without end every word may be an apposition of the one before
        return [i for i in _bare(name) if i != description.i]

    if description.text.isdigit():
        if (
            is_name(name)
            and name.ent_type_ not in ("DATE", "TIME", "CARDINAL", "GPE", "LOC")
            and description.i > name.i
        ):
            yield Candidate([*who(), _be(name), description.i], "age", {"age": 1.0})
        return
    if not aside(description) or description.pos_ not in ("NOUN", "PROPN") or name.pos_ not in ("NOUN", "PROPN"):
        return
    if {name.ent_type_, description.ent_type_} & _MEASURES:
        return
    if name.ent_type_ in ("GPE", "LOC") and description.ent_type_ in ("GPE", "LOC"):
        return  # "Leeds, England"
    first = next(iter(noun_phrase(description).core))
    if is_name(name) == is_name(description) and is_name(name):
        return  # a list read wrongly, more often than not
    if (
        not is_name(description)
        and name.doc[first].dep_ not in ("det", "poss", "nummod")
        and not is_name(name.doc[first])
    ):
        return
    phrase = noun_phrase(description)
    told = phrase.core if is_name(description) else phrase.all
    be = _be(name)
    if is_name(description) and any(c.dep_ == "poss" or c.tag_ == "CD" for c in name.lefts) and plural(name):
        return
    yield Candidate([*who(), be, *told], "apposition", {"name": float(is_name(name))})


def _bare(name: Token) -> list[int]:
    """A name without the title before it; of a common noun all that is told with it."""
    core = noun_phrase(name).core
    if not is_name(name):
        return core
    capitals = [i for i in core if name.doc[i].text[:1].isupper()]
    start = capitals[0] if capitals else core[0]
    return [i for i in core if i >= start or not capitals]


def _title(name: Token) -> Iterator[Candidate]:
    """ "West Ham chairman David Gold" -> "David Gold is the West Ham chairman"; "19-year-old Kendall"."""
    tokens = name.doc
    start = name.i
    while start > 0 and tokens[start - 1].head == name and is_name(tokens[start - 1]):
        start -= 1
    if start == 0 or tokens[start - 1].lower_ in _HONORIFICS or tokens[start].lower_ in _HONORIFICS:
        return
    who: list[Piece] = list(range(start, name.i + 1))
    first = name.left_edge.i
    for child in (t for t in tokens[first:start] if t.lower_ == "old"):
        if child.left_edge.text.isdigit() and child.i - child.left_edge.i == _AGE:
            yield Candidate([*who, "is", child.left_edge.i, "years old"], "age", {"age": 1.0})
        first = child.i + 1
    title, role = tokens[first:start], tokens[start - 1]
    if not len(title) or role.tag_ != "NN" or role.dep_ not in ("compound", "nmod", "amod"):
        return
    if (role.text[:1].isupper() and role.i > 0) or any(
        t.tag_ in ("PRP$", "POS", "VBN", "VBD") or t.is_punct for t in title
    ):
        return  # "his sister Ann": which sister is not said
    if name.ent_type_ != "PERSON" and role.lower_ not in PEOPLE:
        return
    pieces: list[Piece] = [t.i for t in title]
    if title[0].dep_ != "det":
        word = title[0].lower_
        pieces.insert(0, "the" if role.lower_ in _UNIQUE else "an" if word[0] in "aeiou" else "a")
    elif title[0].lower_ not in ("a", "an", "the"):
        return
    yield Candidate([*who, "is", *pieces], "title", {"loose": 1.0})


def _age(noun: Token) -> Iterator[Candidate]:
    """ "the 19-year-old midfielder" -> "The midfielder is 19 years old"."""
    for child in noun.lefts:
        parts = list(child.subtree)
        if child.lower_ != "old" or len(parts) < 4 or not parts[0].text.isdigit():
            continue
        rest = [i for i in noun_phrase(noun).core if i > child.i]
        if any(c.dep_ in ("det", "poss") for c in noun.lefts):
            yield Candidate(["the", *rest, "is", parts[0].i, "years old"], "age-noun", {"age": 1.0, "loose": 1.0})


def _belonging(noun: Token) -> Iterator[Candidate]:
    """ "won an award for his work" -> "The award was for his work"; "Lee from Leeds won" -> "Lee is from Leeds"."""
    if list(noun.conjuncts) or noun.pos_ not in ("NOUN", "PROPN") or noun.ent_type_ in _MEASURES:
        return
    for child in noun.rights:
        if child.dep_ != "prep" or aside(child) or picked(noun) or any(c.tag_ == "PRP$" for c in noun.lefts):
            continue
        if child.lower_ not in (("from",) if is_name(noun) else _BELONGING):
            continue
        lead: list[Piece] = list(noun_phrase(noun).core)
        article = noun.doc[lead[0]]
        if article.lower_ in ("no", "any", "every", "each"):
            continue
        if article.lower_ in ("a", "an", "another", "some"):
            lead = ["the", *lead[1:]]
        past = any(t.tag_ == "VBD" for t in (noun.head, *noun.head.children))
        words = [t.i for t in child.subtree]
        place = {f"place-{noun.dep_}": 1.0, f"belongs-{child.lower_}": 1.0, "loose": 1.0}
        yield Candidate([*lead, _be(noun, past=past and not is_name(noun)), *words], "belonging", place)


def _described(tokens: Doc, resolution: Resolution) -> Iterator[Candidate]:
    """ "The 22-year-old has ..." of Paul Pogba -> "Paul Pogba is 22 years old"; "The striker" -> "is the striker"."""
    if resolution.described is None:
        return
    at, entity = resolution.described
    age = next((tokens[i].text for i in at if tokens[i].text.isdigit()), None)
    if age is not None and tokens[at[-1]].lower_ == "old":
        yield Candidate([entity.text, "is", age, "years old"], "described-age")
    elif tokens[at[0]].lower_ == "the" and at[0] == 0 and age is None:
        yield Candidate([entity.text, "is", "the", *at[1:]], "described", {"loose": 1.0})
