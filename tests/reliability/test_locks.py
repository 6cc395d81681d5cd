"""One run per folder: the second is refused, and a kill leaves no lock."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import zitter as zt
from reliability.disks import Watched, put
from reliability.runs import Run, same
from zitter import files, locks, sweeps
from zitter.checkpoints import Checkpoint
from zitter.qmc import runs

HOLDING = """
import sys, time
from pathlib import Path
from zitter import locks
with locks.held(Path(sys.argv[1]), "--out"):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that works in tmp_path / "out"."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.wait()


@pytest.mark.parametrize("kind", ["evolve", "sweep"])
def test_a_second_run_is_refused(holder, tmp_path, capsys, monkeypatch, kind):
    """Not after a kill: the file is there, but nobody holds it."""
    monkeypatch.setattr(locks, "PATIENCE", 0.2)
    run = Run(kind, tmp_path)
    assert run.status() == 2
    told = capsys.readouterr().err
    name = f"process {holder.pid} on {re.escape(socket.gethostname())}, since "
    assert re.search(f"^error: --out: must not be in use by another run, but .* {name}", told)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (run.out / locks.NAME).exists()
    assert run.status() == 0
    assert not run.leftovers()


def test_many_may_begin_to_share_a_folder_at_the_same_moment(tmp_path):
    """One at a time clears up, the others wait for that; then all are there together."""
    begin, together = threading.Barrier(8), threading.Barrier(8)
    clearing, seen, problems = threading.Lock(), [], []

    def clear() -> None:
        with clearing:
            seen.append(together.n_waiting)
            time.sleep(0.05)

    def share() -> None:
        try:
            begin.wait(20)
            with locks.shared(tmp_path / "out", "--out", clear):
                together.wait(20)
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=share) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert seen and set(seen) == {0}  # nobody clears up where another is at work


def test_a_folder_may_vanish_while_it_is_found_to_exist(tmp_path, monkeypatch):
    """`mkdir` says so in the words of a file that stands in its place."""
    original, tries = Path.mkdir, []

    def mkdir(path, *options, **more):
        tries.append(path)
        if len(tries) < 3:
            raise FileExistsError(17, "File exists", str(path))
        original(path, *options, **more)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with locks.held(tmp_path / "out", "--out"):
        assert (tmp_path / "out" / locks.NAME).exists()
    assert len(tries) == 3


def test_a_checkpoint_belongs_to_one_run(holder, tmp_path):
    H = zt.discretize(zt.Model([zt.Kinetic()]), zt.Grid(16, 0.5))
    psi = zt.eigenstates(H, 1).states[0]
    with pytest.raises(zt.InputError, match="checkpoint: must not be in use by another run"):
        zt.evolve(H, psi, (0, 1), 0.1, checkpoint=tmp_path / "out")


@pytest.mark.parametrize("walk", [zt.qmc.vmc, zt.qmc.dmc])
def test_walkers_of_a_run_stay_while_it_is_at_work(holder, tmp_path, walk):
    """A second one is refused before it puts down walkers of its own."""
    psi = zt.qmc.SlaterJastrow(zt.qmc.Trap(1.0, 0.8))
    pace = {"timestep": 0.05} if walk is zt.qmc.dmc else {}
    with pytest.raises(zt.InputError, match="checkpoint: must not be in use by another run"):
        walk(psi, walkers=4, blocks=4, equilibration=10, checkpoint=tmp_path / "out", **pace)
    assert not (tmp_path / "out" / "settled").exists()


def _stopped(*given):
    raise KeyboardInterrupt


