"""Read texts from replies: texts without preambles and notes, critiques, and lists of claims.

Lists have bullets and numbers of every kind, or are JSON, perhaps with errors.
"""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import yaml

from claimwise.prompts.answers import SUPPORTED, last, one_to_five, supported
from claimwise.reasons import Parsed, Reason
from claimwise.text import sentences as spans


class CritiqueParts(NamedTuple):
    """A critique; ``support`` is None if the reply has no verdict."""

    text: str
    support: float | None = None


_CANNOT = (
    r"(?:i (?:\w+ly )?(?:cannot|can not|can['’]?t|will not|won['’]t|am (?:\w+ly )?(?:not able|unable))"
    r"|i['’]m (?:\w+ly )?(?:not able|unable)|i['’]ll not)"
)
#: The writer is unable or unwilling. "Unfortunately for United, Smith will not play" may be a summary.
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
    """Whether a reply refuses to answer.

    >>> is_refusal("I'm sorry, but I cannot help with that."), is_refusal("I'm sorry to say that Ann cannot come.")
    (True, False)
    """
    return bool(_REFUSED.match(reply.strip()))


# -- critiques -------------------------------------------------------------------------------------

#: The labels of a critique's parts, besides ``SUPPORTED``. "A revised claim: ..." within a sentence is no label.
_CRITIQUE = re.compile(r"(?<![^\W_])critique[\W_]*?:[*_]*", re.IGNORECASE)
_REVISED = re.compile(r"(?<![^\W_])(?:R|(?<!\w )r)(?i:evised claim)[\W_]*?:[*_]*")
#: Marks and numbers at the beginning of the next label's line.
_LABEL_MARKS = re.compile(r"(?:[*_#\s]{1,40}|\n[\W_]{0,40}(?:\d[.)][\W_]{0,40})?)$")


def critique_block(reply: str, cut: bool) -> Parsed:
    """The critique and its verdict, in any order, without the revised claim.

    A critique without a label is the text above the other labels or, if there is none, the text after the verdict.

    >>> critique_block("Supported: No\\n\\nCritique: It says 20.\\n\\nRevised Claim: Ling had 20.", False).value
    CritiqueParts(text='It says 20.', support=0.0)
    """
    critique = _CRITIQUE.search(reply)
    revised = last(_REVISED, reply)
    above = reply[: revised.start()] if revised else reply
    support, reason = supported(above, cut and not revised)
    if support is None and revised:
        support, reason = supported(reply, cut)
    if support is None:
        return Parsed(None, reason)
    # The verdict is the last one above the revised claim: a later one may be about the revised claim.
    answer = last(SUPPORTED, above.replace("_", " ")) or last(SUPPORTED, reply.replace("_", " "))
    starts = sorted(label.start() for label in (critique, answer, revised) if label)

    def part(start: int) -> str:
        end = next((label_start for label_start in starts if label_start >= start), len(reply))
        return _strip(_LABEL_MARKS.sub("", reply[start:end]))

    text = part(critique.end() if critique else 0)
    if not text and not critique:
        text = re.sub(r"^[\W_]+", "", part(answer.end()))
    return Parsed(CritiqueParts(text, support))


#: A number that is a rating: with its label, out of five, or alone. "4 people died" and "4.5 million left" are comments.
_RATED = re.compile(
    r"^\W*(?:consistency\W*)?[1-5](?:\.\d)?(?:\s*/\s*5(?!\w)|(?![ \t]*(?:[\w%]|,\s*\d)|-\w|\.\d))[*_]*[\s.,:)\-–—]*",
    re.IGNORECASE,
)


def rating_comment(reply: str, cut: bool) -> Parsed:
    """A comment, and the rating before it or in it, if any.

    >>> rating_comment("2. One name is wrong.", False).value
    CritiqueParts(text='One name is wrong.', support=0.25)
    """
    if is_refusal(reply):
        return Parsed(None, Reason.REFUSAL)
    comment = _RATED.sub("", reply).strip()
    if not comment:
        return Parsed(None, "a score without a comment")
    return Parsed(CritiqueParts(comment, one_to_five(reply, cut).value))


