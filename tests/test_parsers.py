"""Replies as real models write them, and how they are parsed."""

import collections
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claimwise.prompts import parsers
from claimwise.prompts.parsers import parse
from claimwise.prompts.texts import CritiqueParts
from claimwise.reasons import Parsed, Reason

TWELVE = "\n".join(f"{k}. Fact number {k} holds" for k in range(1, 13))

LISTS = [
    ("- It rained.\n- We left.", ("It rained.", "We left.")),
    ("* It rained.\n\n* We left.", ("It rained.", "We left.")),
    ("• It rained.\n• We left.", ("It rained.", "We left.")),
    ("– It rained.\n— We left.", ("It rained.", "We left.")),
    ("1) It rained.\n2) We left.", ("It rained.", "We left.")),
    ("(1) It rained.\n(2) We left.", ("It rained.", "We left.")),
    ("a. It rained.\nb. We left.", ("It rained.", "We left.")),
    (TWELVE, tuple(f"Fact number {k} holds" for k in range(1, 13))),
    ("- It rained.\n- It rained.\n- We left.", ("It rained.", "We left.")),
    ("- **Fact 1:** It rained.\n- Claim 2: We left.", ("It rained.", "We left.")),
    ('- "It rained."\n- He said "no".', ("It rained.", 'He said "no".')),
    ("- It rained.\nA. Smith left.\n- We left.", ("It rained.", "We left.")),
    ("- **Claim**: It rained.", ("It rained.",)),
    ("Fact 1: It rained.\nFact 2: We left.", ("It rained.", "We left.")),
    ("- Weather:\n    - It rained.\n    - It was cold.", ("It rained.", "It was cold.")),
    ("The claims are: - It rained. - We left at 5.30.", ("It rained.", "We left at 5.30.")),
    ("The claims are:\n- Ann - a nurse - won.\n- It rained.", ("Ann - a nurse - won.", "It rained.")),
    ("- 3.5 million people left.\n- The 2-1 win counted.", ("3.5 million people left.", "The 2-1 win counted.")),
    ("1. 1.5 million left.", ("1.5 million left.",)),
    ("---\n- It rained.\n---", ("It rained.",)),
    ("- *Titanic* is a film.\n- It is _old_.", ("Titanic is a film.", "It is old.")),
    ("*Titanic* is a film.\n*Jaws* is one, too.", ("Titanic is a film.", "Jaws is one, too.")),
    ("* *Titanic* is a film.\n* It is old.", ("Titanic is a film.", "It is old.")),
    ("- The **mayor** and the __judge__ resigned.", ("The mayor and the judge resigned.",)),
    ("- ***Lee*** won.\n- **Lee, of *The Times*, lost.**", ("Lee won.", "Lee, of The Times, lost.")),
    ("- **It rained.**\n- **We left.", ("It rained.", "We left.")),
    ("**Fact 1:** It rained.\n**Fact 2:** We left.", ("It rained.", "We left.")),
    ("**1.** It rained.\n**2.** We left.", ("It rained.", "We left.")),
    ("**Claims:**\n- It rained.", ("It rained.",)),
    # A line in emphasis that does not end as a sentence does is a heading.
    ("**Atomic facts about the report**\n\n1. It rained.\n2. We left.", ("It rained.", "We left.")),
    ("**The facts**\n**The dam was built in 1931.**\n*It is old.*", ("The dam was built in 1931.", "It is old.")),
    ("1. **Weather**\n   - It rained.\n2. **People**\n   - We left", ("It rained.", "We left")),
    ("- **It rained**\n- **We left**", ("It rained", "We left")),
    ("* It costs 4*\n* It cost 5*", ("It costs 4*", "It cost 5*")),
    ("*It rained.\n*We left.", ("It rained.", "We left.")),
    ("- It cost 5* in all.\n- 2*3*4 is 24.", ("It cost 5* in all.", "2*3*4 is 24.")),
    ("- A* search beats B* search.\n- It cost 5*.", ("A* search beats B* search.", "It cost 5*.")),
    ("- The field my_old_name is gone.", ("The field my_old_name is gone.",)),
    # The first item stands on the heading's line, or all of them on one.
    ("The claims are: - It rained - heavily.\n- We left.", ("It rained - heavily.", "We left.")),
    ("The claims are: - It rained. - We left.\n- Ann won.", ("It rained.", "We left.", "Ann won.")),
    ("**The claims are:** - It rained.\n- We left.", ("It rained.", "We left.")),
    ("The claims are: 1. It rained.\n2. We left.", ("It rained.", "We left.")),
    ("The claims are: 1. It rained. 2. We left.", ("It rained.", "We left.")),
    ("The claims are: - It rained", ("It rained",)),
    ("The claims are: - It rained - We left", ("It rained", "We left")),
    ("The claims are: - It rained - heavily. - We left.", ("It rained - heavily.", "We left.")),
    ("- It makes two claims: - rain and snow.\n- We left.", ("It makes two claims: - rain and snow.", "We left.")),
    ("- It rained. - We left. - 20 people stayed.", ("It rained.", "We left.", "20 people stayed.")),
    ("(1) It rained. (2) We left.", ("It rained.", "We left.")),
    ("- It rained - heavily. - We left.", ("It rained - heavily.", "We left.")),
    ("1. It rained. 3. We left.", ("It rained. 3. We left.",)),
    (
        "1. It rained - a lot. 2. Ann was No. 3. We left. 3. Bob won.",
        ("It rained - a lot.", "Ann was No. 3. We left.", "Bob won."),
    ),
    ("- **Lee**, of *The _New_ Times*, paid for my_old_hat*.", ("Lee, of The New Times, paid for my_old_hat*.",)),
    ("1. Fig. 2. The plant grew.", ("Fig. 2. The plant grew.",)),
    ("- Ann came 1. 2. Bob lost.", ("Ann came 1. 2. Bob lost.",)),
    ("**Key facts:** It rained - heavily.", ("Key facts: It rained - heavily.",)),
    # Emphasis begins an item only where nothing else does.
    ("- It rained.\n- We left.\n\n**Note:** These are 2 claims.", ("It rained.", "We left.")),
    ("1. It rained. 2. We left.\n\n*Note*: These are all.", ("It rained.", "We left.")),
    ('**Sentence 1:** "It rained and we left."\n* It rained.\n* We left.', ("It rained.", "We left.")),
    ("**Claim 1**\nIt rained.\n\n**Claim 2**\nWe left.", None),
    ("- None", None),
    ("- No claims.", None),
    ("- None of us left.", ("None of us left.",)),
]

