"""What every notebook says besides its results: what was run, and what the numbers cannot show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from IPython.display import HTML, Markdown

from claimwise import models
from claimwise.analysis import tables


def ran(data: str, model: Mapping[str, Any], **facts: Any) -> HTML:
    """A two-column table: the corpora, the model, and the notebook's own facts (prompts, n, draws)."""
    rows = {"data": data, "model": models.describe(model)} | {k.replace("_", " "): v for k, v in facts.items()}
    return tables.show(pd.DataFrame({"what": rows.keys(), "value": [_line(v) for v in rows.values()]}), "What was run")


def made_of(definitions: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> dict[str, str]:
    """What metrics are made of: claims, verdicts and aggregate, or a judge.

    Args:
        definitions: the section ``metrics`` of params.yaml.
        names: of some of them; others (published scores) are left out.

    >>> metric = {"decompose": "sentences", "verify": "acueval-verify-zeroshot", "aggregate": "mean", "alignment": {}}
    >>> made_of({"m": metric, "j": {"judge": "word-overlap"}}, ["m", "j", "n (published)"])
    {'m': 'sentences, acueval-verify-zeroshot, mean', 'j': 'word-overlap'}
    """
    parts = ("judge", "decompose", "verify", "aggregate")
    known = [name for name in names if name in definitions]
    return {name: ", ".join(definitions[name][part] for part in parts if part in definitions[name]) for name in known}


def sizes(rows: pd.DataFrame, by: str) -> dict[str, int]:
    """How many summaries, claims or judgments stand behind a result (its ``n``), by a column, in the result's order.

    >>> sizes(pd.DataFrame({"task": ["wice", "wice", "rose"], "n": [9, 10, 8]}), "task")
    {'wice': 10, 'rose': 8}
    """
    return rows.groupby(by, sort=False)["n"].max().to_dict()


def headline(rows: pd.DataFrame, by: str, name: str, value: str) -> dict[str, dict[str, float]]:
    """One column of a result by two others, for ``dvc metrics show``.

    >>> rows = pd.DataFrame({"corpus": "wice", "model": ["embedded", "lexical"], "auc": [0.75, 0.5]})
    >>> headline(rows, "corpus", "model", "auc")
    {'wice': {'embedded': 0.75, 'lexical': 0.5}}
    """
    return {key: dict(zip(part[name], part[value], strict=True)) for key, part in rows.groupby(by)}


#: What each corpus is, for readers who do not know its name.
CORPORA = {
    "aggrefact": "AggreFact: news summaries labelled faithful or not",
    "aggrefact_ftsota": "AggreFact's summaries by BART, Pegasus and T5 (FtSota), labelled faithful or not",
    "aggrefact_exf": "AggreFact's summaries by early Transformers (EXF), labelled faithful or not",
    "factcg": "made-up claims against several places of a document",
    "factcheck_gpt": "claims of ChatGPT's answers against web pages that bear on them",
    "factscore": "sentences of ChatGPT's biographies with the facts that people made of them",
    "fave": "questions with eight papers' abstracts each; the models write the summaries",
    "frank": "AggreFact's summaries whose types of error FRANK marked",
    "genaudit_usb": "LLMs' summaries with marked errors",
    "halueval": "CNN/DM articles with a right and a hallucinated summary each, the latter by ChatGPT",
    "halueval_full": "all of HaluEval: CNN/DM articles with a right and a hallucinated summary each, the latter by ChatGPT",
    "llmsummeval": "news summaries by LLMs, fine-tuned systems and writers, faithful or not by most votes",
    "llmsummeval_pairwise": "news summaries by GPT-3.5 (text-davinci-002) and by writers, preferred by raters",
    "longeval": "summaries of PubMed articles, factuality judged part by part",
    "longsciverify": "summaries of PubMed and arXiv articles, factuality judged",
    "qags": "sentences of CNN/DM summaries, supported or not by three votes each",
    "rose": "reference summaries with the claims that people made of them (atomic content units, ACUs)",
    "rose_presence": "ROSE's claims against systems' summaries: is the claim in the summary?",
    "sample": "hand-written documents with summaries, claims and labels",
    "sample_papers": "hand-written abstracts with summaries that cite them",
    "sample_presence": "the sample's claims against other summaries of the same document",
    "summac_cogensumm": "CNN/DM summaries labelled faithful or not (SummaC's slice of CoGenSumm)",
    "summac_factcc": "sentences of CNN/DM summaries labelled faithful or not (SummaC's slice of FactCC)",
    "summac_polytope": "CNN/DM summaries labelled faithful or not (SummaC's slice of Polytope)",
    "summac_xsumfaith": "XSum summaries labelled faithful or not (SummaC's slice of XSumFaith)",
    "summedits": "summaries in five domains, some with an edit that makes them inconsistent",
    "summeval": "CNN/DM summaries by 12 of SummEval's 16 systems; faithful where the mode of three experts' consistency is 5",
    "vectara": "news summaries by 13 LLMs, unlabelled, with HHEM-2.3's scores on record",
    "vectara_training": "the same of other documents, which the embedded model learned from",
    "wice": "statements of Wikipedia against the web articles that they cite",
    "wice_chunks": "the same against excerpts with the supporting sentences",
    "wice_spans": "partially supported statements of WiCE with the unsupported words marked",
}


def about(corpora: Iterable[str]) -> dict[str, str]:
    """Corpora with a line on each that is one of ours.

    >>> about(["mine", "sample_papers"])
    {'mine': 'yours', 'sample_papers': 'hand-written abstracts with summaries that cite them'}
    """
    return {name: CORPORA.get(name, "yours") for name in corpora}


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_line(item)}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


