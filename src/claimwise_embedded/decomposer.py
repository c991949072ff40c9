"""The embedded model's decomposer: a summary -> atomic, self-contained claims (ACUEval sec. 3, "ACU generation").

spaCy parses the summary (``decomposer_parsing``). Rules over the parse propose candidate claims, each with the
places of its words in the summary (``clauses``, ``candidates``). A Bayesian selector chooses among them: from a
candidate's kind and length, what it keeps of its sentence and what it cuts, it predicts how well it would match the
nearest claim a person wrote (``fit``, the precision side) and how many of a person's claims it would be the nearest to
(``worth``, the recall side). The chosen set has the largest expected F1 of the two, where a claim's recall counts once
however many near-copies of it are taken (minimum Bayes risk, with the candidates as the sample of what people write).

A prompt is read as data: its demonstrations update the selector, a posterior after ROSE's validation part, and its
balance of few against many claims; ``scope == "sentence"`` reads each sentence by itself, with no subject or pronoun
taken from another (FActScore's way).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from safetensors import safe_open
from scipy.linalg import block_diag
from spacy.tokens import Doc, Token

from claimwise.analysis.easiness import easiness, rouge1_f1
from claimwise.models.base import Claim, Decomposition
from claimwise.prompts import Demonstration, Prompt
from claimwise.reasons import Reason
from claimwise.words import stem
from claimwise_embedded.candidates import Candidate, candidates, well_formed, write
from claimwise_embedded.checksums import WEIGHTS, checked
from claimwise_embedded.decomposer_parsing import CONTENT, FINITE, VERBS, sentences, span
from claimwise_embedded.decomposer_references import Referents, Resolution

_WORD = re.compile(r"\w", re.UNICODE)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_STEMMED = re.compile(r"[a-z0-9]+")
_FOREIGN_SENTENCE = re.compile(r"[^\n。！？؟।]+[。！？؟।]?")
#: Facts told in passing: nothing else in the summary says them on their own.
_ASIDES = frozenset(("age", "apposition", "title", "described-age"))
#: Sentences whose claims are chosen together: a typical summary; a long text is taken in such pieces.
_TOGETHER = 8
#: How many passages the shipped prior counts as, when demonstrations update it.
PRIOR_PASSAGES = 20
#: Recall weights (the beta squared of F-beta) that demonstrations choose between.
BALANCES = (0.25, 0.4, 0.6, 0.8, 1.0, 1.3, 1.8)
_PREPOSITIONS = frozenset(
    "in on at for of with by from to into after before over about as against during since under between through "
    "without".split()
)
_UNCLEAR = frozenset("he she it they him them this these".split())


@dataclass(frozen=True, slots=True)
class Proposal:
    """The candidates of one sentence with their texts and features, by name."""

    tokens: Doc
    candidates: Sequence[Candidate]
    texts: Sequence[str]
    features: Sequence[dict[str, float]]


class _Choice(NamedTuple):
    """A candidate with its text, and the proposal that it is of."""

    proposal: Proposal
    candidate: Candidate
    text: str


def decompose(passages: Sequence[str], prompt: Prompt) -> list[Decomposition]:
    """The claims of each passage, in the order of the passage; none, and a reason, where it has no words.

    Args:
        passages: summaries; lower-cased or tokenised text and headlines are fine.
        prompt: its ``demonstrations`` and ``scope`` are used.

    >>> from claimwise import prompts
    >>> prompt = prompts.load("acueval-decompose-5shot")
    >>> found, empty = decompose(["David Gold , the chairman , praised Reid .", " ... "], prompt)
    >>> [claim.text for claim in found.claims]
    ['David Gold praised Reid', 'David Gold is the chairman']
    >>> empty
    Decomposition(claims=(), reason='the summary has no words')
    """
    selector = adapted(prompt.demonstrations)
    return [_decomposed(passage, prompt.scope == "sentence", selector) for passage in passages]


def _decomposed(passage: str, by_sentence: bool, selector: Selector) -> Decomposition:
    if not _WORD.search(passage):
        return Decomposition((), Reason.NO_WORDS if passage.strip() else Reason.EMPTY_SUMMARY)
    if len(_LATIN.findall(passage)) * 2 < len(_WORD.findall(passage)) - sum(c.isdigit() for c in passage):
        return Decomposition(tuple(_sentences_as_claims(passage)))
    claims: list[Claim] = []
    seen: set[frozenset[str]] = set()
    proposals = propose(passage, by_sentence=by_sentence)
    while group := list(islice(proposals, 1 if by_sentence else _TOGETHER)):
        claims.extend(select(group, selector, seen))
    return Decomposition(tuple(claims), None if claims else "the summary states nothing that could be read")


def propose(passage: str, *, by_sentence: bool) -> Iterator[Proposal]:
    """The candidates of each sentence, lazily: memory and time are linear in the passage."""
    referents = Referents()
    for tokens in sentences(passage):
        if by_sentence:
            referents = Referents()
        resolution = referents.read(tokens)
        found: dict[str, Candidate] = {}
        for candidate in candidates(tokens, resolution):
            if well_formed(candidate, tokens):
                text = write(candidate.pieces, tokens, resolution)
                if _WORD.search(text):
                    found.setdefault(text, candidate)  # of several with one text the first
        if found:
            own = list(found.values())
            yield Proposal(tokens, own, list(found), describe(own, tokens, resolution))


def select(group: Sequence[Proposal], selector: Selector, seen: set[frozenset[str]]) -> list[Claim]:
    """The claims of some sentences, chosen together; ``seen`` holds the word sets already said."""
    kept = block_diag(*(incidence(p.candidates, len(p.tokens)) for p in group))
    choices = [
        _Choice(p, candidate, text) for p in group for candidate, text in zip(p.candidates, p.texts, strict=True)
    ]
    allowed = []
    for choice in choices:
        words = frozenset(map(stem, _STEMMED.findall(choice.text.lower())))
        allowed.append(bool(words) and words not in seen)
        seen.add(words)
    # A sentence of which an age or an apposition is told by itself is not told as a whole, if more can be told of it.
    parted = {id(choice.proposal) for choice in choices if choice.candidate.kind in ("age", "apposition")}
    for i, (proposal, candidate, _) in enumerate(choices):
        if candidate.kind == "sentence" and id(proposal) in parted and len(proposal.candidates) > 2:
            allowed[i] = False
    first = [i for i, choice in enumerate(choices) if choice.candidate.kind in _ASIDES]
    content = np.array([_is_content(t) for p in group for t in p.tokens], dtype=np.float32)
    fit, worth = selector.values(selector.matrix([found for p in group for found in p.features]))
    chosen = [choices[i] for i in choose(fit, worth, kept, np.array(allowed), content, selector.balance, first)]
    return [_claim(*choice) for choice in chosen if not _told_by_others(choice, chosen)]


def _told_by_others(choice: _Choice, chosen: Sequence[_Choice]) -> bool:
    """Whether a whole sentence says nothing that its other claims do not say."""
    proposal, candidate, _ = choice
    if candidate.kind != "sentence":
        return False
    others = [one.candidate for one in chosen if one.proposal is proposal and one.candidate is not candidate]
    told = {i for other in others for i in other.kept}
    return bool(told) and all(i in told for i in candidate.kept if _is_content(proposal.tokens[i]))


def _is_content(token: Token) -> bool:
    """Whether some claim has to hold a word."""
    return token.pos_ in CONTENT or token.dep_ == "neg" or token.tag_ == "MD"


def _sentences_as_claims(passage: str) -> Iterator[Claim]:
    for match in _FOREIGN_SENTENCE.finditer(passage):
        text = match.group().strip()
        if _WORD.search(text):
            start = match.start() + match.group().index(text)
            yield Claim(text, start, start + len(text))


def _claim(proposal: Proposal, candidate: Candidate, text: str) -> Claim:
    at = candidate.kept or list(range(len(proposal.tokens)))
    return Claim(text, *span(proposal.tokens, min(at), max(at)))


# -- which candidates to say ----------------------------------------------------------------------


def incidence(candidates: Sequence[Candidate], length: int) -> np.ndarray:
    """Which tokens each candidate keeps: shape (candidates, length), 0 or 1."""
    matrix = np.zeros((len(candidates), length), dtype=np.float32)
    for row, candidate in zip(matrix, candidates, strict=True):
        row[candidate.kept] = 1.0
    return matrix


def describe(candidates: Sequence[Candidate], tokens: Doc, resolution: Resolution) -> list[dict[str, float]]:
    """The features of a sentence's candidates, by name; what is absent is 0."""
    n = len(tokens)
    words = [not t.is_punct for t in tokens]
    length = max(1, sum(words))
    kept = incidence(candidates, n)
    sizes = kept.sum(axis=1)
    shared = kept @ kept.T
    inside = (shared == sizes[:, None]) & (sizes[:, None] < sizes[None, :])  # i strictly within j
    above, below = inside.sum(axis=1), inside.sum(axis=0)
    parts = np.array([c.kind != "sentence" for c in candidates], dtype=np.float32)
    uses = (kept * parts[:, None]).sum(axis=0)
    out = []
    for i, candidate in enumerate(candidates):
        at = candidate.kept
        told = [tokens[k] for k in at]
        size = sum(words[k] for k in at)
        own = sum(1 for k in at if tokens[k].pos_ in CONTENT and uses[k] - parts[i] <= 0)
        found: dict[str, float] = {
            f"kind:{candidate.kind}": 1.0,
            f"size:{min(size // 2, 10)}": 1.0,
            f"share:{min(int(size / length * 8), 8)}": 1.0,
            "length": size / 10,
            "length-squared": size * size / 100,
            "share": size / length,
            "sentence": length / 10,
            "siblings": len(candidates) / 20,
            "within": min(above[i], 5) / 5,
            "contains": min(below[i], 8) / 8,
            "smallest": float(below[i] == 0),
            "largest": float(above[i] == 0),
            "own": own / 5,
            "inserted": float(len(candidate.pieces) > len(at)),
            "commas": float(sum(t.text == "," for t in told)),
            "conjunctions": float(sum(t.dep_ == "cc" for t in told)),
            "verbs": float(sum(t.pos_ in VERBS for t in told)),
            "finite": float(sum(t.tag_ in FINITE for t in told)),
            "gaps": sum(b - a > 1 for a, b in pairwise(at)) / 3,
            "odd-quote": float(sum(t.is_quote for t in told) % 2),
            "unclear": float(
                sum(t.lower_ in _UNCLEAR and k not in resolution.replaced for k, t in zip(at, told, strict=True))
            ),
        }
        found |= {f"trait:{name}": value for name, value in candidate.traits.items()}
        kept_prepositions = Counter(token.lower_ for token in told if token.lower_ in _PREPOSITIONS)
        found |= {f"keeps:{word}": float(count) for word, count in kept_prepositions.items()}
        if told:
            found[f"first:{told[0].tag_}"] = 1.0
            found[f"last:{told[-1].tag_}"] = 1.0
            end = max(at) + 1
            after = tokens[end].tag_ if end < n else "end"
            found[f"next:{after}"] = 1.0
            if after in ("IN", "TO") and tokens[end].lower_ in _PREPOSITIONS:
                found[f"cuts:{tokens[end].lower_}"] = 1.0
        out.append(found)
    return out


