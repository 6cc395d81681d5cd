"""Pulses shaped by gradients: slopes against differences, bounds, resuming, refusals."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zitter as zt
from zitter.controls.optimizing import _marks
from zitter.controls.parameters import chosen

# Two levels, 0.3 apart, and E(t) between them: a resonant pulse of area π inverts them.
GAP, DIPOLE = np.diag([0.0, 0.3]), np.array([[0.0, 1.0], [1.0, 0.0]])
LEVELS = zt.Levels(2)
UP = np.array([0.0, 1.0])
LENGTH = 60.0


def two_levels(pulse):
    return zt.Model([zt.Matrix(GAP), zt.DrivenMatrix(DIPOLE, pulse=pulse)])


def inversion(target=UP, **more):
    return zt.AtEnd(two_levels, LEVELS, UP[::-1], target, dt=0.25, **more)


def guess():
    return zt.SineSquared(amplitude=0.03, frequency=0.3, duration=LENGTH)


def free(band=(0.2, 0.4)):
    return zt.FreeForm.near(guess(), band=band)


def differences(objective, pulse, step):
    """Central differences of fourth order, parameter by parameter."""
    found = np.zeros_like(pulse.coefficients)
    for place in np.ndindex(*found.shape):
        change = np.zeros_like(found)
        change[place] = step

        def at(times, change=change):
            c = pulse.coefficients + times * change
            return float(objective(zt.FreeForm(c, band=pulse.band, duration=pulse.length)))

        found[place] = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
    return found


def gradient(objective, pulse):
    def worth(c):
        return objective(zt.FreeForm(c, band=pulse.band, duration=pulse.length))

    return np.asarray(jax.grad(worth)(jnp.asarray(pulse.coefficients)))


class TestGradients:
    def judged(self, objective, pulse, step=2e-3):
        exact, estimated = gradient(objective, pulse), differences(objective, pulse, step)
        # The differences err by step⁴ f⁗/30 and by 1e-15/step.
        np.testing.assert_allclose(estimated, exact, rtol=0, atol=1e-6 * np.max(np.abs(exact)))

    @pytest.mark.slow
    def test_of_two_levels(self):
        self.judged(inversion(), free(), 1e-3)

    def test_of_a_soft_core_atom(self):
        atom = [zt.Kinetic(), zt.SoftCoulomb(Z=1, softening=2.0)]
        grid = zt.Grid(31, 0.8)
        states = zt.eigenstates(zt.discretize(zt.Model(atom), grid), 2).states
        objective = zt.AtEnd(
            lambda pulse: zt.Model([*atom, zt.LengthGauge(pulse)]), grid, states[0], states[1],
            dt=0.1, propagator=zt.SplitOperator(),
        )  # fmt: skip
        pulse = zt.FreeForm([[0.02, 0.03], [0.01, -0.04]], band=(0.2, 0.3), duration=30.0)
        self.judged(objective, pulse)

    @pytest.mark.slow
    def test_of_hydrogen_in_three_dimensions(self):
        basis = zt.SphericalBasis(zt.RadialBSplines(18, 7, 20.0, "graded", first=0.6), 2)
        atom = [zt.Kinetic(), zt.Coulomb(Z=1), zt.ComplexAbsorber(8.0)]
        H = zt.discretize(zt.Model(atom), basis)
        ends = [zt.Eigenstate(n=n, l=n - 1).on(H) for n in (1, 2)]
        objective = zt.AtEnd(
            lambda pulse: zt.Model([*atom, zt.LengthGauge(pulse)]), basis, *ends, dt=0.2
        )
        pulse = zt.FreeForm([[0.03], [0.02]], band=(0.3, 0.4), duration=20.0)
        self.judged(objective, pulse)

    @pytest.mark.slow
    @pytest.mark.parametrize("strength", [1.0, 0.0])
    def test_of_light_that_turns(self, strength):
        """Towards a superposition of 1s and 2p₊, which has a slope without any field as well."""
        basis = zt.SphericalBasis(zt.RadialBSplines(10, 7, 12.0, "graded", first=0.8), 1, m="all")
        atom = [zt.Kinetic(), zt.Coulomb(Z=1)]
        H = zt.discretize(zt.Model(atom), basis)
        ground, up = (zt.Eigenstate(n=n, l=n - 1, m=n - 1).on(H) for n in (1, 2))
        objective = zt.AtEnd(
            lambda pulse: zt.Model([*atom, zt.LengthGauge(pulse)]), basis, ground,
            (ground + 1j * up) / np.sqrt(2), dt=0.2,
        )  # fmt: skip
        coefficients = strength * np.array([[[0.03], [0.02]], [[0.01], [-0.02]]])
        given = {"band": (0.3, 0.4), "duration": 8.0, "polarization": "x"}

        def worth(c):
            return objective(zt.FreeForm(c, **given))

        slope = np.asarray(jax.grad(worth)(jnp.asarray(coefficients)))
        way = np.array([[[1.0], [-2.0]], [[0.5], [1.5]]])
        at = [float(worth(coefficients + k * 2e-3 * way)) for k in (-2, -1, 1, 2)]
        along = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * 2e-3)
        # step⁴ f⁗/30, with fields of some 0.1.
        assert float(np.sum(slope * way)) == pytest.approx(along, rel=1e-6)
        assert abs(along) > 1e-2

    @pytest.mark.slow
    def test_where_there_is_no_field(self):
        """At zero the upper level is empty to second order, and its slope is zero, not NaN."""
        quiet = zt.FreeForm(np.zeros((2, 3)), band=(0.2, 0.4), duration=40.0)
        assert np.all(gradient(inversion(), quiet) == 0)
        # A superposition has one, though the space of Lanczos closes at the first vector.
        target = np.array([1.0, 1j * np.exp(-0.3j * 40.0)]) / np.sqrt(2)
        for method in (zt.Taylor(8), zt.Lanczos()):
            mixed = inversion(target, propagator=method)
            self.judged(mixed, quiet, 1e-3)
            assert np.max(np.abs(gradient(mixed, quiet))) > 0.1


def test_two_levels_are_inverted():
    found = zt.control(inversion(), free(), goal=0.9999)
    assert found.course.values[0] < 0.9 and found.value > 0.9999
    assert found.info["verdict"] == "the goal 0.9999 is reached"
    assert found.value == pytest.approx(found.course.values[-1], rel=1e-12)
    assert found.info["step_error"] < 1e-3
    # No net A, whatever was found.
    assert abs(float(found.pulse.residual_vector_potential)) < 1e-20
    assert isinstance(found.pulse, zt.FreeForm) and found.pulse.band == free().band


@pytest.mark.slow
def test_a_carrier_pulse_finds_its_area():
    """Only the amplitude may change: on resonance ∫E₀ sin² dt = E₀T/2 is to be π."""
    found = zt.control(inversion(), guess(), parameters=["carrier.amplitude"], tol=1e-12)
    # Light that is not slow beside ω, with few cycles, shifts that by about (E₀/ω)² / 4.
    assert float(found.pulse.amplitude) == pytest.approx(2 * np.pi / LENGTH, rel=0.05)
    assert found.info["parameters"] == 1


@pytest.mark.slow
def test_fluence_is_held():
    given = float(zt.fluence(free()))
    found = zt.control(inversion(), free(), fluence=1.2 * given, iterations=12)
    assert float(zt.fluence(found.pulse)) <= 1.2 * given * (1 + 1e-12)
    assert max(found.course.fluences) <= 1.2 * given * (1 + 1e-12)
    assert found.value > found.course.values[0]
    # A start beyond is scaled down first, and is what the result is compared with.
    tight = zt.control(inversion(), free(), fluence=0.5 * given, iterations=5)
    assert tight.course.fluences[0] == pytest.approx(0.5 * given, rel=1e-10)
    assert tight.course.values[0] < found.course.values[0]
    assert tight.value >= tight.course.values[0]


def test_a_pulse_beyond_its_fluence_is_scaled_down_to_it():
    """Not below: a fourth of ∫|E|² is half of the field."""
    pulse = zt.FreeForm([[0.02, 0.03], [0.01, -0.04]], band=(0.2, 0.3), duration=30.0)
    parameters = chosen(pulse, None, 0.25 * float(zt.fluence(pulse)))
    made = parameters.pulse_of(parameters.start)
    # The root, and what is divided by it, but for rounding.
    np.testing.assert_allclose(made.coefficients, 0.5 * pulse.coefficients, rtol=1e-14)


def test_bounds_are_held():
    found = zt.control(
        inversion(), guess(), parameters=["carrier.amplitude", "carrier.cep"],
        bounds={"carrier.amplitude": (0.0, 0.05)}, iterations=20,
    )  # fmt: skip
    assert float(found.pulse.amplitude) == pytest.approx(0.05, abs=1e-12)


def delayed(start):
    """A pulse and a second one that is over before the first."""
    return guess() + zt.SineSquared(amplitude=0.03, frequency=0.3, duration=30.0, start=start)


def test_delays_need_an_end():
    value = jax.eval_shape(lambda start: inversion(end=LENGTH)(delayed(start)), 11.0)
    assert value.shape == ()
    with pytest.raises(zt.InputError, match=r"pulse: must keep its duration.* give AtEnd an end"):
        zt.control(inversion(), delayed(11.0), parameters=["fields.1.carrier.start"])
    with pytest.warns(UserWarning, match="the pulse lasts until 60, but the run ends at 50"):
        inversion(end=50.0)._end(guess())


@pytest.mark.slow
def test_slopes_of_delays():
    def worth(start):
        return inversion(end=LENGTH)(delayed(start))

    difference = (float(worth(11.01)) - float(worth(10.99))) / 0.02
    # The difference errs by ω²h²/6 = 1.5e-6 of the slope.
    assert float(jax.grad(worth)(11.0)) == pytest.approx(difference, rel=1e-5)
    assert abs(difference) > 1e-3


def test_pulses_stay_what_they_may_be():
    """Without bounds a delay does not become negative, and no ellipticity is beyond one."""
    turning = zt.SineSquared(
        amplitude=0.03, frequency=0.3, duration=LENGTH, start=1.0, ellipticity=-0.5
    )
    names = ["carrier.start", "carrier.ellipticity"]
    found = zt.control(
        lambda pulse: pulse.carrier.ellipticity - pulse.carrier.start, turning, parameters=names
    )
    assert found.pulse.carrier.start == 0.0 and found.pulse.carrier.ellipticity == 1.0


def test_a_pulse_within_its_fluence_is_of_its_kind():
    found = zt.control(
        lambda pulse: pulse.electric_field(LENGTH / 2), guess(),
        parameters=["carrier.amplitude"], fluence=2 * float(zt.fluence(guess())),
    )  # fmt: skip
    assert isinstance(found.pulse, zt.SineSquared)
    assert float(found.pulse.amplitude) == pytest.approx(0.03 * np.sqrt(2), rel=1e-6)


def test_never_worse_than_it_began():
    """An objective that misleads: its slope points away from what is better."""

    @jax.custom_jvp
    def misleading(c):
        return -jnp.sum((c - 0.02) ** 2)

    misleading.defjvp(lambda c, dc: (misleading(*c), 2 * jnp.sum((c[0] - 0.02) * dc[0])))
    found = zt.control(lambda pulse: misleading(pulse.coefficients), free(), iterations=5)
    assert found.value == found.course.values[0]
    np.testing.assert_array_equal(found.pulse.coefficients, free().coefficients)
    assert found.info["verdict"].startswith("not converged: nothing better was found along")


@pytest.mark.parametrize("bounds", [None, {"coefficients": (-9.0, 9.0)}])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e10])
def test_converged_means_the_same_whatever_the_size(size, bounds):
    """A yield of 1e-30, and 1e10 of anything."""

    def worth(pulse):
        return size / (1.0 + jnp.sum((pulse.coefficients - 0.02) ** 2))

    found = zt.control(worth, free(), bounds=bounds)
    assert found.info["verdict"].startswith("converged: the last iteration gained no more than")
    # What is missed at the top is quadratic in the distance, and about what was gained last.
    np.testing.assert_allclose(found.pulse.coefficients, 0.02, atol=1e-4)
    assert found.value == pytest.approx(size, rel=1e-8)


def test_where_it_ends_is_told():
    def worth(pulse):
        return jnp.sum(pulse.coefficients)

    corner = zt.control(worth, free(), bounds={"coefficients": (-9.0, 1.0)})
    np.testing.assert_array_equal(corner.pulse.coefficients, 1.0)
    assert corner.info["verdict"].startswith("converged: within the bounds")
    farther = zt.control(worth, free(), iterations=2)
    assert farther.info["verdict"] == "all 2 iterations are done; more may gain more"


@pytest.mark.slow
def test_sums_of_pulses_and_several_targets():
    both = free((0.25, 0.35)) + zt.FreeForm([[1e-3], [0.0]], band=(0.5, 0.6), duration=LENGTH)
    assert both.free == ("fields.0.coefficients", "fields.1.coefficients")
    found = zt.control(inversion(), both, iterations=3)
    assert found.value > found.course.values[0]
    assert isinstance(found.pulse, zt.FieldSum)
    # Both levels together always hold everything.
    assert float(inversion(np.eye(2))(free())) == pytest.approx(1.0, abs=1e-10)


def test_observables_and_functions_as_targets():
    state = inversion()(free())
    projector = np.diag([0.0, 1.0])
    by_function = inversion(lambda psi: jnp.real(jnp.vdot(psi, projector @ psi)))
    assert float(by_function(free())) == pytest.approx(float(state), rel=1e-12)
    energy = inversion(zt.Energy())
    assert float(energy(free())) == pytest.approx(0.3 * float(state), rel=1e-10)
    found = zt.control(energy, free(), iterations=4)
    assert found.value > found.course.values[0]
    many = inversion(zt.Populations(np.eye(2)))
    with pytest.raises(zt.InputError, match="target: must give one number, but populations gives"):
        zt.control(many, free())


def test_observables_are_those_of_the_end():
    """⟨H(t)⟩ in the middle of a pulse, with the dipole's energy in the field there."""
    middle = inversion(zt.Energy(), end=32.0)
    with pytest.warns(UserWarning, match="the pulse lasts until 60, but the run ends at 32"):
        found = float(middle(guess()))
    with pytest.warns(UserWarning, match="the pulse lasts until 60, but the run ends at 32"):
        psi = np.asarray(middle.solution(guess()).final)
    still = 0.3 * abs(psi[1]) ** 2
    field = float(guess().electric_field(32.0)) * 2 * np.real(np.conj(psi[0]) * psi[1])
    assert found == pytest.approx(still + field, rel=1e-12)
    assert abs(field) > 1e-3


