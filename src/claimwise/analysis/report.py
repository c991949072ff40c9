"""What every notebook shows besides its results: the model, the data, and whether the model learned from these data."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd
import yaml
from IPython.display import HTML

from claimwise.analysis.tables import show

_AGGREFACT = ("aggrefact", "summac_", "frank")
#: The models that were trained here (``training``), with the first letters of the names of corpora that were left out.
LEFT_OUT = {
    "embedded": (),
    "embedded-zero-shot": _AGGREFACT,
    "claimwise-0.5b": (),
    "claimwise-1.5b": (),
    "claimwise-1.5b-zero-shot": (*_AGGREFACT, "wice", "halueval"),
}


@cache
def _about() -> dict[str, dict[str, str]]:
    """The entry of each corpus in ``datasets.yaml``."""
    text = (resources.files("claimwise.corpora") / "datasets.yaml").read_text(encoding="utf-8")
    return {name: about for dataset in yaml.safe_load(text).values() for name, about in dataset["corpora"].items()}


def learned_from(corpus: str, model: Mapping[str, Any]) -> str:
    """The part of a corpus that a model (an entry of ``models`` in params.yaml) learned from; empty if none is known.

    >>> learned_from("wice", {"kind": "embedded"}), learned_from("qags", {"kind": "embedded"})
    ('verifier: the dev part', '')
    >>> zero_shot = {"kind": "transformers", "adapter": "claimwise-1.5b-zero-shot"}
    >>> learned_from("wice", zero_shot), learned_from("wice", zero_shot | {"averaged_with": "embedded-zero-shot"})
    ('', 'verifier: the dev part')
    """
    own = "embedded-zero-shot" if model.get("weights") == "zero-shot" else "embedded"
    names = [own if model.get("kind") == "embedded" else model.get("adapter"), model.get("averaged_with")]
    if all(corpus.startswith(LEFT_OUT[name]) for name in names if name in LEFT_OUT):
        return ""
    return _about().get(corpus, {}).get("learned", "")


def what_was_run(data: str, model: str, entry: Mapping[str, Any], corpora: Iterable[str], **facts: Any) -> HTML:
    """Two tables: what was run (data, model, the notebook's own facts), and each corpus with what the model learned from it.

    If the model learned from a corpus, its results there are supervised, unlike those of the papers' prompted models.

    ``model`` is the key of the model in params.yaml, and ``entry`` its entry there. ``facts`` (prompts, numbers of rows,
    draws) are texts, numbers, lists or mappings.
    """
    rows = {"data": data, "model": f"{model} ({_line(entry)})"}
    rows |= {name.replace("_", " "): _line(value) for name, value in facts.items()}
    run = show(pd.DataFrame({"what was run": rows.keys(), "": rows.values()}))
    if not (names := list(dict.fromkeys(corpora))):
        return run
    about = pd.DataFrame(
        {
            "corpus": names,
            "what it is": [_about().get(name, {"what": "yours"})["what"] for name in names],
            "what the model learned of it": [learned_from(name, entry) or "nothing that we know of" for name in names],
        }
    )
    return HTML(run.data + show(about).data)


def _line(value: Any) -> str:
    """A value as one line of text."""
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_line(item)}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
