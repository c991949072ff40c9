"""The page of a scored file, read with an HTML parser."""

import base64
import hashlib
import re
import runpy
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from claimwise.metrics import Evaluation
from claimwise.models.base import Verdict
from claimwise.models.chunks import retrieve
from claimwise.user_file import decisions, output
from claimwise.user_file import page as pages
from claimwise.user_file.decisions import HALF, Band

EVIL = '<script>alert(1)</script> & "quoted" {{ 7 * 7 }}'


def examples(*rows):
    columns = ["id", "document", "summary", "system", "label"]
    return pd.DataFrame(rows, columns=columns)


def evaluation(claims, scores):
    """Claims as (example, text, support, reason, evidence), scores as (example, score, unparsed, reason)."""
    table = pd.DataFrame(claims, columns=["example_id", "claim", "support", "reason", "evidence"])
    table["claim_index"] = table.groupby("example_id").cumcount()
    keys = ["example_id", "claim_index"]
    scores = pd.DataFrame(scores, columns=["example_id", "score", "n_unparsed", "reason"])
    return Evaluation(table[[*keys, "claim"]], table[[*keys, "support", "reason", "evidence"]], scores)


def html(result, table, threshold=None, band=None, claim_band=HALF, marker=None):
    claims = output.claim_table(result, table, claim_band)
    rows = table.assign(score=result.scores["score"])
    called = None
    if threshold is not None:
        called = [
            "" if pd.isna(score) else "faithful" if score > threshold else "not faithful" for score in rows["score"]
        ]
    elif band:
        called = decisions.verdicts(rows, band, claims)
    return pages.render(
        result.scores,
        claims,
        table,
        called,
        metric="acueval",
        model="fake",
        source="mine.jsonl",
        threshold=threshold,
        band=band,
        claim_band=claim_band,
        marker=marker,
    )


def render(*args, **settings):
    return BeautifulSoup(html(*args, **settings), "html.parser")


@pytest.fixture
def page():
    table = examples(
        ("good", "It rained. Lee won in Rome.", "Lee won.", "human", 1.0),
        ("bad", "It  rained. Lee lost. Ann saw it. Bo did not. Cy left.", "Lee won. Mumble.", "gpt", 0.0),
    )
    claims = [
        ("good", "Lee won.", 0.9, None, [1]),
        ("bad", "Lee won.", 0.2, None, [1, 4, 0, 3]),
        ("bad", "Mumble.", float("nan"), "neither Yes nor No in the reply", []),
    ]
    return render(evaluation(claims, [("good", 0.9, 0, None), ("bad", 0.2, 1, None)]), table)


def texts(page, selector):
    return [found.get_text() for found in page.select(selector)]


def test_the_lowest_score_comes_first_with_its_label(page):
    assert texts(page, "h2") == ["bad", "good"]
    assert texts(page, ".score") == ["0.200", "0.900"]
    assert texts(page, "header .soft") == ["gpt · your label: not faithful", "human · your label: faithful"]


def test_an_aligned_claim_is_unsupported_where_it_is_not_entailed():
    """FENICE's support of a claim of which the document says nothing is one half, more where it nearly does."""
    table = examples(("a", "It rained. Lee won in Rome.", "Lee won. Lee wept.", "human", None))
    found = evaluation([("a", "Lee won.", 0.95, None, [1]), ("a", "Lee wept.", 0.6, None, [1])], [("a", 0.7, 0, None)])
    found.verdicts["p_entail"] = [0.9, 0.2]
    found.verdicts["p_contradict"] = [0.0, 0.1]
    page = render(found, table)
    assert sorted(texts(page, "li .value")) == ["supported 0.90", "unsupported 0.20"]
    found.verdicts["p_contradict"] = [0.0, 0.7]
    assert "unsupported 0.20 (contradicted)" in texts(render(found, table), "li .value")
    assert "2 claims, 1 of them unsupported" in page.select_one(".about").get_text()


