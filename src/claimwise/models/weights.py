"""The files of a checkpoint and its adapter (``kind: transformers``): where they are, checksums, and the fingerprint.

A GGUF file that was converted before is found without torch, whose import takes seconds.
"""

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
#: An environment variable with a folder. GGUF files are looked for there, at any depth, before the hub is asked.
WEIGHTS = "CLAIMWISE_WEIGHTS"
#: A file beside an adapter's weights: the ids (``schema.document_id``) of the documents that it learned from, one a line.
DOCUMENTS = "documents.txt"
_ADAPTERS = Path(__file__).parent / "adapters"  # the adapters that ship, each in a folder

# The options that change a reply. Devices and batches only round differently.
_REPLY_OPTIONS = {"dtype", "template", "system", "template_options"}
#: Suffixes of configuration, weights, tokenizer and chat template. Other files, such as a README, change no reply.
_WEIGHTS = (".json", ".safetensors", ".bin", ".model", ".txt", ".jinja")
_SAMPLES = 256  # parts of a large file that ``folder_hash`` reads
_SAMPLE = 1 << 20  # bytes of a part


# -- the fingerprint -----------------------------------------------------------------------------------


def fingerprint(options: TransformersOptions) -> str:
    """Return a hash of all that a reply depends on, except for rounding, without loading the weights.

    Raises:
        ModelError: the file does not exist, or the hub does not say which commit a branch is at.
    """
    weights = _weights(options)
    if options.adapter:
        weights += f" with {folder_hash(adapter_folder(options.adapter))}"
    if options.contradiction:
        weights += f" and {hashlib.sha256(contradiction_file(options.contradiction).read_bytes()).hexdigest()}"
    return call_key(weights=weights, **options.model_dump(include=_REPLY_OPTIONS))


def _weights(options: TransformersOptions) -> str:
    """Return the file's or folder's hash, or the hub's commit."""
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
    """Return a hash of the names, sizes and contents of a checkpoint's files.

    Reading 140 GB would take too long, so only 256 evenly spaced parts of 1 MiB are read of a file of more than 256 MiB.
    This suffices: weights that were trained further differ everywhere, and every tensor as large as the spacing has a part
    that is read.
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
    """Return where transformers finds the checkpoint: a folder, or a hub id. A GGUF file is converted first.

    Raises:
        ModelError: the folder or the file does not exist, or the file has another checksum.
    """
    if options.file:
        return converted(options)
    folder = paths.located(options.model)
    if folder.is_dir():
        return folder
    # `owner/name` is a hub id unless there is a folder `owner`. Check it, because asking the hub in vain takes long.
    hub_id = re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", options.model)
    if not hub_id or (folder.parent != paths.root() and folder.parent.is_dir()):
        raise ModelError(f"kind transformers: there is no folder {folder}, and {options.model!r} is no hub id")
    return options.model


def config_of(where: Path | str, revision: str | None) -> PretrainedConfig:
    """Return the configuration of a checkpoint in a folder, or of a hub id.

    Args:
        where: the folder or the hub id.
        revision: the hub id's commit, branch or tag; None for a folder.

    Raises:
        OSError, ValueError: the hub cannot be reached, or there is no valid configuration.
    """
    from transformers import AutoConfig

    if not isinstance(where, Path):
        hub.ask(where, "config.json", revision)
    return AutoConfig.from_pretrained(where, revision=revision)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide transformers' progress bars unless standard error is a terminal: a log would get a line for every step."""
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
    """Turn errors of loading a checkpoint into a ``ModelError`` that says what to do."""
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
        files = sorted(Path(options.model).glob("*.gguf"))
        one_file = f". For the GGUF file in that folder name it: {files[0]}" if files and not options.file else ""
        raise ModelError(
            f"kind transformers: cannot load {options.model!r}{at}: {' '.join(str(error).split())}; expected a folder "
            f"with config.json, weights and a tokenizer, or a hub id that can be downloaded from here{one_file}"
        ) from error


# -- a checkpoint in one GGUF file ---------------------------------------------------------------------


