"""What a notebook says of its run: on which corpora the embedded model is supervised is kept true by its training."""

import inspect

import pytest

from claimwise import corpora
from claimwise.experiments import report
from claimwise_embedded.verifier import document_hash
from training import data

EMBEDDED = {"kind": "embedded"}


def said(names, **model):
    return report.caveats("public", EMBEDDED | model, corpora=names).data


def test_every_corpus_that_training_reads_is_said_to_be_supervised():
    assert set(data.TRAINING_SPLITS) <= set(report.SUPERVISED)
    # The other names are corpora that share documents with these; a name that no loader has would say nothing.
    assert set(report.SUPERVISED) <= set(corpora.LOADERS)
    for name in data.TRAINING_SPLITS:
        assert f"**Supervised** on {name} (" in said([name])
        assert "Not trained on" not in said([name])


def test_loaders_of_the_same_documents_are_supervised_too():
    same = {
        "aggrefact": "aggrefact_ftsota",
        "halueval_full": "halueval",
        "rose_presence": "rose",
        "wice_chunks": "wice",
        "wice_spans": "wice",
        "frank": "aggrefact_exf",
    }
    for name, learned in same.items():
        assert learned in data.TRAINING_SPLITS
        assert f"**Supervised** on {name} (" in said([name])


def hashes(corpus, splits=None):
    examples = corpus.examples
    chosen = examples if splits is None else examples[examples["split"].isin(splits)]
    return {document_hash(document) for document in chosen["document"].unique()}


def test_no_other_public_corpus_holds_a_document_that_was_learned_from(published_corpus):
    learned = set()
    for name, splits in data.TRAINING_SPLITS.items():
        learned |= hashes(published_corpus(name), splits)
    for name, splits in data.TEST_SPLITS.items():
        learned -= hashes(published_corpus(name), splits)
    others = [n for n in corpora.LOADERS if n not in report.SUPERVISED and not n.startswith("sample")]
    for name in others:
        if name != "llmsummeval":  # must be provided, and has the documents of llmsummeval_pairwise
            assert not learned & hashes(published_corpus(name)), name
    assert learned & hashes(published_corpus("summac_polytope"))


def test_corpora_that_a_variant_does_not_know_are_not_supervised_for_it():
    learned = set(data.TRAINING_SPLITS)
    for name, unknown in data.VARIANTS.items():
        without = {corpus for corpus in learned if corpus.startswith(tuple(unknown))}
        assert without == {corpus for corpus in learned if corpus.startswith(report.UNKNOWN[name])}
    zero_shot = said(["aggrefact_ftsota", "summac_factcc", "wice"], weights="zero-shot")
    assert "**Supervised** on wice (" in zero_shot
    assert "Not trained on: aggrefact_ftsota, summac_factcc." in zero_shot


def test_a_notebook_cannot_forget_its_corpora():
    assert inspect.signature(report.caveats).parameters["corpora"].default is inspect.Parameter.empty
    with pytest.raises(TypeError, match="corpora"):
        report.caveats("public", EMBEDDED)


def test_other_models_and_the_sample():
    assert "Supervised" not in report.caveats("public", {"kind": "openai"}, corpora=["wice"]).data
    assert "64 hand-written documents" in report.caveats("sample", {"kind": "lexical"}, corpora=["sample"]).data


def test_every_corpus_that_can_be_loaded_is_described():
    assert set(report.CORPORA) == set(corpora.LOADERS)
    assert "yours" not in report.about(corpora.LOADERS).values()
