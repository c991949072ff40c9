"""docs/: the tables of options are complete, the settings can be read, and no link is broken."""

import re

import pytest
import yaml
from imports import ROOT

from claimwise import metrics
from claimwise.models.openai import OpenAIOptions
from claimwise.models.options import TransformersOptions

DOCS = sorted((ROOT / "docs").glob("*.md"))
SHARED = "Options of all language models"
KINDS = {"transformers": TransformersOptions, "openai": OpenAIOptions}


@pytest.mark.parametrize("kind", KINDS)
def test_the_tables_of_options_have_all_of_them_with_their_defaults(kind):
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    parts = [page.split(f"\n## {heading}\n")[1].split("\n## ")[0] for heading in (SHARED, f"`kind: {kind}`")]
    told = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", "\n".join(parts), re.MULTILINE))
    fields = KINDS[kind].model_fields
    assert sorted(told) == sorted(fields)
    for name, field in fields.items():
        default = field.get_default(call_default_factory=True)
        if field.is_required():
            assert told[name] == "required"
        else:
            read = KINDS[kind].model_validate({"model": "m", name: yaml.safe_load(told[name])})
            assert getattr(read, name) == default, name


def _settings():
    """Every snippet of YAML in docs, by page."""
    for page in DOCS:
        for snippet in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            yield pytest.param(yaml.safe_load(snippet), id=page.stem)


@pytest.mark.parametrize("found", list(_settings()))
def test_snippets_are_entries_that_can_be_read(found):
    for entry in found.get("models", {}).values():
        options = {key: value for key, value in entry.items() if key != "kind"}
        if entry["kind"] in KINDS:
            KINDS[entry["kind"]].model_validate(options)
    for name in found.get("metrics", {}):
        spec = metrics.specification(name, found["metrics"])
        assert not spec.alignment or spec.alignment.entailment["kind"] in ("embedded", "transformers")


@pytest.mark.parametrize(
    "page", [*DOCS, ROOT / "README.md", *ROOT.glob("data/*/README.md")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)", text):
        target = page.parent / path if path else page
        assert target.exists(), path
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings], anchor
