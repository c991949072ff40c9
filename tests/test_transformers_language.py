"""A local checkpoint as a model, on tiny random ones: probabilities, replies, frames, fingerprints."""

import logging
import math
import shutil
from datetime import datetime
from types import SimpleNamespace

import pytest
import torch
from fakes import transformers_model
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from tiny_checkpoints import CLAIMS, DOCUMENTS, ZERO, supports
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    Qwen2Config,
)

from claimwise import prompts
from claimwise.metrics.evaluate import verdict_table
from claimwise.models import ModelError, continuous, transformers_engine
from claimwise.models.entailment import ModelEntailment
from claimwise.models.language import PromptedModel
from claimwise.models.options import TransformersOptions
from claimwise.models.replies import Reply
from claimwise.models.transformers_checkpoint import Checkpoint
from claimwise.prompts import Decoding


def load(folder, **options) -> PromptedModel:
    return transformers_model(model=folder, device="cpu", dtype="float32", **options)


def test_sharing_the_document_does_not_change_support(folders):
    shared = supports(load(folders()))
    assert shared == pytest.approx(supports(load(folders(), share_prefix=False)), abs=1e-4)
    assert len({round(support, 3) for support in shared}) > 2


def test_support_is_what_the_logits_say(folders):
    language = load(folders()).language_model
    checkpoint = language.engine.checkpoint
    text = ZERO.render(Document=DOCUMENTS[0], ACU=CLAIMS[0][0])
    ids = checkpoint.tokenizer(text).input_ids
    assert checkpoint.encode(text) == ids
    logits = checkpoint.model(torch.tensor([ids])).logits[0, -1].softmax(-1)
    vocabulary = checkpoint.tokenizer.get_vocab()
    yes = sum(logits[vocabulary[t]].item() for t in ("Yes", "ĠYes", "yes", "Ġyes") if t in vocabulary)
    no = sum(logits[vocabulary[t]].item() for t in ("No", "ĠNo", "no", "Ġno") if t in vocabulary)
    found = load(folders()).verify([DOCUMENTS[0]], [[CLAIMS[0][0]]], ZERO)[0][0]
    assert found.support == pytest.approx(yes / (yes + no), abs=1e-5)
    assert found.reason == (None if yes + no >= 0.1 else "improbable")


@pytest.mark.parametrize("share", [True, False])
def test_what_is_contradicted_is_read_from_the_states_where_the_answer_stands(folders, tmp_path, share):
    plain = load(folders())
    checkpoint = plain.language_model.engine.checkpoint
    weight = torch.randn(1, checkpoint.model.config.hidden_size)
    head = {"weight": weight, "bias": torch.tensor([0.3]), "layer": torch.tensor(1)}
    save_file(head, tmp_path / "head.safetensors")
    model = load(folders(), contradiction=str(tmp_path / "head.safetensors"), share_prefix=share)
    assert model.fingerprint != plain.fingerprint
    found = [verdict for group in model.verify(DOCUMENTS, CLAIMS, ZERO) for verdict in group]
    asked = [
        checkpoint.encode(ZERO.render(Document=document, ACU=claim))
        for document, group in zip(DOCUMENTS, CLAIMS, strict=True)
        for claim in group
    ]
    states = [checkpoint.model(torch.tensor([ids]), output_hidden_states=True).hidden_states[1][0, -1] for ids in asked]
    told = [torch.sigmoid(weight[0] @ state + 0.3).item() for state in states]
    assert [verdict.contradicted for verdict in found] == pytest.approx(told, abs=1e-4)
    assert [verdict.support for verdict in found] == pytest.approx(supports(plain), abs=1e-4)
    table = verdict_table(["a"], [found])
    p_contradict = [(1 - verdict.support) * verdict.contradicted for verdict in found]
    assert table["p_contradict"].tolist() == p_contradict
    nli = ModelEntailment(model).entail([DOCUMENTS[0]], [CLAIMS[0][0]])
    assert nli[0] == pytest.approx([found[0].support, 1 - found[0].support - p_contradict[0], p_contradict[0]])


def test_a_head_that_is_not_there_is_one_line(folders):
    with pytest.raises(
        ModelError, match=r"contradiction 'nowhere': there is no .*nowhere; expected a safetensors file"
    ):
        load(folders(), contradiction="nowhere")


@pytest.mark.parametrize(
    "tensors", [{"weight": torch.ones(1, 7), "bias": torch.ones(1)}, {"weight": torch.ones(1, 32)}]
)
def test_a_head_of_another_model_is_refused(folders, tmp_path, tensors):
    save_file(tensors | {"layer": torch.tensor(1)}, tmp_path / "head.safetensors")
    with pytest.raises(ModelError, match=r"head.safetensors does not fit this model; expected a safetensors file with"):
        supports(load(folders(), contradiction=str(tmp_path / "head.safetensors")))


