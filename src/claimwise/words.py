"""Lists of words: function words, and words for people (for pronouns); and the stem that spellings of a word share."""

from functools import cache, lru_cache
from importlib import resources
from typing import Any

import yaml

FUNCTION_WORDS = frozenset(
    """a about above after again against all also although am among an and any are aren as at be because been
    before being below between both but by can cannot could couldn d did didn do does doesn doing don down during
    each either else ever every few for from further had hadn has hasn have haven having he her here hers herself
    him himself his how i if in into is isn it its itself just ll m may me might more most must my myself n neither
    no nor not of off on once only or other our ours ourselves out over own per rather re s same shall she should
    shouldn so some such t than that the their theirs them themselves then there these they this those though
    through thus to too toward towards under until up upon us ve very was wasn we were weren what when where
    whether which while who whom whose why will with within without won would wouldn yet you your yours yourself
    said say says mr mrs ms dr lrb rrb""".split()
)

_TEXT = (resources.files("claimwise") / "person_words.yaml").read_text(encoding="utf-8")
_LISTS = {name: frozenset(words.split()) for name, words in yaml.safe_load(_TEXT).items()}

#: First names, and nouns for people.
MALE, FEMALE = _LISTS["male"], _LISTS["female"]
MALE_NOUNS, FEMALE_NOUNS, PERSON_NOUNS = _LISTS["male_nouns"], _LISTS["female_nouns"], _LISTS["person_nouns"]
#: Nouns for people of either sex.
PEOPLE = MALE_NOUNS | FEMALE_NOUNS | PERSON_NOUNS
#: Capitalised words that are never people.
TIMES_AND_PLACES = _LISTS["times_and_places"]
#: Nouns that refer to a person mentioned before, if they are a definite subject: "the striker", "the 22-year-old".
ROLES = _LISTS["roles"]

_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90"}
_NUMBER_WORDS |= {"first": "1st", "second": "2nd", "third": "3rd"}


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # takes as long to import as the rest of the package

    return PorterStemmer()


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The Porter stem of a word, or the digits of a number: equal for the spellings of one word.

    >>> stem("Running"), stem("1,200"), stem("five")
    ('run', '1200', '5')
    """
    word = word.lower()
    if word[0].isdigit():
        return word.replace(",", "")
    return _NUMBER_WORDS.get(word) or _porter().stem(word)
