"""Retrieves the pieces of a document that may support a claim; and words, pieces and lists of words.

A document is cut into *pieces*: its sentences, of which long ones are split and short ones joined. Only pieces that share
words with a claim are encoded, so that a document of 100,000 words costs little more than a short one.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import yaml

from claimwise import text
from claimwise.words import FUNCTION_WORDS, stem

#: The most words in a piece: about the 128 wordpieces that MiniLM was trained on.
PIECE_WORDS = 80
#: The fewest words in a document's piece, if possible: a single turn of a dialogue says little.
LEAST_WORDS = 15
#: The most characters between two sentences of a piece: a drawn line does not belong to the text.
_GAP = 40

#: Lists that are too long for code, by name: words or pairs of words, separated by spaces.
WORD_LISTS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("word_lists.yaml").read_text(encoding="utf-8"))

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]|\d+(?:[.,:]\d+)*|[^\W\d_{_CJK}]+")


def word_spans(passage: str) -> list[tuple[int, int]]:
    """Return the character spans of a text's words; ``n't`` and ``'s`` are split off, a CJK character is a word.

    >>> [("It didn't cost 1,200.50."[a:b]) for a, b in word_spans("It didn't cost 1,200.50.")]
    ['It', 'didn', 't', 'cost', '1,200.50']
    """
    return [match.span() for match in _WORD.finditer(passage)]


def stems(passage: str) -> frozenset[str]:
    """Return the stems of a text's words.

    >>> sorted(stems("It rained, and rains."))
    ['and', 'it', 'rain']
    """
    return frozenset(stem(passage[a:b]) for a, b in word_spans(passage))


#: Stems of ``FUNCTION_WORDS``, such as "wa", "thi" and "veri".
FUNCTION_STEMS = frozenset(map(stem, FUNCTION_WORDS))
#: Words that reverse the meaning of a statement.
NEGATIONS = stems("no not never none nobody nothing neither nor without cannot t fail deny refuse unlikely")
HEDGES = stems(
    """may might could would should can possibly perhaps probably likely allegedly alleged reportedly
    suspected believed expected suggests suggest appears seems potential potentially claim claims considering plans
    plan hopes hope proposed about around approximately nearly almost"""
)
QUANTIFIERS = stems(
    """all every each most many some few several only both half none any always often sometimes rarely
    never more less fewer least majority minority"""
)


def both_ways(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return for each word its partners in the pairs."""
    table: dict[str, list[str]] = {}
    for first, second in pairs:
        table.setdefault(first, []).append(second)
        table.setdefault(second, []).append(first)
    return {word: tuple(others) for word, others in table.items()}


#: Pairs of opposite words.
OPPOSED = [tuple(pair.split(":")) for pair in WORD_LISTS["opposites"].split()]
#: Stem -> the stems of its opposites.
ANTONYMS = {word: frozenset(others) for word, others in both_ways((stem(a), stem(b)) for a, b in OPPOSED).items()}


def is_number(stemmed: str) -> bool:
    """Whether a stem is a number.

    >>> is_number(stem("twelve")), is_number(stem("dozen"))
    (True, False)
    """
    return stemmed[0].isdigit()


@dataclass(slots=True)
class Piece:
    """A sentence, a part of one, or several short ones.

    ``start`` is the place of its first character in the whole text, ``first_word`` that of its first word. ``sentence_of`` has
    the sentence number of each word. ``spans`` are the characters of each word in the piece.
    """

    start: int
    first_word: int
    text: str = ""
    sentence_of: list[int] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    stems: list[str] = field(default_factory=list)

    def takes(self, start: int, words: int, least: int) -> bool:
        """Whether the next ``words`` words, from character ``start`` on, belong to this piece."""
        room = len(self.stems) < least and len(self.stems) + words <= PIECE_WORDS
        return room and start - self.start - len(self.text) <= _GAP

    def ranked(self, wanted: Collection[str]) -> list[int]:
        """Return its sentences with some of these stems, those with most of them first; the first sentence if none has any.

        >>> pieces("Ann: Who ran? Bo: Lee ran. Ann: Oh.", least=9)[0].ranked({"lee", "ran"})
        [1, 0]
        """
        words = set(zip(self.sentence_of, self.stems, strict=True))
        shared = Counter(sentence for sentence, stemmed in sorted(words) if stemmed in wanted)
        return [sentence for sentence, _ in shared.most_common()] or self.sentence_of[:1]


