"""What a model's reply says: one parser for each ``reply`` kind that a prompt may name.

A parser returns a value, or none and the reason why; it never guesses. What a careful reader would accept is
accepted: numbers past 9, bullets of every kind, preambles, code fences, trailing commas, "Yes." with an
explanation. Refusals and empty replies have a reason of their own. Reasons do not quote the reply, so that
tables can count them; the reply itself is in the response cache.

==================  ==================================================  ===================================
kind                reply                                               value
==================  ==================================================  ===================================
list                a bulleted or numbered list                         tuple of str
json-claims         JSON with a list of texts                           tuple of str
sentences           sentences, each a claim                             tuple of str
yes-no, true-false  the answer first, then perhaps an explanation       1.0 or 0.0
hallucinated-yes-no the same, "yes" for what is not supported          0.0 or 1.0
final-yes-no        reasoning, then the answer                          1.0 or 0.0
supported-reasoning "Reasoning: ... Supported: Yes"                     1.0 or 0.0
supported-label     supported / partially_supported / not_supported     1.0, 0.25 or 0.0
claims-supported    a list of claims, each with "Supported: Yes"        1.0 where all are, else 0.0
rating-1-5, stars   a number from 1 to 5, anywhere sensible             (s - 1) / 4
rating-0-100        a number from 0 to 100                              s / 100
choice-a-e          a letter, E best                                    0.0, 0.25 ... 1.0
critique-block      "Critique: ... Supported: ... Revised Claim: ..."   ``CritiqueParts``
rating-comment      a rating, then a comment                            ``CritiqueParts``
feedback            "Feedback: ..."                                     ``CritiqueParts``
corrected-summary   "Corrected summary: ..."                            str
text                anything                                            str
==================  ==================================================  ===================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from claimwise.prompts.lists import EMPTY, bullets, json_claims, sentences
from claimwise.prompts.ratings import a_to_e, one_to_five, zero_to_hundred

REFUSAL = "refusal"
CUT = "cut off at its length limit"

#: White space that a model which has lost its way writes up to its length limit, and patterns would go over for minutes.
_BLANK = re.compile(r"\s{20,}")

_REFUSED = re.compile(
    r"^\W*(?:i['’]?m sorry|i am sorry|sorry|i apologi[sz]e|my apologies|unfortunately|as an ai|i cannot|i can['’]?t"
    r"|i(?: am|['’]m) (?:not able|unable)|i(?: will|['’]ll) not|i won['’]t)\b",
    re.IGNORECASE,
)
_INABILITY = re.compile(
    r"\b(?:cannot|can['’]?t|unable|not able|won['’]t|will not|do(?: no|n['’])t have)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A reply's value, or None and the reason why there is none."""

    value: Any
    reason: str | None = None


class CritiqueParts(NamedTuple):
    """The parts of a critique; ``support`` and ``revised`` are None where the reply has none."""

    text: str
    support: float | None = None
    revised: str | None = None


def parse(kind: str, reply: str | None, *, cut: bool = False) -> Parsed:
    """Read a reply.

    Args:
        kind: a key of the table above.
        reply: what the model wrote.
        cut: the reply was stopped by its length limit; the last item of a list, which is then incomplete, is
            left out, and a text has no value: what it lacks would count as left out on purpose.

    Raises:
        KeyError: there is no such kind.

    >>> parse("list", "Sure! Here they are:\\n 9. It rained.\\n10) We left.").value
    ('It rained.', 'We left.')
    >>> parse("yes-no", "**Yes**, because the passage says so.").value, parse("yes-no", "Perhaps.")
    (1.0, Parsed(value=None, reason='neither yes nor no'))
    >>> parse("rating-1-5", "It omits a name. Final score: 4/5").value
    0.75
    """
    parser = _PARSERS[kind]
    if reply is None or not reply.strip():
        return Parsed(None, EMPTY)
    reply = reply.strip()
    value, reason = parser(reply if kind in _TEXTS else _BLANK.sub("\n\n", reply), cut)
    if value is None and is_refusal(reply):
        reason = REFUSAL
    return Parsed(value, None if value is not None else reason)


def is_refusal(reply: str) -> bool:
    """Whether the reply says that it will not answer, rather than answering.

    >>> is_refusal("I'm sorry, but I cannot help with that."), is_refusal("I'm sorry to say that it rained.")
    (True, False)
    """
    head = reply.strip()[:300]
    return bool(_REFUSED.match(head)) and bool(_INABILITY.search(head))


_MARKUP = re.compile(r"[*_`#\"“”]+")
_PREFIX = r"(?:(?:the |my |final |short )*(?:answer|verdict|response|statement)(?: is)?\s*[:\-]?\s*)?"


