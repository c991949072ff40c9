"""Every prompt file: its header, the variables it shows, and that none is left unfilled."""

import jinja2
import pytest
from jinja2 import meta

from claimwise import prompts
from claimwise.models.base import Source
from claimwise.prompts import sources

SOURCES = [Source("Ling (2009)", "A title", "An abstract."), Source("Benton (2010)", "Another", "More.")]
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
    assert prompt.role != "revise" or values.keys() & {"Unsupported", "Comment"}
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
    assert prompt.model_copy(update=change).fingerprint != prompt.fingerprint
    assert prompt.model_copy(update={"name": "renamed", "source": "elsewhere"}).fingerprint == prompt.fingerprint


def test_what_a_language_model_is_asked_for_besides_the_text():
    assert prompts.load("fenice-decompose-json").decoding.schema["required"] == ["claims"]
    written = prompts.load("acueval-verify-zeroshot").model_copy(update={"reply": "final-yes-no"}).decoding
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


def test_a_title_of_several_lines_is_read_back_as_one():
    broken = [sources.Source("Ling (2009)", "A title\r\nof two lines", "It helped."), *SOURCES[1:]]
    assert next(source.title for source in sources.separated(sources.joined(broken))) == "A title of two lines"
    assert sources.references(sources.joined(broken)) == [source.reference for source in broken]


def test_summaries_are_asked_with_every_source_in_order():
    text = prompts.load("factored-summarise").render(Sources=SOURCES, Question="Why?")
    assert text.index("Paper 1: Ling (2009)\n\nTitle: A title") < text.index("Paper 2: Benton (2010)")


@pytest.mark.parametrize("name", ["acueval-verify-zero", "acueval-verify-zershot.txt"])
def test_of_an_unknown_prompt_the_nearest_is_named_and_how_to_list_them(name):
    with pytest.raises(
        prompts.PromptError, match=r"did you mean 'acueval-verify-zeroshot'\? `claimwise prompts` "
    ) as said:
        prompts.load(name)
    assert str(said.value).count("acueval-") == 2