@dataclass(frozen=True)
class Selector:
    """Linear weights and what is needed to update them.

    Attributes:
        names: F feature names.
        mean: (2, F): weights of fit and worth.
        precision: (F, F): of the weights, as if the prior were ``PRIOR_PASSAGES`` passages.
        balance: recall weight of the F measure that the chosen set maximises.
        balance_gains: expected easiness F1 of each of ``BALANCES`` under the prior, summed over its passages.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    precision: np.ndarray
    balance: float
    balance_gains: np.ndarray

    def matrix(self, described: Sequence[dict[str, float]]) -> np.ndarray:
        """Features as rows; unknown names are left out."""
        index = {name: i for i, name in enumerate(self.names)}
        out = np.zeros((len(described), len(self.names)), dtype=np.float32)
        out[:, 0] = 1.0
        for row, found in zip(out, described, strict=True):
            for name in found.keys() & index.keys():
                row[index[name]] = found[name]
        return out

    def values(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fit in [0, 1] and worth, at least 0.01, of each row."""
        predicted = features @ self.mean.T
        return np.clip(predicted[:, 0], 0.0, 1.0), np.maximum(predicted[:, 1], 0.01)

    def updated(self, features: np.ndarray, targets: np.ndarray) -> Selector:
        """The posterior after rows of features (n, F) with their fit and worth (n, 2)."""
        precision = self.precision + features.T @ features
        right = self.precision @ self.mean.T + features.T @ targets
        return replace(self, mean=np.linalg.solve(precision, right).T.astype(np.float32), precision=precision)


