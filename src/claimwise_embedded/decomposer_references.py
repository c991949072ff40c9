"""Who a pronoun stands for, within one summary; an unsure pronoun is left as it is.

The rules are few and strict: agreement in number and gender, and then either a single candidate in all that
was said so far, or the subject of the sentence before. See ``claimwise.person_words`` for the words they know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from claimwise import person_words as names
from claimwise_embedded.clauses_model import Parse, Part
from claimwise_embedded.decomposer_tokens import Token

_HE = frozenset("he him his".split())
_SHE = frozenset("she her hers".split())
_THEY = frozenset("they them their theirs".split())
_IT = frozenset("it its".split())
_POSSESSIVE = frozenset("his her its their".split())
PRONOUNS = _HE | _SHE | _THEY | _IT


@dataclass(slots=True)
class Entity:
    """Somebody or something a summary speaks of; ``text`` is its latest name."""

    text: str
    number: str  # "singular" or "plural"
    gender: str  # "m", "f", "?" (a person), "n" (a thing) or "o" (a single unknown name)
    words: frozenset[str]
    last: int = -1


@dataclass(slots=True)
class Resolution:
    """For one sentence: what tokens name which entity, and what pronouns may be written as.

    ``named`` maps token index to entity; ``replaced`` maps a token index to (entity, text).
    """

    named: dict[int, Entity] = field(default_factory=dict)
    replaced: dict[int, tuple[Entity, str]] = field(default_factory=dict)
    missing: Entity | None = None
    hidden: dict[int, Entity] = field(default_factory=dict)
    described: tuple[list[int], Entity] | None = None


class Referents:
    """Reads the sentences of a summary in order and resolves each against what came before."""

    def __init__(self) -> None:
        self.entities: list[Entity] = []
        self.subject: Entity | None = None
        self.sentence = 0

    def read(self, parsed: Parse) -> Resolution:
        """Resolve the next sentence of the summary."""
        tokens = parsed.tokens
        out = Resolution(missing=self.subject)
        mains = [c for c in parsed.clauses if c.kind == "main" and c.subject is not None and not c.subject_missing]
        mains.sort(key=lambda c: c.subject.core[0])
        subject_at = mains[0].subject.core if mains else []
        starts: dict[int, Entity] = {}
        for span in _mentions(tokens):
            entity = self._enter(tokens, span)
            for i in span:
                out.named[i] = entity
            starts[span[0]] = entity
        main: Entity | None = None
        if subject_at:
            main = self._subject_entity(mains[0].subject, tokens, out)
            described = self._described(mains[0].subject, tokens, main)
            if described is not None:
                main = described
                out.replaced[subject_at[0]] = (main, main.text)
                out.hidden.update(dict.fromkeys(subject_at[1:], main))
                out.described = (list(subject_at), main)
            elif main is not None and main not in self.entities:
                out.named.update(dict.fromkeys((i for i in subject_at if i not in out.named), main))
        quoted = _quoted(tokens)
        for i, token in enumerate(tokens):
            lower = token.lower
            if lower in PRONOUNS and i not in quoted:
                entity = self._resolve(tokens, i, subject_at, main, out)
                if entity is not None:
                    text = entity.text
                    if lower in _POSSESSIVE and (lower != "her" or _owns(tokens, i)):
                        text += "'" if text.endswith("s") and entity.number == "plural" else "'s"
                    out.replaced[i] = (entity, text)
                    if [i] == subject_at:
                        main = entity
        owned = main is not None and len(subject_at) > 1 and subject_at[0] in out.replaced and not out.hidden
        if owned:  # "Her family" -> "the patient's family"
            main.text = " ".join([out.replaced[subject_at[0]][1], *(tokens[i].text for i in subject_at[1:])])
        self.subject = main if main is not None else (self.subject if not mains else None)
        self.sentence += 1
        return out

    def _enter(self, tokens: Sequence[Token], span: list[int]) -> Entity:
        text = _join(tokens, span)
        words = frozenset(tokens[i].lower.strip(".") for i in span)
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

    def _described(self, part: Part, tokens: Sequence[Token], main: Entity | None) -> Entity | None:
        """The one person spoken of so far, where the subject is "the striker" or "the 22-year-old"."""
        previous = self.subject
        first, head = tokens[part.core[0]], tokens[part.core[-1]].lower
        if previous is None or main is None or main in self.entities or previous not in self.entities:
            return None
        if part.kind != "NP" or part.posts or part.conjuncts or previous.number != "singular":
            return None
        if (first.tag == "DT" and first.lower != "the") or any(tokens[i].tag in ("PO", "PS") for i in part.core):
            return None
        if not (head in names.ROLES or head.endswith("-year-old")):
            return None
        gender = "m" if head in names.MALE_NOUNS else "f" if head in names.FEMALE_NOUNS else ""
        people = [e for e in self.entities if e.gender in "mf?"]
        if people == [previous] or (previous.gender == "o" and not people):
            return previous if not gender or previous.gender in (gender, "?", "o") else None
        return None

    def _subject_entity(self, part: Part, tokens: Sequence[Token], out: Resolution) -> Entity | None:
        """The entity of the main subject: a name in it, or a new one for a common noun."""
        if part.kind == "PR":
            return None
        if part.conjuncts:
            text = _join(tokens, part.core)
            return Entity(text, "plural", "?", frozenset(), self.sentence)
        head = part.core[-1]
        lower = tokens[head].lower
        inside = [out.named[i] for i in part.core if i in out.named]
        if head in out.named and not any(tokens[i].tag == "PO" for i in part.core):
            return out.named[head]
        if inside and any(tokens[i].tag == "PO" for i in part.core) and not tokens[head].text[:1].islower():
            return None
        gender = (
            "m"
            if lower in names.MALE_NOUNS
            else "f"
            if lower in names.FEMALE_NOUNS
            else "?"
            if lower in names.PERSON_NOUNS
            else "n"
        )
        plural = (lower.endswith("s") and not lower.endswith(("ss", "us", "is"))) or lower in (
            "people",
            "men",
            "women",
            "police",
            "children",
            "family",
            "staff",
            "couple",
            "team",
            "officers",
        )
        first = tokens[part.core[0]]
        text = _join(tokens, part.core)
        if first.lower in ("a", "an"):
            text = "the" + text[len(first.text) :]
        elif first.tag == "DT" and first.text[:1].isupper():
            text = first.lower + text[len(first.text) :]
        elif first.tag == "X" and part.core[0] not in out.named and tokens[head].text.islower():
            start = first.lower if part.core[0] == 0 else first.text
            text = ("" if plural else "the ") + start + text[len(first.text) :]
        return Entity(text, "plural" if plural else "singular", gender, frozenset(), self.sentence)

    def _resolve(
        self, tokens: Sequence[Token], i: int, subject_at: list[int], main: Entity | None, out: Resolution
    ) -> Entity | None:
        lower = tokens[i].lower
        is_subject = [i] == subject_at
        previous = self.subject
        earlier = [out.named[j] for j in range(i) if j in out.named]
        if lower in _HE or lower in _SHE:
            wanted = "m?" if lower in _HE else "f?"
            rivals = {id(e) for e in earlier if e.gender in wanted or e.gender == "o"}
            if not is_subject and len(rivals) > 1:
                return None  # two people were named in this sentence
            known = [e for e in self.entities if e.gender in wanted and e.number == "singular"]
            known = [e for e in known if e.last < self.sentence or e in earlier]
            if (
                previous is not None
                and previous.gender in wanted
                and previous.number == "singular"
                and (previous not in self.entities)
            ):
                known.append(previous)
            if (
                main is not None
                and not is_subject
                and main.gender in wanted
                and main not in known
                and (subject_at and subject_at[-1] < i and main.number == "singular")
            ):
                known.append(main)
            if (
                i
                and tokens[i - 1].tag == "CC"
                and i + 1 < len(tokens)
                and tokens[i + 1].tag not in ("CM", "PU")
                and lower in ("he", "she")
                and main is not None
                and main.gender == wanted[0]
                and not is_subject
            ):
                return main  # "She lives in Oslo and she works there": subjects run on
            if not is_subject and _person_between(tokens, i, out):
                return None
            if (
                not is_subject
                and main is not None
                and main.gender in "?o"
                and subject_at[-1] < i
                and (main in self.entities and main not in known)
            ):
                return None  # it may well be the subject
            if len(known) == 1 and (is_subject or known[0].gender == wanted[0] or known[0] is main):
                return known[0]
            exact = [e for e in known if e.gender == wanted[0]]
            if len(exact) == 1 and len(known) <= 2:
                return exact[0]
            if not known and is_subject and previous is not None and previous.gender == "o":
                return previous
            if not is_subject and main is not None and main in known and subject_at[-1] < i:
                return main if _same_clause(tokens, subject_at[-1], i) else None
            if is_subject and previous is not None and previous in known:
                return previous
            return None
        if lower in _IT:
            if is_subject and previous is not None and previous.gender == "n" and previous.number == "singular":
                after = tokens[i + 1].lower if i + 1 < len(tokens) else ""
                window = [t.lower for t in tokens[i + 1 : i + 8]]
                if after in ("is", "was", "'s", "will", "has") and ("that" in window or "to" in window):
                    return None
                return previous
            return None
        if lower in _THEY:
            if is_subject and previous is not None and previous.number == "plural":
                return previous
            return None
        return None


def _person_between(tokens: Sequence[Token], i: int, out: Resolution) -> bool:
    """Whether a common noun for a person stands before the pronoun: it may be meant instead."""
    people = names.MALE_NOUNS | names.FEMALE_NOUNS | names.PERSON_NOUNS
    return any(tokens[j].lower in people and j not in out.named and j + 1 not in out.named for j in range(i))


def _owns(tokens: Sequence[Token], i: int) -> bool:
    """Whether "her" at i owns what follows."""
    return i + 1 < len(tokens) and tokens[i + 1].tag in ("X", "CD", "VN", "VG", "Q") and tokens[i].tag == "PS"


def _same_clause(tokens: Sequence[Token], a: int, b: int) -> bool:
    return not any(tokens[j].tag == "X" and tokens[j].text[:1].isupper() for j in range(a + 1, b))


def _quoted(tokens: Sequence[Token]) -> set[int]:
    """Token indices within quotation marks: pronouns there are the speaker's."""
    inside: set[int] = set()
    opened = -1
    for i, token in enumerate(tokens):
        if token.tag != "Q" and token.text not in ("'", "’", "”", "''"):
            continue
        if token.text == "``":
            opened = i if opened < 0 else opened
        elif token.text == "''" and opened >= 0:
            inside.update(range(opened, i))
            opened = -1
        elif opened < 0:
            if i + 1 < len(tokens) and tokens[i + 1].start == token.end and (i == 0 or tokens[i - 1].end < token.start):
                opened = i
        elif tokens[i - 1].end == token.start:
            inside.update(range(opened, i))
            opened = -1
    if opened >= 0:
        inside.update(range(opened, len(tokens)))
    return inside