def test_claims_show_verdict_and_their_two_best_sentences(page):
    claims = page.select("li")
    assert [claim["class"] for claim in claims] == [["unsupported"], ["unread"], ["supported"]]
    assert texts(page, "li .value") == ["unsupported 0.20", "unread", "supported 0.90"]
    assert texts(claims[0], "blockquote") == ["Lee lost.", "Cy left."]
    assert [claim.has_attr("data-first") for claim in claims] == [
        True,
        False,
        True,
    ]  # of each example the least supported
    assert "neither Yes nor No" in claims[1].get_text()


def test_evidence_points_at_the_sentences_of_the_document_and_the_document_is_whole(page):
    article = page.select_one("article")
    shown = article.select_one(".document")
    assert shown.get_text() == "It  rained. Lee lost. Ann saw it. Bo did not. Cy left."
    numbers = article.select_one("li")["data-evidence"].split()
    assert [texts(shown, f"[data-sentence='{n}']") for n in numbers] == [["Lee lost."], ["Cy left."]]


def test_where_all_of_a_document_was_read_the_nearest_sentences_are_shown_as_such():
    table = examples(("a", "It rained. They left. Ann won the race. No more. It ended.", "Ann won.", "x", None))
    claim = render(evaluation([("a", "Ann won the race.", 0.9, None, [])], [("a", 0.9, 0, None)]), table).select_one(
        "li"
    )
    assert "The whole document was read" in claim.get_text()
    assert "Ann won the race." in texts(claim, "blockquote")


def with_spans(found):
    return Evaluation(found.claims.assign(start=None, end=None), found.verdicts, found.scores)


def test_of_a_passage_that_was_read_as_one_the_nearest_sentences_are_shown_best_first():
    """Windows, chunks and documents are named in the document's order, whose first three say nothing."""
    document = (
        "It rained. They left. No more. Ann saw it. Ann won the race. It ended. Ann won the race again, they say."
    )
    table = examples(("a", document, "Ann won.", "x", None))
    found = evaluation([("a", "Ann won the race.", 0.9, None, list(range(6)))], [("a", 0.9, 0, None)])
    claim = render(found, table).select_one("li")
    # The last sentence was not read; of the others number 4 has all of the claim's words, number 3 one, no other any.
    assert texts(claim, "blockquote") == ["Ann won the race.", "Ann saw it."]
    assert claim["data-evidence"] == "4 3"
    assert "The whole document was read" not in claim.get_text()
    report = output.claim_report(output.claim_table(with_spans(found), table))
    assert report["evidence"].tolist() == ["Ann won the race. | Ann saw it. | It rained."]
    [[nested]] = output.with_claims(pd.DataFrame({"id": ["a"]}), output.claim_table(with_spans(found), table))["claims"]
    assert nested["evidence"] == ["Ann won the race.", "Ann saw it.", "It rained."]


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_of_all_sentences_are_those_that_are_retrieved(seed):
    generator = np.random.default_rng(seed)
    lines = [" ".join(generator.choice(list("abcdefgh"), 4)) for _ in range(30)]
    document = " ".join(f"X{line}." for line in lines)
    claim = lines[7]
    found = output.nearest(document, claim, Verdict(1.0, None, tuple(range(30))))
    for count in (1, 2, 3):
        assert set(found[:count]) == set(retrieve(document, claim, count).sentences)
    part = tuple(sorted(generator.choice(30, 6, replace=False).tolist()))
    assert set(output.nearest(document, claim, Verdict(1.0, None, part))) <= set(part)


def test_of_a_claim_without_a_verdict_no_sentence_is_said_to_have_been_read():
    table = examples(("a", "It rained. They left.", "Ann won.", "x", None))
    unread = ("a", "Ann won.", float("nan"), "longer than the model's context", [])
    found = evaluation([unread], [("a", float("nan"), 0, unread[3])])
    claim = render(found, table).select_one("li")
    assert texts(claim, "blockquote") == []
    assert "The whole document was read" not in claim.get_text()
    assert output.claim_report(output.claim_table(with_spans(found), table))["evidence"].tolist() == [""]


