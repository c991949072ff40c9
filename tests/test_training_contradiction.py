"""A head that separates contradicted from absent claims, learned from a real, small language model's states."""

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from claimwise import models, prompts
from training import contradiction
from training.corpora import ABSENT, CONTRADICTED, ENTAILED

PAIRS = pd.DataFrame(
    [
        ("d1", "The bridge was closed on Monday.", "The bridge was open on Monday.", CONTRADICTED),
        ("d2", "A man plays the piano.", "No man plays the piano.", CONTRADICTED),
        ("d1", "The bridge was closed on Monday.", "Ann Lee won the race.", ABSENT),
        ("d2", "A man plays the piano.", "A woman cuts an onion.", ABSENT),
        ("d2", "A man plays the piano.", "A man plays music.", ENTAILED),
    ],
    columns=["document_id", "document", "claim", "standing"],
).assign(corpus="toy", split="train")


def test_what_the_head_learned_is_what_the_model_says_beside_its_answer(smollm2, smollm2_options, tmp_path):
    [read] = contradiction.ask(PAIRS, smollm2_options, 12, tmp_path)
    unsupported = PAIRS["standing"] != ENTAILED
    labels = PAIRS["standing"] == CONTRADICTED
    head = contradiction.fit(read[unsupported, 1:], labels[unsupported], PAIRS["corpus"][unsupported])
    file = tmp_path / "head.safetensors"
    save_file(head | {"layer": np.array(12)}, file)

    model = models.load(smollm2 | {"contradiction": str(file)})
    groups = PAIRS.groupby("document", sort=False)["claim"].agg(list)
    found = model.verify(groups.index.tolist(), groups.tolist(), prompts.load("acueval-verify-zeroshot"))
    verdicts = dict(zip(groups.explode(), [verdict for group in found for verdict in group], strict=True))

    logits = read[:, 1:] @ head["weight"][0] + head["bias"]
    told = [verdicts[claim].contradicted for claim in PAIRS["claim"]]
    assert told == pytest.approx(1 / (1 + np.exp(-logits)), abs=0.01)
    assert min(told[:2]) > max(told[2:4])
    support = [verdicts[claim].support for claim in PAIRS["claim"]]
    assert support == pytest.approx(1 / (1 + np.exp(-read[:, 0])), abs=0.01)


def test_what_was_asked_is_not_asked_again(smollm2_options, tmp_path, monkeypatch):
    [first] = contradiction.ask(PAIRS, smollm2_options, 12, tmp_path)
    monkeypatch.setattr(contradiction, "States", None)
    [again] = contradiction.ask(PAIRS, smollm2_options, 12, tmp_path)
    assert (first == again).all()


def test_the_head_is_a_logistic_regression_of_states_on_one_scale():
    rng = np.random.default_rng(0)
    states, labels = rng.normal(3, [1, 20, 5], (40, 3)), np.arange(40) % 2 == 0
    states[labels, 1] += 30
    head = contradiction.fit(states, pd.Series(labels), pd.Series(["a"] * 40))
    scaler = StandardScaler().fit(states)
    plain = LogisticRegression(C=contradiction._PENALTY).fit(scaler.transform(states), labels)
    expected = plain.decision_function(scaler.transform(states))
    assert (states @ head["weight"][0] + head["bias"]).tolist() == pytest.approx(expected.tolist(), abs=1e-5)


def test_accuracy_is_of_three_classes_and_auc_of_those_not_entailed():
    part = PAIRS.assign(support=[0.1, 0.4, 0.2, 0.1, 0.6], contradicted=[0.9, 0.4, 0.3, 0.6, 0.9])
    found = contradiction.measured(part)
    assert (
        found["accuracy"] == 60
    )  # of the second 0.4 is entailed, 0.24 contradicted; the fourth is called contradicted
    assert found["auc"] == 0.75
    assert (found["n"], found["commonest"]) == (5, 40)
