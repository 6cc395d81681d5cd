"""What comes and goes within steps: runs with one and two of them agree that there is nothing."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import zitter as zt
from zitter import cli
from zitter.hamiltonian import Driven
from zitter.solve import evolution, unseen
from zitter.solve.guards import AccuracyWarning

WELL = [zt.Kinetic(), zt.SoftCoulomb(softening=2.0)]
GRID = zt.Grid(127, 0.5)
OBSERVED = [zt.Norm(), zt.Dipole(), zt.Populations(n=4)]
WAVE = zt.SineSquared(frequency=1.0, amplitude=0.02, cycles=8)


def atom(*light):
    return zt.discretize(zt.Model([*WELL, *light]), GRID)


def start(H):
    return zt.eigenstates(atom().static, 1).states[0]


# What changes, t, a step that does not see it, one that does.
MISSED = {
    "a pulse within a step": (
        zt.LengthGauge(zt.HalfCycle(amplitude=1.0, duration=0.1)), 20.0, 0.25, 0.005
    ),
    "a pulse between two looks": (
        zt.LengthGauge(zt.HalfCycle(amplitude=0.5, duration=0.5, start=14.5)), 20.0, 1.0, 0.01
    ),
    "looked at where it vanishes": (zt.LengthGauge(WAVE), 16 * np.pi, np.pi, 0.05),
    "looked at in phase": (zt.LengthGauge(WAVE), 16 * np.pi, 2 * np.pi, 0.05),
    "a potential that blinks": (
        zt.Potential(expression="x*exp(-((t-5.02)/0.02)**2)"), 20.0, 0.25, 0.005
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSED)
@pytest.mark.filterwarnings("ignore:the grid is too small")
def test_what_steps_do_not_see_is_in_the_errors(name):
    light, end, dt, fine = MISSED[name]
    H = atom(light)
    with pytest.warns(AccuracyWarning, match="within the steps is not seen") as told:
        found = zt.evolve(
            H, start(H), (0, end), dt, zt.Chebyshev(), OBSERVED, step_check=True, step_limit=0.04
        )
    advised = float(str(told[0].message).split("dt = ")[1].split()[0])
    assert advised < dt
    exact = zt.evolve(H, start(H), (0, end), fine, zt.Chebyshev(), OBSERVED)
    # First order in what is missed; the next one is its square, here below 1 %.
    assert found.info["step_error"] >= 0.99 * float(GRID.norm(found.final - exact.final)) > 1e-3
    for o, stated in found.step_errors.items():
        true = np.abs(found.observables[o][-1] - exact.observables[o][-1])
        assert np.all(stated >= true - 1e-9), o
    # Of what is kept no error is made up.
    assert found.step_errors["norm"] < 1e-9
    assert found.info["unseen"] == found.info["step_error"]
    assert found.step_error_of(lambda psi: abs(psi[3]) ** 2) == np.inf


@pytest.mark.parametrize("method", [zt.Chebyshev(), zt.RungeKutta4(), zt.GaussCollocation()])
@pytest.mark.filterwarnings("ignore:the grid is too small")
def test_waves_that_steps_see_are_not_told(method, recwarn):
    """Up to one radian between two looks, of light and of potentials."""
    for light in (
        zt.LengthGauge(WAVE),
        zt.VelocityGauge(WAVE),
        zt.Potential(expression="0.1*x*sin(t)*sin(t/8)**2"),
    ):
        H = atom(light)
        assert unseen.of_run(H, method.nodes, 0.0, 0.5, 100) == []
    slow = zt.LengthGauge(zt.SineSquared(wavelength="800 nm", amplitude=0.05, cycles=2))
    assert unseen.of_run(atom(slow), method.nodes, 0.0, 4.0, 55) == []
    assert not [w for w in recwarn if "not seen" in str(w.message)]


def test_a_weak_pulse_is_found_beside_a_strong_one():
    strong = zt.SineSquared(wavelength="800 nm", amplitude=0.05, cycles=4)
    weak = zt.HalfCycle(amplitude=0.2, duration=0.1, start=203.39)
    H = atom(zt.LengthGauge(zt.FieldSum([strong, weak])))
    (piece,) = unseen.of_run(H, (0.5,), 0.0, 0.25, 1700)
    assert 203.39 < piece.worst < 203.49
    # ∫|E| of the half cycle, of whose tail of the other sign the run sees what it sees.
    inside = np.linspace(203.39, 203.49, 2001)
    area = np.trapezoid(np.abs(weak.electric_field(inside)), inside)
    assert piece.total == pytest.approx(area, rel=0.2)


def test_a_method_that_finds_its_steps_is_not_judged():
    assert zt.RungeKuttaFehlberg45(tol=1e-8).nodes == ()
    assert len(zt.RungeKuttaFehlberg45().nodes) == 6
    assert unseen.of_run(atom(zt.LengthGauge(WAVE)), (), 0.0, np.pi, 16) == []


def test_nodes_are_the_times_at_which_H_is_asked_for(monkeypatch):
    """Each method of a list, by what it really asks."""
    asked = []
    honest = Driven.at
    monkeypatch.setattr(Driven, "at", lambda self, t: asked.append(float(t)) or honest(self, t))
    H = atom(zt.LengthGauge(WAVE))
    psi = start(H) + 0j
    for method in (zt.Lanczos(6), zt.Lanczos(6, scheme=zt.CommutatorFree4()), zt.RungeKutta4(),
                   zt.RungeKuttaFehlberg45(),
                   zt.MatrixExponential(scheme=zt.CommutatorFree4())):  # fmt: skip
        ready = method.prepare(H, (0.0, 1.0), 0.1)
        state = ready.init(H, psi, 2.0, 0.1)
        asked.clear()
        with jax.disable_jit():
            ready.step(H, psi, 2.0, 0.1, state)
        assert sorted({round((t - 2.0) / 0.1, 9) for t in asked}) == pytest.approx(
            sorted(set(ready.nodes)), abs=1e-8
        )


def test_a_rough_state_has_rough_numbers():
    """Two runs that are both far off may agree by chance; small populations did to 1e-3 of it."""
    wave = zt.SineSquared(frequency=10.0, amplitude=40.0, cycles=12)
    H = atom(zt.LengthGauge(wave))
    with pytest.warns(AccuracyWarning):
        found = zt.evolve(H, start(H), (0, 8.0), 0.1, zt.Chebyshev(), OBSERVED, step_check=True)
    exact = zt.evolve(H, start(H), (0, 8.0), 0.002, zt.Chebyshev(), OBSERVED)
    assert found.info["step_error_part"] > 0.05
    for o, stated in found.step_errors.items():
        true = np.abs(found.observables[o][-1] - exact.observables[o][-1])
        assert np.all(stated >= true - 1e-9), o


def test_sweeps_and_dry_runs_tell_it_too(tmp_path, capsys):
    case = tmp_path / "case.toml"
    case.write_text(
        """
