"""TOML input: what becomes which object, and what is refused with which key."""

from __future__ import annotations

import numpy as np
import pytest

import zitter as zt
from zitter import cases, config, initial
from zitter.checks import InputError
from zitter.config import document
from zitter.config.objects import classes, parameters
from zitter.plot.overviews import light
from zitter.propagators.schemes import TimeScheme
from zitter.results import Solution
from zitter.stored import Kept
from zitter.terms.trajectories import Trajectory

HEAD = """
[basis]
type = "Grid"
shape = [32, 32]
spacing = "0.2 angstrom"
particles = 2

[model]
terms = ["Kinetic", { type = "SoftCoulomb", Z = [1, 2], centers = [-1, 1], motion = "swing" },
         { type = "VelocityGauge", pulse = { type = "FieldSum", fields = ["pump", "probe"] } }]

[swing]
type = "Rigid"
amplitude = 0.5
frequency = 3

[pump]
type = "SineSquared"
intensity = "1e14 W/cm^2"
wavelength = "800 nm"
cycles = 2

[probe]
type = "Gaussian"
amplitude = 0.01
frequency = 0.5
fwhm = "1 fs"
start = "2 fs"
"""
EVOLVE = """
[evolve]
t = [0, "pump.duration + 1 fs"]
dt = "1 as"
propagator = { type = "Lanczos", order = 9, scheme = "CommutatorFree4" }
observables = ["Norm", { type = "Populations", n = 2, every = 3 }]
"""


def case(text: str) -> cases.Case:
    return cases.read(config.parse(text))


