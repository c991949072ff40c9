"""Fine-tune a chat model on the question that it is asked: LoRA (Hu et al. 2022) on p(Yes) of one verification prompt.

    python -m training.adapter build/first-round
    python -m training.adapter src/claimwise/models/adapters/claimwise-0.5b --start build/first-round

A document and all statements about it are one packed sequence (``models.prefix``), so that it is read once. A supported
summary is supported in all of its statements; of one that is not, the least probable statement is taught to be wrong. The
checkpoint's weights stay as they are, in half precision where the machine is fast in it; the adapter's are float32 while
they are learned. A killed run goes on from its last hundred documents.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file
from torch.nn.functional import softplus
from tqdm import tqdm

from claimwise import params, prompts
from claimwise.models.adapters import DOCUMENTS
from claimwise.models.options import TransformersOptions
from claimwise.models.prefix import SharedPrefix
from claimwise.models.transformers_checkpoint import Checkpoint
from claimwise.schema import document_id
from training.corpora import load
from training.data import EDITS, RETOLD, TEST_SPLITS, TRAINING_SPLITS, Row, training_rows

PROMPT = "acueval-verify-zeroshot"
RANK, RATE, WARM_UP = 6, 3e-4, 25  # rank of the adapter; learning rate, and the steps that it rises over
_LOWEST = 8  # layers below it are left alone, which saves a third of the way back
_DOCUMENTS_PER_STEP, _STEPS_PER_SAVE = 4, 25
_LONGEST = 650  # words of a document that is learned from
_STATEMENTS, _SENTENCES = 10, 8  # at most that are read together; and of one summary
_FROM_ONE_CORPUS = 300  # packs, of which a random part is learned from
#: Packs that the adapter that ships learned from, in two rounds: two hours on two cores with bfloat16.
_FIRST, _SECOND = 640, 920
_POOL = 1120  # of which those of the second round are drawn: all of AggreFact's family, and others
_FAMILY = ("aggrefact", "summac")
_LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@dataclass(frozen=True, slots=True)
class Pack:
    """A document and rows about it, which are read together."""

    document: str
    rows: tuple[Row, ...]


def packs(rows: Sequence[Row], seed: int) -> list[Pack]:
    """Every judged row with others about its document, in an order drawn by ``seed``.

    A judged summary of several statements is a statement itself, too. Where there is room, sentences of the document and
    edits of them are added, as many supported ones as others.
    """
    rng = random.Random(seed)
    by_document: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if len(row.document.split()) <= _LONGEST and len(row.statements) <= _SENTENCES:
            by_document[row.document].append(row)
    found: dict[str, list[Pack]] = defaultdict(list)
    for document, about in by_document.items():
        rng.shuffle(about)
        made = [row for row in about if row.synthetic or row.corpus == "rose"]
        judged = [row for row in about if not (row.synthetic or row.corpus == "rose")]
        wholes = [replace(row, statements=(row.summary,)) for row in judged if len(row.statements) > 1]
        groups = _groups({row.statements: row for row in [*judged, *wholes]}.values()) or [[]]
        pairs = zip((row for row in made if row.label), (row for row in made if not row.label), strict=False)
        groups[-1] = _groups([*groups[-1], *(row for pair in pairs for row in pair)])[0]
        found[min(_source(row) for row in about)] += [Pack(document, tuple(group)) for group in groups]
    drawn = [pack for several in found.values() for pack in rng.sample(several, min(len(several), _FROM_ONE_CORPUS))]
    rng.shuffle(drawn)
    return drawn


def rounds(drawn: Sequence[Pack]) -> tuple[list[Pack], list[Pack]]:
    """What the adapter that ships learned from: anything at first, then more of what is like AggreFact."""
    pool = sorted(drawn[_FIRST:], key=lambda pack: not min(map(_source, pack.rows)).startswith(_FAMILY))[:_POOL]
    random.Random(0).shuffle(pool)
    return list(drawn[:_FIRST]), pool[:_SECOND]


def _source(row: Row) -> str:
    """The corpus of the document, whoever made the statement."""
    return row.corpus.removesuffix(EDITS).removesuffix(RETOLD)


def _groups(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows in order, in groups of so many statements as are read together."""
    groups: list[list[Row]] = []
    room = 0
    for row in rows:
        if len(row.statements) > room:
            groups.append([])
            room = _STATEMENTS
        groups[-1].append(row)
        room -= len(row.statements)
    return groups


def loss(logits: torch.Tensor, rows: Sequence[Row]) -> torch.Tensor:
    """Mean over rows of the negative log-likelihood of their labels.

    Args:
        logits: log odds of Yes of all statements of all rows, in order, (n,).
        rows: what they were asked about. A supported row's statements all are; of another, the least supported is not.

    >>> float(loss(torch.tensor([0.0, 0.0]), [Row("c", "d", "s", ("a", "b"), 1)]))
    0.6931471824645996
    """
    parts = logits.split([len(row.statements) for row in rows])
    return torch.stack(
        [softplus(-part).mean() if row.label else softplus(part.min()) for part, row in zip(parts, rows, strict=True)]
    ).mean()