def feedback(reply: str, cut: bool) -> Parsed:
    """A comment. One that was cut off is kept: it is useful without its end."""
    text, reason = _whole(_after("feedback", reply)[0], cut=False)
    return Parsed(CritiqueParts(text) if text else None, reason)


# -- texts -----------------------------------------------------------------------------------------

#: Marks that may be around a whole text: code, emphasis, quotes.
_WRAPS = (("```", "```"), ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ('"', '"'), ("“", "”"))


def _strip(text: str) -> str:
    """The text without outer white space, and without marks around the whole of it.

    Marks around a part are kept, as at the end of ``Ann said "no"``.
    """
    text = text.strip()
    for first, end in _WRAPS:
        inner = text[len(first) : -len(end)]
        if text == f"{first}{inner}{end}" and first not in inner and end not in inner:
            return _strip(re.sub(r"^\w+\n", "", inner) if first == "```" else inner)  # the language
    return text


def _whole(text: str, cut: bool, marked: bool = False) -> Parsed:
    """A text, unless it is cut off, empty or a refusal. A text after a heading (``marked``) is never a refusal."""
    if not marked and is_refusal(text):
        return Parsed(None, Reason.REFUSAL)
    if cut:
        return Parsed(None, Reason.CUT)
    return Parsed(text) if text else Parsed(None, Reason.EMPTY_REPLY)


def _after(marker: str, reply: str) -> tuple[str, bool]:
    """The text after a heading and True; if the reply has no such heading, all of it and False."""
    parts = re.split(rf"(?<![^\W_]){marker}[\W_]*?:[*_]*", reply, maxsplit=1, flags=re.IGNORECASE)
    return _strip(parts[-1]), len(parts) > 1


#: The beginning of a note on how the text was written. "Note: All times are in BST." and quoted words belong to a summary.
_NOTE = re.compile(
    r"[\W_]{0,40}(?:(?:explanation|changes made)[*_ \t]*:|(?<![\"“])(?:please )?let me know (?:if|what|whether)\b"
    r"|(?P<note>note[*_ \t]*:|(?<![\"“])i(?: have|['’]ve)? (?:removed|revised|corrected)\b))",
    re.IGNORECASE,
)
_ON_WRITING = re.compile(
    r"\b(?:(?-i:I)(?!\.)|summary|claims?|revis\w+|remov\w+|original|feedback|unsupported|passage|document|article)\b",
    re.IGNORECASE,
)
_GAP = re.compile(r"\n\s*\n")
_ITEMS = re.compile(r"[*_ \t]*(?:\n\s*(?:[-*•]|\d{1,3}[.)])[^\n]*)+")


def _written(text: str, cut: bool, marked: bool) -> Parsed:
    """A text without notes on its writing at its end; see ``_whole``."""
    while start := _note(text):
        text = _strip(text[:start])
    return _whole(text, cut, marked)


def _note(text: str) -> int:
    """Where a note at the text's end begins (a last paragraph, or a list after "Changes made:"); 0 if there is none."""
    for gap in _GAP.finditer(text):
        note = _NOTE.match(text, gap.end())
        at_end = note and (_ITEMS.fullmatch(text, note.end()) or not _GAP.search(text, note.end()))
        if at_end and (not note["note"] or _ON_WRITING.search(text, note.end())):
            return gap.start()
    return 0


def corrected(reply: str, cut: bool) -> Parsed:
    """The text after "Corrected summary:"; if there is no such heading, the reply as ``plain_text`` reads it."""
    text, marked = _after("corrected summary", reply)
    return _written(text, cut, marked) if marked else plain_text(reply, cut)


