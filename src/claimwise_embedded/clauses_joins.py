"""What "and" and commas join after a verb."""

from __future__ import annotations

from claimwise_embedded.clauses_model import Clause, Part
from claimwise_embedded.clauses_subject import SPEECH, BeforeVerb
from claimwise_embedded.decomposer_tokens import verb_forms

#: Verbs with "to" that have no passive.
_WANTING = frozenset("agree decide try hope plan refuse fail begin continue vow pledge want attempt manage".split())

#: Prepositions whose "and" cannot be told apart: "between A and B", "a choice of A, B and C".
_TOGETHER = frozenset(("between", "among", "of"))
#: After a comma these tell what the whole clause led to; its subject alone did not do it.
_OUTCOMES = frozenset(
    "cause lead make prompt result allow leave spark raise highlight demonstrate force mean bring trigger indicate "
    "suggest include show create give mark underline underscore illustrate emphasize help ensure enable follow depend "
    "compare accord regard".split()
)


class Joins(BeforeVerb):
    """ "and", "or" and commas after a verb: another clause, another verb, another object, an apposition."""

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
            )
            return after
        if self.kind(j) in ("VN", "VG"):
            shared = self.shared_auxiliary(cur, self.kind(j))
            if self.kind(j + 1) == "VI" and self.lemma(self.chunks[j].at) in _WANTING:
                shared = []  # "was given a deal and agreed to go"
            past = self.kind(j) == "VN" and not shared and self.past(j)
            if past:
                self.chunks[j].kind = "VF"  # "was unhurt and returned to work"
            if shared or past or self.lemma(self.chunks[j].at) in _WANTING:
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
                )
                return after
        if self.kind(j) == "TH" and cur.kind == "reported":
            after, _ = self.clause(j + 1, end, cur.subject, cur.kind, sink=sink)
            return after
        if self.kind(j) == "NP" and self.kind(j + 1) == "CM" and self.kind(i - 1) == "CM":
            close = self.next_mark(j + 2, end)
            if close < end and self.kind(close + 1) == "VF":  # "and Nadia, who has a cough, is staying"
                after, _ = self.clause(j, end, cur.subject, cur.kind, sink=sink, frame=cur.frame)
                return after
        if self.kind(j) in ("NP", "PR") or (self.kind(j) in ("PP", "SB") and self.kind(i - 1) == "CM"):
            finite = self.next_finite(j, end)
            if finite < 0 and self.kind(j + 1) == "WH" and self.kind(i - 1) == "CM":
                close = self.relative_end(j + 2, end, False)
                finite = close if self.kind(close) == "VF" else -1  # "..., and a man who fell is in hospital"
            if finite >= 0 and not any(self.kind(m) == "CC" for m in range(j, finite)):
                after, _ = self.clause(
                    j,
                    end,
                    cur.subject,
                    cur.kind,
                    sink=sink,
                    frame=cur.frame,
                    stop_at_mark=stop_at_mark,
                )
                return after
        return 0

    def shared_auxiliary(self, cur: Clause, form: str) -> list[int]:
        """The auxiliaries of the first verb that the second one shares: "will release ... and reissue"."""
        verb = cur.auxiliary + cur.verb
        if form == "VB":
            for p, i in enumerate(verb):
                if self.tokens[i].tag in ("MD", "DO", "TO"):
                    return list(verb[: p + 1])
            return []
        aux = [i for i in verb if self.tokens[i].tag in ("MD", "BE", "BB", "BN", "HV", "NG")]
        main = self.tokens[verb[-1]].tag if verb and self.tokens[verb[-1]].lower in verb_forms() else ""
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
        bare = nxt == "NP" and all(self.tokens[t].tag == "X" and self.tokens[t].text.islower() for t in new)
        owners = [k for k, t in enumerate(last.core) if self.tokens[t].tag in ("PS", "PO")]
        shared = last.core[: owners[-1] + 1] if bare and owners and last.kind in ("NP", "PP") else []
        if not last.conjuncts and last.posts and nxt == "NP":
            first = last.all
        else:
            first = last.core
        if not last.conjuncts:
            last.conjuncts = [first]
        if shared:
            last.conjuncts.append([*shared, *new])  # "his leg and arm"
        elif last.kind == "PP" and nxt == "NP":
            prep = [t for t in last.conjuncts[0] if t not in (self.chunk_of(last.conjuncts[0][0]).of or ())]
            prep = prep if prep and prep[0] == last.conjuncts[0][0] else []
            last.conjuncts.append([*prep, *new])
        else:
            last.conjuncts.append(new)
        last.core = sorted({*last.all, *lead, *new})
        last.posts = []
        if self.word(i) not in ("and", ",", ";"):
            self.alternatives.update(last.core)
        name = self.tokens[lead[0] - 1].text[:1].isupper() and all(self.tokens[t].text[:1].isupper() for t in new)
        if name and any(self.tokens[t].lower == "the" for t in first):
            self.alternatives.update(last.core)  # "the Health and Safety Executive"
        if self.tokens[last.core[0]].lower in _TOGETHER or self.alternatives.intersection(last.core):
            last.conjuncts = []  # "between A and B" is of both, "A or B" of neither
        return after

    def after_comma(self, i: int, end: int, cur: Clause, sink: list[Clause]) -> int:
        """What follows a comma after the verb; negative where the clause ends."""
        nxt = self.kind(i + 1)
        last = cur.comps[-1] if cur.comps else None
        # "..., police said"
        j = i + 1
        if nxt in ("NP", "PR"):
            while j < end and self.kind(j) in ("NP", "PR", "PP", "CC"):
                j += 1
            if cur.kind == "main" and self.speaks(i + 1, end):
                self.frame = self.span(i + 1, min(j + 1, end))
                return -end
            if self.kind(j) == "VF":
                after, _ = self.clause(i + 1, end, cur.subject, cur.kind, sink=sink, frame=cur.frame)
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
                listed = any(c.kind == "CC" for c in self.chunks[stop:end])
                if host and not listed and all(c.kind in ("NP", "PP", "RB", "VN", "VG", "VI") for c in inside):
                    self.appositions.append((list(host), self.span(i + 1, stop)))
                    last.posts.append(self.span(i, stop))
                    return stop
            stop = self.next_mark(i + 1, end)
            cur.comps.append(Part("XX", self.span(i + 1, stop)))
            return stop
        if nxt == "VG":
            if self.lemma(self.chunks[i + 1].at) in _OUTCOMES or cur.kind == "reported":
                cur.comps.append(Part("XX", self.span(i + 1, end)))
                return -end
            part = Clause(
                "participial",
                subject=cur.subject,
                verb=list(self.chunks[i + 1].at),
                frame=cur.frame,
                governor=[*cur.auxiliary, *cur.verb],
            )
            at = self.complements(i + 2, end, part, sink, False)
            sink.append(part)
            return -max(at, i + 2) if at < end else -end
        if (
            nxt == "VF"
            and self.kind(i + 2) == "NP"
            and i + 3 >= end
            and cur.kind == "main"
            and (self.lemma(self.chunks[i + 1].at) in SPEECH)
        ):
            self.frame = [*self.chunks[i + 2].at, *self.chunks[i + 1].at]  # "..., say reports"
            return -end
        if nxt == "WH" and last is not None and last.kind in ("NP", "PP", "PR"):
            return i + 1
        listed = any(self.kind(m) == "CC" and self.kind(m + 1) in ("VF", "VN", "RB") for m in range(i + 2, end))
        if nxt == "VF" and not listed and self.tags_of(self.chunks[i + 1].at) != self.tags_of(cur.verb):
            stop = self.next_mark(i + 1, end)
            cur.comps.append(Part("XX", self.span(i + 1, stop)))  # ", thought to be from slipping"
            return stop
        if nxt == "VF":
            after, _ = self.clause(
                i + 1,
                end,
                cur.subject,
                cur.kind,
                sink=sink,
                frame=cur.frame,
                at_verb=True,
            )
            return -after
        return i + 1
