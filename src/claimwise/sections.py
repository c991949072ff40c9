"""The types of the parameters in the notebooks' sections of params.yaml. They are checked when the settings are read.

A stage reads the settings first. So a wrong value is one line of error, before any file is removed or any model asked.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, create_model, model_validator

from claimwise import models, paths, prompts
from claimwise.errors import near
from claimwise.metrics import MetricSpec, specification


class Strict(BaseModel):
    """A mapping of settings with strict types (``"5"`` is no number). The error of an unknown key names the nearest key."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _keys_are_known(cls, values: Any) -> Any:
        for key in values if isinstance(values, Mapping) else ():
            if key not in cls.model_fields:
                expected = f"; expected one of {', '.join(cls.model_fields)}"
                raise ValueError(f"unknown key {key!r}{near(str(key), cls.model_fields) or expected}")
        return values


def listed(name: str, known: Mapping[str, Any] | list[str], where: str, place: str = "") -> str:
    """Return the name if it is a known one, else raise ValueError. ``place`` is its key, if pydantic does not add it.

    >>> listed("acuevl", ["acueval", "fenice"], "`metrics`")
    Traceback (most recent call last):
    ...
    ValueError: found 'acuevl', expected one of `metrics`: acueval, fenice; did you mean 'acueval'?
    """
    if name not in known:
        start = f"{place}: " if place else ""
        raise ValueError(
            f"{start}found {name!r}, expected one of {where}: {', '.join(known) or 'none'}{near(name, known)}"
        )
    return name


# The context of the checks below is the settings (``params.Settings``).


def _is_model(name: str, info: ValidationInfo) -> str:
    models.check(info.context.models[listed(name, info.context.models, "`models`")])
    return name


def _is_metric(name: str, info: ValidationInfo) -> str:
    check_prompts(specification(listed(name, info.context.metrics, "`metrics`"), info.context.metrics))
    return name


def _is_prepared(name: str, info: ValidationInfo) -> str:
    return listed(name, info.context.dataset.corpora, "the dataset's `corpora`")


def _were_scored(metrics: dict[str, list[str]], info: ValidationInfo) -> dict[str, list[str]]:
    for corpus, names in metrics.items():
        scored = info.context.dataset.score.get(corpus)
        for name in names:
            listed(name, scored.metrics if scored else [], f"the metrics that `score` runs on {corpus}")
    return metrics


def _is_scored(name: str, info: ValidationInfo) -> str:
    """Check that all corpora that the notebook reads are scored with this metric."""
    corpora = info.data.get("corpora", [info.data["corpus"]] if "corpus" in info.data else [])
    _were_scored({corpus: [name] for corpus in corpora}, info)
    return name


def _one_of(field: str) -> AfterValidator:
    """A check that a name is in another field, which comes before it. If that field is wrong, it has its own error."""

    def check(name: str, info: ValidationInfo) -> str:
        return listed(name, info.data[field], f"`{field}`") if field in info.data else name

    return AfterValidator(check)


def _is_for(role: prompts.Role, name: str) -> str:
    """Check that a prompt is for a role.

    Its path is relative to the project's folder, where stages run; a notebook may have been opened elsewhere.
    """
    file = paths.root() / Path(name).expanduser()
    prompts.load(str(file) if file.is_file() else name, role)
    return name


def check_prompts(spec: MetricSpec) -> MetricSpec:
    """Return the metric if its prompts exist and are for their roles.

    Raises:
        PromptError: a prompt does not exist, or is for another role.
    """
    for role, name in spec.prompt_names.items():
        _is_for(role, name)
    return spec


Count = Annotated[int, Field(ge=1)]
Corpus = Annotated[str, AfterValidator(_is_prepared)]
Model = Annotated[str, AfterValidator(_is_model)]
Metric = Annotated[str, AfterValidator(_is_metric)]
ScoredMetric = Annotated[str, AfterValidator(_is_scored)]
Grouping = Literal["origin", "all"]
Decompose, Verify, Critique, Revise, Summarise = (
    Annotated[str, AfterValidator(partial(_is_for, role))]
    for role in ("decompose", "verify", "critique", "revise", "summarise")
)


class _Section(Strict):
    """The parameters of all notebooks. ``draws`` and ``seed`` have defaults because the scoreboard has no intervals.

    A notebook that needs them fails without them, before it runs: its stage compares its parameters with its parameter cell.
    """

    data: str
    model: str
    draws: Count = 1
    seed: Annotated[int, Field(ge=0)] = 0


class _Style(Strict):
    """A classifier that does not see the document. Cross-validation chooses one of the kinds of features."""

    looks_at: Annotated[list[Literal["length", "measures", "letters"]], Field(min_length=1)]
    beside: str | None = None


