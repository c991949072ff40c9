"""Prompts as data: one text file each, named ``<paper>-<role>-<variant>.txt``. Users name their own by path.

A file is YAML front matter (its source, its role, how it is used) and a Jinja2 template. The template's variables are
written as in the papers (``{{ Document }}``); a missing variable is an error. Few-shot demonstrations are data too: a YAML
list that the template loops over. So an embedded model, which cannot read prose, learns from the same demonstrations that
a language model reads. Prompts that differ only in their demonstrations share one template: a file without a template
names, as ``template``, the prompt that has it.

The variables of a template depend on its role:

=========  ==================================================================================
decompose  ``Summary`` (a summary, or one sentence of it if the scope is ``sentence``)
verify     ``Document``, ``ACU``; with the context ``document+extra`` also ``Extra``
judge      ``Document``, ``Summary``
critique   ``Document``, ``Statement``; may have ``References``, the sources' names, if any
revise     ``Document``, ``Summary``; may have ``Unsupported`` (statements) and ``Comment``
summarise  ``Sources`` (each with ``reference``, ``title``, ``text``), ``Question``
=========  ==================================================================================

``reply`` names the parser of the model's reply (see ``prompts.parsers``).
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

#: The required and the optional variables of a role's templates.
_VARIABLES: Mapping[str, tuple[Set[str], Set[str]]] = {
    "decompose": ({"Summary"}, set()),
    "verify": ({"Document", "ACU"}, set()),
    "judge": ({"Document", "Summary"}, set()),
    "critique": ({"Document", "Statement"}, {"References"}),
    "revise": ({"Document", "Summary"}, {"Unsupported", "Comment"}),
    "summarise": ({"Sources", "Question"}, set()),
}


class PromptError(ClaimwiseError):
    """A prompt does not exist, is malformed, or lacks a variable."""


@dataclass(frozen=True)
class Decoding:
    """What a language model gets besides a rendered prompt. A cached reply is found by both.

    ``choices`` are answers whose probabilities the model returns; if empty, it writes a text. ``schema`` is a JSON schema
    for the reply, used by models that can follow one.
    """

    max_tokens: int
    stop: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None


class Rendered(str):
    """A prompt as it is sent, with its document, so that prompts about the same document can run one after the other.

    Attributes:
        document: the document, or the part of it, that the text contains; if it has none, the text itself.
    """

    document: str


class Demonstration(BaseModel):
    """A worked example in a prompt: a passage and its claims, or a document, a claim and its label.

    ``extra`` is the second document in a prompt with context ``document+extra``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    passage: str
    claims: tuple[str, ...] = ()
    claim: str | None = None
    label: bool | None = None
    extra: str | None = None


class Prompt(BaseModel):
    """A prompt and how it is used.

    Attributes:
        name: the name given to ``load``: the file's stem, e.g. ``acueval-decompose-5shot``, or the path of a user's own.
        source: paper and figure, or its author.
        role: the model's role that it is for.
        reply: the name of the parser of the model's reply.
        scope: for ``decompose``: ``passage`` (one call for all) or ``sentence`` (one call per sentence, as FActScore does).
        context: for ``verify``: the ``document``, passages ``retrieved`` from it, or ``document+extra``, the passage to
            check against and another document that must not be used.
        max_tokens: the longest reply.
        stop: texts that end a reply, e.g. the beginning of a next demonstration that the model makes up.
        begin: how a reply should begin. If a reply cannot be parsed, the model is asked once more, with this text below
            the prompt.
        conclude: a request for Yes or No alone. If a reply has reasoning but no answer, for example because it was cut
            off, the model is asked once more, with the reasoning and this text below the prompt.
        template: the text, with its variables.
        demonstrations: the worked examples, in order: the first ``shots`` of their file.
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
            PromptError: a variable of the template is missing, or the template fails with these values.

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
        except Exception as error:  # an expression in a user's own template may raise anything
            raise PromptError(f"prompt {self.name} cannot be filled: {error}") from None
        rendered = Rendered(filled)
        rendered.document = variables.get("Document", filled)
        return rendered

    def with_demonstrations(self, demonstrations: Sequence[Demonstration]) -> Prompt:
        """The same prompt with other demonstrations, e.g. drawn from a corpus's validation split."""
        return self.model_copy(update={"demonstrations": tuple(demonstrations)})

    @property
    def decoding(self) -> Decoding:
        """What a language model gets besides the rendered text.

        >>> load("acueval-verify-zeroshot").decoding
        Decoding(max_tokens=5, stop=(), choices=('Yes', 'No'), schema=None)
        """
        kind = KINDS[self.reply]
        return Decoding(self.max_tokens, self.stop, tuple(kind.choices), kind.schema)

    @property
    def fingerprint(self) -> str:
        """A hash of all but name, source and second question, for models that read a prompt as data and ask no second one."""
        parts = (self.role, self.template, self.scope, self.context, self.demonstrations, self.reply, self.decoding)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def names(role: Role | None = None) -> list[str]:
    """The names of the package's prompts, for one role or for all.

    >>> "acueval-decompose-5shot" in names("decompose")
    True
    """
    stems = sorted(file.stem for file in _FOLDER.glob("*.txt"))
    return [name for name in stems if role is None or _packaged(name).role == role]


