"""AggreFact (Tang et al. 2023): two of its groups with FENICE's T5 claims and scores; and FRANK, with texts from it.

The systems of FtSota are BART, Pegasus and T5; those of EXF are early Transformers (BertSum, GPT-2 and others).
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry


def _entries(files: Registry, infix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield split and entry of each summary; ``infix`` names the group, ``*`` is both."""
    for part, split in (("val", "validation"), ("test", "test")):
        for path in files.paths("aggrefact", f"outputs/*-{part}-{infix}-*"):
            for entry in files.read_jsonl("aggrefact", path):
                yield split, entry


def _aggrefact(rows: Rows, files: Registry, infix: str) -> None:
    """AggreFact, read from FENICE's outputs for one group.

    Data are kept as published. Five summaries occur twice, because two systems wrote the same words (one pair of EXF is
    even in both splits). Four articles of EXF have fewer than 20 words. Validation and test share articles: group by
    ``document_id`` if that matters.
    """
    for split, entry in _entries(files, infix):
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


ftsota = partial(_aggrefact, infix="sota")
exf = partial(_aggrefact, infix="exform")

#: The types of error by column: predicate (the file's RelE is the paper's PredE), entity, circumstance, coreference, link
#: of two statements, not in the article, grammar, other.
TYPES = {
    "RelE": "PredE",
    "EntE": "EntE",
    "CircE": "CircE",
    "CorefE": "CorefE",
    "LinkE": "LinkE",
    "OutE": "OutE",
    "GramE": "GramE",
    "Other": "OtherE",
}

#: The type if annotators agree that a summary is wrong but not on the type of error; the file has all eight types then.
UNAGREED = "no agreed type"

#: Metrics whose scores are published with FRANK, by column; higher is more faithful.
METRICS = {
    "FactCC": "FactCC",
    "Dep Entail": "DAE",
    "FEQA": "FEQA",
    "QAGS": "QAGS",
    "BertScore P Art": "BERTScore",
    "Rouge L": "ROUGE-L",
}

#: AggreFact's names of FRANK's systems, if they differ.
SYSTEMS = {"bart": "BART", "bert_sum": "BertSum"}

#: The parts of AggreFact that contain FRANK's summaries. FRANK annotated those of XSumFaith again.
_PARTS = ("FRANK", "XSumFaith")


def frank(rows: Rows, files: Registry) -> None:
    """FRANK (Pagnoni et al. 2021): summaries with their types of error and the scores of older metrics.

    Only summaries whose text is in AggreFact's files, joined by the article's id and the system.

    The label is 1 if FRANK's factuality is 1: a majority of three annotators finds no error in any sentence. The one gold
    claim is the whole summary. Its ``error`` has the types of error of an unfaithful summary, each in at least one
    sentence, joined by commas; all eight at once are ``UNAGREED``. ``split`` is AggreFact's, not FRANK's, because models
    that learned from AggreFact's validation part have seen these summaries.
    """
    texts = {}
    for split, text in _entries(files, "*"):
        if text["dataset"] in _PARTS:
            texts[text["id"], text["model_name"]] = split, text
    metrics = files.read_json("frank", "data/baseline_factuality_metrics_outputs.json")
    published = {_key(entry): entry for entry in metrics}
    for entry in files.read_json("frank", "data/human_annotations.json"):
        key = _key(entry)
        if key not in texts:
            rows.notes["annotated summaries without text (left out)"] += 1
            continue
        split, text = texts[key]
        label = int(entry["Factuality"] == 1)
        example = rows.example(
            *key,
            document=text["article"],
            summary=text["text"],
            split=split,
            origin=text["origin"],
            label=label,
        )
        if label != int(text["label"]):
            rows.notes["summaries that AggreFact labels otherwise (FRANK's label kept)"] += 1
        types = [name for column, name in TYPES.items() if entry[column] < 1]
        types = [UNAGREED] if len(types) == len(TYPES) else types
        rows.gold(example, [{"claim": text["text"], "label": label, "error": None if label else ", ".join(types)}])
        for column, metric in METRICS.items():
            if published[key][column] is not None:
                rows.score(example, f"{metric} (published)", published[key][column])


def _key(entry: dict) -> tuple[str, str]:
    return entry["hash"], SYSTEMS.get(entry["model_name"], entry["model_name"])
