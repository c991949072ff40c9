"""An assertion for tests of a program that writes summaries, with pytest or any other runner."""

from collections.abc import Iterable
from numbers import Integral

from claimwise.api import AnyModel, explain
from claimwise.errors import ClaimwiseError, check_score, shorten
from claimwise.user_file.decisions import SUPPORT, is_below
from claimwise.user_file.output import spelled
from claimwise.user_settings import DEFAULT_MODEL


def assert_faithful(
    document: str | Iterable[str],
    summary: str,
    min_score: float,
    metric: str = "acueval",
    model: AnyModel = DEFAULT_MODEL,
    max_unsupported: int | None = None,
) -> None:
    """Fail if a summary's score is too low or missing; the message lists the claims that are not supported.

    Args:
        document: a text, or several that are read as one (contexts).
        summary: one text.
        min_score: the lowest score that passes, in [0, 1].
        metric: see ``claimwise.score``.
        model: see ``claimwise.score``.
        max_unsupported: also fail if more claims than this are unsupported or have no verdict, however high the score is.
            ("Not sure" is a verdict.) With ``min_score=0`` only claims decide.

    Raises:
        AssertionError: the summary is not that faithful.
        ClaimwiseError: see ``claimwise.score``; or ``min_score`` is not a score, or there are no claims to count.

    >>> assert_faithful("The cat sat on the mat.", "The cat sat.", min_score=0.8, model="lexical")
    >>> assert_faithful("The cat sat on the mat.", "The cat sat. A dog barked.", min_score=0.8, model="lexical")
    Traceback (most recent call last):
    ...
    AssertionError: acueval 0.5 is below 0.8
      unsupported (0.00): A dog barked.
        nearest in the document: The cat sat on the mat.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    if not isinstance(summary, str):
        raise ClaimwiseError(f"summary: expected a text, got {shorten(summary)}; assert one summary at a time")
    check_score("min_score", min_score)
    if max_unsupported is not None and not (isinstance(max_unsupported, Integral) and max_unsupported >= 0):
        raise ClaimwiseError(f"max_unsupported: expected a number of claims, 0 or more, got {max_unsupported!r}")
    found = explain(document, summary, metric, model)
    scored = found.score == found.score  # not NaN
    if scored and max_unsupported is not None and found.claims.empty:
        raise ClaimwiseError(f"max_unsupported: {metric} judges the whole summary and makes no claims to count")
    unsupported, unjudged = (int((found.claims["verdict"] == word).sum()) for word in (SUPPORT[1], ""))
    lines = []
    if is_below(found.score, min_score):
        below = f"{metric} {found.score:.6g} is below {min_score}"
        lines += [below if scored else f"no {metric} score: {found.reason}"]
    if max_unsupported is not None and unsupported + unjudged > max_unsupported:
        without = f" (and {unjudged} without a verdict)" if unjudged else ""
        lines += [f"unsupported claims: {unsupported}{without}, at most {max_unsupported} expected"]
    if not lines:
        return
    doubted = found.claims[found.claims["verdict"] != SUPPORT[0]]
    raise AssertionError("\n".join([*lines, *spelled(doubted)]))
