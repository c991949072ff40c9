"""ROSE (Liu et al. 2023): reference summaries with hand-written ACUs, and which system summaries state them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pandas as pd

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_json, read_jsonl
from claimwise.corpora.registry import MissingFileError, Registry

_PARTS = {  # the published name of each part: origin and split
    "cnndm_test": ("cnndm", "test"),
    "cnndm_validation": ("cnndm", "validation"),
    "xsum": ("xsum", "test"),
    "samsum": ("samsum", "test"),
}
_ARCHIVED = {  # the names inside the hub's rose_data.tar.gz
    "cnndm_test": "cnndm.test.acus.aggregated.jsonl",
    "cnndm_validation": "cnndm.val.acus.aggregated.jsonl",
    "xsum": "xsum.test.acus.aggregated.jsonl",
    "samsum": "samsum.test.acus.aggregated.jsonl",
}
_DECOMPOSERS = {
    "system_claims_distilled_t5": "fenice-t5",
    "system_claims_gpt-3.5-turbo": "gpt-3.5-turbo",
    "system_claims_llama2_7b": "llama2-7b",
}


def _parts(files: Registry) -> dict[str, list[dict[str, Any]]]:
    return read_json(files.fetch("rose", "src/rose/rose_datasets.json.gz"))


def load(files: Registry) -> Corpus:
    """The references with their ACUs (gold claims without a label) and the claims of three published decomposers.

    A decomposer that made no claim of a reference has no row for it; the notes count these.
    """
    rows = Rows("rose")
    parts = _parts(files)
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
                if not entry[column]:
                    rows.note(f"references of which {decomposer} made no claim")
    return rows.corpus()


def load_presence(files: Registry) -> Corpus:
    """The hub's labels: is a reference ACU present in a system's summary? (ACUEval table 3)

    The labels are not on a public forge; lay what you have below ``Salesforce/rose`` in CLAIMWISE_MIRROR (or in
    data/raw): the hub's ``rose_data.tar.gz`` as it is, or one json, jsonl or parquet file a part, whose name or
    folder begins with the part's name (cnndm_test, cnndm_validation, xsum, samsum). Fields: ``reference_acus``,
    ``system_outputs`` {system: summary}, ``annotations`` {system: {acu_labels: [0 or 1, ...]}}; ``source`` and
    ``reference`` are taken from ``rose`` where the file, like the archive, has none.

    The system's summary stands in the ``document`` column (claims are checked against it), the reference in
    ``summary``; a claim's ``extra`` is the source document.

    Raises:
        MissingFileError: none of these files is there.
    """
    provided = files.provided("Salesforce/rose")
    labelled = {part: _labelled(provided, part) for part in _PARTS}
    if not any(labelled.values()):
        raise MissingFileError(
            "the ACU labels of ROSE are missing: download rose_data.tar.gz (or the parts as parquet or json) from "
            "https://huggingface.co/datasets/Salesforce/rose and put it at <folder>/Salesforce/rose/, with "
            "CLAIMWISE_MIRROR=<folder>; size and checksum are not known here, so it is not verified"
        )
    rows = Rows("rose_presence")
    for part, entries in labelled.items():
        origin, split = _PARTS[part]
        if not entries:
            rows.note(f"part {part} was not provided")
        elif "source" not in entries[0]:
            entries = _with_sources(entries, _parts(files)[part])
        for index, entry in enumerate(entries):
            if entry["source"] is None:
                rows.note("references whose ACUs rose does not have, hence without a source (left out)")
                continue
            for system, annotation in entry["annotations"].items():
                example = rows.example(
                    part,
                    index,
                    system,
                    document=entry["system_outputs"][system],
                    summary=entry["reference"],
                    split=split,
                    origin=origin,
                    document_key=entry["source"],
                )
                rows.gold(
                    example,
                    [
                        {"claim": claim, "label": int(label), "extra": entry["source"]}
                        for claim, label in zip(entry["reference_acus"], annotation["acu_labels"], strict=True)
                    ],
                )
    return rows.corpus()


def _with_sources(entries: list[dict[str, Any]], known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries with the source and reference of the known entry that has the same ACUs, or None for both."""
    by_acus = {tuple(entry["reference_acus"]): entry for entry in known}
    nothing = {"source": None, "reference": None}
    return [{**by_acus.get(tuple(entry["reference_acus"]), nothing), **entry} for entry in entries]


def _labelled(provided: list[Path], part: str) -> list[dict[str, Any]]:
    for file in provided:
        if file.name == "rose_data.tar.gz":
            with tarfile.open(file) as archive:
                for member in archive:
                    if Path(member.name).name == _ARCHIVED[part] and (stream := archive.extractfile(member)):
                        return [json.loads(line) for line in stream.read().splitlines() if line.strip()]
        named = file.name.startswith(part) or file.parent.name.startswith(part) or file.name == _ARCHIVED[part]
        if named and file.suffix == ".parquet":
            return json.loads(pd.read_parquet(file).to_json(orient="records"))
        if named and file.suffix == ".json":
            return read_json(file)
        if named and file.suffix == ".jsonl":
            return read_jsonl(file)
    return []
