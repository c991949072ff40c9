"""Where the project's files lie, whatever folder a notebook or a command starts in."""

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
    """The project's folder: the nearest one, from the working folder upwards, with a params.yaml; else this checkout.

    Of a package that was installed without its project it is the working folder.
    """
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (folder / PARAMS).is_file():
            return folder
    return here


def located(name: str) -> Path:
    """What a setting names by a path: in the working folder, if it is there, else in the project's."""
    here = Path(name).expanduser()
    return here if here.exists() else root() / here


def corpus_folder(data: str, corpus: str) -> Path:
    """Tables of one corpus: ``data/corpora/DATA/CORPUS``."""
    return root() / "data" / "corpora" / plain(data) / plain(corpus)


def scores_folder(data: str, model: str, metric: str) -> Path:
    """What a model's metric said of all the corpora it was run on, one folder a corpus: ``data/scores/DATA/MODEL/METRIC``."""
    return root() / "data" / "scores" / plain(data) / plain(model) / plain(metric)


def settings_folder(data: str, model: str) -> Path:
    """What each later stage is told, a file each: ``data/settings/DATA/MODEL``."""
    return root() / "data" / "settings" / plain(data) / plain(model)


def results_folder(kind: str, data: str, model: str) -> Path:
    """What notebooks write, ``KIND/DATA/MODEL``: their ``tables``, ``figures`` or ``reports``."""
    return root() / kind / plain(data) / plain(model)


def by_summary_folder(data: str, model: str) -> Path:
    """The committed scores of each summary, a table a corpus: ``tables/DATA/MODEL/by_summary``."""
    return results_folder("tables", data, model) / "by_summary"


def plain(name: str) -> str:
    """A name from the settings that becomes a part of a path: nothing outside our own folders is ever named by it.

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
    """Gives an empty folder to fill; at the end of the block it takes the place of the other, all of it at once.

    Nothing half written is taken for whole, whenever the process is killed; what such a folder holds can be made again.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "m")
    >>> for text in ("one", "two"):
    ...     with replaced(folder) as new:
    ...         _ = (new / text).write_text(text)
    >>> [path.name for path in folder.iterdir()], [path.name for path in folder.parent.iterdir()]
    (['two'], ['m'])
    """
    # Names that no person gives a folder: what lies there is deleted.
    partial, old = (folder.with_name(f".{folder.name}.{state}") for state in ("partial", "replaced"))
    for left in (partial, old):
        shutil.rmtree(left, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Gives a file to write; at the end of the block it takes its place, so that half a result never stands there.

    What is no file (a pipe, a terminal) is written itself, and so is a file in a folder where no other can be made.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "deep", "scores.csv")
    >>> with whole(path) as new:
    ...     _, there = new.write_text("id"), path.exists()
    >>> there, path.read_text(), [found.name for found in path.parent.iterdir()]
    (False, 'id', ['scores.csv'])
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    place = path.resolve()  # a link stays one
    if (path.exists() and not path.is_file()) or not os.access(place.parent, os.W_OK):
        yield path
        return
    kind = "".join(place.suffixes[-2:])  # the end of a name says what is written
    new = place.with_name(f".partial-{uuid4().hex}{kind}")  # several processes may write the same
    try:
        yield new
        if place.exists():
            shutil.copymode(place, new)
        new.replace(place)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):  # of a full disk or a used quota nobody says the name
            error.filename = str(path)
        raise
    finally:
        new.unlink(missing_ok=True)
