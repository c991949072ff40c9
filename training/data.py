"""The verifier's training data: labelled statements and their wrong words, without the documents of test sets.

Every corpus becomes rows. A row has a document, a text, its statements (sentences, or recorded claims), a label of the whole
text, and, if known, the spans of the text that the document does not support.
"""

import difflib
import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from claimwise import text
from claimwise.corpora import Corpus
from claimwise.words import stem
from claimwise_embedded.evidence import word_spans
from claimwise_embedded.features import Evidence
from claimwise_embedded.heads import document_hash
from training.corpora import load
from training.edits import Source, edits

#: Corpora with results, and the splits that the results are about (None: the whole corpus).
TEST_SPLITS: Mapping[str, tuple[str, ...] | None] = {
    "aggrefact_ftsota": ("test",),
    "aggrefact_exf": ("test",),
    "halueval": ("test",),
    "wice": ("test",),
    "rose": ("test",),
    "qags": None,
    "summeval": None,
    "llmsummeval_pairwise": None,
    "vectara": None,
    "longsciverify": None,
    "longeval": None,
}

#: Training corpora and their splits.
TRAINING_SPLITS: Mapping[str, tuple[str, ...]] = {
    "aggrefact_ftsota": ("validation",),
    "aggrefact_exf": ("validation",),
    "halueval": ("validation",),
    "wice": ("validation",),
    "rose": ("validation",),
    "summedits": ("validation", "test"),
    "summac_factcc": ("train",),
    "summac_xsumfaith": ("validation",),
    "summac_cogensumm": ("test",),
    "factcg": ("train",),
    "factcheck_gpt": ("train",),
    "genaudit_usb": ("train",),
    "vectara_training": ("train",),
}

#: Corpora, by how their names start, that the zero-shot variant leaves out: AggreFact consists of XSumFaith, CoGenSumm,
#: FactCC and others.
ZERO_SHOT = ("aggrefact_", "summac_")

#: Groups of corpora, by how their names start, that are left out together.
HELD_OUT = {
    "A": ("aggrefact_", "summac_", "wice", "halueval"),
    "B": ("summedits_", "genaudit_usb", "factcheck_gpt"),
}
#: Shares of the training documents in the learning curve (besides all of them).
SHARES = (0.125, 0.25, 0.5)

#: For each row the evidence of its statements, or of its summary as one statement; a reason if there is no evidence.
Found = Sequence[Sequence[Evidence | str]]

_ROSE_CLAIMS, _RECORDED_CLAIMS, _ROSE_SENTENCES = 6, 4, 3  # supported statements from each ROSE document
#: Endings of the corpus names of synthetic rows: its documents' sentences with edits, and paraphrases with edits.
EDITS, RETOLD = "_edits", "_retold"
SYNTHETIC = (EDITS, RETOLD)
#: Sentences from the documents of any other corpus, and the most from one document.
_SOURCE_SENTENCES, _FROM_ONE_SOURCE = 1200, 12
_EDITS_PER_CLAIM = (1, 2)
LOWERED = 0.3  # share of ROSE documents that are put in lower case, as AggreFact's files are


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled text.

    ``statements`` are the parts of the text. ``wrong`` are the wrong spans of ``summary``, or None if they are not known.
    ``kind`` are the known kinds of error, joined by commas. ``decomposed`` says whether the statements are claims by our
    decomposer. ``origin`` is where the document of a judged row comes from.
    """

    corpus: str
    document: str
    summary: str
    statements: tuple[str, ...]
    label: int
    wrong: tuple[tuple[int, int], ...] | None = None
    kind: str = ""
    decomposed: bool = False
    origin: str = ""

    @property
    def synthetic(self) -> bool:
        """Whether the row was made from the document, so that no person judged it."""
        return self.corpus.endswith(SYNTHETIC)


def each_summary(rows: Sequence[Row]) -> list[int]:
    """Return the number of the first row of every summary, which has its sentences."""
    first: dict[tuple[str, str, str], int] = {}
    for number, row in enumerate(rows):
        first.setdefault((row.corpus, row.document, row.summary), number)
    return list(first.values())


def all_corpora() -> dict[str, Corpus]:
    """Load every training and test corpus, by name."""
    return {name: load(name) for name in sorted({*TRAINING_SPLITS, *TEST_SPLITS})}


def documents_under_test(corpora: Mapping[str, Corpus]) -> frozenset[int]:
    """Return the hashes (``heads.document_hash``) of all documents in test sets, which training must not see."""
    hashes: set[int] = set()
    for name, splits in TEST_SPLITS.items():
        if name in corpora:
            examples = corpora[name].examples
            chosen = examples if splits is None else examples[examples["split"].isin(splits)]
            hashes.update(document_hash(document) for document in chosen["document"].unique())
    return frozenset(hashes)


def training_examples(corpora: Mapping[str, Corpus]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the examples of ``TRAINING_SPLITS`` without the documents of ``TEST_SPLITS``.

    With them come the corpus's name and the name for its rows (of SummEdits one for each domain).
    """
    forbidden = documents_under_test(corpora)
    for name, splits in TRAINING_SPLITS.items():
        if name not in corpora:
            continue
        examples = corpora[name].examples[corpora[name].examples["split"].isin(splits)]
        allowed = [document_hash(d) not in forbidden and bool(d.strip()) for d in examples["document"]]
        examples = examples[allowed]
        if name != "summedits":
            yield name, name, examples
            continue
        for origin, part in examples.groupby("origin", sort=True):
            yield name, f"summedits_{origin}", part


