"""Read answers from replies as numbers: yes or no, degrees of "supported", ratings, letters.

A reply that leaves open which answer it means ("Yes/No", "4 or 5", "No doubt it is so") has no answer.
"""

import re
from collections.abc import Callable

from claimwise.reasons import Parsed, Reason

_MARKUP = re.compile(r"[*_`#\"“”]+")


def last(pattern: re.Pattern, text: str) -> re.Match | None:
    """The last match of a pattern, if any."""
    return next(reversed([*pattern.finditer(text)]), None)


# -- yes or no -------------------------------------------------------------------------------------

_PREFIX = r"(?:(?:the |my |final |short )*(?:answer|verdict|response|statement)(?: is)?\s*[:\-]?\s*)?"
#: What follows a yes or no that is an answer. "No contradictions were found" and "No. 1" are no answers.
_END = (
    r"(?:(?=['’\"”*_`\])}]{0,4}(?:\s*$|[.,;:!?)–—<|…→]|\s*\n|\s+[-–—(]))(?!\.[ \t]*\d)"
    r"|(?=\s+(?:the|it|this|that|there|because|since|as|not)\b))"
)


#: Not a question: "Yes?" and "Yes? No?" are questions, but "No? It does not say so." is an answer.
_UNASKED = r"(?![^\w\n]*\?[^\w\n]*(?:$|\n|(?:yes|no)\b))"


def _offered(yes: str, no: str) -> str:
    """Not a choice of answers, such as "Yes/No" or "yes or no"."""
    return rf"(?!\s*\(?(?:and\b|or\b|/|\|)\s*(?:{yes}|{no})\b)"


def _turn(word: str) -> str:
    """What takes back an answer at once: "Yes... actually no." does, "Yes, no error is there" does not."""
    turn = r"(?:\W{0,5}\b(?:actually|rather|wait|maybe|perhaps|but|then|well)\b)?"
    return rf"{turn}[^\w\n]{{1,5}}(?:{word})\b(?=[^\w\s]|\s*$)"


#: Neither offers the other answer, nor takes back this one.
_ONE = f"{_offered('yes', 'no')}(?!{_turn('yes|no')})"
_OPPOSITE = Parsed(None, "an answer, and then its opposite")
_IT = r"\W{1,3}(?:it|this|that|(?:the|this) (?:claim|statement|summary)) is"


def answer_first(yes: str, no: str, support: float = 1.0) -> Callable[[str, bool], Parsed]:
    """Return a parser of replies that begin with one of two words, or end with one as a sentence of its own.

    ``support`` is the value of the first word. It is 0 if the question is whether something is hallucinated (HaluEval).

    >>> answer_first("true", "false")("False: it poured.", False)
    Parsed(value=0.0, reason=None)
    >>> answer_first("yes", "no")("No doubt, the passage supports this.", False)
    Parsed(value=None, reason='neither yes nor no')
    >>> answer_first("yes", "no")("No. The passage says so. Yes.", False)
    Parsed(value=None, reason='an answer, and then its opposite')
    """
    first = re.compile(
        rf"\W*{_PREFIX}(?:({yes})\b|({no})\b(?:{_END}|(?=\s+(?:s?he|they|we|i|you|its)\b))){_UNASKED}{_offered(yes, no)}",
        re.IGNORECASE,
    )
    end = re.compile(
        rf"(?:^|[.!?:\n]\s*|\b(?:answer|verdict) (?:is|would be)\W*)(?:({yes})|({no}))(?:{_turn(f'{yes}|{no}')})?[^\w?]*$",
        re.IGNORECASE,
    )
    gainsaid = {
        True: re.compile(rf"{_turn(no)}|{_IT}(?:n['’]t| not) (?:fully |directly )?supported\b", re.IGNORECASE),
        False: re.compile(rf"{_turn(yes)}|{_IT} (?:fully |directly )?supported\b", re.IGNORECASE),
    }

    def read(reply: str, cut: bool) -> Parsed:
        text = _MARKUP.sub("", reply)
        at_end = end.search(text)
        answer = first.match(text) or at_end
        if not answer:
            return Parsed(None, f"neither {yes} nor {no}")
        value = bool(answer[1])
        if gainsaid[value].match(text, answer.end(answer.lastindex)) or (at_end and bool(at_end[1]) != value):
            return _OPPOSITE
        return Parsed(support if value else 1.0 - support)

    return read


