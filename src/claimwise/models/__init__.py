"""Models behind one interface: embedded (offline, CPU), transformers checkpoints, OpenAI-compatible servers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claimwise.models.base import Model
from claimwise.models.cache import ResponseCache

KINDS = ("embedded", "transformers", "openai")


def load(settings: Mapping[str, Any], cache: str | Path | None = None) -> Model:
    """The model that an entry of ``models`` in params.yaml describes.

    Args:
        settings: ``kind`` and the options of that kind.
        cache: file of finished calls; None keeps them in memory only.

    Raises:
        ValueError: the kind or an option is unknown.

    >>> load({"kind": "embeded"})
    Traceback (most recent call last):
    ...
    ValueError: unknown kind of model 'embeded'; expected embedded, transformers or openai
    """
    kind = settings.get("kind")
    options = {key: value for key, value in settings.items() if key != "kind"}
    store = ResponseCache(cache if cache is not None else ":memory:")
    # Imported on demand: torch takes seconds to import, and most commands need one backend or none.
    if kind == "embedded":
        from claimwise.models.caching import CachedModel
        from claimwise.models.embedded import EmbeddedModel

        return CachedModel(EmbeddedModel(**options), store)
    raise ValueError(f"unknown kind of model {kind!r}; expected embedded, transformers or openai")
