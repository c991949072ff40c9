"""Verdicts against people's labels, by prompt (ACUEval Table 3).

Two tasks share the table. *Support*: does the document support the claim? *Presence*: does a candidate summary
state the reference's claim (ROSE's protocol)? There the prompt with context ``document+extra`` sees the source
document beside the candidate summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from claimwise import prompts
from claimwise.analysis import calibration, significance, statistics
from claimwise.corpora import Corpus
from claimwise.experiments import recorded, report
from claimwise.metrics.verify import PromptedVerifier
from claimwise.models.base import Model
from claimwise.progress import bar
from claimwise.prompts import Demonstration, Prompt

#: A claim is accepted from 0.5 on: the thresholds of ``statistics`` accept what is *above* them.
HALF = float(np.nextafter(0.5, 0))

#: Of ``table``.
COLUMNS = (
    *("task", "prompt", "n", "n_claims", "unparsed", "accuracy", "accuracy_low", "accuracy_high"),
    *("gain", "gain_low", "gain_high"),
    *("balanced_at_half", "balanced_at_half_low", "balanced_at_half_high"),
    *("balanced_accuracy", "balanced_accuracy_low", "balanced_accuracy_high", "threshold", "tuned_on"),
    *("change", "change_low", "change_high", "auc_change", "auc_change_low", "auc_change_high", "auc_change_p"),
    *("auc", "ece", "ece_exact", "ece_exact_high", "yes", "supported"),
)

_CLAIM = ["example_id", "claim_index"]


def labelled_claims(corpus: Corpus) -> pd.DataFrame:
    """The corpus's labelled claims with what they are checked against.

    Returns:
        ``example_id, claim_index, document_id, split, origin, claim, label, error, document, extra``: ``document`` is
        the example's document, or the passage where the claim was labelled against one; ``extra`` is text that a
        prompt may show beside and that must not count (the source, in the presence task), or empty.
    """
    gold = corpus.gold_claims.dropna(subset=["label"])
    frame = gold.merge(
        corpus.examples[["id", "document_id", "split", "origin", "document"]],
        left_on="example_id",
        right_on="id",
    )
    if "passage" in frame:
        frame["document"] = frame["passage"].fillna(frame["document"])
    if "extra" not in frame:
        frame["extra"] = None
    columns = [*_CLAIM, "document_id", "split", "origin", "claim", "label", "error", "document", "extra"]
    # Claims that are checked against the same text stand together: `run` asks about them in one go.
    return frame.sort_values(["example_id", "document"], kind="stable", ignore_index=True)[columns]


def draw_demonstrations(claims: pd.DataFrame, shots: int, seed: int) -> list[Demonstration]:
    """As many supported as unsupported claims of the validation split, each of another document.

    Raises:
        ValueError: the validation split has too few documents with claims of both labels.
    """
    pool = claims[claims["split"] == "validation"].sample(frac=1, random_state=seed)
    wrong = pool[pool["label"] == 0].drop_duplicates("document_id").head(shots // 2)
    right = pool[(pool["label"] == 1) & ~pool["document_id"].isin(wrong["document_id"])]
    chosen = pd.concat([right.drop_duplicates("document_id").head(shots - shots // 2), wrong])
    if len(chosen) < shots:
        raise ValueError(f"{shots} shots asked, the validation split has documents for {len(chosen)}; ask for fewer")
    return [
        Demonstration(passage=row.document, claim=row.claim, label=bool(row.label))
        for row in chosen.sample(frac=1, random_state=seed).itertuples()
    ]


def of_corpus(corpus: Corpus, prompt_names: Sequence[str], model: Model, shots: int, seed: int) -> pd.DataFrame:
    """Verdicts on a corpus's labelled claims: ours, and those of the language models that have replies on record.

    Where there are replies on record, of the test claims only those are verified that they are about, so that all
    rows are about the same claims; what is recorded of them has no validation part.
    """
    claims = labelled_claims(corpus)
    replied = corpus.recorded_replies["example_id"]
    if len(replied):
        claims = claims[(claims["split"] != "test") | claims["example_id"].isin(replied)].reset_index(drop=True)
    found = [run(claims, prompt_names, model, shots, seed)]
    test = claims[claims["split"] == "test"].reset_index(drop=True)
    for name, prompt, engine in recorded.models(corpus, "verify"):
        found.append(run(test, [prompt.name], engine, shots, seed).assign(prompt=name))
    return pd.concat(found, ignore_index=True)


def unparsed(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The recorded replies of ``of_corpus`` that could not be read, by model and template."""
    names = [name for name in verdicts["prompt"].unique() if recorded.MARK in name]
    return recorded.unparsed({name: verdicts[verdicts["prompt"] == name] for name in names})