def choose(
    fit: np.ndarray,
    worth: np.ndarray,
    kept: np.ndarray,
    allowed: np.ndarray,
    content: np.ndarray,
    balance: float,
    first: Sequence[int] = (),
) -> list[int]:
    """The set of candidates, of one sentence or of several read together, with the largest expected F measure.

    Args:
        fit: (n,) expected best match to a person's claim.
        worth: (n,) expected number of a person's claims that are nearest to it.
        kept: (n, tokens) what each keeps; matches between candidates are Dice coefficients of the rows.
        allowed: (n,) False for a candidate that repeats another's words.
        content: (tokens,) 1 for the words that some claim has to hold, so that nothing stays unverified.
        balance: weight of recall.
        first: candidates to start from.

    Returns:
        Rows of ``fit``, ascending.

    >>> kept = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]], float)
    >>> choose(np.array([0.5, 0.9, 0.9]), np.array([0.1, 1.0, 1.0]), kept, np.ones(3, bool), np.ones(4), 1.0)
    [1, 2]
    """
    sizes = kept.sum(axis=1)
    match = 2 * (kept @ kept.T) / np.maximum(sizes[:, None] + sizes[None, :], 1)
    share = worth / worth.sum()
    free = allowed.copy()
    chosen = [i for i in first if allowed[i]]
    free[chosen] = False
    # First one after the other whatever raises the F measure most, until nothing does.
    covered = match[chosen].max(axis=0) if chosen else np.zeros(len(fit))
    total, value = float(fit[chosen].sum()), -1.0
    while free.any():
        precision = (total + fit) / (len(chosen) + 1)
        recall = np.maximum(covered, match) @ share
        gain = (1 + balance) * precision * recall / (balance * precision + recall + 1e-9)
        gain[~free] = -1.0
        best = int(gain.argmax())
        if gain[best] <= value + 1e-9:
            break
        chosen.append(best)
        free[best] = False
        total += float(fit[best])
        covered = np.maximum(covered, match[best])
        value = float(gain[best])
    # Then whatever holds most of the content words that no chosen candidate has.
    open_words = content * (1 - kept[chosen].max(axis=0, initial=0.0))
    while open_words.any() and free.any():
        gain = np.where(free, fit * (kept @ open_words) ** 0.5, 0.0)
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        chosen.append(best)
        free[best] = False
        open_words = open_words * (1 - kept[best])
    return sorted(chosen)