#: Parameters of a notebook that compares metrics on scored corpora; ``further`` are metrics for some of the corpora.
_COMPARED = {
    "corpora": dict[Corpus, Grouping],
    "metrics": list[ScoredMetric],
    "further": Annotated[dict[Corpus, list[Metric]], AfterValidator(_were_scored)],
    "by_documents": list[Corpus],
    "pairs": list[Annotated[list[Metric], Field(min_length=2, max_length=2)]],
}
_METHODS = dict[str, Annotated[MetricSpec, AfterValidator(check_prompts)]]
_PARAMETERS: dict[str, dict[str, Any]] = {
    "academic_summaries": {
        "corpus": Corpus,
        "labelled": Corpus,
        "systems": list[str],
        "documents": dict[Literal["prevalence", "revision"], Count | None],
        "judges": list[Model],
        "summarise": Summarise,
        "verify": Verify,
        "critique": Critique,
        "revise": Revise,
        "critique_whole": Critique,
        "revise_whole": Revise,
        "rounds": Count,
    },
    "acu_generation": {
        "corpora": dict[Corpus, Grouping],
        "prompts": list[Decompose],
        "others": list[Model],
        "by_meaning": Count | None,
    },
    "alignment_settings": {
        "metric": Metric,
        "corpora": list[Corpus],
        "documents": Count | None,
        "windows": list[Count],
        "gates": list[float],
        "long_documents": dict[Corpus, Count | None],
        "long_candidates": Count | None,
    },
    "acu_verification": {
        "corpora": dict[Literal["support", "presence"], list[Corpus]],
        "prompts": list[Verify],
        "reference": Annotated[str, _one_of("prompts")],
        "others": list[Model],
        "shots": Annotated[int, Field(ge=0)],
    },
    "document_blind": {
        "corpus": Corpus,
        "methods": _METHODS,
        "style": dict[str, _Style],
        "baseline": Annotated[str, _one_of("style")],
    },
    "embedded_model": {
        "corpora": list[Corpus],
        "summaries": dict[Corpus, Grouping],
        "types": list[Corpus],
        "spans": list[Corpus],
        "checked": Annotated[list[Model], Field(min_length=1)],
        "variants": list[Model],
        "verify": Verify,
    },
    "embedded_training": {"pooling": Literal["min", "mean"]},
    "factored_verification": {
        "corpus": Corpus,
        "methods": _METHODS,
        "baseline": Annotated[str, _one_of("methods")],
        "shown": list[Annotated[str, _one_of("methods")]],
    },
    "leaderboard": {"corpus": Corpus, "metric": ScoredMetric, "beside": list[ScoredMetric]},
    "meta_evaluation": _COMPARED | {"baseline": Annotated[str, _one_of("metrics")]},
    "model_size": {
        "corpora": dict[Corpus, Grouping],
        "metrics": list[ScoredMetric],
        "taught": list[ScoredMetric],
        "baseline": ScoredMetric,
        "further": _COMPARED["further"],
    },
    "nli_alignment": {
        "corpora": dict[Corpus, Grouping],
        "metric": Metric,
        "documents": Count | None,
        "backbones": dict[str, dict[str, Any]],
    },
    "preference_bias": {
        "corpus": Corpus,
        "claim_level": ScoredMetric,
        "holistic": ScoredMetric,
        "beside": list[ScoredMetric],
    },
    "refinement": {
        "corpus": Corpus,
        "metric": ScoredMetric,
        "beside": list[Metric],
        "judge": Model,
        "per_origin": Count,
        "revise_claims": Revise,
        "critique": Critique,
        "revise_comment": Revise,
        "revise_both": Revise,
        "verify": Verify,
    },
    "self_preference": {
        "corpus": Corpus,
        "authors": Annotated[list[Model], Field(min_length=2)],
        "outsider": Model,
        "documents": Count,
        "summarise": Summarise,
        "claim_level": Metric,
        "holistic": Metric,
    },
    "scoreboard": {"metric": Metric},
    "who_judges_whom": {
        "corpus": Corpus,
        "systems": list[str],
        "documents": Count | None,
        "models": Annotated[list[Model], Field(min_length=2)],
        "summarise": Summarise,
        "verify": Verify,
        "critique": Critique,
        "revise": Revise,
    },
    "verifier": _COMPARED
    | {"tuned": Model, "nli": Model, "beside": list[ScoredMetric], "baseline": Annotated[str, _one_of("beside")]},
}
#: The type of each notebook's section. Your own notebook (a file in notebooks/, listed in `notebooks`) needs none here: its
#: parameter cell has the keys.
SECTIONS: dict[str, type[BaseModel]] = {
    notebook: create_model(notebook, __base__=_Section, **{name: (kind, ...) for name, kind in parameters.items()})
    for notebook, parameters in _PARAMETERS.items()
}
