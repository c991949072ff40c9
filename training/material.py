"""The verifier's training material: rows of all corpora, rows that the decomposer makes, and their evidence, read once.

Metrics verify claims, which are shorter than sentences and have restored subjects, so the verifier learns from claims, too.
Claims of a document's sentences, paraphrases of its sentences, and sentences of language models' faithful summaries are
supported though their words differ from the document's. Edits of them are not.
"""

from __future__ import annotations

import math
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import compress
from multiprocessing import get_context
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from claimwise import prompts
from claimwise.corpora import Corpus
from claimwise_embedded.decomposer import decompose
from claimwise_embedded.heads import document_hash
from claimwise_embedded.verifier import Reader
from training.data import (
    LOWERED,
    RETOLD,
    Found,
    Row,
    each_summary,
    edited_rows,
    own_sentences,
    sentences,
    strange_claims,
    training_examples,
    training_rows,
)
from training.retelling import retold

_PROMPT = "acueval-decompose-5shot"  # the default metric's
#: Corpora whose summaries are claims.
_OF_CLAIMS = ("rose", "factcg", "factcheck_gpt")

#: Documents of a corpus with paraphrases, statements from all of them, and the most statements from one.
_DOCUMENTS = {"rose": 600, "factcg": 350, "factcheck_gpt": 350}
_OTHER_DOCUMENTS, _STATEMENTS, _STATEMENTS_OF_ROSE, _FROM_ONE = 500, 800, 2400, 8
#: The corpus of language models' summaries, the lowest published score of a faithful one, and the most statements from the
#: summaries of a document.
_SUMMARIES, _FAITHFUL, _FROM_SUMMARIES = "vectara_training", 0.9, 40
_SEED = 0
_PART = 400  # rows that are read together
_STRANGERS = 300  # claims for errors from outside, in paraphrases


@dataclass(frozen=True, slots=True)
class Material:
    """Rows, and the evidence of their statements and of their summaries as one statement (synthetic rows have none)."""

    rows: Sequence[Row]
    statements: Found
    wholes: Found

    def without(self, corpora: tuple[str, ...]) -> Material:
        """Leave out some corpora (by how their names start) and all other rows about their documents."""
        excluded = {document_hash(row.document) for row in self.rows if row.corpus.startswith(corpora)}
        return self._only([document_hash(row.document) not in excluded for row in self.rows])

    def part(self, share: float) -> Material:
        """Return the rows of a share of the documents. Smaller shares are parts of larger ones.

        The lowest hashes decide which documents have rows, and a hash's remainder is its fold. The share depends on other bits of
        the hash, so that it favours no fold.
        """
        return self._only([document_hash(row.document) >> 4 & 0xFFFFFFFF < share * 2**32 for row in self.rows])

    def judged(self, corpora: tuple[str, ...]) -> Material:
        """Return only the rows of some corpora (by how their names start) that a person judged."""
        return self._only([row.corpus.startswith(corpora) and not row.synthetic for row in self.rows])

    def _only(self, flags: Sequence[bool]) -> Material:
        return Material(*(list(compress(items, flags)) for items in (self.rows, self.statements, self.wholes)))


def gather(corpora: Mapping[str, Corpus]) -> list[Row]:
    """Return all training rows: those of the corpora, then those that the decomposer makes."""
    rows = training_rows(corpora)
    return [*rows, *told_rows(corpora), *_in_parts(decomposed_rows, judged_once(rows))]


def told_rows(corpora: Mapping[str, Corpus]) -> list[Row]:
    """Return paraphrases of documents' statements, and statements of faithful summaries, with edits of each."""
    strangers = strange_claims(corpora)
    strangers = random.Random(_SEED).sample(strangers, min(_STRANGERS, len(strangers)))
    paraphrases = _in_parts(retold_rows, tellings(corpora), strangers)
    return [*paraphrases, *_in_parts(summarised_rows, summarised(corpora), strangers)]


def _in_parts(function: Callable[..., list[Row]], items: Sequence, *others: Sequence[str]) -> list[Row]:
    """The rows that a function makes of all items, part by part in several processes."""
    return [row for rows in spread(function, [(part, *others) for part in _parts(items)]) for row in rows]


def _parts(items: Sequence) -> list[Sequence]:
    return [items[start : start + _PART] for start in range(0, len(items), _PART)]


def read(rows: Sequence[Row]) -> Material:
    """Read the evidence of each row's statements, and of each judged row's summary, with a process for each processor."""
    order = sorted(range(len(rows)), key=lambda i: document_hash(rows[i].document))  # equal documents together
    parts = _parts(order)
    evidence: list = [[] for _ in rows]
    results = spread(_read_part, [([rows[i] for i in part],) for part in parts])
    for number, (part, by_row) in enumerate(zip(parts, results, strict=True), 1):
        for i, items in zip(part, by_row, strict=True):
            evidence[i] = items
        print(f"read part {number} of {len(parts)}", file=sys.stderr, flush=True)
    statements = [items[: len(row.statements)] for row, items in zip(rows, evidence, strict=True)]
    wholes = [items[len(row.statements) :] for row, items in zip(rows, evidence, strict=True)]
    return Material(rows, statements, wholes)


def _read_part(rows: Sequence[Row]) -> Found:
    # Read together, a document's statements and summaries share its passages, so that the evidence fits into memory.
    texts = [row.statements if row.synthetic else (*row.statements, row.summary) for row in rows]
    return Reader().read([row.document for row in rows], texts)


# -- rows that the decomposer makes ------------------------------------------------------------------------------------


class Telling(NamedTuple):
    """A document of a corpus, and the number of its statements to paraphrase."""

    corpus: str
    document: str
    statements: int


