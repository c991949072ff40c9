"""params.yaml: what is read, and what a wrong one is told."""

import copy
from pathlib import Path

import pytest
import yaml

from claimwise import metrics
from claimwise import params as settings
from claimwise.errors import ClaimwiseError
from claimwise.params import ParamsError, Settings

GOOD = {
    "data": "sample",
    "model": "embedded",
    "models": {"embedded": {"kind": "embedded"}, "server": {"kind": "openai", "model": "m"}},
    "cache": "cache/calls.sqlite",
    "corpora": {"sample": ["sample"], "public": ["rose"]},
    "metrics": {"word-overlap": {"judge": "word-overlap"}},
    "score": {"metrics": ["word-overlap"], "corpora": {"sample": {"sample": {}}, "public": {"rose": {"documents": 5}}}},
    "leaderboard": {"seed": 0, "draws": 10},
}


def write(folder, content):
    path = folder / "params.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return path


def explain(folder, content):
    with pytest.raises(ParamsError) as caught:
        settings.read(write(folder, content))
    assert isinstance(caught.value, ClaimwiseError)
    return str(caught.value)


def changed(*place, to):
    content = copy.deepcopy(GOOD)
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = to
    return content


def test_a_good_file(tmp_path):
    read = settings.read(write(tmp_path, GOOD))
    assert read.model_settings == {"kind": "embedded"}
    assert read.section("leaderboard") == {"seed": 0, "draws": 10}
    assert read.sections.keys() == {"leaderboard"}
    assert read.score.corpora["public"]["rose"].documents == 5
    assert read.score.corpora["sample"]["sample"].metrics is None


@pytest.mark.parametrize(
    ("own", "read"),
    [
        (["mine", "news"], {"mine": {}, "news": {}}),
        ({"mine": None, "news": {"document": "article"}}, {"mine": {}, "news": {"document": "article"}}),
    ],
)
def test_files_of_ones_own_are_names_or_names_with_columns(tmp_path, own, read):
    content = changed("corpora", "own", to=own)
    assert settings.read(write(tmp_path, content)).corpora == {
        "sample": {"sample": {}},
        "public": {"rose": {}},
        "own": read,
    }


def test_a_section_is_a_copy(tmp_path):
    read = settings.read(write(tmp_path, GOOD))
    read.section("leaderboard")["seed"] = 9
    assert read.section("leaderboard")["seed"] == 0


def test_a_misspelt_section_is_suggested(tmp_path):
    read = settings.read(write(tmp_path, GOOD))
    with pytest.raises(ParamsError, match="no section 'leaderbord'; did you mean 'leaderboard'"):
        read.section("leaderbord")


BY_DATA = {"corpora": {"sample": "sample", "public": "vectara", "own": "mine"}, "seed": 0, "types": {}}


def test_entries_for_ones_own_files_are_in_no_other_run(tmp_path):
    content = GOOD | {"leaderboard": BY_DATA}
    assert settings.read(write(tmp_path, content)).section("leaderboard") == BY_DATA | {
        "corpora": {"sample": "sample", "public": "vectara"}
    }
    content |= {"data": "own", "corpora": {"own": ["mine"]}}
    content["score"] = {"metrics": [], "corpora": {"own": {"mine": {}}}}
    assert settings.read(write(tmp_path, content)).section("leaderboard") == BY_DATA


def test_an_entry_that_data_chooses_and_that_is_not_there_is_named(tmp_path):
    read = settings.read(write(tmp_path, GOOD | {"leaderboard": {"corpora": {"own": "mine", "public": "vectara"}}}))
    with pytest.raises(ParamsError) as caught:
        read.section("leaderboard")
    assert "leaderboard.corpora has no entry 'sample', which `data` chooses; found own: mine, public: vectara" in str(
        caught.value
    )


def test_no_file(tmp_path):
    with pytest.raises(ParamsError, match=r"absent\.yaml is not there; run from the project's folder"):
        settings.read(tmp_path / "absent.yaml")


@pytest.mark.parametrize(("content", "found"), [("- data\n", "a list"), ("", "nothing"), ("sample\n", "a str")])
def test_no_keys_at_the_top(tmp_path, content, found):
    told = explain(tmp_path, content)
    assert "expected `key: value` at the top" in told
    assert told.endswith(f"found {found}")


def test_no_yaml(tmp_path):
    assert "params.yaml is not YAML" in explain(tmp_path, "data: [sample\nmodel: x")


def test_no_utf_8(tmp_path):
    file = tmp_path / "params.yaml"
    file.write_bytes("data: sample # é".encode("latin-1"))
    with pytest.raises(ParamsError, match=r"params\.yaml is not UTF-8 \(byte 15 is 0xe9\); save the file as UTF-8"):
        settings.read(file)


