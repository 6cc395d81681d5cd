"""Several determinants: fast forms against the sum of all determinants, coefficients, files."""

from __future__ import annotations

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from walker_programs import answers, begin, local_energies, scattered

from marks import slow
from zitter import checks
from zitter.qmc import (
    Determinants,
    Electrons,
    Nucleus,
    Orbitals,
    PlainWavefunction,
    SlaterJastrow,
    System,
    U,
)
from zitter.qmc.determinants.minors import small_determinant
from zitter.qmc.optimizers.tables import Draws, energies, sample, tabulate
from zitter.qmc.walk.dynamics import DriftDiffusion, GaussianSteps
from zitter.qmc.walk.sweep import sweep

KEY = jax.random.PRNGKey(0)


class Blobs(Orbitals):
    """(1 + k·r) e^{−a r²} with random k and a, times e^{iq·r} where complex."""

    a: Any
    k: Any
    q: Any
    count: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    def __init__(self, count: int, is_complex: bool = False, seed: int = 0):
        rng = np.random.default_rng(seed)
        self.a = rng.uniform(0.1, 0.6, count)
        self.k = 2 * rng.normal(size=(3, count))
        self.q = rng.normal(size=(3, count))
        self.count, self.is_complex = count, is_complex

    def values(self, r, dtype=jnp.float64):
        return self.derivatives(r)[0]

    def derivatives(self, r, dtype=jnp.float64):
        along = lambda k: jnp.tensordot(r, k, (0, 0))  # noqa: E731
        vector = lambda k: jnp.asarray(k).reshape(3, *(1,) * (r.ndim - 1), -1)  # noqa: E731
        squared = jnp.sum(r**2, axis=0)[..., None]
        size, front = jnp.exp(-self.a * squared), 1 + along(self.k)
        value = front * size
        slope = (vector(self.k) - 2 * self.a * front * r[..., None]) * size
        second = (
            -4 * self.a * along(self.k) + (4 * self.a**2 * squared - 6 * self.a) * front
        ) * size
        if not self.is_complex:
            return value, slope, second
        q, wave = vector(self.q), jnp.exp(1j * along(self.q))
        crossed = 2j * jnp.sum(q * slope, axis=0) - jnp.sum(q**2, axis=0) * value
        return value * wave, (slope + 1j * q * value) * wave, (second + crossed) * wave


class Summed(PlainWavefunction):
    """The same Ψ with every determinant computed by itself."""

    system: System
    parameters: Any
    psi: Any
    given: Determinants
    sets: tuple[Orbitals, ...]

    def __init__(self, psi: Any, given: Determinants, sets: tuple[Orbitals, ...]):
        self.system, self.parameters, self.psi = psi.system, psi.parameters, psi
        self.given, self.sets = given, sets

    @property
    def is_complex(self):
        return self.psi.is_complex

    def with_parameters(self, vector):
        return Summed(self.psi.with_parameters(vector), self.given, self.sets)

    def log_psi(self, r):
        up = self.system.spins[0]
        total = self.psi.slater.excitations.coefficients
        sides = [
            (self.sets[0], r[:, :up], self.given.up),
            (self.sets[-1], r[:, up:], self.given.down),
        ]
        for orbitals, places, occupied in sides[: 2 if all(self.system.spins) else 1]:
            # Orbitals as rows: determinants do not mind.
            sign, log = jnp.linalg.slogdet(orbitals.values(places, jnp.float64).T[occupied])
            total = total * sign * jnp.exp(log)
        return jnp.log(jnp.sum(total).astype(complex)) + self.psi.jastrow.derivatives(r)[0]


def expansion(n_up: int, n_down: int, orbitals: int, count: int, seed: int = 0) -> Determinants:
    """Random determinants, of which the largest is not the one of the lowest orbitals."""
    rng = np.random.default_rng(seed)
    all_up = list(itertools.combinations(range(orbitals), n_up))
    all_down = list(itertools.combinations(range(orbitals), n_down))
    pairs = [(a, b) for a in all_up for b in all_down]
    chosen = [pairs[i] for i in rng.choice(len(pairs), count, replace=False)]
    return Determinants(
        rng.normal(size=count).tolist(), [a for a, _ in chosen], [b for _, b in chosen]
    )


