"""Prompts as data: one text file each, named ``<paper>-<role>-<variant>.txt``; users' own by their path.

A file is YAML front matter (where it comes from, its role, how it is used) and a Jinja2 template whose
variables are written as the papers write them (``{{ Document }}``). A missing variable is an error. Few-shot
demonstrations are data too: a YAML list that the template loops over, so that an embedded model, which reads
no prose, learns from the same demonstrations that a language model is shown. Prompts that differ in their
demonstrations only share one template: a file without one names, as ``template``, the prompt that has it.

What a template may show depends on its role:

=========  ==================================================================================
decompose  ``Summary`` (a summary, or one sentence of it where the scope is ``sentence``)
verify     ``Document``, ``ACU``; with the context ``document+extra`` also ``Extra``
judge      ``Document``, ``Summary``
critique   ``Document``, ``Statement``; ``References``, the sources' names, where it has any
revise     ``Document``, ``Summary``; ``Unsupported`` (statements), ``Comment``, or both
summarise  ``Sources`` (each with ``reference``, ``title``, ``text``), ``Question``
=========  ==================================================================================

``reply`` names the parser (see ``prompts.parsers``) that reads the answer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import jinja2
import yaml
from jinja2 import meta, nodes
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from claimwise.errors import ClaimwiseError, finding, near, shorten
from claimwise.prompts.parsers import FOR_ROLE, KINDS, REASONED
from claimwise.strict_yaml import Loader

Role = Literal["decompose", "verify", "judge", "critique", "revise", "summarise"]
ROLES: tuple[Role, ...] = get_args(Role)

_FOLDER = Path(__file__).parent
_ENVIRONMENT = SandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=False, autoescape=False)

#: What templates of a role show: all of the first, and of the second what they like.
_SHOWN: Mapping[str, tuple[Set[str], Set[str]]] = {
    "decompose": ({"Summary"}, set()),
    "verify": ({"Document", "ACU"}, set()),
    "judge": ({"Document", "Summary"}, set()),
    "critique": ({"Document", "Statement"}, {"References"}),
    "revise": ({"Document", "Summary"}, {"Unsupported", "Comment"}),
    "summarise": ({"Sources", "Question"}, set()),
}


class PromptError(ClaimwiseError):
    """A prompt is not there, is malformed, or lacks a variable."""


@dataclass(frozen=True)
class Decoding:
    """What goes to a language model beside a rendered prompt; with that text, it is what a remembered reply answers.

    ``choices`` are answers whose probabilities are asked for, none where a text is; ``schema`` is a JSON schema of the
    reply, for models that can be held to one.
    """

    max_tokens: int
    stop: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None


class Rendered(str):
    """A prompt as it is sent, and which document it shows: an engine that reads one does well to read its others, too.

    Attributes:
        document: the document, or the part of it, that stands in the text; without one the text itself.
    """

    document: str


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


class Prompt(BaseModel):
    """A prompt, how it is used, and what an embedded model needs to know of it.

    Attributes:
        name: as it was asked for: the file's stem, e.g. ``acueval-decompose-5shot``, or the path of a user's own.
        source: paper and figure, or who wrote it.
        role: which of the model's roles it is for.
        reply: the name of the parser that reads the model's reply.
        scope: of a prompt for ``decompose``: ``passage`` (all at once) or ``sentence`` (one call each, FActScore's way).
        context: what a prompt for ``verify`` shows: the ``document``, passages ``retrieved`` from it, or
            ``document+extra``, the passage to check against and another document that must not be used.
        max_tokens: longest reply.
        stop: texts that end a reply, e.g. the beginning of a next demonstration that the model makes up.
        begin: how a reply should begin. One that cannot be read is asked for once more, with this below the prompt.
        conclude: what asks for Yes or No alone. Where a reply has reasoning and no answer, as one that was cut off, the
            model is asked for it with this below the prompt and its reasoning.
        template: the text, with its variables.
        demonstrations: the worked examples, in order; the first ``shots`` of their file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: str
    role: Role
    reply: str
    scope: Literal["passage", "sentence"] = "passage"
    context: Literal["document", "retrieved", "document+extra"] = "document"
    max_tokens: int = Field(256, ge=1)
    stop: tuple[str, ...] = ()
    begin: str = ""
    conclude: str = ""
    template: str = Field(repr=False)
    demonstrations: tuple[Demonstration, ...] = Field((), repr=False)

    def render(self, **variables: Any) -> Rendered:
        """Fill the template.

        Raises:
            PromptError: a variable of the template was not given, or it cannot be filled with these.

        >>> rendered = load("acueval-verify-zeroshot").render(Document="It rained.", ACU="It poured.")
        >>> rendered.splitlines()[2], rendered.document
        ('Passage: It rained.', 'It rained.')
        >>> load("acueval-verify-zeroshot").render(Document="It rained.")
        Traceback (most recent call last):
        ...
        claimwise.prompts.PromptError: prompt acueval-verify-zeroshot cannot be filled: 'ACU' is undefined
        """
        try:
            filled = _compiled(self.template).render(demonstrations=self.demonstrations, **variables)
        except Exception as error:  # an expression of a user's own may raise anything
            raise PromptError(f"prompt {self.name} cannot be filled: {error}") from None
        rendered = Rendered(filled)
        rendered.document = variables.get("Document", filled)
        return rendered

    def with_demonstrations(self, demonstrations: Sequence[Demonstration]) -> Prompt:
        """The same prompt with other demonstrations, e.g. drawn from a corpus's validation split."""
        return self.model_copy(update={"demonstrations": tuple(demonstrations)})

    @property
    def decoding(self) -> Decoding:
        """What a language model is asked for besides the rendered text; the two make up a remembered call.

        >>> load("acueval-verify-zeroshot").decoding
        Decoding(max_tokens=5, stop=(), choices=('Yes', 'No'), schema=None)
        """
        kind = KINDS[self.reply]
        return Decoding(self.max_tokens, self.stop, tuple(kind.choices), kind.schema)

    @property
    def fingerprint(self) -> str:
        """A hash of everything in the prompt but its name and source, for models that read a prompt as data."""
        parts = (self.role, self.template, self.scope, self.context, self.demonstrations, self.reply, self.decoding)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def names(role: Role | None = None) -> list[str]:
    """The package's prompts, of one role or of all.

    >>> "acueval-decompose-5shot" in names("decompose")
    True
    """
    known = sorted(file.stem for file in _FOLDER.glob("*.txt"))
    return [name for name in known if role is None or _packaged(name).role == role]


def load(name: str, role: Role | None = None) -> Prompt:
    """Read a prompt: one of the package by its name, one of your own by its path.

    Args:
        name: a name; or a path, which has a separator or ends in ``.txt``, relative to the working folder. A file's
            ``template`` and ``demonstrations`` are looked for beside it, and then among the package's.
        role: what it must be for, if that matters: the reply to another would be read as what it is not.

    Raises:
        PromptError: no such prompt, or it is for another role (the message lists those there are), or its file is
            malformed (names the line).

    >>> prompt = load("acueval-decompose-3shot")
    >>> prompt.role, len(prompt.demonstrations), prompt.demonstrations[0].claims[0]
    ('decompose', 3, 'Amie has Diamond Blackfan Anaemia')
    >>> load("fenice-decompose-json", "verify")
    Traceback (most recent call last):
    ...
    claimwise.prompts.PromptError: prompt 'fenice-decompose-json' is for decompose, expected one for verify: ...
    """
    if _is_path(name):
        file = Path(name).expanduser()
        if not file.is_file():
            hint = f"{near(file.stem, names()) or ';'} `claimwise prompts` lists those that go by name, without .txt"
            raise PromptError(f"no prompt file {name!r} in {Path.cwd()}{hint}")
        prompt = _prompt(name, file)  # anew each time: a notebook's kernel outlives an edit
    elif name in names():
        prompt = _packaged(name)
    else:
        which = f"those for {role}" if role else "all"
        here = f"; {name}.txt is here: --prompt {name}.txt" if os.path.isfile(f"{name}.txt") else ""
        hint = f"{near(name, names(role)) or ';'} `claimwise prompts` lists {which}"
        raise PromptError(f"no prompt named {name!r}{hint}{here}")
    if role not in (None, prompt.role):
        expected = f"expected one for {role}: {', '.join(names(role))}"
        raise PromptError(f"prompt {name!r} is for {prompt.role}, {expected}")
    return prompt


def text(name: str) -> str:
    """The file of a prompt as it stands, to copy and edit.

    Raises:
        PromptError: as ``load``.

    >>> text("acueval-verify-zeroshot").splitlines()[:2]
    ['---', 'source: ACUEval Fig. 4']
    """
    load(name)
    return _text(Path(name).expanduser() if _is_path(name) else _FOLDER / f"{name}.txt")


def _is_path(name: str) -> bool:
    return name.endswith(".txt") or "/" in name or os.sep in name


@cache
def _packaged(name: str) -> Prompt:
    return _prompt(name, _FOLDER / f"{name}.txt")


@cache
def _compiled(template: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(template)


def _prompt(name: str, file: Path) -> Prompt:
    found = _read(file)
    header, shown = dict(found.header), found
    if other := header.pop("template", None):
        if found.template.strip():
            raise found.error("template", f"template: expected no text of the file's own beside {other!r}")
        shown = _read(_beside(found, "template", f"{str(other).removesuffix('.txt')}.txt"))
    shots = header.pop("shots", 0)
    if examples := header.get("demonstrations"):
        entries = _read_demonstrations(_beside(found, "demonstrations", str(examples)))
        if shots not in range(1, len(entries) + 1):
            raise found.error("shots", f"shots: expected 1 to {len(entries)}, as {examples} has; found {shots!r}")
        header["demonstrations"] = entries[:shots]
    elif shots:
        raise found.error("shots", f"shots: found {shots}, and no `demonstrations` to take them from")
    try:
        prompt = Prompt.model_validate(header | {"name": name, "template": shown.template.rstrip("\n")})
    except ValidationError as error:
        known = [key for key in (*Prompt.model_fields, "shots") if key != "name"]
        lines = []
        for one in error.errors():
            key, *within = map(str, one["loc"])
            lines.append(str(found.error(key, finding(".".join([key, *within]), one, () if within else known))))
        raise PromptError("\n".join(lines)) from None
    if prompt.reply not in FOR_ROLE[prompt.role]:
        kinds = ", ".join(FOR_ROLE[prompt.role])
        raise found.error(
            "reply", f"reply: expected a kind of reply for {prompt.role} ({kinds}), found {prompt.reply!r}"
        )
    for key, role in (("scope", "decompose"), ("context", "verify")):
        if key in header and prompt.role != role:
            raise found.error(key, f"{key}: expected only in a prompt for {role}, this one is for {prompt.role}")
    if prompt.conclude and prompt.reply not in REASONED:
        what = f"expected only with a reply that reasons ({', '.join(REASONED)}), found with {prompt.reply!r}"
        raise found.error("conclude", f"conclude: {what}")
    _check_template(shown, prompt.role, prompt.context)
    return prompt


def _beside(found: _PromptFile, key: str, name: str) -> Path:
    """A file that a prompt file names: in its folder or, where there is none, in the package's."""
    for folder in (found.file.parent, _FOLDER):
        if (folder / name).is_file():
            return folder / name
    what = f"expected a file in {found.file.parent}, or one of claimwise's prompts folder; found no {name!r}"
    raise found.error(key, f"{key}: {what}")


# files: what is wrong in one is said with its line, before a model is asked anything


class _PromptFile(NamedTuple):
    """A file's front matter and template, and where these stand: ``lines`` by key, ``start`` the template's first."""

    file: Path
    header: dict[str, Any]
    template: str
    lines: Mapping[str, int]
    start: int

    def error(self, key: str, what: str) -> PromptError:
        """An error about a key of the front matter, with its line."""
        return _error(self.file, self.lines.get(key, 1), what)


def _read(file: Path) -> _PromptFile:
    """Take a prompt file apart: front matter and template."""
    lines = _text(file).split("\n")
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
    return _PromptFile(file, header, "\n".join(lines[marks[1] + 1 :]), places, marks[1] + 2)


def _check_template(found: _PromptFile, role: str, context: str) -> None:
    """Check that a template shows what a prompt of this role and context needs and nothing else.

    A model that reads no prose never fills it, and a language model only after an hour of other calls.
    """
    always, choice = _SHOWN[role]
    if context == "document+extra":
        always = always | {"Extra"}
    expected = f"a prompt for {role} shows {_braced(always)}"
    if choice:
        expected += f" and perhaps some of {_braced(choice)}"
    try:
        tree = _ENVIRONMENT.parse(found.template)
        _ENVIRONMENT.compile(found.template)  # finds unknown filters, too
    except jinja2.TemplateSyntaxError as error:
        what = f"not a template ({error.message}); {expected}"
        raise _error(found.file, found.start + error.lineno - 1, what) from None
    shown = meta.find_undeclared_variables(tree) - {"demonstrations"}  # every template may loop over them
    if unknown := shown - always - choice:
        first = min((name for name in tree.find_all(nodes.Name) if name.name in unknown), key=lambda name: name.lineno)
        what = f"unknown placeholder {_braced({first.name})}; {expected}"
        raise _error(found.file, found.start + first.lineno - 1, what)
    if lacking := always - shown:
        raise _error(found.file, found.start, f"the text lacks {_braced(lacking)}; {expected}")


def _read_demonstrations(file: Path) -> list[Any]:
    """The entries of a YAML list."""
    try:
        entries = yaml.load(_text(file), Loader=Loader)
    except yaml.YAMLError as error:
        raise PromptError(f"{file}: not YAML: {error}") from None
    if not isinstance(entries, list):
        raise PromptError(f"{file}: expected a list of demonstrations, found {shorten(entries)}")
    return entries


def _text(file: Path) -> str:
    """The file's content; one that is not UTF-8 is an error."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is 0x{error.object[error.start]:02x}"
        raise PromptError(f"{file}: not UTF-8 ({found}); save the file as UTF-8") from None


def _error(file: Path, line: int, what: str) -> PromptError:
    return PromptError(f"prompt file {file}, line {line}: {what}")


def _braced(names: Set[str]) -> str:
    return ", ".join(f"{{{{ {name} }}}}" for name in sorted(names))
