"""An adapter that a real, small language model learns, and the model that answers with it."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from claimwise import models, prompts
from claimwise.models import weights
from claimwise.models.options import ModelError
from claimwise.models.weights import learned_documents
from claimwise.schema import document_id
from training import adapter, left_out, lora, packing
from training.data import Row
from training.packing import Labelled, Pack, read, without, write

ZERO = prompts.load("acueval-verify-zeroshot")
DOCUMENTS = [
    "Heavy rain closed the bridge for two days. Lorries crossed it again on Friday.",
    "The council voted for the tram line. Ann Lee was against it and left the room.",
]
RIGHT = ["Rain closed the bridge.", "The council voted for the tram line."]
WRONG = ["Snow closed the bridge.", "Ann Lee voted for the tram line."]


def row(document, *statements, label, corpus="c"):
    return Row(corpus, document, " ".join(statements), statements, label)


PACKS = [
    Pack(document, ("c",), (Labelled((right,), 1), Labelled((wrong,), 0)))
    for document, right, wrong in zip(DOCUMENTS, RIGHT, WRONG, strict=True)
]


@pytest.fixture(scope="module")
def learned(smollm2_options, tmp_path_factory):
    """A folder with an adapter of eight large steps on two documents."""
    folder = tmp_path_factory.mktemp("adapter")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapter, "RATE", 2e-3)
        patch.setattr(lora, "WARM_UP", 1)
        patch.setattr(adapter, "_PACKS_PER_STEP", len(PACKS))
        adapter.train(smollm2_options, PACKS * 8, folder)
    return folder


def supports(smollm2, **more):
    model = models.load(smollm2 | {"share_prefix": False} | more)
    verdicts = model.verify(DOCUMENTS, list(map(list, zip(RIGHT, WRONG, strict=True))), ZERO)
    return torch.tensor([[verdict.support for verdict in of] for of in verdicts])


def test_statements_are_told_apart_by_a_model_with_the_adapter_that_learned_them(smollm2, learned):
    before, after = supports(smollm2), supports(smollm2, adapter=str(learned))

    margin_before, margin_after = before.logit().diff()[:, 0], after.logit().diff()[:, 0]
    assert (margin_after < margin_before - 0.1).all()  # the wrong one falls behind the right one


def test_training_reads_a_document_once_for_all_statements_and_finds_what_each_alone_would_have(
    smollm2, smollm2_options
):
    asked = adapter.Asked(smollm2_options)
    with torch.inference_mode():
        # beside a shorter document, whose row is padded
        [right, wrong] = asked.logits(
            [asked.prompts(DOCUMENTS[0], [RIGHT[0], WRONG[0]]), asked.prompts("It rained.", ["It poured."])]
        )[0]

    model = models.load(smollm2 | {"dtype": "bfloat16", "share_prefix": False})
    [[one, other]] = model.verify(DOCUMENTS[:1], [[RIGHT[0], WRONG[0]]], ZERO)
    alone = torch.tensor([one.support, other.support]).logit()
    # bfloat16 rounds: a tenth of a unit of log odds, where the two statements differ by more
    assert torch.stack([right, wrong]) == pytest.approx(alone, abs=0.15)


def test_a_killed_training_ends_with_the_weights_of_one_that_was_not(smollm2_options, tmp_path, monkeypatch):
    monkeypatch.setattr(lora, "_STEPS_PER_SAVE", 1)
    monkeypatch.setattr(adapter, "_PACKS_PER_STEP", 1)
    adapter.train(smollm2_options, PACKS, tmp_path / "whole")

    calls = []

    def failing(logits, rows):
        calls.append(rows)
        if len(calls) == 2:  # in the second step
            raise KeyboardInterrupt
        return adapter_loss(logits, rows)

    adapter_loss = adapter.loss
    with monkeypatch.context() as patch:
        patch.setattr(adapter, "loss", failing)
        with pytest.raises(KeyboardInterrupt):
            adapter.train(smollm2_options, PACKS, tmp_path / "killed")
    assert not (tmp_path / "killed" / "adapter_model.safetensors").exists()
    adapter.train(smollm2_options, PACKS, tmp_path / "killed")

    whole, killed = (load_file(tmp_path / name / "adapter_model.safetensors") for name in ("whole", "killed"))
    assert whole.keys() == killed.keys()
    for name, weight in whole.items():
        torch.testing.assert_close(killed[name], weight)


def test_an_adapter_says_which_documents_it_learned_from(learned):
    assert learned_documents(str(learned)) == set(map(document_id, DOCUMENTS))


def test_packs_in_a_file_are_those_that_were_written_and_a_corpus_is_left_out_with_all_about_its_documents(tmp_path):
    other = Pack(
        "Ünïcode\n“quoted”", ("summac_x", "wice"), (Labelled(("one.", "two."), 0), Labelled(("one. two.",), 0))
    )
    write([*PACKS, other], tmp_path / "new" / "packs.jsonl")

    assert read(tmp_path / "new" / "packs.jsonl") == [*PACKS, other]
    assert without([*PACKS, other], ["aggrefact_", "summac_"]) == PACKS
    assert without([*PACKS, other], []) == [*PACKS, other]
    again = Pack(other.document.upper(), ("vectara",), other.texts)  # the same document elsewhere
    assert without([*PACKS, other, again], ["summac_"]) == PACKS


def test_the_least_supported_statement_of_a_wrong_summary_is_taught_to_be_wrong():
    logits = torch.tensor([2.0, -1.0, 1.0], requires_grad=True)
    adapter.loss(logits, [Labelled(("a", "b"), 0), Labelled(("c",), 1)]).backward()

    assert logits.grad[0] == 0
    assert logits.grad[1] > 0 > logits.grad[2]  # descending lowers the one and raises the other


def test_packs_hold_all_judged_rows_and_as_many_supported_sentences_as_edits():
    judged = [row("d", f"judged {i}", label=i % 2) for i in range(3)]
    made = [row("d", f"made {i}", label=int(i < 2), corpus=f"c_{'edits' if i % 2 else 'retold'}") for i in range(6)]
    long = row("word " * 1101, "x", label=1)

    [pack] = packing.packs([*made, *judged, long])

    assert pack.corpora == ("c",)
    found = {(text.statements[0], text.label) for text in pack.texts}
    assert {(r.summary, r.label) for r in judged} < found
    assert sorted(label for statement, label in found if statement.startswith("made")) == [0, 0, 1, 1]


def test_every_judged_row_is_in_some_pack_and_a_summary_is_a_statement_itself():
    judged = [row("d", f"one {i}.", f"two {i}.", label=i % 2) for i in range(9)]

    packs = packing.packs(judged)

    asked = [text for pack in packs for text in pack.texts]
    assert sorted(t.statements for t in asked if len(t.statements) == 2) == sorted(r.statements for r in judged)
    assert {t.statements[0]: t.label for t in asked if len(t.statements) == 1} == {r.summary: r.label for r in judged}
    assert max(sum(len(text.statements) for text in pack.texts) for pack in packs) <= 12


def test_a_folder_without_an_adapter_is_refused(smollm2, tmp_path):
    with pytest.raises(
        ModelError,
        match=r"there is no .*adapter_config.json; expected a folder that peft's .* or one of claim-extractor, claimwise-0.5b, claimwise-1.5b",
    ):
        models.load(smollm2 | {"adapter": str(tmp_path)})


def test_an_adapter_is_added_to_the_weights_and_names_no_folder_of_this_machine(smollm2, learned):
    plain, adapted = (
        models.load(smollm2 | more).language_model.engine.checkpoint.model.state_dict()
        for more in ({}, {"adapter": str(learned)})
    )
    weights = load_file(learned / "adapter_model.safetensors")
    for name in ("layers.8.mlp.down_proj", "layers.20.self_attn.q_proj"):
        down, up = (weights[f"base_model.model.model.{name}.lora_{part}.weight"].float() for part in "AB")
        expected = plain[f"model.{name}.weight"] + up @ down  # half of what was learned, 2 * up @ down
        torch.testing.assert_close(adapted[f"model.{name}.weight"], expected)
    files = {"adapter_config.json", "adapter_model.safetensors", "documents.txt"}
    assert {file.name for file in learned.iterdir()} == files
    made_from = json.loads((learned / "adapter_config.json").read_text())["base_model_name_or_path"]
    assert made_from == smollm2["model"]


def test_what_was_left_out_is_asked_about_once_at_every_strength(smollm2, smollm2_options, learned, tmp_path):
    unseen = "The museum opened in May. Ben Ray paid for the roof."
    rows = [row(document, "The museum opened in May.", "Ben Ray left.", label=0) for document in (unseen, DOCUMENTS[0])]
    left_out.ask(rows, smollm2_options, str(learned), tmp_path / "asked-A.jsonl")
    with (tmp_path / "asked-A.jsonl").open("ab") as file:
        file.write('{"document": "killed within an é'.encode()[:-1])
    left_out.ask(rows, smollm2_options, str(learned), tmp_path / "asked-A.jsonl")

    [line] = map(json.loads, (tmp_path / "asked-A.jsonl").read_text().splitlines())  # not of what was learned from
    assert (line["document"], line["statements"]) == (unseen, [*rows[0].statements, rows[0].summary])
    for strength, more in (("0.0", {}), ("0.5", {"adapter": str(learned)})):
        model = models.load(smollm2 | {"share_prefix": False} | more)
        [verdicts] = model.verify([unseen], [line["statements"]], ZERO)
        alone = torch.tensor([verdict.support for verdict in verdicts]).logit()
        assert torch.tensor(line["log_odds"][strength]) == pytest.approx(alone, abs=0.01)
    full, half, none = (torch.tensor(line["log_odds"][strength]) for strength in ("1.0", "0.5", "0.0"))
    assert min(torch.dist(full, none), torch.dist(half, none), torch.dist(full, half)) > 0.05  # told from rounding


def test_a_summary_of_whose_document_a_version_was_learned_from_is_not_asked_about(monkeypatch):
    article = " ".join(f"word{i}" for i in range(40))
    cut_short = article.split(maxsplit=6)[-1].upper()
    rows = [row(article, "Word.", label=1, corpus="wice"), row(DOCUMENTS[0], RIGHT[0], label=1, corpus="wice")]
    monkeypatch.setattr(left_out, "all_corpora", dict)
    monkeypatch.setattr(left_out, "training_rows", lambda corpora: rows)

    elsewhere, of_the_group = (Pack(cut_short, (corpus,), ()) for corpus in ("vectara_training", "wice"))
    assert list(left_out.rows_left_out([*PACKS, of_the_group])) == rows[:1]  # PACKS: the second row's document itself
    assert list(left_out.rows_left_out([elsewhere])) == rows[1:]


def test_of_corpora_left_out_only_what_was_asked_is_compared(tmp_path):
    rows = [row(f"document {i}", f"first {i}.", f"second {i}.", label=i % 2, corpus="wice") for i in range(5)]
    with (tmp_path / "asked-A.jsonl").open("w") as file:
        for i, (first, second) in enumerate([(0, 3), (1, 2), (2, -1), (2, 2)]):  # nobody asked about the last row
            statements = [*rows[i].statements, rows[i].summary]
            odds = {"0.0": [0, 0, 0], "1.0": [first, second, -i]}
            file.write(json.dumps({"document": rows[i].document, "statements": statements, "log_odds": odds}) + "\n")

    found = left_out.table(rows, [tmp_path / "asked-A.jsonl"]).set_index(["model", "pooling"])

    assert (set(found["n"]), set(found["corpus"]), set(found.loc["0.0", "auc"])) == ({4}, {"wice"}, {0.5})
    # Right are 1 and 3. Least: 0, 1, -1, 2; mean: 1.5, 1.5, .5, 2; whole: 0, -1, -2, -3.
    assert found.loc["1.0", "auc"].to_dict() == {"min": 1.0, "mean": 0.875, "whole": 0.25}


def test_with_an_embedded_model_that_left_the_corpus_out_as_well_both_are_averaged(tmp_path):
    rows = [
        row(document, statement, label=label, corpus="summac_factcc")
        for document, right, wrong in zip(DOCUMENTS, RIGHT, WRONG, strict=True)
        for statement, label in ((right, 1), (wrong, 0))
    ]
    rows.append(row(DOCUMENTS[0], "...", label=1, corpus="summac_factcc"))  # no word for the embedded model to look at
    with (tmp_path / "asked-A.jsonl").open("w") as file:
        for one in rows:
            odds = {"0.0": [0.0], "1.0": [20.0 if one.label else -20.0]}
            line = {"document": one.document, "statements": one.statements, "log_odds": odds}
            file.write(json.dumps(line) + "\n")

    found = left_out.table(rows, [tmp_path / "asked-A.jsonl"]).set_index(["model", "pooling"])

    assert found.loc[("1.0", "mean"), "n"] == len(rows)
    assert set(found.loc[["embedded", "0.0 averaged", "1.0 averaged"], "n"]) == {len(rows) - 1}
    # With a model that knows nothing the order is the embedded one's, with one that is sure it is its own.
    assert found.loc[("0.0 averaged", "mean"), "auc"] == found.loc[("embedded", "mean"), "auc"] > 0.5
    assert found.loc[("1.0 averaged", "mean"), "auc"] == 1.0


def test_what_ships_is_held_to_its_checksums(tmp_path, monkeypatch):
    here = weights._ADAPTERS
    assert {line.split()[1] for line in (here / "SHA256SUMS").read_text().splitlines()} == {
        file.relative_to(here).as_posix() for file in here.rglob("*") if file.is_file() and file.name != "SHA256SUMS"
    }
    shutil.copytree(here, tmp_path / "adapters")
    monkeypatch.setattr(weights, "_ADAPTERS", tmp_path / "adapters")
    learned = weights.adapter_folder("claimwise-0.5b") / "adapter_model.safetensors"
    changed = bytearray(learned.read_bytes())
    changed[len(changed) // 2] ^= 1
    learned.write_bytes(changed)
    with pytest.raises(ModelError, match=r"adapter_model.safetensors: the file was changed or is only a part"):
        weights.adapter_folder("claimwise-0.5b")
    (tmp_path / "adapters" / "contradiction.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match=r"contradiction.safetensors: the file was changed or is only a part"):
        weights.contradiction_file("contradiction.safetensors")
