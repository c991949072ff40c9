"""The shipped corpora: the tables made from a small file, and the consistency of each of their files."""

import copy

import pytest
import yaml

from claimwise import corpora
from claimwise.corpora import sample
from claimwise.corpora.base import Rows
from claimwise.prompts.sources import separated

ERROR_TYPES = {
    *("entity", "number", "relation", "circumstance", "coreference", "out-of-article", "overstatement"),
    "citation",  # a true statement credited to the wrong source
}
DOCUMENT = {
    "id": "news-01",
    "domain": "news",
    "split": "validation",
    "title": "Rain",
    "document": "It rained in Ham.",
    "reference": "Rain fell in Ham.",
    "reference_claims": ["Rain fell", "Rain fell in Ham"],
    "summaries": [
        {"system": name, "summary": "It rained.", "claims": [{"claim": "It rained", "supported": True}], "covers": [0]}
        for name in ("extract", "abstract", "fluent", "careless")
    ],
    "preference": {"preferred": "writer", "why": "says where"},
}
QUERY = {
    "id": "query-01",
    "split": "test",
    "query": "Does it rain?",
    "papers": [
        {
            "id": "p1",
            "authors": ["Ida Norr"],
            "year": 2001,
            "year_suffix": None,
            "title": "Rain",
            "abstract": "It did.",
        },
        {
            "id": "p2",
            "authors": ["Bo Ek", "Li Om", "Ul Ro"],
            "year": 2002,
            "year_suffix": "b",
            "title": "Snow",
            "abstract": "No.",
        },
    ],
    "summaries": [
        {
            "system": "cited-a",
            "summary": "Hard to say. It rained\n(Norr, 2001). It snowed (Ek et al., 2002b).",
            "sentences": [
                {"sentence": "Hard to say.", "cites": [], "supported": None},
                {"sentence": "It rained (Norr, 2001).", "cites": ["p1"], "supported": True},
                {
                    "sentence": "It snowed (Ek et al., 2002b).",
                    "cites": ["p2"],
                    "supported": False,
                    "error": "relation",
                    "note": "it did not",
                },
            ],
        }
    ],
}


@pytest.fixture
def filled(tmp_path, monkeypatch):
    """Loads a sample corpus of a project that has one file of a kind, or none."""
    (tmp_path / "params.yaml").touch()
    monkeypatch.chdir(tmp_path)

    def load(loader, kind="documents", content=None):
        folder = tmp_path / "data" / "sample" / kind
        folder.mkdir(parents=True)
        if content:
            (folder / f"{content['id']}.yaml").write_text(yaml.safe_dump(content))
        rows = Rows(loader.__name__.replace("load", "sample"))
        loader(rows, None)
        return rows.corpus()

    return load


def changed(content, path, value):
    content = copy.deepcopy(content)
    *way, last = path
    part = content
    for step in way:
        part = part[step]
    part[last] = value
    return content


def test_sample_tables_of_a_document(filled):
    wrong = {"claim": "It snowed", "supported": False, "error": "relation", "note": "it rained"}
    content = changed(DOCUMENT, ("summaries", 3, "claims"), [*DOCUMENT["summaries"][3]["claims"], wrong])
    corpus = filled(sample.load, "documents", content)
    assert corpus.examples[["id", "label", "split", "origin"]].to_numpy().tolist() == [
        ["sample:news-01:reference", 1.0, "validation", "news"],
        ["sample:news-01:extract", 1.0, "validation", "news"],
        ["sample:news-01:abstract", 1.0, "validation", "news"],
        ["sample:news-01:fluent", 1.0, "validation", "news"],
        ["sample:news-01:careless", 0.0, "validation", "news"],
    ]
    careless = corpus.gold_claims[corpus.gold_claims.example_id == "sample:news-01:careless"]
    assert careless[["claim_index", "claim", "label", "error"]].to_numpy().tolist() == [
        [0, "It rained", 1.0, None],
        [1, "It snowed", 0.0, "relation"],
    ]
    assert corpus.preferences.to_numpy().tolist() == [
        ["sample:news-01:reference", "sample:news-01:fluent", "author", "first"]
    ]


def test_presence_turns_the_sample_round(filled):
    corpus = filled(sample.load_presence, "documents", DOCUMENT)
    assert corpus.examples[["id", "document", "summary"]].to_numpy().tolist()[0] == [
        "sample_presence:news-01:extract",
        "It rained.",
        "Rain fell in Ham.",
    ]
    assert corpus.examples.label.isna().all()
    assert corpus.gold_claims[["claim", "label", "extra"]].to_numpy().tolist()[:2] == [
        ["Rain fell", 1.0, "It rained in Ham."],
        ["Rain fell in Ham", 0.0, "It rained in Ham."],
    ]