def run(
    claims: pd.DataFrame, prompt_names: Sequence[str], model: Model, shots: int, seed: int, batch: int = 64
) -> pd.DataFrame:
    """Verdicts of every prompt on the validation and test claims: adds ``prompt, support, reason`` and ``shown``.

    ``shown`` marks the validation claims that stand in the prompt as demonstrations, with their labels.

    A prompt that shows another text beside is left out where the corpus has none to show.
    """
    groups = claims.groupby(["example_id", "document"], sort=False)
    documents = groups["document"].first().tolist()
    extras = groups["extra"].first().tolist()
    texts = groups["claim"].agg(list).tolist()
    results = []
    beside = claims["extra"].notna().all()
    for name in prompt_names:
        if prompts.load(name).context == "document+extra" and not beside:
            continue
        prompt = _prompt(name, claims, shots, seed)
        verifier = PromptedVerifier(model, prompt)
        verdicts = []
        steps = bar(len(documents), name, "document")
        for at in range(0, len(documents), batch):
            part = slice(at, at + batch)
            steps.update(len(documents[part]))
            verdicts += verifier.verify(documents[part], texts[part], extras[part] if beside else None)
        steps.close()
        flat = [verdict for group in verdicts for verdict in group]
        shown = {(example.passage, example.claim) for example in prompt.demonstrations}
        results.append(
            claims.assign(
                prompt=name,
                support=[v.support for v in flat],
                reason=[v.reason for v in flat],
                shown=[pair in shown for pair in zip(claims["document"], claims["claim"], strict=True)],
            )
        )
    return pd.concat(results, ignore_index=True).drop(columns=["document", "extra"])


def _prompt(name: str, claims: pd.DataFrame, shots: int, seed: int) -> Prompt:
    prompt = prompts.load(name)
    return prompt.with_demonstrations(draw_demonstrations(claims, shots, seed)) if prompt.demonstrations else prompt


