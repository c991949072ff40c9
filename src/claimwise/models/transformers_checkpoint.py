"""A checkpoint with its tokenizer (``kind: transformers``): loading, prompts as token ids, tokens that spell an answer."""

import logging
import re
import timeit
import warnings
from collections.abc import Sequence
from datetime import datetime
from functools import cache, lru_cache

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from claimwise.errors import first_line
from claimwise.models.options import ModelError, TransformersOptions
from claimwise.models.weights import adapter_folder, config_of, contradiction_file, explained, place, quiet

_log = logging.getLogger(__name__)

_HALF = (torch.float16, torch.bfloat16)
#: StableBeluga2's prompt format by its model card. ACUEval uses this model.
STABLE_BELUGA = ("### System:\n{system}\n\n### User:\n", "\n\n### Assistant:\n")
_BELUGA_SYSTEM = (
    "You are Stable Beluga, an AI that follows instructions extremely well. Help as much as you can. Remember, be safe, "
    "and don't do anything illegal."
)
_HOLE = "\ue000prompt\ue000"  # stands for the prompt in a chat template; private-use characters are in no prompt
_TODAY = re.compile(r"""strftime_now\(\s*["']([^"']+)["']""")


class Checkpoint:
    """A loaded model with its tokenizer.

    Attributes:
        tokenizer: its tokenizer.
        model: the model in evaluation mode, on its device.
        encoder_decoder: whether it is a sequence-to-sequence model.
        contradiction: the head that tells contradicted from absent claims, if the options name one.
        context: the most tokens of a prompt and its reply together (for an encoder, of the prompt alone); None if the
            checkpoint has no limit.
    """

    def __init__(self, options: TransformersOptions):
        device = None if options.device == "spread" else _device(options.device)
        where, revision = place(options), options.revision
        with explained(options), quiet():
            config = config_of(where, revision)
            self.tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(where, revision=revision)
            self.encoder_decoder = bool(config.is_encoder_decoder)
            kind = AutoModelForSeq2SeqLM if self.encoder_decoder else AutoModelForCausalLM
            # StableBeluga2, which ACUEval uses, is published only as pickles. `weights_only` runs none of their code.
            self.model: PreTrainedModel = kind.from_pretrained(
                where,
                revision=revision,
                dtype=_dtype(options, config, device),
                weights_only=True,
                **({} if device else {"device_map": "auto"}),
            )
            if options.adapter:  # merged into the weights, so that answers take no longer
                from peft import PeftModel  # here, because importing takes half a second

                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FutureWarning)  # peft uses a name that transformers will change
                    adapted = PeftModel.from_pretrained(self.model, adapter_folder(options.adapter))
                self.model = adapted.merge_and_unload()
            self.model.eval()
        if device:
            self.model = self.model.to(device)
        self.contradiction = Contradiction(self.model, options.contradiction) if options.contradiction else None
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token or self.tokenizer.unk_token
        self._head, self._tail, added = self._frame(options)
        # Control tokens are text in a chat template. Without one, a prompt may be written with control tokens.
        controls = [] if added else [token for token in self.tokenizer.added_tokens_decoder.values() if token.special]
        self._controls = re.compile("|".join(re.escape(str(token)) for token in controls) or "(?!)")
        self._start = self.tokenizer("").input_ids if added and not self.encoder_decoder else []
        # The model's positions, or the tokenizer's limit if the model has none (T5's positions are relative).
        limit = self.tokenizer.model_max_length
        positions = getattr(config.get_text_config(), "max_position_embeddings", None)
        self.context: int | None = positions or (limit if limit < 1_000_000 else None)

    def _frame(self, options: TransformersOptions) -> tuple[str, str, bool]:
        """Return the text before and after a prompt, and whether the tokenizer must still add its start token."""
        if options.template == "stablebeluga2":
            head, tail = STABLE_BELUGA
            return head.format(system=options.system or _BELUGA_SYSTEM), tail, True
        if options.template == "none" or not self.tokenizer.chat_template:
            return f"{options.system}\n\n" if options.system else "", "", True
        messages = [{"role": "system", "content": options.system}] if options.system else []
        text = self.tokenizer.apply_chat_template(
            [*messages, {"role": "user", "content": _HOLE}],
            tokenize=False,
            add_generation_prompt=True,
            **options.template_options,
        )
        head, hole, tail = text.partition(_HOLE)
        if not hole:
            raise ModelError(f"kind transformers: the chat template of {options.model!r} does not show its prompt")
        self._warn_of_today(options, head + tail)
        return head, tail, False

    def _warn_of_today(self, options: TransformersOptions, frame: str) -> None:
        """Warn if the chat template writes today's date into prompts; transformers has no option for another date."""
        template = self.tokenizer.get_chat_template()
        today = {datetime.now().strftime(form) for form in _TODAY.findall(template)}
        if any(shown in frame for shown in today.difference(map(str, options.template_options.values()))):
            _log.warning(
                "the chat template of %s writes today's date into every prompt, so that another day's replies may "
                "differ. %s beside the model in params.yaml",
                options.model,
                'Write `template_options: {date_string: "26 Jul 2024"}`'
                if "date_string" in template
                else "If the template has an option for the date, write it under `template_options`",
            )

    def encode(self, prompt: str) -> list[int]:
        """Return the token ids of a prompt in its frame.

        In a chat template, text in the prompt that looks like a control token ("<|im_end|>") gets a space to make it text.
        """
        prompt = self._controls.sub(lambda match: f"{match[0][0]} {match[0][1:]}", prompt)
        text = self._head + prompt + self._tail
        if self.encoder_decoder:
            return self.tokenizer(text).input_ids
        return self._start + self.tokenizer(text, add_special_tokens=False, verbose=False).input_ids

    @lru_cache(maxsize=64)  # noqa: B019  (a checkpoint lives as long as the process)
    def spellings(self, choice: str) -> list[int]:
        """Return the ids of the single tokens that spell a choice, with or without a space before it, in any case."""
        special = set(self.tokenizer.all_special_ids)
        return sorted(
            index
            for token, index in self.tokenizer.get_vocab().items()
            if token.strip(" ▁ĠĊ\n").casefold() == choice.casefold() and index not in special
        )

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of a reply's tokens, without special tokens."""
        return self.tokenizer.decode(ids, skip_special_tokens=True)


