"""Scoring in one call, from a notebook or another program. It needs no project and no settings."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from claimwise import models, prompts
from claimwise.corpora.plain import has_words, plain
from claimwise.corpora.user import joined
from claimwise.errors import ClaimwiseError, check_score, near, shorten, warn
from claimwise.metrics import DEFAULT_METRICS, Evaluation, MetricSpec, check_part, evaluate, own_claims, specification
from claimwise.metrics.judge import WordOverlap
from claimwise.models.base import Model
from claimwise.models.cache import ResponseCache
from claimwise.user_file import decisions, output
from claimwise.user_file.warnings import warnings as doubts
from claimwise.user_settings import DEFAULT_MODEL, DEFAULT_MODELS

_UNWRITABLE = re.compile("[\ud800-\udfff\x00]")  # half a character, and what ends a string in many tools
_ENTRY = "{'kind': 'openai', 'base_url': ..., 'model': ...}"


#: A document, or one for each summary.
Documents = str | Iterable[str | list[str]]
#: A model's name, its kind and options, or a loaded model.
AnyModel = str | Mapping[str, Any] | Model


def score(
    document: Documents | pd.DataFrame,
    summary: str | Iterable[str] | None = None,
    metric: str = "acueval",
    model: AnyModel = DEFAULT_MODEL,
) -> float | list[float] | pd.DataFrame:
    """Score how faithful one or more summaries are to their documents.

    Several summaries show a progress bar on standard error. ``explain`` also returns the claims behind a score.

    Args:
        document: for one summary a text, or a list of texts that are read as one document (contexts, pages). For several
            summaries a text for all of them, or a list with a document for each, which may itself be a list of texts. Or a
            pandas data frame with the columns ``document`` and ``summary``; or a Dask data frame, which is scored lazily,
            partition by partition (docs/scale.md).
        summary: a text, or several (a list, a column of a data frame). None and NaN among several count as empty texts;
            so do missing documents.
        metric: one of ``metrics.DEFAULT_METRICS``.
        model: a name of ``DEFAULT_MODELS``; a kind and its options, for example ``{"kind": "openai", "model":
            "gpt-4.1-mini"}`` (docs/models.md); or a loaded model (``models.load``). Only a loaded model remembers what it was asked.

    Returns:
        A score in [0, 1] for one summary, a list of scores for several, and for a data frame the same frame with the
        further columns ``score``, ``n_claims``, ``n_unparsed`` and ``reason``. A summary without a score is NaN.

    Warns:
        UserWarning: a summary has no score or one of some claims only (with the reason), or the model may misread a text
            (HTML, a language other than English).

    Raises:
        ClaimwiseError: the metric or model is unknown, a document or summary is not a text, or their numbers differ.

    >>> score("The cat sat on the mat.", "The cat sat.", model="lexical")
    1.0
    >>> score(["The cat sat.", "It rained."], "It rained.", model="lexical")
    1.0
    >>> score("The cat sat on the mat.", ["The cat sat.", "The dog ran."], metric="word-overlap")
    [1.0, 0.3333333333333333]
    >>> rows = pd.DataFrame({"document": ["It rained."], "summary": ["It rained. Ann left."]})
    >>> score(rows, metric="sentences", model="lexical")[["score", "n_claims"]].values.tolist()
    [[0.5, 2.0]]
    """
    if summary is None and hasattr(document, "columns"):
        return _scored_frame(document, metric, model)
    found = _evaluated(document, summary, metric, model).evaluation.scores["score"].tolist()
    return found[0] if isinstance(summary, str) else found


#: What scoring adds to a data frame.
_ADDED = {"score": "float64", "n_claims": "int64", "n_unparsed": "int64", "reason": "object"}


def _scored_frame(frame: Any, metric: str, model: AnyModel) -> Any:
    lazy = hasattr(frame, "map_partitions")
    if not isinstance(frame, pd.DataFrame) and not lazy:
        raise ClaimwiseError(
            f"document: expected a data frame of pandas or Dask, got one of {type(frame).__module__.partition('.')[0]}; "
            "give its to_pandas()"
        )
    if lacking := [name for name in ("document", "summary") if name not in frame.columns]:
        raise ClaimwiseError(
            f"the data frame lacks the column {lacking[0]!r}; expected document and summary, got "
            f"{', '.join(map(str, frame.columns))}; rename yours, for example df.rename(columns={{'article': 'document'}})"
        )
    if twice := [name for name in _ADDED if name in frame.columns]:
        raise ClaimwiseError(
            f"column {twice[0]!r} would appear twice; rename it in the data frame, or give only the columns document and summary"
        )
    if not lazy:
        return _scored_part(frame, metric, model)
    if not isinstance(model, str | Mapping):
        raise ClaimwiseError("model: of a Dask frame name it, or give its kind and options: each worker loads its own")
    specification(metric, DEFAULT_METRICS)  # an unknown one is said now, not by a worker
    meta = frame._meta.assign(**{name: pd.Series(dtype=kind) for name, kind in _ADDED.items()})
    return frame.map_partitions(_scored_part, metric, model, meta=meta)


def _scored_part(frame: pd.DataFrame, metric: str, model: AnyModel) -> pd.DataFrame:
    scores = _evaluated(frame["document"], frame["summary"], metric, model).evaluation.scores
    return frame.assign(**{name: scores[name].astype(kind).to_numpy() for name, kind in _ADDED.items()})


@dataclass(frozen=True, eq=False)
class Explanation:
    """A summary's score and what it was made of.

    Attributes:
        score: in [0, 1]; NaN if there is none.
        verdict: ``faithful``, ``not faithful`` or ``not sure``. Empty without a score, and for any model but the embedded
            one, which alone has bounds.
        reason: why there is no score, or what it leaves out; usually None.
        claims: one row per claim, as ``check`` returns them; empty if the metric judges the whole summary.
    """

    score: float
    verdict: str
    reason: str | None
    claims: pd.DataFrame

    def __str__(self) -> str:
        found = "no score" if self.score != self.score else f"{self.score:.3f} {self.verdict}".rstrip()
        return "\n".join([f"{found} ({self.reason})" if self.reason else found, *output.spelled(self.claims)])

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks. Texts are escaped."""
        from claimwise.analysis.tables import show  # loads IPython, which is there in a notebook

        nearest = self.claims["evidence"].map(lambda sentences: "".join(sentences[:1]))
        shown = self.claims.assign(evidence=nearest).rename(columns={"evidence": "nearest in the document"})
        return show(shown.dropna(axis=1, how="all"), f"Score {str(self).splitlines()[0]}.", digits=2).data


