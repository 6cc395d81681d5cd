"""What a dry run says of memory and time, beside what a run takes."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest

import zitter as zt
from zitter import cli, files, initial, runtime, segments, together
from zitter.cases import evolution as cases_evolution
from zitter.cases import memory
from zitter.qmc.optimizers import tables
from zitter.qmc.optimizers.source import Source
from zitter.solve import accuracy, evolution, guards, needs, solver_trials, trials

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

CASES = {
    "evolve": """
[basis]
type = "Grid"
shape = [12, 12]
spacing = 0.5
[model]
terms = ["Kinetic", "SoftCoulomb"]
[evolve]
t = [0, 1]
dt = 0.05
observables = ["Norm", { type = "Density", every = 2 }]
""",
    "eigenstates": """
[basis]
type = "Grid"
shape = [34, 34]
spacing = 0.4
[model]
terms = ["Kinetic", "SoftCoulomb"]
[eigenstates]
n = 2
""",
    "optimize": """
[system]
type = "ElectronGas"
n = 2
rs = 2.0
[wavefunction]
jastrow = [{ type = "U", order = 2 }]
[optimize]
walkers = 8
draws = 4
method = { type = "VarianceMinimization", iterations = 1 }
""",
}


@pytest.mark.parametrize("kind", CASES)
def test_memory_and_time_are_told_beforehand(kind, tmp_path, capsys):
    case = tmp_path / "case.toml"
    case.write_text(CASES[kind], encoding="utf-8")
    assert cli.status(["run", str(case), "--dry-run", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    facts = facts["optimization"] if kind == "optimize" else facts
    assert facts["memory_bytes"] > 0 and facts["seconds_to_run"] > 0
    assert facts["seconds_to_compile"] > 0
    assert not (tmp_path / "case-output").exists()


def test_records_count_twice_when_they_are_joined(monkeypatch):
    """Many states of which the loop itself needs few; beside a GPU they wait on the host."""
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid(1000, 0.5))
    plan = zt.solve.prepare(H, complex, (0.0, 50.0), 0.01, zt.SplitOperator(), (), 1, True)
    states = plan.recorded * 1000 * 16
    assert plan.recorded == 5001 == len(plan.times)
    assert 2 * states < needs.memory_of_run(plan) < 2.1 * states
    monkeypatch.setattr(needs.runtime, "on_host", lambda: False)
    assert needs.memory_of_run(plan) < 0.25 * states


def checked(method, steps, save_every=None, points=64, **options):
    pulse = zt.SineSquared(amplitude=0.1, frequency=0.5, cycles=2)
    terms = [zt.Kinetic(), zt.SoftCoulomb(), zt.LengthGauge(pulse)]
    H = zt.discretize(zt.Model(terms), zt.Grid(points, 0.5))
    span = (0.0, 0.02 * steps)
    return evolution.prepare(
        H, complex, span, 0.02, method, (), save_every, step_check=True, **options
    )


@pytest.mark.parametrize(
    "plan, same, records",
    [
        (checked(zt.Lanczos(), 1000), True, 501),
        (checked(zt.SplitOperator(), 300, 3), True, 51),
        (checked(zt.SplitOperator(), 300, 200), False, 2),  # its half has no whole intervals
        (checked(zt.Lanczos(), 100, points=66, save_states=True), False, 51),  # it keeps none
        (checked(zt.Chebyshev(), 100), False, 51),  # longer steps have more terms
    ],
)
def test_the_check_of_the_step_compiles_nothing_of_its_own_where_it_can(
    plan, same, records, monkeypatch
):
    recorded, program = plan.checking
    assert (program is plan.program) is same and recorded == records
    psi = plan.H.basis.sample(lambda x: jnp.exp(-(x**2)) + 0j)
    traced = []

    def carried(*given):
        traced.append(len(given))
        return segments._carried(*given)

    # Nobody has made programs of this one before.
    monkeypatch.setattr(segments, "_carried_compiled", eqx.filter_jit(carried))
    plan.run(psi)
    assert len(traced) == (1 if same else 2)


@pytest.mark.parametrize("method", [zt.Lanczos(), zt.Taylor(), zt.Chebyshev()])
def test_long_steps_are_not_written_out_several_times(method, monkeypatch):
    """On a GPU eight short ones are; of Lanczos' each would have vectors of its own."""
    monkeypatch.setattr(evolution.runtime, "on_host", lambda: False)
    plan = checked(method, 10)
    assert zt.SplitOperator().unroll(plan.H) == 8
    assert plan.context.propagator.unroll(plan.H) == 1
    # An exponential that is there is not long.
    assert zt.MatrixExponential().unroll(plan.H) == 1
    assert zt.MatrixExponential().unroll(plan.H.static) == 8


