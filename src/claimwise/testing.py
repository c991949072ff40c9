"""For tests of a program that writes summaries: an assertion for pytest, or any other runner."""

from collections.abc import Iterable

from claimwise.api import DEFAULT_MODEL, AnyModel, explain
from claimwise.errors import ClaimwiseError, check_score, shorten
from claimwise.user_file.decisions import SUPPORT
from claimwise.user_file.output import spelled


def assert_faithful(
    document: str | Iterable[str],
    summary: str,
    min_score: float,
    metric: str = "acueval",
    model: AnyModel = DEFAULT_MODEL,
) -> None:
    """Fail where a summary has a score below the least, in [0, 1], or none, and name the claims that are not supported.

    ``document`` is a text, or several that are read as one (contexts); for the others see ``claimwise.score``.

    Raises:
        AssertionError: the summary is not that faithful.
        ClaimwiseError: as ``claimwise.score``; or ``min_score`` is no score.

    >>> assert_faithful("The cat sat on the mat.", "The cat sat.", min_score=0.8, model="lexical")
    >>> assert_faithful("The cat sat on the mat.", "The cat sat. A dog barked.", min_score=0.8, model="lexical")
    Traceback (most recent call last):
    ...
    AssertionError: acueval 0.500 is below 0.8
      unsupported (0.00): A dog barked.
        nearest in the document: The cat sat on the mat.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    if not isinstance(summary, str):
        raise ClaimwiseError(f"summary: expected a text, got {shorten(summary)}; assert one summary at a time")
    check_score("min_score", min_score)
    found = explain(document, summary, metric, model)
    if found.score >= min_score:
        return
    scored = found.score == found.score  # not NaN
    lines = [f"{metric} {found.score:.3f} is below {min_score}" if scored else f"no {metric} score: {found.reason}"]
    doubted = found.claims[~found.claims["verdict"].isin([SUPPORT[0], ""])]
    raise AssertionError("\n".join([*lines, *spelled(doubted)]))
