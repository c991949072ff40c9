"""Tiny random checkpoints with a real tokenizer, made during the tests: they run like real ones, but answer noise."""

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from claimwise import prompts
from claimwise.models.base import Model

SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}
CHAT = (
    "{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
#: What they are asked about.
DOCUMENTS = ["It rained all day.\nAnn won the race in 1999.", "The council approved the tram line. " * 12]
CLAIMS = [["It rained.", "Ann won.", "Ann lost the race in 2001."], ["The tram line was approved.", "It rained."]]
ZERO = prompts.load("acueval-verify-zeroshot")
#: Prompts to try a shared prefix on: two documents under common instructions, two claims after each; the smallest vocabulary
#: has eight tokens.
PROBE = [
    [3] * 12 + [4, 5] * 6 + document + claim
    for document in ([5, 6, 3] * 11, [6, 4, 4, 7] * 6)
    for claim in ([4, 3, 6, 5, 7], [7, 5, 3])
]


def supports(model: Model) -> list[float]:
    """The support of each claim in turn."""
    return [verdict.support for group in model.verify(DOCUMENTS, CLAIMS, ZERO) for verdict in group]


def tokenizer(chat: bool = False) -> transformers.PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer trained on this project's prompts, with a start token."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [prompts.load(name).template for name in prompts.names()] + [
        "Yes",
        "No",
        "Answer: Yes No yes no True False",
    ] * 50
    trained.train_from_iterator(texts, trainer)
    trained.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=trained, bos_token="<s>", eos_token="</s>", pad_token="<pad>", model_max_length=4096
    )
    fast.chat_template = CHAT if chat else None
    return fast


def make(folder: Path, architecture: str = "llama", chat: bool = False, seed: int = 1) -> str:
    """Save a random checkpoint of an architecture in a folder; returns the folder's name."""
    words = tokenizer(chat)
    tokens = {"vocab_size": len(words), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    config = {
        "llama": lambda: transformers.LlamaConfig(**SHAPE, **tokens),
        "qwen2": lambda: transformers.Qwen2Config(
            **SHAPE, **tokens, use_sliding_window=True, sliding_window=40, max_window_layers=1
        ),
        "mistral": lambda: transformers.MistralConfig(**SHAPE, **tokens, sliding_window=40),
        "bloom": lambda: transformers.BloomConfig(hidden_size=32, n_layer=2, n_head=2, **tokens),
        "t5": lambda: transformers.T5Config(
            d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=2, **tokens
        ),
    }[architecture]()
    torch.manual_seed(seed)
    kind = transformers.AutoModelForSeq2SeqLM if architecture == "t5" else transformers.AutoModelForCausalLM
    model = kind.from_config(config)
    with torch.no_grad():  # random weights of the usual size give nearly equal logits: make attention matter
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.normal_(0, 0.25)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return str(folder)
