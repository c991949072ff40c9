"""A tiny random three-way NLI checkpoint, made during the tests: the same weights for the same seed."""

import re
from pathlib import Path

from claimwise import corpora
from claimwise.models.entailment import CheckpointOptions, SequenceClassifier

WORDS = (
    "the a an and of to in was were not no ann lee bo smith he she it they his her plane council vote river bridge city "
    "rain storm team coach win lose run open close three four five red old new said told gave took quickly slowly"
).split()


def sample_words() -> list[str]:
    """The words of the sample's documents: read as words, they are a third of the tokens."""
    return sorted(set(re.findall(r"[a-z]{2,}", " ".join(corpora.load("sample").examples["document"]).lower())))


LABELS = ("contradiction", "entailment", "neutral")


def make(folder: Path, labels=LABELS, positions: int = 128, seed: int = 3, words=WORDS) -> str:
    """Write a BERT of one layer over a vocabulary of words and letters (a word beside these is read letter by letter)."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    entries = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        ".",
        ",",
        "'",
        *words,
        *letters[1:],
        *("##" + x for x in letters),
    ]
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(entries))
    tokenizer = BertTokenizerFast(vocab=str(vocabulary), model_max_length=positions)
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(entries),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=positions,
        initializer_range=0.6,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )
    torch.manual_seed(seed)
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


def classifier(checkpoint: str, **options) -> SequenceClassifier:
    """The NLI model of a checkpoint, with options of ``CheckpointOptions``."""
    return SequenceClassifier(CheckpointOptions(checkpoint=checkpoint, **options))
