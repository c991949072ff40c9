"""A checkpoint of fastcoref with weights set by hand: it resolves a few known words and nothing else."""

import json
from pathlib import Path

#: Words of one entity each; all others are no mentions.
ENTITIES = (("ann", "she", "her"), ("bo", "he", "his"))
OTHERS = "<s> <pad> </s> <unk> . , won cried met and the race".split()

WIDTH = 4  # a direction an entity, one for all other words, one that stays free
_HEADS = ("start_mention", "end_mention", "start_coref", "end_coref")
_PAIRS = ("s2s", "e2e", "s2e", "e2s")


def make(folder: Path, segment: int = 512, share: float = 1.0) -> str:
    """Write a RoBERTa without layers whose words are one-hot, and heads that join equal ones; returns the folder.

    Every layer norm turns a one-hot vector into one of length 2 whose other places are -1/sqrt(3). A word of its
    own is a mention of logit 0 if it belongs to an entity, and of about -23 if not; two mentions have 16 for the same
    entity and -5.3 for two, against 0 for none.

    Args:
        folder: where to.
        segment: tokens that are read at once; a longer document is cut.
        share: of the tokens, so many spans are looked at.
    """
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, RobertaConfig

    vocabulary = {word: i for i, word in enumerate([*OTHERS, *(word for group in ENTITIES for word in group)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", vocabulary["<s>"]), ("</s>", vocabulary["</s>"])]
    )
    names = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", model_max_length=512, **names
    ).save_pretrained(folder)

    RobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=WIDTH,
        num_hidden_layers=0,
        num_attention_heads=1,
        intermediate_size=WIDTH,
        max_position_embeddings=520,
        pad_token_id=vocabulary["<pad>"],
        hidden_act="relu",
    ).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    config["coref_head"] = {
        "max_span_length": 1,
        "top_lambda": share,
        "ffnn_size": WIDTH,
        "dropout_prob": 0.3,
        "max_segment_len": segment,
    }
    (folder / "config.json").write_text(json.dumps(config))

    zeros, ones, same = torch.zeros, torch.ones, torch.eye(WIDTH)
    directions = [next((i for i, group in enumerate(ENTITIES) if word in group), 2) for word in vocabulary]
    weights = {
        "roberta.embeddings.word_embeddings.weight": same[directions],
        "roberta.embeddings.position_embeddings.weight": zeros(520, WIDTH),
        "roberta.embeddings.token_type_embeddings.weight": zeros(2, WIDTH),
        "roberta.embeddings.LayerNorm.weight": ones(WIDTH),
        "roberta.embeddings.LayerNorm.bias": zeros(WIDTH),
        "roberta.pooler.dense.weight": zeros(WIDTH, WIDTH),
        "roberta.pooler.dense.bias": zeros(WIDTH),
    }
    for head in _HEADS:
        weights |= {f"{head}_mlp.dense.weight": same.clone(), f"{head}_mlp.dense.bias": zeros(WIDTH)}
        weights |= {f"{head}_mlp.layer_norm.weight": ones(WIDTH), f"{head}_mlp.layer_norm.bias": zeros(WIDTH)}
    other = torch.tensor([[0.0, 0.0, -10.0, 0.0]])
    weights |= {"mention_start_classifier.weight": other, "mention_start_classifier.bias": ones(1) * -10 / 3**0.5}
    weights |= {"mention_end_classifier.weight": zeros(1, WIDTH), "mention_end_classifier.bias": zeros(1)}
    weights |= {"mention_s2e_classifier.weight": zeros(WIDTH, WIDTH), "mention_s2e_classifier.bias": zeros(WIDTH)}
    for pair in _PAIRS:
        weights |= {
            f"antecedent_{pair}_classifier.weight": same.clone(),
            f"antecedent_{pair}_classifier.bias": zeros(4),
        }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)
