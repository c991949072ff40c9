"""Critique and revise: Factored Verification's Algorithm 1, over several rounds with a stop rule (beyond the paper).

A summary's sentences are its claims (sec. 3.2). Where the document is several papers, only sentences with citations are
checked, each against the abstracts that it cites; else every sentence against the document. The critiques of the
unsupported sentences, one under the other, are the factored critique that the model revises by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from claimwise import prompts, text
from claimwise.metrics.factored import citations
from claimwise.metrics.verify import SUPPORTED
from claimwise.models.base import Critique, Feedback, Model
from claimwise.prompts import Prompt
from claimwise.prompts.sources import joined, separated

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


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that is checked, what it is checked against, and the papers it cites that are not there."""

    text: str
    document: str
    missing: tuple[str, ...] = ()


def statements(document: str, summary: str, original: str | None = None) -> list[Statement]:
    """The sentences of a summary that are checked.

    Args:
        document: a source, or several papers that ``prompts.sources.joined`` made one text of.
        summary: sentences that may cite the papers.
        original: the summary that this one revises. A sentence without a citation that did not stand there is checked
            against all papers, so that a revision cannot hide a statement by losing its citation.

    >>> from claimwise.prompts.sources import Source
    >>> papers = joined([Source("Ling (2009)", "Rain", "It rained."), Source("Roy (2011)", "Snow", "It snowed.")])
    >>> [(s.text, s.document[:10], s.missing) for s in statements(papers, "It rained (Ling, 2009; Ek, 1999). Good.")]
    [('It rained (Ling, 2009; Ek, 1999).', 'Ling (2009', ('Ek (1999)',))]
    """
    sources = separated(document)
    sentences = [span.text for span in text.sentences(summary)]
    if not sources:
        return [Statement(sentence, document) for sentence in sentences]
    references = [source.reference for source in sources]
    before = {span.text for span in text.sentences(original)} if original is not None else set(sentences)
    found = []
    for sentence in sentences:
        resolved = citations.resolve(sentence, references)
        if resolved:
            cited = sorted({i for resolution in resolved for i in resolution.sources})
            missing = tuple(str(r.citation) for r in resolved if not r.sources)
            found.append(Statement(sentence, joined(sources[i] for i in cited), missing))
        elif sentence not in before:
            found.append(Statement(sentence, document))
    return found


def criticise(model: Model, groups: Sequence[Sequence[Statement]], prompt: Prompt) -> list[list[Critique]]:
    """A critique of every statement (Algorithm 1, line 3).

    The model is not asked about a statement that cites a paper that is not there: that is the critique.

    Args:
        model: what is asked.
        groups: the statements of each summary.
        prompt: for the role ``critique``.

    >>> from claimwise import models, prompts
    >>> group = [Statement("It snowed.", "It rained."), Statement("It hailed (Ek, 1999).", "", ("Ek (1999)",))]
    >>> model, prompt = models.load({"kind": "lexical"}), prompts.load("factored-critique-claim")
    >>> [(critique.text, critique.support) for critique in criticise(model, [group], prompt)[0]]
    [('Not in the document: snowed.', 0.0), ('Ek (1999) is not among the papers.', 0.0)]
    """
    flat = [statement for group in groups for statement in group]
    results = [_not_there(statement.missing) if statement.missing else None for statement in flat]
    asked = [i for i, known in enumerate(results) if known is None]
    found = model.critique([flat[i].document for i in asked], [flat[i].text for i in asked], prompt)
    for i, critique in zip(asked, found, strict=True):
        results[i] = critique
    rest = iter(results)
    return [[next(rest) for _ in group] for group in groups]


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


