"""Grids: points, names, the inner product, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt


def test_points_are_centred():
    np.testing.assert_allclose(zt.Grid(4, 0.5).points(0), [-0.75, -0.25, 0.25, 0.75])
    np.testing.assert_allclose(zt.Grid(3, 0.5, center=2.0).points(0), [1.5, 2.0, 2.5])
    assert zt.Grid(4, "1 angstrom").spacing[0] == pytest.approx(1.8897261, rel=1e-7)


def test_axes_and_particles():
    assert zt.Grid((4, 5, 6), 0.1).axis_names() == ("x", "y", "z")
    pair = zt.Grid((4, 5), 0.1, particles=2)
    assert pair.axis_names() == ("x1", "x2")
    assert pair.dimension == 1
    assert [x.shape for x in pair.coordinates(1)] == [(1, 5)]


def test_inner_product_is_the_integral():
    """⟨φ|ψ⟩ of two Gaussians in 2D, the rectangle rule being exact to rounding for them."""
    grid = zt.Grid((40, 44), (0.4, 0.35))
    phi = grid.sample(lambda x, y: np.exp(-(x**2 + y**2) / 2 + 0.5j * x))
    psi = grid.sample(lambda x, y: np.exp(-(x**2 + y**2) / 2 + 0j))
    assert complex(grid.inner(phi, psi)) == pytest.approx(np.pi * np.exp(-(0.5**2) / 4), rel=1e-12)
    assert float(grid.norm(grid.normalize(psi))) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((2, 0.1), "shape: must be at least 3"),
        (((4, 4, 4, 4), 0.1), "shape: must have 1, 2 or 3 axes"),
        ((8, -0.1), "spacing: must be positive"),
        ((8, (0.1, 0.2)), "spacing: must have 1 value"),
        ((8, 0.1, "open"), "boundary: must be one of"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(zt.InputError, match=message):
        zt.Grid(*arguments)


def test_particles_must_divide_the_axes():
    with pytest.raises(zt.InputError, match="particles: must divide"):
        zt.Grid((4, 4, 4), 0.1, particles=2)
