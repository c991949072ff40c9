"""Natural language inference: does a premise entail or contradict a hypothesis, or neither (FENICE equation 1)?

There are three backends: any three-way sequence-classification checkpoint, such as the paper's DeBERTa and RoBERTa; the
embedded verifier, for runs without a checkpoint; and any model that verifies claims, such as a language model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from claimwise import prompts
from claimwise.errors import ClaimwiseError
from claimwise.models.base import Entailment, Model, Verdict
from claimwise.models.cache import ResponseCache
from claimwise.models.options import Options, read_kind

#: The columns of what ``entail`` returns. A checkpoint's labels are recognised by their beginnings.
LABELS = ("entailment", "neutral", "contradiction")
_BEGINNINGS = ("entail", "neutral", "contradict")


class EntailmentError(ClaimwiseError):
    """A checkpoint is not a three-way NLI model, or an entry of the settings is wrong."""


def label_order(labels: Mapping[int, str], checkpoint: str) -> list[int]:
    """Return the classifier's columns of entailment, neutral and contradiction, by ``id2label`` of the config.

    Args:
        labels: ``id2label``.
        checkpoint: its name, for messages.

    Raises:
        EntailmentError: the labels are not exactly these three.

    >>> label_order({0: "CONTRADICTION", 1: "neutral", 2: "Entailment"}, "m")
    [2, 1, 0]
    """
    columns = [
        [int(i) for i, name in labels.items() if str(name).lower().startswith(beginning)] for beginning in _BEGINNINGS
    ]
    if len(labels) != 3 or any(len(matches) != 1 for matches in columns):
        shown = ", ".join(repr(str(name)) for name in labels.values())
        raise EntailmentError(
            f"{checkpoint}: found labels {shown} in id2label of its config, expected the three labels "
            f"{', '.join(LABELS)} in any order; take a three-way NLI checkpoint, or name its labels in config.json"
        )
    return [column for [column] in columns]


class CheckpointOptions(Options):
    """The options of ``kind: transformers``.

    Attributes:
        checkpoint: a local folder with safetensors, or a hub id.
        revision: the hub id's commit, branch or tag. A hub id needs one, so that a run can be repeated.
        dtype: the type of the weights.
        device: a torch device. None takes a GPU if there is one.
        max_tokens: the longest pair that is read, if the checkpoint's own limit is not smaller.
        batch_tokens: the most padded tokens in one forward pass. Pairs are sorted by length, so little is padding.
    """

    checkpoint: str
    revision: str | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    device: str | None = None
    max_tokens: int | None = Field(default=None, gt=0)
    batch_tokens: int = Field(default=8192, gt=0)


class ModelOptions(Options):
    """The options of ``kind: model``; see ``ModelEntailment``."""

    model: dict[str, Any]
    prompt: str = "acueval-verify-zeroshot"


class SequenceClassifier(Entailment):
    """A three-way NLI checkpoint of transformers.

    Raises:
        EntailmentError: the labels are not the three of NLI, or a hub id has no revision.
    """

    def __init__(self, options: CheckpointOptions) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        from claimwise.models.weights import config_of, folder_hash

        checkpoint, revision = options.checkpoint, options.revision
        folder = Path(checkpoint)
        local = folder.is_dir()
        if not local and revision is None:
            raise EntailmentError(
                f"{checkpoint}: no such folder, and a hub id needs a `revision` (a commit), so that a run can be repeated"
            )
        where = folder if local else checkpoint
        config = config_of(where, revision)
        self._order = label_order(config.id2label, checkpoint)
        # A text that looks like a control token ("[SEP]") is read as plain text.
        self._tokenizer = AutoTokenizer.from_pretrained(where, revision=revision, split_special_tokens=True)
        self._device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        model = AutoModelForSequenceClassification.from_pretrained(
            where, revision=revision, dtype=getattr(torch, options.dtype), use_safetensors=True
        )
        self._model = model.eval().to(self._device)
        if options.dtype == "float32" and self._device.type == "cpu" and torch.backends.mkldnn.is_available():
            _pack_linear(self._model)
        self._batch_tokens = options.batch_tokens
        max_tokens = min(filter(None, (options.max_tokens, _positions(config), self._tokenizer.model_max_length)))
        self.limit = max_tokens - self._tokenizer.num_special_tokens_to_add(pair=True)
        self.name = f"{checkpoint}@{revision}" if revision else folder.name
        commit = getattr(config, "_commit_hash", None) or revision  # a branch or tag may move to another commit
        origin = folder_hash(folder) if local else f"{checkpoint}@{commit}"
        self.fingerprint = f"nli:{origin}:{options.dtype}:{self._device.type}:{max_tokens}"

    def count(self, texts: Sequence[str]) -> list[int]:
        """See ``Entailment.count``: the larger of the counts with and without a space before the text."""
        if not texts:
            return []

        def sizes(variants: list[str]) -> list[int]:
            encoded = self._tokenizer(variants, add_special_tokens=False, return_attention_mask=False, verbose=False)
            return [len(ids) for ids in encoded["input_ids"]]

        return [max(pair) for pair in zip(sizes(list(texts)), sizes([" " + text for text in texts]), strict=True)]

    def entail(self, premises: Sequence[str], hypotheses: Sequence[str], scope: str = "") -> np.ndarray:
        """See ``Entailment.entail``.

        Raises:
            EntailmentError: a pair is longer than the checkpoint can read. Nothing is ever truncated.
        """
        import torch

        results = np.zeros((len(premises), 3))
        if not len(premises):
            return results
        encoded = self._tokenizer(list(premises), list(hypotheses), verbose=False)
        lengths = [len(ids) for ids in encoded["input_ids"]]
        max_tokens = self.limit + self._tokenizer.num_special_tokens_to_add(pair=True)
        if max(lengths) > max_tokens:
            raise EntailmentError(
                f"{self.name}: a premise and claim of {max(lengths)} tokens, expected at most {max_tokens}; cut the premise"
            )
        for batch in length_batches(lengths, self._batch_tokens):
            padded = self._tokenizer.pad(
                {name: [column[i] for i in batch] for name, column in encoded.items()}, return_tensors="pt"
            )
            with torch.inference_mode():
                logits = self._model(**padded.to(self._device)).logits
            results[batch] = logits.double().softmax(-1)[:, self._order].cpu().numpy()
        return results


class ModelEntailment(Entailment):
    """A model that verifies claims, as an NLI model: p_entail is the probability that the premise supports the claim.

    The rest of the probability is neutral. Models that tell contradicted from absent claims (``Verdict.contradicted``) divide
    it into neutral and contradicted.

    There is no limit: the model itself reports a premise that it cannot read. Such a premise gives a row of NaN, as does an
    unreadable reply. The prompt is one for verification and shows the premise as the document.

    >>> from claimwise import models
    >>> nli = ModelEntailment(models.load({"kind": "lexical"}))
    >>> nli.entail(["It rained.", "Ann left."], ["It rained.", "It rained."]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    def __init__(self, model: Model, prompt: str = "acueval-verify-zeroshot") -> None:
        self._model, self._prompt = model, prompts.load(prompt, "verify")
        self.name = model.name
        self.fingerprint = f"verifier:{model.fingerprint}:{self._prompt.fingerprint}"

    def entail(self, premises: Sequence[str], hypotheses: Sequence[str], scope: str = "") -> np.ndarray:
        """See ``Entailment.entail``; all claims about a premise are verified together, so that it is read once."""
        rows_of: dict[str, list[int]] = {}
        for i, premise in enumerate(premises):
            rows_of.setdefault(premise, []).append(i)
        claims = [[hypotheses[i] for i in rows] for rows in rows_of.values()]
        results = np.zeros((len(premises), 3))
        verified = self._model.verify(list(rows_of), claims, self._prompt)
        for rows, verdicts in zip(rows_of.values(), verified, strict=True):
            results[rows] = [_probabilities(verdict) for verdict in verdicts]
        return results


def _probabilities(verdict: Verdict) -> tuple[float, float, float]:
    """Entailed, neutral, contradicted; NaN if there is no verdict."""
    contradicted = 0.0 if math.isnan(verdict.contradicted) else verdict.p_contradict
    return verdict.support, 1 - verdict.support - contradicted, contradicted


def length_batches(lengths: Sequence[int], max_tokens: int, longest_first: bool = False) -> Iterator[list[int]]:
    """Divide rows into batches of similar length.

    Args:
        lengths: the tokens of each row.
        max_tokens: the most tokens of a padded batch (its rows times its longest row). A longer row is a batch of its own.
        longest_first: whether the longest rows come first instead of the shortest.

    Yields:
        The indices of a batch's rows.

    >>> list(length_batches([3, 9, 2, 4], 8)), list(length_batches([3, 9, 2, 4], 8, longest_first=True))
    ([[2, 0], [3], [1]], [[1], [3, 0], [2]])
    """
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=longest_first):
        if batch and max(lengths[i], lengths[batch[0]]) * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _pack_linear(module: Any) -> None:
    """Let linear layers multiply by oneDNN instead of the BLAS of torch's wheels, with weights in oneDNN's layout.

    A linear layer is then twice as fast on processors that are not Intel's, and its sums differ in the seventh digit.
    torch.compile inserts the same operations for frozen weights.
    """
    import torch

    class Packed(torch.nn.Module):
        def __init__(self, linear: torch.nn.Linear) -> None:
            super().__init__()
            self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())
            self._bias = linear.bias

        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return torch.ops.mkldnn._linear_pointwise(states, self.weight, self._bias, "none", [], "")

    for name, child in module.named_children():
        if type(child) is torch.nn.Linear:
            setattr(module, name, Packed(child))
        else:
            _pack_linear(child)


