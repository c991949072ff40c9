"""WiCE (Kamoi et al. 2023): claims of Wikipedia checked against the web articles that they cite."""

from __future__ import annotations

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_jsonl
from claimwise.corpora.registry import Registry


def load(files: Registry) -> Corpus:
    """One example a claim, the claim being the summary; the document is the article, a sentence a line.

    Label 1 is ``supported``. The two published labels that count as 0, ``partially_supported`` and
    ``not_supported``, stand in the gold claim's ``error``.
    """
    rows = Rows("wice")
    for name, split in (("dev", "validation"), ("test", "test")):
        for entry in read_jsonl(files.fetch("wice", f"data/entailment_retrieval/claim/{name}.jsonl")):
            supported = int(entry["label"] == "supported")
            example = rows.example(
                entry["meta"]["id"],
                document="\n".join(entry["evidence"]),
                summary=entry["claim"],
                system="wikipedia",
                split=split,
                origin="web",
                label=supported,
            )
            error = None if supported else entry["label"]
            rows.gold(example, [{"claim": entry["claim"], "label": supported, "error": error}])
    return rows.corpus()
