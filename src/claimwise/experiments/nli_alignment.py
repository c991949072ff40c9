"""What each part of FENICE's alignment brings (FENICE Tables 2 to 5 and 8), from labelled and rated corpora."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import stats

from claimwise import metrics, text
from claimwise.analysis import agreement as correlation
from claimwise.analysis import significance, statistics
from claimwise.corpora import Corpus
from claimwise.experiments import meta_evaluation
from claimwise.metrics import Evaluation, MetricSpec, claims
from claimwise.metrics.fenice.alignment import AlignmentSettings
from claimwise.metrics.judge import WordOverlap
from claimwise.models.base import Model
from claimwise.progress import bar

#: The rows of FENICE's Table 4, each adding one part to the one before.
SENTENCES, CLAIMS, COREFERENCE, FULL = "sentences", "claims", "claims + coref", "full"
STEPS = (SENTENCES, CLAIMS, COREFERENCE, FULL)
LEVELS = ("sentence", "coreference", "window", "document")

#: Summaries that all rows read before the next ones.
BLOCK = 128

#: FENICE's own prompt, for corpora without claims on record.
PROMPTED = "fenice-decompose-json"

#: The row of FENICE's Table 2 that reads the same claims as ours on record.
TABLE_2 = "FENICE (T5 claims)"

_STEP = ("step", "step_p", "auc_step", "auc_step_p")
_ALWAYS = 2.0  # a gate that no NLIScore reaches


def ablation(spec: MetricSpec, backbones: Mapping[str, Mapping] | None = None) -> dict[str, MetricSpec]:
    """The metric without its parts, by the name of the row (FENICE Table 4), and with other NLI models (Table 8).

    Args:
        spec: the full metric, ``verify: alignment``.
        backbones: further ``entailment`` settings, by name.
    """
    settings = spec.alignment or AlignmentSettings()
    plain = settings.model_copy(update={"coreference": None, "window": None})
    rows = {
        SENTENCES: spec.model_copy(update={"decompose": claims.Sentences.name, "alignment": plain}),
        CLAIMS: spec.model_copy(update={"alignment": plain}),
        COREFERENCE: spec.model_copy(update={"alignment": settings.model_copy(update={"window": None})}),
        FULL: spec,
    }
    for name, entry in (backbones or {}).items():
        other = settings.model_copy(update={"entailment": dict(entry)})
        rows[f"{FULL}, {name}"] = spec.model_copy(update={"alignment": other})
    return rows


def cut(corpus: Corpus, documents: int | Mapping[str, int | None] | None) -> Corpus:
    """The corpus with the first so many documents by id, of all or of each split that is named; None keeps all.

    A threshold needs fewer documents than an interval: validation documents are the ones to save.
    """
    if not isinstance(documents, Mapping):
        return corpus.first(documents)
    kept = corpus.examples["split"].map(lambda split: split not in documents)
    for split, count in documents.items():
        part = replace(corpus, examples=corpus.examples[corpus.examples["split"] == split]).first(count)
        kept |= corpus.examples["id"].isin(part.examples["id"])
    return replace(corpus, examples=corpus.examples[kept].reset_index(drop=True))


def run(corpus: Corpus, specs: Mapping[str, MetricSpec], model: Model) -> dict[str, Evaluation]:
    """Every row's evaluation; what two rows have in common is read once.

    All rows go through one block of documents before the next, so that sentences are still encoded when the next
    row asks for them; whole premises are in the response cache.
    """
    examples = corpus.examples.sort_values("document_id", kind="stable")
    steps = bar(len(examples) * len(specs), "alignment", "summary")
    parts: dict[str, list[Evaluation]] = {name: [] for name in specs}
    for start in range(0, len(examples), BLOCK):
        block = examples.iloc[start : start + BLOCK]
        for name, spec in specs.items():
            found = metrics.evaluate(name, spec, model, block, recorded=corpus.recorded_claims, progress=False)
            parts[name].append(found)
            steps.update(len(block))
    steps.close()
    return {name: Evaluation.joined(found, corpus.examples["id"]) for name, found in parts.items()}


def table(corpus: Corpus, runs: Mapping[str, Evaluation], by_origin: bool, draws: int, seed: int) -> pd.DataFrame:
    """One row a group and variant, as ``meta_evaluation.table``, with the step from the row above.

    Returns:
        Its columns, ``step`` (points of balanced accuracy more than the row above) with its two-sided ``step_p``, for
        which both rows' thresholds are tuned anew on each draw, and ``auc_step`` with ``auc_step_p``, for which none is
        asked.
        Without the labels or scores that thresholds need, rows have no numbers and ``n`` is 0.
    """
    rows = meta_evaluation.collect(corpus, {name: run.scores for name, run in runs.items()}, by_origin)
    names = meta_evaluation.columns(rows)
    if rows.empty:
        unlabelled = pd.DataFrame({"group": "all", "metric": names, "n": 0, "unscored": 0})
        return unlabelled.reindex(columns=[*meta_evaluation.COLUMNS, *_STEP])
    result = meta_evaluation.table(rows, names, SENTENCES, draws, seed)
    steps = []
    for group, part in result.groupby("group", sort=False):
        known = part.loc[part["n"] > 0, "metric"].tolist()
        scored = rows[rows["group"] == group].dropna(subset=known)
        validation, test = (scored[scored["split"] == split] for split in ("validation", "test"))
        for before, after in pairwise(STEPS):
            if not {before, after} <= set(known):
                continue  # a row without a threshold has no step, nor has the one below it
            difference, p = significance.paired_tuned(validation, test, after, before, seed=seed)
            area, area_p = significance.paired_auc(test, after, before, seed=seed)
            steps.append((group, after, 100 * difference.value, p, area.value, area_p))
    added = pd.DataFrame(steps, columns=["group", "metric", *_STEP])
    return result.merge(added, on=["group", "metric"], how="left")


def corrected(rows: pd.DataFrame) -> pd.DataFrame:
    """Adds p-values corrected for the table (every corpus and group): ``step_p_holm`` and ``auc_step_p_holm`` for all steps,
    and ``whole_p_holm`` and ``auc_whole_p_holm`` for ``p`` and ``auc_p`` of ``full`` against ``sentences``, which ask
    whether all parts together help."""
    whole = rows["metric"] == FULL
    return rows.assign(
        step_p_holm=significance.holm(rows["step_p"]),
        auc_step_p_holm=significance.holm(rows["auc_step_p"]),
        whole_p_holm=significance.holm(rows["p"].where(whole)),
        auc_whole_p_holm=significance.holm(rows["auc_p"].where(whole)),
    )


def with_published(ours: pd.DataFrame, ablated: pd.DataFrame, benchmarks: pd.DataFrame) -> pd.DataFrame:
    """Adds ``published``, the paper's balanced accuracy for the row.

    Args:
        ours: rows with ``corpus``, ``group`` and ``metric``.
        ablated: FENICE's Table 4, which has the steps on FtSota.
        benchmarks: its Table 2, which has the whole metric on other parts of AggreFact, too: of it FENICE with T5 claims
            stands beside ``full`` where Table 4 has nothing. Its thresholds are others than ours: AggreFact's code, whose
            rows it repeats, tunes one for each source data set of a group and averages their balanced accuracies.
    """
    values = ablated.set_index(["corpus", "origin", "row"])["value"]
    whole = benchmarks[benchmarks["row"] == TABLE_2].set_index(["corpus", "origin"])["value"]
    found = [
        values.get((corpus, group, name), whole.get((corpus, group), np.nan) if name == FULL else np.nan)
        for corpus, group, name in zip(ours["corpus"], ours["group"], ours["metric"], strict=True)
    ]
    return ours.assign(published=found)


def sensitivity(
    corpus: Corpus,
    spec: MetricSpec,
    model: Model,
    windows: Sequence[int],
    gates: Sequence[float],
    documents: int | None,
    draws: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """AUC on the validation split for every window size j and gate T; the paper tuned j = 5 and T = 0.8 there.

    Args:
        corpus: labelled examples.
        spec: the full metric.
        model: plays the roles.
        windows: values of j.
        gates: values of T, on the scale of NLIScore.
        documents: read the first so many documents, by id; None for all.
        draws: bootstrap samples of documents, for the intervals.
        seed: of the draws.

    Returns:
        ``window, gate, auc`` (pairs of one origin) with ``low`` and ``high`` (95 %) and ``gated`` (share of claims that the wider levels are
        read for), with ``n`` summaries; no rows where no validation summary has a label.
    """
    columns = ["window", "gate", "auc", "low", "high", "gated", "n"]
    examples = corpus.examples.dropna(subset=["label"])
    examples = examples[examples["split"] == "validation"]
    if documents is not None:
        examples = examples[examples["document_id"].isin(sorted(examples["document_id"].unique())[:documents])]
    if examples.empty:
        return pd.DataFrame(columns=columns)
    examples = examples.reset_index(drop=True)
    settings = spec.alignment or AlignmentSettings()

    def scores(**update) -> pd.DataFrame:
        changed = spec.model_copy(update={"alignment": settings.model_copy(update=update)})
        found = metrics.evaluate(FULL, changed, model, examples, recorded=corpus.recorded_claims).verdicts
        return found.assign(score=2 * found["support"] - 1)

    narrow = scores(window=None)
    known = examples.set_index("id")[["label", "document_id", "origin"]]
    rows = []
    for window in windows:
        wide = scores(window=window, gate=_ALWAYS)  # the larger of both for every claim; a gate only chooses
        for gate in gates:
            gated = narrow["score"] < gate
            chosen = narrow["score"].where(~gated, wide["score"]).groupby(narrow["example_id"]).mean().dropna()
            labels, groups, origins = known.loc[chosen.index].to_numpy().T
            area = statistics.bootstrap_auc(labels, chosen, groups, draws, seed, origins)
            rows.append((window, gate, *area, gated.mean(), len(chosen)))
    return pd.DataFrame(rows, columns=columns)


def granularity(corpus: Corpus, full: Evaluation) -> pd.DataFrame:
    """At which level claims find their best premise: ``label, level, share`` (of the label's claims) and ``score``.

    ``score`` is the mean NLIScore of these claims, ``n`` their number; without labels all claims are one group.
    """
    labels = corpus.examples.set_index("id")["label"].map({1.0: "faithful", 0.0: "not faithful"}).fillna("unlabelled")
    rows = full.verdicts.dropna(subset=["support"])
    rows = rows.assign(label=rows["example_id"].map(labels), score=2 * rows["support"] - 1)
    found = rows.groupby(["label", "level"])["score"].agg(["size", "mean"]).reset_index()
    found["share"] = found["size"] / found.groupby("label")["size"].transform("sum")
    found["level"] = pd.Categorical(found["level"], LEVELS, ordered=True)
    found = found.sort_values(["label", "level"]).astype({"level": str})
    return found.rename(columns={"size": "n", "mean": "score"})[["label", "level", "n", "share", "score"]]


def rated(corpus: Corpus, runs: Mapping[str, Evaluation], draws: int, seed: int) -> pd.DataFrame:
    """Correlation with people's mean ratings, for the long documents (FENICE section 4.4 has labels we do not have).

    Returns:
        On the summaries that every metric scored ``metric, n`` (summaries), ``sentences`` (mean of a document), Spearman's
        ``spearman`` with ``low`` and ``high`` (95 %, bootstrap over documents), its ``difference`` to word overlap with
        ``_low`` and ``_high`` (the same draws for both) and Kendall's ``kendall`` (tau-b).
    """
    human = corpus.scores.set_index("example_id")["score"]
    lengths = corpus.examples["document"].drop_duplicates().map(lambda document: len(text.sentences(document)))
    scores = {name: evaluation.scores["score"].to_numpy() for name, evaluation in runs.items()}
    frame = pd.DataFrame({**scores, "human": corpus.examples["id"].map(human).to_numpy()})
    frame = frame.set_index(pd.Index(corpus.examples["document_id"])).dropna()
    value, drawn = correlation.spearman(frame.to_numpy()), correlation.spearman_draws(frame, draws, seed)
    rows = []
    for k, name in enumerate(runs):
        low, high = np.nanpercentile(drawn[:, k], [2.5, 97.5])
        kendall = float(stats.kendalltau(frame[name], frame["human"]).statistic)
        row = {"metric": name, "n": len(frame), "sentences": lengths.mean()}
        row |= {"spearman": value[k], "low": low, "high": high}
        if WordOverlap.name in runs and name != WordOverlap.name:
            base = list(runs).index(WordOverlap.name)
            low, high = np.nanpercentile(drawn[:, k] - drawn[:, base], [2.5, 97.5])
            row |= {"difference": value[k] - value[base], "difference_low": low, "difference_high": high}
        rows.append(row | {"kendall": kendall})
    columns = ["metric", "n", "sentences", "spearman", "low", "high"]
    return pd.DataFrame(rows, columns=[*columns, "difference", "difference_low", "difference_high", "kendall"])


def long_form(specs: Mapping[str, MetricSpec], candidates: int | None) -> dict[str, MetricSpec]:
    """The rows that are also run on long documents: the single sentence and everything, and word overlap beside them.

    Args:
        specs: see ``ablation``.
        candidates: sentences and windows that a claim is aligned with, see ``AlignmentSettings``; None for all.

    Returns:
        Both rows and the baseline; where claims are on record, the model makes them instead: nobody's are for these
        documents.
    """
    rows = {WordOverlap.name: MetricSpec(judge=WordOverlap.name)}
    for name in (CLAIMS, FULL):
        spec = specs[name]
        settings = (spec.alignment or AlignmentSettings()).model_copy(update={"candidates": candidates})
        made = spec.decompose.startswith("recorded:")
        changed = {"alignment": settings, "decompose": PROMPTED if made else spec.decompose}
        rows[name] = spec.model_copy(update=changed)
    return rows
