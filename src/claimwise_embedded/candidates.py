"""Candidate claims of a sentence, as the annotators of ROSE write them.

There is one for each clause's bare fact and one for the fact with each detail. More come from noun phrases: ages, titles,
appositions, what belongs to what. A candidate is a list of pieces (token indices or inserted words), with the ``traits``
that the selector weighs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spacy.tokens import Doc, Token

from claimwise.words import PEOPLE
from claimwise_embedded.clauses import TIES, Clause, Piece, Subject, Unit, clauses, singular
from claimwise_embedded.decomposer_parsing import (
    FINITE,
    REPORTING,
    VERBS,
    aside,
    base_form,
    be,
    glued,
    is_name,
    noun_phrase,
    picked,
    plural,
)
from claimwise_embedded.decomposer_references import Resolution

#: Verbs whose subjects act on one another: "Lee and Roy met".
_MUTUAL = frozenset(
    "meet marry divorce agree fight clash collide argue differ share compete separate unite merge".split()
)
_HONORIFICS = frozenset("mr mrs ms miss dr sir dame lord lady prof professor madam pope st saint".split())
_UNIQUE = frozenset(
    "chairman captain president coach manager boss leader chief minister mayor wife husband head ceo founder owner "
    "director secretary mother father king queen prince princess director-general spokesman spokeswoman".split()
)
#: Types of named entities that are amounts, dates or numbers.
_MEASURES = frozenset("DATE TIME CARDINAL MONEY PERCENT QUANTITY ORDINAL".split())
_BELONGING = frozenset("for against between over about in".split())
_QUOTES = frozenset("' ‘ ’ \" “ ” `` ''".split())
_DANGLING = frozenset("only even just not than as more very too so such most less and or but to".split())
#: Dependents that need their head in the claim, and dependents that their head needs.
_NEED_HEAD = frozenset("det aux auxpass neg prt case poss quantmod expl".split())
_HEAD_NEEDS = frozenset("neg pobj pcomp prt auxpass".split())
_CLOSING = frozenset(",;:)]%.?!'")
_CLITICS = frozenset("n't n’t 's ’s 're ’re 've ’ve 'll ’ll 'd ’d 'm ’m".split())


@dataclass(slots=True)
class Candidate:
    """A possible claim of one sentence. ``kept`` are the token indices that it uses."""

    pieces: list[Piece]
    kind: str
    traits: dict[str, float] = field(default_factory=dict)

    @property
    def kept(self) -> list[int]:
        """The token indices among the pieces."""
        return [p for p in self.pieces if isinstance(p, int)]


def candidates(tokens: Doc, resolution: Resolution) -> Iterator[Candidate]:
    """All candidates of a parsed sentence. The first is the whole sentence."""
    missing = resolution.missing.text if resolution.missing is not None else None
    own = [clause for root in tokens if root.dep_ == "ROOT" for clause in clauses(root, missing)]
    first, end = 0, len(tokens)
    while end - first > 1 and (tokens[first].text in ("*", "-", "•", ",") or _is_tie(tokens, first)):
        first += 1
    while end > first and tokens[end - 1].lower_ in (".", "!"):
        end -= 1
    splits = any(unit.phrase.conjuncts for clause in own for unit in clause.units)
    traits = {
        f"parts-{min(len(own), 4)}": 1.0,
        "splits": float(splits),
        "splits-alone": float(len(own) == 1 and splits),
        "opens": float(any(clause.openings for clause in own)),
        "details": float(min(3, sum(len(clause.optional) for clause in own))),
    }
    yield Candidate(list(range(first, end)), "sentence", traits)
    for clause in own:
        if not clause.only_reports:
            for subject in _usable_subjects(clause):
                yield from _of_clause(clause, subject)
        elif any(unit.kind == "ccomp" for unit in clause.required):
            parts = [unit.phrase.all for unit in clause.units]
            yield Candidate(_assembled(clause, clause.subjects[-1].pieces, parts, clause.verbs), "reporting")
    yield from facts(tokens, resolution)


def _is_tie(tokens: Doc, i: int) -> bool:
    return tokens[i].lower_ in ("meanwhile", "but", "and") or (
        tokens[i].lower_ in TIES and i + 1 < len(tokens) and tokens[i + 1].text == ","
    )


def _assembled(
    clause: Clause,
    subject: Sequence[Piece],
    parts: Sequence[list[Piece]],
    verbs: Sequence[Piece],
    opening: Sequence[int] = (),
) -> list[Piece]:
    """The pieces in order: attribution, opening, subject, then verbs and complements in the order of the sentence."""
    inserted = [piece for piece in verbs if isinstance(piece, str)]
    own = [[piece] for piece in verbs if isinstance(piece, int)]
    # The object of "whom they met" comes after the verb, though the sentence has it before.
    last = [unit.phrase.core for unit in clause.required if unit.kind == "antecedent"]
    ordered = [*sorted([*own, *(part for part in parts if part not in last)], key=_first_token), *last]
    flat = dict.fromkeys(piece for part in ordered for piece in part)
    return [*clause.source.before, *opening, *subject, *inserted, *flat, *clause.source.after]


def _first_token(part: Sequence[Piece]) -> int:
    return next((piece for piece in part if isinstance(piece, int)), -1)


def _of_clause(clause: Clause, subject: Subject) -> Iterator[Candidate]:
    """Candidates of a clause for one of its subjects: the bare fact, with each detail, with several, the whole clause.

    Those of a short clause may have the same text; ``propose`` takes the first.
    """
    required, optional = clause.required, clause.optional
    one_of_several = subject.form == "conjunct"
    verbs = singular(clause.verbs, clause.head) if one_of_several else clause.verbs
    reported = "reported-" if any(clause.source) else ""

    def candidate(kind: str, parts: Sequence[list[Piece]], opening: Sequence[int] = (), **traits: float) -> Candidate:
        pieces = _assembled(clause, subject.pieces, parts, verbs, opening)
        return Candidate(pieces, reported + kind, {clause.kind: 1.0, f"subject-{subject.form}": 1.0, **traits})

    cores = [unit.phrase.core for unit in required]
    base = [unit.phrase.all for unit in required]
    whole = [unit.phrase.all for unit in clause.units]
    if any(unit.conditional for unit in required):
        # Which parts depend on the condition is not known: only the whole clause is safe.
        yield candidate("full", [*whole, *clause.openings])
        return
    if not any(unit.phrase.conjuncts for unit in required):
        yield candidate("bare", cores, needs=float(len(required)))
        yield candidate("base", base)
    for k, unit in enumerate(required):
        longer = [("post", sorted([*unit.phrase.core, *post])) for post in unit.phrase.posts]
        for kind, part in [*(("conjunct", conjunct) for conjunct in unit.phrase.conjuncts), *longer]:
            yield candidate(kind, [*cores[:k], part, *cores[k + 1 :]])
    for j, unit in enumerate([] if one_of_several else optional):
        if unit.kind == "advcl" and not _is_detail(unit, clause.head.doc):
            continue
        traits = {f"unit-{unit.kind}": 1.0, "place": float(j)}
        versions = [("version-conjunct", conjunct) for conjunct in unit.phrase.conjuncts]
        for name, version in versions or [("version-core", unit.phrase.core), ("version-full", unit.phrase.all)]:
            yield candidate("detail", [*cores, version], **traits, **{name: 1.0})
        if j:
            yield candidate("prefix", whole[: len(required) + j + 1], length=float(j + 1))
    joins = float(any(unit.phrase.conjuncts for unit in clause.units))
    yield candidate("full", whole, units=float(len(optional)), joins=joins)
    for opening in clause.openings:
        yield candidate("pre", cores, opening)
        yield candidate("pre-full", whole, opening)


def _is_detail(unit: Unit, tokens: Doc) -> bool:
    """Whether an adverbial clause may be added as a detail.

    ", saying ..." is a fact of its own or follows from the whole sentence. A clause that no word introduces is a parser error.
    """
    first = tokens[unit.phrase.core[0]]
    return not aside(first) and (first.dep_ in ("mark", "aux", "advmod", "prep") or first.tag_ in ("IN", "TO", "WRB"))


def _usable_subjects(clause: Clause) -> list[Subject]:
    """The clause's subjects; without each single one if the statement holds only for all of them together."""
    attributes = [unit for unit in clause.required if unit.kind in ("attr", "dobj", "acomp")]
    kin = any(unit.kind == "attr" and clause.head.doc[unit.phrase.core[-1]].tag_ == "NNS" for unit in attributes)
    mutual = not attributes and base_form(clause.head) in _MUTUAL
    words = {clause.head.doc[i].lower_ for unit in clause.units for i in unit.phrase.all}
    if kin or mutual or words & {"together", "other", "respectively", "another"}:
        return [subject for subject in clause.subjects if subject.form != "conjunct"]
    return clause.subjects


