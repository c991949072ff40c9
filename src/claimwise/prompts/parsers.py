"""Parse a model's reply: one parser for each kind of ``reply`` that a prompt may name.

A parser returns a value, or no value and the reason; it never guesses. It accepts what a careful reader would accept:
numbers past 9, bullets of every kind, preambles, code fences, trailing commas, "Yes." with an explanation. Refusals and
empty replies have reasons of their own. Reasons do not quote the reply, so that tables can count them; the reply itself
is in the response cache.

==================  ==================================================  ===================================
kind                reply                                               value
==================  ==================================================  ===================================
list                a bulleted or numbered list                         tuple of str
json-claims         JSON with a list of texts                           tuple of str
sentences           sentences, each a claim                             tuple of str
yes-no, true-false  the answer first, then perhaps an explanation       1.0 or 0.0
hallucinated-yes-no the same, but "yes" means not supported             0.0 or 1.0
final-yes-no        reasoning, then the answer                          1.0 or 0.0
supported-reasoning "Reasoning: ... Supported: Yes"                     1.0 or 0.0
supported-label     supported / partially_supported / not_supported     1.0, 0.25 or 0.0
claims-supported    a list of claims, each with "Supported: Yes"        1.0 if all are, else 0.0
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
        read: the parser, a function of the reply and of whether it was cut off.
        choices: answers of one token, and their values. If a model gives probabilities, the value is the mean of these
            values weighted by the answers' probabilities: p(Yes) / (p(Yes) + p(No)) (ACUEval sec. 3), and sum k p(k)
            rescaled from 1-5 to [0, 1] (ACUEval appendix A).
        schema: a JSON schema of the reply, for servers that can enforce one.
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

#: Kinds of reply that reason before they answer yes or no.
REASONED = ("final-yes-no", "supported-reasoning", "claims-supported")

#: The kinds of reply that a role's prompts may have.
FOR_ROLE: Mapping[str, Mapping[str, Kind]] = {
    "decompose": _CLAIMS,
    "verify": _NUMBERS,
    "judge": _NUMBERS,
    "critique": _CRITIQUES,
    "revise": _TEXTS,
    "summarise": _TEXTS,
}

#: The most characters of a reply that are read, without its thoughts: some patterns take quadratic time.
_LONGEST = 20_000
#: A long run of white space: a broken model may write it up to its length limit, and patterns would take minutes.
_BLANK = re.compile(r"\s{20,}")
#: The marks around a model's thoughts: <think>, [THINK] (Magistral), <seed:think>, the channels of gpt-oss.
_THOUGHT = r"(?:seed:)?(?:think|thinking|thought)[>\]▷]"
_THOUGHTS = re.compile(rf"[<\[◁]{_THOUGHT}|<\|channel\|>", re.IGNORECASE)
_THOUGHTS_END = re.compile(
    rf"[<\[◁]/{_THOUGHT}|<\|channel\|>final\s*(?:<\|constrain\|>\s*\w+\s*)?<\|message\|>", re.IGNORECASE
)


def parse(kind: str, reply: str | None, *, cut: bool = False) -> Parsed:
    """Parse a reply of a kind of ``KINDS``.

    The model's thoughts, which some servers leave above the answer, are not read. Replies are read up to 20,000 characters,
    four times what the longest one needs.

    ``cut`` is whether the reply was stopped by its length limit. Then the last, unfinished item of a list is left out, and
    the other items have a reason beside them; if there are none, there is no value. A text that was cut has no value,
    because what it lacks would count as left out on purpose. Nor has reasoning that did not reach its answer.

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
    # Only the closing mark is looked for: the opening one may be in the model's chat template and so not in the reply.
    reply = _THOUGHTS_END.split(reply or "")[-1].strip()
    if not reply:
        return Parsed(None, Reason.EMPTY_REPLY)
    if _THOUGHTS.match(reply):
        return Parsed(None, Reason.CUT)
    content = reply if kind in _TEXTS else _BLANK.sub("\n\n", reply)
    parsed = read(content[:_LONGEST], cut or len(content) > _LONGEST)
    return Parsed(None, Reason.REFUSAL) if parsed.value is None and texts.is_refusal(reply) else parsed
