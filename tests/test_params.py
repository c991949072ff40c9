"""params.yaml: what is read, and the messages for mistakes."""

import copy

import pytest
import yaml
from imports import ROOT

from claimwise import metrics, params
from claimwise.errors import ClaimwiseError
from claimwise.params import ParamsError, Settings

GOOD = {
    "data": "sample",
    "model": "embedded",
    "notebooks": ["leaderboard"],
    "models": {"embedded": {"kind": "embedded"}, "server": {"kind": "openai", "model": "m"}},
    "cache": "cache/calls.sqlite",
    "metrics": {"word-overlap": {"judge": "word-overlap"}, "acueval": {"judge": "word-overlap"}},
    "score": {"metrics": ["word-overlap"]},
    "datasets": {
        "sample": {
            "corpora": ["sample"],
            "score": {"sample": {"metrics": ["word-overlap"]}},
            "leaderboard": {"corpus": "sample"},
        },
        "public": {"corpora": ["rose"], "score": {"rose": {"metrics": ["word-overlap"], "documents": 5}}},
    },
    "leaderboard": {"seed": 0, "draws": 10, "metric": "word-overlap", "beside": []},
}
SHIPPED = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))


def write(folder, content):
    path = folder / "params.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return path


def explain(folder, content):
    with pytest.raises(ParamsError) as caught:
        params.read(write(folder, content))
    assert isinstance(caught.value, ClaimwiseError)
    return str(caught.value)


def changed(*place, to, of=GOOD):
    content = copy.deepcopy(of)
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = to
    return content


def test_a_good_file(tmp_path):
    read = params.read(write(tmp_path, GOOD))
    assert read.model_entry("server") == {"kind": "openai", "model": "m"}
    assert read.dataset.corpora == {"sample": {}}
    assert read.datasets["public"].score["rose"].documents == 5
    assert read.dataset.score["sample"].documents is None


def test_a_notebook_gets_its_section_that_of_the_dataset_data_and_model(tmp_path):
    read = params.read(write(tmp_path, GOOD))
    given = GOOD["leaderboard"] | {"data": "sample", "model": "embedded", "corpus": "sample"}
    assert read.parameters("leaderboard") == given


def test_a_notebook_without_a_section_or_without_one_for_the_dataset(tmp_path):
    read = params.read(write(tmp_path, changed("data", to="public")))
    with pytest.raises(ParamsError, match="no section 'leaderbord'; did you mean 'leaderboard'"):
        read.parameters("leaderbord")
    with pytest.raises(ParamsError, match=r"datasets\.public has no section 'leaderboard'.*`notebooks`"):
        read.parameters("leaderboard")


@pytest.mark.parametrize(
    ("own", "read"),
    [
        (["mine", "news"], {"mine": {}, "news": {}}),
        ({"mine": None, "news": {"document": "article"}}, {"mine": {}, "news": {"document": "article"}}),
    ],
)
def test_files_of_ones_own_are_names_or_names_with_columns(tmp_path, own, read):
    content = changed("datasets", "own", to={"corpora": own})
    assert params.read(write(tmp_path, content)).datasets["own"].corpora == read


def test_workers_are_of_dask(tmp_path):
    told = explain(tmp_path, changed("engine", to={"kind": "here", "workers": 2}))
    assert "engine: workers is for kind: dask; name this kind, or leave it out" in told


def test_no_file(tmp_path):
    with pytest.raises(ParamsError, match=r"absent\.yaml is not there; run from the project's folder"):
        params.read(tmp_path / "absent.yaml")


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
        params.read(file)


@pytest.mark.parametrize("key", ["data", "model", "models", "cache", "datasets", "metrics", "score", "notebooks"])
def test_a_missing_key_is_named(tmp_path, key):
    message = explain(tmp_path, {name: value for name, value in GOOD.items() if name != key})
    assert f"params.yaml, {key}: Field required" in message


def test_a_key_that_stands_twice_is_refused_with_its_line(tmp_path):
    text = yaml.safe_dump(GOOD)
    message = explain(tmp_path, f"{text}models:\n  mine: {{kind: lexical}}\n")
    assert "key 'models' appears twice" in message
    assert f"line {text.count(chr(10)) + 1}," in message