def pieces(passage: str, least: int = 1) -> list[Piece]:
    """Cut a text into pieces of 1 to ``PIECE_WORDS`` words.

    Args:
        passage: the text.
        least: the fewest words of a piece, if possible. Shorter sentences are joined with those that follow.

    >>> [(p.sentence_of, p.stems) for p in pieces("It rained. ... Lee ran.")]
    [([0, 0], ['it', 'rain']), ([2, 2], ['lee', 'ran'])]
    >>> [p.text for p in pieces("It rained. ... Lee ran. He fell.", least=3)]
    ['It rained. ... Lee ran.', 'He fell.']
    """
    found: list[Piece] = []
    count = 0
    for number, sentence in enumerate(text.sentences(passage)):
        spans = [(sentence.start + a, sentence.start + b) for a, b in word_spans(sentence.text)]
        for at in range(0, len(spans), PIECE_WORDS):
            words = spans[at : at + PIECE_WORDS]
            start = sentence.start if at == 0 else words[0][0]
            end = sentence.end if at + PIECE_WORDS >= len(spans) else words[-1][1]
            if not found or not found[-1].takes(start, len(words), least):
                found.append(Piece(start, count))
            piece = found[-1]
            piece.text = passage[piece.start : end]
            piece.sentence_of += [number] * len(words)
            piece.spans += [(a - piece.start, b - piece.start) for a, b in words]
            piece.stems += [stem(passage[a:b]) for a, b in words]
            count += len(words)
    return found


class Index:
    """A document's pieces, and for each stem the pieces with it. Time is linear in the document's length.

    ``ngrams`` are its runs of two to four stems, ``names`` the stems of its names.
    """

    def __init__(self, passage: str) -> None:
        self.pieces = pieces(passage, LEAST_WORDS)
        self.postings: dict[str, list[int]] = defaultdict(list)
        self.ngrams: set[tuple[str, ...]] = set()
        for number, part in enumerate(self.pieces):
            for stemmed in set(part.stems):
                self.postings[stemmed].append(number)
            for n in (2, 3, 4):
                self.ngrams.update(zip(*(part.stems[i:] for i in range(n)), strict=False))
        self.n_words = sum(len(part.stems) for part in self.pieces)
        self.names = capitalised(self.pieces)

    def retrieve(self, stems: Iterable[str], limit: int) -> list[int]:
        """Return the ``limit`` pieces that share most with a claim, best first (idf within the document, BM25-like).

        If fewer pieces share a word, the document's first pieces are added.
        """
        n = len(self.pieces)
        scores: dict[int, float] = defaultdict(float)
        for stemmed in set(stems) - FUNCTION_STEMS:
            where = self.postings.get(stemmed, ())
            weight = math.log(1 + (n - len(where) + 0.5) / (len(where) + 0.5))
            for number in where:
                scores[number] += weight
        ranked = sorted(scores, key=lambda i: (-scores[i] / (6 + len(self.pieces[i].stems)) ** 0.35, i))
        return list(dict.fromkeys([*ranked, *range(min(limit, n))]))[:limit]


def capitalised(parts: Sequence[Piece]) -> frozenset:
    """Return the stems that mostly have a capital inside sentences: the names, unless the text has no capitals.

    >>> sorted(capitalised(pieces("On Monday Ann met Bo. Rain fell.")))
    ['ann', 'bo', 'monday']
    """
    upper: Counter = Counter()
    lower: Counter = Counter()
    for part in parts:
        words = zip(part.spans, part.stems, part.sentence_of, strict=True)
        for (_, _, before), ((a, _), stemmed, sentence) in pairwise(words):
            if sentence == before and stemmed not in FUNCTION_STEMS:
                (upper if part.text[a].isupper() else lower)[stemmed] += 1
    return frozenset(s for s, count in upper.items() if count > lower[s])