def test_counts_leave_unread_claims_out(page):
    about = " ".join(page.select_one(".about").get_text().split())
    assert "2 summaries by model fake, mean score 0.550." in about
    assert "3 claims, 1 of them unsupported (under 0.5), 1 without a verdict and left out." in about


def test_texts_are_escaped_wherever_they_stand():
    table = examples((EVIL, f"{EVIL}. It rained.", EVIL, EVIL, None))
    page = render(evaluation([(EVIL, EVIL, 0.3, EVIL, [0])], [(EVIL, 0.3, 0, None)]), table)
    (script,) = page.select("script")
    assert "alert(1)" not in script.get_text()
    assert page.select_one("article").get_text().count(EVIL) >= 6  # id, system, summary, claim, reason, document
    assert page.select_one("h2").get_text() == EVIL


def test_a_browser_runs_the_pages_own_script_and_no_other(page):
    (script,) = page.select("script")
    (policy,) = page.select("meta[http-equiv=Content-Security-Policy]")
    allowed = dict(part.split(maxsplit=1) for part in policy["content"].split("; "))
    digest = base64.b64encode(hashlib.sha256(script.get_text().encode()).digest()).decode()
    assert allowed["script-src"] == f"'sha256-{digest}'"
    assert allowed["default-src"] == "'none'"
    assert not [name for found in page.find_all() for name in found.attrs if name.startswith("on")]


def test_a_judge_makes_no_claims_and_a_summary_without_a_score_says_why():
    table = examples(("a", "It rained.", "", "s", None), ("b", "", "It rained.", "s", None))
    result = evaluation([], [("a", float("nan"), 0, "empty summary"), ("b", float("nan"), 0, "empty document")])
    page = render(result, table)
    assert page.select("li") == []
    assert texts(page, ".score") == ["no score: empty summary", "no score: empty document"]
    assert "mean score" not in page.get_text()


def test_what_the_threshold_decided_stands_beside_each_score():
    table = examples(*((key, "It rained.", "It rained.", "s", None) for key in ("low", "at", "high", "none")))
    scores = [("low", 0.2, 0, None), ("at", 0.6, 0, None), ("high", 0.6004, 0, None)]
    result = evaluation([], [*scores, ("none", float("nan"), 0, "empty summary")])
    page = render(result, table, threshold=0.6)
    decided = [" ".join(header.get_text().split()) for header in page.select("article > header")]
    assert decided == [
        "low 0.200 not faithful (not above 0.6) s",
        "at 0.600 not faithful (not above 0.6) s",
        "high 0.600 faithful (above 0.6) s",
        "none no score: empty summary s",
    ]
    assert [found["class"] for found in page.select(".decision")] == [["decision", "not-faithful"]] * 2 + [
        ["decision", "faithful"]
    ]
    about = " ".join(page.select_one(".about").get_text().split())
    assert "1 of 3 scores is above the threshold 0.6. Above it a summary is called faithful, otherwise not." in about
    assert "To decide, tune a threshold" not in about
    page = render(result, table)
    assert page.select(".decision") == []
    assert "To decide, tune a threshold" in page.get_text()


def test_a_long_file_shows_its_lowest_scores(monkeypatch):
    monkeypatch.setattr(pages, "MOST", 2)
    rows = [(str(n), "It rained.", "It rained.", "s", None) for n in range(4)]
    scores = [(str(n), 1 - n / 10, 0, None) for n in range(4)]
    page = render(evaluation([], scores), examples(*rows))
    assert texts(page, "h2") == ["3", "2"]
    assert "The 2 lowest scores are shown." in page.get_text()


