"""Find citations in prose, and the sources that they cite (Factored Verification sec. 3.2).

A citation is an author and a year, as people and models write them: "Ling (2009)", "Ling and Roy (2009a, 2011)", "Ling et
al.'s (2009) trial", "(see Ling & Roy, 2009a,b; van den Broucke 2020, p. 4)", "[Ling et al., 2009]". Names may be in any
script, with or without accents, particles, given names and initials. A citation is resolved to one source, to several if
they cannot be distinguished, or to none. If it has none, the summary cites a paper that is not among the sources.

A capitalised word before a year in brackets counts as a name: "the Helsinki Declaration (1964)" is a citation here.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from claimwise.prompts.sources import PARTICLES

#: A year, perhaps with further letters: "2009a, b".
_YEAR = re.compile(
    r"(?:(?:1[5-9]|20)\d\d[a-z]?|n\.\s?d\.)(?![\w-])(?:\s*,\s*[a-z](?=\s*(?:[,;)\]&]|$|and\b)))*", re.IGNORECASE
)
#: The text between two years of the same authors: "2009, 2011".
_SAME_AUTHORS = re.compile(r"[\s,;/&]*(?:and\s+)?", re.IGNORECASE)
#: What may follow a year in a bracket without names: the bracket's end, pages, or another year.
_YEAR_ENDS = re.compile(r"\s*(?:[,;:/&)\]]|and\b)", re.IGNORECASE)

#: "et al." and the like at the end of a text.
_ET_AL = re.compile(
    r"(?P<comma>,?)\s*(?:\bet\.?\s+al\b\.?|(?:\band|&)\s+(?:colleagues|co-?workers|coauthors|others|associates)\b)$",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"(?:(?<=s)['’ʼ]|['’ʼ]s)$")
#: The end of the text before a known name if the name is only a part of a word, or of a list of names.
_WITHIN_A_LIST = re.compile(r"(?:\w|[,&]\s*|\band\s+)$")
#: A separator of names, a word (including initials, "J.-P.", and "St."), or another character.
_TOKEN = re.compile(
    r"(?P<sep>,?\s*(?:&|\band\b)|,)|(?P<word>\bSt\.|(?:\b[^\W\d_]\.-?)+|[^\W\d_]+(?:['’ʼ‘`´\-‐‑‒–][^\W\d_]+)*)|\S"
)

#: Words that may be capitalised at the beginning of a sentence or bracket, but are never a part of a name.
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


class Citation(NamedTuple):
    """One author-year citation."""

    names: tuple[str, ...]
    year: str
    et_al: bool = False

    def __str__(self) -> str:
        """Return the citation in the form of the sources' names: "Ling and Roy (2009a)"."""
        names = " and ".join([", ".join(self.names[:-1]), self.names[-1]] if len(self.names) > 1 else self.names)
        return f"{names}{' et al.' if self.et_al else ''} ({self.year})"


class Resolution(NamedTuple):
    """A citation and the indices of the sources that it may mean: one; several if it fits all of them; or none."""

    citation: Citation
    sources: tuple[int, ...]


def find(text: str, known: Sequence[str] = ()) -> list[Citation]:
    """Return the citations of a text, in order.

    Args:
        text: the text.
        known: names of sources, which are found even if they do not look like names: a paper without authors is cited by
            its title.

    >>> [str(c) for c in find("Ling et al.'s (2009) trial and others (Roy & Ames, 2011a, b) agree.")]
    ['Ling et al. (2009)', 'Roy and Ames (2011a)', 'Roy and Ames (2011b)']
    """
    citations: list[Citation] = []
    names, et_al, end = (), False, 0
    for year in _YEAR.finditer(text):
        before, end = text[end : year.start()], year.end()
        if not _SAME_AUTHORS.fullmatch(before):
            bracket = re.search(r"[(\[](?P<content>[^()\[\]]*)$", text[: year.start()])
            if bracket and not bracket["content"].strip():  # "Ling (2009)"
                before = before.rstrip()[:-1] if _YEAR_ENDS.match(text, end) else ""
            names, et_al = _authors(before, known)
            if not bracket and not et_al:  # a year without a bracket belongs to names only after "et al."
                names = ()
        if names:
            first, *letters = re.split(r"\s*,\s*", year[0].lower())
            years = [re.sub(r"\s", "", first), *(first[:4] + letter for letter in letters)]
            citations += [Citation(names, one, et_al) for one in years]
    return citations