def test_a_misspelt_key_at_the_top_is_named_beside_the_one_that_is_missing(tmp_path):
    content = {("cahce" if key == "cache" else key): value for key, value in GOOD.items()}
    assert "cache: Field required; found 'cahce': did you mean that?" in explain(tmp_path, content)
    content = {key: value for key, value in GOOD.items() if key != "model"} | {"model_size": {}}  # a notebook's section
    assert explain(tmp_path, content).endswith("model: Field required")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (changed("data", to="smaple"), ["data: found 'smaple', expected one of `datasets`", "did you mean 'sample'?"]),
        (changed("model", to="gpt"), ["model: found 'gpt', expected one of `models`: embedded, server"]),
        (changed("notebooks", to=["leaderbord"]), ["notebooks: found 'leaderbord'", "did you mean 'leaderboard'?"]),
        (changed("score", "metric", to=["x"]), ["params.yaml, score: unknown key 'metric'; did you mean 'metrics'?"]),
        (changed("score", "metrics", to=["word-overlpa"]), ["score.metrics: found 'word-overlpa'", "word-overlap"]),
        (
            changed("datasets", "public", "score", "rose", to={"metrics": [], "document": 3}),
            ["params.yaml, datasets.public.score.rose: unknown key 'document'; did you mean 'documents'?"],
        ),
        (
            changed("datasets", "public", "score", "rose", "documents", to="few"),
            ["datasets.public.score.rose.documents", "valid integer"],
        ),
        (
            changed("datasets", "public", "score", "rose", "documents", to=0),
            ["rose.documents", "greater than or equal"],
        ),
        (
            changed("datasets", "public", "score", "rose", "validation_documents", to={"acueval": 5}),
            ["score.rose.validation_documents: found 'acueval', expected one of its `metrics`: word-overlap"],
        ),
        (  # a metric that no stage runs
            changed("datasets", "public", "score", "rose", "metrics", to=["acueval"]),
            ["datasets.public.score.rose.metrics: found 'acueval', expected one of `score.metrics`: word-overlap"],
        ),
        (
            changed("datasets", "public", "score", to={"roes": {"metrics": []}}),
            ["datasets.public.score: found 'roes', expected one of `datasets.public.corpora`: rose", "'rose'?"],
        ),
        (
            changed("datasets", "sample", "corpora", to={"sample": {"document": "text"}}),
            [
                "datasets.sample.corpora.sample: found {'document': 'text'}; columns are named of files of yours, under 'own', only"
            ],
        ),
        (
            changed("datasets", "own", to={"corpora": {"mine": {"test": 60}}}),
            ["datasets.own.corpora.mine: found {'test': 60}", "documents are counted of other corpora, by split"],
        ),
        (
            changed("datasets", "sample", "corpora", to={"sample": {"test": 0}}),
            ["datasets.sample.corpora.sample.test", "found 0"],
        ),
        (
            changed("datasets", "sample", "leaderboard", "draws", to="many"),
            ["datasets.sample.leaderboard.draws: ", "found 'many'"],
        ),
        (
            changed("datasets", "sample", "leaderbord", to={}),
            ["datasets.sample: found 'leaderbord', expected one of the notebooks' sections: leaderboard"],
        ),
        (changed("datasets", "own", to={"corpora": "mine"}), ["datasets.own.corpora", "found 'mine'"]),
        (changed("cache", to=None), ["params.yaml, cache: "]),
        (changed("metrics", "../..", to={"judge": "word-overlap"}), ["found the name '../..', expected letters"]),
        (changed("metrics", "mine-1.5", to={"judge": "word-overlap"}), ["found the name 'mine-1.5'", "without a dot"]),
    ],
)
def test_a_wrong_value_is_named_by_its_place(tmp_path, content, parts):
    message = explain(tmp_path, content)
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        ("meta_evaluation.draws", "many", "meta_evaluation.draws: Input should be a valid integer, found 'many'"),
        ("acu_generation.seed", "zero", "acu_generation.seed: Input should be a valid integer, found 'zero'"),
        ("acu_generation.seed", "0", "acu_generation.seed: Input should be a valid integer, found '0'"),
        ("preference_bias.draws", 0, "preference_bias.draws: Input should be greater than or equal to 1, found 0"),
        ("refinement.per_origin", "two", "refinement.per_origin: Input should be a valid integer, found 'two'"),
        ("embedded_training.pooling", "max", "embedded_training.pooling: Input should be 'min' or 'mean', found 'max'"),
        (
            "leaderboard.metric",
            "acuval",
            "leaderboard.metric: found 'acuval', expected one of the metrics that `score` runs on sample: acueval, "
            "factored, sentences, holistic, word-overlap, fenice, acueval-qwen, sentences-qwen, holistic-qwen, "
            "sentences-qwen-0-5b, summary-qwen-0-5b, sentences-smollm2, summary-smollm2, sentences-claimwise, weakest-claimwise, summary-claimwise, summary-qwen, sentences-claimwise-1-5b, "
            "weakest-claimwise-1-5b, summary-claimwise-1-5b, sentences-claimwise-ensemble, "
            "holistic-claimwise-ensemble; did you mean 'acueval'?",
        ),
        ("leaderboard.metrik", "x", "leaderboard: unknown key 'metrik'; did you mean 'metric'?"),
        ("leaderboard", 5, "leaderboard: Input should be a valid dictionary, found 5"),
        (
            "leaderbord",
            {},
            "leaderbord: unknown section; did you mean 'leaderboard'? expected one of academic_summaries",
        ),
        (
            "meta_evaluation.baseline",
            "x",
            "meta_evaluation.baseline: found 'x', expected one of `metrics`: acue",
        ),
        (
            "acu_verification.reference",
            "acueval-verify-fewshot-doc",
            "acu_verification.reference: found 'acueval-verify-fewshot-doc', expected one of `prompts`: ",
        ),
        (
            "acu_generation.prompts",
            ["acueval-verify-zeroshot"],
            "acu_generation.prompts.0: prompt 'acueval-verify-zeroshot' is for verify, expected one for decompose: ",
        ),
        ("acu_generation.prompts", ["mine.txt"], "acu_generation.prompts.0: no prompt file 'mine.txt' in "),
        (
            "datasets.sample.leaderboard.corpus",
            "smaple",
            "datasets.sample.leaderboard.corpus: found 'smaple', expected one of the dataset's `corpora`: sample, sample_presence, "
            "sample_papers; did you mean 'sample'?",
        ),
        (
            "embedded_model.variants",
            ["embeded"],
            "embedded_model.variants.0: found 'embeded', expected one of `models`",
        ),
        (
            "models.embedded.weights",
            "zeroshot",
            "models.embedded: kind embedded: option 'weights': found 'zeroshot'; Input should be 'supervised' or",
        ),
        (
            "models.embedded.kind",
            "embeded",
            "models.embedded: unknown kind of model 'embeded'; did you mean 'embedded'? expected ",
        ),
        ("sed", "zero", "sed: unknown key, found 'zero'"),
        ("metrik", "many", "metrik: unknown key; did you mean 'metrics'? found 'many'"),
        ("metrics.acueval.aggregate", "men", "metrics.acueval: metric 'acueval' in the settings: aggregate: Input"),
        ("metrics.acueval.verify", "none", "metrics.acueval: no prompt named 'none'; `claimwise prompts` lists"),
        (
            "factored_verification.methods.factored.verify",
            "factored-verify-fewsht",
            "factored_verification.methods.factored: no prompt named 'factored-verify-fewsht'; did you mean 'factored-",
        ),
    ],
)
def test_of_a_wrong_value_key_value_and_what_is_allowed_are_said_in_a_line(tmp_path, place, value, told):
    message = explain(tmp_path, changed(*place.split("."), to=value, of=SHIPPED))
    assert message.splitlines()[0].startswith(f"{tmp_path / 'params.yaml'}, {told}")


