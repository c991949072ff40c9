"""The embedded model's decomposer: a summary -> atomic, self-contained claims (ACUEval sec. 3, "ACU generation").

spaCy parses the summary (``decomposer_parsing``). Rules over the parse propose candidate claims, each with the
places of its words in the summary (``clauses``, ``candidates``). A Bayesian selector chooses among them. From a
candidate's kind and length, and from the words that it keeps and cuts, it predicts how well the candidate would match the
nearest claim of a person (``fit``, for precision) and how many of a person's claims it would be nearest to (``worth``, for
recall). The chosen set has the largest expected F measure. A claim's recall counts once, even if several near-copies are
chosen (minimum Bayes risk, with the candidates as the sample of what people write).

Of a prompt only settings are used. Its demonstrations update the selector (its weights, learned from ROSE's validation part,
and its balance of few against many claims). With ``scope == "sentence"`` each sentence is read by itself, and takes no
subject or pronoun from another (as FActScore does).
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
from claimwise_embedded.decomposer_parsing import CONTENT, FINITE, VERBS, sentences
from claimwise_embedded.decomposer_references import Referents, Resolution

_WORD = re.compile(r"\w", re.UNICODE)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_STEMMED = re.compile(r"[a-z0-9]+")
_FOREIGN_SENTENCE = re.compile(r"[^\n。！？؟।]+[。！？؟।]?")
#: Kinds of facts inside noun phrases: no other claim says them by themselves.
_ASIDES = frozenset(("age", "apposition", "title", "described-age"))
#: Sentences whose claims are chosen together: about a typical summary. A longer text is read in such parts.
_TOGETHER = 8
#: The number of passages that the shipped prior counts as when demonstrations update it.
PRIOR_PASSAGES = 20
#: Recall weights (beta squared of the F measure). Demonstrations choose one.
BALANCES = (0.25, 0.4, 0.6, 0.8, 1.0, 1.3, 1.8)
_PREPOSITIONS = frozenset(
    "in on at for of with by from to into after before over about as against during since under between through "
    "without".split()
)
_UNCLEAR = frozenset("he she it they him them this these".split())


@dataclass(frozen=True, slots=True)
class Proposal:
    """The candidates of one sentence, with their texts and their features by name."""

    tokens: Doc
    candidates: Sequence[Candidate]
    texts: Sequence[str]
    features: Sequence[dict[str, float]]


class _Choice(NamedTuple):
    """A candidate with its text and its proposal."""

    proposal: Proposal
    candidate: Candidate
    text: str


def decompose(passages: Sequence[str], prompt: Prompt) -> list[Decomposition]:
    """Return the claims of each passage, in the order of the passage.

    Args:
        passages: summaries; lower-cased or tokenised text and headlines are fine.
        prompt: its ``demonstrations`` and ``scope`` are used.

    Returns:
        A decomposition for each passage. For a passage without words it has no claims and a reason.

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
    """Yield the candidates of each sentence. Memory and time are linear in the passage's length."""
    referents = Referents()
    for tokens in sentences(passage):
        if by_sentence:
            referents = Referents()
        resolution = referents.read(tokens)
        by_text: dict[str, Candidate] = {}
        for candidate in candidates(tokens, resolution):
            if well_formed(candidate, tokens):
                text = write(candidate.pieces, tokens, resolution)
                if _WORD.search(text):
                    by_text.setdefault(text, candidate)  # the first of several with one text
        if by_text:
            own = list(by_text.values())
            yield Proposal(tokens, own, list(by_text), describe(own, tokens, resolution))


def select(group: Sequence[Proposal], selector: Selector, seen: set[frozenset[str]]) -> list[Claim]:
    """Choose the claims of some sentences together.

    ``seen`` holds the word sets of all candidates so far. A candidate with one of them is not chosen.
    """
    kept = block_diag(*(incidence(p.candidates, len(p.tokens)) for p in group))
    choices = [
        _Choice(p, candidate, text) for p in group for candidate, text in zip(p.candidates, p.texts, strict=True)
    ]
    allowed = []
    for choice in choices:
        words = frozenset(map(stem, _STEMMED.findall(choice.text.lower())))
        allowed.append(bool(words) and words not in seen)
        seen.add(words)
    # The whole sentence is not chosen if it has an age or an apposition as a candidate, and a third candidate.
    split = {id(choice.proposal) for choice in choices if choice.candidate.kind in ("age", "apposition")}
    for i, (proposal, candidate, _) in enumerate(choices):
        if candidate.kind == "sentence" and id(proposal) in split and len(proposal.candidates) > 2:
            allowed[i] = False
    first = [i for i, choice in enumerate(choices) if choice.candidate.kind in _ASIDES]
    content = np.array([_is_content(t) for p in group for t in p.tokens], dtype=np.float32)
    fit, worth = selector.values(selector.matrix([features for p in group for features in p.features]))
    chosen = [choices[i] for i in choose(fit, worth, kept, np.array(allowed), content, selector.balance, first)]
    return [_claim(*choice) for choice in chosen if not _is_repeated(choice, chosen)]