JSON = [
    ('{"claims": ["It rained.", "We left."]}', ("It rained.", "We left.")),
    ('- Output: {"claims": ["It rained.", "We left."]}', ("It rained.", "We left.")),
    ('{"claims": ["It rained.", "We left.",],}', ("It rained.", "We left.")),
    ("{'claims': [\"It rained.\", 'We left.']}", ("It rained.", "We left.")),
    ('{’claims’: ["Ann’s dog left."]}', ("Ann’s dog left.",)),
    ('["It rained.", "We left."]', ("It rained.", "We left.")),
    ('{"claims": [{"claim": "It rained."}, {"claim": "We left."}]}', ("It rained.", "We left.")),
    ('{"claims": ["It rained.", "We le', ("It rained.",)),
    ('{"claims": ["He said \\"no\\".", "We left."]}', ('He said "no".', "We left.")),
    ("- It rained.\n- We left.", ("It rained.", "We left.")),
    ('{"notes": ["a"], "Facts": ["It rained."]}', ("It rained.",)),
    ('{"facts": ["a"], "claims": ["It rained."]}', ("It rained.",)),
    ('{’notes’: ["a"], ’claims’: ["Ann’s dog left."]}', ("Ann’s dog left.",)),
    ('{"output": ["It rained."], "notes": ["a"]}', ("It rained.",)),
    ('{"reasoning": ["a"], "claims": []}', None),
    ('{"reasoning": ["a"], "claims": ["It rai', None),
    ('{"claims": ["It rained [1]."], "notes": ["a", "b', ("It rained [1].",)),
    ('{"sentences": ["a"], "claims": ["It rained.", "We le', ("It rained.",)),
    ('[{"reasoning": "a", "claim": "It rained."}, {"claim": "We left."}]', ("It rained.", "We left.")),
    ('[{"claim": "It rained."}, {"claim": "We le', ("It rained.",)),
    # Of an object the claim is read, and no name, number or answer beside it.
    ('{"claims": [{"id": "C1", "content": "It rained.", "type": "weather"}]}', None),
    ('{"claims": [{"claim": "It rained.", "supported": "Yes"}, {"id": "2", "claim": "We le', ("It rained.",)),
    ('[{"evidence": ["a"], "claim": "It rained."}, {"evidence": ["b', ("It rained.",)),
    ('[{"sentence": "It rained and we left.", "claims": ["It rained.", "We left."]}]', ("It rained.", "We left.")),
    ('{"claim1": "It rained.", "claim2": "We left."}', ("It rained.", "We left.")),
    ('{"notes": ["a"], "claims": {"rain": ["It rained."], "people": ["We left.", "Ann wo', ("It rained.", "We left.")),
    ('{"claims": {"rain": ["It rained."], "people": ["We left."]}}', ("It rained.", "We left.")),
    ('{"error": "The input has no text."}', None),
    # Marks that were not escaped, or that needed no escape
    ('{"claims": ["He said "no", then left.", "We "all" left."]}', ('He said "no", then left.', 'We "all" left.')),
    (r'{"claims": ["Ann\'s \alpha fell.", "We left."]}', (r"Ann's \alpha fell.", "We left.")),
    ('{"claims": ["It rained."; "We left.",, "Ann won."]}', ("It rained.", "We left.", "Ann won.")),
    ('{"claims": [\n"It rained.",\n...\n"We left."\n]}', ("It rained.", "We left.")),
    # Brackets around words are no JSON.
    ("- It rained [sic].\n- We left.", ("It rained [sic].", "We left.")),
    ("- [The mayor] won [1].\n- {She} left.", ("[The mayor] won [1].", "{She} left.")),
    ('1. The list ["a", "b"] was read.\n2. We left.', ('The list ["a", "b"] was read.', "We left.")),
    ('Of [2] texts:\n["It rained [sic].", "We left."]', ("It rained [sic].", "We left.")),
    ('- {"claim": "It rained."}\n- {"claim": "We left."}', ("It rained.", "We left.")),
    ('{"n": 2}\n- It rained.\n- We left.', ("It rained.", "We left.")),
    ("It rained [sic].", None),
]