def test_papers_label_citing_sentences_against_what_they_cite(filled):
    corpus = filled(sample.load_papers, "papers", QUERY)
    [example] = corpus.examples.to_dict("records")
    assert example["id"] == "sample_papers:query-01:cited-a"
    assert example["label"] == 0
    assert separated(example["document"]) == [
        ("Norr (2001)", "Rain", "It did."),
        ("Ek et al. (2002b)", "Snow", "No."),
    ]
    assert corpus.gold_claims[["claim", "label", "error", "passage"]].to_numpy().tolist() == [
        ["It rained (Norr, 2001).", 1.0, None, "Norr (2001):\n\nTitle: Rain\n\nAbstract: It did."],
        ["It snowed (Ek et al., 2002b).", 0.0, "relation", "Ek et al. (2002b):\n\nTitle: Snow\n\nAbstract: No."],
    ]
    assert corpus.questions == {"sample_papers:query-01:cited-a": "Does it rain?"}


def test_a_cited_paper_that_does_not_exist_leaves_the_passage_empty(filled):
    content = changed(QUERY, ("summaries", 0, "sentences", 2, "cites"), ["missing:Om-2002"])
    corpus = filled(sample.load_papers, "papers", content)
    assert corpus.gold_claims.passage.tolist() == ["Norr (2001):\n\nTitle: Rain\n\nAbstract: It did.", ""]


def test_a_folder_without_files_says_where_the_sample_is(filled):
    with pytest.raises(corpora.CorpusError, match=r"no \.yaml files in .*; run from a checkout"):
        filled(sample.load)


@pytest.mark.parametrize("entry", sample.entries("documents"), ids=lambda entry: entry["id"])
def test_a_shipped_document_holds_together(entry):
    assert set(entry) == set(DOCUMENT)
    assert [summary["system"] for summary in entry["summaries"]] == ["extract", "abstract", "fluent", "careless"]
    assert entry["preference"]["why"]
    for summary in entry["summaries"]:
        assert set(summary) == {"system", "summary", "claims", "covers"}
        assert set(summary["covers"]) <= set(range(len(entry["reference_claims"])))
        for claim in summary["claims"]:
            said = {"claim", "supported"} if claim["supported"] else {"claim", "supported", "error", "note"}
            assert {key for key, value in claim.items() if value is not None} == said


@pytest.mark.parametrize("query", sample.entries("papers"), ids=lambda query: query["id"])
def test_a_shipped_query_holds_together(query):
    assert set(query) == set(QUERY)
    references = [sample.source(paper).reference for paper in query["papers"]]
    assert len(set(references)) == len(references)
    papers = {paper["id"] for paper in query["papers"]}
    for summary in query["summaries"]:
        assert summary["summary"].split() == " ".join(s["sentence"] for s in summary["sentences"]).split()
        for sentence in summary["sentences"]:
            assert {cite for cite in sentence["cites"] if not cite.startswith(sample.MISSING)} <= papers
            assert (sentence["supported"] is not None) == bool(sentence["cites"])
            assert bool(sentence.get("error")) == bool(sentence.get("note")) == (sentence["supported"] is False)


@pytest.mark.parametrize("name", ["sample", "sample_presence", "sample_papers"])
def test_the_shipped_files_load_and_agree_with_their_labels(name):
    corpus = corpora.load(name)
    claims = corpus.gold_claims
    assert set(claims.example_id) == set(corpus.examples.id)
    assert set(corpus.examples.split) <= {"validation", "test"}
    assert set(claims.error.dropna()) <= ERROR_TYPES
    # a document stays on one side of the split
    assert corpus.examples.groupby("document_id").split.nunique().max() == 1
    if name != "sample_presence":
        worst = claims.groupby("example_id").label.min()
        assert corpus.examples.set_index("id").label.to_dict() == worst.to_dict()
        assert claims[claims.label == 0].error.notna().all()
        assert claims[claims.label == 1].error.isna().all()


def test_the_sample_has_both_labels_and_every_error_type_in_both_splits():
    corpus = corpora.load("sample")
    claims = corpus.gold_claims.merge(corpus.examples, left_on="example_id", right_on="id")
    own = ERROR_TYPES - {"citation"}
    for split, part in claims.groupby("split"):
        assert set(part.error.dropna()) == own, split
    assert set(corpus.preferences.preferred) == {"first", "second", "equal"}
    assert corpus.examples.groupby(["origin", "split"]).label.nunique().eq(2).all()
