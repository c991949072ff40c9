"""Every prompt file: its header, the variables it shows, and that nothing is left unfilled."""

from dataclasses import replace

import jinja2
import pytest
from jinja2 import meta

from claimwise import prompts
from claimwise.models.base import Source
from claimwise.prompts import parsers, sources

SOURCES = [Source("Ling (2009)", "A title", "An abstract."), Source("Benton (2010)", "Another", "More.")]
REQUIRED = {
    "decompose": {"Summary"},
    "verify": {"Document", "ACU"},
    "judge": {"Document", "Summary"},
    "critique": {"Document", "Statement"},
    "revise": {"Document", "Summary"},
    "summarise": {"Sources", "Question"},
}
OPTIONAL = {"critique": {"References"}, "revise": {"Unsupported", "Comment"}}
VALUES = {
    "Document": "DOC",
    "Summary": "SUM",
    "ACU": "CLAIM",
    "Extra": "EXTRA",
    "Statement": "STATEMENT",
    "References": [],
    "Unsupported": ["UNSUPPORTED"],
    "Comment": "COMMENT",
    "Sources": SOURCES,
    "Question": "QUESTION",
}


def shown(prompt: prompts.Prompt) -> set[str]:
    return meta.find_undeclared_variables(jinja2.Environment().parse(prompt.template)) - {"demonstrations"}


@pytest.mark.parametrize("name", prompts.names())
def test_prompt_shows_the_variables_of_its_role_and_no_other(name):
    prompt = prompts.load(name)
    required = REQUIRED[prompt.role] | ({"Extra"} if prompt.context == "document+extra" else set())
    found = shown(prompt)
    assert required <= found
    assert found - required <= OPTIONAL.get(prompt.role, set())
    if prompt.role == "revise":
        assert found & {"Unsupported", "Comment"}


@pytest.mark.parametrize("name", prompts.names())
def test_prompt_renders_and_a_missing_variable_is_an_error(name):
    prompt = prompts.load(name)
    values = {key: VALUES[key] for key in shown(prompt)}
    text = prompt.render(**values)
    assert all(value in text for value in values.values() if isinstance(value, str))
    assert "{{" not in text
    assert "{%" not in text
    assert not text.endswith("\n")
    for key in values:
        with pytest.raises(prompts.PromptError, match=f"{name}.*{key}"):
            prompt.render(**{k: v for k, v in values.items() if k != key})


@pytest.mark.parametrize("name", prompts.names())
def test_prompt_names_a_parser_and_where_it_comes_from(name):
    prompt = prompts.load(name)
    assert prompt.reply in parsers.KINDS
    assert len(prompt.source) > 10


def test_shots_share_one_template_and_differ_in_their_demonstrations():
    shots = [prompts.load(f"acueval-decompose-{n}shot") for n in (0, 1, 3, 5)]
    assert len({p.template for p in shots}) == 1
    assert [len(p.demonstrations) for p in shots] == [0, 1, 3, 5]
    assert len({p.fingerprint for p in shots}) == 4
    assert shots[0].render(Summary="It rained.") == (
        "Please breakdown the following passage into independent facts: It rained."
    )


@pytest.mark.parametrize(
    "change",
    [
        {"template": "other"},
        {"scope": "sentence"},
        {"context": "retrieved"},
        {"demonstrations": ()},
        {"max_tokens": 9},
        {"stop": ("Example",)},
        {"reply": "final-yes-no"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_everything_that_can_change_a_result_changes_the_fingerprint(change):
    prompt = prompts.load("factored-verify-fewshot")
    assert replace(prompt, **change).fingerprint != prompt.fingerprint
    assert replace(prompt, name="renamed", source="elsewhere").fingerprint == prompt.fingerprint


def test_what_a_language_model_is_asked_for_besides_the_text():
    assert prompts.load("fenice-decompose-json").decoding.schema["required"] == ["claims"]
    decoding = prompts.load("acueval-verify-zeroshot").decoding
    assert (decoding.max_tokens, decoding.choices, decoding.schema) == (5, ("Yes", "No"), None)
    written = replace(prompts.load("acueval-verify-zeroshot"), reply="final-yes-no").decoding
    assert written.choices == ()  # a text is asked for, and read by another parser


def test_few_shot_verification_shows_labels_and_leaves_the_answer_open():
    text = prompts.load("factored-verify-fewshot").render(Document="DOC", ACU="CLAIM")
    assert text.count("Supported: Yes") == text.count("Supported: No") == 2
    assert text.endswith("Example 5:\n\nDocument: DOC\n\nClaim: CLAIM\n\nSupported:")


def test_claim_critique_names_its_papers_and_counts_them():
    prompt = prompts.load("factored-critique-claim")
    document = sources.joined(SOURCES)
    two = prompt.render(Document=document, Statement="S", References=sources.references(document))
    assert "The claim is from Ling (2009), Benton (2010):\n\nLing (2009):\n\nTitle: A title\n\nAbstract: " in two
    assert "supported by the abstracts. Finally" in two
    one = prompt.render(Document="It rained.", Statement="S", References=sources.references("It rained."))
    assert "The claim is from this document:\n\nIt rained." in one
    assert "supported by the abstract. Finally" in one


def test_summaries_are_asked_with_every_source_in_order():
    text = prompts.load("factored-summarise").render(Sources=SOURCES, Question="Why?")
    assert text.index("Paper 1: Ling (2009)\n\nTitle: A title") < text.index("Paper 2: Benton (2010)")


def test_unknown_prompt_lists_those_there_are():
    with pytest.raises(prompts.PromptError, match="acueval-verify-zeroshot"):
        prompts.load("acueval-verify-zero")
