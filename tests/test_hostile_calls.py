"""What Python's caller may get wrong: one sentence, the same as from a file."""

# What is wrong here is meant to be.
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
from __future__ import annotations

import math
import re
import warnings
from functools import partial

import numpy as np
import pytest

import zitter as zt
from zitter import cli


@pytest.fixture(scope="module")
def H():
    return zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid(31, 0.5))


class Blind(zt.Taylor):
    """Does not see that its step is too long."""

    def prepare(self, H, t, dt):
        return self


class Pole(zt.Term):
    """1/x, on a grid that has a point at zero."""

    def discretize(self, basis):
        with np.errstate(divide="ignore"):
            return [basis.multiply(1 / basis.places().values[0])]


def gas():
    return zt.qmc.SlaterJastrow(zt.qmc.ElectronGas(2, rs=2.0), jastrow=[zt.qmc.U(order=2)])


def kept_states(H, checkpoint, **options):
    zt.eigenstates(H, solver=zt.Direct(), checkpoint=checkpoint, **options)


def kept_rounds(H, checkpoint, **options):
    zt.eigenstates(H, solver=zt.LOBPCG(), checkpoint=checkpoint, **options)


def kept_evolution(H, checkpoint, **options):
    zt.evolve(H, np.ones(31), (0, 1), 0.1, checkpoint=checkpoint, **options)


def kept_walk(H, checkpoint, **options):
    zt.qmc.vmc(gas(), checkpoint=checkpoint, **options)


def kept_diffusion(H, checkpoint, **options):
    zt.qmc.dmc(gas(), 0.1, checkpoint=checkpoint, **options)


def kept_optimization(H, checkpoint, **options):
    zt.qmc.optimize(gas(), checkpoint=checkpoint, **options)


