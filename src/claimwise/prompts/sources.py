"""Join several sources to one text, as Factored Verification's prompts print them, and separate them again.

A verifier or critic takes one document. If the sources are papers, that document is ``joined(...)`` of the cited ones
(Factored Verification sec. 3.2: only the cited abstracts are shown). A paper's name is its citation in summaries, "Ling
and Roy (2009)"; ``claimwise.metrics.factored.citations`` finds such names in prose.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: Words that belong to the surname after them, lower-case or capitalised.
PARTICLES = frozenset(
    "van von der den de del della dela di da das dos do du la le les lo el al ten ter te zu zur zum 't af av bin ibn "
    "ben mac mc ní nic ó st st.".split()
)

_PAPER = re.compile(
    r"^(?P<reference>[^\n]+ \((?:\d{4}|n\.d\.)[a-z]?\)):\n\nTitle: (?P<title>[^\n]*)\n\nAbstract: ?", re.MULTILINE
)


class Source(NamedTuple):
    """One of several documents to summarise, cited by ``reference``, e.g. "Ling (2009)"."""

    reference: str
    title: str
    text: str


def surname(author: str) -> str:
    """The surname of an author: the last name, with its particles.

    >>> surname("Marta Núñez"), surname("Ilse van der Meer"), surname("Jan Van den Bossche"), surname("Orla Ní Bhriain")
    ('Núñez', 'van der Meer', 'Van den Bossche', 'Ní Bhriain')
    """
    first, *rest = author.split()
    if not rest:
        return first
    start = len(rest) - 1
    while start > 0 and (rest[start - 1].islower() or rest[start - 1].casefold() in PARTICLES):
        start -= 1
    return " ".join(rest[start:])


def cited(surnames: Sequence[str], year: str) -> str:
    """The reference of a paper with these authors' surnames (at least one) and this year ("n.d." if it has none).

    >>> cited(["Ling"], "2009"), cited(["Ling", "Roy"], "2009a"), cited(["Ling", "Roy", "Ames"], "2009")
    ('Ling (2009)', 'Ling and Roy (2009a)', 'Ling et al. (2009)')
    """
    names = f"{surnames[0]} et al." if len(surnames) > 2 else " and ".join(surnames)
    return f"{names} ({year})"


def joined(sources: Iterable[Source]) -> str:
    r"""The sources as one document (Factored Verification A.3.1).

    >>> joined([Source("Ling (2009)", "Creatine", "It helped.")])
    'Ling (2009):\n\nTitle: Creatine\n\nAbstract: It helped.'
    """
    return "\n\n".join(
        f"{s.reference}:\n\nTitle: {' '.join(s.title.split())}\n\nAbstract: {s.text.strip()}" for s in sources
    )


def stated(sentence: str) -> str:
    """A sentence of a document without the label that ``joined`` wrote before it; empty for a heading.

    >>> stated("Abstract: It helped."), stated("Ling (2009):"), stated("Title: Creatine"), stated("It rained.")
    ('It helped.', '', '', 'It rained.')
    """
    return "" if sentence.endswith(":") or sentence.startswith("Title: ") else sentence.removeprefix("Abstract: ")


def separated(document: str) -> list[Source]:
    r"""The sources of a document that ``joined`` made; an empty list for any other text.

    >>> separated("Ling (2009):\n\nTitle: Creatine\n\nAbstract: It helped.")
    [Source(reference='Ling (2009)', title='Creatine', text='It helped.')]
    >>> separated("It rained.")
    []
    """
    heads = list(_PAPER.finditer(document))
    ends = [*(head.start() for head in heads[1:]), len(document)]
    return [
        Source(head["reference"], head["title"], document[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=False)  # without a head there is one end too many
    ]


def references(document: str) -> list[str]:
    """The references of the sources in a document that ``joined`` made; an empty list for any other text."""
    return [source.reference for source in separated(document)]
