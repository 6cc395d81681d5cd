"""Plane-wave files whose orbitals are known exactly, as supercells in blips."""

from __future__ import annotations

from typing import Any

import h5py
import jax.numpy as jnp
import numpy as np
import pytest
from plane_wave_files import RECIPROCAL, VECTORS, mesh, write
from walker_programs import begin

from zitter import checks
from zitter.qmc import (
    Blips,
    Crystal,
    GaussianSum,
    Pseudopotential,
    RealParts,
    from_pwscf,
)

BARE = {"H": None}


def orbital_sets(psi) -> Any:
    return psi.slater.orbitals.sets


def exact_log(kept, r, n):
    """ln|D↑D↓| of the Bloch states themselves at r (3, N), up to what is the same everywhere."""
    columns = []
    for k, (m, states) in kept.items():
        waves = np.exp(1j * r.T @ ((m + np.array(k)) @ RECIPROCAL).T)
        columns.append(waves @ states.T)
    matrix = np.concatenate(columns, axis=1)
    return sum(np.linalg.slogdet(matrix[part])[1] for part in (slice(0, n), slice(n, None)))


@pytest.mark.parametrize(
    ("offset", "is_complex"),
    [((0.0, 0.0, 0.0), False), ((0.25, 0.0, 0.0), False), ((0.1, 0.05, 0.0), True)],
    ids=["gamma", "half", "general"],
)
def test_a_supercell_is_made_of_its_k_points(tmp_path, offset, is_complex):
    """|Ψ| at random places against the determinant of Bloch states, phases and pairs resolved."""
    path = tmp_path / "pwscf.h5"
    kept = write(path, mesh((2, 1, 1), offset))
    psi = from_pwscf(path, BARE, multiplicity=5)
    assert isinstance(psi.system, Crystal)
    assert psi.is_complex == is_complex
    assert psi.system.spins == (2, 2)
    assert psi.system.cells == 2
    assert psi.system.nuclei.count == 4
    np.testing.assert_allclose(psi.system.cell.vectors, np.diag([2, 1, 1]) @ VECTORS)
    np.testing.assert_allclose(psi.system.twist, np.array([2, 1, 1]) * offset, atol=1e-12)
    r = np.random.default_rng(1).uniform(-5, 5, size=(6, 3, 4))
    found = np.asarray(begin(psi, jnp.asarray(r)).log)
    expected = np.array([exact_log(kept, one, 2) for one in r])
    # Blips on 25³ points are 1e-5 from the orbitals, and determinants can be ten times smaller.
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=2e-3)


def test_pairs_of_wave_vectors_take_one_evaluation(tmp_path):
    """Of three k-points at Γ one pairs with another: two complex functions, three real orbitals."""
    path = tmp_path / "pwscf.h5"
    kept = write(path, mesh((3, 1, 1)))
    psi = from_pwscf(path, BARE, multiplicity=5, stored="float32")
    (orbitals,) = orbital_sets(psi)
    assert isinstance(orbitals, RealParts)
    assert (orbitals.count, orbitals.orbitals.count) == (3, 2)
    assert isinstance(orbitals.orbitals, Blips)
    assert orbitals.orbitals.table.dtype == jnp.float32
    r = np.random.default_rng(2).uniform(-5, 5, size=(6, 3, 6))
    found = np.asarray(begin(psi, jnp.asarray(r)).log)
    expected = np.array([exact_log(kept, one, 3) for one in r])
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=5e-3)


def test_gamma_alone_makes_real_blips(tmp_path):
    path = tmp_path / "pwscf.h5"
    write(path, mesh((1, 1, 1)))
    psi = from_pwscf(path, BARE)
    (orbitals,) = orbital_sets(psi)
    assert orbitals.table.shape[1] == 1  # no imaginary parts kept


def test_shared_plane_waves_and_unequal_spins(tmp_path):
    path = tmp_path / "pwscf.h5"
    write(path, mesh((1, 1, 1)), electrons=(1, 2), bands=3, shared=True, spins=2)
    psi = from_pwscf(path, BARE, twist=(0, 0, 0))
    assert psi.system.spins == (2, 1)
    assert [one.count for one in orbital_sets(psi)] == [2, 1]


def h_like(charge):
    return Pseudopotential(charge, GaussianSum([1.0], [2.0], [-1]), name="test")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"pseudopotentials": BARE, "supercell": (2, 2, 1)},
            r"supercell: must be filled by the k-points .* missing, .*: \(0, 0.5, 0\), ",
        ),
        ({"pseudopotentials": {}}, "pseudopotentials.H: must be given: the file does not hold it"),
        (
            {"pseudopotentials": {"H": h_like(3)}},
            "pseudopotentials.H: must leave the charge 1 that the file states, but leaves 3",
        ),
        (
            {"pseudopotentials": BARE | {"Si": None}},
            "pseudopotentials.Si: must be for an element of pwscf.h5, H",
        ),
        ({"pseudopotentials": 3}, "pseudopotentials: must be a name or a table by element"),
    ],
)
def test_what_a_plane_wave_file_refuses(tmp_path, options, sentence):
    path = tmp_path / "pwscf.h5"
    write(path, mesh((2, 1, 1)))
    with pytest.raises(checks.InputError, match=sentence):
        from_pwscf(path, **options)


def test_files_that_do_not_hold_the_electrons(tmp_path):
    path = tmp_path / "pwscf.h5"
    write(path, mesh((2, 1, 1)), electrons=(2, 2), bands=1)
    with pytest.raises(checks.InputError, match="file: must hold the 4 electrons of a spin, but "):
        from_pwscf(path, BARE)
    with pytest.raises(checks.InputError, match="file: must name an ES-HDF file"):
        from_pwscf(tmp_path / "none.h5", BARE)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    with pytest.raises(checks.InputError, match="file: must be an ES-HDF file with supercell/"):
        from_pwscf(tmp_path / "other.h5", BARE)
