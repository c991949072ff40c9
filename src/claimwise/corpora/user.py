"""Users' own files: a document and a summary a row, and whatever else stands beside them.

``read_files`` is what `claimwise score` reads; ``find`` and ``load`` make a file of ``data/own`` a corpus of the pipeline
(``data: own`` in params.yaml), with the preferences beside it.
"""

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from claimwise import paths, schema
from claimwise.corpora.base import Corpus, CorpusError, Rows
from claimwise.corpora.plain import has_words, plain
from claimwise.corpora.user_rows import EXPECTED, STDIN, STDIN_NAME, Row, files_in, read_rows, stem
from claimwise.errors import counted, near, nearest, shorten, warn
from claimwise.schema import TableError

#: What a row of a user's file may say of its example, by the names that claimwise gives it.
FIELDS = ("id", "document", "summary", "claims", "label", "system", "origin", "split")
#: Those that every row has, if one has them; the others few rows may have.
_EVERYWHERE = ("id", "document", "summary", "claims")

_TEXTS = ("document", "summary")
_LABELS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0, "": math.nan}

#: What other tools and corpora call the texts; a name is suggested, never taken unasked.
_ALIASES = {
    "document": "article source text premise context contexts retrieved_contexts retrieval_context".split(),
    "summary": "highlights response reference answer actual_output prediction hypothesis candidate completion".split(),
}

#: A list of texts as Python, numpy or JSON write it into a csv.
_LIST_AS_TEXT = re.compile(r"""\s*\[\s*(?:['"].*['"]\s*)?\]\s*""", re.DOTALL)

#: Numbers that JSON has no word for, as Python writes them; a carried one stays a text rather than nothing.
_NOT_JSON = {"NaN": None, "Infinity": "Infinity", "-Infinity": "-Infinity"}


#: What people call the part of their data that a threshold is tuned on, in a file's column ``split``, in any case.
VALIDATION = ("validation", "valid", "val", "dev")
#: The same of the part that notebooks report on, which is also all of a file without this column.
TEST = ("test", "testing")
_SPLITS = {theirs: names[0] for names in (VALIDATION, TEST) for theirs in names}
#: What follows the name of the examples' file, before the ending, in that of the file of preferences beside it.
PREFERENCES = ".preferences"
_COMPARED = ("first_id", "second_id", "preferred")


#: Where columns are named, and so what a message says of them: by --column, by ``columns`` or under ``datasets``.
Caller = Literal["command line", "Python", "params.yaml"]


@dataclass(frozen=True)
class UserFile:
    """What a user's file holds.

    Attributes:
        examples: a table of schema ``examples``, with a further column ``claims`` (lists) where the rows have their own.
        carried: the file's columns beside id, document and summary (its own label, system, split and origin too, as
            they stand there, if under another name in the file by ours), a row an example in the same order: texts of a
            csv, of other files any JSON value; None where the row has none.
        hints: what to look at again: columns that are read by nobody and whose name is nearly one that claimwise knows.
    """

    examples: pd.DataFrame
    carried: pd.DataFrame
    hints: tuple[str, ...]


def joined(document: Any) -> Any:
    """A document that is given as a list of texts (retrieved contexts, pages) as one; any other value as it is.

    >>> joined(["It rained.", "Ann left."])
    'It rained.\\n\\nAnn left.'
    """
    parts = document.tolist() if isinstance(document, np.ndarray) else document  # as pandas reads parquet
    texts = isinstance(parts, list | tuple) and all(isinstance(part, str) for part in parts)
    return "\n\n".join(parts) if texts else document


