"""Streams that take nothing: words about a run end none, a result that is not printed is named."""

from __future__ import annotations

import subprocess
import sys

import pytest

CASE = """
[basis]
type = "Grid"
shape = 31
spacing = 0.3

[model]
terms = [{ type = "Kinetic" }, { type = "Harmonic", frequency = 1.0 }]

[initial]
type = "Eigenstate"

[evolve]
t = [0, 0.1]
dt = 0.05
propagator = { type = "SplitOperator" }
"""


@pytest.mark.parametrize(
    ("streams", "status", "told"),
    [
        ("2>/dev/full", 0, "done: "),
        ("2>&- <&-", 0, "done: "),
        ("2>&1 >/dev/full", 1, "standard output: No space left on device. The result is whole: "),
    ],
)
def test_a_run_ends_with_its_result(tmp_path, streams, status, told):
    (tmp_path / "case.toml").write_text(CASE)
    command = f'"{sys.executable}" -m zitter run case.toml --out out {streams}'
    run = subprocess.run(
        command, shell=True, cwd=tmp_path, stdout=subprocess.PIPE, text=True, timeout=120
    )
    assert (run.returncode, told in run.stdout) == (status, True), run.stdout
    assert (tmp_path / "out" / "result.h5").exists()
    assert not (tmp_path / "out" / "checkpoint").exists()
