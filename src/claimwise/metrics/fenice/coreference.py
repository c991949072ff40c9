"""Mentions of one thing under several names, found by rules or by a neural resolver (FENICE section 3.3).

A resolver turns a document into *chains*: groups of mentions (character spans) of the same entity. ``variants``
turns a sentence and the chains into the sentences that say the same of another mention.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from claimwise.errors import ClaimwiseError
from claimwise.metrics.fenice.coreference_rules import Rules, is_pronoun
from claimwise.models.options import Options, of_kind

Span = tuple[int, int]
Chain = tuple[Span, ...]

#: Pronouns that own; "her" may be one ("her team") or none ("saw her").
_POSSESSIVE = frozenset("his its their our my your".split())
#: Words that no possessive stands before: "saw her on Monday".
_NEVER_OWNED = frozenset(
    "to in on at for from with by and or but as when while after before that because if of".split()
)
#: The form of a pronoun where a sentence begins, and that which owns.
_SUBJECT = {"him": "he", "her": "she", "them": "they"}
_OWNING = {"he": "his", "him": "his", "she": "her", "it": "its", "they": "their", "them": "their"}
_DETERMINERS = frozenset("the a an this that these those".split())


class CoreferenceError(ClaimwiseError):
    """The settings name no resolver, or its package or model is not there."""


class Resolver(Protocol):
    """Finds chains."""

    name: str

    def chains(self, document: str) -> list[Chain]:
        """Groups of at least two mentions of one entity, in the order of their first mentions."""
        ...


class NeuralResolver:
    """fastcoref's model (F-COREF), where that package is installed: ``pip install fastcoref``.

    ``checkpoint`` is a local folder or hub id.

    Raises:
        CoreferenceError: the package is not installed, or the checkpoint cannot be loaded.
    """

    def __init__(self, checkpoint: str = "biu-nlp/f-coref", device: str = "cpu") -> None:
        level = logging.getLogger().level
        try:
            import datasets
            import spacy
            from fastcoref import FCoref
            from fastcoref.coref_models.modeling_fcoref import FCorefModel
        except ImportError as error:
            raise CoreferenceError(
                f"the neural resolver needs the package fastcoref ({error}): pip install fastcoref, or take {{kind: rules}}"
            ) from None
        # Importing fastcoref makes every library talk, and it shows a bar a document.
        logging.getLogger().setLevel(level)
        datasets.logging.set_verbosity_error()
        datasets.disable_progress_bars()
        if not hasattr(FCorefModel, "all_tied_weights_keys"):
            # transformers 5 asks every model for it; fastcoref 2.1.6 is of the time of 4, and ties no weights.
            FCorefModel.all_tied_weights_keys = {}
        self.name = f"fastcoref:{checkpoint}"
        try:
            # Words are all that it needs of spaCy, and a blank pipeline finds them without a download.
            self._model = FCoref(checkpoint, device, nlp=spacy.blank("en"), enable_progress_bar=False)
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise CoreferenceError(
                f"fastcoref cannot load {checkpoint!r}: {type(error).__name__}: {error}; expected a folder with "
                "config.json (with its coref_head), weights and a tokenizer, or a hub id that can be downloaded from "
                "here, and a version of transformers that fastcoref knows; or take {kind: rules}"
            ) from error

    def chains(self, document: str) -> list[Chain]:
        """See ``Resolver.chains``; mentions that fastcoref cannot place in the text are left out."""
        [found] = self._model.predict(texts=[document])
        chains = (
            tuple(sorted({tuple(span) for span in cluster if span is not None and None not in span}))
            for cluster in found.get_clusters(as_strings=False)
        )
        return sorted(chain for chain in chains if len(chain) > 1)


class NeuralOptions(Options):
    """The options of ``kind: neural``; see ``NeuralResolver``."""

    checkpoint: str = "biu-nlp/f-coref"
    device: str = "cpu"


def load(settings: Mapping[str, Any]) -> Resolver:
    """The resolver that a metric's ``coreference`` entry describes: ``kind`` (rules or neural) and its options.

    Equal entries share one resolver.

    Raises:
        CoreferenceError: the kind is unknown, or the resolver cannot be loaded.
        ModelError: an option is unknown or malformed.

    >>> load({"kind": "rules"}).name
    'rules'
    """
    kinds = {"rules": lambda: (Rules, Options), "neural": lambda: (NeuralResolver, NeuralOptions)}
    return of_kind("coreference", settings, kinds, CoreferenceError)


def variants(document: str, start: int, end: int, chains: Iterable[Chain]) -> list[str]:
    """The passage ``document[start:end]`` with one mention replaced by another of its chain, each in turn.

    Every mention in the passage is replaced by every other form that its chain has in the document, forms that
    differ in case only being one. A possessive stays possessive ("his" becomes "Ann's"), the first word of the
    passage stays capitalised. A mention that is the whole passage is not replaced: nothing of what the passage
    says would be left.

    >>> document = "Ann Lee won. Her team cheered."
    >>> variants(document, 13, 30, [((0, 7), (13, 16))])
    ["Ann Lee's team cheered."]
    """
    passage = document[start:end]
    found: dict[str, None] = {}
    for chain in chains:
        inside = [span for span in chain if start <= span[0] and span[1] <= end]
        forms = _forms(document, chain) if inside else {}
        for a, b in inside:
            mention = document[a:b]
            if not re.search(r"\w", passage[: a - start] + passage[b - start :]):
                continue
            marked = document[b : b + 2] in ("'s", "’s")  # the resolver leaves it out of the mention
            possessive = marked or _is_possessive(document, a, b)
            rest = passage[(b + 2 if marked else b) - start :]
            for form, owns in forms.items():
                if (
                    form.lower() == mention.lower()
                    or mention.lower() == _bare(form).lower()
                    or (owns and not possessive)
                ):
                    continue
                new = _fit(form, possessive, a == start)
                found[passage[: a - start] + new + rest] = None
    found.pop(passage, None)
    return list(found)


def _forms(document: str, chain: Chain) -> dict[str, bool]:
    """The forms of a chain's mentions, by first occurrence, and whether it is a pronoun that only ever owns ("its team")."""
    forms: dict[str, tuple[str, bool]] = {}
    for a, b in chain:
        text = document[a:b]
        owns = is_pronoun(text) and _is_possessive(document, a, b)
        first, before = forms.get(text.lower(), (text, True))
        forms[text.lower()] = first, owns and before
    return dict(forms.values())


def _is_possessive(document: str, start: int, end: int) -> bool:
    mention = document[start:end].lower()
    if mention == "her":
        following = re.match(r"\s{1,19}([a-z]\w*)", document[end : end + 30])
        return following is not None and following[1] not in _NEVER_OWNED
    return mention in _POSSESSIVE or mention.endswith(("'s", "’s"))


def _bare(form: str) -> str:
    return re.sub(r"['’]s$", "", form)


def _fit(form: str, possessive: bool, first: bool) -> str:
    """A form as it must stand where another one stood: owning or not, and first in the passage or not."""
    new = _bare(form)
    if possessive and not is_pronoun(new):
        new += "'" if new.endswith("s") else "'s"
    elif possessive:
        new = _OWNING.get(new.lower(), new)
    if first:  # where the subject stands
        new = new if possessive else _SUBJECT.get(new.lower(), new)
        return new[:1].upper() + new[1:]
    small = is_pronoun(new) or new.split(" ")[0].lower() in _DETERMINERS
    return new[:1].lower() + new[1:] if small else new
