"""The page about extending zitter is one program, with its numbers asserted in it: it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import zitter

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)


# Sections that nothing after them needs, and that compile for long.
LONG = "A propagator", "A Jastrow term", "An energy term of Monte Carlo"


def program(without: tuple[str, ...]) -> str:
    """The blocks of the page on the lines where they stand, so that a failure names its place."""
    text = PAGE.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        heading = text[: block.start()].rpartition("\n## ")[2].splitlines()[0]
        if heading in without:
            continue
        code, first = block[1].splitlines(), text.count("\n", 0, block.start(1))
        lines[first : first + len(code)] = code
    return "\n".join(lines)


@pytest.mark.parametrize(
    "without", [LONG, pytest.param((), marks=pytest.mark.slow)], ids=["short", "whole"]
)
def test_the_page_runs_from_top_to_bottom(tmp_path, without):
    """In a process of its own: nothing has chosen a precision or registered a kind before it."""
    (tmp_path / "extending.py").write_text(program(without), encoding="utf-8")
    paths = [str(Path(zitter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    # Warnings of zitter's are errors: what the page shows is how it should be done.
    command = [sys.executable, "-W", "error::UserWarning", "extending.py"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    refusals = "SincDVR: it needs a SpinorBasis", "ComplexAbsorber cannot be written on a SincDVR"
    assert all(refusal in run.stdout for refusal in refusals), run.stdout


def test_every_example_asserts_a_number():
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(sections) == 7
    assert {*LONG} < {section.splitlines()[0] for section in sections}
    for section in sections:
        name, code = section.splitlines()[0], "\n".join(BLOCK.findall(section))
        assert re.search(r"^\s*assert .*(<|==)", code, re.M), name
