"""Facts that a summary tells in passing, inside noun phrases: ages, titles, appositions, what belongs to what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from claimwise import person_words as names
from claimwise_embedded.candidates_text import Candidate, Piece, plural
from claimwise_embedded.candidates_units import NOUN_OWNS, Unit, noun_lean
from claimwise_embedded.clauses_model import Parse, Part
from claimwise_embedded.decomposer_references import Resolution
from claimwise_embedded.decomposer_tokens import Token, verb_forms

_PEOPLE = names.MALE_NOUNS | names.FEMALE_NOUNS | names.PERSON_NOUNS | names.ROLES


_HONORIFICS = frozenset("mr mrs ms miss dr sir dame lord lady prof madam pope st".split())


#: Nouns with the ending of a role that are none.
_THINGS = frozenset(
    "over under after number power paper order matter quarter letter offer corner river border winter summer water "
    "computer newspaper tower centre center chapter character monitor sector factor motor error mirror colour color "
    "event parent government parliament department statement agreement movement tournament apartment content talent "
    "accident incident moment present percent restaurant plant grant weekend brand land end friend car war bar "
    "year calendar dollar seminar former other another similar particular popular major minor senior junior "
    "prior different recent current ancient silent important instant constant distant loss cross".split()
)


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
            yield Candidate([*who, "are" if plural(Part("NP", who), tokens) else "is", description[0]], "age")
        return
    if tokens[description[-1]].tag == "RB":
        return  # "at the Orient, her husband elsewhere"
    if tokens[description[0]].tag in ("DT", "PS", "X", "CD") and not (
        tokens[name[0]].tag == "CD" or (first.text[:1].isupper() and first.tag == "X")
    ):
        be = "are" if plural(Part("NP", name), tokens) else "is"
        yield Candidate([*who, be, *description], "apposition")


def origin(part: Part, tokens: Sequence[Token]) -> Iterator[Candidate]:
    """ "Carlos Morales from Phoenix held ..." -> "Carlos Morales is from Phoenix"."""
    for post in part.posts[:1]:
        if tokens[post[0]].lower == "from" and len(post) > 1 and post[0] == part.core[-1] + 1:
            yield Candidate([*part.core, "are" if plural(part, tokens) else "is", *post], "origin")


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
            and not b.lower.endswith("ed")
            and i
            and tokens[i - 1].tag in ("PS", "DT")
        ):
            j = i + 1
            while j + 1 < n and tokens[j + 1].tag == "X" and tokens[j + 1].text.islower():
                j += 1
            yield Candidate(["the", *range(i + 1, j + 1), "is", age, "years old"], "age-noun")
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
        if not (
            a.lower in _PEOPLE
            or a.lower.endswith(("ist", "ian", "man", "woman", "eer"))
            or (
                len(name) > 1
                and a.lower not in _THINGS
                and a.lower.endswith(("er", "or", "ent", "ant", "end", "oss", "mate", "ar"))
            )
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
        yield Candidate([entity.text, "is", age, "years old"], "described-age")
    elif tokens[at[0]].tag == "DT" and tokens[at[0]].start == tokens[0].start:
        yield Candidate([entity.text, "is", "the", *at[1:]], "described")


def verbless(parsed: Parse) -> Iterator[Candidate]:
    """Headlines that leave out the verb: "Moores under pressure" -> "Moores is under pressure"."""
    tokens = parsed.tokens
    for clause in parsed.clauses:
        if clause.kind != "main" or not clause.verb or clause.auxiliary or clause.subject is None:
            continue
        first = tokens[clause.verb[0]]
        passive = len(set(verb_forms().get(first.lower, ("",) * 4)[2:4])) == 2 or (
            clause.comps and tokens[clause.comps[0].core[0]].lower == "by"
        )
        if first.tag == "VN" and passive and clause.subject.kind == "NP" and not clause.subject_missing:
            many = plural(clause.subject, tokens)
            be = ("are" if many else "is") if first.lower == "set" else ("were" if many else "was")
            rest = [i for part in clause.comps for i in part.core]
            yield Candidate([*clause.subject.core, be, *clause.verb, *rest], "passive")


def belongings(units: Sequence[Unit], verb: str, tokens: Sequence[Token], *, past: bool) -> Iterator[Candidate]:
    """ "won an award for his work" -> "The award was for his work", where the noun owns the phrase."""
    for j in range(1, len(units)):
        if units[j].kind != "PP" or tokens[units[j].core[0]].lower not in _BELONGING:
            continue
        if noun_lean(units, j, verb, tokens) <= NOUN_OWNS:
            continue
        noun = [i for i in units[j - 1].all if tokens[i].tag in ("DT", "PS", "X", "CD", "PO")]
        while noun and tokens[noun[-1]].tag != "X":
            noun.pop()
        start = len(noun) - 1
        while start > 0 and noun[start - 1] + 1 == noun[start]:
            start -= 1
        noun = noun[start:]
        if not noun or any(tokens[i].lower in ("no", "any", "dead", "alive", "free", "guilty") for i in noun):
            continue
        many = plural(Part("NP", noun), tokens)
        be = ("were" if many else "was") if past else ("are" if many else "is")
        lead: list[Piece] = [*noun]
        if tokens[noun[0]].lower in ("a", "an", "another", "some"):
            lead = ["the", *noun[1:]]
        elif tokens[noun[0]].tag == "X" and not tokens[noun[0]].text[:1].isupper():
            lead = ["the", *noun]
        yield Candidate([*lead, be, *units[j].core], "belonging", {f"place-{units[j - 1].kind}": 1.0})


_BELONGING = frozenset("for from against between over about in at on with under".split())
