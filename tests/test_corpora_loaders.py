"""Each loader, on a small hand-written version of its published files (tests/data/corpora)."""

import gzip
import math
import shutil
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
import yaml

import training.corpora
from claimwise import corpora
from claimwise.corpora import news, papers
from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry, git_blob, published_files
from claimwise.prompts.sources import separated

MINIATURES = Path(__file__).parent / "data" / "corpora"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The published registry, pointed at the miniatures: their commit is "mini"."""
    mirror = tmp_path_factory.mktemp("mirror")
    shutil.copytree(MINIATURES, mirror, dirs_exist_ok=True)
    rose = next(mirror.rglob("rose_datasets.json"))
    rose.with_name("rose_datasets.json.gz").write_bytes(gzip.compress(rose.read_bytes()))
    small = [replace(file, commit="mini") for file in published_files()]
    # one model stands for the 13 of the leaderboard
    leaderboard = next(file for file in small if file.path.endswith("command/summaries.jsonl"))
    folder = "v1_dataset_archive/v1_dataset_output/acme/lm-1"
    small += [replace(leaderboard, path=f"{folder}/{name}.jsonl") for name in ("summaries", "judgments")]
    there = [file for file in small if (mirror / file.key).is_file()]
    there = [replace(file, git_blob=git_blob((mirror / file.key).read_bytes())) for file in there]
    return Registry(there, mirror=mirror, raw=mirror / "raw", base="http://127.0.0.1:9")


def rows(table, *columns):
    return table[list(columns)].to_numpy().tolist()


def test_every_public_corpus_has_a_dataset_entry_and_every_dataset_its_files():
    datasets = yaml.safe_load(resources.files("claimwise.corpora").joinpath("datasets.yaml").read_text("utf-8"))
    described = {name for entry in datasets.values() for name in entry["corpora"]}
    assert described == {*corpora.LOADERS, *training.corpora.LOADERS}
    assert {file.dataset for file in published_files()} == set(datasets) - {"sample"}
    assert all(entry["homepage"] and entry["licence"] and entry["citation"] for entry in datasets.values())


def test_aggrefact_ftsota(files):
    corpus = corpora.load("aggrefact_ftsota", files)
    assert rows(corpus.examples, "id", "split", "origin", "label")[:2] == [
        ["aggrefact_ftsota:validation:Polytope:b1-10:BART", "validation", "cnndm", 1.0],
        ["aggrefact_ftsota:validation:Wang20:7001:BART", "validation", "xsum", 0.0],
    ]
    assert rows(corpus.recorded_claims, "decomposer", "claim_index", "claim")[1] == [
        "fenice-t5",
        1,
        "The harbour was closed for nine days.",
    ]
    assert rows(corpus.scores, "metric", "score")[0] == ["fenice-t5 (published)", 0.97]
    assert corpus.gold_claims.empty
    assert corpus.preferences.empty


def test_rose(files):
    corpus = corpora.load("rose", files)
    assert rows(corpus.examples, "id", "split", "origin", "system")[:2] == [
        ["rose:cnndm_test:0", "test", "cnndm", "reference"],
        ["rose:cnndm_validation:0", "validation", "cnndm", "reference"],
    ]
    assert corpus.examples.label.isna().all()
    assert corpus.gold_claims.label.isna().all()
    assert corpus.gold_claims.claim.tolist()[:2] == ["Ida Noor won the race", "Ida Noor gave the cup away"]
    first = corpus.recorded_claims[corpus.recorded_claims.example_id == "rose:cnndm_test:0"]
    assert first.decomposer.tolist() == ["fenice-t5", "gpt-3.5-turbo", "gpt-3.5-turbo"]
    # dialogue turns keep their line breaks
    assert corpus.examples.document.iloc[-1] == "Bo: Late again?\r\nKit: The tram broke down."


def test_summeval_takes_the_mode_and_drops_three_way_ties(files):
    corpus = corpora.load("summeval", files)
    assert rows(corpus.examples, "id", "split", "label") == [
        ["summeval:dm-test-1:M11", "validation", 0.0],
        ["summeval:dm-test-1:M8", "test", 1.0],
    ]
    assert corpus.notes == {
        "three-way ties left out": 1,
        "replies that a repetition changed (the last one kept)": 1,
    }
    assert rows(corpus.scores, "metric", "score") == [
        ["human consistency (mean)", 2.0],
        ["human consistency (mean)", 4.0],
    ]
    first, second = corpus.examples.document_id
    assert first == second


def test_summeval_has_the_replies_on_record_for_its_examples(files):
    corpus = corpora.load("summeval", files)
    assert rows(corpus.recorded_replies, "example_id", "model", "template", "prompt", "reply") == [
        ["summeval:dm-test-1:M11", "gpt-3.5-turbo-0301", "stareval", "recorded-judge-stars", "It depends."],
        ["summeval:dm-test-1:M8", "gpt-3.5-turbo-0301", "mcq", "recorded-judge-letter", "E"],
        [
            "summeval:dm-test-1:M8",
            "gpt-4-0314",
            "rts",
            "recorded-judge-rating",
            "Lateness is in the article. Final score: 5.",
        ],
    ]


def test_halueval(files):
    corpus = corpora.load("halueval", files)
    assert rows(corpus.examples, "id", "split", "summary", "label")[:2] == [
        ["halueval:validation:0:right", "validation", "The zoo sold two elephants.", 1.0],
        ["halueval:validation:0:hallucinated", "validation", "The zoo bought two elephants.", 0.0],
    ]
    assert corpus.examples.split.tolist() == ["validation"] * 2 + ["test"] * 4


def test_llmsummeval_pairwise(files):
    corpus = corpora.load("llmsummeval_pairwise", files)
    writer, other = "llmsummeval_pairwise:aaaa1111:writer-w1w1w1w1", "llmsummeval_pairwise:aaaa1111:writer-w2w2w2w2"
    model = "llmsummeval_pairwise:aaaa1111:text-davinci-002"
    assert rows(corpus.examples, "id", "system") == [
        [writer, "writer"],
        [model, "text-davinci-002"],
        [other, "writer"],
    ]
    assert corpus.preferences.to_numpy().tolist() == [
        [writer, model, "e1e1e1e1", "first"],
        [writer, model, "e2e2e2e2", "equal"],
        [other, model, "e1e1e1e1", "second"],
    ]


def test_llmsummeval_takes_the_majority_and_counts_ties(files):
    corpus = corpora.load("llmsummeval", files)
    assert rows(corpus.examples, "id", "split", "label")[:2] == [
        ["llmsummeval:cnndm:0:opt", "validation", 0.0],
        ["llmsummeval:cnndm:1:glm", "test", 1.0],
    ]
    assert math.isnan(corpus.examples.label.iloc[2])
    assert corpus.notes == {"annotations without a faithfulness vote": 1, "ties, without a label": 1}
    assert corpus.scores.score.tolist() == [pytest.approx(1 / 3), 1.0, 0.5]


def test_frank_has_aggrefacts_texts_and_splits_and_its_own_types(files):
    corpus = corpora.load("frank", files)
    assert rows(corpus.examples, "id", "split", "origin", "summary", "label") == [
        ["frank:31:TranS2S", "test", "xsum", "snow closed the pass.", 0.0],
        ["frank:31:BERTS2S", "validation", "xsum", "snow closed the pass.", 1.0],
    ]
    assert rows(corpus.gold_claims, "claim", "label", "error") == [
        ["snow closed the pass.", 0.0, "EntE, CircE"],
        ["snow closed the pass.", 1.0, None],
    ]
    own = corpus.scores[corpus.scores.example_id == "frank:31:TranS2S"]
    assert dict(zip(own.metric, own.score, strict=True)) == {  # no DAE: it is null there
        "FactCC (published)": 0.25,
        "FEQA (published)": 0.5,
        "QAGS (published)": 0.5,
        "BERTScore (published)": 0.75,
        "ROUGE-L (published)": 0.5,
    }
    assert corpus.notes == {
        "annotated summaries without text (left out)": 1,
        "summaries that AggreFact labels otherwise (FRANK's label kept)": 1,
    }


def test_wice_keeps_the_three_way_label(files):
    corpus = corpora.load("wice", files)
    assert rows(corpus.gold_claims, "example_id", "label", "error") == [
        ["wice:dev1", 0.0, "partially_supported"],
        ["wice:test1", 1.0, None],
        ["wice:test2", 0.0, "not_supported"],
    ]
    expected = "(meta data) TITLE: The Brack Press\nOlen Brack founded the press in 1950."
    assert set(corpus.examples.document) == {expected}
    assert corpus.examples.split.tolist() == ["validation", "test", "test"]


def test_wice_s_evidence_is_sentences_of_the_document(files):
    chosen = corpora.load("wice", files).gold_evidence  # none of the claim that is not supported
    assert rows(chosen, "example_id", "alternative") == [["wice:dev1", 0], ["wice:test1", 0]]
    document = "(meta data) TITLE: The Brack Press\nOlen Brack founded the press in 1950."
    assert {document[row.start : row.end] for row in chosen.itertuples()} == {"Olen Brack founded the press in 1950."}


def spans(corpus):
    """The marked texts with the ids of their summaries."""
    marked = corpus.spans.merge(corpus.examples, left_on="example_id", right_on="id")
    return [(row.id, row.summary[row.start : row.end]) for row in marked.itertuples()]


def test_wice_spans_are_runs_of_marked_tokens(files):
    corpus = corpora.load("wice_spans", files)
    assert spans(corpus) == [
        ("wice_spans:dev1-0:0", "sold"),
        ("wice_spans:test1-0:0", "May"),
        ("wice_spans:test1-0:0", "and Ann Dow"),
    ]
    assert rows(corpus.examples, "split", "label") == [["validation", 0.0], ["test", 0.0]]
    assert set(corpus.examples.document) == set(corpora.load("wice", files).examples.document)


def test_wice_chunks_are_excerpts_and_know_which_was_replied_on(files):
    corpus = corpora.load("wice_chunks", files)
    assert rows(corpus.examples, "id", "split", "document", "label") == [
        ["wice_chunks:dev1:0", "validation", "Olen Brack founded the press in 1950.", 0.0],
        [
            "wice_chunks:test1:0",
            "test",
            "(meta data) TITLE: The Brack Press\nOlen Brack founded the press in 1950.",
            1.0,
        ],
        ["wice_chunks:test1:1", "test", "Olen Brack founded the press in 1950.\nContact us.", 1.0],
        ["wice_chunks:test2:2", "test", "Contact us.", 0.0],
    ]
    assert corpus.examples.document_id.nunique() == 3  # the excerpts of one claim stay together
    assert rows(corpus.recorded_replies, "example_id", "model", "prompt") == [
        ["wice_chunks:test1:1", "gpt-4-0613", "recorded-verify-label"]
    ]


def test_qags_takes_the_majority_of_each_sentence(files):
    corpus = corpora.load("qags", files)
    assert rows(corpus.gold_claims, "claim", "label") == [
        ["ann pell swam lake torr in five hours.", 1.0],
        ["she was the first.", 0.0],
    ]
    assert rows(corpus.examples, "id", "summary", "label") == [
        ["qags:0", "ann pell swam lake torr in five hours. she was the first.", 0.0]
    ]


def test_vectara_matches_sources_and_gives_a_reason_where_there_is_no_score(files):
    tested, learned = corpora.load("vectara", files), training.corpora.load("vectara_training", files)
    assert rows(tested.examples, "id", "document", "split") == [
        ["vectara:acme/lm-1:1", "The bill in Gdansk came to €5 in all.", "test"],
    ]
    assert rows(learned.examples, "id", "document", "split") == [
        ["vectara_training:acme/lm-1:2", "Two.", "train"],
        ["vectara_training:acme/lm-1:4", "Four.", "train"],
        ["vectara_training:acme/lm-1:5", "Five.", "train"],
    ]
    assert tested.notes == {
        "summaries whose source is not settled (left out)": 1,
        "rows that stand twice (left out)": 1,
    }
    assert rows(tested.scores, "score", "reason") == [[0.75, None]]
    assert learned.scores.reason.tolist() == [
        "several published scores for these words",
        "several published scores for these words",
        "not an answer, by the leaderboard",
    ]
    assert learned.scores.score.isna().all()


def test_vectara_takes_preambles_off_and_counts_them():
    rows = Rows("vectara")
    chatty = " Sure! Here is a concise summary of the passage:\n\nIt rained a lot in May."
    refusal = "I am unable to summarise this passage."
    plain = "Here it rained."
    assert [news._without_preamble(reply, rows) for reply in (chatty, refusal, plain)] == [
        "It rained a lot in May.",
        refusal,
        plain,
    ]
    assert rows.notes == {"replies whose preamble was taken off": 1}


def test_fave_cites_each_paper_once_and_can_be_taken_apart(files):
    corpus = corpora.load("fave", files)
    [document] = corpus.examples.document
    assert separated(document) == [
        ("Norr and van der Meer (2001a)", "Moss on glass: a review", "Moss grows on damp glass.\n\n  It grows slowly."),
        ("Norr and van der Meer (2001b)", "More moss", "More moss grew."),
        ("One et al. (1999a)", "Three on lichen", "Lichen is not moss."),
        ("Moss, by nobody at (1980)", "Moss, by nobody at all", ""),
        ("Plato (n.d.)", "Last", "The last."),
        ("One et al. (1999b)", "Four on lichen", "Lichen again."),
    ]
    assert corpus.questions == {"fave:000": "Does moss grow on glass?"}


def test_a_paper_that_fave_names_twice_is_cited_by_two_letters():
    paper = {"authors": ["Ann Lee"], "metadata": {"year": 2020}, "title": "Moss", "summary": "It grows."}
    assert [source.reference for source in papers._papers([paper, dict(paper)])] == ["Lee (2020a)", "Lee (2020b)"]


def test_summedits_keeps_the_edit_types_of_inconsistent_summaries(files):
    corpus = training.corpora.load("summedits", files)
    assert rows(corpus.examples, "id", "split", "origin", "system", "label") == [
        ["summedits:p_og", "validation", "podcast", "original", 1.0],
        ["summedits:p_1", "test", "podcast", "edited", 0.0],
        ["summedits:p_2", "test", "podcast", "edited", 1.0],
    ]
    assert corpus.gold_claims.error.tolist() == [None, "entity_modification, negation_insertion_removal", None]


def test_summac_slices(files):
    loaded = {name: training.corpora.load(f"summac_{name}", files).examples for name in ("factcc", "xsumfaith")}
    assert rows(loaded["factcc"], "id", "split", "label") == [["summac_factcc:factcc_0", "train", 1.0]]
    assert rows(loaded["xsumfaith"], "system", "origin", "label") == [["PtGen", "xsum", 0.0]]
    cogensumm = training.corpora.load("summac_cogensumm", files).examples
    assert rows(cogensumm, "id", "split", "system") == [["summac_cogensumm:00aa:see17_org", "test", "see17_org"]]


def test_factcg_leaves_out_claims_without_a_document(files):
    corpus = training.corpora.load("factcg", files)
    assert rows(corpus.examples, "id", "summary", "label") == [
        ["factcg:stage2:0", "The author of Rain died in Ham.", 1.0]
    ]
    assert corpus.notes == {"stage1: claims published without their document (left out)": 1}


def test_genaudit_labels_by_marked_spans(files):
    corpus = corpora.load("genaudit_usb", files)
    assert rows(corpus.examples.fillna({"label": -1}), "id", "origin", "label") == [
        ["genaudit_usb:genaudit:A#REDDIT-1", "reddit", 0.0],
        ["genaudit_usb:genaudit:A#REDDIT-3", "reddit", 0.0],
        ["genaudit_usb:genaudit:A#REDDIT-4", "reddit", -1],
        ["genaudit_usb:usb:B#XSUM-1", "xsum", 1.0],
    ]
    assert spans(corpus) == [
        ("genaudit_usb:genaudit:A#REDDIT-1", "took"),
        ("genaudit_usb:genaudit:A#REDDIT-1", "the bus"),
        ("genaudit_usb:genaudit:A#REDDIT-3", "the train"),
        ("genaudit_usb:genaudit:A#REDDIT-3", "home"),
    ]
    assert corpus.notes == {
        "rows without source or summary (left out)": 1,
        "summaries of several annotators (one example each)": 2,
        "summaries that as many annotators marked as did not (without a label)": 1,
    }


def test_spans_are_written_and_read(files, tmp_path):
    corpus = corpora.load("wice_spans", files)
    corpora.write(corpus, tmp_path / "with")
    assert spans(corpora.read(tmp_path / "with")) == spans(corpus)
    corpora.write(corpora.load("wice", files), tmp_path / "without")
    assert not (tmp_path / "without" / "spans.parquet").exists()
    assert corpora.read(tmp_path / "without").spans.empty


def test_factcheck_gpt_keeps_stances_and_removes_nul_bytes(files):
    corpus = training.corpora.load("factcheck_gpt", files)
    assert rows(corpus.gold_claims, "label", "error") == [[1.0, None], [0.0, "refute"], [0.0, "irrelevant"]]
    assert corpus.examples.document.iloc[0] == "The pier of Ham opened in 1902."
    assert corpus.notes == {"NUL bytes removed": 1}


def test_longsciverify_averages_reviewers_and_mends_ids(files):
    corpus = corpora.load("longsciverify", files)
    assert corpus.examples.id.tolist()[3] == "longsciverify:0706.1000:gencomparesumabs"
    assert corpus.examples.document.iloc[0] == "moss grows .\nit grows slowly ."
    # model 1: always 1 and 1; model 2: 0 and 1, 0, 1; model 3: 0, its second sentence not judged
    assert corpus.scores.score.tolist() == [1.0, pytest.approx(1 / 3), 0.0] * 2


def test_longeval(files):
    corpus = corpora.load("longeval", files)
    assert rows(corpus.scores, "example_id", "score") == [["longeval:0:bigbird_pegasus", 0.75]]
