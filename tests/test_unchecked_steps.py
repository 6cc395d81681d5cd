"""Where twice the step breaks, a run says that its step could not be checked."""

from __future__ import annotations

import json

import numpy as np
import pytest

import zitter as zt
from command_line import zitter
from zitter.solve.guards import AccuracyWarning

CASE = """
[basis]
type = "Grid"
shape = 31
spacing = 0.5
[model]
terms = ["Kinetic", "SoftCoulomb"]
[evolve]
t = [0, 2]
dt = 0.1
propagator = { type = "Taylor", order = 4 }
observables = ["Norm"]
"""
SENTENCE = "could not be checked with twice the step: "


def test_in_python():
    """Taylor's series of order 4 bears dt·E < 2.8, and E is at most (π/h)²/2 ≈ 19.7."""
    H = zt.discretize(zt.Model([zt.Kinetic(), zt.SoftCoulomb()]), zt.Grid(31, 0.5))
    psi = zt.eigenstates(H, 1).states[0]
    known = zt.evolve(H, psi, (0, 2), 0.05, zt.Taylor(order=4), step_check=True)
    assert "step_error" in known.info and "step_check" not in known.info
    with pytest.warns(AccuracyWarning, match=f"is not known: it {SENTENCE}"):
        unknown = zt.evolve(H, psi, (0, 2), 0.1, zt.Taylor(order=4), step_check=True)
    assert unknown.info["step_check"].startswith(SENTENCE)
    assert "step_error" not in unknown.info


@pytest.mark.parametrize("how", ["run", "sweep"])
def test_on_the_command_line(how, tmp_path, capsys):
    (tmp_path / "case.toml").write_text(CASE)
    over = ["--over", "model.terms.1.Z=1,2"] if how == "sweep" else []
    case = CASE.replace('"SoftCoulomb"', '{ type = "SoftCoulomb", Z = 1 }')
    (tmp_path / "case.toml").write_text(case)
    out = tmp_path / "out"
    assert zitter(capsys, how, tmp_path / "case.toml", "--out", out, "-q", *over)[0] == 0
    if how == "sweep":
        item = next((out / "items").rglob("*.h5"))
        assert zt.load(item).info["step_check"].startswith(SENTENCE)
        return
    _, shown, _ = zitter(capsys, "show", out, "--json")
    assert SENTENCE in " ".join(np.asarray(shown.split()))
    assert json.loads(shown.splitlines()[-1])["errors"]["step_check"].startswith(SENTENCE)
