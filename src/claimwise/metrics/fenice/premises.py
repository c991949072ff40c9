"""The premises of FENICE: sentences, windows, coreference variants and the whole document, all within a model's limit.

A text that is too long for the model becomes overlapping windows, of whole sentences if they fit and otherwise of words.
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

#: The largest share of a window that the next window repeats, if a text is cut into windows.
OVERLAP = 0.25

_TOKEN = re.compile(r"\S+")

#: Possessive pronouns. "Her" is missing: it may be possessive ("her team") or not ("saw her").
_POSSESSIVE = frozenset("his its their our my your".split())
#: Words that never follow a possessive pronoun, as in "saw her on Monday".
_NEVER_OWNED = frozenset(
    "to in on at for from with by and or but as when while after before that because if of".split()
)
#: A pronoun's form at the beginning of a sentence, and its possessive form.
_SUBJECT = {"him": "he", "her": "she", "them": "they"}
_OWNING = {"he": "his", "him": "his", "she": "her", "it": "its", "they": "their", "them": "their"}
_DETERMINERS = frozenset("the a an this that these those".split())

Count = Callable[[Sequence[str]], list[int]]


class Premise(NamedTuple):
    """A text that may entail a claim, and its place: sentences ``first:last`` and characters ``start:end``.

    ``text`` is that of the document, with sentences joined by single spaces. A coreference variant has one mention
    replaced.
    """

    text: str
    first: int
    last: int
    start: int
    end: int


class Passages:
    """The premises of one document.

    Args:
        document: its text.
        count: returns the number of tokens of each text (``Entailment.count``).
        resolver: finds the mentions for coreference variants; without one there are no variants.

    >>> passages = Passages("It rained. Ann ran. Bo hid.", lambda texts: [len(t.split()) for t in texts])
    >>> [p.text for p in passages.windows(2, None)]
    ['It rained. Ann ran.', 'Ann ran. Bo hid.']
    >>> [p.text for p in passages.whole(4)]
    ['It rained. Ann ran.', 'Bo hid.']
    """

    def __init__(self, document: str, count: Count, resolver: Resolver | None = None) -> None:
        self._document, self._count, self._resolver = document, count, resolver
        self.spans = text.sentences(document)
        self._windows: dict[tuple[int, int | None, tuple[int, ...] | None], tuple[Premise, ...]] = {}

    @cached_property
    def chains(self) -> list[Chain]:
        """The document's chains of mentions, found at first use."""
        return self._resolver.chains(self._document) if self._resolver else []

    @cached_property
    def _lengths(self) -> list[int]:
        return self._count([span.text for span in self.spans])

    def windows(self, size: int, room: int | None, near: tuple[int, ...] | None = None) -> tuple[Premise, ...]:
        """Return the windows of ``size`` sentences, stride 1 (FENICE equation 5); a shorter document is one window.

        Args:
            size: the sentences of a window.
            room: the most tokens of a premise; None if there is no limit. A longer window becomes several premises.
            near: the indices of some sentences. Only as many windows are returned: those that have most of these
                sentences, in the document's order. None returns all windows.
        """
        size = min(size, len(self.spans))
        if (size, room, near) not in self._windows:
            starts = range(len(self.spans) - size + 1)
            if near is not None:
                near_counts: Counter[int] = Counter()  # how many of the near sentences each window has, by its start
                for i in near:
                    near_counts.update(range(max(i - size + 1, starts[0]), min(i, starts[-1]) + 1))
                starts = sorted(sorted(near_counts, key=lambda start: (-near_counts[start], start))[: len(near)])
            self._windows[size, room, near] = tuple(one for i in starts for one in self._window(i, i + size, room))
        return self._windows[size, room, near]

    def whole(self, room: int | None) -> tuple[Premise, ...]:
        """Return the whole document as one premise, or as overlapping windows if it is too long."""
        return self.windows(len(self.spans), room)

    def variants(self, premise: Premise, room: int | None) -> tuple[Premise, ...]:
        """Return the premise with one mention replaced by another of its chain, each in turn (FENICE equation 4).

        Variants with more tokens than ``room`` are left out.
        """
        texts = variants(self._document, premise.start, premise.end, self.chains)
        if room is not None:
            texts = [text for text, size in zip(texts, self._count(texts), strict=True) if size <= room]
        return tuple(premise._replace(text=text) for text in texts)

    def _window(self, first: int, last: int, room: int | None) -> list[Premise]:
        """Return sentences ``first:last`` as one premise, or as several if they are too long."""
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
        """Return the characters (start, end) of a sentence's words; a word that does not fit alone is cut anywhere."""
        words = [word.span() for word in _TOKEN.finditer(self._document, span.start, span.end)]
        sizes = self._count([self._document[start:end] for start, end in words])
        step = max(room // 4, 1)  # a character has at most four bytes, and so at most four tokens
        fitting = []
        for (start, end), size in zip(words, sizes, strict=True):
            if size <= room:
                fitting.append((start, end))
            else:
                fitting += [(i, min(i + step, end)) for i in range(start, end, step)]
        return fitting

    def _premise(self, units: Sequence[tuple[int, int, int]]) -> Premise:
        """Make one premise of units (sentence, start, end); it includes the text between two units of a sentence."""
        sentences = [list(same) for _, same in groupby(units, key=lambda unit: unit[0])]
        joined = " ".join(self._document[parts[0][1] : parts[-1][2]] for parts in sentences)
        return Premise(joined, units[0][0], units[-1][0] + 1, units[0][1], units[-1][2])


def overlapping(lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Divide units into overlapping runs, each with at most ``room`` tokens or a single unit.

    Args:
        lengths: the tokens of each unit.
        room: the most tokens of a run.

    Returns:
        The runs (first, last). A run repeats units from the end of the one before, up to ``OVERLAP`` of the room.

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
        # Go back over units to repeat, as long as this leaves room for the next unit.
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
    """Return the passage ``document[start:end]`` with one mention replaced by another of its chain, each in turn.

    Every mention in the passage is replaced by every other form that its chain has in the document. Forms that differ only
    in case are the same. A possessive stays possessive ("his" becomes "Ann's"), and the passage's first word stays
    capitalised. A mention that is the whole passage is not replaced, since nothing of the passage would be left.

    >>> document = "Ann Lee won. Her team cheered."
    >>> variants(document, 13, 30, [((0, 7), (13, 16))])
    ["Ann Lee's team cheered."]
    """
    passage = document[start:end]
    texts: dict[str, None] = {}
    for chain in chains:
        inside = [span for span in chain if start <= span[0] and span[1] <= end]
        forms = _forms(document, chain) if inside else {}
        for a, b in inside:
            mention = document[a:b]
            if not re.search(r"\w", passage[: a - start] + passage[b - start :]):
                continue
            apostrophe = document[b : b + 2] in ("'s", "’s")  # the resolver leaves it out of the mention
            possessive = apostrophe or _is_possessive(document, a, b)
            after = passage[(b + 2 if apostrophe else b) - start :]
            for form, only_possessive in forms.items():
                if _bare(form).lower() != _bare(mention).lower() and (possessive or not only_possessive):
                    texts[passage[: a - start] + _fit(form, possessive, a == start) + after] = None
    texts.pop(passage, None)
    return list(texts)


def _forms(document: str, chain: Chain) -> dict[str, bool]:
    """Return the forms of a chain's mentions, and whether each is a pronoun that is always possessive ("its team")."""
    forms: dict[str, tuple[str, bool]] = {}
    for a, b in chain:
        text = document[a:b]
        possessive = is_pronoun(text) and _is_possessive(document, a, b)
        first, so_far = forms.get(text.lower(), (text, True))
        forms[text.lower()] = first, possessive and so_far
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
    """Adapt a form to the place of the mention that it replaces: possessive or not, first in the passage or not."""
    new = _bare(form)
    if possessive and not is_pronoun(new):
        new += "'" if new.endswith("s") else "'s"
    elif possessive:
        new = _OWNING.get(new.lower(), new)
    if first:  # here it is the subject
        new = new if possessive else _SUBJECT.get(new.lower(), new)
        return new[:1].upper() + new[1:]
    small = is_pronoun(new) or new.split(" ")[0].lower() in _DETERMINERS
    return new[:1].lower() + new[1:] if small else new
