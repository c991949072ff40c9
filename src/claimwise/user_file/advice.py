"""What to do about a file of which nothing could be scored: that depends on why."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from claimwise import prompts
from claimwise.metrics import MetricSpec
from claimwise.reasons import Reason

_EMPTY = (Reason.EMPTY_SUMMARY, Reason.EMPTY_DOCUMENT, Reason.NO_WORDS)
_SHORTER = "acueval-decompose-0shot"  # without demonstrations, which are most of a prompt


def of(reasons: Iterable[str], file: Path, spec: MetricSpec) -> str:
    """What helps against each of the reasons, the first one's first.

    Args:
        reasons: why there are no scores, the commonest first.
        file: the user's file.
        spec: what its rows were scored by.

    >>> of([Reason.EMPTY_SUMMARY, Reason.EMPTY_DOCUMENT], Path("mine.csv"), MetricSpec(judge="word-overlap"))
    'correct mine.csv'
    >>> of([Reason.REFUSAL], Path("mine.csv"), MetricSpec(judge="belugaeval-judge-consistency"))
    'take another prompt (--prompt) or another model (--model)'
    """
    return "; ".join(dict.fromkeys(_one(str(reason), file, spec) for reason in reasons))


def _one(reason: str, file: Path, spec: MetricSpec) -> str:
    if reason in _EMPTY:
        return f"correct {file}"
    if reason == Reason.CUT or reason.startswith(Reason.NO_TEXT):  # a server's thoughts may be all it sent
        return "give replies more room, or switch thinking off (docs/models.md, Models that think before they answer)"
    if reason in (Reason.TOO_LONG, Reason.REFUSED_AS_TOO_LONG):
        several = spec.decompose in prompts.names("decompose") and spec.decompose != _SHORTER
        shorter = f"--prompt {_SHORTER}, which has no demonstrations" if several else "--prompt"
        return (
            "the whole prompt, with its instructions and demonstrations, must fit: set the model's `context` in "
            f"params.yaml to all that it has, or take a shorter prompt ({shorter})"
        )
    return "take another prompt (--prompt) or another model (--model)"
