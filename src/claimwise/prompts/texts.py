"""What is written in replies: texts without preambles and notes on them, critiques, and lists of claims.

Lists have bullets and numbers of every kind, or are JSON that is nearly JSON.
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
    """What a critique says; ``support`` is None where the reply has no verdict."""

    text: str
    support: float | None = None


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


def critique_block(reply: str, cut: bool) -> Parsed:
    """The critique and its answer, in any order; a claim that it revises is not kept. A critique without its label stands
    above the others, or after the answer.

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
    # The answer is the last one, but for one on the claim as revised.
    answer = last(SUPPORTED, above.replace("_", " ")) or last(SUPPORTED, reply.replace("_", " "))
    starts = sorted(label.start() for label in (critique, answer, revised) if label)

    def part(start: int) -> str:
        end = next((one for one in starts if one >= start), len(reply))
        return _strip(_LABEL_MARKS.sub("", reply[start:end]))

    text = part(critique.end() if critique else 0)
    if not text and not critique:
        text = re.sub(r"^[\W_]+", "", part(answer.end()))
    return Parsed(CritiqueParts(text, support))


#: A number written as a rating: named, out of five, or by itself; "4 people died" and "4.5 million left" are comments.
_RATED = re.compile(
    r"^\W*(?:consistency\W*)?[1-5](?:\.\d)?(?:\s*/\s*5(?!\w)|(?![ \t]*(?:[\w%]|,\s*\d)|-\w|\.\d))[*_]*[\s.,:)\-–—]*",
    re.IGNORECASE,
)


