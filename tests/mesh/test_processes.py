"""Several processes over the loopback: the same numbers as one, and one that dies ends all."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import zitter as zt
from mesh.devices import simulated
from zitter import checks, cli, parts, processes, segments
from zitter.cli import launching

ROUNDING = 1e-12  # sums over devices are taken in another order
GRID = """
    [basis]
    type = "Grid"
    shape = [13, 8]
    spacing = 0.5
    [model]
    terms = ["Kinetic", "SoftCoulomb", { type = "LengthGauge", pulse = "laser" }]
    [laser]
    type = "SineSquared"
    amplitude = 0.1
    frequency = 1.0
    cycles = 1
    [initial]
    type = "WavePacket"
    center = [0.2, 0.1]
    momentum = [0.0, 0.3]
    width = 1.0
    [evolve]
    t = [0.0, 1.0]
    dt = 0.01
    propagator = "SplitOperator"
    observables = ["Norm", "Dipole"]
    save_every = 2
    save_states = true
    step_check = false
"""
ATOM = """
    [basis]
    type = "EigenBasis"
    atom = { type = "Model", terms = ["Kinetic", { type = "Coulomb", Z = 1 }] }
    energy_max = 2.0
    [basis.parent]
    type = "SphericalBasis"
    radial = { type = "RadialBSplines", n = 30, degree = 5, rmax = 20.0 }
    lmax = 4
    [model]
    terms = ["FieldFree", { type = "LengthGauge", pulse = "laser" }]
    [laser]
    type = "SineSquared"
    amplitude = 0.05
    frequency = 0.4
    cycles = 1
    [evolve]
    t = [0.0, 4.0]
    dt = 0.05
    propagator = "CrankNicolson"
    observables = ["Norm", "Dipole"]
    step_check = false
"""
SPLINES = """
    [basis]
    type = "SphericalBasis"
    radial = { type = "RadialBSplines", n = 30, degree = 5, rmax = 20.0 }
    lmax = 4
    [model]
    terms = ["Kinetic", { type = "Coulomb", Z = 1 }, { type = "LengthGauge", pulse = "laser" }]
    [laser]
    type = "SineSquared"
    amplitude = 0.05
    frequency = 0.4
    cycles = 1
    [evolve]
    t = [0.0, 4.0]
    dt = 0.05
    propagator = "AngularSplit"
    observables = ["Norm", "Dipole", "Density", { type = "Surface", radius = 12.0 }]
    step_check = false
"""
SPINORS = """
    [basis]
    type = "SpinorBasis"
    radial = { type = "RadialBSplines", n = 16, degree = 4, rmax = 6.0 }
    kappa_max = 4
    [model]
    terms = [
        "Dirac",
        { type = "Coulomb", Z = 1 },
        { type = "DiracLight", pulse = "laser", lmax = 2 },
    ]
    [laser]
    type = "SineSquared"
    amplitude = 50
    frequency = 20
    cycles = 1
    polarization = "x"
    [evolve]
    t = [0.0, 0.04]
    dt = 0.002
    propagator = "CrankNicolson"
    observables = ["Norm", "Energy", "Momentum", "KappaPopulations"]
    save_states = true
    step_check = false
"""
MOLECULE = """
    [basis]
    type = "ProlateSpheroidal"
    R = 2.0
    elements = [0.0, 1.5, 4.0, 8.0, 14.0, 20.0]
    nodes = 7
    eta = 9
    [model]
    terms = [
        "Kinetic",
        { type = "Coulomb", Z = 1, centers = [[0, 0, -1], [0, 0, 1]] },
        { type = "VelocityGauge", pulse = "laser" },
    ]
    [laser]
    type = "SineSquared"
    amplitude = 0.05
    frequency = 0.4
    cycles = 1
    [evolve]
    t = [0.0, 1.0]
    dt = 0.05
    propagator = "CrankNicolson"
    observables = ["Norm", "Dipole", "Density", { type = "Ionization", radius = 8.0 }]
    step_check = false
"""
DENSE = """
    [basis]
    type = "Grid"
    shape = [53]
    spacing = 0.4
    [model]
    terms = [
        { type = "Kinetic", order = 4 },
        "SoftCoulomb",
        { type = "LengthGauge", pulse = "laser" },
    ]
    [laser]
    type = "SineSquared"
    amplitude = 0.1
    frequency = 1.0
    cycles = 1
    [evolve]
    t = [0.0, 0.4]
    dt = 0.02
    propagator = "MatrixExponential"
    observables = ["Norm", "Dipole"]
    step_check = false
