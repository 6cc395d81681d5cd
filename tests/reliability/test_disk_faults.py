"""A disk that fails at any system call, and kills at any of them: nothing is lost or half written.

Every kind of run is repeated with call number k failing, or with the process killed there; resumed
it must give the same bits as a run that nobody disturbed.
"""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import zitter as zt
from reliability.disks import Failing, Killed, Killing, Watched, put
from reliability.runs import CASES, Run, same
from zitter import io

FEW = 4  # moments of each kind in the fast tests; all of them in the slow ones


@pytest.fixture(scope="module", params=CASES)
def undisturbed(request, tmp_path_factory):
    """(the kind, its numbers, what it asked of the disk)."""
    run = Run(request.param, tmp_path_factory.mktemp(request.param))
    disk = Watched()
    with put(disk):
        assert run.status() == 0
    assert not run.leftovers()
    return request.param, run.numbers(), disk


def spread(moments: list[int], count: int) -> list[int]:
    return sorted({moments[i * (len(moments) - 1) // (count - 1)] for i in range(count)})


def fails_and_resumes(kind: str, k: int, numbers, folder: Path, capsys) -> None:
    run = Run(kind, folder / f"failed-{kind}-{k}")
    with put(Failing(k)):
        code = run.status()
    told = capsys.readouterr().err
    lines = [line for line in told.splitlines() if not line.startswith("warning: ")]
    if code:  # a log that could not be written ends nothing
        assert code == 1
        assert len(lines) == 1 and lines[0].startswith("error: "), told
        assert "No space left on device" in lines[0]
        assert not list(run.out.glob("**/.*")), "temporary files were left"
    if (run.out / "result.h5").exists():
        zt.load(run.out)
    assert run.status("--resume") == 0, capsys.readouterr().err
    assert same(run.numbers(), numbers)
    assert not run.leftovers()


def dies_and_resumes(kind: str, k: int, numbers, folder: Path, capsys) -> None:
    run = Run(kind, folder / f"killed-{kind}-{k}")
    with put(Killing(k)), pytest.raises(Killed):
        run.status()
    assert run.status("--resume") == 0, capsys.readouterr().err
    assert same(run.numbers(), numbers)
    assert not run.leftovers()


def test_full_disks(undisturbed, tmp_path, capsys):
    kind, numbers, disk = undisturbed
    for k in spread(disk.moments(), FEW):
        fails_and_resumes(kind, k, numbers, tmp_path, capsys)


def test_kills(undisturbed, tmp_path, capsys):
    kind, numbers, disk = undisturbed
    for k in spread(disk.moments(), FEW):
        dies_and_resumes(kind, k, numbers, tmp_path, capsys)


@pytest.mark.slow
def test_full_disks_at_all_moments(undisturbed, tmp_path, capsys):
    kind, numbers, disk = undisturbed
    for k in disk.moments():
        fails_and_resumes(kind, k, numbers, tmp_path, capsys)


@pytest.mark.slow
def test_kills_at_all_moments(undisturbed, tmp_path, capsys):
    """Over all kinds more than 300."""
    kind, numbers, disk = undisturbed
    for k in disk.moments():
        dies_and_resumes(kind, k, numbers, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_real_kills(kind, tmp_path):
    """SIGKILL, at calls and at any time; in a process where JAX has not started anything yet."""
    program = Path(__file__).parents[2] / "benchmarks" / "disturbed_runs.py"
    found = subprocess.run(
        [sys.executable, program, "--kinds", kind, "--kills", "10", "--full", "4"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr


def test_hdf5_survives_any_failing_write(tmp_path):
    """Many tables, so that HDF5 writes while it builds the file; it must close in peace."""
    import numpy as np

    arrays = {f"x{i}": io.Variable(np.arange(50.0) * i, ("n",)) for i in range(12)}
    data = io.Dataset(arrays, {"text": "a" * 3000})
    watched = Watched()
    with put(watched):
        io.write(tmp_path / "a.h5", data)
    before = (tmp_path / "a.h5").read_bytes()
    for k in range(len(watched.calls)):
        with put(Failing(k, errno.EFBIG)):
            if watched.calls[k][0] == "remove":
                continue
            with pytest.raises(OSError, match=r"File too large.*a\.h5"):
                io.write(tmp_path / "a.h5", data)
        assert (tmp_path / "a.h5").read_bytes() == before
        assert len(list(tmp_path.iterdir())) == 1


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
from zitter import cli
sys.exit(cli.status(sys.argv[1:]))
"""


def test_a_limit_of_the_size_of_files(tmp_path, capsys):
    """RLIMIT_FSIZE, as queues set it: the state fits, the result does not."""
    run = Run("evolve", tmp_path / "limited")
    code = LIMITED.format(limit=9000)
    child = subprocess.run(
        [sys.executable, "-c", code, *run.command()],
        capture_output=True, text=True, env=os.environ | {"JAX_PLATFORMS": "cpu"}, timeout=300,
    )  # fmt: skip
    told = [line for line in child.stderr.splitlines() if not line.startswith("warning: ")]
    assert child.returncode == 1, child.stderr
    assert len(told) == 1 and "File too large" in told[0], child.stderr
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    whole = Run("evolve", tmp_path / "whole")
    assert run.status("--resume") == 0 and whole.status() == 0
    assert same(run.numbers(), whole.numbers())


def test_a_folder_that_is_removed_while_a_run_is_on(tmp_path, capsys):
    import shutil

    class Gone(Watched):
        def replace(self, source, target):
            super().replace(source, target)
            if target.name == "state.h5":
                shutil.rmtree(run.out)

    run = Run("evolve", tmp_path)
    with put(Gone()):
        code = run.status()
    told = capsys.readouterr().err
    assert code == 1
    assert told.count("error: ") == 1 and "No such file or directory" in told
    assert "Nothing was saved" in told
    assert not run.out.exists()  # nobody has made it anew for a line of its log
