"""FENICE's alignment, compared with a literal reading of the paper's equations, and on difficult inputs."""

import random
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from fakes import FakeModel
from tiny_nli import WORDS, classifier

from claimwise.corpora.base import Rows
from claimwise.metrics import Evaluation, MetricSpec, evaluate, specification
from claimwise.metrics.fenice import alignment
from claimwise.metrics.fenice.alignment import Aligner
from claimwise.metrics.fenice.premises import Passages, overlapping
from claimwise.models.cache import ResponseCache

SAME = ("plane", "river", "bridge")  # what the made-up resolver takes for one thing


class Resolver:
    """All of ``SAME`` in a document are one entity."""

    name = "same"

    def chains(self, document):
        found = tuple(m.span() for m in re.finditer("|".join(SAME), document, re.IGNORECASE))
        return [found] if len(found) > 1 else []


class Words:
    """An NLI model one can work out by hand.

    p_contradict is 1 where the premise says "not"; else p_entail is 1 where it has all the claim's words, half
    their share where it has some. Keeps the pairs, counts the calls, and asserts its limit, in words.
    """

    name = fingerprint = "words"

    def __init__(self, limit=None):
        self.limit, self.pairs, self.calls = limit, [], 0

    def count(self, texts):
        return [len(text.split()) for text in texts]

    def scope(self, document):
        return ""

    def entail(self, premises, hypotheses, scope):
        self.calls += 1
        self.pairs += zip(premises, hypotheses, strict=True)
        rows = np.zeros((len(premises), 3))
        for i, (premise, claim) in enumerate(zip(premises, hypotheses, strict=True)):
            assert self.limit is None or sum(self.count([premise, claim])) <= self.limit
            share = len(set(claim.split()) & set(premise.split())) / len(set(claim.split()))
            entails = share if share == 1 else share / 2
            rows[i] = (0, 0, 1) if "not" in premise else (entails, 1 - entails, 0)
        return rows


# -- the paper's equations, literally --------------------------------------------------------------


class Literal:
    """Section 3 of the paper, one pair and one loop at a time, with nothing of the package but transformers."""

    def __init__(self, folder):
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        torch.set_num_threads(1)  # one pair at a time is too little for two
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.known = {}

    def nli_score(self, premise, claim):
        """Equation 1 and NLIScore."""
        import torch

        if (premise, claim) not in self.known:
            with torch.no_grad():
                logits = self.model(**self.tokenizer(premise, claim, return_tensors="pt")).logits[0]
            p = dict(zip(self.model.config.id2label.values(), logits.softmax(-1).tolist(), strict=True))
            self.known[premise, claim] = p["entailment"] - p["contradiction"]
        return self.known[premise, claim]

    def sent(self, sentences, claim):
        """Equations 2 and 3."""
        best, at = -2.0, None
        for sentence in sentences:
            score = self.nli_score(sentence, claim)
            if score > best:
                best, at = score, sentence
        return best, at

    def coref(self, sentences, claim):
        """Equation 4, the sentence itself included."""
        best, aligned = self.sent(sentences, claim)
        mentions = [word for sentence in sentences for word in re.findall("|".join(SAME), sentence, re.IGNORECASE)]
        for match in re.finditer("|".join(SAME), aligned, re.IGNORECASE):
            for other in {word.lower() for word in mentions}:
                variant = aligned[: match.start()] + other + aligned[match.end() :]
                best = max(best, self.nli_score(variant, claim))
        return best

    def passages(self, sentences, claim, k):
        """Equation 5."""
        scores = []
        for i in range(len(sentences) - k + 1):
            scores.append(self.nli_score(" ".join(sentences[i : i + k]), claim))
        return max(scores)

    def mul(self, sentences, claim, j):
        """Equation 6; a document of j sentences or fewer has one window."""
        whole = self.passages(sentences, claim, len(sentences))
        return max(self.passages(sentences, claim, j), whole) if j < len(sentences) else whole

    def cl(self, sentences, claim, j, gate, with_coref):
        """Equation 7, with the larger of the two where gated."""
        score = self.coref(sentences, claim) if with_coref else self.sent(sentences, claim)[0]
        if j is not None and score < gate:
            return max(self.mul(sentences, claim, j), score)
        return score