# -- facts inside noun phrases -----------------------------------------------------------------------------------------


def facts(tokens: Doc, resolution: Resolution) -> Iterator[Candidate]:
    """The facts inside a sentence's noun phrases."""
    for token in tokens:
        if token.dep_ == "appos" or (
            token.dep_ == "nummod" and token.head.ent_type_ == "PERSON" and token.i > token.head.i
        ):
            yield from _apposition(token.head, token)
        if is_name(token) and token.dep_ != "compound":
            yield from _title(token)
        if token.pos_ == "NOUN":
            yield from _age(token)
        if token.dep_ in ("dobj", "attr", "nsubj", "nsubjpass"):
            yield from _belonging(token)
    yield from _described(tokens, resolution)


def _apposition(name: Token, description: Token) -> Iterator[Candidate]:
    """ "David Gold, the chairman" -> "David Gold is the chairman"; "Kendall, 19" -> "Kendall is 19"."""

    def subject() -> list[
        int
    ]:  # only when needed: in an endless line every word may be an apposition of the one before
        return [i for i in _without_title(name) if i != description.i]

    if description.text.isdigit():
        if is_name(name) and name.ent_type_ not in ("DATE", "TIME", "CARDINAL", "GPE", "LOC"):
            yield Candidate([*subject(), be(many=plural(name)), description.i], "age", {"age": 1.0})
        return
    if not aside(description) or description.pos_ not in ("NOUN", "PROPN") or name.pos_ not in ("NOUN", "PROPN"):
        return
    if {name.ent_type_, description.ent_type_} & _MEASURES:
        return
    if name.ent_type_ in ("GPE", "LOC") and description.ent_type_ in ("GPE", "LOC"):
        return  # "Leeds, England"
    if is_name(name) and is_name(description):
        return  # more often than not a list that the parser misread
    phrase = noun_phrase(description)
    first = name.doc[phrase.core[0]]
    if not is_name(description) and first.dep_ not in ("det", "poss", "nummod") and not is_name(first):
        return
    if is_name(description) and any(c.dep_ == "poss" or c.tag_ == "CD" for c in name.lefts) and plural(name):
        return
    said = phrase.core if is_name(description) else phrase.all
    yield Candidate([*subject(), be(many=plural(name)), *said], "apposition", {"name": float(is_name(name))})