def table(verdicts: pd.DataFrame, reference: str, draws: int, seed: int) -> pd.DataFrame:
    """One row a (task, prompt) on the test split, and a row for the answer that is always the same.

    Prompts are compared on the claims that all of them have a verdict on. One whose replies could be read for less than
    half of the claims has no numbers, and does not narrow the others' claims.

    Args:
        verdicts: what ``of_corpus`` returned, with ``task``.
        reference: the prompt that the others are compared with.
        draws: bootstrap samples of every interval.
        seed: of the draws.

    Returns:
        ``task, prompt, n, n_claims`` (``n`` counts a claim as often as it was checked, with each of its excerpts),
        ``unparsed`` (claims without a verdict by this prompt, left out for all), ``accuracy`` and
        ``balanced_at_half`` (balanced accuracy; both at 0.5), ``balanced_accuracy`` (at the ``threshold`` tuned on ``tuned_on``
        validation claims, and at 0.5 where there are none, as with replies on record), each in percent with ``_low`` and
        ``_high``; ``change`` and ``auc_change``, by how much accuracy (points) and AUC differ from the reference prompt's on the
        same claims, with ``_low`` and ``_high`` (and ``auc_change_p``); ``gain``, accuracy less that of the answer that is always the same, in points with ``_low`` and ``_high``;
        ``auc, ece`` with what exact probabilities would have (``calibration.columns``; not for replies on record), ``yes`` (share answered Yes) and
        ``supported`` (share labelled so: an answer of Yes to everything has this accuracy).
    """
    rows = [row for task, part in verdicts.groupby("task") for row in _rows(task, part, reference, draws, seed)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _rows(task: str, verdicts: pd.DataFrame, reference: str, draws: int, seed: int) -> list[dict]:
    """One task's rows."""
    test, validation = verdicts[verdicts["split"] == "test"], verdicts[verdicts["split"] == "validation"]
    share = test["support"].notna().groupby(test["prompt"]).mean()
    read = share.index[share >= 0.5]
    known = test.assign(known=test["support"].notna() | ~test["prompt"].isin(read))
    compared = test[known.groupby(_CLAIM)["known"].transform("all")]
    # The commoner answer of the validation split, never of the test split.
    common = float(validation.drop_duplicates(_CLAIM)["label"].mean() >= 0.5)
    rows = []
    for name, part in test.groupby("prompt", sort=False):
        row = {"task": task, "prompt": name, "n": 0, "unparsed": int(part["support"].isna().sum())}
        if name in read and len(compared):
            tuning = validation[(validation["prompt"] == name) & ~validation["shown"]].dropna(subset=["support"])
            own = compared[compared["prompt"] == name]
            row |= _agreement(own, tuning, common, draws, seed)
            if recorded.kind(name) == "ours":  # of a label on record, 1, .25 or 0 is no probability
                row |= calibration.columns(own["label"], own["support"], asked(own))
            if reference in read and name != reference:
                row |= _change(compared, name, reference, draws, seed)
        rows.append(row)
    return [*rows, {"task": task} | _constant(compared.drop_duplicates(_CLAIM), common)]


def _agreement(test: pd.DataFrame, validation: pd.DataFrame, common: float, draws: int, seed: int) -> dict[str, float]:
    """One prompt's columns on the test claims that all were read on."""
    correct = (test["support"] >= 0.5) == (test["label"] == 1)
    accuracy = statistics.bootstrap_mean(100 * correct, test["document_id"], draws, seed)
    gained = correct.astype(int) - (test["label"] == common)
    gain = statistics.bootstrap_mean(100 * gained, test["document_id"], draws, seed)
    tunable = validation["label"].nunique() == 2
    threshold = statistics.best_threshold(validation["support"], validation["label"]) if tunable else HALF
    half, tuned = (
        statistics.bootstrap_accuracy(test["label"], test["support"], cut, test["document_id"], draws, seed)
        for cut in (HALF, threshold)
    )
    return {
        **_sizes(test),
        "accuracy": accuracy.value,
        "accuracy_low": accuracy.low,
        "accuracy_high": accuracy.high,
        "gain": gain.value,
        "gain_low": gain.low,
        "gain_high": gain.high,
        "balanced_at_half": 100 * half.value,
        "balanced_at_half_low": 100 * half.low,
        "balanced_at_half_high": 100 * half.high,
        "balanced_accuracy": 100 * tuned.value,
        "balanced_accuracy_low": 100 * tuned.low,
        "balanced_accuracy_high": 100 * tuned.high,
        "threshold": threshold,
        "tuned_on": len(validation) if tunable else 0,
        "auc": statistics.auc(test["label"], test["support"]),
        "yes": float((test["support"] >= 0.5).mean()),
        "supported": float(test["label"].mean()),
    }


def _sizes(test: pd.DataFrame) -> dict[str, int]:
    return {"n": len(test), "n_claims": asked(test).nunique()}


def asked(claims: pd.DataFrame) -> pd.Series:
    """What each row asks, one claim with one label: several rows may ask it beside different passages (WiCE's excerpts).

    Where the rows of a claim have labels of their own, as in another candidate summary each, every row asks for itself.

    >>> rows = pd.DataFrame({"document_id": "d", "claim": ["It rained.", "It rained.", "We left."], "label": [1, 1, 0]})
    >>> asked(rows).nunique(), asked(rows.assign(label=[1, 0, 0])).nunique()
    (2, 3)
    """
    names = claims["document_id"] + "\n" + claims["claim"]
    if claims["label"].groupby(names.to_numpy()).nunique().gt(1).any():
        return pd.Series(range(len(claims)), claims.index)
    return names


def _change(test: pd.DataFrame, prompt: str, reference: str, draws: int, seed: int) -> dict[str, float]:
    """How a prompt's verdicts differ from those of another prompt on the same claims."""
    keys = [*_CLAIM, "document_id", "label"]
    wide = test.pivot_table("support", keys, "prompt", aggfunc="first").reset_index()
    right = (wide[[prompt, reference]] >= 0.5).eq(wide["label"] == 1, axis=0)
    gap = 100 * (right[prompt].astype(int) - right[reference])
    change = statistics.bootstrap_mean(gap, wide["document_id"], draws, seed)
    area, p = significance.paired_auc(wide, prompt, reference, seed=seed)
    names = ("", "_low", "_high")
    row = {f"change{name}": value for name, value in zip(names, change, strict=True)}
    return row | {f"auc_change{name}": value for name, value in zip(names, area, strict=True)} | {"auc_change_p": p}


def _counted(row: Mapping[str, float]) -> str:
    """How many claims, and how often they were asked about.

    >>> _counted({"n": 358, "n_claims": 358}), _counted({"n": 300, "n_claims": 100})
    ('358 claims', '300 checks of 100 claims')
    """
    if row["n"] == row["n_claims"]:
        return f"{row['n']:.0f} claims"
    return f"{row['n']:.0f} checks of {row['n_claims']:.0f} claims"


def _constant(test: pd.DataFrame, answer: float) -> dict:
    """The row of one answer (1 or 0) to every claim."""
    labels = test["label"]
    return {
        "prompt": "always " + ("Yes" if answer else "No"),
        **_sizes(test),
        "unparsed": 0,
        "accuracy": (100.0 * (labels == answer)).mean(),
        "balanced_at_half": 50.0,
        "balanced_accuracy": 50.0,
        "auc": 0.5,
        "yes": answer,
        "supported": float(labels.mean()),
    }


def by_error(verdicts: pd.DataFrame, prompt: str) -> pd.DataFrame:
    """By task and error type of the test claims: how many, and the share found (support < 0.5), for one prompt."""
    rows = verdicts[(verdicts["prompt"] == prompt) & (verdicts["split"] == "test") & (verdicts["label"] == 0)]
    rows = rows[rows["support"].notna()].assign(found=lambda frame: frame["support"] < 0.5)
    grouped = rows.groupby(["task", "error"], sort=False)["found"]
    found = pd.DataFrame({"n": grouped.size(), "found": grouped.mean()}).reset_index()
    return found.sort_values(["task", "found"], ignore_index=True)


def display(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns that the notebook shows."""
    columns = ["task", "prompt", "n", "n_claims", "unparsed", "accuracy", "accuracy_low", "accuracy_high"]
    columns += ["gain", "gain_low", "gain_high", "balanced_at_half", "balanced_accuracy", "threshold"]
    columns += ["auc", "ece", "ece_exact_high", "yes", "supported"]
    told = {"unparsed": rows["unparsed"].any(), "n_claims": (rows["n_claims"] < rows["n"]).any()}
    return rows[[name for name in columns if told.get(name, True)]]


def changes(rows: pd.DataFrame) -> pd.DataFrame:
    """What another prompt than the reference changes, as the notebook shows it."""
    columns = ["change", "change_low", "change_high", "auc_change", "auc_change_low", "auc_change_high", "auc_change_p"]
    return rows.dropna(subset=["change"])[["task", "prompt", "n", *columns]]


def kind(prompt: str) -> str:
    """Where a row comes from, for the figure: ``ours``, ``recorded``, or the answer that is always the same.

    >>> kind("acueval-verify-zeroshot"), kind("always Yes")
    ('ours', 'one answer')
    """
    return "one answer" if prompt.startswith("always") else recorded.kind(prompt)


def findings(rows: pd.DataFrame, reference: str) -> list[str]:
    """What the table says, in words, whichever way it came out.

    Args:
        rows: what ``table`` returned.
        reference: the prompt that is reported; where its replies could not be read, the most accurate one.
    """
    sentences = []
    for task, part in rows.groupby("task", sort=False):
        constant = part[part["prompt"].str.startswith("always")].iloc[0]
        everyone = part[~part["prompt"].str.startswith("always")].set_index("prompt")
        read = everyone.index.str.contains(recorded.MARK, regex=False)
        part, read = everyone[~read], everyone[read]
        if not part["n"].any():
            sentences.append(f"**{task}**: no prompt's replies could be read for half of the claims.")
            continue
        chosen = reference if part["n"].get(reference, 0) else part["accuracy"].idxmax()
        row = part.loc[chosen]
        low, high = row["gain_low"], row["gain_high"]
        verdict = "more than" if low > 0 else "less than" if high < 0 else "not clearly more or less than"
        sentences.append(
            f"**{task}**: `{chosen}` agrees with people on {row['accuracy']:.1f} % of {_counted(row)} "
            f"({row['accuracy_low']:.1f} to {row['accuracy_high']:.1f}), {verdict} {constant['prompt']} "
            f"({constant['accuracy']:.1f} %): {row['gain']:+z.1f} points ({low:+z.1f} to {high:+z.1f}) on the same claims. "
            f"Balanced accuracy, 50 for one answer to all, is {_interval(row, 'balanced_at_half')} at the same 0.5 and "
            f"{_interval(row, 'balanced_accuracy')} at the threshold tuned on validation. Its supports rank claims with an "
            f"AUC of {row['auc']:.2f}.{report.beside_chance(row['auc'])} Of its probabilities {calibration.told(row)}."
        )
        others = part.dropna(subset=["change"])
        if len(others):
            told = [
                f"`{name}` accuracy {other['change']:+z.1f} points ({other['change_low']:+z.1f} to {other['change_high']:+z.1f}), "
                f"AUC {other['auc_change']:+z.3f} ({other['auc_change_low']:+z.3f} to {other['auc_change_high']:+z.3f}), "
                f"balanced accuracy at 0.5 {other['balanced_at_half']:.1f} instead of {row['balanced_at_half']:.1f}"
                for name, other in others.iterrows()
            ]
            sentences.append(f"**{task}**: what another prompt changes, on the same claims: {'; '.join(told)}.")
        if read["n"].any():
            known = [
                f"`{name}` {_interval(row, 'accuracy')} %, balanced {_interval(row, 'balanced_at_half')}, "
                f"AUC {row['auc']:.2f}"
                for name, row in read[read["n"] > 0].iterrows()
            ]
            sentences.append(f"**{task}**: on the same claims, of the replies on record: {'; '.join(known)}.")
        beside = [name for name in part.index[part["n"] > 0] if prompts.load(name).context == "document+extra"]
        if "presence" in task and beside:
            row = part.loc[beside[0]]
            sentences.append(
                f"**{task}**: with the source document in view the answer is Yes for {100 * row['yes']:.0f} % of the "
                f"claims, where {100 * row['supported']:.0f} % are present; accuracy {row['accuracy']:.1f} %."
            )
    return sentences


def _interval(row: pd.Series, name: str) -> str:
    return f"{row[name]:.1f} ({row[f'{name}_low']:.1f} to {row[f'{name}_high']:.1f})"
