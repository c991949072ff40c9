"""Chunks of a tagged sentence: noun phrases, verb groups, prepositional phrases, quotations and marks.

A chunk is a list of token indices with a kind:

====  =====================================================================
NP    noun phrase, possessives included ("Mr Chen's abandoned garden")
TM    noun phrase that tells a time ("last week")
PR    pronoun alone
VF    finite verb group, adverbs, negation and particle included ("did n't take off")
VI    "to" and a base verb
VG    -ing form without an auxiliary
VN    participle without an auxiliary
PP    preposition and noun phrase, or preposition and -ing form
RB    adverbs
SB    subordinator (because, when, if ...)
TH    "that"
WH    who, which, where ...
CC    and, or, but
CM    comma, semicolon
PU    other marks
QT    a quotation that holds a verb, kept whole
====
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from claimwise.models.embedded.clauses_tags import (
    ALWAYS_OPEN,
    FINITE,
    NAMING,
    REPORTING,
    SUBORDINATORS,
    clause_follows,
    repaired,
)
from claimwise.models.embedded.decomposer_tokens import Token, verb_forms

_NOMINAL = frozenset(("X", "CD", "DT", "PS"))


_AUXILIARY = frozenset(("MD", "BE", "BB", "BN", "HV", "DO", "NG"))


_VERB = frozenset(("VB", "VZ", "VD", "VN", "VG"))


_PARTICLES = frozenset("up out off down away back over on in together apart forward ahead around".split())


_SEPARABLE = frozenset("up out off down back away".split())


_QUOTES = {"'": "'", "‘": "’", '"': '"', "“": "”", "``": "''", "’": "’"}


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


def chunk(tokens: Sequence[Token]) -> list[Chunk]:
    """Chunks of one sentence, left to right; every token but the final full stop is in one of them.

    >>> from claimwise.models.embedded.decomposer_tokens import sentences
    >>> sentence = next(sentences("The boy was taken to hospital because he had eaten liquorice ."))
    >>> [(c.kind, " ".join(sentence[i].text for i in c.at)) for c in chunk(sentence)]
    [('NP', 'The boy'), ('VF', 'was taken'), ('PP', 'to hospital'), ('SB', 'because'), ('PR', 'he'), \
('VF', 'had eaten'), ('NP', 'liquorice')]
    """
    tags = repaired([t.tag for t in tokens], tokens)
    n = len(tokens)
    while n and tokens[n - 1].lower in (".", "!"):
        n -= 1
    quotes = _quotations(tokens, tags, n)
    chunks: list[Chunk] = []
    i = 0
    while i < n:
        if i in quotes:
            j = quotes[i]
            chunks.append(Chunk("QT", list(range(i, j + 1))))
            i = j + 1
            continue
        found = _verb_group(tokens, tags, i, n) or _phrase(tokens, tags, i, n)
        chunks.append(found)
        i = found.end + 1
    _participles(chunks, tokens)
    _bare_infinitives(chunks, tokens)
    for found in chunks:
        if found.kind == "NP" and _is_time(found.at, tokens):
            found.kind = "TM"
    return chunks


def _participles(chunks: list[Chunk], tokens: Sequence[Token]) -> None:
    """A past form with another finite verb after it and no other subject is a participle: "a boat called X sank"."""
    for i in range(1, len(chunks)):
        this = chunks[i]
        if this.kind != "VF" or len(this.at) > 1 or tokens[this.start].tag != "VD":
            continue
        lower = tokens[this.start].lower
        forms = verb_forms().get(lower)
        if chunks[i - 1].kind != "NP" or not forms or lower not in forms[3:]:
            continue
        if forms[0] in REPORTING and (i + 1 == len(chunks) or chunks[i + 1].kind not in ("PP", "RB", "VI", "TM")):
            continue
        for j in range(i + 1, len(chunks)):
            kind = chunks[j].kind
            if kind == "VF":
                second = tokens[chunks[j].start]
                second_forms = verb_forms().get(second.lower, ())
                if (
                    j == i + 2
                    and chunks[j - 1].kind == "NP"
                    and forms[0] not in NAMING
                    and (
                        len(chunks[j].at) == 1
                        and second.lower in second_forms[3:]
                        and j + 1 < len(chunks)
                        and chunks[j + 1].kind in ("VI", "PP")
                    )
                ):
                    chunks[j].kind = "VN"  # "tried two additives meant to seal cracks"
                elif j > i + 1 and second.tag != "VB":
                    this.kind = "VN"
                break
            if kind in ("CC", "CM", "PU", "WH", "TH", "SB", "PR", "QT") or (
                kind == "VG" and verb_forms().get(tokens[chunks[j].end].lower, ("",))[0] in REPORTING
            ):
                break


def _bare_infinitives(chunks: list[Chunk], tokens: Sequence[Token]) -> None:
    """ "made the router wait": the second verb belongs to the first."""
    for i in range(1, len(chunks)):
        before = verb_forms().get(tokens[chunks[i - 1].end].lower, ("",))[0]
        if chunks[i].kind == "VF" and chunks[i - 1].kind in ("VF", "VI", "VG") and before == "help":
            chunks[i].kind = "VI"  # "to help find"
    for i in range(2, len(chunks)):
        if chunks[i].kind == "VF" and len(chunks[i].at) == 1 and tokens[chunks[i].start].tag in ("VB", "VZ"):
            forms = verb_forms().get(tokens[chunks[i - 2].end].lower)
            if (
                chunks[i - 1].kind in ("NP", "PR")
                and chunks[i - 2].kind in ("VF", "VI")
                and forms
                and forms[0] in ("make", "let", "help", "watch", "see", "hear")
                and verb_forms().get(tokens[chunks[i].start].lower, ("",))[0] == tokens[chunks[i].start].lower
            ):
                chunks[i].kind = "VI"


_TIME_HEADS = frozenset(
    "day days week weeks weekend month months year years season night morning evening afternoon summer winter spring "
    "autumn time times today tonight yesterday tomorrow monday tuesday wednesday thursday friday saturday sunday hour "
    "hours minute minutes decade century".split()
)


_TIME_LEADS = frozenset("this last next every each one that earlier later the all early late a".split())


def _is_time(at: list[int], tokens: Sequence[Token]) -> bool:
    head, first = tokens[at[-1]].lower, tokens[at[0]]
    return (
        head in _TIME_HEADS
        and len(at) <= 4
        and (
            (len(at) == 1 and not head.endswith(("s", "time")))
            or first.lower in _TIME_LEADS
            or first.tag in ("CD", "RB")
        )
    )


def _quotations(tokens: Sequence[Token], tags: list[str], n: int) -> dict[int, int]:
    """Start and end of each quotation that holds a verb and is longer than a phrase."""
    found: dict[int, int] = {}
    i = 0
    while i < n:
        closing = _QUOTES.get(tokens[i].text) if tags[i] in ("Q", "PO") and len(tokens[i].text) <= 2 else None
        opens = closing and (i == 0 or tokens[i].start > tokens[i - 1].end) and i + 1 < len(tokens)
        if opens and (tokens[i + 1].start == tokens[i].end or tokens[i].text == "``"):
            j = i + 1
            while j < n and not (
                tokens[j].text in (closing, "'", "’", "''", "”")
                and tokens[j].start == tokens[j - 1].end
                and (j + 1 >= n or tokens[j + 1].start > tokens[j].end or tags[j + 1] in ("CM", "PU"))
            ):
                j += 1
            end = min(j, n - 1)
            if end - i > 4 and any(tags[k] in FINITE or tags[k] in _VERB for k in range(i, end)):
                found[i] = end
                i = end + 1
                continue
        i += 1
    return found


def _verb_group(tokens: Sequence[Token], tags: list[str], i: int, n: int) -> Chunk | None:
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
        elif tag in _VERB and (
            k == start_main or tags[last] in _AUXILIARY or tokens[last].lower in ("being", "having")
        ):
            last = k
            k += 1
            break
        else:
            break
    at = list(range(i, last + 1))
    k = last + 1
    if (
        k < n
        and tags[last] in _VERB
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


def _phrase(tokens: Sequence[Token], tags: list[str], i: int, n: int) -> Chunk:
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
        rest = _phrase(tokens, tags, i + 1, n)
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
        group = _verb_group(tokens, tags, j if tags[j] == "VG" else j + 1, n)
        return Chunk("PG", list(range(i, group.end + 1)))
    if j < n and tags[j] in _NOMINAL:
        end = _noun_phrase(tokens, tags, j, n)
        return Chunk("PP", list(range(i, end)), list(range(j, end)))
    if j < n and tags[j] == "PR":
        last = j + (j + 1 < n and tokens[j + 1].lower in _AFTER_PRONOUNS)
        return Chunk("PP", list(range(i, last + 1)), list(range(j, last + 1)))
    return Chunk("RB", list(range(i, max(j, i + 1))))
