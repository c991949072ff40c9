"""Scores from recorded replies of published language models, read by our parsers and scored like any other.

Recorded replies become a language model that looks its answers up (``models.replies.RecordedReplies``). From there on it is
a metric, or a verifying prompt, like any other. No model is called.
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
    """Yield each recorded model and template that played this role: the row's name, the prompt, the model.

    If two systems wrote the same summary, their prompts are equal too, and the first reply is used for both.

    >>> from claimwise.corpora.base import Rows
    >>> rows = Rows("toy")
    >>> example = rows.example("d", "lead", document="It rained.", summary="It poured.")
    >>> rows.replied(example, "gpt-4-0314", "rts", "recorded-judge-rating", "Rather strong a word. Score: 4")
    >>> [(name, prompt, model)] = recorded_models(rows.corpus(), "judge")
    >>> name, model.judge(["It rained."], ["It poured."], prompt)
    ('gpt-4-0314 rts (recorded)', [Judgement(score=0.75, reason='sampled')])
    """
    texts = corpus.examples.set_index("id")[["document", "summary"]]
    for (model, template, name), part in corpus.recorded_replies.groupby(["model", "template", "prompt"], sort=True):
        prompt = load(name)
        if prompt.role != role:
            continue
        replies: dict[str, str] = {}
        for row in part.join(texts, on="example_id", how="inner").itertuples():
            # In recorded verifications, the claim is the example's whole summary.
            rendered = prompt.render(Document=row.document, Summary=row.summary, ACU=row.summary)
            replies.setdefault(rendered, row.reply)
        yield (
            f"{model} {template} {MARK}",
            prompt,
            PromptedModel(RecordedReplies(model, replies), ResponseCache(":memory:")),
        )


def recorded_judges(corpus: Corpus) -> dict[str, pd.DataFrame]:
    """Return the score tables of all recorded judges, by the row's name."""
    return {
        name: evaluate(name, MetricSpec(judge=prompt.name), model, corpus.examples, progress=False).scores
        for name, prompt, model in recorded_models(corpus, "judge")
    }
