"""Chunks of a document that does not fit: how far neighbours overlap."""

from claimwise.models import chunks


def test_neighbouring_chunks_share_two_sentences():
    document = " ".join(f"Sentence {number} is here." for number in range(8))
    found = chunks.split(document, lambda part: len(part) <= 84)  # four sentences, and no fifth
    assert [chunk.sentences for chunk in found] == [(0, 1, 2, 3), (2, 3, 4, 5), (4, 5, 6, 7)]


def test_chunks_with_room_for_no_more_than_they_would_share_share_nothing():
    document = " ".join(f"Sentence {number} is here." for number in range(5))
    found = chunks.split(document, lambda part: len(part) <= 42)
    assert [chunk.sentences for chunk in found] == [(0, 1), (2, 3), (4,)]
