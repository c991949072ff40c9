"""Citations in prose: a hand-written list by format, the sample's labelled sentences, and general properties."""

from itertools import chain
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from claimwise.corpora import sample
from claimwise.metrics.factored.citations import find, resolve
from claimwise.prompts.sources import separated

HAND = yaml.safe_load((Path(__file__).parent / "data/citations.yaml").read_text(encoding="utf-8"))
SOURCES, FORMATS = HAND["sources"], HAND["formats"]


def meant(sentence: str) -> list:
    found = resolve(sentence, SOURCES)
    return ["missing" if not r.sources else r.sources[0] if len(r.sources) == 1 else list(r.sources) for r in found]


@pytest.mark.parametrize("name", FORMATS)
def test_every_citation_of_a_format_means_its_source(name):
    wrong = {s: meant(s) for s, means in FORMATS[name] if meant(s) != means}
    assert not wrong


@pytest.mark.parametrize("cited", ["Garcia and Smith (2015)", "(Garcia & Smith, 2015)", "Garcia, Lee and Smith (2015)"])
def test_a_paper_by_others_and_an_author_of_a_source_is_missing(cited):
    assert [r.sources for r in resolve(f"{cited} agree.", ["Smith (2015)"])] == [()]


@pytest.mark.parametrize("query", sample.entries("papers"), ids=lambda query: query["id"])
def test_the_samples_sentences_cite_what_their_authors_say(query):
    references = [sample.source(paper).reference for paper in query["papers"]]
    for sentence in chain.from_iterable(summary["sentences"] for summary in query["summaries"]):
        found = resolve(sentence["sentence"], references)
        known = {query["papers"][i]["id"] for resolution in found for i in resolution.sources}
        assert known == {cite for cite in sentence["cites"] if not cite.startswith(sample.MISSING)}
        missing = [cite for cite in sentence["cites"] if cite.startswith(sample.MISSING)]
        assert [str(r.citation)[:4] for r in found if not r.sources] == [cite[8:12] for cite in missing]


def test_a_citation_that_two_sources_share_has_both():
    [resolution] = resolve("Abel (2016) says so.", ["Abel (2016a)", "Abel (2016b)", "Abel (2017)"])
    assert resolution.sources == (0, 1)


def test_a_source_without_a_year_is_an_error_that_shows_the_form():
    with pytest.raises(ValueError, match=r"expected a reference such as 'Ling and Roy \(2009a\)', got 'Ling 2009'"):
        resolve("Ling (2009)", ["Ling 2009"])


def test_every_published_reference_means_itself(published_corpus):
    """FAVE's 1,600 papers, each cited in two ways among the eight of its question."""
    right = []
    for document in published_corpus("fave").examples["document"]:
        references = [source.reference for source in separated(document)]
        for i, reference in enumerate(references):
            inside = reference.replace(" (", ", ").removesuffix(")")
            for sentence in (f"{reference} reports rain.", f"It rained ({inside})."):
                right.append([r.sources for r in resolve(sentence, references)] == [(i,)])
    assert len(right) == 3200
    assert sum(right) / len(right) >= 0.99


surnames = st.from_regex(r"[A-ZÀÇØŁŽ][a-zéüøłž]{3,9}(-[A-Z][a-z]{3,6})?", fullmatch=True)


@given(name=surnames, other=surnames, year=st.integers(1900, 2029), letter=st.sampled_from(["", "a", "b"]))
def test_however_it_is_written_a_source_is_found_again(name, other, year, letter):
    when = f"{year}{letter}"
    references = [f"{name} and {other} ({when})", f"{name} and {other} ({year + 40})"]
    for written in (
        f"{name} and {other} ({when}) say",
        f"It is so ({name} & {other}, {when}).",
        f"It is so (see {name} and {other} {when}; Somebody, 1850).",
        f"{name} and {other}'s ({when}) trial",
    ):
        assert resolve(written, references)[0].sources == (0,), written


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    assert all(citation.names and all(citation.names) for citation in find(text))
