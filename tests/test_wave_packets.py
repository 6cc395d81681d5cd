"""Packets that the spacing of a grid can hold, and others: |k| < π/h."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import zitter as zt

LINE = zt.Grid(301, 0.3)


@pytest.mark.parametrize("momentum", [20.0, -20.0, math.pi / 0.3])
def test_one_that_is_too_fast_is_refused(momentum):
    """By the grid's points it could not be told from a slower one that goes the other way."""
    packet = zt.WavePacket(width=5.0, momentum=momentum)
    with pytest.raises(zt.InputError, match=r"momentum: must be below π/spacing = 10\.47, which"):
        packet.on(LINE)
    H = zt.discretize(zt.Model([zt.Kinetic()]), LINE)
    with pytest.raises(zt.InputError, match=r"take a spacing below 0\.(157|3)"):
        packet.check(H)


def test_each_axis_has_its_own_limit():
    plane = zt.Grid((64, 64), (0.3, 0.6))
    assert zt.WavePacket(momentum=[8.0, 0.0]).on(plane).shape == (64, 64)
    with pytest.raises(zt.InputError, match=r"momentum: must be below π/spacing = 5\.236"):
        zt.WavePacket(momentum=[0.0, 8.0]).on(plane)


def test_one_of_which_a_part_is_too_fast_is_warned_of():
    with pytest.warns(UserWarning, match="83 % of the packet's momenta lie beyond"):
        zt.WavePacket(width=0.01).on(LINE)
    with pytest.warns(UserWarning, match="of the packet's momenta lie beyond"):
        zt.WavePacket(width=0.5, momentum=9.0).on(LINE)


def test_one_near_the_limit_moves_as_it_should():
    """⟨p⟩ = k where the tail beyond π/h is less than what is warned of (8 widths of 1/2σ here)."""
    H = zt.discretize(zt.Model([zt.Kinetic()]), LINE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        psi = zt.WavePacket(width=3.0, momentum=9.0).on(LINE)
    assert abs(np.ravel(zt.Momentum().evaluate(H, psi, 0.0))[0] - 9.0) < 1e-5