def read_examples(
    path: str | Path, columns: Mapping[str, str] | None = None, caller: Caller = "Python"
) -> pd.DataFrame:
    """Read a user's examples as a validated ``examples`` table; see ``read_files``, which keeps other columns too.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.jsonl")
    >>> _ = file.write_text('{"article": "It rained.", "summary": "Rain.", "label": 1}')
    >>> read_examples(file, {"document": "article"})[["id", "corpus", "document", "system", "label"]].values.tolist()
    [['1', 'mine', 'It rained.', 'user', 1.0]]
    """
    found = read_files([Path(path)], columns, caller)
    if "claims" in found.examples:
        raise TableError(
            f"{path}: rows with claims and no summary, which `claimwise score` reads; add a column 'summary'"
        )
    for hint in found.hints:
        warn(hint)
    return found.examples


def _user_file(
    rows: list[Row], path: Path, columns: Mapping[str, str], before: int, system: str, caller: Caller
) -> UserFile:
    """What rows of a file hold, before which there are so many others; ``system`` is that of a row that names none."""
    if not rows:
        raise TableError(f"{path}: no examples in the file; expected rows with {' and '.join(_TEXTS)}")
    rows = _renamed(rows, columns, path)
    known = {name for _, row in rows for name in row}
    own = "claims" in known and ("claims" in columns or "summary" not in known)
    texts = ("document", "claims") if own else _TEXTS
    required = ("id", *texts) if "id" in known else texts
    for place, row in rows:
        if lacking := [name for name in required if name not in row]:
            raise TableError(f"{path}, {place}: {_missing(lacking[0], columns, row, path, caller)}")
    read = ("id", *_TEXTS, *texts)
    carried = [{name: _carried(value) for name, value in row.items() if name not in read} for _, row in rows]
    beside = pd.DataFrame(carried, index=range(len(rows)), dtype=object)
    claims = [_claims(row["claims"], f"{path}, {place}") for place, row in rows] if own else []
    if own:  # what is shown as the summary
        summaries = ["\n".join(group) for group in claims]
        rows = [(place, {"summary": text} | row) for (place, row), text in zip(rows, summaries, strict=True)]
    examples = _examples(rows, path, before, system)
    hints = list(_hints(rows, list(beside), known, path, claims, caller))
    if own:
        examples["claims"] = claims
    else:
        given, examples = examples["summary"], examples.assign(summary=examples["summary"].map(plain))
        if count := (given != examples["summary"]).sum():
            hints.append(
                f"{path}: {counted(count, 'summary')} read without HTML, Markdown, list numbers and lead-ins, or a "
                "chatbot's thoughts and last words"
            )
    return UserFile(examples, beside.where(beside.notna(), None), tuple(hints))


def read_files(
    paths: Sequence[Path], columns: Mapping[str, str] | None = None, caller: Caller = "command line"
) -> UserFile:
    """Read users' examples, and the columns beside them.

    Several files are read as one: an id begins with its file, a system without name is its file's; it and ``file`` are
    carried.

    Args:
        paths: each a .jsonl, .json, .csv, .tsv (any of them also as .gz) or .parquet file with the fields of
            data/own/README.md; ``-`` is the standard input, csv or JSON. A document may be a list of texts, which are read
            as one. In the place of ``summary`` there may be ``claims`` of your own, a text or a list of texts (with both,
            ``claims`` is read where ``columns`` names it).
        columns: the column that holds a field, where the file has another name for it: ``{"document": "article"}``.
        caller: how messages say what to do about columns.

    Returns:
        The examples (``corpus`` is the file's name, ``document_id`` is computed), with their own claims where they have
        some, and the other columns.

    Raises:
        FileNotFoundError, IsADirectoryError: there is no such file, or it is a folder.
        TableError: it cannot be read, lacks a column or holds a value it must not hold; the message names file, line and
            column.

    >>> import tempfile
    >>> files = [Path(tempfile.mkdtemp(), name) for name in ("gpt.csv", "t5.csv")]
    >>> _ = [file.write_text("document,summary\\nIt rained.,Rain.\\n") for file in files]
    >>> found = read_files(files)
    >>> found.examples["system"].tolist(), [Path(key).name for key in found.examples["id"]]
    (['gpt', 't5'], ['gpt.csv:1', 't5.csv:1'])
    """
    found = list(read_in_steps(paths, columns, None, caller))
    beside = pd.concat([one.carried for one in found], ignore_index=True)
    return UserFile(
        examples=pd.concat([one.examples for one in found], ignore_index=True),
        carried=beside.astype(object).where(beside.notna(), None),
        hints=tuple(hint for one in found for hint in one.hints),
    )


