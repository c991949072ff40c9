"""FactCG (Lei et al. 2025): synthetic claims that need several sentences of their document."""

from __future__ import annotations

from pathlib import PurePosixPath

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_jsonl
from claimwise.corpora.registry import Registry


def load(files: Registry) -> Corpus:
    """Training pairs; ``origin`` is the stage, the claim is summary and gold claim.

    Most entries of stage 1, all its supported claims among them, were published without their document: these are
    left out and counted, so that what is left of stage 1 is unsupported.
    """
    rows = Rows("factcg")
    for path in files.paths("factcg"):
        stage = PurePosixPath(path).parts[1].removeprefix("training_")
        for index, entry in enumerate(read_jsonl(files.fetch("factcg", path))):
            if not entry["text_a"].strip():
                rows.note(f"{stage}: claims published without their document (left out)")
                continue
            [claim] = entry["text_b"]
            example = rows.example(
                stage,
                index,
                document=entry["text_a"],
                summary=claim,
                system="cg2c",
                split="train",
                origin=stage,
                label=entry["orig_label"],
            )
            rows.gold(example, [{"claim": claim, "label": entry["orig_label"]}])
    return rows.corpus()
