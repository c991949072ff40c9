"""Corpora that only training reads: most of them are labelled so that they teach more than they measure."""

from collections.abc import Iterable
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from claimwise import corpora
from claimwise.corpora import Corpus, Registry, news
from claimwise.corpora.base import Loader, Rows, filled


def load(name: str, files: Registry | None = None) -> Corpus:
    """Load a corpus of ``LOADERS``, or one of ``claimwise.corpora``, by name; the arguments are those of the latter."""
    if name in LOADERS:
        return filled(name, LOADERS[name], files or Registry.from_environment())
    return corpora.load(name, files)


def load_summedits(rows: Rows, files: Registry) -> None:
    """SummEdits (Laban et al. 2023), five domains: summaries with small edits, judged consistent or not.

    Labels are as published; ``origin`` is the domain; the published split "evaluation" is validation. The edit types of an
    inconsistent summary are the ``error`` of its one gold claim, the whole summary, joined by commas; some inconsistent
    summaries have none. Edits that left a summary consistent are not errors.
    """
    for path in files.paths("summedits"):
        domain = path.removeprefix("data/summedits/summedits_").removesuffix(".json")
        for entry in files.read_json("summedits", path):
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


def load_summac(rows: Rows, files: Registry) -> None:
    """One slice of the SummaC benchmark (Laban et al. 2022), keyed as published.

    FactCC (sentences of summaries) has no published split: ``train``. XSumFaith is SummaC's validation cut and shares
    articles with AggreFact: compare ``document_id`` before training on one and testing on the other.
    """
    entries = files.read_json("summac_summacoz", f"data/{rows.name.removeprefix('summac_')}.json")
    _summac_rows(rows, entries.items())


def load_cogensumm(rows: Rows, files: Registry) -> None:
    """CoGenSumm's test set (Falke et al. 2019), as SummaC has it: 100 articles, the beams of four systems."""
    entries = files.read_jsonl("summac_summacoz", "data/raw/cogensumm_test.jsonl")
    systems = [entry["filename"].removeprefix("test_").removesuffix(".json") for entry in entries]
    _summac_rows(
        rows,
        [
            (f"{entry['cnndm_id']}:{system}", {**entry, "model_name": system, "cut": "test"})
            for entry, system in zip(entries, systems, strict=True)
        ],
    )


def _summac_rows(rows: Rows, entries: Iterable[tuple[str, dict[str, Any]]]) -> None:
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


def load_factcg(rows: Rows, files: Registry) -> None:
    """FactCG (Lei et al. 2025): synthetic claims that need several sentences of their document.

    ``origin`` is the stage, the claim is summary and gold claim. Most entries of stage 1, all its supported claims among
    them, were published without their document: these are left out and counted, so that what is left of stage 1 is
    unsupported.
    """
    for path in files.paths("factcg"):
        stage = PurePosixPath(path).parts[1].removeprefix("training_")
        for index, entry in enumerate(files.read_jsonl("factcg", path)):
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


def load_factcheck_gpt(rows: Rows, files: Registry) -> None:
    """Factcheck-GPT (Wang et al. 2023), subtask 3: one example a claim and evidence; label 1 is ``completely-support``.

    The other stances (partially-support, refute, irrelevant) are label 0 and stand in the gold claim's ``error``. Some
    pairs stand more than once in the file and are kept. NUL bytes, which end strings in many tools, are removed and counted.
    """
    entries = files.read_jsonl("factcheck_gpt", "subtasks/subtask3_claim_evidence_stance.jsonl")
    for index, entry in enumerate(entries):
        supported = int(entry["stance"] == "completely-support")
        example = rows.example(
            index,
            document=entry["evidence"].replace("\x00", ""),
            summary=entry["claim"],
            system="llm",
            split="train",
            origin="web",
            label=supported,
        )
        rows.note("NUL bytes removed", entry["evidence"].count("\x00"))
        error = None if supported else entry["stance"]
        rows.gold(example, [{"claim": entry["claim"], "label": supported, "error": error}])


def load_anli(rows: Rows, files: Registry) -> None:
    """Adversarial NLI (Nie et al. 2020), development parts of rounds 1 and 2: paragraphs, and statements that were written
    to mislead a model. ``origin`` is the round; label 1 is entailment."""
    for path in files.paths("anli"):
        origin = path.split("_")[-2]
        for index, entry in enumerate(files.read_csv("anli", path)):
            _pair_row(rows, (origin, index), entry["context"], entry["statement"], entry["gold_label"], origin)


def load_control(rows: Rows, files: Registry) -> None:
    """ConTRoL (Liu et al. 2021), development part: passages of exams, and statements that need reasoning over several
    sentences; label 1 is entailment."""
    [path] = files.paths("control")
    for index, entry in enumerate(files.read_jsonl("control", path)):
        _pair_row(rows, (index,), entry["premise"], entry["hypothesis"], entry["label"], "exams")


def _pair_row(rows: Rows, key: tuple, premise: str, hypothesis: str, label: str, origin: str) -> None:
    rows.example(
        *key,
        document=premise,
        summary=hypothesis,
        system="people",
        split="train",
        origin=origin,
        label=int(label[0].lower() == "e"),
    )


#: Pairs of premise and hypothesis, by name: only the language model learns from them.
ENTAILMENT = ("anli", "control")
#: By name, beside those of ``claimwise.corpora``.
LOADERS: dict[str, Loader] = {
    "vectara_training": partial(news.vectara, tested=False),
    "summedits": load_summedits,
    "summac_factcc": load_summac,
    "summac_xsumfaith": load_summac,
    "summac_cogensumm": load_cogensumm,
    "factcg": load_factcg,
    "factcheck_gpt": load_factcheck_gpt,
    "anli": load_anli,
    "control": load_control,
}
