"""How many sentences of a summary a verifier finds unsupported, and what its findings are worth (Factored Verification
sec. 3).

A summary's sentences are its claims; of papers only sentences with citations are checked, against the abstracts that
they cite (``claimwise.metrics.factored.revise.statements``). A sentence that cites a paper that is not among the sources counts as a
hallucination whatever a verifier says of the rest of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from claimwise import prompts
from claimwise.analysis.statistics import Interval, bootstrap_mean, bootstrap_ratio, resample
from claimwise.corpora import Corpus
from claimwise.errors import ClaimwiseError, near, shorten
from claimwise.metrics.factored import revise as refinement
from claimwise.metrics.factored.revise import Statement
from claimwise.metrics.verify import SUPPORTED, PromptedVerifier
from claimwise.models.base import Model, Verdict

#: What the authors found by hand of about 100 of GPT-4's verdicts (sec. 3.4).
PAPER_PRECISION = Interval(2 / 3, 2 / 3, 2 / 3)

#: By which precision reported hallucinations can be adjusted.
PRECISIONS = ("measured", "paper")

_BATCH = 64


def versions(examples: pd.DataFrame, texts: Sequence[str], version: str) -> pd.DataFrame:
    """The examples with other summaries: ``original`` keeps the first one, ``version`` names the new one."""
    return examples.assign(original=examples["summary"], summary=list(texts), version=version)


def judge(table: pd.DataFrame, model: Model, prompt: str) -> pd.DataFrame:
    """Every checked sentence of every version with the verifier's verdict.

    Args:
        table: what ``versions`` returned, one version or more.
        model: verifies.
        prompt: name of the verification prompt.

    Returns:
        ``id, document_id, system, version, sentence, support, reason, missing`` (papers cited that are not there),
        ``hallucinated`` (support below one half or something missing; missing where there is no verdict).
    """
    groups = [refinement.statements(r.document, r.summary, r.original) for r in table.itertuples()]
    found = _verdicts((s for group in groups for s in group if not s.missing), model, prompt)
    rows = []
    for row, group in zip(table.itertuples(), groups, strict=True):
        for statement in group:
            verdict = found.get((statement.document, statement.text))
            support, reason = (0.0, None) if verdict is None else (verdict.support, verdict.reason)
            wrong = float(support < SUPPORTED) if support == support else np.nan
            key = (row.id, row.document_id, row.system, row.version)
            rows.append((*key, statement.text, support, reason, len(statement.missing), wrong))
    columns = ["id", "document_id", "system", "version", "sentence", "support", "reason", "missing", "hallucinated"]
    return pd.DataFrame(rows, columns=columns)


def _verdicts(statements: Iterable[Statement], model: Model, prompt: str) -> dict[tuple[str, str], Verdict]:
    """Verdicts by document and text; what is stated twice is asked once, and a document's sentences together."""
    by_document: dict[str, dict[str, None]] = {}
    for statement in statements:
        by_document.setdefault(statement.document, {})[statement.text] = None
    documents = list(by_document)
    verifier = PromptedVerifier(model, prompts.load(prompt))
    found = {}
    for start in range(0, len(documents), _BATCH):
        part = documents[start : start + _BATCH]
        claims = [list(by_document[document]) for document in part]
        for document, group, verdicts in zip(part, claims, verifier.verify(part, claims), strict=True):
            found |= {(document, claim): verdict for claim, verdict in zip(group, verdicts, strict=True)}
    return found


class Reliability(NamedTuple):
    """What a verifier's findings are worth on labelled sentences: precision, recall, and how many there were.

    ``gain`` is the precision minus the share of unsupported sentences, the precision of flagging at random. All is of
    the ``n`` sentences with a verdict, ``flagged`` and really ``wrong`` ones among them; ``unread`` have none.
    """

    precision: Interval
    recall: Interval
    gain: Interval
    n: int
    flagged: int
    wrong: int
    unread: int


