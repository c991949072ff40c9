"""Shared prefixes: the tree of prompts gives the same logits as one prompt at a time."""

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_checkpoints import PROBE

from claimwise.models.prefix import SharedPrefix, UnsupportedArchitecture, tree

prompt_lists = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=12)


def rebuilt(node, prompts, before=()):
    own = (*before, *prompts[node.member][node.start : node.stop])
    assert node.start == len(before)
    found = {}
    for i in node.leaves:
        assert len(prompts[i]) > node.stop  # a leaf keeps a token of its own
        found[i] = [*own, *prompts[i][node.stop :]]
    for child in node.children:
        inner = rebuilt(child, prompts, own)
        assert not inner.keys() & found.keys()
        found |= inner
    return found


@given(prompt_lists, st.integers(1, 4))
def test_the_tree_spells_every_prompt_once(prompts, worth):
    assert rebuilt(tree(prompts, worth), prompts) == dict(enumerate(prompts))


@given(prompt_lists)
def test_a_full_tree_computes_every_shared_token_once(prompts):
    # every distinct beginning, and the last token of every prompt, which a leaf keeps to itself
    beginnings = {tuple(p[:n]) for p in prompts for n in range(1, len(p))}
    assert tree(prompts, 1).size(prompts) == len(beginnings) + len(prompts)


def random_prompts(draw, instructions, documents):
    def tokens(count):
        return torch.randint(3, 500, (count,), generator=draw).tolist()

    start = tokens(instructions)
    return [
        start + document + tokens(length)
        for size, claims in documents
        for document in [tokens(size)]
        for length in claims
    ]


@torch.inference_mode()
def alone(decoder, prompts):
    return [decoder(torch.tensor([prompt])).logits[0, -1].log_softmax(-1) for prompt in prompts]


CASES = {
    "one document": (0, [(130, [7, 12, 1, 25])]),
    "several documents of several lengths under common instructions": (
        60,
        [(130, [7, 12]), (31, [3, 3, 9]), (260, [5])],
    ),
    "nothing shared": (0, [(0, [20]), (0, [33]), (0, [1])]),
    "one prompt": (0, [(50, [5])]),
    "beginnings too short to be worth a pass": (5, [(4, [9, 9]), (3, [2, 8])]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "limits",
    [{}, {"row_tokens": 30, "chunk_tokens": 50}, {"whole_tokens": 10_000}, {"whole_tokens": 10_000, "row_tokens": 200}],
    ids=["default", "small rows and chunks", "whole documents", "whole documents in small rows"],
)
def test_logits_are_those_of_one_prompt_at_a_time(decoder, case, limits):
    prompts = random_prompts(torch.Generator().manual_seed(3), *CASES[case])
    engine = SharedPrefix(decoder, PROBE, **limits)
    found = dict(engine.logits(prompts))
    assert sorted(found) == list(range(len(prompts)))
    for i, expected in enumerate(alone(decoder, prompts)):
        torch.testing.assert_close(found[i].log_softmax(-1), expected, atol=1e-4, rtol=0)


@settings(deadline=None, max_examples=15)
@given(prompts=st.lists(st.lists(st.integers(3, 5), min_size=1, max_size=90), min_size=1, max_size=8))
def test_logits_of_any_prompts(prompts):
    torch.manual_seed(0)
    config = transformers.MistralConfig(
        vocab_size=8, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, sliding_window=24, pad_token_id=0, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    decoder = transformers.MistralForCausalLM(config).eval()
    found = dict(SharedPrefix(decoder, PROBE, row_tokens=64).logits(prompts))
    for i, expected in enumerate(alone(decoder, prompts)):
        torch.testing.assert_close(found[i].log_softmax(-1), expected, atol=1e-4, rtol=0)


def test_instructions_are_computed_once_for_the_whole_run(decoder):
    engine = SharedPrefix(decoder, PROBE)
    seen = []
    hook = decoder.model.register_forward_hook(
        lambda module, args, kwargs, out: seen.append(out[0].shape[1]), with_kwargs=True
    )
    draw = torch.Generator().manual_seed(6)
    prompts = random_prompts(draw, 200, [(50, [5, 5]), (60, [5, 5]), (70, [5, 5]), (80, [5, 5])])
    list(engine.logits(prompts[:4]))
    assert sum(seen) == 200 + 50 + 60 + 4 * 5
    seen.clear()
    list(engine.logits(prompts[4:]))
    hook.remove()
    assert sum(seen) == 70 + 80 + 4 * 5


SIZES = {
    "vocab_size": 600, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 1024, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2,
}  # fmt: skip
GPT2 = {"vocab_size": 600, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 0, "eos_token_id": 1}
NEO = {
    "vocab_size": 600, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]],
    "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
MAMBA = transformers.MambaConfig(vocab_size=600, hidden_size=16, num_hidden_layers=1, bos_token_id=0, eos_token_id=1)


def random_model(config):
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 2:
                parameter.normal_(0, 0.25)
    return made


@pytest.mark.parametrize(
    "config",
    [
        transformers.Qwen3Config(**SIZES),
        transformers.Gemma2Config(**SIZES, head_dim=8, sliding_window=40),  # softcapped logits
        transformers.Gemma3TextConfig(**SIZES, head_dim=8, sliding_window=40),  # two rotary bases
        transformers.GptOssConfig(**SIZES, head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=40),
        transformers.MixtralConfig(**SIZES, num_local_experts=4),
        transformers.GPT2Config(**GPT2),  # learned positions
    ],
    ids=lambda config: config.model_type,
)
def test_other_families_give_the_logits_of_one_prompt_at_a_time(config):
    decoder = random_model(config)
    prompts = random_prompts(torch.Generator().manual_seed(3), 60, [(300, [7, 12, 25]), (31, [3, 9])])
    found = dict(SharedPrefix(decoder, PROBE).logits(prompts))
    for i, expected in enumerate(alone(decoder, prompts)):
        torch.testing.assert_close(found[i].log_softmax(-1), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (transformers.GPTNeoConfig(**NEO, window_size=256), "bounded by window_size, which is not known here"),
        (transformers.MptConfig(vocab_size=600, d_model=32, n_layers=2, n_heads=4), "log-probabilities differ"),
        (
            transformers.Llama4TextConfig(**SIZES, head_dim=8, intermediate_size_mlp=64, num_local_experts=2),
            "it has chunked_attention with sdpa; expected full or sliding-window attention",
        ),
        (MAMBA, "expected full or sliding-window attention"),  # no attention
    ],
    ids=lambda value: getattr(value, "model_type", ""),
)
def test_an_architecture_whose_logits_would_change_is_refused(config, why):
    with pytest.raises(UnsupportedArchitecture, match=f"cannot share a prefix between prompts.*{why}"):
        SharedPrefix(random_model(config), PROBE)
