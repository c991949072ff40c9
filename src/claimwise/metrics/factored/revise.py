"""Critique and revision: Factored Verification's Algorithm 1, with several rounds and a stop rule (beyond the paper).

The factored critique, by which the model revises, is the list of critiques of the unsupported sentences.
``sentences.statements`` says which sentences are checked, and against what.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from claimwise import prompts
from claimwise.metrics.factored.sentences import Statement, statements
from claimwise.metrics.verify import SUPPORTED
from claimwise.models.base import Critique, Feedback, Model
from claimwise.prompts.sources import separated

#: Why a summary's rounds ended. ``UNCHECKED``: no sentence cites a paper, or there are no sentences. ``UNJUDGED``: no
#: sentence was found unsupported, but some have no verdict.
CLEAN, UNCHECKED, UNJUDGED, UNCHANGED, UNREAD, WORSE, LAST = (
    "nothing unsupported",
    "nothing to check",
    "critiques not read",
    "unchanged",
    "revision not read",
    "no fewer unsupported",
    "last round",
)

#: The reason of a summary that was not revised because its critique says nothing.
NO_FEEDBACK = "no feedback to revise by"


class Revision(NamedTuple):
    """A revised summary and its feedback. If there is no revision, the unchanged summary and a reason."""

    summary: str
    feedback: Feedback
    reason: str | None = None


def revise(
    model: Model, documents: Sequence[str], summaries: Sequence[str], feedback: Sequence[Feedback], prompt: str
) -> list[Revision]:
    """Revise each summary by its feedback, with the prompt of that name.

    If the feedback is empty, because the critique could not be read, the model is not asked.

    >>> from claimwise import models
    >>> feedback = [Feedback(unsupported=("It snowed.",)), Feedback()]
    >>> model, summaries = models.load({"kind": "lexical"}), ["It rained. It snowed."] * 2
    >>> revisions = revise(model, ["It rained."] * 2, summaries, feedback, "factored-revise-critiques")
    >>> [(revision.summary, revision.reason) for revision in revisions]
    [('It rained.', None), ('It rained. It snowed.', 'no feedback to revise by')]
    """
    results = [Revision(*row, NO_FEEDBACK) for row in zip(summaries, feedback, strict=True)]
    asked = [i for i, one in enumerate(feedback) if one.unsupported or one.comment]
    columns = ([rows[i] for i in asked] for rows in (documents, summaries, feedback))
    for i, new in zip(asked, model.revise(*columns, prompts.load(prompt)), strict=True):
        if new.text is None:
            results[i] = Revision(summaries[i], feedback[i], new.reason)
        else:
            results[i] = Revision(new.text, feedback[i])
    return results


def self_critique(
    model: Model, documents: Sequence[str], summaries: Sequence[str], *, critique_prompt: str, revise_prompt: str
) -> list[Revision]:
    """Criticise each whole summary once and revise it by that: sec. 4.1's baseline, ACUEval's holistic critique."""
    critiques = model.critique(documents, summaries, prompts.load(critique_prompt))
    return revise(model, documents, summaries, [Feedback(comment=c.text) for c in critiques], revise_prompt)


def criticise(model: Model, groups: Sequence[Sequence[Statement]], prompt: str) -> list[list[Critique]]:
    """Criticise every statement of each summary (Algorithm 1, line 3), with the prompt of that name.

    If a statement cites a missing paper, the model is not asked: the critique is that the paper is missing.

    >>> from claimwise import models
    >>> group = [Statement("It snowed.", "It rained."), Statement("It hailed (Ek, 1999).", "", ("Ek (1999)",))]
    >>> [critiques] = criticise(models.load({"kind": "lexical"}), [group], "factored-critique-claim")
    >>> [(critique.text, critique.support) for critique in critiques]
    [('Not in the document: snowed.', 0.0), ('Ek (1999) is not among the papers.', 0.0)]
    """
    asked = [statement for group in groups for statement in group if not statement.missing]
    critiques = iter(model.critique([s.document for s in asked], [s.text for s in asked], prompts.load(prompt)))
    return [[_missing_papers(s.missing) if s.missing else next(critiques) for s in group] for group in groups]


def _missing_papers(missing: Sequence[str]) -> Critique:
    verb = "is" if len(missing) == 1 else "are"
    return Critique(f"{', '.join(missing)} {verb} not among the papers.", 0.0)


def factored_critique(group: Sequence[Statement], critiques: Sequence[Critique]) -> Feedback:
    """Join the critiques of the unsupported statements into one feedback (Algorithm 1, line 8; layout of appendix A.3.2).

    >>> factored_critique([Statement("It rained.", "")], [Critique("It snowed.", 0.0)]).comment
    '- For the sentence "It rained." in the summary: It snowed.'
    """
    wrong = [(s, c) for s, c in zip(group, critiques, strict=True) if c.support < SUPPORTED]
    return Feedback(
        unsupported=tuple(statement.text for statement, _ in wrong),
        comment="\n".join(f'- For the sentence "{s.text}" in the summary: {c.text}' for s, c in wrong),
    )


@dataclass(slots=True)
class Draft:
    """A summary after a number of rounds.

    Attributes:
        round: the number of rounds.
        summary: the summary.
        doubtful: the number of sentences that the critic found unsupported or gave no verdict.
        stopped: why there is no next round; None if there is one.
        critique: the critique of the unsupported sentences.
    """

    round: int
    summary: str
    doubtful: int = 0
    stopped: str | None = None
    critique: str = field(default="", compare=False)


def refine(
    model: Model,
    documents: Sequence[str],
    summaries: Sequence[str],
    *,
    critique_prompt: str,
    revise_prompt: str,
    rounds: int,
) -> list[list[Draft]]:
    """Criticise and revise each summary until nothing is found unsupported, or until it does not improve.

    The rounds of a summary end if the critic finds nothing unsupported or has nothing to check, if a revision changes
    nothing or cannot be read, after ``rounds`` revisions (at least 1), or if a revision has at least as many unsupported
    sentences as the draft before it. Then that draft is the result. A sentence without a verdict counts as unsupported, but
    there is no critique of it to revise by. One round is the paper's Algorithm 1, except that the revision is criticised,
    too.

    Returns:
        The drafts of each summary, the original first. The last one is the result.
    """
    history = [[Draft(0, summary)] for summary in summaries]
    for number in range(1, rounds + 1):
        feedback = _criticise_last_drafts(model, documents, history, critique_prompt)
        if not feedback:
            break
        drafts = [history[i][-1] for i in feedback]
        texts = [draft.summary for draft in drafts]
        revisions = revise(model, [documents[i] for i in feedback], texts, list(feedback.values()), revise_prompt)
        for i, draft, revision in zip(feedback, drafts, revisions, strict=True):
            if revision.reason or revision.summary == draft.summary:
                draft.stopped = UNREAD if revision.reason else UNCHANGED
            else:
                history[i].append(Draft(number, revision.summary))
    # Criticise the last revisions, too.
    for i in _criticise_last_drafts(model, documents, history, critique_prompt):
        history[i][-1].stopped = LAST
    return history


def _criticise_last_drafts(
    model: Model, documents: Sequence[str], history: list[list[Draft]], prompt: str
) -> dict[int, Feedback]:
    """Criticise the drafts whose rounds go on, and stop those that are clean or not better than the draft before.

    Returns:
        The feedback of each summary that goes on, by its index.
    """
    unstopped = [i for i, drafts in enumerate(history) if drafts[-1].stopped is None]
    groups = [statements(documents[i], history[i][-1].summary, history[i][0].summary) for i in unstopped]
    feedback = {}
    for i, group, critiques in zip(unstopped, groups, criticise(model, groups, prompt), strict=True):
        *before, draft = history[i]
        critique = factored_critique(group, critiques)
        without_verdict = sum(math.isnan(one.support) for one in critiques)
        draft.doubtful, draft.critique = len(critique.unsupported) + without_verdict, critique.comment
        if before and draft.doubtful >= before[-1].doubtful:
            before[-1].stopped = WORSE
            history[i] = before
        elif critique.unsupported:
            feedback[i] = critique
        else:
            draft.stopped = UNJUDGED if without_verdict else CLEAN if group else UNCHECKED
    return feedback


def write_summaries(
    examples: pd.DataFrame, questions: Mapping[str, str], engines: Mapping[str, Model], prompt: str
) -> pd.DataFrame:
    """Let every model summarise the papers of each row (section 3.1).

    Args:
        examples: rows with an ``id`` and a ``document``, which holds the papers.
        questions: the question of each row, by its ``id``.
        engines: the models by name.
        prompt: the name of the prompt.

    Returns:
        The rows of each model, with its name as ``system`` and its ``summary``, which is empty if the model wrote none.

    >>> from claimwise import models
    >>> rows = pd.DataFrame({"id": ["q1"], "document": ["It rained all day. We stayed in."]})
    >>> table = write_summaries(rows, {"q1": "Rain?"}, {"words": models.load({"kind": "lexical"})}, "factored-summarise")
    >>> table[["id", "system"]].iloc[0].tolist()
    ['q1:words', 'words']
    """
    sources = [separated(document) for document in examples["document"]]
    row_questions, loaded = [questions[key] for key in examples["id"]], prompts.load(prompt)
    summaries = {name: engine.summarise(sources, row_questions, loaded) for name, engine in engines.items()}
    return pd.concat(
        examples.assign(id=examples["id"] + f":{name}", system=name, summary=[one.text or "" for one in texts])
        for name, texts in summaries.items()
    )


def as_version(examples: pd.DataFrame, summaries: Sequence[str], name: str) -> pd.DataFrame:
    """Return the rows with other summaries, and the name as ``version``; ``original`` keeps the summaries that they had.

    >>> as_version(pd.DataFrame({"summary": ["It snowed."]}), ["It rained."], "round 1").iloc[0].tolist()
    ['It rained.', 'It snowed.', 'round 1']
    """
    return examples.assign(original=examples["summary"], summary=list(summaries), version=name)


def refined_versions(examples: pd.DataFrame, critic: Model, **options: Any) -> tuple[pd.DataFrame, list[list[Draft]]]:
    """Refine summaries; return the original rows with the rows after each round, and the drafts of each summary.

    There are as many rounds as the longest history has. A summary whose rounds ended earlier keeps its result.

    Args:
        examples: rows with ``document`` and ``summary``.
        critic: the model that criticises and revises.
        options: the other arguments of ``refine``.

    >>> from claimwise import models
    >>> rows = pd.DataFrame({"document": ["It rained."], "summary": ["It rained. It snowed."]})
    >>> options = {"critique_prompt": "factored-critique-claim", "revise_prompt": "factored-revise-critiques"}
    >>> versions, drafts = refined_versions(rows, models.load({"kind": "lexical"}), **options, rounds=1)
    >>> versions[["version", "summary"]].to_numpy().tolist()
    [['original', 'It rained. It snowed.'], ['round 1', 'It rained.']]
    """
    history = refine(critic, examples["document"].tolist(), examples["summary"].tolist(), **options)
    frames = [as_version(examples, examples["summary"], "original")]
    for number in range(1, max((drafts[-1].round for drafts in history), default=0) + 1):
        after = [[draft.summary for draft in drafts if draft.round <= number][-1] for drafts in history]
        frames.append(as_version(examples, after, f"round {number}"))
    return pd.concat(frames, ignore_index=True), history