def reliability(corpus: Corpus, model: Model, prompt: str, draws: int, seed: int) -> Reliability:
    """Precision and recall of "unsupported" on the corpus's labelled validation sentences, drawn over documents.

    Sentences all of whose citations are missing are left out: no verdict is needed for them. So are those whose verdict
    could not be read, which is no wrong answer; they are counted.
    """
    gold = corpus.gold_claims.dropna(subset=["label"]).merge(
        corpus.examples[["id", "document_id", "split", "document"]], left_on="example_id", right_on="id"
    )
    gold = gold[gold["split"] == "validation"].assign(passage=lambda rows: rows["passage"].fillna(rows["document"]))
    gold = gold[gold["passage"] != ""]
    found = _verdicts((Statement(r.claim, r.passage) for r in gold.itertuples()), model, prompt)
    gold = gold.assign(support=[found[(r.passage, r.claim)].support for r in gold.itertuples()])
    read = gold.dropna(subset=["support"])
    wrong, flagged = (read["label"] == 0).to_numpy(), (read["support"] < SUPPORTED).to_numpy()
    documents = read["document_id"].to_numpy()
    return Reliability(
        bootstrap_mean(wrong[flagged], documents[flagged], draws, seed),
        bootstrap_mean(flagged[wrong], documents[wrong], draws, seed),
        _gain(wrong, flagged, documents, draws, seed),
        n=len(read),
        flagged=int(flagged.sum()),
        wrong=int(wrong.sum()),
        unread=len(gold) - len(read),
    )


def _gain(wrong: np.ndarray, flagged: np.ndarray, documents: np.ndarray, draws: int, seed: int) -> Interval:
    """Precision minus the share of unsupported sentences, both of the same drawn documents; NaN if nothing is flagged.

    >>> right = np.array([True, False, True, False])
    >>> _gain(right, right, np.array(list("aabb")), 10, 0)
    Interval(value=0.5, low=0.5, high=0.5)
    """
    counts = pd.DataFrame({"hits": wrong & flagged, "flagged": flagged, "wrong": wrong, "n": True}, dtype=float)
    sums = counts.groupby(documents).sum().to_numpy()

    def gain(totals: np.ndarray) -> np.ndarray:
        hits, flags, wrongs, n = np.moveaxis(totals, -1, 0)
        with np.errstate(invalid="ignore"):  # no finding has no precision
            return hits / flags - wrongs / n

    if not flagged.any():
        return Interval(np.nan, np.nan, np.nan)
    low, high = np.nanpercentile(gain(resample(len(sums), draws, seed) @ sums), [2.5, 97.5])
    return Interval(float(gain(sums.sum(axis=0))), float(low), float(high))


def scale(precision: str, one: Reliability) -> Interval:
    """By what the reported hallucinations are adjusted.

    Args:
        precision: ``measured`` on labelled sentences, or ``paper``: what its authors found of GPT-4.
        one: of the judge.

    Raises:
        ClaimwiseError: precision is something else.

    >>> half = Interval(0.5, 0.2, 0.8)
    >>> scale("measured", Reliability(half, half, half, n=40, flagged=10, wrong=12, unread=0))
    Interval(value=0.5, low=0.2, high=0.8)
    """
    if precision not in PRECISIONS:
        raise ClaimwiseError(
            f"academic_summaries.precision in params.yaml: expected {' or '.join(PRECISIONS)}, got {shorten(precision)}"
            f"{near(str(precision), PRECISIONS)}"
        )
    return one.precision if precision == "measured" else PAPER_PRECISION


def caveat(precision: str, one: Reliability, corpus: str) -> str:
    """What the precision of ``scale`` does not show.

    Args:
        precision: see there.
        one: of the judge.
        corpus: name of the one whose sentences are labelled.
    """
    if precision == "paper":
        return (
            "The numbers are adjusted by two thirds, what the paper's authors found of GPT-4's verdicts by hand: that says "
            f"nothing of this judge. Its own precision, on labelled validation sentences of `{corpus}`, is in the first table."
        )
    return (
        f"The precision is that on the labelled validation sentences of `{corpus}`, {one.wrong} of {one.n} of which are "
        "unsupported. Where fewer sentences are wrong it is lower: the adjusted numbers are then too high."
    )


def reliabilities(found: Mapping[str, Reliability]) -> pd.DataFrame:
    """``reliability`` of several judges as a table, the paper's estimate below."""
    rows = [
        {
            "judge": name,
            "sentences": one.n,
            "unread": one.unread,
            "unsupported": one.wrong,
            "flagged": one.flagged,
            **{
                "precision": one.precision.value,
                "precision_low": one.precision.low,
                "precision_high": one.precision.high,
            },
            **{"gain": one.gain.value, "gain_low": one.gain.low, "gain_high": one.gain.high},
            **{"recall": one.recall.value, "recall_low": one.recall.low, "recall_high": one.recall.high},
        }
        for name, one in found.items()
    ]
    rows.append({"judge": "GPT-4 (paper, by hand)", "precision": PAPER_PRECISION.value})
    return pd.DataFrame(rows).astype(dict.fromkeys(("sentences", "unread", "unsupported", "flagged"), "Int64"))