def _answer(yes: str, no: str) -> Callable[[str, bool], tuple[float | None, str]]:
    """Reader of a reply that gives one of two words first, or as a sentence of its own at the end."""
    first = re.compile(rf"\W*{_PREFIX}({yes}|{no})\b(?!\s*(?:and|or|/)\s*(?:{yes}|{no})\b)", re.IGNORECASE)
    last = re.compile(rf"(?:^|[.!?:\n]\s*|\b(?:answer|verdict) (?:is|would be)\W*)({yes}|{no})\W*$", re.IGNORECASE)

    def read(reply: str, cut: bool) -> tuple[float | None, str]:
        text = _MARKUP.sub("", reply)
        found = first.match(text) or last.search(text)
        if not found:
            return None, f"neither {yes} nor {no}"
        return float(found.group(1).lower() == yes), ""

    return read


_YES_NO = _answer("yes", "no")


def _hallucinated(reply: str, cut: bool) -> tuple[float | None, str]:
    """HaluEval's question: "yes" says that something is hallucinated."""
    value, reason = _YES_NO(reply, cut)
    return (None if value is None else 1.0 - value), reason


_FINAL = re.compile(
    r"(?:answer|verdict|conclusion|supported|consistent\?)\W*(?:is|:|-)?\W*(yes|no)\b|(?:^|[.!?:\n]\s*)(yes|no)\b(?=\W)",
    re.IGNORECASE,
)
_FINAL_WORDS = re.compile(r"\b(?:is|are|it's|summary|statement|remains)\s+(not\s+|in)?(?:\w+ly\s+)?consistent", re.I)


def _final_yes_no(reply: str, cut: bool) -> tuple[float | None, str]:
    """The last yes or no of a reply that reasons first; "(in)consistent" in its last sentences where it has none."""
    text = _MARKUP.sub("", reply) + " "
    answers = [a or b for a, b in _FINAL.findall(text)]
    if answers:
        return float(answers[-1].lower() == "yes"), ""
    words = _FINAL_WORDS.findall(text[-300:])
    if words:
        return float(not words[-1]), ""
    return None, "no final yes or no"


_SUPPORTED = re.compile(r"\bsupported\W{0,12}?[\[(]?\s*(yes|no)\b", re.IGNORECASE)


def _supported(reply: str, cut: bool) -> tuple[float | None, str]:
    found = _SUPPORTED.findall(_MARKUP.sub("", reply))
    if not found:
        return None, "no 'Supported: Yes' or 'Supported: No'"
    return float(found[-1].lower() == "yes"), ""


_LABEL = re.compile(r"\b(not|partially|fully)?[\s_-]*(un)?supported\b", re.IGNORECASE)
_LABEL_PLACE = re.compile(r"<answer>(.*?)(?:</answer>|$)", re.IGNORECASE | re.DOTALL)


def _supported_label(reply: str, cut: bool) -> tuple[float | None, str]:
    """WiCE's three labels; a partially supported claim lies below one half, since not all of it is supported."""
    place = _LABEL_PLACE.findall(reply)
    labels = {
        "no" if un or word.lower() == "not" else "part" if word.lower() == "partially" else "yes"
        for word, un in _LABEL.findall(place[-1] if place else reply)
    }
    if len(labels) != 1:
        return None, "several labels" if labels else "no label"
    return {"yes": 1.0, "part": 0.25, "no": 0.0}[labels.pop()], ""


#: A claim's "Supported:" with another answer, or none; "whether each is supported:" announces the list.
_NEITHER = re.compile(r"(?:\bS|(?<!\w )\bs)upported\W*:\W*(?!\W|(?i:yes|no)\b)")


def _claims_supported(reply: str, cut: bool) -> tuple[float | None, str]:
    """The product of the claims' 0/1 verdicts (Factored Verification eq. 1), which one "No" decides."""
    text = _MARKUP.sub("", reply)
    answers = [answer.lower() == "yes" for answer in _SUPPORTED.findall(text)]
    if not answers:
        return None, "no claim with 'Supported: Yes' or 'Supported: No'"
    if cut and all(answers):
        return None, "the reply was cut off before its last claim"
    if all(answers) and _NEITHER.search(text):
        return None, "a claim with neither 'Supported: Yes' nor 'Supported: No'"
    return float(all(answers)), ""


_BLOCK = re.compile(
    r"critique\W*:[*_]*(?P<critique>.*?)[*_#\s]*\bsupported\W*:\W*(?P<answer>yes|no)\b\W*?"
    r"(?:revised claim\W*:[*_]*(?P<revised>.*))?$",
    re.IGNORECASE | re.DOTALL,
)
_NO_REVISION = re.compile(r"^\W*(?:n/?a|none|not applicable)\b", re.IGNORECASE)