class Counting:
    """A device that tells what is in use; a library takes 70 bytes which no compiler knows of."""

    platform = "gpu"

    def __init__(self):
        self.now, self.most = 100, 130

    def memory_stats(self):
        return {"bytes_in_use": self.now, "peak_bytes_in_use": self.most, "bytes_limit": 1000}

    def taken(self, size):
        self.most = max(self.most, self.now + size)


def test_what_libraries_take_beside_the_compilers_count_is_measured(monkeypatch):
    device = Counting()

    class Ballast:
        def __init__(self, size):
            device.now += size
            self.size = size

        def __del__(self):
            device.now -= self.size

    settings = runtime.settings()
    monkeypatch.setattr(runtime, "_settings", dataclasses.replace(settings, device=device))
    monkeypatch.setattr(runtime.jnp, "zeros", lambda size, dtype: Ballast(size))
    monkeypatch.setattr(runtime.jax, "block_until_ready", lambda x: x)
    assert runtime.most_beyond(lambda: device.taken(20)) == 20  # below the highest mark so far
    assert runtime.most_beyond(lambda: device.taken(70), 70) == 70
    assert runtime.most_beyond(lambda: device.taken(70), 600) is None  # no room to find out
    assert device.now == 100 and device.most == 130 + 20 + 70


@pytest.mark.parametrize("order", [None, 4])
def test_a_dense_matrix_is_there_twice_or_more_while_it_is_made(order):
    kinetic = zt.Kinetic() if order is None else zt.Kinetic(order=order)
    H = zt.discretize(zt.Model([kinetic, zt.SoftCoulomb()]), zt.Grid((20, 20), 0.5))
    assert 2 * 8 * 400**2 <= needs.of_solver(H, 2, zt.Direct()).memory < 6 * 8 * 400**2


def test_other_solvers_on_other_bases_count_as_well():
    """Updates of one state take little; the coarser grids beside it have a solver of their own."""
    H = zt.discretize(zt.Model([zt.Kinetic(order=8), zt.SoftCoulomb()]), zt.Grid([24] * 3, 0.5))
    slow = zt.ImaginaryTime(tol=1e-2)
    alone, checked = needs.of_solver(H, 1, slow), needs.of_solver(H, 1, slow, checked=True)
    assert alone.memory is not None and checked.memory is not None
    assert checked.memory > 2 * alone.memory
    assert checked.seconds > alone.seconds


def test_a_round_of_conjugate_gradients_holds_a_few_blocks():
    """X, HX, P, HP, W and HW at least; those joined, and the next ones, at most."""
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid((48, 48), 0.4))
    block = 8 * 48**2 * (2 + 3)
    found = zt.LOBPCG().memory(H, 2)
    assert found is not None and 6 * block < found < 22 * block


def test_runs_of_a_benchmark_that_are_timed_are_no_repetitions():
    sys.path.insert(0, str(BENCHMARKS))
    import estimates as benchmark

    cases = benchmark.CASES.items()
    same = [name for name, case in cases if benchmark.changed(case, benchmark.OTHER) == case]
    assert same == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SplitOperator, with states", "LOBPCG"])