def test_the_error_by_the_step_is_that_of_richardson():
    """With the margin of 2, and but for the next order: (ωΔt)², 9 % of it."""
    objective = zt.AtEnd(two_levels, LEVELS, UP[::-1], UP, dt=1.0)
    fine = zt.AtEnd(two_levels, LEVELS, UP[::-1], UP, dt=0.05)
    true = abs(float(objective(guess())) - float(fine(guess())))
    assert true > 1e-4
    assert objective.step_error(guess()) == pytest.approx(2 * true, rel=0.1)


def test_observables_are_made_ready():
    """States that they name are found, and what does not suit the model is refused."""
    stays = inversion(zt.Populations(n=1))
    assert float(stays(free())) == pytest.approx(1 - float(inversion()(free())), rel=1e-9)
    slope = gradient(stays, free())
    np.testing.assert_allclose(slope, -gradient(inversion(), free()), atol=1e-9)
    with pytest.raises(zt.InputError, match=r"target\.states: must have shape"):
        inversion(zt.Populations(np.eye(3)))(free())
    with pytest.raises(zt.InputError, match="target: must suit this model, but Ionization cannot"):
        inversion(zt.Ionization(5.0))(free())
    with pytest.raises(zt.InputError, match="target: must have a derivative, but Instantaneous"):
        inversion(zt.InstantaneousPopulations(n=1))