RUNS = (
    kept_states, kept_rounds, kept_evolution, kept_walk, kept_diffusion, kept_optimization
)  # fmt: skip
ROUNDS = f"must be at most {2**31 - 1}, but is 1000000000000"
SEED = f"must be at most {2**62}"
PULSE = zt.SineSquared(cycles=1, frequency=0.5, amplitude=0.01)
SAME = zt.SineSquared(cycles=1, frequency=0.1 + 0.2 + 0.2, amplitude=0.1 * 0.1)  # to rounding
OTHER = zt.SineSquared(cycles=2, frequency=0.5, amplitude=0.01)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda H: zt.evolve(H, None, (0, 1), 0.1), "psi0: must be an array .* but is None"),
        (lambda H: zt.evolve(H, "x", (0, 1), 0.1), "psi0: must be an array of coeff.* but is 'x'"),
        (
            lambda H: zt.evolve(H, zt.eigenstates(H, 1), (0, 1), 0.1),
            r"psi0: .* but is an Eigenstates: take one of its states, such as .states\[0\]",
        ),
        (
            lambda H: zt.evolve(H, np.ones(31), (0, 1), 0.1, observables=zt.Norm()),
            "observables: must be a list of Observables, but is Norm",
        ),
        (
            lambda H: zt.evolve(H, np.ones(31), (0, 1), 0.1, observables=None),
            "observables: must be a list of Observables, but is None",
        ),
        (lambda H: zt.evolve(H, np.ones(31), (0, 1), 1e-300), "dt: must give at most 1e.12 steps"),
        (lambda H: zt.eigenstates(H, solver=zt.LOBPCG), "solver: .* but is the class LOBPCG"),
        (lambda H: zt.Model(None), "terms: must be a list of Terms, but is None"),
        (lambda H: zt.Model(zt.Kinetic()), "terms: must be a list of Terms, but is "),
        (lambda H: zt.Grid(10**12, 0.1), "shape: must fit the device's .* needs at least 7.28 T"),
        (lambda H: zt.Levels(10**9), "n: must fit the device's "),
        (lambda H: zt.SoftCoulomb(centers=[]), "centers: must hold at least one place"),
        (
            lambda H: zt.evolve(
                H, np.ones(31), (0, 1), 0.1, observables=[zt.InstantaneousPopulations(10**12)]
            ),
            "observables.0.n: must be at most 31, but is 1000000000000",
        ),
        (
            lambda H: zt.RadialBSplines(20, 7, 5e-324),
            "rmax: must leave 16 breakpoints apart, but is 4.94066e-324",
        ),
        (
            lambda H: zt.RadialBSplines(20, 7, 10.0, "graded", first=1e-300),
            "first: must be a length from which steps can grow to rmax, but is 1e-300",
        ),
        (
            lambda H: zt.LengthGauge(zt.Kinetic(mass=np.float64(2.0))),
            "pulse: must be a Field, but is a Kinetic",
        ),
        (
            lambda H: zt.evolve(H, np.ones(31), (0, 1), 0.1, observabels=[zt.Norm()]),
            r'observabels: must be a keyword of evolve \(H, .* none; did you mean "observables"',
        ),
        (lambda H: zt.eigenstates(H, slover=zt.Direct()), '.* did you mean "solver"'),
        (lambda H: zt.configure(precison="single"), '.* did you mean "precision"'),
        (lambda H: zt.qmc.vmc(None, walker=3), '.* did you mean "walkers"'),
        (lambda H: zt.qmc.dmc(None, time_step=0.1), '.* did you mean "timestep"'),
        (lambda H: zt.qmc.optimize(None, metod=None), '.* did you mean "method"'),
        (
            lambda H: zt.Grid(spacing=0.1, shapee=3),
            r'shapee: must be a keyword of Grid \(shape, .*\), but is none; did you mean "shape"',
        ),
        (lambda H: zt.qmc.reblock([1.0], weihgts=None), '.* did you mean "weights"'),
        (lambda H: zt.fluence(pulsee=3), '.* did you mean "pulse"'),
        (lambda H: zt.SineSquared(amplitud=1.0), '.* did you mean "amplitude"'),
        (lambda H: zt.qmc.ElectronGas(14, rs=1.0, dimensions=2), '.* did you mean "dimension"'),
        (lambda H: zt.qmc.vmc(gas(), seed=10**30), f"seed: {SEED}, but is 1{30 * '0'}"),
        (lambda H: zt.qmc.dmc(gas(), timestep=0.1, seed=-1), "seed: must be at least 0, but is -1"),
        (lambda H: zt.qmc.optimize(gas(), seed=10**9999), f"seed: {SEED}, but is about 1e9999"),
        (lambda H: zt.Grid((8, 8), [0.1, 0.1, 0.1]), "spacing: must have 1 or 2 values, one for "),
        (lambda H: zt.Grid(8, [0.1, 0.1]), "spacing: must have 1 value, but has 2"),
        (lambda H: zt.Grid(8, 1e-200), "spacing: must be at least 1e-30, but is 1e-200"),
        (lambda H: zt.Grid(8, 1e200), "spacing: must be at most 1e.30, but is 1e200"),
        (lambda H: zt.Harmonic([]), r"frequency: must be a number or one .*, but is \[\]"),
        (lambda H: zt.eigenstates(H).save("."), 'path: must name a file, but "." is a folder'),
        (
            lambda H: zt.evolve(H, np.ones(31), (0, 1), 0.1, resume=True),
            "resume: must go with the checkpoint to resume, but checkpoint is None",
        ),
        (lambda H: zt.qmc.vmc(gas(), resume=True), "resume: must go with the checkpoint"),
        (lambda H: zt.qmc.optimize(gas(), resume=True), "resume: must go with the checkpoint"),
        (lambda H: zt.eigenstates(H, resume=True), "resume: must go with the checkpoint"),
        (
            lambda H: zt.evolve(H, np.ones(31), (0, 1), 0.1, checkpoint=7),
            "checkpoint: must be a text or path, but is 7",
        ),
        (lambda H: zt.spectra.coulomb_phase(1, 0, 1), "energy: must be positive"),
        (lambda H: zt.spectra.coulomb_phase(-1, 1.0), "l: must not be negative"),
        (lambda H: zt.spectra.cutoff_energy(np.nan, 1), "ionization_energy: must be finite"),
        (lambda H: zt.plot.convergence({"a": [1, 2, 3]}), ".*'a'.: must be .costs, errors., but"),
        (
            lambda H: zt.plot.convergence({"a": ([1, 2], [1])}),
            ".*'a'.: must have as many errors as costs, but has 1 and 2",
        ),
        (lambda H: zt.scan(lambda x: x, x=[1, [2]]), "x: must be a list of at least one value"),
        (
            lambda H: zt.discretize(
                zt.Model([zt.Kinetic(mass=2.0), zt.Coulomb(Z=1)]), zt.Grid((20, 20), 0.2)
            ),
            r"terms\[1\].mass: must be that of the kinetic energy, 2, .* but is 1",
        ),
        (
            lambda H: zt.discretize(
                zt.Model([zt.Kinetic(), zt.LengthGauge(PULSE), zt.VelocityGauge(SAME)]), H.basis
            ),
            r"terms\[2\]: must not couple light that is there already",
        ),
        (
            lambda H: zt.discretize(
                zt.Model([zt.Kinetic(), zt.SoftCoulomb(Z=1), zt.SoftCoulomb(Z=[1])]), H.basis
            ),
            r"terms\[2\]: must differ from those before it",
        ),
        (lambda H: zt.load(3), "file: must be a text or path, but is 3"),
        (lambda H: zt.load(None), "file: must be a text or path, but is None"),
        (lambda H: zt.eigenstates(H).save(3), "path: must be a text or path, but is 3"),
        (lambda H: zt.qmc.reblock("a"), "series: must be a list of numbers, but is 'a'"),
        (lambda H: zt.fluence(3), "pulse: must be a Field, but is 3"),
        (lambda H: zt.plot.save(3, "x.png"), "figure: must be a Figure, but is 3"),
        (lambda H: zt.RadialBSplines(10**9), "n: must be at most 100000, but is 1000000000"),
        (
            lambda H: zt.Populations(zt.eigenstates(H, 2)),
            "states: must be an array of coefficients, but is an Eigenstates: take its .states",
        ),
        (lambda H: zt.Populations("x"), "states: must be an array of coefficients, but is 'x'"),
        (lambda H: zt.Populations({"a": 1}), "states: .* but is a table"),
        *(
            (lambda H, run=run: run(H, "/dev/null/x"), "checkpoint: must lie in a folder, but .*ll")
            for run in RUNS
        ),
        *(
            (lambda H, run=run: run(H, "x" * 5000), "checkpoint: must be a path of at most 4095 by")
            for run in RUNS
        ),
        *(
            (lambda H, run=run: run(H, "a\0b"), "checkpoint: must be a name for a file or folder")
            for run in RUNS
        ),
        (lambda H: kept_evolution(H, "\ud800"), "checkpoint: must be a name for a file or folder"),
        *(
            (
                lambda H, run=run: run(H, "misspelt", resume=True),
                "resume: must find the checkpoint to resume, but there is no 'misspelt'",
            )
            for run in RUNS[1:]
        ),
        (lambda H: zt.eigenstates(H).save("/dev/null/x"), "path: must lie in a folder, but .*null"),
        (lambda H: zt.eigenstates(H).save("a\0b"), "path: must be a name for a file or folder"),
        (
            lambda H: zt.eigenstates(H, solver=zt.Direct(), checkpoint=5),
            "checkpoint: must be a text or path, but is 5",
        ),
        (lambda H: kept_evolution(H, "x", checkpoint_every=-1), "checkpoint_every: must not be"),
        (lambda H: kept_evolution(H, None, progress=3), "progress: must be true or false, but is"),
        (lambda H: zt.channel_states(None), "H: must be a Hamiltonian, but is None"),
        (lambda H: zt.eigenbasis(None), "H: must be a Hamiltonian, but is None"),
        (lambda H: zt.read_cube(None), "file: must be a text or path, but is None"),
        (lambda H: zt.read_eigenbasis(None), "file: must be a text or path, but is None"),
        (
            lambda H: zt.energy_errors(H.model, H.basis, np.ones(31)),
            "eig: must be an Eigenstates, but is ",
        ),
        (
            lambda H: zt.energy_errors(H.model, H.basis, zt.eigenstates(H), "x"),
            "solver: must be an Eigensolver, but is 'x'",
        ),
        (
            lambda H: zt.discretize(
                zt.Model([zt.Kinetic(), zt.Potential(lambda x: None)]), H.basis
            ),
            "function: must return the potential's values, but returns nothing",
        ),
        (lambda H: zt.qmc.vmc(gas(), stride=10**12), f"stride: {ROUNDS}"),
        (lambda H: zt.qmc.vmc(gas(), equilibration=10**12), f"equilibration: {ROUNDS}"),
        (lambda H: zt.qmc.dmc(gas(), 0.1, steps=10**12), f"steps: {ROUNDS}"),
        (lambda H: zt.qmc.dmc(gas(), 0.1, equilibration=10**12), f"equilibration: {ROUNDS}"),
        (lambda H: zt.qmc.optimize(gas(), stride=10**12), f"stride: {ROUNDS}"),
        (lambda H: zt.qmc.ElectronGas(2, 1e-300), "rs: must be between 1e-6 and 1e6, but is 1e-3"),
        (lambda H: zt.qmc.ElectronGas(2, 1e300), "rs: must be between 1e-6 and 1e6, but is 1e300"),
        (lambda H: zt.Model("Kinetic"), "terms: must be a list of Terms, but is 'Kinetic'"),
        (lambda H: zt.ProlateSpheroidal(2.0, eta=20000), "eta: .* at most 2048 .* but is 20000"),
        (lambda H: zt.ProlateSpheroidal(1e4), "R: must have at most 2048 .* but needs 12010"),
        (lambda H: zt.scan(None, x=[1.0]), "run: must be a function, but is None"),
        (lambda H: zt.FieldSum(3), "fields: must be a list of Fields, but is 3"),
        (
            lambda H: zt.FieldSum([PULSE, OTHER, PULSE]),
            "fields.2: must differ from those before it, but is fields.0 once more: factors make a",
        ),
        (lambda H: zt.spectra.amplitudes(None, None, None), "atom: must be a Hamiltonian, but is"),
        (lambda H: zt.spectra.cutoff_energy(None, 1.0), "ionization_energy: must be a number, but"),
        (lambda H: zt.spectra.cutoff_energy(1.0, ponderomotive=2), '.* "ponderomotive_energy"'),
        (lambda H: zt.plot.pulse(None), "field: must be a Field, but is None"),
        (lambda H: zt.plot.spectrum(None), "solution: must be a Solution, but is None"),
        (lambda H: zt.plot.density(None), "solution: must be a Solution, but is None"),
        (lambda H: zt.plot.pulse(PULSE, titel="x"), '.* did you mean "title"'),
        (lambda H: zt.plot.pulse(PULSE, ax=3), "ax: must be an Axes, but is 3"),
        (lambda H: gas().load_parameters(None), "path: must be a text or path, but is None"),
        (lambda H: gas().save_parameters(None), "path: must be a text or path, but is None"),
        (lambda H: gas().with_parameters(None), "vector: must be an array of numbers, but is None"),
        (lambda H: gas().with_parameters(np.ones(99)), r"vector: must have shape .* \(99\)"),
        (lambda H: zt.Eigenstate().on(None), "H: must be a Hamiltonian, but is None"),
        (lambda H: zt.WavePacket().on(None), "basis: must be a Basis, but is None"),
        (lambda H: zt.qmc.reblock([1.0, np.nan]), "series: must be finite everywhere, but is not"),
        (lambda H: zt.qmc.reblock([1.0, 2.0], [1.0, np.inf]), "weights: must be finite everywhere"),
        (lambda H: zt.units.to_ev(None), "energy: must be a number, but is None"),
        (lambda H: zt.VelocityGauge(PULSE, mass=1e-300), "mass: must be between 1e-30 and 1e"),
        (lambda H: zt.Model(zt.Kinetic(), zt.SoftCoulomb()), "terms: must be a list of Terms, but"),
        (
            lambda H: zt.qmc.Electrons((1, 1), zt.qmc.Nucleus(1, [0, 0, 0])),
            "nuclei: must be a list of Nucleus objects, but is ",
        ),
        (lambda H: H.at("a"), "t: must be a number in atomic units or a string like .*, but is .a"),
        (lambda H: H.at(np.ones(3)), "t: must be one number, but is "),
        *(
            (lambda H, m=m, term=term: term(mass=m), "mass: must be between 1e-30 and 1e.30 elect")
            for term in (zt.Kinetic, partial(zt.Harmonic, 1.0))
            for m in (1e-300, 1e300)
        ),
        *(
            (lambda H, psi=psi: zt.evolve(H, psi, (0, 1), 0.1), f"psi0: must have .* too {size}")
            for psi, size in (
                (np.full(31, 1e-200), "small"),
                (np.full(31, 1e200), "large"),
                (np.full(31, 1e-30, np.complex64), "small"),
            )
        ),
        (
            lambda H: zt.evolve(H, np.full(31, None), (0, 1), 0.1),
            "psi0: must be an array of coefficients, but is an array of Python objects",
        ),
        (
            lambda H: zt.Potential(array=np.full(31, None)),
            "array: must be an array of numbers, but holds Python objects",
        ),
        (lambda H: zt.Matrix(np.full((2, 2), None)), "matrix: .* but holds Python objects"),
        (lambda H: zt.Populations(np.full((2, 31), "x")), "states: .* but is an array of text"),
    ],
)  # fmt: skip
def test_refused(H, call, sentence):
    with pytest.raises(zt.InputError, match=f"^{sentence}"):
        call(H)


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        *(
            ([zt.Kinetic(), zt.SoftCoulomb(), second], r"terms\[2\]: must differ .* same particles")
            for second in (zt.Kinetic(), zt.Kinetic(order=8), zt.Kinetic(mass=2.0))
        ),
        (
            [zt.Kinetic(), zt.SoftCoulomb(), zt.SoftCoulomb()],
            r"terms\[2\]: must differ .* the same SoftCoulomb as terms\[1\]",
        ),
        (
            [zt.Kinetic(), zt.LengthGauge(PULSE), zt.VelocityGauge(PULSE)],
            r"terms\[2\]: must not couple light that is there already",
        ),
        (
            [zt.Kinetic(), zt.LengthGauge(PULSE + OTHER), zt.VelocityGauge(PULSE)],
            r"terms\[2\]: must not couple light that .* a pulse of LengthGauge: one gauge",
        ),
        (
            [zt.Kinetic(), zt.LengthGauge(OTHER), zt.LengthGauge(PULSE + OTHER)],
            r"terms\[2\]: must not couple light that .* a pulse of LengthGauge: once is enough",
        ),
        (
            [zt.Kinetic(), Pole()],
            r"terms\[1\]: must be finite on the basis, but Pole is not at 1 place",
        ),
    ],
)
def test_models_that_nobody_means_are_refused(terms, sentence):
    with pytest.raises(zt.InputError, match=sentence):
        zt.discretize(zt.Model(terms), zt.Grid(31, 0.5))


