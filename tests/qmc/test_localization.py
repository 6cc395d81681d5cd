"""DMC with nonlocal pseudopotentials: T-moves and locality, on atoms whose energy is known."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pseudo_atoms import CARBON, SOFT, SP, Blob
from scipy.linalg import eigh_tridiagonal
from walker_programs import begin, local_energies

from zitter import checks
from zitter.config.objects import Builder, classes
from zitter.qmc import (
    Crystal,
    DeterminantLocality,
    ElectronGas,
    Electrons,
    Locality,
    Localization,
    Nucleus,
    PlainWavefunction,
    PlaneWaves,
    SlaterJastrow,
    System,
    TMoves,
    U,
    dmc,
    vmc,
)
from zitter.qmc.streams import seeded
from zitter.qmc.walk import diffusion, variational
from zitter.qmc.walk.localization import t_moves
from zitter.qmc.walk.sweep import no_tally

MOVE = eqx.filter_jit(t_moves)


@pytest.fixture(scope="module")
def blob() -> SlaterJastrow:
    """One electron around a pseudo-nucleus, in an orbital that is not the ground state."""
    atom = Electrons((1, 0), [Nucleus(pseudopotential=SOFT)])
    return SlaterJastrow(atom, orbitals=Blob(0.5, (0.4, 0.0, 0.3)))


def lowest_s(potential) -> float:
    """The energy of one s electron, on a radial grid: errors of h² below 1e-4."""
    r = 0.005 * np.arange(1, 4000)
    v = -float(potential.charge) / r + np.asarray(potential.local(r) + potential.channels[0](r))
    off = np.full(len(r) - 1, -0.5 / 0.005**2)
    return float(eigh_tridiagonal(1 / 0.005**2 + v, off, select="i", select_range=(0, 0))[0][0])


def test_t_moves_go_with_the_probability_of_the_heat_bath(blob):
    """Many copies of one walker: how many go, and how far, as t⁺/(1 + Σt⁺) says."""
    copies, tau = 20000, 0.2
    r = jnp.tile(jnp.asarray([0.5, -0.3, 0.2])[:, None], (copies, 1, 1))
    walkers = begin(blob, r)
    moved, gone = MOVE(blob, jnp.asarray(tau), walkers, jax.random.PRNGKey(0))
    found = _transitions(blob, walkers, jax.random.split(jax.random.PRNGKey(1), copies))
    chances = np.maximum(-tau * np.asarray(found.amplitudes), 0)
    chances = chances / (1 + np.sum(chances, axis=1, keepdims=True))
    leaves = np.sum(chances, axis=1)
    assert 0.05 < np.mean(leaves) < 0.95
    assert abs(np.mean(gone) - np.mean(leaves)) < 4 * np.sqrt(0.5 / copies)
    steps = np.asarray(found.points) - np.asarray(r)
    expected = np.einsum("wq,wdq->wd", chances, steps)
    actual = np.asarray(moved.r - r)[:, :, 0]
    error = np.sqrt((np.var(actual, axis=0) + np.var(expected, axis=0)) / copies)
    assert np.all(np.abs(actual.mean(axis=0) - expected.mean(axis=0)) < 4 * error)
    np.testing.assert_allclose(
        np.linalg.norm(moved.r[:, :, 0], axis=1), np.linalg.norm(r[:, :, 0], axis=1), rtol=1e-12
    )


@eqx.filter_jit
def _transitions(psi, walkers, keys):
    term = psi.system.energies[3]

    def one(walker, key):
        return term.transitions(psi, *psi.alone(walker, jnp.asarray(0)), 0, key)

    return jax.vmap(one)(walkers, keys)


def test_walkers_are_whole_after_t_moves():
    """Ψ, inverses and memories are those of the new positions, spins of unequal number too."""
    nuclei = [Nucleus(pseudopotential=SOFT), Nucleus(pseudopotential=CARBON, position=(1, 0, 1))]
    system = Electrons((4, 3), nuclei)
    psi = SlaterJastrow(system, [U(order=3, cutoff=3.0)], orbitals=SP(0.9, 0.7), delay=3)
    psi = psi.with_parameters(psi.parameters + 0.05)
    walkers = begin(psi, system.start(jax.random.PRNGKey(1), 16))
    moved, gone = MOVE(psi, jnp.asarray(2.0), walkers, jax.random.PRNGKey(2))
    elsewhere = np.any(np.asarray(moved.r != walkers.r), axis=1)
    np.testing.assert_array_equal(np.sum(elsewhere, axis=1), gone)
    assert 16 < np.sum(gone) < 16 * 7
    fresh = begin(psi, moved.r)
    np.testing.assert_allclose(moved.log, fresh.log, atol=1e-9)
    np.testing.assert_array_equal(moved.phase, fresh.phase)
    kinetic = [local_energies(psi, x)["kinetic"] for x in (moved, fresh)]  # takes the inverses
    np.testing.assert_allclose(kinetic[0], kinetic[1], rtol=1e-7)


def test_t_moves_share_no_random_numbers_with_the_walk(blob, monkeypatch):
    """Where an electron has just been accepted or refused says nothing of where it is taken."""
    first = variational.first_state(blob, 4, seeded(0), jnp.float64)
    state = diffusion.blank_state(first, jnp.asarray(-1.0))
    keys = {}

    class Done(Exception):
        pass

    def sweep(psi, dynamics, walkers, key, dtype):
        keys["walk"] = key
        return walkers, no_tally(4)

    def moves(psi, tau, walkers, key, dtype):
        keys["moves"] = key
        raise Done

    monkeypatch.setattr(diffusion, "sweep", sweep)
    monkeypatch.setattr(diffusion, "t_moves", moves)
    context = diffusion.Context(
        blob, jnp.asarray(0.02), jnp.asarray(1), jnp.asarray(False), (), jnp.float64
    )
    with pytest.raises(Done):
        diffusion._time_step(context, state)
    # All that a walk makes of its key are splits of it, and of these.
    taken = np.vstack([keys["walk"], jax.random.split(keys["walk"], 4096)]).tolist()
    assert np.asarray(keys["moves"]).tolist() not in taken


@pytest.fixture(scope="module")
def twisted() -> SlaterJastrow:
    """Plane waves at a twist between pseudo-nuclei: a complex Ψ in a periodic cell."""
    vectors = [[4.0, 0, 0], [0, 4.0, 0], [0, 0, 4.0]]
    nuclei = [Nucleus(pseudopotential=SOFT), Nucleus(pseudopotential=CARBON, position=(2, 2, 2))]
    twist = (0.1, 0.2, -0.3)
    solid = Crystal(vectors, nuclei, (4, 4), twist)
    return SlaterJastrow(solid, [U(order=3)], orbitals=PlaneWaves(solid.cell, 4, twist))


@pytest.mark.slow
def test_complex_walkers_are_whole_after_t_moves(twisted):
    walkers = begin(twisted, twisted.system.start(jax.random.PRNGKey(1), 8))
    moved, gone = MOVE(twisted, jnp.asarray(1.0), walkers, jax.random.PRNGKey(2))
    assert np.sum(gone) > 4
    fresh = begin(twisted, moved.r)
    np.testing.assert_allclose(moved.log, fresh.log, atol=1e-9)
    np.testing.assert_allclose(moved.phase, fresh.phase, atol=1e-9)


@pytest.mark.slow
def test_a_lattice_vector_changes_no_nonlocal_energy(twisted):
    """Electrons in other cells: phases of the twist cancel in Ψ(r_q)/Ψ(r)."""
    r = twisted.system.start(jax.random.PRNGKey(3), 4)
    shifts = 4.0 * jax.random.randint(jax.random.PRNGKey(4), r.shape, -2, 3)
    here, there = (local_energies(twisted, begin(twisted, x)) for x in (r, r + shifts))
    for name in ("pseudopotential_local", "pseudopotential_nonlocal"):
        assert np.all(np.abs(here[name]) > 1e-3)
        np.testing.assert_allclose(here[name], there[name], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("localization", [TMoves(), Locality(), DeterminantLocality()])
def test_dmc_with_a_nonlocal_potential_is_near_the_exact_energy(blob, localization):
    """T-moves are an upper bound; what is localized of this Ψ is about 5 mHa, either way."""
    exact = lowest_s(SOFT)
    out = dmc(blob, timestep=0.02, walkers=512, blocks=60, steps=20, localization=localization)
    assert out.info["localization"] == type(localization).__name__
    if isinstance(localization, TMoves):
        assert out.energy > exact - 3 * out.energy_error
    assert abs(out.energy - exact) < 0.015 + 3 * out.energy_error
    assert out.energy_error < 0.005


@pytest.mark.slow
def test_a_poor_jastrow_factor_with_a_deep_core_does_not_explode():
    """Carbon, ccECP, u of the wrong sign: the energy stays above the exact −5.4175.

    With a variance of 28 hartree² the time step is far too large (−4.2 hartree here, −4.6 and −5.0
    at a fourth and a sixteenth of it), and the run says so.
    """
    atom = Electrons((3, 1), [Nucleus(pseudopotential=CARBON, symbol="C")])
    psi = SlaterJastrow(atom, [U(order=4, cutoff=4.0)], orbitals=SP(1.3, 1.1))
    psi = psi.with_parameters(psi.parameters - 0.1)
    before = vmc(psi, walkers=256, blocks=100)
    out = dmc(psi, timestep=0.02, walkers=256, blocks=200)
    assert out.energy > -5.4175 - 3 * out.energy_error
    assert out.energy < before.energy - 0.5
    assert any("the time step is too large" in note for note in out.info["notes"])
    assert np.all(np.isfinite(out.traces["energy"]))


def test_time_to_settle_follows_the_valence_electrons():
    neon = Electrons((5, 5), [Nucleus(10)])
    pseudo = Electrons((1, 0), [Nucleus(pseudopotential=SOFT)])
    assert neon.extent == pseudo.extent == 4.0
    assert pseudo.usual_timestep == pytest.approx(0.01)
    assert neon.usual_timestep == pytest.approx(1e-4)
    gas = ElectronGas(2, 3.0)
    assert gas.extent == pytest.approx(4 * gas.length)


def test_files_choose_a_localization_by_name():
    """`localization = { type = "TMoves" }` in a section [dmc]."""
    assert set(classes(Localization)) == {"DeterminantLocality", "Locality", "TMoves"}
    builder = Builder({}, Path())
    found = builder.arguments(
        "dmc", {"timestep": 0.01, "localization": {"type": "Locality"}}, dmc, "[dmc]", {"psi"}
    )
    assert isinstance(found["localization"], Locality)


def test_localization_that_cannot_work_is_refused(blob):
    class Plain(PlainWavefunction):
        system: System
        parameters: jax.Array
        is_complex: bool = eqx.field(static=True, default=False)

        def with_parameters(self, vector):
            return self

        def log_psi(self, r):
            return -jnp.sum(r**2)

    with pytest.raises(checks.InputError, match="localization: must be a Localization, but is"):
        dmc(blob, timestep=0.01, localization="T-moves")  # type: ignore
    with pytest.raises(checks.InputError, match="has determinants, but not with Plain: TMoves"):
        plain = Plain(parameters=jnp.zeros(0), system=blob.system)
        dmc(plain, timestep=0.01, localization=DeterminantLocality())