def test_blocks_of_another_run_go_with_its_walkers(tmp_path, monkeypatch):
    """A run that begins anew and is killed before its first block goes on by itself."""
    psi = zt.qmc.SlaterJastrow(zt.qmc.Trap(1.0, 0.8))
    options = {"walkers": 4, "blocks": 4, "equilibration": 10, "checkpoint": tmp_path / "out"}
    zt.qmc.vmc(psi, seed=1, **options)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(runs.Run, "drive", _stopped)
        zt.qmc.vmc(psi, seed=2, **options)
    again = zt.qmc.vmc(psi, seed=2, resume=True, **options)
    assert again.energy == zt.qmc.vmc(psi, seed=2, **{**options, "checkpoint": None}).energy


def test_sweeps_share_a_folder(tmp_path):
    """A run does not come between them; the first one clears what killed ones left."""
    out, cleared = tmp_path / "a" / "b", []
    with locks.shared(out, "--out", lambda: cleared.append(1)):
        with locks.shared(out, "--out", lambda: cleared.append(2)):
            assert cleared == [1]
        with pytest.raises(locks.InUse), locks.held(out, "--out"):
            pass
    assert not (tmp_path / "a").exists()  # it was made for the lock, and nothing is in it
    with locks.held(out, "--out"):
        (out / "file").touch()
    assert [path.name for path in out.iterdir()] == ["file"]


def test_who_waits_comes_next(tmp_path):
    """Also when the file was removed and made anew meanwhile."""
    order, waiting = [], threading.Event()

    def second():
        def wait(who):
            order.append(who)
            waiting.set()

        with locks.held(tmp_path, "--out", wait):
            order.append("second")

    with locks.held(tmp_path, "--out"):
        other = threading.Thread(target=second)
        other.start()
        assert waiting.wait(20)
        order.append("first")
    other.join(20)
    assert order[0].startswith(f"process {os.getpid()} on ")
    assert order[1:] == ["first", "second"]
    assert not (tmp_path / locks.NAME).exists()


@pytest.mark.parametrize("ended", [False, True], ids=["at work", "ended"])
def test_a_folder_that_was_removed_and_is_another_ones_now_is_let_alone(tmp_path, capsys, ended):
    """Whether the other run is still at work there or has put down its result."""

    class Replaced(Watched):
        left = 10**6  # states until then

        def replace(self, source, target):
            super().replace(source, target)
            self.left -= target.name == "state.h5"
            if self.left:
                return
            shutil.rmtree(run.out)
            run.out.mkdir()
            if not ended:
                (run.out / locks.NAME).touch()
            (run.out / "result.h5").write_bytes(b"another")
            (run.out / "log.txt").write_bytes(b"")

    run, disk = Run("evolve", tmp_path), Replaced()
    with put(disk):
        assert run.status() == 0
        shutil.rmtree(run.out)
        disk.left = 10**6 - disk.left  # the last one
        assert run.status() == 1
    told = capsys.readouterr().err
    assert told.count("error: ") == 1 and "what is there now is not its own" in told
    assert (run.out / "result.h5").read_bytes() == b"another"
    assert (run.out / "log.txt").read_bytes() == b""
    assert (run.out / locks.NAME).exists() is not ended


@pytest.mark.parametrize("kind", ["evolve", "optimize"])
def test_a_result_is_kept_whose_folder_was_removed(tmp_path, capsys, kind):
    """The run makes the folder anew, and holds that one: all its files are there in the end."""

    class Gone(Watched):
        states = 0
        last = 10**6

        def replace(self, source, target):
            super().replace(source, target)
            self.states += target.name == "state.h5"
            if self.states == self.last:
                self.last = 0
                shutil.rmtree(run.out)

    run, whole = Run(kind, tmp_path), Gone()
    with put(whole):
        assert run.status() == 0
    wanted, names = run.numbers(), sorted(path.name for path in run.out.iterdir())
    shutil.rmtree(run.out)
    gone = Gone()
    gone.last = whole.states
    with put(gone):
        assert run.status() == 0, capsys.readouterr().err
    assert same(run.numbers(), wanted)
    assert sorted(path.name for path in run.out.iterdir()) == names
    assert not run.leftovers()


