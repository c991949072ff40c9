"""Counts and labels of the real public files; needs the folder that CLAIMWISE_MIRROR names."""

import hashlib
from functools import cache

import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import training.corpora
from claimwise import corpora
from claimwise.analysis.measures import auc
from claimwise.models.weights import learned_documents
from claimwise.prompts import parsers
from claimwise.prompts.sources import separated
from claimwise_embedded.heads import document_hash
from training import contradiction, packing
from training.data import TEST_SPLITS

pytestmark = pytest.mark.usefixtures("published_corpus")

load = cache(training.corpora.load)


def counted(name):
    """Rows and faithful ones by split and origin."""
    groups = load(name).examples.groupby(["split", "origin"]).label
    return {key: (len(labels), int(labels.sum())) for key, labels in groups}


def test_aggrefact_ftsota():
    assert counted("aggrefact_ftsota") == {
        ("test", "cnndm"): (559, 502),
        ("test", "xsum"): (558, 285),
        ("validation", "cnndm"): (459, 400),
        ("validation", "xsum"): (777, 394),
    }
    corpus = load("aggrefact_ftsota")
    assert set(corpus.examples.system) == {"BART", "Pegasus", "PegasusDynamic", "T5"}
    assert set(corpus.recorded_claims.example_id) == set(corpus.examples.id)
    assert corpus.scores.score.between(-1, 1).all()
    pairs = corpus.examples.groupby(["document", "summary"]).split.nunique()
    assert pairs.max() == 1


def test_aggrefact_exf():
    sizes = {key: size for key, (size, _) in counted("aggrefact_exf").items()}
    assert sizes["test", "cnndm"] + sizes["test", "xsum"] == 798
    assert sizes["validation", "cnndm"] + sizes["validation", "xsum"] == 852
    pairs = load("aggrefact_exf").examples.groupby(["document", "summary"]).split
    assert (pairs.size() > 1).sum() == 4
    assert pairs.nunique().eq(2).sum() == 1


def test_rose():
    corpus = load("rose")
    examples = corpus.examples.set_index("id")
    part = corpus.gold_claims.example_id.str.split(":").str[1]
    assert part.value_counts().to_dict() == {
        "cnndm_test": 5624,
        "cnndm_validation": 11579,
        "xsum": 2307,
        "samsum": 2287,
    }
    assert examples.groupby(["origin", "split"]).size().to_dict() == {
        ("cnndm", "test"): 500,
        ("cnndm", "validation"): 1000,
        ("xsum", "test"): 500,
        ("samsum", "test"): 500,
    }
    made = corpus.recorded_claims.groupby("decomposer").size().to_dict()
    assert made == {"fenice-t5": 10296, "gpt-3.5-turbo": 11772, "llama2-7b": 9015}


def test_summeval():
    corpus = load("summeval")
    assert len(corpus.examples) == 1181
    assert corpus.examples.label.sum() == 1023
    assert corpus.notes == {
        "three-way ties left out": 19,
        "replies that a repetition changed (the last one kept)": 52,
    }
    replies = corpus.recorded_replies
    assert replies.groupby(["model", "template"]).size().to_dict() == {
        **{("gpt-3.5-turbo-0301", name): 1181 for name in ("rts", "altrts", "mcq", "altmcq", "stareval")},
        ("gpt-4-0314", "rts"): 1181,
        **{(f"llama-2-{size}b-chat-hf", "rts"): 1181 for size in (7, 13, 70)},
    }
    assert corpus.examples.document_id.nunique() == 100
    systems = corpus.examples.groupby("split").system.unique()
    assert not set(systems["validation"]) & set(systems["test"])
    assert corpus.scores.score.between(1, 5).all()


def test_halueval():
    assert counted("halueval") == {("test", "cnndm"): (1000, 500), ("validation", "cnndm"): (200, 100)}
    assert load("halueval").examples.groupby("document_id").split.nunique().max() == 1


def test_llmsummeval_pairwise():
    corpus = load("llmsummeval_pairwise")
    assert corpus.preferences.preferred.value_counts().to_dict() == {"first": 243, "second": 239, "equal": 117}
    assert corpus.preferences.rater.nunique() == 6
    assert corpus.examples.system.value_counts().to_dict() == {"writer": 112, "text-davinci-002": 76}
    assert set(corpus.preferences.first_id) | set(corpus.preferences.second_id) == set(corpus.examples.id)


def test_wice():
    corpus = load("wice")
    assert corpus.examples.split.value_counts().to_dict() == {"test": 358, "validation": 349}
    assert corpus.gold_claims.error.value_counts().to_dict() == {"partially_supported": 406, "not_supported": 75}
    assert counted("wice") == {("test", "web"): (358, 111), ("validation", "web"): (349, 115)}
    # Of all claims that are supported at least in part, and of no other, people chose sentences.
    chosen, wrong = set(corpus.gold_evidence.example_id), corpus.gold_claims.error == "not_supported"
    assert chosen == set(corpus.gold_claims.example_id[~wrong])