def fewest(gains: np.ndarray) -> float:
    """The balance with the fewest claims whose mean F1 is within 0.002 of the best of ``BALANCES``."""
    return next(b for b, gain in zip(BALANCES, gains, strict=True) if gain >= gains.max() - 0.002)


@cache
def shipped() -> Selector:
    """The selector fitted on ROSE's validation part."""
    with safe_open(str(checked(WEIGHTS / "decomposer-selector.safetensors")), framework="numpy") as file:
        header = json.loads(file.metadata()["selector"])
        return Selector(
            names=tuple(header["names"]),
            mean=file.get_tensor("mean"),
            precision=file.get_tensor("precision"),
            balance=header["balance"],
            balance_gains=file.get_tensor("balance_gains"),
        )


# -- learning from demonstrations ----------------------------------------------------------------------


@lru_cache(maxsize=16)
def adapted(demonstrations: tuple[Demonstration, ...]) -> Selector:
    """The shipped selector after a prompt's demonstrations: its weights first, then its balance."""
    selector = shipped()
    proposed = [(d, list(propose(d.passage, by_sentence=False))) for d in demonstrations if d.claims]
    useful = [(demonstration, group) for demonstration, group in proposed if group]
    if not useful:  # the balance that ships was chosen on more passages than its gains are of
        return selector
    for demonstration, group in useful:
        features = selector.matrix([found for p in group for found in p.features])
        selector = selector.updated(features, targets([t for p in group for t in p.texts], demonstration.claims))
    gains = selector.balance_gains + sum(balance_gains(group, selector, d.claims) for d, group in useful)
    return replace(selector, balance=fewest(gains / (PRIOR_PASSAGES + len(useful))))


def targets(texts: Sequence[str], claims: Sequence[str]) -> np.ndarray:
    """Fit and worth of candidates against people's claims: shape (n, 2).

    Fit is the best match; each of people's claims gives its one unit of worth to its nearest candidates.

    >>> targets(["a b", "c"], ["a b c", "c"]).round(2).tolist()
    [[0.8, 1.0], [1.0, 1.0]]
    """
    match = np.array([[rouge1_f1(text, claim) for claim in claims] for text in texts])
    nearest = match >= match.max(axis=0) - 1e-9
    return np.stack([match.max(axis=1), (nearest / nearest.sum(axis=0)).sum(axis=1)], axis=1)


def balance_gains(group: Sequence[Proposal], selector: Selector, claims: Sequence[str]) -> np.ndarray:
    """Easiness F1 of a passage's chosen claims at each of ``BALANCES``."""
    chosen = [select(group, replace(selector, balance=balance), set()) for balance in BALANCES]
    return np.nan_to_num([easiness([claim.text for claim in found], list(claims))[2] for found in chosen])