def _among_others(found: UserFile, path: Path) -> UserFile:
    """What one of several files holds, under ids that no other has."""
    if "file" in found.carried:
        raise TableError(f"{path}: column 'file' would stand twice; rename it")
    return replace(
        found,
        examples=found.examples.assign(id=f"{path}:" + found.examples["id"]),
        carried=found.carried.assign(system=found.examples["system"], file=str(path)),
    )


def read_in_steps(
    paths: Sequence[Path],
    columns: Mapping[str, str] | None = None,
    size: int | None = 2000,
    caller: Caller = "command line",
) -> Iterator[UserFile]:
    """What ``read_files`` reads, so many rows at a time: files may be larger than memory. None: a file at a time.

    That no id stands twice is checked within a step only.

    Raises:
        TableError: as ``read_files``; or some rows of the files have an id, or claims of their own, and others do not.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.csv")
    >>> _ = file.write_text("document,summary\\n" + "It rained.,Rain.\\n" * 5)
    >>> [step.examples["id"].tolist() for step in read_in_steps([file], size=3)]
    [['1', '2', '3'], ['4', '5']]
    """
    columns, earlier = columns or {}, {}
    stems = Counter(map(stem, paths))
    for given in paths:
        path = Path(STDIN_NAME) if given == STDIN else given
        name = stem(path) if stems[stem(given)] == 1 else str(path)
        system = name if len(paths) > 1 else "user"
        try:
            rows, before, names = read_rows(given), 0, {}
            earlier.pop("an id", None)  # another file may have none
            while (step := list(islice(rows, size))) or not before:
                found = _user_file(step, path, columns, before, system, caller)
                has = {
                    "claims": "claims" in found.examples,
                    "an id": any(columns.get("id", "id") in row for _, row in step),
                }
                if other := [what for what, there in has.items() if earlier.get(what, there) != there]:
                    raise TableError(
                        f"{path}, {step[0][0]}: from here on rows differ in whether they have {other[0]}; score them apart"
                    )
                earlier, before = has, before + len(step)
                names |= dict.fromkeys(name for _, row in step for name in row)
                yield _among_others(found, given) if len(paths) > 1 else found
            for field, column in columns.items():  # in JSON lines few rows may have a label
                _check_there(field, column, names, path)
        except TableError as error:
            if len(paths) == 1:
                raise
            raise TableError(
                f"{error}\nIf {path} holds no examples, move it out of the folder, or name the other files one by one"
            ) from None


def _claims(value: Any, where: str) -> list[str]:
    """A row's claims of its own; none where the cell is empty."""
    if _is_list_as_text(value):
        raise TableError(
            f"{where}, column 'claims': found a list written as a text, {shorten(value)}, which would be one claim; write "
            "JSON lines, which hold lists, or one claim a row"
        )
    claims = value if isinstance(value, list) else [] if _blank(value) else [value]
    if not all(isinstance(claim, str) for claim in claims):
        raise TableError(f"{where}, column 'claims': found {shorten(value)}, expected a text or a list of texts")
    return [claim if has_words(claim) else "" for claim in claims]


def parse_columns(entries: Iterable[str]) -> dict[str, str]:
    """The columns by field, of the command line's ``FIELD=COLUMN``.

    Raises:
        TableError: an entry has no ``=`` with something on both sides, or a field stands twice.

    >>> parse_columns(["document=article", "summary=highlights"])
    {'document': 'article', 'summary': 'highlights'}
    """
    columns: dict[str, str] = {}
    for entry in entries:
        field, _, column = entry.partition("=")
        if not field or not column:
            raise TableError(f"--column: expected FIELD=COLUMN, as in document=article, got {entry!r}")
        if field in columns:
            raise TableError(f"--column: {field} is said to be {columns[field]!r} and {column!r}; keep one of them")
        columns[field] = column
    return columns


