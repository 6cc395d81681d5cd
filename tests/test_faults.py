"""The list of faults that tests must find stays true to the source; `make faults` plants them."""

from __future__ import annotations

import ast
import json
import sys

import pytest

import figures
from faults import plant
from faults.plant import REPOSITORY, faults

LISTED = faults()
SLOW = ("marks.slow", "pytest.mark.slow", "pytest.mark.gpu", "pytest.mark.multiprocess")


@pytest.mark.parametrize("fault", LISTED, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted_and_its_tests_exist(fault):
    file = REPOSITORY / fault.file
    changed = fault.planted(file.read_text(encoding="utf-8"))
    ast.parse(changed)  # a fault of meaning, not of grammar
    for test in fault.tests:
        place, _, name = test.partition("::")
        text = (REPOSITORY / place).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text
        assert name not in slow_tests(text)


def slow_tests(text: str) -> set[str]:
    """Functions that are slow as a whole: `make test` would not run them."""
    return {
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(mark).startswith(SLOW) for mark in node.decorator_list)
    }


def test_there_are_faults_of_every_kind():
    assert len(LISTED) >= 40
    assert len({fault.name for fault in LISTED}) == len(LISTED)
    parts = {fault.file.split("/")[2] for fault in LISTED}
    assert parts >= {"propagators", "eigensolvers", "spectra", "qmc", "solve", "files.py"}


def test_the_record_is_of_the_list():
    """`make faults JSON="--json benchmarks/results/faults_cpu.json"` makes it anew."""
    rows = figures.rows_of("faults_cpu")
    assert [(row["fault"], row["area"]) for row in rows] == [(f.name, f.area) for f in LISTED]


def test_the_page_has_every_area_of_the_list():
    page = (REPOSITORY / "docs" / "reliability.md").read_text(encoding="utf-8")
    (table,) = (block for *_, block, comment in figures.parts(page) if "faults_cpu" in comment[1])
    named = {"Monte Carlo": "qmc"}
    areas = [named.get(cell, cell) for cell in figures.cells(table, 1)]
    assert areas == list(dict.fromkeys(fault.area for fault in LISTED))


def test_what_was_found_is_kept_as_a_record(tmp_path, monkeypatch, capsys):
    """By area; a fault that survives makes the status 1, and is kept as well."""
    file = tmp_path / "faults_cpu.json"
    monkeypatch.setattr(
        plant, "tried", lambda fault: (fault.name != "no lock", "FAILED tests/a::b")
    )
    monkeypatch.setattr(sys, "argv", [plant.__file__, "--json", str(file)])
    assert plant.main() == 1
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["command"] == "python tests/faults/plant.py"
    assert [row["fault"] for row in found["measured"]] == [fault.name for fault in LISTED]
    assert [row["fault"] for row in found["measured"] if not row["found"]] == ["no lock"]
    assert {row["area"] for row in found["measured"]} == {
        "propagators", "eigensolvers", "spectra", "terms", "qmc", "files", "guards", "bases",
        "controls", "fields", "observables", "results", "sweeps", "units", "cli",
    }  # fmt: skip
    count = sum(fault.area == "guards" for fault in LISTED)
    assert count >= 9
    assert f"guards         {count:3} of {count:3} found" in capsys.readouterr().out
