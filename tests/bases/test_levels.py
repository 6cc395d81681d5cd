"""A finite set of states, and Hamiltonians given by matrices."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from systems.levels import SIGMA_X, SIGMA_Y


def test_basis():
    basis = zt.Levels(3)
    assert basis.shape == (3,)
    assert basis.orthonormal
    psi = np.array([1.0, 2j, 0.0])
    assert complex(basis.inner(psi, psi)) == 5
    assert float(basis.norm(basis.normalize(psi))) == pytest.approx(1)
    assert list(basis.axes()) == ["level"]


def test_matrices_add_up_and_diagonalize():
    """½(σ_x + σ_y) + diag(0, 1): E = ½ ± √(¼ + ½)."""
    terms = [zt.Matrix(0.5 * SIGMA_X), zt.Matrix(0.5 * SIGMA_Y), zt.Matrix([0.0, 1.0])]
    H = zt.discretize(zt.Model(terms), zt.Levels(2))
    expected = np.array([[0, 0.5 - 0.5j], [0.5 + 0.5j, 1]])
    np.testing.assert_allclose(np.asarray(H.as_matrix()), expected)
    found = zt.eigenstates(H, 2)
    np.testing.assert_allclose(found.energies, 0.5 + np.sqrt(0.75) * np.array([-1, 1]), atol=1e-14)
    assert max(found.residuals) < 1e-14


def test_driven_matrix_from_pulse_expression_and_function():
    pulse = zt.SineSquared(amplitude=0.2, frequency=1.0, cycles=2)
    t = 5.0
    for term, factor in (
        (zt.DrivenMatrix(SIGMA_X, pulse=pulse), float(pulse.electric_field(t))),
        (zt.DrivenMatrix(SIGMA_X, expression="0.3*cos(2*t)"), 0.3 * np.cos(10.0)),
        (zt.DrivenMatrix(SIGMA_X, expression="0.25"), 0.25),
        (zt.DrivenMatrix(SIGMA_X, function=lambda t: t**2), 25.0),
    ):
        H = zt.discretize(zt.Model([zt.Matrix([0.0, 1.0]), term]), zt.Levels(2))
        found = np.asarray(H.at(t).as_matrix()) - np.diag([0.0, 1.0])
        np.testing.assert_allclose(found, factor * SIGMA_X, rtol=1e-14)


def test_refusals():
    with pytest.raises(zt.InputError, match="n: must be at least 1"):
        zt.Levels(0)
    with pytest.raises(zt.InputError, match="matrix: must be Hermitian"):
        zt.Matrix([[0.0, 1.0], [2.0, 0.0]])
    with pytest.raises(zt.InputError, match="matrix: must be a list of n numbers"):
        zt.Matrix([[0.0, 1.0]])
    with pytest.raises(zt.InputError, match="matrix: must be 3×3"):
        zt.discretize(zt.Model([zt.Matrix([0.0, 1.0])]), zt.Levels(3))
    with pytest.raises(zt.Unsupported, match=r"zt\.Levels"):
        zt.discretize(zt.Model([zt.Matrix([0.0, 1.0])]), zt.Grid(8, 0.1))
    with pytest.raises(zt.InputError, match="must be the only one"):
        zt.DrivenMatrix(SIGMA_X)
    with pytest.raises(zt.Unsupported, match="Kinetic cannot be written on a Levels"):
        zt.discretize(zt.Model([zt.Kinetic()]), zt.Levels(2))
