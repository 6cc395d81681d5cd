"""A little of everything on two devices."""

from __future__ import annotations

from mesh import grid_operators, grid_runs


def main() -> dict:
    operators = grid_operators.main([2], [[13, 7]], ["spectral", 4])
    return {"operators": operators, "run": grid_runs.main([2], ["quick"])["quick 2"]}
