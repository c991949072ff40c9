"""Small closed lists of English words that turn a statement round: negations, hedges, quantifiers, opposites."""

from __future__ import annotations

from collections.abc import Iterable

from claimwise.words import stem

NEGATIONS = frozenset(
    stem(w) for w in "no not never none nobody nothing neither nor without cannot t fail deny refuse unlikely".split()
)
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


def both_ways(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """For each word those that stand in a pair with it."""
    table: dict[str, list[str]] = {}
    for first, second in pairs:
        table.setdefault(first, []).append(second)
        table.setdefault(second, []).append(first)
    return {word: tuple(others) for word, others in table.items()}


#: Opposites as written.
OPPOSED = [tuple(pair.split(":")) for pair in _PAIRS]
#: For each stem the stems of its opposites.
ANTONYMS = {word: frozenset(others) for word, others in both_ways((stem(a), stem(b)) for a, b in OPPOSED).items()}
