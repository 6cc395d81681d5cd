"""What a reproduction reports: what counts as agreement, and the JSON that scripts read."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from zitter import reproduce
from zitter.reproduce.report import Report, Row


def report(*rows: Row) -> Report:
    return Report("a-paper", list(rows), 1.5, "cpu", "double", ["scaled down"], ["fig.png"])


def test_rows_agree_within_their_tolerance():
    assert Row.compared("E", -0.5001, -0.5, 2e-4).ok
    assert not Row.compared("E", -0.5001, -0.5, 0.5e-4).ok
    assert not Row.compared("E", float("nan"), -0.5, 1.0).ok
    assert Row.bounded("drift", 1e-9, 1e-8).ok
    assert not Row.bounded("drift", -1e-7, 1e-8).ok
    assert not Row.bounded("drift", float("inf"), 1e-8).ok


def test_a_mean_is_judged_by_a_tolerance_that_noise_cannot_widen():
    assert Row.sampled("E", -0.5002, 9e-5, -0.5, 3e-4).ok
    assert not Row.sampled("E", -0.5004, 9e-5, -0.5, 3e-4).ok
    assert not Row.sampled("E", -0.5, 2e-4, -0.5, 3e-4).ok  # right, but not known to be
    assert not Row.sampled("E", -0.4, 1.0, -0.5, 3e-4).ok
    assert not Row.sampled("E", float("nan"), 1e-4, -0.5, 3e-4).ok
    wide = {"above": 1e-3, "below": 2e-3}
    assert Row.sampled("E", -0.4988, 9e-5, -0.5, 3e-4, **wide).ok
    assert not Row.sampled("E", -0.4986, 9e-5, -0.5, 3e-4, **wide).ok
    assert Row.sampled("E", -0.5022, 9e-5, -0.5, 3e-4, **wide).ok
    assert not Row.sampled("E", -0.5024, 9e-5, -0.5, 3e-4, **wide).ok


def test_a_report_is_as_good_as_its_worst_row():
    good, bad = Row.compared("a", 1.0, 1.0, 0.1), Row.compared("b", 2.0, 1.0, 0.1)
    assert report(good).ok
    assert not report(good, bad).ok
    assert not report().ok


def test_json_has_the_agreed_keys():
    told = report(Row.compared("E", -0.5, -0.5, 1e-8, "exact", 1e-12), Row("time", 3.0)).to_json()
    assert json.loads(json.dumps(told)) == told
    assert {"name", "ok", "rows", "seconds", "device", "precision"} <= told.keys()
    keys = {"quantity", "value", "error", "reference", "source", "tolerance", "ok"}
    keys |= {"tolerance_source"}
    assert all(row.keys() == keys for row in told["rows"])
    assert told["rows"][1]["reference"] is None


def test_what_json_cannot_write_becomes_null():
    told = report(Row.compared("E", float("nan"), -0.5, 1.0)).to_json()
    assert told["rows"][0]["value"] is None
    assert "NaN" not in json.dumps(told)


def test_the_table_shows_what_is_off():
    text = report(Row.compared("energy of b", 2.0, 1.0, 0.1)).table()
    assert "NOT all as expected" in text
    assert "energy of b" in text
    assert "OFF" in text
    assert "scaled down" in text
    assert "choice" in text


def test_a_statement_has_no_verdict():
    text = report(Row("seconds per step", 0.1)).table()
    assert "OFF" not in text
    assert " ok" not in text


MODULES = sorted(Path(reproduce.__file__).parent.glob("*.py"))
FIELDS = ["quantity", "value", "error", "reference", "source", "tolerance", "ok"]


@pytest.mark.parametrize("module", MODULES, ids=lambda file: file.stem)
def test_a_row_that_decides_says_whose_its_tolerance_is(module):
    """`Row(…)` with a tolerance or a verdict; `compared` and the like have "choice" by default."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", None) != "Row":
            continue
        given = {*FIELDS[: len(node.args)], *(word.arg for word in node.keywords)}
        whole = len(node.args) > len(FIELDS) or "tolerance_source" in given
        assert whole or not given & {"tolerance", "ok"}, f"{module.name}:{node.lineno}"
