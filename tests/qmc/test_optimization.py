"""Optimizers: derivatives, correlated sampling, and never worse than before."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from walker_programs import begin, local_energies

from zitter import checks
from zitter.qmc import (
    ElectronGas,
    LinearMethod,
    P,
    SlaterJastrow,
    StochasticReconfiguration,
    U,
    VarianceMinimization,
    optimize,
)
from zitter.qmc.optimizers import Method
from zitter.qmc.optimizers.tables import energies, reweighted, sample, tabulate


@pytest.fixture(scope="module")
def psi():
    """Deliberately poor: the first guess with random errors."""
    first = SlaterJastrow(ElectronGas(14, 5.0), [U(order=4), P(stars=1)])
    noise = jax.random.normal(jax.random.PRNGKey(1), first.parameters.shape, jnp.float64)
    return first.with_parameters(first.parameters + 0.05 * noise)


@pytest.fixture(scope="module")
def data(psi):
    r = psi.system.start(jax.random.PRNGKey(2), 40)
    walkers = begin(psi, r)

    @eqx.filter_jit
    def stored(psi, walkers):
        keys = jax.random.split(jax.random.PRNGKey(0), 40)
        return jax.vmap(lambda walker, key: sample(psi, walker, key))(walkers, keys)

    return stored(psi, walkers), walkers


def test_energies_of_stored_samples(psi, data):
    stored, walkers = data
    energy, log = energies(psi, psi.parameters, stored)
    direct = local_energies(psi, walkers)["energy"]
    np.testing.assert_allclose(energy, direct, rtol=1e-10)
    np.testing.assert_allclose(log, walkers.log, rtol=1e-10)


def test_derivatives_by_differences(psi, data):
    stored, _ = data
    table = tabulate(psi, stored)
    h = 1e-5
    for index in (0, 3, psi.parameters.size - 1):
        shift = jnp.zeros_like(psi.parameters).at[index].set(h)
        up, down = (energies(psi, psi.parameters + s, stored) for s in (shift, -shift))
        # Central differences of a quadratic are exact up to rounding 1e-13/h.
        slopes = [(np.asarray(a) - np.asarray(b)) / (2 * h) for a, b in zip(up, down, strict=True)]
        np.testing.assert_allclose(table.energy_slope[:, index], slopes[0], atol=1e-6)
        np.testing.assert_allclose(table.log_slope[:, index], slopes[1], atol=1e-6)


def test_reweighting_to_the_same_parameters_changes_nothing(psi, data):
    stored, _ = data
    energy, log = (np.asarray(x) for x in energies(psi, psi.parameters, stored))
    mean, variance, overlap = reweighted(psi, stored, np.asarray(psi.parameters), log)
    assert mean == pytest.approx(energy.mean())
    assert variance == pytest.approx(energy.var())
    assert overlap == pytest.approx(1.0)


@pytest.mark.parametrize(
    "method",
    [
        LinearMethod(2),
        pytest.param(VarianceMinimization(2), marks=pytest.mark.slow),
        pytest.param(StochasticReconfiguration(3), marks=pytest.mark.slow),
    ],
    ids=lambda m: type(m).__name__,
)
def test_optimizers_improve(psi, method):
    found = optimize(psi, method, walkers=128, draws=8, seed=3)
    first, best = found.history[0], found.history[found.best]
    assert best.energy < first.energy - 3 * first.error
    # A well-correlated gas of 14 at r_s = 5 has a variance near 0.005; the start is far off.
    assert best.variance < 0.3 * first.variance
    assert "← taken" in found.summary()
    np.testing.assert_array_equal(found.wavefunction.parameters, best.parameters)


class Spoiler(Method):
    """A method that insists on nonsense."""

    iterations: int = eqx.field(static=True, default=1)

    def candidates(self, psi, data, table):
        return [np.asarray(psi.parameters) + 3.0]

    def objective(self, energy, variance):
        return energy


def test_what_comes_back_is_not_worse(psi):
    found = optimize(psi, Spoiler(), walkers=128, draws=8, seed=3)
    np.testing.assert_allclose(found.wavefunction.parameters, psi.parameters)


@pytest.mark.parametrize(("option", "least"), [("stride", 1), ("draws", 4), ("walkers", 2)])
def test_too_few_samples_are_refused(psi, option, least):
    with pytest.raises(checks.InputError, match=f"{option}: must be at least {least}, but is 0"):
        optimize(psi, **{option: 0})


def test_nothing_to_optimize_is_refused():
    with pytest.raises(checks.InputError, match="must have parameters"):
        optimize(SlaterJastrow(ElectronGas(14, 1.0)))
