"""Ratings in replies: a number on a scale of 1 to 5 or 0 to 100, or a letter from A to E, as a share of the scale."""

from __future__ import annotations

import re

_WORDS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5"}
# No percentage, no 6-1 of a football match, nothing on another scale (4/10), not the scale itself (the 5 of 4/5).
_NUMBER = (
    r"(?<![\d.])(?<!\d/)(?<!\d / )(?<!\d of )(?<!out of )(?<!star of )(?<!stars of )"
    r"(\d+(?:\.\d+)?)(?![\d%])(?!\.\d)(?!\s?[-–]\d)"
    r"(?!(?:\s*stars?)?\s*(?:/|(?:out )?of)\s*(?:(?!5\b)\d|(?:ten|(?:a |one )?hundred)\b))"
)
_THEN = r"(?=\s*(?:$|[^\w\s]|(?:for|in|on|out|overall|because|since|due|based|with|to|as)\b))"
_OF_FIVE = r"(?:(?:\s*stars?)?\s*(?:/|out of)\s*(?:5\b|five\b))"
# "2 of 5" may count facts: a rating where stars are named or nothing else is.
_FROM_FIVE = rf"(?:(?:\s*stars?)?\s+of\s+(?:5|five)\b(?:\s*stars?\b|{_THEN}))"
_SCALE = re.compile(
    r"\b(?:scale|range|from|between)\W+(?:of\W+|from\W+|between\W+)*(?:1|one)\W*(?:-|–|to|and)\W*(?:5|five)\b"
    r"|\(\s*1\s*[-–]\s*5\s*\)",
    re.IGNORECASE,
)
_SCORE = r"(?:scor(?:e[sd]?|ing)|rat(?:e[sd]?|ing)|give|giving|assign(?:ed|ing)?|award(?:ed|ing)?)"
# From the plainest statement of a rating to the least plain; the first kind that occurs decides.
_PLACES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^\W*{_NUMBER}(?:{_OF_FIVE}|{_FROM_FIVE})?(?:\s*\(|\W*(?:$|\n|stars?\b))",
        rf"\b(?:final|overall|total)\s+(?:\w+\s+)?(?:score|rating)\b[^\d\n]{{0,60}}?{_NUMBER}",
        rf"\b(?:score|rating|stars)\s*(?:\([^)\d]*\)\s*)?(?::|=|of|is|would be)\s*(?:an?\s+)?\W{{0,4}}{_NUMBER}",
        rf"\b{_SCORE}\b[^.\d\n]{{0,160}}?\b{_NUMBER}{_OF_FIVE}",
        rf"\b{_SCORE}\b[^.\d\n]{{0,60}}?\b{_NUMBER}{_FROM_FIVE}",
        rf"\b{_SCORE}\b[^.\d\n]{{0,60}}?\b(?:as|an?|with|to|at|it|of|summary|score)\s+(?:[^\W\d]+\s+){{0,4}}?{_NUMBER}{_THEN}",
        rf"\ban?\s+perfect\s+(?:[^\W\d]+\s+){{0,3}}?{_NUMBER}{_THEN}",
        rf"{_NUMBER}\s*(?:of\s+(?:5|five)\s*)?stars?\b",
        rf"{_NUMBER}{_OF_FIVE}",
        rf"\bscore\s+{_NUMBER}\W*$",
        rf"[.:;!?\n]\s*{_NUMBER}\W*$",
        # "4. The summary is": after "1." may come a list, and "4." is of one where another number follows.
        rf"^(?!\W*1\.\s)\W*{_NUMBER}(?:[.:]\s|,\s(?![^.\n]{{0,30}}\d)|\s+[-–—]\s|\s+(?:because|since)\b)(?!\s*\d)"
        r"(?![\s\S]*(?:\n|[.!?] )\W*\d{1,2}[.)]\s)",
    )
)
_BREAKDOWN = re.compile(r"\bbreak\s?down\b", re.IGNORECASE)
_STAR_WORD = re.compile(
    rf"\b({'|'.join(_WORDS)})(?=[\s-]+(?:stars?\b|(?:stars?\s+)?(?:out\s+)?of\s+(?:5|five)\b))[\s-]+", re.IGNORECASE
)


