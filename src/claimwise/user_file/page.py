"""One HTML page that shows a scored file: every claim, its verdict, and the nearest sentences of the document.

The page is a single file that opens from disk. All texts are escaped, and only the page's own script runs.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources

import jinja2
import pandas as pd

from claimwise import text
from claimwise.metrics.verify import probability
from claimwise.models.base import WordMarker
from claimwise.user_file.decisions import HALF, NOT_SURE, SUPPORT, Band, held_back
from claimwise.user_file.output import none_for_nan

#: The most examples on one page (those with the lowest scores), and the most bytes of their documents: more would make a
#: browser slow.
MOST, MOST_BYTES = 1000, 7_000_000
_EVIDENCE = 2  # sentences shown per claim


def render(
    scores: pd.DataFrame,
    claims: pd.DataFrame,
    examples: pd.DataFrame,
    called: Sequence[str] | None = None,
    *,
    metric: str,
    model: str,
    source: str,
    threshold: float | None = None,
    band: Band | None = None,
    claim_band: Band = HALF,
    own_claims: bool = False,
    marker: WordMarker | None = None,
) -> str:
    """Render the page, lowest scores first.

    Args:
        scores: an evaluation's scores, one row per example, in the order of ``examples``.
        claims: its ``output.claim_table``.
        examples: the examples table.
        called: each summary's verdict, by the threshold or else by the band.
        metric: for the title.
        model: for the title; empty if none was asked.
        source: where the examples came from, for the title.
        threshold: the summaries' verdicts were decided by it, ...
        band: ... or else by this band.
        claim_band: the claims' verdicts were decided by it.
        own_claims: whether the user's own claims replace a summary.
        marker: marks the words of unsupported claims that the document does not support.

    >>> examples = pd.DataFrame({"id": ["a"], "document": ["It rained. <b>Lee</b> lost."], "summary": ["Lee won."],
    ...                          "system": ["unknown"], "label": [None]})
    >>> claims = pd.DataFrame({"example_id": ["a"], "claim": ["Lee won."], "support": [0.1], "verdict": ["unsupported"],
    ...                        "reason": [None], "nearest": [[1]], "evidence": [["<b>Lee</b> lost."]], "singled_out": [True]})
    >>> scores = pd.DataFrame({"score": [0.1], "n_unparsed": [0], "reason": [None]})
    >>> page = render(scores, claims, examples, metric="acueval", model="m", source="a.jsonl")
    >>> "&lt;b&gt;Lee&lt;/b&gt; lost." in page, "<b>Lee" in page
    (True, False)
    """
    scored = examples.assign(
        **{name: scores[name].to_numpy() for name in ("score", "n_unparsed", "reason")},
        decision=called,
        place=range(len(examples)),
    ).sort_values("score", kind="stable")
    small = scored["document"].str.encode("utf-8").str.len().cumsum() <= MOST_BYTES
    shown = none_for_nan(scored.head(max(1, min(MOST, small.sum()))))
    unjudged = claims["support"].isna().map({True: "unread", False: "no verdict"})
    judged = claims.assign(
        probability=probability(claims),
        verdict=claims["verdict"].where(claims["verdict"] != "", unjudged),
    )
    judged["unsupported_words"] = _marked(judged, shown, marker) if marker else None
    by_example = dict(list(none_for_nan(judged).groupby("example_id")))
    found = [_example(row, by_example.get(row.id)) for row in shown.itertuples()]
    return _template().render(
        metric=metric,
        model=model,
        source=source,
        n=len(scored),
        own_claims=own_claims,
        mean=scored["score"].mean(),
        unscored=int(scored["score"].isna().sum()),
        unread=int((judged["support"].isna() if len(judged) else scored["n_unparsed"]).sum()),
        n_claims=len(judged),
        aligned="p_entail" in judged,
        n_unsupported=int((judged["verdict"] == SUPPORT[1]).sum()),
        n_not_sure=int((judged["verdict"] == NOT_SURE).sum()),
        claim_band=claim_band,
        band=band,
        decided=scored["decision"].value_counts().to_dict(),
        held_back=held_back(scored["decision"], scored["score"], band) if band else 0,
        no_verdict=int(((scored["decision"] == "") & scored["score"].notna()).sum()),
        threshold=threshold,
        words_measured=marker.words_measured if marker else "",
        states=Counter(example["state"] for example in found),
        examples=found,
    )


def _marked(judged: pd.DataFrame, shown: pd.DataFrame, marker: WordMarker) -> pd.Series:
    """The spans of unsupported words in claims that are unsupported or not sure."""
    decided = shown[shown["decision"] != ""]  # without a score, or by a band in another language
    asked = judged[judged["verdict"].isin([SUPPORT[1], NOT_SURE]) & judged["example_id"].isin(decided["id"])]
    documents = asked["example_id"].map(shown.set_index("id")["document"])
    spans = marker.unsupported_words(documents.tolist(), asked["claim"].tolist())
    return pd.Series(spans, asked.index, dtype=object)


def _example(row, claims: pd.DataFrame | None) -> dict:
    sentences = text.sentences(row.document)
    found = [] if claims is None else [_claim(claim) for claim in claims.itertuples()]
    words = {claim["row"].verdict for claim in found}
    named = {i for claim in found for i in claim["evidence"]}
    judged = [claim for claim in found if claim["row"].probability is not None]
    state = f"{'an' if SUPPORT[1] in words else 'no'} unsupported claim" if words else "scored"
    return {
        "row": row,
        # What the page can be cut to: the decision, or where there is none, whether there is an unsupported claim.
        "state": "no score" if row.score is None else "no verdict" if row.decision == "" else row.decision or state,
        "doubted": bool(words - {SUPPORT[0]}),
        "document": _pieces(row.document, {i: sentences[i][:2] for i in sorted(named)}),
        "claims": found,
        "first": min(judged, key=lambda claim: claim["row"].probability, default=None),
    }


def _claim(claim) -> dict:
    return {
        "row": claim,
        "evidence": claim.nearest[:_EVIDENCE],
        "sentences": claim.evidence[:_EVIDENCE],
        # By a model that knows the class; of other models it cannot be told from absent.
        "contradicted": (getattr(claim, "p_contradict", None) or 0) > 0.5,
        # A language model reads all of a document and singles nothing out.
        "related": bool(claim.nearest) and not claim.singled_out,
        "pieces": _pieces(claim.claim, dict(enumerate(claim.unsupported_words or ()))),
    }


def _pieces(whole: str, spans: Mapping[int, tuple[int, int]]) -> list[tuple[int | None, str]]:
    """Cut a text into (number of a span, its text), and (None, text) between spans; spans are in order."""
    pieces: list[tuple[int | None, str]] = []
    cursor = 0
    for number, (start, end) in spans.items():
        pieces += [(None, whole[cursor:start]), (number, whole[start:end])]
        cursor = end
    return [*pieces, (None, whole[cursor:])]


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    page, script = (
        resources.files("claimwise").joinpath("templates", f"page.{kind}").read_text("utf-8") for kind in ("html", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.from_string(page, globals={"script": script, "script_hash": f"sha256-{digest}"})