def test_memory_is_within_a_fifth_of_the_peak(name, tmp_path):
    """In a process of its own: the peak of a child counts what its parent had when it was made."""
    program = [sys.executable, str(BENCHMARKS / "estimates.py"), "--only", name]
    found = tmp_path / "found.json"
    done = subprocess.run([*program, "--json", str(found)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(found.read_text(encoding="utf-8"))["measured"]
    assert 0.8 < row["memory_ratio"] < 1.2


@pytest.mark.parametrize("light", [True, False])
def test_time_is_that_of_weak_and_of_strong_light(light, monkeypatch):
    """Iterations are few where a pulse begins, and many where it is strong."""
    begun_at = []

    def tried(self, context, state, steps):
        begun_at.append(int(state.steps))
        return segments.Trial(1.0 + int(state.steps), 0)

    monkeypatch.setattr(segments.Program, "tried", tried)
    pulse = zt.SineSquared(amplitude=0.1, frequency=0.5, cycles=2)
    terms = [zt.Kinetic(), zt.SoftCoulomb(), *([zt.LengthGauge(pulse)] if light else [])]
    H = zt.discretize(zt.Model(terms), zt.Grid(16, 0.5))
    plan = evolution.prepare(H, complex, (0.0, 2.0), 0.1)
    psi = H.basis.sample(lambda x: jnp.exp(-(x**2)) + 0j)
    assert plan.tried(psi).seconds == (6.0 if light else 1.0)
    assert begun_at == ([0, 10] if light else [0])


@pytest.mark.parametrize("save_every", [10**14, 400, 100_003])
def test_no_interval_is_tried_as_a_whole_where_that_is_long(save_every, monkeypatch):
    """Records far apart would make the trial as long as the run, several times."""
    intervals, compiled = [], []

    def tried(self, context, state, steps):
        intervals.append((getattr(context, "common", context).part, steps))
        return segments.Trial(float(steps), 0)

    def counted(*given, compile=segments.compiled):
        compiled.append(given)
        return compile(*given)

    monkeypatch.setattr(segments.Program, "tried", tried)
    monkeypatch.setattr(segments, "compiled", counted)
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid(255, 0.3))
    options = {"observables": (zt.Norm(),), "save_every": save_every}
    plan = evolution.prepare(H, complex, (0.0, 4400.0), 0.01, zt.SplitOperator(), **options)
    psi = H.basis.sample(lambda x: jnp.exp(-(x**2)) + 0j)
    plan.tried(psi)
    together.estimate([plan, plan], [psi, psi])
    for every, count in intervals:
        assert every <= 256
        rest = 440_000 % plan.context.part
        assert count == 1 or every * count == pytest.approx(440_000 - rest, rel=1e-12)
    # Memory is that of the run: its program is there as well, and the only one where it can be.
    assert plan.program.record == 8
    assert len(compiled) == (4 if save_every == 100_003 else 2)


def test_steps_that_are_tried_are_watched_as_often_as_in_the_run():
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid(255, 0.3))
    for save_every, stride in ((440_000, 16), (99_991, 1), (99_990, 15)):
        plan = evolution.prepare(
            H, complex, (0.0, 4400.0), 0.01, zt.SplitOperator(), save_every=save_every
        )
        assert guards.stride(save_every) == guards.stride(trials.interval(plan.context)) == stride


LEVELS = """
[basis]
type = "Grid"
shape = [{points}, {points}]
spacing = 0.4
[model]
terms = ["Kinetic", "SoftCoulomb"]
[initial]
type = "WavePacket"
width = [1.0, 1.0]
[evolve]
t = [0, 0.4]
dt = 0.1
save_every = 2
propagator = "SplitOperator"
observables = [{{ type = "InstantaneousPopulations", n = 2 }}]
"""


