"""Potentials at the places of a basis that is neither a lattice nor around an origin."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.bases.places import Places
from zitter.linalg.diagonal import Diagonal

RHO, Z = np.linspace(0.3, 2.0, 5)[:, None], np.linspace(-2.0, 2.0, 7)[None, :]


class Axial(zt.Basis):
    """Functions of ρ and z: whatever multiplies them may not depend on the azimuth."""

    shape: tuple[int, ...] = eqx.field(static=True, default=(5, 7))
    orthonormal = True

    def inner(self, bra, ket):
        return jnp.vdot(bra, ket)

    def axes(self):
        return {"rho": RHO[:, 0], "z": Z[0]}

    def places(self):
        return Places(("x", "y", "z"), (RHO, 0.0, Z), equal_at=(0.6 * RHO, 0.8 * RHO, Z))

    def multiply(self, values: Any):
        return Diagonal(values, self.shape)


def values(term):
    return np.asarray(zt.discretize(zt.Model([term]), Axial()).fixed.full())


def test_a_pole_is_sampled_as_it_is():
    """Only a lattice smooths it: here −Z/r stands at the points, of several nuclei as well."""
    nuclei = zt.Coulomb(Z=[1.0, 2.0], centers=[[0, 0, -1.05], [0, 0, 1.05]])
    expected = [-q / np.sqrt(RHO**2 + (Z - c) ** 2) for q, c in ((1, -1.05), (2, 1.05))]
    np.testing.assert_allclose(values(nuclei), sum(expected), rtol=1e-14)
    helium = zt.TongLin("He")
    np.testing.assert_allclose(values(helium), helium.central(np.sqrt(RHO**2 + Z**2)), rtol=1e-14)


def test_symmetric_potentials_pass():
    np.testing.assert_allclose(
        values(zt.Potential(expression="exp(-x**2 - y**2)*z")), np.exp(-(RHO**2)) * Z, rtol=1e-13
    )
    np.testing.assert_allclose(values(zt.Potential(array=Z + RHO)), Z + RHO)
    # Harmonic forces may differ along z, as long as x and y are alike.
    assert values(zt.Harmonic([1.0, 1.0, 2.0]))[0, 0] == pytest.approx(0.5 * (0.09 + 16))


@pytest.mark.parametrize(
    ("term", "key"),
    [
        (zt.Potential(expression="x*z"), "expression"),
        (zt.Potential(lambda x, y, z: x**2 - y**2), "function"),
        (zt.Coulomb(centers=[[0.5, 0, 0]]), "centers"),
        (zt.Harmonic([1.0, 2.0, 2.0]), "potential"),
    ],
)
def test_what_depends_on_the_azimuth_is_refused(term, key):
    with pytest.raises(zt.InputError, match=f"{key}: must be symmetric about the z axis on this"):
        values(term)


def test_nuclei_that_move_need_a_lattice():
    with pytest.raises(zt.Unsupported, match="nuclei that move need a Grid"):
        values(zt.Coulomb(motion=zt.ConstantVelocity([0.0, 0.0, 1.0])))


@pytest.mark.parametrize("given", ["0.5*x**2", np.arange(4.0)])
def test_a_potential_that_is_no_function_is_told_where_it_belongs(given):
    with pytest.raises(zt.InputError, match="function: must be a Python function"):
        zt.Potential(given)
