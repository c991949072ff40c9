"""A language model whose replies to some prompts are kept in a file: those it answers on a machine without its weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from claimwise import paths
from claimwise.models.cache import call_key
from claimwise.models.options import LanguageModelOptions, ModelError
from claimwise.models.replies import LanguageModel, Reply, Tally

_DIGITS = 6


class Replayed:
    """See ``replies.LanguageModel``; the model itself is loaded when something is asked that the file does not hold.

    The file is one JSON object a line: ``key``, a hash of the prompt and how it was asked, so that no prompt's text is in
    it, and the reply's fields.

    Args:
        kind: of model, for its fingerprint, which is made of the options and so is known without loading it.
        options: the model's; ``recorded`` is the file, which ``record`` makes and adds to. Without a ``context``, the model
            is loaded to ask for it.
        load: gives the model.

    Raises:
        ModelError: the file is not there or holds no such lines, or (when asked) the model cannot be loaded.
    """

    def __init__(self, kind: str, options: LanguageModelOptions, load: Callable[[], LanguageModel]):
        self.name = Path(getattr(options, "file", None) or options.model).name.removesuffix(".gguf")
        self.fingerprint = call_key(kind=kind, **options.model_dump(mode="json", exclude={"recorded", "record"}))
        self.tally = Tally()
        self._load, self._context, self._record = load, options.context, options.record
        self._file = paths.root() / options.recorded
        self._replies = _read(self._file) if self._file.is_file() or not self._record else {}

    @cached_property
    def _model(self) -> LanguageModel:
        model = self._load()
        self.tally = model.tally
        return model

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``."""
        how = {"max_tokens": max_tokens, "stop": list(stop), "schema": schema}
        return self._look_up(prompts, how, lambda asked: self._model.generate(asked, **how))

    def choice_probabilities(
        self, prompts: Sequence[str], choices: Sequence[str], *, max_tokens: int
    ) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``."""
        return self._look_up(
            prompts,
            {"choices": list(choices)},
            lambda asked: self._model.choice_probabilities(asked, choices, max_tokens=max_tokens),
        )

    def _look_up(self, prompts: Sequence[str], how: dict[str, Any], ask: Callable) -> Iterator[tuple[int, Reply]]:
        keys = [call_key(prompt=prompt, **how)[:32] for prompt in prompts]
        left = []
        for index, key in enumerate(keys):
            if key in self._replies:
                yield index, self._replies[key]
            else:
                left.append(index)
        if not left:
            return
        try:
            stream = ask([prompts[i] for i in left])
        except ModelError as error:
            raise ModelError(
                f"{len(left)} of {len(keys)} prompts are not among the replies in {self._file} (a changed prompt, or another "
                f"corpus), and the model that would answer them cannot be loaded: {error}"
            ) from error
        for place, reply in stream:
            yield left[place], self._kept(keys[left[place]], reply) if self._record else reply

    def _kept(self, key: str, reply: Reply) -> Reply:
        """The reply as the file has it, written there."""
        if reply.probabilities is not None:
            reply = replace(reply, probabilities=tuple(round(p, _DIGITS) for p in reply.probabilities))
        if reply.answered and key not in self._replies:
            self._replies[key] = reply
            values = {field: value for field, value in asdict(reply).items() if value not in (None, False)}
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"key": key, **values}) + "\n")
        return reply

    def count(self, text: str) -> int:
        """See ``LanguageModel``; with a known context from above, as no token is less than a byte."""
        return len(text.encode("utf-8", "surrogatepass")) if self._context else self._model.count(text)

    def longest_reply(self, max_tokens: int, choices: Sequence[str] = ()) -> int:
        """See ``LanguageModel``."""
        return 1 if choices else max_tokens

    def room(self, max_tokens: int) -> int | None:
        """See ``LanguageModel``."""
        return self._context - max_tokens if self._context else self._model.room(max_tokens)


def _read(file: Path) -> dict[str, Reply]:
    replies = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ModelError(
            f"recorded: {file} cannot be read ({error.strerror}); it holds a model's earlier replies"
        ) from error
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            key, probabilities = values.pop("key"), values.pop("probabilities", None)
            replies[key] = Reply(**values, probabilities=None if probabilities is None else tuple(probabilities))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{file}, line {number}: found {line[:60]!r}, expected a JSON object with a key and a reply; take the file "
                "from the repository again"
            ) from error
    return replies
