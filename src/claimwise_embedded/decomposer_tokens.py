"""Tokens, coarse word classes and sentences of a summary: what the decomposer's grammar stands on.

The tagger is a hidden Markov model over 26 coarse classes, fitted by expectation maximisation on unlabelled
news (documents and references of ROSE's validation part) under a dictionary of closed-class words and verb forms; see
``training.tagger``. Nouns and adjectives share the class ``X``: the grammar needs noun phrases and
verbs, and no more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from claimwise_embedded.checksums import WEIGHTS, checked

TOKEN = re.compile(
    r"(?:[A-Za-z]\.){2,}"
    r"|(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|Gen|Sen|Gov|Rep|Prof|Lt|Col|Sgt|Capt|No|vs)\.(?=\s)"
    r"|[$£€]\s(?=\d)\d+(?:[.,:]\d+)*(?:%|[A-Za-z]+)?"
    r"|[$£€#@]?\d+(?:[.,:]\d+)*(?:%|[A-Za-z]+)?(?:[-–][\w'’]+)*"
    r"|\w+?(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b"
    r"|\w+(?:[-/&.]\w+)*|``|''|--+|\.{2,}|[^\w\s]"
)
_NUMBER = re.compile(r"[$£€#@]?\d")
_LETTER = re.compile(r"\w")
_SENTENCE_OPENERS = frozenset(". : ! ? ' \" ‘ “ ` `` ( - -- – •".split())
#: Closed-class words that are names where they stand capitalised within a sentence: US, May, Will.
_ALSO_NAMES = frozenset("us it who may will".split())
_SUFFIXES = ("ing", "ed", "ly", "s")


class Token(NamedTuple):
    """A word or mark: ``text == summary[start:end]``; ``lower`` has straight apostrophes; ``tag`` its class."""

    text: str
    lower: str
    start: int
    end: int
    tag: str


def shape(word: str, lower: str, known: bool, *, first: bool) -> str:
    """The row of the emission table for a word: the word itself where known, else its shape.

    >>> shape("Zidane", "zidane", False, first=False), shape("blorped", "blorped", False, first=True)
    ('<cap>', '<ed>')
    """
    if _NUMBER.match(lower):
        return "<num>"
    if word[:1].isupper() and not first:
        return "<cap>"
    if known:
        return lower
    if not _LETTER.search(lower):
        return "<sym>"
    for suffix in _SUFFIXES:
        if lower.endswith(suffix) and len(lower) > len(suffix) + 2 and not lower.endswith("ss"):
            return f"<{suffix}>"
    return "<oth>"


class Tagger:
    """Viterbi decoding of the coarse classes.

    Args:
        table: ``classes``; ``transition``, log probabilities, one row a class and a last one for the start;
            ``emission``, a row of log probabilities a word or shape; ``closed``, the closed-class words.
    """

    def __init__(self, table: dict) -> None:
        self.classes: list[str] = table["classes"]
        index = {name: i for i, name in enumerate(self.classes)}
        # Columns first: column j lists the log probabilities of reaching class j.
        self._into = [[row[j] for row in table["transition"]] for j in range(len(self.classes))]
        self._closed = frozenset(table["closed"])
        self._emission = {
            key: [(index[name], score) for name, score in row.items()] for key, row in table["emission"].items()
        }

    def tags(self, words: Sequence[str], lowers: Sequence[str]) -> list[str]:
        """The most probable class of each word of one sentence."""
        start = len(self.classes)
        states: list[tuple[int, float]] = [(start, 0.0)]
        columns: list[list[tuple[int, int]]] = []
        for position, (word, lower) in enumerate(zip(words, lowers, strict=True)):
            first = position == 0 or words[position - 1] in _SENTENCE_OPENERS
            if lower in self._closed and (first or lower not in _ALSO_NAMES or not word[:1].isupper()):
                key = lower
            else:
                key = shape(word, lower, lower in self._emission, first=first)
            scored, column = [], []
            for tag, emission in self._emission[key]:
                into = self._into[tag]
                best, back = -1e30, 0
                for i, (previous, score) in enumerate(states):
                    value = score + into[previous]
                    if value > best:
                        best, back = value, i
                scored.append((tag, best + emission))
                column.append((tag, back))
            states = scored
            columns.append(column)
        at = max(range(len(states)), key=lambda i: states[i][1])
        found = []
        for column in reversed(columns):
            tag, at = column[at]
            found.append(self.classes[tag])
        return found[::-1]

    def lean(self, lower: str, tag: str) -> float:
        """How much likelier the word is in a class than as a noun, in log units; very negative where never."""
        row = {self.classes[i]: score for i, score in self._emission.get(lower, ())}
        if tag not in row:
            return -30.0
        return max(-3.0, row[tag] - row.get("X", -20.0))

    def may_be(self, lower: str, tag: str) -> bool:
        """Whether the dictionary lets a word be of a class."""
        row = self._emission.get(lower, ())
        return any(self.classes[i] == tag for i, _ in row)


@cache
def tagger() -> Tagger:
    """The shipped tagger."""
    return Tagger(json.loads(checked(WEIGHTS / "decomposer-tagger.json").read_text(encoding="utf-8")))


@cache
def verb_forms() -> dict[str, tuple[str, ...]]:
    """Base, third person, past, participle, -ing form and, of a few verbs, another participle, by any of its forms.

    >>> verb_forms()["saying"][2]
    'said'
    """
    table = json.loads(checked(WEIGHTS / "decomposer-verbs.json").read_text(encoding="utf-8"))
    by_form: dict[str, tuple] = {}
    for row in table:
        for form in row:
            by_form.setdefault(form, tuple(row))
    return by_form


@cache
def _attachment() -> dict:
    return json.loads(checked(WEIGHTS / "decomposer-attachment.json").read_text(encoding="utf-8"))


def is_common_noun(lower: str) -> bool:
    """Whether news writes the word with a small letter, as a noun.

    >>> is_common_noun("award"), is_common_noun("ukraine")
    (True, False)
    """
    return lower in _attachment()["noun"] or lower in verb_forms()


def leans_to_noun(noun: str, verb: str, preposition: str) -> float:
    """How much more a preposition goes with the noun before it than with the verb, in log units.

    Counts of adjacent words in news (Hindle and Rooth 1993), smoothed; 0 for a preposition that was not counted.

    >>> leans_to_noun("letter", "find", "on") < 0 < leans_to_noun("award", "win", "for")
    True
    """
    table = _attachment()
    if preposition not in table["noun_default"]:
        return 0.0
    of_noun = table["noun"].get(noun, {}).get(preposition, table["noun_default"][preposition])
    of_verb = table["verb"].get(verb, {}).get(preposition, table["verb_default"][preposition])
    return of_noun - of_verb


_TERMINAL = frozenset((".", "!", "?"))
_CLOSERS = frozenset(("'", '"', "”", "’", "''", ")", "]"))


def sentences(text: str, limit: int = 120) -> Iterator[list[Token]]:
    """Tagged sentences of a summary, in one pass over its tokens.

    Unlike ``claimwise.text.sentences`` this also reads tokenised, lower-cased text, where " ." ends a
    sentence, and never gives more than ``limit`` tokens at once, so that decoding is linear in any input.

    >>> [[t.text for t in s] for s in sentences("he did n't go . she won 3.5 points\\nMr. Lee lost")]
    [['he', 'did', "n't", 'go', '.'], ['she', 'won', '3.5', 'points'], ['Mr.', 'Lee', 'lost']]
    """
    pending: list[tuple[str, str, int, int]] = []
    end = 0
    for match in TOKEN.finditer(text):
        word = match.group()
        gap = text[end : match.start()]
        if pending and (_ends(pending, word, gap) or len(pending) >= limit):
            yield _tagged(pending)
            pending = []
        pending.append((word, word.lower().replace("’", "'"), match.start(), match.end()))
        end = match.end()
    if pending:
        yield _tagged(pending)


def _ends(pending: list[tuple[str, str, int, int]], word: str, gap: str) -> bool:
    if "\n" in gap or "\r" in gap:
        return True
    last = pending[-1][0]
    if last in _CLOSERS and len(pending) > 1 and pending[-2][0] in _TERMINAL:
        return bool(gap) and word[:1].isupper()
    if last not in _TERMINAL or word in _TERMINAL:
        return False
    if word in _CLOSERS and not gap:
        return False
    if last == "." and len(pending) > 1 and len(pending[-2][0]) == 1:
        spaced = pending[-1][2] > pending[-2][3]
        if not spaced and pending[-2][0].isupper():  # an initial: J. Smith
            return False
    return bool(gap)


def _tagged(pending: list[tuple[str, str, int, int]]) -> list[Token]:
    tags = tagger().tags([p[0] for p in pending], [p[1] for p in pending])
    return [Token(*p, tag) for p, tag in zip(pending, tags, strict=True)]