#: What the embedded model learned from, by corpus: there its results are supervised (docs/model_card.md). A corpus with
#: the same documents under another name counts, too.
SUPERVISED = {
    "aggrefact": "verifier: the validation part of its FtSota and EXF groups",
    "aggrefact_ftsota": "verifier: the validation part",
    "aggrefact_exf": "verifier: the validation part",
    "frank": "verifier: the part that is AggreFact's validation",
    "halueval": "verifier: its validation documents",
    "halueval_full": "verifier: 100 of its documents",
    "wice": "verifier: the dev part",
    "wice_chunks": "verifier: the dev part",
    "wice_spans": "verifier: the dev part",
    "rose": "decomposer and verifier: the CNN/DM validation part",
    "rose_presence": "decomposer and verifier: the CNN/DM validation part",
    "summedits": "verifier: all of it",
    "summac_factcc": "verifier: all of it",
    "summac_xsumfaith": "verifier: the validation part",
    "summac_cogensumm": "verifier: all of it",
    "summac_polytope": "verifier: articles that it shares with AggreFact's validation part",
    "factcg": "verifier: all of it",
    "factcheck_gpt": "verifier: all of it",
    "genaudit_usb": "verifier: all of it",
    "vectara": "verifier: other documents' summaries that HHEM-2.3 calls faithful; agreeing with HHEM is no evidence",
    "vectara_training": "verifier: all of it",
}

#: Variants of the embedded model (``weights``), and how the names of the corpora that they do not know start.
UNKNOWN = {"zero-shot": ("aggrefact", "summac_", "frank")}


def caveats(data: str, model: Mapping[str, Any], *more: str, corpora: Iterable[str]) -> Markdown:
    """The limits that follow from the data, the model and the corpora, and the notebook's own.

    Args:
        data: ``sample``, ``public`` or ``own``.
        model: the entry of ``models`` that ran.
        more: the notebook's own sentences.
        corpora: every corpus that the notebook reports on: the caveats say on which of them the model is supervised.

    >>> shown = caveats("public", {"kind": "embedded"}, corpora=["wice", "qags"])
    >>> "**Supervised** on wice (verifier: the dev part)" in shown.data, "Not trained on: qags." in shown.data
    (True, True)
    """
    lines = []
    if data == "sample":
        lines.append(
            "The sample is 64 hand-written documents by four authors, with errors placed on purpose. It shows that the "
            "pipeline works and what its output looks like; it is too small and too deliberate to rank systems or "
            "metrics. The public run (`data: public`) is the one to quote."
        )
    if model.get("kind") == "embedded":
        lines.append(
            "The model is the embedded one, not the papers' 70-billion-parameter or GPT-4 models: the published "
            "numbers stand beside ours for orientation, they are no replication. It reads a prompt's demonstrations and "
            "settings, not its prose. " + _supervision(list(dict.fromkeys(corpora)), model)
        )
    return bullets([*lines, *more])


def beside_chance(auc: float) -> str:
    """A warning where supports hardly rank anything; nothing from an AUC of 0.6.

    >>> beside_chance(0.47), beside_chance(0.55), beside_chance(0.8)
    (' That is no better than chance.', ' That is hardly better than chance.', '')
    """
    if auc >= 0.6:
        return ""
    return f" That is {'no' if auc <= 0.5 else 'hardly'} better than chance."


#: Where HTML would begin.
_TAG = re.compile(r"<(?=[a-z/!?])", re.IGNORECASE)


def bullets(sentences: list[str]) -> Markdown:
    """Sentences as a list. Names of systems and origins come from users' files: no tag that they hold is one here.

    >>> bullets(["**all** (p < .05)", "`a` and <b>"]).data
    '- **all** (p < .05)\\n- `a` and &lt;b>'
    """
    return Markdown("\n".join(f"- {_TAG.sub('&lt;', sentence)}" for sentence in sentences))


def supervised(corpora: Iterable[str], model: Mapping[str, Any]) -> list[str]:
    """The corpora that the model has learned from; none, where it is not the embedded one.

    >>> supervised(["wice", "qags"], {"kind": "embedded"}), supervised(["wice"], {"kind": "openai"})
    (['wice'], [])
    """
    if model.get("kind") != "embedded":
        return []
    left_out = UNKNOWN.get(model.get("weights"), ())
    return [name for name in corpora if name in SUPERVISED and not name.startswith(left_out)]


def _supervision(corpora: list[str], model: Mapping[str, Any]) -> str:
    known = supervised(corpora, model)
    learned = [f"{name} ({SUPERVISED[name]})" for name in known]
    unseen = [name for name in corpora if name not in known]
    parts = []
    if learned:
        parts.append(
            f"**Supervised** on {', '.join(learned)}: unlike the papers' prompted models, it has learned from what stands "
            "in brackets. A document that the verifier learned from is scored only by those parts of it that have not seen it, "
            "a test document by all parts: thresholds tuned on the first may not quite suit the second."
        )
    if unseen:
        parts.append(f"Not trained on: {', '.join(unseen)}.")
    return " ".join(parts)
