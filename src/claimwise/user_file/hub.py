"""A file of a dataset on Hugging Face's hub, named as pandas names it: ``hf://datasets/OWNER/NAME/FILE``."""

from __future__ import annotations

import re
from pathlib import Path

from huggingface_hub import hf_hub_download

from claimwise.errors import ClaimwiseError, first_line

#: How an address begins; of two slashes a Path keeps one.
HUB = "hf:/"
_ADDRESS = re.compile(HUB + r"datasets/([^/]+/[^/@]+)(?:@([^/]+))?/(.+)")


def fetched(path: Path) -> Path:
    """Where a file lies: one of the hub in its cache, downloaded if need be, any other where it was.

    Raises:
        ClaimwiseError: there is no such file on the hub, the hub is out of reach, or the address is none.

    >>> fetched(Path("mine.csv")).name
    'mine.csv'
    >>> fetched(Path("hf://datasets/squad"))
    Traceback (most recent call last):
    ...
    claimwise.errors.ClaimwiseError: hf://datasets/squad: expected hf://datasets/OWNER/NAME/FILE (or NAME@REVISION), a file of ...
    """
    if not path.as_posix().startswith(HUB):
        return path
    given = path.as_posix().replace(HUB, f"{HUB}/", 1)  # as it was written
    if not (address := _ADDRESS.fullmatch(path.as_posix())):
        raise ClaimwiseError(
            f"{given}: expected hf://datasets/OWNER/NAME/FILE (or NAME@REVISION), a file of those that the dataset's page "
            "lists"
        )
    name, revision, file = address.groups()
    try:
        return Path(hf_hub_download(name, file, revision=revision, repo_type="dataset"))
    except (OSError, ValueError) as error:  # the hub's errors are of these
        raise ClaimwiseError(f"{given}: cannot be had from the hub: {first_line(error)}") from None
