"""The command line: results, refusals, and runs that are stopped and resumed."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zitter as zt
from command_line import zitter
from zitter import cases, cli, config, io, runtime

CASE = """
title = "a small atom in a short pulse"

[basis]
type = "Grid"
shape = 127
spacing = 0.4

[model]
terms = [
  { type = "Kinetic" },
  { type = "SoftCoulomb", Z = 1, softening = 2.0 },
  { type = "LengthGauge", pulse = "laser" },
  { type = "MaskAbsorber", width = 5 },
]

[laser]
type = "SineSquared"
intensity = "1e14 W/cm^2"
wavelength = "400 nm"
cycles = 2

[evolve]
t = [0, "laser.duration"]
dt = 0.1
propagator = { type = "SplitOperator" }
observables = ["Norm", "Dipole", { type = "Density", every = 40 }]
save_every = 3
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "atom.toml"
    path.write_text(CASE, encoding="utf-8")
    return path


def same_numbers(one: Path, other: Path) -> None:
    """Every array of two results agrees bit for bit."""
    a, b = io.read(one / "result.h5").variables, io.read(other / "result.h5").variables
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].data.tobytes() == b[name].data.tobytes(), name


class TestRun:
    def test_result_log_and_json(self, case, tmp_path, capsys):
        out = tmp_path / "out"
        code, stdout, _ = zitter(capsys, "run", case, "--out", out, "--json")
        assert code == 0
        told = json.loads(stdout.strip().splitlines()[-1])
        assert sorted(p.name for p in out.iterdir()) == ["log.txt", "result.h5"]
        solution = zt.load(out)
        assert isinstance(solution, zt.Solution)
        assert told["final"]["norm"] == solution.observables["norm"][-1]
        # The atom with a = 2 has E = −1/2 exactly; the grid's error is far below this.
        assert abs(told["info"]["initial_energy"] + 0.5) < 1e-6
        assert told["errors"]["initial_residual"] < 1e-10
        assert solution.input == CASE
        assert "wall_seconds" in solution.info

    def test_matches_the_python_objects(self, case, tmp_path, capsys):
        """The file and the same calls in Python are the same calculation."""
        out = tmp_path / "out"
        assert zitter(capsys, "run", case, "--out", out, "--quiet")[0] == 0
        pulse = zt.SineSquared(intensity="1e14 W/cm^2", wavelength="400 nm", cycles=2)
        terms = [zt.Kinetic(), zt.SoftCoulomb(Z=1, softening=2.0), zt.LengthGauge(pulse)]
        H = zt.discretize(zt.Model([*terms, zt.MaskAbsorber(width=5)]), zt.Grid(127, 0.4))
        ground = zt.eigenstates(H.static, 1)
        direct = zt.evolve(
            H, ground.states[0], (0.0, pulse.duration), 0.1, zt.SplitOperator(),
            [zt.Norm(), zt.Dipole(), zt.Density(every=40)], 3,
        )  # fmt: skip
        solution = zt.load(out)
        assert isinstance(solution, zt.Solution)
        for name in ("norm", "dipole", "density"):
            np.testing.assert_array_equal(solution.observables[name], direct.observables[name])

    def test_set_changes_the_input_that_is_kept(self, case, tmp_path, capsys):
        out = tmp_path / "out"
        arguments = ("--set", "laser.cycles=1", "--set", "model.terms.1.Z=1.1")
        assert zitter(capsys, "run", case, "--out", out, "--quiet", *arguments)[0] == 0
        solution = zt.load(out)
        again = tmp_path / "again.toml"
        again.write_text(solution.input, encoding="utf-8")
        assert zitter(capsys, "run", again, "--out", tmp_path / "b", "--quiet")[0] == 0
        same_numbers(out, tmp_path / "b")

    def test_eigenstates(self, tmp_path, capsys):
        path = tmp_path / "levels.toml"
        path.write_text(
            '[basis]\ntype = "Grid"\nshape = 63\nspacing = 0.25\n'
            '[model]\nterms = ["Kinetic", "Harmonic"]\n[eigenstates]\nn = 3\n'
        )
        code, stdout, _ = zitter(capsys, "run", path, "--out", tmp_path / "out", "--json")
        told = json.loads(stdout.strip().splitlines()[-1])
        assert code == 0
        # Spectral accuracy: at spacing 0.25 the error of the lowest levels is rounding.
        np.testing.assert_allclose(told["energies"], [0.5, 1.5, 2.5], atol=1e-10)
        assert max(told["residuals"]) < 1e-10

    def test_an_earlier_result_is_not_overwritten(self, case, tmp_path, capsys):
        out = tmp_path / "out"
        short = ("--set", "evolve.t=[0, 3]", "--quiet")
        assert zitter(capsys, "run", case, "--out", out, *short)[0] == 0
        before = (out / "result.h5").read_bytes()
        code, _, stderr = zitter(capsys, "run", case, "--out", out, *short)
        assert code == 2
        assert stderr.startswith("error: --out: must be new")
        assert (out / "result.h5").read_bytes() == before
        assert zitter(capsys, "run", case, "--out", out, "--overwrite", *short)[0] == 0

    def test_resuming_a_finished_run_says_so(self, case, tmp_path, capsys):
        out = tmp_path / "out"
        short = ("--set", "evolve.t=[0, 3]")
        assert zitter(capsys, "run", case, "--out", out, *short, "--json")[0] == 0
        before = (out / "result.h5").read_bytes()
        code, stdout, _ = zitter(capsys, "run", case, "--out", out, *short, "--resume", "--json")
        assert code == 0
        assert "finished already" in stdout
        assert json.loads(stdout.strip().splitlines()[-1])["time"] == 3.0
        assert (out / "result.h5").read_bytes() == before
        mesh = ("--set", "mesh={ space = 1 }")  # no part of what is computed
        code, stdout, _ = zitter(capsys, "run", case, "--out", out, *short, *mesh, "--resume")
        assert code == 0 and "finished already" in stdout
        code, _, stderr = zitter(capsys, "run", case, "--out", out, "--resume")
        assert code == 2
        assert "must continue the same run" in stderr

    def test_dry_run_refuses_what_run_refuses(self, tmp_path, capsys):
        case = tmp_path / "box.toml"
        case.write_text(
            '[basis]\ntype = "Grid"\nshape = [8, 8, 8]\nspacing = 0.4\n'
            '[model]\nterms = [{ type = "Kinetic", order = 2 }]\n'
            '[eigenstates]\nsolver = { type = "ImaginaryTime", dtau = 0.1 }\n'
        )
        for options in ((), ("--dry-run",)):
            code, _, stderr = zitter(capsys, "run", case, "--out", tmp_path / "out", *options)
            assert code != 0 and "eigenstates.solver.dtau: must be below the stability" in stderr
        assert not (tmp_path / "out").exists()

    def test_dry_run_writes_nothing(self, case, tmp_path, capsys):
        out = tmp_path / "out"
        code, stdout, _ = zitter(capsys, "run", case, "--out", out, "--dry-run", "--json")
        told = json.loads(stdout.strip().splitlines()[-1])
        assert code == 0
        assert not out.exists()
        period = 2 * np.pi / (2 * np.pi * 137.035999177 / (400e-9 / 5.29177210544e-11))
        assert told["steps"] == np.ceil(2 * period / 0.1)
        assert told["records"] == -(-told["steps"] // 3) + 1  # every third step, and the end
        # At least ψ twice (in, out), at most a few MB for a grid of 127 points.
        assert 2 * 127 * 16 < told["memory_bytes"] < 5e6
        assert told["seconds_to_run"] > 0


BAD_INPUT = [
    (["--set", "laser.intensity=-1e14"], "laser.intensity: must be positive, but is -1e14"),
    (["--set", "basis.spacing=-0.2"], "basis.spacing: must be positive, but is -0.2"),
    (["--set", "basis.shap=9"], 'basis.shap: must be a key of Grid (shape, spacing, boundary'),
    (["--set", "model.terms.1.Zz=1"], 'did you mean "Z"?'),
    (["--set", "evolve.dtt=1"], 'did you mean "dt"?'),
    (["--set", "evolv.dt=1"], 'did you mean "evolve"?'),
    (["--set", "evolve.dt=fast"], "evolve.dt: must be a number in atomic units or a string like"),
    (["--set", 'evolve.propagator="RungeKutta4"', "--set", "evolve.dt=1"], "evolve.dt: must be b"),
    (["--set", 'evolve.propagator="CrankNicolson"'], "evolve.propagator: must suit this model"),
    (["--set", 'evolve.propagator="Norm"'], "evolve.propagator: must be one of "),
    (["--set", "model.terms.2.pulse=lasr"], 'model.terms.2.pulse: must be laser, but is "lasr"'),
    (["--set", "model.terms.3.width=99"], "model.terms.3.width: must be below half the box"),
    (["--set", "model.terms.7.Z=1"], "model.terms.7: must count from 0 to 3"),
    (["--set", "evolve.observables.2.every=0"], "evolve.observables.2.every: must be at least 1"),
    (["--set", 'evolve.observables.1="Norm"'], "evolve.observables.1: must differ"),
    (["--set", "evolve.t=[3, 0]"], "evolve.t: must end after it starts"),
    (["--set", "basis.shape=[40000, 40000, 40000]"], "basis.shape: must fit the device's "),
    (["--set", 'evolve.observables=[{ type = "Ionization", radius = 1e300 }]'],
     "evolve.observables.0.radius: must leave a part of the box outside, below 25.2, but is 1e+3"),
    (["--set", "model.terms.0.mass=1e-300"], "model.terms.0.mass: must be between 1e-30 and 1e+30"),
    (["--set", 'initial={ type = "Stored", file = "none.h5" }'], "initial.file: must exist"),
    (["--set", "probe.type=HalfCycle"], "probe.amplitude: must be given, but is missing"),
    (["--set", "eigenstates.n=2"], "evolve: must be given, or [eigenstates] instead"),
    (["--precision", "half"], "precision: must be one of"),
    (["--mesh", "space"], "error: --mesh: must be like space=4"),
    (["--mesh", "space=1,space=2"], "error: --mesh: must name each axis once"),
    (["--checkpoint-every", "-3"], "error: --checkpoint-every: must not be negative"),
    (["--bogus"], "error: No such option: --bogus"),
]  # fmt: skip


def test_an_output_directory_that_cannot_be_made(case, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    code, _, stderr = zitter(capsys, "run", case, "--out", tmp_path / "file" / "out")
    assert code == 2
    assert stderr.startswith("error: --out: must lie in a folder, but ")


def test_an_output_directory_that_is_a_link_to_nothing(case, tmp_path, capsys):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    for command in (["run", case], ["sweep", case, "--over", "basis.spacing=0.3,0.4"]):
        for out, what in ((link, "be a directory"), (link / "out", "lie in a folder")):
            code, _, stderr = zitter(capsys, *command, "--out", out)
            assert code == 2
            assert stderr == f'error: --out: must {what}, but "{link}" is a link to nothing\n'
    assert link.is_symlink() and not link.exists()


def test_a_file_with_a_byte_order_mark(case, tmp_path, capsys):
    """As Windows' editors write it."""
    case.write_text(CASE, encoding="utf-8-sig")
    assert zitter(capsys, "run", case, "--out", tmp_path / "out", "--dry-run")[0] == 0


@pytest.mark.parametrize(
    ("setting", "key", "size", "degree"),
    [
        ("save_states=true", "save_states", 30_000_000, "at least 28.6 MiB"),
        # They are there twice when they are joined.
        ("save_states=true", "save_states", 12_000_000, "about "),
        ("observables=[{ type = 'Density' }]", "save_every", 12_000_000, "about "),
    ],
)
def test_records_that_do_not_fit_are_named(
    setting, key, size, degree, case, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(runtime, "memory_limit", lambda device=None: 20_000_000)
    steps = size // (127 * (16 if key == "save_states" else 8))
    settings = (setting, f"t=[0, {steps}]", "dt=1", "save_every=1")
    options = [part for text in settings for part in ("--set", f"evolve.{text}")]
    command = ["run", case, "--out", tmp_path / "out", "--dry-run", *options]
    code, _, stderr = zitter(capsys, *command)
    assert code == 2
    assert f"evolve.{key}: must fit the device's 19.1 MiB, but needs {degree}" in stderr


@pytest.mark.parametrize(("arguments", "sentence"), BAD_INPUT)
def test_bad_input_is_one_sentence_and_status_2(case, tmp_path, capsys, arguments, sentence):
    out = tmp_path / "out"
    code, stdout, stderr = zitter(capsys, "run", case, "--out", out, *arguments)
    assert code == 2
    assert sentence in stderr
    assert stderr.startswith("error: ")
    assert stderr.count("\n") == 1
    assert stdout == ""
    assert not out.exists()


def test_a_wrong_section_is_named_with_the_file(case, tmp_path, capsys):
    _, _, stderr = zitter(capsys, "run", case, "--set", "laser.intensity=-1e14")
    assert stderr == f"error: {case}: laser.intensity: must be positive, but is -1e14\n"


def test_an_unused_pulse_is_refused(case, capsys):
    case.write_text(CASE + '\n[probe]\ntype = "HalfCycle"\namplitude = 1\nduration = 5\n')
    code, _, stderr = zitter(capsys, "run", case)
    assert code == 2
    assert "probe: must be used somewhere in the file, but nothing names it" in stderr


def test_each_warning_is_one_line(case, tmp_path, capsys, monkeypatch):
    import warnings

    from zitter.cli import running

    def noisy(request):
        for n in range(3):
            warnings.warn(f"the box\nis small ({n}.5e-{n})", stacklevel=1)
        warnings.warn("lmax is small", stacklevel=1)  # of the same category, but other news
        return 0

    monkeypatch.setattr(running, "run", noisy)
    code, _, stderr = zitter(capsys, "run", case)
    assert code == 0
    assert stderr == "warning: the box is small (0.5e-0)\nwarning: lmax is small\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [(None, "must exist"), ("a = [", "must be valid TOML"), (b"\xff\xfe", "must be a readable")],
)
def test_unreadable_files(tmp_path, capsys, text, sentence):
    path = tmp_path / "case.toml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code, _, stderr = zitter(capsys, "run", path)
    assert code == 2
    assert stderr.startswith(f"error: {path}: {sentence}")
    assert stderr.count("\n") == 1


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    (folder / "atom.toml").write_text(CASE, encoding="utf-8")
    assert cli.status(["run", str(folder / "atom.toml"), "--out", str(folder / "o"), "-q"]) == 0
    return folder / "o"


class TestOtherCommands:
    def test_show(self, result, capsys):
        code, stdout, _ = zitter(capsys, "show", result, "--json")
        told = json.loads(stdout.strip().splitlines()[-1])
        assert code == 0
        assert "probability lost" in stdout
        assert told["final"]["norm"] == zt.load(result).observables["norm"][-1]

    def test_show_refuses_what_is_no_result(self, tmp_path, capsys):
        (tmp_path / "x.h5").write_text("nothing")
        assert zitter(capsys, "show", tmp_path / "none.h5")[0] == 2
        assert zitter(capsys, "show", tmp_path / "x.h5")[0] == 2

    def test_plot(self, result, tmp_path, capsys):
        picture = tmp_path / "picture.png"
        assert zitter(capsys, "plot", result, "-o", picture)[0] == 0
        assert picture.read_bytes().startswith(b"\x89PNG")
        code, _, stderr = zitter(capsys, "plot", result, "-o", tmp_path / "picture.doc")
        assert code == 2
        assert stderr.startswith("error: output: must end in one of")
        code, _, stderr = zitter(capsys, "plot", result, "-o", tmp_path / "misspelt" / "a.png")
        assert code == 2 and not (tmp_path / "misspelt").exists()
        assert re.match("error: --output: must lie in a folder that is .* no .*misspelt", stderr)

    def test_pictures_need_neither_the_input_nor_its_folder(self, tmp_path, capsys, monkeypatch):
        """A potential from a file, drawn behind the density where that file is out of reach."""
        (tmp_path / "in").mkdir()
        np.savez(tmp_path / "in" / "v.npz", potential=0.02 * np.linspace(-5, 5, 31) ** 2)
        text = (
            'title = "from a file"\n[basis]\ntype = "Grid"\nshape = 31\nspacing = 0.5\n'
            '[model]\nterms = ["Kinetic", { type = "Potential", file = "v.npz" }]\n'
        )
        runs = {
            "levels": "[eigenstates]\nn = 2\n",
            "moves": '[evolve]\nt = [0, 1]\ndt = 0.1\nobservables = ["Density"]\n',
        }
        for name, verb in runs.items():
            case = tmp_path / "in" / f"{name}.toml"
            case.write_text(text + verb)
            assert zitter(capsys, "run", case, "--out", tmp_path / name, "-q")[0] == 0
        (tmp_path / "in" / "v.npz").unlink()
        monkeypatch.chdir(tmp_path)
        levels = zt.load("levels")
        figure = zt.plot.overview(levels)
        assert figure.get_suptitle() == "from a file"
        drawn = np.asarray(figure.axes[0].lines[0].get_ydata())
        np.testing.assert_allclose(drawn, levels.model.terms[1].values)
        behind: Any = zt.plot.moving_potential(zt.load("moves"))
        np.testing.assert_allclose(behind(0.5), drawn)
        for options in ([], ["--animate"]):
            assert zitter(capsys, "plot", "moves", *options)[0] == 0

    def test_plot_draws_what_python_saved_without_observables(self, tmp_path, capsys):
        H = zt.discretize(zt.Model([zt.Kinetic(), zt.Harmonic()]), zt.Grid(24, 0.5))
        start = zt.eigenstates(H, 1).states[0]
        zt.evolve(H, start, (0.0, 0.1), 0.05, zt.SplitOperator()).save(tmp_path / "run.h5")
        assert zitter(capsys, "plot", tmp_path / "run.h5")[0] == 0
        assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")

    def test_showing_does_not_wait_for_jax(self, result):
        code = (
            "import sys, zitter.cli as c; c.status(['show', sys.argv[1]]); "
            "print('jax' in sys.modules, 'matplotlib' in sys.modules)"
        )
        command = [sys.executable, "-c", code, str(result)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert "probability lost" in done.stdout
        assert done.stdout.strip().endswith("False False")

    def test_only_what_moves_is_animated(self, tmp_path, capsys):
        H = zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid(24, 0.5))
        zt.eigenstates(H, 1).save(tmp_path / "e.h5")
        code, _, stderr = zitter(capsys, "plot", tmp_path / "e.h5", "--animate")
        assert code == 2
        assert "must be one that moves (evolution) to be animated" in stderr

    def test_plot_animates(self, result, tmp_path, capsys):
        film = tmp_path / "film.gif"
        assert zitter(capsys, "plot", result, "--animate", "-o", film)[0] == 0
        assert film.read_bytes().startswith(b"GIF89a")

    def test_schema(self, capsys):
        code, stdout, _ = zitter(capsys, "schema")
        told = json.loads(stdout)
        assert code == 0
        assert "softening" in told["$defs"]["SoftCoulomb"]["properties"]
        assert "dt" in told["properties"]["evolve"]["required"]
        assert told["properties"]["evolve"]["properties"].keys().isdisjoint({"H", "psi0"})
        own = {option["$ref"] for option in told["additionalProperties"]["anyOf"]}
        assert {"#/$defs/SineSquared", "#/$defs/Breathing", "#/$defs/Lanczos"} <= own

    def test_doctor(self, capsys):
        code, stdout, _ = zitter(capsys, "doctor", "--json")
        told = json.loads(stdout.strip().splitlines()[-1])
        assert code == 0
        assert told["ok"] is True

    def test_lists(self, capsys):
        assert "h2plus-1d" in zitter(capsys, "reproduce")[1]
        code, _, stderr = zitter(capsys, "reproduce", "no-such-paper")
        assert code == 2
        assert "name: must be one of " in stderr

    def test_help_needs_no_jax(self):
        code = "import sys, zitter.cli as c; c.status(['--help']); print('jax' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip().endswith("False")
        assert "reproduce" in done.stdout


# Long enough to be stopped on the way. 1000 steps in records of 3 leave a tail of one; two
# observables are measured by the host, on different schedules, which also slows the run down.
STOPPED = [
    "--set", "evolve.t=[0, 100]",
    "--set", "evolve.observables=['Norm', { type = 'Density', every = 7 }, "
             "{ type = 'InstantaneousPopulations', n = 2, every = 5 }]",
]  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "atom.toml").write_text(CASE, encoding="utf-8")
    out = folder / "out"
    assert cli.status(["run", str(folder / "atom.toml"), "--out", str(out), "-q", *STOPPED]) == 0
    solution = zt.load(out)
    assert isinstance(solution, zt.Solution)
    assert len(solution.observables["instantaneous_populations"]) == 333 // 5 + 2  # and the end
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        *(pytest.param(s, marks=pytest.mark.slow) for s in (signal.SIGKILL, signal.SIGINT)),
        signal.SIGTERM,
    ],
)
def test_a_stopped_run_resumes_to_the_same_bits(case, tmp_path, undisturbed, capsys, how):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "zitter", "run", str(case), "--out", str(out), "-q", *STOPPED]
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # not in a background
    child = subprocess.Popen(
        [*command, "--checkpoint-every", "0.1"],
        stderr=subprocess.PIPE, text=True, env=os.environ | {"JAX_PLATFORMS": "cpu"},
        preexec_fn=heard,
    )  # fmt: skip
    state = out / "checkpoint" / "state.h5"
    deadline = time.monotonic() + 120
    while not state.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(how)
    _, stderr = child.communicate(timeout=60)
    assert state.exists(), "the run ended before it could be stopped"
    assert not (out / "result.h5").exists()
    if how == signal.SIGKILL:
        assert child.returncode == -signal.SIGKILL
    else:
        assert child.returncode == 1
        assert "on request" in stderr
        assert str(out / "checkpoint") in stderr
        *before, last = stderr.splitlines()
        assert last.startswith("error: stopped at ") and " of 1000 steps" in last
        assert last.endswith("--resume continues from there.")
        assert last.removeprefix("error: ") in (out / "log.txt").read_text()
        assert all(line.startswith("warning: ") for line in before)
    code, _, _ = zitter(capsys, "run", case, "--out", out, "-q", "--resume", *STOPPED)
    assert code == 0
    same_numbers(out, undisturbed)
    assert not (out / "checkpoint").exists()