#: "Sure!", "Of course, here is the summary." and the like. "OK Go released a video" is no preamble.
_PREAMBLE = re.compile(
    r"^(?:(?:sure|certainly|of course|okay|ok)(?: thing)?(?=\W{0,40}\n|[,.:;!]|\s+[-–—]|\s+(?:here|the following|i)\b)"
    r"(?:[^\n]{0,200}[:!]|\W{0,40}|[^\n]{0,200}\b(?:happy to|glad to|no problem|let['’]s (?:do|go|see)|let me|below|"
    r"(?:summary|version|text)\b[^\n]{0,200}\bfollow(?:s|ing)?)\b[^\n]{0,200}"
    r"|[^\n]{0,200}\b(?:here(?: is| are|['’]s)|i(?: can| will| would| have|['’](?:ll|d|ve)))\b[^\n]{0,200})[*_ \t]{0,40}\n+)?"
    r"(?P<marker>[*_#\s]{0,40}(?:here(?: i|['’])s (?:the|a|my) [^\n]{0,200}?(?:summary|version)[^\n:]{0,200}"
    r"|(?:revised |corrected )?summary\W{0,40}"
    r"|[^\n:]{0,200}\b(?:revised summary|corrected summary|here(?: i|['’])s (?:the|a|my) [^\n:]{0,100}version)\b"
    r"[^\n:]{0,80}(?=:[*_ \t]*\n)):[*_]*\s*"
    r"|(?:#+[ \t]*[*_]*|\*\*|__)(?:revised |corrected )?summary[*_ \t]*\n\s*)?",
    re.IGNORECASE,
)


def plain_text(reply: str, cut: bool) -> Parsed:
    """The reply without a preamble ("Here is the revised summary:") and without a note at its end."""
    text = _strip(reply)
    if is_refusal(text):
        return Parsed(None, Reason.REFUSAL)
    preamble = _PREAMBLE.match(text)
    return _written(_strip(text[preamble.end() :]), cut, marked=bool(preamble["marker"]))


# -- lists of claims -------------------------------------------------------------------------------

