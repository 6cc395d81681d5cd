"""Molecules from PySCF: Ψ is the one that PySCF calculated."""

from __future__ import annotations

import json
import shutil
import types
from typing import Any

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pyscf_files import NUMBERS, against_samples, agrees, chkfile

import zitter as zt
from zitter import checks
from zitter.qmc.systems.pseudopotentials import GaussianSum, Pseudopotential


@pytest.mark.parametrize(
    "name",
    ["h2", "beryllium", "beryllium-cartesian", "lih", "lithium-uhf", "co", "carbon-rohf"],
)
def test_psi_is_that_of_pyscf(name):
    """RHF, ROHF and UHF: values and Laplacians as PySCF evaluates them, up to s … f functions."""
    psi = zt.qmc.from_pyscf(chkfile(name), cusp=False)
    log, kinetic = against_samples(psi, name)
    np.testing.assert_allclose(log, 0, atol=1e-8)  # numbers are kept to 1e-9
    np.testing.assert_allclose(kinetic, 0, atol=1e-7)


@pytest.mark.parametrize("name", ["beryllium-cas", "nitrogen-cas"])
def test_cas_has_all_determinants_with_their_signs(name):
    """Strings of both spins differ in nitrogen, with four electrons up and one down."""
    psi = zt.qmc.from_pyscf(chkfile(name), smallest=1e-9, cusp=False)
    log, kinetic = against_samples(psi, name)
    np.testing.assert_allclose(log, 0, atol=1e-7)  # PySCF's own list ends at 1e-9
    np.testing.assert_allclose(kinetic, 0, atol=1e-6)


def test_small_determinants_are_left_out():
    """Beryllium 2s², and 2p² in three directions."""
    several = zt.qmc.from_pyscf(chkfile("beryllium-cas"))
    assert several.parameters.size == 3  # relative to the largest
    one = zt.qmc.from_pyscf(chkfile("beryllium-cas"), smallest=0.5)
    assert one.parameters.size == 0
    assert "must leave a determinant" in refused(chkfile("beryllium-cas"), smallest=2.0)


def test_systems_have_the_electrons_and_nuclei():
    psi = zt.qmc.from_pyscf(chkfile("carbon-uhf"))
    assert psi.system.spins == (3, 1)
    assert psi.system.nuclei.charges.tolist() == [4]
    assert psi.system.nuclei.symbols == ("C",)
    psi = zt.qmc.from_pyscf(chkfile("lih"))
    assert psi.system.spins == (2, 2)
    np.testing.assert_allclose(psi.system.nuclei.positions, [[0, 0, 0], [0, 0, 3.015]])
    assert psi.system.nuclei.bare.all()


@pytest.mark.slow
def test_orbitals_of_two_spins_in_a_nonlocal_potential():
    """Unrestricted orbitals: electrons of both spins are mapped over, each with its own set."""
    out = zt.qmc.vmc(zt.qmc.from_pyscf(chkfile("carbon-uhf")), walkers=128, blocks=60, seed=1)
    assert out.energy_error < 0.03
    assert agrees(out, NUMBERS["carbon-uhf"])


def live(name: str, **more: Any) -> types.SimpleNamespace:
    """An object with the attributes that PySCF's have."""
    with h5py.File(chkfile(name)) as file:
        contents: Any = file
        text = contents["mol"][()].decode()
        group = {key: item[()] for key, item in contents["scf"].items()}
    return types.SimpleNamespace(mol=types.SimpleNamespace(dumps=lambda: text), **group, **more)


def test_what_is_no_mean_field_is_refused_and_what_has_not_converged_told():
    assert "must be a mean field or CASSCF" in refused(live("h2", _scf=object()))
    with pytest.warns(UserWarning, match="has not converged"):
        zt.qmc.from_pyscf(live("h2", converged=False))
    with pytest.warns(UserWarning, match="those of X2C"):
        zt.qmc.from_pyscf(live("h2", with_x2c=True))


def pseudopotentials(name) -> list[Any]:
    return list(zt.qmc.from_pyscf(chkfile(name)).system.nuclei.pseudopotentials)


