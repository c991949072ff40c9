"""Sentences, words and their places in a text: the few text operations that every room shares.

Everything returns character offsets into the text it was given, so that evidence can be shown in place.
"""

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
#: What pysbd writes into a text for its own ends and takes out again, wherever it stands; and what it takes for line breaks.
_PYSBD_MARKS = re.compile("[ȸȹƪ∮∯☄☇☈☉☏☝☍♝♟♨♬♭✂⌬⎋ᓰᓱᓳᓴᓷᓸ]")
_PYSBD_BREAKS = re.compile("[\x1c-\x1f]")

#: pysbd's time grows with the square of the length: a longer line is read through a window of so many characters.
_WINDOW = 10_000
#: A sentence of more characters, such as a transcript without full stops, is cut between words.
_LONGEST = 20_000
_WHOLE_WORDS = re.compile(r".*\S\s", re.DOTALL)
#: What pysbd takes for an abbreviation or a list's item, each of which it compares with all others, and sentences of one
#: short word. Where more than ``_MARKS`` stand closer than every ``_APART`` characters there are no sentences to find, and
#: a full stop ends one.
_MARK = re.compile(r"\b(?!(?<!\S)[A-Z]\.\s[A-Z])\w{1,3}[.)!?](?!\w)|[!?]\w{1,3}\b")  # no initials, no decimals
_MARKS, _APART = 20, 20
_STOP = re.compile(r"(?<=[.!?])\s+")
_SEGMENTER = pysbd.Segmenter(language="en", clean=False)


def sentences(text: str) -> list[Span]:
    """Split a text into sentences, without changing a character of it.

    Line breaks always end a sentence (dialogue turns, bullet points, paragraphs); within a line the
    boundaries are pysbd's rules for English. Sentences are stripped of outer white space, none is empty.

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
    while True:
        stop = min(start + size, end)
        found = _window(text, start, stop)
        if stop == end:
            return spans + found
        if len(found) > 1:
            start, size = found.pop().start, _WINDOW
            spans += found
        elif size < _LONGEST:  # a sentence longer than the window
            size *= 2
        else:
            words = _WHOLE_WORDS.match(text, start, stop)
            cut = words.end() if words else stop
            spans += _window(text, start, cut)
            start = cut


def _window(text: str, start: int, end: int) -> list[Span]:
    spans: list[Span] = []
    shown = _PYSBD_BREAKS.sub(" ", _PYSBD_MARKS.sub("x", text[start:end]))  # of the same length
    dense = len(_MARK.findall(shown)) > max(_MARKS, len(shown) / _APART)
    cursor = 0
    for piece in _STOP.split(shown) if dense else _SEGMENTER.segment(shown):
        stripped = piece.strip()
        if not stripped:
            continue
        place = shown.find(stripped, cursor)
        if place < 0 or shown[cursor:place].strip():
            # pysbd rewrote a character (it does with some quotes): keep the rest of the line whole
            stripped = shown[cursor:].strip()
            place = shown.find(stripped, cursor)
        cursor = place + len(stripped)
        spans.append(Span(start + place, start + cursor, text[start + place : start + cursor]))
        if not shown[cursor:].strip():
            break
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