def test_a_notebook_that_is_not_run_may_wait(tmp_path):
    content = changed("leaderboard", "metric", to="acuval") | {"notebooks": []}
    with pytest.raises(ParamsError, match=r"leaderboard\.metric: found 'acuval'"):
        params.read(write(tmp_path, content)).parameters("leaderboard")


def test_a_notebook_of_ones_own_has_a_section_without_schema(tmp_path):
    content = changed("datasets", "sample", "mine", to={}) | {"mine": {"shade": 3}, "notebooks": ["mine"]}
    assert params.read(write(tmp_path, content)).parameters("mine")["shade"] == 3


def test_settings_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Settings.model_validate(GOOD).data = "public"


def test_the_shipped_file_is_good_and_its_metrics_are_those_of_the_command_line():
    shipped = params.read(ROOT / "params.yaml")
    # Those of models that the command line does not know, or of other settings, are the pipeline's alone.
    known = {name: entry for name, entry in shipped.metrics.items() if not {"model", "alignment"} & set(entry)}
    assert known == metrics.DEFAULT_METRICS
    for name in shipped.score.metrics:
        metrics.specification(name, shipped.metrics)
    for data in ("sample", "public"):
        assert set(shipped.datasets[data].sections) == {*shipped.notebooks, "scoreboard"}


def test_a_dataset_s_value_counts_for_that_dataset_and_no_other(tmp_path):
    settings = params.read(write(tmp_path, changed("datasets", "sample", "leaderboard", "draws", to=7)))
    assert settings.parameters("leaderboard")["draws"] == 7
    assert settings.sections["leaderboard"]["draws"] == GOOD["leaderboard"]["draws"]


def test_dvc_writes_the_shipped_file_as_it_stands(tmp_path):
    """`dvc exp run -S` reads and writes params.yaml: one changed value is one changed line."""
    from dvc.utils.hydra import apply_overrides

    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    file = tmp_path / "params.yaml"
    file.write_text(text, encoding="utf-8")
    apply_overrides(file, ["meta_evaluation.draws=500"])
    written = file.read_text(encoding="utf-8")
    assert [line for line in written.splitlines() if line not in text.splitlines()] == ["  draws: 500"]
    assert len(written.splitlines()) == len(text.splitlines())


def test_a_wrong_model_is_named_where_it_stands_and_not_where_it_is_used(tmp_path):
    content = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    content["models"]["lexical"]["kind"] = "lexcal"
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(ParamsError) as caught:
        params.read(file)
    assert str(caught.value).startswith(
        f"{file}, models.lexical: unknown kind of model 'lexcal'; did you mean 'lexical'"
    )
    assert "\n" not in str(caught.value)
