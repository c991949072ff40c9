"""Factcheck-GPT (Wang et al. 2023), subtask 3: does a piece of evidence support a claim?"""

from __future__ import annotations

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_jsonl
from claimwise.corpora.registry import Registry


def load(files: Registry) -> Corpus:
    """One example a claim and evidence; label 1 is ``completely-support``.

    The other stances (partially-support, refute, irrelevant) are label 0 and stand in the gold claim's ``error``.
    Some pairs stand more than once in the file: they are kept and counted.
    """
    rows = Rows("factcheck_gpt")
    seen = set()
    for index, entry in enumerate(
        read_jsonl(files.fetch("factcheck_gpt", "subtasks/subtask3_claim_evidence_stance.jsonl"))
    ):
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
        if (entry["claim"], entry["evidence"]) in seen:
            rows.note("pairs of claim and evidence that stand again (kept)")
        seen.add((entry["claim"], entry["evidence"]))
    return rows.corpus()
