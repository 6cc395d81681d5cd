"""Direct diagonalization: dense and banded, order, residuals, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_banded_and_dense_agree(order):
    """The same matrix through LAPACK's banded and dense drivers."""
    H = zt.discretize(zt.Model([zt.Kinetic(order=order), zt.SoftCoulomb()]), zt.Grid(120, 0.4))
    banded, dense = zt.eigenstates(H, 3), zt.eigenstates(H.dense(), 3)
    assert "banded" in banded.info["solver"] and "dense" in dense.info["solver"]
    np.testing.assert_allclose(banded.energies, dense.energies, atol=1e-12)
    overlaps = np.abs(np.asarray(banded.states) @ np.asarray(dense.states).T) * 0.4
    np.testing.assert_allclose(overlaps, np.eye(3), atol=1e-10)


def test_states_are_orthonormal_and_residuals_small():
    grid = zt.Grid((18, 16), 0.6)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic([1.0, 1.3])]), grid)
    found = zt.eigenstates(H, 5)
    gram = np.array([[complex(grid.inner(a, b)) for a in found.states] for b in found.states])
    np.testing.assert_allclose(gram, np.eye(5), atol=1e-12)
    assert max(found.residuals) < 1e-11
    assert np.all(np.diff(found.energies) >= 0)


def test_refusals():
    grid = zt.Grid(20, 0.5)
    open_ = zt.discretize(zt.Model([zt.Kinetic(), zt.ComplexAbsorber(2.0)]), grid)
    with pytest.raises(zt.Unsupported, match=r"H\.static"):
        zt.eigenstates(open_, 1, solver=zt.Direct())
    pulse = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=1)
    driven = zt.discretize(zt.Model([zt.Kinetic(), zt.LengthGauge(pulse)]), grid)
    with pytest.raises(zt.Unsupported, match=r"depends on time"):
        zt.eigenstates(driven, 1, solver=zt.Direct())
    with pytest.raises(zt.InputError, match="n: must be at most 20"):
        zt.eigenstates(driven.static, 21)
