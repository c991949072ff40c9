"""The record of a run: which model was asked how much, what that took, and what it may cost before it is asked.

Every stage that asks a model runs in a ``Run``. What is equal in every repetition goes beside the stage's tables
(``beside``); times and what came from the cache go to the folder ``runs`` beside the response cache.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any

import typer

from claimwise.models import describe
from claimwise.models.cache import unread
from claimwise.models.rehearsal import CLAIMS, Estimate
from claimwise.models.usage import VARIABLE, Prices, Usage, read

#: What a result may depend on besides this project's own code.
_LIBRARIES = ("claimwise", "numpy", "scikit-learn", "tokenizers", "torch", "transformers")


def versions() -> dict[str, str]:
    """Of the libraries that results depend on, without what names a build (``2.13.0``, not ``2.13.0+cpu``)."""
    return {name: metadata.version(name).split("+")[0] for name in _LIBRARIES}


class Run:
    """A ``with`` block in which all that is asked of models is counted, also in processes started from it.

    Args:
        stage: its name.
        cache: the response cache; the record goes to the folder ``runs`` beside it.
        models: the entries of ``models`` in params.yaml, for the prices.
    """

    def __init__(self, stage: str, cache: str | Path, models: Mapping[str, Mapping[str, Any]]):
        self.stage, self.usage = stage, {}
        self._models = models
        folder = Path(cache).resolve().parent / "runs"
        # Two runs of one process may start within a second: nanoseconds keep their records apart.
        self._file = (
            folder / f"{stage}-{time.strftime('%Y%m%dT%H%M%S')}-{time.time_ns() % 10**9:09d}-{os.getpid()}.json"
        )
        self._notes = self._file.with_suffix(".notes")

    def __enter__(self) -> Run:
        self._notes.parent.mkdir(parents=True, exist_ok=True)
        self._start, self._before = time.time(), os.environ.get(VARIABLE)
        os.environ[VARIABLE] = str(self._notes)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = self._before
        self.usage = read(self._notes)
        seconds = time.time() - self._start
        if self.usage:
            # Renamed when it is complete: other stages read the records (``pace``) whenever they like.
            self._notes.write_text(json.dumps(self._record(seconds, kind is None), indent=2) + "\n", encoding="utf-8")
            self._notes.replace(self._file)
            typer.echo(self._line(seconds), err=True)
        self._notes.unlink(missing_ok=True)

    def beside(self, path: Path, entry: Mapping[str, Any]) -> None:
        """Write what a repetition of the run would write again: model, versions, what was asked and not read."""
        counts = [
            {"model": model, "role": role, "asked": usage.asked, "unparsed": usage.unparsed}
            for (model, role), usage in self.usage.items()
        ]
        record = {"stage": self.stage, "model": describe(entry), "versions": versions(), "asked": counts}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")

    def _record(self, seconds: float, finished: bool) -> dict[str, Any]:
        rows = [{"model": model, "role": role} | asdict(usage) for (model, role), usage in self.usage.items()]
        return {
            "stage": self.stage,
            "finished": finished,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._start)),
            "seconds": round(seconds, 1),
            "cost": self._cost(),
            "versions": versions(),
            "usage": rows,
        }

    def _cost(self) -> float | None:
        """In the prices' currency; None where the models that were asked have none."""
        known = [
            prices.cost(usage.prompt_tokens, usage.reply_tokens)
            for (model, _), usage in self.usage.items()
            if (prices := prices_of(self._models, model))
        ]
        return sum(known) if known else None

    def _line(self, seconds: float) -> str:
        total = sum(self.usage.values(), Usage())
        parts = [f"{total.asked} answers ({total.remembered} from the cache, {total.calls} calls)"]
        if total.tokens:
            parts.append(f"{total.prompt_tokens} + {total.reply_tokens} tokens")
        if (cost := self._cost()) is not None:
            parts.append(f"cost {cost:.2f}")
        parts += [f"{total.unparsed} unparsed", f"{seconds:.0f} s"]
        return f"{self.stage}: {', '.join(parts)}{self._advice(total.unread)}"

    def _advice(self, count: int) -> str:
        """How to ask again what the cache would otherwise answer as unreadably for ever."""
        models = sorted({model for (model, _), usage in self.usage.items() if usage.unread})
        commands = " and ".join(f"`claimwise cache prune --model {shlex.quote(unread(model))}`" for model in models)
        return f"; replies that could not be read are kept ({count}); to ask them again: {commands}" if count else ""


def prices_of(models: Mapping[str, Mapping[str, Any]], model: str) -> Prices | None:
    """The prices that ``models`` of params.yaml gives to the model of this name, if any.

    >>> prices_of({"big": {"model": "org/m", "prices": {"prompt": 1, "reply": 2}}}, "m")
    Prices(prompt=1.0, reply=2.0)
    """
    for key, entry in models.items():
        name = str(entry.get("model", key))
        if (prices := Prices.of(entry)) and model in (name, name.rstrip("/").rsplit("/", 1)[-1]):
            return prices
    return None


def pace(cache: str | Path, model: str) -> float | None:
    """Calls a second in the latest recorded run that asked this model; None where there was none."""
    records = (Path(cache).resolve().parent / "runs").glob("*.json")
    for file in sorted(records, key=lambda path: path.stat().st_mtime, reverse=True):
        rows = [row for row in json.loads(file.read_text(encoding="utf-8"))["usage"] if row["model"] == model]
        calls, seconds = sum(row["calls"] for row in rows), sum(row["seconds"] for row in rows)
        if calls and seconds:
            return calls / seconds
    return None


def forecast(estimate: Estimate, prices: Prices | None, calls_a_second: float | None) -> str:
    """What a run will ask, cost and take, in a line.

    >>> forecast(Estimate(calls=9000, prompt_tokens=10**6, reply_tokens=10**5), Prices(prompt=2, reply=4), 2.5)
    '9000 calls (assuming 8 claims a summary where they are not known yet; short summaries have a third of that), 1000000 prompt tokens in full, at most 100000 reply tokens, cost about 2.40, about 60 min'
    """
    parts = [
        f"{estimate.calls} calls (assuming {CLAIMS} claims a summary where they are not known yet; short summaries "
        "have a third of that)",
        f"{estimate.prompt_tokens} prompt tokens in full",
        f"at most {estimate.reply_tokens} reply tokens",
    ]
    if prices:
        parts.append(f"cost about {prices.cost(estimate.prompt_tokens, estimate.reply_tokens):.2f}")
    if calls_a_second and estimate.calls:
        parts.append(f"about {max(1, round(estimate.calls / calls_a_second / 60))} min")
    elif estimate.calls:
        parts.append("time to be seen from the first calls")
    return ", ".join(parts)
