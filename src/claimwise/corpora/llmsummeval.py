"""LLMSummEval (Zhang et al. 2024, "Benchmarking Large Language Models for News Summarization")."""

from __future__ import annotations

from collections import defaultdict
from math import nan
from statistics import mean

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry

_MODEL = "text-davinci-002"


def load_pairwise(rows: Rows, files: Registry) -> None:
    """Pairs of a freelance writer's summary (first) and text-davinci-002's (second), as raters preferred them.

    Article, writer and rater ids are shortened to their first eight characters, which tell them apart.
    """
    ids: dict[tuple[str, str], str] = {}
    for entry in files.read_json("llmsummeval", "pairwise_evaluation_results.json"):
        pair = []
        for system, key, summary in (
            ("writer", f"writer-{entry['writer_id'][:8]}", entry["writer_summary"]),
            (_MODEL, _MODEL, entry[f"{_MODEL}_summary"]),
        ):
            known = (entry["article_id"], key)
            if known not in ids:
                ids[known] = rows.example(
                    entry["article_id"][:8],
                    key,
                    document=entry["article_text"],
                    summary=summary,
                    system=system,
                    origin="news",
                )
            pair.append(ids[known])
        preferred = {"True": "first", "False": "second"}.get(str(entry["overall_writer_better"]), "equal")
        rows.prefer(pair[0], pair[1], entry["evaluator_id"][:8], preferred)


def load(rows: Rows, files: Registry) -> None:
    """Summaries of 19 systems with binary faithfulness votes: the label is the majority's.

    Ties have no label and are counted. ``split`` is ACUEval's, by the parity of a summary's place in the file; for
    one that keeps documents together, group by ``document_id``.

    Raises:
        MissingFileError: the file is not in the mirror and cannot be downloaded.
    """
    votes: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
    for entry in files.read_json("llmsummeval", "likert_evaluation_results.json"):
        if entry["faithfulness"] not in (0, 1):
            rows.note("annotations without a faithfulness vote")
            continue
        key = (entry["dataset"], entry["article"], entry["model"], entry["summary"])
        votes[key].append(int(entry["faithfulness"]))
    for index, ((origin, article, model, summary), cast) in enumerate(votes.items()):
        share = mean(cast)
        if share == 0.5:
            rows.note("ties, without a label")
        example = rows.example(
            origin,
            index,
            model,
            document=article,
            summary=summary,
            split="test" if index % 2 else "validation",
            origin=origin,
            label=nan if share == 0.5 else int(share > 0.5),
        )
        rows.score(example, "human faithfulness (mean)", share)
