"""Fit the tagger and the attachment counts: ``python -m training.tagger``.

Expectation maximisation for a bigram hidden Markov model on the documents and references of ROSE's validation
part, without any labelled word: only the dictionary of ``tagger_words`` and the verb table
(``weights/decomposer-verbs.json``, written and checked by hand). Then, on the text so tagged, how often each
preposition follows each noun and each verb. Deterministic; about half a minute. Run ``training.decomposer`` next.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from claimwise import corpora
from claimwise_embedded import checksums, decomposer_tokens
from claimwise_embedded.decomposer_tokens import TOKEN, shape, verb_forms
from training.tagger_words import CLASSES, FIRST_TRANSITIONS, MARKS, allowed, closed_words

_ROUNDS = 10
_DOCUMENTS = 400
_FORM_CLASSES = (("VB", "VZ"), ("VZ",), ("VD",), ("VN",), ("VG",))
PREPOSITIONS = (
    "in on at for with by from to into after before over about as against during since under between through of".split()
)


def texts() -> tuple[list[str], list[str]]:
    """References and documents of ROSE's validation part."""
    examples = corpora.load("rose").examples
    part = examples[(examples["split"] == "validation") & (examples["origin"] == "cnndm")]
    return part["summary"].tolist(), part["document"].tolist()


def verb_classes() -> dict[str, tuple[str, ...]]:
    """The classes of each form in the verb table."""
    found: dict[str, tuple[str, ...]] = {}
    for row in json.loads((checksums.WEIGHTS / "decomposer-verbs.json").read_text(encoding="utf-8")):
        for form, classes in zip(row[:5], _FORM_CLASSES, strict=True):
            found[form] = tuple(sorted({*found.get(form, ()), *classes}))
        for form in row[5:]:  # other past forms and participles
            found[form] = tuple(sorted({*found.get(form, ()), "VD", "VN"}))
    return found


def word_lists(lines: Iterable[str]) -> list[list[str]]:
    """Sentences as words, cut after full stops."""
    found = []
    for line in lines:
        current: list[str] = []
        for match in TOKEN.finditer(line):
            current.append(match.group())
            if match.group() in (".", "!", "?"):
                found.append(current)
                current = []
        found.append(current)
    return [words[:60] for words in found if len(words) > 1]


def train_tagger(references: Sequence[str], documents: Sequence[str]) -> dict:
    """The tagger's table: log probabilities of transitions and of words in classes."""
    closed, verbs = closed_words(), verb_classes()
    lines = [line for text in references for line in text.split("\n")] * 2
    lines += [line for text in documents[:_DOCUMENTS] for line in text.split("\n")]
    sentences = word_lists(lines)
    counts = Counter(_lower(word) for words in sentences for word in words)
    known = {w for w, n in counts.items() if n >= 4 and w.isalpha()} | set(verbs)
    keys = [[_key(words, i, closed, known) for i in range(len(words))] for words in sentences]
    names = sorted({key for row in keys for key in row})
    place = {name: i for i, name in enumerate(names)}
    permitted = np.zeros((len(names), len(CLASSES)))
    for name in names:
        permitted[place[name], [CLASSES.index(c) for c in allowed(name, closed, verbs)]] = 1
    seen = np.zeros(len(names))
    lengths: dict[int, list[list[int]]] = defaultdict(list)
    for row in keys:
        lengths[len(row)].append([place[key] for key in row])
        seen += np.bincount([place[key] for key in row], minlength=len(names))
    transition, emission = _maximise(
        [np.array(rows) for _, rows in sorted(lengths.items())], permitted, permitted * seen[:, None]
    )
    rows = {
        name: {c: _log(emission[place[name], CLASSES.index(c)]) for c in allowed(name, closed, verbs)} for name in names
    }
    for name in (*verbs, *closed, *MARKS, "<num>", "<cap>", "<sym>", "<ing>", "<ed>", "<ly>", "<s>", "<oth>"):
        if name not in rows:
            rows[name] = {c: -12.0 if c in ("VB", "VZ") else -11.5 for c in allowed(name, closed, verbs)}
    return {
        "classes": CLASSES,
        "transition": [[_log(value, 3) for value in row] for row in transition],
        "closed": sorted({*closed, *MARKS}),
        "emission": rows,
    }


def _lower(word: str) -> str:
    return word.lower().replace("’", "'")


def _key(words: Sequence[str], i: int, closed: dict, known: set[str]) -> str:
    lower = _lower(words[i])
    if lower in closed or lower in MARKS:
        return lower
    return shape(words[i], lower, lower in known, first=i == 0)