def _examples(rows: list[Row], path: Path, before: int, system: str) -> pd.DataFrame:
    """The rows as a validated ``examples`` table; what cannot be filled in or read is left for the schema to refuse."""
    fields = [name for name in FIELDS if name != "claims"]
    table = pd.DataFrame({name: [row.get(name) for _, row in rows] for name in fields}, dtype=object)
    # null is what an empty field of a csv becomes on its way through a data frame: no text, unscored with that reason
    table["document"] = table["document"].map(joined)
    for name in _TEXTS:
        table[name] = ["" if _absent(value) else value for value in table[name]]
    for name, default in {"system": system, "origin": "user", "split": TEST[0]}.items():
        table[name] = [default if _blank(value) else value for value in table[name]]
    numbered = not any("id" in row for _, row in rows)
    table["id"] = (
        [str(number) for number in range(before + 1, before + len(rows) + 1)]
        if numbered
        else table["id"].map(lambda key: str(key) if type(key) is int else key)
    )
    table["label"] = [
        math.nan if _absent(value) else _LABELS.get(str(value).strip().lower(), value) for value in table["label"]
    ]
    table = table.assign(corpus=stem(path), document_id="computed below, of valid documents")
    table = schema.validate(table, "examples", str(path), [place for place, _ in rows])
    return table.assign(document_id=table["document"].map(schema.document_id)).astype(
        {name: "str" for name in table if name != "label"}
    )


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _blank(value: Any) -> bool:
    return _absent(value) or (isinstance(value, str) and not value.strip())


def _carried(value: Any) -> Any:
    """A value as JSON can say it: of parquet's times texts."""
    return json.loads(json.dumps(value, default=str), parse_constant=_NOT_JSON.get)


def _renamed(rows: list[Row], columns: Mapping[str, str], path: Path) -> list[Row]:
    """The rows with the fields' names in the place of the columns'; all other columns as they stand.

    A field beside which the file has a column of the field's own name is refused: whichever was taken, the other would
    be lost.
    """
    there = list(dict.fromkeys(name for _, row in rows for name in row))
    for field, column in columns.items():
        if field not in FIELDS:
            raise TableError(
                f"{path}: unknown field {field!r}{near(field, FIELDS) or ';'} there are: {', '.join(FIELDS)}"
            )
        if field in _EVERYWHERE:
            _check_there(field, column, there, path)
        if twice := [other for other in columns if columns[other] == column and other != field]:
            raise TableError(f"{path}: column {column!r} is said to be {field!r} and {twice[0]!r}; keep one of them")
        if field in there and field not in columns.values():
            raise TableError(
                f"{path}: {field!r} is said to be column {column!r}, but the file has a column {field!r}, too; leave out "
                f"{field}={column}, or rename that column in the file"
            )
    fields = {column: field for field, column in columns.items()}
    return [(place, {fields.get(name, name): value for name, value in row.items()}) for place, row in rows]


def _check_there(field: str, column: str, there: Collection[str], path: Path) -> None:
    if column not in there:
        raise TableError(
            f"{path}: no column {column!r}, which {field!r} is said to be{near(column, there) or ';'} the file has: "
            f"{', '.join(there)}"
        )


