"""Corpora that only training reads: most of them are labelled so that they teach more than they measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from claimwise import corpora
from claimwise.corpora import Corpus, Registry, vectara
from claimwise.corpora.base import Rows
from claimwise.corpora.files import read_json, read_jsonl


def load(name: str, files: Registry | None = None) -> Corpus:
    """Load a corpus of ``LOADERS``, or one of ``claimwise.corpora``, by name; the arguments are those of the latter."""
    if name in LOADERS:
        return LOADERS[name](files or Registry.from_environment())
    return corpora.load(name, files)


def load_summedits(files: Registry) -> Corpus:
    """SummEdits (Laban et al. 2023), five domains: summaries with small edits, judged consistent or not.

    Labels are as published; ``origin`` is the domain; the published split "evaluation" is validation. The edit types of an
    inconsistent summary are the ``error`` of its one gold claim, the whole summary, joined by commas; some inconsistent
    summaries have none. Edits that left a summary consistent are not errors.
    """
    rows = Rows("summedits")
    for path in files.paths("summedits"):
        domain = path.removeprefix("data/summedits/summedits_").removesuffix(".json")
        for entry in read_json(files.fetch("summedits", path)):
            label = int(entry["label"])
            example = rows.example(
                entry["id"],
                document=entry["doc"],
                summary=entry["summary"],
                system="original" if entry["summary"] == entry["original_summary"] else "edited",
                split={"evaluation": "validation", "test": "test"}[entry["split"]],
                origin=domain,
                label=label,
            )
            error = ", ".join(entry["edit_types"]) or None
            rows.gold(example, [{"claim": entry["summary"], "label": label, "error": None if label else error}])
    return rows.corpus()


def _load_summac(files: Registry, name: str) -> Corpus:
    """One slice of the SummaC benchmark (Laban et al. 2022), keyed as published.

    FactCC (sentences of summaries) has no published split: ``train``. XSumFaith is SummaC's validation cut and shares
    articles with AggreFact: compare ``document_id`` before training on one and testing on the other.
    """
    entries = read_json(files.fetch("summac_summacoz", f"data/{name}.json"))
    return _summac_rows(f"summac_{name}", entries.items())


def load_cogensumm(files: Registry) -> Corpus:
    """CoGenSumm's test set (Falke et al. 2019), as SummaC has it: 100 articles, the beams of four systems."""
    entries = read_jsonl(files.fetch("summac_summacoz", "data/raw/cogensumm_test.jsonl"))
    systems = [entry["filename"].removeprefix("test_").removesuffix(".json") for entry in entries]
    return _summac_rows(
        "summac_cogensumm",
        [
            (f"{entry['cnndm_id']}:{system}", {**entry, "model_name": system, "cut": "test"})
            for entry, system in zip(entries, systems, strict=True)
        ],
    )


def _summac_rows(name: str, entries: Iterable[tuple[str, dict[str, Any]]]) -> Corpus:
    rows = Rows(name)
    for key, entry in entries:
        rows.example(
            key,
            document=entry["document"],
            summary=entry["claim"],
            system=entry.get("model_name", "not published"),
            split={"val": "validation", "test": "test"}.get(entry.get("cut"), "train"),
            origin=entry["origin"],
            label=entry["label"],
        )
    return rows.corpus()


def load_factcg(files: Registry) -> Corpus:
    """FactCG (Lei et al. 2025): synthetic claims that need several sentences of their document.

    ``origin`` is the stage, the claim is summary and gold claim. Most entries of stage 1, all its supported claims among
    them, were published without their document: these are left out and counted, so that what is left of stage 1 is
    unsupported.
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


def load_factcheck_gpt(files: Registry) -> Corpus:
    """Factcheck-GPT (Wang et al. 2023), subtask 3: one example a claim and evidence; label 1 is ``completely-support``.

    The other stances (partially-support, refute, irrelevant) are label 0 and stand in the gold claim's ``error``. Some
    pairs stand more than once in the file and are kept.
    """
    rows = Rows("factcheck_gpt")
    entries = read_jsonl(files.fetch("factcheck_gpt", "subtasks/subtask3_claim_evidence_stance.jsonl"))
    for index, entry in enumerate(entries):
        supported = int(entry["stance"] == "completely-support")
        example = rows.example(
            index,
            document=entry["evidence"],
            summary=entry["claim"],
            system="llm",
            split="train",
            origin="web",
            label=supported,
        )
        error = None if supported else entry["stance"]
        rows.gold(example, [{"claim": entry["claim"], "label": supported, "error": error}])
    return rows.corpus()


#: By name, beside those of ``claimwise.corpora``.
LOADERS: dict[str, Callable[[Registry], Corpus]] = {
    "vectara_training": partial(vectara.load, tested=False),
    "summedits": load_summedits,
    "summac_factcc": partial(_load_summac, name="factcc"),
    "summac_xsumfaith": partial(_load_summac, name="xsumfaith"),
    "summac_cogensumm": load_cogensumm,
    "factcg": load_factcg,
    "factcheck_gpt": load_factcheck_gpt,
}
