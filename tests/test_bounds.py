"""Programs that say "times the bound" take it from the record of their device."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import bounds  # noqa: E402
import device_bounds  # noqa: E402
import records  # noqa: E402

ROWS = [
    {"bound": "read", "by": "a", "bytes_per_second": 4e12},
    {"bound": "write", "by": "a", "bytes_per_second": 3e12},
    {"bound": "copy", "by": "b", "bytes_per_second": 3.5e12},
    {"what": "read", "by": "a", "bytes_per_second": 4e12},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "RESULTS", tmp_path)
    return tmp_path


def write(folder: Path, name: str, kind: str) -> None:
    found = {"device": {"kind": kind}, "date": "2026-01-02", "commit": 40 * "a", "measured": ROWS}
    (folder / f"device_bounds_{name}.json").write_text(json.dumps(found), encoding="utf-8")


def test_the_bound_is_that_of_the_device(folder, capsys):
    write(folder, "other", "another card")
    assert bounds.of_this_device() is None
    assert "no record of the bounds of" in capsys.readouterr().out
    write(folder, "mine", records.device()["kind"])
    found = bounds.of_this_device()
    assert found is not None
    assert (found.read, found.write, found.copy) == (4e12, 3e12, 3.5e12)
    assert found.record == "device_bounds_mine, 2026-01-02, aaaaaaaaaa"
    assert found.row()["copy_TB_per_s"] == 3.5


def test_of_several_means_the_best_counts():
    rows = [
        {"what": what, "by": by, "bytes_per_second": speed}
        for what in device_bounds.MOVED
        for by, speed in (("slow", 1.0), ("fast", 2.0))
    ]
    assert device_bounds.best(rows) == [
        {"bound": what, "by": "fast", "bytes_per_second": 2.0} for what in device_bounds.MOVED
    ]


def test_all_means_of_a_cpu_move_what_they_say():
    done = {
        (what, by): action() for m in device_bounds.means_of("cpu") for what, by, action in m(2**16)
    }
    assert {what for what, _ in done} == set(device_bounds.MOVED)
    for (what, by), value in done.items():
        if what == "read":
            assert float(value) == 2**13, by  # the sum of ones


@pytest.mark.parametrize(
    "program", ["atoms_gpu", "blips", "grid_steps", "imaginary_time_gpu", "qmc_gpu"]
)
def test_programs_have_no_bound_of_their_own(program):
    text = (BENCHMARKS / f"{program}.py").read_text(encoding="utf-8")
    assert "of_this_device()" in text
    assert "bytes_per_second(" not in text
