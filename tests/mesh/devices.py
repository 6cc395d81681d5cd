"""Programs on simulated devices, in a process of their own, and what their compilers made of them.

The number of devices is fixed when JAX starts, so that each program is a file of this folder, run
with the number of devices and its arguments.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from zitter.compiler_flags import ONE_ORDER

TESTS = Path(__file__).parent.parent
SIZES = {"f32": 4, "f64": 8, "c64": 8, "c128": 16, "s32": 4, "s64": 8, "u32": 4, "pred": 1}
COLLECTIVE = re.compile(
    r"\s*(?:ROOT )?%?[\w.\-]+ = (.*?) "
    r"(all-to-all|all-gather|all-reduce|reduce-scatter|collective-permute)(-start)?\("
)


def simulated(devices: int) -> dict[str, str]:
    """What the environment of a process with so many devices says."""
    return {
        "XLA_FLAGS": f"{ONE_ORDER} --xla_force_host_platform_device_count={devices}",
        # Collectives that wait for one another need a thread for each device.
        "NPROC": str(2 * devices),
        "JAX_PLATFORMS": "cpu",
        # Compiled without optimizations, as other tests are, collectives that do not depend on
        # one another may run in another order on each device, and mix up what they send.
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "false",
    }


def run(program: str, devices: int, *arguments: Any) -> Any:
    """What `main(*arguments)` of a program returns."""
    call = f"from mesh import {program}, devices; devices.answer({program}.main)"
    paths = [str(TESTS), str(TESTS / "qmc"), *sys.path]
    result = subprocess.run(
        [sys.executable, "-c", call, *map(json.dumps, arguments)],
        capture_output=True,
        text=True,
        timeout=900,
        env=os.environ | simulated(devices) | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])


def answer(main: Any) -> None:
    print(json.dumps(main(*map(json.loads, sys.argv[1:]))))


def collectives(text: str | None) -> list[tuple[str, int]]:
    """(kind, bytes of the result on one device) of each collective in a compiled program.

    A loop's body counts once.
    """
    assert text is not None
    found = []
    for line in text.splitlines():
        match = COLLECTIVE.match(line)
        if match:
            arrays = re.findall(r"(\w+)\[([\d,]*)\]", match[1])
            sizes = [
                SIZES[kind] * math.prod(map(int, filter(None, n.split(",")))) for kind, n in arrays
            ]
            found.append((match[2], sum(sizes)))
    return found


def bytes_of(compiled: Any) -> int:
    """What a compiled program takes on one device."""
    analysis = compiled.memory_analysis()
    return (
        analysis.argument_size_in_bytes
        + analysis.output_size_in_bytes
        + analysis.temp_size_in_bytes
        - analysis.alias_size_in_bytes
    )