ANSWERS = [
    ("yes-no", " yes.", 1.0),
    ("yes-no", "**No**, the passage does not say so. Yes, it is close.", 0.0),
    ("yes-no", "Yes. Yes.", 1.0),
    ("yes-no", "No contradiction was found. Yes.", 1.0),
    ("yes-no", "Answer: Yes", 1.0),
    ("yes-no", "No? The passage does not say so.", 0.0),
    ("final-yes-no", "Is it consistent? No? It is not. Answer: No", 0.0),
    ("supported-label", "The text does not mention anything but it is supported.", 1.0),
    ("yes-no", "The answer is no.", 0.0),
    ("yes-no", "The passage does not say when it rained. No.", 0.0),
    ("yes-no", "There is no mention of rain.", None),
    ("yes-no", "Yes and no.", None),
    ("hallucinated-yes-no", "Yes", 0.0),
    ("hallucinated-yes-no", "No. All of it is in the document.", 1.0),
    ("yes-no", "Nothing says so.", None),
    ("true-false", "True. It rained.", 1.0),
    ("true-false", "False", 0.0),
    ("final-yes-no", "The article says 'no rain'. The summary says it rained. So the answer is no.", 0.0),
    ("final-yes-no", "Step 1: it rained.\n\nYes, the summary is consistent with the article.", 1.0),
    ("final-yes-no", "A date differs. Therefore, the summary is not consistent with the article.", 0.0),
    ("final-yes-no", "A date differs. Therefore, the summary is inconsistent.", 0.0),
    ("final-yes-no", "Let us look at the dates.", None),
    ("final-yes-no", "The summary is consistent with the article. No information has been added.", 1.0),
    ("final-yes-no", "In conclusion, no contradictions were found; the summary is consistent.", 1.0),
    ("final-yes-no", "Every fact is there. No untrue information is included.", None),
    ("final-yes-no", "Answer: No contradictions were found.", None),
    ("final-yes-no", "No. 1 seed Ann won, as the article says.", None),
    ("final-yes-no", "Yes and no.", None),
    ("final-yes-no", "Yes. Is the date missing? No. The rest is there.\n\nYes.", 1.0),
    ("final-yes-no", "1. Is the place right? Yes.\n2. Is the date? No.\n\n**Answer:** No", 0.0),
    ("final-yes-no", "1. Place? Yes.\n2. Date? Yes.\nTherefore, the summary is inconsistent with the article.", 0.0),
    ("final-yes-no", "1. Place? Yes.\n2. A date missing? No.\nThe summary is consistent.", None),
    ("final-yes-no", "No. The date is wrong. The rest of the summary is consistent with the article.", 0.0),
    ("final-yes-no", "Answer: Yes. No date is wrong, and the summary is not inconsistent.", 1.0),
    ("final-yes-no", "Answer: no\n\nIt says Rome; a summary with Paris is consistent.", 0.0),
    ("final-yes-no", "The answer is therefore no.", 0.0),
    ("final-yes-no", "Answer (yes or no): Yes", 1.0),
    ("final-yes-no", "Verdict - 'no'", 0.0),
    ("final-yes-no", "Overall, yes.", 1.0),
    ("final-yes-no", "## Answer\n\nYes", 1.0),
    ("final-yes-no", "Yes the summary is right.", 1.0),
    ("final-yes-no", "The summary isn't consistent with the article.", 0.0),
    ("final-yes-no", "The summary is neither complete nor consistent.", 0.0),
    ("final-yes-no", "The summary is highly inconsistent and names an unrelated wrestler.", 0.0),
    ("final-yes-no", "The summary is partially consistent with the article.", None),
    ("final-yes-no", "To see whether the summary is consistent, compare the dates.", None),
    ("final-yes-no", "Is the summary consistent with the article?", None),
    ("supported-reasoning", 'Reasoning: it says "rain". Supported: Yes', 1.0),
    ("supported-reasoning", 'Reasoning: "Supported: Yes" is what I would say of "rain".\nSupported: **No**', 0.0),
    ("supported-reasoning", "Supported: [No]", 0.0),
    ("supported-reasoning", "Reasoning: it says rain.", None),
    ("supported-reasoning", "Reasoning: The claim is fully supported. No discrepancy was found.", None),
    ("supported-reasoning", "Reasoning: it is supported: no discrepancy was found.", None),
    ("supported-reasoning", "Reasoning: it is supported - no doubt.\nSupported: Yes", 1.0),
    ("supported-reasoning", "Reasoning: the claim is supported: yes.", 1.0),
    ("supported-reasoning", "Supported (Yes/No): No", 0.0),
    ("supported-reasoning", "Supported: [Yes/No]", None),
    ("supported-reasoning", "Not supported: yes", None),
    ("supported-reasoning", "**Supported** - Yes", 1.0),
    ("supported-reasoning", "Supported? No. It rained.", 0.0),
    ("supported-reasoning", "It rained.\n\nSUPPORTED\nNO", 0.0),
    ("supported-label", "<output><answer>partially_supported</answer></output>", 0.25),
    ("supported-label", "<explanation>Supported by 5.</explanation><answer>not_supported</answer>", 0.0),
    ("supported-label", "The claim is supported.", 1.0),
    ("supported-label", "The claim is unsupported.", 0.0),
    ("supported-label", "Partly supported and partly not supported.", None),
    ("supported-label", "It cannot be fully supported.", None),
    ("supported-label", "The text does not say that it is supported.", None),
    ("supported-label", "It is not really supported.", 0.0),
    ("supported-label", "Therefore, the claim cannot be supported by the evidence.", 0.0),
    ("supported-label", "It is not, in fact, supported.", 0.0),
    ("supported-label", "The claim that Kemp is originally from Manchester is not supported by the evidence.", 0.0),
    ("supported-label", "It includes statements that are not supported by the article.", 0.0),
    ("supported-label", "No part of the claim is supported.", 0.0),
    ("supported-label", "un-supported", 0.0),
    ("supported-label", "**Supported:** No", 0.0),
    ("supported-label", "**Supported:** Yes", 1.0),
    ("supported-label", "No, the claim is fully supported.", 1.0),
    ("supported-label", "Although the year is not given, the claim is supported.", 1.0),
    ("supported-label", "The year is not given but the claim is supported.", 1.0),
    ("supported-label", "It does not give the year and is partially supported.", 0.25),
    ("supported-label", "The claim is only partially supported.", 0.25),
    ("claims-supported", "- It rained. Supported: Yes\n- We left. Supported: Yes", 1.0),
    ("claims-supported", "- It rained. Supported: Yes\n- We left. Supported: Partially", None),
    ("claims-supported", "- It rained. **Supported:** [unclear]\n- We left. **Supported:** [Yes]", None),
    ("claims-supported", "- It rained. Supported:\n- We left. Supported: Yes", None),
    ("claims-supported", "- It rained. Supported: No\n- We left. Supported: Partially", 0.0),
    ("claims-supported", "The claims, and whether each is supported:\n- It rained. Supported: Yes", 1.0),
    ("claims-supported", "All fine.", None),
    ("claims-supported", "- It rained (Supported: Yes)\n- We left, supported. No.", 0.0),
    ("claims-supported", "- It rained. Supported Yes\n- We left. Supported No (see 3)", 0.0),
    ("claims-supported", "- The claim is supported. No date is wrong. Supported: Yes", 1.0),
    ("rating-1-5", "4.5", 0.875),
    ("rating-1-5", " 5 (perfect consistency)", 1.0),
    ("rating-1-5", "Consistency Score: 2\n\nIt omits the score of 3-1.", 0.25),
    ("rating-1-5", "Consistency: 4\n\nThe summary omits 2 names.", 0.75),
    ("rating-1-5", "**Consistency (1-5):** 4\nIt omits a name.", 0.75),
    ("rating-1-5", "- Consistency: 4. One of 2 names is wrong.", 0.75),
    ("rating-1-5", "Consistency: 4\nFluency: 2", 0.75),
    ("rating-1-5", "Consistency: 3 of 5 facts are there.", None),
    ("rating-1-5", "Consistency: 2 errors.", None),
    ("rating-1-5", "Consistency:\n\n2. It omits a name.", None),
    ("rating-1-5", "Consistency: 1. A date is wrong.\n2. A name is missing.", None),
    ("rating-1-5", "Consistency: 4\n\nIt is poor. Score: 2", None),
    ("rating-1-5", "Consistency: 4\nConsistency: 2", None),
    ("rating-1-5", "It won 3-1 and scored 2 goals. Final score: 5/5", 1.0),
    ("rating-1-5", "A score of 4 out of 5. Breakdown: facts 5/5, style 2/5.", 0.75),
    ("rating-1-5", "Facts: 5/5. Style: 2/5.", None),
    ("rating-1-5", "Score: 4/10", None),
    ("rating-1-5", "I would rate it 4 out of 10.", None),
    ("rating-1-5", "Score: 4/5", 0.75),
    ("rating-1-5", "Score: 0", None),
    ("rating-1-5", "The summary is consistent.", None),
    ("rating-1-5", "I would rate the summary as 2 stars out of 5.", 0.25),
    ("rating-1-5", "I would rate the summary as a 2.5 out of 5.", 0.375),
    ("rating-1-5", "I'd give it a 4 because it omits a name.", 0.75),
    ("rating-1-5", "I'd give the summary a perfect score of 5.", 1.0),
    ("rating-1-5", "I give it a score of 4 of 5, because a name is wrong.", 0.75),
    ("rating-1-5", "I rate it low: 3 of 5 facts are missing.", None),
    ("rating-1-5", "2 of 5 facts are wrong.", None),
    ("rating-1-5", "I give it 4 out of ten.", None),
    ("stars", "Four stars. The summary misses the 2 goals.", 0.75),
    ("stars", "5 stars", 1.0),
    ("stars", "I'd give it 3 stars out of 5.", 0.5),
    ("stars", "I'd give it three out of five stars.", 0.5),
    ("stars", "I give the summary 4 of 5 stars", 0.75),
    ("stars", "This deserves 4 out of 5 stars.", 0.75),
    ("stars", "I award it 2 stars of 5.", 0.25),
    ("stars", "One star out of five.", 0.0),
    ("stars", "2 of 5", 0.25),
    ("stars", "I'd give it 5 stars out of 5.", 1.0),
    ("stars", "3 stars out of 10", None),
    ("rating-0-100", "85", 0.85),
    ("rating-0-100", "Scores: 100", 1.0),
    ("rating-0-100", "Consistency: 85\n\nThe summary omits 2 names.", 0.85),
    ("rating-0-100", "Consistency: 85\nFluency: 20", 0.85),
    ("rating-0-100", "Consistency: 85\n\nConsistency: 70", None),
    ("rating-0-100", "I would score it 40 out of 100 because it omits 3 names.", 0.4),
    ("rating-0-100", "On a scale from 0 to 100 the score is 70.", 0.7),
    ("rating-0-100", "Score: 120", None),
    ("rating-0-100", "The score is 7/10.", None),
    ("rating-0-100", "A score of 8 of 10.", None),
    ("rating-0-100", "Score: 85/100", 0.85),
    ("choice-a-e", "The answer is (B).", 0.25),
    ("choice-a-e", "Answer: D", 0.75),
    ("choice-a-e", "**D**", 0.75),
    ("choice-a-e", "It omits a name.\n\n**Answer:** B", 0.25),
    ("choice-a-e", "A summary like this is consistent.", None),
    # An answer beside what could be taken for another.
    ("yes-no", "No, no doubt.", 0.0),
    ("yes-no", "No he did not.", 0.0),
    ("yes-no", "Yes he did.", 1.0),
    ("yes-no", "Answer (Yes/No): No", 0.0),
    ("final-yes-no", "Answer (Yes/No): No", 0.0),
    ("supported-label", "The claim is supported by nothing in the text.", 0.0),
    ("supported-label", "The claim is supported by no sentence.", 0.0),
    ("supported-label", "The claim is supported by Nolan.", 1.0),
    ("supported-label", "The claim is supported nowhere.", 0.0),
    ("supported-reasoning", "Supported: No.", 0.0),
    ("choice-a-e", "B-", 0.25),
    ("choice-a-e", "C.The date is wrong.", 0.5),
    ("rating-1-5", "5 (out of 5)", 1.0),
    ("rating-1-5", "It names 2 or 3 dates. Score: 4", 0.75),
    ("rating-0-100", "85 (out of 100)", 0.85),
    ("choice-a-e", "B - a date is wrong.", 0.25),
    ("yes-no", "Yes, no error was found.", 1.0),
    ("yes-no", "No, not all of it is supported.", 0.0),
    ("rating-1-5", "Score: 4\n\n2 errors were found.", 0.75),
    ("rating-1-5", "Score: 5 (on a scale of 1 to 5)", 1.0),
    # A rating that goes on.
    ("rating-1-5", "4 - The summary", 0.75),
    ("rating-1-5", "4: mostly", 0.75),
    ("rating-1-5", "4, because", 0.75),
    ("rating-1-5", "4 because it", 0.75),
    ("rating-1-5", "1: It is wrong", 0.0),
    ("rating-1-5", "4. It is fine. Score: 2", 0.25),
    # A list, or something that is counted
    ("rating-1-5", "4. It rained. 5. We left.", None),
    ("rating-1-5", "4 people died", None),
    ("rating-1-5", "4-year-olds are", None),
    ("rating-1-5", "4,000 people", None),
    ("rating-1-5", "4 - 2 was", None),
    ("rating-1-5", "2, 3 and 4", None),
    ("rating-1-5", "2, maybe 3", None),
    ("rating-1-5", "4.5 million, because", None),
]


