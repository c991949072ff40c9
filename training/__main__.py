"""Train the verifier from public corpora: ``python -m training`` (``make train``).

Statements are read once, by a process a processor; then the verifier and its zero-shot variant are learned from those that
each may see, and the groups of corpora that ``held_out.csv`` is about are left out, one after the other, with all other
documents and with parts of them (``learning_curve.csv``). What is made lies in ``data/embedded.partial`` until all of it is
there: a run that is killed leaves weights and tables of the run before, all of one training.
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
    """Learn both and write their weights (the variant's into a folder of its own), then the tables of what training alone can
    measure. Both are made in ``partial``; what a killed run left there is written over."""
    made = partial / "weights"
    made.mkdir(parents=True, exist_ok=True)
    material = read(gather(all_corpora()))
    full = learn(material)
    _write(full, material, made)
    measured = material.rows, full.table, full.logits, features_alone(full.table)
    ablation(*measured).to_csv(partial / "ablation.csv", index=False)
    edit_types(*measured).to_csv(partial / "edit_types.csv", index=False)
    rest = material.without(ZERO_SHOT)
    learned = learn(rest)
    _write(learned, rest, made / "zero-shot")
    judge_held_out(material.judged(ZERO_SHOT), learned.heads).to_csv(partial / "judge.csv", index=False)
    curve = []
    for share in (1.0, *SHARES):
        for group, corpora in HELD_OUT.items():
            heads = learn(material.without(corpora).part(share)).heads
            curve.append(held_out(group, material.judged(corpora), heads).assign(share=share))
        together = pd.concat(curve)
        together.to_csv(partial / "learning_curve.csv", index=False)
        together[together["share"] == 1].drop(columns="share").to_csv(partial / "held_out.csv", index=False)
    shutil.copytree(made, folder, dirs_exist_ok=True)
    shutil.copytree(partial, tables, dirs_exist_ok=True, ignore=shutil.ignore_patterns("weights"))
    shutil.rmtree(partial)


def _write(learned: Learned, material: Material, folder: Path) -> None:
    learned.heads.write(folder, Counter(row.corpus for row in material.rows))
    made = f"{len(material.rows)} rows, {len(learned.logits)} statements"
    print(f"wrote {folder}: {made}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(checksums.WEIGHTS, Path("data/embedded"), Path("data/embedded.partial"))
    checksums.write()
