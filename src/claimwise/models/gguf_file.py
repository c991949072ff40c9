"""A checkpoint in one GGUF file: found, held to its checksum, and converted once to what transformers loads in seconds."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

import pooch
import torch
from filelock import FileLock
from huggingface_hub import hf_hub_download
from transformers import AutoModelForCausalLM, AutoTokenizer

from claimwise import hub, paths
from claimwise.errors import first_line
from claimwise.models.options import ModelError, TransformersOptions

_log = logging.getLogger(__name__)
#: Names a folder in which GGUF files are looked for, at any depth, before the hub is asked.
WEIGHTS = "CLAIMWISE_WEIGHTS"


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
    source = _located(options.model, options.revision, options.file)
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


def _located(model: str, revision: str | None, file: str) -> Path:
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
    place = {"gguf_file": source.name}
    try:
        model = AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.float16, **place)
        tokenizer = AutoTokenizer.from_pretrained(source.parent, **place)
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ModelError(f"kind transformers: {source} cannot be read as a GGUF file: {first_line(error)}") from error
    # The weights are plain numbers from here on; saving refuses what believes itself quantised.
    model.hf_quantizer, model.is_quantized = None, False
    with suppress(AttributeError):
        del model.config.quantization_config
    with paths.replaced(target) as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
