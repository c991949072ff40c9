"""Read and check params.yaml: a misspelt key is an error that names it, not a value that is silently unused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    ValidationError,
    model_validator,
)

from claimwise import models
from claimwise.errors import ClaimwiseError, finding, near, nearest, shorten
from claimwise.metrics import specification
from claimwise.paths import PARAMS, plain, root
from claimwise.sections import SECTIONS, Strict, check_prompts, listed
from claimwise.strict_yaml import Loader

#: The entry of ``datasets`` that reads the user's files.
OWN = "own"


class ParamsError(ClaimwiseError):
    """params.yaml is malformed; the message names the file and the key."""


class ScoredCorpus(Strict):
    """What the score stage does with one corpus: the metrics that it runs, and the number of documents (None: all).

    ``validation_documents`` and ``test_documents`` are for slow metrics: by metric, the number of documents of that split
    for each origin (0: none, None: all). Documents are left out if the model of any metric named in either learned from
    them.
    """

    metrics: list[str]
    documents: int | None = Field(default=None, ge=1)
    validation_documents: dict[str, Annotated[int, Field(ge=0)] | None] = Field(default_factory=dict)
    test_documents: dict[str, Annotated[int, Field(ge=0)] | None] = Field(default_factory=dict)

    def document_limits(self) -> dict[str, dict[str, int | None]]:
        """The number of documents of each origin for slow metrics, by split and metric."""
        return {"validation": self.validation_documents, "test": self.test_documents}


class Engine(Strict):
    """Where scores are computed: ``here`` in this process, or by ``dask``.

    ``scheduler`` is the address of Dask's scheduler. Without it, ``workers`` are started on this machine (None: one per
    core).
    """

    kind: Literal["here", "dask"] = "here"
    scheduler: str | None = None
    workers: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _of_dask(self) -> Engine:
        if self.kind == "here" and (self.scheduler or self.workers):
            raise ValueError(
                f"{'scheduler' if self.scheduler else 'workers'} is for kind: dask; name this kind, or leave it out"
            )
        return self


class ScoreSettings(Strict):
    """The ``score`` section: the metrics that have a stage of their own."""

    metrics: list[str]


def _as_mapping(corpora: Any) -> Any:
    """Corpora as a mapping from name to details; a list of names has no details."""
    if isinstance(corpora, list) and all(isinstance(name, str) for name in corpora):
        return {name: {} for name in corpora}
    if isinstance(corpora, dict) and all(isinstance(details, dict | None) for details in corpora.values()):
        return {name: details or {} for name, details in corpora.items()}
    raise ValueError(
        "expected names, [a, b], or names with columns of your files, {a: {document: COLUMN}}, or with how many documents "
        f"of a split, {{a: {{test: 60}}}}; found {corpora!r}"
    )


class WithSections(BaseModel):
    """Settings with the notebooks' sections, which are the keys that are no field."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, dict[str, Any]] = Field(init=False)

    @property
    def sections(self) -> dict[str, dict[str, Any]]:
        """The notebooks' sections by name."""
        return dict(self.model_extra or {})


class Dataset(WithSections):
    """An entry of ``datasets``. Its sections are the notebooks' parameters for these corpora.

    Attributes:
        corpora: the corpora to prepare, with details. For a user's file these are the columns with other names, by field;
            for a published corpus, the number of documents of each origin to keep, by split.
        score: what to score.
    """

    corpora: Annotated[dict[str, dict[str, str | PositiveInt]], BeforeValidator(_as_mapping)]
    score: dict[str, ScoredCorpus] = Field(default_factory=dict)


