"""Warnings about words that stand for nothing (NaN, None), exchanged columns, and texts that a small model may misread.

It reads English prose only.

Every line of a summary is read as one or more sentences (``text.sentences``), so layout changes claims and scores. Only
signs that are rarely wrong are looked for: a false warning costs trust.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pandas as pd

from claimwise import text
from claimwise.corpora.plain import ITEM, TAG
from claimwise.errors import counted
from claimwise.words import FUNCTION_WORDS

#: What such a model reads of a prompt, by kind.
_READ = {"embedded": "a prompt's demonstrations and settings, not its prose", "lexical": "no prompt"}
#: What programs write for a missing value.
_EMPTY = ["nan", "none", "null", "na", "n/a", "<na>"]
#: Different words in which the share of English function words is counted, at least; fewer may have none by chance, and lists
#: of names and numbers have many that are the same.
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
_BEGINNING = 15
#: Share under which a text is not English: prose has over a fifth, headlines about .06, Romance and Germanic languages none.
_ENGLISH = 0.01
#: Function words that are words of those languages, too; of two letters and fewer there are too many in every language.
_SHARED = frozenset("all also for have her hers more most once over per under was will".split())
_OF_ENGLISH = frozenset(word for word in FUNCTION_WORDS if len(word) > 2) - _SHARED
_ENDS = tuple(".!?:;…。！？\"”'’)]")  # of a line that says all it has to say
_JSON = re.compile(r"\s*(?:\{\s*\"|\[\s*[\[{\"])")
_NARROWEST = 20  # characters; nobody breaks lines at fewer, and lists of words are as narrow
_HEADING_WORDS = 8  # the most of a heading
_FEWEST = 5  # of fewer rows, most may have a longer summary by chance


def warnings(kind: str, examples: pd.DataFrame, prompts: Sequence[str]) -> Iterator[str]:
    """Yield the warnings, one line each.

    Args:
        kind: the model's, as in params.yaml.
        examples: the examples table.
        prompts: the user's prompts, by name or path.
    """
    for name in ("document", "summary"):
        if count := int(examples[name].str.strip().str.lower().isin(_EMPTY).sum()):
            yield (
                f"{counted(count, name)} {'is' if count == 1 else 'are'} a word for nothing (NaN, None, null), which is scored "
                "as a text; leave such cells empty"
            )
    lengths = examples[["document", "summary"]].apply(lambda texts: texts.str.len())
    longer = int(((lengths["document"] > 0) & (lengths["summary"] > lengths["document"])).sum())
    if "claims" not in examples and len(examples) >= _FEWEST and 2 * longer > len(examples):
        yield f"{longer} of {len(examples)} summaries are longer than their documents: are the two exchanged?"
    if kind not in _READ:  # a language model
        return
    another, summaries = "take a language model (--model, in Python model=)", examples["summary"]
    if prompts:
        yield f"{', '.join(prompts)}: the {kind} model reads {_READ[kind]}; {another}, which reads all of it"
    if count := int(examples["document"].str.contains(TAG).sum()):
        yield (
            f"{counted(count, 'document')} {'holds' if count == 1 else 'hold'} HTML (<p>, <br/> and such), which is "
            "read as text; take the tags out before"
        )
    if count := int(summaries.str.match(_JSON).sum()):
        yield (
            f"{counted(count, 'summary')} {'looks' if count == 1 else 'look'} like JSON, which is read as text; take the "
            "summary out of it before"
        )
    if count := sum(map(wrapped, summaries)):
        yield (
            f"{counted(count, 'summary')} {'looks' if count == 1 else 'look'} hard-wrapped (a line goes on in the "
            "next one): every line is read as a sentence; join the lines before"
        )
    if count := sum(map(titled, summaries)):
        yield (
            f"{counted(count, 'summary')} {'begins' if count == 1 else 'begin'} with a title, which is read as a claim; "
            "take it off before"
        )
    if kind != "embedded":
        return
    if count := sum(map(_not_latin, summaries)):
        yield (
            f"{count} of {len(summaries)} summaries are mostly not in Latin script; the embedded model is "
            f"English only, do not trust its scores of these; {another} that reads them"
        )
    for name, several in (("document", "documents"), ("summary", "summaries")):
        strange = ~english(examples[name]) & ~examples[name].map(_not_latin).astype(bool)
        if strange.any():
            which = "the" if strange.all() else f"{strange.sum()} of {len(examples)}"
            yield (
                f"{which} {several} seem not to be English, which is all that the embedded model reads: do "
                f"not trust its scores{'' if strange.all() else ' of these'}; {another}"
            )


def english(texts: pd.Series) -> pd.Series:
    """Whether each text seems to be English. Texts that are too short to tell are judged together, by their beginnings.

    >>> english(pd.Series(["It rained.", "雨が降った。"])).tolist()
    [True, False]
    >>> english(pd.Series(["Der Hund schläft.", "Der Regen ist nicht für die Stadt."])).tolist()
    [False, False]
    """
    latin = ~texts.map(_not_latin).astype(bool)
    each = texts.map(_is_english).astype(object)
    # beginnings, so that one long text does not speak for the others
    together = _is_english(" ".join(" ".join(one.split()[:_BEGINNING]) for one in texts[latin].unique()))
    return latin & each.where(each.notna(), together is not False).astype(bool)


def wrapped(summary: str) -> bool:
    """Whether a program broke the lines at a width: sentences go on in the next line, whose first word had no room.

    Lines that people write (highlights, turns of a dialogue, verse, lists) hardly ever begin with a small letter, or most had
    room for more.

    >>> wrapped("The mayor said on Tuesday that the old\\nbridge would be closed for a year. Work\\nbegins in May.")
    True
    >>> wrapped("Mayor closes old bridge\\nWork begins in May"), wrapped("- the mayor spoke at\\n- people left")
    (False, False)
    """
    paragraphs = re.split(r"\n\s*\n", "\n".join(summary.splitlines()).strip())
    return any(_broken([line.strip() for line in paragraph.splitlines()]) for paragraph in paragraphs)


def _broken(lines: list[str]) -> bool:
    width = max(map(len, lines), default=0)
    if len(lines) < 2 or width < _NARROWEST or lines[0][:1].islower() or any(map(ITEM.match, lines)):
        return False
    pairs = [(line, after) for line, after in pairwise(lines) if not line.endswith(_ENDS)]
    full = all(len(line) + 1 + len(after.split()[0]) > width for line, after in pairs)
    small = sum(after[0].islower() for _, after in pairs)
    return full and 2 * len(pairs) >= len(lines) - 1 and 2 * small >= len(pairs)


def titled(summary: str) -> bool:
    """Whether a few words are a title: on a line of their own, with a blank line and prose below.

    >>> titled("Old bridge closes\\n\\nThe mayor spoke."), titled("Ann: hello\\n\\nBob: bye")
    (True, False)
    """
    first, *others = summary.strip().splitlines() or [""]
    bare = not first.endswith(_ENDS) and not ITEM.match(first) and len(first.split()) <= _HEADING_WORDS
    return bare and len(others) > 1 and not others[0].strip() and others[-1].rstrip().endswith(_ENDS)


def _is_english(one: str) -> bool | None:
    """Whether a text in Latin script has the function words of English; None if it is too short to tell.

    >>> _is_english("Le maire a annoncé la fermeture de trois écoles dans les villages."), _is_english("Regen.")
    (False, None)
    >>> _is_english("The mayor warns of the closure. Der Bürgermeister warnt vor der und den."), _is_english("word " * 6000)
    (True, None)
    """
    words = [word for word in text.words(one) if word[0].isalpha()]
    latin = [word for word in words if word.isascii() or not _not_latin(word)]
    if len(set(latin)) < _WORDS and len(_FOREIGN.intersection(latin)) < _FEW:
        return None
    return sum(word in _OF_ENGLISH for word in latin) >= _ENGLISH * len(latin)


def _not_latin(summary: str) -> bool:
    """Whether most letters are not Latin.

    >>> _not_latin("Café 雨"), _not_latin("雨が降った (AP)"), _not_latin("2026")
    (False, True, False)
    """
    letters = [letter for letter in summary if letter.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters)
