"""Models behind one interface: embedded, lexical (both offline), transformers checkpoints, OpenAI-compatible servers."""

import copy
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from threading import Lock
from typing import Any

from claimwise import paths
from claimwise.models.base import Model
from claimwise.models.cache import ResponseCache
from claimwise.models.cost import usage
from claimwise.models.language import Decomposer, PromptedModel, Verifier
from claimwise.models.options import LANGUAGE_MODELS, ModelError, Options, read_kind, without_credentials

__all__ = ["ModelError", "check", "describe", "load", "loaded", "loaded_with", "remembering", "usage", "versions"]

_LOADING = Lock()  # threads that ask for a model at once get the same one
#: The libraries that results may depend on.
_LIBRARIES = ("claimwise", "numpy", "scikit-learn", "tokenizers", "torch", "transformers")


def load(settings: Mapping[str, Any], cache: str | Path | ResponseCache | None = None) -> Model:
    """Load the model that an entry of ``models`` in params.yaml describes.

    Args:
        settings: ``kind`` and the options of that kind (docs/models.md).
        cache: a cache of finished calls, or its file. None keeps the calls in memory only.

    Raises:
        ModelError: the kind or an option is unknown or malformed, the checkpoint cannot be loaded, or the vendor's key is
            missing.

    >>> load({"kind": "openai", "model": "m", "concurency": 3})
    Traceback (most recent call last):
    ...
    claimwise.models.options.ModelError: kind openai: unknown option 'concurency'; did you mean 'concurrency'?
    """
    options = check(settings)
    kind = settings["kind"]
    store = cache if isinstance(cache, ResponseCache) else ResponseCache(cache if cache is not None else ":memory:")
    # A backend is imported only if it is needed: torch takes seconds, and most commands need one backend or no model.
    if kind == "embedded":
        from claimwise.models.caching import CachedModel
        from claimwise_embedded import EmbeddedModel

        return CachedModel(EmbeddedModel(options), store)
    if kind == "lexical":
        from claimwise.models.lexical import LexicalModel

        return LexicalModel()
    if options.recorded:
        store.read(paths.located(options.recorded))
    if kind == "transformers":
        from claimwise.models.transformers_language import TransformersLanguageModel as Backend
    else:
        from claimwise.models.openai import OpenAILanguageModel as Backend
    prompted = Backend(options), store, options.prices
    if not (options.only_verifies or options.only_decomposes):
        return PromptedModel(*prompted)
    weights = "zero-shot" if options.averaged_with == "embedded-zero-shot" else "supervised"
    other = load({"kind": "embedded", "weights": weights}, store)
    if options.only_decomposes:
        return Decomposer(*prompted, other)
    averaged = bool(options.averaged_with)
    return Verifier(*prompted, other, calibration=options.calibration or (1.0, 0.0), averaged=averaged)


def loaded(settings: Mapping[str, Any]) -> Model:
    """Load a model as ``load`` does, with finished calls in memory only; equal entries are loaded once per process."""
    with _LOADING:
        return _loaded(json.dumps(dict(settings), sort_keys=True))


@lru_cache  # loading takes seconds to minutes
def _loaded(settings: str) -> Model:
    return load(json.loads(settings))


def loaded_with(settings: Mapping[str, Any], calls: ResponseCache) -> Model:
    """Return the ``loaded`` model with a cache of finished calls of its own, to which the entry's recorded calls are added."""
    if recorded := settings.get("recorded"):
        calls.read(paths.located(recorded))
    return remembering(loaded(settings), calls)


def remembering(model: Model, calls: ResponseCache) -> Model:
    """Return the same model (and weights) with another cache of finished calls.

    One model can then score many parts of a large file, and each part's calls are freed with the part.

    >>> model = load({"kind": "embedded"})
    >>> other = remembering(model, ResponseCache(":memory:"))
    >>> other.model is model.model, other.cache is model.cache
    (True, False)
    """
    if not hasattr(model, "cache"):
        return model
    other = copy.copy(model)
    other.cache = calls
    if hasattr(other, "other"):  # the model that plays the other roles
        other.other = remembering(other.other, calls)
    return other


def check(settings: Mapping[str, Any]) -> Any:
    """Check an entry of ``models`` and return its options, without loading a checkpoint or looking for a key.

    Raises:
        ModelError: the kind or an option is unknown or malformed.
    """
    from claimwise_embedded import EmbeddedOptions  # here, because it imports this package

    if not isinstance(settings, Mapping):
        raise ModelError(f"expected an entry of `models`, such as {{'kind': 'embedded'}}, got {settings!r}")
    return read_kind("model", settings, {"embedded": EmbeddedOptions, "lexical": Options, **LANGUAGE_MODELS})


def describe(settings: Mapping[str, Any]) -> str:
    """Describe a model in one line: what it is, and whether it was trained for this task.

    >>> describe({"kind": "openai", "model": "m", "base_url": ["https://user:secret@one.org/v1", "https://two.org/v1"]})
    'm at https://one.org/v1, https://two.org/v1'
    """
    kind = settings.get("kind")
    for role, duty in (("only_verifies", "verifies"), ("only_decomposes", "writes claims")):
        if settings.get(role):
            if other := settings.get("averaged_with"):
                duty += f", averaged with {other}"
            if settings.get("contradiction"):
                duty += " and tells contradicted from absent claims"
            return f"{describe({**settings, role: False})}; it {duty}, and the embedded model does the rest"
    if kind == "embedded":
        weights = settings.get("weights", "supervised")
        return (
            f"embedded (MiniLM features and learned heads, 23 million parameters, CPU; {weights}, see its model card)"
        )
    if kind == "lexical":
        return "lexical (word overlap, nothing learned)"
    if kind == "transformers":
        file = f", {settings['file']}" if settings.get("file") else ""
        adapter = f", fine-tuned by {settings['adapter']}" if settings.get("adapter") else ""
        return f"{settings['model']} at revision {settings.get('revision') or 'main'}{file}{adapter}"
    addresses = settings.get("base_url") or "the vendor"
    addresses = [addresses] if isinstance(addresses, str) else addresses
    return f"{settings['model']} at {', '.join(map(without_credentials, addresses))}"


def versions() -> dict[str, str]:
    """Return the versions of the libraries that results depend on, without the build (2.13.0, not 2.13.0+cpu)."""
    return {name: metadata.version(name).split("+")[0] for name in _LIBRARIES}