def _without_title(name: Token) -> list[int]:
    """A name without the title before it, or a common noun with its required words."""
    core = noun_phrase(name).core
    if not is_name(name):
        return core
    start = next((i for i in core if name.doc[i].text[:1].isupper()), core[0])
    return [i for i in core if i >= start]


def _title(name: Token) -> Iterator[Candidate]:
    """ "West Ham chairman David Gold" -> "David Gold is the West Ham chairman"; "19-year-old Kendall"."""
    tokens = name.doc
    start = name.i
    while start > 0 and tokens[start - 1].head == name and is_name(tokens[start - 1]):
        start -= 1
    if start == 0 or tokens[start - 1].lower_ in _HONORIFICS or tokens[start].lower_ in _HONORIFICS:
        return
    subject = range(start, name.i + 1)
    first = name.left_edge.i
    for child in (t for t in tokens[first:start] if t.lower_ == "old"):
        if child.left_edge.text.isdigit():
            yield Candidate([*subject, "is", child.left_edge.i, "years old"], "age", {"age": 1.0})
        first = child.i + 1
    title, role = tokens[first:start], tokens[start - 1]
    if not len(title) or role.tag_ != "NN" or role.dep_ not in ("compound", "nmod", "amod"):
        return
    if (role.text[:1].isupper() and role.i > 0) or any(
        t.tag_ in ("PRP$", "POS", "VBN", "VBD") or t.is_punct for t in title
    ):
        return  # "his sister Ann" does not say which sister
    if name.ent_type_ != "PERSON" and role.lower_ not in PEOPLE:
        return
    pieces: list[Piece] = [t.i for t in title]
    if title[0].dep_ != "det":
        word = title[0].lower_
        pieces.insert(0, "the" if role.lower_ in _UNIQUE else "an" if word[0] in "aeiou" else "a")
    elif title[0].lower_ not in ("a", "an", "the"):
        return
    yield Candidate([*subject, "is", *pieces], "title", {"loose": 1.0})


