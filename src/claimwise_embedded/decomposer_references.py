"""Resolves the pronouns of one summary. An unsure pronoun stays as it is.

The rules are few and strict: number and gender must agree, and there must be a single candidate so far or it must be the
subject of the sentence before. ``claimwise.words`` has the lists of names and nouns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from spacy.tokens import Doc, Token

from claimwise import words as names
from claimwise_embedded.decomposer_parsing import VERBS, Phrase, is_name, noun_phrase, plural

#: Pronouns for a man, a woman, a thing and several.
_KINDS = {"m": "he him his", "f": "she her hers", "n": "it its", "plural": "they them their theirs"}
_PRONOUNS = {pronoun: kind for kind, pronouns in _KINDS.items() for pronoun in pronouns.split()}
_NOUNS = (("m", names.MALE_NOUNS), ("f", names.FEMALE_NOUNS))
_FIRST_NAMES = (("m", names.MALE), ("f", names.FEMALE))
_GROUPS = frozenset("people men women police children family staff couple team officers".split())


@dataclass(slots=True)
class Entity:
    """A person or thing that the summary mentions. ``text`` is its latest name, ``last`` the sentence that had it last."""

    text: str
    number: str  # "singular" or "plural"
    gender: str  # "m", "f", "?" (a person), "n" (a thing) or "o" (a single unknown name)
    words: frozenset[str]
    last: int = -1


@dataclass(slots=True)
class Resolution:
    """The entities of one sentence.

    ``named`` has the entity of each token that names one, ``replaced`` the entity of each pronoun and the text that may replace
    it. ``missing`` is the subject if the sentence does not name one. ``described`` are the tokens of a subject that refers to a
    named entity, as "the striker" may, and that entity.
    """

    named: dict[int, Entity] = field(default_factory=dict)
    replaced: dict[int, tuple[Entity, str]] = field(default_factory=dict)
    missing: Entity | None = None
    described: tuple[list[int], Entity] | None = None


class Referents:
    """Reads the sentences of a summary in order, and resolves each with the entities of those before."""

    def __init__(self) -> None:
        self.entities: list[Entity] = []
        self.subject: Entity | None = None
        self.sentence = 0

    def read(self, tokens: Doc) -> Resolution:
        """Resolve the next sentence of the summary."""
        out = Resolution(missing=self.subject)
        subject = _main_subject(tokens)
        phrase = noun_phrase(subject) if subject is not None else Phrase([])
        subject_at = phrase.core
        for span in _mentions(tokens):
            out.named |= dict.fromkeys(span, self._enter(tokens, span))
        main: Entity | None = None
        if subject is not None:
            main = self._subject_entity(subject, phrase, out)
            described = self._described(subject, phrase, main)
            if described is not None:
                main = described
                out.replaced[subject_at[0]] = (main, main.text)
                out.described = (subject_at, main)
            elif main is not None and main not in self.entities:
                out.named = dict.fromkeys(subject_at, main) | out.named
        quoted = _quoted(tokens)
        for i, token in enumerate(tokens):
            if token.lower_ in _PRONOUNS and i not in quoted:
                entity = self._resolve(token, subject_at, main, out)
                if entity is not None:
                    text = entity.text
                    if token.tag_ == "PRP$":
                        text += "'" if text.endswith("s") and entity.number == "plural" else "'s"
                    out.replaced[i] = (entity, text)
                    if [i] == subject_at:
                        main = entity
        owned = main is not None and len(subject_at) > 1 and subject_at[0] in out.replaced and out.described is None
        if owned:  # "Her family" -> "the patient's family"
            main.text = " ".join([out.replaced[subject_at[0]][1], *(tokens[i].text for i in subject_at[1:])])
        self.subject = main if main is not None else (self.subject if subject is None else None)
        self.sentence += 1
        return out

    def _enter(self, tokens: Doc, span: list[int]) -> Entity:
        """The entity of a name: one whose name contains it, a person whose name it makes longer, or else a new one."""
        text = _join(tokens, span)
        words = frozenset(tokens[i].lower_.strip(".") for i in span)
        for entity in self.entities:
            if words <= entity.words or (entity.words < words and entity.gender in "mf?"):
                entity.text, entity.words = text, entity.words | words
                entity.last = self.sentence
                if entity.gender == "?":
                    entity.gender = _gender(tokens, span)
                return entity
        entity = Entity(text, "singular", _gender(tokens, span), words, self.sentence)
        self.entities.append(entity)
        return entity

    def _described(self, subject: Token, phrase: Phrase, main: Entity | None) -> Entity | None:
        """The only person so far if the subject is a description such as "the striker" or "the 22-year-old"; or None."""
        previous, head = self.subject, subject.lower_
        if main is None or main in self.entities or previous not in self.entities:
            return None
        core = [subject.doc[i] for i in phrase.core]
        if phrase.posts or phrase.conjuncts or core[0].lower_ != "the" or head not in {*names.ROLES, "old"}:
            return None
        if any(token.tag_ in ("POS", "PRP$") for token in core):
            return None
        gender = _sex(head, _NOUNS)
        people = [e for e in self.entities if e.gender in "mf?"]
        if people == [previous] or (previous.gender == "o" and not people):
            return previous if not gender or previous.gender in (gender, "?", "o") else None
        return None

    def _subject_entity(self, head: Token, phrase: Phrase, out: Resolution) -> Entity | None:
        """The entity of the main subject: a name in it, or a new one for a common noun."""
        tokens, core = head.doc, phrase.core
        if head.pos_ == "PRON" and head.tag_ != "NN":
            return None
        text = _join(tokens, core)
        if phrase.conjuncts or any(tokens[i].dep_ == "cc" for i in core):
            return Entity(text, "plural", "?", frozenset(), self.sentence)
        owned = any(tokens[i].tag_ == "POS" for i in core)
        if head.i in out.named and not owned:
            return out.named[head.i]
        if owned and is_name(head):
            return None
        lower = head.lower_
        gender = _sex(lower, _NOUNS) or ("?" if lower in names.PERSON_NOUNS else "n")
        many = plural(head) or lower in _GROUPS
        first = tokens[core[0]]
        if first.lower_ in ("a", "an"):
            text = "the" + text[len(first.text) :]
        elif first.tag_ == "DT" and first.text[:1].isupper():
            text = first.lower_ + text[len(first.text) :]
        elif first.pos_ in ("NOUN", "ADJ") and head.text.islower():
            start = first.lower_ if core[0] == 0 else first.text
            text = ("" if many else "the ") + start + text[len(first.text) :]
        return Entity(text, "plural" if many else "singular", gender, frozenset(), self.sentence)

    def _resolve(self, pronoun: Token, subject_at: list[int], main: Entity | None, out: Resolution) -> Entity | None:
        """The entity that a pronoun refers to; None if that is not sure."""
        kind, previous = _PRONOUNS[pronoun.lower_], self.subject
        if kind in ("m", "f"):
            return self._person(kind, pronoun, subject_at, main, out)
        if [pronoun.i] != subject_at or previous is None:
            return None
        if kind == "n" and previous.gender == "n" and previous.number == "singular":
            window = [t.lower_ for t in pronoun.doc[pronoun.i + 1 : pronoun.i + 8]]
            after = window[0] if window else ""
            opens = after in ("is", "was", "'s", "will", "has") and ("that" in window or "to" in window)
            return None if opens else previous
        return previous if kind == previous.number == "plural" else None

    def _person(
        self, gender: str, pronoun: Token, subject_at: list[int], main: Entity | None, out: Resolution
    ) -> Entity | None:
        """The entity that "he" or "she" refers to; None if that is not sure. ``gender`` is m or f."""
        tokens, i, previous = pronoun.doc, pronoun.i, self.subject
        is_subject = [i] == subject_at
        earlier = [out.named[j] for j in range(i) if j in out.named]
        wanted = (gender, "?")
        rivals = {id(e) for e in earlier if e.gender in wanted or e.gender == "o"}
        if not is_subject and len(rivals) > 1:
            return None  # two people were named in this sentence
        # Possible entities: names so far, and the fitting subjects of the sentence before and of this one.
        possible = [e for e in self.entities if e.gender in wanted and (e.last < self.sentence or e in earlier)]
        fits = [e for e in (previous, main) if e is not None and e.gender in wanted and e.number == "singular"]
        if previous in fits and previous not in self.entities:
            possible.append(previous)
        follows = main is not None and subject_at[-1] < i  # a pronoun that is the subject has no ``main``
        if follows and main in fits and main not in possible:
            possible.append(main)
        opens_clause = tokens[i - 1].dep_ == "cc" and pronoun.lower_ in ("he", "she")
        if main is not None and opens_clause and main.gender == gender:
            return main  # "She lives in Oslo and she works there": both clauses have the same subject
        if main is not None and main.gender == "n" and main.text.startswith("the "):
            return None  # "the owner raised his hand": the subject may be a person
        if not is_subject and _person_before(tokens, i, out):
            return None
        if follows and main.gender == "o" and main in self.entities:
            return None  # the subject, a single unknown name, may be a person
        if len(possible) == 1 and (is_subject or possible[0].gender == gender or possible[0] is main):
            return possible[0]
        exact = [e for e in possible if e.gender == gender]
        if len(exact) == 1 and len(possible) <= 2:
            return exact[0]
        if not possible and is_subject and previous is not None and previous.gender == "o":
            return previous
        if follows and main in possible:
            return None if any(map(is_name, tokens[subject_at[-1] + 1 : i])) else main
        return previous if is_subject and previous is not None and previous in possible else None


def _person_before(tokens: Doc, i: int, out: Resolution) -> bool:
    """Whether a common noun for a person comes before the pronoun, which may refer to that person."""
    return any(tokens[j].lower_ in names.PEOPLE and j not in out.named and j + 1 not in out.named for j in range(i))


def _quoted(tokens: Doc) -> set[int]:
    """The tokens within quotation marks, in which pronouns are the speaker's."""
    inside: set[int] = set()
    opened = False
    for i, token in enumerate(tokens):
        opened = (opened or token.tag_ == "``") and token.tag_ != "''"
        if opened:
            inside.add(i)
    return inside


