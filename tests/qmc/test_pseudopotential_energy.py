"""Energies of semilocal pseudopotentials, against integrals that are known."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pseudo_atoms import CARBON, SOFT, SP
from scipy.special import sph_harm_y
from walker_programs import begin, local_energies

from zitter import checks, runtime
from zitter.qmc import (
    Cell,
    Electrons,
    GaussianSum,
    NonlocalPseudopotential,
    Nucleus,
    Pseudopotential,
    RadialTable,
    SlaterJastrow,
    U,
    optimize,
    vmc,
)
from zitter.qmc.energies.cores import Cores
from zitter.qmc.energies.quadratures import EXACT, random_rotations, sphere_rule
from zitter.qmc.optimizers import tables

NONLOCAL, LOCAL = "pseudopotential_nonlocal", "pseudopotential_local"


@pytest.mark.parametrize("points", EXACT)
def test_a_rule_integrates_harmonics_as_far_as_its_table_says(points):
    directions, weights = sphere_rule(points)
    assert directions.shape == (points, 3)
    assert np.sum(weights) == pytest.approx(1, abs=1e-14)
    theta = np.arccos(np.clip(directions[:, 2], -1, 1))
    phi = np.arctan2(directions[:, 1], directions[:, 0])

    def worst(l):
        sums = [np.sum(weights * sph_harm_y(l, m, theta, phi)) for m in range(l + 1)]
        return np.max(np.abs(sums))

    assert max(worst(l) for l in range(1, EXACT[points] + 1)) < 1e-13
    beyond = (EXACT[points] + 1) // 2 * 2 + 2 if points != 4 else 3  # odd ones vanish by symmetry
    assert max(worst(l) for l in range(EXACT[points] + 1, beyond + 1)) > 1e-2


def test_rotations_are_uniform():
    turns = np.asarray(random_rotations(jax.random.PRNGKey(0), 4000))
    np.testing.assert_allclose(turns @ turns.transpose(0, 2, 1), np.eye(3)[None] + 0 * turns,
                               atol=1e-14)  # fmt: skip
    np.testing.assert_allclose(np.linalg.det(turns), 1, atol=1e-13)
    # ⟨R_ij R_kl⟩ = δ_ik δ_jl/3, of 4000 matrices to 4σ with σ ≤ 1/√4000.
    means = np.einsum("nij,nkl->ijkl", turns, turns) / len(turns)
    exact = np.einsum("ik,jl->ijkl", np.eye(3), np.eye(3)) / 3
    assert np.max(np.abs(means - exact)) < 4 / np.sqrt(4000)


@pytest.mark.parametrize("points", [6, pytest.param(26, marks=pytest.mark.slow)])
def test_one_electron_of_one_l_feels_its_channel(points):
    """s or p orbitals around the nucleus: Σ_q v_q φ(r_q)/φ(r) = v_l(r), at every point."""
    atom = Electrons((1, 0), [Nucleus(pseudopotential=SOFT)], quadrature=points)
    r = atom.start(jax.random.PRNGKey(points), 5)
    distance = np.linalg.norm(np.asarray(r)[:, :, 0], axis=1)
    for l, first in ((0, 0), (1, 2)):
        psi = SlaterJastrow(atom, orbitals=SP(0.9, 0.7, first))
        parts = local_energies(psi, begin(psi, r))
        np.testing.assert_allclose(parts[NONLOCAL], SOFT.channels[l](distance), atol=2e-5)
        np.testing.assert_allclose(parts[LOCAL], SOFT.local(distance), rtol=1e-12)


def test_the_s_electron_of_carbon_by_radial_integration():
    """⟨v_0⟩ of e^{−ar²/2} is an integral; the local part as well."""
    a = 1.3
    atom = Electrons((1, 0), [Nucleus(pseudopotential=CARBON, symbol="C")])
    out = vmc(SlaterJastrow(atom, orbitals=SP(a, 1.0)), walkers=1024, blocks=50)
    r = np.linspace(1e-6, 8, 40001)
    density = r**2 * np.exp(-a * r * r)
    for name, v in ((NONLOCAL, CARBON.channels[0]), (LOCAL, CARBON.local)):
        exact = np.trapezoid(density * np.asarray(v(r)), r) / np.trapezoid(density, r)
        found = out.estimate(name)
        assert abs(found.mean - exact) < 4 * found.error
        assert found.error < 0.1  # v_0 is 52 at the nucleus


@pytest.fixture(scope="module")
def molecule():
    """Two pseudo-atoms and seven electrons: overlapping cores, and pairs in several portions."""
    runtime.settings()
    nuclei = [
        Nucleus(pseudopotential=SOFT, symbol="A"),
        Nucleus(pseudopotential=CARBON, symbol="B", position=(0.9, 0.4, -0.3)),
    ]
    atom = Electrons((4, 3), nuclei)
    psi = SlaterJastrow(atom, [U(order=3, cutoff=3.0)], orbitals=SP(0.9, 0.7))
    return psi.with_parameters(psi.parameters + 0.05)


def test_pairs_in_portions_are_all_pairs(molecule):
    """The sum over portions against a plain double sum with the same rotations."""
    term = molecule.system.energies[3]
    assert isinstance(term, NonlocalPseudopotential)
    assert term.cores.overlap == 2
    r = molecule.system.start(jax.random.PRNGKey(1), 1)
    walkers, key = begin(molecule, r), jax.random.PRNGKey(5)
    found = _nonlocal(molecule, term, walkers, key)
    rotations = np.asarray(random_rotations(key, 7))
    points, amounts = [], []
    for i in range(7):
        for nucleus, potential in enumerate((SOFT, CARBON)):
            away = np.asarray(r[0, :, i]) - molecule.system.positions[nucleus]
            length = np.linalg.norm(away)
            inside = length < term.cores.radii[nucleus]
            for x, weight in zip(*sphere_rule(12), strict=True):
                x = rotations[i] @ x
                new = np.array(r[0])
                new[:, i] = molecule.system.positions[nucleus] + length * x
                waves = [1.0, x @ away / length, 1.5 * (x @ away / length) ** 2 - 0.5]
                v = sum((2 * l + 1) * float(c(length)) * waves[l]
                        for l, c in enumerate(potential.channels))  # fmt: skip
                points.append(new)
                amounts.append(inside * weight * v)
    moved = begin(molecule, jnp.asarray(np.array(points)))
    ratios = moved.phase / walkers.phase * np.exp(moved.log - walkers.log)
    assert float(found[0]) == pytest.approx(float(np.sum(np.array(amounts) * ratios)), rel=1e-9)


@eqx.filter_jit
def _nonlocal(psi, term, walkers, key):
    return jax.vmap(lambda w: term.evaluate(psi, w, key)[NONLOCAL])(walkers)


@pytest.mark.slow
def test_derivatives_go_backwards_through_portions(molecule):
    """∂E_L/∂p of the nonlocal energy, as optimizers take it, against central differences."""
    walkers = begin(molecule, molecule.system.start(jax.random.PRNGKey(2), 4))
    keys = jax.random.split(jax.random.PRNGKey(3), 4)
    sample = eqx.filter_jit(lambda psi, w, k: jax.vmap(lambda *x: tables.sample(psi, *x))(w, k))
    draws = tables.Draws.once(sample(molecule, walkers, keys))
    table = tables.tabulate(molecule, draws)
    p, h = molecule.parameters, 1e-5
    for k in range(p.size):
        step = jnp.zeros(p.size).at[k].set(h)
        above, below = (tables.energies(molecule, p + s, draws)[0] for s in (step, -step))
        slope = (above - below) / (2 * h)
        np.testing.assert_allclose(table.energy_slope[:, k], slope, rtol=1e-6, atol=1e-6)


def test_the_rule_does_not_change_the_mean(molecule):
    """One configuration, turned points: all rules have the same mean, the larger less noise."""
    walkers = begin(molecule, molecule.system.start(jax.random.PRNGKey(4), 1))
    many = jax.tree.map(lambda x: jnp.repeat(x, 400, axis=0), walkers)
    keys = jax.random.split(jax.random.PRNGKey(6), 400)
    means, errors = [], []
    for points in (6, 12, 50):
        term = NonlocalPseudopotential.around(molecule.system.nuclei, None, points)
        found = np.asarray(_turned(molecule, term, many, keys))
        means.append(found.mean())
        errors.append(found.std() / 20)
    best = means[-1]
    for mean, error in zip(means, errors, strict=True):
        assert abs(mean - best) < 4 * np.hypot(error, errors[-1])
    assert errors[2] < 0.2 * errors[0]


@eqx.filter_jit
def _turned(psi, term, walkers, keys):
    return jax.vmap(lambda w, k: term.evaluate(psi, w, k)[NONLOCAL])(walkers, keys)


def test_determinants_alone_do_not_see_the_jastrow_factor(molecule):
    term = molecule.system.energies[3].by_determinants()
    bare = SlaterJastrow(molecule.system, orbitals=SP(0.9, 0.7))
    r = molecule.system.start(jax.random.PRNGKey(1), 1)
    key = jax.random.PRNGKey(5)
    with_j = _nonlocal(molecule, term, begin(molecule, r), key)
    without = _nonlocal(bare, molecule.system.energies[3], begin(bare, r), key)
    assert float(with_j[0]) == pytest.approx(float(without[0]), rel=1e-11)


@pytest.mark.slow
def test_optimizers_lower_the_energy_of_a_pseudo_atom():
    atom = Electrons((2, 2), [Nucleus(pseudopotential=CARBON)])
    psi = SlaterJastrow(atom, [U(order=3, cutoff=4.0)], orbitals=SP(1.2, 1.0))
    found = optimize(psi, walkers=64, draws=8)
    first, best = found.history[0], found.history[found.best]
    assert best.energy < first.energy + 2 * first.error


@pytest.mark.parametrize("radius", [0.9, 1.6])
def test_cores_of_a_crystal(radius):
    """Diamond: the cores that hold a point, by looking at many images."""
    cell = Cell((3.37 * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])).tolist())
    places = np.array([[0.0, 0, 0], [1.685, 1.685, 1.685]])
    cores = Cores(places, [radius, radius], [0, 1], cell)
    assert cores.overlap == (1 if radius == 0.9 else 2)
    r = jax.random.uniform(jax.random.PRNGKey(0), (3, 200), minval=-8, maxval=8)
    near = eqx.filter_jit(lambda c, r: c.near(r))(cores, r)
    shifts = cell.lattice_points(30.0)
    centers = (places[:, None] + shifts[None]).reshape(-1, 3)
    distance = np.linalg.norm(np.asarray(r).T[:, None] - centers[None], axis=-1)
    np.testing.assert_array_equal(np.sum(near.inside, axis=1), np.sum(distance < radius, axis=1))
    own = np.linalg.norm(np.asarray(near.displacement), axis=-1)
    np.testing.assert_allclose(own[:, 0], distance.min(axis=1), atol=1e-12)


def test_small_cells_hold_several_images_of_a_core():
    cell = Cell((2.0 * np.eye(3)).tolist())
    cores = Cores([[0.0, 0.0, 0.0]], [1.4], [0], cell)
    r = jax.random.uniform(jax.random.PRNGKey(0), (3, 300), minval=-3, maxval=3)
    near = eqx.filter_jit(lambda c, r: c.near(r))(cores, r)
    shifts = cell.lattice_points(12.0)
    distance = np.linalg.norm(np.asarray(r).T[:, None] - shifts[None], axis=-1)
    np.testing.assert_array_equal(np.sum(near.inside, axis=1), np.sum(distance < 1.4, axis=1))
    assert np.max(np.sum(distance < 1.4, axis=1)) > 1


def test_a_table_is_its_function():
    r = np.linspace(0, 6, 401)
    f = SOFT.channels[0]
    table = RadialTable(r, f(r))
    x = np.random.default_rng(0).uniform(0, 7, 100)
    np.testing.assert_allclose(table(x), np.asarray(f(x)) * (x < 6), atol=1e-7)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RadialTable([0, 1, 1, 2], [1, 1, 1, 1]), "r: must not be negative and increase"),
        (lambda: RadialTable([0, 1], [1, 1]), "r: must be at least 4 distances, but are 2"),
        (
            lambda: Electrons((1, 0), [Nucleus(pseudopotential=SOFT)], quadrature=5),
            "quadrature: must be",
        ),
        (
            lambda: SlaterJastrow(Electrons((1, 0), [Nucleus(pseudopotential=SOFT)])),
            "orbitals: must be given, but for one bare nucleus",
        ),
        (
            lambda: Electrons((1, 0), [Nucleus(pseudopotential=_endless())]),
            "pseudopotential.channels: must vanish far from the nucleus",
        ),
    ],
)
def test_what_cannot_work_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(checks.InputError, match=sentence):
        make()


def _endless():
    return Pseudopotential(1, SOFT.local, [GaussianSum([1], [0], [0])])