#: What a text may stand in as a whole: quotes, emphasis, code.
_WRAPS = (("```", "```"), ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ('"', '"'), ("“", "”"))


def _strip(text: str) -> str:
    """The text without white space, and without the marks that all of it stands in.

    Marks of a part stay: ``Ann said "no"`` ends in a quotation mark of its own.
    """
    text = text.strip()
    for first, last in _WRAPS:
        inner = text[len(first) : -len(last)]
        if text == f"{first}{inner}{last}" and first not in inner and last not in inner:
            return _strip(inner)
    return text


def _critique_block(reply: str, cut: bool) -> tuple[CritiqueParts | None, str]:
    found = _BLOCK.search(reply)
    if not found:
        support, reason = _supported(reply, cut)
        if support is None:
            return None, reason
        return CritiqueParts(_strip(_SUPPORTED.split(reply)[0].rstrip("*_# \n")), support), ""
    revised = _strip(found["revised"] or "")
    none = not revised or cut or _NO_REVISION.match(revised)
    return CritiqueParts(
        _strip(found["critique"]), float(found["answer"].lower() == "yes"), None if none else revised
    ), ""


#: A number written as a rating: named, out of five, or by itself; "4 people died" and "4.5 million left" are comments.
_RATED = re.compile(
    r"^\W*(?:consistency\W*[1-5](?:\.\d)?(?:\s*/\s*5)?(?!\w)|[1-5](?:\.\d)?(?:\s*/\s*5(?!\w)|(?![ \t]*[\w,%]|-\w|\.\d)))"
    r"[\s.:)\-–—]*",
    re.IGNORECASE,
)


def _rating_comment(reply: str, cut: bool) -> tuple[CritiqueParts | None, str]:
    support, _ = one_to_five(reply, cut)
    comment = _RATED.sub("", reply).strip()
    if not comment:
        return None, "a score without a comment"
    return CritiqueParts(comment, support), ""


def _whole(text: str, cut: bool) -> tuple[str | None, str]:
    """A text that a model was asked to write, where it wrote it to its end."""
    if is_refusal(text):
        return None, REFUSAL
    if cut:
        return None, CUT
    return (text, "") if text else (None, EMPTY)


def _after(marker: str, reply: str) -> str:
    return _strip(re.split(rf"\b{marker}\W*?:[*_]*", reply, maxsplit=1, flags=re.IGNORECASE)[-1])


def _corrected(reply: str, cut: bool) -> tuple[str | None, str]:
    return _whole(_after("corrected summary", reply), cut)


def _feedback(reply: str, cut: bool) -> tuple[CritiqueParts | None, str]:
    """A comment, which is of use without its end, too."""
    text, reason = _whole(_after("feedback", reply), cut=False)
    return (CritiqueParts(text), "") if text else (None, reason)


_PREAMBLE = re.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok)\b[^\n]*\n+)?"
    r"(?:[*_#\s]*(?:here(?: i|['’])s (?:the|a|my) [^\n]*?(?:summary|version)[^\n:]*"
    r"|(?:revised |corrected )?summary\W*):[*_]*\s*)?",
    re.IGNORECASE,
)


def _text(reply: str, cut: bool) -> tuple[str | None, str]:
    """The reply without a preamble ("Here is the revised summary:")."""
    return _whole(_strip(_PREAMBLE.sub("", _strip(reply), count=1)), cut)


_PARSERS: dict[str, Callable[[str, bool], tuple[Any, str]]] = {
    "list": bullets,
    "json-claims": json_claims,
    "sentences": sentences,
    "yes-no": _YES_NO,
    "hallucinated-yes-no": _hallucinated,
    "true-false": _answer("true", "false"),
    "final-yes-no": _final_yes_no,
    "supported-reasoning": _supported,
    "supported-label": _supported_label,
    "claims-supported": _claims_supported,
    "rating-1-5": one_to_five,
    "stars": one_to_five,
    "rating-0-100": zero_to_hundred,
    "choice-a-e": a_to_e,
    "critique-block": _critique_block,
    "rating-comment": _rating_comment,
    "feedback": _feedback,
    "corrected-summary": _corrected,
    "text": _text,
}
KINDS = tuple(_PARSERS)

_CLAIMS = ("list", "json-claims", "sentences")
_CRITIQUES = ("critique-block", "rating-comment", "feedback")
_TEXTS = ("corrected-summary", "text")
_NUMBERS = tuple(kind for kind in KINDS if kind not in (*_CLAIMS, *_CRITIQUES, *_TEXTS))

#: The kinds of reply whose value a role has a use for.
FOR_ROLE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "decompose": _CLAIMS,
        "verify": _NUMBERS,
        "judge": _NUMBERS,
        "critique": _CRITIQUES,
        "revise": _TEXTS,
        "summarise": _TEXTS,
    }
)
