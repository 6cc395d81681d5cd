"""Cells from PySCF: orbitals at k-points are folded to those of a supercell."""

from __future__ import annotations

import dataclasses
import shutil

import h5py
import numpy as np
import pytest
from pyscf_files import NUMBERS, against_samples, agrees, chkfile

import zitter as zt
from zitter import checks
from zitter.qmc.bridges import chkfiles, periodic, pyscf_records
from zitter.qmc.bridges.calculation import filled
from zitter.qmc.bridges.real_orbitals import Bloch, real_parts
from zitter.reproduce import qmc_matter

ORBITALS = qmc_matter.ORBITALS
# Images of functions below 1e-8 are left out, here and in PySCF; near nodes Ψ feels more of it.
CLOSE = 2e-5


@pytest.mark.parametrize(
    ("name", "twist"),
    [
        ("hydrogen-2", (0, 0, 0)),  # KRHF at Γ and X, both real
        ("hydrogen-3", (0, 0, 0)),  # with a pair ±k
        ("hydrogen-gamma", (0, 0, 0)),  # RHF at one k
        ("hydrogen-uhf-twist", (0.3, 0.1, 0.2)),  # KUHF
        ("diamond-2", (0, 0, 0)),  # degenerate orbitals with phases at X
        ("diamond-twist", (0.15, -0.2, 0.1)),
    ],
)
def test_psi_is_that_of_pyscf(name, twist):
    psi = zt.qmc.from_pyscf(chkfile(name))
    log, kinetic = against_samples(psi, name)
    np.testing.assert_allclose(log, 0, atol=CLOSE)
    np.testing.assert_allclose(kinetic, 0, atol=CLOSE)
    assert isinstance(psi.system, zt.qmc.Crystal)
    np.testing.assert_allclose(psi.system.twist, twist, atol=1e-9)
    assert psi.is_complex == any(twist)


def test_a_mesh_of_k_points_is_gamma_of_its_supercell():
    """The same orbitals as PySCF's k2gamma unfolds them, in a cell of its own."""
    large = zt.qmc.from_pyscf(chkfile("hydrogen-3-unfolded"))
    folded = zt.qmc.from_pyscf(chkfile("hydrogen-3"))
    assert large.system.spins == folded.system.spins == (3, 3)
    assert large.system.cell is not None and folded.system.cell is not None
    np.testing.assert_allclose(large.system.cell.volume, folded.system.cell.volume)
    np.testing.assert_allclose(
        np.sort(large.system.nuclei.positions, axis=0),
        np.sort(folded.system.nuclei.positions, axis=0),
    )
    np.testing.assert_allclose(against_samples(large, "hydrogen-3")[0], 0, atol=CLOSE)
    # Energies are per cell of the calculation that was done.
    assert folded.system.units == (3, "hartree per cell")
    assert large.system.units == (1, "hartree per cell")


def test_twists_choose_k_points():
    psi = zt.qmc.from_pyscf(chkfile("hydrogen-3"), supercell=[1, 1, 1], twist=[1 / 3, 0, 0])
    assert psi.system.spins == (1, 1)
    assert psi.is_complex
    assert not zt.qmc.from_pyscf(chkfile("hydrogen-3"), supercell=[1, 1, 1]).is_complex


def refused(name, **options):
    with pytest.raises(checks.InputError) as caught:
        zt.qmc.from_pyscf(chkfile(name), **options)
    return str(caught.value)


def test_k_points_must_fill_the_supercell():
    said = refused("hydrogen-2", supercell=[2, 2, 1])
    assert said == (
        "supercell: must be filled by the k-points of the file, but of 4 that it needs these are "
        "missing, in reciprocal lattice vectors: (0, 0.5, 0), (0.5, 0.5, 0)"
    )
    assert "(0.1, 0, 0)" in refused("hydrogen-2", supercell=[1, 1, 1], twist=[0.1, 0, 0])


def changed(tmp_path, name, **arrays):
    """A copy of a chkfile with other arrays."""
    path = tmp_path / f"{name}.chk"
    shutil.copy(chkfile(name), path)
    with h5py.File(path, "r+") as file:
        for key, values in arrays.items():
            file[f"scf/{key}"][...] = values
    return path


def test_k_points_that_are_filled_unequally(tmp_path):
    """As in metals: all of them hold the electrons, one alone has too many or too few."""
    occupations = np.zeros((2, 10))
    occupations[0, :2] = 2
    path = changed(tmp_path, "hydrogen-2", mo_occ=occupations)
    assert zt.qmc.from_pyscf(path).system.spins == (2, 2)
    with pytest.raises(checks.InputError, match=r"the 2 electrons of the supercell, but .* hold 4"):
        zt.qmc.from_pyscf(path, supercell=[1, 1, 1])


