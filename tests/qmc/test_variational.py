"""VMC against energies that are known exactly."""

from __future__ import annotations

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter
from zitter import checks, cli
from zitter.qmc import (
    ElectronGas,
    MomentumDensity,
    P,
    PairCorrelation,
    SlaterJastrow,
    StructureFactor,
    Trap,
    U,
    dmc,
    vmc,
)
from zitter.qmc.runs import Run
from zitter.qmc.walk import variational
from zitter.qmc.walk.dynamics import DriftDiffusion, GaussianSteps
from zitter.qmc.walk.sweep import offer_move
from zitter.qmc.wavefunction import Walker

HARTREE_FOCK = {
    # system → (t, x): E = t/r_s² + x/r_s per electron
    ("sc", 3, 14): (1.12091287, -0.51437854),
    ("sc", 3, 54): (1.06342000, -0.49417527),
    ("fcc", 3, 118): (1.07042077, -0.48083416),
    ("square", 2, 26): (0.52050056, -0.60689980),
    ("square", 2, 50): (0.50265482, -0.60816779),
}


@pytest.mark.parametrize("system", list(HARTREE_FOCK), ids=str)
def test_closed_form_of_hartree_fock(system):
    lattice, dimension, n = system
    t, x = HARTREE_FOCK[system]
    for rs in (1.0, 5.0):
        total, kinetic, potential = ElectronGas(n, rs, dimension, lattice).hartree_fock()
        # Eight decimal places are printed.
        assert kinetic == pytest.approx(t / rs**2, abs=5.1e-9)
        assert potential == pytest.approx(x / rs, abs=5.1e-9)
        assert total == pytest.approx(kinetic + potential)


def test_hartree_fock_of_an_open_shell_is_refused():
    """Real orbitals of a part of a shell have no uniform density; at a twist there is no such."""
    gas = ElectronGas(3, 10.0, polarization=1, allow_open_shell=True)
    with pytest.raises(checks.InputError, match="n: must fill closed shells, but is 3"):
        gas.hartree_fock()


def run_hartree_fock(system, rs, walkers, blocks, **options):
    lattice, dimension, n = system
    t, x = HARTREE_FOCK[system]
    psi = SlaterJastrow(ElectronGas(n, rs, dimension, lattice))
    out = vmc(psi, walkers=walkers, blocks=blocks, **options)
    return out, t / rs**2 + x / rs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "blocks"),
    [(("sc", 3, 14), 80), pytest.param(("square", 2, 10), 160, marks=pytest.mark.slow)],
)
def test_without_jastrow_vmc_is_hartree_fock(system, blocks):
    """At r_s = 10, where the same relative error bar is ten times smaller than at r_s = 1."""
    lattice, dimension, n = system
    gas = ElectronGas(n, 10.0, dimension, lattice)
    out, exact = vmc(SlaterJastrow(gas), walkers=256, blocks=blocks), gas.hartree_fock()[0]
    assert out.energy_error <= 2e-4 * (1 if n > 10 else 2)  # small cells fluctuate more
    assert abs(out.energy - exact) <= 4 * out.energy_error
    # Plane waves are eigenfunctions of the kinetic energy: no variance there at all.
    assert np.ptp(out.traces["kinetic"]) < 1e-10
    assert out.info["determinant_drift"] < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("system", list(HARTREE_FOCK), ids=str)
def test_without_jastrow_vmc_is_hartree_fock_for_larger_cells(system):
    # A gas in two dimensions fluctuates more.
    out, exact = run_hartree_fock(system, 5.0, 256, 300 if system[1] == 3 else 800)
    assert out.energy_error <= 2e-4
    assert abs(out.energy - exact) <= 4 * out.energy_error


@pytest.mark.slow
@pytest.mark.parametrize(("rs", "blocks"), [(1.0, 6500), (2.0, 1700), (5.0, 280), (10.0, 100)])
def test_without_jastrow_vmc_is_hartree_fock_at_every_density(rs, blocks):
    """Error bars grow as 1/r_s, and the number of blocks with them."""
    out, exact = run_hartree_fock(("sc", 3, 14), rs, 256, blocks)
    assert out.energy_error <= 2e-4
    assert abs(out.energy - exact) <= 4 * out.energy_error


def test_the_gas_without_interaction_has_no_variance():
    gas = ElectronGas(14, 1.0, interacting=False)
    out = vmc(SlaterJastrow(gas), walkers=16, blocks=8, equilibration=10)
    assert out.energy == pytest.approx(gas.hartree_fock()[1], rel=1e-12)
    assert out.variance < 1e-18


