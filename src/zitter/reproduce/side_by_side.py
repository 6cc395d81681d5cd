"""Parts of a reproduction in processes of their own, several at a time.

Much of a run is compilation, which takes one core, and small systems leave a GPU idle for most of
the time. Processes, because compiled programs of one process wait for each other.

    python -m zitter.reproduce.side_by_side MODULE PART PRECISION SIZE

prints rows_of(PART, SIZE == "full") of the module as JSON.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import cast

import jax

from zitter import checks, compiler_flags, runtime
from zitter.reproduce.report import Row

# Compiling is most of a small run: these shorten it, at a price in speed that programs which run
# for seconds can pay.
COMPILE_SOON = "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=1"


def share_memory() -> None:
    """Processes on one GPU: none, this one neither, may take most of its memory at once.

    Without effect where the GPU was used before.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def side_by_side(
    module: str, parts: Sequence[str], full: bool, at_once: int, progress: bool
) -> dict[str, list[Row]]:
    """rows_of(part, full) of a module for each of the parts."""
    precision = runtime.describe()["precision"]
    environment = dict(os.environ)
    if compiled := jax.config.values.get("jax_compilation_cache_dir"):
        environment["JAX_COMPILATION_CACHE_DIR"] = compiled
    if runtime.on_host():
        environment["JAX_PLATFORMS"] = "cpu"
        if not full and compiler_flags.known(COMPILE_SOON, environment):
            flags = compiler_flags.added(COMPILE_SOON, environment)
            environment[compiler_flags.VARIABLE] = flags
    started = time.perf_counter()

    def one(part: str) -> list[Row]:
        size = "full" if full else "small"
        command = [sys.executable, "-m", __name__, module, part, precision, size]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise checks.RunError(f'the part "{part}" ended with an error: {last[0]}')
        rows = [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])]
        if progress:
            print(f"{part}, after {time.perf_counter() - started:.0f} s:", file=sys.stderr)
            for row in rows:
                error = "" if row.error is None else f" ± {row.error:.1g}"
                print(f"  {row.quantity}: {row.value:.7g}{error}", file=sys.stderr, flush=True)
        return rows

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return dict(zip(parts, pool.map(one, parts), strict=True))


def main() -> None:
    module, part, precision, size = sys.argv[1:]
    runtime.configure(precision=cast(runtime.Precision, precision))
    rows = importlib.import_module(module).rows_of(part, size == "full")
    print(json.dumps([dataclasses.asdict(row) for row in rows]))


if __name__ == "__main__":
    main()
