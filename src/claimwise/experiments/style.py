"""How far the way of writing tells hallucinated from faithful summaries, without a look at the document.

Where a corpus's hallucinated summaries have another author than its faithful ones (HaluEval: ChatGPT, and a newspaper's
editors), length, punctuation and vocabulary may tell them apart as well as the facts do. A classifier that never sees
the document measures it: what it reaches says nothing of faithfulness, and an accuracy that is no higher may be the same
thing. It learns from the validation split and is tested on the other, where a document's summaries stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from claimwise import text
from claimwise.analysis import significance, statistics
from claimwise.analysis.tables import p_value
from claimwise.corpora import Corpus
from claimwise.errors import ClaimwiseError
from claimwise.experiments.factored_verification import (
    TEST,
    TRAINING,
    compared,
    constant,
    right,
    scored_by_all,
    theta,
)

#: What a classifier may look at: how many words there are; all of ``measures``; these, and runs of one to three
#: characters (tf-idf).
LENGTH, MEASURES, LETTERS = "length", "measures", "letters"

FOLDS = 5

#: Scores of 0 have no log: they count as this, which is less than nearly all others.
LEAST = 1e-12

_EVIDENCE, _TEXT = "log score of the method", "text"


def measures(summaries: Sequence[str]) -> pd.DataFrame:
    """Length and punctuation of each summary; white space does not count.

    Returns:
        One row a summary: ``words``, ``sentences``, ``words a sentence``, ``letters a word``, and per 100 words those
        with a ``capital``, ``digits``, ``commas`` and ``quotation marks``.

    >>> measures(["Two of the 9 left, he said. It rained."]).iloc[0].round(2).to_dict()["words a sentence"]
    4.5
    """
    rows = []
    for summary in summaries:
        tokens = summary.split()
        n = max(1, len(tokens))
        lines = max(1, len(text.sentences(" ".join(tokens))))
        counts = (
            sum(token[0].isupper() for token in tokens),
            sum(any(c.isdigit() for c in token) for token in tokens),
            summary.count(","),
            sum(summary.count(mark) for mark in "\"'“”‘’"),
        )
        letters = sum(c.isalpha() for c in summary) / n
        rows.append((len(tokens), lines, len(tokens) / lines, letters, *(100 * count / n for count in counts)))
    names = [
        "words",
        "sentences",
        "words a sentence",
        "letters a word",
        "capitals",
        "digits",
        "commas",
        "quotation marks",
    ]
    return pd.DataFrame(rows, columns=names, dtype=float)


def table(corpus: Corpus) -> pd.DataFrame:
    """The ``measures`` of the two labels' summaries in the validation split.

    Returns:
        ``measure, faithful, hallucinated`` (means), ``auc`` of the measure alone: 0.5 tells nothing, above it the
        hallucinated summaries have more.
    """
    examples = corpus.examples.dropna(subset=["label"])
    examples = examples[examples["split"] == TRAINING]
    values, hallucinated = measures(examples["summary"]), (examples["label"] == 0).to_numpy()
    return pd.DataFrame(
        {
            "measure": values.columns,
            "faithful": values[~hallucinated].mean().to_numpy(),
            "hallucinated": values[hallucinated].mean().to_numpy(),
            "auc": [statistics.auc(hallucinated, values[name]) for name in values],
        }
    )


def _classifier(looks_at: str, evidence: bool) -> Pipeline:
    """A logistic regression; numbers as logs of one more, on one scale, before the letters' many small ones."""
    names = ["words"] if looks_at == LENGTH else list(measures([]).columns)
    parts: list[tuple] = [("numbers", StandardScaler(), [*names, *([_EVIDENCE] if evidence else [])])]
    if looks_at == LETTERS:
        letters = TfidfVectorizer(analyzer="char", ngram_range=(1, 3), min_df=2, sublinear_tf=True)
        parts.append((LETTERS, letters, _TEXT))
    weights = {"numbers": 1 / 3} if looks_at == LETTERS else None
    return make_pipeline(
        ColumnTransformer(parts, transformer_weights=weights),
        LogisticRegression(C=10 if looks_at == LETTERS else 1, max_iter=1000),
    )


def score(corpus: Corpus, rows: pd.DataFrame, styles: Mapping[str, Mapping], seed: int) -> pd.DataFrame:
    """Every labelled example scored by classifiers that learned from the validation split.

    Of the kinds that an entry of ``styles`` allows, the one that is most often right in cross-validation is taken
    (documents whole, validation split only). Validation examples get the score of a classifier that did not see their
    document, so that theta is chosen as for any other method.

    Args:
        corpus: labelled examples, as for ``factored_verification.score``.
        rows: what that returned.
        styles: by name ``looks_at`` (a list of ``LENGTH``, ``MEASURES``, ``LETTERS``) and, optionally, ``beside``: a
            method of ``rows`` whose log score (0 counts as ``LEAST``) the classifier gets, too.
        seed: of the folds.

    Returns:
        Rows like ``rows``, with ``trained_on`` (validation summaries), ``looks_at`` (what was chosen) and ``beside``.

    Raises:
        ClaimwiseError: an entry names a method that is not in ``rows``, or a kind that is not there.
    """
    keys = ["id", "document_id", "split", "label"]
    examples = corpus.examples.set_index("id")
    frames = []
    for name, style in styles.items():
        beside = style.get("beside")
        _check(name, style, rows)
        base = rows[rows["method"] == (beside or rows["method"].iloc[0])].reset_index(drop=True)
        summaries = [" ".join(summary.split()) for summary in examples["summary"].reindex(base["id"])]
        inputs = np.log1p(measures(summaries)).assign(**{_TEXT: summaries})
        if beside:
            inputs[_EVIDENCE] = np.log(base["score"].clip(lower=LEAST))
        known = inputs.notna().all(axis=1).to_numpy()
        result, chosen, learned = _scores(inputs, base, known, style["looks_at"], beside is not None, seed)
        frames.append(
            base[keys].assign(
                method=name,
                score=result,
                n_claims=0,
                reason=np.where(known, None, f"no score by {beside}"),
                trained_on=learned,
                looks_at=chosen,
                beside=beside or "",
            )
        )
    return pd.concat(frames, ignore_index=True) if frames else rows.iloc[:0].assign(looks_at="", beside="")


