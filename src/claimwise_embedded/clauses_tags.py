"""The tagger's classes, mended where the sentence shows that they cannot be right.

A bigram model takes "United face four" for three nouns and "in violent struggle" for a verb; here headlines get
their verb, and what cannot be a second verb becomes a noun.
"""

from __future__ import annotations

from collections.abc import Sequence

from claimwise_embedded.decomposer_tokens import Token, tagger, verb_forms

SUBORDINATORS = frozenset(
    "because although though while whereas unless until till since after before as when if whether once than "
    "despite like".split()
)


REPORTING = frozenset(
    "say claim believe think tell announce add insist admit reveal report warn confirm suggest argue deny know "
    "hope fear expect feel find show hear learn understand realise realize discover agree explain state note "
    "joke tweet allege promise predict estimate conclude declare mean decide see notice remember wish ask "
    "wonder reply write mention observe emphasize emphasise highlight acknowledge accept guess suspect complain maintain stress indicate".split()
)


#: Participles that an object follows: "a boat called Sea Bear", "a man given five years".
NAMING = frozenset("call name dub give award title know nickname entitle offer send show deny".split())
FINITE = frozenset(("MD", "BE", "HV", "DO", "VZ", "VD"))


_BARE_AFTER = REPORTING | frozenset("help make let see watch have".split())


#: What a clause may follow.
_OPENERS = frozenset("after before as once when while that because since although though whereas if".split())
_OBJECTS = (["DT"], ["PS"], ["PR"], ["WH"])
ALWAYS_OPEN = frozenset("while whereas provided if unless whether although though because".split())


_CONTRACTING = frozenset("it he she that there what who where here how".split())


_NOUNS_IN_ED = frozenset(
    "cut hit set put read set cost spread bet bid split quit hurt shed broadcast left found".split()
)


_QUANTITIES = frozenset(
    [(a, "than") for a in ("more", "less", "fewer", "other")]
    + [("at", "least"), ("at", "most"), ("up", "to"), ("as", "many")]
)


_AFTER_PAST = frozenset("DT PS PR IN X TO CD RB PU Q".split())


_AFTER_PRESENT = frozenset("DT PS PR CD TO IN X RB".split())


def repaired(tags: list[str], tokens: Sequence[Token]) -> list[str]:
    """A sentence without a finite verb gets one where the dictionary allows: headlines are in the present."""
    tags = _subordinate_verbs(_second_verbs(_quantities(tags, tokens), tokens), tokens)
    if (
        len(tags) > 1
        and tags[0] in ("X", "VN")
        and tags[1] in ("IN", "TO", "DT", "PS")
        and tokens[0].lower not in _NOUNS_IN_ED
    ):
        if tagger().lean(tokens[0].lower, "VZ") > 0 and tokens[0].lower.endswith("s"):
            tags = ["VZ", *tags[1:]]
        elif tagger().may_be(tokens[0].lower, "VD") and tagger().may_be(tokens[0].lower, "VN"):
            tags = ["VN" if tokens[1].lower == "by" else "VD", *tags[1:]]
    until = next((i for i, tag in enumerate(tags) if tag in FINITE), len(tags))
    opener = next(
        (
            i
            for i in range(1, until)
            if tags[i] == "WH"
            or tokens[i].lower == "that"
            or (
                tags[i] == "IN"
                and tokens[i].lower in SUBORDINATORS
                and clause_follows(tokens, tags, i + 1, len(tags), tokens[i].lower)
            )
        ),
        until,
    )
    if opener == until < len(tags):
        return tags
    lean = tagger().lean
    best, where, verb = -1.0, -1, ""
    for i in range(1, opener):
        if tags[i] != "X" or tags[i - 1] not in ("X", "CD", "RB", "CM") or tokens[i].text[:1].isupper():
            continue
        after = tags[i + 1] if i + 1 < len(tags) else "PU"
        for form, followers in (("VD", _AFTER_PAST), ("VZ", _AFTER_PRESENT)):
            score = lean(tokens[i].lower, form) - 0.05 * i - (after == "X")
            forms = verb_forms().get(tokens[i].lower)
            if forms and forms[0] in REPORTING and i + 1 < len(tokens) and tokens[i + 1].lower == "that":
                score += 5
            elif form == "VZ" and tokens[i].lower.endswith("s") and tokens[i - 1].text[:1].isupper() and i > 1:
                score += 2
            score += 2 * (form == "VD" and tokens[i].lower.endswith("ed") and after in ("DT", "PS", "PR"))
            if after in followers and score > best:
                best, where, verb = score, i, form
    return [*tags[:where], verb, *tags[where + 1 :]] if where > 0 else tags


