"""Layouts of summaries that are warned of (lines broken at a width, lists, headings) and those that are not."""

import textwrap

import pandas as pd
import pytest

from claimwise.user_file import warnings as own_warnings
from claimwise.user_file.layout import marked, wrapped

PROSE = (
    "The mayor of the town said on Tuesday that three of its schools will be closed in the summer, because there are too "
    "few pupils. Parents are worried about the long way to the next village, and have asked for a meeting with the council. "
    "Nobody knows yet when it will take place."
)


def warned(kind, *summaries):
    examples = pd.DataFrame({"document": "It rained.", "summary": summaries}, dtype=object)
    return list(own_warnings.of(kind, examples, []))


@pytest.mark.parametrize("width", [40, 60, 72, 80, 120])
@pytest.mark.parametrize("join", ["\n", "\r\n", "  \n"])
def test_lines_broken_at_a_width_are_seen(width, join):
    assert wrapped(textwrap.fill(PROSE, width).replace("\n", join))
    assert wrapped("Schools in the town\n\n" + textwrap.fill(PROSE, width) + "\n\nIt rained.")
    assert not wrapped(PROSE)


LAYOUTS = {
    "empty": "",
    "highlights": "Mayor closes three schools of the town\nParents worried about the way\nCouncil to meet in May",
    "sentences": "The mayor closed three schools.\nparents are worried about it.\nthe council meets.",
    "dialogue": "Ann: are you coming to the party tonight?\nBob: no, i am too tired\nAnn: then sleep well",
    "bullets": "- the mayor closed three schools\n- parents are worried about the\n- council meets in may",
    "numbers": "1. the mayor closed three schools\n2. parents are worried about the\n3. council meets in may",
    "words": "Eggs\nmilk\nbread",
    "room": "Things that the mayor announced to us\nschools close\nroads reopen\ntaxes rise",
    "small": "the mayor closed three schools\nparents worry\nthe council will meet in the summer",
    "heading": "Three schools of the town are closed\n\n" + PROSE,
    "quotations": "“The schools are closed,” the mayor said.\n“we are worried,” parents said.",
    "paragraphs": PROSE + "\n\n" + PROSE,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_lines_that_were_written_as_such_are_not_taken_for_broken_ones(name):
    assert not wrapped(LAYOUTS[name])


@pytest.mark.parametrize(
    "summary",
    [
        "1. The mayor spoke.\n2. Parents worry.",
        "The plan has parts:\n 1) The mayor spoke.\n 2) Parents worry.",
        "a. The mayor spoke.\nb. Parents worry.",
        "i. The mayor spoke.\nii. Parents worry.",
        "Key points:\n- The mayor spoke.\n- Parents worry.",
        "Summary:\nThe mayor spoke.",
        "Here is a summary of the article:\n\nThe mayor spoke.",
        "Sure! Here's a brief overview of what the article says about the schools:\nThe mayor spoke.",
        "## Schools\nThe mayor spoke.",
        "**Concise Summary:**\n\nThe mayor spoke.",
        "Schools of the town\n\nThe mayor spoke.",
    ],
)
def test_numbers_headings_and_lead_ins_are_seen(summary):
    assert marked(summary)


@pytest.mark.parametrize(
    "summary",
    [
        *[
            LAYOUTS[name]
            for name in ("empty", "highlights", "dialogue", "bullets", "quotations", "paragraphs", "words")
        ],
        "The mayor spoke. Key points: schools close.",
        "The mayor of the town said on Tuesday:\n“Three schools close.”",
        "12. May was the date.\nParents worry.",
        "The mayor spoke.",
        "Key points:",
        "U. S. schools close.\nA. Smith worries.",
    ],
)
def test_what_is_no_heading_and_no_list_is_not_taken_for_one(summary):
    assert not marked(summary)


def test_layouts_are_counted_in_one_warning_each():
    broken, numbers = textwrap.fill(PROSE, 40), "1. It rained.\n2. It snowed."
    both = warned("embedded", broken, numbers, "Key points:\n- It rained.", "It rained.")
    assert both == [
        "warning: 1 summary looks hard-wrapped (a line goes on in the next one): every line is read as a sentence; join the "
        "lines before",
        "warning: 2 summaries have numbered lists, headings or lead-ins, which are read as claims; take them off before",
    ]
    first, second = warned("lexical", broken, broken, numbers)
    assert "2 summaries look hard-wrapped" in first
    assert "1 summary has numbered lists" in second
    assert warned("openai", broken, numbers) == []
    assert warned("embedded", PROSE) == []
