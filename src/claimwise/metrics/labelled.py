"""Verdicts on claims that people labelled one by one (ACUEval section 5.3 and Table 3): no metric's claims, but given ones."""

from itertools import chain

import pandas as pd

from claimwise.corpora import Corpus
from claimwise.metrics.verify import verify
from claimwise.models.base import Model
from claimwise.progress import batches
from claimwise.prompts import Prompt


def labelled_claims(corpus: Corpus) -> pd.DataFrame:
    """The corpus's labelled claims with the text that each is verified against, sorted by example and text.

    Returns:
        ``example_id, claim_index, document_id, split, origin, claim, label`` (1 supported, 0 not), ``error`` (its type),
        ``document`` (the example's document, or the passage where the claim was labelled against one) and ``extra``
        (another text that a prompt may show beside and that must not count, as the source in the presence task, or
        empty).

    >>> from claimwise.corpora.base import Rows
    >>> rows = Rows("toy")
    >>> example = rows.example("d", "lead", document="It rained.", summary="It poured.")
    >>> rows.gold(example, [{"claim": "It poured.", "label": 0, "error": "overstatement"}, {"claim": "unlabelled"}])
    >>> labelled_claims(rows.corpus())[["claim", "label", "error", "document"]].values.tolist()
    [['It poured.', 0.0, 'overstatement', 'It rained.']]
    """
    claims = corpus.gold_claims.dropna(subset=["label"])
    examples = corpus.examples[["id", "document_id", "split", "origin", "document"]]
    claims = claims.merge(examples, left_on="example_id", right_on="id").drop(columns="id")
    claims["document"] = claims["passage"].fillna(claims["document"])
    return claims.drop(columns="passage").sort_values(["example_id", "document"], kind="stable", ignore_index=True)


def verify_labelled(claims: pd.DataFrame, prompt: Prompt, model: Model, batch: int = 64) -> pd.DataFrame:
    """The claims with a model's verdicts; claims of one text are asked about together.

    The rows are those of ``labelled_claims``; ``batch`` is how many texts the model is given at once.

    Returns:
        The same rows with ``support`` in [0, 1] (NaN with a ``reason`` where nothing could be read) and ``evidence``
        (indices into ``text.sentences`` of the document).

    >>> from claimwise import models, prompts
    >>> claims = pd.DataFrame({"example_id": "d", "document": "It rained.", "extra": None, "claim": ["It rained.", "Ann left."]})
    >>> found = verify_labelled(claims, prompts.load("acueval-verify-zeroshot"), models.load({"kind": "lexical"}))
    >>> found["support"].tolist()
    [1.0, 0.0]
    """
    numbered = claims.assign(row=range(len(claims))).groupby(["example_id", "document"], sort=False)
    groups = numbered.agg({"claim": list, "extra": "first", "row": list}).reset_index()
    beside = claims["extra"].notna().all()
    verdicts = {}
    for part in batches(groups, prompt.name, "document", batch):
        extras = part["extra"].tolist() if beside else None
        found = verify(model, prompt, part["document"].tolist(), part["claim"].tolist(), extras)
        verdicts |= zip(chain.from_iterable(part["row"]), chain.from_iterable(found), strict=True)
    in_order = [verdicts[row] for row in range(len(claims))]
    columns = {name: [getattr(verdict, name) for verdict in in_order] for name in ("support", "reason", "evidence")}
    return claims.assign(**columns)