def test_wice_chunks():
    corpus = load("wice_chunks")
    assert corpus.examples.split.value_counts().to_dict() == {"test": 1070, "validation": 1043}
    replied = corpus.examples[corpus.examples.id.isin(corpus.recorded_replies.example_id)]
    assert (len(replied), replied.document_id.nunique(), int(replied.label.sum())) == (300, 100, 66)
    whole = load("wice").examples.set_index("id")
    for example in corpus.examples.itertuples():  # every excerpt is of the claim's article
        article = whole.loc[f"wice:{example.id.split(':')[1]}"]
        assert example.summary == article.summary
        assert set(example.document.split("\n")) <= set(article.document.split("\n"))


def test_wice_subclaims():
    corpus = load("wice_subclaims")
    replies = corpus.recorded_replies
    assert len(replies) + corpus.notes["replies to a prompt that stands again (left out)"] == 298
    assert set(replies.model) == {"gpt-4-0613"}
    assert corpus.examples.summary.nunique() == 100
    labels = corpus.examples.drop_duplicates("summary").label
    assert (int((labels == 1).sum()), int((labels == 0).sum()), int(labels.isna().sum())) == (21, 16, 63)
    # Every reply can be read, and agrees with the label more often than not.
    read = replies.reply.map(lambda reply: parsers.parse("supported-label", reply).value)
    assert read.notna().all()
    judged = corpus.examples.merge(replies.assign(read=read), left_on="id", right_on="example_id").dropna(
        subset="label"
    )
    assert auc(judged.label, judged.read.astype(float)) > 0.8
    whole = load("wice").examples.set_index("id")
    for example in corpus.examples.itertuples():  # every excerpt is of the claim's article
        article = whole.loc[f"wice:{example.id.split(':')[1]}"].document
        assert {line.strip() for line in example.document.split("\n")} <= {line.strip() for line in article.split("\n")}


def test_qags():
    corpus = load("qags")
    assert (len(corpus.examples), len(corpus.gold_claims), corpus.gold_claims.label.sum()) == (235, 714, 531)


def test_vectara_counts():
    tested, learned = load("vectara"), load("vectara_training")
    assert tested.examples.system.nunique() == learned.examples.system.nunique() == 13
    assert (tested.examples.document_id.nunique(), learned.examples.document_id.nunique()) == (262, 519)
    assert not set(tested.examples.document_id) & set(learned.examples.document_id)
    examples = pd.concat([tested.examples, learned.examples])
    assert examples.system.value_counts().loc["meta-llama/Llama-2-70b-chat-hf"] == 652
    assert sum(corpus.notes["replies whose preamble was taken off"] for corpus in (tested, learned)) == 2141
    assert tested.notes["summaries whose source is not settled (left out)"] == 2220
    assert tested.notes["rows that stand twice (left out)"] == 773
    assert pd.concat([tested.scores, learned.scores]).reason.value_counts().to_dict() == {
        "not an answer, by the leaderboard": 59,
        "several published scores for these words": 3,
    }
    assert not examples.document.str.contains("\ufffd").any()


def test_vectara_summaries_are_nearest_to_their_own_source():
    examples = load("vectara").examples
    examples = examples[examples.system == "openai/gpt-4-turbo"]
    vectors = TfidfVectorizer(stop_words="english").fit([*examples.document, *examples.summary])
    similarity = vectors.transform(examples.summary) @ vectors.transform(examples.document).T
    nearest = similarity.toarray().argmax(axis=1)
    own = sum(position == found for position, found in enumerate(nearest))
    assert own >= 0.98 * len(examples)


def test_fave():
    corpus = load("fave")
    assert len(corpus.examples) == 200
    assert len(set(corpus.questions.values())) == 200
    for document in corpus.examples.document:
        papers = separated(document)
        assert len(papers) == 8
        assert len({paper.reference for paper in papers}) == 8


def test_summedits():
    corpus = load("summedits")
    assert corpus.examples.origin.value_counts().to_dict() == {
        "ectsum": 668,
        "sales_email": 613,
        "sales_call": 520,
        "podcast": 500,
        "qmsumm": 431,
    }
    assert corpus.gold_claims[corpus.gold_claims.label == 0].error.notna().sum() == 1756


def test_frank():
    corpus = load("frank")
    assert corpus.examples.groupby(["system", "split"]).size().to_dict() == {
        ("BART", "test"): 175,
        ("BART", "validation"): 75,
        ("BERTS2S", "test"): 82,
        ("BERTS2S", "validation"): 167,
        ("BertSum", "test"): 175,
        ("BertSum", "validation"): 75,
        ("TranS2S", "test"): 84,
        ("TranS2S", "validation"): 165,
    }
    assert int(corpus.examples.label.sum()) == 433
    errors = corpus.gold_claims.error.dropna().str.split(", ").explode().value_counts().to_dict()
    # With the 114 whose annotators agreed on no type, which the file marks with all eight: 301, 227, 153, 125.
    assert (errors["OutE"], errors["EntE"], errors["PredE"], errors["LinkE"]) == (187, 113, 39, 11)
    assert errors["no agreed type"] == 114
    assert "OtherE" not in errors
    # Every unfaithful summary has a type; its label is AggreFact's but for a few.
    assert (corpus.gold_claims.error.isna() == (corpus.gold_claims.label == 1)).all()
    assert corpus.notes["summaries that AggreFact labels otherwise (FRANK's label kept)"] == 52
    # DAE's rank of BART's summaries is better than chance: the scores are of these summaries.
    rows = corpus.examples.merge(corpus.scores, left_on="id", right_on="example_id")
    bart = rows[(rows.system == "BART") & (rows.metric == "DAE (published)")]
    assert auc(bart.label, bart.score) > 0.6


