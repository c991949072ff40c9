"""The embedded model as a whole: every role on real sentences, minimal revisions, bad input, kill and resume."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from imports import ROOT
from typer.testing import CliRunner

import claimwise
from claimwise import corpora, metrics, models, prompts, text
from claimwise.cli import app
from claimwise.metrics import DEFAULT_METRICS, specification
from claimwise.metrics.factored import citations
from claimwise.models.base import Feedback, Source, Verdict
from claimwise.prompts.sources import joined
from claimwise_embedded import EmbeddedModel, reviser
from claimwise_embedded.encoder import LOCK, fast_type, shared_encoder

DOCUMENT = (
    "The council of Harrow Vale approved a tram line on Tuesday. The line will cost 84 million pounds and open in 2031. "
    "Councillor Ana Reyes voted against the plan, saying that buses would be cheaper. Mayor Owen Dunn called it a good day."
)


@pytest.fixture(scope="module")
def model():
    return models.load({"kind": "embedded"})


def test_variants_judge_by_their_own_weights_and_never_share_finished_calls(model, tmp_path):
    cache = tmp_path / "calls.sqlite"
    first, second = (
        models.load({"kind": "embedded", "weights": weights}, cache) for weights in ("supervised", "zero-shot")
    )
    assert (first.name, second.name) == ("embedded", "embedded-zero-shot")
    assert first.fingerprint == model.fingerprint != second.fingerprint
    prompt = prompts.load("acueval-verify-zeroshot")
    claims = ["The tram line will cost 84 million pounds.", "A volcano erupted in Iceland and closed airports."]
    one, other = ([v.support for v in m.verify([DOCUMENT], [claims], prompt)[0]] for m in (first, second))
    assert one[0] > 0.5 > one[1]
    assert other[0] > 0.5 > other[1]
    assert one != other


def test_a_revision_mends_the_flagged_sentence_and_leaves_the_others_alone(model):
    summary = "The line will cost 94 million pounds and open in 2031. Mayor Owen Dunn called it a good day."
    feedback = Feedback(unsupported=("The line will cost 94 million pounds",))
    [revised] = model.revise([DOCUMENT], [summary], [feedback], prompts.load("acueval-revise-claims"))
    assert "94" not in revised.text
    assert revised.text.endswith("Mayor Owen Dunn called it a good day.")


def test_a_revision_never_empties_a_summary(model):
    summary = "A volcano erupted in Iceland."
    feedback = Feedback(unsupported=(summary,))
    [revised] = model.revise([DOCUMENT], [summary], [feedback], prompts.load("acueval-revise-claims"))
    assert revised.text.strip()


def test_a_revision_of_cited_sentences_keeps_their_citations_and_reads_what_they_cite(model):
    papers = [
        Source(
            "Şahin et al. (2020)",
            "Trees",
            "We counted ambulance calls in 40 tracts. Tracts with trees had fewer calls.",
        ),
        Source(
            "Garside (2021)", "Shade", "Forty adults walked in the shade. Skin temperature was lower by 1.9 degrees."
        ),
    ]
    summary = (
        "Tracts with trees had fewer calls, and the mayor won an election in Peru (Şahin et al., 2020). "
        "Garside (2021) found that tracts with trees had fewer calls."
    )
    lines = [span.text for span in text.sentences(summary)]
    prompt = prompts.load("factored-revise-critiques")
    [revised] = model.revise([joined(papers)], [summary], [Feedback(unsupported=tuple(lines))], prompt)
    first, *_ = [span.text for span in text.sentences(revised.text)]
    assert "Peru" not in first
    assert [str(c) for c in citations.find(first)] == ["Şahin et al. (2020)"]
    # The second sentence is right of the other paper only, which it does not cite: it cannot be mended by that one.
    assert "Garside (2021) found that tracts with trees had fewer calls" not in revised.text


def test_a_heading_of_the_sources_is_no_evidence_to_quote():
    document = joined(
        [Source("Ling (2009)", "Creatine", "Creatine helped in winter."), Source("Roy (2010)", "Rain", "It rained.")]
    )

    def verify(documents, claims):
        """Accepts nothing, and ranks the evidence in the document's order: the heading first, then the title."""
        ranked = [tuple(range(len(text.sentences(document)))) for document in documents]
        return [[Verdict(0.1, evidence=order) for _ in each] for order, each in zip(ranked, claims, strict=True)]

    [revised] = reviser.revise(
        verify, [document], ["Ling (2009) sold rice."], [Feedback(unsupported=("Ling (2009) sold rice.",))]
    )
    assert revised.text == "Creatine helped in winter (Ling, 2009)."


