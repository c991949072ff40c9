"""GenAudit and USB annotations of LLM summaries (Ramprasad et al. 2024): summaries with marked error spans."""

from __future__ import annotations

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_csv
from claimwise.corpora.registry import Registry


def load(files: Registry) -> Corpus:
    """Summary-level labels: 0 where annotators marked any span as an error.

    Rows without text are left out and counted.
    """
    rows = Rows("genaudit_usb")
    for part in ("Genaudit", "USB"):
        for entry in read_csv(files.fetch("genaudit_usb_dialog", f"datasets/{part}_annotations.csv")):
            if not (entry["source"].strip() and entry["summary"].strip()):
                rows.note("rows without source or summary (left out)")
                continue
            rows.example(
                part.lower(),
                entry["id"],
                document=entry["source"],
                summary=entry["summary"],
                system=entry["model"],
                split="train",
                origin=entry["origin"].lower(),
                label=int(not entry["annotated_spans"]),
            )
    return rows.corpus()
