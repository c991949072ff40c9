"""The computation of a local checkpoint: batched greedy generation, and probabilities of answers from logits."""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch

from claimwise.models import continuous
from claimwise.models.entailment import length_batches
from claimwise.models.options import TransformersOptions
from claimwise.models.prefix import SharedPrefix, UnsupportedArchitecture
from claimwise.models.replies import Reply
from claimwise.models.transformers_checkpoint import Checkpoint
from claimwise.prompts import Decoding

_log = logging.getLogger(__name__)
_CPU_BATCH = 4096  # tokens in one pass; more gain nothing on a CPU and cost memory
_CPU_ROW, _GPU_ROW = 1024, 4096  # tokens; in longer rows, attention that the mask hides costs more than another pass
_CPU_REPLIES = 32_768  # tokens of all replies written at once; many rows pay, since each step reads all weights
_CPU_MEMORY = 2**30  # bytes for the keys and values of all replies written at once, without shared prefixes
_CPU_HELD = 5 * 2**29  # bytes for them with shared prefixes, of which every row has a copy
_GPU_WHOLE = 1024  # tokens; a smaller document with its claims does not fill a GPU, so several share a row
_BLANK_MASS = 0.1  # the probability of a blank from which another pass reads the answer after it
#: Prompts for the self-check of sharing: two documents under the same instructions, each with two endings whose answers
#: differ.
_BEGINNINGS = [
    f"Read the passage, then say whether the statement follows from it. Answer Yes or No, and nothing else.\n\n{passage}\n\n"
    for passage in (
        "Ann Lee, who had opposed the new tram line of Marrow for years, left the room before the council's vote on Tuesday.",
        "Engineers found no damage after the flood, so lorries crossed the old bridge over the Tarn again on Friday morning.",
    )
]
_ENDS = ["Ann Lee voted for the tram line.\nAnswer:", "The bridge was"]
_GPU_BATCH, _GPU_REPLIES = 16_384, 400_000  # tokens; more gain nothing


class _NextToken(NamedTuple):
    """The probabilities of what may follow a prompt.

    Attributes:
        choices: the probability of each choice.
        blank: the id of the most probable blank; -1 if the vocabulary has none.
        blank_mass: its probability.
        contradicted: the probability that ``Contradiction`` gives.
    """

    choices: list[float]
    blank: int
    blank_mass: float
    contradicted: float | None