def test_marked_spans():
    wice = load("wice_spans")
    assert wice.examples.split.value_counts().to_dict() == {"validation": 124, "test": 105}
    assert set(wice.spans.example_id) == set(wice.examples.id)
    assert set(wice.examples.document) <= set(load("wice").examples.document)
    genaudit = load("genaudit_usb")
    unfaithful = genaudit.examples[genaudit.examples.label == 0]
    assert set(genaudit.spans.example_id) == set(unfaithful.id)
    assert len(genaudit.examples) == len(genaudit.examples.drop_duplicates(["document", "summary"])) == 767
    assert genaudit.notes["summaries of several annotators (one example each)"] == 276


def test_training_corpora():
    sizes = {
        "summac_factcc": (311, 274),
        "summac_xsumfaith": (485, 50),
        "summac_cogensumm": (400, 312),
        "factcg": (3110, 1034),
        "genaudit_usb": (767, 395),
        "factcheck_gpt": (3305, 696),
    }
    for name, (size, faithful) in sizes.items():
        examples = load(name).examples
        assert (len(examples), int(examples.label.sum())) == (size, faithful), name
    assert load("factcg").notes == {"stage1: claims published without their document (left out)": 5391}
    stances = load("factcheck_gpt").gold_claims.error.value_counts().to_dict()
    assert stances == {"irrelevant": 2057, "partially-support": 391, "refute": 161}


def test_long_documents():
    corpus = load("longsciverify")
    assert corpus.examples.groupby(["origin", "system"]).size().unique().tolist() == [15]
    assert corpus.scores.score.between(0, 1).all()
    assert len(load("longeval").scores) == 40


def test_a_real_corpus_is_written_byte_for_byte(tmp_path):
    digests = []
    for folder in ("one", "two"):
        corpora.write(corpora.load("qags"), tmp_path / folder)
        digests.append(
            {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / folder).iterdir()}
        )
    assert digests[0] == digests[1]


def test_anli_and_control_are_pairs_to_learn_from():
    assert counted("anli") == {("test", "r3"): (1198, 402), ("train", "r1"): (1000, 334), ("train", "r2"): (1000, 334)}
    assert counted("control") == {("test", "exams"): (805, 327), ("train", "exams"): (799, 286)}
    assert counted("sick") == {
        ("test", "captions"): (4927, 1414),
        ("train", "captions"): (4500, 1299),
        ("validation", "captions"): (500, 144),
    }
    assert load("anli").examples["document"].str.split().str.len().median() > 40


def test_the_second_head_learns_from_no_pair_that_it_is_measured_on():
    found = contradiction.pairs()
    assert found.groupby(["corpus", "split"]).size().to_dict() == {
        ("anli", "test"): 1198,
        ("anli", "train"): 1000,
        ("control", "test"): 805,
        ("frank", "test"): 170,
        ("frank", "validation"): 255,
        ("sick", "test"): 1172,
        ("sick", "train"): 2220,
        ("sick", "validation"): 497,
    }
    pair = found["document"] + found["claim"]
    assert set(pair[found["split"] == "train"]).isdisjoint(pair[found["split"] != "train"])


@pytest.mark.parametrize("adapter", ["claimwise-0.5b", "claimwise-1.5b", "claimwise-1.5b-zero-shot", "claim-extractor"])
def test_an_adapter_that_ships_learned_from_no_document_that_is_reported_on(adapter):
    learned = learned_documents(adapter)
    for name, splits in TEST_SPLITS.items():
        examples = load(name).examples
        tested = examples if splits is None else examples[examples["split"].isin(splits)]
        assert learned.isdisjoint(tested["document_id"])


def test_the_zero_shot_adapter_learned_from_no_document_of_what_it_left_out():
    learned = learned_documents("claimwise-1.5b-zero-shot")
    for name in (
        "aggrefact_ftsota",
        "aggrefact_exf",
        "wice",
        "halueval",
        "summac_cogensumm",
        "summac_factcc",
        "summac_xsumfaith",
    ):
        assert learned.isdisjoint(load(name).examples["document_id"])
    assert not learned.isdisjoint(load("factcg").examples["document_id"])


def test_no_document_that_probabilities_are_calibrated_on_was_learned_from():
    ftsota = load("aggrefact_ftsota")
    kept_out = packing.aside({"aggrefact_ftsota": ftsota})
    assert len(kept_out) > 290  # 150 of each origin; two articles stand there twice
    examples = ftsota.examples[ftsota.examples["document_id"].isin(learned_documents("claimwise-1.5b"))]
    assert kept_out.isdisjoint(map(document_hash, examples["document"]))
