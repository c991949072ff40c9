"""How right are the words that the embedded model marks as unsupported? Against the spans that people marked.

    python tools/word_marks.py

WiCE's test part and GenAudit's and USB's summaries, each read by the checker that has not seen its document; the corpora need
CLAIMWISE_MIRROR or the network. ``right``: the share of the marked words that stand in a span; ``chance``: that of all words;
``found``: the share of the words in spans that are marked. docs/model_card.md and the page of a scored file say these figures.
"""

from claimwise import corpora
from claimwise_embedded import DOUBTED
from claimwise_embedded.localisation import Localiser, marked_words


def main() -> None:
    """Print a line a corpus."""
    localiser = Localiser()
    for name in ("wice_spans", "genaudit_usb"):
        corpus = corpora.load(name)
        words = marked_words(corpus.examples, corpus.spans, localiser).dropna(subset=["doubt"])
        people, ours = words["span"] >= 0, words["doubt"] > DOUBTED
        print(
            f"{name}: {words['example_id'].nunique()} texts, {ours.sum()} words marked, right {people[ours].mean():.2f} "
            f"(chance {people.mean():.2f}), found {ours[people].mean():.2f}"
        )


if __name__ == "__main__":
    main()
