"""Fine-tune a chat model on p(Yes) of one verification prompt (``training.lora``).

    python -m training.packing build/packs.jsonl
    python -m training.adapter build/packs.jsonl src/claimwise/models/adapters/claimwise-1.5b

A document and all statements about it are one packed row (``models.prefix``), so that the document is read once. If a summary
is supported, all of its statements are taught as supported; otherwise its least probable statement is taught as unsupported.
A killed run continues from where it last saved.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from claimwise import prompts
from claimwise.models.entailment import length_batches
from claimwise.models.options import TransformersOptions
from claimwise.models.prefix import SharedPrefix, tree
from claimwise.models.transformers_checkpoint import Checkpoint
from claimwise.schema import document_id
from training import lora
from training.packing import Labelled, Pack, read, without

PROMPT = "acueval-verify-zeroshot"
RANK, RATE = 6, 3e-4
#: The share of the learned weights that is added to the checkpoint's. On corpora left out, half of them is a little better
#: than all (``data/embedded/held_out_adapter.csv``).
STRENGTH = 0.5
_PACKS_PER_STEP = 32
_BYTES_PER_TOKEN = 4_000_000  # of activations that are kept for the gradients, with 1.5 billion weights
_DOUBT = 0.05  # the probability that a label is wrong: people err, and an overconfident model forgets more


def loss(logits: torch.Tensor, texts: Sequence[Labelled]) -> torch.Tensor:
    """Return the mean over texts of the cross-entropy of their labels, smoothed by ``_DOUBT``.

    Args:
        logits: log odds of Yes of all statements of all texts, in order, (n,).
        texts: the texts. In a supported one all statements are supported, in another the least supported one is not.

    >>> float(loss(torch.tensor([0.0, 0.0]), [Labelled(("a", "b"), 1)]))
    0.6931471824645996
    """
    losses = []
    for part, text in zip(logits.split([len(text.statements) for text in texts]), texts, strict=True):
        taught = part if text.label else part.min()
        losses.append(binary_cross_entropy_with_logits(taught, torch.full_like(taught, abs(text.label - _DOUBT))))
    return torch.stack(losses).mean()


class Asked:
    """A chat model that returns the log odds of Yes over No for statements about documents, and that can be trained."""

    def __init__(self, options: TransformersOptions):
        self._checkpoint = Checkpoint(options)
        self.model = self._checkpoint.model
        self._template = prompts.load(PROMPT)
        self._sharing = SharedPrefix(self.model, [])
        yes, no = (torch.tensor(self._checkpoint.spellings(word)) for word in ("Yes", "No"))
        head = self.model.get_output_embeddings().weight
        self._answers, self._yes = head[torch.cat([yes, no]).to(head.device)].detach().float(), len(yes)

    def prompts(self, document: str, statements: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each statement's prompt."""
        rendered = (self._template.render(Document=document, ACU=statement) for statement in statements)
        return list(map(self._checkpoint.encode, rendered))

    def logits(self, groups: Sequence[Sequence[list[int]]]) -> list[torch.Tensor]:
        """Return the log odds, (n,), float32, of each group of prompts (about one document).

        The probabilities are summed over all spellings of Yes and of No.
        """
        inputs, ends = self._sharing.packed(groups)
        states = lora.last_states(self.model, inputs)
        rows = [row for row, places in enumerate(ends) for _ in places]
        answers = states[rows, [place for places in ends for place in places]].float() @ self._answers.T
        odds = answers[:, : self._yes].logsumexp(-1) - answers[:, self._yes :].logsumexp(-1)
        return list(odds.split([len(places) for places in ends]))


def train(options: TransformersOptions, material: Sequence[Pack], folder: Path) -> None:
    """Learn an adapter from packs, in order, once, and write it to a folder. A killed run in the folder is continued."""
    asked = Asked(options)
    adapted = lora.added(asked.model, RANK)
    steps = [material[at : at + _PACKS_PER_STEP] for at in range(0, len(material), _PACKS_PER_STEP)]
    lora.fit(adapted, steps, partial(_learn, asked), RATE, folder)
    lora.save(adapted, options.model, (document_id(pack.document) for pack in material), folder, STRENGTH)


def _learn(asked: Asked, step: Sequence[Pack]) -> float:
    """Add the gradients of a step's loss, the mean over its packs, and return the loss."""
    groups = [asked.prompts(pack.document, [s for text in pack.texts for s in text.statements]) for pack in step]
    total = 0.0
    for batch in read_together(groups, asked.model.device):
        results = asked.logits([groups[i] for i in batch])
        value = sum(loss(logits, step[i].texts) for i, logits in zip(batch, results, strict=True)) / len(step)
        value.backward()
        total += value.item()
    return total


def read_together(groups: Sequence[Sequence[list[int]]], device: torch.device) -> Iterator[list[int]]:
    """Yield batches of groups with similar lengths. The prompts of a group are about one document.

    On a CPU a batch is one group, because larger ones gain nothing.
    """
    lengths = [tree(group).size(group) for group in groups]
    room = torch.cuda.mem_get_info(device)[1] // _BYTES_PER_TOKEN if device.type == "cuda" else 0
    return length_batches(lengths, room)


def main() -> None:
    """Read the command line, and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packs", type=Path, help="the file to learn from, written by training.packing")
    parser.add_argument("folder", type=Path, help="where the adapter goes")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="an entry of `models` in params.yaml")
    parser.add_argument("--without", nargs="*", default=[], help="corpora to leave out, by how their names begin")
    arguments = parser.parse_args()
    packs = without(read(arguments.packs), arguments.without)
    train(lora.options_of(arguments.model), packs, arguments.folder)


if __name__ == "__main__":
    main()