def strange_claims(corpora: Mapping[str, Corpus]) -> list[str]:
    """Return the claims of ROSE's training documents, for errors from outside a document."""
    examples = [examples["id"] for name, _, examples in training_examples(corpora) if name == "rose"]
    claims = _by_example(corpora["rose"].gold_claims) if examples else {}
    return [claim for ids in examples for key in ids for claim in claims[key]]


def training_rows(corpora: Mapping[str, Corpus]) -> list[Row]:
    """Return all training rows that need no decomposer, in a fixed order."""
    strangers = strange_claims(corpora)
    rows: list[Row] = []
    for name, source, examples in training_examples(corpora):
        gold, recorded = corpora[name].gold_claims, corpora[name].recorded_claims
        if name == "rose":
            rows += _rose_rows(examples, gold, recorded, strangers)
            continue
        rows += _summedits_rows(examples, gold) if name == "summedits" else _plain_rows(name, examples, recorded)
        rows += _source_rows(source, examples, strangers)
    return rows


def _plain_rows(name: str, examples: pd.DataFrame, recorded: pd.DataFrame) -> list[Row]:
    claims = _by_example(recorded)
    rows = []
    for example in examples[examples["label"].notna()].itertuples():
        label = int(example.label)
        row = Row(name, example.document, example.summary, (), label, () if label else None, origin=example.origin)
        both = (sentences(example.summary), tuple(claims[example.id]))
        rows += [replace(row, statements=statements) for statements in both if statements]
    return rows


def _summedits_rows(examples: pd.DataFrame, gold: pd.DataFrame) -> list[Row]:
    """Rows of SummEdits. Wrong words are those in which an inconsistent summary differs from the nearest original."""
    errors = gold.dropna(subset=["error"]).set_index("example_id")["error"].to_dict()
    originals: dict[str, list[str]] = defaultdict(list)
    for example in examples[examples["system"] == "original"].itertuples():
        originals[example.document_id].append(example.summary)
    rows = []
    for example in examples.itertuples():
        wrong = () if example.label else changed_spans(originals[example.document_id], example.summary) or None
        about = f"summedits_{example.origin}", example.document, example.summary, sentences(example.summary)
        rows.append(Row(*about, int(example.label), wrong, errors.get(example.id, "")))
    return rows


