"""Any language model as a model: rendering, remembering, parsing, and documents longer than the context."""

import math
from dataclasses import asdict

import pandas as pd
import pytest
from fakes import Scripted, by_claim, prompted

from claimwise import prompts
from claimwise.metrics import evaluate, specification
from claimwise.models import chunks
from claimwise.models.base import Claim, Feedback, Source, Text, Verdict
from claimwise.models.cache import ResponseCache
from claimwise.models.replies import RecordedReplies, Reply
from claimwise.prompts import parsers, sources
from claimwise.reasons import Parsed, Reason

ZERO = prompts.load("acueval-verify-zeroshot")
ONE_CLAIM = {"one claim": {"decompose": "summary", "verify": ZERO.name, "aggregate": "mean"}}


def model(answer, cache=None, **options):
    return prompted(Scripted(answer, **options), cache)


def test_a_language_model_is_asked_about_hundreds_of_summaries_at_once():
    steps = []

    class Counting(Scripted):
        def replies(self, asked, how):
            steps.append(len(asked))
            return super().replies(asked, how)

    counting = prompted(Counting(lambda prompt: Reply(probabilities=(0.6, 0.2))))
    examples = pd.DataFrame({"document": [f"Document {n}." for n in range(200)], "summary": "It rained."})
    found = evaluate("one claim", specification("one claim", ONE_CLAIM), counting, examples, progress=False)
    assert (steps, set(found.scores["score"].round(6))) == ([200], {0.75})


def test_expected_rating_is_rescaled():
    # 0.5 * 5 + 0.5 * 2 = 3.5, and (3.5 - 1) / 4 = 0.625
    judged = model(lambda prompt: Reply(probabilities=(0.0, 0.2, 0.0, 0.0, 0.2)))
    found = judged.judge(["D."], ["S."], prompts.load("belugaeval-judge-consistency"))
    assert found[0].score == pytest.approx(0.625)
    assert found[0].reason is None


def test_without_probabilities_the_verdict_is_sampled_and_an_unread_one_is_nan():
    replies = {"It rained.": "Yes.", "We left.": "No, it does not.", "Odd.": "Perhaps."}
    judged = model(by_claim(replies))
    yes, no, odd = judged.verify(["Doc."], [list(replies)], ZERO)[0]
    assert (yes.support, yes.reason) == (1.0, "sampled")
    assert (no.support, no.reason) == (0.0, "sampled")
    assert math.isnan(odd.support)
    assert odd.reason == "neither yes nor no"


def test_neither_answer_in_reach_is_nan():
    verdict = model(lambda prompt: Reply(probabilities=(0.0, 0.0))).verify(["D."], [["C."]], ZERO)[0][0]
    assert math.isnan(verdict.support)
    assert verdict.reason == "none of Yes, No is among the probable answers"


def test_improbable_answers_are_marked_and_told_of_once(caplog):
    shares = {"A.": (0.06, 0.03), "B.": (0.02, 0.06), "C.": (0.08, 0.03)}  # of C more than a tenth of the probability
    judged = model(by_claim({claim: Reply(probabilities=share) for claim, share in shares.items()}))
    found = judged.verify(["D."], [list(shares)], ZERO)[0]
    assert [verdict.support for verdict in found] == pytest.approx([2 / 3, 0.25, 8 / 11])
    assert [verdict.reason for verdict in found] == ["improbable", "improbable", None]
    judged.verify(["E."], [list(shares)], ZERO)
    assert [record.getMessage()[:31] for record in caplog.records] == ["scripted: in 2 of 3 replies, wh"]


def test_written_verdicts_are_read_as_such():
    judged = model(lambda prompt: 'Reasoning: it says "rain". Supported: No')
    verdict = judged.verify(["D."], [["C."]], prompts.load("factored-verify-cot"))[0][0]
    assert (verdict.support, verdict.reason) == (0.0, None)


def test_results_keep_the_order_and_the_groups():
    judged = model(lambda prompt: Reply(probabilities=(len(prompt), 1000.0)))
    found = judged.verify(["A.", "B.", "C."], [["x", "xxxx"], [], ["xx"]], ZERO)
    assert [len(group) for group in found] == [2, 0, 1]
    assert found[0][0].support < found[1 + 1][0].support < found[0][1].support