def findings(found: Mapping[str, Reliability]) -> list[str]:
    """What each judge's findings are worth, in words: beside those of flagging at random.

    >>> half = Interval(0.5, 0.2, 0.8)
    >>> findings({"j": Reliability(half, half, half, n=40, flagged=10, wrong=12, unread=0)})[0][:85]
    'Where people labelled the sentences, 50 % (20 to 80) of the 10 findings of `j` are ri'
    """
    sentences = []
    for name, one in found.items():
        if not one.n or one.precision.value != one.precision.value:
            continue
        random = one.wrong / one.n
        better = "better than chance" if one.gain.low > 0 else "not told apart from chance"
        gain = f"{100 * one.gain.value:+.0f} points, {100 * one.gain.low:+.0f} to {100 * one.gain.high:+.0f}"
        sentences.append(
            f"Where people labelled the sentences, {100 * one.precision.value:.0f} % "
            f"({100 * one.precision.low:.0f} to {100 * one.precision.high:.0f}) of the {one.flagged} findings of `{name}` are "
            f"right, where flagging at random has {100 * random:.0f} % ({gain} on the same drawn documents: {better}); it finds "
            f"{100 * one.recall.value:.0f} % of the unsupported ones."
        )
    return sentences


def per_summary(table: pd.DataFrame, sentences: pd.DataFrame) -> pd.DataFrame:
    """One row a version: ``checked`` sentences, ``hallucinations`` among them, ``missing`` (sentences that cite a paper
    that is not there), ``unread`` (without a verdict; a summary that has any has no number of hallucinations: those
    that were read would be too few)."""
    groups = sentences.groupby(["id", "version"])
    counted = pd.DataFrame(
        {
            "checked": groups.size(),
            "hallucinations": groups["hallucinated"].sum(),
            "missing": groups["missing"].agg(lambda column: int((column > 0).sum())),
            "unread": groups["hallucinated"].agg(lambda column: int(column.isna().sum())),
        }
    )
    frame = table.merge(counted, left_on=["id", "version"], right_index=True, how="left")
    frame = frame.fillna(dict.fromkeys(counted.columns, 0))
    return frame.assign(hallucinations=frame["hallucinations"].where(frame["unread"] == 0))


def with_any(hallucinations: pd.Series) -> pd.Series:
    """100 where a summary has any, 0 where it has none, NaN where that is not known: their mean is a percentage."""
    return 100.0 * (hallucinations > 0).where(hallucinations.notna())


def prevalence(counted: pd.DataFrame, precision: Interval, draws: int, seed: int) -> pd.DataFrame:
    """Hallucinations per summary, one row a system and version.

    Args:
        counted: what ``per_summary`` returned; replies that are no summary are left out.
        precision: of the judge; scales what it reports, but not citations of papers that are not there.
        draws: bootstrap samples over documents.
        seed: of the draws.

    Returns:
        ``system, version, n`` (summaries whose sentences all have a verdict), ``unanswered, checked`` (sentences a summary), ``reported`` hallucinations per summary,
        ``per_sentence`` (per checked sentence), ``with_any`` (percent of summaries), ``missing`` (per summary) and
        ``adjusted``, each of reported, per_sentence, with_any and adjusted with ``_low`` and ``_high``. The ends of ``adjusted`` are products of ends: a wide interval.
    """
    results = []
    for (system, version), every in counted.groupby(["system", "version"], sort=False):
        answered = every[every["answered"]]
        part = answered.dropna(subset=["hallucinations"])
        reported = bootstrap_mean(part["hallucinations"], part["document_id"], draws, seed)
        rate = bootstrap_ratio(part["hallucinations"], part["checked"], part["document_id"], draws, seed)
        share = bootstrap_mean(with_any(part["hallucinations"]), part["document_id"], draws, seed)
        missing = part["missing"].mean()
        row = {"system": system, "version": version, "n": len(part), "unanswered": len(every) - len(answered)}
        row["checked"] = part["checked"].mean()
        for name, interval in (("reported", reported), ("per_sentence", rate), ("with_any", share)):
            row |= {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
        row["missing"] = missing
        for end in ("value", "low", "high"):
            name = "adjusted" if end == "value" else f"adjusted_{end}"
            row[name] = missing + max(getattr(reported, end) - missing, 0) * getattr(precision, end)
        results.append(row | {"unread": int(answered["unread"].sum())})
    return pd.DataFrame(results)