@pytest.mark.slow
def test_a_twist_makes_complex_orbitals_with_the_right_energy():
    gas = ElectronGas(8, 10.0, twist=(0.1, 0.25, 0.2), allow_open_shell=True)
    out = vmc(SlaterJastrow(gas), walkers=256, blocks=80)
    exact = gas.hartree_fock()[0]
    assert abs(out.energy - exact) <= 3 * out.energy_error
    assert out.energy_error < 5e-4


@pytest.mark.slow
def test_estimators_of_the_uncorrelated_gas():
    """n(k) is a step; g of opposite spins is 1; S(k) follows from the occupied plane waves."""
    gas = ElectronGas(14, 10.0)
    measured = [PairCorrelation(10), StructureFactor(2), MomentumDensity(1.3)]
    out = vmc(SlaterJastrow(gas), walkers=256, blocks=60, estimators=measured)
    n = out.estimators["momentum_density"]
    step = np.where(n["x"] < 1, 1.0, 0.0)
    assert np.all(np.abs(n["mean"] - step) < 4 * n["error"])
    assert np.all(n["error"] < 0.02)
    g = out.estimators["pair_correlation"]
    assert np.all(np.abs(g["mean"][1] - 1) < 4 * g["error"][1])
    assert g["mean"][0, 0] < 0.1  # Pauli: like spins avoid each other
    # S(k) = 1 − (2/N)·(pairs of occupied states k apart), 7 occupied states: 2·... by counting.
    s = out.estimators["structure_factor"]
    occupied = np.array([[0, 0, 0], *np.eye(3), *-np.eye(3)])
    for star, length in enumerate((1.0, 2.0**0.5)):
        pairs = np.linalg.norm(occupied[:, None] - occupied[None], axis=-1)
        members = {1.0: 6, 2.0**0.5: 12}[length]
        both = np.sum(np.isclose(pairs, length)) / members
        assert abs(s["mean"][star] - (1 - 2 * both / 14)) < 4 * s["error"][star]


@pytest.mark.parametrize("dynamics", [GaussianSteps(0.8), DriftDiffusion(0.3)], ids=["vmc", "dmc"])
def test_detailed_balance(dynamics):
    """|Ψ(a)|² G(a→b) A(a→b) = |Ψ(b)|² G(b→a) A(b→a) for single moves, by running both."""
    psi = SlaterJastrow(ElectronGas(14, 2.0), [U(order=4), P(stars=1)])
    psi = psi.with_parameters(psi.parameters + 0.1)
    dynamics = jax.tree.map(jnp.asarray, dynamics)
    electron = 3

    def offer(walker, noise, chance):
        opened, seat = psi.alone(walker, jnp.asarray(electron))
        may, chance = jnp.asarray(True), jnp.asarray(chance)
        return offer_move(psi, dynamics, opened, seat, may, noise, chance, jnp.float64)

    offer, start = jax.jit(offer), eqx.filter_jit(psi.start)

    @jax.jit
    def slopes(walker):
        return psi.derivatives(walker)[0]

    def gradient(walker):
        if not dynamics.drifts:
            return None
        return slopes(walker)[:, electron]

    def noise_between(walker, new):
        old = walker.r[:, electron]
        if dynamics.drifts:
            drift = dynamics.timestep * dynamics.drift(gradient(walker))
            return (new - old - drift) / jnp.sqrt(dynamics.timestep)
        return (new - old) / dynamics.width

    checked = 0
    for seed in range(12):
        key = jax.random.PRNGKey(seed)
        a = start(psi.system.start(key, 1)[0])
        there = jax.random.normal(jax.random.fold_in(key, 1), (3,), jnp.float64)
        moved, tally = offer(a, there, 0.0)
        r = moved.r
        if not bool(tally.accepted):  # across a node: refused in both directions
            continue
        b = start(r)
        back = noise_between(b, a.r[:, electron])
        np.testing.assert_allclose(noise_between(a, r[:, electron]), there, atol=1e-10)
        _, reverse = offer(b, back, 0.0)
        forward_rate = (
            2 * a.log - 0.5 * jnp.sum(there**2) + jnp.log(tally.diffused_accepted / tally.diffused)
        )
        backward_rate = (
            2 * b.log
            - 0.5 * jnp.sum(back**2)
            + jnp.log(reverse.diffused_accepted / reverse.diffused)
        )
        assert float(forward_rate) == pytest.approx(float(backward_rate), abs=1e-9)
        checked += 1
    assert checked >= 4