def explain(
    document: str | Iterable[str], summary: str, metric: str = "acueval", model: AnyModel = DEFAULT_MODEL
) -> Explanation:
    """Score one summary, and show the claims behind its score.

    Args:
        document: a text, or several that are read as one (contexts).
        summary: one text; ``score`` takes several.
        metric: see ``score``.
        model: see ``score``.

    Raises:
        ClaimwiseError: see ``score``; or the summary is not a text.

    >>> found = explain("The cat sat on the mat.", "The cat sat. It rained.", model="lexical")
    >>> found.score, found.claims["verdict"].tolist()
    (0.5, ['supported', 'unsupported'])
    >>> print(found)
    0.500
      supported (1.00): The cat sat.
        nearest in the document: The cat sat on the mat.
      unsupported (0.00): It rained.
        nearest in the document: The cat sat on the mat.
    """
    if not isinstance(summary, str):
        raise ClaimwiseError(f"summary: expected one text, got {shorten(summary)}; `score` takes several")
    found = _evaluated(document, summary, metric, model)
    claims = found.claims()
    value, reason = found.evaluation.scores.loc[0, ["score", "reason"]]
    band = decisions.of_summaries(metric, found.spec, found.entry)
    [word] = decisions.verdicts(found.examples.assign(score=value), band, claims) if band else [""]
    return Explanation(float(value), word, reason, claims[_CLAIM_COLUMNS])


#: What users see of a claim.
_CLAIM_COLUMNS = ["claim", "support", "reason", "verdict", "evidence"]


class _Found(NamedTuple):
    """An evaluation, its examples, its metric, and its model's entry (empty if it is not one of ``DEFAULT_MODELS``)."""

    evaluation: Evaluation
    examples: pd.DataFrame
    spec: MetricSpec
    entry: Mapping[str, Any]

    def claims(self) -> pd.DataFrame:
        return output.claim_table(self.evaluation, self.examples, decisions.of_claims(self.spec, self.entry))