def refused(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        case(text)
    return caught.value


def light_of(case):
    """The pulse that a picture of the run would show."""
    kept = Kept({"basis": case.basis, "model": case.model})
    return light(Solution(np.zeros(1), {}, None, None, {}, {}, kept=kept))


class TestObjects:
    def test_every_value_arrives(self):
        built = case(HEAD + EVOLVE)
        assert isinstance(built.basis, zt.Grid)
        assert built.basis.shape == (32, 32)
        # 1 bohr = 0.529177210544 angstrom
        np.testing.assert_allclose(built.basis.spacing, 0.2 / 0.529177210544, rtol=1e-12)
        kinetic, nuclei, light = built.model.terms
        assert isinstance(kinetic, zt.Kinetic)
        assert isinstance(nuclei, zt.SoftCoulomb)
        assert isinstance(nuclei.motion, zt.Rigid)
        assert float(nuclei.motion.frequency) == 3.0
        assert isinstance(light, zt.VelocityGauge)
        assert isinstance(light.pulse, zt.FieldSum)
        # A section named twice is one object.
        assert light.pulse.fields[0] is built.fields["pump"]
        propagator = built.options["propagator"]
        assert isinstance(propagator, zt.Lanczos)
        assert propagator.order == 9
        assert isinstance(propagator.scheme, zt.CommutatorFree4)
        assert [type(o).__name__ for o in built.options["observables"]] == ["Norm", "Populations"]
        assert built.options["observables"][1].every == 3
        assert isinstance(built.initial, initial.Eigenstate)

    def test_the_end_of_a_pulse(self):
        built = case(HEAD + EVOLVE)
        # ω = 2πc/λ with λ = 800 nm; two cycles; 1 fs = 41.3413733 a.u.
        period = 800e-9 / 5.29177210544e-11 / 137.035999177
        np.testing.assert_allclose(built.options["t"][1], 2 * period + 41.341373335, rtol=1e-9)

    def test_the_light_of_a_picture_is_that_of_the_model(self):
        """Not the first pulse of the file: here the terms see the sum of two."""
        found = light_of(case(HEAD + EVOLVE))
        assert [type(f).__name__ for f in found.fields] == ["SineSquared", "Gaussian"]
        assert light_of(case(HEAD.split("[pump]")[0].replace(
            '{ type = "VelocityGauge", pulse = { type = "FieldSum", fields = ["pump", "probe"] } }',
            '"Repulsion"',
        ) + EVOLVE.replace("pump.duration + ", ""))) is None  # fmt: skip

    def test_files_are_relative_to_the_input(self, tmp_path):
        np.savez(tmp_path / "v.npz", potential=np.arange(8.0))
        path = tmp_path / "case.toml"
        path.write_text(
            '[basis]\ntype = "Grid"\nshape = 8\nspacing = 1\n[eigenstates]\n'
            '[model]\nterms = ["Kinetic", { type = "Potential", file = "v.npz" }]\n'
        )
        built = cases.read(config.read(path))
        potential = built.model.terms[1]
        assert isinstance(potential, zt.Potential)
        np.testing.assert_array_equal(potential.values, np.arange(8.0))

    def test_damaged_files_are_refused(self, tmp_path):
        np.savez(tmp_path / "v.npz", potential=np.arange(8.0))
        (tmp_path / "v.npz").write_bytes((tmp_path / "v.npz").read_bytes()[:-30])
        text = '[basis]\ntype = "Grid"\nshape = 8\nspacing = 1\n[eigenstates]\n[model]\n'
        for term, sentence in {
            '{ type = "Potential", file = "v.npz" }': "model.terms.1.file: must be an npz file",
            '{ type = "LengthGauge", pulse = { type = "Tabulated", file = "v.npz" } }':
                "model.terms.1.pulse",
        }.items():  # fmt: skip
            with pytest.raises(InputError, match=sentence):
                cases.read(config.parse(f'{text}terms = ["Kinetic", {term}]\n', folder=tmp_path))

    def test_public_classes_are_found_by_kind(self):
        assert {"SplitOperator", "Lanczos", "CrankNicolson"} <= classes(zt.Propagator).keys()
        assert {"Rigid", "Breathing", "TabulatedPath"} <= classes(Trajectory).keys()
        assert "Path" not in classes(Trajectory)  # it takes a function
        assert classes(TimeScheme).keys() == {"Midpoint", "CommutatorFree4"}
        assert "Propagator" not in classes(zt.Propagator)
        assert "function" not in parameters(zt.Potential)
        assert "Waveform" in classes(zt.Field)  # of its functions TOML knows the text


class TestRefusals:
    @pytest.mark.parametrize(
        ("old", "new", "key", "part"),
        [
            ('cycles = 2', 'cycles = 0', "pump.cycles", "must be positive"),
            ('cycles = 2', 'cycle = 2', "pump.cycle", 'did you mean "cycles"?'),
            ('fwhm = "1 fs"', "", "probe.fwhm", "must be given, but is missing"),
            ('fwhm = "1 fs"', 'fwhm = "1 nm"', "probe.fwhm", "must be a number in atomic units"),
            ('type = "Rigid"', 'type = "Rigit"', "swing.type", 'did you mean "Rigid"?'),
            ('"swing"', '"pump"', "model.terms.1.motion", "must be a Trajectory"),
            ('"swing"', '"swim"', "model.terms.1.motion", 'must be swing, but is "swim"'),
            ('"Kinetic"', '"Kinetics"', "model.terms.0", 'did you mean "Kinetic"?'),
            ('"Kinetic"', "7", "model.terms.0", "must be a table like"),
            ("order = 9", "order = 1", "evolve.propagator.order", "must be at least 2, but is 1"),
            ("order = 9", "order = 9.5", "evolve.propagator.order", "must be a whole number"),
            ("particles = 2", "particles = true", "basis.particles", "must be a whole number"),
            ("dt =", "dtt =", "evolve.dtt", 'did you mean "dt"?'),
            ('"pump.duration + 1 fs"', '"pump.duration + 1 nm"', "evolve.t.1", "must be a number"),
            ('"pump.duration + 1 fs"', '"swing.duration"', "evolve.t.1", "must be a Field"),
            ("every = 3", "every = -3", "evolve.observables.1.every", "must be at least 1"),
            ("[evolve]", "[evolve]\nresume = true", "evolve.resume", "must be a key of [evolve]"),
            ('type = "Grid"', "", "basis.type", "must be given: "),
        ],
    )  # fmt: skip
    def test_the_key_and_the_reason(self, old, new, key, part):
        text = HEAD + EVOLVE
        assert text.count(old) == 1
        error = refused(text.replace(old, new))
        assert error.key == key
        assert part in error.message

    def test_a_title_stands_before_what_a_run_says(self):
        assert case(f'title = "{200 * "x"}"\n' + HEAD + EVOLVE).title == 200 * "x"
        error = refused(f'title = "{201 * "x"}"\n' + HEAD + EVOLVE)
        assert error.key == "title"
        assert error.message == "must have at most 200 characters, but has 201"
        error = refused('title = "a\\n\\nerror: fake"\n' + HEAD + EVOLVE)
        assert error.key == "title" and "one line of printable characters" in error.message

    def test_sections(self):
        assert refused(HEAD).key == "evolve"
        assert refused(HEAD + EVOLVE + "[eigenstates]\n").key == "evolve"
        assert refused("[eigenstates]\n").key == "basis"
        assert "needs a type" in refused(HEAD + EVOLVE + "[extra]\na = 1\n").message
        assert refused(HEAD + EVOLVE + "colour = 3\n").key == "evolve.colour"

    def test_an_unnamed_section(self):
        more = '[spare]\ntype = "Breathing"\namplitude = 1\nfrequency = 1\n'
        assert refused(HEAD + EVOLVE + more).key == "spare"

    def test_expressions_cannot_run_code(self):
        text = (HEAD + EVOLVE).replace(
            '"Kinetic"', '{ type = "Potential", expression = "__import__(\'os\')" }'
        )
        assert refused(text).key == "model.terms.0.expression"

    @pytest.mark.parametrize(
        ("body", "key", "part"),
        [
            ('vector_potential = "exec(t)"', "pump.vector_potential", "uses 'exec'"),
            ('electric_field = 3', "pump.electric_field", "must be a function or an expression"),
            ('expression = "t"', "pump.expression", "must be a key of Waveform"),
            ("", "pump.vector_potential", "but the input has none"),
        ],
    )  # fmt: skip
    def test_waveforms(self, body, key, part):
        pump = HEAD.split("[pump]\n")[1].split("\n\n")[0]
        text = (HEAD + EVOLVE).replace(pump, f'type = "Waveform"\nduration = "5 fs"\n{body}')
        error = refused(text)
        assert error.key == key
        assert part in error.message

    def test_errors_on_the_grid_name_the_term(self):
        built = case(
            '[basis]\ntype = "Grid"\nshape = 9\nspacing = 1\n[eigenstates]\n'
            '[model]\nterms = ["Kinetic", { type = "MaskAbsorber", width = 7 }]\n'
        )
        with pytest.raises(InputError) as caught:
            built.hamiltonian()
        assert caught.value.key == "model.terms.1.width"


class TestSetting:
    def table(self, *settings: str) -> dict:
        table = document.parse(HEAD).table
        for setting in settings:
            document._apply(table, setting)
        return table

    def test_values_are_toml_or_strings(self):
        assert self.table("pump.cycles=3")["pump"]["cycles"] == 3
        assert self.table("pump.wavelength=400 nm")["pump"]["wavelength"] == "400 nm"
        assert self.table('pump.wavelength="400 nm"')["pump"]["wavelength"] == "400 nm"
        assert self.table("basis.shape=[8, 8]")["basis"]["shape"] == [8, 8]
        assert self.table("model.terms.1.Z.0=4")["model"]["terms"][1]["Z"] == [4, 2]
        assert self.table("new.deep.key=true")["new"] == {"deep": {"key": True}}

    @pytest.mark.parametrize("setting", ["pump", "=3", "model.terms.8=1", "pump.cycles.x=1"])
    def test_bad_settings(self, setting):
        with pytest.raises(InputError):
            self.table(setting)

    def test_a_table_written_out_reads_back_equal(self):
        table = document.parse(HEAD + EVOLVE + '"odd key" = ["a\\"b\\n", -1.5e-7, true]\n').table
        assert document.parse(document.dump(table)).table == table


class TestInitialStates:
    grid = zt.Grid((48, 64), 0.25)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), grid)

    def test_wave_packet(self):
        packet = initial.WavePacket(center=[0.5, -1.0], width=[0.7, 0.9], momentum=[1.0, -2.0])
        psi, _ = packet.make(self.H, 0.0)
        density = np.abs(np.asarray(psi)) ** 2 * self.grid.volume
        x, y = self.grid.coordinates()
        # The tails beyond the box (5 σ away) weigh less than 1e-5.
        assert abs(np.sum(density) - 1) < 1e-12
        assert abs(np.sum(density * x) - 0.5) < 1e-5
        assert abs(np.sum(density * (y + 1.0) ** 2) - 0.81) < 1e-5
        momentum = zt.Momentum().evaluate(self.H, psi, 0.0)
        np.testing.assert_allclose(momentum, [1.0, -2.0], atol=1e-5)

    def test_wave_packet_refusals(self):
        with pytest.raises(InputError, match="width: must be positive"):
            initial.WavePacket(width=-1)
        with pytest.raises(InputError, match=r"momentum: must have 1 or 2 value"):
            initial.WavePacket(momentum=[1, 2, 3]).on(self.grid)
        with pytest.raises(InputError, match="center: must lie on the grid"):
            initial.WavePacket(center=1e5).on(self.grid)

    def test_stored_states(self, tmp_path):
        line = zt.Grid(32, 0.4)
        H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic(1.0)]), line)
        found = zt.eigenstates(H, 2)
        found.save(tmp_path / "e.h5")
        psi, _ = initial.Stored(str(tmp_path / "e.h5"), state=1).make(H, 0.0)
        np.testing.assert_array_equal(np.asarray(psi), np.asarray(found.states[1]))
        with pytest.raises(InputError, match="state: must be at most 1, but is 2"):
            initial.Stored(str(tmp_path / "e.h5"), state=2).make(H, 0.0)
        with pytest.raises(InputError, match="file: must hold a state of the basis' shape"):
            initial.Stored(str(tmp_path / "e.h5")).make(self.H, 0.0)

    def test_moving_nuclei_start_where_they_are(self):
        """The initial state belongs to the nuclei at t₀, not to an empty box."""
        line = zt.Grid(128, 0.25)
        path = zt.ConstantVelocity(1.0)
        atom = zt.SoftCoulomb(Z=1, softening=2.0, centers=[0.0], motion=path)
        H = zt.discretize(zt.Model([zt.Kinetic(), atom]), line)
        psi, known = initial.Eigenstate().make(H, 3.0)
        # E₀ = −1/2 exactly; the box of ±16 bohr around x = 3 costs e^{−26}.
        assert abs(known["initial_energy"] + 0.5) < 1e-8
        assert abs(float(zt.Position().evaluate(H, psi, 0.0)) - 3.0) < 1e-6


