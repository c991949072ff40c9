"""Citations in prose, and which of the given sources each of them means (Factored Verification sec. 3.2).

Read are the ways in which people and models write author and year: "Ling (2009)", "Ling and Roy (2009a, 2011)",
"Ling et al.'s (2009) trial", "(see Ling & Roy, 2009a,b; van den Broucke 2020, p. 4)", "[Ling et al., 2009]". A name
matches in any script, with or without its accents, particles, given names and initials. Every citation is resolved to
one source, to several that it cannot tell apart, or to none: a cited paper that is not among the sources is a
finding of its own.

A capitalised word before a year in brackets is taken for a name: "the Helsinki Declaration (1964)" is a citation here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from claimwise.prompts.sources import PARTICLES

#: A year, and several of one author: "2009a, b; 2011".
_YEAR = r"(?:(?:1[5-9]|20)\d\d[a-z]?|n\.\s?d\.|in press|forthcoming)(?![\w-])"
_YEARS = re.compile(rf"{_YEAR}(?:\s*(?:,|;|/|&|and)\s*(?:{_YEAR}|[a-z](?=\s*(?:[,;)\]&]|$|and\b))))*", re.IGNORECASE)
_ONE_YEAR = re.compile(rf"{_YEAR}|\b[a-z]\b", re.IGNORECASE)
#: After a year: ", p. 4", ": 12-15", ", table 2".
_PAGES = r"(?:\s*[,:]\s*(?:(?:p|pp|chap|sec|ch|table|fig)\.?\s*)?[\divxl]+(?:\s*[-–]\s*\d+)?)?"
#: A bracket that holds a year only, after the names: "Ling (2009, p. 4)".
_NARRATIVE = re.compile(rf"\s*({_YEARS.pattern}){_PAGES}\s*", re.IGNORECASE)
_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
#: Without a bracket only "et al." makes sure that a year belongs to names: "Ling et al., 2009".
_BARE = re.compile(rf"\bet\s+al\.?(?:['’]s)?,?\s+({_YEARS.pattern})", re.IGNORECASE)

#: What stands for the authors that are not named, at the end of a text.
_ET_AL = re.compile(
    r"(?P<comma>,?)\s*(?:\bet\.?\s+al\b\.?|(?:\band|&)\s+(?:colleagues|co-?workers|coauthors|others|associates)\b)$",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"(?:(?<=s)['’ʼ]|['’ʼ]s)$")
#: Before a known name: more of a word, or of a list of names.
_WITHIN_A_LIST = re.compile(r"(?:\w|[,&]\s*|\band\s+)$")
_WORD = r"[^\W\d_]+(?:['’ʼ‘`´\-‐‑‒–][^\W\d_]+)*"
#: The last word of a text, initials ("J.-P.") and "St." among them, or the last comma or "and".
_TOKEN = re.compile(rf"(?:(?P<word>(?:[^\W\d_]\.-?)+|{_WORD}|\bSt\.)|(?P<sep>,?\s*(?:&|\band\b)|,))\s*$")

#: Characters before a bracket in which the names are looked for.
_FARTHEST = 300

#: Capitalised words that begin a sentence or a bracket, and are no part of a name.
_NOT_NAMES = frozenset(
    "a an the in as at on by for from to of with and or both while when where whereas whether although though however "
    "if since because after before unlike like similarly also see cf eg ie e.g i.e per via according study studies "
    "trial paper papers work research results findings authors author review reviews table figure fig section version phase "
    "wave n january february march april may june july august september october november december jan feb mar apr jun "
    "jul aug sep sept oct nov dec spring summer autumn winter our their his her its this these that those here then "
    "more recently earlier later finally first second third likewise moreover furthermore additionally "
    "conversely".split()
)
_TRANSLITERATED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i"})
_HYPHENS = re.compile(r"[‐‑‒–—]")
_APOSTROPHES = re.compile(r"['’ʼ‘`´]")


@dataclass(frozen=True, slots=True)
class Citation:
    """One author-year citation; ``text[start:end]`` reaches from its first name to its year."""

    start: int
    end: int
    names: tuple[str, ...]
    year: str
    et_al: bool = False

    def __str__(self) -> str:
        """The citation as the sources are named.

        >>> str(Citation(0, 9, ("Ling", "Roy"), "2009a"))
        'Ling and Roy (2009a)'
        """
        names = " and ".join([", ".join(self.names[:-1]), self.names[-1]] if len(self.names) > 1 else self.names)
        return f"{names}{' et al.' if self.et_al else ''} ({self.year})"


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a citation means, by the sources' indices: one; several that are cited alike; none of those that are given."""

    citation: Citation
    sources: tuple[int, ...]


