"""The verifier: is a claim supported by its document, how probable is that, and where does it say so?

Word checkers (``checker``), small networks that attend from a claim's words to the document's, give a verdict; boosted
trees read their findings and evidence features (``features``) and give another; the mean of the two decides. Trees
learn how the corpora are that they see, checkers what holds elsewhere as well. A whole summary is read in the same way,
as one long claim, and judged by trees of its own alone. Checkers and trees exist several times, each trained
without a part of the training documents (by hash): a document seen in training is scored by the pair that has not seen
it, every other document by the mean of all. So scores of training documents are honest, and thresholds may be tuned on
them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from claimwise.errors import shorten
from claimwise.models.base import NAN, Judgement, Verdict
from claimwise.prompts import Prompt
from claimwise.reasons import Reason
from claimwise_embedded.calibration import Calibration, sigmoid
from claimwise_embedded.checker import Checker
from claimwise_embedded.checker import load as load_checkers
from claimwise_embedded.checksums import WEIGHTS, WeightsError, checked, digest
from claimwise_embedded.evidence import PIECES_PER_CLAIM
from claimwise_embedded.features import Evidence
from claimwise_embedded.forest import Trees
from claimwise_embedded.reading import Reader

#: Pieces a claim sees where the prompt shows only what is retrieved.
_RETRIEVED_PIECES = 3
#: The column of ``claim_table`` that is a checker's verdict, in log odds; before it come features of the evidence alone.
VERDICT = 67
#: What the checkers' verdict weighs beside the trees': nothing on whole summaries, which are longer than what checkers
#: learned from (of more than ``CLAIM_WORDS`` words they see the first). docs/model_card.md says how it was chosen.
_CHECKERS_WEIGH = {"claim": 0.5, "whole": 0.0}
TREES_FILE, NUMBERS_FILE, CHECKERS_FILE = "verifier.safetensors", "verifier.json", "verifier-checkers.safetensors"


def document_hash(document: str) -> int:
    """A 64-bit hash of a document's letters and digits: copies that differ in case, spaces or marks are equal.

    >>> document_hash("Don't  panic.") == document_hash("dont panic")
    True
    """
    letters = re.sub(r"[\W_]+", "", document.lower())
    return int(hashlib.sha256(letters.encode()).hexdigest()[:16], 16)


@dataclass(frozen=True, slots=True)
class Heads:
    """The learned parts: K models of claims, K of whole summaries, their calibrations, and the word checkers.

    Model f goes with checker f modulo their number; neither has seen the documents of fold f.

    Attributes:
        checkers: the word checkers.
        models: of each kind (``claim``, ``whole``) one a fold.
        calibrations: of each kind, of what ``decided`` makes of checkers and models.
        seen: hashes of the documents that were trained on.
    """

    checkers: Sequence[Checker]
    models: Mapping[str, Sequence[Trees]]
    calibrations: Mapping[str, Calibration]
    seen: frozenset[int]

    @classmethod
    def read(cls, folder: Path) -> Heads:
        """Read ``verifier.safetensors``, ``verifier.json`` and ``verifier-checkers.safetensors``.

        Raises:
            FileNotFoundError: the weights are not there; run ``python -m training``.
            WeightsError: they were changed, are cut off, of another version, or not of one training.
        """
        for name in (TREES_FILE, NUMBERS_FILE, CHECKERS_FILE):
            checked(folder / name)
        try:
            return cls._read(folder)
        except (SafetensorError, ValueError, LookupError, TypeError, RuntimeError) as error:
            raise WeightsError(
                f"{folder}: cannot be read as the verifier's weights ({shorten(str(error))}); restore its three files as "
                "one training wrote them (git checkout), or train them: python -m training"
            ) from error

    @classmethod
    def _read(cls, folder: Path) -> Heads:
        about = json.loads((folder / NUMBERS_FILE).read_text(encoding="utf-8"))
        for name, written in about["sha256"].items():
            if digest(folder / name) != written:
                raise ValueError(f"{name} is not the one that {NUMBERS_FILE} was written with")
        tensors = load_file(folder / TREES_FILE)
        return cls(
            load_checkers(folder / CHECKERS_FILE),
            {
                kind: [Trees.read(tensors, f"{kind}.{fold}") for fold in range(about["folds"])]
                for kind in _CHECKERS_WEIGH
            },
            {name: Calibration(**pair) for name, pair in about["calibrations"].items()},
            frozenset(tensors["seen"].view(np.uint64).tolist()),
        )

    def write(self, folder: Path, corpora: Mapping[str, int]) -> None:
        """Write what ``read`` reads.

        Args:
            folder: made if it is not there.
            corpora: rows of each training corpus, for the record.
        """
        tensors = {"seen": np.array(sorted(self.seen), dtype=np.uint64).view(np.int64)}
        for kind, by_fold in self.models.items():
            for fold, trees in enumerate(by_fold):
                tensors |= trees.tensors(f"{kind}.{fold}")
        networks = {
            f"{number}.{name}": tensor.detach().half().numpy()
            for number, one in enumerate(self.checkers)
            for name, tensor in one.state_dict().items()
        }
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in ((TREES_FILE, tensors), (CHECKERS_FILE, networks)):
            save_file(content, folder / name)
            (folder / name).chmod(0o644)
        about = {
            "folds": self.folds,
            "calibrations": {n: {"slope": c.slope, "intercept": c.intercept} for n, c in self.calibrations.items()},
            "corpora": dict(corpora),
            "sha256": {name: digest(folder / name) for name in (TREES_FILE, CHECKERS_FILE)},
        }
        (folder / NUMBERS_FILE).write_text(json.dumps(about, indent=2, sort_keys=True) + "\n", encoding="utf-8")

    @property
    def folds(self) -> int:
        """How many models of each kind there are."""
        return len(self.models["claim"])

    def unseen_by(self, document: str) -> list[int]:
        """The folds whose models have not been trained on a document: one, or all."""
        key = document_hash(document)
        return [key % self.folds] if key in self.seen else list(range(self.folds))

    def logits(self, kind: str, evidence: Sequence[Evidence], folds: Sequence[Sequence[int]]) -> np.ndarray:
        """Log odds that claims (``claim``) or whole summaries (``whole``) are supported, each by its folds, (n,)."""
        return decided(kind, self.both_logits(kind, evidence, folds))

    def both_logits(self, kind: str, evidence: Sequence[Evidence], folds: Sequence[Sequence[int]]) -> np.ndarray:
        """The same by checkers and by trees, (n, 2)."""
        total = np.zeros((len(evidence), 2))
        for fold in range(self.folds):
            at = [i for i, own in enumerate(folds) if fold in own]
            if at:
                features = claim_table([evidence[i] for i in at], fold % len(self.checkers))
                total[at, 0] += features[:, VERDICT]
                total[at, 1] += self.models[kind][fold].logits(features)
        return total / np.array([len(own) for own in folds], dtype=float)[:, None]


def decided(kind: str, both: np.ndarray) -> np.ndarray:
    """The log odds that count, (n,), of those by checkers and by trees, (n, 2).

    >>> decided("claim", np.array([[2.0, 4.0]])), decided("whole", np.array([[2.0, 4.0]]))
    (array([3.]), array([4.]))
    """
    weight = _CHECKERS_WEIGH[kind]
    return both @ np.array([weight, 1 - weight])


def summarise_words(logits: np.ndarray, weight: np.ndarray, special: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Pool the words of each claim.

    Args:
        logits: (n_words,) log odds that a word is not supported.
        weight: (n_words,) how rare each word is.
        special: (n_words,) whether it is a number or a name.
        lengths: how many words each claim has, in order; none is 0.

    Returns:
        (n_claims, 6): the worst word, minus the log of no word being wrong, the mean, the mean weighted by
        rarity, the second worst word, the worst number or name.

    >>> table = summarise_words(np.zeros(3), np.ones(3), np.array([True, False, True]), [1, 2])
    >>> table[:, 0].tolist(), table[:, 4].tolist()
    ([0.5, 0.5], [0.0, 0.5])
    """
    probability = np.clip(sigmoid(logits), 0, 0.99)
    starts = np.cumsum(np.r_[0, lengths])[:-1]
    sizes = np.asarray(lengths, dtype=float)
    owner = np.repeat(np.arange(len(sizes)), lengths)
    order = np.lexsort((-probability, owner))
    ranked = probability[order]
    second = np.where(sizes > 1, ranked[np.minimum(starts + 1, len(ranked) - 1)], 0.0)
    return np.column_stack(
        [
            ranked[starts],
            np.add.reduceat(-np.log1p(-probability), starts),
            np.add.reduceat(probability, starts) / sizes,
            np.add.reduceat(probability * weight, starts) / np.add.reduceat(weight, starts),
            second,
            np.maximum.reduceat(probability * special, starts),
        ]
    )


