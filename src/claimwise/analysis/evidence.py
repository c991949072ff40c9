"""Whether the sentences that a verifier names as evidence are those that people chose."""

import numpy as np
import pandas as pd

from claimwise import text


def evidence_hits(verdicts: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """How well a verifier's evidence agrees with people's, one row per claim for which both named sentences.

    A language model that reads the whole document names no sentences, so it has no rows.

    Args:
        verdicts: table of ``verify_labelled``, one claim per example: ``example_id, document_id, document`` (the
            example's) and ``evidence``, the indices of the document's sentences, best first.
        gold: a corpus's ``gold_evidence``.

    Returns:
        ``example_id, document_id``; as 1 or 0, whether people chose the ``first`` sentence, whether they chose one of the
        first ``three``, and whether the first ``five`` contain all sentences of one of people's alternatives; and
        ``chance``, the share of the document's sentences that people chose.

    >>> verdicts = pd.DataFrame({"example_id": "a", "document_id": "d", "document": ["It rained. Ann left. Bo ran."]})
    >>> gold = pd.DataFrame({"example_id": "a", "alternative": [0, 0, 1], "start": [0, 11, 21], "end": [10, 20, 28]})
    >>> hits = evidence_hits(verdicts.assign(evidence=[(1,)]), gold)
    >>> hits[["first", "three", "five", "chance"]].values.tolist()
    [[1.0, 1.0, 0.0, 1.0]]
    """
    chosen = dict(iter(gold.groupby("example_id")))
    rows = []
    for claim in verdicts[verdicts["example_id"].isin(chosen) & (verdicts["evidence"].map(len) > 0)].itertuples():
        people = chosen[claim.example_id]
        ours = np.array([(sentence.start, sentence.end) for sentence in text.sentences(claim.document)])
        # One row per sentence of the document, one column per sentence that people chose. They are compared by overlap,
        # because people's sentences may be split differently from ours.
        overlaps = (ours[:, :1] < people["end"].to_numpy()) & (people["start"].to_numpy() < ours[:, 1:])
        named = overlaps[list(map(int, claim.evidence))]
        complete = pd.Series(named[:5].any(axis=0)).groupby(people["alternative"].to_numpy()).all().any()
        row = (claim.example_id, claim.document_id, int(named[:1].any()), int(named[:3].any()), int(complete))
        rows.append((*row, overlaps.any(axis=1).mean()))
    return pd.DataFrame(rows, columns=["example_id", "document_id", "first", "three", "five", "chance"])