def test_pseudopotentials_come_with_the_orbitals():
    carbon, oxygen = pseudopotentials("co")
    assert (carbon.name, float(carbon.charge), float(oxygen.charge)) == ("ccecp", 4, 6)
    # ccECP of carbon at r = 0.5: the published coefficients and exponents, by hand.
    r, gauss = 0.5, lambda c, a, n: c * 0.5**n * np.exp(-a * 0.25)
    local = gauss(4, 14.43502, -1) + gauss(57.74008, 8.39889, 1) + gauss(-25.81955, 7.38188, 0)
    np.testing.assert_allclose(carbon.local(r), local, rtol=1e-12)
    assert len(carbon.channels) == 1
    np.testing.assert_allclose(carbon.channels[0](r), gauss(52.13345, 7.76079, 0), rtol=1e-12)
    # Hydrogen has a pseudopotential without core electrons: not a bare charge.
    assert not zt.qmc.from_pyscf(chkfile("h2-pbe")).system.nuclei.bare.any()


@pytest.mark.parametrize("name", ["lithium-uhf", "carbon-rohf"])
def test_an_object_and_its_chkfile_give_the_same(name):
    """An object needs what PySCF's have: mol.dumps(), mo_coeff and mo_occ."""
    both = [zt.qmc.from_pyscf(source, cusp=False) for source in (live(name), chkfile(name))]
    for psi in both:
        log, _ = against_samples(psi, name)
        np.testing.assert_allclose(log, 0, atol=1e-8)
    assert both[0].system.spins == both[1].system.spins


def test_minority_spin_up_is_turned_around(tmp_path):
    """PySCF takes spin = −1; ours have at least as many electrons up."""
    path = edited(tmp_path, "lithium-uhf", lambda file: _swap(file["scf"]))
    psi = zt.qmc.from_pyscf(path, cusp=False)
    assert psi.system.spins == (2, 1)
    np.testing.assert_allclose(against_samples(psi, "lithium-uhf")[0], 0, atol=1e-8)


@pytest.mark.slow
def test_bare_nuclei_get_their_cusps():
    """(1/Ψ) ∂Ψ/∂r = −Z at the nucleus of helium, where Gaussian functions have no slope at all."""
    slopes = []
    for cusp in (True, False):
        psi = zt.qmc.from_pyscf(chkfile("helium"), cusp=cusp)
        walker = psi.start(jnp.array([[1e-5, 0.5], [0.0, 0.4], [0.0, -0.3]]))
        slopes.append(float(psi.derivatives(walker).gradient[0, 0]))
    assert abs(slopes[0] + 2) < 1e-3
    assert abs(slopes[1]) < 1e-2
    # Pseudopotentials ask for none.
    with_ecp = zt.qmc.from_pyscf(chkfile("h2-pbe"))
    plain = zt.qmc.from_pyscf(chkfile("h2-pbe"), cusp=False)
    assert jax.tree.structure(with_ecp) == jax.tree.structure(plain)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "error"),
    [("h2", 0.01), ("helium", 0.01), ("lih", 0.02), ("co", 0.03), ("beryllium-cas", 0.03)],
)
def test_vmc_of_a_determinant_gives_hartree_fock(name, error):
    """Within 3σ; `error` is what so short a run leaves."""
    psi = zt.qmc.from_pyscf(chkfile(name), cusp=False)
    out = zt.qmc.vmc(psi, walkers=512, blocks=200, seed=3)
    assert out.energy_error < error
    assert agrees(out, NUMBERS[name])


def edited(folder, name, change):
    """A copy of a chkfile with something changed."""
    path = folder / f"{name}.chk"
    shutil.copy(chkfile(name), path)
    path.chmod(0o644)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def _swap(group):
    for key in ("mo_coeff", "mo_occ"):
        group[key][...] = group[key][()][::-1]


def changed_mol(**entries):
    def change(file):
        mol = json.loads(file["mol"][()]) | entries
        del file["mol"]
        file["mol"] = json.dumps(mol)

    return change


def refused(source, **options):
    with pytest.raises(checks.InputError) as caught:
        zt.qmc.from_pyscf(source, **options)
    return str(caught.value)


