"""Take records home from a machine without git: which commit was it that ran there?

The digest of the program files decides, not what anybody says: the newest commit with just those
files is written into the record, and a record of files that no commit holds is refused.

    python benchmarks/adopt.py FILE … [--to benchmarks/results] [--back 200]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from records import REPOSITORY, SOURCES, digest_of_commit, written

PACKAGED = REPOSITORY / "src" / "zitter" / "reproduce"


def commits_with(sources: set[str], back: int) -> dict[str, str]:
    """digest -> newest commit of this branch whose program files have it, of so many that changed
    any of them."""
    git = ["git", "-C", str(REPOSITORY), "log", f"-{back}", "--format=%H", "--", *SOURCES]
    found: dict[str, str] = {}
    for commit in subprocess.run(git, capture_output=True, text=True, check=True).stdout.split():
        if found.keys() >= sources:
            break
        found.setdefault(digest_of_commit(commit), commit)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, default=REPOSITORY / "benchmarks" / "results")
    parser.add_argument("--back", type=int, default=200, help="so many commits are looked at")
    chosen = parser.parse_args()
    records = {file: json.loads(file.read_text(encoding="utf-8")) for file in chosen.files}
    commits = commits_with({found["source"] for found in records.values()}, chosen.back)
    homeless = [str(file) for file, found in records.items() if found["source"] not in commits]
    if homeless:
        print(f"error: no commit has the program files of {', '.join(homeless)}", file=sys.stderr)
        return 2
    for file, found in records.items():
        found.update(commit=commits[found["source"]], clean=True)
        written(found, chosen.to / file.name)
        if (PACKAGED / file.name).exists():  # one that the package shows to its users
            written(found, PACKAGED / file.name)
        print(f"{file.name}: {found['commit'][:9]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
