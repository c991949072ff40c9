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

from claimwise.prompts.answers import (
    SUPPORTED,
    answer_first,
    claims_supported,
    final_yes_no,
    hallucinated,
    supported,
    supported_label,
    yes_no,
)
from claimwise.prompts.lists import CUT, EMPTY, bullets, json_claims, sentences
from claimwise.prompts.ratings import a_to_e, one_to_five, zero_to_hundred

REFUSAL = "refusal"

#: White space that a model which has lost its way writes up to its length limit, and patterns would go over for minutes.
_BLANK = re.compile(r"\s{20,}")

_CANNOT = (
    r"(?:i (?:\w+ly )?(?:cannot|can not|can['’]?t|will not|won['’]t|am (?:\w+ly )?(?:not able|unable))"
    r"|i['’]m (?:\w+ly )?(?:not able|unable)|i['’]ll not)"
)
#: An inability of the writer's own; "Unfortunately for United, Smith will not play" is what a summary may say.
_REFUSED = re.compile(
    rf"^[^\w\"“'‘]*(?:{_CANNOT}|sorry\W+(?:but )?(?:cannot|can['’]?t|unable)"
    r"|(?:i['’]?m sorry|i am sorry|sorry|i apologi[sz]e|my apologies|unfortunately|as an ai)\b[^\"“]{0,200}?"
    rf"\b(?:{_CANNOT}|i do(?: not|n['’]t) have|(?:not possible|impossible) for me"
    r"|we (?:cannot|can not|can['’]?t|are (?:not able|unable) to) (?:help|assist|comply|provide|complete|process|fulfil)"
    r"|(?:request|text|summary|document|article|passage)\b[^.\"“]{0,40}\b(?:cannot|can['’]?t|could not) be"
    r" (?:completed|fulfilled|processed|answered|provided|summari[sz]ed|corrected|revised)))\b",
    re.IGNORECASE,
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
        reply: what the model wrote. Of its thoughts, which some servers leave above the answer, nothing is read.
        cut: the reply was stopped by its length limit. The item of a list in which that happened is left out, and
            where it was the only one there is no value. Neither has a text: what it lacks would count as left out
            on purpose; nor has reasoning that did not get to the answer that it was asked for.

    Raises:
        KeyError: there is no such kind.

    >>> parse("list", "Sure! Here they are:\\n 9. It rained.\\n10) We left.").value
    ('It rained.', 'We left.')
    >>> parse("yes-no", "**Yes**, because the passage says so.").value, parse("yes-no", "Perhaps.")
    (1.0, Parsed(value=None, reason='neither yes nor no'))
    >>> parse("rating-1-5", "It omits a name. Final score: 4/5").value
    0.75
    >>> parse("yes-no", "<think>Is it so? Yes.</think>No.").value, parse("yes-no", "<think>Yes. No. Is it")
    (0.0, Parsed(value=None, reason='cut off at its length limit'))
    """
    parser = _PARSERS[kind]
    reply = (reply or "").rpartition("</think>")[2].strip()  # a template may have written the opening mark
    if not reply:
        return Parsed(None, EMPTY)
    if reply.startswith("<think>"):
        return Parsed(None, CUT)
    value, reason = parser(reply if kind in _TEXTS else _BLANK.sub("\n\n", reply), cut)
    if value is None and is_refusal(reply):
        reason = REFUSAL
    return Parsed(value, None if value is not None else reason)


def is_refusal(reply: str) -> bool:
    """Whether the reply says that its writer will not answer, rather than answering.

    >>> is_refusal("I'm sorry, but I cannot help with that."), is_refusal("I'm sorry to say that Ann cannot come.")
    (True, False)
    """
    return bool(_REFUSED.match(reply.strip()))


#: The labels of a critique's parts, with ``SUPPORTED``; a text that speaks of "a revised claim: ..." has none.
_CRITIQUE = re.compile(r"(?<![^\W_])critique[\W_]*?:[*_]*", re.IGNORECASE)
_REVISED = re.compile(r"(?<![^\W_])(?:R|(?<!\w )r)(?i:evised claim)[\W_]*?:[*_]*")
#: With what the line of the next label begins.
_LABEL_MARKS = re.compile(r"(?:[*_#\s]+|\n[\W_]*(?:\d[.)][\W_]*)?)$")
#: "None of the patients died." and "Na levels rose." are claims.
_NO_REVISION = re.compile(
    r"^\W*(?:n/a\b|not applicable\b|(?:none|(?-i:NA|na))"
    r"(?:\W*$|\s*[.,;:!?()–—]|\s+-|\s+(?:(?:is )?(?:needed|required|necessary)|because|since)\b))",
    re.IGNORECASE,
)


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
    """The labelled parts in any order. A critique without its label stands above the others, or after the answer.

    >>> _critique_block("Supported: No\\n\\nCritique: It says 20.\\n\\nRevised Claim: Ling had 20.", False)[0]
    CritiqueParts(text='It says 20.', support=0.0, revised='Ling had 20.')
    """
    critique = _CRITIQUE.search(reply)
    revised = next(reversed([*_REVISED.finditer(reply)]), None)
    above = reply[: revised.start()] if revised else reply
    support, reason = supported(above, cut and not revised)
    if support is None and revised:
        support, reason = supported(reply, cut)
    if support is None:
        return None, reason
    # The answer is the last one, but for one on the claim as revised.
    bare = [part.replace("_", " ") for part in (above, reply)]
    answer = next((answers[-1] for part in bare if (answers := [*SUPPORTED.finditer(part)])), None)
    starts = sorted(label.start() for label in (critique, answer, revised) if label)

    def part(start: int) -> str:
        end = next((other for other in starts if other >= start), None)
        return _strip(reply[start:] if end is None else _LABEL_MARKS.sub("", reply[start:end]))

    text = part(critique.end()) if critique else part(0)
    if not text and answer:
        text = re.sub(r"^[\W_]+", "", part(answer.end()))
    new = part(revised.end()) if revised and not cut else ""
    return CritiqueParts(text, support, None if not new or _NO_REVISION.match(new) else new), ""


#: A number written as a rating: named, out of five, or by itself; "4 people died" and "4.5 million left" are comments.
_RATED = re.compile(
    r"^\W*(?:consistency\W*[1-5](?:\.\d)?(?:\s*/\s*5)?(?!\w)"
    r"|[1-5](?:\.\d)?(?:\s*/\s*5(?!\w)|(?![ \t]*(?:[\w%]|,\s*\d)|-\w|\.\d)))[*_]*[\s.,:)\-–—]*",
    re.IGNORECASE,
)


def _rating_comment(reply: str, cut: bool) -> tuple[CritiqueParts | None, str]:
    support, _ = one_to_five(reply, cut)
    comment = _RATED.sub("", reply).strip()
    if not comment:
        return None, "a score without a comment"
    return CritiqueParts(comment, support), ""


def _whole(text: str, cut: bool, marked: bool = False) -> tuple[str | None, str]:
    """A text that a model was asked to write, where it wrote it to its end; one that it announced is no refusal."""
    if not marked and is_refusal(text):
        return None, REFUSAL
    if cut:
        return None, CUT
    return (text, "") if text else (None, EMPTY)


def _after(marker: str, reply: str) -> tuple[str, bool]:
    """What follows a heading, or all of the reply, and whether it has the heading."""
    parts = re.split(rf"(?<![^\W_]){marker}[\W_]*?:[*_]*", reply, maxsplit=1, flags=re.IGNORECASE)
    return _strip(parts[-1]), len(parts) > 1


#: A last paragraph on how the text was written; "Note: All times are in BST." is part of a summary.
_NOTE = re.compile(
    r"[\W_]*(?:explanation|changes made|note(?=.*\b(?:(?-i:I)(?!\.)|summary|claims?|revis\w+|remov\w+|original|feedback"
    r"|unsupported|passage|document|article)\b))[*_ \t]*:"
    r"(?:[*_ \t]*(?:\n\s*(?:[-*•]|\d{1,3}[.)])[^\n]*)+|(?:(?!\n\s*\n).)+)",
    re.IGNORECASE | re.DOTALL,
)


def _written(text: str, cut: bool, marked: bool) -> tuple[str | None, str]:
    """A text that was asked for, without a note on it at its end."""
    for gap in re.finditer(r"\n\s*\n", text):
        if _NOTE.fullmatch(text, gap.end()):
            text = _strip(text[: gap.start()])
            break
    return _whole(text, cut, marked)


def _corrected(reply: str, cut: bool) -> tuple[str | None, str]:
    """What follows "Corrected summary:", or the reply as a text."""
    text, marked = _after("corrected summary", reply)
    return _written(text, cut, marked) if marked else _text(reply, cut)


def _feedback(reply: str, cut: bool) -> tuple[CritiqueParts | None, str]:
    """A comment, which is of use without its end, too."""
    text, reason = _whole(_after("feedback", reply)[0], cut=False)
    return (CritiqueParts(text), "") if text else (None, reason)


#: "Sure!", "Of course, here is the summary." and the like; "OK Go released a video" begins a text.
_PREAMBLE = re.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok)(?: thing)?(?=\W*\n|[,.:;!]|\s+[-–—]|\s+(?:here|the following|i)\b)"
    r"(?:[^\n]*[:!]|\W*|[^\n]*\b(?:happy to|glad to|no problem|let['’]s (?:do|go|see)|let me|below|"
    r"(?:summary|version|text)\b[^\n]*\bfollow(?:s|ing)?)\b[^\n]*"
    r"|[^\n]*\b(?:here(?: is| are|['’]s)|i(?: can| will| would| have|['’](?:ll|d|ve)))\b[^\n]*)[*_ \t]*\n+)?"
    r"(?P<marker>[*_#\s]*(?:here(?: i|['’])s (?:the|a|my) [^\n]*?(?:summary|version)[^\n:]*"
    r"|(?:revised |corrected )?summary\W*):[*_]*\s*"
    r"|(?:#+[ \t]*[*_]*|\*\*|__)(?:revised |corrected )?summary[*_ \t]*\n\s*)?",
    re.IGNORECASE,
)


def _text(reply: str, cut: bool) -> tuple[str | None, str]:
    """The reply without a preamble ("Here is the revised summary:") and without a note at its end."""
    text = _strip(reply)
    preamble = _PREAMBLE.match(text)
    return _written(_strip(text[preamble.end() :]), cut, marked=bool(preamble["marker"]))


_PARSERS: dict[str, Callable[[str, bool], tuple[Any, str]]] = {
    "list": bullets,
    "json-claims": json_claims,
    "sentences": sentences,
    "yes-no": yes_no,
    "hallucinated-yes-no": hallucinated,
    "true-false": answer_first("true", "false"),
    "final-yes-no": final_yes_no,
    "supported-reasoning": supported,
    "supported-label": supported_label,
    "claims-supported": claims_supported,
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
