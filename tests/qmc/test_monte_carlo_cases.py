"""`zitter run` of Monte Carlo inputs."""

from __future__ import annotations

import dataclasses
import functools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import zitter as zt
from command_line import zitter as run
from zitter import segments
from zitter.cases import monte_carlo
from zitter.qmc import sizes
from zitter.qmc.optimized import Stage

CASE = """
title = "one electron in a trap"

[system]
type = "Trap"
frequency = 1.0
width = 0.8

[vmc]
walkers = 64
blocks = 12
equilibration = 10
stride = 1

[dmc]
timestep = 0.05
walkers = 64
blocks = 120
steps = 4
equilibration = 5
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "trap.toml"
    path.write_text(CASE, encoding="utf-8")
    return path


def test_a_run_writes_its_result(case, tmp_path, capsys):
    out = tmp_path / "out"
    code, printed, _ = run(capsys, "run", case, "--out", out, "--json")
    assert code == 0
    told = json.loads(printed.strip().splitlines()[-1])
    result = zt.load(out / "result.h5")
    assert told["energy"] == result.energy
    assert abs(result.energy - 1.5) < 5 * result.energy_error
    assert result.info["method"] == "DMC"
    assert zt.load(out / "vmc.h5").info["method"] == "VMC"
    assert "[dmc]" in result.input
    assert sorted(p.name for p in out.iterdir()) == ["log.txt", "result.h5", "vmc.h5"]
    # A second run is refused, resumed it says that it is done, and overwritten it is run again.
    assert run(capsys, "run", case, "--out", out)[0] == 2
    code, printed, _ = run(capsys, "run", case, "--out", out, "--resume")
    assert code == 0
    assert "finished already" in printed
    code, _, error = run(capsys, "run", case, "--out", out, "--resume", "--set", "dmc.seed=1")
    assert code == 2
    assert "must continue the same run" in error


def test_dry_run_tells_how_many_walkers_fit(case, tmp_path, capsys):
    case.write_text(CASE.split("[dmc]")[0], encoding="utf-8")
    out = tmp_path / "out"
    code, printed, _ = run(capsys, "run", case, "--out", out, "--dry-run", "--json")
    assert code == 0
    assert not out.exists()
    told = json.loads(printed.strip().splitlines()[-1])
    # A walker of one electron holds some hundred numbers, not thousands.
    assert 100 < told["vmc"]["bytes_per_walker"] < 20_000
    fitting = told["device_bytes"] / told["vmc"]["bytes_per_walker"]
    assert told["vmc"]["walkers_that_fit"] == pytest.approx(fitting, rel=0.01)
    assert "walkers that fit" in printed


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("system.frequency=-1", "system.frequency: must not be negative, but is -1"),
        ("dmc.timestep=5", "dmc.timestep: must not exceed 0.333"),
        ("vmc.blocks=1", "vmc.blocks: must be at least 4, but is 1"),
        ("vmc.equilibration=5", "vmc.equilibration: must be at least 10, but is 5"),
        ("vmc.stride=0", "vmc.stride: must be at least 1, but is 0"),
        ("dmc.steps=0", "dmc.steps: must be at least 1, but is 0"),
        ("vmc.twists=2", "vmc.twists: must be used with plane waves, or other orbitals"),
        ("wavefunction.parameters=none.h5", "wavefunction.parameters: must name a file, but"),
        ("vmc.walker=3", 'vmc.walker: must be a key of [vmc]'),
        ("vmc.estimators=['PairCorrelation']", "vmc.estimators: must not hold PairCorrelation"),
        ("wavefunction.jastrow=['P']", "wavefunction.jastrow.0: must not be P"),
        ("optimize.walkers=64", "optimize: must not be given where wavefunction.jastrow is empty"),
        ("wave.x=1", "wave: must be a key of the file"),
        ("system.type=ElectronGas", "system.frequency: must be a key of ElectronGas"),
    ],
)  # fmt: skip
def test_bad_input_ends_with_2_and_one_sentence(case, tmp_path, capsys, setting, sentence):
    out = tmp_path / "out"
    code, _, error = run(capsys, "run", case, "--out", out, "--set", setting)
    assert code == 2
    assert error.count("\n") == 1
    assert f"trap.toml: {sentence}" in error
    assert not out.exists()


GAS = """
[system]
type = "ElectronGas"
n = 2
rs = 5.0

