"""The places of the project's files, from whatever folder a notebook or a command starts."""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from claimwise.errors import ClaimwiseError

#: The settings file, in the project's folder.
PARAMS = Path("params.yaml")


def root() -> Path:
    """The project's folder: the nearest folder with a params.yaml, from the working folder upwards, else this checkout.

    If the package was installed without its project, it is the working folder.
    """
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (folder / PARAMS).is_file():
            return folder
    return here


def located(name: str) -> Path:
    """The path that a setting names: in the working folder if it exists there, else in the project's folder."""
    here = Path(name).expanduser()
    return here if here.exists() else root() / here


def corpus_folder(data: str, corpus: str) -> Path:
    """The tables of one corpus: ``data/corpora/DATA/CORPUS``."""
    return root() / "data" / "corpora" / plain(data) / plain(corpus)


def scores_folder(data: str, model: str, metric: str) -> Path:
    """The results of a model's metric, with one folder per corpus: ``data/scores/DATA/MODEL/METRIC``."""
    return root() / "data" / "scores" / plain(data) / plain(model) / plain(metric)


def settings_folder(data: str, model: str) -> Path:
    """The settings of each later stage, one file per stage: ``data/settings/DATA/MODEL``."""
    return root() / "data" / "settings" / plain(data) / plain(model)


def results_folder(kind: str, data: str, model: str) -> Path:
    """The results of notebooks, ``KIND/DATA/MODEL``; the kind is ``tables``, ``figures`` or ``reports``."""
    return root() / kind / plain(data) / plain(model)


def by_summary_folder(data: str, model: str) -> Path:
    """The committed scores of each summary, one table per corpus: ``tables/DATA/MODEL/by_summary``."""
    return results_folder("tables", data, model) / "by_summary"


def plain(name: str) -> str:
    """Return a name from the settings if it is safe as a part of a path: it cannot lead out of the folder.

    Raises:
        ClaimwiseError: it is not made of letters, digits, ``_``, ``-`` and ``.``, or begins with a dot.

    >>> plain("word-overlap")
    'word-overlap'
    >>> plain("../..")
    Traceback (most recent call last):
    ...
    claimwise.errors.ClaimwiseError: found the name '../..', expected letters, digits, '_', '-' and '.', not first a dot
    """
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ClaimwiseError(f"found the name {name!r}, expected letters, digits, '_', '-' and '.', not first a dot")
    return name


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill. At the end of the block it replaces the old one as a whole.

    So a folder is never half written, even if the process is killed. It may be lost then; it can be made again.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "m")
    >>> for text in ("one", "two"):
    ...     with replaced(folder) as new:
    ...         _ = (new / text).write_text(text)
    >>> [path.name for path in folder.iterdir()], [path.name for path in folder.parent.iterdir()]
    (['two'], ['m'])
    """
    # Folders of these names are deleted; no user would choose such names.
    partial, old = (folder.with_name(f".{folder.name}.{state}") for state in ("partial", "replaced"))
    for leftover in (partial, old):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a file to write. At the end of the block it replaces the old one, so that a file is never half written.

    If the path is no regular file (a pipe, a terminal), or its folder is not writable, the path itself is yielded.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "deep", "scores.csv")
    >>> with whole(path) as new:
    ...     _, there = new.write_text("id"), path.exists()
    >>> there, path.read_text(), [found.name for found in path.parent.iterdir()]
    (False, 'id', ['scores.csv'])
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    place = path.resolve()  # writes to a link's target, and keeps the link
    if (path.exists() and not path.is_file()) or not os.access(place.parent, os.W_OK):
        yield path
        return
    kind = "".join(place.suffixes[-2:])  # writers choose the format by the suffix
    new = place.with_name(f".partial-{uuid4().hex}{kind}")  # unique: several processes may write the same file
    try:
        yield new
        if place.exists():
            shutil.copymode(place, new)
        new.replace(place)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):  # errors of a full disk or quota do not name the file
            error.filename = str(path)
        raise
    finally:
        new.unlink(missing_ok=True)
