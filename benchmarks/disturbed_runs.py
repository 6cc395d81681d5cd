"""Does a killed run, or one on a full disk, end in the same bits once it is resumed?

For every kind of run: SIGKILL at calls of the disk (half-way through those that write) and at any
moment; and a disk without space from one of its calls on, at all calls that differ.

    python benchmarks/disturbed_runs.py --kills 60 --json FILE

A run survives if `--resume` gives the bits of a run that nobody disturbed and leaves no other
files; on a full disk it must also have ended with status 1 and one sentence.
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
        step = 1 if most is None else max(1, len(trials.moments) // most)
        full, stood = trials.full_disks(trials.moments[::step])
        row = {
            "kind": kind,
            "calls of the disk": trials.moments[-1] + 1,
            "kills": tried,
            "kills survived": survived,
            "full disks": full,
            "full disks survived": stood,
        }
        return row, trials.faults


def main() -> None:
    from common import arguments
    from records import finish, record

    from reliability.runs import CASES

    parser = arguments(__doc__)
    parser.add_argument("--kinds", default=",".join(CASES))
    parser.add_argument("--kills", type=int, default=60, help="of each kind")
    parser.add_argument("--full", type=int, help="full disks of each kind, about [default: all]")
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
