"""Levels with more angular momentum than the basis has are told where they belong into the list."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import zitter as zt
from zitter.bases.edges import ConvergenceWarning
from zitter.solve import left_out


def oscillator(lmax: int) -> zt.Hamiltonian:
    basis = zt.SphericalBasis(zt.RadialBSplines(n=25, degree=7, rmax=10), lmax=lmax)
    return zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(frequency=1.0)]), basis)


def test_a_gap_in_the_list_is_told():
    """The oscillator has 3.5 with l = 2 as well."""
    with pytest.warns(ConvergenceWarning, match="levels of l = 2 begin at 3.5 hartree"):
        found = zt.eigenstates(oscillator(1), 5, basis_check=True)
    np.testing.assert_allclose(found.energies, [1.5, 2.5, 3.5, 4.5, 5.5], atol=1e-5)
    assert "state 3 and those after it" in found.info["left_out"]
    assert found.info["left_out"] in found.notes


@pytest.mark.parametrize(("lmax", "n"), [(1, 3), (2, 4)])
def test_a_whole_list_has_no_such_note(lmax, n):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert "left_out" not in zt.eigenstates(oscillator(lmax), n, basis_check=True).info


def test_states_are_found_where_no_larger_basis_can_be_made(monkeypatch):
    """And what was said of the basis that was asked for is not said again."""

    def refused(model, basis):
        warnings.warn("said twice", stacklevel=2)
        raise zt.InputError("lmax", "must be smaller")

    monkeypatch.setattr(left_out, "discretize", refused)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = zt.eigenstates(oscillator(1), 5, basis_check=True)
    assert "left_out" not in found.info and len(found.info["energy_errors"]) == 5


@pytest.mark.parametrize(("n", "told"), [(6, False), (12, True)])
def test_of_spinors_it_is_kappa(n, told):
    """κ = ±1 has 1s½ 2s½ 2p½, each twice; 2p³⁄₂ lies above them and below 3s½."""
    basis = zt.SpinorBasis(zt.RadialBSplines(n=40, degree=7, rmax=60), 1)
    H = zt.discretize(zt.Model([zt.Dirac(), zt.Coulomb(Z=1)]), basis)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        info = zt.eigenstates(H, n, basis_check=True).info
    assert ("left_out" in info) == told
    assert any("kappa_max = 2 or more" in str(w.message) for w in said) == told