class Asked:
    """A chat model that gives the log odds of Yes over No of statements about one document, and can learn."""

    def __init__(self, options: TransformersOptions):
        self._checkpoint = Checkpoint(options)
        self.model = self._checkpoint.model
        self._template = prompts.load(PROMPT)
        self._sharing = SharedPrefix(self.model, [])
        yes, no = (torch.tensor(self._checkpoint.spellings(word)) for word in ("Yes", "No"))
        head = self.model.get_output_embeddings().weight
        self._answers, self._yes = head[torch.cat([yes, no])].detach().float(), len(yes)

    def logits(self, document: str, statements: Sequence[str]) -> torch.Tensor:
        """Log odds, (n,), float32: of the probabilities of all spellings of Yes and of No."""
        asked = [self._template.render(Document=document, ACU=statement) for statement in statements]
        inputs, ends = self._sharing.packed([self._checkpoint.encode(prompt) for prompt in asked])
        dtype = self.model.dtype  # half precision where that is fast: the adapter's weights are not in it
        with torch.autocast(self.model.device.type, dtype, enabled=dtype != torch.float32):
            states = self.model.base_model(**inputs, use_cache=False).last_hidden_state[0, ends]
        answers = states.float() @ self._answers.T
        return answers[:, : self._yes].logsumexp(-1) - answers[:, self._yes :].logsumexp(-1)


def train(options: TransformersOptions, material: Sequence[Pack], folder: Path, start: Path | None = None) -> None:
    """Learn an adapter from packs, in order, once, and write it to a folder; what is there of such a run goes on.

    Args:
        options: the checkpoint.
        material: what it learns from.
        folder: where the adapter goes.
        start: an adapter to go on from, of the same rank and layers; without, one that changes nothing yet.
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
    steps = [material[at : at + _DOCUMENTS_PER_STEP] for at in range(0, len(material), _DOCUMENTS_PER_STEP)]
    saved, done = folder / "training.pt", 0
    if saved.exists():
        state = torch.load(saved, weights_only=True)
        done = state["done"]
        optimizer.load_state_dict(state["optimizer"])
        set_peft_model_state_dict(adapted, state["adapter"])
    elif start is not None:
        set_peft_model_state_dict(adapted, load_file(start / "adapter_model.safetensors"))
    folder.mkdir(parents=True, exist_ok=True)
    recent: list[float] = []
    with tqdm(total=len(steps), initial=done, unit="step", mininterval=20) as bar:
        for number in range(done, len(steps)):
            for group in optimizer.param_groups:
                group["lr"] = RATE * _schedule(number, len(steps))
            for pack in steps[number]:
                statements = [statement for row in pack.rows for statement in row.statements]
                value = loss(asked.logits(pack.document, statements), pack.rows)
                (value / len(steps[number])).backward()
                recent.append(value.item())
            torch.nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            bar.set_postfix(loss=f"{sum(recent[-200:]) / len(recent[-200:]):.3f}", refresh=False)
            bar.update()
            if (number + 1) % _STEPS_PER_SAVE == 0:
                state = {
                    "done": number + 1,
                    "optimizer": optimizer.state_dict(),
                    "adapter": get_peft_model_state_dict(adapted),
                }
                torch.save(state, saved.with_suffix(".new"))
                saved.with_suffix(".new").replace(saved)
    known = (start / DOCUMENTS).read_text().split() if start else []
    ids = sorted({*known, *(document_id(pack.document) for pack in material)})
    (folder / DOCUMENTS).write_text("\n".join(ids) + "\n")
    adapted.peft_config["default"].base_model_name_or_path = options.model  # not a folder of this machine
    adapted.half().save_pretrained(folder, save_embedding_layers=False)  # "auto" would ask the hub
    (folder / "README.md").unlink()  # peft's model card has nothing but blanks
    saved.unlink(missing_ok=True)


def _schedule(step: int, steps: int) -> float:
    """Share of the learning rate: rises, stays, and falls to a tenth from a third of the way.

    >>> [round(_schedule(step, 300), 2) for step in (0, 24, 100, 200, 300)]
    [0.04, 1.0, 1.0, 0.55, 0.1]
    """
    falling = max(0.0, (step / steps - 1 / 3) * 1.5)
    return min(1.0, (step + 1) / WARM_UP) * (1 - 0.9 * falling)


def main() -> None:
    """Read the command line, and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the adapter goes")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b", help="an entry of `models` in params.yaml")
    parser.add_argument("--without", nargs="*", default=[], help="how names of corpora begin that it does not see")
    parser.add_argument("--start", type=Path, help="an adapter of the first round: learn in the second one from there")
    given = parser.parse_args()
    entry = params.read("params.yaml").model_entry(given.model)
    unused = {"kind", "prices", "recorded"}
    options = TransformersOptions.read("transformers", {k: v for k, v in entry.items() if k not in unused})
    corpora = {name: load(name) for name in sorted({*TRAINING_SPLITS, *TEST_SPLITS})}
    rows = [row for row in training_rows(corpora) if not row.corpus.startswith(tuple(given.without))]
    first, second = rounds(packs(rows, seed=0))
    train(options, second if given.start else first, given.folder, given.start)


if __name__ == "__main__":
    main()
