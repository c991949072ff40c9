"""Natural language inference behind one interface: how a premise stands to a hypothesis (FENICE equation 1).

Three backends: any three-way sequence-classification checkpoint (the paper's DeBERTa and RoBERTa are such); the embedded
verifier in that role, for runs without a checkpoint; and any model that verifies claims, a language model for one.
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

#: Columns of what ``entail`` returns; a checkpoint's labels are recognised by how these names begin.
LABELS = ("entailment", "neutral", "contradiction")
_BEGINNINGS = ("entail", "neutral", "contradict")


class EntailmentError(ClaimwiseError):
    """A checkpoint is no three-way NLI model, or an entry of the settings is wrong."""


def label_order(labels: Mapping[int, str], checkpoint: str) -> list[int]:
    """Where a checkpoint's classifier has entailment, neutral and contradiction, by ``id2label`` of its config.

    Raises:
        EntailmentError: there are not exactly these three labels.

    >>> label_order({0: "CONTRADICTION", 1: "neutral", 2: "Entailment"}, "m")
    [2, 1, 0]
    """
    found = [
        [int(i) for i, name in labels.items() if str(name).lower().startswith(beginning)] for beginning in _BEGINNINGS
    ]
    if len(labels) != 3 or any(len(places) != 1 for places in found):
        shown = ", ".join(repr(str(name)) for name in labels.values())
        raise EntailmentError(
            f"{checkpoint}: found labels {shown} in id2label of its config, expected the three labels "
            f"{', '.join(LABELS)} in any order; take a three-way NLI checkpoint, or name its labels in config.json"
        )
    return [places[0] for places in found]


class SequenceClassifier(Entailment):
    """A three-way NLI checkpoint of transformers.

    Args:
        checkpoint: a local folder with safetensors, or a hub id.
        revision: of a hub id, which needs one, so that a run can be repeated.
        dtype: of the weights: float32, bfloat16 or float16.
        device: a torch device; None takes a GPU where there is one.
        max_tokens: read no longer pairs than this (the checkpoint's own limit, where it is smaller).
        batch_tokens: padded tokens in one forward pass; pairs are sorted by length to waste few.

    Raises:
        EntailmentError: the labels are not the three of NLI, or a hub id has no revision.
    """

    def __init__(
        self,
        checkpoint: str,
        revision: str | None = None,
        *,
        dtype: str = "float32",
        device: str | None = None,
        max_tokens: int | None = None,
        batch_tokens: int = 8192,
    ) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        from claimwise.models.weights import config_of, folder_hash

        folder = Path(checkpoint)
        local = folder.is_dir()
        if not local and revision is None:
            raise EntailmentError(
                f"{checkpoint}: no such folder, and a hub id needs a `revision` (a commit), so that a run can be repeated"
            )
        where = folder if local else checkpoint
        config = config_of(where, revision)
        self._order = label_order(config.id2label, checkpoint)
        # What looks like a control token in a text ("[SEP]") is text.
        self._tokenizer = AutoTokenizer.from_pretrained(where, revision=revision, split_special_tokens=True)
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        model = AutoModelForSequenceClassification.from_pretrained(
            where, revision=revision, dtype=getattr(torch, dtype), use_safetensors=True
        )
        self._model = model.eval().to(self._device)
        if dtype == "float32" and self._device.type == "cpu" and torch.backends.mkldnn.is_available():
            _pack_linear(self._model)
        self._batch_tokens = batch_tokens
        most = min(filter(None, (max_tokens, _positions(config), self._tokenizer.model_max_length)))
        self.limit = most - self._tokenizer.num_special_tokens_to_add(pair=True)
        self.name = f"{checkpoint}@{revision}" if revision else folder.name
        commit = getattr(config, "_commit_hash", None) or revision  # a branch's or tag's name may move on
        origin = folder_hash(folder) if local else f"{checkpoint}@{commit}"
        self.fingerprint = f"nli:{origin}:{dtype}:{self._device.type}:{most}"

    def count(self, texts: Sequence[str]) -> list[int]:
        """See ``Entailment.count``: the larger of the counts with and without a space before the text."""
        if not texts:
            return []

        def sizes(given: list[str]) -> list[int]:
            found = self._tokenizer(given, add_special_tokens=False, return_attention_mask=False, verbose=False)
            return [len(ids) for ids in found["input_ids"]]

        return [max(pair) for pair in zip(sizes(list(texts)), sizes([" " + text for text in texts]), strict=True)]

    def entail(self, premises: Sequence[str], hypotheses: Sequence[str], scope: str = "") -> np.ndarray:
        """See ``Entailment.entail``.

        Raises:
            EntailmentError: a pair is longer than the checkpoint can read; nothing is ever truncated.
        """
        import torch

        results = np.zeros((len(premises), 3))
        if not len(premises):
            return results
        encoded = self._tokenizer(list(premises), list(hypotheses), verbose=False)
        lengths = [len(ids) for ids in encoded["input_ids"]]
        most = self.limit + self._tokenizer.num_special_tokens_to_add(pair=True)
        if max(lengths) > most:
            raise EntailmentError(
                f"{self.name}: a premise and claim of {max(lengths)} tokens, expected at most {most}; cut the premise"
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
    """P(the premise alone supports the claim), by a model that verifies claims, as p_entail.

    What it leaves is neutral, but for models that tell contradicted from absent claims (``Verdict.contradicted``).

    There is no limit: the model itself says what it cannot read. That, or an answer that cannot be read, is a row of NaN.
    The prompt, one for verification, shows the premise as the document.

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
        """See ``Entailment.entail``; all claims about a premise are asked together, so that it is read once."""
        places: dict[str, list[int]] = {}
        for i, premise in enumerate(premises):
            places.setdefault(premise, []).append(i)
        groups = [[hypotheses[i] for i in at] for at in places.values()]
        found = self._model.verify(list(places), groups, self._prompt)
        results = np.zeros((len(premises), 3))
        for at, verdicts in zip(places.values(), found, strict=True):
            results[at] = [_three(verdict) for verdict in verdicts]
        return results


def _three(verdict: Verdict) -> tuple[float, float, float]:
    """Entailed, neutral, contradicted; NaN where there is no verdict."""
    contradicted = 0.0 if math.isnan(verdict.contradicted) else verdict.p_contradict
    return verdict.support, 1 - verdict.support - contradicted, contradicted


def length_batches(lengths: Sequence[int], most: int, longest_first: bool = False) -> Iterator[list[int]]:
    """Positions in order of length, in runs whose padded size (rows times the longest) is at most ``most``.

    >>> list(length_batches([3, 9, 2, 4], 8)), list(length_batches([3, 9, 2, 4], 8, longest_first=True))
    ([[2, 0], [3], [1]], [[1], [3, 0], [2]])
    """
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=longest_first):
        if batch and max(lengths[i], lengths[batch[0]]) * (len(batch) + 1) > most:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _pack_linear(module: Any) -> None:
    """Multiplies by oneDNN instead of the BLAS of torch's wheels, with the weights laid out for it once.

    A linear layer is twice as fast on processors that are not Intel's, and its sums differ in the seventh digit.
    These are the operations that torch.compile puts in for frozen weights.
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
    most = getattr(config, "max_position_embeddings", None)
    # RoBERTa counts positions from the one after its padding id.
    return most - config.pad_token_id - 1 if most and "roberta" in config.model_type else most


class CheckpointOptions(Options):
    """The options of ``kind: transformers``; see ``SequenceClassifier``."""

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


def load(settings: Mapping[str, Any], cache: ResponseCache | None = None) -> Entailment:
    """The entailment model that a metric's ``entailment`` entry describes; its weights are loaded once for equal entries.

    Args:
        settings: ``kind`` (embedded, transformers or model) and the options of that kind.
        cache: finished calls, of ``kind: model``; None keeps them in memory only.

    Raises:
        EntailmentError: the kind is unknown, or the checkpoint no three-way NLI model.
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
        return SequenceClassifier(**options.model_dump())
    from claimwise_embedded.entailment import EmbeddedEntailment

    return EmbeddedEntailment(options.weights)
