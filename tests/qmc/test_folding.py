"""k-points as orbitals of a supercell."""

from __future__ import annotations

import numpy as np
import pytest

from zitter import checks
from zitter.qmc.bridges import folding


def mesh(n, offset=(0.0, 0.0, 0.0)):
    """Fractions of a mesh, with rounding as PySCF's."""
    grid = np.stack(np.meshgrid(*(np.arange(m) / m for m in n), indexing="ij"), -1).reshape(-1, 3)
    return grid + offset + 1e-16


@pytest.mark.parametrize("n", [(1, 1, 1), (3, 1, 2), (2, 4, 3)])
@pytest.mark.parametrize("offset", [(0.0, 0.0, 0.0), (0.1, -0.2, 0.05)])
def test_a_mesh_fills_its_supercell(n, offset):
    found = folding.folded(mesh(n, offset))
    np.testing.assert_array_equal(found.supercell, np.diag(n))
    assert sorted(found.chosen) == list(range(np.prod(n)))
    np.testing.assert_allclose(found.twist, folding.wrapped(np.asarray(n) * offset), atol=1e-12)
    assert folding.is_real(found.twist) == (offset == (0.0, 0.0, 0.0))


def test_every_function_of_the_supercell_has_its_twist():
    """e^{ik·T_s} is the same for all k that are chosen, for a sheared supercell, too."""
    S = np.array([[2, 1, 0], [0, 1, -1], [1, 0, 2]])
    t = np.array([0.3, 0.5, -0.1])
    k = folding.needed(S, t)
    assert len(k) == round(abs(np.linalg.det(S)))
    np.testing.assert_allclose(folding.wrapped(k @ S.T - t), 0, atol=1e-9)
    apart = k[:, None] - k[None, :]
    assert np.sum(np.all(np.abs(folding.wrapped(apart)) < 1e-6, axis=-1)) == len(k)


def test_a_supercell_takes_its_twist_from_a_larger_mesh():
    k = mesh((4, 2, 2))
    found = folding.folded(k, [2, 2, 2], [0.5, 0, 0])
    np.testing.assert_allclose(sorted(k[found.chosen][:, 0]), [0.25] * 4 + [0.75] * 4, atol=1e-12)
    assert folding.is_real(found.twist)


def test_missing_k_points_are_named():
    k = np.delete(mesh((2, 2, 1)), 3, axis=0)
    with pytest.raises(checks.InputError, match=r"of 4 .* missing, .*: \(0.5, 0.5, 0\)"):
        folding.folded(k, [2, 2, 1])
    with pytest.raises(checks.InputError, match="are no mesh"):
        folding.folded(k)
    with pytest.raises(checks.InputError, match="and 4 more"):
        folding.folded(k[:1], [2, 2, 2], [0.1, 0, 0])


def test_supercells_are_whole_numbers():
    with pytest.raises(checks.InputError, match="whole numbers"):
        folding.folded(mesh((1, 1, 1)), [1.5, 1, 1])
    with pytest.raises(checks.InputError, match="must have a volume"):
        folding.folded(mesh((1, 1, 1)), [[1, 0, 0], [1, 0, 0], [0, 0, 1]])


def test_translations_are_the_cells_of_the_supercell():
    S = np.array([[2, 1, 0], [0, 1, -1], [1, 0, 2]])
    cells = folding.translations(S)
    assert len(cells) == round(abs(np.linalg.det(S)))
    inside = np.linalg.solve(S.T, cells.T).T  # n = x S
    assert np.all((inside > -1e-9) & (inside < 1 - 1e-9))
