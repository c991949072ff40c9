"""What every notebook says besides its results: what was run, on what, and whether the model had learned from it."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd
import yaml
from IPython.display import HTML

from claimwise.analysis.tables import show

#: Variants of the embedded model (``weights``), and how the names of the corpora that they do not know start.
UNKNOWN = {"zero-shot": ("aggrefact", "summac_", "frank")}
#: Adapters that learned from the same corpora as the embedded model (``training``).
SHIPPED = ("claimwise-0.5b", "claimwise-1.5b")


@cache
def _about() -> dict[str, dict[str, str]]:
    """What ``datasets.yaml`` says of each corpus."""
    text = (resources.files("claimwise.corpora") / "datasets.yaml").read_text(encoding="utf-8")
    return {name: about for dataset in yaml.safe_load(text).values() for name, about in dataset["corpora"].items()}


def learned_from(corpus: str, model: Mapping[str, Any]) -> str:
    """What of a corpus a model (an entry of ``models`` in params.yaml) has learned from; empty where nothing is known.

    >>> learned_from("wice", {"kind": "embedded"}), learned_from("qags", {"kind": "embedded"})
    ('verifier: the dev part', '')
    >>> learned_from("wice", {"adapter": "claimwise-1.5b-zero-shot", "averaged_with": "embedded-zero-shot"})
    'verifier: the dev part'
    """
    if model.get("averaged_with") == "embedded-zero-shot":  # of the two averaged models the one that left out less
        model = {"kind": "embedded", "weights": "zero-shot"}
    ours = model.get("kind") == "embedded" or model.get("adapter") in SHIPPED
    if not ours or corpus.startswith(UNKNOWN.get(model.get("weights"), ("/",))):
        return ""
    return _about().get(corpus, {}).get("learned", "")


def what_was_run(data: str, model: str, entry: Mapping[str, Any], corpora: Iterable[str], **facts: Any) -> HTML:
    """Two tables: model, corpora's collection and a notebook's own facts; and every corpus, with what of it was learned from.

    Where the model learned from a corpus its results are supervised, unlike those of the papers' prompted models.

    ``model`` is the key of the model in params.yaml, ``entry`` its entry there; ``facts`` (prompts, numbers of rows,
    draws) are texts, numbers, lists or mappings.
    """
    rows = {"data": data, "model": f"{model} ({_line(entry)})"}
    rows |= {name.replace("_", " "): _line(value) for name, value in facts.items()}
    run = show(pd.DataFrame({"what was run": rows.keys(), "": rows.values()}))
    names = list(dict.fromkeys(corpora))
    about = pd.DataFrame(
        {
            "corpus": names,
            "what it is": [_about().get(name, {"what": "yours"})["what"] for name in names],
            "what the model learned of it": [learned_from(name, entry) or "nothing that we know of" for name in names],
        }
    )
    return HTML(run.data + show(about).data)


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_line(item)}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
