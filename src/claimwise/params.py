"""params.yaml, read and checked: a misspelt key is an error that names it, not a silently unused value."""

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
from claimwise.paths import PARAMS, plain
from claimwise.sections import SECTIONS, Strict, check_prompts, listed
from claimwise.strict_yaml import Loader

#: The entry of ``datasets`` that reads the user's files.
OWN = "own"


class ParamsError(ClaimwiseError):
    """params.yaml is malformed; the message names the file and the key."""


class ScoredCorpus(Strict):
    """What the score stage does with one corpus: these metrics, on the first so many documents (None: all).

    ``validation_documents`` and ``test_documents``: of a metric that takes long that split's rows of so many documents of
    each origin only (0: none, None: all), none of which the model of any metric named in either learned from.
    """

    metrics: list[str]
    documents: int | None = Field(default=None, ge=1)
    validation_documents: dict[str, Annotated[int, Field(ge=0)] | None] = Field(default_factory=dict)
    test_documents: dict[str, Annotated[int, Field(ge=0)] | None] = Field(default_factory=dict)

    def few_documents(self) -> dict[str, dict[str, int | None]]:
        """How many documents of each origin a metric that takes long is asked about, by split."""
        return {"validation": self.validation_documents, "test": self.test_documents}


class Engine(Strict):
    """What scores: ``here`` is this process, ``dask`` so many ``workers`` on this machine, or those of a ``scheduler``.

    The scheduler is Dask's, named by its address; None starts workers, one a core if no number is given.
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
    """The ``score`` section: the metrics that have a stage."""

    metrics: list[str]


def _with_more(corpora: Any) -> Any:
    """A list of names as a mapping: of none of them more is said."""
    if isinstance(corpora, list) and all(isinstance(name, str) for name in corpora):
        return {name: {} for name in corpora}
    if isinstance(corpora, dict) and all(isinstance(more, dict | None) for more in corpora.values()):
        return {name: more or {} for name, more in corpora.items()}
    raise ValueError(
        "expected names, [a, b], or names with columns of your files, {a: {document: COLUMN}}, or with how many documents "
        f"of a split, {{a: {{test: 60}}}}; found {corpora!r}"
    )


class WithSections(BaseModel):
    """Settings beside the notebooks' sections, which are the keys that are no field."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, dict[str, Any]] = Field(init=False)

    @property
    def sections(self) -> dict[str, dict[str, Any]]:
        """The notebooks' sections by name."""
        return dict(self.model_extra or {})


class Dataset(WithSections):
    """An entry of ``datasets``; the sections are what notebooks' parameters are on these corpora.

    Attributes:
        corpora: what is prepared; of a user's file the columns that hold a field under another name, by field; of a
            published corpus, where that is cut, how many documents of a split's rows of each origin, by split.
        score: what is scored.
    """

    corpora: Annotated[dict[str, dict[str, str | PositiveInt]], BeforeValidator(_with_more)]
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
        """What stands in one list only would be scored nowhere, and nobody would say so."""
        expected = f"expected one of {', '.join(SECTIONS)}, or a notebook of yours that `notebooks` names"
        if unknown := [name for name in self.sections if name not in SECTIONS and name not in self.notebooks]:
            raise ValueError(
                "\n".join(f"{name}: unknown section{near(name, SECTIONS) or ';'} {expected}" for name in unknown)
            )
        listed(self.model, self.models, "`models`", "model")
        listed(self.data, self.datasets, "`datasets`", "data")
        for name in (*self.datasets, *self.metrics, *self.notebooks):
            if "." in plain(name):  # each becomes a folder's name, and a key that DVC looks for
                raise ValueError(
                    f"found the name {name!r}, expected one without a dot: DVC reads it as a key within a key"
                )
        for name in self.score.metrics:
            listed(name, self.metrics, "`metrics`", "score.metrics")
        for data, dataset in self.datasets.items():
            for name, more in dataset.corpora.items():
                if more and {isinstance(value, str) for value in more.values()} != {data == OWN}:
                    raise ValueError(
                        f"datasets.{data}.corpora.{name}: found {more}; columns are named of files of yours, under "
                        f"{OWN!r}, only, and documents are counted of other corpora, by split"
                    )
            for corpus, scored in dataset.score.items():
                listed(corpus, dataset.corpora, f"`datasets.{data}.corpora`", f"datasets.{data}.score")
                for name in scored.metrics:
                    listed(name, self.score.metrics, "`score.metrics`", f"datasets.{data}.score.{corpus}.metrics")
                for few in ("validation_documents", "test_documents"):
                    for name in getattr(scored, few):
                        listed(name, scored.metrics, "its `metrics`", f"datasets.{data}.score.{corpus}.{few}")
            for name in dataset.sections:
                listed(name, self.sections, "the notebooks' sections", f"datasets.{data}")
        for name in self.notebooks:
            listed(name, self.sections, "the notebooks' sections", "notebooks")
        return self

    @property
    def dataset(self) -> Dataset:
        """The entry of ``datasets`` that ``data`` chooses."""
        return self.datasets[self.data]

    def parameters(self, notebook: str) -> dict[str, Any]:
        """The parameters of a notebook: its section, that of the same name under the chosen dataset, ``data`` and ``model``.

        What stands in both sections counts as it stands under the dataset.

        Raises:
            ParamsError: there is no such section (with a suggestion), none for this dataset, or a value in it is wrong.
        """
        if notebook not in self.sections:
            raise ParamsError(f"{PARAMS} has no section {notebook!r}{near(notebook, self.sections)}")
        here = self.dataset.sections
        if notebook not in here:
            raise ParamsError(
                f"{PARAMS}, datasets.{self.data} has no section {notebook!r}, which says what that notebook reads "
                f"there; it has {', '.join(here) or 'none'}: add one, or take the notebook out of `notebooks`"
            )
        if wrong := list(self.wrong_parameters(notebook)):
            raise ParamsError("\n".join(f"{PARAMS}, {line}" for line in wrong))
        return self._merged(notebook)

    def _merged(self, notebook: str) -> dict[str, Any]:
        here = self.dataset.sections[notebook]
        return {"data": self.data, "model": self.model} | self.sections[notebook] | here

    def wrong_parameters(self, notebook: str) -> Iterator[str]:
        """What a notebook cannot take of its sections, a line each; nothing of a notebook that has no schema."""
        if notebook not in SECTIONS:
            return
        try:
            SECTIONS[notebook].model_validate(self._merged(notebook), context=self)
        except ValidationError as error:
            for found in error.errors():
                everywhere = {*found["loc"][:1]} <= {*self.sections[notebook]} - {*self.dataset.sections[notebook]}
                here = "" if everywhere else f"datasets.{self.data}."
                yield finding(here + ".".join(map(str, (notebook, *found["loc"]))), found)

    def model_entry(self, name: str) -> dict[str, Any]:
        """An entry of ``models``.

        Raises:
            ParamsError: there is no such entry (with a suggestion).
        """
        if name not in self.models:
            known = ", ".join(self.models)
            raise ParamsError(f"{PARAMS}, models: no entry {name!r}{near(name, self.models) or ';'} there are: {known}")
        return self.models[name]

    def entries_named_in(self, told: Any) -> dict[str, dict[str, Any]]:
        """The entries of ``metrics`` and ``models`` whose names stand in these settings, and those that they name in turn.

        >>> settings = read("params.yaml")
        >>> found = settings.entries_named_in({"beside": ["holistic-qwen"]})
        >>> list(found["metrics"]), list(found["models"])
        (['holistic-qwen'], ['qwen2.5-coder-1.5b'])
        """
        named, new = set(), set(_strings(told))
        while new:
            named |= new
            entries = [entries[name] for entries in (self.metrics, self.models) for name in new if name in entries]
            new = set(_strings([{**entry, "kind": None} for entry in entries])) - named  # a kind is no name of an entry
        return {
            kind: {name: entry for name, entry in entries.items() if name in named}
            for kind, entries in (("metrics", self.metrics), ("models", self.models))
        }


