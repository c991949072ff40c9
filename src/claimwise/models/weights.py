"""The files of a checkpoint and its adapter (``kind: transformers``): where they are, whether they are the right ones, and
what names their replies. All but a conversion is known without torch, which takes seconds."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pooch
from filelock import FileLock
from huggingface_hub import hf_hub_download
from safetensors import SafetensorError

from claimwise import hub, paths, progress
from claimwise.errors import first_line
from claimwise.models.cache import call_key
from claimwise.models.options import ModelError, TransformersOptions

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_log = logging.getLogger(__name__)
#: Names a folder in which GGUF files are looked for, at any depth, before the hub is asked.
WEIGHTS = "CLAIMWISE_WEIGHTS"
#: Beside an adapter's weights: the ids (``schema.document_id``) of the documents that it learned from, a line each.
DOCUMENTS = "documents.txt"
_ADAPTERS = Path(__file__).parent / "adapters"  # those that ship, a folder each

# What changes a reply beside the weights; the arithmetic's device and batches only round differently.
_REPLY_OPTIONS = {"dtype", "template", "system", "template_options"}
#: Configuration, weights, tokenizer and chat template; a README changes no reply.
_WEIGHTS = (".json", ".safetensors", ".bin", ".model", ".txt", ".jinja")
_SAMPLES = 256
_SAMPLE = 1 << 20


# -- what names a reply --------------------------------------------------------------------------------


def fingerprint(options: TransformersOptions) -> str:
    """Names what a reply depends on, but for rounding, without loading weights: what is remembered needs none.

    Raises:
        ModelError: the file is not there, or the hub does not say which commit a branch is at.
    """
    weights = _weights(options)
    if options.adapter:
        weights += f" with {folder_hash(adapter_folder(options.adapter))}"
    if options.contradiction:
        weights += f" and {hashlib.sha256(contradiction_file(options.contradiction).read_bytes()).hexdigest()}"
    return call_key(weights=weights, **options.model_dump(include=_REPLY_OPTIONS))


def _weights(options: TransformersOptions) -> str:
    """A hash of the file or the folder, or the hub's commit."""
    if options.file and options.sha256:
        return options.sha256
    where, commit = place(options), options.revision
    if options.file:
        return where.name
    if isinstance(where, Path):
        return folder_hash(where)
    if not re.fullmatch("[0-9a-f]{40}", commit or ""):
        with explained(options):
            commit = getattr(config_of(where, commit), "_commit_hash", None) or commit
    return f"{options.model} at {commit}"


