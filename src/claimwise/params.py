"""params.yaml, read and checked: a misspelt key is an error that names it, not a silently unused value."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from claimwise.errors import ClaimwiseError, near
from claimwise.paths import PARAMS, plain
from claimwise.strict_yaml import Loader

#: The entry of ``datasets`` that reads the user's files.
OWN = "own"


class ParamsError(ClaimwiseError):
    """params.yaml is malformed; the message names the file and the key."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScoredCorpus(_Strict):
    """What the score stage does with one corpus: these metrics, on the first so many documents (None: all)."""

    metrics: list[str]
    documents: int | None = Field(default=None, ge=1)


class ScoreSettings(_Strict):
    """The ``score`` section: the metrics that have a stage."""

    metrics: list[str]


def _with_columns(corpora: Any) -> Any:
    """A list of names as a mapping: of none of them a column is named.

    >>> _with_columns(["mine", "news"]), _with_columns({"mine": None, "news": {"document": "article"}})
    ({'mine': {}, 'news': {}}, {'mine': {}, 'news': {'document': 'article'}})
    """
    if isinstance(corpora, list) and all(isinstance(name, str) for name in corpora):
        return {name: {} for name in corpora}
    if isinstance(corpora, dict) and all(isinstance(columns, dict | None) for columns in corpora.values()):
        return {name: columns or {} for name, columns in corpora.items()}
    raise ValueError(f"expected names, [a, b], or names with columns, {{a: {{document: COLUMN}}}}; found {corpora!r}")


class Dataset(BaseModel):
    """An entry of ``datasets``; keys that are no field are the notebooks' sections.

    Attributes:
        corpora: what is prepared; of a user's file the columns that hold a field under another name, by field.
        score: what is scored.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    corpora: Annotated[dict[str, dict[str, str]], BeforeValidator(_with_columns)]
    score: dict[str, ScoredCorpus] = Field(default_factory=dict)

    @property
    def sections(self) -> dict[str, dict[str, Any]]:
        """What notebooks' parameters are on these corpora, by notebook."""
        return dict(self.model_extra or {})


def _listed(name: str, place: str, known: Collection[str], where: str) -> None:
    """Refuse a name that another key of the file does not list.

    >>> _listed("acuevl", "score.metrics", ["acueval", "fenice"], "metrics")
    Traceback (most recent call last):
    ...
    ValueError: score.metrics: found 'acuevl', expected one of `metrics`: acueval, fenice; did you mean 'acueval'?
    """
    if name not in known:
        raise ValueError(
            f"{place}: found {name!r}, expected one of `{where}`: {', '.join(known) or 'none'}{near(name, known)}"
        )


class Settings(BaseModel):
    """The whole of params.yaml; keys that are no field are the notebooks' sections."""

    model_config = ConfigDict(extra="allow", frozen=True)

    data: str
    model: str
    models: dict[str, dict[str, Any]]
    metrics: dict[str, dict[str, Any]]
    score: ScoreSettings
    datasets: dict[str, Dataset]
    notebooks: list[str]
    cache: str

    _file: Path = PrivateAttr(Path(PARAMS))

    @model_validator(mode="after")
    def _names_are_listed(self) -> Settings:
        """What stands in one list only would be scored nowhere, and nobody would say so."""
        _listed(self.model, "model", self.models, "models")
        _listed(self.data, "data", self.datasets, "datasets")
        for name in (*self.datasets, *self.metrics, *self.notebooks):
            plain(name)  # each becomes a folder's name
        for name in self.score.metrics:
            _listed(name, "score.metrics", self.metrics, "metrics")
        for data, dataset in self.datasets.items():
            named = [name for name, columns in dataset.corpora.items() if columns]
            if named and data != OWN:
                raise ValueError(
                    f"datasets.{data}.corpora.{named[0]}: columns are named of files of yours, under {OWN!r}, only"
                )
            for corpus, scored in dataset.score.items():
                _listed(corpus, f"datasets.{data}.score", dataset.corpora, f"datasets.{data}.corpora")
                for name in scored.metrics:
                    _listed(name, f"datasets.{data}.score.{corpus}.metrics", self.score.metrics, "score.metrics")
            for name, section in dataset.sections.items():
                _listed(name, f"datasets.{data}", self.sections, "the notebooks' sections")
                if twice := sorted(set(section) & set(self.sections[name])):
                    raise ValueError(f"{name}.{twice[0]} stands also in datasets.{data}.{name}; keep one")
        for name in self.notebooks:
            _listed(name, "notebooks", self.sections, "the notebooks' sections")
        return self

    @property
    def sections(self) -> dict[str, dict[str, Any]]:
        """The notebooks' sections by name."""
        return dict(self.model_extra or {})

    @property
    def dataset(self) -> Dataset:
        """The entry of ``datasets`` that ``data`` chooses."""
        return self.datasets[self.data]

    def parameters(self, notebook: str) -> dict[str, Any]:
        """The parameters of a notebook: its section, that of the same name under the chosen dataset, ``data`` and ``model``.

        Raises:
            ParamsError: there is no such section (with a suggestion), or none for this dataset.
        """
        if notebook not in self.sections:
            raise ParamsError(f"{self._file} has no section {notebook!r}{near(notebook, self.sections)}")
        here = self.dataset.sections
        if notebook not in here:
            raise ParamsError(
                f"{self._file}, datasets.{self.data} has no section {notebook!r}, which says what that notebook reads "
                f"there; it has {', '.join(here) or 'none'}: add one, or take the notebook out of `notebooks`"
            )
        return {"data": self.data, "model": self.model} | self.sections[notebook] | here[notebook]

    def model_entry(self, name: str) -> dict[str, Any]:
        """An entry of ``models``.

        Raises:
            ParamsError: there is no such entry (with a suggestion).
        """
        if name not in self.models:
            known = ", ".join(self.models)
            raise ParamsError(f"{self._file}, models: no entry {name!r}{near(name, self.models)}; there are: {known}")
        return self.models[name]


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
        lines = [
            f"{path}, {'.'.join(map(str, e['loc'])) or 'top level'}: {e['msg']}{_misspelt(e['loc'], e['type'], content)}"
            for e in error.errors()
        ]
        raise ParamsError("\n".join(lines)) from None
    result._file = path
    return result


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping that a settings file holds.

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
    if not isinstance(content, dict):
        found = "nothing" if content is None else f"a {type(content).__name__}"
        raise ParamsError(f"{path}: expected `key: value` at the top, as in `model: lexical`; found {found}")
    return content


def _misspelt(place: tuple, kind: str, content: dict) -> str:
    """Which key was meant to be the one that is missing; a misspelt one passes for the section of a notebook."""
    others = [key for key in map(str, content) if key not in Settings.model_fields]
    close = difflib.get_close_matches(str(place[-1]), others, 1) if kind == "missing" and len(place) == 1 else []
    return f"; found {close[0]!r}: did you mean that?" if close else ""
