"""Users' own files: a document and a summary per row, and any other columns.

`claimwise score` reads them by ``read_files``. For the pipeline (``data: own`` in params.yaml), ``find`` and ``load`` make a
corpus of a file in ``data/own`` and the file of preferences beside it.
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
from claimwise.corpora.user_rows import EXPECTED, RECORD, STDIN, STDIN_NAME, Row, files_in, read_rows, results_in, stem
from claimwise.errors import all_near, counted, near, nearest, shorten, warn
from claimwise.schema import TableError

#: Fields that a row of a user's file may have.
FIELDS = ("id", "document", "summary", "claims", "label", "system", "origin", "split")
#: Fields that every row must have if any row has them.
_EVERYWHERE = ("id", "document", "summary", "claims")

_TEXTS = ("document", "summary")
_LABELS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0, "": math.nan}

#: Other tools' and corpora's names for fields. They are suggested, but never used unasked.
_ALIASES = {
    "document": "article source text premise context contexts retrieved_contexts retrieval_context".split(),
    "summary": "highlights response reference answer actual_output prediction hypothesis candidate completion".split(),
    "id": "item item_id example_id uid uuid key index".split(),
    "label": "human faithful faithfulness consistent consistency factual is_factual".split(),
    "system": "model model_name model_id generator summarizer summariser".split(),
    "split": "fold partition subset".split(),
}

#: A list of texts written into a csv cell by Python, numpy or JSON.
_LIST_AS_TEXT = re.compile(r"""\s*\[\s*(?:['"].*['"]\s*)?\]\s*""", re.DOTALL)

#: Numbers that Python writes but JSON does not have. Infinities are carried as texts.
_NOT_JSON = {"NaN": None, "Infinity": "Infinity", "-Infinity": "-Infinity"}


#: Names in the column ``split``, in any case, for the rows that a threshold is tuned on.
VALIDATION = ("validation", "valid", "val", "dev")
#: Names for the rows that notebooks report on. Without the column, all rows are.
TEST = ("test", "testing")
_SPLITS = {theirs: names[0] for names in (VALIDATION, TEST) for theirs in names}
#: The file of preferences for ``mine.csv`` is ``mine.preferences.csv``.
PREFERENCES = ".preferences"
_COMPARED = ("first_id", "second_id", "preferred")


#: Where a user names columns, so that messages can say how: --column, ``columns=`` or ``datasets`` in params.yaml.
Caller = Literal["command line", "Python", "params.yaml"]


@dataclass(frozen=True)
class UserFile:
    """The contents of a user's file.

    Attributes:
        examples: a table of schema ``examples``, with a further column ``claims`` (lists) if the rows have their own.
        carried: all other columns unchanged, also label, system, split and origin (by our names), in the same order of
            rows. Values are texts (csv) or any JSON value; None if the row has none.
        hints: messages about what may be a mistake, such as a column whose name is nearly one that claimwise knows.
    """

    examples: pd.DataFrame
    carried: pd.DataFrame
    hints: tuple[str, ...]


def joined(document: Any) -> Any:
    """Join a document that is a list of texts (retrieved contexts, pages); any other value is returned unchanged.

    >>> joined(["It rained.", "Ann left."])
    'It rained.\\n\\nAnn left.'
    """
    parts = document.tolist() if isinstance(document, np.ndarray) else document  # as pandas reads parquet
    texts = isinstance(parts, list | tuple) and all(isinstance(part, str) for part in parts)
    return "\n\n".join(parts) if texts else document


def read_examples(
    path: str | Path, columns: Mapping[str, str] | None = None, caller: Caller = "Python"
) -> pd.DataFrame:
    """Read a user's examples as a validated ``examples`` table; ``read_files`` also keeps other columns.

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
    """Rows of a file as a ``UserFile``: ``before`` rows precede them, and ``system`` is the default system."""
    if not rows:
        raise TableError(f"{path}: no examples in the file; expected rows with {' and '.join(_TEXTS)}")
    rows = _renamed(rows, columns, path)
    known = {name for _, row in rows for name in row}
    own = "claims" in known and ("claims" in columns or "summary" not in known)
    texts = ("document", "claims") if own else _TEXTS
    required = ("id", *texts) if "id" in known else texts
    for place, row in rows:
        if lacking := [name for name in required if name not in row]:
            if path in results_in(path.parent):
                raise TableError(
                    f"{path} is a result of `claimwise score`, as the record beside it says (*{RECORD}); score the examples"
                )
            is_json = path.name.lower().removesuffix(".gz").endswith((".jsonl", ".json"))
            if lacking[0] not in known and place.startswith("line") and not is_json:
                place = "line 1"  # the header of a csv
            raise TableError(f"{path}, {place}: {_missing(lacking[0], columns, row, path, caller)}")
    read = ("id", *_TEXTS, *texts)
    carried = [{name: _carried(value) for name, value in row.items() if name not in read} for _, row in rows]
    beside = pd.DataFrame(carried, index=range(len(rows)), dtype=object)
    claims = [_claims(row["claims"], f"{path}, {place}") for place, row in rows] if own else []
    if own:  # what is shown as the summary
        summaries = ["\n".join(group) for group in claims]
        rows = [(place, {"summary": text} | row) for (place, row), text in zip(rows, summaries, strict=True)]
    examples = _examples(rows, path, before, system, columns)
    hints = list(_hints(rows, list(beside), known, path, claims, caller))
    if own:
        examples["claims"] = claims
    else:
        given, examples = examples["summary"], examples.assign(summary=examples["summary"].map(plain))
        if count := ((given != examples["summary"]) & (given.str.strip() != "")).sum():
            hints.append(
                f"{path}: {counted(count, 'summary')} read without HTML, Markdown, list numbers and lead-ins, or a "
                "chatbot's thoughts and last words"
            )
    return UserFile(examples, beside.where(beside.notna(), None), tuple(hints))


def read_files(
    paths: Sequence[Path], columns: Mapping[str, str] | None = None, caller: Caller = "command line"
) -> UserFile:
    """Read users' examples and all other columns.

    Several files are read as one: ids begin with the file's name, the default system is the file's name, and the columns
    ``system`` and ``file`` are carried.

    Args:
        paths: .jsonl, .json, .csv, .tsv (all of these also as .gz) or .parquet files with the fields of
            data/own/README.md, or ``-`` for the standard input (csv or JSON). A document may be a list of texts, which
            are joined. Instead of ``summary`` there may be ``claims``, a text or a list of texts. If a file has both,
            ``claims`` is read only if ``columns`` names it.
        columns: fields whose column has another name in the file: ``{"document": "article"}``.
        caller: where the user names columns; messages say how.

    Returns:
        The examples (``corpus`` is the file's name, ``document_id`` is computed), with their claims if they have their own,
        and the other columns.

    Raises:
        FileNotFoundError, IsADirectoryError: the file does not exist, or is a folder.
        TableError: the file cannot be read, lacks a column or has a wrong value. The message names file, line and column.

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
    """One of several files, with ids that are unique among all."""
    if "file" in found.carried:
        raise TableError(f"{path}: column 'file' would appear twice; rename it")
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
    """Like ``read_files``, but ``size`` rows at a time (None: a file at a time), for files larger than memory.

    An id that occurs twice is found only within one step.

    Raises:
        TableError: see ``read_files``; or some rows have an id, or their own claims, and others do not.

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
    """A row's own claims; none if the cell is empty."""
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
    """Parse the command line's ``FIELD=COLUMN`` entries.

    Raises:
        TableError: an entry does not have this form, or a field occurs twice.

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


def _examples(rows: list[Row], path: Path, before: int, system: str, columns: Mapping[str, str]) -> pd.DataFrame:
    """The rows as a validated ``examples`` table. Values that cannot be read are left for the schema to refuse."""
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
    table = schema.validate(table, "examples", str(path), [place for place, _ in rows], columns)
    return table.assign(document_id=table["document"].map(schema.document_id)).astype(
        {name: "str" for name in table if name != "label"}
    )


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _blank(value: Any) -> bool:
    return _absent(value) or (isinstance(value, str) and not value.strip())


def _carried(value: Any) -> Any:
    """A value that JSON can hold; parquet's dates and times become texts."""
    return json.loads(json.dumps(value, default=str), parse_constant=_NOT_JSON.get)


def _renamed(rows: list[Row], columns: Mapping[str, str], path: Path) -> list[Row]:
    """Rename the columns that hold fields; all others keep their names.

    If ``document`` is said to be the column ``article``, and the file has a column ``document``, too, that is refused: one of
    the two would be lost.
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
    """The message for a row without a field: what is missing, and what to do."""
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
    aliases = {name: [other for other in others if other.strip().lower() in _ALIASES[name]] for name in _TEXTS}
    guesses = {name: all_near(name, others) or aliases[name] for name in _TEXTS if name == field or name not in row}
    found = {name: names for name, names in guesses.items() if names}
    meant = " and ".join(" or ".join(map(repr, names)) for names in found.values())
    asked = f"did you mean {meant}? Say so" if field in found else "add it, or say which one holds it"
    first = {name: names[0] for name, names in found.items()}
    return f"{said}; {asked}: {_how({field: 'NAME'} | first, path, caller)}"


def _hints(
    rows: Sequence[Row],
    columns: Sequence[str],
    known: set[str],
    path: Path,
    claims: Iterable[list[str]],
    caller: Caller,
) -> Iterator[str]:
    """Without a hint, a misspelt optional column would silently be ignored: no label, or the system ``user``."""
    absent = set(FIELDS) - {"claims", *_TEXTS} - known  # texts are there, or claims are in the summary's place
    if "claims" in columns:
        how = _how({"claims": "claims"}, path, caller)
        yield f"{path}: column 'claims' is carried through unread, the summaries are scored; to verify it say so: {how}"
    if empty := sum(not claim for group in claims for claim in group):
        yield f"{path}: claims without words, of which nothing is asked: {empty}"
    for column in columns:
        # so short a name as id is nearly too many others
        alias = next((name for name in sorted(absent) if column.strip().lower() in _ALIASES.get(name, ())), None)
        close = alias or nearest(column, sorted(absent - {"id"})) or nearest(column, absent & {"id"}, cutoff=0.75)
        if close and column not in FIELDS:
            absent.discard(close)  # one hint a field
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
    """How the user can say which columns hold these fields.

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
    """The splits by our names (``VALIDATION`` and ``TEST`` have the other names); unknown names stay.

    >>> our_split(pd.Series(["Validation", " dev", "Train", "Testing"])).tolist()
    ['validation', 'validation', 'Train', 'test']
    """
    return split.str.strip().str.casefold().map(_SPLITS).fillna(split)


def find(name: str) -> Path:
    """Find the file of that name in ``data/own``, whatever its kind, without reading it.

    Raises:
        CorpusError: there is no such file (the message suggests the nearest name), or there are two of different kinds.
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
    """Read a user's file as a corpus, with the preferences in the file beside it, if there is one.

    For the arguments see ``read_files``. Splits get our names (``our_split``).

    Raises:
        FileNotFoundError: the file does not exist.
        TableError: it, or the file of preferences, cannot be read. The message names file, line and field.
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
    """Judgments of pairs of these examples, one per row (fields: data/own/README.md)."""
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
