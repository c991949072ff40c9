"""Errors that are messages for users (the command line prints them without a traceback), and helpers to word them."""

import difflib
import sys
import warnings
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

#: The packages whose functions may be between a user's line and a warning, this one included.
_SKIPPED = {__package__, "dask", "distributed", "concurrent", "threading"}


class ClaimwiseError(ValueError):
    """A user's input is wrong or missing; the message says what, where, and what to do."""


def warn(message: str) -> None:
    """Warn with the place of the user's own line: the nearest caller outside this package and Dask.

    A thread of Dask has no such caller; Python shows ``sys:1`` then.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     exec("warn('no label')", {"__name__": "users", "warn": warn})
    >>> caught[0].filename, str(caught[0].message)
    ('<string>', 'no label')
    """
    level, frame = 1, sys._getframe()
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in _SKIPPED:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def shorten(value: object) -> str:
    """The ``repr`` of a value in at most 60 characters, for an error.

    >>> shorten(None), shorten("x" * 99)[-5:]
    ('None', 'xx...')
    """
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def printable(text: str) -> str:
    r"""A text on one line, without control characters, which a terminal may take for commands.

    >>> printable("one\n\x1b[2Jtwo")
    'one [2Jtwo'
    """
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def first_line(error: Exception) -> str:
    """The first line of an error's message; its type if it has no message.

    >>> first_line(OSError("not there" + chr(10) + "look elsewhere")), first_line(AssertionError())
    ('not there', 'AssertionError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most similar to this one, if any is similar; case and outer white space are ignored.

    >>> nearest(" Artikle", ["article", "highlights"])
    'article'
    """
    names = {one.strip().lower(): one for one in known}
    close = difflib.get_close_matches(name.strip().lower(), names, 1, cutoff)
    return names[close[0]] if close else None


def all_near(name: str, known: Iterable[str]) -> list[str]:
    """All known names that are similar to this one, in their order; see ``nearest``.

    >>> all_near("summary", ["summary_a", "document", "Summary_b "])
    ['summary_a', 'Summary_b ']
    """
    return [one for one in known if nearest(name, [one])]


def finding(place: str, error: Mapping[str, Any], known: Iterable[str] = ()) -> str:
    """One of pydantic's errors as a line: the place, what was expected, and what was found.

    >>> finding("meta_evaluation.draws", {"type": "int_type", "msg": "Input should be a valid integer", "input": "many"})
    "meta_evaluation.draws: Input should be a valid integer, found 'many'"
    >>> finding("agregate", {"type": "extra_forbidden", "msg": "no", "input": "mean", "loc": ["agregate"]}, ["aggregate"])
    "agregate: unknown key; did you mean 'aggregate'? expected aggregate"
    """
    if error["type"] == "extra_forbidden" and known:
        return f"{place}: unknown key{near(str(error['loc'][-1]), known) or ';'} expected {', '.join(known)}"
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] not in ("value_error", "missing"):
        message += f", found {shorten(error['input'])}"
    return f"{place}: {message}" if place else message


def counted(count: int, name: str) -> str:
    """A count with its noun in the singular or plural.

    >>> counted(1, "summary"), counted(2, "summary"), counted(0, "claim")
    ('1 summary', '2 summaries', '0 claims')
    """
    plural = name[:-1] + "ies" if name.endswith("y") else name + "s"
    return f"{count} {name if count == 1 else plural}"


def check_score(name: str, value: float) -> None:
    """Raise an error if a value is not a number from 0 to 1.

    >>> check_score("threshold", 1.5)
    Traceback (most recent call last):
    ...
    claimwise.errors.ClaimwiseError: threshold: expected a number from 0 to 1, as scores are, got 1.5
    """
    if not (isinstance(value, Real) and 0 <= value <= 1):
        raise ClaimwiseError(f"{name}: expected a number from 0 to 1, as scores are, got {value!r}")


def near(name: str, known: Iterable[str]) -> str:
    """The question "did you mean ...?" for an unknown name, if a known one is similar; else empty.

    >>> near("acuevel", ["acueval", "fenice"]), near("rouge", ["acueval", "fenice"])
    ("; did you mean 'acueval'?", '')
    """
    close = nearest(name, known)
    return f"; did you mean {close!r}?" if close else ""
