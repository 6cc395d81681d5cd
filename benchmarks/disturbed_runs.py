"""Does a killed run, or one on a full disk, end in the same bits once it is resumed?

For every kind of run: SIGKILL at calls of the disk (half-way through those that write) and at any
moment; a disk without space from one of its calls on, for each of them; a disk that becomes
read-only; files that may not be larger than some bytes (RLIMIT_FSIZE); and a folder that is removed
after each file that came to it.

    python benchmarks/disturbed_runs.py --kills 60 --json FILE

A run survives if `--resume` gives the bits of a run that nobody disturbed and leaves no other
files; on a disk that fails it must also have ended with status 1 and one sentence.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))
# Of programs as small as these most time would go into compiling them again.
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def measured(
    kind: str, kills: int, most: int | None, seed: int
) -> tuple[dict[str, Any], list[Any]]:
    from reliability.disturbed import Trials

    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(kind, Path(folder), seed)
        tried, survived = trials.kills(kills)
        row = {
            "kind": kind,
            "calls of the disk": trials.moments[-1] + 1,
            "kills": tried,
            "kills survived": survived,
        }
        for name, (tried, survived) in trials.failing_disks(most).items():
            row |= {name: tried, f"{name} survived": survived}
        return row, trials.faults


def main() -> None:
    from common import arguments
    from records import finish, record

    from reliability.runs import CASES

    parser = arguments(__doc__)
    parser.add_argument("--kinds", default=",".join(CASES))
    parser.add_argument("--kills", type=int, default=60, help="of each kind")
    parser.add_argument("--full", type=int, help="failing disks of each kind, about [default: all]")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rows, wrong = [], []
    for kind in chosen.kinds.split(","):
        row, faults = measured(kind, chosen.kills, chosen.full, chosen.seed)
        rows.append(row)
        wrong += faults
        print(row, *faults, sep="\n", file=sys.stderr, flush=True)
    question = (__doc__ or "").splitlines()[0]
    finish(record("disturbed-runs", question, rows), chosen.json)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
