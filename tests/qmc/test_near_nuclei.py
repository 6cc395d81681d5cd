"""Steps near nuclei: they leave |Ψ|² alone, and electrons of the core do move."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pseudo_atoms import SOFT
from pyscf_files import chkfile
from scipy.stats import multivariate_normal
from walker_programs import begin

from zitter.qmc import ElectronGas, Electrons, Nucleus, SlaterJastrow, U, from_pyscf, vmc
from zitter.qmc.statistics import autocorrelation_time
from zitter.qmc.walk import sweep
from zitter.qmc.walk.dynamics import GaussianSteps
from zitter.qmc.walk.near_nuclei import (
    NuclearDriftDiffusion,
    NuclearSteps,
    drift_diffusion,
    steps,
)

KEY = jax.random.PRNGKey(7)
PLACE = (0.5, 0.0, -0.5)


@pytest.mark.parametrize(
    ("dynamics", "kind", "often"),
    [(lambda atom: drift_diffusion(atom, jnp.asarray(0.5)), NuclearDriftDiffusion, 0.8),
     (lambda atom: steps(atom, jnp.asarray(0.6)), NuclearSteps, 0.3)],
    ids=["dmc", "vmc"],
)  # fmt: skip
def test_electrons_near_bare_nuclei_keep_their_distribution(dynamics, kind, often):
    """Accepted moves leave |Ψ|² of hydrogen alone at any step: ⟨r⟩ = 3/2, ⟨1/r⟩ = 1."""
    atom = Electrons((1, 0), [Nucleus(1, PLACE)])
    psi = SlaterJastrow(atom)
    dynamics = dynamics(atom)
    assert isinstance(dynamics, kind)
    walkers = begin(psi, atom.start(jax.random.PRNGKey(0), 2000))

    @eqx.filter_jit
    def many(psi, dynamics, walkers, key):
        def once(walkers, key):
            walkers, tally = sweep.sweep(psi, dynamics, walkers, key)
            r = jnp.linalg.norm(walkers.r[:, :, 0] - jnp.asarray(PLACE), axis=1)
            return walkers, (jnp.mean(r), jnp.mean(1 / r), jnp.mean(tally.accepted))

        return jax.lax.scan(once, walkers, jax.random.split(key, 200))[1]

    r, inverse, accepted = (np.asarray(x)[20:] for x in many(psi, dynamics, walkers, KEY))
    # σ of r is √3/2 and that of 1/r is 1, and a few sweeps are needed to forget.
    error = np.sqrt(10 / (180 * 2000))
    assert abs(r.mean() - 1.5) < 4 * error
    assert abs(inverse.mean() - 1.0) < 4 * error
    assert accepted.mean() > often


@pytest.mark.parametrize("z", [0.05, 0.3, 1.5])
def test_the_density_of_proposals_is_one_altogether(z):
    """The electron at z above the nucleus, drawn to it: diffusion, and moves around the nucleus."""
    dynamics = NuclearDriftDiffusion(jnp.asarray(0.05), jnp.asarray([2.0]), jnp.zeros((1, 3)), None)
    aim = dynamics._aim(jnp.asarray([0.0, 0.0, z]), jnp.asarray([0.3, 0.0, -2.0]))
    assert 1e-12 < aim.across < 0.6
    (x, wx), (y, wy) = (np.polynomial.legendre.leggauss(n) for n in (160, 80))
    r, azimuth = 3 * (x + 1), np.pi * (np.arange(16) + 0.5) / 8
    R, C, A = np.meshgrid(r, y, azimuth, indexing="ij")
    side = R * np.sqrt(1 - C**2)
    new = jnp.asarray(np.stack([side * np.cos(A), side * np.sin(A), R * C]))
    density = jnp.exp(jax.vmap(lambda n: dynamics._log_density(aim, n), -1)(new.reshape(3, -1)))
    weights = np.einsum("r,c,a->rca", 3 * wx * r**2, wy, np.full(16, np.pi / 8))
    assert float(weights.ravel() @ density) == pytest.approx(1, abs=1e-5)


def test_gases_and_pseudo_atoms_have_no_bare_nuclei():
    for system in (ElectronGas(2, 1.0), Electrons((1, 0), [Nucleus(pseudopotential=SOFT)])):
        assert not isinstance(drift_diffusion(system, 0.01), NuclearDriftDiffusion)
        assert isinstance(steps(system, 0.5), GaussianSteps)


def test_asymmetry_is_that_of_two_gaussians():
    """√(a² + d²) of the nearer nucleus, 1/Z of its own: 0.4 w and √(1/16 + 0.25) w here."""
    atoms = Electrons((2, 2), [Nucleus(4.0, (0, 0, 0)), Nucleus(1.0, (0, 0, 3.0))])
    dynamics = steps(atoms, jnp.asarray(0.7))
    old, new = np.array([0.3, 0.0, -0.1]), np.array([0.0, 0.5, 0.0])
    here, there = 0.7 * np.sqrt(0.1 + 1 / 16), 0.7 * np.sqrt(0.25 + 1 / 16)
    expected = np.log(
        multivariate_normal(new, there**2).pdf(old) / multivariate_normal(old, here**2).pdf(new)
    )
    found = dynamics.asymmetry(jnp.asarray(old), jnp.asarray(new))
    assert float(found) == pytest.approx(expected, rel=1e-12)
    places = jnp.asarray(np.stack([old, new], axis=1))
    both = dynamics.asymmetry(places, places[:, ::-1])
    np.testing.assert_allclose(both, [expected, -expected], rtol=1e-12)


def test_steps_of_many_widths_together_are_steps_in_turn(monkeypatch):
    """The same walk, also where a quotient above one meets a random number scaled above one."""
    psi = from_pyscf(chkfile("beryllium"), [U(order=2)], cusp=False)
    dynamics = steps(psi.system, jnp.asarray(0.8))
    walkers = begin(psi, psi.system.start(KEY, 40))
    one = eqx.filter_jit(lambda *a: sweep.sweep(*a))(psi, dynamics, walkers, KEY)
    monkeypatch.setattr(sweep, "move_together", sweep.move_in_turn)
    other = eqx.filter_jit(lambda *a: sweep.sweep(*a))(psi, dynamics, walkers, KEY)
    assert 0 < np.asarray(one[1].accepted).sum() < 160
    np.testing.assert_array_equal(one[1].accepted, other[1].accepted)
    np.testing.assert_allclose(one[0].r, other[0].r, atol=1e-12)
    np.testing.assert_allclose(one[0].log, other[0].log, atol=1e-10)


@pytest.mark.slow
def test_electrons_of_the_core_move():
    """Steps of one width for core and valence keep beryllium's kinetic energy for 80 sweeps."""
    psi = from_pyscf(chkfile("beryllium"), cusp=False)
    out = vmc(psi, walkers=256, blocks=400, stride=1)
    assert autocorrelation_time(out.traces["kinetic"]) < 25