"""
GAS = """
    [system]
    type = "ElectronGas"
    n = 2
    rs = 5.0
    [wavefunction]
    jastrow = [{ type = "U", order = 3 }]
    [dmc]
    timestep = 2.0
    walkers = 24
    blocks = 12
    steps = 4
    equilibration = 4
"""
LEVELS = """
    [basis]
    type = "Grid"
    shape = [13, 12]
    spacing = 0.7
    [model]
    terms = ["Kinetic", "SoftCoulomb"]
    [eigenstates]
    n = 2
    basis_check = false
    solver = { type = "LOBPCG", tol = 1e-10 }
"""
JASTROW = """
    [system]
    type = "ElectronGas"
    n = 2
    rs = 5.0
    [wavefunction]
    jastrow = [{ type = "U", order = 3 }]
    [optimize]
    method = { type = "LinearMethod", iterations = 2 }
    walkers = 32
    draws = 8
"""
CASES = {
    "grid": (GRID, "space"),
    "atom": (ATOM, "l"),
    "splines": (SPLINES, "l"),
    "spinors": (SPINORS, "angular"),
    "molecule": (MOLECULE, "space"),
    "dense": (DENSE, "columns"),
    "gas": (GAS, "walkers"),
}
OTHERS = {
    "levels": (LEVELS, "space"),
    "jastrow": (JASTROW, "walkers"),
    "default": (GRID.replace("save_every = 2", ""), "space"),
}


def start(
    folder: Path, case: str, out: str, *options: Any, devices: int = 1
) -> subprocess.Popen[str]:
    """`zitter run`, whose process sees so many devices if it is alone."""
    text, _ = (CASES | OTHERS)[case]
    file = folder / f"{case}.toml"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "zitter", "run", file, "--out", folder / out, "--quiet"]
    # Processes that compute together are told by the command how many devices they have.
    alone = simulated(devices) if devices > 1 else {"JAX_PLATFORMS": "cpu"}
    return subprocess.Popen(
        [str(word) for word in (*command, *options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | alone | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def on(case: str, count: int) -> list[Any]:
    """Options for so many processes, each with one device."""
    mesh = ["--mesh", f"{(CASES | OTHERS)[case][1]}={count}"]
    return [*mesh, "--processes", count] if count > 1 else []


def run(folder: Path, case: str, out: str, *options: Any, devices: int = 1) -> Any:
    process = start(folder, case, out, *options, devices=devices)
    said, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert said == ""
    return zt.load(folder / out / "result.h5")


CHANGED = """
import sys, time
from zitter import cli, parts, processes
from zitter.results.base import Result
first = processes.found().index == 0
{change}
cli.main(sys.argv[1:])
"""


def launch_changed(
    monkeypatch: pytest.MonkeyPatch, folder: Path, case: str, change: str, *options: Any
) -> int:
    """`zitter run` on two processes that run the code `change` before they begin."""
    popen = subprocess.Popen

    def child(command, **more):
        return popen([sys.executable, "-c", CHANGED.format(change=change), *command[3:]], **more)

    monkeypatch.setattr(launching.subprocess, "Popen", child)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    file, out = folder / f"{case}.toml", folder / "out"
    file.write_text((CASES | OTHERS)[case][0], encoding="utf-8")
    words = ["run", file, "--out", out, "--quiet", *on(case, 2), *options]
    return launching.launch(2, [str(word) for word in words], out)


def check_same(one: Any, many: Any, case: str) -> None:
    if case == "gas":
        for name, trace in one.traces.items():
            np.testing.assert_array_equal(trace, many.traces[name])
        np.testing.assert_array_equal(one.positions, many.positions)
        return
    pairs = [(v, many.observables[k]) for k, v in one.observables.items()]
    states = [(one.final, many.final)]
    if one.states is not None:
        states += zip(one.states, many.states, strict=True)
    if one.basis.orthonormal:
        pairs += states
    else:  # among splines that nearly depend on each other coefficients say less than the state
        pairs += [(0.0, one.basis.norm(np.asarray(b) - np.asarray(a))) for a, b in states]
    for a, b in pairs:
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=0, atol=ROUNDING)


@pytest.mark.multiprocess
def test_two_processes_carry_a_packet_as_one_does(tmp_path):
    one = run(tmp_path, "grid", "one")
    many = run(tmp_path, "grid", "many", *on("grid", 2))
    assert many.info["shares"] == "{'space': [7, 6]}"
    assert not (tmp_path / "many" / "checkpoint").exists()
    check_same(one, many, "grid")


@pytest.mark.slow
@pytest.mark.multiprocess
def test_two_processes_estimate_a_run_together(tmp_path):
    process = start(tmp_path, "grid", "out", *on("grid", 2), "--dry-run")
    said, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert said.count("time to run") == 1
    assert not (tmp_path / "out").exists()


def test_all_processes_time_as_many_steps_as_the_first(monkeypatch):
    """Those of this clock would be all 1000: its calls take no time."""
    counts = []
    program = segments.Program(lambda arrays, state, n: counts.append(int(n)), 1024, 0, 0.0)
    monkeypatch.setattr(processes, "agree", lambda seconds: (0.5 / 7.9,))
    program.tried(None, None, 1000)
    assert counts == [1, 1, 7]


@pytest.mark.slow
@pytest.mark.multiprocess
def test_a_result_may_take_longer_to_write_than_a_process_to_be_given_up(tmp_path, monkeypatch):
    slow = """
