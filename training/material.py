"""What there is to learn from: rows of all corpora, those that the decomposer makes beside them, and what was read of their
documents, once.

What metrics ask the verifier about are claims, which are shorter than sentences and restore subjects; so it learns from
claims as well. Claims of a document's own sentences, its sentences told otherwise, and what language models' faithful
summaries say are supported though their words are not the document's; edits of them are not.
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

import torch
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
#: Corpora of claims: a row's summary is one already, or is made of claims.
_OF_CLAIMS = ("rose", "factcg", "factcheck_gpt")

#: Documents of a corpus that are told in other words, and statements taken from all of them, and from one at most.
_DOCUMENTS = {"rose": 600, "factcg": 350, "factcheck_gpt": 350}
_DOCUMENTS_ELSE, _STATEMENTS, _STATEMENTS_OF_ROSE, _OF_ONE = 500, 800, 2400, 8
#: The corpus of language models' summaries, the published score from which one counts as faithful, and statements taken of
#: a document's.
_SUMMARIES, _FAITHFUL, _OF_SUMMARIES = "vectara_training", 0.9, 40
_SEED = 0
_PART = 400  # rows that are read together
_STRANGERS = 300  # claims that errors from outside come from, where documents are told in other words


@dataclass(frozen=True, slots=True)
class Material:
    """Rows and what was read of them: of each its statements, and its summary as one (synthetic rows: nothing)."""

    rows: Sequence[Row]
    statements: Found
    wholes: Found

    def without(self, corpora: tuple[str, ...]) -> Material:
        """What is left without some corpora (by how their names start) and all other rows of their documents."""
        theirs = {document_hash(row.document) for row in self.rows if row.corpus.startswith(corpora)}
        return self._only([document_hash(row.document) not in theirs for row in self.rows])

    def part(self, share: float) -> Material:
        """The rows of a share of the documents; smaller shares are parts of larger ones, and no fold is favoured.

        Rows are made of the documents of the lowest hashes, and folds are a hash's remainder: so the share is told by bits
        that decide neither.
        """
        return self._only([document_hash(row.document) >> 4 & 0xFFFFFFFF < share * 2**32 for row in self.rows])

    def judged(self, corpora: tuple[str, ...]) -> Material:
        """Only the rows of some corpora (by how their names start) that somebody has judged."""
        return self._only([row.corpus.startswith(corpora) and not row.synthetic for row in self.rows])

    def _only(self, flags: Sequence[bool]) -> Material:
        return Material(*(list(compress(items, flags)) for items in (self.rows, self.statements, self.wholes)))


def gather(corpora: Mapping[str, Corpus]) -> list[Row]:
    """All rows to learn from: those that the corpora have, then those that the decomposer makes."""
    rows = training_rows(corpora)
    return [*rows, *told_rows(corpora), *_made(decomposed_rows, judged_once(rows))]


def told_rows(corpora: Mapping[str, Corpus]) -> list[Row]:
    """Documents' statements in other words, and what language models' faithful summaries say; with edits of each."""
    strangers = strange_claims(corpora)
    strangers = random.Random(_SEED).sample(strangers, min(_STRANGERS, len(strangers)))
    told = _made(retold_rows, tellings(corpora), strangers)
    return [*told, *_made(summarised_rows, summarised(corpora), strangers)]


def _made(function: Callable[..., list[Row]], items: Sequence, *others: Sequence[str]) -> list[Row]:
    return [row for rows in spread(function, [(part, *others) for part in _parts(items)]) for row in rows]


def _parts(items: Sequence) -> list[Sequence]:
    return [items[start : start + _PART] for start in range(0, len(items), _PART)]


def read(rows: Sequence[Row]) -> Material:
    """Read each row's statements, and each judged row's summary, with as many processes as there are processors."""
    order = sorted(range(len(rows)), key=lambda i: document_hash(rows[i].document))  # equal documents together
    parts = _parts(order)
    found: list = [[] for _ in rows]
    done = spread(_read_part, [([rows[i] for i in part],) for part in parts])
    for number, (part, read_of) in enumerate(zip(parts, done, strict=True), 1):
        for i, items in zip(part, read_of, strict=True):
            found[i] = items
        print(f"read part {number} of {len(parts)}", file=sys.stderr, flush=True)
    statements = [items[: len(row.statements)] for row, items in zip(rows, found, strict=True)]
    wholes = [items[len(row.statements) :] for row, items in zip(rows, found, strict=True)]
    return Material(rows, statements, wholes)


def _read_part(rows: Sequence[Row]) -> Found:
    # Read together, statements and summaries of a document share its passages: what was read must fit into memory.
    asked = [row.statements if row.synthetic else (*row.statements, row.summary) for row in rows]
    return Reader().read([row.document for row in rows], asked)


# -- rows that the decomposer makes ------------------------------------------------------------------------------------


class Telling(NamedTuple):
    """A document of a corpus, and how many of its statements are told in other words."""

    corpus: str
    document: str
    statements: int


def judged_once(rows: Sequence[Row]) -> list[Row]:
    """Each summary that somebody has judged, with the statements that it came with first, equal documents together."""
    judged = [row for row in rows if not row.synthetic and row.corpus not in _OF_CLAIMS]
    return sorted((judged[number] for number in each_summary(judged)), key=lambda row: document_hash(row.document))


def decomposed_rows(judged: Sequence[Row]) -> list[Row]:
    """Judged summaries once more, with the decomposer's claims as statements; those that it leaves as they are, not.

    Of an unfaithful summary it is only known that one of its claims is wrong.
    """
    done = decompose([row.summary for row in judged], prompts.load(_PROMPT))
    return [
        replace(row, statements=own, wrong=() if row.label else None, decomposed=True)
        for row, decomposition in zip(judged, done, strict=True)
        if (own := tuple(claim.text for claim in decomposition.claims)) and own != row.statements
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
    other words, and with edits of each. ``strangers``: claims of other documents, for errors from outside."""
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
    own = sentences(document)  # some: documents without words are not learned from
    starts = [rng.randrange(len(own)) for _ in range(count)]
    pairs = [" ".join(own[start : start + 2]) for start in starts]
    return _claims_of([pair for pair in pairs if 8 <= len(pair.split()) <= 70], rng)


def _claims_of(passages: Sequence[str], rng: random.Random) -> list[str]:
    """One claim of each passage that has one of middling length."""
    done = decompose(passages, prompts.load(_PROMPT))
    fitting = [[claim.text for claim in one.claims if 4 <= len(claim.text.split()) <= 30] for one in done]
    return [rng.choice(claims) for claims in fitting if claims]


# -- processes ---------------------------------------------------------------------------------------------------------


def spread(function: Callable, calls: Sequence[tuple]) -> Iterator:
    """The results of several calls in order, made by a process a processor with one thread each: threads that share
    a sum would make its last digits depend on their number.

    Processes inherit the arguments (fork): a copy of what was read for each of them would not fit into memory.
    """
    _inherited[:] = [(function, call) for call in calls]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork"), initializer=_one_thread) as pool:
        yield from pool.map(_call, range(len(calls)))


_inherited: list[tuple[Callable, tuple]] = []


def _call(number: int):
    function, arguments = _inherited[number]
    return function(*arguments)


def _one_thread() -> None:
    threadpool_limits(1)
    torch.set_num_threads(1)