def find(text: str, known: Sequence[str] = ()) -> list[Citation]:
    """The citations of a text, in order.

    Known names of sources are read as they are where their words do not look like names (a paper without authors is
    cited by its title).

    >>> [str(c) for c in find("Ling et al.'s (2009) trial and others (Roy & Ames, 2011a, b) agree.")]
    ['Ling et al. (2009)', 'Roy and Ames (2011a)', 'Roy and Ames (2011b)']
    """
    found: list[Citation] = []
    brackets = list(_BRACKETS.finditer(text))
    for bracket in brackets:
        narrative = _NARRATIVE.fullmatch(bracket[1])
        if narrative:
            first = max(0, bracket.start() - _FARTHEST)
            years = bracket.start(1) + narrative.start(1)
            found += _citations(text[first : bracket.start()], first, years, narrative[1], known)
        else:
            found += _parenthetical(bracket[1], bracket.start(1), known)
    for bare in _BARE.finditer(text):
        if not any(bracket.start() < bare.start() < bracket.end() for bracket in brackets):
            first = max(0, bare.start() - _FARTHEST)
            found += _citations(text[first : bare.start(1)].rstrip(" ,"), first, bare.start(1), bare[1], known)
    return sorted(found, key=lambda citation: (citation.end, citation.start))


def _parenthetical(content: str, offset: int, known: Sequence[str]) -> list[Citation]:
    """The citations of a bracket's content; years without names belong to the names before them."""
    found: list[Citation] = []
    end = 0
    for years in _YEARS.finditer(content):
        before = content[end : years.start()]
        page = re.search(r"\b(?:pp?|n|chap|table)\.?\s*=?\s*$", before)
        fresh = [] if page else _citations(before, offset + end, offset + years.start(), years[0], known)
        if not fresh and found and re.fullmatch(r"\W*", before):
            last = found[-1]
            fresh = [
                Citation(last.start, stop, last.names, year, last.et_al)
                for year, stop in _years(years[0], offset + years.start())
            ]
        found += fresh
        end = years.end()
    return found


def _years(text: str, offset: int) -> list[tuple[str, int]]:
    """Years and their ends; a letter alone repeats the year before it ("2016a, b")."""
    found: list[tuple[str, int]] = []
    for one in _ONE_YEAR.finditer(text):
        year = one[0].lower()
        year = year if year[0] == "i" else re.sub(r"\s", "", year)  # "in press" keeps its space
        found.append((found[-1][0][:4] + year if found and len(year) == 1 else year, offset + one.end()))
    return found


def _citations(before: str, offset: int, start: int, years: str, known: Sequence[str]) -> list[Citation]:
    """The citations of one group of years, whose names end the text before it; none where there is no name."""
    before = before.rstrip().rstrip(",").rstrip()
    before = _POSSESSIVE.sub("", before)
    others = _ET_AL.search(before)
    before = before[: others.start()] if others else before
    names, first = _last_names(before, listed=bool(others and others["comma"]))
    literal = _known_name(before, [name for name in known if " " in name or not names])
    if literal:
        names, first = tuple(literal.split(" and ")), len(before) - len(literal)
    return [
        Citation(offset + first, end, names, year, bool(others))
        for year, end in (_years(years, start) if names else ())
    ]


def _known_name(before: str, known: Sequence[str]) -> str | None:
    """The longest known name that ends the text and is not the rest of a longer list of names."""
    for name in sorted(known, key=len, reverse=True):
        head = before[: len(before) - len(name)]
        if before.casefold().endswith(name.casefold()) and not _WITHIN_A_LIST.search(head):
            return name
    return None


def _last_names(text: str, listed: bool) -> tuple[tuple[str, ...], int]:
    """The names that end a text, and where they begin.

    Where they are ``listed``, the last name may follow another one's comma ("Ling, Roy, et al."); else a comma alone
    before the last name divides it from the rest of the sentence ("In Hungary, Roy").
    """
    names: list[tuple[str, int, str]] = []  # each with its place and what parts it from the name before
    words: list[tuple[str, int]] = []
    rest = text
    while token := _TOKEN.search(rest):
        word = token["word"]
        if not (_in_a_name(word, bool(words)) if word else words):
            break
        if word:
            words.insert(0, (word, token.start("word")))
        else:
            names.insert(0, (*_surname(words), token["sep"].strip()))
            words = []
        rest = rest[: token.start()]
    if words:
        names.insert(0, (*_surname(words), ""))
    kept = [name for name in names if name[0]]  # "Ling, J.": initials stand as a name of their own
    if len(kept) > 1 and kept[-1][2] == "," and not listed:
        kept = kept[-1:]
    return tuple(name for name, _, _ in kept), kept[0][1] if kept else 0


