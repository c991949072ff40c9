"""Check the sentences of a summary, each against the papers that it cites (Factored Verification sec. 3.2).

The sentences are the claims. If the document is several papers, only sentences with citations are checked, each against the
abstracts that it cites. A sentence that cites a paper which is not among the sources is hallucinated, whatever else it says.
If the document is a single source, every sentence is checked against it.
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
    """A sentence to check.

    Attributes:
        text: the sentence.
        document: the text that it is checked against.
        missing: the papers that it cites but that are not among the sources.
        cites: the number of its citations.
    """

    text: str
    document: str
    missing: tuple[str, ...] = ()
    cites: int = 0


def statements(document: str, summary: str, original: str | None = None) -> list[Statement]:
    """Return the sentences of a summary that are to be checked.

    Args:
        document: a source, or several papers that ``prompts.sources.joined`` made into one text.
        summary: the summary. Its sentences may cite the papers.
        original: the summary that this one revises. A sentence without a citation that is not in the original is checked
            against all papers, so that a revision cannot hide a statement by dropping its citation.

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
    to_check = []
    for sentence in sentences:
        resolved = citations.resolve(sentence, references)
        if resolved:
            cited = sorted({i for resolution in resolved for i in resolution.sources})
            missing = tuple(str(r.citation) for r in resolved if not r.sources)
            to_check.append(Statement(sentence, joined(sources[i] for i in cited), missing, len(resolved)))
        elif sentence not in before:
            to_check.append(Statement(sentence, document))
    return to_check


def judged_sentences(versions: pd.DataFrame, model: Model, prompt: str) -> pd.DataFrame:
    """Verify all sentences of summaries that are to be checked.

    Args:
        versions: the summaries: ``id, document_id, system, version, document, summary, original`` (the summary that this
            one revises, or itself).
        model: the verifier.
        prompt: the name of its prompt.

    Returns:
        A row for each sentence: ``id, document_id, system, version, sentence, passage`` (the text that it was checked
        against), ``cites`` (the number of citations), ``missing`` (the number of cited papers that are not among the
        sources), ``support`` in [0, 1], a ``reason`` if it is NaN, and ``hallucinated``: 1 if the support is below one half
        or a paper is missing, 0 if not, NaN without a verdict.

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
    """Count the hallucinated sentences of summaries.

    Args:
        versions: the summaries that ``judged_sentences`` got, or some of them.
        sentences: what ``judged_sentences`` returned.

    Returns:
        The versions with these numbers of sentences: ``checked``; ``hallucinations``; ``missing``, which cite a paper that
        is not among the sources; and ``unread``, which have no verdict. If any are unread, ``hallucinations`` is NaN, since
        the number would be too small.

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
    table = versions.join(sums, on=["id", "version"]).fillna(dict.fromkeys(sums, 0))
    return table.assign(hallucinations=table["hallucinations"].where(table["unread"] == 0))
