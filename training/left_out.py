"""Measures a fine-tuned language model on corpora that its training left out, at several strengths of its adapter.

    python -m training.left_out rows build/judged.jsonl build/packs.jsonl
    python -m training.left_out ask build/judged.jsonl claimwise-1.5b-zero-shot A build/asked-A.jsonl
    python -m training.left_out table build/judged.jsonl data/embedded/held_out_adapter.csv build/asked-A.jsonl ...

The groups of corpora and the measurements are those of the embedded model's ``held_out.csv``. ``rows`` needs the public
corpora, ``ask`` needs a checkpoint and should have a GPU. A strength is the share of the adapter's weights that is added to the
checkpoint's: 0 is the checkpoint itself, ``adapter.STRENGTH`` is shipped.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from peft import PeftModel
from peft.helpers import rescale_adapter_scale
from scipy.special import logit
from tqdm import tqdm

from claimwise import models, prompts, text
from claimwise.models.options import TransformersOptions
from claimwise.models.weights import adapter_folder, learned_documents
from claimwise.schema import document_id
from training import lora
from training.adapter import Asked, read_together
from training.data import HELD_OUT, ZERO_SHOT, Row, all_corpora, each_summary, training_rows
from training.evaluation import as_table, interval, one_auc, pooled
from training.packing import Pack, without
from training.packing import read as read_packs

STRENGTHS = (0.0, 0.5, 1.0)
_TOGETHER = 16  # statements that are read together with their document
_RUN, _SHARE = 8, 0.2  # words in a run; two documents are versions of one if they share this part of the runs


def rows_left_out(packs: Sequence[Pack]) -> Iterator[Row]:
    """Yield the judged summaries of all groups, each once, with its sentences.

    Corpora share articles, some of them shortened. A summary is left out if training without its group, on ``packs``, learns
    from a version of its document.
    """
    rows = training_rows(all_corpora())
    for names in HELD_OUT.values():
        judged = [row for row in rows if row.corpus.startswith(names) and not row.synthetic]
        learned = set().union(*(_runs(pack.document) for pack in without(packs, names)))
        runs = {document: _runs(document) for document in {row.document for row in judged}}
        versions = {document for document, own in runs.items() if len(own & learned) > _SHARE * len(own)}
        yield from (judged[number] for number in each_summary(judged) if judged[number].document not in versions)


def _runs(document: str) -> set[int]:
    """The hashes of all runs of ``_RUN`` words."""
    words = text.words(document)
    return {hash(tuple(words[at : at + _RUN])) for at in range(len(words) - _RUN + 1)}


def ask(rows: Sequence[Row], options: TransformersOptions, adapter: str, file: Path) -> None:
    """Write the log odds of Yes of every statement, and of every summary as one statement, at each strength.

    A line has statements about one document. Lines that the file has already are kept. Documents that the adapter learned from
    are left out. ``options`` are those of the checkpoint.
    """
    asked = Asked(options)
    adapted = PeftModel.from_pretrained(asked.model, adapter_folder(adapter))
    own = lora.strength(adapted)
    by_document: dict[str, dict[str, None]] = defaultdict(dict)
    learned = learned_documents(adapter)
    for row in (row for row in rows if document_id(row.document) not in learned):
        by_document[row.document] |= dict.fromkeys([*row.statements, row.summary])
    done = {(line["document"], line["statements"][0]) for line in _lines(file)}
    packs = [
        (document, list(every)[at : at + _TOGETHER])
        for document, every in by_document.items()
        for at in range(0, len(every), _TOGETHER)
        if (document, list(every)[at]) not in done
    ]
    groups = [asked.prompts(document, statements) for document, statements in packs]
    if file.exists():  # remove an unfinished last line
        whole = file.read_bytes()
        file.write_bytes(whole[: whole.rfind(b"\n") + 1])
    with file.open("a", encoding="utf-8") as stream, tqdm(total=len(packs), unit="pack", mininterval=20) as bar:
        for batch in read_together(groups, asked.model.device):
            by_strength = {}
            for strength in STRENGTHS:
                with rescale_adapter_scale(adapted, strength / own), torch.inference_mode():
                    by_strength[str(strength)] = asked.logits([groups[i] for i in batch])
            for place, i in enumerate(batch):
                document, statements = packs[i]
                odds = {strength: logits[place].tolist() for strength, logits in by_strength.items()}
                line = {"document": document, "statements": statements, "log_odds": odds}
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            stream.flush()
            bar.update(len(batch))


def table(rows: Sequence[Row], files: Sequence[Path]) -> pd.DataFrame:
    """Return the columns of ``held_out.csv``, without ``ece``, for the summaries in the files.

    ``model`` is an adapter's strength. On corpora that the embedded zero-shot model left out, too, it is also ``embedded``, that
    model, and a strength with ``averaged``, the mean of both models' log odds. ``pooling`` is min or mean over sentences, or
    whole: the summary as one statement.

    Raises:
        ValueError: the name of a file does not end in a group.
    """
    if strange := [file.name for file in files if not file.stem.endswith(tuple(f"-{group}" for group in HELD_OUT))]:
        raise ValueError(f"{strange[0]}: expected a name that ends in the group, as asked-A.jsonl")
    results = []
    for group, names in HELD_OUT.items():
        odds: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
        for line in (line for file in files if file.stem.endswith(f"-{group}") for line in _lines(file)):
            for strength, values in line["log_odds"].items():
                odds[strength] |= zip(((line["document"], one) for one in line["statements"]), values, strict=True)
        answered = [
            row
            for row in rows
            if row.corpus.startswith(names)
            and all((row.document, one) in odds["1.0"] for one in (*row.statements, row.summary))
        ]
        if answered:
            results += _compared(group, answered, odds, [row.statements for row in answered], ["min", "mean"])
            wholes = _compared(group, answered, odds, [(row.summary,) for row in answered], ["mean"])
            results += [one | {"pooling": "whole"} for one in wholes]
        if zero_shot := [row for row in answered if row.corpus.startswith(ZERO_SHOT)]:
            embedded = _embedded(zero_shot)
            read = [row for row in zero_shot if all((row.document, one) in embedded for one in row.statements)]
            # The mean of both models' log odds, as of ``averaged_with`` (if neither is surer than one in a million).
            both = {
                f"{strength} averaged": {key: (asked[key] + own) / 2 for key, own in embedded.items() if key in asked}
                for strength, asked in odds.items()
            }
            statements = [row.statements for row in read]
            results += _compared(group, read, {"embedded": embedded} | both, statements, ["min", "mean"])
    return as_table(results, ["corpus", "held_out_with", "n", "model", "pooling", "auc", "low", "high"])


def _embedded(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    """The log odds of the embedded zero-shot model, for the statements that it can read."""
    model = models.load({"kind": "embedded", "weights": "zero-shot"})
    prompt = prompts.load("acueval-verify-zeroshot")
    verdicts = model.verify([row.document for row in rows], [row.statements for row in rows], prompt)
    return {
        (row.document, statement): float(logit(verdict.support))
        for row, group in zip(rows, verdicts, strict=True)
        for statement, verdict in zip(row.statements, group, strict=True)
        if verdict.reason is None
    }


def _compared(group: str, rows: Sequence[Row], odds: dict, texts: Sequence[Sequence[str]], poolings: list[str]) -> list:
    """The AUC rows of each column of ``odds``. ``texts`` are the statements of each row."""
    row_of = np.array([number for number, own in enumerate(texts) for _ in own])
    keys = [(row.document, statement) for row, own in zip(rows, texts, strict=True) for statement in own]
    columns = {model: np.array([by_key[key] for key in keys]) for model, by_key in odds.items()}
    return [
        one_auc(part, corpus=corpus, held_out_with=group, model=model, pooling=pooling) | interval(part)
        for (corpus, model, pooling), part in pooled(rows, row_of, columns, poolings)
    ]


def _lines(file: Path) -> list[dict]:
    """The finished lines of a file; none if it does not exist."""
    return [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]] if file.exists() else []


def _read(file: Path) -> list[Row]:
    return [Row(**line | {"statements": tuple(line["statements"])}) for line in _lines(file)]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["rows", "ask", "table"])
    parser.add_argument("rows", type=Path, help="the summaries: `rows` writes them, the others read them")
    about = "rows: the packs; ask: the adapter, its group, the file to write; table: the file to write, the asked files"
    parser.add_argument("files", nargs="*", help=about)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="an entry of `models` in params.yaml")
    arguments = parser.parse_args()
    if len(arguments.files) < {"rows": 1, "ask": 3, "table": 2}[arguments.step]:
        parser.error(f"more files are needed ({about})")
    if arguments.step == "rows":
        arguments.rows.parent.mkdir(parents=True, exist_ok=True)
        with arguments.rows.open("w", encoding="utf-8") as stream:
            for row in rows_left_out(read_packs(Path(arguments.files[0]))):
                stream.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
    elif arguments.step == "ask":
        adapter, group, file = arguments.files
        rows = [row for row in _read(arguments.rows) if row.corpus.startswith(HELD_OUT[group])]
        ask(rows, lora.options_of(arguments.model), adapter, Path(file))
    else:
        file, *asked = map(Path, arguments.files)
        table(_read(arguments.rows), asked).to_csv(file, index=False)


if __name__ == "__main__":
    main()
