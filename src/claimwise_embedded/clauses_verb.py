"""What stands after a verb: objects, details, reported speech."""

from __future__ import annotations

from claimwise_embedded.clauses_look import Look
from claimwise_embedded.clauses_model import Clause, Part
from claimwise_embedded.clauses_tags import NAMING, REPORTING

#: Verbs of speech that take the hearer as their object.
_ADDRESSING = frozenset(("tell", "warn", "promise", "inform", "remind", "assure"))
#: Prepositions whose -ing form is asserted of the subject: "after moving to Scotland".
_ASSERTING = frozenset("after while since upon having".split())


class AfterVerb(Look):
    """Complements, reported speech, coordination and what follows a comma."""

    def complements(self, i: int, end: int, cur: Clause, sink: list[Clause], stop_at_mark: bool) -> int:
        """What follows the verb of a clause, up to its end; returns the first chunk after it."""
        lemma = self.lemma(cur.verb)
        while i < end:
            k, c = self.kind(i), self.chunks[i]
            last = cur.comps[-1] if cur.comps else None
            if k == "TH" or (
                k == "WH" and self.word(i) == "that" and self.kind(i + 1) in ("NP", "PR") and lemma in REPORTING
            ):
                if lemma in REPORTING or last is None or last.kind == "PR":
                    return self.report(i + 1, end, cur, list(c.at))
                stop = self.next_mark(i, end)
                cur.comps.append(Part("TH", self.span(i, stop)))
                i = stop
                continue
            if k in ("NP", "PR") and self.reports(i, end, lemma, last):
                return self.report(i, end, cur, [])
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
                opens = self.kind(mark + 1) in ("SB", "VG", "CC", "WH")
                if mark < stop and (opens or (cur.kind == "main" and self.speaks(mark + 1, stop))):
                    stop = mark
                if self.word(i) != "since" or not any(self.tokens[t].tag == "HV" for t in cur.verb):
                    self.subordinate(i, stop, cur.subject, cur.frame, sink)  # "has played since he was two"
                cur.comps.append(Part("SB", self.span(i, stop)))
                i = stop
                continue
            if k == "WH":
                if (
                    last is not None
                    and last.kind in ("NP", "PP", "PR", "TM", "VG", "VN", "PG", "XX")
                    and self.word(i) in ("who", "which", "that", "whose", "where", "whom")
                    and (last.kind in ("NP", "PR") or self.last_of(i))
                ):
                    host = last if last.kind in ("NP", "PR") else Part("NP", self.described_by(i, cur))
                    stop = self.relative(i, end, host, sink, cur.frame, opened=self.kind(i - 1) == "CM")
                    if host is not last:
                        last.posts.extend(host.posts)
                    i = stop
                    continue
                stop = self.next_mark(i, end)
                stop = stop if self.kind(stop + 1) in ("SB", "CC") else end
                cur.comps.append(Part("WH", self.span(i, stop)))
                i = stop
                continue
            if k == "CC":
                moved = self.coordination(i, end, cur, sink, stop_at_mark)
                if moved:
                    return moved
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
                # a second finite verb with no subject: what came before was read wrongly
                cur.doubtful = True
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
            if k == "PG" and self.word(i) in _ASSERTING and cur.subject is not None and cur.subject.kind != "PR":
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

    def described_by(self, i: int, cur: Clause) -> list[int]:
        """The noun phrase that the relative clause at chunk i describes: "a cottage in Leeds that ..." is the cottage."""
        host = self.last_of(i)
        name = self.tokens[host[-1]].text[:1].isupper() and self.kind(i - 1) == "PP"
        if name and len(cur.comps) > 1 and cur.comps[-2].core[-1] + 1 == cur.comps[-1].core[0]:
            before = self.chunk_of(cur.comps[-2].core[-1])
            return list(before.of or before.at)
        return list(host)

    def describe(self, i: int, stop: int, cur: Clause, sink: list[Clause]) -> None:
        """A participle right after a noun says something of it: "eight men convicted of ..."."""
        host = self.last_of(i)
        if self.kind(i - 1) not in ("NP", "PP") or host[-1] + 1 != self.chunks[i].start:
            return
        first = self.tokens[host[0]]
        if self.kind(i + 1) in ("NP", "PR") and self.lemma(self.chunks[i].at) not in NAMING:
            # "Emwazi then kidnapped the boys": not a participle after all
            cur.doubtful = cur.doubtful or (self.kind(i) == "VN" and self.past(i))
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

    def reports(self, i: int, end: int, lemma: str, last: Part | None) -> bool:
        """Whether a clause without "that" starts here: a reporting verb, a subject, a finite verb."""
        if lemma not in REPORTING or (last is not None and lemma not in _ADDRESSING):
            return False
        if last is None and lemma in _ADDRESSING and self.kind(i + 1) in ("NP", "PR"):
            return False  # "told the station they would": the station is told
        j = i + 1
        inside = ("PP", "RB", "NP", "PR", "VN", *(["CC"] if lemma != "deny" else []))
        while j < end and self.kind(j) in inside:
            j += 1
        return j < end and self.kind(j) == "VF"

    def report(self, i: int, end: int, cur: Clause, that: list[int]) -> int:
        """What a reporting verb reports, clause by clause, under the attribution."""
        inner: list[Clause] = []
        stop = self.attribution_end(i, end)
        at, subject = i, None
        while at < stop:
            if self.kind(at) in ("CC", "CM", "PU"):
                at += 1
                continue
            before = at
            at, subject = self.clause(at, stop, subject, "reported", sink=inner)
            at = max(at, before + 1)
        cur.reported = [c for c in inner if c.kind != "fragment" or len(inner) == 1]
        cur.comps.append(Part("TH", [*that, *self.span(i, stop)]))
        return stop

    def attribution_end(self, i: int, end: int) -> int:
        """A report goes on to a dash or to the end of the sentence."""
        for j in range(i, end):
            if self.chunks[j].kind == "PU" and self.word(j) in ("-", "--", "–", "—", ":"):
                return j
        return end
