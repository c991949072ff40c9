"""Where in a summary is the error? The word checkers' doubts, with their places in the text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from claimwise import text
from claimwise.words import stem
from claimwise_embedded.evidence import stems, word_spans
from claimwise_embedded.heads import sigmoid
from claimwise_embedded.verifier import Verifier


class DoubtedWord(NamedTuple):
    """A content word of a summary: its characters, the probability that it is not supported, and whether the document
    has no word of its stem."""

    start: int
    end: int
    doubt: float
    absent: bool


class Localiser:
    """Marks words; reads summaries sentence by sentence as the verifier does.

    Args:
        verifier: with its checkers and its memory of what was read; one with the supervised weights, if not given.

    >>> document = "The harbour reopened on Monday. Ana Reyes paid for the repairs."
    >>> [words] = Localiser().mark([document], ["The harbour reopened on Friday."])
    >>> [("The harbour reopened on Friday."[w.start:w.end], w.absent) for w in words]
    [('harbour', False), ('reopened', False), ('Friday', True)]
    """

    def __init__(self, verifier: Verifier | None = None) -> None:
        verifier = verifier or Verifier()
        self._heads, self._reader = verifier.heads, verifier.reader

    def mark(self, documents: Sequence[str], summaries: Sequence[str]) -> list[list[DoubtedWord]]:
        """The content words of every summary, in order; of a document that was trained on, by the checker that has not
        seen it, else by the mean of all."""
        sentences = [text.sentences(summary) for summary in summaries]
        found = self._reader.read(documents, [[s.text for s in several] for several in sentences])
        marked = []
        for document, several, items in zip(documents, sentences, found, strict=True):
            asked = sorted({fold % len(self._heads.checkers) for fold in self._heads.unseen_by(document)})
            known, words = stems(document), []
            for sentence, evidence in zip(several, items, strict=True):
                if not isinstance(evidence, str):
                    spans = word_spans(sentence.text)
                    doubts = sigmoid(evidence.doubts[asked]).mean(axis=0).tolist()
                    for (a, b), doubt in zip((spans[i] for i in evidence.content), doubts, strict=True):
                        absent = stem(sentence.text[a:b]) not in known
                        words.append(DoubtedWord(sentence.start + a, sentence.start + b, doubt, absent))
            marked.append(words)
        return marked


def marked_words(examples: pd.DataFrame, spans: pd.DataFrame, localiser: Localiser) -> pd.DataFrame:
    """The content words of summaries in which people marked spans that the document does not support.

    Args:
        examples: a corpus's; of those with spans the test ones are read, or all if there is none among them.
        spans: its marked spans: ``example_id, start, end`` (characters of the summary).
        localiser: says how doubtful each word is.

    Returns:
        One row a word: ``split, example_id, document_id, span`` (the number of the summary's span that it stands in, -1
        for none), ``doubt`` in [0, 1] and ``absent`` (1 or 0), as in ``DoubtedWord``; and one row with NaN for each span
        that holds no content word.
    """
    marked = dict(iter(spans.groupby("example_id")))
    examples = examples[examples["id"].isin(marked)]
    if (examples["split"] == "test").any():
        examples = examples[examples["split"] == "test"]
    rows = []
    found = localiser.mark(examples["document"].tolist(), examples["summary"].tolist())
    for example, words in zip(examples.itertuples(), found, strict=True):
        edges = list(zip(marked[example.id]["start"], marked[example.id]["end"], strict=True))
        places = [next((n for n, (a, b) in enumerate(edges) if w.start < b and a < w.end), -1) for w in words]
        known = (example.split, example.id, example.document_id)
        rows += [(*known, n, word.doubt, float(word.absent)) for n, word in zip(places, words, strict=True)]
        rows += [(*known, n, np.nan, np.nan) for n in range(len(edges)) if n not in places]
    return pd.DataFrame(rows, columns=["split", "example_id", "document_id", "span", "doubt", "absent"])
