"""Prompt files, read strictly: what is wrong in one is said with its line before a model is asked anything."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cache
from importlib.resources.abc import Traversable
from typing import Literal, NamedTuple, get_args

import jinja2
import yaml
from jinja2 import meta, nodes
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from claimwise.errors import ClaimwiseError, finding, shorten
from claimwise.prompts.parsers import FOR_ROLE
from claimwise.strict_yaml import Loader

Role = Literal["decompose", "verify", "judge", "critique", "revise", "summarise"]
ROLES: tuple[Role, ...] = get_args(Role)


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


class Demonstration(BaseModel):
    """A worked example in a prompt: a passage and its claims, or a document, a claim and its label.

    ``extra`` is the further document that a prompt with context ``document+extra`` shows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    passage: str
    claims: tuple[str, ...] = ()
    claim: str | None = None
    label: bool | None = None
    extra: str | None = None


class PromptBase(BaseModel):
    """What a prompt file says of how the prompt is used.

    Attributes:
        source: paper and figure, or who wrote it.
        role: which of the model's roles it is for.
        reply: the name of the parser that reads the model's reply.
        scope: ``passage`` (all at once) or ``sentence`` (one call a sentence, FActScore's way).
        context: what a verification prompt shows: the ``document``, passages ``retrieved`` from it, or
            ``document+extra``, the passage to check against and another document that must not be used.
        max_tokens: longest reply.
        stop: texts that end a reply, e.g. the beginning of a next demonstration that the model makes up.
        begin: how a reply should begin. One that cannot be read is asked for once more, with this below the prompt.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    role: Role
    reply: str
    scope: Literal["passage", "sentence"] = "passage"
    context: Literal["document", "retrieved", "document+extra"] = "document"
    max_tokens: int = Field(256, ge=1)
    stop: tuple[str, ...] = ()
    begin: str = ""


class Header(PromptBase):
    """The front matter of a prompt file, with the names of the files that it needs."""

    demonstrations: str | None = None
    shots: int = Field(0, ge=0)
    template: str | None = None


class PromptFile(NamedTuple):
    """A file's front matter and template, and where these stand: ``lines`` by key, ``start`` the template's first."""

    file: Traversable
    header: Header
    template: str
    lines: Mapping[str, int]
    start: int

    def error(self, key: str, what: str) -> PromptError:
        """An error about a key of the front matter."""
        return _error(self.file, self.lines.get(key, 1), f"{key}: {what}")


def read(file: Traversable) -> PromptFile:
    """Read a prompt file and check its front matter.

    Raises:
        PromptError: not UTF-8, no front matter, a key that is unknown, missing or has a wrong value, or a kind of reply
            that the role has no use for; names file and line, and what was expected.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "mine.txt")
    >>> _ = file.write_text("---\\nsource: mine\\nrole: judge\\nreply: rating-1-5\\n---\\n{{ Document }} {{ Summary }}")
    >>> read(file).header.role, read(file).template, read(file).start
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
    front, start = "\n".join(lines[1 : marks[1]]), marks[1] + 2
    try:
        content, tree = yaml.load(front, Loader=Loader), yaml.compose(front, Loader=Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise _error(
            file, mark.line + 2 if mark else 2, f"not YAML ({what}); write `key: value`, a line each"
        ) from None
    if not isinstance(content, dict):
        raise _error(file, 2, f"expected `key: value`, a line each, as in `role: verify`; found {shorten(content)}")
    places = {key.value: key.start_mark.line + 2 for key, _ in tree.value}
    try:
        header = Header.model_validate(content)
    except ValidationError as error:
        wrong = [(str(one["loc"][0]), one) for one in error.errors()]
        said = [_error(file, places.get(key, 1), finding(key, one, Header.model_fields)) for key, one in wrong]
        raise PromptError("\n".join(map(str, said))) from None
    found = PromptFile(file, header, "\n".join(lines[marks[1] + 1 :]), places, start)
    if header.reply not in FOR_ROLE[header.role]:
        kinds = ", ".join(FOR_ROLE[header.role])
        raise found.error("reply", f"expected a kind of reply for {header.role} ({kinds}), found {header.reply!r}")
    return found


def check_template(found: PromptFile, header: Header) -> None:
    """Check that a template shows what a role with this header needs and nothing else.

    A model that reads no prose never fills it, and a language model only after an hour of other calls.

    Raises:
        PromptError: no Jinja2, or an unknown placeholder or one too few; names file, line, and the placeholders there are.
    """
    always, choice = _SHOWN[header.role]
    if header.context == "document+extra":
        always = always | {"Extra"}
    expected = f"a prompt for {header.role} shows {_braced(always)}"
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


@cache
def compiled(template: str) -> jinja2.Template:
    """A template, ready to be filled."""
    return ENVIRONMENT.from_string(template)


def read_demonstrations(found: PromptFile, file: Traversable) -> tuple[Demonstration, ...]:
    """The first ``shots`` worked examples of a YAML list.

    Raises:
        PromptError: no YAML, no list, an entry that is no demonstration, or fewer than ``shots``.
    """
    try:
        entries = TypeAdapter(list[Demonstration]).validate_python(yaml.load(text(file), Loader=Loader))
    except yaml.YAMLError as error:
        raise PromptError(f"{file}: not YAML: {error}") from None
    except ValidationError as error:
        keys = f"expected a list of demonstrations, their keys among {', '.join(Demonstration.model_fields)}"
        lines = [f"{file}: {finding('.'.join(map(str, one['loc'])), one)}; {keys}" for one in error.errors()]
        raise PromptError("\n".join(lines)) from None
    shots = found.header.shots
    if not 0 < shots <= len(entries):
        raise found.error("shots", f"expected 1 to {len(entries)}, as {found.header.demonstrations} has; found {shots}")
    return tuple(entries[:shots])


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