def test_terms_that_differ_in_a_number_are_two():
    wells = [zt.SoftCoulomb(centers=[-1.0]), zt.SoftCoulomb(centers=[1.0])]
    light = [zt.LengthGauge(PULSE), zt.VelocityGauge(OTHER)]  # two pulses, each in its gauge
    zt.discretize(zt.Model([zt.Kinetic(), *wells, *light]), zt.Grid(31, 0.5))


def test_two_equal_pulses_may_come_at_once():
    """Pump and probe without a delay; one pulse as often as it is written."""
    probe = zt.SineSquared(cycles=1, frequency=0.5, amplitude=0.01)
    for light in (zt.FieldSum([PULSE, probe]), PULSE + PULSE, zt.FieldSum([PULSE] * 2, [1, 0.5])):
        zt.discretize(zt.Model([zt.Kinetic(), zt.LengthGauge(light)]), zt.Grid(31, 0.5))


def test_nothing_moves_without_kinetic_energy():
    H = zt.discretize(zt.Model([zt.SoftCoulomb()]), zt.Grid(31, 0.5))
    with pytest.warns(UserWarning, match="no kinetic energy"):
        zt.eigenstates(H, 1, solver=zt.Direct())


def test_the_length_gauge_is_warned_of_where_space_closes():
    model = zt.Model([zt.Kinetic(), zt.SoftCoulomb(), zt.LengthGauge(PULSE)])
    with pytest.warns(UserWarning, match="jumps where a periodic basis closes"):
        zt.discretize(model, zt.Grid(32, 0.5, "periodic"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zt.discretize(model, zt.Grid(31, 0.5))


def test_a_first_moment_where_light_is_not_finite(H):
    model = zt.Model([zt.Kinetic(), zt.Potential(expression="x/t")])
    moving = zt.discretize(model, zt.Grid(31, 0.5))
    with pytest.raises(zt.InputError, match="t: must begin where H is finite, but at 0 it is not"):
        zt.evolve(moving, np.ones(31), (0, 1), 0.1)


@pytest.mark.parametrize(
    ("expression", "dt", "when"), [("x*sqrt(1.1-t)", 0.25, "1.125"), ("x/(0.75-t)", 0.5, "0.75")]
)
def test_an_end_that_h_itself_has_is_told(expression, dt, when):
    """Not laid to the steps: a smaller dt would not help. One is at a moment alone, which is the
    middle of a step."""
    terms = [zt.Kinetic(), zt.Potential(expression=expression)]
    moving = zt.discretize(zt.Model(terms), zt.Grid(31, 0.5))
    sentence = f"infinite or NaN before t = .*, as H is at t = {when}: give a potential and light"
    with pytest.raises(zt.RunError, match=sentence):
        zt.evolve(moving, np.ones(31), (0, 2), dt, zt.Lanczos())


def test_an_end_that_the_steps_have_is_laid_to_them():
    """Powers of a step a thousand times too long are beyond the largest number."""
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid(31, 0.01))
    with pytest.raises(zt.RunError, match=r"infinite or NaN before t = .*: take a smaller dt"):
        zt.evolve(H, np.ones(31), (0, 40), 1.0, Blind(), save_every=40)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x > 0 else -x,
        lambda x, t: x if t > 0.5 else 0 * x,
        lambda x, t: x * np.sin(t),
        lambda x: math.exp(x),
    ],
)
def test_functions_that_jax_cannot_follow(function):
    with pytest.raises(zt.InputError, match=r"function: must be made of jax.numpy.* jnp.where"):
        terms = [zt.Kinetic(), zt.SoftCoulomb(), zt.Potential(function)]
        zt.evolve(zt.discretize(zt.Model(terms), zt.Grid(31, 0.5)), np.ones(31), (0, 1), 0.1)


