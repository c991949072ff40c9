"""Words that tell who a pronoun may stand for: common first names, titles and nouns for people (person_words.yaml)."""

from __future__ import annotations

from importlib import resources

import yaml

_TEXT = (resources.files("claimwise") / "person_words.yaml").read_text(encoding="utf-8")
_LISTS = {name: frozenset(words.split()) for name, words in yaml.safe_load(_TEXT).items()}

MALE, FEMALE = _LISTS["male"], _LISTS["female"]
MALE_NOUNS, FEMALE_NOUNS, PERSON_NOUNS = _LISTS["male_nouns"], _LISTS["female_nouns"], _LISTS["person_nouns"]
#: Nouns for people of either sex.
PEOPLE = MALE_NOUNS | FEMALE_NOUNS | PERSON_NOUNS
#: Capitalised words that are never people.
TIMES_AND_PLACES = _LISTS["times_and_places"]
#: Nouns that pick out the person spoken of when a definite subject: "the striker", "the 22-year-old".
ROLES = _LISTS["roles"]