def test_all_electrons_may_have_one_spin(tmp_path):
    occupations = np.zeros((2, 2, 10))
    occupations[0, :, :2] = 1
    psi = zt.qmc.from_pyscf(changed(tmp_path, "hydrogen-uhf-twist", mo_occ=occupations))
    assert psi.system.spins == (4, 0)


@pytest.mark.parametrize("blips", [16, 0.5, -1e-3])
def test_blips_are_a_grid_or_a_small_error(blips):
    assert "blips: must be" in refused("hydrogen-2", blips=blips)


def test_a_coarse_grid_of_blips_is_told():
    with pytest.warns(UserWarning, match=r"blips is coarse: .* errors \d.*e-0[12] \(values\)"):
        zt.qmc.from_pyscf(chkfile("hydrogen-2"), blips=(6, 8, 8))


@pytest.mark.slow
def test_slabs_that_reach_their_image_have_no_blips():
    tables = chkfiles.tables(ORBITALS / "bn.chk")
    slab = pyscf_records.calculation(tables, 1e-4)
    bands = periodic.occupied(slab, periodic.folding_of(slab, [1, 1, 1], None))
    coefficients = [bands[0][0].coefficients]

    def sums(vectors):
        return [
            zt.qmc.BlochGaussians(slab.basis, v, np.zeros((1, 3)), coefficients)
            for v in (vectors[:2], vectors)
        ]

    periodic._require_vacuum(slab, *sums(np.asarray(slab.vectors)))
    near = np.asarray(slab.vectors) * np.array([1, 1, 0.3])
    with pytest.raises(checks.InputError, match=r"blips: must not .* take a longer third vector"):
        periodic._require_vacuum(dataclasses.replace(slab, vectors=near), *sums(near))


def test_molecules_have_no_supercell():
    assert refused("h2", supercell=[2, 1, 1]) == "supercell: must not be given for a molecule"
    assert "twist: must not" in refused("h2", twist=[0, 0, 0])
    assert "blips: must not" in refused("h2", blips=1e-3)


@pytest.mark.slow
def test_blips_stand_for_the_orbitals():
    """A third of a bohr leaves about 5e-3 of values: hydrogen's ccECP orbitals are smooth."""
    psi = zt.qmc.from_pyscf(chkfile("hydrogen-2"), blips=(12, 16, 16))
    assert not psi.is_complex
    log = against_samples(psi, "hydrogen-2")[0]
    assert 1e-4 < np.max(np.abs(log)) < 0.02


def mixed(seed, n, m):
    """n real orbitals of m functions, mixed with phases."""
    random = np.random.default_rng(seed)
    unitary = np.linalg.qr(random.normal(size=(n, n)) + 1j * random.normal(size=(n, n)))[0]
    return random.normal(size=(m, n)) @ unitary


def test_degenerate_orbitals_at_half_a_reciprocal_vector_become_real():
    orbitals = mixed(1, 3, 7)
    (parts,) = real_parts([Bloch(np.array([0.5, 0, 0]), orbitals)]) or []
    assert parts.coefficients.dtype == np.float64
    assert not parts.both
    # The same span: every orbital is a combination of the real ones.
    rest = orbitals - parts.coefficients @ np.linalg.lstsq(parts.coefficients, orbitals)[0]
    np.testing.assert_allclose(rest, 0, atol=1e-12)


def test_half_of_a_degenerate_pair_stays_complex():
    orbitals = mixed(2, 2, 7)[:, :1]
    assert real_parts([Bloch(np.zeros(3), orbitals)]) is None
    k = np.array([0.25, 0, 0])
    other = mixed(3, 2, 7)[:, :1]
    assert real_parts([Bloch(k, orbitals), Bloch(-k, other)]) is None
    pair = real_parts([Bloch(k, orbitals), Bloch(-k, orbitals.conj())])
    assert pair is not None and pair[0].both


def test_orbitals_of_both_spins_come_first():
    occupations = np.array([1.0, 2.0, 0.0, 2.0])
    found = filled(np.eye(4), occupations)
    assert (found.both, found.up) == (2, 3)
    np.testing.assert_array_equal(found.coefficients, np.eye(4)[:, [1, 3, 0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "error", "walkers"),
    [("hydrogen-gamma", 0.005, 2048), ("hydrogen-2", 0.01, 256), ("diamond-twist", 0.03, 256)],
)
def test_vmc_of_a_determinant_gives_hartree_fock(name, error, walkers):
    """Per primitive cell, within 3σ; `error` is what so short a run leaves.

    Around bare nuclei without a cusp E_L is −1/r, whose fourth moment is infinite: error bars
    themselves need many samples.
    """
    psi = zt.qmc.from_pyscf(chkfile(name))
    out = zt.qmc.vmc(psi, walkers=walkers, blocks=400, seed=3)
    assert out.energy_error < error
    assert agrees(out, NUMBERS[name])