class Settings(WithSections):
    """The whole of params.yaml."""

    data: str
    model: str
    models: dict[str, dict[str, Any]]
    metrics: dict[str, dict[str, Any]]
    score: ScoreSettings
    datasets: dict[str, Dataset]
    notebooks: list[str]
    cache: str
    engine: Engine = Engine()

    @model_validator(mode="after")
    def _names_are_listed(self) -> Settings:
        """Check names against the other lists: without this, a misspelt name would silently not be scored."""
        expected = f"expected one of {', '.join(SECTIONS)}, or a notebook of yours that `notebooks` names"
        if unknown := [name for name in self.sections if name not in SECTIONS and name not in self.notebooks]:
            raise ValueError(
                "\n".join(f"{name}: unknown section{near(name, SECTIONS) or ';'} {expected}" for name in unknown)
            )
        listed(self.model, self.models, "`models`", "model")
        listed(self.data, self.datasets, "`datasets`", "data")
        for name in (*self.datasets, *self.metrics, *self.notebooks):
            if "." in plain(name):  # each becomes a folder's name and a key for DVC
                raise ValueError(
                    f"found the name {name!r}, expected one without a dot: DVC reads it as a key within a key"
                )
        for name in self.score.metrics:
            listed(name, self.metrics, "`metrics`", "score.metrics")
        for data, dataset in self.datasets.items():
            for name, details in dataset.corpora.items():
                if details and {isinstance(value, str) for value in details.values()} != {data == OWN}:
                    raise ValueError(
                        f"datasets.{data}.corpora.{name}: found {details}; columns are named of files of yours, under "
                        f"{OWN!r}, only, and documents are counted of other corpora, by split"
                    )
            for corpus, scored in dataset.score.items():
                listed(corpus, dataset.corpora, f"`datasets.{data}.corpora`", f"datasets.{data}.score")
                for name in scored.metrics:
                    listed(name, self.score.metrics, "`score.metrics`", f"datasets.{data}.score.{corpus}.metrics")
                for key in ("validation_documents", "test_documents"):
                    for name in getattr(scored, key):
                        listed(name, scored.metrics, "its `metrics`", f"datasets.{data}.score.{corpus}.{key}")
            for name in dataset.sections:
                listed(name, self.sections, "the notebooks' sections", f"datasets.{data}")
        for name in self.notebooks:
            listed(name, self.sections, "the notebooks' sections", "notebooks")
        return self

    @property
    def dataset(self) -> Dataset:
        """The entry of ``datasets`` that ``data`` chooses."""
        return self.datasets[self.data]

    @property
    def cache_file(self) -> Path:
        """The file of finished calls."""
        return root() / Path(self.cache).expanduser()

    def parameters(self, notebook: str) -> dict[str, Any]:
        """The parameters of a notebook: its section, its section under the chosen dataset, ``data`` and ``model``.

        The dataset's section overrides the general one.

        Raises:
            ParamsError: there is no such section (with a suggestion), or none for this dataset, or a value is wrong.
        """
        if notebook not in self.sections:
            raise ParamsError(f"{PARAMS} has no section {notebook!r}{near(notebook, self.sections)}")
        sections = self.dataset.sections
        if notebook not in sections:
            raise ParamsError(
                f"{PARAMS}, datasets.{self.data} has no section {notebook!r}, which says what that notebook reads "
                f"there; it has {', '.join(sections) or 'none'}: add one, or take the notebook out of `notebooks`"
            )
        if wrong := list(self.wrong_parameters(notebook)):
            raise ParamsError("\n".join(f"{PARAMS}, {line}" for line in wrong))
        return self._merged(notebook)

    def _merged(self, notebook: str) -> dict[str, Any]:
        parameters = {"data": self.data, "model": self.model}
        return parameters | self.sections[notebook] | self.dataset.sections[notebook]

    def wrong_parameters(self, notebook: str) -> Iterator[str]:
        """Yield a line for each wrong parameter in a notebook's sections; nothing if the notebook has no schema."""
        if notebook not in SECTIONS:
            return
        try:
            SECTIONS[notebook].model_validate(self._merged(notebook), context=self)
        except ValidationError as error:
            for problem in error.errors():
                general = {*problem["loc"][:1]} <= {*self.sections[notebook]} - {*self.dataset.sections[notebook]}
                prefix = "" if general else f"datasets.{self.data}."
                yield finding(prefix + ".".join(map(str, (notebook, *problem["loc"]))), problem)

    def model_entry(self, name: str) -> dict[str, Any]:
        """An entry of ``models``.

        Raises:
            ParamsError: there is no such entry (with a suggestion).
        """
        if name not in self.models:
            names = ", ".join(self.models)
            raise ParamsError(f"{PARAMS}, models: no entry {name!r}{near(name, self.models) or ';'} there are: {names}")
        return self.models[name]

    def entries_named_in(self, values: Any) -> dict[str, dict[str, Any]]:
        """The entries of ``metrics`` and ``models`` that these values name, and the entries that those name in turn.

        >>> settings = read("params.yaml")
        >>> found = settings.entries_named_in({"beside": ["holistic-qwen"]})
        >>> list(found["metrics"]), list(found["models"])
        (['holistic-qwen'], ['qwen2.5-coder-1.5b'])
        """
        named, new = set(), set(_strings(values))
        while new:
            named |= new
            entries = [entries[name] for entries in (self.metrics, self.models) for name in new if name in entries]
            new = (
                set(_strings([{**entry, "kind": None} for entry in entries])) - named
            )  # a kind is not the name of an entry
        return {
            kind: {name: entry for name, entry in entries.items() if name in named}
            for kind, entries in (("metrics", self.metrics), ("models", self.models))
        }


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in nested settings, also the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.items() if isinstance(value, Mapping) else value:
            yield from _strings(part)


