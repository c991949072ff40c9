"""Fine-tune a chat model on the question that it is asked: LoRA (Hu et al. 2022) on p(Yes) of one verification prompt.

    python -m training.packing build/packs.jsonl
    python -m training.adapter build/packs.jsonl src/claimwise/models/adapters/claimwise-1.5b --most 3584

A document and all statements about it are one packed row (``models.prefix``), so that it is read once. A supported
summary is supported in all of its statements; of one that is not, the least probable statement is taught to be wrong. The
checkpoint's weights stay as they are, in half precision where the machine is fast in it; the adapter's are float32 while
they are learned. A killed run goes on from its last thousand documents.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from peft.helpers import disable_input_dtype_casting
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import binary_cross_entropy_with_logits
from tqdm import tqdm

from claimwise import params, prompts
from claimwise.models.entailment import length_batches
from claimwise.models.options import TransformersOptions
from claimwise.models.prefix import SharedPrefix, common
from claimwise.models.transformers_checkpoint import Checkpoint
from claimwise.models.weights import DOCUMENTS
from claimwise.schema import document_id
from training.packing import Labelled, Pack, read, without

PROMPT = "acueval-verify-zeroshot"
RANK, RATE, WARM_UP = 6, 3e-4, 12  # rank of the adapter; learning rate, and the steps that it rises over
_LOWEST = 8  # layers below it are left alone, which saves a third of the way back
_PACKS_PER_STEP, _STEPS_PER_SAVE = 32, 40
_BYTES_PER_TOKEN = 4_000_000  # of activations that are kept for the way back, of 1.5 billion weights
_DOUBT = 0.05  # a label is right with a probability of one less this: people err, and a model that is sure forgets more
_LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def loss(logits: torch.Tensor, texts: Sequence[Labelled]) -> torch.Tensor:
    """Mean over texts of the cross-entropy of their labels, of which a twentieth is doubted.

    Args:
        logits: log odds of Yes of all statements of all texts, in order, (n,).
        texts: what they were asked about. A supported text's statements all are; of another, the least supported is not.

    >>> float(loss(torch.tensor([0.0, 0.0]), [Labelled(("a", "b"), 1)]))
    0.6931471824645996
    """
    parts = logits.split([len(text.statements) for text in texts])
    return torch.stack(
        [
            binary_cross_entropy_with_logits(asked, torch.full_like(asked, abs(text.label - _DOUBT)))
            for part, text in zip(parts, texts, strict=True)
            for asked in [part if text.label else part.min()]
        ]
    ).mean()


class Asked:
    """A chat model that gives the log odds of Yes over No of statements about documents, and can learn."""

    def __init__(self, options: TransformersOptions):
        self._checkpoint = Checkpoint(options)
        self.model = self._checkpoint.model
        self._template = prompts.load(PROMPT)
        self._sharing = SharedPrefix(self.model, [])
        yes, no = (torch.tensor(self._checkpoint.spellings(word)) for word in ("Yes", "No"))
        head = self.model.get_output_embeddings().weight
        self._answers, self._yes = head[torch.cat([yes, no]).to(head.device)].detach().float(), len(yes)

    def prompts(self, document: str, statements: Sequence[str]) -> list[list[int]]:
        """Token ids of what is asked about each statement."""
        return [
            self._checkpoint.encode(self._template.render(Document=document, ACU=statement)) for statement in statements
        ]

    def logits(self, groups: Sequence[Sequence[list[int]]]) -> list[torch.Tensor]:
        """For each group of prompts (of a document) log odds, (n,), float32: of the probabilities of all spellings of Yes
        and of No."""
        inputs, ends = self._sharing.packed(groups)
        dtype = self.model.dtype  # half precision where that is fast: the adapter's weights are not in it
        with torch.autocast(self.model.device.type, dtype, enabled=dtype != torch.float32):
            states = self.model.base_model(**inputs, use_cache=False).last_hidden_state
        rows = [row for row, places in enumerate(ends) for _ in places]
        answers = states[rows, [place for places in ends for place in places]].float() @ self._answers.T
        odds = answers[:, : self._yes].logsumexp(-1) - answers[:, self._yes :].logsumexp(-1)
        return list(odds.split([len(places) for places in ends]))


def train(options: TransformersOptions, material: Sequence[Pack], folder: Path) -> None:
    """Learn an adapter from packs, in order, once, and write it to a folder; what is there of such a run goes on.

    Args:
        options: the checkpoint.
        material: what it learns from.
        folder: where the adapter goes.
    """
    torch.manual_seed(0)
    asked = Asked(options)
    layers = list(range(_LOWEST, asked.model.config.get_text_config().num_hidden_layers))
    adapted = get_peft_model(
        asked.model,
        LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules=_LINEAR, layers_to_transform=layers),
    )
    learned = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=0.01, betas=(0.9, 0.99))
    steps = [material[at : at + _PACKS_PER_STEP] for at in range(0, len(material), _PACKS_PER_STEP)]
    saved, done = folder / "training.pt", 0
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
        _kernel(asked.model.device),
    ):
        for number in range(done, len(steps)):
            for group in optimizer.param_groups:
                group["lr"] = RATE * _schedule(number, len(steps))
            recent.append(_learn(asked, steps[number]))
            torch.nn.utils.clip_grad_norm_(learned, 1.0, error_if_nonfinite=True)
            optimizer.step()
            optimizer.zero_grad()
            bar.set_postfix(loss=f"{sum(recent[-50:]) / len(recent[-50:]):.3f}", refresh=False)
            bar.update()
            if (number + 1) % _STEPS_PER_SAVE == 0:
                state = {
                    "done": number + 1,
                    "optimizer": optimizer.state_dict(),
                    "adapter": get_peft_model_state_dict(adapted),
                }
                torch.save(state, saved.with_suffix(".new"))
                saved.with_suffix(".new").replace(saved)
    ids = sorted({document_id(pack.document) for pack in material})
    (folder / DOCUMENTS).write_text("\n".join(ids) + "\n")
    adapted.peft_config["default"].base_model_name_or_path = options.model  # not a folder of this machine
    adapted.half().save_pretrained(folder, save_embedding_layers=False)  # "auto" would ask the hub
    (folder / "README.md").unlink()  # peft's model card has nothing but blanks
    saved.unlink(missing_ok=True)


def _learn(asked: Asked, step: Sequence[Pack]) -> float:
    """Add the gradients of a step's loss, the mean over its packs, and return it; packs of similar lengths are read together."""
    groups = [asked.prompts(pack.document, [s for text in pack.texts for s in text.statements]) for pack in step]
    total = 0.0
    for batch in read_together(groups, asked.model.device):
        found = asked.logits([groups[i] for i in batch])
        value = sum(loss(logits, step[i].texts) for i, logits in zip(batch, found, strict=True)) / len(step)
        value.backward()
        total += value.item()
    return total


