"""Corpora that only training reads. Most have labels that are better for learning than for measuring."""

import csv
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from claimwise import corpora
from claimwise.corpora import Corpus, Registry, news
from claimwise.corpora.base import Loader, Rows


def load(name: str, files: Registry | None = None) -> Corpus:
    """Load a corpus of ``LOADERS`` or of ``claimwise.corpora`` by name. Arguments as for ``claimwise.corpora.load``."""
    return corpora.load(name, files, corpora.LOADERS | LOADERS)


def load_summedits(rows: Rows, files: Registry) -> None:
    """SummEdits (Laban et al. 2023), five domains: summaries with small edits, judged consistent or not.

    Labels are as published, ``origin`` is the domain, and the published split "evaluation" is validation. Each summary has one
    gold claim, the summary itself. Its ``error`` has the edit types of an inconsistent summary, joined by commas; a few have
    none. Edits that left a summary consistent are not errors.
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
    for key, entry in entries.items():
        split = {"val": "validation", "test": "test"}.get(entry.get("cut"), "train")
        _summac_row(rows, key, entry, entry.get("model_name", "not published"), split)


def load_cogensumm(rows: Rows, files: Registry) -> None:
    """CoGenSumm's test set (Falke et al. 2019), from SummaC: 100 articles, the beams of four systems."""
    for entry in files.read_jsonl("summac_summacoz", "data/raw/cogensumm_test.jsonl"):
        system = entry["filename"].removeprefix("test_").removesuffix(".json")
        _summac_row(rows, f"{entry['cnndm_id']}:{system}", entry, system, "test")


def _summac_row(rows: Rows, key: str, entry: dict[str, Any], system: str, split: str) -> None:
    kept = {name: entry[name] for name in ("document", "origin", "label")}
    rows.example(key, summary=entry["claim"], system=system, split=split, **kept)


def load_factcg(rows: Rows, files: Registry) -> None:
    """FactCG (Lei et al. 2025): synthetic claims that need several sentences of their document.

    ``origin`` is the stage, the claim is summary and gold claim. Most entries of stage 1, including all supported claims, were
    published without their document. They are left out and counted, so that the remaining ones of stage 1 are unsupported.
    """
    for path in files.paths("factcg"):
        stage = PurePosixPath(path).parts[1].removeprefix("training_")
        for index, entry in enumerate(files.read_jsonl("factcg", path)):
            if not entry["text_a"].strip():
                rows.notes[f"{stage}: claims published without their document (left out)"] += 1
                continue
            [claim], label = entry["text_b"], entry["orig_label"]
            about = {"system": "cg2c", "split": "train", "origin": stage, "label": label}
            example = rows.example(stage, index, document=entry["text_a"], summary=claim, **about)
            rows.gold(example, [{"claim": claim, "label": label}])


def load_factcheck_gpt(rows: Rows, files: Registry) -> None:
    """Factcheck-GPT (Wang et al. 2023), subtask 3: an example is a claim with evidence. Label 1 is ``completely-support``.

    The other stances (partially-support, refute, irrelevant) have label 0 and are the gold claim's ``error``. Repeated pairs
    are kept. NUL bytes, which end strings in many tools, are removed and counted.
    """
    entries = files.read_jsonl("factcheck_gpt", "subtasks/subtask3_claim_evidence_stance.jsonl")
    for index, entry in enumerate(entries):
        supported = int(entry["stance"] == "completely-support")
        document = entry["evidence"].replace("\x00", "")
        about = {"system": "llm", "split": "train", "origin": "web", "label": supported}
        example = rows.example(index, document=document, summary=entry["claim"], **about)
        rows.notes["NUL bytes removed"] += entry["evidence"].count("\x00")
        error = None if supported else entry["stance"]
        rows.gold(example, [{"claim": entry["claim"], "label": supported, "error": error}])


def load_anli(rows: Rows, files: Registry) -> None:
    """Adversarial NLI (Nie et al. 2020), development parts: paragraphs, and statements that were written to mislead a model.

    ``origin`` is the round. Round 3, on which results are reported, is the test split.
    """
    for path in files.paths("anli"):
        origin = path.split("_")[-2]
        split = "test" if origin == "r3" else "train"
        for index, entry in enumerate(files.read_csv("anli", path)):
            _inference(rows, (origin, index), entry["context"], entry["statement"], entry["gold_label"], origin, split)


def load_control(rows: Rows, files: Registry) -> None:
    """ConTRoL (Liu et al. 2021): passages of exams, and statements that need reasoning over several sentences.

    The development part is the training split.
    """
    for path, split in zip(files.paths("control"), ("train", "test"), strict=True):
        for index, entry in enumerate(files.read_jsonl("control", path)):
            key = (index,) if split == "train" else (split, index)
            _inference(rows, key, entry["premise"], entry["hypothesis"], entry["label"], "exams", split)


def load_sick(rows: Rows, files: Registry) -> None:
    """SICK (Marelli et al. 2014): two captions of pictures or films, often the second an edit of the first."""
    splits = {"train": "train", "trial": "validation", "test_annotated": "test"}
    for path in files.paths("sick"):
        split = splits[path.removesuffix(".txt").split("SICK_")[1]]
        for entry in files.read_csv("sick", path, delimiter="\t", quoting=csv.QUOTE_NONE):
            premise, claim = entry["sentence_A"], entry["sentence_B"]
            _inference(rows, (entry["pair_ID"],), premise, claim, entry["entailment_judgment"][0], "captions", split)


def _inference(rows: Rows, key: tuple, premise: str, claim: str, label: str, origin: str, split: str) -> None:
    """Add a pair. ``label`` is the first letter of its class. A pair that is not entailed has the class as ``error``."""
    standing = {"e": ENTAILED, "n": ABSENT, "c": CONTRADICTED}[label.lower()]
    supported = int(standing == ENTAILED)
    about = {"system": "people", "split": split, "origin": origin, "label": supported}
    example = rows.example(*key, document=premise, summary=claim, **about)
    rows.gold(example, [{"claim": claim, "label": supported, "error": None if supported else standing}])


#: The classes of a pair of premise and hypothesis, or of document and claim.
ENTAILED, CONTRADICTED, ABSENT = "entailed", "contradicted", "absent"
#: Corpora of premises and hypotheses. Only the language model learns from them.
ENTAILMENT = ("anli", "control")
#: The loaders that ``claimwise.corpora`` does not have.
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
    "sick": load_sick,
}
