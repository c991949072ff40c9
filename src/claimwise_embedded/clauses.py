"""Clauses of a sentence: who did what, with which complements, each with its subject restored.

A shallow parse by one left-to-right pass over the chunks. It knows relative and participial clauses,
subordinate clauses, reported speech before and after what is reported, coordinated verbs, objects and
subjects, and appositions. What it cannot read it leaves whole: a clause then has one long complement, and the
claim is the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

from claimwise_embedded.clauses_joins import Joins
from claimwise_embedded.clauses_model import Clause, Parse, Part
from claimwise_embedded.clauses_verb import AfterVerb
from claimwise_embedded.decomposer_tokens import Token


def parse(tokens: Sequence[Token]) -> Parse:
    """Read one tagged sentence.

    >>> from claimwise_embedded.decomposer_tokens import sentences
    >>> parsed = parse(next(sentences("David Gold , the chairman , said Reid was injured .")))
    >>> [(c.kind, [parsed.tokens[i].text for i in c.verb]) for c in parsed.clauses]
    [('main', ['said'])]
    >>> parsed.appositions
    [([0, 1], [3, 4])]
    """
    reader = _Reader(tokens)
    reader.read_all()
    return Parse(tokens, reader.clauses, reader.appositions)


class _Reader(AfterVerb, Joins):
    """One left-to-right pass over the chunks of a sentence."""

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
        for clause in self.clauses:
            # A complement whose words all went to a later clause is none; no rule has to expect an empty one.
            clause.comps = [part for part in clause.comps if part.core]
            clause.frame = clause.frame or list(self.frame or ())

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
        at_verb: bool = False,
    ) -> tuple[int, Part | None]:
        """Read a clause from chunk i; returns the first chunk after it and its subject."""
        sink = self.clauses if sink is None else sink
        cur = Clause(kind, frame=list(frame or ()), auxiliary=list(auxiliary or ()))
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
                    i = self.noun_phrase(i, end, cur)
                    continue
                if stop_at_mark and self.kind(i - 1) == "CM":
                    break
                joint = self.word(i - 1) == "and" and not self.singular(i)
                if self.kind(i - 1) == "CC" and not joint:
                    cur.pre, cur.subject = [], None  # another clause; the verb of the first was taken for a noun
                    continue
                if joint or (self.kind(i - 1) == "CM" and self.listed(i, end)):
                    cur.subject = Part("NP", self.span(self.index_of(cur.subject.core[0]), i + 1))
                    i += 1
                    continue
                # two noun phrases in a row: "last week he", or a name list; with nothing between them a verb
                # was taken for a noun, or "the job he does" stands before its verb
                cur.doubtful = cur.doubtful or cur.subject.all[-1] + 1 == c.start
                cur.pre.append(cur.subject.all)
                cur.subject = None
                continue
            if k in ("PP", "RB", "PG", "VI", "TM"):
                if k == "TM" and cur.subject is None and self.kind(i + 1) == "VF":
                    cur.subject = Part("NP", list(c.at))
                    i += 1
                    continue
                if cur.subject is None or (k == "RB" and self.kind(i + 1) == "VF"):
                    if cur.pre and cur.pre[-1][-1] + 1 == c.start:
                        cur.pre[-1].extend(c.at)
                    else:
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
                if k == "VG" and cur.subject is None and not cur.auxiliary and not at_verb:
                    finite = self.next_finite(i + 1, end)
                    if finite > i and (i == 0 or not inherited):
                        cur.subject = Part("NP", self.span(i, finite))  # "Using both was ..."
                        i = finite
                        continue
                if self.later_finite(i + 1, end) and cur.subject is not None and not cur.auxiliary:
                    i = self.reduced(i, end, cur.subject, sink, cur.frame)
                    continue
                cur.verb, cur.finite = list(c.at), False
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
        cur.doubtful = cur.doubtful or self.disagrees(cur)
        # 2. after the verb
        i = self.complements(i, end, cur, sink, stop_at_mark)
        sink.append(cur)
        return i, cur.subject if cur.subject is not None else inherited
