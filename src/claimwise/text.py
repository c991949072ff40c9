"""Sentences and words of a text. Sentences have their character offsets, so that evidence can be marked in the text."""

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
#: Characters that pysbd uses as internal marks, and so would remove from a text; and those that it takes for line breaks.
_PYSBD_MARKS = re.compile("[ȸȹƪ∮∯☄☇☈☉☏☝☍♝♟♨♬♭✂⌬⎋ᓰᓱᓳᓴᓷᓸ]")
_PYSBD_BREAKS = re.compile("[\x1c-\x1f]")

#: pysbd takes quadratic time, so a longer line is read in windows of so many characters.
_WINDOW = 10_000
#: A longer sentence, such as a transcript without full stops, is cut between words.
_LONGEST = 20_000
_WHOLE_WORDS = re.compile(r".*\S\s", re.DOTALL)
#: Possible abbreviations, list items and sentences of one short word. pysbd compares each with all others, so a text that is
#: full of them would take too long: with more than ``_MAX_MARKS``, and more than one in ``_MARK_DISTANCE`` characters,
#: sentences simply end at full stops.
_MARK = re.compile(r"\b(?!(?<!\S)[A-Z]\.\s[A-Z])\w{1,3}[.)!?](?!\w)|[!?]\w{1,3}\b")  # no initials, no decimals
_MAX_MARKS, _MARK_DISTANCE = 20, 20
_STOP = re.compile(r"(?<=[.!?])\s+")


def sentences(text: str) -> list[Span]:
    """Split a text into sentences, without changing a character of it.

    A line break always ends a sentence (dialogue turns, bullet points, paragraphs). Within a line sentences end by pysbd's
    rules for English. Sentences have no outer white space, and none is empty.

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
    """The sentences of one line, read in windows.

    A window's last sentence may be unfinished, so the next window begins with it again.
    """
    spans: list[Span] = []
    size = _WINDOW
    while True:
        stop = min(start + size, end)
        window_spans = _window(text, start, stop)
        if stop == end:
            return spans + window_spans
        if len(window_spans) > 1:
            start, size = window_spans.pop().start, _WINDOW
            spans += window_spans
        elif size < _LONGEST:  # the sentence is longer than the window
            size *= 2
        else:
            words = _WHOLE_WORDS.match(text, start, stop)
            cut = words.end() if words else stop
            spans += _window(text, start, cut)
            start = cut


def _window(text: str, start: int, end: int) -> list[Span]:
    """The sentences of a part of a line."""
    spans: list[Span] = []
    window = _PYSBD_BREAKS.sub(" ", _PYSBD_MARKS.sub("x", text[start:end]))  # has the same length
    dense = len(_MARK.findall(window)) > max(_MAX_MARKS, len(window) / _MARK_DISTANCE)
    # A segmenter keeps the text that it reads, so threads must not share one. It is made in a microsecond.
    segmenter = pysbd.Segmenter(language="en", clean=False)
    cursor = 0
    for piece in _STOP.split(window) if dense else segmenter.segment(window):
        sentence = piece.strip()
        if not sentence:
            continue
        place = window.find(sentence, cursor)
        if place < 0 or window[cursor:place].strip():
            # pysbd changed a character, as it does with some quotes: the rest of the window becomes one sentence.
            sentence = window[cursor:].strip()
            place = window.find(sentence, cursor)
        cursor = place + len(sentence)
        spans.append(Span(start + place, start + cursor, text[start + place : start + cursor]))
        if not window[cursor:].strip():
            break
    return spans


def words(text: str) -> list[str]:
    """The lower-cased words and numbers of a text, in order; ``1,200`` and ``well-known`` are one word each.

    >>> words("The well-known U.S. firm paid $1,200.50 in 2019.")
    ['the', 'well-known', 'u.s', 'firm', 'paid', '1,200.50', 'in', '2019']
    """
    return [match.group().lower() for match in _WORD.finditer(text)]


def word_count(text: str) -> int:
    """The number of ``words`` of a text, which the length columns of the tables show.

    >>> word_count("Two words.")
    2
    """
    return len(words(text))
