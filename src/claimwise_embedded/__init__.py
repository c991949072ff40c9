"""The embedded model: every role on a laptop's CPU, offline, with weights that ship with the package."""

import hashlib
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

from claimwise import prompts, text
from claimwise.models.base import (
    NAN,
    Critique,
    Decomposition,
    Feedback,
    Judgement,
    Source,
    Text,
    Verdict,
    needs_language_model,
)
from claimwise.models.options import Options
from claimwise.prompts import Prompt
from claimwise_embedded.checksums import WEIGHTS

#: Raise it with every change of code that changes an answer: calls that were cached under the old one are then made
#: again. A test compares answers with those written down for this version.
VERSION = 3

#: From this doubt on a word is called unsupported: it is more probably so than not.
DOUBTED = 0.5
#: By ``python tools/word_marks.py``; docs/model_card.md says the same.
_WORDS_MEASURED = (
    "These marks are weak. In 105 partly supported claims (WiCE) 82 % of the marked words were words that people had marked "
    "(of all words 32 %), and half of the people's words were found; in 364 unfaithful summaries (GenAudit, USB) 38 % were "
    "right (of all words 10 %), and 9 % were found."
)


class EmbeddedOptions(Options):
    """Options of ``kind: embedded``.

    Attributes:
        weights: ``supervised`` (learned from everything that is not tested on, the validation part of AggreFact and
            other benchmarks with it) or ``zero-shot`` (without AggreFact and the corpora that it is made of).
    """

    weights: Literal["supervised", "zero-shot"] = "supervised"

    @property
    def folder(self) -> Path:
        """Where the verifier's weights are; those of the other parts have no variants."""
        return WEIGHTS / ("" if self.weights == "supervised" else self.weights)


class EmbeddedModel:
    """Plays all roles with MiniLM features and small learned heads; each part is loaded when it is first needed.

    It reads no prose: a prompt reaches it as data (its demonstrations, whether it works by sentence or by passage,
    which context it shows).

    Args:
        options: which weights; the supervised ones, if not given.
    """

    def __init__(self, options: EmbeddedOptions | None = None) -> None:
        self._options = options or EmbeddedOptions()
        measured = self._options.weights == "supervised"
        self.name = "embedded" if measured else f"embedded-{self._options.weights}"
        self.words_measured = _WORDS_MEASURED if measured else ""

    @cached_property
    def fingerprint(self) -> str:
        """Name, version of the code, and hash of the weights: calls cached under another one are not used."""
        digest = hashlib.sha256()
        for folder in dict.fromkeys((WEIGHTS, self._options.folder)):
            for file in sorted(entry for entry in folder.iterdir() if entry.is_file()):
                digest.update(file.name.encode() + b"\0" + file.read_bytes())
        return f"{self.name}:{VERSION}:{digest.hexdigest()}"

    @cached_property
    def verifier(self):
        """The ``Verifier`` with this model's weights."""
        from claimwise_embedded.verifier import Verifier

        return Verifier(self._options.folder)

    def decompose(self, passages: Sequence[str], prompt: Prompt) -> list[Decomposition]:
        """See ``Model.decompose``."""
        from claimwise_embedded.decomposer import decompose

        return decompose(passages, prompt)

    def verify(
        self,
        documents: Sequence[str],
        claims: Sequence[Sequence[str]],
        prompt: Prompt,
        extras: Sequence[str] | None = None,
    ) -> list[list[Verdict]]:
        """See ``Model.verify``."""
        if reason := needs_language_model(prompt):
            return [[Verdict(NAN, reason)] * len(group) for group in claims]
        return self.verifier.verify(documents, claims, prompt, extras)

    def unsupported_words(self, documents: Sequence[str], texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """See ``WordMarker``.

        >>> EmbeddedModel().unsupported_words(["The harbour reopened on Monday."], ["The harbour reopened on Friday."])
        [[(24, 30)]]
        """
        from claimwise_embedded.localisation import Localiser

        found = Localiser(self.verifier).mark(documents, texts)
        return [[(word.start, word.end) for word in words if word.doubt > DOUBTED] for words in found]

    def judge(self, documents: Sequence[str], summaries: Sequence[str], prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``: the whole summary as one unit, no claims."""
        if reason := needs_language_model(prompt):
            return [Judgement(NAN, reason)] * len(summaries)
        return self.verifier.score_whole(documents, summaries)

    def critique(self, documents: Sequence[str], statements: Sequence[str], prompt: Prompt) -> list[Critique]:
        """See ``Model.critique``. A prompt that asks for a verdict on a claim (Factored Verification A.3.1) gets the
        verifier's; any other what a look at the whole statement finds."""
        from claimwise_embedded import reviser

        if prompt.reply == "critique-block":
            verdicts = self.verifier.verify(documents, [[statement] for statement in statements], prompt)
            return reviser.critique_claims(documents, statements, [verdict for [verdict] in verdicts])
        return reviser.critique(documents, statements, self.judge(documents, statements, prompt))

    def revise(
        self, documents: Sequence[str], summaries: Sequence[str], feedback: Sequence[Feedback], prompt: Prompt
    ) -> list[Text]:
        """See ``Model.revise``."""
        from claimwise_embedded import reviser

        # Whatever the prompt, edits are held against the document alone.
        verify = partial(self.verifier.verify, prompt=prompts.load("acueval-verify-zeroshot"))
        return reviser.revise(verify, documents, summaries, feedback)

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Sequence[str], prompt: Prompt) -> list[Text]:
        """See ``Model.summarise``: of each source the sentence nearest to the question, cited."""
        return [_extract(group, question) for group, question in zip(sources, questions, strict=True)]


def _extract(sources: Sequence[Source], question: str) -> Text:
    from claimwise_embedded.encoder import shared_encoder

    lines = []
    for source in sources:
        spans = text.sentences(source.text)
        if spans:
            pieces = [question, *(span.text for span in spans)]
            vectors = [encoded.whole for encoded in shared_encoder().encode(pieces, [[]] * len(pieces))]
            nearness = [float(vectors[0] @ vector) for vector in vectors[1:]]
            best = nearness.index(max(nearness))
            lines.append((nearness[best], f"{source.reference} reports: {spans[best].text}"))
    if not lines:
        return Text(None, "no source has text")
    return Text(" ".join(line for _, line in sorted(lines, reverse=True)))
