"""The embedded model's answers are those recorded for its version: the cache knows it only by weights and version.

If this fails, answers changed: raise ``claimwise_embedded.VERSION`` and run ``python tests/test_embedded_version.py``.
"""

import json
from pathlib import Path

import pytest

from claimwise import corpora, prompts
from claimwise_embedded import VERSION, EmbeddedModel
from claimwise_embedded.entailment import EmbeddedEntailment

KNOWN = Path(__file__).parent / "data" / "embedded_answers.json"


def answers() -> dict:
    """Of every role on a few summaries of the sample, with its probabilities: processors differ in the third digit."""
    rows = corpora.load("sample").examples.query("system == 'careless'").head(3)
    documents, summaries = rows["document"].tolist(), rows["summary"].tolist()
    model, plain = EmbeddedModel(), prompts.load("acueval-verify-zeroshot")
    claims = [[c.text for c in d.claims] for d in model.decompose(summaries, prompts.load("acueval-decompose-5shot"))]
    verdicts = model.verify(documents, claims, plain)
    entailed = EmbeddedEntailment().entail(documents, summaries)
    critiques = model.critique(documents, summaries, prompts.load("geval-critique-comment"))
    return {
        "version": VERSION,
        "claims": claims,
        "supports": [[verdict.support for verdict in group] for group in verdicts],
        "judgements": [
            j.score for j in model.judge(documents, summaries, prompts.load("belugaeval-judge-consistency"))
        ],
        "entailment": entailed[:, 0].tolist(),
        "critiques": [critique.text for critique in critiques],
    }


def test_answers_are_those_of_this_version():
    known, found = json.loads(KNOWN.read_text(encoding="utf-8")), answers()
    told = "answers changed: raise claimwise_embedded.VERSION and run python tests/test_embedded_version.py"
    for name, value in found.items():
        if name == "supports":
            pairs = zip(value, known[name], strict=True)
            assert all(mine == pytest.approx(its, abs=0.02) for mine, its in pairs), told
        elif name in ("judgements", "entailment"):
            assert value == pytest.approx(known[name], abs=0.02), told
        else:
            assert value == known[name], told


if __name__ == "__main__":
    KNOWN.write_text(json.dumps(answers(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