@pytest.mark.parametrize(("reply", "claims"), LISTS)
def test_lists(reply, claims):
    assert parse("list", reply).value == claims


@pytest.mark.parametrize(("reply", "claims"), JSON)
def test_json_claims(reply, claims):
    assert parse("json-claims", reply).value == claims


@pytest.mark.parametrize(("kind", "reply", "value"), ANSWERS)
def test_answers(kind, reply, value):
    parsed = parse(kind, reply)
    assert parsed.value == value
    assert (parsed.reason is None) == (value is not None)


@pytest.mark.parametrize("kind", parsers.KINDS)
@pytest.mark.parametrize("reply", [None, "", " \n"])
def test_an_empty_reply_has_no_value_of_any_kind(kind, reply):
    assert parse(kind, reply) == Parsed(None, Reason.EMPTY_REPLY)


@pytest.mark.parametrize("kind", parsers.KINDS)
def test_a_refusal_has_no_value_but_a_reason(kind):
    refused = "I'm sorry, but as an AI language model I cannot assess the text."
    found = parse(kind, refused)
    if kind == "feedback":
        found = parse(kind, "Feedback: " + refused)
    assert found == Parsed(None, Reason.REFUSAL)


@pytest.mark.parametrize(
    ("kind", "reply", "claims"),
    [
        ("list", "- It rained.\n- We left\n  on Sun", ("It rained.",)),
        ("list", "- It rained.\n- We left.\n\nI hope this hel", ("It rained.", "We left.")),
        ("list", "The claims are: - It rained. - We le", ("It rained.",)),
        ("list", "The claims are: - It rained.\n- We le", ("It rained.",)),
        ("list", "1. It rained. 2. We le", ("It rained.",)),
        ("list", "The claims are: - It rai", None),
        ("json-claims", "- It rained.\n- We le", ("It rained.",)),
        ("list", "The claims", None),
        ("json-claims", '{"claims": ["It rai', None),
    ],
)
def test_a_list_cut_off_by_its_length_limit_loses_its_unfinished_item(kind, reply, claims):
    assert parse(kind, reply, cut=True) == Parsed(claims, Reason.CUT)


