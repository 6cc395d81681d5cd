"""A terminal that is closed: the run saves its state and ends, although nobody can read why."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time

import pytest

from reliability.runs import Run, same

SLOW = ("--set", "evolve.t=[0, 20000]", "--set", "evolve.save_every=100",
        "--set", "evolve.step_check=false")  # fmt: skip


@pytest.mark.slow
def test_a_closed_terminal(tmp_path, capsys):
    run = Run("evolve", tmp_path)
    command = [word for word in run.command(*SLOW) if word != "-q"]  # with its progress bar
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "zitter", *command],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # its terminal
        env=os.environ | {"JAX_PLATFORMS": "cpu", "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    os.set_blocking(ours, False)
    deadline = time.monotonic() + 600
    while not (run.out / "checkpoint" / "state.h5").exists():
        assert child.poll() is None and time.monotonic() < deadline
        try:
            os.read(ours, 65536)
        except BlockingIOError:
            time.sleep(0.02)
    os.close(ours)
    assert child.wait(timeout=60) == 1
    assert "stopped at " in (run.out / "log.txt").read_text().splitlines()[-1]
    assert not run.leftovers() or set(run.leftovers()) == {"checkpoint"}


def test_nohup(tmp_path, monkeypatch):
    """A signal that is to be ignored stays ignored."""
    import signal

    from reliability.disks import Watched, put

    class Hanging(Watched):
        def sync(self, handle):
            super().sync(handle)
            os.kill(os.getpid(), signal.SIGHUP)

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run, whole = Run("evolve", tmp_path / "run"), Run("evolve", tmp_path / "whole")
        with put(Hanging()):
            assert run.status() == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert whole.status() == 0
    assert same(run.numbers(), whole.numbers())
