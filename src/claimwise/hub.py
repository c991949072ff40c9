"""Files on Hugging Face's hub; those of a dataset are named as pandas names them: ``hf://datasets/OWNER/NAME/FILE``."""

import re
from contextlib import suppress
from pathlib import Path

import httpx2
from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError

from claimwise.errors import ClaimwiseError, first_line

#: How an address begins; of two slashes a Path keeps one.
HUB = "hf:/"
_ELSEWHERE = re.compile(r"\w{2,}:/")
_ADDRESS = re.compile(HUB + r"datasets/([^/]+/[^/@]+)(?:@([^/]+))?/(.+)")


def ask(name: str, file: str, revision: str | None = None, kind: str = "model") -> None:
    """Ask the hub, once, for a file that its cache lacks: ``huggingface_hub`` asks seven times in half a minute.

    The file is one that is needed first, of a model or dataset (its ``kind``) at a revision; None is the main branch.

    Raises:
        OSError: the hub is out of reach. What else is wrong, who downloads says.
        ValueError: it is no name of the hub's.

    >>> ask("not/a/name", "config.json")
    Traceback (most recent call last):
    ...
    huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': 'not/a/name'...
    """
    if try_to_load_from_cache(name, file, revision=revision, repo_type=kind) is not None:
        return
    try:
        with suppress(HfHubHTTPError):
            get_hf_file_metadata(hf_hub_url(name, file, revision=revision, repo_type=kind))
    except httpx2.RequestError as error:
        raise ConnectionError(
            f"the hub is out of reach ({first_line(error)}), and {file} of {name!r} is not in its cache"
        ) from None


def fetched(path: Path) -> Path:
    """Where a file lies: one of the hub in its cache, downloaded if need be, any other where it was.

    Raises:
        ClaimwiseError: there is no such file on the hub, the hub is out of reach, or the address is none of the hub's.

    >>> fetched(Path("mine.csv")).name
    'mine.csv'
    >>> fetched(Path("hf://datasets/squad"))
    Traceback (most recent call last):
    ...
    claimwise.errors.ClaimwiseError: hf://datasets/squad: expected hf://datasets/OWNER/NAME/FILE (or NAME@REVISION), a file of ...
    """
    given = path.as_posix().replace(":/", "://", 1)  # as it was written
    if not path.as_posix().startswith(HUB):
        if _ELSEWHERE.match(path.as_posix()):
            raise ClaimwiseError(f"{given}: expected a file on this machine, got an address; download it first")
        return path
    if not (address := _ADDRESS.fullmatch(path.as_posix())):
        raise ClaimwiseError(
            f"{given}: expected hf://datasets/OWNER/NAME/FILE (or NAME@REVISION), a file of those that the dataset's page "
            "lists"
        )
    name, revision, file = address.groups()
    try:
        ask(name, file, revision, "dataset")
        return Path(hf_hub_download(name, file, revision=revision, repo_type="dataset"))
    except (OSError, ValueError) as error:  # the hub's errors are of these
        raise ClaimwiseError(f"{given}: cannot be read from the hub: {first_line(error)}") from None
