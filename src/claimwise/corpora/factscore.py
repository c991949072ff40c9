"""FActScore (Min et al. 2023), ChatGPT part: biographies split into atomic facts by people and by InstructGPT."""

from __future__ import annotations

from math import nan

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_jsonl
from claimwise.corpora.registry import Registry

_LABELS = {"S": 1, "NS": 0, "IR": nan}


def load(files: Registry) -> Corpus:
    """A corpus for decomposition: there is no document (facts were checked against Wikipedia), so it is empty.

    Human facts are gold claims: supported 1, not supported 0, irrelevant without a label. InstructGPT's are recorded
    claims. Biographies that were not annotated, mostly refusals, have no claims and are counted.
    """
    rows = Rows("factscore")
    path = "third_party/factscore/labeled_data/ChatGPT.jsonl"
    for entry in read_jsonl(files.fetch("factscore", path)):
        example = rows.example(
            entry["topic"],
            document="",
            summary=entry["output"],
            system="ChatGPT",
            split="train",
            origin="biography",
            document_key=entry["topic"],
        )
        if entry["annotations"] is None:
            rows.note("biographies without annotation")
            continue
        facts = [fact for sentence in entry["annotations"] for fact in sentence["human-atomic-facts"] or []]
        rows.gold(example, [{"claim": fact["text"], "label": _LABELS[fact["label"]]} for fact in facts])
        written = [fact["text"] for sentence in entry["annotations"] for fact in sentence["model-atomic-facts"]]
        rows.recorded(example, "instructgpt", written)
    return rows.corpus()
