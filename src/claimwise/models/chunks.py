"""Parts of a document: chunks that fit a model's context, and the sentences most related to a claim."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from claimwise import text

_OVERLAP = 2  # sentences that neighbouring chunks share


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document and the indices of its sentences in ``text.sentences(document)``."""

    text: str
    sentences: tuple[int, ...] = ()


def split(document: str, fits: Callable[[str], bool]) -> list[Chunk]:
    """Divide a document into as few chunks of whole sentences as possible; nothing is left out.

    A chunk repeats the last two sentences of the one before if it then still has room for more. A sentence that does not
    fit alone is cut between words. If not even an empty text fits, there are no chunks.

    Args:
        document: the text.
        fits: whether a text is short enough. If a text fits, all shorter ones must fit, too.

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
        count = _largest(
            lambda n, first=start: fits(document[spans[first].start : spans[first + n - 1].end]), len(spans) - start
        )
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


def _largest(holds: Callable[[int], bool], limit: int) -> int:
    """Return the largest n from 0 to ``limit`` for which ``holds(n)`` is true, by bisection; 0 is not tested."""
    return limit - bisect_left(range(limit), True, key=lambda fewer: holds(limit - fewer))


def _cut(sentence: str, fits: Callable[[str], bool]) -> Iterator[str]:
    rest = sentence
    while rest:
        size = max(1, _largest(lambda n, rest=rest: fits(rest[:n]), len(rest)))
        space = rest.rfind(" ", 0, size + 1)
        size = size if size == len(rest) or space <= 0 else space  # a word that is too long is cut anywhere
        yield rest[:size]
        rest = rest[size:].lstrip()


def retrieve(document: str, claim: str, count: int = 5) -> Chunk:
    """Return the ``count`` sentences most related to a claim (``ranked``), in the document's order, as FActScore does.

    >>> retrieve("It rained. Ann won the race. They left.", "Ann won.", count=1)
    Chunk(text='Ann won the race.', sentences=(1,))
    """
    best = sorted(ranked(document, claim)[:count])
    spans = text.sentences(document)
    return Chunk(" ".join(spans[i].text for i in best), tuple(best))


def ranked(document: str, claim: str) -> list[int]:
    """Return the indices of the document's sentences, those most related to a claim first.

    A sentence's score is that of BM25 over the words that it shares with the claim. The weight of a word is
    log(1 + n / df), with the document's n sentences and the df of them that have the word.

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
    sentence_counts = Counter(word for bag in bags for word in bag)
    weights = {word: math.log1p(len(bags) / count) for word, count in sentence_counts.items()}
    return bags, weights, sum(bag.total() for bag in bags) / max(len(bags), 1) or 1.0
