"""What to doubt of a user's file and prompts before a model that reads English prose, and of prompts none, has scored it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

import pandas as pd

from claimwise import text
from claimwise.user_file import layout as own_layout

#: A file's words in which the share of English function words is counted, at least; fewer may have none by chance.
_WORDS = 50
#: Share under which a text is not English: prose has over a fifth, headlines about .06, Romance and Germanic languages none.
_ENGLISH = 0.01
#: Function words that are words of those languages, too.
_SHARED = frozenset("all also for have her hers more most once over per under was".split())
#: The tags of running text; ``<5 mg>`` and ``<name>`` are none.
_TAG = re.compile(
    r"</?(?:a|article|b|blockquote|body|br|div|em|h[1-6]|html|i|img|li|ol|p|script|section|span|strong|su[bp]|t[dhr]"
    r"|table|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
#: What such a model takes of a prompt, by kind.
_READ = {"embedded": "a prompt's demonstrations and settings, not its prose", "lexical": "no prompt"}


def of(kind: str, examples: pd.DataFrame, prompts: Sequence[str]) -> Iterator[str]:
    """The warnings, a line each.

    Args:
        kind: the model's, as in params.yaml.
        examples: the examples table.
        prompts: the user's, by name or path.
    """
    if prompts and kind in _READ:
        yield (
            f"warning: {', '.join(prompts)}: the {kind} model reads {_READ[kind]}; --model chooses a language model, which "
            "reads all of it"
        )
    if kind in _READ:
        yield from _marks(examples)
        yield from _layouts(examples["summary"])
    if kind == "embedded":
        yield from _scripts(examples["summary"])
        yield from _languages(examples)


def _marks(examples: pd.DataFrame) -> Iterator[str]:
    documents, summaries = (examples[column].str.contains(_TAG).sum() for column in ("document", "summary"))
    found = []
    if documents:
        found.append("the document of 1 row" if documents == 1 else f"the documents of {documents} rows")
    if summaries:
        found.append(_summaries(summaries))
    if found:
        holds = "holds" if documents + summaries == 1 else "hold"
        yield (
            f"warning: {' and '.join(found)} {holds} HTML (<p>, <br/> and such), which is read as text; take the tags "
            "out before"
        )


def _summaries(count: int) -> str:
    return f"{count} {'summary' if count == 1 else 'summaries'}"


def _layouts(summaries: pd.Series) -> Iterator[str]:
    if count := sum(map(own_layout.wrapped, summaries)):
        yield (
            f"warning: {_summaries(count)} {'looks' if count == 1 else 'look'} hard-wrapped (a line goes on in the "
            "next one): every line is read as a sentence; join the lines before"
        )
    if count := sum(map(own_layout.marked, summaries)):
        yield (
            f"warning: {_summaries(count)} {'has' if count == 1 else 'have'} numbered lists, headings or lead-ins, "
            "which are read as claims; take them off before"
        )


def _scripts(summaries: pd.Series) -> Iterator[str]:
    if count := sum(map(_not_latin, summaries)):
        yield (
            f"warning: {count} of {len(summaries)} summaries are mostly not in Latin script; the embedded model is "
            "English only, do not trust its scores of these; --model chooses a language model that reads them"
        )


def _languages(examples: pd.DataFrame) -> Iterator[str]:
    for column, name in (("document", "documents"), ("summary", "summaries")):
        if _not_english(examples[column]):
            yield (
                f"warning: the {name} seem not to be English, which is all that the embedded model reads: do not trust "
                "its scores; --model chooses a language model"
            )


def _not_english(texts: pd.Series) -> bool:
    """Whether texts in Latin script have, all together, almost none of the words that every English text has.

    >>> _not_english(pd.Series(["Le maire a annoncé la fermeture de trois écoles."] * 7))
    True
    >>> _not_english(pd.Series(["Mayor warns of closure: what you need to know"] * 7)), _not_english(pd.Series(["Regen."]))
    (False, False)
    """
    from claimwise.words import FUNCTION_WORDS

    # of two letters and fewer there are too many in every language
    english = {word for word in FUNCTION_WORDS if len(word) > 2} - _SHARED
    words = [word for each in texts for word in text.words(each) if word[0].isalpha()]
    latin = [word for word in words if word.isascii() or not _not_latin(word)]
    return len(latin) >= _WORDS and sum(word in english for word in latin) < _ENGLISH * len(latin)


def _not_latin(summary: str) -> bool:
    """Whether most letters are of another script.

    >>> _not_latin("Café 雨"), _not_latin("雨が降った (AP)"), _not_latin("2026")
    (False, True, False)
    """
    letters = [letter for letter in summary if letter.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters)