def test_saved_loaded_and_drawn(tmp_path):
    found = zt.control(inversion(), free(), iterations=3)
    found.save(tmp_path / "control.h5")
    again = zt.load(tmp_path / "control.h5")
    assert again.course == found.course and again.info == found.info
    np.testing.assert_array_equal(again.pulse.coefficients, found.pulse.coefficients)
    np.testing.assert_array_equal(again.start.coefficients, found.start.coefficients)
    assert "objective" in again.summary() and "J/cm²" in again.summary()
    zt.plot.save(zt.plot.overview(again), tmp_path / "control.png")
    assert (tmp_path / "control.png").stat().st_size > 10_000
    assert set(again.to_xarray()) >= {"objective", "electric_field"}


class Counted:
    """An objective that a power cut ends."""

    def __init__(self, last=10**6):
        self.objective, self.count, self.last = inversion(), 0, last

    def __call__(self, pulse):
        self.count += 1
        if self.count > self.last:
            raise KeyboardInterrupt
        return self.objective(pulse)


def test_resumed_to_the_same_numbers(tmp_path):
    whole = zt.control(Counted(), free(), iterations=8)
    options = {"checkpoint": tmp_path / "kept", "checkpoint_every": 0.0}
    cut = Counted(5)
    with pytest.raises(KeyboardInterrupt):
        zt.control(cut, free(), iterations=8, **options)
    rest = Counted()
    resumed = zt.control(rest, free(), iterations=8, resume=True, **options)
    assert resumed.course == whole.course
    np.testing.assert_array_equal(resumed.pulse.coefficients, whole.pulse.coefficients)
    # Nothing was computed twice, but for the first one, and a last look without a derivative.
    assert rest.count == whole.info["evaluations"] - 5 + 2
    # A run that is done may go farther.
    farther = zt.control(Counted(), free(), iterations=12, resume=True, **options)
    assert farther.course.values[:9] == whole.course.values
    with pytest.raises(zt.InputError, match="resume: must continue the same run"):
        zt.control(Counted(), free((0.1, 0.5)), iterations=8, resume=True, **options)