def test_results_survive_a_file(tmp_path):
    out = vmc(SlaterJastrow(Trap(frequency=1.0, width=0.8)), walkers=64, blocks=32)
    out.save(tmp_path / "result.h5")
    loaded = zitter.load(tmp_path / "result.h5")
    assert (loaded.energy, loaded.energy_error) == (out.energy, out.energy_error)
    assert loaded.summary() == out.summary()
    assert out.energy == pytest.approx(1.5 + 0.5 * 0.04 * 1.5 / 0.8, abs=4 * out.energy_error)


def test_a_stopped_run_resumes_to_the_same_numbers(tmp_path, monkeypatch):
    psi = SlaterJastrow(Trap(frequency=1.0, width=0.8))
    options = {"walkers": 64, "blocks": 32, "equilibration": 10, "stride": 1}
    whole = vmc(psi, **options)
    # Saved after each segment, and broken off in the middle of the measurements.
    broken = lambda run: lambda state, done: "Broken off." if done > 10 else None  # noqa: E731
    monkeypatch.setattr(variational, "guard", broken)
    folder = tmp_path / "checkpoint"
    with pytest.raises(checks.RunError, match="Broken off"):
        vmc(psi, **options, checkpoint=folder, checkpoint_every=0.0)
    assert (folder / "state.h5").exists()
    monkeypatch.undo()

    def again(*_):
        raise AssertionError("equilibration is in the checkpoint")

    monkeypatch.setattr(variational, "equilibrated", again)
    resumed = vmc(psi, **options, checkpoint=folder, resume=True)
    np.testing.assert_array_equal(resumed.traces["energy"], whole.traces["energy"])
    np.testing.assert_array_equal(resumed.positions, whole.positions)
    # Nobody knows whether the result is on a disk: the checkpoint stays, also for more blocks.
    longer = vmc(psi, **options | {"blocks": 40}, checkpoint=folder, resume=True)
    np.testing.assert_array_equal(longer.traces["energy"][:32], whole.traces["energy"])


def test_estimators_drop_the_transient_of_the_energy():
    psi = SlaterJastrow(ElectronGas(2, 5.0))
    options = (2, 60, [StructureFactor(1)], 0, None, None, (), None, 30.0, False, False)
    run = Run.checked(psi, *options)
    noise = np.random.default_rng(0).normal(size=60)
    transient = np.exp(-np.arange(60) / 4)
    records = {
        "energy": 0.01 * noise + 10 * transient,
        "variance": np.ones(60),
        "acceptance": np.ones(60),
        "structure_factor": (0.5 + 7.0 * transient)[:, None],
    }
    walkers = variational.first_states(run).walkers
    out = run.finish(records, np.ones(60), walkers, {"method": "VMC"})
    assert out.start > 8
    kept = 0.5 + 7.0 * np.mean(transient[out.start :])
    assert out.estimators["structure_factor"]["mean"] == pytest.approx(kept, rel=1e-12)


def test_what_belongs_to_a_run_is_in_its_signature(tmp_path):
    """Resuming compares estimators and starting positions by value."""
    psi = SlaterJastrow(ElectronGas(2, 5.0))
    start = np.asarray(psi.system.start(jax.random.PRNGKey(0), 4))

    def signed(estimators, start):
        run = Run.checked(psi, 4, 4, estimators, 0, None, start, (), tmp_path, 30.0, False, False)
        return run._keeper("", "vmc").signature

    known = signed([PairCorrelation(10)], start)
    assert signed([PairCorrelation(10)], start.copy()) == known
    others = [
        signed([PairCorrelation(20)], start),
        signed([StructureFactor(10)], start),
        signed([PairCorrelation(10)], start + 1e-9),
        signed([PairCorrelation(10)], None),
        signed([], start),
    ]
    assert len({known, *others}) == 6


@pytest.mark.parametrize(
    ("estimators", "sentence"),
    [
        (PairCorrelation(), "estimators: must be a list of Estimators"),
        (["PairCorrelation"], "estimators.0: must be an Estimator, but is 'PairCorrelation'"),
        ([PairCorrelation(), PairCorrelation(9)], "estimators.1: must not be a second PairCorr"),
    ],
)
def test_estimators_that_cannot_be_used(estimators, sentence):
    with pytest.raises(checks.InputError, match=sentence):
        vmc(SlaterJastrow(ElectronGas(2, 5.0)), estimators=estimators)


