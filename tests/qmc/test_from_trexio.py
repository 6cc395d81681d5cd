"""Molecules from TREXIO files: the same Ψ as from PySCF, whose orbitals they hold."""

from __future__ import annotations

import shutil
from typing import Any

import equinox as eqx
import h5py
import numpy as np
import pytest
from pyscf_files import FOLDER, against_samples, chkfile

import zitter as zt
from zitter import checks


def trexio_file(name):
    return FOLDER / f"{name}.trexio.h5"


@pytest.mark.parametrize("name", ["co", "lithium-uhf", "beryllium-cartesian"])
def test_psi_is_that_of_pyscf(name):
    psi = zt.qmc.from_trexio(trexio_file(name), cusp=False)
    log, kinetic = against_samples(psi, name)
    np.testing.assert_allclose(log, 0, atol=1e-8)  # numbers are kept to 1e-9
    np.testing.assert_allclose(kinetic, 0, atol=1e-7)


def test_determinants_are_those_of_pyscf():
    psi = zt.qmc.from_trexio(trexio_file("beryllium-cas"), smallest=1e-9, cusp=False)
    log, kinetic = against_samples(psi, "beryllium-cas")
    np.testing.assert_allclose(log, 0, atol=1e-7)
    np.testing.assert_allclose(kinetic, 0, atol=1e-6)


@pytest.mark.parametrize("name", ["co", "h2-pbe"])
def test_nuclei_and_pseudopotentials_are_those_of_the_chkfile(name):
    """TREXIO gives hydrogen an empty s channel, which PySCF does not have."""
    ours = zt.qmc.from_trexio(trexio_file(name)).system
    theirs = zt.qmc.from_pyscf(chkfile(name)).system
    assert ours.spins == theirs.spins
    np.testing.assert_allclose(ours.nuclei.positions, theirs.nuclei.positions)
    r = np.linspace(0.1, 2.0, 5)
    a: Any
    b: Any
    for a, b in zip(ours.nuclei.pseudopotentials, theirs.nuclei.pseudopotentials, strict=True):
        assert float(a.charge) == float(b.charge)
        assert len(a.channels) == len(b.channels)
        for f, g in zip((a.local, *a.channels), (b.local, *b.channels), strict=True):
            np.testing.assert_allclose(f(r), g(r), rtol=1e-12)
    assert eqx.tree_equal(ours.nuclei.species, theirs.nuclei.species)


def edited(folder, name, change):
    path = folder / f"{name}.h5"
    shutil.copy(trexio_file(name), path)
    path.chmod(0o644)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def refused(path, **options):
    with pytest.raises(checks.InputError) as caught:
        zt.qmc.from_trexio(path, **options)
    return str(caught.value)


def test_without_occupations_the_first_orbitals_are_filled(tmp_path):
    path = edited(tmp_path, "co", lambda file: file["mo"].pop("mo_occupation"))
    psi = zt.qmc.from_trexio(path)
    np.testing.assert_allclose(against_samples(psi, "co")[0], 0, atol=1e-8)


def test_what_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "text.trexio").mkdir()
    assert "as the text back end writes" in refused(tmp_path / "text.trexio")
    assert "is no file" in refused(tmp_path / "nothing.h5")
    assert "has no nuclei" in refused(chkfile("h2"))

    def with_slater(file):
        file["basis"].attrs["basis_type"] = np.bytes_(b"Slater")

    said = refused(edited(tmp_path, "co", with_slater))
    assert said == 'file: must have a basis of the type Gaussian, but has the unknown "Slater"'
    said = refused(edited(tmp_path, "co", lambda f: f["mo"].pop("mo_coefficient")))
    assert said == "file: must hold mo_coefficient, but does not"
    said = refused(edited(tmp_path, "co", lambda f: f["pbc"].attrs.create("pbc_periodic", 1)))
    assert "must be of a molecule, but is periodic" in said


def test_orbitals_must_hold_the_electrons(tmp_path):
    path = edited(tmp_path, "co", lambda f: f["mo/mo_occupation"].__setitem__(4, 0.0))
    assert "must hold the 10 electrons" in refused(path)


def test_pseudopotentials_must_agree():
    assert 'but is "none"' in refused(trexio_file("co"), pseudopotentials="none")
    assert 'must be "none"' in refused(trexio_file("lithium-uhf"), pseudopotentials="ccecp")
    assert zt.qmc.from_trexio(trexio_file("co"), pseudopotentials="ccecp").system.spins == (5, 5)


def test_sets_of_pseudopotentials_are_compared_where_the_file_names_none():
    assert zt.qmc.from_trexio(trexio_file("co"), pseudopotentials="ccecp").system.electrons == 10
    assert "must be that of the orbitals for" in refused(trexio_file("co"), pseudopotentials="bfd")
    assert "must be one of" in refused(trexio_file("co"), pseudopotentials="foo")