def test_another_objective_does_not_go_on(tmp_path):
    options: dict[str, Any] = {"checkpoint": tmp_path / "kept", "iterations": 1}
    factor = 1.0

    def worth(pulse):
        return factor * jnp.sum(jnp.cos(pulse.coefficients))

    zt.control(worth, free(), **options)
    again = zt.control(worth, free(), resume=True, **options)
    assert again.info["iterations"] == 1
    factor = 1.0 + 1e-7
    with pytest.raises(zt.InputError, match="resume: must continue with the same objective, but"):
        zt.control(worth, free(), resume=True, **options)


def test_another_atom_does_not_go_on():
    """Two functions of one name, which make other models."""
    levels = [0.0, 0.3]

    def model(pulse):
        return zt.Model([zt.Matrix(np.diag(levels)), zt.DrivenMatrix(DIPOLE, pulse=pulse)])

    def objective():
        return zt.AtEnd(model, LEVELS, UP[::-1], UP, dt=0.5)

    first = [_marks(objective(), free()) for _ in range(2)]
    levels[1] = 0.31
    assert first[0] == first[1] != _marks(objective(), free())


def test_an_objective_inside_jit():
    """ψ is known there, but what jnp makes of it is not."""
    value = jax.jit(lambda c: inversion()(zt.FreeForm(c, band=(0.2, 0.4), duration=LENGTH)))
    pulse = free()
    assert float(value(pulse.coefficients)) == pytest.approx(float(inversion()(pulse)), rel=1e-9)


