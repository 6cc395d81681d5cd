"""Compiling takes longer than many a run: nothing is compiled twice because of where it lies."""

from __future__ import annotations

import pytest

from mesh import devices


@pytest.mark.slow
@pytest.mark.multiprocess
def test_a_run_on_a_mesh_compiles_its_steps_once():
    """DMC has two programs, its own steps and those of the VMC walk before it."""
    assert devices.run("compilations", 2) == {"evolve": 1, "dmc": 2}
