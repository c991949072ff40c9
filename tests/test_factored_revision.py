"""Algorithm 1 on models with known replies: what is checked, what is fed back, when the rounds end."""

import pytest
from fakes import MUMBLE, FakeModel
from texts import PAPERS

from claimwise import models, prompts
from claimwise.metrics.factored.revise import (
    CLEAN,
    LAST,
    UNCHANGED,
    UNCHECKED,
    UNJUDGED,
    UNREAD,
    WORSE,
    Draft,
    criticise,
    factored_critique,
    refine,
    self_critique,
)
from claimwise.metrics.factored.sentences import statements
from claimwise.models.base import Critique, Text
from claimwise.models.lexical import LexicalModel
from claimwise.prompts.sources import Source
from claimwise.reasons import NOT_ASKED

PROMPTS = {"critique_prompt": "factored-critique-claim", "revise_prompt": "factored-revise-critiques"}
WHOLE = {"critique_prompt": "factored-critique-self", "revise_prompt": "factored-revise-self"}


class Scripted(FakeModel):
    """Critiques by a list of unsupported sentences; revises by a table."""

    def __init__(self, wrong: set[str], revisions: dict[str, str | None]):
        super().__init__()
        self.wrong, self.revisions = wrong, revisions
        self.seen: list[tuple[str, str]] = []
        self.told: list[str] = []

    def critique(self, documents, statements, prompt):
        self._count("critique", statements)
        self.seen += zip(documents, statements, strict=True)
        return [Critique(f"No: {s}", float(s not in self.wrong)) for s in statements]

    def revise(self, documents, summaries, feedback, prompt):
        self._count("revise", summaries)
        self.told += [told.comment for told in feedback]
        return [Text(self.revisions[s], None if self.revisions[s] else "empty reply") for s in summaries]


def test_a_revised_sentence_that_loses_its_citation_is_no_gain():
    cited = "It rained (Ling, 2009)."
    model = Scripted({cited, "It poured."}, {cited: "It poured."})
    [drafts] = refine(model, [PAPERS], [cited], **PROMPTS, rounds=2)
    assert drafts == [Draft(0, cited, 1, WORSE)]
    assert model.seen[-1] == (PAPERS, "It poured.")


def test_a_cited_paper_that_is_not_there_is_the_critique_and_costs_no_call():
    model = FakeModel()
    group = statements(PAPERS, "It hailed (Ek, 1999; Orr, 2001).")
    [[critique]] = criticise(model, [group], "factored-critique-claim")
    assert critique == Critique("Ek (1999), Orr (2001) are not among the papers.", 0.0)
    assert model.calls["critique"] == 0


def test_the_factored_critique_is_the_unsupported_statements_critiques():
    group = statements("It rained.", "One. Two. Three.")
    told = factored_critique(group, [Critique("a", 0.0), Critique("b", 0.5), Critique("c", 0.49)])
    assert told.unsupported == ("One.", "Three.")
    assert told.comment == (
        '- For the sentence "One." in the summary: a\n- For the sentence "Three." in the summary: c'
    )


def test_rounds_go_on_until_nothing_is_unsupported():
    model = Scripted(
        {"Ants ran.", "Bees ran."},
        {"Ants ran. Bees ran.": "Ants ran. Cows ran.", "Ants ran. Cows ran.": "Dogs ran. Cows ran."},
    )
    [drafts] = refine(model, ["doc"], ["Ants ran. Bees ran."], **PROMPTS, rounds=5)
    assert drafts == [
        Draft(0, "Ants ran. Bees ran.", 2),
        Draft(1, "Ants ran. Cows ran.", 1),
        Draft(2, "Dogs ran. Cows ran.", 0, CLEAN),
    ]
    assert model.told[0].count("For the sentence") == 2
    assert [draft.critique for draft in drafts] == [*model.told, ""]
    assert "Bees ran." not in model.told[1]


@pytest.mark.parametrize(
    ("revisions", "rounds", "result", "why"),
    [
        ({"Ants ran. Bees ran.": "Ants ran. Bees ran."}, 3, "Ants ran. Bees ran.", UNCHANGED),
        ({"Ants ran. Bees ran.": None}, 3, "Ants ran. Bees ran.", UNREAD),
        ({"Ants ran. Bees ran.": "Bees ran. Ants ran."}, 3, "Ants ran. Bees ran.", WORSE),
        (
            {"Ants ran. Bees ran.": "Ants ran. Cows ran.", "Ants ran. Cows ran.": "Ants ran."},
            1,
            "Ants ran. Cows ran.",
            LAST,
        ),
        (
            {"Ants ran. Bees ran.": "Ants ran. Cows ran.", "Ants ran. Cows ran.": "Ants ran. Dogs ran."},
            3,
            "Ants ran. Cows ran.",
            WORSE,
        ),
    ],
)
def test_rounds_end_where_nothing_more_is_gained(revisions, rounds, result, why):
    [drafts] = refine(
        Scripted({"Ants ran.", "Bees ran."}, revisions), ["doc"], ["Ants ran. Bees ran."], **PROMPTS, rounds=rounds
    )
    assert (drafts[-1].summary, drafts[-1].stopped) == (result, why)
    assert all(draft.stopped is None for draft in drafts[:-1])