def read_together(groups: Sequence[Sequence[list[int]]], device: torch.device) -> Iterator[list[int]]:
    """Which groups of prompts, each with a document in common, are read at once: such of similar lengths.

    On a CPU, where more gains nothing, each is read alone.
    """
    shared = [common(min(group), max(group), 0, min(map(len, group)) - 1) for group in groups]
    lengths = [sum(map(len, group)) - (len(group) - 1) * known for group, known in zip(groups, shared, strict=True)]
    room = torch.cuda.mem_get_info(device)[1] // _BYTES_PER_TOKEN if device.type == "cuda" else 0
    return length_batches(lengths, room)


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


def options_of(name: str) -> TransformersOptions:
    """Of an entry of ``models`` in params.yaml."""
    entry = params.read("params.yaml").model_entry(name)
    unused = {"kind", "prices", "recorded"}
    options = TransformersOptions.read("transformers", {k: v for k, v in entry.items() if k not in unused})
    if options.dtype == "auto" and torch.cuda.is_available():
        options = options.model_copy(update={"dtype": "bfloat16"})  # float16's range is small for gradients
    return options


def main() -> None:
    """Read the command line, and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packs", type=Path, help="what it learns from, as training.packing wrote it")
    parser.add_argument("folder", type=Path, help="where the adapter goes")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="an entry of `models` in params.yaml")
    parser.add_argument("--without", nargs="*", default=[], help="how names of corpora begin that it does not see")
    parser.add_argument("--most", type=int, help="packs that are read at most; all, if not given")
    given = parser.parse_args()
    train(options_of(given.model), without(read(given.packs), given.without)[: given.most], given.folder)


if __name__ == "__main__":
    main()
