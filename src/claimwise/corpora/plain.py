"""A user's summary without its layout, which metrics would read as claims: HTML, Markdown, list numbers, lead-ins.

Only what is rarely anything else is taken off; whatever is left stands as it stood. A parser of Markdown takes every mark
for what it may be: "It rained." above "---" would be a heading, and "12. May was the date." the item of a list.
"""

import html
import re

#: The tags of running text; ``<5 mg>`` and ``<name>`` are none.
TAG = re.compile(
    r"</?(?:a|answer|article|b|blockquote|body|br|div|em|h[1-6]|html|i|img|li|ol|p|script|section|span|strong|su[bp]|summary"
    r"|t[dhr]|table|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
#: What begins an item of a list.
ITEM = re.compile(r"\s*(?:[-*•–+]|\d{1,2}[.)]|\(?[a-z][.)]|[ivx]{1,4}[.)])\s+(?=\S)")

#: What nobody reads: a model's thoughts, and what a browser runs or draws by.
_UNSEEN = re.compile(r"<(think|thinking|script|style)\b[^<>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_INLINE = re.compile(r"</?(?:a|b|em|i|img|span|strong|su[bp])\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*\(?(\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s+(?=\S)")
_DATE = re.compile(
    r"\s*1[.)] (?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
#: The items of a list within a line: "It says: (1) one thing; (2) another".
_WITHIN = re.compile(r"(^|[:;,]\s+(?:and\s+)?)\(?(\d)\)\s+(?=\w)", re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:(?:>|#{1,6}|[-*•–+])\s+)+(?=\S)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_|~~|`+)(?=[^\s_])((?:(?!\1).)+)(?<=[^\s_])\1(?![\w*])")
_HEADING = re.compile(r"#{1,6}\s+\S.*|<h[1-6]\b.*|(\*\*|__)[^*_]+(?<![.!?])\1:?", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"(?:sure\W+|certainly\W+)?(?:here(?: is| are|['’]s)|below (?:is|are)|the following|in summary)\b", re.I
)
#: What a chatbot says before a summary on the same line; nowhere else is it taken off.
_OPENING = re.compile(
    r"\s*(?:tl;?dr|(?:brief |concise |short )?summary|(?:sure\W+|certainly\W+)?here(?: is|['’]s) (?:a|the|your) "
    r"(?:[\w-]+,? ){0,4}summary\b[^:.!?\n]{0,80}):\s*(?=\W*\w)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\W*(?:let me know if (?:you|there)|(?:i )?hope this (?:summary )?helps|feel free to (?:ask|reach out))\b.*",
    re.IGNORECASE,
)
_LABEL_WORDS = 3  # the most of a label ("Key points:")


def has_words(text: str) -> bool:
    """Whether a text says anything: "---" and "* * *" do not."""
    return any(map(str.isalnum, text))


def plain(summary: str) -> str:
    """The summary without tags and marks; of headings, lead-ins, rules and a chatbot's last words nothing is left.

    >>> plain("## News\\n1. **Ann** left, see [this](http://a.b).\\n2. It <b>rained</b> &amp; `snowed`.\\n---").split("\\n")
    ['', 'Ann left, see this.', 'It rained & snowed.', '']
    >>> plain("1. Ann left.")
    'Ann left.'
    >>> plain("It rained. 2 * 3 < 7\\n12. May was the date.")
    'It rained. 2 * 3 < 7\\n12. May was the date.'
    >>> plain("<think>Short.</think>The report says: (1) it rained; (2) Ann left.\\nLet me know if you need more!").strip()
    'The report says: it rained; Ann left.'
    >>> plain("**TL;DR:** It rained."), plain("Here is a summary of the document: It rained. Summary: no.")
    ('It rained.', 'It rained. Summary: no.')
    """
    text = _UNSEEN.sub("\n", summary)
    if TAG.search(text):
        text = html.unescape(TAG.sub(lambda tag: "" if _INLINE.match(tag[0]) else "\n", text))
    lines = _without_closing(text.splitlines())
    numbered, listed = _is_numbered(lines), _is_listed(lines)
    read = []
    for at, line in enumerate(lines):
        follows = any(map(has_words, lines[at + 1 :]))
        if not has_words(line) or (follows and _announces(line.strip())):
            read.append("")
            continue
        line = _LINK.sub(r"\1", _BULLET.sub("", line))
        line = _NUMBERED.sub("", line, 1) if numbered else line
        line = _WITHIN.sub(r"\1", line) if listed else line
        for _ in range(2):  # one in the other
            line = _EMPHASIS.sub(r"\2", line)
        read.append(line)
    if opening := _OPENING.match("\n".join(read)):
        return plain("\n".join(read)[opening.end() :])
    return summary if read == summary.splitlines() else "\n".join(read)


def _without_closing(lines: list[str]) -> list[str]:
    """The lines, of a chatbot's last words none; a summary of nothing else keeps its first."""
    spoken = [at for at, line in enumerate(lines) if has_words(line)]
    while len(spoken) > 1 and _CLOSING.fullmatch(lines[spoken[-1]]):
        lines[spoken.pop()] = ""
    return lines


def _is_numbered(lines: list[str]) -> bool:
    """Whether what lines begin with are the numbers of a list; of a single item where it stands alone, or below others."""
    spoken = [line for line in lines if has_words(line)]
    items = [line for line in spoken if _NUMBERED.match(line)]
    if [_NUMBERED.match(line)[1] for line in items] == ["1"]:
        return (len(spoken) == 1 or items != spoken[:1]) and not _DATE.match(items[0])
    return len({_NUMBERED.match(line)[1] for line in items}) > 1


def _is_listed(lines: list[str]) -> bool:
    """Whether items of a list stand within lines: 1), 2) and so on, none left out."""
    items = [int(number) for _, number in _WITHIN.findall("\n".join(lines))]
    return len(items) > 1 and items == list(range(1, len(items) + 1))


def _announces(line: str) -> bool:
    """Whether a line only leads to those that follow."""
    if _HEADING.fullmatch(line):
        return True
    return line.endswith(":") and (len(line.split()) <= _LABEL_WORDS or bool(_LEAD_IN.match(line)))