def test_resume_refuses_another_potential(tmp_path, capsys):
    """The same input whose file has changed is another run."""
    case, out = tmp_path / "case.toml", tmp_path / "out"
    case.write_text(
        '[basis]\ntype = "Grid"\nshape = 31\nspacing = 0.5\n'
        '[model]\nterms = ["Kinetic", { type = "Potential", file = "v.npy" }]\n'
        "[evolve]\nt = [0, 1]\ndt = 0.1\n"
    )
    potential = 0.1 * np.linspace(-5, 5, 31) ** 2
    np.save(tmp_path / "v.npy", potential)
    begun = cases.read(config.read(case)).fingerprint()
    (out / "checkpoint").mkdir(parents=True)
    (out / "checkpoint" / "input").write_text(begun)
    np.save(tmp_path / "v.npy", 2 * potential)
    code, _, stderr = zitter(capsys, "run", case, "--out", out, "-q", "--resume")
    assert code == 2
    assert "--resume: must continue the same run" in stderr
    np.save(tmp_path / "v.npy", potential)
    assert zitter(capsys, "run", case, "--out", out, "-q", "--resume")[0] == 0


def test_resume_refuses_another_input(case, tmp_path, capsys):
    """A checkpoint belongs to one input: changed physics must not continue it."""
    from zitter import loop

    out = tmp_path / "out"
    folder = out / "checkpoint"
    assert zitter(capsys, "run", case, "--out", out, "-q", "--set", "evolve.t=[0, 3]")[0] == 0
    (out / "result.h5").unlink()
    psi = io.Variable(np.ones(127, complex), ("axis_0",))
    io.write(folder / "initial.h5", io.Dataset({"psi": psi}, {"known": {}}))
    loop.Checkpoint(folder, 0, "another").save(1, [np.zeros(3)], 0, loop.Piece({}, {}))
    code, _, stderr = zitter(capsys, "run", case, "--out", out, "-q", "--resume")
    assert code == 2
    assert "belongs to a different input" in stderr
