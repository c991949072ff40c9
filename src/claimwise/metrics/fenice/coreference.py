"""Coreference: mentions of the same entity, found by rules or by a neural resolver (FENICE section 3.3).

A resolver turns a document into *chains*: groups of mentions (character spans) of the same entity. The rules are for
news-like English: parts of names, "the plane" after "a small plane", pronouns. There are only a few rules, which are mostly
right, because a wrong chain supports a claim about one person by a sentence about another.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import dropwhile, takewhile
from typing import Any, Protocol

from claimwise import text
from claimwise.errors import ClaimwiseError
from claimwise.models.options import Options, read_kind
from claimwise.words import (
    FEMALE,
    FEMALE_NOUNS,
    FUNCTION_WORDS,
    MALE,
    MALE_NOUNS,
    PERSON_NOUNS,
    TIMES_AND_PLACES,
)

#: The mentions of one entity, each as characters (start, end).
Chain = tuple[tuple[int, int], ...]


class CoreferenceError(ClaimwiseError):
    """The settings name an unknown resolver, or its package or model cannot be loaded."""


class Resolver(Protocol):
    """Finds chains."""

    def chains(self, document: str) -> list[Chain]:
        """Return groups of at least two mentions of the same entity, in the order of their first mentions."""


class NeuralResolver:
    """The model of fastcoref (F-COREF); the package must be installed: ``pip install fastcoref``.

    Args:
        checkpoint: a local folder or a hub id.
        device: a torch device.

    Raises:
        CoreferenceError: the package is not installed, or the checkpoint cannot be loaded.
    """

    def __init__(self, checkpoint: str, device: str) -> None:
        level = logging.getLogger().level
        try:
            import datasets
            import spacy
            from fastcoref import FCoref
            from fastcoref.coref_models.modeling_fcoref import FCorefModel
        except ImportError as error:
            raise CoreferenceError(
                f"the neural resolver needs the package fastcoref ({error}): pip install fastcoref, or take {{kind: rules}}"
            ) from None
        # Importing fastcoref turns on the logs of all libraries, and it shows a progress bar for every document.
        logging.getLogger().setLevel(level)
        datasets.logging.set_verbosity_error()
        datasets.disable_progress_bars()
        if not hasattr(FCorefModel, "all_tied_weights_keys"):
            # transformers 5 needs this attribute; fastcoref 2.1.6 was written for version 4, and ties no weights.
            FCorefModel.all_tied_weights_keys = {}
        try:
            # fastcoref only needs spaCy's words, which a blank pipeline finds without a download.
            self._model = FCoref(checkpoint, device, nlp=spacy.blank("en"), enable_progress_bar=False)
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise CoreferenceError(
                f"fastcoref cannot load {checkpoint!r}: {type(error).__name__}: {error}; expected a folder with "
                "config.json (with its coref_head), weights and a tokenizer, or a hub id that can be downloaded from "
                "here, and a version of transformers that fastcoref knows; or take {kind: rules}"
            ) from error

    def chains(self, document: str) -> list[Chain]:
        """See ``Resolver.chains``; mentions that fastcoref cannot place in the text are left out."""
        [prediction] = self._model.predict(texts=[document])
        chains = (
            tuple(sorted({tuple(span) for span in cluster if span is not None and None not in span}))
            for cluster in prediction.get_clusters(as_strings=False)
        )
        return sorted(chain for chain in chains if len(chain) > 1)


class NeuralOptions(Options):
    """The options of ``kind: neural``; see ``NeuralResolver``."""

    checkpoint: str = "biu-nlp/f-coref"
    device: str = "cpu"


def load(settings: Mapping[str, Any]) -> Resolver:
    """Load the resolver that a metric's ``coreference`` entry describes: ``kind`` (rules or neural) and its options.

    Raises:
        CoreferenceError: the kind is unknown, or the resolver cannot be loaded.
        ModelError: an option is unknown or malformed.

    >>> load({"kind": "rules"}).chains("Ann Lee won. She smiled.")
    [((0, 7), (13, 16))]
    """
    options = read_kind("coreference", settings, {"rules": Options, "neural": NeuralOptions}, CoreferenceError)
    return _neural(**options.model_dump()) if isinstance(options, NeuralOptions) else Rules()


_neural = lru_cache(maxsize=6)(NeuralResolver)  # the variants of an ablation share its weights


# -- rules -----------------------------------------------------------------------------------------

#: For each pronoun, the kinds of entities that it fits, and the kinds that it may fit (see ``_Entity``).
_PRONOUNS = (
    dict.fromkeys("he him his himself".split(), ("m", "p?"))
    | dict.fromkeys("she her hers herself".split(), ("f", "p?"))
    | dict.fromkeys("it its itself they them their theirs themselves".split(), ("g", "?"))
)
_TITLES = {"mr": "m", "sir": "m", "lord": "m", "mrs": "f", "ms": "f", "miss": "f", "lady": "f", "dame": "f"}
_RANKS = frozenset(
    "dr prof professor president minister senator judge justice captain king queen prince princess".split()
)
#: The kinds of entities by their first names and ranks, and by nouns for people.
_KINDS = dict.fromkeys(_RANKS, "p") | dict.fromkeys(FEMALE, "f") | dict.fromkeys(MALE, "m")
_NOUN_KINDS = dict.fromkeys(PERSON_NOUNS, "p") | dict.fromkeys(FEMALE_NOUNS, "f") | dict.fromkeys(MALE_NOUNS, "m")
_ARTICLES = frozenset(("a", "an", "the"))
_LINKS = frozenset("of de del della van von der al bin la le el".split())
_GROUPS = frozenset(
    """company firm club team group party union agency council university college school hospital committee
    government department ministry court bank police force association federation league band airline charity
    organisation organization commission corporation institute foundation museum church army navy""".split()
)
_NOT_NAMES = frozenset("i ok".split()) | frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december".split()
)
#: Irregular past forms, which often follow a subject.
_PASTS = frozenset(
    """became began blew broke brought built bought came caught chose cut drew drove fell felt fought found flew froze
    gave got grew hit held kept knew led left lost made met paid put ran rose said sank saw sent set shook shot shut
    sold spent spoke stood struck swam swept threw told took thought understood went won wore wrote""".split()
)
#: The number of sentences before its own in which a pronoun's antecedent may be.
_REACH = 2
_WORD = re.compile(r"[^\W_]+(?:[-'’.&][^\W_]+)*")
#: Words that may come between "it" and a name in "it was also Ann Lee who".
_CLEFT = frozenset("is was isn't wasn't isn’t wasn’t not only also the".split())


def is_pronoun(form: str) -> bool:
    """Whether a mention is a personal pronoun of the third person.

    >>> is_pronoun("Her"), is_pronoun("the team")
    (True, False)
    """
    return form.lower() in _PRONOUNS


@dataclass(slots=True)
class _Word:
    start: int
    end: int
    text: str
    lower: str
    place: int  # its index in its sentence
    joined: bool  # whether only a space is between it and the word before


@dataclass(slots=True, eq=False)
class _Entity:
    """A person, group or thing; ``kind`` is m, f, p (a person of unknown gender), g (a group or a thing) or ?."""

    kind: str
    words: tuple[str, ...]
    mentions: list[tuple[int, int]] = field(default_factory=list)

    def add(self, run: Sequence[_Word]) -> None:
        self.mentions.append((run[0].start, run[-1].end))


class Rules:
    """The embedded resolver.

    1. A name is joined with a longer name that begins or ends with it ("Smith", "Mr Smith" and "John Smith"), and with
       its initials ("WHO"), if only one name fits.
    2. "the plane" is joined with the last "a small plane", and "the driver" with a name that is called a driver ("Ann Lee,
       a driver from York", "driver Ann Lee").
    3. A pronoun is joined with a person or group of the same gender: in its own sentence, or else in the nearest of the two
       before. If there are several, it is the first, which is mostly the subject. The "it" of "It was Ann Lee who" does
       not count.

    >>> document = "John Smith flew a small plane. The plane crashed. He was unhurt, Mr Smith said."
    >>> [[document[a:b] for a, b in chain] for chain in Rules().chains(document)]
    [['John Smith', 'He', 'Mr Smith'], ['a small plane', 'The plane']]
    """

    def chains(self, document: str) -> list[Chain]:
        """See ``Resolver.chains``; the time is linear in the document's length, except for the number of names."""
        sentences = [list(_words(span)) for span in text.sentences(document)]
        entities: list[_Entity] = []
        _read_names(sentences, entities)
        _read_descriptions(sentences, entities)
        _read_pronouns(sentences, entities)
        chains = [tuple(sorted(set(entity.mentions))) for entity in entities]
        return sorted(chain for chain in chains if len(chain) > 1)


def _words(span: text.Span) -> Iterator[_Word]:
    previous_end = 0
    for place, match in enumerate(_WORD.finditer(span.text)):
        start, end = match.span()
        word = match.group()
        if word.endswith(("'s", "’s")):
            word, end = word[:-2], end - 2
        joined = place > 0 and span.text[previous_end:start] in (" ", ". ")
        yield _Word(span.start + start, span.start + end, word, word.lower(), place, joined)
        previous_end = end


# -- names -----------------------------------------------------------------------------------------


def _read_names(sentences: Sequence[list[_Word]], entities: list[_Entity]) -> None:
    # Words that have a capital within a sentence. They are also names at the beginning of a sentence.
    capitalised = {w.text for words in sentences for w in words[1:] if w.text[:1].isupper()}
    runs = [run for words in sentences for run in _name_runs(words, capitalised)]
    by_word: dict[str, list[_Entity]] = {}
    # Longer names come first, so that a part of a name finds it even if it comes later in the document.
    for run in sorted(runs, key=lambda run: -len(_core(run))):
        core = tuple(word.lower for word in _core(run))
        entity = _part_of(core, _title(run), by_word)
        if entity is None:
            entity = _Entity(_kind(run), core)
            entities.append(entity)
            for key in {*core, _initials(core)}:
                by_word.setdefault(key, []).append(entity)
        elif entity.kind in "p?" and _kind(run) in "mf":
            entity.kind = _kind(run)
        entity.add(run)


def _name_runs(words: list[_Word], capitalised: set[str]) -> Iterator[list[_Word]]:
    """Yield the names of a sentence, as runs of words."""
    i = 0
    while i < len(words):
        if not _capital(words[i]) or (words[i].place == 0 and not _begins_with_name(words, capitalised)):
            i += 1
            continue
        j = i + 1
        while j < len(words) and words[j].joined and _capital(words[j]):
            j += 1
        while j + 1 < len(words) and words[j].lower in _LINKS and _capital(words[j + 1]) and words[j + 1].joined:
            j += 2
        run = words[i:j]
        if _core(run) and not (len(run) == 1 and run[0].lower in _NOT_NAMES):
            yield run
        i = j


def _capital(word: _Word) -> bool:
    initials = len(word.text) > 1 and word.text.isupper()  # "WHO" is not a function word
    return word.text[:1].isupper() and (initials or word.lower not in FUNCTION_WORDS - {"mr", "mrs", "ms", "dr"})


def _begins_with_name(words: list[_Word], capitalised: set[str]) -> bool:
    """Whether the first word of a sentence is a name, not just capitalised because it comes first."""
    first = words[0]
    name_follows = len(words) > 1 and words[1].joined and _capital(words[1])
    given_name_or_title = first.lower in MALE or first.lower in FEMALE or first.lower in _TITLES
    return first.text in capitalised or name_follows or given_name_or_title


def _core(run: list[_Word]) -> list[_Word]:
    """A name without titles."""
    return [word for word in run if word.lower not in _TITLES and word.lower not in _RANKS]


def _title(run: list[_Word]) -> str | None:
    return next((_TITLES[word.lower] for word in run if word.lower in _TITLES), None)


def _kind(run: list[_Word]) -> str:
    if title := _title(run):
        return title
    if any(word.lower in TIMES_AND_PLACES or word.lower in _GROUPS for word in run):
        return "g"
    return _KINDS.get(run[0].lower, "?")


def _initials(core: tuple[str, ...]) -> str:
    return "".join(word[0] for word in core if word not in _LINKS) if len(core) > 2 else core[-1]


def _part_of(core: tuple[str, ...], title: str | None, by_word: dict[str, list[_Entity]]) -> _Entity | None:
    """Return the entity whose name this is, or of which it is a part or the initials; None unless exactly one fits.

    The title must fit, too.
    """
    candidates = [
        entity
        for entity in by_word.get(core[-1], [])
        if (
            entity.words[-len(core) :] == core
            or entity.words[: len(core)] == core
            or (len(core) == 1 and _initials(entity.words) == core[0])
        )
        and (title is None or entity.kind in ("p", "?", title))
    ]
    matches = [entity for entity in candidates if entity.words == core] or candidates
    return matches[0] if len(matches) == 1 else None


# -- descriptions ----------------------------------------------------------------------------------


def _read_descriptions(sentences: Sequence[list[_Word]], entities: list[_Entity]) -> None:
    introduced: dict[str, _Entity] = {}  # the last entity that "a ..." introduced, by its noun
    called = _callings(sentences, entities)
    for words in sentences:
        for i, word in enumerate(words):
            phrase = _phrase(words, i) if word.lower in _ARTICLES else []
            if len(phrase) < 2:
                continue
            head = phrase[-1].lower
            if word.lower == "the":
                entity = called.get(head) or introduced.get(head) or _group(head, entities)
            elif head in called:
                entity = None
            else:
                entity = introduced[head] = _Entity(_NOUN_KINDS.get(head, "g"), (head,))
                entities.append(entity)
            if entity is not None:
                entity.add(phrase)


def _phrase(words: list[_Word], i: int) -> list[_Word]:
    """Return an article and up to four lower-case words after it, ended by a function word, a comma or a verb.

    If something else ends them, such as the name in "the new Leeds club", there is no phrase and the list is empty.
    """
    j = i + 1
    while j < len(words) and j <= i + 4 and words[j].joined and words[j].text.islower():
        if words[j].lower in FUNCTION_WORDS or (j > i + 1 and _looks_like_verb(words[j].lower)):
            break
        j += 1
    closed = j == len(words) or not words[j].joined or words[j].lower in FUNCTION_WORDS
    return words[i:j] if closed or _looks_like_verb(words[j].lower) else []


def _looks_like_verb(word: str) -> bool:
    return word.endswith("ed") or word in _PASTS


def _callings(sentences: Sequence[list[_Word]], entities: list[_Entity]) -> dict[str, _Entity]:
    """Return the people that a noun describes, by the noun: "driver Ann Lee", "Ann Lee, a 30-year-old driver"."""
    called: dict[str, _Entity | None] = {}
    by_start = {start: entity for entity in entities for start, _ in entity.mentions}
    by_end = {end: entity for entity in entities for _, end in entity.mentions}
    for words in sentences:
        for i, word in enumerate(words):
            if word.lower not in _NOUN_KINDS or word.text[:1].isupper():
                continue
            entity = None
            if i + 1 < len(words) and words[i + 1].joined:
                entity = by_start.get(words[i + 1].start)
            if entity is None:
                entity = _described(words, i, by_end)
            if entity is not None and entity.kind != "g":
                first = called.setdefault(word.lower, entity)
                called[word.lower] = entity if first is entity else None  # with two drivers, "the driver" is neither
                entity.kind = _NOUN_KINDS[word.lower] if entity.kind == "?" else entity.kind
    return {noun: entity for noun, entity in called.items() if entity is not None}


def _described(words: list[_Word], i: int, by_end: Mapping[int, _Entity]) -> _Entity | None:
    """Return whose name comes before a noun's article, after a comma or the like: "Ann Lee, a young driver"."""
    for article in range(i - 1, max(i - 5, 0), -1):
        entity = by_end.get(words[article - 1].end)
        if entity is not None and words[article].lower in _ARTICLES and not words[article].joined:
            return entity
    return None


def _group(head: str, entities: list[_Entity]) -> _Entity | None:
    """Return the only name that begins or ends with the noun: "the university" is Leeds University."""
    names = [e for e in entities if head in _GROUPS and len(e.words) > 1 and head in (e.words[-1], e.words[0])]
    return names[0] if len(names) == 1 else None


# -- pronouns --------------------------------------------------------------------------------------


def _read_pronouns(sentences: Sequence[list[_Word]], entities: list[_Entity]) -> None:
    by_start: dict[int, list[_Entity]] = {}  # entities by the starts of their mentions
    for entity in entities:
        for start, _ in entity.mentions:
            by_start.setdefault(start, []).append(entity)
    mentioned: list[list[_Entity]] = []  # the entities of each sentence so far, in order
    for words in sentences:
        mentioned.append([])
        for word in words:
            refers_back = word.lower in _PRONOUNS and not _opens_cleft(words[word.place :])
            entity = _antecedent(word, mentioned) if refers_back else None
            mentioned[-1] += by_start.get(word.start, [])
            if entity is not None:
                entity.mentions.append((word.start, word.end))
                if word.place == 0:  # as a subject, it is a likely antecedent of later pronouns
                    mentioned[-1].append(entity)


def _opens_cleft(words: list[_Word]) -> bool:
    """Whether words begin with an "it" that refers to nothing before it: "It was Ann Lee who found the letters"."""
    if words[0].lower != "it":
        return False
    after = list(dropwhile(lambda word: word.lower in _CLEFT, words[1:]))
    name = list(takewhile(lambda word: _capital(word) or word.lower == "and", after))
    return any(name) and any(word.lower in ("who", "whom", "that", "which") for word in after[len(name) :][:1])


def _antecedent(word: _Word, mentioned: list[list[_Entity]]) -> _Entity | None:
    """Return the entity that a pronoun refers to: one of a kind that fits, or else one of a kind that may fit.

    It is in the pronoun's sentence or the nearest sentence before.
    """
    for kinds in _PRONOUNS[word.lower]:
        for sentence_entities in reversed(mentioned[-1 - _REACH :]):
            for entity in sentence_entities:
                if entity.kind in kinds:
                    return entity  # the first of its sentence, which is mostly the subject
    return None