def _evaluated(
    document: Documents,
    summary: str | Iterable[str],
    metric: str,
    model: AnyModel,
    claims: Sequence[str] | None = None,
) -> _Found:
    """Evaluate a metric on texts; if ``claims`` of the one summary are given, it is not decomposed."""
    given = _texts("summary", summary)
    summaries = given if claims is not None else [plain(one) if isinstance(one, str) else one for one in given]
    if isinstance(summary, str) or isinstance(document, str):
        text = joined(_texts("document", document))
        if not isinstance(text, str):
            raise ClaimwiseError(
                f"document: expected a text, or a list of texts that are read as one, got {shorten(document)}"
            )
        documents = [text] * len(summaries)
    else:
        documents = [joined(text) for text in _texts("document", document)]
    if len(documents) != len(summaries):
        raise ClaimwiseError(
            f"as many documents as summaries are expected, got {len(documents)} and {len(summaries)}; several texts that "
            "one summary was made of (contexts) are a list in the list: [[first, second]]"
        )
    for name, texts in (("document", documents), ("summary" if claims is None else "claims", claims or summaries)):
        if broken := [text for text in texts if isinstance(text, str) and _UNWRITABLE.search(text)]:
            raise ClaimwiseError(
                f"{name}: half a character (a lone surrogate) or a NUL byte stands in {shorten(broken[0])}"
            )
    ids = [str(number) for number in range(1, len(summaries) + 1)]
    examples = pd.DataFrame({"id": ids, "document": documents, "summary": summaries}, dtype=object)
    spec = specification(metric, DEFAULT_METRICS)
    if claims is not None:
        spec = own_claims(metric, spec)
        examples["claims"] = [claims]
    given = DEFAULT_MODELS.get(model, {}) if isinstance(model, str) else model
    if isinstance(given, Mapping):
        check_part(metric, spec, given)
    engine = _model(model)
    if isinstance(given, Mapping):  # loaded once, it forgets what other calls and partitions asked
        engine = models.loaded_with(given, ResponseCache(":memory:"))
    entry = DEFAULT_MODELS.get(engine.name, {})  # of a default model, however it was given
    found = evaluate(metric, spec, engine, examples, progress=len(examples) > 1)
    unscored = found.scores["score"].isna()
    for of, what in ((unscored, "without a score"), (~unscored & (claims is None), "scored, but")):
        if reasons := found.scores.loc[of, "reason"].dropna().tolist():
            found_reasons = "; ".join(f"{times} x {reason}" for reason, times in Counter(reasons).most_common())
            warn(f"{len(reasons)} of {len(unscored)} {what}: {found_reasons}")
    if spec.judge != WordOverlap.name:
        for doubt in doubts(entry.get("kind", ""), examples, ()):
            warn(doubt)
    return _Found(found, examples, spec, entry)


def check(
    document: str | Iterable[str],
    claims: str | Iterable[str],
    metric: str = "acueval",
    model: AnyModel = DEFAULT_MODEL,
) -> pd.DataFrame:
    """Verify your own claims against a document, without decomposing anything.

    Args:
        document: a text, or several that are read as one (contexts).
        claims: a text, or several.
        metric: its verification prompt is used. It must be a metric that verifies claims.
        model: see ``score``.

    Returns:
        One row per claim, in order: ``claim``; ``support`` in [0, 1] (NaN with a ``reason``); ``verdict`` (``supported``,
        ``unsupported``, ``not sure`` if the embedded model cannot tell, or empty); and ``evidence``, the nearest of the
        sentences that the claim was checked against, best first.

    Raises:
        ClaimwiseError: the metric or model is unknown, the metric verifies no claims, or a claim is not a text.

    >>> found = check("It rained in Rome. Ann slept.", ["It rained.", "The sun shone."], model="lexical")
    >>> found[["claim", "verdict", "evidence"]].values.tolist()
    [['It rained.', 'supported', ['It rained in Rome.']], ['The sun shone.', 'unsupported', ['It rained in Rome.']]]
    """
    texts = _texts("claims", claims)
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise ClaimwiseError(f"claims: expected a text or several, got {shorten(wrong[0])}")
    if not texts:
        return pd.DataFrame(columns=_CLAIM_COLUMNS)
    claims = [claim if has_words(claim) else "" for claim in texts]
    found = _evaluated(document, "\n".join(claims), metric, model, claims).claims()
    return found[_CLAIM_COLUMNS].assign(claim=texts)