def _age(noun: Token) -> Iterator[Candidate]:
    """ "the 19-year-old midfielder" -> "The midfielder is 19 years old"."""
    if not any(c.dep_ in ("det", "poss") for c in noun.lefts):
        return
    for child in noun.lefts:
        number = child.left_edge
        if child.lower_ == "old" and number.text.isdigit():
            words = [i for i in noun_phrase(noun).core if i > child.i]
            yield Candidate(["the", *words, "is", number.i, "years old"], "age-noun", {"age": 1.0, "loose": 1.0})


def _belonging(noun: Token) -> Iterator[Candidate]:
    """ "won an award for his work" -> "The award was for his work"; "Lee from Leeds won" -> "Lee is from Leeds"."""
    if noun.conjuncts or noun.pos_ not in ("NOUN", "PROPN") or noun.ent_type_ in _MEASURES or picked(noun):
        return
    if any(c.tag_ == "PRP$" for c in noun.lefts):
        return
    prepositions = ("from",) if is_name(noun) else _BELONGING
    for child in (c for c in noun.rights if c.dep_ == "prep" and c.lower_ in prepositions and not aside(c)):
        lead: list[Piece] = list(noun_phrase(noun).core)
        article = noun.doc[lead[0]]
        if article.lower_ in ("a", "an", "another", "some"):
            lead = ["the", *lead[1:]]
        past = any(t.tag_ == "VBD" for t in (noun.head, *noun.head.children))
        words = [t.i for t in child.subtree]
        traits = {f"place-{noun.dep_}": 1.0, f"belongs-{child.lower_}": 1.0, "loose": 1.0}
        yield Candidate([*lead, be(many=plural(noun), past=past and not is_name(noun)), *words], "belonging", traits)


def _described(tokens: Doc, resolution: Resolution) -> Iterator[Candidate]:
    """ "The 22-year-old has ..." about Paul Pogba -> "Paul Pogba is 22 years old"; "The striker" -> "is the striker"."""
    if resolution.described is None:
        return
    at, entity = resolution.described
    age = next((tokens[i].text for i in at if tokens[i].text.isdigit()), None)
    if age is not None and tokens[at[-1]].lower_ == "old":
        yield Candidate([entity.text, "is", age, "years old"], "described-age")
    elif at[0] == 0 and age is None:
        yield Candidate([entity.text, "is", "the", *at[1:]], "described", {"loose": 1.0})


# -- as text -----------------------------------------------------------------------------------------------------------


