"""The encoder's forward pass, against transformers' own."""

import pytest
import torch
from transformers import AutoModel

from claimwise_embedded.encoder import _installed_folder
from claimwise_embedded.minilm import MiniLM


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_states_are_those_of_transformers_bit_by_bit(dtype):
    folder = _installed_folder()
    own = MiniLM(folder / "model.safetensors", dtype)
    theirs = AutoModel.from_pretrained(folder, local_files_only=True, dtype=dtype).eval()
    drawn = torch.Generator().manual_seed(0)
    # One piece, several of a length, and pieces that are padded, to the longest length that the encoder reads.
    for lengths in ([2], [30], [40, 40, 40], [3, 17, 61], [100, 256]):
        ids = torch.randint(1, 30522, (len(lengths), max(lengths)), generator=drawn)
        mask = (torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]).long()
        with torch.inference_mode():
            expected = theirs(input_ids=ids * mask, attention_mask=mask).last_hidden_state
            assert torch.equal(own(ids * mask, mask), expected), lengths
