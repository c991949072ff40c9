"""What to do about a file of which nothing could be scored: that depends on why."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from claimwise import prompts
from claimwise.metrics import MetricSpec
from claimwise.metrics.claims import EMPTY_SUMMARY
from claimwise.metrics.judge import NO_WORDS
from claimwise.metrics.verify import EMPTY_DOCUMENT
from claimwise.models.language import TOO_LONG
from claimwise.prompts.lists import CUT

_EMPTY = (EMPTY_SUMMARY, EMPTY_DOCUMENT, NO_WORDS)
_SHORTER = "acueval-decompose-0shot"  # without demonstrations, which are most of a prompt


def of(reasons: Iterable[str], file: Path, spec: MetricSpec) -> str:
    """What helps against each of the reasons, the first one's first.

    Args:
        reasons: why there are no scores, the commonest first.
        file: the user's file.
        spec: what its rows were scored by.

    >>> of([EMPTY_SUMMARY, EMPTY_DOCUMENT], Path("mine.csv"), MetricSpec(judge="word-overlap"))
    'correct mine.csv'
    >>> of(["refusal"], Path("mine.csv"), MetricSpec(judge="belugaeval-judge-consistency"))
    'take another prompt (--prompt) or another model (--model)'
    """
    return "; ".join(dict.fromkeys(_one(str(reason), file, spec) for reason in reasons))


def _one(reason: str, file: Path, spec: MetricSpec) -> str:
    if reason in _EMPTY:
        return f"correct {file}"
    if reason == CUT or "cut off" in reason or "sent no text" in reason:  # a server's thoughts may be all it sent
        return "give replies more room, or switch thinking off (docs/models.md, Models that think before they answer)"
    if reason == TOO_LONG or "too long" in reason:
        several = spec.decompose in prompts.names("decompose") and spec.decompose != _SHORTER
        shorter = f"--prompt {_SHORTER}, which has no demonstrations" if several else "--prompt"
        return (
            "the whole prompt, with its instructions and demonstrations, must fit: set the model's `context` in "
            f"params.yaml to all that it has, or take a shorter prompt ({shorter})"
        )
    return "take another prompt (--prompt) or another model (--model)"
