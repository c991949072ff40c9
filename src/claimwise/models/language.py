"""A language model as a model: prompts are rendered, replies remembered raw, then read.

What is remembered is the reply to a rendered prompt, not what was read from it: a better parser needs no new
call, and a changed prompt repeats its own calls only.
"""

import copy
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial, partialmethod
from typing import Any

import numpy as np

from claimwise import prompts, text
from claimwise.models import chunks
from claimwise.models.base import (
    NAN,
    Claim,
    Critique,
    Decomposition,
    Feedback,
    Judgement,
    Model,
    Text,
    Texts,
    Verdict,
    needs_language_model,
)
from claimwise.models.cache import ResponseCache, cached, call_key, reader
from claimwise.models.chunks import Chunk
from claimwise.models.cost import CLAIMS, Usage, unread_name
from claimwise.models.options import Prices
from claimwise.models.replies import LanguageModel, Reply
from claimwise.prompts import Decoding, Prompt, parsers
from claimwise.prompts.sources import Source, references
from claimwise.reasons import Parsed, Reason

_log = logging.getLogger(__name__)
_LEAST_MASS = 0.1  # answers with less of the probability are marked: the model would say something else
_QUESTION = "acueval-verify-zeroshot"  # what a model that only verifies is asked of a whole summary
_BARE = "fenice-decompose-t5"  # what a model that only decomposes is asked
_SUREST = 14.0  # log odds, of one in a million, where two models' are averaged