def one_to_five(reply: str, cut: bool = False) -> tuple[float | None, str]:
    """A rating s from 1 to 5 as (s - 1) / 4.

    A rating given before a "breakdown" into aspects is the rating. Where a reply otherwise gives several ratings
    of the same kind that differ, it has none: which of them is meant would be a guess. So would "1. The summary"
    be: it may be the first of a list of errors.

    >>> [one_to_five(r)[0] for r in ("4", "Four stars. It omits a name.", "On a scale of 1 to 5 I rate it 2.")]
    [0.75, 0.75, 0.25]
    >>> one_to_five("4. The summary is")[0], one_to_five("1. The summary is")[0], one_to_five("4. Ann\\n5. Bob")[0]
    (0.75, None, None)
    >>> one_to_five("Score: 7")
    (None, 'rating 7 is not from 1 to 5')
    """
    text = _STAR_WORD.sub(lambda m: f"{_WORDS[m[1].lower()]} ", _SCALE.sub(" ", re.sub(r"[*_`]", "", reply)))
    rating, reason = _rating(_BREAKDOWN.split(text, maxsplit=1)[0], _PLACES, 1, 5)
    return (rating, reason) if rating is not None else _rating(text, _PLACES, 1, 5)


_HUNDRED_SCALE = re.compile(
    r"\b(?:scale|range|from|between)\W+(?:of\W+|from\W+|between\W+)*"
    r"(?:0|zero)\W*(?:-|–|to|and)\W*(?:100|one hundred)\b",
    re.IGNORECASE,
)
_HUNDRED_PLACES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^\W*(\d+(?:\.\d+)?)\s*%?(?:\s*(?:/|out of)\s*100)?\W*(?:$|\n)",
        r"\b(?:scores?|rating)\b[^\d\n]{0,60}?(\d+(?:\.\d+)?)\b(?!\s*(?:/|(?:out )?of)\s*(?!100\b)\d)",
        r"(?<![\d.])(\d+(?:\.\d+)?)\s*(?:/|out of)\s*100\b",
        r"^\W*(\d+(?:\.\d+)?)[\s.,:;–-]+[A-Z]",
        r"[.:;!?\n]\s*(\d+(?:\.\d+)?)\W*$",
    )
)


def zero_to_hundred(reply: str, cut: bool = False) -> tuple[float | None, str]:
    """A rating from 0 to 100 as a share of 100.

    >>> zero_to_hundred("Scores: 85"), zero_to_hundred("I would give it 7 of 10.")[0]
    ((0.85, ''), None)
    """
    return _rating(_HUNDRED_SCALE.sub(" ", re.sub(r"[*_`]", "", reply)), _HUNDRED_PLACES, 0, 100)


def _rating(text: str, places: tuple[re.Pattern, ...], low: float, high: float) -> tuple[float | None, str]:
    reason = "no rating in the reply"
    for place in places:
        numbers = {float(number) for number in place.findall(text)}
        found = {number for number in numbers if low <= number <= high}
        if len(found) > 1:
            return None, f"several ratings: {', '.join(f'{n:g}' for n in sorted(found))}"
        if found:
            return (found.pop() - low) / (high - low), ""
        if numbers:  # perhaps the score of a match, or a year: a plainer rating may follow
            reason = f"rating {numbers.pop():g} is not from {low:g} to {high:g}"
    return None, reason


_LETTER = re.compile(
    r"^\W*(?:(?i:(?:the |my )?(?:answer|choice|option|rating|score)(?: is)?)\W*)?"
    r"\(?([A-Ea-e])(?:\)|[.:,]|\s*$|\s*[-–]|\s+\()"
    r"|\b(?i:answer|choice|option)(?: is)?\W{1,5}([A-E])\b"
)


def a_to_e(reply: str, cut: bool = False) -> tuple[float | None, str]:
    """A letter from A (worst) to E (best) as a share of the scale.

    >>> a_to_e("D"), a_to_e("E: The summary is completely consistent. 5 points."), a_to_e("Excellent")[0]
    ((0.75, ''), (1.0, ''), None)
    """
    found = _LETTER.search(reply)
    if not found:
        return None, "no letter from A to E in the reply"
    return "ABCDE".index((found[1] or found[2]).upper()) / 4, ""
