"""Summaries of news and dialogues that people labelled, rated, compared or marked: one function per dataset."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from importlib import resources
from math import nan
from pathlib import PurePosixPath
from statistics import mean

import pandas as pd

from claimwise.corpora.base import Rows
from claimwise.corpora.registry import Registry
from claimwise.prompts import parsers
from claimwise.schema import document_id


def halueval(rows: Rows, files: Registry) -> None:
    """HaluEval, summarization (Li et al. 2023): a right and a hallucinated summary of each CNN/DM article.

    This is KnowHalu's sample: 500 documents for testing and 100 for validation, two examples each.
    """
    for suffix, split in (("_val", "validation"), ("", "test")):
        path = f"data/summarization_sampled_data{suffix}.json"
        for index, entry in enumerate(files.read_jsonl("halueval", path)):
            # As published, right summaries end in a line break and hallucinated ones do not, which gives the label away.
            for system, label in (("right", 1), ("hallucinated", 0)):
                rows.example(
                    split,
                    index,
                    system,
                    document=entry["document"],
                    summary=entry[f"{system}_summary"].strip(),
                    split=split,
                    origin="cnndm",
                    label=label,
                )


def qags(rows: Rows, files: Registry) -> None:
    """QAGS, CNN/DM part (Wang et al. 2020): summaries judged sentence by sentence by three workers.

    Sentences are the gold claims, labelled by the majority of the votes. The summary is its published sentences, joined
    by spaces; it is faithful if all of them are. The paper has no splits: here articles with an even index are
    validation, the others test.
    """
    for index, entry in enumerate(files.read_jsonl("qags", "data/mturk_cnndm.jsonl")):
        sentences = [
            {
                "claim": sentence["sentence"],
                "label": int(mean(vote["response"] == "yes" for vote in sentence["responses"]) > 0.5),
            }
            for sentence in entry["summary_sentences"]
        ]
        example = rows.example(
            index,
            document=entry["article"],
            summary=" ".join(sentence["claim"] for sentence in sentences),
            system="bottom-up",
            split="test" if index % 2 else "validation",
            origin="cnndm",
            label=min(sentence["label"] for sentence in sentences),
        )
        rows.gold(example, sentences)


_ROSE_DECOMPOSERS = {
    "system_claims_distilled_t5": "fenice-t5",
    "system_claims_gpt-3.5-turbo": "gpt-3.5-turbo",
    "system_claims_llama2_7b": "llama2-7b",
}


def rose(rows: Rows, files: Registry) -> None:
    """ROSE (Liu et al. 2023): reference summaries with hand-written ACUs (gold claims without a label).

    Also the claims of three published decomposers; one that made no claim from a reference has no row for it. Labels of
    which system's summary states which ACU (ACUEval Table 3) are published elsewhere, on a model hub, and not read here.
    """
    parts = files.read_json("rose", "src/rose/rose_datasets.json.gz")
    for part in ("cnndm_test", "cnndm_validation", "xsum", "samsum"):
        origin, _, split = part.partition("_")
        for index, entry in enumerate(parts[part]):
            example = rows.example(
                part,
                index,
                system="reference",
                document=entry["source"],
                summary=entry["reference"],
                split=split or "test",
                origin=origin,
            )
            rows.gold(example, [{"claim": claim} for claim in entry["reference_acus"]])
            for column, decomposer in _ROSE_DECOMPOSERS.items():
                rows.recorded(example, decomposer, entry[column])


#: The 16 systems in the order of the original file, which repeats them for each document. ACUEval takes its even rows as
#: validation and its odd rows as test. Because 16 is even, the halves share documents but no systems.
_SUMMEVAL_ORDER = tuple("M11 M13 M1 M14 M15 M12 M5 M17 M20 M2 M0 M10 M9 M8 M23 M22".split())

#: The prompts of LLM_summeval (Shen et al. 2023, sec. 3.1) whose replies are recorded, and our prompts that read them: a
#: score after reasons, multiple choice, another wording of each, and stars.
_TEMPLATES = {
    "rts": "recorded-judge-rating",
    "altrts": "recorded-judge-rating",
    "mcq": "recorded-judge-letter",
    "altmcq": "recorded-judge-letter",
    "stareval": "recorded-judge-stars",
}


def summeval_label(ratings: list[int]) -> int | None:
    """1 if the mode of the three consistency ratings is 5, else 0; None if all three differ.

    >>> summeval_label([5, 5, 2]), summeval_label([4, 4, 5]), summeval_label([3, 4, 5])
    (1, 0, None)
    """
    [(rating, votes)] = Counter(ratings).most_common(1)
    return int(rating == 5) if votes > 1 else None


def summeval(rows: Rows, files: Registry) -> None:
    """SummEval (Fabbri et al. 2021), 12 of its 16 systems: the experts' label, and their mean rating (1-5) as a score.

    Also the replies of GPT-3.5, GPT-4 and Llama-2 chat models when asked for the summaries' consistency. Three-way ties
    are left out and counted. ``split`` is ACUEval's (see ``_SUMMEVAL_ORDER``); for a split that keeps documents together,
    group by ``document_id``.
    """
    examples: dict[tuple[str, str], str] = {}
    for path in files.paths("summeval", "model_output_annotations/*"):
        for entry in files.read_jsonl("summeval", path):
            ratings = [annotation["consistency"] for annotation in entry["expert_annotations"]]
            faithful = summeval_label(ratings)
            if faithful is None:
                rows.notes["three-way ties left out"] += 1
                continue
            example = rows.example(
                entry["id"],
                entry["model_id"],
                document=entry["text"],
                summary=entry["decoded"],
                split="test" if _SUMMEVAL_ORDER.index(entry["model_id"]) % 2 else "validation",
                origin="cnndm",
                label=faithful,
            )
            rows.score(example, "human consistency (mean)", mean(ratings))
            examples[entry["model_id"], entry["id"]] = example
    for path in files.paths("summeval", "eval_model_generations/*"):
        _add_replies(rows, examples, files, path)


def _add_replies(rows: Rows, examples: dict[tuple[str, str], str], files: Registry, path: str) -> None:
    """Add one model's replies to one prompt about one system: ``MODEL/eval_SYSTEM_.../consistency_PROMPT.txt``."""
    _, model, folder, name = PurePosixPath(path).parts
    system, template = folder.split("_")[1], name.removeprefix("consistency_").removesuffix(".txt")
    replies: dict[str, str] = {}
    for entry in files.read_jsonl("summeval", path):
        if replies.get(entry["id"], entry["resp"]) != entry["resp"]:
            rows.notes["replies that a repetition changed (the last one kept)"] += 1
        replies[entry["id"]] = entry["resp"]
    for key, reply in replies.items():
        if (system, key) in examples:  # three-way ties are left out
            rows.replied(examples[system, key], model, template, _TEMPLATES[template], reply)


