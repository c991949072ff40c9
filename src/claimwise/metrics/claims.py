"""Decomposers: from a table of examples to the claims of their summaries, one result per row, in order.

A decomposer is a prompt, ``sentences``, ``summary`` (all of it as one claim), ``recorded:NAME`` (claims that a published
system made), or ``GIVEN`` (the examples' own claims).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import pandas as pd

from claimwise import prompts, text
from claimwise.errors import ClaimwiseError, near
from claimwise.models.base import Claim, Decomposition, Model
from claimwise.prompts.texts import is_refusal
from claimwise.reasons import Reason

#: Takes claims from the examples' column ``claims``, a list of texts each.
GIVEN = "recorded:given"

#: Decomposers that need no model, by name.
DIVISIONS = {
    "sentences": lambda summary: (Claim(s.text, s.start, s.end) for s in text.sentences(summary)),
    "summary": lambda summary: (Claim(summary, 0, len(summary)),),
}


def on_record(name: str | None) -> bool:
    """Whether a decomposer looks up recorded claims, which a user's own file does not have.

    >>> on_record("recorded:fenice-t5"), on_record("sentences")
    (True, False)
    """
    return str(name).startswith("recorded:")


def decomposer(
    name: str, model: Model, recorded: pd.DataFrame | None = None
) -> Callable[[pd.DataFrame], list[Decomposition]]:
    """The decomposer of that name: ``sentences``, ``summary``, ``recorded:NAME``, or a decomposition prompt (ACUEval sec. 3).

    NAME is a value of the column ``decomposer`` in ``recorded``, a table of schema ``recorded_claims``. ``GIVEN`` without
    such a table takes the examples' own claims.

    Raises:
        prompts.PromptError: the prompt does not exist, or is for another role.
        ClaimwiseError: there are no recorded claims, or none by that decomposer.

    >>> from claimwise import models
    >>> frame, model = pd.DataFrame({"summary": ["It rained. We left.", " "]}), models.load({"kind": "lexical"})
    >>> [[c.text for c in d.claims] for d in decomposer("sentences", model)(frame)]
    [['It rained.', 'We left.'], []]
    >>> [[c.text for c in d.claims] for d in decomposer("summary", model)(frame)]
    [['It rained. We left.'], []]
    """
    if divide := DIVISIONS.get(name):
        return partial(_of_summaries, lambda summaries: [Decomposition(tuple(divide(one))) for one in summaries])
    if not on_record(name):
        prompt = prompts.load(name, "decompose")
        return partial(_of_summaries, lambda summaries: model.decompose(summaries, prompt))
    if name == GIVEN and recorded is None:
        return _given
    if recorded is None or recorded.empty:
        raise _none_there(name)
    wanted, known = name.removeprefix("recorded:"), sorted(set(recorded["decomposer"]))
    if wanted not in known:
        raise ClaimwiseError(
            f"decomposer {name!r}: no claims by {wanted!r} are recorded{near(wanted, known) or ';'} there are those by "
            f"{', '.join(known)}"
        )
    rows = recorded[recorded["decomposer"] == wanted].sort_values(["example_id", "claim_index"])
    made = rows.groupby("example_id")["claim"].agg(list).to_dict()
    return lambda examples: _listed(made.get(key, []) for key in examples["id"])


def no_summary(summary: str) -> Reason | None:
    """Why a text is not a summary, so that nothing is asked about it; else None.

    >>> no_summary(" "), no_summary("I'm sorry, but I can't summarize this."), no_summary("It rained.")
    ('empty summary', 'a refusal, no summary', None)
    """
    return Reason.EMPTY_SUMMARY if not summary.strip() else Reason.NO_SUMMARY if is_refusal(summary) else None


def _of_summaries(make: Callable[[list[str]], Sequence[Decomposition]], examples: pd.DataFrame) -> list[Decomposition]:
    """Decompose the texts that are summaries; the others get a reason."""
    summaries = examples["summary"].tolist()
    results = [Decomposition((), no_summary(summary)) for summary in summaries]
    asked = [i for i, result in enumerate(results) if result.reason is None]
    for i, result in zip(asked, make([summaries[i] for i in asked]), strict=True):
        results[i] = result if result.claims or result.reason else Decomposition((), Reason.NO_CLAIMS)
    return results


def _none_there(name: str) -> ClaimwiseError:
    return ClaimwiseError(
        f"{name.removeprefix('recorded:')!r} names claims that the examples have to bring, and these bring none; take a "
        "metric that makes its own (`claimwise metrics` lists what each does)"
    )


def _given(examples: pd.DataFrame) -> list[Decomposition]:
    """The examples' own claims."""
    if "claims" not in examples or examples["claims"].isna().any():
        raise _none_there(GIVEN)
    return _listed(examples["claims"])


def _listed(claims: Iterable[Sequence[str]]) -> list[Decomposition]:
    """Claims unchanged; an example without any gets a reason."""
    found = (tuple(map(Claim, texts)) for texts in claims)
    return [Decomposition(made, None if made else Reason.NO_CLAIMS) for made in found]