def shown_with(page, label):
    """The claims of every example that the page's own style shows where the input of that label is checked."""
    (wanted,) = [found for found in page.select("nav label") if found.get_text().strip().startswith(label)]
    wanted.input["checked"] = ""
    rules = re.findall(r"^(nav:has.*) \{ display: none; \}$", page.style.get_text(), re.MULTILINE)
    hidden = set(map(id, page.select(", ".join(rules))))
    del wanted.input["checked"]
    return {
        article.h2.get_text(): [claim.p.contents[-1] for claim in article.select("li") if id(claim) not in hidden]
        for article in page.select("article")
        if id(article) not in hidden
    }


def test_a_page_is_cut_to_a_decision_or_to_doubtful_claims_without_a_script():
    values = {"no": 0.1, "yes": 0.9, "doubt": 0.5, "too": 0.2, "blank": None}
    rows = [(key, "It rained. Lee won.", "Lee won.", "s", None) for key in values]
    claims = [(key, "Lee won.", value, None, [1]) for key, value in values.items() if value]
    claims.append(("no", "It rained.", 0.9, None, [0]))
    scores = [(key, value, 0, None if value else "empty summary") for key, value in values.items()]
    result, band = evaluation(claims, scores), Band(0.3, 0.7)
    settings = {"claim_band": band}
    page = render(result, examples(*rows), band=band, **settings)
    assert [text.strip() for text in texts(page, "nav fieldset:first-of-type label")] == [
        "all (5)",
        "not faithful (2)",
        "not sure (1)",
        "faithful (1)",
        "no score (1)",
    ]
    assert list(shown_with(page, "all")) == ["no", "too", "doubt", "yes", "blank"]
    assert list(shown_with(page, "not faithful")) == ["no", "too"]
    assert list(shown_with(page, "not sure")) == ["doubt"]
    assert list(shown_with(page, "no score")) == ["blank"]
    doubtful = {"no": ["Lee won."], "too": ["Lee won."], "doubt": ["Lee won."]}
    assert shown_with(page, "only claims that are not supported") == doubtful
    undecided = render(result, examples(*rows), **settings)
    assert list(shown_with(undecided, "an unsupported claim")) == ["no", "too"]
    assert list(shown_with(undecided, "no unsupported claim")) == ["doubt", "yes"]


def test_of_a_text_in_another_language_the_page_says_that_there_is_no_verdict():
    rows = [("en", "It rained.", "Lee won.", "s", None), ("zh", "雨が降った。", "雨が降った。", "s", None)]
    claims = [("en", "Lee won.", 0.1, None, [0]), ("zh", "雨が降った。", 0.1, None, [0])]
    result, band = evaluation(claims, [("en", 0.1, 0, None), ("zh", 0.9, 0, None)]), Band(0.3, 0.7)
    marker = Marker()
    page = render(result, examples(*rows), band=band, claim_band=band, marker=marker)
    assert list(shown_with(page, "no verdict")) == ["zh"]
    assert "no verdict: not English, it seems" in page.select("article")[1].header.get_text()
    assert "1 without a verdict: not English, it seems" in page.select_one(".about").get_text()
    assert [claim for _, claim in marker.asked] == ["Lee won."]
    assert [li["class"] for li in page.select("li")] == [["unsupported"], ["no-verdict"]]
    assert "hardly better than a coin" not in page.get_text()  # nobody measured this band


class Marker:
    """Doubts the word "won"."""

    words_measured = "Half of these marks were right."

    def __init__(self):
        self.asked = []

    def unsupported_words(self, documents, texts):
        self.asked += zip(documents, texts, strict=True)
        return [[found.span() for found in re.finditer("won", text)] for text in texts]