def test_equal_prompts_are_asked_once_and_never_again():
    asked = model(lambda prompt: "- It rained.")
    prompt = prompts.load("acueval-decompose-5shot")
    first = asked.decompose(["It rained.", "It rained.", "We left."], prompt)
    assert len(asked.language_model.asked) == 2
    assert asked.decompose(["We left.", "It rained."], prompt) == [first[2], first[0]]
    assert len(asked.language_model.asked) == 2
    asked.decompose(["It rained."], prompts.load("acueval-decompose-3shot"))
    assert len(asked.language_model.asked) == 3


def test_a_better_parser_needs_no_new_call(monkeypatch):
    asked = model(lambda prompt: "It rained; we left")
    prompt = prompts.load("acueval-decompose-0shot")
    assert asked.decompose(["P."], prompt)[0].reason == "no list in the reply"
    better = parsers.Kind(lambda reply, cut: Parsed(tuple(reply.split("; "))))
    monkeypatch.setattr(parsers, "KINDS", {"list": better})
    assert [claim.text for claim in asked.decompose(["P."], prompt)[0].claims] == ["It rained", "we left"]
    assert len(asked.language_model.asked) == 1


def test_a_failure_is_not_remembered_but_what_was_finished_is():
    cache = ResponseCache(":memory:")
    broken = model(lambda prompt: Reply(probabilities=(1.0, 0.0)), cache, fail_after=3)
    claims = [[f"Claim {k}." for k in range(5)]]
    with pytest.raises(ConnectionError):
        broken.verify(["D."], claims, ZERO)
    repaired = model(lambda prompt: Reply(probabilities=(1.0, 0.0)), cache)
    assert [v.support for v in repaired.verify(["D."], claims, ZERO)[0]] == [1.0] * 5
    assert len(repaired.language_model.asked) == 2


@pytest.mark.parametrize(
    "stored",
    [
        {"text": [{"type": "text", "text": "No"}]},  # an earlier version's
        {"probabilities": [0.9]},
        {"probabilities": [0.2, -0.1]},
        {"probabilities": [math.inf, 0.1]},
    ],
)
def test_what_is_stored_and_no_model_replies_is_asked_again(stored):
    cache = ResponseCache(":memory:")
    asked = model(lambda prompt: "Yes", cache)
    asked.verify(["D."], [["C."]], ZERO)
    [key] = asked._keys(asked.language_model.asked, ZERO)
    cache.prune()
    nothing = {"text": None, "probabilities": None, "cut": False, "reason": None}
    cache.put({key: nothing | stored}, model="m", role="verify")
    assert asked.verify(["D."], [["C."]], ZERO)[0][0].support == 1.0
    assert len(asked.language_model.asked) == 2


def test_a_blank_reply_is_asked_again_in_a_later_run_also_where_an_earlier_version_stored_it():
    cache, blank = ResponseCache(":memory:"), " \n\t "
    for _ in range(2):
        asked = model(lambda prompt: blank, cache)
        verdict = asked.verify(["D."], [["C."]], ZERO)[0][0]
        assert math.isnan(verdict.support)
        assert verdict.reason == "empty reply"
        assert len(asked.language_model.asked) == 1
    assert cache.stats() == []
    [key] = asked._keys(asked.language_model.asked, ZERO)
    cache.put({key: asdict(Reply(blank))}, model="m", role="verify")
    assert asked.verify(["D."], [["C."]], ZERO)[0][0].reason == "empty reply"
    assert len(asked.language_model.asked) == 2


def test_a_refusal_by_the_model_itself_is_remembered_as_one_that_cannot_be_read():
    asked = model(lambda prompt: Reply(reason=Reason.REFUSAL))
    for _ in range(2):
        assert asked.decompose(["P."], prompts.load("acueval-decompose-0shot"))[0].reason == "refusal"
    assert len(asked.language_model.asked) == 1
    assert [row[:3] for row in asked.cache.stats()] == [("scripted:unread", "decompose", 1)]


