"""One page of HTML that shows a scored file: every claim, what it is worth, and the sentences that decided.

The page is one file that opens from disk. Texts are data: all of them are escaped, and no script runs but the page's own.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib import resources

import jinja2
import pandas as pd

from claimwise import text
from claimwise.metrics import Evaluation
from claimwise.metrics.verify import probability
from claimwise.user_file.bands import HALF, NOT_SURE, Band
from claimwise.user_file.decisions import decisions, verdicts
from claimwise.user_file.output import SUPPORT, nearest

#: Examples on one page at most, those with the lowest scores: a browser shows no more in good time.
MOST = 300


def render(
    evaluation: Evaluation,
    examples: pd.DataFrame,
    *,
    metric: str,
    model: str,
    source: str,
    threshold: float | None = None,
    band: Band | None = None,
    claim_band: Band = HALF,
) -> str:
    """The page of an evaluation, lowest scores first.

    Args:
        evaluation: what ``metrics.evaluate`` returned for the examples.
        examples: the examples table.
        metric: the metric's name, for the title.
        model: the model's name, likewise; empty where none was asked.
        source: where the examples came from, likewise.
        threshold: a summary is shown as faithful above it, as not faithful otherwise.
        band: without a threshold, a summary is shown as faithful above it, as not faithful below, else as not sure;
            without either nothing is decided.
        claim_band: the same of claims.

    >>> examples = pd.DataFrame({"id": ["a"], "document": ["It rained. <b>Lee</b> lost."], "summary": ["Lee won."],
    ...                          "system": ["unknown"], "label": [None]})
    >>> claims = pd.DataFrame({"example_id": ["a"], "claim_index": [0], "claim": ["Lee won."]})
    >>> verdicts = pd.DataFrame({"example_id": ["a"], "claim_index": [0], "support": [0.1], "reason": [None],
    ...                          "evidence": [[1]]})
    >>> scores = pd.DataFrame({"example_id": ["a"], "score": [0.1], "n_unparsed": [0], "reason": [None]})
    >>> page = render(Evaluation(claims, verdicts, scores), examples, metric="acueval", model="m", source="a.jsonl")
    >>> "&lt;b&gt;Lee&lt;/b&gt; lost." in page, "<b>Lee" in page
    (True, False)
    """
    scored = examples.merge(evaluation.scores, left_on="id", right_on="example_id", suffixes=("", "_score"))
    decided = None if threshold is None else decisions(scored["score"], threshold)
    words = verdicts(scored["score"], band) if band and threshold is None else ""
    scored = scored.assign(faithful=decided, verdict=words).sort_values("score", kind="stable")
    shown = scored.head(MOST)
    judged = evaluation.judged_claims()
    judged["probability"] = probability(judged)
    judged["verdict"] = [claim_band.word(value, *SUPPORT) or "unread" for value in judged["probability"]]
    by_example = dict(list(judged.groupby("example_id")))
    return _template().render(
        metric=metric,
        model=model,
        source=source,
        n=len(scored),
        mean=scored["score"].mean(),
        unscored=int(scored["score"].isna().sum()),
        unread=int((evaluation.verdicts["support"].isna() if len(evaluation.verdicts) else scored["n_unparsed"]).sum()),
        n_claims=len(evaluation.verdicts),
        aligned="p_entail" in judged,
        n_unsupported=int((judged["verdict"] == SUPPORT[1]).sum()),
        n_not_sure=int((judged["verdict"] == NOT_SURE).sum()),
        claim_band=claim_band,
        band=band if threshold is None else None,
        n_verdicts=scored["verdict"].value_counts().to_dict(),
        threshold=threshold,
        n_faithful=None if decided is None else int(decided.sum()),
        examples=[_example(row, by_example.get(row.id)) for row in shown.itertuples()],
    )


def _example(row, claims: pd.DataFrame | None) -> dict:
    sentences = text.sentences(row.document)
    return {
        "id": row.id,
        "system": row.system,
        "label": None if pd.isna(row.label) else int(row.label),
        "score": None if pd.isna(row.score) else row.score,
        "faithful": None if pd.isna(row.faithful) else bool(row.faithful),
        "verdict": row.verdict,
        "reason": row.reason,
        "summary": row.summary,
        "document": _pieces(row.document, sentences),
        "claims": [] if claims is None else [_claim(claim, row.document, sentences) for claim in claims.itertuples()],
    }


def _claim(claim, document: str, sentences: list[text.Span]) -> dict:
    support = claim.probability
    evidence = nearest(document, claim.claim, claim)
    return {
        "text": claim.claim,
        "support": None if pd.isna(support) else support,
        "verdict": claim.verdict,
        "reason": claim.reason,
        "evidence": evidence,
        # A language model reads all of a document and singles nothing out.
        "related": bool(evidence) and (claim.evidence is None or not len(claim.evidence)),
        "sentences": [sentences[i].text for i in evidence],
    }


def _pieces(document: str, sentences: list[text.Span]) -> list[tuple[int | None, str]]:
    """The whole document as (number of the sentence, or None between two of them, text)."""
    pieces: list[tuple[int | None, str]] = []
    cursor = 0
    for number, span in enumerate(sentences):
        pieces += [(None, document[cursor : span.start]), (number, span.text)]
        cursor = span.end
    return [*pieces, (None, document[cursor:])]


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    page, script = (
        resources.files("claimwise").joinpath("templates", f"page.{kind}").read_text("utf-8") for kind in ("html", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.from_string(page, globals={"script": script, "script_hash": f"sha256-{digest}"})