def converted(options: TransformersOptions) -> Path:
    """Return a folder with the weights and the tokenizer of the GGUF file that ``options.file`` names.

    The weights are float16: at half the size of float32 this is closest to the quantised values. Reading a quantised file
    takes half a minute to two minutes, reading the folder seconds. The folder is in the user's cache, under the file's
    checksum. So if ``sha256`` is in the options and the folder exists, the file itself is not needed.

    Raises:
        ModelError: the file does not exist, or has another checksum.
    """
    folders = Path(pooch.os_cache("claimwise"), "checkpoints")
    sha256 = options.sha256
    if sha256 and (folders / sha256).is_dir():
        return folders / sha256
    source = gguf_file(options.model, options.revision, options.file)
    checksum = pooch.file_hash(source)
    if sha256 and checksum != sha256:
        raise ModelError(
            f"kind transformers: {source} is not the file that params.yaml names: its SHA-256 is {checksum}, expected "
            f"{sha256}. Fetch it again, or correct `sha256`"
        )
    folders.mkdir(parents=True, exist_ok=True)
    with FileLock(folders / f"{checksum}.lock"):  # stages that run in parallel convert it once
        if not (folders / checksum).is_dir():
            _log.warning("converting %s once; this takes a minute or two", source.name)
            _convert(source, folders / checksum)
    return folders / checksum


def gguf_file(model: str, revision: str | None, file: str) -> Path:
    """Return the path of a GGUF file.

    It is looked for in the folder ``model``, then below the folder that ``WEIGHTS`` names, then on the hub.

    Args:
        model: a folder or a hub id.
        revision: the hub id's commit, branch or tag.
        file: the file's name.

    Raises:
        ModelError: the file is in none of these places.
    """
    folder = paths.located(model)
    if (path := folder / file).is_file():
        return path
    if Path(model).is_absolute() and not folder.is_dir():
        raise ModelError(f"kind transformers: {path} is not there; correct the path, or name a hub id")
    weights = os.environ.get(WEIGHTS)
    if weights and (copies := sorted(Path(weights).rglob(file))):
        return copies[0]
    try:
        if folder.is_dir():
            raise FileNotFoundError(f"the folder {folder} has no such file")
        hub.ask(model, file, revision)
        return Path(hf_hub_download(model, file, revision=revision))
    except (OSError, ValueError) as error:  # the hub's errors are subclasses of these
        where = f"not in {WEIGHTS}={weights}" if weights else f"{WEIGHTS} is not set"
        raise ModelError(
            f"kind transformers: {file} of {model!r} is not available: {where}; {first_line(error)}. Run again with network "
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
    # The weights are plain numbers now, but transformers refuses to save a model that is marked as quantised.
    model.hf_quantizer, model.is_quantized = None, False
    with suppress(AttributeError):
        del model.config.quantization_config
    with paths.replaced(target) as folder, quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


# -- adapters ------------------------------------------------------------------------------------------


def adapter_folder(name: str) -> Path:
    """Return the folder of an adapter: one that ships by its name, or the user's.

    Raises:
        ModelError: the folder does not have the files that peft writes, or a file of an adapter that ships was changed.
    """
    ships = (_ADAPTERS / name).is_dir()
    folder = _ADAPTERS / name if ships else paths.located(name)
    for file in ("adapter_config.json", "adapter_model.safetensors"):  # no pickles, which peft would also read
        if not (folder / file).is_file():
            shipped = sorted(file.parent.name for file in _ADAPTERS.glob("*/adapter_config.json"))
            raise ModelError(
                f"kind transformers: adapter {name!r}: there is no {folder / file}; expected a folder that peft's "
                f"save_pretrained wrote, or one of {', '.join(shipped)}"
            )
    if ships:
        _check(folder)
    return folder


def _check(path: Path) -> None:
    """Check a file or folder that ships against its checksums. A changed byte would change scores without any sign."""
    for line in (_ADAPTERS / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        checksum, name = line.split()
        file = _ADAPTERS / name
        if path in (file, file.parent) and hashlib.sha256(file.read_bytes()).hexdigest() != checksum:
            raise ModelError(
                f"{file}: the file was changed or is only a part: its checksum is not the one in SHA256SUMS; install "
                "claimwise again (in a checkout: git checkout)"
            )


def contradiction_file(name: str) -> Path:
    """Return the file that ``transformers_checkpoint.Contradiction`` reads: one that ships by its name, or the user's.

    Raises:
        ModelError: the file does not exist, or a file that ships was changed.
    """
    if (ours := _ADAPTERS / name).is_file():
        _check(ours)
        return ours
    if not (file := paths.located(name)).is_file():
        raise ModelError(f"kind transformers: contradiction {name!r}: there is no {file}; expected a safetensors file")
    return file


def learned_documents(name: str | None) -> frozenset[str]:
    """Return the ids of the documents that an adapter learned from, on which no threshold may be tuned.

    The set is empty without an adapter, or if the adapter does not list its documents.

    >>> len(learned_documents("claimwise-0.5b")) > 1000, learned_documents(None)
    (True, frozenset())
    """
    file = adapter_folder(name) / DOCUMENTS if name else None
    return frozenset(file.read_text(encoding="utf-8").split() if file and file.is_file() else ())
