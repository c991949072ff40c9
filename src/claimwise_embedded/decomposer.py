"""The embedded model's decomposer: a summary -> atomic, self-contained claims (ACUEval sec. 3, "ACU generation").

spaCy parses the summary (``decomposer_parsing``). Rules over the parse propose candidate claims, each with the
places of its words in the summary (``clauses``, ``candidates``). A Bayesian selector chooses among them
(``decomposer_selector``). A prompt is read as data: its demonstrations update the selector and its balance of few
against many claims; ``scope == "sentence"`` reads each sentence by itself, with no subject or pronoun taken from
another (FActScore's way).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

import numpy as np
from scipy.linalg import block_diag
from spacy.tokens import Doc, Token

from claimwise.analysis.easiness import easiness, rouge1_f1
from claimwise.models.base import Claim, Decomposition
from claimwise.prompts import Demonstration, Prompt
from claimwise.reasons import Reason
from claimwise.words import stem
from claimwise_embedded.candidates import Candidate, candidates, well_formed, write
from claimwise_embedded.decomposer_parsing import CONTENT, sentences, span
from claimwise_embedded.decomposer_references import Referents
from claimwise_embedded.decomposer_selector import (
    BALANCES,
    PRIOR_PASSAGES,
    Selector,
    choose,
    describe,
    fewest,
    incidence,
    shipped,
)

_WORD = re.compile(r"\w", re.UNICODE)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_STEMMED = re.compile(r"[a-z0-9]+")
_FOREIGN_SENTENCE = re.compile(r"[^\n。！？؟।]+[。！？؟।]?")
#: Facts told in passing: nothing else in the summary says them on their own.
_ASIDES = frozenset(("age", "apposition", "title", "described-age"))
#: Sentences whose claims are chosen together: a typical summary; a long text is taken in such pieces.
_TOGETHER = 8


@dataclass(frozen=True, slots=True)
class Proposal:
    """The candidates of one sentence with their texts and features, by name."""

    tokens: Doc
    candidates: Sequence[Candidate]
    texts: Sequence[str]
    features: Sequence[dict[str, float]]


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
    if not passage.strip():
        return Decomposition((), Reason.EMPTY_SUMMARY)
    if not _WORD.search(passage):
        return Decomposition((), Reason.NO_WORDS)
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
        missing = resolution.missing.text if resolution.missing is not None else None
        found: dict[str, Candidate] = {}
        for candidate in candidates(tokens, missing, resolution):
            if well_formed(candidate, tokens):
                text = write(candidate.pieces, tokens, resolution)
                if _WORD.search(text):
                    found.setdefault(text, candidate)
        if found:
            own = list(found.values())
            yield Proposal(tokens, own, list(found), describe(own, tokens, resolution))


def select(group: Sequence[Proposal], selector: Selector, seen: set[frozenset[str]]) -> list[Claim]:
    """The claims of some sentences, chosen together; ``seen`` holds the word sets already said."""
    kept = block_diag(*(incidence(p.candidates, len(p.tokens)) for p in group))
    places = [(p, candidate, text) for p in group for candidate, text in zip(p.candidates, p.texts, strict=True)]
    allowed = []
    for _, _, text in places:
        words = frozenset(map(stem, _STEMMED.findall(text.lower())))
        allowed.append(bool(words) and words not in seen)
        seen.add(words)
    told = {id(proposal) for proposal, candidate, _ in places if candidate.kind in ("age", "apposition")}
    for i, (proposal, candidate, _) in enumerate(places):
        if candidate.kind == "sentence" and id(proposal) in told and len(proposal.candidates) > 2:
            allowed[i] = False
    first = [i for i, (_, candidate, _) in enumerate(places) if candidate.kind in _ASIDES]
    content = np.array([_is_content(t) for p in group for t in p.tokens], dtype=np.float32)
    fit, worth = selector.values(selector.matrix([found for p in group for found in p.features]))
    chosen = choose(fit, worth, kept, np.array(allowed), content, selector.balance, first)
    return [_claim(*places[i]) for i in chosen if not _told(places[i], [places[k] for k in chosen if k != i])]


def _told(place: tuple[Proposal, Candidate, str], others: Sequence[tuple[Proposal, Candidate, str]]) -> bool:
    """Whether a whole sentence says nothing that its other claims do not say."""
    proposal, candidate, _ = place
    if candidate.kind != "sentence":
        return False
    said = {i for of, other, _ in others if of is proposal for i in other.kept}
    return bool(said) and all(i in said for i in candidate.kept if _is_content(proposal.tokens[i]))


def _is_content(token: Token) -> bool:
    """Whether some claim has to hold a word."""
    return token.pos_ in CONTENT or token.dep_ == "neg" or token.tag_ == "MD"


def _claim(proposal: Proposal, candidate: Candidate, text: str) -> Claim:
    at = candidate.kept or list(range(len(proposal.tokens)))
    return Claim(text, *span(proposal.tokens, min(at), max(at)))


def _sentences_as_claims(passage: str) -> Iterator[Claim]:
    for match in _FOREIGN_SENTENCE.finditer(passage):
        text = match.group().strip()
        if _WORD.search(text):
            start = match.start() + match.group().index(text)
            yield Claim(text, start, start + len(text))


# -- learning from demonstrations ----------------------------------------------------------------------


@lru_cache(maxsize=16)
def adapted(demonstrations: tuple[Demonstration, ...]) -> Selector:
    """The shipped selector after a prompt's demonstrations: its weights first, then its balance."""
    selector = shipped()
    proposed = [(d, list(propose(d.passage, by_sentence=False))) for d in demonstrations if d.claims]
    useful = [(demonstration, group) for demonstration, group in proposed if group]
    if not useful:
        return selector
    for demonstration, group in useful:
        features = selector.matrix([found for p in group for found in p.features])
        selector = selector.updated(features, targets([t for p in group for t in p.texts], demonstration.claims))
    gains = selector.balance_gains + sum(
        balance_gains(group, selector, demonstration.claims) for demonstration, group in useful
    )
    mean = gains / (PRIOR_PASSAGES + len(useful))
    return replace(selector, balance=fewest(mean), balance_gains=gains)


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
    gains = []
    for balance in BALANCES:
        found = select(group, replace(selector, balance=balance), set())
        gains.append(easiness([claim.text for claim in found], list(claims))[2])
    return np.nan_to_num(np.array(gains))
