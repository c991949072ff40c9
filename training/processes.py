"""The same work on many parts, by a process a processor, always in the same order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch
from threadpoolctl import threadpool_limits


def spread(function: Callable, calls: Sequence[tuple]) -> Iterator:
    """The results of several calls in order, made by a process a processor with one thread each: threads that share
    a sum would make its last digits depend on their number.

    Processes inherit the arguments (fork): a copy of what was read for each of them would not fit into memory.
    """
    _inherited[:] = [(function, call) for call in calls]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork"), initializer=_one_thread) as pool:
        yield from pool.map(_call, range(len(calls)))


_inherited: list[tuple[Callable, tuple]] = []


def _call(number: int):
    function, arguments = _inherited[number]
    return function(*arguments)


def _one_thread() -> None:
    threadpool_limits(1)
    torch.set_num_threads(1)