def _random_cases(count, seed=0):
    draw = random.Random(seed)

    def sentence(low, high):
        return " ".join(draw.choices(WORDS, k=draw.randint(low, high))).capitalize() + "."

    for _ in range(count):
        sentences = [sentence(3, 7) for _ in range(draw.choice((1, 2, 3, 5, 6, 7)))]
        yield sentences, [sentence(2, 4) for _ in range(draw.choice((1, 1, 1, 2)))]


@pytest.fixture(scope="module")
def literal(nli_checkpoint):
    return Literal(nli_checkpoint)


@pytest.mark.parametrize("with_coref", [False, True], ids=["sentences", "coreference"])
@pytest.mark.parametrize(("window", "gate"), [(None, 0.8), (5, -0.9), (5, 0.0), (5, 0.8), (5, 1.1), (2, 0.5), (9, 1.1)])
def test_scores_equal_the_literal_equations_on_200_documents(nli_checkpoint, literal, window, gate, with_coref):
    cases = list(_random_cases(200))
    aligner = Aligner(classifier(nli_checkpoint), Resolver() if with_coref else None, window=window, gate=gate)
    found = aligner.align(["\n".join(sentences) for sentences, _ in cases], [claims for _, claims in cases])
    for (sentences, claims), verdicts in zip(cases, found, strict=True):
        for claim, verdict in zip(claims, verdicts, strict=True):
            expected = literal.cl(sentences, claim, window, gate, with_coref)
            assert verdict.p_entail - verdict.p_contradict == pytest.approx(expected, abs=1e-5)
            assert verdict.support == pytest.approx((expected + 1) / 2, abs=1e-5)
            # The named premise is the one that has the score, and stands where it is said to stand.
            assert literal.nli_score(verdict.premise, claim) == pytest.approx(expected, abs=1e-5)
            assert verdict.p_entail + verdict.p_neutral + verdict.p_contradict == pytest.approx(1)
            there = "\n".join(sentences)[verdict.premise_start : verdict.premise_end].split("\n")
            assert there == [sentences[i] for i in verdict.evidence]
            assert verdict.level == "coreference" or verdict.premise == " ".join(there)


# -- levels and gate -------------------------------------------------------------------------------

DOCUMENT = "Ann won.\nBo lost.\nThe plane fell.\nRain came.\nThe river rose.\nAll left."


@pytest.mark.parametrize(
    ("claim", "level", "evidence"),
    [
        ("Bo lost.", "sentence", (1,)),
        ("The bridge fell.", None, None),  # not in this document's chain of forms
        ("The river fell.", "coreference", (2,)),
        ("Bo lost. Rain", "window", (1, 2, 3)),
        ("Ann left.", "document", (0, 1, 2, 3, 4, 5)),
    ],
)
def test_a_claim_is_aligned_at_the_smallest_level_that_entails_it(claim, level, evidence):
    [[verdict]] = Aligner(Words(), Resolver(), window=3).align([DOCUMENT], [[claim]])
    assert (verdict.support == 1) == (level is not None)
    if level:
        assert (verdict.level, verdict.evidence) == (level, evidence)


def test_a_variant_shows_the_replaced_premise_and_the_place_of_the_original():
    [[verdict]] = Aligner(Words(), Resolver()).align([DOCUMENT], [["The river fell."]])
    assert verdict.premise == "The river fell."
    assert DOCUMENT[verdict.premise_start : verdict.premise_end] == "The plane fell."


def test_a_contradicted_claim_has_negative_score_and_support_below_a_half():
    [[verdict]] = Aligner(Words()).align(["Ann did not win."], [["Ann won."]])
    assert (verdict.p_entail - verdict.p_contradict, verdict.support, verdict.p_contradict) == (-1, 0, 1)
    [[verdict]] = Aligner(Words()).align(["It rained."], [["Ann won."]])
    assert (verdict.p_entail - verdict.p_contradict, verdict.support, verdict.p_neutral) == (0, 0.5, 1)


def test_gated_levels_are_not_read_for_claims_over_the_gate():
    model = Words()
    Aligner(model, Resolver(), window=3).align([DOCUMENT], [["Bo lost."]])
    assert [premise for premise, _ in model.pairs if premise.count(".") > 1] == []
    model = Words()
    Aligner(model, Resolver(), window=3).align([DOCUMENT], [["Bo lost.", "Ann left."]])
    wide = [claim for premise, claim in model.pairs if premise.count(".") > 1]
    assert wide == ["Ann left."] * (4 + 1)  # four windows and the document


