"""Verify claims: the probability that a document supports each of them."""

from collections.abc import Iterable, Sequence

import pandas as pd

from claimwise import prompts
from claimwise.corpora import Corpus
from claimwise.models.base import NAN, Model, Texts, Verdict
from claimwise.progress import batches
from claimwise.reasons import Reason

#: A claim with a lower probability counts as unsupported (decided here; the papers do not say).
SUPPORTED = 0.5


def verify(
    model: Model, prompt: prompts.Prompt, documents: Texts, claims: Sequence[Texts], extras: Texts | None = None
) -> list[list[Verdict]]:
    """Ask a model for a verdict on every claim (ACUEval Fig. 4; Factored Verification appendix A.1.2, A.1.3).

    Claim i gets the support s_i = p(Yes) / (p(Yes) + p(No)). Blank documents and claims are not asked about: they get NaN
    and a reason. ``extras`` has one further text per document, for prompts that show the model a second document.

    >>> from claimwise import models
    >>> model, prompt = models.load({"kind": "lexical"}), prompts.load("acueval-verify-zeroshot")
    >>> [[v.support for v in group] for group in verify(model, prompt, ["It rained."], [["It rained.", "Ann left.", " "]])]
    [[1.0, 0.0, nan]]
    """
    results = [[blank(document, claim) for claim in group] for document, group in zip(documents, claims, strict=True)]
    asked = [i for i, group in enumerate(results) if None in group]
    groups = [[claim for claim, known in zip(claims[i], results[i], strict=True) if known is None] for i in asked]
    shown = [extras[i] for i in asked] if extras is not None else None
    found = model.verify([documents[i] for i in asked], groups, prompt, shown)
    for i, verdicts in zip(asked, found, strict=True):
        fresh = iter(verdicts)
        results[i] = [next(fresh) if known is None else known for known in results[i]]
    return results


def verify_each(
    documents: Iterable[str],
    claims: Iterable[str],
    model: Model,
    prompt: prompts.Prompt | str,
    extras: Iterable[str] | None = None,
) -> list[Verdict]:
    """Verify n claims, each against its own document. A document's claims are asked together, and duplicates once.

    ``prompt`` may be a name. ``extras`` has one text per claim, as in ``verify``.

    >>> from claimwise import models
    >>> model = models.load({"kind": "lexical"})
    >>> [v.support for v in verify_each(["It rained."] * 2, ["Rain.", "Snow."], model, "factored-verify-fewshot")]
    [1.0, 0.0]
    """
    prompt = prompts.load(prompt) if isinstance(prompt, str) else prompt
    rows = pd.DataFrame(
        {"document": list(documents), "extra": "" if extras is None else list(extras), "claim": list(claims)}
    )
    groups = (
        rows.drop_duplicates().groupby(["document", "extra"], sort=False, dropna=False)["claim"].agg(list).reset_index()
    )
    found: list[list[Verdict]] = []
    for part in batches(groups, prompt.name, "document"):
        beside = None if extras is None else part["extra"].tolist()
        found += verify(model, prompt, part["document"].tolist(), part["claim"].tolist(), beside)
    verdicts = groups.assign(verdict=found).explode(["claim", "verdict"])
    return rows.merge(verdicts, how="left")["verdict"].tolist()


def labelled_claims(corpus: Corpus) -> pd.DataFrame:
    """The claims of a corpus that people labelled, each with its text to verify against (ACUEval sec. 5.3, Table 3).

    Returns:
        A table sorted by example and text: ``example_id, claim_index, document_id, split, origin, claim, label`` (1
        supported, 0 not), ``error`` (its type), ``document`` (the example's document, or the passage that the claim was
        labelled against), and ``extra`` (a text that a prompt may show as well but that must not count, such as the source
        in the presence task; or empty).

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


def verify_labelled(claims: pd.DataFrame, prompt: prompts.Prompt, model: Model) -> pd.DataFrame:
    """Add a model's verdicts to rows of ``labelled_claims``: the columns ``support``, ``reason`` and ``evidence``.

    >>> from claimwise import models
    >>> claims = pd.DataFrame({"document": "It rained.", "extra": None, "claim": ["It rained.", "Ann left."]})
    >>> model = models.load({"kind": "lexical"})
    >>> verify_labelled(claims, prompts.load("acueval-verify-zeroshot"), model)["support"].tolist()
    [1.0, 0.0]
    """
    extras = claims["extra"] if claims["extra"].notna().all() else None
    verdicts = verify_each(claims["document"], claims["claim"], model, prompt, extras)
    columns = {name: [getattr(verdict, name) for verdict in verdicts] for name in ("support", "reason", "evidence")}
    return claims.assign(**columns)


def probability(verdicts: pd.DataFrame) -> pd.Series:
    """The probability that the document supports each claim; NaN if no verdict could be read.

    This is ``support``, except for aligned claims (FENICE), where it is ``p_entail``. Their support is (NLIScore + 1) / 2,
    which is 0.5 if the document says nothing about the claim.

    >>> probability(pd.DataFrame({"support": [0.9, 0.6], "p_entail": [0.8, 0.2]})).tolist()
    [0.8, 0.2]
    """
    return verdicts.get("p_entail", verdicts["support"])


def blank(document: str, claim: str) -> Verdict | None:
    """The verdict if the document or the claim is blank, so that nothing is asked; else None.

    >>> blank("", "Sun.").reason, blank("It rained.", " ").reason, blank("It rained.", "Rain.")
    ('empty document', 'empty claim', None)
    """
    if not document.strip():
        return Verdict(NAN, Reason.EMPTY_DOCUMENT)
    return None if claim.strip() else Verdict(NAN, Reason.EMPTY_CLAIM)