@pytest.mark.parametrize(
    ("kind", "reply", "value"),
    [
        ("final-yes-no", "The summary is consistent so far. The da", None),
        ("final-yes-no", "2. Is the place right? Yes.\n\nAnswer: No. The article does", 0.0),
        ("final-yes-no", "Verdict: yes", 1.0),
        ("supported-reasoning", "Reasoning: The claim is supported. Yes, it r", None),
        ("supported-reasoning", "Reasoning: it rained. Supported: No", 0.0),
        ("supported-reasoning", "Reasoning: it rained.\n**Supported:** Yes, since it rai", 1.0),
        ("supported-reasoning", "Reasoning: it rained. Supported: Yes\n\nBelow is a cl", 1.0),
        ("supported-label", "<explanation>It is supported by 5, but no", None),
        ("supported-label", "Not supported: the text sa", 0.0),
        ("supported-label", "<answer>supported</answer> I ho", 1.0),
        ("yes-no", "No, the pass", 0.0),
    ],
)
def test_reasoning_that_was_cut_off_gives_no_answer_but_the_one_asked_for(kind, reply, value):
    assert parse(kind, reply, cut=True) == Parsed(value, Reason.CUT if value is None else None)


def test_labels_that_contradict_each_other_are_told_from_none():
    assert parse("supported-label", "Partly supported and partly not supported.").reason == "several labels"
    assert parse("supported-label", "Who knows.").reason == "no label"
    assert parse("final-yes-no", "No. Its dates are consistent.").reason == "an answer, and then its opposite"


@pytest.mark.parametrize("kind", [kind for kind in parsers.KINDS if kind not in ("text", "corrected-summary")])
def test_a_reply_of_much_white_space_is_read_like_one_of_little(kind):
    few, many = (parse(kind, f"It rained.{blank}Supported: no, 3 of 5.") for blank in ("\n\n", "\n" * 40_000))
    assert few == many


@pytest.mark.parametrize(
    ("kind", "reply", "value"),
    [
        ("text", "Sure, " + "*" * 19_000, "Sure, " + "*" * 19_000),
        ("text", "Sure, " + "here is a " * 1900, ("Sure, " + "here is a " * 1900).strip()),
        ("text", "Sure, " + "*" * 40_000, None),
        ("yes-no", "Yes. " * 10_000, 1.0),
        ("list", "- It rained.\n" * 10_000, ("It rained.",)),
        ("critique-block", "Critique: " + "* " * 20_000 + "x", None),
        ("json-claims", '{"claims": ["It rained.", ' * 2000, ("It rained.",)),
        ("json-claims", "[" * 2000, None),
        ("final-yes-no", "\n(" * 20_000, None),
        ("rating-1-5", "score: 4 " * 1000, 0.75),
        ("rating-1-5", "```\n" * 5000, None),
        ("rating-0-100", "```\n" * 5000, None),
    ],
)
def test_a_model_that_has_lost_its_way_is_read_to_the_end(kind, reply, value):
    assert parse(kind, reply).value == value


UNDECIDED = [
    ("yes-no", "Answer: Yes/No"),
    ("yes-no", "Yes or no?"),
    ("yes-no", "Yes? No?"),
    ("yes-no", "Is it there? Yes?"),
    ("yes-no", "Yes?!"),
    ("final-yes-no", "Answer: Yes?"),
    ("supported-reasoning", "Supported: No?"),
    ("supported-label", "The claim is anything **but** supported."),
    ("final-yes-no", "Answer: Yes? No?"),
    ("yes-no", "No contradiction was found."),
    ("true-false", "True/False"),
    ("final-yes-no", "Answer: Yes/No"),
    ("final-yes-no", "All of it is there.\n\nAnswer: Yes or No"),
    ("final-yes-no", "Answer: No doubt, it is supported."),
    ("supported-reasoning", "Supported: Yes and no"),
    ("supported-label", "Not supported by nothing."),
    ("rating-1-5", "-4"),
    ("rating-1-5", "Score: -4"),
    ("rating-1-5", "5 stars? no, 2 of them are facts"),
    ("rating-1-5", "Score: 4 or 5"),
    ("rating-1-5", "Score: 4 or maybe 5"),
    ("rating-1-5", "I would give it a 3 to 4 out of 5."),
    ("rating-1-5", "Rating: 4-5"),
    ("rating-1-5", "5 (out of 10)"),
    ("rating-1-5", "5 points out of 10"),
    ("stars", "Four or five stars."),
    ("rating-0-100", "Score: -85"),
    ("rating-0-100", "80 or 90"),
    ("rating-0-100", "8 (out of 10)"),
    ("choice-a-e", "Answer: B/C"),
    ("choice-a-e", "A, B"),
    ("choice-a-e", "A. or B."),
    ("choice-a-e", "A (or B)"),
    ("choice-a-e", "E-mail"),
    ("choice-a-e", "Answer: E-mail"),
    ("choice-a-e", "E.g. the date"),
    ("yes-no", "Yes (or No)"),
    ("supported-reasoning", "Supported: No doubt"),
    ("rating-1-5", "Score: 4 (on a scale of 1 to 10)"),
    ("rating-1-5", "Score: 1e5"),
    ("rating-1-5", "Score: 4, 5, 3"),
    ("rating-1-5", "Scores: 4; 5"),
    ("rating-0-100", "Scores: 85, 90, 95"),
    # An answer, and then its opposite, or what takes it back.
    ("yes-no", "Yes... actually no."),
    ("yes-no", "Yes (No)"),
    ("yes-no", "[Yes, No]"),
    ("yes-no", "Yes, the claim is not supported."),
    ("yes-no", "No. Yes."),
    ("yes-no", "Yes.\nNo."),
    ("yes-no", "Answer: Yes. Answer: No"),
    ("yes-no", "The passage says so.\n\nNo. Yes."),
    ("hallucinated-yes-no", "No. Yes."),
    ("true-false", "False. True."),
    ("final-yes-no", "No, yes."),
    ("final-yes-no", "A date differs.\n\nNo. Yes."),
    ("final-yes-no", "Answer: No. Yes."),
    ("yes-no", "No, it is supported."),
    ("true-false", "TRUE & FALSE"),
    ("supported-label", "far from supported"),
    ("supported-label", "It would be supported if the date were given."),
    ("rating-1-5", "Score: 5 (on a scale of 10)"),
    ("rating-1-5", "Score: <5"),
    ("rating-1-5", "Score: 4 minus 1"),
    ("rating-1-5", "Score: 4 5"),
]