def test_without_settings_the_file_of_calls_is_the_users_own(monkeypatch):
    monkeypatch.setattr("pooch.os_cache", lambda name: Path("home", name))
    assert settings.own_cache() == Path("home/claimwise/calls.sqlite")


@pytest.mark.parametrize("content", ["", "- a\n- b\n", "just text"])
def test_no_mapping(tmp_path, content):
    assert "params.yaml" in explain(tmp_path, content)


@pytest.mark.parametrize("key", ["data", "model", "models", "cache", "corpora", "metrics", "score"])
def test_a_missing_key_is_named(tmp_path, key):
    message = explain(tmp_path, {name: value for name, value in GOOD.items() if name != key})
    assert f"params.yaml, {key}: Field required" in message


def test_a_key_that_stands_twice_is_refused_with_its_line(tmp_path):
    text = yaml.safe_dump(GOOD)
    message = explain(tmp_path, f"{text}models:\n  mine: {{kind: lexical}}\n")
    assert "key 'models' stands twice" in message
    assert f"line {text.count(chr(10)) + 1}," in message


def test_a_misspelt_key_at_the_top_is_named_beside_the_one_that_is_missing(tmp_path):
    content = {("cahce" if key == "cache" else key): value for key, value in GOOD.items()}
    assert "cache: Field required; found 'cahce': did you mean that?" in explain(tmp_path, content)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (changed("data", to="smaple"), ["params.yaml, data: ", "'sample', 'public' or 'own'"]),
        (changed("model", to="gpt"), ["model: found 'gpt', expected one of embedded, server"]),
        (changed("score", "metric", to=["x"]), ["params.yaml, score.metric: Extra inputs"]),
        (
            changed("score", "corpora", "public", "rose", "document", to=3),
            ["params.yaml, score.corpora.public.rose.document: Extra inputs"],
        ),
        (
            changed("score", "corpora", "publik", to={}),
            ["params.yaml, score.corpora.publik", "'sample', 'public' or 'own'"],
        ),
        (changed("score", "corpora", "public", "rose", "documents", to="few"), ["rose.documents", "valid integer"]),
        (changed("score", "corpora", "public", "rose", "documents", to=0), ["rose.documents", "greater than or equal"]),
        (
            changed("score", "metrics", to=["word-overlpa"]),
            ["score.metrics: found 'word-overlpa', expected one of `metrics`: word-overlap"],
        ),
        (
            changed("score", "corpora", "public", "rose", "metrics", to=["acuevl"]),
            ["score.corpora.public.rose.metrics: found 'acuevl', expected one of `score.metrics`: word-overlap"],
        ),
        (  # a metric that no stage runs
            changed("score", "corpora", "public", "rose", "metrics", to=["acueval"])
            | {"metrics": {"word-overlap": {"judge": "word-overlap"}, "acueval": {"judge": "word-overlap"}}},
            ["score.corpora.public.rose.metrics: found 'acueval', expected one of `score.metrics`: word-overlap"],
        ),
        (
            changed("score", "corpora", "public", to={"roes": {}}),
            ["score.corpora.public: found 'roes', expected one of `corpora.public`: rose; did you mean 'rose'?"],
        ),
        (
            changed("corpora", "sample", to={"sample": {"document": "text"}}),
            ["corpora.sample.sample: columns are named of files of yours, under 'own', only"],
        ),
        (
            changed("corpora", "own", to={"mine": "article"}),
            ["params.yaml, corpora.own: ", "{a: {document: COLUMN}}; found {'mine': 'article'}"],
        ),
        (changed("corpora", "own", to={"mine": {"document": 3}}), ["corpora.own.mine.document: ", "valid string"]),
        (changed("cache", to=None), ["params.yaml, cache: "]),
        (changed("corpora", to={"public": []}), ["corpora has no entry 'sample', which `data` chooses; found public"]),
        (changed("score", "corpora", to={"public": {}}), ["score.corpora has no entry 'sample', which `data` chooses"]),
    ],
)
def test_a_wrong_value_is_named_by_its_place(tmp_path, content, parts):
    message = explain(tmp_path, content)
    assert all(part in message for part in parts)


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Settings.model_validate(GOOD).data = "public"


@pytest.fixture(scope="module")
def shipped():
    return settings.read(Path(__file__).parent.parent / "params.yaml")


def test_the_shipped_metrics_are_those_of_the_command_line(shipped):
    assert shipped.metrics == metrics.DEFAULT_METRICS


def test_the_shipped_metrics_are_well_formed_and_scored(shipped):
    for name in shipped.score.metrics:
        metrics.specification(name, shipped.metrics)
    for corpora in shipped.score.corpora.values():
        for corpus in corpora.values():
            assert set(corpus.metrics or []) <= set(shipped.score.metrics)


def test_the_shipped_score_corpora_are_prepared(shipped):
    for data, corpora in shipped.score.corpora.items():
        assert set(corpora) <= set(shipped.corpora[data])
