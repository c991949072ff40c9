"""AggreFact (Tang et al. 2023), two of its groups: labelled summaries, with FENICE's T5 claims and scores of them.

FtSota is BART, Pegasus and T5; EXF are early Transformers (BertSum, GPT-2 and others).
"""

from __future__ import annotations

from functools import partial

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry


def _load(rows: Rows, files: Registry, infix: str) -> None:
    """Read FENICE's outputs for one group.

    Kept as published: five summaries that two systems wrote word for word stand twice (one pair of EXF even in both
    splits), and four articles of EXF have fewer than 20 words. Validation and test share articles: group by
    ``document_id`` where that matters.
    """
    for cut, split in (("val", "validation"), ("test", "test")):
        [path] = files.paths("aggrefact", f"outputs/*-{cut}-{infix}-*")
        for entry in files.read_jsonl("aggrefact", path):
            example = rows.example(
                split,
                entry["dataset"],
                entry["id"],
                entry["model_name"],
                document=entry["article"],
                summary=entry["text"],
                split=split,
                origin=entry["origin"],
                label=int(entry["label"]),
            )
            rows.recorded(example, "fenice-t5", entry["text_claims"])
            [score] = entry["score"].values()
            rows.score(example, "fenice-t5 (published)", score)


load_ftsota = partial(_load, infix="sota")
load_exf = partial(_load, infix="exform")
