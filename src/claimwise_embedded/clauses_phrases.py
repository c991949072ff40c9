"""The kinds of chunk that a sentence falls into, each read from where it starts: verb groups and phrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from claimwise_embedded.clauses_tags import ALWAYS_OPEN, FINITE, SUBORDINATORS, clause_follows
from claimwise_embedded.decomposer_tokens import Token

VERB = frozenset(("VB", "VZ", "VD", "VN", "VG"))
_NOMINAL = frozenset(("X", "CD", "DT", "PS"))
_AUXILIARY = frozenset(("MD", "BE", "BB", "BN", "HV", "DO", "NG"))
_PARTICLES = frozenset("up out off down away back over on in together apart forward ahead around".split())
_SEPARABLE = frozenset("up out off down back away".split())


@dataclass(slots=True)
class Chunk:
    """A run of tokens (indices) of one kind; ``of`` is the noun phrase inside a prepositional phrase."""

    kind: str
    at: list[int]
    of: list[int] = field(default_factory=list)

    @property
    def start(self) -> int:
        """First token."""
        return self.at[0]

    @property
    def end(self) -> int:
        """Last token."""
        return self.at[-1]


def verb_group(tokens: Sequence[Token], tags: list[str], i: int, n: int) -> Chunk | None:
    """The verb group that starts at token i of n, adverbs, negation and particle included; None where there is none."""
    j = i
    while j < n and tags[j] == "RB":  # adverbs before a verb belong to it ("he only just survived")
        j += 1
    if j >= n:
        return None
    first = tags[j]
    to = first == "TO"
    if to:
        k = j + 1
        while k < n and tags[k] in ("RB", "NG"):
            k += 1
        if k >= n or tags[k] not in ("VB", "BB", "VZ"):
            return None
        j = k
        kind = "VI"
    elif first in FINITE or first == "VB" or first == "BB":
        kind = "VF"
    elif first in ("VG", "VN", "BN"):
        kind = "VG" if first == "VG" else "VN"
    else:
        return None
    start_main = j
    k = j
    last = j
    while k < n:
        tag = tags[k]
        if tag in _AUXILIARY or (tag == "VG" and tokens[k].lower in ("being", "having") and k + 1 < n):
            last = k
            k += 1
        elif tag == "RB":
            m = k
            while m < n and tags[m] == "RB":
                m += 1
            if (
                m < n
                and tags[m] in ("VB", "VN", "VG", "BB", "BN", "VD", "NG")
                and (tags[last] in _AUXILIARY or tokens[last].lower in ("being", "having", "to"))
            ):
                k = m
            else:
                break
        elif tag in VERB and (k == start_main or tags[last] in _AUXILIARY or tokens[last].lower in ("being", "having")):
            last = k
            k += 1
            break
        else:
            break
    at = list(range(i, last + 1))
    k = last + 1
    if (
        k < n
        and tags[last] in VERB
        and tokens[k].lower in _PARTICLES
        and (
            tags[k] == "RB"
            or (
                tags[k] == "IN"
                and tokens[k].lower in _SEPARABLE
                and k + 1 < n
                and tags[k + 1] in ("DT", "PS", "X", "CD")
            )
            or (tags[k] == "IN" and (k + 1 == n or tags[k + 1] in ("TO", "IN", "CM", "PU", "CC")))
            or (tags[k] == "IN" and k + 1 < n and tokens[k + 1].lower in ("he", "she", "they", "we", "i"))
        )
    ):
        at.append(k)
    return Chunk(kind, at)


def phrase(tokens: Sequence[Token], tags: list[str], i: int, n: int) -> Chunk:
    """The chunk of any other kind that starts at token i of n."""
    tag, lower = tags[i], tokens[i].lower
    if lower == "so" and i + 1 < n and tokens[i + 1].lower == "that":
        return Chunk("SB", [i, i + 1])
    if lower == "so" and tag == "IN" and clause_follows(tokens, tags, i + 1, n, lower):
        return Chunk("CC", [i])
    if tag == "RB" and lower == "so" and i + 1 < n and tags[i + 1] in ("PR", "DT", "PS", "X") and i:
        return Chunk("CC", [i])
    if tag == "RB":
        j = i
        while j + 1 < n and tags[j + 1] == "RB":
            j += 1
        if j == i and j + 1 < n and tokens[j + 1].lower == "of":
            return Chunk("NP", [i])
        if (j + 1 < n and tags[j + 1] in ("CD", "X")) or (j + 1 < n and tags[j + 1] == "DT" and lower in _FOCUS):
            return Chunk("NP", list(range(i, _noun_phrase(tokens, tags, j + 1, n))))
        return Chunk("RB", list(range(i, j + 1)))
    if tag == "PR":
        return Chunk("PR", [i, i + 1] if i + 1 < n and tokens[i + 1].lower in _AFTER_PRONOUNS else [i])
    if tag in _NOMINAL or tag == "PO":
        return Chunk("NP", list(range(i, _noun_phrase(tokens, tags, i, n))))
    if tag in ("IN", "TO"):
        return _prepositional(tokens, tags, i, n)
    if tag == "WH":
        return Chunk("WH", [i])
    if tag == "CC":
        return Chunk("CC", [i])
    if tag == "CM":
        return Chunk("CM", [i])
    if tag == "Q":
        j = i + 1
        if j < n and tags[j] in _NOMINAL and tokens[j].start == tokens[i].end:
            return Chunk("NP", list(range(i, _noun_phrase(tokens, tags, j, n))))
        return Chunk("PU", [i])
    if tag == "NG" and i + 1 < n:
        rest = phrase(tokens, tags, i + 1, n)
        return Chunk(rest.kind, [i, *rest.at], rest.of)
    return Chunk("PU", [i])


#: Belong to the pronoun before them: "someone else", "them all".
_AFTER_PRONOUNS = frozenset(("else", "all", "both"))
_FOCUS = frozenset("only just even about around nearly almost over quite such not particularly especially".split())


def _noun_phrase(tokens: Sequence[Token], tags: list[str], i: int, n: int) -> int:
    """One past the last token of the noun phrase that starts at i."""
    j = i
    while j < n:
        tag = tags[j]
        if tag in _NOMINAL:
            if tag in ("DT", "PS") and j > i and tags[j - 1] in ("X", "CD"):
                break
            j += 1
        elif tag == "PO" and j > i:
            j += 1
            while j < n and tags[j] == "RB":
                j += 1
        elif (
            (tag == "RB" and j + 1 < n and tags[j + 1] in ("X", "CD") and tags[j - 1] in ("DT", "PS", "RB"))
            or (tag == "VN" and j + 1 < n and tags[j + 1] in ("X",) and tags[j - 1] in ("DT", "PS", "CD", "PO"))
            or (tag == "Q" and j + 1 < n and tags[j + 1] in ("X", "CD", "PO", "VN"))
            or (tag == "Q" and j > i and tokens[j].start == tokens[j - 1].end)
            or (
                tag == "PU" and tokens[j].text in ("-", "/", "&") and j + 1 < n and tokens[j].start == tokens[j - 1].end
            )
            or (tag == "PU" and tokens[j].text == "-" and _spaced_hyphen(tokens, tags, j, n))
            or (tag == "CC" and tokens[j].lower == "&" and j + 1 < n)
            or (tag == "CM" and j == i + 2 and _adjectives(tokens, tags, i, n))
            or (tag == "PR" and j > i and tags[j - 1] in ("DT", "RB", "PS"))
        ):
            j += 1
        else:
            break
    return max(j, i + 1)


def _adjectives(tokens: Sequence[Token], tags: list[str], i: int, n: int) -> bool:
    """ "a good, mature boy": a comma between two words that stand before the noun."""
    return (
        tokens[i].lower in ("a", "an")
        and i + 4 < n
        and tags[i + 1] == tags[i + 4] == "X"
        and tags[i + 3] in ("X", "VN")
        and all(tokens[k].text.islower() for k in (i + 1, i + 3, i + 4))
    )


def _spaced_hyphen(tokens: Sequence[Token], tags: list[str], j: int, n: int) -> bool:
    """ "2 - 0", "Saint - Germain", "semi - final": a hyphen that tokenisation set apart."""
    if j + 1 >= n or j == 0:
        return False
    both = (tokens[j - 1], tokens[j + 1])
    return (
        (tags[j - 1] == tags[j + 1] == "CD")
        or (all(t.tag == "X" and t.text[:1].isupper() for t in both) and j > 1)
        or tokens[j - 1].lower in ("semi", "quarter", "co", "ex", "pre", "free", "mid", "non")
    )


def _prepositional(tokens: Sequence[Token], tags: list[str], i: int, n: int) -> Chunk:
    lower = tokens[i].lower
    if lower == "that":
        return Chunk("TH", [i])
    j = i + 1
    if j < n and tags[j] == "WH" and lower not in SUBORDINATORS:
        return Chunk("WH", [i, j])
    while j < n and (
        (tags[j] in ("IN", "TO") and tokens[j].lower not in ("that", *SUBORDINATORS))
        or (tags[j] == "RB" and tokens[j].lower not in ("not",) and lower not in SUBORDINATORS)
    ):
        j += 1
    if j < n and tags[j] == "Q" and j + 1 < n and tags[j + 1] in _NOMINAL:
        j += 1
    if lower in ALWAYS_OPEN:
        return Chunk("SB", [i])
    if lower in SUBORDINATORS and clause_follows(tokens, tags, j, n, lower):
        return Chunk("SB", [i])
    if j < n and (tags[j] == "VG" or (tags[j] == "NG" and j + 1 < n and tags[j + 1] == "VG")):
        group = verb_group(tokens, tags, j if tags[j] == "VG" else j + 1, n)
        return Chunk("PG", list(range(i, group.end + 1)))
    if j < n and tags[j] in _NOMINAL:
        end = _noun_phrase(tokens, tags, j, n)
        return Chunk("PP", list(range(i, end)), list(range(j, end)))
    if j < n and tags[j] == "PR":
        last = j + (j + 1 < n and tokens[j + 1].lower in _AFTER_PRONOUNS)
        return Chunk("PP", list(range(i, last + 1)), list(range(j, last + 1)))
    return Chunk("RB", list(range(i, max(j, i + 1))))
