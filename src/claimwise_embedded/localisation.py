"""Marks the words of a summary that the word checkers doubt."""

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
    """A content word of a summary: its characters, the probability that it is unsupported, and whether the document
    does not have its stem."""

    start: int
    end: int
    doubt: float
    absent: bool


class Localiser:
    """Marks words. It reads summaries sentence by sentence.

    Args:
        verifier: has the checkers, and a memory of texts that were read. By default one with the supervised weights.

    >>> document = "The harbour reopened on Monday. Ana Reyes paid for the repairs."
    >>> [words] = Localiser().mark([document], ["The harbour reopened on Friday."])
    >>> [("The harbour reopened on Friday."[w.start:w.end], w.absent) for w in words]
    [('harbour', False), ('reopened', False), ('Friday', True)]
    """

    def __init__(self, verifier: Verifier | None = None) -> None:
        verifier = verifier or Verifier()
        self._heads, self._reader = verifier.heads, verifier.reader

    def mark(self, documents: Sequence[str], summaries: Sequence[str]) -> list[list[DoubtedWord]]:
        """Return the content words of every summary, in order.

        A training document's words are doubted by the checkers that have not seen it, others' by the mean of all checkers.
        """
        by_summary = [text.sentences(summary) for summary in summaries]
        read = self._reader.read(documents, [[s.text for s in sentences] for sentences in by_summary])
        marked = []
        for document, sentences, items in zip(documents, by_summary, read, strict=True):
            checkers = sorted({fold % len(self._heads.checkers) for fold in self._heads.unseen_by(document)})
            document_stems, words = stems(document), []
            for sentence, evidence in zip(sentences, items, strict=True):
                if not isinstance(evidence, str):
                    spans = word_spans(sentence.text)
                    doubts = sigmoid(evidence.doubts[checkers]).mean(axis=0).tolist()
                    for (a, b), doubt in zip((spans[i] for i in evidence.content), doubts, strict=True):
                        absent = stem(sentence.text[a:b]) not in document_stems
                        words.append(DoubtedWord(sentence.start + a, sentence.start + b, doubt, absent))
            marked.append(words)
        return marked


def marked_words(examples: pd.DataFrame, spans: pd.DataFrame, localiser: Localiser) -> pd.DataFrame:
    """Return the content words of summaries in which people marked spans that the document does not support.

    Args:
        examples: a corpus's examples. Those with spans are read: only the test split, or all if none is in it.
        spans: its marked spans: ``example_id, start, end`` (characters of the summary).
        localiser: says how doubtful each word is.

    Returns:
        One row for each word: ``split, example_id, document_id, span`` (the number of its span in the summary, -1
        for none), ``doubt`` in [0, 1] and ``absent`` (1 or 0), as in ``DoubtedWord``. And one row with NaN for each span
        without a content word.
    """
    by_example = dict(iter(spans.groupby("example_id")))
    examples = examples[examples["id"].isin(by_example)]
    if (examples["split"] == "test").any():
        examples = examples[examples["split"] == "test"]
    rows = []
    marked = localiser.mark(examples["document"].tolist(), examples["summary"].tolist())
    for example, words in zip(examples.itertuples(), marked, strict=True):
        edges = list(zip(by_example[example.id]["start"], by_example[example.id]["end"], strict=True))
        places = [next((n for n, (a, b) in enumerate(edges) if w.start < b and a < w.end), -1) for w in words]
        keys = (example.split, example.id, example.document_id)
        rows += [(*keys, n, word.doubt, float(word.absent)) for n, word in zip(places, words, strict=True)]
        rows += [(*keys, n, np.nan, np.nan) for n in range(len(edges)) if n not in places]
    return pd.DataFrame(rows, columns=["split", "example_id", "document_id", "span", "doubt", "absent"])
