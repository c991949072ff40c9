"""What to doubt of a user's file and prompts before a model that reads English prose, and of prompts none, has scored it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

import pandas as pd

#: What such a model takes of a prompt, by kind.
_READ = {"embedded": "a prompt's demonstrations and settings, not its prose", "lexical": "no prompt"}


def of(kind: str, examples: pd.DataFrame, prompts: Sequence[str]) -> Iterator[str]:
    """The warnings, a line each.

    Args:
        kind: the model's, as in params.yaml.
        examples: the examples table.
        prompts: the user's, by name or path.
    """
    if prompts and kind in _READ:
        yield (
            f"warning: {', '.join(prompts)}: the {kind} model reads {_READ[kind]}; --model chooses a language model, which "
            "reads all of it"
        )
    if kind == "embedded":
        yield from _languages(examples["summary"])


def _languages(summaries: pd.Series) -> Iterator[str]:
    if count := sum(map(_not_latin, summaries)):
        yield (
            f"warning: {count} of {len(summaries)} summaries are mostly not in Latin script; the embedded model is "
            "English only, do not trust its scores of these; --model chooses a language model that reads them"
        )


def _not_latin(summary: str) -> bool:
    """Whether most letters are of another script.

    >>> _not_latin("Café 雨"), _not_latin("雨が降った (AP)"), _not_latin("2026")
    (False, True, False)
    """
    letters = [letter for letter in summary if letter.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters)