def test_units_in_files():
    gas = SlaterJastrow(ElectronGas(2, 5.0))
    out = vmc(gas, walkers=8, blocks=4, equilibration=10, estimators=[PairCorrelation(4)])
    units = {name: item.units for name, item in out.dataset().variables.items()}
    assert units["energy"] == units["kinetic"] == out.units
    assert (units["variance"], units["acceptance"]) == ("hartree^2", "1")
    assert (units["pair_correlation__x"], units["pair_correlation__mean"]) == ("bohr", "1")
    assert "rests on" not in out.summary()  # eight walkers scatter independently
    # What was measured on them has the blocks alone, and says so once for all its numbers.
    noted = [note for note in out.notes if "the error bars of pair correlation rest on" in note]
    assert len(noted) == 1 and noted == [n for n in out.numbers()["notes"] if n in noted]


def test_what_walkers_measured_that_stand_still_has_no_error_bar():
    psi = SlaterJastrow(ElectronGas(2, 5.0))
    run = Run.checked(
        psi, 8, 4, [PairCorrelation(4)], 0, None, None, (), None, 30.0, False, False
    )  # fmt: skip
    walkers = Walker(jnp.zeros((8, 3, 2)), jnp.ones(8), jnp.zeros(8))
    counts = np.ones((4, 2, 4))
    records = {"energy": np.ones(4), "variance": np.ones(4), "acceptance": np.zeros(4)}
    found = run.finish(
        records | {"pair_correlation": counts}, np.ones(4), walkers, {"method": "VMC"}
    )
    assert np.isinf(found.estimators["pair_correlation"]["error"]).all()
    assert any("of pair correlation rest on as few as 1 indep" in note for note in found.notes)


def test_an_error_bar_that_rests_on_little_says_so_everywhere(tmp_path):
    out = vmc(SlaterJastrow(ElectronGas(2, 5.0)), walkers=4, blocks=4, equilibration=10)
    out.save(tmp_path / "result.h5")
    stored = zitter.qmc.Samples.load(tmp_path / "result.h5")
    for told in (out.notes, out.numbers()["notes"], stored.info["notes"], stored.notes):
        assert len(told) == 1 and "the error bar rests on" in told[0]
    assert out.notes[0] in out.summary()


@pytest.mark.slow
def test_single_precision_agrees():
    out, exact = run_hartree_fock(("sc", 3, 14), 10.0, 256, 80, precision="single")
    assert out.info["precision"] == "single"
    assert abs(out.energy - exact) <= 3 * out.energy_error


def test_show_and_plot(tmp_path, capsys):
    out = vmc(SlaterJastrow(Trap(frequency=1.0, width=0.8)), walkers=64, blocks=32)
    out.save(tmp_path / "result.h5")
    assert cli.status(["show", str(tmp_path), "--json"]) == 0
    printed = capsys.readouterr().out.strip().splitlines()
    told = json.loads(printed[-1])
    assert (told["energy"], told["energy_error"]) == (out.energy, out.energy_error)
    for word in ("energy", "variance", "acceptance"):
        assert any(line.strip().startswith(word) for line in printed)
    assert cli.status(["plot", str(tmp_path)]) == 0
    assert (tmp_path / "overview.png").stat().st_size > 10_000


@pytest.mark.parametrize("verb", ["vmc", "dmc"])
def test_no_walkers_are_kept_but_those_of_the_last_block_and_this_one(verb, monkeypatch):
    """First and settled walkers would be two more copies: of the memory of many walkers a third."""
    copies = []
    original = Run.guard

    def guard(run, finite, sentence):
        judge = original(run, finite, sentence)

        def counting(state, done):
            shape = state.walkers.r.shape
            copies.append(sum(array.shape == shape for array in jax.live_arrays()))
            return judge(state, done)

        return counting

    monkeypatch.setattr(Run, "guard", guard)
    psi = SlaterJastrow(ElectronGas(14, 2.0), [U(order=4)])
    odd = 37  # a number of walkers that no other test has
    if verb == "vmc":
        vmc(psi, odd, 6, equilibration=10)
    else:
        dmc(psi, 0.05, odd, 6, equilibration=4)
    assert len(copies) > 4 and max(copies) == 2