[basis]
type = "Grid"
shape = 63
spacing = 0.5
[model]
terms = ["Kinetic", { type = "SoftCoulomb", softening = 2.0 },
  { type = "LengthGauge", pulse = "laser" }]
[laser]
type = "HalfCycle"
amplitude = 1.0
duration = 0.1
[evolve]
t = [0, 10]
dt = 0.25
observables = ["Dipole"]
""",
        encoding="utf-8",
    )
    assert cli.status(["run", str(case), "--dry-run", "--out", str(tmp_path / "out")]) == 0
    assert "within the steps is not seen" in capsys.readouterr().err
    words = ["sweep", str(case), "--over", "laser.amplitude=1,1.5", "--out", str(tmp_path / "two")]
    assert cli.status(words) == 0
    said = capsys.readouterr()
    assert "within the steps is not seen" in said.err + said.out


def test_runs_that_check_others_say_nothing():
    H = atom(zt.LengthGauge(WAVE))
    plan = evolution.prepare(H, complex, (0.0, 16 * np.pi), np.pi, step_check=True)
    assert plan.unseen != []
    coarse = plan.coarse()
    assert isinstance(coarse, evolution.Plan) and coarse.unseen == []


@pytest.mark.parametrize("nodes", [(0.5,), zt.CommutatorFree4().nodes], ids=["midpoint", "Gauss"])
def test_a_run_may_end_anywhere_in_a_pulse(nodes):
    """Also where light is zero a step before its end, and its first and last half steps see no
    more of it than a slope."""
    pulse = zt.Trapezoid(frequency=0.4, amplitude=0.05, ramp_cycles=2, plateau_cycles=4)
    H = atom(zt.LengthGauge(pulse))
    for end in np.linspace(20.0, 50.0, 30):
        steps = int(end / 0.2)
        assert unseen.of_run(H, nodes, 0.0, float(end / steps), steps) == []


def test_light_of_many_numbers_is_looked_at_less_often(monkeypatch):
    """Values of a wave in space take as long as steps, and memory if they come all at once."""
    numbers, honest = [], unseen._factors

    def counted(factor, times):
        found = jax.eval_shape(factor, times[0])
        numbers.append(found.size * len(times))
        return honest(factor, times)

    monkeypatch.setattr(unseen, "_factors", counted)
    pulse = zt.SineSquared(frequency=100.0, amplitude=50.0, cycles=4)
    basis = zt.SpinorBasis(zt.RadialBSplines(30, rmax=10.0), 2)
    terms = [zt.Dirac(), zt.Coulomb(1), zt.DiracLight(pulse, lmax=10)]
    H = zt.discretize(zt.Model(terms), basis)
    assert unseen.of_run(H, (0.5,), 0.0, 0.001, 50) == []
    assert len(numbers) >= 2 and sum(numbers) < 2**25


def test_what_is_the_same_everywhere_leads_nowhere():
    """A phase alone: H(t) of it is not seen, and ψ does not go anywhere else for that."""
    H = atom(zt.Potential(expression="0*x + 0.01*exp(-((t-5.02)/0.02)**2)"))
    psi = start(H)
    pieces = unseen.of_run(H, (0.5,), 0.0, 0.25, 80)
    assert len(pieces) == 1
    assert unseen.lost(pieces, H, psi) < 1e-12
    assert all(np.all(np.isfinite(way)) for way in unseen.directions(pieces, H, psi))
