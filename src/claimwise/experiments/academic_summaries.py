"""Cited summaries before and after critique and revision (Factored Verification sec. 3 and 4, Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from claimwise import prompts, text
from claimwise.analysis.easiness import rouge_l_f1
from claimwise.analysis.statistics import Interval, bootstrap_mean
from claimwise.corpora import Corpus
from claimwise.experiments.hallucinations import versions
from claimwise.metrics.factored import revise as refinement
from claimwise.models.base import Model
from claimwise.prompts.sources import separated
from claimwise.analysis.systems import answered

ORIGINAL, SELF_CRITIQUE = "original", "self-critique"

#: Who says which sentences are supported, where a corpus has labels.
PEOPLE = "people's labels"

#: A sentence still stands in a revision that has one at least this near to it (ROUGE-L F1).
STANDS = 0.8


def summaries(
    corpus: Corpus, writers: Mapping[str, Model], prompt: str, systems: Sequence[str], documents: int | None
) -> pd.DataFrame:
    """The test summaries to look at: the corpus's own, or where it has none, one by every writer.

    Args:
        corpus: examples; a document without a summary is several papers, and its question is in ``questions``.
        writers: models by name, asked where there is no summary (sec. 3.1).
        prompt: name of the summarising prompt (A.2).
        systems: only these systems; all, if empty.
        documents: only the first so many (by id) of the documents that all these systems summarised; all, if None.

    Returns:
        ``id, document_id, system, document, summary, answered``; replies that are no summary are not answered.

    Raises:
        ValueError: the corpus has no summaries by one of the systems.
    """
    examples = corpus.examples[corpus.examples["split"] == "test"]
    if (examples["summary"] == "").all():
        examples = _written(examples, corpus.questions, writers, prompt)
    if unknown := sorted(set(systems) - set(examples["system"])):
        there = ", ".join(sorted(examples["system"].unique()))
        raise ValueError(f"no test summaries by {', '.join(unknown)}; there are some by: {there}")
    if systems:
        examples = examples[examples["system"].isin(systems)]
    by_document = examples.groupby("document_id")["system"].nunique()
    common = sorted(by_document.index[by_document == examples["system"].nunique()])[:documents]
    examples = examples[examples["document_id"].isin(common)].sort_values(["document_id", "system"], ignore_index=True)
    columns = ["id", "document_id", "system", "document", "summary"]
    return examples[columns].assign(answered=examples["summary"].map(answered))


def _written(
    examples: pd.DataFrame, questions: Mapping[str, str], writers: Mapping[str, Model], prompt: str
) -> pd.DataFrame:
    frames = []
    for name, model in writers.items():
        sources = [separated(document) for document in examples["document"]]
        made = model.summarise(sources, [questions[key] for key in examples["id"]], prompts.load(prompt))
        written = [reply.text or "" for reply in made]
        frames.append(examples.assign(id=examples["id"] + f":{name}", system=name, summary=written))
    return pd.concat(frames, ignore_index=True)


def revisions(
    examples: pd.DataFrame,
    critic: Model,
    *,
    critique: str,
    revise: str,
    rounds: int,
    self_critique: str | None = None,
    revise_self: str | None = None,
) -> tuple[pd.DataFrame, pd.Series]:
    """Every summary's versions: the original, after each round of factored critiques, after one self-critique.

    Returns:
        What ``versions`` makes of them (a summary whose rounds ended keeps its result in the later ones), and how many
        summaries ended for which reason.
    """
    documents, texts = examples["document"].tolist(), examples["summary"].tolist()
    history = refinement.refine(critic, documents, texts, critique=critique, revise=revise, rounds=rounds)
    frames = [versions(examples, texts, ORIGINAL)]
    for number in range(1, rounds + 1):
        after = [[d.summary for d in drafts if d.round <= number][-1] for drafts in history]
        frames.append(versions(examples, after, round_name(number)))
    if self_critique and revise_self:
        done = refinement.self_critique(critic, documents, texts, critique=self_critique, revise=revise_self)
        frames.append(versions(examples, [summary for summary, _ in done], SELF_CRITIQUE))
    return pd.concat(frames, ignore_index=True), pd.Series([drafts[-1].stopped for drafts in history]).value_counts()


def round_name(number: int) -> str:
    """The name of the version after so many rounds."""
    return f"round {number}"


def originals(examples: pd.DataFrame) -> pd.DataFrame:
    """The summaries as they are, as versions."""
    return versions(examples, examples["summary"], ORIGINAL)


def standing_judge(corpus: Corpus, sentences: pd.DataFrame, judge: str) -> str:
    """Whose verdicts ``standing`` takes, in words for the findings."""
    return f"the critic's own verdicts (`{judge}`)" if _labelled(corpus, sentences).empty else PEOPLE


def _labelled(corpus: Corpus, sentences: pd.DataFrame) -> pd.DataFrame:
    labelled = corpus.gold_claims.dropna(subset=["label"]).rename(columns={"example_id": "id", "claim": "sentence"})
    return labelled[labelled["id"].isin(sentences["id"])]


def standing(corpus: Corpus, sentences: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The originals' sentences that ought to stay, and those that ought not: ``id, sentence``.

    By people's labels where the corpus has them, else by a judge's verdicts on the originals.
    """
    labelled = _labelled(corpus, sentences)
    if labelled.empty:
        labelled = sentences.dropna(subset=["hallucinated"]).assign(label=lambda rows: 1 - rows["hallucinated"])
    columns = ["id", "sentence"]
    return labelled.loc[labelled["label"] == 1, columns], labelled.loc[labelled["label"] == 0, columns]