def test_a_reply_that_cannot_be_read_is_kept_until_it_is_dropped_alone():
    cache = ResponseCache(":memory:")
    replies = {"A.": "Yes.", "B.": "Hm.", "C.": Reply(probabilities=(0.0, 0.0)), "D.": Reply(reason="content filter")}
    asked = model(by_claim(replies), cache)
    for calls in (4, 5):  # the refused one again
        first = asked.verify(["P."], [list(replies)], ZERO)[0]
        assert [verdict.support == verdict.support for verdict in first] == [True, False, False, False]
        assert len(asked.language_model.asked) == calls
    assert sorted(row[:3] for row in cache.stats()) == [("scripted", "verify", 1), ("scripted:unread", "verify", 2)]
    assert cache.prune("scripted:unread") == 2
    mended = model(lambda prompt: "No.", cache)
    assert [verdict.support for verdict in mended.verify(["P."], [list(replies)], ZERO)[0]] == [1.0, 0.0, 0.0, 0.0]
    assert len(mended.language_model.asked) == 3


def test_sentence_prompts_ask_about_every_sentence_and_keep_its_place():
    asked = model(lambda prompt: "- " + prompt.rsplit("facts: ", 1)[1] + "\n- Both.")
    found = asked.decompose(["It rained. We left."], prompts.load("factscore-decompose-sentence"))[0]
    assert found.claims == (Claim("It rained.", 0, 10), Claim("Both.", 0, 10), Claim("We left.", 11, 19))


def test_retrieved_prompts_show_the_claims_sentences_and_name_them():
    asked = model(lambda prompt: Reply(probabilities=(1.0, 1.0)))
    document = "Ann won the race. It rained. They left. Bo ate. Cars drove. Dogs sat. Eve ran."
    prompt = prompts.load("factscore-verify-retrieved")
    verdict = asked.verify([document], [["Ann won."]], prompt)[0][0]
    assert 0 in verdict.evidence
    assert len(verdict.evidence) == 5
    assert asked.language_model.asked[0].endswith("Ann won. True or False?")
    assert asked.language_model.asked[0].startswith("Ann won the race. It rained.")


WORDS = " ".join(f"word{k}" for k in range(400))  # without a full stop, one sentence


def test_a_sentence_that_does_not_fit_is_asked_about_in_parts_that_keep_its_place():
    asked = model(lambda prompt: "- " + prompt.rsplit("facts: ", 1)[1].split()[0], context=4500)
    prompt = prompts.load("factscore-decompose-sentence")
    found = asked.decompose([f"It rained. {WORDS}."], prompt)[0]
    parts = [sent.rsplit("facts: ", 1)[1] for sent in reversed(asked.language_model.asked)]
    assert parts[0] == "It rained."
    assert len(parts) > 2
    assert " ".join(parts[1:]) == f"{WORDS}."
    assert max(map(len, asked.language_model.asked)) <= 4500 - prompt.max_tokens
    assert [(claim.start, claim.end) for claim in found.claims] == [(0, 10)] + [(11, 12 + len(WORDS))] * len(parts[1:])


def test_retrieved_sentences_that_do_not_fit_are_read_in_parts_and_all_are_the_evidence():
    read = model(lambda prompt: Reply(probabilities=(0.9, 0.1) if "word399" in prompt else (0.2, 0.8)), context=1000)
    prompt = prompts.load("factscore-verify-retrieved")
    verdict = read.verify([f"It rained. {WORDS}. They left."], [["word7 and word399."]], prompt)[0][0]
    assert (verdict.support, verdict.evidence) == (pytest.approx(0.9), (0, 1, 2))
    assert len(read.language_model.asked) > 3
    assert max(map(len, read.language_model.asked)) <= 1000 - prompt.max_tokens
    assert all(any(word in sent for sent in read.language_model.asked) for word in f"{WORDS} rained left".split())


@pytest.mark.parametrize("name", ["factscore-decompose-sentence", "factscore-verify-retrieved"])
def test_what_fits_is_asked_as_it_is_without_a_limit(name):
    prompt, sent = prompts.load(name), []
    for context in (None, 100_000):
        asked = model(lambda prompt: Reply("- True."), context=context)
        if prompt.role == "decompose":
            asked.decompose([LONG], prompt)
        else:
            asked.verify([LONG], [["Sentence number 7.", "It rained."]], prompt)
        sent.append(asked.language_model.asked)
    assert sent[0] == sent[1]


