"""A candidate claim and how it is written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from claimwise_embedded.clauses_model import Part
from claimwise_embedded.clauses_tags import FINITE, REPORTING, SUBORDINATORS
from claimwise_embedded.decomposer_references import Resolution
from claimwise_embedded.decomposer_tokens import Token, is_common_noun, verb_forms

Piece = int | str


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


def write(pieces: Sequence[Piece], tokens: Sequence[Token], resolution: Resolution) -> str:
    """The text of a candidate: words as the summary spaces them, each pronoun that would come before its name
    in this claim replaced by the name.
    """
    out = ""
    previous = -1
    named: list[object] = []
    fresh: list[object] = []
    for piece in pieces:
        if isinstance(piece, str):
            word, glued = piece, False
            if resolution.missing is not None and piece == resolution.missing.text:
                named.append(resolution.missing)
            previous = -1
        else:
            word = tokens[piece].text
            if out and previous >= 0 and 1 < piece - previous < 4:
                # what was skipped is only a comma, an "and" or both: the list needs it
                between = tokens[previous + 1 : piece]
                if between[0].text == "," and all(t.text == "," or t.tag == "CC" for t in between):
                    out += "," + "".join(f" {t.text}" for t in between[1:])
            glued = previous >= 0 and tokens[previous].end == tokens[piece].start and piece == previous + 1
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
            if piece == 0 and out and word == tokens[0].text and _is_common(tokens, resolution):
                word = tokens[0].lower
            if tokens[piece].tag == "BE" and tokens[piece].lower == "'s" and previous != piece - 1:
                word = "is"
            beside = piece > 0 and tokens[piece - 1].end == tokens[piece].start
            if (
                not glued
                and word != "is"
                and (
                    word in _CLOSING
                    or (tokens[piece].tag == "PO" and (beside or word[1:] == "s"))
                    or tokens[piece].lower in _CLITICS
                )
            ):
                glued = bool(out)
            previous = piece
        out += word if glued or not out else " " + word
    out = out.strip().removesuffix(" -").strip(" ,;:")
    return out[:1].upper() + out[1:]


def well_formed(candidate: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a candidate can be a statement: nothing dangles, and no two verbs stand side by side unjoined.

    A wrong reading of a sentence shows itself here: better no claim than one the summary does not make.
    """
    at = candidate.kept
    if candidate.kind in ("sentence", "fragment") or not at:
        return bool(at) or candidate.kind == "described-age"
    kept = set(at)
    quotes = sum(t.text in _QUOTES for t in tokens)
    if quotes % 2 == 0 and sum(tokens[i].text in _QUOTES for i in at) % 2:
        return False  # it begins or ends within a quotation
    last = tokens[at[-1]]
    cut = at[-1] + 1 < len(tokens) and tokens[at[-1] + 1].tag not in ("CM", "PU", "CC")
    if (cut and last.lower in _DANGLING) or last.tag in ("DT", "PS", "CC"):
        return False
    if candidate.pieces[-1] == at[-1] and _object_follows(at[-1], tokens):
        return False
    if candidate.pieces[0] == at[0] and tokens[at[0]].lower in ("of", "than") and at[0] > 0:
        return False
    verbs = joints = 0
    for i in at:
        token = tokens[i]
        if token.tag == "DT" and token.lower in ("a", "an", "the") and i + 1 not in kept:
            return False
        if i and i - 1 not in kept and tokens[i - 1].lower in _REVERSING:
            return False
        if token.lower in _BOUND and i and i - 1 not in kept:
            return False
        if token.tag in FINITE and not (i - 1 in kept and tokens[i - 1].tag in (*FINITE, "NG", "RB")):
            verbs += 1
            forms = verb_forms().get(token.lower)
            joints += bool(forms and forms[0] in REPORTING)
        joints += token.tag in ("CC", "WH", "CM", "PU", "Q") or token.lower in SUBORDINATORS or token.lower == "that"
        joints += token.tag == "PR" and token.lower in ("he", "she", "they", "we", "i", "it", "you")
    return verbs <= 1 + joints


def _object_follows(i: int, tokens: Sequence[Token]) -> bool:
    """Whether a statement that ends at token i leaves out an object: "rather sell it than keep" (it)."""
    if i + 1 >= len(tokens):
        return False
    here, after = tokens[i], tokens[i + 1]
    if after.lower in ("it", "him", "them", "me", "us"):
        return True
    if here.tag not in ("VB", "VZ", "VD", "VN", "VG"):
        return False
    if after.tag in ("DT", "PS", "CD", "X"):
        return after.lower not in _TIME_WORDS
    return (after.tag == "WH" and after.lower not in ("when", "where")) or (after.tag == "IN" and after.lower == "that")


_TIME_WORDS = frozenset(
    "last next this that every each one earlier later today yesterday tomorrow tonight monday tuesday wednesday "
    "thursday friday saturday sunday a an all".split()
)
_QUOTES = frozenset("' ‘ ’ \" “ ” `` ''".split())
_DANGLING = frozenset("only even just not than as more very too so such most less".split())
#: Words that turn round what follows them.
_REVERSING = frozenset("not never nor except without".split())
#: Words that mean nothing without the word before them.
_BOUND = frozenset("of than".split())


def _is_common(tokens: Sequence[Token], resolution: Resolution) -> bool:
    """Whether the first word of a sentence has its capital only from standing there."""
    first = tokens[0]
    if first.tag in ("DT", "PS", "PR", "IN", "RB", "WH") and first.lower != "i":
        return True
    return (
        0 not in resolution.named
        and not first.text[1:2].isupper()
        and (first.tag != "X" or is_common_noun(first.lower))
        and first.lower != "i"
    )


_CLOSING = frozenset(",;:)%")


_CLITICS = frozenset("n't 's 're 've 'll 'd 'm".split())


def plural(part: Part, tokens: Sequence[Token]) -> bool:
    """Whether a subject takes a plural verb; a name does not."""
    head = tokens[part.core[-1]]
    common = part.core[-1] == 0 and (is_common_noun(head.lower) or is_common_noun(head.lower.removesuffix("s")))
    if head.text[:1].isupper() and not part.conjuncts and not common:
        return False
    last = tokens[part.core[-1]].lower
    return (
        bool(part.conjuncts)
        or last in ("people", "men", "women", "police", "children", "they", "we", "you")
        or (last.endswith("s") and not last.endswith(("ss", "us", "is")))
    )
