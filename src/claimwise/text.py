"""Sentences, words and their places in a text: the few text operations that every room shares.

Everything returns character offsets into the text it was given, so that evidence can be shown in place.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import pysbd


class Span(NamedTuple):
    """A piece of a text: ``text == whole[start:end]``."""

    start: int
    end: int
    text: str


_LINE = re.compile(r"[^\r\n\x0b\x0c\x85\u2028\u2029]+")
_WORD = re.compile(r"\w+(?:['’.,:-]\w+)*", re.UNICODE)


@lru_cache(maxsize=1)
def _segmenter() -> pysbd.Segmenter:
    return pysbd.Segmenter(language="en", clean=False)


def sentences(text: str) -> list[Span]:
    """Split a text into sentences, without changing a character of it.

    Line breaks always end a sentence (dialogue turns, bullet points, paragraphs); within a line the
    boundaries are pysbd's rules for English.

    Args:
        text: any text; may be empty.

    Returns:
        The sentences in order, stripped of outer white space, none empty.

    >>> [s.text for s in sentences("Dr. Ames won by 3.5 points. Lee lost.\\nIt rained.")]
    ['Dr. Ames won by 3.5 points.', 'Lee lost.', 'It rained.']
    >>> sentences("  ")
    []
    """
    return list(_sentences(text))


@lru_cache(maxsize=4096)
def _sentences(text: str) -> tuple[Span, ...]:
    spans: list[Span] = []
    for line in _LINE.finditer(text):
        cursor = line.start()
        for piece in _segmenter().segment(line.group()):
            stripped = piece.strip()
            if not stripped:
                continue
            start = text.find(stripped, cursor, line.end())
            if start < 0:  # pysbd rewrote a character (it does with some quotes): keep the rest of the line whole
                rest = text[cursor : line.end()].strip()
                if rest:
                    start = text.find(rest, cursor)
                    spans.append(Span(start, start + len(rest), rest))
                break
            cursor = start + len(stripped)
            spans.append(Span(start, cursor, stripped))
    return tuple(spans)


def words(text: str) -> list[str]:
    """Lower-cased words and numbers of a text, in order; ``1,200`` and ``well-known`` stay whole.

    >>> words("The well-known U.S. firm paid $1,200.50 in 2019.")
    ['the', 'well-known', 'u.s', 'firm', 'paid', '1,200.50', 'in', '2019']
    """
    return [match.group().lower() for match in _WORD.finditer(text)]


def word_count(text: str) -> int:
    """Number of words, as the length columns of the tables count them.

    >>> word_count("Two words.")
    2
    """
    return len(words(text))