@pytest.mark.parametrize(
    ("given", "told"), [("a", "'a'"), (None, "None"), ([1.0, 2.0], "an array")]
)
def test_an_objective_that_gives_no_number(given, told):
    with pytest.raises(zt.InputError, match=f"objective: must give one real number, but.* {told}"):
        zt.control(lambda pulse: given, free())
    with pytest.raises(zt.InputError, match="pulse: must change the objective to first order"):
        zt.control(lambda pulse: 1, free())


def test_progress_tells_every_iteration(capsys):
    zt.control(inversion(), free(), iterations=2, progress=True)
    lines = capsys.readouterr().err.strip().splitlines()
    assert [line.split()[1] for line in lines] == ["0", "1", "2"]
    assert all("objective" in line and "fluence" in line for line in lines)


class TestRefusals:
    def refused(self, sentence, objective=None, pulse=None, **more):
        with pytest.raises(zt.InputError, match=sentence):
            zt.control(objective or inversion(), pulse or free(), **more)

    def test_of_pulses_without_parameters(self):
        self.refused("parameters: must be given, as a SineSquared offers none", pulse=guess())
        self.refused("parameters: must be given", parameters=[])
        self.refused("parameters: must be parts of the pulse, but a .* no cep", parameters=["cep"])
        self.refused("parameters: must differ", parameters=["coefficients", "coefficients"])
        self.refused("parameters: must be numbers, but axis is", parameters=["axis"])

    def test_of_objectives(self):
        self.refused("objective: must be a function of a pulse, but is 3", objective=3)
        self.refused("must give one real number, but gives an array of shape",
                     objective=lambda pulse: pulse.coefficients)  # fmt: skip
        self.refused("objective: must have a finite value at the pulse given",
                     objective=lambda pulse: jnp.log(-jnp.sum(pulse.coefficients**2)))  # fmt: skip
        quiet = zt.FreeForm(np.zeros((2, 3)), band=(0.2, 0.4), duration=40.0)
        self.refused("pulse: must change the objective to first order", pulse=quiet)

    def test_of_linear_light_that_should_turn(self):
        names = ["carrier.ellipticity"]
        self.refused("parameters: must not begin as linear light", pulse=guess(), parameters=names)

    def test_of_bounds(self):
        self.refused("fluence: must be positive, but is -1", fluence=-1)
        self.refused("bounds: must be for parameters", bounds={"carrier.cep": (0, 1)})
        self.refused("bounds: must hold the start, but", bounds={"coefficients": (5.0, 6.0)})
        self.refused("bounds: must rise, but", bounds={"coefficients": (1.0, 0.0)})
        self.refused("bounds: must be pairs", bounds={"coefficients": 1.0})
        self.refused("bounds: must lie within 0 … inf, but start has -1 … 5",
                     parameters=["start"], bounds={"start": (-1, 5)})  # fmt: skip

    def test_of_a_changing_duration(self):
        self.refused("pulse: must keep its duration", parameters=["length"])

    def test_of_targets(self):
        with pytest.raises(zt.InputError, match="target: must have the shape of the basis"):
            inversion(np.ones(3))
        with pytest.raises(zt.InputError, match="model: must be a function that makes a Model"):
            zt.AtEnd(zt.Model([zt.Matrix(GAP)]), LEVELS, UP, UP, dt=0.1)


@pytest.mark.slow
def test_a_soft_core_atom_is_excited():
    """Beyond 0.99 within 1000 atomic units of time; 400 are too few, as a second photon ionizes."""
    atom = [zt.Kinetic(), zt.SoftCoulomb(Z=1, softening=2.0), zt.ComplexAbsorber(20.0)]
    grid = zt.Grid(255, 0.4)
    still = zt.eigenstates(zt.discretize(zt.Model(atom[:2]), grid), 2)
    gap = float(still.energies[1] - still.energies[0])
    poor = zt.SineSquared(amplitude=0.005, frequency=0.95 * gap, duration=1000.0)
    pulse = zt.FreeForm.near(poor, band=(0.9 * gap, 1.1 * gap))
    objective = zt.AtEnd(
        lambda pulse: zt.Model([*atom, zt.LengthGauge(pulse)]), grid, *still.states[:2],
        dt=0.25, propagator=zt.SplitOperator(),
    )  # fmt: skip
    found = zt.control(objective, pulse, fluence=0.008, goal=0.991, iterations=40)
    assert found.course.values[0] < 0.1
    assert found.value > 0.99 and found.info["step_error"] < 1e-3
    assert found.info["fluence"] <= 0.008 * (1 + 1e-12)