def test_pairs_are_read_once_across_claims_documents_and_levels():
    model = Words()
    documents = [DOCUMENT, DOCUMENT, "Ann won.\nIt snowed."]
    Aligner(model, window=3).align(documents, [["Bo sang.", "Bo sang."], ["Bo sang."], ["Bo sang."]])
    assert len(model.pairs) == len(set(model.pairs))
    assert ("Ann won.", "Bo sang.") in model.pairs
    assert model.calls == 3  # sentences, windows, documents


def test_pairs_come_in_order_of_their_length():
    model = Words()
    Aligner(model, window=None).align([DOCUMENT], [["Bo sang.", "It did not rain at all that day."]])
    lengths = [len(premise) + len(claim) for premise, claim in model.pairs]
    assert lengths == sorted(lengths)


def test_a_second_run_reads_nothing_again_and_another_gate_only_what_is_new(tmp_path):
    cache = ResponseCache(tmp_path / "c.sqlite")
    first = Aligner(Words(), Resolver(), window=3, gate=-1, cache=cache).align([DOCUMENT], [["Ann left."]])
    again = Words()
    assert Aligner(again, Resolver(), window=3, gate=-1, cache=cache).align([DOCUMENT], [["Ann left."]]) == first
    assert again.pairs == []
    Aligner(again, Resolver(), window=3, gate=0.8, cache=cache).align([DOCUMENT], [["Ann left."]])
    assert {premise.count(".") for premise, _ in again.pairs} == {3, 6}


def test_another_model_does_not_see_the_first_one_s_cache():
    cache = ResponseCache(":memory:")
    Aligner(Words(), cache=cache).align([DOCUMENT], [["Bo lost."]])
    other = Words()
    other.fingerprint = "other words"
    Aligner(other, cache=cache).align([DOCUMENT], [["Bo lost."]])
    assert other.pairs


# -- bad and extreme input -------------------------------------------------------------------------


def test_blank_documents_and_claims_have_a_reason_and_cost_nothing():
    model = Words()
    verdicts = Aligner(model).align(["", DOCUMENT, "  \n"], [["Ann won."], ["", "Bo lost."], []])
    assert [v.reason for v in verdicts[0]] == ["empty document"]
    assert [v.reason for v in verdicts[1]] == ["empty claim", None]
    assert verdicts[2] == []
    assert np.isnan(verdicts[0][0].support)
    assert {claim for _, claim in model.pairs} == {"Bo lost."}


def test_a_document_of_one_sentence_has_one_premise():
    model = Words()
    [[verdict]] = Aligner(model, Resolver()).align(["Ann won."], [["Bo lost."]])
    assert model.pairs == [("Ann won.", "Bo lost.")]
    assert (verdict.level, verdict.evidence) == ("sentence", (0,))


def test_a_document_of_five_sentences_has_one_window():
    model = Words()
    document = "\n".join(DOCUMENT.split("\n")[:5])
    Aligner(model).align([document], [["Bo sang."]])
    assert [premise.count(".") for premise, _ in model.pairs] == [1] * 5 + [5]


def test_a_document_of_five_thousand_sentences():
    document = "\n".join(f"Number {i} won." for i in range(5000))
    model = Words(limit=64)
    verdicts = Aligner(model, Resolver()).align([document], [["Number 4321 won.", "4321 4324 won.", "4321 4329 won."]])
    assert [(v.level, v.support) for v in verdicts[0]] == [("sentence", 1), ("window", 1), ("document", 1)]
    assert verdicts[0][0].evidence == (4321,)
    assert {4321, 4324} <= set(verdicts[0][1].evidence)
    # A window of the long document, not all of it.
    assert {4321, 4329} <= set(verdicts[0][2].evidence)
    assert len(verdicts[0][2].evidence) < 12


def test_only_candidates_of_a_long_document_are_read_where_so_many_are_asked_for():
    document = "\n".join(f"Number {i} won." for i in range(500))
    model = Words(limit=64)
    [[verdict]] = Aligner(model, window=3, gate=1.1, candidates=4).align([document], [["Number 321 won."]])
    assert verdict.evidence == (321,)
    sentences = [premise for premise, _ in model.pairs if premise.count(".") == 1]
    windows = [premise for premise, _ in model.pairs if premise.count(".") == 3]
    assert len(sentences) == 4
    assert len(windows) == 4
    assert any("321" in premise for premise in windows)


