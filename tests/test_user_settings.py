"""What `claimwise score` reads from a short params.yaml, and the messages for mistakes."""

from pathlib import Path

import pytest
import yaml
from imports import ROOT

from claimwise.metrics import DEFAULT_METRICS
from claimwise.params import ParamsError
from claimwise.user_settings import DEFAULT_MODELS, read_settings

pytestmark = pytest.mark.usefixtures("folder")

GPT = {"gpt": {"kind": "openai", "model": "m"}}


def read(content=None):
    path = Path("params.yaml")
    if content is not None:
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return read_settings(path)


def test_without_a_file_all_is_default():
    found = read()
    assert (found.metrics, found.models, found.model) == (DEFAULT_METRICS, DEFAULT_MODELS, "embedded")
    assert found.cache == Path("home/claimwise/calls.sqlite")


def test_another_file_that_is_not_there_is_a_mistake():
    for params in (Path("parms.yaml"), Path("deep/params.yaml")):
        with pytest.raises(ParamsError, match=f"{params} is not there; run from the project's folder or name the file"):
            read_settings(params)


def test_the_default_models_are_those_of_the_projects_params():
    listed = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["models"]
    for name, entry in DEFAULT_MODELS.items():
        listed[name].pop("recorded", None)  # finished calls lie in the project, not in the package
        assert listed[name] == entry


def test_what_a_short_file_leaves_out_is_default():
    found = read({"model": "gpt", "models": GPT})
    assert (found.metrics, found.models, found.model) == (DEFAULT_METRICS, DEFAULT_MODELS | GPT, "gpt")
    assert found.cache == Path("home/claimwise/calls.sqlite")
    mine = {"mine": {"judge": "word-overlap"}}
    found = read({"metrics": mine, "cache": "calls.sqlite"})
    assert (found.metrics, found.model, found.cache) == (DEFAULT_METRICS | mine, "embedded", Path("calls.sqlite"))
    assert read({"cache": "~/calls.sqlite"}).cache == Path.home() / "calls.sqlite"


def test_of_the_pipelines_file_nothing_is_filled_in():
    found = read_settings(ROOT / "params.yaml")
    known = {name: entry for name, entry in found.metrics.items() if not {"model", "alignment"} & set(entry)}
    assert known == DEFAULT_METRICS
    assert "transformers" in found.models


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"model": "gpt", "modles": GPT},
            "params.yaml, modles: unknown key; did you mean 'models'[?] expected model, models",
        ),
        ({"model": "gpt", "models": [GPT]}, "params.yaml, models: Input should be a valid dictionary, found .{'gpt'"),
        ({"models": {"gpt": "m"}}, r"params.yaml, models\.gpt: Input should be a valid dictionary, found 'm'"),
        ({"models": GPT, "metrics": None}, "params.yaml, metrics: Input should be a valid dictionary, found None"),
        ("models: {}\nmodels: {}", "key 'models' appears twice; keep one"),
        ("models: {", "params.yaml is not YAML"),
        (
            {"model": {"depth": 3}, "lr": 0.1},
            r"params.yaml, model: Input should be a valid string, found .*\nparams.yaml, lr: unknown key; .*\n"
            r"If params.yaml is another program's, .* --params FILE$",
        ),
        ("[1]", "expected `key: value` at the top, .*\nIf params.yaml is another program's"),
        ("- model", "expected `key: value` at the top, as in `model: lexical`; found a list"),
        (
            {"train": {"epochs": 3}},
            "params.yaml, train: unknown key; .*\nIf params.yaml is another program's, .* --params FILE",
        ),
        (
            {"model": "lexical", "zoo": 1},
            r"^params.yaml, zoo: unknown key; expected model, models, metrics, cache\nIf params.yaml is another program's",
        ),
    ],
)
def test_a_wrong_short_file_is_told_what_is_wrong(content, message):
    with pytest.raises(ParamsError, match=message):
        read(content)


@pytest.mark.parametrize("content", ["", "# nothing to set\n"])
def test_settings_of_ones_own_may_be_empty_and_stand_beside_another_programs(content):
    Path("params.yaml").write_text("model: resnet50\nlr: 0.1\n")
    Path("mine.yaml").write_text(content)
    found = read_settings(Path("mine.yaml"))
    assert (found.metrics, found.models, found.model) == (DEFAULT_METRICS, DEFAULT_MODELS, "embedded")
    Path("mine.yaml").write_text("lr: 0.1")
    with pytest.raises(ParamsError, match=r"^mine.yaml, lr: unknown key; expected model, models, metrics, cache$"):
        read_settings(Path("mine.yaml"))
