"""Several sources as one text, in the way Factored Verification's prompts print them, and back to their names.

A verifier or critic takes one document; where the sources are papers, that document is ``papers(...)`` of the
cited ones (Factored Verification sec. 3.2: only the cited abstracts are shown).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

_REFERENCE = re.compile(r"^(.+):\n+Title: ", re.MULTILINE)


class _Source(Protocol):
    reference: str
    title: str
    text: str


def papers(sources: Iterable[_Source]) -> str:
    r"""The sources as one document (Factored Verification A.3.1).

    >>> from types import SimpleNamespace as Source
    >>> text = papers([Source(reference="Ling (2009)", title="Creatine", text="It helped.")])
    >>> text
    'Ling (2009):\n\nTitle: Creatine\n\nAbstract: It helped.'
    """
    return "\n\n".join(f"{s.reference}:\n\nTitle: {s.title}\n\nAbstract: {s.text}" for s in sources)


def references(document: str) -> list[str]:
    r"""The names of the sources in a document that ``papers`` made; none for any other text.

    >>> references("Ling (2009):\n\nTitle: Creatine\n\nAbstract: It helped."), references("It rained.")
    (['Ling (2009)'], [])
    """
    return _REFERENCE.findall(document)
