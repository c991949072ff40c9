"""Contradictions that words alone betray: another number, a negation more or less, an opposite."""

from __future__ import annotations

from claimwise_embedded.evidence import FUNCTION_STEMS, is_number, stems
from claimwise_embedded.lexicon import ANTONYMS, NEGATIONS

#: Share of a claim's content words that a premise must have before their differences mean anything.
SAME_MATTER = 0.5


def contradicts(premise: str, claim: str) -> bool:
    """Whether a premise about the same matter differs from a claim in a number, a negation or an opposite.

    >>> contradicts("Lee won 3 medals in Rome.", "Lee won 5 medals in Rome.")
    True
    >>> contradicts("The council approved the plan.", "The council rejected the plan.")
    True
    >>> contradicts("Lee won 3 medals in Rome.", "It rained in Rome on 5 days.")
    False
    """
    said, asked = stems(premise), stems(claim)
    content = asked - FUNCTION_STEMS - NEGATIONS
    if not content or len(content & said) < SAME_MATTER * len(content):
        return False
    other_number = any(map(is_number, asked - said)) and any(map(is_number, said - asked))
    opposite = any(ANTONYMS.get(word, frozenset()) & (said - asked) for word in asked - said)
    return other_number or opposite or bool(asked & NEGATIONS) != bool(said & NEGATIONS)
