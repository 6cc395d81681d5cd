"""Take records home from a machine without git: which commit was it that ran there?

The digests of programs and of the package's data decide, not what anybody says: the newest commit
with just those files is written into the record, and one of files that no commit holds is refused.

    python benchmarks/adopt.py FILE … [--to benchmarks/results] [--back 200]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from records import REPOSITORY, SOURCES, digest_of_commit, written

PACKAGED = REPOSITORY / "src" / "zitter" / "reproduce"


def digests(record: dict[str, Any]) -> tuple[str, str | None]:
    """Of programs and of data; older records have only the first."""
    return record["source"], record.get("data")


def commits_with(
    wanted: set[tuple[str, str | None]], back: int
) -> dict[tuple[str, str | None], str]:
    """Digests -> newest commit of this branch with these files, of so many that changed any."""
    git = ["git", "-C", str(REPOSITORY), "log", f"-{back}", "--format=%H", "--", *SOURCES]
    found: dict[tuple[str, str | None], str] = {}
    for commit in subprocess.run(git, capture_output=True, text=True, check=True).stdout.split():
        if found.keys() >= wanted:
            break
        source = digest_of_commit(commit)
        if any(source == programs for programs, _ in wanted):
            for data in (None, digest_of_commit(commit, data=True)):
                found.setdefault((source, data), commit)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, default=REPOSITORY / "benchmarks" / "results")
    parser.add_argument("--back", type=int, default=200, help="so many commits are looked at")
    chosen = parser.parse_args()
    records = {file: json.loads(file.read_text(encoding="utf-8")) for file in chosen.files}
    commits = commits_with({digests(found) for found in records.values()}, chosen.back)
    homeless = [str(file) for file, found in records.items() if digests(found) not in commits]
    if homeless:
        print(f"error: no commit has the files of {', '.join(homeless)}", file=sys.stderr)
        return 2
    for file, found in records.items():
        found.update(commit=commits[digests(found)], clean=True)
        written(found, chosen.to / file.name)
        if (PACKAGED / file.name).exists():  # one that the package shows to its users
            written(found, PACKAGED / file.name)
        print(f"{file.name}: {found['commit'][:9]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
