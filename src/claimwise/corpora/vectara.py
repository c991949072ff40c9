"""Vectara's hallucination leaderboard, version 1: real summaries by 13 LLMs, with HHEM-2.3 scores."""

from __future__ import annotations

from collections import defaultdict
from importlib import resources
from math import nan

import pandas as pd

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry
from claimwise.prompts import parsers
from claimwise.schema import document_id

_DATASET = "vectara_leaderboard"
_TESTED = 3  # every third document, by its id, is tested on; the others may be learned from


def load(rows: Rows, files: Registry, tested: bool = True) -> None:
    """One example a model and article, no labels, of a third of the documents (split ``test``), or of the others
    (``vectara_training``, split ``train``), to learn from. Metric ``hhem-2.3 (published)`` in [0, 1].

    Left out and counted: summaries whose source is not settled, and rows that stand twice. A summary that the
    leaderboard counts as no answer has no score; nor has one whose words (a refusal, mostly) the same model gave to
    several articles: the published scores are by the summary's hash, and cannot be told apart. Preambles ("Here is a
    summary:") are taken off and counted; the published scores are of the replies with them.
    """
    # the file mixes gb18030 with byte 0x80 for the euro sign, which gb18030 cannot decode
    sources = files.read_csv(_DATASET, "leaderboard_summaries.csv", encoding="gb18030", encoding_errors="replace")
    # The leaderboard publishes no sources: its articles' ids were matched to a public copy of them by word overlap with
    # 33 models' summaries. Ids whose best match is less than 0.1 better than the second are not in the table.
    with (resources.files(__package__) / "vectara_source_rows.csv").open(encoding="utf-8") as file:
        source_rows = pd.read_csv(file, index_col="article_id")["source_row"].to_dict()
    for path in files.paths(_DATASET, "*/summaries.jsonl"):
        model = "/".join(path.split("/")[-3:-1])
        judgements = files.read_jsonl(_DATASET, path.replace("summaries", "judgments"))
        scores = defaultdict(set)
        for judgement in judgements:
            valid = judgement["is_valid"]
            scores[judgement["summary_uid"]].add(judgement["hhem_score"] if valid else None)
        seen = set()
        for entry in files.read_jsonl(_DATASET, path):
            article = entry["article_id"]
            if article not in source_rows:
                rows.note("summaries whose source is not settled (left out)")
                continue
            if article in seen:
                rows.note("rows that stand twice (left out)")
                continue
            seen.add(article)
            document = sources[source_rows[article]]["source"].replace("\ufffd", "€")
            if (int(document_id(document), 16) % _TESTED == 0) != tested:
                continue
            example = rows.example(
                model,
                article,
                document=document,
                split="test" if tested else "train",
                summary=_summary(entry["summary"], rows),
                system=model,
                origin="leaderboard",
            )
            published = scores[entry["summary_uid"]]
            reason = "several published scores for these words" if len(published) > 1 else None
            reason = "not an answer, by the leaderboard" if published == {None} else reason
            rows.score(example, "hhem-2.3 (published)", nan if reason else next(iter(published)), reason)


def _summary(reply: str, rows: Rows) -> str:
    """A reply without "Here is a summary of the passage:", which no source supports and no reader counts."""
    summary = parsers.parse("text", reply).value or reply
    if summary != reply.strip():
        rows.note("replies whose preamble was taken off")
    return summary
