"""WiCE (Kamoi et al. 2023): claims of Wikipedia checked against the web articles that they cite."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry


def load(rows: Rows, files: Registry) -> None:
    """One example per claim. The claim is the summary; the document is the article, one sentence per line.

    The label is 1 for ``supported``. The two published labels that count as 0, ``partially_supported`` and
    ``not_supported``, are the gold claim's ``error``. For claims that are supported at least in part, people chose
    supporting sentences: mostly several sets, each of them sufficient. If one of the sets is empty, no evidence is added.
    """
    for split, _, entry in _entries(files, "data/entailment_retrieval/claim"):
        example = _example(rows, split, entry)
        _gold(rows, example, entry)
        ends = [end - 1 for end in accumulate(len(sentence) + 1 for sentence in entry["evidence"])]
        lines = [(end - len(sentence), end) for sentence, end in zip(entry["evidence"], ends, strict=True)]
        if all(entry["supporting_sentences"]):
            rows.evidence(example, ([lines[i] for i in chosen] for chosen in entry["supporting_sentences"]))


def _entries(files: Registry, folder: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield split, number in its file, and entry, from a folder's dev and test file."""
    for name, split in (("dev", "validation"), ("test", "test")):
        for number, entry in enumerate(files.read_jsonl("wice", f"{folder}/{name}.jsonl")):
            yield split, number, entry


def _example(rows: Rows, split: str, entry: dict[str, Any], *key: int, document_key: str | None = None) -> str:
    return rows.example(
        entry["meta"]["id"],
        *key,
        document="\n".join(entry["evidence"]),
        summary=entry["claim"],
        system="wikipedia",
        split=split,
        origin="web",
        label=_supported(entry),
        document_key=document_key,
    )


def _gold(rows: Rows, example: str, entry: dict[str, Any]) -> None:
    supported = _supported(entry)
    rows.gold(example, [{"claim": entry["claim"], "label": supported, "error": None if supported else entry["label"]}])


def _supported(entry: dict[str, Any]) -> float:
    return math.nan if entry["label"] is None else int(entry["label"] == "supported")


def load_spans(rows: Rows, files: Registry) -> None:
    """Parts of partially supported claims, with the tokens that the cited article does not support.

    Sub-claims are published as tokens, each marked or not; a span is a run of marked tokens. Every sub-claim has a span, so
    the corpus shows where errors are, not whether there are any.
    """
    for split, number, entry in _entries(files, "data/non_supported_tokens"):
        runs = marked_runs(entry["claim"], entry["claim_tokens"], entry["non_supported_spans"])
        rows.marked(_example(rows, split, entry, number), runs)


def marked_runs(claim: str, tokens: Sequence[str], marks: Sequence[bool]) -> list[tuple[int, int]]:
    """The spans (in characters) of a claim's runs of marked tokens.

    >>> marked_runs("Ann ran (fast) home.", ["Ann", "ran", "(", "fast", ")", "home", "."], [0, 0, 1, 1, 1, 0, 1])
    [(8, 14), (19, 20)]
    """
    runs: list[tuple[int, int]] = []
    end, run_continues = 0, False
    for token, mark in zip(tokens, marks, strict=True):
        start = claim.index(token, end)
        end = start + len(token)
        if mark:
            runs.append((runs.pop()[0] if run_continues else start, end))
        run_continues = bool(mark)
    return runs


_CHUNKS = "code_and_resources/entailment_inputs/oracle_chunks/claim"
_OUTPUTS = "code_and_resources/model_outputs/entailment_classification/oracle_chunks"


def load_chunks(rows: Rows, files: Registry) -> None:
    """The claims against excerpts with their supporting sentences, and the replies of GPT-3.5 and GPT-4 about them.

    Each claim has up to three excerpts: all have its supporting sentences, beside different other ones. Their document id
    is that of the claim. Replies are recorded for the first 100 test claims, to the prompt of the paper's appendix
    (explanation, then one of three labels).
    """
    test_examples: dict[tuple[str, tuple[int, ...]], str] = {}
    for split, number, entry in _entries(files, _CHUNKS):
        example = _example(rows, split, entry, number, document_key=entry["meta"]["id"])
        _gold(rows, example, entry)
        if split == "test":
            test_examples[entry["claim"], tuple(entry["meta"]["chunk_idx"])] = example
    for model, claim, sentences, reply in _replies(files, "claim"):
        rows.replied(test_examples[claim, tuple(sentences)], model, "explained", "recorded-verify-label", reply)


def _replies(files: Registry, what: str) -> Iterator[tuple[str, str, dict[int, str], str]]:
    """Yield the recorded replies: model, claim, excerpt (sentences by number), reply."""
    for path in files.paths("wice", f"{_OUTPUTS}/{what}/*"):
        model = re.search("entailment=([^/]+)", path)[1]
        for entry in files.read_jsonl("wice", path):
            task = entry["prompt"].rsplit("<input>", 1)[1]  # without the prompt's examples
            claim = re.search("<claim>(.*?)</claim>", task, re.DOTALL)[1]
            sentences = re.findall(r"<sentence_(\d+)>(.*?)</sentence_\1>", task, re.DOTALL)
            yield model, claim, {int(number): sentence for number, sentence in sentences}, entry["response"]


def load_subclaims(rows: Rows, files: Registry) -> None:
    """Parts of the first test claims against excerpts like those of ``load_chunks``, and GPT-4's replies about them.

    Texts are read from the recorded prompts. Only the sub-claims of ``load_spans`` have published labels. The others' labels
    follow from the whole claim: it is supported if all parts are, and not supported if no part is even in part. The other
    parts of a partially supported claim have no label, and are counted.
    """
    partially_supported = {entry["claim"] for _, _, entry in _entries(files, "data/non_supported_tokens")}
    articles = [entry for _, _, entry in _entries(files, "data/entailment_retrieval/claim")]
    seen: set[tuple[str, tuple[int, ...]]] = set()
    for number, (model, claim, sentences, reply) in enumerate(_replies(files, "subclaim")):
        if (asked := (claim, tuple(sentences))) in seen:
            rows.notes["replies to a prompt that stands again (left out)"] += 1
            continue
        seen.add(asked)
        whole_claims = [entry for entry in articles if _contains(entry["evidence"], sentences)]
        labels = {entry["label"] for entry in whole_claims}
        label = labels.pop() if labels in ({"supported"}, {"not_supported"}) else None
        label = "partially_supported" if claim in partially_supported else label
        entry = whole_claims[0] | {"claim": claim, "evidence": sentences.values(), "label": label}
        example = _example(rows, "test", entry, number, document_key=entry["meta"]["id"])
        if label is None:
            rows.notes["excerpts of a sub-claim without a label"] += 1
        else:
            _gold(rows, example, entry)
        rows.replied(example, model, "explained", "recorded-verify-label", reply)


def _contains(article: Sequence[str], sentences: Mapping[int, str]) -> bool:
    """Whether an article has these sentences, at these places."""
    return all(number < len(article) and article[number].strip() == text.strip() for number, text in sentences.items())