def test_times_of_what_was_not_measured(H):
    run = zt.evolve(H, np.ones(31), (0, 0.1), 0.1, observables=[zt.Norm()])
    assert len(run.times_of("norm")) == 2
    with pytest.raises(zt.InputError, match=r'name: .* this run \(norm\), .* did you mean "norm"'):
        run.times_of("nrom")


# Single, double, half, long and whole numbers, and those of machines with the other byte order.
@pytest.mark.parametrize("kind", [">f8", ">f4", ">c16", "f2", "g", "G", ">i4", "f4"])
def test_numbers_of_any_kind_are_taken(H, kind, tmp_path):
    values = np.eye(3).astype(kind)
    levels = zt.discretize(zt.Model([zt.Matrix(values)]), zt.Levels(3))
    kept = zt.Populations(values)
    run = zt.evolve(levels, values[0], (0, 1), 0.5, observables=[kept])
    np.testing.assert_allclose(np.abs(run.final), [1, 0, 0], atol=1e-6)  # in single precision
    np.testing.assert_allclose(run.observables["populations"][-1], [1, 0, 0], atol=1e-6)
    potential = np.arange(31).astype(kind)
    np.save(tmp_path / "v.npy", potential)
    for term in (zt.Potential(array=potential), zt.Potential(file=str(tmp_path / "v.npy"))):
        made = zt.discretize(zt.Model([zt.Kinetic(), term]), H.basis)
        without = zt.discretize(zt.Model([zt.Kinetic()]), H.basis)
        diagonal = np.diag(np.asarray(made.as_matrix()) - np.asarray(without.as_matrix()))
        np.testing.assert_allclose(diagonal, np.arange(31), atol=1e-5)


