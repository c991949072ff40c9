"""Where a checkpoint is (``kind: transformers``), and what names its replies: known without torch, which takes seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from claimwise import hub, paths
from claimwise.errors import first_line
from claimwise.models.adapters import adapter_folder
from claimwise.models.cache import call_key, folder_hash
from claimwise.models.options import ModelError, TransformersOptions

if TYPE_CHECKING:
    from transformers import PretrainedConfig

# What changes a reply beside the weights; the arithmetic's device and batches only round differently.
_REPLY_OPTIONS = {"dtype", "template", "system", "template_options"}


def fingerprint(options: TransformersOptions) -> str:
    """Names what a reply depends on, but for rounding, without loading weights: what is remembered needs none.

    Raises:
        ModelError: the file is not there, or the hub does not say which commit a branch is at.
    """
    weights = _weights(options)
    if options.adapter:
        weights += f" with {folder_hash(adapter_folder(options.adapter))}"
    return call_key(weights=weights, **options.model_dump(include=_REPLY_OPTIONS))


def _weights(options: TransformersOptions) -> str:
    """A hash of the file or the folder, or the hub's commit."""
    if options.file and options.sha256:
        return options.sha256
    found = place(options)
    where, commit = found["pretrained_model_name_or_path"], options.revision
    if options.file:
        return where.name
    if isinstance(where, Path):
        return folder_hash(where)
    if not re.fullmatch("[0-9a-f]{40}", commit or ""):
        with explained(options):
            commit = getattr(config_of(found), "_commit_hash", None) or commit
    return f"{options.model} at {commit}"


def place(options: TransformersOptions) -> dict[str, Any]:
    """Where transformers finds the checkpoint: a folder, or a hub id and its revision; a GGUF file is converted first.

    Raises:
        ModelError: the file is not there or is another one, or there is no such folder.
    """
    if options.file:
        from claimwise.models import gguf_file

        return {"pretrained_model_name_or_path": gguf_file.converted(options)}
    folder = paths.located(options.model)
    if folder.is_dir():
        return {"pretrained_model_name_or_path": folder}
    # `owner/name` is a hub id, unless there is a folder `owner`; the hub is asked many times before it gives up.
    hub_id = re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", options.model)
    if not hub_id or (folder.parent != paths.root() and folder.parent.is_dir()):
        raise ModelError(f"kind transformers: there is no folder {folder}, and {options.model!r} is no hub id")
    return {"pretrained_model_name_or_path": options.model, "revision": options.revision}


def config_of(place: Mapping[str, Any]) -> PretrainedConfig:
    """The configuration of the checkpoint at a place.

    Raises:
        OSError, ValueError: the hub cannot be asked, or what is there is no configuration.
    """
    from transformers import AutoConfig

    where = place["pretrained_model_name_or_path"]
    if not isinstance(where, Path):
        hub.ask(where, "config.json", place["revision"])
    return AutoConfig.from_pretrained(**place)


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
        raise ModelError(
            f"kind transformers: cannot load {options.model!r}"
            f"{f' at revision {options.revision!r}' if options.revision else ''}: {' '.join(str(error).split())}; expected a folder with "
            "config.json, weights and a tokenizer, or a hub id that can be downloaded from here"
        ) from error