class Contradiction:
    """A second head: is an unsupported claim contradicted by the document, or only absent from it?

    It is a logistic regression on one layer's states at the answer's position (``training.contradiction``). It reads the
    states while the answer is computed, and does not change the answer.

    Args:
        model: a decoder, whose layers are in ``model.base_model.layers``.
        name: the name of a file with ``weight`` (k, width), ``bias`` (k,) and ``layer``, the number of the layer whose
            output is read, from 1.

    Raises:
        ModelError: the file does not have this content, or was made for another model.
    """

    def __init__(self, model: PreTrainedModel, name: str):
        file = contradiction_file(name)
        try:
            tensors = load_file(file)
            layer = model.base_model.layers[int(tensors["layer"]) - 1]
            self._weight, self._bias = (tensors[part].to(model.device) for part in ("weight", "bias"))
            fits = self._weight.shape[1] == model.config.get_text_config().hidden_size
        except (SafetensorError, KeyError, AttributeError, IndexError):
            fits = False
        if not fits:
            raise ModelError(
                f"kind transformers: contradiction: {file} does not fit this model; expected a safetensors file with weight, "
                "bias and layer, which `python -m training.contradiction` makes for a decoder"
            )
        layer.register_forward_hook(self._read)

    def _read(self, layer: torch.nn.Module, inputs: tuple, output: torch.Tensor | tuple) -> None:
        states = output if isinstance(output, torch.Tensor) else output[0]
        self._found = torch.nn.functional.linear(states.to(self._weight), self._weight, self._bias)

    def append_columns(self, logits: torch.Tensor, rows: torch.Tensor | int, ends: torch.Tensor) -> torch.Tensor:
        """Append k columns to logits of the last pass: this head's logits at the same tokens.

        Args:
            logits: the logits at these tokens, (n, vocabulary).
            rows: the row of each token, or of all.
            ends: the index of each token in its row.
        """
        return torch.cat([logits, self._found[rows, ends].to(logits)], -1)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
    try:
        return torch.empty(0, device=name).device
    except (AssertionError, RuntimeError, ImportError) as error:  # this build or this machine has no such device
        raise ModelError(
            f"kind transformers: `device: {name}` cannot be used here: {first_line(error).split('. ')[0][:100]}. `device: auto` "
            "takes what there is; for another, install the build of torch that knows it"
        ) from error


def _dtype(options: TransformersOptions, config, device: torch.device | None) -> torch.dtype | str:
    """Return the type of the weights: the options', or for half precision on a CPU the faster one, or the checkpoint's."""
    stored = config.dtype
    if options.dtype != "auto" or device is None or device.type != "cpu" or stored not in _HALF:
        return options.dtype
    fast = _fast_on_cpu()
    _log.warning("%s: %s is faster on this CPU, so that is computed in (`dtype` says otherwise)", options.model, fast)
    return fast


@cache
def _fast_on_cpu() -> torch.dtype:
    """Return float32, or bfloat16 if it is faster: with AMX it is eight times faster, without up to seven times slower."""
    matrices = torch.rand(256, 1024), torch.rand(1024, 1024)

    def seconds(dtype: torch.dtype) -> float:
        left, right = (tensor.to(dtype) for tensor in matrices)
        return min(timeit.repeat(lambda: left @ right, number=1, repeat=4))

    return min((torch.float32, torch.bfloat16), key=seconds)