def _missing(field: str, columns: Mapping[str, str], row: Mapping[str, Any], path: Path, caller: Caller) -> str:
    """What to say of a row that has no column for a field, and what to do."""
    for name, value in row.items():  # on one line, an object around the array passes for a row of JSON lines
        objects = isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
        if objects and (len(row) == 1 or value[0].keys() & {columns.get(text, text) for text in _TEXTS}):
            return (
                f"expected an array of objects, [{{...}}, {{...}}], got one object with {shorten(', '.join(row))}; take "
                f"the array out of {name!r}"
            )
    said = f"column {columns.get(field, field)!r} is missing, got {', '.join(columns.get(name, name) for name in row)}"
    if field in columns:  # which other rows have
        return f"{said}; give every row one"
    if field == "id":
        return f"{said}; give every row one, or none: the number of a row is its id then"
    others = [name for name in row if name not in FIELDS]
    if field == "summary" and "claim" in others:
        return f"{said}; are these claims of your own? Say so: {_how({'claims': 'claim'}, path, caller)}"
    aliases = {
        name: next((other for other in others if other.strip().lower() in _ALIASES[name]), None) for name in _TEXTS
    }
    guesses = {name: nearest(name, others) or aliases[name] for name in _TEXTS if name == field or name not in row}
    found = {name: guess for name, guess in guesses.items() if guess}
    meant = f"did you mean {' and '.join(map(repr, found.values()))}? Say so" if field in found else ""
    return f"{said}; {meant or 'add it, or say which one holds it'}: {_how({field: 'NAME'} | found, path, caller)}"


def _hints(
    rows: Sequence[Row],
    columns: Sequence[str],
    known: set[str],
    path: Path,
    claims: Iterable[list[str]],
    caller: Caller,
) -> Iterator[str]:
    """A misspelt optional column would silently be none: its label would be missing, its system ``user``."""
    absent = set(FIELDS) - {"claims"} - known
    if "claims" in columns:
        how = _how({"claims": "claims"}, path, caller)
        yield f"{path}: column 'claims' is carried through unread, the summaries are scored; to verify it say so: {how}"
    if empty := sum(not claim for group in claims for claim in group):
        yield f"{path}: claims without words, of which nothing is asked: {empty}"
    for column in columns:
        # so short a name as id is nearly too many others
        close = nearest(column, sorted(absent - {"id"})) or nearest(column, absent & {"id"}, cutoff=0.75)
        if close and column not in FIELDS:
            said = f"{path}: column {column!r} is carried through unread; did you mean {close!r}?"
            yield f"{said} Say so: {_how({close: column}, path, caller)}"
    if places := [place for place, row in rows if _is_list_as_text(row["document"])]:
        more = f" (and {len(places) - 1} more)" if places[1:] else ""
        yield (
            f"{path}, {places[0]}{more}, column 'document': a list written as a text, read with its brackets; write JSON "
            "lines, which hold lists"
        )


def _is_list_as_text(value: Any) -> bool:
    return isinstance(value, str) and bool(_LIST_AS_TEXT.fullmatch(value))


def _how(columns: Mapping[str, str], path: Path, caller: Caller) -> str:
    """How a user says which columns hold these fields.

    >>> _how({"document": "Text", "id": "the key"}, Path("mine.csv"), "command line")
    "--column document=Text --column 'id=the key'"
    >>> _how({"id": "key"}, Path("mine.csv"), "Python"), _how({"id": "key"}, Path("mine.csv"), "params.yaml")
    ("columns={'id': 'key'}", "datasets: {own: {corpora: {mine: {'id': 'key'}}}} in params.yaml")
    """
    if caller == "Python":
        return f"columns={columns!r}"
    if caller == "params.yaml":
        return f"datasets: {{own: {{corpora: {{{stem(path)}: {columns!r}}}}}}} in params.yaml"
    options = ("".join(one if one.isprintable() else " " for one in f"{field}={columns[field]}") for field in columns)
    return " ".join(f"--column {shlex.quote(option)}" for option in options)


# -- as a corpus of the pipeline -------------------------------------------------------------------


def our_split(split: pd.Series) -> pd.Series:
    """The splits as notebooks call them, whatever people do (``VALIDATION``, ``TEST``); other names stay.

    >>> our_split(pd.Series(["Validation", " dev", "Train", "Testing"])).tolist()
    ['validation', 'validation', 'Train', 'test']
    """
    return split.str.strip().str.casefold().map(_SPLITS).fillna(split)