def test_words_that_the_model_calls_unsupported_are_marked_in_claims_that_it_does_not_support():
    values = {"no": 0.1, "yes": 0.9, "doubt": 0.5}
    rows = [(key, f"It rained. {key}.", "Lee won.", "s", None) for key in values]
    claims = [(key, "<b> Lee won, won.", value, None, [0]) for key, value in values.items()]
    claims.append(("no", "unread, won", None, "no reply", []))
    result = evaluation(claims, [(key, value, 0, None) for key, value in values.items()])
    marker, settings = Marker(), {"claim_band": Band(0.3, 0.7)}
    page = render(result, examples(*rows), marker=marker, **settings)
    assert marker.asked == [(f"It rained. {key}.", "<b> Lee won, won.") for key in ("no", "doubt")]
    assert {article.h2.get_text(): texts(article, ".claim mark") for article in page.select("article")} == {
        "no": ["won", "won"],
        "doubt": ["won", "won"],
        "yes": [],
    }
    assert page.select_one("li .claim").get_text() == "unsupported 0.10<b> Lee won, won."
    assert all(mark["title"] for mark in page.select(".claim mark"))
    assert "Half of these marks were right." in page.select_one(".about").get_text()
    without = render(result, examples(*rows), **settings)
    assert without.select(".claim mark") == []
    assert without.select_one("li .claim").get_text() == "unsupported 0.10<b> Lee won, won."


def test_of_examples_that_are_not_shown_no_words_are_asked_for(monkeypatch):
    monkeypatch.setattr(pages, "MOST", 1)
    rows = [(key, "It rained.", "Lee won.", "s", None) for key in "ab"]
    result = evaluation(
        [(key, f"{key} won.", 0.1, None, [0]) for key in "ab"], [("a", 0.3, 0, None), ("b", 0.1, 0, None)]
    )
    marker = Marker()
    html(result, examples(*rows), marker=marker)
    assert [claim for _, claim in marker.asked] == ["b won."]


@pytest.fixture
def browser(tmp_path):
    if not (program := shutil.which("chromium") or shutil.which("google-chrome")):
        pytest.skip("no chromium")
    benchmark = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "page.py"))
    with benchmark["Browser"](program, str(tmp_path / "profile")) as found:
        yield found


_CLAIMS = """[...document.querySelectorAll("li")].map((claim) =>
[claim.querySelector("blockquote").checkVisibility(), claim.querySelector(".claim").ariaExpanded])"""


def test_claims_open_by_mouse_and_keys_one_at_a_time_and_all_are_open_in_print_and_without_a_script(browser, tmp_path):
    table = examples(("a", "It rained. Lee lost.", "Lee won. Ann won.", "s", None))
    claims = [("a", "Lee won.", 0.2, None, [1]), ("a", "It rained.", 0.9, None, [0])]
    settings = {"marker": Marker()}
    file = tmp_path / "page.html"
    file.write_text(html(evaluation(claims, [("a", 0.2, 0, None)]), table, **settings), encoding="utf-8")
    tab = browser.open(file)

    def shown():
        evidence = "[...document.querySelectorAll('.document mark')].map((mark) => mark.textContent)"
        return browser.value(tab, _CLAIMS), browser.value(tab, evidence)

    def press(key, text):
        for kind in ("keyDown", "keyUp"):
            browser.ask(
                "Input.dispatchKeyEvent", tab, type=kind, key=key, code=key, text=text if kind == "keyDown" else ""
            )

    closed = ([[False, "false"]] * 2, [])
    first, second = (
        ([[True, "true"], [False, "false"]], ["Lee lost."]),
        ([[False, "false"], [True, "true"]], ["It rained."]),
    )
    while not browser.value(tab, "document.querySelectorAll('li.open').length"):  # with the first picture
        pass
    assert shown() == first  # the least supported one
    browser.value(tab, "document.querySelector('.claim mark').click()")
    assert shown() == closed
    browser.value(tab, "document.querySelector('.claim mark').click()")
    assert shown() == first
    assert browser.value(tab, "document.querySelectorAll('.claim mark').length") == 1  # "won" is still marked
    browser.value(tab, "document.querySelectorAll('.claim')[1].focus()")
    press("Enter", "\r")
    assert shown() == second
    press(" ", " ")
    assert shown() == closed
    browser.ask("Emulation.setEmulatedMedia", tab, media="print")
    assert [visible for visible, _ in browser.value(tab, _CLAIMS)] == [True, True]
    browser.ask("Emulation.setEmulatedMedia", tab, media="screen")
    browser.ask("Emulation.setScriptExecutionDisabled", tab, value=True)
    browser.ask("Page.reload", tab)
    while browser.value(tab, "document.readyState") != "complete" or browser.value(
        tab, "document.querySelector('.scripted')"
    ):
        pass
    assert [visible for visible, _ in browser.value(tab, _CLAIMS)] == [True, True]


