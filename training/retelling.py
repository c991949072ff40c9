"""Statements told in other words without a change of meaning: what a checker must not take for an error.

Edits of sentences that were copied from a document teach that whatever differs from it is wrong. These differ and are
right: other words for the same thing, digits for number words, an opening phrase moved or left out, a shorter name.
"""

import random
import re
from collections.abc import Callable

from claimwise.words import FUNCTION_WORDS, stem
from claimwise_embedded.evidence import both_ways
from training.edits import exchangeable, names

_NUMBERS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen twenty".split()
_DIGITS = {word: stem(word) for word in _NUMBERS}
_NUMBER_WORDS = {digits: word for word, digits in _DIGITS.items()}
_NUMBER = re.compile(rf"(?<![\w.,$£€-])(?:{'|'.join([*_DIGITS, *_NUMBER_WORDS])})(?![\w,%-]|\.\d)")
_PER_CENT = re.compile(r"(?<=\d)( per ?cent\b|%)")
_OPENING = re.compile(r"^((?:In|On|At|During|After|Before|Since|By|For|From) [^,.;:]{3,40}), (?=\w)")
_ASIDE = re.compile(r", (?:who|which|where|a|an|the) [^,;:()]{4,60},(?= )| \([^()]{2,60}\)")
_REPORTED = re.compile(r", (?:[A-Z]\w+|he|she|they|officials|police) (?:said|says|added)(?: on \w+day)?(?=\.?$)")
_ENOUGH = 4  # words that a shortened statement keeps
_SYNONYMS = """begin start, begins starts, began started, beginning starting, end finish, ended finished, buy purchase,
bought purchased, large big, larger bigger, small little, house home, people individuals, help assist,
helped assisted, helps assists, show demonstrate, showed demonstrated, shows demonstrates, got obtained,
obtained received, children kids, child kid, firm company, firms companies, film movie, films movies, car vehicle,
cars vehicles, attempt try, attempts tries, attempted tried, choose select, chose selected, chosen selected,
near close, needs requires, need require, needed required, said stated, says states, about approximately,
also additionally, used employed, important significant, increase rise, increased grew, increases rises,
decrease decline, decreased declined, fell dropped, fall drop, falls drops, happen occur, happened occurred,
happens occurs, injured hurt, ill sick, illness sickness, doctor physician, doctors physicians, lawyer attorney,
lawyers attorneys, police officers, reveal disclose, revealed disclosed, reveals discloses, ask request,
asked requested, tell inform, told informed, told notified, almost nearly, often frequently, usually typically,
quickly rapidly, quick fast, fast rapid, whole entire, ask inquire, reply answer, replied answered, mistake error,
mistakes errors, aim goal, aims goals, goal objective, make create, made created, makes creates, build construct,
built constructed, building constructing, discuss debate, discussed debated, meeting gathering,
meetings gatherings, plan intend, plans intends, planned intended, annual yearly, allow let, allows lets,
allowed permitted, allow permit, permits allows, prevent stop, prevented stopped, prevents stops, provide offer,
provided offered, provides offers, believe think, believes thinks, believed thought, stay remain, stayed remained,
stays remains, live reside, lives resides, lived resided, study research, studies investigations,
examine investigate, examined investigated, find discover, found discovered, finds discovers, boss manager,
speak talk, spoke talked, speaks talks, warn caution, warned cautioned, warns cautions, fire blaze,
answer response, answers responses, crash collision, probe investigation, inquiry investigation, row dispute,
deal agreement, deals agreements, ban prohibition, banned prohibited, gather collect, gathered collected,
keep retain, kept retained, keeps retains, send dispatch, sent dispatched, sends dispatches, leave depart,
arrived came, arrives comes, big huge, huge enormous, angry furious, happy glad, sad unhappy, rich wealthy,
poor impoverished, famous renowned, smart intelligent, difficult hard, easy simple, correct right, wrong incorrect,
dangerous hazardous, whole complete, main primary, main principal, current present, former previous,
formerly previously, currently presently, earlier previously, because since, although though, until till,
towards toward, among amongst, between amid, over above, under beneath, customer client, customers clients,
worker employee, workers employees, staff personnel, pupil student, pupils students, prison jail,
jailed imprisoned, murder killing, murdered killed, gun firearm, guns firearms, victory win, victories wins,
defeat loss, match game, matches games, profit earnings, profits earnings, improve enhance, improved enhanced,
improves enhances, improvement enhancement, problem issue, problems issues, suggest propose, suggested proposed,
suggests proposes, mention note, mentioned noted, mentions notes, agree concur, agreed concurred, explain describe,
explained described, explains describes, expect anticipate, expected anticipated, expects anticipates, rely depend,
relies depends, launch introduce, launched introduced, launches introduces, expand extend, expanded extended,
reduced lowered, reduces lowers, focus concentrate, focused concentrated, focuses concentrates, ensure guarantee,
ensured guaranteed, ensures guarantees, demand request, feature function, features functions, data information,
option choice, options choices, benefit advantage, benefits advantages, tool instrument, tools instruments"""
#: For each word as written others that say the same in most places.
SYNONYMS = both_ways(tuple(pair.split()) for pair in _SYNONYMS.split(","))


