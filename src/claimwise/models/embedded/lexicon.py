"""Small closed lists of English words that turn a statement round: negations, hedges, quantifiers, opposites."""

from __future__ import annotations

from claimwise.models.embedded.evidence import stem

NEGATIONS = frozenset("no not never none nobody nothing neither nor without cannot t fail deni refus unlik".split())
HEDGES = frozenset(
    stem(w)
    for w in """may might could would should can possibly perhaps probably likely allegedly alleged reportedly
    suspected believed expected suggests suggest appears seems potential potentially claim claims considering plans
    plan hopes hope proposed about around approximately nearly almost""".split()
)
QUANTIFIERS = frozenset(
    stem(w)
    for w in """all every each most many some few several only both half none any always often sometimes rarely
    never more less fewer least majority minority""".split()
)

_PAIRS = """increase:decrease increase:reduce increase:decline rise:fall grow:shrink gain:loss gain:lose win:lose
victory:defeat beat:lose accept:reject accept:refuse approve:reject agree:disagree agree:refuse support:oppose
allow:ban allow:prohibit allow:prevent permit:prohibit arrest:release guilty:innocent guilty:acquitted
convict:acquit open:close start:end start:stop begin:end begin:finish join:leave arrive:leave arrive:depart
enter:leave buy:sell hire:fire appoint:dismiss lend:borrow borrow:lend give:take send:receive love:hate like:dislike
high:low higher:lower up:down above:below before:after early:late earlier:later first:last old:young old:new
oldest:youngest large:small big:small larger:smaller long:short strong:weak rich:poor good:bad better:worse
best:worst positive:negative success:failure succeed:fail successful:unsuccessful easy:difficult easy:hard
possible:impossible likely:unlikely able:unable happy:unhappy happy:sad public:private male:female man:woman men:women
boy:girl father:mother son:daughter brother:sister husband:wife north:south east:west left:right inside:outside
include:exclude confirm:deny admit:deny attack:defend advantage:disadvantage more:less most:least more:fewer
always:never everyone:nobody all:none both:neither many:few with:without improve:worsen expand:reduce expand:contract
accelerate:slow fast:slow cheap:expensive safe:dangerous true:false right:wrong alive:dead live:die survive:die
birth:death remember:forget pass:fail increase:cut raise:lower raise:cut maximum:minimum optimistic:pessimistic
legal:illegal responsible:irresponsible present:absent internal:external domestic:foreign temporary:permanent
day:night morning:evening summer:winter import:export profit:loss income:expense creditor:debtor
employer:employee teacher:student doctor:patient buyer:seller winner:loser minority:majority hope:fear
love:hatred friend:enemy ally:enemy peace:war build:destroy create:destroy keep:lose encourage:discourage
praise:criticise praise:criticize welcome:condemn""".split()


def _antonyms() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for pair in _PAIRS:
        first, second = (stem(w) for w in pair.split(":"))
        table.setdefault(first, set()).add(second)
        table.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in table.items()}


#: For each stem the stems of its opposites.
ANTONYMS = _antonyms()


def _opposites() -> dict[str, tuple[str, ...]]:
    table: dict[str, list[str]] = {}
    for pair in _PAIRS:
        first, second = pair.split(":")
        table.setdefault(first, []).append(second)
        table.setdefault(second, []).append(first)
    return {word: tuple(others) for word, others in table.items()}


#: For each word as written its opposites as written.
OPPOSITES = _opposites()

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