def test_a_folder_that_another_one_has_made_anew_and_holds_is_its_own(tmp_path):
    out = tmp_path / "out"
    with locks.held(out, "--out"):
        shutil.rmtree(out)
        with locks.held(out, "--out"), pytest.raises(locks.Taken, match="not its own"):
            locks.take_again(out)


def test_a_checkpoint_that_was_removed_and_is_another_ones_now_is_let_alone(tmp_path):
    """Also where no command holds the folder."""
    checkpoint = Checkpoint(tmp_path / "out")
    with pytest.raises(locks.Taken, match="not its own"), checkpoint.held():
        shutil.rmtree(tmp_path / "out")
        with locks.held(tmp_path / "out", "checkpoint"):
            checkpoint.empty()
    assert not list(tmp_path.glob("**/.lock"))


def test_the_next_run_clears_temporary_files(tmp_path):
    run = Run("evolve", tmp_path)
    (run.out / "checkpoint").mkdir(parents=True)
    for name in (".result.h5.0123456789ab.tmp", "checkpoint/.state.h5.0123456789ab.tmp"):
        (run.out / name).write_bytes(b"half")
    (run.out / ".mine").touch()
    assert run.status() == 0
    assert run.leftovers() == [str(run.out / ".mine")] or ".mine" in run.leftovers()
    assert not list(run.out.glob(f"**/{files.TEMPORARY}"))


@pytest.mark.parametrize("kind", ["evolve", "sweep"])
def test_files_that_are_not_the_runs_own_stay(tmp_path, kind):
    """Neither those of other programs nor those of a run at work in a folder inside."""
    run = Run(kind, tmp_path)
    other = run.out / "inside"
    alive = f"@{socket.gethostname()[:64]}@{os.getpid()}@0123456789ab.tmp"
    (other / "checkpoint").mkdir(parents=True)
    names = [".notes.tmp", "inside/.notes.tmp", f"inside/.result.h5{alive}",
             f"inside/checkpoint/.state.h5{alive}"]  # fmt: skip
    for name in names:
        (run.out / name).write_bytes(b"mine")
    with locks.held(other, "--out"):
        assert run.status() == 0
    assert all((run.out / name).read_bytes() == b"mine" for name in names)


def test_a_sweep_leaves_alone_what_another_machine_is_writing(tmp_path):
    """There locks may not reach; a process that has ended here, or a day, tells that nobody is."""
    here, ended = socket.gethostname()[:64], subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    items = tmp_path / "items"
    items.mkdir()
    alive = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    makers = {
        "ended": (here, ended.pid, 0),
        "same-number": (here, os.getpid(), 0),
        "alive": (here, alive.pid, 0),
        "elsewhere": ("node7", 1, 0),
        "long-ago": ("node7", 1, 2 * files.DAY),
    }
    for name, (host, process, age) in makers.items():
        lock = tmp_path / "locks" / name / locks.NAME
        lock.parent.mkdir(parents=True)
        lock.write_text(f"process {process} on {host}, since 2026-01-01 00:00:00", "utf-8")
        half = items / f".{name}.h5@{host}@{process}@0123456789ab.tmp"
        half.write_bytes(b"half")
        for path in (lock, half):
            os.utime(path, (time.time() - age,) * 2)
    with locks.held(tmp_path / "locks" / "alive", "out"):
        sweeps.Store(tmp_path).clear_killed()
        held = {path.name for path in (tmp_path / "locks").iterdir()}
    alive.communicate(b"\n")
    kept = {path.name[1:].partition(".")[0] for path in items.iterdir()}
    assert kept == held == {"alive", "elsewhere"}


def test_temporary_names_tell_who_writes(tmp_path):
    with files.whole(tmp_path / "result.h5") as sink:
        sink.write(b"half")
        (half,) = tmp_path.iterdir()
    name = f".result.h5@{socket.gethostname()[:64]}@{os.getpid()}@"
    assert half.match(files.TEMPORARY) and half.name.startswith(name)
