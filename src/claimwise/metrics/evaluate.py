"""A metric is decomposer x verifier x aggregator, or a holistic judge; ``evaluate`` runs it over examples.

ACUEval is LLM claims x p(Yes) x mean; Factored Verification is LLM claims x p(Yes) x product; the same flow
with sentences for claims, or with recorded claims, gives their ablations.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from claimwise import paths, prompts, schema
from claimwise.errors import ClaimwiseError, finding, near, shorten
from claimwise.metrics import claims
from claimwise.metrics import judge as holistic
from claimwise.metrics import verify as verification
from claimwise.metrics.fenice.alignment import NO_PROBABILITY, AlignedVerdict, Aligner, AlignmentSettings
from claimwise.models import cost
from claimwise.models.base import Decomposition, Model, Verdict
from claimwise.models.cost import Estimate
from claimwise.models.language import PromptedModel, dry_run
from claimwise.progress import batches
from claimwise.reasons import NOT_ASKED, Reason

_ACUS = {"decompose": "acueval-decompose-5shot", "verify": "acueval-verify-zeroshot"}
#: The metrics without a params.yaml. A test keeps them equal to those in params.yaml.
DEFAULT_METRICS: dict[str, dict[str, str]] = {
    "acueval": _ACUS | {"aggregate": "mean"},
    "factored": _ACUS | {"aggregate": "product"},
    "sentences": {"decompose": "sentences", "verify": "acueval-verify-zeroshot", "aggregate": "mean"},
    "weakest": {"decompose": "sentences", "verify": "acueval-verify-zeroshot", "aggregate": "min"},
    "nli": _ACUS | {"aggregate": "nli"},
    "fenice": {"decompose": "fenice-decompose-json", "verify": "alignment", "aggregate": "mean"},
    "fenice-t5": {"decompose": "recorded:fenice-t5", "verify": "alignment", "aggregate": "mean"},
    "holistic": {"judge": "belugaeval-judge-consistency"},
    "word-overlap": {"judge": "word-overlap"},
}

#: Further columns of aligned verdicts: the best premise, where it is, and the three probabilities behind support.
ALIGNMENT_COLUMNS = ("level", "premise", "premise_start", "premise_end", "p_entail", "p_neutral", "p_contradict")


class MetricError(ClaimwiseError):
    """There is no metric of that name, or its definition in the settings is wrong."""


class MetricSpec(BaseModel):
    """A metric's entry in params.yaml: either ``judge``, or ``decompose``, ``verify`` and ``aggregate``.

    ``verify`` is a prompt, or ``alignment`` (FENICE), whose settings are in ``alignment``. ``model`` is an entry of
    ``models`` that replaces the run's model, so that one table can compare models.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    judge: str | None = None
    decompose: str | None = None
    verify: str | None = None
    aggregate: Literal["mean", "product", "geometric", "min", "all", "nli"] = "mean"
    alignment: AlignmentSettings | None = None
    model: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> MetricSpec:
        parts = (self.decompose is not None, self.verify is not None)
        if not all(parts) if self.judge is None else any(parts):
            raise ValueError("give either `judge`, or both `decompose` and `verify`")
        if self.alignment and self.verify != Aligner.name:
            raise ValueError("`alignment` goes with `verify: alignment`")
        return self

    @property
    def prompt_names(self) -> dict[prompts.Role, str]:
        """The names of the metric's prompts, by role.

        >>> MetricSpec(decompose="sentences", verify="acueval-verify-zeroshot").prompt_names
        {'verify': 'acueval-verify-zeroshot'}
        """
        others = {"judge": [holistic.WordOverlap.name], "decompose": claims.DIVISIONS, "verify": [Aligner.name]}
        named = {role: getattr(self, role) for role in others}
        return {
            role: name
            for role, name in named.items()
            if name is not None and name not in others[role] and not claims.on_record(name)
        }


