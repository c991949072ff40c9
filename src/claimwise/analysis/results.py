"""Write a notebook's tables and figures: the same result gives the same bytes."""

import json
from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from claimwise import paths
from claimwise.schema import quoting

#: Names of methods in figures and tables, by the metrics' ids in params.yaml.
METHODS = {
    "acueval": "ACUEval",
    "factored": "Factored Verification",
    "fenice": "FENICE",
    "fenice-t5": "FENICE (T5's claims)",
    "sentences": "sentences",
    "holistic": "whole summary",
    "word-overlap": "word overlap",
    "fenice-student": "FENICE (SmolLM2's claims)",
}
#: The colour of each method in all figures, from a palette for colour-blind readers.
COLOURS = dict(zip(METHODS.values(), sns.color_palette("colorblind"), strict=False)) | {"word overlap": "black"}
COLOURS[METHODS["fenice-student"]] = COLOURS[METHODS["fenice-t5"]]
METHODS["fenice-t5 (published)"] = "FENICE (published)"  # its authors' scores of each summary
COLOURS[METHODS["fenice-t5 (published)"]] = "0.25"
# Metrics with a language model of their own (`model` in their entry of params.yaml) have the colour of their method.
_LANGUAGE_MODELS = {
    "qwen": "Qwen 1.5B",
    "qwen-0-5b": "Qwen 0.5B",
    "smollm2": "SmolLM2 135M",
    "claimwise": "claimwise 0.5B",
    "claimwise-1-5b": "claimwise 1.5B",
    "claimwise-nli": "claimwise 1.5B",
    "claimwise-1-5b-zero-shot": "zero-shot 1.5B",
    "claimwise-ensemble": "claimwise 1.5B + embedded",
    "claimwise-ensemble-zero-shot": "zero-shot 1.5B + embedded",
}
_LANGUAGE_METHODS = {
    "acueval": "ACUEval",
    "sentences": "sentences",
    "holistic": "whole summary",
    "summary": "summary as one claim",
    "geval": "G-Eval",
    "yes-no": "yes or no",
    "reasons": "yes or no after reasons",
    "points": "0 to 100 points",
    "stars": "one to five stars",
    "weakest": "weakest sentence",
    "claims-t5": "ACUEval (T5's claims)",
    "nli-t5": "mean NLIScore (T5's claims)",
}
_SHADES = COLOURS | {
    "weakest sentence": sns.color_palette("colorblind")[-1],
    "ACUEval (T5's claims)": COLOURS["ACUEval"],
    "mean NLIScore (T5's claims)": COLOURS["FENICE (T5's claims)"],
}
for _name, _method in _LANGUAGE_METHODS.items():
    for _entry, _model in _LANGUAGE_MODELS.items():
        METHODS[f"{_name}-{_entry}"] = f"{_method}, {_model}"
        # Methods without a colour of their own judge the whole summary.
        COLOURS[f"{_method}, {_model}"] = _SHADES.get(_method, COLOURS["whole summary"])
#: The colour of the papers' published numbers.
PUBLISHED = "0.45"


def set_style() -> None:
    """Set the look of all figures; a notebook calls it once, at its top."""
    sns.set_theme(style="whitegrid", context="notebook", palette="colorblind")
    mpl.rcParams.update({"figure.dpi": 110, "savefig.dpi": 150, "axes.titlelocation": "left", "text.parse_math": False})


class Results:
    """A notebook's tables (``tables/DATA/MODEL/NOTEBOOK``), figures (``figures/...``) and headline numbers."""

    def __init__(self, data: str, model: str, notebook: str) -> None:
        name = paths.plain(notebook)
        self._tables, self._figures = (paths.results_folder(kind, data, model) / name for kind in ("tables", "figures"))
        for folder in (self._tables, self._figures):
            folder.mkdir(parents=True, exist_ok=True)
        self._scored_by = f"scores by {model}, unless another model is named; FENICE's by its NLI model"

    def table(self, table: pd.DataFrame, name: str) -> pd.DataFrame:
        """Write a table as csv (six significant digits, LF, UTF-8) and return it."""
        file = self._tables / f"{paths.plain(name)}.csv"
        table.to_csv(file, index=False, float_format="%.6g", lineterminator="\n", quoting=quoting(table))
        return table

    def figure(self, figure: Figure, name: str) -> Figure:
        """Write a figure as PNG, without date or version in the file, and return it for the notebook to show.

        A line below everything else says which model made the scores: a figure is often seen alone.
        """
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        figure.text(box.x0 / width, (box.y0 - 0.05) / height, self._scored_by, size=8, color=PUBLISHED, va="top")
        figure.savefig(self._figures / f"{paths.plain(name)}.png", bbox_inches="tight", metadata={"Software": None})
        plt.close(figure)
        return figure

    def metrics(self, values: Mapping[str, float | None]) -> None:
        """Write headline numbers, by names in words, as json for ``dvc exp show``; NaN becomes null.

        Write at most six, because ``dvc exp show`` has a column for each; other numbers belong in tables.
        """
        text = json.dumps({name: _plain(value) for name, value in values.items()}, indent=2, ensure_ascii=False)
        self._tables.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def _plain(value: float | None) -> float | None:
    """A number for json, with six significant digits."""
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else float(f"{value:.6g}")
    return int(value) if isinstance(value, np.integer) else value
