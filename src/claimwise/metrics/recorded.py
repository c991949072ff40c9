"""Rows from replies on record: what published language models once said, read by our parsers, scored by the same path.

A recorded reply is a language model that looks its answer up (``models.replies.RecordedReplies``); from there on it is
a metric, or a verifying prompt, like any other. Nothing is asked.
"""

from collections.abc import Iterator

import pandas as pd

from claimwise.corpora import Corpus
from claimwise.metrics.evaluate import MetricSpec, evaluate
from claimwise.models.cache import ResponseCache
from claimwise.models.language import PromptedModel
from claimwise.models.replies import RecordedReplies
from claimwise.prompts import Prompt, load

MARK = "(recorded)"


def recorded_models(corpus: Corpus, role: str) -> Iterator[tuple[str, Prompt, PromptedModel]]:
    """Every (model, template) with replies on record that played this role: the row's name, the prompt, the model.

    Where two systems wrote the same summary, their prompts are the same: the first of the replies stands for both.

    >>> from claimwise.corpora.base import Rows
    >>> rows = Rows("toy")
    >>> example = rows.example("d", "lead", document="It rained.", summary="It poured.")
    >>> rows.replied(example, "gpt-4-0314", "rts", "recorded-judge-rating", "Rather strong a word. Score: 4")
    >>> [(name, prompt, model)] = recorded_models(rows.corpus(), "judge")
    >>> name, model.judge(["It rained."], ["It poured."], prompt)
    ('gpt-4-0314 rts (recorded)', [Judgement(score=0.75, reason='sampled')])
    """
    shown = corpus.examples.set_index("id")[["document", "summary"]]
    for (model, template, name), part in corpus.recorded_replies.groupby(["model", "template", "prompt"], sort=True):
        prompt = load(name)
        if prompt.role != role:
            continue
        replies: dict[str, str] = {}
        for row in part.join(shown, on="example_id", how="inner").itertuples():
            # A claim under verification is the whole of its example's summary.
            asked = prompt.render(Document=row.document, Summary=row.summary, ACU=row.summary)
            replies.setdefault(asked, row.reply)
        yield (
            f"{model} {template} {MARK}",
            prompt,
            PromptedModel(RecordedReplies(model, replies), ResponseCache(":memory:")),
        )


def recorded_judges(corpus: Corpus) -> dict[str, pd.DataFrame]:
    """Score tables of the judges on record, by the row's name."""
    return {
        name: evaluate(name, MetricSpec(judge=prompt.name), model, corpus.examples, progress=False).scores
        for name, prompt, model in recorded_models(corpus, "judge")
    }
