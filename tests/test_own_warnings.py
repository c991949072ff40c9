"""What a user's file and prompts are warned of, and when not."""

import pandas as pd

from claimwise import own_warnings


def warned(kind="embedded", *, summaries=("The cat sat.",), documents=("The cat sat on the mat.",), prompts=()):
    examples = pd.DataFrame({"document": documents[0], "summary": list(summaries)})
    examples.loc[: len(documents) - 1, "document"] = list(documents)
    return list(own_warnings.of(kind, examples, prompts))


def test_only_a_model_that_reads_prompts_differently_warns_of_one():
    [warning] = warned(prompts=["mine.txt"])
    assert "mine.txt: the embedded model reads a prompt's demonstrations and settings, not its prose" in warning
    [warning] = warned("lexical", prompts=["a", "mine.txt"])
    assert "a, mine.txt: the lexical model reads no prompt" in warning
    assert warned("openai", prompts=["mine.txt"]) == []
    assert warned() == []
