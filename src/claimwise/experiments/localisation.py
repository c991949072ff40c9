"""Do the words that the verifier doubts stand where people marked errors?

Of summaries in which people marked unsupported spans: every content word, whether it stands in a span, and what two
ways say of it. ``embedded``: the word checkers' doubt. ``absent word``: the document has no word of the same stem.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from claimwise.analysis import statistics
from claimwise.corpora import Corpus
from claimwise_embedded.localisation import Localiser

MODEL, BASELINE = "embedded", "absent word"

#: Of ``table``.
COLUMNS = (
    *("corpus", "split", "by", "summaries", "words", "marked", "auc", "low", "high"),
    *("flagged", "inside", "spans", "touched"),
)


def collect(corpora: Sequence[Corpus], localiser: Localiser) -> pd.DataFrame:
    """Content words of summaries with spans: test ones, or all of a corpus that has no test split.

    Returns:
        One row a word: ``corpus, split, example_id, document_id, span`` (the number of the span that it stands in, -1 for
        none), ``embedded`` (the doubt) and ``absent word`` (0 or 1); and one row with ``span`` and no doubt for each span
        that holds no content word.
    """
    rows: list[tuple] = []
    for corpus in corpora:
        spans = dict(iter(corpus.spans.groupby("example_id")))
        examples = corpus.examples[corpus.examples["id"].isin(list(spans))]
        if (examples["split"] == "test").any():
            examples = examples[examples["split"] == "test"]
        marked = localiser.mark(examples["document"].tolist(), examples["summary"].tolist())
        for example, words in zip(examples.itertuples(), marked, strict=True):
            known = (example.corpus, example.split, example.id, example.document_id)
            edges = list(zip(spans[example.id]["start"], spans[example.id]["end"], strict=True))
            owners = [next((n for n, (a, b) in enumerate(edges) if w.start < b and a < w.end), -1) for w in words]
            rows += [(*known, n, w.doubt, float(w.absent)) for n, w in zip(owners, words, strict=True)]
            rows += [(*known, n, np.nan, np.nan) for n in range(len(edges)) if n not in owners]
    return pd.DataFrame(rows, columns=["corpus", "split", "example_id", "document_id", "span", MODEL, BASELINE])


def table(found: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """One row a corpus and way of marking.

    Args:
        found: what ``collect`` returned.
        draws: of the bootstrap over documents.
        seed: of the draws.

    Returns:
        ``words`` and the share of them that people ``marked``; ``auc`` of a marked word against an unmarked one of any
        summary, with its 95 % interval; and, where both ways flag the same share of words (``flagged``: the absent
        ones, and as many with the highest doubts): the share of flagged words ``inside`` spans, and of the ``spans``
        (those without a content word included) that a flagged word ``touched``.
    """
    results = []
    for (corpus, split), part in found.groupby(["corpus", "split"], sort=False):
        words = part.dropna(subset=[MODEL])
        inside = (words["span"] >= 0).astype(int)
        budget = int(words[BASELINE].sum())
        spans = part[part["span"] >= 0].groupby(["example_id", "span"]).ngroups
        for way in (MODEL, BASELINE):
            area = statistics.bootstrap_auc(1 - inside, -words[way], words["document_id"], draws, seed)
            flagged = words.nlargest(budget, way)
            hit = flagged[flagged["span"] >= 0]
            results.append(
                [
                    *(corpus, split, way, words["example_id"].nunique(), len(words), inside.mean(), *area),
                    *(budget / len(words), len(hit) / max(budget, 1), spans),
                    hit.groupby(["example_id", "span"]).ngroups / spans,
                ]
            )
    return pd.DataFrame(results, columns=COLUMNS)


def findings(rows: pd.DataFrame) -> list[str]:
    """What the table says, one sentence a corpus."""
    sentences = []
    for (corpus, split), part in rows.groupby(["corpus", "split"], sort=False):
        own, base = (part[part["by"] == way].iloc[0] for way in (MODEL, BASELINE))
        sentences.append(
            f"**Places of errors, {corpus} ({split})**, {own.words} content words of {own.summaries} texts with marked "
            f"errors: doubts AUC {own.auc:.2f} ({own.low:.2f} to {own.high:.2f}), words that the document lacks "
            f"{base.auc:.2f} ({base.low:.2f} to {base.high:.2f}). With as many words flagged, "
            f"{100 * own.touched:.0f} % of the spans are touched by a doubted word, {100 * base.touched:.0f} % by an "
            f"absent one."
        )
    return sentences