@pytest.mark.parametrize("points", [30, 100])
def test_searches_of_levels_count_in_every_record(points, tmp_path, capsys, monkeypatch):
    """Also where the search is too large to be tried: then a coarser grid tells its rounds."""
    asked = []

    def searched(H, n, solver, checked=False):
        asked.append(H.model)
        return needs.Needs(1, 1000.0)

    monkeypatch.setattr(needs, "of_solver", searched)
    case = tmp_path / "case.toml"
    case.write_text(LEVELS.format(points=points), encoding="utf-8")
    assert cli.status(["run", str(case), "--dry-run", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    # Three records, and two searches of the check with twice the step; none before the run.
    assert 5000 < facts["seconds_to_run"] < 5100 and facts["seconds_to_start"] < 100
    assert len(asked) == 1 and asked[0] is not None


def test_derivatives_of_an_optimization_count():
    psi = zt.qmc.SlaterJastrow(zt.qmc.ElectronGas(14, 1.0), (zt.qmc.U(order=2),))
    source = Source(psi, 64, 4, 1, 0, False)
    found = source.sampled(psi, 1, "estimating")
    # Of 256 samples at once: several numbers of each pair.
    least = 3 * 8 * 256 * 14**2
    assert least < tables.memory_of_piece(psi, found.draws) < 100 * least


SCALED = """
[basis]
type = "SphericalBasis"
lmax = 1
[basis.radial]
type = "RadialBSplines"
n = 40
degree = 5
rmax = 40
scaling = { type = "ExteriorScaling", radius = 20, angle = 0.4 }
[model]
terms = ["Kinetic", { type = "Coulomb", Z = 1 }]
[initial]
state = 0
solver = { type = "Resonances", near = -0.5 }
[evolve]
t = [0, 0.2]
dt = 0.1
"""


@pytest.mark.parametrize("observable", ["Populations", "InstantaneousPopulations"])
def test_dry_runs_refuse_levels_that_a_run_would_refuse(observable, tmp_path, capsys):
    case = tmp_path / "case.toml"
    case.write_text(
        SCALED + f'observables = [{{ type = "{observable}", n = 3 }}]\n', encoding="utf-8"
    )
    said = []
    for options in (["--dry-run"], ["--out", str(tmp_path / "out")]):
        assert cli.status(["run", str(case), *options]) == 2
        said.append(capsys.readouterr().err)
    assert said[0] == said[1] and "Hermitian" in said[0]


MANY = """
[basis]
type = "Grid"
shape = [48, 48, 48]
spacing = 0.3
[model]
terms = ["Kinetic", {{ type = "Harmonic", frequency = [1.0, 1.3, 0.7] }}]
[eigenstates]
n = {n}
"""


@pytest.mark.parametrize("n, room", [(5000, 2**34), (500, 2**40)])
def test_nothing_is_tried_with_very_many_states(n, room, tmp_path, capsys, monkeypatch):
    """They are refused by their size, or their time is not told."""
    monkeypatch.setattr(runtime, "mesh_memory", lambda: room)
    monkeypatch.setattr(zt.LOBPCG, "solve", None)
    case = tmp_path / "case.toml"
    case.write_text(MANY.format(n=n), encoding="utf-8")
    code = cli.status(["run", str(case), "--dry-run", "--json"])
    told, said = capsys.readouterr()
    if n == 5000:
        assert code == 2 and "eigenstates.n: must fit the device's 16 GiB" in said
        return
    assert code == 0 and "not told" in told
    facts = json.loads(told.splitlines()[-1])
    assert facts["seconds_to_run"] is None and facts["memory_bytes"] > 6 * 8 * n * 48**3


def test_rounds_of_a_trial_are_given_up_in_time(monkeypatch):
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid((34, 34), 0.4))
    monkeypatch.setattr(solver_trials, "PATIENCE", 0.0)
    assert needs.of_solver(H, 2, zt.LOBPCG()).seconds is None


def test_compilation_counts_on_each_grid_of_the_check(monkeypatch):
    monkeypatch.setattr(solver_trials, "times", lambda *_: solver_trials.Times(1.0, 10.0))
    model = zt.Model([zt.Kinetic(), zt.SoftCoulomb()])
    H = zt.discretize(model, zt.Grid((34, 34), 0.4))
    alone = needs.of_solver(H, 2, zt.LOBPCG())
    checked = needs.of_solver(H, 2, zt.LOBPCG(), checked=True)
    assert (alone.seconds, alone.seconds_to_compile) == (1.0, 10.0)
    assert checked.seconds_to_compile == 30.0 and 2.0 < checked.seconds < 2.5


ATOM = """
[basis]
type = "SphericalBasis"
radial = { type = "RadialBSplines", n = 20, degree = 5, rmax = 20 }
lmax = 2
[laser]
type = "SineSquared"
amplitude = 0.1
frequency = 0.5
cycles = 1
[model]
terms = ["Kinetic", { type = "Coulomb", Z = 1 }, { type = "LengthGauge", pulse = "laser" }]
[evolve]
t = [0, 0.4]
dt = 0.1
propagator = "GaussCollocation"
"""


@pytest.mark.parametrize("patience, found", [(1000.0, True), (0.0, False)])
def test_steps_are_tried_with_the_first_state_where_that_is_found_at_once(
    patience, found, tmp_path, capsys, monkeypatch
):
    """Of a state in all channels methods that iterate would take more rounds than in the run."""
    states = []

    def tried(self, psi):
        states.append(psi)
        return segments.Trial(1.0, 0)

    monkeypatch.setattr(evolution.Plan, "tried", tried)
    monkeypatch.setattr(cases_evolution, "SHORT_START", patience)
    file = tmp_path / "case.toml"
    file.write_text(ATOM, encoding="utf-8")
    assert cli.status(["run", str(file), "--dry-run", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert facts["seconds_to_start"] > 0  # states that are found by channels have a time, too
    (psi,) = states
    rows = jnp.sum(jnp.abs(psi) ** 2, axis=tuple(range(1, psi.ndim)))
    occupied = int(jnp.sum(rows > 1e-12 * rows.max()))
    assert occupied == (1 if found else len(rows))


WALKERS = """
[system]
type = "ElectronGas"
n = 2
rs = 2.0
[vmc]
walkers = 64
blocks = 4
"""


def test_what_is_written_has_the_precision_of_the_run(tmp_path, capsys, monkeypatch):
    """States of single precision take half."""
    monkeypatch.setattr(files, "_MANY", 2**10)
    file = tmp_path / "case.toml"
    file.write_text(CASES["eigenstates"], encoding="utf-8")
    sizes = []
    for precision in ("double", "single"):
        words = ["run", str(file), "--dry-run", "--json", "--precision", precision]
        assert cli.status([*words, "--out", str(tmp_path / "out")]) == 0
        sizes.append(json.loads(capsys.readouterr().out.splitlines()[-1])["written_bytes"])
    assert sizes[0] == 2 * sizes[1] > 0


@pytest.mark.parametrize(
    "case", [CASES["evolve"], CASES["eigenstates"], WALKERS], ids=["evolve", "eigenstates", "vmc"]
)
def test_a_dry_run_tells_what_is_written_and_how_long_that_takes(
    case, tmp_path, capsys, monkeypatch
):
    """Where it is much; checkpoints by the interval of the command line."""
    file = tmp_path / "case.toml"
    file.write_text(case, encoding="utf-8")

    def told(*options):
        words = ["run", str(file), "--dry-run", "--json", "--out", str(tmp_path / "out")]
        assert cli.status([*words, *options]) == 0
        said = capsys.readouterr().out
        return said, json.loads(said.splitlines()[-1])

    said, facts = told()
    assert "to write" not in said and facts["seconds_to_write"] == 0
    monkeypatch.setattr(files, "_MANY", 2**10)
    monkeypatch.setattr(files, "_CHUNK", 2**8)
    said, facts = told()
    assert "to write" in said and 0 < facts["seconds_to_write"] < 60
    assert sorted(tmp_path.iterdir()) == [file]  # nothing stays
    if case is CASES["evolve"]:
        hour = segments.Trial(3600.0, 0)
        monkeypatch.setattr(segments.Program, "tried", lambda *_: hour)
        often, seldom = (told("--checkpoint-every", s)[1]["written_bytes"] for s in ("10", "1e9"))
        assert often > 5 * seldom


def test_a_finer_grid_of_the_check_counts_in_memory(monkeypatch):
    """Where a coarser grid would not resolve the nucleus; the states that are found stay."""
    model = zt.Model([zt.Kinetic(), zt.SoftCoulomb()])
    H, finer = (zt.discretize(model, zt.Grid((n, n), 0.4)) for n in (34, 45))
    monkeypatch.setattr(solver_trials, "times", lambda *_: solver_trials.Times(1.0, 10.0))
    monkeypatch.setattr(zt.LOBPCG, "memory", lambda self, H, n: 8 * H.basis.size)
    monkeypatch.setattr(accuracy, "_others", lambda H: iter([("spacing", finer)]))
    alone, checked = (needs.of_solver(H, 1, zt.LOBPCG(), each) for each in (False, True))
    assert alone.memory == 8 * 34**2
    assert 8 * (45**2 + 34**2) < checked.memory < 8 * (45**2 + 4 * 34**2)
    assert checked.seconds == pytest.approx(1 + (45 / 34) ** 2)


TOGETHER = """
[scan]
laser.cep = [0.0, 0.5, 1.0]
[basis]
type = "Grid"
shape = 40
spacing = 0.5
[laser]
type = "SineSquared"
amplitude = 0.01
frequency = 0.5
cycles = 1
[model]
terms = ["Kinetic", "SoftCoulomb", { type = "LengthGauge", pulse = "laser" }]
[evolve]
t = [0, 0.4]
dt = 0.1
propagator = "SplitOperator"
observables = [{ type = "Populations", n = 2 }]
"""


def test_items_that_run_together_begin_with_states_that_count(tmp_path, capsys, monkeypatch):
    """One first state for all, since they differ in their light only; levels for each."""

    def searched(H, n, solver, checked=False):
        return needs.Needs(10**9 * n, 1000.0 if n == 1 else 10_000.0, 100.0)

    monkeypatch.setattr(initial, "of_solver", searched)
    monkeypatch.setattr(memory, "of_solver", searched)
    monkeypatch.setattr(together, "estimate", lambda plans, states: (1000, 5.0, 100.0))
    case = tmp_path / "case.toml"
    case.write_text(TOGETHER, encoding="utf-8")
    assert cli.status(["run", str(case), "--dry-run", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert facts["items_at_once"] == 3
    assert 31_000 < facts["seconds_to_start"] < 31_100
    assert 205.0 <= facts["seconds_to_compile"] < 220.0  # with what preparations compile
    assert facts["seconds_to_run"] == pytest.approx(150.0)  # with the check of the step
    assert 2 * 10**9 < facts["memory_bytes"] < 2.1 * 10**9
