"""Paraphrases of statements, which a checker must not take for errors.

If a checker saw only copied sentences and edits of them, it would learn that every different word is wrong. These statements
differ and are right: synonyms, digits for number words, an opening phrase moved or left out, a shorter name.
"""

import random
import re
from collections.abc import Callable

from claimwise.words import FUNCTION_WORDS, stem
from claimwise_embedded.evidence import both_ways
from training.edits import WORD_LISTS, exchangeable, names

_NUMBERS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen twenty".split()
_DIGITS = {word: stem(word) for word in _NUMBERS}
_NUMBER_WORDS = {digits: word for word, digits in _DIGITS.items()}
_NUMBER = re.compile(rf"(?<![\w.,$£€-])(?:{'|'.join([*_DIGITS, *_NUMBER_WORDS])})(?![\w,%-]|\.\d)")
_PER_CENT = re.compile(r"(?<=\d)( per ?cent\b|%)")
_OPENING = re.compile(r"^((?:In|On|At|During|After|Before|Since|By|For|From) [^,.;:]{3,40}), (?=\w)")
_ASIDE = re.compile(r", (?:who|which|where|a|an|the) [^,;:()]{4,60},(?= )| \([^()]{2,60}\)")
_REPORTED = re.compile(r", (?:[A-Z]\w+|he|she|they|officials|police) (?:said|says|added)(?: on \w+day)?(?=\.?$)")
_ENOUGH = 4  # words that a shortened statement keeps
#: Word -> words that mean the same in most places.
SYNONYMS = both_ways(tuple(pair.split()) for pair in WORD_LISTS["synonyms"].split(","))


def _other_word(statement: str, rng: random.Random) -> str | None:
    choice = exchangeable(statement, SYNONYMS, rng)
    return _put(statement, *choice) if choice else None


def _other_number(statement: str, rng: random.Random) -> str | None:
    options = [
        (m, _DIGITS.get(m.group()) or _NUMBER_WORDS[m.group()]) for m in _NUMBER.finditer(statement) if m.start()
    ]
    options += [(m, "%" if m.group() != "%" else " percent") for m in _PER_CENT.finditer(statement)]
    return _put(statement, *rng.choice(options)) if options else None


def _opening_moved(statement: str, rng: random.Random) -> str | None:
    match = _OPENING.match(statement)
    if not match:
        return None
    body = statement[match.end() :]
    first = re.match(r"\w+", body)
    if first and first.group().islower():
        body = body[0].upper() + body[1:]
    if rng.random() < 0.5:
        return body if len(body.split()) >= _ENOUGH else None
    end = len(body) - len(body.rstrip(" .!?"))
    opening = match.group(1)[0].lower() + match.group(1)[1:]
    return f"{body[: len(body) - end]} {opening}{body[len(body) - end :]}"


def _aside_left_out(statement: str, rng: random.Random) -> str | None:
    options = [m for pattern in (_ASIDE, _REPORTED) for m in pattern.finditer(statement)]
    if not options:
        return None
    shorter = _put(statement, rng.choice(options), "")
    return shorter if len(shorter.split()) >= _ENOUGH else None


def _shorter_name(statement: str, rng: random.Random) -> str | None:
    """Shorten a name of two words to the last one, if the statement has that word only once."""
    options = [
        name
        for name in names(f"x {statement}")
        if len(parts := name.split()) == 2 and statement.count(parts[1]) == 1 and parts[0].lower() not in FUNCTION_WORDS
    ]
    if not options:
        return None
    name = rng.choice(options)
    return statement.replace(name, name.split()[1], 1)


def _put(statement: str, match: re.Match, new: str) -> str:
    return statement[: match.start()] + new + statement[match.end() :]


_WAYS: tuple[Callable[[str, random.Random], str | None], ...] = (
    _other_word,
    _other_word,
    _other_number,
    _opening_moved,
    _aside_left_out,
    _shorter_name,
)


def retold(statement: str, rng: random.Random, times: int = 3) -> str:
    """Paraphrase a statement in at most ``times`` ways that apply to it. The same ``rng`` state gives the same paraphrase.

    >>> retold("On Monday, three people left the house.", random.Random(5))
    '3 individuals left the house on Monday.'
    """
    for way in rng.sample(_WAYS, len(_WAYS)):
        new = way(statement, rng)
        if new and new != statement:
            statement, times = new, times - 1
        if not times:
            break
    return statement