def test_replies_do_not_depend_on_the_batch(folders):
    language = load(folders()).language_model
    asked = ["It rained.", DOCUMENTS[1], "Ann won the race.\nYes or No?"]
    together = dict(language.replies(asked, Decoding(12)))
    small = load(folders(), batch_tokens=1).language_model
    assert dict(small.replies(asked, Decoding(12))) == together
    assert sorted(together) == [0, 1, 2]
    assert language.tally.calls == 3
    assert language.tally.reply_tokens <= 36


def test_replies_under_shared_instructions_are_those_without_sharing(folders):
    prompt = prompts.load("acueval-decompose-3shot")
    asked = [prompt.render(Summary=text) for text in (*DOCUMENTS, "Ann won.", "Bo left the race after an hour.")]
    shared, plain = load(folders()).language_model, load(folders(), share_prefix=False).language_model
    assert shared.engine._shared is not None  # what the check of sharing reads is not counted below
    seen = []
    shared.engine.checkpoint.model.model.register_forward_hook(
        lambda module, args, kwargs, out: seen.append(out[0].shape[:2].numel()), with_kwargs=True
    )
    expected = dict(plain.replies(asked, Decoding(8)))
    assert dict(shared.replies(asked, Decoding(8))) == expected
    assert sum(seen) < sum(map(shared.count, asked)) / 2
    seen.clear()  # the instructions are still known to a later call of one
    assert dict(shared.replies(asked[2:3], Decoding(8))) == {0: expected[2]}
    assert sum(seen) < 40


@pytest.mark.parametrize("architecture", ["llama", "bloom", "t5"])
def test_a_batch_that_does_not_fit_the_memory_is_halved(folders, architecture, monkeypatch, caplog):
    language = load(folders(architecture)).language_model
    asked = [f"Ann won race number {k}." for k in range(7)]
    expected = dict(language.replies(asked, Decoding(4)))
    forward, ran = type(language.engine.checkpoint.model).forward, []

    def small(self, input_ids=None, **options):
        rows = len(input_ids if input_ids is not None else options["decoder_input_ids"])
        if rows > 4:
            raise torch.OutOfMemoryError("too much")
        ran.append(rows)
        return forward(self, input_ids=input_ids, **options)

    monkeypatch.setattr(type(language.engine.checkpoint.model), "forward", small)
    assert dict(language.replies(asked, Decoding(4))) == expected
    assert "out of memory" in caplog.text
    assert max(ran) in (2, 3, 4)