def _positions(config: Any) -> int | None:
    count = getattr(config, "max_position_embeddings", None)
    # RoBERTa's first position is the one after its padding id.
    return count - config.pad_token_id - 1 if count and "roberta" in config.model_type else count


def load(settings: Mapping[str, Any], cache: ResponseCache | None = None) -> Entailment:
    """Load the entailment model that a metric's ``entailment`` entry describes.

    Weights are loaded once for equal entries.

    Args:
        settings: ``kind`` (embedded, transformers or model) and the options of that kind.
        cache: the finished calls of ``kind: model``. None keeps them in memory only.

    Raises:
        EntailmentError: the kind is unknown, or the checkpoint is not a three-way NLI model.
        ModelError: an option is unknown or malformed.

    >>> load({"kind": "nli"})
    Traceback (most recent call last):
    ...
    claimwise.models.entailment.EntailmentError: unknown kind of entailment 'nli'; expected embedded, transformers or model
    """
    from claimwise import models
    from claimwise_embedded import EmbeddedOptions

    kinds = {"embedded": EmbeddedOptions, "transformers": CheckpointOptions, "model": ModelOptions}
    options = read_kind("entailment", settings, kinds, EntailmentError)
    if not isinstance(options, ModelOptions):
        return _loaded(options)
    model = models.loaded(options.model)
    return ModelEntailment(model if cache is None else models.remembering(model, cache), options.prompt)


@lru_cache(maxsize=6)  # the variants of an ablation share a large checkpoint
def _loaded(options: Options) -> Entailment:
    if isinstance(options, CheckpointOptions):
        return SequenceClassifier(options)
    from claimwise_embedded.entailment import EmbeddedEntailment

    return EmbeddedEntailment(options.weights)
