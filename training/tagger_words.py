"""The dictionary that the tagger is trained under: closed-class words and the classes each may have.

A hidden Markov model learns nothing of English classes from raw text alone; told which classes the few hundred
closed-class words may have, and which words are forms of verbs, it learns the rest (Merialdo 1994).
"""

from __future__ import annotations

CLASSES = "DT PS PR PO X CD RB IN TO CC MD BE BB BN HV DO VB VZ VD VN VG WH NG CM PU Q".split()

_CLOSED = (
    (
        "DT",
        "the a an this that these those each every no any some all both either neither another such what which half",
    ),
    ("PR", "this these those that all both some any another none each many several few either neither such much most"),
    (
        "X",
        "few many several most more other others such half same own former latter everyone someone anyone everybody "
        "nobody something anything nothing everything none last next first second third top much less least yes one "
        "hundred thousand million billion dozen dozens hundreds thousands millions",
    ),
    (
        "RB",
        "more most less least much no all so too very just still also only now then there here ever never always often "
        "already again even yet soon later once twice perhaps maybe quite rather almost nearly together away back "
        "instead however meanwhile therefore though as up down out off over on in about around apart along through by "
        "ahead forward abroad overseas home today yesterday tomorrow tonight well far long half else indeed thus hence "
        "alone aside onwards upwards afterwards not currently earlier early late ago at better best further pretty "
        "enough either of nor sometimes otherwise please allegedly reportedly",
    ),
    ("PS", "my your his her its our their whose"),
    (
        "PR",
        "i you he she it we they me him her us them his himself herself itself themselves myself ourselves yourself one "
        "mine hers ours yours theirs everyone someone anyone",
    ),
    ("WH", "who which that whom whose what when where why how whoever whatever"),
    (
        "IN",
        "that if because although though while whereas unless until till since after before as when whether than of in "
        "on at by for with from to into onto about against between among amongst over under during through without "
        "within across behind beyond near along around up down off out per via despite like including amid upon toward "
        "towards inside outside throughout except following above below beneath beside besides past plus alongside "
        "regarding concerning due according ahead so once minus worth opposite unlike versus v vs amidst aboard atop",
    ),
    ("TO", "to"),
    ("CC", "and or but nor & yet plus"),
    ("MD", "will would can could may might must should shall 'll 'd wo ca cannot ought gonna"),
    ("BE", "is are was were am 'm 're 's ain"),
    ("BB", "be"),
    ("BN", "been"),
    ("VG", "being having"),
    ("HV", "has have had 've"),
    ("VB", "have do"),
    ("VN", "had done"),
    ("DO", "do does did"),
    ("VD", "had did"),
    ("VZ", "has have do does"),
    ("PO", "'s '"),
    ("NG", "not n't never"),
    (
        "CD",
        "one two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred thousand million "
        "billion dozen dozens hundreds thousands millions",
    ),
)
MARKS = {
    **dict.fromkeys(",;", "CM"),
    **dict.fromkeys((":", ".", "!", "?", "-", "--", "–", "—", "(", ")", "...", "/", "*"), "PU"),
    **dict.fromkeys(("'", '"', "``", "''", "‘", "“", "”", "’"), "Q"),
}
#: Closed-class words that are forms of verbs too.
_ALSO_VERBS = frozenset("like back last past worth near open up down better concerning".split())
_ONLY_PREPOSITIONS = frozenset("including following according".split())
_SHAPES = {
    "<num>": ("CD", "X"),
    "<cap>": ("X",),
    "<sym>": ("PU",),
    "<ing>": ("X", "VG"),
    "<ed>": ("X", "VD", "VN"),
    "<ly>": ("RB", "X"),
    "<s>": ("X", "VZ"),
    "<oth>": ("X", "VB", "VZ"),
}


