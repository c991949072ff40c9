"""Entailment backends: the order of labels, batches against single pairs, what is refused."""

import numpy as np
import pytest
from tiny_nli import classifier, make

from claimwise import models, prompts
from claimwise.models.cache import ResponseCache
from claimwise.models.entailment import EntailmentError, label_order, load
from claimwise.models.options import ModelError

PAIRS = [
    ("ann lee gave the old bridge to the city .", "ann gave the bridge ."),
    ("the storm .", "it was not the storm , he said ."),
    ("they took the plane and the team quickly and slowly to the river .", "bo smith ."),
] * 3


def _literal(folder, premise, hypothesis):
    """One pair by transformers alone, in the order of the checkpoint's own labels."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        found = model(**tokenizer(premise, hypothesis, return_tensors="pt")).logits[0].softmax(-1)
    return {model.config.id2label[i]: float(found[i]) for i in range(3)}


def test_columns_are_those_that_the_config_names_whatever_their_order(nli_checkpoint):
    rows = classifier(nli_checkpoint).entail(*zip(*PAIRS, strict=True))
    assert np.ptp(rows[:3], axis=0).max() > 0.05  # the random model does tell pairs apart
    for (premise, hypothesis), row in zip(PAIRS[:3], rows, strict=False):
        expected = _literal(nli_checkpoint, premise, hypothesis)
        assert row == pytest.approx([expected["entailment"], expected["neutral"], expected["contradiction"]], abs=1e-6)


def test_the_size_of_batches_changes_nothing(nli_checkpoint):
    together = classifier(nli_checkpoint).entail(*zip(*PAIRS, strict=True))
    alone = classifier(nli_checkpoint, batch_tokens=1).entail(*zip(*PAIRS, strict=True))
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(together.sum(axis=1), 1)
    np.testing.assert_allclose(together[:3], together[3:6], atol=1e-6)


def test_float32_on_a_processor_has_linear_layers_laid_out_for_onednn_and_other_types_theirs(nli_checkpoint):
    import torch

    if not torch.backends.mkldnn.is_available():
        pytest.skip("this torch has no oneDNN")
    packed, plain = (classifier(nli_checkpoint, dtype=dtype) for dtype in ("float32", "bfloat16"))
    kinds = [{type(m) is torch.nn.Linear for m in c._model.modules() if hasattr(m, "weight")} for c in (packed, plain)]
    assert all(layer.weight.is_mkldnn for layer in packed._model.modules() if type(layer).__name__ == "Packed")
    assert kinds == [{False}, {False, True}]


def test_a_control_token_in_a_text_is_text(nli_checkpoint):
    assert classifier(nli_checkpoint).count(["[SEP]"])[0] > 1


def test_no_pair_and_no_text(nli_checkpoint):
    model = classifier(nli_checkpoint)
    assert model.entail([], []).shape == (0, 3)
    assert model.count([]) == []


def test_the_limit_counts_two_texts_without_the_special_tokens_and_nothing_is_truncated(nli_checkpoint):
    model = classifier(nli_checkpoint)
    assert model.limit == 128 - 3
    assert classifier(nli_checkpoint, max_tokens=64).limit == 64 - 3
    assert model.count(["ann won", "zq"]) == [4, 2]  # "won" and "zq" in letters
    fitting = "rain " * 120
    assert model.entail([fitting], ["the red team win ."]).shape == (1, 3)
    with pytest.raises(EntailmentError, match="129 tokens, expected at most 128"):
        model.entail([fitting + "rain"], ["the red team win ."])


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (("entailment", "not_entailment"), "'entailment', 'not_entailment'"),
        (("LABEL_0", "LABEL_1", "LABEL_2"), "'LABEL_0', 'LABEL_1', 'LABEL_2'"),
        (("entailment", "neutral", "entails too"), "'entailment', 'neutral', 'entails too'"),
        (("entailment", "neutral", "contradiction", "unknown"), "'unknown'"),
    ],
)
def test_other_labels_than_the_three_are_refused(tmp_path, labels, found):
    with pytest.raises(EntailmentError, match="three labels entailment, neutral, contradiction") as error:
        classifier(make(tmp_path / "m", labels))
    assert found in str(error.value)


def test_names_of_labels_are_read_by_their_beginning():
    assert label_order({0: "entail", 1: "contradictory", 2: "Neutral"}, "m") == [0, 2, 1]


def test_a_fingerprint_follows_the_weights_and_the_precision(nli_checkpoint, tmp_path):
    other = make(tmp_path / "other", seed=4)
    prints = {
        classifier(nli_checkpoint).fingerprint,
        classifier(other).fingerprint,
        classifier(nli_checkpoint, dtype="bfloat16").fingerprint,
        classifier(nli_checkpoint, max_tokens=64).fingerprint,
    }
    assert len(prints) == 4
    assert classifier(nli_checkpoint).fingerprint in prints


def test_a_fingerprint_names_the_commit_that_a_revision_meant_and_the_kind_of_device(nli_checkpoint, monkeypatch):
    import transformers

    commits = iter(["aaa", "bbb", "aaa", None])

    def of_hub(kind):
        load = kind.from_pretrained

        def from_hub(name, **options):
            if name == nli_checkpoint:  # asked by transformers itself
                return load(name, **options)
            assert (name, options.pop("revision")) == ("someone/some-nli", "main")
            found = load(nli_checkpoint, **options)
            if kind is transformers.AutoConfig:
                found._commit_hash = next(commits)
            return found

        return from_hub

    for kind in (transformers.AutoConfig, transformers.AutoTokenizer, transformers.AutoModelForSequenceClassification):
        monkeypatch.setattr(kind, "from_pretrained", of_hub(kind))
    monkeypatch.setattr("claimwise.hub.ask", lambda name, file, revision: None)
    first, moved, again, unknown = (classifier("someone/some-nli", revision="main").fingerprint for _ in range(4))
    assert first == again != moved
    assert unknown not in (first, moved)
    assert "main" in unknown
    monkeypatch.undo()
    here, elsewhere = (classifier(nli_checkpoint, device=device).fingerprint for device in ("cpu", "meta"))
    assert here != elsewhere


def test_a_hub_out_of_reach_is_asked_once(no_hub):
    with pytest.raises(OSError, match=r"the hub is out of reach \(no such host\), .*'ann/nli' is not in its cache"):
        classifier("ann/nli", revision="main")
    assert len(no_hub) == 1


def test_a_hub_id_needs_a_revision():
    with pytest.raises(EntailmentError, match="needs a `revision`"):
        load({"kind": "transformers", "checkpoint": "someone/some-nli"})


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            {"kind": "transformers", "reversion": "main"},
            r"kind transformers \(entailment\): .*'reversion'; did you mean",
        ),
        ({"kind": "transformers", "dtype": "flaot32"}, "option 'dtype': found 'flaot32'; .*'bfloat16' or 'float16'"),
        ({"kind": "transformers", "max_tokens": [1]}, r"option 'max_tokens': found \[1\]; Input should be a valid int"),
        (
            {"kind": "embedded", "weights": "zeroshot"},
            "option 'weights': found 'zeroshot'; .* 'supervised' or 'zero-shot'",
        ),
    ],
)
def test_a_wrong_option_names_itself(entry, told):
    with pytest.raises(ModelError, match=told):
        load({"checkpoint": "x", **entry} if entry["kind"] == "transformers" else entry)


def test_a_defect_within_transformers_is_no_wrong_option(nli_checkpoint, monkeypatch):
    def defect(*_, **__):
        raise TypeError("a bug")

    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", defect)
    with pytest.raises(TypeError, match=r"^a bug$"):
        load({"kind": "transformers", "checkpoint": nli_checkpoint, "batch_tokens": 77})


@pytest.fixture(scope="module")
def embedded():
    return load({"kind": "embedded"})


def test_equal_settings_share_one_model(nli_checkpoint):
    entry = {"kind": "transformers", "checkpoint": nli_checkpoint}
    assert load(entry) is load(dict(reversed(entry.items())))
    assert load(entry) is not load({**entry, "max_tokens": 64})


def test_the_embedded_model_tells_a_stated_claim_from_one_that_is_not(embedded):
    premise = "The council approved the new bridge on Monday by five votes to four."
    claims = ["The council approved the new bridge.", "A hospital in Peru bought 300 beds.", "The council met in Oslo."]
    rows = embedded.entail([premise] * 3, claims)
    assert rows[0, 0] > rows[2, 0] > rows[1, 0]
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert (rows[:, 2] == 0).all()


def test_the_embedded_model_gives_equal_pairs_equal_rows_in_any_company(embedded):
    pairs = [
        ("It rained in Rome.", "It rained."),
        ("Ann won the race.", "Bo lost."),
        ("It rained in Rome.", "It snowed."),
    ]
    together = embedded.entail(*zip(*pairs, strict=True))
    alone = np.concatenate([embedded.entail([premise], [claim]) for premise, claim in reversed(pairs)])[::-1]
    np.testing.assert_allclose(together, alone, atol=2e-2)  # a batch's company moves bfloat16 states a little


def test_the_embedded_models_weights_are_named_as_in_models(embedded):
    zero_shot = load({"kind": "embedded", "weights": "zero-shot"})
    assert load({"kind": "embedded", "weights": "supervised"}).fingerprint == embedded.fingerprint
    assert zero_shot.fingerprint != embedded.fingerprint
    assert (embedded.name, zero_shot.name) == ("embedded", "embedded-zero-shot")
    pair = ["The council approved the bridge on Monday."], ["The council met in Oslo."]
    assert zero_shot.entail(*pair)[0, 0] != embedded.entail(*pair)[0, 0]


def test_a_pair_without_words_has_no_probabilities(embedded):
    assert np.isnan(embedded.entail(["..."], ["Ann won."])).all()
    assert np.isnan(embedded.entail(["Ann won.", "Ann won."], ["Ann won.", "!"])).all(axis=1).tolist() == [False, True]


def test_a_verifying_model_is_an_entailment_model_without_contradiction(tmp_path):
    """Its rows are the model's own verdicts on each premise as a document; blank premises are rows of NaN."""
    cache = ResponseCache(tmp_path / "calls.sqlite")
    nli = load({"kind": "model", "model": {"kind": "embedded"}}, cache)
    premises = ["The mayor opened the bridge on Monday.", "It rained.", "The mayor opened the bridge on Monday.", "..."]
    claims = ["The bridge was opened.", "It rained.", "Ann slept.", "It rained."]
    found = nli.entail(premises, claims)
    verify = models.load({"kind": "embedded"}).verify
    prompt = prompts.load("acueval-verify-zeroshot")
    alone = [
        verify([premise], [[claim]], prompt)[0][0].support for premise, claim in zip(premises, claims, strict=True)
    ]
    np.testing.assert_allclose(found[:, 0], alone, atol=1e-6)
    read = ~np.isnan(found[:, 0])
    assert read.tolist() == [True, True, True, False]
    np.testing.assert_allclose(found[read].sum(axis=1), 1)
    assert (found[read, 2] == 0).all()
    assert found[1, 0] > found[2, 0]
    [(_, role, calls, _)] = cache.stats()
    assert (role, calls) == ("verify", len(claims)), (
        "every finished call is remembered: a run that was killed continues"
    )


def test_of_a_model_for_entailment_options_are_checked():
    with pytest.raises(ModelError, match=r"kind model \(entailment\): unknown option 'promt'; did you mean 'prompt'"):
        load({"kind": "model", "model": {"kind": "lexical"}, "promt": "x"})
    with pytest.raises(ModelError, match="unknown kind of model 'nothing'"):
        load({"kind": "model", "model": {"kind": "nothing"}})


def test_a_verifying_model_is_loaded_once_whatever_remembers_its_calls(tmp_path):
    """Variants of an ablation share a checkpoint, and each evaluation may bring a cache of its own."""
    entry = {"kind": "model", "model": {"kind": "embedded"}}
    caches = [ResponseCache(tmp_path / name) for name in ("a.sqlite", "b.sqlite")]
    first, second = (load(entry, cache)._model for cache in caches)
    assert first.model is second.model
    assert (first.cache, second.cache) == tuple(caches)