def test_what_is_no_chkfile_is_refused(tmp_path):
    assert "is no file" in refused(tmp_path / "none.chk")
    (tmp_path / "text.chk").write_text("orbitals", encoding="utf-8")
    assert "is not HDF5" in refused(tmp_path / "text.chk")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1.0
    assert 'with "mol" and "scf"' in refused(tmp_path / "other.h5")
    assert "but is an int" in refused(3)
    nothing = types.SimpleNamespace(mol=types.SimpleNamespace(dumps=lambda: "{}"), mo_coeff=None)
    assert "call kernel() first" in refused(nothing)


def test_gth_is_refused():
    said = refused(chkfile("diamond-gth"))
    assert said == (
        "file: must not have GTH pseudopotentials (C): they are not semilocal, so Monte Carlo "
        "cannot use them; ccecp and bfd would do"
    )


def test_a_cas_file_without_its_vector_is_refused():
    assert "set mc.chk_ci = True" in refused(chkfile("beryllium-cas-without-ci"))


def test_orbitals_must_hold_the_electrons(tmp_path):
    path = edited(tmp_path, "lih", lambda file: file["scf/mo_occ"].__setitem__(1, 0.0))
    assert "must hold the 4 electrons of its atoms in its orbitals" in refused(path)
    assert "holds 2" in refused(path)
    charged = edited(tmp_path, "lih", changed_mol(charge=2))
    assert "must hold the 2 electrons" in refused(charged)


def test_a_basis_without_its_pseudopotential_is_told(tmp_path):
    """PySCF puts six electrons of carbon into functions for four, without a word."""

    def without_ecp(file):
        mol = json.loads(file["mol"][()])
        mol["_atm"][0][0], mol["_ecp"] = 6, {}
        changed_mol(**mol)(file)
        file["scf/mo_occ"][4] = 2.0

    path = edited(tmp_path, "carbon-rohf", without_ecp)
    with pytest.warns(UserWarning, match="C has all its electrons, but s functions"):
        assert zt.qmc.from_pyscf(path, cusp=False).system.nuclei.charges.tolist() == [6]


def test_fractional_occupations_are_refused(tmp_path):
    path = edited(tmp_path, "lih", lambda file: file["scf/mo_occ"].__setitem__(1, 1.5))
    assert "orbital 1 holds 1.5 electrons" in refused(path)


def test_functions_must_fit_the_orbitals(tmp_path):
    path = edited(tmp_path, "helium", changed_mol(cart=True, _bas=[[0, 2, 1, 1, 0, 24, 24, 0]]))
    assert "must hold orbitals of 6 functions" in refused(path)
    path = edited(tmp_path, "helium", changed_mol(_bas=[[0, 5, 1, 1, 0, 24, 24, 0]]))
    assert "up to l = 4 (g), but has l = 5" in refused(path)


def test_pseudopotentials_of_run_and_orbitals_must_agree():
    said = refused(chkfile("co"), pseudopotentials="none")
    assert said.startswith("pseudopotentials: must name the pseudopotential of C that the orbitals")
    said = refused(chkfile("lih"), pseudopotentials="ccecp")
    assert 'must be "none" for Li, whose orbitals were made with all electrons' in said
    said = refused(chkfile("co"), pseudopotentials={"O": "bfd"})
    assert said == ('pseudopotentials.O: must be that of the orbitals for O, "ccecp", but is "bfd"')
    assert "must be for an element" in refused(chkfile("co"), pseudopotentials={"H": "none"})
    assert "must be a name" in refused(chkfile("co"), pseudopotentials=4)
    assert zt.qmc.from_pyscf(chkfile("co"), pseudopotentials="ccECP").system.spins == (5, 5)
    local = GaussianSum([1.0], [1.0], [0])
    other = Pseudopotential(4, local)
    psi = zt.qmc.from_pyscf(chkfile("co"), pseudopotentials={"C": other})
    assert psi.system.nuclei.pseudopotentials[0] is other
    wrong = Pseudopotential(6, local)
    assert "but leaves 6" in refused(chkfile("co"), pseudopotentials={"C": wrong})
    assert "the orbitals have none" in refused(chkfile("lih"), pseudopotentials={"Li": wrong})