def closed_words() -> dict[str, tuple[str, ...]]:
    """Closed-class words and the classes each may have.

    >>> closed_words()["her"]
    ('PS', 'PR')
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, words in _CLOSED:
        for word in words.split():
            found[word] = tuple(dict.fromkeys((*found.get(word, ()), name)))
    return found


def allowed(key: str, closed: dict[str, tuple[str, ...]], verbs: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The classes that a word or shape may have.

    Args:
        key: a lower-cased word, a mark, or a shape such as ``<cap>``.
        closed: from ``closed_words``.
        verbs: the classes of each form of a verb.
    """
    if key in _SHAPES:
        return _SHAPES[key]
    if key in MARKS:
        return (MARKS[key], "PO") if key in ("'", "’") else (MARKS[key],)
    if key in _ONLY_PREPOSITIONS:
        return ("IN",)
    classes = closed.get(key, ())
    if not classes or key in _ALSO_VERBS:
        if key in verbs:
            classes = (*classes, *verbs[key], "X")
        elif not classes:
            classes = ("RB", "X") if key.endswith("ly") else ("X",)
    return tuple(dict.fromkeys(classes))


#: Where training starts: how readily each class leads to others, in a linguist's round numbers.
FIRST_TRANSITIONS = """
start X:.25 DT:.25 PR:.25 PS:.05 IN:.05 CD:.05 RB:.05
DT X:.85 CD:.05 RB:.05
PS X:.95
PO X:.95
PR VD:.15 VZ:.15 BE:.15 HV:.15 MD:.15 IN:.03 RB:.03 PU:.03 CM:.03 TO:.03
X X:.25 IN:.12 PU:.12 CM:.12 CC:.12 VD:.02 VZ:.02 BE:.02 HV:.02 MD:.02 TO:.02 PO:.02 VN:.02 VG:.02 RB:.02 WH:.02 CD:.02 DO:.02
CD X:.6 IN:.1 PU:.1 CM:.1
RB X:.08 VD:.08 VZ:.08 VN:.08 VG:.08 IN:.08 CM:.08 PU:.08 DT:.08
IN DT:.35 X:.35 PS:.08 CD:.08 VG:.08 PR:.08
TO VB:.6 X:.1 DT:.1 BB:.1 PS:.04 CD:.04
CC X:.4 DT:.06 VD:.06 VB:.06 VZ:.06 VN:.06 VG:.06 PR:.06 PS:.06
MD VB:.4 BB:.4 NG:.06 RB:.06 PR:.06
BE VN:.18 VG:.18 X:.18 DT:.18 RB:.06 NG:.06 IN:.06 TO:.06
BB VN:.35 X:.35
BN VN:.3 X:.3 DT:.3
HV VN:.28 BN:.28 DT:.28 X:.05 NG:.05 RB:.05 CD:.05 TO:.05
DO NG:.6 VB:.1 DT:.1 X:.1 PR:.1
VB DT:.2 X:.2 IN:.2 PS:.06 PR:.06 RB:.06 TO:.06 CD:.06 PU:.06 CM:.06
VZ DT:.2 X:.2 IN:.2 PS:.06 PR:.06 RB:.06 TO:.06 CD:.06 PU:.06 CM:.06
VD DT:.2 X:.2 IN:.2 PS:.06 PR:.06 RB:.06 TO:.06 CD:.06 PU:.06 CM:.06
VN DT:.2 X:.2 IN:.5 PS:.06 PR:.06 RB:.06 TO:.06 CD:.06 PU:.06 CM:.06
VG DT:.2 X:.2 IN:.2 PS:.06 PR:.06 RB:.06 TO:.06 CD:.06 PU:.06 CM:.06
WH VD:.11 VZ:.11 BE:.11 HV:.11 MD:.11 PR:.11 DT:.11 X:.11
NG VB:.18 VN:.18 BB:.18 DT:.18 X:.18
CM X:.1 DT:.1 CC:.1 IN:.1 PR:.1 WH:.1 VG:.1
PU X:.2 DT:.2 PR:.2
Q X:.15 PR:.15 DT:.15 PU:.15 CM:.15
"""
