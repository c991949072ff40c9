"""Critique and revise: Factored Verification's Algorithm 1, over several rounds with a stop rule (beyond the paper).

The critiques of the unsupported sentences, one under the other, are the factored critique that the model revises by;
``sentences.statements`` says which sentences are checked, and against what.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from claimwise import prompts
from claimwise.metrics.factored.sentences import Statement, statements
from claimwise.metrics.verify import SUPPORTED
from claimwise.models.base import Critique, Feedback, Model
from claimwise.prompts.sources import separated

#: Why a summary's rounds ended. ``UNCHECKED``: no sentence cites a paper, or there is none. ``UNJUDGED``: nothing was found
#: unsupported, and of some sentences nothing was found.
CLEAN, UNCHECKED, UNJUDGED, UNCHANGED, UNREAD, WORSE, LAST = (
    "nothing unsupported",
    "nothing to check",
    "critiques not read",
    "unchanged",
    "revision not read",
    "no fewer unsupported",
    "last round",
)

#: Why a summary was not revised.
NO_FEEDBACK = "no feedback to revise by"


class Revision(NamedTuple):
    """A revised summary and what it was revised by; the summary as it was and a reason, where there is no revision."""

    summary: str
    feedback: Feedback
    reason: str | None = None


def revise(
    model: Model, documents: Sequence[str], summaries: Sequence[str], feedback: Sequence[Feedback], prompt: str
) -> list[Revision]:
    """Each summary revised by its feedback, with the prompt of that name.

    The model is not asked to revise by feedback that says nothing: the critique was not read.

    >>> from claimwise import models
    >>> told = [Feedback(unsupported=("It snowed.",)), Feedback()]
    >>> model, summaries = models.load({"kind": "lexical"}), ["It rained. It snowed."] * 2
    >>> found = revise(model, ["It rained."] * 2, summaries, told, "factored-revise-critiques")
    >>> [(revision.summary, revision.reason) for revision in found]
    [('It rained.', None), ('It rained. It snowed.', 'no feedback to revise by')]
    """
    results = [Revision(*row, NO_FEEDBACK) for row in zip(summaries, feedback, strict=True)]
    asked = [i for i, told in enumerate(feedback) if told.unsupported or told.comment]
    found = model.revise(*([rows[i] for i in asked] for rows in (documents, summaries, feedback)), prompts.load(prompt))
    for i, new in zip(asked, found, strict=True):
        read = new.text is not None
        results[i] = Revision(new.text if read else summaries[i], feedback[i], None if read else new.reason)
    return results


def self_critique(
    model: Model, documents: Sequence[str], summaries: Sequence[str], *, critique_prompt: str, revise_prompt: str
) -> list[Revision]:
    """One critique of the whole summary and one revision by it: sec. 4.1's baseline, ACUEval's holistic critique."""
    found = model.critique(documents, summaries, prompts.load(critique_prompt))
    return revise(model, documents, summaries, [Feedback(comment=c.text) for c in found], revise_prompt)


def criticise(model: Model, groups: Sequence[Sequence[Statement]], prompt: str) -> list[list[Critique]]:
    """A critique of every statement of each summary (Algorithm 1, line 3), with the prompt of that name.

    The model is not asked about a statement that cites a paper that is not there: that is the critique.

    >>> from claimwise import models
    >>> group = [Statement("It snowed.", "It rained."), Statement("It hailed (Ek, 1999).", "", ("Ek (1999)",))]
    >>> [found] = criticise(models.load({"kind": "lexical"}), [group], "factored-critique-claim")
    >>> [(critique.text, critique.support) for critique in found]
    [('Not in the document: snowed.', 0.0), ('Ek (1999) is not among the papers.', 0.0)]
    """
    asked = [statement for group in groups for statement in group if not statement.missing]
    found = iter(model.critique([s.document for s in asked], [s.text for s in asked], prompts.load(prompt)))
    return [[_not_there(s.missing) if s.missing else next(found) for s in group] for group in groups]


def _not_there(missing: Sequence[str]) -> Critique:
    verb = "is" if len(missing) == 1 else "are"
    return Critique(f"{', '.join(missing)} {verb} not among the papers.", 0.0)


def factored_critique(group: Sequence[Statement], critiques: Sequence[Critique]) -> Feedback:
    """The critiques of the unsupported statements as one feedback (Algorithm 1, line 8; layout of appendix A.3.2).

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
    """A summary after so many rounds.

    ``doubtful`` counts its sentences that the critic did not find supported, ``critique`` is what it said of the unsupported
    ones; ``stopped`` says why there is no next round, and is None where there is one.
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
    """Criticise and revise each summary until nothing is found unsupported, or no more is gained.

    A summary's rounds end when the critic finds nothing unsupported or has nothing to check, when a revision changes
    nothing or cannot be read, after ``rounds`` (at least 1) revisions, and when a revision has no fewer unsupported
    sentences than the draft before it, which is then the result. A sentence without a verdict is no better than an
    unsupported one, but says nothing to revise by. One round is the paper's Algorithm 1, but for the look at the
    revision after it.

    Returns:
        For each summary its drafts, the original first; the last one is the result.
    """
    history = [[Draft(0, summary)] for summary in summaries]
    for number in range(1, rounds + 1):
        feedback = _criticise_last_drafts(model, documents, history, critique_prompt)
        if not feedback:
            break
        drafts = [history[i][-1] for i in feedback]
        told = list(feedback.values())
        found = revise(
            model, [documents[i] for i in feedback], [draft.summary for draft in drafts], told, revise_prompt
        )
        for i, draft, revision in zip(feedback, drafts, found, strict=True):
            if revision.reason or revision.summary == draft.summary:
                draft.stopped = UNREAD if revision.reason else UNCHANGED
            else:
                history[i].append(Draft(number, revision.summary))
    # The last revisions are looked at, too.
    for i in _criticise_last_drafts(model, documents, history, critique_prompt):
        history[i][-1].stopped = LAST
    return history


def _criticise_last_drafts(
    model: Model, documents: Sequence[str], history: list[list[Draft]], prompt: str
) -> dict[int, Feedback]:
    """Criticise the drafts that are not stopped, stop those that are clean or no better than before them.

    Returns:
        What to revise by, by the positions of the summaries that go on.
    """
    going = [i for i, drafts in enumerate(history) if drafts[-1].stopped is None]
    groups = [statements(documents[i], history[i][-1].summary, history[i][0].summary) for i in going]
    feedback = {}
    for i, group, critiques in zip(going, groups, criticise(model, groups, prompt), strict=True):
        *before, draft = history[i]
        told = factored_critique(group, critiques)
        unread = sum(c.support != c.support for c in critiques)  # NaN
        draft.doubtful, draft.critique = len(told.unsupported) + unread, told.comment
        if before and draft.doubtful >= before[-1].doubtful:
            before[-1].stopped = WORSE
            history[i] = before
        elif told.unsupported:
            feedback[i] = told
        else:
            draft.stopped = UNJUDGED if unread else CLEAN if group else UNCHECKED
    return feedback


def write_summaries(
    examples: pd.DataFrame, questions: Mapping[str, str], engines: Mapping[str, Model], prompt: str
) -> pd.DataFrame:
    """Of each row a summary by every model (section 3.1), its name as ``system``; empty where the model gave none.

    ``questions`` has the question of each row's ``id``; a row's ``document`` is its papers.

    >>> from claimwise import models
    >>> rows = pd.DataFrame({"id": ["q1"], "document": ["It rained all day. We stayed in."]})
    >>> found = write_summaries(rows, {"q1": "Rain?"}, {"words": models.load({"kind": "lexical"})}, "factored-summarise")
    >>> found[["id", "system"]].iloc[0].tolist()
    ['q1:words', 'words']
    """
    sources = [separated(document) for document in examples["document"]]
    asked, loaded = [questions[key] for key in examples["id"]], prompts.load(prompt)
    written = {name: engine.summarise(sources, asked, loaded) for name, engine in engines.items()}
    return pd.concat(
        examples.assign(id=examples["id"] + f":{name}", system=name, summary=[reply.text or "" for reply in replies])
        for name, replies in written.items()
    )


def as_version(examples: pd.DataFrame, summaries: Sequence[str], name: str) -> pd.DataFrame:
    """The rows with other summaries; ``original`` keeps the ones they had.

    >>> as_version(pd.DataFrame({"summary": ["It snowed."]}), ["It rained."], "round 1").iloc[0].tolist()
    ['It rained.', 'It snowed.', 'round 1']
    """
    return examples.assign(original=examples["summary"], summary=list(summaries), version=name)


def refined_versions(examples: pd.DataFrame, critic: Model, **options: Any) -> tuple[pd.DataFrame, list[list[Draft]]]:
    """The rows as they are and after every round, as long as any summary changes; and all drafts.

    A summary whose rounds ended keeps its result. ``options`` are those of ``refine``.

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
