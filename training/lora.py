"""Trains low-rank weights (LoRA, Hu et al. 2022) that are added to a checkpoint.

The checkpoint's weights do not change, and are in half precision if the machine is fast in it. The adapter's are float32 in
training. A killed run continues from where it last saved.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

import torch
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from peft.helpers import disable_input_dtype_casting
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm
from transformers import PreTrainedModel

from claimwise import params, paths
from claimwise.models.options import TransformersOptions, read_kind
from claimwise.models.weights import DOCUMENTS

WARM_UP = 12  # steps in which the learning rate rises
_LOWEST = 8  # layers below it have no adapter, which saves a third of the time for gradients
_STEPS_PER_SAVE = 40
_SCALE = 2  # factor of the low-rank product in training
_STATE = "training.pt"
_LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
Step = TypeVar("Step")


def added(model: PreTrainedModel, rank: int) -> PeftModel:
    """Return the model with an adapter of that rank in the linear parts of all but its lowest layers."""
    torch.manual_seed(0)
    layers = list(range(_LOWEST, model.config.get_text_config().num_hidden_layers))
    config = LoraConfig(r=rank, lora_alpha=_SCALE * rank, target_modules=_LINEAR, layers_to_transform=layers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft uses a name that transformers will change
        return get_peft_model(model, config)


def last_states(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the states of the last layer, (rows, length, size), computed in the type of the model's weights (the adapter's
    are float32)."""
    with torch.autocast(model.device.type, model.dtype, enabled=model.dtype != torch.float32):
        return model.base_model(**inputs, use_cache=False).last_hidden_state


def fit(adapted: PeftModel, steps: Sequence[Step], learn: Callable[[Step], float], rate: float, folder: Path) -> None:
    """Learn from all steps, in order, once. A killed run in the folder is continued.

    Args:
        adapted: the model with its adapter.
        steps: the training data.
        learn: adds the gradients of a step's loss, and returns the loss.
        rate: the highest learning rate.
        folder: where the state of the training is saved.

    Raises:
        RuntimeError: a gradient is not a number.
    """
    learned = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=rate, weight_decay=0.01, betas=(0.9, 0.99))
    saved, done = folder / _STATE, 0
    if saved.exists():
        state = torch.load(saved, weights_only=True)
        done = state["done"]
        optimizer.load_state_dict(state["optimizer"])
        set_peft_model_state_dict(adapted, state["adapter"])
    folder.mkdir(parents=True, exist_ok=True)
    recent: list[float] = []
    # Otherwise peft would convert a layer's input to float32, and autocast would convert it back.
    with (
        tqdm(total=len(steps), initial=done, unit="step", mininterval=20) as bar,
        disable_input_dtype_casting(adapted),
        _kernel(adapted.device),
    ):
        for number in range(done, len(steps)):
            for group in optimizer.param_groups:
                group["lr"] = rate * _schedule(number, len(steps))
            recent.append(learn(steps[number]))
            torch.nn.utils.clip_grad_norm_(learned, 1.0, error_if_nonfinite=True)
            optimizer.step()
            optimizer.zero_grad()
            bar.set_postfix(loss=f"{sum(recent[-50:]) / len(recent[-50:]):.3f}", refresh=False)
            bar.update()
            if (number + 1) % _STEPS_PER_SAVE == 0:
                weights = get_peft_model_state_dict(adapted)
                state = {"done": number + 1, "optimizer": optimizer.state_dict(), "adapter": weights}
                with paths.whole(saved) as new:
                    torch.save(state, new)


def save(adapted: PeftModel, checkpoint: str, documents: Iterable[str], folder: Path, strength: float = 1.0) -> None:
    """Write the adapter in half precision, and delete the state of the training that ``fit`` kept in the folder.

    Args:
        adapted: the model with its adapter.
        checkpoint: the name of the checkpoint that users know.
        documents: the ids (``schema.document_id``) of the training documents.
        folder: where the adapter goes.
        strength: the share of the learned weights that is added to the checkpoint's.
    """
    (folder / DOCUMENTS).write_text("\n".join(sorted(set(documents))) + "\n")
    config = adapted.peft_config["default"]
    config.base_model_name_or_path = checkpoint  # instead of a local folder
    config.lora_alpha *= strength
    adapted.half().save_pretrained(folder, save_embedding_layers=False)  # "auto" would ask the hub
    (folder / "README.md").unlink()  # peft's model card is an empty form
    (folder / _STATE).unlink(missing_ok=True)


def strength(adapted: PeftModel) -> float:
    """Return the share of its learned weights that an adapter adds to the checkpoint's."""
    config = adapted.peft_config["default"]
    return config.lora_alpha / (_SCALE * config.r)


def options_of(name: str) -> TransformersOptions:
    """Return the options of an entry of ``models`` in params.yaml."""
    entry = params.read("params.yaml").model_entry(name)
    options = read_kind("model", entry, {"transformers": TransformersOptions})
    if options.dtype == "auto" and torch.cuda.is_available():
        options = options.model_copy(update={"dtype": "bfloat16"})  # float16's range is small for gradients
    return options


def _kernel(device: torch.device) -> AbstractContextManager:
    """The attention kernel. With torch's choice (torch 2.11 on an H200) a loss was not a number within 80 steps."""
    return sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION]) if device.type == "cuda" else nullcontext()


def _schedule(step: int, steps: int) -> float:
    """The share of the learning rate at a step: it rises, stays, and falls to a tenth from a third of the steps on.

    >>> [round(_schedule(step, 300), 2) for step in (0, 11, 100, 200, 300)]
    [0.08, 1.0, 1.0, 0.55, 0.1]
    """
    falling = max(0.0, (step / steps - 1 / 3) * 1.5)
    return min(1.0, (step + 1) / WARM_UP) * (1 - 0.9 * falling)
