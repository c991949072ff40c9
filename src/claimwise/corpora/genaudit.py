"""GenAudit and USB annotations of LLM summaries (Ramprasad et al. 2024): summaries with marked error spans."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry


def load(rows: Rows, files: Registry) -> None:
    """Summary-level labels: 0 where most annotators of the summary marked a span as an error.

    What several annotated is one example, with the spans of all who marked any; where as many marked as did not, it has no
    label and no spans. Spans are published as text: a summary has them only if all are found in it; the others are counted.
    Rows without text are left out and counted.
    """
    annotated: dict[tuple[str, str], list[tuple[str, Mapping[str, str]]]] = {}
    for part in ("Genaudit", "USB"):
        for entry in files.read_csv("genaudit_usb_dialog", f"datasets/{part}_annotations.csv"):
            if entry["source"].strip() and entry["summary"].strip():
                annotated.setdefault((entry["source"], entry["summary"]), []).append((part, entry))
            else:
                rows.note("rows without source or summary (left out)")
    for (document, summary), several in annotated.items():
        part, first = several[0]
        marked = [entry["annotated_spans"].split("<sep>") for _, entry in several if entry["annotated_spans"]]
        votes = len(several) - 2 * len(marked)
        example = rows.example(
            part.lower(),
            first["id"],
            document=document,
            summary=summary,
            system=first["model"],
            split="train",
            origin=first["origin"].lower(),
            label=float(votes > 0) if votes else math.nan,
        )
        if len(several) > 1:
            rows.note("summaries of several annotators (one example each)")
        if not votes:
            rows.note("summaries that as many annotators marked as did not (without a label)")
        elif votes < 0:
            spans = [located(summary, texts) for texts in marked]
            if None in spans:
                rows.note("summaries with a marked span that is not in them (without spans)")
            else:
                rows.marked(example, united(span for own in spans for span in own))


def united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of one text with those that overlap made one.

    >>> united([(4, 9), (0, 3), (8, 12), (4, 6)])
    [(0, 3), (4, 12)]
    """
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


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
