"""The hash of a checkpoint's folder changes if a careless copy or a further training changes a file."""

import pytest

from claimwise.models.weights import folder_hash

MIB = 1 << 20


@pytest.mark.parametrize(("size", "changed"), [(4 * MIB, 1), (1 << 30, 4 * MIB)])
@pytest.mark.parametrize("where", ["beginning", "middle", "end"])
def test_weights_of_one_size_that_differ_in_one_place_have_two_names(tmp_path, size, changed, where):
    file = tmp_path / "model.safetensors"
    with file.open("wb") as stream:
        stream.truncate(size)
    before = folder_hash(tmp_path)
    with file.open("r+b") as stream:
        stream.seek({"beginning": 0, "middle": size // 2 - changed // 2, "end": size - changed}[where])
        stream.write(b"\1" * changed)
    assert folder_hash(tmp_path) != before


def test_the_tokenizer_counts_and_the_place_and_a_note_do_not(tmp_path):
    first, copy = tmp_path / "first", tmp_path / "copy"
    for folder in (first, copy):
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / "vocab.txt").write_text("a\nb\n")
    (copy / "README.md").write_text("A note.")
    assert folder_hash(first) == folder_hash(copy)
    (copy / "vocab.txt").write_text("b\na\n")
    assert folder_hash(first) != folder_hash(copy)
