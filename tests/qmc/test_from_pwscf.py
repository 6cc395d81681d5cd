"""Plane-wave files whose orbitals are known exactly, as supercells in blips."""

from __future__ import annotations

import itertools
from typing import Any

import h5py
import jax.numpy as jnp
import numpy as np
import pytest
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

VECTORS = np.array([[0.0, 2.6, 2.6], [2.6, 0.0, 2.6], [2.6, 2.6, 0.0]])
RECIPROCAL = 2 * np.pi * np.linalg.inv(VECTORS).T
POSITIONS = np.array([[0.0, 0.0, 0.0], [1.3, 1.3, 1.3]])
BARE = {"H": None}


def orbital_sets(psi) -> Any:
    return psi.slater.orbitals.sets


def mesh(n, offset=(0.0, 0.0, 0.0)):
    """k-points of an n1 × n2 × n3 mesh, in reciprocal lattice vectors."""
    return np.array([np.array(i) / n + offset for i in itertools.product(*map(range, n))])


def solved(k, bands):
    """Lowest states at k of two electrons in a weak potential of the lattice's period."""
    m = np.array(list(itertools.product(range(-4, 5), repeat=3)))
    m = m[np.linalg.norm((m + k) @ RECIPROCAL, axis=1) < 4.5]
    H = np.diag(0.5 * np.sum(((m + k) @ RECIPROCAL) ** 2, axis=1)).astype(complex)
    for i, j in itertools.product(range(len(m)), repeat=2):
        G = (m[i] - m[j]) @ RECIPROCAL
        if 0 < G @ G < 12:
            # Atoms of different strengths: no inversion, so that states are truly complex.
            H[i, j] -= 0.2 * np.exp(-1j * G @ POSITIONS[0]) + 0.05 * np.exp(-1j * G @ POSITIONS[1])
    energies, states = np.linalg.eigh(H)
    return m, energies[:bands], states[:, :bands].T


def write(path, fractions, electrons=(1, 1), bands=1, shared=False, spins=1):
    """An ES-HDF file; every state has a phase of its own. Returns {k: (m, amplitudes)}."""
    rng = np.random.default_rng(0)
    kept = {}
    with h5py.File(path, "w") as file:
        file["format"] = np.array([b"ES-HDF"])
        file["supercell/primitive_vectors"] = VECTORS
        file["atoms/number_of_atoms"] = [2]
        file["atoms/number_of_species"] = [1]
        file["atoms/positions"] = POSITIONS
        file["atoms/species_ids"] = np.array([0, 0], np.int32)
        file["atoms/species_0/name"] = np.array([b"H"])
        file["atoms/species_0/atomic_number"] = [1]
        file["atoms/species_0/valence_charge"] = [1]
        file["electrons/number_of_electrons"] = list(electrons)
        file["electrons/number_of_kpoints"] = [len(fractions)]
        file["electrons/number_of_spins"] = [spins]
        for i, k in enumerate(fractions):
            m, energies, states = solved(k, bands)
            states = states * np.exp(2j * np.pi * rng.uniform(size=(bands, 1)))
            group = file.create_group(f"electrons/kpoint_{i}")
            group["reduced_k"] = k
            if i == 0 or not shared:
                group["gvectors"] = m.astype(np.int32)
            for spin in range(spins):
                inside = group.create_group(f"spin_{spin}")
                inside["number_of_states"] = [bands]
                inside["eigenvalues"] = energies
                for j, c in enumerate(states):
                    inside[f"state_{j}/psi_g"] = np.stack([c.real, c.imag], axis=-1)
            kept[tuple(k)] = (m, states)
    return kept


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