def _is_repeated(choice: _Choice, chosen: Sequence[_Choice]) -> bool:
    """Whether a choice is a whole sentence and the sentence's other claims have all of its content words."""
    proposal, candidate, _ = choice
    if candidate.kind != "sentence":
        return False
    others = [one.candidate for one in chosen if one.proposal is proposal and one.candidate is not candidate]
    covered = {i for other in others for i in other.kept}
    return bool(covered) and all(i in covered for i in candidate.kept if _is_content(proposal.tokens[i]))


def _is_content(token: Token) -> bool:
    """Whether at least one claim must have the word."""
    return token.pos_ in CONTENT or token.dep_ == "neg" or token.tag_ == "MD"


def _sentences_as_claims(passage: str) -> Iterator[Claim]:
    for match in _FOREIGN_SENTENCE.finditer(passage):
        text = match.group().strip()
        if _WORD.search(text):
            start = match.start() + match.group().index(text)
            yield Claim(text, start, start + len(text))


def _claim(proposal: Proposal, candidate: Candidate, text: str) -> Claim:
    tokens = proposal.tokens
    kept = candidate.kept or range(len(tokens))
    first, last, offset = tokens[min(kept)], tokens[max(kept)], tokens.user_data["offset"]
    return Claim(text, offset + first.idx, offset + last.idx + len(last))


# -- choosing among the candidates ----------------------------------------------------------------


def incidence(candidates: Sequence[Candidate], length: int) -> np.ndarray:
    """Return which tokens each candidate keeps: (candidates, length), 0 or 1."""
    matrix = np.zeros((len(candidates), length), dtype=np.float32)
    for row, candidate in zip(matrix, candidates, strict=True):
        row[candidate.kept] = 1.0
    return matrix


def describe(candidates: Sequence[Candidate], tokens: Doc, resolution: Resolution) -> list[dict[str, float]]:
    """Return the features of a sentence's candidates, by name. A missing feature is 0."""
    n = len(tokens)
    words = [not t.is_punct for t in tokens]
    length = max(1, sum(words))
    kept = incidence(candidates, n)
    sizes = kept.sum(axis=1)
    shared = kept @ kept.T
    inside = (shared == sizes[:, None]) & (sizes[:, None] < sizes[None, :])  # candidate i is strictly within j
    above, below = inside.sum(axis=1), inside.sum(axis=0)
    parts = np.array([c.kind != "sentence" for c in candidates], dtype=np.float32)
    uses = (kept * parts[:, None]).sum(axis=0)
    described = []
    for i, candidate in enumerate(candidates):
        at = candidate.kept
        own_tokens = [tokens[k] for k in at]
        size = sum(words[k] for k in at)
        own = sum(1 for k in at if tokens[k].pos_ in CONTENT and uses[k] - parts[i] <= 0)
        features: dict[str, float] = {
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
            "commas": float(sum(t.text == "," for t in own_tokens)),
            "conjunctions": float(sum(t.dep_ == "cc" for t in own_tokens)),
            "verbs": float(sum(t.pos_ in VERBS for t in own_tokens)),
            "finite": float(sum(t.tag_ in FINITE for t in own_tokens)),
            "gaps": sum(b - a > 1 for a, b in pairwise(at)) / 3,
            "odd-quote": float(sum(t.is_quote for t in own_tokens) % 2),
            "unclear": float(sum(tokens[k].lower_ in _UNCLEAR and k not in resolution.replaced for k in at)),
        }
        features |= {f"trait:{name}": value for name, value in candidate.traits.items()}
        prepositions = Counter(token.lower_ for token in own_tokens if token.lower_ in _PREPOSITIONS)
        features |= {f"keeps:{word}": float(count) for word, count in prepositions.items()}
        if own_tokens:
            features[f"first:{own_tokens[0].tag_}"] = 1.0
            features[f"last:{own_tokens[-1].tag_}"] = 1.0
            end = max(at) + 1
            after = tokens[end].tag_ if end < n else "end"
            features[f"next:{after}"] = 1.0
            if after in ("IN", "TO") and tokens[end].lower_ in _PREPOSITIONS:
                features[f"cuts:{tokens[end].lower_}"] = 1.0
        described.append(features)
    return described


