"""The premises of FENICE: sentences, windows, coreference variants and the whole document, none over a model's limit.

A text that is too long for the model becomes windows that overlap, whole sentences where they fit, else words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from claimwise import text
from claimwise.metrics.fenice.coreference import Chain, Resolver, is_pronoun

#: Neighbouring windows of a text that was cut share up to this part of what fits.
OVERLAP = 0.25

_TOKEN = re.compile(r"\S+")

#: Pronouns that own; "her" may be one ("her team") or none ("saw her").
_POSSESSIVE = frozenset("his its their our my your".split())
#: Words that no possessive stands before: "saw her on Monday".
_NEVER_OWNED = frozenset(
    "to in on at for from with by and or but as when while after before that because if of".split()
)
#: The form of a pronoun where a sentence begins, and that which owns.
_SUBJECT = {"him": "he", "her": "she", "them": "they"}
_OWNING = {"he": "his", "him": "his", "she": "her", "it": "its", "they": "their", "them": "their"}
_DETERMINERS = frozenset("the a an this that these those".split())

Count = Callable[[Sequence[str]], list[int]]


class Premise(NamedTuple):
    """A text that may entail a claim and where it stands: sentences first to last, characters start to end.

    ``text`` is the document's, with its sentences joined by single spaces; in a coreference variant a mention of
    it is replaced.
    """

    text: str
    first: int
    last: int
    start: int
    end: int


class Passages:
    """One document as premises, whose tokens ``count`` counts (``Entailment.count``).

    >>> passages = Passages("It rained. Ann ran. Bo hid.", lambda texts: [len(t.split()) for t in texts])
    >>> [p.text for p in passages.windows(2, None)]
    ['It rained. Ann ran.', 'Ann ran. Bo hid.']
    >>> [p.text for p in passages.whole(4)]
    ['It rained. Ann ran.', 'Bo hid.']
    """

    def __init__(self, document: str, count: Count, resolver: Resolver | None = None) -> None:
        self._document, self._count, self._resolver = document, count, resolver
        self.spans = text.sentences(document)
        self._made: dict[tuple[int, int | None, tuple[int, ...] | None], tuple[Premise, ...]] = {}

    @cached_property
    def chains(self) -> list[Chain]:
        """The document's chains of mentions, found at first use."""
        return self._resolver.chains(self._document) if self._resolver else []

    @cached_property
    def _lengths(self) -> list[int]:
        return self._count([span.text for span in self.spans])

    def windows(self, size: int, room: int | None, near: tuple[int, ...] | None = None) -> tuple[Premise, ...]:
        """Runs of ``size`` sentences, stride 1 (FENICE equation 5); a shorter document is one run.

        A run of more tokens than ``room`` becomes several premises. Of the runs it is all, or as many as there are
        sentences in ``near``: those that hold most of these, in their order.
        """
        size = min(size, len(self.spans))
        if (size, room, near) not in self._made:
            starts = range(len(self.spans) - size + 1)
            if near is not None:
                held: Counter[int] = Counter()  # by its start, how many of the near sentences a run holds
                for at in near:
                    held.update(range(max(at - size + 1, starts[0]), min(at, starts[-1]) + 1))
                starts = sorted(sorted(held, key=lambda start: (-held[start], start))[: len(near)])
            self._made[size, room, near] = tuple(made for i in starts for made in self._run(i, i + size, room))
        return self._made[size, room, near]

    def whole(self, room: int | None) -> tuple[Premise, ...]:
        """The whole document as one premise, or as overlapping windows where it is too long."""
        return self.windows(len(self.spans), room)

    def variants(self, premise: Premise, room: int | None) -> tuple[Premise, ...]:
        """The premise with one mention replaced by another of its chain, each in turn (FENICE equation 4).

        A variant that no longer fits is left out: the premise itself stays in any case.
        """
        texts = variants(self._document, premise.start, premise.end, self.chains)
        if room is not None:
            texts = [made for made, size in zip(texts, self._count(texts), strict=True) if size <= room]
        return tuple(premise._replace(text=made) for made in texts)

    def _run(self, first: int, last: int, room: int | None) -> list[Premise]:
        spans = self.spans[first:last]
        if room is None or sum(self._lengths[first:last]) <= room:
            return [self._premise([(i, span.start, span.end) for i, span in enumerate(spans, first)])]
        units: list[tuple[int, int, int]] = []
        for i, span in enumerate(spans, first):
            parts = [(span.start, span.end)] if self._lengths[i] <= room else self._words(span, room)
            units += [(i, start, end) for start, end in parts]
        lengths = self._count([self._document[start:end] for _, start, end in units])
        return [self._premise(units[a:b]) for a, b in overlapping(lengths, room)]

    def _words(self, span: text.Span, room: int) -> list[tuple[int, int]]:
        """The words of a sentence; one that does not fit alone (no white space in it) is cut anywhere."""
        found = [word.span() for word in _TOKEN.finditer(self._document, span.start, span.end)]
        sizes = self._count([self._document[start:end] for start, end in found])
        step = max(room // 4, 1)  # a character is at most four bytes, hence four tokens of any byte-level vocabulary
        words = []
        for (start, end), size in zip(found, sizes, strict=True):
            if size <= room:
                words.append((start, end))
            else:
                words += [(at, min(at + step, end)) for at in range(start, end, step)]
        return words

    def _premise(self, units: Sequence[tuple[int, int, int]]) -> Premise:
        """One premise of (sentence, start, end) in order; what stands between two units of a sentence is part of it."""
        sentences = [list(same) for _, same in groupby(units, key=lambda unit: unit[0])]
        joined = " ".join(self._document[parts[0][1] : parts[-1][2]] for parts in sentences)
        return Premise(joined, units[0][0], units[-1][0] + 1, units[0][1], units[-1][2])


def overlapping(lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Runs (first, last) of units that fit and share up to ``OVERLAP`` of the room with the run before.

    >>> overlapping([4, 4, 2, 4, 4], 10)
    [(0, 3), (2, 5)]
    """
    runs: list[tuple[int, int]] = []
    start = end = 0
    while end < len(lengths):
        filled = sum(lengths[start:end])
        while end < len(lengths) and (end == start or filled + lengths[end] <= room):
            filled += lengths[end]
            end += 1
        runs.append((start, end))
        previous, start, shared = start, end, 0
        # Go back over units to share, where that leaves room for the next unit.
        while (
            end < len(lengths)
            and start - 1 > previous
            and shared + lengths[start - 1] <= OVERLAP * room
            and shared + lengths[start - 1] + lengths[end] <= room
        ):
            start -= 1
            shared += lengths[start]
    return runs


def variants(document: str, start: int, end: int, chains: Iterable[Chain]) -> list[str]:
    """The passage ``document[start:end]`` with one mention replaced by another of its chain, each in turn.

    Every mention in the passage is replaced by every other form that its chain has in the document, forms that
    differ in case only being one. A possessive stays possessive ("his" becomes "Ann's"), the first word of the
    passage stays capitalised. A mention that is the whole passage is not replaced: nothing of what the passage
    says would be left.

    >>> document = "Ann Lee won. Her team cheered."
    >>> variants(document, 13, 30, [((0, 7), (13, 16))])
    ["Ann Lee's team cheered."]
    """
    passage = document[start:end]
    found: dict[str, None] = {}
    for chain in chains:
        inside = [span for span in chain if start <= span[0] and span[1] <= end]
        forms = _forms(document, chain) if inside else {}
        for a, b in inside:
            mention = document[a:b]
            if not re.search(r"\w", passage[: a - start] + passage[b - start :]):
                continue
            marked = document[b : b + 2] in ("'s", "’s")  # the resolver leaves it out of the mention
            possessive = marked or _is_possessive(document, a, b)
            rest = passage[(b + 2 if marked else b) - start :]
            for form, owns in forms.items():
                if _bare(form).lower() != _bare(mention).lower() and (possessive or not owns):
                    found[passage[: a - start] + _fit(form, possessive, a == start) + rest] = None
    found.pop(passage, None)
    return list(found)


def _forms(document: str, chain: Chain) -> dict[str, bool]:
    """The forms of a chain's mentions, by first occurrence, and whether it is a pronoun that only ever owns ("its team")."""
    forms: dict[str, tuple[str, bool]] = {}
    for a, b in chain:
        text = document[a:b]
        owns = is_pronoun(text) and _is_possessive(document, a, b)
        first, before = forms.get(text.lower(), (text, True))
        forms[text.lower()] = first, owns and before
    return dict(forms.values())


def _is_possessive(document: str, start: int, end: int) -> bool:
    mention = document[start:end].lower()
    if mention == "her":
        following = re.match(r"\s{1,19}([a-z]\w*)", document[end : end + 30])
        return following is not None and following[1] not in _NEVER_OWNED
    return mention in _POSSESSIVE or mention.endswith(("'s", "’s"))


def _bare(form: str) -> str:
    return re.sub(r"['’]s$", "", form)


def _fit(form: str, possessive: bool, first: bool) -> str:
    """A form as it must stand where another one stood: owning or not, and first in the passage or not."""
    new = _bare(form)
    if possessive and not is_pronoun(new):
        new += "'" if new.endswith("s") else "'s"
    elif possessive:
        new = _OWNING.get(new.lower(), new)
    if first:  # where the subject stands
        new = new if possessive else _SUBJECT.get(new.lower(), new)
        return new[:1].upper() + new[1:]
    small = is_pronoun(new) or new.split(" ")[0].lower() in _DETERMINERS
    return new[:1].lower() + new[1:] if small else new
