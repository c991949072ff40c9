"""What every notebook says besides its results: what was run, and what the numbers cannot show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from IPython.display import HTML, Markdown

from claimwise import models, tables


def ran(data: str, model: Mapping[str, Any], **facts: Any) -> HTML:
    """A two-column table: the corpora, the model, and the notebook's own facts (prompts, n, draws)."""
    rows = {"data": data, "model": models.describe(model)} | {k.replace("_", " "): v for k, v in facts.items()}
    return tables.show(pd.DataFrame({"what": rows.keys(), "value": [_line(v) for v in rows.values()]}), "What was run")


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_line(item)}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def caveats(data: str, model: Mapping[str, Any], *more: str) -> Markdown:
    """The limits that follow from the data and the model, and the notebook's own."""
    lines = []
    if data == "sample":
        lines.append(
            "The sample is 64 hand-written documents by four authors, with errors placed on purpose. It shows that the "
            "pipeline works and what its output looks like; it is too small and too deliberate to rank systems or "
            "metrics. The public run (`data: public`) is the one to quote."
        )
    if model.get("kind") == "embedded":
        lines.append(
            "The model is the embedded one, not the papers' 70-billion-parameter or GPT-4 models: the published "
            "numbers stand beside ours for orientation, they are not a replication with the same model. Its verifier "
            "was trained on public claim-level data and AggreFact's validation rows, so on AggreFact it is supervised "
            "where the papers' prompted models are not."
        )
    lines += more
    return Markdown("\n".join(f"- {line}" for line in lines))


def bullets(sentences: list[str]) -> Markdown:
    """Findings as a list."""
    return Markdown("\n".join(f"- {sentence}" for sentence in sentences))
