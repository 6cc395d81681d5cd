"""Forces on nuclei: derivatives of energies, with finite variance, as PySCF has them."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pyscf_files import NUMBERS, chkfile
from walker_programs import scattered

import zitter as zt
from marks import slow
from zitter import checks
from zitter.plot.montecarlo import estimator
from zitter.qmc import (
    Chi,
    Electrons,
    F,
    Forces,
    Nucleus,
    SlaterJastrow,
    SlaterShell,
    SlaterTypes,
    U,
    from_pyscf,
    vmc,
)
from zitter.qmc.energies import local_energy

KEY = jax.random.PRNGKey(3)
PLACES = np.array([[0.0, 0.0, -0.7], [0.0, 0.1, 0.7]])


def hydrogen(spins=(1, 1), jastrow=()):
    """Two protons, with orbitals s₁ ± s₂ of the right cusps up to the other nucleus."""
    nuclei = [Nucleus(1, place, "H") for place in PLACES.tolist()]
    shells = [SlaterShell(0, 1, 0, 1.1), SlaterShell(1, 1, 0, 1.1)]
    orbitals = SlaterTypes(PLACES, shells, [[1.0, 1.0], [1.0, -1.0]])
    return SlaterJastrow(Electrons(spins, nuclei), jastrow, orbitals)


def correlated():
    return hydrogen(jastrow=[U(3), Chi(3), F(2, 2)])


def lithium():
    """Two pseudo-atoms with a nonlocal channel each."""
    return from_pyscf(chkfile("li2"), [U(3), Chi(3)])


def walkers(psi, count, seed=0):
    """Where electrons may be: inside cores, and between nuclei."""
    return psi.system.start(jax.random.PRNGKey(seed), count)


@eqx.filter_jit
def measured(psi, forces, r):
    """E_L, and f·D E_L, f·w, f·E_L w (walkers, 3, nuclei, d)."""
    found = jax.vmap(lambda r: forces.evaluate(psi, psi.start(r), KEY))(r)
    return found[:, 0], found[:, 1:].reshape(len(r), 3, *psi.system.nuclei.positions.shape)


@eqx.filter_jit
def along(psi, forces, r, shift):
    """E_L and ln|Ψ| with nuclei and electrons moved."""

    def one(r):
        shares = jax.vmap(forces.shares, in_axes=1)(r)
        moved = psi.displaced(shift)
        there = moved.start(r + (shares @ shift).T)
        return local_energy(moved, there, KEY)["energy"], there.log

    return jax.vmap(one)(r)


@pytest.mark.parametrize("make", [slow(correlated), lithium])
def test_derivatives_are_those_of_differences(make):
    """Every direction, with the whole Jastrow factor and, for lithium, the nonlocal energy."""
    psi = scattered(make(), 0.05)
    forces = Forces().prepare(psi.system)
    r = walkers(psi, 3)
    energy, terms = measured(psi, forces, r)
    np.testing.assert_allclose(terms[:, 2], energy[:, None, None] * terms[:, 1], rtol=1e-12)
    step = 1e-4
    for nucleus, component in np.ndindex(2, 3):
        shift = np.zeros((2, 3))
        shift[nucleus, component] = step
        (up, log_up), (down, log_down) = (along(psi, forces, r, s) for s in (shift, -shift))
        # Differences are right to h² times third derivatives, which near cores are large.
        slope = (up - down) / (2 * step)
        np.testing.assert_allclose(terms[:, 0, nucleus, component], slope, rtol=1e-5, atol=2e-6)
        divergence = sum(
            jax.vmap(jax.jacfwd(forces.shares))(r[:, :, i])[:, nucleus, component] for i in range(2)
        )
        weight = (log_up - log_down) / step + divergence
        np.testing.assert_allclose(terms[:, 1, nucleus, component], weight, rtol=1e-5, atol=2e-6)
    # All nuclei together carry everything along: no force is left.
    np.testing.assert_allclose(np.sum(terms, axis=2), 0, atol=1e-9)


def test_an_atom_alone_feels_nothing():
    """Walker by walker, not only in the mean: electrons go where the nucleus goes."""
    atom = Electrons((1, 1), [Nucleus(2, [0.3, -0.2, 0.1])])
    psi = scattered(SlaterJastrow(atom, [U(3), Chi(3)]), 0.05)
    _, terms = measured(psi, Forces().prepare(atom), walkers(psi, 4))
    np.testing.assert_allclose(terms, 0, atol=1e-10)


def test_nothing_diverges_at_a_nucleus():
    """Z/r² of the force on a bare nucleus would grow by 10⁸ here, and its variance is infinite."""
    psi = hydrogen()
    forces = Forces().prepare(psi.system)
    distances = np.array([1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
    unit = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    near = PLACES[0] + distances[:, None] * unit
    other = np.broadcast_to([0.4, 0.2, 0.5], near.shape)
    energy, terms = measured(psi, forces, jnp.asarray(np.stack([near, other], axis=2)))
    # The cusp is right but for the tail of the other atom, which leaves c/r in E_L and D E_L; the
    # square of that is integrable, and it is far below the 1/r² that has gone.
    assert np.max(np.abs(terms[:, :2]) * distances[:, None, None, None]) < 0.3
    assert np.max(np.abs(energy) * distances) < 0.3


def test_nodes_are_damped():
    """Both terms grow as 1/d² towards a node; f takes that off and ∫(1 − f) = 0."""
    psi = hydrogen((2, 0))
    forces = Forces(distance=0.1).prepare(psi.system)
    # From one side of the node to the other, with the place between found by halving.
    low, high = np.array([[0.5, -0.4], [0.0, 0.3], [-0.6, 0.9]]), np.array(
        [[0.5, -0.4], [0.0, 0.3], [-0.6, -1.3]]
    )  # fmt: skip
    sign = eqx.filter_jit(lambda r: psi.start(r).phase)
    side, direction = float(sign(low)), (high - low) / np.linalg.norm(high - low)
    assert float(sign(high)) == -side
    for _ in range(50):
        between = (low + high) / 2
        low, high = (between, high) if float(sign(between)) == side else (low, between)
    offsets = np.array([1e-2, 1e-3, 1e-4])
    r = jnp.asarray(low + offsets[:, None, None] * direction)
    _, bounded = measured(psi, forces, r)
    _, raw = measured(psi, Forces(distance=1e-9).prepare(psi.system), r)
    growth = np.max(np.abs(raw[2, 2])) / np.max(np.abs(raw[1, 2]))
    assert growth > 50
    assert np.max(np.abs(bounded[2, 2])) < 2 * np.max(np.abs(bounded[1, 2]))
    x = np.linspace(0, 1, 2001)[1:]
    damping = jax.vmap(lambda d: forces.damping(jnp.full((1, 1), 1 / d)))(jnp.asarray(0.1 * x))
    assert abs(np.mean(1 - damping)) < 1e-3
    assert float(forces.damping(jnp.full((1, 1), 9.9))) == 1


def test_blocks_hold_the_covariance():
    """F = −⟨a⟩ − ⟨(E − ⟨E⟩) w⟩ of known numbers, with an error as repeated runs scatter."""
    forces = Forces().prepare(hydrogen().system)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        energy = rng.normal(-10.0, 1.0, (400, 1, 1))
        a, noise = rng.normal(0.3, 1.0, (2, 400, 2, 3))
        w = 0.5 * (energy + 10) + 2 + noise
        blocks = np.concatenate(
            [energy.reshape(400, 1), np.stack([a, w, energy * w], axis=1).reshape(400, -1)], axis=1
        )
        found.append(forces.finalize(blocks, np.ones(400)))
    means = np.array([one["mean"] for one in found])
    assert abs(np.mean(means) + 0.3 + 0.5) < 0.02  # 240 numbers with errors of 0.08
    errors = np.array([one["error"] for one in found])
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["h2-stretched", "li2"])
def test_a_determinant_has_the_gradient_of_hartree_fock(name, tmp_path):
    """PySCF's, Pulay's terms included, which for H2 are 0.006 of 0.102 hartree/bohr."""
    psi = from_pyscf(chkfile(name), cusp=False)
    out = vmc(psi, walkers=256, blocks=120, estimators=[Forces()])
    force, error = (np.asarray(out.numbers()[key]) for key in ("forces", "forces_error"))
    assert force.shape == (2, 3)
    assert np.max(error) < 0.006
    difference = force + np.asarray(NUMBERS[name]["gradient"])
    assert np.all(np.abs(difference) < 4 * error)
    assert "force on nucleus 2" in out.summary()
    out.save(tmp_path / "out.h5")
    again = zt.load(tmp_path / "out.h5")
    np.testing.assert_allclose(again.numbers()["forces"], force)
    assert isinstance(again, zt.qmc.Samples)
    assert len(estimator(again, "forces").axes) == 1


@pytest.mark.parametrize(
    ("psi", "said"),
    [
        (
            lambda: SlaterJastrow(zt.qmc.ElectronGas(2, 1.0)),
            "must not hold Forces for a system with a cell",
        ),
        (
            lambda: SlaterJastrow(zt.qmc.Trap(frequency=1.0)),
            "must not hold Forces where there is no nuc",
        ),
        (
            lambda: SlaterJastrow(hydrogen().system, [], zt.qmc.Nodeless(1.0)),
            "orbitals: must have a center to follow nuclei",
        ),
    ],
)
def test_what_cannot_follow_is_refused_before_the_run(psi, said):
    with pytest.raises(checks.InputError, match=said):
        vmc(psi(), walkers=4, blocks=4, estimators=[Forces()])
