"""Which sentences of a summary are checked, against what, and what a verifier says of each (Factored Verification sec. 3.2).

Sentences are the claims. Where the document is several papers, only sentences with citations are checked, each against
the abstracts that it cites, and a cited paper that is not among the sources is a hallucination whatever else the
sentence says. Where it is one source, every sentence is checked against it.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from claimwise import text
from claimwise.metrics.factored import citations
from claimwise.metrics.verify import SUPPORTED, verify_each
from claimwise.models.base import Model
from claimwise.prompts.sources import joined, separated


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that is checked, what it is checked against, and the papers it cites that are not there."""

    text: str
    document: str
    missing: tuple[str, ...] = ()
    cites: int = 0


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
            found.append(Statement(sentence, joined(sources[i] for i in cited), missing, len(resolved)))
        elif sentence not in before:
            found.append(Statement(sentence, document))
    return found


def judged_sentences(versions: pd.DataFrame, model: Model, prompt: str) -> pd.DataFrame:
    """Every checked sentence of summaries with a verifier's verdict, asked for with the prompt of that name.

    Versions have ``id, document_id, system, version, document, summary, original`` (the summary that it revises, or
    itself).

    Returns:
        ``id, document_id, system, version, sentence, passage`` (what it was checked against), ``cites`` (citations),
        ``missing`` (cited papers that are not there), ``support`` in [0, 1] with a ``reason`` where it is NaN, and
        ``hallucinated``: 1 where the support is below one half or a paper is missing, NaN without a verdict.

    >>> from claimwise import models
    >>> rows = {"id": ["a"], "document_id": ["d"], "system": ["s"], "version": ["original"], "document": ["It rained."]}
    >>> rows |= {"summary": ["It rained. It snowed."], "original": ["It rained. It snowed."]}
    >>> found = judged_sentences(pd.DataFrame(rows), models.load({"kind": "lexical"}), "factored-verify-fewshot")
    >>> found[["sentence", "support", "hallucinated"]].values.tolist()
    [['It rained.', 1.0, 0.0], ['It snowed.', 0.0, 1.0]]
    """
    rows = [
        (r.id, r.document_id, r.system, r.version, s.text, s.document, s.cites, len(s.missing))
        for r in versions.itertuples()
        for s in statements(r.document, r.summary, r.original)
    ]
    columns = ["id", "document_id", "system", "version", "sentence", "passage", "cites", "missing"]
    table = pd.DataFrame(rows, columns=columns).assign(support=0.0, reason=None)
    asked = table["missing"] == 0
    verdicts = verify_each(table.loc[asked, "passage"].tolist(), table.loc[asked, "sentence"].tolist(), model, prompt)
    table.loc[asked, "support"] = [verdict.support for verdict in verdicts]
    table.loc[asked, "reason"] = [verdict.reason for verdict in verdicts]
    wrong = (table["support"] < SUPPORTED).astype(float)
    return table.assign(hallucinated=wrong.where(table["support"].notna(), np.nan))


def hallucinations(versions: pd.DataFrame, sentences: pd.DataFrame) -> pd.DataFrame:
    """Summaries (what ``judged_sentences`` was given, or some of its rows) with how many sentences are hallucinated.

    Returns:
        The versions with ``checked`` sentences, ``hallucinations`` among them, ``missing`` (sentences that cite a paper
        that is not there) and ``unread`` (without a verdict; a summary that has any has no number of hallucinations:
        those that were read would be too few).

    >>> versions = pd.DataFrame({"id": ["a", "b", "c"], "version": "original"})
    >>> rows = {"id": ["a", "a", "b"], "version": "original", "missing": [0, 1, 0], "hallucinated": [0.0, 1.0, np.nan]}
    >>> hallucinations(versions, pd.DataFrame(rows)).iloc[:, 2:].values.tolist()
    [[2.0, 1.0, 1.0, 0.0], [1.0, nan, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    counts = pd.DataFrame(
        {
            "checked": 1,
            "hallucinations": sentences["hallucinated"],
            "missing": sentences["missing"] > 0,
            "unread": sentences["hallucinated"].isna(),
        }
    )
    sums = counts.groupby([sentences["id"], sentences["version"]]).sum()
    found = versions.join(sums, on=["id", "version"]).fillna(dict.fromkeys(sums, 0))
    return found.assign(hallucinations=found["hallucinations"].where(found["unread"] == 0))
