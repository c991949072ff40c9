"""Looking ahead and back among the chunks of a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from claimwise_embedded.clauses_chunks import chunk
from claimwise_embedded.clauses_model import Clause, Part
from claimwise_embedded.clauses_phrases import Chunk
from claimwise_embedded.decomposer_tokens import Token, verb_forms


class Look:
    """The chunks of a sentence and what can be seen from a place among them."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.chunks = chunk(tokens)
        self.clauses: list[Clause] = []
        self.appositions: list[tuple[list[int], list[int]]] = []
        #: The attribution after what is reported ("..., police said"): all of the sentence stands under it.
        self.frame: list[int] = []
        #: Tokens joined by "or": none of the alternatives is told by itself.
        self.alternatives: set[int] = set()
        self._take_ages()

    def _take_ages(self) -> None:
        """Ages between commas (", 31 ,") are read first and taken out: they would break any clause."""
        kept: list[Chunk] = []
        i = 0
        while i < len(self.chunks):
            if self.age(i) and kept and kept[-1].kind in ("NP", "PP"):
                self.appositions.append((list(kept[-1].of or kept[-1].at), list(self.chunks[i + 1].at)))
                i += 3 if self.kind(i + 2) == "CM" else 2
                continue
            kept.append(self.chunks[i])
            i += 1
        self.chunks = kept

    def kind(self, i: int) -> str:
        """The kind of chunk i, or nothing beyond the ends."""
        return self.chunks[i].kind if 0 <= i < len(self.chunks) else ""

    def word(self, i: int) -> str:
        """The first word of chunk i."""
        return self.tokens[self.chunks[i].start].lower if 0 <= i < len(self.chunks) else ""

    def lemma(self, at: list[int]) -> str:
        """The base form of the last verb among some tokens."""
        for i in reversed(at):
            forms = verb_forms().get(self.tokens[i].lower)
            if forms:
                return forms[0]
        return ""

    def next_finite(self, i: int, end: int) -> int:
        """The next finite verb group before a mark, or -1."""
        for j in range(i, end):
            if self.chunks[j].kind == "VF":
                return j
            if self.chunks[j].kind in ("CM", "PU", "SB", "TH", "WH"):
                return -1
        return -1

    def next_mark(self, i: int, end: int) -> int:
        """The next comma or dash, or the end."""
        for j in range(i, end):
            if self.chunks[j].kind == "CM" or (self.chunks[j].kind == "PU" and self.word(j) in ("-", "--", "–", "—")):
                return j
        return end

    def age(self, i: int) -> bool:
        """Whether an age between commas (or between a comma and the end) starts at chunk i."""
        if self.kind(i) != "CM" or self.kind(i + 1) != "NP" or self.kind(i + 2) not in ("CM", "", "CC"):
            return False
        at = self.chunks[i + 1].at
        text = self.tokens[at[0]].lower
        return len(at) == 1 and text.isdigit() and int(text) < 120

    def span(self, i: int, j: int) -> list[int]:
        """The tokens of chunks i up to j."""
        return [t for c in self.chunks[i:j] for t in c.at]

    def parts(self, i: int, stop: int) -> list[Part]:
        """Chunks as parts."""
        return [Part(c.kind, list(c.at)) for c in self.chunks[i:stop]]

    def later_finite(self, i: int, end: int) -> bool:
        """Whether a finite verb of this same clause comes later."""
        depth = 0
        for j in range(i, end):
            k = self.chunks[j].kind
            if k in ("SB", "TH", "WH"):
                depth += 1
            elif k == "VF":
                if depth == 0:
                    prior = self.kind(j - 1)
                    return not (prior in ("PR",) or (prior == "CC"))
                depth -= 1
            elif k == "PU" or (k == "CM" and self.kind(j + 1) == "CC"):
                return False
        return False

    def next_verb_directly(self, i: int, end: int) -> bool:
        """Whether a finite verb comes next, past adverbs and prepositional phrases."""
        while i < end and self.kind(i) in ("RB", "PP"):
            i += 1
        return i < end and self.kind(i) in ("VF",)

    def singular(self, i: int) -> bool:
        """Whether the next verb is of one person alone: "United and Juventus striker Tevez has joined" is no list."""
        while self.kind(i) not in ("VF", ""):
            i += 1
        if not self.kind(i):
            return False
        first = next((self.tokens[t] for t in self.chunks[i].at if self.tokens[t].tag != "RB"), None)
        if first is None:
            return False
        forms = verb_forms().get(first.lower)
        return first.lower in ("is", "was", "has", "'s", "does") or (
            first.tag == "VZ" and forms is not None and first.lower == forms[1] != forms[0]
        )

    def bare(self, j: int) -> bool:
        """Whether chunk j is a base form alone."""
        at = self.chunks[j].at
        return (
            len(at) == 1
            and self.tokens[at[0]].lower in verb_forms()
            and (verb_forms()[self.tokens[at[0]].lower][0] == self.tokens[at[0]].lower)
        )

    def tags_of(self, at: list[int]) -> list[str]:
        """The tags of a verb group without its adverbs: of the same form, two verbs may share a subject."""
        return [self.tokens[t].tag for t in at if self.tokens[t].tag != "RB"]

    def disagrees(self, cur: Clause) -> bool:
        """Whether a base form stands after a singular subject: "a gallery pick" is no clause."""
        if cur.subject is None or cur.auxiliary or cur.subject.conjuncts or cur.subject.posts:
            return False
        verb = [t for t in cur.verb if self.tokens[t].tag != "RB"]
        forms = verb_forms().get(self.tokens[verb[0]].lower) if verb else None
        first = self.tokens[cur.subject.core[0]].lower
        return bool(
            forms
            and first in ("a", "an", "this", "another", "he", "she", "it")
            and self.tokens[verb[0]].lower == forms[0] != forms[2]
            and not any(self.tokens[t].tag in ("MD", "TO") for t in verb)
        )

    def past(self, j: int) -> bool:
        """Whether chunk j, one word read as a participle, is a past form too."""
        at = [t for t in self.chunks[j].at if self.tokens[t].tag != "RB"]
        lower = self.tokens[at[0]].lower if len(at) == 1 else ""
        return lower in verb_forms() and verb_forms()[lower][2] == lower

    def last_of(self, i: int) -> list[int]:
        """The last noun phrase before chunk i; empty where there is none."""
        for found in reversed(self.chunks[:i]):
            if found.kind in ("PP", "NP"):
                return found.of or found.at
        return []

    def listed(self, i: int, end: int) -> bool:
        """Whether the noun phrase at chunk i is followed by an "and" before the next verb."""
        for j in range(i + 1, end):
            if self.kind(j) == "CC":
                return True
            if self.kind(j) not in ("NP", "PP", "CM"):
                return False
        return False

    def index_of(self, token: int) -> int:
        """The place of the chunk that holds a token."""
        return next(k for k, c in enumerate(self.chunks) if token in c.at)

    def chunk_of(self, token: int) -> Chunk:
        """The chunk that holds a token."""
        return next(c for c in self.chunks if token in c.at)