def test_a_claim_longer_than_the_limit_is_refused_by_name_and_the_others_are_not():
    verdicts = Aligner(Words(limit=48)).align([DOCUMENT], [["Bo lost.", "word " * 40]])
    assert verdicts[0][0].support == 1
    assert np.isnan(verdicts[0][1].support)
    assert verdicts[0][1].reason == "a claim of 40 tokens leaves no room for a premise: the model reads 48"


def test_an_over_long_sentence_becomes_overlapping_windows_and_none_of_its_words_is_lost():
    words = [f"w{i}" for i in range(300)]
    model = Words(limit=64)
    claims = [f"w{i} w{i + 1}" for i in range(299)]
    verdicts = Aligner(model, window=None).align([" ".join(words)], [claims])
    assert [v.support for v in verdicts[0]] == [1] * 299
    assert {len(premise.split()) for premise, _ in model.pairs} <= set(range(8, 33))
    assert verdicts[0][0].evidence == (0,)
    assert " ".join(words)[verdicts[0][200].premise_start : verdicts[0][200].premise_end] == verdicts[0][200].premise


def test_a_word_without_end_is_cut_where_it_must():
    class Letters(Words):
        def count(self, texts):
            return [len(text.replace(" ", "")) for text in texts]

    document = "abcdefghij" * 40
    [[verdict]] = Aligner(Letters(limit=64), window=None).align([document], [["Bo lost."]])
    assert verdict.support == 0.5


def test_a_chain_that_covers_the_whole_sentence_brings_no_variant():
    class Whole(Resolver):
        def chains(self, document):
            return [((0, 7), (9, 17))]

    model = Words()
    [[verdict]] = Aligner(model, Whole(), window=None).align(["Ann won\nBo lost."], [["Bo sang."]])
    assert len(model.pairs) == 2
    assert verdict.level == "sentence"


def test_a_model_without_probabilities_gives_a_reason():
    class Silent(Words):
        def entail(self, premises, hypotheses, scope):
            return np.full((len(premises), 3), np.nan)

    [[verdict]] = Aligner(Silent(), Resolver()).align([DOCUMENT], [["Bo lost."]])
    assert np.isnan(verdict.support)
    assert verdict.reason == "no premise had a probability"


def test_real_checkpoints_read_long_documents_in_windows(nli_checkpoint):
    sentences, claims = next(_random_cases(1, seed=5))
    model = classifier(nli_checkpoint, max_tokens=48)
    document = "\n".join(sentences * 30)
    verdicts = Aligner(model, Resolver()).align([document], [claims])
    assert all(0 <= v.support <= 1 for v in verdicts[0])


def test_runs_share_at_most_a_quarter_and_hold_every_unit():
    draw = random.Random(0)
    for _ in range(200):
        lengths = [draw.randint(1, 10) for _ in range(draw.randint(1, 40))]
        room = draw.randint(10, 40)
        runs = overlapping(lengths, room)
        assert sorted({i for a, b in runs for i in range(a, b)}) == list(range(len(lengths)))
        assert all(sum(lengths[a:b]) <= room for a, b in runs)
        for (a, b), (c, d) in pairwise(runs):
            assert a < c <= b < d
            assert sum(lengths[c:b]) <= room / 4


def test_windows_near_some_sentences_are_those_that_hold_most_of_them():
    passages = Passages(DOCUMENT, Words().count)
    every = passages.windows(3, None)
    assert passages.windows(1, None, (0, 3)) == tuple(passages.windows(1, None)[i] for i in (0, 3))
    assert passages.windows(3, None, (0,)) == every[:1]
    assert passages.windows(3, None, (2, 4)) == (every[0], every[2])
    assert passages.windows(9, None, (3,)) == passages.whole(None)


