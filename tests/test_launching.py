"""Processes that work apart begin together, or not at all where one of them refuses its input."""

from __future__ import annotations

import subprocess
import sys

import pytest

from zitter.cli import launching

CHILD = """
import sys
from zitter import processes
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