@pytest.mark.parametrize(("kind", "reply"), UNDECIDED)
def test_a_reply_that_leaves_open_which_answer_is_meant_has_none(kind, reply):
    parsed = parse(kind, reply)
    assert parsed.value is None
    assert parsed.reason


def test_a_text_cut_off_by_its_length_limit_is_none():
    for kind, reply in (("text", "It rained. We le"), ("corrected-summary", "Corrected summary: It rained. We le")):
        assert parse(kind, reply, cut=True) == Parsed(None, "cut off at its length limit")
    assert parse("feedback", "Feedback: The year is wro", cut=True).value == CritiqueParts("The year is wro")
    assert parse("text", "I'm sorry, but I cannot", cut=True).reason == Reason.REFUSAL


def test_a_list_without_bullets_is_not_guessed_at():
    assert parse("list", "It rained. We left.") == Parsed(None, "no list in the reply")


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ('Critique: It says "may".\nSupported: "No"\nRevised Claim: Creatine may help.', ('It says "may".', 0.0)),
        ('Critique: All of it is there. Supported: "Yes" Revised Claim: "N/A"', ("All of it is there.", 1.0)),
        ("**Critique:** Wrong year.\n\n**Supported:** No\n\n**Revised Claim:** It was 2010.", ("Wrong year.", 0.0)),
        ("It is wrong. Supported: No", ("It is wrong.", 0.0)),
        ("My critique is short. Supported: No", ("My critique is short.", 0.0)),
        ("Critique: It says 12, not 20.\nSupported: No\nExplanation: see it.", ("It says 12, not 20.", 0.0)),
        ("Sure!\n\n**Critique:** It says 12, not 20.\n**Supported:** No (see it).", ("It says 12, not 20.", 0.0)),
        ('__Critique:__ It says 12, not 20.\n__Supported:__ "No", as said.', ("It says 12, not 20.", 0.0)),
        # The parts in another order
        ("**Supported:** No\n\n**Critique:** It says 20.", ("It says 20.", 0.0)),
        ("Revised Claim: It had 20.\nCritique: It says 20.\nSupported: No", ("It says 20.", 0.0)),
        ("Critique: A.\nSupported: No, it is not.\nRevised Claim: It had 20.", ("A.", 0.0)),
        ("Supported: No, because it says 20.\nRevised Claim: It had 20.", ("because it says 20.", 0.0)),
        ("Supported: Yes\n\nAll of it is there.", ("All of it is there.", 1.0)),
        ("1. Critique: A.\n2. Supported: No\n3. Revised Claim: B.", ("A.", 0.0)),
        ('Critique: "Supported: No" is too hard.\nSupported: Yes', ('"Supported: No" is too hard.', 1.0)),
        ("Critique: A.\nSupported: No\nRevised Claim: B. Supported: Yes", ("A.", 0.0)),
        ("Critique: The better revised claim: B.\nSupported: No", ("The better revised claim: B.", 0.0)),
        ("Supported: No", ("", 0.0)),
    ],
)
def test_critiques(reply, parts):
    assert parse("critique-block", reply).value == CritiqueParts(*parts)


@pytest.mark.parametrize(
    ("reply", "comment", "support"),
    [
        ("2\n\nThe summary gets the year wrong.", "The summary gets the year wrong.", 0.25),
        ("2\n\nI cannot find the name.", "I cannot find the name.", 0.25),
        ("4/5: One name is wrong.", "One name is wrong.", 0.75),
        ("- Consistency: 2\nOne name is wrong.", "One name is wrong.", 0.25),
        ("1. One name is wrong.", "One name is wrong.", None),
        ("2. One name is wrong.\n3. One date is.", "One name is wrong.\n3. One date is.", None),
        ("2, because one name is wrong.", "because one name is wrong.", 0.25),
        ("**2**. One name is wrong.", "One name is wrong.", 0.25),
        ("4.5 million left, not 4.", "4.5 million left, not 4.", None),
        ("4-year-olds are left out.", "4-year-olds are left out.", None),
        ("4 people died, not five.", "4 people died, not five.", None),
        ("4 people died, not five. Score: 2", "4 people died, not five. Score: 2", 0.25),
    ],
)
def test_comments_with_a_rating(reply, comment, support):
    assert parse("rating-comment", reply).value == CritiqueParts(comment, support)


@pytest.mark.parametrize(("kind", "reply"), [("critique-block", "It is wrong."), ("rating-comment", "4")])
def test_a_critique_needs_a_verdict_and_a_rating_a_comment(kind, reply):
    found = parse(kind, reply)
    assert found.value is None
    assert found.reason