def _subordinate_verbs(tags: list[str], tokens: Sequence[Token]) -> list[str]:
    """ "After someone else snapped up the place": the only verb before the comma is no participle."""
    tags = list(tags)
    for i, token in enumerate(tokens):
        if tags[i] != "IN" or token.lower not in _OPENERS:
            continue
        for j in range(i + 1, len(tags)):
            lower = tokens[j].lower
            past = tags[j] == "VN" or (tags[j] == "X" and lower.endswith("ed") and tags[j + 1 : j + 2] in _OBJECTS)
            if past and j > i + 1 and lower in verb_forms() and verb_forms()[lower][2] == lower:
                after = tags[j + 1] if j + 1 < len(tags) else "PU"
                if after in ("DT", "PS", "PR", "WH", "RB", "IN", "TO"):
                    rest = tags[j + 1 :]
                    stop = next((k for k, tag in enumerate(rest) if tag in ("CM", "PU")), len(rest))
                    if not any(tag in FINITE for tag in rest[:stop]):
                        tags[j] = "VD"
                break
            if tags[j] not in ("X", "CD", "DT", "PS", "PO", "PR", "RB") and lower != "of":
                break
    return tags


def _quantities(tags: list[str], tokens: Sequence[Token]) -> list[str]:
    """ "more than 260", "at least ten", "up to 40", "no longer": adverbs of what follows."""
    ends = [i for i in range(2, len(tags)) if tags[i] == "X" and (i + 1 == len(tags) or tokens[i + 1].text == ".")]
    for i in ends:  # "..., a study of 120 plots indicates."
        forms = verb_forms().get(tokens[i].lower)
        if forms and forms[0] in REPORTING and tokens[i].lower in forms[1:3] and "CM" in tags[:i]:
            tags = [*tags[:i], "VZ" if tokens[i].lower == forms[1] else "VD", *tags[i + 1 :]]
    for i in range(len(tags) - 1):
        if tokens[i].lower == "per" and tokens[i + 1].lower == "cent":
            tags = [*tags[:i], "X", "X", *tags[i + 2 :]]
        elif (
            tokens[i].lower in ("outside", "inside", "near", "onetime")
            and i
            and tags[i - 1] in ("DT", "PS")
            and (tags[i + 1] == "X")
        ):
            tags = [*tags[:i], "X", *tags[i + 1 :]]
    for i in range(len(tags) - 2):
        pair = (tokens[i].lower, tokens[i + 1].lower)
        if (tags[i + 2] == "CD" and pair in _QUANTITIES) or pair == ("no", "longer"):
            tags = [*tags[:i], "RB", "RB", *tags[i + 2 :]]
    return tags


def _second_verbs(tags: list[str], tokens: Sequence[Token]) -> list[str]:
    """What looks like a verb in -s or bare form after a finite verb, with nothing to open a new clause, is a noun;
    a participle after "she" is a past form.
    """
    tags = list(tags)
    finite = ""
    for i, tag in enumerate(tags):
        lower = tokens[i].lower
        if tag == "PO" and lower == "'s" and i and tokens[i - 1].lower in _CONTRACTING:
            tags[i] = tag = "BE"
        if lower in ("though", "although") or (
            lower == "compared" and i + 1 < len(tags) and tokens[i + 1].lower in ("with", "to")
        ):
            tags[i] = tag = "IN"
        after_person = i > 0 and tags[i - 1] == "PR" and tokens[i - 1].lower in ("he", "she", "they", "we", "i")
        if after_person and (tag == "VN" or (tag == "X" and lower.endswith("ed") and len(lower) > 4)):
            tags[i] = tag = "VD"
        if tag in ("CC", "CM", "PU", "WH", "PR", "Q") or (tag == "IN" and lower in (*SUBORDINATORS, "that")):
            finite = ""
        elif (lower == "home" and i and tags[i - 1] in ("PS", "DT", "PO")) or (
            tag == "BE" and lower == "am" and i and tags[i - 1] == "CD"
        ):
            tags[i] = "X"
        elif lower == "as" and i + 2 < len(tags) and tokens[i + 2].lower == "as":
            tags[i] = "RB"
            tags[i + 2] = "RB"
        elif (
            tag == "VG"
            and i
            and i + 1 < len(tags)
            and tags[i + 1] == "X"
            and tokens[i - 1].lower in ("more", "most", "the")
        ):
            tags[i] = "X"
        elif tag == "X" and lower.endswith("ing") and _progressive(tags, i):
            tags[i] = "VG"
        elif i and tokens[i - 1].lower.endswith("-year-old") and tag in ("X", "VN") and lower.endswith("ed"):
            tags[i] = "VD"
        elif (
            tag == "VG"
            and i > 1
            and tags[i - 2] in ("DT", "PS")
            and tokens[i - 1].text[:1].isupper()
            and tags[i + 1 : i + 2] == ["X"]
        ):
            tags[i] = "X"
        elif lower in ("which", "whom") and i and tag == "DT" and tags[i - 1] == "IN":
            tags[i] = "WH"
        elif tag == "X" and _past_after_and(tokens, tags, i):
            tags[i] = "VD"
        elif tag == "X" and not finite and tags[i - 1 : i] in (["RB"], ["X"]) and _reports_that(tokens, i):
            tags[i] = "VZ" if lower.endswith("s") else "VD"
        elif lower == "provided" and i and tags[i - 1] == "CM":
            tags[i] = "IN"
        elif lower == "else" and i and tags[i - 1] in ("PR", "X"):
            tags[i] = "PR"
        elif tag in ("VZ", "VB") and _no_verb(tokens, tags, i, finite):
            tags[i] = "X"
        elif tag == "X" and tags[i - 1 : i] == ["TO"] and tags[i + 1 : i + 2] in (["PS"], ["DT"], ["PR"]):
            if tags[i + 1] != "DT" or verb_forms().get(lower, ("",))[0] == lower:
                tags[i] = "VB"  # "agreed to end their war"
        elif tag == "BE" and lower == "'s" and finite and tags[i - 1] == "X":
            tags[i] = "PO"
        elif tag in FINITE or (finite and tag in ("VN", "BN")):
            finite = verb_forms().get(lower, (lower,))[0]
    return tags