def rating_comment(reply: str, cut: bool) -> Parsed:
    """A comment, and the rating before it or in it, if there is one.

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
            return _strip(re.sub(r"^\w+\n", "", inner) if first == "```" else inner)  # "markdown", "text"
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


#: How a note on how the text was written begins; "Note: All times are in BST." is part of a summary, and so is what is quoted.
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
    """A text that was asked for, without notes on it at its end."""
    while start := _note(text):
        text = _strip(text[:start])
    return _whole(text, cut, marked)


def _note(text: str) -> int:
    """Where a note begins at a text's end: a last paragraph, or a list after "Changes made:"; 0 without any."""
    for gap in _GAP.finditer(text):
        note = _NOTE.match(text, gap.end())
        at_end = note and (_ITEMS.fullmatch(text, note.end()) or not _GAP.search(text, note.end()))
        if at_end and (not note["note"] or _ON_WRITING.search(text, note.end())):
            return gap.start()
    return 0


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
#: A pair of marks around words; an asterisk by itself, 2*3*4 and snake_case have no such pair.
_EMPHASIS = re.compile(
    r"(?<![\w*])(\*{1,3})(?![\s*])(.{1,500}?)(?<![\s*])\1(?![\w*])|(?<!\w)(__?)(?![\s_])(.{1,500}?)(?<![\s_])\3(?!\w)"
)
_LEFT_OVER = re.compile(r"^\*+\s+|^\*{2,}|\s+\*+$|\*{2,}$")
#: A list that begins within the line of its heading: "The claims are: - It rained."
_INLINE = re.compile(
    r"^.*?(?:claims|facts)[^:\n]*:[*_]*[ \t]*(?P<items>(?:[-•]|(?<!\*)\*|\(?1[.)])[ \t]+\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)
#: A line in emphasis that does not end as a sentence does; one that has a bullet, above bullets that stand further in.
_HEADING = re.compile(
    r"^(?P<indent>[ \t]*)(?P<bullet>(?:[-*+•]|\d{1,3}[.)])[ \t]+)?(?P<mark>\*{1,3}|__?)(?!\s|(?i:fact|claim|acu)?\s*\d)"
    r"(?:(?!(?P=mark)).)+(?<![\s.!?\"”])(?P=mark)[ \t]*$(?(bullet)(?=\n+(?P=indent)[ \t]+(?:[-*+•]|\d{1,3}[.)])[ \t]))",
    re.MULTILINE,
)
_MARK = re.compile(r"\s*([-•*]|\(?\d{1,3}[.)])\s")
#: The mark of another item within a line. It follows the end of a sentence, which the dot of "Fig. 2" is not.
_NEXT = re.compile(
    r"(?<=[.!?])(?<!\b(?i:no|vs)\.)(?<!\b(?i:fig|vol)\.)[ \t]+(?P<mark>[-•*]|\(?\d{1,3}[.)])[ \t]+(?=[\"“(]?[A-Z\d])"
)


def bullets(reply: str, cut: bool) -> Parsed:
    r"""The items of a list: text before the first bullet is dropped, and so are duplicates and what follows the list.

    A wrapped item (its next line indented, or beginning with a small letter) is joined. A heading ("- People:", or
    "**People**" without a full stop) is not an item, and neither is one that was cut off: it says something that the
    summary may not. A reply that was cut off within its only item has none.

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
            items[-1] += " " + line.strip()
        else:
            open_item = False
    if cut and items and not ended:
        items.pop()
    return _unique((item for item in items if not item.rstrip("*").endswith(":")), cut)


def _one_a_line(reply: str) -> str:
    """The reply with a line for each item of a list that stands in one line, or that begins in its heading's line.

    The claims of a heading's line may end without a full stop: any dash parts them, where no line below has a bullet.
    """
    heading = _INLINE.search(reply)
    if heading and not _BULLET.match(_plain(heading[0])):  # "- It has two claims: - ..." is an item
        start, end = heading.span("items")
        items = _apart(heading["items"])
        if "\n" not in items and not any(_items(reply[end:].splitlines())):
            items = re.sub(r"\s([-•*])\s+", r"\n\1 ", items)
        return f"{reply[:start]}\n{items}{reply[end:]}"
    lines = reply.splitlines()
    found = [line for line, item in zip(lines, _items(lines), strict=True) if item]
    return reply.replace(found[0], _apart(found[0])) if len(found) == 1 else reply


def _apart(line: str) -> str:
    """The items of a list in one line, a line each: a dash within a sentence or a number out of turn begins none."""
    first = _MARK.match(line)
    if not first:
        return line
    items, start, mark = [], 0, first[1]
    for found in _NEXT.finditer(line):
        following = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), mark)
        if found["mark"] == following:
            items.append(line[start : found.start()])
            start, mark = found.start("mark"), following
    return "\n".join([*items, line[start:]])


def _items(lines: list[str]) -> list[str | None]:
    """What follows each line's bullet; where none has one, all of each line whose first words are emphasised."""
    plain = [None if re.fullmatch(r"[-*_=\s]+", line) else _plain(line).strip() for line in lines]
    items = [found["item"] if text and (found := _BULLET.match(text)) else None for text in plain]
    if any(items):
        return items
    return [text if _BULLET.match(line) else None for line, text in zip(lines, plain, strict=True)]


def _plain(item: str) -> str:
    """The item without marks of emphasis."""
    while (plain := _EMPHASIS.sub(lambda m: m[2] or m[4], item)) != item:
        item = plain
    return item


def _bare(item: str) -> str:
    return _strip(_LEFT_OVER.sub("", _LABEL.sub("", _plain(item.strip())).strip()))


#: What is in the place of a claim and says nothing.
_NO_CLAIM = re.compile(r"(?:(?:fact|claim|acu)\s*\d+|none|n/a|no (?:facts|claims))?[\W_]*", re.IGNORECASE)


def _unique(items: Iterable[str], cut: bool) -> Parsed:
    unique = tuple(dict.fromkeys(item for item in map(_bare, items) if not _NO_CLAIM.fullmatch(item)))
    unfinished = Reason.CUT if cut else None
    return Parsed(unique, unfinished) if unique else Parsed(None, unfinished or Reason.NO_LIST)


def sentences(reply: str, cut: bool) -> Parsed:
    """Every sentence, without an unfinished last one (FENICE's T5 extractor writes nothing else).

    >>> sentences("It rained. We left. We le", cut=True).value, sentences("It rai", cut=True).reason
    (('It rained.', 'We left.'), 'cut off at its length limit')
    """
    if is_refusal(reply):
        return Parsed(None, Reason.REFUSAL)
    items = [span.text for span in spans(reply)]
    return _unique(items[:-1] if cut else items, cut)


#: Where JSON may begin: "[sic]" and "[1]" do not, and within an item of a list only an object does.
_JSON = re.compile(r"[{\[]\s*[{\[\"'“”‘’]")
#: What a list of claims, or a claim of one, is called in an object that has others.
_NAMES = ("claim", "fact", "acu", "statement", "sentence", "text")
#: A text and whether it is a key, or a bracket. A quotation mark ends a text only where JSON, or its line's end, could follow.
_TOKEN = re.compile(
    r'"(?P<text>(?:\\.|[^\\])*?)'
    r'(?:"(?=\s*(?P<key>:)|\s*(?:[\]}]|\Z|(?:[,;]\s*)+(?:["\[{\]}]|\Z))|,?[ \t]*\n|\s+")|(?P<unfinished>\Z))'
    r"|(?P<bracket>[\[\]{}])",
    re.DOTALL,
)


def json_claims(reply: str, cut: bool) -> Parsed:
    r"""The texts of a JSON list, or of the list in a JSON object (FENICE Fig. 2: ``{"claims": [...]}``).

    Of several lists it is the one named "claims" or, failing that, "facts" and the like; else the first. Of an object of
    several texts it is the text so named, or none. Code fences, text around, single quotes, trailing commas, marks that
    were not escaped and a missing end are forgiven, because models write them (FENICE's own prompt shows single quotes);
    a text that was cut off is left out. A reply without such JSON is read as ``bullets``.

    >>> json_claims("Here is the output:\n```json\n{'claims': [\"It rained.\", \"We left.\",]}\n```", cut=False).value
    ('It rained.', 'We left.')
    >>> json_claims('{"claims": ["It rained.", "We le', cut=True).value
    ('It rained.',)
    """
    starts = (found.start() for found in _JSON.finditer(reply))
    start = next(
        (at for at in starts if reply[at] == "{" or not _BULLET.match(reply[:at].rpartition("\n")[2])), len(reply)
    )
    texts = _json_texts(reply[start:])
    return _unique(texts, cut) if texts else bullets(reply, cut)


class _Flow(yaml.SafeLoader):
    """YAML, of which a flow is JSON that forgives quotes and commas; without references, which JSON has none of.

    A few lines of these stand for more lists than can be gone through.
    """

    def compose_node(self, parent: object, index: object) -> object:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("a reference")
        return super().compose_node(parent, index)


def _json_texts(body: str) -> list[str]:
    """The texts of the list that JSON has, or of what can be read of it."""
    # Backslashes that JSON does not know: that of "Ann\'s" says nothing, that of "$\alpha$" is a part of the text.
    body = re.sub(r"\\(['\"\\/bfnrtu]?)", lambda mark: {"": r"\\", "'": "'"}.get(mark[1], mark[0]), body)
    whole = body[: max(body.rfind("}"), body.rfind("]")) + 1]
    for form in (whole, whole.translate({0x2018: "'", 0x201C: '"', 0x201D: '"'})):
        for read in (json.loads, partial(yaml.load, Loader=_Flow)):
            with suppress(Exception):  # PyYAML lets out whatever a tag or a date that is none leads to
                items = _texts(read(form))
                if items is not None:
                    return items
    return _strings(body)


def _strings(body: str) -> list[str]:
    """The finished texts of JSON that cannot be read: those whose key, or whose list's, names claims; else the first list's."""
    found: dict[str, list[str]] = {}
    within = [("", "")]  # what is open: its bracket, and the name of its texts
    key = ""
    for token in _TOKEN.finditer(body):
        bracket = token["bracket"]
        if token["key"]:
            key = token["text"]
            continue
        around = within[-1][1]
        name = _name(key) or around
        if bracket == "[" and name not in _NAMES and not any(one == "[" for one, _ in within):
            if around in _NAMES:
                name = around  # lists of claims by their subjects
            elif "" not in found:
                name = ""  # the first list, whatever it is called
        if bracket in ("[", "{"):
            within.append((bracket, name))
            if bracket == "[" and name in _NAMES:
                found.setdefault(name, [])  # though nothing of it may be finished
        elif bracket:
            within = within[:-1] or within
        elif token["unfinished"] is None and (key or within[-1][0] == "["):
            escaped = re.sub(r'\\.|"', lambda mark: mark[0] if mark[0][1:] else r"\"", token["text"])
            with suppress(ValueError):
                found.setdefault(name, []).append(json.loads(f'"{escaped}"', strict=False))
        key = ""
    named = [found[name] for name in _NAMES if name in found]
    return next(filter(None, named), [] if named else found.get("", []))


def _texts(value: object) -> list[str] | None:
    """The list of claims in the value, its items as texts: strings, or what names claims in an object; None without a list."""
    lists = _named(value, list)[:1] if isinstance(value, dict) else [value] if isinstance(value, list) else []
    if not lists:
        return None
    texts: list[str] = []
    for item in lists[0]:
        for one in _named(item, str, list) if isinstance(item, dict) else [item]:
            texts += [one] if isinstance(one, str) else _texts(one) or []
    return texts if texts or not lists[0] else None


def _named(found: Mapping[object, object], *kinds: type) -> list:
    """The values of these kinds whose keys name claims; without any, all lists, or a text that has no other beside it."""
    values: dict[str, list] = {}
    for key, value in found.items():
        if isinstance(value, kinds):
            values.setdefault(_name(str(key)), []).append(value)
    named = next((values[name] for name in _NAMES if name in values), None)
    others = [value for group in values.values() for value in group]
    return named or (others if kinds == (list,) or len(others) == 1 else [])


def _name(key: str) -> str:
    """What a key calls its value: "atomic_claims" and "claim2" are claims, and a number is no name.

    >>> _name("atomic_claims"), _name("claim2"), _name("2")
    ('claim', 'claim', '')
    """
    words = re.findall(r"[^\W\d_]+", key.lower()) or [""]
    return words[-1].removesuffix("s")
