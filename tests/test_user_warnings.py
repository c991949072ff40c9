"""When a user is warned about a file or prompts, and when not."""

import textwrap
from pathlib import Path

import pandas as pd
import pytest

from claimwise import text
from claimwise.scale.run import score_folder
from claimwise.user_file.score import score
from claimwise.user_file.warnings import english, titled, warnings, wrapped


def warned(kind="embedded", *, summaries=("The cat sat.",), documents=("The cat sat on the mat.",), prompts=()):
    examples = pd.DataFrame({"document": documents[0], "summary": list(summaries)})
    examples.loc[: len(documents) - 1, "document"] = list(documents)
    return list(warnings(kind, examples, prompts))


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
    assert warned("lexical", summaries=sentences, documents=[ENGLISH]) == []


@pytest.mark.parametrize(
    "text",
    [
        "Am Montag kündigte der Bürgermeister von Köln die Schließung der Schule an, was das Dorf nicht will.",
        "Le maire de la ville a annoncé la fermeture des écoles du village.",
        "El alcalde anunció el martes el cierre de las escuelas del pueblo.",
        "Die Brücke bleibt bis Mai gesperrt, sagte die Stadt am Dienstag. Der Bürgermeister bat um Geduld.",
    ],
)
def test_one_row_is_enough_where_its_function_words_are_another_languages(text):
    assert ["seem not to be English" in warning for warning in warned(summaries=[text])] == [True]


def test_headlines_and_a_few_foreign_rows_are_not_warned_of():
    headlines = [span.text for span in text.sentences(ENGLISH)]
    assert warned(summaries=headlines, documents=[ENGLISH]) == []
    assert (
        warned(summaries=[*headlines, "Le maire a annoncé la fermeture.", "雨が降った。"] * 2, documents=[ENGLISH])[1:]
        == []
    )
    assert warned(summaries=["Il pleut."], documents=["Il pleut."]) == []  # too few words to know
    names = [
        "Al Gore met Al Franken; Al Sharpton spoke.",
        "Van Gogh, van Dyck and van Eyck.",
        "8pm EST, 9pm EST, 7pm EST",
    ]
    assert [warned(summaries=[name]) for name in names] == [[]] * 3


def test_summaries_in_another_script_are_counted():
    [warning] = warned(summaries=["雨が降った。" * 20, "Шёл дождь." * 20, "It rained."])
    assert "2 of 3 summaries are mostly not in Latin script" in warning


def test_one_long_text_says_nothing_of_the_others():
    french = "Le maire a annoncé la fermeture de trois écoles dans les villages. " * 500
    for other, read in ((french, False), ("word " * 6000, True)):
        assert english(pd.Series(["It rained in Rome.", ENGLISH, "Ann left.", other])).tolist() == [True] * 3 + [read]


def test_a_short_text_that_stands_often_is_no_long_one():
    assert english(pd.Series(["It rained in Rome."] * 40)).all()


def test_bounds_fitted_on_english_say_nothing_of_another_language(tmp_path):
    texts = ["大桥将关闭。", "Die Brücke ist nicht für die Schule.", ENGLISH]
    file = tmp_path / "a.jsonl"
    pd.DataFrame({"document": texts, "summary": texts}).to_json(file, orient="records", lines=True)
    scores = score([file], "sentences", "embedded", tmp_path / "a.csv", None, None, Path("params.yaml"))
    assert scores["score"].notna().all()
    assert scores["verdict"].tolist() == ["", "", "faithful"]
    score_folder([file], "sentences", "embedded", tmp_path / "scores", Path("params.yaml"))
    assert pd.read_parquet(tmp_path / "scores")["verdict"].tolist() == ["", "", "faithful"]


@pytest.mark.parametrize("kind", ["embedded", "lexical"])
def test_html_in_documents_is_counted_and_warned_of_once(kind):
    rows = ["It <b>rained</b>.", "It rained.<br/>", '<a href="x">It</a> rained.', "a < b and b > c, <5 mg>, <name>"]
    [warning] = warned(kind, summaries=["It rained."] * 4, documents=rows)
    assert warning.startswith("3 documents hold HTML")
    [warning] = warned(kind, documents=rows[:1])
    assert warning.startswith("1 document holds HTML")
    assert warned(kind, documents=rows[3:]) == warned("openai", documents=rows[:1]) == []


PROSE = (
    "The mayor of the town said on Tuesday that three of its schools will be closed in the summer, because there are too "
    "few pupils. Parents are worried about the long way to the next village, and have asked for a meeting with the council. "
    "Nobody knows yet when it will take place."
)


@pytest.mark.parametrize("width", [40, 60, 72, 80, 120])
@pytest.mark.parametrize("join", ["\n", "\r\n", "  \n"])
def test_lines_broken_at_a_width_are_seen(width, join):
    assert wrapped(textwrap.fill(PROSE, width).replace("\n", join))
    assert wrapped("Schools in the town\n\n" + textwrap.fill(PROSE, width) + "\n\nIt rained.")
    assert not wrapped(PROSE)


LAYOUTS = {
    "empty": "",
    "highlights": "Mayor closes three schools of the town\nParents worried about the way\nCouncil to meet in May",
    "sentences": "The mayor closed three schools.\nparents are worried about it.\nthe council meets.",
    "dialogue": "Ann: are you coming to the party tonight?\nBob: no, i am too tired\nAnn: then sleep well",
    "bullets": "- the mayor closed three schools\n- parents are worried about the\n- council meets in may",
    "numbers": "1. the mayor closed three schools\n2. parents are worried about the\n3. council meets in may",
    "words": "Eggs\nmilk\nbread",
    "room": "Things that the mayor announced to us\nschools close\nroads reopen\ntaxes rise",
    "small": "the mayor closed three schools\nparents worry\nthe council will meet in the summer",
    "heading": "Three schools of the town are closed\n\n" + PROSE,
    "quotations": "“The schools are closed,” the mayor said.\n“we are worried,” parents said.",
    "paragraphs": PROSE + "\n\n" + PROSE,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_lines_that_were_written_as_such_are_not_taken_for_broken_ones(name):
    assert not wrapped(LAYOUTS[name])


def test_a_summary_in_json_is_counted():
    summaries = ['{"summary": "It rained."}', ' [{"text": "It rained."}]', "[1] It rained.", "{x} It rained."]
    assert warned(summaries=summaries) == [
        "2 summaries look like JSON, which is read as text; take the summary out of it before"
    ]
    assert warned(kind="openai", summaries=summaries) == []


def test_a_title_above_prose_is_seen_and_nothing_else_is_taken_for_one():
    assert titled("Schools of the town\n\nThe mayor spoke.")
    untitled = [LAYOUTS[name] for name in LAYOUTS if name not in ("heading",)]
    assert not any(
        map(titled, [*untitled, "The mayor spoke.", "Key points:", "U. S. schools close.\nA. Smith worries."])
    )


def test_layouts_are_counted_in_one_warning_each():
    broken, title = textwrap.fill(PROSE, 40), "Schools of the town\n\nThe mayor spoke."
    both = warned("embedded", summaries=[broken, title, title, "It rained."])
    assert both == [
        "1 summary looks hard-wrapped (a line goes on in the next one): every line is read as a sentence; join the "
        "lines before",
        "2 summaries begin with a title, which is read as a claim; take it off before",
    ]
    first, second = warned("lexical", summaries=[broken, broken, title])
    assert "2 summaries look hard-wrapped" in first
    assert "1 summary begins with a title" in second
    assert warned("openai", summaries=[broken, title]) == []
    assert warned("embedded", summaries=[PROSE]) == []