@pytest.mark.parametrize(
    ("sentence", "evidence", "never"),
    [
        ("As Garside (2021) shows, shade helps in 40 towns.", ["Trees grew in 30 towns in 1998."], "Garside (1998)"),
        ("Trees protect people in Oslo from heat.", ["Abstract: they protect people in Peru."], "Abstract"),
        ("Trees protect people in Oslo from heat.", ["Abstract: Shade protects people in Peru."], "Shade"),
        ("At six weeks, anxiety was lower after writing among students who slept.", [], "At six weeks after"),
    ],
)
def test_edits_change_no_citation_no_first_word_and_leave_no_fragment(sentence, evidence, never):
    found = reviser.candidates(sentence, evidence)
    assert found
    assert not any(never in edit for edit in found)
    assert all(citations.find(edit) or not citations.find(sentence) for edit in found)


def test_a_sentence_that_is_only_a_citation_cannot_be_shortened(model):
    assert list(reviser.candidates("(Ling, 2009)", [])) == []
    feedback = Feedback(unsupported=("Ling 2009",))
    [revised] = model.revise([DOCUMENT], ["Rain fell. (Ling, 2009)"], [feedback], prompts.load("acueval-revise-claims"))
    assert revised.text


def test_of_what_cannot_be_judged_a_critique_says_the_reason_only(model):
    prompt = prompts.load("geval-critique-comment")
    judgements = model.judge(["", DOCUMENT], ["Rain fell.", "..."], prompt)
    assert all(judgement.reason for judgement in judgements)
    critiques = model.critique(["", DOCUMENT], ["Rain fell.", "..."], prompt)
    assert [(c.text, c.reason) for c in critiques] == [("", j.reason) for j in judgements]


def test_without_feedback_nothing_changes(model):
    summary = "Anything at all.  Even this."
    [revised] = model.revise([DOCUMENT], [summary], [Feedback()], prompts.load("acueval-revise-claims"))
    assert revised.text == summary


def test_a_critique_quotes_the_worst_sentence_and_the_reviser_finds_it(model):
    summary = "The council approved a tram line. The zebra enclosure reopened with eleven flamingos."
    [critique] = model.critique([DOCUMENT], [summary], prompts.load("geval-critique-comment"))
    assert "zebra" in critique.text
    assert reviser.flagged(text.sentences(summary), Feedback(comment=critique.text)) == [1]


def test_a_claims_critique_is_the_verifiers(model):
    prompt = prompts.load("factored-critique-claim")
    claims = ["The line will cost 84 million pounds.", "A volcano erupted in Iceland and closed airports.", "..."]
    verdicts = [v for [v] in model.verify([DOCUMENT] * 3, [[claim] for claim in claims], prompt)]
    critiques = model.critique([DOCUMENT] * 3, claims, prompt)
    assert [c.support for c in critiques[:2]] == [v.support for v in verdicts[:2]]
    assert "volcano" in critiques[1].text
    assert np.isnan(critiques[2].support)
    assert critiques[2].reason == verdicts[2].reason


def test_what_it_cannot_do_is_nan_with_a_reason_and_no_copy_of_what_it_can(model):
    for name in ("chatgpt-judge-cot", "factored-judge-single", "halueval-judge-fewshot"):
        [judged] = model.judge([DOCUMENT], ["The council approved a tram line."], prompts.load(name))
        assert np.isnan(judged.score)
        assert judged.reason.startswith("this model does not")
    [[verdict]] = model.verify([DOCUMENT], [["The line opens in 2031."]], prompts.load("factored-verify-cot"))
    assert np.isnan(verdict.support)
    assert verdict.reason == "this model does not reason in words"


def test_a_summary_of_sources_cites_them_and_copies_from_them(model):
    sources = [
        Source("Ling (2009)", "t", "We tested creatine in 121 adults. Memory improved. Rooms were warm."),
        Source("Benton (2010)", "t", "Lunch was provided. Creatine did not change memory in omnivores."),
    ]
    [found] = model.summarise([sources], ["Does creatine improve memory?"], prompts.load("factored-summarise"))
    assert "Ling (2009) reports: " in found.text
    assert "Benton (2010) reports: Creatine did not change memory in omnivores." in found.text


