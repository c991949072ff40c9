"""Lists of claims in replies: bullets and numbers of every kind, and JSON that is nearly JSON."""

from __future__ import annotations

import json
import re

import yaml

from claimwise import text

EMPTY = "empty reply"
NO_LIST = "no list in the reply"

_BULLET = re.compile(
    r"^(?P<indent>\s*)(?:[-*+•◦▪●·‣–—]|\(?\d{1,3}[.):\]](?!\d)|\(?(?-i:[a-h])[.)](?=\s)|\(?[A-H]\)(?=\s)|(?:fact|claim|acu)\s*\d+\s*[:.)-])"
    r"\s*(?P<item>\S.*)$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\**(?:independent |atomic )?(?:fact|claim|acu)(?:\s*#?\d+\**\s*[:.)-]|\**\s*:)\**\s*", re.IGNORECASE
)
_QUOTED = re.compile(r"[\"“]([^\"“”]+)[\"”]")
#: A list within the line of its heading; one that begins on the next line has an item a line, and dashes in them.
_INLINE = re.compile(r"^.*?(?:claims|facts)[^:\n]*:[ \t]*[-•*][ \t]+(?P<items>\S.*)$", re.IGNORECASE | re.MULTILINE)


def bullets(reply: str, cut: bool = False) -> tuple[tuple[str, ...] | None, str]:
    r"""The items of a list: text before the first bullet is dropped, and so are duplicates and what follows the list.

    A wrapped item (its next line indented, or beginning with a small letter) is joined. A heading above nested
    bullets ("- People:") is not an item.

    >>> bullets("The claims are:\n- It rained\n  all day.\n- We left.\n\nI hope this helps!")[0]
    ('It rained all day.', 'We left.')
    """
    inline = _INLINE.search(reply)
    if inline:
        items = re.split(r"\s[-•*]\s+", inline["items"])
        if len(items) > 1:
            return _unique(items[:-1] if cut else items)
    items: list[str] = []
    open_item = False
    for line in reply.splitlines():
        found = _BULLET.match(line)
        if found and not re.fullmatch(r"[-*_=\s]+", line):
            items.append(found["item"].strip())
            open_item = True
        elif not line.strip():
            open_item = False
        elif open_item and (line[0].isspace() or line.lstrip()[0].islower()):
            items[-1] += " " + line.strip()
        else:
            open_item = False
    if cut and len(items) > 1:
        items.pop()  # an unfinished claim says something that the summary may not
    return _unique(item for item in items if not item.rstrip("*").endswith(":"))


def _bare(item: str) -> str:
    return _LABEL.sub("", item.strip()).strip().strip("*").strip()


def _unique(items) -> tuple[tuple[str, ...] | None, str]:
    cleaned = (_QUOTED.sub(r"\1", item) if _QUOTED.fullmatch(item) else item for item in map(_bare, items))
    unique = tuple(dict.fromkeys(item for item in cleaned if re.search(r"\w", item)))
    return (unique, "") if unique else (None, NO_LIST)


def sentences(reply: str, cut: bool = False) -> tuple[tuple[str, ...] | None, str]:
    """Every sentence, without an unfinished last one (FENICE's T5 extractor writes nothing else).

    >>> sentences("It rained. We left. We le", cut=True)[0]
    ('It rained.', 'We left.')
    """
    items = [span.text for span in text.sentences(reply)]
    return _unique(items[:-1] if cut and len(items) > 1 else items)


_STRING = re.compile(r'"((?:[^"\\]|\\.)+)"')


def json_claims(reply: str, cut: bool = False) -> tuple[tuple[str, ...] | None, str]:
    r"""The texts of a JSON list, or of the first list in a JSON object (FENICE Fig. 2: ``{"claims": [...]}``).

    Code fences, text around, single quotes, trailing commas and a missing end are forgiven, because models
    write them (FENICE's own prompt shows single quotes); a text that was cut off is left out.

    >>> json_claims("Here is the output:\n```json\n{'claims': [\"It rained.\", \"We left.\",]}\n```")[0]
    ('It rained.', 'We left.')
    >>> json_claims('{"claims": ["It rained.", "We le')[0]
    ('It rained.',)
    """
    starts = [at for at in (reply.find("{"), reply.find("[")) if at >= 0]
    if not starts:
        return bullets(reply, cut)
    body = reply[min(starts) :]
    whole = body[: max(body.rfind("}"), body.rfind("]")) + 1]
    for form in (whole, whole.translate({0x2018: "'", 0x201C: '"', 0x201D: '"'})):
        for read in (json.loads, yaml.safe_load):  # a YAML flow is JSON that forgives quotes and commas
            try:
                items = _texts(read(form))
            except (ValueError, yaml.YAMLError, RecursionError):
                continue
            if items:
                return _unique(items)
    strings = [json.loads(f'"{s}"', strict=False) for s in _STRING.findall(body[body.find("[") + 1 :]) if _valid(s)]
    return _unique(strings) if strings else (None, "no JSON list of claims in the reply")


def _valid(string: str) -> bool:
    try:
        json.loads(f'"{string}"', strict=False)
    except ValueError:
        return False
    return True


def _texts(value: object) -> list[str]:
    """The first list in the value, its items as texts: strings, or the first string of an object."""
    if isinstance(value, dict):
        found = next((v for v in value.values() if isinstance(v, list)), [])
        return _texts(found)
    if isinstance(value, list):
        firsts = [
            next((v for v in i.values() if isinstance(v, str)), None) if isinstance(i, dict) else i for i in value
        ]
        return [item for item in firsts if isinstance(item, str)]
    return []