def write(pieces: Sequence[Piece], tokens: Doc, resolution: Resolution) -> str:
    """The text of a candidate, with the spaces of the summary.

    A pronoun is replaced by its name if the claim does not have the name before it.
    """
    out = ""
    previous = -1
    named: set[int] = set()
    described_at, described = resolution.described or ([], None)
    shown = False  # whether the name has replaced a description ("the striker")
    for piece in pieces:
        if isinstance(piece, str):
            word, joined = piece, piece in ("'s", "'", ",")
            if resolution.missing is not None and piece == resolution.missing.text:
                named.add(id(resolution.missing))
            previous = -1
        else:
            token = tokens[piece]
            word = token.text
            if previous >= 0 and 1 < piece - previous < 4:
                # Only a comma, an "and" or both were skipped: the list needs them.
                between = tokens[previous + 1 : piece]
                if between[0].text == "," and all(t.text == "," or t.dep_ == "cc" for t in between):
                    out += "," + "".join(f" {t.text}" for t in between[1:])
            joined = previous >= 0 and piece == previous + 1 and not tokens[previous].whitespace_
            replaced = resolution.replaced.get(piece)
            if shown and piece in described_at[1:]:
                continue  # the rest of "the striker"
            if replaced is not None:
                entity, text = replaced
                if id(entity) not in named:
                    word = text
                    shown = shown or entity is described
                named.add(id(entity))
            elif piece in resolution.named:
                named.add(id(resolution.named[piece]))
            if piece == 0 and out and word == token.text and not _keeps_capital(tokens):
                word = token.lower_
            if token.lower_ == "'s" and token.pos_ in VERBS and previous != piece - 1:
                word = "is"
            joined = joined or (word != "is" and (word in _CLOSING or token.tag_ == "POS" or token.lower_ in _CLITICS))
            previous = piece
        out += word if joined or not out or out[-1] in "([" else " " + word
    out = out.strip().removesuffix(" -").strip(" ,;:")
    return out[:1].upper() + out[1:]


def _keeps_capital(tokens: Doc) -> bool:
    """Whether the first word of a sentence would have a capital in the middle of one, too."""
    first = tokens[0]
    return (
        is_name(first)
        or (first.ent_type_ and first.pos_ not in VERBS)
        or first.text == "I"
        or first.text[1:2].isupper()
    )


def well_formed(candidate: Candidate, tokens: Doc) -> bool:
    """Whether a candidate can be a statement: it has a proper end, and each word has the words that it needs.

    This also finds parser errors: better no claim than one that the summary does not make.
    """
    at = candidate.kept
    if candidate.kind == "sentence" or not at:
        return bool(at) or candidate.kind == "described-age"
    kept = set(at)
    quotes = sum(t.text in _QUOTES and t.tag_ != "POS" for t in tokens)
    if quotes % 2 == 0 and sum(tokens[i].text in _QUOTES and tokens[i].tag_ != "POS" for i in at) % 2:
        return False  # it begins or ends within a quotation
    last = tokens[at[-1]]
    if last.lower_ in _DANGLING or last.pos_ in ("DET", "CCONJ") or last.tag_ == "PRP$":
        return False
    if last.pos_ == "AUX" and any(c.i > last.i for c in last.children):
        return False  # "Mount Etna is"
    verbs = joints = 0
    for i in at:
        token = tokens[i]
        if glued(tokens, i) and i - 1 not in kept:
            return False
        if i + 1 < len(tokens) and glued(tokens, i + 1) and i + 1 not in kept and candidate.traits.get("age") is None:
            return False
        if token.dep_ in _NEED_HEAD and not candidate.traits.get("loose") and not _is_kept(token.head, kept):
            return False
        if any(child.dep_ in _HEAD_NEEDS and not _is_kept(child, kept) for child in token.children):
            return False
        if token.tag_ in FINITE and token.dep_ not in ("aux", "auxpass"):
            verbs += 1
            joints += base_form(token) in REPORTING
        joints += token.dep_ in ("cc", "mark") or token.tag_ in ("WDT", "WP", "WRB", "WP$", ",", ":")
        joints += token.text in _QUOTES or token.dep_ == "nsubj"
    return verbs <= 1 + joints


def _is_kept(token: Token, kept: set[int]) -> bool:
    """Whether a claim has a word, or one joined to it by "and"."""
    return token.i in kept or any(other.i in kept for other in token.conjuncts)