VERIFY = """---
source: hand-written here
role: verify
reply: yes-no
max_tokens: 5
---
{{ Document }} / {{ ACU }}
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Writes a prompt file into the working folder; returns its path as it would be named."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="prompts/mine.txt", encoding="utf-8"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding=encoding)
        return name

    return write


def test_a_prompt_by_its_path(mine, tmp_path):
    prompt = prompts.load(mine(VERIFY), "verify")
    assert (prompt.name, prompt.role, prompt.max_tokens) == ("prompts/mine.txt", "verify", 5)
    assert prompt.render(Document="D", ACU="C") == "D / C"
    assert prompts.load(str(tmp_path / "prompts" / "mine.txt")).fingerprint == prompt.fingerprint
    assert prompts.load(mine(VERIFY, "short.txt")).fingerprint == prompt.fingerprint


def test_an_edited_file_is_another_prompt_to_every_cache(mine):
    first = prompts.load(mine(VERIFY))
    second = prompts.load(mine(VERIFY.replace(" / ", "\n")))
    assert first.fingerprint != second.fingerprint
    assert first.render(Document="D", ACU="C") != second.render(Document="D", ACU="C")


def test_a_file_of_that_name_in_the_working_folder_is_pointed_at(mine):
    with pytest.raises(prompts.PromptError) as error:
        prompts.load("mine")
    assert "is here" not in str(error.value)
    mine(VERIFY, "mine.txt")
    with pytest.raises(
        prompts.PromptError, match=r"no prompt named 'mine'; .*; mine\.txt is here: --prompt mine\.txt$"
    ):
        prompts.load("mine")


def test_a_windows_file_is_read_alike(mine):
    plain = prompts.load(mine(VERIFY)).fingerprint
    assert prompts.load(mine("\ufeff" + VERIFY.replace("\n", "\r\n"))).fingerprint == plain


def test_template_and_demonstrations_stand_beside_the_file_or_in_the_package(mine):
    header = "---\nsource: mine\nrole: decompose\nreply: list\n{}---\n"
    mine("- {passage: It rained., claims: [It was wet.]}\n- {passage: No., claims: []}\n", "prompts/shown.yaml")
    path = mine(header.format("template: acueval-decompose-5shot\ndemonstrations: shown.yaml\nshots: 1\n"))
    own = prompts.load(path)
    assert own.template == prompts.load("acueval-decompose-5shot").template
    assert own.render(Summary="We left.").startswith(
        "Please breakdown the following passage into independent facts: It rained.\n\n- It was wet.\n"
    )
    mine(header.format("") + "Mine: {{ Summary }}", "prompts/base.txt")
    assert prompts.load(mine(header.format("template: base\n"))).render(Summary="S") == "Mine: S"


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (("role: verify", "role: verfy"), ["line 3: role: ", "'decompose', 'verify', 'judge'", "found 'verfy'"]),
        (("role: verify\n", ""), ["line 1: role: Field required"]),
        (("yes-no", "list"), ["line 4: reply: expected a kind of reply for verify (yes-no,", "found 'list'"]),
        (("max_tokens: 5", "max_token: 5"), ["line 5: max_token: unknown key; did you mean 'max_tokens'"]),
        (("max_tokens: 5", "max_tokens: 0"), ["line 5: max_tokens: ", "greater than or equal to 1, found 0"]),
        (("max_tokens: 5", "shots: 2"), ["line 5: shots: found 2, and no `demonstrations`"]),
        (("max_tokens: 5", "template: x"), ["line 5: template: expected no text"]),
        (("max_tokens: 5", "conclude: So?"), ["line 5: conclude: expected only with a reply that reasons", "'yes-no'"]),
        (
            ("role: verify\nreply: yes-no", "role: decompose\nreply: list\ncontext: document"),
            ["line 5: context: expected only in a prompt for verify", "for decompose"],
        ),
        (
            ("max_tokens: 5", "scope: sentence"),
            ["line 5: scope: expected only in a prompt for decompose", "for verify"],
        ),
        (
            ("max_tokens: 5", "demonstrations: x.yaml"),
            ["line 5: demonstrations: expected a file in prompts", "'x.yaml'"],
        ),
        (("role: verify", "role: [verify"), ["line 4: not YAML"]),
        (("---\nsource", "source"), ["line 1: expected a line '---'", "found 'source: hand-written here' first"]),
        (
            ("{{ ACU }}", "\n{{ Claim }}"),
            ["line 8: unknown placeholder {{ Claim }}", "shows {{ ACU }}, {{ Document }}"],
        ),
        (
            ("/ {{ ACU }}", ""),
            ["line 7: the text lacks {{ ACU }}", "a prompt for verify shows {{ ACU }}, {{ Document }}"],
        ),
        (("{{ ACU }}", "\n\n{{ ACU"), ["line 9: not a template"]),
        (("{{ ACU }}", "{{ ACU | shout }}"), ["line 7: not a template", "shout"]),
        (("role: verify", "role: verify\nrole: judge"), ["line 4: not YAML (key 'role' appears twice; keep one)"]),
        (
            ("role: verify\nreply: yes-no\nmax_tokens: 5\n---", "role: revise\nreply: text\n---\n{{ Summary }}"),
            ["unknown placeholder {{ ACU }}", "and perhaps some of {{ Comment }}, {{ Unsupported }}"],
        ),
    ],
    ids=lambda value: value[1][:30] if isinstance(value, tuple) else "",
)
def test_a_wrong_prompt_file_is_told_by_line_and_what_was_expected(mine, change, parts):
    path = mine(VERIFY.replace(*change))
    with pytest.raises(prompts.PromptError) as caught:
        prompts.load(path)
    assert str(caught.value).startswith(f"prompt file {path}, line ")
    assert all(part in str(caught.value) for part in parts), str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ 9 // (ACU | length) }}", "integer division or modulo by zero"),
        ("{{ ACU.__class__ }}", "unsafe"),
        ("{% for i in range(10 ** 10) %}x{% endfor %}", "Range too big"),
    ],
)
def test_a_prompt_that_a_text_cannot_fill_is_told_by_its_name(mine, text, message):
    prompt = prompts.load(mine(VERIFY + text))
    with pytest.raises(prompts.PromptError, match=rf"prompt prompts/mine\.txt cannot be filled: .*{message}"):
        prompt.render(Document="D", ACU="")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- {passage: a}\n", r"line 6: shots: expected 1 to 1, as shown\.yaml has; found 3"),
        (
            "- {passage: a}\n- {text: b}\n- {passage: c}\n",
            r"line 5: demonstrations\.1\.passage: Field required\n.*line 5: demonstrations\.1\.text: Extra inputs are not",
        ),
        ("passage: a\n", r"shown\.yaml: expected a list of demonstrations"),
        ("- [", r"shown\.yaml: not YAML"),
        ("- {passage: a, passage: b}\n", r"shown\.yaml: not YAML: key 'passage' appears twice; keep one"),
    ],
)
def test_wrong_demonstrations_are_told(mine, content, message):
    mine(content, "prompts/shown.yaml")
    path = mine(VERIFY.replace("max_tokens: 5", "demonstrations: shown.yaml\nshots: 3"))
    with pytest.raises(prompts.PromptError, match=message):
        prompts.load(path)


def test_a_prompt_file_for_another_role_in_another_encoding_or_that_is_not_there(mine):
    with pytest.raises(prompts.PromptError, match=r"'prompts/mine\.txt' is for verify, expected one for judge"):
        prompts.load(mine(VERIFY), "judge")
    with pytest.raises(prompts.PromptError, match=r"mine\.txt: not UTF-8 \(byte 15 is 0xe9\)"):
        prompts.load(mine("---\nsource: caf\u00e9\n---\n", encoding="latin-1"))
    with pytest.raises(prompts.PromptError, match=r"no prompt file 'prompts/absent\.txt' in .*; `claimwise prompts`"):
        prompts.load("prompts/absent.txt")
    with pytest.raises(prompts.PromptError, match=r"did you mean 'acueval-verify-zeroshot'\? .*, without \.txt"):
        prompts.load("acueval-verify-zeroshot.txt")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (f"shots: {'9' * 5000}\n", "a value cannot be read: Exceeds the limit"),
        (f"stop: {'[' * 1000}\n", "a value cannot be read: maximum recursion depth"),
    ],
)
def test_a_value_that_cannot_be_read_is_told(mine, header, message):
    with pytest.raises(prompts.PromptError, match=r"mine\.txt, line \d+: ") as caught:
        prompts.load(mine(VERIFY.replace("max_tokens: 5\n", f"max_tokens: 5\n{header}")))
    assert message in str(caught.value)
