"""Texts that several tests use."""

import pandas as pd

from claimwise.prompts.sources import Source, joined

PAPERS = joined(
    [
        Source("Ling (2009)", "Rain", "It rained for days in the north."),
        Source("Roy et al. (2011)", "Snow", "It snowed for weeks in the south."),
    ]
)

_STORIES = {
    "ferry": ("A ferry left Tarn at noon with forty people.", "The ferry left at noon.", "A ferry sank in Tarn."),
    "mill": ("A mill burned in Leeds and nobody was hurt.", "A mill burned in Leeds.", "Nobody was hurt in Leeds."),
    "storm": ("A storm closed the harbour for three days.", "It rained for years.", "A storm closed the harbour."),
    "dam": ("The dam held although the river rose.", "The dam broke.", "The dam held."),
}
#: Each story's summary by a person and by a model, as a user's file has them.
PAIRS = pd.DataFrame(
    [
        {"id": f"{key}-{who}", "document": document, "summary": summary, "system": who}
        for key, (document, *summaries) in _STORIES.items()
        for who, summary in zip(("person", "model"), summaries, strict=True)
    ]
)