CASE = """
[basis]
type = "Grid"
shape = 31
spacing = 0.5
[model]
terms = ["Kinetic", { type = "SoftCoulomb" }]
[initial]
type = "Stored"
file = "start.h5"
[evolve]
t = [0, 1]
dt = 0.1
"""


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (None, "initial.file: must exist"),
        (np.zeros(31), "initial.file: must hold a state, but that of .* vanishes"),
        (np.full(31, 1e-200), "initial.file: must have a norm that can be squared, but it is too"),
        (np.ones(7), r"initial.file: must hold a state of the basis' shape \(31,\)"),
    ],
)
def test_a_stored_state_is_checked_by_a_dry_run(H, values, sentence, tmp_path, capsys):
    (tmp_path / "case.toml").write_text(CASE)
    if values is not None:
        ground = zt.eigenstates(H, 1, solver=zt.Direct())
        zt.results.Eigenstates(
            ground.energies,
            values[None],
            ground.residuals,
            ground.info,
            {"x": np.arange(len(values))},
        ).save(tmp_path / "start.h5")
    out = tmp_path / "out"
    command = ["run", str(tmp_path / "case.toml"), "--dry-run", "--out", str(out)]
    assert cli.status(command) == 2
    assert re.search(sentence, capsys.readouterr().err)
    assert not out.exists()