[wavefunction]
jastrow = [{ type = "U", order = 2 }]

[optimize]
method = { type = "VarianceMinimization", iterations = 1 }
walkers = 16
draws = 4
"""


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("optimize.walkers=1", "optimize.walkers: must be at least 2, but is 1"),
        ("optimize.draws=0", "optimize.draws: must be at least 4, but is 0"),
        ("optimize.stride=0", "optimize.stride: must be at least 1, but is 0"),
        ("wavefunction.jastrow=['U', 'U']", "wavefunction.jastrow: must hold one term with Kato"),
        (
            "vmc.estimators=['PairCorrelation', 'PairCorrelation']",
            "vmc.estimators.1: must not be a second PairCorrelation",
        ),
        (
            "optimize.stride=1000000000000",
            "optimize.stride: must be at most 2147483647, but is 1000000000000",
        ),
        (
            "vmc.stride=1000000000000",
            "vmc.stride: must be at most 2147483647, but is 1000000000000",
        ),
        (
            "dmc={timestep=0.1, steps=1000000000000}",
            "dmc.steps: must be at most 2147483647, but is 1000000000000",
        ),
        ("vmc.twists=0.25", "vmc.twists: must be a list of twists, or a number for a grid"),
    ],
)
def test_a_dry_run_refuses_what_the_run_would(case, tmp_path, capsys, setting, sentence):
    case.write_text(GAS, encoding="utf-8")
    out = tmp_path / "out"
    code, _, error = run(capsys, "run", case, "--out", out, "--dry-run", "--set", setting)
    assert code == 2
    assert error.count("\n") == 1
    assert f"trap.toml: {sentence}" in error


def test_what_the_optimizer_said_stays_with_the_runs_that_follow(
    case, tmp_path, capsys, monkeypatch
):
    """Also in one that is resumed after its optimization, from `jastrow.h5`."""
    told = Stage("LinearMethod", "hartree", 0, *np.zeros((4, 1)), verdict="failed: no step was")

    @dataclasses.dataclass
    class Found:
        wavefunction: object
        stage: Stage = told

        def summary(self) -> str:
            return ""

    def in_place_of(verb, call):  # with its signature, which reads the file
        return functools.wraps(verb)(lambda psi, **options: call(psi, **options))

    def broken(*arguments, **options):
        raise zt.RunError("stopped")

    optimize, vmc = zt.qmc.optimize, zt.qmc.vmc
    monkeypatch.setattr(zt.qmc, "optimize", in_place_of(optimize, lambda psi, **_: Found(psi)))
    walk = "\n[vmc]\nwalkers = 8\nblocks = 4\nequilibration = 10\nstride = 1\n"
    case.write_text(GAS + walk, encoding="utf-8")
    out, note = tmp_path / "out", "optimize, LinearMethod: failed: no step was"

    with monkeypatch.context() as patch:
        patch.setitem(monte_carlo.VERBS, "vmc", in_place_of(vmc, broken))
        assert run(capsys, "run", case, "--out", out)[0] == 1
    monkeypatch.setattr(zt.qmc, "optimize", in_place_of(optimize, broken))  # it is done
    code, printed, error = run(capsys, "run", case, "--out", out, "--resume", "--json")
    assert code == 0, error
    numbers = json.loads(printed.splitlines()[-1])
    assert note in numbers["info"]["notes"] and note in numbers["notes"]
    assert f"note: {note}" in run(capsys, "show", out)[1]


@pytest.mark.slow
def test_a_run_that_only_optimizes(case, tmp_path, capsys):
    """Its course is the result: to be shown, drawn, found finished, and to start from."""
    case.write_text(GAS, encoding="utf-8")
    out = tmp_path / "out"
    code, printed, _ = run(capsys, "run", case, "--out", out, "--json")
    assert code == 0
    numbers = json.loads(printed.splitlines()[-1])
    assert numbers["kind"] == "optimization"
    assert {p.name for p in out.glob("*.h5")} == {"jastrow.h5", "result.h5"}
    code, shown, _ = run(capsys, "show", out, "--json")
    assert code == 0
    assert "← taken" in shown
    assert json.loads(shown.splitlines()[-1]) == numbers
    assert run(capsys, "plot", out, "-o", tmp_path / "course.png")[0] == 0
    assert (tmp_path / "course.png").stat().st_size > 10_000
    code, again, _ = run(capsys, "run", case, "--out", out, "--resume")
    assert code == 0
    assert "finished already" in again
    for file in ("result.h5", "jastrow.h5"):
        setting = f"wavefunction.parameters='{out / file}'"
        assert run(capsys, "run", case, "--out", out, "--dry-run", "--set", setting)[0] == 0


@pytest.mark.slow
def test_parameters_of_the_user_are_not_touched(case, tmp_path, capsys):
    """A file of an earlier run, or put there by hand, goes only by --overwrite."""
    case.write_text(GAS, encoding="utf-8")
    out = tmp_path / "out"
    assert run(capsys, "run", case, "--out", out)[0] == 0
    (out / "result.h5").unlink()
    precious = b"parameters of the user"
    (out / "jastrow.h5").write_bytes(precious)
    for options in ([], ["--resume"], ["--set", "optimize.seed=1", "--resume"]):
        log = (out / "log.txt").read_text()
        code, _, error = run(capsys, "run", case, "--out", out, *options)
        assert code == 2
        assert "--out: must be new or go with --overwrite, but" in error
        assert (out / "jastrow.h5").read_bytes() == precious
        assert (out / "log.txt").read_text() == log
        assert not (out / "checkpoint").exists()
    assert run(capsys, "run", case, "--out", out, "--overwrite")[0] == 0
    assert (out / "jastrow.h5").read_bytes() != precious


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_numbers(case, tmp_path, capsys):
    arguments = ["run", str(case), "--out", str(tmp_path / "killed"), "--checkpoint-every", "0"]
    code = "from zitter import cli; cli.main()"
    child = subprocess.Popen([sys.executable, "-c", code, *arguments])
    state = tmp_path / "killed" / "checkpoint" / "dmc" / "state.h5"
    for _ in range(3000):
        if state.exists() or child.poll() is not None:
            break
        time.sleep(0.02)
    child.kill()
    child.wait()
    assert child.returncode == -signal.SIGKILL
    assert (tmp_path / "killed" / "vmc.h5").exists()
    assert run(capsys, *arguments, "--resume")[0] == 0
    assert run(capsys, "run", case, "--out", tmp_path / "whole")[0] == 0
    killed, whole = (zt.load(tmp_path / name / "result.h5") for name in ("killed", "whole"))
    for name, trace in whole.traces.items():
        np.testing.assert_array_equal(killed.traces[name], trace)
    np.testing.assert_array_equal(killed.positions, whole.positions)
    assert not (tmp_path / "killed" / "checkpoint").exists()


def test_the_short_vmc_before_dmc_counts_in_time(monkeypatch):
    """One second each for its sweeps, for equilibration and for the blocks."""
    second = segments.Trial(1.0, 0)
    monkeypatch.setattr(segments.Program, "tried", lambda self, context, state, steps: second)
    gas = zt.qmc.ElectronGas(2, 1.0)
    options = {"timestep": 0.1, "steps": 2, "equilibration": 4}
    run = monte_carlo.checked_run(
        zt.qmc.SlaterJastrow(gas), "dmc", options | {"walkers": 4, "blocks": 4}
    )
    assert sizes.needs(run, "dmc", options).seconds_to_run == 3.0
