"""Batches that stay full give the replies of one prompt alone, in fewer passes, as soon as they have ended."""

import pytest
import torch
from tiny_checkpoints import PROBE

from claimwise.models import continuous
from claimwise.models.prefix import SharedPrefix

SHARED = [0, *range(100, 160)]
#: Of lengths that differ, some of them shared with another.
OWN = [[200 + 7 * k + 3 * j for j in range(length)] for k, length in enumerate((9, 1, 30, 4, 9, 17, 2, 11, 6))]
#: Three documents under common instructions, one of them asked about once only.
ABOUT_DOCUMENTS = [
    SHARED + document + own
    for document, owns in (([*range(400, 440)], OWN[:4]), ([*range(500, 590)], OWN[4:8]), ([*range(450, 480)], OWN[8:]))
    for own in owns
]
MIXED = ABOUT_DOCUMENTS[::2] + ABOUT_DOCUMENTS[1::2]
CASES = {
    "nothing shared": OWN,
    "instructions": [SHARED + own for own in OWN],
    "documents": [prompt[len(SHARED) :] for prompt in MIXED],
    "documents under instructions": MIXED,
}
LONGEST = 12
ENDS = list(range(3, 600, 11))  # one token in eleven ends a reply, so that lengths differ


def alone(decoder, prompts):
    """What ``generate`` writes after each prompt."""
    written = []
    for prompt in prompts:
        ids = torch.tensor([prompt])
        found = decoder.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=LONGEST, eos_token_id=ENDS, **continuous.GREEDY
        )
        written.append(found[0, len(prompt) :].tolist())
    return written


def together(decoder, prompts, rows):
    return continuous.write(
        SharedPrefix(decoder, PROBE), prompts, LONGEST, lambda reply: reply[-1] in ENDS, lambda length, known: rows
    )


@pytest.mark.parametrize("prompts", CASES.values(), ids=CASES)
def test_replies_are_those_of_one_prompt_at_a_time(decoder, prompts):
    expected = alone(decoder, prompts)
    for rows in (1, 4, 100):
        assert dict(together(decoder, prompts, rows)) == dict(enumerate(expected)), rows
    assert len({len(reply) for reply in expected}) > 3
    assert max(map(len, expected)) == LONGEST


def test_prompts_may_differ_in_their_last_token_only(decoder):
    prompts = [[*SHARED, last] for last in (7, 8, 9)]
    assert dict(together(decoder, prompts, 2)) == dict(enumerate(alone(decoder, prompts)))
    assert dict(together(decoder, [], 2)) == {}


def test_a_document_is_read_once_for_all_that_is_written_about_it(decoder):
    read = []
    shared = SharedPrefix(decoder, PROBE)
    hook = decoder.base_model.register_forward_hook(
        lambda module, args, given, out: read.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    written = dict(continuous.write(shared, ABOUT_DOCUMENTS, 1, lambda reply: True, lambda length, known: 2))
    hook.remove()
    steps = -(-len(ABOUT_DOCUMENTS) // 2)
    # A prompt's last token is a step's.
    own = sum(len(prompt) - 1 - len(SHARED) for prompt in ABOUT_DOCUMENTS) - 3 * 40 - 3 * 90
    assert sum(read) == len(SHARED) + own + steps
    assert len(written) == len(ABOUT_DOCUMENTS)


def test_there_is_room_for_more_rows_once_the_longest_has_ended(decoder):
    prompts = [SHARED + own for own in ([*range(300, 380)], *OWN)]
    steps = []
    hook = decoder.register_forward_hook(lambda module, given, out: steps.append(len(out.logits)))
    shared = SharedPrefix(decoder, PROBE)
    steps.clear()  # of the check that sharing changes nothing
    found = dict(
        continuous.write(
            shared, prompts, LONGEST, lambda reply: reply[-1] in ENDS, lambda length, known: 150 // (length - known)
        )
    )
    hook.remove()
    assert found == dict(enumerate(alone(decoder, prompts)))
    assert steps[0] == 1
    assert max(steps) > 2


def test_a_new_prompt_takes_the_place_of_a_reply_that_has_ended(decoder):
    prompts, rows = [SHARED + own for own in OWN], 3
    lengths = [len(reply) for reply in alone(decoder, prompts)]
    steps = []
    hook = decoder.register_forward_hook(lambda module, given, out: steps.append(len(out.logits)))
    found, ended = together(decoder, prompts, rows), {}
    steps.clear()  # of the check that sharing changes nothing
    for index, reply in found:
        ended.setdefault(len(steps), []).append(index)
        assert len(reply) == lengths[index]
    hook.remove()
    longest_first = [lengths[i] for i in sorted(range(len(prompts)), key=lambda i: -len(prompts[i]))]
    waited_for = sum(max(longest_first[at : at + rows]) for at in range(0, len(prompts), rows))
    assert sum(steps) == sum(lengths)  # no row is run for a reply that has ended
    assert len(steps) < waited_for
    assert min(ended) == min(longest_first[:rows])  # a reply is out before the others of its batch


def test_a_checkpoint_s_repetition_penalty_holds(decoder, monkeypatch):
    prompts = [SHARED + own for own in OWN]
    plain = alone(decoder, prompts)
    monkeypatch.setattr(decoder.generation_config, "repetition_penalty", 1.7)
    found = dict(together(decoder, prompts, 4))
    assert [found[i] for i in range(len(prompts))] == alone(decoder, prompts) != plain