def _strings(value: Any) -> Iterator[str]:
    """Every text in settings, however deep, also those that are keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.items() if isinstance(value, Mapping) else value:
            yield from _strings(part)


def read(path: str | Path) -> Settings:
    """Read params.yaml.

    Raises:
        ParamsError: the file is not there, is not UTF-8 or no YAML, or has a wrong or missing key.
    """
    path = Path(path)
    content = read_yaml(path)
    try:
        result = Settings.model_validate(content)
    except ValidationError as error:
        lines = [line for one in error.errors() for line in _said(one, content).split("\n")]
    else:  # a wrong metric is wrong in every section that names it: it is said first, where it stands
        here = [name for name in result.notebooks if name in result.dataset.sections]
        lines = list(_wrong_entries(result)) or [line for name in here for line in result.wrong_parameters(name)]
    if lines:
        raise ParamsError("\n".join(f"{path}, {line}" for line in lines))
    return result


def _wrong_entries(settings: Settings) -> Iterator[str]:
    """Malformed metrics, and what is asked for and cannot be: other models and prompts may be notes for another day."""
    for name in settings.metrics:
        try:
            spec = specification(name, settings.metrics)
            if name in settings.score.metrics:
                check_prompts(spec)
                if spec.model:
                    models.check(settings.model_entry(spec.model))
        except ClaimwiseError as error:
            yield f"metrics.{name}: {error}"
    try:
        models.check(settings.models[settings.model])
    except ClaimwiseError as error:
        yield f"models.{settings.model}: {error}"


def read_yaml(path: Path, may_be_empty: bool = False) -> dict[str, Any]:
    """The mapping that a settings file holds; of an empty one, where that may be, an empty one.

    Raises:
        ParamsError: the file is not there, is not UTF-8, no YAML or no mapping.
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


def _said(error: Mapping[str, Any], content: Mapping) -> str:
    """One of pydantic's errors; a misspelt key passes for the section of a notebook, and the one that was meant is missing."""
    place, own = error["loc"], Settings.model_fields
    said = finding(".".join(map(str, place)), error)
    if len(place) != 1:
        return said
    key, known = str(place[0]), [*own, *SECTIONS]
    if error["type"] == "dict_type" and key not in known:
        return f"{key}: unknown key{near(key, known) or ','} found {shorten(error['input'])}"
    if error["type"] == "missing" and (close := nearest(key, [one for one in map(str, content) if one not in known])):
        return f"{said}; found {close!r}: did you mean that?"
    return said