_BULLET = re.compile(
    r"^\s*(?:[-*+•◦▪●·‣–—]|\(?\d{1,3}[.):\]](?!\d)|\(?(?-i:[a-h])[.)](?=\s)|\(?[A-H]\)(?=\s)|(?:fact|claim|acu)\s*\d+\s*[:.)-])"
    r"\s*(?P<item>\S.*)$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\**(?:independent |atomic )?(?:fact|claim|acu)(?:\s*#?\d+\**\s*[:.)-]|\**\s*:)\**\s*", re.IGNORECASE
)
#: A pair of marks around words, unlike a single asterisk, 2*3*4 and snake_case.
_EMPHASIS = re.compile(
    r"(?<![\w*])(\*{1,3})(?![\s*])(.{1,500}?)(?<![\s*])\1(?![\w*])|(?<!\w)(__?)(?![\s_])(.{1,500}?)(?<![\s_])\3(?!\w)"
)
_LEFT_OVER = re.compile(r"^\*+\s+|^\*{2,}|\s+\*+$|\*{2,}$")
#: A list that begins in the line of its heading: "The claims are: - It rained."
_INLINE = re.compile(
    r"^.*?(?:claims|facts)[^:\n]*:[*_]*[ \t]*(?P<items>(?:[-•]|(?<!\*)\*|\(?1[.)])[ \t]+\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
#: An emphasised line that does not end like a sentence. If it has a bullet, more indented bullets must follow.
_HEADING = re.compile(
    r"^(?P<indent>[ \t]*)(?P<bullet>(?:[-*+•]|\d{1,3}[.)])[ \t]+)?(?P<mark>\*{1,3}|__?)(?!\s|(?i:fact|claim|acu)?\s*\d)"
    r"(?:(?!(?P=mark)).)+(?<![\s.!?\"”])(?P=mark)[ \t]*$(?(bullet)(?=\n+(?P=indent)[ \t]+(?:[-*+•]|\d{1,3}[.)])[ \t]))",
    re.MULTILINE,
)
_MARK = re.compile(r"\s*([-•*]|\(?\d{1,3}[.)])\s")
#: The mark of a further item in a line. It follows the end of a sentence; the dot of "Fig. 2" is no such end.
_NEXT = re.compile(
    r"(?<=[.!?])(?<!\b(?i:no|vs)\.)(?<!\b(?i:fig|vol)\.)[ \t]+(?P<mark>[-•*]|\(?\d{1,3}[.)])[ \t]+(?=[\"“(]?[A-Z\d])"
)


def bullets(reply: str, cut: bool) -> Parsed:
    r"""The items of a list, without duplicates and without the text before and after the list.

    The lines of a wrapped item (the next line is indented, or begins with a small letter) are joined. A heading
    ("- People:", or "**People**" without a full stop) is not an item. An item that was cut off is left out, because the
    summary may not say what it seems to say.

    >>> bullets("The claims are:\n- It rained\n  all day.\n- **We** left.\n\nI hope this helps!", cut=False).value
    ('It rained all day.', 'We left.')
    >>> bullets("- It rained.\n- We le", cut=True).value, bullets("- It rai", cut=True).reason
    (('It rained.',), 'cut off at its length limit')
    """
    items: list[str] = []
    open_item = ended = False
    lines = _one_a_line(_HEADING.sub("", reply)).splitlines()
    for line, item in zip(lines, _items(lines), strict=True):
        if item:
            items.append(item)
            open_item, ended = True, False
        elif not line.strip():
            open_item, ended = False, True
        elif open_item and (line[0].isspace() or line.lstrip()[0].islower()):
            items[-1] += " " + line.strip()  # the item goes on
        else:
            open_item = False
    if cut and items and not ended:  # an item before an empty line is finished
        items.pop()
    return _unique((item for item in items if not item.rstrip("*").endswith(":")), cut)


def _one_a_line(reply: str) -> str:
    """The reply with one line per item, if a list is all in one line or begins in its heading's line.

    Claims in a heading's line may lack a full stop. If no later line has a bullet, any dash separates them.
    """
    heading = _INLINE.search(reply)
    if heading and not _BULLET.match(_plain(heading[0])):  # "- It has two claims: - ..." is an item
        start, end = heading.span("items")
        items = _split_items(heading["items"])
        if "\n" not in items and not any(_items(reply[end:].splitlines())):
            items = re.sub(r"\s([-•*])\s+", r"\n\1 ", items)
        return f"{reply[:start]}\n{items}{reply[end:]}"
    lines = reply.splitlines()
    with_item = [line for line, item in zip(lines, _items(lines), strict=True) if item]
    return reply.replace(with_item[0], _split_items(with_item[0])) if len(with_item) == 1 else reply


def _split_items(line: str) -> str:
    """The items of a line, one per line. A dash within a sentence or a number out of order does not begin an item."""
    first = _MARK.match(line)
    if not first:
        return line
    items, start, mark = [], 0, first[1]
    for candidate in _NEXT.finditer(line):
        expected = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), mark)
        if candidate["mark"] == expected:
            items.append(line[start : candidate.start()])
            start, mark = candidate.start("mark"), expected
    return "\n".join([*items, line[start:]])


def _items(lines: list[str]) -> list[str | None]:
    """The text after each line's bullet, None for a line without one.

    If no line has a bullet, each line that begins with emphasised words is an item, since ``*`` looks like a bullet.
    """
    plain = [None if re.fullmatch(r"[-*_=\s]+", line) else _plain(line).strip() for line in lines]
    items = [bullet["item"] if text and (bullet := _BULLET.match(text)) else None for text in plain]
    if any(items):
        return items
    return [text if _BULLET.match(line) else None for line, text in zip(lines, plain, strict=True)]