CASES = {
    "4 + 2 of 7, a set for each spin": (4, 2, 7, 20, False, 2),
    "5 + 3 of 11, quintuple excitations": (5, 3, 11, 22, False, 1),
    "3 + 1 of 5, complex": (3, 1, 5, 20, True, 1),
    "3 + 0 of 6, complex": (3, 0, 6, 20, True, 1),
}


# Complex, and of unlike spins; the others are real, have two sets, or more orbitals.
EACH = [name if name == "3 + 1 of 5, complex" else slow(name) for name in CASES]


@pytest.fixture(scope="module", params=EACH)
def pair(request) -> tuple[Any, Any]:
    """Ψ, and the same by all its determinants."""
    n_up, n_down, count, determinants, is_complex, sets = CASES[request.param]
    system = Electrons((n_up, n_down), [Nucleus(n_up + n_down)], length=0.8)
    orbitals = tuple(Blobs(count, is_complex, seed) for seed in range(sets))
    given = expansion(n_up, n_down, count, determinants)
    bare = SlaterJastrow(system, [U(order=3, cutoff=4.0)], orbitals, determinants=given)
    psi: Any = scattered(bare, 0.05)
    return psi, Summed(psi, given, orbitals)


def test_closed_forms_are_those_of_the_sum(pair):
    psi, summed = pair
    r = psi.system.start(KEY, 1)[0]
    points = psi.system.start(jax.random.PRNGKey(5), 1)[0][:, :3]
    for electron in map(jnp.asarray, (0, psi.system.electrons - 1)):
        found = answers(psi, r, electron, points)
        expected = answers(summed, r, electron, points)
        for name, value in found.items():
            for a, b in zip(jax.tree.leaves(value), jax.tree.leaves(expected[name]), strict=True):
                # Rounding times the condition of the reference matrix and |D/D_0|, about 1e4.
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10, err_msg=name)


def test_sweeps_leave_what_a_fresh_start_gives(pair):
    psi, _ = pair
    drifts = psi.system.spins[1] != 2  # moves without drift for one of them
    dynamics = DriftDiffusion(jnp.asarray(0.02)) if drifts else GaussianSteps(jnp.asarray(0.4))

    @eqx.filter_jit
    def many(psi, walkers):
        def body(i, carry):
            walkers, accepted = carry
            walkers, tally = sweep(psi, dynamics, walkers, jax.random.fold_in(KEY, i))
            return walkers, accepted + tally.accepted

        return jax.lax.fori_loop(0, 40, body, (walkers, jnp.zeros(8)))

    moved, accepted = many(psi, begin(psi, psi.system.start(KEY, 8)))
    assert np.all(np.asarray(accepted) > 40)
    fresh = begin(psi, moved.r)
    for updated, computed in zip(jax.tree.leaves(moved), jax.tree.leaves(fresh), strict=True):
        scale = 1 + float(jnp.max(jnp.abs(computed)))
        np.testing.assert_allclose(updated, computed, atol=1e-8 * scale)


@pytest.mark.slow
def test_samples_under_other_coefficients(pair):
    psi, _ = pair
    r = psi.system.start(KEY, 5)
    keys = jax.random.split(KEY, 5)
    store = eqx.filter_jit(lambda psi, w: jax.vmap(lambda w, k: sample(psi, w, k))(w, keys))
    stored = Draws.once(store(psi, begin(psi, r)))
    trial = scattered(psi, 0.3, seed=3)
    energy, log = energies(psi, trial.parameters, stored)
    fresh = begin(trial, r)
    np.testing.assert_allclose(energy, local_energies(trial, fresh)["energy"], rtol=1e-8)
    np.testing.assert_allclose(log, fresh.log, rtol=1e-10, atol=1e-10)
    table = tabulate(psi, stored)
    step = 1e-5 * jnp.eye(psi.parameters.size)[-1]
    sides = [energies(psi, psi.parameters + s * step, stored) for s in (1, -1)]
    slopes = [(a - b) / 2e-5 for a, b in zip(*sides, strict=True)]
    scale = 1 + np.max(np.abs(table.energy_slope[:, -1]))
    np.testing.assert_allclose(table.energy_slope[:, -1], slopes[0], atol=1e-6 * scale)
    np.testing.assert_allclose(table.log_slope[:, -1], slopes[1], rtol=1e-6, atol=1e-8)


