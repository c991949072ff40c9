"""SummEval (Fabbri et al. 2021): expert ratings of CNN/DM summaries, 12 of its 16 systems."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from statistics import mean

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry

#: The 16 systems in the order of the original file, document after document, whose even rows ACUEval takes as
#: validation and whose odd rows as test: 16 being even, the halves share documents and hold disjoint systems.
ORDER = tuple("M11 M13 M1 M14 M15 M12 M5 M17 M20 M2 M0 M10 M9 M8 M23 M22".split())

#: The prompts of LLM_summeval (Shen et al. 2023, sec. 3.1) whose replies are recorded, and ours that read them: reason
#: then score, multiple choice, another wording of either, and stars.
TEMPLATES = {
    "rts": "recorded-judge-rating",
    "altrts": "recorded-judge-rating",
    "mcq": "recorded-judge-letter",
    "altmcq": "recorded-judge-letter",
    "stareval": "recorded-judge-stars",
}


def label(ratings: list[int]) -> int | None:
    """1 where the mode of the three consistency ratings is 5, else 0; None where all three differ.

    >>> label([5, 5, 2]), label([4, 4, 5]), label([3, 4, 5])
    (1, 0, None)
    """
    [(rating, votes)] = Counter(ratings).most_common(1)
    return int(rating == 5) if votes > 1 else None


def load(rows: Rows, files: Registry) -> None:
    """Examples with the experts' label, and their mean consistency rating (1-5) as a published score.

    Besides, what GPT-3.5, GPT-4 and Llama-2 chat models replied when asked for the summaries' consistency.

    Three-way ties are left out and counted. ``split`` is ACUEval's (see ``ORDER``); for a split that keeps
    documents together, group by ``document_id``.
    """
    examples: dict[tuple[str, str], str] = {}
    for path in files.paths("summeval", "model_output_annotations/*"):
        for entry in files.read_jsonl("summeval", path):
            ratings = [annotation["consistency"] for annotation in entry["expert_annotations"]]
            faithful = label(ratings)
            if faithful is None:
                rows.note("three-way ties left out")
                continue
            example = rows.example(
                entry["id"],
                entry["model_id"],
                document=entry["text"],
                summary=entry["decoded"],
                split="test" if ORDER.index(entry["model_id"]) % 2 else "validation",
                origin="cnndm",
                label=faithful,
            )
            rows.score(example, "human consistency (mean)", mean(ratings))
            examples[entry["model_id"], entry["id"]] = example
    for path in files.paths("summeval", "eval_model_generations/*"):
        _add_replies(rows, examples, files, path)


def _add_replies(rows: Rows, examples: dict[tuple[str, str], str], files: Registry, path: str) -> None:
    """Replies of one model to one prompt about one system's summaries: ``MODEL/eval_SYSTEM_.../consistency_PROMPT.txt``."""
    _, model, folder, name = PurePosixPath(path).parts
    system, template = folder.split("_")[1], name.removeprefix("consistency_").removesuffix(".txt")
    replies: dict[str, str] = {}
    for entry in files.read_jsonl("summeval", path):
        if replies.get(entry["id"], entry["resp"]) != entry["resp"]:
            rows.note("replies that a repetition changed (the last one kept)")
        replies[entry["id"]] = entry["resp"]
    for key, reply in replies.items():
        if (system, key) in examples:  # three-way ties are no examples
            rows.replied(examples[system, key], model, template, TEMPLATES[template], reply)
