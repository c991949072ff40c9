"""Does a metric score the model's summary higher whatever people preferred (ACUEval sec. 5.2, Figure 2)?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from claimwise import text
from claimwise.analysis.statistics import bootstrap_mean, resample
from claimwise.corpora import Corpus
from claimwise.errors import ClaimwiseError
from claimwise.metrics.judge import WordOverlap

#: What the raters said of the model's summary, in the order of ACUEval's figure.
CASES = {"first": "model worse", "equal": "equal", "second": "model better"}

#: Which side is higher in ACUEval's Figure 2, which prints no numbers, by its caption and section 5.2.
PUBLISHED = {
    "BelugaEval, holistic (published)": ("model", "model", "model"),
    "ACUEval, claims (published)": ("writer", "model, slightly", "model"),
}

#: Of fewer documents differences all of one sign may be chance, whatever a bootstrap says (sign test, 2 * 0.5^5 > 0.05).
FEWEST_DOCUMENTS = 6


def pairs(corpus: Corpus, scores: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row a judgment and metric.

    Returns:
        ``metric, judgment`` (its number), ``document_id, case, writer`` and ``model`` (the two summaries' scores),
        ``difference`` (model minus writer), ``log_length`` (log of the model summary's words over the writer's) and
        ``overlap`` (share of the model summary's words that are the document's, minus the writer's). Judgments with an
        unscored summary have NaN there. ``faithful``: people's label of the model's summary minus that of the writer's.

    Raises:
        ClaimwiseError: there are no judgments, or a metric scored both summaries of none of them.
    """
    if corpus.preferences.empty:
        name = corpus.examples["corpus"].iloc[0]
        raise ClaimwiseError(
            f"corpus {name!r} has no preferences; where it is a file of yours, write which of two summaries people "
            f"preferred into data/own/{name}.preferences.csv (columns first_id, second_id, preferred; see the README there)"
        )
    examples = corpus.examples.set_index("id")
    words = examples["summary"].map(text.word_count).clip(lower=1)
    copied = WordOverlap().judge(examples["document"].tolist(), examples["summary"].tolist())
    shares, labels = pd.Series([judgement.score for judgement in copied], index=examples.index), examples["label"]
    frames = []
    for metric, table in scores.items():
        score = table.set_index("example_id")["score"]
        judgments = corpus.preferences
        first, second = judgments["first_id"], judgments["second_id"]
        writer, model = first.map(score), second.map(score)
        if (model - writer).isna().all():
            raise ClaimwiseError(
                f"{metric} scored both summaries of none of the {len(judgments)} judged pairs: choose another model, or "
                "score more documents (`score.corpora` in params.yaml)"
            )
        frames.append(
            pd.DataFrame(
                {
                    "metric": metric,
                    "judgment": range(len(judgments)),
                    "document_id": first.map(examples["document_id"]),
                    "case": judgments["preferred"].map(CASES),
                    "writer": writer,
                    "model": model,
                    "difference": model - writer,
                    "log_length": np.log(second.map(words) / first.map(words)),
                    "overlap": second.map(shares) - first.map(shares),
                    "faithful": second.map(labels) - first.map(labels),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def table(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Mean scores by case: one row a (metric, case), of those cases that raters named (some may not say equal).

    Returns:
        ``metric, case, n, documents`` (that these judgments are on), ``unscored, writer, model, difference`` with its 95 %
        interval ``low``, ``high``, and ``at_equal_length`` and ``at_equal_overlap``: the mean difference that is left at
        equal length, and at equal word overlap with the document (intercepts of a least-squares line of the difference on
        ``log_length``, and on ``overlap``, with one slope for all cases). Where people labelled summaries, ``faithful``:
        the share of faithful ones, model minus writer.
    """
    results = []
    for metric, every in rows.groupby("metric", sort=False):
        scored = every.dropna(subset=["difference"])
        length, overlap = (_slope(scored, by) for by in ("log_length", "overlap"))
        for case in (case for case in CASES.values() if (every["case"] == case).any()):
            part = scored[scored["case"] == case]
            interval = bootstrap_mean(part["difference"], part["document_id"], draws, seed)
            results.append(
                {
                    "metric": metric,
                    "case": case,
                    "n": len(part),
                    "documents": part["document_id"].nunique(),
                    "unscored": int((every["case"] == case).sum()) - len(part),
                    "writer": part["writer"].mean(),
                    "model": part["model"].mean(),
                    "difference": interval.value,
                    "low": interval.low,
                    "high": interval.high,
                    "at_equal_length": (part["difference"] - length * part["log_length"]).mean(),
                    "at_equal_overlap": _left((part["difference"] - overlap * part["overlap"]).mean()),
                    "faithful": part["faithful"].mean(),
                }
            )
    found = pd.DataFrame(results)
    return found if found["faithful"].notna().any() else found.drop(columns="faithful")


def _slope(rows: pd.DataFrame, by: str) -> float:
    """Slope of the difference on a column with an intercept per case (within-case least squares)."""
    return float(_fit(_sums(rows, by).sum(axis=0))[0])


def _sums(rows: pd.DataFrame, by: str) -> np.ndarray:
    """(documents, cases, 5): n and the sums of x, y, x * x and x * y, y the difference and x the column."""
    x, y = rows[by], rows["difference"]
    table = pd.DataFrame({"n": 1.0, "x": x, "y": y, "xx": x * x, "xy": x * y})
    summed = table.groupby([rows["document_id"], rows["case"]]).sum()
    cases = rows["case"].nunique()
    whole = pd.MultiIndex.from_product(summed.index.levels)
    return summed.reindex(whole, fill_value=0.0).to_numpy().reshape(-1, cases, 5)


def _fit(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slope within cases, and the difference at x = 0, each case with the same weight.

    Args:
        sums: (..., cases, 5), as of ``_sums``; a case without rows (in a bootstrap draw) is left out.
    """
    n, x, y, xx, xy = np.moveaxis(sums, -1, 0)
    there = n > 0
    n = np.where(there, n, 1)
    spread, together = (xx - x * x / n).sum(-1), (xy - x * y / n).sum(-1)
    flat = spread < 1e-12  # all alike: nothing to explain, and rounding is no slope
    slope = np.where(flat, 0.0, together / np.where(flat, 1, spread))
    left = (y - slope[..., None] * x) / n
    return slope, left.sum(-1) / there.sum(-1)


def _left(value: float) -> float:
    """Without the rounding error that is all that is left of word overlap at its own zero: -0.0 and 1e-17 are 0."""
    return round(float(value), 12) + 0.0


def agreement(rows: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """How often each metric orders a pair as the raters did, among the pairs that they did not call equal.

    Returns:
        ``metric, n, ordered`` (share, equal scores count half) with ``low`` and ``high``, ``model_higher`` (share of
        all pairs in which the model's summary scores higher: .5 plus a bias or a merit; equal scores count half) with
        ``model_higher_low`` and ``model_higher_high``, ``bias`` (mean difference over the three cases, each with the same
        weight: 0 for a metric that only follows the raters), and what is left of it at equal word overlap,
        ``bias_at_equal_overlap`` with ``bias_at_equal_overlap_low`` and ``bias_at_equal_overlap_high`` (as
        ``at_equal_overlap`` of ``table``; the slope is fitted anew in every draw of documents).
    """
    results = []
    for metric, every in rows.groupby("metric", sort=False):
        scored = every.dropna(subset=["difference"])
        decided = scored[scored["case"] != "equal"]
        sign = np.where(decided["case"] == "model better", 1, -1)
        interval = bootstrap_mean(_higher(decided["difference"] * sign), decided["document_id"], draws, seed)
        share = bootstrap_mean(_higher(scored["difference"]), scored["document_id"], draws, seed)
        sums = _sums(scored, "overlap")
        drawn = np.tensordot(resample(len(sums), draws, seed), sums, axes=1)
        low, high = np.percentile(_fit(drawn)[1], [2.5, 97.5])
        results.append(
            {
                "metric": metric,
                "n": len(decided),
                "ordered": interval.value,
                "low": interval.low,
                "high": interval.high,
                "model_higher": share.value,
                "model_higher_low": share.low,
                "model_higher_high": share.high,
                "bias": float(scored.groupby("case")["difference"].mean().mean()),
                "bias_at_equal_overlap": _left(_fit(sums.sum(axis=0))[1]),
                "bias_at_equal_overlap_low": _left(low),
                "bias_at_equal_overlap_high": _left(high),
            }
        )
    return pd.DataFrame(results)


def _higher(difference: pd.Series) -> pd.Series:
    """1 where a difference is above zero, 0 where it is below, one half where there is none; NaN where it is not known."""
    return (np.sign(difference) + 1) / 2


def shares(rows: pd.DataFrame, claim_level: str, holistic: str, draws: int, seed: int) -> pd.DataFrame:
    """Whether the claim-level metric scores the model's summary higher less often than the holistic one.

    Shares are compared, for the metrics' scales differ; on the judgments that both scored, both in the same drawn
    documents.

    Args:
        rows: what ``pairs`` returned.
        claim_level: one of its metrics.
        holistic: another.
        draws: bootstrap draws.
        seed: of the draws.

    Returns:
        One row: ``claim_level, holistic`` (the metrics), ``n`` judgments on so many ``documents``,
        ``claim_level_higher`` and ``holistic_higher`` (shares in which the model's summary scores higher, equal scores
        count half), ``difference`` (the first minus the second) with its 95 % interval ``low``, ``high``; NaN where no
        judgment is scored by both.

    >>> rows = pd.DataFrame({"judgment": [0, 1] * 2, "document_id": [*"xy"] * 2, "metric": [*"ccjj"]})
    >>> shares(rows.assign(difference=[0.1, -0.2, 0.3, 0.4]), "c", "j", 10, 0)["difference"].tolist()
    [-0.5]
    """
    wide = rows.assign(higher=_higher(rows["difference"])).pivot_table(
        index=["judgment", "document_id"], columns="metric", values="higher"
    )
    both = wide[[claim_level, holistic]].dropna().reset_index("document_id")
    interval = bootstrap_mean(both[claim_level] - both[holistic], both["document_id"], draws, seed)
    row = {
        "claim_level": claim_level,
        "holistic": holistic,
        "n": len(both),
        "documents": both["document_id"].nunique(),
        "claim_level_higher": both[claim_level].mean(),
        "holistic_higher": both[holistic].mean(),
        "difference": interval.value,
        "low": interval.low,
        "high": interval.high,
    }
    return pd.DataFrame([row])


def headline(cases: pd.DataFrame, ordered: pd.DataFrame) -> Mapping[str, Mapping[str, float]]:
    """Mean differences by case and the agreement, for ``dvc metrics show``."""
    values = {m: dict(zip(part["case"], part["difference"], strict=True)) for m, part in cases.groupby("metric")}
    for row in ordered.itertuples():
        values[row.metric] |= {"ordered as raters": row.ordered}
    return values


def long_form(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a dot: ``metric, case, author, score``, and ``difference`` of the case with its interval, in words."""
    differences = [f"{row.difference:+.3f}\n{row.low:+.2f} to {row.high:+.2f}" for row in rows.itertuples()]
    named = rows[["metric", "case"]].assign(difference=differences)
    return pd.concat([named.assign(author=author, score=rows[author]) for author in ("writer", "model")])


def directions(cases: pd.DataFrame) -> pd.DataFrame:
    """Which side scores higher beyond chance, one column a case, beside what ACUEval's Figure 2 shows.

    >>> cases = pd.DataFrame({"metric": "m", "case": "equal", "n": 9, "documents": 9, "low": [0.1], "high": [0.2]})
    >>> directions(cases)["equal"].tolist()
    ['model', 'model', 'model, slightly']
    """
    sides = _clear(cases).map({1: "model", -1: "writer", 0: "not told apart"}).where(cases["n"] > 0)
    ours = cases.assign(side=sides).pivot_table("side", "metric", "case", "first", sort=False)
    published = pd.DataFrame.from_dict(PUBLISHED, orient="index", columns=list(CASES.values()))
    return pd.concat([ours.reindex(columns=published.columns), published]).reset_index(names="metric")


def findings(cases: pd.DataFrame, ordered: pd.DataFrame, compared: pd.DataFrame) -> list[str]:
    """What the tables say, in words, whichever way they came out.

    Args:
        cases: what ``table`` returned.
        ordered: what ``agreement`` returned.
        compared: what ``shares`` returned.
    """
    rows = ordered.set_index("metric")
    sentences, one_sided = [], []
    for metric, part in cases.groupby("metric", sort=False):
        part, row = part[part["n"] > 0].set_index("case"), rows.loc[metric]
        clear = [case for case, sign in _clear(part).items() if sign]
        if len(part) > 1 and abs(_clear(part).sum()) == len(part):
            one_sided.append(metric)
        gaps = ", ".join(f"{gap:+.3f} when {case}" for case, gap in part["difference"].items())
        certain = f"beyond chance for: {', '.join(clear)}" if clear else "none is beyond chance"
        sentences.append(f"**{metric}** {_shape(part, row)} (model minus writer {gaps}; {certain}).{_ordering(row)}")
    sentences += [_pattern(cases, one_sided)] if one_sided else []
    sentences += [_copying(row) for row in ordered.itertuples() if row.metric != WordOverlap.name]
    higher = (
        f"{100 * row['model_higher']:.0f} % ({100 * row['model_higher_low']:.0f} to {100 * row['model_higher_high']:.0f}) "
        f"for {metric}"
        for metric, row in rows.iterrows()
    )
    sentences.append(
        "The metrics' scales differ, so their gaps do not compare; the share of judgments in which the model's summary "
        f"scores higher does: {', '.join(higher)}."
    )
    return [*sentences, *(_answer(row) for row in compared.itertuples() if row.n)]


def _clear(rows: pd.DataFrame) -> pd.Series:
    """1 where a difference is above zero beyond chance, -1 where it is below, else 0; by the rows' index.

    >>> gaps = pd.DataFrame({"low": [0.1, -0.2, -0.2, 0.1], "high": [0.2, -0.1, 0.1, 0.1], "documents": [9, 9, 9, 1]})
    >>> _clear(gaps).tolist()
    [1, -1, 0, 0]
    """
    signs = (rows["low"] > 0).astype(int) - (rows["high"] < 0)
    return signs.where(rows["documents"] >= FEWEST_DOCUMENTS, 0)


def _shape(part: pd.DataFrame, row: pd.Series) -> str:
    """What a metric does over the cases, in words.

    Args:
        part: the metric's rows of ``table`` with judgments, by case.
        row: its row of ``agreement``.
    """
    whole = "all three cases" if len(part) == 3 else "both cases"
    signs, clear = np.sign(part["difference"]), _clear(part)
    if len(part) == 1:
        return "was compared with raters in one case only: whether it favours either side cannot be told"
    if (clear > 0).all():
        return f"scores the model's summary higher in {whole}: the pattern that ACUEval calls a preference bias"
    if (clear < 0).all():
        return f"scores the person's summary higher in {whole}: the reverse of what ACUEval calls a preference bias"
    if (signs > 0).all():
        return f"scores the model's summary higher in {whole}, but not beyond chance in each: no bias is shown"
    if (signs < 0).all():
        return f"scores the person's summary higher in {whole}, but not beyond chance in each"
    if row["low"] <= 0.5 <= row["high"]:
        return "has no clear direction: it orders the judgments neither with nor against the raters beyond chance"
    if part["difference"].iloc[-1] > part["difference"].iloc[0]:
        return "moves with the raters: its difference is larger where they preferred the model"
    return "moves against the raters"


def _pattern(cases: pd.DataFrame, one_sided: list[str]) -> str:
    """What it means that these metrics score one side higher in every case."""
    sentence = "One side higher in every case proves no preference: a real difference in faithfulness gives the same"
    if "faithful" in cases:
        labels = cases.drop_duplicates("case").dropna(subset=["faithful"])
        gaps = ", ".join(f"{row.faithful:+.2f} when {row.case}" for row in labels.itertuples())
        sentence += f". By people's labels the share of faithful summaries differs, model minus writer, by {gaps}."
    else:
        sentence += ", and without labels of faithfulness the two cannot be told apart."
    if WordOverlap.name in one_sided:
        sentence += f" With {WordOverlap.name}, which counts words and knows no author, it cannot be a preference."
    return sentence


def _answer(row) -> str:
    """The notebook's question answered, from the row of ``shares``."""
    points, low, high = (100 * value for value in (row.difference, row.low, row.high))
    [sign] = _clear(pd.DataFrame([row]))
    answer = {
        -1: "favours the model less",
        0: "is not shown to favour the model less, nor more,",
        1: "does not favour the model less, but more",
    }[sign]
    return (
        f"**The claim-level metric {answer}** than the holistic one: on the {row.n} judgments that both scored the model's "
        f"summary scores higher in {100 * row.claim_level_higher:.0f} % by `{row.claim_level}` and "
        f"{100 * row.holistic_higher:.0f} % by `{row.holistic}`, {points:+.1f} points ({low:+.1f} to {high:+.1f}; the same "
        "documents drawn for both)."
    )


def _ordering(row: pd.Series) -> str:
    """How often a metric orders a pair as the raters did, from its row of ``agreement``; nothing if they decided none."""
    if not row["n"]:
        return ""
    return (
        f" It orders {100 * row['ordered']:.0f} % of the {int(row['n'])} decided judgments as the raters did "
        f"({100 * row['low']:.0f} to {100 * row['high']:.0f})."
    )


def _copying(row) -> str:
    """Whether copying explains a metric's bias, from its row of ``agreement``."""
    if row.bias_at_equal_overlap_low <= 0 <= row.bias_at_equal_overlap_high:
        verdict = "what is left is within chance of nothing, so that copying may be all of it"
    elif row.bias_at_equal_overlap * row.bias < 0:
        verdict = "copying more of the document's words is more than all of it, what is left favours the other side"
    elif abs(row.bias_at_equal_overlap) < abs(row.bias):
        verdict = "copying more of the document's words explains a part of it, not all"
    else:
        verdict = "copying more of the document's words explains none of it"
    return (
        f"**{row.metric}**: of its gap, model minus writer, of {row.bias:+.3f} with the cases weighted alike, "
        f"{row.bias_at_equal_overlap:+.3f} ({row.bias_at_equal_overlap_low:+.3f} to {row.bias_at_equal_overlap_high:+.3f}) is left where both summaries "
        f"have the same word overlap with the document: {verdict}."
    )
