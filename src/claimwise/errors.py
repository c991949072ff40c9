"""Errors that are messages for users, not defects (the command line prints them plainly), and what such messages share."""

import difflib
import sys
import warnings
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

#: What stands between this package and a user's line that computes a frame of Dask.
_BETWEEN = {__package__, "dask", "distributed", "concurrent", "threading"}


class ClaimwiseError(ValueError):
    """Something that a user gave is wrong or missing; the message says what, where, and what to do."""


def warn(message: str) -> None:
    """Warn of the user's own line: the nearest caller that is neither of this package nor of Dask.

    In a thread of Dask's there is none, and Python calls it ``sys:1``.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     exec("warn('no label')", {"__name__": "users", "warn": warn})
    >>> caught[0].filename, str(caught[0].message)
    ('<string>', 'no label')
    """
    level, frame = 1, sys._getframe()
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def shorten(value: object) -> str:
    """A value as an error shows it, in at most 60 characters.

    >>> shorten(None), shorten("x" * 99)[-5:]
    ('None', 'xx...')
    """
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def printable(text: str) -> str:
    r"""A text on one line, without the characters that a terminal takes for commands.

    >>> printable("one\n\x1b[2Jtwo")
    'one [2Jtwo'
    """
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def first_line(error: Exception) -> str:
    """What an error says, in a line; its kind where it says nothing.

    >>> first_line(OSError("not there" + chr(10) + "look elsewhere")), first_line(AssertionError())
    ('not there', 'AssertionError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is nearly this one, if there is one; case and blanks around do not count.

    >>> nearest(" Artikle", ["article", "highlights"])
    'article'
    """
    names = {one.strip().lower(): one for one in known}
    close = difflib.get_close_matches(name.strip().lower(), names, 1, cutoff)
    return names[close[0]] if close else None


def finding(place: str, error: Mapping[str, Any], known: Iterable[str] = ()) -> str:
    """One of pydantic's errors as a line: where, what was expected, and what stands there.

    >>> finding("meta_evaluation.draws", {"type": "int_type", "msg": "Input should be a valid integer", "input": "many"})
    "meta_evaluation.draws: Input should be a valid integer, found 'many'"
    >>> finding("agregate", {"type": "extra_forbidden", "msg": "no", "input": "mean", "loc": ["agregate"]}, ["aggregate"])
    "agregate: unknown key; did you mean 'aggregate'? expected aggregate"
    """
    if error["type"] == "extra_forbidden" and known:
        return f"{place}: unknown key{near(str(error['loc'][-1]), known) or ';'} expected {', '.join(known)}"
    said = error["msg"].removeprefix("Value error, ")
    found = "" if error["type"] in ("value_error", "missing") else f", found {shorten(error['input'])}"
    return f"{place}: {said}{found}" if place else f"{said}{found}"


def counted(count: int, name: str) -> str:
    """So many of something, in words.

    >>> counted(1, "summary"), counted(2, "summary"), counted(0, "claim")
    ('1 summary', '2 summaries', '0 claims')
    """
    plural = name[:-1] + "ies" if name.endswith("y") else name + "s"
    return f"{count} {name if count == 1 else plural}"


def check_score(name: str, value: float) -> None:
    """Refuse a number that is no score.

    >>> check_score("threshold", 1.5)
    Traceback (most recent call last):
    ...
    claimwise.errors.ClaimwiseError: threshold: expected a number from 0 to 1, as scores are, got 1.5
    """
    if not (isinstance(value, Real) and 0 <= value <= 1):
        raise ClaimwiseError(f"{name}: expected a number from 0 to 1, as scores are, got {value!r}")


def near(name: str, known: Iterable[str]) -> str:
    """What follows "unknown NAME" where a known name is nearly that; empty where none is.

    >>> near("acuevel", ["acueval", "fenice"]), near("rouge", ["acueval", "fenice"])
    ("; did you mean 'acueval'?", '')
    """
    close = nearest(name, known)
    return f"; did you mean {close!r}?" if close else ""