_ANSWER = re.compile(
    r"\b(?:answer|verdict)(?: to (?:the|this|your) question)?(?:\s*\(yes(?: or |/)no\))?"
    r"(?:\s+(?:is|would be|must be)\b(?:\W{0,3}(?:therefore|thus|\w+ly)\b)?|\s*[:=>–—-]|\s*\n)\W{0,4}"
    rf"(yes|no)\b{_UNASKED}{_ONE}(?:{_END}|(?=\s*[^\w\s.]))",
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"(?:^|[.!?:\n][\s(\[]{{0,9}}|\b(?:conclusion|therefore|thus|so|hence|overall),?\s+)(yes|no)\b{_UNASKED}{_END}",
    re.IGNORECASE,
)
#: "No. Yes." contradicts itself, but "Is it missing? No. Yes." answers two questions.
_GAINSAID = re.compile(rf"(?:^|[.!:\n][\s(\[]{{0,9}})(?:yes\b{_turn('no')}|no\b{_turn('yes')})", re.IGNORECASE)
_CONSISTENT = re.compile(
    r"\b(?:is|are|was|it['’]s|summary|statement|remains|appears|seems)"
    r"(?P<between>(?:n['’]t)?(?:,?\s+(?!but\b)[\w'’]+,?){0,3}?)\s+(?P<un>in)?consistent\b(?![^.!?\n]*\?)",
    re.IGNORECASE,
)
#: The beginning of a sentence that does not say whether the whole summary is consistent: "whether it ...", "the rest ...".
_SUPPOSED = re.compile(
    r"\b(?:(?:if|whether|unless)\b[^,;]*|(?:not|cannot|n['’]t)\b[^,;]*\bthat\b[^,;]*"
    r"|(?:rest|others?|otherwise|remaining|remainder|some|parts?)\b[^,;]*)$",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(
    r"\b(?:therefore|thus|so|hence|overall|consequently|finally|in (?:conclusion|summary|short)|as a result)\b", re.I
)
_PARTLY = re.compile(r"\b(?:partially|partly|mostly|largely|generally|somewhat)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:not|never|no(?!,| doubt\b| question\b)|none|nothing|neither|nor|non|cannot|without|hardly|barely|nowhere)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)


def final_yes_no(reply: str, cut: bool) -> Parsed:
    """The last "Answer: ..." of a reply that reasons first; else its last yes or no, or a later "(in)consistent".

    A later "(in)consistent" replaces the answer if its sentence concludes ("Therefore ..."). If not, and it contradicts a
    yes or no without "Answer:", the answer is unclear, as in "No. Yes.". In a reply that was cut off only "Answer: ..."
    counts: anything else may be a step of the reasoning.

    >>> final_yes_no("No date is wrong. The summary is therefore consistent.", cut=False)
    Parsed(value=1.0, reason=None)
    >>> final_yes_no("Is the place right? Yes. Is the da", cut=True)
    Parsed(value=None, reason='cut off at its length limit')
    """
    text = _MARKUP.sub("", reply)
    labelled = last(_ANSWER, text)
    answer = labelled or (None if cut else last(_SAID, text))
    consistent, start, concludes = _consistency("" if cut else text)
    if answer is None and consistent is None:
        return Parsed(None, Reason.CUT if cut else "no final yes or no")
    if answer is None or (concludes and start > answer.start()):
        return Parsed(consistent)
    value = float(answer[1].lower() == "yes")
    taken_back = any(both.start() <= answer.start() < both.end() for both in _GAINSAID.finditer(text))
    if taken_back or (start > answer.start() and consistent != value and not labelled):
        return _OPPOSITE
    return Parsed(value)


def _consistency(text: str) -> tuple[float | None, int, bool]:
    """The last "consistent" (1.0) or "inconsistent" (0.0) in a text, its place, and whether its sentence concludes."""
    start = max(0, len(text) - 300)
    for match in reversed([*_CONSISTENT.finditer(text, start)]):
        before = re.split(r"[.!?\n]", text[max(0, start - 300) : match.start()])[-1]
        if _SUPPOSED.search(before):
            continue
        if _PARTLY.search(match["between"]) and not match["un"]:
            break
        denied = bool(_DENIED.search(match["between"])) != bool(match["un"])
        return float(not denied), match.start(), bool(_CONCLUDED.search(before + match["between"]))
    return None, -1, False


# -- supported -------------------------------------------------------------------------------------

#: A labelled answer: "Supported: Yes", "**Supported** (Yes/No): No", "[Supported - yes]". If it is part of a sentence ("is
#: fully supported: no discrepancy was found"), or has no colon or the like before yes or no, these must end the sentence.
SUPPORTED = re.compile(
    r"(?<!not )(?<!Not )(?:(?P<label>\bS|(?<!\w )\bs)|\bs)(?i:upported)(?:\s*[\[(]\s*(?i:yes\s*(?:/|or)\s*no)\s*[\])])?"
    r"(?:(?P<colon>[^\w.,;!\n]{0,8}?[:?=>|–—(\[-][^\w.;]{0,12}?)|(?(label)\W{1,12}?|(?!)))"
    rf"(?P<answer>(?i:yes|no))\b(?i:{_UNASKED}{_ONE})(?! doubt\b| question\b)(?(colon)(?(label)|{_END})|{_END})"
)


def supported(reply: str, cut: bool) -> Parsed:
    """The last "Supported: Yes" or "Supported: No". In a reply that was cut off it must begin or end its line.

    >>> supported("Reasoning: it is supported. No date is wrong. Supported: Yes", cut=False)
    Parsed(value=1.0, reason=None)
    >>> supported('Reasoning: "Supported: No" would be wro', cut=True)
    Parsed(value=None, reason='cut off at its length limit')
    """
    text = _MARKUP.sub("", reply)
    answer = last(SUPPORTED, text)
    if cut and answer:
        around = text[: answer.start()].rpartition("\n")[2], text[answer.end() :].partition("\n")[0]
        if all(re.search(r"\w", part) for part in around):
            answer = None  # within a line it may be reasoning about the form of the answer
    if not answer:
        return Parsed(None, Reason.CUT if cut else "no 'Supported: Yes' or 'Supported: No'")
    return Parsed(float(answer["answer"].lower() == "yes"))


#: A claim's "Supported:" without yes or no. "whether each is supported:" announces a list and is not meant.
_NEITHER = re.compile(r"(?:\bS|(?<!\w )\bs)upported\W*:\W*(?!\W|(?i:yes|no)\b)")


def claims_supported(reply: str, cut: bool) -> Parsed:
    """The product of the claims' verdicts, 0 or 1 (Factored Verification eq. 1): a single "No" makes it 0.

    >>> claims_supported("- It rained. Supported: Yes\\n- We left. Supported: No", cut=False).value
    0.0
    """
    text = _MARKUP.sub("", reply)
    answers = [match["answer"].lower() == "yes" for match in SUPPORTED.finditer(text)]
    if not answers:
        return Parsed(None, "no claim with 'Supported: Yes' or 'Supported: No'")
    if cut and all(answers):
        return Parsed(None, Reason.CUT)
    if all(answers) and _NEITHER.search(text):
        return Parsed(None, "a claim with neither 'Supported: Yes' nor 'Supported: No'")
    return Parsed(float(all(answers)))


_LABEL = re.compile(
    r"(?<![a-z])(?P<un>un[\s-]?)?supported(?![a-z])(?P<by_nothing>\s+(?:(?:by|in)\s+(?:n(?:o|one|obody|othing|either)|zero)|nowhere)\b|\s*\(not\))?",
    re.I,
)
_PLACE = re.compile(r"<answer>(.*?)(?:</answer>|$)", re.IGNORECASE | re.DOTALL)
_OPENING = re.compile(r"\W*(?:(?:not|partially|fully|un)[\s_-]*)?supported(?![a-z])", re.IGNORECASE)
#: The words before a label, as far as its clause may reach back.
_BEFORE = re.compile(r"(?:[\w'’]+[^\w.;:!?\n<>]+){0,8}$")
_CLAUSE = re.compile(
    r"^.*(?:\b(?:(?<!anything )but|but(?= (?:it|this|that|the)\b)|only|and|rather|while|although|though|because|since|so)\b|,(?=[^,]*\b(?:is|are|was|were|be)\b[^,]*$))",
    re.IGNORECASE | re.DOTALL,
)
_PART = re.compile(r"\bpart(?:ial)?ly\b", re.IGNORECASE)
#: Words after a "not" that leave open whether a part is supported, or whether the label is denied at all.
_OPEN = re.compile(r"\b(?:fully|completely|entirely|wholly|totally|all|that|whether|if)\b", re.IGNORECASE)
_IS = re.compile(r"\b(?:is|are|was|were)\b", re.IGNORECASE)
#: Words that make a label unclear: "far from supported", "it would be supported if".
_HARDLY = re.compile(
    r"\b(?:far from|anything but(?: \w+)?|poorly|insufficiently|inadequately|weakly|rarely|scarcely|little|fail(?:s|ed)? to be"
    r"|(?:would|could|might|may) be)\W*$",
    re.IGNORECASE,
)


def supported_label(reply: str, cut: bool) -> Parsed:
    """WiCE's three labels. The value of a partially supported claim is below one half, since not all of it is supported.

    >>> [supported_label(reply, cut=False).value for reply in ("partially_supported", "It isn't supported.")]
    [0.25, 0.0]
    >>> supported_label("The claim is not fully supported.", cut=False).reason
    'unclear whether in part or not supported'
    """
    places = _PLACE.findall(reply)
    if cut and not places and not _OPENING.match(reply):
        return Parsed(None, Reason.CUT)
    text = re.sub(r"[_*]+", " ", places[-1] if places else reply)
    values = {_label(text, label) for label in _LABEL.finditer(text)}
    if len(values) != 1:
        return Parsed(None, "several labels" if values else "no label")
    value = values.pop()
    return Parsed(value, "unclear whether in part or not supported" if value is None else None)


def _label(text: str, label: re.Match) -> float | None:
    """The value of one label; None if it is unclear ("not fully supported")."""
    before = _BEFORE.search(text[max(0, label.start() - 200) : label.start()])[0]
    before = _CLAUSE.sub("", re.sub(r"\s+", " ", before))
    answer = SUPPORTED.match(text, label.start())
    if _HARDLY.search(before):
        return None
    if label["un"] or (answer and answer["answer"].lower() == "no"):
        return 0.0
    if denial := _DENIED.search(before):
        # In "that he did not is supported" the denial is part of the claim.
        within_claim = before[: denial.start()].strip() and _IS.search(before, denial.end())
        unclear = _PART.search(before) or _OPEN.search(before, denial.end()) or within_claim or label["by_nothing"]
        return None if unclear else 0.0
    if label["by_nothing"]:
        return 0.0
    return 0.25 if _PART.search(before) else 1.0


# -- ratings ---------------------------------------------------------------------------------------


def _number(top: int) -> str:
    """The pattern of a number that may be a rating on a scale up to ``top``.

    It does not match a negative number, a result such as 6-1, one of several numbers ("4 or 5", "4, 5, 3"), a number on
    another scale (4/10, "4 (out of 10)"), or the end of the scale (the 5 of 4/5).
    """
    return (
        r"(?<![\d.−–<>≤≥-])(?<!\d/)(?<!\d [/–-] )(?<!\d (?:of|or|to) )(?<!\d and )(?<!\d[,;] )(?<!out of )(?<!star of )(?<!stars of )"
        r"(\d+(?:\.\d+)?)(?!\d|\.\d|e\d|\s?[–-]\s?\d|\s+(?:or|to)\s+(?:\w+\s+)?\d|[ \t]+\d|,\d|[,;]\s+\d+(?:\.\d+)?\s*(?:[,;.\n]|$)|\s+(?:minus|plus)\b|\?|\s+and\s+\d+(?!\s*\w))"
        rf"(?!(?:\s*(?:stars?|points?))?\s*[(\[]?\s*(?:/|(?:out )?of)\s*(?:(?!{top}\b)\d|(?:ten|(?:a |one )?hundred)\b))"
    )


def _scale(low: str, top: str) -> re.Pattern:
    """The pattern of words that name the scale: "on a scale of 1 to 5", "(1-5)"."""
    return re.compile(
        rf"\b(?:scale|range|from|between)\W+(?:of\W+|from\W+|between\W+)*(?:{low})\W*(?:-|–|to|and)\W*(?:{top})\b"
        rf"|\(\s*(?:{low})\s*[-–]\s*(?:{top})\s*\)",
        re.IGNORECASE,
    )


_NUMBER = _number(5) + "(?!%)"
_THEN = r"(?=\s*(?:$|\n|[^\w\s]|(?:for|in|on|out|overall|because|since|due|based|with|to|as)\b))"
_OF_FIVE = r"(?:(?:\s*stars?)?\s*(?:/|out of)\s*(?:5\b|five\b))"
# "2 of 5" may count facts. It is a rating if "stars" follows, or if nothing that could be counted does.
_FROM_FIVE = rf"(?:(?:\s*stars?)?\s+of\s+(?:5|five)\b(?:\s*stars?\b|{_THEN}))"
_SCORE = r"(?:scor(?:e[sd]?|ing)|rat(?:e[sd]?|ing)|give|giving|assign(?:ed|ing)?|award(?:ed|ing)?)"
#: The label "Consistency:" of a rating, before a number that does not count ("2 errors") or begin a list ("1. The").
_CONSISTENCY = rf"consistency\s*[:=][^\w\n]{{0,4}}(?!1\.\s)(?=[\d.]+%?{_THEN})"
# From the clearest way to state a rating to the least clear. The first that occurs decides.
_FIVE_PLACES = (
    rf"^\W*{_NUMBER}(?:{_OF_FIVE}|{_FROM_FIVE})?(?:\s*\(|\W*(?:$|\n|stars?\b(?!\s*\?)))",
    rf"\b(?:final|overall|total)\s+(?:\w+\s+)?(?:score|rating)\b[^\d\n]{{0,60}}?{_NUMBER}",
    r"\b(?:(?:score|rating|stars)\s*(?:\([^)\d]*\)\s*)?(?::|=|of|is|would be)\s*(?:an?\s+)?\W{0,4}"
    rf"|{_CONSISTENCY}){_NUMBER}",
    rf"\b{_SCORE}\b[^.\d\n]{{0,160}}?\b{_NUMBER}(?:{_OF_FIVE}|{_FROM_FIVE})",
    rf"\b{_SCORE}\b[^.\d\n]{{0,60}}?\b(?:as|an?|with|to|at|it|of|summary|score)\s+(?:[^\W\d]+\s+){{0,4}}?{_NUMBER}{_THEN}",
    rf"\ban?\s+perfect\s+(?:[^\W\d]+\s+){{0,3}}?{_NUMBER}{_THEN}",
    rf"{_NUMBER}\s*(?:of\s+(?:5|five)\s*)?stars?\b(?!\s*\?)",
    rf"{_NUMBER}{_OF_FIVE}",
    rf"\bscore\s+{_NUMBER}\W*$",
    rf"[.:;!?\n]\s*{_NUMBER}\W*$",
    # "4. The summary is", unless it may be an item of a list: "1." may begin one, and another number may follow "4.".
    rf"^(?!\W*1\.\s)\W*{_NUMBER}(?:[.:]\s|,\s(?![^.\n]{{0,30}}\d)|\s+[-–—]\s|\s+(?:because|since)\b)(?!\s*\d)"
    r"(?![\s\S]*(?:\n|[.!?] )\W*\d{1,2}[.)]\s)",
)
_HUNDRED_PLACES = (
    rf"^\W*{_number(100)}\s*%?(?:\s*(?:/|out of)\s*100)?\W*(?:$|\n)",
    rf"\b(?:(?:scores?|rating)\b[^\d\n]{{0,60}}?|{_CONSISTENCY}){_number(100)}\b",
    rf"{_number(100)}\s*\(?(?:/|out of)\s*100\b",
    rf"^\W*{_number(100)}[\s.,:;–-]+[A-Z]",
    rf"[.:;!?\n]\s*{_number(100)}\W*$",
)
_FIVE = tuple(re.compile(place, re.IGNORECASE) for place in _FIVE_PLACES)
_HUNDRED = tuple(re.compile(place, re.IGNORECASE) for place in _HUNDRED_PLACES)
_FIVE_SCALE, _HUNDRED_SCALE = _scale("1|one", "5|five"), _scale("0|zero", "100|one hundred")
_OTHER_SCALE = re.compile(
    r"\bscale\W+(?:of\W+|from\W+)*(?:\w+\W*(?:-|–|to)\W*(?:\d+|ten|seven|hundred)|(?:7|10|100|seven|ten))\b",
    re.IGNORECASE,
)
_BREAKDOWN = re.compile(r"\bbreak\s?down\b", re.IGNORECASE)
_WORDS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5"}
_STAR_WORD = re.compile(
    rf"\b({'|'.join(_WORDS)})(?=[\s-]+(?:(?:or|to)\s+(?:{'|'.join(_WORDS)})\s+)?"
    r"(?:stars?\b|(?:stars?\s+)?(?:out\s+)?of\s+(?:5|five)\b))[\s-]+",
    re.IGNORECASE,
)


def _plain(reply: str) -> str:
    """The reply without Markdown's marks, and without long runs of white space, in which the patterns take quadratic time."""
    return re.sub(r"\s{20,}", "\n\n", re.sub(r"[*_`]", "", reply))


def one_to_five(reply: str, cut: bool) -> Parsed:
    """A rating s from 1 to 5 as (s - 1) / 4.

    A rating before a "breakdown" into aspects is the rating. Otherwise a reply with several different ratings of the same
    kind has none, because choosing one would be a guess. "1. The summary" has none either: it may be the first of a list
    of errors.

    >>> [one_to_five(r, False).value for r in ("4", "Four stars. It omits a name.", "On a scale of 1 to 5 I rate it 2.")]
    [0.75, 0.75, 0.25]
    >>> [one_to_five(r, False).value for r in ("4. The summary is", "1. The summary is", "4. Ann\\n5. Bob", "4 or 5")]
    [0.75, None, None, None]
    >>> one_to_five("Score: 7", False).reason
    'rating 7 is not from 1 to 5'
    """
    text = _FIVE_SCALE.sub(" ", _plain(reply))
    if _OTHER_SCALE.search(text):
        return Parsed(None, "a rating on another scale")
    text = _STAR_WORD.sub(lambda word: f"{_WORDS[word[1].lower()]} ", text)
    overall = _rating(_BREAKDOWN.split(text, maxsplit=1)[0], _FIVE, 1, 5)
    return overall if overall.value is not None else _rating(text, _FIVE, 1, 5)


def zero_to_hundred(reply: str, cut: bool) -> Parsed:
    """A rating from 0 to 100 as a share of 100. A fraction of 1 is not accepted: it is on another scale.

    >>> [zero_to_hundred(reply, False).value for reply in ("Scores: 85", "0.85", "I would give it 7 of 10.")]
    [0.85, None, None]
    """
    rating = _rating(_HUNDRED_SCALE.sub(" ", _plain(reply)), _HUNDRED, 0, 100)
    return Parsed(None, "a rating on another scale") if 0 < (rating.value or 0) < 0.01 else rating


def _rating(text: str, places: tuple[re.Pattern, ...], low: float, high: float) -> Parsed:
    """The rating at the first of the places that has one on the scale, as a share of the scale."""
    reason = "no rating in the reply"
    for place in places:
        numbers = {float(number) for number in place.findall(text)}
        ratings = {number for number in numbers if low <= number <= high}
        if len(ratings) > 1:
            return Parsed(None, f"several ratings: {', '.join(f'{n:g}' for n in sorted(ratings))}")
        if ratings:
            return Parsed((ratings.pop() - low) / (high - low))
        if numbers:  # perhaps the score of a match, or a year: go on looking
            reason = f"rating {numbers.pop():g} is not from {low:g} to {high:g}"
    return Parsed(None, reason)


# -- letters ---------------------------------------------------------------------------------------

_ALONE = r"(?![).]?\s*\(?(?:or|and|to|,|/|-|–)\s*\(?[A-E]\b)"
_LETTER = re.compile(
    r"^\W*(?:(?i:(?:the |my )?(?:answer|choice|option|rating|score)(?: is)?)\W*)?"
    rf"\(?([A-Ea-e]){_ALONE}(?:\)|\.(?!\w\b)|[:,]|\s*$|\s*[-–](?!\w)|\s+\()"
    rf"|\b(?i:answer|choice|option)(?: is)?\W{{1,5}}([A-E])\b{_ALONE}(?![-–.]\w)"
)


def a_to_e(reply: str, cut: bool) -> Parsed:
    """A letter from A (worst) to E (best) as a share of the scale.

    >>> [a_to_e(reply, False).value for reply in ("D", "E: The summary is consistent. 5 points.", "A or B", "Excellent")]
    [0.75, 1.0, None, None]
    """
    match = _LETTER.search(_plain(reply))
    if not match:
        return Parsed(None, "no letter from A to E in the reply")
    return Parsed("ABCDE".index((match[1] or match[2]).upper()) / 4)
