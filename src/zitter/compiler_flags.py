"""Flags of the compiler, which it reads once, when JAX meets its first device.

Several CPU devices of one process hand their pieces to one another through its memory. With the
scheduler that jaxlib takes for many threads, collectives that do not depend on one another may come
in another order on each device, and in a few of many runs they are mixed up: numbers are wrong by
1e-5, or the process aborts. `ONE_ORDER` prevents it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import jax

from zitter.keywords import caller

VARIABLE = "XLA_FLAGS"
ONE_ORDER = "--" + "xla_cpu_enable_concurrency_optimized_scheduler=false"
SIMULATED = "xla_force_host_platform_device_count"


def known(flags: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the compiler here takes these flags: one that does not know them ends the process."""
    command = [sys.executable, "-c", "import jax; jax.devices()"]
    alone = dict(environment) | {VARIABLE: flags, "JAX_PLATFORMS": "cpu"}
    return subprocess.run(command, capture_output=True, check=False, env=alone).returncode == 0


def added(flags: str, environment: Mapping[str, str] = os.environ) -> str:
    """These flags and what the user has set, which comes last, and counts."""
    return f"{flags} {environment.get(VARIABLE, '')}".strip()


def keep_one_order() -> None:
    """Before the first device is met: collectives of several CPU devices in one order."""
    given = os.environ.get(VARIABLE, "")
    several = SIMULATED in given or _number_of_cpus() > 1
    if several and ONE_ORDER not in given and not _devices_are_met() and known(ONE_ORDER):
        os.environ[VARIABLE] = added(ONE_ORDER)


def warn_of_any_order(devices: list[Any]) -> None:
    """Where a mesh has several CPU devices of this process, and the flag came too late."""
    own = [d for d in devices if d.process_index == jax.process_index()]
    if len(own) > 1 and own[0].platform == "cpu" and ONE_ORDER not in os.environ.get(VARIABLE, ""):
        warnings.warn(
            f"{len(own)} CPU devices of one process may mix up what they send to one another, "
            f"unless {VARIABLE} contains {ONE_ORDER}; zt.configure sets it where it is called "
            "before anything else has used JAX",
            stacklevel=caller(),
        )


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
