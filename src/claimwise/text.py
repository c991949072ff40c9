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

#: pysbd's time grows with the square of the length: a longer line is read through a window of so many characters.
_WINDOW = 10_000


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
    return tuple(span for line in _LINE.finditer(text) for span in _line(text, *line.span()))


def _line(text: str, start: int, end: int) -> list[Span]:
    """The sentences of one line, window by window: a window's last sentence may go on, the next one begins with it."""
    spans: list[Span] = []
    size = _WINDOW
    while start < end:
        stop = min(start + size, end)
        found = _window(text, start, stop)
        if stop == end:
            return spans + found
        if len(found) < 2:  # a sentence longer than the window
            size *= 2
            continue
        start, size = found.pop().start, _WINDOW
        spans += found
    return spans


def _window(text: str, start: int, end: int) -> list[Span]:
    spans: list[Span] = []
    cursor = start
    for piece in _segmenter().segment(text[start:end]):
        stripped = piece.strip()
        if not stripped:
            continue
        place = text.find(stripped, cursor, end)
        if place < 0:  # pysbd rewrote a character (it does with some quotes): keep the rest of the line whole
            rest = text[cursor:end].strip()
            if rest:
                place = text.find(rest, cursor)
                spans.append(Span(place, place + len(rest), rest))
            break
        cursor = place + len(stripped)
        spans.append(Span(place, cursor, stripped))
    return spans


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
