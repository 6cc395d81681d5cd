"""A product basis that the package does not know: its states by every solver."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.bases.base import Basis
from zitter.hamiltonian import Hamiltonian
from zitter.linalg.base import Operator
from zitter.linalg.diagonal import Diagonal
from zitter.linalg.sums import add

N, H_STEP = 22, 0.45


class SincProduct(Basis):
    """Sinc functions in x and y, coefficients h ψ(x_i, y_j)."""

    shape: tuple[int, ...] = eqx.field(static=True)

    @property
    def orthonormal(self):
        return True

    def inner(self, bra, ket):
        return jnp.vdot(bra, ket)

    def axes(self):
        return {"x": points(), "y": points()}


class AlongAxes(Operator):
    """T ⊗ 1 + 1 ⊗ T."""

    shape: tuple[int, ...] = eqx.field(static=True)
    line: jax.Array

    @property
    def hermitian(self):
        return True

    def apply(self, psi):
        return self.line @ psi + psi @ self.line.T

    def scaled(self, factor):
        return AlongAxes(self.shape, factor * self.line)

    def merged(self, other):
        return None

    def bounds(self):
        levels = jnp.linalg.eigvalsh(self.line)
        return 2 * levels[0], 2 * levels[-1]

    def axis_matrices(self):
        return [np.asarray(self.line)] * 2


def points():
    return (np.arange(N) - (N - 1) / 2) * H_STEP


def oscillator():
    """ω = 1 and 1.3: levels (n + 1/2) + 1.3(m + 1/2); T of Colbert and Miller (1992)."""
    steps = np.subtract.outer(np.arange(N), np.arange(N))
    with np.errstate(divide="ignore"):
        line = np.where(steps == 0, np.pi**2 / 6, (-1.0) ** steps / steps**2) / H_STEP**2
    x, y = points()[:, None], points()[None, :]
    potential = Diagonal(0.5 * (x**2 + 1.69 * y**2), (N, N))
    kinetic = AlongAxes((N, N), jnp.asarray(line))
    return Hamiltonian(SincProduct((N, N)), add([kinetic, potential]))


EXACT = [1.15, 2.15, 2.45, 3.15]


@pytest.mark.parametrize(
    "solver",
    [
        None,
        zt.Direct(),
        zt.Direct(near=2.0),
        zt.LOBPCG(),
        zt.ChebyshevFilter(),
        zt.ImaginaryTime(tol=1e-6),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_levels_by_every_solver(solver):
    found = zt.eigenstates(oscillator(), 3, solver)
    # Sinc functions of spacing 0.45 and a box of ±5 leave 1e-7.
    np.testing.assert_allclose(found.energies, EXACT[:3], atol=1e-6)
    norms = [float(jnp.sum(jnp.abs(state) ** 2)) for state in found.states]
    np.testing.assert_allclose(norms, 1.0, rtol=1e-12)
    assert "box_errors" not in found.info


def test_the_preconditioner_is_exact_for_a_separable_hamiltonian():
    found = zt.eigenstates(oscillator(), 3, zt.LOBPCG(tol=1e-8))
    assert found.info["iterations"] <= 3


def test_what_it_has_not_is_refused():
    H = oscillator()
    with pytest.raises(zt.Unsupported, match="radial channels cannot be written on a SincProduct"):
        H.basis.channels_of(H.operator)
    with pytest.raises(zt.Unsupported, match="channel by channel need a SphericalBasis"):
        zt.channel_states(H)
    with pytest.raises(zt.Unsupported, match="states of one κ cannot be written on a SincProduct"):
        zt.spinor_states(H, -1)
    with pytest.raises(zt.InputError, match="basis: must be an EigenBasis, but is a SincProduct"):
        zt.spectra.ionization_yield(H.basis, np.zeros((N, N)))
    with pytest.raises(zt.InputError, match="atom: must be a field-free Hamiltonian on a Spherica"):
        zt.spectra.window_spectrum(H, np.zeros((N, N)), [0.5], 0.1)
    with pytest.raises(zt.InputError, match="basis: must be a SpinorBasis, but is a SincProduct"):
        zt.spectra.SplineState(H.basis, np.zeros((N, N)), 0.0)
    with pytest.raises(zt.Unsupported, match="field-free levels cannot be written on a SincProduc"):
        zt.spectra.spinor_levels(H)
    coarse = zt.ImaginaryTime(coarse_levels=1)
    with pytest.raises(zt.Unsupported, match="a coarser basis cannot be written on a SincProduct"):
        zt.eigenstates(H, 1, coarse)
