"""Prompt files, read strictly: what is wrong in one is said with its line before a model is asked anything."""

from __future__ import annotations

from collections.abc import Mapping, Set
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

import jinja2
import yaml
from jinja2 import meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from claimwise.errors import ClaimwiseError, shorten
from claimwise.strict_yaml import Loader

ENVIRONMENT = SandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=False, autoescape=False)

_DEMONSTRATIONS = "demonstrations"  # every template may loop over them


class PromptError(ClaimwiseError):
    """A prompt is not there, is malformed, or lacks a variable."""


#: What templates of a role show: all of the first, and of the second what they like.
_SHOWN: Mapping[str, tuple[Set[str], Set[str]]] = {
    "decompose": ({"Summary"}, set()),
    "verify": ({"Document", "ACU"}, set()),
    "judge": ({"Document", "Summary"}, set()),
    "critique": ({"Document", "Statement"}, {"References"}),
    "revise": ({"Document", "Summary"}, {"Unsupported", "Comment"}),
    "summarise": ({"Sources", "Question"}, set()),
}


class PromptFile(NamedTuple):
    """A file's front matter and template, and where these stand: ``lines`` by key, ``start`` the template's first."""

    file: Traversable
    header: dict[str, Any]
    template: str
    lines: Mapping[str, int]
    start: int

    def error(self, key: str, what: str) -> PromptError:
        """An error about a key of the front matter, with its line."""
        return _error(self.file, self.lines.get(key, 1), what)


def read(file: Traversable) -> PromptFile:
    """Take a prompt file apart.

    Raises:
        PromptError: not UTF-8, or no front matter; names file and line, and what was expected.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "mine.txt")
    >>> _ = file.write_text("---\\nsource: mine\\nrole: judge\\nreply: rating-1-5\\n---\\n{{ Document }} {{ Summary }}")
    >>> read(file).header["role"], read(file).template, read(file).start
    ('judge', '{{ Document }} {{ Summary }}', 6)
    """
    lines = text(file).split("\n")
    marks = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(marks) < 2 or marks[0] != 0:
        raise _error(
            file,
            1,
            "expected a line '---', then `source`, `role` and `reply` (a line each, as in `role: verify`), a line "
            f"'---', and the prompt's text; found {shorten(lines[0])} first and {len(marks)} lines '---'",
        )
    front = "\n".join(lines[1 : marks[1]])
    try:
        header, tree = yaml.load(front, Loader=Loader), yaml.compose(front, Loader=Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise _error(
            file, mark.line + 2 if mark else 2, f"not YAML ({what}); write `key: value`, a line each"
        ) from None
    if not isinstance(header, dict):
        raise _error(file, 2, f"expected `key: value`, a line each, as in `role: verify`; found {shorten(header)}")
    places = {key.value: key.start_mark.line + 2 for key, _ in tree.value}
    return PromptFile(file, header, "\n".join(lines[marks[1] + 1 :]), places, marks[1] + 2)


def check_template(found: PromptFile, role: str, context: str) -> None:
    """Check that a template shows what a prompt of this role and context needs and nothing else.

    A model that reads no prose never fills it, and a language model only after an hour of other calls.

    Raises:
        PromptError: no Jinja2, or an unknown placeholder or one too few; names file, line, and the placeholders there are.
    """
    always, choice = _SHOWN[role]
    if context == "document+extra":
        always = always | {"Extra"}
    expected = f"a prompt for {role} shows {_braced(always)}"
    if choice:
        expected += f" and perhaps some of {_braced(choice)}"
    try:
        tree = ENVIRONMENT.parse(found.template)
        ENVIRONMENT.compile(found.template)  # finds unknown filters, too
    except jinja2.TemplateSyntaxError as error:
        what = f"not a template ({error.message}); {expected}"
        raise _error(found.file, found.start + error.lineno - 1, what) from None
    shown = meta.find_undeclared_variables(tree) - {_DEMONSTRATIONS}
    if unknown := shown - always - choice:
        first = min((name for name in tree.find_all(nodes.Name) if name.name in unknown), key=lambda name: name.lineno)
        what = f"unknown placeholder {_braced({first.name})}; {expected}"
        raise _error(found.file, found.start + first.lineno - 1, what)
    if lacking := always - shown:
        raise _error(found.file, found.start, f"the text lacks {_braced(lacking)}; {expected}")


def read_demonstrations(file: Traversable) -> list[Any]:
    """The entries of a YAML list.

    Raises:
        PromptError: no YAML, or no list.
    """
    try:
        entries = yaml.load(text(file), Loader=Loader)
    except yaml.YAMLError as error:
        raise PromptError(f"{file}: not YAML: {error}") from None
    if not isinstance(entries, list):
        raise PromptError(f"{file}: expected a list of demonstrations, found {shorten(entries)}")
    return entries


def text(file: Traversable) -> str:
    """The file's content.

    Raises:
        PromptError: it is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is 0x{error.object[error.start]:02x}"
        raise PromptError(f"{file}: not UTF-8 ({found}); save the file as UTF-8") from None


def _error(file: Traversable, line: int, what: str) -> PromptError:
    return PromptError(f"prompt file {file}, line {line}: {what}")


def _braced(names: Set[str]) -> str:
    return ", ".join(f"{{{{ {name} }}}}" for name in sorted(names))
