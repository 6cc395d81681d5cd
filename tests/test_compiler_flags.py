"""The flag that keeps programs for CPUs, and collectives of several devices, in one order."""

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
    "before, flags, devices",
    [
        pytest.param(
            "", "--xla_force_host_platform_device_count=2", 2, marks=pytest.mark.multiprocess
        ),
        pytest.param(
            "jax.config.update('jax_num_cpu_devices', 2)", None, 2, marks=pytest.mark.multiprocess
        ),
        ("", None, 1),
    ],
)
def test_the_flag_is_set_before_the_first_device_is_met(before, flags, devices):
    warned, after, seen = configured(before, {"space": devices}, flags)
    assert (warned, seen) == ("[]", str(devices))
    assert after == " ".join(filter(None, [ONE_ORDER, flags]))


@pytest.mark.multiprocess
@pytest.mark.parametrize(
    "devices, what", [(2, "2 CPU devices of one process may mix up"), (1, "never end")]
)
def test_what_comes_too_late_names_the_flag(devices, what):
    before = f"jax.config.update('jax_num_cpu_devices', {devices}); jax.devices()"
    warned, after, _ = configured(before, {"space": devices})
    assert what in warned and ONE_ORDER in warned
    assert after == "none"  # it would tell of an order that is not kept


def test_an_order_that_the_user_has_chosen_is_warned_of():
    flags = ONE_ORDER.replace("false", "true")
    warned, after, _ = configured("", {"space": 1}, flags)
    assert "never end" in warned and after == flags


@pytest.mark.multiprocess
def test_a_compiler_that_does_not_know_the_flag_is_not_given_it():
    before = "from zitter import compiler_flags as c; c.SURE = (); c.known = lambda flags: False"
    warned, after, _ = configured(before, {"space": 1})
    assert "does not know" in warned and "zt.configure" not in warned and after == "none"


FIRST = """
    import numpy as np
    import zitter as zt
    {before}
    pulse = zt.SineSquared(amplitude=0.05, frequency=0.5, cycles=4)
    zt.Populations(states=np.eye(3))
    print(zt.FreeForm.near(pulse, band=(0.2, 0.8)).coefficients.tolist())
"""


@pytest.mark.slow
def test_numbers_are_those_of_double_precision_whatever_comes_first():
    said = []
    for before in ("", "zt.configure()"):
        program = [sys.executable, "-W", "error", "-c"]
        program.append(textwrap.dedent(FIRST.format(before=before)))
        done = subprocess.run(program, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]


STEPS = """
    import zitter as zt

    pulse = zt.SineSquared(amplitude=0.05, frequency=0.5, cycles=2)
    basis = zt.SphericalBasis(zt.RadialBSplines(500, 7, 100), 40)
    model = zt.Model([zt.Kinetic(), zt.Coulomb(Z=1), zt.LengthGauge(pulse)])
    H = zt.discretize(model, basis)
    psi = zt.eigenstates(H.static, 1).states[0]
    sol = zt.evolve(H, psi, (0, 0.1), 0.05, zt.GaussCollocation())
    print(sol.info["norm_loss"])
"""


@pytest.mark.slow
def test_programs_of_many_products_do_not_wait_for_themselves():
    """With jaxlib's own order this one stood still on two cores, every time."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    environment.pop("XLA_FLAGS", None)
    program = [sys.executable, "-c", textwrap.dedent(STEPS)]
    result = subprocess.run(program, capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr
    assert abs(float(result.stdout)) < 1e-10


@pytest.mark.multiprocess
def test_what_the_compiler_does_not_know_is_not_given_to_it():
    assert compiler_flags.known(ONE_ORDER)
    assert not compiler_flags.known("--xla_no_such_flag=true")


def test_flags_of_the_user_come_last():
    assert compiler_flags.added("--a=1", {"XLA_FLAGS": "--a=2"}) == "--a=1 --a=2"
    assert compiler_flags.added("--a=1", {}) == "--a=1"