def _plain(item: str) -> str:
    """The item without marks of emphasis."""
    while (plain := _EMPHASIS.sub(lambda m: m[2] or m[4], item)) != item:
        item = plain
    return item


def _bare(item: str) -> str:
    """The item without emphasis, a label ("Fact 1:") and marks that are left over."""
    return _strip(_LEFT_OVER.sub("", _LABEL.sub("", _plain(item.strip())).strip()))


#: An item that is no claim: only a label, or "none".
_NO_CLAIM = re.compile(r"(?:(?:fact|claim|acu)\s*\d+|none|n/a|no (?:facts|claims))?[\W_]*", re.IGNORECASE)


def _unique(items: Iterable[str], cut: bool) -> Parsed:
    """The claims among the items, each once; without claims no value and the reason."""
    unique = tuple(dict.fromkeys(item for item in map(_bare, items) if not _NO_CLAIM.fullmatch(item)))
    unfinished = Reason.CUT if cut else None
    return Parsed(unique, unfinished) if unique else Parsed(None, unfinished or Reason.NO_LIST)


def sentences(reply: str, cut: bool) -> Parsed:
    """Every sentence but an unfinished last one (FENICE's T5 extractor writes only sentences).

    >>> sentences("It rained. We left. We le", cut=True).value, sentences("It rai", cut=True).reason
    (('It rained.', 'We left.'), 'cut off at its length limit')
    """
    if is_refusal(reply):
        return Parsed(None, Reason.REFUSAL)
    items = [span.text for span in spans(reply)]
    return _unique(items[:-1] if cut else items, cut)


#: Where JSON may begin; "[sic]" and "[1]" are no JSON.
_JSON = re.compile(r"[{\[]\s*[{\[\"'“”‘’]")
#: Names of keys for a list of claims, or for a claim in it, the preferred one first.
_NAMES = ("claim", "fact", "acu", "statement", "sentence", "text")
#: A text (perhaps a key) or a bracket. A quotation mark ends a text only if more JSON or the end of the line could follow.
_TOKEN = re.compile(
    r'"(?P<text>(?:\\.|[^\\])*?)'
    r'(?:"(?=\s*(?P<key>:)|\s*(?:[\]}]|\Z|(?:[,;]\s*)+(?:["\[{\]}]|\Z))|,?[ \t]*\n|\s+")|(?P<unfinished>\Z))'
    r"|(?P<bracket>[\[\]{}])",
    re.DOTALL,
)


def json_claims(reply: str, cut: bool) -> Parsed:
    r"""The texts of a JSON list, or of the list in a JSON object (FENICE Fig. 2: ``{"claims": [...]}``).

    If there are several lists, it is the one named "claims" or, failing that, "facts" and the like, else the first. In an
    object with several texts only a text with such a name counts. Code fences, text around the JSON, single quotes,
    trailing commas, quotation marks without a backslash and a missing end are accepted, because models write them
    (FENICE's own prompt has single quotes). A text that was cut off is left out. A reply without such JSON is read as
    ``bullets``.

    >>> json_claims("Here is the output:\n```json\n{'claims': [\"It rained.\", \"We left.\",]}\n```", cut=False).value
    ('It rained.', 'We left.')
    >>> json_claims('{"claims": ["It rained.", "We le', cut=True).value
    ('It rained.',)
    """
    for match in _JSON.finditer(reply):
        start = match.start()
        # Within an item of a list only an object is JSON.
        if reply[start] == "{" or not _BULLET.match(reply[:start].rpartition("\n")[2]):
            if texts := _json_texts(reply[start:]):
                return _unique(texts, cut)
            break
    return bullets(reply, cut)


class _Flow(yaml.SafeLoader):
    """YAML, whose flow style is JSON with freer quotes and commas, but without references.

    JSON has no references, and a few lines of them can expand to more lists than fit into memory.
    """

    def compose_node(self, parent: object, index: object) -> object:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("a reference")
        return super().compose_node(parent, index)


