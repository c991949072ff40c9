"""Clauses and their parts, as token indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from claimwise_embedded.decomposer_tokens import Token


@dataclass(slots=True)
class Part:
    """A subject, complement or adjunct: ``core`` tokens and what may be dropped after them (``posts``)."""

    kind: str
    core: list[int]
    posts: list[list[int]] = field(default_factory=list)
    #: Alternatives joined by "and" or "or" to the core, each with the tokens that lead into it.
    conjuncts: list[list[int]] = field(default_factory=list)

    @property
    def all(self) -> list[int]:
        """Core and posts, in the order of the sentence."""
        return sorted({*self.core, *(i for post in self.posts for i in post)})


@dataclass(slots=True)
class Clause:
    """Subject, verb group and the rest; token indices throughout, so that claims know where they come from.

    ``frame`` is the attribution a reported clause stands under ("Deen announced"): it is never dropped.
    """

    kind: str
    subject: Part | None = None
    verb: list[int] = field(default_factory=list)
    comps: list[Part] = field(default_factory=list)
    pre: list[list[int]] = field(default_factory=list)
    frame: list[int] = field(default_factory=list)
    reported: list[Clause] = field(default_factory=list)
    auxiliary: list[int] = field(default_factory=list)
    subject_missing: bool = False
    #: False where a participle stands for the verb, as headlines have it.
    finite: bool = True
    #: The reading cannot be right here, a verb or noun phrase too many: nothing is claimed of it.
    doubtful: bool = False
    #: The verb group that a participial clause hangs on: it gives the tense.
    governor: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Parse:
    """Clauses and appositions ((name tokens, description tokens) pairs) of a sentence."""

    tokens: Sequence[Token]
    clauses: list[Clause]
    appositions: list[tuple[list[int], list[int]]]
