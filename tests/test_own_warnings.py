"""What a user's file and prompts are warned of, and when not."""

import pandas as pd
import pytest

from claimwise import text
from claimwise.user_file import warnings as own_warnings


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


ENGLISH = """Mayor announces closure of three schools. Police arrest two men after bank robbery. Stocks fall as oil prices
rise. Apple unveils new iPhone. Rain delays Rome trains Monday. How to win at work without losing your mind. UN warns of
famine in Sudan. Queen's speech: What you need to know. Why the cost of eggs keeps rising. Google to cut 12,000 jobs."""
FOREIGN = {
    "French": """Le maire a annoncé mardi la fermeture de trois écoles à cause du manque d'élèves. Selon lui, les enfants
iront dans les villages voisins, ce qui inquiète les parents. Ils ont demandé une réunion avec le conseil, mais on ne sait
pas encore si elle aura lieu. Le député n'a pas voulu répondre aux questions.""",
    "German": """Der Bürgermeister kündigte am Dienstag an, dass drei Schulen wegen Schülermangels geschlossen werden. Was
das für die Kinder bedeutet, ist noch unklar; sie sollen also in die Nachbardörfer fahren. Die Eltern haben eine Sitzung
mit dem Rat verlangt, so dass man hin und her überlegt. Das war am Montag in Berlin.""",
    "Spanish": """El alcalde anunció el martes el cierre de tres escuelas por falta de alumnos. Los niños irán a los
pueblos vecinos, lo que preocupa a los padres. Han pedido una reunión con el consejo, pero no se sabe si tendrá lugar. El
diputado no quiso responder a las preguntas de los once periodistas.""",
}


@pytest.mark.parametrize("language", FOREIGN)
def test_a_file_in_another_language_of_latin_script_is_warned_of(language):
    sentences = [span.text for span in text.sentences(FOREIGN[language])]
    [warning] = warned(summaries=sentences, documents=[ENGLISH])
    assert "the summaries seem not to be English" in warning
    documents, summaries = warned(summaries=sentences, documents=[FOREIGN[language]])
    assert "the documents seem" in documents
    assert "the summaries seem" in summaries
    assert warned("lexical", summaries=sentences) == []


def test_headlines_and_a_few_foreign_rows_are_not_warned_of():
    headlines = [span.text for span in text.sentences(ENGLISH)]
    assert warned(summaries=headlines, documents=[ENGLISH]) == []
    assert warned(summaries=[*headlines, "Le maire a annoncé la fermeture.", "雨が降った。"] * 2)[1:] == []
    assert warned(summaries=["Il pleut."], documents=["Il pleut."]) == []  # too few words to know


def test_summaries_in_another_script_are_counted():
    [warning] = warned(summaries=["雨が降った。" * 20, "Шёл дождь." * 20, "It rained."])
    assert "2 of 3 summaries are mostly not in Latin script" in warning


@pytest.mark.parametrize("kind", ["embedded", "lexical"])
def test_html_is_counted_and_warned_of_once(kind):
    rows = ["It <b>rained</b>.", "It rained.<br/>", '<a href="x">It</a> rained.', "a < b and b > c, <5 mg>, <name>"]
    [warning] = warned(kind, summaries=rows, documents=["<P>It rained.</p>"] * 2 + ["It rained."] * 2)
    assert "the documents of 2 rows and 3 summaries hold HTML" in warning
    assert warned(kind, summaries=rows[3:]) == []
    [warning] = warned(kind, summaries=rows[:1])
    assert warning.startswith("warning: 1 summary holds HTML")
    [warning] = warned(kind, summaries=rows[:2])
    assert warning.startswith("warning: 2 summaries hold HTML")
    [warning] = warned(kind, summaries=rows[3:], documents=["<p>It rained."])
    assert warning.startswith("warning: the document of 1 row holds HTML")
    assert warned("openai", summaries=rows) == []
