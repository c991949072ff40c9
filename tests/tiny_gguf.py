"""A Llama checkpoint with a byte-level BPE tokenizer, as GGUF for llama.cpp."""

import json
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file


def convert(folder: Path, file: Path, add_start: bool = True) -> None:
    config = json.loads((folder / "config.json").read_text())
    blocks, heads, shared = (
        config[name] for name in ("num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    )
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_block_count(blocks)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(shared)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["hidden_size"] // heads)
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    add_tokenizer(writer, folder)
    writer.add_add_bos_token(add_start)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, blocks)
    for name, tensor in load_file(folder / "model.safetensors").items():
        if name.endswith("q_proj.weight"):
            tensor = interleaved(tensor, heads)
        elif name.endswith("k_proj.weight"):
            tensor = interleaved(tensor, shared)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_tokenizer(writer: gguf.GGUFWriter, folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    special = {token["content"] for token in tokenizer["added_tokens"]}
    tokens = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens])
    gguf.SpecialVocab(folder, load_merges=True).add_to_gguf(writer, quiet=True)


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rotary pairs side by side, as llama.cpp has them, instead of a half apart."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