def test_another_script_and_a_hundred_thousand_words_are_scored(model, examples_table):
    filler = " ".join(
        f"Paragraph {i} lists the {i % 97} harbour fees of the year {1900 + i % 100}." for i in range(9200)
    )
    examples = examples_table(
        {"document": "市议会周二批准了一条电车线路。", "summary": "市议会批准了电车线路。"},
        {"document": filler + " " + DOCUMENT, "summary": "The council of Harrow Vale approved a tram line."},
    )
    assert text.word_count(examples.loc[1, "document"]) > 100_000
    spec = specification("acueval", DEFAULT_METRICS)
    evaluation = metrics.evaluate("acueval", spec, model, examples, progress=False)
    assert evaluation.scores["score"].between(0, 1).all()
    # The sentence that says it is the 9,201st: nothing was cut off.
    last = evaluation.verdicts[evaluation.verdicts["example_id"] == "e1"].iloc[0]
    assert last["evidence"][0] == 9200
    assert last["support"] > 0.5


def _project(folder: Path) -> Path:
    """A project with some of the sample's documents to score."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["data"] = "sample"
    params["datasets"]["sample"]["score"]["sample"]["documents"] = 5
    (folder / "data").mkdir(parents=True)
    (folder / "data/sample").symlink_to(ROOT / "data/sample")
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    _run(folder, "corpora")
    return folder


def _run(folder: Path, *command: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output


def _calls(folder: Path) -> int:
    import sqlite3

    path = folder / "cache/responses.sqlite"
    if not path.is_file():
        return 0
    try:
        return sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute("SELECT COUNT(*) FROM calls").fetchone()[0]
    except sqlite3.OperationalError:  # the file is being made
        return 0


@pytest.mark.skipif(fast_type() is not torch.float32, reason="bfloat16's sums were not looked at")
def test_an_answer_hangs_on_nothing_else_that_is_asked_nor_on_threads():
    rows = corpora.load("sample").examples.iloc[::23]
    documents, summaries = rows["document"].tolist(), rows["summary"].tolist()
    verify, judge, decompose = map(
        prompts.load, ("acueval-verify-zeroshot", "belugaeval-judge-consistency", "acueval-decompose-5shot")
    )

    def answers(documents, summaries):
        shared_encoder.cache_clear()  # it remembers what it has encoded
        model = EmbeddedModel()
        claims = [[claim.text for claim in one.claims] for one in model.decompose(summaries, decompose)]
        verdicts = model.verify(documents, claims, verify)
        return list(zip(verdicts, model.judge(documents, summaries, judge), strict=True))

    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        together = answers(documents, summaries)
        torch.set_num_threads(1)
        alone = [answers([document], [summary])[0] for document, summary in zip(documents, summaries, strict=True)]
    finally:
        torch.set_num_threads(threads)
    assert together == alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked on this system")
def test_a_forked_process_scores_as_its_parent():
    asked = f"{DOCUMENT} It was a close vote.", "Mayor Owen Dunn voted against the tram line."
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        claimwise.score(DOCUMENT, asked[1])  # from here on the parent has a second thread
        with multiprocessing.get_context("fork").Pool(1) as pool:
            score = pool.apply_async(claimwise.score, asked).get(timeout=60)
        assert score == claimwise.score(*asked)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked on this system")
def test_a_process_forked_while_another_thread_reads_may_read():
    reads = threading.Event()

    def read():
        with LOCK:
            reads.set()
            time.sleep(0.3)

    thread = threading.Thread(target=read)
    thread.start()
    reads.wait()
    child = os.fork()
    if (
        not child
    ):  # first its main thread, then another (which alone might take the place of the one that held the lock)
        own = LOCK.acquire(timeout=5)
        if own:
            LOCK.release()
        os._exit(0 if own and ThreadPoolExecutor(1).submit(LOCK.acquire, timeout=5).result() else 1)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()


def test_killed_in_the_middle_and_started_again_it_repeats_no_finished_call_and_gives_the_same_scores(tmp_path):
    whole, broken = _project(tmp_path / "whole"), tmp_path / "broken"
    shutil.copytree(whole, broken, symlinks=True)
    _run(whole, "evaluate", "acueval")
    process = subprocess.Popen(
        [sys.executable, "-m", "claimwise", "evaluate", "acueval"],
        cwd=broken,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while _calls(broken) == 0 and process.poll() is None:
        time.sleep(0.05)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it ended before it was killed: give it more documents"
    assert 0 < _calls(broken) < _calls(whole)
    assert not (broken / "data/scores/sample/embedded/acueval/sample").exists()
    _run(broken, "evaluate", "acueval")
    assert _calls(broken) == _calls(whole)
    scores = [pd.read_parquet(p / "data/scores/sample/embedded/acueval/sample/scores.parquet") for p in (whole, broken)]
    assert scores[0].equals(scores[1])