def test_one_determinant_is_the_plain_wave_function():
    """The lowest orbitals alone: the same walk as without an expansion."""
    system = Electrons((3, 2), [Nucleus(5)])
    orbitals, terms = Blobs(5), [U(order=3, cutoff=4.0)]
    one = Determinants([2.0], [[0, 1, 2]], [[0, 1]])
    psis = [
        SlaterJastrow(system, terms, orbitals, determinants=one),
        SlaterJastrow(system, terms, orbitals, delay=3),
    ]
    steps = DriftDiffusion(jnp.asarray(0.05))
    r = system.start(KEY, 3)
    moved = [eqx.filter_jit(sweep)(psi, steps, begin(psi, r), KEY) for psi in psis]
    np.testing.assert_allclose(moved[0][0].r, moved[1][0].r, atol=1e-11)
    np.testing.assert_allclose(moved[0][0].log, moved[1][0].log, atol=1e-10)
    assert psis[0].parameters.size == psis[1].parameters.size


@pytest.mark.parametrize("k", range(1, 7))
def test_small_determinants(k):
    a = np.random.default_rng(k).normal(size=(50, k, k))
    np.testing.assert_allclose(small_determinant(jnp.asarray(a)), np.linalg.det(a), atol=1e-12)


def test_parameters_survive_a_file(tmp_path, pair):
    psi, _ = pair
    psi.save_parameters(tmp_path / "parameters.h5")
    loaded = psi.with_parameters(0 * psi.parameters).load_parameters(tmp_path / "parameters.h5")
    np.testing.assert_allclose(loaded.parameters, psi.parameters, rtol=1e-15)


def test_coefficients_without_a_jastrow_factor_survive_a_file(tmp_path):
    given = Determinants([1.0, 0.5], [[0], [1]], [[0], [1]])
    psi = SlaterJastrow(Electrons((1, 1), [Nucleus(2)]), (), Blobs(2), determinants=given)
    psi.save_parameters(tmp_path / "bare.h5")
    other = psi.with_parameters(jnp.zeros(1)).load_parameters(tmp_path / "bare.h5")
    np.testing.assert_array_equal(other.parameters, [0.5])
    with pytest.raises(checks.InputError, match=r"must hold determinants of shape \(1,\)"):
        lithium(determinants=Determinants([1.0], [[0, 1]], [[0]])).load_parameters(
            tmp_path / "bare.h5"
        )


def lithium(**given):
    return SlaterJastrow(Electrons((2, 1), [Nucleus(3)]), (), Blobs(4), **given)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Determinants([], []), "coefficients"),
        (lambda: Determinants([0.0], [[0]]), "coefficients: must not all be zero"),
        (lambda: Determinants([1.0, 2.0], [[0]]), r"up: must have shape \(2, "),
        (lambda: Determinants([1.0], [[1, 0]]), r"up.0: must be ascending, but is \[1, 0\]"),
        (lambda: Determinants([1.0], [[0, 0]]), r"up.0: must be ascending, but is \[0, 0\]"),
        (lambda: Determinants([1.0], [[-1]]), "up: must hold numbers of orbitals, from 0"),
        (
            lambda: Determinants([1.0], np.array([[0.5]]).tolist()),
            "up: must hold numbers of orbitals, from 0",
        ),
        (
            lambda: Determinants([1.0, 0.1, 0.2], [[0], [1], [0]]),
            "up: must give each determinant once, but 0 and 2 are the same",
        ),
        (
            lambda: lithium(determinants=Determinants([1.0], [[0]], [[0]])),
            "determinants.up: must hold 2 orbitals for as many electrons, but holds 1",
        ),
        (
            lambda: lithium(determinants=Determinants([1.0], [[0, 1]])),
            "determinants.down: must hold 1 orbitals for as many electrons, but holds 0",
        ),
        (
            lambda: lithium(determinants=Determinants([1.0], [[0, 4]], [[0]])),
            "determinants.up: must number the 4 orbitals from 0, but holds 4",
        ),
        (
            lambda: lithium(determinants=Determinants([1.0], [[0, 1]], [[0]]), delay=2),
            "delay: must not be given with several determinants",
        ),
        (lambda: lithium(determinants=[1.0]), "determinants: must be a Determinants"),
    ],
)
def test_input_that_cannot_work_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(checks.InputError, match=sentence):
        make()
