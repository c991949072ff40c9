"""What a model's reply says: one parser for each ``reply`` kind that a prompt may name.

A parser returns a value, or none and the reason why; it never guesses. What a careful reader would accept is
accepted: numbers past 9, bullets of every kind, preambles, code fences, trailing commas, "Yes." with an
explanation. Refusals and empty replies have a reason of their own. Reasons do not quote the reply, so that
tables can count them; the reply itself is in the response cache.

==================  ==================================================  ===================================
kind                reply                                               value
==================  ==================================================  ===================================
list                a bulleted or numbered list                         tuple of str
json-claims         JSON with a list of texts                           tuple of str
sentences           sentences, each a claim                             tuple of str
yes-no, true-false  the answer first, then perhaps an explanation       1.0 or 0.0
hallucinated-yes-no the same, "yes" for what is not supported          0.0 or 1.0
final-yes-no        reasoning, then the answer                          1.0 or 0.0
supported-reasoning "Reasoning: ... Supported: Yes"                     1.0 or 0.0
supported-label     supported / partially_supported / not_supported     1.0, 0.25 or 0.0
claims-supported    a list of claims, each with "Supported: Yes"        1.0 where all are, else 0.0
rating-1-5, stars   a number from 1 to 5, anywhere sensible             (s - 1) / 4
rating-0-100        a number from 0 to 100                              s / 100
choice-a-e          a letter, E best                                    0.0, 0.25 ... 1.0
critique-block      "Critique: ... Supported: ... Revised Claim: ..."   ``CritiqueParts``
rating-comment      a rating, then a comment                            ``CritiqueParts``
feedback            "Feedback: ..."                                     ``CritiqueParts``
corrected-summary   "Corrected summary: ..."                            str
text                anything                                            str
==================  ==================================================  ===================================
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from claimwise.prompts import answers, texts
from claimwise.reasons import Parsed, Reason


class Kind(NamedTuple):
    """A kind of reply.

    Attributes:
        read: gets a reply and whether it was cut off.
        choices: answers of one token, and their values. A model that gives probabilities is asked for those of the
            answers, and the value is their mean weighted by probability: p(Yes) / (p(Yes) + p(No)) (ACUEval sec. 3), and
            sum k p(k) rescaled from 1-5 to [0, 1] (ACUEval appendix A).
        schema: a JSON schema, for servers that can hold a reply to one.
    """

    read: Callable[[str, bool], Parsed]
    choices: Mapping[str, float] = {}
    schema: Mapping[str, Any] | None = None


_CLAIMS = {
    "list": Kind(texts.bullets),
    "json-claims": Kind(
        texts.json_claims,
        schema={
            "type": "object",
            "properties": {"claims": {"type": "array", "items": {"type": "string"}}},
            "required": ["claims"],
            "additionalProperties": False,
        },
    ),
    "sentences": Kind(texts.sentences),
}
_NUMBERS = {
    "yes-no": Kind(answers.answer_first("yes", "no"), {"Yes": 1.0, "No": 0.0}),
    "hallucinated-yes-no": Kind(answers.answer_first("yes", "no", support=0.0), {"Yes": 0.0, "No": 1.0}),
    "true-false": Kind(answers.answer_first("true", "false"), {"True": 1.0, "False": 0.0}),
    "final-yes-no": Kind(answers.final_yes_no),
    "supported-reasoning": Kind(answers.supported),
    "supported-label": Kind(answers.supported_label),
    "claims-supported": Kind(answers.claims_supported),
    "rating-1-5": Kind(answers.one_to_five, {str(k): (k - 1) / 4 for k in range(1, 6)}),
    "stars": Kind(answers.one_to_five),
    "rating-0-100": Kind(answers.zero_to_hundred),
    "choice-a-e": Kind(answers.a_to_e),
}
_CRITIQUES = {
    "critique-block": Kind(texts.critique_block),
    "rating-comment": Kind(texts.rating_comment),
    "feedback": Kind(texts.feedback),
}
_TEXTS = {"corrected-summary": Kind(texts.corrected), "text": Kind(texts.plain_text)}

KINDS: Mapping[str, Kind] = _CLAIMS | _NUMBERS | _CRITIQUES | _TEXTS

#: Replies that are worked out in words before a yes or no.
REASONED = ("final-yes-no", "supported-reasoning", "claims-supported")

#: The kinds of reply whose value a role has a use for.
FOR_ROLE: Mapping[str, Mapping[str, Kind]] = {
    "decompose": _CLAIMS,
    "verify": _NUMBERS,
    "judge": _NUMBERS,
    "critique": _CRITIQUES,
    "revise": _TEXTS,
    "summarise": _TEXTS,
}

#: Characters of a reply that are read, after its thoughts: some patterns' time grows with the square of its length.
_LONGEST = 20_000
#: White space that a model which has lost its way writes up to its length limit, and patterns would go over for minutes.
_BLANK = re.compile(r"\s{20,}")
#: Between what marks models write their thoughts: <think>, [THINK] (Magistral), <seed:think>, the channels of gpt-oss.
_THOUGHT = r"(?:seed:)?(?:think|thinking|thought)[>\]▷]"
_THOUGHTS = re.compile(rf"[<\[◁]{_THOUGHT}|<\|channel\|>", re.IGNORECASE)
_THOUGHTS_END = re.compile(
    rf"[<\[◁]/{_THOUGHT}|<\|channel\|>final\s*(?:<\|constrain\|>\s*\w+\s*)?<\|message\|>", re.IGNORECASE
)


def parse(kind: str, reply: str | None, *, cut: bool = False) -> Parsed:
    """Read a reply.

    Of the model's thoughts, which some servers leave above the answer, nothing is read. ``cut``: the reply was stopped by
    its length limit. The item of a list in which that happened is left out, and the reason stands beside those that were
    read; where it was the only one there is no value. Neither has a text: what it lacks would count as left out on purpose;
    nor has reasoning that did not get to the answer that it was asked for. Any reply is cut at 20,000 characters, four times
    what the longest one takes.

    Raises:
        KeyError: there is no such kind.

    >>> parse("list", "Sure! Here they are:\\n 9. It rained.\\n10) We left.").value
    ('It rained.', 'We left.')
    >>> parse("yes-no", "**Yes**, because the passage says so.").value, parse("yes-no", "Perhaps.")
    (1.0, Parsed(value=None, reason='neither yes nor no'))
    >>> parse("rating-1-5", "It omits a name. Final score: 4/5").value
    0.75
    >>> parse("yes-no", "<think>Is it so? Yes.</think>No.").value, parse("yes-no", "<think>Yes. No. Is it")
    (0.0, Parsed(value=None, reason='cut off at its length limit'))
    """
    read = KINDS[kind].read
    reply = _THOUGHTS_END.split(reply or "")[-1].strip()  # a template may have written the opening mark
    if not reply:
        return Parsed(None, Reason.EMPTY_REPLY)
    if _THOUGHTS.match(reply):
        return Parsed(None, Reason.CUT)
    shown = reply if kind in _TEXTS else _BLANK.sub("\n\n", reply)
    found = read(shown[:_LONGEST], cut or len(shown) > _LONGEST)
    return Parsed(None, Reason.REFUSAL) if found.value is None and texts.is_refusal(reply) else found
