"""A cached model answers as the model does, and asks it nothing twice, even after a restart."""

import pytest
from fakes import FakeModel
from hypothesis import given
from hypothesis import strategies as st

from claimwise import prompts
from claimwise.models.base import Feedback, Source
from claimwise.models.cache import ResponseCache
from claimwise.models.caching import CachedModel
from claimwise.prompts import Demonstration

VERIFY = prompts.load("acueval-verify-zeroshot")
EXTRA = prompts.load("acueval-verify-fewshot-document")
DECOMPOSE = prompts.load("acueval-decompose-5shot")
JUDGE = prompts.load("belugaeval-judge-consistency")
CRITIQUE = prompts.load("geval-critique-comment")
REVISE = prompts.load("acueval-revise-claims")
SUMMARISE = prompts.load("factored-summarise")

DOCUMENTS = ["The cat sat on the mat.", "It rained. The dog slept."]
CLAIMS = [["The cat sat.", "The cat barked.", "mumble"], ["It snowed."]]

#: Every role with arguments that reach values, reasons, spans, evidence and nested inputs.
ROLES = {
    "decompose": (["The cat sat. It rained.", "mumble", ""], DECOMPOSE),
    "verify": (DOCUMENTS, CLAIMS, VERIFY),
    "judge": (DOCUMENTS, ["The cat sat.", "mumble"], JUDGE),
    "critique": (DOCUMENTS, ["The cat sat.", "It snowed."], CRITIQUE),
    "revise": (
        DOCUMENTS,
        ["The cat sat. It flew.", "mumble"],
        [Feedback(("It flew.",)), Feedback(comment="No.")],
        REVISE,
    ),
    "summarise": ([[Source("Ling (2009)", "Cats", "Cats sit. They do.")]], ["Do cats sit?"], SUMMARISE),
}


def wrapped(model, path=":memory:"):
    return CachedModel(model, ResponseCache(path))


def test_it_is_of_the_same_name():
    cached = wrapped(FakeModel("f"))
    assert (cached.name, cached.fingerprint) == ("fake", "f")


@pytest.mark.parametrize("role", ROLES)
def test_same_results_fresh_repeated_and_after_a_restart(role, tmp_path):
    expected = getattr(FakeModel(), role)(*ROLES[role])
    path = tmp_path / "calls.sqlite"
    model = FakeModel()
    first = wrapped(model, path)
    # repr, for NaN is not equal to itself
    assert repr(getattr(first, role)(*ROLES[role])) == repr(expected)
    made = model.calls.total()
    assert made > 0
    assert repr(getattr(first, role)(*ROLES[role])) == repr(expected)
    first.cache.close()
    restarted = FakeModel()
    assert repr(getattr(wrapped(restarted, path), role)(*ROLES[role])) == repr(expected)
    assert model.calls.total() == made
    assert restarted.calls.total() == 0


@pytest.mark.parametrize("role", ROLES)
def test_another_fingerprint_is_asked_again(role):
    cache = ResponseCache(":memory:")
    getattr(CachedModel(FakeModel("one"), cache), role)(*ROLES[role])
    other = FakeModel("two")
    getattr(CachedModel(other, cache), role)(*ROLES[role])
    assert other.calls.total() > 0


@pytest.mark.parametrize("role", ROLES)
def test_another_prompt_is_asked_again(role):
    *inputs, prompt = ROLES[role]
    model = FakeModel()
    cached = wrapped(model)
    getattr(cached, role)(*inputs, prompt)
    before = model.calls.total()
    getattr(cached, role)(*inputs, prompt.model_copy(update={"template": prompt.template + " Please."}))
    assert model.calls.total() == 2 * before


def test_other_demonstrations_are_another_call_and_the_same_ones_are_not():
    prompt = prompts.load("acueval-verify-fewshot")
    shown = [Demonstration(passage="It rained.", claim="It rained.", label=True)]
    model = FakeModel()
    cached = wrapped(model)
    for demonstrations, calls in [
        (prompt.demonstrations, 1),
        (shown, 2),
        (list(shown), 2),
        ([shown[0].model_copy(update={"label": False})], 3),
        (shown * 2, 4),
        ([], 5),
    ]:
        cached.verify(["It rained."], [["It rained."]], prompt.with_demonstrations(demonstrations))
        assert model.calls["verify"] == calls


