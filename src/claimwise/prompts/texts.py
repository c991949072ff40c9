"""Texts and critiques in replies: without preambles, headings, marks around them, and notes on how they were written."""

from __future__ import annotations

import re
from typing import NamedTuple

from claimwise.prompts.answers import SUPPORTED, last, one_to_five, supported
from claimwise.reasons import Parsed, Reason


class CritiqueParts(NamedTuple):
    """The parts of a critique; ``support`` and ``revised`` are None where the reply has none."""

    text: str
    support: float | None = None
    revised: str | None = None


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


def is_refusal(reply: str) -> bool:
    """Whether the reply says that its writer will not answer, rather than answering.

    >>> is_refusal("I'm sorry, but I cannot help with that."), is_refusal("I'm sorry to say that Ann cannot come.")
    (True, False)
    """
    return bool(_REFUSED.match(reply.strip()))


# -- critiques -------------------------------------------------------------------------------------

#: The labels of a critique's parts, with ``SUPPORTED``; a text that speaks of "a revised claim: ..." has none.
_CRITIQUE = re.compile(r"(?<![^\W_])critique[\W_]*?:[*_]*", re.IGNORECASE)
_REVISED = re.compile(r"(?<![^\W_])(?:R|(?<!\w )r)(?i:evised claim)[\W_]*?:[*_]*")
#: With what the line of the next label begins.
_LABEL_MARKS = re.compile(r"(?:[*_#\s]{1,40}|\n[\W_]{0,40}(?:\d[.)][\W_]{0,40})?)$")
#: "None of the patients died." and "Na levels rose." are claims.
_NO_REVISION = re.compile(
    r"^\W*(?:n/a\b|not applicable\b|(?:none|(?-i:NA|na))"
    r"(?:\W*$|\s*[.,;:!?()–—]|\s+-|\s+(?:(?:is )?(?:needed|required|necessary)|because|since)\b))",
    re.IGNORECASE,
)


def critique_block(reply: str, cut: bool) -> Parsed:
    """The labelled parts in any order. A critique without its label stands above the others, or after the answer.

    >>> critique_block("Supported: No\\n\\nCritique: It says 20.\\n\\nRevised Claim: Ling had 20.", False).value
    CritiqueParts(text='It says 20.', support=0.0, revised='Ling had 20.')
    """
    critique = _CRITIQUE.search(reply)
    revised = last(_REVISED, reply)
    above = reply[: revised.start()] if revised else reply
    support, reason = supported(above, cut and not revised)
    if support is None and revised:
        support, reason = supported(reply, cut)
    if support is None:
        return Parsed(None, reason)
    # The answer is the last one, but for one on the claim as revised.
    answer = last(SUPPORTED, above.replace("_", " ")) or last(SUPPORTED, reply.replace("_", " "))
    starts = sorted(label.start() for label in (critique, answer, revised) if label)

    def part(start: int) -> str:
        end = next((one for one in starts if one >= start), len(reply))
        return _strip(_LABEL_MARKS.sub("", reply[start:end]))

    text = part(critique.end() if critique else 0)
    if not text and not critique:
        text = re.sub(r"^[\W_]+", "", part(answer.end()))
    new = part(revised.end()) if revised and not cut else ""
    return Parsed(CritiqueParts(text, support, None if not new or _NO_REVISION.match(new) else new))


#: A number written as a rating: named, out of five, or by itself; "4 people died" and "4.5 million left" are comments.
_RATED = re.compile(
    r"^\W*(?:consistency\W*[1-5](?:\.\d)?(?:\s*/\s*5)?(?!\w)"
    r"|[1-5](?:\.\d)?(?:\s*/\s*5(?!\w)|(?![ \t]*(?:[\w%]|,\s*\d)|-\w|\.\d)))[*_]*[\s.,:)\-–—]*",
    re.IGNORECASE,
)


def rating_comment(reply: str, cut: bool) -> Parsed:
    """A comment, and the rating before it or in it, if there is one.

    >>> rating_comment("2. One name is wrong.", False).value
    CritiqueParts(text='One name is wrong.', support=0.25, revised=None)
    """
    comment = _RATED.sub("", reply).strip()
    if not comment:
        return Parsed(None, "a score without a comment")
    return Parsed(CritiqueParts(comment, one_to_five(reply, cut).value))


def feedback(reply: str, cut: bool) -> Parsed:
    """A comment, which is of use without its end, too."""
    text, reason = _whole(_after("feedback", reply)[0], cut=False)
    return Parsed(CritiqueParts(text) if text else None, reason)