def _other_word(statement: str, rng: random.Random) -> str | None:
    found = exchangeable(statement, SYNONYMS, rng)
    return _put(statement, *found) if found else None


def _other_number(statement: str, rng: random.Random) -> str | None:
    found = [(m, _DIGITS.get(m.group()) or _NUMBER_WORDS[m.group()]) for m in _NUMBER.finditer(statement) if m.start()]
    found += [(m, "%" if m.group() != "%" else " percent") for m in _PER_CENT.finditer(statement)]
    return _put(statement, *rng.choice(found)) if found else None


def _opening_moved(statement: str, rng: random.Random) -> str | None:
    match = _OPENING.match(statement)
    if not match:
        return None
    body = statement[match.end() :]
    first = re.match(r"\w+", body)
    if first and first.group().islower():
        body = body[0].upper() + body[1:]
    if rng.random() < 0.5:
        return body if len(body.split()) >= _ENOUGH else None
    end = len(body) - len(body.rstrip(" .!?"))
    opening = match.group(1)[0].lower() + match.group(1)[1:]
    return f"{body[: len(body) - end]} {opening}{body[len(body) - end :]}"


def _aside_left_out(statement: str, rng: random.Random) -> str | None:
    found = [m for pattern in (_ASIDE, _REPORTED) for m in pattern.finditer(statement)]
    if not found:
        return None
    shorter = _put(statement, rng.choice(found), "")
    return shorter if len(shorter.split()) >= _ENOUGH else None


def _shorter_name(statement: str, rng: random.Random) -> str | None:
    """A person or body of two words by the last: nobody else in the statement has it."""
    found = [
        name
        for name in names(f"x {statement}")
        if len(parts := name.split()) == 2 and statement.count(parts[1]) == 1 and parts[0].lower() not in FUNCTION_WORDS
    ]
    if not found:
        return None
    name = rng.choice(found)
    return statement.replace(name, name.split()[1], 1)


def _put(statement: str, match: re.Match, new: str) -> str:
    return statement[: match.start()] + new + statement[match.end() :]


_WAYS: tuple[Callable[[str, random.Random], str | None], ...] = (
    _other_word,
    _other_word,
    _other_number,
    _opening_moved,
    _aside_left_out,
    _shorter_name,
)


def retold(statement: str, rng: random.Random, times: int = 3) -> str:
    """Say a statement otherwise, in up to so many ways of those that apply; the same state of chance gives the same.

    >>> retold("On Monday, three people left the house.", random.Random(5))
    '3 individuals left the house on Monday.'
    """
    for way in rng.sample(_WAYS, len(_WAYS)):
        new = way(statement, rng)
        if new and new != statement:
            statement, times = new, times - 1
        if not times:
            break
    return statement