def kept(table: pd.DataFrame, right: pd.DataFrame, wrong: pd.DataFrame) -> pd.DataFrame:
    """What each version kept of the original.

    Args:
        table: what ``revisions`` returned.
        right: the originals' sentences that ought to stay (``standing``).
        wrong: those that ought not.

    Returns:
        The table with ``rouge_l`` (F1 to the original), ``words``, ``changed``, ``supported_kept`` (share of the right
        sentences that still stand: one at least ``STANDS`` near, by ROUGE-L) and ``wrong_left`` (share of the wrong
        ones that stand word for word); NaN where a summary has none.
    """
    lines = [[span.text for span in text.sentences(summary)] for summary in table["summary"]]
    wanted = {kind: rows.groupby("id")["sentence"].agg(list).to_dict() for kind, rows in (("r", right), ("w", wrong))}
    stays = [
        _share([s in now or any(rouge_l_f1(s, line) >= STANDS for line in now) for s in wanted["r"].get(key, [])])
        for key, now in zip(table["id"], lines, strict=True)
    ]
    left = [_share([s in now for s in wanted["w"].get(key, [])]) for key, now in zip(table["id"], lines, strict=True)]
    return table.assign(
        rouge_l=[rouge_l_f1(r.original, r.summary) for r in table.itertuples()],
        words=table["summary"].map(text.word_count),
        changed=(table["summary"] != table["original"]).astype(float),
        supported_kept=stays,
        wrong_left=left,
    )


def _share(hits: Sequence[bool]) -> float:
    return float(np.mean(hits)) if hits else float("nan")


#: The measures of ``by_version``, besides the judges' hallucinations.
MEASURES = ("checked", "rouge_l", "words", "supported_kept", "wrong_left", "changed")


def by_version(judged: Mapping[str, pd.DataFrame], table: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """One row a version, over all systems.

    Args:
        judged: ``per_summary`` of the versions by each judge.
        table: what ``kept`` returned for the same versions.
        draws: bootstrap samples over documents.
        seed: of the draws.

    Returns:
        ``version, n`` and, by each judge j, ``j`` (hallucinations per summary) with ``j_low`` and ``j_high``; then the
        means of ``MEASURES``.
    """
    first = next(iter(judged.values()))
    results = []
    for version, part in table.groupby("version", sort=False):
        row: dict = {"version": version, "n": len(part)}
        for name, counted in judged.items():
            mine = counted[counted["version"] == version]
            interval = bootstrap_mean(mine["hallucinations"], mine["document_id"], draws, seed)
            row |= {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
        row["checked"] = first.loc[first["version"] == version, "checked"].mean()
        row |= {measure: part[measure].mean() for measure in MEASURES if measure != "checked"}
        results.append(row)
    return pd.DataFrame(results)


def change(counted: pd.DataFrame, version: str, draws: int, seed: int) -> Interval:
    """Mean change of hallucinations per summary from the original to a version, drawn over documents."""
    wide = counted.pivot_table(index=["id", "document_id"], columns="version", values="hallucinations").reset_index()
    return bootstrap_mean(wide[version] - wide[ORIGINAL], wide["document_id"], draws, seed)


def first(examples: pd.DataFrame, documents: int | None) -> pd.DataFrame:
    """The answered summaries of the first so many documents (by id); of all, if None."""
    chosen = sorted(examples["document_id"].unique())[:documents]
    return examples[examples["document_id"].isin(chosen) & examples["answered"]].reset_index(drop=True)