def claim_table(evidence: Sequence[Evidence], which: int | np.ndarray) -> np.ndarray:
    """Features of claims or whole summaries: of the evidence, then one checker's verdict and its words.

    Args:
        evidence: n claims that checkers have looked at.
        which: the checker asked about all claims, or (n,) about each.

    Returns:
        (n, 74).
    """
    asked = np.broadcast_to(which, len(evidence))
    doubts = [item.doubts[k] for item, k in zip(evidence, asked, strict=True)]
    words = summarise_words(
        np.concatenate(doubts),
        np.concatenate([item.weight for item in evidence]),
        np.concatenate([item.special for item in evidence]),
        [len(d) for d in doubts],
    )
    verdicts = [item.supported[k] for item, k in zip(evidence, asked, strict=True)]
    return np.column_stack([np.stack([item.claim for item in evidence]), verdicts, words])


class Verifier:
    """Verdicts on claims and judgements on whole summaries, batched over documents."""

    def __init__(self, folder: Path | None = None) -> None:
        self.heads = Heads.read(folder or WEIGHTS)
        self.reader = Reader(checkers=self.heads.checkers)

    def verify(
        self,
        documents: Sequence[str],
        claims: Sequence[Sequence[str]],
        prompt: Prompt,
        extras: Sequence[str] | None = None,
    ) -> list[list[Verdict]]:
        """See ``Model.verify``. What the prompt shows decides what is looked at, its demonstrations the calibration.

        A document or claim without a word gets NaN and a reason. Evidence are sentences of the document that were
        looked at, best first.
        """
        retrieved = prompt.context == "retrieved"
        shown = extras if prompt.context == "document+extra" else None
        limit = _RETRIEVED_PIECES if retrieved else PIECES_PER_CLAIM
        found = self.reader.read(documents, claims, limit, shown)
        flat, folds = self._scorable(documents, found)
        supports = iter(self._calibrated(prompt)(self.heads.logits("claim", flat, folds)))
        return [
            [
                Verdict(NAN, item)
                if isinstance(item, str)
                else Verdict(float(next(supports)), None, tuple(item.ranked))
                for item in items
            ]
            for items in found
        ]

    def score_whole(self, documents: Sequence[str], summaries: Sequence[str]) -> list[Judgement]:
        """Judge each summary as one piece of text, as a holistic judge does; no claims are made."""
        found = self.reader.read(documents, [[summary] for summary in summaries])
        flat, folds = self._scorable(documents, found)
        scores = iter(self.heads.calibrations["whole"](self.heads.logits("whole", flat, folds)))
        return [
            Judgement(NAN, Reason.NO_WORDS if item == Reason.CLAIM_WITHOUT_WORDS else item)
            if isinstance(item, str)
            else Judgement(float(next(scores)))
            for (item,) in found
        ]

    def _scorable(self, documents, found) -> tuple[list[Evidence], list[list[int]]]:
        flat, folds = [], []
        for document, items in zip(documents, found, strict=True):
            own = self.heads.unseen_by(document)
            for item in items:
                if not isinstance(item, str):
                    flat.append(item)
                    folds.append(own)
        return flat, folds

    def _calibrated(self, prompt: Prompt) -> Calibration:
        """The shipped calibration, moved by the prompt's labelled demonstrations."""
        shipped = self.heads.calibrations["claim"]
        shown = [d for d in prompt.demonstrations if d.claim and d.label is not None]
        found = self.reader.read([d.passage for d in shown], [[d.claim] for d in shown])
        usable = [(d, items[0]) for d, items in zip(shown, found, strict=True) if not isinstance(items[0], str)]
        if not usable:
            return shipped
        logits = self.heads.logits(
            "claim", [item for _, item in usable], [self.heads.unseen_by(d.passage) for d, _ in usable]
        )
        return shipped.updated(logits, np.array([float(d.label) for d, _ in usable]))
