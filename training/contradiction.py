"""A second head for a fine-tuned language model, which tells contradicted from absent claims.

    python -m training.contradiction build/states src/claimwise/models/adapters/contradiction.safetensors data/embedded/contradiction.csv

The model is asked about pairs of premise and hypothesis as about claims. From its states at the place of the answer a
logistic regression learns which pairs are contradicted, among those that are not entailed.
``transformers_checkpoint.Contradiction`` reads it. The states are kept in the first folder, one file for each corpus and split,
so that a killed run continues where it was.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import load_file, save_file
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from claimwise import params, paths
from claimwise.analysis.bootstrap import bootstrap_interval
from claimwise.analysis.measures import auc, mean
from claimwise.metrics.verify import labelled_claims
from claimwise.models.options import TransformersOptions
from training import lora
from training.adapter import Asked
from training.corpora import ABSENT, CONTRADICTED, ENTAILED, load

#: The layer of the states, of 28, and the penalty. Both were chosen on SICK's trial part and FRANK's validation part.
LAYER, _PENALTY = 20, 1e-4
_PAIRS = ("sick", "anli", "control")
#: The pairs that are used: of SICK's many short ones every second or fourth, of the other training splits ANLI's round 1.
_EVERY = {("sick", "train"): 2, ("sick", "test"): 4}
_USED = "split != 'train' or corpus == 'sick' or origin == 'r1'"
#: FRANK's types of errors about what the article says, and of errors from outside it.
_WITHIN, _OUTSIDE = {"PredE", "EntE", "CircE", "CorefE", "LinkE"}, "OutE"


def pairs() -> pd.DataFrame:
    """Return ``corpus, split, document_id, document, claim, standing``, with people's judgement in ``standing``.

    ``standing`` is ``ENTAILED``, ``CONTRADICTED`` or ``ABSENT``. An unfaithful summary of FRANK is contradicted if its errors
    are within the article, and absent if they are from outside. With both kinds of errors, or none, it is left out.
    """
    tables = [labelled_claims(load(name)).assign(corpus=name) for name in _PAIRS]
    frank = labelled_claims(load("frank")).query("label == 0").assign(corpus="frank")
    kinds = frank["error"].str.split(", ").map(set)
    within, outside = kinds.map(_WITHIN.intersection).map(bool), kinds.map(lambda kind: _OUTSIDE in kind)
    frank["error"] = np.where(outside, ABSENT, CONTRADICTED)
    table = pd.concat([*tables, frank[within != outside]], ignore_index=True).query(_USED)
    table["standing"] = table["error"].fillna(ENTAILED)
    every = np.array([_EVERY.get(key, 1) for key in zip(table["corpus"], table["split"], strict=True)])
    pair = table["document"] + table["claim"]
    place = pair.map(lambda text: crc32(text.encode()))
    # A few of SICK's pairs are in two of its splits.
    repeated = (table["split"] != "train") & pair.isin(pair[table["split"] == "train"])
    columns = ["corpus", "split", "document_id", "document", "claim", "standing"]
    table = table.loc[(place % every == 0) & ~repeated, columns]
    return table.sort_values(["corpus", "split"], kind="stable", ignore_index=True)


class States(Asked):
    """A chat model that also returns its states at the places of its answers."""

    def __init__(self, options: TransformersOptions, layer: int):
        super().__init__(options)
        self.model.base_model.layers[layer - 1].register_forward_hook(self._keep)

    def _keep(self, layer: torch.nn.Module, inputs: tuple, output: torch.Tensor | tuple) -> None:
        self._row = (output if isinstance(output, torch.Tensor) else output[0])[0]

    @torch.inference_mode()
    def read(self, document: str, statements: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the log odds of Yes, (n,), and the states, (n, size), of statements about a document."""
        group = self.prompts(document, statements)
        [odds] = self.logits([group])
        _, [ends] = self._sharing.packed([group])
        return odds.cpu().numpy(), self._row[ends].float().cpu().numpy()


