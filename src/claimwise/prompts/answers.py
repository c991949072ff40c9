"""Answers in replies: yes or no, first or after the reasoning, and "supported" in its degrees, as 1.0, 0.25 or 0.0."""

from __future__ import annotations

import re
from collections.abc import Callable

from claimwise.prompts.lists import CUT

_MARKUP = re.compile(r"[*_`#\"“”]+")
_PREFIX = r"(?:(?:the |my |final |short )*(?:answer|verdict|response|statement)(?: is)?\s*[:\-]?\s*)?"


def answer_first(yes: str, no: str) -> Callable[[str, bool], tuple[float | None, str]]:
    """Reader of a reply that gives one of two words first, or as a sentence of its own at the end.

    >>> answer_first("true", "false")("False: it poured.", False)
    (0.0, '')
    """
    first = re.compile(rf"\W*{_PREFIX}({yes}|{no})\b(?!\s*(?:and|or|/)\s*(?:{yes}|{no})\b)", re.IGNORECASE)
    last = re.compile(rf"(?:^|[.!?:\n]\s*|\b(?:answer|verdict) (?:is|would be)\W*)({yes}|{no})\W*$", re.IGNORECASE)

    def read(reply: str, cut: bool) -> tuple[float | None, str]:
        text = _MARKUP.sub("", reply)
        found = first.match(text) or last.search(text)
        if not found:
            return None, f"neither {yes} nor {no}"
        return float(found.group(1).lower() == yes), ""

    return read


yes_no = answer_first("yes", "no")


def hallucinated(reply: str, cut: bool) -> tuple[float | None, str]:
    """HaluEval's question: "yes" says that something is hallucinated.

    >>> hallucinated("Yes", cut=False)
    (0.0, '')
    """
    value, reason = yes_no(reply, cut)
    return (None if value is None else 1.0 - value), reason


