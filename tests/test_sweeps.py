"""`zitter sweep`: the numbers of single runs, labelled, with gaps that a second sweep fills."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import zitter as zt
from command_line import zitter
from zitter import loop, solve, sweeps
from zitter.cli import arrays
from zitter.results import Sweep

CASE = """
title = "an atom in many pulses"

[basis]
type = "Grid"
shape = 63
spacing = 0.6

[model]
terms = [
  { type = "Kinetic" },
  { type = "SoftCoulomb", Z = 1, softening = 2.0 },
  { type = "LengthGauge", pulse = "laser" },
]

[laser]
type = "SineSquared"
intensity = "1e14 W/cm^2"
wavelength = "80 nm"
cycles = 2

[evolve]
t = [0, "laser.duration"]
dt = 0.2
propagator = { type = "SplitOperator" }
observables = ["Norm", "Dipole"]
save_every = 10
"""
OVER = "laser.intensity=1e13:1e15:log:4"
LEVELS = CASE[: CASE.index("[laser]")].replace('  { type = "LengthGauge", pulse = "laser" },\n', "")


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "atom.toml"
    path.write_text(CASE, encoding="utf-8")
    return path


def last_json(text: str) -> dict:
    return json.loads(text.strip().splitlines()[-1])


class TestAxes:
    TABLE: ClassVar[dict] = {
        "laser": {"intensity": "1e14 W/cm^2", "cep": 0.0},
        "basis": {"shape": [3, 4]},
    }

    def test_ranges_take_the_unit_of_the_file(self):
        axis = sweeps.parse("laser.intensity=1e13:1e15:log:3", self.TABLE)
        assert axis.unit == "W/cm^2" and axis.numbers is not None
        np.testing.assert_allclose(axis.numbers, [1e13, 1e14, 1e15], rtol=1e-14)
        assert axis.setting(0) == 'laser.intensity="10000000000000.0 W/cm^2"'

    def test_whole_numbers_stay_whole(self):
        assert sweeps.parse("basis.shape.1=2:10:lin:5", self.TABLE).values == (2, 4, 6, 8, 10)
        assert sweeps.parse("laser.cep=0:1:lin:3", self.TABLE).values == (0.0, 0.5, 1.0)

    def test_keys_of_a_scan_are_not_gone_over(self):
        with pytest.raises(zt.InputError, match=r"scan\.scan\.x: must be a key of the case"):
            sweeps.in_file(self.TABLE | {"scan": {"scan": {"x": [1, 2]}}})

    def test_lists_are_toml_or_text(self):
        axis = sweeps.parse("laser.wavelength=400 nm, 800 nm", self.TABLE)
        assert (
            axis.unit == "nm" and axis.numbers is not None and list(axis.numbers) == [400.0, 800.0]
        )
        assert axis.values == ("400 nm", "800 nm")
        assert sweeps.parse("basis.shape=[1, 2], [3, 4]", self.TABLE).values == ([1, 2], [3, 4])
        assert sweeps.parse("x=Lanczos,Taylor", self.TABLE).numbers is None

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("laser.cep", "must be like laser.intensity=1e13:1e15:log:32 or laser.cep=0,0.5,1"),
            ("laser.cep=1:2", 'laser.cep must be first:last:lin:count or a list, but is "1:2"'),
            ("laser.cep=1:2:cubic:3", 'must be spaced by lin or log, but is "cubic"'),
            ("laser.cep=0:2:log:3", "must be positive to be spaced by log, but is 0:2"),
            ("laser.cep=1:2:lin:1", 'must have from 2 to 100000 values, but "1" is asked for'),
            ("laser.cep=a:b:lin:3", 'must go from number to number, but is "a:b"'),
            ("laser.cep=1 nm:2 pm:lin:3", "must have one unit, but has nm and pm"),
            ("laser.cep=1,1.5,1", "must not repeat a value"),
            ("laser.cep=1,1.0", "must not repeat a value"),
            ("basis.shape=[1, 2], [1.0, 2]", "must not repeat a value"),
            (
                "precision=double,single",
                "precision must be the same for all items, but is to vary: one sweep or run for "
                "each would do, with --precision",
            ),
            ("mesh.space=1,2", "mesh.space must be the same for all items"),
            ("basis=1,2", "basis must be a key with a value, but is a table: name a key in it, "),
            ("basis=a,b", "but is a table: name a key in it, such as basis.shape"),
            ("laser=1:2:lin:3", "but is a table: name a key in it, such as laser.intensity"),
        ],
    )
    def test_refusals(self, text, sentence):
        with pytest.raises(zt.InputError) as error:
            sweeps.parse(text, self.TABLE)
        assert str(error.value).startswith("--over: ") and sentence in str(error.value)


def test_items_run_together_and_fill_gaps(case, tmp_path, capsys, monkeypatch):
    """One batch, with a failure; then the failed one alone; then nothing is left to do."""
    out = tmp_path / "out"
    problem, batches = solve.Plan.problem, []

    def broken(self, state, seen):
        batches.append(self)
        return "The state is broken." if len(batches) == 2 else problem(self, state, seen)

    with monkeypatch.context() as patch:
        patch.setattr(solve.Plan, "problem", broken)
        arguments = ("sweep", case, "--over", OVER, "--out", out, "--json", "--set",
                     "evolve.step_check=false")  # fmt: skip
        code, stdout, stderr = zitter(capsys, *arguments)
    assert code == 1 and len(batches) == 4
    assert "item 1 (laser.intensity=" in stderr and "failed: The state is broken." in stderr
    told = last_json(stdout)
    assert told["done"] == 3 and told["failed"] == {"1": "The state is broken."}
    assert told["values"]["norm"][1] is None
    times = {path: path.stat().st_mtime_ns for path in (out / "items").glob("*.h5")}
    assert len(times) == 3

    code, stdout, stderr = zitter(capsys, *arguments)
    assert code == 0 and last_json(stdout)["done"] == 4 and "3 items are there already" in stderr
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())

    sweep = zt.load(out)
    assert isinstance(sweep, Sweep) and sweep.units == {"laser.intensity": "W/cm^2"}
    np.testing.assert_allclose(sweep.axes["laser.intensity"], np.geomspace(1e13, 1e15, 4))
    assert sweep.info["title"] == "an atom in many pulses" and sweep.done.all()
    single = zt.load(next(path for path in (out / "items").glob("*.h5") if path not in times))
    # What ran together is what runs alone: the second item was computed both ways.
    code, *_ = zitter(capsys, "run", case, "--out", tmp_path / "one", "--quiet", "--set",
                      "evolve.step_check=false", "--set",
                      f"laser.intensity={sweep.axes['laser.intensity'][2]} W/cm^2")  # fmt: skip
    alone = zt.load(tmp_path / "one")
    assert code == 0
    assert sweep.values["dipole"][2] == pytest.approx(alone.observables["dipole"][-1], abs=1e-12)
    np.testing.assert_allclose(
        sweep.values["dipole_course"][2], alone.observables["dipole"], atol=1e-12
    )
    assert single.observables["dipole"][-1] == sweep.values["dipole"][1]
    dataset = sweep.to_xarray()
    assert dataset["dipole_course"].dims == ("laser.intensity", "time")
    assert float(dataset["norm"].sel({"laser.intensity": 1e13})) == sweep.values["norm"][0]
    code, stdout, _ = zitter(capsys, "show", out)
    assert code == 0 and "sweep over laser.intensity: 4 of 4 items" in stdout
    code, *_ = zitter(capsys, "plot", out)
    assert code == 0 and (out / "overview.png").stat().st_size > 1000


def test_part_of_the_items_and_a_dry_run(case, tmp_path, capsys):
    out = tmp_path / "out"
    two = ("sweep", case, "--over", OVER, "--over", "laser.cep=0,1", "--out", out, "--json",
           "--set", "evolve.step_check=false")  # fmt: skip
    code, stdout, _ = zitter(capsys, *two, "--items", "2:4", "--quiet")
    told = last_json(stdout)
    assert code == 0 and told["items"] == 8 and told["done"] == 2
    assert np.array(told["values"]["norm"], float).shape == (4, 2)
    code, stdout, _ = zitter(capsys, *two, "--dry-run")
    told = last_json(stdout)
    assert all(label in stdout for label in ("memory needed", "the device has", "device  "))
    assert code == 0 and (told["items"], told["done"], told["runs"]) == (8, 2, 1)
    assert told["items_at_once"] == 6 and told["memory_bytes"] > 6 * 63 * 16
    assert told["seconds_to_run"] > 0
    code, *_ = zitter(capsys, "plot", out, "-o", tmp_path / "map.png")  # a map with gaps
    assert code == 0 and (tmp_path / "map.png").stat().st_size > 1000


def test_refusals(case, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)

    def refused(*arguments: object) -> str:
        code, _, stderr = zitter(capsys, "sweep", case, "--out", tmp_path / "no", *arguments)
        assert code == 2 and stderr.count("\n") == 1 and not (tmp_path / "no").exists()
        return stderr

    assert "--over: must be given, like laser.intensity" in refused()
    assert "laser.intensity: must be positive, but is -1" in refused(
        "--over", "laser.intensity=-1,-2"
    )
    assert "laser.color" in refused("--over", "laser.color=1,2")
    assert "must give at most 100000 items, but 1000 × 1001 values give 1001000" in refused(
        "--over", "laser.cep=0:1:lin:1000", "--over", "laser.cycles=2:3:lin:1001"
    )
    assert "--over: must name each key once" in refused("--over", OVER, "--over", OVER)
    assert '--items: must be FIRST:END within 0:4, but is "3:9"' in refused(
        "--over", OVER, "--items", "3:9"
    )
    assert "--batch: must be at least 1, but is 0" in refused("--over", OVER, "--batch", "0")
    assert "--slurm: must have submitit installed" in refused(
        "--over", OVER, "--slurm", "partition=gpu"
    )
    assert "--slurm: must be like partition=gpu" in refused("--over", OVER, "--slurm", "gpu")
    assert "--slurm: time must be a whole number from 1, but is abc" in refused(
        "--over", OVER, "--slurm", "time=abc,cluster=local"
    )
    assert "--slurm: memory must be a number of GB, but is much" in refused(
        "--over", OVER, "--slurm", "memory=much"
    )


def test_what_submitit_refuses_leaves_no_folder(tmp_path):
    pytest.importorskip("submitit")
    with pytest.raises(zt.InputError, match="--slurm: must suit submitit, but") as error:
        arrays.submit("cluster=local,colour=red", tmp_path / "new" / "out", [0], ["zitter"])
    assert "\n" not in str(error.value) and not list(tmp_path.iterdir())


def test_options_of_an_array_reach_slurm(tmp_path, monkeypatch):
    """By what stands in the script that `sbatch` is given, here a stand-in that names a job."""
    pytest.importorskip("submitit")
    (tmp_path / "bin").mkdir()
    for name in ("sbatch", "srun"):
        program = tmp_path / "bin" / name
        program.write_text("#!/bin/sh\necho Submitted batch job 17\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    wishes = "partition=big,tasks=2,time=95,gpus=3,cpus=5,nodes=2,memory=7"
    assert arrays.submit(wishes, tmp_path / "out", [0, 1, 2, 3], ["zitter"]) == 0
    (script,) = {file.read_text() for file in (tmp_path / "out" / "slurm").glob("*.sh")}
    lines = [line.removeprefix("#SBATCH --") for line in script.splitlines()]
    asked = dict(line.split("=", 1) for line in lines if "=" in line and "#" not in line)
    expected = {
        "partition": "big", "time": "95", "gpus-per-node": "3", "cpus-per-task": "5", "nodes": "2",
        "mem": "7GB", "array": "0-1%2",
    }  # fmt: skip
    assert {key: asked.get(key) for key in expected} == expected


def test_tasks_of_an_array_get_the_options_of_the_command(case, tmp_path, capsys, monkeypatch):
    """Refused items are put down at once, and the others submitted."""
    given = []

    def submit(*arguments):
        given.extend(arguments)
        return 0

    monkeypatch.setattr(arrays, "submit", submit)
    out = tmp_path / "out"
    code, *_ = zitter(
        capsys, "sweep", case, "--over", "laser.intensity=1e13,-1,1e14", "--out", out, "--slurm",
        "tasks=2", "--checkpoint-every", "7", "--batch", "3", "--precision", "single",
    )  # fmt: skip
    assert code == 1 and given[2] == [0, 2]
    assert {"--checkpoint-every=7.0", "--batch=3", "--precision=single"} <= set(given[3])
    (reason,) = (out / "items").glob("*.txt")
    assert reason.read_text().startswith("laser.intensity: must be positive, but is -1")


def test_an_item_with_bad_input_fails_by_itself(case, tmp_path, capsys, monkeypatch):
    """One by one, among processes of which one has nothing else, and again."""
    case.write_text(f"{LEVELS}[eigenstates]\nbasis_check = false\n", encoding="utf-8")
    arguments = ("sweep", case, "--over", "model.terms.1.softening=1,-1", "--json")
    sentence = "model.terms.1.softening: must be "
    code, stdout, stderr = zitter(capsys, *arguments, "--out", tmp_path / "out")
    told = last_json(stdout)
    assert code == 1 and told["done"] == 1 and sentence in told["failed"]["1"]
    assert f"item 1 (model.terms.1.softening=-1) failed: {sentence}" in stderr
    assert "error: 1 of 2 items failed, as " in stderr.splitlines()[-1]
    code, stdout, stderr = zitter(capsys, *arguments, "--out", tmp_path / "out")
    assert code == 1 and "1 items are there already" in stderr and sentence in stderr
    code, _, stderr = zitter(capsys, *arguments, "--out", tmp_path / "no", "--dry-run")
    assert code == 1 and f"would fail: {sentence}" in stderr and not (tmp_path / "no").exists()
    assert [line for line in stderr.splitlines() if line.startswith("error: ")] == [
        stderr.splitlines()[-1]
    ]
    monkeypatch.setenv("ZITTER_PROCESS", "node1:4711 2 1")
    code, *_ = zitter(capsys, *arguments, "--out", tmp_path / "two")
    assert code == 1 and sentence in zt.load(tmp_path / "two").failed[1]


def test_the_name_of_an_item_is_made_once(case, monkeypatch):
    (item,) = sweeps.laid_out(case, [], [sweeps.Axis("laser.cep", (0.0,))])
    name = item.name
    monkeypatch.setattr("zitter.same_run.fingerprint", lambda *parts: pytest.fail("made anew"))
    assert item.name == name


def test_tasks_of_an_array_are_stretches_of_what_is_missing():
    assert arrays.stretches(range(8), 3) == [(0, 3), (3, 6), (6, 8)]
    assert arrays.stretches([0, 1, 4, 5, 6], 2) == [(0, 2), (4, 7)]
    assert arrays.stretches([3], 9) == [(3, 4)]


@pytest.mark.slow
def test_a_sweep_that_was_stopped_goes_on(case, tmp_path, capsys, monkeypatch):
    """From the middle of a batch, to the same bits."""
    arguments = ("sweep", case, "--over", OVER, "--quiet", "--checkpoint-every", "0")
    assert zitter(capsys, *arguments, "--out", tmp_path / "whole")[0] == 0
    segment, calls = loop.segment, []

    def stopped(*given):
        calls.append(given)
        if len(calls) == 3:
            raise loop.Interrupted("stopped")
        return segment(*given)

    out = tmp_path / "parts"
    with monkeypatch.context() as patch:
        patch.setattr(loop, "segment", stopped)
        code, _, stderr = zitter(capsys, *arguments, "--out", out)
    assert code == 1 and "the same command goes on from there" in stderr
    assert zt.load(out).numbers()["done"] == 0
    assert len(list((out / "checkpoint").glob("*/state.h5"))) == 1
    assert zitter(capsys, *arguments, "--out", out)[0] == 0
    assert not list((out / "checkpoint").glob("*/state.h5"))
    whole, parts = zt.load(tmp_path / "whole"), zt.load(out)
    for name, values in whole.values.items():
        assert parts.values[name].tobytes() == values.tobytes(), name


def test_checkpoints_of_items_that_are_there_go(case, tmp_path, capsys):
    """A kill may come between the result of an item and the end of its checkpoint."""
    out = tmp_path / "out"
    arguments = ("sweep", case, "--over", "laser.intensity=1e13,1e14", "--out", out)
    assert zitter(capsys, *arguments)[0] == 0
    left = out / "checkpoint" / "of-an-item"
    left.mkdir(parents=True)
    (left / "state.h5").write_text("old")
    assert zitter(capsys, *arguments)[0] == 0
    assert not (out / "checkpoint").exists()


@pytest.mark.slow
def test_tasks_of_an_array_fill_one_sweep(case, tmp_path, capsys, monkeypatch):
    """Two processes at once, as Slurm would start them; the last one adds all up."""
    pytest.importorskip("submitit")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    out = tmp_path / "out"
    code, stdout, _ = zitter(
        capsys,
        "sweep",
        case,
        "--over",
        OVER,
        "--out",
        out,
        "--slurm",
        "cluster=local,tasks=2,time=9",
    )
    assert code == 0 and "submitted 2 tasks" in stdout
    for _ in range(600):
        if (out / "result.h5").exists() and zt.load(out).done.all():
            break
        time.sleep(0.5)
    assert zt.load(out).numbers()["done"] == 4


@pytest.mark.slow
def test_stationary_states_run_one_by_one(case, tmp_path, capsys):
    """Over a potential and over the basis: nothing of these is of one form."""
    case.write_text(LEVELS + "[eigenstates]\nn = 2\n", encoding="utf-8")
    over = ("--over", "model.terms.1.softening=1:2:lin:3", "--over", "basis.spacing=0.5,0.6")
    code, stdout, _ = zitter(capsys, "sweep", case, *over, "--out", tmp_path / "out", "--json")
    told = last_json(stdout)
    assert code == 0 and told["done"] == 6
    energies = np.array(told["values"]["energies"])
    assert energies.shape == (3, 2, 2)
    assert energies[2, 0, 0] == pytest.approx(-0.5, abs=1e-5)  # a² = 2 binds by half a hartree
    assert np.all(np.diff(energies[:, 0, 0]) > 0)  # a softer core binds less


def test_a_process_among_several_takes_its_share(case, tmp_path, capsys, monkeypatch):
    """As `srun` starts them, one after the other: the last one finds all, and reports."""
    arguments = ("sweep", case, "--over", OVER, "--out", tmp_path / "out", "--json", "--set",
                 "evolve.step_check=false")  # fmt: skip
    monkeypatch.setenv("ZITTER_PROCESS", "node1:4711 2 1")
    code, stdout, _ = zitter(capsys, *arguments)
    assert code == 0 and stdout == ""
    np.testing.assert_array_equal(zt.load(tmp_path / "out").done, [False, False, True, True])
    monkeypatch.setenv("ZITTER_PROCESS", "node1:4711 2 0")
    code, stdout, _ = zitter(capsys, *arguments)
    assert code == 0 and last_json(stdout)["done"] == 4


def test_processes_are_not_for_arrays_of_jobs(case, capsys):
    code, _, stderr = zitter(
        capsys, "sweep", case, "--over", OVER, "--processes", "2", "--slurm", "tasks=2"
    )
    assert code == 2
    assert stderr == "error: --processes: must not be given together with --slurm, but is\n"


@pytest.mark.multiprocess
@pytest.mark.parametrize(("values", "status"), [("1,-1", 1), ("-1,1", 1), ("-1,-2", 2)])
def test_processes_of_which_some_refuse_their_items(case, tmp_path, values, status):
    """What can run does; nothing begins where all refuse."""
    case.write_text(f"{LEVELS}[eigenstates]\nbasis_check = false\n", encoding="utf-8")
    command = [sys.executable, "-m", "zitter", "sweep", case, f"--out={tmp_path / 'out'}"]
    done = subprocess.run(
        [*command, f"--over=model.terms.1.softening={values}", "--processes=2"],
        capture_output=True,
        text=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=600,
    )
    assert done.returncode == status, done.stderr
    assert done.stderr.count("error: ") == 1, done.stderr
    if status == 2:
        assert not (tmp_path / "out").exists()
        assert "(with model.terms.1.softening=-1)" in done.stderr
    else:
        found = zt.load(tmp_path / "out")
        assert found.done.sum() == len(found.failed) == 1
        assert "error: 1 of 2 items failed, as " in done.stderr


@pytest.mark.multiprocess
def test_processes_share_the_items(case, tmp_path):
    """One of three fails, which is told, and the others are kept; then the gap is filled."""
    solver = 'solver = { type = "LOBPCG", tol = 1e-9, max_iterations = 100 }'
    case.write_text(f"{LEVELS}[eigenstates]\nbasis_check = false\n{solver}\n", encoding="utf-8")
    out = tmp_path / "out"

    def sweep(first: int, *more: str) -> subprocess.CompletedProcess[str]:
        over = f"--over=eigenstates.solver.max_iterations={first},60,61"
        command = [sys.executable, "-m", "zitter", "sweep", case, over, f"--out={out}", "--json"]
        environment = os.environ | {
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        return subprocess.run(
            [*command, *more], capture_output=True, text=True, env=environment, timeout=600
        )

    done = sweep(1, "--processes=2")
    told = last_json(done.stdout)
    assert done.returncode == 1 and told["done"] == 2, done.stderr
    assert "LOBPCG stopped at max_iterations = 1" in told["failed"]["0"]
    assert "item 0 (eigenstates.solver.max_iterations=1) failed: LOBPCG stopped" in done.stderr
    before = {path: path.stat().st_mtime_ns for path in (out / "items").glob("*.h5")}
    again = sweep(62, "--processes=2")
    told = last_json(again.stdout)
    assert again.returncode == 0 and told["done"] == 3 and not told["failed"], again.stderr
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())
    energies = np.array(told["values"]["energies"])
    np.testing.assert_allclose(energies, -0.5, atol=1e-5)  # a² = 2 binds by half a hartree


@pytest.mark.multiprocess
def test_items_spread_over_devices(case, tmp_path, capsys):
    """Five items on two devices are three each, one to fill up; the same numbers."""
    arguments = ["sweep", str(case), "--over", "laser.intensity=1e13:1e15:log:5", "--quiet"]
    assert zitter(capsys, *arguments, "--out", tmp_path / "one")[0] == 0
    spread = [f"--out={tmp_path / 'two'}", "--mesh=batch=2"]
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "NPROC": "4",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-m", "zitter", *arguments, *spread]
    subprocess.run(command, check=True, env=environment, timeout=600)
    one, two = zt.load(tmp_path / "one"), zt.load(tmp_path / "two")
    assert two.info["shares"] == "{'batch': [3, 2]}"
    for name, values in one.values.items():
        np.testing.assert_allclose(two.values[name], values, atol=1e-12, err_msg=name)
