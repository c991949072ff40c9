"""SummEval (Fabbri et al. 2021): expert ratings of CNN/DM summaries, 12 of its 16 systems."""

from __future__ import annotations

from collections import Counter
from statistics import mean

from claimwise.corpora.base import Corpus, Rows
from claimwise.corpora.files import read_jsonl
from claimwise.corpora.registry import Registry

#: The 16 systems in the order of the original file, document after document, whose even rows ACUEval takes as
#: validation and whose odd rows as test: 16 being even, the halves share documents and hold disjoint systems.
ORDER = tuple("M11 M13 M1 M14 M15 M12 M5 M17 M20 M2 M0 M10 M9 M8 M23 M22".split())


def label(ratings: list[int]) -> int | None:
    """1 where the mode of the three consistency ratings is 5, else 0; None where all three differ.

    >>> label([5, 5, 2]), label([4, 4, 5]), label([3, 4, 5])
    (1, 0, None)
    """
    [(rating, votes)] = Counter(ratings).most_common(1)
    return int(rating == 5) if votes > 1 else None


def load(files: Registry) -> Corpus:
    """Examples with the experts' label, and their mean consistency rating (1-5) as a published score.

    Three-way ties are left out and counted. ``split`` is ACUEval's (see ``ORDER``); for a split that keeps
    documents together, group by ``document_id``.
    """
    rows = Rows("summeval")
    for path in files.paths("summeval", "model_output_annotations/*"):
        for entry in read_jsonl(files.fetch("summeval", path)):
            ratings = [annotation["consistency"] for annotation in entry["expert_annotations"]]
            faithful = label(ratings)
            if faithful is None:
                rows.note("three-way ties left out")
                continue
            example = rows.example(
                entry["id"],
                entry["model_id"],
                document=entry["text"],
                summary=entry["decoded"],
                split="test" if ORDER.index(entry["model_id"]) % 2 else "validation",
                origin="cnndm",
                label=faithful,
            )
            rows.score(example, "human consistency (mean)", mean(ratings))
    return rows.corpus()
