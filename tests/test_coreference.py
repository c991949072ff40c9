"""Coreference chains by rules on hand-written texts, and the variants of sentences that they give."""

import logging
import sys
from types import ModuleType, SimpleNamespace

import pytest
import tiny_coref

from claimwise.metrics.fenice import coreference
from claimwise.metrics.fenice.coreference import CoreferenceError, Rules
from claimwise.metrics.fenice.premises import variants
from claimwise.models.options import ModelError


def _chains(document):
    return [[document[a:b] for a, b in chain] for chain in Rules().chains(document)]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("John Smith spoke. Smith left.", [["John Smith", "Smith"]]),
        ("Smith left. John Smith spoke.", [["Smith", "John Smith"]]),  # the longer name may come later
        ("John Smith met Ann Smith. Smith left.", []),  # either of two: nobody
        ("John Smith met Ann Smith. Mrs Smith left.", [["Ann Smith", "Mrs Smith"]]),
        ("The World Health Organization met. The WHO agreed.", [["World Health Organization", "WHO"]]),
        ("A plane fell. The storm passed.", []),
        ("Ann Lee, a driver from York, won. The driver smiled.", [["Ann Lee", "The driver"]]),
        ("Police held driver Ann Lee. The driver denied it.", [["Ann Lee", "The driver"]]),
        ("Leeds University agreed. The university declined to say why.", [["Leeds University", "The university"]]),
        ("Mary Jones won. She cried.", [["Mary Jones", "She"]]),
        ("Mary Jones won. He cried.", []),  # no man to be seen
        ("John Smith met Mary Jones. She was late and he was not.", [["John Smith", "he"], ["Mary Jones", "She"]]),
        ("John Smith won. It rained. It rained. It rained. He cried.", []),  # too far back
        ("It rained. They left.", []),
        ("Leeds United lost. It was Ann Lee who left.", []),  # "it" is not the club
        ("Leeds United lost. It's Élodie Lee and Bo who left.", []),
        ("Leeds United lost. It wasn't also the BBC that left.", []),
        ("Leeds United lost. It was the club that Ann Lee left.", [["Leeds United", "It"]]),
        ("", []),
        ("...", []),
    ],
)
def test_rules(document, expected):
    assert _chains(document) == expected


def test_a_sentence_of_one_letter_case_has_no_names():
    assert _chains("THE COUNCIL MET. HE AGREED.") == []


def test_a_long_document_takes_chains_in_the_order_of_their_first_mentions():
    chains = Rules().chains("Ann Lee met Bo Day. Lee smiled. Day left. " * 300)
    assert [len(chain) for chain in chains] == [600, 600]
    assert chains == sorted(chains)


PLANE = ("A small plane fell on Monday. The aircraft burned. Its pilot lived.", [(0, 13), (30, 42), (51, 54)])
ANN = "Ann Lee won. Her team cheered. They saw her on the road. Ross won too."


@pytest.mark.parametrize(
    ("document", "chain", "start", "end", "expected"),
    [
        # Every mention takes every other form, one at a time.
        (*PLANE, 0, 29, ["The aircraft fell on Monday."]),
        (*PLANE, 51, 67, ["A small plane's pilot lived.", "The aircraft's pilot lived."]),
        ("Lee saw Lee. Ann Lee ran.", [(0, 3), (8, 11), (13, 20)], 0, 12, ["Ann Lee saw Lee.", "Lee saw Ann Lee."]),
        # There is no mention, all of the sentence is one, or the forms differ in case only.
        ("Ann won. It rained.", [(0, 3), (0, 3)], 9, 19, []),
        ("A small plane! The aircraft burned.", [(0, 13), (15, 27)], 0, 14, []),
        ("The plane fell. the plane burned.", [(0, 9), (16, 25)], 0, 15, []),
        # Possessives stay possessives.
        (ANN, [(0, 7), (40, 43)], 31, 56, ["They saw Ann Lee on the road."]),
        (ANN, [(13, 16), (57, 61)], 13, 30, ["Ross' team cheered."]),
    ],
)
def test_variants_of_a_sentence(document, chain, start, end, expected):
    assert variants(document, start, end, [chain]) == expected


@pytest.mark.parametrize(
    ("document", "sentence", "expected"),
    [
        # A name that owns is replaced with its mark.
        ("Ann Lee won. She smiled. Ann Lee's team cheered.", "Ann Lee's team cheered.", ["Her team cheered."]),
        # No pronoun that only owns stands where nothing is owned.
        ("Ann Lee won the cup. Her team cheered.", "Ann Lee won the cup.", []),
        ("Ann Lee won the cup. Her team cheered.", "Her team cheered.", ["Ann Lee's team cheered."]),
        # An object's pronoun becomes a subject's at the beginning.
        ("Ann Lee won the cup. Everybody saw her.", "Ann Lee won the cup.", ["She won the cup."]),
    ],
)
def test_variants_by_the_chains_of_rules(document, sentence, expected):
    start = document.index(sentence)
    assert variants(document, start, start + len(sentence), Rules().chains(document)) == expected


