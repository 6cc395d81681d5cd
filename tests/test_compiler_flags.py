"""Several CPU devices of one process: the flag that keeps their collectives in one order."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from zitter import compiler_flags
from zitter.compiler_flags import ONE_ORDER

CONFIGURED = """
    import os, warnings
    import jax
    {before}
    import zitter as zt
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        chosen = zt.configure(mesh={mesh})
    print([str(w.message) for w in heard])
    print(os.environ.get("XLA_FLAGS", "none"))
    print(len(jax.devices()))
"""


def configured(before: str, mesh: dict, flags: str | None = None) -> list[str]:
    """What is warned of, the flags, and the number of devices after `zt.configure`."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    environment.pop("XLA_FLAGS", None)
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CONFIGURED.format(before=before, mesh=mesh))],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment | ({"XLA_FLAGS": flags} if flags else {}),
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.parametrize(
    "before, flags",
    [
        pytest.param(
            "", "--xla_force_host_platform_device_count=2", marks=pytest.mark.multiprocess
        ),
        ("jax.config.update('jax_num_cpu_devices', 2)", None),
    ],
)
def test_a_mesh_sets_the_flag_before_the_first_device_is_met(before, flags):
    warned, after, devices = configured(before, {"space": 2}, flags)
    assert (warned, devices) == ("[]", "2")
    assert after == " ".join(filter(None, [ONE_ORDER, flags]))


@pytest.mark.multiprocess
def test_a_mesh_that_comes_too_late_names_the_flag():
    before = "jax.config.update('jax_num_cpu_devices', 2); jax.devices()"
    warned, after, _ = configured(before, {"space": 2})
    assert "2 CPU devices of one process may mix up" in warned and ONE_ORDER in warned
    assert after == "none"  # it would tell of an order that is not kept


@pytest.mark.multiprocess
def test_one_device_is_left_alone():
    assert configured("", {"space": 1}) == ["[]", "none", "1"]


@pytest.mark.multiprocess
def test_what_the_compiler_does_not_know_is_not_given_to_it():
    assert compiler_flags.known(ONE_ORDER)
    assert not compiler_flags.known("--xla_no_such_flag=true")


def test_flags_of_the_user_come_last():
    assert compiler_flags.added("--a=1", {"XLA_FLAGS": "--a=2"}) == "--a=1 --a=2"
    assert compiler_flags.added("--a=1", {}) == "--a=1"