def _check(name: str, style: Mapping, rows: pd.DataFrame) -> None:
    methods, kinds = rows["method"].unique(), (LENGTH, MEASURES, LETTERS)
    if style.get("beside", methods[0]) not in methods:
        raise ClaimwiseError(
            f"style {name!r}: no method {style['beside']!r} to stand beside; there are: {', '.join(methods)}"
        )
    if unknown := [kind for kind in style["looks_at"] if kind not in kinds]:
        raise ClaimwiseError(f"style {name!r}: cannot look at {unknown[0]!r}; expected some of {', '.join(kinds)}")


def _scores(
    inputs: pd.DataFrame, base: pd.DataFrame, known: np.ndarray, kinds: Sequence[str], evidence: bool, seed: int
) -> tuple[np.ndarray, str, int]:
    """The probability of "faithful" for every row, what the chosen classifier looks at, and how many rows it saw."""
    training = known & (base["split"] == TRAINING).to_numpy()
    x, y, groups = inputs[training], base.loc[training, "label"].astype(int), base.loc[training, "document_id"]
    result = np.full(len(inputs), np.nan)
    if not training.any():
        return result, "", 0
    folds = StratifiedGroupKFold(min(FOLDS, groups.nunique()), shuffle=True, random_state=seed)
    hits = {kind: cross_val_score(_classifier(kind, evidence), x, y, groups=groups, cv=folds).mean() for kind in kinds}
    chosen = max(hits, key=lambda kind: round(hits[kind], 9))  # the first of equals
    best = _classifier(chosen, evidence)
    result[training] = cross_val_predict(best, x, y, groups=groups, cv=folds, method="predict_proba")[:, 1]
    rest = known & ~training
    result[rest] = best.fit(x, y).predict_proba(inputs[rest])[:, 1]
    return result, chosen, len(x)


def findings(rows: pd.DataFrame, result: pd.DataFrame, seed: int = 0) -> list[str]:
    """What the classifiers show of the corpus, in words, whichever way it came out.

    Args:
        rows: of all methods, what ``factored_verification.score`` and ``score`` returned.
        result: what ``factored_verification.table`` made of them.
        seed: of the tests' draws.
    """
    scored = result[result["n"] > 0].set_index("method")
    learned, others = scored[scored["trained_on"].notna()], scored[scored["trained_on"].isna()]
    beside = rows.dropna(subset=["trained_on"]).groupby("method")["beside"].first()
    blind = learned[learned.index.map(beside) == ""]
    if blind.empty or others.empty:
        return []
    best, other = blind.iloc[0], others.iloc[0]
    # A method may be worse than always giving the commoner answer: only more than the commoner answer gives is a label given away.
    above = best["p_holm"] < 0.05 and best["accuracy"] > other["accuracy"] and best["low"] > constant(rows)
    sentences = [
        f"`{best.name}` never sees the document: **supervised** on {best['trained_on']} validation summaries, it classifies "
        f"{best['accuracy']:.1f} % correctly ({best['low']:.1f} to {best['high']:.1f}), `{other.name}`, the best method that "
        f"was not fitted to labels here, {other['accuracy']:.1f} % (corrected p {p_value(best['p_holm'])}). "
        + (
            "Here the way of writing gives the label away: an accuracy up to this one, of whatever method, can be had "
            "without checking a fact, and is no evidence that facts were checked."
            if above
            else "That the way of writing gives labels away is not shown here."
        )
    ]
    answers = _answers(rows)
    both = [name for name in learned.index if beside[name] and {name, best.name} <= set(answers)]
    tested = significance.holm([compared(answers[name], answers[best.name], seed) for name in both])
    family = f", corrected for {len(both)} such comparisons" if len(both) > 1 else ""
    for name, p in zip(both, tested, strict=True):
        accuracy = learned.loc[name, "accuracy"]
        gap = accuracy - best["accuracy"]
        sentences.append(
            f"`{name}`, which has the score of `{beside[name]}` besides, classifies {accuracy:.1f} % correctly, {gap:+.1f} "
            f"points (p {p_value(p)}{family}): {_added(gap, p)}."
        )
    return sentences


def _added(gap: float, p: float) -> str:
    """What a method's score adds to the wording, in words.

    >>> _added(-1.2, 0.029)
    'beside the wording the score makes the classifier worse'
    """
    if not p < 0.05:
        return "nothing beyond chance is added to what the way of writing tells"
    if gap < 0:
        return "beside the wording the score makes the classifier worse"
    return "that is what reading the document adds to the way of writing"


def _answers(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """By method, whether each test summary that all methods scored is told rightly, by document."""
    found = {}
    for name, part in scored_by_all(rows).groupby("method", sort=False):
        test, cut = part[part["split"] == TEST], theta(part[part["split"] == TRAINING])
        found[name] = right(test, cut).set_axis(test["document_id"])
    return found