def test_a_part_of_the_model_reads_the_documents_that_only_it_has_not_seen():
    class Parted(Words):
        def scope(self, document):
            return "2" if "plane" in document else ""

        def entail(self, premises, hypotheses, scope):
            self.scopes = {*getattr(self, "scopes", ()), *((scope, premise) for premise in premises)}
            return super().entail(premises, hypotheses, scope)

    model = Parted()
    Aligner(model, window=None).align([DOCUMENT, "Ann won.\nIt rained."], [["Bo sang."], ["Bo sang."]])
    assert {("2", "Ann won."), ("", "Ann won."), ("", "It rained."), ("2", "All left.")} <= model.scopes
    assert ("2", "It rained.") not in model.scopes


# -- as a metric ----------------------------------------------------------------------------------

CLAIMS = {
    "sentence": ["Bo lost.", "Rain came."],
    "coreference": ["The river fell."],
    "window": ["Bo plane fell."],
    "document": ["Ann left."],
    "nowhere": ["Ann sang."],
}
SETTINGS = {"window": 3}


@pytest.fixture
def corpus(monkeypatch):
    """Summaries whose claims are entailed at one level each."""
    monkeypatch.setattr(alignment.entailment, "load", lambda settings, cache: Words())
    monkeypatch.setattr(alignment.coreference, "load", lambda settings: Resolver())
    rows = Rows("made")
    for copy in range(3):
        for system, claims in CLAIMS.items():
            document = f"{DOCUMENT}\nNumber {copy} ended."
            example = rows.example(copy, system, document=document, summary=" ".join(claims), origin="made")
            rows.recorded(example, "hand", claims)
    return rows.corpus()


def _evaluated(corpus, examples=None, **settings):
    spec = MetricSpec(decompose="recorded:hand", verify="alignment", alignment=SETTINGS | settings)
    examples = corpus.examples if examples is None else examples
    return evaluate("m", spec, FakeModel(), examples, recorded=corpus.recorded_claims, progress=False)


@pytest.mark.parametrize(
    ("settings", "supported"),
    [
        ({"coreference": None, "window": None}, {"sentence"}),
        ({"window": None}, {"sentence", "coreference"}),
        ({}, {"sentence", "coreference", "window", "document"}),
    ],
)
def test_every_part_of_the_metric_finds_what_the_one_before_could_not(corpus, settings, supported):
    scores = _evaluated(corpus, **settings).scores.set_index("example_id")["score"]
    of_system = scores.groupby(corpus.examples.set_index("id")["system"]).min()
    assert set(of_system[of_system == 1].index) == supported


def test_verdicts_of_the_metric_name_level_premise_place_and_probabilities(corpus, tmp_path):
    _evaluated(corpus).write(tmp_path / "m")
    verdicts = Evaluation.read(tmp_path / "m").verdicts
    assert set(verdicts["level"]) == {"sentence", "coreference", "window", "document"}
    documents = corpus.examples.set_index("id")["document"]
    for row in verdicts.itertuples():
        there = documents[row.example_id][int(row.premise_start) : int(row.premise_end)].split("\n")
        assert row.level == "coreference" or row.premise == " ".join(there)
        assert row.support == (row.p_entail - row.p_contradict + 1) / 2


def test_evaluations_of_parts_joined_are_that_of_the_whole(corpus):
    parts = [_evaluated(corpus, corpus.examples.iloc[rows]) for rows in (slice(7, None), slice(0, 7))]
    joined, whole = Evaluation.joined(parts, corpus.examples["id"]), _evaluated(corpus)
    for name in ("claims", "verdicts", "scores"):
        pd.testing.assert_frame_equal(getattr(joined, name), getattr(whole, name))


def test_other_verifiers_have_no_columns_of_alignments(corpus):
    spec = MetricSpec(decompose="sentences", verify="acueval-verify-zeroshot")
    assert "level" not in evaluate("m", spec, FakeModel(), corpus.examples, progress=False).verdicts


def test_alignment_settings_of_a_metric_are_refused_without_alignment_and_where_they_are_wrong():
    judged = {"decompose": "sentences", "verify": "acueval-verify-zeroshot", "alignment": {"window": 3}}
    with pytest.raises(ValueError, match="goes with `verify: alignment`"):
        specification("m", {"m": judged})
    for name, wrong, told in (("windows", 5, "unknown key"), ("window", 0, "greater than or equal to 1")):
        with pytest.raises(ValueError, match=rf"alignment\.{name}: .*{told}"):
            specification("m", {"m": judged | {"verify": "alignment", "alignment": {name: wrong}}})