def folder_hash(folder: Path) -> str:
    """Hash of the names, sizes and contents of a checkpoint's files.

    A fingerprint must not read 140 GB: of a file of more than 256 MiB it reads 256 evenly spaced MiB. Weights that were
    trained further differ everywhere, and of a tensor that is as large as the spacing a part is read wherever it stands.
    """
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.suffix in _WEIGHTS):
        size = file.stat().st_size
        digest.update(f"{file.name}\0{size}\0".encode())
        with file.open("rb") as stream:
            for start in range(0, size, max(_SAMPLE, size // _SAMPLES)):
                stream.seek(start)
                digest.update(stream.read(_SAMPLE))
    return digest.hexdigest()


# -- a checkpoint --------------------------------------------------------------------------------------


def place(options: TransformersOptions) -> Path | str:
    """Where transformers finds the checkpoint: a folder, or a hub id; a GGUF file is converted first.

    Raises:
        ModelError: the file is not there or is another one, or there is no such folder.
    """
    if options.file:
        return converted(options)
    folder = paths.located(options.model)
    if folder.is_dir():
        return folder
    # `owner/name` is a hub id, unless there is a folder `owner`; the hub is asked many times before it gives up.
    hub_id = re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", options.model)
    if not hub_id or (folder.parent != paths.root() and folder.parent.is_dir()):
        raise ModelError(f"kind transformers: there is no folder {folder}, and {options.model!r} is no hub id")
    return options.model


def config_of(where: Path | str, revision: str | None) -> PretrainedConfig:
    """The configuration of a checkpoint in a folder, which has no revision, or of a hub id.

    Raises:
        OSError, ValueError: the hub cannot be asked, or what is there is no configuration.
    """
    from transformers import AutoConfig

    if not isinstance(where, Path):
        hub.ask(where, "config.json", revision)
    return AutoConfig.from_pretrained(where, revision=revision)


@contextmanager
def quiet() -> Iterator[None]:
    """Within, transformers shows bars on a terminal only: a log would keep a line of every step."""
    from transformers.utils import logging

    hide = logging.is_progress_bar_enabled() and not (sys.__stderr__ and progress.is_terminal(sys.__stderr__))
    if hide:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if hide:
            logging.enable_progress_bar()


@contextmanager
def explained(options: TransformersOptions) -> Iterator[None]:
    """What goes wrong while a checkpoint is loaded, as a ``ModelError`` that says what to do."""
    try:
        yield
    except ImportError as error:
        raise ModelError(f"kind transformers: {error}; `pip install accelerate` for device: spread") from error
    except SafetensorError as error:
        raise ModelError(
            f"kind transformers: the weights of {options.model!r} are cut off or damaged ({first_line(error)}); copy or "
            "download them again"
        ) from error
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        at = f" at revision {options.revision!r}" if options.revision else ""
        raise ModelError(
            f"kind transformers: cannot load {options.model!r}{at}: {' '.join(str(error).split())}; expected a folder "
            "with config.json, weights and a tokenizer, or a hub id that can be downloaded from here"
        ) from error


# -- a checkpoint in one GGUF file ---------------------------------------------------------------------


def converted(options: TransformersOptions) -> Path:
    """A folder with the weights of ``file`` (float16, the nearest to what its blocks say at half of float32's size) and tokenizer.

    Reading a quantised file takes half a minute to two, the folder seconds. It lies in the user's cache under the file's
    checksum, so a known checksum needs the file itself no more.

    Raises:
        ModelError: the file is not there, or is another one.
    """
    kept = Path(pooch.os_cache("claimwise"), "checkpoints")
    sha256 = options.sha256
    if sha256 and (kept / sha256).is_dir():
        return kept / sha256
    source = gguf_file(options.model, options.revision, options.file)
    found = pooch.file_hash(source)
    if sha256 and found != sha256:
        raise ModelError(
            f"kind transformers: {source} is not the file that params.yaml names: its SHA-256 is {found}, expected "
            f"{sha256}. Fetch it again, or correct `sha256`"
        )
    kept.mkdir(parents=True, exist_ok=True)
    with FileLock(kept / f"{found}.lock"):  # stages that run side by side convert it once
        if not (kept / found).is_dir():
            _log.warning("converting %s once; this takes a minute or two", source.name)
            _convert(source, kept / found)
    return kept / found


def gguf_file(model: str, revision: str | None, file: str) -> Path:
    """The file of a folder or hub id, or below the folder that ``WEIGHTS`` names; downloaded if need be.

    Raises:
        ModelError: it is nowhere.
    """
    folder = paths.located(model)
    if (beside := folder / file).is_file():
        return beside
    weights = os.environ.get(WEIGHTS)
    if weights and (copies := sorted(Path(weights).rglob(file))):
        return copies[0]
    try:
        if folder.is_dir():
            raise FileNotFoundError(f"the folder {folder} has no such file")
        hub.ask(model, file, revision)
        return Path(hf_hub_download(model, file, revision=revision))
    except (OSError, ValueError) as error:  # the hub's errors are of these
        where = f"not in {WEIGHTS}={weights}" if weights else f"{WEIGHTS} is not set"
        raise ModelError(
            f"kind transformers: {file} of {model!r} cannot be had: {where}; {first_line(error)}. Run again with network "
            f"access, or put the file into a folder and set {WEIGHTS} to that folder"
        ) from error


def _convert(source: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"gguf_file": source.name}
    try:
        with quiet():
            model = AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.float16, **where)
            tokenizer = AutoTokenizer.from_pretrained(source.parent, **where)
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ModelError(f"kind transformers: {source} cannot be read as a GGUF file: {first_line(error)}") from error
    # The weights are plain numbers from here on; saving refuses what believes itself quantised.
    model.hf_quantizer, model.is_quantized = None, False
    with suppress(AttributeError):
        del model.config.quantization_config
    with paths.replaced(target) as folder, quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


# -- adapters: weights that are added to a checkpoint's ------------------------------------------------


def adapter_folder(name: str) -> Path:
    """The folder of an adapter that ships, or of the user's.

    Raises:
        ModelError: the weights, as peft writes them, are not there; or of what ships a file was changed.
    """
    ships = (_ADAPTERS / name).is_dir()
    folder = _ADAPTERS / name if ships else paths.located(name)
    for file in ("adapter_config.json", "adapter_model.safetensors"):  # peft would read pickled weights, too
        if not (folder / file).is_file():
            shipped = sorted(file.parent.name for file in _ADAPTERS.glob("*/adapter_config.json"))
            raise ModelError(
                f"kind transformers: adapter {name!r}: there is no {folder / file}; expected a folder that peft's "
                f"save_pretrained wrote, or one of {', '.join(shipped)}"
            )
    if ships:
        _check(folder)
    return folder


def _check(place: Path) -> None:
    """Hold what ships, a file or a folder, to its checksums: a flipped byte would move scores, and nobody would see it."""
    for line in (_ADAPTERS / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        known, name = line.split()
        file = _ADAPTERS / name
        if place in (file, file.parent) and hashlib.sha256(file.read_bytes()).hexdigest() != known:
            raise ModelError(
                f"{file}: the file was changed or is only a part: its checksum is not the one in SHA256SUMS; install "
                "claimwise again (in a checkout: git checkout)"
            )


def contradiction_file(name: str) -> Path:
    """What ``transformers_checkpoint.Contradiction`` reads: one that ships, or the user's.

    Raises:
        ModelError: there is none of this name; or of what ships it was changed.
    """
    if (ours := _ADAPTERS / name).is_file():
        _check(ours)
        return ours
    if not (file := paths.located(name)).is_file():
        raise ModelError(f"kind transformers: contradiction {name!r}: there is no {file}; expected a safetensors file")
    return file


def learned_documents(name: str | None) -> frozenset[str]:
    """Ids of the documents that an adapter learned from: no threshold is tuned on them. None where it does not say.

    >>> len(learned_documents("claimwise-0.5b")) > 1000, learned_documents(None)
    (True, frozenset())
    """
    file = adapter_folder(name) / DOCUMENTS if name else None
    return frozenset(file.read_text(encoding="utf-8").split() if file and file.is_file() else ())