def test_a_checkpoint_that_no_disk_takes_is_told_in_a_sentence(H):
    with pytest.raises(zt.RunError, match=r"the run cannot begin: cannot write /proc/\S+: No"):
        kept_evolution(H, "/proc/none/x")


def test_a_nucleus_that_no_number_of_points_resolves_is_told():
    basis = zt.ProlateSpheroidal(R=2.0, rmax=10, eta=8)
    with pytest.warns(zt.spectra.ConvergenceWarning, match="eta beyond 2048, or a smaller"):
        zt.discretize(
            zt.Model([zt.Kinetic(), zt.Coulomb(Z=[1e12, 1.0], centers=[[0, 0, -1], [0, 0, 1]])]),
            basis,
        )


def test_errors_of_a_function_that_was_given_stay_its_own(H):
    def run(x):
        raise TypeError("my own")

    with pytest.raises(TypeError, match="my own"):
        zt.scan(run, x=[1.0])

    class Own(zt.Taylor):
        def prepare(self, H, t, dt):
            raise ValueError("my own")

    psi = np.eye(1, H.basis.size)[0].reshape(H.basis.shape)
    for more in ({"observables": []}, {"save_states": np.False_}):
        with pytest.raises(ValueError, match="my own"):
            zt.evolve(H, psi, (0.0, 1.0), 0.1, Own(4), **more)
