"""Low-rank weights (LoRA, Hu et al. 2022) that are added to a checkpoint, learned step by step.

The checkpoint's weights stay as they are, in half precision where the machine is fast in it; the adapter's are float32 while
they are learned. A killed run goes on from where it last saved.
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

WARM_UP = 12  # steps that the learning rate rises over
_LOWEST = 8  # layers below it are left alone, which saves a third of the way back
_STEPS_PER_SAVE = 40
_SCALE = 2  # of the low-rank product, while it is learned
_STATE = "training.pt"
_LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
Step = TypeVar("Step")


def added(model: PreTrainedModel, rank: int) -> PeftModel:
    """The model with an adapter of that rank in the linear parts of all but its lowest layers."""
    torch.manual_seed(0)
    layers = list(range(_LOWEST, model.config.get_text_config().num_hidden_layers))
    config = LoraConfig(r=rank, lora_alpha=_SCALE * rank, target_modules=_LINEAR, layers_to_transform=layers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks for what transformers will rename
        return get_peft_model(model, config)


def last_states(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """States of the last layer, (rows, length, size), computed as the model's weights are stored, though its adapter's are
    float32."""
    with torch.autocast(model.device.type, model.dtype, enabled=model.dtype != torch.float32):
        return model.base_model(**inputs, use_cache=False).last_hidden_state


def fit(adapted: PeftModel, steps: Sequence[Step], learn: Callable[[Step], float], rate: float, folder: Path) -> None:
    """Learn from all steps, in order, once; what is in the folder of such a run that was killed goes on.

    ``learn`` adds the gradients of a step's loss, and returns the loss; ``rate`` is the learning rate where it is highest.

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
    # Under autocast peft would make float32 of what a layer reads, and autocast half precision of it again.
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
    """Write the adapter in half precision, with the ids (``schema.document_id``) of the documents that it learned from, for
    the checkpoint by the name that users know. The state of the training, which ``fit`` kept in the folder, is deleted.

    ``strength``: the share of what was learned that is added to the checkpoint's weights.
    """
    (folder / DOCUMENTS).write_text("\n".join(sorted(set(documents))) + "\n")
    config = adapted.peft_config["default"]
    config.base_model_name_or_path = checkpoint  # not a folder of this machine
    config.lora_alpha *= strength
    adapted.half().save_pretrained(folder, save_embedding_layers=False)  # "auto" would ask the hub
    (folder / "README.md").unlink()  # peft's model card has nothing but blanks
    (folder / _STATE).unlink(missing_ok=True)


def strength(adapted: PeftModel) -> float:
    """The share of what an adapter learned that it adds to the checkpoint's weights."""
    config = adapted.peft_config["default"]
    return config.lora_alpha / (_SCALE * config.r)


def options_of(name: str) -> TransformersOptions:
    """Of an entry of ``models`` in params.yaml."""
    entry = params.read("params.yaml").model_entry(name)
    options = read_kind("model", entry, {"transformers": TransformersOptions})
    if options.dtype == "auto" and torch.cuda.is_available():
        options = options.model_copy(update={"dtype": "bfloat16"})  # float16's range is small for gradients
    return options


def _kernel(device: torch.device) -> AbstractContextManager:
    """With torch's own choice of attention kernel (torch 2.11 on an H200) a run's loss was not a number within 80 steps."""
    return sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION]) if device.type == "cuda" else nullcontext()


def _schedule(step: int, steps: int) -> float:
    """Share of the learning rate: rises, stays, and falls to a tenth from a third of the way.

    >>> [round(_schedule(step, 300), 2) for step in (0, 11, 100, 200, 300)]
    [0.08, 1.0, 1.0, 0.55, 0.1]
    """
    falling = max(0.0, (step / steps - 1 / 3) * 1.5)
    return min(1.0, (step + 1) / WARM_UP) * (1 - 0.9 * falling)