_GPT = "text-davinci-002"


def llmsummeval_pairwise(rows: Rows, files: Registry) -> None:
    """LLMSummEval (Zhang et al. 2024): raters' preferences between a writer's summary (first) and text-davinci-002's.

    Article, writer and rater ids are shortened to their first eight characters, which are still unique.
    """
    ids: dict[tuple[str, str], str] = {}
    for entry in files.read_json("llmsummeval", "pairwise_evaluation_results.json"):
        pair = []
        for system, key, summary in (
            ("writer", f"writer-{entry['writer_id'][:8]}", entry["writer_summary"]),
            (_GPT, _GPT, entry[f"{_GPT}_summary"]),
        ):
            written = (entry["article_id"], key)
            if written not in ids:
                ids[written] = rows.example(
                    entry["article_id"][:8],
                    key,
                    document=entry["article_text"],
                    summary=summary,
                    system=system,
                    origin="news",
                )
            pair.append(ids[written])
        preferred = {"True": "first", "False": "second"}.get(str(entry["overall_writer_better"]), "equal")
        rows.prefer(pair[0], pair[1], entry["evaluator_id"][:8], preferred)


def llmsummeval(rows: Rows, files: Registry) -> None:
    """LLMSummEval's summaries by 19 systems with binary faithfulness votes; the label is that of the majority.

    Ties have no label and are counted. ``split`` is ACUEval's: summaries at even places in the file are validation, the
    others test. For a split that keeps documents together, group by ``document_id``.
    """
    votes: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
    for entry in files.read_json("llmsummeval", "likert_evaluation_results.json"):
        if entry["faithfulness"] not in (0, 1):
            rows.notes["annotations without a faithfulness vote"] += 1
            continue
        key = (entry["dataset"], entry["article"], entry["model"], entry["summary"])
        votes[key].append(int(entry["faithfulness"]))
    for index, ((origin, article, model, summary), summary_votes) in enumerate(votes.items()):
        share = mean(summary_votes)
        if share == 0.5:
            rows.notes["ties, without a label"] += 1
        example = rows.example(
            origin,
            index,
            model,
            document=article,
            summary=summary,
            split="test" if index % 2 else "validation",
            origin=origin,
            label=nan if share == 0.5 else int(share > 0.5),
        )
        rows.score(example, "human faithfulness (mean)", share)


_VECTARA = "vectara_leaderboard"
_TESTED = 3  # a third of the documents, by id, is for testing; models may learn from the others