SPLINES = """
atom = { type = "Model", terms = ["Kinetic", { type = "Coulomb", Z = 1 }] }
energy_max = "200 eV"
[basis.parent]
type = "SphericalBasis"
lmax = 1
radial = { type = "RadialBSplines", n = 20, degree = 5, rmax = 20.0 }
"""
LIT = """
[model]
terms = ["FieldFree", { type = "VelocityGauge", pulse = "xuv" }]
[xuv]
type = "SineSquared"
cycles = 1
frequency = 1.0
amplitude = 0.01
[evolve]
t = [0, "xuv.duration"]
dt = 0.1
"""


class TestEigenBasis:
    def text(self, source: str) -> str:
        return f'[basis]\ntype = "EigenBasis"\n{source}\n{LIT}'

    def refused(self, source: str, folder) -> str:
        with pytest.raises(InputError) as caught:
            cases.read(config.parse(self.text(source), folder=folder))
        return str(caught.value)

    def test_from_a_file_and_from_splines(self, tmp_path):
        made = case(self.text(SPLINES)).basis
        assert isinstance(made, zt.EigenBasis) and made.parent is not None
        made.save(tmp_path / "atom.h5")
        text = self.text('file = "atom.h5"')
        read = cases.read(config.parse(text, folder=tmp_path))
        assert isinstance(read.basis, zt.EigenBasis) and read.basis.sizes == made.sizes
        np.testing.assert_array_equal(np.asarray(read.basis.velocity), np.asarray(made.velocity))
        psi, known = read.initial.make(read.hamiltonian(), 0.0)
        assert known["initial_energy"] == pytest.approx(float(made.energies[0, 0]))
        assert psi.shape == made.shape

    def test_number_by_number(self):
        basis = case(self.text("energies = [[-0.5], [-0.1]]\nvelocity = [[[0.3]]]")).basis
        assert isinstance(basis, zt.EigenBasis) and basis.shape == (2, 1)

    def test_refusals(self, tmp_path):
        (tmp_path / "text.h5").write_text("no HDF5")
        for source, sentence in {
            'file = "gone.h5"': 'basis.file: must name a file, but "',
            'file = "text.h5"': "basis.file: must be a readable",
            "": "basis.file: must be given, or atom or energies instead, but none of them is given",
            'file = "a.h5"\nenergies = [[0.0]]': "instead, but file and energies are given",
            'file = "text.h5"\nstates = 3': "basis.states: must not be given together with file",
            SPLINES.split("[basis.parent]")[0]: "basis.parent: must be given with atom",
        }.items():
            message = self.refused(source, tmp_path)
            assert sentence in message and "\n" not in message
