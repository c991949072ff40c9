"""Models behind one interface: embedded, lexical (both offline), transformers checkpoints, OpenAI-compatible servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claimwise.models.base import Model
from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.options import ModelError
from claimwise.models.rehearsal import or_rehearsal
from claimwise.models.transformers_options import TransformersOptions
from claimwise.models.usage import Prices


def load(settings: Mapping[str, Any], cache: str | Path | None = None) -> Model:
    """The model that an entry of ``models`` in params.yaml describes.

    Args:
        settings: ``kind``, the options of that kind, and for any kind ``prices`` (see ``usage.Prices``).
        cache: file of finished calls; None keeps them in memory only.

    Raises:
        ModelError: the kind or an option is unknown.
        PricesError: the prices are malformed.

    >>> load({"kind": "embeded"})
    Traceback (most recent call last):
    ...
    claimwise.models.options.ModelError: unknown kind of model 'embeded'; expected embedded, lexical, transformers or openai
    """
    kind = settings.get("kind")
    Prices.of(settings)  # before anything is asked that might be paid for
    options = {key: value for key, value in settings.items() if key not in ("kind", "prices")}
    store = ResponseCache(cache if cache is not None else ":memory:")
    # A backend is imported on demand, here and below: torch takes seconds, and most commands need one or none.
    if kind == "embedded":
        from claimwise.models.caching import CachedModel
        from claimwise_embedded import EmbeddedModel, EmbeddedOptions

        return CachedModel(EmbeddedModel(EmbeddedOptions.read(kind, options)), store)
    if kind == "lexical":
        from claimwise.models.lexical import LexicalModel

        if options:
            raise ModelError(f"kind lexical has no options; found {', '.join(map(repr, options))}")
        return LexicalModel()
    if kind == "transformers":
        return or_rehearsal(transformers_model(store, **options))
    if kind == "openai":
        return or_rehearsal(openai_model(store, **options))
    raise ModelError(f"unknown kind of model {kind!r}; expected embedded, lexical, transformers or openai")


def transformers_model(cache: ResponseCache, **settings: Any) -> PromptedModel:
    """The model that an entry of ``models`` with ``kind: transformers`` describes.

    Raises:
        ModelError: an option is unknown or malformed, or the checkpoint cannot be loaded.

    >>> transformers_model(ResponseCache(":memory:"), model="a/b", revison="main")
    Traceback (most recent call last):
    ...
    claimwise.models.options.ModelError: kind transformers: unknown option 'revison'; did you mean 'revision'?
    """
    options = TransformersOptions.read("transformers", settings)
    from claimwise.models.transformers_language import TransformersLanguageModel

    return PromptedModel(TransformersLanguageModel(options), cache)


def openai_model(cache: ResponseCache, **settings: Any) -> PromptedModel:
    """The model that an entry of ``models`` with ``kind: openai`` describes.

    Raises:
        ModelError: an option is unknown or malformed, or the vendor's key is not there.

    >>> openai_model(ResponseCache(":memory:"), model="m", concurency=3)
    Traceback (most recent call last):
    ...
    claimwise.models.options.ModelError: kind openai: unknown option 'concurency'; did you mean 'concurrency'?
    """
    from claimwise.models.openai import OpenAILanguageModel, OpenAIOptions

    return PromptedModel(OpenAILanguageModel(OpenAIOptions.read("openai", settings)), cache)


def describe(settings: Mapping[str, Any]) -> str:
    """One line on a model for tables and notebooks: which, and whether it was trained for this task.

    >>> describe({"kind": "openai", "model": "m", "base_url": "http://localhost:8000/v1"})
    'm at http://localhost:8000/v1'
    >>> describe({"kind": "openai", "model": "m", "base_url": "https://user:secret@example.org/v1"})
    'm at https://example.org/v1'
    """
    kind = settings.get("kind")
    if kind == "embedded":
        learned = settings.get("weights", "supervised")
        return (
            f"embedded (MiniLM features and learned heads, 23 million parameters, CPU; {learned}, see its model card)"
        )
    if kind == "lexical":
        return "lexical (word overlap, nothing learned)"
    if kind == "transformers":
        return f"{settings['model']} at revision {settings.get('revision') or 'main'}"
    address = re.sub(r"//[^/@]*@", "//", settings.get("base_url") or "the vendor")  # without a name and password
    return f"{settings['model']} at {address}"
