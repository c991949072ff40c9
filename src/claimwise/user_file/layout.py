"""How a summary is laid out: lines that were broken at a width, numbered lists, headings and lead-ins.

Every line is read as one sentence or several (``text.sentences``), so that a layout which a person reads past changes
claims and scores. What is looked for here is only what is rarely anything else: a warning of nothing costs trust.
"""

from __future__ import annotations

import re
from itertools import pairwise

_ENDS = tuple(".!?:;…。！？\"”'’)]")  # of a line that says all it has to say
_NARROWEST = 20  # characters; nobody breaks lines at fewer, and lists of words are as narrow
_ITEM = re.compile(r"\s*(?:[-*•–+]|\d{1,2}[.)]|\(?[a-z][.)]|[ivx]{1,4}[.)])\s+(?=\S)")
_NUMBERED = re.compile(r"\s*\(?(\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s+(?=\S)")
_HEADING = re.compile(r"\s*(?:#{1,6}\s+\S.*|(\*\*|__)[^*_]+\1:?)\s*")
_LEAD_IN = re.compile(
    r"(?:sure\W+|certainly\W+)?(?:here(?: is| are|['’]s)|below (?:is|are)|the following|in summary)\b", re.I
)
_LABEL_WORDS, _HEADING_WORDS = 3, 8  # the most of a label ("Key points:"), and of a heading without marks


def wrapped(summary: str) -> bool:
    """Whether a program broke the lines at a width: a sentence goes on in the next line, whose first word had no room.

    Of lines written one by one (highlights, turns of a dialogue, verse, lists) hardly any begins with a small letter,
    or most had room for more.

    >>> wrapped("The mayor said on Tuesday that the old\\nbridge would be closed for a year. Work\\nbegins in May.")
    True
    >>> wrapped("Mayor closes old bridge\\nWork begins in May"), wrapped("- the mayor spoke at\\n- people left")
    (False, False)
    """
    return any(_wrapped([line.strip() for line in block.splitlines()]) for block in _blocks(summary))


def _blocks(summary: str) -> list[str]:
    """Paragraphs, between blank lines."""
    return re.split(r"\n\s*\n", "\n".join(summary.splitlines()).strip())


def _wrapped(lines: list[str]) -> bool:
    width = max(map(len, lines), default=0)
    if len(lines) < 2 or width < _NARROWEST or lines[0][:1].islower() or any(map(_ITEM.match, lines)):
        return False
    pairs = [(line, after) for line, after in pairwise(lines) if not line.endswith(_ENDS)]
    full = all(len(line) + 1 + len(after.split()[0]) > width for line, after in pairs)
    small = sum(after[0].islower() for _, after in pairs)
    return full and 2 * len(pairs) >= len(lines) - 1 and 2 * small >= len(pairs)


def marked(summary: str) -> bool:
    """Whether a summary has a list with numbers or letters, a heading, or a lead-in on a line of its own.

    >>> marked("1. It rained.\\n2. It snowed."), marked("Key points:\\n- It rained."), marked("# Weather\\nIt rained.")
    (True, True, True)
    >>> marked("- It rained.\\n- It snowed."), marked("2. Mai war es.\\nIt rained."), marked("Ann: hello\\nBob: bye")
    (False, False, False)
    """
    lines = summary.strip().splitlines()
    numbers = {found[1] for line in lines if (found := _NUMBERED.match(line))}
    return len(numbers) > 1 or any(
        _heads(line.strip(), lines[at + 1 :]) for at, line in enumerate(lines[:-1]) if line.strip()
    )


def _heads(line: str, after: list[str]) -> bool:
    """Whether a line announces those that follow."""
    if _HEADING.fullmatch(line):
        return True
    words = line.split()
    if line.endswith(":"):
        return len(words) <= _LABEL_WORDS or bool(_LEAD_IN.match(line))
    bare = not line.endswith(_ENDS) and not _ITEM.match(line)
    return bare and len(words) <= _HEADING_WORDS and not after[0].strip() and after[-1].rstrip().endswith(_ENDS)
