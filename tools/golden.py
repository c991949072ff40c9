"""Did a change of code change a number? Run everything from an empty cache and compare the hashes of all tables.

``python tools/golden.py write sample`` runs the pipeline and keeps the hashes in tools/golden-sample.json;
``python tools/golden.py compare sample`` runs it again and names the tables that differ (exit code 1 if any does). The
numbers of one machine and one number of threads are compared: on another, scores move by thousandths.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
THREADS = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}


def run(data: str) -> dict[str, str]:
    """Hash of every table that the pipeline makes of the corpora ``data``, by path, with no reply remembered."""
    cache = ROOT / "cache" / "responses.sqlite"
    aside = cache.with_suffix(".aside")
    if cache.exists():
        cache.rename(aside)
    try:
        choose = ["dvc", "exp", "run", "--force", "--set-param", f"data={data}"]
        subprocess.run(choose, cwd=ROOT, env=os.environ | THREADS, check=True)
    finally:
        cache.unlink(missing_ok=True)
        if aside.exists():
            aside.rename(cache)
    places = ("data/corpora", "data/scores", "tables")
    files = [
        file for place in places for file in (ROOT / place / data).rglob("*") if file.suffix in (".csv", ".parquet")
    ]
    return {str(file.relative_to(ROOT)): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)}


def main(what: str, data: str) -> int:
    """Write the hashes, or compare with those that were written."""
    kept = Path(__file__).with_name(f"golden-{data}.json")
    found = run(data)
    if what == "write":
        kept.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return 0
    before = json.loads(kept.read_text(encoding="utf-8"))
    changed = sorted(path for path in before.keys() | found.keys() if before.get(path) != found.get(path))
    print("\n".join(changed) or f"all {len(found)} tables are as they were")
    return int(bool(changed))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("write", "compare"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