processes.HEARTBEAT, save = 5, Result.save
def slowly(result, path):
    time.sleep(15)
    save(result, path)
Result.save = slowly
"""
    assert launch_changed(monkeypatch, tmp_path, "grid", slow) == 0
    assert zt.load(tmp_path / "out" / "result.h5").info["shares"] == "{'space': [7, 6]}"
    assert not (tmp_path / "out" / "checkpoint").exists()


@pytest.mark.slow
@pytest.mark.multiprocess
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("case", CASES)
def test_many_processes_give_the_numbers_of_one(tmp_path, case, count):
    check_same(run(tmp_path, case, "one"), run(tmp_path, case, "many", *on(case, count)), case)


def check_levels(one: Any, many: Any, tol: float) -> None:
    """The error of an energy is the square of the residual, here a thousandth of `tol` at most."""
    np.testing.assert_allclose(many.energies, one.energies, rtol=0, atol=1e-3 * tol)
    for a, b in zip(one.states, many.states, strict=True):  # the sign is free
        assert abs(float(one.basis.inner(a, b))) == pytest.approx(1, abs=10 * tol)
    assert np.max(many.residuals) <= tol


@pytest.mark.slow
@pytest.mark.multiprocess
@pytest.mark.parametrize(
    ("solver", "tol", "limit"),
    [
        ("LOBPCG", 1e-10, "max_iterations=3"),
        ("ChebyshevFilter", 1e-8, "max_iterations=1"),
        ("ImaginaryTime", 1e-5, "max_updates=100"),
    ],
)
def test_levels_found_by_two_processes_are_those_of_one(tmp_path, solver, tol, limit):
    """As a whole, and begun by two processes and finished by one."""
    method = ["--set", f'eigenstates.solver={{type="{solver}", tol={tol}}}']
    one = run(tmp_path, "levels", "one", *method)
    many = run(tmp_path, "levels", "many", *method, *on("levels", 2))
    assert many.info["shares"] == "{'space': [7, 6]}"
    check_levels(one, many, tol)
    limited = [*method, "--set", f"eigenstates.solver.{limit}"]
    process = start(tmp_path, "levels", "short", *limited, *on("levels", 2))
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 1 and f"stopped at {limit.replace('=', ' = ')}" in errors, errors
    rest = run(tmp_path, "levels", "short", *method, "--extend")
    if "iterations" in limit:  # a limit of updates cuts a round short, and the course is another
        assert len(rest.info["residual_history"]) == len(one.info["residual_history"])
    check_levels(one, rest, tol)


@pytest.mark.slow
@pytest.mark.multiprocess
def test_an_optimization_begun_by_two_processes_goes_on_with_one(tmp_path):
    """Local energies have the same bits; sums over the table of derivatives differ by rounding."""
    one = run(tmp_path, "jastrow", "one")
    process = start(tmp_path, "jastrow", "two", *on("jastrow", 2), "--checkpoint-every", 0)
    wait_for_state(process, tmp_path / "two")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 1 and "The state is saved in" in errors, errors
    rest = run(tmp_path, "jastrow", "two", "--resume")
    (before,), (after,) = one.stages, rest.stages
    assert after.energies[0] == before.energies[0]
    np.testing.assert_allclose(after.energies, before.energies, rtol=1e-9)
    assert after.best == before.best


@pytest.mark.slow
@pytest.mark.multiprocess
def test_two_processes_extend_a_run_whose_records_would_lie_farther_apart(tmp_path):
    """The method is prepared anew for the records of the first run: by all processes, as it asks
    for the largest and smallest values of arrays that lie on all of them."""
    more = [*on("default", 2), "--set", 'evolve.propagator="Taylor"', "--set", "evolve.dt=0.001"]
    more += ["--set", "evolve.save_states=false"]
    run(tmp_path, "default", "out", *more, "--set", "evolve.t=[0.0, 0.01]", "--keep-checkpoint")
    longer = ["--set", "evolve.t=[0.0, 2.0]", "--extend"]
    process, log = start(tmp_path, "default", "out", *more, *longer), tmp_path / "out" / "log.txt"
    end = time.monotonic() + 120
    while "(resumed)" not in log.read_text(encoding="utf-8"):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and "on request" in errors, errors


def wait_for_state(process: subprocess.Popen[str], out: Path, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not any(out.glob("checkpoint/**/state.h5")):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.01)


def children(process: subprocess.Popen[str]) -> list[int]:
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    return [int(number) for number in found.split()]


def files_of(checkpoint: Path) -> list[str]:
    """Names of all files, while some come and go."""
    return [name for _, _, names in os.walk(checkpoint) for name in names]


def wait_for_save(process: subprocess.Popen[str], checkpoint: Path) -> None:
    while process.poll() is None and not any(n.endswith(".tmp") for n in files_of(checkpoint)):
        time.sleep(0.0005)


def save_is_unfinished(checkpoint: Path) -> bool:
    """Whether files lie there that have no name yet, or parts that no state names."""
    states = checkpoint.glob("**/state*.h5")
    named = {part for state in states for part in parts.named_in(state)}
    return any(
        name.endswith(".tmp") or (name.startswith("part-") and name not in named)
        for name in files_of(checkpoint)
    )


KILLS = 10
LONGER = {"grid": "evolve.t=[0.0, 4.0]", "gas": "dmc.blocks=60"}  # most attempts come in time


@pytest.mark.slow
@pytest.mark.multiprocess
@pytest.mark.parametrize("case", LONGER)
def test_a_run_whose_process_is_killed_goes_on_with_the_same_numbers(tmp_path, case):
    """At random moments, and every other time within a save, since every segment is saved.

    It goes on with one, two and four processes, and with four devices of one process.
    """
    longer = ["--set", LONGER[case]]
    one = run(tmp_path, case, "one", *longer)
    chance = random.Random(0)
    killed = unfinished = 0
    for attempt in range(2 * KILLS):
        if killed == KILLS:
            break
        out = f"run{attempt}"
        checkpoint = tmp_path / out / "checkpoint"
        process = start(tmp_path, case, out, *longer, *on(case, 2), "--checkpoint-every", 0)
        wait_for_state(process, tmp_path / out)
        alive, which = children(process), chance.randrange(2)
        if attempt % 2:
            wait_for_save(process, checkpoint)
            time.sleep(chance.uniform(0.0, 0.01))
        else:
            time.sleep(chance.uniform(0.0, 0.5))
        if len(alive) < 2 or len(children(process)) < 2:  # on a fast machine it may be over
            assert process.wait(timeout=60) == 0
            continue
        os.kill(alive[which], signal.SIGKILL)
        began = time.monotonic()
        _, errors = process.communicate(timeout=60)
        assert time.monotonic() - began < 60
        if (tmp_path / out / "result.h5").exists():  # it was done by then
            continue
        killed += 1
        unfinished += save_is_unfinished(checkpoint)
        assert process.returncode == 1
        assert "was ended by SIGKILL, so that the others were ended." in errors
        assert "--resume continues from there." in errors
        ways = [({}, on(case, 1)), ({}, on(case, 2)), ({"devices": 4}, on(case, 4)[:2])]
        chosen = [*ways[:2], ({}, on(case, 4))] if killed == 1 else [ways[killed % 3]]
        for more, options in chosen:
            again = f"{out}-{len(os.listdir(tmp_path))}"
            shutil.copytree(tmp_path / out, tmp_path / again)
            rest = run(tmp_path, case, again, "--resume", *longer, *options, **more)
            check_same(one, rest, case)
    assert killed == KILLS
    assert unfinished >= KILLS // 3


@pytest.mark.slow
@pytest.mark.multiprocess
def test_what_only_one_process_knows_is_told_and_logged(tmp_path, monkeypatch):
    full = """