def find(name: str) -> Path:
    """The file of examples of that name in ``data/own``, whatever its kind; it is not read yet.

    Raises:
        CorpusError: there is no such file, or two that differ in their kind only; the message has the nearest name.
    """
    folder = paths.root() / "data" / "own"
    files = files_in(folder)
    found = _only(name, files)
    if not found:
        known = [stem(path) for path in files if not stem(path).endswith(PREFERENCES)]
        raise CorpusError(
            f"no file named {name!r} in {folder}{near(name, known) or ';'} expected {name} with the ending {EXPECTED} "
            f"(text also as .gz). There are: {', '.join(known) or 'none'}"
        )
    return found


def _only(name: str, files: list[Path]) -> Path | None:
    found = [path for path in files if stem(path) == name]
    if len(found) > 1:
        raise CorpusError(
            f"{found[0].parent} has {len(found)} files named {name!r}: {', '.join(path.name for path in found)}; rename or "
            "remove all but one"
        )
    return found[0] if found else None


def load(path: str | Path, columns: Mapping[str, str] | None = None) -> Corpus:
    """A user's file as a corpus: its examples, and where there is a file of preferences beside it, these.

    For the arguments see ``read_files``; splits are named as ``our_split`` says.

    Raises:
        FileNotFoundError: there is no such file.
        TableError: it, or the preferences, cannot be read; names file, line and field.
        CorpusError: there are two files of preferences.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.csv")
    >>> _ = file.write_text("id,document,summary,label,split\\na,It rained.,Rain.,1,dev\\nb,It rained.,Rain.,1,Test\\n")
    >>> load(file).examples[["id", "corpus", "split"]].values.tolist()
    [['a', 'mine', 'validation'], ['b', 'mine', 'test']]
    """
    path = Path(path)
    examples = read_examples(path, columns, "params.yaml")
    corpus = replace(Rows(stem(path)).corpus(), examples=examples.assign(split=our_split(examples["split"])))
    beside = _only(stem(path) + PREFERENCES, files_in(path.parent))
    return replace(corpus, preferences=_preferences(beside, examples)) if beside else corpus


def _preferences(path: Path, examples: pd.DataFrame) -> pd.DataFrame:
    """Judgments of pairs of these examples, a row each (its fields: data/own/README.md)."""
    rows = list(read_rows(path))
    if not rows:
        raise TableError(f"{path}: no rows in the file; expected {', '.join(_COMPARED)}")
    documents = dict(zip(examples["id"], examples["document_id"], strict=True))
    found = []
    for place, row in rows:
        where = f"{path}, {place}"
        if lacking := next((name for name in _COMPARED if name not in row), None):
            close = nearest(lacking, row.keys() - {*_COMPARED, "rater"})
            hint = f"did you mean {close!r}? Rename it" if close else "rename the one that holds it, or add it"
            raise TableError(f"{where}: column {lacking!r} is missing, got {', '.join(row)}; {hint}")
        first, second = (_known(row[name], documents, f"{where}, column {name!r}") for name in _COMPARED[:2])
        if first == second:
            raise TableError(f"{where}: {first!r} is compared with itself; name two summaries of one document")
        if documents[first] != documents[second]:
            raise TableError(
                f"{where}: {first!r} and {second!r} are summaries of different documents; name two of one document"
            )
        rater = "user" if _blank(row.get("rater")) else str(row["rater"])
        found.append((first, second, rater, str(row["preferred"]).strip().lower()))
    table = pd.DataFrame(found, columns=["first_id", "second_id", "rater", "preferred"])
    return schema.validate(table, "preferences", str(path), [place for place, _ in rows])


def _known(value: object, documents: Mapping[str, str], where: str) -> str:
    key = str(value)
    if key not in documents:
        expected = "; expected a row's id (or number, in a file without ids)"
        raise TableError(f"{where}: no example {shorten(value)}{near(key, documents) or expected}")
    return key