def test_the_extra_document_is_part_of_the_call():
    model = FakeModel()
    cached = wrapped(model)
    documents, claims = ["It rained."], [["It snowed."]]
    alone = cached.verify(documents, claims, EXTRA, ["The cat sat."])
    beside = cached.verify(documents, claims, EXTRA, ["It snowed."])
    again = cached.verify(documents, claims, EXTRA, ["The cat sat."])
    assert (alone[0][0].support, beside[0][0].support) == (0.5, 1)
    assert again == alone
    assert model.calls["verify"] == 2


def test_equal_calls_within_a_batch_are_made_once():
    model = FakeModel()
    wrapped(model).decompose(["It rained."] * 5, DECOMPOSE)
    assert model.calls["decompose"] == 1


def test_a_failing_backend_stores_nothing_and_the_next_try_asks_again():
    class Failing(FakeModel):
        def judge(self, documents, summaries, prompt):
            super().judge(documents, summaries, prompt)
            raise ConnectionError("server went away")

    cache = ResponseCache(":memory:")
    with pytest.raises(ConnectionError):
        CachedModel(Failing(), cache).judge(*ROLES["judge"])
    model = FakeModel()
    CachedModel(model, cache).judge(*ROLES["judge"])
    assert model.calls["judge"] == 2


def test_unsupported_words_are_asked_for_once_and_only_where_the_model_marks_them(tmp_path):
    class Marking(FakeModel):
        words_measured = "rarely right"

        def unsupported_words(self, documents, texts):
            self._count("unsupported_words", texts)
            return [
                [(0, len(text))] if text not in document else []
                for document, text in zip(documents, texts, strict=True)
            ]

    path, model = tmp_path / "calls.sqlite", Marking()
    first = wrapped(model, path)
    assert (first.words_measured, wrapped(FakeModel()).words_measured) == ("rarely right", "")
    asked = (["It rained."] * 3, ["rained", "snowed", "snowed"])
    assert first.unsupported_words(*asked) == [[], [(0, 6)], [(0, 6)]]
    first.cache.close()
    restarted = wrapped(model, path)
    assert restarted.unsupported_words(["Sun.", *asked[0]], ["Sun", *asked[1]]) == [[], [], [(0, 6)], [(0, 6)]]
    assert restarted.unsupported_words([], []) == []
    assert model.calls["unsupported_words"] == 3


CLAIM = st.sampled_from(["The cat sat.", "It rained.", "Dogs bark.", "mumble", "雨が降った"])


@given(st.lists(st.tuples(st.sampled_from(DOCUMENTS), st.lists(CLAIM, max_size=4)), max_size=6), st.data())
def test_any_history_gives_what_the_model_gives(rows, data):
    model = FakeModel()
    cached = wrapped(model)
    seen = set()
    for _ in range(2):
        part = data.draw(st.lists(st.sampled_from(rows), max_size=5)) if rows else []
        documents, claims = [row[0] for row in part], [row[1] for row in part]
        assert repr(cached.verify(documents, claims, VERIFY)) == repr(FakeModel().verify(documents, claims, VERIFY))
        seen |= {(document, claim) for document, group in part for claim in group}
        assert model.calls["verify"] == len(seen)


@pytest.mark.parametrize("value", [[1], {"support": "high"}, {"evidence": [0]}, None])
def test_a_stored_verdict_of_another_shape_is_asked_again(value):
    model, cache = FakeModel(), ResponseCache(":memory:")
    arguments = (["It rained."], [["It rained."]], VERIFY)
    expected = CachedModel(model, cache).verify(*arguments)
    [(key, name)] = cache._connection.execute("SELECT key, model FROM calls").fetchall()
    cache.prune()
    cache.put({key: value}, model=name, role="verify")
    assert CachedModel(model, cache).verify(*arguments) == expected
    assert model.calls["verify"] == 2
