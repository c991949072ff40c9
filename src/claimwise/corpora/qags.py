"""QAGS, CNN/DM part (Wang et al. 2020): summaries judged sentence by sentence by three workers."""

from __future__ import annotations

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry


def load(rows: Rows, files: Registry) -> None:
    """One example an article; its sentences are the gold claims, labelled by the majority of three votes.

    The summary, published as sentences, is joined by spaces; it is faithful where all its sentences are. The paper
    has no splits: articles of even index are validation here, the others test.
    """
    for index, entry in enumerate(files.read_jsonl("qags", "data/mturk_cnndm.jsonl")):
        sentences = [
            {"claim": sentence["sentence"], "label": _majority(sentence["responses"])}
            for sentence in entry["summary_sentences"]
        ]
        example = rows.example(
            index,
            document=entry["article"],
            summary=" ".join(sentence["claim"] for sentence in sentences),
            system="bottom-up",
            split="test" if index % 2 else "validation",
            origin="cnndm",
            label=min(sentence["label"] for sentence in sentences),
        )
        rows.gold(example, sentences)


def _majority(responses: list[dict[str, str]]) -> int:
    return int(2 * sum(response["response"] == "yes" for response in responses) > len(responses))
