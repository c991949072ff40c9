"""Words that take another's place when sentences are edited (opposites, words of a kind) or told otherwise (synonyms)."""

from __future__ import annotations

from claimwise_embedded.lexicon import OPPOSED, both_ways

_INFLECTED = """increased:decreased increased:reduced increases:decreases rose:fell rises:falls rising:falling grew:shrank
growing:shrinking gained:lost gains:losses won:lost wins:loses winning:losing accepted:rejected accepts:rejects
approved:rejected agreed:disagreed agreed:refused agrees:refuses supported:opposed supports:opposes allowed:banned
allows:bans allowed:prevented permitted:prohibited arrested:released convicted:acquitted opened:closed opens:closes
opening:closing started:ended started:stopped began:ended begins:ends starts:ends joined:left joins:leaves arrived:left
arrives:leaves entered:left bought:sold buys:sells buying:selling hired:fired hires:fires appointed:dismissed
lent:borrowed gave:took gives:takes sent:received sends:receives loved:hated loves:hates included:excluded
includes:excludes confirmed:denied confirms:denies admitted:denied attacked:defended improved:worsened
improves:worsens improving:worsening expanded:reduced expanded:contracted expanding:contracting accelerated:slowed
survived:died remembered:forgot passed:failed succeeded:failed raised:lowered raised:cut raises:lowers imported:exported
built:destroyed created:destroyed kept:lost encouraged:discouraged praised:criticised praised:criticized
welcomed:condemned strengthened:weakened exceeded:missed widened:narrowed climbed:dropped jumped:plunged
soared:plummeted added:removed adds:removes accelerating:slowing hired:dismissed promoted:demoted united:divided
protected:endangered launched:cancelled extended:shortened doubled:halved""".split()


#: For each word as written its opposites as written.
OPPOSITES = both_ways(OPPOSED + [tuple(pair.split(":")) for pair in _INFLECTED])

_GROUPS = (
    "january february march april june july august september october november december",
    "monday tuesday wednesday thursday friday saturday sunday",
    "seconds minutes hours days weeks months years decades",
    "second minute hour day week month year decade",
    "hundred thousand million billion trillion",
    "first second third fourth fifth last",
    "all most some few none",
    "always often sometimes rarely never",
    "he she",
    "his her",
    "because although",
    "after before",
    "caused prevented",
    "will may",
    "must may",
    "daily weekly monthly yearly",
    "morning afternoon evening night",
    "north south east west",
    "northern southern eastern western",
    "spring summer autumn winter",
    "mother father brother sister son daughter uncle aunt cousin wife husband",
    "doubled halved tripled",
    "red blue green yellow black white",
)

#: For each word words of its kind that say something else: months, units, order, quantity, cause, person.
SWAPS = {word: tuple(w for w in group.split() if w != word) for group in _GROUPS for word in group.split()}

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