def load(name: str, role: Role | None = None) -> Prompt:
    """Read a prompt: one of the package's by name, or your own by path.

    Args:
        name: a name, or a path relative to the working folder, which has a separator or ends in ``.txt``. The
            ``template`` and ``demonstrations`` that a file names are looked for in its folder, then among the package's.
        role: the role that the prompt must be for (None: any). The reply to another would be misread.

    Raises:
        PromptError: there is no such prompt, or it is for another role (the message lists the prompts for this one), or
            its file is malformed (the message names the line).

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
        prompt = _prompt(name, file)  # not cached, so that a notebook sees an edit
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
    """The content of a prompt's file, to copy and edit.

    Raises:
        PromptError: see ``load``.

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
    """The checked prompt of a file."""
    own_file = template_file = _read(file)
    header = dict(own_file.header)
    if template_name := header.pop("template", None):
        if own_file.template.strip():
            raise own_file.error("template", f"template: expected no text of the file's own beside {template_name!r}")
        template_file = _read(_named_file(own_file, "template", f"{str(template_name).removesuffix('.txt')}.txt"))
    shots = header.pop("shots", 0)
    if demonstrations_name := header.get("demonstrations"):
        entries = _read_demonstrations(_named_file(own_file, "demonstrations", str(demonstrations_name)))
        if shots not in range(1, len(entries) + 1):
            expected = f"expected 1 to {len(entries)}, as {demonstrations_name} has"
            raise own_file.error("shots", f"shots: {expected}; found {shots!r}")
        header["demonstrations"] = entries[:shots]
    elif shots:
        raise own_file.error("shots", f"shots: found {shots}, and no `demonstrations` to take them from")
    try:
        prompt = Prompt.model_validate(header | {"name": name, "template": template_file.template.rstrip("\n")})
    except ValidationError as error:
        keys = [key for key in (*Prompt.model_fields, "shots") if key != "name"]
        lines = []
        for problem in error.errors():
            key, *within = map(str, problem["loc"])
            message = finding(".".join([key, *within]), problem, () if within else keys)
            lines.append(str(own_file.error(key, message)))
        raise PromptError("\n".join(lines)) from None
    if prompt.reply not in FOR_ROLE[prompt.role]:
        kinds = ", ".join(FOR_ROLE[prompt.role])
        raise own_file.error(
            "reply", f"reply: expected a kind of reply for {prompt.role} ({kinds}), found {prompt.reply!r}"
        )
    for key, role in (("scope", "decompose"), ("context", "verify")):
        if key in header and prompt.role != role:
            raise own_file.error(key, f"{key}: expected only in a prompt for {role}, this one is for {prompt.role}")
    if prompt.conclude and prompt.reply not in REASONED:
        expected = f"expected only with a reply that reasons ({', '.join(REASONED)})"
        raise own_file.error("conclude", f"conclude: {expected}, found with {prompt.reply!r}")
    _check_template(template_file, prompt.role, prompt.context)
    return prompt


def _named_file(prompt_file: _PromptFile, key: str, name: str) -> Path:
    """The file that a prompt file names under a key: in the same folder, else in the package's."""
    for folder in (prompt_file.file.parent, _FOLDER):
        if (folder / name).is_file():
            return folder / name
    expected = f"expected a file in {prompt_file.file.parent}, or one of claimwise's prompts folder"
    raise prompt_file.error(key, f"{key}: {expected}; found no {name!r}")


# Files are checked when they are read, so that errors name the line and come before the first call of a model.


class _PromptFile(NamedTuple):
    """A file's front matter and template, with line numbers: ``lines`` of the keys, ``start`` of the template."""

    file: Path
    header: dict[str, Any]
    template: str
    lines: Mapping[str, int]
    start: int

    def error(self, key: str, what: str) -> PromptError:
        """An error about a key of the front matter, with the key's line."""
        return _error(self.file, self.lines.get(key, 1), what)


def _read(file: Path) -> _PromptFile:
    """Read a prompt file's front matter and template."""
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


def _check_template(source: _PromptFile, role: str, context: str) -> None:
    """Check that a template has the variables of its role and context and no others.

    Without this check the error would come late, when the template is first filled: never with a model that reads no
    prose, and after an hour of other calls with a language model.
    """
    required, optional = _VARIABLES[role]
    if context == "document+extra":
        required = required | {"Extra"}
    expected = f"a prompt for {role} shows {_braced(required)}"
    if optional:
        expected += f" and perhaps some of {_braced(optional)}"
    try:
        tree = _ENVIRONMENT.parse(source.template)
        _ENVIRONMENT.compile(source.template)  # also finds unknown filters
    except jinja2.TemplateSyntaxError as error:
        what = f"not a template ({error.message}); {expected}"
        raise _error(source.file, source.start + error.lineno - 1, what) from None
    used = meta.find_undeclared_variables(tree) - {"demonstrations"}  # every template may loop over them
    if unknown := used - required - optional:
        first = min((name for name in tree.find_all(nodes.Name) if name.name in unknown), key=lambda name: name.lineno)
        what = f"unknown placeholder {_braced({first.name})}; {expected}"
        raise _error(source.file, source.start + first.lineno - 1, what)
    if lacking := required - used:
        raise _error(source.file, source.start, f"the text lacks {_braced(lacking)}; {expected}")


def _read_demonstrations(file: Path) -> list[Any]:
    """The entries of a file of demonstrations, a YAML list."""
    try:
        entries = yaml.load(_text(file), Loader=Loader)
    except yaml.YAMLError as error:
        raise PromptError(f"{file}: not YAML: {error}") from None
    if not isinstance(entries, list):
        raise PromptError(f"{file}: expected a list of demonstrations, found {shorten(entries)}")
    return entries


def _text(file: Path) -> str:
    """The file's content. A file that is not UTF-8 is an error."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start} is 0x{error.object[error.start]:02x}"
        raise PromptError(f"{file}: not UTF-8 ({wrong}); save the file as UTF-8") from None


def _error(file: Path, line: int, what: str) -> PromptError:
    return PromptError(f"prompt file {file}, line {line}: {what}")


def _braced(names: Set[str]) -> str:
    return ", ".join(f"{{{{ {name} }}}}" for name in sorted(names))
