"""AggreFact (Tang et al. 2023): nine datasets of labelled summaries, grouped by how modern the system is.

Two forms. FENICE's public outputs hold the FtSota and the EXF group, with FENICE's T5 claims and scores. The
canonical csv, which has to be provided or downloaded, holds all three groups and the scores of five older metrics.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_csv, read_jsonl
from claimwise.corpora.registry import Registry

GROUPS = {
    "ftsota": ("BART", "Pegasus", "PegasusDynamic", "T5"),
    "exf": ("BertSum", "BertExtAbs", "BertExt", "GPT2", "BERTS2S", "TranS2S"),
}

_SPLITS = {"val": "validation", "test": "test"}


def group(system: str) -> str:
    """AggreFact's group of a system: ftsota, exf or old.

    >>> group("Pegasus"), group("BertSum"), group("PtGen")
    ('ftsota', 'exf', 'old')
    """
    return next((name for name, systems in GROUPS.items() if system in systems), "old")


def _load_fenice(files: Registry, name: str, infix: str) -> Corpus:
    """Read FENICE's outputs for one group.

    Kept as published, and counted in the notes: a few summaries that two systems wrote word for word stand twice
    (one pair of EXF even in both splits), and the EXF files hold articles of fewer than 20 words. Validation and
    test share articles: group by ``document_id`` where that matters.
    """
    rows = Rows(name)
    seen: dict[tuple[str, str], str] = {}  # the first example of each pair
    for cut, split in _SPLITS.items():
        [path] = files.paths("aggrefact", f"outputs/*-{cut}-{infix}-*")
        for entry in read_jsonl(files.fetch("aggrefact", path)):
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
            if (first := seen.setdefault((entry["article"], entry["text"]), example)) != example:
                where = "in one split" if f":{split}:" in first else "in both splits"
                rows.note(f"summaries that two systems wrote word for word, {where} (kept)")
            if len(entry["article"].split()) < 20:
                rows.note("examples whose article has fewer than 20 words (kept)")
    return rows.corpus()


load_ftsota = partial(_load_fenice, name="aggrefact_ftsota", infix="sota")
load_exf = partial(_load_fenice, name="aggrefact_exf", infix="exform")


def load(files: Registry) -> Corpus:
    """Read the canonical csv: all three groups, with the per-example scores of DAE, QuestEval and others.

    Raises:
        MissingFileError: the csv is not in the mirror and cannot be downloaded.
    """
    rows = Rows("aggrefact")
    repeats: Counter[tuple[str, ...]] = Counter()
    for entry in read_csv(files.fetch("aggrefact", "data/aggre_fact_final.csv")):
        split = _SPLITS[entry["cut"]]
        key = (split, entry["dataset"], entry["id"], entry["model_name"])
        repeats[key] += 1
        again = (str(repeats[key]),) if repeats[key] > 1 else ()
        example = rows.example(
            *key,
            *again,
            document=entry["doc"],
            summary=entry["summary"],
            system=entry["model_name"],
            split=split,
            origin=entry["origin"],
            label=int(float(entry["label"])),
        )
        for column, value in entry.items():
            if column.endswith("_score") and value:
                rows.score(example, f"{column.removesuffix('_score')} (published)", float(value))
    return rows.corpus()
