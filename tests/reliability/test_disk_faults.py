"""A disk that fails at any system call, and kills at any of them: nothing is lost or half written.

Every kind of run is repeated with call number k failing, or with the process killed there; resumed
it must give the same bits as a run that nobody disturbed. Disks fail in other ways as well.
"""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from marks import slow
from reliability.disks import Failing, Killed, Killing, Watched, put
from reliability.faulty_disks import SIZES, Faults, spread
from reliability.runs import CASES, Run, same
from zitter import io

FEW = 3  # moments of each kind in the fast tests; all of them in the slow ones
RARE = ("eigenstates", "optimize", "dmc", "sweep")  # of other faults in the fast tests: the others


@pytest.fixture(scope="module", params=CASES)
def every(request, tmp_path_factory):
    return Faults(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module", params=[slow(kind) if kind in RARE else kind for kind in CASES])
def faults(request, tmp_path_factory):
    return Faults(request.param, tmp_path_factory.mktemp(request.param))


def dies_and_resumes(kind: str, k: int, numbers, folder: Path, capsys) -> bool:
    """Whether it was killed: one that is slowed down by others saves more often, and may have ended
    with fewer calls than the one that was counted."""
    run = Run(kind, folder / f"killed-{kind}-{k}")
    killing, killed = Killing(k), False
    with put(killing):
        try:
            run.status()
        except Killed:
            killed = True
    assert killed or len(killing.calls) <= k
    assert run.status("--resume") == 0, capsys.readouterr().err
    assert same(run.numbers(), numbers)
    assert not run.leftovers()
    return killed


def test_full_disks(every):
    every.full_disks(spread(every.moments(), FEW))
    assert not every.wrong


def test_disks_that_become_read_only(faults):
    faults.read_only_disks(spread(faults.moments(), FEW))
    assert not faults.wrong


def test_limits_of_the_size_of_files(faults):
    """RLIMIT_FSIZE, as queues set it."""
    faults.limits_of_size(SIZES[1:-1:2])
    assert not faults.wrong


def test_folders_that_are_removed_while_a_run_is_on(faults):
    faults.removed_folders([1, 3])
    assert not faults.wrong


@pytest.mark.slow
def test_folders_that_are_removed_after_any_of_their_files(every):
    every.removed_folders(range(1, every.replacements() + 1))
    assert not every.wrong


def test_kills(every, tmp_path, capsys):
    moments = spread(every.disk.moments(), FEW)
    killed = [dies_and_resumes(every.kind, k, every.numbers, tmp_path, capsys) for k in moments]
    assert sum(killed) >= FEW - 1


@pytest.mark.slow
def test_full_disks_at_many_calls(every):
    """All of them: `benchmarks/disturbed_runs.py`."""
    every.full_disks(spread(every.moments(), 60))
    assert not every.wrong


@pytest.mark.slow
def test_kills_at_all_moments(every, tmp_path, capsys):
    """Over all kinds more than 300."""
    moments = every.disk.moments()
    killed = [dies_and_resumes(every.kind, k, every.numbers, tmp_path, capsys) for k in moments]
    assert sum(killed) > 0.9 * len(moments)


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
            if watched.calls[k][0] in ("remove", "sync_folder"):
                continue
            with pytest.raises(OSError, match=r"File too large.*a\.h5"):
                io.write(tmp_path / "a.h5", data)
        assert (tmp_path / "a.h5").read_bytes() == before
        assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_is_removed_is_not_made_again_for_a_line_of_its_log(tmp_path, capsys):
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
    assert not run.out.exists()
