"""Pictures: what the numbers behind them are, and that each kind of result can be drawn."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from zitter import plot
from zitter.checks import InputError
from zitter.plot.courses import drawable
from zitter.plot.densities import final_density
from zitter.plot.energies import potential
from zitter.plot.style import new_figure
from zitter.results import Eigenstates, Solution
from zitter.stored import Kept


def solution(times, observables, axes=None, final=None, states=None, basis=None) -> Solution:
    described = {name: ((), "a.u.", name) for name in observables}
    axes = {"x": np.linspace(-1, 1, 5)} if axes is None else axes
    final = np.ones([len(x) for x in axes.values()]) if final is None else final
    return Solution(
        np.asarray(times), observables, final, states, {}, axes, {}, described, {},
        kept=Kept({"basis": basis}),
    )  # fmt: skip


@pytest.fixture(scope="module")
def atom():
    grid = zt.Grid(127, 0.3)
    pulse = zt.SineSquared(intensity="1e14 W/cm^2", wavelength="400 nm", cycles=2)
    model = zt.Model([zt.Kinetic(), zt.SoftCoulomb(softening=2.0), zt.LengthGauge(pulse)])
    H = zt.discretize(model, grid)
    ground = zt.eigenstates(H.static, 3)
    run = zt.evolve(
        H, ground.states[0], (0.0, pulse.duration), 0.1, zt.SplitOperator(),
        [zt.Norm(), zt.Acceleration(), zt.Density(every=10)], 4,
    )  # fmt: skip
    return H, pulse, ground, run


class TestSpectrum:
    def test_a_pure_tone_has_its_frequency_and_strength(self):
        """∫ w(t) cos(ω₀t) e^{iω₀t} dt = T/4 for Hann's window w of mean 1/2."""
        times = np.linspace(0, 400, 4001)
        frequency = 2 * np.pi * 179 / (4 * 4001 * 0.1)  # about 0.7, one of the FFT's
        found = plot.emission(solution(times, {"acceleration": np.cos(frequency * times)}))
        peak = np.argmax(found.intensity)
        assert abs(found.order[peak] - frequency * 27.211386245981) < 1e-9  # in eV
        # What the tone's mirror image at −ω₀ leaks, ~ (2π/ω₀T)³ = 1e-5 of the amplitude.
        assert abs(found.intensity[peak] / (400 / 4) ** 2 - 1) < 1e-4

    def test_the_laser_is_subtracted(self, atom):
        _, pulse, _, run = atom
        force = np.asarray(pulse.electric_field(run.times))
        bare = solution(run.times, {"acceleration": run.observables["acceleration"] - force})
        np.testing.assert_allclose(
            plot.emission(run, pulse).intensity, plot.emission(bare).intensity, rtol=1e-9
        )

    def test_the_laser_pulls_at_both_electrons(self, atom):
        _, pulse, _, run = atom
        force = np.asarray(pulse.electric_field(run.times))
        axes = {"x1": np.arange(3.0), "x2": np.arange(3.0)}
        pair = solution(run.times, {"acceleration": 0 * force}, axes)
        one = solution(run.times, {"acceleration": 0 * force})
        ratio = plot.emission(pair, pulse).intensity / plot.emission(one, pulse).intensity
        np.testing.assert_allclose(ratio, 4.0, rtol=1e-9)

    @pytest.mark.parametrize("polarization, axis", [(None, 1), ("x", 0)])
    def test_the_laser_is_subtracted_along_its_axis(self, atom, polarization, axis):
        """In a plane a pulse without polarization acts along the last axis, y."""
        times = atom[3].times
        pulse = zt.SineSquared(amplitude=0.1, frequency=0.2, cycles=4, polarization=polarization)
        force = np.asarray(pulse.electric_field(times))
        planes = {"x": np.arange(3.0), "y": np.arange(3.0)}
        for component in (0, 1):
            vectors = np.zeros((len(times), 2))
            vectors[:, component] = np.sin(times)
            expected = np.sin(times) - (force if component == axis else 0)
            found = plot.emission(solution(times, {"acceleration": vectors}, planes), pulse)
            alone = plot.emission(solution(times, {"acceleration": expected}))
            np.testing.assert_allclose(found.intensity, alone.intensity, atol=1e-9)

    def test_it_needs_the_acceleration(self):
        with pytest.raises(InputError, match="must have held Acceleration"):
            plot.emission(solution([0, 1], {"norm": np.ones(2)}))

    def test_the_cutoff_is_marked(self, atom):
        _, pulse, ground, run = atom
        figure = plot.spectrum(run, pulse, ionization_energy=-float(ground.energies[0]))
        cutoff = (0.5 + 3.17 * float(pulse.ponderomotive_energy)) / float(pulse.frequency)
        marks = [line.get_xdata()[0] for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
        np.testing.assert_allclose(marks, [cutoff], rtol=1e-4)

    @pytest.mark.parametrize(("ellipticity", "marks"), [(0.0, 1), (0.2, 1), (0.5, 0), (-1.0, 0)])
    def test_no_cutoff_where_electrons_do_not_come_back(self, ellipticity, marks):
        times = np.linspace(0.0, 60.0, 601)
        pulse = zt.SineSquared(amplitude=0.1, frequency=0.2, cycles=2, polarization="x",
                               ellipticity=ellipticity)  # fmt: skip
        vectors = np.stack([np.sin(times), np.cos(times), 0 * times], axis=1)
        axes = {"x": np.arange(3.0), "y": np.arange(3.0), "z": np.arange(3.0)}
        figure = plot.spectrum(solution(times, {"acceleration": vectors}, axes), pulse,
                               ionization_energy=0.5)  # fmt: skip
        drawn = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
        assert len(drawn) == marks


class TestFigures:
    def test_pulse(self, atom):
        figure = plot.pulse(atom[1])
        times, drawn = figure.axes[0].lines[0].get_data()
        np.testing.assert_allclose(drawn, atom[1].electric_field(np.asarray(times)), atol=1e-12)
        assert "400 nm (3.1 eV)" in figure.axes[0].get_title()

    def test_a_field_that_turns_is_drawn_by_components(self):
        pulse = zt.SineSquared(amplitude=0.1, frequency=0.5, cycles=2, polarization="x")
        crossed = zt.SineSquared(amplitude=0.1, frequency=1.0, cycles=4, polarization="y")
        figure = plot.pulse(pulse + crossed)
        times = np.asarray(figure.axes[0].lines[0].get_xdata())
        for line, part in zip(figure.axes[0].lines, (pulse, crossed), strict=True):
            np.testing.assert_allclose(line.get_ydata(), part.electric_field(times), atol=1e-12)
        assert figure.axes[0].get_title() == "Sum of 2 pulses"

    def test_levels_stand_at_their_energies(self, atom):
        H, _, ground, _ = atom
        figure = plot.levels(H.static, ground)
        lines = figure.axes[0].lines
        np.testing.assert_array_equal(lines[0].get_ydata(), potential(H.static))
        heights = [line.get_ydata()[0] for line in lines if len(line.get_xdata()) == 2]
        np.testing.assert_allclose(heights, ground.energies)

    def test_close_levels_have_separate_labels(self):
        axes = {"x": np.linspace(-4, 4, 64)}
        states = np.exp(-(axes["x"] ** 2))[None].repeat(3, 0)
        pair = Eigenstates(np.array([1.0, 1.0001, 5.0]), states, np.zeros(3), {}, axes)
        labels = plot.levels(None, pair).axes[0].texts
        heights = [label.get_position()[1] for label in labels]
        assert heights[1] - heights[0] > 0.1

    def test_levels_in_a_plane(self):
        grid = zt.Grid((20, 24), 0.5)
        H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), grid)
        figure = plot.levels(H, zt.eigenstates(H, 4))
        assert len(figure.axes) == 5  # four densities and the level diagram

    def test_overview_draws_what_there_is(self, atom, tmp_path):
        H, pulse, ground, run = atom
        titles = {ax.get_title() for ax in plot.overview(run, pulse).axes}
        assert {"Emitted light", "Probability density"} <= titles
        path = plot.save(plot.overview(ground, H=H.static), tmp_path / "deep" / "levels.pdf")
        assert path.read_bytes().startswith(b"%PDF")

    def test_observables(self, atom):
        run = atom[3]
        assert drawable(run) == ["acceleration", "norm"]
        figure = plot.observables(run)
        np.testing.assert_array_equal(
            figure.axes[0].lines[0].get_ydata(), run.observables["acceleration"]
        )
        with pytest.raises(InputError, match=r'must be of .*, but has "charm"'):
            plot.observables(run, ["charm"])

    def test_density_and_animation_from_saved_states(self, tmp_path):
        from PIL import Image

        x = np.linspace(-3, 3, 40)
        states = np.stack([np.exp(-((x - t) ** 2)) for t in (0.0, 0.5, 1.0)]).astype(complex)
        grid = zt.Grid(40, 6 / 39)
        run = solution([0.0, 1.0, 2.0], {}, {"x": x}, states[-1], states, grid)
        mesh = plot.density(run).axes[0].collections[0]
        np.testing.assert_allclose(mesh.get_array(), (np.abs(states) ** 2).T)
        path = plot.animate(run, tmp_path / "film.gif", potential=lambda t: 0.5 * (x - t) ** 2)
        with Image.open(path) as film:
            assert film.n_frames == 3
        with pytest.raises(InputError, match=r"must end in \.gif"):
            plot.animate(run, tmp_path / "film.mp4")

    def test_two_dimensions(self, tmp_path):
        x, y = np.linspace(-3, 3, 20), np.linspace(-2, 2, 24)
        psi = np.exp(-(x[:, None] ** 2) - y**2).astype(complex)
        grid = zt.Grid((20, 24), (6 / 19, 4 / 23))
        run = solution([0.0, 1.0], {}, {"x": x, "y": y}, psi, np.stack([psi, 1j * psi]), grid)
        assert len([ax for ax in plot.density(run).axes if ax.get_visible()]) == 3  # 2, colour bar
        drawn = final_density(run).axes[0].collections[0].get_array()
        np.testing.assert_allclose(drawn, (np.abs(psi) ** 2).T)
        assert plot.animate(run, tmp_path / "plane.gif").exists()
        assert plot.overview(run).axes[0].get_title().startswith("Probability density at t")

    def test_density_must_be_there(self):
        with pytest.raises(InputError, match="must have held Density"):
            plot.density(solution([0, 1], {}))

    @pytest.mark.parametrize(
        ("basis", "model", "title"),
        [
            (zt.Grid(24, 0.5), [zt.Kinetic(), zt.Harmonic()], "Probability density at t"),
            (zt.Grid((9, 9, 9), 0.8), [zt.Kinetic(), zt.Harmonic()], "Probability density at t"),
            (
                zt.SphericalBasis(zt.RadialBSplines(20, 5, 20.0), 1),
                [zt.Kinetic(), zt.Coulomb()],
                "Radial density at t",
            ),
            (zt.Levels(2), [zt.Matrix([[0.0, 0.1], [0.1, 1.0]])], "Populations at t"),
        ],
    )
    def test_a_run_without_observables_shows_its_last_state(self, basis, model, title, tmp_path):
        """As saved from Python, and drawn from the file alone."""
        H = zt.discretize(zt.Model(model), basis)
        start = zt.eigenstates(H, 1).states[0]
        zt.evolve(H, start, (0.0, 0.02), 0.01).save(tmp_path / "run.h5")
        figure = plot.overview(zt.load(tmp_path / "run.h5"))
        assert figure.axes[0].get_title().startswith(title)

    def test_the_pulse_comes_from_the_model_even_where_a_part_of_it_is_lost(self, atom, tmp_path):
        _, pulse, ground, _ = atom
        own = zt.Potential(lambda x: 0.1 * x**2)
        H = zt.discretize(zt.Model([zt.Kinetic(), own, zt.LengthGauge(pulse)]), zt.Grid(127, 0.3))
        run = zt.evolve(H, ground.states[0], (0.0, 0.2), 0.1, zt.SplitOperator(), [zt.Dipole()])
        run.save(tmp_path / "run.h5")
        again = zt.load(tmp_path / "run.h5")
        assert again.model is None and "Python function" in again.missing["model"]
        for result in (run, again):
            assert "400 nm" in plot.overview(result).axes[0].get_title()

    def test_convergence(self):
        figure = plot.convergence({"a": ([3, 1, 2], [1e-3, 1e-1, 1e-2]), "b": ([1, 2], [0.0, 0.1])})
        first, second = figure.axes[0].lines
        np.testing.assert_array_equal(first.get_xdata(), [1, 2, 3])
        np.testing.assert_array_equal(second.get_ydata(), [0.1])  # zero has no logarithm

    def test_unknown_file_types(self, tmp_path):
        with pytest.raises(InputError, match="must end in one of"):
            plot.save(new_figure(), tmp_path / "x.doc")
        assert list(tmp_path.iterdir()) == []
