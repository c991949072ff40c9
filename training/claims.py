"""Rows that the decomposer makes: claims of judged summaries, and claims of documents told in other words.

What metrics ask the verifier about are claims, which are shorter than sentences and restore subjects; so it learns from
claims as well. Claims of a document's own sentences, its sentences told otherwise, and what language models' faithful
summaries say are supported though their words are not the document's; edits of them are not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from claimwise import prompts
from claimwise.corpora import Corpus
from claimwise_embedded.decomposer import decompose
from claimwise_embedded.verifier import document_hash
from training.data import LOWERED, RETOLD, Row, edited_rows, own_sentences, sentences, training_examples
from training.retelling import retold

_PROMPT = "acueval-decompose-5shot"  # the default metric's
#: Corpora of claims: a row's summary is one already, or is made of claims.
_OF_CLAIMS = ("rose", "factcg", "factcheck_gpt")

#: Documents of a corpus that are told in other words, and statements taken from all of them, and from one at most.
_DOCUMENTS = {"rose": 600, "factcg": 350, "factcheck_gpt": 350}
_DOCUMENTS_ELSE, _STATEMENTS, _STATEMENTS_OF_ROSE, _OF_ONE = 500, 800, 2400, 8
#: The corpus of language models' summaries, the published score from which one counts as faithful, and statements taken of
#: a document's.
_SUMMARIES, _FAITHFUL, _OF_SUMMARIES = "vectara_training", 0.9, 40


class Telling(NamedTuple):
    """A document of a corpus, and how many of its statements are told in other words."""

    corpus: str
    document: str
    statements: int


def judged_once(rows: Sequence[Row]) -> list[Row]:
    """Each summary that somebody has judged, with the statements that it came with first, equal documents together."""
    once: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        if not row.synthetic and row.corpus not in _OF_CLAIMS:
            once.setdefault((row.corpus, row.document, row.summary), row)
    return sorted(once.values(), key=lambda row: document_hash(row.document))


def decomposed_rows(judged: Sequence[Row]) -> list[Row]:
    """Judged summaries once more, with the decomposer's claims as statements; those that it leaves as they are, not.

    Of an unfaithful summary it is only known that one of its claims is wrong.
    """
    done = decompose([row.summary for row in judged], prompts.load(_PROMPT))
    claims = [tuple(claim.text for claim in decomposition.claims) for decomposition in done]
    return [
        replace(row, statements=own, wrong=() if row.label else None, decomposed=True)
        for row, own in zip(judged, claims, strict=True)
        if own and own != row.statements
    ]


def tellings(corpora: Mapping[str, Corpus]) -> list[Telling]:
    """Which documents are told in other words: of every corpus that is learned from, none that is tested on."""
    found: list[Telling] = []
    for name, source, examples in training_examples(corpora):
        documents = sorted(examples["document"].unique(), key=document_hash)
        documents = documents[: _DOCUMENTS.get(name, _DOCUMENTS_ELSE)]
        wanted = _STATEMENTS_OF_ROSE if name == "rose" else _STATEMENTS
        count = min(_OF_ONE, math.ceil(wanted / max(len(documents), 1)))
        found += [Telling(source, document, count) for document in documents]
    return sorted(found, key=lambda telling: document_hash(telling.document))


def retold_rows(told: Sequence[Telling], strangers: Sequence[str]) -> list[Row]:
    """Half of a document's statements are its sentences, half the decomposer's claims of two neighbouring ones; in
    other words, and with edits of each.

    Args:
        told: documents.
        strangers: claims of other documents, for errors from outside.
    """
    rows: list[Row] = []
    for corpus, document, statements in told:
        rng = random.Random(document_hash(document) + 1)
        half = math.ceil(statements / 2)
        true = [retold(sentence, rng) for sentence in own_sentences(document, half, rng)]
        claims = _own_claims(document, half, rng)
        true += [retold(claim, rng) if rng.random() < 0.5 else claim for claim in claims]
        lowered = corpus == "rose" and rng.random() < LOWERED
        rows += edited_rows(corpus + RETOLD, document, list(dict.fromkeys(true)), strangers, rng, lowered)
    return rows


def summarised(corpora: Mapping[str, Corpus]) -> list[tuple[str, tuple[str, ...]]]:
    """Documents that language models have summarised, with the summaries that a published detector finds faithful."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for name, _, examples in training_examples(corpora):
        if name == _SUMMARIES:
            scores = corpora[name].scores.set_index("example_id")["score"]
            faithful = examples[examples["id"].map(scores) >= _FAITHFUL]
            found += [(d, tuple(own["summary"])) for d, own in faithful.groupby("document", sort=False)]
    return sorted(found, key=lambda item: document_hash(item[0]))


def summarised_rows(told: Sequence[tuple[str, tuple[str, ...]]], strangers: Sequence[str]) -> list[Row]:
    """Half of the statements are sentences of the summaries that are not the document's own, half the decomposer's claims
    of others; with edits of each. ``strangers`` as in ``retold_rows``."""
    rows: list[Row] = []
    for document, summaries in told:
        rng = random.Random(document_hash(document) + 2)
        theirs = dict.fromkeys(s for summary in summaries for s in sentences(summary) if s not in document)
        fitting = [sentence for sentence in theirs if 6 <= len(sentence.split()) <= 40]
        drawn = rng.sample(fitting, min(_OF_SUMMARIES, len(fitting)))
        half = math.ceil(len(drawn) / 2)
        true = drawn[:half] + _claims_of(drawn[half:], rng)
        rows += edited_rows(_SUMMARIES + RETOLD, document, list(dict.fromkeys(true)), strangers, rng, False)
    return rows


def _own_claims(document: str, count: int, rng: random.Random) -> list[str]:
    """One claim of each of so many pairs of neighbouring sentences."""
    own = sentences(document)
    if not own:
        return []
    starts = [rng.randrange(len(own)) for _ in range(count)]
    pairs = [" ".join(own[start : start + 2]) for start in starts]
    return _claims_of([pair for pair in pairs if 8 <= len(pair.split()) <= 70], rng)


def _claims_of(passages: Sequence[str], rng: random.Random) -> list[str]:
    """One claim of each passage that has one of middling length."""
    claims = []
    for done in decompose(passages, prompts.load(_PROMPT)):
        fitting = [claim.text for claim in done.claims if 4 <= len(claim.text.split()) <= 30]
        if fitting:
            claims.append(rng.choice(fitting))
    return claims