def test_the_extra_document_is_shown():
    asked = model(lambda prompt: Reply(probabilities=(1.0, 1.0)))
    asked.verify(["PASSAGE"], [["C."]], prompts.load("acueval-verify-fewshot-document"), ["EXTRA"])
    assert "Document: EXTRA\n\nPassage: PASSAGE\n\nStatement: C." in asked.language_model.asked[0]


def test_critiques_revisions_and_summaries():
    block = 'Critique: It says "may". Supported: "No" Revised Claim: It may help.'
    document = sources.joined([Source("Ling (2009)", "T", "It may help.")])
    asked = model(lambda prompt: block)
    critique = asked.critique([document], ["It helps."], prompts.load("factored-critique-claim"))[0]
    assert (critique.text, critique.support) == ('It says "may".', 0.0)
    assert "The claim is from Ling (2009):" in asked.language_model.asked[0]
    revised = model(lambda prompt: "Corrected summary: It may help.")
    told = Feedback(comment='- For the sentence "It helps." in the summary: It says "may".')
    assert revised.revise(["D."], ["It helps."], [told], prompts.load("factored-revise-critiques")) == [
        Text("It may help.")
    ]
    summary = model(lambda prompt: "Ling (2009) found that it may help.")
    found = summary.summarise([[Source("Ling (2009)", "T", "A.")]], ["Why?"], prompts.load("factored-summarise"))
    assert found == [Text("Ling (2009) found that it may help.")]


LONG = " ".join(f"Sentence number {k} says little." for k in range(60))


def test_a_long_document_is_read_in_chunks_and_the_best_one_counts():
    def answer(prompt):
        return Reply(probabilities=(0.9, 0.1) if "number 41 " in prompt else (0.2, 0.8))

    read = model(answer, context=900)
    verdict = read.verify([LONG], [["A claim.", "Another, longer claim."]], ZERO)[0][1]
    assert verdict.support == pytest.approx(0.9)
    assert 41 in verdict.evidence
    assert len(read.language_model.asked) > 4
    assert all(len(prompt) <= 900 - ZERO.max_tokens for prompt in read.language_model.asked)
    seen = "".join(read.language_model.asked)
    assert all(f"number {k} " in seen for k in range(60))


@pytest.mark.parametrize("name", [ZERO.name, "factscore-verify-retrieved"])
@pytest.mark.parametrize(("long", "reason"), [("Endless. " * 200, Reason.TOO_LONG), ("Long. " * 90, None)])
def test_a_claim_that_leaves_a_document_little_room_or_none_changes_nothing_for_the_others(name, long, reason):
    claims, prompt = ["A claim.", long, "Another."], prompts.load(name)

    def asked(claims):
        read = model(lambda prompt: Reply(probabilities=(0.9, 0.1)), context=900)
        [found] = read.verify([LONG], [claims], prompt)
        return found, [one for one in read.language_model.asked if long not in one]

    (first, middle, last), sent = asked(claims)
    assert ([first, last], sent) == asked([claims[0], claims[2]])
    assert (math.isnan(middle.support), middle.reason) == (reason is not None, reason)


def test_the_claim_of_most_tokens_decides_what_fits_not_that_of_most_characters():
    class Digits(Scripted):
        def count(self, text):
            return len(text) // 4 + sum(character.isdigit() for character in text)

    document = "It rained and nobody said a word about that. " * 60
    read = prompted(Digits(lambda prompt: "Yes", context=400))
    read.verify([document], [["1234567890" * 10, "It rained and nobody said a word. " * 4]], ZERO)
    assert max(map(read.language_model.count, read.language_model.asked)) <= 400 - ZERO.max_tokens