class PromptedModel:
    """The six roles of ``base.Model``, played by any language model.

    A document that does not fit the context is read in overlapping chunks: a claim or summary gets its highest
    support over the chunks, the best chunk's sentences as evidence. Nothing is truncated.

    Args:
        language_model: what answers.
        cache: where raw replies are kept.
        prices: of the model's tokens, if they cost anything.

    >>> from claimwise.models.replies import RecordedReplies
    >>> prompt = prompts.load("acueval-verify-zeroshot")
    >>> recorded = RecordedReplies("m", {prompt.render(Document="It rained.", ACU="It poured."): "No."})
    >>> PromptedModel(recorded, ResponseCache(":memory:")).verify(["It rained."], [["It poured."]], prompt)
    [[Verdict(support=0.0, reason='sampled', evidence=(), contradicted=nan)]]
    """

    def __init__(self, language_model: LanguageModel, cache: ResponseCache, prices: Prices | None = None):
        self.language_model = language_model
        self.cache = cache
        self.prices = prices
        #: Called after every fresh reply, e.g. to move a progress bar.
        self.on_reply: Callable[[], object] | None = None
        self.name = language_model.name
        self.fingerprint = language_model.fingerprint
        self._warned = False

    # -- the roles ---------------------------------------------------------------------------------

    def decompose(self, passages: Texts, prompt: Prompt) -> list[Decomposition]:
        """See ``Model.decompose``; a prompt of scope ``sentence`` is asked about every sentence of a passage."""
        groups = [self._parts(passage, prompt) for passage in passages]
        rendered = [[prompt.render(Summary=part.text) for part in group] for group in groups]
        return [
            _claims(group, found)
            if group
            else Decomposition((), Reason.TOO_LONG if passage.strip() else Reason.EMPTY_REPLY)
            for passage, group, found in zip(passages, groups, self._parsed(rendered, prompt), strict=True)
        ]

    def verify(
        self, documents: Texts, claims: Sequence[Texts], prompt: Prompt, extras: Texts | None = None
    ) -> list[list[Verdict]]:
        """See ``Model.verify``: p(Yes) / (p(Yes) + p(No)) (ACUEval sec. 3), or the verdict that was written.

        Where the server gives no probabilities, support is 0 or 1 and the reason says ``sampled``; where Yes and No
        together are improbable, it says ``improbable``.
        """
        verdicts = map(_best, *self._about(documents, claims, prompt, "ACU", extras))
        return [[next(verdicts) for _ in group] for group in claims]

    def judge(self, documents: Texts, summaries: Texts, prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``: sum k p(k) over the ratings k, as (s - 1) / 4, or the rating that was written."""
        best = map(_best, *self._about(documents, [[summary] for summary in summaries], prompt, "Summary"))
        return [Judgement(verdict.support, verdict.reason) for verdict in best]

    def critique(self, documents: Texts, statements: Texts, prompt: Prompt) -> list[Critique]:
        """See ``Model.critique``; of a document in chunks, the critique that supports the statement most."""
        found, _ = self._about(documents, [[statement] for statement in statements], prompt, "Statement")
        return [_kindest(replies) for replies in found]

    def revise(self, documents: Texts, summaries: Texts, feedback: Sequence[Feedback], prompt: Prompt) -> list[Text]:
        """See ``Model.revise``; a document that does not fit the context gives no revision, and a reason."""
        rendered = [
            prompt.render(Document=document, Summary=summary, Unsupported=told.unsupported, Comment=told.comment)
            for document, summary, told in zip(documents, summaries, feedback, strict=True)
        ]
        return self._texts(rendered, prompt)

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Texts, prompt: Prompt) -> list[Text]:
        """See ``Model.summarise``; sources that do not fit the context give no summary, and a reason."""
        both = zip(sources, questions, strict=True)
        return self._texts([prompt.render(Sources=group, Question=question) for group, question in both], prompt)

    # -- rendering ---------------------------------------------------------------------------------

    def _about(
        self, documents: Texts, groups: Sequence[Texts], prompt: Prompt, variable: str, extras: Texts | None = None
    ) -> tuple[list[list[Parsed]], list[list[Chunk]]]:
        """What the replies about each statement of each document say, and the parts of the document that they are about.

        ``variable`` is the one of the prompt that shows a statement.
        """

        def render(i: int, part: str, statement: str) -> str:
            shown: dict[str, Any] = {variable: statement}
            if extras is not None:
                shown["Extra"] = extras[i]
            if variable == "Statement":
                shown["References"] = references(part)
            return prompt.render(Document=part, **shown)

        rendered, seen = [], []
        for i, (document, group) in enumerate(zip(documents, groups, strict=True)):
            for statement, parts in zip(group, self._shown(document, group, prompt, partial(render, i)), strict=True):
                rendered.append([render(i, part.text, statement) for part in parts])
                seen.append(parts)
        return self._parsed(rendered, prompt), seen

    def _parts(self, passage: str, prompt: Prompt) -> Sequence[text.Span | Chunk]:
        """What a decomposition is asked about: the passage or its sentences, each in chunks where it does not fit."""

        def fitting(whole: str) -> list[Chunk]:
            return chunks.split(whole, lambda part: self._fits(prompt.render(Summary=part), prompt))

        if prompt.scope != "sentence":
            return fitting(passage)
        # A text without full stops is one sentence of any length, whose place all its parts keep.
        return [span._replace(text=part.text) for span in text.sentences(passage) for part in fitting(span.text)]

    def _shown(
        self, document: str, group: Texts, prompt: Prompt, render: Callable[[str, str], str]
    ) -> list[list[Chunk]]:
        """What each statement is checked against: the document, its chunks, or the sentences retrieved for it."""

        def parts(shown: str, statements: Texts) -> list[Chunk]:
            return chunks.split(shown, lambda part: all(self._fits(render(part, one), prompt) for one in statements))

        if prompt.context == "retrieved":
            best = [chunks.retrieve(document, claim) for claim in group]
            return [
                [replace(part, sentences=found.sentences) for part in parts(found.text, [claim])]  # all is the evidence
                for found, claim in zip(best, group, strict=True)
            ]
        # Claims with equally many chunks share them (and an engine their prefix): one that leaves a document little room
        # or none changes nothing for the others. A document that fits whole is the same for all.
        alone = [parts(document, [claim]) for claim in group]
        alike: dict[int, list[str]] = {}  # claims by the number of their chunks
        for claim, own in zip(group, alone, strict=True):
            alike.setdefault(len(own), []).append(claim)
        shared = {count: parts(document, some) for count, some in alike.items() if count > 1 and len(some) > 1}
        return [shared.get(len(own), own) for own in alone]

    def _fits(self, rendered: str, prompt: Prompt) -> bool:
        return self.language_model.fits(rendered, prompt.decoding)

    # -- asking ------------------------------------------------------------------------------------

    def _ask(self, rendered: Sequence[str], prompt: Prompt) -> list[Reply]:
        """The replies to rendered prompts: those remembered, and the others from the language model."""
        model, how = self.language_model, prompt.decoding

        def compute(positions: list[int]) -> Iterator[tuple[int, dict]]:
            asked = [rendered[i] for i in positions]
            for place, reply in model.replies(asked, how):
                if self.on_reply:
                    self.on_reply()
                yield place, reply.stored

        before = model.tally
        try:
            return cached(
                self.cache,
                self._keys(rendered, prompt),
                compute,
                model=self.name,
                role=prompt.role,
                read=partial(_stored, choices=len(how.choices)),
                keep=lambda reply: reply.answered,
            )
        finally:
            made = model.tally - before
            read, written = made.prompt_tokens, made.reply_tokens
            spent = self.prices.cost(read, written) if self.prices else 0.0
            self.cache.note(self.name, prompt.role, Usage(prompt_tokens=read, reply_tokens=written, cost=spent))

    def _keys(self, rendered: Sequence[str], prompt: Prompt) -> list[str]:
        decoding = asdict(prompt.decoding)
        return [call_key(model=self.language_model.fingerprint, prompt=one, **decoding) for one in rendered]

    # -- reading -----------------------------------------------------------------------------------

    def _parsed(self, groups: Sequence[Sequence[str]], prompt: Prompt) -> list[list[Parsed]]:
        """What the replies to groups of rendered prompts say; of one that says nothing, what a second question brings."""
        rendered = [one for group in groups for one in group]
        replies = self._ask(rendered, prompt)
        found = [_read(reply, prompt) for reply in replies]
        again = [place for place, parsed in enumerate(found) if parsed.value is None and replies[place].answered]
        seconds, second_prompt = self._seconds(rendered, replies, again, prompt)
        second_replies = self._ask(list(seconds.values()), second_prompt)
        unread: dict[str, Reply] = {}  # by the keys of their calls
        for (place, question), reply in zip(seconds.items(), second_replies, strict=True):
            parsed = _read_second(reply, prompt, second_prompt)
            if parsed.value is not None:
                found[place] = parsed
            elif reply.answered:
                [key] = self._keys([question], second_prompt)
                unread[key] = reply
        lost = [place for place, parsed in enumerate(found) if parsed.value is None]
        if lost:
            keys = self._keys(rendered, prompt)
            unread |= {keys[place]: replies[place] for place in lost if replies[place].answered}
            values = {key: reply.stored for key, reply in unread.items()}
            # The cache has them by now. Under this name they can be deleted and asked again: a mended server may do better.
            self.cache.put(values, model=unread_name(self.name), role=prompt.role)
            self.cache.note(self.name, prompt.role, Usage(unparsed=len(lost), unread=len(unread)))
        self._warn(sum(parsed.reason == Reason.IMPROBABLE for parsed in found), len(found))
        each = iter(found)
        return [[next(each) for _ in group] for group in groups]

    def _seconds(
        self, rendered: list[str], replies: list[Reply], again: list[int], prompt: Prompt
    ) -> tuple[dict[int, str], Prompt]:
        """What is asked at places whose replies could not be read, by place, and the prompt by which it is asked."""
        if prompt.begin:
            return {place: f"{rendered[place]}\n\n{prompt.begin}" for place in again}, prompt
        if not prompt.conclude:
            return {}, prompt
        alone = prompt.model_copy(update={"reply": "yes-no", "max_tokens": 5, "stop": ()})
        asked = {
            place: f"{rendered[place]}\n\n{replies[place].text}\n\n{prompt.conclude}"
            for place in again
            if not parsers.texts.is_refusal(replies[place].text or "")
        }
        return {place: one for place, one in asked.items() if self._fits(one, alone)}, alone

    def _warn(self, improbable: int, asked: int) -> None:
        """Say once where a model mostly would not answer as asked: its chat template or the prompt may be wrong."""
        if 2 * improbable > asked and not self._warned:
            self._warned = True
            _log.warning(
                "%s: in %d of %d replies, what was asked for (Yes or No, a rating) has less than %.0f %% of the "
                "probability; is this the right `template`, and does the model follow instructions? Such values are "
                "marked '%s'.", self.name, improbable, asked, 100 * _LEAST_MASS, Reason.IMPROBABLE,
            )  # fmt: skip

    def _texts(self, rendered: list[str], prompt: Prompt) -> list[Text]:
        fitting = [[one] if self._fits(one, prompt) else [] for one in rendered]
        return [Text(*found[0]) if found else Text(None, Reason.TOO_LONG) for found in self._parsed(fitting, prompt)]


class _Answer(Parsed):
    """What probabilities say; ``contradicted`` as in ``Verdict``."""

    contradicted = NAN


def _stored(value: Any, choices: int) -> Reply:
    """A reply of what is stored of it; one that no model can have given is an error, as another shape is."""
    reply = reader(Reply)(value)
    found = reply.probabilities
    if found is not None and not (len(found) == choices and all(0 <= one < math.inf for one in found)):
        raise ValueError(f"expected {choices} probabilities, found {found}")
    return reply


def _read_second(reply: Reply, prompt: Prompt, asking: Prompt) -> Parsed:
    """A list that begins as it should; or after reasoning the more probable of Yes and No."""
    if prompt.begin:
        return _read(reply, prompt) if _begun(reply, prompt.begin) else Parsed(None)
    value = _read(reply, asking).value
    return Parsed(None) if value is None else Parsed(float(value >= 0.5), Reason.CONCLUDED)


def _begun(reply: Reply, begin: str) -> bool:
    """Whether a reply begins as it should or with its last line: another may go on from there, or be about something else.

    >>> [_begun(Reply(text), "The claims are:\\n- ") for text in ("The claims are: - It rained.", "- It rained.", "I see.")]
    [True, True, False]
    >>> _begun(Reply("- It rained."), "- "), _begun(Reply("I see."), "- ")
    (True, False)
    """
    lines = begin.split("\n")
    known = tuple(line.strip() for line in (lines[0], lines[-1]) if line.strip())
    return bool(reply.text) and reply.text.lstrip().startswith(known)


def _read(reply: Reply, prompt: Prompt) -> Parsed:
    choices = parsers.KINDS[prompt.reply].choices
    if reply.probabilities is not None:
        mass = sum(reply.probabilities)
        if not mass > 0:
            return Parsed(None, f"none of {', '.join(choices)} is among the probable answers")
        value = sum(p * v for p, v in zip(reply.probabilities, choices.values(), strict=True)) / mass
        answer = _Answer(value, None if mass >= _LEAST_MASS else Reason.IMPROBABLE)
        if reply.contradicted is not None:
            answer.contradicted = reply.contradicted
        return answer
    if reply.text is None:
        return Parsed(None, reply.reason or Reason.EMPTY_REPLY)
    found = parsers.parse(prompt.reply, reply.text, cut=reply.cut)
    return Parsed(found.value, Reason.SAMPLED) if choices and found.value is not None else found


def _claims(group: Sequence[text.Span | Chunk], found: list[Parsed]) -> Decomposition:
    """The claims of a passage's parts, each once; a sentence's claims keep its place in the passage."""
    claims: dict[str, Claim] = {}
    for part, parsed in zip(group, found, strict=True):
        place = (part.start, part.end) if isinstance(part, text.Span) else (None, None)
        for claim in parsed.value or ():
            claims.setdefault(claim, Claim(claim, *place))
    reason = next((parsed.reason for parsed in found if parsed.reason), None)
    return Decomposition(tuple(claims.values()), reason, unread=sum(parsed.value is None for parsed in found))


def _best(found: list[Parsed], seen: list[Chunk]) -> Verdict:
    """The highest support over the chunks; without any, the first chunk's reason."""
    if not seen:
        return Verdict(NAN, Reason.TOO_LONG)
    known = [i for i, parsed in enumerate(found) if parsed.value is not None]
    if not known:
        return Verdict(NAN, found[0].reason, seen[0].sentences if len(seen) == 1 else ())
    best = max(known, key=lambda i: found[i].value)
    told = getattr(found[best], "contradicted", NAN)
    return Verdict(found[best].value, found[best].reason, seen[best].sentences, contradicted=told)


def _kindest(found: list[Parsed]) -> Critique:
    """The critique that finds most support; one without a verdict comes before one that could not be read."""
    read = [parsed.value for parsed in found if parsed.value is not None]
    if not read:
        return Critique("", reason=found[0].reason if found else Reason.TOO_LONG)
    best = max(read, key=lambda parts: -1.0 if parts.support is None else parts.support)
    return Critique(best.text, NAN if best.support is None else best.support)


# -- models that were taught one role --------------------------------------------------------------------


class _Taught(PromptedModel):
    """A language model that was taught one role and nothing else: another model plays the other roles.

    Arguments are those of ``PromptedModel``, the other model, and options of the role, which are in the fingerprint.
    """

    role: str

    def __init__(
        self, language_model: LanguageModel, cache: ResponseCache, prices: Prices | None, other: Model, **options: Any
    ):
        super().__init__(language_model, cache, prices)
        self.fingerprint = call_key(**{self.role: language_model.fingerprint}, other=other.fingerprint, **options)
        self.other = other

    def _by_other(self, role: str, *given: Any) -> list:
        return getattr(self.other, role)(*given)

    critique = partialmethod(_by_other, "critique")
    revise = partialmethod(_by_other, "revise")
    summarise = partialmethod(_by_other, "summarise")


class Decomposer(_Taught):
    """A language model that was taught to write a summary's claims as sentences, as FENICE's T5 was (section 3.1)."""

    role = "decomposer"

    def decompose(self, passages: Texts, prompt: Prompt) -> list[Decomposition]:
        """See ``Model.decompose``; the prompt is not read: the model knows the bare summary."""
        return super().decompose(passages, prompts.load(_BARE))

    verify = partialmethod(_Taught._by_other, "verify")
    judge = partialmethod(_Taught._by_other, "judge")


class Verifier(_Taught):
    """A language model that was taught to verify.

    A summary is judged as one claim. Of the sentences that support a claim a language model does not say which: the other
    model's evidence stands in their place. Two models that err about different claims are together better than either: their
    log odds may be averaged.

    Args:
        calibration: slope and intercept of the log odds of support (Platt scaling), fitted to validation rows.
        averaged: whether support is the mean of the log odds of both models, with equal weights.
    """

    role = "verifier"

    def __init__(
        self,
        language_model: LanguageModel,
        cache: ResponseCache,
        prices: Prices | None,
        other: Model,
        calibration: tuple[float, float] = (1.0, 0.0),
        averaged: bool = False,
    ):
        super().__init__(language_model, cache, prices, other, calibration=calibration, averaged=averaged)
        self._slope, self._intercept = calibration
        self._averaged = averaged

    decompose = partialmethod(_Taught._by_other, "decompose")

    def verify(
        self, documents: Texts, claims: Sequence[Texts], prompt: Prompt, extras: Texts | None = None
    ) -> list[list[Verdict]]:
        """See ``Model.verify``."""
        verdicts = super().verify(documents, claims, prompt, extras)
        read = self.other.verify(documents, claims, prompt, extras)
        return [[self._both(*pair) for pair in zip(*group, strict=True)] for group in zip(verdicts, read, strict=True)]

    def judge(self, documents: Texts, summaries: Texts, prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``; the prompt is the other model's only, and one that asks for more than a verdict nobody's."""
        if reason := needs_language_model(prompt):
            return [Judgement(NAN, reason)] * len(summaries)
        verdicts = super().verify(documents, [[summary] for summary in summaries], prompts.load(_QUESTION))
        read = self.other.judge(documents, summaries, prompt) if self._averaged else [Judgement(NAN)] * len(summaries)
        both = [
            self._both(ours, Verdict(theirs.score, theirs.reason))
            for [ours], theirs in zip(verdicts, read, strict=True)
        ]
        return [Judgement(verdict.support, verdict.reason) for verdict in both]

    def _both(self, ours: Verdict, theirs: Verdict) -> Verdict:
        """Calibrated, and averaged where that is wanted: what one of the two cannot say, their mean does not, either."""
        from scipy.special import expit, logit  # takes a while, and most models need none of it

        odds, reason = self._slope * logit(ours.support) + self._intercept, ours.reason
        if self._averaged and not math.isnan(odds):
            # No verdict is so sure that the other one does not count.
            odds = np.clip([odds, logit(theirs.support)], -_SUREST, _SUREST).mean()
            reason = theirs.reason if math.isnan(odds) else reason
        return Verdict(float(expit(odds)), reason, theirs.evidence, contradicted=ours.contradicted)


# -- what a run would ask ------------------------------------------------------------------------------


def dry_run(model: PromptedModel) -> PromptedModel:
    """The model without asking it anything (``--dry-run``); ``cache.usage`` counts what it would be asked.

    Prompts are counted in full (an engine that shares prefixes reads less), replies as the longest. Every decomposition by
    the language model gives ``CLAIMS`` claims; what is in the model's cache is not counted. Nothing is stored.

    >>> from claimwise.models.replies import RecordedReplies
    >>> dry = dry_run(PromptedModel(RecordedReplies("m", {}), ResponseCache(":memory:")))
    >>> claims = dry.decompose(["It rained."], prompts.load("acueval-decompose-5shot"))[0].claims
    >>> _ = dry.verify(["It rained."], [[claim.text for claim in claims]], prompts.load("acueval-verify-zeroshot"))
    >>> dry.cache.usage.calls
    9
    """
    dry = copy.copy(model)
    dry.language_model, dry.cache = _Counting(model.language_model), _Unwritten(model.cache)
    if isinstance(dry, _Taught):  # the other one makes the claims that are counted, and no verdict on invented ones
        dry.other = copy.copy(dry.other)
        dry.other.verify = lambda documents, claims, *_: [[Verdict(NAN)] * len(group) for group in claims]
        dry.other.judge = lambda documents, *_: [Judgement(NAN)] * len(documents)
    return dry


class _Unwritten(ResponseCache):
    """A response cache that is read and never written: what is put stays in memory, so that it is counted once."""

    def __init__(self, cache: ResponseCache):
        super().__init__(":memory:")
        self._cache, self.usage, self.claims_assumed = cache, Usage(), False

    def get(self, keys: Sequence[str], *read: Callable[[Any], Any]) -> dict[str, Any]:
        put = super().get(keys, *read)
        return put | self._cache.get([key for key in keys if key not in put], *read)

    def note(self, model: str, role: str, usage: Usage) -> None:
        self.usage += usage
        self.claims_assumed |= role == "decompose" and usage.calls > 0


class _Counting:
    """A language model that answers in another's place without asking it: a list of claims, or equal probabilities.

    No two of its lists are alike, so that the calls which verify their claims are all counted.
    """

    def __init__(self, model: LanguageModel):
        self.name, self.fingerprint = model.name, model.fingerprint
        self.count, self.longest_reply, self.fits = model.count, model.longest_reply, model.fits
        self.tally = Usage()

    def replies(self, prompts: Sequence[str], how: Decoding) -> Iterator[tuple[int, Reply]]:
        """See ``LanguageModel``."""
        for index, prompt in enumerate(prompts):
            self.tally += Usage(calls=1, prompt_tokens=self.count(prompt), reply_tokens=self.longest_reply(how))
            if how.choices:
                yield index, Reply(probabilities=(1.0 / len(how.choices),) * len(how.choices))
            else:
                claims = (f"- This is claim number {k} of reply number {self.tally.calls}." for k in range(CLAIMS))
                yield index, Reply("\n".join(claims))
