"""The Python in the README and in the first page of the documentation runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import zitter as zt

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_the_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})
    sol = zt.load("run.h5")
    np.testing.assert_allclose(sol.observables["norm"], 1.0, atol=1e-10)
    assert np.ptp(sol.observables["dipole"]) > 0.1  # the light has moved the electron
