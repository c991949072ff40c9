"""params.yaml, read and checked: a misspelt key is an error that names it, not a silently unused value."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import pooch
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from claimwise.errors import ClaimwiseError, near
from claimwise.strict_yaml import Loader

DataName = Literal["sample", "public", "own"]

#: The settings file where no other is named.
PARAMS = Path("params.yaml")

#: The value of ``data`` that reads the user's files.
OWN = "own"


class ParamsError(ClaimwiseError):
    """params.yaml is malformed; the message names the file and the key."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ScoredCorpus(_Strict):
    """What the score stage does with one corpus."""

    documents: int | None = Field(default=None, ge=1)
    metrics: list[str] | None = None


class ScoreSettings(_Strict):
    """The ``score`` section."""

    metrics: list[str]
    corpora: dict[DataName, dict[str, ScoredCorpus]]


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


#: Corpora by name; of a user's file the columns that hold a field under another name, by field.
PreparedCorpora = Annotated[dict[str, dict[str, str]], BeforeValidator(_with_columns)]


def _check(name: str, place: str, known: Collection[str], where: str) -> None:
    """Refuse a name that another key of the file does not list.

    >>> _check("acuevl", "score.metrics", ["acueval", "fenice"], "metrics")
    Traceback (most recent call last):
    ...
    ValueError: score.metrics: found 'acuevl', expected one of `metrics`: acueval, fenice; did you mean 'acueval'?
    """
    if name not in known:
        listed = ", ".join(known) or "none"
        raise ValueError(f"{place}: found {name!r}, expected one of `{where}`: {listed}{near(name, known)}")


class Settings(BaseModel):
    """The whole of params.yaml; keys that are no field are the notebooks' sections."""

    model_config = ConfigDict(extra="allow", frozen=True)

    data: DataName
    model: str
    models: dict[str, dict[str, Any]]
    cache: str
    corpora: dict[DataName, PreparedCorpora]
    metrics: dict[str, dict[str, Any]]
    score: ScoreSettings
    distillation: dict[str, Any] = Field(default_factory=dict)

    _file: Path = PrivateAttr(PARAMS)

    @model_validator(mode="after")
    def _model_is_listed(self) -> Settings:
        if self.model not in self.models:
            raise ValueError(f"model: found {self.model!r}, expected one of {', '.join(self.models)}")
        return self

    @model_validator(mode="after")
    def _data_is_prepared_and_scored(self) -> Settings:
        for key, known in (("corpora", self.corpora), ("score.corpora", self.score.corpora)):
            if self.data not in known:
                raise ValueError(f"{key} has no entry {self.data!r}, which `data` chooses; found {', '.join(known)}")
        return self

    @model_validator(mode="after")
    def _only_own_files_have_columns(self) -> Settings:
        for data, corpora in self.corpora.items():
            if named := [name for name, columns in corpora.items() if columns and data != OWN]:
                raise ValueError(f"corpora.{data}.{named[0]}: columns are named of files of yours, under {OWN!r}, only")
        return self

    @model_validator(mode="after")
    def _what_is_scored_is_listed(self) -> Settings:
        """What stands in one list only would be scored nowhere, and nobody would say so."""
        for name in self.score.metrics:
            _check(name, "score.metrics", self.metrics, "metrics")
        for data, corpora in self.score.corpora.items():
            for corpus, wanted in corpora.items():
                place = f"score.corpora.{data}"
                if data in self.corpora:
                    _check(corpus, place, self.corpora[data], f"corpora.{data}")
                for name in wanted.metrics or []:
                    _check(name, f"{place}.{corpus}.metrics", self.score.metrics, "score.metrics")
        return self

    @property
    def sections(self) -> dict[str, dict[str, Any]]:
        """The notebooks' sections by name."""
        return dict(self.model_extra or {})

    def section(self, name: str) -> dict[str, Any]:
        """The parameters of one notebook.

        Entries for the user's files (``own`` beside ``sample`` and ``public``) are left out where ``data`` is another:
        whose machine a report of the sample or the public corpora was made on must not show in it.

        Raises:
            ParamsError: there is no such section (with a suggestion), or a key of it that has an entry for each value
                of ``data`` has none for the one that is chosen.
        """
        if name not in self.sections:
            raise ParamsError(f"{self._file} has no section {name!r}{near(name, self.sections)}")
        return {key: self._of_data(f"{name}.{key}", value) for key, value in (self.sections[name] or {}).items()}

    def _of_data(self, place: str, value: Any) -> Any:
        by_data = isinstance(value, dict) and bool(value) and value.keys() <= set(get_args(DataName))
        if not by_data:
            return value
        if self.data not in value:
            found = ", ".join(f"{data}: {entry}" for data, entry in value.items())
            raise ParamsError(
                f"{self._file}, {place} has no entry {self.data!r}, which `data` chooses; found {found}; add one of the "
                "same kind for your files, if they have what this notebook reads"
            )
        return value if self.data == OWN else {data: entry for data, entry in value.items() if data != OWN}

    @property
    def model_settings(self) -> dict[str, Any]:
        """The chosen entry of ``models``."""
        return self.models[self.model]


def read(path: str | Path = PARAMS) -> Settings:
    """Read params.yaml.

    Raises:
        ParamsError: the file is not there, is not UTF-8 or no YAML, or has a wrong or missing key.
    """
    path = Path(path)
    if not path.is_file():
        raise ParamsError(f"{path} is not there; run from the project's folder or name the file")
    try:
        content = Loader(path.read_text(encoding="utf-8")).get_single_data()
        if not isinstance(content, dict):
            found = "nothing" if content is None else f"a {type(content).__name__}"
            raise ParamsError(f"{path}: expected `key: value` at the top, as in `data: sample`; found {found}")
        result = Settings.model_validate(content)
    except UnicodeDecodeError as error:
        found = f"byte {error.start} is 0x{error.object[error.start]:02x}"
        raise ParamsError(f"{path} is not UTF-8 ({found}); save the file as UTF-8") from None
    except yaml.YAMLError as error:
        raise ParamsError(f"{path} is not YAML: {error}") from None
    except ValidationError as error:
        lines = [
            f"{path}, {'.'.join(map(str, e['loc'])) or 'top level'}: {e['msg']}{_misspelt(e['loc'], e['type'], content)}"
            for e in error.errors()
        ]
        raise ParamsError("\n".join(lines)) from None
    result._file = path
    return result


def _misspelt(place: tuple, kind: str, content: dict) -> str:
    """Which key was meant to be the one that is missing; a misspelt one passes for the section of a notebook."""
    others = [key for key in map(str, content) if key not in Settings.model_fields]
    close = difflib.get_close_matches(str(place[-1]), others, 1) if kind == "missing" and len(place) == 1 else []
    return f"; found {close[0]!r}: did you mean that?" if close else ""


def own_cache() -> Path:
    """The user's own file of finished calls, where no params.yaml names one."""
    return Path(pooch.os_cache("claimwise"), "calls.sqlite")