def _authors(before: str, known: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return the names at the end of the text before a year, and whether "et al." or the like follows them."""
    before = _POSSESSIVE.sub("", before.rstrip().rstrip(",").rstrip())
    others = _ET_AL.search(before)
    before = before[: others.start()] if others else before
    names = _last_names(before, listed=bool(others and others["comma"]))
    literal = _known_name(before, [name for name in known if " " in name or not names])
    return tuple(literal.split(" and ")) if literal else names, bool(others)


def _known_name(before: str, known: Sequence[str]) -> str | None:
    """Return the longest known name that ends the text and is not the end of a longer list of names."""
    for name in sorted(known, key=len, reverse=True):
        head = before[: len(before) - len(name)]
        if before.casefold().endswith(name.casefold()) and not _WITHIN_A_LIST.search(head):
            return name
    return None


def _last_names(text: str, listed: bool) -> tuple[str, ...]:
    """Return the names that end a text.

    ``listed`` says that a comma and "et al." follow, as in "Ling, Roy, et al.": then the last name may follow a comma, too.
    Otherwise a comma before the last name separates it from the rest of the sentence, as in "In Hungary, Roy".
    """
    names: list[tuple[str, str]] = []  # each with the separator before it
    words: list[str] = []
    for token in reversed(list(_TOKEN.finditer(text))):
        if token["word"] and _in_a_name(token["word"], bool(words)):
            words.insert(0, token["word"])
        elif token["sep"] and words:
            names.insert(0, (_surname(words), token["sep"].strip()))
            words = []
        else:
            break
    if words:
        names.insert(0, (_surname(words), ""))
    kept = [name for name in names if name[0]]  # in "Ling, J." the initials are an empty name
    if len(kept) > 1 and kept[-1][1] == "," and not listed:
        kept = kept[-1:]
    return tuple(name for name, _ in kept)


def _in_a_name(word: str, before_a_name: bool) -> bool:
    if word.casefold().strip(".") in _NOT_NAMES:
        return False
    if word.casefold() in PARTICLES:
        return before_a_name
    return not word[0].islower()


def _surname(words: list[str]) -> str:
    """Return a name without initials; it is empty if there are only initials."""
    if len(words) == 1 and words[0].isalpha():  # an acronym
        return words[0]
    return " ".join(word for word in words if not re.fullmatch(r"(?:[^\W\d_]\.-?)+|[A-Z]{1,2}", word))


def _spellings(name: str) -> set[tuple[str, ...]]:
    """Return a name's words for comparison, without case, accents and apostrophes; umlauts and the like in both spellings."""
    lowered = _APOSTROPHES.sub("", _HYPHENS.sub("-", unicodedata.normalize("NFC", name).casefold()))
    keys = set()
    for spelling in (lowered, lowered.translate(_TRANSLITERATED)):
        plain = unicodedata.normalize("NFKD", spelling.translate(_PLAIN))
        keys.add(tuple("".join(c for c in plain if not unicodedata.combining(c)).replace(".", "").split()))
    return keys


def _ends_with(longer: tuple[str, ...], shorter: tuple[str, ...]) -> bool:
    return len(shorter) > 0 and longer[-len(shorter) :] == shorter


def _same_name(cited: str, source: str) -> bool:
    """Whether two names are the same.

    The cited name may have more words before it, such as given names or the beginning of its sentence. The source's name
    may only have particles before it.
    """
    return any(
        _ends_with(one, other)
        or (_ends_with(other, one) and all(word in PARTICLES for word in other[: len(other) - len(one)]))
        for one in _spellings(cited)
        for other in _spellings(source)
    )


_REFERENCE = re.compile(r"(?P<names>.+?)(?P<others> et al\.)? \((?P<year>[^()]+)\)")


def _parsed(reference: str) -> Citation:
    """Read the name of a source as a citation.

    Raises:
        ValueError: the name does not have this form.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(f"expected a reference such as 'Ling and Roy (2009a)', got {reference!r}")
    names, year = tuple(match["names"].split(" and ")), match["year"].lower()
    return Citation(names, year, bool(match["others"]))


def resolve(text: str, references: Sequence[str]) -> list[Resolution]:
    """Find the sources that each citation of a text may mean.

    Args:
        text: the text.
        references: the sources' names, as in "Ling (2009)" or "Ling and Roy (2009a)".

    Returns:
        A resolution for each citation, in order.

    Raises:
        ValueError: a reference does not have this form.

    >>> found = resolve("Ling (2009) and Nunez (2011) agree (Roy, 2012).", ["Ling et al. (2009)", "Núñez (2011)"])
    >>> [(str(r.citation), r.sources) for r in found]
    [('Ling (2009)', (0,)), ('Nunez (2011)', (1,)), ('Roy (2012)', ())]
    """
    sources = [_parsed(reference) for reference in references]
    known = [" and ".join(source.names) for source in sources]
    return [_resolution(citation, sources) for citation in find(text, known)]


def _resolution(citation: Citation, sources: Sequence[Citation]) -> Resolution:
    # "In Peru, Ling and Roy" is read as three names. So shorter lists are tried, too, but two names that "and" joins stay.
    fewest = 2 if len(citation.names) > 1 and not citation.et_al else 1
    for first in range(len(citation.names) - fewest + 1):
        names = citation.names[first:]
        ranks = {i: rank for i, source in enumerate(sources) if (rank := _fit(names, citation, source)) is not None}
        if ranks:
            return Resolution(citation, tuple(i for i, rank in ranks.items() if rank == max(ranks.values())))
    return Resolution(citation, ())


def _fit(names: Sequence[str], citation: Citation, source: Citation) -> tuple[int, ...] | None:
    """Return how well a source fits a citation, by the year's letter, number of names and spelling; None if it does not.

    ``names`` are the citation's names, or the last of them.
    """
    if citation.year[:4] != source.year[:4] or not _same_name(names[0], source.names[0]):
        return None
    letters = citation.year[4:], source.year[4:]
    if all(letters) and letters[0] != letters[1] and source.year[:4].isdigit():
        return None
    if any(not _same_name(*pair) for pair in zip(names[1:], source.names[1:], strict=False)):
        return None
    if len(names) > len(source.names) and not source.et_al:
        return None
    same_number = (len(names) > 2 or citation.et_al) == source.et_al and (
        source.et_al or len(names) == len(source.names)
    )
    return int(letters[0] == letters[1]), int(same_number), int(names[0].casefold() == source.names[0].casefold())