@pytest.mark.parametrize(
    ("kind", "answer", "value"),
    [
        ("list", "- It rained.\n- We left.", ("It rained.", "We left.")),
        ("json-claims", '{"claims": ["It rained."]}', ("It rained.",)),
        ("text", "It rained.", "It rained."),
        ("corrected-summary", "Corrected summary: It rained.", "It rained."),
        ("yes-no", "No, it does not.", 0.0),
        ("rating-1-5", "4", 0.75),
    ],
)
def test_thoughts_are_not_read(kind, answer, value):
    thoughts = "- Perhaps [rain]?\n- Yes. 2 of 5.\n\nThe corrected summary: hmm\n"
    for opening in ("<think>\n", "\n<think>", ""):  # a template may have written it
        assert parse(kind, f"{opening}{thoughts}</think>\n\n{answer}").value == value
        assert parse(kind, f"{opening}{thoughts}</think>\n\n") == Parsed(None, Reason.EMPTY_REPLY)
    for cut in (True, False):
        assert parse(kind, f"<think>\n{thoughts}{answer}", cut=cut) == Parsed(None, Reason.CUT)
    for opening, closing in (
        ("[THINK]", "[/THINK]"),
        ("<thinking>", "</thinking>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>"),
    ):
        assert parse(kind, f"{opening}{thoughts}{closing}{answer}").value == value
        assert parse(kind, f"{opening}{thoughts}{answer}") == Parsed(None, Reason.CUT)


@pytest.mark.parametrize(
    "reply",
    [
        "It rained.",
        'Sure.\n\nCorrected summary: "It rained."',
        "Sure!\n\nHere is the revised summary:\n\nIt rained.",
        "**Here is the corrected summary:**\n\n**It rained.**",
        "Revised Summary: It rained.",
        '"Summary: It rained."',
        "Sure.\n\nIt rained.",
        "Sure thing!\nIt rained.",
        "OK:\nIt rained.",
        "Okay, here is the summary you asked for.\n\nIt rained.",
        "Of course! I can do that.\n\nIt rained.",
        "Certainly, I'll revise it.\nIt rained.",
        "Based on the feedback, here is the revised summary:\n\nIt rained.",
        "Absolutely! Here's a corrected version of it:\n\nIt rained.",
        "The revised summary is:\n\nIt rained.",
        '"It rained."',
        "“It rained.”",
        '**"It rained."**',
        "```\nIt rained.\n```",
        "```markdown\nIt rained.\n```",
        "## Revised Summary\n\nIt rained.",
        "**Revised Summary**\n\nIt rained.",
        "Sure!\n\n# **Summary**\nIt rained.",
        "It rained.\n\nNote: I removed the claim about snow.",
        "It rained.\n\n(Note: The original summary was wrong.)",
        "It rained.\n\n(I have removed the claim about snow.)",
        "It rained.\n\nNote: I removed the claim about snow.\n\nLet me know if you need more.",
        "**It rained.**\n\n**Note:** The claim on snow is gone.",
        "It rained.\n\n---\n\n*Explanation: It did not snow.*",
        "It rained.\n\n**Changes made:**\n\n1. Snow is gone.\n\n2. So is ice.",
        "Revised summary:\n\nIt rained.\n\nChanges made:\n- Snow is gone.",
    ],
)
def test_texts_lose_their_preamble_their_marks_and_a_note_on_them(reply):
    for kind in ("text", "corrected-summary"):
        assert parse(kind, reply).value == "It rained."


@pytest.mark.parametrize(
    "text",
    [
        "It rained.\n\nNote: the claim of snow is old.\n\nWe left.",
        "It rained. Note: I left.",
        "It rained.\n\nI removed the snow.",
        'Lee wrote home.\n\n"I have removed the document," it said.',
        'Lee wrote home.\n\n"Let me know if it rains," it said.',
        "Lee wrote:\n\nLet me know how you are.",
        "It rained.\n\nNote: All times are in British Summer Time (BST).",
        "Note: I removed the claim about snow.",
        "Summary\n\nIt rained.",
        "# Summary judgment\n\nIt rained.",
        "OK Go released a video.\nThe band won a prize.",
        "OK Go released a video!\nThe band won a prize.",
        "Sure enough, it rained.\nWe left.",
        "Of course, it rained.\nWe left.",
        "Unfortunately for United, Smith will not play on Sunday. He is ill.",
        "Unfortunately, we cannot tell from Ling (2009).",
        "As an AI researcher, Lee cannot vote on it.",
        "Sorry is a song that Bieber cannot sing.",
        "Unfortunately, Smith said: “I cannot play.”",
        "“I cannot go on,” said Lee.",
        "Here the river is wide: 2 km.",
    ],
)
def test_texts_that_begin_like_a_preamble_or_a_refusal_are_kept_whole(text):
    assert parse("text", text).value == text
    for reply in (text, f"Corrected summary: {text}"):
        assert parse("corrected-summary", reply).value == text


def test_a_text_under_its_heading_is_no_refusal():
    assert (
        parse("corrected-summary", "Corrected summary: I cannot go on, Lee said.").value == "I cannot go on, Lee said."
    )
    assert parse("text", "Revised summary: I will not play, Lee said.").value == "I will not play, Lee said."
    assert parse("corrected-summary", "Corrected summary: I cannot", cut=True).reason == Reason.CUT


@pytest.mark.parametrize(
    "refused",
    [
        "I cannot revise this.",
        "I'm unable to open the document.",
        "I am not able to do so.",
        "**I'm sorry**, I can’t help with that.",
        "Unfortunately, the document is missing. I cannot revise the summary.",
        "As an AI language model, I don't have access to it.",
        "I apologize, but it is not possible for me to judge it.",
        "Sorry, but unable to comply.",
    ],
)
def test_an_inability_of_the_writers_own_is_a_refusal(refused):
    for kind in ("text", "corrected-summary", "feedback", "final-yes-no", "supported-label"):
        assert parse(kind, refused) == Parsed(None, Reason.REFUSAL)