#: What follows a yes or no that is an answer: "No contradictions were found" is none, and neither is "No. 1".
_END = (
    r"(?:(?=['’\"”*_`\])}]{0,4}(?:\s*$|[.,;:!?)–—<|…→]|\s*\n|\s+[-–—(]))(?!\.[ \t]*\d)"
    r"|(?=\s+(?:the|it|this|that|there|because|since|as|not)\b))"
)
_ANSWER = re.compile(
    r"\b(?:answer|verdict)(?: to (?:the|this|your) question)?(?:\s*\(yes(?: or |/)no\))?"
    rf"(?:\s+(?:is|would be|must be)\b(?:\W{{0,3}}(?:therefore|thus|\w+ly)\b)?|\s*[:=>–—-]|\s*\n)\W{{0,4}}(yes|no)\b(?:{_END}|(?=\s*[^\w\s.]))",
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"(?:^|[.!?:\n][\s(\[]*|\b(?:conclusion|therefore|thus|so|hence|overall),?\s+)(yes|no)\b{_END}", re.IGNORECASE
)
_FINAL_WORDS = re.compile(
    r"\b(?:is|are|was|it['’]s|summary|statement|remains|appears|seems)"
    r"(?P<between>(?:n['’]t)?(?:,?\s+(?!but\b)[\w'’]+,?){0,3}?)\s+(?P<un>in)?consistent\b(?![^.!?\n]*\?)",
    re.IGNORECASE,
)
#: What a sentence says of no summary, or only of a part of it.
_SUPPOSED = re.compile(
    r"\b(?:(?:if|whether|unless)\b[^,;]*|(?:not|cannot|n['’]t)\b[^,;]*\bthat\b[^,;]*"
    r"|(?:rest|others?|otherwise|remaining|remainder|some|parts?)\b[^,;]*)$",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    r"\b(?:therefore|thus|so|hence|overall|consequently|finally|in (?:conclusion|summary|short)|as a result)\b", re.I
)
_PARTLY = re.compile(r"\b(?:partially|partly|mostly|largely|generally|somewhat)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:not|never|no(?!,| doubt\b| question\b)|none|nothing|neither|nor|non|cannot|without|hardly|barely|nowhere)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)


def _consistency(text: str) -> tuple[int, float, bool] | None:
    """Where a text last says "(in)consistent" of what it judges, which of them, and whether as a conclusion."""
    for found in reversed([*_FINAL_WORDS.finditer(text, max(0, len(text) - 300))]):
        before = re.split(r"[.!?\n]", text[: found.start()])[-1]
        if _SUPPOSED.search(before):
            continue
        if _PARTLY.search(found["between"]) and not found["un"]:
            return None
        denied = bool(_DENIED.search(found["between"])) != bool(found["un"])
        return found.start(), float(not denied), bool(_CONCLUDED.search(before + found["between"]))
    return None


def _last(pattern: re.Pattern, text: str) -> re.Match | None:
    return next(reversed([*pattern.finditer(text)]), None)


def final_yes_no(reply: str, cut: bool) -> tuple[float | None, str]:
    """The last "Answer: ..." of a reply that reasons first; else its last yes or no, or a later "(in)consistent".

    Later words that go against the answer stand if they conclude ("Therefore ..."); else they leave a bare "No." unclear.
    Of a reply that was cut off only "Answer: ..." is read: what else it says may be a step of the reasoning.

    >>> final_yes_no("No date is wrong. The summary is therefore consistent.", cut=False)
    (1.0, '')
    >>> final_yes_no("Is the place right? Yes. Is the da", cut=True)
    (None, 'cut off at its length limit')
    """
    text = _MARKUP.sub("", reply)
    named = _last(_ANSWER, text)
    said = named or (None if cut else _last(_SAID, text))
    words = None if cut else _consistency(text)
    if said is None:
        return (words[1], "") if words else (None, CUT if cut else "no final yes or no")
    value = float(said[1].lower() == "yes")
    if words and words[0] > said.start() and words[1] != value:
        if words[2]:
            return words[1], ""
        if not named:
            return None, "an answer, and then its opposite"
    return value, ""


#: The label of an answer: "Supported: Yes", "**Supported** (Yes/No): No", "[Supported - yes]". An answer that stands in a
#: sentence ("is fully supported: no discrepancy was found"), or has no colon or the like before it, has to end there.
SUPPORTED = re.compile(
    r"(?<!not )(?<!Not )(?:(?P<label>\bS|(?<!\w )\bs)|\bs)(?i:upported)(?:\s*[\[(]\s*(?i:yes\s*(?:/|or)\s*no)\s*[\])])?"
    r"(?:(?P<colon>[^\w.,;!\n]{0,8}?[:?=>|–—(\[-][^\w.;]{0,12}?)|(?(label)\W{1,12}?|(?!)))"
    rf"(?P<answer>(?i:yes|no))\b(?!\s*(?:/|or\b)\s*(?i:yes|no)\b)(?(colon)(?(label)|{_END})|{_END})"
)


def supported(reply: str, cut: bool) -> tuple[float | None, str]:
    """The last "Supported: Yes" or "Supported: No"; of a reply that was cut off, one that begins or ends its line.

    >>> supported("Reasoning: it is supported. No date is wrong. Supported: Yes", cut=False)
    (1.0, '')
    >>> supported('Reasoning: "Supported: No" would be wro', cut=True)
    (None, 'cut off at its length limit')
    """
    text = _MARKUP.sub("", reply)
    found = _last(SUPPORTED, text)
    if cut and found:
        line = text[: found.start()].rpartition("\n")[2], text[found.end() :].partition("\n")[0]
        if all(re.search(r"\w", part) for part in line):
            found = None  # the reasoning may speak of the form
    if not found:
        return None, CUT if cut else "no 'Supported: Yes' or 'Supported: No'"
    return float(found["answer"].lower() == "yes"), ""


_LABEL = re.compile(r"(?<![a-z])(un[\s-]?)?supported(?![a-z])", re.IGNORECASE)
_LABEL_PLACE = re.compile(r"<answer>(.*?)(?:</answer>|$)", re.IGNORECASE | re.DOTALL)
_OPENING = re.compile(r"\W*(?:(?:not|partially|fully|un)[\s_-]*)?supported(?![a-z])", re.IGNORECASE)
#: The words before a label that it stands with: those of its clause.
_BEFORE = re.compile(r"(?:[\w'’]+[^\w.;:!?\n<>]+){0,8}$")
_CLAUSE = re.compile(
    r"^.*(?:\b(?:but|only|and|rather|while|although|though|because|since|so)\b|,(?=[^,]*\b(?:is|are|was|were|be)\b[^,]*$))",
    re.IGNORECASE | re.DOTALL,
)
_PART = re.compile(r"\bpart(?:ial)?ly\b", re.IGNORECASE)
#: After a denial, what leaves open whether a part is supported, or whether the label is meant.
_OPEN = re.compile(r"\b(?:fully|completely|entirely|wholly|totally|all|that|whether|if)\b", re.IGNORECASE)


def supported_label(reply: str, cut: bool) -> tuple[float | None, str]:
    """WiCE's three labels; a partially supported claim lies below one half, since not all of it is supported.

    >>> [supported_label(reply, cut=False)[0] for reply in ("partially_supported", "It isn't supported.")]
    [0.25, 0.0]
    >>> supported_label("The claim is not fully supported.", cut=False)
    (None, 'unclear whether in part or not supported')
    """
    place = _LABEL_PLACE.findall(reply)
    if cut and not place and not _OPENING.match(reply):
        return None, CUT
    labels = _labels(re.sub(r"[_*]+", " ", place[-1] if place else reply))
    if len(labels) != 1:
        return None, "several labels" if labels else "no label"
    label = labels.pop()
    return (None, "unclear whether in part or not supported") if label == "unclear" else (_SHARES[label], "")


_IS = re.compile(r"\b(?:is|are|was|were)\b", re.IGNORECASE)
_SHARES = {"yes": 1.0, "part": 0.25, "no": 0.0}


def _labels(text: str) -> set[str]:
    """The labels that a text names; "unclear" where one is denied, but not outright ("not fully supported")."""
    labels = set()
    for found in _LABEL.finditer(text):
        before = _CLAUSE.sub("", _BEFORE.search(text[max(0, found.start() - 200) : found.start()])[0])
        answer = SUPPORTED.match(text, found.start())
        if found[1] or (answer and answer["answer"].lower() == "no"):
            labels.add("no")
        elif denial := _DENIED.search(before):
            apart = (
                _IS.search(before, denial.end()) and before[: denial.start()].strip()
            )  # "that he did not is supported"
            unclear = _PART.search(before) or _OPEN.search(before, denial.end()) or apart
            labels.add("unclear" if unclear else "no")
        else:
            labels.add("part" if _PART.search(before) else "yes")
    return labels


#: A claim's "Supported:" with another answer, or none; "whether each is supported:" announces the list.
_NEITHER = re.compile(r"(?:\bS|(?<!\w )\bs)upported\W*:\W*(?!\W|(?i:yes|no)\b)")


def claims_supported(reply: str, cut: bool) -> tuple[float | None, str]:
    """The product of the claims' 0/1 verdicts (Factored Verification eq. 1), which one "No" decides.

    >>> claims_supported("- It rained. Supported: Yes\\n- We left. Supported: No", cut=False)
    (0.0, '')
    """
    text = _MARKUP.sub("", reply)
    answers = [found["answer"].lower() == "yes" for found in SUPPORTED.finditer(text)]
    if not answers:
        return None, "no claim with 'Supported: Yes' or 'Supported: No'"
    if cut and all(answers):
        return None, "the reply was cut off before its last claim"
    if all(answers) and _NEITHER.search(text):
        return None, "a claim with neither 'Supported: Yes' nor 'Supported: No'"
    return float(all(answers)), ""