def judged_once(rows: Sequence[Row]) -> list[Row]:
    """Return each summary that a person judged, with its sentences as statements, equal documents together."""
    judged = [row for row in rows if not row.synthetic and row.corpus not in _OF_CLAIMS]
    return sorted((judged[number] for number in each_summary(judged)), key=lambda row: document_hash(row.document))


def decomposed_rows(judged: Sequence[Row]) -> list[Row]:
    """Return judged summaries with the decomposer's claims as statements, unless these are the statements already.

    In an unfaithful summary at least one claim is wrong; which one is not known.
    """
    decompositions = decompose([row.summary for row in judged], prompts.load(_PROMPT))
    return [
        replace(row, statements=own, wrong=() if row.label else None, decomposed=True)
        for row, decomposition in zip(judged, decompositions, strict=True)
        if (own := tuple(claim.text for claim in decomposition.claims)) and own != row.statements
    ]


def tellings(corpora: Mapping[str, Corpus]) -> list[Telling]:
    """Return the documents with paraphrases: some of every training corpus, none of a test set."""
    chosen: list[Telling] = []
    for name, source, examples in training_examples(corpora):
        documents = sorted(examples["document"].unique(), key=document_hash)
        documents = documents[: _DOCUMENTS.get(name, _OTHER_DOCUMENTS)]
        statements = _STATEMENTS_OF_ROSE if name == "rose" else _STATEMENTS
        count = min(_FROM_ONE, math.ceil(statements / max(len(documents), 1)))
        chosen += [Telling(source, document, count) for document in documents]
    return sorted(chosen, key=lambda telling: document_hash(telling.document))


def retold_rows(documents: Sequence[Telling], strangers: Sequence[str]) -> list[Row]:
    """Return rows of paraphrases of statements, with edits of each.

    Half of a document's statements are its sentences, half are the decomposer's claims of two neighbouring sentences.
    ``strangers`` are claims of other documents, for errors from outside.
    """
    rows: list[Row] = []
    for corpus, document, statements in documents:
        rng = random.Random(document_hash(document) + 1)
        half = math.ceil(statements / 2)
        true = [retold(sentence, rng) for sentence in own_sentences(document, half, rng)]
        claims = _own_claims(document, half, rng)
        true += [retold(claim, rng) if rng.random() < 0.5 else claim for claim in claims]
        lowered = corpus == "rose" and rng.random() < LOWERED
        rows += edited_rows(corpus + RETOLD, document, list(dict.fromkeys(true)), strangers, rng, lowered)
    return rows


def summarised(corpora: Mapping[str, Corpus]) -> list[tuple[str, tuple[str, ...]]]:
    """Return documents with language models' summaries that a published detector finds faithful."""
    pairs: list[tuple[str, tuple[str, ...]]] = []
    for name, _, examples in training_examples(corpora):
        if name == _SUMMARIES:
            scores = corpora[name].scores.set_index("example_id")["score"]
            faithful = examples[examples["id"].map(scores) >= _FAITHFUL]
            pairs += [(d, tuple(own["summary"])) for d, own in faithful.groupby("document", sort=False)]
    return sorted(pairs, key=lambda pair: document_hash(pair[0]))


def summarised_rows(documents: Sequence[tuple[str, tuple[str, ...]]], strangers: Sequence[str]) -> list[Row]:
    """Return rows of statements from summaries that are not the document's own, with edits of each.

    Half of the statements are sentences, half are the decomposer's claims of other sentences. ``strangers`` as in
    ``retold_rows``.
    """
    rows: list[Row] = []
    for document, summaries in documents:
        rng = random.Random(document_hash(document) + 2)
        foreign = dict.fromkeys(s for summary in summaries for s in sentences(summary) if s not in document)
        fitting = [sentence for sentence in foreign if 6 <= len(sentence.split()) <= 40]
        drawn = rng.sample(fitting, min(_FROM_SUMMARIES, len(fitting)))
        half = math.ceil(len(drawn) / 2)
        true = drawn[:half] + _claims_of(drawn[half:], rng)
        rows += edited_rows(_SUMMARIES + RETOLD, document, list(dict.fromkeys(true)), strangers, rng, False)
    return rows


def _own_claims(document: str, count: int, rng: random.Random) -> list[str]:
    """One claim of each of ``count`` pairs of neighbouring sentences."""
    own = sentences(document)  # not empty: documents without words are left out
    starts = [rng.randrange(len(own)) for _ in range(count)]
    pairs = [" ".join(own[start : start + 2]) for start in starts]
    return _claims_of([pair for pair in pairs if 8 <= len(pair.split()) <= 70], rng)


def _claims_of(passages: Sequence[str], rng: random.Random) -> list[str]:
    """One claim of each passage that has a claim of medium length."""
    decompositions = decompose(passages, prompts.load(_PROMPT))
    fitting = [[claim.text for claim in one.claims if 4 <= len(claim.text.split()) <= 30] for one in decompositions]
    return [rng.choice(claims) for claims in fitting if claims]


# -- processes ---------------------------------------------------------------------------------------------------------


def spread(function: Callable, calls: Sequence[tuple]) -> Iterator:
    """Yield the results of several calls in order, made by one process for each processor.

    A process has one thread: with several, the last digits of a sum would depend on their number. (torch has one in a forked
    process, see ``encoder``.) Processes inherit the arguments by fork, because copies would not fit into memory.
    """
    _inherited[:] = [(function, call) for call in calls]
    context = get_context("fork")
    with ProcessPoolExecutor(os.cpu_count(), context, initializer=threadpool_limits, initargs=(1,)) as pool:
        yield from pool.map(_call, range(len(calls)))


_inherited: list[tuple[Callable, tuple]] = []


def _call(number: int):
    function, arguments = _inherited[number]
    return function(*arguments)
