"""A candidate claim and how it is written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spacy.tokens import Doc, Token

from claimwise_embedded.decomposer_parsing import REPORTING, VERBS, base_form, glued, is_name
from claimwise_embedded.decomposer_references import Resolution

#: A token's index, or a word that the summary does not have there.
Piece = int | str

_QUOTES = frozenset("' ‘ ’ \" “ ” `` ''".split())
_DANGLING = frozenset("only even just not than as more very too so such most less and or but to".split())
#: What cannot be told without the word it belongs to, and words that cannot be told without these.
_BELONG = frozenset("det aux auxpass neg prt case poss quantmod expl".split())
_NEED = frozenset("neg pobj pcomp prt auxpass".split())


@dataclass(slots=True)
class Candidate:
    """A possible claim of one sentence; ``kept`` are the token indices it uses."""

    pieces: list[Piece]
    kind: str
    traits: dict[str, float] = field(default_factory=dict)

    @property
    def kept(self) -> list[int]:
        """The token indices among the pieces."""
        return [p for p in self.pieces if isinstance(p, int)]


def write(pieces: Sequence[Piece], tokens: Doc, resolution: Resolution) -> str:
    """The text of a candidate: words as the summary spaces them, each pronoun that would come before its name
    in this claim replaced by the name.
    """
    out = ""
    previous = -1
    named: list[object] = []
    fresh: list[object] = []
    for piece in pieces:
        if isinstance(piece, str):
            word, joined = piece, piece in ("'s", "'", ",")
            if resolution.missing is not None and piece == resolution.missing.text:
                named.append(resolution.missing)
            previous = -1
        else:
            token = tokens[piece]
            word = token.text
            if out and previous >= 0 and 1 < piece - previous < 4:
                # What was skipped is only a comma, an "and" or both: the list needs it.
                between = tokens[previous + 1 : piece]
                if between[0].text == "," and all(t.text == "," or t.dep_ == "cc" for t in between):
                    out += "," + "".join(f" {t.text}" for t in between[1:])
            joined = previous >= 0 and piece == previous + 1 and not tokens[previous].whitespace_
            replaced = resolution.replaced.get(piece)
            if piece in resolution.hidden and any(resolution.hidden[piece] is e for e in fresh):
                continue
            if replaced is not None:
                entity, text = replaced
                if not any(entity is e for e in named):
                    word = text
                    fresh.append(entity)
                named.append(entity)
            elif piece in resolution.named:
                named.append(resolution.named[piece])
            if piece == 0 and out and word == token.text and not _keeps_capital(tokens):
                word = token.lower_
            if token.lower_ == "'s" and token.pos_ in VERBS and previous != piece - 1:
                word = "is"
            joined = joined or (
                word != "is"
                and bool(out)
                and (word in _CLOSING or token.tag_ == "POS" or token.lower_ in _CLITICS or word[:1] == "'" == word)
            )
            previous = piece
        out += word if joined or not out or out[-1] in "([" else " " + word
    out = out.strip().removesuffix(" -").strip(" ,;:")
    return out[:1].upper() + out[1:]


_CLOSING = frozenset(",;:)]%.?!")
_CLITICS = frozenset("n't n’t 's ’s 're ’re 've ’ve 'll ’ll 'd ’d 'm ’m".split())


def _keeps_capital(tokens: Doc) -> bool:
    """Whether the first word of a sentence would have its capital anywhere."""
    first = tokens[0]
    return (
        is_name(first)
        or (first.ent_type_ and first.pos_ not in VERBS)
        or first.text == "I"
        or first.text[1:2].isupper()
    )


def well_formed(candidate: Candidate, tokens: Doc) -> bool:
    """Whether a candidate can be a statement: nothing dangles, and no word is torn from what it belongs to.

    A wrong reading of a sentence shows itself here: better no claim than one the summary does not make.
    """
    at = candidate.kept
    if candidate.kind == "sentence" or not at:
        return bool(at) or candidate.kind == "described-age"
    kept = set(at)
    quotes = sum(t.text in _QUOTES and t.tag_ != "POS" for t in tokens)
    if quotes % 2 == 0 and sum(tokens[i].text in _QUOTES and tokens[i].tag_ != "POS" for i in at) % 2:
        return False  # it begins or ends within a quotation
    last = tokens[at[-1]]
    if candidate.pieces[-1] == at[-1] and (last.lower_ in _DANGLING or last.pos_ in ("DET", "CCONJ")):
        return False
    if last.tag_ == "PRP$" or (candidate.pieces[-1] == at[-1] and _dangles(at, tokens)):
        return False
    verbs = joints = 0
    for i in at:
        token = tokens[i]
        if glued(tokens, i) and i - 1 not in kept and candidate.traits.get("age") is None:
            return False
        if i + 1 < len(tokens) and glued(tokens, i + 1) and i + 1 not in kept and candidate.traits.get("age") is None:
            return False
        if token.dep_ in _BELONG and not candidate.traits.get("loose") and not _there(token.head, kept):
            return False
        if any(child.dep_ in _NEED and not _there(child, kept) for child in token.children):
            return False
        if token.pos_ in VERBS and token.tag_ in ("VBZ", "VBD", "VBP", "MD") and token.dep_ not in ("aux", "auxpass"):
            verbs += 1
            joints += base_form(token) in REPORTING
        joints += token.dep_ in ("cc", "mark") or token.tag_ in ("WDT", "WP", "WRB", "WP$", ",", ":")
        joints += token.text in _QUOTES or token.dep_ == "nsubj"
    return verbs <= 1 + joints


def _there(token: Token, kept: set[int]) -> bool:
    """Whether a claim has a word, or one that "and" puts in its place."""
    return token.i in kept or any(other.i in kept for other in token.conjuncts)


def _dangles(at: Sequence[int], tokens: Doc) -> bool:
    """Whether the last word is an auxiliary without its verb: "Mount Etna is"."""
    last = tokens[at[-1]]
    return last.pos_ == "AUX" and (last.dep_ in ("aux", "auxpass") or any(c.i > last.i for c in last.children))
