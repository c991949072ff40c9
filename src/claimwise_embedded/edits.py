"""Edits of one sentence: numbers and names replaced by ones from the evidence, parts left out, the document quoted.

An edit cites what the sentence cites, and has a subject and a verb where the sentence has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from claimwise import text
from claimwise.metrics.factored import citations
from claimwise.words import FUNCTION_WORDS, stem
from claimwise_embedded.clauses import SUBJECTS
from claimwise_embedded.decomposer_parsing import VERBS
from claimwise_embedded.decomposer_parsing import sentences as parsed
from claimwise_embedded.evidence import FUNCTION_STEMS

#: Edits of one sentence that are put to the verifier.
MOST_CANDIDATES = 40

_BOUNDARY = re.compile(r"(?:[,;:]\s+|\s+(?=(?:and|but|while|which|who|where|after|before|because|although|when)\b))")
_NUMBER = re.compile(r"\d[\d,.:]*\d|\d")
_NAME = re.compile(r"\b[A-Z][\w’'-]*(?:\s+[A-Z][\w’'-]*)*")
_OPENING = re.compile(r"(?:^|[.!?:\"“])\s*$")
_ENDED = re.compile(r"[.!?…][\"'”’)\]]*$")
_LAST_BRACKET = re.compile(r"\s*\([^()]*\)(?=[.!?]?$)")


def content(passage: str) -> set[str]:
    """Stems of a passage's words without function words."""
    return {stem(word) for word in text.words(passage)} - FUNCTION_STEMS


def candidates(sentence: str, evidence: Sequence[str]) -> list[str]:
    """Edits of a sentence, each grammatical more often than not: replacements from the evidence, then deletions.

    >>> candidates("The mayor, a lawyer, left in 2019.", ["Mayor Dunn left in 2021."])[0]
    'The mayor, a lawyer, left in 2021.'
    >>> candidates("Rain fell in May, and two mills closed (Ling, 2009).", [])
    ['Two mills closed (Ling, 2009).', 'Rain fell in May (Ling, 2009).']
    """
    cited, whole = _cited(sentence), _states(sentence)
    last = _LAST_BRACKET.search(sentence)
    bracket = last if last and _cited(last[0]) else None
    body = sentence[: bracket.start()] + sentence[bracket.end() :] if bracket else sentence
    edits = dict.fromkeys([*_replaced(body, evidence), *_shortened(body)])
    edits.pop(body, None)
    kept = [_with_bracket(edit, bracket[0] if bracket else "") for edit in edits if len(content(edit)) > 1]
    # Of a sentence that the parser cannot read, whether a part stands for itself is not known: most of it has to stay.
    fits = _states if whole else (lambda edit: 2 * len(content(edit)) > len(content(sentence)))
    return [edit for edit in kept if _cited(edit) == cited and fits(edit)][:MOST_CANDIDATES]


def quoted(line: str, sentence: str) -> str:
    """A line of the document in place of a sentence, with the sentence's citations, and its full stop where the line has
    none: the next sentence begins after it.

    >>> quoted("It snowed.", "Ling and Roy (2009) found that it rained.")
    'It snowed (Ling and Roy, 2009).'
    >>> quoted("lee won on april 3", "Lee lost.")
    'lee won on april 3.'
    """
    if not _ENDED.search(line):
        line += "." if sentence[-1] in ".!?" else ""
    cited = [re.sub(r" \((.*)\)$", r", \1", citation) for citation in _cited(sentence)]
    return _with_bracket(line, f" ({'; '.join(cited)})") if cited else line


def _cited(passage: str) -> list[str]:
    return [str(citation) for citation in citations.find(passage)]


def _with_bracket(sentence: str, bracket: str) -> str:
    """A bracket with citations back at the sentence's end, before its full stop."""
    end = sentence[-1] if sentence[-1] in ".!?" else ""
    return sentence[: len(sentence) - len(end)] + bracket + end


@lru_cache(maxsize=4096)  # critic and reviser ask about the same edits
def _states(sentence: str) -> bool:
    """Whether a main clause has a subject and a verb.

    >>> _states("The mayor left."), _states("After the mayor left."), _states("Left the town.")
    (True, False, False)
    """
    roots = [token for tokens in parsed(sentence) for token in tokens if token.dep_ == "ROOT" and token.pos_ in VERBS]
    below = [{child.dep_ for child in root.children} for root in roots]
    return any(found & set(SUBJECTS) and "mark" not in found for found in below)


def _replaced(sentence: str, evidence: Sequence[str]) -> Iterator[str]:
    source = " ".join(evidence)
    for kind in (_NUMBER, _NAME):
        offered = dict.fromkeys(match.group() for line in evidence for match in kind.finditer(line) if _names(match))
        for match in kind.finditer(sentence):
            if match.group() in source or not _names(match):
                continue
            for other in offered:
                if other not in sentence and other.lower() not in FUNCTION_WORDS:
                    yield sentence[: match.start()] + other + sentence[match.end() :]


def _names(match: re.Match) -> bool:
    """Whether a match is a number or a name: the first word of a sentence has its capital for another reason."""
    found = match.group()
    return found[0].isdigit() or " " in found or not _OPENING.search(match.string[: match.start()])


def _shortened(sentence: str) -> Iterator[str]:
    if not sentence:  # nothing but a citation
        return
    end = sentence[-1] if sentence[-1] in ".!?" else ""
    body = sentence[: len(sentence) - len(end)].rstrip()
    cuts = [0, *(match.start() for match in _BOUNDARY.finditer(body)), len(body)]
    for width in range(1, len(cuts) - 1):
        for first in range(len(cuts) - width):
            kept = (body[: cuts[first]] + body[cuts[first + width] :]).strip(" ,;:")
            kept = re.sub(r"^(?:and|but|which|who|where)\s+", "", kept)
            if kept:
                yield kept[0].upper() + kept[1:] + end if sentence[0].isupper() else kept + end
