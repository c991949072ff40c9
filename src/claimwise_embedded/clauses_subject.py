"""What stands before a verb: subjects with their conjuncts, asides and relative clauses."""

from __future__ import annotations

from claimwise_embedded.clauses_look import Look
from claimwise_embedded.clauses_model import Clause, Part
from claimwise_embedded.clauses_tags import REPORTING

#: Verbs of speech that also follow what is reported: "..., police said".
SPEECH = REPORTING - frozenset("mean decide see notice remember wish show find".split())


#: After ", which" these speak of what happened, not of the noun before.
_OF_WHOLE_CLAUSES = frozenset("lead mean cause allow let make prompt leave bring result force".split())


_NON_FACTIVE = frozenset("before so provided if unless whether until till than as like".split())


class BeforeVerb(Look):
    """Subjects, and the relative, participial and subordinate clauses that hang on them."""

    def noun_phrase(self, i: int, end: int, cur: Clause) -> int:
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
                if after and self.tokens[self.chunks[j - 2].start].lower in ("and", "&") and not self.singular(j):
                    if self.tokens[part.core[0]].lower in ("both", "either") and len(part.core) > 1:
                        part.core = part.core[1:]
                    part.conjuncts = [part.core, *joined]
                    part.core = self.span(i - 1, j)
                    return j
                break
        return i

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
        """A part without what may be dropped."""
        return Part(part.kind, list(part.core), conjuncts=part.conjuncts)

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
        """Where the relative clause that starts at chunk i ends."""
        seen = False
        for j in range(i, end):
            k = self.chunks[j].kind
            if k == "VF":
                if seen and self.kind(j - 1) not in ("CC", "TH", "SB", "WH", "PR"):
                    return j
                seen = True
            elif k == "VN" and seen and self.kind(j + 1) in ("NP", "PR") and not self.later_finite(j + 1, end):
                return j  # "schools that used tutoring outscored others"
            elif k == "VN" and seen and self.kind(j + 1) == "TH" and self.past(j):
                self.chunks[j].kind = "VF"
                return j  # "those who looked found that ..."
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
        if self.tokens[self.chunks[i].start].tag != "RB":
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

    def subordinate(self, i: int, end: int, subject: Part | None, frame: list[int], sink: list[Clause]) -> None:
        """The clause under a subordinator becomes a claim of its own where the subordinator asserts it."""
        if self.word(i) in _NON_FACTIVE or self.kind(i + 1) in ("VN", "VG", "VI"):
            return
        inner: list[Clause] = []
        self.clause(i + 1, end, subject, "subordinate", sink=inner, frame=frame)
        sink.extend(c for c in inner if c.kind != "fragment" and not c.subject_missing)

    def speaks(self, i: int, end: int) -> bool:
        """Whether "police said" starts at chunk i, with nothing after it but a detail or an aside."""
        if self.kind(i) not in ("NP", "PR"):
            return False
        while i < end and self.kind(i) in ("NP", "PR", "PP", "CC"):
            i += 1
        return (
            self.kind(i) == "VF"
            and self.lemma(self.chunks[i].at) in SPEECH
            and (
                i + 1 >= end
                or self.kind(i + 1) == "CM"
                or all(self.kind(m) in ("PP", "RB", "NP") for m in range(i + 1, end))
            )
        )

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
            and (self.lemma(self.chunks[j + 1].at) in SPEECH)
        ):
            cur.subject = Part(self.kind(j), list(self.chunks[j].at))
            cur.verb = list(self.chunks[j + 1].at)
            cur.comps.append(Part("QT", quote))
            j = self.complements(j + 2, end, cur, sink, False)
            sink.append(cur)
            return j, cur.subject
        sink.append(Clause("fragment", comps=[Part("XX", quote)], frame=cur.frame))
        return i + 1, inherited
