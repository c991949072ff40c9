"""Layout in a user's summary (which is not read), and text that only looks like layout."""

import pandas as pd
import pytest

import claimwise
from claimwise import corpora
from claimwise.corpora.plain import plain
from claimwise.corpora.user import load


@pytest.mark.parametrize(
    ("summary", "read"),
    [
        ("1. The mayor spoke.\n2. Parents worry.", "The mayor spoke.\nParents worry."),
        (" a) The mayor spoke.\n b) Parents worry.", "The mayor spoke.\nParents worry."),
        ("Key points:\n- The mayor spoke.\n* Parents worry.", "\nThe mayor spoke.\nParents worry."),
        ("Sure! Here's a brief overview of what it says about schools:\nThe mayor spoke.", "\nThe mayor spoke."),
        ("## Schools\nThe mayor spoke.\n\n---\n* * *", "\nThe mayor spoke.\n\n\n"),
        ("**Concise Summary:**\n\nThe mayor spoke.", "\n\nThe mayor spoke."),
        (
            "**Cost:** *four* million, ***about***, see _Nature_ and `x`.",
            "Cost: four million, about, see Nature and x.",
        ),
        ("> See [the report](http://a.b/c) on the ~~old~~ bridge.", "See the report on the old bridge."),
        ("<h2>News</h2><p>It <b>rained</b> &amp; snowed.<br/>Ann left.</p>", "News\n\nIt rained & snowed.\nAnn left."),
        ("**The mayor spoke.**\nParents worry.", "The mayor spoke.\nParents worry."),
        ("---", ""),
        ("The mayor spoke.\n1. Parents worry.", "The mayor spoke.\nParents worry."),
        ("It says: 1) schools close, 2) parents worry.", "It says: schools close, parents worry."),
        ("<think>Is it\nshort? Yes.</think>\n\nThe mayor spoke.", "The mayor spoke."),
        ("<style>p { color: red }</style><p>The mayor spoke.</p><SCRIPT>alert(1)</SCRIPT>", "The mayor spoke."),
        ("TL;DR: The mayor spoke. Parents worry.", "The mayor spoke. Parents worry."),
        (
            "Sure! Here's a short summary of the article:  The mayor spoke.\nRain: none.",
            "The mayor spoke.\nRain: none.",
        ),
        ("**Summary:** The mayor spoke.", "The mayor spoke."),
        ("## **Summary**: 1. The mayor spoke.", "The mayor spoke."),
        ("<summary>The mayor spoke.</summary>", "The mayor spoke."),
        ("<answer>\nSummary: The mayor spoke. Summary: it rained.\n</answer>", "The mayor spoke. Summary: it rained."),
        ("The mayor spoke.\n\n*Hope this helps!*\nLet me know if you would like more detail.", "The mayor spoke."),
    ],
)
def test_layout_is_not_read(summary, read):
    assert plain(summary).strip("\n") == read.strip("\n")
    assert plain(plain(summary)) == plain(summary)


@pytest.mark.parametrize(
    "summary",
    [
        "Ann: are you coming tonight?\r\nBob: no, i am too tired\n",
        "The mayor of the town said on Tuesday:\n“Three schools close.”",
        "12. May was the date.\nParents worry.",
        "Key points:",
        "Summary:",
        "The mayor spoke. Here is a summary of it: parents worry.\nSummary: it rained.",
        "In the summary: three schools close.",
        "Summary judgment: the mayor won. A summary of the trial: none.",
        "Here is the mayor's summary: three schools close.",
        "Here is where the mayor spoke: a summary trial.",
        "Let me know if you can, said the mayor.",
        "The pool is open.\nFeel free to smoke at the pool, the mayor said.\nLet me know was her last song.",
        "Parents worry.\n1. May was the date.",
        "1. FC Tarn won the cup.\nIt beat Velby.",
        "Patients on placebo (group 1) did worse than those on the drug (group 2) in all trials.",
        "Ann (1) and Bob (2) scored goals, as equations (1) and (2) say. Smith et al. (1) found rain. Lee (2) did not.",
        "Rain fell (Table 1) in May. Snow fell (Table 2) in June.",
        "U. S. schools close.\nA. Smith worries.",
        "3 * 4 * 5, f***, *p < .05, **p < .01, __init__ and snake_case_name, AT&amp;T, <5 mg>, <name>, [1] (see a).",
        "The 5 - year - old has 321,000+ cases; it is # 64 > # 63. ` fat ' is a word.",
        "",
    ],
)
def test_what_only_looks_like_layout_stays(summary):
    assert plain(summary) == summary


def test_the_shipped_summaries_stay_as_they_are():
    summaries = corpora.load("sample").examples["summary"]
    assert summaries.map(plain).tolist() == summaries.tolist()


def test_layout_is_in_no_claim_of_files_corpora_and_texts(tmp_path, monkeypatch):
    marked = "## News\n**It rained**.\n---"
    claims = claimwise.explain("It rained.", marked, metric="sentences", model="lexical").claims
    assert claims["claim"].tolist() == ["It rained."]
    file = tmp_path / "mine.csv"
    summaries = [marked, "It rained.", " "]
    pd.DataFrame({"document": ["It rained."] * 3, "summary": summaries}).to_csv(file, index=False)
    with pytest.warns(UserWarning, match="mine.csv: 1 summary read without HTML, Markdown, list numbers and lead-ins"):
        assert load(file).examples["summary"].str.strip().tolist() == ["It rained.", "It rained.", ""]


def test_a_claim_of_ones_own_without_words_is_not_asked():
    found = claimwise.check("It rained.", claims := ["---", "It **rained**."], model="lexical")
    assert found["reason"].tolist() == ["empty claim", None]
    assert found["claim"].tolist() == claims  # verified as they stand