def write(path, arrays):
    raise OSError(28, "No space left on device", str(path))
parts.write = parts.write if first else write
"""
    with pytest.raises(checks.RunError) as error:
        launch_changed(monkeypatch, tmp_path, "grid", full)
    told = str(error.value)
    assert told.startswith("process 1 of 2: the run broke off: cannot write ")
    assert told.endswith("No space left on device. Nothing was saved.")
    assert told in (tmp_path / "out" / "log.txt").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.multiprocess
def test_a_process_that_hangs_ends_the_others_within_a_minute(tmp_path):
    process = start(tmp_path, "gas", "out", *on("gas", 2), "--checkpoint-every", 0)
    wait_for_state(process, tmp_path / "out")
    os.kill(children(process)[1], signal.SIGSTOP)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "so that the others were ended" in errors


@pytest.mark.slow
@pytest.mark.multiprocess
def test_a_signal_stops_all_processes_with_their_state_saved(tmp_path):
    process = start(tmp_path, "gas", "out", *on("gas", 2), "--checkpoint-every", 0)
    wait_for_state(process, tmp_path / "out")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    # Between two parts of a run nobody counts steps.
    assert errors.startswith(("error: stopped at", "error: stopped on request."))
    assert "The state is saved in" in errors
    assert errors.count("\n") == 1


def test_where_the_environment_puts_a_process():
    slurm = {
        "SLURM_JOB_ID": "4096",
        "SLURM_STEP_NODELIST": "gpu[003-004,9],login1",
        "SLURM_STEP_NUM_TASKS": "16",
        "SLURM_PROCID": "9",
        "SLURM_LOCALID": "1",
    }
    assert processes.found(slurm) == processes.Place("gpu003:47631", 16, 9, 1)
    assert processes.found(slurm | {"SLURM_STEP_NUM_TASKS": "1"}) is None
    assert processes.found({"SLURM_JOB_ID": "1", "SLURM_NTASKS": "8"}) is None  # a batch script
    two = slurm | {"SLURM_STEP_ID": "1"}  # two steps of one job
    assert processes.found(two) == processes.Place("gpu003:47728", 16, 9, 1)
    assert processes.found({"ZITTER_PROCESS": "node7:1234 8 5"}) == processes.Place(
        "node7:1234", 8, 5
    )
    with pytest.raises(checks.InputError, match=r'must be like "host:47631 COUNT INDEX"'):
        processes.found({"ZITTER_PROCESS": "node7:1234 8 8"})


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("rack[0-1]n[0-3]", "rack0n0"),
        ("gpu[003-005,9]-ib,login1", "gpu003-ib"),
        ("a-1,b[1-2]", "a-1"),
        ("n[7]", "n7"),
        ("", ""),
    ],
)
def test_the_first_of_the_nodes_that_slurm_lists(nodes, first):
    assert processes._first_host(nodes) == first


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("SLURM_PROCID", {"SLURM_STEP_NODELIST": "n1", "SLURM_NTASKS": "2"}),
        ("SLURM_NTASKS", {"SLURM_STEP_NODELIST": "n1"}),
        ("OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE": "2"}),
    ],
)
def test_places_are_whole_numbers(name, others):
    with pytest.raises(checks.InputError, match=f'{name}: must be a whole number, but is "two"'):
        processes.found(others | {name: "two"})


def test_where_open_mpi_puts_a_process():
    words = {"SIZE": "4", "RANK": "3", "LOCAL_RANK": "1", "LOCAL_SIZE": "2"}
    many = {f"OMPI_COMM_WORLD_{name}": value for name, value in words.items()}
    node = many | {"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
    assert processes.found(node) == processes.Place("127.0.0.1:47631", 4, 3, 1)
    four = many | {"OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"}
    assert processes.found(four) == processes.Place("10.96.0.1:47631", 4, 3, 1)
    # Version 5 on many nodes: known within a job of Slurm, whose step is that of a daemon.
    daemon = {"SLURM_STEP_NODELIST": "n2", "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}
    five = many | daemon | {"SLURM_JOB_NODELIST": "n[1-2]", "PMIX_NAMESPACE": "prterun-n1-77@1"}
    found = processes.found(five)
    assert found is not None and (found.count, found.index, found.local) == (4, 3, 1)
    assert found.address.startswith("n1:") and found == processes.found(dict(five))
    other = processes.found(five | {"PMIX_NAMESPACE": "prterun-n1-78@1"})
    assert other is not None and other.address != found.address  # two jobs on one node
    nowhere = processes.found(many)
    assert nowhere is not None and nowhere.address == ""
    assert processes.share(nowhere, range(8)) == range(6, 8)  # a sweep needs no address
    with pytest.raises(checks.InputError, match=r"ZITTER_PROCESS: must be given as"):
        processes.join(nowhere)


def test_items_are_shared_by_processes_that_do_not_meet():
    places = [processes.Place("node1:4711", 3, index) for index in range(3)]
    assert [processes.share(place, range(8)) for place in places] == [
        range(2),
        range(2, 5),
        range(5, 8),
    ]
    assert [len(processes.share(place, [0])) for place in places] == [0, 0, 1]
    assert processes.share(None, range(8)) == range(8)


@pytest.mark.parametrize(
    ("visible", "local", "devices", "taken"),
    [("0,1,2,3", 2, 1, "2"), ("4,5,6,7", 1, 2, "6,7"), ("5", 3, 1, "5"), ("0,1", 3, 1, "1")],
)
def test_a_process_takes_the_gpus_of_its_number(monkeypatch, visible, local, devices, taken):
    monkeypatch.setenv("JAX_PLATFORMS", "")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    processes.take_gpus(processes.Place("node1:4711", 4, local, local), devices)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == taken


@pytest.mark.parametrize(
    ("visible", "local", "devices", "numbers"),
    [
        ("0,1,2,3", 2, 1, [2]),  # --gpus-per-node=4
        ("0,1,2,3", 1, 2, [2, 3]),
        ("0", 3, 1, [0]),  # --gpus-per-task=1
        ("0,1", 1, 2, [0, 1]),  # --gpus-per-task=2
        ("0,1", 3, 1, [1]),
        ("", 1, 1, None),
    ],
)
def test_a_process_meets_the_others_with_gpus_that_it_sees(
    monkeypatch, visible, local, devices, numbers
):
    """Whatever JAX finds out about Slurm by itself: it knows no process that sees one GPU."""
    met: dict[str, Any] = {}
    for name, value in {"JOB_ID": "1", "PROCID": "5", "LOCALID": str(local)}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setenv("JAX_PLATFORMS", "")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setattr(processes, "_joined", None)
    monkeypatch.setattr(jax.distributed, "initialize", lambda *where, **how: met.update(how))
    monkeypatch.setattr(jax.config, "update", met.__setitem__)
    processes.join(processes.Place("node1:4711", 8, 5, local), devices)
    assert met["local_device_ids"] == numbers
    assert met["jax_enable_preemption_service"] is False


def test_processes_of_a_sweep_take_the_gpus_of_the_mesh_in_its_file(tmp_path, monkeypatch):
    file = tmp_path / "case.toml"
    file.write_text("mesh = { batch = 2 }", encoding="utf-8")
    monkeypatch.setenv("ZITTER_PROCESS", "node1:4711 2 1 1")
    monkeypatch.delenv("ZITTER_LAUNCHER", raising=False)
    taken = []
    monkeypatch.setattr(processes, "take_gpus", lambda place, devices: taken.append(devices))
    assert cli.status(["sweep", str(file), "--over", "laser.cep=0,1"]) == 2
    assert cli.status(["sweep", str(file), "--over", "laser.cep=0,1", "--mesh", "batch=4"]) == 2
    assert taken == [2, 4]
