"""Prompts as data: one text file each, named ``<paper>-<role>-<variant>.txt``.

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
revise     ``Document``, ``Summary``, and ``Unsupported`` (statements) or ``Comment`` or both
summarise  ``Sources`` (each with ``reference``, ``title``, ``text``), ``Question``
=========  ==================================================================================

``reply`` names the parser (see ``prompts.parsers``) that reads the answer.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Literal

import jinja2
import yaml
from jinja2.sandbox import SandboxedEnvironment
from pydantic import BaseModel, ConfigDict

from claimwise.errors import ClaimwiseError
from claimwise.prompts.decoding import CHOICES, SCHEMAS, Decoding

Role = Literal["decompose", "verify", "judge", "critique", "revise", "summarise"]

_ENVIRONMENT = SandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=False, autoescape=False)


@cache
def _compiled(template: str) -> jinja2.Template:
    return _ENVIRONMENT.from_string(template)


class PromptError(ClaimwiseError):
    """A prompt is not there, is malformed, or lacks a variable."""


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


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    role: Role
    reply: str
    scope: Literal["passage", "sentence"] = "passage"
    context: Literal["document", "retrieved", "document+extra"] = "document"
    demonstrations: str | None = None
    shots: int = 0
    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    template: str | None = None


@dataclass(frozen=True)
class Prompt:
    """A prompt and what an embedded model needs to know of it.

    Attributes:
        name: the file's stem, e.g. ``acueval-decompose-5shot``.
        role: which of the model's roles it is for.
        source: paper and figure, or who wrote it.
        reply: the name of the parser that reads the model's reply.
        scope: ``passage`` (all at once) or ``sentence`` (one call a sentence, FActScore's way).
        context: what a verification prompt shows: the ``document``, passages ``retrieved`` from it, or
            ``document+extra``, the passage to check against and another document that must not be used.
        demonstrations: the worked examples, in order; the first ``shots`` of their file.
        max_tokens: longest reply.
        stop: texts that end a reply, e.g. the beginning of a next demonstration that the model makes up.
        template: the text, with its variables.
    """

    name: str
    role: Role
    source: str
    reply: str
    template: str = field(repr=False)
    scope: str = "passage"
    context: str = "document"
    demonstrations: tuple[Demonstration, ...] = field(default=(), repr=False)
    max_tokens: int = 256
    stop: tuple[str, ...] = ()

    def render(self, **variables: Any) -> str:
        """Fill the template.

        Raises:
            PromptError: a variable of the template was not given.

        >>> load("acueval-verify-zeroshot").render(Document="It rained.", ACU="It rained.").splitlines()[2]
        'Passage: It rained.'
        >>> load("acueval-verify-zeroshot").render(Document="It rained.")
        Traceback (most recent call last):
        ...
        claimwise.prompts.PromptError: prompt acueval-verify-zeroshot: 'ACU' is undefined
        """
        try:
            return _compiled(self.template).render(demonstrations=self.demonstrations, **variables)
        except jinja2.UndefinedError as error:
            raise PromptError(f"prompt {self.name}: {error}") from None

    def with_demonstrations(self, demonstrations: Sequence[Demonstration]) -> Prompt:
        """The same prompt with other demonstrations, e.g. drawn from a corpus's validation split."""
        return replace(self, demonstrations=tuple(demonstrations))

    @property
    def decoding(self) -> Decoding:
        """What a language model is asked for besides the rendered text; the two make up a remembered call.

        >>> load("acueval-verify-zeroshot").decoding
        Decoding(max_tokens=5, stop=(), choices=('Yes', 'No'), schema=None)
        """
        return Decoding(self.max_tokens, self.stop, tuple(CHOICES.get(self.reply, ())), SCHEMAS.get(self.reply))

    @property
    def fingerprint(self) -> str:
        """A hash of everything in the prompt but its name and source, for models that read a prompt as data."""
        parts = (self.role, self.template, self.scope, self.context, self.demonstrations, self.reply, self.decoding)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def names(role: Role | None = None) -> list[str]:
    """The prompts there are, of one role or of all.

    >>> "acueval-decompose-5shot" in names("decompose")
    True
    """
    files = sorted(f.name.removesuffix(".txt") for f in resources.files(__name__).iterdir() if f.name.endswith(".txt"))
    return [name for name in files if role is None or load(name).role == role]


@cache
def load(name: str) -> Prompt:
    """Read a prompt by name.

    Raises:
        PromptError: no such prompt (the message lists those there are), or its file is malformed.

    >>> prompt = load("acueval-decompose-3shot")
    >>> prompt.role, len(prompt.demonstrations), prompt.demonstrations[0].claims[0]
    ('decompose', 3, 'Amie has Diamond Blackfan Anaemia')
    """
    folder = resources.files(__name__)
    file = folder / f"{name}.txt"
    if not file.is_file():
        raise PromptError(f"no prompt named {name!r}{_near(name, names())} there are: {', '.join(names())}")
    header, template = _read(file)
    if header.template:
        _, template = _read(folder / f"{header.template}.txt")
    demonstrations: tuple[Demonstration, ...] = ()
    if header.demonstrations:
        entries = yaml.safe_load((folder / header.demonstrations).read_text(encoding="utf-8"))
        demonstrations = tuple(Demonstration.model_validate(entry) for entry in entries[: header.shots])
        if len(demonstrations) < header.shots:
            raise PromptError(f"prompt {name}: {header.shots} shots asked, {header.demonstrations} has {len(entries)}")
    return Prompt(
        name=name,
        template=template.rstrip("\n"),
        demonstrations=demonstrations,
        **header.model_dump(exclude={"demonstrations", "shots", "template"}),
    )


def load_for(role: Role, name: str) -> Prompt:
    """Read a prompt that must be for a role: the reply to another would be read as what it is not.

    Raises:
        PromptError: no such prompt, or it is for another role; the message lists those of the role.

    >>> load_for("judge", "belugaeval-judge-consistency").role
    'judge'
    >>> load_for("verify", "fenice-decompose-json")
    Traceback (most recent call last):
    ...
    claimwise.prompts.PromptError: prompt 'fenice-decompose-json' is for decompose, expected one for verify: ...
    """
    right = names(role)
    if name in right:
        return load(name)
    if name in names():
        raise PromptError(f"prompt {name!r} is for {load(name).role}, expected one for {role}: {', '.join(right)}")
    raise PromptError(f"no prompt named {name!r}{_near(name, right)} there are: {', '.join(right)}")


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ";"


def _read(file: Traversable) -> tuple[_Header, str]:
    """A prompt file's front matter and its template."""
    try:
        _, front, template = file.read_text(encoding="utf-8").split("---\n", 2)
        return _Header.model_validate(yaml.safe_load(front)), template
    except (ValueError, yaml.YAMLError) as error:
        raise PromptError(f"prompt file {file.name}: expected front matter between two lines '---': {error}") from None
