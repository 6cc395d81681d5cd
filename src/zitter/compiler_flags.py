"""Flags of the compiler, which it reads once, when JAX meets its first device.

On CPUs jaxlib orders a program for many threads at once. Two things go wrong with that. Products of
matrices that do not depend on one another may each wait, inside the two or more threads that the
program has, for a thread to be free: the program then stands still for good (an implicit step on
500 splines with l ≤ 40 on two cores, every time). And collectives of several devices of one process
may come in another order on each: in a few of many runs they are mixed up, numbers are wrong by
1e-5, or the process aborts. `ONE_ORDER` prevents both, and programs are as fast with it.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import jax

from zitter.keywords import caller

VARIABLE = "XLA_FLAGS"
SCHEDULER = "--" + "xla_cpu_enable_concurrency_optimized_scheduler"
ONE_ORDER = f"{SCHEDULER}=false"
SURE = ("0.10.", "0.11.")  # versions of jaxlib that take it; others are asked, which takes seconds


def known(flags: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the compiler here takes these flags: one that does not know them ends the process."""
    command = [sys.executable, "-c", "import jax; jax.devices()"]
    alone = dict(environment) | {VARIABLE: flags, "JAX_PLATFORMS": "cpu"}
    return subprocess.run(command, capture_output=True, check=False, env=alone).returncode == 0


def added(flags: str, environment: Mapping[str, str] = os.environ) -> str:
    """These flags and what the user has set, which comes last, and counts."""
    return f"{flags} {environment.get(VARIABLE, '')}".strip()


def keep_one_order() -> None:
    """Before the first device is met: programs for CPUs in one order."""
    if SCHEDULER not in os.environ.get(VARIABLE, "") and not _devices_are_met() and _is_taken():
        os.environ[VARIABLE] = added(ONE_ORDER)


def warn_of_any_order(devices: list[Any]) -> None:
    """Where this process works on CPU devices, and the flag came too late or is set otherwise."""
    own = [d for d in devices if d.process_index == jax.process_index()]
    if own and own[0].platform == "cpu" and not _is_kept():
        what = (
            f"{len(own)} CPU devices of one process may mix up what they send to one another"
            if len(own) > 1
            else "programs for the CPU may wait for themselves, and never end"
        )
        mend = (
            f"unless {VARIABLE} contains {ONE_ORDER}; zt.configure sets it where it is called "
            "before anything else has used JAX"
            if _is_taken()
            else f"since this jaxlib does not know {ONE_ORDER}"
        )
        warnings.warn(f"{what}, {mend}", stacklevel=caller())


@functools.cache
def _is_taken() -> bool:
    return importlib.metadata.version("jaxlib").startswith(SURE) or known(ONE_ORDER)


def _is_kept() -> bool:
    """Of a flag that is there twice the last one counts."""
    given = [flag for flag in os.environ.get(VARIABLE, "").split() if flag.startswith(SCHEDULER)]
    return given[-1:] == [ONE_ORDER]


def _number_of_cpus() -> int:
    return jax.config.values.get("jax_num_cpu_devices", -1)


def _devices_are_met() -> bool:
    """Found by what JAX refuses from then on; nothing is changed."""
    number = _number_of_cpus()
    try:
        jax.config.update("jax_num_cpu_devices", number + 1)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", number)
    return False
