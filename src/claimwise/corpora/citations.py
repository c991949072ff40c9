"""Several papers as one document, each abstract under the line by which summaries cite it (Factored Verification)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_REFERENCE_LINE = re.compile(
    r"(?P<reference>[^\n]+ \((?:\d{4}|n\.d\.)[a-z]?\))\. (?P<title>[^\n]*)\n(?P<abstract>.*)", re.DOTALL
)


class Paper(NamedTuple):
    """A paper as a summary cites it, e.g. reference "Ling and Roy (2009)"."""

    reference: str
    title: str
    abstract: str


def surname(author: str) -> str:
    """The name by which an author is cited: the last one, with its particles.

    >>> surname("Marta Núñez"), surname("Ilse van der Meer")
    ('Núñez', 'van der Meer')
    """
    first, *rest = author.split()
    if not rest:
        return first
    start = len(rest) - 1
    while start > 0 and rest[start - 1].islower():
        start -= 1
    return " ".join(rest[start:])


def cited(surnames: Sequence[str], year: str) -> str:
    """The reference of a paper, by its authors' surnames (at least one) and year ("n.d." where it has none).

    >>> cited(["Ling"], "2009"), cited(["Ling", "Roy"], "2009a"), cited(["Ling", "Roy", "Ames"], "2009")
    ('Ling (2009)', 'Ling and Roy (2009a)', 'Ling et al. (2009)')
    """
    names = f"{surnames[0]} et al." if len(surnames) > 2 else " and ".join(surnames)
    return f"{names} ({year})"


def joined(papers: Iterable[Paper]) -> str:
    """One document of several papers: reference line and abstract, with an empty line between papers.

    Empty lines inside an abstract are closed up, so that ``separated`` can tell the papers apart.

    >>> print(joined([Paper("Ling (2009)", "Rain", "It rained."), Paper("Roy (2011)", "Snow", "It snowed.")]))
    Ling (2009). Rain
    It rained.
    <BLANKLINE>
    Roy (2011). Snow
    It snowed.
    """
    return "\n\n".join(
        f"{reference}. {title}\n" + re.sub(r"\n\s*\n", "\n", abstract.strip()) for reference, title, abstract in papers
    )


def separated(document: str) -> list[Paper]:
    """The papers of a document that ``joined`` made.

    Raises:
        ValueError: a part of the document does not begin with a reference line.

    >>> separated("Ling (2009). Rain\\nIt rained.")
    [Paper(reference='Ling (2009)', title='Rain', abstract='It rained.')]
    """
    papers = []
    for part in re.split(r"\n\n(?=[^\n])", document):  # an abstract may be empty
        match = _REFERENCE_LINE.fullmatch(part)
        if match is None:
            raise ValueError(
                f"expected a reference line such as 'Ling (2009). Title' and an abstract below it, got {part[:60]!r}"
            )
        papers.append(Paper(**match.groupdict()))
    return papers
