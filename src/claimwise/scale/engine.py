"""Parts scored: in this process one after the other, or by Dask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from claimwise.errors import ClaimwiseError, counted
from claimwise.params import Engine
from claimwise.progress import bar
from claimwise.scale.parts import Counts, Job, score_part
from claimwise.scale.split import Part


def score_parts(job: Job, parts: Sequence[Part], engine: Engine) -> None:
    """Score the parts, under a bar that counts summaries, claims, tokens and cost.

    Raises:
        ClaimwiseError: a part failed; those that were finished before are kept.
    """
    total = Counts()
    with closing(_scored(job, parts, engine)) as scored, bar(sum(p.rows for p in parts), job.metric, "summary") as done:
        for counts in scored:
            total.update(counts)
            done.set_postfix_str(told(total), refresh=False)
            done.update(counts["rows"])


def told(counts: Counts) -> str:
    """Claims, and what was read and paid for them, if anything.

    >>> told(Counts(claims=3, tokens=900, cost=0.5)), told(Counts())
    ('3 claims, 900 tokens, cost 0.50', '0 claims')
    """
    tokens = f", {counts['tokens']} tokens" if counts["tokens"] else ""
    paid = f", cost {counts['cost']:.2f}" if counts["cost"] else ""
    return f"{counted(counts['claims'], 'claim')}{tokens}{paid}"


def _scored(job: Job, parts: Sequence[Part], engine: Engine) -> Iterator[Counts]:
    if engine.kind == "here" or not parts:
        yield from (score_part(job, part) for part in parts)
        return
    try:
        from claimwise.scale import dask_engine
    except ImportError as error:
        raise ClaimwiseError(
            f"the engine dask needs the packages of the extra `dask` ({error}): pip install 'claimwise[dask]'"
        ) from None
    yield from dask_engine.run(job, parts, engine.scheduler, engine.workers)
