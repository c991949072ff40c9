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
PP    preposition and noun phrase or pronoun
PG    preposition and -ing form ("after moving")
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

from claimwise_embedded.clauses_phrases import VERB, Chunk, phrase, verb_group
from claimwise_embedded.clauses_tags import FINITE, NAMING, REPORTING, repaired
from claimwise_embedded.decomposer_tokens import Token, verb_forms

_QUOTES = {"'": "'", "‘": "’", '"': '"', "“": "”", "``": "''", "’": "’"}


def chunk(tokens: Sequence[Token]) -> list[Chunk]:
    """Chunks of one sentence, left to right; every token but the final full stop is in one of them.

    >>> from claimwise_embedded.decomposer_tokens import sentences
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
        found = verb_group(tokens, tags, i, n) or phrase(tokens, tags, i, n)
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
            if (
                kind == "CM"
                and i > 1
                and chunks[i - 2].kind == "CM"
                and j + 1 < len(chunks)
                and chunks[j + 1].kind == "VF"
            ):
                this.kind = "VN"  # "Delton Mills, a company founded in 1874, has ..."
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
            if end - i > 4 and any(tags[k] in FINITE or tags[k] in VERB for k in range(i, end)):
                found[i] = end
                i = end + 1
                continue
        i += 1
    return found