def test_summaries_end_by_themselves_and_keep_their_places():
    model = Scripted({"Ants ran."}, {"Ants ran.": "Bees ran."})
    result = refine(model, ["one", "two", "three"], ["Cows ran.", "Ants ran.", ""], **PROMPTS, rounds=2)
    assert [[d.summary for d in drafts] for drafts in result] == [["Cows ran."], ["Ants ran.", "Bees ran."], [""]]
    assert model.calls["revise"] == 1
    assert [drafts[-1].stopped for drafts in result] == [CLEAN, CLEAN, UNCHECKED]


def test_a_summary_that_cites_nothing_is_not_called_supported():
    model = Scripted({"It hailed."}, {})
    [drafts] = refine(model, [PAPERS], ["It hailed."], **PROMPTS, rounds=2)
    assert drafts == [Draft(0, "It hailed.", 0, UNCHECKED)]
    assert model.seen == []


class Mute(Scripted):
    """Gives no verdict on some sentences."""

    def __init__(self, wrong: set[str], revisions: dict[str, str | None], unread: set[str]):
        super().__init__(wrong, revisions)
        self.unread = unread

    def critique(self, documents, statements, prompt):
        found = super().critique(documents, statements, prompt)
        return [
            Critique("", reason="no reply") if s in self.unread else c for s, c in zip(statements, found, strict=True)
        ]


def test_a_verdict_that_could_not_be_read_is_counted_and_does_not_ask_for_a_revision():
    model = Mute(set(), {}, {"Ants ran."})
    [drafts] = refine(model, ["doc"], ["Ants ran. Bees ran."], **PROMPTS, rounds=2)
    assert drafts == [Draft(0, "Ants ran. Bees ran.", 1, UNJUDGED)]
    assert model.calls["revise"] == 0


@pytest.mark.parametrize(
    ("unread", "result", "why"),
    [
        ({"Cows ran."}, "Ants ran. Bees ran.", WORSE),  # one unsupported before, one not known now
        ({"Bees ran."}, "Cows ran. Bees ran.", UNJUDGED),  # not known before either
    ],
)
def test_a_sentence_without_a_verdict_is_no_gain_over_an_unsupported_one(unread, result, why):
    model = Mute({"Ants ran."}, {"Ants ran. Bees ran.": "Cows ran. Bees ran."}, unread)
    [drafts] = refine(model, ["doc"], ["Ants ran. Bees ran."], **PROMPTS, rounds=3)
    assert (drafts[-1].summary, drafts[-1].stopped) == (result, why)


def test_a_self_critique_that_was_not_read_revises_nothing():
    model = Mute(set(), {"Bees ran.": "Cows ran."}, {"Ants ran."})
    first, second = self_critique(model, ["doc", "doc"], ["Ants ran.", "Bees ran."], **WHOLE)
    assert (first.summary, first.reason) == ("Ants ran.", "no feedback to revise by")
    assert (second.summary, second.feedback.comment, second.reason) == ("Cows ran.", "No: Bees ran.", None)
    assert model.told == ["No: Bees ran."]


def test_the_self_critique_sees_the_whole_and_an_unread_revision_keeps_the_summary():
    model = Scripted(set(), {"Ants ran. Bees ran.": "Cows ran."})
    [found] = self_critique(model, ["doc"], ["Ants ran. Bees ran."], **WHOLE)
    assert (found.summary, found.reason) == ("Cows ran.", None)
    assert model.seen == [("doc", "Ants ran. Bees ran.")]
    assert model.told == ["No: Ants ran. Bees ran."]
    summary = f"{MUMBLE}."
    [unread] = self_critique(FakeModel(), ["doc"], [summary], **WHOLE)
    assert (unread.summary, unread.reason) == (summary, "empty reply")


def test_the_lexical_model_finds_and_drops_a_sentence_of_other_words():
    model = models.load({"kind": "lexical"})
    assert isinstance(model, LexicalModel)
    document = "The river rose by two metres in May and flooded the old mill."
    summary = "The river rose by two metres. The council resigned over bribes."
    [drafts] = refine(model, [document], [summary], **PROMPTS, rounds=3)
    assert drafts[-1].summary == "The river rose by two metres."
    assert drafts[-1].stopped == CLEAN
    verdicts = model.verify(
        [document], [["A mill flooded.", "Bribes.", "It was."]], prompts.load("factored-verify-fewshot")
    )
    assert [v.support for v in verdicts[0][:2]] == [1.0, 0.0]
    assert verdicts[0][2].reason == "no content words"
    assert {verdicts[0][2].reason, "the claim has no words", "the document has no words"} <= NOT_ASKED
    with pytest.raises(models.ModelError, match="kind lexical: unknown option 'cut'; this kind has none"):
        models.load({"kind": "lexical", "cut": 1})


def test_the_lexical_model_summarises_with_citations():
    sources = [Source("Ling (2009)", "Rain", "Wind blew. It rained for days."), Source("Roy (2011)", "Empty", "")]
    [made] = LexicalModel().summarise([sources], ["How long did it rain?"], prompts.load("factored-summarise"))
    assert made.text == "Ling (2009) reports: It rained for days."
