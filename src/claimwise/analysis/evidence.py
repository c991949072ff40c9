"""Whether the sentences that a verifier names as evidence are those that people chose."""

import numpy as np
import pandas as pd

from claimwise import text


def evidence_hits(verdicts: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """How well a verifier's evidence meets people's, one row a claim of which both named sentences.

    Of a language model, which has read all, there are no rows.

    Args:
        verdicts: of ``verify_labelled``, one claim an example: ``example_id, document_id, document`` (the example's) and
            ``evidence``, the indices of its sentences, best first.
        gold: a corpus's ``gold_evidence``.

    Returns:
        ``example_id, document_id``; whether the ``first`` sentence is one that people chose, whether one of the first
        ``three`` is, and whether the first ``five`` hold all of one of people's alternatives (1 or 0); and ``chance``,
        the share of the document's sentences that people chose.

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
        # One row a sentence of the document, one column a sentence that people chose: theirs need not end where ours do.
        met = (ours[:, :1] < people["end"].to_numpy()) & (people["start"].to_numpy() < ours[:, 1:])
        named = met[list(map(int, claim.evidence))]
        held = pd.Series(named[:5].any(axis=0)).groupby(people["alternative"].to_numpy()).all().any()
        row = (claim.example_id, claim.document_id, int(named[:1].any()), int(named[:3].any()), int(held))
        rows.append((*row, met.any(axis=1).mean()))
    return pd.DataFrame(rows, columns=["example_id", "document_id", "first", "three", "five", "chance"])
