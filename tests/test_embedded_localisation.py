"""Which words of a summary are doubted, and whether people marked errors in the same places."""

import numpy as np
import pytest

from claimwise.corpora.base import Rows
from claimwise_embedded.heads import document_hash
from claimwise_embedded.localisation import DoubtedWord, Localiser, marked_words


class FakeLocaliser:
    """Every word of a summary is doubted, by a tenth more each; "Mars" is absent."""

    def mark(self, documents, summaries):
        return [
            [
                DoubtedWord(summary.index(word), summary.index(word) + len(word), n / 10, word == "Mars")
                for n, word in enumerate(summary.split())
            ]
            for summary in summaries
        ]


def test_words_stand_in_their_spans_and_a_span_without_a_word_is_counted():
    rows = Rows("toy")
    summary = "Ann flew to Mars on Monday"
    for split in ("validation", "test"):
        example = rows.example(split, document="Ann flew on Monday.", summary=summary, label=0, split=split)
        rows.marked(example, [(0, 3), (12, 16), (27, 27)])  # Ann, Mars, and a span without a word
        rows.example(split, "right", document="Ann flew.", summary="Ann flew", label=1, split=split)
    corpus = rows.corpus()
    found = marked_words(corpus.examples, corpus.spans, FakeLocaliser())
    assert set(found["split"]) == {"test"}
    assert found["span"].tolist() == [0, -1, -1, 1, -1, -1, 2]
    np.testing.assert_allclose(found["doubt"], [0, 0.1, 0.2, 0.3, 0.4, 0.5, np.nan])
    np.testing.assert_equal(found["absent"].tolist(), [0, 0, 0, 1, 0, 0, np.nan])
    validation = corpus.examples[corpus.examples["split"] == "validation"]
    assert set(marked_words(validation, corpus.spans, FakeLocaliser())["split"]) == {"validation"}


def test_words_are_marked_at_their_places_and_by_the_checker_that_has_not_seen_the_document(monkeypatch):
    document = "The harbour reopened on Monday. Ana Reyes paid for the repairs."
    summary = "The harbour reopened on Friday.  Ana Reyes paid 300 crowns."
    localiser = Localiser()
    [both] = localiser.mark([document], [summary])
    words = [summary[w.start : w.end] for w in both]
    assert words == ["harbour", "reopened", "Friday", "Ana", "Reyes", "paid", "300", "crowns"]
    assert [w for w, word in zip(words, both, strict=True) if word.absent] == ["Friday", "300", "crowns"]
    doubt = {w: word.doubt for w, word in zip(words, both, strict=True)}
    assert min(doubt["Friday"], doubt["300"]) > max(doubt["harbour"], doubt["Reyes"])
    fold = document_hash(document) % localiser._heads.folds
    seen = []
    for number in (fold, fold + 1):
        monkeypatch.setattr(type(localiser._heads), "unseen_by", lambda heads, document, n=number: [n])
        seen.append([w.doubt for w in localiser.mark([document], [summary])[0]])
    assert seen[0] != seen[1]
    assert np.mean(seen, axis=0) == pytest.approx([w.doubt for w in both], abs=1e-6)