def _json_texts(body: str) -> list[str]:
    """The texts of the list in JSON, or those that can be read if the JSON is broken."""
    # Backslashes that JSON does not allow: the one of "Ann\'s" is dropped, the one of "$\alpha$" belongs to the text.
    body = re.sub(r"\\(['\"\\/bfnrtu]?)", lambda mark: {"": r"\\", "'": "'"}.get(mark[1], mark[0]), body)
    whole = body[: max(body.rfind("}"), body.rfind("]")) + 1]
    for form in (whole, whole.translate({0x2018: "'", 0x201C: '"', 0x201D: '"'})):
        for read in (json.loads, partial(yaml.load, Loader=_Flow)):
            with suppress(Exception):  # PyYAML raises all kinds of errors for tags and for what looks like a date
                items = _texts(read(form))
                if items is not None:
                    return items
    return _strings(body)


def _strings(body: str) -> list[str]:
    """The finished texts of broken JSON: those under a key that names claims, else those of the first list."""
    texts: dict[str, list[str]] = {}  # by the name of their key or of their list's; "" is the first list
    open_brackets = [("", "")]  # each with the name of the texts in it
    key = ""
    for token in _TOKEN.finditer(body):
        bracket = token["bracket"]
        if token["key"]:
            key = token["text"]
            continue
        outer_name = open_brackets[-1][1]
        name = _name(key) or outer_name
        if bracket == "[" and name not in _NAMES and not any(kind == "[" for kind, _ in open_brackets):
            if outer_name in _NAMES:
                name = outer_name  # claims in a list per subject
            elif "" not in texts:
                name = ""  # the first list, whatever its name
        if bracket in ("[", "{"):
            open_brackets.append((bracket, name))
            if bracket == "[" and name in _NAMES:
                texts.setdefault(name, [])  # a list without a finished text counts, too
        elif bracket:
            open_brackets = open_brackets[:-1] or open_brackets
        elif token["unfinished"] is None and (key or open_brackets[-1][0] == "["):
            escaped = re.sub(r'\\.|"', lambda mark: mark[0] if mark[0][1:] else r"\"", token["text"])
            with suppress(ValueError):
                texts.setdefault(name, []).append(json.loads(f'"{escaped}"', strict=False))
        key = ""
    named = [texts[name] for name in _NAMES if name in texts]
    return next(filter(None, named), [] if named else texts.get("", []))


def _texts(value: object) -> list[str] | None:
    """The texts of the list of claims in a JSON value; None if there is no such list.

    An item is a text, or an object with texts or lists under keys that name claims.
    """
    if isinstance(value, dict):
        value = next(iter(_named(value, list)), None)
    if not isinstance(value, list):
        return None
    texts: list[str] = []
    for item in value:
        for part in _named(item, str, list) if isinstance(item, dict) else [item]:
            texts += [part] if isinstance(part, str) else _texts(part) or []
    return texts if texts or not value else None


def _named(entries: Mapping[object, object], *kinds: type) -> list:
    """The values of these kinds under keys that name claims; without such keys, all lists, or a text if it is the only one."""
    values: dict[str, list] = {}
    for key, value in entries.items():
        if isinstance(value, kinds):
            values.setdefault(_name(str(key)), []).append(value)
    named = next((values[name] for name in _NAMES if name in values), None)
    others = [value for group in values.values() for value in group]
    return named or (others if kinds == (list,) or len(others) == 1 else [])


def _name(key: str) -> str:
    """The last word of a key, in the singular, without numbers; empty if it has no word.

    >>> _name("atomic_claims"), _name("claim2"), _name("2")
    ('claim', 'claim', '')
    """
    words = re.findall(r"[^\W\d_]+", key.lower()) or [""]
    return words[-1].removesuffix("s")
