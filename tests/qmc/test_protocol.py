"""The protocol of wave functions: closed forms against differentiation, terms that see Ψ."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from walker_programs import answers, begin, local_energies, scattered

from zitter import checks
from zitter.qmc import (
    ElectronGas,
    EnergyTerm,
    KineticEnergy,
    P,
    PlainWavefunction,
    PlaneWaves,
    SlaterJastrow,
    System,
    U,
)
from zitter.qmc.optimizers.tables import Draws, energies, sample
from zitter.qmc.walk.dynamics import DriftDiffusion, GaussianSteps
from zitter.qmc.walk.sweep import sweep

KEY = jax.random.PRNGKey(0)


class Differentiated(PlainWavefunction):
    """The same Ψ as another one, known by its logarithm alone."""

    system: System
    parameters: Any
    psi: Any

    def __init__(self, psi: Any):
        self.system, self.parameters, self.psi = psi.system, psi.parameters, psi

    @property
    def is_complex(self):
        return self.psi.is_complex

    def with_parameters(self, vector):
        return Differentiated(self.psi.with_parameters(vector))

    def log_psi(self, r):
        sign, log = jnp.linalg.slogdet(self.psi.slater.matrix(r, jnp.float64))
        angle = jnp.sum(jnp.angle(sign))
        return jnp.sum(log) + self.psi.jastrow.derivatives(r)[0] + 1j * angle


def test_closed_forms_are_those_of_the_logarithm(any_psi):
    r = any_psi.system.start(KEY, 1)[0]
    points = any_psi.system.start(jax.random.PRNGKey(5), 1)[0][:, :3]
    for electron in map(jnp.asarray, (0, any_psi.system.electrons - 1)):
        found = answers(any_psi, r, electron, points)
        expected = answers(Differentiated(any_psi), r, electron, points)
        for name, value in found.items():
            for a, b in zip(jax.tree.leaves(value), jax.tree.leaves(expected[name]), strict=True):
                # Rounding grows with the condition of the Slater matrix, about 1e3 here.
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    "dynamics",
    [pytest.param(GaussianSteps(0.5), marks=pytest.mark.slow), DriftDiffusion(0.05)],
    ids=["gauss", "drift"],
)
def test_a_walk_is_the_same_for_both(dynamics):
    """The same random numbers, where both move one electron at a time: the same walk."""
    gas = ElectronGas(4, 1.0, 2, "triangular", allow_open_shell=True)
    fast = scattered(SlaterJastrow(gas, [U(order=3), P(stars=1)], delay=1))
    dynamics = jax.tree.map(jnp.asarray, dynamics)
    walk = eqx.filter_jit(sweep)
    one, other = (
        walk(psi, dynamics, begin(psi, gas.start(KEY, 3)), KEY)
        for psi in (fast, Differentiated(fast))
    )
    assert np.all(np.asarray(one[1].accepted) > 0)
    np.testing.assert_allclose(one[0].r, other[0].r, atol=1e-10)
    np.testing.assert_allclose(one[0].log, other[0].log, atol=1e-9)
    for a, b in zip(one[1], other[1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_a_pair_of_equal_orbitals_is_one_set():
    gas = ElectronGas(5, 1.0, polarization=0.6, allow_open_shell=True)
    up, down = PlaneWaves(gas.cell, 4), PlaneWaves(gas.cell, 2)
    one, pair = (SlaterJastrow(gas, [U(order=3)], o, delay=2) for o in (None, (up, down)))
    r = gas.start(KEY, 3)
    steps = DriftDiffusion(jnp.asarray(0.05))
    moved = [eqx.filter_jit(sweep)(psi, steps, begin(psi, r), KEY) for psi in (one, pair)]
    for a, b in zip(*map(jax.tree.leaves, moved), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11)
    parts = [local_energies(psi, m[0]) for psi, m in zip((one, pair), moved, strict=True)]
    np.testing.assert_allclose(parts[0]["kinetic"], parts[1]["kinetic"], rtol=1e-10)


def test_orbitals_that_do_not_hold_the_electrons_are_refused():
    gas = ElectronGas(14, 1.0)
    few, enough = PlaneWaves(gas.cell, 6), PlaneWaves(gas.cell, 7)
    with pytest.raises(checks.InputError, match=r"orbitals: must hold the 7 electrons .* are 6"):
        SlaterJastrow(gas, orbitals=few)
    with pytest.raises(checks.InputError, match=r"orbitals: must hold the 7 electrons .* are 6"):
        SlaterJastrow(gas, orbitals=(enough, few))
    with pytest.raises(checks.InputError, match="orbitals: must be one set, or one for each spin"):
        SlaterJastrow(gas, orbitals=(enough, enough, enough))


class Hopping(EnergyTerm):
    """Σ_i [Ψ(r_i + a) + Ψ(r_i − a)]/Ψ: a nonlocal operator that plane waves are eigenstates of."""

    step: Any
    sees_psi: ClassVar[bool] = True
    takes_ratios: ClassVar[bool] = True

    def evaluate(self, psi, walker, key, dtype=jnp.float64):
        def one(electron):
            opened, seat = psi.alone(walker, electron)
            here = walker.r[:, electron, None]
            points = here + jnp.stack([self.step, -self.step], axis=1)
            return jnp.sum(jnp.real(psi.ratios(opened, seat, points, dtype)))

        return {"hopping": jnp.sum(jax.vmap(one)(jnp.arange(walker.r.shape[1])))}


class HoppingGas(System):
    """A gas whose Hamiltonian holds a nonlocal term."""

    gas: ElectronGas
    hopping: Hopping
    cell: Any
    spins: tuple[int, int] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)

    def __init__(self, gas: ElectronGas, step: Any):
        self.gas, self.hopping = gas, Hopping(np.asarray(step))
        self.cell, self.spins, self.dimension = gas.cell, gas.spins, gas.dimension

    @property
    def energies(self):
        return KineticEnergy(), self.hopping

    def default_orbitals(self):
        return self.gas.default_orbitals()

    def start(self, key, walkers):
        return self.gas.start(key, walkers)

    @property
    def length(self):
        return self.gas.length

    @property
    def units(self):
        return 1, "hartree"


@pytest.fixture(scope="module")
def hopping() -> HoppingGas:
    return HoppingGas(ElectronGas(14, 1.0), (0.3, -0.2, 0.5))


def test_a_nonlocal_term_on_its_eigenstate(hopping):
    """Every walker has the eigenvalue Σ_k 2cos(k·a), by ratios at many places of one electron."""
    psi = SlaterJastrow(hopping)
    found = local_energies(psi, begin(psi, hopping.start(KEY, 4)))["hopping"]
    edge = 2 * np.pi / float(hopping.cell.vectors[0][0])
    k = edge * np.array([[0, 0, 0], *np.eye(3), *-np.eye(3)])
    exact = 2 * np.sum(2 * np.cos(k @ hopping.hopping.step))  # both spins
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_nonlocal_energies_follow_the_parameters(hopping):
    """What optimizers see under trial parameters is what a fresh start with them gives."""
    psi = scattered(SlaterJastrow(hopping, [U(order=3), P(stars=1)]))
    r = hopping.start(KEY, 5)
    keys = jax.random.split(KEY, 5)
    stored = eqx.filter_jit(lambda psi, w: jax.vmap(lambda w, k: sample(psi, w, k))(w, keys))(
        psi, begin(psi, r)
    )
    trial = scattered(psi, seed=3)
    energy, log = energies(psi, trial.parameters, Draws.once(stored))
    fresh = begin(trial, r)
    direct = local_energies(trial, fresh)
    np.testing.assert_allclose(energy, direct["energy"], rtol=1e-9)
    np.testing.assert_allclose(log, fresh.log, rtol=1e-9)
    # The term has moved by far more than that: stored once, it would be wrong.
    before = local_energies(psi, begin(psi, r))["hopping"]
    assert np.min(np.abs(direct["hopping"] - before)) > 1e-4


def test_terms_with_one_name_are_refused(hopping):
    class Twice(HoppingGas):
        @property
        def energies(self):
            return self.hopping, self.hopping

    twice: Any = Twice
    psi = SlaterJastrow(twice(hopping.gas, (0.1, 0.0, 0.0)))
    with pytest.raises(checks.InputError, match="names of their own, but share"):
        local_energies(psi, begin(psi, hopping.start(KEY, 1)))