def _main_subject(tokens: Doc) -> Token | None:
    """The subject of the sentence's first main clause."""
    for token in tokens:
        if token.dep_ in ("nsubj", "nsubjpass") and token.head.pos_ in VERBS:
            head = token.head
            while head.dep_ in ("ccomp", "conj") and head.i < head.head.i:
                head = head.head
            if head.dep_ not in ("relcl", "acl", "advcl", "ccomp", "pcomp", "csubj"):
                return token
    return None


def _mentions(tokens: Doc) -> list[list[int]]:
    """The runs of name words."""
    runs = groupby(tokens, lambda token: is_name(token) and token.text[:1].isalnum())
    return [[token.i for token in run] for named, run in runs if named]


def _gender(tokens: Doc, span: list[int]) -> str:
    """The gender of a name, as in ``Entity``."""
    first = tokens[span[0]].lower_.strip(".")
    before = tokens[span[0] - 1].lower_ if span[0] else ""
    if gender := _sex(first, _NOUNS) or _sex(before, _NOUNS) or _sex(first, _FIRST_NAMES):
        return gender
    if before in names.PERSON_NOUNS or first in names.PERSON_NOUNS:
        return "?"
    if gender := next(filter(None, (_sex(tokens[i].lower_, _FIRST_NAMES) for i in span[1:-1])), ""):
        return gender
    if before in ("in", "at", "the", "to", "from", "a", "an") or any(
        tokens[i].lower_ in names.TIMES_AND_PLACES for i in span
    ):
        return "n"
    return "?" if len(span) > 1 else "o"


def _sex(word: str, words: Sequence[tuple[str, frozenset[str]]]) -> str:
    return next((gender for gender, group in words if word in group), "")


def _join(tokens: Doc, at: Sequence[int]) -> str:
    return "".join(tokens[i].text_with_ws if i + 1 in at else tokens[i].text + " " for i in at).strip()
