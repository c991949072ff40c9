"""ROSE (Liu et al. 2023): reference summaries with hand-written ACUs.

Which system's summary states which ACU (ACUEval Table 3) is labelled on a model hub only, and not read here.
"""

from __future__ import annotations

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry

_PARTS = {  # the published name of each part: origin and split
    "cnndm_test": ("cnndm", "test"),
    "cnndm_validation": ("cnndm", "validation"),
    "xsum": ("xsum", "test"),
    "samsum": ("samsum", "test"),
}
_DECOMPOSERS = {
    "system_claims_distilled_t5": "fenice-t5",
    "system_claims_gpt-3.5-turbo": "gpt-3.5-turbo",
    "system_claims_llama2_7b": "llama2-7b",
}


def load(rows: Rows, files: Registry) -> None:
    """The references with their ACUs (gold claims without a label) and the claims of three published decomposers.

    A decomposer that made no claim of a reference has no row for it.
    """
    parts = files.read_json("rose", "src/rose/rose_datasets.json.gz")
    for part, (origin, split) in _PARTS.items():
        for index, entry in enumerate(parts[part]):
            example = rows.example(
                part,
                index,
                system="reference",
                document=entry["source"],
                summary=entry["reference"],
                split=split,
                origin=origin,
            )
            rows.gold(example, [{"claim": claim} for claim in entry["reference_acus"]])
            for column, decomposer in _DECOMPOSERS.items():
                rows.recorded(example, decomposer, entry[column])