class Metric:
    """A metric with the interface of Hugging Face's ``evaluate``: ``compute(predictions=..., references=...)``.

    >>> metric = Metric("word-overlap")
    >>> metric.add(prediction="The cat sat.", reference="The cat sat on the mat.")
    >>> metric.compute(predictions=["It snowed."], references=["It rained."])
    {'word-overlap': 0.75, 'scores': [1.0, 0.5]}
    """

    def __init__(self, metric: str = "acueval", model: AnyModel = DEFAULT_MODEL):
        specification(metric, DEFAULT_METRICS)  # an unknown one is said now, not after a training step
        self._metric, self._model = metric, _model(model)
        self._predictions: list[str] = []
        self._references: list[str | list[str]] = []

    def add(self, *, prediction: str, reference: str | list[str]) -> None:
        """Add a summary and its document for the next ``compute``."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Iterable[str], references: Iterable[str | list[str]]) -> None:
        """Add summaries, and the document of each, for the next ``compute``."""
        summaries, documents = _texts("predictions", predictions), _texts("references", references)
        if len(summaries) != len(documents):
            raise ClaimwiseError(
                f"as many references as predictions are expected, got {len(documents)} and {len(summaries)}"
            )
        self._predictions += summaries
        self._references += documents

    def compute(self, *, predictions: Iterable[str] = (), references: Iterable[str | list[str]] = ()) -> dict[str, Any]:
        """Score what was added and forget it: the mean is under the metric's name, each summary's score under ``scores``.

        Raises:
            ClaimwiseError: see ``score``; or there is nothing to score.
        """
        self.add_batch(predictions=predictions, references=references)
        summaries, documents = self._predictions, self._references
        self._predictions, self._references = [], []
        if not summaries:
            raise ClaimwiseError("nothing to compute: give predictions and references here, or add_batch before")
        scores = score(documents, summaries, self._metric, self._model)
        return {self._metric: float(pd.Series(scores, dtype=float).mean()), "scores": scores}


def verdict(score: float | Iterable[float], metric: str = "acueval") -> str | list[str]:
    """Say what a score of the embedded model means: ``faithful``, ``not faithful`` or ``not sure``; of several, a list.

    NaN gives an empty text. The bounds were fitted on public validation rows (``tools/bands.py``). Other kinds of text
    need a threshold that is tuned on labels of their own.

    Raises:
        ClaimwiseError: the metric has no bounds, or a score is not a number from 0 to 1.

    >>> verdict(0.95), verdict([0.57, 0.1])
    ('faithful', ['not sure', 'not faithful'])
    """
    band = decisions.of_summaries(metric, specification(metric, DEFAULT_METRICS), DEFAULT_MODELS[DEFAULT_MODEL])
    if band is None:
        raise ClaimwiseError(f"metric {metric!r}: no bounds are known; tune a threshold on labelled rows of your own")
    several = isinstance(score, Iterable) and not isinstance(score, str)
    try:
        scores = pd.to_numeric(pd.Series(list(score) if several else [score], dtype=object)).astype(float)
        found = [band.word(score, decisions.YES, decisions.NO) for score in scores]
    except (TypeError, ValueError):
        raise ClaimwiseError(f"score: expected a number or several, got {shorten(score)}") from None
    for value in scores.dropna():
        check_score("score", value)
    return found if several else found[0]


def _texts(name: str, given: str | Iterable[str]) -> list:
    """One or more texts as a list; a missing one is an empty text, as in a file."""
    if isinstance(given, str):
        return [given]
    single = bytes | Mapping | pd.DataFrame
    if isinstance(given, Iterable) and not isinstance(given, single) and getattr(given, "ndim", 1):
        return ["" if pd.api.types.is_scalar(text) and pd.isna(text) else text for text in given]
    found = "a whole data frame; name the column" if isinstance(given, pd.DataFrame) else shorten(given)
    raise ClaimwiseError(f"{name}: expected a text or several (a list, a column of a data frame), got {found}")


def _model(model: AnyModel) -> Model:
    if isinstance(model, Mapping):
        return models.loaded(model)
    if isinstance(model, str):
        if model in DEFAULT_MODELS:
            return models.loaded(DEFAULT_MODELS[model])
        raise models.ModelError(
            f"unknown model {model!r}{near(model, DEFAULT_MODELS) or ';'} there are: {', '.join(DEFAULT_MODELS)}; for another "
            f"give its kind and options: model={_ENTRY}"
        )
    if not any(callable(getattr(model, role, None)) for role in prompts.ROLES):
        raise ClaimwiseError(
            f"model: expected a name ({', '.join(DEFAULT_MODELS)}), a mapping {_ENTRY}, or what "
            f"models.load made of one, got {shorten(model)}"
        )
    return model