@pytest.mark.parametrize("frame", [0, 800])
def test_a_document_leaves_room_for_what_the_model_adds_to_a_prompt(frame):
    class Framed(Scripted):
        def count(self, text):
            return len(text) + frame

    read = prompted(Framed(lambda prompt: "Yes", context=2100))
    read.verify(["It rained. " * 100], [["A claim."]], ZERO)
    assert [len(read.language_model.asked) == 1, len(read.language_model.asked) > 1] == [frame == 0, frame > 0]
    assert max(map(read.language_model.count, read.language_model.asked)) <= 2100 - ZERO.max_tokens


class Late(ResponseCache):
    """Another process has stored its own replies between this one's look and its own store."""

    def __init__(self, path, value):
        super().__init__(path)
        self.value = value

    def put(self, values, *, model, role):
        super().put(dict.fromkeys(values, self.value), model="other", role=role)
        super().put(values, model=model, role=role)


def test_of_two_processes_that_ask_at_once_both_read_the_reply_that_was_stored_first():
    read = model(lambda prompt: "Yes", Late(":memory:", asdict(Reply("No"))))
    for _ in range(2):
        assert [v.support for v in read.verify(["D."], [["A.", "B."]], ZERO)[0]] == [0.0, 0.0]
    assert len(read.language_model.asked) == 2
    assert [row[:3] for row in read.cache.stats()] == [("scripted", "verify", 2)]


def test_a_first_reply_that_cannot_be_read_is_kept_for_both_too():
    read = model(lambda prompt: "Yes", Late(":memory:", asdict(Reply("Hm."))))
    assert math.isnan(read.verify(["D."], [["A."]], ZERO)[0][0].support)
    assert [row[:3] for row in read.cache.stats()] == [("scripted:unread", "verify", 1)]


def test_what_cannot_be_read_in_chunks_has_a_reason():
    short = model(lambda prompt: "Corrected summary: S.", context=900)
    found = short.revise([LONG], ["S."], [Feedback(comment="C.")], prompts.load("factored-revise-self"))
    assert found == [Text(None, Reason.TOO_LONG)]
    tiny = model(lambda prompt: "Yes", context=20)
    assert tiny.verify(["D."], [["C."]], ZERO)[0][0].reason == Reason.TOO_LONG
    assert tiny.decompose(["P."], prompts.load("acueval-decompose-0shot"))[0].reason == Reason.TOO_LONG
    assert tiny.critique(["D."], ["S."], prompts.load("factored-critique-claim"))[0].reason == Reason.TOO_LONG
    assert tiny.language_model.asked == []


def test_neighbouring_chunks_share_two_sentences():
    document = " ".join(f"Sentence {number} is here." for number in range(8))
    found = chunks.split(document, lambda part: len(part) <= 84)  # four sentences, and no fifth
    assert [chunk.sentences for chunk in found] == [(0, 1, 2, 3), (2, 3, 4, 5), (4, 5, 6, 7)]


def test_chunks_with_room_for_no_more_than_they_would_share_share_nothing():
    document = " ".join(f"Sentence {number} is here." for number in range(5))
    found = chunks.split(document, lambda part: len(part) <= 42)
    assert [chunk.sentences for chunk in found] == [(0, 1), (2, 3), (4,)]


@pytest.mark.parametrize("limit", [7, 20, 45, 200])
def test_chunks_leave_nothing_out(limit):
    document = "One two three. Four! Averyveryverylongwordindeed five.\nSix seven eight nine ten. Eleven."
    parts = chunks.split(document, lambda part: len(part) <= limit)
    assert all(len(part.text) <= limit for part in parts)
    for word in document.split():  # a word longer than the limit is there in pieces
        pieces = [word] if len(word) <= limit else [word[:limit], word[limit : 2 * limit]]
        assert all(any(piece in part.text for part in parts) for piece in pieces)


def test_recorded_replies_take_the_same_path():
    prompt = prompts.load("recorded-judge-rating")
    replies = {"S.": "It is fine. Final score: 4", "T.": "Final score: none"}
    asked = {prompt.render(Document="D.", Summary=summary): reply for summary, reply in replies.items()}
    recorded = RecordedReplies("gpt-4", asked)
    found = prompted(recorded).judge(["D."] * 3, ["S.", "T.", "U."], prompt)
    assert [f.reason for f in found] == ["sampled", "no rating in the reply", "no recorded reply"]
    assert found[0].score == 0.75


