"""What decides the rows of the moving ion."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zitter.propagators import TaylorSum
from zitter.reproduce import h2plus_1d

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


@pytest.mark.slow
def test_default_run_of_the_wheel_is_as_expected(default_run):
    default_run("h2plus-1d")