def _past_after_and(tokens: Sequence[Token], tags: list[str], i: int) -> bool:
    """ "did not finish the race and placed 23rd": a form in -ed between "and" and what cannot follow an adjective."""
    lower = tokens[i].lower
    return (
        i > 0
        and lower.endswith("ed")
        and tags[i - 1] == "CC"
        and tags[i + 1 : i + 2] in (["CD"], ["DT"], ["PS"], ["PR"], ["TO"])
        and verb_forms().get(lower, (lower,) * 5)[2] == lower
    )


def _no_verb(tokens: Sequence[Token], tags: list[str], i: int, finite: str) -> bool:
    """Whether what looks like a verb is a noun: the clause has its verb already, or gets it only later
    ("incidents involving phone calls from strangers have occurred").
    """
    after_noun = tags[i - 1] in ("X", "CD") or tokens[i - 1].lower in ("off", "forward")
    if finite:
        return finite not in _BARE_AFTER and i + 2 < len(tags) and after_noun
    if tags[i] != "VZ" or i == 0 or tags[i - 1] != "X":
        return False
    forms = verb_forms().get(tokens[i].lower)
    if forms and forms[0] in REPORTING:
        return False
    for j in range(i + 1, len(tags)):
        if tags[j] in ("BE", "HV", "MD"):
            return tags[j - 1] in ("X", "CD")
        if tags[j] not in ("X", "CD", "IN", "DT", "PS", "PO", "VG"):
            return False
    return False


def _reports_that(tokens: Sequence[Token], i: int) -> bool:
    """ "also mentions that"."""
    lower = tokens[i].lower
    base = verb_forms().get(lower, (lower.removesuffix("ed") if lower.endswith("ed") else lower.removesuffix("s"),))[0]
    return lower != base in REPORTING and i + 1 < len(tokens) and tokens[i + 1].lower == "that"


def _progressive(tags: list[str], i: int) -> bool:
    """ "were sexually objectifying the players": a form of "be" before, perhaps an adverb, and an object after."""
    k = i - 1
    while k > 0 and tags[k] in ("RB", "NG"):
        k -= 1
    return k >= 0 and tags[k] in ("BE", "BN") and i + 1 < len(tags) and tags[i + 1] in ("DT", "PS", "PR")


def clause_follows(tokens: Sequence[Token], tags: list[str], i: int, n: int, lower: str) -> bool:
    """Whether a subject and a finite verb come next, before any mark: "after he left", not "after the game"."""
    if i < n and tags[i] in ("VN", "VD") and lower in ("as", "when", "if", "while", "than", "once"):
        return True
    seen = False
    for j in range(i, n):
        tag = tags[j]
        if tag in FINITE:
            return seen
        if j > i and tokens[j].lower in SUBORDINATORS and tag == "IN":
            return False
        if tag in ("PR", "X", "CD"):
            seen = True
        elif tag in ("CM", "PU", "WH", "VG", "VN") or (tag == "CC" and j + 1 < n and tags[j + 1] == "PR"):
            return False
    return False
