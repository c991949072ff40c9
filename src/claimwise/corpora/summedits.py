"""SummEdits (Laban et al. 2023), five domains: summaries with small edits, judged consistent or not."""

from __future__ import annotations

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_json
from claimwise.corpora.registry import Registry

_SPLITS = {"evaluation": "validation", "test": "test"}


def load(files: Registry) -> Corpus:
    """Examples labelled as published; ``origin`` is the domain; the published split "evaluation" is validation.

    The edit types of an inconsistent summary are the ``error`` of its one gold claim, the whole summary, joined by
    commas; some inconsistent summaries have none. Edits that left a summary consistent are not errors.
    """
    rows = Rows("summedits")
    for path in files.paths("summedits"):
        domain = path.removeprefix("data/summedits/summedits_").removesuffix(".json")
        for entry in read_json(files.fetch("summedits", path)):
            label = int(entry["label"])
            example = rows.example(
                entry["id"],
                document=entry["doc"],
                summary=entry["summary"],
                system="original" if entry["summary"] == entry["original_summary"] else "edited",
                split=_SPLITS[entry["split"]],
                origin=domain,
                label=label,
            )
            error = ", ".join(entry["edit_types"]) or None
            rows.gold(example, [{"claim": entry["summary"], "label": label, "error": None if label else error}])
    return rows.corpus()
