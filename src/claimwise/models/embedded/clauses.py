"""Clauses of a sentence: who did what, with which complements, each with its subject restored.

A shallow parse by one left-to-right pass over the chunks. It knows relative and participial clauses,
subordinate clauses, reported speech before and after what is reported, coordinated verbs, objects and
subjects, and appositions. What it cannot read it leaves whole: a clause then has one long complement, and the
claim is the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from claimwise.models.embedded.clauses_chunks import REPORTING, Chunk, chunk
from claimwise.models.embedded.decomposer_tokens import Token, verb_forms

#: Verbs of speech that also follow what is reported: "..., police said".
_SPEECH = REPORTING - frozenset("mean decide see notice remember wish show find".split())
#: Prepositions whose -ing form is asserted of the subject: "after moving to Scotland".
_ASSERTING = frozenset("after while since upon having".split())
#: After ", which" these speak of what happened, not of the noun before.
_OF_WHOLE_CLAUSES = frozenset("lead mean cause allow let make prompt leave bring result force".split())
_NON_FACTIVE = frozenset("if unless whether until till than as like".split())


@dataclass(slots=True)
class Part:
    """A subject, complement or adjunct: ``core`` tokens and what may be dropped after them (``posts``)."""

    kind: str
    core: list[int]
    posts: list[list[int]] = field(default_factory=list)
    #: Alternatives joined by "and" or "or" to the core, each with the tokens that lead into it.
    conjuncts: list[list[int]] = field(default_factory=list)
    conjunction: str = ""

    @property
    def all(self) -> list[int]:
        return sorted({*self.core, *(i for post in self.posts for i in post)})


@dataclass(slots=True)
class Clause:
    """Subject, verb group and the rest; token indices throughout, so that claims know where they come from.

    ``frame`` is the attribution a reported clause stands under ("Deen announced"): it is never dropped.
    """

    kind: str
    subject: Part | None = None
    verb: list[int] = field(default_factory=list)
    comps: list[Part] = field(default_factory=list)
    pre: list[list[int]] = field(default_factory=list)
    frame: list[int] = field(default_factory=list)
    reported: list[Clause] = field(default_factory=list)
    auxiliary: list[int] = field(default_factory=list)
    complementiser: list[int] = field(default_factory=list)
    subject_missing: bool = False
    #: The verb group that a participial clause hangs on: it gives the tense.
    governor: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Parse:
    """Clauses and appositions ((name tokens, description tokens) pairs) of a sentence."""

    tokens: Sequence[Token]
    clauses: list[Clause]
    appositions: list[tuple[list[int], list[int]]]


def parse(tokens: Sequence[Token]) -> Parse:
    """Read one tagged sentence.

    >>> from claimwise.models.embedded.decomposer_tokens import sentences
    >>> parsed = parse(next(sentences("David Gold , the chairman , said Reid was injured .")))
    >>> [(c.kind, [parsed.tokens[i].text for i in c.verb]) for c in parsed.clauses]
    [('main', ['said'])]
    >>> parsed.appositions
    [([0, 1], [3, 4])]
    """
    reader = _Reader(tokens)
    reader.read_all()
    return Parse(tokens, reader.clauses, reader.appositions)


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.chunks = chunk(tokens)
        self.clauses: list[Clause] = []
        self.appositions: list[tuple[list[int], list[int]]] = []
        #: The attribution after what is reported ("..., police said"): all of the sentence stands under it.
        self.frame: list[int] = []
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

    # -- looking ahead ---------------------------------------------------------------------------------

    def kind(self, i: int) -> str:
        return self.chunks[i].kind if 0 <= i < len(self.chunks) else ""

    def word(self, i: int) -> str:
        return self.tokens[self.chunks[i].start].lower if 0 <= i < len(self.chunks) else ""

    def lemma(self, at: list[int]) -> str:
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
        for j in range(i, end):
            if self.chunks[j].kind == "CM" or (self.chunks[j].kind == "PU" and self.word(j) in ("-", "--", "–", "—")):
                return j
        return end

    def age(self, i: int) -> bool:
        """Whether an age between commas (or between a comma and the end) starts at chunk i."""
        if self.kind(i) != "CM" or self.kind(i + 1) != "NP" or self.kind(i + 2) not in ("CM", "", "CC", "VF"):
            return False
        at = self.chunks[i + 1].at
        text = self.tokens[at[0]].lower
        return len(at) == 1 and text.isdigit() and int(text) < 120

    def span(self, i: int, j: int) -> list[int]:
        return [t for c in self.chunks[i:j] for t in c.at]

    # -- the sentence ----------------------------------------------------------------------------------

    def read_all(self) -> None:
        i, n = 0, len(self.chunks)
        subject: Part | None = None
        while i < n:
            if self.kind(i) in ("CC", "CM", "PU") and self.word(i) not in ("(",):
                i += 1
                continue
            before = len(self.clauses)
            i, subject = self.clause(i, n, subject, "main")
            if len(self.clauses) == before:
                i += 1
        for clause in self.clauses if self.frame else ():
            clause.frame = clause.frame or list(self.frame)

    def clause(
        self,
        i: int,
        end: int,
        inherited: Part | None,
        kind: str,
        *,
        stop_at_mark: bool = False,
        auxiliary: list[int] | None = None,
        frame: list[int] | None = None,
        sink: list[Clause] | None = None,
        complementiser: list[int] | None = None,
        at_verb: bool = False,
    ) -> tuple[int, Part | None]:
        """Read a clause from chunk i; returns the first chunk after it and its subject."""
        sink = self.clauses if sink is None else sink
        cur = Clause(
            kind, frame=list(frame or ()), auxiliary=list(auxiliary or ()), complementiser=list(complementiser or ())
        )
        if at_verb:
            cur.subject = inherited
        started = i
        # 1. up to the verb
        while i < end and not cur.verb:
            k = self.kind(i)
            c = self.chunks[i]
            if k == "VF":
                if cur.subject is None and cur.pre and self.kind(i - 1) == "PP":
                    cur.subject = Part("NP", cur.pre.pop())  # "On average ships take ...": misread, kept whole
                cur.verb = list(c.at)
                i += 1
                break
            if k in ("NP", "PR"):
                if cur.subject is None:
                    i = self.noun_phrase(i, end, cur, inherited)
                    continue
                if stop_at_mark and self.kind(i - 1) == "CM":
                    break
                # two noun phrases in a row: "last week he", or a name list
                cur.pre.append(cur.subject.all)
                cur.subject = None
                continue
            if k in ("PP", "RB", "PG", "VI", "TM"):
                if k == "TM" and cur.subject is None and self.kind(i + 1) == "VF":
                    cur.subject = Part("NP", list(c.at))
                    i += 1
                    continue
                if cur.subject is None or (k == "RB" and self.kind(i + 1) == "VF"):
                    cur.pre.append(list(c.at))
                elif k == "VI" and self.next_finite(i + 1, end) < 0:
                    cur.verb = list(c.at)  # headline: "Man to stand trial"
                    i += 1
                    break
                else:
                    cur.subject.posts.append(list(c.at))
                i += 1
                continue
            if k == "SB" and cur.subject is None:
                mark = self.next_mark(i, end)
                if mark >= end:
                    mark = end
                self.subordinate(i, mark, cur.subject or inherited, cur.frame, sink)
                cur.pre.append(self.span(i, mark))
                i = mark + 1
                continue
            if k == "SB" and cur.subject is not None:
                break
            if k == "WH" and cur.subject is None and not cur.pre:
                sink.append(Clause("fragment", comps=[Part("XX", self.span(i, end))], frame=cur.frame))
                return end, inherited
            if k == "WH" and cur.subject is not None:
                i = self.relative(i, end, cur.subject, sink, cur.frame, opened=self.kind(i - 1) == "CM")
                continue
            if k in ("VG", "VN"):
                if (
                    cur.subject is None
                    and self.next_mark(i, end) < end
                    and self.next_finite(self.next_mark(i, end) + 1, end) >= 0
                ):
                    mark = self.next_mark(i, end)
                    cur.pre.append(self.span(i, mark))
                    i = mark + 1
                    continue
                if self.later_finite(i + 1, end) and cur.subject is not None and not cur.auxiliary:
                    i = self.reduced(i, end, cur.subject, sink, cur.frame)
                    continue
                cur.verb = list(c.at)
                i += 1
                break
            if k == "QT":
                if cur.subject is None:
                    return self.quotation(i, end, cur, inherited, sink)
                cur.subject.posts.append(list(c.at))
                i += 1
                continue
            if k == "CM":
                if stop_at_mark and cur.subject is not None:
                    break
                if cur.subject is not None and self.kind(i + 1) in ("NP", "PR", "RB", "WH", "VN", "VG", "PP"):
                    moved = self.after_subject_comma(i, end, cur, sink)
                    if moved:
                        i = moved
                        continue
                i += 1
                continue
            if k == "CC":
                i += 1
                continue
            if k == "PU":
                if self.word(i) == "(":
                    close = i
                    while close < end and self.word(close) != ")":
                        close += 1
                    inside = self.span(i, min(close + 1, end))
                    if cur.subject is not None:
                        cur.subject.posts.append(inside)
                    i = close + 1
                    continue
                if self.word(i) == ":" and cur.subject is not None:
                    # "Speaker: words": one claim, as it stands
                    cur.verb = [c.start]
                    cur.comps.append(Part("QT", self.span(i + 1, end)))
                    sink.append(cur)
                    return end, cur.subject
                if cur.subject is None:
                    i += 1
                    continue
                break
            i += 1
        if not cur.verb:
            if cur.subject is not None or cur.pre:
                whole = self.span(started, i)
                sink.append(Clause("fragment", comps=[Part("XX", whole)], frame=cur.frame))
            return max(i, started + 1), inherited
        if cur.subject is None:
            cur.subject = inherited
            cur.subject_missing = True
        # 2. after the verb
        i = self.complements(i, end, cur, sink, stop_at_mark)
        sink.append(cur)
        return i, cur.subject if cur.subject is not None else inherited

    def later_finite(self, i: int, end: int) -> bool:
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
            elif k == "PU":
                return False
        return False

    def noun_phrase(self, i: int, end: int, cur: Clause, inherited: Part | None) -> int:
        """The subject that starts at chunk i, with its "and" conjuncts."""
        part = Part(self.kind(i), list(self.chunks[i].at))
        cur.subject = part
        i += 1
        # "A, B and C" before the verb
        j, joined = i, []
        while j + 1 < end and self.kind(j) in ("CM", "CC") and self.kind(j + 1) in ("NP", "PR"):
            joined.append(list(self.chunks[j + 1].at))
            last_cc = self.kind(j) == "CC"
            j += 2
            if last_cc:
                after = self.next_verb_directly(j, end)
                if after and self.tokens[self.chunks[j - 2].start].lower in ("and", "&"):
                    if self.tokens[part.core[0]].lower in ("both", "either") and len(part.core) > 1:
                        part.core = part.core[1:]
                    part.conjuncts = [part.core, *joined]
                    part.core = self.span(i - 1, j)
                    part.conjunction = "and"
                    return j
                break
        return i

    def next_verb_directly(self, i: int, end: int) -> bool:
        while i < end and self.kind(i) in ("RB", "PP"):
            i += 1
        return i < end and self.kind(i) in ("VF",)

    def after_subject_comma(self, i: int, end: int, cur: Clause, sink: list[Clause]) -> int:
        """An apposition, age or aside between commas after the subject; 0 where there is none."""
        if self.kind(i + 1) == "WH":
            return self.relative(i + 1, end, cur.subject, sink, cur.frame, opened=True)
        mark = self.next_mark(i + 1, end)
        if mark >= end or self.chunks[mark].kind != "CM":
            return 0
        inside = self.chunks[i + 1 : mark]
        if any(c.kind in ("VF", "SB", "TH") for c in inside):
            return 0
        if inside[0].kind in ("NP",) and all(c.kind in ("NP", "PP", "RB", "CC", "VN", "VG") for c in inside):
            self.appositions.append((list(cur.subject.core), self.span(i + 1, mark)))
        elif inside[0].kind == "PP" and self.word(i + 1) in ("of", "from") and len(inside) == 1:
            cur.subject.posts.insert(0, self.span(i + 1, mark))
        elif inside[0].kind in ("VN", "VG"):
            sink.append(
                Clause(
                    "participial",
                    subject=self.core(cur.subject),
                    verb=list(inside[0].at),
                    comps=[Part("XX", self.span(i + 2, mark))] if mark > i + 2 else [],
                    frame=cur.frame,
                )
            )
        cur.subject.posts.append(self.span(i, mark + 1))
        return mark + 1

    @staticmethod
    def core(part: Part) -> Part:
        return Part(part.kind, list(part.core), conjuncts=part.conjuncts, conjunction=part.conjunction)

    # -- modifiers -------------------------------------------------------------------------------------

    def relative(self, i: int, end: int, host: Part, sink: list[Clause], frame: list[int], *, opened: bool) -> int:
        """A relative clause from its pronoun; the host of it becomes its subject where it has none."""
        j = i + 1
        stop = self.relative_end(j, end, opened)
        block = self.span(i, stop)
        pronoun = self.word(i)
        while j < stop and self.kind(j) == "RB":
            j += 1
        verb = self.kind(j) == "VF" and self.chunks[j].at
        whole = (
            pronoun == "which"
            and opened
            and verb
            and (self.lemma(verb) in _OF_WHOLE_CLAUSES or any(self.tokens[t].tag == "CD" for t in host.core))
        )
        if pronoun in ("who", "which", "that") and verb and not whole:
            self.clause(j, stop, self.core(host), "relative", sink=sink, frame=frame, at_verb=True)
        lead = [self.chunks[i - 1].start] if opened and self.kind(i - 1) == "CM" else []
        close = [self.chunks[stop].start] if opened and stop < end and self.kind(stop) == "CM" else []
        host.posts.append([*lead, *block, *close])
        return stop + (1 if close else 0)

    def relative_end(self, i: int, end: int, opened: bool) -> int:
        seen = False
        for j in range(i, end):
            k = self.chunks[j].kind
            if k == "VF":
                if seen and self.kind(j - 1) not in ("CC", "TH", "SB", "WH", "PR"):
                    return j
                seen = True
            elif k in ("SB", "TH") and seen:
                return end if not opened else self.next_mark(j, end)
            elif (k == "CM" and (seen or opened)) or k == "PU":
                return j
        return end

    def reduced(self, i: int, end: int, host: Part, sink: list[Clause], frame: list[int]) -> int:
        """A participle that modifies the subject: "a man accused of murder has been jailed"."""
        stop = i + 1
        while stop < end and self.kind(stop) not in ("VF", "CM", "PU", "WH"):
            stop += 1
        sink.append(
            Clause(
                "participial",
                subject=self.core(host),
                verb=list(self.chunks[i].at),
                comps=self.parts(i + 1, stop),
                frame=frame,
            )
        )
        host.posts.append(self.span(i, stop))
        return stop

    def parts(self, i: int, stop: int) -> list[Part]:
        return [Part(c.kind, list(c.at)) for c in self.chunks[i:stop]]

    def subordinate(self, i: int, end: int, subject: Part | None, frame: list[int], sink: list[Clause]) -> None:
        """The clause under a subordinator becomes a claim of its own where the subordinator asserts it."""
        if self.word(i) in _NON_FACTIVE or self.kind(i + 1) in ("VN", "VG", "VI"):
            return
        inner: list[Clause] = []
        self.clause(i + 1, end, subject, "subordinate", sink=inner, frame=frame)
        sink.extend(c for c in inner if c.kind != "fragment" and not c.subject_missing)

    def quotation(
        self, i: int, end: int, cur: Clause, inherited: Part | None, sink: list[Clause]
    ) -> tuple[int, Part | None]:
        """A quotation, with the speaker after it where there is one."""
        quote = list(self.chunks[i].at)
        j = i + 1
        while self.kind(j) in ("CM",):
            j += 1
        if (
            j + 1 < end + 1
            and self.kind(j) in ("NP", "PR")
            and self.kind(j + 1) == "VF"
            and (self.lemma(self.chunks[j + 1].at) in _SPEECH)
        ):
            cur.subject = Part(self.kind(j), list(self.chunks[j].at))
            cur.verb = list(self.chunks[j + 1].at)
            cur.comps.append(Part("QT", quote))
            j = self.complements(j + 2, end, cur, sink, False)
            sink.append(cur)
            return j, cur.subject
        sink.append(Clause("fragment", comps=[Part("XX", quote)], frame=cur.frame))
        return i + 1, inherited

    # -- after the verb --------------------------------------------------------------------------------

    def complements(self, i: int, end: int, cur: Clause, sink: list[Clause], stop_at_mark: bool) -> int:
        lemma = self.lemma(cur.verb)
        while i < end:
            k, c = self.kind(i), self.chunks[i]
            last = cur.comps[-1] if cur.comps else None
            if k == "TH" or (
                k == "WH" and self.word(i) == "that" and self.kind(i + 1) in ("NP", "PR") and lemma in REPORTING
            ):
                if lemma in REPORTING or last is None or last.kind in ("NP", "PR", "XX"):
                    return self.report(i + 1, end, cur, list(c.at), stop_at_mark)
                i += 1
                continue
            if k in ("NP", "PR") and self.reports(i, end, lemma, last):
                return self.report(i, end, cur, [], stop_at_mark)
            if k in ("NP", "PR", "PP") and self.kind(i + 1) in ("VF",) and k != "PP" and last is not None:
                # a subject and a verb with nothing between: an object relative ("the job he is doing")
                stop = i + 2
                while stop < end and self.kind(stop) not in ("CM", "CC", "PU", "VF", "WH"):
                    stop += 1
                last.posts.append(self.span(i, stop))
                i = stop
                continue
            if k == "SB":
                stop = end if not stop_at_mark else self.next_mark(i, end)
                mark = self.next_mark(i, stop)
                if mark < stop and self.kind(mark + 1) in ("SB", "VG", "CC", "WH"):
                    stop = mark
                self.subordinate(i, stop, cur.subject, cur.frame, sink)
                cur.comps.append(Part("SB", self.span(i, stop)))
                i = stop
                continue
            if k == "WH":
                if (
                    last is not None
                    and last.kind in ("NP", "PP", "PR")
                    and self.word(i) in ("who", "which", "that", "whose", "where", "whom")
                ):
                    host = last if last.kind != "PP" else Part("NP", list(self.last_of(i)))
                    stop = self.relative(i, end, host, sink, cur.frame, opened=self.kind(i - 1) == "CM")
                    if host is not last:
                        last.posts.extend(host.posts)
                    i = stop
                    continue
                cur.comps.append(Part("WH", self.span(i, end)))
                return end
            if k == "CC":
                moved = self.coordination(i, end, cur, sink, stop_at_mark)
                if moved:
                    return moved if moved > 0 else -moved
                i = self.joined(i, end, cur)
                continue
            if k == "CM":
                if stop_at_mark:
                    return i
                moved = self.after_comma(i, end, cur, sink)
                if moved < 0:
                    return -moved
                i = moved
                continue
            if k == "PU":
                if self.word(i) == "(":
                    close = i
                    while close < end and self.word(close) != ")":
                        close += 1
                    (last.posts if last else cur.pre).append(self.span(i, min(close + 1, end)))
                    i = close + 1
                    continue
                if self.word(i) == ":":
                    cur.comps.append(Part("QT", self.span(i, end)))
                    return end
                return i + 1
            if k == "VF" and last is not None:
                # a second finite verb with no subject: what came before was read wrongly; keep it whole
                stop = self.next_mark(i, end)
                cur.comps.append(Part("XX", self.span(i, stop)))
                i = stop
                continue
            if k in ("VG", "VN") and last is not None and last.kind in ("NP", "PP", "PR"):
                stop = i + 1
                while stop < end and self.kind(stop) not in ("CM", "PU", "CC", "VF", "WH", "SB"):
                    stop += 1
                cur.comps.append(Part(k, self.span(i, stop)))
                self.describe(i, stop, cur, sink)
                i = stop
                continue
            if k == "PG" and self.word(i) in _ASSERTING and cur.subject is not None:
                stop = i + 1
                while stop < end and self.kind(stop) in ("NP", "PR", "PP", "RB", "TM", "VI"):
                    stop += 1
                verb = [t for t in c.at if self.tokens[t].tag in ("VG", "VN", "BN", "VD")]
                if verb and not any(self.tokens[t].tag == "NG" for t in c.at):
                    gerund = Clause(
                        "gerund",
                        subject=cur.subject,
                        verb=c.at[c.at.index(verb[0]) :],
                        frame=cur.frame,
                        complementiser=cur.complementiser,
                        governor=[*cur.auxiliary, *cur.verb],
                    )
                    gerund.comps = self.parts(i + 1, stop)
                    sink.append(gerund)
                cur.comps.append(Part(k, self.span(i, stop) if self.kind(i + 1) not in ("PP",) else list(c.at)))
                if self.kind(i + 1) not in ("PP",):
                    i = stop
                    continue
                i += 1
                continue
            cur.comps.append(Part(k, list(c.at)))
            i += 1
        return i

    def describe(self, i: int, stop: int, cur: Clause, sink: list[Clause]) -> None:
        """A participle right after a noun says something of it: "eight men convicted of ..."."""
        host = self.last_of(i)
        first = self.tokens[host[0]]
        if self.kind(i - 1) not in ("NP", "PP") or host[-1] + 1 != self.chunks[i].start:
            return
        if (
            self.kind(i) == "VN"
            and cur.kind != "reported"
            and first.tag != "PR"
            and self.lemma(cur.verb)
            not in (
                "have",
                "get",
                "see",
                "want",
                "keep",
                "leave",
                "need",
            )
        ):
            sink.append(
                Clause(
                    "participial",
                    subject=Part("NP", list(host)),
                    verb=list(self.chunks[i].at),
                    comps=self.parts(i + 1, stop),
                    frame=cur.frame,
                )
            )

    def last_of(self, i: int) -> list[int]:
        j = i - 1
        while j >= 0 and self.kind(j) not in ("PP", "NP"):
            j -= 1
        return self.chunks[j].of or self.chunks[j].at

    def reports(self, i: int, end: int, lemma: str, last: Part | None) -> bool:
        """Whether a clause without "that" starts here: a reporting verb, a subject, a finite verb."""
        if lemma not in REPORTING or (
            last is not None and not (lemma in ("tell", "warn", "promise") and len([0]) == 1)
        ):
            return False
        j = i + 1
        while j < end and self.kind(j) in ("PP", "RB", "NP", "CC", "PR", "VN"):
            j += 1
        return j < end and self.kind(j) == "VF"

    def report(self, i: int, end: int, cur: Clause, that: list[int], stop_at_mark: bool) -> int:
        """What a reporting verb reports, clause by clause, under the attribution."""
        frame = [*cur.frame, *(cur.complementiser or ()), -1]
        inner: list[Clause] = []
        stop = self.attribution_end(i, end)
        at, subject = i, None
        while at < stop:
            if self.kind(at) in ("CC", "CM", "PU"):
                at += 1
                continue
            before = at
            at, subject = self.clause(at, stop, subject, "reported", sink=inner, complementiser=that)
            at = max(at, before + 1)
        cur.reported = [c for c in inner if c.kind != "fragment" or len(inner) == 1]
        cur.comps.append(Part("TH", [*that, *self.span(i, stop)]))
        del frame
        return stop

    def attribution_end(self, i: int, end: int) -> int:
        """A report goes on to a dash or to the end of the sentence."""
        for j in range(i, end):
            if self.chunks[j].kind == "PU" and self.word(j) in ("-", "--", "–", "—", ":"):
                return j
        return end

    def coordination(self, i: int, end: int, cur: Clause, sink: list[Clause], stop_at_mark: bool) -> int:
        """ "and" before another verb or another clause; 0 where it joins smaller things."""
        j = i + 1
        while j < end and self.kind(j) == "RB":
            j += 1
        if self.kind(j) == "VF":
            base = self.tokens[self.chunks[j].at[-1]]
            modal = self.shared_auxiliary(cur, "VB") if base.tag == "VB" or self.bare(j) else []
            infinitive = next((p for p in range(len(cur.comps) - 1, -1, -1) if cur.comps[p].kind == "VI"), -1)
            if infinitive >= 0 and base.tag == "VB" and len(self.chunks[j].at) == 1:
                to = [t for t in cur.comps[infinitive].core if self.tokens[t].tag == "TO"][:1]
                modal = [*cur.auxiliary, *cur.verb, *(t for p in cur.comps[:infinitive] for t in p.core), *to]
            after, _ = self.clause(
                j,
                end,
                cur.subject,
                cur.kind,
                sink=sink,
                frame=cur.frame,
                at_verb=True,
                auxiliary=modal,
                stop_at_mark=stop_at_mark,
                complementiser=cur.complementiser,
            )
            return after
        if self.kind(j) in ("VN", "VG"):
            shared = self.shared_auxiliary(cur, self.kind(j))
            if shared:
                after, _ = self.clause(
                    j,
                    end,
                    cur.subject,
                    cur.kind,
                    sink=sink,
                    frame=cur.frame,
                    at_verb=True,
                    auxiliary=shared,
                    stop_at_mark=stop_at_mark,
                    complementiser=cur.complementiser,
                )
                return after
        if self.kind(j) == "NP" and self.kind(j + 1) == "CM" and self.kind(i - 1) == "CM":
            close = self.next_mark(j + 2, end)
            if close < end and self.kind(close + 1) == "VF":  # "and Nadia, who has a cough, is staying"
                after, _ = self.clause(
                    j, end, cur.subject, cur.kind, sink=sink, frame=cur.frame, complementiser=cur.complementiser
                )
                return after
        if self.kind(j) in ("NP", "PR") or (self.kind(j) in ("PP", "SB") and self.kind(i - 1) == "CM"):
            finite = self.next_finite(j, end)
            if finite >= 0 and not any(self.kind(m) == "CC" for m in range(j, finite)):
                after, _ = self.clause(
                    j,
                    end,
                    cur.subject,
                    cur.kind,
                    sink=sink,
                    frame=cur.frame,
                    stop_at_mark=stop_at_mark,
                    complementiser=cur.complementiser,
                )
                return after
        return 0

    def bare(self, j: int) -> bool:
        at = self.chunks[j].at
        return (
            len(at) == 1
            and self.tokens[at[0]].lower in verb_forms()
            and (verb_forms()[self.tokens[at[0]].lower][0] == self.tokens[at[0]].lower)
        )

    def shared_auxiliary(self, cur: Clause, form: str) -> list[int]:
        """The auxiliaries of the first verb that the second one shares: "will release ... and reissue"."""
        verb = cur.auxiliary + cur.verb
        if form == "VB":
            for p, i in enumerate(verb):
                if self.tokens[i].tag in ("MD", "DO", "TO"):
                    return [v for v in verb[: p + 1]]
            return []
        aux = [i for i in verb if self.tokens[i].tag in ("MD", "BE", "BB", "BN", "HV", "NG")]
        main = self.tokens[verb[-1]].tag if verb else ""
        if aux and (main == form or (form == "VN" and main in ("VN", "VD"))):
            return aux
        return []

    def joined(self, i: int, end: int, cur: Clause) -> int:
        """ "and" between objects or prepositional phrases."""
        nxt = self.kind(i + 1)
        last = cur.comps[-1] if cur.comps else None
        if last is None or i + 1 >= end or nxt not in ("NP", "PR", "PP", "RB", "VI", "VG", "PG", "VN"):
            return i + 1
        new = list(self.chunks[i + 1].at)
        after = i + 2
        while nxt == "NP" and after < end and self.kind(after) == "PP" and self.word(after) == "of":
            new.extend(self.chunks[after].at)
            after += 1
        lead = [self.chunks[i].start]
        if not last.conjuncts and last.posts and nxt == "NP":
            first = last.all
        else:
            first = last.core
        if not last.conjuncts:
            last.conjuncts = [first]
        if last.kind == "PP" and nxt == "NP":
            prep = [t for t in last.conjuncts[0] if t not in (self.chunk_of(last.conjuncts[0][0]).of or ())]
            prep = prep[: max(1, len(prep))] if prep and prep[0] == last.conjuncts[0][0] else []
            last.conjuncts.append([*prep, *new])
        else:
            last.conjuncts.append(new)
        last.conjunction = self.word(i)
        last.core = sorted({*last.all, *lead, *new})
        last.posts = []
        return after

    def chunk_of(self, token: int) -> Chunk:
        return next(c for c in self.chunks if token in c.at)

    def after_comma(self, i: int, end: int, cur: Clause, sink: list[Clause]) -> int:
        """What follows a comma after the verb; negative where the clause ends."""
        nxt = self.kind(i + 1)
        last = cur.comps[-1] if cur.comps else None
        # "..., police said"
        j = i + 1
        if nxt in ("NP", "PR"):
            while j < end and self.kind(j) in ("NP", "PR", "PP", "CC"):
                j += 1
            if (
                self.kind(j) == "VF"
                and self.lemma(self.chunks[j].at) in _SPEECH
                and (j + 1 >= end or all(self.kind(m) in ("PP", "RB", "NP") for m in range(j + 1, end)))
                and cur.kind == "main"
            ):
                self.frame = self.span(i + 1, min(j + 1, end))
                return -end
            if self.kind(j) == "VF":
                after, _ = self.clause(
                    i + 1, end, cur.subject, cur.kind, sink=sink, frame=cur.frame, complementiser=cur.complementiser
                )
                return -after
        if nxt == "NP" and last is not None:
            # a list ("a, b and c") or an apposition
            m, items = i, []
            while m + 1 < end and self.kind(m) in ("CM", "CC") and self.kind(m + 1) in ("NP", "PP"):
                items.append(m + 1)
                if self.kind(m) == "CC":
                    break
                m += 2
                while m < end and self.kind(m) == "PP" and self.word(m) == "of":
                    m += 1
            if items and self.kind(items[-1] - 1) == "CC":
                at = i
                for item in items:
                    at = self.joined(item - 1, end, cur)
                    while at < items[-1] and self.kind(at) not in ("CM", "CC"):
                        at += 1
                return at
            if last.kind in ("NP", "PP"):
                host = self.last_of(i)
                stop = self.next_mark(i + 1, end)
                inside = self.chunks[i + 1 : stop]
                if all(c.kind in ("NP", "PP", "RB", "VN", "VG", "VI") for c in inside):
                    self.appositions.append((list(host), self.span(i + 1, stop)))
                    last.posts.append(self.span(i, stop))
                    return stop
            return i + 1
        if nxt == "VG":
            stop = end
            part = Clause(
                "participial",
                subject=cur.subject,
                verb=list(self.chunks[i + 1].at),
                frame=cur.frame,
                complementiser=cur.complementiser,
            )
            at = self.complements(i + 2, end, part, sink, False)
            sink.append(part)
            return -max(at, i + 2) if at < stop else -stop
        if nxt == "WH" and last is not None and last.kind in ("NP", "PP", "PR"):
            return i + 1
        listed = any(self.kind(m) == "CC" and self.kind(m + 1) in ("VF", "VN", "RB") for m in range(i + 2, end))
        if nxt == "VF" and listed:
            after, _ = self.clause(
                i + 1,
                end,
                cur.subject,
                cur.kind,
                sink=sink,
                frame=cur.frame,
                at_verb=True,
                complementiser=cur.complementiser,
            )
            return -after
        return i + 1


def clone(part: Part, core: list[int]) -> Part:
    """The same part with another core."""
    return replace(part, core=core, posts=[], conjuncts=[])
