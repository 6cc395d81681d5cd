"""What decides the rows of the moving ion."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zitter.propagators import TaylorSum
from zitter.reproduce import h2plus_1d, leading_errors
from zitter.results import Solution
from zitter.stored import Kept

X = np.linspace(-6, 6, 121)


def wells(between: float) -> np.ndarray:
    """Two bumps and a constant, of which e^{−9/2} of each bump is left in the middle."""
    return np.exp(-2 * (X - 1.5) ** 2) + np.exp(-2 * (X + 1.5) ** 2) + between


@pytest.mark.parametrize("between", [0.0, 0.2, 0.5])
def test_the_least_probability_between_two_maxima(between):
    least, place = h2plus_1d.lowest_between(wells(between).astype(complex), X)
    middle, top = (2 * math.exp(-4.5) + between, 1 + math.exp(-18) + between)
    # The splines' own error is h⁴: 0.1⁴ times fourth derivatives of some 50, over 384.
    assert least == pytest.approx((middle / top) ** 2, abs=1e-4)
    assert place == pytest.approx(0.0, abs=0.01)


def test_a_node_is_zero_probability_whatever_the_phase():
    psi = (np.exp(-2 * (X - 1.5) ** 2) - np.exp(-2 * (X + 1.5) ** 2)) * np.exp(0.7j)
    least, place = h2plus_1d.lowest_between(psi, X)
    assert least < 1e-12
    assert abs(place) < 1e-9


def test_one_maximum_has_nothing_between():
    assert math.isnan(h2plus_1d.lowest_between(np.exp(-(X**2)) + 0j, X)[0])


def test_the_hump_is_judged_by_the_sum_that_runs_use(monkeypatch):
    (row,) = h2plus_1d._hump()
    assert row.ok
    assert row.value > 2**-23  # digits are lost
    # Half as many terms do not converge at 8, and the row tells.
    monkeypatch.setattr(h2plus_1d, "TaylorSum", lambda _: TaylorSum(15))
    (row,) = h2plus_1d._hump()
    assert not row.ok


def test_leading_errors_are_powers_of_the_step():
    """With half the step a quarter, and a sixteenth: sums over steps are as good as integrals."""
    (rough, level), (fine, _) = (
        leading_errors.sizes(0.1, 127, True, h, 0.1) for h in (h2plus_1d.DT, h2plus_1d.DT / 2)
    )
    for name, size in rough.items():
        power = 4 if name == leading_errors.CLASSICAL else 2
        # The midpoint rule of the sum over steps has an error of its own, h² times 100² of E₀.
        assert size / fine[name] == pytest.approx(2**power, rel=(level * h2plus_1d.DT) ** 2)


def test_leading_errors_are_those_of_a_method_written_out():
    """Crank–Nicolson and the exponential of the midpoint, by matrices, beside 16 times shorter
    steps of the latter."""
    x = 0.1 * (np.arange(127) - 63)
    T = leading_errors.differences(127, 0.1)

    def run(step, h):
        psi = np.linalg.eigh(T + np.diag(leading_errors.wells(x, 0.0)))[1][:, 0].astype(complex)
        for k in range(round(0.02 / h)):
            psi = step(T + np.diag(leading_errors.wells(x, (k + 0.5) * h)), h) @ psi
        return psi

    def exponential(H, h):
        E, v = np.linalg.eigh(H)
        return (v * np.exp(-1j * h * E)) @ v.T

    def cayley(H, h):
        return np.linalg.solve(np.eye(127) + 0.5j * h * H, np.eye(127) - 0.5j * h * H)

    theory, level = leading_errors.sizes(0.1, 127, False, h2plus_1d.DT, 0.02)
    exact = run(exponential, h2plus_1d.DT / 16)
    for name, step in ((leading_errors.MIDPOINT, exponential), (leading_errors.CAYLEY, cayley)):
        missed = np.linalg.norm(run(step, h2plus_1d.DT) - exact)
        # The next power of the step, and 1/16² of the error of the short steps.
        allowed = (level * h2plus_1d.DT) ** 2 + 1 / 256
        assert missed == pytest.approx(theory[name], rel=allowed)


def test_an_error_that_is_not_the_methods_own_is_told():
    theory = ({"Cayley": 0.131}, -97.0)
    assert h2plus_1d._missed("a", 0.130, "Cayley", 0.0, theory).ok
    assert not h2plus_1d._missed("a", 0.140, "Cayley", 0.0, theory).ok
    assert not h2plus_1d._missed("a", 0.100, "Cayley", 0.0, theory).ok  # nor one that is smaller


def test_every_figure_is_drawn(monkeypatch, tmp_path):
    """Of courses that were not run, with what is recorded in them."""

    def made(H, psi, *_, **options):
        times = np.linspace(0.0, 2.0, 5)
        found = {"norm": np.ones(5), "instantaneous_populations": np.full((5, 4), 0.25)}
        described = {name: ((), "1", name) for name in found}
        states, axes = np.tile(psi, (5, 1)), {"x": H.basis.coordinates()[0]}
        kept = Kept({"basis": H.basis})
        return Solution(times, found, psi, states, {}, axes, {}, described, {}, kept=kept)

    monkeypatch.setattr(h2plus_1d, "evolve", made)
    courses = {name: h2plus_1d._course(63, motion) for name, motion in h2plus_1d.MOTIONS.items()}
    saved = h2plus_1d._figures(tmp_path, h2plus_1d._ion(63), courses)
    assert len(saved) == 7 and {str(path) for path in tmp_path.iterdir()} == set(saved)


@pytest.mark.slow
def test_default_run_of_the_wheel_is_as_expected(default_run):
    default_run("h2plus-1d")
