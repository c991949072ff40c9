"""What every notebook says besides its results: what was run, on what, and whether the model had learned from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from IPython.display import HTML

from claimwise.analysis.tables import show

#: What each corpus is, for readers who do not know its name.
CORPORA = {
    "aggrefact": "AggreFact: news summaries labelled faithful or not",
    "aggrefact_ftsota": "AggreFact's summaries by BART, Pegasus and T5 (FtSota), labelled faithful or not",
    "aggrefact_exf": "AggreFact's summaries by early Transformers (EXF), labelled faithful or not",
    "factcg": "made-up claims against several places of a document",
    "factcheck_gpt": "claims of ChatGPT's answers against web pages that bear on them",
    "fave": "questions with eight papers' abstracts each; the models write the summaries",
    "frank": "AggreFact's summaries whose types of error FRANK marked",
    "genaudit_usb": "LLMs' summaries with marked errors",
    "halueval": "CNN/DM articles with a right and a hallucinated summary each, the latter by ChatGPT",
    "llmsummeval": "news summaries by LLMs, fine-tuned systems and writers, faithful or not by most votes",
    "llmsummeval_pairwise": "news summaries by GPT-3.5 (text-davinci-002) and by writers, preferred by raters",
    "longeval": "summaries of PubMed articles, factuality judged part by part",
    "longsciverify": "summaries of PubMed and arXiv articles, factuality judged",
    "qags": "sentences of CNN/DM summaries, supported or not by three votes each",
    "rose": "reference summaries with the claims that people made of them (atomic content units, ACUs)",
    "sample": "hand-written documents with summaries, claims and labels",
    "sample_papers": "hand-written abstracts with summaries that cite them",
    "sample_presence": "the sample's claims against other summaries of the same document",
    "summac_cogensumm": "CNN/DM summaries labelled faithful or not (SummaC's slice of CoGenSumm)",
    "summac_factcc": "sentences of CNN/DM summaries labelled faithful or not (SummaC's slice of FactCC)",
    "summac_xsumfaith": "XSum summaries labelled faithful or not (SummaC's slice of XSumFaith)",
    "summedits": "summaries in five domains, some with an edit that makes them inconsistent",
    "summeval": "CNN/DM summaries by 12 of SummEval's 16 systems; faithful where the mode of three experts' consistency is 5",
    "vectara": "news summaries by 13 LLMs, unlabelled, with HHEM-2.3's scores on record",
    "vectara_training": "the same of other documents, which the embedded model learned from",
    "wice": "statements of Wikipedia against the web articles that they cite",
    "wice_chunks": "the same against excerpts with the supporting sentences",
    "wice_subclaims": "parts of WiCE's statements against such excerpts",
    "wice_spans": "partially supported statements of WiCE with the unsupported words marked",
}

#: What the embedded model learned from, by corpus: there its results are supervised (docs/model_card.md). A corpus with
#: the same documents under another name counts, too.
SUPERVISED = {
    "aggrefact": "verifier: the validation part of its FtSota and EXF groups",
    "aggrefact_ftsota": "verifier: the validation part",
    "aggrefact_exf": "verifier: the validation part",
    "frank": "verifier: the part that is AggreFact's validation",
    "halueval": "verifier: its validation documents",
    "wice": "verifier: the dev part",
    "wice_chunks": "verifier: the dev part",
    "wice_spans": "verifier: the dev part",
    "wice_subclaims": "verifier: the dev part",
    "rose": "decomposer and verifier: the CNN/DM validation part",
    "summedits": "verifier: all of it",
    "summac_factcc": "verifier: all of it",
    "summac_xsumfaith": "verifier: the validation part",
    "summac_cogensumm": "verifier: all of it",
    "factcg": "verifier: all of it",
    "factcheck_gpt": "verifier: all of it",
    "genaudit_usb": "verifier: all of it",
    "vectara": "verifier: other documents' summaries that HHEM-2.3 calls faithful; agreeing with HHEM is no evidence",
    "vectara_training": "verifier: all of it",
}

#: Variants of the embedded model (``weights``), and how the names of the corpora that they do not know start.
UNKNOWN = {"zero-shot": ("aggrefact", "summac_", "frank")}


def learned_from(corpus: str, model: Mapping[str, Any]) -> str:
    """What of a corpus a model (an entry of ``models`` in params.yaml) has learned from; empty where nothing is known.

    >>> learned_from("wice", {"kind": "embedded"}), learned_from("qags", {"kind": "embedded"})
    ('verifier: the dev part', '')
    """
    if model.get("kind") != "embedded" or corpus.startswith(UNKNOWN.get(model.get("weights"), ("/",))):
        return ""
    return SUPERVISED.get(corpus, "")


def what_was_run(data: str, model: str, entry: Mapping[str, Any], corpora: Iterable[str], **facts: Any) -> HTML:
    """Two tables: model, corpora's collection and a notebook's own facts; and every corpus, with what of it was learned from.

    Where the model learned from a corpus its results are supervised, unlike those of the papers' prompted models.

    ``model`` is the key of the model in params.yaml, ``entry`` its entry there; ``facts`` (prompts, numbers of rows,
    draws) are texts, numbers, lists or mappings.
    """
    rows = {"data": data, "model": f"{model} ({_line(entry)})"}
    rows |= {name.replace("_", " "): _line(value) for name, value in facts.items()}
    run = show(pd.DataFrame({"what was run": rows.keys(), "": rows.values()}))
    names = list(dict.fromkeys(corpora))
    about = pd.DataFrame(
        {
            "corpus": names,
            "what it is": [CORPORA.get(name, "yours") for name in names],
            "what the model learned of it": [learned_from(name, entry) or "nothing that we know of" for name in names],
        }
    )
    return HTML(run.data + show(about).data)


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_line(item)}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
