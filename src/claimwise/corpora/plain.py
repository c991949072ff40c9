"""Remove the layout of a user's summary, which metrics would read as claims: HTML, Markdown, list numbers, lead-ins.

Only marks that are almost always layout are removed; the rest of the text is unchanged. A Markdown parser would remove too
much: to it "It rained." above "---" is a heading, and "12. May was the date." is an item of a list.
"""

import html
import re

#: HTML tags of running text; ``<5 mg>`` and ``<name>`` are no tags.
TAG = re.compile(
    r"</?(?:a|answer|article|b|blockquote|body|br|div|em|h[1-6]|html|i|img|li|ol|p|script|section|span|strong|su[bp]|summary"
    r"|t[dhr]|table|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
#: The mark at the beginning of an item of a list.
ITEM = re.compile(r"\s*(?:[-*•–+]|\d{1,2}[.)]|\(?[a-z][.)]|[ivx]{1,4}[.)])\s+(?=\S)")

#: Text that readers do not see: a model's thoughts, scripts and styles.
_UNSEEN = re.compile(r"<(think|thinking|script|style)\b[^<>]*>.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_INLINE = re.compile(r"</?(?:a|b|em|i|img|span|strong|su[bp])\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*\(?(\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s+(?=\S)")
_DATE = re.compile(
    r"\s*1[.)] (?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
#: The numbers of a list within a line: "It says: (1) one thing; (2) another".
_WITHIN = re.compile(r"(^|[:;,]\s+(?:and\s+)?)\(?(\d)\)\s+(?=\w)", re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:(?:>|#{1,6}|[-*•–+])\s+)+(?=\S)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_|~~|`+)(?=[^\s_])((?:(?!\1).)+)(?<=[^\s_])\1(?![\w*])")
_HEADING = re.compile(r"#{1,6}\s+\S.*|<h[1-6]\b.*|(\*\*|__)[^*_]+(?<![.!?])\1:?", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"(?:sure\W+|certainly\W+)?(?:here(?: is| are|['’]s)|below (?:is|are)|the following|in summary)\b", re.I
)
#: A chatbot's words before a summary, in the same line. They are removed only at the beginning.
_OPENING = re.compile(
    r"\s*(?:tl;?dr|(?:brief |concise |short )?summary|(?:sure\W+|certainly\W+)?here(?: is|['’]s) (?:a|the|your) "
    r"(?:[\w-]+,? ){0,4}summary\b[^:.!?\n]{0,80}):\s*(?=\W*\w)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\W*(?:let me know if (?:you|there)|(?:i )?hope this (?:summary )?helps|feel free to (?:ask|reach out))\b.*",
    re.IGNORECASE,
)
_LABEL_WORDS = 3  # the most words of a label ("Key points:")


def has_words(text: str) -> bool:
    """Whether a text has words; "---" and "* * *" have none."""
    return any(map(str.isalnum, text))


def plain(summary: str) -> str:
    """The summary without tags and marks, and without headings, lead-ins, rules and a chatbot's last words.

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
    numbered, has_inline_list = _is_numbered(lines), _has_inline_list(lines)
    plain_lines = []
    for index, line in enumerate(lines):
        text_follows = any(map(has_words, lines[index + 1 :]))
        if not has_words(line) or (text_follows and _announces(line.strip())):
            plain_lines.append("")
            continue
        line = _LINK.sub(r"\1", _BULLET.sub("", line))
        line = _NUMBERED.sub("", line, 1) if numbered else line
        line = _WITHIN.sub(r"\1", line) if has_inline_list else line
        for _ in range(2):  # emphasis within emphasis
            line = _EMPHASIS.sub(r"\2", line)
        plain_lines.append(line)
    result = "\n".join(plain_lines)
    if opening := _OPENING.match(result):
        return plain(result[opening.end() :])
    return summary if plain_lines == summary.splitlines() else result  # keeps the summary's kind of line breaks


def _without_closing(lines: list[str]) -> list[str]:
    """The lines, with a chatbot's last words emptied. If there is nothing else, their first line is kept."""
    with_words = [index for index, line in enumerate(lines) if has_words(line)]
    while len(with_words) > 1 and _CLOSING.fullmatch(lines[with_words[-1]]):
        lines[with_words.pop()] = ""
    return lines


def _is_numbered(lines: list[str]) -> bool:
    """Whether numbers at the beginning of lines number a list. A single "1." does in the only line or below other lines."""
    with_words = [line for line in lines if has_words(line)]
    items = [line for line in with_words if _NUMBERED.match(line)]
    numbers = [_NUMBERED.match(line)[1] for line in items]
    if numbers == ["1"]:
        return (len(with_words) == 1 or items != with_words[:1]) and not _DATE.match(items[0])
    return len(set(numbers)) > 1


def _has_inline_list(lines: list[str]) -> bool:
    """Whether there is a list within lines, numbered 1), 2) and so on without gaps."""
    numbers = [int(number) for _, number in _WITHIN.findall("\n".join(lines))]
    return len(numbers) > 1 and numbers == list(range(1, len(numbers) + 1))


def _announces(line: str) -> bool:
    """Whether a line only introduces the lines after it."""
    if _HEADING.fullmatch(line):
        return True
    return line.endswith(":") and (len(line.split()) <= _LABEL_WORDS or bool(_LEAD_IN.match(line)))
