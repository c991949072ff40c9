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

#: Raise it with every code change that changes an answer, so that answers cached under the old version are not used.
#: A test compares answers with those stored for this version.
VERSION = 3

#: A word with more doubt than this is marked as unsupported.
DOUBTED = 0.5
#: Measured by ``python tools/word_marks.py``; also in docs/model_card.md.
_WORDS_MEASURED = (
    "These marks are weak. In 105 partly supported claims (WiCE) 82 % of the marked words were words that people had marked "
    "(of all words 32 %), and half of the people's words were found; in 364 unfaithful summaries (GenAudit, USB) 38 % were "
    "right (of all words 10 %), and 9 % were found."
)


class EmbeddedOptions(Options):
    """Options of ``kind: embedded``.

    Attributes:
        weights: ``supervised`` (learned from all training corpora, including the validation parts of AggreFact and
            other benchmarks) or ``zero-shot`` (learned without AggreFact and the corpora that it is made of).
    """

    weights: Literal["supervised", "zero-shot"] = "supervised"

    @property
    def folder(self) -> Path:
        """The folder of the verifier's weights. Other parts have no variants."""
        return WEIGHTS / ("" if self.weights == "supervised" else self.weights)


class EmbeddedModel:
    """Plays all roles with MiniLM features and small learned heads. Each part is loaded when it is first needed.

    It does not read a prompt's text, only its settings: the demonstrations, by sentence or by passage, which context is shown.

    Args:
        options: says which weights to use; by default the supervised ones.
    """

    def __init__(self, options: EmbeddedOptions | None = None) -> None:
        self._options = options or EmbeddedOptions()
        measured = self._options.weights == "supervised"
        self.name = "embedded" if measured else f"embedded-{self._options.weights}"
        self.words_measured = _WORDS_MEASURED if measured else ""

    @cached_property
    def fingerprint(self) -> str:
        """The name, the code's version and a hash of the weights. Cached answers with another fingerprint are not used."""
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

        marked = Localiser(self.verifier).mark(documents, texts)
        return [[(word.start, word.end) for word in words if word.doubt > DOUBTED] for words in marked]

    def judge(self, documents: Sequence[str], summaries: Sequence[str], prompt: Prompt) -> list[Judgement]:
        """See ``Model.judge``. The whole summary is read as one claim."""
        if reason := needs_language_model(prompt):
            return [Judgement(NAN, reason)] * len(summaries)
        return self.verifier.score_whole(documents, summaries)

    def critique(self, documents: Sequence[str], statements: Sequence[str], prompt: Prompt) -> list[Critique]:
        """See ``Model.critique``. If the prompt asks for a verdict on a claim (Factored Verification A.3.1), the verifier
        gives it. Otherwise the judge of whole summaries does."""
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

        # For any prompt, edits are verified against the document alone.
        verify = partial(self.verifier.verify, prompt=prompts.load("acueval-verify-zeroshot"))
        return reviser.revise(verify, documents, summaries, feedback)

    def summarise(self, sources: Sequence[Sequence[Source]], questions: Sequence[str], prompt: Prompt) -> list[Text]:
        """See ``Model.summarise``. The summary is each source's sentence nearest to the question, with a citation."""
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