class Engine:
    """The replies of a checkpoint, which is loaded at once; see ``TransformersLanguageModel``."""

    def __init__(self, options: TransformersOptions, name: str):
        self._options, self._name = options, name
        self.checkpoint = Checkpoint(options)
        self._model = self.checkpoint.model
        self._missing: set[str] = set()  # choices that no single token spells
        limit = options.batch_tokens
        self._batch_tokens, self._reply_tokens = (limit, limit) if limit else _limits(self._model)

    @cached_property
    def _shared(self) -> SharedPrefix | None:
        if self.checkpoint.encoder_decoder or not self._options.share_prefix:
            return None
        cpu = self._model.device.type == "cpu"
        row = min(self._batch_tokens, _CPU_ROW if cpu else _GPU_ROW)
        chunk = row if cpu else self._batch_tokens
        try:
            probe = [self.checkpoint.encode(beginning + end) for beginning in _BEGINNINGS for end in _ENDS]
            shared = SharedPrefix(self._model, probe, row, chunk, 0 if cpu else _GPU_WHOLE)
        except UnsupportedArchitecture as error:
            _log.warning("%s; claims are verified in padded batches instead, each reading its document again", error)
            return None
        if self.checkpoint.contradiction:
            shared.append_columns = self.checkpoint.contradiction.append_columns
        return shared

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply, int, int]]:
        """Yield (index of the prompt, its reply, tokens of the prompt, tokens of the reply); see ``LanguageModel``."""
        ids = [self.checkpoint.encode(prompt) for prompt in prompts]
        spellings = [self.checkpoint.spellings(choice) for choice in how.choices]
        missing = [choice for choice, tokens in zip(how.choices, spellings, strict=True) if not tokens]
        if set(missing) - self._missing:  # warn once
            _log.warning("%s has no token for %s: its answers are generated and read", self._name, ", ".join(missing))
            self._missing.update(missing)
        return self._write(ids, how) if missing or not spellings else self._choose(ids, spellings)

    # -- answers -----------------------------------------------------------------------------------

    def _choose(self, ids: list[list[int]], spellings: list[list[int]]) -> Iterator[tuple[int, Reply, int, int]]:
        """Reply with the probabilities of the choices; ``spellings`` has the tokens that spell each."""
        after_blank: dict[int, _NextToken] = {}  # prompts whose answer may follow a blank
        for index, first in self._next(ids, spellings):
            if first.blank_mass > _BLANK_MASS:
                after_blank[index] = first
            else:
                reply = Reply(probabilities=tuple(first.choices), contradicted=first.contradicted)
                yield index, reply, len(ids[index]), 0
        prompts = [[*ids[index], first.blank] for index, first in after_blank.items()]
        indices = list(after_blank)
        for position, second in self._next(prompts, spellings):
            index = indices[position]
            first = after_blank[index]
            summed = tuple(p + first.blank_mass * q for p, q in zip(first.choices, second.choices, strict=True))
            yield index, Reply(probabilities=summed, contradicted=second.contradicted), len(ids[index]), 0

    def _next(self, ids: list[list[int]], spellings: list[list[int]]) -> Iterator[tuple[int, _NextToken]]:
        """Yield (index, the probabilities of what may follow) of each prompt."""
        # A SentencePiece tokenizer may write a blank and then the answer as a word without a blank. A sequence-to-sequence
        # model has no blank there: its answer begins its decoder's text.
        blanks = [] if self.checkpoint.encoder_decoder else self.checkpoint.spellings("")
        run, shrink = (self._shared.logits, self._shared.shrink) if self._shared else (self._padded, self._halve)
        for index, logits in self._in_memory(run, ids, shrink):
            contradicted = None
            if self.checkpoint.contradiction:
                logits, contradicted = logits[:-1], float(logits[-1].float().sigmoid())
            probabilities = logits.float().softmax(-1)
            summed = torch.stack([probabilities[tokens].sum() for tokens in spellings])
            mass, place = probabilities[blanks].max(0) if blanks else (0.0, 0)
            yield index, _NextToken(summed.tolist(), blanks[place] if blanks else -1, float(mass), contradicted)

    @torch.inference_mode()
    def _padded(self, ids: list[list[int]]) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield (index, logits after the prompt), computed in batches of similar length that are padded on the right."""
        for batch in self._batches(ids):
            tokens, mask = self._pad([ids[i] for i in batch], "right")
            if self.checkpoint.encoder_decoder:
                first = torch.full((len(batch), 1), self._model.config.decoder_start_token_id, device=tokens.device)
                logits = self._model(tokens, attention_mask=mask, decoder_input_ids=first).logits[:, 0]
            else:
                last = mask.sum(1) - 1
                kept, place = last.unique(return_inverse=True)
                logits = self._model(tokens, attention_mask=mask, use_cache=False, logits_to_keep=kept).logits
                rows = torch.arange(len(batch), device=logits.device)
                logits = logits[rows, place.to(logits.device)]
                if self.checkpoint.contradiction:
                    logits = self.checkpoint.contradiction.append_columns(logits, rows, last)
            yield from zip(batch, logits, strict=True)

    # -- texts -------------------------------------------------------------------------------------

    def _write(self, ids: list[list[int]], how: Decoding) -> Iterator[tuple[int, Reply, int, int]]:
        """Reply with greedy continuations, as many at once as memory allows."""
        run = self._continuous if self._shared else self._generated
        for index, row in self._in_memory(lambda prompts: run(prompts, how), ids, self._halve):
            length = next((i for i, token in enumerate(row) if token in self._ends), len(row))
            cut = length >= how.max_tokens or (length == len(row) and continuous.goes_in_circles(row))
            reply = Reply(self.checkpoint.decode(row[:length]), cut=cut).before(how.stop)
            yield index, reply, len(ids[index]), length

    def _continuous(self, ids: list[list[int]], how: Decoding) -> Iterator[tuple[int, list[int]]]:
        # A stop text is within so many last tokens, since a token is at least a byte.
        tail_tokens = 1 + max((len(stop.encode()) for stop in how.stop), default=0)

        def ended(reply: list[int]) -> bool:
            tail = self.checkpoint.decode(reply[-tail_tokens:]) if how.stop else ""
            stopped = reply[-1] in self._ends or any(stop in tail for stop in how.stop)
            return stopped or continuous.goes_in_circles(reply)

        def room(length: int, shared_tokens: int) -> int:
            # On a CPU most of a step's time is reading the weights, so the shared prefix does not count. But each row has a
            # copy of it, which takes memory.
            if self._model.device.type != "cpu":
                return self._reply_tokens // length
            return min(
                self._reply_tokens // (length - shared_tokens), _CPU_HELD // (_token_bytes(self._model) * length)
            )

        return continuous.write(self._shared, ids, how.max_tokens, ended, room)

    @torch.inference_mode()
    def _generated(self, ids: list[list[int]], how: Decoding) -> Iterator[tuple[int, list[int]]]:
        """Yield (index, the tokens of the reply), written in padded batches of similar length."""
        stop = {"stop_strings": list(how.stop), "tokenizer": self.checkpoint.tokenizer} if how.stop else {}
        for batch in self._batches(ids, how.max_tokens):
            tokens, mask = self._pad([ids[i] for i in batch], "left")
            output = self._model.generate(
                tokens,
                attention_mask=mask,
                max_new_tokens=how.max_tokens,
                pad_token_id=self.checkpoint.tokenizer.pad_token_id,
                **continuous.GREEDY,
                **stop,
            )
            start = 1 if self.checkpoint.encoder_decoder else tokens.shape[1]
            yield from zip(batch, output[:, start:].tolist(), strict=True)

    @cached_property
    def _ends(self) -> set[int]:
        """The tokens that end a reply."""
        ends = self._model.generation_config.eos_token_id
        return set(ends if isinstance(ends, list) else [ends]) | {self.checkpoint.tokenizer.eos_token_id}

    # -- batches -----------------------------------------------------------------------------------

    def _batches(self, ids: list[list[int]], more: int = 0) -> Iterator[list[int]]:
        """Divide prompts into padded batches with ``more`` tokens a row.

        The longest come first: if memory does not suffice, this shows early.
        """
        return length_batches([len(row) + more for row in ids], self._batch_tokens, longest_first=True)

    def _pad(self, rows: list[list[int]], side: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rows, padded to equal length, and their attention mask."""
        padded = self.checkpoint.tokenizer.pad(
            {"input_ids": rows}, padding_side=side, return_tensors="pt", return_attention_mask=True
        ).to(self._model.device)
        return padded.input_ids, padded.attention_mask

    def _in_memory(
        self,
        run: Callable[[list[list[int]]], Iterator[tuple[int, Any]]],
        ids: list[list[int]],
        shrink: Callable[[], bool],
    ) -> Iterator[tuple[int, Any]]:
        """Yield (index, result of ``run``) of each prompt; if memory runs out, go on in smaller pieces.

        ``shrink`` halves the pieces, and returns whether they can still be run.
        """
        unfinished = dict.fromkeys(range(len(ids)))
        while unfinished:
            indices = list(unfinished)
            try:
                for position, result in run([ids[i] for i in indices]):
                    del unfinished[indices[position]]
                    yield indices[position], result
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
                if not shrink():
                    raise
                _log.warning("%s: out of memory; going on in pieces of half the size", self._name)

    def _halve(self) -> bool:
        self._batch_tokens, self._reply_tokens = self._batch_tokens // 2, self._reply_tokens // 2
        return self._batch_tokens > 0


def _limits(model: torch.nn.Module) -> tuple[int, int]:
    """Return the most tokens to read in one pass, and the most tokens of all replies written at once with their prompts.

    On a GPU, each takes half of the free memory: reading for keys, values and activations; writing for keys and values
    only, since just the last token of each row passes through the model in a step.
    """
    cache_bytes = _token_bytes(model)
    if model.device.type != "cuda":
        return _CPU_BATCH, min(max(_CPU_MEMORY // cache_bytes, _CPU_BATCH), _CPU_REPLIES)
    config = model.config.get_text_config()
    activations = 8 * config.hidden_size + 3 * (getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    half = torch.cuda.mem_get_info(model.device)[0] // 2
    read = half // (cache_bytes + model.dtype.itemsize * activations)
    return max(512, min(read, _GPU_BATCH)), max(512, min(half // cache_bytes, _GPU_REPLIES))


def _token_bytes(model: torch.nn.Module) -> int:
    """Return the bytes of a token's keys and values in all layers."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return model.dtype.itemsize * 2 * config.num_hidden_layers * heads * head_size