def test_an_unknown_resolver_and_a_missing_package_say_what_to_do():
    with pytest.raises(CoreferenceError, match="expected rules or neural"):
        coreference.load({"kind": "rule"})
    with pytest.raises(ModelError, match=r"kind rules \(coreference\): unknown option 'depth'; this kind has none"):
        coreference.load({"kind": "rules", "depth": 3})
    with pytest.raises(ModelError, match=r"kind neural \(coreference\): option 'device': found \['cpu'\]"):
        coreference.load({"kind": "neural", "device": ["cpu"]})


def test_the_neural_resolver_asks_for_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", ModuleType("spacy"))
    monkeypatch.setitem(sys.modules, "fastcoref", None)
    with pytest.raises(CoreferenceError, match="pip install fastcoref"):
        coreference.load({"kind": "neural"})


@pytest.fixture
def fastcoref(monkeypatch):
    """A stand-in with fastcoref's interface: "Ann" and "She" are one, a mention without a place, and a chain of one."""

    class FCoref:
        def __init__(self, model_name_or_path, device=None, nlp="en_core_web_sm", enable_progress_bar=True):
            if model_name_or_path != "there":
                raise OSError("no such folder")
            self.nlp = nlp

        def predict(self, texts):
            found = [(0, 3), (9, 12)]
            clusters = [[*reversed(found), None], [(13, 18)]]
            return [SimpleNamespace(get_clusters=lambda as_strings: clusters) for _ in texts]

    inner = "fastcoref.coref_models.modeling_fcoref"
    names = ("fastcoref", "fastcoref.coref_models", inner, "spacy", "datasets")
    packages = {name: ModuleType(name) for name in names}
    packages["fastcoref"].FCoref = FCoref
    packages[inner].FCorefModel = type("FCorefModel", (), {})
    packages["datasets"].logging = SimpleNamespace(set_verbosity_error=lambda: None)
    packages["datasets"].disable_progress_bars = lambda: None
    packages["spacy"].blank = lambda language: f"blank {language}"
    for name, package in packages.items():
        monkeypatch.setitem(sys.modules, name, package)


def test_the_neural_resolver_s_chains_are_ordered_placed_and_of_two_at_least(fastcoref):
    resolver = coreference.load({"kind": "neural", "checkpoint": "there"})
    assert resolver.chains("Ann won. She cried.") == [((0, 3), (9, 12))]
    assert variants("Ann won. She cried.", 9, 19, resolver.chains("Ann won. She cried.")) == ["Ann cried."]


def test_a_neural_checkpoint_that_is_not_there_is_refused_by_name(fastcoref):
    with pytest.raises(CoreferenceError, match=r"fastcoref cannot load 'nowhere': OSError: no such folder; expected"):
        coreference.load({"kind": "neural", "checkpoint": "nowhere"})


# ------------------------------------------------- fastcoref itself, where it is installed: pip install fastcoref


def _neural(folder, **shape):
    pytest.importorskip("fastcoref", reason="the package fastcoref is not installed: pip install fastcoref")
    return coreference.load({"kind": "neural", "checkpoint": tiny_coref.make(folder, **shape), "device": "cpu"})


def _named(resolver, document):
    return [[document[a:b] for a, b in chain] for chain in resolver.chains(document)]


def test_fastcoref_joins_what_its_checkpoint_knows_to_be_one(tmp_path):
    resolver = _neural(tmp_path)
    document = "Ann won. Bo cried, and she met him, his race and HE."
    assert resolver.chains(document) == [((0, 3), (23, 26)), ((9, 11), (36, 39), (49, 51))]
    assert _named(resolver, document) == [["Ann", "she"], ["Bo", "his", "HE"]]
    assert variants("Ann won. She cried.", 9, 19, resolver.chains("Ann won. She cried.")) == ["Ann cried."]


@pytest.mark.parametrize("document", ["Ann", "Ann won.", "It rained.", "...", "Ann met Bo."])
def test_fastcoref_finds_no_chain_where_nobody_is_named_twice(tmp_path, document):
    assert _neural(tmp_path).chains(document) == []


def test_fastcoref_reads_a_document_shorter_than_what_it_looks_at(tmp_path):
    assert _neural(tmp_path, share=0.25).chains("Ann") == []  # a quarter of three tokens is no span


def test_fastcoref_reads_documents_longer_than_a_segment(tmp_path):
    document = "Ann won. Bo cried. She met the race and he won, and her race cried." * 3
    whole, cut = _neural(tmp_path / "whole"), _neural(tmp_path / "cut", segment=20)
    assert cut.chains(document) == whole.chains(document)
    assert [len(chain) for chain in whole.chains(document)] == [9, 6]


def test_fastcoref_does_not_make_other_libraries_talk(tmp_path, capfd):
    _neural(tmp_path).chains("Ann won. She cried.")
    assert logging.getLogger().level == logging.WARNING
    assert "Map:" not in capfd.readouterr().err