def read(path: str | Path) -> Settings:
    """Read params.yaml.

    Raises:
        ParamsError: the file does not exist, is not UTF-8 or not YAML, or has a wrong or missing key.
    """
    path = Path(path)
    content = read_yaml(path)
    try:
        result = Settings.model_validate(content)
    except ValidationError as error:
        lines = [line for problem in error.errors() for line in _message(problem, content).split("\n")]
    else:  # a wrong metric would be an error in every section that names it, so entries are checked before sections
        notebooks = [name for name in result.notebooks if name in result.dataset.sections]
        lines = list(_wrong_entries(result)) or [line for name in notebooks for line in result.wrong_parameters(name)]
    if lines:
        raise ParamsError("\n".join(f"{path}, {line}" for line in lines))
    return result


def _wrong_entries(settings: Settings) -> Iterator[str]:
    """Yield a line for each wrong model or metric. Prompts are only checked if they are used: others may be for later."""
    for name, entry in settings.models.items():
        try:
            models.check(entry)
        except ClaimwiseError as error:
            yield f"models.{name}: {error}"
    for name in settings.metrics:
        try:
            spec = specification(name, settings.metrics)
            if name in settings.score.metrics:
                check_prompts(spec)
                if spec.model:
                    settings.model_entry(spec.model)
        except ClaimwiseError as error:
            yield f"metrics.{name}: {error}"


def read_yaml(path: Path, may_be_empty: bool = False) -> dict[str, Any]:
    """The mapping in a settings file; an empty one for an empty file, if that is allowed.

    Raises:
        ParamsError: the file does not exist, is not UTF-8, not YAML or not a mapping.
    """
    if not path.is_file():
        raise ParamsError(f"{path} is not there; run from the project's folder or name the file")
    try:
        content = Loader(path.read_text(encoding="utf-8")).get_single_data()
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is 0x{error.object[error.start]:02x}"
        raise ParamsError(f"{path} is not UTF-8 ({found}); save the file as UTF-8") from None
    except yaml.YAMLError as error:
        raise ParamsError(f"{path} is not YAML: {error}") from None
    if content is None and may_be_empty:
        return {}
    if not isinstance(content, dict):
        found = "nothing" if content is None else f"a {type(content).__name__}"
        raise ParamsError(f"{path}: expected `key: value` at the top, as in `model: lexical`; found {found}")
    return content


def _message(error: Mapping[str, Any], content: Mapping) -> str:
    """One of pydantic's errors as a line.

    To pydantic a misspelt key is a notebook's section, and the right key is missing; the line says what was meant.
    """
    place = error["loc"]
    message = finding(".".join(map(str, place)), error)
    if len(place) != 1:
        return message
    key, known = str(place[0]), [*Settings.model_fields, *SECTIONS]
    if error["type"] == "dict_type" and key not in known:
        return f"{key}: unknown key{near(key, known) or ','} found {shorten(error['input'])}"
    if error["type"] == "missing" and (
        close := nearest(key, [name for name in map(str, content) if name not in known])
    ):
        return f"{message}; found {close!r}: did you mean that?"
    return message
