"""Does anything that a user can give lead to a traceback, a hang or half an output?

Three kinds of hostile input, each made again from its number and a seed:

    inputs   mutated examples through `zitter run --dry-run`; one in `--compiled` of those that are
             accepted is compiled and timed as well
    runs     mutated examples that really run, scaled down
    files    damaged results, checkpoints and data files through load, show, plot and resume

    python benchmarks/hostile_input.py --inputs 10000 --runs 500 --files 1000 --json FILE

The work is done by a second process, which is started again where one dies or does not answer. A
hang is 20 s of the processor's time, or 20 s asleep; a busy machine is no fault of the input. A run
that is long by right is asked to stop, and must do so within as much time. The process may have
8 GB of memory, as on a small machine: what fits a large one takes longer by right.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))
GRACE = 600.0  # seconds without a word, after which the second process is given up

KINDS = ("inputs", "runs", "files")


def work(kind: str, numbers: list[int], seed: int, compiled: int) -> None:
    """In the second process: one line of JSON for each."""
    from reliability import hostile, trials

    resource.setrlimit(resource.RLIMIT_AS, (trials.MEMORY, trials.MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        stage = hostile.Stage(Path(folder), seed, compiled)
        for number in numbers:
            print(json.dumps({"begins": number}), flush=True)
            outcome = getattr(stage, kind)(number)
            print(json.dumps({"number": number, **outcome.as_json()}), flush=True)


def watched(kind: str, count: int, seed: int, compiled: int, first: int) -> list[dict[str, Any]]:
    """Every outcome, the end of the second process among them."""
    left, found = list(range(first, first + count)), []
    while left:
        chunk = left[:500]  # compiled programs fill a process in the long run
        command = [sys.executable, __file__, "--work", kind, "--seed", str(seed)]
        command += ["--compiled", str(compiled), "--numbers", ",".join(map(str, chunk))]
        done, current, ended = _followed(command, found, kind, count)
        left = [n for n in left if n not in done]
        if ended and current is not None:
            found.append(
                {"number": current, "fault": ended, "status": None, "said": "", "seconds": 0}
            )
            left.remove(current)
    return found


def _followed(command, found, kind, count) -> tuple[set[int], int | None, str]:
    """(what is done, what was being done, how the process ended)."""
    done: set[int] = set()
    current, heard = None, time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        rest = b""
        while process.poll() is None or rest:
            got = process.stdout.read() or b""
            heard = time.monotonic() if got else heard
            *lines, rest = (rest + got).split(b"\n")
            for line in lines:
                told = json.loads(line)
                if "begins" in told:
                    current = told["begins"]
                    continue
                done.add(told["number"])
                found.append(told)
                current = None
                _tell(told, kind, len(found), count)
            if time.monotonic() - heard > GRACE:
                process.kill()
                return done, current, "hang"
            if not got:
                if process.poll() is not None:
                    break
                time.sleep(0.05)
    return done, current, "crash" if process.returncode else ""


def _tell(told: dict[str, Any], kind: str, have: int, count: int) -> None:
    if told["fault"]:
        last = told["said"].strip().splitlines()[-1:] or [""]
        print(f"{kind} {told['number']}: {told['fault']}: {last[0][:150]}", file=sys.stderr)
    if have % 200 == 0:
        print(f"{kind}: {have} of {count}", file=sys.stderr, flush=True)


def row(kind: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    faults = Counter(x["fault"] for x in found if x["fault"])
    statuses = Counter(x["status"] for x in found)
    return {
        "kind": kind,
        "tried": len(found),
        "accepted": statuses[0],
        "failed": statuses[1],
        "refused": statuses[2],
        "tracebacks": faults["traceback"] + faults["crash"] + faults["status"],
        "hangs": faults["hang"],
        "partial outputs": faults["partial output"] + faults["unreadable result"],
        "no plain sentence": faults["no sentence"] + faults["too long"] + faults["python words"],
        "longest seconds": round(max((x["seconds"] for x in found), default=0.0), 1),
    }


def main() -> None:
    from common import arguments
    from records import finish, record

    parser = arguments(__doc__)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, metavar="N", help=f"how many {kind}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--compiled", type=int, default=20, help="one in so many is compiled")
    parser.add_argument("--faults", help="write what was at fault to this file")
    parser.add_argument("--work", help="of the second process")
    parser.add_argument("--numbers", default="", help="of the second process")
    chosen = parser.parse_args()
    if chosen.work:
        numbers = [int(n) for n in chosen.numbers.split(",")]
        work(chosen.work, numbers, chosen.seed, chosen.compiled)
        return
    rows, wrong = [], []
    for kind in KINDS:
        if count := getattr(chosen, kind):
            found = watched(kind, count, chosen.seed, chosen.compiled, chosen.first)
            rows.append(row(kind, found))
            wrong += [{"kind": kind, **x} for x in found if x["fault"]]
            question = (__doc__ or "").splitlines()[0]
            finish(record("hostile-input", question, rows), chosen.json)
    if chosen.faults:
        Path(chosen.faults).write_text(json.dumps(wrong, indent=1, ensure_ascii=False))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
