"""Where can the embedded model tell? Fits the bands of "not sure" and writes src/claimwise/user_file/bands.csv.

``python tools/bands.py`` reads what the stages ``corpora`` and ``score`` wrote with ``data: public`` and
``model: embedded``, validation rows only. ``low`` is the highest score (in hundredths) below which, and ``high`` the lowest
from which on, a verdict is right in ``RIGHT`` of the cases on every corpus and origin, if both labels are equally frequent;
0 or infinite where there is none. ``decided`` is the share of the rows outside the band and ``right`` the share of right verdicts
of these, both on a corpus or origin whose rows the band was not fitted on (the mean of leaving out one after another).
The row ``claim`` is the same of labelled claims and their support.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from claimwise import project, prompts
from claimwise.analysis.plots import in_words
from claimwise.metrics import DEFAULT_METRICS
from claimwise.metrics.verify import labelled_claims, verify_labelled

OUT = Path(__file__).resolve().parents[1] / "src" / "claimwise" / "user_file" / "bands.csv"
SUMMARIES = ("aggrefact_ftsota", "summeval")
CLAIMS = ("wice", "qags")
RIGHT = 0.75
#: Of fewer rows on a side of the band a corpus says nothing.
FEWEST = 10
GRID = np.arange(1, 100) / 100


def scored(metric: str) -> pd.DataFrame:
    """Labelled validation rows with ``score`` and ``group``, the corpus and origin; none where it was not scored on all."""
    parts = []
    for corpus in SUMMARIES:
        try:
            scores = project.load_evaluation("public", "embedded", corpus, metric).scores
        except FileNotFoundError:
            return pd.DataFrame()
        parts.append(project.load_corpus("public", corpus).examples.merge(scores, left_on="id", right_on="example_id"))
    return grouped(pd.concat(parts))


def verified() -> pd.DataFrame:
    """The same of labelled claims."""
    model, prompt = project.load_model("embedded"), prompts.load(DEFAULT_METRICS["acueval"]["verify"])
    parts = []
    for corpus in CLAIMS:
        claims = labelled_claims(project.load_corpus("public", corpus))
        claims = claims[claims["split"] == "validation"].reset_index(drop=True)
        parts.append(verify_labelled(claims, prompt, model).assign(corpus=corpus))
    return grouped(pd.concat(parts).rename(columns={"support": "score"}))


def grouped(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the validation split with a label and a score."""
    rows = rows[rows["split"] == "validation"].dropna(subset=["label", "score"])
    return rows.assign(group=rows["corpus"] + " " + rows["origin"].where(rows["corpus"] == "aggrefact_ftsota", ""))


def right(part: pd.DataFrame, verdict: pd.Series) -> float:
    """Share of the rows with a verdict whose label is the same, if both labels are equally frequent."""
    weight = (1 / part.groupby("label")["score"].transform("size")).where(verdict.notna(), 0)
    return float((weight * (verdict == part["label"])).sum() / weight.sum()) if weight.any() else float("nan")


def band(rows: pd.DataFrame) -> tuple[float, float]:
    """``low`` and ``high``."""
    parts = [part for _, part in rows.groupby("group")]

    def holds(label: int, there: Callable[[pd.Series], pd.Series]) -> bool:
        sides = [pd.Series(float(label), part.index).where(there(part["score"])) for part in parts]
        told = [right(part, side) for part, side in zip(parts, sides, strict=True) if side.notna().sum() >= FEWEST]
        return bool(told) and min(told) >= RIGHT

    low = [cut for cut in GRID if holds(0, lambda score, cut=cut: score < cut)]
    high = [cut for cut in GRID if holds(1, lambda score, cut=cut: score >= cut)]
    return max(low, default=0.0), min(high, default=np.inf)


def measured(name: str, rows: pd.DataFrame) -> dict:
    """A row of the table."""
    decided, rightly = [], []
    for group, part in rows.groupby("group"):
        low, high = band(rows[rows["group"] != group])
        verdict = (part["score"] >= high).astype(float).where((part["score"] < low) | (part["score"] >= high))
        decided.append(verdict.notna().mean())
        rightly.append(right(part, verdict))
    low, high = band(rows)
    groups = "; ".join(sorted(in_words(group.strip()) for group in rows["group"].unique()))
    row = {"metric": name, "low": low, "high": high, "n": len(rows), "fitted_on": groups}
    return row | {"decided": np.nanmean(decided), "right": np.nanmean(rightly)}


def main() -> None:
    """Fit and write."""
    tables = {name: scored(name) for name in DEFAULT_METRICS if name != "word-overlap"} | {"claim": verified()}
    rows = [measured(name, table) for name, table in tables.items() if len(table)]
    pd.DataFrame(rows).to_csv(OUT, index=False, float_format="%.2f", lineterminator="\n")


if __name__ == "__main__":
    main()
