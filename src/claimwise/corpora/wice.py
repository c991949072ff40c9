"""WiCE (Kamoi et al. 2023): claims of Wikipedia checked against the web articles that they cite."""

from __future__ import annotations

import re

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_jsonl
from claimwise.corpora.registry import Registry


def load(files: Registry) -> Corpus:
    """One example a claim, the claim being the summary; the document is the article, a sentence a line.

    Label 1 is ``supported``. The two published labels that count as 0, ``partially_supported`` and
    ``not_supported``, stand in the gold claim's ``error``.
    """
    rows = Rows("wice")
    for name, split in (("dev", "validation"), ("test", "test")):
        for entry in read_jsonl(files.fetch("wice", f"data/entailment_retrieval/claim/{name}.jsonl")):
            supported = int(entry["label"] == "supported")
            example = rows.example(
                entry["meta"]["id"],
                document="\n".join(entry["evidence"]),
                summary=entry["claim"],
                system="wikipedia",
                split=split,
                origin="web",
                label=supported,
            )
            error = None if supported else entry["label"]
            rows.gold(example, [{"claim": entry["claim"], "label": supported, "error": error}])
    return rows.corpus()


_CHUNKS = "code_and_resources/entailment_inputs/oracle_chunks/claim"
_REPLIES = "code_and_resources/model_outputs/entailment_classification/oracle_chunks/claim"


def load_chunks(files: Registry) -> Corpus:
    """The claims against excerpts that hold their supporting sentences, and what GPT-3.5 and GPT-4 replied on them.

    Each claim has up to three excerpts, all with its supporting sentences and different other ones; its document id is
    the claim's. Replies are recorded for the first 100 test claims, to the prompt of the paper's appendix (explanation,
    then one of three labels).
    """
    rows = Rows("wice_chunks")
    known: dict[tuple[str, tuple[int, ...]], str] = {}
    for name, split in (("dev", "validation"), ("test", "test")):
        for number, entry in enumerate(read_jsonl(files.fetch("wice", f"{_CHUNKS}/{name}.jsonl"))):
            supported = int(entry["label"] == "supported")
            example = rows.example(
                entry["meta"]["id"],
                number,
                document="\n".join(entry["evidence"]),
                summary=entry["claim"],
                system="wikipedia",
                split=split,
                origin="web",
                label=supported,
                document_key=entry["meta"]["id"],
            )
            error = None if supported else entry["label"]
            rows.gold(example, [{"claim": entry["claim"], "label": supported, "error": error}])
            if split == "test":
                known[entry["claim"], tuple(entry["meta"]["chunk_idx"])] = example
    for path in files.paths("wice", f"{_REPLIES}/*"):
        model = re.search("entailment=([^/]+)", path)[1]
        for entry in read_jsonl(files.fetch("wice", path)):
            rows.replied(known[_asked(entry["prompt"])], model, "explained", "recorded-verify-label", entry["response"])
    return rows.corpus()


def _asked(prompt: str) -> tuple[str, tuple[int, ...]]:
    """The claim that a recorded prompt asks about, after its examples, and the numbers of the sentences that it shows."""
    asked = prompt.rsplit("<input>", 1)[1]
    claim = re.search("<claim>(.*?)</claim>", asked, re.DOTALL)[1]
    return claim, tuple(int(number) for number in re.findall(r"<sentence_(\d+)>", asked))