def vectara(rows: Rows, files: Registry, tested: bool = True) -> None:
    """Vectara's hallucination leaderboard, version 1: real summaries by 13 LLMs, with HHEM-2.3 scores.

    One example per model and article, without labels: those of a third of the documents (split ``test``) or, if not
    ``tested``, those of the others (``vectara_training``, split ``train``). Metric ``hhem-2.3 (published)`` in [0, 1].

    Summaries whose source is uncertain and repeated rows are left out and counted. A summary has no score if the
    leaderboard counts it as no answer. It has none either if the same model gave the same words (mostly a refusal) for
    several articles: published scores are listed by the summary's hash, so it is unclear which belongs to which.
    Preambles ("Here is a summary:") are removed and counted; the published scores are of the replies with them.
    """
    # The file is gb18030, but has byte 0x80 for the euro sign, which gb18030 cannot decode.
    sources = files.read_csv(_VECTARA, "leaderboard_summaries.csv", encoding="gb18030", encoding_errors="replace")
    # The leaderboard does not publish its articles. Their ids were matched to a public copy of them by word overlap with
    # 33 models' summaries. Ids whose best match is less than 0.1 better than the second best are not in the table.
    with (resources.files(__package__) / "vectara_source_rows.csv").open(encoding="utf-8") as file:
        source_rows = pd.read_csv(file, index_col="article_id")["source_row"].to_dict()
    for path in files.paths(_VECTARA, "*/summaries.jsonl"):
        model = "/".join(path.split("/")[-3:-1])
        scores = defaultdict(set)
        for judgement in files.read_jsonl(_VECTARA, path.replace("summaries", "judgments")):
            scores[judgement["summary_uid"]].add(judgement["hhem_score"] if judgement["is_valid"] else None)
        seen = set()
        for entry in files.read_jsonl(_VECTARA, path):
            article = entry["article_id"]
            if article not in source_rows:
                rows.notes["summaries whose source is not settled (left out)"] += 1
                continue
            if article in seen:
                rows.notes["rows that stand twice (left out)"] += 1
                continue
            seen.add(article)
            document = sources[source_rows[article]]["source"].replace("\ufffd", "€")
            if (int(document_id(document), 16) % _TESTED == 0) != tested:
                continue
            example = rows.example(
                model,
                article,
                document=document,
                split="test" if tested else "train",
                summary=_without_preamble(entry["summary"], rows),
                system=model,
                origin="leaderboard",
            )
            published = scores[entry["summary_uid"]]
            reason = "several published scores for these words" if len(published) > 1 else None
            reason = "not an answer, by the leaderboard" if published == {None} else reason
            rows.score(example, "hhem-2.3 (published)", nan if reason else next(iter(published)), reason)


def _without_preamble(reply: str, rows: Rows) -> str:
    """A reply without a preamble such as "Here is a summary of the passage:", which would count as a claim."""
    summary = parsers.parse("text", reply).value or reply
    if summary != reply.strip():
        rows.notes["replies whose preamble was taken off"] += 1
    return summary


def genaudit_usb(rows: Rows, files: Registry) -> None:
    """GenAudit and USB annotations of LLM summaries (Ramprasad et al. 2024): summaries with marked error spans.

    The label is 0 if most annotators of the summary marked a span as an error. A summary with several annotators is one
    example, with the spans of all of them; if as many marked a span as did not, it has no label and no spans. Rows
    without text are left out and counted.
    """
    annotated: dict[tuple[str, str], list[tuple[str, Mapping[str, str]]]] = {}
    for part in ("Genaudit", "USB"):
        for entry in files.read_csv("genaudit_usb_dialog", f"datasets/{part}_annotations.csv"):
            if entry["source"].strip() and entry["summary"].strip():
                annotated.setdefault((entry["source"], entry["summary"]), []).append((part, entry))
            else:
                rows.notes["rows without source or summary (left out)"] += 1
    for (document, summary), several in annotated.items():
        part, first = several[0]
        marked = [entry["annotated_spans"].split("<sep>") for _, entry in several if entry["annotated_spans"]]
        votes = len(several) - 2 * len(marked)
        example = rows.example(
            part.lower(),
            first["id"],
            document=document,
            summary=summary,
            system=first["model"],
            split="train",
            origin=first["origin"].lower(),
            label=float(votes > 0) if votes else nan,
        )
        if len(several) > 1:
            rows.notes["summaries of several annotators (one example each)"] += 1
        if not votes:
            rows.notes["summaries that as many annotators marked as did not (without a label)"] += 1
        elif votes < 0:
            rows.marked(example, united(span for texts in marked for span in located(summary, texts)))


def united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans of a text, with overlapping ones merged.

    >>> united([(4, 9), (0, 3), (8, 12), (4, 6)])
    [(0, 3), (4, 12)]
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def located(summary: str, marked: list[str]) -> list[tuple[int, int]]:
    """The span of each marked text in a summary, found by its words; punctuation and white space may differ.

    If a text occurs more than once, its first occurrence after the previous marked text is taken, else the first one.

    >>> located("Dr. Lee ran. Lee won.", ["dr Lee", "Lee"])
    [(0, 7), (13, 16)]
    """
    spans: list[tuple[int, int]] = []
    end = 0
    for text in marked:
        words = re.findall(r"\w+", text)
        pattern = re.compile(r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)), re.IGNORECASE)
        match = pattern.search(summary, end) or pattern.search(summary)
        end = match.end()
        spans.append(match.span())
    return spans
