"""Reasons for a missing value: a failure is NaN or None with a reason, never a guess."""

from enum import StrEnum
from typing import Any, NamedTuple


class Reason(StrEnum):
    """The reasons that code compares; tables contain their texts. Other reasons are texts with details."""

    EMPTY_SUMMARY = "empty summary"
    EMPTY_DOCUMENT = "empty document"
    NO_SUMMARY = "a refusal, no summary"
    EMPTY_CLAIM = "empty claim"
    NO_WORDS = "the summary has no words"
    DOCUMENT_WITHOUT_WORDS = "the document has no words"
    CLAIM_WITHOUT_WORDS = "the claim has no words"
    NO_CONTENT_WORDS = "no content words"
    NO_CLAIMS = "no claims"
    TOO_LONG = "longer than the model's context"
    NO_REASONING = "this model does not reason in words"
    NO_EXAMPLES = "this model does not learn from examples of whole summaries"

    EMPTY_REPLY = "empty reply"
    #: Also beside claims: the list was not finished.
    CUT = "cut off at its length limit"
    REFUSAL = "refusal"
    NO_LIST = "no list in the reply"
    REFUSED_AS_TOO_LONG = "the server refused the prompt as too long"
    NO_TEXT = "the server sent no text"

    #: Beside a value: it is the written answer, because the model gives no probabilities.
    SAMPLED = "sampled"
    #: Beside a value: the reasoning had no answer, so a second call asked for the answer alone.
    CONCLUDED = "asked for the answer after reasoning without one"
    #: Beside a value: the expected answers have a low probability.
    IMPROBABLE = "improbable"
    #: Beside a score.
    SOME_UNJUDGED = "some claims have no verdict and do not count"

    __repr__ = str.__repr__  # so that messages show the text


#: Reasons for which no model was asked, so that there was no reply to parse.
NOT_ASKED = frozenset(
    {
        Reason.EMPTY_SUMMARY,
        Reason.EMPTY_DOCUMENT,
        Reason.NO_SUMMARY,
        Reason.EMPTY_CLAIM,
        Reason.NO_WORDS,
        Reason.DOCUMENT_WITHOUT_WORDS,
        Reason.CLAIM_WITHOUT_WORDS,
        Reason.NO_CONTENT_WORDS,
        Reason.TOO_LONG,
        Reason.NO_REASONING,
        Reason.NO_EXAMPLES,
    }
)


class Parsed(NamedTuple):
    """The value of a reply, or None and the reason. A value may have a reason, too: a remark on it."""

    value: Any
    reason: str | None = None
