"""Rows from replies on record: what published language models once said, read by our parsers, scored by the same path.

A recorded reply is a language model that looks its answer up (``models.replies.RecordedReplies``); from there on it is
a metric, or a verifying prompt, like any other. Nothing is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from claimwise.corpora import Corpus
from claimwise.metrics import MetricSpec, evaluate
from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.replies import RecordedReplies
from claimwise.prompts import Prompt, load

MARK = "(recorded)"


def kind(name: str) -> str:
    """Where a row's numbers come from: ``ours``, ``recorded`` replies or ``published scores``.

    >>> [kind(name) for name in ("acueval", "gpt-4-0314 rts (recorded)", "fenice-t5 (published)")]
    ['ours', 'recorded', 'published scores']
    """
    return "recorded" if MARK in name else "published scores" if "(published)" in name else "ours"


def models(corpus: Corpus, role: str) -> Iterator[tuple[str, Prompt, PromptedModel]]:
    """Every (model, template) with replies on record that played this role: the row's name, the prompt, the model.

    Where two systems wrote the same summary, their prompts are the same: the first of the replies stands for both.

    >>> from claimwise.corpora.base import Rows
    >>> rows = Rows("toy")
    >>> example = rows.example("d", "lead", document="It rained.", summary="It poured.")
    >>> rows.replied(example, "gpt-4-0314", "rts", "recorded-judge-rating", "Rather strong a word. Score: 4")
    >>> [(name, prompt, model)] = models(rows.corpus(), "judge")
    >>> name, model.judge(["It rained."], ["It poured."], prompt)
    ('gpt-4-0314 rts (recorded)', [Judgement(score=0.75, reason='sampled')])
    """
    shown = corpus.examples.set_index("id")[["document", "summary"]]
    for (model, template, name), part in corpus.recorded_replies.groupby(["model", "template", "prompt"], sort=True):
        prompt = load(name)
        if prompt.role != role:
            continue
        part = part[part["example_id"].isin(shown.index)].join(shown, on="example_id")
        replies: dict[str, str] = {}
        for row in part.itertuples():
            # A claim under verification is the whole of its example's summary.
            asked = prompt.render(Document=row.document, Summary=row.summary, ACU=row.summary)
            replies.setdefault(asked, row.reply)
        yield (
            f"{model} {template} {MARK}",
            prompt,
            PromptedModel(RecordedReplies(model, replies), ResponseCache(":memory:")),
        )


def scores(corpus: Corpus) -> dict[str, pd.DataFrame]:
    """Score tables of the judges on record, by the row's name."""
    return {
        name: evaluate(name, MetricSpec(judge=prompt.name), model, corpus.examples, progress=False).scores
        for name, prompt, model in models(corpus, "judge")
    }


def unparsed(replies: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """How many of the replies could not be read, and why.

    Args:
        replies: by the row's name, a table with ``score`` (judges) or ``support`` (verifiers), and ``reason``.

    Returns:
        One row a name: ``recorded, replies, unparsed, reasons``.
    """
    rows = []
    for name, table in replies.items():
        unread = table["score" if "score" in table else "support"].isna()
        counts = table.loc[unread, "reason"].value_counts()
        reasons = "; ".join(f"{count} x {reason}" for reason, count in counts.items())
        rows.append({"recorded": name, "replies": len(table), "unparsed": int(unread.sum()), "reasons": reasons})
    return pd.DataFrame(rows, columns=["recorded", "replies", "unparsed", "reasons"])


def caveats(replies: Mapping[str, pd.DataFrame]) -> list[str]:
    """What a reader of recorded rows must know, where there are any."""
    if not replies:
        return []
    return [
        "Recorded rows are replies of 2023, to the prompts of those who recorded them and with their sampling; they are "
        "ratings in a few steps, so that a threshold can only fall between two of them."
    ]