def _in_a_name(word: str, follows: bool) -> bool:
    if word.casefold().strip(".") in _NOT_NAMES:
        return False
    if word.casefold() in PARTICLES:
        return follows
    return not word[0].islower()


def _surname(words: list[tuple[str, int]]) -> tuple[str, int]:
    """A name without given names' initials, which is empty where there is nothing else."""
    kept = [word for word, _ in words if not re.fullmatch(r"(?:[^\W\d_]\.-?)+|[A-Z]{1,2}", word)] or [""]
    if len(words) == 1 and words[0][0].isalpha():  # an acronym
        kept = [words[0][0]]
    return " ".join(kept), words[0][1]


def _spellings(name: str) -> set[tuple[str, ...]]:
    """A name's words as they are compared: without case, accents and apostrophes, German vowels in both spellings."""
    lowered = _APOSTROPHES.sub("", _HYPHENS.sub("-", unicodedata.normalize("NFC", name).casefold()))
    keys = set()
    for spelling in (lowered, lowered.translate(_TRANSLITERATED)):
        plain = unicodedata.normalize("NFKD", spelling.translate(_PLAIN))
        keys.add(tuple("".join(c for c in plain if not unicodedata.combining(c)).replace(".", "").split()))
    return keys


def _ends_with(longer: tuple[str, ...], shorter: tuple[str, ...]) -> bool:
    return len(shorter) > 0 and longer[-len(shorter) :] == shorter


def _same_name(cited: str, source: str) -> bool:
    """Whether two names are one: given names, openers or particles may stand before one of them."""
    return any(
        _ends_with(one, other)
        or (_ends_with(other, one) and all(word in PARTICLES for word in other[: len(other) - len(one)]))
        for one in _spellings(cited)
        for other in _spellings(source)
    )


_REFERENCE = re.compile(r"(?P<names>.+?)(?P<others> et al\.)? \((?P<year>[^()]+)\)")


def _parsed(reference: str) -> Citation:
    """A source's name, as if it were cited by it."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(f"expected a reference such as 'Ling and Roy (2009a)', got {reference!r}")
    names, year = tuple(match["names"].split(" and ")), match["year"].lower()
    return Citation(0, len(reference), names, year, bool(match["others"]))


def resolve(text: str, references: Sequence[str]) -> list[Resolution]:
    """Every citation of a text with the sources that it means, named as in "Ling (2009)" or "Ling and Roy (2009a)".

    Returns:
        One resolution a citation, in order.

    Raises:
        ValueError: a reference is not of that form.

    >>> found = resolve("Ling (2009) and Nunez (2011) agree (Roy, 2012).", ["Ling et al. (2009)", "Núñez (2011)"])
    >>> [(str(r.citation), r.sources) for r in found]
    [('Ling (2009)', (0,)), ('Nunez (2011)', (1,)), ('Roy (2012)', ())]
    """
    named = [_parsed(reference) for reference in references]
    known = [" and ".join(source.names) for source in named]
    return [_resolution(citation, named) for citation in find(text, known)]


def _resolution(citation: Citation, named: Sequence[Citation]) -> Resolution:
    # A word and a comma before the names may have been read as one of them ("In Peru, Ling and Roy"), so shorter lists
    # are tried too; what an "and" joins to the last name is a name.
    joined = len(citation.names) > 1 and not citation.et_al
    for first in range(len(citation.names) - joined):
        names = citation.names[first:]
        ranks = {i: rank for i, source in enumerate(named) if (rank := _fit(names, citation, source)) is not None}
        if ranks:
            return Resolution(citation, tuple(i for i, rank in ranks.items() if rank == max(ranks.values())))
    return Resolution(citation, ())


def _fit(names: Sequence[str], citation: Citation, source: Citation) -> tuple[int, ...] | None:
    """How well a source fits a citation, None where it does not: year's letter, number of names, spelling."""
    if citation.year[:4] != source.year[:4] or not _same_name(names[0], source.names[0]):
        return None
    letters = citation.year[4:], source.year[4:]
    if all(letters) and letters[0] != letters[1] and source.year[:4].isdigit():
        return None
    known = min(len(names), len(source.names))
    if any(not _same_name(one, other) for one, other in zip(names[1:known], source.names[1:known], strict=True)):
        return None
    if len(names) > len(source.names) and not source.et_al:
        return None
    alike = (len(names) > 2 or citation.et_al) == source.et_al and (source.et_al or len(names) == len(source.names))
    return int(letters[0] == letters[1]), int(alike), int(names[0].casefold() == source.names[0].casefold())
