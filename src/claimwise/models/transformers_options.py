"""Options of a checkpoint on this machine, or on a model hub (``kind: transformers`` in params.yaml)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from claimwise.models.options import Options


class TransformersOptions(Options):
    """The options of ``kind: transformers``.

    Attributes:
        model: a local folder or a hub id.
        revision: the hub commit to use; pin it, or results change when the hub's files do.
        dtype: of the weights; ``auto`` takes the checkpoint's.
        device: ``auto`` takes the first accelerator, else the CPU; ``spread`` lays the layers over all accelerators,
            for checkpoints larger than one (needs the package accelerate).
        template: how prompts are framed: ``auto`` (the tokenizer's chat template where it has one), ``none``, or
            ``stablebeluga2`` (ACUEval's model, whose tokenizer has none).
        system: system prompt; the default is the template's own.
        template_options: passed to the chat template, e.g. ``{enable_thinking: false}``.
        context: most tokens of a prompt and its reply, or of a prompt alone where an encoder reads it; the default is the
            checkpoint's.
        batch_tokens: most tokens in one forward pass; the default follows from the free memory.
        share_prefix: compute a document once for all its claims, where the architecture allows.
    """

    model: str
    revision: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: str = "auto"
    template: Literal["auto", "none", "stablebeluga2"] = "auto"
    system: str | None = None
    template_options: dict[str, Any] = Field(default_factory=dict)
    context: int | None = Field(default=None, gt=0)
    batch_tokens: int | None = Field(default=None, gt=0)
    share_prefix: bool = True