# -- texts -----------------------------------------------------------------------------------------

#: What a text may stand in as a whole: quotes, emphasis, code.
_WRAPS = (("```", "```"), ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ('"', '"'), ("“", "”"))


def _strip(text: str) -> str:
    """The text without white space, and without the marks that all of it stands in.

    Marks of a part stay: ``Ann said "no"`` ends in a quotation mark of its own.
    """
    text = text.strip()
    for first, end in _WRAPS:
        inner = text[len(first) : -len(end)]
        if text == f"{first}{inner}{end}" and first not in inner and end not in inner:
            return _strip(inner)
    return text


def _whole(text: str, cut: bool, marked: bool = False) -> Parsed:
    """A text that a model was asked to write, where it wrote it to its end; one that it announced is no refusal."""
    if not marked and is_refusal(text):
        return Parsed(None, Reason.REFUSAL)
    if cut:
        return Parsed(None, Reason.CUT)
    return Parsed(text) if text else Parsed(None, Reason.EMPTY_REPLY)


def _after(marker: str, reply: str) -> tuple[str, bool]:
    """What follows a heading, or all of the reply, and whether it has the heading."""
    parts = re.split(rf"(?<![^\W_]){marker}[\W_]*?:[*_]*", reply, maxsplit=1, flags=re.IGNORECASE)
    return _strip(parts[-1]), len(parts) > 1


#: How a note on how the text was written begins; "Note: All times are in BST." is part of a summary.
_NOTE = re.compile(r"[\W_]{0,40}(?:explanation|changes made|(?P<note>note))[*_ \t]*:", re.IGNORECASE)
_ON_WRITING = re.compile(
    r"\b(?:(?-i:I)(?!\.)|summary|claims?|revis\w+|remov\w+|original|feedback|unsupported|passage|document|article)\b",
    re.IGNORECASE,
)
_GAP = re.compile(r"\n\s*\n")
_ITEMS = re.compile(r"[*_ \t]*(?:\n\s*(?:[-*•]|\d{1,3}[.)])[^\n]*)+")


def _written(text: str, cut: bool, marked: bool) -> Parsed:
    """A text that was asked for, without a note on it at its end: a last paragraph, or a list after "Changes made:"."""
    for gap in _GAP.finditer(text):
        note = _NOTE.match(text, gap.end())
        at_end = note and (_ITEMS.fullmatch(text, note.end()) or not _GAP.search(text, note.end()))
        if at_end and (not note["note"] or _ON_WRITING.search(text, note.end())):
            text = _strip(text[: gap.start()])
            break
    return _whole(text, cut, marked)


def corrected(reply: str, cut: bool) -> Parsed:
    """What follows "Corrected summary:", or the reply as a text."""
    text, marked = _after("corrected summary", reply)
    return _written(text, cut, marked) if marked else plain_text(reply, cut)


#: "Sure!", "Of course, here is the summary." and the like; "OK Go released a video" begins a text.
_PREAMBLE = re.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok)(?: thing)?(?=\W{0,40}\n|[,.:;!]|\s+[-–—]|\s+(?:here|the following|i)\b)"
    r"(?:[^\n]{0,200}[:!]|\W{0,40}|[^\n]{0,200}\b(?:happy to|glad to|no problem|let['’]s (?:do|go|see)|let me|below|"
    r"(?:summary|version|text)\b[^\n]{0,200}\bfollow(?:s|ing)?)\b[^\n]{0,200}"
    r"|[^\n]{0,200}\b(?:here(?: is| are|['’]s)|i(?: can| will| would| have|['’](?:ll|d|ve)))\b[^\n]{0,200})[*_ \t]{0,40}\n+)?"
    r"(?P<marker>[*_#\s]{0,40}(?:here(?: i|['’])s (?:the|a|my) [^\n]{0,200}?(?:summary|version)[^\n:]{0,200}"
    r"|(?:revised |corrected )?summary\W{0,40}):[*_]*\s*"
    r"|(?:#+[ \t]*[*_]*|\*\*|__)(?:revised |corrected )?summary[*_ \t]*\n\s*)?",
    re.IGNORECASE,
)


def plain_text(reply: str, cut: bool) -> Parsed:
    """The reply without a preamble ("Here is the revised summary:") and without a note at its end."""
    text = _strip(reply)
    preamble = _PREAMBLE.match(text)
    return _written(_strip(text[preamble.end() :]), cut, marked=bool(preamble["marker"]))
