"""Processes that work apart begin together, or not at all where one of them refuses its input."""

from __future__ import annotations

import subprocess
import sys

import pytest

from zitter import checks, cli, processes
from zitter.cli import launching

CHILD = """
import sys
from zitter import processes
from zitter import checks, cli, processes
from zitter.cli import launching
place, faulty = processes.found(), {faulty}
if place.index in faulty:
    print(f"error: process {{place.index}} has bad input", file=sys.stderr)
    sys.exit(2)
sys.exit(0 if launching.may_begin(place) else launching.HELD)
"""


@pytest.mark.parametrize(
    ("faulty", "codes", "sentence"),
    [
        ((), [0, 0], ""),
        ((1,), [launching.HELD, 2], "error: process 1 has bad input\n"),
        ((0,), [2, launching.HELD], ""),  # the first one has said it itself
    ],
)
def test_none_begins_where_one_refuses(monkeypatch, capsys, faulty, codes, sentence):
    popen = subprocess.Popen

    def child(command, **options):
        return popen([sys.executable, "-c", CHILD.format(faulty=faulty)], **options)

    monkeypatch.setattr(subprocess, "Popen", child)
    assert launching.launch_apart(2, []) == codes
    assert capsys.readouterr().err == sentence


def test_the_reason_of_another_process_is_told(monkeypatch, tmp_path, capfd):
    """Process 0 has only lost it, also where it ends first."""
    popen = subprocess.Popen
    reason = "process 1 of 2: the run broke off: No space left on device. Nothing was saved."
    ends = [
        "sys.exit(3)",
        f"time.sleep(0.5); print('error: {reason}', file=sys.stderr); sys.exit(1)",
    ]

    def child(command, env, **options):
        index = processes.parse(env[processes.VARIABLE]).index
        return popen([sys.executable, "-c", f"import sys, time; {ends[index]}"], env=env, **options)

    monkeypatch.setattr(subprocess, "Popen", child)
    with pytest.raises(checks.RunError) as error:
        launching.launch(2, [], tmp_path)
    assert str(error.value) == reason
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("launcher", ["", "1"])
def test_who_says_what_went_wrong(monkeypatch, capsys, launcher):
    """What all processes find the first one says; the others do where nobody else can."""
    place = processes.Place("node1:4711", 2, 1)
    monkeypatch.setattr(processes, "_joined", place)
    monkeypatch.setenv("ZITTER_LAUNCHER", launcher)
    assert cli._fail("bad input", 2) == 2
    assert capsys.readouterr().err == ("error: process 1 of 2: bad input\n" if launcher else "")
    assert cli._fail("a full disk", 1, alone=True) == 1
    assert capsys.readouterr().err == "error: process 1 of 2: a full disk\n"


@pytest.mark.parametrize("count", [10**6, 10**30])
def test_processes_that_cannot_fit_are_refused(count):
    with pytest.raises(checks.InputError, match=r"--processes: must be at most .* but is 10"):
        launching.wanted(count)
