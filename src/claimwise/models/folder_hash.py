"""What names a checkpoint in a folder: the hash of its files, of large ones by samples."""

from __future__ import annotations

import hashlib
from pathlib import Path

#: Configuration, weights, tokenizer and chat template; a README changes no reply.
_READ = (".json", ".safetensors", ".bin", ".model", ".txt", ".jinja")
_SAMPLES = 256
_SAMPLE = 1 << 20


def folder_hash(folder: Path) -> str:
    """Hash of the names, sizes and contents of a checkpoint's files.

    A fingerprint must not read 140 GB: of a file of more than 256 MiB it reads 256 evenly spaced MiB. Weights that were
    trained further differ everywhere, and of a tensor that is as large as the spacing a part is read wherever it stands.
    """
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.suffix in _READ):
        size = file.stat().st_size
        digest.update(f"{file.name}\0{size}\0".encode())
        with file.open("rb") as stream:
            for start in range(0, size, max(_SAMPLE, size // _SAMPLES)):
                stream.seek(start)
                digest.update(stream.read(_SAMPLE))
    return digest.hexdigest()