def _mentions(tokens: Sequence[Token]) -> list[list[int]]:
    """Runs of capitalised words that are names; the first word of a sentence only where another follows or
    it is a known first name."""
    spans: list[list[int]] = []
    i, n = 0, len(tokens)
    while i < n:
        if tokens[i].tag == "X" and tokens[i].text[:1].isupper():
            j = i + 1
            while j < n and tokens[j].tag == "X" and tokens[j].text[:1].isupper():
                j += 1
            known = tokens[i].lower in names.MALE or tokens[i].lower in names.FEMALE
            if (
                i > 0
                or j - i > 1
                or known
                or (j < n and tokens[j].tag in ("PO", "BE", "HV", "MD", "VD", "VZ", "CC", "DO"))
            ):
                spans.append(list(range(i, j)))
            i = j
        else:
            i += 1
    return spans


def _gender(tokens: Sequence[Token], span: list[int]) -> str:
    first = tokens[span[0]].lower.strip(".")
    before = tokens[span[0] - 1].lower if span[0] else ""
    for word in (first, before):
        if word in names.MALE_NOUNS:
            return "m"
        if word in names.FEMALE_NOUNS:
            return "f"
    if first in names.MALE:
        return "m"
    if first in names.FEMALE:
        return "f"
    if before in names.PERSON_NOUNS or first in names.PERSON_NOUNS:
        return "?"
    if len(span) > 1:
        for i in span[1:-1]:
            word = tokens[i].lower
            if word in names.MALE:
                return "m"
            if word in names.FEMALE:
                return "f"
    if before in ("in", "at", "the", "to", "from", "a", "an") or any(
        tokens[i].lower in names.TIMES_AND_PLACES for i in span
    ):
        return "n"
    return "?" if len(span) > 1 else "o"


def _join(tokens: Sequence[Token], at: Sequence[int]) -> str:
    out = ""
    previous = None
    for i in at:
        if out and not (previous is not None and tokens[previous].end == tokens[i].start):
            out += " "
        out += tokens[i].text
        previous = i
    return out
