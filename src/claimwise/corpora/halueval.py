"""HaluEval, summarization (Li et al. 2023): a right and a hallucinated summary of each CNN/DM article."""

from __future__ import annotations

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry


def load(rows: Rows, files: Registry) -> None:
    """KnowHalu's sample: 500 documents for testing and 100 for validation, two examples each."""
    for suffix, split in (("_val", "validation"), ("", "test")):
        path = f"data/summarization_sampled_data{suffix}.json"
        for index, entry in enumerate(files.read_jsonl("halueval", path)):
            # As published, all right summaries end in a line break and no hallucinated one does: a label in the text.
            for system, label in (("right", 1), ("hallucinated", 0)):
                rows.example(
                    split,
                    index,
                    system,
                    document=entry["document"],
                    summary=entry[f"{system}_summary"].strip(),
                    split=split,
                    origin="cnndm",
                    label=label,
                )
