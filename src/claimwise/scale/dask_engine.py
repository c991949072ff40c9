"""Run parts on Dask: on workers that are started here, or on those of an existing scheduler."""

import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import dask
import typer
from dask.distributed import Client, KilledWorker, LocalCluster, as_completed
from dask.system import CPU_COUNT
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from claimwise import __version__, models
from claimwise.errors import ClaimwiseError, first_line
from claimwise.models.language import PromptedModel
from claimwise.params import Engine

_CONNECT_SECONDS = 8
_WORKERS_SECONDS = 30


def run(
    work: Callable[[Any], Any], parts: Mapping[str, Any], entry: Mapping[str, Any], engine: Engine
) -> Iterator[Any]:
    """Run ``work`` on all parts, and yield each result as soon as it is finished.

    If a worker is lost, another one gets its part. The first part that fails ends the run.

    Args:
        work: the function.
        parts: its arguments, by the part's name for error messages.
        entry: the model that ``work`` uses, an entry of ``models`` in params.yaml.
        engine: the scheduler, if there is one, and the number of workers.

    Raises:
        ClaimwiseError: the scheduler does not answer or has no workers, a worker cannot load the model, or a part failed.
    """
    with _client(engine.scheduler, engine.workers) as client:
        typer.echo(f"Dask's dashboard: {client.dashboard_link}", err=True)
        try:
            # Workers that cannot load the model fail now. One that is lost meanwhile is no reason to stop.
            with suppress(CommClosedError):
                client.run(_load, dict(entry), __version__)
            futures = [client.submit(_work, work, name, part, __version__, pure=False) for name, part in parts.items()]
            for future in as_completed(futures):
                yield future.result()
                future.release()
        except KilledWorker as error:
            raise ClaimwiseError(
                "a part of the examples was given to several workers, and all were lost, the last one at "
                f"{error.last_worker.address}: is there enough memory for the model? Finished parts are kept"
            ) from None
        except (FutureCancelledError, CommClosedError):
            raise ClaimwiseError(
                "the connection to the Dask scheduler is lost. Finished parts are kept: run again to go on"
            ) from None


@contextmanager
def _client(scheduler: str | None, workers: int | None) -> Iterator[Client]:
    workers = workers or CPU_COUNT
    # The workers of one machine share its cores.
    settings = {"distributed.nanny.pre-spawn-environ.OMP_NUM_THREADS": max(1, CPU_COUNT // workers)}
    # Errors are reported in one sentence; Dask would also log them with tracebacks.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with dask.config.set(settings):
        if scheduler is None:
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, memory_limit=0, silence_logs=logging.CRITICAL
            )
            with cluster, Client(cluster) as client:
                yield client
            return
        try:
            client = Client(scheduler, timeout=_CONNECT_SECONDS)
        except MemoryError:  # Dask reads the first bytes of another program's answer as a length
            raise ClaimwiseError(
                f"what answers at {scheduler} is no Dask scheduler (its dashboard?); give the scheduler's own port, usually "
                "8786"
            ) from None
        except (OSError, ValueError) as error:
            raise ClaimwiseError(
                f"no Dask scheduler answers at {scheduler} ({first_line(error)}); start one (`dask scheduler`), or leave "
                "out --scheduler"
            ) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
            except TimeoutError:
                raise ClaimwiseError(
                    f"the Dask scheduler at {scheduler} has no workers; start some (`dask worker {scheduler}`)"
                ) from None
            yield client


def _load(entry: Mapping[str, Any], version: str, dask_worker: Any) -> None:
    """Load the model, so that a worker that cannot load it fails before any work is done."""
    with _named_errors(f"the Dask worker {dask_worker.address} cannot do this", version):
        model = models.loaded(entry)
        if isinstance(model, PromptedModel):
            model.language_model.count("")  # this reads the checkpoint


def _work(work: Callable[[Any], Any], name: str, part: Any, version: str) -> Any:
    with _named_errors(f"{socket.gethostname()}, part {name} of the examples", version):
        return work(part)


@contextmanager
def _named_errors(where: str, version: str) -> Iterator[None]:
    """Add to errors where they happened, since they are read on another machine; check that versions are equal."""
    try:
        if version != __version__:
            raise ClaimwiseError(
                f"it has claimwise {__version__}, and the one who asks {version}; install the same there"
            )
        yield
    except (ClaimwiseError, OSError) as error:
        raise ClaimwiseError(f"{where}: {error}") from None