def changed_spans(originals: Sequence[str], edited: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of the words in which a text differs from the most similar of its originals.

    If words were only removed, the words around the gap count as changed.

    >>> text = "Lee lost in Rome."
    >>> [text[a:b] for a, b in changed_spans(["It rained.", "Lee won in Rome."], text)]
    ['lost']
    """
    spans = word_spans(edited)
    stems = [stem(edited[a:b]) for a, b in spans]
    words = [[stem(o[a:b]) for a, b in word_spans(o)] for o in originals]
    matchers = [difflib.SequenceMatcher(None, original, stems, autojunk=False) for original in words]
    if not matchers:
        return ()
    best = max(matchers, key=difflib.SequenceMatcher.ratio)
    changed: set[int] = set()
    for operation, _, _, start, end in best.get_opcodes():
        if operation != "equal":
            changed.update(range(start, end) if end > start else range(max(0, start - 1), start + 1))
    return tuple(spans[i] for i in sorted(changed) if i < len(spans))


def _rose_rows(
    examples: pd.DataFrame, gold: pd.DataFrame, recorded: pd.DataFrame, strangers: Sequence[str]
) -> list[Row]:
    """Rows of ROSE: claims of the reference and sentences of the source, edits of each, and a claim of another document."""
    claims, others = _by_example(gold), _by_example(recorded)
    rows: list[Row] = []
    for example in examples.itertuples():
        rng = random.Random(document_hash(example.document))
        true = _sample(claims[example.id], _ROSE_CLAIMS, rng) + _sample(others[example.id], _RECORDED_CLAIMS, rng)
        true += own_sentences(example.document, _ROSE_SENTENCES, rng)
        lowered = rng.random() < LOWERED
        rows += edited_rows("rose", example.document, true, strangers, rng, lowered)
        stranger = rng.choice([claim for claim in strangers if claim not in claims[example.id]])
        wrong = ((0, len(stranger)),)
        rows.append(_edited_row("rose", example.document, stranger, 0, wrong, "out-of-article", lowered))
    return rows


def _source_rows(name: str, examples: pd.DataFrame, strangers: Sequence[str]) -> list[Row]:
    """Rows of each document's sentences, whole or shortened, and of edits of them."""
    documents = sorted(examples["document"].unique(), key=document_hash)[:_SOURCE_SENTENCES]
    count = min(_FROM_ONE_SOURCE, math.ceil(_SOURCE_SENTENCES / max(len(documents), 1)))
    rows: list[Row] = []
    for document in documents:
        rng = random.Random(document_hash(document))
        true = own_sentences(document, count, rng)
        rows += edited_rows(name + EDITS, document, true, strangers, rng, False)
    return rows


def own_sentences(document: str, count: int, rng: random.Random) -> list[str]:
    """Return at most ``count`` sentences of a document, of medium length, some shortened."""
    own = [s for s in sentences(document) if 6 <= len(s.split()) <= 40]
    return [_shortened(s, rng) for s in _sample(own, count, rng)]


def _shortened(sentence: str, rng: random.Random) -> str:
    """Half of the time, the sentence up to a comma, if that is long enough."""
    cuts = [i for i, c in enumerate(sentence) if c == "," and len(sentence[:i].split()) >= 6]
    return sentence[: rng.choice(cuts)] + "." if cuts and rng.random() < 0.5 else sentence


def _sample(items: Sequence[str], count: int, rng: random.Random) -> list[str]:
    return rng.sample(list(items), min(count, len(items)))


def _by_example(table: pd.DataFrame) -> dict[str, list[str]]:
    return defaultdict(list, table.groupby("example_id")["claim"].agg(list).to_dict())


def edited_rows(
    name: str, document: str, true: Sequence[str], strangers: Sequence[str], rng: random.Random, lowered: bool
) -> list[Row]:
    """Return rows of a document's true statements, and of edits of each, all in lower case if ``lowered``.

    ``strangers`` are claims of other documents, for errors from outside.
    """
    rows = []
    source = Source.of(document, strangers)
    for claim in true:
        rows.append(_edited_row(name, document, claim, 1, (), "", lowered))
        for edited in edits(claim, source, rng.choice(_EDITS_PER_CLAIM), rng):
            rows.append(_edited_row(name, document, edited.claim, 0, edited.spans, edited.kind, lowered))
    return rows


def _edited_row(name, document, claim, label, wrong, kind, lowered) -> Row:
    if lowered:
        document, claim = document.lower(), claim.lower()
    return Row(name, document, claim, (claim,), label, wrong, kind)


def sentences(passage: str) -> tuple[str, ...]:
    """Return the sentences of a text, as strings."""
    return tuple(span.text for span in text.sentences(passage))


def wrong_words(row: Row) -> list[list[int]] | None:
    """Return for each statement which words the document does not support (1) or supports (0); None if not known.

    In a summary without wrong spans no word is wrong. Otherwise the wrong words are known only if the statements are parts of
    the summary, in order.

    >>> wrong_words(Row("c", "d", "It rained. Lee won.", ("It rained.", "Lee won."), 0, ((15, 18),)))
    [[0, 0], [0, 1]]
    """
    if row.wrong is None:
        return None
    if not row.wrong:
        return [[0] * len(word_spans(statement)) for statement in row.statements]
    flags: list[list[int]] = []
    cursor = 0
    for statement in row.statements:
        start = row.summary.find(statement, cursor)
        if start < 0:
            return None
        cursor = start + len(statement)
        spans = [(start + a, start + b) for a, b in word_spans(statement)]
        flags.append([int(any(a < end and first < b for first, end in row.wrong)) for a, b in spans])
    return flags