def ask(table: pd.DataFrame, options: TransformersOptions, layer: int, folder: Path) -> Iterator[np.ndarray]:
    """Yield the log odds of Yes and the states, (n, 1 + size), of each corpus and split. Files in the folder are used again."""
    folder.mkdir(parents=True, exist_ok=True)
    model = None
    for (corpus, split), part in table.groupby(["corpus", "split"], sort=False):
        file = folder / f"{corpus}-{split}.safetensors"
        if not file.exists():
            model = model or States(options, layer)
            read = np.zeros((len(part), 1 + model.model.config.hidden_size), np.float32)
            groups = part.reset_index(drop=True).groupby("document", sort=False)
            for document, own in tqdm(groups, desc=file.stem, unit="document", mininterval=20):
                odds, states = model.read(str(document), own["claim"].tolist())
                read[own.index] = np.column_stack([odds, states])
            with paths.whole(file) as new:
                save_file({"read": read}, new)
        yield load_file(file)["read"]


def fit(states: np.ndarray, contradicted: np.ndarray, groups: pd.Series) -> dict[str, np.ndarray]:
    """Fit a logistic regression, and return it as the head reads it: ``weight`` (1, size), ``bias`` (1,).

    In each group (a corpus) both classes have the same weight. A group's weight is the root of its size.
    """
    count = pd.Series(1.0, groups.index).groupby([groups, contradicted]).transform("sum")
    weight = groups.map(groups.value_counts()) ** 0.5 / count
    scaled = make_pipeline(StandardScaler(), LogisticRegression(C=_PENALTY, max_iter=1000))
    scaled.fit(states, contradicted, logisticregression__sample_weight=weight / weight.mean())
    scaler, regression = scaled[0], scaled[1]
    slope = regression.coef_ / scaler.scale_
    return {
        "weight": slope.astype(np.float32),
        "bias": (regression.intercept_ - slope @ scaler.mean_).astype(np.float32),
    }


def measured(part: pd.DataFrame) -> dict[str, float]:
    """Return the accuracy in three classes, in percent, and the AUC of contradicted against absent pairs.

    Both have 95 % intervals over documents. The pairs have ``standing``, ``support`` and ``contradicted``.
    """
    unsupport = 1 - part["support"]
    classes = pd.DataFrame({ENTAILED: part["support"], CONTRADICTED: unsupport * part["contradicted"]})
    classes[ABSENT] = unsupport - classes[CONTRADICTED]
    row: dict[str, float] = {"n": len(part)}
    if (part["standing"] == ENTAILED).any():
        right = 100.0 * (classes.idxmax(axis=1) == part["standing"])
        accuracy = bootstrap_interval(mean, right, groups=part["document_id"])
        row |= {"accuracy": accuracy.value, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high}
        row["commonest"] = 100 * part["standing"].value_counts(normalize=True).iloc[0]
    unsupported = part[part["standing"] != ENTAILED]
    labels = unsupported["standing"] == CONTRADICTED
    area = bootstrap_interval(auc, labels, unsupported["contradicted"], groups=unsupported["document_id"])
    return row | {"auc": area.value, "auc_low": area.low, "auc_high": area.high}


def main() -> None:
    """Read the command line, ask the model, train the head, and measure it on the splits that it did not learn from."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("states", type=Path, help="where the model's states are kept")
    parser.add_argument("head", type=Path, help="where the head goes")
    parser.add_argument("table", type=Path, help="where the measurements go")
    parser.add_argument("--model", default="claimwise-1.5b", help="an entry of `models` in params.yaml")
    parser.add_argument("--layer", type=int, default=LAYER)
    arguments = parser.parse_args()
    slope, intercept = params.read("params.yaml").model_entry(arguments.model).get("calibration", (1.0, 0.0))
    table = pairs()
    asked = ask(table, lora.options_of(arguments.model), arguments.layer, arguments.states)
    read = np.concatenate(list(asked))
    learned = ((table["split"] == "train") & (table["standing"] != ENTAILED)).to_numpy()
    head = fit(read[learned, 1:], (table["standing"] == CONTRADICTED).to_numpy()[learned], table["corpus"][learned])
    arguments.head.parent.mkdir(parents=True, exist_ok=True)
    save_file(head | {"layer": np.array(arguments.layer)}, arguments.head)
    table["support"] = expit(slope * read[:, 0] + intercept)
    table["contradicted"] = expit(read[:, 1:] @ head["weight"][0] + head["bias"])
    rows = [
        {"corpus": corpus, "split": split} | measured(part)
        for (corpus, split), part in table[table["split"] != "train"].groupby(["corpus", "split"], sort=False)
    ]
    pd.DataFrame(rows).round(3).to_csv(arguments.table, index=False)


if __name__ == "__main__":
    main()
