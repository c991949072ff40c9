"""GenAudit and USB annotations of LLM summaries (Ramprasad et al. 2024): summaries with marked error spans."""

from __future__ import annotations

import re

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_csv
from claimwise.corpora.registry import Registry


def load(files: Registry) -> Corpus:
    """Summary-level labels: 0 where annotators marked any span as an error.

    Spans are published as text. A summary has spans here only if all of its spans are found in it; the others are
    counted. Rows without text are left out and counted.
    """
    rows = Rows("genaudit_usb")
    for part in ("Genaudit", "USB"):
        for entry in read_csv(files.fetch("genaudit_usb_dialog", f"datasets/{part}_annotations.csv")):
            if not (entry["source"].strip() and entry["summary"].strip()):
                rows.note("rows without source or summary (left out)")
                continue
            example = rows.example(
                part.lower(),
                entry["id"],
                document=entry["source"],
                summary=entry["summary"],
                system=entry["model"],
                split="train",
                origin=entry["origin"].lower(),
                label=int(not entry["annotated_spans"]),
            )
            if entry["annotated_spans"]:
                spans = located(entry["summary"], entry["annotated_spans"].split("<sep>"))
                if spans is None:
                    rows.note("summaries with a marked span that is not in them (without spans)")
                else:
                    rows.marked(example, spans)
    return rows.corpus()


def located(summary: str, marked: list[str]) -> list[tuple[int, int]] | None:
    """Where the words of each marked text stand in a summary, whatever is between them; None where one is not there.

    A text that stands in it more than once is taken to be the first one after the text before, if there is one.

    >>> located("Dr. Lee ran. Lee won.", ["dr Lee", "Lee"]), located("It rained.", ["snowed"])
    ([(0, 7), (13, 16)], None)
    """
    spans: list[tuple[int, int]] = []
    end = 0
    for text in marked:
        words = re.findall(r"\w+", text)
        pattern = re.compile(r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)), re.IGNORECASE)
        found = words and (pattern.search(summary, end) or pattern.search(summary))
        if not found:
            return None
        end = found.end()
        spans.append(found.span())
    return sorted(set(spans))