@given(st.lists(st.integers(0, 2), max_size=8), st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(1, 6))
def test_going_in_circles_is_one_passage_three_times_over_at_the_end(before, passage, times):
    reply = before + passage * times
    lengths = range(8, len(reply) // 3 + 1)
    expected = any(reply[-n:] == reply[-2 * n : -n] == reply[-3 * n : -2 * n] for n in lengths)
    assert continuous.goes_in_circles(reply) == expected
    assert expected or times < 3 * -(-8 // len(passage))


def test_memory_that_does_not_suffice_for_one_reply_is_an_error(folders, monkeypatch):
    language = load(folders()).language_model
    assert language.engine._shared is not None

    def small(self, **options):
        raise torch.OutOfMemoryError("too much")

    monkeypatch.setattr(type(language.engine.checkpoint.model), "forward", small)
    with pytest.raises(torch.OutOfMemoryError):
        dict(language.replies(["It rained."], Decoding(4)))


def test_verification_goes_on_in_smaller_pieces_when_memory_runs_out(folders, monkeypatch):
    expected = supports(load(folders()))
    model = load(folders())
    assert model.language_model.engine._shared is not None  # its check of sharing is done
    forward = type(model.language_model.engine.checkpoint.model.model).forward

    def small(self, input_ids, **options):
        if input_ids.shape[1] > 100:
            raise torch.OutOfMemoryError("too much")
        return forward(self, input_ids=input_ids, **options)

    monkeypatch.setattr(type(model.language_model.engine.checkpoint.model.model), "forward", small)
    assert supports(model) == pytest.approx(expected, abs=1e-4)


def test_padded_verification_goes_on_in_smaller_batches_too(folders, monkeypatch, caplog):
    expected = supports(load(folders("bloom")))
    model = load(folders("bloom"))
    engine = model.language_model.engine
    assert engine._shared is None  # every claim reads its document again
    forward = type(engine.checkpoint.model).forward

    def small(self, input_ids, **options):
        if len(input_ids) > 1:
            raise torch.OutOfMemoryError("too much")
        return forward(self, input_ids, **options)

    monkeypatch.setattr(type(engine.checkpoint.model), "forward", small)
    assert supports(model) == pytest.approx(expected, abs=1e-4)
    assert "out of memory" in caplog.text


def test_a_reply_ends_before_a_stop_text_and_says_where_it_was_cut(folders):
    language = load(folders()).language_model
    whole = dict(language.replies(["It rained."], Decoding(30)))[0]
    assert whole.cut
    stop = whole.text[10:14]
    stopped = dict(language.replies(["It rained."], Decoding(30, (stop,))))[0]
    assert stopped.text == whole.text[: whole.text.index(stop)]
    assert not stopped.cut


@pytest.fixture(scope="module")
def t5(folders):
    """The same checkpoint as transformers itself loads it."""
    folder = folders("t5")
    return AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


@torch.inference_mode()
def test_a_sequence_to_sequence_checkpoint_answers_as_its_decoder_begins(folders, t5):
    model, tokenizer = t5
    found = load(folders("t5")).verify(DOCUMENTS, CLAIMS, ZERO)
    for document, claims, verdicts in zip(DOCUMENTS, CLAIMS, found, strict=True):
        for claim, verdict in zip(claims, verdicts, strict=True):
            asked = tokenizer(ZERO.render(Document=document, ACU=claim), return_tensors="pt")
            begin = torch.tensor([[model.config.decoder_start_token_id]])
            first = model(**asked, decoder_input_ids=begin).logits[0, 0].softmax(-1)
            yes, no = (
                sum(first[i] for token, i in tokenizer.get_vocab().items() if token.strip("Ġ").lower() == word)
                for word in ("yes", "no")
            )
            assert verdict.support == pytest.approx((yes / (yes + no)).item(), abs=1e-5)


@torch.inference_mode()
def test_a_sequence_to_sequence_checkpoint_writes_what_it_writes_alone(folders, t5):
    model, tokenizer = t5
    asked = ["It rained.", DOCUMENTS[1], DOCUMENTS[0]]
    found = dict(load(folders("t5")).language_model.replies(asked, Decoding(10)))
    for i, text in enumerate(asked):
        row = model.generate(**tokenizer(text, return_tensors="pt"), max_new_tokens=10, do_sample=False)[0]
        assert found[i].text == tokenizer.decode(row, skip_special_tokens=True)
    assert len({reply.text for reply in found.values()}) == 3


def test_an_architecture_that_cannot_share_warns_and_runs_padded(folders, caplog):
    with caplog.at_level(logging.WARNING):
        together = supports(load(folders("bloom")))
    assert "BloomForCausalLM cannot share a prefix" in caplog.text
    alone = [
        load(folders("bloom")).verify([document], [[claim]], ZERO)[0][0].support
        for document, claims in zip(DOCUMENTS, CLAIMS, strict=True)
        for claim in claims
    ]
    assert together == pytest.approx(alone, abs=1e-4)


def test_the_chat_template_frames_a_prompt_as_the_tokenizer_does(folders):
    checkpoint = Checkpoint(TransformersOptions(model=folders(chat=True), device="cpu", system="Be brief."))
    expected = checkpoint.tokenizer.apply_chat_template(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": DOCUMENTS[0]}],
        add_generation_prompt=True,
        return_dict=False,
    )
    assert checkpoint.encode(DOCUMENTS[0]) == expected
    plain = Checkpoint(TransformersOptions(model=folders(chat=True), device="cpu", template="none"))
    assert plain.encode(DOCUMENTS[0]) == checkpoint.tokenizer(DOCUMENTS[0]).input_ids


TODAY = (
    "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"
    "Today: {{ date_string }}\n{{ messages[0]['content'] }}"
)


@pytest.mark.parametrize(
    ("template", "options", "warning"),
    [
        (TODAY, {}, 'Write `template_options: {date_string: "26 Jul 2024"}`'),
        (TODAY, {"date_string": "26 Jul 2024"}, None),
        (TODAY, {"date_string": datetime.now().strftime("%d %b %Y")}, None),
        (
            "{{ strftime_now('%Y-%m-%d') }} {{ messages[0]['content'] }}",
            {},
            "If the template has an option for the date",
        ),
        ("{{ messages[0]['content'] }}", {}, None),
    ],
)
def test_a_chat_template_that_shows_todays_date_is_warned_of(folders, tmp_path, caplog, template, options, warning):
    folder = shutil.copytree(folders(chat=True), tmp_path / "copy")
    (folder / "chat_template.jinja").write_text(template)
    with caplog.at_level(logging.WARNING):
        checkpoint = Checkpoint(TransformersOptions(model=str(folder), device="cpu", template_options=options))
    assert "It rained." in checkpoint.decode(checkpoint.encode("It rained."))
    assert ("writes today's date" in caplog.text) == (warning is not None)
    assert (warning or "") in caplog.text


def test_stablebeluga2_prompts_have_its_three_parts(folders):
    checkpoint = Checkpoint(TransformersOptions(model=folders(), device="cpu", template="stablebeluga2"))
    text = checkpoint.decode(checkpoint.encode("It rained."))
    assert text.startswith("### System:\nYou are Stable Beluga")
    assert text.endswith("\n\n### User:\nIt rained.\n\n### Assistant:\n")


def test_a_word_without_a_token_is_written_and_read(folders, caplog):
    language = load(folders()).language_model
    found = dict(language.replies(["It rained."], Decoding(4, choices=("Pneumonia", "No"))))
    assert found[0].probabilities is None
    assert found[0].text is not None
    assert "no token for Pneumonia" in caplog.text


def test_the_fingerprint_follows_what_changes_replies(folders, tmp_path):
    def fingerprint(folder, **options):
        return transformers_model(model=folder, **options).fingerprint

    base = fingerprint(folders())
    assert fingerprint(str(shutil.copytree(folders(), tmp_path / "elsewhere"))) == base
    assert fingerprint(folders(), device="cpu", batch_tokens=512) == base
    assert fingerprint(folders(), dtype="bfloat16") != base
    assert fingerprint(folders(), template="stablebeluga2") != base
    assert fingerprint(folders(), system="Be brief.") != base
    assert fingerprint(folders("mistral")) != base


def test_a_document_longer_than_the_context_is_read_in_chunks(folders):
    model = load(folders(), context=200)
    document = " ".join(f"Sentence {k} is here." for k in range(80))
    verdict = model.verify([document], [["Sentence 70 is here."]], ZERO)[0][0]
    assert 0 < verdict.support < 1
    assert 0 < len(verdict.evidence) < 80


def test_a_reply_takes_no_room_of_what_an_encoder_reads(folders, tmp_path):
    """As T5's tokenizers say it: 512 tokens, of which FENICE's extractor may write as many."""
    folder = shutil.copytree(folders("t5"), tmp_path / "short")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(folder)
    model, prompt = load(str(folder)), prompts.load("fenice-decompose-t5")
    words = next(n for n in range(600) if model.language_model.count("is " * n) > 512)
    assert model.language_model.fits("is " * (words - 1), prompt.decoding)
    assert not model.language_model.fits("is " * words, prompt.decoding)
    long = " ".join(f"Sentence {k} is here." for k in range(80))
    seen, encode = [], model.language_model.engine.checkpoint.encode
    model.language_model.replies = lambda asked, how: (
        seen.append(len(encode(one))) or (i, Reply("It is here.")) for i, one in enumerate(asked)
    )
    short, parts = model.decompose(["It rained.", long], prompt)
    assert [short.reason, parts.reason] == [None, None]
    assert len(seen) > 2
    assert max(seen) <= 512


@pytest.fixture(scope="module")
def blank_first(folders, tmp_path_factory):
    """A checkpoint that goes by the last token alone: after any it writes a blank, and after that a digit, a bare token."""
    folder = shutil.copytree(folders(), tmp_path_factory.mktemp("blank") / "checkpoint")
    model, words = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder).get_vocab()
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        embedded, head = model.get_input_embeddings().weight.zero_(), model.get_output_embeddings().weight.zero_()
        embedded[:, 0] = 1.0
        embedded[words["Ġ"]] = torch.eye(32)[1]
        head[words["Ġ"], 0] = math.log(9 * len(words)) / math.sqrt(32)  # as a norm makes one 1 of 32 numbers
        head[words["4"], 1] = math.log(9 * len(words)) / math.sqrt(32)
    model.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("share", [True, False])
def test_an_answer_is_read_after_a_blank_that_is_a_token_of_its_own(blank_first, share):
    """As of "▁", "4" after Llama 2's "[/INST]": a digit has no token with the blank before it."""
    model = load(blank_first, share_prefix=share)
    prompt = prompts.load("belugaeval-judge-consistency")
    judged = model.judge(DOCUMENTS, ["It rained.", "Ann won."], prompt)
    assert [(one.score, one.reason) for one in judged] == [(pytest.approx(0.75, abs=0.01), None)] * 2
    asked = [prompt.render(Document=DOCUMENTS[0], Summary="S.", References="")]
    reply = dict(model.language_model.replies(asked, Decoding(5, choices=tuple("12345"))))[0]
    # 0.9 for the blank, and 0.9 for the digit after it; all others share what is left.
    assert reply.probabilities[3] == pytest.approx(0.9 * 0.9, abs=0.005)
    assert sum(reply.probabilities) < 0.83
    assert model.language_model.tally.calls == 3


def test_low_precision_stays_close(folders):
    low = transformers_model(model=folders(), device="cpu", dtype="bfloat16")
    assert supports(low) == pytest.approx(supports(load(folders())), abs=0.2)


def test_layers_can_be_spread(folders):
    pytest.importorskip("accelerate", reason="device: spread needs accelerate")
    spread = transformers_model(model=folders(), device="spread", dtype="float32")
    assert supports(spread) == pytest.approx(supports(load(folders())), abs=1e-3)


def test_a_relative_folder_is_one_of_the_working_folder_or_of_the_project(monkeypatch, tmp_path):
    monkeypatch.setattr("claimwise.paths.root", lambda: tmp_path)
    (tmp_path / "work" / "here").mkdir(parents=True)
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name, place in (("here", "here"), ("./here", "here"), ("there", tmp_path / "there")):
        with pytest.raises(ModelError, match=rf"{place}.*expected a folder with config\.json"):
            load(name).verify(DOCUMENTS, CLAIMS, ZERO)


@pytest.mark.parametrize("name", ["./none", "checkpoints/none", "a/b/none", "tests/none"])
def test_a_folder_that_is_not_there_is_not_looked_up_on_the_hub(name, monkeypatch, tmp_path):
    monkeypatch.setattr("claimwise.paths.root", lambda: tmp_path)
    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", lambda **place: pytest.fail("the hub was asked"))
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "tests").mkdir()
    with pytest.raises(ModelError, match=rf"there is no folder {tmp_path}"):
        load(name)


