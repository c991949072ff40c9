"""How a reply is asked for: all that changes a language model's reply besides the text that it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

#: Kinds of reply whose answer is one of a few tokens: a model that gives probabilities is asked for those of the
#: answers, and the value is their mean weighted by probability: p(Yes) / (p(Yes) + p(No)) (ACUEval sec. 3), and
#: sum k p(k) rescaled from 1-5 to [0, 1] (ACUEval appendix A).
CHOICES: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "yes-no": {"Yes": 1.0, "No": 0.0},
        "true-false": {"True": 1.0, "False": 0.0},
        "hallucinated-yes-no": {"Yes": 0.0, "No": 1.0},
        "rating-1-5": {str(k): (k - 1) / 4 for k in range(1, 6)},
    }
)

#: JSON schemas, by kind of reply, for servers that can hold a reply to one.
SCHEMAS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "json-claims": {
            "type": "object",
            "properties": {"claims": {"type": "array", "items": {"type": "string"}}},
            "required": ["claims"],
            "additionalProperties": False,
        }
    }
)


@dataclass(frozen=True)
class Decoding:
    """What goes to a language model beside a rendered prompt; with that text, it is what a remembered reply answers.

    Attributes:
        max_tokens: longest reply.
        stop: texts that end a reply.
        choices: answers whose probabilities are asked for; none where a text is.
        schema: a JSON schema of the reply, for models that can be held to one.
    """

    max_tokens: int
    stop: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
