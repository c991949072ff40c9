"""Slices of the SummaC benchmark (Laban et al. 2022) that are public on a forge."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_json, read_jsonl
from claimwise.corpora.registry import Registry

_DATASET = "summac_summacoz"
_SPLITS = {"val": "validation", "test": "test"}


def _load_slice(files: Registry, name: str) -> Corpus:
    """One slice, keyed as published.

    FactCC (sentences of summaries) has no published split: ``train``. XSumFaith is SummaC's validation cut and shares
    articles with AggreFact: compare ``document_id`` before training on one and testing on the other.
    """
    entries = read_json(files.fetch(_DATASET, f"data/{name}.json"))
    return _rows(f"summac_{name}", entries.items())


def load_cogensumm(files: Registry) -> Corpus:
    """CoGenSumm's test set (Falke et al. 2019): 100 articles, the beams of four systems."""
    entries = read_jsonl(files.fetch(_DATASET, "data/raw/cogensumm_test.jsonl"))
    systems = [entry["filename"].removeprefix("test_").removesuffix(".json") for entry in entries]
    return _rows(
        "summac_cogensumm",
        [
            (f"{entry['cnndm_id']}:{system}", {**entry, "model_name": system, "cut": "test"})
            for entry, system in zip(entries, systems, strict=True)
        ],
    )


def _rows(name: str, entries: Iterable[tuple[str, dict[str, Any]]]) -> Corpus:
    rows = Rows(name)
    for key, entry in entries:
        rows.example(
            key,
            document=entry["document"],
            summary=entry["claim"],
            system=entry.get("model_name", "not published"),
            split=_SPLITS.get(entry.get("cut"), "train"),
            origin=entry["origin"],
            label=entry["label"],
        )
    return rows.corpus()


load_factcc = partial(_load_slice, name="factcc")
load_xsumfaith = partial(_load_slice, name="xsumfaith")
