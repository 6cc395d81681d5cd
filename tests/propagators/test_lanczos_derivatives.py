"""Derivatives of Lanczos where its space closes: those of the exponential itself."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import zitter as zt
from marks import slow
from zitter.linalg.dense import Dense
from zitter.propagators.base import ErrorSum

RANDOM = np.random.default_rng(3)
SIZE = 20


def matrix(hermitian):
    a = RANDOM.standard_normal((SIZE, SIZE)) + 1j * RANDOM.standard_normal((SIZE, SIZE))
    return 0.5 * (a + a.conj().T) if hermitian else a


H0 = matrix(True)
LIGHT = matrix(True)
FINAL = RANDOM.standard_normal(SIZE) + 1j * RANDOM.standard_normal(SIZE)


@pytest.mark.parametrize("states", [1, slow(2)])
@pytest.mark.parametrize("absorbs", [False, True])
def test_of_states_that_stay_what_they_are(states, absorbs):
    """ψ of one or two eigenstates of O: a change of O leads out of their space."""
    vectors = np.linalg.eigh(H0)[1]
    psi = jnp.asarray(vectors[:, 3 : 3 + states].sum(axis=1))
    # −iW that is the same everywhere leaves eigenstates what they are.
    fixed = H0 - 0.1j * np.eye(SIZE) if absorbs else H0
    method, tau = zt.Lanczos(order=20), 0.1

    def amplitude(c):
        operator = Dense(jnp.asarray(fixed) + c * jnp.asarray(LIGHT), (SIZE,), not absorbs)
        return jnp.vdot(FINAL, method.exponential(operator, psi, tau, ErrorSum.zero())[0])

    found = complex(
        jax.grad(lambda c: jnp.real(amplitude(c)))(0.0)
        + 1j * jax.grad(lambda c: jnp.imag(amplitude(c)))(0.0)
    )
    _, slope = scipy.linalg.expm_frechet(-1j * tau * fixed, -1j * tau * LIGHT)
    # Six Gauss points and 20 vectors: exact for τ‖O‖ of about one.
    assert found == pytest.approx(np.vdot(FINAL, slope @ np.asarray(psi)), rel=1e-10)
    value = np.vdot(FINAL, scipy.linalg.expm(-1j * tau * fixed) @ np.asarray(psi))
    assert complex(amplitude(0.0)) == pytest.approx(value, rel=1e-12)


@pytest.mark.slow
def test_of_a_run_that_begins_in_an_eigenstate_without_light():
    """dt‖H‖ is 8 here: what is unstable grows by orders of magnitude in 40 steps."""
    atom = [zt.Kinetic(), zt.SoftCoulomb(Z=1, softening=2.0)]
    grid, span = zt.Grid(128, 0.25), 4.0
    levels = zt.eigenstates(zt.discretize(zt.Model(atom), grid), 2)
    low, high = np.asarray(levels.states) * np.exp(-1j * span * levels.energies)[:, None]
    objective = zt.AtEnd(
        lambda pulse: zt.Model([*atom, zt.LengthGauge(pulse)]), grid, levels.states[0],
        (low + 1j * high) / np.sqrt(2), dt=0.1, propagator=zt.Lanczos(),
    )  # fmt: skip

    def worth(c):
        coefficients = c * jnp.asarray([[1.0], [0.5]])
        return objective(zt.FreeForm(coefficients, band=(0.2, 0.6), duration=span))

    at = [float(worth(k * 1e-3)) for k in (-2, -1, 1, 2)]
    along = (8 * (at[2] - at[1]) - (at[3] - at[0])) / 12e-3
    assert float(jax.grad(worth)(0.0)) == pytest.approx(along, rel=1e-6)
    assert abs(along) > 1e-2
