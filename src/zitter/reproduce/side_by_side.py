"""Parts of a reproduction in processes of their own, two at a time.

Most of a short run is compilation, which takes one core. Processes, because compiled programs of
one process wait for each other.

    python -m zitter.reproduce.side_by_side MODULE PART PRECISION      prints rows_of(PART) as JSON
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import cast

from zitter import checks, runtime
from zitter.reproduce.report import Row

PROCESSES = 2


def side_by_side(module: str, parts: Sequence[str], progress: bool) -> dict[str, list[Row]]:
    """rows_of(part, full=False) of a module for each of the parts."""
    precision = runtime.describe()["precision"]

    def one(part: str) -> list[Row]:
        command = [sys.executable, "-m", __name__, module, part, precision]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise checks.RunError(f'the part "{part}" ended with an error: {last[0]}')
        rows = [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])]
        if progress:
            print(f"{part}: done", file=sys.stderr, flush=True)
        return rows

    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        return dict(zip(parts, pool.map(one, parts), strict=True))


def main() -> None:
    module, part, precision = sys.argv[1:]
    runtime.configure(precision=cast(runtime.Precision, precision))
    rows = importlib.import_module(module).rows_of(part, False)
    print(json.dumps([dataclasses.asdict(row) for row in rows]))


if __name__ == "__main__":
    main()