@pytest.mark.parametrize(
    "text",
    [
        'Ann said that it was "just fabulous."',
        "“It rained,” said Ann.",
        '"It rained," said Ann. "We left."',
        "**Weather** and *more* weather",
        "**Rain in May**\n\nIt rained.",
        "`rain`, snow and `hail`",
        "It rained. Then: sun.",
    ],
)
def test_texts_keep_the_marks_of_a_part_of_them(text):
    for reply in (text, f"Summary: {text}", f"Here is the summary:\n\n{text}"):
        assert parse("text", reply).value == text
    assert parse("corrected-summary", f"**Corrected summary:** {text}").value == text
    assert parse("feedback", f"Feedback:\n{text}").value.text == text
    assert parse("critique-block", f"Critique: {text}\n**Supported:** No").value.text == text
    assert parse("critique-block", f"{text} **Supported:** No").value.text == text


mirror = pytest.mark.usefixtures("published_corpus")


def recorded(pattern: str, key: str) -> list[str]:
    files = sorted(Path(os.environ["CLAIMWISE_MIRROR"]).glob(pattern))
    return [json.loads(line)[key] for file in files for line in file.open(encoding="utf-8")]


@mirror
@pytest.mark.parametrize(
    ("model", "template", "kind", "replies", "unparsed"),
    [
        ("gpt-3.5-turbo-0301", "rts", "rating-1-5", 1200, 0),
        ("gpt-3.5-turbo-0301", "altrts", "rating-1-5", 1200, 0),
        ("gpt-3.5-turbo-0301", "mcq", "choice-a-e", 1500, 0),
        ("gpt-3.5-turbo-0301", "altmcq", "choice-a-e", 1200, 0),
        ("gpt-3.5-turbo-0301", "stareval", "stars", 1200, 0),
        ("gpt-4-0314", "rts", "rating-1-5", 1200, 2),  # these two name errors and give no rating
        ("llama-2-7b-chat-hf", "rts", "rating-1-5", 1200, 0),
        ("llama-2-13b-chat-hf", "rts", "rating-1-5", 1200, 0),
        ("llama-2-70b-chat-hf", "rts", "rating-1-5", 1200, 0),
    ],
)
def test_recorded_summeval_ratings(model, template, kind, replies, unparsed):
    texts = recorded(f"DAMO-NLP-SG/LLM_summeval/*/eval_model_generations/{model}/*/consistency_{template}.txt", "resp")
    values = [parse(kind, text).value for text in texts]
    assert (len(values), values.count(None)) == (replies, unparsed)


@mirror
@pytest.mark.parametrize(
    ("model", "scope", "labels"),
    [
        ("gpt-3.5-turbo-0613", "claim", {1.0: 184, 0.25: 68, 0.0: 48}),
        ("gpt-4-0613", "claim", {1.0: 83, 0.25: 153, 0.0: 64}),
        ("gpt-3.5-turbo-0613", "subclaim", {1.0: 43, 0.25: 9, 0.0: 36}),
        ("gpt-4-0613", "subclaim", {1.0: 124, 0.25: 33, 0.0: 141}),
    ],
)
def test_recorded_wice_verdicts(model, scope, labels):
    texts = recorded(
        f"ryokamoi/wice/*/code_and_resources/model_outputs/entailment_classification/oracle_chunks/{scope}/"
        f"*entailment={model}/test.raw_outputs.jsonl",
        "response",
    )
    assert collections.Counter(parse("supported-label", text).value for text in texts) == labels


@pytest.mark.parametrize(
    ("kind", "reply", "value"),
    [
        ("final-yes-no", "<answer>Yes</answer>", 1.0),
        ("final-yes-no", '{"reasoning": "ok", "answer": "No"}', 0.0),
        ("final-yes-no", "Answer: Yes</s>", 1.0),
        ("supported-label", "The claim that Smith did not resign is supported.", None),
        ("supported-label", "None of it is supported.", 0.0),
        ("supported-reasoning", "<supported>Yes</supported>", 1.0),
        ("supported-reasoning", "| Supported | No |", 0.0),
        ("claims-supported", "| A | Supported | Yes |\n| B | Supported | No |", 0.0),
        ("text", "I'm sorry, but this request cannot be completed.", None),
        ("text", "I am sorry, we are unable to help.", None),
        ("text", "Sure, the corrected summary is below.\nAnn left.", "Ann left."),
        ("text", "Okay, let's do it.\nAnn left.", "Ann left."),
        ("text", "Of course, it rained.\nAnn left.", "Of course, it rained.\nAnn left."),
        ("json-claims", '[["a b", "c d"], ["e f"]]', ("a b", "c d", "e f")),
        ("json-claims", '{"claims": ["a b"]}\n{"claims": ["c d"]}', ("a b", "c d")),
        ("json-claims", '```json\n["a b"]\n```\n```json\n["c d"]\n```', ("a b", "c d")),
        ("json-claims", '[{"atomic_claim": "a b", "sentence": "S s."}]', ("a b",)),
        ("json-claims", '{"summary": "S s.", "claims": ["a b" "c d"], "notes": ["x"]}', ("a b", "c d")),
    ],
)
def test_forms_that_models_give_their_answers(kind, reply, value):
    assert parse(kind, reply).value == value


@pytest.mark.parametrize(
    "tag", ["!!timestamp x", "!!bool maybe", "!!int ''", "!!python/name:os.system", "2001-99-99", "&a [*a]"]
)
def test_json_claims_with_tags_of_yaml_are_read_or_not_and_never_end_the_run(tag):
    assert parse("json-claims", f'{{"claims": [{tag}, "It rained."]}}').value in (None, ("It rained.",))


def test_references_of_yaml_do_not_multiply():
    lists = "".join(f", &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 100))
    assert parse("json-claims", f'{{"claims": [&a0 ["It rained."]{lists}]}}').value == ("It rained.",)


PIECES = (
    *"aE1459 .,:;/()[]{}\"'*-_\n", "yes", "no", "not ", "supported", "Supported: ", "Answer: ", "Score: ", " or ", " of ",
    "claims", "- ", "1. ", "<answer>", "</think>", "is consistent", "Critique: ", "Note: ", "!!int ", "\ud800",
)  # fmt: skip


@pytest.mark.parametrize("kind", parsers.KINDS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.booleans())
def test_any_reply_has_a_value_of_its_kind_or_a_reason(kind, reply, cut):
    value, reason = parse(kind, reply, cut=cut)
    unfinished = isinstance(value, tuple) and reason == Reason.CUT and cut
    assert (value is None) == bool(reason) or unfinished
    if isinstance(value, float):
        assert 0 <= value <= 1
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        assert value
        assert all(isinstance(item, str) and item.strip() for item in value)