@dataclass(frozen=True)
class Evaluation:
    """A metric's claims, verdicts (both empty for a judge) and scores of an examples table."""

    claims: pd.DataFrame
    verdicts: pd.DataFrame
    scores: pd.DataFrame

    @classmethod
    def read(cls, folder: Path) -> Evaluation:
        """Read the tables that ``write`` wrote.

        Raises:
            FileNotFoundError: a table is missing; the message says how to make it.
        """
        tables = []
        for name in ("claims", "verdicts", "scores"):
            path = folder / f"{name}.parquet"
            if not path.is_file():
                raise FileNotFoundError(
                    f"{path} is not there; `make repro` (or `dvc repro`) makes it: run it once first"
                )
            # Spans are integers also where some are missing.
            table = pd.read_parquet(path, to_pandas_kwargs={"integer_object_nulls": True})
            tables.append(schema.validate(table, name, str(path)))
        return cls(*tables)

    def judged_claims(self) -> pd.DataFrame:
        """Every claim with its verdict, one row per claim."""
        return self.claims.merge(self.verdicts, on=["example_id", "claim_index"])

    @classmethod
    def joined(cls, parts: Sequence[Evaluation], ids: Sequence[str]) -> Evaluation:
        """Join evaluations of disjoint examples into one, with rows in the order of ``ids``."""
        place = {key: i for i, key in enumerate(ids)}

        def table(name: str) -> pd.DataFrame:
            rows = pd.concat(
                [getattr(part, name) for part in parts if len(getattr(part, name))] or [getattr(parts[0], name)]
            )
            return rows.sort_values(
                "example_id", kind="stable", key=lambda column: column.map(place), ignore_index=True
            )

        return cls(table("claims"), table("verdicts"), table("scores"))

    def write(self, folder: Path, record: Mapping[str, Any] | None = None) -> None:
        """Write the tables as parquet, and the record of what made them, if given, as ``run.json``.

        The folder is never half written, even if the process is killed (``paths.replaced``).
        """
        with paths.replaced(folder) as new:
            for name in ("claims", "verdicts", "scores"):
                getattr(self, name).to_parquet(new / f"{name}.parquet", index=False)
            if record is not None:
                (new / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def specification(name: str, metrics: Mapping[str, Mapping]) -> MetricSpec:
    """The named metric's specification.

    Raises:
        MetricError: the name is unknown (with a suggestion) or the entry malformed.

    >>> specification("acuevel", {"acueval": {}})
    Traceback (most recent call last):
    ...
    claimwise.metrics.evaluate.MetricError: unknown metric 'acuevel'; did you mean 'acueval'? There are: acueval
    """
    if not isinstance(name, str) or name not in metrics:
        if isinstance(name, list | tuple) or (isinstance(name, str) and "," in name):
            raise MetricError(f"metric {shorten(name)}: one run scores one metric; run it again for the others")
        name = name if isinstance(name, str) else shorten(name)
        known = [one for one, entry in metrics.items() if not claims.on_record(entry.get("decompose"))]
        raise MetricError(f"unknown metric {name!r}{near(name, metrics) or '.'} There are: {', '.join(known)}")
    try:
        return MetricSpec.model_validate(metrics[name])
    except ValidationError as error:
        known = [*MetricSpec.model_fields, *AlignmentSettings.model_fields]
        where = "; ".join(finding(".".join(map(str, found["loc"])) or name, found, known) for found in error.errors())
        raise MetricError(f"metric {name!r} in the settings: {where}") from None


def in_words(spec: MetricSpec) -> str:
    """Describe a metric in one line, with its prompts by name.

    >>> in_words(MetricSpec(decompose="sentences", verify="acueval-verify-zeroshot", aggregate="min"))
    'min of the sentences, verified by acueval-verify-zeroshot'
    >>> in_words(MetricSpec(decompose="sentences", verify="acueval-verify-zeroshot", aggregate="nli"))
    'mean NLIScore of the sentences, verified by acueval-verify-zeroshot'
    >>> in_words(MetricSpec(judge="belugaeval-judge-consistency", model="gpt"))
    'the whole summary, judged by belugaeval-judge-consistency; model gpt'
    """
    if spec.judge == holistic.WordOverlap.name:
        does = "share of the summary's words that the document has"
    elif spec.judge:
        does = f"the whole summary, judged by {spec.judge}"
    else:
        several = "the sentences" if spec.decompose == "sentences" else f"claims by {spec.decompose}"
        combined = "mean NLIScore" if spec.aggregate == "nli" else spec.aggregate
        of = "the summary as one claim" if spec.decompose == "summary" else f"{combined} of {several}"
        set_so = spec.alignment.model_dump(exclude_unset=True) if spec.alignment else {}
        given = "".join(f", {name} {value}" for name, value in set_so.items())
        how = (
            f"aligned with the document by NLI{given}" if spec.verify == Aligner.name else f"verified by {spec.verify}"
        )
        does = f"{of}, {how}{'; needs claims on record' if claims.on_record(spec.decompose) else ''}"
    return f"{does}; model {spec.model}" if spec.model else does


def check_part(name: str, spec: MetricSpec, entry: Mapping[str, Any]) -> None:
    """Refuse a model that would have no part in the scores of a metric.

    Args:
        name: the metric's name.
        spec: the metric's specification.
        entry: the model's entry of ``models``, its kind and options.

    Raises:
        MetricError: the metric aligns claims with an NLI model of its own (FENICE), and the model only verifies.

    >>> check_part("fenice", specification("fenice", DEFAULT_METRICS), {"kind": "lexical"})
    """
    if spec.verify == Aligner.name and entry.get("only_verifies"):
        raise MetricError(
            f"metric {name!r} aligns claims with an NLI model of its own, and this model only verifies: it would have no part "
            "in the scores. Take the metric 'nli', for which the model verifies each claim in the whole document"
        )


def own_claims(name: str, spec: MetricSpec, prompt: Sequence[str] = ()) -> MetricSpec:
    """The metric ``name`` on the examples' own claims (column ``claims``): nothing is decomposed, only verified.

    Raises:
        MetricError: the metric verifies no claims.
        ClaimwiseError: one of the user's prompts is for decomposing.
    """
    if spec.judge:
        having = ", ".join(known for known, entry in DEFAULT_METRICS.items() if "verify" in entry)
        raise MetricError(f"metric {name!r} judges whole summaries and verifies no claims; take one of {having}")
    if unused := [one for one in prompt if prompts.load(one).role == "decompose"]:
        raise ClaimwiseError(f"prompt {unused[0]!r} makes claims, and these examples have their own; leave it out")
    return spec.model_copy(update={"decompose": claims.GIVEN})


def aggregate(supports: np.ndarray, how: str) -> float:
    """Combine the supports of a summary's claims into one score. NaNs (unparsed) are left out; NaN if nothing is left.

    - ``mean``: ACUEval, section 3.
    - ``product``: Factored Verification, equation 1 (as a sum of logs).
    - ``geometric``: the n-th root of the product, so that more claims do not lower a score by themselves.
    - ``min``: the weakest claim.
    - ``all``: 1.0 if every support is at least 0.5, else 0.0 (Factored Verification, section 2.2). For aligned claims
      ``evaluate`` passes p_entail here, because 0.5 means something else for their support.
    - ``nli``: the mean of what ``evaluate`` passes here: (NLIScore + 1) / 2 of each claim (FENICE, section 3.2). A claim that
      the document contradicts lowers it further than one that is only absent, if the model tells the two apart.

    >>> aggregate(np.array([0.5, 0.5, np.nan]), "product"), aggregate(np.array([np.nan]), "mean")
    (0.25, nan)
    """
    supports = supports[~np.isnan(supports)]
    if not len(supports):
        return float("nan")
    if how in ("product", "geometric"):
        with np.errstate(divide="ignore"):
            logs = np.log(supports)
            return float(np.exp(logs.sum() if how == "product" else logs.mean()))
    if how == "all":
        return float((supports >= verification.SUPPORTED).all())
    return float(supports.min() if how == "min" else supports.mean())


def evaluate(
    name: str,
    spec: MetricSpec,
    model: Model,
    examples: pd.DataFrame,
    *,
    recorded: pd.DataFrame | None = None,
    batch: int | None = None,
    progress: bool = True,
) -> Evaluation:
    """Score every example with a metric.

    Args:
        name: the metric's name, for the column ``metric``.
        spec: the metric's specification.
        model: the model that decomposes, verifies or judges.
        examples: a table of schema ``examples``. Only ``document`` and ``summary`` are required, and ``claims`` if these
            are to be verified (``claims.GIVEN``). Without ``id``, a row's number from 1 is its id.
        recorded: for ``recorded:`` decomposers, a table of schema ``recorded_claims``.
        batch: examples per step; by default 64, and 512 for a language model. Finished calls are kept in the response
            cache.
        progress: show a progress bar with an estimate on standard error. It counts summaries, or calls of a language model.

    Returns:
        Tables of the schemas ``claims``, ``verdicts`` and ``scores``, with rows in the order of the examples.

    Raises:
        MetricError: the examples are not a data frame, lack a document or a summary, or an id occurs twice.
        ClaimwiseError: a prompt of the metric does not exist, or is for another role.

    >>> from claimwise import models
    >>> spec, model = specification("sentences", DEFAULT_METRICS), models.load({"kind": "lexical"})
    >>> examples = pd.DataFrame({"document": ["It rained all day."], "summary": ["It rained. Ann left."]})
    >>> evaluate("sentences", spec, model, examples, progress=False).scores.values.tolist()
    [['1', 'sentences', 0.5, 2, 0, None]]
    """
    if not isinstance(examples, pd.DataFrame):
        raise MetricError(
            f"examples: expected a data frame with document and summary, got {shorten(examples)}; of a list of dicts "
            "pd.DataFrame(rows) makes one"
        )
    if "id" not in examples:
        examples = examples.assign(id=[str(number) for number in range(1, len(examples) + 1)])
    ordered = examples.iloc[_by_document(examples)]
    if progress and isinstance(model, PromptedModel):
        # A bar of summaries would stand still while the replies of a step are written.
        with cost.watched(name, model, estimate(spec, model, [(examples, recorded)])) as progress:
            return evaluate(name, spec, model, examples, recorded=recorded, batch=batch, progress=progress)
    run = _judged(spec, model) if spec.judge else _claimed(spec, model, recorded)
    found: dict[str, _Scored] = {}
    # A language model writes many replies at once, as long as there are any left: the end of a step, with few, is slow.
    size = batch or (512 if isinstance(model, PromptedModel) else 64)
    for part in batches(ordered, name, size=size, show=progress):
        found |= zip(part["id"], run(part), strict=True)
    ids = examples["id"].tolist()
    decompositions, verdicts = [found[key].decomposition for key in ids], [found[key].verdicts for key in ids]
    scores = pd.DataFrame(
        [(key, name, *found[key].row) for key in ids],
        columns=["example_id", "metric", "score", "n_claims", "n_unparsed", "reason"],
    )
    return Evaluation(
        claims=schema.validate(claim_table(ids, decompositions), "claims", name),
        verdicts=schema.validate(verdict_table(ids, verdicts), "verdicts", name),
        scores=schema.validate(scores, "scores", name),
    )


def estimate(
    spec: MetricSpec, model: Model, parts: Iterable[tuple[pd.DataFrame, pd.DataFrame | None]]
) -> Estimate | None:
    """Calls that ``evaluate`` would make that are not in the cache yet, and their tokens; nothing is asked.

    Parts are examples, and what is ``recorded`` of them, if anything. None of a model that is no language model.
    """
    if not isinstance(model, PromptedModel):
        return None
    dry = dry_run(model)
    for examples, recorded in parts:
        if spec.verify == Aligner.name:  # what a language model is asked of premises hangs on its answers: not counted
            claims.decomposer(spec.decompose, dry, recorded)(examples)
        else:
            evaluate("dry run", spec, dry, examples, recorded=recorded, progress=False)
    return Estimate(dry.cache.usage, dry.cache.claims_assumed)


def _by_document(examples: pd.DataFrame) -> np.ndarray:
    """Positions of the examples, summaries of one document together, so that a backend reads the document once."""
    if missing := [name for name in ("id", "document", "summary") if name not in examples]:
        raise MetricError(
            f"examples lack the column {missing[0]!r}; expected document, summary and, if there is one, id, got "
            f"{', '.join(map(str, examples.columns))} (claimwise.corpora.read_examples reads and checks a file)"
        )
    for name in ("id", "document", "summary"):
        for row, value in enumerate(examples[name]):
            if not isinstance(value, str):
                raise MetricError(f"examples, row {row} (from 0), column {name!r}: expected text, got {value!r}")
    if examples["id"].duplicated().any():
        twice = examples.loc[examples["id"].duplicated(), "id"].iloc[0]
        raise MetricError(f"examples: the id {twice!r} appears twice; ids must be unique, give one of them another")
    documents = examples["document_id" if "document_id" in examples else "document"]
    codes, _ = pd.factorize(documents, use_na_sentinel=False)  # what is missing is one document
    return np.argsort(codes, kind="stable")


class _Scored(NamedTuple):
    """What is found of one example; ``row`` is its score, claims, unparsed replies and reason."""

    decomposition: Decomposition
    verdicts: list[Verdict]
    row: tuple[float, int, int, str | None]


def _judged(spec: MetricSpec, model: Model):
    judge = holistic.judge(spec.judge, model)

    def run(examples: pd.DataFrame):
        for judgement in judge(examples["document"].tolist(), examples["summary"].tolist()):
            lost = _lost(judgement.score, judgement.reason)
            yield _Scored(Decomposition(()), [], (judgement.score, 0, int(lost), judgement.reason))

    return run


def _claimed(spec: MetricSpec, model: Model, recorded: pd.DataFrame | None):
    decompose = claims.decomposer(spec.decompose, model, recorded)
    if spec.verify == Aligner.name:
        # One cache for all that a run computes; a model without one (a fake) leaves it in memory.
        verify = Aligner.from_settings(spec.alignment or AlignmentSettings(), getattr(model, "cache", None)).align
    else:
        verify = partial(verification.verify, model, prompts.load(spec.verify, "verify"))

    def run(examples: pd.DataFrame):
        decompositions = decompose(examples)
        groups = [[claim.text for claim in d.claims] for d in decompositions]
        verdicts = verify(examples["document"].tolist(), groups)
        for decomposition, group in zip(decompositions, verdicts, strict=True):
            yield _Scored(decomposition, group, _claimed_row(decomposition, group, spec.aggregate))

    return run


def _claimed_row(decomposition: Decomposition, verdicts: list[Verdict], how: str) -> tuple[float, int, int, str | None]:
    score = aggregate(np.array([_counted(verdict, how) for verdict in verdicts], float), how)
    reason = decomposition.reason  # beside claims: what is missing of them, as where their list was cut off
    if np.isnan(score):
        reason = verdicts[0].reason if verdicts else reason or Reason.NO_CLAIMS
    elif any(np.isnan(v.support) for v in verdicts):
        reason = "; ".join(filter(None, [reason, Reason.SOME_UNJUDGED]))
    # of a claim that leaves the aligner no room for a premise nothing was asked
    asked = [v for v in verdicts if not isinstance(v, AlignedVerdict) or v.reason in (None, NO_PROBABILITY)]
    lost = [_lost(v.support, v.reason) for v in asked]
    return score, len(verdicts), decomposition.unread + sum(lost), reason


def _counted(verdict: Verdict, how: str) -> float:
    """What of a claim's verdict goes into the score."""
    if isinstance(verdict, AlignedVerdict):
        # Neutral claims have an aligned support of one half and more: whether a claim is supported, p_entail says.
        return verdict.p_entail if how == "all" else verdict.support
    return (verdict.support - np.nan_to_num(verdict.p_contradict) + 1) / 2 if how == "nli" else verdict.support


def _lost(value: float, reason: str | None) -> bool:
    """Whether there was a reply and no value in it."""
    return bool(np.isnan(value)) and reason not in NOT_ASKED


def claim_table(ids: list[str], decompositions: list[Decomposition]) -> pd.DataFrame:
    """Decompositions, one an example, as a table of schema ``claims``.

    >>> from claimwise.models.base import Claim
    >>> claim_table(["a", "b"], [Decomposition((Claim("It rained.", 0, 10),)), Decomposition(())]).values.tolist()
    [['a', 0, 'It rained.', 0, 10]]
    """
    rows = [
        (key, i, claim.text, claim.start, claim.end)
        for key, decomposition in zip(ids, decompositions, strict=True)
        for i, claim in enumerate(decomposition.claims)
    ]
    table = pd.DataFrame(rows, columns=["example_id", "claim_index", "claim", "start", "end"], dtype=object)
    return table.astype({"example_id": str, "claim_index": int, "claim": str})


def verdict_table(ids: list[str], verdicts: list[list[Verdict]]) -> pd.DataFrame:
    """Verdicts, a list an example, as a table of schema ``verdicts``; with the alignment's columns where there is one, with
    ``p_contradict`` alone of models that tell it.

    >>> verdict_table(["a"], [[Verdict(0.9, None, (1,)), Verdict(0.2)]]).values.tolist()
    [['a', 0, 0.9, None, [1]], ['a', 1, 0.2, None, []]]
    """
    flat = [(key, i, verdict) for key, group in zip(ids, verdicts, strict=True) for i, verdict in enumerate(group)]
    aligned = any(isinstance(verdict, AlignedVerdict) for _, _, verdict in flat)
    columns = ["support", "reason", *(ALIGNMENT_COLUMNS if aligned else ())]
    rows = [
        (key, i, *(getattr(verdict, column, None) for column in columns), list(verdict.evidence))
        for key, i, verdict in flat
    ]
    table = pd.DataFrame(rows, columns=["example_id", "claim_index", *columns, "evidence"], dtype=object)
    contradicted = [verdict.p_contradict for _, _, verdict in flat]
    if not aligned and not np.isnan(contradicted).all():
        table["p_contradict"] = contradicted
    return table.astype({"example_id": str, "claim_index": int, "support": float})