def test_examples_are_found_by_system_id_or_words_of_any_of_their_texts(browser, tmp_path):
    table = examples(("a", "It rained.", "Lee won.", "bart", None), ("b", "Ann slept.", "Ann won.", "t5", None))
    file = tmp_path / "page.html"
    file.write_text(html(evaluation([], [("a", 0.2, 0, None), ("b", 0.3, 0, None)]), table), encoding="utf-8")
    tab = browser.open(file)

    def found(words):
        typed = f"field = document.getElementById('find'); field.value = {words!r}; "
        typed += "field.dispatchEvent(new Event('input', {bubbles: true}));"
        shown = "[...document.querySelectorAll('article')].filter((article) => article.checkVisibility())"
        return browser.value(
            tab,
            f"{typed} [{shown}.map((article) => article.querySelector('h2').textContent), "
            "document.querySelector('output').value]",
        )

    assert found("BART") == [["a"], "1 found"]
    assert found("rained lee") == [["a"], "1 found"]
    assert found("summary") == [[], "0 found"]  # a heading of the page's own
    assert found(" ann ") == [["b"], "1 found"]
    assert found("won") == [["a", "b"], "2 found"]
    assert found("snow") == [[], "0 found"]
    assert found("") == [["a", "b"], ""]


def test_the_order_of_the_file_is_kept_beside_that_of_the_scores(page):
    assert [(article.h2.get_text(), article["style"]) for article in page.select("article")] == [
        ("bad", "--place: 1"),
        ("good", "--place: 0"),
    ]


def test_a_thousand_news_articles_are_one_page_of_less_than_15_mb():
    words = "It rained in Rome & they left the old town again today. "
    rows = [(str(n), words * 80, words * 3, "s", None) for n in range(1000)]  # 4,500 characters, as CNN/DM's
    claims = [(str(n), words, 0.5, None, [1, 2, 3]) for n in range(1000) for _ in range(10)]
    text = html(evaluation(claims, [(str(n), 0.5, 0, None) for n in range(1000)]), examples(*rows))
    assert text.count("<article") == 1000
    assert len(text.encode()) < 15_000_000
    # What costs a browser time (benchmarks/page.py): a <details> a claim, and :has() of what all elements stand in.
    assert text.count("<details") == 1
    assert set(re.findall(r"(\w+):has", text)) == {"nav"}


def test_of_long_documents_a_page_has_as_many_as_it_can_hold(monkeypatch):
    monkeypatch.setattr(pages, "MOST_BYTES", 50)
    rows = [(str(n), "Regen über Köln.", "It rained.", "s", None) for n in range(4)]  # 18 bytes each
    page = render(evaluation([], [(str(n), n / 10, 0, None) for n in range(4)]), examples(*rows))
    assert texts(page, "h2") == ["0", "1"]
    assert "The 2 lowest scores are shown." in page.get_text()
    monkeypatch.setattr(pages, "MOST_BYTES", 5)
    assert texts(render(evaluation([], [("0", 0.1, 0, None)]), examples(rows[0])), "h2") == ["0"]