def _log(value: float, digits: int = 2) -> float:
    return round(float(np.log(value + 1e-12)), digits)


def _maximise(groups: list[np.ndarray], permitted: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Baum-Welch with a dictionary; sentences come in groups of equal length (sentences, length)."""
    n = len(CLASSES)
    transition = np.full((n + 1, n), 0.02 / n)
    for line in FIRST_TRANSITIONS.strip().splitlines():
        name, *moves = line.split()
        for move in moves:
            target, value = move.split(":")
            transition[n if name == "start" else CLASSES.index(name), CLASSES.index(target)] += float(value)
    transition /= transition.sum(axis=1, keepdims=True)
    prior = transition.copy()
    emission = permitted / permitted.sum(axis=1, keepdims=True) * weights.max(axis=1, keepdims=True) + 1e-12
    emission /= emission.sum(axis=0, keepdims=True)
    for _ in range(_ROUNDS):
        moves, words = prior * 300, permitted * 0.05
        for group in groups:
            length = group.shape[1]
            forward, scale = [], []
            for t in range(length):
                step = (transition[n] if t == 0 else forward[-1] @ transition[:n]) * emission[group[:, t]]
                scale.append(np.maximum(step.sum(axis=1), 1e-300))
                forward.append(step / scale[-1][:, None])
            backward = np.ones_like(forward[-1])
            for t in range(length - 1, -1, -1):
                belief = forward[t] * backward
                belief /= belief.sum(axis=1, keepdims=True) + 1e-300
                np.add.at(words, group[:, t], belief)
                if t == 0:
                    moves[n] += belief.sum(axis=0)
                    continue
                ahead = emission[group[:, t]] * backward / scale[t][:, None]
                moves[:n] += transition[:n] * (forward[t - 1].T @ ahead)
                backward = ahead @ transition[:n].T
        transition = moves / moves.sum(axis=1, keepdims=True)
        emission = words * permitted
        emission /= emission.sum(axis=0, keepdims=True)
    return transition, emission


def attachment(lines: Iterable[str], strength: float = 8.0, least: int = 8, common: int = 60) -> dict:
    """Log probability that each preposition follows a noun or a verb right away, smoothed towards the mean."""
    totals = {"noun": Counter(), "verb": Counter()}
    follows = {"noun": Counter(), "verb": Counter()}
    for line in lines:
        for tokens in decomposer_tokens.sentences(line):
            for i, token in enumerate(tokens):
                after = tokens[i + 1 : i + 4]
                if token.tag == "X" and token.text.islower() and (not after or after[0].tag != "X"):
                    kind, word = "noun", token.lower
                    if i and tokens[i - 1].tag in ("BE", "BB"):
                        after = []
                elif token.tag in ("VB", "VZ", "VD", "VN", "VG"):
                    kind, word = "verb", verb_forms().get(token.lower, (token.lower,))[0]
                    if after and after[0].tag == "PR":
                        after = after[1:]
                else:
                    continue
                totals[kind][word] += 1
                infinitive = len(after) > 1 and after[0].tag == "TO" and after[1].tag in ("VB", "BB")
                if after and after[0].tag in ("IN", "TO") and after[0].lower in PREPOSITIONS and not infinitive:
                    follows[kind][word, after[0].lower] += 1
    table: dict = {}
    for kind in ("noun", "verb"):
        everything = sum(totals[kind].values())
        mean = dict.fromkeys(PREPOSITIONS, 0.0)
        for (_, preposition), count in follows[kind].items():
            mean[preposition] += count / everything
        table[f"{kind}_default"] = {p: _log(value) for p, value in mean.items()}
        table[kind] = {
            word: {
                p: _log((follows[kind][word, p] + strength * mean[p]) / (count + strength))
                for p in PREPOSITIONS
                if follows[kind][word, p] or count > common
            }
            for word, count in sorted(totals[kind].items())
            if count >= least
        }
    return table


def _write(table: dict, name: str) -> None:
    (checksums.WEIGHTS / name).write_text(json.dumps(table, ensure_ascii=False) + "\n", encoding="utf-8")
    checksums.write()


if __name__ == "__main__":
    references, documents = texts()
    _write(train_tagger(references, documents), "decomposer-tagger.json")
    decomposer_tokens.tagger.cache_clear()
    _write(attachment([*documents, *references, *references]), "decomposer-attachment.json")
