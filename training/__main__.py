"""Train the verifier from public corpora: ``python -m training`` (``make train``).

Statements are read once, by one process for each processor. Then the verifier and its zero-shot variant are trained. Then
each group of corpora in ``held_out.csv`` is left out, and the verifier is trained on all other documents and on parts of them
(``learning_curve.csv``). The results are in ``data/embedded.partial`` until all are there, so that a killed run changes no
weights and tables.
"""

import shutil
import sys
from collections import Counter
from pathlib import Path

import pandas as pd

from claimwise_embedded import checksums
from training.data import HELD_OUT, SHARES, ZERO_SHOT, all_corpora
from training.evaluation import ablation, edit_types, features_alone, held_out, judge_held_out
from training.learning import Learned, learn
from training.material import Material, gather, read


def main(folder: Path, tables: Path, partial: Path) -> None:
    """Train both, and write their weights (the variant's into a folder of its own) and the tables that only training can
    measure. All are made in ``partial``, where files of a killed run are overwritten."""
    weights = partial / "weights"
    weights.mkdir(parents=True, exist_ok=True)
    material = read(gather(all_corpora()))
    full = learn(material)
    _write(full, material, weights)
    measured = material.rows, full.table, full.logits, features_alone(full.table)
    ablation(*measured).to_csv(partial / "ablation.csv", index=False)
    edit_types(*measured).to_csv(partial / "edit_types.csv", index=False)
    zero_shot_material = material.without(ZERO_SHOT)
    zero_shot = learn(zero_shot_material)
    _write(zero_shot, zero_shot_material, weights / "zero-shot")
    judge_held_out(material.judged(ZERO_SHOT), zero_shot.heads).to_csv(partial / "judge.csv", index=False)
    parts = []
    for share in (1.0, *SHARES):
        for group, corpora in HELD_OUT.items():
            heads = learn(material.without(corpora).part(share)).heads
            parts.append(held_out(group, material.judged(corpora), heads).assign(share=share))
        curve = pd.concat(parts)
        curve.to_csv(partial / "learning_curve.csv", index=False)
        curve[curve["share"] == 1].drop(columns="share").to_csv(partial / "held_out.csv", index=False)
    shutil.copytree(weights, folder, dirs_exist_ok=True)
    shutil.copytree(partial, tables, dirs_exist_ok=True, ignore=shutil.ignore_patterns("weights"))
    shutil.rmtree(partial)


def _write(learned: Learned, material: Material, folder: Path) -> None:
    learned.heads.write(folder, Counter(row.corpus for row in material.rows))
    sizes = f"{len(material.rows)} rows, {len(learned.logits)} statements"
    print(f"wrote {folder}: {sizes}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(checksums.WEIGHTS, Path("data/embedded"), Path("data/embedded.partial"))
    checksums.write()