def revised(
    model: Model, documents: Sequence[str], summaries: Sequence[str], feedback: Sequence[Feedback], prompt: Prompt
) -> list[tuple[str, str | None]]:
    """Revisions with, where a reply could not be read, the summary as it was and the reason.

    The model is not asked to revise by feedback that says nothing: the critique was not read.

    Args:
        model: what is asked.
        documents: n sources.
        summaries: n summaries.
        feedback: what each is revised by.
        prompt: for the role ``revise``.

    >>> from claimwise import models, prompts
    >>> model, prompt = models.load({"kind": "lexical"}), prompts.load("factored-revise-critiques")
    >>> told = [Feedback(unsupported=("It snowed.",)), Feedback()]
    >>> revised(model, ["It rained."] * 2, ["It rained. It snowed."] * 2, told, prompt)
    [('It rained.', None), ('It rained. It snowed.', 'no feedback to revise by')]
    """
    results: list[tuple[str, str | None]] = [(summary, NO_FEEDBACK) for summary in summaries]
    told = [i for i, one in enumerate(feedback) if one.unsupported or one.comment]
    found = model.revise(
        [documents[i] for i in told], [summaries[i] for i in told], [feedback[i] for i in told], prompt
    )
    for i, new in zip(told, found, strict=True):
        results[i] = (new.text, None) if new.text is not None else (summaries[i], new.reason)
    return results


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary after so many rounds.

    ``unsupported`` and ``unread`` count what the critic found (or gave no verdict on) among its ``checked`` sentences;
    ``stopped`` says why there is no next round, and is None where there is one.
    """

    round: int
    summary: str
    checked: int = 0
    unsupported: int = 0
    unread: int = 0
    stopped: str | None = None

    @property
    def doubtful(self) -> int:
        """Sentences that the critic did not find supported."""
        return self.unsupported + self.unread


def refine(
    model: Model, documents: Sequence[str], summaries: Sequence[str], *, critique: str, revise: str, rounds: int
) -> list[list[Draft]]:
    """Criticise and revise each summary until nothing is found unsupported, or no more is gained.

    A summary's rounds end when the critic finds nothing unsupported or has nothing to check, when a revision changes nothing or cannot be
    read, after ``rounds`` revisions, and when a revision has no fewer unsupported sentences than the draft
    before it, which is then the result. A sentence without a verdict is no better than an unsupported one, but says
    nothing to revise by. One round is the paper's Algorithm 1, but for the look at the revision after it.

    Args:
        model: criticises and revises.
        documents: n sources.
        summaries: n summaries.
        critique: name of the critique prompt (A.3.1).
        revise: name of the revision prompt (A.3.2).
        rounds: the most revisions, at least 1.

    Returns:
        For each summary its drafts, the original first; the last one is the result.
    """
    history = [[Draft(0, summary)] for summary in summaries]
    for number in range(1, rounds + 2):
        going = [i for i, drafts in enumerate(history) if drafts[-1].stopped is None]
        if not going:
            break
        feedback = _look(model, documents, history, going, prompts.load(critique))
        going = [i for i in going if history[i][-1].stopped is None]
        if number > rounds:
            for i in going:
                history[i][-1] = replace(history[i][-1], stopped=LAST)
            break
        found = revised(
            model,
            [documents[i] for i in going],
            [history[i][-1].summary for i in going],
            [feedback[i] for i in going],
            prompts.load(revise),
        )
        for i, (summary, reason) in zip(going, found, strict=True):
            same = reason or summary == history[i][-1].summary
            if same:
                history[i][-1] = replace(history[i][-1], stopped=UNREAD if reason else UNCHANGED)
            else:
                history[i].append(Draft(number, summary))
    return history


def _look(
    model: Model, documents: Sequence[str], history: list[list[Draft]], going: Sequence[int], prompt: Prompt
) -> dict[int, Feedback]:
    """Criticise the last drafts, note what was found, and stop those that are clean or no better than before."""
    groups = [statements(documents[i], history[i][-1].summary, history[i][0].summary) for i in going]
    feedback = {}
    for i, group, critiques in zip(going, groups, criticise(model, groups, prompt), strict=True):
        feedback[i] = factored_critique(group, critiques)
        wrong, unread = len(feedback[i].unsupported), sum(c.support != c.support for c in critiques)
        draft = replace(history[i][-1], checked=len(group), unsupported=wrong, unread=unread)
        if len(history[i]) > 1 and draft.doubtful >= history[i][-2].doubtful:
            history[i].pop()
            draft = replace(history[i][-1], stopped=WORSE)
        elif not wrong:
            draft = replace(draft, stopped=UNJUDGED if unread else CLEAN if group else UNCHECKED)
        history[i][-1] = draft
    return feedback


def self_critique(
    model: Model, documents: Sequence[str], summaries: Sequence[str], *, critique: str, revise: str
) -> list[tuple[str, str | None]]:
    """The baseline (sec. 4.1): one critique of the whole summary, one revision by it."""
    found = model.critique(documents, summaries, prompts.load(critique))
    return revised(model, documents, summaries, [Feedback(comment=c.text) for c in found], prompts.load(revise))
