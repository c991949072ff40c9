"""A language model as a model with six roles: prompts are rendered, replies cached, then parsed.

The cache keeps the raw reply to a rendered prompt, not the parsed value. So a better parser needs no new calls, and a
changed prompt repeats only its own calls.
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
_LEAST_MASS = 0.1  # answers with less probability are marked: the model would rather say something else
_VERIFY_PROMPT = "acueval-verify-zeroshot"  # the prompt by which a ``Verifier`` judges a whole summary
_DECOMPOSE_PROMPT = "fenice-decompose-t5"  # the prompt of a ``Decomposer``
_MAX_LOG_ODDS = 14.0  # log odds are clipped to this (one in a million) before they are averaged


class PromptedModel:
    """The six roles of ``base.Model``, played by any language model.

    A document that does not fit the context is read in overlapping chunks. A claim or summary then gets its highest
    support over the chunks, with the best chunk's sentences as evidence. Nothing is truncated.

    Args:
        language_model: the language model.
        cache: keeps the raw replies.
        prices: the prices of the model's tokens, if they cost anything.

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
        #: Called after every new reply, such as to move a progress bar.
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
            _claims(group, replies)
            if group
            else Decomposition((), Reason.TOO_LONG if passage.strip() else Reason.EMPTY_REPLY)
            for passage, group, replies in zip(passages, groups, self._parsed(rendered, prompt), strict=True)
        ]

    def verify(
        self, documents: Texts, claims: Sequence[Texts], prompt: Prompt, extras: Texts | None = None
    ) -> list[list[Verdict]]:
        """See ``Model.verify``: p(Yes) / (p(Yes) + p(No)) (ACUEval sec. 3), or the verdict that was written.

        If the server gives no probabilities, support is 0 or 1 and the reason says ``sampled``. If Yes and No together
        are improbable, the reason says ``improbable``.
        """
        verdicts = map(_best, *self._about(documents, claims, prompt, "ACU", extras))
        return [[next(verdicts) for _ in group] for group in claims]

    def judge(self, documents: Texts, summaries: Texts, prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``: sum k p(k) over the ratings k, as (s - 1) / 4, or the rating that was written."""
        best = map(_best, *self._about(documents, [[summary] for summary in summaries], prompt, "Summary"))
        return [Judgement(verdict.support, verdict.reason) for verdict in best]

    def critique(self, documents: Texts, statements: Texts, prompt: Prompt) -> list[Critique]:
        """See ``Model.critique``; for a document in chunks, it is the critique that supports the statement most."""
        replies, _ = self._about(documents, [[statement] for statement in statements], prompt, "Statement")
        return [_kindest(one) for one in replies]

    def revise(self, documents: Texts, summaries: Texts, feedback: Sequence[Feedback], prompt: Prompt) -> list[Text]:
        """See ``Model.revise``; if the document does not fit the context, there is a reason instead of a revision."""
        rendered = [
            prompt.render(Document=document, Summary=summary, Unsupported=one.unsupported, Comment=one.comment)
            for document, summary, one in zip(documents, summaries, feedback, strict=True)
        ]
        return self._texts(rendered, prompt)

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Texts, prompt: Prompt) -> list[Text]:
        """See ``Model.summarise``; if the sources do not fit the context, there is a reason instead of a summary."""
        pairs = zip(sources, questions, strict=True)
        return self._texts([prompt.render(Sources=group, Question=question) for group, question in pairs], prompt)

    # -- rendering ---------------------------------------------------------------------------------

    def _about(
        self, documents: Texts, groups: Sequence[Texts], prompt: Prompt, variable: str, extras: Texts | None = None
    ) -> tuple[list[list[Parsed]], list[list[Chunk]]]:
        """Ask about each statement of each document; return the parsed replies and the document's parts that they are about.

        Both have a list for each statement, with an entry for each part. ``variable`` is the prompt's variable that shows
        the statement.
        """

        def render(i: int, part: str, statement: str) -> str:
            shown: dict[str, Any] = {variable: statement}
            if extras is not None:
                shown["Extra"] = extras[i]
            if variable == "Statement":
                shown["References"] = references(part)
            return prompt.render(Document=part, **shown)

        rendered, shown_parts = [], []
        for i, (document, group) in enumerate(zip(documents, groups, strict=True)):
            for statement, parts in zip(group, self._shown(document, group, prompt, partial(render, i)), strict=True):
                rendered.append([render(i, part.text, statement) for part in parts])
                shown_parts.append(parts)
        return self._parsed(rendered, prompt), shown_parts

    def _parts(self, passage: str, prompt: Prompt) -> Sequence[text.Span | Chunk]:
        """Return what is to be decomposed: the passage or its sentences, in chunks if they do not fit."""

        def fitting(whole: str) -> list[Chunk]:
            return chunks.split(whole, lambda part: self._fits(prompt.render(Summary=part), prompt))

        if prompt.scope != "sentence":
            return fitting(passage)
        # Without full stops a sentence may be too long. All its parts keep the whole sentence's place.
        return [span._replace(text=part.text) for span in text.sentences(passage) for part in fitting(span.text)]

    def _shown(
        self, document: str, group: Texts, prompt: Prompt, render: Callable[[str, str], str]
    ) -> list[list[Chunk]]:
        """Return what each statement is checked against: the document, its chunks, or the sentences retrieved for it."""

        def parts(shown: str, statements: Texts) -> list[Chunk]:
            return chunks.split(shown, lambda part: all(self._fits(render(part, one), prompt) for one in statements))

        if prompt.context == "retrieved":
            retrieved = [chunks.retrieve(document, claim) for claim in group]
            return [
                # All retrieved sentences are the evidence, whatever part of them is read.
                [replace(part, sentences=passage.sentences) for part in parts(passage.text, [claim])]
                for passage, claim in zip(retrieved, group, strict=True)
            ]
        # Claims that need the same number of chunks share the same chunks, so that an engine can share their prefix. A very
        # long claim, which leaves little room for the document, then does not cut it smaller for the others.
        own_chunks = [parts(document, [claim]) for claim in group]
        claims_by_count: dict[int, list[str]] = {}  # claims by the number of their chunks
        for claim, own in zip(group, own_chunks, strict=True):
            claims_by_count.setdefault(len(own), []).append(claim)
        shared = {
            count: parts(document, claims)
            for count, claims in claims_by_count.items()
            if count > 1 and len(claims) > 1  # a document that fits whole is the same for all
        }
        return [shared.get(len(own), own) for own in own_chunks]

    def _fits(self, rendered: str, prompt: Prompt) -> bool:
        return self.language_model.fits(rendered, prompt.decoding)

    # -- asking ------------------------------------------------------------------------------------

    def _ask(self, rendered: Sequence[str], prompt: Prompt) -> list[Reply]:
        """Return the replies to rendered prompts, from the cache or from the language model."""
        model, how = self.language_model, prompt.decoding

        def compute(positions: list[int]) -> Iterator[tuple[int, dict]]:
            for index, reply in model.replies([rendered[i] for i in positions], how):
                if self.on_reply:
                    self.on_reply()
                yield index, reply.stored

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
            used = model.tally - before
            read, written = used.prompt_tokens, used.reply_tokens
            spent = self.prices.cost(read, written) if self.prices else 0.0
            self.cache.note(self.name, prompt.role, Usage(prompt_tokens=read, reply_tokens=written, cost=spent))

    def _keys(self, rendered: Sequence[str], prompt: Prompt) -> list[str]:
        decoding = asdict(prompt.decoding)
        return [call_key(model=self.language_model.fingerprint, prompt=one, **decoding) for one in rendered]

    # -- reading -----------------------------------------------------------------------------------

    def _parsed(self, groups: Sequence[Sequence[str]], prompt: Prompt) -> list[list[Parsed]]:
        """Parse the replies to groups of rendered prompts; if a reply cannot be read, ask a second question."""
        rendered = [one for group in groups for one in group]
        replies = self._ask(rendered, prompt)
        results = [_read(reply, prompt) for reply in replies]
        unreadable = [i for i, parsed in enumerate(results) if parsed.value is None and replies[i].answered]
        seconds, second_prompt = self._second_questions(rendered, replies, unreadable, prompt)
        second_replies = self._ask(list(seconds.values()), second_prompt)
        unread: dict[str, Reply] = {}  # by the keys of their calls
        for (i, question), reply in zip(seconds.items(), second_replies, strict=True):
            parsed = _read_second(reply, prompt, second_prompt)
            if parsed.value is not None:
                results[i] = parsed
            elif reply.answered:
                [key] = self._keys([question], second_prompt)
                unread[key] = reply
        unparsed = [i for i, parsed in enumerate(results) if parsed.value is None]
        if unparsed:
            keys = self._keys(rendered, prompt)
            unread |= {keys[i]: replies[i] for i in unparsed if replies[i].answered}
            # The cache has these replies already. This moves them to another name, under which they can be deleted to be
            # asked for again, such as from a server that was repaired.
            values = {key: reply.stored for key, reply in unread.items()}
            self.cache.put(values, model=unread_name(self.name), role=prompt.role)
            self.cache.note(self.name, prompt.role, Usage(unparsed=len(unparsed), unread=len(unread)))
        self._warn(sum(parsed.reason == Reason.IMPROBABLE for parsed in results), len(results))
        in_order = iter(results)
        return [[next(in_order) for _ in group] for group in groups]

    def _second_questions(
        self, rendered: list[str], replies: list[Reply], unreadable: list[int], prompt: Prompt
    ) -> tuple[dict[int, str], Prompt]:
        """Return the second questions by the indices of the unreadable replies, and the prompt that reads their replies."""
        if prompt.begin:
            return {i: f"{rendered[i]}\n\n{prompt.begin}" for i in unreadable}, prompt
        if not prompt.conclude:
            return {}, prompt
        yes_no = prompt.model_copy(update={"reply": "yes-no", "max_tokens": 5, "stop": ()})
        questions = {
            i: f"{rendered[i]}\n\n{replies[i].text}\n\n{prompt.conclude}"
            for i in unreadable
            if not parsers.texts.is_refusal(replies[i].text or "")
        }
        return {i: question for i, question in questions.items() if self._fits(question, yes_no)}, yes_no

    def _warn(self, improbable: int, asked: int) -> None:
        """Warn once if most answers are improbable: the chat template or the prompt may be wrong for this model."""
        if 2 * improbable > asked and not self._warned:
            self._warned = True
            _log.warning(
                "%s: in %d of %d replies, what was asked for (Yes or No, a rating) has less than %.0f %% of the "
                "probability; is this the right `template`, and does the model follow instructions? Such values are "
                "marked '%s'.", self.name, improbable, asked, 100 * _LEAST_MASS, Reason.IMPROBABLE,
            )  # fmt: skip

    def _texts(self, rendered: list[str], prompt: Prompt) -> list[Text]:
        fitting = [[one] if self._fits(one, prompt) else [] for one in rendered]
        return [Text(*one[0]) if one else Text(None, Reason.TOO_LONG) for one in self._parsed(fitting, prompt)]


class _Answer(Parsed):
    """A value read from probabilities; ``contradicted`` is as in ``Verdict``."""

    contradicted = NAN


def _stored(value: Any, choices: int) -> Reply:
    """Rebuild a stored reply; probabilities that no model can have given are an error, as is another shape."""
    reply = reader(Reply)(value)
    probabilities = reply.probabilities
    if probabilities is not None and not (
        len(probabilities) == choices and all(0 <= one < math.inf for one in probabilities)
    ):
        raise ValueError(f"expected {choices} probabilities, found {probabilities}")
    return reply


def _read_second(reply: Reply, prompt: Prompt, second_prompt: Prompt) -> Parsed:
    """Parse the reply to a second question: a list with the right beginning, or the more probable of Yes and No."""
    if prompt.begin:
        return _read(reply, prompt) if _begun(reply, prompt.begin) else Parsed(None)
    value = _read(reply, second_prompt).value
    return Parsed(None) if value is None else Parsed(float(value >= 0.5), Reason.CONCLUDED)


def _begun(reply: Reply, begin: str) -> bool:
    """Whether a reply starts with the first or last line of ``begin``; if not, it may be about something else.

    >>> [_begun(Reply(text), "The claims are:\\n- ") for text in ("The claims are: - It rained.", "- It rained.", "I see.")]
    [True, True, False]
    >>> _begun(Reply("- It rained."), "- "), _begun(Reply("I see."), "- ")
    (True, False)
    """
    lines = begin.split("\n")
    starts = tuple(line.strip() for line in (lines[0], lines[-1]) if line.strip())
    return bool(reply.text) and reply.text.lstrip().startswith(starts)


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
    parsed = parsers.parse(prompt.reply, reply.text, cut=reply.cut)
    return Parsed(parsed.value, Reason.SAMPLED) if choices and parsed.value is not None else parsed


def _claims(group: Sequence[text.Span | Chunk], replies: list[Parsed]) -> Decomposition:
    """The claims of a passage's parts, each once. The claims of a sentence have its place in the passage."""
    claims: dict[str, Claim] = {}
    for part, parsed in zip(group, replies, strict=True):
        place = (part.start, part.end) if isinstance(part, text.Span) else (None, None)
        for claim in parsed.value or ():
            claims.setdefault(claim, Claim(claim, *place))
    reason = next((parsed.reason for parsed in replies if parsed.reason), None)
    return Decomposition(tuple(claims.values()), reason, unread=sum(parsed.value is None for parsed in replies))


def _best(replies: list[Parsed], parts: list[Chunk]) -> Verdict:
    """The verdict with the highest support over a document's parts; if no reply could be read, the first one's reason."""
    if not parts:
        return Verdict(NAN, Reason.TOO_LONG)
    readable = [i for i, parsed in enumerate(replies) if parsed.value is not None]
    if not readable:
        return Verdict(NAN, replies[0].reason, parts[0].sentences if len(parts) == 1 else ())
    best = max(readable, key=lambda i: replies[i].value)
    contradicted = getattr(replies[best], "contradicted", NAN)
    return Verdict(replies[best].value, replies[best].reason, parts[best].sentences, contradicted=contradicted)


def _kindest(replies: list[Parsed]) -> Critique:
    """The critique with the highest support; one without a verdict counts as lower than any."""
    critiques = [parsed.value for parsed in replies if parsed.value is not None]
    if not critiques:
        return Critique("", reason=replies[0].reason if replies else Reason.TOO_LONG)
    best = max(critiques, key=lambda critique: -1.0 if critique.support is None else critique.support)
    return Critique(best.text, NAN if best.support is None else best.support)


# -- models that learned one role ------------------------------------------------------------------------


class _Specialist(PromptedModel):
    """A language model that learned one role only; another model plays the other roles.

    The arguments are those of ``PromptedModel``, the other model, and options of the role, which are in the fingerprint.
    """

    role: str

    def __init__(
        self, language_model: LanguageModel, cache: ResponseCache, prices: Prices | None, other: Model, **options: Any
    ):
        super().__init__(language_model, cache, prices)
        self.fingerprint = call_key(**{self.role: language_model.fingerprint}, other=other.fingerprint, **options)
        self.other = other

    def _by_other(self, role: str, *arguments: Any) -> list:
        return getattr(self.other, role)(*arguments)

    critique = partialmethod(_by_other, "critique")
    revise = partialmethod(_by_other, "revise")
    summarise = partialmethod(_by_other, "summarise")


class Decomposer(_Specialist):
    """A language model that learned to write a summary's claims as sentences, as FENICE's T5 did (section 3.1)."""

    role = "decomposer"

    def decompose(self, passages: Texts, prompt: Prompt) -> list[Decomposition]:
        """See ``Model.decompose``; the prompt is ignored, since the model learned from bare summaries."""
        return super().decompose(passages, prompts.load(_DECOMPOSE_PROMPT))

    verify = partialmethod(_Specialist._by_other, "verify")
    judge = partialmethod(_Specialist._by_other, "judge")


class Verifier(_Specialist):
    """A language model that learned to verify.

    A summary is judged as one claim. The evidence is the other model's, since a language model does not say which sentences
    support a claim. The log odds of both models may be averaged: if they err about different claims, their mean is better
    than either.

    Args:
        language_model, cache, prices: see ``PromptedModel``.
        other: the model that plays the other roles.
        calibration: slope and intercept of the log odds of support (Platt scaling), fitted to validation rows.
        averaged: whether the log odds of support are the mean of both models' log odds.
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

    decompose = partialmethod(_Specialist._by_other, "decompose")

    def verify(
        self, documents: Texts, claims: Sequence[Texts], prompt: Prompt, extras: Texts | None = None
    ) -> list[list[Verdict]]:
        """See ``Model.verify``."""
        ours = super().verify(documents, claims, prompt, extras)
        theirs = self.other.verify(documents, claims, prompt, extras)
        return [
            [self._combined(*pair) for pair in zip(*groups, strict=True)] for groups in zip(ours, theirs, strict=True)
        ]

    def judge(self, documents: Texts, summaries: Texts, prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``; only the other model uses the prompt.

        A prompt that asks for reasoning or has demonstrations gives NaN and a reason.
        """
        if reason := needs_language_model(prompt):
            return [Judgement(NAN, reason)] * len(summaries)
        ours = super().verify(documents, [[summary] for summary in summaries], prompts.load(_VERIFY_PROMPT))
        theirs = self.other.judge(documents, summaries, prompt) if self._averaged else [Judgement(NAN)] * len(summaries)
        verdicts = [
            self._combined(verdict, Verdict(judgement.score, judgement.reason))
            for [verdict], judgement in zip(ours, theirs, strict=True)
        ]
        return [Judgement(verdict.support, verdict.reason) for verdict in verdicts]

    def _combined(self, ours: Verdict, theirs: Verdict) -> Verdict:
        """Calibrate our support, and average it with theirs if that is wanted; NaN if one of the two is missing."""
        from scipy.special import expit, logit  # slow to import, and most models do not need it

        odds, reason = self._slope * logit(ours.support) + self._intercept, ours.reason
        if self._averaged and not math.isnan(odds):
            # Without clipping, one model's probability of 0 or 1 would make the other's irrelevant.
            odds = np.clip([odds, logit(theirs.support)], -_MAX_LOG_ODDS, _MAX_LOG_ODDS).mean()
            reason = theirs.reason if math.isnan(odds) else reason
        return Verdict(float(expit(odds)), reason, theirs.evidence, contradicted=ours.contradicted)


# -- dry runs ------------------------------------------------------------------------------------------


def dry_run(model: PromptedModel) -> PromptedModel:
    """Return a copy of the model that makes no calls (``--dry-run``); ``cache.usage`` counts those that it would make.

    Prompts are counted in full, although an engine that shares prefixes reads less. Replies are counted as the longest
    possible. Every decomposition by the language model gives ``CLAIMS`` claims. Calls that are in the model's cache are not
    counted. Nothing is stored.

    >>> from claimwise.models.replies import RecordedReplies
    >>> dry = dry_run(PromptedModel(RecordedReplies("m", {}), ResponseCache(":memory:")))
    >>> claims = dry.decompose(["It rained."], prompts.load("acueval-decompose-5shot"))[0].claims
    >>> _ = dry.verify(["It rained."], [[claim.text for claim in claims]], prompts.load("acueval-verify-zeroshot"))
    >>> dry.cache.usage.calls
    9
    """
    dry = copy.copy(model)
    dry.language_model, dry.cache = _Counting(model.language_model), _Unwritten(model.cache)
    if isinstance(dry, _Specialist):
        # The other model may write the claims that are counted, but must not verify or judge invented texts, nor store its own.
        dry.other = copy.copy(dry.other)
        dry.other.cache = _Unwritten(model.cache)
        dry.other.verify = lambda documents, claims, *_: [[Verdict(NAN)] * len(group) for group in claims]
        dry.other.judge = lambda documents, *_: [Judgement(NAN)] * len(documents)
    return dry


class _Unwritten(ResponseCache):
    """A response cache that is read but never written. New values stay in memory, so that a call is counted once."""

    def __init__(self, cache: ResponseCache):
        super().__init__(":memory:")
        self._cache, self.usage, self.claims_assumed = cache, Usage(), False

    def get(self, keys: Sequence[str], *read: Callable[[Any], Any]) -> dict[str, Any]:
        new = super().get(keys, *read)
        return new | self._cache.get([key for key in keys if key not in new], *read)

    def note(self, model: str, role: str, usage: Usage) -> None:
        self.usage += usage
        self.claims_assumed |= role == "decompose" and usage.calls > 0


class _Counting:
    """A stand-in for a language model that replies with a list of claims, or with equal probabilities.

    No two of its lists are equal, so that all calls which verify their claims are counted.
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
