"""What to doubt of a user's file before a model that reads English prose, and of prompts none, has scored it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from claimwise import text
from claimwise.errors import counted
from claimwise.words import FUNCTION_WORDS

_TEXTS = ("document", "summary")
#: What such a model takes of a prompt, by kind.
_READ = {"embedded": "a prompt's demonstrations and settings, not its prose", "lexical": "no prompt"}
#: What programs write where nothing is.
_EMPTY = ["nan", "none", "null", "na", "n/a", "<na>"]
#: Words in which the share of English function words is counted, at least; fewer may have none by chance.
_WORDS = 50
#: Function words of other languages in Latin script that English lacks; so many different ones in place of English ones
#: tell even a short text (none of 6,113 English documents and summaries has them in its first 15 words).
_FOREIGN = frozenset(
    "und du och uma con til il att jest ikke niet af des las le den eine sur der di gli um van en på pour zu ist "
    "por ein para em della som que qui von mit los dem nie una sich nicht la das auf og não het für dans del che är "
    "les el się une dat da een bis bei zum zur wird werden wurde sind aus durch über nach dass au aux cette ses "
    "avec été fue más pero como su foi pelo ao sono nel alla è wordt zijn bij aan naar".split()
)
_FEW = 3
#: Share under which a text is not English: prose has over a fifth, headlines about .06, Romance and Germanic languages none.
_ENGLISH = 0.01
#: Function words that are words of those languages, too; of two letters and fewer there are too many in every language.
_SHARED = frozenset("all also for have her hers more most once over per under was will".split())
_OF_ENGLISH = frozenset(word for word in FUNCTION_WORDS if len(word) > 2) - _SHARED
#: The tags of running text; ``<5 mg>`` and ``<name>`` are none.
_TAG = re.compile(
    r"</?(?:a|article|b|blockquote|body|br|div|em|h[1-6]|html|i|img|li|ol|p|script|section|span|strong|su[bp]|t[dhr]"
    r"|table|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
#: Of a line: a number before it, and what needs no warning, a bullet before it or a sentence's end behind it.
_NUMBER = re.compile(r"\(?\d{1,2}[.)]\s")
_SENTENCE = re.compile(r"[-*•–+]\s.*|.*[.!?;…。！？\"”'’)]")


def warnings(kind: str, examples: pd.DataFrame, prompts: Sequence[str]) -> Iterator[str]:
    """The warnings, each without a line's end.

    Args:
        kind: the model's, as in params.yaml.
        examples: the examples table.
        prompts: the user's, by name or path.
    """
    for name in _TEXTS:
        if count := int(examples[name].str.strip().str.lower().isin(_EMPTY).sum()):
            yield (
                f"{counted(count, name)} with only a word for nothing (NaN, None, null), which is scored as a text; leave "
                "such cells empty"
            )
    if kind not in list(_READ):  # a language model, or a list from YAML, which is refused later
        return
    another = "take a language model (--model, in Python model=)"
    if prompts:
        yield f"{', '.join(prompts)}: the {kind} model reads {_READ[kind]}; {another}, which reads all of it"
    for name in _TEXTS:
        if count := int(examples[name].str.contains(_TAG).sum()):
            yield f"{counted(count, name)} with HTML (<p>, <br/> and such), which is read as text; take the tags out before"
    if count := sum(map(laid_out, examples["summary"])):
        yield (
            f"{counted(count, 'summary')} with lines that have a number before or no full stop behind them: every line is "
            "read as a sentence; join lines that were broken at a width, take numbers, headings and lead-ins off"
        )
    if kind != "embedded":
        return
    for name in _TEXTS:
        if count := int((~english(examples[name])).sum()):
            yield (
                f"{counted(count, name)} of {len(examples)} not in English, it seems, which is all that the embedded model "
                f"reads: do not trust its scores of these; {another}"
            )


def english(texts: pd.Series) -> pd.Series:
    """Which texts seem to be English, as far as so much text can tell: each by itself, or none where all together do not.

    >>> english(pd.Series(["It rained.", "雨が降った。"])).tolist()
    [True, False]
    >>> english(pd.Series(["Der Hund schläft.", "Der Regen ist nicht für die Stadt."])).tolist()
    [False, False]
    """
    if _not_english(texts):  # all together may tell what each by itself is too short for
        return pd.Series(False, texts.index)
    return texts.map(lambda text: not (_not_latin(text) or _not_english([text]))).astype(bool)


def laid_out(summary: str) -> bool:
    """Whether a line before others may be no sentence: it has a number, or no full stop.

    >>> laid_out("1. It rained.\\n2. It snowed."), laid_out("Key points:\\n- It rained."), laid_out("It rained in\\nRome.")
    (True, True, True)
    >>> laid_out("It rained.\\nIt snowed."), laid_out("- the mayor spoke\\n- people left"), laid_out("Mayor speaks")
    (False, False, False)
    """
    lines = [line.strip() for line in summary.splitlines() if line.strip()]
    return any(_NUMBER.match(line) or not _SENTENCE.fullmatch(line) for line in lines[:-1])


def _not_english(texts: Iterable[str]) -> bool:
    """Whether texts in Latin script have, all together, almost none of the words that every English text has.

    >>> _not_english(["Le maire a annoncé la fermeture de trois écoles dans les villages."])
    True
    >>> _not_english(["Mayor warns of closure: what you need to know"] * 7), _not_english(["Regen."])
    (False, False)
    """
    words = [word for each in texts for word in text.words(each) if word[0].isalpha()]
    latin = [word for word in words if word.isascii() or not _not_latin(word)]
    enough = len(latin) >= _WORDS or len(_FOREIGN.intersection(latin)) >= _FEW
    return enough and sum(word in _OF_ENGLISH for word in latin) < _ENGLISH * len(latin)


def _not_latin(summary: str) -> bool:
    """Whether most letters are of another script.

    >>> _not_latin("Café 雨"), _not_latin("雨が降った (AP)"), _not_latin("2026")
    (False, True, False)
    """
    letters = [letter for letter in summary if letter.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters)
