"""Parts of a document: those that fit a model's context, and those that a claim is about."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from claimwise import text

_OVERLAP = 2  # sentences that neighbours share


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document and the indices of its sentences in ``text.sentences(document)``."""

    text: str
    sentences: tuple[int, ...] = ()


def split(document: str, fits: Callable[[str], bool]) -> list[Chunk]:
    """The fewest runs of whole sentences that fit; nothing is left out.

    A run repeats two sentences of the one before it, where that leaves it room to go on. A sentence that does not fit
    alone is cut at words. Where not even an empty text fits there is no chunk. ``fits`` says whether a text is
    short enough; shorter texts fit where longer ones do.

    >>> [c.text for c in split("One two. Three four. Five.", lambda t: len(t) <= 21)]
    ['One two. Three four.', 'Five.']
    """
    if fits(document):
        return [Chunk(document)]
    if not fits(""):
        return []
    spans = text.sentences(document)
    chunks: list[Chunk] = []
    start = 0
    while start < len(spans):
        count = _most(lambda n, at=start: fits(document[spans[at].start : spans[at + n - 1].end]), len(spans) - start)
        if count == 0:
            chunks += [Chunk(part, (start,)) for part in _cut(spans[start].text, fits)]
            start += 1
            continue
        end = start + count
        chunks.append(Chunk(document[spans[start].start : spans[end - 1].end], tuple(range(start, end))))
        if end == len(spans):
            break
        start = end - _OVERLAP if count > _OVERLAP else end
    return chunks


def _most(holds: Callable[[int], bool], limit: int) -> int:
    """The largest n in 0..limit for which it holds, found by halving."""
    return limit - bisect_left(range(limit), True, key=lambda fewer: holds(limit - fewer))


def _cut(sentence: str, fits: Callable[[str], bool]) -> Iterator[str]:
    rest = sentence
    while rest:
        size = max(1, _most(lambda n, rest=rest: fits(rest[:n]), len(rest)))
        space = rest.rfind(" ", 0, size + 1)
        size = size if size == len(rest) or space <= 0 else space  # an endless word is cut where it must be
        yield rest[:size]
        rest = rest[size:].lstrip()


def retrieve(document: str, claim: str, count: int = 5) -> Chunk:
    """The sentences most related to a claim (``ranked``), in the document's order (the passages that FActScore retrieves).

    >>> retrieve("It rained. Ann won the race. They left.", "Ann won.", count=1)
    Chunk(text='Ann won the race.', sentences=(1,))
    """
    best = sorted(ranked(document, claim)[:count])
    spans = text.sentences(document)
    return Chunk(" ".join(spans[i].text for i in best), tuple(best))


def ranked(document: str, claim: str) -> list[int]:
    """The document's sentences, by index, those most related to a claim first.

    They are ranked by the words they share with the claim, a word weighing log(1 + n / df) over the document's n
    sentences, and by length as BM25 does.

    >>> ranked("It rained. Ann won the race. Ann left.", "Ann won.")
    [1, 2, 0]
    """
    bags, weights, mean = _bags(document)
    wanted = set(text.words(claim))
    scores = [
        sum(
            weights[word] * 2.2 * bag[word] / (bag[word] + 0.3 + 0.9 * bag.total() / mean)
            for word in wanted & bag.keys()
        )
        for bag in bags
    ]
    return sorted(range(len(bags)), key=lambda i: -scores[i])


@lru_cache(maxsize=256)
def _bags(document: str) -> tuple[list[Counter], dict[str, float], float]:
    bags = [Counter(text.words(span.text)) for span in text.sentences(document)]
    found = Counter(word for bag in bags for word in bag)
    weights = {word: math.log1p(len(bags) / count) for word, count in found.items()}
    return bags, weights, sum(bag.total() for bag in bags) / max(len(bags), 1) or 1.0