@dataclass(frozen=True)
class Selector:
    """Linear weights, and the values that an update needs.

    Attributes:
        names: F feature names.
        mean: (2, F) weights of fit and worth.
        precision: (F, F) precision of the weights, as after ``PRIOR_PASSAGES`` passages.
        balance: recall weight of the F measure that the chosen set maximises.
        balance_gains: easiness F1 at each of ``BALANCES``, summed over the passages of the prior.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    precision: np.ndarray
    balance: float
    balance_gains: np.ndarray

    def matrix(self, described: Sequence[dict[str, float]]) -> np.ndarray:
        """Return the features as rows, (n, F). Unknown names are left out."""
        index = {name: i for i, name in enumerate(self.names)}
        rows = np.zeros((len(described), len(self.names)), dtype=np.float32)
        rows[:, 0] = 1.0
        for row, features in zip(rows, described, strict=True):
            for name in features.keys() & index.keys():
                row[index[name]] = features[name]
        return rows

    def values(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the fit, in [0, 1], and the worth, at least 0.01, of each row."""
        predicted = features @ self.mean.T
        return np.clip(predicted[:, 0], 0.0, 1.0), np.maximum(predicted[:, 1], 0.01)

    def updated(self, features: np.ndarray, targets: np.ndarray) -> Selector:
        """Return the posterior after rows of features (n, F) with their fit and worth (n, 2)."""
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
    """Return the set of candidates with the largest expected F measure. Their sentences are read together.

    Args:
        fit: (n,) expected best match to a person's claim.
        worth: (n,) expected number of a person's claims that are nearest to it.
        kept: (n, tokens) which tokens each keeps; matches between candidates are Dice coefficients of the rows.
        allowed: (n,) False for a candidate that repeats another's words.
        content: (tokens,) 1 for the words that at least one claim must have, so that all content is verified.
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
    # First add the candidate that raises the F measure most, until none does.
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
    # Then add the candidate with most of the content words that are still missing.
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
    """Return the lowest balance, so the fewest claims, whose mean F1 is within 0.002 of the best."""
    return next(b for b, gain in zip(BALANCES, gains, strict=True) if gain >= gains.max() - 0.002)


@cache
def shipped() -> Selector:
    """The shipped selector, which was fitted on ROSE's validation part."""
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
    """Return the shipped selector after a prompt's demonstrations updated its weights and then its balance."""
    selector = shipped()
    proposed = [(d, list(propose(d.passage, by_sentence=False))) for d in demonstrations if d.claims]
    useful = [(demonstration, group) for demonstration, group in proposed if group]
    if not useful:  # the shipped balance was chosen on more passages than ``balance_gains`` are about
        return selector
    for demonstration, group in useful:
        features = selector.matrix([features for p in group for features in p.features])
        selector = selector.updated(features, targets([t for p in group for t in p.texts], demonstration.claims))
    gains = selector.balance_gains + sum(balance_gains(group, selector, d.claims) for d, group in useful)
    return replace(selector, balance=fewest(gains / (PRIOR_PASSAGES + len(useful))))


def targets(texts: Sequence[str], claims: Sequence[str]) -> np.ndarray:
    """Return the fit and worth of candidates against people's claims, (n, 2).

    Fit is the best match. Each of the people's claims divides one unit of worth among its nearest candidates.

    >>> targets(["a b", "c"], ["a b c", "c"]).round(2).tolist()
    [[0.8, 1.0], [1.0, 1.0]]
    """
    match = np.array([[rouge1_f1(text, claim) for claim in claims] for text in texts])
    nearest = match >= match.max(axis=0) - 1e-9
    return np.stack([match.max(axis=1), (nearest / nearest.sum(axis=0)).sum(axis=1)], axis=1)


def balance_gains(group: Sequence[Proposal], selector: Selector, claims: Sequence[str]) -> np.ndarray:
    """Return the easiness F1 of a passage's chosen claims at each of ``BALANCES``."""
    chosen = [select(group, replace(selector, balance=balance), set()) for balance in BALANCES]
    return np.nan_to_num([easiness([claim.text for claim in own], list(claims))[2] for own in chosen])
