"""The corpora stage: shipped corpora and files of one's own, as tables where the later stages look for them."""

from pathlib import Path

import pytest
import yaml

from claimwise import corpora, preparation
from claimwise import params as settings
from claimwise.corpora import CorpusError, user_corpus
from claimwise.schema import TableError

ROOT = Path(__file__).parent.parent

MINE = """id,document,summary,label,system,split
a,It rained in Tarn.,It rained.,1,one,dev
b,It rained in Tarn.,It snowed.,0,two,dev
c,The ferry stopped.,A ferry.,,one,
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project with a file in data/own; returns a function that prepares corpora with the shipped settings."""
    monkeypatch.chdir(tmp_path)
    Path("data/own").mkdir(parents=True)
    Path("data/own/mine.csv").write_text(MINE)
    shipped = yaml.safe_load((ROOT / "params.yaml").read_text())

    def prepare(**changed):
        Path("params.yaml").write_text(yaml.safe_dump(shipped | {"data": "own"} | changed))
        return preparation.prepare_corpora(settings.read("params.yaml"))

    return prepare


def test_a_file_of_ones_own_is_a_corpus_with_the_shipped_settings(project):
    [folder] = project()
    assert folder == Path("data/corpora/own/mine")
    corpus = corpora.read(folder)
    assert corpus.examples[["id", "corpus", "system", "split"]].to_numpy().tolist() == [
        ["a", "mine", "one", "validation"],
        ["b", "mine", "two", "validation"],
        ["c", "mine", "one", "test"],
    ]
    assert corpus.examples["label"].tolist()[:2] == [1, 0]
    assert corpus.examples["document_id"].nunique() == 2
    assert corpus.gold_claims.empty
    assert corpus.preferences.empty


@pytest.mark.parametrize(
    ("systems", "told"),
    [
        (("one", "two", "one", "two"), ""),
        (("one", "one", "one", "one"), "one system: leaderboard has nothing to rank"),
        (("one", "one", "two", "two"), "no document that all 2 systems summarised: leaderboard cannot compare them"),
    ],
)
def test_what_notebooks_will_miss_is_said_and_the_file_prepared_all_the_same(project, capsys, systems, told):
    keys = (("x", "dev", 1), ("x", "dev", 0), ("y", "test", 1), ("y", "test", 0))
    rows = [
        f"{i},{d},s,{label},{s},{split}" for i, ((d, split, label), s) in enumerate(zip(keys, systems, strict=True))
    ]
    Path("data/own/mine.csv").write_text("\n".join(["id,document,summary,label,system,split", *rows]))
    Path("data/own/mine.preferences.csv").write_text("first_id,second_id,preferred\n0,1,first\n")
    assert len(project()) == 1
    assert capsys.readouterr().err == (f"data/corpora/own/mine: {told}\n" if told else "")


def test_several_files_each_a_corpus(project):
    Path("data/own/news.jsonl").write_text('{"id": 1, "document": "It rained.", "summary": "Rain."}')
    assert [folder.name for folder in project(corpora={"own": ["news", "mine"]})] == ["news", "mine"]


def test_columns_of_other_names_are_named_in_the_settings(project):
    Path("data/own/mine.csv").write_text("article,highlights\nIt rained.,Rain.\n")
    [folder] = project(corpora={"own": {"mine": {"document": "article", "summary": "highlights"}}})
    assert corpora.read(folder).examples[["id", "document", "summary"]].to_numpy().tolist() == [
        ["1", "It rained.", "Rain."]
    ]
    with pytest.raises(TableError, match=r"data/own/mine\.csv: no column 'title', which 'document' is said to be"):
        project(corpora={"own": {"mine": {"document": "title"}}})
    with pytest.raises(TableError, match=r"corpora: \{own: \{mine: \{document: 'article'\}\}\}"):
        project()


def test_an_unknown_file_is_said_before_any_is_read(project):
    Path("data/own/mine.csv").write_text("not read")
    with pytest.raises(CorpusError, match=r"no file named 'mien' in data/own; did you mean 'mine'\? .* are: mine"):
        project(corpora={"own": ["mine", "mien"]})
    assert not Path("data/corpora").exists()


def test_no_folder_and_no_file(project):
    Path("data/own/mine.csv").rename("mine.csv")
    with pytest.raises(CorpusError, match=r"no file named 'mine' in data/own; expected mine with .* There are: none"):
        project()
    Path("data/own").rmdir()
    with pytest.raises(CorpusError, match=r"no file named 'mine' in data/own"):
        project()


def test_two_files_of_one_name(project):
    Path("data/own/mine.jsonl.gz").touch()
    with pytest.raises(CorpusError, match=r"2 files named 'mine': mine\.csv, mine\.jsonl\.gz; rename or remove"):
        project()


def test_a_wrong_row_is_named(project):
    Path("data/own/mine.csv").write_text("id,document,summary,label\na,b,c,maybe\n")
    with pytest.raises(TableError, match=r"data/own/mine\.csv, line 2, column 'label': found 'maybe', expected 1"):
        project()


def test_a_shipped_or_public_corpus_is_loaded_by_name(project, monkeypatch):
    monkeypatch.setattr(corpora, "load", lambda name: user_corpus.load("data/own/mine.csv"))
    [folder] = project(data="sample", corpora={"sample": ["sample"]})
    assert folder == Path("data/corpora/sample/sample")
    with pytest.raises(CorpusError, match="no corpus named 'mine'"):
        project(data="sample", corpora={"sample": ["sample", "mine"]})