@pytest.mark.parametrize("change", [{"max_tokens": 9}, {"stop": ("Example",)}, {"reply": "true-false"}])
def test_a_reply_is_remembered_with_all_that_was_asked_for(change):
    asked = model(lambda prompt: "Yes")
    asked.verify(["D."], [["C."]], ZERO)
    asked.verify(["D."], [["C."]], ZERO.model_copy(update={"name": "renamed"}))
    assert len(asked.language_model.asked) == 1
    asked.verify(["D."], [["C."]], ZERO.model_copy(update=change))
    assert len(asked.language_model.asked) == 2


def test_every_fresh_reply_is_told_of():
    asked, seen = model(lambda prompt: "Yes"), []
    asked.on_reply = lambda: seen.append(len(asked.language_model.asked))
    asked.verify(["D."], [["A.", "B.", "A."]], ZERO)
    asked.verify(["D."], [["B.", "C."]], ZERO)
    assert seen == [1, 2, 3]


FACTORED = prompts.load("factored-decompose")


@pytest.mark.parametrize("second", ["The claims are:\n- It rained.\n- Lee won.", "- It rained.\n- Lee won."])
def test_a_list_that_was_not_begun_is_asked_for_once_more_with_its_beginning(second):
    asked = model(lambda prompt: second if prompt.endswith("\n\nThe claims are:\n- ") else "The claims are:")
    [found] = asked.decompose(["It rained and Lee won."], FACTORED)
    assert [claim.text for claim in found.claims] == ["It rained.", "Lee won."]
    assert len(asked.language_model.asked) == 2
    asked.decompose(["It rained and Lee won."], FACTORED)
    assert len(asked.language_model.asked) == 2  # both are remembered


@pytest.mark.parametrize("reply", ["I see.", "It rained.\n- Lee won."])  # what goes on may be about something else
def test_a_list_that_is_not_there_at_the_second_time_is_unread_and_counted(reply):
    asked = model(lambda prompt: reply if prompt.endswith("- ") else "The claims are:")
    [found] = asked.decompose(["It rained and Lee won."], FACTORED)
    assert (found.claims, found.unread, len(asked.language_model.asked)) == ((), 1, 2)
    assert asked.cache.prune("scripted:unread") == 2  # a mended server is asked for both anew


def test_a_model_that_is_gone_is_not_asked_for_a_beginning():
    asked = model(lambda prompt: Reply(reason="the server is gone"))
    asked.decompose(["It rained and Lee won."], FACTORED)
    assert len(asked.language_model.asked) == 1


REASONED = prompts.load("factored-verify-cot")


def test_reasoning_that_was_cut_off_is_asked_for_its_answer_alone():
    def answer(prompt):
        if prompt.endswith("\n\nReasoning: it says so, it says\n\nSupported:"):
            return Reply(probabilities=(0.2, 0.6))
        return Reply("Reasoning: it says so, it says", cut=True)

    asked = model(answer)
    for _ in range(2):
        assert asked.verify(["D."], [["C."]], REASONED) == [[Verdict(0.0, Reason.CONCLUDED)]]
    assert len(asked.language_model.asked) == 2  # both are remembered


@pytest.mark.parametrize(
    ("first", "second", "asked_for"),
    [
        ("Reasoning: as the text says. Supported: Yes", "No", 1),  # there is an answer
        ("I'm sorry, but I cannot help with that.", "Yes", 1),  # nor does it answer
        ("Reasoning: as the text says.", "Perhaps", 2),
    ],
)
def test_nothing_is_made_of_a_refusal_or_of_a_second_reply_without_answer(first, second, asked_for):
    asked = model(lambda prompt: second if prompt.endswith("Supported:") else first)
    [[found]] = asked.verify(["D."], [["C."]], REASONED)
    assert found.support == 1.0 if "Yes" in first else math.isnan(found.support)
    assert found.reason != Reason.CONCLUDED
    assert len(asked.language_model.asked) == asked_for
    # what could not be read is set aside: a mended server is asked for all of it anew
    assert asked.cache.prune("scripted:unread") == (0 if "Yes" in first else asked_for)