@pytest.mark.parametrize("options", [{}, {"revision": "0" * 40}, {"file": "m.gguf"}])
def test_a_hub_out_of_reach_is_asked_once(no_hub, options):
    with pytest.raises(
        ModelError, match=r"the hub is out of reach \(no such host\), .*'ann/model' is not in its cache"
    ):
        load("ann/model", **options).verify(DOCUMENTS, CLAIMS, ZERO)
    assert len(no_hub) == 1


def test_a_cut_off_file_of_weights_is_one_line(folders, tmp_path):
    folder = shutil.copytree(folders(), tmp_path / "cut")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelError, match=r"the weights of .*cut. are cut off or damaged") as caught:
        load(str(folder)).verify(DOCUMENTS, CLAIMS, ZERO)
    assert len(str(caught.value).splitlines()) == 1


def test_a_folder_without_a_tokenizer_is_one_line(folders, tmp_path):
    folder = shutil.copytree(folders(), tmp_path / "bare")
    for file in folder.glob("token*"):
        file.unlink()
    with pytest.raises(ModelError, match=r"cannot load .*bare") as caught:
        load(str(folder)).verify(DOCUMENTS, CLAIMS, ZERO)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine has an accelerator")
@pytest.mark.parametrize("device", ["cuda", "cuda:7", "no-such-device"])
def test_a_device_that_is_not_there_is_one_line(folders, device):
    model = transformers_model(model=folders(), device=device)
    with pytest.raises(ModelError, match=rf"`device: {device}` cannot be used.*`device: auto`"):
        model.verify(DOCUMENTS, CLAIMS, ZERO)


def test_on_an_accelerator_memory_bounds_what_is_read_and_more_loosely_what_is_written_at_once(monkeypatch):
    config = Qwen2Config(
        num_hidden_layers=28, num_key_value_heads=2, num_attention_heads=12, hidden_size=1536, intermediate_size=8960
    )
    model = SimpleNamespace(device=torch.device("cuda"), dtype=torch.float16, config=config)

    def tokens(free):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, free))
        return transformers_engine._limits(model)

    # a token's keys and values are 2 x 28 x 2 x 128 numbers of 2 bytes; what passes, 8 x 1536 + 3 x 8960 more
    assert tokens(1_000_000_000) == (500_000_000 // (2 * (14_336 + 39_168)), 500_000_000 // 28_672)
    assert tokens(80_000_000_000) == (16_384, 400_000)
    assert tokens(1000) == (512, 512)
